"""The arguments of a fit of dask arrays, cut along the dims of the cells, and arrays joined of what chunks give."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray, make
from namedgrad.axes import AxisError, Name
from namedgrad.fit.cells import coords_of
from namedgrad.fit.parameters import as_entries, lacking
from namedgrad.fit.times import nodes
from namedgrad.transforms.leaves import adapter_of, flatten, over_names, unflatten

Place = tuple[int, ...]  # of a chunk among those along the dims of the cells


class Chunks:
    """The arguments of a fit, cut along the dims of its cells."""

    def __init__(self, args: Mapping[str, Any], over: Any, shared: Sequence[Name], fixed: Sequence[Name]) -> None:
        leaves, self.treedef = flatten(dict(args))
        self.leaves = [_bare(leaf) for leaf in leaves]
        self.over = over_names(over, dict(args))
        hidden = [n for leaf in self.leaves for n in adapter_of(leaf).vectorized(leaf)]
        if hidden:
            raise AxisError(
                f"a fit of dask arrays takes its cells from over=; make {hidden[0]!r} visible with .devectorize, and "
                "name it there"
            )
        self.entries = as_entries(args["params"])
        self.lacks = {n: self.over if n in shared else lacking(x, self.over) for n, x in self.entries.items()}
        self.coupled = {d for n, lacks in self.lacks.items() for d in lacks if n not in fixed}
        self.cuts = {n: self._cuts(n, whole=n in self.coupled) for n in self.over}
        places = itertools.product(*(range(len(c)) for c in self.cuts.values()))
        self.places = {i: {n: self.cuts[n][k] for n, k in zip(self.over, i, strict=True)} for i in places}

    def _cuts(self, name: Name, *, whole: bool) -> list[tuple[int, int]]:
        """Where chunks along a dim start and end."""
        chunks: tuple[int, ...] = ()
        for leaf in self.leaves:
            for x in adapter_of(leaf).arrays(leaf):
                if name in x.names:
                    size = x.full_shape[x.names.index(name)]
                    lengths = x.raw.chunks[x.names.index(name)] if x.backend == "dask" else (size,)
                    chunks = max(chunks, lengths, key=len)
        ends = np.cumsum((sum(chunks),) if whole else chunks).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @property
    def coords(self) -> xr.Coordinates:
        """Coordinates along the dims of the cells."""
        return coords_of(getattr(self.over, "labels", {}), self.over)

    def args(self, at: Mapping[Name, tuple[int, int]]) -> Any:
        """The arguments of one chunk; dask computes what is dask's in them."""
        return unflatten(self.treedef, waiting(self.leaves, at))

    def example(self) -> Any:
        """The arguments of one cell, with ones for what is not computed: they show what dims results have."""
        args = unflatten(self.treedef, self.one_cell(self.leaves))
        return {**args, "bounds": {}, "prior": {}}

    def require_met(self, leaves: Sequence[Any]) -> None:
        """Refuse arrays that have other cells than these."""
        for leaf in leaves:
            for name in self.over:
                size, indexes = getattr(leaf, "sizes", {}).get(name), getattr(leaf, "indexes", {})
                if size is None:
                    continue
                if size != (whole := self.cuts[name][-1][1]):
                    raise AxisError(f"predict: {size} positions along {name!r} do not meet the {whole} of the fit")
                if name in indexes and name in self.coords and not indexes[name].equals(self.coords[name].to_index()):
                    raise AxisError(f"predict: the labels along {name!r} are not those of the fit; .sel the same ones")

    def one_cell(self, leaves: Sequence[Any]) -> list[Any]:
        """One cell of arrays, with ones for what is not computed."""
        return [_ones(_cut(leaf, dict.fromkeys(self.over, (0, 1)))) for leaf in leaves]

    def joined(self, blocks: Mapping[Place, Any], own: Sequence[int], dtype: Any, once: Collection[Name] = ()) -> Any:
        """One array (cells..., own...) of the delayed arrays of all chunks, which are single along some dims."""
        import dask.array as da

        def nested(index: Place) -> Any:
            if len(index) == len(self.over):
                ends = ((n, self.cuts[n][i]) for n, i in zip(self.over, index, strict=True))
                return da.from_delayed(blocks[index], (*(1 if n in once else b - a for n, (a, b) in ends), *own), dtype)
            count = len(self.cuts[self.over[len(index)]])
            return da.concatenate([nested((*index, i)) for i in range(count)], len(index))

        return nested(())

    def summed(self, x: Any, dims: Collection[Name]) -> Any:
        """What chunks along some dims of the cells give together."""
        return x.sum(axis=tuple(self.over.index(n) for n in dims)) if dims else x

    def first_along(self, x: Any, dims: Collection[Name]) -> Any:
        """What the first chunk with cells along some dims gives."""
        return x[tuple(self._first(n) if n in dims else slice(None) for n in self.over)]

    def _first(self, name: Name) -> int:
        return next((k for k, (a, b) in enumerate(self.cuts[name]) if b > a), 0)

    def blocks(self, raw: Any, cells: Sequence[Name], once: Collection[Name] = ()) -> Callable[[Place], Any]:
        """The parts of an array (cells..., own...) for each chunk; along ``once``, zeros but for the first chunk."""
        import dask.array as da
        from dask.delayed import delayed

        lengths = {k: tuple(b - a for a, b in self.cuts[n]) for k, n in enumerate(cells)}
        whole = da.asarray(raw)
        parts = whole.rechunk({**dict.fromkeys(range(whole.ndim), -1), **lengths}).to_delayed(optimize_graph=False)

        def block(place: Place) -> Any:
            here = dict(zip(self.over, place, strict=True))
            part = parts[tuple(here[n] for n in cells) + (0,) * (whole.ndim - len(cells))]
            return part if all(here[n] == self._first(n) for n in once) else delayed(np.zeros_like)(part)

        return block


