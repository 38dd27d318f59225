"""What reductions share: which cells take part, how many, and the reduced dims put back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import Names
from namedgrad.primitive import reduction
from namedgrad.rules import elementwise as e
from namedgrad.rules.dtypes import real_dtype, widened
from namedgrad.rules.elementwise import c
from namedgrad.rules.singleton import refit
from namedgrad.rules.structure import cast, not_equal, not_nan, reorder, select, total, where
from namedgrad.trace import innermost


def count_of(x: DimArray, dims: Names) -> int:
    """Number of cells that a reduction over dims joins."""
    return math.prod(extent(x, d) for d in dims)


def refuse_empty(x: DimArray, dims: Names, what: str) -> None:
    """Raise where a reduction that needs a cell would find none."""
    if 0 in x.full_shape:
        for dim in dims:
            if extent(x, dim) == 0:
                raise ValueError(
                    f"{what}: {describe(x)} has no cells along {dim!r}, and {what} of none has no value; "
                    "leave such arrays out, or pad them by a cell with the value that it is to have"
                )


def restore(out: DimArray, x: DimArray, dims: Names, keepdims: bool) -> DimArray:
    """Put reduced dims back with size 1, in the place they had."""
    return refit(out, (), x.names, {}) if keepdims and dims else out


_count_true = reduction("count_true")


def present(x: DimArray, skipna: bool | None) -> DimArray | None:
    """Mask of the cells that are not NaN, or None if all take part."""
    if skipna is False or x.dtype.kind not in "fc":
        return None
    raw = innermost(x).raw
    backend = backends.backend_of(raw)
    if backend.may_branch and not backends.is_recording() and not backend.shows_nan(raw) and backend.isfinite_all(raw):
        return None
    return not_nan(x)


def over_all(
    x: DimArray, skipna: bool | None, reduce: Callable[[], DimArray], telling: Callable[[DimArray], DimArray] | None = None
) -> DimArray | None:
    """``reduce()`` if it may take all cells, or has shown that it may; None if it has to leave some out.

    It must give NaN where a NaN takes part: then it is tried, unless a NaN is met at once, and right if there is none
    in the result, or in the part of it that is ``telling``.  That is one pass less over the cells than looking for NaN.
    NaT is left out if that is asked for.
    """
    if skipna is False or x.dtype.kind not in "fc":
        return None if skipna and x.dtype.kind in "mM" else reduce()
    raw = innermost(x).raw
    backend = backends.backend_of(raw)
    if not backend.may_branch or backends.is_recording() or backend.shows_nan(raw):
        return None
    out = reduce()
    result = innermost(out)  # which may be elsewhere, where other operands are
    looked_at = backends.backend_of(result.raw).may_branch
    return out if looked_at and not has_nan(result if telling is None else telling(result)) else None


def over_present(
    x: DimArray,
    skipna: bool | None,
    reduce: Callable[[DimArray | None], DimArray],
    telling: Callable[[DimArray], DimArray] | None = None,
) -> tuple[DimArray, DimArray | None]:
    """``reduce(mask)`` of the cells that are present, and the mask; None stands for all of them, see :func:`over_all`."""
    out = over_all(x, skipna, lambda: reduce(None), telling)
    if out is not None:
        return out, None
    mask = not_nan(x)
    return reduce(mask), mask


def has_nan(x: DimArray) -> bool:
    """Whether there is a NaN; only where values may be looked at."""
    raw = innermost(x).raw
    return bool(backends.backend_of(raw).has_nan(raw))


def may_have_nan(x: DimArray) -> bool:
    """Whether there is a NaN, or nobody may look."""
    return backends.is_recording() or not backends.backend_of(innermost(x).raw).may_branch or has_nan(x)


def counts(mask: DimArray, dims: Names, dtype: Any) -> DimArray:
    """Number of true cells."""
    return cast(_count_true(mask, dims), dtype) if dims else cast(mask, dtype)


def if_enough(out: DimArray, x: DimArray, dims: Names, mask: DimArray | None, skipna: bool | None, least: int | None) -> DimArray:
    """NaN where fewer cells than ``least`` take part; as in xarray, only where NaN is left out."""
    if not least or skipna is False or x.dtype.kind not in "fc":
        return out
    here = c(count_of(x, dims) >= least) if mask is None else e.greater_equal(counts(mask, dims, "int64"), c(least))
    return where(here, out, c(math.nan))


def in_dtype(x: DimArray, dtype: Any) -> DimArray:
    """``x`` in the dtype asked for; durations stay durations, as in NumPy."""
    if dtype is None or (x.dtype.kind == "m" and np.dtype(dtype).kind != "m"):
        return x
    return cast(x, np.dtype(dtype))


def asked_in(x: DimArray, dtype: Any, skipna: bool | None, absent: float | None = None) -> DimArray:
    """What is reduced in the dtype asked for; of one that has no NaN, ``absent`` stands for those to be left out."""
    if dtype is not None and skipna is not False and x.dtype.kind in "fc" and np.dtype(dtype).kind in "biu":
        if absent is None:  # as in xarray
            raise TypeError(f"dtype={np.dtype(dtype)} has no NaN, for {x.dtype}; with skipna=False it is done in it")
        x = where(not_nan(x), x, c(absent))
    return in_dtype(x, dtype)


def summed(y: DimArray, dtype: Any) -> DimArray:
    """A sum, also over no dims, in the dtype asked for, in which small integers wrap around as NumPy's do."""
    return widened(y) if dtype is None else in_dtype(y, dtype)


def divide_counted(x: DimArray, n: DimArray) -> DimArray:
    """``x / n``; NaN, with gradient 0, where nothing was counted."""
    some = e.greater(n, c(0))
    return where(some, e.divide(x, where(some, n, c(1))), c(math.nan))


def ratio(x: DimArray, n: DimArray) -> DimArray:
    """``x / n``; NaN, with gradient 0, where ``n`` is 0."""
    some = not_equal(n, c(0))
    out = e.divide(x, where(some, n, c(1)))
    return reorder(where(some, out, c(math.nan)), out.names)


def mean_of(x: DimArray, dims: Names, mask: DimArray | None) -> DimArray:
    """Mean of the cells that are present; integers, of which a sum may leave their range, are doubles first."""
    x = x if x.dtype.kind in "fc" else cast(x, "float64")
    if mask is None:
        return e.divide(total(x, dims), c(count_of(x, dims)))
    return divide_counted(total(select(mask, x), dims), counts(mask, dims, real_dtype(x)))
