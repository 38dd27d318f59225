"""Sums of tangents that meet the factors of several operands: of many cells with fewer arrays and passes over memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.backends import call
from namedgrad.linear import Pair, add_all, like, ops, product
from namedgrad.primitive import elementwise
from namedgrad.rules.structure import Late, add, known_finite, stamp, subtract

_MANY = 1000  # cells of a tangent from which on a pass over a result, of a million where it meets as many others, counts
_products = elementwise("sum_of_products", None, None, None, None)


def combined(parts: Sequence[tuple[DimArray, Any]]) -> DimArray:
    """The sum of tangents times factors: of two with many cells in one go, and guarded only if it is not finite."""
    if len(parts) != 2 or not _are_many(*parts):
        return add_all([product(t, f) for t, f in parts])
    (t, f), (u, h) = itertools.starmap(_nearer, parts)
    if type(h) is int and h == -1:
        return stamp(subtract.two(product(t, f), u), t.hidden)
    out = None
    if all(map(_is_plain, (t, f, u, h))):
        out = _products(t, f, u, h)
    elif type(f) is type(h) is Late and h.joins is not None and like(t) == like(u):
        out = h.joins(t, u)
    if out is not None and known_finite(out):
        return stamp(out, t.hidden)
    first, second = product(t, f), product(u, h)
    if type(f) is int or not _is_plain(first) or not _is_plain(second) or like(first) != like(second):
        return add.two(first, second)
    return make(call(backends.backend_of(first.raw).add_to, first.raw, second.raw), first.names, first.hidden)


def _are_many(one: tuple[DimArray, Any], other: tuple[DimArray, Any]) -> bool:
    (t, _), (u, _) = one, other
    if t.level is not None or u.level is not None or t.hidden is not u.hidden or max(t.size, u.size) < _MANY:
        return False
    return backends.may_look(t.raw) and not backends.is_recording()


def _nearer(t: DimArray, f: Any) -> tuple[DimArray, Any]:
    """A tangent of fewer axes meets the part of a factor that has no others first."""
    return (product(t, f.factor), f.g) if type(f) is Pair and len(t.names) < len(f.g.names) else (t, f)


def _is_plain(x: Any) -> bool:
    return type(x) is DimArray and x.dtype.kind in "fc" and x.size > 1


ops.combined = combined
