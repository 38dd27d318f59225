"""Norms of vectors over dims, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant
from namedgrad.axes import Names
from namedgrad.primitive import operation, reduction, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute, squared
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.reductions.common import count_of, counts, restore
from namedgrad.rules.reductions.extremes import max, min
from namedgrad.rules.reductions.ranges import by_scaled, in_range, is_near_1, size_of
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    guarded_contract,
    if_likely,
    isfinite,
    known_finite,
    logical_not,
    multiply,
    not_equal,
    select,
    subtract,
    total,
    where,
)
from namedgrad.squares import Length, as_length
from namedgrad.trace import innermost


def _direction(y: DimArray, x: DimArray) -> DimArray:
    """``x / |x|``, 0 where the length is 0, or not finite but of no influence."""
    zero = equal(y, c(0)) if known_finite(y) else e.logical_or(equal(y, c(0)), _idle(y, x))
    return where(zero, c(0.0), e.divide(x, where(zero, c(1.0), y)))


def _idle(y: DimArray, g: DimArray) -> DimArray:
    """Where a length that is not finite was masked out."""
    return e.logical_and(equal(g, c(0)), logical_not(isfinite(y)))


def _effective(y: DimArray, g: DimArray, x: DimArray) -> DimArray:
    """``x``, 0 where its length was masked out."""
    finite = known_finite(y) or isfinite(innermost(y))
    return if_likely(finite, lambda: x, lambda: select(logical_not(_idle(y, g)), x))


def _gone(y: DimArray, x: DimArray) -> Names:
    return tuple(n for n in x.names if n not in y.names)


_length = reduction(
    "length2",
    pullback=lambda g, y, x: (multiply(_direction(y, g), _effective(y, g, x)),),
    pushforward=lambda t, y, x: _direction(y, guarded_contract(t, x, _gone(y, x))),
)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("nonzero(a,b)", dim="b", ord=1), sample("real(a,b)", dim="a", ord=math.inf),
           sample("nonzero(a,b)", dim="a", ord=-math.inf), sample("nonzero(a,b)", dim="b", ord=3), sample("nonzero(a,b)", dim=("a", "b"), ord=0.5),
           sample("nonzero(a,b)", dim="b", ord=-2, keepdims=True), sample("complex(a,b)", dim="b"), sample("complex(a,b)", dim="b", ord=3))
@in_single
def vector_norm(x: DimArray, dim: Any = None, *, ord: float = 2, keepdims: bool = False) -> DimArray:
    """Norm of the vectors along dims; several dims are one vector.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    ord : float
        The order: any number, inf for the largest absolute value, -inf for the smallest, 0 for the count of cells that
        are not 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Real: ``sum(|x| ** ord) ** (1 / ord)``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The derivative is 0 where the norm is 0, and in cells that are 0; ties of inf and -inf share. Vectors whose squares
    would overflow or vanish are scaled first. As :func:`numpy.linalg.vector_norm` and ``torch.linalg.vector_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([3.0, -4.0], ("x",))
    >>> ng.vector_norm(x).item(), ng.vector_norm(x, ord=1).item()
    (5.0, 7.0)
    >>> ng.grad(ng.vector_norm)(ng.zeros({"x": 2})).data
    array([0., 0.])
    """
    dims = pick(x, dim, "vector_norm")
    x = x if x.dtype.kind in "fc" else cast(x, "float64")
    if np.ndim(ord):
        raise ValueError(f"norm: ord is an array of shape {np.shape(ord)}; one order serves all vectors")
    if str(ord) in {"fro", "nuc"}:
        raise ValueError(f"norm: ord={ord!r} is no norm of vectors, but of matrices; choose a number, or two dims")
    out = restore(_norm(x, dims, float(ord)), x, dims, keepdims)
    if ord != 2:
        return out
    return as_length(out, _squared, x, dims, keepdims)


def _squared(x: DimArray, dims: Names, keepdims: bool) -> DimArray:
    return restore(total(squared(x), dims), x, dims, keepdims)


def _norm(x: DimArray, dims: Names, order: float) -> DimArray:
    if order == 0:
        return cast(counts(not_equal(x, c(0)), dims, "int64"), real_dtype(x))
    if not dims:
        return absolute(x)
    if order == 1 or (order > 0 and not count_of(x, dims)):
        return total(absolute(x), dims)
    if math.isinf(order):
        return (max if order > 0 else min)(absolute(x), dims, skipna=False)
    if order == 2 and type(x) is Length:
        return _length_of_lengths(x, dims)
    plain = _length_of if order == 2 else lambda x, dims: _powers(absolute(x), dims, order)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):  # what leaves the range is scaled, and done again
        first = plain(x, dims)
    return first if not count_of(x, dims) or in_range(first, order) else _scaled(plain, x, dims, order, first)


def _scaled(plain: Any, x: DimArray, dims: Names, order: float, first: DimArray) -> DimArray:
    scale = size_of(x, dims, skipna=False, leading=max if order > 0 else min)
    out = by_scaled(lambda x: plain(x, dims), x, lambda x: e.divide(x, scale), lambda y: multiply(y, scale))
    if not (order < 0 or known_finite(out)):
        out = _at_infinity(out, first, absolute(x), dims)
    return if_likely(is_near_1(innermost(first), order), lambda: first, lambda: out)


def _at_infinity(out: DimArray, first: DimArray, size: DimArray, dims: Names) -> DimArray:
    """Norms of which cells are infinite are the sums of these: the slope is the sign there, and 0 elsewhere.

    They were infinite before they were scaled; of complex cells, an infinite one divided by 1 is NaN.
    """
    infinite = total(select(e.isinf(size), size), dims)
    return where(e.logical_and(e.isinf(infinite), e.isinf(first)), infinite, out)


def _length_of_lengths(x: DimArray, dims: Names) -> DimArray:
    """By squares of cells, which are smooth where these are 0."""
    size = absolute(x) if x.dtype.kind == "c" else x
    scale = size_of(size, dims, skipna=False)

    def plain(x: DimArray) -> DimArray:
        return e.length(total(e.square(x), dims))

    return by_scaled(plain, size, lambda x: e.divide(x, scale), lambda y: multiply(y, scale))


def _length_of(x: DimArray, dims: Names) -> DimArray:
    if x.dtype.kind == "f":
        return _length(x, dims)
    return e.length(total(squared(x), dims))


def _all_positive(size: DimArray) -> bool:
    raw = innermost(size).raw
    return backends.backend_of(raw).may_branch and not backends.is_recording() and bool(np.size(raw) and raw.min() > 0)


def _powers(size: DimArray, dims: Names, order: float) -> DimArray:
    if _all_positive(size):
        return e.power(total(e.power(size, c(order)), dims), c(1 / order))
    zero = equal(size, c(0))
    power = where(zero, c(0.0 if order > 0 else math.inf), e.power(where(zero, c(1.0), size), c(order)))
    inside = total(power, dims)
    nothing = e.logical_or(equal(inside, c(0)), e.isinf(inside))
    root = e.power(where(nothing, c(1.0), inside), c(1 / order))
    return where(nothing, e.power(stop_gradient(inside), c(1 / order)), root)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("nonzero(a,b)", dim="b", ord=1))
def norm(x: DimArray, dim: Any = None, ord: Any = None, *, keepdims: bool = False, dims: Any = None) -> DimArray:
    """Norm of the vectors along a dim, or of the matrices over two.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default. With an order, two are the rows and columns of a matrix.
    ord : optional
        The order, as for :func:`vector_norm` or :func:`matrix_norm`; the length by default.
    keepdims : bool
        Keep the reduced dims with size 1.
    dims : (row, column), optional
        Another name for ``dim``, as the functions of matrices have it.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If an order is given and there are more than two dims, or it is no order of matrices.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.norm(ng.DimArray([3.0, -4.0], ("x",))).item()
    5.0
    """
    over = pick(x, dim if dims is None else dims, "norm")
    if ord is None or len(over) == 1:
        return vector_norm(x, over, ord=2 if ord is None else ord, keepdims=keepdims)
    if len(over) > 2:
        raise ValueError(f"norm: ord={ord!r} of the dims {over}; vector_norm(x, dim, ord=...) takes them as one vector")
    from namedgrad.rules.linalg.numbers import matrix_norm

    return restore(matrix_norm(x, (over[0], over[1]), ord), x, over, keepdims)


@operation(sample("real(a,b)", "nonzero(b)", dim="b"), sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(a,b)", dim="a", ord=3))
def dist(x: DimArray, y: DimArray, dim: Any = None, *, ord: float = 2) -> DimArray:
    """Norm of the difference of two arrays.

    Parameters
    ----------
    x, y : DimArray
        Met by name.
    dim : name or names, optional
        Dims to reduce; all by default.
    ord : float
        The order, as for :func:`vector_norm`.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    As ``torch.dist``; the derivative is 0 where the distance is 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.dist(ng.DimArray([3.0, 0.0], ("x",)), ng.DimArray([0.0, 4.0], ("x",))).item()
    5.0
    """
    return vector_norm(apart(x, constant(y)), dim, ord=ord)


def apart(x: DimArray, y: DimArray) -> DimArray:
    """``x - y``; of whole numbers, which may be unsigned or short, as doubles."""
    whole = x.dtype.kind in "biu" and y.dtype.kind in "biu"
    return subtract(cast(x, "float64") if whole else x, y)


@operation(sample("real(a,b)", dim="b", maxnorm=1.5), sample("real(a,b,c)", dim=("a", "c"), maxnorm=2.0, ord=1))
@in_single
def renorm(x: DimArray, dim: Any = None, *, maxnorm: float, ord: float = 2) -> DimArray:
    """Vectors along dims made shorter, where their norm exceeds a bound.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims of the vectors; all by default. (``torch.renorm`` names the dim that counts them.)
    maxnorm : float
        The largest norm that stays.
    ord : float
        The order, as for :func:`vector_norm`.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The factor is ``maxnorm / (norm + 1e-7)``, as in PyTorch; it is differentiated too.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.renorm(ng.DimArray([3.0, 4.0], ("x",)), maxnorm=1.0).data.round(3)
    array([0.6, 0.8])
    """
    size = vector_norm(x, dim, ord=ord)
    long = e.greater(size, c(maxnorm))
    return multiply(x, where(long, e.divide(c(maxnorm), add(size, c(1e-7))), c(1.0)))
