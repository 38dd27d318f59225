"""Points between two ends: the ends are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.positional.array import numbers, wrap
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules.structure import constant_like


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    count = _count(num)
    parts = count - 1 if endpoint else count
    first, last = np.multiply(start, 1.0), np.multiply(stop, 1.0)
    apart = last - first
    step = apart / parts if parts > 0 else apart * np.nan
    steps = np.arange(count, dtype=apart.dtype).reshape((-1,) + (1,) * np.ndim(apart))
    places = wrap(constant_like(steps, numbered(apart), numbers(steps.ndim)))
    points = places * (step if parts > 0 else apart) + first
    if endpoint and count > 1:
        points = _with_ends(points, None, last)
    if dtype is None:
        points = points.astype(_inexact(start, stop), copy=False)
    else:
        points = (np.floor(points) if np.issubdtype(dtype, np.integer) else points).astype(dtype)
    points = np.moveaxis(points, 0, axis) if axis else points
    return (points, step) if retstep else points


def _inexact(*bounds: Any) -> np.dtype[Any]:
    """The dtype of points between bounds, to which numbers of Python's add their kind alone."""
    kinds = (x if isinstance(x, (int, float, complex)) else numbered(x).dtype for x in bounds)
    return np.result_type(*kinds, 0.0)


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if np.ndim(base):
        shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
        start, stop, base = (np.broadcast_to(a, shape) for a in (start, stop, base))
        base = np.expand_dims(base, axis)
    powers = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else powers.astype(dtype)


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first, last = (np.multiply(a, np.float64(1.0)) for a in (start, stop))  # NumPy's are never single, either
    first, last = first + 0 * last, last + 0 * first
    side = np.sign(first)
    zero = numbered(np.equal(side, 0) | np.equal(last, 0)).raw
    if backends.may_look(zero) and np.any(zero):
        raise ValueError("Geometric sequence cannot include zero")
    points = logspace(np.log10(first / side), np.log10(last / side), num, endpoint) * side
    if len(points):
        points = _with_ends(points, first, last if endpoint and len(points) > 1 else None)
    points = np.moveaxis(points, 0, axis) if axis else points
    return points if dtype is None else points.astype(dtype)


def _count(num: Any) -> int:
    count = int(np.asarray(num).item()) if not hasattr(num, "__index__") else num.__index__()
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    return count


def _with_ends(points: Any, first: Any, last: Any) -> Any:
    """Points with one end or both exactly as given."""
    shape = np.shape(points)[1:]
    ends = [None if e is None else np.expand_dims(np.broadcast_to(e, shape), 0) for e in (first, last)]
    inner = points[0 if first is None else 1 : len(points) if last is None else -1]
    return np.concatenate([part for part in (ends[0], inner, ends[1]) if part is not None])
