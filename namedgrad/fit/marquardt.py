"""Levenberg-Marquardt, for every cell of a batch with its own damping and its own active bounds.

The damped step follows Marquardt (1963), the damping Nielsen (1999), *Damping parameter in Marquardt's method*.  Rows
that a bound holds back are taken out of the step; the first row that would cross a bound stops there, and the others
are solved for again.

The normal matrix lacks the curvature of the residuals themselves, which slows the last iterations down where residuals
are large.  In cells that take long, a secant estimate of it is kept, and used where it predicts better (Dennis, Gay and
Welsch 1981, *An adaptive nonlinear least-squares algorithm*).

Parameters in which the residuals are linear are not damped, and follow the others: wherever the residuals have been
evaluated, the sums say what the best linear parameters are there and what the cost is with them.  This is the variable
projection of Golub and Pereyra (1973) without its last term, as in Kaufman (1975), *A variable projection method for
solving separable nonlinear least squares problems*.  A column of the Jacobian that is proportional to one of them goes
along; other columns that depend on them are computed anew after a large change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.batch import Batch, Flags, held
from namedgrad.fit.cells import Index
from namedgrad.fit.places import may_matter, on_device_of, truths
from namedgrad.fit.small import Array, lengths
from namedgrad.fit.sums import Point

FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e15
ALMOST_UNDAMPED = 1e-13  # keeps a singular matrix positive definite
# Times the cost: what is worse says nothing of what it is with the best linear parameters, which are looked for from 0,
# or, where it is the start, from those that it gives; what is much worse is too far away.
TRUSTED, TOO_FAR = 1e8, 1e30
ROUNDING = 1e-13  # relative changes of the cost below this say nothing
# Squares of changes of the linear parameters, relative to them: after a large one the other columns are computed anew,
# after one that is not small that is done if they mislead.
FAR, ROUGH = 1.0, 1e-10
SMALL = 1e-3  # of the cost: a step that promises less, and fails, may be misled by rounding
LONG, NEAR = 4, 1e-7  # iterations, or a relative gain promised, from where on the residuals' curvature is estimated
PATIENCE, HARDLY = 15, 1e-8  # evaluations in which the cost falls by no more of itself: a kink has no end of them
MELTS = 0.5  # of the cost: a step that promises more leads to a fit without residuals
WORTH = 0.25  # of what a step promised: one that gains less has led to where the derivatives say nothing of
# Times what a parameter has been: slopes here say nothing of it there; and of the cost, by which it is hardly changed.
ENDLESS, FLAT = 1e3, 1e-7
VANISHED = 1e-12  # of the square of the length of a column
NEARLY, KEPT, SIMILAR = 0.999, 0.3, 10.0  # of the way to 0; of a linear parameter; times the cost
LEAST_SCALED, MOST_SCALED = 0.1, 1e4  # factors of columns that follow a linear parameter; others are computed anew


class Linear(NamedTuple):
    """What is linear.

    Attributes
    ----------
    rows : those in which residuals are linear
    damped : (row, 1), those that are not
    scaled, by : rows whose columns are proportional to a linear one, and that
    exact : whether all columns follow a change of the linear ones
    """

    rows: Index
    damped: Flags
    scaled: Index
    by: Index
    exact: bool

    @classmethod
    def of(cls, linear: Flags, follows: Mapping[int, int | None], free: Flags, known: Flags) -> Self:
        """Of the rows that are free; columns of those that have a prior are no multiples of anything."""
        at = np.cumsum(free) - 1  # the number of a row among the free ones
        others = np.flatnonzero(free & ~linear).tolist()
        pairs = [(i, follows[i]) for i in others if i in follows]
        moving = [(i, j) for i, j in pairs if j is not None and free[j]]
        scaled = [(at[i], at[j]) for i, j in moving if not known[i]]
        exact = len(pairs) == len(others) and len(scaled) == len(moving)
        rows = np.flatnonzero(linear[free])
        i, j = np.array(scaled, int).reshape(-1, 2).T
        return cls(rows, ~linear[free][:, None], i, j, exact)

    def placed(self, move: Callable[[Any], Any]) -> Self:
        """The same somewhere else."""
        return self._replace(**{n: move(x) for n, x in self._asdict().items() if n != "exact"})

    def scaled_by_nothing(self, x: Array, squares: Array) -> Flags:
        """Whether a linear row that scales a column is 0 but for rounding: then nothing is known of that column's."""
        parts = np.abs(x) * np.sqrt(squares)
        out: Flags = (parts[self.by] <= ROUNDING * parts.max(axis=0)).any(axis=0)
        return out


