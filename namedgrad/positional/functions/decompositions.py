"""``np.linalg``: factors, spectra, determinants, least squares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.array import ordered, renumber
from namedgrad.positional.axis import at_least, expand, name_of, named, reshape
from namedgrad.positional.broadcasting import meet, pair
from namedgrad.positional.functions.linalg import inv, matrix, solve, square
from namedgrad.positional.matrices import COLUMN, NEW, ROW, batch_of, right_hand_side
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules import elementwise as e
from namedgrad.rules import linalg, movement
from namedgrad.rules import reductions as r
from namedgrad.rules.complex import absolute, conj_if_complex
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.indexing import gather
from namedgrad.rules.linalg.matrices import inexact
from namedgrad.rules.linalg.solving import pinv_of_each
from namedgrad.rules.sorting import argsort_of
from namedgrad.rules.structure import cast, contract, multiply, not_equal, relabel, subtract
from namedgrad.trace import innermost

_EXAMPLE = np.eye(1)
_RESULTS: list[Any] = [
    type(f(_EXAMPLE)) for f in (np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd)
]
EIG, EIGH, QR, SLOGDET, SVD = _RESULTS


def placed(x: DimArray, *core: Name) -> DimArray:
    """Stacked axes in front, in their order, then the core."""
    return ordered(x, (*batch_of(x), *core))


@implements(np.linalg.det)
def det(a: Any) -> DimArray:
    return placed(linalg.det(square(numbered(a), "det"), (ROW, COLUMN)))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return SLOGDET(*map(placed, linalg.slogdet(square(numbered(a), "slogdet"), (ROW, COLUMN))))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    w, v = linalg.eigh(square(numbered(a), "eigh"), (ROW, COLUMN), lower=UPLO.upper() == "L", new_dim=NEW)
    return EIGH(placed(w, NEW), placed(v, ROW, NEW))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> DimArray:
    x = square(numbered(a), "eigvalsh")
    return placed(linalg.eigvalsh(x, (ROW, COLUMN), lower=UPLO.upper() == "L", new_dim=NEW), NEW)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    w, v = linalg.eig(square(numbered(a), "eig"), (ROW, COLUMN), new_dim=NEW)
    return EIG(placed(w, NEW), placed(v, ROW, NEW))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> DimArray:
    return placed(linalg.eigvals(square(numbered(a), "eigvals"), (ROW, COLUMN), new_dim=NEW), NEW)


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _svd_of_hermitian(square(numbered(a), "svd"), compute_uv=compute_uv)
    x = matrix(numbered(a), "svd")
    if not compute_uv:
        return placed(linalg.svd(x, (ROW, COLUMN), compute_uv=False, new_dim=NEW), NEW)
    u, s, vh = linalg.svd(x, (ROW, COLUMN), full_matrices=full_matrices, new_dim=NEW)
    return SVD(placed(u, ROW, NEW), placed(s, NEW), placed(vh, NEW, COLUMN))


def _svd_of_hermitian(x: DimArray, *, compute_uv: bool) -> Any:
    """From eigenvalues and eigenvectors, as NumPy: vectors have its signs, and values +1 and -1 are apart."""
    if not compute_uv:
        s, order = _descending(linalg.eigvalsh(x, (ROW, COLUMN), new_dim=NEW))
        return placed(s, NEW)
    w, u = linalg.eigh(x, (ROW, COLUMN), new_dim=NEW)
    s, order = _descending(w)
    u, sign = (gather(v, {NEW: order}) for v in (u, cast(e.sign(w), u.dtype)))
    vh = relabel(conj_if_complex(multiply(u, sign)), {ROW: COLUMN})
    return SVD(placed(u, ROW, NEW), placed(s, NEW), placed(vh, NEW, COLUMN))


def _descending(w: DimArray) -> tuple[DimArray, DimArray]:
    """Absolute values, the largest first, and where they come from."""
    size = absolute(w)
    order = movement.flip(argsort_of(stop_gradient(size), NEW), NEW)
    return gather(size, {NEW: order}), order


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> DimArray:
    return svd(x, compute_uv=False)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in {"reduced", "complete", "r"}:
        raise ValueError(f"qr: mode={mode!r} has no rule; choose 'reduced', 'complete' or 'r'")
    x = matrix(numbered(a), "qr")
    q, right = linalg.qr(x, (ROW, COLUMN), mode="complete" if mode == "complete" else "reduced", new_dim=NEW)
    right = placed(right, NEW, COLUMN)
    return right if mode == "r" else QR(placed(q, ROW, NEW), right)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> DimArray:
    x = matrix(numbered(a), "pinv")
    if rtol is np._NoValue:
        rtol = 1e-15 if rcond is None else rcond
    elif rcond is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if not np.ndim(rtol):
        return placed(linalg.pinv(x, (ROW, COLUMN), rtol=rtol, hermitian=hermitian), ROW, COLUMN)
    least = numbered(rtol)  # one for each matrix
    x, least = pair(x, named(least, tuple(axes.axis(i - 2) for i in range(-least.ndim, 0))))
    return placed(pinv_of_each(x, (ROW, COLUMN), least, hermitian=hermitian), ROW, COLUMN)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = pair(matrix(numbered(a), "lstsq"), right_hand_side(inexact(numbered(b))))
    if rcond == -1:
        rcond = float(np.finfo(x.dtype).eps)
    out = linalg.lstsq(x, y, (ROW, COLUMN), rtol=rcond)
    off = absolute(subtract(contract(x, out, (COLUMN,)), y))
    residuals = r.sum(e.square(off), ROW, skipna=False)
    return ordered(out, (COLUMN, *(n for n in out.dims if n != COLUMN))), *quality(x, (ROW, COLUMN), residuals, rcond)


def quality(x: DimArray, dims: tuple[Name, Name], residuals: DimArray, rcond: Any) -> tuple[Any, Any, DimArray]:
    """Squared residuals, none of them where the rank is not full, rank and singular values, as of NumPy's fits."""
    values = linalg.svd(x, dims, compute_uv=False, new_dim=NEW)
    rank = linalg.matrix_rank(innermost(x), dims, rtol=rcond)
    rows, columns = (extent(x, n) for n in dims)
    known = backends.may_look(rank.raw)
    number = int(rank.raw) if known and not rank.hidden else rank
    if rows <= columns or (known and (rank.raw != columns).any()):
        return np.empty(0, values.dtype), number, ordered(values, (NEW,))
    return at_least(residuals, 1), number, ordered(values, (NEW,))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> DimArray:
    a = matrix(numbered(x), "cond") if p in {None, 2, -2} else square(numbered(x), "cond")
    return placed(linalg.cond(a, (ROW, COLUMN), p))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    x = numbered(A)
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return not_equal(r.sum(absolute(x), skipna=False), e.c(0)) * 1
    if tol is None and rtol is None:
        return placed(linalg.matrix_rank(matrix(x, "matrix_rank"), (ROW, COLUMN)))
    values = renumber(placed(linalg.svd(matrix(x, "matrix_rank"), (ROW, COLUMN), compute_uv=False, new_dim=NEW), NEW))
    last, least = name_of(values, -1), numbered(tol if rtol is None else rtol)
    least = expand(least, [least.ndim])  # one for each matrix
    if tol is None:
        least = multiply(*meet(r.max(values, last, keepdims=True, skipna=False), least))
    return r.sum(e.greater(*meet(values, least)) * 1, last)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> DimArray:
    x = numbered(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = math.prod(x.shape[:ind])
    return reshape(numbered(inv(reshape(x, (rows, -1)))), (*x.shape[ind:], *x.shape[:ind]))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> DimArray:
    x, y = numbered(a), numbered(b)
    if axes is not None:
        last = [k % x.ndim for k in axes]
        order = [*(k for k in range(x.ndim) if k not in last), *last]
        x = named(ordered(x, [x.dims[k] for k in order]), x.dims)
    shape = x.shape[y.ndim :]
    return reshape(numbered(solve(reshape(x, (-1, math.prod(shape))), reshape(y, (-1,)))), shape)
