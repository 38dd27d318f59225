"""Scans along a dim: running sums, products, extremes, integrals, and what fills gaps."""

from namedgrad.rules.reductions.absent import without_nan
from namedgrad.rules.scans.extremes import cummax, cummin
from namedgrad.rules.scans.filling import bfill, ffill
from namedgrad.rules.scans.integrals import cumulative_trapezoid, trapezoid
from namedgrad.rules.scans.products import cumprod
from namedgrad.rules.scans.recurrence import recurrence
from namedgrad.rules.scans.sums import cumsum

without_nan(cumsum, "[2.0, 2.0, 5.0]", ', "x"')
without_nan(cumprod, "[2.0, 2.0, 6.0]", ', "x"')

__all__ = [
    "bfill",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "ffill",
    "recurrence",
    "trapezoid",
]
