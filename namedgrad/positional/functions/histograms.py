"""Histograms: where a sample falls is fixed; what it weighs, and edges that follow the samples, are differentiated."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.axis import named
from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, static
from namedgrad.rules.indexing.segments import segment_sum
from namedgrad.rules.structure import cast


def _known(x: Any, what: str, bins: Any, range: Any) -> Any:
    """The samples, if edges are laid between them; else others of their kind, as these say nothing."""
    if not isinstance(x, PositionalArray):
        return np.asarray(x)
    if (range is not None and not isinstance(bins, str)) or np.ndim(bins):
        return np.zeros(x.shape, x.dtype)
    if x.backend != "numpy":
        raise TypeError(f"{what}: edges between samples depend on values, which are on {x.backend}; give range=")
    return value_of(x._x, what)


def _following(x: Any, known: Any, edges: Any, bins: Any, range: Any) -> Any:
    """Edges that NumPy lays between the least and the largest sample, which they follow."""
    if range is not None or np.ndim(bins) or not isinstance(x, PositionalArray) or not x.size:
        return edges
    margin = 0.5 if np.ptp(known) == 0 else 0.0
    return np.linspace(np.min(x) - margin, np.max(x) + margin, len(edges))


def _counted(sample: list[Any], edges: list[Any], weights: Any) -> Any:
    """What the samples in each cell of a table weigh; all others fall into one more."""
    sizes = tuple(len(e) - 1 for e in edges)
    at = [np.searchsorted(e, x, side="right") - 1 - (x == e[-1]) for x, e in zip(sample, edges, strict=True)]
    inside = functools.reduce(np.logical_and, [(i >= 0) & (i < n) for i, n in zip(at, sizes, strict=True)])
    cell = functools.reduce(lambda c, i: c * i[1] + np.clip(i[0], 0, i[1] - 1), zip(at, sizes, strict=True), 0)
    cells = math.prod(sizes)
    heavy = numbered(np.ones(np.size(sample[0]), np.int64) if weights is None else np.ravel(weights))
    heavy = cast(heavy, np.result_type(heavy.dtype, np.int64 if weights is None else np.float64))  # as NumPy adds
    place = named(numbered(np.where(inside, cell, cells)), heavy.dims)
    table = segment_sum(heavy, place, heavy.dims[0], cells + 1, skipna=False)
    return np.reshape(wrap(table)[:-1], sizes)


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
    known = _known(a, "np.histogram_bin_edges()", bins, range)
    edges = np.histogram_bin_edges(known, static(bins, "bins"), static(range, "range"))
    return _following(a, known, edges, bins, range)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:
    known = np.ravel(_known(a, "np.histogram()", bins, range))
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    fixed = np.histogram_bin_edges(known, static(bins, "bins"), static(range, "range"))
    edges = _following(a, known, fixed, bins, range)
    table = _table([np.ravel(a)], [fixed], [edges], density, weights)
    own = None if density or weights is None else numbered(weights).dtype
    return table if own is None else table.astype(own), edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    columns = isinstance(sample, (list, tuple))
    lines = [np.ravel(x) for x in (sample if columns else np.atleast_2d(np.transpose(sample)))]
    each: Any = static(bins, "bins")
    kinds = [each] * len(lines) if np.isscalar(each) else each
    spans = [None] * len(lines) if range is None else range
    known = [_known(x, "np.histogramdd()", *of) for x, *of in zip(lines, kinds, spans, strict=True)]
    _, fixed = np.histogramdd(known, each, static(range, "range"))
    edges = [_following(*of) for of in zip(lines, known, fixed, kinds, spans, strict=True)]
    return np.multiply(_table(lines, list(fixed), edges, density, weights), 1.0), edges  # counts are doubles here


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    if hasattr(bins, "__len__") and len(bins) not in {1, 2}:  # the edges of both axes
        bins = [bins, bins]
    table, edges = histogramdd([x, y], bins, range, density, weights)
    return table, *edges
