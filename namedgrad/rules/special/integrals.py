"""Integrals of elementary functions: elliptic, exponential, trigonometric, Fresnel's, Dawson's, Faddeeva's."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, make
from namedgrad.backends import call
from namedgrad.primitive import Elementwise, Primitive, check_sizes, elementwise, operation, place, sample
from namedgrad.rules.elementwise import (
    c,
    copysign,
    cos,
    divide,
    exp,
    isinf,
    less_equal,
    ordered,
    power,
    reciprocal,
    sin,
    spherical_j,
    square,
    tanh,
    trunc,
)
from namedgrad.rules.movement import slice_of
from namedgrad.rules.special.declare import (
    FAMILY,
    ByValue,
    Function,
    Special,
    constant_in,
    derivative,
    is_formula,
    of_wide,
    scaled,
    special,
    with_slopes,
)
from namedgrad.rules.special.spherical import spherical_in, spherical_yn
from namedgrad.rules.structure import add, equal, multiply, negative, scale, subtract, where
from namedgrad.trace import apply, innermost


@functools.cache
def elliptic(kernel: str, n: int) -> Function:
    """The n-th derivative of K or E in the parameter, at one minus it."""
    return ordered(kernel, (n,), lambda y, p: negative(elliptic(kernel, n + 1)(p)))


@functools.cache
def _from_value(name: str) -> Function:
    """The first derivative, of the operand and the value."""
    return elementwise(f"{name}_slope", lambda s, x, y: derivative(f"{name}_order", 2)(x), None)


@functools.cache
def incomplete(kernel: str, a: float, n: int) -> Function:
    """The n-th derivative of the incomplete F or E in the parameter."""
    return ordered(
        kernel,
        (n,),
        lambda y, phi, m: _arc(n, a, phi, m),
        lambda y, phi, m: incomplete(kernel, a, n + 1)(phi, m),
    )


def _arc(n: int, a: float, phi: DimArray, m: DimArray) -> DimArray:
    """The n-th derivative in ``m`` of ``(1 - m sin(phi)**2)**-a``."""
    wave = square(sin(phi))
    below = add(square(cos(phi)), multiply(_rest(m), wave))  # without the loss of digits where both are near 1
    if not is_formula(m):
        below = where(equal(m, c(-math.inf)), c(math.inf), below)
    out = power(below, c(-a - n))
    return multiply(scaled(math.prod((a + k for k in range(n)), start=1.0), power(wave, c(float(n)))), out) if n else out


def _rest(m: DimArray) -> DimArray:
    return subtract(c(1.0), m)


def _expn_slope(n: DimArray, x: DimArray) -> DimArray:
    """The integral of the order below, with its sign; those of order 0 and less are elementary (DLMF 8.19)."""
    n = trunc(n)  # as SciPy takes an order
    first = divide(exp(negative(x)), x)
    low = where(equal(n, c(0)), multiply(first, add(c(1.0), reciprocal(x))), first)
    few = less_equal(n, c(1))
    return negative(where(few, low, expn(where(few, c(1), subtract(n, c(1))), x)))


def _expi_slope_value(x: DimArray) -> DimArray:
    """exp(x) / x, which is finite further than exp(x)."""
    half = exp(scaled(0.5, x))
    return multiply(divide(half, _below_infinity(x)), half)


def _below_infinity(x: DimArray) -> DimArray:
    """A divisor of what grows faster."""
    return x if x.dtype.kind == "c" or is_formula(x) else where(isinf(x), copysign(c(float(np.finfo(x.dtype).max)), x), x)


_expi_slope = with_slopes(_expi_slope_value, lambda y, x: multiply(y, subtract(c(1.0), reciprocal(x))))
_shi_slope = elementwise("sinh_ratio", lambda y, x: spherical_in(c(1), x))
_chi_slope = elementwise("cosh_ratio", lambda y, x: multiply(y, subtract(tanh(x), reciprocal(x))))
_ci_slope = elementwise("cos_ratio", lambda y, x: spherical_yn(c(1), x))


# fmt: off
ellipk = special(
    "ellipk", lambda y, m: elliptic("ellipk_order", 1)(_rest(m)),
    domain="unit", operands=("m",), says="Complete elliptic integral of the first kind of parameter m.",
    source="The first derivative near 0 by the arithmetic-geometric mean, higher ones by their series, else by Legendre's equation, DLMF 19.8 and 19.4.")
ellipkm1 = special(
    "ellipkm1", lambda y, p: negative(elliptic("ellipk_order", 1)(p)),
    domain="fraction", operands=("p",), says="Complete elliptic integral of the first kind of parameter 1 - p, for small p.")
ellipe = special(
    "ellipe", lambda y, m: elliptic("ellipe_order", 1)(_rest(m)),
    domain="unit", operands=("m",), says="Complete elliptic integral of the second kind of parameter m.")
ellipkinc = special(
    "ellipkinc", lambda y, phi, m: _arc(0, 0.5, phi, m), lambda y, phi, m: incomplete("ellipkinc_order", 0.5, 1)(phi, m),
    domain=("real", "unit"), operands=("phi", "m"), says="Incomplete elliptic integral of the first kind of amplitude phi and parameter m.",
    source="The first derivative in m is a symmetric integral of Carlson, DLMF 19.25; higher ones by quadrature after sin θ = tanh u.")
ellipeinc = special(
    "ellipeinc", lambda y, phi, m: _arc(0, -0.5, phi, m), lambda y, phi, m: incomplete("ellipeinc_order", -0.5, 1)(phi, m),
    domain=("real", "unit"), operands=("phi", "m"), says="Incomplete elliptic integral of the second kind of amplitude phi and parameter m.")
exp1 = special(
    "exp1", lambda y, x: negative(divide(exp(negative(x)), x)),
    domain="positive", says="Exponential integral E1, of exp(-t) / t from x on.")
expi = special(
    "expi", lambda y, x: _expi_slope(x),
    domain="nonzero", says="Exponential integral Ei, of exp(t) / t up to x.")
expn = special(
    "expn", constant_in("the order n", "expn(n, x)"), lambda y, n, x: _expn_slope(n, x),
    domain=("order", "positive"), operands=("n", "x"), says="Generalized exponential integral of the whole order n.")
dawsn = special(
    "dawsn", lambda y, x: _from_value("dawsn")(x, innermost(y)),
    domain="real", says="Dawson's integral, exp(-x²) times that of exp(t²) from 0 to x.", form=ByValue,
    source="Derivatives by recurrence near 0, else by an asymptotic series, DLMF 7.10 and 7.12.")
erfi = special(
    "erfi", lambda y, x: scaled(2 / math.sqrt(math.pi), exp(square(x))),
    domain="real", says="Imaginary error function, -i erf(i x).")
wofz = special(
    "wofz", lambda y, z: _from_value("wofz")(z, innermost(y)),
    domain="complex", operands=("z",), says="Faddeeva's function, exp(-z²) erfc(-i z).",
    source="Derivatives by recurrence near 0, else by an asymptotic series, DLMF 7.10 and 7.12.")
# fmt: on


@functools.cache
def _voigt(n: int, k: int, *, known: bool = False) -> Function:
    """The n-th derivative of Voigt's profile in ``x``, or what is conjugate to it; in ``s`` by the equation of heat.

    Where both are ``known``, they are a last operand.
    """
    return ordered(
        "voigt_slope" if known else "voigt_order",
        (n, k),
        lambda y, x, s, g, *_: _voigt(n + 1, k)(x, s, g),
        lambda y, x, s, g, *_: multiply(s, _voigt(n + 2, k)(x, s, g)),
        lambda y, x, s, g, *_: _voigt(n + 1, 0)(x, s, g) if k else negative(_voigt(n + 1, 1)(x, s, g)),
        *[None] * known,
    )


class _Voigt(Special):
    """The value and all slopes follow from one value of Faddeeva's function."""

    def __call__(self, *args: DimArray) -> DimArray:
        if any(map(is_formula, args)):
            return super().__call__(*args)
        return _voigt_value(*args, _voigt_parts(*map(innermost, args)))


