"""Views: which results of NumPy functions show the cells of their argument, and which of them can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.array import PositionalArray, box, view_of, wrap
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
            return wrap(x, base.kin)
        if shares is None:
            return view_of(base, x, _uncertain, locked=UNCERTAIN)
    return view_of(base, x, show, locked={"r": READ_ONLY, "self": ONE_PART}.get(how, ""))


def _is_itself(base: PositionalArray, x: DimArray, show: Callable[[Any], Any]) -> bool:
    """Whether a function gave its argument; the values of one that is lent are a copy each time."""
    if base._known():
        return x is base._x
    same = wrap(base._x, base.kin)
    return show(same) is same


def shares_cells(base: PositionalArray, show: Callable[[Any], Any]) -> bool | None:
    """Whether NumPy's reshape would give a view; None if that depends on how an array lies in memory."""
    ideal = _same_memory(_blank(base), show)
    raw = innermost(base._x).raw
    known = isinstance(raw, np.ndarray) and not base._x.hidden
    return ideal if not known or _same_memory(raw, show) is ideal else None


def _blank(p: PositionalArray) -> Any:
    """An array in C order that is not read, or the view of one that ``p`` is."""
    return np.empty(p.shape) if p._view is None else p._view.show(_blank(p._view.base))


def layout(p: PositionalArray) -> np.ndarray[Any, Any]:
    """An array that lies in memory as NumPy's would; it is not read."""
    raw = innermost(p._x).raw
    given = p._view is None and isinstance(raw, np.ndarray) and not p._x.hidden and raw.flags.f_contiguous
    return np.empty(p.shape, order="F" if given else "C") if p._view is None else _blank(p)


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
