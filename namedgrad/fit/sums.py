"""The sums over residuals that a least-squares solver needs of a cell: cost, gradient, normal matrix.

A column of the Jacobian that is the same in every cell, the derivative in an additive constant or in the slope along a
common coordinate, is kept once: its sums with the other columns are one matrix product for all cells.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name, by_name
from namedgrad.fit.cells import CELL
from namedgrad.linear import Like
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.structure import cast, contract, multiply, relabel, reorder, select, spread, stamp, total
from namedgrad.trace import Pick, Tangent, push
from namedgrad.transforms.tape import Tape, quiet

ROW, COLUMN, DIRECTION = axes.fresh("row"), axes.fresh("column"), axes.fresh("direction")
MOST_PAIRED = 12  # columns up to which two at a time are faster than one matrix product per cell
Weigh = Callable[[DimArray], tuple[DimArray, DimArray, DimArray]]


class Point(NamedTuple):
    """What an evaluation gives: (cell,), (row, cell) and (row, row, cell)."""

    cost: Any
    gradient: Any
    normal: Any

    @classmethod
    def empty(cls, like: Any, rows: int, cells: int) -> Self:
        """Room for so many where another array is."""
        return cls(*(np.empty_like(like, float, shape=(*own, cells)) for own in ((), (rows,), (rows, rows))))

    def finite(self) -> Any:
        """In which cells all is."""
        return functools.reduce(np.logical_and, (np.isfinite(x).all(axis=tuple(range(x.ndim - 1))) for x in self))


class Layout(NamedTuple):
    """Which sum is what.

    Attributes
    ----------
    each : whether there is one for each cell, ``(CELL, ...)``, or one for all
    varying, common : the rows of the Jacobian whose columns differ from cell to cell, and the others
    dense : whether gradient and normal matrix are one array each
    """

    each: list[bool]
    varying: list[int]
    common: list[int]
    dense: bool

    def point(self, raws: Sequence[Any], count: int) -> Point:
        """Sums of so many cells, as plain arrays, as matrices."""
        return assemble_dense(raws, count) if self.dense else assemble(raws, self.varying, self.common, count)

    def first(self, raws: Sequence[Any], count: int) -> list[Any]:
        """The sums of the first cells."""
        return [x[:count] if each else x for x, each in zip(raws, self.each, strict=True)]

    def joined(self, several: Sequence[Sequence[Any]]) -> list[Any]:
        """The sums of several batches as those of one."""
        pairs = zip(zip(*several, strict=True), self.each, strict=True)
        return [np.concatenate(parts) if each else parts[0] for parts, each in pairs]


class Sums(NamedTuple):
    """Sums of a batch of cells, and which is what."""

    arrays: list[DimArray]
    layout: Layout

    @classmethod
    def of(cls, arrays: list[DimArray], varying: list[int], common: list[int], *, dense: bool) -> Self:
        """Sums in the order of :func:`sums`."""
        return cls(arrays, Layout([CELL in x.names for x in arrays], varying, common, dense))

    def raws(self) -> list[Any]:
        """The sums as plain arrays on the host."""
        return [x.to_numpy() for x in self.arrays]


class Tile(NamedTuple):
    """The sums of some cells as plain arrays, all on the host or all where the data are."""

    layout: Layout
    raws: list[Any]
    cells: int

    def point(self) -> Point:
        """The same as matrices."""
        return self.layout.point(self.raws, self.cells)

    def is_complete(self) -> bool:
        """Whether sums that are the same in all cells are repeated for each."""
        return all(len(x) == self.cells for x, each in zip(self.raws, self.layout.each, strict=True) if each)


def whole(tiles: Sequence[Tile]) -> Point:
    """The sums of all cells in several tiles."""
    layout = tiles[0].layout
    if len(tiles) > 1 and all(t.layout == layout and t.is_complete() for t in tiles):
        return layout.point(layout.joined([t.raws for t in tiles]), sum(t.cells for t in tiles))
    points = [t.point() for t in tiles]
    return points[0] if len(points) == 1 else Point(*(np.concatenate(x, axis=-1) for x in zip(*points, strict=True)))


# ------------------------------------------------------------------------------------------------ columns


def columns(tape: Tape, one: DimArray, *, guard: bool) -> list[DimArray | None]:
    """Derivatives of the only output in every number that the inputs hold, visible and without repeated axes."""
    found: list[DimArray | None] = []
    with quiet():
        for leaf, x in zip(tape.leaves, tape.ins, strict=True):
            sizes = {n: s for n, s in zip(x.names, x.full_shape, strict=True) if n is not CELL}
            found += _directions(tape, leaf, one, sizes, guard=guard)
    return found


def _directions(tape: Tape, leaf: Any, one: DimArray, sizes: dict[Name, int], *, guard: bool) -> list[DimArray | None]:
    """One column per number of one input; a tangent that is the same in all cells lacks their axis."""
    pairs = frozenset({(DIRECTION, DIRECTION)}) if sizes else NONE
    seed = _unit(one, sizes) if sizes else one
    t = pushed(tape, leaf, Tangent(stamp(seed, by_name(pairs, guard))))
    count = int(np.prod([*sizes.values()], dtype=int))
    if t is None:
        return [None] * count
    x = stamp(t.value, NONE)
    if not sizes:
        return [narrow(x)]
    return [narrow(slice_of(x, DIRECTION, k)) if DIRECTION in x.names else narrow(x) for k in range(count)]


def pushed(tape: Tape, leaf: Any, seed: Tangent) -> Tangent | None:
    """The tangent of the only output, given that of one input; what all cells share on the way is computed once."""
    ts: dict[Any, Any] = {leaf: seed}
    for node in tape.maps:
        if type(node) is Pick:
            several = ts.get(node.parents[0])
            ts[node] = None if several is None else several[node.index]
            continue
        ins = [ts.get(p) for p in node.parents]
        if any(t is not None for t in ins):
            out = push(node, ins)
            for t in out if type(out) is tuple else (out,):
                if t is not None:
                    t.value = _without_cells(t.value)
            ts[node] = out
    (end,) = tape.ends
    return None if end is None else ts.get(end)


def _without_cells(x: DimArray) -> DimArray:
    """Without the axis of cells, if all have the same value: no operation mixes them."""
    if CELL not in x.names:
        return x
    strides = getattr(x.raw, "strides", None)
    return slice_of(x, CELL, 0) if strides and strides[x.names.index(CELL)] == 0 else x


def _unit(one: DimArray, sizes: dict[Name, int]) -> DimArray:
    """All unit tangents of an array with these sizes, along a new axis."""
    shape = tuple(sizes.values())
    count = int(np.prod(shape, dtype=int))
    host = np.eye(count).reshape(count, *shape)
    return make(backends.call(backends.backend_of(one.raw).asarray, host), (DIRECTION, *sizes), NONE)


def narrow(x: DimArray) -> DimArray:
    """Without axes along which an array repeats one value."""
    strides = getattr(x.raw, "strides", ())
    for name, step, size in zip(x.names, strides, x.full_shape, strict=False):
        if step == 0 and size > 0:
            x = slice_of(x, name, 0)
    return x


# ------------------------------------------------------------------------------------------------ sums


def sums(r: DimArray, cols: Sequence[DimArray | None], seen: DimArray | None, weigh: Weigh | None) -> Sums:
    """All sums of residuals ``(CELL, dims...)``: those that are not ``seen`` do not count, a loss weighs the others."""
    dims = r.names[1:]
    zero = make(backends.call(backends.backend_of(r.raw).full, (), 0, r.dtype), (), NONE)
    given = [zero if x is None else x for x in cols]
    several = r.full_shape[0] > 1  # a single cell shares with nobody
    several = several and len(given) <= MOST_PAIRED
    common = [k for k, x in enumerate(given) if several and CELL not in x.names and (seen is None or _is_finite(x))]
    varying = [k for k in range(len(given)) if k not in common]
    full = [_as_table(given[k], r) for k in varying]
    if seen is not None:
        r, full = select(seen, r), [select(seen, x) for x in full]
    twice, slope, weight, heavy = r, r, None if seen is None else cast(seen, r.dtype), full
    if weigh is None:
        cost = contract(r, r, dims)
    else:
        twice, slope, weight = weigh(r)
        weight = weight if seen is None else select(seen, weight)
        cost, heavy = total(twice, dims), [multiply(x, weight) for x in full]
    if len(full) > MOST_PAIRED:
        block, other = join(full, ROW), relabel(join(heavy, ROW), {ROW: COLUMN})
        gradient = reorder(contract(block, slope, dims), (CELL, ROW))
        normal = reorder(contract(block, other, dims), (CELL, ROW, COLUMN))
        return Sums.of([cost, gradient, normal], varying, [], dense=True)
    out = [cost, *(contract(x, slope, dims) for x in full)]
    out += [contract(heavy[i], full[j], dims) for i, j in _pairs(len(full))]
    if common:
        out += _with_common([given[k] for k in common], slope, heavy, weight, r)
    return Sums.of(out, varying, common, dense=False)


def _with_common(
    cols: Sequence[DimArray], slope: DimArray, heavy: Sequence[DimArray], weight: DimArray | None, r: DimArray
) -> list[DimArray]:
    """Sums with the columns that all cells share: gradient, products with the others, products among themselves."""
    dims = r.names[1:]
    like = Like(dims, r.full_shape[1:], r.dtype)
    wide = [spread(x, like) for x in cols]
    block = join(wide, ROW)
    out = [reorder(contract(x, block, dims), (CELL, ROW)) for x in (slope, *heavy)]
    products = [multiply(wide[i], wide[j]) for i, j in _pairs(len(wide))]
    rows = join(products, ROW)
    if weight is not None:
        return [*out, reorder(contract(weight, rows, dims), (CELL, ROW))]
    return [*out, total(rows, dims)]


def _as_table(x: DimArray, r: DimArray) -> DimArray:
    return reorder(spread(x, Like(r.names, r.full_shape, r.dtype)), r.names)


def _is_finite(x: DimArray) -> bool:
    """Whether a column that all cells share is finite: it depends on no parameter, and so is the same in every call."""
    return bool(np.isfinite(backends.backend_of(x.raw).to_numpy(x.raw)).all())


def _pairs(count: int) -> list[tuple[int, int]]:
    return list(itertools.combinations_with_replacement(range(count), 2))


def assemble(raws: Sequence[Any], varying: Sequence[int], common: Sequence[int], count: int) -> Point:
    """Sums, in the order in which :func:`sums` gives them, as matrices."""
    v, k = len(varying), len(common)
    p, rest = v + k, iter(raws)
    cost = 0.5 * next(rest)
    gradient, normal = (np.empty_like(cost, float, shape=shape) for shape in ((p, count), (p, p, count)))
    for i in varying:
        gradient[i] = next(rest)
    for i, j in _pairs(v):
        normal[varying[i], varying[j]] = normal[varying[j], varying[i]] = next(rest)
    if k:
        for i, row in zip(common, next(rest).T, strict=True):
            gradient[i] = row
        for i in varying:
            for j, row in zip(common, next(rest).T, strict=True):
                normal[i, j] = normal[j, i] = row
        products = next(rest)
        for n, (i, j) in enumerate(_pairs(k)):
            value = products[..., n]
            normal[common[i], common[j]] = normal[common[j], common[i]] = value
    return Point(cost, gradient, normal)


def assemble_dense(raws: Sequence[Any], count: int) -> Point:
    """The same for sums that are matrices already."""
    cost, gradient, normal = raws
    full = np.broadcast_to(normal, (count, *normal.shape[1:]))
    return Point(
        0.5 * cost, np.broadcast_to(gradient, (count, gradient.shape[1])).T.copy(), np.moveaxis(full, 0, -1).copy()
    )
