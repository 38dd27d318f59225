"""Systems of a few unknowns, one per cell: Cholesky written over the cells.

Matrices are ``(row, column, cell)`` and vectors ``(row, cell)``, so that every step is one array operation over all
cells.  A matrix that is not positive definite gives NaN in its own cell; nothing is raised, and no other cell notices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def cholesky(a: Array) -> Array:
    """Lower factors; what stands above the diagonal has no meaning."""
    L = a.copy()
    for k in range(len(L)):
        pivot = np.sqrt(np.where(L[k, k] > 0, L[k, k], np.nan))
        L[k:, k] /= pivot
        L[k + 1 :, k + 1 :] -= L[k + 1 :, None, k] * L[None, k + 1 :, k]
    return L


def solve(L: Array, b: Array) -> Array:
    """``L L^T x = b`` for ``b`` (row, cell) or (row, column, cell)."""
    x, n = b.copy(), len(b)
    if x.ndim == 3:
        L = L[:, :, None]
    for k in range(n):
        x[k] /= L[k, k]
        x[k + 1 :] -= L[k + 1 :, k] * x[k]
    for k in reversed(range(n)):
        x[k] /= L[k, k]
        x[:k] -= L[k, :k] * x[k]
    return x


def inverse(a: Array) -> Array:
    """Inverses of symmetric positive definite matrices."""
    eye = np.broadcast_to(np.eye(len(a))[:, :, None], a.shape)
    return solve(cholesky(a), eye)


def times(a: Array, x: Array) -> Array:
    """``a x``."""
    return np.sum(a * x, axis=1)


def dot(x: Array, y: Array) -> Array:
    """The inner product in every cell."""
    return np.sum(x * y, axis=0)


def diagonal(a: Array) -> Array:
    """The diagonal as (row, cell)."""
    n = np.arange(len(a))
    return a[n, n]
