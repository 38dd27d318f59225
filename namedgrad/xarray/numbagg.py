"""The moving windows, fills and exponential means that xarray hands to ``numbagg`` where that is installed.

They arrive as generalised ufuncs with the names below.  Their counterparts are made of NumPy functions and operations
of the tape, so derivatives and vectorized axes come for free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import axes as axes_
from namedgrad.array import make
from namedgrad.axes import NONE
from namedgrad.positional.array import box
from namedgrad.positional.axis import name_of
from namedgrad.positional.operands import unwrap
from namedgrad.positional.protocol import kind_of
from namedgrad.positional.ufuncs import GUFUNCS
from namedgrad.primitive import OPERATIONS
from namedgrad.rules.scans.recurrence import recurrence
from namedgrad.rules.structure import reorder
from namedgrad.xarray.convert import beside

# ------------------------------------------------------------------------------------------------ moving windows


def _windows(a: Any, window: int, axis: int) -> Any:
    """Windows that end at each cell, in a new last axis; cells before the first are missing."""
    width = [(0, 0)] * a.ndim
    width[axis] = (int(window) - 1, 0)
    return np.lib.stride_tricks.sliding_window_view(np.pad(a, width, constant_values=np.nan), int(window), axis)


def _moving(reduce: Any, at_least: int) -> Any:
    def function(a: Any, window: Any, min_count: Any = None, axis: int = -1) -> Any:
        views = _windows(a, window, axis)
        wanted = window if min_count is None else min_count
        enough = _count(views) >= max(int(wanted), at_least)
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


def forward_fill(a: Any, limit: Any = None, axis: int = -1) -> Any:
    """Missing cells take the last present one, at most ``limit`` cells away."""
    x = unwrap(a)
    filled = OPERATIONS["ffill"].function(x, name_of(x, axis), None if limit is None else int(limit))
    return box(reorder(filled, x.names), kind_of((a,)))


# ------------------------------------------------------------------------------------------------ exponential weights


class _Decayed:
    """Sums up to each cell, with weights that decay by ``1 - alpha`` per cell; missing cells have none."""

    def __init__(self, arrays: Any, alpha: Any, min_weight: Any) -> None:
        self.arrays = np.broadcast_arrays(*arrays)
        n = self.arrays[0].shape[-1]
        alpha = beside(np.broadcast_to(np.asarray(alpha, dtype=float), (n,)), self.arrays[0])
        self.decay = 1.0 - alpha
        self.present = ~np.isnan(self.arrays[0])
        for a in self.arrays[1:]:
            self.present = self.present & ~np.isnan(a)
        here = np.where(self.present, 1.0, np.zeros_like(self.arrays[0]))
        self.count = self.running(here)
        self.squares = self.running(here, self.decay**2)
        self.enough = self.running(here * alpha) >= float(min_weight)
        self.safe = np.where(self.count > 0, self.count, 1.0)

    def running(self, a: Any, decay: Any = None) -> Any:
        """The decayed sum up to each cell."""
        x, line = unwrap(a), axes_.axis(-1)
        by = make(self.decay if decay is None else decay, (line,), NONE)
        return box(reorder(recurrence(by, x, line), x.names), kind_of((a,)))

    def sum(self, a: Any) -> Any:
        return self.running(np.where(self.present, a, 0.0))

    def mean(self, a: Any) -> Any:
        return self.sum(a) / self.safe

    def covariance(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Unbiased, where it is defined: where more than one cell has a weight."""
        bias = 1.0 - self.squares / self.safe**2
        known = bias > 0
        moment = self.mean(a * b) - self.mean(a) * self.mean(b)
        return moment / np.where(known, bias, 1.0), known


def _std(d: _Decayed, a: Any) -> tuple[Any, Any]:
    variance, known = d.covariance(a, a)
    return np.sqrt(np.where(known, variance, 1.0)), known


def _corr(d: _Decayed, a: Any, b: Any) -> tuple[Any, Any]:
    together, known = d.covariance(a, b)
    product = d.covariance(a, a)[0] * d.covariance(b, b)[0]
    known = known & (product > 0)
    return together / np.sqrt(np.where(known, product, 1.0)), known


EXPONENTIAL: dict[str, Callable[..., tuple[Any, Any]]] = {
    "mean": lambda d, a: (d.mean(a), d.count > 0),
    "sum": lambda d, a: (d.sum(a), np.cumsum(d.present, axis=-1) > 0),
    "count": lambda d, a: (d.count, True),
    "var": lambda d, a: d.covariance(a, a),
    "std": _std,
    "cov": lambda d, a, b: d.covariance(a, b),
    "corr": _corr,
}  # fmt: skip


def exponential(name: str) -> Callable[..., Any]:
    """A statistic with exponentially decaying weights along the last axis, or another one."""
    result = EXPONENTIAL[name]

    def function(*arrays: Any, alpha: Any, min_weight: Any = 0.0, axis: int = -1) -> Any:
        moved = [np.moveaxis(a, axis, -1) for a in arrays]
        d = _Decayed(moved, alpha, min_weight)
        value, known = result(d, *d.arrays)
        kind = np.result_type(*(a.dtype for a in arrays), np.float32)
        return np.moveaxis(np.where(known & d.enough, value, np.nan).astype(kind), -1, axis)

    return function


def _as_gufunc(name: str) -> Callable[..., Any]:
    """As numbagg calls it: the arrays, alpha along the last axis, the least weight; ``axes`` for all of them."""
    function, count = exponential(name), 2 if name in {"cov", "corr"} else 1

    def call(*args: Any, axes: Any = None, axis: int = -1) -> Any:
        if axes is not None:
            axis = axes[0] if isinstance(axes[0], int) else axes[0][0]
        return function(*args[:count], alpha=args[count], min_weight=args[count + 1], axis=axis)

    return call


GUFUNCS.update({
    "move_sum": _moving(_sum, 1),
    "move_mean": _moving(_mean, 1),
    "move_var": _moving(_variance, 2),
    "move_std": _moving(_deviation, 2),
    "ffill": forward_fill,
    **{f"move_exp_nan{name}": _as_gufunc(name) for name in EXPONENTIAL},
})
