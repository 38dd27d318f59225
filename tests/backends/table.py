"""One case of the table of operations on any backend: values, pullback, pushforward, second order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import dask
import numpy as np
import xarray as xr

import namedgrad as ng
from tests.support.arrays import all_names
from tests.support.functions import Function, cotangents_of, pull, push, rng_of
from tests.support.samples import FLOATS, Case, outputs
from tests.support.tolerances import MATRIX, ROUNDING

Place = Callable[[ng.DimArray], ng.DimArray]
WAYS = ("second by pull", "second by push")


def placed(x: ng.DimArray, array: Callable[[Any], Any]) -> ng.DimArray:
    """The same named array with its data made an array of a backend."""
    return ng.DimArray(array(x.to_numpy()), all_names(x), vectorized=x.vectorized)


def in_any_order(graph: Any, keys: Any, **options: Any) -> Any:
    """A scheduler for dask in this thread; those of dask look for an order first, for as long as these graphs take."""
    return dask.core.get(graph if isinstance(graph, Mapping) else graph.__dask_graph__(), keys)


def tolerance(case: Case) -> float:
    """Two backends may sum in another order."""
    return MATRIX if case.tolerance_is_matrix else 10 * ROUNDING


class Settled(Case):
    """A case whose eigenvalues and parts have one order, and whose vectors one direction, whichever library finds them."""

    def __call__(self, *operands: ng.DimArray) -> Any:
        out = super().__call__(*operands)
        if self.name == "partition":
            return _sorted_parts(out, **self.sample.kwargs)
        if self.name not in {"eig", "eigh", "eigvals", "qr", "svd"} or not self.sample.kwargs.get("compute_uv", True):
            return out
        if self.name == "eigvals":
            return _in_order(out, out, *operands)
        if self.name == "eig":
            out = tuple(_in_order(out[0], y, *operands) for y in out)
        two, row = self.name in {"qr", "svd"}, self.sample.kwargs["dims"][0]
        vectors = out[0] if two else out[1]
        way = ng.stop_gradient(ng.sign(ng.cumsum(vectors, row).sum(row)))
        turned = vectors * ng.conjugate(way)
        return (turned, *out[1:-1], out[-1] * way) if two else (out[0], turned)


def _sorted_parts(x: ng.DimArray, dim: str, kth: Any) -> ng.DimArray:
    """The parts between certain cells of a dim, each in order."""
    edges = sorted({0, x.sizes[dim], *(k % x.sizes[dim] for k in np.ravel(kth).tolist())})
    return ng.concat([ng.sort(x.isel({dim: slice(*ends)}), dim) for ends in itertools.pairwise(edges)], dim)


def _in_order(w: ng.DimArray, y: ng.DimArray, a: ng.DimArray) -> ng.DimArray:
    (dim,) = set(w.dims) - set(a.dims)
    order = ng.argsort(ng.stop_gradient(ng.real(w) + 0.37 * ng.imag(w)), dim)
    return ng.take_along_axis(y, order, dim)


def results(
    case: Case, place: Place, around: Callable[[Callable[[], Any]], Any] = lambda call: call(), *, second: Collection[str] = WAYS
) -> dict[str, Any]:
    """All that the table asks of a case, of second order in some ways; ``around`` makes the calls that only pull."""
    case = Settled(*case)
    operands = [place(x) for x in case.operands()]
    found: dict[str, Any] = {"value": outputs(case(*operands))}
    if case.label not in FLOATS:
        return found
    case = Settled(*FLOATS[case.label])
    host, f = Function(case, case.operands()), Function(case, operands)
    rng = rng_of(case, "backend")
    cotangents = [place(c) for c in cotangents_of(host, rng)]
    tangents = [place(t) for t in host.tangents(rng)]

    def gradients(*xs: ng.DimArray) -> tuple[ng.DimArray, ...]:
        return tuple(pull(f, xs, cotangents))

    out, back = ng.pullback(f, *f.xs)
    pulled = around(lambda: back(tuple(cotangents) if isinstance(out, tuple) else cotangents[0]))
    one = len(f.xs) == 1
    found |= {"pull": [pulled] if one else list(pulled), "push": push(f, f.xs, tangents)}
    if "second by pull" in second:
        _, again = ng.pullback(gradients, *f.xs)
        bent = around(lambda: again(tuple(tangents)))
        found["second by pull"] = [bent] if one else list(bent)
    if "second by push" in second:
        found["second by push"] = push(gradients, f.xs, tangents)
    return found


# Programs on an xarray object with the dims time and lat, and weights along lat.
LABELLED: dict[str, Callable[[Any, Any], Any]] = {
    "anomalies": lambda x, w: ((x - x.mean("time")) ** 2).sum(),
    "where": lambda x, w: x.where(x > 0).sum() + xr.where(x > 0.5, x, 0 * x).mean(),
    "groups": lambda x, w: ((x.groupby("month") - x.groupby("month").mean()) ** 2).mean(),
    "weights": lambda x, w: x.weighted(w).mean(),
    "windows": lambda x, w: (x.rolling(time=3).mean() ** 2).sum() + (x.shift(time=1) * x).sum(),
    "order": lambda x, w: x.median("time").sum() + x.isel(time=[0, 0, 2], lat=1).max(),
}


def labelled_data() -> tuple[xr.DataArray, xr.DataArray]:
    """What the programs run on."""
    rng = np.random.default_rng(7)
    x = xr.DataArray(rng.normal(size=(6, 4)), dims=("time", "lat"), coords={"month": ("time", [0, 1, 2, 0, 1, 2])})
    return x, xr.DataArray(rng.uniform(size=4), dims="lat")
