"""The residuals of a fit: weighted, where they were observed, with prior knowledge of the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, describe, make
from namedgrad.axes import NONE, AxisError
from namedgrad.fit import small
from namedgrad.fit.batch import Flags, Found, solve
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.losses import Robust
from namedgrad.fit.marquardt import Marquardt, Point
from namedgrad.fit.parameters import Matrix, as_entries, as_float, pairs_of
from namedgrad.fit.problem import Problem, batches, single
from namedgrad.fit.progress import Progress
from namedgrad.fit.status import Status
from namedgrad.rules.elementwise import c, divide, maximum
from namedgrad.rules.structure import cast, contract, isfinite, multiply, select, total, where
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.tape import quiet

NUDGE = 0.1  # relative change of start values that shows what depends on them


class Residuals(Problem):
    """A residual function as Levenberg-Marquardt needs it.

    Attributes
    ----------
    size : cells in one batch
    observed : (cell, dims...) which residuals count; None if all do
    counts : (cell,) how many do
    unusable : (cell,) whether the fit cannot start
    """

    def __init__(
        self, function: Callable[..., Any], params: Any, data: Sequence[Any], *, loss: Robust | None, sigma: Any,
        prior: Any, chunk: int | None, **settings: Any,
    ) -> None:  # fmt: skip
        self.loss, self.weighted = loss, sigma is not None
        known = pairs_of(prior, as_entries(params), "prior", "(mean, standard deviation)")
        sigma = as_float(sigma, "sigma") if self.weighted else None
        super().__init__(function, params, data, sigma=sigma, prior=known, **settings)
        for name, own in self.parameters.own.items():
            if own.names:
                raise AxisError(
                    f"the parameter {name!r} has the dims {own.names}, but least_squares fits one number per parameter "
                    "and cell; put these dims into over=, or use ng.minimize"
                )
        self._weigh()
        self._look(chunk)

    def _weigh(self) -> None:
        given = self.cells.take(self.everywhere, "sigma", "prior")
        for x in Tree(given["sigma"]).parts:
            if (x.to_numpy() <= 0).any():
                raise ValueError("sigma must be positive; NaN leaves an observation out")
        mean, deviation = ({n: pair[i] for n, pair in given["prior"].items()} for i in (0, 1))
        self.mean, deviations = self.parameters.matrix(mean, 0.0), self.parameters.matrix(deviation, math.inf)
        if not (deviations > 0).all():
            raise ValueError("prior: give (mean, standard deviation), with positive standard deviations")
        self.precision = deviations**-2

    # ---------------------------------------------------------------- which residuals count

    def _look(self, chunk: int | None) -> None:
        """One call at the start values: where it is not finite because data are missing, a residual does not count."""
        start = self.start
        first = self.residual(start[:, :1], self.everywhere[:1])
        shape = first.full_shape[1:]
        self.dims = first.names[1:]
        per_cell = max(1, math.prod(shape))
        self.size = self.batch(chunk, per_cell)
        self.observed: np.ndarray[Any, Any] | None = None
        self.counts = np.full(self.cells.count, per_cell)
        self.unusable: Flags = np.array(np.logical_not(np.isfinite(start).all(axis=0)))
        for index in batches(self.everywhere, self.size):
            r = self.residual(start[:, index], index)
            if not isfinite(r).all().to_numpy():
                if self.observed is None:
                    self.observed = np.ones((self.cells.count, *shape), bool)
                self._skip(r, index)

    def _skip(self, r: DimArray, index: Index) -> None:
        """Tell missing data from a model that fails at the start values."""
        start = self.start[:, index]
        seen = isfinite(r).to_numpy()
        complete = filled(self.arguments(index))
        sound = self._finite(start, index, complete)
        if not sound.all():  # the function masks some itself, if that does not depend on the parameters
            _, J = self.jacobian(start, index, complete)
            masked = np.logical_and.reduce([isfinite(column).to_numpy() for column in J])
            for sign in (1, -1):
                near = start + sign * NUDGE * np.where(start != 0, start, 1.0)
                near = np.clip(near, self.lower[:, index], self.upper[:, index])
                masked &= ~self._finite(near, index, complete)
            sound |= masked
        rest = tuple(range(1, seen.ndim))
        self.observed[index] = seen  # type: ignore[index]
        self.counts[index] = np.logical_or(seen, ~sound).sum(axis=rest)
        self.unusable[index] |= np.logical_not(sound.all(axis=rest))

    def arguments(self, index: Index) -> dict[str, Any]:
        """Data and sigma of some cells."""
        return self.cells.take(index, "data", "sigma")

    def output(self, matrix: Matrix, index: Index, args: Any = None, *, weighted: bool = True) -> Output:
        """What the function returns for some cells, with their data or other arguments."""
        args = self.arguments(index) if args is None else args
        with quiet():
            return self.checked(self.call(self.parameters.parts(matrix, self.backend), args), args, weighted=weighted)

    def residual(self, matrix: Matrix, index: Index, args: Any = None) -> DimArray:
        """Residuals ``(CELL, dims...)`` of some cells."""
        return self.table(self.output(matrix, index, args).parts[0], len(index), "residual")

    def _finite(self, matrix: Matrix, index: Index, args: Any) -> Flags:
        return isfinite(self.residual(matrix, index, args)).to_numpy()

    def checked(self, out: Output, args: Any, *, weighted: bool = True) -> Output:
        """The output as one array, divided by sigma."""
        single(out, "residual")
        if not (self.weighted and weighted):
            return out
        divided = Output(out.tree.rebuild(out.parts) / args["sigma"])
        single(divided, "residual divided by sigma")
        before, after = out.parts[0], divided.parts[0]
        if before.sizes != after.sizes:
            raise AxisError(f"sigma does not match: it makes {describe(after)} of the residual {describe(before)}")
        return divided

    # ---------------------------------------------------------------- derivatives

    def jacobian(self, matrix: Matrix, index: Index, args: Any = None) -> tuple[DimArray, list[DimArray]]:
        """Residuals ``(CELL, dims...)`` and their derivative in every free parameter; those that do not count are 0."""
        tape = self.record(matrix, self.arguments(index) if args is None else args)
        r = self.table(tape.outs[0], len(index), "residual")
        columns = []
        for k in range(len(tape.ins)):
            ts: list[DimArray | None] = [None] * len(tape.ins)
            ts[k] = self.one()
            columns.append(self.table(tape.push(ts)[0], len(index), "residual"))
        return self.counted(r, index), [self.counted(column, index) for column in columns]

    def counted(self, table: DimArray, index: Index) -> DimArray:
        """A table of some cells with 0 where a residual does not count."""
        if self.observed is None:
            return table
        seen = make(backends.call(self.backend.asarray, self.observed[index]), (CELL, *self.dims), NONE)
        return select(seen, table)

    def evaluate(self, free: Matrix, index: Index, *, bent: bool = False) -> Point:
        """Cost, gradient and normal matrix of some cells; ``bent``: with the true curvature of a robust loss."""
        r, J = self.jacobian(self.full(free, index), index)
        if self.loss is None:
            twice, weighted = self._sums(r, r), J
        else:
            rho, r, curvature = self.loss.weigh(r, bent=bent)
            twice, weighted = total(rho, self.dims).to_numpy(), [multiply(column, curvature) for column in J]
        gradient = np.array([self._sums(column, r) for column in J])
        normal = np.empty((len(J), *gradient.shape))
        for i, row in enumerate(weighted):  # two columns at a time: three times as fast as one matrix product per cell
            for j in range(i + 1):
                normal[i, j] = normal[j, i] = self._sums(row, J[j])
        return self._with_prior(Point(0.5 * twice, gradient, normal), free, index)

    def _sums(self, x: DimArray, y: DimArray) -> Matrix:
        return contract(x, y, self.dims).to_numpy()

    def _with_prior(self, at: Point, free: Matrix, index: Index) -> Point:
        precision = self.precision[self.free][:, index]
        off = free - self.mean[self.free][:, index]
        rows = np.arange(len(free))
        at.normal[rows, rows] += precision
        return Point(at.cost + 0.5 * small.dot(off * off, precision), at.gradient + off * precision, at.normal)

    # ---------------------------------------------------------------- solution

    def solve(self, tol: float, max_iterations: int, progress: Progress) -> Found:
        """Fit every cell that can be; gives ``x``, ``cost``, ``normal`` and ``iterations``."""
        enough = self.rows_of_data() >= self.free.sum()
        usable = enough & ~self.unusable
        start, lower, upper = (m[self.free] for m in (self.start, self.lower, self.upper))
        with quiet():
            found = solve(
                self.evaluate, lambda index: Marquardt.enter(index, start[:, index], lower[:, index], upper[:, index]),
                self.everywhere[usable], self.cells.count, keep=("x", "cost", "normal", "iterations"),
                size=self.size, tol=tol, max_iterations=max_iterations, report=progress.update,
            )  # fmt: skip
            for index in batches(self.everywhere[usable], self.size) if self.loss is not None else ():
                at = self.evaluate(found.arrays["x"][:, index], index, bent=True)
                found.arrays["normal"][..., index] = at.normal
        found.status[self.unusable] = Status.NOT_FINITE
        found.status[~enough] = Status.NO_DATA
        progress.update(int((~usable).sum()))
        return found

    def rows_of_data(self) -> np.ndarray[Any, Any]:
        """Residuals that count, and priors."""
        return self.counts + (self.precision[self.free] > 0).sum(axis=0)


def filled(args: Any) -> Any:
    """Arguments in which no number is missing."""
    tree = Tree((args["data"], args["sigma"]))
    data, sigma = tree.rebuild([fill(x) for x in tree.parts])
    return {**args, "data": data, "sigma": sigma}


def fill(x: DimArray) -> DimArray:
    """Missing numbers replaced by the mean, in the same cell, of those that are there."""
    known = isfinite(x)
    dims = tuple(n for n in x.names if n is not CELL)
    count = maximum(total(cast(known, x.dtype), dims), c(1.0))
    return where(known, x, divide(total(select(known, x), dims), count))
