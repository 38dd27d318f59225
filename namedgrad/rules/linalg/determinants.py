"""Determinants and what else makes one number of a matrix."""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import conj_if_complex, imag, real
from namedgrad.rules.elementwise import c, log
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    MATRIX,
    ROW,
    MatrixOp,
    diagonal,
    gradients,
    inexact,
    matrix_dims,
    mH,
    mm,
    mT,
    typed,
)
from namedgrad.rules.linalg.solving import _inv
from namedgrad.rules.movement import diagonal as diagonal_of
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions import sum as sum_
from namedgrad.rules.structure import add, equal, multiply, positions, relabel, select, subtract, total

# ------------------------------------------------------------------------------------------------ determinant


def _det_pullback(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Magnus and Neudecker (2019), section 8.3: d det A = tr(adj(A) dA), for singular matrices too."""
    return (multiply(g, _cofactor(a)),)


def _det_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    return total(multiply(_cofactor(a), ts[0]), MATRIX)


def _cofactor_pullback(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Bilinear and symmetric: the second derivative of the determinant in two directions."""
    return (_cofactor_along(a, g),)


def _cofactor_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    return _cofactor_along(a, ts[0])


def _along_pullback(g: DimArray, y: DimArray, a: DimArray, t: DimArray, **_: Any) -> tuple[DimArray, DimArray]:
    """The third derivative, by the inverse: for regular matrices."""
    return _third(a, t, g), _cofactor_along(a, g)


def _along_pushforward(ts: list[Any], y: DimArray, a: DimArray, t: DimArray, **_: Any) -> DimArray:
    parts = [] if ts[0] is None else [_third(a, t, ts[0])]
    parts += [] if ts[1] is None else [_cofactor_along(a, ts[1])]
    return parts[0] if len(parts) == 1 else add(*parts)


def _third(a: DimArray, t: DimArray, u: DimArray) -> DimArray:
    """Derivative of ``tr(X t) tr(X u) - tr(X t X u)`` times the determinant, X the inverse."""
    x = _inv(a, errors="nan")
    xt, xu = mm(x, t), mm(x, u)
    tt, tu = _trace(xt), _trace(xu)
    det = _det(a)
    xtx, xux = mm(xt, x), mm(xu, x)
    pair = subtract(multiply(tt, tu), _trace(mm(xt, xu)))
    inner = multiply(x, pair)
    inner = subtract(inner, add(multiply(xtx, tu), multiply(xux, tt)))
    inner = add(inner, add(mm(xt, xux), mm(xu, xtx)))
    return mT(multiply(inner, det))


def _trace(x: DimArray) -> DimArray:
    return total(diagonal(x), (COLUMN,))


_det = MatrixOp("(m,m)->()", "det", _det_pullback, pushforward=_det_pushforward)
_cofactor = MatrixOp("(m,m)->(m,m)", "cofactor", _cofactor_pullback, pushforward=_cofactor_pushforward)
_cofactor_along = MatrixOp("(m,m),(m,m)->(m,m)", "cofactor_along", _along_pullback, pushforward=_along_pushforward)


@operation(sample("well(i,j)", dims=("i", "j")), sample("cwell(i,j)", dims=("i", "j")))
def det(a: DimArray, dims: tuple[Name, Name]) -> DimArray:
    """Determinant of square matrices.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.

    Returns
    -------
    DimArray
        Without ``dims``.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative is the matrix of cofactors, which is right for singular matrices too (Magnus, J. R. and Neudecker, H.
    (2019), *Matrix differential calculus*, section 8.3), and so is the second one. ``numpy.linalg.det``,
    ``torch.linalg.det``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> float(ng.det(ng.DimArray([[2.0, 0.0], [1.0, 3.0]], ("i", "j")), ("i", "j")))
    6.0
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "det")
    return _det(relabel(a, {row: ROW, col: COLUMN}))


# ------------------------------------------------------------------------------------------------ its logarithm
# The kernel gives the sign and the logarithm along one axis.


def _slogdet_gradient(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Magnus and Neudecker (2019), section 8.4: d log |det A| = Re tr(A^-1 dA), d sign = i sign Im tr(A^-1 dA)."""
    weight = typed(real(slice_of(g, COLUMN, 1)), a)
    if a.dtype.kind == "c":
        turn = imag(multiply(conj_if_complex(slice_of(y, COLUMN, 0)), slice_of(g, COLUMN, 0)))
        weight = add(weight, multiply(constant(1j), typed(turn, a)))
    return (multiply(weight, mH(_inv(a, errors="nan"))),)


def _slogdet_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    moved = total(multiply(mT(_inv(a, errors="nan")), ts[0]), MATRIX)
    place = positions(2, COLUMN, y)
    out = select(equal(place, c(1)), typed(real(moved), y))
    if y.dtype.kind != "c":
        return out
    turn = multiply(multiply(constant(1j), slice_of(y, COLUMN, 0)), typed(imag(moved), y))
    return add(out, select(equal(place, c(0)), turn))


_slogdet = MatrixOp("(m,m)->(p)", "slogdet_packed", gradients(_slogdet_gradient), pushforward=_slogdet_pushforward)


@operation(sample("well(i,j)", dims=("i", "j")), sample("cwell(i,j)", dims=("i", "j")))
def slogdet(a: DimArray, dims: tuple[Name, Name]) -> tuple[DimArray, DimArray]:
    """Sign and logarithm of the absolute value of the determinant of square matrices.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.

    Returns
    -------
    sign, logabsdet : DimArray
        Without ``dims``; of complex matrices the sign is a number of absolute value 1, of a singular one 0 and -inf.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative of the logarithm is the transposed inverse (Magnus, J. R. and Neudecker, H. (2019), *Matrix
    differential calculus*, section 8.4); it is NaN for a singular matrix. ``numpy.linalg.slogdet``,
    ``torch.linalg.slogdet``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> sign, log = ng.slogdet(ng.DimArray([[-2.0, 0.0], [1.0, 1.0]], ("i", "j")), ("i", "j"))
    >>> print(f"{float(sign):g} {float(log):.6g}")
    -1 0.693147
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "slogdet")
    x = relabel(a, {row: ROW, col: COLUMN})
    packed = _slogdet(x)
    return slice_of(packed, COLUMN, 0), real(slice_of(packed, COLUMN, 1))


@operation(sample("spd(i,j)", dims=("i", "j")), sample("cwell(i,j)", dims=("i", "j")))
def logdet(a: DimArray, dims: tuple[Name, Name]) -> DimArray:
    """Logarithm of the determinant of square matrices; NaN where a real one is negative.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.

    Returns
    -------
    DimArray
        Without ``dims``; complex if ``a`` is.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative is the transposed inverse; see :func:`slogdet`. ``torch.logdet``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> log = ng.logdet(ng.eye("i", "j", 3) * 2.0, ("i", "j"))
    >>> print(f"{log.item():.6g}")
    2.07944
    """
    sign_, size = slogdet(a, dims)
    return add(log(sign_), typed(size, sign_))


# ------------------------------------------------------------------------------------------------ trace


@operation(sample("real(i,j)", dims=("i", "j")), sample("complex(a,b)", dims=("a", "b")), method=False)
def trace(a: DimArray, dims: tuple[Name, Name], *, offset: int = 0) -> DimArray:
    """Sum of the diagonal of matrices.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    offset : int
        Which diagonal; positive ones are above the main one.

    Returns
    -------
    DimArray
        Without ``dims``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.

    Notes
    -----
    The derivative is 1 on the diagonal. ``numpy.trace``, ``torch.trace``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.trace(ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("i", "j")), ("i", "j")).item()
    5.0
    """
    matrix_dims(a, dims, "trace", square=False)
    line: Name = axes.fresh("diagonal")
    return sum_(diagonal_of(a, dims, offset=offset, new_dim=line), line, skipna=False)
