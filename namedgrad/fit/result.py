"""What a fit gives back: named, labelled, with a status for every cell."""

from __future__ import annotations

import functools
import html
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name
from namedgrad.fit import small
from namedgrad.fit.batch import Found
from namedgrad.fit.blocks import blocks_of
from namedgrad.fit.cells import Cells, Index
from namedgrad.fit.determined import inverses
from namedgrad.fit.halves import is_complex
from namedgrad.fit.observations import leaf_of, log_weights, misfits, models, squares, sums_of_squares
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.places import here, on_device_of
from namedgrad.fit.problem import Problem, batches, require_free
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.several import is_several, names_of
from namedgrad.fit.status import Status, attributes
from namedgrad.fit.sure import Sure
from namedgrad.fit.times import as_given, labels_among, read_all, relabelled
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import flatten, unflatten
from namedgrad.transforms.tape import quiet
from namedgrad.xarray.convert import hidden_names, some_of

EPS = float(np.finfo(float).eps)


class FitResult:
    """The outcome of a fit.

    Attributes
    ----------
    params : xarray.Dataset
        One variable per parameter, over the dims of ``over``; NaN where the fit could not start.
    status : xarray.DataArray
        How each cell ended; ``flag_values`` and ``flag_meanings`` say what the numbers mean.
    iterations : xarray.DataArray
        Evaluations after the first, of all attempts that led there, together maybe more than ``max_iterations``.
    cost : xarray.DataArray
        The value that was minimised.
    """

    readers: Sequence[Callable[[Any], Any]] = ()  # what makes of data what the function takes
    read_others: Callable[[Any], Any] = staticmethod(as_given)  # the same for the other arguments

    def __init__(self, problem: Problem, matrix: Matrix, found: Found) -> None:
        self._problem, self._matrix = problem, matrix
        self.params: xr.Dataset = problem.parameters.dataset(matrix)
        self.status = self._grid(found.status, "status")
        self.status.attrs = attributes()
        tries = np.nan_to_num(found.arrays["iterations"]).astype(int)
        self.iterations = self._grid(tries, "iterations", "iterations of the fit")
        self.cost = self._grid(found.arrays["cost"], "cost", "value at the solution")

    def _grid(
        self, values: Any, name: str, long_name: str | None = None, dims: tuple[Name, ...] = (), coords: Any = None
    ) -> xr.DataArray:
        """Values (cell, dims...) as an array over the dims of the cells, then ``dims``."""
        cells = self._problem.cells
        values = np.asarray(values).reshape((*cells.sizes.values(), *values.shape[1:]))
        attrs = {} if long_name is None else {"long_name": long_name}
        known = cells.coords.assign(coords) if coords else cells.coords
        return xr.DataArray(values, known, (*cells.sizes, *dims), name, attrs)

    def _matrices(self, free: Matrix, name: str, long_name: str) -> Any:
        """A matrix of the free parameters per cell, with zeros for the fixed ones; blocks if some have own dims."""
        p = self._problem.parameters
        if any(own.names for own in p.own.values()):
            return blocks_of(self, free, name, long_name)
        dims = ("param", "param_wrt")
        require_free(self._problem.cells.sizes, dims, name)
        coords = {d: (d, _labels(p.names)) for d in dims}
        return self._grid(self._filled(free), name, long_name, dims, coords)

    def _filled(self, free: Matrix) -> Matrix:
        """Matrices (cell, parameter, parameter) with zeros for those that are fixed."""
        p = self._problem
        full = np.zeros((p.parameters.count, p.parameters.count, p.cells.count))
        full[np.ix_(p.free, p.free)] = free
        return np.moveaxis(full, -1, 0)

    def _summary(self) -> list[str]:
        cells, ends, tries = self._problem.cells, self.status.values, self.iterations.values
        where = " × ".join(f"{n}: {s}" for n, s in cells.sizes.items())
        counts = {s.name.lower(): np.count_nonzero(ends == s) for s in Status}
        return [
            f"{cells.count} {'fit' if cells.count == 1 else 'fits'}{f' over ({where})' if where else ''}: "
            + ", ".join(f"{n} {name}" for name, n in counts.items() if n),
            f"iterations: median {np.median(tries):.0f}, most {tries.max()}" if tries.size else "no cells",
        ]

    def _lines(self) -> list[tuple[str, str]]:
        return [(str(n), _typical(v.values)) for n, v in self.params.items()]

    def __repr__(self) -> str:
        rows = self._lines()
        width = max(len(n) for n, _ in rows)
        return "\n".join([f"<{type(self).__name__}>", *self._summary(), *(f"    {n:<{width}}  {t}" for n, t in rows)])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(n)}</td><td>{html.escape(t)}</td></tr>" for n, t in self._lines())
        head = "<br>".join(html.escape(line) for line in self._summary())
        return (
            f"<div><b>{type(self).__name__}</b><br>{head}<table>{rows}</table>"
            f"<details><summary>params</summary>{self.params._repr_html_()}</details></div>"
        )


