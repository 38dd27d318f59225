"""Several fits of the same cells, from one point each, and which of them are the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from namedgrad.fit.batch import Flags, Found, solve
from namedgrad.fit.cells import Index
from namedgrad.fit.marquardt import Linear, Marquardt
from namedgrad.fit.small import Array
from namedgrad.fit.threads import shares

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

EQUAL = 1e-4  # relative differences of the cost that do not count
NOTHING = 1e-16  # of the cost without a model: as good as none


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


def cheapest(cost: Array, count: int, nothing: Array, negative: Array | None = None) -> Index:
    """The rows of the trials (trial, cell) that cost least, in their order, which decides between equal ones, too.

    Several may have led to one minimum, or to several that differ by the order of like terms: then rounding must not
    choose. Among the best those come first with the fewest ``negative`` parameters.
    """
    above = excess(cost, nothing)
    order = above if negative is None else np.where(above == 0, negative, np.inf)
    return np.sort(order.argsort(axis=0, kind="stable")[:count], axis=0)


def excess(cost: Array, nothing: Array) -> Array:
    """By how many differences that count costs (trial, cell), or ``nothing``, are above the least of a cell."""
    known = np.fmax(np.where(np.isfinite(cost), cost, np.inf), np.fmax(nothing, np.finfo(float).tiny))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.floor(np.log(known / known.min(axis=0)) / math.log1p(EQUAL)))
