"""Differences, integrals, interpolation and signals along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.positional.array import ordered
from namedgrad.positional.axis import apart, cast_as, double, flat, name_of, named, names_of
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.functions.creation import filled, nested
from namedgrad.positional.functions.joining import concatenate
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules import elementwise as e
from namedgrad.rules import movement
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.linalg.products import cross as of_vectors
from namedgrad.rules.movement.cuts import part_of, uncut_slice
from namedgrad.rules.reductions import any as some
from namedgrad.rules.resampling.interp import interp as interpolated
from namedgrad.rules.signal import convolution
from namedgrad.rules.signal.calculus import differentiate
from namedgrad.rules.sorting import argsort_of
from namedgrad.rules.structure import add, multiply, not_equal, relabel, subtract, total, where

# ------------------------------------------------------------------------------------------------ differences


def _attached(value: Any, x: DimArray, axis: int) -> DimArray:
    v = numbered(value)
    return v if v.ndim else filled(tuple(1 if i == axis else s for i, s in enumerate(x.shape)), v, None, x)


@implements(np.diff, view="self")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> DimArray:
    x = numbered(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)
    if n == 0:
        return x
    more = [None if v is None else _attached(v, x, axis) for v in (prepend, append)]
    parts = [p for p in (more[0], x, more[1]) if p is not None]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    name = name_of(x, axis)
    for _ in range(n):
        x = (
            not_equal(part_of(x, name, 1, None), part_of(x, name, None, -1))
            if x.dtype.kind == "b"
            else movement.diff(x, name)
        )
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> DimArray:
    middle = diff(flat(numbered(ary)))
    ends = (nested(v, middle) if isinstance(v, (int, float, list, tuple)) else v for v in (to_begin, to_end))
    parts = [None if v is None else cast_as(flat(numbered(v)), middle.dtype, "same_kind", "ediff1d") for v in ends]
    return concatenate([p for p in (parts[0], middle, parts[1]) if p is not None])


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = numbered(f)
    x = floating(x)
    names = names_of(x, axis)
    steps = [*varargs] if varargs else [1.0]
    steps = steps * len(names) if len(steps) == 1 and not np.ndim(steps[0]) else steps
    if len(steps) != len(names):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    out = []
    for name, h in zip(names, map(numbered, steps)):
        if h.ndim > 1 or (h.ndim and h.shape[0] != extent(x, name)):
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        at = named(h, (name,)) if h.ndim else h
        out.append(ordered(differentiate(x, at, name, edge_order), x.dims))
    return out[0] if len(out) == 1 else tuple(out)


# ------------------------------------------------------------------------------------------------ integrals, products


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> DimArray:
    f = numbered(y)
    name = name_of(f, axis)
    sides = add(part_of(f, name, 1, None), part_of(f, name, None, -1))
    width = numbered(dx)
    if x is None and not width.ndim:
        return multiply(multiply(total(sides, (name,)), c(0.5)), width)
    if x is not None:
        at = numbered(x)
        width = movement.diff(named(at, (name,)) if at.ndim == 1 else at, name)
    sides, width = meet(sides, width)
    return total(multiply(c(0.5), multiply(sides, width)), (name,))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> DimArray:
    if axis is not None:
        axisa = axisb = axisc = axis
    both = [_vectors(numbered(v), i) for v, i in ((a, axisa), (b, axisb))]
    if all(extent(p, CELL) == 2 for p in both):
        u, v = ([movement.slice_of(p, CELL, i) for i in (0, 1)] for p in both)
        return subtract(multiply(*meet(u[0], v[1])), multiply(*meet(u[1], v[0])))
    out = of_vectors(*meet(*(uncut_slice(p, CELL, slice(0, 2), 3) if extent(p, CELL) == 2 else p for p in both)), CELL)
    rest = axes.in_order(n for n in out.dims if n is not CELL)
    at = normalize_axis_index(axisc, out.ndim)
    return ordered(out, (*rest[:at], CELL, *rest[at:]))


CELL = axes.fresh("cell")


def _vectors(x: DimArray, axis: int) -> DimArray:
    name = name_of(x, axis)
    if extent(x, name) not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    rest = [n for n in x.dims if n is not name]
    count = len(rest)
    return relabel(x, {name: CELL, **{n: axes.axis(i - count) for i, n in enumerate(rest)}})


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DimArray:
    if any(numbered(x).shape[axis] != 3 for x in (x1, x2)):
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross(x1, x2, axis=axis)


# ------------------------------------------------------------------------------------------------ interpolation


KNOT = axes.fresh("knot")


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> DimArray:
    at, known, values = (double(numbered(v)) for v in (x, xp, fp))
    if known.ndim != 1 or known.shape != values.shape or not known.size:
        raise ValueError(
            f"np.interp needs xp and fp of one axis and one length, got shapes {known.shape} and {values.shape}"
        )
    known, values = named(known, (KNOT,)), named(values, (KNOT,))
    at = apart(at, "place")
    own = at.dims
    if period is not None:
        at, known, values = _periodic(at, known, values, period)
        left = right = None
    lost = some(not_equal(known, known), KNOT)  # among knots without an order nothing can be found
    at = where(lost, c(math.nan), at)
    low, high = (movement.slice_of(values, KNOT, i) for i in (0, extent(known, KNOT) - 1))
    fill = (low if left is None else numbered(left), high if right is None else numbered(right))
    return ordered(interpolated(values, at, known, dim=KNOT, fill_value=fill, assume_sorted=True), own)


def _periodic(at: DimArray, known: DimArray, values: DimArray, period: Any) -> tuple[DimArray, ...]:
    """One more knot on either side."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    length = numbered(abs(period))
    at, known = e.remainder(at, length), e.remainder(known, length)
    order = argsort_of(stop_gradient(known), KNOT)
    known, values = (gather(v, {KNOT: order}) for v in (known, values))
    (first, low), (last, high) = ([part_of(v, KNOT, *ends) for v in (known, values)] for ends in ((0, 1), (-1, None)))
    known = movement.join([subtract(last, length), known, add(first, length)], KNOT)
    return at, known, movement.join([high, values, low], KNOT)


# ------------------------------------------------------------------------------------------------ signals

LINE = axes.fresh("line")


def _two(a: Any, v: Any) -> tuple[DimArray, DimArray]:
    """Both operands along one axis; a number is an array of one cell."""
    x, y = (flat(x) if not x.ndim else x for x in map(numbered, (a, v)))
    for what, z in (("a", x), ("v", y)):
        if z.ndim != 1:
            raise ValueError("object too deep for desired array")
        if not z.shape[0]:
            raise ValueError(f"{what} cannot be empty")
    return named(x, (LINE,)), named(y, (LINE,))


def _mode(mode: str | int) -> str:
    """NumPy has numbers for them, too."""
    return mode if isinstance(mode, str) or mode not in range(3) else ("valid", "same", "full")[mode]  # type: ignore[return-value]


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str | int = "full") -> DimArray:
    return convolution.convolve(*_two(a, v), LINE, _mode(mode))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str | int = "valid") -> DimArray:
    return convolution.correlate(*_two(a, v), LINE, _mode(mode))
