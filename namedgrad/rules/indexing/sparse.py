"""Sparse arrays as named coordinates and values, and weighted counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, constant, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check, new_name, pick
from namedgrad.rules.dtypes import widened
from namedgrad.rules.elementwise import c, less
from namedgrad.rules.indexing.maps import gather
from namedgrad.rules.indexing.masks import chosen_cells, nonzero_padded
from namedgrad.rules.indexing.positions import beside, named_index, wrapped
from namedgrad.rules.indexing.reduce import Spot, counts, reduced, spot
from namedgrad.rules.structure import (
    alongside,
    cast,
    multiply,
    not_equal,
    positions,
    reorder,
    total,
    where,
    zeros_spread,
)
from namedgrad.trace import innermost


@operation(sample("real(six,c)", indices={"p": [0, 1, 1, 0, 2, 2], "q": [3, 0, 0, 3, 1, 2]}, sizes={"p": 3, "q": 4}, dim="six"),
           sample("real(six)", indices={"six": [0, 7, 7, 1, 2, 2]}, sizes={"six": 8}, dim="six"))
def coo_to_dense(values: DimArray, indices: Mapping[Any, Any], sizes: Mapping[Any, int], *, dim: Name | None = None) -> DimArray:
    """Values at coordinates, zeros elsewhere; values at the same place are added.

    Parameters
    ----------
    values : DimArray
    indices : mapping of dim to integer array or DimArray
        The coordinates, which have a dim in common with the values; vectorized or not.
    sizes : mapping of dim to int
        Sizes of the dims that the coordinates run along.
    dim : name, optional
        The dim that counts the values, which coordinates without names run along; by default that of the coordinates that
        have one, or the only one of the values.

    Returns
    -------
    DimArray
        With the dims of ``sizes``, in their order, then the other dims of the values.

    Raises
    ------
    AxisError
        If the mappings do not have the same dims, or sizes differ.
    IndexError
        If a coordinate is out of range.

    Notes
    -----
    ``torch.sparse_coo_tensor(...).to_dense()``. The gradient of the values is gathered from their places.

    Examples
    --------
    >>> import namedgrad as ng
    >>> values = ng.DimArray([1.0, 2.0, 3.0], ("n",))
    >>> ng.coo_to_dense(values, {"x": [0, 1, 1], "y": [1, 0, 0]}, {"x": 2, "y": 2}).data
    array([[0., 1.],
           [5., 0.]])
    """
    if set(indices) != set(sizes):
        raise AxisError(f"coo_to_dense: coordinates are given for {tuple(indices)}, sizes for {tuple(sizes)}")
    named = [i for i in indices.values() if isinstance(i, DimArray) and i.dims]
    if dim is None:
        if not named and values.ndim > 1:
            raise AxisError(f"coo_to_dense: say which dim of {describe(values)} counts the values, with dim=")
        dim = named[0].dims[0] if named else values.dims[0] if values.dims else None
    elif not any(dim in i.dims for i in named):
        check(values, dim, "coo_to_dense")
    table = {}
    for d, n in sizes.items():
        found = named_index(indices[d], dim)
        if found.dtype.kind not in "iu":
            raise TypeError(f"coo_to_dense: coordinates along {d!r} have dtype {found.dtype}; use integers")
        table[d] = beside(wrapped(found, d, n, values), values)
    target = zeros_spread(values, Like(tuple(sizes), tuple(sizes.values()), values.dtype))
    at = spot(target, table)
    joint = {n for i in table.values() for n in i.dims}
    for name in sizes:
        if name in values.names and name not in joint:
            new_name(values, name, "coo_to_dense")
    out = reduced(target, values, Spot(at.places, at.dims, tuple(n for n in joint_order(at) if n in joint)), "sum")
    return reorder(out, tuple(dict.fromkeys((*out.vectorized, *sizes, *out.names))))


def joint_order(at: Spot) -> tuple[Name, ...]:
    """The names of an index, in order."""
    return tuple(dict.fromkeys(n for i in at.places for n in i.names))


@operation(sample("real(a,b)", dim=("b", "a"), size=5), sample("real(six,a)", dim="six", size=7))
def dense_to_coo(x: DimArray, dim: Any = None, *, size: int | None = None, new_dim: Name = "nonzero") -> tuple[DimArray, ...]:
    """The values that are not 0, and their coordinates.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        The dims that get coordinates; all by default. Along others every slice has its own, and ``size`` is needed.
    size : int, optional
        How many values to give: padded with zeros at the first place, or cut.
    new_dim : name
        The dim that counts the values.

    Returns
    -------
    tuple of DimArray
        ``(values, *coordinates)``: the values, then one array of positions per dim, in the order of ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.
    TraceError
        Without ``size``, where the number of values differs from slice to slice or may not be looked at.

    Notes
    -----
    ``torch.Tensor.to_sparse``. The places are fixed at the point: the values are gathered from them.

    Examples
    --------
    >>> import namedgrad as ng
    >>> values, x, y = ng.dense_to_coo(ng.DimArray([[0.0, 2.0], [3.0, 0.0]], ("x", "y")))
    >>> values.data, x.data, y.data
    (array([2., 3.]), array([0, 1]), array([1, 0]))
    >>> ng.coo_to_dense(values, {"x": x, "y": y}, {"x": 2, "y": 2}).data.tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """
    dims = pick(x, dim, "dense_to_coo")
    new_name(x, new_dim, "dense_to_coo")
    if size is None:
        values, found = chosen_cells(x, dims, new_dim)
    else:
        found = nonzero_padded(x, dims, size=size, new_dim=new_dim)
        table = dict(zip(dims, found, strict=True))
        values = gather(x, table) if all(extent(x, d) for d in dims) else cast(multiply(found[0], c(0)), x.dtype)
        many = total(cast(not_equal(innermost(x), c(0)), np.intp), dims)
        there = less(positions(size, new_dim, x), many)
        values = where(there, values, c(0))
    return (reorder(values, tuple(dict.fromkeys((*values.vectorized, new_dim, *values.names)))), *found)


@operation(sample("index_six(a,b)", "real(a,b)", size=6, dim="a"), sample("index_c(a)", "real(a,b)", size={"group": 4}))
def bincount(
    x: Any, weights: Any = None, dim: Any = None, *, size: Any = None, minlength: int = 0, new_dim: Name = "bin"
) -> DimArray:  # fmt: skip
    """How often every integer occurs, or the sum of weights where it does.

    Parameters
    ----------
    x : DimArray
        Integers that are not negative.
    weights : DimArray, optional
        Paired with ``x`` by name.
    dim : name or names, optional
        The dims of ``x`` over which is counted; all by default.
    size : int or mapping of name to int, optional
        How many integers to count, and the name of their dim; by default as many as occur, which must be allowed to be
        looked at, and at least ``minlength``.
    minlength : int
    new_dim : name
        The dim of the integers.

    Returns
    -------
    DimArray
        Integers, or with weights their dtype.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.
    IndexError
        If an integer is negative, or not below ``size``.
    TraceError
        Without ``size``, where the integers may not be looked at.

    Notes
    -----
    ``numpy.bincount``, ``torch.bincount``. The gradient of the weights is gathered from their bins.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0, 2, 2], ("x",))
    >>> ng.bincount(x).data, ng.bincount(x, ng.DimArray([1.0, 2.0, 4.0], ("x",))).data
    (array([1, 0, 2]), array([1., 0., 6.]))
    """
    found = named_index(x, new_dim)
    if found.dtype.kind not in "iub":
        raise TypeError(f"bincount: x has dtype {found.dtype}; use integers")
    dims = pick(found, dim, "bincount")
    if isinstance(size, Mapping):
        ((new_dim, size),) = size.items()
    if new_dim not in dims:
        new_name(found, new_dim, "bincount")
    look = backends.may_look(found.raw)
    if size is None:
        if not look:
            raise TraceError("bincount: how many integers occur depends on values that may not be looked at; give size=")
        size = max(int(np.max(found.raw)) + 1 if np.size(found.raw) else 0, minlength)
    w = None if weights is None else widened(alongside(constant(weights), found))
    home = found if w is None else w
    place = wrapped(found, new_dim, size, found)
    if look and place.raw is not found.raw and np.size(found.raw) and int(np.min(found.raw)) < 0:
        raise IndexError(f"bincount: {int(np.min(found.raw))} is negative in {describe(found)}")
    at = Spot([beside(place, home)], (new_dim,), dims)
    line = zeros_spread(innermost(home), Like((new_dim,), (size,), np.dtype(np.int64)))
    out = counts(line, at, np.dtype(np.int64)) if w is None else reduced(line, w, at, "sum")
    order = [n for n in out.names if n != new_dim]
    return reorder(out, (*out.vectorized, *(n for n in order if n not in out.hidden), new_dim))
