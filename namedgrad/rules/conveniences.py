"""Methods of xarray's that are short for others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import as_names, check, mapping, pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import beside, gather, isel
from namedgrad.rules.movement import broadcast_like
from namedgrad.rules.signal import calculus
from namedgrad.rules.sorting import argsort
from namedgrad.rules.structure import equal, reorder, where
from namedgrad.rules.values import isnull, notnull
from namedgrad.rules.windows.rolling import Rolling


def pipe(x: DimArray, func: Any, *args: Any, **kwargs: Any) -> Any:
    """``func(x, *args, **kwargs)``.

    Parameters
    ----------
    x : DimArray
    func : callable or (callable, str)
        With the name of the argument that the array is, if it is not the first.
    *args, **kwargs
        Its other arguments.

    Returns
    -------
    Any
        Whatever it gives.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0], ("x",)).pipe(lambda a, by: a * by, 3.0).data
    array([3., 6.])
    """
    if not isinstance(func, tuple):
        return func(x, *args, **kwargs)
    func, name = func
    if name in kwargs:
        raise ValueError(f"pipe: {name} is the array itself, and also among the keyword arguments")
    return func(*args, **kwargs, **{name: x})


def combine_first(x: DimArray, other: Any) -> DimArray:
    """``x``, and ``other`` where ``x`` is NaN.

    Parameters
    ----------
    x : DimArray
    other : DimArray or scalar
        Met by name; a cell that is not used has gradient 0.

    Returns
    -------
    DimArray
        With the dims of ``x``, then those that ``other`` adds.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, float("nan")], ("x",)).combine_first(ng.DimArray([5.0, 6.0], ("x",))).data
    array([1., 6.])
    """
    other = constant(other)
    return reorder(where(notnull(x), x, other), axes.in_order((*x.names, *other.names)))


def dropna(x: DimArray, dim: Name, *, how: str = "any", thresh: int | None = None) -> DimArray:
    """Positions of a dim without NaN.

    Parameters
    ----------
    x : DimArray
    dim : name
    how : {"any", "all"}
        Leave a position out if any of its cells is NaN, or only if all are.
    thresh : int, optional
        Keep positions with at least so many cells that are not NaN, instead.

    Returns
    -------
    DimArray
        With the dims of ``x``, this one shorter.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    TypeError, TraceError
        Where the size, which depends on values, cannot be known: use ``where`` there.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, float("nan"), 3.0], ("x",)).dropna("x").data
    array([1., 3.])
    """
    if how not in {"any", "all"}:
        raise ValueError(f"dropna: how={how!r}; choose 'any' or 'all'")
    others = [n for n in x.dims if n != check(x, dim, "dropna")]
    if thresh is not None:
        return isel(x, {dim: x.count(others) >= c(thresh)})
    there = notnull(x)
    return isel(x, {dim: there.all(others) if how == "any" else there.any(others)})


def drop_isel(x: DimArray, /, indexers: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """All positions of dims but these.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to int or ints, optional
        Or as keywords.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        With the dims of ``x``, these shorter.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 4).drop_isel(x=[0, 2]).data
    array([1, 3])
    """
    table = mapping(x, indexers, keywords, "drop_isel")
    return isel(x, {n: np.delete(np.arange(extent(x, n)), v) for n, v in table.items()})


def sortby(x: DimArray, variables: Any, ascending: bool = True) -> DimArray:
    """In the order of values along dims; the first of several along one dim counts most.

    Parameters
    ----------
    x : DimArray
    variables : DimArray over one dim, several of them, or a function of ``x`` that gives one
    ascending : bool

    Returns
    -------
    DimArray
        With the dims of ``x``. The order is fixed: no gradient passes to the variables.

    Raises
    ------
    AxisError
        If a variable has not exactly one dim.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).sortby(ng.DimArray([2, 0, 1], ("x",))).data
    array([2., 3., 1.])
    """
    found = variables(x) if callable(variables) else variables
    keys = found if isinstance(found, (list, tuple)) else [found]
    order: dict[Name, DimArray] = {}
    for key in reversed(keys):
        if not isinstance(key, DimArray) or len(key.dims) != 1:
            raise AxisError(f"sortby: give DimArrays with one dim each, got {key!r}; a DimArray has no coordinates to name")
        (dim,) = key.dims
        before = order.get(dim)
        found = argsort(key if before is None else gather(key, {dim: before}), dim)
        order[dim] = found if before is None else gather(before, {dim: found})
    for dim, found in order.items():
        x = gather(x, {dim: found if ascending else found.flip(dim)})
    return x


def isin(x: DimArray, test_elements: Any) -> DimArray:
    """Which cells are among some values.

    Parameters
    ----------
    x : DimArray
    test_elements : array, list or DimArray
        The values, in any shape.

    Returns
    -------
    DimArray
        Booleans with the dims of ``x``; no gradient passes. NaN is among no values.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 4).isin([1, 3]).data
    array([False,  True, False,  True])
    """
    own: Name = axes.local("values that are sought")
    values = np.asarray(test_elements.to_numpy() if isinstance(test_elements, DimArray) else test_elements).reshape(-1)
    return equal(x, beside(make(values, (own,), NONE), x)).any(own)


def equals(x: DimArray, other: Any) -> bool:
    """Whether another array has the same dims in the same order, sizes and values; NaN is equal to NaN.

    Parameters
    ----------
    x : DimArray
    other : DimArray
        Anything else is not equal.

    Returns
    -------
    bool

    Raises
    ------
    TraceError
        If there are vectorized axes, or where values cannot be looked at.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, float("nan")], "x")
    >>> a.equals(a + 0.0), a.equals(a.rename(x="y"))
    (True, False)
    """
    if not isinstance(other, DimArray) or x.dims != other.dims or x.sizes != other.sizes:
        return False
    return bool(e.logical_or(equal(x, other), e.logical_and(isnull(x), isnull(other))).all())


def broadcast_equals(x: DimArray, other: Any) -> bool:
    """As :meth:`DimArray.equals`, of what both are when they are broadcast by name.

    Parameters
    ----------
    x : DimArray
    other : DimArray

    Returns
    -------
    bool

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).broadcast_equals(ng.ones({"y": 3}))
    True
    """
    if not isinstance(other, DimArray) or any(x.sizes[n] != s for n, s in other.sizes.items() if n in x.sizes):
        return False
    wide = broadcast_like(x, other)
    return equals(wide, broadcast_like(other, x).transpose(*wide.dims))


def cumulative(x: DimArray, dim: Any, min_periods: int = 1) -> Rolling:
    """Windows that reach from the first cell to each, to be reduced.

    Parameters
    ----------
    x : DimArray
    dim : name or names
    min_periods : int
        Fewer present cells than this give NaN.

    Returns
    -------
    Rolling
        As ``x.rolling`` gives.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 6.0], ("x",)).cumulative("x").mean().data
    array([1. , 1.5, 3. ])
    """
    return Rolling(x, {n: extent(x, n) for n in pick(x, dim, "cumulative")}, min_periods, False)


def get_axis_num(x: DimArray, dim: Any) -> int | tuple[int, ...]:
    """Where a dim, or each of several, stands among ``dims``.

    Parameters
    ----------
    x : DimArray
    dim : name or names

    Returns
    -------
    int or tuple of int

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.zeros({"x": 2, "y": 3}).get_axis_num("y")
    1
    """
    places = tuple(x.dims.index(n) for n in pick(x, dim, "get_axis_num"))
    return places if as_names(x, dim) == dim or isinstance(dim, list) else places[0]


# ------------------------------------------------------------------------------------------------ arguments in xarray's order


def differentiate(
    x: DimArray, coord: Any = None, edge_order: Any = 1, datetime_unit: str | None = None, *, dim: Name = None
) -> DimArray:
    """Derivative along a dim, ``a.differentiate("x")``, or by its positions, ``a.differentiate(at, dim="x")``.

    See :func:`namedgrad.differentiate`.
    """
    if not isinstance(edge_order, int):  # as there, where the dim comes second
        dim, edge_order = edge_order, 1
    return calculus.differentiate(x, coord, dim, edge_order, datetime_unit=datetime_unit)


def integrate(x: DimArray, coord: Any = None, datetime_unit: Any = None, *, dim: Any = None) -> DimArray:
    """Integral along dims, ``a.integrate("x")``, or by positions, ``a.integrate(at, dim="x")``; see :func:`namedgrad.integrate`."""
    dim, unit = _dim_and_unit(coord, datetime_unit, dim)
    return calculus.integrate(x, coord, dim, datetime_unit=unit)


def cumulative_integrate(x: DimArray, coord: Any = None, datetime_unit: Any = None, *, dim: Name = None) -> DimArray:
    """Integral from the first cell of a dim to each; see :func:`namedgrad.cumulative_integrate`."""
    dim, unit = _dim_and_unit(coord, datetime_unit, dim)
    return calculus.cumulative_integrate(x, coord, dim, datetime_unit=unit)


def _dim_and_unit(coord: Any, second: Any, dim: Any) -> tuple[Any, Any]:
    """What comes second is a unit of time behind the name of a dim, and a dim behind positions, as in the functions."""
    if second is None or (isinstance(second, str) and (dim is not None or not calculus.is_place(coord))):
        return dim, second
    return second, None
