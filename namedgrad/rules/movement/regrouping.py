"""Axes taken apart anew: those of an array, cell by cell in their order, under other names and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import like
from namedgrad.primitive import LinearCore, Primitive
from namedgrad.primitive.linear import frame_of
from namedgrad.trace import apply


class _Regroup(Primitive):
    """Several axes as several others with as many cells, in C order; the transpose is of the same kind."""

    form, signature, keeps = "linear", "(a...)->(b...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names, sizes: Mapping[Name, int]) -> DimArray:
        (x,) = args
        rest = tuple([n for n in x.names if n not in dims])
        perm, raw = axes.order_plan(x.names, (*rest, *dims)), x.raw
        if perm is not None:
            raw = call(backends.backend_of(raw).transpose, raw, perm)
        shape = (*raw.shape[: len(rest)], *sizes.values()) if x.names else tuple(sizes.values())
        return make(call(backends.backend_of(raw).reshape, raw, shape), (*rest, *sizes), x.hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, sizes: Mapping[Name, int]
    ) -> LinearCore:
        return _Regrouped(ins[0], dims, sizes)


class _Regrouped(LinearCore):
    __slots__ = ("new", "old")

    def __init__(self, x: DimArray, dims: Names, sizes: Mapping[Name, int]) -> None:
        self.old, self.new = tuple([extent(x, n) for n in dims]), tuple(sizes.values())
        self.operands, self.mixes = [like(x)], dims
        self.frames, self.out_frame = [frame_of(dims)], frame_of(tuple(sizes))

    def _pull(self, g: DimArray) -> list[DimArray]:
        return [_again(g, self.new, self.old)]

    def _push(self, ts: list[Any]) -> DimArray:
        return _again(ts[0], self.old, self.new)


def _again(x: DimArray, old: Sequence[int], new: Sequence[int]) -> DimArray:
    return regroup(x, axes.cores(len(old)), dict(zip(axes.cores(len(new)), new, strict=True)))


_REGROUP = _Regroup("regroup", "reshape")


def regroup(x: DimArray, dims: Names, sizes: Mapping[Name, int]) -> DimArray:
    """The axes ``dims``, the first of which varies slowest, as axes of these sizes."""
    return apply(_REGROUP, (x,), dims=dims, sizes=sizes)
