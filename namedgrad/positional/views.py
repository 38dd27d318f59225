"""Views: which results of NumPy functions show the cells of their argument, and which of them can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.array import PositionalArray, box, view_of, wrap
from namedgrad.positional.memory import lying, turned

READ_ONLY = "assignment destination is read-only, as in NumPy; write to a copy, with .copy()"
PARTS = ("real", "imag")
UNCERTAIN = (
    "whether NumPy's reshape is a view or a copy here depends on how the array lies in memory, so neither it nor the "
    "array that it was made from can be written without the other going stale; reshape a .copy()"
)


def view(base: PositionalArray, how: str, x: DimArray, show: Callable[[Any], Any]) -> Any:
    """The result of a function that gives views of its first argument."""
    part = how if how in PARTS else ""
    if (how == "self" or part) and _is_itself(base, x, show):
        return base
    if how == "self" or (part and base.dtype.kind != "c"):
        return box(x, base.kin)
    if x.level is None and x.dtype.kind in "biu":
        return box(x, base.kin)
    if how == "reshape":
        memory = lying(base)
        if memory is None:
            return view_of(base, x, _uncertain, locked=UNCERTAIN)
        made = show(memory)
        if memory.size and not np.may_share_memory(memory, made):
            p = wrap(x, base.kin)
            p._memory = turned(made, p.shape)
            return p
    return view_of(base, x, show, locked=READ_ONLY if how == "r" else "", part=part)


def _is_itself(base: PositionalArray, x: DimArray, show: Callable[[Any], Any]) -> bool:
    """Whether a function gave its argument; the values of one that is lent are a copy each time."""
    if base._known():
        return x is base._x
    same = wrap(base._x, base.kin)
    return show(same) is same


def told_order(p: PositionalArray, order: Any) -> Any:
    """C or F for an order that is told by how an array lies in memory, if it is one of these."""
    if not isinstance(order, str) or order not in ("A", "K"):
        return order
    memory = lying(p)
    if memory is None:
        raise TypeError("the order in which these cells lie in memory is not known; use order='C' or 'F'")
    if memory.flags.f_contiguous and not memory.flags.c_contiguous:
        return "F"
    return order if order == "K" and not memory.flags.c_contiguous else "C"


def as_it_lies(p: PositionalArray) -> Any:
    """A view with the axes in the order in which NumPy goes through them, who tells where repeated cells come."""
    memory: Any = lying(p)
    left, order = _axes(memory), []
    for axis in _axes(np.nditer(memory, ["multi_index", "zerosize_ok"], order="K").itviews[0]):
        order.append(left.index(axis))
        left[order[-1]] = None
    return np.transpose(p, order)


def _axes(memory: Any) -> list[Any]:
    """What tells axes of an array apart, but those that are one for the other."""
    return [(n, abs(step) if n > 1 else 0) for step, n in zip(memory.strides, memory.shape, strict=True)]


def _uncertain(base: Any) -> Any:  # noqa: ARG001 - called as every view's ``show``
    raise TypeError(UNCERTAIN)
