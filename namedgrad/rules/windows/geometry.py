"""How windows lie along dims: sizes, strides, dilations and paddings read into spans."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.windows import Span
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, multiply, negative, positions, subtract

Sides = dict[Name, tuple[int, int]]


@functools.cache
def private_name(base: Name) -> Name:
    """A name that no array of the user's has, the same whenever it is asked for."""
    return axes.fresh(base)


def per_dim(value: Any, dims: Mapping[Name, Any], what: str) -> dict[Name, Any]:
    """An option as a value per dim: one for all, or a mapping over the same dims."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(dims, value)
    if unknown := [d for d in value if d not in dims]:
        raise AxisError(f"{what}: {unknown[0]!r} is not one of the windowed dims {tuple(dims)}")
    if missing := [d for d in dims if d not in value]:
        raise AxisError(f"{what}: no value for the windowed dim {missing[0]!r}; give one per dim, or one for all")
    return {d: value[d] for d in dims}


def whole(value: Any, dims: Mapping[Name, Any], what: str, least: int = 1) -> dict[Name, int]:
    """An option that is an integer per dim."""
    found = {d: operator.index(v) for d, v in per_dim(value, dims, what).items()}
    for d, v in found.items():
        if v < least:
            raise ValueError(f"{what} along {d!r} is {v}; it must be at least {least}")
    return found


def with_offsets(dims: Any) -> Mapping[Any, Any]:
    """Dims, each with its dim of offsets in the windows that are folded."""
    if not isinstance(dims, Mapping):
        raise TypeError(
            f"fold: give each dim its dim of offsets, such as {{'x': 'offset'}}, and the sizes as {{'x': 5}}, not {dims!r}; "
            "ng.col2im takes all windows along one dim"
        )
    return dims


def window_sizes(x: DimArray, window: Any, what: str) -> dict[Name, int]:
    """``{dim: size}`` of the windows, every dim checked."""
    if not isinstance(window, Mapping):
        raise TypeError(f"{what}: give the windows as a mapping of dim to size, such as {{'x': 3}}, not {window!r}")
    for d in window:
        check(x, d, what)
    return whole(window, window, f"{what}: the window")


def sides(padding: Any, dims: Mapping[Name, Any], what: str) -> Sides:
    """Cells added before and after, per dim: a number, a pair, or a mapping of dim to either."""
    found = {}
    for d, p in per_dim(padding, dims, f"{what}: padding").items():
        pair = p if isinstance(p, (tuple, list)) else (p, p)
        if len(pair) != 2:
            raise ValueError(f"{what}: padding {p!r} along {d!r} is neither a number nor (before, after)")
        if not all(hasattr(n, "__index__") for n in pair):
            raise TypeError(f"{what}: padding {p!r} along {d!r} is not in cells; give their number, or (before, after)")
        found[d] = (operator.index(pair[0]), operator.index(pair[1]))
    return found


def span(
    x: DimArray, dim: Name, size: int, stride: int, dilation: int, pad: tuple[int, int], what: str, *, ceil: bool = False
) -> Span:
    """The windows along a dim; with ``ceil``, one more that is not full, if it starts before the end."""
    n, (before, after) = extent(x, dim), pad
    room = n + before + after - dilation * (size - 1) - 1
    count = room // stride + 1
    if ceil and room % stride and count * stride < n + before:
        count += 1
    if count < 1:
        raise ValueError(
            f"{what}: windows of {size} cells, {dilation} apart, do not fit into {n} cells and a padding of "
            f"{before} + {after} along {dim!r} of {describe(x)}"
        )
    return Span(size, count, stride, dilation, before)


def members(x: DimArray, dim: Name, s: Span, pad: tuple[int, int] = (0, 0)) -> DimArray:
    """How many of the cells along a dim each window has, those of a padding included: a number if all have as many."""
    n = extent(x, dim)
    at = np.arange(s.number)[:, None] * s.stride + np.arange(s.size) * s.dilation - s.before
    counts = np.unique(((at >= -pad[0]) & (at < n + pad[1])).sum(axis=1))
    if len(counts) < 2:
        return c(int(counts[0]) if len(counts) else 1)
    first = add(multiply(positions(s.number, dim, x), c(s.stride)), c(-s.before))
    low = e.maximum(negative(e.floor_divide(add(first, c(pad[0])), c(s.dilation))), c(0))
    high = e.minimum(e.floor_divide(subtract(c(n + pad[1] - 1 + s.dilation), first), c(s.dilation)), c(s.size))
    return e.maximum(subtract(high, low), c(0))


def new_names(x: DimArray, dims: Mapping[Name, Any], given: Any) -> dict[Name, Name]:
    """Names of the dims of offsets: given, or the dim's with ``_window`` appended."""
    if given is None:
        given = {d: f"{d}_window" if isinstance(d, str) else (d, "window") for d in dims}
    elif not isinstance(given, Mapping):
        if len(dims) > 1:
            raise TypeError("unfold: give the names of several new dims as a mapping of dim to new name")
        given = dict.fromkeys(dims, given)
    names = per_dim(given, dims, "unfold: the new names")
    for d, name in names.items():
        if name in x.names or list(names.values()).count(name) > 1:
            raise AxisError(f"unfold: the new dim {name!r} of {d!r} exists already in {describe(x)}; choose another name")
    return names
