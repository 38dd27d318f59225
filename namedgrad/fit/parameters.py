"""Parameters: what the user calls them, and the matrix of numbers that a solver works on.

A solver sees a matrix with one row per number and one column per cell.  The user's function sees what was given as
``params``, a dict or Dataset, holding arrays of the kind that the data are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from namedgrad import backends
from namedgrad.array import DimArray, describe, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.backends.base import Backend
from namedgrad.fit.cells import CELL, HIDDEN, Cells
from namedgrad.fit.times import as_names, labels_among, relabelled
from namedgrad.linear import Like
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.rules.structure import reorder, spread
from namedgrad.transforms.leaves import adapter_of, flatten, is_leaf, unflatten
from namedgrad.transforms.vectorize import devectorize
from namedgrad.xarray.convert import some_of

Matrix = np.ndarray[Any, np.dtype[np.float64]]
XARRAY = (xr.DataArray, xr.Dataset, xr.Variable, xr.DataTree)


class Parameters:
    """Names, layout and appearance of the parameters.

    Attributes
    ----------
    names : the entries of ``params``
    own : the dims that each entry has in one cell
    rows : the rows of the matrix that each entry has
    lacks : the dims of the cells that each entry does not have, so that it is one number for all cells along them
    """

    def __init__(
        self, given: Any, entries: dict[Name, Any], cells: Cells, kind: type, shared: Sequence[Name] = ()
    ) -> None:
        self.given, self.cells = given, cells
        over = tuple(n for n in cells.names if n not in cells.hidden)
        self.lacks = {n: over if n in shared else lacking(x, over) for n, x in entries.items()}
        self.names = list(entries)
        self.leaves = {n: self._in_one_cell(leaf, kind) for n, leaf in entries.items()}
        self.own = {n: _layout(leaf) for n, leaf in self.leaves.items()}
        stops = np.cumsum([math.prod(own.full_shape) for own in self.own.values()]).tolist()
        self.rows = {n: slice(a, b) for n, a, b in zip(self.names, [0, *stops[:-1]], stops, strict=True)}
        self.count: int = stops[-1]
        self.labels: dict[Name, Mapping[Any, xr.Variable]] = {}

    def _in_one_cell(self, leaf: Any, kind: type) -> Any:
        """What an entry looks like there."""
        if isinstance(leaf, xr.DataArray):
            leaf = devectorize(leaf)
            several = [d for d in leaf.dims if d in self.cells.names]
            gone = [n for n, c in leaf.coords.items() if not set(c.dims).isdisjoint(several)]
            first = leaf.drop_vars(gone).isel(dict.fromkeys(several, slice(0, 1)))
            return first.sum(several, keep_attrs=True, skipna=False)
        if isinstance(leaf, PositionalArray):
            return wrap(self._in_one_cell(leaf._x, kind), type(leaf))
        if isinstance(leaf, DimArray):
            own = {n: s for n, s in zip(leaf.names, leaf.full_shape, strict=True) if n not in self.cells.names}
            return make(np.zeros(tuple(own.values())), tuple(own), NONE)
        if isinstance(leaf, float) and kind is not PositionalArray:
            return xr.DataArray(leaf) if kind is xr.DataArray else make(np.float64(leaf), (), NONE)
        return leaf

    # ---------------------------------------------------------------- in

    def matrix(self, values: Mapping[Name, Any], default: float) -> Matrix:
        """Values by entry, taken out for every cell, as (row, cell); an entry that lacks one has the default."""
        out = np.full((self.count, self.cells.count), default)
        for name, leaf in values.items():
            if leaf is not None:
                out[self.rows[name]] = self._rows(name, leaf)
        return out

    def _rows(self, name: Name, leaf: Any) -> Matrix:
        own = self.own[name]
        (x,) = adapter_of(leaf).parts(leaf)
        if extra := [n for n in x.names if n not in own.names and n is not CELL]:
            raise AxisError(
                f"a value for the parameter {name!r}, {describe(x)}, has the dims {extra}: they are neither the "
                f"parameter's own, {own.names}, nor those of over={self.cells.names}"
            )
        target = Like((*own.names, CELL), (*own.full_shape, self.cells.count), own.dtype)
        full = reorder(spread(make(x.raw, x.names, NONE), target), target.names)
        return full.to_numpy().reshape(math.prod(own.full_shape), self.cells.count)

    # ---------------------------------------------------------------- out

    def parts(self, matrix: Matrix, backend: Backend) -> list[DimArray]:
        """One named array per entry, the cells hidden; a vector of numbers is the same in all of them."""
        names, hidden = ((CELL,), HIDDEN) if self.cells.names else ((), NONE)
        raws = self.raws(matrix, backend)
        return [make(raw, (*own.names, *names), hidden) for raw, own in zip(raws, self.own.values(), strict=True)]

    def raws(self, matrix: Matrix, backend: Backend) -> list[Any]:
        """The same as plain arrays."""
        several = matrix.shape[1:] if self.cells.names else ()
        pairs = zip(self.own.values(), self.rows.values(), strict=True)
        blocks = [matrix[rows].reshape((*own.full_shape, *several)) for own, rows in pairs]
        return [backends.call(backend.asarray, x) for x in blocks]

    def shown(self, parts: Sequence[DimArray]) -> Any:
        """What the user's function sees."""
        pairs = zip(self.leaves.items(), parts, strict=True)
        seen = {n: adapter_of(leaf).rebuild(leaf, [x]) for (n, leaf), x in pairs}
        if isinstance(self.given, xr.Dataset):
            return xr.Dataset(seen, attrs=self.given.attrs)
        return unflatten(flatten(self.given)[1], list(seen.values())) if is_nested(self.given) else seen

    def dataset(self, matrix: Matrix) -> xr.Dataset:
        """A (row, cell) matrix as variables over the dims of the cells."""
        return xr.Dataset({n: self._variable(n, matrix) for n in self.names})

    def _variable(self, name: Name, matrix: Matrix) -> xr.DataArray:
        own, leaf, sizes = self.own[name], self.leaves[name], self.cells.sizes
        block = matrix[self.rows[name]].reshape((*own.full_shape, *sizes.values()))
        block = np.moveaxis(block, range(len(own.names)), range(len(sizes), block.ndim))
        labelled, lacks = isinstance(leaf, xr.DataArray), self.lacks[name]
        if lacks:  # the same in all cells that took part
            along = tuple(i for i, n in enumerate(sizes) if n in lacks)
            block = np.fmax.reduce(block, axis=along, initial=np.nan)
            sizes = {n: s for n, s in sizes.items() if n not in lacks}
        dims = [f"{name}_{i}" if isinstance(leaf, np.ndarray) else n for i, n in enumerate(own.names)]
        coords = self.cells.coords
        coords = some_of(coords, [n for n, c in coords.items() if set(c.dims) <= set(sizes)]) if lacks else coords
        coords = coords.assign(leaf.coords) if labelled and leaf.coords else coords
        out = xr.DataArray(block, coords, (*sizes, *dims), name, leaf.attrs if labelled else None)
        return relabelled(out, self.labels.get(name, {}))

    def relabel(self, given: Any) -> None:
        """Show dates of start values in place of the seconds that were made of them."""
        self.labels = {n: labels_among(x) for n, x in as_entries(given).items()}


