"""Derivatives of a fit: what the best parameters do where the data change.

At the solution the gradient of the cost vanishes, and goes on to do so when data change: so the parameters change by
``-H**-1`` times the change of the gradient, for the Hessian ``H`` of the cost (Krantz and Parks 2013, *The implicit
function theorem*).  Written as the Newton step that leads nowhere, ``x - H**-1 (g - g)`` with ``H`` and the second
``g`` taken as constants, this is a program whose derivatives are the right ones, in every mode and for whatever ``g``
depends on.  Parameters on a bound change with the bound, fixed ones with what they are held at; those that a kink of
the loss holds at 0, as that of ``abs``, stay there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import NONE, Names
from namedgrad.fit.arrow import Arrow, Factor, Layout
from namedgrad.fit.given import Given
from namedgrad.fit.parameters import as_entries, as_floats
from namedgrad.fit.problem import batches, gradients
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.result import BriefResult, FitResult
from namedgrad.fit.sums import Point
from namedgrad.fit.times import read_all
from namedgrad.linear import Like, Map, Structural
from namedgrad.primitive import Primitive
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import greater, less
from namedgrad.rules.movement import join, merge, slice_of, split
from namedgrad.rules.structure import add, contract, relabel, reorder, select, spread, stamp, subtract, total, where
from namedgrad.trace import apply
from namedgrad.transforms.leaves import adapter_of, vectorize_tree
from namedgrad.transforms.tape import quiet
from namedgrad.xarray.convert import numbered

ROW, COLUMN = axes.fresh("row"), axes.fresh("column")
FAR = 1e6  # times where a parameter is, by the slope and the curvature there


class DifferentiableResult(BriefResult):
    """The outcome of a fit that is differentiated: ``params`` and ``cost`` take part in that.

    ``status`` and ``iterations`` are numbers, which have no derivative. What else a result knows is to be asked of a
    fit that is not differentiated.
    """

    def __init__(self, params: xr.Dataset, status: Any, iterations: Any, cost: Any) -> None:
        self.params, self.status, self.iterations, self.cost = params, status, iterations, cost

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TraceError(
            f"{name!r} of a fit is not differentiated, only its params and cost are; compute it from those, or take it "
            "from a fit of data that are not differentiated"
        )


def differentiable(result: Any, given: Given) -> Any:
    """The outcome of a fit as a function of what a transform around it differentiates."""
    at = Optimum(result, given)
    with quiet():
        parts = at.solution()
        cost = at.variable(at.cost(parts), result.cost)
    return DifferentiableResult(at.dataset(parts, result.params), result.status, result.iterations, cost)


class Optimum:
    """A solved problem whose arguments are under differentiation."""

    def __init__(self, result: FitResult, given: Given) -> None:
        problem, matrix = result._problem, result._matrix
        self.problem, self.cells, self.given = problem, problem.cells, given
        self.ok: Any = np.isfinite(matrix).all(axis=0)
        self.matrix = np.where(self.ok, matrix, np.where(np.isfinite(problem.start), problem.start, 0.0))
        self.found = matrix
        named = result.read_others({**given.args, "params": as_entries(given.args["params"]), "data": ()})
        named["data"] = read_all(result.readers, given.args["data"])
        if named.get("sigma") is not None:
            named["sigma"] = as_floats(named["sigma"], "sigma")
        self.args = vectorize_tree(named, self.cells.names)
        self.layout: Layout | None = None
        if isinstance(problem, Residuals) and problem.is_coupled:
            self.layout = problem.layout
            self._share(problem, problem.layout)

    def _share(self, problem: Residuals, layout: Layout) -> None:
        """Shared parameters in all cells, also those without data; their priors in one."""
        p, rows = problem.parameters, np.flatnonzero(problem.free)[layout.shared]
        values = -layout.lowest(-np.where(self.ok, self.matrix[rows], -np.inf))
        self.matrix[rows] = layout.scattered(np.where(np.isfinite(values), values, 0.0))
        for name, (mean, deviation) in (self.args.get("prior") or {}).items():
            if deviation is not None and p.lacks[name]:
                own = p.own[name]
                counts = self.named(problem.precision[p.rows[name]] > 0, own)
                never = self.named(np.full((math.prod(own.full_shape), self.cells.count), np.inf), own)
                self.args["prior"][name] = mean, where(counts, self._own(deviation, own), never)

    # ---------------------------------------------------------------- layout

    def named(self, block: Any, own: Like) -> DimArray:
        """Rows of a matrix ``(row, cell)`` under the names of one entry and of the cells, which are hidden."""
        names, sizes = tuple(self.cells.sizes), tuple(self.cells.sizes.values())
        raw = backends.call(
            self.problem.backend.asarray, np.ascontiguousarray(block).reshape((*own.full_shape, *sizes))
        )
        return make(raw, (*own.names, *names), frozenset(names))

    def _own(self, value: Any, own: Like) -> DimArray:
        """A value that was given for one entry, with its dims and the cells."""
        (x,) = adapter_of(value).parts(value)
        names, sizes = tuple(self.cells.sizes), tuple(self.cells.sizes.values())
        if not x.names:  # a number comes from the host, wherever the data are
            return add(self.named(np.zeros((math.prod(own.full_shape), self.cells.count)), own), x)
        x = stamp(x, frozenset(names))
        return reorder(spread(x, Like((*own.names, *names), (*own.full_shape, *sizes), x.dtype)), (*own.names, *names))

    # ---------------------------------------------------------------- the parameters

    def held(self) -> tuple[Any, Any, Any]:
        """Which rows are at their lower and upper bounds and pushed there, or fixed."""
        p, x = self.problem, self.matrix
        gradient = self.given.run(lambda: p.gradient(x))
        if (layout := self.layout) is not None:  # what is shared is pushed by all cells
            rows = np.flatnonzero(p.free)[layout.shared]
            gradient[rows] = layout.scattered(layout.gathered(np.where(self.ok, gradient[rows], 0.0)))
        low = (x <= p.lower) & (gradient >= 0) & np.isfinite(p.lower)
        high = (x >= p.upper) & (gradient <= 0) & np.isfinite(p.upper) & ~low
        fixed = np.broadcast_to(~p.free[:, None], x.shape)
        return low, high, fixed if isinstance(p, Residuals) else fixed | self._at_kinks(gradient)

    def _at_kinks(self, gradient: Any) -> Any:
        """Rows of a loss that stay at 0 although the slope is one that would carry them far: a penalty holds them."""
        p = self.problem
        curved = np.zeros_like(gradient)
        curved[p.free] = np.abs(np.diagonal(self.hessian)).T
        start = np.where(np.isfinite(p.start) & (p.start != 0), np.abs(p.start), 1.0)
        return np.abs(gradient) > curved * np.maximum(FAR * np.abs(self.matrix), start / FAR)

    def base(self, low: Any, high: Any) -> list[DimArray]:
        """The solution, with bounds and fixed values in place of what is held there."""
        p, out = self.problem.parameters, []
        for name, rows in p.rows.items():
            own = p.own[name]
            is_held = not self.problem.free[rows].any()
            x = self._own(self.args["params"][name], own) if is_held else self.named(self.matrix[rows], own)
            limits = zip((less, greater), (low, high), self.args["bounds"].get(name, (None, None)), strict=True)
            for beyond, at, value in limits:  # a value that is held beyond a bound has been moved there
                if value is not None and (is_held or at[rows].any()):
                    limit = self._own(value, own)
                    x = where(beyond(x, limit) if is_held else self.named(at[rows], own), limit, x)
            out.append(x)
        return out

    def solution(self) -> list[DimArray]:
        """All entries, as functions of what is differentiated."""
        low, high, fixed = self.held()
        base = self.base(low, high)
        at = self.problem.moving(range(len(base)))
        found = gradients(self.problem.recorded(lambda full: [self.objective(full)], base))
        owns = self.problem.moving([*self.problem.parameters.own.values()])
        flat = [_as_rows(g, own) for g, own in zip(found, owns, strict=True)]
        g = flat[0] if len(flat) == 1 else join(flat, ROW)
        change = subtract(g, stop_gradient(g))
        held = (low | high | fixed)[self.problem.free]
        if self.layout is not None:
            return self._moved(base, at, owns, relabel(self._coupled_step(self.layout, change, held), {ROW: COLUMN}))
        step = contract(self._inverse(held), change, (ROW,))
        ok = make(self.named(self.ok[None], Like((), (1,), np.dtype(bool))).raw[0], tuple(self.cells.sizes), NONE)
        step = select(stamp(ok, step.hidden), step)
        return self._moved(base, at, owns, step)

    def _coupled_step(self, whole: Layout, change: DimArray, held: Any) -> DimArray:
        """The same where cells share parameters: one solution of all normal equations of a problem."""
        cells = np.flatnonzero(self.ok)
        layout = whole.only(np.arange(whole.count), cells)
        arrow = Arrow.of(layout, Point(None, None, self.hessian[..., cells]))
        known = layout.gathered(np.ones(layout.slot.shape)) > 0
        stuck = layout.gathered(held[np.ix_(layout.shared, cells)].astype(float)) > 0
        factor = arrow.factor((~held[np.ix_(layout.local, cells)], known & ~stuck), (0.0, 0.0))
        names = tuple(self.cells.sizes)
        ok = self.named(self.ok[None], Like((), (), np.dtype(bool)))
        change = select(stamp(ok, change.hidden), change)
        return apply(_TOGETHER, (change,), names=names, solve=Together(factor, whole, cells))

    @functools.cached_property
    def hessian(self) -> Any:
        """Of the cost, (row, row, cell)."""
        p = self.problem
        n = int(p.free.sum())
        out = np.empty((n, n, self.cells.count))
        for index in batches(p.everywhere, p.size):
            out[..., index] = self.given.run(functools.partial(p.hessian, self.matrix[:, index], index))
        return out

    def _inverse(self, held: Any) -> DimArray:
        """Inverse Hessians, 0 for rows that are held."""
        n = len(held)
        inverse = pseudo_inverse(np.moveaxis(self.hessian, -1, 0), ~held.T, self.ok)
        return self.named(np.moveaxis(inverse, 0, -1), Like((COLUMN, ROW), (n, n), inverse.dtype))

    def _moved(
        self, base: Sequence[DimArray], at: Sequence[int], owns: Sequence[Like], step: DimArray
    ) -> list[DimArray]:
        out, start = list(base), 0
        for i, own in zip(at, owns, strict=True):
            count = math.prod(own.full_shape)
            rows = slice_of(step, COLUMN, slice(start, start + count))
            start += count
            own_sizes = dict(zip(own.names, own.full_shape, strict=True))
            rows = split(rows, COLUMN, own_sizes) if own.names else slice_of(rows, COLUMN, 0)
            out[i] = subtract(base[i], rows)
        return out

    def objective(self, parts: Sequence[DimArray]) -> DimArray:
        """The cost per cell, as a function of parameters and arguments."""
        return self.problem.objective(parts, self.args, self._seen())

    def cost(self, parts: Sequence[DimArray]) -> DimArray:
        """The cost per problem."""
        each = self.objective(parts)
        if self.layout is None:
            return each
        ok = self.named(self.ok[None], Like((), (), np.dtype(bool)))
        lacks = self.problem.parameters.lacks
        dims = tuple(dict.fromkeys(d for n in self.problem.moving(list(lacks)) for d in lacks[n]))
        return total(select(ok, each), dims)

    def _seen(self) -> DimArray | None:
        p, names, sizes = self.problem, tuple(self.cells.sizes), tuple(self.cells.sizes.values())
        if not isinstance(p, Residuals) or p.observed is None:
            return None
        raw = backends.call(p.backend.asarray, p.observed.reshape((*sizes, *p.observed.shape[1:])))
        return make(raw, (*names, *p.dims), frozenset(names))

    # ---------------------------------------------------------------- results

    def dataset(self, parts: Sequence[DimArray], like: xr.Dataset) -> xr.Dataset:
        """Parameters in place of numbers."""
        table = zip(self.problem.parameters.rows, parts, strict=True)
        out = {}
        for name, x in table:
            for d in self.problem.parameters.lacks[name]:  # the same along it, if it has any positions
                x = total(slice_of(x, d, slice(0, 1)), (d,))  # noqa: PLW2901
            out[name] = self.variable(x, like[name])
        return xr.Dataset(out, attrs=like.attrs)

    def variable(self, x: DimArray, like: xr.DataArray) -> xr.DataArray:
        """An array in place of the numbers in ``like``; axes that were hidden before the fit are hidden again."""
        own = [n for n in x.names if n not in self.cells.sizes]
        renamed = dict(zip(own, [d for d in like.dims if d not in self.cells.sizes], strict=True))
        x = x.rename({a: b for a, b in renamed.items() if a != b}) if any(a != b for a, b in renamed.items()) else x
        missing = np.isnan(like.values)
        if missing.any():
            raw = backends.call(self.problem.backend.asarray, np.where(missing, np.nan, 0.0))
            x = add(x, make(raw, like.dims, frozenset(like.dims).intersection(self.cells.sizes)))
        x = stamp(x, frozenset(self.cells.hidden))
        dims = tuple(d for d in like.dims if d not in self.cells.hidden)
        gone = [n for n, c in like.coords.items() if not set(c.dims) <= set(dims)]
        coords = like.coords.to_dataset().drop_vars(gone).coords  # several of them may have one index
        return xr.DataArray(xr.Variable(dims, numbered(x, dims), like.attrs), coords, name=like.name)


class Together:
    """The inverse of the normal equations of problems whose cells share parameters, on values per cell.

    Gradients of what is shared are summed over its cells, and each of these gets the solution; so it is symmetric.
    """

    def __init__(self, factor: Factor, layout: Layout, cells: Any) -> None:
        self.factor, self.layout, self.cells = factor, layout, cells

    def __call__(self, g: Any) -> Any:
        """Solutions (..., row, cell) for gradients laid out alike."""
        flat = g.reshape((math.prod(g.shape[:-2]), *g.shape[-2:]))
        whole, some = self.layout, self.factor.layout
        here = np.moveaxis(flat, 0, 1).astype(float, copy=False)  # (row, column, cell)
        columns = np.arange(here.shape[1])
        at = ((whole.problem * whole.unknowns + whole.slot)[:, None] * len(columns)) + columns[:, None]
        size = whole.count * whole.unknowns * len(columns)
        sums: Any = np.bincount(at.ravel(), here[whole.shared].ravel(), size).reshape(whole.count, whole.unknowns, -1)
        local, shared = self.factor.solve_each(here[some.local][..., self.cells], sums)
        out = np.zeros_like(flat)
        out[np.ix_(columns, some.local, self.cells)] = np.moveaxis(local, 1, 0)
        out[:, whole.shared] = np.moveaxis(shared[whole.problem, whole.slot], -1, 0)
        return out.reshape(g.shape)


class _Together(Primitive):
    """Apply :class:`Together` by name; it is its own transpose."""

    form, signature = "linear", "(n)->(n)"

    def lower(self, args: Sequence[DimArray], **params: Any) -> DimArray:
        (x,) = args
        names: Names = params["names"]
        solve: Together = params["solve"]
        order = (*(n for n in x.names if n is not ROW and n not in names), ROW, *names)
        x = reorder(x, order)
        host = backends.backend_of(x.raw).to_numpy(x.raw)
        count = len(order) - len(names)
        flat = solve(host.reshape((*host.shape[:count], math.prod(host.shape[count:]))))
        raw = backends.call(backends.backend_of(x.raw).asarray, flat.reshape(host.shape))
        return make(raw, order, x.hidden)

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], **params: Any) -> Map:  # noqa: ARG002
        def again(x: DimArray) -> DimArray:
            return apply(self, (x,), **params)

        return Structural(again, again)


_TOGETHER = _Together("together")


def _as_rows(g: DimArray, own: Like) -> DimArray:
    """A gradient with the dims of its entry as one axis."""
    if own.names:
        return merge(g, own.names, ROW)
    return spread(g, Like((ROW, *g.names), (1, *g.full_shape), g.dtype))


def pseudo_inverse(hessian: Any, free: Any, ok: Any) -> Any:
    """Inverses of symmetric matrices (cell, row, row) over the free rows, of the least norm where they are singular."""
    n = hessian.shape[-1]
    a = np.where(free[:, :, None] & free[:, None, :] & ok[:, None, None], hessian, 0.0)
    a[~np.isfinite(a).all(axis=(1, 2))] = 0.0
    scale = np.sqrt(np.abs(a[:, range(n), range(n)]))
    scale = np.where(scale > 0, scale, 1.0)
    a = a / scale[:, :, None] / scale[:, None, :]
    return np.linalg.pinv(a, rcond=1e-13, hermitian=True) / scale[:, :, None] / scale[:, None, :]
