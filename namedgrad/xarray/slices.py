"""``apply_ufunc(vectorize=True)``: a function of one slice, for all slices at once.

xarray wraps the function in ``numpy.vectorize``, a loop that takes plain arrays only.  Here the looped axes are hidden
instead, so the function runs once and sees what it would see in the loop.  A function that asks for the values of its
slice (to branch, or to leave cells out) cannot run so; it is called for each slice, as the loop would: for plain slices
of axes that were hidden before, too, if nothing in them is differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import TraceError
from namedgrad.axes import Name
from namedgrad.linear import Like
from namedgrad.positional.array import PositionalArray, numbers, renumber, wrap
from namedgrad.positional.broadcasting import joint_sizes, squeezed
from namedgrad.positional.operands import positional, unwrap
from namedgrad.rules.structure import cast, relabel, reorder, spread


def of_slices(function: Callable[..., Any], core: Sequence[int], outputs: int, kinds: Any) -> Callable[..., Any]:
    """A function of many slices: so many axes of each argument are the function's own."""

    def call(*args: Any) -> Any:
        try:
            return _at_once(function, args, core, outputs, kinds)
        except TraceError:
            names = tuple(dict.fromkeys(n for a in args if isinstance(a, PositionalArray) for n in a.vectorized))
            if not names or not all(map(_is_plain, args)):
                return _one_by_one(function, args, core, kinds)
            found = _one_by_one(function, _in_front(args, core, names), core, kinds)
            return tuple(positional(r, names) for r in found) if isinstance(found, tuple) else positional(found, names)

    return call


def _depth(a: Any, own: int) -> int:
    return max(np.ndim(a) - own, 0) if isinstance(a, PositionalArray) or backends.is_array(a) else 0


def _at_once(function: Any, args: Any, core: Sequence[int], outputs: int, kinds: Any) -> Any:
    depths = [_depth(a, own) for a, own in zip(args, core)]
    loops: list[Name] = [axes.fresh("slice") for _ in range(max(depths))]
    arrays = {i: unwrap(a) for i, a in enumerate(args) if depths[i]}
    named = {}
    for i, x in arrays.items():
        own = numbers(x.ndim)[: depths[i]]
        named[i] = relabel(x, dict(zip(own, loops[len(loops) - depths[i] :], strict=True)))
    sizes = joint_sizes([_only(x, loops) for x in named.values()])
    given = list(args)
    for i, x in named.items():
        y = squeezed(x, {n: s for n, s in sizes.items() if n in loops})
        given[i] = wrap(renumber(relabel(y, {}, hide=tuple(n for n in loops if n in y.names))))
    result = function(*given)
    if outputs == 1:
        return _shown(result, loops, sizes, _kind(kinds, 0))
    return tuple(_shown(r, loops, sizes, _kind(kinds, k)) for k, r in enumerate(result))


def _only(x: Any, loops: Sequence[Name]) -> Any:
    """Named like the loops, for their sizes."""
    core = [n for n in x.dims if n not in loops]
    return relabel(x, {}, hide=tuple(core)) if core else x


def _kind(kinds: Any, k: int) -> Any:
    return None if kinds is None else kinds[k]


def _shown(result: Any, loops: Sequence[Name], sizes: Any, kind: Any) -> PositionalArray:
    x = unwrap(result)
    x = relabel(x, {}, show=tuple(n for n in loops if n in x.hidden))
    core = tuple(n for n in x.dims if n not in loops)
    missing = tuple(n for n in loops if n not in x.names)
    if missing:
        x = spread(x, Like((*missing, *x.names), (*(sizes[n] for n in missing), *x.full_shape), x.dtype))
    if kind is not None and np.dtype(kind).kind in "fc":
        x = cast(x, kind)
    rest = tuple(n for n in x.names if n in x.hidden)
    return wrap(renumber(reorder(x, (*rest, *loops, *core))))


def _one_by_one(function: Any, args: Any, core: Sequence[int], kinds: Any) -> Any:
    depths = [_depth(a, own) for a, own in zip(args, core)]
    shape = np.broadcast_shapes(*(np.shape(a)[:d] for a, d in zip(args, depths)))
    if not math.prod(shape):
        raise ValueError("cannot call a function of slices where there are none")
    full = [np.broadcast_to(a, (*shape, *np.shape(a)[d:])) if d else a for a, d in zip(args, depths)]
    results = [function(*(a[i] if d else a for a, d in zip(full, depths))) for i in np.ndindex(shape)]
    if isinstance(results[0], tuple):
        return tuple(_stacked(parts, shape, _kind(kinds, k)) for k, parts in enumerate(zip(*results, strict=True)))
    return _stacked(results, shape, _kind(kinds, 0))


def _is_plain(a: Any) -> bool:
    """Whether a function that takes plain arrays may be given the slices: nothing in them is differentiated."""
    return not isinstance(a, PositionalArray) or (a._x.level is None and type(a._x.raw) is np.ndarray)


def _in_front(args: Sequence[Any], core: Sequence[int], names: Sequence[Name]) -> list[Any]:
    """Plain arrays, with the axes of these names in front of all that are looped over."""
    depths = [_depth(a, own) for a, own in zip(args, core)]
    out = list(args)
    for i, (a, depth) in enumerate(zip(args, depths)):
        if isinstance(a, PositionalArray):
            shown = a.devectorize(*(n for n in names if n in a.vectorized)) if a.vectorized else a
            lead = [a.vectorized_sizes.get(n, 1) for n in names] + [1] * (max(depths) - depth)
            out[i] = np.reshape(shown.data, (*lead, *a.shape))
    return out


def _stacked(parts: Sequence[Any], shape: tuple[int, ...], kind: Any) -> Any:
    first = next((p for p in parts if isinstance(p, PositionalArray)), None)
    rows = [p if first is None or isinstance(p, PositionalArray) else np.asarray(p, like=first) for p in parts]
    out = np.stack(rows)
    out = np.reshape(out, (*shape, *out.shape[1:]))
    return out if kind is None or np.dtype(kind).kind not in "fc" else out.astype(kind)
