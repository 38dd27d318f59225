"""Cumulative products along a dim.

The derivative never divides by a cell that may be 0: where every product is far from 0 and from infinity it is a
cumulative sum divided by the cells, else a linear recurrence, which is right at one and at several zeros, at every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Like, Map, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement.cuts import flip_axes, slice_of
from namedgrad.rules.movement.joining import join
from namedgrad.rules.reductions.common import asked_in, in_dtype, over_present
from namedgrad.rules.scans.recurrence import LINE, recurrence, suffixes
from namedgrad.rules.scans.sums import cumsum_axis
from namedgrad.rules.structure import (
    cast,
    if_likely,
    isfinite,
    known_finite,
    multiply,
    not_equal,
    outweighed,
    relabel,
    scale,
    subtract,
    where,
    zeros_spread,
)
from namedgrad.trace import apply, innermost


def may_divide(y: DimArray) -> DimArray | bool:
    """Whether products are so far from 0 and infinity that dividing by a factor is exact to rounding.

    Not so where the quotients are differentiated again: of a cell close to 0 they have large derivatives, which cancel.
    """
    backend = backends.backend_of(innermost(y).raw)
    if y.level is not None or not backend.may_branch:
        return False
    if not backends.is_recording():
        return bool(backend.divisible(y.raw))
    return make(call(backend.divisible, y.raw), (), axes.NONE)


def before(x: DimArray, dim: Name) -> DimArray:
    """For every cell the product of those before it."""
    n = extent(x, dim)
    one = zeros_spread(x, Like((dim,), (min(n, 1),), x.dtype), 1)
    return _cumprod(join([one, slice_of(x, dim, slice(0, max(n - 1, 0)))], dim), dim)


class _CumProd(Primitive):
    """Products of all cells up to each one."""

    form, signature = "core", "(n)->(n)"

    def lower(self, args: Sequence[DimArray], dim: Name) -> DimArray:
        (x,) = args
        return make(call(self.kernel_for(x.raw), x.raw, x.names.index(dim)), x.names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name) -> Map:
        frame: dict[Name, Name] = {dim: LINE}
        x, y = (relabel(a, frame) for a in (ins[0], out))
        divisible = may_divide(out)

        def push(ts: Sequence[Any]) -> DimArray:
            return if_likely(divisible, lambda: _pushed(ts[0], x, y), lambda: _pushed_by_recurrence(ts[0], x))

        def pull(g: DimArray) -> list[DimArray]:
            return [if_likely(divisible, lambda: _pulled(g, x, y), lambda: _pulled_by_recurrence(g, x))]

        return CoreMap(push, pull, [like(ins[0])], [frame], frame)


def _pushed(t: DimArray, x: DimArray, y: DimArray) -> DimArray:
    return multiply(y, cumsum_axis(e.divide(t, x), LINE))


def _pulled(g: DimArray, x: DimArray, y: DimArray) -> DimArray:
    later = flip_axes(cumsum_axis(flip_axes(multiply(g, y), (LINE,)), LINE), (LINE,))
    return e.divide(later, x)


def _pushed_by_recurrence(t: DimArray, x: DimArray) -> DimArray:
    start = before(x, LINE)
    if not known_finite(x):  # a cell before which nothing is pushed takes no part, whatever it holds
        x = _taking_part(x, e.greater(subtract(_count(t), _moves(t)), c(0)))
    return recurrence(x, scale(t, start), LINE)


def _taking_part(x: DimArray, met: DimArray) -> DimArray:
    """0 for what is not finite and is not met; all other cells have derivatives."""
    return where(e.logical_or(met, isfinite(x)), x, c(0))


def _moves(t: DimArray) -> DimArray:
    return cast(not_equal(stop_gradient(t), c(0)), "int64")


def _count(t: DimArray) -> DimArray:
    """How many cells up to each one are not 0."""
    return cumsum_axis(_moves(t), LINE)


def _pulled_by_recurrence(g: DimArray, x: DimArray) -> DimArray:
    ahead = x
    if not known_finite(x):  # a cell behind which nothing is pulled takes no part, whatever it holds
        later = flip_axes(_count(flip_axes(g, (LINE,))), (LINE,))
        x = _taking_part(x, e.greater(later, c(0)))
    start, after = before(ahead, LINE), suffixes(x, g)
    out = multiply(start, after)
    return out if known_finite(out) else outweighed(after, start)


_CUMPROD = _CumProd("cumprod")


def _cumprod(x: DimArray, dim: Name) -> DimArray:
    return apply(_CUMPROD, (x,), dim=dim)


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), method=True)
@in_single
def cumprod(x: DimArray, dim: Any = None, *, skipna: bool | None = None, dtype: Any = None) -> DimArray:
    """Cumulative product along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to multiply along; all by default.
    skipna : bool, optional
        Count NaN as 1; the default for floats. Such a cell has gradient 0.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

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
    Its derivative divides only where that is exact to rounding; it is right where cells are 0, at every order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([2.0, 3.0, 4.0], ("x",)).cumprod("x").data
    array([ 2.,  6., 24.])
    """
    dims, x = pick(x, dim, "cumprod"), asked_in(x, dtype, skipna, 1)

    def scan(mask: DimArray | None) -> DimArray:
        y = x if mask is None else where(mask, x, c(1))
        for d in dims:
            y = _cumprod(y, d)
        return y

    return in_dtype(over_present(x, skipna, scan)[0], dtype)
