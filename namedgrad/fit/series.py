"""Curves fitted to many series at once: arrays in, arrays out.

A curve is ``func(x, *params)`` in NumPy.  It runs once for all cells of a batch, on positional arrays whose cells are
hidden, so what it sees is what :func:`scipy.optimize.curve_fit` would show it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from namedgrad.array import TraceError
from namedgrad.backends import backend_of, is_recording
from namedgrad.fit.batch import Flags
from namedgrad.fit.hidden import shown
from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.one_by_one import Outcome, fit_one
from namedgrad.fit.problem import STEERED
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.scipy_options import Options
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.units import parameter_units
from namedgrad.positional import positional
from namedgrad.transforms.grad import jvp

CELL = "cell"
LOOKED_AT = 1 << 19  # numbers at once
MANY = 100  # cells that take noticeable time one by one
FAILED = (Status.MAX_ITERATIONS, Status.NO_DATA, Status.NOT_FINITE)


class Series(NamedTuple):
    """What is fitted, and how; ``missing`` names the parameters without start values."""

    func: Callable[..., Any]
    names: tuple[str, ...]
    missing: tuple[str, ...]
    skipna: bool
    options: Options


class Ends(NamedTuple):
    """How the fits ended, cells first."""

    params: Array
    covariance: Array
    status: np.ndarray[Any, np.dtype[np.int_]]
    iterations: np.ndarray[Any, np.dtype[np.int_]]
    chi2: Array
    dof: np.ndarray[Any, np.dtype[np.int_]]
    failed: Flags  # a cell without any observation has not failed, but has no answer either

    def without_failures(self) -> Ends:
        """With NaN where there is no answer."""
        no = self.failed | (self.status == Status.NO_DATA)
        return self._replace(
            params=np.where(no[:, None], np.nan, self.params),
            covariance=np.where(no[:, None, None], np.nan, self.covariance),
            chi2=np.where(no, np.nan, self.chi2),
        )


class Data(NamedTuple):
    """Coordinates (coordinate, observation), with cells in front if they differ; observations, and their sigma."""

    x: Array
    y: Array
    sigma: Array | None

    def only(self, cells: Any) -> Data:
        """Some of the cells."""
        sigma = self.sigma
        if sigma is not None and len(sigma) == len(self.y):
            sigma = sigma[cells]
        return Data(self.x if self.x.ndim < 3 else self.x[cells], self.y[cells], sigma)

    @property
    def shown(self) -> Array:
        """The coordinates as the function sees them."""
        return self.x[..., 0, :] if self.x.shape[-2] == 1 else self.x


def as_data(coords: list[Array], y: Array, sigma: Array | None, *, keep: bool) -> tuple[Data, Flags]:
    """Data in which what is missing is a missing observation, and the cells in which something is.

    Observations that no cell has are left out unless they are to be kept.
    """
    if y.dtype.kind == "c":
        raise TypeError("the observations are complex; fit both of their parts: .grad.fit(model, coords, params)")
    backend = backend_of(y)
    y, coords = y.astype(float, copy=False), [backend.asarray(c) for c in coords]
    sigma = None if sigma is None else backend.asarray(sigma)
    shared = all(len(c) == 1 for c in coords) or not len(y)
    x = np.stack([c[0] for c in coords]) if shared else np.stack([np.broadcast_to(c, y.shape) for c in coords], axis=1)
    x = x.astype(float)
    there = np.isfinite(x).all(axis=-2)
    all_there = bool(there.all())
    if shared and not keep and not all_there:
        incomplete = np.full(len(y), True)
        x, y = x[:, there], y[:, there]
        sigma = None if sigma is None else sigma[:, there]
    else:
        known = np.broadcast_to(there, y.shape)
        incomplete = _looked_at(y, lambda rows, at: ~(np.isfinite(rows) & known[at]).all(axis=-1))
        if not all_there:
            y = np.where(there, y, np.nan)
            some = np.take_along_axis(x, there.argmax(axis=-1)[..., None, None], axis=-1)
            x = np.where(there[..., None, :], x, np.nan_to_num(some))
    if _looked_at(y, lambda rows, _: np.isinf(rows).any(axis=-1)).any():
        y = np.where(np.isfinite(y), y, np.nan)
    if sigma is not None and not np.isfinite(sigma).all():
        known = np.isfinite(sigma)
        y, sigma = np.where(known, y, np.nan), np.where(known, sigma, 1.0)
    return Data(x, y, sigma), incomplete


def _looked_at(y: Array, look: Callable[[Array, slice], Any]) -> Any:
    """What ``look`` says of the rows of an array, some at a time, on the host."""
    backend, some = backend_of(y), max(1, LOOKED_AT // max(y.shape[1], 1))
    parts = [backend.to_numpy(look(y[at], at)) for at in (slice(i, i + some) for i in range(0, len(y), some))]
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def fit_series(
    series: Series, coords: list[Array], y: Array, start: Array, lower: Array, upper: Array, sigma: Array | None
) -> Ends:
    """Fit every row of ``y`` (cell, observation), from start values (parameter, cell), between bounds."""
    if is_recording():
        raise TraceError(STEERED)
    data, incomplete = as_data(coords, y, sigma, keep=series.options.correlated)
    backend = backend_of(data.y)
    counts = _looked_at(data.y, lambda rows, _: np.isfinite(rows).sum(axis=1))
    refused = np.zeros(len(y), bool) if series.skipna else incomplete
    if refused.any():
        data = data._replace(y=np.where(backend.asarray(refused)[:, None], np.nan, data.y))
    if not data.y.size:
        ends = no_data(len(y), len(start))
    elif series.options.correlated and (counts < data.y.shape[1]).any():
        ends = _fit_one_by_one(series, data, start, lower, upper)
    else:
        ends = _fit_all(series, data, start, lower, upper)
    status = np.where(refused, Status.NOT_FINITE, ends.status)
    failed = refused | np.isin(status, FAILED) & (counts > 0)
    return ends._replace(status=status, failed=failed)


def _bounds(series: Series, data: Data, lower: Array, upper: Array) -> dict[str, Any]:
    low, high = (several_cells(series.names, m, data) for m in (lower, upper))
    known = [bool(np.isfinite(pair).any()) for pair in zip(lower, upper, strict=True)]
    return {n: (low[n], high[n]) for n, limited in zip(series.names, known, strict=True) if limited}


def _fit_all(series: Series, data: Data, start: Array, lower: Array, upper: Array) -> Ends:
    """All cells together, or one by one if that fails because the function cannot be run on many."""
    try:
        return _fit_together(series, data, start, lower, upper)
    except Exception:
        if is_traceable(series.func, data, start):
            raise
    return _fit_one_by_one(series, data, start, lower, upper)


def _fit_together(series: Series, data: Data, start: Array, lower: Array, upper: Array) -> Ends:
    """All cells by ``least_squares``."""
    given = several_cells(series.names, start, data)
    if len(data.y):
        given |= dict.fromkeys(series.missing)
    fit = least_squares(
        residual(series, data), given, *arguments(data), bounds=_bounds(series, data, lower, upper),
        **series.options.engine,
    )  # fmt: skip
    fit = shown(fit)
    covariance = fit._filled(fit._unscaled if series.options.absolute else fit._scaled)
    params = np.stack([fit.params[n].values for n in series.names], axis=-1)
    return Ends(
        params, covariance, fit.status.values, fit.iterations.values, 2 * fit.cost.values, fit.dof.values,
        failed=np.zeros(len(params), bool),
    )  # fmt: skip


def _fit_one_by_one(series: Series, data: Data, start: Array, lower: Array, upper: Array) -> Ends:
    """Each cell by SciPy."""
    if (where := backend_of(data.y).name) != "numpy":
        raise TypeError(
            "func cannot be run on many cells at once, because it branches on a parameter or hands it to compiled "
            f"code; SciPy, which would run it for one cell after the other, takes no arrays of {where}"
        )
    options = {n: v for n, v in series.options.given.items() if n not in {"sigma", "full_output", "jac"}}
    count = len(data.y)
    if count > MANY:
        warnings.warn(
            "func cannot be run on many cells at once, because it branches on a parameter or hands it to compiled "
            f"code; {count} cells are fitted one by one, which is slow: np.where, and functions of NumPy and "
            "scipy.special, would do",
            stacklevel=2,
        )
    correlated = np.asarray(series.options.sigma, dtype=float) if series.options.correlated else None
    found = []
    for i in range(count):
        one = data.only([i])
        sigma = correlated if one.sigma is None else one.sigma[0]
        x = one.shown if one.x.ndim < 3 else one.shown[0]
        found.append(fit_one(series.func, x, one.y[0], sigma, start[:, i], lower[:, i], upper[:, i], options))
    several = {n: np.array([getattr(one, n) for one in found]) for n in Outcome._fields}
    return Ends(**several, failed=np.zeros(count, bool))


def units_of(series: Series, coords: list[Array], observed: str, known: list[str | None]) -> list[str]:
    """Units of the parameters, empty where they do not follow from those of observations and coordinates."""
    data = as_data([c.reshape(1, -1) for c in coords], np.zeros((1, coords[0].size)), None, keep=False)[0]
    start = np.ones((len(series.names), 1))
    if not data.y.size or not is_traceable(series.func, data, start):
        return [""] * len(series.names)
    series = series._replace(options=series.options._replace(sigma=None))
    problem = Residuals(
        residual(series, data), several_cells(series.names, start, data), arguments(data), over=(),
        loss=None, sigma=None, prior=None, chunk=None,
    )  # fmt: skip
    found = parameter_units(problem, observed, known)
    return [found.get(n, "") for n in series.names]


def no_data(count: int, params: int) -> Ends:
    """What becomes of cells without observations."""
    nothing, none = np.full((count, params, params), np.nan), np.zeros(count, int)
    status = np.full(count, int(Status.NO_DATA))
    return Ends(nothing[:, 0], nothing, status, none, np.full(count, np.nan), none, failed=np.zeros(count, bool))


def cells(values: Array) -> Any:
    """Numbers of cells, each of which sees its own."""
    return positional(values, vectorized=(CELL,))


def several_cells(names: tuple[str, ...], rows: Array, data: Data) -> dict[str, Any]:
    """Numbers (parameter, cell) by parameter, where the data are."""
    backend = backend_of(data.y)
    return {n: cells(backend.asarray(np.ascontiguousarray(v))) for n, v in zip(names, rows, strict=True)}


def arguments(data: Data) -> tuple[Any, ...]:
    """Data for :func:`residual`: coordinates, sigma if there is one, observations."""
    x = [data.x[i] if data.x.ndim < 3 else cells(data.x[:, i]) for i in range(data.x.shape[-2])]
    if data.sigma is None:
        return *x, cells(data.y)
    return *x, data.sigma[0] if len(data.sigma) == 1 else cells(data.sigma), cells(data.y)


def residual(series: Series, data: Data) -> Callable[..., Any]:
    """The residual function of these data."""
    func, weighted, count = series.func, data.sigma is not None, data.x.shape[-2]
    whiten = None
    if series.options.correlated:
        factor = np.linalg.cholesky(np.asarray(series.options.sigma, dtype=float))
        whiten = backend_of(data.y).asarray(scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True))

    def misfit(p: Any, *args: Any) -> Any:
        x = args[0] if count == 1 else np.stack(args[:count])
        off = func(x, *p.values()) - args[-1]
        if weighted:
            off = off / args[-2]
        return off if whiten is None else np.matmul(whiten, off)

    return misfit


def is_traceable(func: Callable[..., Any], data: Data, start: Array) -> bool:
    """Whether a function runs on many cells at once; it is tried on two.

    One that does not, but does on plain numbers, branches on a parameter or hands it to compiled code.
    """
    two, numbers = data.only([0, -1]), start[:, [0, -1]]
    several = tuple(cells(backend_of(data.y).asarray(v)) for v in numbers)
    x = two.shown if two.x.ndim < 3 else cells(two.shown)
    with np.errstate(all="ignore"):
        try:
            jvp(lambda *p: func(x, *p) - two.y[0], several, several)
        except Exception:  # noqa: BLE001 - whatever the user's function raises
            # raises what the user has to know
            func(two.shown if two.x.ndim < 3 else two.shown[0], *numbers[:, 0]) - two.y[0]
            return False
    return True
