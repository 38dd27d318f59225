"""Scatter along one dim, under PyTorch's and NumPy's names."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing.along import positions_along
from namedgrad.rules.indexing.maps import index_sizes
from namedgrad.rules.indexing.reduce import KINDS, Spot, check_kind, reduced_into, spot
from namedgrad.rules.indexing.writing import write_into
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import multiply, positions


def _spot(x: DimArray, index: Any, dim: Name, what: str) -> Spot:
    """The place of an index that may cover a leading part of ``x`` only."""
    found = positions_along(x, index, dim, what)
    table = {dim: found}
    for name, size in found.sizes.items():
        if name != dim and name in x.names and size < extent(x, name):
            table[name] = positions(size, name, x)
    return spot(x, table)


def _covered(src: Any, at: Spot) -> DimArray:
    """The leading part of what is written that the index covers."""
    src = constant(src)
    for name, size in index_sizes(at.places).items():
        if name in src.names and size < extent(src, name):
            src = slice_of(src, name, slice(0, size))
    return src


@operation(sample("real(a,b)", "index_b(a,b)", "real(a,b)", dim="b"), sample("real(six,a)", "index_six(c,a)", "real(nine,a)", dim="six"),
           sample("real(eight,a)", "index_a(six,c)", "real(nine,c)", dim="a"))
def scatter(x: DimArray, index: DimArray, src: Any, dim: Name, *, reduce: str | None = None) -> DimArray:
    """``src`` written at positions along a dim.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers. Where another dim is shorter in the index than in ``x`` or ``src``, their rest takes no part. Vectorized
        or not, as ``x`` and ``src`` are.
    src : DimArray or scalar
        Paired with the index by name, repeated where it lacks dims.
    dim : name
    reduce : {"add", "multiply"}, optional
        Combine with what is there; by default it is replaced, and the last of several writers wins.

    Returns
    -------
    DimArray
        A new array with the dims of ``x``, and those that ``src`` brings.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim is longer in the index.
    IndexError
        If a position is out of range.
    ValueError
        If ``reduce`` is unknown.

    Notes
    -----
    ``torch.scatter(x, dim, index, src)``. Cells that are replaced have gradient 0, and of several writers to one cell
    only the last has a gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.zeros({"x": 4})
    >>> ng.scatter(x, ng.DimArray([3, 1], ("x",)), ng.DimArray([5.0, 7.0], ("x",)), "x").data
    array([0., 7., 0., 5.])
    """
    at = _spot(x, index, dim, "scatter")
    v = _covered(src, at)
    if reduce is None:
        return write_into(x, v, at.places, at.dims, at.summed, "put")
    return reduced_into(x, v, at, check_kind(reduce, ("sum", "prod"), "scatter"), own=True)


@operation(sample("real(a,b)", "index_b(a,b)", "real(a,b)", dim="b"), sample("real(six,a)", "index_six(c,a)", "real(nine,a)", dim="six"))
def scatter_add(x: DimArray, index: DimArray, src: Any, dim: Name) -> DimArray:
    """``src`` added at positions along a dim; all writers to a cell count.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers, as for :func:`scatter`.
    src : DimArray or scalar
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim is longer in the index.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.scatter_add(x, dim, index, src)``. The gradient of ``src`` is gathered from where it went.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.zeros({"x": 3})
    >>> ng.scatter_add(x, ng.DimArray([1, 1], ("x",)), ng.DimArray([5.0, 7.0], ("x",)), "x").data
    array([ 0., 12.,  0.])
    """
    at = _spot(x, index, dim, "scatter_add")
    return reduced_into(x, _covered(src, at), at, "sum", own=True)


@operation(sample("real(a,b)", "index_b(a,b)", "real(a,b)", dim="b", reduce="prod"),
           sample("real(a,b)", "index_b(a,b)", "real(a,b)", dim="b", reduce="amax"),
           sample("real(six,a)", "index_six(c,a)", "real(nine,a)", dim="six", reduce="mean", include_self=False))
@in_single
def scatter_reduce(x: DimArray, index: DimArray, src: Any, dim: Name, reduce: str = "sum", *,
                   include_self: bool = True) -> DimArray:
    """``src`` reduced into the cells at positions along a dim.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers, as for :func:`scatter`.
    src : DimArray or scalar
    dim : name
    reduce : {"sum", "prod", "mean", "amax", "amin"}
    include_self : bool
        Whether the old value of a cell takes part.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim is longer in the index.
    IndexError
        If a position is out of range.
    ValueError
        If ``reduce`` is unknown.

    Notes
    -----
    ``torch.scatter_reduce``. In ``"prod"`` each factor's derivative is the product of the others, right at zeros too; in
    ``"amax"`` and ``"amin"`` all cells that tie share the gradient equally, the old value among them.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.ones({"x": 2})
    >>> src = ng.DimArray([2.0, 3.0, 4.0], ("x",))
    >>> ng.scatter_reduce(x, ng.DimArray([0, 1, 1], ("x",)), src, "x", "prod").data
    array([ 2., 12.])
    >>> ng.scatter_reduce(x, ng.DimArray([0, 0, 0], ("x",)), src, "x", "mean", include_self=False).data
    array([3., 1.])
    """
    kind = check_kind(reduce, KINDS, "scatter_reduce")
    at = _spot(x, index, dim, "scatter_reduce")
    return reduced_into(x, _covered(src, at), at, kind, own=include_self)


@operation(sample("real(a,b)", "index_b(a,b)", "real(a,b)", dim="b"))
def put_along_axis(x: DimArray, index: DimArray, values: Any, dim: Name) -> DimArray:
    """``values`` written at positions along a dim, which differ from row to row; the counterpart of take_along_axis.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers, as for :func:`take_along_axis`.
    values : DimArray or scalar
    dim : name

    Returns
    -------
    DimArray
        A new array.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim has two sizes.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``numpy.put_along_axis``, which writes in place. Of several writers to one cell the last one wins, and it alone has a
    gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1.0, 9.0], [8.0, 2.0]], ("row", "col"))
    >>> ng.put_along_axis(x, ng.argmax(x, "col").expand_dims("col"), 0.0, "col").data
    array([[1., 0.],
           [0., 2.]])
    """
    at = spot(x, {dim: positions_along(x, index, dim, "put_along_axis")})
    return write_into(x, constant(values), at.places, at.dims, at.summed, "put")


# ------------------------------------------------------------------------------------------------ index_...


@operation(sample("real(a,b)", "index_b(c)", "real(a,c)", dim="b"), sample("real(a,b)", "index_a(a)", "real(a,b)", dim="a", alpha=-2.0))
def index_add(x: DimArray, index: Any, source: Any, dim: Name, *, alpha: float = 1) -> DimArray:
    """``alpha * source`` added at positions of a dim; all writers to a cell count.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
        Without a name it is ``dim``.
    source : DimArray or scalar
        Has the dims of the index in place of ``dim``.
    dim : name
    alpha : float
        A factor.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.index_add(x, dim, index, source)``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.index_add(ng.zeros({"x": 3}), [0, 0, 2], ng.DimArray([1.0, 2.0, 3.0], ("x",)), "x").data
    array([3., 0., 3.])
    """
    at = spot(x, {dim: positions_along(x, index, dim, "index_add")})
    v = constant(source)
    return reduced_into(x, v if alpha == 1 else multiply(v, c(alpha)), at, "sum", own=True)


@operation(sample("real(a,b)", "index_b(c)", "real(a,c)", dim="b"), sample("real(a,b)", "index_a(a)", "real(a,b)", dim="a"))
def index_copy(x: DimArray, index: Any, source: Any, dim: Name) -> DimArray:
    """``source`` written at positions of a dim.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
    source : DimArray or scalar
        Has the dims of the index in place of ``dim``.
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.index_copy``. Of several writers to one cell the last one wins, and it alone has a gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.index_copy(ng.zeros({"x": 3}), [2, 0], ng.DimArray([1.0, 2.0], ("x",)), "x").data
    array([2., 0., 1.])
    """
    at = spot(x, {dim: positions_along(x, index, dim, "index_copy")})
    return write_into(x, constant(source), at.places, at.dims, at.summed, "put")


@operation(sample("real(a,b)", "index_b(c)", "real()", dim="b"))
def index_fill(x: DimArray, index: Any, value: Any, dim: Name) -> DimArray:
    """One value written at positions of a dim.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
    value : scalar or DimArray
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.index_fill``. The gradient of the value is the sum over the cells that it fills, each counted once.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.index_fill(ng.zeros({"x": 3}), [0, 2], 5.0, "x").data
    array([5., 0., 5.])
    """
    return index_copy(x, index, value, dim)


@operation(sample("real(a,b)", "index_b(c)", "real(a,c)", dim="b", reduce="prod"),
           sample("real(a,b)", "index_a(a)", "real(a,b)", dim="a", reduce="mean", include_self=False))
@in_single
def index_reduce(x: DimArray, index: Any, source: Any, dim: Name, reduce: str, *, include_self: bool = True) -> DimArray:
    """``source`` reduced into the cells at positions of a dim.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
    source : DimArray or scalar
        Has the dims of the index in place of ``dim``.
    dim : name
    reduce : {"prod", "mean", "amax", "amin", "sum"}
    include_self : bool
        Whether the old value of a cell takes part.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    IndexError
        If a position is out of range.
    ValueError
        If ``reduce`` is unknown.

    Notes
    -----
    ``torch.index_reduce``; derivatives as for :func:`scatter_reduce`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.index_reduce(ng.ones({"x": 2}), [0, 0], ng.DimArray([2.0, 3.0], ("x",)), "x", "prod").data
    array([6., 1.])
    """
    at = spot(x, {dim: positions_along(x, index, dim, "index_reduce")})
    return reduced_into(x, constant(source), at, check_kind(reduce, KINDS, "index_reduce"), own=include_self)
