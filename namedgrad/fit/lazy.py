"""Fits of dask arrays: chunk by chunk along the dims of the cells, when the result is computed.

Every chunk is fitted by the ordinary call on plain arrays, in one task; cells that share parameters stay in one chunk.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import backends
from namedgrad.array import DimArray, TraceError
from namedgrad.axes import AxisError, Name, Names
from namedgrad.fit.chunks import Chunks, Place, lazy_labels, waiting, without
from namedgrad.fit.given import Given
from namedgrad.fit.implicit import DifferentiableResult
from namedgrad.fit.passes import moving_lazily, refuse_captured
from namedgrad.fit.problem import STEERED
from namedgrad.fit.result import BriefResult, FitResult
from namedgrad.fit.status import attributes
from namedgrad.fit.sure import Sure
from namedgrad.fit.times import read_all
from namedgrad.transforms.leaves import adapter_of, flatten
from namedgrad.transforms.tape import quiet
from namedgrad.xarray.convert import some_of

Fit = Callable[..., FitResult]
Joined = Callable[..., Any]
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
NO_R2 = (AxisError, TypeError)  # the residual does not tell which are the observations

MATRICES = {
    "covariance": "covariance of the parameters",
    "unscaled_covariance": "covariance of the parameters for known sigma",
}


def is_lazy(tree: Any) -> bool:
    """Whether a structure of arrays holds one of dask's."""
    return any(x.backend == "dask" for leaf in flatten(tree)[0] for x in adapter_of(leaf).arrays(leaf))


class LazyResult(Sure, BriefResult):
    """The outcome of a fit of dask arrays: ``params`` and the other results are dask arrays themselves.

    Attributes
    ----------
    params, stderr : xarray.Dataset
    status, iterations, cost, covariance : xarray.DataArray
    dof, chi2, r2, aic, bic, unscaled_covariance : xarray.DataArray
        Of :func:`namedgrad.least_squares` only, as are ``residual``, ``predict`` and ``plot``. ``r2`` is NaN if
        the residual does not tell which the observations are, as one of several arrays of the last argument.

    Notes
    -----
    What methods return is lazy, too, but for pictures. A chunk is fitted once for all that is computed together, as by
    ``dask.compute(fit.params, fit.predict())``, and once more for what is computed later.
    """

    readers: Sequence[Callable[[Any], Any]] = ()  # what makes of data what the residual function takes

    def __init__(self, parts: Mapping[str, Any], fits: Fits) -> None:
        self._parts, self._fits = dict(parts), fits
        for name, part in parts.items():
            setattr(self, name, part)

    def compute(self) -> LazyResult:
        """The same with all results computed, together."""
        from dask.base import compute

        names = list(self._parts)
        done = LazyResult(dict(zip(names, compute(*self._parts.values()), strict=True)), self._fits)
        done.readers = self.readers
        return done

    @property
    def _freedom(self) -> xr.DataArray:
        return self._parts["dof"] if "dof" in self._parts else xr.full_like(self.cost, np.inf)

    @functools.cached_property
    def residual(self) -> xr.DataArray | xr.Dataset:
        """The residual function at the solution, not divided by sigma."""
        return self._found("residual", since="dof")

    def predict(self, *data: Any) -> xr.DataArray | xr.Dataset:
        """The model; see :meth:`LeastSquaresResult.predict <namedgrad.fit.LeastSquaresResult.predict>`."""
        return self._found("predict", *read_all(self.readers, data), since="dof")

    def fisher(self) -> xr.DataArray:
        """Fisher's information; see :meth:`LeastSquaresResult.fisher <namedgrad.fit.LeastSquaresResult.fisher>`."""
        return self._found("fisher", since="covariance")

    def _found(self, what: str, *data: Any, since: str) -> Any:
        if since not in self._parts:
            raise self._lacks(what)
        return self._fits.told(what, data)

    def _lacks(self, name: str) -> AttributeError:
        return AttributeError(
            f"a fit of dask arrays has {tuple(self._parts)}, but not {name!r}; for that, call .compute() on the data "
            "before the fit"
        )

    def plot(self, at: Mapping[Any, Any] | None = None) -> Any:
        """Draw maps of the parameters, which are computed, or one cell, which is fitted once more.

        See :meth:`LeastSquaresResult.plot <namedgrad.fit.LeastSquaresResult.plot>`.
        """
        from namedgrad.fit.figures import plot, position

        self.dof  # noqa: B018 - without it there is nothing to draw
        if not at:
            return plot(self.compute(), None)
        return plot(self._fits.cell(position(self.status, dict(at))), at)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._lacks(name)


