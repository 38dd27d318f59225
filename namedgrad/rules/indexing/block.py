"""A block of an array, cut out by ints and slices, replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import NUMPY, call
from namedgrad.linear import Like, Map, fold, like
from namedgrad.primitive import Primitive, check_sizes
from namedgrad.rules.dims import Axes, without
from namedgrad.rules.indexing.maps import laid_out
from namedgrad.rules.movement.cuts import Cuts, cut_out
from namedgrad.rules.structure import cast, spread, stamp, zeros_spread
from namedgrad.trace import apply
from namedgrad.versions import is_part, version_of


def checked(x: DimArray, v: DimArray, cuts: Cuts) -> dict[Name, int]:
    """Sizes of the dims that are sliced; a value that does not fit is refused."""
    if clash := [n for n, cut in cuts.items() if isinstance(cut, int) and n in v.names]:
        raise AxisError(f"at: the value has the dim {clash[0]!r}, which the index removes; rename it in the value")
    block = {n: len(range(extent(x, n))[cut]) for n, cut in cuts.items() if isinstance(cut, slice)}
    check_sizes("at", [v, without(x, tuple(cuts)), Axes(tuple(block), tuple(block.values()))])
    return block


def write_block(x: DimArray, v: DimArray, cuts: Cuts, how: str = "put") -> DimArray:
    """``x`` with ``v``, repeated where it lacks names, in place of the block, or added to it."""
    dtype = np.result_type(x.dtype, v.dtype)
    return apply(_BLOCK, (cast(x, dtype), cast(v, dtype)), cuts=dict(cuts), how=how)


class _Block(Primitive):
    """A block written."""

    form, signature, keeps = "linear", "(n...),(m...)->(n...)", "constants"
    moves = 2

    def lower(self, args: Sequence[DimArray], cuts: dict[Name, slice | int], how: str) -> DimArray:
        x, v = args
        block = checked(x, v, cuts)
        hidden = axes.merge_hidden((x.names, v.names), (x.hidden, v.hidden))
        names = (*x.names, *(n for n in v.names if n not in x.names))
        sizes = dict(zip(v.names, v.full_shape, strict=True)) | dict(zip(x.names, x.full_shape, strict=True))
        index = tuple(cuts.get(n, slice(None)) for n in names)
        within: Names = tuple(n for n in names if not isinstance(cuts.get(n), int))
        if names == x.names and is_part(x, v, math.prod((sizes | block)[n] for n in within)):
            return version_of(x).write(index, laid_out(v, within, sizes | block, NUMPY), how, hidden)
        backend = backends.backend_of(*(a.raw for a in args))
        value = laid_out(v, within, sizes | block, backend)
        return make(call(backend.write_block, laid_out(x, names, sizes, backend), value, index, how), names, hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], cuts: dict[Name, slice | int], how: str
    ) -> Map:
        return _BlockMap(like(out), like(ins[0]), like(ins[1]), need, cuts, how)


class _BlockMap(Map):
    """What is replaced passes nothing; the block passes on what arrives there."""

    __slots__ = ("cuts", "how", "need", "out", "v", "x")
    multiplies = False

    def __init__(
        self, out: Like, x: Like, v: Like, need: list[bool], cuts: dict[Name, slice | int], how: str
    ) -> None:
        self.out, self.x, self.v, self.need, self.cuts, self.how = out, x, v, need, cuts, how

    def pull(self, g: DimArray) -> list[DimArray | None]:
        out: list[DimArray | None] = []
        if self.need[1]:  # read before it is written over
            apart = self.apart(g, tuple(self.cuts))
            found = cut_out(apart, self.cuts)
            found = found if found.hidden is apart.hidden else stamp(found, apart.hidden)
            out.append(fold(found, 1, self.v.names))
        if self.need[0]:
            left = g if self.how == "add" else write_block(g, make(g.dtype.type(0), (), g.hidden), self.cuts)
            out.insert(0, fold(left if left.hidden is g.hidden else stamp(left, g.hidden), 1, self.x.names))
        return out

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        given = iter(ts)
        tx, tv = (next(given) if n else None for n in self.need)
        some = tx if tv is None else tv
        if some is None:
            return None
        if tx is None:
            tx = zeros_spread(some, self.x)
        if tv is None:
            tv = make(tx.dtype.type(0), (), tx.hidden)
        return stamp(spread(write_block(tx, tv, self.cuts, self.how), self.out), some.hidden)


_BLOCK = _Block("write_block")
