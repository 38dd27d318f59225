"""Writing into an array at an index: one cell may have several writers.

``"add"`` sums them, ``"maximum"`` and ``"minimum"`` keep the extreme one (cells that tie share its derivative), ``"put"``
lets the last one win, which alone has a derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import AxisError, Names
from namedgrad.backends import call
from namedgrad.linear import Map, Mask, fold, like, product
from namedgrad.primitive import Primitive, check_sizes
from namedgrad.rules.dims import without
from namedgrad.rules.elementwise import c, divide, isnan, logical_and, logical_or, maximum
from namedgrad.rules.indexing.maps import (
    Scatter,
    around,
    gather,
    index_names,
    index_sizes,
    laid_out,
    marks,
    placed_index,
    scatter_add,
    unmarked,
    with_names,
)
from namedgrad.rules.structure import (
    add,
    alongside,
    cast,
    equal,
    relabel,
    select,
    spread,
    stamp,
    zeros_spread,
)
from namedgrad.trace import apply, innermost


def write_into(x: DimArray, v: DimArray, index: Sequence[DimArray], dims: Names, summed: Names, how: str,
               *, own: bool = True) -> DimArray:
    """``v`` combined into the cells of ``x`` at the index.

    ``summed`` are the names of the index that end there; the others, which ``x`` has or gains, stay.  Without ``own`` the
    cells of ``x`` do not count as writers: they are neutral.
    """
    v = alongside(v, x)
    dtype = np.result_type(x.dtype, v.dtype)
    return apply(_INTO, (cast(x, dtype), cast(v, dtype), *index), dims=dims, summed=summed, how=how, own=own)


class _Into(Primitive):
    """One array combined into another at an index."""

    form, signature, keeps = "linear", "(n...),(),()->(n...)", "constants"
    moves = 2

    def lower(self, args: Sequence[DimArray], dims: Names, summed: Names, how: str, own: bool) -> DimArray:
        x, v, *index = args
        check_sizes("at", [*index, v, without(x, dims)])
        shared = tuple(n for n in index_names(index) if n not in summed)
        names = tuple(dict.fromkeys((*x.names, *(n for n in (*v.names, *shared) if n not in summed))))
        if clash := [n for n in v.names if n in dims and n not in summed]:
            raise AxisError(f"at: the value has the dim {clash[0]!r}, which the index replaces; rename it in the value")
        brought = dict(zip(v.names, v.full_shape, strict=True)) | index_sizes(index)
        sizes = brought | dict(zip(x.names, x.full_shape, strict=True))
        head, tail = around(names, dims, shared)
        backend = backends.backend_of(*(a.raw for a in args))
        raw = laid_out(x, (*shared, *head, *dims, *tail), sizes, backend)
        value = laid_out(v, (*shared, *head, *summed, *tail), sizes | {n: brought[n] for n in summed}, backend)
        placed = placed_index(index, (*shared, *summed), backend)
        out = call(backend.scatter_into, raw, value, *placed, how=how, shared=len(shared), tail=len(tail))
        perm = axes.order_plan((*shared, *head, *dims, *tail), names)
        out = out if perm is None else call(backend.transpose, out, perm)
        return make(out, names, marks(args, summed))

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, summed: Names, how: str, own: bool
    ) -> Map:
        return _MAPS[how](out, ins, need, dims, summed, own)


class _Winners(Scatter):
    """Which writer to a cell is the last one, over the names of the index; no derivative."""

    def lower(self, args: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names) -> DimArray:
        shared = tuple(n for n in index_names(args) if n not in summed)
        backend = backends.backend_of(*(a.raw for a in args))
        placed = placed_index(args, (*shared, *summed), backend)
        won = call(backend.last_writers, *placed, shared=len(shared), sizes=sizes)
        return make(won, (*shared, *summed), axes.by_name())


_INTO, _WINNERS, _COUNT = _Into("scatter_into"), _Winners("winners"), Scatter("scatter_count")


# ------------------------------------------------------------------------------------------------ derivatives


class _AddMap(Map):
    """The sum: the cotangent of what is written is gathered from where it went."""

    __slots__ = ("dims", "index", "mixes", "need", "out", "own", "summed", "told", "v", "x")
    multiplies = False

    def __init__(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, summed: Names, own: bool
    ) -> None:
        x, v, *index = ins
        self.out, self.x, self.v, self.need, self.own = like(out), like(x), like(v), need[:2], own
        self.index, self.dims, self.summed = unmarked(index), dims, summed
        self.told = {*v.names, *index_names(index), *dims}
        self.mixes = tuple(summed) if need[1] else ()
        self.prepare(out, x, v)

    def prepare(self, out: DimArray, x: DimArray, v: DimArray) -> None:
        """Keep what the derivative needs."""

    def sizes(self) -> tuple[int, ...]:
        """Sizes of the dims that are indexed."""
        return tuple(self.x.full_shape[self.x.names.index(d)] for d in self.dims)

    def found(self, a: DimArray) -> DimArray:
        """What is where the writers went."""
        return gather(a, dict(zip(self.dims, self.index, strict=True)))

    def scattered(self, v: DimArray) -> DimArray:
        """What is written, added into zeros."""
        return scatter_add(v, self.index, self.dims, self.sizes(), self.summed)

    def counted(self, mask: DimArray) -> DimArray:
        """How many of the writers to each cell a mask has."""
        mask = with_names(mask, self.index)
        return apply(_COUNT, (mask, *self.index), dims=self.dims, sizes=self.sizes(), summed=self.summed)

    # ---------------------------------------------------------------- both directions

    def pull(self, g: DimArray) -> list[DimArray | None]:
        g = self.weighted(g)
        out: list[DimArray | None] = []
        if self.need[0]:
            out.append(self.pull_target(g))
        if self.need[1]:
            apart = self.narrowed(self.apart(g, self.dims))
            found = self.found(apart)
            out.append(self.pull_value(found if found.hidden is apart.hidden else stamp(found, apart.hidden)))
        return out

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        given = iter(ts)
        tx, tv = (next(given) if n else None for n in self.need)
        some = tx if tv is None else tv
        if some is None:
            return None
        return stamp(spread(self.weighted(self.pushed(tx, tv)), self.out), some.hidden)

    # ---------------------------------------------------------------- what differs

    def weighted(self, g: DimArray) -> DimArray:
        """The cotangent, or tangent, of the result, which several cells may share."""
        return g

    def narrowed(self, g: DimArray) -> DimArray:
        """The cotangent summed over what the writers do not tell apart: once per cell, not once per writer."""
        return fold(g, 1, tuple(n for n in g.names if n in self.told))

    def pull_target(self, g: DimArray) -> DimArray:
        """The cotangent of the array."""
        return fold(g, 1, self.x.names)

    def pull_value(self, found: DimArray) -> DimArray:
        """The cotangent of what was written, of what was found where it went."""
        return fold(found, 1, self.v.names)

    def pushed(self, tx: DimArray | None, tv: DimArray | None) -> DimArray:
        """The tangent of the result."""
        if tv is None:
            return tx  # type: ignore[return-value]
        return self.scattered(tv) if tx is None else add.two(tx, self.scattered(tv))


class _PutMap(_AddMap):
    """Cells that are written pass nothing to the array; of several writers only the last passes something."""

    __slots__ = ("aside", "ended", "won")

    def prepare(self, out: DimArray, x: DimArray, v: DimArray) -> None:
        aside = {n: axes.local(("written", n)) for n in self.summed}  # a cotangent may have kept axes of these names
        self.ended = tuple(aside.values())
        self.aside = [relabel(i, {n: m for n, m in aside.items() if n in i.names}) for i in self.index]
        self.won = None
        if self.summed and self.need[1]:
            won = apply(_WINNERS, self.index, dims=self.dims, sizes=self.sizes(), summed=self.summed)
            self.won = None if backends.may_look(won.raw) and won.raw.all() else won  # a pass less for every pull

    def pull_target(self, g: DimArray) -> DimArray:
        zero = make(g.dtype.type(0), (), g.hidden)
        left = write_into(g, zero, self.aside, self.dims, self.ended, "put")
        return fold(left if left.hidden is g.hidden else stamp(left, g.hidden), 1, self.x.names)

    def pull_value(self, found: DimArray) -> DimArray:
        return fold(found, 1 if self.won is None else Mask(self.won), self.v.names)

    def pushed(self, tx: DimArray | None, tv: DimArray | None) -> DimArray:
        if tx is None:
            tx = stamp(zeros_spread(tv, self.x), tv.hidden)  # type: ignore[arg-type, union-attr]
        if tv is None:
            tv = make(tx.dtype.type(0), (), tx.hidden)
        return write_into(tx, tv, self.index, self.dims, self.summed, "put")


def _same(x: DimArray, y: DimArray) -> DimArray:
    """Which cells of ``x`` are the extreme ``y``; a NaN, which is one, ties with others."""
    from namedgrad.rules.reductions.common import may_have_nan

    tie = equal(x, y)
    return logical_or(tie, logical_and(isnan(x), isnan(y))) if y.dtype.kind == "f" and may_have_nan(y) else tie


class _ExtremeMap(_AddMap):
    """Cells that tie, those of the array and those written, share equally."""

    __slots__ = ("among_values", "in_target", "share")

    def prepare(self, out: DimArray, x: DimArray, v: DimArray) -> None:
        out, x, v = (stamp(innermost(a), axes.by_name()) for a in (out, x, v))
        dtype = out.dtype
        self.in_target, self.among_values = _same(x, out), _same(v, self.found(out))
        ties = cast(self.counted(self.among_values), dtype)
        if self.own:
            ties = add(ties, cast(self.in_target, dtype))
        self.share = divide(c(1), maximum(ties, c(1)))

    def weighted(self, g: DimArray) -> DimArray:
        return product(g, self.share)

    def narrowed(self, g: DimArray) -> DimArray:
        return g  # which cells tie differs

    def pull_target(self, g: DimArray) -> DimArray:
        return fold(g, Mask(self.in_target), self.x.names)

    def pull_value(self, found: DimArray) -> DimArray:
        return fold(found, Mask(self.among_values), self.v.names)

    def pushed(self, tx: DimArray | None, tv: DimArray | None) -> DimArray:
        first = None if tx is None else stamp(select(self.in_target, tx), tx.hidden)
        second = None if tv is None else stamp(select(self.among_values, tv), tv.hidden)
        return super().pushed(first, second)


_MAPS = {"add": _AddMap, "put": _PutMap, "maximum": _ExtremeMap, "minimum": _ExtremeMap}
