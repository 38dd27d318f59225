"""Variances, standard deviations, covariances and correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Map, Pair, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import conj_if_complex, real, squared
from namedgrad.rules.dims import as_names, check, number, pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.jointly import jointly
from namedgrad.rules.movement.order import broadcast_like
from namedgrad.rules.reductions.common import (
    asked_in,
    count_of,
    counts,
    divide_counted,
    mean_of,
    over_all,
    present,
    ratio,
    restore,
)
from namedgrad.rules.reductions.ranges import by_scaled, rescaled, root_of, size_of
from namedgrad.rules.structure import (
    cast,
    contract,
    guarded_contract,
    known_true,
    make_like,
    multiply,
    relabel,
    reorder,
    scale,
    select,
    spread,
    subtract,
    total,
    zeros_spread,
)
from namedgrad.trace import apply, innermost


class _Variance(Primitive):
    """Of real numbers, all of which take part: its gradient is ``2 / n`` times the distance from the mean."""

    form, signature, keeps = "core", "(n...)->()", "factors"

    def lower(self, args: Sequence[DimArray], dims: Names, ddof: float) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims), ddof=ddof)
        return make(raw, tuple(n for n in x.names if n not in dims), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, ddof: float) -> Map:
        mean = mean_of(ins[0], dims, None)
        return _map_of(ins[0], dims, ddof, out, mean, subtract(ins[0], mean))


def _map_of(x: DimArray, dims: Names, ddof: float, variance: DimArray, mean: DimArray, off: DimArray) -> Map:
    frame, inner = dict(zip(dims, axes.cores(len(dims)), strict=True)), axes.cores(len(dims))
    double, target = e.divide(c(2.0), c(count_of(x, dims) - ddof)), like(relabel(x, frame))
    if not _outlasts_rounding(variance, mean):
        off = subtract(off, mean_of(off, dims, None))
    off = relabel(off, frame)
    return CoreMap(
        lambda ts: scale(guarded_contract(ts[0], off, inner), double),
        lambda g: [Pair(spread(scale(g, double), target), off)],
        [like(x)],
        [frame],
        {},
    )


def _variance(x: DimArray, dims: Names, ddof: float) -> DimArray:
    """With the distances from the mean, which its derivative needs, where cells are differentiated once."""

    def find(values: Sequence[DimArray], _: Sequence[bool]) -> tuple[DimArray, Map] | None:
        (value,) = values
        found = backends.backend_of(value.raw).var_and_distances(value.raw, axes.positions(value.names, dims), ddof)
        if found is None:
            return None
        left = tuple(n for n in value.names if n not in dims)
        out, mean = (make(raw, left, value.hidden) for raw in found[:2])
        return out, _map_of(value, dims, ddof, out, mean, make(found[2], value.names, value.hidden))

    traced: DimArray | None = jointly((x,), find)
    return apply(_VARIANCE, (x,), dims=dims, ddof=ddof) if traced is None else traced


def _outlasts_rounding(variance: DimArray, mean: DimArray) -> bool:
    """Whether cells are known to differ by more than their mean is rounded; of equal ones that is all there is."""
    least = multiply(c(float(np.finfo(mean.dtype).eps) ** 0.5), e.absolute_real(innermost(mean)))
    return known_true(e.greater_equal(e.sqrt(innermost(variance)), least))


_VARIANCE = _Variance("var")


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="b", ddof=1), sample("missing(a,b)", dim="b"),
           sample("complex(a,b)", dim="a"), method=True)
@in_single
def var(x: DimArray, dim: Any = None, *, skipna: bool | None = None, ddof: float = 0, keepdims: bool = False,
        dtype: Any = None) -> DimArray:
    """Variance over dims: the mean square distance from the mean, divided by the count less ``ddof``.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    ddof : float
        Delta degrees of freedom: 0 as in xarray and NumPy; 1 for the unbiased estimate.
    keepdims : bool
        Keep the reduced dims with size 1.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Of complex numbers, the mean of the squared absolute distance: a real array.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).var("x", ddof=1).item()
    1.0
    """
    dims, ddof, x = pick(x, dim, "var"), number(ddof, "var: ddof"), asked_in(x, dtype, skipna)
    if x.dtype.kind == "f" and dims and count_of(x, dims) > ddof:
        plain = over_all(x, skipna, lambda: _variance(x, dims, ddof))
        if plain is not None:
            return restore(plain, x, dims, keepdims)
    mask = present(x, skipna)
    n = None if mask is None else counts(mask, dims, real_dtype(x))
    off = _off(x, dims, mask, n)
    squares = squared(off)
    return restore(_per_freedom(total(squares, dims), x, dims, n, ddof), x, dims, keepdims)


def _off(x: DimArray, dims: Names, mask: DimArray | None = None, n: DimArray | None = None) -> DimArray:
    """Distances from the mean of the ``n`` cells that take part, 0 where a cell takes none."""
    if mask is None or n is None:
        return subtract(x, mean_of(x, dims, None))
    return select(mask, subtract(x, divide_counted(total(select(mask, x), dims), n)))


def _per_freedom(out: DimArray, x: DimArray, dims: Names, n: DimArray | None, ddof: float) -> DimArray:
    if n is not None:
        return divide_counted(out, subtract(n, c(ddof)))
    free = float(count_of(x, dims) - ddof)
    return e.divide(out, c(free)) if free > 0 else divide_counted(out, cast(c(free), real_dtype(x)))


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="b", ddof=1), sample("missing(a,b)", dim="b"), method=True)
@in_single
def std(x: DimArray, dim: Any = None, *, skipna: bool | None = None, ddof: float = 0, keepdims: bool = False,
        dtype: Any = None) -> DimArray:
    """Standard deviation over dims: the square root of :func:`var`.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    ddof : float
        Delta degrees of freedom: 0 as in xarray and NumPy; 1 for the unbiased estimate.
    keepdims : bool
        Keep the reduced dims with size 1.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Where the deviation is 0 its derivative is 0, the subgradient of least norm. Cells whose squares would overflow or
    vanish are scaled first (not on dask and CuPy).

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).std("x", ddof=1).item()
    1.0
    >>> ng.grad(lambda a: a.std())(ng.ones({"x": 2})).data
    array([0., 0.])
    """
    x = asked_in(x, dtype, skipna)

    def squared(x: DimArray) -> DimArray:
        return var(x, dim, skipna=skipna, ddof=number(ddof, "std: ddof"), keepdims=keepdims)

    with np.errstate(over="ignore"):
        variance = squared(x)
    out = e.length(variance)
    dims = pick(x, dim, "std")
    if x.dtype.kind not in "fc" or not count_of(x, dims):
        return out

    def scaled() -> DimArray:
        scale = size_of(x, dims, skipna=skipna)
        out = by_scaled(lambda x: e.length(squared(x)), x, lambda x: e.divide(x, scale), lambda y: multiply(y, scale))
        return root_of(out, variance)

    return rescaled(out, [(out, x)], 2, scaled)


# ------------------------------------------------------------------------------------------------ two arrays


@operation(sample("real(a,b)", "real(b,c)", dim="b"), sample("real(a,b)", "real(a,b)"), sample("missing(a,b)", "real(a,b)", dim="b", ddof=0),
           sample("complex(a,b)", "complex(b)", dim="b"))
@in_single
def cov(x: DimArray, y: DimArray, dim: Any = None, *, ddof: float = 1, weights: Any = None) -> DimArray:
    """Covariance of two arrays over dims.

    Parameters
    ----------
    x, y : DimArray
        Cells that are NaN in either take no part, with gradient 0. Dims of one of them alone are paired with each other:
        ``cov(x, x.rename(channel="channel2"), "time")`` is the covariance matrix.
    dim : name or names, optional
        Dims to reduce; all by default.
    ddof : float
        Delta degrees of freedom: 1 as in xarray, for the unbiased estimate.
    weights : DimArray, optional
        Met by name; they weigh the cells of the sum, whose mean is then corrected for ``ddof`` as xarray does.

    Returns
    -------
    DimArray
        ``sum(conj(x - mean(x)) * (y - mean(y))) / (n - ddof)``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    As :func:`xarray.cov`; on positional arrays :func:`numpy.cov` gives the matrix of the rows.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 3.0], ("t",))
    >>> ng.cov(x, 2 * x).item()
    2.0
    """
    return _in_order(_covariance(*_pair(x, y, dim, "cov"), number(ddof, "cov: ddof"), weights), x, y)


@operation(sample("real(a,b)", "real(b,c)", dim="b"), sample("real(a,b)", "real(a,b)"), sample("missing(a,b)", "real(a,b)", dim="b"))
@in_single
def corr(x: DimArray, y: DimArray, dim: Any = None, *, weights: Any = None) -> DimArray:
    """Pearson's correlation coefficient of two arrays over dims.

    Parameters
    ----------
    x, y : DimArray
        Cells that are NaN in either take no part, with gradient 0.
    dim : name or names, optional
        Dims to reduce; all by default.
    weights : DimArray, optional
        Met by name.

    Returns
    -------
    DimArray
        ``cov(x, y) / (std(x) * std(y))``; NaN where one of them is constant.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    As :func:`xarray.corr`; on positional arrays :func:`numpy.corrcoef` gives the matrix of the rows. Arrays whose squares
    would overflow or vanish are scaled first (not on dask and CuPy).

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 3.0], ("t",))
    >>> ng.corr(x, -x).item().__round__(12)
    -1.0
    """
    first, second, dims, mask = _pair(x, y, dim, "corr")
    with np.errstate(over="ignore", invalid="ignore"):
        product, *lengths = _moments(first, second, dims, mask, weights)
        out = _in_order(ratio(product, multiply(*lengths)), first, second)
    both = [(s, a) for s, a in zip(lengths, (first, second), strict=True) if a.dtype.kind in "fc"]
    if not all(count_of(a, a.names) for a in (first, second)) or not both:
        return out

    def scaled() -> DimArray:
        scales = [size_of(a, tuple(d for d in dims if d in a.names), skipna=None) for a in (first, second)]
        product, *lengths = _moments(e.divide(first, scales[0]), e.divide(second, scales[1]), dims, mask, weights)
        return ratio(product, multiply(*lengths))

    return rescaled(out, both, 2, scaled)


def _moments(
    x: DimArray, y: DimArray, dims: Names, mask: DimArray | None, weights: Any
) -> tuple[DimArray, DimArray, DimArray]:
    """The covariance of two arrays, and their standard deviations."""
    if _is_plain(x, y, dims, mask, weights):
        off, n = [_off(a, dims) for a in (x, y)], c(_freedom(x, dims, 0))
        squares = [e.divide(contract(conj_if_complex(a), a, dims), n) for a in off]
        product = e.divide(contract(conj_if_complex(off[0]), off[1], dims), n)
    else:
        whole = [broadcast_like(a, b) if any(d not in a.names for d in dims) else a for a, b in ((x, y), (y, x))]
        squares = [_covariance(a, a, dims, mask, 0, weights) for a in whole]
        product = _covariance(x, y, dims, mask, 0, weights)
    first, second = (e.length(real(a)) for a in squares)
    return product, first, second


def _in_order(out: DimArray, x: DimArray, y: Any) -> DimArray:
    """Dims in the order in which the operands have them."""
    seen = axes.in_order((*x.names, *constant(y).names, *out.names))
    return reorder(out, tuple(n for n in seen if n in out.names))


def _pair(x: DimArray, y: Any, dim: Any, what: str) -> tuple[DimArray, DimArray, Names, DimArray | None]:
    """Both arrays, the dims to reduce, and the mask of the cells that are present in both."""
    x, y = constant(x), constant(y)
    every = tuple(dict.fromkeys((*x.dims, *y.dims)))
    chosen = every if dim is None or dim is Ellipsis else as_names(x, dim)
    dims = tuple(check(x if d in x.names else y, d, what) for d in chosen)
    axes.refuse_repeats(dims, f"{what}: ")
    masks = [m for m in (present(x, None), present(y, None)) if m is not None]
    mask = None if not masks else masks[0] if len(masks) == 1 else e.logical_and(*masks)
    return x, y, dims, mask


def _is_plain(x: DimArray, y: DimArray, dims: Names, mask: DimArray | None, weights: Any) -> bool:
    """Whether all cells take part alike, and none is met more than once."""
    return weights is None and mask is None and all(d in x.names and d in y.names for d in dims)


def _covariance(x: DimArray, y: DimArray, dims: Names, mask: DimArray | None, ddof: float, weights: Any) -> DimArray:
    if _is_plain(x, y, dims, mask, weights):
        first, second = (_off(a, dims) for a in (x, y))
        return e.divide(contract(conj_if_complex(first), second, dims), c(_freedom(x, dims, ddof)))
    return _weighted_covariance(x, y, dims, mask, ddof, weights)


def _freedom(x: DimArray, dims: Names, ddof: float) -> float:
    """What sums of squares are divided by; of nothing there is no variance."""
    n = count_of(x, dims)
    return n - ddof if n else math.nan


def _weighted_covariance(
    x: DimArray, y: DimArray, dims: Names, mask: DimArray | None, ddof: float, weights: Any
) -> DimArray:
    """Means over the cells that take part, as :func:`xarray.cov` forms them."""
    x = broadcast_like(x, y)
    y = broadcast_like(y, x)
    kind = np.dtype(real_dtype(x))
    one = make_like(zeros_spread(x, like(x)._replace(dtype=kind), 1), x) if mask is None else cast(mask, kind)
    w = one if weights is None else multiply(one, constant(weights))
    n, whole = total(broadcast_like(one, x), dims), total(broadcast_like(w, x), dims)

    def centred(a: DimArray) -> DimArray:
        a = a if mask is None else select(mask, a)
        return multiply(one, subtract(a, ratio(total(multiply(w, a), dims), whole)))

    first, second = conj_if_complex(centred(x)), centred(y)
    mean = ratio(total(multiply(w, multiply(first, second)), dims), whole)
    return multiply(mean, ratio(n, subtract(n, c(ddof))))
