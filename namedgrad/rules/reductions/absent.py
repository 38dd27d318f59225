"""NumPy's reductions without NaN, under NumPy's names: those of :mod:`namedgrad.rules` with ``skipna=True``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from namedgrad.primitive import operation, sample

_DOC = """:func:`{name}` of the cells that are not NaN: ``{name}(x, ..., skipna=True)``, under NumPy's name.

A cell that is NaN takes no part, and its gradient is exactly 0. Parameters are those of :func:`{name}`.

Returns
-------
DimArray
    As :func:`{name}` gives it.

Raises
------
AxisError
    If a dim is unknown, or vectorized.

Examples
--------
>>> import namedgrad as ng
>>> ng.nan{name}(ng.DimArray([2.0, float("nan"), 3.0], ("x",)){more}).data.tolist()
{result}
"""


def without_nan(function: Callable[..., Any], result: str, more: str = "", **keywords: Any) -> Callable[..., Any]:
    """Publish a function as its NumPy counterpart that leaves NaN out."""
    name = f"nan{function.__name__}"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs, skipna=True)

    own = inspect.signature(function)
    call.__signature__ = own.replace(parameters=[p for k, p in own.parameters.items() if k != "skipna"])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = _DOC.format(name=function.__name__, more=more, result=result)
    smooth = not function.__name__.startswith("arg")
    sampled = sample("missing(a,b)", dim="b", **keywords) if smooth else sample("missing(a,nine)", dim="nine")
    return operation(sampled, sample("real(a,b)", dim="a", **keywords), differentiable=smooth, name=name)(call)
