"""Losses of probabilities: two classes, or whole distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.backends.losses import LEAST, LEAST_SHARE
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.sigmoids import log_sigmoid, sigmoid
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import c
from namedgrad.rules.jointly import Joint
from namedgrad.rules.losses.reducing import check_reduction, measured, read, read_real, reduced
from namedgrad.rules.structure import add, multiply, negative, scale, select, subtract, where


class _OfLogits(Joint):
    """With the slopes in the logits and in the target: all are found from one exponential and one logarithm."""

    def together(self, backend: Any, raw: Sequence[Any], need: Sequence[bool]) -> Sequence[Any] | None:
        found: Sequence[Any] | None = None if need[2] else backend.bce_logits_and_slopes(*raw, odds=need[1])
        return found


# fmt: off
_bce        = elementwise("bce",              lambda y, x, t: _share_slope.two(x, t), lambda y, x, t: negative(_log_odds.one(x)))
_share_slope = elementwise("bce_slope",       lambda s, x, t: add(_bend(subtract(c(1), t), subtract(c(1), x)), _bend(t, x)),
                                              lambda s, x, t: negative(_odds_slope(x)))
_log_odds   = elementwise("clamped_log_odds", lambda y, x: _odds_slope(x))
bce_logits  = _OfLogits("bce_logits",        (lambda y, x, t, w: _bce_slope(x, t, w),
                                              lambda y, x, t, w: _bce_odds.two(x, w),
                                              lambda y, x, t, w: negative(multiply(t, log_sigmoid(x)))))
_bce_slope  = elementwise("bce_logits_slope", lambda y, x, t, w: multiply(_both(t, w), multiply(sigmoid(x), sigmoid(negative(x)))),
                                              lambda y, x, t, w: negative(add(sigmoid(x), multiply(w, sigmoid(negative(x))))),
                                              lambda y, x, t, w: negative(multiply(t, sigmoid(negative(x)))))
_bce_odds   = elementwise("bce_logits_odds",  lambda y, x, w: negative(add(sigmoid(x), multiply(w, sigmoid(negative(x))))),
                                              lambda y, x, w: negative(log_sigmoid(x)))
_kl_div     = elementwise("kl_div",           lambda y, x, t: negative(t), lambda y, x, t: subtract(add(c(1), e.log(t)), x))
# fmt: on


def _per(t: DimArray, share: DimArray) -> DimArray:
    """``t`` times the derivative of the logarithm of a share, bounded from below as PyTorch does."""
    return e.divide(t, where(e.greater(share, c(LEAST_SHARE)), share, c(LEAST)))


def _odds_slope(x: DimArray) -> DimArray:
    return add(_per(c(1.0), x), _per(c(1.0), subtract(c(1), x)))


def _bend(t: DimArray, share: DimArray) -> DimArray:
    """What its derivative in the share takes away: nothing where there is a bound."""
    return select(e.greater(share, c(LEAST_SHARE)), e.divide(t, e.square(share)))


def _both(t: DimArray, w: DimArray) -> DimArray:
    """``1 - t + w t``."""
    return c(1) if w.level is None and type(w.raw) is int else add(subtract(c(1), t), multiply(w, t))


@operation(sample("share(a,b)", "share(a,b)"), sample("share(a,b)", "bit(b)", dim="b"), sample("share(a,b)", "share(b,a)", "positive(b)", reduction="sum"),
           sample("share(a,b)", "share(a,c)", reduction=None))  # fmt: skip
def binary_cross_entropy(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, the loss of a probability.

    Parameters
    ----------
    input, target : DimArray
        Probabilities, aligned by name.
    weight : DimArray, optional
        Of each cell; the mean is divided by their number.
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
    As in PyTorch (``torch.nn.functional.binary_cross_entropy``) the logarithms are at least -100; where they are, their
    derivative is 1e12. Of logits, :func:`binary_cross_entropy_with_logits` is more exact.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.binary_cross_entropy(ng.DimArray([0.5, 0.0], ("x",)), 1.0, reduction=None).data
    array([  0.69314718, 100.        ])
    """
    x, t = read_real("binary_cross_entropy", input, target=target)
    loss = _bce.two(x, t)
    if weight is None:
        return reduced(loss, (x, t), dim, reduction, "binary_cross_entropy")
    w = measured(weight, x, "binary_cross_entropy: the weight")
    return reduced(multiply(loss, w), (x, t, w), dim, reduction, "binary_cross_entropy")


