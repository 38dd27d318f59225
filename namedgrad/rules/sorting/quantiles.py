"""Median and quantiles: cells of one or two ranks; cells that tie with one of them share its derivative equally."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent, make, named
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, Primitive, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import new_name, pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.joining import join
from namedgrad.rules.movement.stacking import merge
from namedgrad.rules.reductions.common import counts, present, restore
from namedgrad.rules.reductions.extremes import max, pulled_ties, pushed_ties, shared_ties
from namedgrad.rules.reductions.places import all
from namedgrad.rules.scans.sums import cumsum
from namedgrad.rules.sorting.order import argsort_of, sort_axis
from namedgrad.rules.structure import (
    add,
    cast,
    constant_like,
    equal,
    if_likely,
    isfinite,
    logical_not,
    missing,
    multiply,
    not_equal,
    relabel,
    reorder,
    subtract,
    total,
    where,
)
from namedgrad.squares import Length, near
from namedgrad.trace import apply, innermost

Mix = Callable[[DimArray, DimArray, DimArray], DimArray]
LINE = axes.fresh("order")
SIDE = axes.fresh("side")


class _Ranked(Primitive):
    """The cells of given ranks along one axis, which goes; the axes of the ranks come."""

    form, signature = "core", "(n),()->()"

    def lower(self, args: Sequence[DimArray], dim: Name) -> DimArray:
        x, k = args
        apart = set(k.names).isdisjoint(x.names) and k.hidden <= x.hidden
        if not (apart and backends.backend_of(x.raw).may_branch):
            return gather(sort_axis(x, dim), {dim: k})
        at = x.names.index(dim)
        raw = call(backends.backend_of(x.raw).at_ranks, x.raw, k.raw, at)
        return make(raw, (*x.names[:at], *k.names, *x.names[at + 1 :]), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name) -> Map:
        frame: dict[Name, Name] = {dim: axes.core(-1)}
        x, y = relabel(ins[0], frame), out
        return LinearCore(
            lambda ts: pushed_ties(ts[0], *shared_ties(y, x)),
            lambda g: pulled_ties(g, *shared_ties(y, x)),
            [like(ins[0])],
            [frame],
            {},
        )


_RANKED = _Ranked("ranked")


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="a"), sample("missing(a,b)", dim="b"), sample("real(a,b)"), method=True)
def median(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Middle value over dims, the mean of the two middle ones of an even number.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

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
    The derivative goes to the middle cells; cells that tie with one of them share it equally.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.median(ng.DimArray([3.0, 1.0, 2.0], ("x",))).item()
    2.0
    """
    dims = pick(x, dim, "median")
    return restore(_quantile(x, dims, c(0.5), skipna, "linear", _middle), x, dims, keepdims) if dims else x


@operation(sample("real(a,b)", q=0.3, dim="b"), sample("missing(a,b)", q=0.8, dim="a"), sample("real(a,b)", q=[0.1, 0.9], dim="b"),
           method=True)
def quantile(x: DimArray, q: Any, dim: Any = None, *, method: str = "linear", skipna: bool | None = None,
             interpolation: str | None = None, keepdims: bool = False) -> DimArray:
    """The ``q``-th quantile over dims.

    Parameters
    ----------
    x : DimArray
    q : float, sequence of floats or DimArray
        Between 0 and 1; they may be differentiated. Several give a dim ``"quantile"``, in front; a DimArray gives its own dims.
    dim : name or names, optional
        Dims to reduce; all by default.
    method : str
        One of NumPy's methods, see :func:`numpy.quantile`.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    interpolation : str, optional
        The name that ``method`` had before; it warns, as in xarray.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If ``q`` is not between 0 and 1, or the method is unknown.

    Notes
    -----
    Hyndman, R. J. & Fan, Y. (1996), *Sample quantiles in statistical packages*, The American Statistician 50, 361. The derivative
    goes to the one or two cells that the quantile is made of; cells that tie with one of them share it equally.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.quantile(ng.DimArray([3.0, 1.0, 2.0], ("x",)), [0.0, 0.25]).data
    array([1. , 1.5])
    """
    method = method if interpolation is None else _method_called_before(method, interpolation)
    at, names = levels(x, q)
    return quantiles(x, at, names, pick(x, dim, "quantile"), method, skipna=skipna, keepdims=keepdims)


def _method_called_before(method: str, interpolation: str) -> str:
    warnings.warn("quantile: interpolation= is called method= now", FutureWarning, stacklevel=3)
    if method != "linear":
        raise TypeError(f"quantile: give method={method!r} or interpolation={interpolation!r}, not both")
    return interpolation


def levels(x: DimArray, q: Any) -> tuple[Any, Names]:
    """What quantiles of ``x`` are asked for, of which some may be differentiated, and their dims."""
    several = [named(p) for p in q] if isinstance(q, (list, tuple)) else []
    q = join([constant(p) for p in several], "quantile") if any(isinstance(p, DimArray) for p in several) else named(q)
    names: Names = q.dims if isinstance(q, DimArray) else ("quantile",) if np.ndim(q) else ()
    for name in names:
        new_name(x, name, "quantile")
    return q, names


