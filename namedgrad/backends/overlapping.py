"""Contraction of a view of windows without copying every window: rows that windows share are copied once.

A product with windows over several axes is a matrix product of a copy in which every cell stands as often as there are
windows that have it.  Here windows along the outermost axis stay a view: a copy holds each row of cells once, with its
windows along the other axes, such that the rows of a window lie one behind the other, as one matrix.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from namedgrad.axes import MatmulPlan
from namedgrad.backends.rows import is_one_axis

Raw = Any
LEAST_CELLS = 50_000  # below, looking for windows takes as long as copying them
LEAST_RUN = 16  # shorter rows make matrices too small to be multiplied fast


class Shared(NamedTuple):
    """An axis that counts windows and is kept, one that counts offsets in them and is summed, and a long kept one."""

    kept: int
    summed: int
    run: int


def contract_windows(x: Raw, y: Raw, plan: MatmulPlan) -> Raw | None:
    """The product of two arrays, one of them windows; None if neither is, or it is not worth it."""
    xs, ys, out = plan.numbers
    if plan.counts[0] or max(x.size, y.size) < LEAST_CELLS or x.dtype != y.dtype:
        return None
    if x.size < y.size:
        x, xs, y, ys = y, ys, x, xs
    found = _shared(x, xs, out)
    return None if found is None else _product((x, xs), (y, ys), out, found)


def in_memory_order(x: Raw, y: Raw, plan: MatmulPlan) -> MatmulPlan:
    """The same product, with the axes of the larger operand in the order in which they lie in memory.

    Where that operand must be copied to be a matrix, the copy is in longer runs: the gradients of a transposed
    convolution of channels that lie innermost, by kernels of 2 x 2, take 3 ms instead of 9.
    """
    larger, perm = (x, plan.perms[0]) if x.size >= y.size else (y, plan.perms[1])
    if larger.size < LEAST_CELLS or min(larger.strides) <= 0 or (perm is None and larger.flags.c_contiguous):
        return plan
    perm = perm or tuple(range(larger.ndim))
    b, m, k, n = plan.counts
    first, second = (list(p or range(a.ndim)) for a, p in ((x, plan.perms[0]), (y, plan.perms[1])))
    back, steps = list(plan.back or range(b + m + n)), [larger.strides[i] for i in perm]
    start = b + m if larger is x else b
    order = _by_step(steps, start, start + k)
    first[b + m :], second[b : b + k] = ([p[s + i] for i in order] for p, s in ((first, b + m), (second, b)))
    if larger is x:
        order, start = _by_step(steps, b, b + m), b
        first[b : b + m] = [first[b + i] for i in order]
    else:
        order, start = _by_step(steps, b + k, b + k + n), b + m
        second[b + k :] = [second[b + k + i] for i in order]
    place = [*range(start), *(start + order.index(i) for i in range(len(order))), *range(start + len(order), b + m + n)]
    return plan._replace(perms=(tuple(first), tuple(second)), back=tuple(place[i] for i in back))


def _by_step(steps: list[int], start: int, stop: int) -> list[int]:
    """The axes from ``start`` to ``stop``, counted from there, those with the longest steps first."""
    return sorted(range(stop - start), key=lambda i: -steps[start + i])


def is_strewn_matrix(x: Raw, y: Raw, plan: MatmulPlan) -> bool:
    """Whether a vector meets a matrix that would have to be copied to be one: einsum goes through it in place.

    Measured on a million cells: 0.4 to 1.0 ms instead of 0.9 to 3.3 ms, unless runs are short. Sums of single precision
    are less precise there.
    """
    b, m, k, n = plan.counts
    if b or bool(m) == bool(n):
        return False
    matrix, perm, rows = (x, plan.perms[0], m) if m else (y, plan.perms[1], k)
    if perm is None or matrix.size < LEAST_CELLS or matrix.dtype.itemsize < np.dtype(float).itemsize:
        return False
    turned = matrix.transpose(perm)
    run = max((s for s, step in zip(matrix.shape, matrix.strides, strict=True) if step == matrix.itemsize), default=1)
    return run >= LEAST_RUN and not (is_one_axis(turned, 0, rows) and is_one_axis(turned, rows, turned.ndim))


def _shared(x: Raw, labels: list[int], out: list[int]) -> Shared | None:
    if x.flags.c_contiguous or not x.flags.aligned or min(x.strides) <= 0:
        return None
    kept = [i for i, n in enumerate(labels) if n in out and x.shape[i] > 1]
    summed = [i for i, n in enumerate(labels) if n not in out and x.shape[i] > 1]
    pairs = [
        (x.strides[q], f, q) for f in kept for q in summed
        if not x.strides[f] % x.strides[q] and x.strides[f] < x.shape[q] * x.strides[q]
    ]  # fmt: skip
    if not pairs:
        return None
    _, f, q = max(pairs)
    runs = [i for i in kept if i != f and x.shape[i] >= LEAST_RUN]
    return Shared(f, q, min(runs, key=lambda i: x.strides[i])) if runs else None


def _product(runs: tuple[Raw, list[int]], other: tuple[Raw, list[int]], out: list[int], found: Shared) -> Raw:
    (x, xs), (y, ys) = runs, other
    f, q, run = found
    step = x.strides[f] // x.strides[q]
    outer = [i for i, n in enumerate(xs) if n in out and i not in (f, run)]
    rest = [i for i, n in enumerate(xs) if n not in out and i != q]
    shape, strides = list(x.shape), list(x.strides)
    shape[f], strides[f] = (x.shape[f] - 1) * step + x.shape[q], x.strides[q]
    order = [*outer, f, *rest, run]
    rows = np.lib.stride_tricks.as_strided(x, [shape[i] for i in order], [strides[i] for i in order], writeable=False)
    copy = np.ascontiguousarray(rows)
    length, sums = x.shape[run], math.prod(x.shape[i] for i in rest)
    size = x.itemsize
    row = sums * length * size
    windows = np.lib.stride_tricks.as_strided(
        copy,
        (*copy.shape[: len(outer)], x.shape[f], x.shape[q] * sums, length),
        (*copy.strides[: len(outer)], step * row, length * size, size),
        writeable=False,
    )
    free = [i for i, n in enumerate(ys) if n in out]
    kept = [y.shape[i] for i in free]
    matrix = y.transpose(*free, *(ys.index(xs[i]) for i in (q, *rest))).reshape(math.prod(kept), x.shape[q] * sums)
    product = np.matmul(matrix, windows)
    product = product.reshape(*product.shape[:-2], *kept, length)
    labels = [*(xs[i] for i in (*outer, f)), *(ys[i] for i in free), xs[run]]
    return product.transpose([labels.index(n) for n in out])