_voigt_parts = elementwise("voigt_parts", None, None, None)
_voigt_value = Elementwise("voigt_profile", [
    of_wide(lambda y, *xs: _voigt(1, 0, known=True)(*xs)),
    of_wide(lambda y, x, s, *more: multiply(s, _voigt(2, 0, known=True)(x, s, *more))),
    of_wide(lambda y, *xs: negative(_voigt(1, 1, known=True)(*xs))),
    None,
], "voigt_value")  # fmt: skip


# fmt: off
voigt_profile = special(
    "voigt_profile", lambda y, x, s, g: _voigt(1, 0)(x, s, g), lambda y, x, s, g: multiply(s, _voigt(2, 0)(x, s, g)),
    lambda y, x, s, g: negative(_voigt(1, 1)(x, s, g)),
    domain=("real", "positive", "positive"), operands=("x", "sigma", "gamma"),
    says="Voigt's profile: a normal density of deviation sigma, convolved with a Cauchy density of width gamma.",
    source="The real part of Faddeeva's function; the derivative in sigma is sigma times the second one in x.",
    form=_Voigt)
# fmt: on


# ------------------------------------------------------------------------------------------------ several at once


class _Together(Primitive):
    """What SciPy computes in one go, along a new axis; derivatives are those of its parts."""

    form, signature = "core", "()->(k)"

    def lower(self, args: Sequence[DimArray], of: str) -> DimArray:
        check_sizes(of, args)
        names, hidden, moves = axes.elementwise_plan(tuple(x.names for x in args), tuple(x.hidden for x in args))
        raw = [place(x.raw, move) if x.names else x.raw for x, move in zip(args, moves, strict=True)]
        return make(call(self.kernel_for(*raw), *raw, of=of), (*names, _PART), hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], of: str) -> None:
        return None


_PART = axes.fresh("part")
_TOGETHER = _Together("together")


