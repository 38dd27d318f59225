"""Triangles and diagonals of two dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, Map, like
from namedgrad.primitive import LinearCore, Primitive, linear, operation, sample
from namedgrad.rules.dims import new_name, pick_one, row_and_column, twin
from namedgrad.rules.structure import relabel
from namedgrad.trace import apply


class _Diagonal(Primitive):
    """A diagonal of two axes as a last one: a view, in half of the time of an index."""

    form, signature, keeps = "linear", "(m,n)->(k)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names, new: Name, offset: int) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims), offset=offset)
        return make(raw, (*(n for n in x.names if n not in dims), new), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, new: Name, offset: int) -> Map:
        (x,) = ins
        sizes, frame = tuple(extent(x, n) for n in dims), dict(zip(dims, axes.cores(2), strict=True))
        front = {*x.names[:2]} == {*dims}  # as they are in memory, most often

        def pull(g: DimArray) -> list[DimArray]:
            how = {"dims": axes.cores(2), "sizes": sizes, "offset": offset, "front": front}
            return [apply(_EMBED, (g,), line=axes.core(-1), **how)]

        def push(ts: list[Any]) -> DimArray:
            return apply(self, ts, dims=axes.cores(2), new=axes.core(-1), offset=offset)

        return LinearCore(push, pull, [like(x)], [frame], {new: axes.core(-1)})


class _Embed(Primitive):
    """An axis on a diagonal of two new ones, which come last or in front, 0 elsewhere."""

    form, signature, keeps = "linear", "(k)->(m,n)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], line: Name, dims: Names, **how: Any) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, x.names.index(line), **how)
        rest = tuple(n for n in x.names if n != line)
        return make(raw, (*dims, *rest) if how["front"] else (*rest, *dims), x.hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], line: Name, dims: Names, offset: int, **how: Any
    ) -> Map:
        def pull(g: DimArray) -> list[DimArray]:
            return [apply(_DIAGONAL, (g,), dims=axes.cores(2), new=axes.core(-1), offset=offset)]

        def push(ts: list[Any]) -> DimArray:
            return apply(self, ts, line=axes.core(-1), dims=axes.cores(2), offset=offset, **how)

        frame = dict(zip(dims, axes.cores(2), strict=True))
        return LinearCore(push, pull, [like(ins[0])], [{line: axes.core(-1)}], frame)


_DIAGONAL, _EMBED = _Diagonal("diagonal"), _Embed("embed_diagonal")


def cut_triangle(g: DimArray, _: Like, **which: Any) -> DimArray:
    """The transpose of :obj:`triangle`, which is itself."""
    return triangle(g, axes.cores(2), **which)


triangle = linear("(m,n)->(m,n)", "triangle", moves=1, transpose=cut_triangle, many=True)


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
    return triangle(x, row_and_column(x, dims, "tril"), lower=True, k=k)


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
    return triangle(x, row_and_column(x, dims, "triu"), lower=False, k=k)


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
    row, col = row_and_column(x, dims, "diagonal")
    new = row if new_dim is None else new_dim
    if new not in (row, col):
        new_name(x, new, "diagonal")
    return apply(_DIAGONAL, (x,), dims=(row, col), new=new, offset=offset)


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
    row, col = axes.check_names((name, twin(name)) if dims is None else dims)
    line: Name = axes.local("embedded diagonal")
    x = relabel(x, {name: line})
    for new in (row, col):
        new_name(x, new, "diag_embed")
    return embed(x, line, row, col, offset)


def embed(x: DimArray, line: Name, row: Name, col: Name, offset: int) -> DimArray:
    """An axis on a diagonal of two new ones, which come last."""
    size = extent(x, line) + abs(offset)
    return apply(_EMBED, (x,), line=line, dims=(row, col), sizes=(size, size), offset=offset, front=False)
