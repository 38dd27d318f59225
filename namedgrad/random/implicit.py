"""Draws that follow their parameters: the value is the draw, the derivative is that at a fixed quantile.

A draw ``x`` is an elementwise function of the parameters it was drawn with whose value is known; its slope in each is
``-(dF/da) / (dF/dx)`` at ``x`` (Figurnov, Mohamed and Mnih 2018).  The slopes are operations again, in ``x`` and in the
parameters, so higher orders follow: ``x`` itself is differentiated as what it is, a function of the parameters.
"""

from __future__ import annotations

import functools
import math

from namedgrad.array import DimArray
from namedgrad.primitive import Elementwise, elementwise
from namedgrad.random.drawing import scalar as c
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import add, equal, multiply, negative, subtract, where

# fmt: off
#                       name               drawn  parameters
drawn_gamma = elementwise("drawn_gamma",    None, lambda y, x, a: gamma_slope(0)(y, a), kernel="as_drawn")
drawn_beta  = elementwise("drawn_beta",     None, lambda y, x, a, b: beta_slope(0, 0)(y, _rest(y), a, b), lambda y, x, a, b: negative(beta_slope(0, 0)(_rest(y), y, b, a)), kernel="as_drawn")
drawn_vonmises = elementwise("drawn_vonmises", None, lambda y, x, k: vonmises_slope(y, k), kernel="as_drawn")
drawn_wald  = elementwise("drawn_wald",     None, lambda y, x, m, s: _wald_mean(y, m, s), lambda y, x, m, s: _wald_scale(y, m, s), kernel="as_drawn")
# fmt: on


# ------------------------------------------------------------------------------------------------ gamma


class _Slope(Elementwise):
    """A slope, or its partial derivative of some order in each parameter: the kernel is told the orders."""

    def __init__(self, kernel: str, orders: tuple[int, ...], partials: tuple[object, ...]) -> None:
        name = "_".join((kernel, *map(str, orders)))
        super().__init__(name, (*partials, *(None,) * len(orders)), kernel)
        self.orders = tuple(map(c, orders))

    def __call__(self, *args: DimArray) -> DimArray:
        return super().__call__(*args, *self.orders)


@functools.cache
def gamma_slope(k: int) -> _Slope:
    """The k-th derivative in ``a`` of the slope of a draw ``z`` from Gamma(a)."""

    def in_draw(y: DimArray, z: DimArray, a: DimArray, *_: DimArray) -> DimArray:
        # The slope solves dD/dz = ψ(a) - log z - D ((a - 1) / z - 1).
        tilted = subtract(multiply(_part(y, z), subtract(a, c(1.0))), y)
        out = subtract(_log_density(k, z, a), tilted)
        return out if not k else subtract(out, multiply(c(float(k)), _part(gamma_slope(k - 1)(z, a), z)))

    return _Slope("gamma_slope", (k,), (in_draw, lambda y, z, a, *_: gamma_slope(k + 1)(z, a)))


@functools.cache
def drawn_power(p: float, *, of_mean: bool = False) -> Elementwise:
    """A power of a draw from Gamma(a), given with the draw: its slope is finite where that of the draw's inverse is not.

    Or one of the draw over ``a``, the slope of which is small beside those of draw and ``a``: their difference is taken
    draw by draw, before sums of either are rounded.
    """

    def in_shape(y: DimArray, _: DimArray, x: DimArray, a: DimArray) -> DimArray:
        z = drawn_gamma(x, a)
        growth = _part(gamma_slope(0)(z, a), z)
        growth = subtract(growth, e.reciprocal(a)) if of_mean else growth
        growth = growth if p > 0 else where(equal(z, c(0.0)), c(math.inf), growth)
        return multiply(multiply(c(p), y), growth)

    return Elementwise("drawn_power", (None, None, in_shape), "as_drawn")


def _part(slope: DimArray, draw: DimArray) -> DimArray:
    """How many times the draw its slope is, which the smallest numbers have, too: their reciprocals are infinite."""
    return e.divide(slope, where(equal(draw, c(0.0)), c(1.0), draw))


def _log_density(k: int, z: DimArray, a: DimArray) -> DimArray:
    of_a = polygamma(k)(a)
    return subtract(of_a, e.log(z)) if not k else of_a


