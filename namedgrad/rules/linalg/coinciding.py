"""Values that coincide: differences of eigenvalues and singular values as divisors.

Where values coincide, their vectors are not determined.  What is the same for any of them has a limit; where that cannot
be told, a cotangent that is 0 there counts as 0, and any other gives NaN, never an arbitrary number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.backends import may_look
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, less_equal, logical_or
from namedgrad.rules.linalg.matrices import COLUMN, ROW, down, mT, typed
from namedgrad.rules.linalg.parting import Gaps, is_parting, limit, nearly
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import add, identity, if_likely, logical_not, multiply, not_equal, scale, subtract, where
from namedgrad.trace import innermost

SPLIT = 64.0  # roundings of themselves by which equal values of a matrix that was computed may differ


def coincide(gap: DimArray, values: DimArray) -> DimArray:
    """Which gaps are within the rounding of the matrix."""
    values = innermost(values)
    unit = float(np.finfo(values.dtype).eps)
    scale = vector_norm(values, COLUMN)
    return less_equal(absolute(gap), multiply(scale, c(unit * extent(values, COLUMN))))


def close_to(gap: DimArray, values: DimArray) -> DimArray:
    """Which gaps are so small that slopes tell more than quotients: errors are as the gap squared, or as its inverse."""
    values = innermost(values)
    unit = float(np.finfo(values.dtype).eps)
    return less_equal(absolute(innermost(gap)), multiply(vector_norm(values, COLUMN), c(unit ** (1 / 3))))


def over(x: DimArray, gaps: Gaps, none: Callable[[], DimArray], *asks: DimArray) -> DimArray:
    """:func:`quotient`, or where values part the :func:`limit`, given all that is asked; of differences no diagonal.

    One division where the values are known to be apart: the gradient of eigenvectors takes half the time.
    """
    gap, values = gaps.gap, gaps.values
    if gaps.differences:
        gaps = gaps._replace(gap=add(gap, identity(extent(gap, COLUMN), ROW, COLUMN, gap)))
    if gaps.apart or _seen_apart(gaps):
        return divide(x, gaps.gap)

    def by_quotients() -> DimArray:
        close = coincide(gaps.gap, values)
        plain = quotient(x, gaps.gap, close, none())
        if not is_parting(gap):
            return plain
        if gaps.of is not None and gaps.differences:
            close = logical_or(close, _are_split(gaps))
        return limit(x, gaps, close, plain, asks)

    apart = logical_not(nearly(gaps.gap, values))
    return if_likely(apart, lambda: divide(x, gaps.gap), by_quotients) if is_parting(gap) else by_quotients()


def _are_split(gaps: Gaps) -> DimArray:
    """Which differences are within the rounding of the two values."""
    values = absolute(innermost(gaps.values))
    unit = SPLIT * float(np.finfo(values.dtype).eps) * extent(values, COLUMN)
    return less_equal(absolute(innermost(gaps.gap)), multiply(add(values, down(values)), c(unit / 2)))


def _seen_apart(gaps: Gaps) -> bool:
    near = nearly if is_parting(gaps.gap) else coincide
    raw = innermost(near(gaps.least(innermost(gaps.values)) if gaps.least else gaps.gap, gaps.values)).raw
    return may_look(raw) and not raw.any()


def neighbours(values: DimArray) -> DimArray:
    """Differences of neighbours."""
    n = extent(values, COLUMN)
    return subtract(slice_of(values, COLUMN, slice(1, n)), slice_of(values, COLUMN, slice(0, max(n - 1, 0))))


def quotient(x: DimArray, gap: DimArray, close: DimArray, none: DimArray) -> DimArray:
    """``x / gap``; where values coincide 0 if nothing is asked (``none``), with NaN as its slope, and NaN otherwise."""
    safe = where(close, c(1.0), gap)
    inside = scale(where(none, x, typed(c(1.0), x)), typed(c(np.nan), x))
    return where(close, inside, divide(x, typed(safe, x) if x.dtype.kind == "c" else safe))


def asked(x: DimArray) -> DimArray:
    """How many of a cell and its mirror image are not 0."""
    found = multiply(not_equal(x, c(0)), c(1.0))
    return add(found, mT(found))
