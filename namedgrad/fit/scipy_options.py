"""The options of :func:`scipy.optimize.curve_fit`, as far as they say what is to be fitted."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.fit.losses import robust

METHODS = ("lm", "trf", "dogbox")
EVALUATIONS = 200  # per parameter and one, that MINPACK allows
FREE = 100  # per parameter, that SciPy's solvers with bounds allow
SOLVERS_OWN = {
    "jac", "check_finite", "nan_policy", "full_output", "epsfcn", "factor", "diag", "col_deriv", "x_scale", "diff_step",
    "tr_solver", "tr_options", "jac_sparsity", "verbose", "callback", "workers",
}  # fmt: skip


class Options(NamedTuple):
    """What is to be fitted.

    Attributes
    ----------
    given : as SciPy takes them
    sigma : standard deviations, or a covariance matrix
    absolute : whether sigma is more than relative
    engine : options of ``least_squares``
    evaluations : that were allowed, as an error calls them
    """

    given: dict[str, Any]
    sigma: Any
    absolute: bool
    engine: dict[str, Any]
    evaluations: str

    def sigma_over(self, da: xr.DataArray, along: Sequence[Hashable], kept: Sequence[Hashable]) -> xr.DataArray | None:
        """Standard deviations over the dims of a fit, and maybe of cells."""
        sigma, along = self.sigma, [d for d in along if d in da.dims]
        shape = tuple(da.sizes[d] for d in along)
        count = math.prod(shape)
        if sigma is None:
            return None
        if self.correlated:
            if np.shape(sigma) != (count, count):
                raise ValueError(
                    f"sigma has the shape {np.shape(sigma)}, but the covariance matrix of {count} observations along "
                    f"{along} has {(count, count)}; standard deviations that differ between fits are a DataArray"
                )
            return None
        if not isinstance(sigma, xr.DataArray):
            values = np.asarray(sigma, dtype=float)
            if values.ndim and values.size != count:
                raise ValueError(
                    f"sigma has {values.size} numbers, but there are {count} observations along {along}; a DataArray "
                    "may have any dims"
                )
            sigma = xr.DataArray(values.reshape(shape), dims=along) if values.ndim else xr.DataArray(values)
        if unknown := [d for d in sigma.dims if d not in da.dims]:
            raise ValueError(f"sigma has the dims {unknown}, which the data {tuple(da.dims)} lack")
        if bool((sigma <= 0).any()):
            raise ValueError("sigma must be positive; NaN leaves an observation out")
        return _selected(sigma, da, along).broadcast_like(da, exclude=kept)

    @property
    def correlated(self) -> bool:
        """Whether sigma is a covariance matrix."""
        return not isinstance(self.sigma, xr.DataArray) and np.ndim(self.sigma) == 2


def _selected(sigma: xr.DataArray, da: xr.DataArray, along: Sequence[Hashable]) -> xr.DataArray:
    """Those at the labels of the data, each of which must have one: what is not given would leave it out."""
    for d in along:
        theirs, own = da.indexes.get(d), sigma.indexes.get(d)
        if theirs is None or own is None or own.equals(theirs):
            continue
        if lacks := int((~theirs.isin(own)).sum()):
            raise ValueError(
                f"sigma has no value at {lacks} of the {len(theirs)} labels of the data along {d!r}; .reindex_like "
                f"makes it NaN there, which leaves observations out, .drop_vars({d!r}) pairs by position"
            )
        sigma = sigma.sel({d: theirs})
    return sigma


def as_options(kwargs: dict[str, Any], extra: Mapping[str, Any], count: int, *, bounded: bool) -> Options:
    """Sort keyword arguments; those that only steer SciPy's solvers are checked for their names alone."""
    given, rest = dict(kwargs), dict(kwargs)
    method = rest.pop("method", None)
    if method is not None and method not in METHODS:
        raise ValueError(f"`method` must be one of {METHODS}, got {method!r}")
    if method == "lm" and bounded:
        raise ValueError("Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead.")
    if rest.get("full_output"):
        raise TypeError("full_output: what SciPy says of a fit is in curvefit_status, curvefit_iterations and others")
    sigma, absolute = rest.pop("sigma", None), bool(rest.pop("absolute_sigma", False))
    engine: dict[str, Any] = {}
    loss, scale = rest.pop("loss", "linear"), rest.pop("f_scale", 1.0)
    robust(loss, scale)
    if loss != "linear":
        engine |= {"loss": loss, "loss_scale": scale}
    if tolerances := [t for t in (rest.pop(n, None) for n in ("ftol", "xtol", "gtol")) if t]:
        engine["tol"] = max(min(tolerances), 1e-15)
    most, name = rest.pop("max_nfev", None), "max_nfev"
    if most is None:
        most, name = rest.pop("maxfev", None), "maxfev"
    by_minpack = method == "lm" or (method is None and not bounded)
    if not most:
        most = EVALUATIONS * (count + 1) if by_minpack else FREE * count
    rest.pop("maxfev", None)
    engine["max_iterations"] = max(1, most // (count + 1) if by_minpack else most)  # MINPACK counts differences, too
    if unknown := [n for n in rest if n not in SOLVERS_OWN]:
        raise TypeError(f"kwargs: curve_fit() got an unexpected keyword argument {unknown[0]!r}")
    return Options(given, sigma, absolute, {**engine, **extra}, f"{name} = {most}")
