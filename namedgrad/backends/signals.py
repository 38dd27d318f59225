"""Discrete convolution along the last axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.windows import Span

Raw = Any
# Measured on one core: up to here one addition per tap is as fast as a product of windows.
TAPS = 48


class SignalKernels(Kernels):
    """Kernels for any namespace."""

    def convolve(self, x: Raw, y: Raw, *, full: bool) -> Raw:
        """All products of overlaps (``full``), or those where the shorter ``y`` lies within ``x``."""
        xp = self.xp
        if x.shape[-1] < y.shape[-1]:
            x, y = y, x
        n, m = x.shape[-1], y.shape[-1]
        if m > TAPS and not full:  # zeros beyond the ends would meet what is not finite
            return self._of_windows(x, y)
        k = n + m - 1 if full else n - m + 1
        lead = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        out = xp.zeros((*lead, k), dtype=np.result_type(x.dtype, y.dtype))
        for j in range(m):
            if full:
                out[..., j : j + n] += x * y[..., j : j + 1]
            else:
                out += x[..., m - 1 - j : n - j] * y[..., j : j + 1]
        return out

    def _of_windows(self, x: Raw, y: Raw) -> Raw:
        xp, m = self.xp, y.shape[-1]
        backend: Any = self
        runs = backend.windows(x, (x.ndim - 1,), (Span(m, x.shape[-1] - m + 1),))
        return xp.einsum("...km,...m->...k", runs, xp.flip(y, axis=-1))


class HostSignals(SignalKernels):
    """Kernels for the host."""

    def convolve(self, x: Raw, y: Raw, *, full: bool) -> Raw:
        """:func:`numpy.convolve` where there is nothing else; many rows with one kernel by a product of matrices."""
        if x.ndim == y.ndim == 1:
            return np.convolve(x, y, "full" if full else "valid")
        longer, y = (x, y) if x.shape[-1] >= y.shape[-1] else (y, x)
        lead = np.broadcast_shapes(longer.shape[:-1], y.shape[:-1])
        out = None
        with np.errstate(invalid="ignore"):
            if math.prod(y.shape[:-1]) == 1 and longer.size:
                out = _of_blocks(longer, y.reshape(-1), full=full).reshape(*lead, -1)
            elif full and y.shape[-1] > TAPS:
                ends = [(0, 0)] * (longer.ndim - 1) + [(y.shape[-1] - 1, y.shape[-1] - 1)]
                out = self._of_windows(np.pad(longer, ends), y)
            if out is not None and math.isfinite(abs(np.add.reduce(out, axis=None))):
                return out
        return super().convolve(longer, y, full=full)  # no zero of ours meets what is not finite


def _of_blocks(x: Raw, y: Raw, *, full: bool) -> Raw:
    """Blocks of the result from the cells that they depend on, by a matrix with the kernel along its diagonals."""
    m = len(y)
    before = m - 1 if full else 0
    count = x.shape[-1] + 2 * before - m + 1
    length = min(max(32, m), count)
    blocks = -(-count // length)
    whole = np.zeros((*x.shape[:-1], blocks * length + m - 1), x.dtype)
    whole[..., before : before + x.shape[-1]] = x
    matrix = np.zeros((length + m - 1, length), y.dtype)
    for j in range(length):
        matrix[j : j + m, j] = y[::-1]
    runs = np.lib.stride_tricks.sliding_window_view(whole, length + m - 1, axis=-1)[..., ::length, :]
    out = runs.reshape(-1, length + m - 1) @ matrix
    return out.reshape(*x.shape[:-1], blocks * length)[..., :count]
