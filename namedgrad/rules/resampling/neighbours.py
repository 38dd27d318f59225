"""Where positions lie among sorted coordinates, and sums over the neighbours of a position."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from namedgrad import backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import Weight
from namedgrad.primitive import Primitive, elementwise
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.structure import add, cast, known_finite, multiply, select, where
from namedgrad.trace import apply

Index = DimArray


class _Locate(Primitive):
    """How many of the sorted cells of a dim lie before each point; it has no derivative."""

    form, signature = "elementwise", "(n),()->()"

    def lower(self, args: Sequence[DimArray], side: str) -> DimArray:
        known, points = args
        kernel = backends.backend_of(known.raw, points.raw).function("locate")
        return make(call(kernel, known.raw, points.raw, side=side), points.names, points.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], side: str) -> None:
        return None


_LOCATE = _Locate("locate")


def locate(known: DimArray, dim: Name, points: DimArray, side: str = "right") -> Index:
    """How many cells along ``dim``, in ascending order, are less than each point, or (``"right"``) not greater."""
    known, points = stop_gradient(known), stop_gradient(points)
    if known.names == (dim,):
        return apply(_LOCATE, (known, points), side=side)
    n = extent(known, dim)
    found: DimArray = multiply(cast(e.isnan(points), "int64"), c(0))
    before = e.less_equal if side == "right" else e.less
    step = 1 << max(n.bit_length() - 1, 0)
    while step:  # by halves, as each slice of the coordinates has an order of its own
        more = add(found, c(step))
        cell = gather(known, {dim: e.clip(add(more, c(-1)), 0, max(n - 1, 0))})
        found = where(e.logical_and(e.less_equal(more, c(n)), before(cell, points)), more, found)
        step //= 2
    return found


#: ``weight * value``, exactly 0 where the weight is; its derivative in the weight is the value nevertheless.
weigh = elementwise("weigh_cell", lambda o, w, v: v, lambda o, w, v: Weight(w), kernel="scale")


class Tap(NamedTuple):
    """One neighbour along a dim: its position, its weight (None: 1) and where it counts (None: everywhere)."""

    at: Index
    weight: DimArray | None
    inside: DimArray | None = None


def weighted(x: DimArray, taps: Mapping[Name, Sequence[Tap]]) -> DimArray:
    """The sum over all neighbours; one whose weight is 0 takes no part, whatever it holds."""
    times = multiply.two if known_finite(x) else weigh.two
    several = itertools.product(*taps.values())
    terms = [_term(x, dict(zip(taps, each, strict=True)), times) for each in several]
    return functools.reduce(add.two, terms)


def _term(x: DimArray, taps: Mapping[Name, Tap], times: Callable[[DimArray, DimArray], DimArray]) -> DimArray:
    value = gather(x, {d: t.at for d, t in taps.items()})
    weight = _joined(multiply.two, [t.weight for t in taps.values()])
    mask = _joined(e.logical_and.two, [t.inside for t in taps.values()])
    value = value if mask is None else select(mask, value)
    return value if weight is None else times(weight, value)


def _joined(two: Callable[[DimArray, DimArray], DimArray], parts: Sequence[DimArray | None]) -> DimArray | None:
    given = [p for p in parts if p is not None]
    out = given[0] if given else None
    for p in given[1:]:
        out = two(out, p)  # type: ignore[arg-type]
    return out

