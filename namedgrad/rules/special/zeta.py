"""Hurwitz' zeta function, differentiable in both operands."""

from __future__ import annotations

import functools
from collections.abc import Callable

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import c, ordered
from namedgrad.rules.special.declare import FAMILY
from namedgrad.rules.structure import add, multiply, negative


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


@operation(sample("above_one(a,b)", "positive(b)"), sample("above_one(b)", "positive(a,b)"), sample("above_one(a,b)"), family=FAMILY)
def zeta(x: DimArray, q: DimArray | float = 1.0) -> DimArray:
    """Hurwitz' zeta function, the sum of ``(k + q)**-x`` from k = 0; with ``q = 1`` that of Riemann.

    Parameters
    ----------
    x : DimArray or scalar
        Larger than 1.
    q : DimArray or scalar
        Larger than 0.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    | Derivative in ``q``: ``-x * zeta(x + 1, q)``
    | Derivative in ``x``: of any order by Euler-Maclaurin summation, DLMF 25.11.5.

    SciPy: :obj:`scipy.special.zeta`; PyTorch: ``torch.special.zeta``.

    Examples
    --------
    >>> import math, namedgrad as ng
    >>> math.isclose(ng.zeta(ng.DimArray(2.0, ())).item(), math.pi**2 / 6)
    True
    """
    return _zeta.two(x, constant(q))
