"""Views: which results of NumPy functions show the cells of their argument, and which of them can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.array import PositionalArray, box, view_of, wrap
from namedgrad.positional.memory import empty, order_of
from namedgrad.trace import innermost

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
    if how == "self" and _is_itself(base, x, show):
        return base
    if how == "self" and base.dtype.kind != "c":
        return box(x, base.kin)
    if x.level is None and x.dtype.kind in "biu":
        return box(x, base.kin)
    if how == "reshape":
        shares = None if _of_uncertain(base) else shares_cells(base, show)
        if shares is False:
            return _copied(wrap(x, base.kin), show(lying(base)))
        if shares is None:
            return view_of(base, x, _uncertain, locked=UNCERTAIN)
    return view_of(base, x, show, locked={"r": READ_ONLY, "self": ONE_PART}.get(how, ""))


def _copied(p: PositionalArray, made: np.ndarray[Any, Any]) -> PositionalArray:
    """A copy that lies in memory as one that NumPy made."""
    p._order = tuple(range(p.ndim)) if made.flags.c_contiguous else ()
    return p


def _is_itself(base: PositionalArray, x: DimArray, show: Callable[[Any], Any]) -> bool:
    """Whether a function gave its argument; the values of one that is lent are a copy each time."""
    if base._known():
        return x is base._x
    same = wrap(base._x, base.kin)
    return show(same) is same


def shares_cells(base: PositionalArray, show: Callable[[Any], Any]) -> bool | None:
    """Whether NumPy's reshape would give a view; None if that depends on how an array lies in memory."""
    memory = lying(base)
    if memory is None:
        return None
    ideal = _same_memory(_blank(base), show)
    return ideal if _same_memory(memory, show) is ideal else None


def _blank(p: PositionalArray) -> Any:
    """An array in C order that is not read, or the view of one that ``p`` is."""
    return np.empty(p.shape) if p._view is None else p._view.show(_blank(p._view.base))


def lying(p: PositionalArray) -> Any:
    """An array that lies in memory as NumPy's would, or None if that is not known; it is not read."""
    if p._view is not None:
        base = None if p._view.show is _uncertain else lying(p._view.base)
        return None if base is None else p._view.show(base)
    raw = innermost(p._x).raw
    if p._order is None and isinstance(raw, np.ndarray) and not p._x.hidden and 0 not in raw.strides:
        return raw
    order = order_of(p)
    return empty(p.shape, order) if len(order) == p.ndim else None


def told_order(p: PositionalArray, order: Any) -> Any:
    """C or F for an order that is told by how an array lies in memory."""
    if not isinstance(order, str) or order not in ("A", "K"):
        return order
    memory = lying(p)
    if memory is None or (order == "K" and not (memory.flags.c_contiguous or memory.flags.f_contiguous)):
        raise TypeError("the order in which these cells lie in memory is not known; use order='C' or 'F'")
    return "F" if memory.flags.f_contiguous and not memory.flags.c_contiguous else "C"


def order_like(p: Any, order: str, ndim: int) -> tuple[int, ...]:
    """The axes of a new array like ``p`` as NumPy lays them, the widest first; () if unknown."""
    natural = tuple(range(ndim))
    if order in ("C", "F") or not isinstance(p, PositionalArray) or p.ndim != ndim:
        return natural[::-1] if order == "F" else natural
    memory = lying(p)
    if memory is None or order == "A":
        return () if memory is None else order_like(p, told_order(p, order), ndim)
    return tuple(sorted(natural, key=lambda i: -abs(memory.strides[i])))


def in_order(p: PositionalArray) -> bool:
    """Whether NumPy's array is known to lie in C order."""
    if p.ndim < 2:
        return True
    memory = lying(p)
    return memory is not None and bool(memory.flags.c_contiguous)


def _same_memory(raw: np.ndarray[Any, Any], show: Callable[[Any], Any]) -> bool:
    return not raw.size or bool(np.may_share_memory(raw, show(raw)))


def _uncertain(base: Any) -> Any:  # noqa: ARG001 - called as every view's ``show``
    raise TypeError(UNCERTAIN)


def _of_uncertain(p: PositionalArray) -> bool:
    """Whether an array shows cells of one that may be a copy."""
    while p._view is not None:
        if p._view.show is _uncertain:
            return True
        p = p._view.base
    return False
