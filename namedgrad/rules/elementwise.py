"""Elementwise operations: one line each, a partial derivative per operand.

``y`` is the result, ``x`` (and ``z``) the operands.  Factors are written to stay accurate in the tails; a factor that
is not finite where the cotangent is exactly 0 counts as 0 (see :func:`namedgrad.linear.product`).  Conventions at
special points: ``abs`` has derivative 0 at 0, ties of ``maximum`` and ``minimum`` are shared equally, ``clip`` passes 1
at its bounds, a rounding function has derivative 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.linear import Pair, Scale, like, ops
from namedgrad.primitive import Elementwise, elementwise, mask, operation, sample
from namedgrad.rules import structure
from namedgrad.rules.jointly import Joint, OfBoth
from namedgrad.rules.lengths import angle_of, length_of, powering
from namedgrad.rules.structure import add, equal, known_finite, multiply, negative, scale, select, subtract, where
from namedgrad.squares import orders
from namedgrad.trace import Traced, innermost

for _prim in (add, subtract, multiply):
    _prim.publish(("real", "real"))
negative.publish(("real",))
where.publish(("bool", "real", "real"))
for _prim in (equal, structure.not_equal):
    _prim.publish(("real", "real"))
for _prim in (structure.isfinite, structure.logical_not):
    _prim.publish(("real",))


def c(value: complex) -> DimArray:
    """A scalar constant; Python scalars never change the dtype of what they meet."""
    return make(value, (), NONE)


def ordered(kernel: str, orders: Sequence[int], *partials: Any) -> Callable[..., DimArray]:
    """One member of a family of functions: the kernel gets its orders first, partials get the operands alone."""

    def behind(partial: Any) -> Any:
        return (lambda y, *xs: partial(y, *xs[len(orders) :])) if callable(partial) else partial

    prim = Elementwise(kernel, (*(None for _ in orders), *map(behind, partials)))
    constants = [c(n) for n in orders]
    return lambda *xs: prim(*constants, *xs)


@functools.cache
def spherical_j(n: int, unit: float = 1.0) -> Callable[..., DimArray]:
    """The spherical Bessel function of the first kind and order ``n``, of ``unit * x``; that of order 0 is sin(x) / x."""
    return ordered("spherical_j" if unit == 1.0 else "spherical_j_pi", (n,), lambda y, x: _spherical_slope(n, unit, x))


def _spherical_slope(n: int, unit: float, x: DimArray) -> DimArray:
    """That of order ``n``, DLMF 10.51.2."""
    after = multiply(c(-unit * (n + 1) / (2 * n + 1)), spherical_j(n + 1, unit)(x))
    return add(multiply(c(unit * n / (2 * n + 1)), spherical_j(n - 1, unit)(x)), after) if n else after


def _pole_pair(x: DimArray) -> DimArray:
    """``1 / (x - 1) + 1 / (x + 1)``."""
    return add(divide(c(1.0), subtract(x, c(1.0))), divide(c(1.0), add(x, c(1.0))))


def _angle2(z: DimArray, sign: int) -> DimArray:
    """``arccos(1 - z)**2`` near 0, or with ``sign`` -1 ``arccosh(1 + z)**2``: ``2 z ± z²/3 + ...``, DLMF 4.24.2 squared."""
    terms = [sign ** (n - 1) * 2 ** (n + 1) / (n * n * math.comb(2 * n, n)) for n in range(1, 1 + max(2, orders(z)))]
    return multiply(z, functools.reduce(lambda sum_, term: add(c(term), multiply(z, sum_)), terms[-2::-1], c(terms[-1])))


def _turned_twice(y: DimArray, w: DimArray) -> Pair:
    """``-2 y w``, of which one may be infinite where the other is 0."""
    return Pair(multiply(c(-2.0), structure.shield.two(y, w)), w)


def _squares_apart(x: DimArray, y: DimArray) -> Pair:
    """``x**2 - y**2``, of which each square may be infinite alone."""
    return Pair(subtract(x, y), add(x, y))


def at_zero(x: DimArray, factor: DimArray) -> DimArray:
    """The factor, with 0 where ``x`` is 0: the subgradient of length-like functions."""
    return select(structure.not_equal(x, c(0)), factor)


class _Extreme(Elementwise):
    """The larger or smaller of two: who wins is found once for both."""

    def __init__(self, name: str, share: Elementwise) -> None:
        super().__init__(name, (lambda y, x, z: _share(share, x, z), lambda y, x, z: _share(share, z, x)))
        self.share = share

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        level: Any = x.level
        if level is None or y.level is not level or not level.fast or type(x) is not Traced or type(y) is not Traced:
            return super().two(x, y)
        a, b = x.value, y.value
        if x is y or a.level is not None or b.level is not None or not a.dtype.kind == b.dtype.kind == "f":
            return super().two(x, y)
        out = self.compute_two(a, b)
        shares = _clear_shares(self.share, a, b) or (self.share(a, b), self.share(b, a))
        terms = [(f, v.names, None if v.dtype is out.dtype else v.dtype) for f, v in zip(shares, (a, b), strict=True)]
        traced: DimArray = level.record(Scale(terms, None if x.names == y.names else like(out)), (x.node, y.node), out)
        return traced


def _share(share: Elementwise, x: DimArray, z: DimArray) -> Any:
    return share(x, z) if (found := _clear_shares(share, x, z)) is None else found[0]


def _clear_shares(share: Elementwise, x: DimArray, z: DimArray) -> tuple[Any, Any] | None:
    """The shares of both in the larger or smaller, of many cells of which none ties or is NaN: where it is which."""
    if max(x.size, z.size) >= WORTH_A_LOOK and all(backends.may_look(innermost(a).raw) for a in (x, z)):
        beats, loses = (greater, less) if share in (above, present_above) else (less, greater)
        ways = (beats(x, z), loses(x, z)) if len(x.names) >= len(z.names) else (loses(z, x), beats(z, x))  # in memory order
        if logical_or(*ways).raw.all():
            return mask(ways[0]), mask(ways[1])
    return None


def extreme(name: str, share: Elementwise) -> Elementwise:
    """Declare one of them, given the share of the first."""
    prim = _Extreme(name, share)
    prim.publish(("real", "real"))
    return prim


class _LogSum(Joint):
    """With the shares of both operands: all are found from one exponential."""

    joint = "log_sum_and_shares"


# ---- comparisons and other functions without derivative
# fmt: off
less          = elementwise("less",          None, None, domain="real")
less_equal    = elementwise("less_equal",    None, None, domain="real")
greater       = elementwise("greater",       None, None, domain="real")
greater_equal = elementwise("greater_equal", None, None, domain="real")
logical_and   = elementwise("logical_and",   None, None, domain="bool")
logical_or    = elementwise("logical_or",    None, None, domain="bool")
logical_xor   = elementwise("logical_xor",   None, None, domain="bool")
bitwise_and   = elementwise("bitwise_and",   None, None, domain="bool")
bitwise_or    = elementwise("bitwise_or",    None, None, domain="bool")
bitwise_xor   = elementwise("bitwise_xor",   None, None, domain="bool")
invert        = elementwise("invert",        None, domain="bool")
bitwise_count = elementwise("bitwise_count", None, domain="int")
isnan         = elementwise("isnan",         None, domain="real")
isinf         = elementwise("isinf",         None, domain="real")
signbit       = elementwise("signbit",       None, domain="real")
sign          = elementwise("sign",          None)
spacing       = elementwise("spacing",       None, domain="nonzero")
left_shift    = elementwise("left_shift",    None, None, domain="int")
right_shift   = elementwise("right_shift",   None, None, domain="int")
gcd           = elementwise("gcd",           None, None, domain="int")
lcm           = elementwise("lcm",           None, None, domain="int")
floor         = elementwise("floor",         None, domain="real")
ceil          = elementwise("ceil",          None, domain="real")
trunc         = elementwise("trunc",         None, domain="real")
rint          = elementwise("rint",          None, domain="real")
floor_divide  = elementwise("floor_divide",  None, None, domain=("real", "nonzero"))
whole_quotient = elementwise("whole_quotient", None, None, None)

# ---- arithmetic                          d/dx                                   d/dz
positive   = elementwise("positive",       1, domain="real")
divide     = OfBoth("divide",             (lambda y, x, z: divide(c(1.0), _as_precise(z, y)), lambda y, x, z: _slope_in_divisor(y, z)))
divide.both = elementwise("divide",        lambda y, x, z: over(_as_precise(z, y)), lambda y, x, z: _slope_in_divisor(y, z))
product_times  = elementwise("product_times",  None, None, None)
quotient_times = elementwise("quotient_times", None, None, None)
minus_share    = elementwise("minus_share",    None, None, None)
minus_squares  = elementwise("minus_squares",  None, None)
square_and_one_times = elementwise("square_and_one_times", None, None)
quotient_tangent = elementwise("quotient_tangent", None, None, None, None)
reciprocal = elementwise("reciprocal",     lambda y, x: _minus_square(y), domain="nonzero")
square     = elementwise("square",         lambda y, x: twice(x), domain="real")
power      = powering("power",             lambda y, x, z: power_base(x, z, y),  lambda y, x, z: power_exponent(y, x, z), domain=("positive", "real"))
float_power = powering("float_power",      lambda y, x, z: power_base(x, z, y),  lambda y, x, z: power_exponent(y, x, z), domain=("positive", "real"))
remainder  = elementwise("remainder",      1,                                     lambda y, x, z: negative(whole_quotient(x, z, y)), domain=("real", "nonzero"))
fmod       = elementwise("fmod",           1,                                     lambda y, x, z: negative(rint(divide(subtract(x, y), z))), domain=("real", "nonzero"))
log_of_base = elementwise("log_of_base",   lambda y, x, z: select(logical_or(structure.not_equal(x, c(0)), less(z, c(0))), reciprocal(x)), None)
hypot      = length_of("hypot",            lambda y, x, z: part_of_length(x, z, y), lambda y, x, z: part_of_length(z, x, y), domain="nonzero", radicand=lambda x, z: add(square(x), square(z)))
arctan2    = elementwise("arctan2",        lambda y, x, z: turn(x, z),            lambda y, x, z: negative(turn(z, x)), domain="nonzero")
copysign   = elementwise("copysign",       lambda y, x, z: multiply(sign(x), copysign(c(1.0), z)), None, domain="nonzero")
nextafter  = elementwise("nextafter",      1,                                     None, domain="real")
heaviside  = elementwise("heaviside",      None,                                  lambda y, x, z: mask(equal(x, c(0))), domain="real")
ldexp      = elementwise("ldexp",          lambda y, x, z: ldexp(structure.cast(c(1.0), x.dtype), z), None)
turn       = elementwise("turn",           lambda y, x, z: _turned_twice(y, turn(z, x)), lambda y, x, z: _squares_apart(turn(z, x), y))
part_of_length = elementwise("part_of_length", lambda y, x, z, h: at_zero(h, divide(square(part_of_length(z, x, h)), h)), lambda y, x, z, h: at_zero(h, negative(multiply(y, divide(part_of_length(z, x, h), h)))), None)

# ---- ties share
above      = elementwise("above",          None, None)
below      = elementwise("below",          None, None)
present_above = elementwise("present_above", None, None)
present_below = elementwise("present_below", None, None)
maximum    = extreme("maximum", above)
minimum    = extreme("minimum", below)
fmax       = extreme("fmax", present_above)
fmin       = extreme("fmin", present_below)

# ---- exponentials and logarithms
exp        = elementwise("exp",            lambda y, x: y, domain="real")
exp2       = elementwise("exp2",           lambda y, x: late(y, lambda y: exp2_slope(x, y), _times(product_times, math.log(2))), domain="real")
exp2_slope = elementwise("exp2_slope",     lambda s, x, y: multiply(c(math.log(2)), s), None)
expm1      = elementwise("expm1",          lambda y, x: exp(x), domain="real")
log        = elementwise("log",            lambda y, x: over(x), domain="positive")
log2       = elementwise("log2",           lambda y, x: over(x, 1 / math.log(2)), domain="positive")
log10      = elementwise("log10",          lambda y, x: over(x, 1 / math.log(10)), domain="positive")
log1p      = elementwise("log1p",          lambda y, x: over(add(c(1.0), x)), domain="positive")
logaddexp  = _LogSum("logaddexp",         (lambda y, x, z: log_share(x, z),       lambda y, x, z: log_share(z, x)))
logaddexp2 = elementwise("logaddexp2",     lambda y, x, z: _share2(x, z),         lambda y, x, z: _share2(z, x), domain="real")
below_top  = elementwise("below_top",      1,                                     -1)
log_share  = elementwise("log_share",      lambda y, x, z: multiply(y, log_share(z, x)), lambda y, x, z: negative(multiply(y, log_share(z, x))))
sqrt       = length_of("sqrt",             lambda y, x: over(y, 0.5), domain="positive", radicand=lambda x: x, flat=False, sharp=True)
cbrt       = elementwise("cbrt",           lambda y, x: over(multiply(c(3.0), square(y))), domain="nonzero")
length     = length_of("length",           lambda y, x: at_zero(y, divide(c(0.5), y)), kernel="sqrt", radicand=lambda x: x, flat=False)

divide.publish(("real", "nonzero"))
logaddexp.publish(("real", "real"))

# ---- trigonometric and hyperbolic
sin        = elementwise("sin",            lambda y, x: cos(x), domain="real")
cos        = elementwise("cos",            lambda y, x: negative(sin(x)), domain="real")
tan        = elementwise("tan",            lambda y, x: _secant2(y, x), domain="unit")
arcsin     = elementwise("arcsin",         lambda y, x: arcsin_slope(x), domain="unit")
arccos     = angle_of("arccos",            lambda y, x: negative(arcsin_slope(x)), domain="unit", radicand=lambda x: _angle2(subtract(c(1.0), x), 1))
arctan     = elementwise("arctan",         lambda y, x: arctan_slope(x), domain="real")
sinh       = elementwise("sinh",           lambda y, x: cosh(x), domain="real")
cosh       = elementwise("cosh",           lambda y, x: sinh(x), domain="real")
tanh       = elementwise("tanh",           lambda y, x: sech2(x), domain="real")
arcsinh    = elementwise("arcsinh",        lambda y, x: arcsinh_slope(x), domain="real")
arccosh    = length_of("arccosh",          lambda y, x: arccosh_slope(x), domain="above_one", radicand=lambda x: _angle2(subtract(x, c(1.0)), -1), flat=False, sharp=True)
arctanh    = elementwise("arctanh",        lambda y, x: arctanh_slope(x), domain="unit")
# Slopes that are polynomials in themselves, so that no order of derivative subtracts what is nearly equal, or infinite
arcsin_slope  = elementwise("arcsin_slope",  lambda y, x: multiply(multiply(x, y), square(y)))
arctan_slope  = elementwise("arctan_slope",  lambda y, x: Pair(multiply(c(-2.0), scale(y, x)), y))
arcsinh_slope = elementwise("arcsinh_slope", lambda y, x: Pair(negative(multiply(scale(y, x), y)), y))
arccosh_slope = elementwise("arccosh_slope", lambda y, x: Pair(multiply(c(-0.5), _pole_pair(x)), y))
arctanh_slope = elementwise("arctanh_slope", lambda y, x: multiply(multiply(c(2.0), x), square(y)))
sech2      = elementwise("sech2",          lambda y, x: multiply(c(-2.0), multiply(tanh(x), y)))
sinc       = elementwise("sinc",           lambda y, x: sinc_slope(x, y), domain="nonzero")
sinc_slope = elementwise("sinc_slope",     lambda s, x, y: multiply(c(-math.pi), _spherical_slope(1, math.pi, x)), None)
deg2rad    = elementwise("deg2rad",        lambda y, x: c(math.pi / 180), domain="real")
rad2deg    = elementwise("rad2deg",        lambda y, x: c(180 / math.pi), domain="real")

# ---- length of a number; complex numbers are split below
absolute_real = length_of("absolute_real", lambda y, x: sign(structure.counted(x)), kernel="absolute", radicand=lambda x: square(x))
fabs       = length_of("fabs",             lambda y, x: sign(x), domain="nonzero", radicand=lambda x: square(x))
# fmt: on


# ------------------------------------------------------------------------------------------------ partials of more than a line


def _as_precise(x: DimArray, y: DimArray) -> DimArray:
    """``x`` in the precision of ``y``, if it has less."""
    if x.dtype is y.dtype or x.dtype.kind != "f":
        return x
    dtype = y.dtype.type(0).real.dtype
    return structure.cast(x, dtype) if dtype.itemsize > x.dtype.itemsize else x


def late(x: DimArray, whole: Callable[[DimArray], DimArray], meets: Callable[[DimArray, DimArray], DimArray],
         joins: Callable[[DimArray, DimArray], DimArray] | None = None, *, of_one: bool = False) -> DimArray:
    """A factor made of many cells when it is needed, and only if cotangents do not meet these; of others at once.

    These are of what is differentiated itself, or a result: any other array may be written into before.
    """
    return structure.Late(x, whole, meets, joins, of_one=of_one) if _is_late(x) else whole(x)


def _is_late(x: DimArray) -> bool:
    many = x.level is None and isinstance(x.raw, np.ndarray) and x.raw.size >= structure.MANY and x.dtype.kind == "f"
    return many and not backends.is_recording()


def _times(kernel: Elementwise, number: float) -> Callable[[DimArray, DimArray], DimArray]:
    return lambda g, x: kernel(g, x, c(number))


def over(x: DimArray, number: float = 1.0) -> DimArray:
    """The reciprocal as a factor, or a number over an array."""
    meets = divide.two if number == 1 else _times(quotient_times, number)
    return late(x, lambda x: divide(c(number), x), meets, of_one=True)


def _minus_square(y: DimArray) -> DimArray | Pair:
    """``-y**2``, in two parts as :func:`_slope_in_divisor` has them."""
    if _is_late(y):
        return late(y, lambda y: negative(square(y)), minus_squares.two, of_one=True)
    return Pair(y, negative(y))


def twice(x: DimArray) -> DimArray:
    """Two times an array as a factor."""
    return late(x, lambda x: multiply(c(2), x), _times(product_times, 2), of_one=True)


def both(x: DimArray, z: DimArray) -> DimArray:
    """The factor of an operand that is there twice."""
    return twice(x) if x is z else add(x, z)


def _is_complex(x: DimArray) -> bool:
    return x.dtype.kind == "c"


def _secant2(y: DimArray, x: DimArray) -> DimArray:
    """The derivative of tan; far from the real axis 1 + tan(x)**2 is nothing but rounding."""
    if _is_complex(x):
        return sech2(multiply(c(1j), x))
    return late(y, lambda y: add(c(1.0), square(y)), square_and_one_times.two, of_one=True)


_QUICK_POWERS = (-1, 0, 0.5, 1)  # which NumPy has by other operations
WORTH_A_LOOK = 1000  # cells from which on looking pays, and a quotient of powers is less work than a power


def known_number(x: DimArray) -> Any:
    """The number that an operand is; None of an array, and of what is differentiated or left open."""
    known = x.level is None and not x.names and backends.is_number(x.raw) and backends.is_fixed(x.raw)
    return x.raw if known else None


def power_base(x: DimArray, z: DimArray, y: DimArray | None = None) -> DimArray | Pair:
    """d(x**z)/dx = z x**(z - 1), exactly 0 where z is 0; its own derivative in z is right there, too; y is x**z.

    Of negative powers in two parts, as :func:`_slope_in_divisor` has them; those of -0.0 that are not whole are those of 0.
    """
    if (number := known_number(z)) is not None:
        if number in (0, 1, 2):
            return twice(x) if number == 2 else c(float(number))
        if y is not None and not isinstance(number, complex) and number < 0:
            return Pair(_exponent_over_base(x, z, y), y)
        if y is None or number - 1 in _QUICK_POWERS or y.size < WORTH_A_LOOK or not backends.may_look(innermost(y).raw):
            return multiply(z, power(x, subtract(z, c(1))))
        return _power_slope(y, x, z)
    z = z if z.dtype.kind in "fc" else structure.cast(z, "float64")
    return power_order(1)(x, z) if y is None else _slope_of_powers(y, x, z)


def _slope_of_powers(y: DimArray, x: DimArray, z: DimArray) -> DimArray | Pair:
    """The same of any exponents; a program takes them for positive until some are not."""

    def slope() -> DimArray:
        return _power_slope(y, x, z)

    looks = backends.may_look(innermost(z).raw)
    if z.dtype.kind == "c" or not (looks or backends.is_recording()):
        return slope()
    rises = greater_equal(innermost(z), c(0.0))
    if looks and rises.raw.all():
        return slope()
    one = structure.stamp(structure.zeros_spread(y, like(y), 1), y.hidden)
    first = structure.if_likely(rises, slope, lambda: where(rises, slope(), _exponent_over_base(x, z, y)))
    return Pair(first, structure.if_likely(rises, lambda: one, lambda: where(rises, one, y)))


def _exponent_over_base(x: DimArray, z: DimArray, y: DimArray) -> DimArray:
    """``z / x``, and 0 where ``y`` is 0 because ``z`` is infinite; -0.0 is that only below whole numbers."""
    number = known_number(z)
    if number is not None and math.isfinite(number):
        return divide(z, x if number % 1 == 0 else add(x, c(0.0)))

    def signed() -> DimArray:
        return where(equal(innermost(z), rint(innermost(z))), x, add(x, c(0.0)))

    def ended() -> DimArray:
        return where(logical_or(finite, structure.nonzero(innermost(y))), divide(z, base), c(0.0))

    other, finite = structure.nonzero(innermost(x)), structure.isfinite(innermost(z))
    base = structure.if_likely(structure.known_true(other) or other, lambda: x, signed)
    return structure.if_likely(structure.known_true(finite) or finite, lambda: divide(z, base), ended)


def power_exponent(y: DimArray, x: DimArray, z: DimArray) -> DimArray:
    """d(x**z)/dz = x**z log x; 0 at x = 0 for z >= 0, and at infinity for z < 0."""
    return _times_log(y, x, z) if _is_complex(y) else _exponent_slope(y, promoted(x, y), z)


def _times_log(y: DimArray, x: DimArray, z: DimArray) -> DimArray:
    return multiply(y, log_of_base(promoted(x, y), z))


def _exponent_slope_in_base(y: DimArray, x: DimArray, z: DimArray) -> Pair:
    """``y (1 + z log x) / x``, in two parts: where ``y = x**z`` has left the range, by the next lower power."""

    def ordinary() -> DimArray:
        return select(logical_or(other, less(z, c(0))), divide(more, x))

    def lower() -> DimArray:
        return multiply(more, power(x, rest))

    rest, other = subtract(z, c(1)), structure.nonzero(innermost(x))
    more = add(c(1.0), multiply(z, log_of_base(x, rest)))
    one = structure.stamp(structure.zeros_spread(y, like(y), 1), y.hidden)
    size = absolute_real(innermost(y))
    kept = logical_and(structure.isfinite(size), greater_equal(size, c(float(np.finfo(y.dtype).tiny))))
    ends = logical_or(kept, structure.logical_not(other))
    first = structure.if_likely(ends, ordinary, lambda: where(ends, ordinary(), lower()))
    return Pair(first, structure.if_likely(ends, lambda: y, lambda: where(ends, y, one)))


def promoted(x: DimArray, y: DimArray) -> DimArray:
    """An operand in the kind of the result: of the logarithm of small integers NumPy knows three digits."""
    return x if x.dtype.kind == y.dtype.kind else structure.cast(x, y.dtype)


@functools.cache
def power_order(n: int) -> Callable[..., DimArray]:
    """The n-th derivative of ``x**z`` in ``x``."""
    return ordered("power_order", (n,), lambda y, x, z: power_order(n + 1)(x, z), functools.partial(_order_in_exponent, n))


def _slope_in_divisor(y: DimArray, z: DimArray) -> DimArray | Pair:
    """``-y / z``, in two parts: what one of them takes out of the range the other, or a cotangent, may bring back.

    By a divisor of fewer dims cotangents meet ``y`` first, and are summed. Where it is 0 or infinite it is met by one part.
    """
    meets, joins = lambda g, z: minus_share(g, y, z), lambda t, u: quotient_tangent(t, u, y, z)
    if y.level is None and y.names == z.names and _is_late(z):
        return late(z, lambda z: _minus_quotient(y, z), meets, joins)
    part = _minus_quotient(c(1.0), _as_precise(z, y))
    if not (backends.may_look(innermost(z).raw) and known_finite(z) and known_finite(part)):
        part, y = _in_one_part(y, z, part)
    return Pair(y, part) if len(z.names) < len(y.names) else Pair(part, y)


def _in_one_part(y: DimArray, z: DimArray, part: DimArray) -> tuple[DimArray, DimArray]:
    """The parts where they may be two: 0 times NaN is 0, so a divisor that is 0 or infinite is met by one alone."""
    finite = structure.isfinite(innermost(z))
    two = logical_and(finite, structure.nonzero(innermost(z)))
    if len(y.names) == len(z.names):  # next to 0 a part is infinite: of 0 it is no slope
        two = logical_and(two, logical_or(structure.isfinite(innermost(part)), structure.nonzero(innermost(y))))
    # a program looks whether both are finite, which takes no masks
    bet = logical_and(finite, structure.isfinite(innermost(part))) if backends.is_recording() else two
    first = structure.if_likely(bet, lambda: part, lambda: where(two, part, c(1.0)))
    return first, structure.if_likely(bet, lambda: y, lambda: where(two, y, _minus_quotient(y, z)))


def _minus_quotient(x: DimArray, y: DimArray) -> DimArray:
    """``-x / y``: a program that is recorded has it in ufuncs, which it joins with others."""
    return divide(x, negative(y)) if backends.is_recording() else minus_quotient(x, y)


minus_quotient = elementwise("minus_quotient", lambda o, x, y: _minus_quotient(c(1.0), y), lambda o, x, y: _slope_in_divisor(o, y))


def _order_in_exponent(n: int, y: DimArray, x: DimArray, z: DimArray) -> DimArray:
    factors = [z, *(subtract(z, c(k)) for k in range(1, n))]
    without = [functools.reduce(multiply.two, factors[:k] + factors[k + 1 :], c(1)) for k in range(n)]
    rest = subtract(z, c(n))
    return add(multiply(functools.reduce(add.two, without), power(x, rest)), _times_log(y, x, rest))


_power_slope = elementwise("power_slope", None, lambda o, y, x, z: power_order(2)(x, z), lambda o, y, x, z: _order_in_exponent(1, o, x, z))
_exponent_slope = elementwise("exponent_slope", None, lambda o, y, x, z: _exponent_slope_in_base(y, x, z), lambda o, y, x, z: _times_log(o, x, z))


def _share2(x: DimArray, z: DimArray) -> DimArray:
    log2_ = c(math.log(2))
    return log_share(multiply(log2_, x), multiply(log2_, z))


# ------------------------------------------------------------------------------------------------ round and clip


@operation(sample("real(a,b)"), sample("real(a,b)", decimals=1), sample("real(a,b)", decimals=-1), method=True, differentiable=False)
def round(x: DimArray, decimals: int = 0) -> DimArray:
    """Values rounded to a number of decimals, halves to even; the derivative is 0.

    Parameters
    ----------
    x : DimArray
    decimals : int
        Negative: to tens, hundreds, ...

    Returns
    -------
    DimArray

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.round(ng.DimArray([0.14, 2.5], ("x",)), 1).data
    array([0.1, 2.5])
    """
    if not decimals:
        return rint(x)
    factor = c(10.0 ** abs(decimals))
    return divide(rint(multiply(x, factor)), factor) if decimals > 0 else multiply(rint(divide(x, factor)), factor)


_round_number = elementwise("round_number", None, None)


def rounded(x: DimArray, decimals: int | None = None) -> DimArray:
    """As Python's ``round``: of its own numbers the decimals of their exact value are rounded, 2.675 to 2.67."""
    raw = innermost(x).raw
    of_python = isinstance(raw, float) and backends.is_number(raw)
    return _round_number(x, c(decimals)) if of_python and decimals else round(x, decimals or 0)


