"""Distances between points: the p-norm of differences, without a gradient where two points coincide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Pair, ops, product
from namedgrad.primitive import core, elementwise, linear, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute, conj_if_complex, real
from namedgrad.rules.contraction.products import dot
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check, named_dims
from namedgrad.rules.dtypes import floating, real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing import isel
from namedgrad.rules.movement import core_size, merge
from namedgrad.rules.reductions import max as largest
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    if_likely,
    logical_not,
    multiply,
    negative,
    not_equal,
    relabel,
    reorder,
    select,
    subtract,
    total,
    where,
)
from namedgrad.squares import as_length
from namedgrad.trace import innermost

CELL, PAIR, POINTS = axes.core(-1), axes.fresh("pair"), axes.cores(2)


def slope(d: DimArray, out: DimArray, p: float) -> tuple[DimArray, DimArray]:
    """The derivative of a norm ``out`` of differences ``d`` as a product; 0 where the norm is 0 or infinite, or a difference 0.

    ``sign(d) (|d| / out)**(p - 1)``: quotients of at most 1, so that nothing overflows.
    """
    if p != 2:
        return _quotients(d, out, p)
    half = _root_slope(out)
    near, plain = _is_near(half), (multiply(c(2.0), half), d)
    if near is True:
        return plain
    safe = _quotients(d, out, p)
    return if_likely(near, lambda: plain[0], lambda: safe[0]), if_likely(near, lambda: plain[1], lambda: safe[1])


def _quotients(d: DimArray, out: DimArray, p: float) -> tuple[DimArray, DimArray]:
    if p == 1:
        return cast(not_equal(out, c(0)), out.dtype), e.sign(d)
    some = e.logical_and(not_equal(out, c(0)), logical_not(e.isinf(out)))
    safe = where(some, out, c(1.0))
    if p == 2:
        return cast(some, out.dtype), e.divide(d, safe)  # the only power that bends where a difference is 0
    size = e.absolute_real(d)
    moved = not_equal(size, c(0))
    ratio = e.divide(where(moved, size, c(1.0)), safe)
    return cast(some, out.dtype), select(moved, multiply(e.sign(d), e.power(ratio, c(p - 1.0))))


def _is_near(half: DimArray) -> DimArray | bool:
    """Whether no product of a distance, or of its reciprocal, with another is known to be out of range; a program sees where."""
    half = innermost(half)
    if not backends.backend_of(half.raw).may_branch:
        return True
    edge = float(np.finfo(half.dtype).max) ** 0.4
    small = e.logical_and(e.less(half, c(1 / edge)), not_equal(half, c(0.0)))
    near = logical_not(e.logical_or(e.greater(half, c(edge)), small))
    return near if backends.is_recording() else bool(near.raw.all())


def _pullback(g: DimArray, out: DimArray, x: DimArray, y: DimArray, p: float) -> list[Pair]:
    scale, factor = slope(subtract(x, y), out, p)
    weight = product(g, scale)
    return [Pair(weight, factor), Pair(negative(weight), factor)]


def _pushforward(ts: Sequence[Any], out: DimArray, x: DimArray, y: DimArray, p: float) -> DimArray:
    scale, factor = slope(subtract(x, y), out, p)
    s, t = ts
    moved = negative(t) if s is None else s if t is None else subtract(s, t)
    return ops.scale(ops.guarded_contract(moved, factor, (CELL,)), scale)


def _pairs_pullback(g: DimArray, out: DimArray, x: DimArray, p: float) -> list[DimArray]:
    guard: bool = g.hidden.guard  # type: ignore[attr-defined]

    def by_differences() -> DimArray:
        scale, factor = slope(_pair_difference(x), out, p)
        return _pair_spread(product(product(g, scale), factor), n=extent(x, CELL))

    if p != 2 or guard:
        return [by_differences()]
    half = _root_slope(out)
    near = _is_near(half)

    def by_points() -> DimArray:
        weight = relabel(multiply(g, multiply(c(2.0), half)), {CELL: PAIR})
        return _pair_pull(weight, x, dims=((PAIR,), POINTS), out=POINTS)

    every = near if isinstance(near, bool) else equal(total(cast(logical_not(near), "int64"), (CELL,)), c(0))
    return [if_likely(every, by_points, by_differences)]


def _pairs_pushforward(ts: Sequence[Any], out: DimArray, x: DimArray, p: float) -> DimArray:
    scale, factor = slope(_pair_difference(x), out, p)
    return ops.scale(ops.guarded_contract(_pair_difference(ts[0]), factor, (axes.core(-2),)), scale)


def _pull_pullback(g: DimArray, out: DimArray, w: DimArray, x: DimArray) -> list[DimArray]:
    apart = _pair_difference(g)
    along = ops.guarded_contract(apart, _pair_difference(x), (axes.core(-2),))
    return [along, _pair_spread(product(apart, w), n=extent(x, CELL))]


_root_above_zero = elementwise("root_above_zero", lambda y, x: _root_slope(y))
_root_slope = elementwise("root_slope", lambda s, y: multiply(c(-2.0), e.square(s)))
_distance = core("(n),(n)->()", "distance", pullback=_pullback, pushforward=_pushforward)
_pair_distance = core("(k,n)->(p)", "pair_distance", pullback=_pairs_pullback, pushforward=_pairs_pushforward)
_pair_difference = linear("(n)->(n)", "pair_difference", transpose=lambda g, x: _pair_spread(g, n=core_size(x)))
_pair_pull = core("(p),(k,n)->(k,n)", "pair_pull", pullback=_pull_pullback)
_pair_spread = linear("(n)->(n)", "pair_spread", transpose=lambda g, x, n: _pair_difference(g))


@operation(sample("real(a,c)", "real(b,c)", dim="c"), sample("real(a,c)", "real(b,c)", dim="c", p=1), sample("real(a,c)", "real(b,c)", dim="c", p=math.inf),
           sample("real(a,c)", "real(b,c)", dim="c", p=3), sample("above_one(a,c)", "unit(b,c)", dim="c", p=1.5), sample("real(a,c)", "real(b,c)", dim="c", p=0),
           sample("real(a,c)", "real(b,c)", dim="c", compute_mode="matmul"), sample("complex(a,c)", "complex(a,c,b)", dim="c"))
@in_single
def cdist(x: DimArray, y: DimArray, dim: Name, *, p: float = 2.0, compute_mode: str = "direct") -> DimArray:
    """Distances between points, ``sum(|x - y|**p, dim)**(1 / p)``, by name.

    Parameters
    ----------
    x, y : DimArray
        Points, their coordinates along ``dim``. Every point of ``x`` is measured to every point of ``y`` along dims
        that only one of them has; along shared dims, pair by pair.
    dim : name
        The dim of the coordinates.
    p : float
        The norm: 2 (Euclidean), 1, ``inf`` (the largest difference), 0 (how many differ), or any other positive number.
    compute_mode : {"direct", "matmul"}
        For ``p=2``: from differences, or from one matrix product, ``|x|**2 + |y|**2 - 2 x y``. That is many times as
        fast, but of distances below ``1e-8 |x|`` nothing is left.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If ``dim`` is unknown or vectorized, or a shared dim has two sizes.
    ValueError
        If ``p`` is negative, or ``compute_mode`` is none of the two or does not fit ``p``.

    Notes
    -----
    The derivative is ``sign(d) (|d| / distance)**(p - 1)`` of each difference ``d``; 0 at distance 0, at every order.
    With ``p=inf`` the largest differences share it; with ``p=0`` there is none. ``torch.cdist``,
    :func:`scipy.spatial.distance.cdist`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[0.0, 0.0], [3.0, 4.0]], ("i", "xyz"))
    >>> ng.cdist(x, x.rename(i="j"), "xyz").data
    array([[0., 5.],
           [5., 0.]])
    >>> ng.grad(lambda x: ng.cdist(x, x.rename(i="j"), "xyz").sum())(x).data
    array([[-1.2, -1.6],
           [ 1.2,  1.6]])
    """
    x, y = floating(x), floating(y)
    for points in (x, y):
        check(points, dim, "cdist")
    if compute_mode not in ("direct", "matmul") or (compute_mode == "matmul" and p != 2):
        raise ValueError(f"cdist: compute_mode={compute_mode!r} is none of 'direct' and, for p=2, 'matmul'")
    if not p >= 0:
        raise ValueError(f"cdist: p={p} must not be negative")
    names = axes.in_order(n for n in (*x.names, *y.names) if n != dim)
    return reorder(_measured(x, y, dim, float(p), compute_mode), names)


def _measured(x: DimArray, y: DimArray, dim: Name, p: float, mode: str) -> DimArray:
    if p == 0:
        return total(cast(not_equal(x, y), real_dtype(subtract(x, y))), (dim,))
    if not extent(x, dim):
        return total(absolute(subtract(x, y)), (dim,))
    if mode == "matmul":
        squared = _squared(x, y, dim)
        return as_length(_root_above_zero(squared), _from_zero, squared)
    if p == math.inf:
        return largest(absolute(subtract(x, y)), dim, skipna=False)
    if "c" in (x.dtype.kind, y.dtype.kind):
        x = absolute(subtract(x, y))
        y = multiply(c(0.0), x)
    if x.dtype.kind != "f":
        x = cast(x, real_dtype(subtract(x, y)))
    out = _distance(x, y, dims=((dim,), (dim,)), p=p)
    return as_length(out, _square, x, y, dim) if p == 2 else out


def _square(x: DimArray, y: DimArray, dim: Name) -> DimArray:
    return _from_zero(_squared(x, y, dim))


def _squared(x: DimArray, y: DimArray, dim: Name) -> DimArray:
    """By matrix products."""
    squares = [total(e.square(absolute(v)), (dim,)) for v in (x, y)]
    return add(add(*squares), _real_dot(multiply(c(-2.0), x), y, dim))


def _from_zero(x: DimArray) -> DimArray:
    """What is 0 but for rounding, as 0."""
    return subtract(x, stop_gradient(x))


def _real_dot(x: DimArray, y: DimArray, dim: Name) -> DimArray:
    out = dot(conj_if_complex(x), y, dim=dim)
    return real(out) if out.dtype.kind == "c" else out


@operation(sample("real(i,c)", dims=("i", "c")), sample("real(i,c)", dims=("i", "c"), p=1),
           sample("real(b,i,c)", dims=("i", "c"), p=3.5, new_dim="k"))
def pdist(x: DimArray, dims: Names, *, p: float = 2.0, new_dim: Name = "pair") -> DimArray:
    """Distances between every two of some points, each pair once.

    Parameters
    ----------
    x : DimArray
    dims : pair of names
        The dim that counts the points, and that of their coordinates.
    p : float
        The norm, as for :func:`cdist`.
    new_dim : name
        The dim that counts the pairs: points (0, 1), (0, 2), ..., (1, 2), ...

    Returns
    -------
    DimArray
        With ``new_dim`` last.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the new name is taken.
    ValueError
        If ``p`` is negative.

    Notes
    -----
    The derivative is that of :func:`cdist`: 0 at distance 0. ``torch.nn.functional.pdist``,
    :func:`scipy.spatial.distance.pdist`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[0.0], [1.0], [3.0]], ("i", "xyz"))
    >>> ng.pdist(x, ("i", "xyz")).data
    array([1., 3., 2.])
    """
    x = constant(x)
    point, cell = (check(x, n, "pdist") for n in named_dims(dims, "pdist", "of the points", "of their coordinates"))
    (new,) = axes.check_names((new_dim,))
    if new in x.names and new != point:
        raise AxisError(f"pdist: the dim {new!r} exists already in {x.dims}; choose another new_dim")
    inside, other = axes.local("pair of points"), axes.local("other point")
    if 0 < p < math.inf and x.dtype.kind in "fiub" and extent(x, cell):
        x = x if x.dtype.kind == "f" else cast(x, "float64")
        out = _pair_distance(x, dims=((cell, point),), out=(inside,), p=float(p))
        out = as_length(out, _pair_squares, x, point, cell, inside) if p == 2 else out
    else:
        square = merge(cdist(x, relabel(x, {point: other}), cell, p=p), (point, other), inside)
        backend = backends.backend_of(innermost(x).raw)
        cells = make(call(backend.pair_cells, extent(x, point)), (inside,), axes.NONE)
        out = isel(square, {inside: cells})
    return relabel(reorder(out, (*(n for n in out.names if n != inside), inside)), {inside: new})


def _pair_squares(x: DimArray, point: Name, cell: Name, inside: Name) -> DimArray:
    return relabel(total(e.square(_pair_difference(x, dims=(point,))), (cell,)), {point: inside})
