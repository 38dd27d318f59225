"""Differences, integrals, interpolation, polynomials and signals along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.positional.array import meet, numbered, ordered
from namedgrad.positional.axis import expand, flat, name_of, named, names_of
from namedgrad.positional.functions.creation import constant, filled
from namedgrad.positional.functions.joining import concatenate
from namedgrad.positional.protocol import implements
from namedgrad.rules import contraction, movement, windows
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.structure import add, cast, constant_like, multiply, not_equal, relabel, subtract, total, where

# ------------------------------------------------------------------------------------------------ differences


def cut(x: DimArray, name: Name, start: int | None, stop: int | None) -> DimArray:
    """A range of one axis."""
    return movement.slice_of(x, name, slice(*slice(start, stop).indices(extent(x, name))))


def _attached(value: Any, x: DimArray, axis: int) -> DimArray:
    v = numbered(value)
    return v if v.ndim else filled(tuple(1 if i == axis else s for i, s in enumerate(x.shape)), v, None, x)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> DimArray:
    x = numbered(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)
    more = [None if v is None else _attached(v, x, axis) for v in (prepend, append)]
    parts = [p for p in (more[0], x, more[1]) if p is not None]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    name = name_of(x, axis)
    for _ in range(n):
        x = (
            not_equal(cut(x, name, 1, None), cut(x, name, None, -1))
            if x.dtype.kind == "b"
            else movement.diff(x, name)
        )
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> DimArray:
    middle = diff(flat(numbered(ary)))
    ends = (constant(v, middle) if isinstance(v, (int, float, list, tuple)) else v for v in (to_begin, to_end))
    parts = [None if v is None else cast(flat(numbered(v)), middle.dtype) for v in ends]
    return concatenate([p for p in (parts[0], middle, parts[1]) if p is not None])


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = numbered(f)
    x = x if x.dtype.kind in "fc" else cast(x, "float64")
    names = names_of(x, axis)
    steps = [*varargs] if varargs else [1.0]
    steps = steps * len(names) if len(steps) == 1 else steps
    if len(steps) != len(names):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    out = [_slope(x, n, numbered(h), edge_order) for n, h in zip(names, steps)]
    return out[0] if len(out) == 1 else tuple(out)


def _slope(x: DimArray, name: Name, h: DimArray, edge_order: int) -> DimArray:
    """Second-order differences inside, of ``edge_order`` at the ends, as :func:`numpy.gradient`."""
    size = extent(x, name)
    if size < edge_order + 1:
        raise ValueError(
            f"np.gradient with edge_order={edge_order} needs {edge_order + 1} cells along an axis, got {size}"
        )
    if h.ndim:
        if h.ndim != 1 or extent(h, h.dims[0]) != size:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        d = movement.diff(named(h, (name,)), name)
    else:
        d = multiply(h, constant_like(np.ones(size - 1, x.dtype), x, (name,)))
    d = d if d.dtype.kind in "fc" else cast(d, "float64")
    slopes = e.divide(movement.diff(x, name), d)
    a, b = cut(d, name, None, -1), cut(d, name, 1, None)
    if _even(h):  # the cell itself takes no part, so a NaN in it does not matter
        inner = e.divide(subtract(cut(x, name, 2, None), cut(x, name, None, -2)), add(a, b))
    else:
        left, right = cut(slopes, name, None, -1), cut(slopes, name, 1, None)
        inner = e.divide(add(multiply(b, left), multiply(a, right)), add(a, b))
    first, last = cut(slopes, name, 0, 1), cut(slopes, name, size - 2, size - 1)
    if edge_order == 2:
        first = _extrapolated(first, cut(slopes, name, 1, 2), cut(d, name, 0, 1), cut(d, name, 1, 2))
        last = _extrapolated(
            last, cut(slopes, name, size - 3, size - 2), cut(d, name, size - 2, None), cut(d, name, size - 3, size - 2)
        )
    return ordered(movement.join([first, inner, last] if size > 2 else [first, last], name), x.dims)


def _even(h: DimArray) -> bool:
    """Whether steps are known to be of one size: a number, or equally spaced positions, as NumPy tells them."""
    if not h.ndim:
        return True
    if h.level is not None or h.hidden or not backends.may_look(h.raw):
        return False
    steps = np.diff(h.raw)
    return bool((steps == steps[0]).all())


def _extrapolated(edge: DimArray, next_: DimArray, h: DimArray, k: DimArray) -> DimArray:
    """The slope at the end of a parabola through three points, from its two secants."""
    return add(edge, multiply(e.divide(h, add(h, k)), subtract(edge, next_)))


# ------------------------------------------------------------------------------------------------ integrals, products


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> DimArray:
    f = numbered(y)
    name = name_of(f, axis)
    sides = add(cut(f, name, 1, None), cut(f, name, None, -1))
    if x is None:
        return multiply(multiply(total(sides, (name,)), c(0.5)), numbered(dx))
    at = numbered(x)
    if at.ndim == 1:
        at = named(at, (name,))
    width = movement.diff(at, name)
    sides, width = meet(sides, width)
    return total(multiply(c(0.5), multiply(sides, width)), (name,))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> DimArray:
    if axis is not None:
        axisa = axisb = axisc = axis
    both = (_vectors(numbered(v), i) for v, i in ((a, axisa), (b, axisb)))
    u, v = ([movement.slice_of(p, CELL, i) for i in range(3)] for p in both)
    parts = [subtract(*(multiply(*meet(u[i], v[j])) for i, j in ((k, m), (m, k)))) for k, m in ((1, 2), (2, 0), (0, 1))]
    shape = parts[0]
    at = normalize_axis_index(axisc, shape.ndim + 1)
    return concatenate([expand(p, [at]) for p in parts], at)


CELL = axes.fresh("cell")


def _vectors(x: DimArray, axis: int) -> DimArray:
    name = name_of(x, axis)
    if extent(x, name) != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    rest = [n for n in x.dims if n is not name]
    count = len(rest)
    return relabel(x, {name: CELL, **{n: axes.axis(i - count) for i, n in enumerate(rest)}})


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DimArray:
    return cross(x1, x2, axis=axis)


# ------------------------------------------------------------------------------------------------ interpolation


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> DimArray:
    at, known, values = (_double(numbered(v)) for v in (x, xp, fp))
    if period is not None:
        raise TypeError(
            "np.interp with period= has no rule; append the first point, shifted by the period, to xp and fp"
        )
    if known.ndim != 1 or known.shape != values.shape or not known.size:
        raise ValueError(
            f"np.interp needs xp and fp of one axis and one length, got shapes {known.shape} and {values.shape}"
        )
    knot, size = axes.fresh("knot"), known.shape[0]
    known, values = named(known, (knot,)), named(values, (knot,))
    own = [axes.fresh(n) for n in at.dims]
    at = named(at, own)
    points = stop_gradient(at)
    upper = e.clip(_right_of(stop_gradient(known), knot, points), 1, max(size - 1, 1))
    (x0, y0), (x1, y1) = (
        [_pick(v, knot, i) for v in (known, values)] for i in (subtract(upper, c(1)), e.minimum(upper, c(size - 1)))
    )
    width = subtract(x1, x0) if size > 1 else c(1.0)
    y = add(y0, multiply(e.divide(subtract(at, x0), width), subtract(y1, y0)))
    (first, low), (last, high) = ([movement.slice_of(v, knot, i) for v in (known, values)] for i in (0, size - 1))
    y = where(e.less(points, stop_gradient(first)), low if left is None else numbered(left), y)
    y = where(e.greater(points, stop_gradient(last)), high if right is None else numbered(right), y)
    return ordered(y, own)


def _double(x: DimArray) -> DimArray:
    return cast(x, "complex128" if x.dtype.kind == "c" else "float64")


def _pick(x: DimArray, name: Name, index: DimArray) -> DimArray:
    return gather(x, {name: index})


def _right_of(known: DimArray, knot: Name, points: DimArray) -> DimArray:
    """How many knots are not greater than each point."""
    raw = known.raw
    if known.hidden or not backends.may_look(raw) or not backends.may_look(points.raw):
        return total(cast(e.less_equal(known, points), np.intp), (knot,))
    return make(np.searchsorted(raw, points.raw, "right"), points.names, points.hidden)


# ----------------------------------------------------------------------------------------------- polynomials, signals


@implements(np.polyval)
def polyval(p: Any, x: Any) -> DimArray:
    coefficients, at = numbered(p), numbered(x)
    out = multiply(at, c(0))
    (name,) = coefficients.dims
    for i in range(extent(coefficients, name)):
        out = add(multiply(out, at), movement.slice_of(coefficients, name, i))
    return out


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> DimArray:
    x, y = numbered(a), numbered(v)
    if extent(y, y.dims[0]) > extent(x, x.dims[0]):
        x, y = y, x
    m = y.shape[0]
    pads = {"full": (m - 1, m - 1), "same": ((m - 1) - (m - 1) // 2, (m - 1) // 2), "valid": (0, 0)}
    if mode not in pads:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    place, offset = axes.fresh("place"), axes.fresh("offset")
    before, after = pads[mode]
    x = (
        movement.pad(named(x, (place,)), {place: (before, after)}, constant_values=0)
        if before or after
        else named(x, (place,))
    )
    runs = windows.windows(x, place, offset, m)
    return ordered(contraction.dot(runs, movement.flip(named(y, (offset,)), offset), dim=(offset,)), (place,))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> DimArray:
    x, y = numbered(a), conj_if_complex(numbered(v))
    return convolve(x, movement.flip(y, y.dims[0]), mode)
