"""Levenberg-Marquardt for problems whose cells share parameters: all cells of a problem move together.

The steps are those of :mod:`~namedgrad.fit.marquardt` with one damping per problem; the equations are solved by
:mod:`~namedgrad.fit.arrow`.  Cells without data take no part, and problems that are done leave the batch.  Those
with a robust loss that take long go on with its own curvature, as reweighting does not get near where most residuals
are outliers; and all that take longer cell by cell (:mod:`~namedgrad.fit.nest`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.fit.arrow import Arrow, Layout
from namedgrad.fit.batch import Flags, Found, held
from namedgrad.fit.cells import Index
from namedgrad.fit.marquardt import FIRST_DAMPING, LONG, MOST_DAMPING, ROUNDING, TRUSTED
from namedgrad.fit.nest import Nest
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.sums import Point

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

LONGER = 20  # iterations: one damping for all cells is that of the worst
BATCH_NUMBERS = 1 << 24  # in the dense systems of the problems that are solved at once
Pair = tuple[Array, Array]  # local (row, cell) and shared (problem, unknown)


def layout_of(problem: Residuals) -> Layout:
    """Problems and unknowns of a fit, for the rows that are free."""
    cells, p = problem.cells, problem.parameters
    rows = np.flatnonzero(problem.free)
    lacks = {int(i): p.lacks[n] for n, r in p.rows.items() for i in range(r.start, r.stop)}
    coupled = {d for i in rows for d in lacks[int(i)]}
    at = dict(zip(cells.names, np.unravel_index(problem.everywhere, tuple(cells.sizes.values())), strict=True))
    alone = [n for n in cells.names if n not in coupled]
    shared = [k for k, i in enumerate(rows) if lacks[int(i)]]
    slots, start = [], 0
    for k in shared:
        own = [n for n in cells.names if n in coupled and n not in lacks[int(rows[k])]]
        slots.append(start + number(at, own, cells.sizes, cells.count))
        start += math.prod(cells.sizes[n] for n in own)
    local = [k for k in range(len(rows)) if k not in shared]
    return Layout(
        np.array(local, int), np.array(shared, int), number(at, alone, cells.sizes, cells.count),
        np.array(slots), math.prod(cells.sizes[n] for n in alone), start,
    )  # fmt: skip


def number(at: dict[Any, Index], names: list[Any], sizes: dict[Any, int], count: int) -> Index:
    """Where cells are along some dims, as one number."""
    if not names:
        return np.zeros(count, int)
    return np.ravel_multi_index(tuple(at[n] for n in names), tuple(sizes[n] for n in names))


@dataclasses.dataclass
class State:
    """Problems at work, with their cells."""

    layout: Layout
    problems: Index
    cells: Index
    x: Pair
    low: Pair
    high: Pair
    cost: Array
    damping: Array
    growth: Array
    iterations: Array
    longest: Pair  # that each column of the Jacobian has been
    above: Array  # the cost from where on that is remembered
    sums: Point | None = None
    trial: Any = None
    predicted: Any = None

    def only(self, keep: Flags) -> State:
        """The problems that are kept."""
        mine = keep[self.layout.problem]
        at = np.flatnonzero(keep)

        def pair(v: Pair) -> Pair:
            return v[0][:, mine], v[1][keep]

        sums = None if self.sums is None else Point(*(v[..., mine] for v in self.sums))
        return State(
            self.layout.only(at, np.flatnonzero(mine)), self.problems[keep], self.cells[mine], pair(self.x),
            pair(self.low), pair(self.high), self.cost[keep], self.damping[keep], self.growth[keep],
            self.iterations[keep], pair(self.longest), self.above[keep], sums,
        )  # fmt: skip

    def matrix(self, pair: Pair) -> Array:
        """All free rows of the cells."""
        lay = self.layout
        out = np.empty((len(lay.local) + len(lay.shared), len(self.cells)))
        out[lay.local], out[lay.shared] = pair[0], lay.scattered(pair[1])
        return out

    def gradient(self, at: Point | None = None) -> Pair:
        """Of the cost of each problem, here or elsewhere."""
        lay, g = self.layout, (at or self.sums).gradient  # type: ignore[union-attr]
        return g[lay.local], lay.gathered(g[lay.shared])

    def dot(self, x: Pair, y: Pair) -> Array:
        """The inner product in each problem."""
        return self.layout.total(np.sum(x[0] * y[0], axis=0)) + np.sum(x[1] * y[1], axis=1)

    def every(self, inside: Flags, outside: Flags) -> Flags:
        """Whether something holds for all local and shared parameters of each problem."""
        wrong = self.layout.total((~inside).any(axis=0).astype(float))
        return (wrong == 0) & outside.all(axis=1)

    def free(self, gradient: Pair) -> tuple[Flags, Flags]:
        """What no bound holds back."""
        inside, outside = (~held(*v) for v in zip(self.x, gradient, self.low, self.high, strict=True))
        return inside, outside

    def per_cell(self, x: Any) -> tuple[Any, Any]:
        """A number per problem, for each of its parameters."""
        return x[self.layout.problem], x[:, None]


def solve(
    problem: Residuals, layout: Layout, start: Array, usable: Flags, tol: float, max_iterations: int,
    report: Callable[[int], Any],
) -> Found:  # fmt: skip
    """Fit every problem; ``x`` and ``normal`` per cell, ``cost`` and ``iterations`` per cell of each problem."""
    count, n = problem.cells.count, int(problem.free.sum())
    found = Found(
        np.full(count, int(Status.NO_DATA)),
        {"x": np.full((n, count), np.nan), "cost": np.full(count, np.nan), "normal": np.full((n, n, count), np.nan),
         "iterations": np.full(count, np.nan)},
    )  # fmt: skip
    per_problem = max(1, BATCH_NUMBERS // max(1, layout.unknowns**2))
    cells_each = max(1, problem.cells.count // max(1, layout.count))
    size = max(1, min(per_problem, problem.most // cells_each))
    for low in range(0, layout.count, size):
        mine = (layout.problem >= low) & (layout.problem < low + size)
        cells = np.flatnonzero(mine & usable)
        if len(cells):
            _solve_some(problem, layout, start[:, cells], cells, found, tol, max_iterations)
        report(int(np.count_nonzero(mine)))
    return found


def _solve_some(
    problem: Residuals, layout: Layout, start: Array, cells: Index, found: Found, tol: float, max_iterations: int
) -> None:
    state = entered(problem, layout, start, cells)
    while len(state.problems):
        long = bool((state.iterations > LONG).all())  # all have started together
        learn(state, problem.evaluate(state.matrix(state.trial), state.cells, bent=long and problem.loss is not None))
        ends = verdict(state, tol, max_iterations, problem)
        done = ends >= 0
        if done.any():
            note(found, state.only(done), ends[done])
            trial = state.trial
            keep, mine = ~done, ~done[state.layout.problem]
            state = state.only(keep)
            state.trial = (trial[0][:, mine], trial[1][keep])
        if len(state.problems) and (state.iterations >= LONGER).all():
            by_cells(problem, state, found, tol, max_iterations)
            return
        state.predicted = predicted(state)


def by_cells(problem: Residuals, state: State, found: Found, tol: float, max_iterations: int) -> None:
    """Go on with fits of the cells."""
    shared = state.x[1], state.longest[1]
    nest = Nest(
        problem, state.layout, state.cells, state.matrix(state.x), state.matrix(state.longest), shared, state.low[1],
        state.high[1], tol, max_iterations - LONGER,
    )  # fmt: skip
    outer = nest.solve()
    found.status[state.cells] = nest.statuses(outer)
    found.arrays["x"][:, state.cells], found.arrays["normal"][..., state.cells] = nest.x, nest.normal
    found.arrays["cost"][state.cells] = nest.cost[state.layout.problem]
    found.arrays["iterations"][state.cells] = LONGER + outer.arrays["iterations"][state.layout.problem]


def predicted(state: State) -> Array:
    """What the next trial promises."""
    step = tuple(t - x for t, x in zip(state.trial, state.x, strict=True))
    arrow = Arrow.of(state.layout, state.sums)  # type: ignore[arg-type]
    return -state.dot(step, state.gradient()) - 0.5 * state.dot(step, arrow.times(*step))


def entered(problem: Residuals, layout: Layout, start: Array, cells: Index) -> State:
    """Problems that start, with the given cells."""
    problems = np.unique(layout.problem[cells])
    lay = layout.only(problems, cells)
    low, high = (m[problem.free][:, cells] for m in (problem.lower, problem.upper))
    low_s, high_s = -lay.lowest(-low[lay.shared]), lay.lowest(high[lay.shared])
    first = lay.lowest(start[lay.shared])  # the same in all cells
    known = np.isfinite(first)  # unknowns that occur in no cell with data stay out of the way
    x = start[lay.local], np.clip(np.where(known, first, 0.0), low_s, high_s)
    n = len(problems)
    return State(
        lay, problems, cells, x, (low[lay.local], low_s), (high[lay.local], high_s), np.full(n, np.inf),
        np.full(n, FIRST_DAMPING), np.full(n, 2.0), np.zeros(n, int), (np.zeros_like(x[0]), np.zeros_like(x[1])),
        np.full(n, np.inf), trial=x, predicted=np.zeros(n),
    )  # fmt: skip


def learn(state: State, at: Point) -> None:
    """Go to the trial where it is better, and set the damping by how well the step was predicted."""
    lay, new = state.layout, np.isinf(state.cost)
    state.iterations = state.iterations + ~new
    finite = np.isfinite(at.cost) & np.isfinite(at.gradient).all(axis=0) & np.isfinite(at.normal).all(axis=(0, 1))
    sound = lay.total((~finite).astype(float)) == 0
    cost = np.where(sound, lay.total(np.where(finite, at.cost, 0.0)), np.inf)
    gain, noise = state.cost - cost, ROUNDING * state.cost
    ratio = np.where(state.predicted > 0, gain / state.predicted, -1.0)  # bounds may leave a step that promises nothing
    hidden = ~new & (np.abs(gain) <= noise) & (np.abs(state.predicted) <= noise)
    if hidden.any():
        short = np.where(state.predicted > 0, gain_by_slopes(state, at) / state.predicted, 1.0)
        ratio = np.where(hidden, short, ratio)
    ratio[new] = 0.5
    better = sound & (ratio > 0)
    mine = better[lay.problem]
    state.x = np.where(mine, state.trial[0], state.x[0]), np.where(better[:, None], state.trial[1], state.x[1])
    state.cost = np.where(better, cost, state.cost)
    state.sums = (
        at if state.sums is None else Point(*(np.where(mine, a, b) for a, b in zip(at, state.sums, strict=True)))
    )
    least = np.clip(np.abs(ratio - 1), 0.01, 1 / 3)
    calmer = state.damping * np.maximum(least, 1 - (2 * ratio - 1) ** 3)
    state.damping = np.where(better, calmer, state.damping * state.growth)
    state.growth = np.where(better, 2.0, 2 * state.growth)


def gain_by_slopes(state: State, at: Point) -> Array:
    """What a short step gained, by the trapezoidal rule: the difference of two costs would be lost to rounding."""
    step = tuple(t - x for t, x in zip(state.trial, state.x, strict=True))
    with np.errstate(invalid="ignore"):
        return -0.5 * (state.dot(step, state.gradient()) + state.dot(step, state.gradient(at)))


def verdict(state: State, tol: float, max_iterations: int, problem: Residuals) -> np.ndarray[Any, Any]:
    """A status for problems that are done, -1 for the others, which get their next trial."""
    gradient = state.gradient()
    sums = Point(*(np.where(np.isfinite(v), v, 0.0) for v in state.sums))  # type: ignore[union-attr]
    arrow = Arrow.of(state.layout, sums)
    stuck = state.damping > MOST_DAMPING
    free = state.free(gradient)
    undamped = arrow.factor(free, (0.0, 0.0)).solve(-gradient[0], -gradient[1])
    wanted = np.where(stuck, np.sqrt(tol), tol)
    gain = -state.dot(undamped, gradient)
    near = gain <= wanted**1.75 * state.cost
    limit = state.per_cell(wanted)
    still = state.every(*(np.abs(s) <= w * np.abs(x) for s, x, w in zip(undamped, state.x, limit, strict=True)))
    sizes = arrow.lengths()
    met = 2 * state.cost <= wanted**3 * parts(state, sizes, problem.prior(state.cells))
    converged = near | still & (stuck | (gain <= tol * state.cost)) | met  # the cost is not evaluated again
    status = np.full(state.cost.shape, -1)
    status[stuck] = Status.STALLED
    status[state.iterations >= max_iterations] = Status.MAX_ITERATIONS
    status[converged] = Status.CONVERGED
    at_bound = ~state.every(*((x > lo) & (x < hi) for x, lo, hi in zip(state.x, state.low, state.high, strict=True)))
    last = tuple(np.clip(x + s, lo, hi) for x, s, lo, hi in zip(state.x, undamped, state.low, state.high, strict=True))
    moved = near | still
    mine = moved[state.layout.problem]
    state.x = np.where(mine, last[0], state.x[0]), np.where(moved[:, None], last[1], state.x[1])
    status[converged & at_bound] = Status.BOUND
    status[np.isinf(state.cost)] = Status.NOT_FINITE
    remember(state, sizes)
    state.trial = trial_of(state, arrow, gradient, free, problem.linear[problem.free])
    return status


def parts(state: State, sizes: Pair, prior: Array | None) -> Array:
    """The sum of squares of what each parameter contributes to the model, without priors."""
    lay, squares = state.layout, [s**2 for s in sizes]
    if prior is not None:
        squares = [s - p for s, p in zip(squares, (prior[lay.local], lay.gathered(prior[lay.shared])), strict=True)]
    return state.dot((state.x[0] ** 2, state.x[1] ** 2), (squares[0], squares[1]))


def remember(state: State, sizes: Pair) -> None:
    """The longest columns, but not of where the cost was so high that it says nothing of here."""
    far = state.above > TRUSTED * state.cost
    state.above = np.where(far, state.cost, state.above)
    before = zip(state.longest, sizes, state.per_cell(far), strict=True)
    state.longest = tuple(np.maximum(np.where(f, 0.0, most), now) for most, now, f in before)  # type: ignore[assignment]


def trial_of(state: State, arrow: Arrow, gradient: Pair, free: Any, linear: Flags) -> Pair:
    """The damped step, ended at the bounds that it meets.

    Damping is in units of the longest columns, so that what has lost its influence does not run away.
    """
    lay = state.layout
    ratios = zip(state.per_cell(state.damping), state.longest, arrow.lengths(), strict=True)
    inside, outside = (d * np.square(most / now) for d, most, now in ratios)
    # not damped, unless the last step failed, as bounds may bend one too much
    own, common = state.per_cell(np.where(state.growth == 2, 0.0, state.damping))
    damping = (
        np.where(linear[lay.local][:, None], own, inside),
        np.where(linear_unknowns(lay, linear), common, outside),
    )
    step: Any = tuple(np.zeros_like(x) for x in state.x)
    trial: Any = state.x
    for _ in range(len(lay.local) + len(lay.shared) + 1):
        stopped = tuple(np.where(f, 0.0, s) for f, s in zip(free, step, strict=True))
        done = arrow.times(*stopped)
        right = tuple(-g - d for g, d in zip(gradient, done, strict=True))
        solved = arrow.factor(free, damping).solve(*right)
        step = tuple(np.where(f, s, old) for f, s, old in zip(free, solved, step, strict=True))
        aim = tuple(x + s for x, s in zip(state.x, step, strict=True))
        trial = tuple(np.clip(a, lo, hi) for a, lo, hi in zip(aim, state.low, state.high, strict=True))
        beyond = tuple(f & (t != a) for f, t, a in zip(free, trial, aim, strict=True))
        step = tuple(t - x for t, x in zip(trial, state.x, strict=True))
        if not any(b.any() for b in beyond):
            break
        free = tuple(f & ~b for f, b in zip(free, beyond, strict=True))
    return trial


def linear_unknowns(layout: Layout, linear: Flags) -> Flags:
    """Which shared unknowns belong to linear parameters."""
    out = np.zeros((layout.count, layout.unknowns), bool)
    mark = np.broadcast_to(linear[layout.shared][:, None], layout.slot.shape)
    out[np.broadcast_to(layout.problem, layout.slot.shape)[mark], layout.slot[mark]] = True
    return out


def note(found: Found, gone: State, ends: np.ndarray[Any, Any]) -> None:
    """Keep how some problems ended."""
    mine, failed = gone.layout.problem, (ends == Status.NOT_FINITE)[gone.layout.problem]
    found.status[gone.cells] = ends[mine]
    found.arrays["x"][:, gone.cells] = np.where(failed, np.nan, gone.matrix(gone.x))
    found.arrays["cost"][gone.cells] = np.where(failed, np.nan, gone.cost[mine])
    found.arrays["iterations"][gone.cells] = gone.iterations[mine]
    found.arrays["normal"][..., gone.cells] = np.where(failed, np.nan, gone.sums.normal)  # type: ignore[union-attr]
