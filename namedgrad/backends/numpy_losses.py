"""Losses whose slopes are found with them, of as many cells at a time as the cache holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.backends.losses import LossKernels
from namedgrad.backends.numpy_special import are_many, blocks

Raw = Any


class NumpyLosses(LossKernels):
    """On :class:`numpy.ndarray`."""

    def bce_logits_and_slopes(self, x: Raw, target: Raw, weight: Raw, *, odds: bool) -> tuple[Raw, ...] | None:
        """Of many cells, None where one is not finite: a million with both slopes in 10 ms instead of 15."""
        alike = all(are_many(a) and (a.shape, a.dtype) == (x.shape, x.dtype) for a in (x, target))
        if not alike or np.ndim(weight):
            return None
        outs = [np.empty_like(x) for _ in range(3 if odds else 2)]
        with np.errstate(all="ignore"):
            for some, t, *to in blocks(x, target, *outs):
                _bce_logits(some, t, weight, to)
        return tuple(outs) if self.isfinite_all(outs[0]) else None


def _bce_logits(x: Raw, t: Raw, w: Raw, to: list[Raw]) -> None:
    """The loss, and its slopes: ``(1 - t) expit(x) - w t expit(-x)``, and ``log_expit(-x) - w log_expit(x)``."""
    out, slope, odds = (*to, None)[:3]
    high = np.maximum(x, np.zeros_like(x))  # a number instead of zeros would take twice the time
    low = x - high
    up, down = np.exp(low), np.exp(-high)  # of which one is 1
    fall = up * down
    bend, other, own = np.log1p(fall), 1 - t, w * t
    np.multiply(other, up, out=slope)
    slope -= np.multiply(own, down, out=down)
    slope /= np.add(fall, 1, out=fall)
    if odds is not None:
        np.multiply(w - 1, bend, out=odds)
        odds -= high
        odds -= np.multiply(w, low, out=up)
    high += bend
    np.subtract(bend, low, out=bend)
    np.add(np.multiply(other, high, out=high), np.multiply(own, bend, out=bend), out=out)
