"""Values that coincide: differences of eigenvalues and singular values as divisors.

Where values coincide, their vectors are not determined.  A cotangent that is 0 there counts as 0; any other gives NaN,
never an arbitrary number.
"""

from __future__ import annotations

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, less_equal
from namedgrad.rules.linalg.matrices import COLUMN, typed
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import multiply, where
from namedgrad.trace import innermost


def coincide(gap: DimArray, values: DimArray) -> DimArray:
    """Which gaps are within the rounding of the matrix."""
    values = innermost(values)
    unit = float(np.finfo(values.dtype).eps)
    scale = vector_norm(values, COLUMN)
    return less_equal(absolute(gap), multiply(scale, c(unit * extent(values, COLUMN))))


def quotient(x: DimArray, gap: DimArray, close: DimArray, none: DimArray) -> DimArray:
    """``x / gap``; where values coincide 0 if nothing is asked (``none``), and NaN otherwise."""
    safe = where(close, c(1.0), gap)
    inside = where(none, c(0.0), c(np.nan))
    return where(close, typed(inside, x), divide(x, typed(safe, x) if x.dtype.kind == "c" else safe))
