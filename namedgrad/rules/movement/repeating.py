"""Cells repeated along dims, and grids of coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules.dims import mapping
from namedgrad.rules.movement.cuts import core_size
from namedgrad.rules.movement.order import broadcast_like
from namedgrad.rules.movement.stacking import merge, split
from namedgrad.rules.structure import relabel, reorder, spread, total


def _summed(g: DimArray, x: Like, times: int) -> DimArray:
    """The sum over the copies of every cell, along ``core(-1)``."""
    line, copy = axes.core(-1), axes.core(-2)
    parts = split(g, line, {line: core_size(x), copy: times})
    return reorder(total(parts, (copy,)), g.names)


_repeat = linear("(n)->(n)", "repeat", moves=1, transpose=_summed)


def _times(x: DimArray, name: Name, n: int) -> DimArray:
    """``n`` copies of the whole dim, one after the other."""
    new: Name = axes.local("copy")
    wide = spread(x, Like((*x.names, new), (*x.full_shape, n), x.dtype))
    return reorder(merge(wide, (new, name), name), x.names)


def repeat_cells(x: DimArray, name: Name, n: Any) -> DimArray:
    """Every cell along an axis as often as said, once for all or for each."""
    if np.ndim(n) == 0:
        if int(n) < 0:
            raise ValueError(f"repeat: {name!r} cannot be repeated {n} times")
        return x if n == 1 else _repeat(x, (name,), times=int(n))
    from namedgrad.rules.indexing import take

    each = np.asarray(n)
    if len(each) != extent(x, name):
        raise AxisError(f"repeat: {len(each)} numbers for the {extent(x, name)} cells along {name!r}")
    return take(x, np.repeat(np.arange(len(each)), each), name)


@operation(sample("real(a,b)", repeats={"a": 2}), sample("real(a,b)", repeats={"b": 3, "a": 1}), sample("real(six)", repeats={"six": [0, 2, 1, 0, 1, 3]}))
def repeat(x: DimArray, /, repeats: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """Repeat cells along dims, each next to itself.

    Parameters
    ----------
    x : DimArray
    repeats : mapping of dim to int or sequence of int, optional
        How often, for all cells or for each; or as keywords: ``repeat(a, x=2)``.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or there are not as many numbers as cells.

    Notes
    -----
    The gradient of a cell is the sum over its copies. As :func:`numpy.repeat` and ``torch.repeat_interleave``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.repeat(ng.arange("x", 3), x=2).data
    array([0, 0, 1, 1, 2, 2])
    """
    for name, n in mapping(x, repeats, keywords, "repeat").items():
        x = repeat_cells(x, name, n)
    return x


@operation(sample("real(a,b)", reps={"a": 2}), sample("real(a,b)", reps={"b": 3, "a": 2}))
def tile(x: DimArray, /, reps: Mapping[Any, int] | None = None, **keywords: int) -> DimArray:
    """Repeat an array along dims, one copy after the other.

    Parameters
    ----------
    x : DimArray
    reps : mapping of dim to int, optional
        How often; or as keywords: ``tile(a, x=2)``.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The gradient of a cell is the sum over its copies. As :func:`numpy.tile` and ``torch.tile``; a new dim of copies is
    :func:`expand_dims`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.tile(ng.arange("x", 3), x=2).data
    array([0, 1, 2, 0, 1, 2])
    """
    for name, n in mapping(x, reps, keywords, "tile").items():
        x = tile_cells(x, name, n)
    return x


def tile_cells(x: DimArray, name: Name, n: int) -> DimArray:
    """An axis as often as said, one copy after the other."""
    if n < 0:
        raise ValueError(f"tile: {name!r} cannot be repeated {n} times")
    return x if n == 1 else _times(x, name, int(n))


@operation(sample("real(a)", "real(b)"), sample("real(a)", "real(b)", "real(c)", indexing="ij"), sample("real(a)", "real(b)", sparse=True))
def meshgrid(*arrays: DimArray, indexing: str = "xy", sparse: bool = False) -> tuple[DimArray, ...]:
    """Coordinates of all cells of a grid, from those along its dims.

    Parameters
    ----------
    *arrays : DimArray
        One dim each, all different.
    indexing : {"xy", "ij"}
        Stored order of the dims: that of the arrays (``"ij"``), or the first two exchanged, as in NumPy.
    sparse : bool
        Leave the other dims at size 1.

    Returns
    -------
    tuple of DimArray
        Arrays meet by name, so most programs need no grids: they use the coordinates themselves.

    Raises
    ------
    AxisError
        If an array has not one dim, or two have the same.
    ValueError
        If ``indexing`` is unknown.

    Notes
    -----
    As :func:`numpy.meshgrid`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, y = ng.meshgrid(ng.arange("x", 2), ng.arange("y", 3))
    >>> x.sizes, y.data.tolist()
    ({'y': 3, 'x': 2}, [[0, 0], [1, 1], [2, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing {indexing!r} is neither 'xy' nor 'ij'")
    xs = [constant(a) for a in arrays]
    for x in xs:
        if x.ndim != 1:
            raise AxisError(f"meshgrid: every array must have one dim, got {x.dims}")
    dims = [x.dims[0] for x in xs]
    axes.refuse_repeats(tuple(dims), "meshgrid: ")
    if indexing == "xy" and len(dims) > 1:
        dims[:2] = dims[1::-1]
    if sparse:
        wide = list(xs)
        for other in xs:
            wide = [x if other.dims[0] in x.dims else _with_dim_of(x, other) for x in wide]
    else:
        wide = list(xs)
        for other in xs:
            wide = [broadcast_like(x, other) for x in wide]
    return tuple(reorder(x, (*(n for n in x.names if n in x.hidden), *dims)) for x in wide)


def _with_dim_of(x: DimArray, other: DimArray) -> DimArray:
    """``x`` with the dim of another array at size 1, and its vectorized axes."""
    sizes = tuple(s if n in other.hidden else 1 for n, s in zip(other.names, other.full_shape, strict=True))
    marks = tuple(n for n in other.hidden if n not in x.names)
    return relabel(spread(x, Like(other.names, sizes, x.dtype)), {}, hide=marks)
