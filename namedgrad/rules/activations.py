"""Activation functions: elementwise, with PyTorch's derivative at their kinks.

Where a piecewise formula changes, the derivative is that of PyTorch: of the outer side for ``relu``, ``hardtanh`` and the
shrinking functions, of the lower side for the others.  A parameter may be a DimArray, and is differentiated too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError
from namedgrad.backends.activations import FAR, FAR_IN_HALF, GELU_CUBE, GELU_SCALE
from namedgrad.primitive import elementwise, mask, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.dims import check, comparable
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import slice_of
from namedgrad.rules.special.logistic import expit, log_expit
from namedgrad.rules.special.softmax import softmax
from namedgrad.rules.structure import add, cast, logical_not, multiply, negative, select, subtract, where

# The parameters of SELU, from Klambauer et al. (2017).
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


# ------------------------------------------------------------------------------------------------ primitives

# fmt: off
#                          name                d/dx                                                     d/d(parameters)
_relu        = elementwise("relu",             lambda y, x: mask(logical_not(e.less_equal(x, c(0)))))
_leaky_relu  = elementwise("leaky_relu",       lambda y, x, s: where(e.greater(x, c(0)), cast(c(1.0), y.dtype), s), lambda y, x, s: e.clip_high(x, c(0)))
_elu         = elementwise("elu",              lambda y, x, a: _elu_slope(x, a),                        lambda y, x, a: e.expm1(bounded(x, c(-math.inf), c(0))))
bounded      = elementwise("hardtanh",         lambda y, x, l, h: mask(logical_not(e.logical_or(e.less_equal(x, l), e.greater_equal(x, h)))),
                                               lambda y, x, l, h: mask(e.logical_and(e.less_equal(x, l), e.less(x, h))), lambda y, x, l, h: mask(e.greater_equal(x, h)))
_hardshrink  = elementwise("hardshrink",       lambda y, x, l: mask(_beyond(x, l)),                     None)
_softshrink  = elementwise("softshrink",       lambda y, x, l: mask(_beyond(x, l)),                     lambda y, x, l: negative(select(_beyond(x, l), e.sign(x))))
_tanhshrink  = elementwise("tanhshrink",       lambda y, x: _shrink_slope(x, y))
_shrink_slope = elementwise("tanhshrink_slope", lambda s, x, y: multiply(c(2), multiply(e.tanh(x), e.sech2(x))), None)
_threshold   = elementwise("threshold",        lambda y, x, t, v: mask(logical_not(e.less_equal(x, t))), None, lambda y, x, t, v: mask(e.less_equal(x, t)))
_softplus    = elementwise("softplus",         lambda y, x, t: _saturated(expit(x), x, t),           None)
_saturated   = elementwise("saturated",        lambda y, s, x, t: mask(e.less(x, t)),                   None, None)
_softsign    = elementwise("softsign",         lambda y, x: e.late(x, _softsign_slope, _softsign_pull.two))
_softsign_pull = elementwise("softsign_pull",  None, None)
_silu        = elementwise("silu",             lambda y, x: _silu_slope.one(_near(x)))
_silu_slope  = elementwise("silu_slope",       lambda s, x: _gated_bend(x, x, c(1), c(0)))
_gelu        = elementwise("gelu",             lambda y, x: _gelu_slope(x, y))
_gelu_slope  = elementwise("gelu_slope",       lambda s, x, y: multiply(subtract(c(2), e.square(_near(x))), _density(_near(x))), None)
_gelu_tanh   = elementwise("gelu_tanh",        lambda y, x: _tanh_slope.one(_near(x)))
_tanh_slope  = elementwise("gelu_tanh_slope",  lambda s, x: _gelu_tanh_bend(x))
_mish        = elementwise("mish",             lambda y, x: _mish_slope.one(_near(x)))
_mish_slope  = elementwise("mish_slope",       lambda s, x: _mish_bend(x))
_hardswish   = elementwise("hardswish",        lambda y, x: _hardswish_slope(x))
# fmt: on


def _numbers(*parameters: Any) -> bool:
    """Whether parameters may be looked at: those that are arrays may be lazy, or recorded."""
    return all(isinstance(p, (int, float)) for p in parameters)


def _beyond(x: DimArray, bound: DimArray) -> DimArray:
    return logical_not(e.less_equal(e.absolute_real(x), bound))


def _near(x: DimArray) -> DimArray:
    """``x`` where a factor ``exp(-|x|)`` is not 0 yet."""
    far = FAR_IN_HALF if x.dtype == np.float16 else FAR
    return bounded(x, c(-far), c(far))


def _elu_slope(x: DimArray, alpha: DimArray) -> DimArray:
    fall = e.exp(bounded(x, c(-math.inf), c(0)))
    return fall if e.known_number(alpha) == 1 else where(e.greater(x, c(0)), c(1), multiply(alpha, fall))


def _gated_bend(x: DimArray, v: DimArray, first: DimArray, second: DimArray) -> DimArray:
    """The second derivative of ``x * sigmoid(v)``, given those of ``v``; no share is taken from another, so the tails stay.

    Nor do the slopes of this get lost near 0, where both shares are nearly equal.
    """
    half = multiply(c(0.5), v)
    turn = subtract(second, multiply(e.square(first), e.tanh(half)))
    return multiply(multiply(c(0.25), e.sech2(half)), add(multiply(c(2), first), multiply(x, turn)))


def _gelu_tanh_bend(x: DimArray) -> DimArray:
    square = e.square(x)
    v = multiply(multiply(c(GELU_SCALE), x), add(c(1), multiply(c(GELU_CUBE), square)))
    first = multiply(c(GELU_SCALE), add(c(1), multiply(c(3 * GELU_CUBE), square)))
    return _gated_bend(x, v, first, multiply(c(6 * GELU_SCALE * GELU_CUBE), x))


def _density(x: DimArray) -> DimArray:
    """The normal density."""
    return multiply(c(1 / math.sqrt(2 * math.pi)), e.exp(multiply(c(-0.5), e.square(x))))


def _mish_bend(x: DimArray) -> DimArray:
    """With ``p = softplus(x)``, ``s = sigmoid(x)``: ``s (2 + x (1 - s - 2 s tanh(p))) / cosh(p)**2``."""
    p, up, down = negative(log_expit(negative(x))), expit(x), expit(negative(x))
    turn = subtract(down, multiply(c(2), multiply(up, e.tanh(p))))
    return multiply(multiply(e.sech2(p), up), add(c(2), multiply(x, turn)))


def _softsign_slope(x: DimArray) -> DimArray:
    return e.square(e.divide(c(1.0), add(c(1), e.absolute_real(x))))


def _hardswish_slope(x: DimArray) -> DimArray:
    line = where(e.less(x, c(3)), add(e.divide(x, c(3)), c(0.5)), c(1.0))
    return select(logical_not(e.less_equal(x, c(-3))), line)


# ------------------------------------------------------------------------------------------------ functions


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
    if _numbers(alpha) and alpha == 0:
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
    if _numbers(min_val, max_val) and min_val > max_val:
        raise ValueError(f"hardtanh: min_val={min_val!r} is above max_val={max_val!r}; exchange them")
    return bounded(comparable(x, "hardtanh"), constant(min_val), constant(max_val))


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
    if _numbers(lambd) and lambd < 0:
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


@operation(sample("real(a,b)"), sample("real(a,b)", beta=2.0, threshold=1.0), sample("real(a,b)", "positive(b)"))
def softplus(x: DimArray, beta: DimArray | float = 1.0, threshold: float = 20.0) -> DimArray:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is above the threshold.

    Parameters
    ----------
    x : DimArray
    beta : number or DimArray
        Aligned by name; not 0.
    threshold : float
        Infinite for the function without a threshold.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    Derivative: ``sigmoid(beta * x)``, and 1 above the threshold; its own derivative on the threshold is 0.
    The counterpart in PyTorch is ``torch.nn.functional.softplus``.
    ``logaddexp(0, x)`` is the same without a threshold.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 100.0], ("x",))
    >>> ng.softplus(x).data
    array([  0.31326169,   0.69314718, 100.        ])
    """
    z, limit = constant(x), constant(threshold)
    if isinstance(beta, (int, float)) and beta == 1:
        return _softplus.two(z, limit)
    b = constant(beta)
    steep = multiply(z, b)
    return where(e.greater(steep, limit), z, e.divide(_softplus.two(steep, limit), b))


