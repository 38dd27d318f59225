"""In which order axes lie in memory, as NumPy would have it: whether a reshape is a view depends on it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.trace import innermost

if TYPE_CHECKING:
    from namedgrad.positional.array import PositionalArray

Order = tuple[int, ...]


def order_of(p: PositionalArray) -> Order:
    """The axes of an array that owns its cells as they lie in NumPy's memory, the widest first; () if unknown.

    What is read from memory here is true of NumPy's as long as it was computed in the same way.  One value for all
    cells is stored once, which tells nothing.
    """
    if p._order is not None:
        return p._order
    x = innermost(p._x)
    steps = dict(zip(x.names, x.raw.strides)) if isinstance(x.raw, np.ndarray) else {}
    widths = [abs(steps.get(n, 0)) for n in p._x.dims]
    return tuple(range(p.ndim)) if 0 in widths else tuple(sorted(range(p.ndim), key=lambda i: -widths[i]))


def order_of_copy(p: PositionalArray, order: str) -> Order:
    """The axes of a copy as NumPy lays them, the widest first, () if that depends on how ``p`` lies."""
    axes = tuple(range(p.ndim))
    return {"C": axes, "F": axes[::-1]}.get(order, axes if len(axes) < 2 else ())


def empty(shape: tuple[int, ...], order: Order) -> np.ndarray[Any, Any]:
    """An array whose axes lie in an order, which is not read."""
    return np.empty([shape[i] for i in order]).transpose(np.argsort(order))


def copied(x: DimArray, order: Order) -> DimArray:
    """A copy of an untraced array without hidden axes, in an order, or as it is if that is not known."""
    if not (order and isinstance(x.raw, np.ndarray)):
        return deepcopy(x)
    return make(x.raw.transpose(order).copy(order="C").transpose(np.argsort(order)), x.names, NONE)
