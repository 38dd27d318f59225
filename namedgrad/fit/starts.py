"""Start values from data and model alone.

1. The symmetries of the model are measured (:mod:`~namedgrad.fit.symmetry`).
2. Candidates for the parameters in which it is not linear are spread as they suit coordinates between -1 and 1, and are
   carried to the coordinates of the data. Those that go elsewhere between observations, such as frequencies which are
   equal to a lower one at all of them, are left out.
3. All candidates are compared with all cells by one matrix product: how much of the observations is in the span of the
   linear parameters (variable projection, Golub and Pereyra 1973), and how much in that of all derivatives, which
   tells what one step would reach.
4. The best few per cell make a few steps of Levenberg-Marquardt; the one with the least cost is the start. With several
   parameters that are not linear, 2. to 4. are done again, with more candidates, where that leaves more than noise; the
   best then also get parameters of each other.

Where residuals are no differences of a model and observations, as relative ones and those of angles, no span tells: a
step takes the place of 3. that evaluates all candidates in all cells. Multiples of a difference, as those weighted by
the model, become one when they are divided by their slope in the observations; what is found for that is taken where it
leads to less.

SciPy's start values, which are all 1, are tried before that. They are kept where they lead to a fit that leaves nothing
but noise (:mod:`~namedgrad.fit.noise`), or where no candidate promises to do better.

All that is done cell by cell; what cells share is found from it (:mod:`~namedgrad.fit.common`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.axes import Name
from namedgrad.fit import small
from namedgrad.fit.batch import Flags
from namedgrad.fit.canonical import canonical
from namedgrad.fit.cells import Index
from namedgrad.fit.common import Common
from namedgrad.fit.determined import inverses
from namedgrad.fit.judge import BY_BOTH, BY_SLOPES, BY_SPAN, ELEMENTS, FEWEST, SINGULAR, Judge, complete
from namedgrad.fit.noise import ELSEWHERE, FEW, elsewhere, looks_like_noise, swings
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.surface import Surface
from namedgrad.fit.symmetry import NEGATIVE, Flow, Symmetry, finite, latin, measure, natural_units, of_any_size
from namedgrad.fit.trials import EQUAL, NOTHING, cheapest, descend, excess
from namedgrad.transforms.grad import pushforward
from namedgrad.transforms.tape import quiet

DRAWS = 16  # of candidates, at most
# With so many parameters that are not linear minima are told from each other later, and cells in which more than noise
# is left are searched again, among other candidates: at least so many times as many as with fewer, and with waves.
WIDE, MORE, MORE_WAVES = 3, 4, 8
WAVY = 0.05  # of the candidates: a model of which more oscillate faster than the observations can tell makes waves
LATER = ((8, 5), (4, 10), (1, 10))
GOOD, CROSSED = 3, 4  # trials that get a parameter of each other one, and how many of these are tried
# With bounds of linear parameters so many times as many are tried: what is best beyond them may be nothing within.
BOUNDED, FIRST_BOUNDED = 4, (16, 1)
CANDIDATES = 2048  # four times as many with four parameters that are not linear, and again with six
EVALUATED, SINGLY = 1 << 24, (64, 1024)  # residuals of candidates in all cells, at most, but of so many candidates
ROUNDS = ((4, 5), (1, 10))  # how many are left after how many more iterations
QUICK = 50  # iterations from SciPy's start values, which come first
ENOUGH = 0.003  # of the cost: a fit that no candidate promises to better by more is kept
VAGUE = 1e3  # times a parameter: with such an error it has gone where it makes no difference
FIRST = 16  # cells that tell what residuals are
FAR = 0.15  # of the candidates of a place, which are beyond the data
# Of so many candidates one has lengths of up to so many ranges: energies may count in other units than temperatures.
LONG, LONGEST = 8, 1e3
NEXT = 0.05  # of the observations of a coordinate, which are next to 0
NEARLY_NONE = 1e-18  # of a linear parameter, which is on one side of 0 then: the derivative of abs(a) in a is 0 there


def given_starts(params: Any) -> tuple[Any, list[Name]]:
    """Parameters with 1 in place of None, and the names of those; a list of names means that all are missing."""
    if isinstance(params, (list, tuple)) and params and all(isinstance(n, str) for n in params):
        if twice := [n for n in params if params.count(n) > 1]:
            raise ValueError(f"params: {twice[0]!r} is named {len(twice)} times")
        params = dict.fromkeys(params)
    if not isinstance(params, Mapping) or isinstance(params, xr.Dataset):
        return params, []
    missing = [n for n, v in params.items() if v is None]
    return ({n: 1.0 if v is None else v for n, v in params.items()} if missing else params), missing


def find_starts(problem: Residuals, missing: list[int], begin: Callable[[Callable[..., Any]], Residuals]) -> Array:
    """Start values (parameter, cell): those of the problem, with the rows ``missing`` replaced.

    ``begin`` makes the same problem of another residual function.
    """
    missing = [k for k in missing if problem.free[k]]
    if not missing or not (problem.counts.any() or problem.unusable.any()):
        return problem.start
    with quiet():
        x = _of_cells(problem, missing, begin)
        if not problem.is_coupled:
            return x
        given = [k for k in problem.shared_rows() if k not in missing]  # may be there to tell their dims
        several = [x, _of_cells(problem, [*missing, *given], begin)] if given else [x]
        return Common(problem, missing, several).start()


def _of_cells(problem: Residuals, missing: list[int], begin: Callable[[Callable[..., Any]], Residuals]) -> Array:
    """Start values of cells that have nothing in common."""
    x, differs = _found(problem, missing)
    if differs and (plain := _as_difference(problem, begin)) is not None:
        other, differs = _found(plain, missing)
        x = x if differs else _cheaper(problem, x, other)
    return canonical(problem, missing, x)


def _found(problem: Residuals, missing: list[int]) -> tuple[Array, bool]:
    """Start values, and whether residuals have been seen to be no differences."""
    usual = None if problem.unusable.any() else _from_usual(problem, missing)
    if usual is None or not usual.good.all():
        search = _Search(problem, missing)
        return search.run(usual), search.differs
    rest = [k for k in range(len(usual.x)) if k not in missing]
    usual.x[rest] = problem.start[rest]
    return usual.x, False


def _as_difference(problem: Residuals, begin: Callable[[Callable[..., Any]], Residuals]) -> Residuals | None:
    """The problem with residuals divided by their slope in the observations; None if there is no such thing."""

    def quotient(params: Any, *data: Any) -> Any:
        *given, y = data
        y = 1.0 * y
        one = lambda y: problem.function(params, *given, y)
        value, slope = pushforward(one, (y,), (0.0 * y + 1.0,))
        return value / slope

    try:
        return begin(quotient)
    except Exception:  # noqa: BLE001 - residuals or observations may be structures, or not be differentiable in these
        return None


def _cheaper(problem: Residuals, x: Array, other: Array) -> Array:
    """Of two start values for each cell the one that leads to less."""
    now, then = (_descended(problem, v, problem.everywhere, QUICK)[1] for v in (x, other))
    return np.where(then < now * (1 - EQUAL), other, x)


class Usual(NamedTuple):
    """Where SciPy's start values lead to, and later what is better.

    Attributes
    ----------
    x, cost : the parameters and the cost there
    sound : whether anything else has to be better to be preferred: it is not under way for long, and no frequency is so
        high that the observations cannot tell it from another
    good : whether a fit from there is kept
    """

    x: Array
    cost: Array
    sound: Flags
    good: Flags


class Frame(NamedTuple):
    """Where a coordinate lies: a number, or one per cell, each."""

    origin: Any
    unit: Any


class _Search:
    def __init__(self, problem: Residuals, missing: list[int]) -> None:
        self.problem, self.missing = problem, missing
        self.free = [int(k) for k in np.flatnonzero(problem.free)]  # what is given, but not fixed, moves too
        self.typical = np.array([np.nanmedian(row) if np.isfinite(row).any() else 1.0 for row in problem.start])
        self.surface = Surface(problem)
        self.surface.show(self.free, self.typical)
        self.surface.units = natural_units(self.surface, self.free, self.typical)
        self.found: Symmetry = measure(self.surface, self.free, self.typical)
        self.x = self.surface.x
        if not self.surface.shared:  # cells are compared where their coordinates typically lie in their frames
            self.x = [self._typical(k, ends) for k, ends in enumerate(self._ends())]
        self.differs, self.wide, self.wavy, self.again = False, len(self.found.bent) >= WIDE, False, False
        self.bounded = bool(np.isfinite([problem.lower, problem.upper])[:, self.found.linear].any())

    def _ends(self) -> Iterator[Array]:
        """Where coordinates begin and end in all cells that have any, (cell, end) each."""
        several = [self.surface.each(index) for index in batches(self.problem.everywhere, self.problem.size)]
        for parts in zip(*several, strict=True):
            known = [x[np.isfinite(x).any(axis=1)] for x in parts]
            ends = [np.stack([np.nanmin(x, axis=1), np.nanmax(x, axis=1)], axis=1) for x in known]
            yield np.concatenate(ends) if any(map(len, ends)) else np.array([[0.0, 1.0]])

    def _typical(self, k: int, ends: Array) -> Array:
        """Coordinates at even distances, in the middle of where those of cells (cell, end) begin and end."""
        frame = self._frame(k, ends, 1)
        first, last = (float(np.median((end - frame.origin) / frame.unit)) for end in ends.T)
        return np.linspace(first, last, self.x[k].size).reshape(self.x[k].shape)

    # ---------------------------------------------------------------- candidates

    def _candidates(self, turn: int) -> Array:
        """Parameters (parameter, candidate) for the coordinates ``x``, others each time, and more.

        Drawn again in place of most that oscillate faster than the observations can tell; if all do, they are kept.
        """
        drawn, told, times = [], np.empty(0, bool), (MORE_WAVES if self.wavy else MORE) if turn else 1
        for seed in range(1, 1 + DRAWS):
            drawn.append(self._drawn(np.random.default_rng([turn, seed] if turn else seed), times))
            away = elsewhere(self.surface, drawn[-1], self.x, FEWEST)
            told = np.append(told, ~(away > ELSEWHERE))
            if told.sum() >= len(away):
                break
        self.wavy = bool(told.mean() < 1 - WAVY)
        points = np.concatenate(drawn, axis=1)
        return points[:, told] if told.any() else points

    def _drawn(self, rng: np.random.Generator, times: int) -> Array:
        bent = self.found.bent
        size = self.surface.values(self.typical[:, None], self.x).shape[1]
        most = CANDIDATES * max(times, 4 ** min(max(len(bent) // 2 - 1, 0), 2))
        count = int(np.clip(ELEMENTS // size, FEWEST, most)) if bent else 1
        points = np.repeat(self.typical[:, None], count, axis=1)
        points[self.found.linear] = np.where(rng.random((len(self.found.linear), count)) < 0.5, 1.0, -1.0)
        if bent:
            spread = np.array([self._spread(i, size, count, rng) for i in range(len(bent))])
            for flow in self.found.shift:
                if flow is not None and flow.weights.any() and not flow.weights[0].any():  # no parameter is a place
                    spread = flow.moved(spread, np.where(rng.random(count) < 0.5, 0.0, rng.uniform(-1, 1, count)))
            points[bent] = self._carried(spread, [self._frame(k, x, None) for k, x in enumerate(self.x)])
            given = [k for k in bent if k not in self.missing]
            points[given] = self.typical[given, None]
        low, high = (np.nanmedian(m, axis=1)[:, None] for m in (self.problem.lower, self.problem.upper))
        return _within(points, low, high, rng)

    def _frame(self, k: int, x: Array, axis: int | None) -> Frame:
        """The origin and the unit of a coordinate that the model lets us choose."""
        low, high = np.nanmin(x, axis=axis), np.nanmax(x, axis=axis)
        movable = self.found.shift[k] is not None
        unit = 0.5 * (high - low) if movable else np.maximum(np.abs(low), np.abs(high))
        if self.found.scale[k] is None:
            unit = np.ones_like(unit)
        return Frame(0.5 * (low + high) if movable else np.zeros_like(low), np.where(unit > 0, unit, 1.0))

    def _carried(self, bent: Array, frames: list[Frame]) -> Array:
        """Parameters for coordinates between -1 and 1 as they are in other frames."""
        for frame, shift, scale in zip(frames, self.found.shift, self.found.scale, strict=True):
            if scale is not None:
                bent = scale.moved(bent, np.log(frame.unit * _pace(shift)))
            if shift is not None:
                bent = shift.moved(bent, frame.origin)
        return bent

    def _spread(self, i: int, size: int, count: int, rng: np.random.Generator) -> Array:
        """Candidates for one parameter, where coordinates are between -1 and 1 and there are ``size`` of them."""
        u, kind, sign = latin(3, count, rng)
        signs = np.where(sign < NEGATIVE, -1.0, 1.0)
        scaled = ((k, f.weights[1 + i, i]) for k, f in enumerate(self.found.scale) if f is not None)
        at, power = next((pair for pair in scaled if pair[1]), (0, 0.0))
        for k, f in enumerate(self.found.shift):
            if f is not None and f.weights[0, i]:  # a place
                half = 1.0 if self.found.scale[k] is not None else 0.5 * np.ptp(finite(self.x[k])) * _pace(f)
                far = kind < FAR  # such as that of a pole
                return np.where(far, signs * 1.2 * 30**u, 2.4 * u - 1.2) * half
        most = math.pi * size / self._width(at)  # the rate of what is as fast as the observations can tell
        far = max(most, self._reach(at)) if power else most
        if power < 0:  # a rate
            return signs * np.where(kind < 0.5, most * u, 0.1 * (far / 0.1) ** u) ** -power
        if power > 0:  # a length
            long = np.arange(count) % LONG == 0  # all lengths of a candidate are
            longest = np.where(long, LONGEST, 10.0)
            even = np.where(kind < 0.25, 2 * u, 1 / (0.1 + most * u))  # lengths, or rates as of periods
            return signs * np.where((kind < 0.5) & ~long, even, longest * (longest * far) ** -u) ** power
        if not self.x or any(f is None for f in self.found.scale):  # of unknown size
            given = [x * unit for x, unit in zip(self.x, self.surface.units, strict=True) if unit != 1]
            return of_any_size([*self.x, *given], count, rng)  # energies count in other units, too
        wide = np.sinh(7 * (u - 0.5)) * np.where(kind < 0.3, 0.2, 1.0)  # a pure number: a phase, an exponent, a log
        return np.where(kind < 0.6, wide, signs * 10.0 ** (2 * u - 1))

    def _width(self, k: int) -> float:
        """The range of a coordinate, if there is any, in the unit of candidates."""
        if not self.x:
            return 2.0
        unit = self._frame(k, self.x[k], None).unit
        return float(np.ptp(finite(self.x[k])) / unit) or 2.0

    def _reach(self, k: int) -> float:
        """How much larger than those next to 0 a coordinate with a fixed origin becomes: it may go by powers."""
        size = np.abs(finite(self.x[k]))
        size = size[size > 0]
        return float(size.max() / np.quantile(size, NEXT)) if self.found.shift[k] is None and size.size else 1.0

    # ---------------------------------------------------------------- comparison

    def run(self, usual: Usual | None = None) -> Array:
        """The start values."""
        problem, judge = self.problem, self._judge(0)
        if problem.unusable.any() and judge.sound.size:
            problem.begin_at(self._sound(judge))  # now what is not finite is missing
        best = usual or _from_usual(problem, self.missing)
        self.differs = judge.sound.size > 0 and not self.surface.is_difference(
            judge.lowest, judge.points[:, judge.sound[-1:]], problem.everywhere[:FIRST]
        )
        self._searched(judge, best, problem.everywhere[~best.good])
        if self.wide and judge.sound.size and not self.differs:
            again = problem.everywhere[~best.good & ~looks_like_noise(problem, best.x, FEW)]
            if again.size:
                self.again = True
                self._searched(self._judge(1), best, again)
        rows = [k for k in range(len(best.x)) if k not in self.missing]
        best.x[rows] = problem.start[rows]
        return np.where(np.isfinite(best.x), best.x, problem.start)

    def _judge(self, turn: int) -> Judge:
        return Judge(self.found, self._candidates(turn), self.surface, self.x, self.free)

    def _searched(self, judge: Judge, best: Usual, cells: Index) -> None:
        """Put better start values into ``best``."""
        for index in batches(cells, self.problem.size):
            z = self.surface.observed(judge.lowest, index) if judge.sound.size else np.empty((len(index), 0))
            some = np.isfinite(z).any(axis=1)
            if some.any():
                self._search(judge, best, index[some], z[some])

    def _sound(self, judge: Judge) -> Array:
        """Start values at which the model is finite."""
        problem, out = self.problem, self.problem.start.copy()
        for index in batches(problem.everywhere, problem.size):
            frames = None if self.surface.shared else self._frames_of(index)
            out[np.array(self.missing)[:, None], index] = self._lowest(judge, index, frames)[self.missing]
        return out

    def _nothing(self, judge: Judge, index: Index, frames: list[Frame] | None) -> Array:
        """Costs (cell,) that are as good as none."""
        problem = self.problem
        cost = problem.evaluate(self._lowest(judge, index, frames)[problem.free], index).cost
        return NOTHING * np.where(np.isfinite(cost), cost, 0.0)

    def _lowest(self, judge: Judge, index: Index, frames: list[Frame] | None) -> Array:
        """Parameters (parameter, cell) for which the model is close to 0."""
        x = np.repeat(judge.lowest, len(index), axis=1)
        if frames is not None:
            x[self.found.bent] = self._carried(x[self.found.bent], frames)
        return x

    def _search(self, judge: Judge, best: Usual, index: Index, z: Array) -> None:
        frames = None if self.surface.shared else self._frames_of(index)
        cost, sound = best.cost[index], best.sound[index]
        if self.differs:
            some = np.ones(len(index), bool)
        else:
            z = judge.seen(z if frames is None else self._on_grid(index, z, frames))
            promised, least = judge.promised(z)
            known = np.isfinite(z).all(axis=1)
            some = ~(self._is_plain(judge, frames) & known & sound & (2 * cost <= least * (1 + ENOUGH)))
        if not some.any():
            return
        frames = frames and [Frame(*(v[some] for v in f)) for f in frames]
        if self.differs:
            chosen, growth = self._cheapest(judge, index, frames)
        else:
            chosen, growth = judge(z[some], promised[:, some], BOUNDED if self.bounded else 1)
        x, at = self._trials(judge, index[some], chosen, growth, frames)
        x, found = self._tried(x, at, nothing := self._nothing(judge, index[some], frames))
        enough = np.where(sound[some], np.maximum(cost[some], nothing), cost[some] * (1 + ENOUGH))
        better = np.maximum(found, nothing) * (1 + EQUAL) < enough
        at = index[some][better]
        best.x[:, at], best.cost[at], best.sound[at] = x[:, better], found[better], True

    def _is_plain(self, judge: Judge, frames: list[Frame] | None) -> bool:
        """Whether what candidates promise can be compared with a cost."""
        return self.problem.loss is None and not self.problem.weighted and frames is None and judge.all_seen

    def _cheapest(self, judge: Judge, index: Index, frames: list[Frame] | None) -> tuple[Array, Array]:
        """The candidates (trial, cell) that cost least, by evaluating them."""
        problem = self.problem
        size = max(1, int(problem.counts.max()))
        most = int(np.clip(EVALUATED // (size * problem.cells.count), *SINGLY))
        most = min(most, len(judge.sound))
        tried = judge.sound[np.linspace(0, len(judge.sound) - 1, most).astype(int)]
        chosen = np.repeat(tried[:, None], len(index), axis=1)
        cost = np.empty(chosen.shape)
        for some in batches(np.arange(most), max(1, ELEMENTS // (size * len(index)))):
            several = chosen[some]
            x, at = self._trials(judge, index, several, np.zeros(several.shape), frames)
            cost[some] = problem.evaluate(x[problem.free], at).cost.reshape(several.shape)
        rows = cheapest(cost, BY_SPAN + BY_SLOPES + BY_BOTH, np.zeros(len(index)))
        return np.take_along_axis(chosen, rows, 0), np.zeros(rows.shape)

    def _trials(
        self, judge: Judge, index: Index, chosen: Array, growth: Array, frames: list[Frame] | None
    ) -> tuple[Array, Index]:
        """The start values that cells should try (parameter, trial), and the cell of each."""
        problem, bent = self.problem, self.found.bent
        at, which = np.tile(index, len(chosen)), chosen.ravel()
        x = judge.points[:, which]
        x[self.found.linear] *= NEARLY_NONE
        if frames is not None:
            wide = [Frame(*(np.tile(v, len(chosen)) for v in f)) for f in frames]
            x[bent] = self._carried(x[bent], wide)
        if self.found.rise is not None:
            x[bent] = self.found.rise.moved(x[bent], growth.ravel())
        rest = [k for k in range(len(x)) if k not in self.missing]
        x[rest] = problem.start[rest][:, at]
        return self._linear_solved(np.clip(x, problem.lower[:, at], problem.upper[:, at]), at), at

    def _linear_solved(self, x: Array, at: Index) -> Array:
        """With the best of the linear parameters."""
        problem, linear = self.problem, self.found.linear
        if not linear:
            return x
        rows = [int(problem.free[:k].sum()) for k in linear]
        for some in batches(np.arange(len(at)), problem.size):
            now = problem.evaluate(x[:, some][problem.free], at[some])
            normal, pull = now.normal[rows][:, rows], -now.gradient[rows]
            scale = np.sqrt(np.maximum(small.diagonal(normal), np.finfo(float).tiny))
            matrix = normal / scale[:, None] / scale
            n = np.arange(len(rows))
            matrix[n, n] += SINGULAR
            step = small.solve(small.cholesky(matrix), pull / scale) / scale
            low, high = (m[linear][:, at[some]] for m in (problem.lower, problem.upper))
            moved = x[linear][:, some] + np.where(np.isfinite(step), step, 0.0)
            x[np.array(linear)[:, None], some] = np.clip(moved, low, high)
        return x

    def _tried(self, x: Array, at: Index, nothing: Array) -> tuple[Array, Array]:
        """The best of the trials of each cell after some iterations, and its cost, of which ``nothing`` is rounding."""
        cells = len(np.unique(at))
        rounds = LATER if self.wide else ROUNDS
        for left, iterations in (FIRST_BOUNDED, *rounds) if self.bounded else rounds:
            x, cost, _ = _descended(self.problem, x, at, iterations)
            cost = cost.reshape(-1, cells)
            if self.again and left == rounds[0][0]:
                crossed, extra = self._crossed(x, cost, at[:cells], iterations, nothing)
                x, at = np.concatenate([x, crossed], axis=1), np.concatenate([at, np.tile(at[:cells], CROSSED)])
                cost = np.concatenate([cost, extra])
            # of those that are equally good the one with the fewest negative parameters
            negative = (x[self.missing] < 0).sum(axis=0).reshape(-1, cells) if left == 1 else None
            best = cheapest(cost, left, nothing, negative) * cells + np.arange(cells)
            x, at, cost = x[:, best.ravel()], at[best.ravel()], cost.ravel()[best.ravel()]
        return x, cost

    def _crossed(
        self, x: Array, cost: Array, index: Index, iterations: int, nothing: Array
    ) -> tuple[Array, Array]:
        """The best of a cell's good trials with one parameter of another trial, after some iterations; and their cost.

        Where a model is a product, one trial may have found its envelope and another one its frequency.
        """
        cells, rows = len(index), [k for k in self.found.bent if k in self.missing]
        pool = x.reshape(len(x), -1, cells)
        above = excess(cost, nothing)
        order = above.argsort(axis=0, kind="stable")
        ranked = np.take_along_axis(above, order, 0)
        same = np.concatenate([ranked[:1] < 0, ranked[1:] == ranked[:-1]])  # as good as one before it
        at = np.argsort(np.where(same, np.inf, ranked), axis=0, kind="stable")[:GOOD]
        good = np.take_along_axis(pool, np.take_along_axis(order, at, 0)[None], 1)
        several = np.repeat(good[:, :, None], len(rows) * pool.shape[1], axis=2)
        several = several.reshape(len(x), len(at), len(rows), -1, cells)
        for r, k in enumerate(rows):
            several[k, :, r] = pool[k]
        trials = several.reshape(len(x), -1)
        cell = np.tile(index, trials.shape[1] // cells)
        trials = self._linear_solved(trials, cell)
        now = np.concatenate([self.problem.evaluate(trials[:, i][self.problem.free], cell[i]).cost
                              for i in batches(np.arange(len(cell)), self.problem.size)])  # fmt: skip
        best = cheapest(now.reshape(-1, cells), CROSSED, nothing) * cells + np.arange(cells)
        x, now, _ = _descended(self.problem, trials[:, best.ravel()], np.tile(index, CROSSED), iterations)
        return x, now.reshape(-1, cells)

    # ---------------------------------------------------------------- coordinates that differ from cell to cell

    def _frames_of(self, index: Index) -> list[Frame]:
        """Their frames, per cell."""
        return [self._frame(k, x, 1) for k, x in enumerate(self.surface.each(index))]

    def _on_grid(self, index: Index, z: Array, frames: list[Frame]) -> Array:
        """Observations of one coordinate as they would be at ``x``; of several, as they are."""
        if len(self.x) != 1 or self.x[0].size != z.shape[1]:
            return complete(z)
        x, grid = self.surface.each(index)[0], self.x[0].ravel()
        out = np.empty_like(z)
        for i, (own, values) in enumerate(zip(x, z, strict=True)):  # interpolation has no batched form
            there = np.isfinite(values)
            order = np.argsort(own[there])
            own = (own[there][order] - frames[0].origin[i]) / frames[0].unit[i]  # noqa: PLW2901
            out[i] = np.interp(grid, own, values[there][order])
        return out


def _pace(shift: Flow | None) -> float:
    """How fast places move with the origin of a coordinate: the number of the model's units in one of these."""
    speeds = [] if shift is None else [w for w in np.abs(shift.weights[0]) if w]
    return float(min(speeds, default=1.0))


