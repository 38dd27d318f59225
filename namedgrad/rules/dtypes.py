"""The dtypes in which operations compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.rules.structure import cast


def floating(x: Any) -> DimArray:
    """An operand as floating-point numbers: whole ones and truth values as doubles."""
    x = constant(x)
    return x if x.dtype.kind in "fc" else cast(x, "float64")


def real_dtype(x: DimArray) -> np.dtype[Any]:
    """The dtype in which counts and means of ``x`` are formed: real, of its precision, or double."""
    return x.dtype.type(0).real.dtype if x.dtype.kind in "fc" else np.dtype(float)


def widened(x: DimArray) -> DimArray:
    """Whole numbers and truth values in the dtype of their sums, as NumPy has it also of single cells."""
    return cast(x, np.sum(np.empty(0, x.dtype)).dtype) if x.dtype.kind in "biu" else x
