"""Order of dims, dims of size 1, and repetition without a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Names
from namedgrad.linear import Like, like
from namedgrad.primitive import check_sizes, operation, sample
from namedgrad.rules.dims import check, new_name, pick
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.structure import relabel, reorder, spread


@operation(sample("real(a,b,c)"), method=True)
def transpose(x: DimArray, *dim: Any) -> DimArray:
    """Dims in another order; it changes no value and no derivative, since dims meet by name.

    Parameters
    ----------
    x : DimArray
    *dim : names, optional
        All of them, or some and ``...`` for the rest; reversed if none is given.

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
    wanted = _expand(x, dim) if dim else x.dims[::-1]
    if set(wanted) != set(x.dims) or len(wanted) != len(x.dims):
        raise AxisError(f"transpose: {wanted} is not an order of all dims {x.dims}; use ... for the rest")
    return reorder(x, (*x.vectorized, *wanted))


def _expand(x: DimArray, dim: Sequence[Any]) -> Names:
    names = tuple(d for d in dim if d is not Ellipsis)
    for n in names:
        check(x, n, "transpose")
    if Ellipsis not in dim:
        return names
    at = list(dim).index(Ellipsis)
    return (*names[:at], *(n for n in x.dims if n not in names), *names[at:])


@operation(sample("real(a,b)", dim="d"), sample("real(a,b)", dim={"d": 2}), method=True)
def expand_dims(x: DimArray, /, dim: Any = None, **sizes: int) -> DimArray:
    """New dims in front.

    Parameters
    ----------
    x : DimArray
    dim : name, names or mapping of name to size, optional
        Names get size 1.
    **sizes : int
        The mapping in keyword form.

    Returns
    -------
    DimArray
        Values are repeated along the new dims, without a copy.

    Raises
    ------
    AxisError
        If a name is taken or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).expand_dims(y=3).sizes
    {'y': 3, 'x': 2}
    """
    table: dict[Any, int] = dict(dim) if isinstance(dim, Mapping) else {}
    if dim is not None and not isinstance(dim, Mapping):
        table = dict.fromkeys(dim if isinstance(dim, (list, tuple)) else (dim,), 1)
    table.update(sizes)
    for name in table:
        new_name(x, name, "expand_dims")
    axes.check_names(table)
    names = (*table, *x.names)
    return spread(x, Like(names, (*table.values(), *x.full_shape), x.dtype))


@operation(sample("real(a,one)"), sample("real(a,one)", dim="one"), method=True)
def squeeze(x: DimArray, dim: Any = None) -> DimArray:
    """Remove dims of size 1.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All dims of size 1 by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, vectorized, or larger than 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2, "one": 1}).squeeze().dims
    ('x',)
    """
    dims = [n for n, s in x.sizes.items() if s == 1] if dim is None else pick(x, dim, "squeeze")
    for d in dims:
        if extent(x, d) != 1:
            raise AxisError(f"squeeze: {d!r} has size {extent(x, d)} in {describe(x)}; only size 1 can be removed")
        x = slice_of(x, d, 0)
    return x


@operation(sample("real(a)", "real(b,a)"), method=True)
def broadcast_like(x: DimArray, other: DimArray) -> DimArray:
    """Repeat ``x`` along the dims of ``other`` that it lacks.

    Parameters
    ----------
    x, other : DimArray

    Returns
    -------
    DimArray
        Without a copy. An axis that is vectorized in ``other`` is so in the result.

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
    other = constant(other)
    check_sizes("broadcast_like", (x, other))
    axes.merge_hidden((x.names, other.names), (x.hidden, other.hidden))
    marks = tuple(n for n in other.hidden if n not in x.names)
    return relabel(spread(x, like(other)), {}, hide=marks)


@operation(sample("real(a)", "real(b)"))
def broadcast(*arrays: DimArray) -> tuple[DimArray, ...]:
    """All arrays with the union of their dims, in one order.

    Parameters
    ----------
    *arrays : DimArray

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
    out = []
    for x in arrays:
        for other in arrays:
            x = broadcast_like(x, other)  # noqa: PLW2901 - grows step by step
        out.append(x)
    return tuple(reorder(x, out[0].names) for x in out)
