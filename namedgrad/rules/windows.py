"""Sliding windows along a dim, and their transpose, overlap-add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Map, like
from namedgrad.primitive import Primitive, place
from namedgrad.rules.structure import relabel
from namedgrad.trace import apply

PLACE, OFFSET, CELL = axes.core(-2), axes.core(-1), axes.core(-3)


class _Windows(Primitive):
    """Every run of ``size`` cells: the dim counts the runs, a new last axis the cells of one."""

    form, signature = "linear", "(n)->(n,w)"

    def lower(self, args: Sequence[DimArray], dim: Name, new: Name, size: int) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, x.names.index(dim), size)
        return make(raw, (*x.names, new), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], *, dim: Name, new: Name, size: int) -> Map:
        return CoreMap(
            lambda ts: windows(relabel(ts[0], {CELL: PLACE}), PLACE, OFFSET, size),
            lambda g: [relabel(overlap_add(g, PLACE, OFFSET), {PLACE: CELL})],
            [like(ins[0])],
            [{dim: CELL}],
            {dim: PLACE, new: OFFSET},
        )


class _OverlapAdd(Primitive):
    """Windows added back where they came from: the transpose of :class:`_Windows`."""

    form, signature = "linear", "(n,w)->(n)"

    def lower(self, args: Sequence[DimArray], dim: Name, new: Name) -> DimArray:
        (x,) = args
        names = tuple(n for n in x.names if n != new)
        order = axes.Move(axes.order_plan(x.names, (*names, new)), None)
        raw = place(x.raw, order)
        return make(call(self.kernel_for(raw), raw, names.index(dim)), names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], *, dim: Name, new: Name) -> Map:
        size = ins[0].full_shape[ins[0].names.index(new)]
        return CoreMap(
            lambda ts: relabel(overlap_add(ts[0], PLACE, OFFSET), {PLACE: CELL}),
            lambda g: [windows(relabel(g, {CELL: PLACE}), PLACE, OFFSET, size)],
            [like(ins[0])],
            [{dim: PLACE, new: OFFSET}],
            {dim: CELL},
        )


_WINDOWS, _OVERLAP_ADD = _Windows("windows"), _OverlapAdd("overlap_add")


def windows(x: DimArray, dim: Name, new: Name, size: int) -> Any:
    """All runs of ``size`` neighbours along ``dim``, which then counts the runs; ``new`` counts within one."""
    return apply(_WINDOWS, (x,), dim=dim, new=new, size=size)


def overlap_add(x: DimArray, dim: Name, new: Name) -> Any:
    """Add runs of neighbours back to where they came from."""
    return apply(_OVERLAP_ADD, (x,), dim=dim, new=new)
