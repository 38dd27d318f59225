"""Matrices of parameters that have dims of their own, or other dims than the cells: by pairs of names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from namedgrad.axes import Name
from namedgrad.fit.parameters import Matrix

if TYPE_CHECKING:
    from namedgrad.fit.result import FitResult


class Blocks(Mapping[Any, Any]):
    """Matrices by pairs of parameters: ``blocks["a", "b"]`` or ``blocks["a"]["b"]``, each made when it is asked for.

    A block has the dims along which problems are independent, those of the first parameter, and those of the second
    with ``_wrt`` appended.
    """

    def __init__(self, names: list[Name], block: Callable[[Name, Name], xr.DataArray]) -> None:
        self.names, self._block = names, block
        self._made: dict[tuple[Name, Name], xr.DataArray] = {}

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key not in self.names:
            if set(key) <= set(self.names):
                if key not in self._made:
                    self._made[key] = self._block(*key)
                return self._made[key]
        elif key in self.names:
            return {n: self[key, n] for n in self.names}
        raise KeyError(f"no block {key!r}: give two of the parameters {tuple(self.names)}")

    def __iter__(self) -> Iterator[Any]:
        return ((a, b) for a in self.names for b in self.names)

    def __len__(self) -> int:
        return len(self.names) ** 2

    def __repr__(self) -> str:
        return f"<Blocks of {', '.join(map(repr, self.names))}: take one with [first, second]>"


def blocks_of(result: FitResult, free: Matrix, name: str, long_name: str) -> Blocks:
    """A matrix of the free parameters per cell, (row, row, cell), as named blocks."""
    problem, p = result._problem, result._problem.parameters
    block = functools.partial(_block, result, free, name, long_name)
    return Blocks([n for n in p.names if problem.free[p.rows[n]].any()], block)


def _block(result: FitResult, free: Matrix, name: str, long_name: str, a: Name, b: Name) -> xr.DataArray:
    p, order = result._problem.parameters, np.cumsum(result._problem.free) - 1
    rows, columns = ([order[i] for i in range(p.rows[n].start, p.rows[n].stop)] for n in (a, b))
    x = free[np.ix_(rows, columns)].reshape((*p.own[a].full_shape, *p.own[b].full_shape, -1))
    (dims, coords), (others, known) = own_dims(result, a), own_dims(result, b, "_wrt")
    return result._grid(np.moveaxis(x, -1, 0), name, long_name, (*dims, *others), coords | known)


def own_dims(result: FitResult, name: Name, suffix: str = "") -> tuple[tuple[Any, ...], dict[Any, Any]]:
    """The dims that a parameter has in one cell, and their coordinates."""
    v = result.params[name]
    own = {d: f"{d}{suffix}" for d in v.dims if d not in result._problem.cells.sizes}
    return tuple(own.values()), {new: (new, v.coords[d].values) for d, new in own.items() if d in v.coords}
