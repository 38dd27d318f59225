"""Reductions by named dims, with xarray's ``skipna``, ``min_count``, ``ddof`` and ``keepdims``.

Missing values: with ``skipna`` (the default for floats, as in xarray) a NaN cell takes no part, so its gradient is
exactly 0; an all-NaN slice gives xarray's value and zero gradients.
"""

from namedgrad.rules.reductions.absent import without_nan
from namedgrad.rules.reductions.common import count_of, counts, present, restore
from namedgrad.rules.reductions.exponentials import logsumexp
from namedgrad.rules.reductions.extremes import max, min, ptp
from namedgrad.rules.reductions.moments import corr, cov, std, var
from namedgrad.rules.reductions.norms import dist, norm, renorm, vector_norm
from namedgrad.rules.reductions.places import all, any, argmax, argmin, idxmax, idxmin
from namedgrad.rules.reductions.products import prod
from namedgrad.rules.reductions.sums import average, count, count_nonzero, mean, sum

for _function, _result in ((sum, "5.0"), (mean, "2.5"), (prod, "6.0"), (max, "3.0"), (min, "2.0"), (var, "0.25"), (std, "0.5"),
                           (argmax, "2"), (argmin, "0")):  # fmt: skip
    without_nan(_function, _result)

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "average",
    "corr",
    "count",
    "count_nonzero",
    "count_of",
    "counts",
    "cov",
    "dist",
    "idxmax",
    "idxmin",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "present",
    "prod",
    "ptp",
    "renorm",
    "restore",
    "std",
    "sum",
    "var",
    "vector_norm",
]
