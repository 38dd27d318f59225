"""The product of all that is written to one cell.

Each writer's derivative is the product of the others, which is never found by dividing by a factor that may be 0: by
running products before and after it among the sorted writers to its cell. Where it is seen that every product is
moderate, so that no factor is 0, cotangents times the product are divided by the factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import Like, Map, add_all, fold, like, product
from namedgrad.primitive import Primitive, place
from namedgrad.rules.elementwise import c, divide, logical_and, maximum, minimum
from namedgrad.rules.indexing.maps import (
    Scatter,
    gather,
    index_sizes,
    laid_out_writers,
    marks,
    scatter_add,
    unmarked,
)
from namedgrad.rules.movement.stacking import merge, split
from namedgrad.rules.structure import (
    add,
    equal,
    if_likely,
    multiply,
    positions,
    spread,
    stamp,
    subtract,
    where,
    zeros_spread,
)
from namedgrad.trace import Traced, apply


class _Product(Scatter):
    """The product of all writers to a cell, 1 where there is none."""

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, sizes: tuple[int, ...], summed: Names
    ) -> Map:
        v, *index = ins
        moderate = _may_divide(v, out)
        if moderate is not False:
            return _QuotientMap(v, out, moderate, unmarked(index), dims, sizes, summed)
        factor = others(v, out, index, dims, sizes, summed)
        return _ProductMap(like(v), factor, unmarked(index), dims, sizes, summed)


def _may_divide(v: DimArray, whole: DimArray) -> DimArray | bool:
    """Whether it is seen; the derivative of a quotient in what it is divided by would lose digits."""
    if v.level is not None or whole.level is not None or not (backend := backends.backend_of(whole.raw)).may_branch:
        return False
    found = call(backend.are_moderate, whole.raw)
    return make(found, (), axes.NONE) if backends.is_recording() else bool(found)


class _ProductMap(Map):
    """Each writer times the product of the others."""

    __slots__ = ("dims", "index", "mixes", "others", "sizes", "summed", "v")

    def __init__(
        self, v: Like, others: Any, index: list[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names
    ) -> None:
        self.v, self.others, self.index, self.dims, self.sizes, self.summed = v, others, index, dims, sizes, summed
        self.mixes = tuple(summed)

    def pull(self, g: DimArray) -> list[DimArray | None]:
        g = self.apart(g, self.dims)
        found = gather(g, dict(zip(self.dims, self.index, strict=True)))
        return [fold(found if found.hidden is g.hidden else stamp(found, g.hidden), self.others, self.v.names)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        (t,) = ts
        return None if t is None else scatter_add(product(t, self.others), self.index, self.dims, self.sizes, self.summed)


class _QuotientMap(_ProductMap):
    """The same, of products that may be divided by a writer: a program bets on that."""

    __slots__ = ("moderate", "multiplies", "whole", "writers")

    def __init__(self, writers: DimArray, whole: DimArray, moderate: DimArray | bool, *where: Any) -> None:
        super().__init__(like(writers), None, *where)
        self.writers, self.whole, self.moderate = writers, whole, moderate
        self.multiplies = moderate is not True

    def pull(self, g: DimArray) -> list[DimArray | None]:
        return [self.divided(product(g, self.whole), lambda: g)]

    def divided(self, own: DimArray, g: Callable[[], DimArray]) -> DimArray:
        """What each writer has of a cotangent times the product."""
        own = self.apart(own, self.dims)
        out = if_likely(self.moderate, lambda: self._divided(own), lambda: self._multiplied(g()))
        return out if out.hidden is own.hidden else stamp(out, own.hidden)

    def _divided(self, g: DimArray) -> DimArray:
        out = divide(gather(g, dict(zip(self.dims, self.index, strict=True))), self.writers)
        return fold(out if out.hidden is g.hidden else stamp(out, g.hidden), 1, self.v.names)

    def _multiplied(self, g: DimArray) -> DimArray:
        self._with_others()
        (out,) = _ProductMap.pull(self, g)
        return out  # type: ignore[return-value]

    def _with_others(self) -> None:
        if self.others is None:
            self.others = others(self.writers, self.whole, self.index, self.dims, self.sizes, self.summed)

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        self._with_others()
        return super().push(ts)


class _TimesMap(_QuotientMap):
    """The same, times an array whose own cotangent has that of the product as a factor already."""

    __slots__ = ("x",)

    def __init__(self, x: DimArray, of: _QuotientMap) -> None:
        super().__init__(of.writers, of.whole, of.moderate, of.index, of.dims, of.sizes, of.summed)
        self.x, self.multiplies = x, True

    def pull(self, g: DimArray) -> list[DimArray | None]:
        own = product(g, self.whole)
        return [fold(own, 1, self.x.names), self.divided(product(own, self.x), lambda: product(g, self.x))]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        tx, written = ts[0], super().push(ts[1:])
        parts = [product(t, f) for t, f in ((tx, self.whole), (written, self.x)) if t is not None]
        return add_all(parts) if parts else None


class _Others(Primitive):
    """For each writer the product of the others to the same cell, untraced."""

    form, signature = "linear", "(),(n...),()->()"

    def lower(self, args: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names) -> DimArray:
        v, whole, *index = args
        order, raw, placed, options = laid_out_writers((v, *index), summed)
        shared, head, _, tail = order
        target = (*shared, *head, *dims, *tail)
        backend = backends.backend_of(*(a.raw for a in args))
        whole = place(whole.raw, axes.Move(axes.order_plan(whole.names, target), None))
        out = call(backend.exclusive_product, raw, whole, *placed, sizes=sizes, **options)
        return make(out, (*shared, *head, *summed, *tail), marks((v, *index), ()))

    def linear(self, *args: Any, **params: Any) -> Map | None:
        return None


_PRODUCT, _OTHERS = _Product("scatter_multiply"), _Others("others")


def scatter_product(
    v: DimArray, index: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names
) -> DimArray:
    """The product of all writers to a cell, 1 where there is none; ``v`` has every name of the index."""
    return apply(_PRODUCT, (v, *index), dims=dims, sizes=sizes, summed=summed)


def times_product(
    x: DimArray, v: DimArray, index: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names
) -> DimArray:
    """``x`` times that product."""
    whole, level = scatter_product(v, index, dims, sizes, summed), x.level
    alike = type(x) is type(whole) is Traced and {*x.names} == {*whole.names} and x.dtype == whole.dtype
    if not (alike and level is whole.level and level.fast and type(whole.node) is _QuotientMap):
        return multiply(x, whole)
    map_ = _TimesMap(level.own(x.value) if level.borrow else x.value, whole.node)
    return level.record(map_, (x.node, *whole.node.parents), multiply(x.value, whole.value))


def others(
    v: DimArray, whole: DimArray, index: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names
) -> DimArray:
    """For each writer the product of the others to the same cell, where ``whole`` is the product of all."""
    if v.level is None:
        return apply(_OTHERS, (v, whole, *index), dims=dims, sizes=sizes, summed=summed)
    return _running_others(v, index, sizes, summed)


def _running_others(v: DimArray, index: Sequence[DimArray], sizes: tuple[int, ...], summed: Names) -> DimArray:
    """As :func:`others`, in operations that have a derivative: products before and after it in the run of its cell."""
    from namedgrad.rules.sorting import argsort_of, inverse_order

    if not summed:
        return zeros_spread(v, like(v), v.dtype.type(1))
    line = axes.local("writers")
    key = index[0]
    for i, n in zip(index[1:], sizes[1:], strict=True):
        key = add(multiply(key, c(n)), i)
    all_sizes = index_sizes(index)
    key = spread(key, Like(summed, tuple(all_sizes[n] for n in summed), key.dtype))
    key, v = merge(key, summed, line), merge(v, summed, line)
    order = argsort_of(key, line)
    key, v = gather(key, {line: order}), gather(v, {line: order})
    both = multiply(_running(key, v, line, 1), _running(key, v, line, -1))
    back = gather(both, {line: inverse_order(order, line)})
    return split(back, line, {n: all_sizes[n] for n in summed})


def _running(key: DimArray, v: DimArray, line: Any, step: int) -> DimArray:
    """Products of the cells before (``step`` 1) or after (-1) each one in its run, in a logarithmic number of steps."""
    out = _from_run(key, v, line, step)
    while abs(step) < key.full_shape[key.names.index(line)]:
        out = multiply(out, _from_run(key, out, line, step))
        step *= 2
    return out


def _from_run(key: DimArray, v: DimArray, line: Any, step: int) -> DimArray:
    """The cell ``step`` before each one, 1 where that belongs to another run."""
    size = key.full_shape[key.names.index(line)]
    there = subtract(positions(size, line, key), c(step))
    inside = minimum(maximum(there, c(0)), c(size - 1))
    same = logical_and(equal(gather(key, {line: inside}), key), equal(there, inside))
    return where(same, gather(v, {line: inside}), c(1))
