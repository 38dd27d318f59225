"""Products of arrays by position: within the product their axes have other names than outside.

To rename both operands and the result would be three operations beside the one that computes; here all are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.linear import Bilinear, Map
from namedgrad.primitive import Contract
from namedgrad.rules.contraction.products import inexact
from namedgrad.rules.structure import Renaming, contract, multiply, relabel, reorder
from namedgrad.trace import apply, push

Labels = tuple[Hashable, ...]


class Frames(NamedTuple):
    """How axes are renamed: those of the operands on the way in, those of the result on the way out."""

    left: Renaming
    right: Renaming
    back: Renaming


@lru_cache(4096)
def _frames(
    x: Names, y: Names, left: Labels, right: Labels, out: Labels, numbers: Names, first: bool
) -> tuple[Frames, Names, Names]:
    """Frames, the names to sum, and those of the result; of the ``first`` operand, or the other, no axis is renamed."""
    table: dict[Hashable, Name] = {n: axes.local(("free", n)) for n in (*left, *right)}
    table |= zip(left, x, strict=True) if first else zip(right, y, strict=True)
    order = tuple(table[n] for n in out)
    own, other = (_changes(names, [table[n] for n in labels]) for names, labels in ((x, left), (y, right)))
    return Frames(own, other, _changes(order, numbers)), tuple(table[n] for n in left if n not in out), order


def _changes(old: Sequence[Name], new: Sequence[Name]) -> Renaming:
    return Renaming({o: n for o, n in zip(old, new, strict=True) if o is not n})


def product(x: DimArray, y: DimArray, left: Labels, right: Labels, out: Labels, numbers: Names) -> DimArray:
    """The product of two arrays whose visible axes have these labels, summed over those that ``out`` lacks.

    Labels to sum are those of both operands. The axes of the result have the names ``numbers``, in the order of ``out``.
    """
    x, y = inexact((x, y))
    frames, over, order = _frames(x.dims, y.dims, left, right, out, numbers, x.level is not None or y.level is None)
    if not over:
        outer = multiply(relabel(x, frames.left.mapping), relabel(y, frames.right.mapping))
        return relabel(reorder(outer, (*(n for n in outer.names if n not in order), *order)), frames.back.mapping)
    if not (frames.left.mapping or frames.right.mapping or order):
        return contract(x, y, over)
    return apply(_FRAMED, (x, y), over=over, last=order, frames=frames)


class _Framed(Contract):
    """A contraction between renamings."""

    def lower(self, args: Sequence[DimArray], over: Names, last: Names = (), frames: Any = None) -> DimArray:
        out = super().lower(_inside(args, frames), over, last)
        return relabel(out, frames.back.mapping)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names, last: Names = (), frames: Any = None
    ) -> Map:
        inner: Any = super().linear(out, _inside(ins, frames), need, over)  # whatever the names of the result are
        return FramedMap(inner, [f for f, n in zip((frames.left, frames.right), need, strict=True) if n], frames.back)


def _inside(operands: Sequence[DimArray], frames: Frames) -> list[DimArray]:
    x, y = operands
    return [relabel(x, frames.left.mapping), relabel(y, frames.right.mapping)]


class FramedMap(Map):
    """A map between renamings of what goes in and what comes out."""

    __slots__ = ("back", "fronts", "inner")
    keeps_record = True

    def __init__(self, inner: Bilinear, fronts: Sequence[Renaming], back: Renaming) -> None:
        self.inner, self.fronts, self.back = inner, fronts, back
        self.made = inner.others, inner.mixes, [f.mapping for f in fronts], back.mapping

    def pull(self, g: DimArray) -> list[DimArray | None]:
        inside: Any = self.back.pull(g)[0]
        parts = zip(self.fronts, self.inner.pull(inside), strict=True)
        return [None if c is None else f.pull(c)[0] for f, c in parts]  # each of one operand

    def push(self, ts: Sequence[Any]) -> Any:
        inside = [None if t is None else push(f, [t]) for f, t in zip(self.fronts, ts, strict=True)]
        return push(self.back, [push(self.inner, inside)])


_FRAMED = _Framed("contract")
