"""Values that coincide: differences of eigenvalues and singular values as divisors.

Where values coincide, their vectors are not determined.  A cotangent that is 0 there counts as 0; any other gives NaN,
never an arbitrary number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.backends import may_look
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, less_equal
from namedgrad.rules.linalg.matrices import COLUMN, ROW, mT, typed
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import add, identity, multiply, not_equal, subtract, where
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


def over(
    x: DimArray,
    gap: DimArray,
    values: DimArray,
    none: Callable[[], DimArray],
    *,
    differences: bool = False,
    least: Callable[[DimArray], DimArray] | None = None,
) -> DimArray:
    """:func:`quotient`; of differences anything on the diagonal.

    One division where the values are known to be apart: the gradient of eigenvectors takes half the time. Of values in
    order, ``least`` gives some gaps among which the smallest are: to look at all takes a tenth of it.
    """
    safe = add(gap, identity(extent(gap, COLUMN), ROW, COLUMN, gap)) if differences else gap
    raw = innermost(coincide(least(innermost(values)) if least else safe, values)).raw
    known = may_look(raw) and not raw.any()
    return divide(x, safe) if known else quotient(x, gap, coincide(gap, values), none())


def neighbours(values: DimArray) -> DimArray:
    """Differences of neighbours."""
    n = extent(values, COLUMN)
    return subtract(slice_of(values, COLUMN, slice(1, n)), slice_of(values, COLUMN, slice(0, max(n - 1, 0))))


def quotient(x: DimArray, gap: DimArray, close: DimArray, none: DimArray) -> DimArray:
    """``x / gap``; where values coincide 0 if nothing is asked (``none``), and NaN otherwise."""
    safe = where(close, c(1.0), gap)
    inside = where(none, c(0.0), c(np.nan))
    return where(close, typed(inside, x), divide(x, typed(safe, x) if x.dtype.kind == "c" else safe))


def asked(x: DimArray) -> DimArray:
    """How many of a cell and its mirror image are not 0."""
    found = multiply(not_equal(x, c(0)), c(1.0))
    return add(found, mT(found))
