"""Condition, rank and norms of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.backends.failures import said_by
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import divide, greater, isnan, logical_and
from namedgrad.rules.linalg.matrices import COLUMN, ROW, inexact, matrix_dims
from namedgrad.rules.linalg.singular import svd
from namedgrad.rules.linalg.solving import inv
from namedgrad.rules.reductions import max as max_
from namedgrad.rules.reductions import min as min_
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import cast, equal, isfinite, multiply, relabel, total, where
from namedgrad.trace import innermost

NEW = axes.fresh("value")
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def norm_of(a: DimArray, ord: Any) -> DimArray:
    """A norm of core matrices."""
    if ord not in ORDERS:
        raise ValueError(f"norm: ord={ord!r} is no norm of matrices; choose one of {ORDERS[1:]}")
    if ord is None or ord == "fro":
        return vector_norm(a, (ROW, COLUMN))
    if ord in {"nuc", 2, -2}:
        with said_by("norm"):
            values = svd(a, (ROW, COLUMN), compute_uv=False, new_dim=NEW)
        if not extent(values, NEW) and ord in {"nuc", 2}:
            return total(values, (NEW,))
        values = where(_positive(values, a, None), values, innermost(values))  # at 0 a norm has the derivative 0
        return total(values, (NEW,)) if ord == "nuc" else (max_ if ord > 0 else min_)(values, NEW, skipna=False)
    inner, outer = (ROW, COLUMN) if abs(ord) == 1 else (COLUMN, ROW)
    if ord > 0 and not extent(a, outer):
        return total(absolute(a), (inner, outer))
    return (max_ if ord > 0 else min_)(total(absolute(a), (inner,)), outer, skipna=False)


def _positive(values: DimArray, a: DimArray, rtol: Any) -> DimArray:
    """Which singular values are not 0 but for rounding."""
    part = max(extent(a, ROW), extent(a, COLUMN)) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    return greater(values, multiply(max_(values, NEW, skipna=False), constant(part, "rtol")))


@operation(
    *(sample("well(i,j)", dims=("i", "j"), ord=o) for o in ORDERS), sample("cwell(i,a,j)", dims=("i", "j"), ord="nuc"),
    sample("tall(six,b)", dims=("six", "b"), ord=2),
)
def matrix_norm(a: DimArray, dims: tuple[Name, Name], ord: Any = None) -> DimArray:
    """A norm of matrices.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    ord : {None, "fro", "nuc", 1, -1, 2, -2, inf, -inf}
        Frobenius by default; the sum, largest or smallest of the singular values ("nuc", 2, -2); the largest or
        smallest sum of absolute values of a column (1, -1) or a row (inf, -inf).

    Returns
    -------
    DimArray
        Without ``dims``; real.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.
    ValueError
        If there is no such norm.

    Notes
    -----
    The derivative is that of the sums and singular values of which it is made; ties share equally, and the Frobenius
    norm of 0 has derivative 0. ``numpy.linalg.matrix_norm``, ``torch.linalg.matrix_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.matrix_norm(ng.DimArray([[3.0, 0.0], [0.0, -4.0]], ("i", "j")), ("i", "j"), "nuc").item()
    7.0
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "matrix_norm", square=False)
    return norm_of(relabel(a, {row: ROW, col: COLUMN}), ord)


@operation(
    *(sample("well(i,j)", dims=("i", "j"), ord=o) for o in ORDERS if o != "nuc"), sample("cwell(i,a,j)", dims=("i", "j"))
)
def cond(a: DimArray, dims: tuple[Name, Name], ord: Any = None) -> DimArray:
    """Condition number of matrices.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``; square, unless ``ord`` is None, 2 or -2.
    dims : (row, column)
        Every other dim is a batch.
    ord : {None, "fro", "nuc", 1, -1, 2, -2, inf, -inf}
        The norm, see :func:`namedgrad.matrix_norm`; 2 by default.

    Returns
    -------
    DimArray
        Without ``dims``; real, infinite for singular matrices.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the matrices are not square.
    numpy.linalg.LinAlgError
        If they have no cells.

    Notes
    -----
    The derivative is that of the quotient of singular values, or of the product of the norms of a matrix and its
    inverse. ``numpy.linalg.cond``, ``torch.linalg.cond``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cond(ng.DimArray([[3.0, 0.0], [0.0, 4.0]], ("i", "j")), ("i", "j")).item()
    1.3333333333333333
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "cond", square=ord not in {None, 2, -2})
    x = relabel(a, {row: ROW, col: COLUMN})
    if not (extent(x, ROW) and extent(x, COLUMN)):
        raise np.linalg.LinAlgError(f"cond: matrices without cells have no condition, got {row!r}: {extent(x, ROW)} and {col!r}: {extent(x, COLUMN)}")
    if ord in {None, 2, -2}:
        with said_by("cond"):
            values = svd(x, (ROW, COLUMN), compute_uv=False, new_dim=NEW)
        large, small = (f(values, NEW, skipna=False) for f in (max_, min_))
        out = divide(small, large) if ord == -2 else divide(large, small)
        return where(equal(large, constant(0.0)), constant(math.inf), out)
    size, inverse = norm_of(x, ord), inv(x, (ROW, COLUMN), errors="nan")
    none = isnan(norm_of(innermost(inverse), ord))
    other = norm_of(where(none, constant(0.0), inverse), ord)  # whose derivative is not that of NaN
    return where(logical_and(none, isfinite(size)), constant(math.inf), multiply(size, other))


@operation(sample("well(i,j)", dims=("i", "j")), sample("tall(six,b)", dims=("six", "b")), differentiable=False)
def matrix_rank(a: DimArray, dims: tuple[Name, Name], *, rtol: DimArray | float | None = None) -> DimArray:
    """How many singular values of matrices are not 0.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    rtol : float or DimArray, optional
        Singular values up to this part of the largest count as 0; by default the larger size times the rounding unit.

    Returns
    -------
    DimArray
        Integers, without ``dims``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.

    Notes
    -----
    A count has no derivative. ``numpy.linalg.matrix_rank``, ``torch.linalg.matrix_rank``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.matrix_rank(ng.DimArray([[1.0, 2.0], [2.0, 4.0]], ("i", "j")), ("i", "j")).item()
    1
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "matrix_rank", square=False)
    with said_by("matrix_rank"):
        values = svd(relabel(a, {row: ROW, col: COLUMN}), (ROW, COLUMN), compute_uv=False, new_dim=NEW)
    if not extent(values, NEW):
        return total(cast(values, np.int64), (NEW,))
    return total(cast(_positive(values, relabel(a, {row: ROW, col: COLUMN}), rtol), np.int64), (NEW,))
