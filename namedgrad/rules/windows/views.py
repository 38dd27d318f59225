"""Sliding windows along dims, and their transpose, overlap-add: the linear map that convolution and pooling stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.backends.windows import Span
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, Primitive, place
from namedgrad.rules.structure import relabel
from namedgrad.trace import apply

Spans = tuple[Span, ...]


def _numbered(count: int) -> tuple[Names, Names, Names]:
    """Core names of cells, places and offsets."""
    names = axes.cores(3 * count)
    return names[:count], names[count : 2 * count], names[2 * count :]


class _Windows(Primitive):
    """The cells of every window: the dims count the windows, new last axes the offsets within one."""

    form, signature, keeps = "linear", "(n...)->(n...,w...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names, new: Names, spans: Spans) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims), spans)
        return make(raw, (*x.names, *new), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, new: Names, spans: Spans) -> Map:
        (x,) = ins
        cells, places, offsets = _numbered(len(dims))
        sizes = tuple(extent(x, d) for d in dims)
        there, back = dict(zip(cells, places, strict=True)), dict(zip(places, cells, strict=True))
        return LinearCore(
            lambda ts: cut_windows(relabel(ts[0], there), places, offsets, spans),
            lambda g: [relabel(_overlap_add(g, places, offsets, spans, sizes), back)],
            [like(x)],
            [dict(zip(dims, cells, strict=True))],
            dict(zip((*dims, *new), (*places, *offsets), strict=True)),
        )


class _OverlapAdd(Primitive):
    """Windows added back where they came from: the transpose of :class:`_Windows`."""

    form, signature, keeps = "linear", "(n...,w...)->(n...)", "constants"

    def lower(
        self, args: Sequence[DimArray], dims: Names, new: Names, spans: Spans, sizes: tuple[int, ...]
    ) -> DimArray:
        (x,) = args
        names = tuple(n for n in x.names if n not in new)
        raw = place(x.raw, axes.Move(axes.order_plan(x.names, (*names, *new)), None))
        out = call(self.kernel_for(raw), raw, axes.positions(names, dims), spans, sizes)
        return make(out, names, x.hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, new: Names, spans: Spans,
        sizes: tuple[int, ...],
    ) -> Map:  # fmt: skip
        cells, places, offsets = _numbered(len(dims))
        there, back = dict(zip(places, cells, strict=True)), dict(zip(cells, places, strict=True))
        return LinearCore(
            lambda ts: relabel(_overlap_add(ts[0], places, offsets, spans, sizes), there),
            lambda g: [cut_windows(relabel(g, back), places, offsets, spans)],
            [like(ins[0])],
            [dict(zip((*dims, *new), (*places, *offsets), strict=True))],
            dict(zip(dims, cells, strict=True)),
        )


_WINDOWS, _OVERLAP_ADD = _Windows("windows"), _OverlapAdd("overlap_add")


def cut_windows(x: DimArray, dims: Names, new: Names, spans: Spans) -> Any:
    """Windows along dims, the places in them along new ones."""
    return apply(_WINDOWS, (x,), dims=dims, new=new, spans=spans)


def _overlap_add(x: DimArray, dims: Names, new: Names, spans: Spans, sizes: tuple[int, ...]) -> Any:
    return apply(_OVERLAP_ADD, (x,), dims=dims, new=new, spans=spans, sizes=sizes)


def strided_windows(x: DimArray, spans: Mapping[Name, Span], new: Mapping[Name, Name]) -> Any:
    """Windows along dims, 0 where they have no cell; each dim then counts the windows, ``new[dim]`` the offsets."""
    return cut_windows(x, tuple(spans), tuple(new[d] for d in spans), tuple(spans.values())) if spans else x


def add_windows(x: DimArray, spans: Mapping[Name, Span], new: Mapping[Name, Name], sizes: Mapping[Name, int]) -> Any:
    """The transpose of :func:`strided_windows`: windows added back into dims of these sizes."""
    if not spans:
        return x
    return _overlap_add(x, tuple(spans), tuple(new[d] for d in spans), tuple(spans.values()), tuple(sizes[d] for d in spans))


def windows(x: DimArray, dim: Name, new: Name, size: int) -> Any:
    """All runs of ``size`` neighbours along ``dim``, which then counts the runs; ``new`` counts within one."""
    return strided_windows(x, {dim: Span(size, extent(x, dim) - size + 1)}, {dim: new})