@operation(sample("real(a,b)", min=-0.5, max=0.5), sample("real(a,b)", max=0.25), method=True)
def clip(x: DimArray, min: DimArray | float | None = None, max: DimArray | float | None = None) -> DimArray:
    """Limit values to ``[min, max]``.

    Parameters
    ----------
    x : DimArray
    min, max : DimArray or float, optional
        Bounds, aligned by name; None for no bound.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    The derivative is 1 on the bounds (the interior side) and 0 outside; that of a bound is 1 where it is active.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-2.0, -1.0, 0.0, 2.0], ("x",))
    >>> ng.clip(x, -1.0, 1.0).data
    array([-1., -1.,  0.,  1.])
    >>> ng.grad(lambda x: ng.clip(x, -1.0, 1.0).sum())(x).data
    array([0., 1., 1., 0.])
    """
    from namedgrad.array import constant

    min, max = (None if bounds_nothing(bound, x.dtype, side) else bound for bound, side in ((min, -1), (max, 1)))
    if min is None:
        return x if max is None else clip_high(x, constant(max))
    return clip_low(x, constant(min)) if max is None else clip_both(x, constant(min), constant(max))


def bounds_nothing(bound: Any, dtype: np.dtype[Any], side: int) -> bool:
    """Whether a number of Python's bounds no integer of a dtype from that side; the dtype may not even hold it."""
    if type(bound) is not int or dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return bound >= limits.max if side > 0 else bound <= limits.min


# fmt: off
clip_low  = elementwise("clip_low",  lambda y, x, z: mask(greater_equal(x, z)), lambda y, x, z: mask(less(x, z)), kernel="maximum")
clip_high = elementwise("clip_high", lambda y, x, z: mask(less_equal(x, z)),    lambda y, x, z: mask(greater(x, z)), kernel="minimum")
clip_both = elementwise("clip_both", lambda y, x, a, b: mask(logical_and(greater_equal(x, a), less_equal(x, b))),
                        lambda y, x, a, b: mask(logical_and(less(x, a), equal(y, a))),
                        lambda y, x, a, b: mask(logical_and(equal(y, b), greater(maximum(x, a), b))), kernel="clip")
# fmt: on

ops.both = both