class Fits:
    """The fits of all chunks, which wait to be asked."""

    def __init__(self, fit: Fit, chunks: Chunks) -> None:
        from dask.delayed import delayed

        self.fit, self.chunks = fit, chunks
        self.args: Mapping[Place, Any] = {i: delayed(chunks.args(at)) for i, at in chunks.places.items()}
        self.found: Mapping[Place, Any] = {i: delayed(_call)(fit, args) for i, args in self.args.items()}

    def results(self, square: bool, residuals: bool) -> Joined:
        """The results that every fit has; asked for an array by its key, its own shape and its dtype."""
        from dask.delayed import delayed

        over = self.chunks.over
        cells = {i: delayed(_results)(found, over, residuals) for i, found in self.found.items()}
        errors = {i: delayed(_errors)(found, over, square) for i, found in self.found.items()}

        def joined(key: str, own: Sequence[int] = (), dtype: Any = float) -> Any:
            tasks = errors if key in MATRICES or key.startswith("stderr.") else cells
            return self.chunks.joined({i: task[key] for i, task in tasks.items()}, own, np.dtype(dtype))

        return joined

    def told(self, what: str, data: Sequence[Any]) -> Any:
        """What else they tell: an attribute, or what a method returns, with the dims that it has for one cell."""
        from dask.delayed import delayed

        chunks, over = self.chunks, self.chunks.over
        chunks.require_met(data)
        labels = lazy_labels(data or chunks.leaves)
        with quiet():  # the user's data may be such that nothing overflows
            one = _asked(self._tried(), what, chunks.one_cell(data))
        tasks = {
            i: delayed(_asked_for)(found, what, waiting(data, chunks.places[i]), over)
            for i, found in self.found.items()
        }

        def whole(x: xr.DataArray) -> xr.DataArray:
            own = [d for d in x.dims if d not in over]
            raw = chunks.joined({i: task[x.name] for i, task in tasks.items()}, [x.sizes[d] for d in own], x.dtype)
            own_labels = [n for n in x.coords if n not in chunks.coords]
            known = chunks.coords.assign(some_of(x.coords, own_labels))
            again = {n: v for n, v in labels.items() if n in own_labels and v.sizes == x.coords[n].sizes}
            full = xr.DataArray(raw, known.assign(again), (*over, *own), x.name, x.attrs)
            return without(full, [n for n in over if n not in x.dims]).transpose(*x.dims)

        return one.map(whole) if isinstance(one, xr.Dataset) else whole(one)

    def _tried(self) -> Any:
        try:
            return self.fit(**self.chunks.example())
        except Exception as error:
            raise ValueError(
                "to know the dims of what is asked for, the fit was tried on one cell of ones, and failed; "
                f"for that, call .compute() on the data before the fit. It said: {error}"
            ) from error

    def attrs(self) -> dict[str, Any]:
        """What is said of all parameters: since when dates count; nothing where one cell of ones does not tell."""
        with contextlib.suppress(ValueError), quiet():
            return dict(self._tried().params.attrs)
        return {}

    def cell(self, at: Mapping[Any, int]) -> Any:
        """The fit of one cell, and of those that share parameters with it."""
        from dask.base import compute

        chunks = self.chunks
        cuts = {n: chunks.cuts[n][0] if n in chunks.coupled else (at[n], at[n] + 1) for n in chunks.over}
        return _call(self.fit, compute(chunks.args(cuts))[0])


def fit_lazily(
    fit: Fit, given: Given, since: Mapping[str, Any], over: Any, *, residuals: bool, shared: Sequence[Name] = (),
    fixed: Sequence[Name] = (),
) -> LazyResult | DifferentiableResult:  # fmt: skip
    """The result of ``fit(**args of a chunk)``, whose arrays are computed when they are asked for."""
    if backends.is_recording():
        raise TraceError(STEERED)
    refuse_captured(fit)
    chunks = Chunks({**given.plain, "since": since}, over, shared, fixed)
    own = any(_own(leaf, chunks.over) for leaf in chunks.entries.values())
    square = not own and not chunks.coupled and not {*chunks.over} & {"param", "param_wrt"}
    fits = Fits(fit, chunks)
    joined = fits.results(square, residuals)
    parts: dict[str, Any] = {"params": _entries(chunks, joined, "params")}
    parts |= _per_cell(chunks, joined, residuals)
    parts["stderr"] = _entries(chunks, joined, "stderr")
    if residuals:
        if _is_known(since):
            parts["params"].attrs |= fits.attrs()
        parts["cost"].attrs = {"long_name": "half the sum of squared residuals at the solution"}
    names = list(MATRICES)[: None if residuals else 1] if square else []
    found = LazyResult(parts | _matrices(chunks, joined, names), fits)
    return moving_lazily(found, fits, given) if given.levels else found