def as_levels(x: DimArray, q: Any, names: Names) -> DimArray:
    """Quantiles as an array with axes ``names``, which are between 0 and 1."""
    if isinstance(q, DimArray):
        at, known = q, innermost(q).raw
    else:
        known = np.asarray(q, dtype=float)
        at = constant_like(known, x, names) if names else c(float(known))
    if backends.may_look(known) and np.size(known) and not (np.min(known) >= 0 and np.max(known) <= 1):
        raise ValueError(f"quantile: q={q!r} must be between 0 and 1")
    return at


def quantiles(
    x: DimArray, q: Any, names: Names, dims: Names, method: str, *, skipna: bool | None, keepdims: bool,
    weights: DimArray | None = None,
) -> DimArray:  # fmt: skip
    """Quantiles ``q``, an array with axes ``names``, which come first; a DimArray may be differentiated, too."""
    at = as_levels(x, q, names)
    found = _quantile(x, dims, at, skipna, method) if weights is None else _weighted(x, dims, at, skipna, weights)
    out = restore(found, x, dims, keepdims)
    return reorder(out, (*out.vectorized, *names, *(n for n in out.dims if n not in names)))


def _quantile(
    x: DimArray, dims: Names, q: DimArray, skipna: bool | None, method: str, mix: Mix | None = None
) -> DimArray:  # fmt: skip
    if not dims:  # one cell is its own quantile
        return add(multiply(cast(q, real_dtype(x)), c(0)), x)
    name: Name = LINE if len(dims) > 1 else dims[0]
    line = merge(x, dims, name) if len(dims) > 1 else x
    if not extent(line, name):
        nothing = add(multiply(cast(q, real_dtype(x)), c(0)), total(line, (name,)))
        return add(nothing, c(math.nan))
    mask = present(line, skipna)

    def of(n: DimArray) -> DimArray:
        return _of_first(line, name, ranks(n, q, method), mix)

    every = c(extent(line, name))
    if mask is not None:
        n = counts(mask, (name,), "int64")
        return if_likely(all(mask, name), lambda: of(every), lambda: where(e.greater(n, c(0)), of(n), c(math.nan)))
    out, dates = of(every), x.dtype.kind in "mM"  # of which NaT counts, as in xarray
    there = equal(line, line) if dates else present(line, None) if skipna is False else None
    if there is None:
        return out
    return where(all(there, name), out, missing(out) if dates else max(line, name, skipna=False))


def _of_first(line: DimArray, name: Name, ranks: tuple[DimArray, DimArray, DimArray], mix: Mix | None) -> DimArray:
    """What lies between two ranks of cells, of which those that are missing come last."""
    low, high, weight = ranks
    parts: Sequence[DimArray]  # of an odd number of cells one, in half of the time: the other would have no weight
    parts = (_at_rank(line, low, name),) if _is_zero(weight) else _both(line, low, high, name)
    if line.dtype.kind in "biu":  # the difference of two may not fit into their dtype
        parts = [cast(y, real_dtype(line)) for y in parts]
    between = _from_nearer if line.dtype.kind in "mM" else partial(_between, mix or _from_nearer)  # dates cannot be halved
    return parts[0] if len(parts) == 1 else between(parts[0], parts[1], cast(weight, real_dtype(line)))


def _weighted(x: DimArray, dims: Names, q: DimArray, skipna: bool | None, weights: DimArray) -> DimArray:
    """The first cell up to which the weights are at least that part of all; where one is 0 its cell is no part of a tie."""
    name: Name = LINE if len(dims) > 1 else dims[0]
    line, w = (merge(a, dims, name) if len(dims) > 1 else a for a in (x, cast(innermost(weights), "float64")))
    there = equal(innermost(line), innermost(line))
    own = w if skipna is False else where(there, w, c(0.0))
    _check_weights(own, there, name, skipna)
    used = e.logical_and(there, e.greater(w, c(0)))
    cells = where(used, line, c(math.nan))  # in order they are last
    order = argsort_of(innermost(cells), name)
    part = cumsum(gather(where(used, w, c(0.0)), {name: order}), (name,), skipna=False)
    whole = slice_of(part, name, -1)
    part = e.divide(part, where(e.greater(whole, c(0)), whole, c(1.0)))
    part = cast(part, q.dtype) if q.dtype.kind == "f" else part
    rank = total(cast(e.less(part, q), np.intp), (name,))
    out = _at_rank(cells, e.minimum(rank, c(extent(line, name) - 1)), name)
    return where(all(there, name), out, max(line, name, skipna=False)) if skipna is False else out


def _check_weights(w: DimArray, there: DimArray, name: Name, skipna: bool | None) -> None:
    if not backends.may_look(w.raw):
        return
    if (w.raw < 0).any():
        raise ValueError("Weights must be non-negative.")
    sums = total(w, (name,))
    sound = e.logical_and(isfinite(sums), e.greater(sums, c(0)))
    if skipna is not False:
        sound = e.logical_or(sound, all(logical_not(there), name))
    if not np.all(sound.raw):
        raise ValueError("Weights included NaN, inf or were all zero.")