@operation(sample("real(a,b)", "share(a,b)"), sample("wide(a,b)", "bit(b)", dim="b"), sample("real(a,b)", "share(b,a)", "positive(b)", reduction="sum"),
           sample("real(a,b)", "share(a,c)", "positive(c)", "positive(b)", reduction=None))  # fmt: skip
def binary_cross_entropy_with_logits(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    pos_weight: DimArray | float | None = None,
    *,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Binary cross entropy of ``sigmoid(input)``, without the loss of precision.

    Parameters
    ----------
    input, target : DimArray
        Log odds and probabilities, aligned by name.
    weight : DimArray, optional
        Of each cell; the mean is divided by their number.
    pos_weight : number or DimArray, optional
        Of the positive answers: a factor of ``target * log(sigmoid(input))``.
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
    ``(1 - target) * softplus(input) + pos_weight * target * softplus(-input)``, where a product with 0 is 0. In PyTorch
    ``torch.nn.functional.binary_cross_entropy_with_logits``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 1000.0], ("x",))
    >>> ng.binary_cross_entropy_with_logits(x, 0.0, reduction=None).data
    array([6.93147181e-01, 1.00000000e+03])
    """
    what = "binary_cross_entropy_with_logits"
    x, t = read_real(what, input, target=target)
    loss = bce_logits(x, t, c(1) if pos_weight is None else measured(pos_weight, x, f"{what}: pos_weight"))
    if weight is None:
        return reduced(loss, (x, t, loss), dim, reduction, what)
    w = measured(weight, x, f"{what}: the weight")
    return reduced(multiply(loss, w), (x, t, w, loss), dim, reduction, what)


@operation(sample("real(a,b)", "share(a,b)"), sample("real(a,b)", "real(b)", log_target=True, dim="b"), sample("real(a,b)", "share(b,a)", reduction="sum"),
           sample("real(a,b)", "share(a,c)", reduction=None), sample("real(a,b)", "share(a,b)", reduction="batchmean", batch_dim="a"))  # fmt: skip
def kl_div(
    input: DimArray,
    target: DimArray,
    *,
    log_target: bool = False,
    dim: Any = None,
    reduction: str | None = "mean",
    batch_dim: Any = None,
) -> DimArray:
    """Kullback-Leibler divergence of a distribution from the logarithm of another: ``target * (log(target) - input)``.

    Parameters
    ----------
    input : DimArray
        Logarithms of probabilities.
    target : DimArray
        Probabilities, aligned by name.
    log_target : bool
        The target holds logarithms too.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", "batchmean", None}
        The divergence itself is a sum over the outcomes; ``"batchmean"`` is the sum divided by the size of ``batch_dim``.
        None: the term of each cell.
    batch_dim : name, optional
        For ``"batchmean"``.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    Where the target is 0 the term is 0, whatever the input. In PyTorch ``torch.nn.functional.kl_div``; the elementwise
    function of SciPy is ``scipy.special.rel_entr``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> p = ng.DimArray([0.5, 0.5], ("outcome",))
    >>> q = ng.DimArray([0.25, 0.75], ("outcome",))
    >>> print(f"{ng.kl_div(ng.log(q), p, reduction='sum').item():.4g}")
    0.1438
    """
    check_reduction(reduction, "kl_div", ("batchmean",))
    x, t = read("kl_div", input, target=target)
    with np.errstate(invalid="ignore"):  # a class that the target lacks: 0 times infinity, which counts for nothing
        loss = scale.two(e.exp(t), subtract(t, x)) if log_target else _kl_div.two(x, t)
    if reduction != "batchmean":
        return reduced(loss, (x, t), dim, reduction, "kl_div")
    if batch_dim is None:
        raise TypeError("kl_div: reduction='batchmean' needs batch_dim, the dim to average")
    size = extent(loss, check(loss, batch_dim, "kl_div"))
    return e.divide(reduced(loss, (x, t), dim, "sum", "kl_div"), c(size))
