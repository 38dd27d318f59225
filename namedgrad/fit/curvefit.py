"""``curvefit``: the call, and the Dataset, of xarray's; all cells are fitted at once.

xarray's ``apply_ufunc`` arranges the dims, here as there, so names, dims and coordinates of what comes out are equal.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.fit.given import Given
from namedgrad.fit.labels import coordinate, places
from namedgrad.fit.moving import Curve, moving
from namedgrad.fit.scipy_options import as_options
from namedgrad.fit.series import Series, fit_series, units_of
from namedgrad.fit.status import Status, attributes
from namedgrad.fit.times import numeric
from namedgrad.positional.array import PositionalArray
from namedgrad.transforms.vectorize import devectorize, vectorize

EXTRAS = {
    "curvefit_status": attributes(),
    "curvefit_iterations": {"long_name": "iterations of the fit"},
    "curvefit_chi2": {"long_name": "sum of squared residuals, each divided by its sigma"},
    "curvefit_dof": {"long_name": "degrees of freedom"},
}


def curvefit(
    obj: xr.DataArray | xr.Dataset | xr.DataTree,
    coords: str | xr.DataArray | Iterable[str | xr.DataArray],
    func: Callable[..., Any],
    reduce_dims: Any = None,
    skipna: bool = True,
    p0: Mapping[str, float | xr.DataArray] | None = None,
    bounds: Mapping[str, tuple[float | xr.DataArray, float | xr.DataArray]] | None = None,
    param_names: Sequence[str] | None = None,
    errors: str = "raise",
    kwargs: Mapping[str, Any] | None = None,
    *,
    time_units: str = "seconds",
    time_origin: Any = None,
    **options: Any,
) -> Any:
    """Fit a curve along dims, in all cells of the others at once: :meth:`xarray.DataArray.curvefit`, call for call.

    Parameters
    ----------
    obj : DataArray, Dataset or DataTree
        The observations. Of a Dataset each variable is fitted, of a DataTree each dataset.
    coords : name, DataArray, or sequence of them
        What the curve is a function of. Dates are given to ``func`` as numbers, see ``time_units``.
    func : callable
        ``func(x, *params)``, plain NumPy; with several coordinates ``x`` has them along its first axis. ``x`` is
        one-dimensional otherwise, and the parameters are numbers.
    reduce_dims : name or names, optional
        Dims to fit over, in addition to those that ``coords`` are.
    skipna : bool
        Leave out observations that are NaN or infinite, as does SciPy's ``nan_policy="omit"`` among ``kwargs``.
    p0 : dict, optional
        Start values by parameter, numbers or arrays. Defaults in the signature of ``func`` count as given. For
        parameters that have neither, start values are found from the data, cell by cell; xarray takes 1.
    bounds : dict, optional
        ``{name: (lower, upper)}``, numbers or arrays, None for no bound. A cell where one is NaN is not fitted.
    param_names : sequence of str, optional
        Names of the parameters, if they cannot be read off the signature of ``func``.
    errors : {"raise", "ignore"}
        What to do about fits that fail: raise, after all others are done, and say how many and where; or give NaN.
    kwargs : dict, optional
        As for :func:`scipy.optimize.curve_fit`: ``sigma`` (also a DataArray over any dims), ``absolute_sigma``,
        ``loss``, ``f_scale``, ``ftol``, ``xtol``, ``gtol``, ``maxfev``, ``max_nfev``. The last two bound one attempt,
        as ``max_iterations`` does, not what second ones take. What only steers SciPy's own solvers, or gives a
        Jacobian, is not needed and has no effect.
    time_units : {"seconds", "minutes", "hours", "days", "years"}
        What dates are counted in.
    time_origin : date, optional
        What they are counted from; by default the earliest.
    **options
        More of :func:`namedgrad.least_squares`: ``sigma``, as among ``kwargs``, ``prior``, ``fixed``, ``tol``,
        ``max_iterations``, ``chunk`` ...

    Returns
    -------
    Dataset
        ``curvefit_coefficients`` (..., param) and ``curvefit_covariance`` (..., cov_i, cov_j), as from xarray, and
        per cell ``curvefit_status`` (with ``flag_meanings``), ``curvefit_iterations``, ``curvefit_chi2`` and
        ``curvefit_dof``; ``curvefit_units`` (param) where ``units`` of data and coordinates say what they are. For a
        Dataset with the name of the variable in front. Its attributes say what dates were counted in and from.

    Raises
    ------
    RuntimeError
        If ``errors="raise"`` and a fit failed: it ran out of iterations, had too few observations, or ``func`` was not
        finite where it started. A cell without any observation gives NaN.
    ValueError
        If no dim is left to fit over, ``p0`` or ``bounds`` name what is no parameter, or have dims that they should not
        have, or, with ``skipna=False``, data are not finite.

    See Also
    --------
    least_squares : parameters of any shape, residuals of any kind.

    Notes
    -----
    Where xarray's fit converges, both agree to about 1e-6, unless xarray's ends in a worse minimum and ``p0`` was left
    to us, or ``func`` mixes places, as ``np.convolve`` does, and observations are missing: it gets the coordinates of
    all of them, from xarray only of those that are there. ``func`` runs once per iteration for all cells, on arrays
    that take part in NumPy's functions. One that cannot be run like this, because it branches on a parameter or calls
    compiled code, is fitted by SciPy one cell at a time, with a warning if there are many; it, too, gets only the
    coordinates of observations that are there.

    dask arrays are fitted lazily, chunk by chunk; an error is then raised by ``.compute()``.

    Coefficients, covariance and ``chi2`` are differentiable, once, in the data, coordinates, ``sigma`` and bounds; only
    the coefficients are with a robust loss, priors or fixed parameters, and the others are left out then.

    Examples
    --------
    >>> import numpy as np, xarray as xr, namedgrad as ng
    >>> t = xr.DataArray(np.linspace(0, 3, 7), dims="time", name="time")
    >>> rate = xr.DataArray([0.5, 1.0, 2.0], dims="site", coords={"site": ["a", "b", "c"]})
    >>> y = (3 * np.exp(-rate * t)).assign_coords(time=t)
    >>> fit = ng.curvefit(y, "time", lambda x, size, rate: size * np.exp(-rate * x))
    >>> fit.curvefit_coefficients.sel(param="rate").round(6).values
    array([0.5, 1. , 2. ])
    """
    if isinstance(obj, xr.DataTree):
        one: Callable[[xr.Dataset], xr.Dataset] = functools.partial(
            curvefit, coords=coords, func=func, reduce_dims=reduce_dims, skipna=skipna, p0=p0, bounds=bounds,
            param_names=param_names, errors=errors, kwargs=kwargs, time_units=time_units, time_origin=time_origin,
            **options,
        )  # fmt: skip
        return obj.map_over_datasets(lambda ds: one(ds) if ds.data_vars else ds)
    _require_dicts(p0=p0, bounds=bounds, kwargs=kwargs)
    kwargs = _with_sigma(kwargs, options)
    skipna = skipna or (kwargs or {}).get("nan_policy") == "omit"
    if errors not in {"raise", "ignore"}:
        raise ValueError('errors must be either "raise" or "ignore"')
    obj, coords, reduce_dims = _apart(obj, coords, reduce_dims)
    given = Given(obj=obj, coords=coords, p0=p0, bounds=bounds, kwargs=kwargs)
    if hidden := given.hidden:
        shown = devectorize(given.args, *hidden)
        more = {"reduce_dims": reduce_dims, "skipna": skipna, "param_names": param_names, "errors": errors}
        out = curvefit(func=func, **shown, **more, **options, time_units=time_units, time_origin=time_origin)
        return vectorize(out, *hidden)
    if given.levels:
        return _differentiated(given, func, reduce_dims, param_names, options, time_units=time_units,
                               time_origin=time_origin, skipna=skipna, errors=errors)  # fmt: skip
    plan = Plan.of(obj, coords, reduce_dims, time_units, time_origin)
    plan.check(p0 or {}, bounds or {})
    series, start, limits = _series(func, param_names, given.args, options, skipna=skipna)
    found = _fitted(obj, plan, series, start, limits, errors)
    attrs = {} if isinstance(obj, xr.DataArray) else dict(obj.attrs)
    names = list(series.names)
    return xr.Dataset(found, dict.fromkeys(("param", "cov_i", "cov_j"), names), attrs | plan.attrs)


def _series(
    func: Callable[..., Any], param_names: Any, args: Mapping[str, Any], options: Mapping[str, Any], *, skipna: bool
) -> tuple[Series, Any, Any]:
    """What is fitted, start values, and limits."""
    p0, bounds, kwargs = (dict(args[n] or {}) for n in ("p0", "bounds", "kwargs"))
    names, defaults = parameter_names(func, param_names)
    _require_known(names, p0=p0, bounds=bounds)
    start, limits = start_and_limits(names, p0, bounds, defaults)
    missing = tuple(n for n in names if n not in p0 and n not in defaults)
    settings = as_options(kwargs, options, len(names), bounded=bool(bounds))
    return Series(func, tuple(names), missing, bool(skipna), settings), start, limits


def _fitted(obj: Any, plan: Plan, series: Series, start: Any, limits: Any, errors: str) -> dict[str, Any]:
    """What becomes of every variable; an error speaks of all fits that failed, after the others are done."""
    found: dict[str, Any] = {}
    failures = []
    for prefix, da in _variables(obj).items():
        several, failed = _fit(plan, da, series, start, limits, errors)
        status = several["curvefit_status"]
        if errors == "raise" and failed.chunks is None and failed.any():
            name = f" of {prefix[:-1]}" if prefix else ""
            failures.append(failure(series, status.values.ravel(), failed.values.ravel(), status, name))
        found.update({prefix + n: v for n, v in several.items()})
        if units := _units(plan, da, series):
            about = {"long_name": "units of the parameters"}
            found[prefix + "curvefit_units"] = xr.DataArray(units, dims="param", attrs=about)
    if failures:
        kind = ValueError if all(isinstance(f, ValueError) for f in failures) else RuntimeError
        raise kind("\n".join(map(str, failures)))
    return found


def _with_sigma(kwargs: Mapping[str, Any] | None, options: dict[str, Any]) -> Mapping[str, Any] | None:
    """``kwargs`` with the sigma that is an option, as in least_squares."""
    if "sigma" not in options:
        return kwargs
    if "sigma" in (kwargs or {}):
        raise TypeError("sigma is given twice, as an argument and among kwargs; leave out one of them")
    return {**(kwargs or {}), "sigma": options.pop("sigma")}


def _require_dicts(**given: Any) -> None:
    for what, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{what} must be a dict, got {type(value).__name__}")


def _differentiated(
    given: Given, func: Callable[..., Any], reduce_dims: Any, param_names: Any,
    options: dict[str, Any], *, time_units: str, time_origin: Any, **more: Any,
) -> xr.Dataset:  # fmt: skip
    """The fit of the values, with coefficients that move with what a transform differentiates."""
    more |= {"reduce_dims": reduce_dims, "param_names": param_names, "time_units": time_units}
    plain = curvefit(func=func, **given.plain, **more, **options, time_origin=time_origin)
    args = given.args
    plan = Plan.of(args["obj"], args["coords"], reduce_dims, time_units, time_origin)
    series, _, limits = _series(func, param_names, args, options, skipna=more["skipna"])
    return moving(plain, _variables(args["obj"]), Curve(func, plan.coords, plan.along, limits, series.options))


def _variables(obj: Any) -> dict[str, xr.DataArray]:
    """What is fitted, by the prefix of its results."""
    if isinstance(obj, xr.DataArray):
        return {"": obj}
    # xarray's own method on a DataArray passes a Dataset whose variable has a name that is no text
    return {"" if repr(n) == "<this-array>" else f"{n}_": v for n, v in obj.data_vars.items()}


# ------------------------------------------------------------------------------------------------ dims


class Plan(NamedTuple):
    """What is fitted along which dims."""

    coords: list[xr.DataArray]  # over the dims of the fit, and maybe more
    along: list[Hashable]
    kept: list[Hashable]
    attrs: dict[str, Any]

    @classmethod
    def of(cls, obj: Any, coords: Any, reduce_dims: Any, time_units: str, time_origin: Any) -> Plan:
        """Read the arguments as xarray does."""
        reduce_dims = _several(reduce_dims or ())
        given = [_coordinate(obj, c) for c in _several(coords)]
        if unknown := [d for d in reduce_dims if d not in obj.dims]:
            raise ValueError(f"reduce_dims={unknown} are not among the dims {tuple(obj.dims)} of the data")
        along = [d for d in obj.dims if d in reduce_dims or any(c.equals(obj[d]) for c in given)]
        if not along:
            raise ValueError(
                "No arguments to `coords` were identified as a dimension on the calling object, and no dims were "
                "supplied to `reduce_dims`. This would result in fitting on scalar data."
            )
        kept = [d for d in obj.dims if d not in along]
        numbers = [numeric(c, time_units, time_origin) for c in given]
        attrs: dict[str, Any] = {}
        for raw, c in zip(given, numbers, strict=True):
            if raw.dtype.kind in "mMO":
                attrs |= {f"{c.name}_{key}": value for key, value in c.attrs.items()}
        full = [c.broadcast_like(obj, exclude=kept) for c in xr.broadcast(*numbers)]
        for name, c in zip((c.name for c in given), full, strict=True):
            if more := [d for d in along if c.sizes[d] != obj.sizes[d]]:
                raise ValueError(
                    f"the coordinate {name!r} has labels along {more[0]!r} that the data lack; .sel them with those of "
                    f"the data, or .drop_vars({more[0]!r}) pairs by position"
                )
        return cls(full, along, kept, attrs)

    def check(self, p0: Mapping[Any, Any], bounds: Mapping[Any, Any]) -> None:
        """Raise for start values or bounds with dims that cells do not have."""
        pairs = [(f"Initial guess for '{n}'", v) for n, v in p0.items()]
        for n, pair in bounds.items():
            try:
                low, high = pair
            except (TypeError, ValueError):
                raise ValueError(f"bounds for '{n}' must be a pair, (lower, upper), got {pair!r}") from None
            pairs += [(f"Lower bound for '{n}'", low), (f"Upper bound for '{n}'", high)]
        for what, value in pairs:
            unexpected = {*value.dims} - {*self.kept} if isinstance(value, xr.DataArray) else ()
            if unexpected:
                raise ValueError(
                    f"{what} has unexpected dimensions {tuple(unexpected)}. It should only have dimensions that are in "
                    f"data dimensions {self.kept}."
                )


def _several(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, xr.DataArray)) or not isinstance(given, Iterable) else list(given)


def _apart(obj: Any, coords: Any, reduce_dims: Any) -> tuple[Any, Any, Any]:
    """Coordinates of the data that a transform differentiates, beside the data, as arrays of their own."""
    there = [n for n, v in obj.coords.items() if isinstance(v.variable._data, PositionalArray)]
    if not there:
        return obj, coords, reduce_dims
    found = [_coordinate(obj, c) for c in _several(coords)]
    along = [d for d in obj.dims if d in _several(reduce_dims or ()) or any(c.equals(obj[d]) for c in found)]
    moving = [n for n in there if not set(obj.coords[n].dims).isdisjoint(along)]
    return obj.drop_vars(moving), [c.drop_vars(moving, errors="ignore") for c in found], along


def _coordinate(obj: Any, c: Any) -> xr.DataArray:
    if isinstance(c, xr.DataArray):
        return c
    if not isinstance(c, str):
        raise TypeError(f"coords: give names or DataArrays, got {type(c).__name__} {c!r}")
    return coordinate(obj, c)


def _fit(
    plan: Plan, da: xr.DataArray, series: Series, start: Any, limits: Any, errors: str
) -> tuple[dict[str, xr.DataArray], xr.DataArray]:
    """The results of one variable by name, and where it failed."""
    if lacks := [d for d in plan.along if d not in da.dims]:
        raise ValueError(
            f"{da.name!r} has the dims {da.dims}, but the fit is over {plan.along}: it lacks {lacks}; leave it out "
            f"with .drop_vars({da.name!r}), or give it these with .expand_dims"
        )
    if da.chunks is not None:
        da = da.chunk(dict.fromkeys(plan.along, -1))
    count, sigma = len(series.names), series.options.sigma_over(da, plan.along, plan.kept)
    arguments = [*plan.coords, *start.values(), *(b[0] for b in limits.values()), *(b[1] for b in limits.values())]
    cores = [plan.along] * (1 + len(plan.coords)) + [[]] * (3 * count)
    if sigma is not None:
        arguments.append(sigma)
        cores.append(plan.along)
    lazy = da.chunks is not None
    block = functools.partial(
        _fit_block, series=series, coords=len(plan.coords), along=len(plan.along), raising=lazy and errors == "raise",
        weighted=sigma is not None,
    )  # fmt: skip
    out = xr.apply_ufunc(
        block, da, *arguments, input_core_dims=cores, output_core_dims=[["param"], ["cov_i", "cov_j"], *[[]] * 5],
        exclude_dims=set(plan.along), dask="parallelized", output_dtypes=[float, float, int, int, float, int, bool],
        dask_gufunc_kwargs={"output_sizes": dict.fromkeys(("param", "cov_i", "cov_j"), count)},
    )  # fmt: skip
    for v, attrs in zip(out[2:6], EXTRAS.values(), strict=True):
        v.attrs = dict(attrs)
    return dict(zip(("curvefit_coefficients", "curvefit_covariance", *EXTRAS), out[:6], strict=True)), out[6]


def _units(plan: Plan, da: xr.DataArray, series: Series) -> list[str]:
    """Units of the parameters; none if all are unknown."""
    known = [c.attrs.get("units") for c in plan.coords]
    one = [c.isel(dict.fromkeys((d for d in c.dims if d not in plan.along), 0)) for c in plan.coords]
    if "units" not in da.attrs or not all(c.size for c in one):
        return []
    units = units_of(series, [c.transpose(*plan.along).values for c in one], str(da.attrs["units"]), known)
    return units if any(units) else []


def _fit_block(
    y: Any, *args: Any, series: Series, coords: int, along: int, raising: bool, weighted: bool
) -> tuple[Any, ...]:
    """Fit a block of arrays whose last ``along`` axes are those of the fit."""
    count = len(series.names)
    several = [y, *args[:coords]]
    sigma = args[-1] if weighted else None
    numbers = args[coords : coords + 3 * count]
    wide = [a.shape[: a.ndim - along] for a in (*several, *([sigma] if weighted else []))]
    cells = np.broadcast_shapes(*wide, *(np.shape(v) for v in numbers))
    core = y.shape[y.ndim - along :]

    def flat(a: Any) -> Any:
        """(cell, observation), or (1, observation) for what all cells share."""
        own = a.shape[: a.ndim - along]
        if all(n == 1 for n in own) and a is not y:
            return a.reshape(1, math.prod(core))
        return np.broadcast_to(a, (*cells, *core)).reshape(math.prod(cells), math.prod(core))

    rows = [np.broadcast_to(np.asarray(v, dtype=float), cells).reshape(-1) for v in numbers]
    start, lower, upper = (np.reshape(rows[i * count : (i + 1) * count], (count, math.prod(cells))) for i in range(3))
    given = None if sigma is None else flat(sigma)
    ends = fit_series(series, [flat(c) for c in several[1:]], flat(y), start, lower, upper, given)
    if raising and ends.failed.any():
        raise failure(series, ends.status, ends.failed, None, " of a chunk")
    ends = ends.without_failures()
    shapes = [(count,), (count, count), (), (), (), (), ()]
    return tuple(np.reshape(v, (*cells, *s)) for v, s in zip(ends, shapes, strict=True))


# ------------------------------------------------------------------------------------------------ failures


def failure(series: Series, status: Any, failed: Any, where: xr.DataArray | None, name: str) -> Exception:
    """An error that says why fits failed, how many, and where."""
    reasons = {
        Status.MAX_ITERATIONS: f"Number of calls to function has reached {series.options.evaluations}",
        Status.NO_DATA: "There are fewer observations than parameters",
        Status.NOT_FINITE: "func or its derivatives are not finite at the start values, or these or bounds are NaN",
    }
    if not series.skipna:
        reasons[Status.NOT_FINITE] = "array must not contain infs or NaNs (skipna=True leaves them out)"
    parts = []
    for reason, text in reasons.items():
        at = np.flatnonzero(failed & (status == reason))
        if at.size:
            cells = "" if where is None or not where.dims else f" ({places(where, at)})"
            parts.append(f"{text}: {at.size}{cells}")
    kind = ValueError if not series.skipna and (status[failed] == Status.NOT_FINITE).all() else RuntimeError
    return kind(
        f"Optimal parameters not found in {int(np.sum(failed))} of {status.size} fits{name}. " + "; ".join(parts)
        + '. errors="ignore" gives NaN there, and curvefit_status says why'
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ parameters


def parameter_names(func: Callable[..., Any], param_names: Sequence[str] | None) -> tuple[list[str], dict[str, Any]]:
    """Names of the parameters, and the defaults that the signature gives."""
    try:
        arguments: Mapping[str, inspect.Parameter] = inspect.signature(func).parameters
    except ValueError as err:
        arguments = {}
        if not param_names:
            raise ValueError("Unable to inspect `func` signature, and `param_names` was not provided.") from err
    if param_names:
        names = [param_names] if isinstance(param_names, str) else list(param_names)
    else:
        names = [n for n, p in arguments.items() if p.kind is not p.KEYWORD_ONLY or p.default is p.empty][1:]
        if any(p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in arguments.values()):
            raise ValueError("`param_names` must be provided because `func` takes variable length arguments.")
    if not names:
        raise ValueError("`func` has no parameter to fit: it must be func(x, *params)")
    if twice := [n for n in names if names.count(n) > 1]:
        raise ValueError(f"param_names: {twice[0]!r} is named {names.count(twice[0])} times")
    given = {n: arguments[n].default for n in names if n in arguments}
    return names, {n: v for n, v in given.items() if v is not inspect.Parameter.empty}


def _require_known(names: Sequence[str], **by_name: Mapping[str, Any]) -> None:
    """Raise for a name that is none of a parameter: what is misspelt would have no effect."""
    for what, given in by_name.items():
        if other := [n for n in given if n not in names]:
            raise ValueError(f"{what}: no parameter {other[0]!r}; the parameters are {tuple(names)}")


def start_and_limits(
    names: Sequence[str], p0: Mapping[str, Any], bounds: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, tuple[Any, Any]]]:
    """Start values and bounds: as given, else from the signature, else 1; brought between the bounds as SciPy does."""
    start, limits = {}, {}
    for n in names:
        value, (low, high) = defaults.get(n, 1), bounds.get(n, (None, None))
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        if n in bounds:
            value = xr.where((value < low) | (value > high), _between(low, high), value)
        start[n], limits[n] = p0.get(n, value), (low, high)
    return start, limits


def _between(low: Any, high: Any) -> Any:
    """A value between two bounds, as SciPy chooses it."""
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    two = xr.where(has_high, 0.5 * (low + high), low + 1)
    return xr.where(has_low, two, xr.where(has_high, high - 1, 0))
