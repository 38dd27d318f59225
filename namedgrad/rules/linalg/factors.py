"""Triangular factors: cholesky, qr, lu."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import conj_if_complex, real
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    INNER,
    MATRIX,
    ROW,
    MatrixOp,
    Plain,
    gradients,
    hermitian_part,
    in_place_of,
    inexact,
    inner_name,
    lower_half,
    lower_part,
    matrix_dims,
    mH,
    mm,
    mT,
    on_diagonal,
    upper_part,
)
from namedgrad.rules.linalg.triangular import solve_lower, solve_upper
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.movement.parts import parts_of
from namedgrad.rules.structure import add, cast, multiply, negative, relabel, reorder, select, subtract

# ------------------------------------------------------------------------------------------------ Cholesky


def _cholesky_gradient(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Murray (2016), eq. 9: S = L^-H P L^-1, P = Phi(L^H g); in one call where it is not differentiated itself."""
    g = lower_part(g)  # the rest of L is 0 whatever the matrix is
    if g.level is None and y.level is None:
        return (_gradient_at_once(y, g),)
    p = hermitian_part(lower_half(mm(mH(y), g)))
    return (solve_upper(mH(y), mH(solve_upper(mH(y), p))),)


_gradient_at_once = Plain("(m,m),(m,m)->(m,m)", "cholesky_gradient")
_tangent_at_once = Plain("(m,m),(m,m)->(m,m)", "cholesky_tangent")


def _cholesky_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    """Murray (2016), eq. 8: dL = L Phi(L^-1 dA L^-H); in one call where it is not differentiated itself."""
    if ts[0].level is None and y.level is None:
        return _tangent_at_once(y, ts[0])
    inner = mH(solve_lower(y, mH(solve_lower(y, hermitian_part(ts[0])))))
    return mm(y, lower_half(inner))


_cholesky = MatrixOp("(m,m)->(m,m)", "cholesky", gradients(_cholesky_gradient), pushforward=_cholesky_pushforward)


@operation(sample("spd(i,j)", dims=("i", "j")), sample("spd(i,a,j)", dims=("i", "j")), sample("spd(i,j)", dims=("i", "j"), lower=False))
def cholesky(a: DimArray, dims: tuple[Name, Name], *, lower: bool = True, errors: str = "raise") -> DimArray:
    """Cholesky factor L of symmetric (Hermitian) positive definite matrices, ``a = L L^H``.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``. The lower triangle is read; the derivative is that of the symmetrised matrix.
    dims : (row, column)
        Every other dim is a batch.
    lower : bool
        Give L (row, column); else its conjugate transpose.
    errors : {"raise", "nan"}
        What to do with a matrix that is not positive definite: raise, or give NaN for that matrix alone.

    Returns
    -------
    DimArray
        With the dims of ``a``.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.
    numpy.linalg.LinAlgError
        If a matrix is not positive definite; the message says where it is, by name.

    Notes
    -----
    The derivative is that of Murray, I. (2016), *Differentiation of the Cholesky decomposition*, arXiv:1602.07527,
    eqs. 8 and 9. ``numpy.linalg.cholesky``, ``torch.linalg.cholesky``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[4.0, 2.0], [2.0, 5.0]], ("i", "j"))
    >>> ng.cholesky(a, ("i", "j")).data
    array([[2., 0.],
           [1., 2.]])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "cholesky")
    out = _cholesky(a, dims=((row, col),), out=(row, col), errors=errors)
    return out if lower else reorder(relabel(conj_if_complex(out), {row: col, col: row}), out.names)


# ------------------------------------------------------------------------------------------------ QR
# The kernel packs both factors, which share the dim between them, into one matrix: (Q^T, R).


def _split(y: DimArray, m: int) -> tuple[DimArray, DimArray]:
    """Q and R of a packed pair; ``m`` rows of Q."""
    q, r = parts_of(y, COLUMN, (0, m, extent(y, COLUMN)))  # whose cotangents are joined once
    return mT(q), r


def _pack(q: DimArray, r: DimArray) -> DimArray:
    return join([mT(q), r], COLUMN)


def _over(x: DimArray, r: DimArray, known: DimArray | None = None) -> DimArray:
    """``x r^-1``, unless it is known."""
    return mT(solve_lower(mT(r), mT(x), known=None if known is None else mT(known)))


def _over_adjoint(x: DimArray, r: DimArray) -> DimArray:
    """``x r^-H``."""
    return mH(solve_upper(r, mH(x)))


def _qr_gradient(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Walter and Lehmann (2012), section 3.2; the columns that complete Q turn with its range."""
    m, n = extent(a, ROW), extent(a, COLUMN)
    (q, r), (gq, gr) = _split(y, m), _split(g, m)
    (q1, q2), (g1, g2) = _columns(q, n), _columns(gq, n)
    r, gr = slice_of(r, ROW, slice(0, n)), upper_part(slice_of(gr, ROW, slice(0, n)))
    p = upper_part(subtract(mm(gr, mH(r)), mm(mH(q1), g1)), strictly=True)
    p = add(add(p, mH(p)), _real_diagonal(subtract(mm(gr, mH(r)), mm(mH(q1), g1))))
    out = add(g1, mm(q1, p))
    if extent(q2, COLUMN):
        out = subtract(out, mm(q2, mH(g2), q1))
    return (_over_adjoint(out, r),)