@operation(sample("real(a,b)"))
def softsign(x: DimArray) -> DimArray:
    """``x / (1 + |x|)``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``1 / (1 + |x|)**2``.
    The counterpart in PyTorch is ``torch.nn.functional.softsign``.
    At infinity the value is the limit, 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 3.0], ("x",))
    >>> ng.softsign(x).data
    array([-0.5 ,  0.  ,  0.75])
    """
    x = constant(x)
    if x.dtype.kind == "c":
        return e.divide(x, add(c(1), absolute(x)))
    return _softsign.one(x)


@operation(sample("real(a,b)"))
def sigmoid(x: DimArray) -> DimArray:
    """``1 / (1 + exp(-x))``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``sigmoid(x) * sigmoid(-x)``.
    The counterpart in PyTorch is ``torch.nn.functional.sigmoid``.
    The same as :func:`expit`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1000.0, 0.0, 1.0], ("x",))
    >>> ng.sigmoid(x).data
    array([0.        , 0.5       , 0.73105858])
    """
    return expit.one(constant(x))


@operation(sample("real(a,b)"))
def log_sigmoid(x: DimArray) -> DimArray:
    """``log(sigmoid(x))``, that is ``-log(1 + exp(-x))``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``sigmoid(-x)``.
    The counterpart in PyTorch is ``torch.nn.functional.logsigmoid``.
    The same as :func:`log_expit`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1000.0, 0.0], ("x",))
    >>> ng.log_sigmoid(x).data
    array([-1.00000000e+03, -6.93147181e-01])
    """
    return log_expit.one(constant(x))


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


