"""Sums, means, extremes and their like, with NumPy's ``axis``, ``dtype``, ``keepdims``, ``initial`` and ``where``."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.positional.axis import along, granted, named, names_of
from namedgrad.positional.broadcasting import meet, stretch
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import boxed, implements, kind_of, write_out
from namedgrad.positional.ufuncs import REDUCERS, SCANNERS, WRITERS
from namedgrad.rules import elementwise as e
from namedgrad.rules import reductions as r
from namedgrad.rules import scans
from namedgrad.rules.complex import conjugate, real
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.reductions.common import in_dtype, summed
from namedgrad.rules.structure import add, cast, equal, logical_not, multiply, not_equal, select, subtract, total, where

# ------------------------------------------------------------------------------------------------ what they share


def read(a: Any, axis: Any, dtype: Any = None) -> tuple[DimArray, Names]:
    """The operand in the dtype asked for, and the names of the axes."""
    x = in_dtype(numbered(a), dtype)
    return x, names_of(x, granted(x, axis))


def masked(x: DimArray, mask: Any, fill: float) -> DimArray:
    """``x`` with ``fill`` where ``where=`` leaves cells out: they take no part, their gradient is exactly 0."""
    if mask is True or mask is None:
        return x
    m, x = meet(numbered(mask, "where"), x)
    return select(m, x) if fill == 0 else where(m, x, c(fill))


def count(x: DimArray, mask: Any, names: Names, less: float = 0) -> DimArray:
    """How many cells take part, less ``ddof``: as in NumPy no fewer than none."""
    if mask is True or mask is None:
        return c(builtins.max(_cells(x, names) - less, 0))
    m, _ = meet(numbered(mask, "where"), x)
    rest = math.prod(x.sizes[n] for n in names if n not in m.names)
    some = total(cast(m, real_dtype(x)), tuple(n for n in names if n in m.names))
    return e.maximum(subtract(multiply(some, c(rest)), c(less)), c(0.0))


def _cells(x: DimArray, names: Names) -> int:
    """How many cells are reduced to one."""
    return math.prod(x.sizes[n] for n in names)


def kept(out: DimArray, x: DimArray, names: Names, keepdims: bool) -> DimArray:
    """Reduced axes put back with size 1."""
    return r.restore(out, x, names, keepdims)


# ------------------------------------------------------------------------------------------------ sums and means


@implements(np.sum, method=True)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    x, names = read(a, axis, dtype)
    y = kept(summed(r.sum(masked(x, where, 0), names, skipna=False), dtype), x, names, keepdims)
    return y if initial is None else add(y, _begun(initial, y))


@implements(np.prod, method=True)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    x, names = read(a, axis, dtype)
    y = kept(summed(r.prod(masked(x, where, 1), names, skipna=False), dtype), x, names, keepdims)
    return y if initial is None else multiply(y, _begun(initial, y))


@in_single
def _mean(x: DimArray, names: Names, mask: Any = True) -> DimArray:
    return e.divide(r.sum(masked(x, mask, 0), names, skipna=False), count(x, mask, names))


@implements(np.mean, method=True)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    x, names = read(a, axis, dtype)
    y = _mean(x, names, where) if dtype is None else cast(_mean(x, names, where), x.dtype)
    return kept(y, x, names, keepdims)


def _lost(ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@implements(np.var, method=True)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    ddof = _lost(ddof, correction)
    x, names = read(a, axis)
    if _all_alike(x, names, dtype, ddof, where, mean):
        y = r.var(in_dtype(x, dtype), names, skipna=False, ddof=ddof)
    else:
        y = _mean_square(x, names, dtype, ddof, where, mean)
    return kept(in_dtype(y, dtype), x, names, keepdims)


def _all_alike(x: DimArray, names: Names, dtype: Any, ddof: float, mask: Any, mean: Any) -> bool:
    """Whether a spread is that of all cells about their mean, in a dtype that these fit into."""
    fits = dtype is None or np.dtype(dtype).kind in ("c" if x.dtype.kind == "c" else "fc")
    return mask is True and mean is None and _cells(x, names) > ddof and fits


def _mean_square(x: DimArray, names: Names, dtype: Any, ddof: float, mask: Any, mean: Any) -> DimArray:
    """Of the distance from the mean; that and the sum are in the dtype asked for, cells in their own, as in NumPy."""
    kind = "float64" if dtype is None and x.dtype.kind in "biu" else dtype
    middle = in_dtype(_mean(in_dtype(x, kind), names, mask), kind) if mean is None else numbered(mean)
    off = masked(subtract(*meet(x, middle)), mask, 0)
    squares = real(multiply(off, conjugate(off))) if off.dtype.kind == "c" else e.square(off)
    return e.divide(summed(total(in_dtype(squares, kind), names), kind), count(x, mask, names, ddof))


@implements(np.std, method=True)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    ddof = _lost(ddof, correction)
    x, names = read(a, axis)
    if _all_alike(x, names, dtype, ddof, where, mean):
        y = kept(r.std(in_dtype(x, dtype), names, skipna=False, ddof=ddof), x, names, keepdims)
    else:
        square = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
        y = e.length(real(square) if square.dtype.kind == "c" else square)
    return in_dtype(y, dtype)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    x, names = read(a, axis)
    if weights is None:
        y, scale = _mean(x, names), c(float(_cells(x, names)))
    else:
        x = cast(x, "float64") if x.dtype.kind in "biu" else x
        w = numbered(weights)
        w = cast(w, np.result_type(w.dtype, x.dtype)) if w.dtype.kind in "biu" else w
        if w.shape != x.shape:  # one weight per cell of the axes that are averaged
            w = w if w.dims == names else _renamed(w, names)
        scale = r.sum(w, tuple(n for n in names if n in w.names), skipna=False)
        y = e.divide(r.sum(multiply(x, w), names, skipna=False), scale)
    y = kept(y, x, names, keepdims)
    if not returned:
        return y
    nothing = multiply(cast(e.isnan(y), y.dtype), c(0))  # 0 also where an average is not finite
    return y, add(cast(scale, y.dtype), nothing)


def _renamed(w: DimArray, names: Names) -> DimArray:
    if w.ndim != len(names):
        raise TypeError(f"the weights have shape {w.shape}; give one weight per cell, or one axis per axis averaged")
    return named(w, names)


# ------------------------------------------------------------------------------------------------ extremes


def _extreme(rule: Callable[..., DimArray], meets: Any, fill: float) -> Callable[..., Any]:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        x, names = read(a, axis)
        if where is not True and initial is None:
            raise ValueError(
                "reduction operation does not have an identity, so to use a where mask one has to specify 'initial'"
            )
        if initial is not None and not _cells(x, names):
            return _nothing(x, names, keepdims, numbered(initial))
        y = kept(rule(masked(x, where, _outermost(x, fill)), names, skipna=False), x, names, keepdims)
        return y if initial is None else meets(y, _begun(initial, y))

    return function


def _outermost(x: DimArray, fill: float) -> float:
    """What is never the extreme of other cells of this dtype."""
    if x.dtype.kind not in "biu":
        return fill
    if x.dtype.kind == "b":
        return fill > 0
    limits = np.iinfo(x.dtype)
    return limits.min if fill < 0 else limits.max


def _begun(initial: Any, y: DimArray) -> DimArray:
    """Where a reduction begins, in its dtype; not where that is differentiated, or complex alone."""
    v = numbered(initial)
    fits = v.level is None and (v.dtype.kind != "c" or y.dtype.kind == "c")
    return cast(v, y.dtype) if fits else v


def _nothing(x: DimArray, names: Names, keepdims: bool, initial: DimArray) -> DimArray:
    """The extreme of no cells is where it began."""
    sizes = [1 if n in names else s for n, s in x.sizes.items() if keepdims or n not in names]
    return stretch(cast(initial, np.result_type(x.dtype, initial.raw)) if initial.level is None else initial, sizes)


max = implements(np.max, np.amax, method=True)(_extreme(r.max, e.maximum, -math.inf))
min = implements(np.min, np.amin, method=True)(_extreme(r.min, e.minimum, math.inf))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    x, names = read(a, axis)
    return kept(subtract(r.max(x, names, skipna=False), r.min(x, names, skipna=False)), x, names, keepdims)


# ------------------------------------------------------------------------------------------------ without the NaN


def _filled(x: DimArray, value: float) -> DimArray:
    return where(equal(x, x), x, c(value)) if x.dtype.kind in "fc" else x


def _numbers(a: Any, dtype: Any, nothing: float) -> DimArray:
    """The operand; its NaN as ``nothing`` where a dtype is asked for in which they are numbers."""
    x = numbered(a)
    return x if dtype is None or np.dtype(dtype).kind in "fc" else _filled(x, nothing)


def _present(x: DimArray, mask: Any, nothing: float | None) -> DimArray:
    """``x`` with NaN where ``where=`` leaves cells out; sums of whole numbers stay whole, as in NumPy."""
    if x.dtype.kind not in "biu":
        return masked(x, mask, math.nan)
    return masked(cast(x, "float64"), mask, math.nan) if nothing is None else masked(x, mask, nothing)


def _there(x: DimArray, mask: Any) -> DimArray:
    """Which cells are not NaN, of those that ``where=`` says."""
    there = equal(x, x)
    return there if mask is True else e.logical_and(*meet(there, numbered(mask)))


def _nan(
    rule: Callable[..., DimArray], begin: Callable[..., DimArray] | None = None, nothing: float | None = None
) -> Callable[..., Any]:
    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        x, names = read(a if nothing is None else _numbers(a, dtype, nothing), axis, dtype)
        if where is not True:
            x = _present(x, where, nothing)
        skip = nothing is None or x.dtype.kind != "m"  # NaT is left out of extremes alone, as in NumPy
        y = rule(x, names, skipna=skip) if names or nothing is None else _filled(x, nothing)
        y = kept(y if begin is None else summed(y, dtype), x, names, keepdims)
        return y if initial is None or begin is None else begin(y, _begun(initial, y))

    return function


def _nan_extreme(rule: Callable[..., DimArray], plain: Callable[..., Any]) -> Callable[..., Any]:
    both = _nan(rule)

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        if initial is None:
            return both(a, axis, None, None, keepdims, None, where)
        x = numbered(a)
        return plain(x, axis, None, keepdims, initial, _there(x, where))

    return function


nansum = implements(np.nansum)(_nan(r.sum, add, 0))
nanprod = implements(np.nanprod)(_nan(r.prod, multiply, 1))
nanmax = implements(np.nanmax)(_nan_extreme(r.max, max))
nanmin = implements(np.nanmin)(_nan_extreme(r.min, min))


def _may_be_nan(a: Any, dtype: Any) -> bool:
    """Whether NaN has to be left out, which no dtype of whole numbers shows, as NumPy says, too."""
    inexact = numbered(a).dtype.kind in "fc"
    if inexact and dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError(f"NaN is no {np.dtype(dtype)}; give a dtype of real or complex numbers, and cast the result")
    return inexact


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    kind = _nan(r.mean) if _may_be_nan(a, dtype) else mean
    return kind(a, axis, dtype, None, keepdims, where=where)


def _about(
    plain: Callable[..., DimArray], a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, cells: Any, mean: Any
) -> DimArray:
    """The spread about a mean that is given, or in a real dtype of complex cells, of those that are not NaN."""
    narrow = None if dtype is None or np.dtype(dtype).kind == "c" or numbered(a).dtype.kind != "c" else dtype
    x, names = read(a, axis, None if narrow else dtype)
    mask = _there(x, cells)
    y = plain(x, axis, narrow, None, ddof, keepdims, where=mask, mean=mean)
    y = cast(y, real_dtype(x))  # whatever that of the mean is
    free = kept(count(x, mask, names, ddof), x, names, keepdims)
    return where(e.greater(free, c(0)), y, c(math.nan))


def _nan_spread(rule: Callable[..., DimArray], plain: Callable[..., DimArray]) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: float | None = None,
    ) -> Any:
        less = ddof if correction is None else correction
        if not _may_be_nan(a, dtype):
            return plain(a, axis, dtype, None, less, keepdims, where=where, mean=mean)
        if mean is not None or (dtype is not None and np.dtype(dtype).kind != "c" == numbered(a).dtype.kind):
            return _about(plain, a, axis, dtype, less, keepdims, where, mean)
        kind = _nan(lambda x, names, skipna: rule(x, names, skipna=True, ddof=less))
        return in_dtype(kind(a, axis, dtype, None, keepdims, None, where), dtype)

    return function


nanvar = implements(np.nanvar)(_nan_spread(r.var, var))
nanstd = implements(np.nanstd)(_nan_spread(r.std, std))


# ------------------------------------------------------------------------------------------------ scans


def _scan(rule: Callable[..., DimArray], nothing: float | None = None) -> Callable[..., Any]:
    def function(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        x = numbered(a) if nothing is None else _numbers(a, dtype, nothing)
        x, name = along(x, granted(x, axis))
        return in_dtype(rule(in_dtype(x, dtype), (name,), skipna=nothing is not None and x.dtype.kind in "fc"), dtype)

    return function


cumsum = implements(np.cumsum, method=True)(_scan(scans.cumsum))
cumprod = implements(np.cumprod, method=True)(_scan(scans.cumprod))
nancumsum = implements(np.nancumsum)(_scan(scans.cumsum, 0))
nancumprod = implements(np.nancumprod)(_scan(scans.cumprod, 1))


def _cumulative(rule: Callable[..., DimArray], start: float) -> Callable[..., Any]:
    def function(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        from namedgrad.rules.movement import pad

        v = numbered(x)
        if axis is None and v.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        y, name = along(v if dtype is None else cast(v, np.dtype(dtype)), granted(v, axis))
        y = rule(y, (name,), skipna=False)
        to = y.dtype if dtype is None else np.dtype(dtype)
        return cast(pad(y, {name: (1, 0)}, constant_values=start) if include_initial else y, to)

    return function


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    implements(np.cumulative_sum)(_cumulative(scans.cumsum, 0))
    implements(np.cumulative_prod)(_cumulative(scans.cumprod, 1))


# ------------------------------------------------------------------------------------------------ truth and places


def _truth(rule: Callable[..., DimArray], neutral: bool) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
        x, names = read(a, axis)
        x = not_equal(x, c(0)) if x.dtype.kind != "b" else x
        if where is not True:
            m, x = meet(numbered(where, "where"), x)
            x = e.logical_or(x, logical_not(m)) if neutral else e.logical_and(x, m)
        return kept(rule(x, names), x, names, keepdims)

    return function


all = implements(np.all, method=True)(_truth(r.all, neutral=True))
any = implements(np.any, method=True)(_truth(r.any, neutral=False))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x, names = read(a, axis)
    return kept(r.counts(not_equal(x, c(0)), names, np.intp), x, names, keepdims)


def _place(rule: Callable[..., DimArray], fill: float | None) -> Callable[..., Any]:
    def function(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        x, names = read(a, axis)
        if fill is not None and x.dtype.kind in "fc":
            gone = e.isnan(x)
            _refuse_empty(r.all(gone, names))
            x = where(gone, c(fill), x)
        return kept(rule(x, names, skipna=False), x, names, keepdims)

    return function


def _refuse_empty(gone: DimArray) -> None:
    from namedgrad import backends

    if backends.may_look(gone.raw) and np.any(gone.raw):
        raise ValueError("All-NaN slice encountered")


argmax = implements(np.argmax, method=True)(_place(r.argmax, None))
argmin = implements(np.argmin, method=True)(_place(r.argmin, None))
nanargmax = implements(np.nanargmax)(_place(r.argmax, -math.inf))
nanargmin = implements(np.nanargmin)(_place(r.argmin, math.inf))


def put_out(ufunc: Any, out: Any, result: Any) -> Any:
    """A result, in ``out`` if there is one."""
    return result if out is None else write_out(ufunc, out, result)


def _folded(ufunc: Any, rule: Callable[..., DimArray], empty: float) -> Callable[..., Any]:
    """``ufunc.reduce`` by a reduction; cells of ``empty`` leave the others as they are."""

    def function(
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        own = numbered(a).dtype
        x, names = read(a, axis, ufunc.resolve_dtypes((own, own, None))[0] if dtype is None else dtype)
        result = boxed(kept(rule(masked(x, where, empty), names), x, names, keepdims), kind_of((a,)))
        return put_out(ufunc, out, result if initial is None else ufunc(result, initial))

    return function


def _in_dtype(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """``ufunc.reduce``, which takes a dtype, by a function that takes none."""

    def function(a: Any, *, dtype: Any = None, **options: Any) -> Any:
        return reduction(a if dtype is None else a.astype(dtype), **options)

    return function


REDUCERS.update({
    np.add: np.sum, np.multiply: np.prod, np.maximum: _in_dtype(np.max), np.minimum: _in_dtype(np.min),
    np.logical_and: np.all, np.logical_or: np.any,
})  # fmt: skip
_FOLDS: list[tuple[Any, Callable[..., DimArray], float]] = [
    (np.logaddexp, r.logsumexp, -math.inf),
    (np.hypot, r.norm, 0.0),
    (np.fmax, r.max, math.nan),
    (np.fmin, r.min, math.nan),
]
REDUCERS.update({fold[0]: _folded(*fold) for fold in _FOLDS})
SCANNERS.update({np.add: np.cumsum, np.multiply: np.cumprod})
WRITERS.update({
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.divide: "divide", np.power: "power",
    np.maximum: "max", np.minimum: "min",
})  # fmt: skip
