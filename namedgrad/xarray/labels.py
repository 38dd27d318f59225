"""Coordinates along dims that are hidden: scalar coordinates whose value differs per slice.

Inside a function that runs ``over="lat"``, the coordinate ``lat`` is a scalar, as it is after ``isel(lat=i)``, and its
data is a :class:`Label`.  xarray compares scalar coordinates to decide which ones a result keeps.  The answer of a
comparison is a plain array wherever all slices agree, which is what each slice alone would have given; where they do
not, xarray is told that the coordinates differ (and drops them), while a program that asks gets a TraceError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.positional.array import PositionalArray, numbers, wrap
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.operands import unwrap
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import reductions


class Label(PositionalArray):
    """The data of a coordinate along hidden dims."""

    __slots__ = ("source",)
    __hash__ = None  # == is elementwise
    source: Any  #: the coordinate as the user gave it, None if it was changed

    def copy(self, order: str = "C") -> Label:
        """The same coordinate."""
        return label(self._x, getattr(self, "source", None))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.source = None
        super().__setitem__(key, value)

    def __eq__(self, other: object) -> Any:
        return _compare("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _compare("not_equal", self, other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in (np.equal, np.not_equal) and method == "__call__":
            return _compare(ufunc.__name__, *inputs)
        if ufunc in (np.isnan, np.isnat):
            return agreement(_elementwise(ufunc, self._x))
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)  # type: ignore[misc]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.full_like and np.dtype(kwargs.get("dtype")) == bool:  # how xarray says that nothing is missing
            return np.zeros(self.shape, dtype=bool)
        return super().__array_function__(func, types, args, kwargs)  # type: ignore[misc]


def label(x: DimArray, source: Any) -> Label:
    """The data of a hidden coordinate that was ``source``."""
    out: Any = wrap(x, Label)
    out.source = source
    return out


class Disagreement(PositionalArray):
    """Truth values of a comparison of coordinates in which the slices do not agree."""

    __slots__ = ("_null_aware",)
    _null_aware: bool

    def __or__(self, other: Any) -> Any:
        """Whether cells are equal or both missing, which is how xarray compares coordinates."""
        out = agreement(OPERATIONS["bitwise_or"].function(*meet(self._x, unwrap(other))))
        if isinstance(out, Disagreement):
            out._null_aware = True
        return out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.all and getattr(self, "_null_aware", False):
            return np.False_
        return super().__array_function__(func, types, args, kwargs)  # type: ignore[misc]


def _elementwise(ufunc: Any, x: DimArray) -> DimArray:
    return make(backends.call(ufunc, x.raw), x.names, x.hidden)


def _compare(name: str, x: Any, y: Any) -> Any:
    for v in (x, y):
        if not isinstance(v, PositionalArray) and hasattr(v, "__array_ufunc__") and not backends.is_array(v):
            return NotImplemented
    return agreement(OPERATIONS[name].function(*meet(_operand(x), _operand(y))))


def _operand(value: Any) -> DimArray:
    if isinstance(value, PositionalArray):
        return value._x
    raw = np.asarray(value)
    return make(raw, numbers(raw.ndim), NONE)


def agreement(x: DimArray) -> Any:
    """Truth values without the hidden axes, if they are the same in every slice."""
    visible = make(x.raw, x.names, NONE)
    low, high = (f(visible, x.vectorized).to("numpy") for f in (reductions.all, reductions.any))
    if np.array_equal(low.raw, high.raw):
        return np.asarray(low._ordered())  # a coordinate is fixed by a program that is recorded
    return wrap(x, Disagreement)
