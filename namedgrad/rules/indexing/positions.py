"""Indexers read: ints, slices, and named arrays of positions that are in range and not negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, describe, extent, make, refuse_while_recording
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like
from namedgrad.rules.movement import merge
from namedgrad.rules.structure import cast, spread
from namedgrad.trace import innermost


def as_index(value: Any, name: Name, size: int, x: DimArray) -> Any:
    """An indexer as an int, a slice, or a named integer array whose values are in range."""
    if isinstance(value, slice):
        return value
    if isinstance(value, (bool, np.bool_)) or value is None:
        raise TypeError(f"index for {name!r}: {value!r} is not an int, a slice or an integer array")
    if isinstance(value, (int, np.integer)):
        i = int(value)
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range for dim {name!r} of size {size} in {describe(x)}")
        return i % size
    return _array_index(value, name, size, x)


def _array_index(value: Any, name: Name, size: int, x: DimArray) -> DimArray:
    literal = isinstance(value, (list, tuple))
    value = named_index(value, name)
    if value.dtype.kind == "b":
        if not literal and not backends.may_look(value.raw):
            refuse_while_recording("a boolean index", "where(mask, x, fill)")
        return beside(_nonzero(value, name, size), x)
    if value.dtype.kind not in "iu":
        raise TypeError(f"index for {name!r} has dtype {value.dtype}; use integers or booleans")
    return beside(wrapped(value, name, size, x), x)


def named_index(value: Any, name: Name) -> DimArray:
    """An index as an untraced named array; one axis without a name is the dim itself."""
    if getattr(value, "nameless", None) is not None:
        value = value.nameless
    if not isinstance(value, DimArray):
        value = _unnamed_index(value, name)
    return innermost(value)


def beside(index: DimArray, x: DimArray) -> DimArray:
    """The positions where the backend of ``x`` can index with them."""
    backend = backends.backend_of(innermost(x).raw)
    return index if backend is backends.NUMPY else make(call(backend.indices, index.raw), index.names, index.hidden)


def _unnamed_index(value: Any, name: Name) -> DimArray:
    raw = value if backends.is_array(value) else np.asarray(value)
    if raw.size == 0 and raw.dtype.kind == "f":
        raw = raw.astype(np.intp)
    if raw.dtype.kind not in "iubfc":
        raise TypeError(f"index for {name!r} is a {type(value).__name__}, not integers or truth values")
    if raw.ndim > 1:
        raise AxisError(
            f"index for {name!r} is a plain array of shape {raw.shape}, with axes without names; use ng.DimArray(index, dims)"
        )
    return make(raw, (name,) if raw.ndim else (), NONE)


def _nonzero(mask: DimArray, name: Name, size: int) -> DimArray:
    if mask.hidden or mask.names != (name,):
        raise AxisError(
            f"a boolean index for {name!r} must have that dim alone, got {describe(mask)}; use where(...), or "
            "masked_select(...), instead"
        )
    if extent(mask, name) != size:
        raise AxisError(f"boolean index for {name!r} has size {extent(mask, name)}, the dim has size {size}")
    if mask.backend != "numpy":
        raise TypeError(f"a boolean index on {mask.backend} has a data-dependent size; use where(...) or integer positions")
    return make(np.flatnonzero(mask.raw), (name,), NONE)


def wrapped(index: DimArray, name: Name, size: int, x: DimArray) -> DimArray:
    """Negative positions counted from the end; one out of range is refused."""
    index = cast(index, np.intp)  # small integers would overflow where positions are counted
    backend = backends.backend_of(index.raw)
    raw = index.raw
    if backends.may_look(raw):
        if not np.size(raw) or int(np.max(np.asarray(raw, np.intp).view(np.uintp))) < size:  # one pass: negative is large
            return index
        low, high = int(np.min(raw)), int(np.max(raw))
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise IndexError(f"index {bad} is out of range for dim {name!r} of size {size} in {describe(x)}")
        if low >= 0:
            return index
    return make(call(backend.wrap_index, raw, size), index.names, index.hidden)


def as_positions(i: Any, name: Name, x: DimArray) -> DimArray:
    """An indexer that was read as positions, whatever it was."""
    if isinstance(i, DimArray):
        return i
    chosen = range(extent(x, name))[i]
    if isinstance(chosen, int):
        return make(chosen, (), NONE)
    backend = backends.backend_of(innermost(x).raw)
    return make(call(backend.arange, chosen.start, chosen.stop, chosen.step), (name,), NONE)


def read_all(x: DimArray, table: Mapping[Name, Any]) -> dict[Name, Any]:
    """Every indexer of a mapping read."""
    return {n: as_index(v, n, extent(x, n), x) for n, v in table.items()}


def joined(x: DimArray, dims: Names, name: Name) -> DimArray:
    """Several dims as one, in their order; of none, one cell."""
    return merge(x, dims, name) if dims else spread(x, Like((name, *x.names), (1, *x.full_shape), x.dtype))
