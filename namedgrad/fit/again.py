"""Second attempts, of the cells in which a fit has failed.

Derivatives may be infinite where it starts, as that of a square root at 0: then it starts again next to that.

Or it has ended where the data do not determine all parameters, which need be no minimum. Where a parameter is what it
is for no reason but that its slope vanishes there, as the skewness of a peak at 0, the fit goes on from either side of
that (Azzalini 1985, *A class of distributions which includes the normal ones*, has such a saddle).  And the best linear
parameters of a bad start may lead the others astray, such as the size of a peak that meets none: the fit starts again
with those that were given, and all are damped.

Or most residuals are outliers to a robust loss where it starts: then it starts again from where a softer one leads to
(Blake and Zisserman 1987, *Visual reconstruction*, on graduated non-convexity).

Or a slope is nothing but rounding there, as that in the angle of a peak whose widths start equal: its parameter may go
anywhere, so the fit starts again from where the others lead without it.

What costs less is taken.  Each attempt may be as long as the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.batch import Flags, Found
from namedgrad.fit.cells import Index
from namedgrad.fit.determined import inverses
from namedgrad.fit.marquardt import Linear
from namedgrad.fit.masks import GOLDEN
from namedgrad.fit.places import columns, here, on_device_of
from namedgrad.fit.small import Array, lengths
from namedgrad.fit.status import Status
from namedgrad.fit.trials import descend

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

NEXT = 1.5e-8  # of a start value, or the like of 0: that far away SciPy looks for a derivative
SMALL = 1e-8  # pivots of a matrix whose diagonal is 1: others are not nearly singular
NOTHING = 1e-20  # of the cost at the start
BETTER = 1e-9  # relative differences of the cost that count
ROUNDING = 1e-26  # of the squares that a model is made of


class Attempt(Protocol):
    """A fit from points (free row, trial) of some cells, in which some rows are linear and some of each may be held."""

    def __call__(self, free: Array, at: Index, linear: Linear, held: Flags | None = None) -> Found:
        """Where it leads to."""


def try_again(problem: Residuals, found: Found, cells: Index, *, tol: float, max_iterations: int) -> None:
    """Put what is better into what was found in some cells."""

    def attempt(free: Array, at: Index, linear: Linear, held: Flags | None = None) -> Found:
        return descend(problem, free, at, linear, tol=tol, max_iterations=max_iterations, held=held)

    failed = cells[found.status[cells] == Status.NOT_FINITE]
    if failed.size:
        x = _next_to(problem, failed)
        _take(found, failed, attempt(x, failed, problem.linearity))
    _without_rounding(problem, found, cells, attempt)
    if problem.loss and problem.loss.softer:
        done = np.isin(found.status[cells], (Status.CONVERGED, Status.BOUND)) & (not problem.loss.is_bounded)
        _from_softer(problem, found, cells[~done], attempt)
    ended = cells[np.isin(found.status[cells], (Status.CONVERGED, Status.BOUND, Status.STALLED))]
    lost = _undetermined(problem, found, ended[found.arrays["cost"][ended] > _next_to_nothing(problem, ended)])
    if lost.size:
        _elsewhere(problem, found, lost, attempt)


def _without_rounding(problem: Residuals, found: Found, cells: Index, attempt: Attempt) -> None:
    """Where a fit leads to from where it does with those parameters held whose slopes are rounding at the start."""
    point = problem.first.point
    if point is None:
        return
    squares = columns(small.diagonal(point.normal), cells)
    blind = _are_rounding(squares, columns(problem.first.start, cells)) | ~np.isfinite(squares)
    some = cells[here(blind.any(axis=0))]
    if not some.size:
        return
    start = here(columns(problem.first.start, some))
    squares = here(small.diagonal(problem.evaluate(start, some).normal))  # also where coordinates are missing
    held = _are_rounding(squares, start)
    blind = held.any(axis=0)
    if blind.any():
        way = attempt(start[:, blind], some[blind], problem.linearity, held[:, blind]).arrays["x"]
        _from(problem, found, some[blind], way, attempt)


def _are_rounding(squares: Array, x: Array) -> Any:
    """Whether columns of these squared lengths change the model no more than rounding does, but are not 0."""
    share = squares * np.where(x == 0, 1.0, x) ** 2
    return (squares > 0) & (share <= ROUNDING * share.sum(axis=0))


def _from(problem: Residuals, found: Found, index: Index, way: Array, attempt: Attempt) -> None:
    """Where a fit leads to from other points, as far as there are any."""
    known = np.isfinite(way).all(axis=0)
    if known.any():
        _take(found, index[known], attempt(way[:, known], index[known], problem.linearity))


def _from_softer(problem: Residuals, found: Found, index: Index, attempt: Attempt) -> None:
    """Where a fit leads to from where a softer loss does."""
    softer = problem.loss and problem.loss.softer
    if softer is None or not index.size:
        return
    with problem.with_loss(softer):
        way = attempt(here(columns(problem.first.start, index)), index, problem.linearity).arrays["x"]
    _from(problem, found, index, way, attempt)


def _next_to(problem: Residuals, index: Index) -> Array:
    """Start values with those moved a little in which derivatives are not finite, each by another part of itself."""
    x = here(columns(problem.first.start, index))
    bad = ~np.isfinite(here(problem.evaluate(x, index).gradient))
    step = NEXT * (0.5 + (GOLDEN * np.arange(len(x)) % 1)[:, None]) * np.where(x == 0, 1.0, np.abs(x))
    high = problem.upper[problem.free][:, index]
    return np.where(bad, np.where(x + step <= high, x + step, x - step), x)


def _next_to_nothing(problem: Residuals, index: Index) -> Array:
    """Costs that are rounding of those at the start; 0 where observations are missing."""
    first = problem.first.point
    cost = np.zeros(len(index)) if first is None else here(columns(first.cost, index))
    return np.asarray(NOTHING * np.where(np.isfinite(cost), cost, 0.0))


def _undetermined(problem: Residuals, found: Found, index: Index) -> Index:
    """Of some cells those in which the data do not determine all parameters."""
    x, normal = found.arrays["x"][:, index], columns(found.arrays["normal"], index)
    lost = problem.linearity.scaled_by_nothing(x, here(small.diagonal(normal)))
    scale = lengths(normal)
    pivots = small.diagonal(small.factored(normal / scale[:, None] / scale))
    maybe = np.flatnonzero(here(~(pivots >= SMALL).all(axis=0)))  # inverses take three times as long
    if maybe.size:
        some = columns(normal, maybe)
        lost[maybe] |= here(inverses(some, on_device_of(np.ones(maybe.size, bool), some))[1])
    return index[lost]


def _elsewhere(problem: Residuals, found: Found, index: Index, attempt: Attempt) -> None:
    """The best of where a fit leads to from either side of where it is, and from its start with nothing linear."""
    x, cost = found.arrays["x"][:, index], found.arrays["cost"][index]
    aside = _indifferent(here(columns(found.arrays["normal"], index))) * np.sqrt(2 * cost)
    low, high = (m[problem.free][:, index] for m in (problem.lower, problem.upper))
    points = [np.clip(x + sign * aside, low, high) for sign in (1, -1)]
    there = [here(problem.evaluate(p, index).cost) for p in points]
    matters = ~(np.abs(np.array(there) - cost) <= BETTER * cost).all(axis=0)  # otherwise nothing depends on them
    if problem.linearity.rows.size:
        points.append(here(columns(problem.first.start, index)))
    nothing = Linear.of(np.zeros_like(problem.free), {}, problem.free, problem.known)
    for p in points if matters.any() else ():
        _take(found, index[matters], attempt(p[:, matters], index[matters], nothing))


def _indifferent(normal: Array) -> Array:
    """The directions (row, cell) in which the model changes least, by 1 if each parameter alone were to change it."""
    scale = lengths(normal)
    scaled = np.moveaxis(normal / scale[:, None] / scale, -1, 0)
    return np.asarray(np.linalg.eigh(scaled)[1][..., 0].T / scale)


def _take(found: Found, index: Index, other: Found) -> None:
    """Put how some cells ended another time in the place of how they have ended, where that costs less."""
    cost, tried = other.arrays["cost"], other.arrays["iterations"]
    arrays = {**other.arrays, "iterations": np.nan_to_num(found.arrays["iterations"][index]) + tried}
    before = found.arrays["cost"][index]
    ended = (other.status != Status.MAX_ITERATIONS) | ~np.isfinite(before)
    better = np.isfinite(cost) & ended & ~(cost >= before * (1 - BETTER))
    at = index[better]
    found.status[at] = other.status[better]
    for n, kept in found.arrays.items():
        kept[..., on_device_of(at, kept)] = on_device_of(arrays[n][..., better], kept)
