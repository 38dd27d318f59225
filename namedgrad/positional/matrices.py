"""Linear algebra of the public functions on positional arrays: on the last two axes, or those that ``dims`` numbers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.positional.array import PositionalArray, box, ordered, renumber
from namedgrad.positional.axis import named
from namedgrad.positional.broadcasting import pair
from namedgrad.positional.operands import FEW, numbered
from namedgrad.positional.protocol import kind_of
from namedgrad.primitive import Operation
from namedgrad.rules.contraction.sparse import sparse_product

ROW, COLUMN = axes.axis(-2), axes.axis(-1)  # which they are: matrices are renamed neither on the way in nor out
NEW, RHS = axes.local("value"), axes.local("right-hand side")


def on_matrices(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation of matrices; a second operand is a vector or columns, as in :mod:`numpy.linalg`."""
    bound = inspect.signature(op.function).bind_partial(*args, **kwargs)
    given = dict(bound.arguments)
    given.pop("new_dim", None)
    dims = given.pop("dims", (-2, -1))
    a, *more = (given.pop(name) for name in ("a", "b") if name in given)
    operands = [require_matrix(numbered(np.moveaxis(a, dims, (-2, -1)) if tuple(dims) != (-2, -1) else a), op.name)]
    for b in map(numbered, more):
        operands = list(pair(operands[0], right_hand_side(b)))
    if "new_dim" in inspect.signature(op.function).parameters:
        given["new_dim"] = NEW
    out = op.function(*operands, dims=(ROW, COLUMN), **given)
    kind = kind_of([v for v in (a, *more) if isinstance(v, PositionalArray)])
    return tuple(_placed(o, kind) for o in out) if isinstance(out, tuple) else _placed(out, kind)


def require_matrix(x: DimArray, what: str) -> DimArray:
    """Raise unless an array has the axes of a matrix."""
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{what}: an array of shape {x.shape} is no matrix; it needs two axes at least")
    return x


def sparse_matmul(a: Any, b: Any) -> Any:
    """``a @ b`` of a positional array and a matrix of :mod:`scipy.sparse`, which is a constant.

    Raises
    ------
    ValueError
        If the array has neither one nor two axes, or sizes differ.
    """
    first = isinstance(b, PositionalArray)
    (array, matrix) = (b, a) if first else (a, b.T)
    x = numbered(array)
    names = (ROW, COLUMN)[: x.ndim] if first else (COLUMN, ROW)[-x.ndim :]
    if matrix.ndim != 2 or x.ndim not in (1, 2) or x.sizes[x.dims[0 if first else -1]] != matrix.shape[1]:
        raise ValueError(f"matmul: arrays of shapes {a.shape} and {b.shape}, one of them sparse, do not fit together")
    matrix = matrix.tocsr() if matrix.format in ("lil", "dok") else matrix
    small = matrix.nnz <= FEW and not backends.is_recording()
    out = sparse_product(named(x, names), ROW, matrix.copy() if small else matrix)
    return box(renumber(ordered(out, names)), array.kin)


def right_hand_side(b: DimArray) -> DimArray:
    """A vector, or columns of a matrix, under names."""
    return named(b, (ROW,) if b.ndim == 1 else (*b.dims[:-2], ROW, RHS))


def batch_of(x: DimArray) -> Names:
    """The stacked axes, in their order."""
    return axes.in_order(n for n in x.dims if isinstance(n, axes.Axis) and n.number < ROW.number)


def _placed(x: DimArray, kind: type[PositionalArray]) -> Any:
    """Stacked axes in front, then those of the matrix."""
    return box(renumber(ordered(x, (*batch_of(x), *(n for n in (ROW, NEW, COLUMN, RHS) if n in x.dims)))), kind)
