"""Linear algebra on named matrices: ``dims=(row, column)``; every other dim is a batch.

Rules are written on ``core(-2)`` and ``core(-1)``, rows and columns.
"""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Pair
from namedgrad.primitive import core, operation, sample
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import c, greater_equal
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    equal,
    multiply,
    negative,
    positions,
    relabel,
    reorder,
    select,
    subtract,
    where,
)

ROW, COLUMN, INNER = axes.core(-2), axes.core(-1), axes.core(-3)


def mT(x: DimArray) -> DimArray:
    """Transposed matrices."""
    return relabel(x, {ROW: COLUMN, COLUMN: ROW})


def mH(x: DimArray) -> DimArray:
    """Conjugate-transposed matrices."""
    return conj_if_complex(mT(x))


def mm(x: DimArray, y: DimArray) -> DimArray:
    """Matrix product."""
    return contract(relabel(x, {COLUMN: INNER}), relabel(y, {ROW: INNER}), (INNER,))


def column(x: DimArray) -> DimArray:
    """A core vector as the rows of a matrix with one more axis to come."""
    return relabel(x, {COLUMN: ROW})


def lower_half(x: DimArray) -> DimArray:
    """The lower triangle with the diagonal halved."""
    n = extent(x, COLUMN)
    row, column = positions(n, ROW, x), positions(n, COLUMN, x)
    weights = select(greater_equal(row, column), where(equal(row, column), c(0.5), c(1.0)))
    return multiply(x, cast(weights, x.dtype.type(0).real.dtype))


def _cholesky_pullback(g: DimArray, y: DimArray, a: DimArray) -> tuple[DimArray]:
    """Murray (2016), eq. 9: S = L^-H P L^-1, P = Phi(L^H g)."""
    g = conj_if_complex(g)
    p = lower_half(mm(mH(y), g))
    s = mH(_solve_many(mH(y), mH(_solve_many(mH(y), p))))
    return (conj_if_complex(multiply(c(0.5), add(s, mH(s)))),)


def _cholesky_pushforward(ts: list[DimArray], y: DimArray, a: DimArray) -> DimArray:
    """Murray (2016), eq. 8: dL = L Phi(L^-1 dA L^-H)."""
    (t,) = ts
    t = multiply(c(0.5), add(t, mH(t)))
    inner = mH(_solve_many(y, mH(_solve_many(y, t))))
    return mm(y, lower_half(inner))


def _solve_pullback(g: DimArray, x: DimArray, a: DimArray, b: DimArray) -> tuple[Pair, DimArray]:
    """Giles (2008), section 2.3: b' = A^-T g, A' = -b' x^T."""
    gb = _solve(mT(a), g)
    return Pair(negative(column(gb)), x), gb


def _solve_pushforward(ts: list[Any], x: DimArray, a: DimArray, b: DimArray) -> DimArray:
    """Giles (2008), section 2.3.1: dx = A^-1 (db - dA x)."""
    ta, tb = ts
    if ta is None:
        return _solve(a, tb)
    moved = relabel(contract(ta, x, (COLUMN,)), {ROW: COLUMN})
    return _solve(a, negative(moved) if tb is None else subtract(tb, moved))


def _solve_many(a: DimArray, b: DimArray) -> DimArray:
    """``a x = b`` for matrices ``b``: its columns are right-hand sides like any other axis."""
    rhs = axes.core(-4)
    x = _solve(a, relabel(b, {COLUMN: rhs, ROW: COLUMN}))
    return relabel(x, {COLUMN: ROW, rhs: COLUMN})


_cholesky = core("(m,m)->(m,m)", "cholesky", pullback=_cholesky_pullback, pushforward=_cholesky_pushforward)
_solve = core("(m,m),(m)->(m)", "solve", pullback=_solve_pullback, pushforward=_solve_pushforward, columns=1)


def matrix_dims(a: DimArray, dims: tuple[Name, Name], what: str, *, square: bool = True) -> tuple[Name, Name]:
    """The two dims of a matrix, checked."""
    if not isinstance(dims, (tuple, list)) or len(dims) != 2 or dims[0] == dims[1]:
        raise AxisError(f"{what}: dims must be two different names, (row, column); got {dims!r}")
    row, col = dims
    check(a, row, what)
    check(a, col, what)
    if square and extent(a, row) != extent(a, col):
        raise AxisError(f"{what}: needs a square matrix, got {row!r}: {extent(a, row)} and {col!r}: {extent(a, col)}")
    return row, col


@operation(sample("spd(i,j)", dims=("i", "j")), sample("spd(i,a,j)", dims=("i", "j")), sample("spd(i,j)", dims=("i", "j"), lower=False))
def cholesky(a: DimArray, dims: tuple[Name, Name], *, lower: bool = True) -> DimArray:
    """Cholesky factor L of symmetric (Hermitian) positive definite matrices, ``a = L L^H``.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``. The lower triangle is read; the derivative is that of the symmetrised matrix.
    dims : (row, column)
        Every other dim is a batch.
    lower : bool
        Give L (row, column); else its conjugate transpose.

    Returns
    -------
    DimArray
        With the dims of ``a``.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.

    Notes
    -----
    Murray, I. (2016), *Differentiation of the Cholesky decomposition*, arXiv:1602.07527, eqs. 8 and 9.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[4.0, 2.0], [2.0, 5.0]], ("i", "j"))
    >>> ng.cholesky(a, ("i", "j")).data
    array([[2., 0.],
           [1., 2.]])
    """
    row, col = matrix_dims(a, dims, "cholesky")
    out = _cholesky(a, dims=((row, col),), out=(row, col))
    return out if lower else reorder(relabel(conj_if_complex(out), {row: col, col: row}), out.names)


@operation(sample("well(i,j)", "real(i)", dims=("i", "j")), sample("well(i,j)", "real(i,a)", dims=("i", "j")),
           sample("well(a,i,j)", "real(i)", dims=("i", "j")))
def solve(a: DimArray, b: DimArray, dims: tuple[Name, Name]) -> DimArray:
    """Solve the linear equations ``a x = b``.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    b : DimArray
        Has the dim ``row``; every other dim of it is a right-hand side.
    dims : (row, column)
        Every other dim that ``a`` has is a batch, met by name with that of ``b``.

    Returns
    -------
    DimArray
        ``x``, with ``column`` in place of the ``row`` of ``b``.

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``b`` has the column dim.
    numpy.linalg.LinAlgError
        If a matrix is singular.

    Notes
    -----
    Giles, M. (2008), *An extended collection of matrix derivative results for forward and reverse mode algorithmic
    differentiation*, section 2.3.1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[2.0, 0.0], [1.0, 1.0]], ("i", "j"))
    >>> ng.solve(a, ng.DimArray([2.0, 3.0], ("i",)), ("i", "j"))
    <DimArray (j: 2) float64>
    array([1., 2.])
    """
    a, b = constant(a), constant(b)
    row, col = matrix_dims(a, dims, "solve")
    check(b, row, "solve")
    if col in b.names:
        raise AxisError(f"solve: b has the column dim {col!r} of a already; rename it in b")
    return _solve(a, b, dims=((row, col), (row,)), out=(col,))