def waiting(leaves: Sequence[Any], at: Mapping[Name, tuple[int, int]]) -> list[Any]:
    """Some cells of arrays, in a form in which dask finds what it has to compute."""
    return [_waiting(_cut(leaf, at)) for leaf in leaves]


def lazy_labels(data: Any) -> dict[Any, xr.Variable]:
    """Coordinates of arguments that are not computed yet."""
    several = [getattr(x, "coords", {}) for leaf in flatten(data)[0] for x in nodes(leaf).values()]
    return {n: c.variable for coords in several for n, c in coords.items() if c.chunks is not None}


def _bare(leaf: Any) -> Any:
    """The same as its user has it: within a transform dask would not see what is in the arrays that it gives."""
    adapter = adapter_of(leaf)
    arrays = adapter.arrays(leaf)
    return adapter.returned(leaf, arrays) if any(x.backend == "dask" for x in arrays) else leaf


def _cut(leaf: Any, at: Mapping[Name, tuple[int, int]]) -> Any:
    if isinstance(leaf, (xr.DataArray, xr.Dataset, xr.Variable)):
        return leaf.isel({n: slice(*at[n]) for n in at if n in leaf.dims})
    if isinstance(leaf, xr.DataTree):
        return _node_by_node(lambda x: _cut(x, at), leaf)
    if isinstance(leaf, DimArray):
        raw = leaf.raw[tuple(slice(*at[n]) if n in at else slice(None) for n in leaf.names)]
        return make(raw, leaf.names, leaf.hidden)
    return leaf


def _node_by_node(f: Callable[[xr.Dataset], xr.Dataset], tree: xr.DataTree) -> xr.DataTree:
    return xr.DataTree.from_dict({path: f(ds) for path, ds in nodes(tree).items()}, name=tree.name)


def _waiting(leaf: Any) -> Any:
    from dask.delayed import delayed

    if isinstance(leaf, xr.DataTree):
        return delayed(xr.DataTree.from_dict)(nodes(leaf), name=leaf.name)
    return delayed(make)(leaf.raw, leaf.names, leaf.hidden) if isinstance(leaf, DimArray) else leaf


def _ones(leaf: Any) -> Any:
    """The same with ones for numbers that are lazy."""
    if isinstance(leaf, xr.DataTree):
        return _node_by_node(_ones, leaf)
    if isinstance(leaf, xr.Dataset):
        return leaf.assign({n: _ones(v) for n, v in leaf.variables.items() if v.chunks is not None})
    if isinstance(leaf, xr.DataArray):
        lazy = {n: _ones(v.variable) for n, v in leaf.coords.items() if v.chunks is not None}
        return leaf.copy(data=_ones(leaf.variable).data).assign_coords(lazy)
    if isinstance(leaf, xr.Variable) and leaf.chunks is not None:
        return leaf.compute() if leaf.dtype == object else leaf.copy(data=np.ones(leaf.shape, leaf.dtype))
    if isinstance(leaf, DimArray) and leaf.backend == "dask":
        return make(np.ones(leaf.raw.shape, leaf.dtype), leaf.names, leaf.hidden)
    return leaf


def without(x: xr.DataArray, dims: Collection[Name]) -> xr.DataArray:
    """What is the same along dims without them, and without the coordinates that have them; NaN or 0 of no cells."""
    gone = [n for n, c in x.coords.items() if not set(c.dims).isdisjoint(dims)]
    one = x.drop_vars(gone).isel(dict.fromkeys(dims, slice(0, 1)))
    return one.sum([*dims], keep_attrs=True, min_count=1 if x.dtype.kind == "f" else None)
