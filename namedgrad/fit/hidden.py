"""Results of fits whose data had vectorized axes: these stay hidden in everything that comes out."""

from __future__ import annotations

from typing import Any

import xarray as xr

from namedgrad.axes import Names
from namedgrad.fit.result import FitResult
from namedgrad.transforms.leaves import vectorize_tree


class VectorizedResult(FitResult):
    """The outcome of a fit of vectorized data: all of it is vectorized, too; ``ng.devectorize(fit.params)`` shows it.

    Attributes
    ----------
    params, status, iterations, cost
        And whatever else the result of the same fit over visible dims has.
    """

    def __init__(self, inner: FitResult, names: Names) -> None:
        self._inner, self._names = inner, names

    def _hidden(self, value: Any) -> Any:
        return vectorize_tree(value, self._names) if isinstance(value, (xr.DataArray, xr.Dataset)) else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._inner, name)
        if callable(value):
            return lambda *args, **options: self._hidden(value(*args, **options))
        found = self.__dict__[name] = self._hidden(value)
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._inner)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} vectorized {self._names}>\n{self._inner!r}"

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()


def as_vectorized(result: FitResult) -> Any:
    """The result, with the axes hidden that were hidden in the data."""
    names = result._problem.cells.hidden
    return VectorizedResult(result, names) if names else result


def shown(result: Any) -> Any:
    """The result with all axes visible."""
    return result._inner if isinstance(result, VectorizedResult) else result
