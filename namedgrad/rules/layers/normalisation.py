"""Normalisation: cells less their mean, divided by their standard deviation, over the dims that a layer is named for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import Name, Names, local
from namedgrad.backends import may_look
from namedgrad.linear import ops
from namedgrad.primitive import operation, reduction, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute, squared
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check, pick
from namedgrad.rules.dtypes import floating, real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement import merge, split
from namedgrad.rules.reductions import count_of
from namedgrad.rules.reductions import max as largest_of
from namedgrad.rules.structure import (
    add,
    alongside,
    isfinite,
    known_finite,
    logical_not,
    multiply,
    reorder,
    scale,
    subtract,
    total,
    where,
)
from namedgrad.squares import Length
from namedgrad.trace import innermost


def _pull_squares(g: DimArray, y: DimArray, x: DimArray) -> tuple[DimArray]:
    g = multiply(c(2.0), g)
    return (multiply(g, x) if known_finite(y) else scale(g, x),)


def _push_squares(t: DimArray, y: DimArray, x: DimArray) -> DimArray:
    return multiply(c(2.0), ops.guarded_contract(t, x, tuple(n for n in x.names if n not in y.names)))


_square_sum = reduction("square_sum", pullback=_pull_squares, pushforward=_push_squares)


def square_sum(x: DimArray, dims: Names) -> DimArray:
    """Sum of squared absolute values."""
    if x.dtype.kind == "c":
        return total(squared(x), dims)
    return _squares(x, dims)


def _squares(x: DimArray, dims: Names) -> DimArray:
    """Sum of squares, which of complex numbers are complex."""
    return total(e.square(x), dims) if type(x) is Length else _square_sum(x, dims) if dims else e.square(x)


def _mean(x: DimArray, dims: Names) -> DimArray:
    return e.divide(total(x, dims), c(float(count_of(x, dims))))


def _scaled(x: DimArray, variance: DimArray, eps: float) -> DimArray:
    return multiply(x, e.reciprocal(e.sqrt(add(variance, c(float(eps))))))


def _standardised(x: DimArray, dims: Names, eps: float) -> DimArray:
    off = subtract(x, _mean(x, dims))
    return _scaled_by_own(off, dims, eps, _variance(off, dims), _variance)


def _scaled_by_own(x: DimArray, dims: Names, eps: float, variance: DimArray, again: Callable[[DimArray, Names], DimArray]) -> DimArray:
    """Cells scaled by their own variance: divided first, which changes nothing, where that leaves the range."""
    top = float(np.finfo(variance.dtype).max) ** 0.25  # second derivatives have its power 5 / 2
    floor = 1 / top
    raw = innermost(variance).raw
    if not count_of(x, dims) or (may_look(raw) and (raw < top).all() and (eps >= floor or (raw + eps >= floor).all())):
        return _scaled(x, variance, eps)
    largest = stop_gradient(largest_of(absolute(x), dims, skipna=False))
    fits = e.logical_and(e.less(variance, c(top)), e.greater_equal(add(variance, c(float(eps))), c(floor)))
    unit = where(e.logical_and(e.logical_and(isfinite(largest), e.greater(largest, c(0))), logical_not(fits)), largest, c(1.0))
    x = e.divide(x, unit)
    least = e.divide(e.divide(c(float(eps)), unit), unit)
    return multiply(x, e.reciprocal(e.sqrt(add(again(x, dims), least))))


def _variance(off: DimArray, dims: Names) -> DimArray:
    return e.divide(square_sum(off, dims), c(float(count_of(off, dims))))


def _affine(y: DimArray, x: DimArray, weight: Any, bias: Any) -> DimArray:
    """``y * weight + bias``, laid out as ``x`` is, new dims last."""
    if weight is not None:
        y = multiply(y, constant(weight))
    if bias is not None:
        y = add(y, constant(bias))
    return reorder(y, (*(n for n in x.names if n in y.names), *(n for n in y.names if n not in x.names)))


@operation(sample("real(a,six)", dim="six"), sample("real(a,six,nine)", "real(six,nine)", dim=("six", "nine")),
           sample("real(six,a)", "real(six)", "real(six)", dim="six"), sample("real(a,six)", "real(six)", "real(six)", dim="six", eps=0.5))
@in_single
def layer_norm(x: DimArray, weight: Any = None, bias: Any = None, *, dim: Any, eps: float = 1e-5) -> DimArray:
    """Cells normalised over dims: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    x : DimArray
    weight, bias : DimArray, optional
        Aligned by name; usually over ``dim``.
    dim : name or names
        Dims to normalise over.
    eps : float
        Added to the variance.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    With ``n`` the normalised cells and ``s = 1 / sqrt(var + eps)``, a cotangent ``g`` of ``n`` is pulled to
    ``s (g - mean(g) - n mean(g n))`` (Ba, Kiros and Hinton, 2016). ``torch.nn.functional.layer_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.layer_norm(ng.DimArray([1.0, 3.0], ("x",)), dim="x", eps=0.0).data
    array([-1.,  1.])
    """
    x = floating(x)
    return _affine(_standardised(x, pick(x, dim, "layer_norm"), eps), x, weight, bias)


@operation(sample("real(a,six)", dim="six"), sample("real(a,b)", "real(b)", dim=("a", "b")), sample("real(a,b)", "real(b)", dim="b", eps=0.5))
@in_single
def rms_norm(x: DimArray, weight: Any = None, *, dim: Any, eps: float | None = None) -> DimArray:
    """Cells divided by their root mean square over dims: ``x / sqrt(mean(x**2) + eps) * weight``.

    Parameters
    ----------
    x : DimArray
    weight : DimArray, optional
        Aligned by name; usually over ``dim``.
    dim : name or names
        Dims to normalise over.
    eps : float, optional
        Added to the mean square; by default the spacing of the dtype at 1.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    With ``n`` the normalised cells and ``s`` their factor, a cotangent ``g`` of ``n`` is pulled to ``s (g - n mean(g n))``
    (Zhang and Sennrich, 2019). Complex cells are squared as they are, not their absolute values, as in PyTorch.
    ``torch.nn.functional.rms_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.rms_norm(ng.DimArray([3.0, 4.0, 0.0, 0.0], ("x",)), dim="x").data
    array([1.2, 1.6, 0. , 0. ])
    """
    x = floating(x)
    if eps is None:
        eps = float(np.finfo(real_dtype(x)).eps)
    dims = pick(x, dim, "rms_norm")
    return _affine(_scaled_by_own(x, dims, eps, _mean_square(x, dims), _mean_square), x, weight, None)


def _mean_square(x: DimArray, dims: Names) -> DimArray:
    squares = _squares(x, dims)
    return e.divide(squares, c(float(count_of(x, dims))))


@operation(sample("real(a,eight,b)", channel="eight", groups=2, dim="b"), sample("real(a,six)", "real(six)", "real(six)", channel="six", groups=3, eps=0.5),
           sample("real(six,b,a)", "real(six)", "real(six)", channel="six", groups=1, dim=("a", "b"), eps=0.5))
@in_single
def group_norm(x: DimArray, weight: Any = None, bias: Any = None, *, channel: Name, groups: int, dim: Any = (), eps: float = 1e-5) -> DimArray:
    """Cells normalised over each group of channels, together with other dims.

    Parameters
    ----------
    x : DimArray
    weight, bias : DimArray, optional
        Aligned by name; usually over ``channel``.
    channel : name
        The dim that is cut into groups.
    groups : int
        Their number; it divides the size of ``channel``.
    dim : name or names
        Other dims to normalise over, usually those of space.
    eps : float
        Added to the variance.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.
    ValueError
        If the number of groups does not divide that of channels.

    Notes
    -----
    A :func:`layer_norm` per group (Wu and He, 2018). ``torch.nn.functional.group_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 3.0, 10.0, 30.0], ("c",))
    >>> ng.group_norm(x, channel="c", groups=2, eps=0.0).data
    array([-1.,  1., -1.,  1.])
    """
    x = floating(x)
    check(x, channel, "group_norm")
    size = extent(x, channel)
    if groups < 1 or size % groups:
        raise ValueError(f"group_norm: {groups} groups do not divide the {size} channels {channel!r} of {describe(x)}")
    others = tuple(n for n in pick(x, dim, "group_norm") if n != channel)
    group, member = local("group"), local("member")
    y = _standardised(split(x, channel, {group: groups, member: size // groups}), (member, *others), eps)
    return _affine(merge(y, (group, member), channel), x, weight, bias)


# ------------------------------------------------------------------------------------------------ with running statistics


def _updated(old: Any, new: DimArray, momentum: float) -> DimArray:
    old = constant(old)
    extra = tuple(n for n in new.names if n not in old.names and n not in new.hidden)
    new = stop_gradient(_mean(new, extra))
    old = stop_gradient(old)
    return add(multiply(c(1.0 - momentum), old), multiply(c(float(momentum)), new))


def _normalised(what: str, x: DimArray, dims: Names, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Any:
    if (mean is None) != (var is None):
        raise TypeError(f"{what}: running_mean and running_var are given together, or neither")
    if not training:
        if mean is None:
            raise TypeError(f"{what}: without training, running_mean and running_var say what to normalise by")
        return _affine(_scaled(subtract(x, constant(mean)), alongside(constant(var), x), eps), x, weight, bias)
    middle = _mean(x, dims)
    off = subtract(x, middle)
    variance = _variance(off, dims)
    y = _affine(_scaled_by_own(off, dims, eps, variance, _variance), x, weight, bias)
    if mean is None:
        return y
    count = count_of(x, dims)
    if count == 1 and x.size:
        raise ValueError(f"{what}: one cell along {dims} has no variance to keep; normalise over more")
    unbiased = multiply(variance, c(count / max(count - 1, 1)))
    return y, _updated(mean, middle, momentum), _updated(var, unbiased, momentum)


@operation(sample("real(six,a)", dim="six"), sample("real(six,a,eight)", "real(a)", "real(a)", dim=("six", "eight"), eps=0.5),
           sample("real(six,a)", "real(a)", "real(a)", "real(a)", "positive(a)", dim="six", training=False))
@in_single
def batch_norm(x: DimArray, weight: Any = None, bias: Any = None, running_mean: Any = None, running_var: Any = None, *,
               dim: Any, training: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """Cells normalised over dims by their own statistics, or by given ones.

    Parameters
    ----------
    x : DimArray
    weight, bias : DimArray, optional
        Aligned by name; usually over the channels.
    running_mean, running_var : DimArray, optional
        Statistics of earlier batches.
    dim : name or names
        Dims to normalise over: that of the batch, and those of space.
    training : bool
        Whether to normalise by the statistics of ``x``, or by the running ones.
    momentum : float
        The weight of ``x`` in new running statistics; of batch number k, ``1 / k`` makes them averages.
    eps : float
        Added to the variance.

    Returns
    -------
    DimArray, or tuple of it and the new running mean and variance
        The tuple where running statistics are given in training: nothing is updated in place. They are constants to
        every transform, and the variance in them is the unbiased one.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    TypeError
        If one of the two statistics is missing, or both are needed.
    ValueError
        If new running statistics of a single cell are asked for.

    Notes
    -----
    In training the derivative is that of :func:`layer_norm` (Ioffe and Szegedy, 2015), else ``1 / sqrt(running_var + eps)``.
    ``torch.nn.functional.batch_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1.0, 10.0], [3.0, 30.0]], ("batch", "channel"))
    >>> ng.batch_norm(x, dim="batch", eps=0.0).data
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    x = floating(x)
    return _normalised("batch_norm", x, pick(x, dim, "batch_norm"), weight, bias, running_mean, running_var, training, momentum, eps)


