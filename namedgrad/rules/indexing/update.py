"""Functional updates under PyTorch's names: put, index_put, select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check, pick, row_and_column
from namedgrad.rules.indexing.at import At
from namedgrad.rules.indexing.positions import beside, joined, named_index, wrapped
from namedgrad.rules.indexing.reduce import spot
from namedgrad.rules.indexing.writing import write_into
from namedgrad.rules.movement import merge, slice_of, split
from namedgrad.rules.structure import relabel, reorder


@operation(sample("real(a,b,c)", indices={"b": [0, 3, 0]}, values=1.5),
           sample("real(six,a)", indices={"six": [0, 3, 0]}, values=1.5, accumulate=True))
def index_put(x: DimArray, indices: Mapping[Any, Any], values: Any, *, accumulate: bool = False) -> DimArray:
    """``values`` written at positions of several dims, taken together by name; also ``x.at[indices].set(values)``.

    Parameters
    ----------
    x : DimArray
    indices : mapping of dim to indexer
        As for :func:`isel`.
    values : DimArray or scalar
    accumulate : bool
        Add to what is there, all writers to a cell; by default it is replaced, and the last writer wins.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.index_put``, NumPy's ``x[index] = values``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> where = ng.DimArray([0, 1, 1], ("p",))
    >>> ng.index_put(ng.zeros({"x": 2, "y": 2}), {"x": where, "y": where}, 1.0, accumulate=True).data
    array([[1., 0.],
           [0., 2.]])
    """
    at = At(x)[indices]
    return at.add(values) if accumulate else at.set(values)


@operation(sample("real(a,b)", "index_b(c)", "real(c)", dim=("b", "a")), sample("real(a,b)", "index_b(c)", "real(c)", dim="b", accumulate=True))
def put(x: DimArray, index: Any, source: Any, dim: Any = None, *, accumulate: bool = False) -> DimArray:
    """``source`` written at positions among the cells of several dims, counted as if they were joined.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
        Positions; an array of one axis without a name has the dim ``"index"``.
    source : DimArray or scalar
        Paired with the index by name.
    dim : name or names, optional
        The dims whose cells are counted, the last one fastest; all in their order by default.
    accumulate : bool
        Add to what is there, all writers to a cell; by default it is replaced, and the last writer wins.

    Returns
    -------
    DimArray
        A new array with the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.put``; ``numpy.put`` writes in place.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.put(ng.zeros({"x": 2, "y": 2}), [3, 0], ng.DimArray([5.0, 7.0], ("index",))).data
    array([[7., 0.],
           [0., 5.]])
    """
    dims = pick(x, dim, "put")
    line = axes.local("cells to put")
    sizes = {d: extent(x, d) for d in dims}
    flat = joined(x, dims, line)
    found = named_index(index if not isinstance(index, int) else np.asarray(index), "index")
    aside = {n: axes.local(("put", n)) for n in found.dims if n in dims}
    found = beside(wrapped(relabel(found, aside), _title(dims), extent(flat, line), x), x)
    at = spot(flat, {line: found})
    v = constant(source)
    v = relabel(v, {n: m for n, m in aside.items() if n in v.names})
    out = write_into(flat, v, at.places, at.dims, at.summed, "add" if accumulate else "put")
    if not dims:
        return slice_of(out, line, 0)
    out = split(out, line, sizes)
    return reorder(out, tuple(dict.fromkeys((*x.names, *out.names))))


def _title(dims: tuple[Name, ...]) -> Name:
    return dims[0] if len(dims) == 1 else dims


@operation(sample("real(a,b)", "real(a)", dim="b", index=1), sample("real(a,b)", "real(b)", dim="a", index=-1))
def select_scatter(x: DimArray, src: Any, dim: Name, index: int) -> DimArray:
    """``src`` in place of one position of a dim.

    Parameters
    ----------
    x : DimArray
    src : DimArray or scalar
        Without ``dim``.
    dim : name
    index : int

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    IndexError
        If the position is out of range.

    Notes
    -----
    ``torch.select_scatter``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.select_scatter(ng.zeros({"x": 3}), 5.0, "x", -1).data
    array([0., 0., 5.])
    """
    return At(x)[{check(x, dim, "select_scatter"): index}].set(src)


@operation(sample("real(a,six)", "real(a,six)", dim="six"), sample("real(a,six)", "real(a)", dim="six", start=1, end=3),
           sample("real(nine,a)", "real(a)", dim="nine", start=-8, step=2))
def slice_scatter(x: DimArray, src: Any, dim: Name, start: int | None = None, end: int | None = None, step: int = 1) -> DimArray:
    """``src`` in place of a slice of a dim.

    Parameters
    ----------
    x : DimArray
    src : DimArray or scalar
        With ``dim`` of the size of the slice.
    dim : name
    start, end, step : int, optional
        As for :class:`slice`.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.

    Notes
    -----
    ``torch.slice_scatter``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.slice_scatter(ng.zeros({"x": 4}), ng.DimArray([1.0, 2.0], ("x",)), "x", step=2).data
    array([1., 0., 2., 0.])
    """
    return At(x)[{check(x, dim, "slice_scatter"): slice(start, end, step)}].set(src)


@operation(sample("real(i,j)", "real(i)", dims=("i", "j"), dim="i"), sample("real(a,six,eight)", "real(a,six)", dims=("six", "eight"), dim="six", offset=2))
def diagonal_scatter(x: DimArray, src: Any, dims: tuple[Name, Name], *, offset: int = 0, dim: Name = "diagonal") -> DimArray:
    """``src`` in place of a diagonal of two dims.

    Parameters
    ----------
    x : DimArray
    src : DimArray or scalar
    dims : pair of names
        Row and column.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dim : name
        The dim of ``src`` that runs along the diagonal.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.

    Notes
    -----
    ``torch.diagonal_scatter``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> src = ng.DimArray([1.0, 2.0], ("diagonal",))
    >>> ng.diagonal_scatter(ng.zeros({"x": 2, "y": 2}), src, ("x", "y")).data
    array([[1., 0.],
           [0., 2.]])
    """
    row, column = row_and_column(x, dims, "diagonal_scatter")
    v, along = constant(src), axes.local("scattered diagonal")
    v = relabel(v, {dim: along} if dim in v.names else {})
    if dim in x.names and dim not in (row, column):
        raise AxisError(f"diagonal_scatter: the dim {dim!r} of the diagonal is a dim of the array too; rename it in src")
    if both := [n for n in (row, column) if n in v.names]:
        raise AxisError(
            f"diagonal_scatter: src has the dim {both[0]!r}, which is one of the diagonal's; if it runs along the "
            f"diagonal pass dim={both[0]!r}, else rename it"
        )
    if x.names.index(row) > x.names.index(column):  # as they are in memory, where the diagonal is a slice
        row, column, offset = column, row, -offset
    sizes = {n: extent(x, n) for n in (row, column)}
    first, second, step = max(0, -offset), max(0, offset), sizes[column] + 1
    start, size = first * sizes[column] + second, max(0, min(sizes[row] - first, sizes[column] - second))
    if along in v.names and extent(v, along) != size:
        raise AxisError(f"diagonal_scatter: src has {extent(v, along)} cells along {dim!r}, the diagonal has {size}")
    line = At(merge(x, (row, column), along))[{along: slice(start, start + size * step, step)}].set(v)
    return reorder(split(line, along, sizes), (*x.names, *(n for n in v.names if n != along and n not in x.names)))
