"""Products of vectors and of chains of matrices."""

from __future__ import annotations

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.contraction import dot
from namedgrad.rules.dims import check
from namedgrad.rules.movement import join
from namedgrad.rules.movement.parts import unbind
from namedgrad.rules.structure import multiply, reorder, subtract


@operation(sample("real(three)", "real(three,b)", dim="three"), sample("complex(three,b)", "real(b,three)", dim="three"))
def cross(a: DimArray, b: DimArray, dim: Name) -> DimArray:
    """Cross product of vectors of three components.

    Parameters
    ----------
    a, b : DimArray
        Both have ``dim``, of size 3.
    dim : name
        Along which the components are; every other dim is a batch.

    Returns
    -------
    DimArray
        With the dims of both.

    Raises
    ------
    AxisError
        If ``dim`` is unknown, vectorized, or not of size 3.

    Notes
    -----
    Bilinear: the derivative in one operand is a cross product with the other. ``numpy.cross``, :func:`xarray.cross`,
    ``torch.linalg.cross``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, y = ng.DimArray([1.0, 0.0, 0.0], "k"), ng.DimArray([0.0, 1.0, 0.0], "k")
    >>> ng.cross(x, y, "k").data
    array([0., 0., 1.])
    """
    a, b = constant(a), constant(b)
    for x in (a, b):
        check(x, dim, "cross")
        if extent(x, dim) != 3:
            raise AxisError(f"cross: {dim!r} must have size 3, got {extent(x, dim)}")
    x, y = unbind(a, dim), unbind(b, dim)
    parts = [subtract(multiply(x[i], y[j]), multiply(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    names = axes.in_order((*a.names, *b.names))
    return reorder(join(parts, dim), names)


@operation(sample("real(a,b)", "real(b,c)", "real(c,i)"), sample("complex(a,b)", "real(b)"))
def multi_dot(*arrays: DimArray) -> DimArray:
    """Product of a chain of matrices, each sharing a dim with the next, in the cheapest order.

    Parameters
    ----------
    *arrays : DimArray

    Returns
    -------
    DimArray
        With the dims that occur once; see :func:`dot`.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Notes
    -----
    :func:`dot`, whose derivative it has. ``numpy.linalg.multi_dot``, ``torch.linalg.multi_dot``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.multi_dot(ng.ones({"i": 2, "j": 3}), ng.ones({"j": 3, "k": 4}), ng.ones({"k": 4})).data
    array([12., 12.])
    """
    return dot(*arrays)
