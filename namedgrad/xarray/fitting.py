"""Polynomials fitted to lines with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.positional import positional


def least_squares(lhs: Any, rhs: Any, rcond: Any = None, *, skipna: bool = False) -> tuple[Any, Any]:  # noqa: ARG001
    """Coefficients and sums of squared residuals for each column, leaving out the rows that are missing there.

    The columns of the matrix are made orthonormal first, so that the small systems of the columns, which lack a few
    rows each, stay well conditioned.
    """
    shape = rhs.shape
    y = np.reshape(rhs, (shape[0], -1))
    if not skipna:
        coefficients, residuals = _complete(lhs, y)
    else:
        present = ~np.isnan(y)
        coefficients, residuals = _with_gaps(lhs, np.where(present, y, 0.0), present)
    if np.ndim(residuals) and residuals.shape[0] == 0:
        residuals = coefficients[0] * np.nan
    return np.reshape(coefficients, (-1, *shape[1:])), np.reshape(residuals, shape[1:])


def _complete(lhs: Any, y: Any) -> tuple[Any, Any]:
    order = lhs.shape[1]
    if np.linalg.matrix_rank(lhs) < order or lhs.shape[0] < order:
        coefficients, residuals, *_ = np.linalg.lstsq(lhs, y)
        return coefficients, residuals
    q, r = np.linalg.qr(lhs)
    coefficients = np.linalg.solve(r, q.T @ y)
    if lhs.shape[0] == order:
        return coefficients, coefficients[0] * np.nan
    return coefficients, ((y - lhs @ coefficients) ** 2).sum(axis=0)


def _with_gaps(lhs: Any, y: Any, present: Any) -> tuple[Any, Any]:
    order = lhs.shape[1]
    q, r = np.linalg.qr(lhs)
    mask = np.asarray(present, dtype=float) if isinstance(present, np.ndarray) else positional(present).astype(float)
    count = mask.sum(axis=0)
    gram = (mask.T @ (q[:, :, None] * q[:, None, :]).reshape(len(q), -1)).reshape(-1, order, order)
    enough = count >= order
    eye = np.eye(order)
    gram = np.where(enough[:, None, None], gram, eye)
    right = (y.T @ q)[..., None]
    z = np.linalg.solve(gram, right)[..., 0].T
    z = np.where(enough, z, _of_few(q, r, y, mask, enough))
    coefficients = np.linalg.solve(r, z)
    coefficients = np.where(count > 0, coefficients, np.nan)
    residuals = ((y - mask * (q @ z)) ** 2).sum(axis=0)
    return coefficients, np.where(count > order, residuals, np.nan)


def _of_few(q: Any, r: Any, y: Any, mask: Any, enough: Any) -> Any:
    """The shortest coefficients where there are fewer cells than those: r z, by pseudo-inverses."""
    if isinstance(enough, np.ndarray) and (enough | (mask.sum(axis=0) == 0)).all():
        return 0.0
    lhs = mask.T[:, :, None] * (q @ r)
    return r @ (np.linalg.pinv(lhs) @ y.T[..., None])[..., 0].T
