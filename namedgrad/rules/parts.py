"""Elementwise functions of several results, and quotients that are rounded."""

from __future__ import annotations

from typing import Literal

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.structure import alongside, cast, multiply

_FAMILY = "elementwise"
_fraction = elementwise("modf_fraction", 1, None)
_whole = elementwise("modf_whole", None)
_exponent = elementwise("frexp_exponent", None)
_unit = elementwise("frexp_unit", None, None)
_mantissa = elementwise("frexp_mantissa", lambda y, x: _unit.two(x, y))


@operation(sample("nonzero(a,b)"), family=_FAMILY)
def modf(x: DimArray) -> tuple[DimArray, DimArray]:
    """Fractional and integral parts, both with the sign of ``x``, as :obj:`numpy.modf`.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    fraction, whole : DimArray

    Notes
    -----
    The derivative of the fraction is 1, that of the whole 0. PyTorch: ``torch.frac``, ``torch.trunc``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> fraction, whole = ng.modf(ng.DimArray([1.25, -2.5], ("x",)))
    >>> fraction.data, whole.data
    (array([ 0.25, -0.5 ]), array([ 1., -2.]))
    """
    whole = _whole.one(x)
    return _fraction.two(x, whole), whole


@operation(sample("nonzero(a,b)"), family=_FAMILY)
def frexp(x: DimArray) -> tuple[DimArray, DimArray]:
    """Mantissa and exponent: ``x = mantissa * 2**exponent``, as :obj:`numpy.frexp`.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    mantissa : DimArray
        Between 0.5 and 1 in size, or 0.
    exponent : DimArray
        Integers.

    Notes
    -----
    The derivative of the mantissa is ``2**-exponent``. PyTorch: ``torch.frexp``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> mantissa, exponent = ng.frexp(ng.DimArray([6.0, -0.5], ("x",)))
    >>> mantissa.data, exponent.data.tolist()
    (array([ 0.75, -0.5 ]), [3, 0])
    """
    return _mantissa.one(x), _exponent.one(x)


@operation(
    sample("real(a,b)", "int(b)"), sample("real(b)", "int(a,b)"), sample("real(a)", "real(a,b)"), family=_FAMILY
)  # fmt: skip
def ldexp(x: DimArray, n: DimArray | float) -> DimArray:
    """``x * 2**n``, as :obj:`numpy.ldexp`.

    Parameters
    ----------
    x, n : DimArray or scalar
        ``n`` may be of floats too, as in PyTorch.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    | Derivative in ``x``: ``2**n``
    | Derivative in ``n``: ``log(2) * x * 2**n``, where ``n`` is not of integers.

    PyTorch: ``torch.ldexp``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ldexp(ng.DimArray([1.5, 3.0], ("x",)), 2).data
    array([ 6., 12.])
    """
    power = constant(n)
    return e.ldexp.two(x, power) if power.dtype.kind in "iub" else multiply.two(x, e.exp2.one(alongside(power, x)))


@operation(sample("real(a,b)", "nonzero(b)"), sample("real(a)", "nonzero(a,b)"), family=_FAMILY)
def divmod(x: DimArray, y: DimArray | float) -> tuple[DimArray, DimArray]:
    """Quotient rounded down and remainder, also ``divmod(x, y)``, as :obj:`numpy.divmod`.

    Parameters
    ----------
    x, y : DimArray or scalar

    Returns
    -------
    quotient, remainder : DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    The derivatives are 0 for the quotient, and 1 in ``x`` and ``-floor(x / y)`` in ``y`` for the remainder.

    Examples
    --------
    >>> import namedgrad as ng
    >>> quotient, remainder = ng.divmod(ng.DimArray([7.0, -7.0], ("x",)), 2.0)
    >>> quotient.data, remainder.data
    (array([ 3., -4.]), array([1., 1.]))
    """
    z = constant(y)
    rest = e.remainder.two(x, z)
    return e.whole_quotient(x, z, rest), rest


@operation(
    sample("real(a,b)", "nonzero(b)"),
    sample("complex(a,b)", "complex(b)"),
    sample("real(a,b)", "nonzero(b)", rounding_mode="trunc"),
    sample("real(a,b)", "nonzero(b)", rounding_mode="floor"),
    family=_FAMILY,
)
def div(x: DimArray, y: DimArray | float, rounding_mode: Literal["trunc", "floor"] | None = None) -> DimArray:
    """Quotient, rounded if asked, as ``torch.div``.

    Parameters
    ----------
    x, y : DimArray or scalar
    rounding_mode : {None, "trunc", "floor"}
        Not at all, towards 0 as in C, or down as in Python.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    ValueError
        If ``rounding_mode`` is none of these.

    Notes
    -----
    The derivative is that of :func:`~namedgrad.divide`, and 0 if the result is rounded.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([7.0, -7.0], ("x",))
    >>> ng.div(x, 2.0, "trunc").data, ng.div(x, 2.0, "floor").data
    (array([ 3., -3.]), array([ 3., -4.]))
    """
    z = constant(y)
    if rounding_mode == "floor":
        return e.floor_divide.two(x, z)
    if rounding_mode not in (None, "trunc"):
        raise ValueError(f"div: rounding_mode={rounding_mode!r} is not one of None, 'trunc', 'floor'")
    if rounding_mode is None:
        return e.divide.two(x, z)
    whole = e.trunc.one(e.divide.two(stop_gradient(x), stop_gradient(z)))  # without slopes, which would be 0
    return cast(whole, x.dtype) if x.dtype.kind in "iu" and z.dtype.kind in "iu" else whole
