"""Triangular matrices in NumPy: whole stacks by blocks and matrix products, single ones by LAPACK.

Neither NumPy nor SciPy solves a stack of triangular equations at once.  Here the blocks on the diagonal are inverted,
those of all matrices together, and the rest is products of blocks: Golub and Van Loan (2013), section 3.1.4.  The
number of calls depends on the size of the matrices, not on how many there are, until they fill a cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Raw = np.ndarray[Any, Any]
LEAF = 8  #: up to this size matrices are inverted row by row
WHOLE = 96  #: up to this size the derivative of a Cholesky factor takes whole matrices
THIN = 32  #: up to this size single right-hand sides take substitution: 4000 of 16 x 16 3 ms, by blocks 13 ms
TILE = 1 << 18  #: cells of a stack that are done together, so that what is between stays in a cache


def adjoint(a: Raw) -> Raw:
    """Conjugate-transposed matrices, as a view if they are real."""
    a = np.swapaxes(a, -1, -2)
    return np.conj(a) if a.dtype.kind == "c" else a


def tiled(f: Callable[..., Raw], *stacks: Raw) -> Raw:
    """``f`` of stacks of matrices of one size, along the first axis as many at a time as fit into a cache.

    1024 matrices of 64 x 64, gradient of the factor: 70 ms of processor time, 240 ms at once.
    """
    shape = np.broadcast_shapes(*(x.shape for x in stacks))
    if math.prod(shape) <= TILE or len(shape) < 3:
        return f(*stacks)
    stacks = tuple(np.broadcast_to(x, shape) for x in stacks)
    out = np.empty(shape, np.result_type(*stacks))
    step = max(1, TILE // math.prod(shape[1:]))
    for k in range(0, shape[0], step):
        out[k : k + step] = f(*(x[k : k + step] for x in stacks))
    return out


# ------------------------------------------------------------------------------------------------ blocks


def _size(n: int) -> int:
    """How large blocks are: eight or more of them, of at least LEAF rows."""
    return max(LEAF, 1 << max(n // 8, 1).bit_length() - 1)


def _blocks(n: int, size: int) -> Iterator[tuple[slice, slice, slice]]:
    """What is before a block, the block, and what is behind it."""
    for k in range(0, n, size):
        yield slice(0, k), slice(k, min(k + size, n)), slice(min(k + size, n), n)


def _diagonal_inverses(a: Raw, size: int, unit: bool) -> Raw:
    """Inverses of the lower triangular blocks on the diagonal, (..., block, size, size); the last is filled up."""
    n = a.shape[-1]
    whole = n // size
    out = np.zeros((*a.shape[:-2], -(-n // size), size, size), a.dtype)
    for k in range(whole):
        at = slice(k * size, (k + 1) * size)
        out[..., k, :, :] = a[..., at, at]
    rest = n - whole * size
    if rest:
        out[..., whole, :rest, :rest] = a[..., n - rest :, n - rest :]
        out[..., whole, range(rest, size), range(rest, size)] = 1
    return inverse(out, unit)


def _inverted_blocks(a: Raw, size: int, unit: bool) -> list[tuple[slice, slice, slice, Raw]]:
    """What is before each block, the block, what is behind it, and the inverse of that on the diagonal."""
    inverses, blocks = _diagonal_inverses(a, size, unit), enumerate(_blocks(a.shape[-1], size))
    return [(*b, inverses[..., k, : b[1].stop - b[1].start, : b[1].stop - b[1].start]) for k, b in blocks]


def _by_rows(a: Raw, unit: bool) -> Raw:
    """Inverses of small lower triangular matrices, a row of all of them at a time."""
    n = a.shape[-1]
    x = np.ascontiguousarray(np.moveaxis(a.reshape(-1, n, n), 0, -1))
    out = np.zeros_like(x)
    for i in range(n):
        out[i, i] = 1 if unit else 1 / x[i, i]
        if i:
            np.einsum("kb,kjb->jb", x[i, :i], out[:i, :i], out=out[i, :i])
            out[i, :i] *= -out[i, i]
    return np.moveaxis(out, -1, 0).reshape(a.shape)


def half(a: Raw) -> str | None:
    """``"lower"`` or ``"upper"`` if all the matrices are triangular."""
    for name, x in (("lower", a), ("upper", np.swapaxes(a, -1, -2))):
        n = x.shape[-1]
        if n > 1 and not any(x[..., i, i + 1 :].any() for i in range(n - 1)):
            return name
    return None


# ------------------------------------------------------------------------------------------------ stacks


def inverse(a: Raw, unit: bool = False) -> Raw:
    """Inverses of lower triangular matrices; what is above the diagonal is not read."""
    n = a.shape[-1]
    if n <= LEAF:
        return _by_rows(a, unit) if a.size else np.zeros(a.shape, a.dtype)
    size = _size(n)
    out = np.zeros(a.shape, a.dtype)
    for before, at, _, here in _inverted_blocks(a, size, unit):
        out[..., at, at] = here
        if at.start:
            np.matmul(-here, np.matmul(a[..., at, before], out[..., before, before]), out=out[..., at, before])
    return out


def inverse_of(a: Raw, which: str, errors: str) -> Raw:
    """Inverses of matrices that are triangular."""
    singular = ~np.diagonal(a, axis1=-2, axis2=-1).all(-1)
    if errors != "nan" and singular.any():
        raise np.linalg.LinAlgError("Singular matrix")
    with np.errstate(all="ignore"):
        out = tiled(inverse, a) if which == "lower" else np.swapaxes(tiled(inverse, np.swapaxes(a, -1, -2)), -1, -2)
    out[singular] = np.nan
    return out


def solve_stack(a: Raw, b: Raw, lower: bool, unit: bool) -> Raw:
    """``a x = b`` with one triangle of ``a``; not finite where a matrix is singular."""
    blocks = _inverted_blocks(a if lower else np.swapaxes(a, -1, -2), _size(a.shape[-1]), unit)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.empty((*batch, *b.shape[-2:]), np.result_type(a, b))
    for before, at, behind, here in blocks if lower else reversed(blocks):
        known, left = before if lower else behind, b[..., at, :]
        if known.start < known.stop:
            left = left - np.matmul(a[..., at, known], x[..., known, :])
        np.matmul(here if lower else np.swapaxes(here, -1, -2), left, out=x[..., at, :])
    return x


# ------------------------------------------------------------------------------------------------ single matrices


def solve_one(a: Raw, b: Raw, lower: bool, unit: bool) -> Raw | None:
    """``a x = b`` for one matrix by BLAS, told of a transposed one instead of given a copy; None if it is singular."""
    from scipy.linalg import get_blas_funcs

    if not unit and not np.diagonal(a).all():
        return None
    dtype = np.result_type(a, b)
    (trsm,) = get_blas_funcs(("trsm",), (np.empty(0, dtype),))
    turned = a.flags.c_contiguous and not a.flags.f_contiguous
    if turned:
        a, lower = a.T, not lower
    if b.flags.f_contiguous:
        return trsm(1, a, b, lower=lower, trans_a=turned, diag=unit)
    return trsm(1, a, b.T, side=1, lower=lower, trans_a=not turned, diag=unit).T


def solve(a: Raw, b: Raw, lower: bool, unit: bool, errors: str) -> Raw:
    """``a x = b`` with one triangle of ``a``."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, *b.shape[-2:])
    if not math.prod(shape):
        return np.zeros(shape, np.result_type(a, b))
    if math.prod(batch) == 1:
        x = solve_one(a.reshape(a.shape[-2:]), b.reshape(b.shape[-2:]), lower, unit)
        return _singular(shape, np.result_type(a, b), errors) if x is None else x.reshape(shape)
    thin = b.shape[-1] == 1 and a.shape[-1] <= THIN
    with np.errstate(all="ignore"):
        x = (_by_substitution if thin else solve_stack)(a, b, lower, unit)
        doubtful = ~np.isfinite(x.sum((-1, -2)))
    if doubtful.any():
        a, b = (np.broadcast_to(v, (*batch, *v.shape[-2:]))[doubtful] for v in (a, b))
        singular: Any = np.zeros(len(a), bool) if unit else ~np.diagonal(a, axis1=-2, axis2=-1).all(-1)
        if errors != "nan" and singular.any():
            raise np.linalg.LinAlgError("Singular matrix")
        x[doubtful] = np.where(singular[:, None, None], np.nan, _by_substitution(a, b, lower, unit))
    return x


