"""Polynomials fitted to lines with gaps, with weights and coordinates that are differentiated."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.positional import positional
from namedgrad.xarray.convert import beside


def polyfit(  # noqa: PLR0917 - the signature of xarray
    obj: xr.Dataset, dim: Any, deg: int, skipna: bool | None = None, rcond: Any = None, w: Any = None,
    full: bool = False, cov: bool | str = False,
) -> xr.Dataset:  # fmt: skip
    """As ``Dataset.polyfit``, where the weights or the coordinate are arrays of ours."""
    matrix = _powers(obj.coords[dim], int(deg) + 1)
    (line,), size = obj.coords[dim].dims, len(matrix)
    weights = _weights(obj, w, size, dim)
    matrix = matrix if weights is None else matrix * weights[:, None]
    scale = np.sqrt((matrix**2).sum(axis=0))
    out: dict[Hashable, xr.Variable] = {}
    if full:
        out[f"{dim}_matrix_rank"] = xr.Variable((), np.linalg.matrix_rank(matrix / scale))
        out[f"{dim}_singular_values"] = xr.Variable(("degree",), np.linalg.svd(matrix / scale, compute_uv=False))
    for key, v in obj.data_vars.items():
        if line not in v.dims:
            continue
        y = v.variable.transpose(line, ...)
        rows = y.data if weights is None else y.data * _column(weights, y.ndim)
        coefficients, residuals = least_squares(matrix / scale, rows, rcond, skipna=skipna is not False)
        name = f"{key}_" if isinstance(key, str) else ""
        coefficients = coefficients / _column(beside(scale, y.data), y.ndim)
        out[f"{name}polyfit_coefficients"] = xr.Variable(("degree", *y.dims[1:]), coefficients)
        left = xr.Variable(y.dims[1:], residuals)
        if full or cov is True:
            out[f"{name}polyfit_residuals"] = left
        if cov:
            out[f"{name}polyfit_covariance"] = _covariance(matrix, left, scaled=cov != "unscaled")
    dims = {d for v in out.values() for d in v.dims}
    kept = {d: obj.variables[d] for d in obj.dims if d in dims and d in obj.coords}
    return xr.Dataset(out, {"degree": np.arange(int(deg) + 1)[::-1], **kept}, obj.attrs)


def _column(values: Any, ndim: int) -> Any:
    return np.reshape(values, (-1, *(1,) * (ndim - 1)))


def _covariance(matrix: Any, residuals: xr.Variable, *, scaled: bool) -> xr.Variable:
    rows, order = matrix.shape
    if scaled and rows <= order:
        raise ValueError("The number of data points must exceed order to scale the covariance matrix.")
    shared = xr.Variable(("cov_i", "cov_j"), beside(np.linalg.inv(matrix.T @ matrix), residuals.data))
    return shared * (residuals / (rows - order)) if scaled else shared


def _weights(obj: xr.Dataset, w: Any, size: int, dim: Any) -> Any:
    """One weight per cell of the line, or None."""
    w = obj.coords[w] if isinstance(w, str) else w
    w = w.data if isinstance(w, (xr.DataArray, xr.Variable)) else w
    if w is not None and np.ndim(w) != 1:
        raise TypeError("Expected a 1-d array for weights.")
    if w is not None and len(w) != size:
        raise TypeError(f"Expected w and {dim} to have the same length")
    return w


def as_numbers(coord: xr.Variable) -> xr.Variable:
    """Positions as xarray counts them in polynomials: dates from 1970 in ns, timedeltas in their own unit."""
    itself = xr.DataArray([0.0, 1.0], {" power": [0, 1]}, " power")  # the polynomial t
    return xr.polyval(xr.DataArray(coord.to_base_variable()), itself, degree_dim=" power").variable


def _powers(coord: xr.DataArray, order: int) -> Any:
    """The columns ``t**(order - 1), ..., t, 1``."""
    t = as_numbers(coord.variable).data
    powers = [np.ones_like(t)]
    while len(powers) < order:
        powers.append(powers[-1] * t)
    return np.stack(powers[::-1], axis=1)


def least_squares(lhs: Any, rhs: Any, rcond: Any = None, *, skipna: bool = False) -> tuple[Any, Any]:
    """Coefficients and sums of squared residuals for each column, leaving out the rows that are missing there.

    The columns of the matrix are made orthonormal first, so that the small systems of the columns, which lack a few
    rows each, stay well conditioned. As in xarray ``rcond`` is for columns that lack none.
    """
    shape = rhs.shape
    y = np.reshape(rhs, (shape[0], -1))
    cut = rcond if rcond is not None and rcond > 2 * shape[0] * np.finfo(float).eps else None
    if not skipna:
        coefficients, residuals = _complete(lhs, y, cut)
    else:
        present = ~np.isnan(y)
        y = np.where(present, y, 0.0)
        coefficients, residuals = _with_gaps(lhs, y, present)
        if cut is not None:
            whole, all_there = _complete(lhs, y, cut), present.all(axis=0)
            coefficients = np.where(all_there, whole[0], coefficients)
            residuals = np.where(all_there, whole[1] if np.size(whole[1]) else np.nan, residuals)
    if np.ndim(residuals) and residuals.shape[0] == 0:
        residuals = coefficients[0] * np.nan
    return np.reshape(coefficients, (-1, *shape[1:])), np.reshape(residuals, shape[1:])


def _complete(lhs: Any, y: Any, cut: Any) -> tuple[Any, Any]:
    order = lhs.shape[1]
    if np.linalg.matrix_rank(lhs, rtol=cut) < order or lhs.shape[0] < order:
        coefficients, residuals, *_ = np.linalg.lstsq(beside(lhs, y), y, rcond=cut)
        return coefficients, residuals
    lhs = beside(lhs, y)
    q, r = np.linalg.qr(lhs)
    coefficients = np.linalg.solve(r, q.T @ y)
    if lhs.shape[0] == order:
        return coefficients, coefficients[0] * np.nan
    return coefficients, _sizes(y - lhs @ coefficients)


def _sizes(columns: Any) -> Any:
    """The sum of squares of each column."""
    squares = columns.real**2 + columns.imag**2 if columns.dtype.kind == "c" else columns**2
    return squares.sum(axis=0)


def _with_gaps(lhs: Any, y: Any, present: Any) -> tuple[Any, Any]:
    order = lhs.shape[1]
    mask = np.asarray(present, dtype=float) if isinstance(present, np.ndarray) else positional(present).astype(float)
    count, nodes, lhs = mask.sum(axis=0), beside(_nodes(lhs), y), beside(lhs, y)
    enough = (count if nodes is None else ((nodes @ mask) > 0).sum(axis=0)) >= order
    short = _of_few(lhs, y, mask, enough)
    if nodes is not None and len(nodes) < order:
        coefficients = short
    else:
        q, r = np.linalg.qr(lhs)
        gram = (mask.T @ (q[:, :, None] * q[:, None, :]).reshape(len(q), -1)).reshape(-1, order, order)
        gram = np.where(enough[:, None, None], gram, beside(np.eye(order), y))
        z = np.linalg.solve(gram, (y.T @ q)[..., None])[..., 0].T
        coefficients = np.where(enough, np.linalg.solve(r, z), short)
    residuals = _sizes(y - mask * (lhs @ coefficients))
    coefficients = np.where(count > 0, coefficients, np.nan)
    return coefficients, np.where(enough & (count > order), residuals, np.nan)


def _nodes(lhs: Any) -> Any:
    """Which rows are at each of the different places; only those that have a weight determine anything.

    ``None`` if every row is at a place of its own, or where that cannot be looked at.
    """
    if not isinstance(lhs, np.ndarray):
        return None
    weighed = lhs[:, -1] != 0  # the column of the constant
    place = np.divide(lhs[:, -2:-1].sum(axis=1), lhs[:, -1], out=np.zeros(len(lhs)), where=weighed)
    order = np.argsort(place)
    apart = np.diff(place[order], prepend=np.nan) > 8 * np.finfo(float).eps * np.abs(place).max(initial=0)
    number = np.empty(len(lhs), int)
    number[order] = np.cumsum(apart)
    nodes = (number == np.unique(number[weighed])[:, None]) & weighed
    return nodes.astype(float) if len(nodes) < max(len(lhs), lhs.shape[1]) else None


def _of_few(lhs: Any, y: Any, mask: Any, enough: Any) -> Any:
    """The shortest coefficients where fewer cells than those have a say, by pseudo-inverses."""
    if isinstance(enough, np.ndarray) and (enough | (mask.sum(axis=0) == 0)).all():
        return 0.0
    inverse = np.linalg.pinv(mask.T[:, :, None] * lhs, rcond=len(lhs) * np.finfo(float).eps)
    return (inverse @ y.T[..., None])[..., 0].T
