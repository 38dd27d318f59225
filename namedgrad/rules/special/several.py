"""Functions with several results: Jacobi's elliptic ones, parabolic cylinder functions, integrals of Bessel's, scaled Airy's."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant
from namedgrad.primitive import operation, sample
from namedgrad.rules.elementwise import c, divide, greater, sqrt, square
from namedgrad.rules.special.bessel import i0, j0, k0, y0
from namedgrad.rules.special.declare import FAMILY, Function, constant_in, scaled
from namedgrad.rules.special.integrals import _incomplete, all_of, known_parts
from namedgrad.rules.structure import add, multiply, negative, subtract, where
from namedgrad.trace import innermost


def _product(*parts: DimArray) -> DimArray:
    out, *others = parts
    for part in others:
        out = multiply(out, part)
    return out


def _moved(u: DimArray, m: DimArray, *v: DimArray) -> DimArray:
    """The derivative of the amplitude in the parameter, of which ``u`` is an integral (DLMF 22.16.1)."""
    return negative(multiply(_jacobi[2](u, m, *v), _incomplete("ellipkinc_order", 0.5, 1)(_jacobi[3](u, m, *v), m)))


def _delta_in_m(u: DimArray, m: DimArray, *v: DimArray) -> DimArray:
    sn, cn, dn = (part(u, m, *v) for part in _jacobi[:3])
    return negative(divide(add(scaled(0.5, square(sn)), _product(m, sn, cn, _moved(u, m, *v))), dn))


_jacobi: list[Function] = known_parts(
    (lambda *x: multiply(_jacobi[1](*x), _jacobi[2](*x)), lambda *x: multiply(_jacobi[1](*x), _moved(*x))),
    (lambda *x: negative(multiply(_jacobi[0](*x), _jacobi[2](*x))), lambda *x: negative(multiply(_jacobi[0](*x), _moved(*x)))),
    (lambda *x: negative(_product(x[1], _jacobi[0](*x), _jacobi[1](*x))), _delta_in_m),
    (lambda *x: _jacobi[2](*x), lambda *x: _moved(*x)),
)


def _cylinder(name: str) -> list[Function]:
    """A solution of ``y'' = (x**2 / 4 - v - 1 / 2) y`` and its derivative (DLMF 12.2.2)."""
    order = constant_in("the order v", f"{name}(v, x)")

    def bend(v: DimArray, x: DimArray, *values: DimArray) -> DimArray:
        return multiply(subtract(scaled(0.25, square(x)), add(v, c(0.5))), parts[0](v, x, *values))

    parts: list[Function] = known_parts((order, lambda *xs: parts[1](*xs)), (order, bend))
    return parts


_pbdv, _pbvv = _cylinder("pbdv"), _cylinder("pbvv")
_itj0y0 = known_parts((lambda x, *_: j0(x),), (lambda x, *_: y0(x),))
_iti0k0 = known_parts((lambda x, *_: i0(x),), (lambda x, *_: k0(x),))


def _root(x: DimArray) -> DimArray:
    """The square root of what is above 0, where the factors are those that fall or grow; below they are 1."""
    right = greater(innermost(x), c(0.0))
    return where(right, sqrt(where(right, x, c(1.0))), c(0.0))


_airye: list[Function] = known_parts(
    (lambda x, *v: add(_airye[1](x, *v), multiply(_root(x), _airye[0](x, *v))),),
    (lambda x, *v: add(multiply(x, _airye[0](x, *v)), multiply(_root(x), _airye[1](x, *v))),),
    (lambda x, *v: subtract(_airye[3](x, *v), multiply(_root(x), _airye[2](x, *v))),),
    (lambda x, *v: subtract(multiply(x, _airye[2](x, *v)), multiply(_root(x), _airye[3](x, *v))),),
)
_PAIRS = (sample("order(a,b)", "real(b)"), sample("order(b)", "real(a,b)"), sample("order(b)", "real(a)"))


@operation(sample("real(a,b)", "fraction(b)"), sample("real(b)", "fraction(a,b)"), sample("real(b)", "fraction(a)"), family=FAMILY)
def ellipj(u: DimArray | float, m: DimArray | float) -> tuple[DimArray, DimArray, DimArray, DimArray]:
    """Jacobi's elliptic functions and their amplitude.

    Parameters
    ----------
    u : DimArray or scalar
    m : DimArray or scalar
        The parameter, from 0 to 1.

    Returns
    -------
    sn, cn, dn, ph : DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    | Derivative in ``u``: ``cn * dn, -sn * dn, -m * sn * cn, dn``
    | Derivative in ``m``: that of ``ph`` is ``-dn`` times the one of ``ellipkinc(ph, m)``, DLMF 22.16.1; the others follow.

    SciPy: :obj:`scipy.special.ellipj`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> sn, cn, dn, ph = ng.ellipj(ng.DimArray([0.5, 2.0], ("x",)), 0.0)
    >>> sn.data.round(4), ph.data
    (array([0.4794, 0.9093]), array([0.5, 2. ]))
    """
    sn, cn, dn, ph = all_of("ellipj", _jacobi, constant(u), constant(m))
    return sn, cn, dn, ph


@operation(*_PAIRS, family=FAMILY)
def pbdv(v: DimArray | float, x: DimArray | float) -> tuple[DimArray, DimArray]:
    """Parabolic cylinder function D and its derivative.

    Parameters
    ----------
    v : DimArray or scalar
        The order, which has no derivative.
    x : DimArray or scalar

    Returns
    -------
    d, dp : DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    The derivative in ``x`` of the second is ``(x**2 / 4 - v - 1 / 2) * d``, DLMF 12.2.2. SciPy: :obj:`scipy.special.pbdv`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> d, dp = ng.pbdv(1, ng.DimArray([0.0, 2.0], ("x",)))
    >>> d.data.round(4), dp.data.round(4)
    (array([0.    , 0.7358]), array([ 1.    , -0.3679]))
    """
    d, dp = all_of("pbdv", _pbdv, constant(v), constant(x))
    return d, dp


@operation(*_PAIRS, family=FAMILY)
def pbvv(v: DimArray | float, x: DimArray | float) -> tuple[DimArray, DimArray]:
    """Parabolic cylinder function V and its derivative.

    Parameters
    ----------
    v : DimArray or scalar
        The order, which has no derivative.
    x : DimArray or scalar

    Returns
    -------
    value, slope : DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    The derivative in ``x`` of the second is ``(x**2 / 4 - v - 1 / 2)`` times the first, DLMF 12.2.2. SciPy:
    :obj:`scipy.special.pbvv`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> value, slope = ng.pbvv(1, ng.DimArray([0.0, 1.0], ("x",)))
    >>> value.data.round(4), slope.data.round(4)
    (array([-0.7979, -0.282 ]), array([0.    , 0.8835]))
    """
    value, slope = all_of("pbvv", _pbvv, constant(v), constant(x))
    return value, slope


@operation(sample("positive(a,b)"), family=FAMILY)
def itj0y0(x: DimArray) -> tuple[DimArray, DimArray]:
    """Integrals of the Bessel functions of order 0.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    ij0, iy0 : DimArray

    Notes
    -----
    From 0 to x; their derivatives are ``j0(x)`` and ``y0(x)``. SciPy: :obj:`scipy.special.itj0y0`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ij0, iy0 = ng.itj0y0(ng.DimArray([0.5, 2.0], ("x",)))
    >>> ij0.data.round(4)
    array([0.4897, 1.4258])
    """
    ij0, iy0 = all_of("itj0y0", _itj0y0, constant(x))
    return ij0, iy0


@operation(sample("positive(a,b)"), family=FAMILY)
def iti0k0(x: DimArray) -> tuple[DimArray, DimArray]:
    """Integrals of the modified Bessel functions of order 0.

    Parameters
    ----------
    x : DimArray or scalar

    Returns
    -------
    ii0, ik0 : DimArray

    Notes
    -----
    From 0 to x; their derivatives are ``i0(x)`` and ``k0(x)``. SciPy: :obj:`scipy.special.iti0k0`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ii0, ik0 = ng.iti0k0(ng.DimArray([0.5, 2.0], ("x",)))
    >>> ii0.data.round(4)
    array([0.5105, 2.775 ])
    """
    ii0, ik0 = all_of("iti0k0", _iti0k0, constant(x))
    return ii0, ik0


@operation(sample("positive(a,b)"), family=FAMILY)
def airye(x: DimArray) -> tuple[DimArray, DimArray, DimArray, DimArray]:
    """Scaled Airy's functions and derivatives.

    Parameters
    ----------
    x : DimArray or scalar
        Real.

    Returns
    -------
    eai, eaip, ebi, ebip : DimArray

    Notes
    -----
    Those of ``airy`` at ``x``, the first two times ``exp(2 / 3 * x**1.5)`` and NaN below 0, the others divided by that
    where ``x`` is above 0. The derivatives are those of DLMF 9.2.1, and what the factor adds. SciPy:
    :obj:`scipy.special.airye`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> eai, _, ebi, _ = ng.airye(ng.DimArray([0.0, 2.0], ("x",)))
    >>> eai.data.round(4), ebi.data.round(4)
    (array([0.355 , 0.2302]), array([0.6149, 0.5004]))
    """
    at: Any = constant(x)
    if at.dtype.kind == "c":
        raise TypeError(f"airye: x has dtype {at.dtype}; there is no rule for complex numbers")
    eai, eaip, ebi, ebip = all_of("airye", _airye, at)
    return eai, eaip, ebi, ebip
