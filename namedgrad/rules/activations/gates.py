"""Gates: ``x`` times a share of it between 0 and 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError
from namedgrad.backends.activations import FAR, FAR_IN_HALF, GELU_CUBE, GELU_SCALE
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.bounds import bounded
from namedgrad.rules.dims import check, comparable
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import slice_of
from namedgrad.rules.special.logistic import expit, log_expit
from namedgrad.rules.structure import add, logical_not, multiply, negative, select, subtract, where

# fmt: off
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


def _near(x: DimArray) -> DimArray:
    """``x`` where a factor ``exp(-|x|)`` is not 0 yet."""
    far = FAR_IN_HALF if x.dtype == np.float16 else FAR
    return bounded(x, c(-far), c(far))


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


def _hardswish_slope(x: DimArray) -> DimArray:
    line = where(e.less(x, c(3)), add(e.divide(x, c(3)), c(0.5)), c(1.0))
    return select(logical_not(e.less_equal(x, c(-3))), line)


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