class BriefResult(FitResult):
    """One whose values cannot be shown: they are not there yet, or under differentiation."""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}: {s}" for n, s in self.status.sizes.items())
        return f"<{type(self).__name__} over ({sizes}) of {', '.join(map(str, self.params))}>"

    def _repr_html_(self) -> str:
        return f"<div><b>{type(self).__name__}</b>{self.params._repr_html_()}</div>"


class LeastSquaresResult(Sure, FitResult):
    """The outcome of :func:`namedgrad.least_squares`: a :class:`~namedgrad.FitResult` that knows how good the fit is.

    What is said of *observations* means the last argument of the residual function.

    Attributes
    ----------
    dof : xarray.DataArray
        Residuals that count (and priors), less free parameters.
    """

    _problem: Residuals
    labels: Mapping[Any, xr.Variable] = {}  # dates in coordinates of the data, which may have become numbers

    def __init__(self, problem: Residuals, found: Found) -> None:
        cost, dof = found.arrays["cost"], problem.rows_of_data() - problem.free.sum()
        matrix = np.where(np.isnan(cost), np.nan, problem.start)
        matrix[problem.free] = found.arrays["x"]
        normal = found.arrays["normal"]
        unscaled, lost = inverses(normal, on_device_of(np.isfinite(cost), normal))
        squares, lost = here(small.diagonal(normal)), here(lost)
        nowhere = problem.linearity.scaled_by_nothing(found.arrays["x"], squares)
        if nowhere.any():
            unscaled[..., on_device_of(np.flatnonzero(nowhere), normal)] = np.inf
        self._there = normal, unscaled  # of many cells these are where the data are, until somebody asks for them
        lost |= nowhere
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rounding = _rounding(found.arrays["x"], squares) / np.maximum(problem.rows_of_data(), 1)
            variance = np.fmax(2 * cost / np.maximum(dof, 1), rounding)
            self._variance = np.where(np.isfinite(cost) & (dof <= 0), np.inf, variance)
        ended = (found.status != Status.MAX_ITERATIONS) & np.isfinite(cost)
        found.status[lost & ended] = Status.SINGULAR
        super().__init__(problem, matrix, found)
        self.cost.attrs["long_name"] = "half the sum of squared residuals at the solution"
        self.dof = self._grid(np.maximum(dof, 0), "dof", "degrees of freedom")

    # ---------------------------------------------------------------- how sure it is

    @functools.cached_property
    def _normal(self) -> Matrix:
        return here(self._there[0])

    @functools.cached_property
    def _unscaled(self) -> Matrix:
        return here(self._there[1])

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariance of the parameters, with the dims ``param`` and ``param_wrt``, scaled by the residual variance.

        That is no less than what rounding makes. It is 0 for fixed parameters, and infinite where the data do not
        determine all of the others.
        """
        return self._matrices(self._scaled, "covariance", "covariance of the parameters")

    @functools.cached_property
    def unscaled_covariance(self) -> xr.DataArray:
        """The covariance if ``sigma`` is what the errors are, and not only in what proportion they are.

        It is the inverse of :meth:`fisher`: :func:`scipy.optimize.curve_fit` with ``absolute_sigma=True``.
        """
        return self._matrices(self._unscaled, "unscaled_covariance", "covariance of the parameters for known sigma")

    def fisher(self) -> xr.DataArray:
        """Fisher's information about the parameters, ``J.T @ J`` for the Jacobian of the residuals divided by sigma.

        Observations with independent Gaussian errors of standard deviation ``sigma``, or of 1, hold it. Rows and
        columns of fixed parameters are 0.
        """
        return self._matrices(self._normal, "fisher", "Fisher information")

    @property
    def _scaled(self) -> Matrix:
        with np.errstate(invalid="ignore"):
            unknown = np.isinf(self._unscaled) | np.isinf(self._variance)
            return np.where(unknown, np.inf, self._unscaled * self._variance)

    @property
    def _freedom(self) -> xr.DataArray:
        return self.dof

    # ---------------------------------------------------------------- how good it is

    @functools.cached_property
    def chi2(self) -> xr.DataArray:
        """The sum of squared residuals, each divided by its ``sigma``, without priors; NaN where there is no fit.

        For Gaussian errors of standard deviation ``sigma`` it follows a chi-squared distribution with ``dof`` degrees
        of freedom (Seber and Wild 1989, section 2.1).
        """
        values = squares(self._problem, self._matrix)
        return self._grid(values, "chi2", "sum of squared residuals, each divided by its sigma")

    @functools.cached_property
    def _log_likelihood(self) -> Matrix:
        """Of Gaussian residuals, at the variance that makes it largest."""
        n = self._problem.rows_of_data()
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = 2 * self.cost.values.reshape(-1) / n
            return log_weights(self._problem) - 0.5 * n * (np.log(2 * np.pi * variance) + 1)

    @functools.cached_property
    def aic(self) -> xr.DataArray:
        """Akaike's information criterion, -2 log L + 2 k, for k free parameters and the best residual variance.

        Akaike (1974), *A new look at the statistical model identification*. The variance is not counted in k, as in
        statsmodels.
        """
        values = -2 * self._log_likelihood + 2 * self._problem.free.sum()
        return self._grid(values, "aic", "Akaike information criterion")

    @functools.cached_property
    def bic(self) -> xr.DataArray:
        """The Bayesian information criterion, -2 log L + k log n, for k free parameters and n residuals that count.

        Schwarz (1978), *Estimating the dimension of a model*.
        """
        n = np.maximum(self._problem.rows_of_data(), 1)
        values = -2 * self._log_likelihood + self._problem.free.sum() * np.log(n)
        return self._grid(values, "bic", "Bayesian information criterion")

    @functools.cached_property
    def r2(self) -> xr.DataArray:
        """The part of the (weighted) variance of the observations that the fit explains.

        1 - S / S0 for sums of weighted squares of the residuals and of the observations about their weighted mean
        (Draper and Smith 1998, *Applied regression analysis*, section 1.3).
        """
        unexplained, all_ = sums_of_squares(self._problem, self._matrix)
        share = unexplained / np.where(all_ > 0, all_, np.nan)
        return self._grid(1 - share, "r2", "coefficient of determination")

    # ---------------------------------------------------------------- what it says

    @functools.cached_property
    def residual(self) -> xr.DataArray | xr.Dataset:
        """The residual function at the solution, not divided by sigma; NaN where data are missing.

        A Dataset where it returns several arrays.
        """
        problem = self._problem

        def output(index: Index) -> Output:
            args, parts = problem.arguments(index), problem.parameters.parts(self._matrix[:, index], problem.backend)
            with quiet():
                return problem.apart(problem.call(parts, args), args, weighted=False)

        def at(index: Index) -> list[tuple[DimArray, Any]]:
            out = output(index)
            return [(problem.table(x, len(index), "residual"), leaf_of(out, i)) for i, x in enumerate(out.parts)]

        first = output(problem.everywhere[:1])
        names = names_of(first) if is_several(first) else ["residual"]
        tables = [relabelled(x, self.labels) for x in self._tables(at, names)]
        return xr.Dataset(dict(zip(names, tables, strict=True))) if is_several(first) else tables[0]

    def predict(self, *data: Any) -> xr.DataArray | xr.Dataset:
        """The model, which is where the residual vanishes: for the data of the fit, or for others.

        A Dataset where the observations are several arrays. Complex where they are, if the residuals are real and
        imaginary parts: two arrays, or one in which they are apart along a dim of their own.

        Parameters
        ----------
        *data
            The arguments of the residual function after ``params``, without the last, the observations; none for those
            of the fit. In place of a DataArray also a list or plain array, which then lies along its dim; in place of a
            coordinate of ``.grad.fit`` also dates.

        Raises
        ------
        TypeError
            If their number is another.
        ValueError
            If the residual is not linear in the observations.
        """
        problem, cells, labels = self._problem, self._problem.cells, self.labels
        fitted = np.isfinite(self.cost.values)
        sound = np.flatnonzero(fitted | ~fitted.any())[:1]
        known = models(misfits(problem, self._matrix[:, sound], problem.arguments(sound), weighted=False))
        names = [m.name for m in known]
        if data:
            if len(data) != len(problem.data) - 1:
                raise TypeError(
                    f"predict takes the arguments of the fit but the last, {len(problem.data) - 1}, or none; "
                    f"got {len(data)}"
                )
            labels = labels_among(data)
            read = zip(problem.data, read_all(self.readers, data), strict=False)
            data = tuple(in_place_of(c, x) if isinstance(c, xr.DataArray) and np.ndim(x) else x for c, x in read)
            try:
                tables = self._models(self._cells_of(data, {}), names)
            except ValueError:  # a model that has lost its names can only meet observations that have them
                tables = self._models(self._cells_of(data, self._along(data)), names)
        else:
            tables = self._models(cells, names)
        tables = [relabelled(x, labels).assign_attrs(self._units(x.name, len(known))) for x in tables]
        return tables[0].rename("prediction") if len(known) == 1 else xr.Dataset({x.name: x for x in tables})

    def _models(self, cells: Cells, names: Sequence[Any]) -> list[xr.DataArray]:
        """The models of all cells, given their data."""

        def at(index: Index) -> list[tuple[DimArray, Any]]:
            found = misfits(self._problem, self._matrix[:, index], cells.take(index, "data"), weighted=False)
            return [(m.table, m.leaf) for m in models(found)]

        return self._tables(at, names)

    def _cells_of(self, data: Sequence[Any], along: Mapping[Name, xr.DataArray]) -> Cells:
        """The cells with other data, and observations of 0."""
        args = {"params": dict(self.params), "data": (*data, self._nothing(along)), "cells": self.status}
        return Cells(args, self._problem.cells.names)  # all parameters may be shared, and the data the same everywhere

    def _units(self, name: Any, count: int) -> dict[str, Any]:
        """Those of the observations with that name, if there are several; of a model they are the same."""
        last = self._problem.data[-1]
        several = isinstance(last, (Mapping, xr.Dataset)) and count > 1
        observed = last.get(name) if several else last
        return {n: v for n, v in getattr(observed, "attrs", {}).items() if n == "units"}

    def _along(self, data: Sequence[Any]) -> dict[Name, xr.DataArray]:
        """Zeros along each dim that labelled arguments have, with its labels, but along those of the cells.

        By the dim of the fit in whose place it is, if that is another.
        """
        found = dict[Name, xr.DataArray]()
        for leaf, before in itertools.zip_longest(flatten(data)[0], flatten(self._problem.data[:-1])[0]):
            own, known = (self._dims_of(x) for x in (leaf, before))
            gone = iter([d for d in known if d not in own])
            for d in own:
                place = d if d in known else next(gone, d)
                if place not in found:
                    zeros = xr.Variable((d,), self._problem.backend.asarray(np.zeros(leaf.sizes[d])))
                    found[place] = xr.DataArray(zeros, leaf[d].reset_coords(drop=True).coords)
        return found

    def _dims_of(self, leaf: Any) -> list[Name]:
        """The dims that an argument has, but for those of the cells."""
        dims = leaf.dims if isinstance(leaf, (xr.DataArray, xr.Dataset)) else ()
        return [d for d in dims if d not in self._problem.cells.names]

    def _nothing(self, along: Mapping[Name, xr.DataArray]) -> Any:
        """Observations of 0, in the form of those of the fit, along some of their dims."""
        leaves, how = flatten(self._problem.data[-1])
        return unflatten(how, [self._zero(x, along) for x in leaves])

    def _zero(self, leaf: Any, along: Mapping[Name, xr.DataArray]) -> Any:
        if isinstance(leaf, xr.DataTree):
            return xr.DataTree.from_dict({node.path: self._zero(node.dataset, along) for node in leaf.subtree})
        if isinstance(leaf, xr.Dataset):
            return xr.Dataset({n: self._zero(v, along) for n, v in leaf.data_vars.items()})
        zero = 0j if is_complex(leaf) else 0.0
        several = [along[d] for d in leaf.dims if d in along] if isinstance(leaf, xr.DataArray) else []
        if several:
            return sum(several, zero)
        number = np.asarray(zero)[()]
        zeros = {xr.DataArray: xr.DataArray(number), DimArray: make(number, (), NONE)}
        return zeros.get(self._problem.kind, number)

    def plot(self, at: Mapping[Any, Any] | None = None) -> Any:
        """Draw the fit: maps (over one dim: lines with standard errors) of the parameters, or one cell.

        Parameters
        ----------
        at : dict, optional
            A cell, by its labels, of which numbers may be approximate: ``{"lat": 52.1, "lon": 5.2}``. Its observations
            are drawn with the curve and a band that holds the true curve with a probability of 95 %, to first order.

        Returns
        -------
        matplotlib.figure.Figure
            Of pyplot: a notebook or ``plt.show()`` shows it.

        Raises
        ------
        ImportError
            Without matplotlib, which the extra ``plot`` installs.
        ValueError
            If there is nothing to draw it against, or no fit.
        """
        from namedgrad.fit.figures import plot

        return plot(self, at)

    def _tables(self, at: Callable[[Index], list[tuple[DimArray, Any]]], names: Sequence[Any]) -> list[xr.DataArray]:
        """Tables ``(CELL, dims...)`` of all cells as arrays, with what the residual function returned for them."""
        start, *others = batches(self._problem.everywhere, self._problem.size) or [self._problem.everywhere]
        first = at(start)
        values = [np.empty((self._problem.cells.count, *x.full_shape[1:]), x.dtype) for x, _ in first]
        for index in (start, *others):
            for whole, (x, _) in zip(values, first if index is start else at(index), strict=True):
                whole[index] = x.to_numpy()
        return [self._labelled(x, leaf, v, n) for (x, leaf), v, n in zip(first, values, names, strict=True)]

    def _labelled(self, table: DimArray, leaf: Any, values: Any, name: Any) -> xr.DataArray:
        """A table of all cells as one array, with the dims in the order of the observations."""
        dims = tuple(f"dim_{i}" if isinstance(n, axes.Axis) else n for i, n in enumerate(table.names[1:]))
        known = leaf.coords if isinstance(leaf, xr.DataArray) else xr.Coordinates()
        own = [n for n, v in known.variables.items() if not hidden_names(v) and set(v.dims) <= set(dims)]
        coords = some_of(known, own)
        out = self._grid(values, name, dims=dims, coords=coords)
        order = getattr(self._problem.data[-1], "dims", ()) if self._problem.data else ()
        return out.transpose(*order) if set(order) == set(out.dims) else out


def in_place_of(c: xr.DataArray, x: Any) -> Any:
    """A plain array along the dim of what it replaces; what has names as it is."""
    if hasattr(x, "dims"):
        return x
    values = np.asarray(x)
    if values.ndim and (values.ndim, c.ndim) != (1, 1):
        raise ValueError(
            f"predict: {c.name!r} has dims {c.dims}, but what was given in its place has {values.ndim} axes without "
            "names; give xr.DataArray(values, dims=...)"
        )
    dims = c.dims if values.ndim else ()
    return xr.DataArray(values, {c.name: values} if c.name in dims else None, dims, c.name)


def _rounding(x: Matrix, squares: Matrix) -> Matrix:
    """The sum of squares that rounding alone makes of what the parameters add up to."""
    return np.square(EPS * np.max(np.abs(x) * np.sqrt(squares), axis=0))


def _labels(names: list[Name]) -> Any:
    """Names of parameters as a coordinate."""
    out = np.empty(len(names), dtype=object)
    out[:] = names
    return out.astype(str) if all(isinstance(n, str) for n in names) else out


def _typical(values: Any) -> str:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return "nan"
    low, middle, high = np.percentile(finite, [5, 50, 95])
    return f"{middle:.6g}" if finite.size == 1 else f"median {middle:.4g}, 5 % to 95 %: {low:.4g} to {high:.4g}"
