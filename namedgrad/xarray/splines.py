"""Splines through nodes that are differentiated, or that differ per slice: B-splines, and equations for their weights.

The knots are those that SciPy takes (`make_interp_spline`, "not a knot"), and the B-splines come from the recursion of
Cox and de Boor: de Boor, C. (1978), *A Practical Guide to Splines*, chapter X.
"""

from __future__ import annotations

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.rules import elementwise as e
from namedgrad.rules.contraction import dot
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.linalg import solve
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import cast, constant_like, equal, positions, relabel, where

KNOT = axes.fresh("knot")


def spline(x: DimArray, coord: DimArray, target: DimArray, dim: Name, degree: int) -> DimArray:
    """The spline through the cells of ``x``, whose places along a dim are ``coord``, at the targets."""
    n = extent(x, dim)
    if n <= degree:
        raise ValueError(f"interp: a spline of degree {degree} needs at least {degree + 1} coordinates, got {n}")
    row, knots = axes.local("row of splines"), _knots(coord, dim, n, degree)
    matrix = _basis(relabel(coord, {dim: row}), knots, dim, n, degree)
    weights = solve(matrix, relabel(x, {dim: row}), dims=(row, dim))
    return dot(_basis(target, knots, dim, n, degree), weights, dim=dim)


def _knots(coord: DimArray, dim: Name, n: int, degree: int) -> DimArray:
    """The nodes without a few at both ends, or the middles between them, and the ends ``degree + 1`` times."""
    at = np.arange(n + degree + 1)
    pairs = ((degree + 1) // 2,) * 2 if degree % 2 else (degree // 2 + 1, degree // 2)
    ends = []
    for back in pairs:
        place = np.where(at <= degree, 0, np.where(at >= n, n - 1, at - back))
        ends.append(gather(coord, {dim: constant_like(place, coord, (KNOT,))}))
    return ends[0] if degree % 2 else (ends[0] + ends[1]) * 0.5


def _basis(p: DimArray, knots: DimArray, dim: Name, n: int, degree: int) -> DimArray:
    """The ``n`` B-splines at the points ``p``, along ``dim``; outside they go on as polynomials."""
    bare = stop_gradient(knots)
    inside = e.clip(searchsorted(bare, stop_gradient(p), KNOT, side="right") - 1, degree, n - 1)
    out = cast(equal(positions(n + degree, KNOT, bare), inside), knots.dtype)
    for d in range(1, degree + 1):
        m = n + degree - d
        start, stop = (slice_of(knots, KNOT, slice(k, k + m)) for k in (0, d))
        start_next, stop_next = (slice_of(knots, KNOT, slice(k, k + m)) for k in (1, d + 1))
        left = (p - start) / _width(start, stop) * slice_of(out, KNOT, slice(0, m))
        out = left + (stop_next - p) / _width(start_next, stop_next) * slice_of(out, KNOT, slice(1, m + 1))
    return relabel(out, {KNOT: dim})


def _width(start: DimArray, stop: DimArray) -> DimArray:
    """Of the support of a B-spline; 1 where knots coincide, and the B-spline is 0."""
    return where(equal(stop_gradient(start), stop_gradient(stop)), c(1.0), stop - start)
