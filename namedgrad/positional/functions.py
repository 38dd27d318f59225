"""NumPy functions on positional arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.positional.array import PositionalArray, box, ordered, renumber, unwrap
from namedgrad.positional.protocol import implements, kind_of
from namedgrad.rules import reductions, structure


def names_of(x: Any, axis: Any) -> Any:
    """Names of the axes that ``axis=`` counts."""
    if axis is None:
        return x.dims
    from numpy.lib.array_utils import normalize_axis_tuple

    return tuple(axes.axis(a - x.ndim) for a in normalize_axis_tuple(axis, x.ndim))


@implements(np.sum)
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    x = unwrap(a)
    return box(renumber(reductions.sum(x, names_of(x, axis), skipna=False, keepdims=keepdims)), kind_of([a]))


@implements(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    x = unwrap(a)
    return box(renumber(reductions.mean(x, names_of(x, axis), skipna=False, keepdims=keepdims)), kind_of([a]))


@implements(np.transpose)
def transpose(a: Any, axes_: Any = None) -> Any:
    x = unwrap(a)
    return box(ordered(x, x.dims[::-1] if axes_ is None else names_of(x, axes_)), kind_of([a]))


PositionalArray.sum, PositionalArray.mean = sum, mean
PositionalArray.transpose = transpose
PositionalArray.T = property(transpose)
PositionalArray.astype = lambda self, dtype, **kw: box(structure.cast(self._x, np.dtype(dtype)), type(self))
