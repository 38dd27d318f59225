"""Parts of one dim and their transposes, reversal and cyclic shift: the linear maps that moves are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, like
from namedgrad.primitive import LinearCore, Primitive
from namedgrad.primitive.linear import frame_of, linear
from namedgrad.rules.placed import Placed
from namedgrad.trace import apply
from namedgrad.versions import Version

Cuts = Mapping[Name, slice | int]


def core_size(x: Like) -> int:
    """Size of the axis ``core(-1)``."""
    return x.full_shape[x.names.index(axes.core(-1))]


# fmt: off
flip_axes = linear("(n)->(n)", "flip_axis", moves=1, kernel="flip", transpose=lambda g, x: flip_axes(g, core_dims(x)), many=True)
roll_axes = linear("(n)->(n)", "roll_axis", moves=1, kernel="roll", many=True,
                   transpose=lambda g, x, shift: roll_axes(g, core_dims(x), shift=tuple(-s for s in shift)))
# fmt: on


def core_dims(x: Like) -> Names:
    """The axes along which a linear operation is."""
    return tuple(sorted((n for n in x.names if isinstance(n, axes.Core)), key=lambda n: n.number))


class _Cut(Primitive):
    """What slices and positions of some axes leave."""

    form, signature, keeps = "linear", "(n...)->(m...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], cuts: Cuts) -> DimArray:
        (x,) = args
        if type(x) is Version:
            raw = x.state.read(tuple(cuts.get(n, slice(None)) for n in x.names))
            return make(raw, tuple(n for n in x.names if not isinstance(cuts.get(n), int)), x.hidden)
        raw, names = x.raw, x.names
        for n, k in cuts.items():
            at = names.index(n)
            raw = call(backends.backend_of(raw).cut, raw, at, k)
            names = (*names[:at], *names[at + 1 :]) if isinstance(k, int) else names
        return make(raw, names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], cuts: Cuts) -> LinearCore:
        return _CutMap(ins[0], cuts)


class _CutMap(LinearCore):
    __slots__ = ("cuts", "inner", "sizes")

    def __init__(self, x: DimArray, cuts: Cuts) -> None:
        self.cuts = cuts
        dims = tuple(cuts)
        frame = frame_of(dims)
        self.frames, self.operands, self.mixes = [frame], [like(x)], dims
        self.out_frame = {n: frame[n] for n, k in cuts.items() if not isinstance(k, int)}
        self.inner, self.sizes = {frame[n]: k for n, k in cuts.items()}, tuple([extent(x, n) for n in dims])

    def pull(self, g: DimArray) -> list[DimArray | None]:
        plain = g.level is None and isinstance(g.raw, (np.ndarray, np.generic)) and not backends.is_recording()
        if not plain or self.apart(g, self.out_frame) is not g:
            return super().pull(g)
        return [Placed(g, self.cuts, self.operands[0])]

    def _pull(self, g: DimArray) -> list[DimArray]:
        return [_uncut(g, self.inner, self.sizes)]

    def _push(self, ts: list[Any]) -> DimArray:
        return cut_out(ts[0], self.inner)


class _Uncut(Primitive):
    """The transpose: zeros around, in axes of these sizes."""

    form, signature, keeps = "linear", "(m...)->(n...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], cuts: dict[Name, slice | int], sizes: Sequence[int]) -> DimArray:
        (x,) = args
        raw, names = x.raw, x.names
        for n, size in zip(reversed(cuts), reversed(sizes), strict=True):  # the last cut is the smallest
            k = cuts[n]
            names = (*names, n) if isinstance(k, int) else names
            raw = call(backends.backend_of(raw).uncut, raw, names.index(n), k, size)
        return make(raw, names, x.hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], cuts: Cuts, sizes: Sequence[int]
    ) -> LinearCore:
        return _UncutMap(ins[0], cuts, sizes)


class _UncutMap(LinearCore):
    __slots__ = ("inner", "sizes")

    def __init__(self, x: DimArray, cuts: Cuts, sizes: Sequence[int]) -> None:
        self.out_frame = frame = frame_of(tuple(cuts))
        self.frames = [{n: frame[n] for n, k in cuts.items() if not isinstance(k, int)}]
        self.operands, self.mixes = [like(x)], tuple(self.frames[0])
        self.inner, self.sizes = {frame[n]: k for n, k in cuts.items()}, tuple(sizes)

    def _pull(self, g: DimArray) -> list[DimArray]:
        return [cut_out(g, self.inner)]

    def _push(self, ts: list[Any]) -> DimArray:
        return _uncut(ts[0], self.inner, self.sizes)


_CUT, _UNCUT = _Cut("cut"), _Uncut("uncut")


def cut_out(x: DimArray, cuts: Cuts) -> DimArray:
    """Slices, or positions, of some dims."""
    cuts = {n: k for n, k in cuts.items() if isinstance(k, int) or k.indices(s := extent(x, n)) != (0, s, 1)}
    return apply(_CUT, (x,), cuts=cuts) if cuts else x


def slice_of(x: DimArray, dim: Name, index: slice | int) -> DimArray:
    """A slice, or one position, of one dim."""
    return cut_out(x, {dim: index})


def part_of(x: DimArray, dim: Name, start: int | None, stop: int | None) -> DimArray:
    """The cells of one dim from one position up to another; either counts from the end if it is negative."""
    return slice_of(x, dim, slice(*slice(start, stop).indices(extent(x, dim))))


def uncut_slice(x: DimArray, dim: Name, index: slice, size: int) -> DimArray:
    """A dim of another size, in which ``x`` is the slice, and all else 0."""
    return _uncut(x, {dim: index}, (size,))


def _uncut(x: DimArray, cuts: Cuts, sizes: Sequence[int]) -> DimArray:
    return apply(_UNCUT, (x,), cuts=cuts, sizes=sizes)
