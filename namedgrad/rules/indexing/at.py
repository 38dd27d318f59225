"""Functional updates: ``a.at[index].set(value)`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name, Names
from namedgrad.marks import agree
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import divide, maximum, minimum, power
from namedgrad.rules.indexing.block import write_block
from namedgrad.rules.indexing.maps import index_names, with_names
from namedgrad.rules.indexing.positions import as_positions, read_all, takes_all
from namedgrad.rules.indexing.products import scatter_product
from namedgrad.rules.indexing.reading import by_order
from namedgrad.rules.indexing.writing import write_into
from namedgrad.rules.movement.cuts import cut_out
from namedgrad.rules.structure import add, alongside, multiply, negative
from namedgrad.trace import innermost

_ELEMENTWISE: dict[str, Callable[[DimArray, DimArray], DimArray]] = {
    "add": add, "multiply": multiply, "maximum": maximum, "minimum": minimum,
}  # fmt: skip


class At:
    """``a.at[index]``: functional updates that return a new array.

    The index is a mapping of dims to indexers, or indexers in the order of the visible dims, as for :func:`isel`. Where
    the value brings a name, the result has it too. Of several writers to one cell, ``add``, ``subtract``, ``multiply``,
    ``divide``, ``power``, ``max`` and ``min`` count all (those that tie in ``max`` and ``min`` share the gradient); of
    ``set`` the last one wins, and it alone has a gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 3})
    >>> a.at[{"x": 1}].set(5.0).data, a.at[{"x": [0, 0]}].add(1.0).data
    (array([0., 5., 0.]), array([2., 0., 0.]))
    """

    __slots__ = ("index", "x")

    def __init__(self, x: DimArray, index: Mapping[Name, Any] | None = None) -> None:
        self.x, self.index = x, index

    def __getitem__(self, key: Any) -> At:
        table = dict(key) if isinstance(key, Mapping) else by_order(self.x, key if isinstance(key, tuple) else (key,))
        for name in table:
            check(self.x, name, "at")
        agree((self.x, table))
        table = {n: k for n, k in table.items() if not takes_all(k)}
        return At(self.x, read_all(self.x, table))

    def set(self, value: Any) -> DimArray:
        """``value`` written at the index; of several writers to one cell the last one counts, also in gradients."""
        index, v = self._located(value)
        return write_block(self.x, v, index) if self._is_block() else self._written(v, "put")

    def add(self, value: Any) -> DimArray:
        """``value`` added at the index; duplicates accumulate."""
        index, v = self._located(value)
        return write_block(self.x, v, index, "add") if self._is_block() else self._written(v, "add")

    def subtract(self, value: Any) -> DimArray:
        """``value`` subtracted at the index; duplicates accumulate."""
        return self.add(negative(constant(value)))

    def multiply(self, value: Any) -> DimArray:
        """Cells multiplied by ``value``; duplicates accumulate."""
        return self._by_product(value, multiply)

    def divide(self, value: Any) -> DimArray:
        """Cells divided by ``value``; duplicates accumulate."""
        return self._by_product(value, divide)

    def power(self, value: Any) -> DimArray:
        """Cells raised to the power ``value``; duplicates accumulate."""
        return self._by_product(value, power)

    def max(self, value: Any) -> DimArray:
        """The larger of cell and ``value``."""
        return self._extreme(value, "maximum")

    def min(self, value: Any) -> DimArray:
        """The smaller of cell and ``value``."""
        return self._extreme(value, "minimum")

    # ---------------------------------------------------------------- how

    def _located(self, value: Any) -> tuple[dict[Name, Any], DimArray]:
        if self.index is None:
            raise TypeError("say where: a.at[{dim: index}].set(value)")
        v = constant(value)
        raw = innermost(v).raw
        dtype = np.result_type(self.x.dtype, raw) if backends.is_number(raw) else None
        return dict(self.index), alongside(v, self.x, dtype)

    def _is_block(self) -> bool:
        return not any(isinstance(i, DimArray) for i in self.index.values())  # type: ignore[union-attr]

    def _spot(self, v: DimArray) -> tuple[list[DimArray], Names, Names]:
        """The index as positions, the dims that it indexes, and its names that end there."""
        index = [as_positions(i, n, self.x) for n, i in self.index.items()]  # type: ignore[union-attr]
        dims: Names = tuple(self.index)  # type: ignore[arg-type]
        kept = {n for i in index for n in i.hidden}
        summed = tuple(
            n for n in index_names(index) if n not in kept and (n not in self.x.names or n in dims)
        )
        return index, dims, summed

    def _written(self, v: DimArray, how: str) -> DimArray:
        index, dims, summed = self._spot(v)
        return write_into(self.x, v, index, dims, summed, how)

    def _extreme(self, value: Any, how: str) -> DimArray:
        index, v = self._located(value)
        if self._is_block():
            return write_block(self.x, _ELEMENTWISE[how](cut_out(self.x, index), v), index)
        return self._written(v, how)

    def _by_product(self, value: Any, combine: Callable[[DimArray, DimArray], DimArray]) -> DimArray:
        found, v = self._located(value)
        if self._is_block():
            return write_block(self.x, combine(cut_out(self.x, found), v), found)
        index, dims, summed = self._spot(v)
        sizes = tuple(extent(self.x, d) for d in dims)
        whole = scatter_product(with_names(v, index), index, dims, sizes, summed)
        return combine(self.x, whole)
