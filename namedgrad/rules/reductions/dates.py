"""Means of dates and of spans of time, which are whole numbers of their unit."""

from __future__ import annotations

from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.rules import elementwise as e
from namedgrad.rules.elementwise import c
from namedgrad.rules.reductions.common import count_of, counts, divide_counted
from namedgrad.rules.reductions.extremes import largest
from namedgrad.rules.structure import add, cast, counted, missing, not_nan, select, subtract, total, where


def mean_of_dates(x: DimArray, dims: Names, skipna: bool | None) -> DimArray:
    """Their mean, rounded down to their unit; as in xarray NaT takes no part by default."""
    if not dims:
        return x
    mask = not_nan(x)
    n = counts(mask, dims, "int64")
    some = e.greater_equal(n, c(count_of(x, dims) if skipna is False else 1))
    ticks = cast(x, "int64")  # NaT is the lowest of all
    last = largest(ticks, dims)  # doubles hold differences from it, but not nanoseconds since 1970
    middle = divide_counted(total(select(mask, cast(subtract(ticks, last), "float64")), dims), n)
    found = add(cast(e.floor(where(some, middle, c(0.0))), "int64"), last)
    out = where(some, cast(found, x.dtype), missing(x))
    return as_smooth(out, divide_counted(total(select(mask, counted(x)), dims), n)) if x.level else out


def as_smooth(out: DimArray, ticks: DimArray) -> DimArray:
    """What is rounded to whole ticks, with the derivative of what is not."""
    return _AS_SMOOTH(ticks, out)


_AS_SMOOTH = e.ordered("known_part", (0,), 1, None)