def _layout(leaf: Any) -> Like:
    (x,) = adapter_of(leaf).parts(leaf)
    return Like(x.names, x.full_shape, x.dtype)


# ------------------------------------------------------------------------------------------------ reading arguments


def is_nested(params: Any) -> bool:
    """Whether it is a structure of structures; not so a dict of numbers and arrays."""
    if isinstance(params, xr.Dataset):
        return False
    numbers = (bool, int, float, str)
    return not isinstance(params, Mapping) or not all(is_leaf(v) or isinstance(v, numbers) for v in params.values())


def as_entries(params: Any) -> dict[Name, Any]:
    """The parameters by name, floating-point; those in nested structures by their paths, ``"layer.0.weights"``."""
    if is_nested(params):
        leaves, treedef = flatten(params)
        params = dict(zip((".".join(map(str, path)) for path in treedef.paths()), leaves, strict=True))
    if not params or "" in params:
        raise TypeError(
            f"params must be a dict or Dataset of start values by name, for example {{'a': 1.0, 'b': 0.0}}, or a "
            f"nested structure of them; got {type(params.get('', params)).__name__}"
        )
    return {n: as_float(params[n], f"params[{n!r}]") for n in params}


def as_float(value: Any, what: str) -> Any:
    """A number or array of float64."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if isinstance(value, (bool, int, float)):
            return float(value)
        raise TypeError(f"{what} is a {type(value).__name__}; give a number or an array")
    if dtype.kind not in "biuf":
        raise TypeError(f"{what} has dtype {dtype}, but must be real numbers")
    return value if dtype == np.float64 else value.astype("float64")


def as_floats(value: Any, what: str) -> Any:
    """Numbers and arrays of float64, in a structure."""
    if isinstance(value, xr.DataTree):
        return value.map_over_datasets(as_floats, kwargs={"what": what})
    if isinstance(value, xr.Dataset):
        return value.astype("float64")
    leaves, treedef = flatten(value)
    return unflatten(treedef, [as_float(leaf, what) for leaf in leaves])


def has_integers(leaf: Any) -> bool:
    """Whether any of the arrays in it holds integers."""
    if isinstance(leaf, xr.DataTree):
        return any(has_integers(node.dataset) for node in leaf.subtree)
    if isinstance(leaf, xr.Dataset):
        return any(v.dtype.kind in "iu" for v in leaf.data_vars.values())
    return getattr(leaf, "dtype", np.dtype("O")).kind in "iu"


def floating(leaf: Any) -> Any:
    """Integers as floating-point numbers."""
    if isinstance(leaf, xr.DataTree):
        return leaf.map_over_datasets(floating)
    if isinstance(leaf, xr.Dataset):
        return leaf.assign({n: v.astype("float64") for n, v in leaf.data_vars.items() if v.dtype.kind in "iu"})
    return leaf.astype("float64")


def pairs_of(
    given: Any, params: Any, what: str, form: str, labels: Mapping[Name, pd.Index[Any]]
) -> dict[Name, tuple[Any, Any]]:
    """``{name: (first, second)}``, checked, in the order of the labels of parameters and cells; None is nothing."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a dict of {form} by parameter, got {type(given).__name__}")
    out, entries = {}, as_entries(params)
    for name in names_of(given, entries, what):
        pair = given[name]
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{what}[{name!r}] must be {form}, got {pair!r}")
        first, second = (None if v is None else as_float(v, f"{what}[{name!r}]") for v in pair)
        known = {**labels, **_indexes(entries[name])}
        out[name] = tuple(_in_order_of(known, v, f"{what}[{name!r}]") for v in (first, second))
    return out


