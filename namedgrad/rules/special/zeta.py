"""The zeta functions of Hurwitz, differentiable in both operands, and of Riemann."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import (
    c,
    cos,
    exp,
    greater,
    greater_equal,
    less,
    logical_or,
    ordered,
    remainder,
    rint,
    sin,
)
from namedgrad.rules.special.declare import FAMILY, is_formula, special
from namedgrad.rules.special.gamma import digamma, gammaln
from namedgrad.rules.structure import add, equal, known_true, multiply, negative, subtract, where


@functools.cache
def _order(n: int) -> Callable[[DimArray, DimArray], DimArray]:
    """The n-th derivative in ``s``."""

    def in_q(y: DimArray, s: DimArray, q: DimArray) -> DimArray:  # that of -s zeta(s + 1, q), n times
        after = add(s, c(1.0))
        out = multiply(s, _order(n)(after, q))
        return negative(add(out, multiply(c(float(n)), _order(n - 1)(after, q))) if n else out)

    if not n:
        return _zeta.two
    return ordered("zeta_order", (n,), lambda y, s, q: _order(n + 1)(s, q), in_q)


_zeta = elementwise(
    "zeta", lambda y, s, q: _order(1)(s, q), lambda y, s, q: negative(multiply(s, _zeta(add(s, c(1.0)), q)))
)


_near_one = ordered("zeta_order", (0,), lambda y, s, q: _order(1)(s, q), None)


def _riemann(s: DimArray) -> DimArray:
    """Continued to where the sum does not converge: by Euler-Maclaurin summation from -1 on, by reflection below."""
    left, right = less(s, c(-1.0)), greater_equal(s, c(1.0))
    if known_true(right):  # a third of the time
        return _zeta.two(s, c(1.0))
    between = _near_one(where(logical_or(left, right), c(0.5), s), c(1.0))
    out = where(right, _zeta.two(where(right, s, c(2.0)), c(1.0)), between)
    return where(left, _reflected(where(left, s, c(-2.0))), out)


def _reflected(s: DimArray) -> DimArray:
    """``2 (2 pi)^(s - 1) sin(pi s / 2) gamma(1 - s) zeta(1 - s)``, DLMF 25.4.2; exactly 0 at even whole numbers."""
    other = subtract(c(1.0), s)
    angle, size = _mirror(s)
    return multiply(sin(angle), multiply(size, _zeta.two(other, c(1.0))))


def _mirror(s: DimArray) -> tuple[DimArray, DimArray]:
    """The angle ``pi s / 2`` without whole half turns, and the other factors of the reflection with their sign."""
    other, turns = subtract(c(1.0), s), rint(multiply(c(0.5), s))
    sign = subtract(c(2.0), multiply(c(4.0), remainder(turns, c(2.0))))
    angle = multiply(c(0.5 * math.pi), subtract(s, multiply(c(2.0), turns)))
    return angle, multiply(sign, exp(subtract(gammaln(other), multiply(c(math.log(2 * math.pi)), other))))


def _riemann_slope(s: DimArray) -> DimArray:
    """The derivative of Riemann's function, from -1 on that of the sum."""
    if is_formula(s):
        return _order(1)(s, c(1.0))
    left, far, pole = less(s, c(-1.0)), greater(s, c(1100.0)), equal(s, c(1.0))  # beyond 2**-s is 0
    usual = _order(1)(where(logical_or(logical_or(left, far), pole), c(2.0), s), c(1.0))
    out = where(left, _reflected_slope(where(left, s, c(-2.0))), where(far, c(0.0), usual))
    return where(pole, c(-math.inf), out)


def _reflected_slope(s: DimArray) -> DimArray:
    """That of the reflection."""
    other = subtract(c(1.0), s)
    angle, size = _mirror(s)
    value, slope = _zeta.two(other, c(1.0)), _order(1)(other, c(1.0))
    growth = subtract(multiply(subtract(c(math.log(2 * math.pi)), digamma(other)), value), slope)
    turning = multiply(multiply(c(0.5 * math.pi), cos(angle)), value)
    return multiply(size, add(turning, multiply(sin(angle), growth)))


@operation(sample("above_one(a,b)", "positive(b)"), sample("above_one(b)", "positive(a,b)"), sample("above_one(a,b)"), sample("negative(a,b)"), family=FAMILY)
def zeta(x: DimArray, q: DimArray | float | None = None) -> DimArray:
    """Hurwitz' zeta function, the sum of ``(k + q)**-x`` from k = 0; without ``q`` that of Riemann.

    Parameters
    ----------
    x : DimArray or scalar
        Larger than 1; any real number without ``q``.
    q : DimArray or scalar, optional
        Larger than 0.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    TypeError
        If ``x`` is complex.

    Notes
    -----
    | Derivative in ``q``: ``-x * zeta(x + 1, q)``
    | Derivative in ``x``: of any order by Euler-Maclaurin summation, DLMF 25.11.5; below -1 by reflection, DLMF 25.4.2.

    SciPy: :obj:`scipy.special.zeta`; PyTorch: ``torch.special.zeta``.

    Examples
    --------
    >>> import math, namedgrad as ng
    >>> math.isclose(ng.zeta(ng.DimArray(2.0, ())).item(), math.pi**2 / 6)
    True
    """
    if x.dtype.kind == "c":
        raise TypeError(f"zeta: x has dtype {x.dtype}; there is no rule for complex numbers")
    return _riemann(x) if q is None else _zeta.two(x, constant(q))


# fmt: off
zetac = special(
    "zetac", lambda y, x: _riemann_slope(x),
    domain="above_one", says="Riemann's zeta function less 1.",
    source="By Euler-Maclaurin summation, DLMF 25.11.5; below -1 by reflection, DLMF 25.4.2.")
# fmt: on
