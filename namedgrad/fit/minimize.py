"""``minimize``: parameters that make a loss small, in every cell at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray, describe
from namedgrad.axes import AxisError
from namedgrad.fit.batch import Flags, Found, solve
from namedgrad.fit.cells import Index
from namedgrad.fit.descent import LBFGS, Descent, NewtonCG, Slope
from namedgrad.fit.given import Given
from namedgrad.fit.hidden import as_vectorized
from namedgrad.fit.implicit import differentiable
from namedgrad.fit.lazy import fit_lazily, is_lazy
from namedgrad.fit.minima import MinimizeResult
from namedgrad.fit.one_problem import lbfgsb
from namedgrad.fit.parameters import Matrix, labels_of, pairs_of
from namedgrad.fit.problem import TOLERANCE, Problem, batches, require_positive, single
from namedgrad.fit.result import FitResult
from namedgrad.fit.slopes import Bends, Slopes
from namedgrad.fit.status import Status
from namedgrad.fit.stochastic import Adam, Rate, Scheduled
from namedgrad.fit.times import Origins, origins, with_dates
from namedgrad.transforms.grad import Output
from namedgrad.transforms.progress import Progress
from namedgrad.transforms.tape import quiet

METHODS: dict[str, type[Descent]] = {
    "lbfgs": LBFGS, "newton-cg": NewtonCG, "adam": Adam, "gradient-descent": Descent,
}  # fmt: skip
Callback = Callable[[xr.Dataset, xr.DataArray], Any]
NEARBY = 0.01  # of the parameters: a minimum that nothing has led to is looked at from there


class Loss(Problem):
    """A loss as the descent methods need it."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self.is_coupled:
            name, lacks = next((n, d) for n, d in self.parameters.lacks.items() if d)
            raise AxisError(
                f"the start value of {name!r} has some dims of over={self.cells.names} but lacks {lacks}: cells that "
                f"share a parameter are one problem, so leave {lacks} out of over= and sum the loss over them; or give "
                f"{name!r} all of these dims (.broadcast_like) or none, for one parameter per cell"
            )

    def checked(self, out: Output, args: Any) -> Output:  # noqa: ARG002 - other problems need them
        """The output as one number per cell."""
        single(out, "loss")
        if out.parts[0].dims:
            raise AxisError(
                f"the loss must be one number per cell, got {describe(out.parts[0])}: reduce {out.parts[0].dims}, for "
                "example with .sum() or .mean(), or put them into over="
            )
        return out

    def probe(self) -> None:
        """Call the function once, so that what is wrong with it shows."""
        first = self.everywhere[:1]
        args = self.arguments(first)
        self.checked(self.call(self.parameters.parts(self.start[:, :1], self.backend), args), args)

    def objective(self, parts: Sequence[DimArray], args: Any, seen: DimArray | None) -> DimArray:  # noqa: ARG002
        """The loss per cell."""
        return self.checked(self.call(parts, args), args).parts[0]

    def evaluate(self, free: Matrix, index: Index) -> Slope:
        """Loss and gradient of some cells."""
        rows = self.slopes(index, self.full(free, index))
        return Slope(rows[0], rows[1:])

    def in_units(self, free: Matrix, index: Index) -> Slope:
        """The same in a unit per cell, a power of 2 near what was found first: in others squares may overflow."""
        cost, gradient = self.evaluate(free, index)
        new = np.isnan(self.unit[index])
        if new.any():
            largest = np.fmax(np.abs(cost), np.abs(gradient * np.where(free != 0, free, 1.0)).max(axis=0, initial=0.0))
            known = np.isfinite(largest) & (largest > 0)
            unit = np.ldexp(0.5, np.frexp(np.where(known, largest, 1.0))[1])
            self.unit[index] = np.where(new, unit, self.unit[index])
        return Slope(cost / self.unit[index], gradient / self.unit[index])

    def bend(self, free: Matrix, index: Index) -> Callable[[Matrix], Matrix]:
        """The Hessian of some cells in these units, as a product with vectors."""
        matrix = self.full(free, index)

        def times(v: Matrix) -> Matrix:
            along = np.zeros_like(matrix)
            along[self.free] = v
            return self.bends(index, matrix, along) / self.unit[index]

        return times

    def is_lowest(self, free: Matrix, level: Matrix, index: Index) -> Flags:
        """Whether the loss rises to both sides of where cells are, along rows that are level, and depends on each.

        As its slopes there tell.
        """
        lower, upper = (m[np.ix_(self.free, index)] for m in (self.lower, self.upper))
        rises, flat = np.ones(len(index), bool), level
        for side in (-NEARBY, NEARBY):
            there = np.clip(free + side * np.where(level, np.where(free != 0, np.abs(free), 1.0), 0.0), lower, upper)
            slope = self.evaluate(there, index).gradient
            ahead = np.sum(slope * (there - free), axis=0)
            rises &= ~(ahead <= 0) | (there == free).all(axis=0)  # NaN is no way to go, nor is a bound
            flat = flat & (slope == 0)
        return rises & ~flat.any(axis=0)

    def _per_cell(self) -> float:
        """Numbers of data in one cell."""
        return sum(math.prod(x.full_shape) for x in self.cells.arrays()) / max(self.cells.count, 1)

    def solve(
        self, method: type[Descent], tol: float, max_iterations: int, progress: Progress, rate: Rate = None,
        callback: Callback | None = None,
    ) -> Found:  # fmt: skip
        """Minimise in every cell; gives ``x``, ``cost`` and ``iterations``."""
        # Where steps have set lengths the loss may be drawn anew; a callback may change what it captures.
        steady = callback is None and not issubclass(method, Scheduled)
        self.slopes, self.bends = Slopes(self, steady=steady), Bends(self, steady=steady)
        self.size = self.batch(None, self._per_cell())
        self.unit = np.full(self.cells.count, 1.0 if method is Scheduled else np.nan)
        own: dict[str, Any] = {}
        if method is NewtonCG:
            own["curvature"] = self.bend
        if issubclass(method, Scheduled):
            own |= {"rate": rate, "most": max_iterations}
        try:
            with quiet():
                found = self._searched(method, own, tol, max_iterations, progress, Watch(self, callback))
                return self._looked_at(found)
        finally:
            del self.slopes, self.bends  # and what they recorded

    def _searched(
        self, method: type[Descent], own: Mapping[str, Any], tol: float, max_iterations: int, progress: Progress,
        watch: Watch,
    ) -> Found:  # fmt: skip
        start, lower, upper = (m[self.free] for m in (self.start, self.lower, self.upper))
        usable = np.isfinite(self.start).all(axis=0)
        if method is LBFGS and not self.cells.names and usable.all():
            found = lbfgsb(
                lambda x: self.evaluate(x, self.everywhere), start[:, 0], lower[:, 0], upper[:, 0], tol=tol,
                max_iterations=max_iterations, watch=lambda x, cost: watch(self.everywhere, x, cost),
            )  # fmt: skip
            progress.update(1)
            return found
        found = solve(
            self.in_units, lambda at: method.enter(at, start[:, at], lower[:, at], upper[:, at], **own),
            self.everywhere[usable], self.cells.count, keep=("x", "cost", "gradient", "iterations"),
            size=self.size, tol=tol, max_iterations=max_iterations, report=progress.update,
            watch=None if watch.callback is None else lambda b: watch(b.index, b.x, b.cost * self.unit[b.index]),
        )  # fmt: skip
        found.arrays["cost"] *= self.unit
        found.status[~usable] = Status.NOT_FINITE
        progress.update(int((~usable).sum()))
        return found

    def _looked_at(self, found: Found) -> Found:
        """The same, where what nothing has led to is a minimum only if the loss rises around it.

        A slope of 0 may be that of a plateau, of a maximum, or of a loss that has underflowed.
        """
        x, gradient = found.arrays["x"], found.arrays["gradient"]
        level = (gradient == 0) | (found.arrays["iterations"] == 0)
        doubtful = np.flatnonzero(level.any(axis=0) & np.isin(found.status, (Status.CONVERGED, Status.BOUND)))
        for index in batches(doubtful, self.size):
            lowest = self.is_lowest(x[:, index], level[:, index], index)
            found.status[index] = np.where(lowest, found.status[index], Status.SINGULAR)
        return found


