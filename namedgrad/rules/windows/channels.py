"""Operations that exchange channels and cells, or normalise across channels."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.windows import Span
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement import merge, split
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.reductions.ranges import is_near_1, rescaled
from namedgrad.rules.structure import add, isfinite, logical_not, multiply, reorder, where
from namedgrad.rules.windows.along import window_sums
from namedgrad.rules.windows.geometry import private_name, whole, window_sizes
from namedgrad.rules.windows.views import strided_windows
from namedgrad.trace import innermost


def _factors(x: DimArray, factor: Any, channel: Name, what: str) -> dict[Name, int]:
    sizes = window_sizes(x, factor, what)
    if check(x, channel, what) in sizes:
        raise AxisError(f"{what}: the channel {channel!r} cannot be one of the dims that change")
    return sizes


@operation(sample("real(eight,a,b)", factor={"a": 2, "b": 2}, channel="eight"), sample("real(a,six,b)", factor={"b": 3}, channel="six"), method=True)
def pixel_shuffle(x: DimArray, factor: Mapping[Any, int], channel: Name) -> DimArray:
    """Channels spread out over finer cells: sub-pixel convolution's last step.

    Parameters
    ----------
    x : DimArray
    factor : mapping of dim to int
        How many cells each cell becomes.
    channel : name
        The dim whose positions, the last ones fastest, become those cells.

    Returns
    -------
    DimArray
        Dims ``factor`` times as long, ``channel`` shorter by the product of the factors.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the product of the factors does not divide the number of channels.

    Notes
    -----
    Linear, a permutation of cells; the transpose is :func:`pixel_unshuffle`. Shi et al., Real-time single image and video super-resolution,
    2016. Counterpart: ``torch.nn.functional.pixel_shuffle``, whose layout is that of positional arrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1, 2], [3, 4]], ("c", "x"))
    >>> ng.pixel_shuffle(x, {"x": 2}, "c").data
    array([[1, 3, 2, 4]])
    """
    sizes = _factors(x, factor, channel, "pixel_shuffle")
    n, by = extent(x, channel), math.prod(sizes.values())
    if n % by:
        raise ValueError(f"pixel_shuffle: {n} channels are not a multiple of {by} in {describe(x)}")
    fine = {d: private_name(d) for d in sizes}
    out = split(x, channel, {channel: n // by, **{fine[d]: r for d, r in sizes.items()}}, front=True)
    out = reorder(out, tuple(m for n in x.names for m in ((n, fine[n]) if n in fine else (n,))))
    for d, f in reversed(fine.items()):  # the first copies cells to where they stay
        out = merge(out, (d, f), d)
    return reorder(out, x.names)


@operation(sample("real(a,six,eight)", factor={"six": 2, "eight": 4}, channel="a"), sample("real(nine,a)", factor={"nine": 3}, channel="a"), method=True)
def pixel_unshuffle(x: DimArray, factor: Mapping[Any, int], channel: Name) -> DimArray:
    """The inverse of :func:`pixel_shuffle`: neighbouring cells become channels.

    Parameters
    ----------
    x : DimArray
    factor : mapping of dim to int
        How many cells become one.
    channel : name
        The dim that gets them, after each of its own positions.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a factor does not divide its dim.

    Notes
    -----
    Linear, a permutation of cells. Counterpart: ``torch.nn.functional.pixel_unshuffle``, whose layout is that of positional arrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.pixel_unshuffle(ng.DimArray([[1, 3, 2, 4]], ("c", "x")), {"x": 2}, "c").data
    array([[1, 2],
           [3, 4]])
    """
    sizes = _factors(x, factor, channel, "pixel_unshuffle")
    fine = {d: private_name(d) for d in sizes}
    out = x
    for d, r in sizes.items():
        if extent(x, d) % r:
            raise ValueError(f"pixel_unshuffle: {extent(x, d)} cells are not a multiple of {r} along {d!r} of {describe(x)}")
        out = split(out, d, {d: extent(x, d) // r, fine[d]: r})
    return reorder(merge(out, (channel, *fine.values()), channel, front=True), x.names)


@operation(sample("real(a,six)", groups=3, channel="six"), sample("real(eight,b)", groups=2, channel="eight"), method=True)
def channel_shuffle(x: DimArray, groups: int, channel: Name) -> DimArray:
    """Channels taken from the groups in turn.

    Parameters
    ----------
    x : DimArray
    groups : int
        Into how many equal runs the channels are divided.
    channel : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If the groups are not equal.

    Notes
    -----
    Linear, a permutation. Zhang et al., ShuffleNet, 2018. Counterpart: ``torch.nn.functional.channel_shuffle``, whose layout is that of
    positional arrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.channel_shuffle(ng.arange("c", 6), 2, "c").data
    array([0, 3, 1, 4, 2, 5])
    """
    n = extent(x, check(x, channel, "channel_shuffle"))
    if operator.index(groups) < 1 or n % groups:
        raise ValueError(f"channel_shuffle: {n} channels are not {groups} equal groups in {describe(x)}")
    inner = private_name(channel)
    apart = split(x, channel, {channel: groups, inner: n // groups}, front=True)
    return reorder(merge(apart, (inner, channel), channel, front=True), x.names)


# Of an exponent below 0, for which the quotient is right at 0 and at infinity, too; another power takes four times as long.
_falling = elementwise("falling_power", lambda y, x, z: e.divide(multiply(z, y), x), None, kernel="power")


@operation(sample("real(a,six)", dim="six", size=3), sample("real(a,b,c)", dim="b", size=4, alpha=0.5, beta=0.4, k=2.0), method=True)
@in_single
def local_response_norm(
    x: DimArray, dim: Name, size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> DimArray:
    """Cells divided by a power of the mean square of their neighbours along a dim, the channels.

    ``out = x / (k + alpha * mean of x**2) ** beta``, the mean over ``size`` neighbours, zeros beyond the ends.

    Parameters
    ----------
    x : DimArray
    dim : name
    size : int
        Of an even number the larger half comes before.
    alpha, beta, k : float

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    Krizhevsky, Sutskever and Hinton, ImageNet classification, 2012. Squares that would overflow or vanish are not formed (but on dask
    and CuPy). Counterpart: ``torch.nn.functional.local_response_norm``, whose
    layout is that of positional arrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.local_response_norm(ng.DimArray([1.0, 2.0, 3.0], ("c",)), "c", 3, alpha=3.0, beta=1.0).data.round(3)
    array([0.167, 0.133, 0.214])
    """
    size = whole(size, {check(x, dim, "local_response_norm"): size}, "local_response_norm: size")[dim]
    near = Span(size, extent(x, dim), before=size // 2)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cells = absolute(x) if x.dtype.kind == "c" else x
        base = add(multiply(window_sums(e.square(cells), {dim: near}), c(alpha / size)), c(k))
        out = multiply(x, _falling(base, c(-beta))) if beta > 0 else e.divide(x, e.power(base, c(beta)))
        if min(alpha, k) < 0:
            return out

        def scaled() -> DimArray:
            inside = private_name(dim)
            length = vector_norm(strided_windows(cells, {dim: near}, {dim: inside}), inside)
            root = e.hypot(multiply(length, c(math.sqrt(alpha / size))), c(math.sqrt(k)))
            far = e.logical_and(isfinite(length), logical_not(is_near_1(innermost(base), 1)))  # others lose digits by it
            return where(far, multiply(e.divide(x, root), e.power(root, c(1 - 2 * beta))), out)

        return rescaled(out, [(base, None)], 1, scaled)
