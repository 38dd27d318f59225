"""The moving windows and fills that xarray hands to ``numbagg`` where that is installed.

They arrive as generalised ufuncs with the names below.  Their counterparts are made of NumPy functions, so derivatives
and vectorized axes come for free.  ``n`` cells in a window cost ``n`` times one cell here; numbagg's running sums are
faster but have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.positional.ufuncs import GUFUNCS


def _windows(a: Any, window: int, axis: int) -> Any:
    """Windows that end at each cell, in a new last axis; cells before the first are missing."""
    width = [(0, 0)] * a.ndim
    width[axis] = (int(window) - 1, 0)
    return np.lib.stride_tricks.sliding_window_view(np.pad(a, width, constant_values=np.nan), int(window), axis)


def _moving(reduce: Any, at_least: int) -> Any:
    def function(a: Any, window: Any, min_count: Any, axis: int = -1) -> Any:
        views = _windows(a, window, axis)
        enough = _count(views) >= max(int(min_count), at_least)
        return np.where(enough, reduce(views), np.nan)

    return function


def _count(views: Any) -> Any:
    return np.sum(~np.isnan(views), axis=-1)


def _sum(views: Any) -> Any:
    return np.nansum(views, axis=-1)


def _mean(views: Any) -> Any:
    return _sum(views) / np.maximum(_count(views), 1)


def _variance(views: Any) -> Any:
    return _sum((views - _mean(views)[..., None]) ** 2) / np.maximum(_count(views) - 1, 1)


def _deviation(views: Any) -> Any:
    return np.sqrt(_variance(views))


def forward_fill(a: Any, limit: Any, axis: int = -1) -> Any:
    """Missing cells take the last present one, at most ``limit`` cells away, in steps that double."""
    a = np.moveaxis(a, axis, -1)
    size = a.shape[-1]
    reach, most = 0, min(int(limit), size - 1)
    while reach < most:
        step = min(reach + 1, most - reach)
        earlier = np.concatenate([np.full_like(a[..., :step], np.nan), a[..., :-step]], axis=-1)
        a = np.where(np.isnan(a), earlier, a)
        reach += step
    return np.moveaxis(a, -1, axis)


def exponential_mean(a: Any, alpha: Any, min_weight: Any, axes: Any = None, axis: int = -1) -> Any:
    """Mean with weights that decay by ``1 - alpha`` per cell; missing cells have none."""
    if axes is not None:
        axis = axes[0]
    a = np.moveaxis(a, axis, -1)
    decay = 1.0 - np.broadcast_to(np.asarray(alpha, dtype=float), a.shape[-1:])
    weights = np.zeros((a.shape[-1],) * 2)
    for i in range(len(decay)):
        weights[i, :i] = weights[i - 1, :i] * decay[i] if i else 0.0
        weights[i, i] = 1.0
    present = ~np.isnan(a)
    total = np.where(present, a, 0.0) @ weights.T
    count = present.astype(float) @ weights.T
    weight = present.astype(float) @ (weights * (1.0 - decay)).T
    enough = (weight >= float(min_weight)) & (count > 0)
    return np.moveaxis(np.where(enough, total / np.where(count > 0, count, 1.0), np.nan), -1, axis)


GUFUNCS.update({
    "move_sum": _moving(_sum, 1),
    "move_mean": _moving(_mean, 1),
    "move_var": _moving(_variance, 2),
    "move_std": _moving(_deviation, 2),
    "ffill": forward_fill,
    "move_exp_nanmean": exponential_mean,
})
