"""Functions with several results: Jacobi's elliptic ones, scaled Airy's, Kelvin's."""

from __future__ import annotations

import functools

from namedgrad.array import DimArray, TraceError, constant
from namedgrad.primitive import operation, sample
from namedgrad.rules.elementwise import c, divide, greater, sqrt, square
from namedgrad.rules.special import cylinder
from namedgrad.rules.special.declare import FAMILY, Function, scaled
from namedgrad.rules.special.integrals import all_of, incomplete, known_parts
from namedgrad.rules.structure import add, multiply, negative, subtract, where
from namedgrad.trace import innermost


def _product(*parts: DimArray) -> DimArray:
    return functools.reduce(multiply, parts)


def _moved(u: DimArray, m: DimArray, *v: DimArray) -> DimArray:
    """The derivative of the amplitude in the parameter, of which ``u`` is an integral (DLMF 22.16.1)."""
    return negative(multiply(_jacobi[2](u, m, *v), incomplete("ellipkinc_order", 0.5, 1)(_jacobi[3](u, m, *v), m)))


def _delta_in_m(u: DimArray, m: DimArray, *v: DimArray) -> DimArray:
    sn, cn, dn = (part(u, m, *v) for part in _jacobi[:3])
    return negative(divide(add(scaled(0.5, square(sn)), _product(m, sn, cn, _moved(u, m, *v))), dn))


_jacobi: list[Function] = known_parts(
    (lambda *x: multiply(_jacobi[1](*x), _jacobi[2](*x)), lambda *x: multiply(_jacobi[1](*x), _moved(*x))),
    (lambda *x: negative(multiply(_jacobi[0](*x), _jacobi[2](*x))), lambda *x: negative(multiply(_jacobi[0](*x), _moved(*x)))),
    (lambda *x: negative(_product(x[1], _jacobi[0](*x), _jacobi[1](*x))), _delta_in_m),
    (lambda *x: _jacobi[2](*x), lambda *x: _moved(*x)),
)


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

    Raises
    ------
    TraceError
        If ``x`` is complex: the size of a real part has no complex derivative.

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
    at = constant(x)
    if at.dtype.kind == "c" and at.level is not None:
        raise TraceError("airye has no derivative at complex numbers; use airy(x) and its factors")
    eai, eaip, ebi, ebip = all_of("airye", _airye, at)
    return eai, eaip, ebi, ebip


def _complex(real: DimArray, imag: DimArray) -> DimArray:
    return add(real, multiply(c(1j), imag))


@operation(sample("positive(a,b)"), family=FAMILY)
def kelvin(x: DimArray) -> tuple[DimArray, DimArray, DimArray, DimArray]:
    """Kelvin functions as complex numbers.

    Parameters
    ----------
    x : DimArray or scalar
        Real.

    Returns
    -------
    be, ke, bep, kep : DimArray
        ``ber + i bei``, ``ker + i kei``, and their derivatives.

    Notes
    -----
    Derivatives are those of ``ber``, ``bei``, ``ker``, ``kei``, ``berp``, ``beip``, ``kerp`` and ``keip``. SciPy:
    :obj:`scipy.special.kelvin`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> be, *_ = ng.kelvin(ng.DimArray([0.0, 1.0], ("x",)))
    >>> be.data.round(4)
    array([1.    +0.j    , 0.9844+0.2496j])
    """
    at = constant(x)
    be, ke, bep, kep = (
        _complex(getattr(cylinder, f"{name}r{more}")(at), getattr(cylinder, f"{name}i{more}")(at))
        for more in ("", "p") for name in ("be", "ke")
    )  # fmt: skip
    return be, ke, bep, kep
