"""Linear equations and inverses: solve, inv, pinv, lstsq."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant
from namedgrad.axes import Name
from namedgrad.backends.failures import said_by
from namedgrad.linear import Pair, add_all
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import absolute, conj_if_complex
from namedgrad.rules.dims import number
from namedgrad.rules.elementwise import divide
from namedgrad.rules.linalg.cut import cut_gradient, cut_pinv, cut_tangent, is_cut
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    INNER,
    ROW,
    MatrixOp,
    as_row,
    down,
    gradients,
    hermitian_part,
    in_order_of,
    in_place_of,
    inexact,
    matrix_dims,
    mH,
    mm,
    mT,
)
from namedgrad.rules.linalg.triangular import right_hand_side
from namedgrad.rules.movement import join
from namedgrad.rules.reductions.common import count_of
from namedgrad.rules.reductions.extremes import max
from namedgrad.rules.reductions.ranges import rescaled, size_of
from namedgrad.rules.structure import add, contract, multiply, negative, relabel, subtract
from namedgrad.trace import innermost

# ------------------------------------------------------------------------------------------------ equations


def _solve_pullback(g: DimArray, x: DimArray, a: DimArray, b: DimArray, **_: Any) -> tuple[Pair, DimArray]:
    """Giles (2008), section 2.3: b' = A^-T g, A' = -b' x^T; singular matrices have been spoken of on the way up."""
    gb = _solve(mT(a), g, errors="nan")
    return Pair(negative(down(gb)), x), gb


def _solve_pushforward(ts: list[Any], x: DimArray, a: DimArray, b: DimArray, **_: Any) -> DimArray:
    """Giles (2008), section 2.3.1: dx = A^-1 (db - dA x)."""
    ta, tb = ts
    if ta is not None:
        moved = negative(relabel(contract(ta, x, (COLUMN,)), {ROW: COLUMN}))
        tb = moved if tb is None else add(tb, moved)
    return _solve(a, tb, errors="nan")


_solve = MatrixOp("(m,m),(m)->(m)", "solve", _solve_pullback, pushforward=_solve_pushforward, columns=1)


@operation(sample("well(i,j)", "real(i)", dims=("i", "j")), sample("well(i,j)", "real(i,a)", dims=("i", "j")),
           sample("well(a,i,j)", "real(i)", dims=("i", "j")))
def solve(a: DimArray, b: DimArray, dims: tuple[Name, Name], *, errors: str = "raise") -> DimArray:
    """Solve the linear equations ``a x = b``.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``.
    b : DimArray
        Has the dim ``row``; every other dim of it is a right-hand side.
    dims : (row, column)
        Every other dim that ``a`` has is a batch, met by name with that of ``b``.
    errors : {"raise", "nan"}
        What to do with a singular matrix: raise, or give NaN for that matrix alone.

    Returns
    -------
    DimArray
        ``x``, with ``column`` in place of the ``row`` of ``b``.

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``b`` has the column dim.
    numpy.linalg.LinAlgError
        If a matrix is singular; the message says where it is, by name.

    Notes
    -----
    The derivative is that of Giles, M. (2008), *An extended collection of matrix derivative results for forward and
    reverse mode algorithmic differentiation*, section 2.3.1. ``numpy.linalg.solve``, ``torch.linalg.solve``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[2.0, 0.0], [1.0, 1.0]], ("i", "j"))
    >>> ng.solve(a, ng.DimArray([2.0, 3.0], ("i",)), ("i", "j"))
    <DimArray (j: 2) float64>
    array([1., 2.])
    """
    a, b = inexact(constant(a)), inexact(constant(b))
    row, col = matrix_dims(a, dims, "solve")
    right_hand_side(b, row, col, "solve")
    return solved(a, b, (row, col), row, col, errors)


def solved(a: DimArray, b: DimArray, dims: tuple[Name, Name], rows: Name, out: Name, errors: str = "raise") -> DimArray:
    """As :func:`solve`, where ``b`` has another name for its rows, and the result another one for the unknowns."""
    return _solve(a, b, dims=(dims, (rows,)), out=(out,), errors=errors)


# ------------------------------------------------------------------------------------------------ inverses


def _inv_gradient(g: DimArray, y: DimArray, a: DimArray, **_: Any) -> tuple[DimArray]:
    """Giles (2008), section 2.2.3: A' = -Y^H g Y^H."""
    return (negative(mm(mH(y), g, mH(y))),)


def _inv_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **_: Any) -> DimArray:
    """Giles (2008), section 2.2.3: dY = -Y dA Y."""
    return negative(mm(y, ts[0], y))


inverted = MatrixOp("(m,m)->(m,m)", "inv", gradients(_inv_gradient), pushforward=_inv_pushforward)


