"""Determinants and what else makes one number of a matrix."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import conj_if_complex, imag, real
from namedgrad.rules.elementwise import c, less, log
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
from namedgrad.rules.linalg.solving import inverted
from namedgrad.rules.movement import diagonal as diagonal_of
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions import sum as sum_
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import add, equal, multiply, negative, positions, relabel, scale, select, total, where

# ------------------------------------------------------------------------------------------------ determinant


def _det_pullback(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Magnus and Neudecker (2019), section 8.3: d det A = tr(adj(A) dA), for singular matrices too."""
    return (scale(g, _cofactor(a)),)


def _det_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    return total(multiply(_cofactor(a), ts[0]), MATRIX)


def _cofactor_pullback(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Bilinear and symmetric: the second derivative of the determinant in two directions."""
    return (_cofactor_along(a, g),)


def _cofactor_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    return _cofactor_along(a, ts[0])


def _along_pullback(g: DimArray, y: DimArray, a: DimArray, t: DimArray, **_: Any) -> tuple[DimArray, DimArray]:
    """Every derivative of a determinant is linear and symmetric in its directions."""
    return _cofactor_twice(a, t, g), _cofactor_along(a, g)


def _along_pushforward(ts: list[Any], y: DimArray, a: DimArray, t: DimArray, **_: Any) -> DimArray:
    return _sum_of(ts, [lambda s: _cofactor_twice(a, t, s), lambda s: _cofactor_along(a, s)])


def _twice_pullback(g: DimArray, y: DimArray, a: DimArray, t: DimArray, u: DimArray, **_: Any) -> Any:
    return _by_inverse(a, t, u, g), _cofactor_twice(a, g, u), _cofactor_twice(a, t, g)


def _twice_pushforward(ts: list[Any], y: DimArray, a: DimArray, t: DimArray, u: DimArray, **_: Any) -> DimArray:
    ways = [lambda s: _by_inverse(a, t, u, s), lambda s: _cofactor_twice(a, s, u), lambda s: _cofactor_twice(a, t, s)]
    return _sum_of(ts, ways)


def _sum_of(ts: list[Any], ways: list[Callable[[DimArray], DimArray]]) -> DimArray:
    return functools.reduce(add, [way(t) for t, way in zip(ts, ways, strict=True) if t is not None])


def _by_inverse(a: DimArray, *ts: DimArray) -> DimArray:
    """The derivative of the cofactors in several directions; NaN where a matrix is too near a singular one.

    With X the inverse, that of the determinant is its product with the sum over all permutations of the directions of
    ``sign * tr(X t1 X t2 ...) tr(...) ...``, a trace for each cycle. Here the last direction is left out of its trace.
    """
    x = inverted(a, errors="nan")
    steps, last = [mm(x, t) for t in ts], len(ts)
    terms = []
    for order in itertools.permutations(range(last + 1)):
        cycles = _cycles(order)
        out = x
        for k in next(cycle for cycle in cycles if last in cycle)[1:]:
            out = mm(steps[k], out)
        for cycle in cycles:
            if last not in cycle:
                out = multiply(out, total(diagonal(functools.reduce(mm, (steps[k] for k in cycle))), (COLUMN,)))
        terms.append(negative(out) if (last + 1 - len(cycles)) % 2 else out)
    known = less(multiply(vector_norm(a, MATRIX), vector_norm(x, MATRIX)), c(1 / math.sqrt(np.finfo(a.dtype).eps)))
    return where(known, multiply(mT(functools.reduce(add, terms)), _det(a)), c(math.nan))


def _cycles(order: tuple[int, ...]) -> list[list[int]]:
    """The cycles of a permutation, that of the last number first and beginning with it."""
    left, found = list(range(len(order))), []
    while left:
        cycle = [left.pop()]
        while order[cycle[-1]] != cycle[0]:
            cycle.append(order[cycle[-1]])
            left.remove(cycle[-1])
        found.append(cycle)
    return found


_det = MatrixOp("(m,m)->()", "det", _det_pullback, pushforward=_det_pushforward)
_cofactor = MatrixOp("(m,m)->(m,m)", "cofactor", _cofactor_pullback, pushforward=_cofactor_pushforward)
_cofactor_along = MatrixOp("(m,m),(m,m)->(m,m)", "cofactor_along", _along_pullback, pushforward=_along_pushforward)
_cofactor_twice = MatrixOp("(m,m),(m,m),(m,m)->(m,m)", "cofactor_twice", _twice_pullback, pushforward=_twice_pushforward)


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
    (2019), *Matrix differential calculus*, section 8.3), and so are the second and the third one; of those beyond a
    matrix that is nearly singular gets NaN. ``numpy.linalg.det``, ``torch.linalg.det``.

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
    return (scale(weight, mH(inverted(a, errors="nan"))),)


def _slogdet_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    moved = total(scale(ts[0], mT(inverted(a, errors="nan"))), MATRIX)
    place = positions(2, COLUMN, y)
    out = select(equal(place, c(1)), typed(real(moved), y))
    if y.dtype.kind != "c":
        return out
    turn = scale(multiply(constant(1j), slice_of(y, COLUMN, 0)), typed(imag(moved), y))
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
    line: Name = axes.local("traced diagonal")
    return sum_(diagonal_of(a, dims, offset=offset, new_dim=line), line, skipna=False)