def labels_of(args: Any, over: Any) -> dict[Name, pd.Index[Any]]:
    """What the positions along the dims of the cells are called in the arguments."""
    dims = as_names(over)
    return {d: found[d] for leaf in flatten(args)[0] for found in (_indexes(leaf),) for d in dims if d in found}


def _indexes(leaf: Any) -> Mapping[Any, pd.Index[Any]]:
    if isinstance(leaf, xr.DataTree):
        return {d: index for node in leaf.subtree for d, index in node.indexes.items()}
    return leaf.indexes if isinstance(leaf, (xr.DataArray, xr.Dataset)) else {}


def _in_order_of(known: Mapping[Name, pd.Index[Any]], value: Any, what: str) -> Any:
    """Numbers that are paired by position, where their labels are."""
    others = _indexes(value)
    for d in known:
        if d not in others or d not in value.dims or known[d].equals(others[d]):  # a multi-index lists its levels, too
            continue
        if not others[d].is_unique:
            raise AxisError(f"{what}: its labels along {d!r} repeat, so that it cannot meet others by label")
        places = others[d].get_indexer(known[d])
        if (places < 0).any() or len(places) != others[d].size:
            raise AxisError(
                f"{what}: its labels along {d!r} ({others[d].size}) are not those of the start values or data "
                f"({known[d].size}); .reindex_like the one to the other, or leave one out with .drop_vars({d!r})"
            )
        value = value.isel({d: places})
    return value


def names_of(given: Any, entries: Any, what: str) -> list[Name]:
    """Names of parameters, checked."""
    names = [given] if isinstance(given, str) else list(given)
    for n in names:
        if n not in entries:
            raise ValueError(f"{what}: no parameter {n!r}; the parameters are {tuple(entries)}")
    return names


def kind_of(tree: Any) -> type:
    """The kind of array that a function of these arguments expects numbers to be."""
    leaves = flatten(tree)[0]
    for kinds, chosen in ((XARRAY, xr.DataArray), (DimArray, DimArray)):
        if any(isinstance(leaf, kinds) for leaf in leaves):
            return chosen
    return PositionalArray


def lacking(leaf: Any, over: Names) -> Names:
    """The dims of ``over`` that a start value lacks, if it has others of them."""
    dims = adapter_of(leaf).dims(leaf)
    missing = tuple(n for n in over if n not in dims)
    return missing if len(missing) < len(over) else ()
