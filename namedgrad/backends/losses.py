"""Losses cell by cell, of which a composition would be slower, or wrong at infinity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.softmax import lost_beside_one

Raw = Any

FEW = 16  # targets that are compared with every score
LEAST_LOG = -100.0  # PyTorch's bound of the logarithms in binary cross entropy
LEAST_SHARE = math.exp(LEAST_LOG)
LEAST = 9.999999960041972e-13  # what is divided by where a logarithm is bounded: PyTorch's 1e-12, as a float32


class LossKernels(Kernels):
    """Elementwise kernels on raw arrays."""

    def huber(self, d: Raw, delta: Raw) -> Raw:
        """``d**2 / 2`` up to ``delta``, from there on a straight line."""
        near = self.xp.clip(d, -delta, delta)
        return near * (d - 0.5 * near)

    def kl_div(self, x: Raw, target: Raw) -> Raw:
        """``target * (log(target) - x)``, 0 where the target is."""
        xp = self.xp
        if self.may_branch:
            with np.errstate(divide="ignore", invalid="ignore"):
                out = target * (xp.log(target) - x)
            if self.isfinite_all(out):
                return out
        with np.errstate(invalid="ignore"):
            return self.scale(target, xp.log(target + xp.equal(target, 0)) - x)

    def gaussian_nll(self, d: Raw, var: Raw) -> Raw:
        """``(d**2 / var + log(var)) / 2``."""
        return 0.5 * (d * d / var + self.xp.log(var))

    def poisson_nll(self, x: Raw, target: Raw) -> Raw:
        """``exp(x) - target * x``, where a target of 0 takes no part."""
        if self.may_branch:
            with np.errstate(invalid="ignore"):
                out = self.xp.exp(x) - target * x
            if self.isfinite_all(out):
                return out
        with np.errstate(invalid="ignore"):
            return self.xp.exp(x) - self.scale(target, x)

    def clamped_log_odds(self, x: Raw) -> Raw:
        """``log(x) - log(1 - x)`` with both logarithms bounded from below."""
        return self._clamped_log(x) - self._clamped_log1m(x)

    def bce(self, x: Raw, target: Raw) -> Raw:
        """Binary cross entropy of probabilities, the logarithms bounded from below."""
        return self._in_blocks(
            lambda x, t: (t - 1) * self._clamped_log1m(x) - t * self._clamped_log(x), x, target
        )

    def bce_slope(self, x: Raw, target: Raw) -> Raw:
        """Its derivative, ``(1 - target) / (1 - x) - target / x``, where a logarithm is bounded with a bound too."""
        where = self.function("where")

        def slope(x: Raw, t: Raw) -> Raw:
            if self.may_branch and np.min(x, initial=1) > LEAST_SHARE and np.max(x, initial=0) < 1:
                return (x - t) / (x * (1 - x))
            rest = 1 - x
            up, down = where(rest > LEAST_SHARE, rest, LEAST), where(x > LEAST_SHARE, x, LEAST)
            return (1 - t) / up - t / down

        return self._in_blocks(slope, x, target)

    def _clamped_log(self, x: Raw) -> Raw:
        with np.errstate(divide="ignore"):
            return self.xp.maximum(self.xp.log(x), LEAST_LOG)

    def _clamped_log1m(self, x: Raw) -> Raw:
        with np.errstate(divide="ignore"):
            return self.xp.maximum(self.xp.log1p(-x), LEAST_LOG)

    def bce_logits(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        """``(1 - target) softplus(x) + weight target softplus(-x)``; a product with 0 is 0 at infinity too."""
        return self._unless_finite(self._bce_logits_plain, self._bce_logits, x, target, weight)

    def bce_logits_and_slopes(self, x: Raw, target: Raw, weight: Raw, *, odds: bool) -> tuple[Raw, ...] | None:
        """With its derivatives in the logits and, if asked for, in the target, None where each is found alone."""
        return None

    def _unless_finite(self, plain: Callable[..., Raw], careful: Callable[..., Raw], *operands: Raw) -> Raw:
        """What is plain, where values may be looked at, and of cells that are not finite with care."""
        if self.may_branch:
            with np.errstate(over="ignore", invalid="ignore"):
                out = self._in_blocks(plain, *operands)
            if self.isfinite_all(out):
                return out
        return self._in_blocks(careful, *operands)

    def _bce_logits_plain(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        bend = self.log1p_of_fall(x)
        if type(weight) is int:  # 1: half of the work
            return (np.greater(x, 0) - target) * x + bend  # 1 - target is exact, where a product less another is not
        other, own = 1 - target, weight * target
        return other * np.maximum(x, 0) - own * np.minimum(x, 0) + (other + own) * bend

    def _bce_logits(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        xp, other, own = self.xp, 1 - target, weight * target
        with np.errstate(invalid="ignore"):
            line = self.scale(other, xp.maximum(x, 0)) - self.scale(own, xp.minimum(x, 0))
        return line + (other + own) * self.log1p_of_fall(x)

    def bce_logits_slope(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        """Its derivative, ``(1 - target) expit(x) - weight target expit(-x)``: both tails by the smaller of the two."""
        return self._unless_finite(self._bce_logits_slope_plain, self._bce_logits_slope, x, target, weight)

    def bce_logits_odds(self, x: Raw, weight: Raw) -> Raw:
        """Its derivative in the target, ``log_expit(-x) - weight log_expit(x)``."""
        xp = self.xp
        if type(weight) is int and weight == 1:  # the logarithms cancel
            return xp.negative(x)

        def odds(x: Raw, w: Raw) -> Raw:
            return (w - 1) * self.log1p_of_fall(x) - (xp.maximum(x, 0) + w * xp.minimum(x, 0))

        return self._in_blocks(odds, x, weight)

    def _bce_logits_slope_plain(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        fall = np.exp(-x)
        return ((1 - target) - weight * target * fall) / (1 + fall)

    def _bce_logits_slope(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        xp, other, own = self.xp, 1 - target, weight * target
        fall, right = xp.exp(-xp.absolute(x)), xp.greater(x, 0)
        most = 1 / (1 + fall)
        least = fall * most
        return other * xp.where(right, most, least) - own * xp.where(right, least, most)

    def hinge_embedding(self, x: Raw, target: Raw, margin: Raw) -> Raw:
        """``x``, but for targets of -1, and ``max(0, margin - x)``, but for targets of 1."""
        xp = self.xp
        near, apart = xp.not_equal(target, -1), xp.not_equal(target, 1)
        beyond = xp.maximum(margin - x, 0)
        if self.may_branch:
            with np.errstate(invalid="ignore"):
                out = near * x + apart * beyond
            if self.isfinite_all(out):
                return out
        where = self.function("where")
        return where(near, x, 0) + where(apart, beyond, 0)


class ClassKernels(Kernels):
    """Kernels with the classes along the last axis."""

    def less_target(self, g: Raw, p: Raw, target: Raw) -> Raw:
        """A cotangent times probabilities, less itself at the target; 0 where the cotangent is.

        At a target that leads this is what the others have, taken away: the difference would be lost.
        """
        xp = self.xp
        shape = np.broadcast_shapes(g.shape, p.shape[:-1], target.shape)
        out = self.scale(xp.broadcast_to(g, shape)[..., None], p)
        flat, own, at = xp.reshape(out, (-1,)), xp.reshape(xp.broadcast_to(g, shape), (-1,)), self._at(target, out)
        leads = xp.reshape(xp.broadcast_to(p, out.shape), (-1,))[at] > 1 - lost_beside_one(p.dtype)
        few = xp.nonzero(leads)[0] if self.may_branch else slice(None)
        less = flat[at] - own
        flat[at[few]] = 0
        others = xp.sum(xp.reshape(flat, (-1, p.shape[-1]))[few], axis=-1)
        less[few] = xp.where(leads[few], -others, less[few])
        flat[at] = less
        return xp.reshape(flat, (*shape, p.shape[-1]))

    def beyond_target(self, x: Raw, target: Raw, margin: float) -> Raw:
        """``margin`` and by how much each cell exceeds the one at the target, which itself is 0."""
        xp = self.xp
        x = xp.broadcast_to(x, (*np.broadcast_shapes(x.shape[:-1], target.shape), x.shape[-1]))
        at = self._at(target, x)
        flat = xp.reshape(x + xp.reshape(margin - xp.reshape(x, (-1,))[at], (*x.shape[:-1], 1)), (-1,))
        flat[at] = 0
        return xp.reshape(flat, x.shape)

    def from_target(self, g: Raw, target: Raw) -> Raw:
        """The transpose of :meth:`beyond_target`: what the others get, the target loses."""
        xp, shape = self.xp, (*np.broadcast_shapes(g.shape[:-1], target.shape), g.shape[-1])
        out = xp.array(xp.broadcast_to(g, shape), order="C")
        flat, at = xp.reshape(out, (-1,)), self._at(target, out)
        flat[at] = 0
        flat[at] = -xp.reshape(xp.sum(out, axis=-1), (-1,))
        return out

    def pair_slopes(self, x: Raw, target: Raw) -> Raw:
        """The slopes of the sum of all ``max(0, 1 - x[listed] + x[other])``, which ends at a negative target.

        A few targets are compared with every score; many are counted by sorting, without forming pairs.  A million
        scores, five targets for each thousand: 10 ms instead of 300.
        """
        xp, n = self.xp, x.shape[-1]
        target, valid = self._listed(target)
        batch = np.broadcast_shapes(x.shape[:-1], target.shape[:-1])
        x, target, valid = (xp.broadcast_to(a, (*batch, a.shape[-1])) for a in (x, target, valid))
        instead = xp.where(valid[..., :1], target[..., :1], 0)  # a listed one again; nothing asks where none is
        at = xp.reshape(xp.arange(math.prod(batch)) * n, (*batch, 1)) + xp.where(valid, target, instead)
        bound = xp.take(x, at) - 1
        bound = xp.where(valid & ~xp.isnan(bound), bound, math.inf)
        flat = xp.fmax(xp.reshape(x, (-1,)), -math.inf)  # NaN is above no margin
        flat[at] = -math.inf
        others = xp.reshape(flat, x.shape)
        below, above = (self._pairs_compared if target.shape[-1] <= FEW else self._pairs_counted)(others, bound)
        out = xp.reshape(below, (-1,)).astype(x.dtype)
        self.combine_at("add", out, xp.reshape(at, (-1,)), xp.reshape(-above, (-1,)).astype(x.dtype))
        return xp.reshape(out, x.shape)

    def _listed(self, target: Raw) -> tuple[Raw, Raw]:
        """Targets up to the longest list if one may look, and which are listed: 0.6 ms, not the 4 of a cumsum."""
        xp = self.xp
        ends = xp.argmax(xp.concatenate([target < 0, xp.ones((*target.shape[:-1], 1), bool)], axis=-1), axis=-1)
        longest = int(ends.max(initial=0)) if self.may_branch else target.shape[-1]
        return target[..., :longest], xp.arange(longest) < ends[..., None]

    def _pairs_compared(self, others: Raw, bound: Raw) -> tuple[Raw, Raw]:
        xp = self.xp
        below, above = xp.zeros(others.shape, np.uint8), xp.zeros(bound.shape, np.intp)
        for k in range(bound.shape[-1]):
            behind = others > bound[..., k : k + 1]
            below += behind
            above[..., k] = xp.sum(behind, axis=-1, dtype=np.uint32)  # half of the time of int64
        return below, above

    def _pairs_counted(self, others: Raw, bound: Raw) -> tuple[Raw, Raw]:
        xp = self.xp
        above = others.shape[-1] - self.searchsorted(xp.sort(others, axis=-1), bound, right=True)
        return self.searchsorted(xp.sort(bound, axis=-1), others, right=False), above

    def _at(self, target: Raw, rows: Raw) -> Raw:
        """The positions of the targets among all cells of an array of rows: no position occurs twice."""
        xp, (*shape, n) = self.xp, rows.shape
        if self.may_branch and target.size and not 0 <= target.min() <= target.max() < n:  # it would be in another row
            raise IndexError(f"a target from {target.min()} to {target.max()} is none of {n} classes")
        column = xp.reshape(xp.broadcast_to(target, shape), (-1,)).astype(np.intp)
        return xp.arange(math.prod(shape)) * n + column
