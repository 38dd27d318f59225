"""Triangles and diagonals of two dims."""

from __future__ import annotations

from collections.abc import Sequence

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, new_name, pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, cast, positions, relabel, reorder, select


def two_dims(x: DimArray, dims: Sequence[Name], what: str) -> Names:
    """Row and column dim."""
    names = tuple(dims)
    if len(names) != 2 or names[0] == names[1]:
        raise AxisError(f"{what}: dims={dims!r} must be two different dims, of the rows and of the columns")
    return tuple(check(x, n, what) for n in names)


def _triangle(x: DimArray, dims: Sequence[Name], k: int, what: str) -> DimArray:
    row, col = two_dims(x, dims, what)
    rows, columns = extent(x, row), extent(x, col)
    edge = cast(add(positions(rows, row, x), c(max(-rows, min(k, columns)))), "int32")  # half of what to read
    cols = cast(positions(columns, col, x), "int32")
    below, above = e.less_equal, e.greater_equal
    if what == "triu":
        below, above = above, below
    by_rows = x.names.index(row) < x.names.index(col)  # a mask in another layout than x takes twice as long
    keep = above(edge, cols) if by_rows else below(cols, edge)
    return reorder(select(keep, x), x.names)


@operation(sample("real(a,b)", dims=("a", "b")), sample("real(a,c,b)", dims=("b", "a"), k=1), sample("complex(i,j)", dims=("i", "j"), k=-1))
def tril(x: DimArray, dims: Sequence[Name], k: int = 0) -> DimArray:
    """The lower triangle of two dims, 0 elsewhere.

    Parameters
    ----------
    x : DimArray
    dims : (row, column)
    k : int
        The last diagonal that is kept: 0 the main one, 1 the one above it.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If ``dims`` are not two visible dims.

    Notes
    -----
    A cell outside is exactly 0, and so is its gradient, whatever it holds. As :func:`numpy.tril`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.tril(ng.ones({"i": 2, "j": 2}), ("i", "j")).data
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle(x, dims, k, "tril")


@operation(sample("real(a,b)", dims=("a", "b")), sample("real(a,c,b)", dims=("b", "a"), k=1), sample("complex(i,j)", dims=("i", "j"), k=-1))
def triu(x: DimArray, dims: Sequence[Name], k: int = 0) -> DimArray:
    """The upper triangle of two dims, 0 elsewhere.

    Parameters
    ----------
    x : DimArray
    dims : (row, column)
    k : int
        The first diagonal that is kept: 0 the main one, 1 the one above it.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If ``dims`` are not two visible dims.

    Notes
    -----
    A cell outside is exactly 0, and so is its gradient, whatever it holds. As :func:`numpy.triu`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.triu(ng.ones({"i": 2, "j": 2}), ("i", "j")).data
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle(x, dims, k, "triu")


@operation(sample("real(a,b)", dims=("a", "b")), sample("real(a,c,b)", dims=("b", "a"), offset=1), sample("complex(i,j)", dims=("i", "j"), offset=-1, new_dim="d"))
def diagonal(x: DimArray, dims: Sequence[Name], offset: int = 0, *, new_dim: Name = None) -> DimArray:
    """A diagonal of two dims.

    Parameters
    ----------
    x : DimArray
    dims : (row, column)
    offset : int
        Which one: 0 the main diagonal, 1 the one above it.
    new_dim : name, optional
        The dim along the diagonal: that of the rows by default.

    Returns
    -------
    DimArray
        The new dim comes last.

    Raises
    ------
    AxisError
        If ``dims`` are not two visible dims, or the new name is taken.

    Notes
    -----
    As :func:`numpy.diagonal`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.diagonal(ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("i", "j")), ("i", "j"))
    <DimArray (i: 2) float64>
    array([1., 4.])
    """
    from namedgrad.rules.indexing import gather

    row, col = two_dims(x, dims, "diagonal")
    new = row if new_dim is None else new_dim
    if new not in (row, col):
        axes.check_names((new_name(x, new, "diagonal"),))
    line: Name = axes.fresh("diagonal")
    first, second = max(-offset, 0), max(offset, 0)
    n = max(0, min(extent(x, row) - first, extent(x, col) - second))
    along = positions(n, line, x)
    out = relabel(gather(x, {row: add(along, c(first)), col: add(along, c(second))}), {line: new})
    return reorder(out, (*(n for n in out.names if n != new), new))


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", dim="a", dims=("p", "q"), offset=1), sample("complex(b)", offset=-2))
def diag_embed(x: DimArray, dim: Name = None, *, dims: Sequence[Name] | None = None, offset: int = 0) -> DimArray:
    """A dim put on a diagonal of two, 0 elsewhere: the transpose of :func:`diagonal`.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        The dim along the diagonal; needed unless there is one only.
    dims : (row, column), optional
        Names of the new dims: by default ``dim`` itself, and ``dim`` with "2" appended.
    offset : int
        Which diagonal: 0 the main one, 1 the one above it.

    Returns
    -------
    DimArray
        Rows and columns come last; each is longer than ``dim`` by the absolute offset.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a new name is taken.

    Notes
    -----
    As ``torch.diag_embed``, and :func:`numpy.diagflat` for one dim.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.diag_embed(ng.DimArray([1.0, 2.0], ("i",)))
    <DimArray (i: 2, i2: 2) float64>
    array([[1., 0.],
           [0., 2.]])
    """
    name = pick_one(x, dim, "diag_embed")
    row, col = axes.check_names((name, f"{name}2") if dims is None else dims)
    line: Name = axes.fresh("diagonal")
    x = relabel(x, {name: line})
    for new in (row, col):
        new_name(x, new, "diag_embed")
    return embed(x, line, row, col, offset)


def embed(x: DimArray, line: Name, row: Name, col: Name, offset: int) -> DimArray:
    """An axis on a diagonal of two new ones, which come last."""
    from namedgrad.rules.indexing import scatter_add

    n = extent(x, line)
    size = n + abs(offset)
    along = positions(n, line, x)
    index = [add(along, c(max(-offset, 0))), add(along, c(max(offset, 0)))]
    out = scatter_add(x, index, (row, col), (size, size), (line,))
    return reorder(out, (*(n for n in out.names if n not in (row, col)), row, col))