def _columns(q: DimArray, n: int) -> tuple[DimArray, DimArray]:
    return slice_of(q, COLUMN, slice(0, n)), slice_of(q, COLUMN, slice(n, None))


def _real_diagonal(x: DimArray) -> DimArray:
    return select(on_diagonal(x), cast(real(x), x.dtype))


def _qr_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    """Walter and Lehmann (2012), section 3.1."""
    (t,) = ts
    m, n = extent(a, ROW), extent(a, COLUMN)
    q, r = _split(y, m)
    q1, q2 = _columns(q, n)
    r1 = slice_of(r, ROW, slice(0, n))
    moved = _over(t, r1)
    w = mm(mH(q1), moved)
    low = lower_part(w, strictly=True)
    turn = add(subtract(low, mH(low)), subtract(select(on_diagonal(w), w), _real_diagonal(w)))
    dq = add(mm(q1, turn), subtract(moved, mm(q1, w)))
    dr = upper_part(mm(subtract(w, turn), r1))
    if extent(q2, COLUMN):
        dq = join([dq, negative(mm(q1, mH(mm(mH(q2), moved))))], COLUMN)
        dr = join([dr, multiply(slice_of(r, ROW, slice(n, None)), c(0.0))], ROW)
    return _pack(dq, dr)


_qr = MatrixOp("(m,n)->(k,p)", "qr_packed", gradients(_qr_gradient), pushforward=_qr_pushforward)


def _qr_tall(a: DimArray, complete: bool, errors: str) -> tuple[DimArray, DimArray]:
    return _split(_qr(a, complete=complete, errors=errors), extent(a, ROW))


@operation(sample("well(i,j)", dims=("i", "j")), sample("tall(six,b)", dims=("six", "b")), sample("tall(b,six)", dims=("b", "six")))
def qr(
    a: DimArray, dims: tuple[Name, Name], *, mode: str = "reduced", new_dim: Name | None = None, errors: str = "raise"
) -> tuple[DimArray, DimArray]:
    """Factors Q with orthonormal columns and upper triangular R, ``a = Q R``.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    mode : {"reduced", "complete"}
        Whether Q has ``min(rows, columns)`` columns, or as many as rows.
    new_dim : name, optional
        Of the dim between the factors; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix that cannot be factored.

    Returns
    -------
    q, r : DimArray
        With the dims (row, new_dim) and (new_dim, column).

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is that of Walter, S. F. and Lehmann, L. (2012), *Algorithmic differentiation of linear algebra
    functions*, Optimization Methods and Software 27, and of the first columns of a wide matrix. It needs these to be
    independent. The columns that complete Q are determined up to a rotation; they turn no more than they must.
    ``numpy.linalg.qr``, ``torch.linalg.qr``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> q, r = ng.qr(ng.DimArray([[0.0, 1.0], [2.0, 3.0]], ("i", "j")), ("i", "j"))
    >>> q.dims, r.dims
    (('i', 'j2'), ('j2', 'j'))
    >>> abs(ng.dot(q, r).data.round(12))
    array([[0., 1.],
           [2., 3.]])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "qr", square=False)
    if mode not in {"reduced", "complete"}:
        raise ValueError(f"qr: mode={mode!r}; choose 'reduced' or 'complete'")
    new = inner_name(a, col, new_dim, "qr")
    x = relabel(a, {row: ROW, col: COLUMN})
    m = extent(x, ROW)
    q, r = _qr_tall(slice_of(x, COLUMN, slice(0, m)), mode == "complete", errors)
    if extent(x, COLUMN) > m:
        r = join([r, mm(mH(q), slice_of(x, COLUMN, slice(m, None)))], COLUMN)
    q, r = relabel(q, {ROW: row, COLUMN: new}), relabel(r, {ROW: new, COLUMN: col})
    return in_place_of(a, q, {col: new}), in_place_of(a, r, {row: new})


# ------------------------------------------------------------------------------------------------ LU


def _lu_gradient(g: DimArray, y: DimArray, a: DimArray, *_: Any, **__: Any) -> tuple[DimArray]:
    """De Hoog, Anderssen and Lukas (2011): A' = L^-H (low(L^H L') + up(U' U^H)) U^-H."""
    (low, up), (gl, gu) = _split(y, extent(a, ROW)), _split(g, extent(a, ROW))
    gl, gu = lower_part(gl, strictly=True), upper_part(gu)  # the rest of the factors is the same for all matrices
    inner = add(lower_part(mm(mH(low), gl), strictly=True), upper_part(mm(gu, mH(up))))
    return (_over_adjoint(solve_upper(mH(low), inner, unit=True), up),)


def _lu_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, *_: Any, **__: Any) -> DimArray:
    """De Hoog, Anderssen and Lukas (2011): L^-1 dA U^-1 = L^-1 dL + dU U^-1, lower and upper triangular."""
    low, up = _split(y, extent(a, ROW))
    inner = _over(solve_lower(low, ts[0], unit=True), up)
    return _pack(mm(low, lower_part(inner, strictly=True)), mm(upper_part(inner), up))


