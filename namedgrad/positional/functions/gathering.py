"""Cells picked by index arrays, and written by functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, extent
from namedgrad.positional.array import PositionalArray, numbers, ordered
from namedgrad.positional.axis import along, flat, granted, name_of, named, reshape, seats
from namedgrad.positional.broadcasting import pair, squeezed
from namedgrad.positional.functions.shapes import diagonal_of
from namedgrad.positional.indexing import index_array, placed
from namedgrad.positional.operands import numbered, whole
from namedgrad.positional.protocol import implements
from namedgrad.rules import elementwise as e
from namedgrad.rules import indexing
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, cast, constant_like, equal, multiply
from namedgrad.rules.structure import select as keep

# ------------------------------------------------------------------------------------------------ picked


def _index(value: Any, size: int, mode: str) -> DimArray:
    given = isinstance(value, PositionalArray) or backends.is_array(value)
    index = index_array(value if given else np.asarray(value))
    if index.dtype.kind == "b":  # as NumPy: places 0 and 1
        index = cast(index, np.intp)
    if mode == "wrap":
        return e.remainder(index, c(size))
    return e.clip(index, 0, size - 1) if mode == "clip" else index


@implements(np.take, method=True)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> DimArray:
    x = numbered(a)
    x, name = along(x, granted(x, axis))
    index = _index(indices, extent(x, name), mode)
    at = x.dims.index(name)
    before, after = x.dims[:at], x.dims[at + 1 :]
    own = seats(x.ndim - 1 + index.ndim, (*before, *after))[at : at + index.ndim]
    index = placed(named(index, own), name, x)
    return ordered(indexing.gather(x, {name: index}), (*before, *own, *after))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> DimArray:
    x = numbered(arr)
    if axis is None:
        x, axis = flat(x), 0
    name = name_of(x, axis)
    index = index_array(indices)
    if index.dtype.kind == "b":
        raise IndexError("`indices` must be an integer array")
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    rest = {n: s for n, s in index.sizes.items() if n is not name}
    wide = {n: s for n, s in x.sizes.items() if n is not name}
    index = placed(squeezed(index, wide), name, x)
    return ordered(indexing.gather(squeezed(x, rest), {name: index}), x.dims)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> DimArray:
    return take(a, np.flatnonzero(condition), axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> DimArray:
    return take(arr, np.flatnonzero(condition))


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> DimArray:
    """By arithmetic, so that places may differ per slice, and programs replay it."""
    sizes = (dims,) if np.ndim(dims) == 0 else tuple(dims)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else mode
    steps = np.cumprod((1, *(sizes[:0:-1] if order == "C" else sizes[:-1])))[:: -1 if order == "C" else 1].tolist()
    if len(multi_index) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    out = c(0)
    for place, size, how, step in zip(multi_index, sizes, modes, steps, strict=True):
        at = cast(_index(place, size, how), np.intp)
        if how == "raise" and backends.may_look(at.raw) and np.any((at.raw < 0) | (at.raw >= size)):
            raise ValueError("invalid entry in coordinates array")
        out = add(*pair(out, multiply(at, c(step))))
    return ordered(out, numbers(out.ndim))


def _refuse_negative(index: DimArray, size: int) -> DimArray:
    """np.choose does not count from the end."""
    if backends.may_look(index.raw) and np.size(index.raw) and int(np.min(index.raw)) < 0:
        raise ValueError(f"np.choose: {int(np.min(index.raw))} is not among the {size} choices")
    return index


@implements(np.choose, method=True)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    from namedgrad.positional.functions.elementwise import where

    index = _index(a, len(choices), mode)
    if mode == "raise":
        index = indexing.wrapped(_refuse_negative(index, len(choices)), "choices", len(choices), index)
    result = choices[-1]
    for i in range(len(choices) - 2, -1, -1):
        result = where(equal(index, c(i)), choices[i], result)
    return result


# ------------------------------------------------------------------------------------------------ triangles, diagonals


def _triangle(make_mask: Any) -> Any:
    def function(m: Any, k: int = 0) -> DimArray:
        x = numbered(m)
        if x.ndim == 1:  # as NumPy repeats it, in every row
            return function(np.broadcast_to(m, 2 * x.shape), k)
        row, col = x.dims[-2:]
        mask = make_mask(np.ones((extent(x, row), extent(x, col)), dtype=bool), k)
        return ordered(keep(constant_like(mask, x, (row, col)), x), x.dims)

    return function


tril = implements(np.tril)(_triangle(np.tril))
triu = implements(np.triu)(_triangle(np.triu))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    x = numbered(v)
    if x.ndim == 2:
        return np.diagonal(v, k) if isinstance(v, PositionalArray) else diagonal_of(x, x.dims[0], x.dims[1], k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    from namedgrad.rules.movement import pad

    (old,) = x.dims
    row, col = axes.local("row"), axes.local("column")
    n = extent(x, old) + abs(k)
    full = pad(x, {old: (0, k) if k >= 0 else (-k, 0)}, constant_values=x.dtype.type(0)) if k else x
    return ordered(keep(constant_like(np.eye(n, k=k, dtype=bool), x, (row, col)), named(full, (row,))), (row, col))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> DimArray:
    return diag(flat(numbered(v)), k)


# ------------------------------------------------------------------------------------------------ written


def _target(a: Any, what: str) -> PositionalArray:
    if not isinstance(a, PositionalArray):
        raise TraceError(
            f"{what} would write values that are being differentiated or vectorized into a plain array; make the array "
            "with np.zeros(shape, like=x)"
        )
    return a


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    p = _target(dst, "np.copyto")
    if where is True:
        p[...] = src
    else:
        p[...] = np.where(where, src, p)


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    p, values = _target(a, "np.putmask"), whole(values)
    v = np.resize(values, p.shape) if np.shape(values) != p.shape and np.ndim(values) else values
    if np.size(values):
        p[...] = np.where(mask, v, p)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    p, v = _target(a, "np.put"), whole(v)
    where = np.reshape(ind, -1)
    if not np.size(v) or not np.size(where):
        return
    value = np.resize(v, where.shape) if np.ndim(v) else v
    from namedgrad.positional.array import wrap

    line = wrap(flat(p._x), p.kin)
    line[wrap(_index(where, p.size, mode))] = value
    p[...] = wrap(reshape(line._x, p.shape), p.kin)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    p = _target(arr, "np.put_along_axis")
    if axis is None:
        put(p, indices, values)
        return
    index = indices if isinstance(indices, PositionalArray) else np.asarray(indices)
    key: list[Any] = [np.arange(s).reshape([-1 if i == j else 1 for j in range(p.ndim)]) for i, s in enumerate(p.shape)]
    key[axis] = index
    p[tuple(key)] = values


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    p, val = _target(a, "np.fill_diagonal"), whole(val)
    if p.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if p.ndim > 2 and len(set(p.shape)) > 1:
        raise ValueError(f"all dimensions of the array must be of equal length, not {p.shape}")
    step = int(np.sum(np.cumprod((1, *p.shape[:0:-1]))))
    end = p.shape[1] ** 2 if p.ndim == 2 and not wrap else None
    at = np.unravel_index(np.arange(p.size)[:end:step], p.shape)
    p[at] = np.resize(val, len(at[0])) if np.ndim(val) else val


def _fill(self: PositionalArray, value: Any) -> None:
    """Set every cell."""
    self[...] = value


PositionalArray.fill = _fill  # type: ignore[attr-defined]
PositionalArray.put = lambda self, indices, values, mode="raise": put(self, indices, values, mode)  # type: ignore[attr-defined]