@functools.cache
def polygamma(k: int) -> _Slope:
    """The k-th derivative of ψ."""
    return _Slope("psi", (k,), (lambda y, a, *_: polygamma(k + 1)(a),))


# ------------------------------------------------------------------------------------------------ beta


def _rest(x: DimArray) -> DimArray:
    return subtract(c(1.0), x)


@functools.cache
def beta_slope(i: int, m: int) -> _Slope:
    """The slope in ``a`` of a draw from Beta(a, b), ``i`` times differentiated in ``a`` and ``m`` times in ``b``.

    It is given with what it leaves of 1, as the smaller of these two tells more than the other does.
    """

    def in_draw(y: DimArray, x: DimArray, rest: DimArray, a: DimArray, b: DimArray, *_: DimArray) -> DimArray:
        tilted = subtract(multiply(_part(y, x), subtract(a, c(1.0))), multiply(_part(y, rest), subtract(b, c(1.0))))
        logs = negative(polygamma(i + m)(add(a, b)))
        if not m:
            logs = add(logs, polygamma(i)(a))
        if not i + m:
            logs = subtract(logs, where(e.less(rest, x), e.log1p(negative(rest)), e.log(x)))
        out = subtract(logs, tilted)
        if i:
            out = subtract(out, multiply(c(float(i)), _part(beta_slope(i - 1, m)(x, rest, a, b), x)))
        return add(out, multiply(c(float(m)), _part(beta_slope(i, m - 1)(x, rest, a, b), rest))) if m else out

    return _Slope(
        "beta_slope", (i, m),
        (in_draw, None,  # what is left follows the draw
         lambda y, x, rest, a, b, *_: beta_slope(i + 1, m)(x, rest, a, b),
         lambda y, x, rest, a, b, *_: beta_slope(i, m + 1)(x, rest, a, b)),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ von Mises


def vonmises_slope(x: DimArray, kappa: DimArray) -> DimArray:
    """The slope in ``kappa`` of a draw around 0 from the von Mises distribution."""
    return _vonmises_slope(x, kappa)


def _vonmises_in_draw(y: DimArray, x: DimArray, k: DimArray, *_: DimArray) -> DimArray:
    return add(subtract(_mean_cosine(k), e.cos(x)), multiply(multiply(k, e.sin(x)), y))


def _refuse(*_: DimArray) -> DimArray:
    raise TypeError(
        "random.vonmises: third derivatives in kappa of a draw are not available; "
        "draw with a constant kappa, or differentiate the expectation"
    )


_vonmises_curve = _Slope("vonmises_slope", (1,), (_refuse, _refuse))
_vonmises_slope = _Slope(
    "vonmises_slope", (0,), (_vonmises_in_draw, lambda y, x, k, *_: _vonmises_curve(x, k))
)  # fmt: skip
_mean_cosine = elementwise("mean_cosine", lambda y, k: _mean_cosine_slope(y, k))


def _mean_cosine_slope(y: DimArray, k: DimArray) -> DimArray:
    """1 - A / κ - A², with the limit 1/2 at 0."""
    small = e.less(k, c(1e-4))
    ratio = e.divide(y, where(small, c(1.0), k))
    return where(small, c(0.5), subtract(subtract(c(1.0), ratio), e.square(y)))


# ------------------------------------------------------------------------------------------------ Wald

_mills = elementwise("mills", lambda y, x: subtract(multiply(x, y), c(1.0)))


def _wald_parts(x: DimArray, mean: DimArray, scale: DimArray) -> tuple[DimArray, DimArray]:
    """``sqrt(scale / x)``, and Mills' ratio ``Φ(-b) / φ(b)`` at ``b = sqrt(scale / x) (x / mean + 1)``."""
    r = e.sqrt(e.divide(scale, x))
    return r, _mills(multiply(r, add(e.divide(x, mean), c(1.0))))


def _wald_mean(x: DimArray, mean: DimArray, scale: DimArray) -> DimArray:
    r, mills = _wald_parts(x, mean, scale)
    return e.divide(multiply(multiply(multiply(c(2.0), scale), x), mills), multiply(e.square(mean), r))


def _wald_scale(x: DimArray, mean: DimArray, scale: DimArray) -> DimArray:
    r, mills = _wald_parts(x, mean, scale)
    return subtract(e.divide(x, scale), e.divide(multiply(multiply(c(2.0), x), mills), multiply(mean, r)))

