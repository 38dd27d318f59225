"""``reduce``, ``accumulate``, ``reduceat`` and ``at`` of ufuncs that no reduction stands for, one cell after the other.

As NumPy does it.  The calls grow with the axis, never with what lies beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.positional.protocol import static, write_out


def reduce(
    ufunc: Any,
    a: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``ufunc.reduce``, from the first cell along the axes, or from ``initial``."""
    operation = f"reduction operation '{ufunc.__name__}'"
    a = a.astype(_dtype(ufunc, a, dtype, "reduce"))
    several = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(several) > 1 and ufunc.identity is None:
        raise ValueError(f"{operation} is not reorderable, so at most one axis may be specified")
    masks = None if where is True else _in_front(np.broadcast_to(where, a.shape), several)
    cells = _in_front(a, several)
    if initial is None and (masks is not None or not len(cells)):
        initial = ufunc.identity
        if initial is None:
            raise ValueError(f"{operation} has no identity; cells that are empty or left out need initial=")
    result = _last(ufunc, cells, initial, masks)
    result = np.expand_dims(result, several) if keepdims else result
    return result if out is None else write_out(ufunc, out, result)


def _in_front(a: Any, several: tuple[int, ...]) -> Any:
    """All cells along some axes as the first axis."""
    moved = np.moveaxis(a, several, range(len(several)))
    return moved.reshape(-1, *moved.shape[len(several) :])


def _last(ufunc: Any, cells: Any, initial: Any, masks: Any) -> Any:
    begin = 1 if initial is None else 0
    last = cells[0] if initial is None else np.full_like(cells, initial, shape=cells.shape[1:])
    for k in range(begin, len(cells)):
        new = ufunc(last, cells[k])
        last = new if masks is None else np.where(masks[k], new, last)
    return last


def accumulate(ufunc: Any, a: Any, *, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``, from the first cell along the axis."""
    a = a.astype(_dtype(ufunc, a, dtype, "accumulate"))
    cells = np.moveaxis(a, axis, 0)
    found = [cells[0]] if len(cells) else []
    for k in range(1, len(cells)):
        found.append(ufunc(found[-1], cells[k]))
    result = np.stack(found, axis) if found else a
    return result if out is None else write_out(ufunc, out, result)


def reduceat(ufunc: Any, a: Any, indices: Any, *, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.reduceat``, all runs at once, from the first cell of each."""
    cells = np.moveaxis(a.astype(_dtype(ufunc, a, dtype, "reduceat")), axis, 0)
    start, length = runs_of(indices, len(cells))
    last = np.take(cells, start, 0)
    for k in range(1, length.max(initial=0)):
        goes_on = (k < length).reshape(-1, *(1,) * (a.ndim - 1))
        new = ufunc(last, np.take(cells, np.minimum(start + k, len(cells) - 1), 0))
        last = np.where(goes_on, new, last)
    result = np.moveaxis(last, 0, axis)
    return result if out is None else write_out(ufunc, out, result)


def runs_of(indices: Any, size: int) -> tuple[Any, Any]:
    """Where the runs of ``ufunc.reduceat`` begin along an axis, and how long they are."""
    start = np.asarray(static(indices, "indices"), np.intp)
    if start.size and not (start.min() >= 0 and start.max() < size):
        raise IndexError(f"index {start[(start < 0) | (start >= size)][0]} out-of-bounds in reduceat [0, {size})")
    return start, np.maximum(np.append(start[1:], size) - start, 1)


def at(ufunc: Any, a: Any, key: Any, *values: Any) -> None:
    """``ufunc.at``: a cell that the key names several times is operated on as often."""
    cells = np.arange(a.size).reshape(a.shape)[key]
    given = [np.copy(np.broadcast_to(v, cells.shape)) for v in values]
    turns = _occurrence(cells.ravel()).reshape(cells.shape)
    for k in range(turns.max(initial=-1) + 1):
        now = turns == k
        np.put(a, cells[now], ufunc(np.take(a, cells[now]), *(v[now] for v in given)))


def _occurrence(cells: Any) -> Any:
    """How many of the cells before each are the same."""
    order = np.argsort(cells, kind="stable")
    turns = np.empty_like(cells)
    turns[order] = np.arange(cells.size) - np.searchsorted(cells[order], cells[order])
    return turns


def _dtype(ufunc: Any, a: Any, dtype: Any, method: str) -> Any:
    """The dtype in which NumPy does it."""
    wanted = {} if dtype is None else {"signature": (np.dtype(dtype), None, None), "casting": "unsafe"}
    found = ufunc.resolve_dtypes((None, a.dtype, None), **wanted, reduction=True)
    if len(set(found)) > 1:
        raise TypeError(f"np.{ufunc.__name__}.{method} of {a.dtype} has no dtype that its cells could share")
    return found[0]


FOLDS: dict[str, Callable[..., Any]] = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat}
