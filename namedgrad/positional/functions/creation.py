"""New arrays: ``zeros_like`` and its kin, and NumPy's constructors called with ``like=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.positional.array import PositionalArray, numbers
from namedgrad.positional.broadcasting import stretch
from namedgrad.positional.functions.elementwise import cast_to
from namedgrad.positional.functions.joining import stack
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules.structure import cast
from namedgrad.trace import innermost


def constant(value: Any, x: DimArray) -> DimArray:
    """A raw array on the backend of ``x``, with numbered axes."""
    backend = backends.backend_of(innermost(x).raw)
    raw = backends.call(backend.asarray, value)
    return make(raw, numbers(raw.ndim), NONE)


def filled(shape: Any, value: Any, dtype: Any, x: DimArray) -> DimArray:
    """An array of one value, on the backend of ``x``."""
    v = numbered(value)
    size = tuple(shape) if np.iterable(shape) else (shape,)
    size = x.shape if size == x.shape else size  # which remembers its chunks
    if v.level is not None or v.hidden or v.dims or not backends.may_look(v.raw):
        return stretch(v if dtype is None else cast(v, np.dtype(dtype)), size)
    backend, one = backends.backend_of(innermost(x).raw), np.full((), innermost(v).raw, dtype)
    if backend.name != "dask":
        return constant(np.full(size, one), x)
    return make(backends.call(backend.full, size, one[()], one.dtype), numbers(len(size)), NONE)


def _like(value: Any) -> Any:
    def function(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> DimArray:
        x = numbered(a)
        return filled(x.shape if shape is None else shape, value, dtype or x.dtype, x)

    return function


zeros_like = implements(np.zeros_like, np.empty_like)(_like(0))
ones_like = implements(np.ones_like)(_like(1))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DimArray:
    x = numbered(a)
    return filled(x.shape if shape is None else shape, fill_value, dtype or x.dtype, x)


# ------------------------------------------------------------------------------------------------ like=


def _shaped(value: Any) -> Any:
    return lambda self, shape, dtype=None, order="C", *, device=None: filled(shape, value, dtype or float, self._x)


implements(np.zeros, np.empty, like=True)(_shaped(0))
implements(np.ones, like=True)(_shaped(1))


@implements(np.full, like=True)
def full(
    self: PositionalArray, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> DimArray:
    return filled(shape, fill_value, dtype, self._x)


def _made(function: Any) -> Any:
    return lambda self, *args, **kwargs: constant(function(*args, **kwargs), self._x)


for _function in (np.arange, np.eye, np.identity, np.tri):
    implements(_function, like=True)(_made(_function))


@implements(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, like=True)
def array(self: PositionalArray, a: Any, dtype: Any = None, *args: Any, **options: Any) -> DimArray:
    x = nested(a, self._x)
    return x if dtype is None else cast_to(x, dtype)


def nested(value: Any, x: DimArray) -> DimArray:
    """Nested lists that may hold positional arrays, as one array."""
    if isinstance(value, (list, tuple)):
        parts = [nested(v, x) for v in value]
        return stack(parts) if parts else constant(np.empty(0), x)
    return constant(value, x) if isinstance(value, (int, float, complex)) else numbered(value)