def _between(mix: Mix, below: DimArray, above: DimArray, weight: DimArray) -> DimArray:
    """One cell where that is all, else what is infinite of the two where one is, whatever its weight."""
    whole = equal(below, above)
    if _all_finite(below) and _all_finite(above):
        return where(whole, below, mix(below, above, weight))
    finite = e.logical_and(isfinite(below), isfinite(above))
    low, high = where(finite, below, c(0.0)), where(finite, above, c(0.0))
    far = where(isfinite(below), above, where(isfinite(above), below, c(math.nan)))
    inside = mix(low, high, weight)  # of which a weight of 0 has a derivative, too
    one = where(equal(weight, c(0)), below, where(equal(weight, c(1)), above, far))
    return where(whole, below, where(finite, inside, one))


def _from_nearer(below: DimArray, above: DimArray, weight: DimArray) -> DimArray:
    """In NumPy's order, to the last bit: programs compare cells with a quantile that is one of them."""
    way = subtract(above, below)
    from_above = subtract(above, multiply(way, subtract(c(1.0), weight)))
    return where(e.less(weight, c(0.5)), add(below, multiply(way, weight)), from_above)


def _middle(below: DimArray, above: DimArray, weight: DimArray) -> DimArray:
    """Half of the sum, unless one cell is in the middle; two halves are rounded as the sum is, and cannot overflow."""
    return where(equal(weight, c(0)), below, add(multiply(c(0.5), below), multiply(c(0.5), above)))


def _is_zero(weight: DimArray) -> bool:
    """Whether the weight of the upper cell is one number that is 0, whatever takes part."""
    return weight.level is None and not weight.names and backends.may_look(weight.raw) and not weight.raw


def _all_finite(x: DimArray) -> bool:
    """Whether all cells are known to be finite."""
    raw = innermost(x).raw
    backend = backends.backend_of(raw)
    return backend.may_branch and not backends.is_recording() and backend.isfinite_all(np.asarray(raw))


def _both(x: DimArray, low: DimArray, high: DimArray, name: Name) -> tuple[DimArray, DimArray]:
    """The cells of two ranks, by one partition where the ranks are known."""
    if (low.names or high.names) or backends.backend_of(innermost(x).raw).may_branch:
        both = _at_rank(x, join([low, high], SIDE), name)
        return slice_of(both, SIDE, 0), slice_of(both, SIDE, 1)
    return _at_rank(x, low, name), _at_rank(x, high, name)


def _at_rank(x: DimArray, rank: DimArray, name: Name) -> DimArray:
    out: DimArray = apply(_RANKED, (x, rank), dim=name)
    if type(x) is not Length:
        return out
    cells = gather(x, {name: gather(argsort_of(innermost(x), name), {name: rank})})
    return near(out, cells.known) if type(cells) is Length else out  # the same, of which more is known


_CONTINUOUS = {
    "weibull": (0.0, 0.0), "hazen": (0.5, 0.5), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
_OF_STEPS = ("linear", "lower", "higher", "nearest", "midpoint")
_DISCRETE = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def ranks(n: DimArray, q: DimArray, method: str) -> tuple[DimArray, DimArray, DimArray]:
    """Ranks of the two cells that a quantile lies between, and the weight of the upper one.

    Hyndman, R. J. & Fan, Y. (1996), *Sample quantiles in statistical packages*, American Statistician 50, 361.
    """
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        at = subtract(add(multiply(n, q), add(c(alpha), multiply(q, c(1 - alpha - beta)))), c(1))
    elif method in _OF_STEPS:
        at = multiply(subtract(n, c(1)), q)
    elif method in _DISCRETE:
        at = subtract(multiply(n, q), c(1.5 if method == "closest_observation" else 1.0))
    else:
        raise ValueError(f"quantile: method {method!r} is not one of {', '.join((*_OF_STEPS, *_CONTINUOUS, *_DISCRETE))}")
    low = e.floor(at)
    part = subtract(at, low)
    weight = _WEIGHTS[method](part, low) if method in _WEIGHTS else part
    top = subtract(n, c(1))
    lower, upper = (
        cast(e.maximum(e.minimum(k, top), c(0)), np.intp) for k in (low, add(low, c(1)))
    )
    return lower, upper, weight


def _one_if(condition: DimArray) -> DimArray:
    return cast(condition, "float64")


# fmt: off
_WEIGHTS: dict[str, Callable[[DimArray, DimArray], DimArray]] = {
    "lower":                 lambda part, low: multiply(part, c(0.0)),
    "higher":                lambda part, low: _one_if(e.greater(part, c(0))),
    "midpoint":              lambda part, low: multiply(c(0.5), _one_if(e.greater(part, c(0)))),
    "nearest":               lambda part, low: subtract(e.rint(add(low, part)), low),
    "inverted_cdf":          lambda part, low: _one_if(e.greater(part, c(0))),
    "averaged_inverted_cdf": lambda part, low: where(e.greater(part, c(0)), c(1.0), c(0.5)),
    "closest_observation":   lambda part, low: _one_if(e.logical_or(e.greater(part, c(0)), not_equal(e.remainder(low, c(2)), c(1)))),
}
# fmt: on
