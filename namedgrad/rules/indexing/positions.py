"""Indexers read: ints, slices, and named arrays of positions that are in range and not negative."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, constant, describe, extent, make, refuse_while_recording
from namedgrad.axes import NONE, Axis, AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like
from namedgrad.rules.elementwise import c, floor_divide, less, maximum, minimum
from namedgrad.rules.movement import merge
from namedgrad.rules.structure import add, cast, multiply, positions, spread, subtract, where
from namedgrad.trace import innermost


def as_index(value: Any, name: Name, size: int, x: DimArray) -> Any:
    """An indexer as an int, a slice, or a named integer array whose values are in range."""
    if isinstance(value, slice):
        return value if plain(value) else _cut_per_slice(value, name, size, x)
    if isinstance(value, (bool, np.bool_)) or value is None:
        raise TypeError(f"index for {name!r}: {value!r} is not an int, a slice or an integer array")
    if isinstance(value, (int, np.integer)):
        i = int(value)
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range for dim {name!r} of size {size} in {describe(x)}")
        return i % size
    return _array_index(value, name, size, x)


def plain(cut: slice) -> bool:
    """Whether the bounds of a slice are numbers, not arrays with one for each of many slices."""
    return not any(v.names for v in map(_named, (cut.start, cut.stop)) if isinstance(v, DimArray))


def _named(value: Any) -> Any:
    """A positional array as the named one that it holds, anything else as it is."""
    held = getattr(value, "nameless", None)
    return value if held is None else held


def takes_all(k: Any) -> bool:
    """Whether an indexer takes everything as it is."""
    return isinstance(k, slice) and k.start is None and k.stop is None and k.step in {None, 1}


def _cut_per_slice(cut: slice, name: Name, size: int, x: DimArray) -> DimArray:
    """A slice with bounds along vectorized axes as positions, of which there must be as many for all."""
    step = 1 if cut.step is None else operator.index(cut.step)
    if not step:
        raise ValueError(f"a slice of {name!r} has the step 0; a step is a number of cells, or negative to go backwards")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start = _bound(cut.start, low if step > 0 else high, (low, high), name, size)
    stop = _bound(cut.stop, high if step > 0 else low, (low, high), name, size)
    lengths = floor_divide(add(subtract(stop, start), c(step - (1 if step > 0 else -1))), c(step))
    instead = "start + " + ("np.arange(length)" if isinstance(name, Axis) else f"ng.arange({name!r}, length)")
    if not backends.may_look(lengths.raw):
        raise TraceError(
            f"the length of a slice of {name!r} with bounds {describe(lengths)} cannot be looked at here (they are lazy, or left "
            f"open by a program that is being recorded); index with {instead}"
        )
    found = np.unique(np.maximum(lengths.raw, 0))
    if len(found) > 1:
        raise AxisError(
            f"slices of {name!r} along {tuple(lengths.names)} have the lengths {', '.join(map(str, found))}, and an array one size; "
            f"index with {instead} and mask what is too long"
        )
    places = positions(int(found[0]) if len(found) else 0, name, x)
    return beside(add(start, multiply(places, c(step))), x)


def _bound(value: Any, default: int, ends: tuple[int, int], name: Name, size: int) -> DimArray:
    """Bounds of slices as Python takes them: counted from the end where negative, and cut off at the ends."""
    if value is None:
        return c(default)
    i = named_index(value, name)
    if i.dtype.kind not in "iu":
        raise TypeError(f"a bound of a slice of {name!r} has dtype {i.dtype}; use integers")
    if i.dims:
        raise AxisError(f"a bound of a slice of {name!r} has the dims {i.dims}; use positions in their place, or vectorize them")
    i = cast(i, np.intp)
    i = where(less(i, c(0)), add(i, c(size)), i)
    return minimum(maximum(i, c(ends[0])), c(ends[1]))


def _array_index(value: Any, name: Name, size: int, x: DimArray) -> DimArray:
    literal = isinstance(value, (list, tuple))
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[0], (int, np.integer)):
        value = _with_dims(*value, name)
    value = named_index(value, name)
    if value.dtype.kind == "b":
        if not literal and not backends.may_look(value.raw):
            refuse_while_recording("a boolean index", "where(mask, x, fill)")
        return beside(_nonzero(value, name, size), x)
    if value.dtype.kind not in "iu":
        raise TypeError(f"index for {name!r} has dtype {value.dtype}; use integers or booleans")
    return beside(wrapped(value, name, size, x), x)


def _with_dims(dims: Any, positions: Any, name: Name) -> DimArray:
    """A pair of dims and positions, as xarray takes it: an axis for each of the dims."""
    positions = _named(positions)
    if isinstance(positions, DimArray):
        raise AxisError(f"index for {name!r}: {describe(positions)} has names already; rename them instead of giving {dims!r}")
    return DimArray(positions, tuple(dims) if isinstance(dims, (list, tuple)) else (dims,))


def named_index(value: Any, name: Name) -> DimArray:
    """An index as an untraced named array; one axis without a name is the dim itself."""
    value = _named(value)
    if not isinstance(value, DimArray):
        value = _unnamed_index(value, name)
    return innermost(value)


def beside(index: DimArray, x: DimArray) -> DimArray:
    """The positions where the backend of ``x`` can index with them."""
    backend = backends.backend_of(innermost(x).raw)
    return index if backend is backends.NUMPY else make(call(backend.indices, index.raw), index.names, index.hidden)


def _unnamed_index(value: Any, name: Name) -> DimArray:
    if getattr(value, "dims", ()):  # an object of xarray, whose names would be dropped
        return constant(value, f"index for {name!r}")
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


def agreed(mask: DimArray) -> DimArray:
    """Truth values of one slice where those of all slices are the same: each of them would go on with these."""
    if not (mask.hidden and mask.backend == "numpy" and backends.may_look(mask.raw)):
        return mask
    every, some = mask.devectorize().all(mask.vectorized), mask.devectorize().any(mask.vectorized)
    return every if np.array_equal(every.raw, some.raw) else mask


def _nonzero(mask: DimArray, name: Name, size: int) -> DimArray:
    mask = agreed(mask)
    if mask.hidden or mask.names != (name,):
        needed = "choose the same cells in every slice" if mask.dims == (name,) else "have that dim alone"
        raise AxisError(
            f"a boolean index for {name!r} must {needed}, got {describe(mask)}; use where(...), or "
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
        if not np.size(raw) or int(np.asarray(raw, np.intp).view(np.uintp).max()) < size:  # one pass: negative is large
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
