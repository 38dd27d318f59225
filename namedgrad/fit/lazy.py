"""Fits of dask arrays: chunk by chunk along the dims of the cells, when the result is computed.

Every chunk is fitted by the ordinary call on plain arrays, in one task; cells that share parameters stay in one chunk.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.fit.derived import confint, propagate
from namedgrad.fit.observations import UnpairedError
from namedgrad.fit.parameters import as_entries, lacking
from namedgrad.fit.result import FitResult
from namedgrad.fit.status import attributes
from namedgrad.transforms.leaves import adapter_of, flatten, over_names, unflatten
from namedgrad.xarray.convert import coordinates

Fit = Callable[..., FitResult]
PER_CELL = {
    "status": None,
    "iterations": "iterations of the fit",
    "cost": "value at the solution",
    "dof": "degrees of freedom",
    "chi2": "sum of squared residuals, each divided by its sigma",
    "r2": "coefficient of determination",
    "aic": "Akaike information criterion",
    "bic": "Bayesian information criterion",
}


def is_lazy(tree: Any) -> bool:
    """Whether a structure of arrays holds one of dask's."""
    return any(x.backend == "dask" for leaf in flatten(tree)[0] for x in adapter_of(leaf).arrays(leaf))


class LazyResult(FitResult):
    """The outcome of a fit of dask arrays: ``params`` and the other results are dask arrays themselves.

    Attributes
    ----------
    params, stderr : xarray.Dataset
    status, iterations, cost : xarray.DataArray
    dof, chi2, r2, aic, bic, covariance, unscaled_covariance : xarray.DataArray
        Of :func:`namedgrad.least_squares` only, as are the methods. ``r2`` is NaN where a residual depends on several
        arrays of the last argument, so that it is not known which are the observations.
    """

    def __init__(self, parts: Mapping[str, Any], cell: Callable[[Mapping[Any, int]], Any] | None = None) -> None:
        self._parts, self._cell = dict(parts), cell
        for name, part in parts.items():
            setattr(self, name, part)

    def compute(self) -> LazyResult:
        """The same with all results computed, together."""
        from dask.base import compute

        names = list(self._parts)
        return LazyResult(dict(zip(names, compute(*self._parts.values()), strict=True)), self._cell)

    def confint(self, level: float = 0.95) -> xr.Dataset:
        """Confidence intervals; see :meth:`LeastSquaresResult.confint <namedgrad.fit.LeastSquaresResult.confint>`."""
        return confint(self.params, self.stderr, self.dof, level)

    def propagate(self, g: Callable[[xr.Dataset], xr.DataArray]) -> xr.Dataset:
        """A quantity that follows from the parameters, and its standard error, which is one task of all chunks.

        See :meth:`LeastSquaresResult.propagate <namedgrad.fit.LeastSquaresResult.propagate>`.
        """
        return propagate(g, self.params, self.covariance)

    def plot(self, at: Mapping[Any, Any] | None = None) -> Any:
        """Draw maps of the parameters, which are computed, or one cell, which is fitted once more.

        See :meth:`LeastSquaresResult.plot <namedgrad.fit.LeastSquaresResult.plot>`.
        """
        from namedgrad.fit.figures import plot, position

        self.stderr  # noqa: B018 - without it there is nothing to draw
        if not at:
            return plot(self.compute(), None)
        return plot(self._cell(position(self.status, dict(at))), at)  # type: ignore[misc]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"a fit of dask arrays has {tuple(self._parts)}, but not {name!r}; for that, call .compute() on the data "
            "before the fit"
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}: {s}" for n, s in self.status.sizes.items())
        return f"<{type(self).__name__} over ({sizes}) of {', '.join(map(str, self.params))}>"

    def _repr_html_(self) -> str:
        return f"<div><b>{type(self).__name__}</b>{self.params._repr_html_()}</div>"


