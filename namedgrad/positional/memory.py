"""How the cells of an array lie in memory if it is NumPy's: whether a reshape is a view depends on it.

Where that is not simply C order, an array keeps one that lies as NumPy's does, which nobody reads or writes: its cells
are stored here as it suits, and NumPy's own functions, called on the other, tell how what they make lies.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.rules.structure import reorder

if TYPE_CHECKING:
    from namedgrad.positional.array import PositionalArray

Raw = np.ndarray[Any, Any]
UNKNOWN: Any = "unknown"  #: in place of such an array


def lying(p: PositionalArray) -> Raw | None:
    """An array that lies in memory as NumPy's would, or None if that is not known."""
    shows = []
    while p._memory is None and p._view is not None:
        shows.append(p._view.show)
        p = p._view.base
    memory = _in_order(p._x.shape, p._x.dtype) if p._memory is None else p._memory
    if memory is UNKNOWN:
        return None
    for show in reversed(shows):
        memory = show(memory)
    return memory


def on_host(raw: Any) -> Raw:
    """An array of NumPy's that lies as one on a device does; cells of a lazy one lie nowhere."""
    if isinstance(raw, np.ndarray):
        return raw
    if not hasattr(raw, "strides"):
        raise TypeError(UNKNOWN)
    return as_strided(np.zeros(1, raw.dtype), raw.shape, raw.strides)


@functools.lru_cache(64)
def _in_order(shape: tuple[int, ...], dtype: Any) -> Raw:
    return np.zeros(shape, dtype)


def turned(memory: Any, shape: tuple[int, ...]) -> Any:
    """What an array of this shape keeps: nothing where it lies in C order."""
    if not isinstance(memory, np.ndarray) or memory.shape != shape:
        return UNKNOWN if len(shape) > 1 else None
    return None if memory.flags.c_contiguous else memory


def grown(corner: Raw, shape: tuple[int, ...]) -> Raw | None:
    """An array of this shape whose axes are in the order of those of another; None if that is C order."""
    if corner.flags.c_contiguous:
        return None
    order = sorted(range(len(shape)), key=lambda i: -abs(corner.strides[i]))
    return np.zeros([shape[i] for i in order], corner.dtype).transpose(np.argsort(order))


def given(p: PositionalArray, leaf: Any) -> PositionalArray:
    """An array in the place of one that was given, or of a slice along its first axes."""
    memory = lying(leaf) if hasattr(leaf, "_memory") else leaf
    if memory is None:
        p._memory = UNKNOWN
    elif isinstance(memory, np.ndarray) and memory.size and memory.shape[memory.ndim - p.ndim :] == p.shape:
        p._memory = turned(memory[(0,) * (memory.ndim - p.ndim)], p.shape)
    return p


def steps(leaf: Any) -> Any:
    """What tells arrays apart that lie in another way: widths of steps in memory, None in C order."""
    ours = hasattr(leaf, "_memory") and (leaf._memory is not None or leaf._view is not None)
    lies = lying(leaf) if ours else leaf
    return None if not isinstance(lies, np.ndarray) or lies.ndim < 2 or lies.flags.c_contiguous else lies.strides


def order_of_copy(p: PositionalArray, order: Any) -> Any:
    """What a copy keeps."""
    memory = lying(p)
    return UNKNOWN if memory is None else turned(memory.copy(order), p.shape)


def shown(p: PositionalArray) -> PositionalArray:
    """A view, which keeps how it lies unless its axes are in the order of C, with or without gaps."""
    memory = lying(p)
    steps = [] if memory is None else [abs(step) for step, n in zip(memory.strides, memory.shape) if n > 1]
    if memory is None or any(a < b for a, b in pairwise(steps)):
        p._memory = UNKNOWN if memory is None else memory
    return p


def is_plain(operand: Any) -> bool:
    """Whether the axes of an operand are in the order of C; they are if it is no array."""
    if type(operand) is np.ndarray:
        return operand.ndim < 2 or operand.flags.c_contiguous
    return getattr(operand, "_memory", None) is None


def lie_as(result: Any, *operands: Any, signature: str | None = None) -> Any:
    """Results of a ufunc, which lie as its operands do; their core axes are last, in C order."""
    if isinstance(result, tuple):
        return tuple(lie_as(r, *operands, signature=signature) for r in result)
    if result.ndim < 2:
        return result
    if signature is None:
        lies = tuple(map(_lies, operands))
        return laid(result, UNKNOWN if None in lies else _as_operands(lies, result.dtype))
    core = signature.rpartition("(")[2].strip(")")
    matrices = len(core.split(",") if core else ()) - ("?" in core and min(map(np.ndim, operands)) == 1)
    return laid(result, UNKNOWN if result.ndim > 1 + matrices else None)


def _lies(operand: Any) -> Any:
    """Shape and steps of an operand; None if they are not known, as those of lazy arrays."""
    own: Any = operand
    if hasattr(operand, "_memory"):
        own = lying(operand)
    elif not backends.is_array(operand):
        own = np.asarray(operand)
    return (own.shape, own.strides) if hasattr(own, "strides") else None


@functools.lru_cache(256)
def _as_operands(operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], dtype: Any) -> Any:
    """What NumPy allocates for the result of operands of these shapes and strides."""
    arrays = [as_strided(np.zeros(1, bool), *lies) for lies in operands]
    flags: Any = [*([["readonly"]] * len(arrays)), ["writeonly", "allocate"]]
    with np.nditer([*arrays, None], ["zerosize_ok"], flags, op_dtypes=[*(bool for _ in arrays), dtype]) as cells:
        return cells.operands[-1]


def laid(result: Any, memory: Any) -> Any:
    """A result that lies as one of NumPy's does; None: in C order."""
    if hasattr(result, "_memory"):
        result._memory = None if memory is None else turned(memory, result.shape)
    elif memory is not None and isinstance(turned(memory, result.shape), np.ndarray):
        return copied(make(result, tuple(range(result.ndim)), NONE), memory).raw
    return result


def copied(x: DimArray, memory: Raw | None) -> DimArray:
    """A copy of an array, its axes as they lie in memory elsewhere, if that is known."""
    steps = {} if memory is None else dict(zip(x.dims, memory.strides, strict=True))
    wide = sorted(x.dims, key=lambda n: -abs(steps.get(n, 0)))
    y = reorder(x, (*(n for n in x.names if n in x.hidden), *wide))
    return reorder(make(backends.call(backends.backend_of(y.raw).copy, y.raw, order="C"), y.names, y.hidden), x.names)
