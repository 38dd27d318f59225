"""Rectifiers: ``x`` above 0, something bounded or flatter below."""

from __future__ import annotations

import math

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, mask, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.bounds import are_numbers, bounded
from namedgrad.rules.dims import comparable
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import cast, logical_not, multiply, select, where

# The parameters of SELU, from Klambauer et al. (2017).
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# fmt: off
#                          name                d/dx                                                     d/d(parameters)
_relu        = elementwise("relu",             lambda y, x: mask(logical_not(e.less_equal(x, c(0)))))
_leaky_relu  = elementwise("leaky_relu",       lambda y, x, s: where(e.greater(x, c(0)), cast(c(1.0), y.dtype), s), lambda y, x, s: e.clip_high(x, c(0)))
_elu         = elementwise("elu",              lambda y, x, a: _elu_slope(x, a),                        lambda y, x, a: e.expm1(bounded(x, c(-math.inf), c(0))))
# fmt: on


def _elu_slope(x: DimArray, alpha: DimArray) -> DimArray:
    fall = e.exp(bounded(x, c(-math.inf), c(0)))
    return fall if e.known_number(alpha) == 1 else where(e.greater(x, c(0)), c(1), multiply(alpha, fall))


@operation(sample("real(a,b)"))
def relu(x: DimArray) -> DimArray:
    """``max(x, 0)``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: 1 above 0, else 0, at 0 too.
    The counterpart in PyTorch is ``torch.nn.functional.relu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 2.0], ("x",))
    >>> ng.relu(x).data
    array([0., 0., 2.])
    """
    return _relu.one(comparable(x, "relu"))


@operation(sample("wide(a,b)"))
def relu6(x: DimArray) -> DimArray:
    """``min(max(x, 0), 6)``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: 1 between 0 and 6, else 0, at both bounds too.
    The counterpart in PyTorch is ``torch.nn.functional.relu6``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0, 7.0], ("x",))
    >>> ng.relu6(x).data
    array([0., 2., 6.])
    """
    return bounded(comparable(x, "relu6"), c(0), c(6))


@operation(sample("real(a,b)"), sample("real(a,b)", negative_slope=0.2))
def leaky_relu(x: DimArray, negative_slope: DimArray | float = 0.01) -> DimArray:
    """``x`` above 0, ``negative_slope * x`` below.

    Parameters
    ----------
    x : DimArray
    negative_slope : number or DimArray
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
    Derivative: 1 above 0, else the slope, at 0 too.
    The counterpart in PyTorch is ``torch.nn.functional.leaky_relu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0], ("x",))
    >>> ng.leaky_relu(x, 0.1).data
    array([-0.1,  2. ])
    """
    return _leaky_relu.two(comparable(x, "leaky_relu"), constant(negative_slope))


@operation(sample("real(a,b)", "real(b)"), sample("real(a)", "real(a,b)"))
def prelu(x: DimArray, weight: DimArray | float) -> DimArray:
    """``x`` above 0, ``weight * x`` below, with a weight to be learned.

    Parameters
    ----------
    x : DimArray
    weight : number or DimArray
        One number, or one per cell of some dims: it is aligned by name.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    Derivative: 1 above 0, else the weight, at 0 too; in the weight ``min(x, 0)``.
    The counterpart in PyTorch is ``torch.nn.functional.prelu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[-1.0, 2.0], [-3.0, -4.0]], ("x", "channel"))
    >>> ng.prelu(x, ng.DimArray([0.5, 0.25], ("channel",))).data
    array([[-0.5,  2. ],
           [-1.5, -1. ]])
    """
    return _leaky_relu.two(comparable(x, "prelu"), constant(weight))


@operation(sample("real(a,b)"), sample("real(a,b)", "positive(a,b)"), sample("real(a,b)", lower=0.2, upper=0.5))
def rrelu(
    x: DimArray, slopes: DimArray | float | None = None, *, lower: float = 1 / 8, upper: float = 1 / 3
) -> DimArray:
    """Randomized leaky ReLU with the slopes given: draw them yourself, so that a program stays a function of its inputs.

    Parameters
    ----------
    x : DimArray
    slopes : number or DimArray, optional
        Drawn between ``lower`` and ``upper`` in training. By default the middle of the two, as in evaluation.
    lower, upper : float
        Bounds of the distribution of the slopes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    ValueError
        If the lower bound is above the upper one.

    Notes
    -----
    Derivative: 1 above 0, else the slope, at 0 too.
    The counterpart in PyTorch is ``torch.nn.functional.rrelu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0], ("x",))
    >>> ng.rrelu(x, ng.DimArray([0.2, 0.3], ("x",))).data
    array([-0.2,  2. ])
    """
    if lower > upper:
        raise ValueError(f"rrelu: the lower bound {lower} is above the upper one, {upper}; exchange them")
    slope = (lower + upper) / 2 if slopes is None else slopes
    return _leaky_relu.two(comparable(x, "rrelu"), constant(slope))


@operation(sample("real(a,b)"), sample("real(a,b)", alpha=1.7), sample("real(a,b)", "positive(b)"))
def elu(x: DimArray, alpha: DimArray | float = 1.0) -> DimArray:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : DimArray
    alpha : number or DimArray
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
    Derivative: 1 above 0, else ``alpha * exp(x)``, at 0 too; its own derivative at 0 is 0.
    The counterpart in PyTorch is ``torch.nn.functional.elu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0], ("x",))
    >>> ng.elu(x, 2.0).data
    array([-1.26424112,  2.        ])
    """
    return _elu.two(comparable(x, "elu"), constant(alpha))


@operation(sample("real(a,b)"), sample("real(a,b)", alpha=1.7), sample("real(a,b)", "positive(b)"))
def celu(x: DimArray, alpha: DimArray | float = 1.0) -> DimArray:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    Parameters
    ----------
    x : DimArray
    alpha : number or DimArray
        Aligned by name; not 0.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.
    ValueError
        If ``alpha`` is the number 0.

    Notes
    -----
    Derivative: 1 above 0, else ``exp(x / alpha)``; its own derivative at 0 is 0.
    The counterpart in PyTorch is ``torch.nn.functional.celu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0], ("x",))
    >>> ng.celu(x, 2.0).data
    array([-0.78693868,  2.        ])
    """
    if are_numbers(alpha) and alpha == 0:
        raise ValueError("celu: alpha is 0, by which x is divided; its limit is relu(x)")
    a, x = constant(alpha), comparable(x, "celu")
    if e.known_number(a) == 1:
        return _elu.two(x, a)
    if (known := e.known_number(a)) is not None and known > 0:
        return where(e.greater(x, c(0)), x, multiply(_elu.two(e.divide(x, a), c(1)), a))
    below = e.less(x, c(0))  # where the quotient by a negative alpha is positive
    return where(below, multiply(e.expm1(select(below, e.divide(x, a))), a), x)


@operation(sample("real(a,b)"))
def selu(x: DimArray) -> DimArray:
    """``elu`` with the two numbers for which activations normalise themselves (Klambauer et al., 2017).

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``1.0507`` above 0, else ``1.7581 * exp(x)``, at 0 too.
    The counterpart in PyTorch is ``torch.nn.functional.selu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 2.0], ("x",))
    >>> ng.selu(x).data
    array([-1.11133074,  2.10140197])
    """
    return multiply(c(SELU_SCALE), _elu.two(comparable(x, "selu"), c(SELU_ALPHA)))