@operation(sample("real(a,b,six)", dim="six"), sample("real(a,b,eight,six)", "real(b)", "real(b)", dim=("six", "eight"), eps=0.5),
           sample("real(six,b,eight)", "real(b)", "real(b)", "real(b)", "positive(b)", dim="eight", training=False))
@in_single
def instance_norm(x: DimArray, weight: Any = None, bias: Any = None, running_mean: Any = None, running_var: Any = None, *,
                  dim: Any, training: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """Cells of every instance and channel normalised over the dims of space.

    Parameters
    ----------
    x : DimArray
    weight, bias : DimArray, optional
        Aligned by name; usually over the channels.
    running_mean, running_var : DimArray, optional
        Statistics of earlier batches, over the channels.
    dim : name or names
        Dims to normalise over.
    training : bool
        Whether to normalise by the statistics of ``x``, or by the running ones.
    momentum : float
        The weight of ``x`` in new running statistics: its own, averaged over the dims that those lack.
    eps : float
        Added to the variance.

    Returns
    -------
    DimArray, or tuple of it and the new running mean and variance
        As for :func:`batch_norm`.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    TypeError
        If one of the two statistics is missing, or both are needed.
    ValueError
        If new running statistics of a single cell are asked for.

    Notes
    -----
    The derivative is that of :func:`layer_norm` (Ulyanov, Vedaldi and Lempitsky, 2016). ``torch.nn.functional.instance_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[[1.0, 3.0], [10.0, 30.0]]], ("batch", "channel", "x"))
    >>> ng.instance_norm(x, dim="x", eps=0.0).data
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    x = floating(x)
    return _normalised("instance_norm", x, pick(x, dim, "instance_norm"), weight, bias, running_mean, running_var, training, momentum, eps)
