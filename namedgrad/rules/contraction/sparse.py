"""The product with a constant matrix that is stored by its cells."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.primitive.linear import Linear, linear


def sparse_product(x: DimArray, dim: Name, matrix: Any) -> DimArray:
    """A matrix of :mod:`scipy.sparse` times the lines along a dim, which then has the size of its rows."""
    return _product(x, (dim,), matrix=matrix)


_product: Linear = linear("(n)->(n)", "sparse_product", transpose=lambda g, x, matrix: _product(g, matrix=matrix.T))
