"""Many writers to one cell reduced: what scatter, index and segment reductions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name, Names
from namedgrad.backends.scatter import neutral
from namedgrad.linear import Like
from namedgrad.rules.elementwise import c, divide, floor_divide, greater, maximum
from namedgrad.rules.indexing.maps import index_names, scatter_add, with_names
from namedgrad.rules.indexing.products import scatter_product, times_product
from namedgrad.rules.indexing.writing import write_into
from namedgrad.rules.structure import add, alongside, cast, reorder, where, zeros_spread

KINDS = ("sum", "prod", "mean", "amax", "amin")


class Spot(NamedTuple):
    """Where cells are written: index arrays, the dims that they index, and the names of the index that end there."""

    places: list[DimArray]
    dims: Names
    summed: Names

    def sizes(self, x: DimArray) -> tuple[int, ...]:
        """Sizes of the dims in ``x``."""
        return tuple(extent(x, d) for d in self.dims)


def spot(x: DimArray, index: dict[Name, DimArray]) -> Spot:
    """The place of an index in ``x``: names that are vectorized, or that ``x`` has beside the indexed dims, stay."""
    arrays, dims = list(index.values()), tuple(index)
    kept = {n for i in arrays for n in i.hidden}
    summed = tuple(n for n in index_names(arrays) if n not in kept and (n not in x.names or n in dims))
    return Spot(arrays, dims, summed)


def check_kind(reduce: str, kinds: Sequence[str], what: str) -> str:
    """A known name of a reduction."""
    known = {"add": "sum", "multiply": "prod", "max": "amax", "min": "amin"}.get(reduce, reduce)
    if known not in kinds:
        raise ValueError(f"{what}: reduce={reduce!r} is not one of {', '.join(kinds)}")
    return known


def reduced_into(x: DimArray, v: DimArray, at: Spot, reduce: str, *, own: bool) -> DimArray:
    """``x`` with all writers reduced into its cells; without ``own`` the old value of a cell that is written is left out."""
    v = alongside(v, x)
    v = cast(v, np.result_type(x.dtype, v.dtype))
    if reduce == "mean":
        return _mean_into(x, v, at, own=own)
    if reduce == "sum" and own:
        return write_into(x, v, at.places, at.dims, at.summed, "add")
    if reduce == "prod" and own:
        return times_product(x, with_names(v, at.places), at.places, at.dims, at.sizes(x), at.summed)
    if own:
        return write_into(x, v, at.places, at.dims, at.summed, _HOW[reduce])
    return _chosen(greater(counts(x, at, np.dtype(np.intp)), c(0)), reduced(x, v, at, reduce), x)


def _chosen(hit: DimArray, new: DimArray, x: DimArray) -> DimArray:
    """Cells that are written, the others as they were, with the dims of ``x`` first."""
    out = where(hit, new, x)
    return reorder(out, tuple(dict.fromkeys((*x.names, *out.names))))


_HOW = {"amax": "maximum", "amin": "minimum"}


def reduced(x: DimArray, v: DimArray, at: Spot, reduce: str) -> DimArray:
    """The writers to each cell reduced, in an array whose indexed dims have the sizes that they have in ``x``."""
    if reduce == "sum":
        return scatter_add(v, at.places, at.dims, at.sizes(x), at.summed)
    if reduce == "prod":
        return scatter_product(with_names(v, at.places), at.places, at.dims, at.sizes(x), at.summed)
    target = zeros_spread(v, Like(at.dims, at.sizes(x), v.dtype), neutral(_HOW[reduce], v.dtype))
    return write_into(target, v, at.places, at.dims, at.summed, _HOW[reduce], own=False)


def counts(x: DimArray, at: Spot, dtype: np.dtype[Any], of: DimArray | None = None) -> DimArray:
    """How many writers, or how much of a weight ``of`` them, each cell has."""
    one = zeros_spread(x, Like((), (), dtype), dtype.type(1)) if of is None else cast(of, dtype)
    return scatter_add(one, at.places, at.dims, at.sizes(x), at.summed)


def _mean_into(x: DimArray, v: DimArray, at: Spot, *, own: bool) -> DimArray:
    dtype = np.result_type(x.dtype, v.dtype)
    n = counts(x, at, np.zeros((), dtype).real.dtype)
    share = divide if dtype.kind in "fc" else floor_divide
    if own:
        whole = write_into(x, v, at.places, at.dims, at.summed, "add")
        return share(whole, add(n, c(1)))
    total = scatter_add(v, at.places, at.dims, at.sizes(x), at.summed)
    return _chosen(greater(n, c(0)), share(total, maximum(n, c(1))), x)
