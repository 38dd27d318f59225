"""``curvefit`` of data that are differentiated: coefficients that move with what they were fitted to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.scipy_options import Options
from namedgrad.ops import FUNCTIONS
from namedgrad.transforms.grad import jvp
from namedgrad.transforms.vectorize import devectorize, vectorize

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

    Their values stay those of the fit; their derivatives are those of :func:`~namedgrad.least_squares` at its solution,
    and of what the covariance and the sum of squares are made of there.  With a robust loss, priors or fixed parameters
    the latter are left out: who asks for them gets an error, not a constant.
    """
    out, kept = plain.copy(), [n for n in plain if str(n).endswith(CONSTANT)]
    for prefix, da in variables.items():
        names = [f"{prefix}curvefit_{n}" for n in ("coefficients", "covariance", "chi2")]
        several = _solution(plain[names[0]], plain[f"{prefix}curvefit_dof"], da, curve)
        for name, free in zip(names, several, strict=False):
            found = plain[name]
            free = free.transpose(*found.dims).assign_coords(found.coords)  # noqa: PLW2901
            change = free - FUNCTIONS["stop_gradient"](free)
            good = np.isfinite(found)
            moved = (found.where(good, 0.0) + change.where(good, 0.0)).where(good, found)
            out[name] = moved.assign_attrs(found.attrs).variable  # all else it has already
            kept.append(name)
    return out[[n for n in plain if n in kept]]


def _solution(found: xr.DataArray, dof: xr.DataArray, da: xr.DataArray, curve: Curve) -> list[xr.DataArray]:
    """The parameters of one variable by ``least_squares``, which starts where the fit has ended; and what follows."""
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
    coefficients = xr.concat([fit.params[n].expand_dims("param", -1) for n in names], dim="param")
    if {*options.engine} & {"loss", "prior", "fixed"}:
        return [coefficients]
    args = vectorize(([fit.params[n] for n in names], [*data, da], 1.0 if sigma is None else sigma, dof), *cells)
    return [coefficients, *devectorize(_spread(residual, names, *args, absolute=options.absolute), *cells)]


def _spread(
    residual: Callable[..., Any], names: Sequence[str], params: list[Any], data: list[Any], sigma: Any, dof: Any, *,
    absolute: bool,
) -> tuple[xr.DataArray, xr.DataArray]:  # fmt: skip
    """Covariance and sum of squares at the solution, in every cell."""
    constant = FUNCTIONS["stop_gradient"]

    def weighted(*p: Any) -> xr.DataArray:
        r: xr.DataArray = residual(dict(zip(names, p, strict=True)), *data) / sigma
        return r.where(np.isfinite(constant(r)), 0.0)

    tangents = [[xr.full_like(x, float(i == k)) for i, x in enumerate(params)] for k in range(len(params))]
    pairs = [jvp(weighted, tuple(params), tuple(t)) for t in tangents]
    r, columns = pairs[0][0], [t for _, t in pairs]
    normal = np.stack([np.stack([(a * b).sum().data for a in columns]) for b in columns])
    scale = 1 / np.sqrt(np.stack([constant((a * a).sum()).data for a in columns]))
    inverse = np.linalg.inv(normal * scale * scale[:, None]) * scale * scale[:, None]
    chi2 = (r * r).sum()
    covariance = xr.DataArray(inverse, dims=("cov_i", "cov_j"))
    if not absolute:
        covariance = (covariance * chi2 / dof.where(dof > 0, 1)).where(dof > 0, np.inf)
    return covariance, chi2


def _endless(pair: Any) -> bool:
    return all(np.ndim(v) == 0 and not isinstance(v, xr.DataArray) and np.isinf(v) for v in pair)
