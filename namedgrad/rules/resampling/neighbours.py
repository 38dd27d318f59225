"""Sums over the neighbours of a position."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.linear import Weight
from namedgrad.primitive import Elementwise, elementwise
from namedgrad.rules import elementwise as e
from namedgrad.rules.indexing import gather
from namedgrad.rules.structure import add, known_finite, multiply, select, while_finite
from namedgrad.trace import apply

Index = DimArray


#: ``weight * value``, exactly 0 where the weight is; its derivative in the weight is the value nevertheless.
weigh = elementwise("weigh_cell", lambda o, w, v: v, lambda o, w, v: Weight(w), kernel="scale")


class Tap(NamedTuple):
    """One neighbour along a dim: its position, its weight (None: 1) and where it counts (None: everywhere)."""

    at: Index
    weight: DimArray | None
    inside: DimArray | None = None


def weighted(x: DimArray, taps: Mapping[Name, Sequence[Tap]]) -> DimArray:
    """The sum over all neighbours; one whose weight is 0 takes no part, whatever it holds."""
    several = itertools.product(*taps.values())
    terms = [_term(x, dict(zip(taps, each, strict=True))) for each in several]
    products = [(w, v) for w, v in terms if w is not None]
    if len(products) == len(terms) > 1 and known_finite(x):
        return apply(_sum_of_products(len(terms)), tuple(itertools.chain(*products)))
    return while_finite(functools.reduce(add.two, (v if w is None else weigh.two(w, v) for w, v in terms)))


@functools.cache
def _sum_of_products(count: int) -> Elementwise:
    """``w0 * v0 + w1 * v1 + ...``, without an array for each product and each sum."""
    partials = [lambda o, *operands, k=k: operands[k ^ 1] for k in range(2 * count)]
    return Elementwise("sum_of_products", partials)


def _term(x: DimArray, taps: Mapping[Name, Tap]) -> tuple[DimArray | None, DimArray]:
    """A neighbour's weight and its value."""
    value = gather(x, {d: t.at for d, t in taps.items()})
    weight = _joined(multiply.two, [t.weight for t in taps.values()])
    mask = _joined(e.logical_and.two, [t.inside for t in taps.values()])
    if mask is None:
        return weight, value
    # A weight of 0 has one cell for each position; of each channel a mask would take as long as reading its values.
    return (None, select(mask, value)) if weight is None else (select(mask, weight), value)


def _joined(two: Callable[[DimArray, DimArray], DimArray], parts: Sequence[DimArray | None]) -> DimArray | None:
    given = [p for p in parts if p is not None]
    out = given[0] if given else None
    for p in given[1:]:
        out = two(out, p)  # type: ignore[arg-type]
    return out