class Chunks:
    """The arguments of a fit, cut along the dims of its cells."""

    def __init__(self, args: Mapping[str, Any], over: Any, shared: Sequence[Name], fixed: Sequence[Name]) -> None:
        self.leaves, self.treedef = flatten(dict(args))
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
        labels = getattr(self.over, "labels", {})
        known = {n: k for n, k in labels.items() if set(k.variable.dims) <= set(self.over)}
        indexes = {n: k.index for n, k in known.items() if k.index is not None}
        return coordinates({n: k.variable for n, k in known.items()}, indexes)

    def args(self, at: Mapping[Name, tuple[int, int]]) -> Any:
        """The arguments of one chunk; dask computes what is dask's in them."""
        return unflatten(self.treedef, [_cut(leaf, at) for leaf in self.leaves])

    def joined(self, blocks: Mapping[tuple[int, ...], Any], own: Sequence[int], dtype: Any) -> Any:
        """One array (cells..., own...) of the delayed arrays of all chunks."""
        import dask.array as da

        def nested(index: tuple[int, ...]) -> Any:
            if len(index) == len(self.over):
                ends = (self.cuts[n][i] for n, i in zip(self.over, index, strict=True))
                return da.from_delayed(blocks[index], (*(b - a for a, b in ends), *own), dtype)
            count = len(self.cuts[self.over[len(index)]])
            return da.concatenate([nested((*index, i)) for i in range(count)], len(index))

        return nested(())


def _cut(leaf: Any, at: Mapping[Name, tuple[int, int]]) -> Any:
    from dask.delayed import delayed

    if isinstance(leaf, (xr.DataArray, xr.Dataset, xr.Variable)):
        return leaf.isel({n: slice(*at[n]) for n in at if n in leaf.dims})
    if isinstance(leaf, xr.DataTree):
        nodes = {path: _cut(node.to_dataset(inherit=path == "."), at) for path, node in leaf.subtree_with_keys}
        return delayed(xr.DataTree.from_dict)(nodes, name=leaf.name)
    if isinstance(leaf, DimArray):
        raw = leaf.raw[tuple(slice(*at[n]) if n in at else slice(None) for n in leaf.names)]
        return delayed(make)(raw, leaf.names, leaf.hidden)
    return leaf


