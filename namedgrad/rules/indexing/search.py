"""Positions in sorted arrays, and indicators: searchsorted, digitize, bucketize, one_hot.  No gradient passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, constant, describe, extent, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Map
from namedgrad.primitive import Primitive, check_sizes, operation, place, sample
from namedgrad.rules.dims import check, new_name, without
from namedgrad.rules.indexing.maps import scatter_add
from namedgrad.rules.indexing.positions import beside, named_index, wrapped
from namedgrad.rules.structure import alongside, cast, reorder, select
from namedgrad.trace import apply, innermost


class _Search(Primitive):
    """How many edges lie below each value."""

    form, signature = "core", "(m),()->()"

    def lower(self, args: Sequence[DimArray], dim: Name, right: bool) -> DimArray:
        edges, x = args
        check_sizes("searchsorted", [x, without(edges, (dim,))])
        own = tuple(n for n in edges.names if n != dim)
        hidden = axes.merge_hidden((own, x.names), (edges.hidden, x.hidden))
        shared: Names = own
        rest = tuple(n for n in x.names if n not in own)
        backend = backends.backend_of(edges.raw, x.raw)
        sizes = dict(zip(own, (extent(edges, n) for n in own), strict=True)) | dict(zip(x.names, x.full_shape, strict=True))
        table = place(edges.raw, axes.Move(axes.order_plan(edges.names, (*own, dim)), None))
        present = tuple(n for n in shared if n in x.names)
        raw = x.raw if backends.is_array(x.raw) else call(backend.asarray, x.raw)
        raw = place(raw, axes.Move(axes.order_plan(x.names, (*present, *rest)), None)) if x.names else raw
        lead = tuple(sizes[n] if n in x.names else 1 for n in shared)
        flat = call(backend.reshape, raw, (*lead, int(np.prod([sizes[n] for n in rest], dtype=int))))
        out = call(backend.searchsorted, table, flat, right=right)
        out = call(backend.reshape, out, (*(sizes[n] for n in shared), *(sizes[n] for n in rest)))
        found = make(out, (*shared, *rest), hidden)
        return reorder(found, (*x.names, *(n for n in shared if n not in x.names)))

    def linear(self, *args: Any, **params: Any) -> Map | None:
        return None


_SEARCH = _Search("searchsorted")


@operation(sample("sorted(six)", "real(a,b)", dim="six"), sample("sorted(a,six)", "real(a,b)", dim="six", side="right"), differentiable=False)
def searchsorted(edges: DimArray, x: Any, dim: Name, *, side: str = "left") -> DimArray:
    """Positions at which values would be inserted into sorted ones.

    Parameters
    ----------
    edges : DimArray
        In ascending order along ``dim``; other dims are met with those of ``x``. Vectorized or not.
    x : DimArray or scalar
    dim : name
        A dim of the edges.
    side : {"left", "right"}
        Before or after values that are equal.

    Returns
    -------
    DimArray
        Integers between 0 and the number of edges, with the dims of ``x`` and the other dims of the edges; no gradient
        passes.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or a shared dim has two sizes.
    ValueError
        If the side is unknown.

    Notes
    -----
    ``numpy.searchsorted``, ``torch.searchsorted``. NaN lies above everything.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.searchsorted(ng.DimArray([1.0, 2.0, 3.0], ("edge",)), ng.DimArray([2.0, 9.0], ("x",)), "edge").data
    array([1, 3])
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side={side!r} is neither 'left' nor 'right'")
    table, v = innermost(edges), innermost(constant(x))
    check(table, dim, "searchsorted")
    if dim in v.names:
        aside = axes.local(("sorted edges", dim))
        from namedgrad.rules.structure import relabel

        table, dim = relabel(table, {dim: aside}), aside
    return apply(_SEARCH, (table, v), dim=dim, right=side == "right")


@operation(sample("real(a,b)", "sorted(six)", dim="six"), sample("real(a,b)", "sorted(six)", dim="six", right=True), differentiable=False)
def bucketize(x: Any, boundaries: DimArray, dim: Name | None = None, *, right: bool = False) -> DimArray:
    """The number of the bucket, between ascending boundaries, that every value falls into.

    Parameters
    ----------
    x : DimArray or scalar
    boundaries : DimArray
    dim : name, optional
        The dim along which the boundaries ascend; by default the only one that they have.
    right : bool
        Whether a value that equals a boundary lies above it.

    Returns
    -------
    DimArray
        Integers; no gradient passes.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or not given and not the only one.

    Notes
    -----
    ``torch.bucketize``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.bucketize(ng.DimArray([0.5, 1.0, 2.5], ("x",)), ng.DimArray([1.0, 2.0], ("edge",))).data
    array([0, 0, 2])
    """
    edges = constant(boundaries)
    return searchsorted(edges, x, _only(edges, dim, "bucketize"), side="right" if right else "left")


