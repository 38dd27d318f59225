"""In which order axes lie in memory, as NumPy would have it: whether a reshape is a view depends on it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.trace import Traced, innermost

if TYPE_CHECKING:
    from namedgrad.positional.array import PositionalArray

Order = tuple[int, ...]


def order_of(p: PositionalArray) -> Order:
    """The axes of an array that owns its cells as they lie in NumPy's memory, the widest first; () if unknown.

    What is read from memory here is true of NumPy's as long as it was computed in the same way.
    """
    return _order_here(innermost(p._x)) if p._order is None else p._order


def _order_here(x: DimArray) -> Order:
    """The axes as they lie in memory here; one value for all cells is stored once, which tells nothing."""
    steps = dict(zip(x.names, x.raw.strides)) if isinstance(x.raw, np.ndarray) else {}
    widths = [abs(steps.get(n, 0)) for n in x.dims]
    natural = tuple(range(len(widths)))
    return natural if 0 in widths else tuple(sorted(natural, key=lambda i: -widths[i]))


def order_of_copy(p: PositionalArray, order: str) -> Order:
    """The axes of a copy as NumPy lays them, the widest first, () if that depends on how ``p`` lies."""
    axes = tuple(range(p.ndim))
    return {"C": axes, "F": axes[::-1]}.get(order, axes if len(axes) < 2 else ())


def empty(shape: tuple[int, ...], order: Order) -> np.ndarray[Any, Any]:
    """An array whose axes lie in an order, which is not read."""
    return np.empty([shape[i] for i in order]).transpose(np.argsort(order))


def laid(x: DimArray, order: Order) -> DimArray:
    """The same cells stored in an order, if that is known, so that what is computed from them lies as NumPy's does.

    While a program is recorded they stay as they lie: a copy made here would not be part of it.
    """
    if backends.is_recording():
        return x
    if x.level is not None:
        value = laid(x.value, order)
        return x if value is x.value else Traced(value, x.level, x.node)
    if not (order and isinstance(x.raw, np.ndarray)) or order == _order_here(x):
        return x
    names = (*(n for n in x.names if n in x.hidden), *(x.dims[i] for i in order))
    places = [x.names.index(n) for n in names]
    return make(x.raw.transpose(places).copy(order="C").transpose(np.argsort(places)), x.names, x.hidden)


def copied(x: DimArray, order: Order) -> DimArray:
    """A copy of an untraced array, in an order, or as it is if that is not known."""
    out = laid(x, order)
    return deepcopy(x) if out is x else out