@operation(sample("well(i,j)", dims=("i", "j")), sample("well(i,a,j)", dims=("j", "i")))
def inv(a: DimArray, dims: tuple[Name, Name], *, errors: str = "raise") -> DimArray:
    """Inverse of square matrices.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    errors : {"raise", "nan"}
        What to do with a singular matrix: raise, or give NaN for that matrix alone.

    Returns
    -------
    DimArray
        With the dims of ``a`` in their places: the names are not exchanged.

    Raises
    ------
    AxisError
        If the matrices are not square, or a dim is unknown or vectorized.
    numpy.linalg.LinAlgError
        If a matrix is singular; the message says where it is, by name.

    Notes
    -----
    The derivative is that of Giles, M. (2008), *An extended collection of matrix derivative results for forward and
    reverse mode algorithmic differentiation*, section 2.2.3. ``numpy.linalg.inv``, ``torch.linalg.inv``. Equations are
    better solved by :func:`solve`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.inv(ng.DimArray([[2.0, 0.0], [1.0, 1.0]], ("i", "j")), ("i", "j")).data
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "inv")
    return in_place_of(a, inverted(a, dims=((row, col),), out=(row, col), errors=errors), {})


def _pinv_gradient(g: DimArray, y: DimArray, a: DimArray, rtol: float | None, **_: Any) -> tuple[DimArray]:
    """Golub and Pereyra (1973), eq. 4.12, transposed term by term; the rank does not change.

    What is projected is the cotangent, so that no product is of higher order in the inverse than the result.
    """
    if is_cut(rtol, a):
        return (cut_gradient(g, y, a),)
    yh, gh, long = mH(y), mH(g), size_of(a, (ROW, COLUMN), skipna=False)  # the square of y may be out of range
    t = mm(y, gh)  # stands in all three terms: seven products instead of ten
    first = mm(divide(subtract(gh, mm(a, t)), long), mm(multiply(y, long), yh))
    rest = mm(yh, subtract(subtract(t, mm(t, mm(y, a))), mH(t)))
    return (add(first, rest),)


def _pinv_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, rtol: float | None, **_: Any) -> DimArray:
    """Golub and Pereyra (1973), eq. 4.12: -Y dA Y + Y Y^H dA^H (1 - A Y) + (1 - Y A) dA^H Y^H Y."""
    t = ts[0]
    if is_cut(rtol, a):
        return cut_tangent(t, y, a)
    th, yh = mH(t), mH(y)
    first = negative(mm(y, t, y))
    x = mm(y, mm(yh, th))
    second = subtract(x, mm(mm(x, a), y))
    z = mm(mm(th, yh), y)
    return add(add(first, second), subtract(z, mm(y, mm(a, z))))


_mirrored = MatrixOp(
    "(m,m)->(m,m)",
    "mirrored",
    gradients(lambda g, *_, **__: (hermitian_part(g),)),
    pushforward=lambda ts, *_, **__: hermitian_part(ts[0]),
)
_pinv = MatrixOp("(m,n)->(n,m)", "pinv", gradients(_pinv_gradient), pushforward=_pinv_pushforward)


@operation(
    sample("well(i,j)", dims=("i", "j")), sample("tall(six,b)", dims=("six", "b")), sample("tall(b,six)", dims=("b", "six")),
    sample("spd(i,j)", dims=("i", "j"), hermitian=True),
)
def pinv(
    a: DimArray, dims: tuple[Name, Name], *, rtol: float | None = None, hermitian: bool = False, errors: str = "raise"
) -> DimArray:
    """Pseudoinverse of matrices of any shape.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    rtol : float, optional
        Singular values up to this part of the largest count as 0; by default the larger size times the rounding unit.
    hermitian : bool
        Whether the matrices are symmetric (Hermitian); their lower triangle is read then, and the derivative is that of
        the symmetrised matrix.
    errors : {"raise", "nan"}
        What to do with a matrix whose singular values cannot be found.

    Returns
    -------
    DimArray
        With the dims of ``a`` in their places. The rows of the pseudoinverse of a matrix that is not square are as
        many as its columns: there ``row`` has the size of ``column``, and the reverse.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or symmetric matrices are not square.

    Notes
    -----
    The derivative is that of Golub, G. H. and Pereyra, V. (1973), *The differentiation of pseudo-inverses and
    nonlinear least squares problems whose variables separate*, SIAM Journal on Numerical Analysis 10, eq. 4.12. It
    holds as long as the rank stays; with ``rtol`` the derivative is right also where what is cut off is not 0, as in a
    regularisation by truncation. ``numpy.linalg.pinv``, ``torch.linalg.pinv``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.pinv(ng.DimArray([[2.0], [0.0]], ("i", "j")), ("i", "j")).data
    array([[0.5, 0. ]])
    """
    a, row, col = _of_pinv(a, dims, hermitian)
    out = pseudoinverse(a, (row, col), rtol=number(rtol, "pinv: rtol"), errors=errors)
    return in_place_of(a, relabel(out, {row: col, col: row}), {})


def pinv_of_each(a: DimArray, dims: tuple[Name, Name], least: DimArray, *, hermitian: bool) -> DimArray:
    """The same with a tolerance for every matrix, and maybe for several of one; on positional arrays."""
    a, row, col = _of_pinv(a, dims, hermitian)
    return relabel(cut_pinv(a, (row, col), least), {row: col, col: row})


def _of_pinv(a: DimArray, dims: tuple[Name, Name], hermitian: bool) -> tuple[DimArray, Name, Name]:
    a = inexact(a)
    row, col = matrix_dims(a, dims, "pinv", square=hermitian)
    return (_mirrored(a, dims=((row, col),), out=(row, col)) if hermitian else a), row, col


def pseudoinverse(a: DimArray, dims: tuple[Name, Name], **options: Any) -> DimArray:
    """With rows along the column dim of ``a``, and the reverse."""
    return _pinv(a, dims=(dims,), out=dims[::-1], **options)


def _lstsq_pullback(g: DimArray, x: DimArray, a: DimArray, b: DimArray, y: DimArray) -> tuple[Pair, DimArray, None]:
    """Golub and Pereyra (1973), eq. 4.12, for the rank-one cotangent g b^H of the inverse: vectors instead of matrices.

    A' = (b - A x) (Y Y^H g)^H + Y^H x (g - A^H Y^H g)^H - Y^H g x^H and b' = Y^H g. The inverse passes nothing on.
    """
    g, yh, ah = conj_if_complex(g), conj_if_complex(y), conj_if_complex(a)
    back = contract(yh, down(g), (ROW,))
    long = size_of(a, (ROW, COLUMN), skipna=False)  # which the inverse of a square may be too short to meet
    rest, twice = divide(subtract(b, _times(a, x)), long), _times(y, multiply(back, long))
    short, left = contract(yh, down(multiply(x, long)), (ROW,)), subtract(g, contract(ah, down(back), (ROW,)))
    rows = relabel(join([as_row(v) for v in (rest, short, negative(back))], ROW), {ROW: INNER, COLUMN: ROW})
    columns = relabel(join([as_row(v) for v in (twice, divide(left, long), x)], ROW), {ROW: INNER})
    return Pair(conj_if_complex(rows), columns), conj_if_complex(back), None


def _times(a: DimArray, x: DimArray) -> DimArray:
    """A matrix times a vector, which has its cells along the columns, and so has the result."""
    return relabel(contract(a, x, (COLUMN,)), {ROW: COLUMN})


def _lstsq_pushforward(ts: list[Any], x: DimArray, a: DimArray, b: DimArray, y: DimArray) -> DimArray:
    """The inverse has a tangent of its own: dx = dY b + Y db."""
    return add_all([_times(m, v) for m, v in ((ts[2], b), (y, ts[1])) if m is not None and v is not None])


_lstsq = MatrixOp("(m,n),(m),(n,m)->(n)", "lstsq_known", _lstsq_pullback, pushforward=_lstsq_pushforward, columns=1)


@operation(
    sample("well(i,j)", "real(i)", dims=("i", "j")), sample("tall(six,b)", "real(six)", dims=("six", "b")),
    sample("tall(b,six)", "real(b,a)", dims=("b", "six")),
)
def lstsq(a: DimArray, b: DimArray, dims: tuple[Name, Name], *, rtol: float | None = None, errors: str = "raise") -> DimArray:
    """The shortest ``x`` that makes ``|a x - b|`` smallest.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape and rank over ``dims``.
    b : DimArray
        Has the dim ``row``; every other dim of it is a right-hand side.
    dims : (row, column)
        Every other dim that ``a`` has is a batch, met by name with that of ``b``.
    rtol : float, optional
        Singular values up to this part of the largest count as 0; by default the larger size times the rounding unit.
    errors : {"raise", "nan"}
        What to do with a matrix whose singular values cannot be found.

    Returns
    -------
    DimArray
        ``x``, with ``column`` in place of the ``row`` of ``b``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or ``b`` has the column dim.

    Notes
    -----
    The pseudoinverse of ``a`` times ``b``, and so is the derivative: see :func:`pinv`. ``numpy.linalg.lstsq`` (the
    first of what it returns), ``torch.linalg.lstsq``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], ("i", "j"))
    >>> ng.lstsq(a, ng.DimArray([1.0, 3.0, 5.0], ("i",)), ("i", "j")).data.round(12)
    array([1., 2.])
    """
    a, b = inexact(constant(a)), inexact(constant(b))
    row, col = matrix_dims(a, dims, "lstsq", square=False)
    right_hand_side(b, row, col, "lstsq")
    options = {"rtol": number(rtol, "lstsq: rtol"), "errors": errors}
    out = _shortest(a, b, (row, col), **options)

    def scaled() -> DimArray:
        long = size_of(a, (row, col), skipna=False)
        return _shortest(divide(a, long), divide(b, long), (row, col), **options)

    if a.level is not None and count_of(a, (row, col)):
        out = rescaled(out, [(max(absolute(innermost(a)), (row, col), skipna=False), None)], 2, scaled)
    return in_order_of(out, a, b)


def _shortest(a: DimArray, b: DimArray, dims: tuple[Name, Name], *, rtol: float | None, errors: str) -> DimArray:
    with said_by("lstsq", option=True):
        inverse = pseudoinverse(a, dims, rtol=rtol, errors=errors)
    if a.level is None or rtol is not None:  # which may cut off more than the derivative in vectors knows of
        return contract(inverse, b, dims[:1])
    return _lstsq(a, b, inverse, dims=(dims, dims[:1], dims[::-1]), out=dims[1:])