@operation(sample("real(a,b)", "sorted(six)", dim="six"), sample("real(a,b)", "sorted(six)", dim="six", right=True), differentiable=False)
def digitize(x: Any, bins: DimArray, dim: Name | None = None, *, right: bool = False) -> DimArray:
    """The number of the bin, between ascending or descending edges, that every value falls into.

    Parameters
    ----------
    x : DimArray or scalar
    bins : DimArray
    dim : name, optional
        The dim along which the edges ascend or descend; by default the only one that they have.
    right : bool
        Whether a bin includes its right edge instead of its left one.

    Returns
    -------
    DimArray
        Integers; no gradient passes.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or not given and not the only one.

    Notes
    -----
    ``numpy.digitize``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.digitize(ng.DimArray([0.5, 1.0, 2.5], ("x",)), ng.DimArray([1.0, 2.0], ("edge",))).data
    array([0, 1, 2])
    """
    from namedgrad.rules.elementwise import greater
    from namedgrad.rules.movement import slice_of
    from namedgrad.rules.movement.cuts import flip_axes
    from namedgrad.rules.structure import known_true, logical_not, subtract, where

    edges, v = innermost(constant(bins)), innermost(constant(x))
    name = _only(edges, dim, "digitize")
    side = "left" if right else "right"
    n = extent(edges, name)

    def up() -> DimArray:
        return searchsorted(edges, v, name, side=side)

    def down() -> DimArray:
        return subtract(constant(n), searchsorted(flip_axes(edges, (name,)), v, name, side=side))

    if n < 2:
        return up()
    falling = greater(slice_of(edges, name, 0), slice_of(edges, name, n - 1))
    if not falling.names and (known_true(falling) or known_true(logical_not(falling))):
        return down() if falling.raw else up()
    return where(falling, down(), up())


def _only(edges: DimArray, dim: Name | None, what: str) -> Name:
    if dim is not None:
        return check(edges, dim, what)
    if edges.ndim != 1:
        raise AxisError(f"{what}: say along which dim {describe(edges)} is sorted, with dim=")
    return edges.dims[0]


@operation(sample("index_b(a)", size=4), sample("index_c(a,b)", size={"class": 5}), differentiable=False)
def one_hot(index: DimArray, size: Any = None, *, new_dim: Name = "class") -> DimArray:
    """1 at the position that an integer gives, 0 elsewhere, along a new dim.

    Parameters
    ----------
    index : DimArray
        Integers.
    size : int or mapping of name to int, optional
        How many positions there are, and the name of their dim; by default as many as occur, which must be allowed to be
        looked at.
    new_dim : name
        The dim of the positions, which comes last.

    Returns
    -------
    DimArray
        Integers; no gradient passes.

    Raises
    ------
    AxisError
        If the new dim exists already.
    IndexError
        If an integer is out of range.
    TraceError
        Without a size, where the integers may not be looked at.

    Notes
    -----
    ``torch.nn.functional.one_hot``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.one_hot(ng.DimArray([1, 0], ("x",)), {"class": 3}).data
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    from namedgrad.rules.elementwise import c, less, less_equal, logical_and

    found = named_index(index, new_dim)
    if found.dtype.kind not in "iu":
        raise TypeError(f"one_hot: the index has dtype {found.dtype}; use integers")
    if isinstance(size, dict):
        ((new_dim, size),) = size.items()
    new_name(found, new_dim, "one_hot")
    if size is None:
        if not backends.may_look(found.raw):
            raise TraceError("one_hot: how many classes there are depends on values that may not be looked at; give size=")
        size = int(np.max(found.raw)) + 1 if np.size(found.raw) else 0
    if not isinstance(size, (int, np.integer)) or size < 0:
        raise ValueError(f"one_hot: size={size!r} is no number of classes")
    size = int(size)
    if backends.may_look(found.raw) and np.size(found.raw) and int(np.min(found.raw)) < 0:
        raise IndexError(f"one_hot: class {int(np.min(found.raw))} is negative in {describe(found)}")
    found = beside(wrapped(found, new_dim, size, found), found)
    one = alongside(constant(np.int64(1)), found, np.dtype(np.int64))
    if not backends.may_look(found.raw):  # CuPy refuses no position: one out of range would be a cell of the next one's
        inside = logical_and(less_equal(c(0), found), less(found, c(size)))
        found, one = select(inside, found), cast(inside, np.int64)
    return scatter_add(one, [found], (new_dim,), (size,), ())
