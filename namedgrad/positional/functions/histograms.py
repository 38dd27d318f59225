"""Histograms: where a sample falls is fixed; what it weighs, and edges that follow the samples, are differentiated."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.positional.array import PositionalArray, numbers, wrap
from namedgrad.positional.axis import named
from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, static
from namedgrad.rules.indexing.segments import segment_sum
from namedgrad.rules.structure import cast, constant_like
from namedgrad.trace import innermost


def _edges(x: Any, bins: Any, range: Any, what: str) -> tuple[Any, Any]:
    """Edges as they are, and as they follow the samples between the least and the largest of which they are laid."""
    if not isinstance(x, PositionalArray):
        return (np.histogram_bin_edges(np.asarray(x), bins, range),) * 2
    if np.ndim(bins) or (range is not None and not isinstance(bins, str)):  # samples say nothing
        edges = np.histogram_bin_edges(np.zeros(x.shape, x.dtype), bins, range)
        return (edges if x.backend == "numpy" else wrap(constant_like(edges, x._x, numbers(1))),) * 2
    may_be_known = not (x._x.hidden or backends.is_recording()) and x.backend == "numpy"
    if may_be_known or isinstance(bins, str):  # a word asks for so many as the samples need
        if x.backend != "numpy":
            raise TypeError(f"{what}: edges depend on values, which are on {x.backend}; use .to_numpy()")
        fixed = np.histogram_bin_edges(value_of(x._x, what), bins, range)
        bins = len(fixed) - 1
        if not x.size:
            return fixed, fixed
    low, high = (np.min(x), np.max(x)) if x.size else (0.0, 1.0)
    margin = 0.5 * (low == high)
    edges = np.linspace(low - margin, high + margin, bins + 1).astype(np.result_type(x.dtype, 0.0))
    return fixed if may_be_known else wrap(innermost(numbered(edges))), edges


def _counted(sample: list[Any], edges: list[Any], weights: Any) -> Any:
    """What the samples in each cell of a table weigh; all others fall into one more."""
    sizes = tuple(len(e) - 1 for e in edges)
    at = [np.searchsorted(e, x, side="right") - 1 - (x == e[-1]) for x, e in zip(sample, edges, strict=True)]
    inside = functools.reduce(np.logical_and, [(i >= 0) & (i < n) for i, n in zip(at, sizes, strict=True)])
    cell = functools.reduce(lambda c, i: c * i[1] + np.clip(i[0], 0, i[1] - 1), zip(at, sizes, strict=True), 0)
    cells = math.prod(sizes)
    place = numbered(np.where(inside, cell, cells))
    heavy = numbered(np.ones_like(cell, np.int64) if weights is None else np.ravel(weights))
    heavy = cast(heavy, np.result_type(heavy.dtype, np.int64 if weights is None else np.float64))  # as NumPy adds
    table = segment_sum(heavy, named(place, heavy.dims), heavy.dims[0], cells + 1, skipna=False)
    return np.reshape(wrap(table)[:-1], sizes).copy()  # which may be written into


def _table(sample: list[Any], fixed: list[Any], edges: list[Any], density: bool | None, weights: Any) -> Any:
    table = _counted(sample, fixed, weights)
    if not density:
        return table
    whole = np.sum(table)
    for axis, e in enumerate(edges):
        table = table / np.diff(e).reshape([-1 if i == axis else 1 for i in range(len(edges))])
    return table / whole


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return _edges(a, static(bins, "bins"), static(range, "range"), "np.histogram_bin_edges()")[1]


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    fixed, edges = _edges(a, static(bins, "bins"), static(range, "range"), "np.histogram()")
    table = _table([np.ravel(a)], [fixed], [edges], density, weights)
    own = None if density or weights is None else numbered(weights).dtype
    return table if own is None else table.astype(own), edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    columns = isinstance(sample, (list, tuple))
    lines = [np.ravel(x) for x in (sample if columns else np.atleast_2d(np.transpose(sample)))]
    kinds: Any = static(bins, "bins")
    kinds = [kinds] * len(lines) if np.isscalar(kinds) else kinds
    spans: Any = [None] * len(lines) if static(range, "range") is None else range
    laid = [_edges(*of, "np.histogramdd()") for of in zip(lines, kinds, spans, strict=True)]
    table = _table(lines, [fixed for fixed, _ in laid], [edges for _, edges in laid], density, weights)
    return np.multiply(table, 1.0), [edges for _, edges in laid]  # counts are doubles here


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    if hasattr(bins, "__len__") and len(bins) not in {1, 2}:  # the edges of both axes
        bins = [bins, bins]
    table, edges = histogramdd([x, y], bins, range, density, weights)
    return table, *edges
