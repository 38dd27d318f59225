"""Histograms: where a sample falls is fixed; what it weighs, and edges that follow the samples, are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.positional.array import PositionalArray
from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, static


def _known(x: Any, what: str) -> Any:
    if not isinstance(x, PositionalArray):
        return np.asarray(x)
    if x.backend != "numpy":
        raise TypeError(f"{what}: edges and cells depend on values, which are on {x.backend}; use .to_numpy()")
    return value_of(x._x, what)


def _following(x: Any, edges: Any, bins: Any, range: Any) -> Any:
    """Edges that NumPy lays between the least and the largest sample, which they follow."""
    if range is not None or np.ndim(bins) or not isinstance(x, PositionalArray) or not x.size:
        return edges
    margin = 0.5 if np.ptp(_known(x, "np.histogram()")) == 0 else 0.0
    return np.linspace(np.min(x) - margin, np.max(x) + margin, len(edges))


def _counted(sample: list[Any], edges: list[Any], weights: Any) -> Any:
    """What the samples in each cell of a table weigh."""
    sizes = tuple(len(e) - 1 for e in edges)
    at = [np.searchsorted(e, x, side="right") - 1 - (x == e[-1]) for x, e in zip(sample, edges, strict=True)]
    inside = np.logical_and.reduce([(i >= 0) & (i < n) for i, n in zip(at, sizes, strict=True)])
    chosen = np.flatnonzero(inside)
    flat = np.ravel_multi_index(tuple(i[chosen] for i in at), sizes)
    heavy = None if weights is None else np.take(np.ravel(weights), chosen)
    cells = int(np.prod(sizes))
    if heavy is not None and numbered(heavy).dtype.kind == "c":
        return np.reshape(np.bincount(flat, heavy.real, cells) + 1j * np.bincount(flat, heavy.imag, cells), sizes)
    return np.reshape(np.bincount(flat, heavy, cells), sizes)


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
    edges = np.histogram_bin_edges(_known(a, "np.histogram_bin_edges()"), static(bins, "bins"), static(range, "range"))
    return _following(a, edges, bins, range)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:
    raw = np.ravel(_known(a, "np.histogram()"))
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    fixed = np.histogram_bin_edges(raw, static(bins, "bins"), static(range, "range"))
    edges = _following(a, fixed, bins, range)
    table = _table([raw], [fixed], [edges], density, weights)
    own = None if density or weights is None else numbered(weights).dtype
    return table if own is None else table.astype(own), edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    columns = isinstance(sample, (list, tuple))
    lines = [np.ravel(x) for x in (sample if columns else np.atleast_2d(np.transpose(sample)))]
    raw = [_known(x, "np.histogramdd()") for x in lines]
    each: Any = static(bins, "bins")
    _, fixed = np.histogramdd(raw, each, static(range, "range"))
    kinds = [each] * len(lines) if np.isscalar(each) else each
    spans = [None] * len(lines) if range is None else range
    edges = [_following(*of) for of in zip(lines, fixed, kinds, spans, strict=True)]
    return np.multiply(_table(raw, list(fixed), edges, density, weights), 1.0), edges  # counts are doubles here


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    if hasattr(bins, "__len__") and len(bins) not in {1, 2}:  # the edges of both axes
        bins = [bins, bins]
    table, edges = histogramdd([x, y], bins, range, density, weights)
    return table, *edges
