"""Order of dims, dims of size 1, and repetition without a copy."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Names
from namedgrad.linear import Like
from namedgrad.primitive import check_sizes, operation, sample
from namedgrad.rules.dims import as_names, at_axis, existing, new_name, pick, without
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.structure import alongside, relabel, reorder, spread


@operation(sample("real(a,b,c)"), method=True)
def transpose(x: DimArray, *dim: Any, transpose_coords: bool = True, missing_dims: str = "raise") -> DimArray:
    """Dims in another order; it changes no value and no derivative, since dims meet by name.

    Parameters
    ----------
    x : DimArray
    *dim : names, optional
        All of them, or some and ``...`` for the rest; reversed if none is given.
    transpose_coords : bool
        Changes nothing, as there are no coordinates; here so that programs written for xarray run.
    missing_dims : {"raise", "warn", "ignore"}
        What to do with names that ``x`` does not have.

    Returns
    -------
    DimArray
        A view of the same data.

    Raises
    ------
    AxisError
        If the names are not those of the visible dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 2, "y": 3, "z": 4})
    >>> a.transpose("z", ...).dims, a.transpose().dims
    (('z', 'x', 'y'), ('z', 'y', 'x'))
    """
    wanted = _expand(x, dim, missing_dims) if dim else x.dims[::-1]
    if set(wanted) != set(x.dims) or len(wanted) != len(x.dims):
        raise AxisError(f"transpose: {wanted} is not an order of all dims {x.dims}; use ... for the rest")
    return reorder(x, (*x.vectorized, *wanted))


def _expand(x: DimArray, dim: Sequence[Any], missing_dims: str) -> Names:
    if dim.count(Ellipsis) > 1:
        raise AxisError(f"transpose: {dim} has more than one ellipsis")
    dim = existing(x, dim, missing_dims, "transpose")
    names = tuple(d for d in dim if d is not Ellipsis)
    if Ellipsis not in dim:
        return names
    at = list(dim).index(Ellipsis)
    return (*names[:at], *(n for n in x.dims if n not in names), *names[at:])


@operation(sample("real(a,b)", dim="d"), sample("real(a,b)", dim={"d": 2}), sample("real(a,b)", dim="d", axis=-1), method=True)
def expand_dims(
    x: DimArray, /, dim: Any = None, axis: int | Sequence[int] | None = None, create_index_for_new_dim: bool = True, **sizes: int
) -> DimArray:
    """New dims, in front.

    Parameters
    ----------
    x : DimArray
    dim : name, names or mapping of name to size, optional
        Names get size 1; a sequence instead of a size counts by its length.
    axis : int or sequence of int, optional
        Where each new dim stands among the dims of the result, instead of in front.
    create_index_for_new_dim : bool
        Changes nothing, as there are no indexes; here so that programs written for xarray run.
    **sizes : int
        The mapping in keyword form.

    Returns
    -------
    DimArray
        Values are repeated along the new dims, without a copy.

    Raises
    ------
    AxisError
        If a name is taken or reserved, or the places are not as many as the new dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).expand_dims(y=3).sizes
    {'y': 3, 'x': 2}
    >>> ng.ones({"x": 2}).expand_dims("y", axis=-1).sizes
    {'x': 2, 'y': 1}
    """
    table: dict[Any, int] = dict(dim) if isinstance(dim, Mapping) else {}
    if dim is not None and not isinstance(dim, Mapping):
        table = dict.fromkeys(dim if isinstance(dim, (list, tuple)) else (dim,), 1)
    table.update(sizes)
    table = {n: s if isinstance(s, int) else len(s) if hasattr(s, "__len__") else operator.index(s) for n, s in table.items()}
    for name in table:
        new_name(x, name, "expand_dims")
    axes.check_names(table)
    names = (*table, *x.names)
    out = spread(x, Like(names, (*table.values(), *x.full_shape), x.dtype))
    return out if axis is None else reorder(out, (*x.vectorized, *_placed(tuple(table), x.dims, axis)))


def _placed(new: Names, old: Names, axis: int | Sequence[int]) -> Names:
    """New dims at their places in the result, the old ones in order between them."""
    n = len(new) + len(old)
    given = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    places = [operator.index(k) % n if -n <= operator.index(k) < n else n for k in given]
    if len(set(places)) != len(new) or n in places:
        raise AxisError(f"expand_dims: axis={axis!r} is not a place for each of {new} among {n} dims")
    at, rest = dict(zip(places, new, strict=True)), iter(old)
    return tuple(at[k] if k in at else next(rest) for k in range(n))


@operation(sample("real(a,one)"), sample("real(a,one)", dim="one"), method=True)
def squeeze(x: DimArray, dim: Any = None, drop: bool = False, axis: int | Sequence[int] | None = None) -> DimArray:
    """Remove dims of size 1.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All dims of size 1 by default.
    drop : bool
        Changes nothing, as there are no coordinates; here so that programs written for xarray run.
    axis : int or sequence of int, optional
        The dims by their places instead.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, vectorized, or larger than 1.
    TypeError
        If both ``dim`` and ``axis`` are given.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2, "one": 1}).squeeze().dims
    ('x',)
    """
    if dim is not None and axis is not None:
        raise TypeError("squeeze: give dim= or axis=, not both")
    if axis is not None:
        dim = at_axis(x, axis, "squeeze")
    elif dim is None:
        dim = [n for n, s in x.sizes.items() if s == 1]
    for d in pick(x, list(dict.fromkeys(as_names(x, dim))), "squeeze"):
        if extent(x, d) != 1:
            raise AxisError(f"squeeze: {d!r} has size {extent(x, d)} in {describe(x)}; only size 1 can be removed")
        x = slice_of(x, d, 0)
    return x


@operation(sample("real(a)", "real(b,a)"), sample("real(a)", "real(b,a,c)", exclude=("c",)), method=True)
def broadcast_like(x: DimArray, other: DimArray, exclude: Any = None) -> DimArray:
    """Repeat ``x`` along the dims of ``other`` that it lacks.

    Parameters
    ----------
    x, other : DimArray
    exclude : name or names, optional
        Dims along which nothing is repeated, and whose sizes may differ.

    Returns
    -------
    DimArray
        Without a copy. An axis that is vectorized in ``other`` is so in the result. Dims in the order of xarray: those of
        ``other``, then the others of ``x``; with ``exclude`` those of all that are not excluded, then the others of ``x``.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).broadcast_like(ng.zeros({"y": 3, "x": 2})).sizes
    {'y': 3, 'x': 2}
    """
    return _broadcast((x, constant(other)), exclude, "broadcast_like", first=1)[0]


@operation(sample("real(a)", "real(b)"), sample("real(a,c)", "real(b)", exclude=("c",)))
def broadcast(*arrays: DimArray, exclude: Any = None) -> tuple[DimArray, ...]:
    """All arrays with the union of their dims, in one order.

    Parameters
    ----------
    *arrays : DimArray
    exclude : name or names, optional
        Dims along which nothing is repeated, and whose sizes may differ: an array has those of them that it has, last.

    Returns
    -------
    tuple of DimArray
        Without copies.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.broadcast(ng.ones({"x": 2}), ng.ones({"y": 3}))
    >>> a.dims == b.dims, sorted(a.sizes.items())
    (True, [('x', 2), ('y', 3)])
    """
    return _broadcast(tuple(map(constant, arrays)), exclude, "broadcast")


def _broadcast(arrays: Sequence[DimArray], exclude: Any, what: str, first: int = 0) -> tuple[DimArray, ...]:
    """Arrays with the dims of all, in order from that at the place ``first`` on."""
    apart = () if exclude is None else tuple(exclude) if isinstance(exclude, (list, tuple, set, frozenset)) else (exclude,)
    parts = [without(x, apart) for x in arrays]
    sizes = check_sizes(what, parts)
    names = tuple(dict.fromkeys(n for p in (*parts[first:], *parts[:first]) for n in p.names))
    hidden = axes.merge_hidden(tuple(p.names for p in parts), tuple(p.hidden for p in parts))
    out, home = [], next((x for x in arrays if x.names), arrays[0])
    for x in (alongside(x, home, x.dtype) for x in arrays):
        own = (*names, *(n for n in apart if n in x.names))
        wide = spread(x, Like(own, tuple(extent(x, n) if n in apart else sizes[n] for n in own), x.dtype))
        missing = () if isinstance(hidden, axes.ByName) else tuple(n for n in hidden if n not in x.hidden)
        out.append(relabel(reorder(wide, own), {}, hide=missing))
    return tuple(out)
