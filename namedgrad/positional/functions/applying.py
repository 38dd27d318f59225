"""A function of lines applied to an array: all lines at once, the other axes hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes, backends
from namedgrad.linear import Like
from namedgrad.positional.array import PositionalArray, kin_of, ordered, wrap
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import bare, implements, rewrapped
from namedgrad.rules.structure import relabel, spread


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    x = numbered(arr)
    if x.level is None and not x.hidden and not backends.is_recording() and x.backend != "dask":  # it guesses shapes
        return rewrapped(np.apply_along_axis(func1d, axis, bare(arr), *args, **kwargs), PositionalArray)
    at = normalize_axis_index(axis, x.ndim)
    others = {n: axes.fresh("line") for i, n in enumerate(x.dims) if i != at}
    lines = relabel(x, {**others, x.dims[at]: axes.axis(-1)}, hide=tuple(others.values()))
    out = numbered(func1d(wrap(lines, kin_of([type(arr)])), *args, **kwargs))
    own = tuple(axes.fresh("result") for _ in out.dims)
    out = relabel(out, dict(zip(out.dims, own, strict=True)))
    return _unhidden(out, x, others, own, at)


def _unhidden(out: Any, x: Any, others: dict[Any, Any], own: tuple[Any, ...], at: int) -> Any:
    """The result with the other axes visible again, where they were; a result without them is the same for all."""
    sizes = {new: x.sizes[old] for old, new in others.items()}
    lacks = tuple(n for n in sizes if n not in out.names)
    shown = relabel(out, {}, show=tuple(n for n in sizes if n in out.names))
    if lacks:
        names, shape = (*lacks, *shown.names), (*(sizes[n] for n in lacks), *shown.full_shape)
        shown = spread(shown, Like(names, shape, shown.dtype))
    rest = tuple(others.values())
    return ordered(shown, (*rest[:at], *own, *rest[at:]))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    out, count = a, np.ndim(a)
    for axis in np.atleast_1d(axes):
        at = int(axis) % count
        result = func(out, at)
        out = result if np.ndim(result) == count else np.expand_dims(result, at)
        if np.ndim(out) != count:
            raise ValueError("function is not returning an array of the correct shape")
    return out
