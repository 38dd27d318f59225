"""Curves that cannot be run on many cells at once: those that branch on a parameter or call compiled code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from namedgrad.fit.small import Array
from namedgrad.fit.status import Status


class Outcome(NamedTuple):
    """One fit."""

    params: Any
    covariance: Any
    status: int
    iterations: int
    chi2: float
    dof: int


def fit_one(
    func: Callable[..., Any], x: Array, y: Array, sigma: Array | None, start: Array, lower: Array, upper: Array,
    options: dict[str, Any],
) -> Outcome:  # fmt: skip
    """Fit one series by :func:`scipy.optimize.curve_fit`, with differences for derivatives."""
    count, there, start = len(start), np.isfinite(y), np.clip(start, lower, upper)
    if sigma is not None:
        sigma = sigma[there] if sigma.ndim == 1 else sigma[np.ix_(there, there)]
    dof, nothing = int(there.sum()) - count, np.full((count, count), np.nan)
    if dof < 0:
        return Outcome(nothing[0], nothing, Status.NO_DATA, 0, np.nan, 0)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)
            p, cov, told, *_ = curve_fit(
                func, x[..., there], y[there], start, sigma, bounds=(lower, upper), full_output=True, **options
            )
    except RuntimeError:
        return Outcome(nothing[0], nothing, Status.MAX_ITERATIONS, 0, np.nan, dof)
    except ValueError:  # of residuals that are not finite
        return Outcome(nothing[0], nothing, Status.NOT_FINITE, 0, np.nan, dof)
    status = Status.CONVERGED
    if not np.isfinite(cov).all():
        status = Status.SINGULAR
    elif ((p <= lower) | (p >= upper)).any():
        status = Status.BOUND
    return Outcome(p, cov, status, told["nfev"], float(np.sum(told["fvec"] ** 2)), dof)
