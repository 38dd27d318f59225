"""How random draws move with their parameters, and the draws themselves.

A draw ``x`` of a distribution with distribution function ``F(x; a)`` follows a change of its parameter at fixed
``u = F``, so ``dx/da = -(dF/da) / (dF/dx)`` (Figurnov, Mohamed and Mnih 2018, *Implicit reparameterization gradients*).
Here both are integrals over the same tail: what is left after the density is divided out is a smooth integral of a
decaying exponential over a half-line.  The tail is chosen so that all terms have one sign, so nothing cancels: the
slopes are good to about ten units of rounding everywhere.  Derivatives with respect to a parameter multiply the
integrand by a power.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any

# Methods of a generator that draw whole numbers.
WHOLE = {"binomial", "geometric", "hypergeometric", "integers", "logseries", "poisson", "zipf"}

REACH = 38.0  # exp(-REACH) is below the rounding of float64
COUNT = 28  # Gauss-Legendre nodes on one smooth decay over REACH
STEP = 0.125  # of the double-exponential rule, from -LEFT to RIGHT
LEFT, RIGHT = 3.75, 3.875
SERIES = 0.25  # below, expm1(q) - q by its series
LARGE = 20.0  # above, digamma by its asymptotic series


@functools.cache
def _legendre() -> list[tuple[float, float]]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(COUNT)
    return [((1 + float(t)) / 2, float(w) / 2) for t, w in zip(nodes, weights, strict=True)]


@functools.cache
def _half_line() -> list[tuple[float, float]]:
    """Nodes and weights on [0, inf) for what decays like exp(-s), with features at any smaller scale."""
    steps = [-LEFT + STEP * k for k in range(round((LEFT + RIGHT) / STEP) + 1)]
    nodes = [math.exp(t - math.exp(-t)) for t in steps]
    return [(s, STEP * s * (1 + math.exp(-t))) for s, t in zip(nodes, steps, strict=True)]


def _double(kernel: Callable[..., Raw]) -> Callable[..., Raw]:
    """A kernel that computes in float64, without warnings, and answers in the dtype of its operands."""

    @functools.wraps(kernel)
    def wrapped(self: Any, *raw: Raw) -> Raw:
        orders = [r for r in raw if type(r) is int]
        arrays = [r for r in raw if type(r) is not int]
        dtype = np.result_type(*(getattr(r, "dtype", np.float16) for r in arrays))
        dtype = dtype if dtype.kind == "f" and any(hasattr(r, "dtype") for r in arrays) else np.dtype(float)
        with np.errstate(all="ignore"):
            cells = [self.xp.asarray(r, dtype=float) for r in arrays]
            out = self._in_blocks(lambda *some: kernel(self, *some, *orders), *cells)
        return out.astype(dtype, copy=False)

    return wrapped


class SlopeKernels(Kernels):
    """How draws move, cell by cell."""

    def as_drawn(self, draw: Raw, *parameters: Raw) -> Raw:
        """The draw itself: only its derivative depends on the parameters that it was drawn with."""
        return draw

    # ---------------------------------------------------------------- what slopes are made of

    @_double
    def psi(self, a: Raw, order: int) -> Raw:
        """The derivative of this order of the digamma function."""
        return self.special.polygamma(order, a) if order else self.special.digamma(a)

    @_double
    def mean_cosine(self, kappa: Raw) -> Raw:
        """The mean of the cosine of a von Mises angle, ``I1(κ) / I0(κ)``."""
        return self.special.i1e(kappa) / self.special.i0e(kappa)

    @_double
    def mills(self, x: Raw) -> Raw:
        """The upper tail of the normal distribution divided by its density."""
        return math.sqrt(math.pi / 2) * self.special.erfcx(x / math.sqrt(2))

    # ---------------------------------------------------------------- gamma

    @_double
    def gamma_slope(self, z: Raw, a: Raw, order: int) -> Raw:
        """The ``order``-th derivative in ``a``, at fixed ``z``, of how a draw from Gamma(a) moves with ``a``.

        With ``p`` the density, ``P = z p M`` and ``1 - P = z p N``, where ``M = ∫ exp(-a s + z (1 - exp(-s))) ds`` and
        ``N = ∫ exp(a s - z (exp(s) - 1)) ds``, both over positive s. Below ``exp(ψ(a + 1))`` one integration by parts,
        ``a M = 1 + z M(a + 1)``, keeps small a accurate.
        """
        xp = self.xp
        one_up = self._log_over(z, a + 1)  # log z - ψ(a + 1)
        low = one_up < 0
        sign = xp.where(low, -1.0, 1.0)
        rate = xp.where(low, a + 1, a)
        gap = xp.abs(rate - z)
        bend = 2 * gap - REACH
        reach = xp.where(
            low,
            4 * REACH / (bend + xp.sqrt(bend * bend + 8 * REACH * rate)),
            2 * REACH / (gap + xp.sqrt(gap * gap + 2 * REACH * z)),
        )
        reach = xp.where(low, reach, xp.minimum(reach, xp.log1p((REACH + rate * reach) / z)))
        moments = [xp.zeros_like(reach) for _ in range(order + 2)]
        for node, weight in _legendre():
            q = sign * reach * node
            f = weight * reach * xp.exp(-gap * xp.abs(q) - z * self._beyond_linear(q))
            for j in range(order + 2):
                moments[j] += f
                f = f * q
        lower = [z * m for m in moments]
        lower[0] = lower[0] + 1
        inverse = [(-1) ** i * math.factorial(i) / a ** (i + 1) for i in range(order + 1)]
        bulk = [self._leibniz(k, one_up, a + 1, lower) for k in range(order + 1)]
        below = -z * sum(math.comb(order, i) * inverse[i] * bulk[order - i] for i in range(order + 1))
        above = z * self._leibniz(order, self._log_over(z, a), a, moments)
        return xp.where(z == 0, 0.0, xp.where(low, below, above))

    def _leibniz(self, k: int, log: Raw, a: Raw, moments: list[Raw]) -> Raw:
        """The k-th derivative of ``log * moments[0] + moments[1]``, where that of ``log`` is ``-ψ'(a)``."""
        out = log * moments[k] + moments[k + 1]
        for j in range(1, k + 1):
            out = out - math.comb(k, j) * self.special.polygamma(j, a) * moments[k - j]
        return out

    def _log_over(self, z: Raw, a: Raw) -> Raw:
        """``log z - ψ(a)``, for large ``a`` as the logarithm of a quotient."""
        xp = self.xp
        b = xp.maximum(a, LARGE)
        r = 1 / (b * b)
        rest = 0.5 / b + r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
        near = xp.where(xp.abs(z - b) < b / 2, xp.log1p((z - b) / b), xp.log(z / b))
        return xp.where(a > LARGE, near + rest, xp.log(z) - self.special.digamma(a))

    def _beyond_linear(self, q: Raw) -> Raw:
        """``exp(q) - 1 - q``."""
        xp = self.xp
        series = 1 / math.factorial(13)
        for n in range(12, 1, -1):
            series = series * q + 1 / math.factorial(n)
        return xp.where(xp.abs(q) < SERIES, q * q * series, xp.expm1(q) - q)

    # ---------------------------------------------------------------- beta

    @_double
    def beta_slope(self, x: Raw, y: Raw, a: Raw, b: Raw, *orders: int) -> Raw:
        """How a draw from Beta(a, b) moves with ``a``, differentiated so many times in ``a``, and in ``b``.

        It is given with ``y = 1 - x``. As for gamma: with ``p`` the density and ``v(s) = (1 - x exp(-s)) / y``, the
        distribution function is ``(x / a) p (1 + (b - 1) x / y J)``, ``J = ∫ exp(-(a + 1) s) v(s)**(b - 2) ds``, and
        its complement is the same with both ends exchanged.
        """
        i, m = orders
        xp, digamma = self.xp, self.special.digamma
        log = xp.where(y < x, xp.log1p(-y), xp.log(x))
        low = log + (digamma(a + b) - digamma(a + 1)) < 0
        high = log + (digamma(a + b) - digamma(a)) > 0  # where both are, the nearer end is taken
        low = low & ~(high & (x >= 0.5))
        p, q = xp.where(low, a, b), xp.where(low, b, a)
        u, v = xp.where(low, x, y), xp.where(low, y, x)
        n = i + m + 2
        J = self._beta_moments(p, q, u, v, n)

        def inner(j: int, k: int) -> Raw:
            """The derivative, j times in p and k times in q, of ``1 + (q - 1) u / v J``."""
            out = (q - 1) * J[j][k] + (k * J[j][k - 1] if k else 0.0)
            return u / v * out + (0.0 if j or k else 1.0)

        def both(j: int, k: int) -> Raw:
            """The derivative, j times in a and k times in b."""
            return xp.where(low, inner(j, k), inner(k, j))

        def logs(j: int, k: int, base: Raw) -> Raw:
            if not j + k:
                return log + (digamma(a + b) - digamma(base))
            of_sum = self.special.polygamma(j + k, a + b)
            return of_sum - self.special.polygamma(j, base) if not k else of_sum

        def slope(j: int, k: int, base: Raw) -> Raw:
            """The derivative of ``both log + d(both)/da``."""
            out = both(j + 1, k)
            for r in range(j + 1):
                for t in range(k + 1):
                    out = out + math.comb(j, r) * math.comb(k, t) * logs(r, t, base) * both(j - r, k - t)
            return out

        def inverse(c: Raw, r: int) -> Raw:
            return (-1) ** r * math.factorial(r) / c ** (r + 1)

        below = -x * sum(math.comb(i, r) * inverse(a, r) * slope(i - r, m, a + 1) for r in range(i + 1))
        above = y * sum(math.comb(m, r) * inverse(b, r) * slope(i, m - r, a) for r in range(m + 1))
        return xp.where((x == 0) | (y == 0), 0.0, xp.where(low, below, above))

    def _beta_moments(self, p: Raw, q: Raw, u: Raw, v: Raw, n: int) -> list[list[Raw]]:
        """``∫ (-s)**j log(w)**k exp(-(p + 1) s) w**(q - 2) ds`` with ``w = 1 + (1 - exp(-s)) u / v``, for j + k < n."""
        xp = self.xp
        odds = u / v
        gap = xp.maximum(p + 1 - xp.maximum(q - 2, 0) * odds, 0)
        bend = xp.maximum(q - 2, 0) * odds / v
        width = 1 / (gap + xp.sqrt(bend / 8) + 1e-300)
        out = [[xp.zeros_like(width) for _ in range(n - j)] for j in range(n)]
        for node, weight in _half_line():
            s = width * node
            log = xp.log1p(-odds * xp.expm1(-s))
            f = weight * width * xp.exp((q - 2) * log - (p + 1) * s)
            for j in range(n):
                g = f
                for k in range(n - j):
                    out[j][k] += g
                    g = g * log
                f = f * -s
        return out

    # ---------------------------------------------------------------- von Mises

    @_double
    def vonmises_slope(self, x: Raw, kappa: Raw, order: int) -> Raw:
        """How a draw from the von Mises distribution moves with ``kappa``; of ``order`` 1, how that does at fixed x.

        ``-∫ exp(κ (cos t - cos x)) (cos t - A) dt`` over (0, x), or over (x, π) with the other sign, where
        ``A = I1(κ) / I0(κ)`` is the mean of the cosine: whichever has an integrand of one sign.
        """
        xp = self.xp
        mean = self.special.i1e(kappa) / self.special.i0e(kappa)
        up = xp.abs(x)
        near = xp.cos(up) > mean
        end = xp.arccos(xp.maximum(xp.cos(up) - REACH / kappa, -1.0))
        start, stop = xp.where(near, 0.0, up), xp.where(near, up, end)
        spread = 1 - mean * mean - mean / xp.where(kappa > 0.01, kappa, 1.0)
        spread = xp.where(kappa > 0.01, spread, 0.5 - 3 * kappa * kappa / 16)
        out = xp.zeros_like(start)
        for node, weight in _legendre():
            t = start + (stop - start) * node
            rise = -2 * xp.sin((t - up) / 2) * xp.sin((t + up) / 2)  # cos t - cos x
            f = xp.exp(kappa * rise)
            off = xp.cos(t) - mean
            out += weight * f * (off if order == 0 else off * rise - spread)
        out = xp.where(near, -1.0, 1.0) * (stop - start) * out
        return xp.sign(x) * out


class DrawKernels(SlopeKernels):
    """Draws, and how they move."""

    def generator(self, seed: Any) -> Any:
        """A generator of this backend."""
        return self.xp.random.default_rng(seed)

    def draw(self, *parameters: Raw, rng: Any, method: str, shape: tuple[int, ...]) -> Raw:
        """Independent draws by a method of a generator, parameters broadcast to the shape."""
        found = getattr(rng, method, None)
        if found is None:
            raise TypeError(
                f"a {type(rng).__module__}.{type(rng).__qualname__} has no draws {method!r}; "
                "draw on the host and move the result with .to(...)"
            )
        return found(*parameters, size=shape)
