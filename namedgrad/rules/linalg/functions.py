"""Functions of square matrices: powers, exponential, root, logarithm.

The derivative of ``f`` in the direction E is the upper right block of ``f([[A, E], [0, A]])`` (Mathias 1996, theorem
2.1; Higham 2008, *Functions of matrices*, section 3.2), which is such a function itself, so every order follows.
"""

from __future__ import annotations

import operator

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.backends.failures import said_by
from namedgrad.primitive import operation, sample
from namedgrad.rules.elementwise import c, divide, less
from namedgrad.rules.linalg.matrices import COLUMN, ROW, MatrixOp, in_place_of, inexact, matrix_dims, mm, mT
from namedgrad.rules.linalg.solving import inv
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.reductions.ranges import size_of
from namedgrad.rules.structure import add, identity, multiply, positions, relabel, select


def _along(f: MatrixOp, a: DimArray, e: DimArray, errors: str) -> DimArray:
    """The derivative of ``f`` at ``a`` in the direction ``e``, which is made as long as ``a``: a longer one would drown it."""
    n, long, far = extent(a, COLUMN), size_of(a, (ROW, COLUMN), skipna=False), size_of(e, (ROW, COLUMN), skipna=False)
    e = multiply(divide(e, far), long)
    zero = multiply(e, c(0.0))
    block = join([join([a, e], COLUMN), join([zero, a], COLUMN)], ROW)
    out = f(block, errors=errors)
    return multiply(divide(slice_of(slice_of(out, ROW, slice(0, n)), COLUMN, slice(n, None)), long), far)


def _function(name: str) -> MatrixOp:
    """Declare a function of matrices that has the power series of a function of numbers."""

    def pullback(g: DimArray, y: DimArray, a: DimArray, errors: str = "raise") -> tuple[DimArray]:
        return (mT(_along(op, a, mT(g), errors)),)

    def pushforward(ts: list[DimArray], y: DimArray, a: DimArray, errors: str = "raise") -> DimArray:
        return _along(op, a, ts[0], errors)

    op = MatrixOp("(m,m)->(m,m)", name, pullback, pushforward=pushforward)
    return op


_expm, _sqrtm, _logm = _function("expm"), _function("sqrtm"), _function("logm")


def _apply(op: MatrixOp, a: DimArray, dims: tuple[Name, Name], errors: str) -> DimArray:
    a = inexact(a)
    row, col = matrix_dims(a, dims, op.name)
    out = op(relabel(a, {row: ROW, col: COLUMN}), errors=errors)
    return in_place_of(a, relabel(out, {ROW: row, COLUMN: col}), {})


@operation(sample("well(i,j)", dims=("i", "j")), sample("cwell(i,j)", dims=("i", "j")))
def expm(a: DimArray, dims: tuple[Name, Name], *, errors: str = "raise") -> DimArray:
    """The exponential of square matrices.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    errors : {"raise", "nan"}
        What to do with a matrix that has none.

    Returns
    -------
    DimArray
        With the dims of ``a``.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative in a direction E is a block of the same function of a block matrix: Mathias, R. (1996), *A chain rule
    for matrix functions and applications*, SIAM Journal on Matrix Analysis and Applications 17, theorem 2.1.
    ``scipy.linalg.expm``, ``torch.linalg.matrix_exp``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.expm(ng.DimArray([[0.0, 1.0], [0.0, 0.0]], ("i", "j")), ("i", "j")).data
    array([[1., 1.],
           [0., 1.]])
    """
    return _apply(_expm, a, dims, errors)


@operation(sample("apart(i,j)", dims=("i", "j")), sample("capart(i,j)", dims=("i", "j")))
def sqrtm(a: DimArray, dims: tuple[Name, Name], *, errors: str = "raise") -> DimArray:
    """The principal square root of square matrices.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    errors : {"raise", "nan"}
        What to do with a matrix that has none.

    Returns
    -------
    DimArray
        With the dims of ``a``. Complex if a real matrix has negative eigenvalues.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative in a direction E is a block of the same function of a block matrix: Mathias, R. (1996), *A chain rule
    for matrix functions and applications*, SIAM Journal on Matrix Analysis and Applications 17, theorem 2.1.
    ``scipy.linalg.sqrtm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.sqrtm(ng.DimArray([[4.0, 1.0], [0.0, 4.0]], ("i", "j")), ("i", "j")).data.round(12)
    array([[2.  , 0.25],
           [0.  , 2.  ]])
    """
    return _apply(_sqrtm, a, dims, errors)


@operation(sample("apart(i,j)", dims=("i", "j")), sample("capart(i,j)", dims=("i", "j")))
def logm(a: DimArray, dims: tuple[Name, Name], *, errors: str = "raise") -> DimArray:
    """The principal logarithm of square matrices.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    errors : {"raise", "nan"}
        What to do with a matrix that has none.

    Returns
    -------
    DimArray
        With the dims of ``a``. Complex if a real matrix has negative eigenvalues.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.

    Notes
    -----
    The derivative in a direction E is a block of the same function of a block matrix: Mathias, R. (1996), *A chain rule
    for matrix functions and applications*, SIAM Journal on Matrix Analysis and Applications 17, theorem 2.1.
    ``scipy.linalg.logm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.logm(ng.DimArray([[1.0, 1.0], [0.0, 1.0]], ("i", "j")), ("i", "j")).data.round(12) + 0.0
    array([[0., 1.],
           [0., 0.]])
    """
    return _apply(_logm, a, dims, errors)


@operation(sample("well(i,j)", dims=("i", "j"), n=3), sample("well(i,j)", dims=("i", "j"), n=-2), sample("cwell(i,a,j)", dims=("i", "j"), n=5))
def matrix_power(a: DimArray, dims: tuple[Name, Name], n: int) -> DimArray:
    """Square matrices times themselves, ``n`` times.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    n : int
        Negative powers are those of the inverse; 0 gives the identity.

    Returns
    -------
    DimArray
        With the dims of ``a``.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.
    TypeError
        If ``n`` is no integer: :func:`expm` and :func:`logm` make other powers.

    Notes
    -----
    Products by repeated squaring; the derivative is theirs. ``numpy.linalg.matrix_power``,
    ``torch.linalg.matrix_power``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.matrix_power(ng.DimArray([[1.0, 1.0], [0.0, 1.0]], ("i", "j")), ("i", "j"), 3).data
    array([[1., 3.],
           [0., 1.]])
    """
    row, col = matrix_dims(a, dims, "matrix_power")
    n = operator.index(n)
    if n < 0:
        with said_by("matrix_power"):
            a, n = inv(a, dims), -n
    x = relabel(a, {row: ROW, col: COLUMN})
    out = _powered(x, n) if n else _first_power(x)
    return in_place_of(a, relabel(out, {ROW: row, COLUMN: col}), {})


def _first_power(x: DimArray) -> DimArray:
    """The identity, for every matrix."""
    size = extent(x, ROW)
    nowhere = less(positions(size, ROW, x), c(0))
    return add(select(nowhere, x), identity(size, ROW, COLUMN, x))


def _powered(x: DimArray, n: int) -> DimArray:
    """Binary exponentiation (Knuth, *The art of computer programming* 2, section 4.6.3)."""
    out = None
    while n:
        if n % 2:
            out = x if out is None else mm(out, x)
        n //= 2
        x = mm(x, x) if n else x
    return out  # type: ignore[return-value]
