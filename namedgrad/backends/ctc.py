"""The recursions of connectionist temporal classification: one step per time, whatever the batch.

Arrays end in ``(time, state)``.  A state is reached in three ways, from itself, from the state before, and from the one
before that; what belongs to a way has an axis of size 3 in front of the time.  Time and state come first while a
recursion runs, so that a step, and the states without the first ones, are one piece of memory: half the time of rows of
states. Two states in front stand for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any
Shape = tuple[int, ...]


class CtcKernels(Kernels):
    """Recursions over the last two axes, and what goes with them."""

    def ctc_forward(self, emitted: Raw, skips: Raw) -> Raw:
        """Log-probabilities to be in each state before the first and after every time, (T, S), (S) -> (T + 1, S).

        ``skips`` are the states that may be reached from two states before.
        """
        xp = self.xp
        steps, states = emitted.shape[-2:]
        lead = np.broadcast_shapes(emitted.shape[:-2], skips.shape[:-1])
        out = xp.full((steps + 1, states + 2, *lead), -np.inf, dtype=emitted.dtype)
        out[0, 2] = 0
        least = float(np.finfo(emitted.dtype).min)  # instead of -inf, which must not be subtracted from itself
        closed, emitted = self._closed(skips, emitted.dtype, lead), self._first(emitted, 2, lead)
        with np.errstate(divide="ignore"):
            for t in range(steps):
                stay, step, skip = out[t, 2:], out[t, 1:-1], out[t, :-2] + closed
                top = xp.maximum(xp.maximum(xp.maximum(stay, step), skip), least)
                total = xp.exp(stay - top) + xp.exp(step - top) + xp.exp(skip - top)
                out[t + 1, 2:] = xp.log(total) + top + emitted[t]
        return xp.moveaxis(out[:, 2:], (0, 1), (-2, -1))

    def ctc_shares(self, y: Raw, skips: Raw) -> Raw:
        """Of what arrives in a state, the share of each way, (T + 1, S), (S) -> (3, T, S); 0 where nothing arrives."""
        xp = self.xp
        lead = np.broadcast_shapes(y.shape[:-2], skips.shape[:-1])
        ways = self._ways(y, lead, -np.inf)
        ways[..., 2, :, :] += xp.moveaxis(self._closed(skips, y.dtype, lead), 0, -1)[..., None, :]
        ways -= xp.maximum(xp.max(ways, axis=-3, keepdims=True), float(np.finfo(y.dtype).min))
        xp.exp(ways, out=ways)
        total = xp.sum(ways, axis=-3, keepdims=True)
        return xp.divide(ways, total + (total == 0), out=ways)

    def ctc_origins(self, y: Raw) -> Raw:
        """What was in the state that each way comes from, (T + 1, S) -> (3, T, S); 0 where there is none."""
        return self._ways(y, y.shape[:-2], 0)

    def ctc_collect(self, ways: Raw) -> Raw:
        """The transpose of :meth:`ctc_origins`."""
        *lead, _, steps, states = ways.shape
        out = self.xp.zeros((*lead, steps + 1, states), dtype=ways.dtype)
        for k in range(min(3, states)):
            out[..., :-1, : states - k] += ways[..., k, :, k:]
        return out

    def ctc_scan(self, x: Raw, shares: Raw) -> Raw:
        """``y[t] = x[t]`` plus what the shares bring from ``y[t - 1]``, (T + 1, S), (3, T, S) -> (T + 1, S)."""
        out, shares = self._begin(x, shares)
        for t in range(len(shares)):
            last, (stay, step, skip) = out[t], shares[t]
            out[t + 1, 2:] += stay * last[2:] + step * last[1:-1] + skip * last[:-2]
        return self.xp.moveaxis(out[:, 2:], (0, 1), (-2, -1))

    def ctc_scan_back(self, g: Raw, shares: Raw) -> Raw:
        """The transpose of :meth:`ctc_scan` in its first operand: backwards in time."""
        out, shares = self._begin(g, shares)
        for t in range(len(shares) - 1, -1, -1):
            stay, step, skip = shares[t] * out[t + 1, 2:]
            out[t, 2:] += stay
            out[t, 1:-1] += step
            out[t, :-2] += skip
        return self.xp.moveaxis(out[:, 2:], (0, 1), (-2, -1))

    def _begin(self, x: Raw, shares: Raw) -> tuple[Raw, Raw]:
        """``x`` with time and state first, behind two states, and the shares with time, way and state first."""
        xp = self.xp
        lead = np.broadcast_shapes(x.shape[:-2], shares.shape[:-3])
        out = xp.zeros((x.shape[-2], x.shape[-1] + 2, *lead), dtype=x.dtype)
        out[:, 2:] = self._first(x, 2, lead)
        return out, xp.swapaxes(self._first(shares, 3, lead), 0, 1)

    def _ways(self, y: Raw, lead: Shape, nothing: float) -> Raw:
        steps, states = y.shape[-2] - 1, y.shape[-1]
        out = self.xp.full((*lead, 3, steps, states), nothing, dtype=y.dtype)
        for k in range(min(3, states)):
            out[..., k, :, k:] = y[..., :-1, : states - k]
        return out

    def _closed(self, skips: Raw, dtype: Any, lead: Shape) -> Raw:
        """0 where a state may be skipped, minus infinity elsewhere; states first."""
        closed = self.xp.where(skips, 0.0, -np.inf).astype(dtype)
        return self.xp.ascontiguousarray(self._first(closed, 1, lead))

    def _first(self, x: Raw, count: int, lead: Shape) -> Raw:
        """The last axes in front of others, of which there are as many as in ``lead``."""
        x = x[(None,) * (count + len(lead) - x.ndim)]
        return self.xp.moveaxis(x, range(-count, 0), range(count))


class HostCtc(CtcKernels):
    """Where a step of a recursion stays in the cache."""

    def ctc_shares(self, y: Raw, skips: Raw) -> Raw:
        """Time by time."""
        lead = np.broadcast_shapes(y.shape[:-2], skips.shape[:-1])
        closed, least = self._closed(skips, y.dtype, lead), float(np.finfo(y.dtype).min)
        out = np.full((y.shape[-2] - 1, 3, y.shape[-1], *lead), -np.inf, y.dtype)
        y = self._first(y, 2, lead)
        for t in range(len(out)):
            last, ways = y[t], out[t]
            ways[0], ways[1, 1:] = last, last[:-1]
            ways[2, 2:] = last[:-2] + closed[2:]
            ways -= np.maximum(np.maximum(np.maximum(ways[0], ways[1]), ways[2]), least)
            np.exp(ways, out=ways)
            total = ways[0] + ways[1] + ways[2]
            ways /= total + (total == 0)
        return np.moveaxis(out, (0, 1, 2), (-2, -3, -1))
