"""``least_squares``: the parameters that make residuals small, in every cell at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from namedgrad.fit.cells import in_a_cell
from namedgrad.fit.given import Given
from namedgrad.fit.hidden import as_vectorized
from namedgrad.fit.implicit import differentiable
from namedgrad.fit.lazy import fit_lazily, is_lazy
from namedgrad.fit.losses import robust
from namedgrad.fit.parameters import labels_of, pairs_of
from namedgrad.fit.problem import TOLERANCE, require_positive
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.result import LeastSquaresResult
from namedgrad.fit.shared import outcome
from namedgrad.fit.starts import find_starts, given_starts
from namedgrad.fit.times import Origins, labels_among, origins, with_dates
from namedgrad.transforms.progress import Progress

PER_PARAMETER = 100  # iterations


def least_squares(
    residual: Callable[..., Any],
    params: Any,
    *data: Any,
    over: Any = (),
    bounds: Mapping[Any, Any] | None = None,
    loss: str = "linear",
    loss_scale: float = 1.0,
    sigma: Any = None,
    prior: Mapping[Any, Any] | None = None,
    fixed: Iterable[Any] | None = (),
    shared: Iterable[Any] | None = (),
    tol: float | None = TOLERANCE,
    max_iterations: int | None = None,
    chunk: int | None = None,
    progress: bool = False,
) -> LeastSquaresResult:
    """Fit parameters so that the sum of squared residuals is least, in every cell of ``over`` at once.

    Parameters
    ----------
    residual : callable
        ``residual(params, *data)``: plain Python on the arrays that it is given, as for :func:`namedgrad.grad`. It sees
        one cell: the dims of ``over`` are hidden. Its derivatives are taken by namedgrad.
    params : dict or Dataset
        Start values by name: numbers, or arrays. A number, or an array without dims of ``over``, stands for one
        parameter per cell. An array with some of these dims is one parameter for all cells along the others, which
        couples them: ``b`` over ``lat`` is shared along ``lon``. Dims that are not in ``over`` are the parameter's own.
        For None, or for a list of names in place of the dict, start values are found from the data, cell by cell,
        positive where a sign makes no difference, as that of a width. Terms that may change places, as two peaks, are
        in the order of the first of their parameters that is not linear.
    *data
        Arrays and whatever else ``residual`` takes; by convention the observations come last. Of complex ones return
        both parts, ``{"real": r.real, "imag": r.imag}``, or join them along a dim of their own. Residuals that are NaN
        or infinite because data are missing, that ``residual`` itself masks, or that are NaN whatever the parameters
        are, as what a shift loses, do not count; a model that is not finite at the start values is reported in
        ``status``.
    over : name or names
        The dims whose cells are independent problems. None: a single problem.
    bounds : dict, optional
        ``{name: (lower, upper)}``, numbers or arrays over dims of the parameter or of ``over``, which meet start values
        and data by label where both have some; None for no bound. A start value outside is moved to the bound; a cell
        where one is NaN is not fitted.
    loss : {"linear", "huber", "soft_l1", "cauchy", "arctan"}
        What is summed of the squared residuals, as in :func:`scipy.optimize.least_squares`.
    loss_scale : float
        Size of the residuals beyond which a robust loss takes them for outliers.
    sigma : number or array, optional
        Standard deviations of the observations: residuals are divided by it. NaN or infinity leaves an observation out.
    prior : dict, optional
        ``{name: (mean, standard deviation)}``, numbers or arrays as in ``bounds``. Each counts as one more residual,
        ``(parameter - mean) / standard deviation``; so residuals should be in standard deviations too: give ``sigma``.
        A robust ``loss`` leaves it squared.
    fixed : names
        Parameters that are held at their start values.
    shared : names
        Parameters that are the same in all cells, for which no dims can say so.
    tol : float
        A cell has converged when an undamped step is predicted to lower the cost by less than ``tol**1.75`` of itself,
        which for 1e-8 is to move by less than about 1e-6 standard errors, or to move every parameter, and lower the
        cost, by less than ``tol`` of itself. That step is taken.
    max_iterations : int, optional
        Evaluations per cell after the first; by default 100 for each of its parameters, as in SciPy. A cell that fails,
        or ends where the data do not determine all parameters, is tried again, each time with as many; cells that share
        parameters may each be fitted with as many at every step of these.
    chunk : int, optional
        Cells that are worked on at once, which bounds memory; by default several thousand, of which a few hundred
        thousand residuals are looked at at a time.
    progress : bool
        Show a bar that counts finished cells.

    Returns
    -------
    LeastSquaresResult
        Everything in it is labelled: ``params``, ``stderr``, ``covariance``, ``status`` per cell and more. A cell that
        cannot be fitted says so in ``status``, and disturbs no other. Where parameters are shared, or have dims of
        their own, ``covariance`` is a mapping of named blocks, ``covariance["a", "b"]``. dask arrays give a
        :class:`~namedgrad.fit.LazyResult`. Inside of a transform that differentiates something that is given here, or
        captured, a :class:`~namedgrad.fit.DifferentiableResult`.

    Raises
    ------
    AxisError
        If dims do not fit: no argument has a dim of ``over``, a parameter has others, ``residual`` captured an array
        that has one, or ``sigma`` does not match.
    TypeError
        If the residual is not made of real floating-point arrays.
    TraceError
        If the fit is differentiated twice, or within :func:`namedgrad.compile`.

    See Also
    --------
    minimize : any loss instead of squared residuals.

    Notes
    -----
    Levenberg-Marquardt with a damping per cell, on normal equations that are built from one forward derivative per
    parameter. Parameters in which the residuals are linear, found by following them through the calls of one run, are
    solved for in closed form. Cells that are done make room for waiting ones. Cells that share parameters are one
    problem, whose equations are solved by their Schur complement. Where there are many cells threads share them: as
    many as there are cores, at most ``OMP_NUM_THREADS``; linear algebra starts none of its own meanwhile. Several
    arrays, a Dataset or a dict, count as one list of residuals. Dates among the data, also in a Dataset or DataTree, or
    in coordinates but those of the cells, become seconds since the earliest where the function cannot compute with
    them, and those in coordinates of ``sigma``, start values, priors and bounds alike; ``params.attrs`` says so, unless
    dates are dask's. Dates of several calendars are refused then, as are captured arrays that have such coordinates.
    Derivatives of ``params`` and ``cost`` are those of the minimum (implicit function theorem), of first order, in both
    modes; those of fits of dask arrays are lazy, and ``residual`` may capture nothing that is differentiated then.

    The covariance is the inverse of ``J.T @ J`` times the
    residual variance ``2 cost / dof``, as in :func:`scipy.optimize.curve_fit`, also for a parameter on its bound.

    Examples
    --------
    >>> import numpy as np, xarray as xr, namedgrad as ng
    >>> t = xr.DataArray(np.linspace(0, 3, 7), dims="time")
    >>> rate = xr.DataArray([0.5, 1.0, 2.0], dims="site", coords={"site": ["a", "b", "c"]})
    >>> y = 3 * np.exp(-rate * t)
    >>> def residual(p, t, y):
    ...     return p["size"] * np.exp(-p["rate"] * t) - y
    >>> fit = ng.least_squares(residual, {"size": 1.0, "rate": 1.0}, t, y, over="site")
    >>> fit.params["rate"].round(6).to_series()
    site
    a    0.5
    b    1.0
    c    2.0
    Name: rate, dtype: float64
    """
    require_positive(tol=tol, max_iterations=max_iterations, chunk=chunk)
    robust_loss = robust(loss, loss_scale)
    fixed, shared = ((x,) if isinstance(x, str) else () if x is None else tuple(x) for x in (fixed, shared))
    params, missing = given_starts(params)
    if nowhere := [n for n in missing if n in fixed]:
        raise ValueError(f"fixed: {nowhere} have no start values that they could be held at; give numbers or arrays")
    labels = labels_of((params, data, sigma), over)
    limits = pairs_of(bounds, params, "bounds", "(lower, upper)", labels)
    known = pairs_of(prior, params, "prior", "(mean, standard deviation)", labels)
    given = Given(params=params, data=data, bounds=limits, sigma=sigma, prior=known)
    options: dict[str, Any] = {
        "loss": robust_loss, "fixed": fixed, "shared": shared, "tol": TOLERANCE if tol is None else tol,
        "max_iterations": max_iterations, "chunk": None if chunk is None else int(chunk),
    }  # fmt: skip
    if not is_lazy(given.plain):
        return _fit(given, residual, over, missing, progress=progress, **options)
    one = functools.partial(_fit_chunk, residual, over, missing, options)
    since = origins(data, given.plain, over)
    return fit_lazily(one, given, since, over, residuals=True, shared=shared, fixed=fixed)  # type: ignore[return-value]


def _fit(
    given: Given, residual: Callable[..., Any], over: Any, missing: Sequence[Any], *, tol: float,
    max_iterations: int | None, progress: bool, since: Origins | None = None, **options: Any,
) -> Any:  # fmt: skip
    """The fit of arrays in memory."""

    def solve() -> LeastSquaresResult:
        plain = given.plain
        others = {n: x for n, x in plain.items() if n != "data"}

        def begin(
            data: Sequence[Any], others: Mapping[str, Any], over: Any = over, function: Any = residual, **more: Any
        ) -> Residuals:
            return Residuals(function, data=data, over=over, **others, **(options | more))

        def start_values(problem: Residuals, over: Any, others: Mapping[str, Any]) -> Any:
            same = functools.partial(begin, problem.data, others, over)
            loss = problem.loss and problem.loss.to_begin_with
            problem = problem if loss == problem.loss else same(loss=loss)
            rows = [problem.parameters.rows[n].start for n in missing]
            return find_starts(problem, rows, lambda function: same(function=function, loss=None))

        problem, attrs, readers, read_others = with_dates(begin, residual, plain["data"], others, over, since)
        if readers:
            problem.parameters.relabel(plain["params"])
        if missing:
            same, dims, read = problem, over, read_others(others)
            if not problem.cells.names:
                cell, dims = in_a_cell(problem.data)
                same = begin(cell, read, dims)
            problem.begin_at(start_values(same, dims, read))
        most = PER_PARAMETER * int(problem.free.sum()) if max_iterations is None else max_iterations
        with Progress(problem.cells.count, "least_squares", shown=progress) as bar:
            found = outcome(problem, problem.solve(tol, most, bar))
        found.params.attrs.update(attrs)
        found.readers, found.read_others = readers, read_others
        found.labels = labels_among(plain["data"]) if readers else {}
        return found

    result = given.run(solve)
    return differentiable(result, given) if given.levels else as_vectorized(result)


def _fit_chunk(
    residual: Callable[..., Any], over: Any, missing: Sequence[Any], options: Mapping[str, Any], *,
    since: Origins, **args: Any,
) -> LeastSquaresResult:  # fmt: skip
    """The fit of one chunk of dask arrays."""
    found: LeastSquaresResult = _fit(Given(**args), residual, over, missing, since=since, progress=False, **options)
    return found
