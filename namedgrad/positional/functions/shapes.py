"""Shape and order of axes: mostly views, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.positional.array import PositionalArray, numbers, ordered, view_of, wrap
from namedgrad.positional.axis import expand, granted, name_of, names_of, seats, squeeze
from namedgrad.positional.axis import reshape as reshaped
from namedgrad.positional.broadcasting import joint_sizes, stretch
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, run, static
from namedgrad.positional.views import as_it_lies
from namedgrad.rules import movement
from namedgrad.rules.windows.views import windows

# ------------------------------------------------------------------------------------------------ order of axes


@implements(np.transpose, np.permute_dims, view="rw")
def transpose(a: Any, axes: Any = None) -> DimArray:
    x = numbered(a)
    if axes is None:
        return ordered(x, x.dims[::-1])
    order = normalize_axis_tuple(axes, x.ndim)
    if len(order) != x.ndim:
        raise ValueError("axes don't match array")
    return ordered(x, [x.dims[i] for i in order])


def _transpose(self: PositionalArray, *axes: Any) -> Any:
    """Axes in another order, reversed if none is given."""
    if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0])):
        (order,) = axes
    else:
        order = axes or None
    return run(self, np.transpose, self.kin, (self, order), {})


@implements(np.swapaxes, view="rw", method=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> DimArray:
    x = numbered(a)
    order = list(range(x.ndim))
    i, j = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.matrix_transpose, np.linalg.matrix_transpose, view="rw")
def matrix_transpose(x: Any, /) -> DimArray:
    return swapaxes(x, -1, -2)


@implements(np.moveaxis, view="rw")
def moveaxis(a: Any, source: Any, destination: Any) -> DimArray:
    count = numbered(a).ndim
    old, new = normalize_axis_tuple(source, count, "source"), normalize_axis_tuple(destination, count, "destination")
    if len(old) != len(new):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [n for n in range(count) if n not in old]
    for to, frm in sorted(zip(new, old)):
        order.insert(to, frm)
    return transpose(a, order)


@implements(np.rollaxis, view="rw")
def rollaxis(a: Any, axis: int, start: int = 0) -> DimArray:
    count = numbered(a).ndim
    axis = normalize_axis_index(axis, count)
    start = start + count if start < 0 else start
    order = [i for i in range(count) if i != axis]
    order.insert(start - (axis < start), axis)
    return transpose(a, order)


# ------------------------------------------------------------------------------------------------ shape


@implements(np.reshape, view="reshape")
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> DimArray:
    return reshaped(numbered(a), shape, order)


def _reshape(self: PositionalArray, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """Another shape, same cells in C order."""
    wanted = shape[0] if len(shape) == 1 else shape
    options = {"order": order} if copy is None else {"order": order, "copy": copy}  # which NumPy 2.0 does not take
    return run(self, np.reshape, self.kin, (self, wanted), options)


@implements(np.ravel, view="reshape", method=True)
def ravel(a: Any, order: str = "C") -> DimArray:
    return reshaped(numbered(as_it_lies(a)), (-1,)) if order == "K" else reshaped(numbered(a), (-1,), order)


def _view(self: PositionalArray, dtype: Any = None) -> Any:
    """The same cells."""
    if dtype is not None and np.dtype(dtype) != self.dtype:
        raise TypeError(f"the memory of {self.dtype} cannot be read as {np.dtype(dtype)}; convert with .astype")
    return view_of(self, self._x, lambda base: base[...])


def _flatten(self: PositionalArray, order: str = "C") -> Any:
    """A copy with one axis."""
    return self.ravel(order).copy()


@implements(np.squeeze, view="rw", method=True)
def squeezed(a: Any, axis: Any = None) -> DimArray:
    x = numbered(a)
    axis = granted(x, axis)
    return squeeze(x, tuple(n for n, s in x.sizes.items() if s == 1) if axis is None else names_of(x, axis))


@implements(np.expand_dims, view="rw")
def expand_dims(a: Any, axis: Any) -> DimArray:
    x = numbered(a)
    new = axis if isinstance(axis, (tuple, list)) else (axis,)
    return expand(x, normalize_axis_tuple(new, x.ndim + len(new)))


def _at_least(count: int, places: dict[int, tuple[int, ...]]) -> Any:
    def one(a: Any) -> Any:
        a = a if isinstance(a, PositionalArray) else np.asarray(a)
        return a if a.ndim >= count else np.expand_dims(a, places[a.ndim])

    def function(*arys: Any) -> Any:
        out = tuple(one(a) for a in arys)
        return out if len(out) != 1 else out[0]

    return function


atleast_1d = implements(np.atleast_1d)(_at_least(1, {0: (0,)}))
atleast_2d = implements(np.atleast_2d)(_at_least(2, {0: (0, 1), 1: (0,)}))
atleast_3d = implements(np.atleast_3d)(_at_least(3, {0: (0, 1, 2), 1: (0, 2), 2: (2,)}))


@implements(np.broadcast_to, view="r")
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> DimArray:
    return stretch(numbered(array), shape if isinstance(shape, (tuple, list)) else (shape,))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    xs = [numbered(a) for a in args]
    sizes = joint_sizes(xs)
    shape = [sizes[n] for n in numbers(max(x.ndim for x in xs))]
    return tuple(
        np.broadcast_to(a, shape) if isinstance(a, PositionalArray) else stretch(x, shape) for a, x in zip(args, xs)
    )


# ------------------------------------------------------------------------------------------------ parts


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    size = ary.shape[normalize_axis_index(axis, ary.ndim)]
    parts = np.array_split(np.arange(size), static(indices_or_sections, "np.array_split: sections"))
    lead = (slice(None),) * normalize_axis_index(axis, ary.ndim)
    stops = np.cumsum([len(p) for p in parts])
    return [ary[(*lead, slice(int(stop - len(p)), int(stop)))] for p, stop in zip(parts, stops)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    static(indices_or_sections, "np.split: sections")
    if isinstance(indices_or_sections, (int, np.integer)) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    if isinstance(indices_or_sections, (int, np.integer)):
        return array_split(ary, indices_or_sections, axis)
    stops = [*indices_or_sections, ary.shape[axis]]
    lead = (slice(None),) * normalize_axis_index(axis, ary.ndim)
    return [ary[(*lead, slice(a, b))] for a, b in zip([0, *indices_or_sections], stops)]


implements(np.hsplit)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1))
implements(np.vsplit)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 0))
implements(np.dsplit)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 2))


def _unstack(x: Any, /, *, axis: int = 0) -> Any:
    lead = (slice(None),) * normalize_axis_index(axis, x.ndim)
    return tuple(x[(*lead, i)] for i in range(x.shape[axis]))


if hasattr(np, "unstack"):  # NumPy 2.1
    implements(np.unstack)(_unstack)


@implements(np.diagonal, view="r", method=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DimArray:
    x = numbered(a)
    return diagonal_of(x, name_of(x, axis1), name_of(x, axis2), offset)


implements(np.linalg.diagonal, view="r")(lambda x, /, *, offset=0: diagonal(x, offset, -2, -1))


def diagonal_of(x: DimArray, row: Any, col: Any, offset: int = 0) -> DimArray:
    """The diagonal of two axes, as the last axis."""
    rest = [n for n in x.dims if n not in (row, col)]
    name = seats(len(rest) + 1, rest)[-1]
    return ordered(movement.diagonal(x, (row, col), int(offset), new_dim=name), (*rest, name))


@implements(np.trace, method=True)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    from namedgrad.positional.functions.reductions import sum as total

    return total(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


# ------------------------------------------------------------------------------------------------ order of cells


def _reversed(x: DimArray, names: Any) -> DimArray:
    return movement.flip(x, names) if names else x


@implements(np.flip, view="rw")
def flip(m: Any, axis: Any = None) -> DimArray:
    x = numbered(m)
    return _reversed(x, names_of(x, axis))


implements(np.fliplr, view="rw")(lambda m: flip(m, 1))
implements(np.flipud, view="rw")(lambda m: flip(m, 0))


@implements(np.rot90, view="rw")
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> DimArray:
    first, second = (normalize_axis_index(a, numbered(m).ndim) for a in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    if k % 4 == 0:
        return numbered(m)
    if k % 4 == 2:
        return flip(m, (first, second))
    return swapaxes(flip(m, second), first, second) if k % 4 == 1 else flip(swapaxes(m, first, second), second)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> DimArray:
    x = numbered(a)
    if axis is None:
        return reshaped(roll(reshaped(x, (-1,)), shift, 0), x.shape)
    table: dict[Any, int] = {}
    if isinstance(shift, PositionalArray) and not (shift.ndim or np.ndim(axis)):  # one per slice
        size = x.shape[normalize_axis_index(axis, x.ndim)]
        return numbered(np.take(wrap(x), np.mod(np.arange(size) - shift, size), axis))
    static(shift, "np.roll: shift")
    along = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    pairs = np.broadcast(np.asarray(shift), along)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, i in pairs:
        n = name_of(x, int(i))
        table[n] = table.get(n, 0) + int(by)
    return movement.roll(x, table)


# ------------------------------------------------------------------------------------------------ windows


@implements(np.lib.stride_tricks.sliding_window_view, view="r")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> DimArray:
    v = numbered(x)
    shape = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    names = (
        v.dims if axis is None else tuple(name_of(v, a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    )
    if len(names) != len(shape):
        raise ValueError(f"Must provide matching length window_shape and axis; got {len(shape)} and {len(names)}")
    old, new = v.dims, []
    for n, size in zip(names, shape):
        if size < 1 or size > extent(v, n):
            raise ValueError(
                f"window shape cannot be larger than input array shape: {size} along an axis of {extent(v, n)}"
            )
        new.append(axes.local(("window", n)))
        v = windows(v, n, new[-1], int(size))
    return ordered(v, (*old, *new))


for _name, _value in {
    "transpose": _transpose, "reshape": _reshape, "flatten": _flatten, "view": _view,
    "T": property(_transpose), "mT": property(np.matrix_transpose),
}.items():  # fmt: skip
    setattr(PositionalArray, _name, _value)
