"""Signs of start values: where they make no difference, as that of a width, they are positive."""

from __future__ import annotations

import itertools

import numpy as np

from namedgrad.fit.cells import Index
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.small import Array

SAME, TOGETHER = 1e-9, 3  # differences that are rounding; parameters whose signs may belong together
FIRST = 16  # cells that tell whether a model depends on a sign


def positive(problem: Residuals, missing: list[int], x: Array) -> Array:
    """Start values without the signs, of one parameter or of a few together, that make no difference to the fit."""
    for rows in (list(c) for n in range(1, TOGETHER + 1) for c in itertools.combinations(missing, n)):
        index = np.flatnonzero(((x[rows] < 0) & (-x[rows] <= problem.upper[rows])).all(axis=0))
        if index.size and _turned(problem, rows, x, index[:FIRST]):
            for some in batches(index[FIRST:], problem.size):
                _turned(problem, rows, x, some)
    return x


def _turned(problem: Residuals, rows: list[int], x: Array, index: Index) -> bool:
    """Turn the signs of some parameters in cells where that makes no difference; and whether there are any."""
    before, after = x[:, index], x[:, index]
    after[rows] *= -1
    now, then = (problem.evaluate(v[problem.free], index).cost for v in (before, after))
    same = np.abs(then - now) <= SAME * now
    x[:, index] = np.where(same, after, before)
    return bool(same.any())