def known_parts(*slopes: tuple[Function, ...]) -> list[Function]:
    """The results, of the operands and all their values; so are the slopes, one per operand."""
    values = (None,) * len(slopes)

    def part(k: int, partials: tuple[Function, ...]) -> Function:
        behind = [lambda y, *xs, f=f: f(*xs) for f in partials]
        return ordered("known_part", (k + len(partials) - 1,), *behind, *values)

    return [part(k, partials) for k, partials in enumerate(slopes)]


def _known(*slopes: Function) -> list[Function]:
    return known_parts(*((f,) for f in slopes))


def all_of(function: str, known: list[Function], *xs: DimArray) -> tuple[DimArray, ...]:
    """The results of a function that has several."""
    values = apply(_TOGETHER, xs, of=function)
    each = [slice_of(values, _PART, k) for k in range(len(known))]
    return tuple(part(*xs, *each) for part in known)


_sici = _known(lambda x, *_: spherical_j(0)(x), lambda x, *_: _ci_slope(x))
_shichi = _known(lambda x, *_: _shi_slope(x), lambda x, *_: _chi_slope(x))
_sine_of_square = elementwise("sine_of_square", lambda y, x: multiply(scaled(math.pi, x), _cosine_of_square(x)))
_cosine_of_square = elementwise("cosine_of_square", lambda y, x: multiply(scaled(-math.pi, x), _sine_of_square(x)))
_fresnel = _known(lambda x, *_: _sine_of_square(x), lambda x, *_: _cosine_of_square(x))
airy_parts: list[Function] = _known(
    lambda x, *v: airy_parts[1](x, *v),
    lambda x, *v: scale(airy_parts[0](x, *v), x),  # 0 at infinity
    lambda x, *v: airy_parts[3](x, *v),
    lambda x, *v: multiply(x, airy_parts[2](x, *v)),
)


@operation(sample("nonzero(a,b)"), family=FAMILY)
def sici(x: DimArray) -> tuple[DimArray, DimArray]:
    """Sine and cosine integrals.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    si, ci : DimArray

    Notes
    -----
    ``si`` is the integral of ``sin(t) / t`` from 0 to x, ``ci`` that of ``cos(t) / t`` from infinity to ``abs(x)``.
    SciPy: :obj:`scipy.special.sici`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> si, ci = ng.sici(ng.DimArray([0.5, 2.0], ("x",)))
    >>> si.data.round(4), ci.data.round(4)
    (array([0.4931, 1.6054]), array([-0.1778,  0.423 ]))
    """
    si, ci = all_of("sici", _sici, constant(x))
    return si, ci


@operation(sample("nonzero(a,b)"), family=FAMILY)
def shichi(x: DimArray) -> tuple[DimArray, DimArray]:
    """Hyperbolic sine and cosine integrals.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    shi, chi : DimArray

    Notes
    -----
    ``shi`` is the integral of ``sinh(t) / t`` from 0 to x; ``chi`` is Euler's constant, the logarithm of ``abs(x)``, and
    the integral of ``(cosh(t) - 1) / t``. SciPy: :obj:`scipy.special.shichi`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> shi, chi = ng.shichi(ng.DimArray([0.5, 2.0], ("x",)))
    >>> shi.data.round(4), chi.data.round(4)
    (array([0.507 , 2.5016]), array([-0.0528,  2.4527]))
    """
    shi, chi = all_of("shichi", _shichi, constant(x))
    return shi, chi


@operation(sample("real(a,b)"), family=FAMILY)
def fresnel(x: DimArray) -> tuple[DimArray, DimArray]:
    """Fresnel's integrals.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    s, c : DimArray

    Notes
    -----
    The integrals of ``sin(π t² / 2)`` and ``cos(π t² / 2)`` from 0 to x. SciPy: :obj:`scipy.special.fresnel`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> s, c = ng.fresnel(ng.DimArray([0.5, 2.0], ("x",)))
    >>> s.data.round(4), c.data.round(4)
    (array([0.0647, 0.3434]), array([0.4923, 0.4883]))
    """
    s, c = all_of("fresnel", _fresnel, constant(x))
    return s, c


@operation(sample("real(a,b)"), family=FAMILY)
def airy(x: DimArray) -> tuple[DimArray, DimArray, DimArray, DimArray]:
    """Airy's functions and their derivatives.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    ai, aip, bi, bip : DimArray

    Notes
    -----
    Solutions of ``y'' = x y``, of which ``ai`` falls off on the right and ``bi`` grows. SciPy:
    :obj:`scipy.special.airy`; PyTorch: ``torch.special.airy_ai``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ai, _, bi, _ = ng.airy(ng.DimArray([-2.0, 0.0, 2.0], ("x",)))
    >>> ai.data.round(4), bi.data.round(4)
    (array([0.2274, 0.355 , 0.0349]), array([-0.4123,  0.6149,  3.2981]))
    """
    ai, aip, bi, bip = all_of("airy", airy_parts, constant(x))
    return ai, aip, bi, bip
