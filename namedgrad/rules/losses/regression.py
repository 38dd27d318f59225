"""Losses of a prediction and a number that was measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.bounds import bounded
from namedgrad.rules.complex import absolute, squared
from namedgrad.rules.dims import comparable, pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.layers.normalisation import square_sum
from namedgrad.rules.losses.reducing import at_least, measured, read, read_real, reduced
from namedgrad.rules.reductions import count_of
from namedgrad.rules.structure import add, equal, multiply, negative, reorder, subtract, where
from namedgrad.trace import innermost

_huber = elementwise(
    "huber",
    lambda y, d, delta: bounded(d, negative(delta), delta),
    lambda y, d, delta: e.absolute_real(subtract(d, bounded(d, negative(delta), delta))),
)


# fmt: off
_gaussian = elementwise("gaussian_nll", lambda y, d, v: e.divide(d, v), lambda y, d, v: _variance_slope(d, v))
_poisson  = elementwise("poisson_nll",  lambda y, x, t: subtract(e.exp(x), t), lambda y, x, t: negative(x))
# fmt: on


def _variance_slope(d: DimArray, v: DimArray) -> DimArray:
    """``(1 - d**2 / v) / (2 v)``."""
    return e.divide(subtract(c(0.5), multiply(c(0.5), multiply(d, e.divide(d, v)))), v)


def _weighted(loss: DimArray, input: DimArray, target: DimArray, weight: Any, dim: Any, reduction: str | None, what: str, *,
              by_weight: bool) -> DimArray:  # fmt: skip
    if weight is None:
        return reduced(loss, (input, target), dim, reduction, what)
    w = measured(weight, input, f"{what}: the weight")
    return reduced(multiply(loss, w), (input, target, w), dim, reduction, what, w if by_weight else None)


@operation(sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(six,a)", "positive(six)", dim="six"),
           sample("real(a,b)", "real(a,c)", reduction=None), sample("complex(a,b)", "real(a,b)", reduction="sum"))  # fmt: skip
@in_single
def mse_loss(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Mean of the squared differences.

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    weight : DimArray, optional
        Of each difference; the mean is then divided by the sum of the weights.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    The derivative of ``d**2`` is ``2 d``. Of complex numbers, ``|d|**2``. In PyTorch ``torch.nn.functional.mse_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.mse_loss(x, 0.0).item(), ng.mse_loss(x, 0.0, reduction=None).data
    (2.5, array([1., 4.]))
    """
    x, t = read("mse_loss", input, target=target)
    d = subtract(x, t)
    if d.dtype.kind == "f" and weight is None and reduction in {"mean", "sum"}:  # in one pass
        dims = pick(d, dim, "mse_loss")
        out = square_sum(reorder(d, axes.in_order((*x.names, *t.names))), dims)
        return out if reduction == "sum" else e.divide(out, c(count_of(d, dims)))
    loss = squared(d)
    return _weighted(loss, x, t, weight, dim, reduction, "mse_loss", by_weight=True)


@operation(sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(six,a)", "positive(six)", dim="six"),
           sample("real(a,b)", "real(a,c)", reduction=None), sample("complex(a,b)", "complex(a,b)", reduction="sum"))  # fmt: skip
