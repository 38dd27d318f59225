"""``np.linalg`` on the last two axes, made of the operations of :mod:`namedgrad.rules.linalg`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.positional.array import ordered
from namedgrad.positional.axis import named, names_of
from namedgrad.positional.broadcasting import pair
from namedgrad.positional.functions.reductions import kept
from namedgrad.positional.matrices import COLUMN, ROW, require_matrix
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules import linalg
from namedgrad.rules import reductions as r
from namedgrad.rules.linalg.matrices import inexact
from namedgrad.rules.linalg.solving import solved

_EQUATIONS = axes.local("equation"), axes.local("unknown")


def matrix(x: DimArray, what: str, numbers: Callable[[DimArray], DimArray] = inexact) -> DimArray:
    """An array of matrices over its last two axes, whose numbers are the names of rows and columns."""
    return numbers(require_matrix(x, what))


def square(x: DimArray, what: str, numbers: Callable[[DimArray], DimArray] = inexact) -> DimArray:
    """A square matrix over the last two axes."""
    x = matrix(x, what, numbers)
    if extent(x, ROW) != extent(x, COLUMN):
        raise np.linalg.LinAlgError(
            f"{what}: the last two axes must be square, got {extent(x, ROW)} and {extent(x, COLUMN)}"
        )
    return x


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> DimArray:
    x = square(numbered(a), "cholesky")
    return ordered(linalg.cholesky(x, (COLUMN, ROW) if upper else (ROW, COLUMN)), x.dims)  # reads what it gives


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> DimArray:
    x, y = square(numbered(a), "solve"), inexact(numbered(b))
    if not y.ndim:
        raise ValueError("solve: the right-hand side needs an axis at least")
    core = y.dims[-2:]
    if extent(y, core[0]) != extent(x, ROW):
        raise ValueError(f"solve: the matrix has {extent(x, ROW)} rows, the right-hand side {extent(y, core[0])}")
    x = named(x, (*x.dims[:-2], *_EQUATIONS))  # so that it has no axis that the right-hand side has beside its rows
    if x.ndim > 2 or y.ndim > 2:  # stacks, which broadcast
        x, y = pair(x, y)
    out = solved(x, y, _EQUATIONS, core[0], core[0])
    return ordered(out, (*axes.in_order(n for n in out.dims if n not in core), *core))


@implements(np.linalg.inv)
def inv(a: Any) -> DimArray:
    x = square(numbered(a), "inv")
    return ordered(linalg.inv(x, (ROW, COLUMN)), x.dims)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> DimArray:
    n = operator.index(n)
    x = square(numbered(a), "matrix_power", inexact if n < 0 else lambda x: x)  # products of integers are integers
    return ordered(linalg.matrix_power(x, (ROW, COLUMN), n), x.dims)


# ------------------------------------------------------------------------------------------------ norms


def _vector_norm(x: DimArray, names: Any, order: Any) -> DimArray:
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order {order!r} for vectors")  # noqa: TRY004 - as NumPy
    return r.vector_norm(x, names, ord=2 if order is None else order)


def _matrix_norm(x: DimArray, names: Any, order: Any) -> DimArray:
    return linalg.matrix_norm(x, names, "fro" if order == "f" else order)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> DimArray:
    v = inexact(numbered(x))
    length = v.ndim == 1 and isinstance(ord, (int, float)) and ord == 2
    if axis is None and (ord is None or length or (v.ndim == 2 and isinstance(ord, str) and ord in ("f", "fro"))):
        return kept(_vector_norm(v, v.dims, 2), v, v.dims, keepdims)
    names = names_of(v, axis)
    if len(names) == 1:
        out = _vector_norm(v, names, ord)
    elif len(names) == 2:
        out = _matrix_norm(v, names, ord)
    else:
        raise ValueError("Improper number of dimensions to norm.")
    return kept(out, v, names, keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> DimArray:
    v = inexact(numbered(x))
    names = names_of(v, axis)
    return kept(_vector_norm(v, names, ord), v, names, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> DimArray:
    return norm(x, ord, (-2, -1), keepdims)