def _usual(problem: Residuals, missing: list[int]) -> Array:
    """SciPy's start values: 1, or what is feasible."""
    out = problem.start.copy()
    low, high = (m[missing] for m in (problem.lower, problem.upper))
    with np.errstate(invalid="ignore"):
        inside = np.where(np.isfinite(low), np.where(np.isfinite(high), 0.5 * (low + high), low + 1), high - 1)
    out[missing] = np.where((low <= 1) & (high >= 1), 1.0, inside)
    return out


def _from_usual(problem: Residuals, missing: list[int]) -> Usual:
    usual, cost, status = _descended(problem, _usual(problem, missing), problem.everywhere, QUICK)
    surface = Surface(problem)
    sound = (status != Status.MAX_ITERATIONS) & ~swings(problem, usual, surface)
    # of parameters that take the same part in the model, none has left the others; a bound may be in the way
    ended = ~np.isin(status, (Status.SINGULAR, Status.BOUND))
    return Usual(usual, cost, sound, looks_like_noise(problem, usual, surface=surface) & sound & ended)


def _descended(problem: Residuals, x: Array, at: Index, iterations: int) -> tuple[Array, Array, Array]:
    """Points (parameter, trial) after some iterations each, their cost (infinite: there is none), and the status."""
    x, free, linear = x.copy(), x[problem.free], problem.linearity
    found = descend(problem, free, at, linear, tol=1e-8, max_iterations=iterations)
    ended = found.arrays["x"]
    x[problem.free] = np.where(np.isfinite(ended).all(axis=0), ended, free)
    cost = problem.evaluate(x[problem.free], at).cost  # the solver rounds its own
    ended = found.status != Status.MAX_ITERATIONS
    inverse, lost = inverses(found.arrays["normal"], fitted=ended)
    with np.errstate(all="ignore"):
        variances = small.diagonal(inverse) * 2 * cost / np.maximum(problem.counts[at], 1)
        vague = linear.damped & (variances > np.square(VAGUE * x[problem.free]))
    lost = lost | (ended & vague.any(axis=0))
    return x, np.where(np.isfinite(cost), cost, np.inf), np.where(lost, int(Status.SINGULAR), found.status)


def _within(points: Array, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Points with those outside of the bounds drawn again between them, or as far on the other side of a single one."""
    outside, both = (points < low) | (points > high), np.isfinite(low) & np.isfinite(high)
    width, bound = np.where(both, high - low, 0.0), np.where(points < low, low, high)
    inside = np.where(outside, 2 * np.where(outside, bound, 0.0) - points, points)
    drawn = np.where(both, low, inside) + latin(len(points), points.shape[1], rng) * width
    return np.clip(np.where(outside, drawn, points), low, high)