# The order of the rows is a constant, and is found with the factors: these are known when the rows are in order.
_factored = Plain("(m,n)->(p,k)", "lu_factored")
_lu = MatrixOp("(m,m),(m,p)->(m,p)", "known", gradients(_lu_gradient), pushforward=_lu_pushforward)


def _rows_in_order(x: DimArray, k: int) -> tuple[DimArray, DimArray, DimArray, DimArray]:
    """The order of the rows, the matrices in it, and the factors of the first ``k`` columns.

    Rows below the first ``k`` are quotients of those by U, which has none where it is singular; the elimination has.
    """
    found, m = _factored(x), extent(x, ROW)
    p = cast(real(slice_of(slice_of(found, ROW, k), COLUMN, slice(0, m))), np.intp)
    p = relabel(p, {COLUMN: ROW})
    x = reorder(gather(x, {ROW: p}), x.names)
    head = slice_of(slice_of(x, ROW, slice(0, k)), COLUMN, slice(0, k))
    low, up = _split(slice_of(found, ROW, slice(0, k)), m)
    known = _pack(slice_of(low, ROW, slice(0, k)), up)
    pair = _lu(head, relabel(known, {COLUMN: INNER}), dims=(MATRIX, (ROW, INNER)), out=(ROW, INNER))
    first, up = _split(relabel(pair, {INNER: COLUMN}), k)
    if m == k:
        return p, x, first, up
    below = slice(k, None)
    rest = _over(slice_of(slice_of(x, ROW, below), COLUMN, slice(0, k)), up, known=slice_of(low, ROW, below))
    return p, x, join([first, rest], ROW), up


@operation(sample("well(i,j)", dims=("i", "j")), sample("tall(six,b)", dims=("six", "b")), sample("tall(b,six)", dims=("b", "six")))
def lu(a: DimArray, dims: tuple[Name, Name], *, new_dim: Name | None = None) -> tuple[DimArray, DimArray, DimArray]:
    """Triangular factors of matrices whose rows are permuted: ``a.isel(row=p)`` is ``L U``.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    new_dim : name, optional
        Of the dim between the factors; the column's with "2" appended by default.

    Returns
    -------
    p : DimArray
        Integer positions along ``row``.
    l, u : DimArray
        With the dims (row, new_dim), 1 on the diagonal, and (new_dim, column).

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The permutation is that of the point. The derivative is that of de Hoog, F. R., Anderssen, R. S. and Lukas, M. A.
    (2011), *Differentiation of matrix functionals using triangular factorization*, Mathematics of Computation 80; it
    needs the leading square block to be regular. ``scipy.linalg.lu``, ``torch.linalg.lu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 2.0], [4.0, 4.0]], ("i", "j"))
    >>> p, low, up = ng.lu(a, ("i", "j"))
    >>> p.data, low.data, up.data
    (array([1, 0]), array([[1.  , 0.  ],
           [0.25, 1.  ]]), array([[4., 4.],
           [0., 1.]]))
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "lu", square=False)
    new = inner_name(a, col, new_dim, "lu")
    x = relabel(a, {row: ROW, col: COLUMN})
    k = min(extent(x, ROW), extent(x, COLUMN))
    p, x, low, up = _rows_in_order(x, k)
    if extent(x, COLUMN) > k:
        up = join([up, solve_lower(low, slice_of(x, COLUMN, slice(k, None)), unit=True)], COLUMN)
    low, up = relabel(low, {ROW: row, COLUMN: new}), relabel(up, {ROW: new, COLUMN: col})
    p = reorder(relabel(p, {ROW: row}), tuple(n for n in a.names if n != col))
    return p, in_place_of(a, low, {col: new}), in_place_of(a, up, {row: new})