def fit_lazily(
    fit: Fit, args: Mapping[str, Any], over: Any, *, residuals: bool, traced: bool, shared: Sequence[Name] = (),
    fixed: Sequence[Name] = (),
) -> LazyResult:  # fmt: skip
    """The result of ``fit(**args of a chunk)``, whose arrays are computed when they are asked for."""
    from dask.base import compute
    from dask.delayed import delayed

    if traced:
        raise TraceError(
            "a fit of dask arrays is not differentiated; call .compute() on the data, inside of what is differentiated"
        )
    chunks = Chunks(args, over, shared, fixed)
    own = {n: _own(leaf, chunks.over) for n, leaf in chunks.entries.items()}
    square = residuals and not any(own.values()) and not chunks.coupled and not {*chunks.over} & {"param", "param_wrt"}
    index = list(itertools.product(*(range(len(c)) for c in chunks.cuts.values())))
    tasks = {}
    for i in index:
        at = {n: chunks.cuts[n][k] for n, k in zip(chunks.over, i, strict=True)}
        tasks[i] = delayed(_run)(fit, chunks.args(at), chunks.over, square, residuals)

    def joined(key: str, extra: Sequence[int] = (), dtype: Any = float) -> Any:
        return chunks.joined({i: task[key] for i, task in tasks.items()}, extra, np.dtype(dtype))

    coords, names = chunks.coords, tuple(chunks.over)
    params, stderr = {}, {}
    for n, sizes in own.items():
        leaf = chunks.entries[n]
        labelled = isinstance(leaf, xr.DataArray)
        own_coords = {k: c for k, c in leaf.coords.items() if set(c.dims) <= set(sizes)} if labelled else {}
        made = {**coords, **own_coords}, (*names, *sizes)
        x = xr.DataArray(joined(f"params.{n}", tuple(sizes.values())), *made, n, leaf.attrs if labelled else None)
        params[n] = _without(x, chunks.lacks[n])
        if residuals:
            attrs = leaf.attrs if labelled else {}
            named = {**attrs, "long_name": f"standard error of {attrs.get('long_name', n)}"}
            x = xr.DataArray(joined(f"stderr.{n}", tuple(sizes.values())), *made, n, named)
            stderr[n] = _without(x, chunks.lacks[n])
    parts: dict[str, Any] = {"params": xr.Dataset(params)}
    kinds = {"status": int, "iterations": int, "dof": int}
    for key in list(PER_CELL)[: None if residuals else 3]:
        x = xr.DataArray(joined(key, (), kinds.get(key, float)), coords, names, key)
        own_cell = key in ("status", "chi2", "r2")
        parts[key] = x if own_cell else _without(x, chunks.coupled)
        parts[key].attrs = {"long_name": PER_CELL[key]} if PER_CELL[key] else attributes()
    if residuals:
        parts["cost"].attrs = {"long_name": "half the sum of squared residuals at the solution"}
        parts["stderr"] = xr.Dataset(stderr)
    if square:
        count, labels = len(own), list(own)
        dims = (*names, "param", "param_wrt")
        both = {**coords, "param": labels, "param_wrt": labels}
        parts["covariance"] = xr.DataArray(joined("covariance", (count, count)), both, dims, "covariance")
        parts["covariance"].attrs = {"long_name": "covariance of the parameters"}
        parts["unscaled_covariance"] = parts["covariance"].copy(data=joined("unscaled_covariance", (count, count)))
        parts["unscaled_covariance"].attrs = {"long_name": "covariance of the parameters for known sigma"}
        parts["unscaled_covariance"].name = "unscaled_covariance"

    def cell(at: Mapping[Any, int]) -> Any:
        """The fit of one cell, and of those that share parameters with it."""
        cuts = {n: chunks.cuts[n][0] if n in chunks.coupled else (at[n], at[n] + 1) for n in chunks.over}
        return fit(**compute(chunks.args(cuts))[0])

    return LazyResult(parts, cell)


def _without(x: xr.DataArray, dims: Collection[Name]) -> xr.DataArray:
    """What is the same along dims without them, and without the coordinates that have them; NaN or 0 of no cells."""
    gone = [n for n, c in x.coords.items() if not set(c.dims).isdisjoint(dims)]
    one = x.drop_vars(gone).isel(dict.fromkeys(dims, slice(0, 1)))
    return one.sum([*dims], keep_attrs=True, min_count=1 if x.dtype.kind == "f" else None)


def _own(leaf: Any, over: Names) -> dict[Any, int]:
    """Sizes of the dims that a parameter has in one cell."""
    if isinstance(leaf, (xr.DataArray, xr.Variable, DimArray)):
        return {n: s for n, s in leaf.sizes.items() if n not in over}
    return {}


def _run(fit: Fit, args: Any, over: Names, square: bool, residuals: bool) -> dict[str, Any]:
    """The results of one chunk as plain arrays, with the cells in front."""
    found: Any = fit(**args)
    shape = [found.status.sizes[n] for n in over]

    def full(x: xr.DataArray) -> Any:
        own = [n for n in x.dims if n not in over]
        lacks = {n: s for n, s in zip(over, shape, strict=True) if n not in x.dims}
        return x.expand_dims(lacks).transpose(*over, *own).values.copy()

    out = {f"params.{n}": full(v) for n, v in found.params.items()}
    for key in list(PER_CELL)[: None if residuals else 3]:
        out[key] = np.full(shape, np.nan)
        with contextlib.suppress(UnpairedError):  # r2 is not known then
            out[key] = full(getattr(found, key))
    if residuals:
        out |= {f"stderr.{n}": full(v) for n, v in found.stderr.items()}
    if square and isinstance(found.covariance, xr.DataArray):
        out["covariance"], out["unscaled_covariance"] = full(found.covariance), full(found.unscaled_covariance)
    return out
