"""Positions along one dim: take_along_axis, gather, index_select."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check
from namedgrad.rules.indexing.maps import gather as gathered
from namedgrad.rules.indexing.positions import beside, named_index, wrapped
from namedgrad.rules.indexing.reading import take
from namedgrad.rules.movement import slice_of


def positions_along(x: DimArray, index: Any, dim: Name, what: str) -> DimArray:
    """Positions along ``dim`` as they are given to a function: integers in range, with or without names."""
    check(x, dim, what)
    found = named_index(index if not isinstance(index, int) else np.asarray(index), dim)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{what}: the index for {dim!r} has dtype {found.dtype}; use integers")
    return beside(wrapped(found, dim, extent(x, dim), x), x)


@operation(sample("real(a,b)", "index_b(a,b)", dim="b"), sample("real(a,b)", "index_a(c,b)", dim="a"))
def take_along_axis(x: DimArray, index: DimArray, dim: Name) -> DimArray:
    """Cells at positions along a dim, which differ from row to row.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers. Other dims that it shares with ``x`` are met; ``dim`` itself may have any size, and dims that ``x``
        lacks are new. Vectorized or not.
    dim : name

    Returns
    -------
    DimArray
        ``dim`` is replaced by the dims of the index that ``x`` lacks, and by ``dim`` if the index has it.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim has two sizes.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``numpy.take_along_axis``, ``torch.take_along_dim``. Repeated positions accumulate in the gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[3.0, 1.0, 2.0], [7.0, 9.0, 8.0]], ("row", "col"))
    >>> ng.take_along_axis(x, ng.argsort(x, "col"), "col").data.tolist()
    [[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]]
    """
    return gathered(x, {dim: positions_along(x, index, dim, "take_along_axis")})


@operation(sample("real(a,b)", "index_b(a,b)", dim="b"))
def take_along_dim(x: DimArray, index: DimArray, dim: Name) -> DimArray:
    """Cells at positions along a dim, under PyTorch's name; see :func:`take_along_axis`.

    Parameters
    ----------
    x, index : DimArray
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim has two sizes.
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([3.0, 1.0, 2.0], ("x",))
    >>> ng.take_along_dim(x, ng.DimArray([2, 2], ("x",)), "x").data
    array([2., 2.])
    """
    return take_along_axis(x, index, dim)


@operation(sample("real(six,eight)", "index_six(six,b)", dim="six"), sample("real(a,b)", "index_b(a,b)", dim="b"),
           sample("real(eight,nine)", "index_nine(a,b)", dim="nine"))
def gather(x: DimArray, index: DimArray, dim: Name) -> DimArray:
    """Cells at positions along a dim, of the leading part of ``x`` that the index covers.

    Parameters
    ----------
    x : DimArray
    index : DimArray
        Integers. Where a dim other than ``dim`` is shorter in the index than in ``x``, the rest of ``x`` is left out.
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
    ``torch.gather(x, dim, index)``; with equal sizes it is :func:`take_along_axis`. Repeated positions accumulate in the
    gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("row", "col"))
    >>> ng.gather(x, ng.DimArray([[1, 1, 0]], ("row", "col")), "col").data
    array([[2., 2., 1.]])
    """
    found = positions_along(x, index, dim, "gather")
    for name, size in found.sizes.items():
        if name != dim and name in x.names and size < extent(x, name):
            x = slice_of(x, name, slice(0, size))
    return gathered(x, {dim: found})


@operation(sample("real(a,b)", "index_b(c)", dim="b"), sample("real(a,b)", "index_a(a)", dim="a"))
def index_select(x: DimArray, index: Any, dim: Name) -> DimArray:
    """Positions of one dim.

    Parameters
    ----------
    x : DimArray
    index : integer array or DimArray
        Without a name it is ``dim``; other dims that ``x`` has too are met.
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim has two sizes.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``torch.index_select``. Repeated positions accumulate in the gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.index_select(ng.DimArray([1.0, 2.0, 3.0], ("x",)), [2, 0], "x").data
    array([3., 1.])
    """
    found = positions_along(x, index, dim, "index_select")
    return take(x, found, dim)
