"""Order along a dim: sort, topk, median, quantiles, ranks, and which values there are."""

from namedgrad.rules.reductions.absent import without_nan
from namedgrad.rules.reductions.histograms import histogram
from namedgrad.rules.sorting.order import argsort, argsort_of, inverse_order, kthvalue, partition, sort, topk
from namedgrad.rules.sorting.quantiles import median, quantile, quantiles
from namedgrad.rules.sorting.ranks import rank
from namedgrad.rules.sorting.values import mode, nonzero, unique

without_nan(median, "2.5")
without_nan(quantile, "2.5", ", 0.5", q=0.5)

__all__ = [
    "argsort",
    "argsort_of",
    "histogram",
    "inverse_order",
    "kthvalue",
    "median",
    "mode",
    "nonzero",
    "partition",
    "quantile",
    "quantiles",
    "rank",
    "sort",
    "topk",
    "unique",
]
