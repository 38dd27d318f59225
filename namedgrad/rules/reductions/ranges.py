"""Functions of cells whose powers would leave the range of numbers, found by scaled cells."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.reductions.common import count_of
from namedgrad.rules.reductions.extremes import max
from namedgrad.rules.structure import if_likely, isfinite, not_equal, relabel, reorder, spread, where
from namedgrad.squares import as_length, known_of
from namedgrad.trace import Level, Traced, demote, innermost, is_demoted


def size_of(x: DimArray, dims: Names, *, skipna: bool | None, leading: Callable[..., DimArray] = max) -> DimArray:
    """What vectors are divided by such that the powers of their leading cells are near 1; no gradient passes."""
    if x.dtype.kind not in "fc" or not count_of(x, dims):  # squares of integers are in the range of doubles
        return c(1.0)
    size = stop_gradient(leading(absolute(x), dims, skipna=skipna))
    usable = e.logical_and(isfinite(size), not_equal(size, c(0)))
    return where(usable, e.maximum(size, c(float(np.finfo(size.dtype).tiny))), c(1.0))


def by_scaled(
    f: Callable[[DimArray], DimArray],
    x: DimArray,
    down: Callable[[DimArray], DimArray],
    up: Callable[[DimArray], DimArray],
) -> DimArray:
    """``up(f(down(x)))`` of a function that is proportional to its operand, so that this is ``f(x)``.

    Its slope is that of ``f`` where the scaled cells are: a cotangent that met the scale, and behind ``f`` its
    reciprocal, would leave the range, as those of squares of tiny norms do.  How the slope moves with ``x`` is seen one
    level down.
    """
    if x.level is None:
        return up(f(down(x)))
    if not x.level.fast and is_demoted(x.level):
        return by_scaled(f, demote(x.level, [x])[0], down, up)
    out = f(_scaled(x, x.level, down))
    if out.level is not x.level:  # nothing is differentiated
        return up(out)
    value = up(out.value) if x.value.level is None else by_scaled(f, _one_down(x, x.level), down, up)
    return Traced(reorder(value, out.names), out.level, out.node)


def _scaled(x: DimArray, level: Level, down: Callable[[DimArray], DimArray]) -> DimArray:
    """Scaled cells, with the slopes of those that are not; so is what is known of a length.

    Its square is scaled twice, and the slope of it, which is that of a cell times twice one that is scaled, once.
    """
    if not isinstance(x, Traced) or x.level is not level:
        return down(x)
    value = down(x.value)
    if more := [n for n in value.names if n not in x.names]:  # which cells, or what is known of a length, may lack
        wide = relabel(spread(x, value), {}, hide=tuple(n for n in more if n in value.hidden))
        return _scaled(wide, level, down)
    out = Traced(reorder(value, x.names), level, x.node)
    return known_of(x, out, lambda y: _scaled(y, level, down), lambda y: _scaled(down(y), level, down), lambda y: y)


def _one_down(x: DimArray, level: Level) -> DimArray:
    """The value, of which the same is known."""

    def value(y: Any) -> Any:
        return y.value if isinstance(y, Traced) and y.level is level else y

    return known_of(x, value(x), value, value, value)


def root_of(y: DimArray, square: DimArray) -> DimArray:
    """``y``, known to be the root of an array."""
    return as_length(y, _itself, square, flat=False)


def _itself(x: DimArray) -> DimArray:
    return x


def in_range(out: DimArray, order: float) -> bool:
    """Whether norms are known to be so near 1 that the powers of no cell that counts overflow or vanish."""
    raw = innermost(out).raw
    backend = backends.backend_of(raw)
    if not backend.may_branch or backends.is_recording():
        return False
    edge = _edge(out.dtype, order)
    return not np.size(raw) or bool(np.min(raw) > 1 / edge and np.max(raw) < edge)  # not so if one is NaN


def is_near_1(out: DimArray, order: float) -> DimArray:
    """Where norms are so near 1."""
    edge = _edge(out.dtype, order)
    return e.logical_and(e.greater(out, c(1 / edge)), e.less(out, c(edge)))


@functools.lru_cache(64)
def _edge(dtype: np.dtype[Any], order: float) -> float:
    """The largest norm of which the powers stay; with a negative order tangents of tangents have higher powers."""
    if math.fabs(order) < 1:
        return 1.0
    return float(np.finfo(dtype).max) ** (0.4 / order if order > 0 else 0.8 / (1 - 2 * order))


def rescaled(
    out: DimArray, norms: Sequence[tuple[DimArray, DimArray | None]], order: float, scaled: Callable[[], DimArray]
) -> DimArray:
    """``out`` where the norms of which it is made are so near 1, elsewhere what comes of cells that were ``scaled``.

    It also stays if the cells, which may stand beside a norm, are, but for 0 and NaN.  A program sees where; on devices
    nobody looks.
    """
    if not backends.backend_of(innermost(out).raw).may_branch or all(_powers_stay(n, x, order) for n, x in norms):
        return out
    near = functools.reduce(e.logical_and, [is_near_1(innermost(n), order) for n, _ in norms])
    return reorder(if_likely(near, lambda: out, scaled), out.names)


def _powers_stay(out: DimArray, x: DimArray | None, order: float) -> bool:
    near = in_range(out, order)
    if near or x is None:
        return near
    size = absolute(innermost(x))
    return in_range(where(e.greater(size, c(0)), size, c(1.0)), order)