class Watch:
    """Calls the user's function after every iteration with where all cells are."""

    def __init__(self, problem: Loss, callback: Callback | None) -> None:
        self.problem, self.callback = problem, callback
        self.matrix, self.cost = problem.start.copy(), np.full(problem.cells.count, np.nan)

    def __call__(self, index: Index, x: Matrix, cost: Any) -> bool:
        """Whether to stop."""
        if self.callback is None:
            return False
        p = self.problem
        self.matrix[np.ix_(p.free, index)], self.cost[index] = x, cost
        params, cost = p.parameters.dataset(self.matrix.copy()), self.cost.copy()  # which may be kept, and written to
        sizes = p.cells.sizes
        shown = xr.DataArray(cost.reshape(tuple(sizes.values())), p.cells.coords, tuple(sizes), "cost")
        try:
            return bool(self.callback(params, shown))
        except StopIteration:  # as SciPy's callbacks say it
            return True


def minimize(
    loss: Callable[..., Any],
    params: Any,
    *data: Any,
    over: Any = (),
    method: str = "lbfgs",
    bounds: Mapping[Any, Any] | None = None,
    tol: float | None = None,
    max_iterations: int = 1000,
    progress: bool = False,
    learning_rate: Rate = None,
    callback: Callback | None = None,
) -> FitResult:
    """Find the parameters for which a loss is least, in every cell of ``over`` at once.

    Parameters
    ----------
    loss : callable
        ``loss(params, *data)``: plain Python on the arrays that it is given, as for :func:`namedgrad.grad`. It sees one
        cell: the dims of ``over`` are hidden. It returns one number, and its derivatives are taken by namedgrad.
        Sums of xarray leave out NaN, also what a loss is outside of its domain, such as a logarithm of a width below 0:
        give ``bounds``, or sum with ``skipna=False``, and steps out of the domain are taken back.
    params : dict or Dataset
        Start values by name: numbers or arrays, with all dims of ``over`` or none, and any dims of their own.
    *data
        Arrays and whatever else ``loss`` takes.
    over : name or names
        The dims whose cells are independent problems. None: a single problem.
    method : {"lbfgs", "newton-cg", "adam", "gradient-descent"}
        Quasi-Newton with limited memory (without ``over``, SciPy's L-BFGS-B); Newton by conjugate gradients on Hessian
        products; steepest descent: these search along a line for a point that satisfies the weak Wolfe conditions.
        Adam, and gradient descent with a ``learning_rate``, take steps of a length that is set beforehand, and so are
        for losses that are drawn anew in every evaluation.
    bounds : dict, optional
        ``{name: (lower, upper)}``, numbers or arrays over dims of the parameter or of ``over``, which meet start values
        and data by label where both have some; None for no bound. A start value outside is moved to the bound; a cell
        where one is NaN is not fitted.
    tol : float, optional
        1e-8 by default. A cell has converged when the (quasi-)Newton step moves no parameter by more than ``tol`` of
        itself, or lowers the loss by less than ``tol**2`` of itself; with gradient descent, when a change of any
        parameter by all of itself would change the loss by less than ``tol`` of itself, to first order, as with Adam.
    max_iterations : int
        Evaluations per cell after the first.
    progress : bool
        Show a bar that counts finished cells.
    learning_rate : float or callable, optional
        Of Adam and gradient descent; a function is given the number of the step. By default Adam's falls from a
        twentieth of the size of each parameter to 0 within ``max_iterations``, and gradient descent looks for its own.
    callback : callable, optional
        ``callback(params, cost)`` is called after every iteration, with a Dataset and an array over all cells; if it
        returns something true, or raises StopIteration as SciPy's do, the fit ends there, with the status
        ``max_iterations`` in cells that are not done.

    Returns
    -------
    FitResult
        ``params``, ``cost``, ``status`` and ``iterations``, labelled, per cell, and what follows from the Hessian, see
        :class:`MinimizeResult <namedgrad.fit.MinimizeResult>`: ``covariance`` and ``stderr``, if the loss is minus a
        log-likelihood. Derivatives of ``params`` are those of a loss that is smooth there but for kinks that hold
        parameters at 0, as that of ``abs``; other kinks are not seen.

    Raises
    ------
    AxisError
        If the loss has dims, or the dims of the arguments do not fit.
    TypeError
        If the loss is not one real floating-point array.

    See Also
    --------
    least_squares : faster for sums of squares, and gives standard errors.

    Examples
    --------
    >>> import namedgrad as ng
    >>> target = ng.DimArray([1.0, 2.0, 3.0], ("cell",))
    >>> fit = ng.minimize(lambda p, target: (p["x"] ** 2 - target) ** 2, {"x": 1.0}, target, over="cell")
    >>> fit.params["x"].round(4).values
    array([1.    , 1.4142, 1.7321])
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of {', '.join(map(repr, METHODS))}")
    require_positive(tol=tol, max_iterations=max_iterations)
    if isinstance(params, (list, tuple)) and any(isinstance(n, str) for n in params):
        raise TypeError(f"params needs start values, as in {{{params[0]!r}: 1.0}}; only least_squares finds them")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of params and costs, got {type(callback).__name__}")
    if learning_rate is not None and method not in {"adam", "gradient-descent"}:
        raise ValueError(f"method={method!r} finds its own steps; learning_rate is for 'adam' and 'gradient-descent'")
    if not callable(learning_rate):
        require_positive(learning_rate=learning_rate)
    limits = pairs_of(bounds, params, "bounds", "(lower, upper)", labels_of((params, data), over))
    given = Given(params=params, data=data, bounds=limits)
    options: dict[str, Any] = {
        "method": method, "tol": tol, "max_iterations": max_iterations, "learning_rate": learning_rate,
        "callback": callback,
    }  # fmt: skip
    if not is_lazy(given.plain):
        return _fit(given, loss, over, progress=progress, **options)
    one = functools.partial(_fit_chunk, loss, over, options)
    return fit_lazily(one, given, origins(data, given.plain, over), over, residuals=False)


def _fit(
    given: Given, loss: Callable[..., Any], over: Any, *, method: str, tol: float | None, max_iterations: int,
    progress: bool, learning_rate: Rate, callback: Callback | None, since: Origins | None = None,
) -> Any:  # fmt: skip
    """The fit of arrays in memory."""

    def solve() -> FitResult:
        plain = given.plain

        others = {n: x for n, x in plain.items() if n != "data"}

        def begin(data: Sequence[Any], others: Mapping[str, Any]) -> Loss:
            problem = Loss(loss, data=data, over=over, **others)
            problem.probe()
            return problem

        problem, attrs, readers, read_others = with_dates(begin, loss, plain["data"], others, over, since)
        if readers:
            problem.parameters.relabel(plain["params"])
        with Progress(problem.cells.count, "minimize", shown=progress) as bar:
            how = Scheduled if method == "gradient-descent" and learning_rate is not None else METHODS[method]
            found = problem.solve(how, TOLERANCE if tol is None else tol, max_iterations, bar, learning_rate, callback)
        result = MinimizeResult(problem, found.arrays["x"], found)
        result.params.attrs.update(attrs)
        result.readers, result.read_others = readers, read_others
        return result

    result = given.run(solve)
    return differentiable(result, given) if given.levels else as_vectorized(result)


def _fit_chunk(
    loss: Callable[..., Any], over: Any, options: Mapping[str, Any], *, since: Origins, **args: Any
) -> FitResult:
    """The fit of one chunk of dask arrays."""
    found: FitResult = _fit(Given(**args), loss, over, since=since, progress=False, **options)
    return found