def l1_loss(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Mean of the absolute differences.

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    weight : DimArray, optional
        Of each difference; the mean is then divided by the sum of the weights.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    The derivative of ``|d|`` is ``sign(d)``, 0 at 0. In PyTorch ``torch.nn.functional.l1_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.l1_loss(ng.DimArray([1.0, -2.0], ("x",)), 0.0).item()
    1.5
    """
    x, t = read("l1_loss", input, target=target)
    return _weighted(absolute(subtract(x, t)), x, t, weight, dim, reduction, "l1_loss", by_weight=True)


@operation(sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(b)", dim="b", beta=0.5), sample("real(a,b)", "real(a,b)", beta=0.0),
           sample("real(a,b)", "real(a,c)", reduction=None, beta=2.0))  # fmt: skip
def smooth_l1_loss(
    input: DimArray, target: DimArray, *, beta: DimArray | float = 1.0, dim: Any = None, reduction: str | None = "mean"
) -> DimArray:
    """Absolute differences, rounded off near 0: ``d**2 / (2 beta)`` where ``|d| < beta``, else ``|d| - beta / 2``.

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    beta : number or DimArray
        Where the two formulas meet; the number 0 gives :func:`l1_loss`.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    ValueError
        If ``beta`` is negative.

    Notes
    -----
    The derivative is ``d / beta`` between -1 and 1; where it bends, its own derivative is 0.
    In PyTorch ``torch.nn.functional.smooth_l1_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.smooth_l1_loss(ng.DimArray([0.5, -2.0], ("x",)), 0.0, reduction=None).data
    array([0.125, 1.5  ])
    """
    x, t = read("smooth_l1_loss", input, target=target)
    d = subtract(x, t)
    if isinstance(beta, (int, float)) and beta == 0:
        return reduced(e.absolute_real(d), (x, t), dim, reduction, "smooth_l1_loss")
    b = measured(beta, x, "smooth_l1_loss: beta")
    if _any(b, np.less):
        raise ValueError(f"smooth_l1_loss: beta={beta} is negative")
    loss = _huber.two(comparable(d, "smooth_l1_loss"), b) if isinstance(beta, (int, float)) and beta == 1 else _rounded_off(d, b)
    return reduced(loss, (x, t, b), dim, reduction, "smooth_l1_loss")


def _rounded_off(d: DimArray, b: DimArray) -> DimArray:
    """``s (d - b s / 2)`` with the slope ``s``, which is ``d / b`` between -1 and 1, and a step where ``b`` is 0."""
    sharp = equal(b, c(0))
    slope = where(sharp, e.sign(d), bounded(e.divide(d, where(sharp, c(1), b)), c(-1.0), c(1.0)))
    return multiply(slope, subtract(d, multiply(c(0.5), multiply(b, slope))))


def _any(x: DimArray, compared: Any) -> bool:
    """Whether any cell is less than 0, or compares so to it, where values may be looked at."""
    raw = innermost(x).raw
    return backends.may_look(raw) and bool(np.any(compared(raw, 0)))


@operation(sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(b)", dim="b", delta=0.5), sample("real(a,b)", "real(b,a)", "positive(b)", dim="b"),
           sample("real(a,b)", "real(a,c)", reduction=None, delta=2.0))  # fmt: skip
def huber_loss(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    delta: DimArray | float = 1.0,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Half the squared difference up to ``delta``, from there on a straight line (Huber, 1964).

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    weight : DimArray, optional
        Of each difference; the mean is divided by their number, as in PyTorch.
    delta : number or DimArray
        Where the line begins; positive.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    ValueError
        If ``delta`` is not positive.

    Notes
    -----
    The derivative is ``d`` between ``-delta`` and ``delta``; where it bends, its own derivative is 0.
    In PyTorch ``torch.nn.functional.huber_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.huber_loss(ng.DimArray([0.5, -2.0], ("x",)), 0.0, reduction=None).data
    array([0.125, 1.5  ])
    """
    x, t, bend = read_real("huber_loss", input, target=target, delta=delta)
    if _any(bend, np.less_equal):
        raise ValueError(f"huber_loss: delta={delta} is not positive")
    return _weighted(_huber.two(subtract(x, t), bend), x, t, weight, dim, reduction, "huber_loss", by_weight=False)


@operation(sample("real(a,b)", "real(a,b)", "positive(a,b)"), sample("real(a,b)", "real(b)", "positive(a)", dim="b", full=True),
           sample("real(a,b)", "real(a,c)", "positive(b)", reduction=None), sample("real(a,b)", "real(a,b)", var=0.5, eps=0.75))  # fmt: skip
@in_single
def gaussian_nll_loss(
    input: DimArray,
    target: DimArray,
    var: DimArray | float,
    *,
    full: bool = False,
    eps: float = 1e-6,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Negative log-likelihood of a normal distribution: ``(log(var) + (input - target)**2 / var) / 2``.

    Parameters
    ----------
    input, target : DimArray
        Expected and measured values, aligned by name.
    var : number or DimArray
        Variances; those of fewer dims hold for all cells of the others.
    full : bool
        Add the constant, ``log(2 pi) / 2``.
    eps : float
        Smaller variances count as this; their gradient is that of the formula there.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    ValueError
        If a variance is negative.

    Notes
    -----
    In PyTorch ``torch.nn.functional.gaussian_nll_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.gaussian_nll_loss(ng.DimArray([1.0, 3.0], ("x",)), 1.0, 1.0, reduction=None).data
    array([0., 2.])
    """
    x, t, v = read("gaussian_nll_loss", input, target=target, var=var)
    raw = innermost(v).raw
    least = float(np.fmin.reduce(raw, axis=None, initial=math.inf)) if backends.may_look(raw) else 0.0
    if least < 0:
        raise ValueError("gaussian_nll_loss: a variance is negative")
    v = v if least >= eps > 0 else at_least.two(v, c(eps))
    loss = _gaussian.two(subtract(x, t), v)
    loss = add(loss, c(0.5 * math.log(2 * math.pi))) if full else loss
    return reduced(loss, (x, t, v), dim, reduction, "gaussian_nll_loss")


@operation(sample("real(a,b)", "positive(a,b)"), sample("positive(a,b)", "positive(b)", log_input=False, dim="b"),
           sample("real(a,b)", "above_one(a,c)", full=True, reduction=None), sample("positive(a,b)", "counts(a,b)", full=True, log_input=False))  # fmt: skip
def poisson_nll_loss(
    input: DimArray,
    target: DimArray,
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Negative log-likelihood of a Poisson distribution: ``exp(input) - target * input``.

    Parameters
    ----------
    input, target : DimArray
        Logarithm of the expected value, and the count that was observed; aligned by name.
    log_input : bool
        False: the input is the expected value itself, and the loss ``input - target * log(input + eps)``.
    full : bool
        Add Stirling's approximation of ``log(target!)`` where the target is above 1.
    eps : float
        Keeps the logarithm clear of 0.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    A target of 0 takes no part in the product, even where the input is minus infinity.
    In PyTorch ``torch.nn.functional.poisson_nll_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.poisson_nll_loss(ng.DimArray([0.0, 1.0], ("x",)), 2.0, reduction=None).data
    array([1.        , 0.71828183])
    """
    x, t = read("poisson_nll_loss", input, target=target)
    loss = _poisson.two(x, t) if log_input else subtract(x, multiply(t, e.log(add(x, c(eps)))))
    if full:
        many = e.greater(t, c(1))
        n = where(many, t, c(1.0))
        log = e.log(n)
        stirling = add(subtract(multiply(n, log), n), multiply(c(0.5), add(log, c(math.log(2 * math.pi)))))
        loss = add(loss, where(many, stirling, c(0.0)))
    return reduced(loss, (x, t), dim, reduction, "poisson_nll_loss")
