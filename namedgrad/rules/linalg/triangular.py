"""Linear equations with triangular matrices."""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Pair
from namedgrad.primitive import check_sizes, operation, sample
from namedgrad.rules.dims import check
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    ROW,
    MatrixOp,
    down,
    in_order_of,
    inexact,
    matrix_dims,
    mT,
    read_triangle,
)
from namedgrad.rules.structure import add, contract, negative, relabel

RHS = axes.core(-14)


def _pullback(
    g: DimArray, x: DimArray, a: DimArray, b: DimArray, *_known: DimArray, lower: bool, unit: bool, **_: Any
) -> tuple[Pair, DimArray]:
    """Giles (2008), section 2.3: b' = A^-T g, A' = -b' x^T; what is outside the triangle is cut where it is read."""
    gb = _solve(mT(a), g, lower=not lower, unit=unit, errors="nan")
    return Pair(negative(down(gb)), x), gb


def _pushforward(
    ts: list[Any], x: DimArray, a: DimArray, b: DimArray, *_known: DimArray, lower: bool, unit: bool, **_: Any
) -> DimArray:
    """Giles (2008), section 2.3: dx = A^-1 (db - dA x)."""
    ta, tb = ts[:2]
    if ta is not None:
        moved = negative(relabel(contract(ta, x, (COLUMN,)), {ROW: COLUMN}))
        tb = moved if tb is None else add(tb, moved)
    return _solve(a, tb, lower=lower, unit=unit, errors="nan")


_solve = MatrixOp("(m,m),(m)->(m)", "triangular_solve", _pullback, pushforward=_pushforward, columns=1)
_known = MatrixOp("(m,m),(m),(m)->(m)", "known", _pullback, pushforward=_pushforward)


def solve_lower(a: DimArray, b: DimArray, *, unit: bool = False, known: DimArray | None = None) -> DimArray:
    """``a^-1 b`` for matrices ``b``, unless it is known; of ``a`` only the lower triangle is read."""
    return _matrices(a, b, True, unit, known)


def solve_upper(a: DimArray, b: DimArray, *, unit: bool = False) -> DimArray:
    """``a^-1 b`` for matrices ``b``; of ``a`` only the upper triangle is read."""
    return _matrices(a, b, False, unit)


def _matrices(a: DimArray, b: DimArray, lower: bool, unit: bool, known: DimArray | None = None) -> DimArray:
    vectors = [relabel(m, {COLUMN: RHS, ROW: COLUMN}) for m in (b, known) if m is not None]
    x = (_solve if known is None else _known)(a, *vectors, lower=lower, unit=unit, errors="nan")
    return relabel(x, {COLUMN: ROW, RHS: COLUMN})


@operation(
    sample("well(i,j)", "real(i)", dims=("i", "j")), sample("well(i,j)", "real(i,a)", dims=("i", "j"), lower=False),
    sample("well(a,i,j)", "real(i)", dims=("i", "j"), transposed=True), sample("well(i,j)", "real(i)", dims=("i", "j"), unit_diagonal=True),
)
def solve_triangular(
    a: DimArray, b: DimArray, dims: tuple[Name, Name], *, lower: bool = True, transposed: bool = False,
    unit_diagonal: bool = False, errors: str = "raise",
) -> DimArray:
    """Solve ``a x = b`` where ``a`` is triangular.

    Parameters
    ----------
    a : DimArray
        Square matrices over ``dims``, of which one triangle is read.
    b : DimArray
        Has the dim ``row``; every other dim of it is a right-hand side.
    dims : (row, column)
        Every other dim that ``a`` has is a batch, met by name with that of ``b``.
    lower : bool
        Which triangle of ``a`` is read.
    transposed : bool
        Solve ``a^T x = b`` instead.
    unit_diagonal : bool
        Take the diagonal for 1, whatever stands there.
    errors : {"raise", "nan"}
        What to do with a singular matrix.

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
    The derivative is that of :func:`solve`, cut to the triangle that is read: Giles, M. (2008), *An extended
    collection of matrix derivative results for forward and reverse mode algorithmic differentiation*, section 2.3.
    ``scipy.linalg.solve_triangular``, ``torch.linalg.solve_triangular``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[2.0, 9.0], [1.0, 1.0]], ("i", "j"))
    >>> ng.solve_triangular(a, ng.DimArray([2.0, 3.0], ("i",)), ("i", "j")).data
    array([1., 2.])
    """
    a, b = inexact(constant(a)), inexact(constant(b))
    row, col = matrix_dims(a, dims, "solve_triangular")
    right_hand_side(b, row, col, "solve_triangular")
    check_sizes("solve_triangular", (a, b))
    x = read_triangle(relabel(a, {row: ROW, col: COLUMN}), lower=lower, strictly=unit_diagonal)
    if transposed:
        x, lower = mT(x), not lower
    out = _solve(x, b, dims=((ROW, COLUMN), (row,)), out=(col,), lower=lower, unit=unit_diagonal, errors=errors)
    return in_order_of(out, a, b)


def right_hand_side(b: DimArray, row: Name, col: Name, what: str) -> None:
    """Refuse a ``b`` that does not fit."""
    check(b, row, what)
    if col in b.names:
        raise AxisError(f"{what}: b has the column dim {col!r} of a already; rename it in b")
