"""Cells chosen by a mask: masked_select, masked_scatter, nonzero_padded.

How many cells a mask chooses depends on its values.  Where those may not be looked at, or differ from slice to slice,
the result is padded to a size that is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, constant, describe, extent, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like
from namedgrad.primitive import Primitive, check_sizes, operation, sample
from namedgrad.rules.dims import new_name, pick
from namedgrad.rules.elementwise import c, floor_divide, less, logical_and, maximum, minimum
from namedgrad.rules.indexing.maps import gather, scatter_add
from namedgrad.rules.indexing.positions import beside
from namedgrad.rules.indexing.writing import write_into
from namedgrad.rules.movement import merge, slice_of, split
from namedgrad.rules.structure import (
    cast,
    multiply,
    not_equal,
    positions,
    relabel,
    reorder,
    spread,
    subtract,
    total,
    where,
)
from namedgrad.trace import apply, innermost


class Selected(NamedTuple):
    """Chosen cells, padded to a size that is known, and which of them there are."""

    values: DimArray
    mask: DimArray


def _mask(mask: Any, what: str) -> DimArray:
    found = innermost(constant(mask))
    if found.dtype.kind != "b":
        raise TypeError(f"{what}: the mask has dtype {found.dtype}; use truth values, such as x > 0")
    return found


def _line(a: DimArray, dims: Names, sizes: dict[Name, int], name: Name) -> DimArray:
    """Several dims as one, in their order; those that are missing are repeated."""
    missing = {d: sizes[d] for d in dims if d not in a.names}
    if missing or not dims:
        more = missing or {name: 1}
        a = spread(a, Like((*more, *a.names), (*more.values(), *a.full_shape), a.dtype))
    return merge(a, dims, name) if dims else a


def _known(mask: DimArray) -> bool:
    """Whether the cells that a mask chooses are the same for all slices, and may be looked at."""
    return not mask.hidden and mask.backend == "numpy" and backends.may_look(mask.raw)


def _running(mask: DimArray, line: Name) -> DimArray:
    """How many cells are true up to each one."""
    return cast(mask, np.intp).cumsum(line)


class _FirstTrue(Primitive):
    """Positions of the first true cells along a dim, 0 where there are fewer; no derivative."""

    form, signature = "core", "(n)->(m)"

    def lower(self, args: Sequence[DimArray], dim: Name, size: int) -> DimArray:
        (x,) = args
        return make(call(self.kernel_for(x.raw), x.raw, x.names.index(dim), size), x.names, x.hidden)


_FIRST_TRUE = _FirstTrue("first_true")


def _first(mask: DimArray, line: Name, name: Name, size: int) -> DimArray:
    """Positions of the first ``size`` true cells along ``line``, 0 where there are fewer."""
    if mask.backend == "numpy":  # half the time of what follows, which every backend can do
        return relabel(apply(_FIRST_TRUE, (mask,), dim=line, size=size), {line: name})
    rank = subtract(_running(mask, line), c(1))
    here = logical_and(mask, less(rank, c(size)))
    at = where(here, rank, c(size))  # one more place takes those that do not count
    written = multiply(positions(extent(mask, line), line, mask), cast(here, np.intp))
    return slice_of(scatter_add(written, [at], (name,), (size + 1,), (line,)), name, slice(0, size))


def _there(mask: DimArray, line: Name, name: Name, size: int) -> DimArray:
    """Which of these positions there are."""
    return less(positions(size, name, mask), total(cast(mask, np.intp), (line,)))


def _sizes(*arrays: DimArray) -> dict[Name, int]:
    return {n: s for a in arrays for n, s in zip(a.names, a.full_shape, strict=True)}


@operation(sample("real(a,b)", "bool(a,b)", dim=("b", "a"), size=5), sample("real(a,six)", "bool(six)", size=4, fill_value=1.5))
def masked_select(
    x: DimArray, mask: Any, dim: Any = None, *, size: int | None = None, fill_value: Any = 0, new_dim: Name = "selected"
) -> DimArray | Selected:
    """The cells where a mask is true, one after the other.

    Parameters
    ----------
    x : DimArray
    mask : DimArray of bool
        Dims that ``x`` lacks are repeated.
    dim : name or names, optional
        The dims whose cells are chosen, the last one fastest; those of the mask by default. Others stay.
    size : int, optional
        How many cells to give: then the result is padded, or cut, to that.
    fill_value : scalar
        What the result is padded with.
    new_dim : name
        The dim of the result, in front.

    Returns
    -------
    DimArray
        If ``size`` is not given and the mask is the same for all slices; its size depends on the mask.
    tuple of DimArray
        Else, as where a vectorized mask differs from slice to slice, ``(values, mask)``: the chosen cells first, then
        padding, to ``size`` or to as many as the mask has cells, and which of them were chosen.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or a shared dim has two sizes.
    TraceError
        Without ``size``, where the mask may not be looked at.
    TypeError
        If the mask is not of truth values.

    Notes
    -----
    ``torch.masked_select``, NumPy's ``x[mask]``. Cells that are not chosen have gradient 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, -2.0, 3.0], ("x",))
    >>> ng.masked_select(x, x > 0).data
    array([1., 3.])
    >>> values, chosen = ng.masked_select(x, x > 0, size=4)
    >>> values.data, chosen.data
    (array([1., 3., 0., 0.]), array([ True,  True, False, False]))
    """
    found = _mask(mask, "masked_select")
    dims = found.dims if dim is None else pick(_wider(x, found), dim, "masked_select")
    if new_dim not in dims:
        new_name(x, new_dim, "masked_select")
    line, sizes = axes.local("masked cells"), _sizes(found, x)
    for name, n in _sizes(x).items():
        if sizes[name] != n or (name in found.names and extent(found, name) != n):
            raise AxisError(f"masked_select: sizes of {name!r} differ in {describe(x)} and the mask {describe(found)}")
    cells, chosen = _line(x, dims, sizes, line), _line(found, dims, sizes, line)
    if size is None and not found.hidden and chosen.names == (line,):
        if not _known(chosen):
            raise TraceError(
                "masked_select: how many cells are chosen depends on values that may not be looked at here; give size= for "
                "a padded result, or use ng.where(mask, x, fill), which keeps the shape"
            )
        at = make(np.flatnonzero(chosen.raw), (new_dim,), NONE)
        out = gather(cells, {line: beside(at, x)})
        return reorder(out, (new_dim, *(n for n in out.names if n != new_dim)))
    which = beside(chosen, x), line, new_dim, extent(chosen, line) if size is None else size
    place, there = _first(*which), _there(*which)
    values = where(there, gather(cells, {line: place}), constant(fill_value)) if extent(cells, line) else _filled(place, fill_value, x)
    per_slice = {n: s for n, s in values.vectorized_sizes.items() if n not in there.names}
    wide = Like((*per_slice, *there.names), (*per_slice.values(), *there.full_shape), there.dtype)
    there = relabel(spread(there, wide), {}, hide=tuple(per_slice))
    return Selected(_in_front(values, new_dim), _in_front(there, new_dim))


def _filled(place: DimArray, value: Any, x: DimArray) -> DimArray:
    return where(not_equal(place, place), constant(value), cast(place, x.dtype))


def _in_front(a: DimArray, name: Name) -> DimArray:
    return reorder(a, (*a.vectorized, name, *(n for n in a.dims if n != name)))


def _wider(x: DimArray, mask: DimArray) -> DimArray:
    """An array with the names of both."""
    names = tuple(dict.fromkeys((*x.names, *mask.names)))
    sizes = _sizes(mask, x)
    raw = np.broadcast_to(np.int8(0), tuple(sizes[n] for n in names))
    return make(raw, names, x.hidden.union(mask.hidden))


@operation(sample("real(a,b)", "bool(a,b)", "real(six,eight)", dim=("b", "a"), source_dim=("six", "eight")), sample("real(a,b)", "bool(b)", "real(nine)", dim="b", source_dim="nine"))
def masked_scatter(x: DimArray, mask: Any, source: Any, dim: Any = None, *, source_dim: Any = None) -> DimArray:
    """Cells where a mask is true replaced by the cells of ``source``, one after the other.

    Parameters
    ----------
    x : DimArray
    mask : DimArray of bool
        Repeated along dims that it lacks.
    source : DimArray
        At least as many cells as are replaced.
    dim : name or names, optional
        The dims of ``x`` whose cells are counted, the last one fastest; all in their order by default.
    source_dim : name or names, optional
        The dims of ``source`` whose cells are counted; by default all that are not among the other dims of ``x``.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.
    TypeError
        If the mask is not of truth values.
    ValueError
        If the source has fewer cells than are replaced. Where the mask cannot be looked at, cells without a source are
        NaN instead.

    Notes
    -----
    ``torch.masked_scatter``. Cells of the source that are not used have gradient 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, -2.0, 3.0, -4.0], ("x",))
    >>> ng.masked_scatter(x, x < 0, ng.DimArray([7.0, 8.0, 9.0], ("s",))).data
    array([1., 7., 3., 8.])
    """
    found, source = _mask(mask, "masked_scatter"), constant(source)
    check_sizes("masked_scatter", (x, found))
    dims = pick(x, dim, "masked_scatter")
    rest = [n for n in x.dims if n not in dims]
    own = tuple(n for n in source.dims if n not in rest) if source_dim is None else pick(source, source_dim, "masked_scatter")
    line, cells = axes.local("masked cells"), axes.local("source of masked cells")
    chosen = _line(found, dims, _sizes(x), line)
    given = _line(source, own, _sizes(source), cells)
    target = _line(x, dims, _sizes(x), line)
    known = _known(chosen) and chosen.names == (line,)
    out = (_written if known else _ranked)(target, chosen, given, line, cells)
    if not extent(given, cells):
        return x
    out = split(out, line, {d: extent(x, d) for d in dims}) if dims else slice_of(out, line, 0)
    return reorder(out, tuple(n for n in dict.fromkeys((*x.names, *out.names)) if n in out.names))


def _written(x: DimArray, mask: DimArray, source: DimArray, line: Name, cells: Name) -> DimArray:
    """The chosen cells replaced, where these are the same for all slices: in a third of the time."""
    at = beside(make(np.flatnonzero(mask.raw), (cells,), NONE), x)
    _check_count(extent(at, cells), extent(source, cells))
    return write_into(x, slice_of(source, cells, slice(0, extent(at, cells))), [at], (line,), (cells,), "put")


def _ranked(x: DimArray, mask: DimArray, source: DimArray, line: Name, cells: Name) -> DimArray:
    """As :func:`_written`, for every slice its own: each cell looks for the one that would replace it."""
    rank, count = subtract(_running(mask, line), c(1)), extent(source, cells)
    sure = backends.may_look(mask.raw)
    if sure and np.size(mask.raw):
        _check_count(int(np.max(rank.raw)) + 1, count)
    if not count:
        return x
    at = beside(minimum(maximum(rank, c(0)), c(count - 1)), x)
    values = gather(source, {cells: at})
    if not sure and values.dtype.kind in "fc":
        values = where(less(rank, c(count)), values, c(math.nan))
    return where(mask, values, x)


def _check_count(most: int, count: int) -> None:
    if most > count:
        raise ValueError(f"masked_scatter: the mask chooses {most} cells, but the source has {count}")


@operation(sample("bool(a,b)", dim=("b", "a"), size=5), sample("bool(six)", dim="six", size=4, fill_value=-1), differentiable=False)
def nonzero_padded(x: DimArray, dim: Any = None, *, size: int, fill_value: int = 0, new_dim: Name = "nonzero") -> tuple[DimArray, ...]:
    """Positions of the first cells that are not 0, one array per dim, of a size that is known.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        The dims whose positions are given, the last one fastest; all in their order by default. Along others, and along
        vectorized axes, every slice has its own positions.
    size : int
        How many positions to give: padded with ``fill_value``, or cut.
    fill_value : int
    new_dim : name
        The dim of the positions.

    Returns
    -------
    tuple of DimArray
        Integers, in the order of ``dim``; no gradient passes.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the new one exists.
    ValueError
        If the size is negative.

    Notes
    -----
    ``numpy.nonzero``, with a size as ``jax.numpy.nonzero`` has it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[0.0, 2.0], [3.0, 0.0]], ("x", "y"))
    >>> [i.data.tolist() for i in ng.nonzero_padded(x, size=3, fill_value=-1)]
    [[0, 1, -1], [1, 0, -1]]
    """
    new_name(x, new_dim, "nonzero_padded")
    if size < 0:
        raise ValueError(f"nonzero_padded: {new_dim!r} cannot have size {size}; give 0 or more")
    v, dims, line = innermost(x), pick(x, dim, "nonzero_padded"), axes.local("masked cells")
    chosen = _line(not_equal(v, c(0)), dims, _sizes(v), line)
    at = _apart(_first(chosen, line, new_dim, size), x, dims)
    if not fill_value:
        return tuple(reorder(i, (new_dim, *(n for n in i.names if n != new_dim))) for i in at)
    there = _there(chosen, line, new_dim, size)
    return tuple(where(there, i, c(fill_value)) for i in at)


def chosen_cells(x: DimArray, dims: Names, new_dim: Name) -> tuple[DimArray, tuple[DimArray, ...]]:
    """All cells that are not 0, and their positions; refused where their number differs from slice to slice."""
    line = axes.local("masked cells")
    chosen = _line(not_equal(innermost(x), c(0)), dims, _sizes(x), line)
    if chosen.names != (line,) or not _known(chosen):
        raise TraceError(
            f"how many cells of {describe(x)} over {dims} are not 0 depends on values, and may differ from slice to slice; "
            "give size="
        )
    at = make(np.flatnonzero(chosen.raw), (new_dim,), NONE)
    return gather(_line(x, dims, _sizes(x), line), {line: at}), _apart(at, x, dims)


def _apart(at: DimArray, x: DimArray, dims: Names) -> tuple[DimArray, ...]:
    """Positions along every dim, of positions among their cells."""
    out = []
    for d in reversed(dims[1:]):
        n = c(extent(x, d) or 1)
        whole = floor_divide(at, n)
        out.append(subtract(at, multiply(whole, n)))  # what is left over takes a fourth of the time of a remainder
        at = whole
    return (at, *out[::-1]) if dims else ()
