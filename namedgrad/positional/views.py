"""Views: which results of NumPy functions show the cells of their argument, and which of them can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.array import PositionalArray, box, view_of, wrap
from namedgrad.positional.memory import lying, turned

READ_ONLY = "assignment destination is read-only, as in NumPy; write to a copy, with .copy()"
ONE_PART = (
    "one part of complex numbers cannot be written; write into its .copy(), or write both, x[...] = real + 1j * imag"
)
UNCERTAIN = (
    "whether NumPy's reshape is a view or a copy here depends on how the array lies in memory, so neither it nor the "
    "array that it was made from can be written without the other going stale; reshape a .copy()"
)


def view(base: PositionalArray, how: str, x: DimArray, show: Callable[[Any], Any]) -> Any:
    """The result of a function that gives views of its first argument."""
    if how in ("self", "part") and _is_itself(base, x, show):
        return base
    if how == "self" or (how == "part" and base.dtype.kind != "c"):
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
    return view_of(base, x, show, locked={"r": READ_ONLY, "part": ONE_PART}.get(how, ""))


def _is_itself(base: PositionalArray, x: DimArray, show: Callable[[Any], Any]) -> bool:
    """Whether a function gave its argument; the values of one that is lent are a copy each time."""
    if base._known():
        return x is base._x
    same = wrap(base._x, base.kin)
    return show(same) is same


def told_order(p: PositionalArray, order: Any) -> Any:
    """C or F for an order that is told by how an array lies in memory."""
    if not isinstance(order, str) or order not in ("A", "K"):
        return order
    memory = lying(p)
    if memory is None or (order == "K" and not (memory.flags.c_contiguous or memory.flags.f_contiguous)):
        raise TypeError("the order in which these cells lie in memory is not known; use order='C' or 'F'")
    return "F" if memory.flags.f_contiguous and not memory.flags.c_contiguous else "C"


def _uncertain(base: Any) -> Any:  # noqa: ARG001 - called as every view's ``show``
    raise TypeError(UNCERTAIN)