class Seen(NamedTuple):
    """What was found at a trial.

    Attributes
    ----------
    x, at : the point with the best linear parameters, and the sums there
    change : squared relative change of these
    squares : of the lengths of the columns before they follow that
    usable : whether a cell may go there
    astray : whether it is so much worse that only its linear parameters can be to blame
    lost : whether the cost was so high before that rounding hides what it is now
    """

    x: Array
    at: Point
    change: Array
    squares: Array
    usable: Flags
    astray: Flags
    lost: Flags


@dataclasses.dataclass
class Marquardt(Batch):
    """Cells, the normal equations where they are, and the step that they try."""

    gradient: Array
    normal: Array
    longest: Array  # that each column of the Jacobian has been
    above: Array  # the cost from where on that is remembered
    first: Array  # the cost at the start, or where it fell to from there
    largest: Array  # that each parameter has been since
    damping: Array
    growth: Array
    predicted: Array
    stale: Flags  # whether the trial is where the cell is, to be evaluated anew
    bare: Flags  # whether the trial is to be evaluated without linear parameters
    rough: Array  # squared relative change of the linear parameters since the columns were computed
    unsure: Flags  # whether the cost has been computed for other linear parameters, and was only predicted for these
    bend: Array  # the curvature that the normal matrix lacks, as far as it is known
    bent: Flags  # whether it is used
    by_bend: Array  # what using it takes from the prediction, or would take
    before: Array  # what the last step but one promised, if it led here
    mark: Array  # the cost when it last fell by more than next to nothing, once it takes long
    since: Array  # the iteration of that, later by the trials since then that were not finite
    linear: Linear
    rounds: int  # evaluations of the batch: no cell has had more
    curved: bool  # whether the estimate is used in any cell; on a device, whether it has been
    prior: Array | None  # what it adds to the diagonal of the normal matrix
    worth: float = WORTH

    @classmethod
    def enter(
        cls, index: Index, start: Array, lower: Any, upper: Any, linear: Linear, prior: Array | None = None
    ) -> Self:
        """Cells that start."""
        p, n = start.shape
        flat, none = np.zeros_like(start, shape=(p, p, n)), np.zeros_like(start, bool, shape=n)
        zero, numbers = np.zeros_like(start, shape=n), np.zeros_like(start, int, shape=n)
        return cls.start(
            index, start, lower, upper, gradient=flat[0], normal=flat, longest=flat[0], above=zero,
            first=zero, largest=flat[0], damping=zero + FIRST_DAMPING, growth=zero + 2.0, predicted=zero, stale=none,
            bare=none, rough=zero, unsure=none, bend=flat, bent=none, by_bend=zero, before=zero, mark=zero + np.inf,
            since=numbers, rounds=0, curved=False, linear=linear.placed(lambda x: on_device_of(x, start)), prior=prior,
        )  # fmt: skip

    def placed(self, move: Callable[[Any], Any]) -> Self:
        """The same somewhere else, with what says which rows are linear."""
        return dataclasses.replace(super().placed(move), linear=self.linear.placed(move))

    # ---------------------------------------------------------------- where it is

    def learn(self, at: Point) -> None:
        """Go to the trial where it is better, and set the damping by how well the step was predicted."""
        new = np.isinf(self.cost)
        self.rounds += 1
        self.iterations = self.iterations + ~new
        seen = self._seen(at, new)
        gain = self.cost - seen.at.cost
        ratio = self._ratio(gain, new)
        better = seen.usable & (ratio > self.worth)
        stepped = better & ~new & ~self.stale
        rough = np.maximum(seen.change, self.rough) > ROUGH  # a change of columns, not of their slopes
        self._estimate(stepped & ~rough, gain, seen.x, seen.at)
        self._move(seen, better, new)
        self.before = np.where(stepped, self.predicted, 0.0)
        self._adapt(seen, better, ratio)
        self._wait(at.cost)

    def _seen(self, at: Point, new: Flags) -> Seen:
        """What an evaluation says of the trial."""
        squares = small.diagonal(at.normal)
        finite = np.isfinite(at.cost) & np.isfinite(at.gradient).all(axis=0) & np.isfinite(squares).all(axis=0)
        wild = finite & ~self.stale & (at.cost > TRUSTED * self.cost)
        usable = finite & ~wild & (new | self.bare | ~self._vanishes(squares))
        astray = wild & (at.cost <= TOO_FAR * self.cost) & bool(self.linear.rows.size)
        x, best, change = self._projected(self.trial, at, usable)
        lost = usable & (at.cost > TRUSTED * best.cost)
        if may_matter(lost):
            lost = lost & (at.cost > ROUNDING**2 * small.dot(self.trial**2, squares))
            best = best._replace(cost=np.where(lost, np.maximum(best.cost, ROUNDING * at.cost), best.cost))
        return Seen(x, best, change, squares, usable, astray, lost)

    def _ratio(self, gain: Array, new: Flags) -> Array:
        """What was gained, relative to what the step promised."""
        noise = ROUNDING * self.cost
        ratio = gain / self.predicted
        equal = (np.abs(gain) <= noise) & (np.abs(self.predicted) <= noise)
        ratio = np.where(equal, 1.0, ratio) if may_matter(equal) else ratio
        unknown = new | self.stale
        return np.where(unknown, 0.5, ratio) if may_matter(unknown) else ratio

    def _move(self, seen: Seen, better: Flags, new: Flags) -> None:
        x, at = seen.x, seen.at
        fell = better & (TRUSTED * at.cost <= self.cost)  # all at once: what was there before says nothing
        any_fell, all_better = truths(fell.any(), better.all())
        if any_fell:
            self.first = np.where(fell, at.cost, self.first)
            self.largest = np.where(fell, 0.0, self.largest)
        self.largest = np.maximum(self.largest, np.where(better, np.abs(x), 0.0))
        if all_better:
            self.x, self.cost, self.gradient, self.normal = x, at.cost, at.gradient, at.normal
        else:
            self.x = np.where(better, x, self.x)
            self.cost = np.where(better, at.cost, self.cost)
            self.gradient = np.where(better, at.gradient, self.gradient)
            self.normal = np.where(better, at.normal, self.normal)
        squares = np.where(better, seen.squares, 0.0)  # before columns followed linear parameters, and after that
        self._remember(np.sqrt(np.maximum(squares, small.diagonal(self.normal))), new, seen.lost)

    def _adapt(self, seen: Seen, better: Flags, ratio: Array) -> None:
        """Set the damping, and what the next trial is for."""
        # A third, and less where the prediction was good; a half where trials with less have just failed.
        least = np.where(self.growth > 2, 1 / 2, np.clip(np.abs(ratio - 1), 0.01, 1 / 3))
        good = 2 * ratio - 1
        calmer = self.damping * np.where(self.stale, 1.0, np.maximum(least, 1 - good * good * good))
        self.bare = seen.astray & ~self.bare
        doubt = self.unsure & (self.predicted <= SMALL * self.cost)
        misled = ~better & ~self.bare & ((self.rough > ROUGH) | doubt)  # by what belongs to other linear parameters
        self.damping = np.where(better, calmer, self.damping * np.where(misled | self.bare, 1.0, self.growth))
        self.growth = np.where(better, 2.0, np.where(self.bare, 1.0, 2.0) * self.growth)
        moved = (seen.x != self.trial).any(axis=0)
        self.unsure = np.where(better, ~self.stale & moved, self.unsure & ~misled)
        self.stale = (better & ((seen.change > FAR) | seen.lost)) | misled
        self.rough = np.where(better, seen.change, np.where(misled, 0.0, self.rough))

    def _wait(self, tried: Array) -> None:
        """Note, in cells that take long, when something was gained last, or the trial was where there is no cost."""
        slow = self.iterations > LONG
        if self.rounds > LONG and may_matter(slow):
            fell = slow & (self.cost < (1 - HARDLY) * self.mark)
            self.mark = np.where(fell, self.cost, self.mark)
            self.since = np.where(fell, self.iterations, self.since + (slow & ~np.isfinite(tried)))

    def _remember(self, longest: Array, new: Flags, lost: Flags) -> None:
        """The longest columns, but not of where the cost was so high that it says nothing of here."""
        far = self.above > TRUSTED * self.cost
        begins = far | new | lost
        if may_matter(begins):
            self.longest = np.where(far, 0.0, self.longest)
            self.above = np.where(lost, np.inf, np.where(begins, self.cost, self.above))
        self.longest = np.maximum(self.longest, longest)

    def _vanishes(self, squares: Array) -> Flags:
        """Whether a column that a linear parameter scales has become next to nothing: the step was too long."""
        rows = self.linear.rows
        out: Any = (squares[rows] < VANISHED * small.diagonal(self.normal)[rows]).any(axis=0)
        return out

    def _projected(self, x: Array, at: Point, finite: Flags) -> tuple[Array, Point, Array]:
        """The point with the best linear parameters, and the square of their relative change."""
        rows = self.linear.rows
        if not rows.size:
            return x, at, np.zeros_like(at.cost)
        block, slope = at.normal[rows[:, None], rows], at.gradient[rows]
        scale, free = lengths(block), self._free(x, at.gradient)
        free = None if free is None else free[rows]
        change = small.solve(cholesky(block, scale, free, ALMOST_UNDAMPED), where(free, -slope, 0.0) / scale) / scale
        image = small.times(block, change)
        gain = -small.dot(change, slope + 0.5 * image)
        use = finite & (gain > 0)
        if self.lower is not None:
            use &= ~((x[rows] + change < self.lower[rows]) | (x[rows] + change > self.upper[rows])).any(axis=0)
        moved = x.copy()
        moved[rows] += change
        # A sign that was given says where columns lead that are proportional to it; a size that is about right, too,
        # where next to nothing would be left of it: these columns meet nothing of the data yet.
        by, kept = self.linear.by, np.where(at.cost <= SIMILAR * (at.cost - gain), KEPT, 0.0)
        use &= ~(np.isinf(self.cost) & (moved[by] * x[by] < kept * x[by] ** 2).any(axis=0))
        change = np.where(use, change, 0.0)
        moved = np.where(use, moved, x)
        gradient = at.gradient + small.times(at.normal[:, rows], change)
        normal, rough = self._scaled(gradient, at.normal, x, moved)
        sizes = small.dot(change**2, scale**2), small.dot(x[rows] ** 2, scale**2)
        relative = np.where(use & rough & (sizes[0] > 0), sizes[0] / sizes[1], 0.0)
        return moved, Point(np.maximum(at.cost - np.where(use, gain, 0.0), 0.0), gradient, normal), relative

    def _scaled(self, gradient: Array, normal: Array, x: Array, moved: Array) -> tuple[Array, Flags]:
        """The gradient, in place, and the normal matrix, with columns that have followed the linear parameters.

        And cells with columns that have not. One whose factor all but vanishes does not follow: it would not say where
        to go.
        """
        rows, by = self.linear.scaled, self.linear.by
        rough = np.full_like(x, not self.linear.exact, bool, shape=x.shape[1])
        if not rows.size:
            return normal, rough
        factor = np.where(moved[by] == x[by], 1.0, moved[by] / x[by])
        size = np.abs(factor)
        follows = (size >= LEAST_SCALED) & (size <= MOST_SCALED)
        factor = np.where(follows, factor, 1.0)
        gradient[rows] *= factor
        normal = normal.copy()
        normal[rows] *= factor[:, None]
        normal[:, rows] *= factor
        return normal, rough | ~follows.all(axis=0)

    def _estimate(self, moved: Flags, gain: Array, x: Array, at: Point) -> None:
        """The curvature of the residuals in cells that take long, and whether it would have predicted the last step.

        Where the last step met a curvature that is negative, nothing that was known is true any more.
        """
        near = self.predicted <= NEAR * self.cost
        old = np.flatnonzero(((self.iterations > LONG) | near) & ~self.stale & np.isfinite(self.cost))
        if not old.size:
            return
        without = self.predicted[old] + np.where(self.bent[old], self.by_bend[old], 0.0)
        used = np.abs(gain[old] - without + self.by_bend[old]) < np.abs(gain[old] - without)
        step, change = (x - self.x).take(old, axis=1), (at.gradient - self.gradient).take(old, axis=1)
        known = self.bend.take(old, axis=2)
        good, bend = secant(known, step, change, at.normal.take(old, axis=2))
        self.bent, self.bend = self.bent.copy(), self.bend.copy()
        self.bent[old] = used | near[old]
        self.curved = bool(self.bent.any())
        self.bend[..., old] = np.where(moved[old], np.where(good, bend, 0.0), known)

    def _matrix(self) -> Array:
        """The normal matrix, with the curvature of the residuals where that is used."""
        return np.where(self.bent, self.normal + self.bend, self.normal) if self._is_bent() else self.normal

    def _is_bent(self) -> bool:
        return self.curved and may_matter(self.bent)

    def _factor(self, scale: Array, free: Flags | None, damping: Any) -> tuple[Array, Array]:
        """The matrix of the step and its factor; without the estimate where that is not positive definite."""
        matrix = self._matrix()
        factor = cholesky(matrix, scale, free, damping)
        if not self._is_bent():
            return matrix, factor
        wrong = self.bent & ~np.isfinite(small.diagonal(factor)).all(axis=0)
        if wrong.any():
            matrix = np.where(wrong, self.normal, matrix)
            factor = np.where(wrong, cholesky(self.normal, scale, free, damping), factor)
        return matrix, factor

    def _free(self, x: Array, gradient: Array) -> Flags | None:
        """Rows that no bound holds back; None if there are none."""
        return None if self.lower is None else ~held(x, gradient, self.lower, self.upper)

    # ---------------------------------------------------------------- whether it is done

    def verdict(self, tol: float, max_iterations: int) -> np.ndarray[Any, Any]:
        """A status for cells that are done, -1 for the others, which get their next trial."""
        tried = self.trial
        self._step()
        if may_matter(self.bare):
            bare = self.within(np.where(self.linear.damped, tried, 0.0))
            self.trial = np.where(self.bare, bare, self.trial)
        converged = np.zeros_like(self.cost, bool)
        stuck = (self.damping > MOST_DAMPING) | (self.iterations - self.since > PATIENCE)
        step = self.trial - self.x
        less = self._contraction(tol)
        maybe = (less * self.predicted <= tol**1.75 * self.cost) | stuck
        maybe |= (np.abs(step) <= tol * np.abs(self.x)).all(axis=0)
        maybe |= self._met(tol)
        self.stale = self.stale | (maybe & (self.rough > tol**1.75))
        self.trial = np.where(self.stale, self.x, self.trial)
        ends = np.flatnonzero(maybe & (stuck | ~self.stale))
        if ends.size:
            some = self.part(ends)
            # where no smaller step can be told from none, rounding is in the way, or a kink
            converged[ends], lost = some.converged(np.where(stuck[ends], np.sqrt(tol), tol), less[ends], stuck[ends])
            self.x = self.x.copy()
            self.x[:, ends] = some.x
            if may_matter(lost):  # columns of nothing but rounding, which say of no parameter what it is
                self.normal = self.normal.copy()
                self.normal[..., ends] = np.where(lost[:, None] | lost, 0.0, some.normal)
        return self.judge(converged, stuck, max_iterations)

    def _contraction(self, tol: float) -> Array:
        """What the next step but one will promise, relative to the next, if that promises little and all goes on so."""
        known = (self.before > 0) & (self.before <= self.cost) & (self.predicted <= tol**1.5 * self.cost)
        return np.where(known, np.minimum(1.0, self.predicted / self.before), 1.0)

    def converged(self, tol: Any, less: Any, stuck: Flags) -> tuple[Flags, Flags]:
        """Whether the undamped step leaves next to nothing to gain, or the data are met to rounding; and what is lost.

        It would lower the cost by ``tol**1.75`` of itself, or the one after it would, which is expected to gain
        ``less`` by this factor; and is taken. Or it moves every parameter by less than ``tol`` of itself, and lowers
        the cost, which is not evaluated again, by no more than that, or no step does; or no step lowers the cost, and
        that one would by less than rounding changes it. Rows that would go to infinity stay, and are lost where they
        change no more than rounding does.
        """
        scale, free = lengths(self.normal), self._free(self.x, self.gradient)
        downhill = where(free, -self.gradient, 0.0) / scale
        plain, step = self._undamped(scale, free, downhill)
        lost = self._endless(plain / scale, np.where(stuck, FLAT, tol**1.75))
        endless = lost & (np.abs(step) > self.largest * scale)  # the curvature of the residuals keeps others here
        step, gain = self._of_the_others(endless, step, downhill, scale, free, stuck)
        near = less * gain <= tol**1.75 * self.cost
        if may_matter(stuck):
            near = near | (stuck & (gain <= self._noise()))
        still = (np.abs(step) <= tol * np.abs(self.x * scale)).all(axis=0)
        done = near | still & (stuck | (gain <= tol * self.cost)) | self._met(tol)
        self._go(step / scale, near | still, np.maximum(tol * self.cost, gain))
        return done, self._without_share(lost & done)

    def _undamped(self, scale: Array, free: Flags | None, downhill: Array) -> tuple[Array, Array]:
        """The step by the normal matrix, and that with the curvature of the residuals where it differs by no more."""
        plain = small.solve(cholesky(self.normal, scale, free, ALMOST_UNDAMPED), downhill)
        if not self._is_bent():
            return plain, plain
        bent = small.solve(self._factor(scale, free, ALMOST_UNDAMPED)[1], downhill)
        return plain, np.where(small.dot(bent - plain, bent - plain) <= small.dot(plain, plain), bent, plain)

    def _of_the_others(
        self, endless: Flags, step: Array, downhill: Array, scale: Array, free: Flags | None, stuck: Flags
    ) -> tuple[Array, Array]:
        """The step of the rows that do not go to infinity, and what is gained by it."""
        gain = small.dot(step, downhill)
        if not may_matter(endless):
            return step, gain
        rest = np.where(endless, 0.0, downhill)
        others = ~endless if free is None else free & ~endless
        without = small.solve(cholesky(self.normal, scale, others, ALMOST_UNDAMPED), rest)
        some = endless.any(axis=0)
        return np.where(some, without, step), np.where(some & stuck, small.dot(without, rest), gain)

    def _go(self, step: Array, cells: Flags, worth: Array) -> None:
        """Take a step of which the second order costs no more than something.

        It is free, but what is on the other side of 0 has not been seen, and may be no model.
        """
        crosses = self.linear.damped & (self.x * (self.x + step) < 0)
        if may_matter(crosses):
            step = step * np.where(crosses, NEARLY * self.x / -step, 1.0).min(axis=0)
        last = self.within(self.x + step)
        parts = small.dot(np.square(last - self.x), small.diagonal(self.normal))
        straight = parts**2 <= worth * self._model()
        self.x = np.where(cells & straight & np.isfinite(last).all(axis=0), last, self.x)

    def _without_share(self, lost: Flags) -> Flags:
        """Those of some rows that change the model no more than rounding does."""
        if not may_matter(lost):
            return lost
        share = self.x**2 * small.diagonal(self.normal)
        out: Flags = lost & (share <= np.finfo(float).eps ** 2 * self._model())
        return out

    def _endless(self, step: Array, flat: Any) -> Flags:
        """Rows that would go far beyond where they have been, such as a rate that is too fast for the observations.

        Their part of the gradient is small relative to parameter and cost (Dennis and Schnabel 1983, *Numerical methods
        for unconstrained optimization*, section 7.2), so that they would have to go there to change anything.
        """
        small_slope = np.abs(self.gradient) * self.largest <= flat * self.cost
        far = np.abs(step) > ENDLESS * self.largest
        outwards = self.gradient * self.x < 0
        endless: Flags = self.linear.damped & small_slope & far & outwards
        return endless

    def _met(self, tol: Any) -> Flags:
        """Whether the data are met to rounding: that of what they are made of, or that of the start.

        The latter is for a singular minimum, which all parameters approach more and more slowly: each step takes most
        of the cost, but moves none of them by any part of what it was; or none can be told.
        """
        met: Flags = 2 * self.cost <= tol**3 * self._model()
        low = self.cost <= tol**4 * self.first
        if may_matter(low):
            still = ~(np.abs(self.trial - self.x) > tol * self.largest).any(axis=0)
            met = met | low & still & ~(self.predicted < MELTS * self.cost)
        return met

    def _noise(self) -> Array:
        """How far rounding of the model in the last digit may move the cost."""
        return np.sqrt(2 * self.cost * self._model()) * np.finfo(float).eps

    def _model(self) -> Array:
        """About the sum of squares of what the model is made of: each parameter times its slopes."""
        squares = small.diagonal(self.normal)
        return small.dot(self.x**2, squares if self.prior is None else squares - self.prior)

    # ---------------------------------------------------------------- where it goes

    def _step(self) -> None:
        """The damped step, as far as to the first bound that it meets, and from there on along that bound.

        So it never promises a higher cost, as it may where all rows that would cross a bound end there at once; and
        linear rows, which are not damped, would not try a shorter one. The damping is measured by the longest that the
        columns of the Jacobian have been (Moré 1978), so that a parameter which has lost its influence does not run
        away.
        """
        own = self.linear.damped
        scale = np.where(own & (self.longest > 0), self.longest, lengths(self.normal))
        damping = np.where(own, self.damping, ALMOST_UNDAMPED)
        free = self._free(self.x, self.gradient)
        if free is None:
            matrix, factor = self._factor(scale, free, damping)
            self.trial = self.x + small.solve(factor, -self.gradient / scale) / scale
        else:
            self.trial, matrix = self._along_bounds(scale, damping, free)
        step = self.trial - self.x
        self.predicted = -small.dot(step, self.gradient + 0.5 * small.times(self.normal, step))
        if self._is_bent() or (self.rounds > LONG and may_matter(self.iterations >= LONG)):
            self.by_bend = 0.5 * small.dot(step, small.times(self.bend, step))
            self.bent = self.bent & (matrix != self.normal).any(axis=(0, 1))
            self.predicted = self.predicted - np.where(self.bent, self.by_bend, 0.0)

    def _along_bounds(self, scale: Array, damping: Array, free: Flags) -> tuple[Array, Array]:
        """Where such a step ends, and the last matrix that it was computed with."""
        trial = self.x
        for _ in range(len(trial)):
            stopped = np.where(free, 0.0, trial - self.x)
            matrix, factor = self._factor(scale, free, damping)
            pull = -self.gradient - small.times(matrix, stopped) if stopped.any() else -self.gradient
            found = small.solve(factor, np.where(free, pull, 0.0) / scale) / scale
            aim = np.where(free, self.x + found, trial)
            beyond = (aim < self.lower) | (aim > self.upper)  # NaN is not
            if not beyond.any():
                trial = aim
                break
            inside = np.clip(aim, self.lower, self.upper)
            share = np.where(beyond, (inside - trial) / (aim - trial), 1.0)  # of the way there
            least = share.min(axis=0)
            stops = beyond & (share == least)
            trial = np.where(stops, inside, np.where(least < 1, trial + least * (aim - trial), aim))
            trial = np.clip(trial, self.lower, self.upper)  # rounding
            free = free & ~stops
        return trial, matrix

    def propose(self) -> None:
        """Nothing: the verdict has found the next trial."""


