"""Bessel functions of any real order at any complex argument, with their derivatives of any order in the order.

All come from two contour integrals, DLMF 10.32.9 and 10.32.12,

    K_v(z) = 1/2 ∫ exp(v t - z cosh t) dt,    I_v(z) = 1/(2πi) ∫ exp(z cosh t - v t) dt,

whose integrands have no singularity: a contour may be laid through the saddle points of the integrand, from which its
modulus falls off on both sides, so that nothing cancels at any size of ``v`` and ``z``.  A derivative in ``v``
multiplies the integrand by a power of ``t`` and leaves the contour where it is.  Halves of contours start at a saddle
point and end where the integrand is below rounding; there is a Gauss rule on each of two parts.  J and Y are I and K at
``-i z`` (DLMF 10.27.6, 10.27.8); other quadrants and negative orders follow from connection formulas (10.2.3, 10.11,
10.27.2, 10.34).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import NEXT_TO_ZERO, double, is_complex, reaches_zero, result_dtype, side_by_side

Raw = Any
_PI = math.pi
_FAR = 1e9  # below, SciPy knows scaled Bessel functions
_FALL = 44.0  # exp(-44) is below rounding
_FARTHEST = 1500.0  # twice where exp is 0 in any case: from there through 0 to the other side
_PLATEAU = 1.0  # nodes of longer parts crowd at both ends: of small orders an integrand hardly changes between these
_SHARPEST = 2.0  # a contour bends within half a unit at least, which the nodes resolve


@functools.cache
def _gauss() -> list[tuple[float, float]]:
    """Nodes and weights on the interval from -1 to 1, found when they are needed."""
    return [(float(x), float(w)) for x, w in zip(*np.polynomial.legendre.leggauss(48), strict=True)]


class _Half(NamedTuple):
    """Half of a contour: from ``start`` to ``way * inf``, on which the imaginary part rises by ``rise``."""

    start: Raw
    slope: Raw
    rise: Raw
    way: int


class BesselKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    # ---------------------------------------------------------------- the functions

    def ive(self, v: Raw, x: Raw) -> Raw:
        """The modified one of the first kind, scaled; next to 0 by its first term in broken orders, not in SciPy."""
        out = self._scaled_bessel("ive", v, x)
        if not reaches_zero(x):
            return out
        v, x = double(v), double(x)  # integers have no negative powers, and of short orders digits would be lost
        with np.errstate(all="ignore"):
            near = (np.absolute(x) <= NEXT_TO_ZERO) & np.not_equal(v, np.floor(v))
            first = np.power(x, v) * (np.exp2(-v) * self.special.rgamma(v + 1))
            return np.where(near, first, out).astype(out.dtype)[()]

    def kve(self, v: Raw, x: Raw) -> Raw:
        """The modified one of the second kind, scaled."""
        return self._scaled_bessel("kve", v, x)

    def _scaled_bessel(self, name: str, v: Raw, x: Raw) -> Raw:
        """SciPy's, which has no value from ``2**31`` on."""
        out = getattr(self.special, name)(v, x)
        if is_complex(x) or not np.any(far := np.absolute(x) > _FAR):
            return out
        lost = np.broadcast_to(far, np.shape(out)) & np.isnan(out) & np.isfinite(x)
        return self._repaired(out, lost, lambda v, x: getattr(self, f"{name}_order")(0, v, x), v, x)

    def jv_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of the Bessel function of the first kind."""
        return self._ordinary(n, v, x, second=False)

    def yv_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of the Bessel function of the second kind."""
        return self._ordinary(n, v, x, second=True)

    def iv_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of the modified Bessel function of the first kind."""
        with np.errstate(all="ignore"):
            out, half = self._scaled_first(n, v, x), self.xp.exp(0.5 * self.xp.absolute(self.xp.real(double(x))))
            out = self.xp.where(self.xp.equal(out, 0), out, out * half * half)  # twice, for the product may be in range
        return out.astype(result_dtype(v, x))

    def ive_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The same, times ``exp(-abs(real(x)))``."""
        with np.errstate(all="ignore"):
            return self._scaled_first(n, v, x).astype(result_dtype(v, x))

    def ive_turned_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of ``exp(-x) I_v(x)`` on the right, of ``exp(x) I_v(x)`` on the left."""
        _, z = self._met(v, x)
        turn = self.xp.where(self.xp.real(z) < 0, 1j, -1j) * self.xp.imag(z)
        straight = self.ive_order(n, v, x) if n else self.function("ive")(v, x)
        return (straight * self.xp.exp(turn)).astype(result_dtype(v, x))

    def complex_kve_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of ``exp(x) K_v(x)`` for complex ``x``."""
        xp = self.xp
        v, z = self._met(v, x)
        with np.errstate(all="ignore"):
            m, at, left = xp.absolute(v), self._quadrant(z, -1), xp.real(z) < 0
            there = self._falling(n, m, at)
            out = there[n]
            if not self.may_branch or np.any(left):
                round_origin = _product(self._turns(n, m, -1), there) * xp.exp(-2 * at)  # DLMF 10.34.2
                first = self._rising(n, m, at, both=True)[n] * xp.exp(-1j * xp.imag(at))
                out = xp.where(left, round_origin - 1j * _PI * first, out)
            out = xp.where(xp.where(left, xp.imag(z) < 0, xp.imag(z) > 0), xp.conj(out), out)
            out = xp.where(xp.equal(z, 0), math.inf if n == 0 else math.nan, out)
        return (xp.where(v < 0, -1.0, 1.0) ** n * out).astype(result_dtype(v, x))

    def _ordinary(self, n: int, v: Raw, x: Raw, *, second: bool) -> Raw:
        """J or Y from I and K at ``-i x``."""
        xp, dtype, real = self.xp, result_dtype(v, x), not is_complex(x)
        negative = self._may_be_negative(v)
        v, z = self._met(v, x)
        with np.errstate(all="ignore"):
            zero = xp.equal(z, 0)
            m, at = xp.absolute(v), xp.where(zero, 1.0, -1j * self._quadrant(z, 1))
            first = self._rising(n, m, at, both=not real, turned=True)
            first = [xp.real(j) for j in first] if real else first
            other = first
            if second or negative:
                third = self._falling(n, m, at, turned=True)  # Hankel's function of the first kind
                other = [xp.imag(h) if real else -1j * (h - j) for h, j in zip(third, first, strict=True)]
            if negative:
                first, other = self._reflected(v, first, other)
            if real:
                out = self._on_the_line(n, v, xp.real(z), first[n], other[n], second=second)
            else:
                out = self._around(n, v, z, first, other, second=second)
            out = xp.where(zero, self._at_zero(n, v, second=second), out)
        return out.astype(dtype)

    def _reflected(self, v: Raw, first: list[Raw], second: list[Raw]) -> tuple[list[Raw], list[Raw]]:
        """J and Y of a negative order, DLMF 10.2.3 and 10.4.5, and their derivatives."""
        xp, count = self.xp, len(first)
        turns = self._turns(count - 1, xp.absolute(v), 1)
        cos, sin = [xp.real(t) for t in turns], [xp.imag(t) for t in turns]
        out: tuple[list[Raw], list[Raw]] = ([], [])
        for k in range(count):
            below = (-1) ** k
            one = _product(cos[: k + 1], first[: k + 1]) - _product(sin[: k + 1], second[: k + 1], skip=self._skip)
            two = _product(sin[: k + 1], first[: k + 1]) + _product(cos[: k + 1], second[: k + 1], skip=self._skip)
            out[0].append(xp.where(v < 0, below * one, first[k]))
            out[1].append(xp.where(v < 0, below * two, second[k]))
        return out

    def _on_the_line(self, n: int, v: Raw, x: Raw, first: Raw, other: Raw, *, second: bool) -> Raw:
        """J or Y at real numbers; on the left J is real for whole orders only."""
        xp = self.xp
        if second:
            return xp.where(xp.less(x, 0), math.nan, other)
        whole = xp.logical_and(xp.equal(v, xp.floor(v)), n == 0)
        left = xp.where(whole, xp.where(xp.equal(xp.remainder(v, 2), 0), first, -first), math.nan)
        return xp.where(xp.less(x, 0), left, first)

    def _around(self, n: int, v: Raw, z: Raw, first: list[Raw], other: list[Raw], *, second: bool) -> Raw:
        """J or Y at complex numbers, from those in the first quadrant by DLMF 10.11.1, 10.11.2 and conjugation."""
        xp = self.xp
        turned = [xp.conj(j) for j in first]
        if second:
            left = _product(self._turns(n, v, -1), [xp.conj(y) for y in other])
            left = left + 2j * _product([xp.real(t) for t in self._turns(n, v, 1)], turned)
        else:
            left = _product(self._turns(n, v, 1), turned)
        out = xp.where(xp.real(z) < 0, left, (other if second else first)[n])
        return xp.where(xp.imag(z) < 0, xp.conj(out), out)

    def _scaled_first(self, n: int, v: Raw, x: Raw) -> Raw:
        """``exp(-abs(real(x))) I_v(x)``."""
        xp, real = self.xp, not is_complex(x)
        negative = self._may_be_negative(v)
        v, z = self._met(v, x)
        zero, left = xp.equal(z, 0), xp.real(z) < 0
        m, at = xp.absolute(v), xp.where(zero, 1.0, self._quadrant(z, -1))
        out = self._rising(n, m, at, both=not real)
        if negative:
            fade = xp.exp(-at - xp.real(at))
            third = [k * fade for k in self._falling(n, m, at)]
            sin = [xp.imag(t) for t in self._turns(n, m, 1)]
            more = [_product(sin[: k + 1], third[: k + 1], skip=self._skip) for k in range(n + 1)]
            both = enumerate(zip(out, more, strict=True))
            out = [xp.where(v < 0, (-1) ** k * (i + 2 / _PI * j), i) for k, (i, j) in both]
        if real:
            first, size = xp.real(out[n]), xp.absolute(xp.real(z))
            far = size > 32 + v * v
            if not self.may_branch or np.any(far):
                first = xp.where(far, self._far_away(n, v, xp.where(far, size, 32.0)), first)
            found = self._on_the_line(n, v, xp.real(z), first, None, second=False)
        else:
            there = xp.where(left, _product(self._turns(n, v, 1), out), out[n])
            found = xp.where(xp.where(left, xp.imag(z) < 0, xp.imag(z) > 0), xp.conj(there), there)
        return xp.where(zero, self._at_zero(n, v, second=False), found)

    def _far_away(self, n: int, v: Raw, x: Raw) -> Raw:
        """``exp(-x) I_v(x)`` by its asymptotic series (DLMF 10.40.1); along a contour what depends on ``v`` cancels."""
        term: list[Any] = [1.0, *(0.0 for _ in range(n))]
        total = term
        for k in range(1, 17):
            taylor = (4 * v * v - (2 * k - 1) ** 2, 8 * v, 4)  # of the factor that comes to the last term
            parts = [[math.perm(j, i) * t * term[j - i] for i, t in enumerate(taylor[: j + 1])] for j in range(n + 1)]
            term = [sum(p) / (-8 * k * x) for p in parts]
            total = [a + b for a, b in zip(total, term, strict=True)]
        return total[n] / self.xp.sqrt(2 * _PI * x)

    def _at_zero(self, n: int, v: Raw, *, second: bool) -> Raw:
        """At the argument 0: J and I are 0, or 1, or have a pole there; Y has one."""
        xp = self.xp
        if second and n:
            return 0.0 * v + math.nan
        if second:  # a pole, unless -v is halfway between whole numbers
            turn = xp.real(self._turns(0, xp.where(v < 0, v, 0.0), 1)[0])
            return xp.where(xp.logical_and(v < 0, xp.equal(xp.remainder(v, 1), 0.5)), 0.0, -turn * math.inf)
        if n:
            return xp.where(v > 0, 0.0, xp.where(xp.equal(v, 0), (-1) ** n * math.inf, math.nan))
        whole = xp.equal(v, xp.floor(v))
        sign = xp.where(xp.equal(xp.remainder(xp.floor(v), 2), 0), 1.0, -1.0)  # of the gamma function at v + 1
        pole = xp.where(v > -1, 1.0, -sign) * math.inf
        return xp.where(xp.equal(v, 0), 1.0, xp.where(xp.logical_or(v > 0, whole), 0.0, pole))

    def _met(self, v: Raw, x: Raw) -> tuple[Raw, Raw]:
        """Orders and complex arguments in double precision, both arrays: CuPy has functions that take no numbers."""
        v = double(v) + 0.0 * self.xp.real(double(x))
        return v, double(x) + self.xp.zeros_like(v, dtype=complex)

    def _may_be_negative(self, v: Raw) -> bool:
        """Whether an order below 0 has to be reckoned with."""
        if isinstance(v, (int, float, np.number)):
            return bool(v < 0)
        return bool((v < 0).any()) if self.may_branch else True

    def _quadrant(self, z: Raw, sign: int) -> Raw:
        """The number of these two parts up to signs that lies in the first quadrant, or in the fourth."""
        return self.xp.absolute(self.xp.real(z)) + sign * 1j * self.xp.absolute(self.xp.imag(z))

    def _turns(self, n: int, v: Raw, sign: int) -> list[Raw]:
        """``exp(sign iπv)`` and its derivatives; exact where it is 1 or -1, or i or -i."""
        xp = self.xp
        near = v - 2 * xp.floor(v / 2 + 0.5)
        sin = xp.where(xp.equal(v, xp.floor(v)), 0.0, xp.sin(_PI * near))
        cos = xp.where(xp.equal(xp.absolute(near), 0.5), 0.0, xp.cos(_PI * near))
        first = cos + sign * 1j * sin
        return [(sign * 1j * _PI) ** k * first for k in range(n + 1)]

    def _skip(self, factor: Raw, x: Raw) -> Raw:
        """A product that is 0 where the factor is, whatever the other is."""
        return self.xp.where(self.xp.equal(factor, 0), 0.0, factor * x)

    # ---------------------------------------------------------------- I and K in the fourth quadrant, of orders from 0

    def _rising(self, n: int, v: Raw, z: Raw, *, both: bool, turned: bool = False) -> list[Raw]:
        """``exp(-real(z)) I_v(z)``, or ``J_v(i z)``, and derivatives; if not ``both``, twice what the lower half gives.

        A path goes straight through the saddle point, unless the function oscillates there; then it goes through two,
        and between them to the left.
        """
        xp = self.xp
        v, z = (xp.asarray(a) for a in (v, z))
        height = xp.sqrt(z * z + (v + 1) ** 2)
        straight = xp.absolute(xp.imag(height)) < math.tan(math.radians(40)) * xp.real(height)
        if self.may_branch:
            v, z = np.broadcast_arrays(v, z)
            out = [np.empty(z.shape, complex) for _ in range(n + 1)]
            for where, path in ((straight, self._one_saddle), (~straight, self._two_saddles)):
                for all_, found in zip(out, path(n, v[where], z[where], both=both, turned=turned), strict=True):
                    all_[where] = found
            return out
        one = self._one_saddle(n, v, xp.where(straight, z, 1.0), both=both, turned=turned)
        two = self._two_saddles(n, v, xp.where(straight, -2j * (v + 1), z), both=both, turned=turned)
        return [xp.where(straight, a, b) for a, b in zip(one, two, strict=True)]

    def _one_saddle(self, n: int, v: Raw, z: Raw, *, both: bool, turned: bool) -> list[Raw]:
        """Down and up from the saddle point of the order above, which is near, also where that of the order is far."""
        xp = self.xp
        start, angle = self._saddle(v + 1, z), -self._angle(z)
        exponent = self._exponent(v, z, 1)
        paths = [_Half(start, 2.0, angle - _PI - xp.imag(start), 1)]
        if both:
            tilt = math.radians(63) + xp.absolute(self._angle(z * xp.cosh(start))) / 3
            paths.append(_Half(start, xp.tan(tilt), angle + _PI - xp.imag(start), 1))
        parts = self._halves(exponent, paths, n, -1, turned=turned)
        factor = self._front(exponent(start), v, z, turned=turned) / (2j * _PI)
        if not both:
            return [-2 * a * factor for a in parts[0]]
        return [(b - a) * factor for a, b in zip(*parts, strict=True)]

    def _two_saddles(self, n: int, v: Raw, z: Raw, *, both: bool, turned: bool) -> list[Raw]:
        """From the right to the lower saddle point, to the left, and over the upper one to the right."""
        xp = self.xp
        low, angle, exponent = self._saddle(v, z), -self._angle(z), self._exponent(v, z, 1)
        starts = ((low, angle - _PI, -1), (1j * _PI - low, angle + _PI, 1))[: 2 if both else 1]
        right = [_Half(start, 2.0, end - xp.imag(start), 1) for start, end, _ in starts]
        left = [_Half(start, 1.0, _PI - angle - xp.imag(start), -1) for start, _, _ in starts]
        parts = self._halves(exponent, [*right, *left], n, -1, turned=turned)
        out: list[Any] = [0.0] * (n + 1)
        for (start, _, way), ahead, back in zip(starts, parts, parts[len(starts) :], strict=False):
            factor = (way if both else 2 * way) * self._front(exponent(start), v, z, turned=turned) / (2j * _PI)
            out = [a + (b - c) * factor for a, b, c in zip(out, ahead, back, strict=True)]
        return out

    def _falling(self, n: int, v: Raw, z: Raw, *, turned: bool = False) -> list[Raw]:
        """``exp(z) K_v(z)``, or Hankel's function of the first kind at ``i z``, and derivatives."""
        xp = self.xp
        start, angle, exponent = self._saddle(v, z), -self._angle(z), self._exponent(v, z, -1)
        tilt = xp.absolute(self._angle(xp.sqrt(z * z + v * v)))
        right = _Half(start, xp.tan(tilt / 2) + 0.1, angle - xp.imag(start), 1)
        left = _Half(start, xp.tan(math.radians(38) + tilt * (2 / 15)), -angle - xp.imag(start), -1)
        parts = self._halves(exponent, [right, left], n, 1, turned=turned)
        turn, part = (-0.5j * _PI * v, 1j * _PI) if turned else (z, 2.0)
        factor = xp.exp(exponent(start) + turn) / part
        return [(a - b) * factor for a, b in zip(*parts, strict=True)]

    def _front(self, top: Raw, v: Raw, z: Raw, *, turned: bool) -> Raw:
        """The size of an integrand, scaled."""
        return self.xp.exp(top + 0.5j * _PI * v if turned else top - self.xp.real(z))

    def _exponent(self, v: Raw, z: Raw, sign: int) -> Callable[[Raw], Raw]:
        return lambda t: sign * (z * self.xp.cosh(t) - v * t)

    def _angle(self, z: Raw) -> Raw:
        return self.xp.arctan2(self.xp.imag(z), self.xp.real(z))

    def _saddle(self, v: Raw, z: Raw) -> Raw:
        """``arcsinh(v / z)``, on its cut the value on the right."""
        t = self.xp.arcsinh(v / z)
        return self.xp.where(self.xp.real(t) < 0, 1j * _PI - t, t)

    def _halves(
        self, exponent: Callable[[Raw], Raw], paths: list[_Half], n: int, sign: int, *, turned: bool
    ) -> list[list[Raw]]:
        """Integrals of powers of ``sign * t`` times the integrand over that at the start, on halves of contours.

        What is ``turned`` is to be multiplied by a power of ``exp(iπv/2)``, so that ``t`` counts from ``iπ/2``. All
        halves, and both parts of each, are computed at once: on a device what counts is how many calls there are.
        """
        xp = self.xp
        zero = xp.zeros_like(xp.real(exponent(paths[0].start)))
        start, slope, rise, way = (xp.stack([v + zero for v in values]) for values in zip(*paths, strict=True))
        bend = xp.minimum(slope / xp.maximum(xp.absolute(rise), 1e-6), _SHARPEST)
        top, centre = exponent(start), 0.5j * _PI if turned else 0.0
        low = xp.zeros_like(rise)
        high = low + _FARTHEST
        for _ in range(20):
            middle = (low + high) / 2
            fall = xp.real(exponent(start + way * middle + 1j * rise * xp.tanh(bend * middle)) - top)
            inside = fall > -_FALL
            low, high = xp.where(inside, middle, low), xp.where(inside, high, middle)
        cut = xp.maximum(high - 5, high / 2)
        middle, half = xp.stack([cut, cut + high]) / 2, xp.stack([cut, high - cut]) / 2
        crowd = 0.5 * xp.log1p(half / _PLATEAU)
        half, lift = half / xp.tanh(crowd), 1j * rise
        out: list[Any] = [0.0] * (n + 1)
        every = _gauss()
        for some in side_by_side(len(every), middle.size, on_host=self.may_branch):
            place = xp.tanh(xp.stack([every[k][0] * crowd for k in some]))
            s = middle + half * place
            weighted = xp.stack([every[k][1] * crowd * half for k in some]) * (1 - place * place)
            tanh = xp.tanh(bend * s)
            t = start + way * s + lift * tanh
            term = xp.exp(exponent(t) - top) * ((way + lift * (bend * (1 - tanh * tanh))) * weighted)
            for k in range(n + 1):
                out[k] = out[k] + xp.sum(term, axis=0)
                if k < n:
                    term = term * (sign * (t - centre))
        whole = [total[0] + total[1] for total in out]
        return [[total[p] for total in whole] for p in range(len(paths))]


def _times(x: Raw, y: Raw) -> Raw:
    return x * y


def _product(x: list[Raw], y: list[Raw], skip: Callable[[Raw, Raw], Raw] = _times) -> Raw:
    """The highest derivative of a product, from those of its factors."""
    n = len(x) - 1
    return sum(math.comb(n, k) * skip(x[k], y[n - k]) for k in range(n + 1))
