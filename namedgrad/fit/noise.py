"""Whether what a fit has left of the observations is anything but noise: then there is nothing more to be found.

Residuals in the order of their coordinate that follow each other without any relation cannot come from a curve that
goes elsewhere.  One test is that of Ljung and Box (1978), *On a measure of lack of fit in time series models*, another
one whether slow oscillations hold more of them than their share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtri

from namedgrad.fit.parameters import Matrix
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.surface import Surface
from namedgrad.transforms.tape import quiet

LAGS, SLOW = 10, 8  # oscillations, of half a period up to so many halves
FEWEST, FEW = 8 * LAGS, 3 * LAGS  # observations: with fewer much could hide; some, of what has been searched for
UNLIKELY = 1e-4  # probability that noise fails
ELSEWHERE = 0.7  # of the variance of a model
ROUNDING = 1e-24  # of the square of a model: what varies by no more is constant
SAMPLES, APART = 128, 2.0  # curves that tell whether any may be taken for noise, and decades that parameters differ by


def looks_like_noise(
    problem: Residuals, matrix: Matrix, fewest: int = FEWEST, surface: Surface | None = None
) -> np.ndarray[Any, Any]:
    """The cells (cell,) in which nothing but noise is left at these parameters; none if that cannot be told.

    Nor on a device: residuals stay there. It cannot be told of models that make curves like noise themselves.
    """
    surface, out = surface or Surface(problem), np.zeros(problem.cells.count, bool)
    if problem.loss is not None or not problem.backend.may_branch or not _in_order(surface):
        return out
    good = np.isfinite(matrix).all(axis=0) & (problem.counts >= fewest) & ~problem.unusable
    for index in batches(problem.everywhere[good], problem.size):
        with quiet():
            table = problem.counted(problem.residual(matrix[:, index], index), index)
            r, count = table.to_numpy().reshape(len(index), -1), problem.counts[index]
            out[index] = _is_noise(r, count, int(problem.free.sum()))
    return out & (not (out.any() and _imitates(surface, matrix[:, out])))


def _is_noise(r: np.ndarray[Any, Any], count: Any, taken: int) -> np.ndarray[Any, Any]:
    """Whether rows of residuals, out of which about ``taken`` slow oscillations have been taken, look like noise."""
    limits = [float(chdtri(n, UNLIKELY)) for n in (LAGS, max(1, SLOW - taken))]
    # of the residuals, and of their signs, among which no single large one stands out
    related = np.maximum(_relation(r, count), _relation(np.sign(r), count))
    return np.asarray((related < limits[0]) & (_slow(r, count) < limits[1]))


def _imitates(surface: Surface, matrix: Matrix) -> bool:
    """Whether a curve of the model looks like noise at parameters anything like these, whatever the order of cells.

    Chirps do, and waves where the distances between observations differ.
    """
    rng, problem = np.random.default_rng(0), surface.problem
    points = np.stack([np.quantile(row, rng.random(SAMPLES), method="inverted_cdf") for row in matrix])
    points[problem.free] *= 10 ** rng.uniform(-APART, APART, (int(problem.free.sum()), SAMPLES))
    with np.errstate(all="ignore"):
        curves = surface.values(points)
        away = curves - curves.mean(axis=1, keepdims=True)
        seen = np.vecdot(away, away) > ROUNDING**0.5 * np.vecdot(curves, curves)  # not constant
        like = _is_noise(away, away.shape[1], 0) & seen
    told = elsewhere(surface, points[:, like], surface.x, problem.size) <= ELSEWHERE
    return bool(told.any())


def swings(problem: Residuals, matrix: Matrix, surface: Surface | None = None) -> np.ndarray[Any, Any]:
    """The cells (cell,) whose model goes elsewhere between observations: an oscillation too fast for them to tell."""
    surface, out = surface or Surface(problem), np.zeros(problem.cells.count, bool)
    some = problem.everywhere[np.isfinite(matrix).all(axis=0)]
    if surface.shared:
        out[some] = elsewhere(surface, matrix[:, some], surface.x, problem.size) > ELSEWHERE
    return out


def elsewhere(surface: Surface, points: Matrix, x: Sequence[Any], size: int) -> np.ndarray[Any, Any]:
    """How far models (parameter, point) go from straight lines between neighbouring coordinates.

    In parts of their variance; 0 if the observations do not follow each other. That of a frequency which is equal to a
    lower one at all observations is well above 1; that of one they can tell is below a half. It is above ``ELSEWHERE``
    also if they go farther than their steps from one coordinate to the next: what only rises or falls in between does
    not, nor does it depend on what slower factors and terms add to the variance.
    """
    dims, out = [names for names in surface.kept if names], np.zeros(points.shape[1])
    if not dims or len(set(dims)) > 1 or len(dims[0]) > 1:
        return out
    order = np.argsort(next(v for v in x if v.ndim))
    if not surface.movable or surface.problem.per_cell != len(order):
        return out
    part = np.random.default_rng(0).uniform(size=len(order) - 1)  # no frequency is a multiple of all of these steps
    between = [v.copy() for v in x]
    for v in between:
        if v.ndim:
            v[order[:-1]] += part * np.diff(v[order])
    for at in batches(np.arange(len(out)), size):
        with np.errstate(all="ignore"):
            on, (step, whole) = _steps(surface, points[:, at], (x, between), order)
            away = step - part * whole
            lost = np.isnan(away).all(axis=0)  # by a shift
            away[:, lost] = whole[:, lost] = 0.0
            there = np.isfinite(on).any(axis=0)
            on = on[:, there | ~there.any()]
            least = ROUNDING * np.vecdot(on, on)  # a constant varies by its rounding
            varies = np.minimum(on.var(axis=1) * on.shape[1], np.vecdot(whole, whole) / ELSEWHERE) + least
            out[at] = np.vecdot(away, away) / varies
    return out


def _steps(surface: Surface, points: Matrix, x: Sequence[Any], order: Any) -> tuple[Any, tuple[Any, Any]]:
    """Models in the order of their coordinate, and how far they go from there to between observations and to the next.

    Where residuals are no differences, as those of angles, these are residuals whose observations are the model itself.
    """
    on = surface.values(points, x[0])
    if not surface.differs:
        off = surface.values(points, x[1])
        return on[:, order], (off[:, order[:-1]] - on[:, order[:-1]], np.diff(on[:, order]))
    before = on.copy()
    before[:, order[1:]] = on[:, order[:-1]]
    here, off, then = (surface.values(points, v, y) for v, y in ((x[0], on), (x[1], on), (x[0], before)))
    return on[:, order], (off[:, order[:-1]] - here[:, order[:-1]], then[:, order[1:]] - here[:, order[:-1]])


def _slow(r: np.ndarray[Any, Any], count: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The squares of slow oscillations in rows, in parts of the mean square."""
    n = r.shape[1]
    waves = np.sqrt(2 / n) * np.cos(np.pi / n * np.outer(np.arange(n) + 0.5, np.arange(1, SLOW + 1)))
    return np.asarray(np.sum((r @ waves) ** 2, axis=1) * count / np.vecdot(r, r))


def _relation(r: np.ndarray[Any, Any], count: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The statistic of Ljung and Box per row, distributed as chi squared; NaN where there is nothing, or too much."""
    power = np.vecdot(r, r)
    sums = sum(np.vecdot(r[:, k:], r[:, :-k]) ** 2 / (count - k) for k in range(1, LAGS + 1))
    return np.asarray(count * (count + 2) * sums / power**2)


def _in_order(surface: Surface) -> bool:
    """Whether the observations are in the order of their coordinates, in all cells."""
    dims = [names for names in surface.kept if names]
    several = len(set(dims)) < len(dims) or any(len(names) > 1 for names in dims)
    if not surface.shared or several or not dims:
        return False
    steps = [np.diff(x.ravel()) for x in surface.x]
    return all((s >= 0).all() or (s <= 0).all() for s in steps)
