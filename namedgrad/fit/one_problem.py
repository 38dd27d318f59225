"""A single problem by SciPy's L-BFGS-B, whose bookkeeping does not slow down with many parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.fit.batch import Found
from namedgrad.fit.descent import LBFGS, MEMORY, Slope
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status

SMALLEST = 4 * np.finfo(float).eps
LARGEST = 1e300  # in place of a loss that is not finite: SciPy's line search steps back from it


def lbfgsb(
    evaluate: Callable[[Array], Slope], start: Array, lower: Array, upper: Array, *, tol: float, max_iterations: int,
    watch: Callable[[Array, Array], bool],
) -> Found:  # fmt: skip
    """Minimise from ``start`` (row,); loss and parameters are measured by what they are at the start."""
    import scipy.optimize

    first = evaluate(start[:, None])
    if not (np.isfinite(first.cost).all() and np.isfinite(first.gradient).all()):
        return _found(Status.NOT_FINITE, np.full_like(start, np.nan), np.nan, 0)
    size = np.where(start != 0, np.abs(start), 1.0)
    unit = max(float(np.abs(first.cost[0])), float(np.abs(first.gradient[:, 0] * size).max(initial=0.0)), 1e-300)
    best: list[Any] = [start, first.cost[0], first.gradient[:, 0]]
    calls = 0

    def scaled(u: Array) -> tuple[float, Array]:
        nonlocal calls
        calls += 1
        x = np.clip(u * size, lower, upper)
        at = evaluate(x[:, None])
        cost, gradient = at.cost[0], at.gradient[:, 0]
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return LARGEST, np.zeros_like(u)
        if cost <= best[1]:
            best[:] = x, cost, gradient
        return cost / unit, gradient * size / unit

    def note(u: Array) -> None:
        if watch(np.clip(u * size, lower, upper)[:, None], np.array([best[1]])):
            raise StopIteration

    out = scipy.optimize.minimize(
        scaled, start / size, jac=True, method="L-BFGS-B", callback=note,
        bounds=scipy.optimize.Bounds(lower / size, upper / size),
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations + 20, "maxcor": MEMORY,
                 "ftol": max(tol**2, SMALLEST), "gtol": tol * 1e-2},
    )  # fmt: skip
    x, cost, gradient = best
    state = LBFGS.enter(np.zeros(1, int), x[:, None], lower[:, None], upper[:, None])
    state.cost, state.gradient = np.array([cost]), gradient[:, None]
    slope = np.abs(np.where(state.free(), state.gradient, 0.0) * state.size())
    flat = bool((slope <= np.sqrt(tol) * max(unit, abs(cost))).all())
    converged = out.status == 0 or (out.status == 2 and flat)  # 2: rounding is in the way of the line search
    status = Status.CONVERGED if converged else Status.MAX_ITERATIONS if out.status in (1, 99) else Status.STALLED
    if converged and ((x <= lower) | (x >= upper)).any():
        status = Status.BOUND
    return _found(status, x, cost, int(out.nit))


def _found(status: Status, x: Array, cost: float, iterations: int) -> Found:
    arrays = {"x": x[:, None], "cost": np.array([cost]), "iterations": np.array([float(iterations)])}
    return Found(np.array([int(status)]), arrays)