@operation(sample("wide(a,b)"))
def hardswish(x: DimArray) -> DimArray:
    """``x * min(max(x + 3, 0), 6) / 6``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``x / 3 + 1 / 2`` between -3 and 3, 0 up to -3, 1 from 3 on.
    The counterpart in PyTorch is ``torch.nn.functional.hardswish``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-4.0, 1.5, 5.0], ("x",))
    >>> ng.hardswish(x).data
    array([-0.   ,  1.125,  5.   ])
    """
    return _hardswish.one(comparable(x, "hardswish"))


@operation(sample("real(a,b)"), sample("wide(a,b)"))
def silu(x: DimArray) -> DimArray:
    """``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``s + x s (1 - s)`` with ``s = sigmoid(x)``.
    The counterpart in PyTorch is ``torch.nn.functional.silu``.
    At minus infinity the value is the limit, 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 2.0], ("x",))
    >>> ng.silu(x).data
    array([-0.26894142,  0.        ,  1.76159416])
    """
    return _silu.one(constant(x))


@operation(sample("real(a,b)"), sample("wide(a,b)"), sample("wide(a,b)", approximate="tanh"))
def gelu(x: DimArray, approximate: str = "none") -> DimArray:
    """``x`` times the normal distribution function of ``x`` (Hendrycks and Gimpel, 2016).

    Parameters
    ----------
    x : DimArray
    approximate : {"none", "tanh"}
        ``"tanh"``: ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``.

    Returns
    -------
    DimArray

    Raises
    ------
    ValueError
        If ``approximate`` is neither.

    Notes
    -----
    Derivative: ``cdf(x) + x * density(x)``.
    The counterpart in PyTorch is ``torch.nn.functional.gelu``.
    At minus infinity the value is the limit, 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 2.0], ("x",))
    >>> ng.gelu(x).data
    array([-0.15865525,  0.        ,  1.95449974])
    """
    if approximate not in {"none", "tanh"}:
        raise ValueError(f"gelu: approximate={approximate!r}; choose 'none' or 'tanh'")
    return (_gelu if approximate == "none" else _gelu_tanh).one(constant(x))


@operation(sample("real(a,b)"), sample("wide(a,b)"))
def mish(x: DimArray) -> DimArray:
    """``x * tanh(softplus(x))`` (Misra, 2019).

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray

    Notes
    -----
    Derivative: ``tanh(p) + x * sigmoid(x) / cosh(p)**2`` with ``p = softplus(x)``.
    The counterpart in PyTorch is ``torch.nn.functional.mish``.
    At minus infinity the value is the limit, 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 0.0, 2.0], ("x",))
    >>> ng.mish(x).data
    array([-0.30340146,  0.        ,  1.94395896])
    """
    return _mish.one(constant(x))


@operation(sample("real(a,six)", dim="six"), sample("real(eight,b)", dim="eight"))
def glu(x: DimArray, dim: Any) -> DimArray:
    """Gated linear unit: the first half along a dim times the sigmoid of the second.

    Parameters
    ----------
    x : DimArray
    dim : name
        A dim of even size.

    Returns
    -------
    DimArray
        The dim has half its size.

    Raises
    ------
    AxisError
        If the dim is unknown, vectorized, or of odd size.

    Notes
    -----
    The counterpart in PyTorch is ``torch.nn.functional.glu``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 0.0, 0.0], ("x",))
    >>> ng.glu(x, "x").data
    array([0.5, 1. ])
    """
    x = constant(x)
    size = extent(x, check(x, dim, "glu"))
    if size % 2:
        raise AxisError(f"glu: the size of {dim!r} in {describe(x)} is odd, so it has no halves")
    first, second = (slice_of(x, dim, part) for part in (slice(0, size // 2), slice(size // 2, size)))
    return multiply(first, expit.one(second))


@operation(sample("real(a,b)", dim="b"), sample("real(a,b,c)", dim=("a", "c")))
def softmin(x: DimArray, dim: Any) -> DimArray:
    """``softmax(-x)`` along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names
        Dims along which the result sums to 1.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The counterpart in PyTorch is ``torch.nn.functional.softmin``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 0.0], ("x",))
    >>> ng.softmin(x, "x").data
    array([0.5, 0.5])
    """
    x = constant(x)
    return softmax(negative(cast(x, "float64") if x.dtype.kind in "biu" else x), dim)
