"""Results of fits whose covariance is no square of numbers per cell: named blocks, one per pair of parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.axes import Name
from namedgrad.fit import small
from namedgrad.fit.arrow import Arrow, Layout, solved
from namedgrad.fit.batch import Found
from namedgrad.fit.blocks import Blocks, own_dims
from namedgrad.fit.coupled import number
from namedgrad.fit.determined import DETERMINED
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.result import FitResult, LeastSquaresResult
from namedgrad.fit.status import Status
from namedgrad.fit.sums import Point
from namedgrad.xarray.convert import some_of


class BlockResult(LeastSquaresResult):
    """The outcome of a fit with parameters that have dims of their own: ``covariance`` is a mapping of named blocks."""


class SharedResult(LeastSquaresResult):
    """The outcome of a fit in which cells share parameters.

    ``cost``, ``iterations``, ``dof``, ``aic`` and ``bic`` belong to problems: they have the dims of ``over`` along
    which nothing is shared. ``covariance`` is a mapping of named blocks.
    """

    def __init__(self, problem: Residuals, found: Found, layout: Layout) -> None:
        self._layout = layout
        self._fitted = np.isfinite(found.arrays["cost"])
        cells = np.flatnonzero(self._fitted)
        self._cells = cells
        self._local = layout.only(np.arange(layout.count), cells)
        normal = found.arrays["normal"][..., cells]
        self._arrow = Arrow.of(self._local, Point(None, None, normal))
        self._occurs = self._local.gathered(np.ones((len(layout.shared), len(cells)))) > 0
        self._cost, self._normal = found.arrays["cost"], found.arrays["normal"]
        self._invert()
        matrix = np.where(self._fitted, problem.start, np.nan)
        matrix[problem.free] = found.arrays["x"]
        FitResult.__init__(self, problem, matrix, found)
        done = np.isin(found.status, (Status.CONVERGED, Status.BOUND))
        ends = np.where(self._on_bound(found.arrays["x"]), Status.BOUND, Status.CONVERGED)
        self.status.values[done.reshape(self.status.shape)] = ends[done]
        lost = np.zeros(len(self._fitted), bool)
        lost[cells] = self._lost | self._unknown_lost[self._local.problem, self._local.slot].any(axis=0)
        lost &= found.status != Status.MAX_ITERATIONS
        self.status.values[lost.reshape(self.status.shape)] = Status.SINGULAR
        self.cost, self.iterations = self._of_problems(self.cost), self._of_problems(self.iterations)
        self.cost.attrs["long_name"] = "half the sum of squared residuals at the solution"
        self.dof = self._grid(self._degrees(), "dof", "degrees of freedom")
        self.dof = self._of_problems(self.dof)

    # ---------------------------------------------------------------- problems

    def _on_bound(self, x: Matrix) -> Any:
        """Cells with a parameter on its bound; one that is shared has those of all of its cells."""
        lay, problem = self._layout, self._problem
        low, high = problem.lower[problem.free], problem.upper[problem.free]
        low[lay.shared] = lay.scattered(-lay.lowest(-low[lay.shared]))
        high[lay.shared] = lay.scattered(lay.lowest(high[lay.shared]))
        return ((x <= low) | (x >= high)).any(axis=0)

    def _coupled(self) -> tuple[Name, ...]:
        p, free = self._problem.parameters, self._problem.free
        return tuple(dict.fromkeys(d for n, r in p.rows.items() if free[r].any() for d in p.lacks[n]))

    def _of_problems(self, x: xr.DataArray) -> xr.DataArray:
        """One value per problem of what is the same in all of its cells that took part."""
        nothing = np.nan if x.dtype.kind == "f" else 0
        return x.reduce(np.fmax.reduce, self._coupled(), keep_attrs=True, initial=nothing)

    def _degrees(self) -> Any:
        """Degrees of freedom of the problem that a cell belongs to."""
        lay, problem = self._layout, self._problem
        rows = lay.total(np.where(self._fitted, problem.rows_of_data(), 0).astype(float))
        return np.maximum(rows - self._unknowns(), 0)[lay.problem].astype(int)

    def _unknowns(self) -> Any:
        """How many numbers the data of each problem determine: of a cell that lacks some, the others."""
        own = np.full(len(self._cells), len(self._local.local))
        a, scale = self._arrow.a[..., self._lost], self._arrow.lengths()[0][:, self._lost]
        own[self._lost] = ranks(np.moveaxis(a / scale[:, None] / scale, -1, 0))
        common, some = self._occurs.sum(axis=1), self._unknown_lost.any(axis=1)
        common[some] -= self._occurs.shape[1] - ranks(self._schur[some])
        return self._local.total(own.astype(float)) + common

    # ---------------------------------------------------------------- how sure it is

    def _invert(self) -> None:
        """Parts of the inverse normal matrices."""
        lay = self._local
        every = np.ones(self._arrow.a.shape[1:], bool), self._occurs
        factor = self._arrow.factor(every, (0.0, 0.0))
        inner, outer = factor.scale
        self._schur = factor.schur  # with rows of the identity for what does not occur
        n = lay.unknowns
        eye = np.eye(n)
        columns = [solved(factor.schur, np.broadcast_to(eye[k], (lay.count, n))) for k in range(n)]
        inverse = np.stack(columns, axis=-1) / outer[:, :, None] / outer[:, None]
        self._outside = np.where(self._occurs[:, :, None] & self._occurs[:, None], inverse, np.nan)
        here = lay.scattered(outer)
        self._image = factor.image / inner[:, None] * here  # of shared unknowns in local parameters
        eyes = np.broadcast_to(np.eye(len(inner))[:, :, None], self._arrow.a.shape)
        self._inside = small.solve(factor.lower, eyes) / inner[:, None] / inner if len(inner) else self._arrow.a
        outside = np.einsum("pii->pi", inverse) * outer**2
        self._unknown_lost = self._occurs & ~((outside > 0) & (outside <= DETERMINED))
        block = inverse[lay.problem[None, None], lay.slot[:, None], lay.slot[None]]
        follows = np.einsum("isc,stc,itc->ic", self._image, block, self._image)
        self._own_variances = small.diagonal(self._inside) + follows
        astray = lay.scattered(self._unknown_lost) & (np.abs(factor.image) > DETERMINED**-0.5)
        self._lost = ~(self._own_variances * inner**2 <= DETERMINED).all(axis=0) | astray.any(axis=(0, 1))

    def _variances(self) -> Matrix:
        """Diagonal of the inverse, per free row and cell."""
        lay = self._local
        out = np.full((len(lay.local) + len(lay.shared), self._problem.cells.count), np.nan)
        outside = np.where(self._unknown_lost, np.inf, np.einsum("pii->pi", self._outside))
        out[np.ix_(lay.local, self._cells)] = np.where(self._lost, np.inf, self._own_variances)
        out[np.ix_(lay.shared, self._cells)] = lay.scattered(outside)
        return out

    @property
    def _residual_variance(self) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = 2 * self.cost / self.dof.where(self.dof > 0)
        return value.where(self.dof > 0, np.inf).where(np.isfinite(self.cost))

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one variable per parameter."""
        full = np.where(self._fitted, 0.0, np.nan) * np.ones((self._problem.parameters.count, 1))
        full[self._problem.free] = self._variances()
        out = self._problem.parameters.dataset(full)
        with np.errstate(invalid="ignore"):
            scaled = np.sqrt(out * self._residual_variance)
        free = self._free_names()
        errors = {n: v if n in free else xr.zeros_like(self.params[n]) for n, v in scaled.items()}
        for n, v in errors.items():
            v.attrs = out[n].attrs | {"long_name": f"standard error of {out[n].attrs.get('long_name', n)}"}
        return xr.Dataset({n: v.transpose(*self.params[n].dims) for n, v in errors.items()})

    @functools.cached_property
    def unscaled_covariance(self) -> Any:
        """The covariance if ``sigma`` is what the errors are, as named blocks."""
        return Blocks(self._free_names(), self._block)

    @functools.cached_property
    def covariance(self) -> Any:
        """Covariance of the parameters, scaled by the residual variance, as named blocks."""
        return Blocks(self._free_names(), self._scaled_block)

    def fisher(self) -> Any:
        """Fisher's information about the parameters, as named blocks."""
        return Blocks(self._free_names(), self._information)

    def _free_names(self) -> list[Name]:
        p = self._problem.parameters
        return [n for n in p.names if self._problem.free[p.rows[n]].any()]

    def _block(self, a: Name, b: Name) -> xr.DataArray:
        """One block of the inverse normal matrices."""
        return self._of_rows(self._inverse, a, b, "unscaled_covariance")

    def _of_rows(self, table: Callable[[int, int, Name, Name], Matrix], a: Name, b: Name, name: str) -> xr.DataArray:
        """A block of tables (problem, extent, extent), one for each pair of the rows that two parameters have."""
        tables = np.array([[table(i, j, a, b) for j in self._rows(b)] for i in self._rows(a)])
        return self._named(np.moveaxis(tables, (0, 1), (2, 4)), a, b, name)

    def _inverse(self, i: int, j: int, a: Name, b: Name) -> Matrix:
        lay = self._local
        left, right = self._factor(i), self._factor(j)  # how a row depends on the shared unknowns
        out = np.full((lay.count, self._extent(a), self._extent(b)), np.nan)
        at_a, at_b = self._position(a), self._position(b)
        order = np.argsort(lay.problem, kind="stable")
        for cells in np.split(order, np.flatnonzero(np.diff(lay.problem[order])) + 1):
            if len(cells):
                g = lay.problem[cells[0]]
                value = left(cells) @ np.nan_to_num(self._outside[g]) @ right(cells).T
                if i in lay.local and j in lay.local:
                    own = self._inside[np.flatnonzero(lay.local == i)[0], np.flatnonzero(lay.local == j)[0], cells]
                    value[np.arange(len(cells)), np.arange(len(cells))] += own
                value[self._is_lost(i, cells)] = np.inf
                value[:, self._is_lost(j, cells)] = np.inf
                out[g][np.ix_(at_a[cells], at_b[cells])] = value
        return out

    def _is_lost(self, row: int, cells: Any) -> Any:
        """Where the data do not determine a row."""
        lay = self._local
        if row in lay.local:
            return self._lost[cells]
        return self._unknown_lost[lay.problem[cells], lay.slot[np.flatnonzero(lay.shared == row)[0], cells]]

    def _scaled_block(self, a: Name, b: Name) -> xr.DataArray:
        """The same, scaled by the residual variance."""
        x, variance = self._block(a, b), self._residual_variance
        return (x * variance).where(variance != np.inf, np.inf).transpose(*x.dims).rename("covariance")

    def _factor(self, row: int) -> Callable[[Any], Matrix]:
        lay = self._local

        def of(cells: Any) -> Matrix:
            out = np.zeros((len(cells), lay.unknowns))
            rows = np.arange(len(cells))
            if row in lay.shared:
                out[rows, lay.slot[np.flatnonzero(lay.shared == row)[0], cells]] = 1.0
            else:
                k = np.flatnonzero(lay.local == row)[0]
                for s in range(len(lay.shared)):
                    out[rows, lay.slot[s, cells]] -= self._image[k, s, cells]
            return out

        return of

    def _information(self, a: Name, b: Name) -> xr.DataArray:
        return self._of_rows(self._sums, a, b, "fisher")

    def _sums(self, i: int, j: int, a: Name, b: Name) -> Matrix:
        normal = self._normal[i, j][self._cells]
        size = (self._local.count, self._extent(a), self._extent(b))
        at = (self._local.problem * size[1] + self._position(a)) * size[2] + self._position(b)
        return np.bincount(at, normal, math.prod(size)).astype(float).reshape(size)

    def _rows(self, name: Name) -> range:
        """Those of a parameter among the free ones."""
        rows = self._problem.parameters.rows[name]
        start = int(self._problem.free[: rows.start].sum())
        return range(start, start + rows.stop - rows.start)

    def _dims(self, name: Name) -> list[Name]:
        """The dims of a parameter along which problems are coupled."""
        lacks, coupled = self._problem.parameters.lacks[name], self._coupled()
        return [n for n in self._problem.cells.names if n in coupled and n not in lacks]

    def _extent(self, name: Name) -> int:
        return math.prod(self._problem.cells.sizes[n] for n in self._dims(name))

    def _position(self, name: Name) -> Any:
        """Where each cell is along the dims of a parameter."""
        cells = self._problem.cells
        at = dict(zip(cells.names, np.unravel_index(self._cells, tuple(cells.sizes.values())), strict=True))
        return number(at, self._dims(name), cells.sizes, len(self._cells))

    def _named(self, x: Any, a: Name, b: Name, name: str) -> xr.DataArray:
        cells = self._problem.cells
        alone = [n for n in cells.names if n not in self._coupled()]
        first, second = self._dims(a), self._dims(b)
        (own, known), (wrt, known_wrt) = own_dims(self, a), own_dims(self, b, "_wrt")
        here, left, right = ([cells.sizes[n] for n in names] for names in (alone, first, second))
        shape_a, shape_b = (self._problem.parameters.own[n].full_shape for n in (a, b))
        x = x.reshape([*here, *left, *shape_a, *right, *shape_b])
        coords = some_of(cells.coords, [n for n, c in cells.coords.items() if set(c.dims) <= {*alone, *first}])
        again = {f"{n}_wrt": (f"{n}_wrt", cells.coords[n].values) for n in second if n in cells.coords}
        again |= known | known_wrt
        coords = coords.assign(again) if again else coords
        return xr.DataArray(x, coords, (*alone, *first, *own, *(f"{n}_wrt" for n in second), *wrt), name)

    # ---------------------------------------------------------------- how good it is

    def _criterion(self, name: str, long_name: str, penalty: Callable[[Any, Any], Any]) -> xr.DataArray:
        from namedgrad.fit.observations import log_weights

        lay = self._layout
        rows = lay.total(np.where(self._fitted, self._problem.rows_of_data(), 0).astype(float))
        unknowns = self._unknowns()
        weights = lay.total(np.where(self._fitted, log_weights(self._problem), 0.0))
        cost = np.zeros(lay.count)
        cost[lay.problem[self._fitted]] = self._cost[self._fitted]
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = weights - 0.5 * rows * (np.log(2 * np.pi * 2 * cost / rows) + 1)
        values = -2 * likelihood + penalty(unknowns, rows)
        return self._of_problems(self._grid(values[lay.problem], name, long_name))

    @functools.cached_property
    def aic(self) -> xr.DataArray:
        """Akaike's information criterion of each problem."""
        return self._criterion("aic", "Akaike information criterion", lambda k, _: 2 * k)

    @functools.cached_property
    def bic(self) -> xr.DataArray:
        """The Bayesian information criterion of each problem."""
        return self._criterion("bic", "Bayesian information criterion", lambda k, n: k * np.log(np.maximum(n, 1)))


def ranks(matrices: Any) -> Any:
    """Of scaled symmetric matrices, which come first."""
    return np.linalg.matrix_rank(np.nan_to_num(matrices), tol=1 / DETERMINED, hermitian=True)


def outcome(problem: Residuals, found: Found) -> LeastSquaresResult:
    """The result of a fit, of the kind that its parameters ask for."""
    if problem.is_coupled:
        return SharedResult(problem, found, problem.layout)
    several = any(own.names for own in problem.parameters.own.values())
    return BlockResult(problem, found) if several else LeastSquaresResult(problem, found)