def secant(bend: Array, step: Array, change: Array, normal: Array) -> tuple[Flags, Array]:
    """The update of the curvature by a step, after shrinking it to what that has shown of it, and if it is sound."""
    along = small.dot(step, change)
    seen, known = change - small.times(normal, step), small.times(bend, step)
    size = np.abs(small.dot(step, known))
    shrink = np.minimum(1.0, np.abs(small.dot(step, seen)) / np.where(size > 0, size, 1.0))
    off = (seen - shrink * known) / along
    outer = off[:, None] * change
    update = outer + np.swapaxes(outer, 0, 1) - small.dot(off, step) / along * change[:, None] * change
    new = shrink * bend + update
    return (along > 0) & np.isfinite(new).all(axis=(0, 1)), new


def where(free: Flags | None, x: Array, other: Any) -> Array:
    """What is free, and something else in the place of the rest, if there is any."""
    return x if free is None else np.where(free, x, other)


def cholesky(normal: Array, scale: Array, free: Flags | None, damping: Any) -> Array:
    """Cholesky factor of the scaled normal matrix plus damping; rows that are not free are those of the identity."""
    inverse = 1 / scale
    a = normal * inverse[:, None]
    np.multiply(a, inverse, out=a)
    if free is not None and not free.all():
        a = np.where(free[:, None] & free, a, 0.0)
    on = small.diagonal(a)
    on[:] = where(free, on + damping, 1.0)
    return small.factored(a)
