"""Arrays joined, repeated and padded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes, backends
from namedgrad.array import DimArray
from namedgrad.linear import Like
from namedgrad.positional.array import ordered
from namedgrad.positional.axis import along, at_least, cast_as, expand, flat, granted, name_of, pairs, reshape, seats
from namedgrad.positional.broadcasting import stretch
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, static
from namedgrad.rules import movement
from namedgrad.rules.indexing import take
from namedgrad.rules.movement.padding import STATISTICS, pad_axis
from namedgrad.rules.movement.repeating import repeat_cells, tile_cells
from namedgrad.rules.structure import cast, constant_like, relabel, spread
from namedgrad.trace import innermost


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> DimArray:
    parts = [numbered(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [flat(p) for p in parts], 0
    first = parts[0]
    if not first.ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    name = name_of(first, axis)
    at = first.dims.index(name)
    shapes = [(*shape[:at], *shape[at + 1 :]) if len(shape := p.shape) == first.ndim else None for p in parts]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, got shapes "
            + " ".join(str(q.shape) for q in parts)
        )
    parts = _alike(parts, dtype, casting)
    return ordered(movement.join(parts, name) if len(parts) > 1 else parts[0], first.dims)


def _alike(parts: list[DimArray], dtype: Any, casting: str) -> list[DimArray]:
    """Parts in the dtype that is asked for, if one is."""
    if dtype is None and casting not in ("no", "equiv"):
        return parts
    dtype = np.result_type(*(p.dtype for p in parts)) if dtype is None else dtype
    return [cast_as(p, np.dtype(dtype), casting, "concatenate") for p in parts]


def _on_one_device(arrays: Any) -> list[DimArray]:
    """Operands; numbers among them are where the arrays are, if those do not meet arrays of the host."""
    parts = [numbered(a) for a in arrays]
    away = [p for p in parts if not backends.backend_of(innermost(p).raw).meets_host]
    if not away:
        return parts
    return [constant_like(p.raw, away[0]) if p.level is None and backends.is_number(p.raw) else p for p in parts]


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> DimArray:
    parts = _on_one_device(arrays)
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape" if parts else "need at least one array to stack")
    dims = parts[0].dims
    at = normalize_axis_index(axis, len(dims) + 1)
    new = seats(len(dims) + 1, dims)[at]
    return ordered(movement.join(_alike(parts, dtype, casting), new), (*dims[:at], new, *dims[at:]))


def _two(a: Any) -> DimArray:
    return at_least(numbered(a), 2)


def _column(a: Any) -> DimArray:
    x = numbered(a)
    return reshape(x, (-1, 1)) if x.ndim < 2 else x


def _deep(a: Any) -> DimArray:
    x = _two(a)
    return x if x.ndim > 2 else expand(x, [2])


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> DimArray:
    parts = [at_least(a, 1) for a in _on_one_device(tup)]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def _stacked(shape: Any, tup: Any, axis: int, **options: Any) -> DimArray:
    return concatenate([shape(a) for a in _on_one_device(tup)], axis, **options)


implements(np.vstack)(
    lambda tup, *, dtype=None, casting="same_kind": _stacked(_two, tup, 0, dtype=dtype, casting=casting)
)
implements(np.dstack)(lambda tup: _stacked(_deep, tup, 2))
implements(np.column_stack)(lambda tup: _stacked(_column, tup, 1))
implements(np.append)(lambda arr, values, axis=None: concatenate(_on_one_device([arr, values]), axis))


@implements(np.block)
def block(arrays: Any) -> DimArray:
    depth, parts = _depth(arrays), _leaves(arrays)
    count = max(depth, *(numbered(p).ndim for p in parts))
    return _block(arrays, depth, count)


def _depth(arrays: Any) -> int:
    return 1 + _depth(arrays[0]) if isinstance(arrays, list) else 0


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for a in arrays for leaf in _leaves(a)] if isinstance(arrays, list) else [arrays]


def _block(arrays: Any, depth: int, count: int) -> DimArray:
    if isinstance(arrays, list):
        return concatenate([_block(a, depth - 1, count) for a in arrays], -depth)
    return at_least(numbered(arrays), count)


# ------------------------------------------------------------------------------------------------ repeated


def positions(x: DimArray, axis: int | None, index: Any) -> DimArray:
    """Cells at plain positions of one axis; None flattens first."""
    if axis is None:
        x, axis = flat(x), 0
    return take(x, np.asarray(index), name_of(x, axis))


@implements(np.repeat, method=True)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> DimArray:
    x = numbered(a)
    x, name = along(x, granted(x, axis))
    times = np.asarray(static(repeats, "np.repeat: repeats"))
    return repeat_cells(x, name, times[0] if times.shape == (1,) else times)


@implements(np.tile)
def tile(A: Any, reps: Any) -> DimArray:
    x = numbered(A)
    static(reps, "np.tile: reps")
    times = tuple(reps) if np.iterable(reps) else (reps,)
    x = at_least(x, len(times))
    times = (1,) * (x.ndim - len(times)) + times
    for axis, k in enumerate(times):
        if k != 1:
            x = tile_cells(x, name_of(x, axis), int(k))
    return x


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> DimArray:
    x = flat(numbered(a))
    if not x.size:  # of nothing are made zeros
        x = cast(movement.pad(x, {axes.axis(-1): (0, 1)}, constant_values=0), x.dtype)
    shape = tuple(new_shape) if np.iterable(new_shape) else (new_shape,)
    return reshape(positions(x, 0, np.resize(np.arange(x.size), shape).reshape(-1)), shape)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> DimArray:
    x = numbered(arr)
    if axis is None:
        x, axis = flat(x), 0
    return positions(x, axis, np.delete(np.arange(x.shape[axis]), static(obj, "np.delete: obj")))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> DimArray:
    x = numbered(arr)
    if axis is None:
        x, axis = flat(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    size = x.shape[axis]
    at = np.arange(*obj.indices(size)) if isinstance(obj, slice) else np.asarray(static(obj, "np.insert: obj"))
    at = np.flatnonzero(at) if at.dtype.kind == "b" else at if at.size else at.astype(np.intp)
    v, count = numbered(values), at.size
    if count == 1:  # all the values go to this place
        v = at_least(v, x.ndim)
        if at.ndim == 0:  # np.insert moves the first axis of the values to this one
            order = [*range(1, v.ndim)]
            order.insert(axis, 0)
            v = ordered(v, [v.dims[i] for i in order])
        count = v.shape[axis]
    new = stretch(v, tuple(count if i == axis else s for i, s in enumerate(x.shape)))
    where = np.insert(np.arange(size), at, np.arange(size, size + count))
    return positions(concatenate([x, cast(new, x.dtype)], axis), axis, where)


# ------------------------------------------------------------------------------------------------ padded

# The argument that each mode knows, and what it is by default.
_OPTIONS: dict[str, tuple[str, Any]] = {
    "constant": ("constant_values", 0),
    "empty": ("", 0),
    "linear_ramp": ("end_values", 0),
    "edge": ("", None),
    "wrap": ("", None),
    "reflect": ("reflect_type", None),
    "symmetric": ("reflect_type", None),
    **dict.fromkeys(STATISTICS, ("stat_length", None)),
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> DimArray:
    x = numbered(array)
    static(pad_width, "np.pad: pad_width")
    if not isinstance(mode, str):
        raise TypeError("np.pad with a function has no rule; use one of NumPy's modes")
    if mode not in _OPTIONS:
        raise ValueError(f"mode {mode!r} is not supported")
    key, default = _OPTIONS[mode]
    if options.keys() - {key}:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {options.keys() - {key}}")
    given = options.get(key, default)
    odd, kind = key == "reflect_type" and given == "odd", x.dtype
    sides = [(None, None)] * x.ndim if given is None or key == "reflect_type" else pairs(given, x.ndim)
    for axis, (before, after) in enumerate(pairs(pad_width, x.ndim)):
        if any(np.asarray(w).dtype.kind not in "iu" for w in (before, after)):
            raise TypeError("`pad_width` must be of integral type.")
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if before or after:
            x = ordered(pad_axis(x, name_of(x, axis), (int(before), int(after)), mode, sides[axis], odd=odd), x.dims)
    return x if x.dtype == kind or (kind.kind in "biu" and x.level is not None) else cast(x, kind)  # of any value


# ------------------------------------------------------------------------------------------------ grids


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    xs = [flat(numbered(x)) for x in xi]
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[0], order[1] = 1, 0
    elif indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    names = [axes.local(("grid", i)) for i in range(len(xs))]
    sizes = [x.shape[0] for x in xs]
    out = []
    for i, x in enumerate(xs):
        target = Like(tuple(names), tuple(1 if sparse and j != i else s for j, s in enumerate(sizes)), x.dtype)
        wide = spread(relabel(x, {x.dims[0]: names[i]}), target)
        out.append(ordered(wide, [names[j] for j in order]))
    return tuple(out)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    out = []
    for i, a in enumerate(args):
        x = numbered(a)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = numbered(np.flatnonzero(a))
        out.append(expand(x, [j for j in range(len(args)) if j != i]))
    return tuple(out)
