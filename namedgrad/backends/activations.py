"""Activation functions, cell by cell: without branches, without overflow, and right at plus and minus infinity.

``np.where`` waits for mispredicted branches on irregular masks (3.6 ms for a million cells, against 0.7 ms for
``maximum``), so most kernels are sums and products of parts of which one is exactly 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import floating, is_complex, result_dtype

Raw = Any

FAR = 1e3  # here exp(-x) is 0 in every precision: a factor x may stop here, so that it never meets a 0 as infinity
FAR_IN_HALF = 20.0  # here it is so in half precision, in which the square of the other overflows
FAR_FROM_LINE = 4.0  # here x - tanh(x) has lost a digit
TANH_IS_ONE = 40.0  # here tanh(log(1 + exp(x))) is 1 in every precision
TANH_IS_ONE_IN_HALF = 5.0  # whose exp(2 x) overflows above
GELU_SCALE, GELU_CUBE = 2 * math.sqrt(2 / math.pi), 0.044715


class ActivationKernels(Kernels):
    """Elementwise kernels on raw arrays."""

    def relu(self, x: Raw) -> Raw:
        """``max(x, 0)``."""
        return self.xp.maximum(x, 0)

    def leaky_relu(self, x: Raw, slope: Raw) -> Raw:
        """``x`` above 0, ``slope * x`` below."""
        if type(slope) is float and 0 < slope <= 1:  # a third faster
            return self.xp.maximum(x, slope * x)
        return self.xp.maximum(x, 0) + slope * self.xp.minimum(x, 0)

    def elu(self, x: Raw, alpha: Raw) -> Raw:
        """``x`` above 0, ``alpha * expm1(x)`` below."""
        x = floating(x)
        return self.xp.maximum(x, 0) + alpha * self.xp.expm1(self.xp.minimum(x, 0))

    def hardtanh(self, x: Raw, low: Raw, high: Raw) -> Raw:
        """``x`` between two bounds."""
        return self.xp.clip(x, low, high)

    def hardshrink(self, x: Raw, bound: Raw) -> Raw:
        """``x``, but 0 where it is not further than ``bound`` from 0."""
        return x * (self.xp.absolute(x) > bound)

    def softshrink(self, x: Raw, bound: Raw) -> Raw:
        """``x``, by ``bound`` nearer to 0, and not beyond."""
        return x - self.xp.clip(x, -bound, bound)

    def tanhshrink(self, x: Raw) -> Raw:
        """``x - tanh(x)``."""
        x = floating(x)
        return x - self.xp.tanh(x)

    def tanhshrink_slope(self, x: Raw, y: Raw) -> Raw:
        """``tanh(x)**2``: near 0 by ``y = tanhshrink(x)``, on NumPy a million in 3 ms instead of 37."""
        if not self.may_branch or is_complex(x) or not (isinstance(y, np.ndarray) and y.ndim):
            return self.xp.square(self.xp.tanh(x))
        with np.errstate(invalid="ignore"):
            out = np.subtract(x, y)
        if not -FAR_FROM_LINE < np.min(x, initial=0) <= np.max(x, initial=0) < FAR_FROM_LINE:
            far = np.absolute(x) >= FAR_FROM_LINE
            out[far] = np.tanh(x[far])
        return np.square(out, out=out)

    def threshold(self, x: Raw, threshold: Raw, value: Raw) -> Raw:
        """``x`` above the threshold, ``value`` elsewhere."""
        return self.function("where")(x <= threshold, value, x)

    def softplus(self, x: Raw, threshold: Raw) -> Raw:
        """``log(1 + exp(x))``, above the threshold ``x``."""
        if is_complex(x):
            return self.function("where")(self.xp.real(x) <= threshold, self.function("logaddexp")(x, 0), x)
        fall = self.log1p_of_fall(x)
        if self.may_branch and np.ndim(threshold) == 0 and np.max(x, initial=0) <= threshold:
            return self.xp.maximum(x, 0) + fall
        return self.xp.maximum(x, 0) + fall * (x <= threshold)

    def saturated(self, slope: Raw, x: Raw, threshold: Raw) -> Raw:
        """A slope that is 1 above a threshold."""
        if self.may_branch and np.ndim(threshold) == 0 and np.max(x, initial=0) <= threshold:
            return np.array(slope)  # half of the time
        return self.function("where")(x > threshold, 1, slope)

    def softsign(self, x: Raw) -> Raw:
        """``x / (1 + |x|)``."""
        xp, x = self.xp, floating(x)
        below = 1 + xp.absolute(x)
        in_place = isinstance(below, np.ndarray) and below.dtype == x.dtype  # a million in 1.1 ms instead of 1.5
        out = np.divide(x, below, out=below) if in_place else x / below
        if self.may_branch and self.isfinite_all(out):
            return out
        return self.function("where")(xp.isinf(x), xp.sign(x), out)

    def softsign_pull(self, g: Raw, x: Raw) -> Raw:
        """``g / (1 + |x|)**2``, on NumPy in one array: of a million in 0.9 ms."""
        below = 1 + self.xp.absolute(x)
        if not (self.may_branch and isinstance(below, np.ndarray) and (below.shape, below.dtype) == (g.shape, g.dtype)):
            return g / self.xp.square(below)
        return np.divide(g, np.square(below, out=below), out=below)

    def silu(self, x: Raw) -> Raw:
        """``x * sigmoid(x)``."""
        share = self.expit(x)
        if self.may_branch and isinstance(share, np.ndarray) and share.dtype == result_dtype(x):
            return np.multiply(x if np.min(x, initial=0) > -FAR else np.maximum(x, -FAR), share, out=share)
        return self.xp.maximum(x, -FAR) * share

    def silu_slope(self, x: Raw) -> Raw:
        """Its derivative, for finite ``x``."""
        share = self.expit(x)
        return share * (1 + x * (1 - share))

    def gelu(self, x: Raw) -> Raw:
        """``x`` times the normal distribution function."""
        out = self.xp.maximum(x, -FAR) * self.function("ndtr")(x)
        return out if out.dtype == result_dtype(x) else out.astype(result_dtype(x))

    def gelu_slope(self, x: Raw, y: Raw) -> Raw:
        """The derivative of ``y = gelu(x)``: with ``y / x`` for the distribution function, the costly part."""
        xp = self.xp
        x = xp.clip(x, -FAR, FAR)
        # y / x would be inaccurate, or 0 / 0
        tiny = xp.absolute(x) <= (2e-4 if getattr(x, "dtype", None) == np.float16 else 1e-30)
        where = self.function("where")
        cdf = where(tiny, 0.5, xp.minimum(y, FAR) / where(tiny, 1, x))
        return cdf + x * xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)

    def gelu_tanh(self, x: Raw) -> Raw:
        """The approximation of :meth:`gelu` by a hyperbolic tangent, written as a sigmoid."""
        x = floating(x)
        near = self.xp.clip(x, -FAR, FAR)
        return self.xp.maximum(x, -FAR) * self.expit(GELU_SCALE * near * (1 + GELU_CUBE * near * near))

    def gelu_tanh_slope(self, x: Raw) -> Raw:
        """Its derivative, for finite ``x``."""
        square = x * x
        share = self.expit(GELU_SCALE * x * (1 + GELU_CUBE * square))
        return share * (1 + x * (GELU_SCALE * (1 + 3 * GELU_CUBE * square)) * (1 - share))

    def mish(self, x: Raw) -> Raw:
        """``x * tanh(log(1 + exp(x)))``; with ``e = exp(x)`` the tangent is ``e (e + 2) / (e (e + 2) + 2)``."""
        xp = self.xp
        x = floating(x)
        e = xp.exp(xp.minimum(x, TANH_IS_ONE_IN_HALF if getattr(x, "dtype", None) == np.float16 else TANH_IS_ONE))
        n = e * (e + 2)
        return xp.maximum(x, -FAR) * (n / (n + 2))

    def mish_slope(self, x: Raw) -> Raw:
        """Its derivative, for finite ``x``: with ``d = e (e + 2) + 2`` also ``4 x e (1 + e) / d**2``."""
        xp = self.xp
        x = xp.minimum(x, TANH_IS_ONE_IN_HALF if getattr(x, "dtype", None) == np.float16 else TANH_IS_ONE)
        e = xp.exp(x)
        n = e * (e + 2)
        d = n + 2
        return n / d + x * (e / d) * (4 * (1 + e) / d)

    def hardswish(self, x: Raw) -> Raw:
        """``x * hardsigmoid(x)``."""
        clip = self.xp.clip  # half of the time of maximum
        return clip(x, -3, np.inf) * ((clip(x, -3, 3) + 3) / 6)
