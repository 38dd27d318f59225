"""The residuals of a fit: weighted, where they were observed, with prior knowledge of the parameters."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, describe, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.fit import small
from namedgrad.fit.again import try_again
from namedgrad.fit.batch import Flags, Found, solve
from namedgrad.fit.cells import CELL, Index, Rows
from namedgrad.fit.coupled import layout_of
from namedgrad.fit.coupled import solve as solve_coupled
from namedgrad.fit.evaluate import LARGER, TILE_ELEMENTS, Evaluator, Glance
from namedgrad.fit.halves import missing_whole
from namedgrad.fit.linear import linear_inputs
from namedgrad.fit.losses import Robust
from namedgrad.fit.marquardt import Linear, Marquardt
from namedgrad.fit.masks import masked
from namedgrad.fit.parameters import Matrix, as_floats
from namedgrad.fit.places import columns, follow, here, on_device_of
from namedgrad.fit.problem import Problem, batches, single
from namedgrad.fit.several import divided, is_several, joined
from namedgrad.fit.status import Status
from namedgrad.fit.sums import Point, Weigh
from namedgrad.fit.threads import Crew, Queue, even, on_threads, shares, threads
from namedgrad.rules.elementwise import c, divide, maximum
from namedgrad.rules.structure import add, cast, isfinite, multiply, select, subtract, total, where
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree, adapter_of
from namedgrad.transforms.progress import Progress
from namedgrad.transforms.tape import quiet

BATCH_CELLS, BATCH_DATA = 1 << 14, 1 << 22  # at work at once, and numbers that may be laid side by side for them
LEAST_TILES = 60  # for a thread that solves: two with 28 each took 1.5 times as long as one that evaluates with another
MANY = 4  # large tiles that are worth having
# Cells whose algebra takes the host no longer than a device takes to be told of it; counted from calls, not measured.
FEW = 1 << 13
LEFT = 16  # parts of a batch on a device: the last cells take many more iterations than the others


class Residuals(Problem):
    """A residual function as Levenberg-Marquardt needs it.

    Attributes
    ----------
    size : cells in one batch
    per_cell : how many residuals a cell has
    observed : (cell, dims...) which residuals count; None if all do
    counts : (cell,) how many do
    unusable : (cell,) whether the fit cannot start
    crew : threads that help to evaluate
    """

    def __init__(
        self, function: Callable[..., Any], params: Any, data: Sequence[Any], *, loss: Robust | None, sigma: Any,
        prior: Any, chunk: int | None, **settings: Any,
    ) -> None:  # fmt: skip
        self.loss, self.weighted = loss, sigma is not None
        sigma = without_infinity(as_floats(sigma, "sigma")) if self.weighted else None
        super().__init__(function, params, missing_whole(data), sigma=sigma, prior=prior or {}, **settings)
        self._weigh()
        self.evaluators: list[Evaluator] = []
        self.crew = Crew()
        self.chunk = chunk
        with self.crew.at_work(self.cells.count > 1):
            self._look(chunk)

    def _weigh(self) -> None:
        given = self.cells.take(self.everywhere, "sigma", "prior")
        for x in Tree(given["sigma"]).parts:
            if (x.to_numpy() <= 0).any():
                raise ValueError("sigma must be positive; NaN leaves an observation out")
        mean, deviation = ({n: pair[i] for n, pair in given["prior"].items()} for i in (0, 1))
        self.mean, deviations = self.parameters.matrix(mean, 0.0), self.parameters.matrix(deviation, math.inf)
        if (deviations <= 0).any():
            raise ValueError("prior: give (mean, standard deviation), with positive standard deviations")
        self.precision = self.precision_of_each = np.square(1 / deviations)
        self.known: Flags = np.logical_or.reduce(self.precision > 0, axis=1)

    def begin_at(self, start: Matrix) -> None:
        """Start elsewhere."""
        self.start = np.clip(start, self.lower, self.upper)
        with self.crew.at_work(self.cells.count > 1):
            self._look(self.chunk)

    # ---------------------------------------------------------------- which residuals count

    def _look(self, chunk: int | None) -> None:
        """Evaluate at the start values: where it is not finite because data are missing, a residual does not count."""
        start = self.start
        self.dims, shape, known = self._glance(chunk)
        self.linear, follows = self._rows_of(*known)
        self.linearity = Linear.of(self.linear, follows, self.free, self.known)
        self.per_cell = per_cell = max(1, math.prod(shape))
        self.size = self.batch(chunk, per_cell)
        self.observed: np.ndarray[Any, Any] | None = None
        self._observed: Rows | None = None  # where the data are
        self.complete: Flags = np.ones(self.cells.count, bool)
        self.counts = np.full(self.cells.count, math.prod(shape))
        self.unusable: Flags = np.array(np.logical_not(np.isfinite(start).all(axis=0)))
        most = max(1, min(BATCH_CELLS, BATCH_DATA // per_cell))
        self.most = min(chunk or (most if self.backend.may_branch else self.size), self.cells.count)
        if not self.evaluators:
            self._evaluate_by(self.tiles_of(per_cell, chunk))
        with quiet():
            there = self.placed(start, self.cells.count)
            free = there if self.free.all() else there[on_device_of(np.flatnonzero(self.free), there)]
            self.first = First(self._at_start(there), free)
        bad = self.everywhere[~self.first.finite]
        if bad.size and self.cells.count:
            self.observed = np.ones((self.cells.count, *shape), bool)
        with quiet():
            for index in batches(bad, self.size):
                self._skip(self.residual(start[:, index], index), index)
        if self.observed is not None:
            self._observed = Rows(backends.call(self.backend.asarray, self.observed), ())

    def _evaluate_by(self, tiles: list[int]) -> None:
        self.evaluators = [Evaluator(self, tiles, bent=bent) for bent in (False, True)]

    def _glance(self, chunk: int | None) -> Glance:
        """Layout of the residuals, and in which entries they are linear: from a program, or from the first cell."""
        if self.evaluators:  # it starts elsewhere
            self.evaluators[False].alike = None
        else:
            self.size = self.batch(chunk, self.cells.width)
            self._evaluate_by(self.tiles_of(self.cells.width, chunk))
            with quiet():
                found = self.evaluators[False].glance(self.start)
            if found is not None and math.prod(found.shape) == self.cells.width:
                return found if self.loss is None else found._replace(linear=(set(), {}))
            self.evaluators = []
        at, made = self.everywhere[:1], list[DimArray]()
        parts, args = self.parameters.parts(self.start[:, :1], self.backend), self.arguments(at)

        def residual() -> Any:
            out = self.checked(self.call(parts, args), args)
            made.append(self.table(out.parts[0], 1, "residual"))
            return made[0].raw

        known: Any = set(), {}
        if self.loss is None and self.cells.count:
            known = linear_inputs(residual, [x.raw for x in parts])
        first = made[0] if made else self.residual(self.start[:, :1], at)
        return Glance(first.names[1:], first.full_shape[1:], known)

    def _rows_of(self, chosen: set[int], known: dict[int, int | None]) -> tuple[Flags, dict[int, int | None]]:
        """The rows in which residuals are linear, and which rows follow these, given the entries.

        The derivative in a row that follows another one is proportional to that, or, for None, free of all of them.
        """
        rows, linear = list(self.parameters.rows.values()), np.zeros(self.parameters.count, bool)
        for i in chosen:
            linear[rows[i]] = True
        own = {i: r.start for i, r in enumerate(rows) if r.stop == r.start + 1}
        return linear, {own[i]: None if j is None else own[j] for i, j in known.items() if {i, j} <= {*own, None}}

    def _at_start(self, start: Matrix) -> Point:
        """The sums of all cells at the start values, given where they are worked on."""
        evaluator, count = self.evaluators[False], self.cells.count
        if self.size == count:
            self.cells.fetch(self.everywhere)
        out, queue = Point.empty(start, int(self.free.sum()), count), Queue(self.everywhere)

        def put(index: Any) -> None:
            for whole, part in zip(out, evaluator.at_start(start, index), strict=True):
                whole[..., follow(index) or index] = part

        def work() -> None:
            while (index := queue.take(self.size)).size:
                put(index)

        if evaluator.alike is None:
            on_threads(work, self.workers(self.everywhere))
        else:
            hands = max(1, min(self.crew.hands(), count // evaluator.tiles[-1]))
            self.crew.share(lambda at: put(self.everywhere[at]), even(count, self.size, hands))
        return out

    def tiles_of(self, per_cell: int, chunk: int | None) -> list[int]:
        """Cells that are evaluated at once, if there are many and if there are few; on a device a batch, or a part."""
        count = self.cells.count
        most = TILE_ELEMENTS // per_cell if self.backend.may_branch else self.size
        most = max(1, min(count, most, chunk or most))
        small = max(1, -(-count // max(1, -(-count // most))))  # all of about the same size
        if not self.backend.may_branch:
            return [small, -(-small // LEFT)] if small > LEFT else [small]
        large = LARGER[threads() > 1] * small
        return [large, small] if MANY * large <= count and large <= (chunk or count) else [small]

    def _skip(self, r: DimArray, index: Index) -> None:
        """Tell missing data from a model that fails at the start values."""
        start = self.start[:, index]
        seen = isfinite(r).to_numpy()
        complete = filled(self.arguments(index))
        sound = self._finite(start, index, complete)
        if not sound.all():
            sound |= masked(self, start, index, complete, sound)
        rest = tuple(range(1, seen.ndim))
        self.observed[index] = seen  # type: ignore[index]
        self.complete[index] = seen.all(axis=tuple(range(1, seen.ndim)))
        blank = _without_observations(self, index) & ~seen.any(axis=rest)
        self.counts[index] = np.where(blank, 0, np.logical_or(seen, ~sound).sum(axis=rest))
        self.unusable[index] |= ~(sound.all(axis=rest) | blank)

    def arguments(self, index: Index) -> dict[str, Any]:
        """Data, sigma and priors of some cells."""
        args = super().arguments(index)
        if args["prior"] and self.is_coupled:
            args["prior"] = {n: (mean, self._counted_once(n, index)) for n, (mean, _) in args["prior"].items()}
        return args

    def _counted_once(self, name: Name, index: Index) -> DimArray:
        """The standard deviation of a prior, infinite in all cells but one of those that share a parameter."""
        with np.errstate(divide="ignore"):
            deviation = self.precision[self.parameters.rows[name]][:, index] ** -0.5
        whole = np.zeros((self.parameters.count, len(index)))
        whole[self.parameters.rows[name]] = deviation
        return self.parameters.parts(whole, self.backend)[self.parameters.names.index(name)]

    def gathered(self, index: Index) -> tuple[list[Any], Callable[[Sequence[Any]], dict[str, Any]]]:
        """The same as plain arrays."""
        return self.cells.gathered(index, "data", "sigma", "prior")

    def objective(self, parts: Sequence[DimArray], args: Any, seen: DimArray | None) -> DimArray:
        """Half the sum of squares, or of what a loss makes of them, with the priors."""
        r = self.checked(self.call(parts, args), args).parts[0]
        r = r if seen is None else select(seen, r)
        twice = multiply(r, r) if self.loss is None else self.loss.weigh(r, bent=False)[0]
        out = total(twice, tuple(n for n in r.names if n in r.dims))
        for x, name, rows in zip(parts, self.parameters.rows, self.parameters.rows.values(), strict=True):
            mean, deviation = (args.get("prior") or {}).get(name, (None, None))
            if deviation is not None and self.free[rows].any():
                off = divide(x if mean is None else subtract(x, only(mean)), only(deviation))
                out = add(out, total(multiply(off, off), self.parameters.own[name].names))
        return multiply(c(0.5), out)

    def residual(self, matrix: Matrix, index: Index, args: Any = None) -> DimArray:
        """Residuals ``(CELL, dims...)`` of some cells, with their data or other arguments."""
        args = self.arguments(index) if args is None else args
        with quiet():
            out = self.checked(self.call(self.parameters.parts(matrix, self.backend), args), args)
        return self.table(out.parts[0], len(index), "residual")

    def _finite(self, matrix: Matrix, index: Index, args: Any) -> Flags:
        return isfinite(self.residual(matrix, index, args)).to_numpy()

    def checked(self, out: Output, args: Any, *, weighted: bool = True) -> Output:
        """The output as one array, divided by sigma."""
        out = self.apart(out, args, weighted=weighted)
        return joined(out) if is_several(out) else out

    def apart(self, out: Output, args: Any, *, weighted: bool = True) -> Output:
        """The output, divided by sigma: one array, or several."""
        several = is_several(out)
        if not several:
            single(out, "residual")
        if self.weighted and weighted:
            before = out.parts
            try:
                out = Output(divided(out.tree.rebuild(before), args["sigma"]))
            except ValueError as error:  # of xarray, of NumPy, or of zip
                raise AxisError(f"sigma does not match the residual {describe(before[0])}: {error}") from error
            if not several:
                single(out, "residual divided by sigma")
            for old, new in zip(before, out.parts, strict=True):
                if old.sizes != new.sizes:
                    raise AxisError(f"sigma does not match: it makes {describe(new)} of the residual {describe(old)}")
        return out

    # ---------------------------------------------------------------- derivatives

    def jacobian(self, matrix: Matrix, index: Index, args: Any = None) -> tuple[DimArray, list[DimArray]]:
        """Residuals ``(CELL, dims...)`` and their derivative in every free parameter; those that do not count are 0."""
        parts = self.parameters.parts(matrix, self.backend)
        tape = self.record(parts, self.arguments(index) if args is None else args)
        r = self.table(tape.outs[0], len(index), "residual")
        columns = []
        for k in range(len(tape.ins)):
            ts: list[DimArray | None] = [None] * len(tape.ins)
            ts[k] = self.one()
            columns.append(self.table(tape.push(ts)[0], len(index), "residual"))
        return self.counted(r, index), [self.counted(column, index) for column in columns]

    def counted(self, table: DimArray, index: Index) -> DimArray:
        """A table of some cells with 0 where a residual does not count."""
        seen = self.seen(index)
        return table if seen is None else select(seen, table)

    def weigher(self, *, bent: bool) -> Weigh | None:
        """What a robust loss makes of residuals; ``bent``: with its true curvature."""
        return None if self.loss is None else functools.partial(self.loss.weigh, bent=bent)

    @contextlib.contextmanager
    def with_loss(self, loss: Robust) -> Iterator[None]:
        """Another loss, for a while."""
        own = self.loss, self.evaluators, self.first.point
        self.loss, self.first.point = loss, None
        self._evaluate_by([*self.evaluators[False].tiles])
        try:
            yield
        finally:
            self.loss, self.evaluators, self.first.point = own

    def placed(self, x: Any, cells: int) -> Any:
        """An array of so many cells where they are worked on: few of them on the host."""
        if self.backend.may_branch:
            return x
        return backends.call(self.backend.asarray, x) if cells > FEW else here(x)

    def _place(self, batch: Marquardt, cells: int) -> Marquardt:
        """A batch of so many cells there."""
        return batch if self.backend.may_branch else batch.placed(lambda x: self.placed(x, cells))

    def is_masked(self, index: Index) -> bool:
        """Whether some residuals of these cells do not count."""
        return self.observed is not None and not self.complete[index].all()

    def seen(self, index: Index, *, always: bool = False) -> DimArray | None:
        """Which residuals of some cells count; None if all do, unless it is wanted ``always``."""
        if self._observed is None or not (always or self.is_masked(index)):
            return None
        return make(self._observed.taken(index), (CELL, *self.dims), NONE)

    def evaluate(self, free: Matrix, index: Index, *, bent: bool = False) -> Point:
        """Cost, gradient and normal matrix of some cells; ``bent``: with the true curvature of a robust loss."""
        at = None if bent else self.first.at(free, index)
        if at is None:
            with quiet():
                sums = self.evaluators[bent](self.full(free, index), index)
            at = Point(*(x.astype(float, copy=False) for x in sums))  # of long doubles, too
        return self._with_prior(at, free, index)

    def prior(self, index: Index) -> Matrix | None:
        """What priors add to the diagonal of the normal matrix of some cells."""
        return self.precision[self.free][:, index] if self.known.any() else None

    def _with_prior(self, at: Point, free: Matrix, index: Index) -> Point:
        prior = self.prior(index)
        if prior is None:
            return at
        precision, mean, rows = (
            on_device_of(x, free) for x in (prior, self.mean[self.free][:, index], np.arange(len(free)))
        )
        off = free - mean
        normal = at.normal.copy()
        normal[rows, rows] += precision
        return Point(at.cost + 0.5 * small.dot(off * off, precision), at.gradient + off * precision, normal)

    # ---------------------------------------------------------------- solution

    def solve(self, tol: float, max_iterations: int, progress: Progress) -> Found:
        """Fit every cell that can be; gives ``x``, ``cost``, ``normal`` and ``iterations``."""
        found = self._solve_together if self.is_coupled else self._solve_apart
        try:
            with self.crew.at_work(self.cells.count > self.evaluators[False].tiles[-1]):
                return found(tol, max_iterations, progress)
        finally:
            self.first.point = None  # results hold on to the problem

    def _solve_apart(self, tol: float, max_iterations: int, progress: Progress) -> Found:
        """The same where every cell is a problem of its own."""
        enough = self.rows_of_data() >= self.free.sum()
        usable = enough & ~self.unusable
        lower, upper = (m[self.free] for m in (self.lower, self.upper))
        is_open = bool(np.isinf(lower).all() and np.isinf(upper).all())
        cells = self.everywhere[usable]
        workers = self.workers(cells)

        def enter(at: Index) -> Marquardt:
            self.cells.fetch(at)
            first = self.placed(columns(self.first.start, at), len(at))
            low, high = (None, None) if is_open else (self.placed(m[:, at], len(at)) for m in (lower, upper))
            prior = self.prior(at)
            prior = prior if prior is None else self.placed(prior, len(at))
            return Marquardt.enter(at, first, low, high, self.linearity, prior)

        with quiet():
            found = solve(
                self.evaluate, enter, cells, self.cells.count, keep=("x", "cost", "normal", "iterations"),
                stay=("normal",), size=shares(cells, self.most, workers), tol=tol, max_iterations=max_iterations,
                report=progress.update, workers=workers, leave=self.cells.leave,
                place=self._place,
            )  # fmt: skip
            self.cells.forget()
            try_again(self, found, cells, tol=tol, max_iterations=max_iterations)
            self._bend(found, cells)
        found.status[self.unusable] = Status.NOT_FINITE
        found.status[~enough] = Status.NO_DATA
        progress.update(int((~usable).sum()))
        return found

    def _solve_together(self, tol: float, max_iterations: int, progress: Progress) -> Found:
        """The same where cells share parameters: one prior for each parameter, and cells without data take no part."""
        enough = self.counts > 0
        self._leave_out_overflows(enough & ~self.unusable)
        usable = enough & ~self.unusable
        self.begin_together(usable)
        with quiet():
            start = self.start[self.free]
            found = solve_coupled(self, self.layout, start, usable, tol, max_iterations, progress.update)
            self._bend(found, self.everywhere[np.isfinite(found.arrays["cost"])])
        found.status[self.unusable] = Status.NOT_FINITE
        found.status[~enough] = Status.NO_DATA
        return found

    def begin_together(self, usable: Flags) -> None:
        """Lay out what cells share; of those that are usable one has the prior of a shared parameter."""
        self.layout = layout_of(self)
        self.precision = self.precision_of_each.copy()
        rows = np.flatnonzero(self.free)
        for k, row in enumerate(self.layout.shared):
            at = self.layout.problem * self.layout.unknowns + self.layout.slot[k]
            first = np.flatnonzero(usable)[np.unique(at[usable], return_index=True)[1]]
            self.precision[rows[row], np.setdiff1d(self.everywhere, first)] = 0.0

    def _leave_out_overflows(self, usable: Flags) -> None:
        """Give up cells whose sums are not finite where they start: no other cell could start with them."""
        for index in batches(self.everywhere[usable & ~self.first.finite], self.size):
            with quiet():
                self.unusable[index] = ~here(self.evaluate(self.start[self.free][:, index], index).finite())

    def _bend(self, found: Found, cells: Index) -> None:
        """Put the true curvature of a robust loss into the normal matrices."""
        for index in batches(cells, self.most) if self.loss is not None else ():
            at = self.evaluate(found.arrays["x"][:, index], index, bent=True)
            normal = found.arrays["normal"]
            normal[..., on_device_of(index, normal)] = on_device_of(at.normal, normal)

    def workers(self, cells: Index) -> int:
        """How many threads to use: several only for programs, which run without the user's code."""
        evaluator = self.evaluators[False]
        wanted = min(threads(), len(cells) // (LEAST_TILES * evaluator.tiles[-1])) if self.backend.may_branch else 1
        return wanted if wanted > 1 and evaluator.prepared(self.start, cells) else 1

    def rows_of_data(self) -> np.ndarray[Any, Any]:
        """Residuals that count, and priors."""
        return self.counts + (self.precision[self.free] > 0).sum(axis=0)


class First:
    """The sums at the start values, which are found before the solver asks for them."""

    def __init__(self, point: Point, start: Matrix) -> None:
        self.point: Point | None = point
        self.start = start
        self.finite: Any = here(point.finite())

    def at(self, free: Matrix, index: Index) -> Point | None:
        """The sums of some cells, if all are where they start and have finite sums there."""
        point = self.point
        if point is None or type(free) is not type(self.start) or not self.finite[index].all():
            return None
        if not np.array_equal(free, columns(self.start, index)):
            return None
        return Point(*(columns(x, index) for x in point))


def only(value: Any) -> DimArray:
    """The array in a leaf."""
    return value if isinstance(value, DimArray) else adapter_of(value).parts(value)[0]


def _without_observations(problem: Residuals, index: Index) -> Flags:
    """The cells (cell,) in which nothing is finite of the last argument, by convention the observations."""
    parts, out = Tree(problem.arguments(index)["data"][-1:]).parts, np.ones(len(index), bool)
    for known in (isfinite(x) for x in parts):
        seen = problem.table(cast(known, float), len(index), "observations").to_numpy()
        out &= ~seen.reshape(len(index), -1).any(axis=1)
    return out & bool(parts)


def filled(args: Any) -> Any:
    """Arguments in which no number is missing."""
    data, sigma = Tree(args["data"]), Tree(args["sigma"])
    whole = [where(isfinite(x), x, c(1.0)) for x in sigma.parts]
    return {**args, "data": data.rebuild([fill(x) for x in data.parts]), "sigma": sigma.rebuild(whole)}


def without_infinity(sigma: Any) -> Any:
    """Standard deviations with NaN in place of infinity: neither counts."""
    tree = Tree(sigma)
    known = [isfinite(x) for x in tree.parts]
    if all(k.to_numpy().all() for k in known):
        return sigma
    return tree.rebuild([where(k, x, c(math.nan)) for k, x in zip(known, tree.parts, strict=True)])


def fill(x: DimArray) -> DimArray:
    """Missing numbers replaced by the mean, in the same cell, of those that are there."""
    known = isfinite(x)
    dims = tuple(n for n in x.names if n is not CELL)
    count = maximum(total(cast(known, x.dtype), dims), c(1.0))
    return where(known, x, divide(total(select(known, x), dims), count))
