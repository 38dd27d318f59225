"""Two roots as one: in each cell the one that is 0 there."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from namedgrad.array import DimArray
from namedgrad.linear import ops
from namedgrad.squares.identity import alike, alike_if
from namedgrad.squares.lengths import Kind, Known, Length, Root, near, plain
from namedgrad.squares.moves import nothing, wide


def of_both(args: Sequence[DimArray], out: DimArray) -> list[DimArray]:
    """Operands of ``out`` that know one root instead of the first two that they know.

    Where a root is not 0, or not the first that is, values computed from it are plain.
    """
    args = [_spread(a, out) if type(a) is Length else a for a in args]
    lengths = [a for a in args if type(a) is Length]
    one = lengths[0].known.root
    other = next(a.known.root for a in lengths if not alike(a.known.root, one))
    for part, whole in ((other, one), (one, other)):
        if (way := _way(part, whole)) is not None:
            return [_along(way, part, a) if type(a) is Length else a for a in args]
    root = Both(one, other)
    return [_with(root, a) if type(a) is Length else a for a in args]


class Both(Root):
    """Of two roots, the first where that is 0, and the second elsewhere."""

    __slots__ = ("same",)

    def __init__(self, one: Root, other: Root) -> None:
        here, kind = _first_or(one, one.here, other.here), Kind.of((one.kind, other.kind))
        square = lambda: _first_or(one, one.radicand(), other.radicand())
        super().__init__(here, square, (one, other), kind)
        self.same = alike_if(one, other)


def _way(part: Root, whole: Root) -> list[Both] | None:
    """The roots, from the inmost one, by which the whole is made of a part; None if it is not."""
    if alike(part, whole):
        return []
    if type(whole) is Both:
        for r in whole.made:
            if (way := _way(part, r)) is not None:
                return [*way, whole]
    return None


def _along(way: list[Both], part: Root, a: Length) -> Any:
    """An operand that knows a part of a root, as one that knows the whole."""
    return functools.reduce(lambda b, root: _with(root, b), way, a) if alike(a.known.root, part) else a


def _spread(a: Length, out: DimArray) -> DimArray:
    """The same operand, of which is known what it is near zeros of a root with all dims of the result."""
    root, known = a.known.root, a.known
    if {*root.here.names} == {*out.names}:
        return a
    here, made = wide(root.here, out), (root, out.names)
    there = Root(here, lambda: wide(root.radicand(), out), made, root.kind)
    of = Known(there, lambda: known.even, lambda get: get(known))
    of.steep, of.vanishes, of.is_multiple = known.steep, known.vanishes, known.is_multiple
    of.follow([known])
    return near(a, of)


def _first_or(one: Root, x: DimArray, y: DimArray) -> DimArray:
    """``x`` where the first root is 0, and ``y`` elsewhere."""
    return ops.either(one.nonzero(), wide(y, one.here), wide(x, one.here))


def _with(root: Both, a: Length) -> Any:
    known, one, same = a.known, root.made[0], root.same
    if not any(alike(known.root, r) for r in root.made):
        return a

    def chosen(own: DimArray, instead: DimArray) -> DimArray:
        if alike(known.root, one):
            return _first_or(one, own, instead)
        there = instead if same is None else ops.either(same, wide(own, one.here), wide(instead, one.here))
        return _first_or(one, there, own)

    def odd(own: DimArray | None) -> DimArray | None:
        return None if own is None else chosen(own, nothing(own))

    of = Known(root, lambda: chosen(known.even, plain(a)), lambda get: odd(get(known)))
    of.steep, of.vanishes = odd(known.steep), known.vanishes
    of.follow([known])
    return near(a, of)