def _is_known(since: Mapping[Any, Any]) -> bool:
    """Whether there are dates, and it is computed since when they count."""
    return bool(since) and all(getattr(first, "chunks", None) is None for first in since.values())


def _entries(chunks: Chunks, joined: Joined, what: str) -> xr.Dataset:
    """Parameters, or their standard errors."""
    out = {}
    for n, leaf in chunks.entries.items():
        own, labelled = _own(leaf, chunks.over), isinstance(leaf, xr.DataArray)
        mine = [k for k, c in leaf.coords.items() if set(c.dims) <= set(own)] if labelled else []
        coords = chunks.coords.assign(some_of(leaf.coords, mine)) if mine else chunks.coords
        attrs = dict(leaf.attrs) if labelled else {}
        if what == "stderr":
            attrs["long_name"] = f"standard error of {attrs.get('long_name', n)}"
        raw = joined(f"{what}.{n}", tuple(own.values()))
        x = xr.DataArray(raw, coords, (*chunks.over, *own), n, attrs)
        out[n] = without(x, chunks.lacks[n])
    return xr.Dataset(out)


def _per_cell(chunks: Chunks, joined: Joined, residuals: bool) -> dict[str, xr.DataArray]:
    """One number for every cell, or for all cells that share parameters."""
    out = {}
    for key in list(PER_CELL)[: None if residuals else 3]:
        kind = int if key in ("status", "iterations", "dof") else float
        x = xr.DataArray(joined(key, (), kind), chunks.coords, tuple(chunks.over), key)
        out[key] = x if key in ("status", "chi2", "r2") else without(x, chunks.coupled)
        out[key].attrs = {"long_name": PER_CELL[key]} if PER_CELL[key] else attributes()
    return out


def _matrices(chunks: Chunks, joined: Joined, names: Sequence[str]) -> dict[str, xr.DataArray]:
    labels, count = list(chunks.entries), len(chunks.entries)
    coords, dims = chunks.coords.assign(param=labels, param_wrt=labels), (*chunks.over, "param", "param_wrt")
    return {
        n: xr.DataArray(joined(n, (count, count)), coords, dims, n, {"long_name": MATRICES[n]}) for n in names
    }


def _own(leaf: Any, over: Names) -> dict[Any, int]:
    """Sizes of the dims that a parameter has in one cell."""
    if isinstance(leaf, (xr.DataArray, xr.Variable, DimArray)):
        return {n: s for n, s in leaf.sizes.items() if n not in over}
    return {}


def _call(fit: Fit, args: Mapping[str, Any]) -> Any:
    return fit(**args)


def _asked(found: Any, what: str, data: Sequence[Any]) -> Any:
    """An attribute of a result, or what a method of it returns."""
    value = getattr(found, what)
    return value(*data) if callable(value) else value


def _asked_for(found: Any, what: str, data: Sequence[Any], over: Names) -> dict[Any, Any]:
    """The same as plain arrays by name, with the cells in front."""
    value = _asked(found, what, data)
    several = dict(value.items()) if isinstance(value, xr.Dataset) else {value.name: value}
    return {n: _in_front(x, found, over) for n, x in several.items()}


def _in_front(x: xr.DataArray, found: Any, over: Names) -> Any:
    """A plain array (cells..., own...), repeated along dims of the cells that it lacks."""
    lacks = {n: found.status.sizes[n] for n in over if n not in x.dims}
    return x.expand_dims(lacks).transpose(*over, ...).values.copy()


def _results(found: Any, over: Names, residuals: bool) -> dict[str, Any]:
    """The results of one chunk as plain arrays, with the cells in front."""
    shape = [found.status.sizes[n] for n in over]
    full = functools.partial(_in_front, found=found, over=over)
    out = {f"params.{n}": full(v) for n, v in found.params.items()}
    for key in list(PER_CELL)[: None if residuals else 3]:
        out[key] = np.full(shape, np.nan)
        with contextlib.suppress(*(NO_R2 if key == "r2" else ())):
            out[key] = full(getattr(found, key))
    return out


def _errors(found: Any, over: Names, square: bool) -> dict[str, Any]:
    """How sure the parameters of one chunk are: by minimize that takes a Hessian, which nobody may ask for."""
    out = {f"stderr.{n}": _in_front(v, found, over) for n, v in found.stderr.items()}
    if square and isinstance(found.covariance, xr.DataArray):
        matrices = {n: getattr(found, n, None) for n in MATRICES}
        out |= {n: _in_front(x, found, over) for n, x in matrices.items() if x is not None}
    return out
