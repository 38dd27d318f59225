"""What NumPy's functions do on the cells that a mask chooses in a number that is left open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.positional.uncounted import FUNCTIONS, UncountedCells
from namedgrad.rules.reductions import all as all_of
from namedgrad.rules.reductions import any as any_of


def _over(func: Any) -> Callable[..., Any]:
    """A reduction that takes the mask as ``where=``."""

    def function(v: UncountedCells, axis: Any = None, *args: Any, where: Any = True, **options: Any) -> Any:
        if options.get("keepdims") and v.mask.ndim > 1:
            raise v.refused("keepdims=")
        of = v.counted() if where is True else np.logical_and(v.counted(), v.beside(where))
        return func(v.cells, v.axes_of(axis, f"np.{func.__name__}"), *args, where=of, **options)

    return function


def _extreme(func: Any, end: str) -> Callable[..., Any]:
    """An extreme, which of no cells is an error where that may be seen, else NaN."""
    over = _over(func)

    def function(v: UncountedCells, axis: Any = None, **options: Any) -> Any:
        if "initial" in options or "where" in options:
            return over(v, axis, **options)
        some = all_of(any_of(v.mask._x).devectorize())
        looked = backends.may_look(some.raw)
        if looked and not some:
            raise ValueError(f"np.{func.__name__}: in one of the slices the mask chooses no cells; give initial=")
        if v.dtype.kind not in ("biuf" if looked else "f"):
            raise v.refused(f"np.{func.__name__} of {v.dtype} without initial=")
        found = over(v, axis, initial=_outermost(v.dtype, end), **options)
        return found if looked else np.where(np.any(v.mask), found, np.nan)

    return function


def _outermost(dtype: np.dtype[Any], end: str) -> Any:
    """The number of a dtype that no cell lies beyond, at the end ``"min"`` or ``"max"``."""
    if dtype.kind == "f":
        return np.inf if end == "max" else -np.inf
    return end == "max" if dtype.kind == "b" else getattr(np.iinfo(dtype), end)


def _quantile(func: Any, of_others: Any) -> Callable[..., Any]:
    """A quantile by its like that leaves NaN out, which those cells get that are not chosen."""

    def function(v: UncountedCells, q: Any, axis: Any = None, **options: Any) -> Any:
        return _others(v, f"np.{func.__name__}", axis, lambda a, axis: of_others(a, q, axis=axis, **options))

    return function


def _median(v: UncountedCells, axis: Any = None, **options: Any) -> Any:
    return _others(v, "np.median", axis, lambda a, axis: np.nanmedian(a, axis, **options))


def _others(v: UncountedCells, what: str, axis: Any, of_others: Callable[[Any, Any], Any]) -> Any:
    axis = v.axes_of(axis, what)
    missing = np.any(np.isnan(v.cells), axis=axis, where=v.counted())
    return np.where(missing, np.nan, of_others(v.filled(np.nan), axis))


def _product(func: Any) -> Callable[..., Any]:
    """A product that sums over the uncounted cells of two arrays, or over what each cell of one has."""

    def function(v: UncountedCells, w: Any) -> Any:
        if isinstance(w, UncountedCells):
            if v.ndim == w.ndim == 1:
                return np.sum(v * w)
        elif not np.ndim(w):
            return v.done(func, v, w)
        elif v.ndim > 1 and np.ndim(w) < 3:
            return UncountedCells(func(v.filled(0), w), v.mask)
        raise v.refused(f"np.{func.__name__}")

    return function


def _vdot(v: UncountedCells, w: Any) -> Any:
    if not isinstance(w, UncountedCells):
        raise v.refused("np.vdot")
    return np.sum(np.conj(v) * w)


def _average(v: Any, axis: Any = None, weights: Any = None, returned: bool = False, **options: Any) -> Any:
    weights = (1.0 if weights is None else weights) * np.ones_like(v)
    total = np.sum(weights, axis, **options)
    found = np.sum(v * weights, axis, **options) / total
    return (found, total) if returned else found


def _size(v: UncountedCells, axis: Any = None) -> Any:
    return np.sum(v.counted() if v.axes_of(axis, "np.size") is None else v.mask)


def _nan_to_num(v: UncountedCells, copy: bool = True, **options: Any) -> Any:
    return v.done(np.nan_to_num, v, **options, out=None if copy else v)


FUNCTIONS.update({
    np.sum: _over(np.sum), np.prod: _over(np.prod), np.mean: _over(np.mean), np.var: _over(np.var),
    np.std: _over(np.std), np.any: _over(np.any), np.all: _over(np.all), np.nansum: _over(np.nansum),
    np.nanmean: _over(np.nanmean),
    np.max: _extreme(np.max, "min"), np.min: _extreme(np.min, "max"),
    np.amax: _extreme(np.max, "min"), np.amin: _extreme(np.min, "max"),
    np.ptp: lambda v, axis=None: np.max(v, axis) - np.min(v, axis),
    np.median: _median, np.quantile: _quantile(np.quantile, np.nanquantile),
    np.percentile: _quantile(np.percentile, np.nanpercentile),
    np.count_nonzero: lambda v, axis=None, **options: np.sum(v != 0, axis, **options),
    np.average: _average, np.dot: _product(np.dot), np.inner: _product(np.inner), np.matmul: _product(np.matmul),
    np.vdot: _vdot, np.nan_to_num: _nan_to_num,
    np.real: lambda v: v.done(np.real, v) if v.dtype.kind == "c" else v,  # a view, as NumPy's
    np.size: _size, np.ndim: lambda v: v.ndim,
})  # fmt: skip
