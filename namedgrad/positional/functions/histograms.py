"""Histograms: where a sample falls is fixed; what it weighs, and edges that follow the samples, are differentiated."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.positional.array import PositionalArray, numbers, renumber, wrap
from namedgrad.positional.axis import flat, named
from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, positional_in, static
from namedgrad.rules.indexing.sparse import bincount
from namedgrad.rules.structure import constant_like
from namedgrad.trace import innermost


def _known(x: Any, what: str) -> Any:
    if not isinstance(x, PositionalArray):
        return np.asarray(x)
    if x.backend != "numpy":
        raise TypeError(f"{what}: edges and cells depend on values, which are on {x.backend}; use .to_numpy()")
    return value_of(x._x, what)


def _may_be_known(x: Any) -> bool:
    return not isinstance(x, PositionalArray) or not (x._x.hidden or backends.is_recording() or x.backend != "numpy")


def _still(x: Any) -> Any:
    """The values of an array, not followed by derivatives."""
    return wrap(innermost(x._x)) if isinstance(x, PositionalArray) else x


def _laid(x: Any, bins: Any, range: Any) -> Any:
    """Edges of samples that differ per slice, or with every run of a program."""
    if isinstance(bins, str):
        return _known(x, "np.histogram()")  # which refuses
    if np.ndim(bins):
        return _beside(np.asarray(bins), x)
    low, high = (np.min(x), np.max(x)) if range is None and x.size else (0.0, 1.0) if range is None else range
    margin = 0.5 * (low == high)
    edges = np.linspace(low - margin, high + margin, bins + 1).astype(np.result_type(x.dtype, 0.0))
    return edges if isinstance(edges, PositionalArray) else _beside(edges, x)


def _beside(edges: Any, x: PositionalArray) -> PositionalArray:
    return wrap(constant_like(edges, x._x, numbers(1)))


def _edges(x: Any, bins: Any, range: Any) -> tuple[Any, Any, Any]:
    """Samples and edges as they are, and edges that follow the samples."""
    if _may_be_known(x):
        raw = np.ravel(_known(x, "np.histogram()"))
        fixed = np.histogram_bin_edges(raw, bins, range)
        return raw, fixed, _following(x, fixed, bins, range)
    edges = _laid(x, bins, range)
    return np.ravel(_still(x)), _still(edges), edges


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
    inside = functools.reduce(np.logical_and, [(i >= 0) & (i < n) for i, n in zip(at, sizes, strict=True)])
    if positional_in((at,)):
        return _of_slices([np.where(inside, i, 0) for i in at], inside, sizes, weights)
    chosen = np.flatnonzero(inside)
    flat = np.ravel_multi_index(tuple(i[chosen] for i in at), sizes)
    heavy = None if weights is None else np.take(np.ravel(weights), chosen)
    cells = int(np.prod(sizes))
    if heavy is not None and numbered(heavy).dtype.kind == "c":
        return np.reshape(np.bincount(flat, heavy.real, cells) + 1j * np.bincount(flat, heavy.imag, cells), sizes)
    return np.reshape(np.bincount(flat, heavy, cells), sizes)


def _of_slices(at: list[Any], inside: Any, sizes: tuple[int, ...], weights: Any) -> Any:
    """The same with one more cell, for all that is outside."""
    cells, line, flat_place = int(np.prod(sizes)), axes.local("sample"), at[0]
    for i, n in zip(at[1:], sizes[1:], strict=True):
        flat_place = flat_place * n + i
    place = named(numbered(np.where(inside, flat_place, cells)), (line,))
    heavy = None if weights is None else named(flat(numbered(weights)), (line,))
    return np.reshape(wrap(renumber(bincount(place, heavy, size=cells + 1, new_dim=axes.local("bin"))))[:cells], sizes)


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
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    raw, fixed, edges = _edges(a, static(bins, "bins"), static(range, "range"))
    table = _table([raw], [fixed], [edges], density, weights)
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
    spans = [None] * len(lines) if static(range, "range") is None else range
    if all(map(_may_be_known, lines)):
        raw = [_known(x, "np.histogramdd()") for x in lines]
        fixed = list(np.histogramdd(raw, each, range)[1])
        edges = [_following(*of) for of in zip(lines, fixed, kinds, spans, strict=True)]
    else:
        raw, fixed, edges = map(list, zip(*map(_edges, lines, kinds, spans), strict=True))
    return np.multiply(_table(raw, fixed, edges, density, weights), 1.0), edges  # counts are doubles here


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    if hasattr(bins, "__len__") and len(bins) not in {1, 2}:  # the edges of both axes
        bins = [bins, bins]
    table, edges = histogramdd([x, y], bins, range, density, weights)
    return table, *edges
