"""Functions that cut off, or take away, what is beyond a bound or within it."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, mask, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import comparable
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, logical_not, multiply, negative, select

# fmt: off
#                          name                d/dx                                                     d/d(parameters)
bounded      = elementwise("hardtanh",         lambda y, x, l, h: mask(logical_not(e.logical_or(e.less_equal(x, l), e.greater_equal(x, h)))),
                                               lambda y, x, l, h: mask(e.logical_and(e.less_equal(x, l), e.less(x, h))), lambda y, x, l, h: mask(e.greater_equal(x, h)))
_hardshrink  = elementwise("hardshrink",       lambda y, x, l: mask(_beyond(x, l)),                     None)
_softshrink  = elementwise("softshrink",       lambda y, x, l: mask(_beyond(x, l)),                     lambda y, x, l: negative(select(_beyond(x, l), e.sign(x))))
_tanhshrink  = elementwise("tanhshrink",       lambda y, x: _shrink_slope(x, y))
_shrink_slope = elementwise("tanhshrink_slope", lambda s, x, y: multiply(c(2), multiply(e.tanh(x), e.sech2(x))), None)
_threshold   = elementwise("threshold",        lambda y, x, t, v: mask(logical_not(e.less_equal(x, t))), None, lambda y, x, t, v: mask(e.less_equal(x, t)))
# fmt: on


def are_numbers(*parameters: Any) -> bool:
    """Whether parameters may be looked at: those that are arrays may be lazy, or recorded."""
    return all(isinstance(p, (int, float)) for p in parameters)


def _beyond(x: DimArray, bound: DimArray) -> DimArray:
    return logical_not(e.less_equal(e.absolute_real(x), bound))


@operation(
    sample("real(a,b)"),
    sample("real(a,b)", min_val=-0.5, max_val=1.25),
    sample("real(a,b)", "minus_quarters(b)", "quarters(a)"),
)
def hardtanh(x: DimArray, min_val: DimArray | float = -1.0, max_val: DimArray | float = 1.0) -> DimArray:
    """``x`` between two bounds.

    Parameters
    ----------
    x : DimArray
    min_val, max_val : number or DimArray
        Aligned by name.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    ValueError
        If a number ``min_val`` is above a number ``max_val``.

    Notes
    -----
    Derivative: 1 between the bounds, else 0, on them too (:func:`clip` passes 1 there).
    The counterpart in PyTorch is ``torch.nn.functional.hardtanh``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-2.0, 0.5, 3.0], ("x",))
    >>> ng.hardtanh(x, -1.0, 2.0).data
    array([-1. ,  0.5,  2. ])
    """
    if are_numbers(min_val, max_val) and min_val > max_val:
        raise ValueError(f"hardtanh: min_val={min_val!r} is above max_val={max_val!r}; exchange them")
    return bounded(comparable(x, "hardtanh"), constant(min_val), constant(max_val))


@operation(sample("wide(a,b)"))
def hardsigmoid(x: DimArray) -> DimArray:
    """``min(max(x + 3, 0), 6) / 6``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: 1/6 between -3 and 3, else 0, at both bounds too.
    The counterpart in PyTorch is ``torch.nn.functional.hardsigmoid``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-4.0, 0.0, 1.5], ("x",))
    >>> ng.hardsigmoid(x).data
    array([0.  , 0.5 , 0.75])
    """
    return bounded(add(e.divide(comparable(x, "hardsigmoid"), c(6)), c(0.5)), c(0), c(1))


@operation(sample("real(a,b)", threshold=0.5, value=20.0), sample("real(a,b)", "quarters(a)", "real(b)"))
def threshold(x: DimArray, threshold: DimArray | float, value: DimArray | float) -> DimArray:
    """``x`` where it is above a threshold, elsewhere a value.

    Parameters
    ----------
    x : DimArray
    threshold, value : number or DimArray
        Aligned by name.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    Derivative: 1 above the threshold, else 0, on it too; that of the value is the other way round.
    The counterpart in PyTorch is ``torch.nn.functional.threshold``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.5, 0.75], ("x",))
    >>> ng.threshold(x, 0.5, -1.0).data
    array([-1.  ,  0.75])
    """
    return _threshold(comparable(x, "threshold"), constant(threshold), constant(value))


@operation(sample("real(a,b)"), sample("real(a,b)", lambd=1.0))
def hardshrink(x: DimArray, lambd: DimArray | float = 0.5) -> DimArray:
    """Itself where ``|x| > lambd``, 0 elsewhere.

    Parameters
    ----------
    x : DimArray
    lambd : number or DimArray
        Aligned by name.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    Derivative: 1 where ``|x| > lambd``, else 0.
    The counterpart in PyTorch is ``torch.nn.functional.hardshrink``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-2.0, 0.25, 0.75], ("x",))
    >>> ng.hardshrink(x).data
    array([-2.  ,  0.  ,  0.75])
    """
    return _hardshrink.two(comparable(x, "hardshrink"), constant(lambd))


@operation(sample("real(a,b)"), sample("real(a,b)", lambd=1.0), sample("real(a,b)", "quarters(b)"))
def softshrink(x: DimArray, lambd: DimArray | float = 0.5) -> DimArray:
    """``x`` moved towards 0 by ``lambd``, and not beyond 0.

    Parameters
    ----------
    x : DimArray
    lambd : number or DimArray
        Aligned by name.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    ValueError
        If ``lambd`` is a negative number.

    Notes
    -----
    Derivative: 1 where ``|x| > lambd``, else 0.
    The counterpart in PyTorch is ``torch.nn.functional.softshrink``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-2.0, 0.25, 0.75], ("x",))
    >>> ng.softshrink(x).data
    array([-1.5 ,  0.  ,  0.25])
    """
    if are_numbers(lambd) and lambd < 0:
        raise ValueError(f"softshrink: lambd={lambd!r} is negative: there is nothing to move towards 0 by")
    return _softshrink.two(comparable(x, "softshrink"), constant(lambd))


@operation(sample("real(a,b)"))
def tanhshrink(x: DimArray) -> DimArray:
    """``x - tanh(x)``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``tanh(x)**2``.
    The counterpart in PyTorch is ``torch.nn.functional.tanhshrink``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 2.0], ("x",))
    >>> ng.tanhshrink(x).data
    array([0.        , 1.03597242])
    """
    return _tanhshrink.one(constant(x))
