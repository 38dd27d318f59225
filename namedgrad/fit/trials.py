"""Several fits of the same cells, from one point each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from namedgrad.fit.batch import Flags, Found, solve
from namedgrad.fit.cells import Index
from namedgrad.fit.marquardt import Linear, Marquardt
from namedgrad.fit.small import Array
from namedgrad.fit.threads import shares

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals


def descend(
    problem: Residuals, free: Array, at: Index, linear: Linear, *, tol: float, max_iterations: int,
    held: Flags | None = None,
) -> Found:  # fmt: skip
    """Where Levenberg-Marquardt leads to from points (free row, trial), each of a cell ``at``; on the host.

    Parameters may be ``held`` (free row, trial).
    """
    low, high = (m[problem.free][:, at] for m in (problem.lower, problem.upper))
    if held is not None:
        low, high = np.where(held, free, low), np.where(held, free, high)
    trials, workers = np.arange(len(at)), problem.workers(at)

    def enter(index: Index) -> Marquardt:
        return Marquardt.enter(index, free[:, index], low[:, index], high[:, index], linear, problem.prior(at[index]))

    return solve(
        lambda trial, index: problem.evaluate(trial, at[index]), enter, trials, len(at),
        keep=("x", "cost", "normal", "iterations"), size=shares(trials, problem.most, workers), tol=tol,
        max_iterations=max_iterations, workers=workers,
    )  # fmt: skip
