"""Two roots as one: in each cell the one that is 0 there."""

from __future__ import annotations

from collections.abc import Sequence

from namedgrad.array import DimArray
from namedgrad.linear import ops
from namedgrad.squares.identity import alike, alike_if
from namedgrad.squares.lengths import Known, Length, Root, near, plain
from namedgrad.squares.moves import nothing, wide


def of_both(args: Sequence[DimArray], out: DimArray) -> list[DimArray]:
    """Operands of ``out`` that know one root instead of the first two that they know.

    Where a root is not 0, or not the first that is, values computed from it are plain.
    """
    args = [_spread(a, out) if type(a) is Length else a for a in args]
    lengths = [a for a in args if type(a) is Length]
    one = lengths[0].known.root
    other = next(a.known.root for a in lengths if not alike(a.known.root, one))
    made, flat, sharp = (one, other), one.flat and other.flat, one.sharp and other.sharp
    here = _first_or(one, one.here, other.here)
    root = Root(here, lambda: _first_or(one, one.radicand(), other.radicand()), made, flat=flat, sharp=sharp)
    same = alike_if(one, other)
    return [_with(root, a, made, same) if type(a) is Length else a for a in args]


def _spread(a: Length, out: DimArray) -> DimArray:
    """The same operand, of which is known what it is near zeros of a root with all dims of the result."""
    root, known = a.known.root, a.known
    if {*root.here.names} == {*out.names}:
        return a
    here, made = wide(root.here, out), (root, out.names)
    there = Root(here, lambda: wide(root.radicand(), out), made, flat=root.flat, sharp=root.sharp)
    of = Known(there, lambda: known.even, lambda get: get(known))
    of.steep = known.steep
    of.follow([known])
    return near(a, of)


def _first_or(one: Root, x: DimArray, y: DimArray) -> DimArray:
    """``x`` where the first root is 0, and ``y`` elsewhere."""
    return ops.either(one.nonzero(), wide(y, one.here), wide(x, one.here))


def _with(root: Root, a: Length, made: tuple[Root, Root], same: DimArray | None) -> DimArray:
    known, one = a.known, made[0]
    if not any(alike(known.root, r) for r in made):
        return a

    def chosen(own: DimArray, instead: DimArray) -> DimArray:
        if alike(known.root, one):
            return _first_or(one, own, instead)
        there = instead if same is None else ops.either(same, wide(own, one.here), wide(instead, one.here))
        return _first_or(one, there, own)

    def odd(own: DimArray | None) -> DimArray | None:
        return None if own is None else chosen(own, nothing(own))

    of = Known(root, lambda: chosen(known.even, plain(a)), lambda get: odd(get(known)))
    of.steep = odd(known.steep)
    of.follow([known])
    return near(a, of)
