"""Systems of a few unknowns, one per cell: Cholesky written over the cells.

Matrices are ``(row, column, cell)`` and vectors ``(row, cell)``, so that every step is one array operation over all
cells.  A matrix that is not positive definite gives NaN in its own cell; nothing is raised, and no other cell notices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.fit.places import may_matter, on_device_of

Array = np.ndarray[Any, np.dtype[np.float64]]


def cholesky(a: Array) -> Array:
    """Factors of matrices that are kept, as :func:`factored`."""
    return factored(a.copy())


def factored(L: Array) -> Array:
    """Factors ``L D L^T``, without square roots: D on the diagonal, L below it; what stands above has no meaning.

    In place of the matrices. Golub and Van Loan (2013), section 4.1.2.  Both halves are kept up to date, which takes
    fewer steps than one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(len(L) - 1):
            below, rest = L[k + 1 :, k], L[k + 1 :, k + 1 :]
            np.divide(below, L[k, k], out=below)
            np.subtract(rest, below[:, None] * L[None, k, k + 1 :], out=rest)
    pivots = diagonal(L)
    sound = (pivots > 0).all(axis=0)
    if may_matter(~sound):
        pivots[:] = np.where(sound, pivots, np.nan)
    return L


def solve(L: Array, b: Array) -> Array:
    """``L D L^T x = b`` for ``b`` (row, cell) or (row, column, cell)."""
    x, n = b.copy(), len(b)
    if x.ndim == 3:
        L = L[:, :, None]
    for k in range(n - 1):
        np.subtract(x[k + 1 :], L[k + 1 :, k] * x[k], out=x[k + 1 :])
    np.divide(x, diagonal(L), out=x)
    for k in reversed(range(1, n)):
        np.subtract(x[:k], L[k, :k] * x[k], out=x[:k])
    return x


def inverse(a: Array) -> Array:
    """Inverses of symmetric positive definite matrices."""
    eye = np.broadcast_to(on_device_of(np.eye(len(a))[:, :, None], a), a.shape)
    return solve(cholesky(a), eye)


def times(a: Array, x: Array) -> Array:
    """``a x``."""
    return np.einsum("ijc,jc->ic", a, x) if type(a) is np.ndarray else (a * x).sum(axis=1)


def dot(x: Array, y: Array) -> Array:
    """The inner product in every cell."""
    return np.einsum("ic,ic->c", x, y) if type(x) is np.ndarray else (x * y).sum(axis=0)


def lengths(normal: Array) -> Array:
    """Lengths of the columns of the Jacobian, given its normal matrix; 1 for a column of zeros."""
    squares = diagonal(normal)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def diagonal(a: Array) -> Array:
    """The diagonal, as a view: (row, ..., cell)."""
    if type(a) is np.ndarray:
        return np.einsum("ii...->i...", a)
    return a.reshape(len(a) ** 2, *a.shape[2:])[:: len(a) + 1]  # the einsum of CuPy takes ten times as long
