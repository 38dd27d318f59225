"""The zeta functions of Hurwitz, differentiable in both operands, and of Riemann."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import c, exp, greater_equal, less, logical_or, ordered, remainder, rint, sin
from namedgrad.rules.special.declare import FAMILY
from namedgrad.rules.special.gamma import gammaln
from namedgrad.rules.structure import add, known_true, multiply, negative, subtract, where


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
    other, turns = subtract(c(1.0), s), rint(multiply(c(0.5), s))
    sign = subtract(c(2.0), multiply(c(4.0), remainder(turns, c(2.0))))
    wave = sin(multiply(c(0.5 * math.pi), subtract(s, multiply(c(2.0), turns))))
    size = exp(subtract(gammaln(other), multiply(c(math.log(2 * math.pi)), other)))
    return multiply(multiply(sign, wave), multiply(size, _zeta.two(other, c(1.0))))


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