def _by_substitution(a: Raw, b: Raw, lower: bool, unit: bool) -> Raw:
    """A row of all matrices at a time, or a column where these are the runs of memory.

    Blocks would mix numbers that are not finite with others.
    """
    x = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), np.result_type(a, b))
    x[...] = b
    n, columns = a.shape[-1], abs(a.strides[-2]) < abs(a.strides[-1])
    with np.errstate(all="ignore"):
        for i in range(n) if lower else reversed(range(n)):
            known, left = (slice(0, i), slice(i + 1, n)) if lower else (slice(i + 1, n), slice(0, i))
            if not columns:
                x[..., i, :] -= np.einsum("...k,...kc->...c", a[..., i, known], x[..., known, :])
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
            if columns:
                x[..., left, :] -= a[..., left, i, None] * x[..., i, None, :]
    return x


def _singular(shape: tuple[int, ...], dtype: Any, errors: str) -> Raw:
    if errors != "nan":
        raise np.linalg.LinAlgError("Singular matrix")
    return np.full(shape, np.nan, dtype)


# ------------------------------------------------------------------------------------------------ Cholesky


def cholesky_gradient(y: Raw, g: Raw) -> Raw:
    """Gradient with respect to the symmetrised matrix, given the factor and the lower triangle of its gradient."""
    small = y.shape[-1] <= WHOLE
    return tiled((lambda y, g: _whole(y, inverse(y), g)) if small else _by_blocks, y, g)


