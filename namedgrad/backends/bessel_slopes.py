"""Slopes of Bessel functions from the value that is known and one neighbouring order (DLMF 10.6, 10.29, 10.51).

SciPy takes most of the time, so one call instead of two.  Of the two neighbours that one is taken beside which less
cancels; next to 0, where the value is lost below the smallest number, and where one of the two parts is infinite, both
neighbours answer, as they do everywhere on backends that may not look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any
SMALL = 1e-3  # below, SciPy's error grows with the order times the logarithm of the argument
OWN = {
    "jv": ("j0", "j1"), "yv": ("y0", "y1"), "iv": ("i0", "i1"), "kv": ("k0", "k1"),
    "ive": ("i0e", "i1e"), "kve": ("k0e", "k1e"),
}  # fmt: skip
DISTANT = 50.0  # from here on the phases of functions of their own lose digits
NEXT_TO_ZERO = 1e-8  # here ``y / x`` is half of the function of order 0 to the last digit


def _not_half(x: Raw) -> Raw:
    """In single precision at least, in which SciPy has the values."""
    return x.astype(np.float32) if getattr(x, "dtype", None) == np.float16 else x


class BesselSlopes(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def _next(self, name: str, v: Raw, x: Raw) -> Raw:
        """A neighbour; of the order 0 or 1 by a function of its own, which takes SciPy a tenth of the time and less."""
        is_own = name in OWN and np.ndim(v) == 0 and v in {0, 1} and np.asarray(x).dtype.kind == "f"
        if not is_own or (np.absolute(x) >= DISTANT).any():
            return self.function(name)(v, x)
        return self.function(OWN[name][int(v)])(np.asarray(x, np.result_type(v, x)))

    # ---------------------------------------------------------------- of real order

    def jv_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of J."""
        beside = lambda v, x, y: v / x * y - self._next("jv", v + 1, x)
        return self._by_value(beside, lambda v, x, y: self._neighbours("jv", v, x, -1), v, x, y)

    def yv_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of Y, which in the order that is smaller in size is smaller, and takes SciPy a third of the time."""
        return self._of_second("yv", v, x, y)

    def yn_slope(self, n: Raw, x: Raw, y: Raw) -> Raw:
        """That of Y of whole order, which takes SciPy a tenth of the time."""
        return self._of_second("yn", n, x, y)

    def _of_second(self, name: str, v: Raw, x: Raw, y: Raw, turn: complex = 0) -> Raw:
        """That of Y and what it is part of, turned by a factor ``exp(-turn x)``."""

        def beside(v: Raw, x: Raw, y: Raw) -> Raw:
            side = self._side(v)
            out = side * (self._next(name, v - side, x) - v / x * y)
            return out - turn * y if turn else out

        def between(v: Raw, x: Raw, y: Raw) -> Raw:
            out = self._neighbours(name, v, x, -1)
            return out - turn * y if turn else out

        return self._by_value(beside, between, v, x, y)

    def hankel1_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of J + i Y."""
        return self._of_second("hankel1", v, x, y)

    def hankel2_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of J - i Y."""
        return self._of_second("hankel2", v, x, y)

    def hankel1e_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of ``exp(-i x) (J + i Y)``."""
        return self._of_second("hankel1e", v, x, y, 1j)

    def hankel2e_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of ``exp(i x) (J - i Y)``."""
        return self._of_second("hankel2e", v, x, y, -1j)

    def iv_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of I."""
        beside = lambda v, x, y: v / x * y + self._next("iv", v + 1, x)
        return self._by_value(beside, lambda v, x, y: self._neighbours("iv", v, x, 1), v, x, y)

    def ive_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of ``exp(-abs(x)) I``."""
        beside = lambda v, x, y: (v / x - np.sign(x)) * y + self._next("ive", v + 1, x)

        def between(v: Raw, x: Raw, y: Raw) -> Raw:
            around = self._neighbours("ive", v, x, 1)
            return around - self.xp.where(self.xp.isinf(around), 0.0, self.xp.sign(x) * y)

        return self._by_value(beside, between, v, x, y)

    def kv_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of K."""
        beside = lambda v, x, y: -(abs(v) / x * y + self._next("kv", abs(v) - 1, x))
        return self._by_value(beside, lambda v, x, y: -self._neighbours("kv", v, x, 1), v, x, y)

    def kve_slope(self, v: Raw, x: Raw, y: Raw) -> Raw:
        """That of ``exp(x) K``."""
        beside = lambda v, x, y: (1 - abs(v) / x) * y - self._next("kve", abs(v) - 1, x)

        def between(v: Raw, x: Raw, y: Raw) -> Raw:
            around = self._neighbours("kve", v, x, 1)
            return self.xp.where(self.xp.isinf(around), 0.0, y) - around

        return self._by_value(beside, between, v, x, y)

    def _side(self, v: Raw) -> Raw:
        """1 for orders above 0, else -1."""
        if not hasattr(v, "dtype"):
            return 1 if v > 0 else -1
        return np.where(v > 0, v.dtype.type(1), v.dtype.type(-1))

    def _neighbours(self, name: str, v: Raw, x: Raw, sign: int) -> Raw:
        """Half the order below plus half of that above, with a sign; or the one further from 0 if it is infinite."""
        xp = self.xp
        below, above, left = self.function(name)(v - 1, x), sign * self.function(name)(v + 1, x), xp.less(v, 0)
        small, lead = xp.where(left, above, below), xp.where(left, below, above)
        return 0.5 * (xp.where(xp.isinf(lead), 0.0, small) + lead)

    # ---------------------------------------------------------------- of whole orders, spherical

    def spherical_jn_slope(self, n: Raw, x: Raw, y: Raw) -> Raw:
        """That of the first kind."""
        beside = lambda n, x, y: n / x * y - self.function("spherical_jn")(n + 1, x)
        return self._by_value(beside, lambda n, x, y: self._spherical_neighbours("spherical_jn", n, x, 1, -1), n, x, y)

    def spherical_yn_slope(self, n: Raw, x: Raw, y: Raw) -> Raw:
        """That of the second kind."""

        def beside(n: Raw, x: Raw, y: Raw) -> Raw:
            side, before = self._side(n), self.function("spherical_yn")(abs(n - 1), x)
            return side * before - (n + (n > 0)) / x * y

        return self._by_value(beside, lambda n, x, y: self._spherical_neighbours("spherical_yn", n, x, 1, -1), n, x, y)

    def spherical_in_slope(self, n: Raw, x: Raw, y: Raw) -> Raw:
        """That of the modified first kind."""
        beside = lambda n, x, y: n / x * y + self.function("spherical_in")(n + 1, x)
        return self._by_value(beside, lambda n, x, y: self._spherical_neighbours("spherical_in", n, x, 1, 1), n, x, y)

    def spherical_kn_slope(self, n: Raw, x: Raw, y: Raw) -> Raw:
        """That of the modified second kind."""
        beside = lambda n, x, y: -((n + (n > 0)) / x * y + self.function("spherical_kn")(abs(n - 1), x))
        between = lambda n, x, y: self._spherical_neighbours("spherical_kn", n, x, -1, -1)
        return self._by_value(beside, between, n, x, y)

    def _spherical_neighbours(self, name: str, n: Raw, x: Raw, below: int, above: int) -> Raw:
        """From both neighbours, weighed."""
        xp = self.xp
        after = self.function(name)(n + 1, x)
        alone = xp.logical_or(xp.equal(n, 0), xp.isinf(after))  # which is larger then than what is before
        before = xp.where(alone, 0.0, self.function(name)(xp.maximum(n - 1, 0), x))
        return (below * n * before + above * (n + 1) * after) / (2 * n + 1)

    # ---------------------------------------------------------------- of order 1

    def j1_slope(self, x: Raw, y: Raw) -> Raw:
        """``j0(x) - j1(x) / x``: order 2 takes ten times as long."""
        return self._of_first("j0", x, y)

    def i1_slope(self, x: Raw, y: Raw) -> Raw:
        """``i0(x) - i1(x) / x``: order 2 takes six times as long."""
        out = self._of_first("i0", x, y)
        if self.may_branch and self.isfinite_all(out):
            return out
        return self.xp.where(self.xp.isinf(y), self.xp.absolute(y), out)

    def i1e_slope(self, x: Raw, y: Raw) -> Raw:
        """The same, scaled, without what the factor adds."""
        return self._of_first("i0e", x, y)

    def _of_first(self, zero: str, x: Raw, y: Raw) -> Raw:
        xp, x = self.xp, _not_half(x)
        with np.errstate(all="ignore"):
            first, near = self.function(zero)(x), xp.absolute(x) < NEXT_TO_ZERO
            out = first - y / x
        if self.may_branch and not near.any():
            return out.astype(y.dtype, copy=False)
        return xp.where(near, out.dtype.type(0.5) * first, out).astype(y.dtype, copy=False)

    # ---------------------------------------------------------------- which

    def _by_value(
        self, beside: Callable[..., Raw], between: Callable[..., Raw], v: Raw, x: Raw, y: Raw
    ) -> Raw:
        """``beside`` the value; ``between`` both neighbours where that is not finite, or the value less exact."""
        if getattr(v, "dtype", np.dtype(int)).kind in "bu":  # there is an order below 0
            v = v.astype(np.int64)
        x = _not_half(x)
        with np.errstate(all="ignore"):
            if not self.may_branch:
                return between(v, x, y).astype(y.dtype)
            x = np.asarray(x)  # numbers of Python's are not divided by 0
            out = beside(v, x, y)
            lost = (np.absolute(x) < SMALL) | (np.absolute(y) < np.finfo(y.dtype).tiny)
            if not self.isfinite_all(out):
                lost = lost | ~np.isfinite(out)
            return self._repaired(out, lost, between, v, x, y).astype(y.dtype, copy=False)
