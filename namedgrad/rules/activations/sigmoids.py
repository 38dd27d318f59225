"""Sigmoids, and what is made of them."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, mask, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c
from namedgrad.rules.special.logistic import expit, log_expit
from namedgrad.rules.special.softmax import softmax
from namedgrad.rules.structure import add, cast, multiply, negative, where

# fmt: off
_softplus    = elementwise("softplus",         lambda y, x, t: _saturated(expit(x), x, t),           None)
_saturated   = elementwise("saturated",        lambda y, s, x, t: mask(e.less(x, t)),                   None, None)
_softsign    = elementwise("softsign",         lambda y, x: e.late(x, _softsign_slope, _softsign_pull.two))
_softsign_pull = elementwise("softsign_pull",  None, None)
# fmt: on


def _softsign_slope(x: DimArray) -> DimArray:
    return e.square(e.divide(c(1.0), add(c(1), e.absolute_real(x))))


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