def cholesky_tangent(y: Raw, t: Raw) -> Raw:
    """Tangent of the factor, given that of the matrix, which is symmetrised."""
    small = y.shape[-1] <= WHOLE
    return tiled((lambda y, t: _moved(y, inverse(y), t)) if small else _forward_by_blocks, y, t)


def _forward_by_blocks(y: Raw, t: Raw) -> Raw:
    """First columns first, in products of blocks (Murray 2016, section 4.1)."""
    t = (t + adjoint(t)) / 2
    out = np.zeros(t.shape, np.result_type(y, t))
    for before, at, behind, x in _inverted_blocks(y, max(_size(t.shape[-1]), 64), unit=False):
        left, moved = adjoint(y[..., at, before]), out[..., at, before]
        known = np.matmul(moved, left)
        here = _moved(y[..., at, at], x, t[..., at, at] - known - adjoint(known))
        below = t[..., behind, at] - np.matmul(out[..., behind, before], left)
        below -= np.matmul(y[..., behind, before], adjoint(moved))
        below -= np.matmul(y[..., behind, at], adjoint(here))
        out[..., at, at], out[..., behind, at] = here, np.matmul(below, adjoint(x))
    return out


def _moved(y: Raw, x: Raw, t: Raw) -> Raw:
    """``y P``, ``x`` the inverse of ``y``, P the lower triangle of ``x t x^H`` with half its diagonal: eq. 8."""
    p = np.matmul(np.matmul(x, (t + adjoint(t)) / 2), adjoint(x))
    p *= np.tri(p.shape[-1]) - np.eye(p.shape[-1]) / 2
    return np.matmul(y, p)


def _by_blocks(y: Raw, g: Raw) -> Raw:
    """Last columns first, in products of blocks (Murray 2016, section 4.2): a sixth of the work of eq. 9."""
    shape = np.broadcast_shapes(y.shape, g.shape)
    out = np.zeros(shape, np.result_type(y, g))
    out += np.tril(g)
    for before, at, behind, x in reversed(_inverted_blocks(y, max(_size(shape[-1]), 64), unit=False)):
        below = np.matmul(out[..., behind, at], x)
        out[..., behind, before] -= np.matmul(below, y[..., at, before])
        here = _whole(y[..., at, at], x, out[..., at, at] - np.matmul(adjoint(below), y[..., behind, at]))
        out[..., at, before] -= np.matmul(adjoint(below), y[..., behind, before])
        out[..., at, before] -= np.matmul(2 * here, y[..., at, before])
        out[..., behind, at], out[..., at, at] = below, here
    return (out + adjoint(out)) / 2


def _whole(y: Raw, x: Raw, g: Raw) -> Raw:
    """``x^H P x``, ``x`` the inverse of ``y`` and P the Hermitian part of half the triangle of ``y^H g``: eq. 9."""
    p = np.matmul(adjoint(y), g)
    p = np.where(np.tri(p.shape[-1], dtype=bool), p, adjoint(p))
    if p.dtype.kind == "c":
        i = np.arange(p.shape[-1])
        p[..., i, i] = p[..., i, i].real
    p /= 2
    half = np.matmul(p, x)
    return np.matmul(adjoint(x), half, out=p)
