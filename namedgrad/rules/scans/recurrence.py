"""First-order linear recurrences along a dim: what scans that are not sums are made of.

``s[k] = a[k] s[k - 1] + b[k]`` is linear in ``b``, and its derivatives in both are recurrences again.
"""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import core
from namedgrad.rules.movement.cuts import flip_axes, roll_axes, slice_of, uncut_slice
from namedgrad.rules.structure import add, multiply

LINE = axes.core(-1)


def delayed(x: DimArray, dim: Name = LINE) -> DimArray:
    """Every cell moved on by one: 0 enters, the last one leaves."""
    n = extent(x, dim)
    return uncut_slice(slice_of(x, dim, slice(0, max(n - 1, 0))), dim, index=slice(1, max(n, 1)), size=n)


def suffixes(a: DimArray, g: DimArray) -> DimArray:
    """The transpose in ``b``: ``h[k] = g[k] + a[k + 1] h[k + 1]``, along ``core(-1)``."""
    turned = roll_axes(flip_axes(a, (LINE,)), (LINE,), shift=(1,))
    return flip_axes(_recurrence(turned, flip_axes(g, (LINE,))), (LINE,))


def _pull(g: DimArray, s: DimArray, a: DimArray, b: DimArray) -> list[Any]:
    h = suffixes(a, g)
    return [lambda: multiply(h, delayed(s)), h]


def _push(ts: list[DimArray | None], s: DimArray, a: DimArray, b: DimArray) -> DimArray:
    ta, tb = ts
    if ta is None:
        return _recurrence(a, tb)  # type: ignore[arg-type]
    moved = multiply(ta, delayed(s))
    return _recurrence(a, moved if tb is None else add(tb, moved))


_prim = core("(n),(n)->(n)", "recurrence", pullback=_pull, pushforward=_push)


def _recurrence(a: DimArray, b: DimArray) -> Any:
    return _prim(a, b)


def recurrence(a: DimArray, b: DimArray, dim: Name) -> Any:
    """``s[k] = a[k] s[k - 1] + b[k]`` along ``dim``, with ``s[0] = b[0]``."""
    return _prim(a, b, dims=((dim,), (dim,)), out=(dim,))
