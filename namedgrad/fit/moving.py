"""``curvefit`` of data that are differentiated: coefficients that move with what they were fitted to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.scipy_options import Options
from namedgrad.ops import FUNCTIONS

OBSERVATION = "observation"
CONSTANT = ("status", "iterations", "dof", "units")


class Curve(NamedTuple):
    """What is fitted: a function of coordinates along dims, within limits of its parameters."""

    func: Callable[..., Any]
    coords: Sequence[xr.DataArray]
    along: Sequence[Hashable]
    limits: Mapping[str, Any]
    options: Options


def moving(plain: xr.Dataset, variables: Mapping[str, xr.DataArray], curve: Curve) -> xr.Dataset:
    """The Dataset of a fit to the values, with coefficients that are functions of what is differentiated.

    Their values stay those of the fit; their derivatives are those of :func:`~namedgrad.least_squares` at its solution.
    Only numbers without derivative are left beside them: who asks for the covariance gets an error, not a constant.
    """
    out = plain.copy()
    for prefix, da in variables.items():
        found = plain[f"{prefix}curvefit_coefficients"]
        params = _solution(found, da, curve)
        arrays = [params[n].expand_dims("param", -1) for n in found.param.values]
        free = xr.concat(arrays, dim="param").transpose(*found.dims).assign_coords(param=found.param)
        change = free - FUNCTIONS["stop_gradient"](free)
        values = (found.fillna(0) + change).where(found.notnull())
        out[f"{prefix}curvefit_coefficients"] = values.assign_attrs(found.attrs)
    kept = [n for n in out if str(n).endswith(("coefficients", *CONSTANT))]
    return out[kept]


def _solution(found: xr.DataArray, da: xr.DataArray, curve: Curve) -> xr.Dataset:
    """The parameters of one variable by ``least_squares``, which starts where the fit has ended."""
    options, names = curve.options, [str(n) for n in found.param.values]
    lines = [d for d in curve.along if d in da.dims]
    cells = [d for d in found.dims if d != "param"]
    root = np.linalg.cholesky(np.asarray(options.sigma)) if options.correlated else None

    def line(x: xr.DataArray) -> Any:
        return np.ravel(x.transpose(*lines).data)

    def residual(p: Any, *data: xr.DataArray) -> xr.DataArray:
        *xs, y = (line(x) for x in data)
        r = curve.func(np.stack(xs) if len(xs) > 1 else xs[0], *(p[n].data for n in names)) - y
        return xr.DataArray(r if root is None else np.linalg.solve(root, r), dims=OBSERVATION)

    sigma = options.sigma_over(da, curve.along, cells)
    if sigma is not None:
        sigma = sigma.transpose(..., *lines).stack({OBSERVATION: lines}, create_index=False)
    start = {n: found.sel(param=n, drop=True) for n in names}
    bounds = {n: pair for n, pair in curve.limits.items() if not _endless(pair)}
    data = [c.broadcast_like(da, exclude=cells) for c in curve.coords]
    fit = least_squares(residual, start, *data, da, over=cells, bounds=bounds or None, sigma=sigma, **options.engine)
    return fit.params


def _endless(pair: Any) -> bool:
    return all(np.ndim(v) == 0 and not isinstance(v, xr.DataArray) and np.isinf(v) for v in pair)
