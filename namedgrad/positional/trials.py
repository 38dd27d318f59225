"""How results of NumPy's functions lie in memory, asked with few cells instead of all.

It follows from the order in which the axes of operands lie, not from how long they are.  Of large arrays the answer
would cost as much as the result: a median over an axis that was moved, say, would be computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Raw = np.ndarray[Any, Any]
FEW = 5  # cells along an axis: enough for differences and edges of second order
MANY = 4096  # cells of an operand up to which all of them are as fast


def made_of_few(func: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> Any:
    """Arrays without content that lie as NumPy's ``result`` does; None if few cells do not tell."""
    if not any(type(a) is np.ndarray and a.size > MANY for a in (*args, *kwargs.values())):
        return None
    try:
        return _grown(func(*map(_few, args), **{k: _few(v) for k, v in kwargs.items()}), result)
    except Exception:  # noqa: BLE001 - sizes or positions are among the arguments
        return None


def _few(value: Any) -> Any:
    """Some cells of an array, which lie as all do."""
    if isinstance(value, (tuple, list)) and any(isinstance(v, np.ndarray) for v in value):
        raise TypeError("which of several leads depends on the widths of their steps")
    if type(value) is not np.ndarray:
        return value
    wide = _widest_first(value)
    few = value[tuple(slice(FEW) for _ in value.shape)].transpose(wide)
    return np.ascontiguousarray(few).reshape(few.shape).transpose(np.argsort(wide))


def _widest_first(a: Raw) -> tuple[int, ...]:
    """Axes in the order in which they lie; between the steps of two of them there are no gaps."""
    wide = tuple(sorted(range(a.ndim), key=lambda n: -abs(a.strides[n])))
    if not a.transpose(wide).flags.c_contiguous:
        raise ValueError("gaps")
    return wide


def _grown(made: Any, result: Any) -> Any:
    """What lies as ``made``, in the sizes of the result."""
    if isinstance(result, (tuple, list)):
        return [_grown(m, r) for m, r in zip(made, result, strict=True)]
    shape, wide = np.shape(result), _widest_first(made)
    if len(shape) != made.ndim or any(few < 2 <= n for few, n in zip(made.shape, shape)):
        raise ValueError("too few")
    return np.zeros([shape[n] for n in wide], made.dtype).transpose(np.argsort(wide))
