"""Pictures of fits: one cell's observations, curve and band; maps or lines of the parameters of many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from namedgrad.array import DimArray
from namedgrad.fit.observations import Misfit, misfits, parts_of
from namedgrad.fit.status import Status
from namedgrad.fit.sums import columns
from namedgrad.rules.structure import reorder, spread

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals
    from namedgrad.fit.result import LeastSquaresResult

BAND = 0.95
PANEL = 4.0, 3.0  # inches


def plot(fit: Any, at: Mapping[Any, Any] | None) -> Any:
    """See :meth:`LeastSquaresResult.plot`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'namedgrad[plot]'") from error
    cells = fit.status.dims
    if not fit.status.size:
        raise ValueError(f"there is nothing to plot: there are no cells, {dict(fit.status.sizes)}")
    if at or not cells:
        return _curve(fit, dict(at or {}), plt.figure(figsize=(6.4, 4.0), layout="constrained"))
    if len(cells) > 2:
        raise ValueError(
            f"plot draws maps over two dims, but there are {len(cells)}, {cells}: choose a cell, as in "
            f"plot({{{', '.join(f'{d!r}: ...' for d in cells)}}})"
        )
    names = list(fit.params.data_vars)
    columns = 2 if len(names) < 4 else 3
    rows = -(-(len(names) + 1) // columns)
    figure = plt.figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    panels: Any = figure.subplots(rows, columns, squeeze=False).ravel()
    for name, panel in zip(names, panels, strict=False):
        values, stderr = (x[name].squeeze() for x in (fit.params, fit.stderr))  # a single row has no height
        draw = {2: _map, 1: _line}.get(values.ndim, _numbers)
        draw(panel, values, stderr)
        panel.set_title(str(name))
    _status(panels[len(names)], fit.status)
    for panel in panels[len(names) + 1 :]:
        panel.remove()
    return figure


def _map(panel: Any, values: xr.DataArray, _: xr.DataArray) -> None:
    panel.set_facecolor("lightgray")
    values = values.sortby([d for d in values.dims if values[d].dtype.kind in "iufM"])  # edges lie between neighbours
    values.plot.pcolormesh(ax=panel, robust=True, cbar_kwargs={"label": _label(values)})


def _line(panel: Any, values: xr.DataArray, stderr: xr.DataArray) -> None:
    (dim,) = values.dims
    x = values[dim].values if values[dim].dtype.kind in "iufM" else np.arange(values.size)
    panel.errorbar(x, values.values, np.where(np.isfinite(stderr), stderr, 0.0), fmt="o", markersize=3, linewidth=1)
    panel.set(xlabel=_label(values[dim]), ylabel=_label(values))


def _numbers(panel: Any, values: xr.DataArray, _: xr.DataArray) -> None:
    panel.hist(values.values[np.isfinite(values.values)])
    panel.set(xlabel=_label(values))


def _status(panel: Any, status: xr.DataArray) -> None:
    """How many cells ended how."""
    counts = {s.name.lower(): int((status == s).sum()) for s in Status}
    counts = {n: v for n, v in counts.items() if v}
    bars = panel.barh([*counts], [*counts.values()])
    panel.bar_label(bars, padding=2)
    panel.margins(x=0.15)
    panel.set(xlabel="cells", title="status")


def _curve(fit: LeastSquaresResult, at: dict[Any, Any], figure: Any) -> Any:
    """Observations, curve and band of one cell."""
    problem, cells = fit._problem, fit.status
    where = position(cells, at)
    index = np.array([int(np.ravel_multi_index([where[d] for d in cells.dims], cells.shape)) if cells.dims else 0])
    matrix, args = fit._matrix[:, index], problem.arguments(index)
    if not np.isfinite(matrix).all():
        status = Status(int(cells.values.ravel()[index[0]])).name.lower()
        raise ValueError(f"there is no fit at {at}: its status is {status}")
    found = misfits(problem, matrix, args, weighted=True)
    slope = _slopes(problem, matrix, index)
    counted = np.ones(slope.shape[1], bool) if problem.observed is None else problem.observed[index[0]].ravel()
    dof = fit.dof.isel(where, missing_dims="ignore").item()
    reach = stdtrit(max(dof, 1), 0.5 * (1 + BAND))
    panels = figure.subplots(len(found), 1, squeeze=False).ravel()
    for one, part, panel in zip(found, parts_of(found), panels, strict=True):
        if len(one.residual.names) > 2:
            dims = one.residual.names[1:]
            raise ValueError(f"plot draws observations along one dim, but there are {len(dims)}, {dims}")
        weight = np.ravel(one.weight.to_numpy())
        slopes = _along(one, slope[:, part]) / weight
        spread = np.sqrt(np.einsum("in,ij,jn->n", slopes, _covariance(fit, where), slopes))
        _band(fit, panel, one, _along(one, counted[None, part])[0], reach * spread)
    named = fit.params.isel(where, missing_dims="ignore")
    numbers = [f"{n} = {v.item():.4g}" for n, v in named.data_vars.items() if not v.dims]
    panels[0].set_title(", ".join(numbers), fontsize="medium")
    return figure


def _along(one: Misfit, rows: Any) -> Any:
    """Numbers (row, residual) of an array of the output, where these residuals are in it."""
    if one.place is None:
        return rows
    name, k = one.place
    whole = rows.reshape(len(rows), *one.sizes.values())
    return whole.take(k, axis=1 + [*one.sizes].index(name)).reshape(len(rows), -1)


def _slopes(problem: Residuals, matrix: Any, index: Any) -> Any:
    """The derivatives (row, observation) of the residuals of a cell in every number that is free."""
    args = problem.arguments(index)
    r = problem.residual(matrix, index, args)

    def along(x: DimArray | None) -> Any:
        if x is None:
            return np.zeros(math.prod(r.full_shape))
        full = reorder(spread(problem.table(x, 1, "residual"), r), r.names)
        return problem.counted(full, index).to_numpy().ravel()

    tape = problem.record(problem.parameters.parts(matrix, problem.backend), args)
    return np.stack([along(x) for x in columns(tape, problem.one(), guard=False)])


def _band(fit: LeastSquaresResult, panel: Any, one: Misfit, counted: Any, reach: Any) -> None:
    """One array of observations with its curve."""
    y, curve = (np.ravel(x.to_numpy()) for x in (one.observed, one.model))
    x, label = _abscissa(fit, one.leaf, y.size)
    order = np.argsort(x)
    panel.fill_between(x[order], (curve - reach)[order], (curve + reach)[order], alpha=0.3, label=f"{BAND:.0%} band")
    panel.plot(x[order], curve[order], label="fit")
    panel.plot(x[counted], y[counted], "k.", markersize=4, label="observations")
    observed = fit._problem.data[-1]
    if one.name is not None:
        observed = observed[one.name] if isinstance(observed, xr.Dataset) else None
    name = _label(observed) if isinstance(observed, xr.DataArray) else one.name
    labels = [str(x) for x in (name, one.half.part and f"({one.half.part})") if x]
    panel.set(xlabel=label, ylabel=" ".join(labels))
    panel.legend()


def _covariance(fit: LeastSquaresResult, where: dict[Any, int]) -> Any:
    """The covariance of the free parameters of a cell."""
    names = [n for n, rows in fit._problem.parameters.rows.items() if fit._problem.free[rows].all()]
    if not isinstance(fit.covariance, Mapping):
        return fit.covariance.isel(where).sel(param=names, param_wrt=names).values
    at, rows = {**where, **{f"{d}_wrt": i for d, i in where.items()}}, fit._problem.parameters.rows
    size = {n: rows[n].stop - rows[n].start for n in names}
    block = lambda a, b: fit.covariance[a, b].isel(at, missing_dims="ignore").values.reshape(size[a], size[b])
    return np.block([[block(a, b) for b in names] for a in names])


def position(cells: xr.DataArray, at: dict[Any, Any]) -> dict[Any, int]:
    """The cell nearest to some labels."""
    if {*at} != {*cells.dims}:
        raise ValueError(f"choose a cell by all of {cells.dims}, got {at}")
    where = {}
    for d, label in at.items():
        labels = cells[d].values
        if labels.dtype.kind in "iuf":
            where[d] = int(np.abs(labels - label).argmin())
        else:
            where[d] = _place(cells.get_index(d), label)
    return where


def _place(index: Any, label: Any) -> int:
    """Where a label is, or the first of several: a part of a date stands for all that have it."""
    try:
        found = index.get_loc(label)
    except KeyError:
        name, size = index.name, len(index)
        raise ValueError(f"there is no cell {label!r} among the {size} along {name!r}, such as {index[0]!r}") from None
    return int(np.ravel(np.arange(len(index))[found])[0])


def _abscissa(fit: LeastSquaresResult, leaf: Any, size: int) -> tuple[Any, str]:
    """What observations are drawn against: the first argument along their dim, their coordinate, or a number."""
    first = fit._problem.data[0]
    if len(fit._problem.data) > 1 and np.ndim(first) == 1 and np.size(first) == size:
        values = np.asarray(getattr(first, "data", first))
        if values.dtype.kind in "iufM":
            return values, _label(first) if isinstance(first, xr.DataArray) else ""
    if isinstance(leaf, xr.DataArray) and leaf.dims and leaf.dims[0] in leaf.coords:
        coordinate = leaf[leaf.dims[0]]
        if coordinate.dtype.kind in "iufM":
            return coordinate.values, _label(coordinate)
    return np.arange(size), ""


def _label(x: xr.DataArray) -> str:
    units = x.attrs.get("units")
    name = str(x.attrs.get("long_name", x.name if x.name is not None else ""))
    return f"{name} [{units}]" if units else name
