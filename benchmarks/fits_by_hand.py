"""What one would write by hand for one model: Levenberg-Marquardt for all pixels at once, with its Jacobian."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Sums(NamedTuple):
    """Cost (pixel,), gradient (pixel, parameter) and normal matrix (pixel, parameter, parameter)."""

    cost: Array
    gradient: Array
    normal: Array


def exponential(p: Array, t: Array, y: Array) -> Sums:
    """Sums for ``a exp(-b t) + c + d t``; the columns of c and d are the same in all pixels."""
    a, b, c, d = (v[:, None] for v in p)
    e = np.exp(-b * t)
    slope = a * e
    r = slope + c + d * t - y
    slope *= -t
    common = np.stack([np.ones_like(t), t], axis=1)
    normal, gradient = np.empty((len(y), 4, 4)), np.empty((len(y), 4))
    normal[:, 0, 0], normal[:, 1, 1] = np.vecdot(e, e), np.vecdot(slope, slope)
    normal[:, 0, 1] = normal[:, 1, 0] = np.vecdot(e, slope)
    normal[:, 0, 2:] = normal[:, 2:, 0] = e @ common
    normal[:, 1, 2:] = normal[:, 2:, 1] = slope @ common
    normal[:, 2:, 2:] = common.T @ common
    gradient[:, 0], gradient[:, 1], gradient[:, 2:] = np.vecdot(e, r), np.vecdot(slope, r), r @ common
    return Sums(0.5 * np.vecdot(r, r), gradient, normal)


def harmonic(p: Array, t: Array, y: Array) -> Sums:
    """Sums for ``a sin(b t + c) + d``."""
    a, b, c, d = (v[:, None] for v in p)
    phase = b * t + c
    s = np.sin(phase)
    turn = a * np.cos(phase)
    r = a * s + d - y
    columns = (s, turn * t, turn)
    normal, gradient = np.empty((len(y), 4, 4)), np.empty((len(y), 4))
    for i, column in enumerate(columns):
        gradient[:, i] = np.vecdot(column, r)
        normal[:, i, 3] = normal[:, 3, i] = column.sum(axis=1)
        for j in range(i + 1):
            normal[:, i, j] = normal[:, j, i] = np.vecdot(column, columns[j])
    gradient[:, 3], normal[:, 3, 3] = r.sum(axis=1), len(t)
    return Sums(0.5 * np.vecdot(r, r), gradient, normal)


def fit(
    sums: Callable[[Array, Array, Array], Sums], start: Array, t: Array, y: Array, *, tile: int = 2048,
    tol: float = 1e-8, most: int = 100,
) -> tuple[Array, Array]:  # fmt: skip
    """Parameters (parameter, pixel) and iterations; pixels that are done leave their tile."""
    out, tries = np.tile(start[:, None], (1, len(y))), np.zeros(len(y), int)
    with np.errstate(all="ignore"):
        for first in range(0, len(y), tile):
            at = np.arange(first, min(first + tile, len(y)))
            _fit_tile(sums, out, tries, at, t=t, y=y, tol=tol, most=most)
    return out, tries


def _fit_tile(
    sums: Callable[[Array, Array, Array], Sums], out: Array, tries: Array, at: Array, *, t: Array, y: Array, tol: float,
    most: int,
) -> None:  # fmt: skip
    y, p = y[at], out[:, at]
    here, damping, rows = sums(p, t, y), np.full(len(at), 1e-3), np.arange(len(p))
    for _ in range(most):
        matrix = here.normal.copy()
        matrix[:, rows, rows] *= 1 + damping[:, None]
        step = -np.linalg.solve(matrix, here.gradient[..., None])[..., 0].T
        there = sums(p + step, t, y)
        better = there.cost < here.cost
        still = (np.abs(step) <= tol * (np.abs(p) + tol)).all(axis=0)
        done = still | (better & (here.cost - there.cost <= tol * here.cost)) | (damping > 1e12)
        p[:, better] += step[:, better]
        for old, new in zip(here, there, strict=True):
            old[better] = new[better]
        damping = np.where(better, 0.1, 10.0) * damping
        tries[at] += 1
        out[:, at] = p
        if done.any():
            left = ~done
            at, y, p, damping = at[left], y[left], p[:, left], damping[left]
            here = Sums(*(x[left] for x in here))
            if not len(at):
                return
