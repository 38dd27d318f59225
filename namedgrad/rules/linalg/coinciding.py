"""Values that coincide: differences of eigenvalues and singular values as divisors.

Where values coincide, their vectors are not determined.  What is the same for any of them has a limit; where that cannot
be told, a cotangent that is 0 there counts as 0, and any other gives NaN, never an arbitrary number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.backends import may_look
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, less_equal
from namedgrad.rules.linalg.matrices import COLUMN, ROW, mT, typed
from namedgrad.rules.linalg.parting import is_parting, limit, nearly
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import add, identity, if_likely, logical_not, multiply, not_equal, scale, subtract, where
from namedgrad.trace import innermost


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


class Gaps(NamedTuple):
    """Divisors: differences, or sums, of values that may coincide unless they are known to be ``apart``.

    Of values in order, ``least`` gives some gaps among which the smallest are: to look at all takes a tenth of a
    gradient.  What is divided are cotangents, or tangents ``of`` a matrix.
    """

    gap: DimArray
    values: DimArray
    apart: bool = False
    of: DimArray | None = None
    differences: bool = False
    least: Callable[[DimArray], DimArray] | None = None


def over(x: DimArray, gaps: Gaps, none: Callable[[], DimArray], *asks: DimArray) -> DimArray:
    """:func:`quotient`, or where values part the :func:`limit`, given all that is asked; of differences no diagonal.

    One division where the values are known to be apart: the gradient of eigenvectors takes half the time.
    """
    gap, values = gaps.gap, gaps.values
    safe = add(gap, identity(extent(gap, COLUMN), ROW, COLUMN, gap)) if gaps.differences else gap
    if gaps.apart or _seen_apart(gaps, safe):
        return divide(x, safe)

    def plain() -> DimArray:
        return quotient(x, safe, coincide(safe, values), none())

    if not is_parting(gap):
        return plain()
    apart = logical_not(nearly(safe, values))
    return if_likely(apart, lambda: divide(x, safe), lambda: limit(x, safe, values, plain(), asks, gaps.of))


def _seen_apart(gaps: Gaps, safe: DimArray) -> bool:
    near = nearly if is_parting(gaps.gap) else coincide
    raw = innermost(near(gaps.least(innermost(gaps.values)) if gaps.least else safe, gaps.values)).raw
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
