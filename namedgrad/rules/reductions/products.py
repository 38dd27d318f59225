"""Products over dims."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name, Names
from namedgrad.linear import Like
from namedgrad.primitive import operation, reduction, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick
from namedgrad.rules.dtypes import widened
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.joining import join
from namedgrad.rules.movement.stacking import merge, split
from namedgrad.rules.reductions.common import asked_in, if_enough, over_present, restore, summed
from namedgrad.rules.scans.products import may_divide
from namedgrad.rules.structure import (
    guarded_contract,
    if_likely,
    isfinite,
    known_finite,
    multiply,
    not_equal,
    outweighed,
    scale,
    subtract,
    total,
    where,
    zeros_spread,
)
from namedgrad.trace import innermost


def others_of(x: DimArray, dims: Names) -> DimArray:
    """For every cell the product of the others."""
    sizes: dict[Name, int] = {d: extent(x, d) for d in dims}
    line: Name = axes.local("factors") if len(dims) > 1 else dims[0]
    one = merge(x, dims, line) if len(dims) > 1 else x
    out = _others_in_line(one, line)
    return split(out, line, sizes) if len(dims) > 1 else out


def _others_in_line(x: DimArray, line: Name) -> DimArray:
    if x.level is None or _stays(x, line):
        out = _others_along(x, line)
        if known_finite(out):
            return out
    return _others_scaled(x, line)


def _stays(x: DimArray, line: Name) -> bool:
    """Whether the product of no cells, as they are in derivatives, is known to leave the range."""
    grown = total(e.log2(e.maximum(innermost(absolute(x)), c(1.0))), (line,))
    return backends.may_look(grown.raw) and bool((grown.raw < np.finfo(grown.dtype).maxexp - 1).all())


def _others_along(x: DimArray, line: Name) -> DimArray:
    """The product of the other pairs, found by the same way, times the partner in the cell's own pair.

    log2(n) steps without long running products, which leave the range of floats sooner than balanced ones.
    """
    n = extent(x, line)
    if n < 2:
        return zeros_spread(x, Like((line,), (n,), x.dtype), 1)
    half = n // 2
    first, second, rest = (slice_of(x, line, s) for s in (slice(0, half), slice(half, 2 * half), slice(2 * half, n)))
    pairs = multiply(first, second)
    others = _others_along(join([pairs, rest], line) if n % 2 else pairs, line)
    of_pairs = slice_of(others, line, slice(0, half))
    parts = [multiply(second, of_pairs), multiply(first, of_pairs)]
    return join([*parts, slice_of(others, line, slice(half, half + 1))] if n % 2 else parts, line)


def _others_scaled(x: DimArray, line: Name) -> DimArray:
    """The same by way of cells near 1: products of finite cells that are too large do not hide that another is 0."""
    size = stop_gradient(absolute(x))
    limit = float(np.finfo(size.dtype).maxexp - 2)
    counts = e.logical_and(isfinite(size), not_equal(size, c(0)))
    power = e.clip(e.rint(e.log2(where(counts, size, c(1)))), -limit, limit)
    rest = subtract(total(power, (line,)), power)
    half = e.floor(multiply(c(0.5), rest))  # all of it may be too large, where its product is not
    out = _others_along(e.divide(x, e.exp2(power)), line)
    return scale(scale(out, e.exp2(half)), e.exp2(subtract(rest, half)))


def _pulled(g: DimArray, y: DimArray, x: DimArray) -> tuple[DimArray]:
    dims = tuple(n for n in x.names if n not in y.names)
    return (if_likely(may_divide(y), lambda: e.divide(multiply(y, g), x), lambda: outweighed(g, others_of(x, dims))),)


def _pushed(t: DimArray, y: DimArray, x: DimArray) -> DimArray:
    dims = tuple(n for n in x.names if n not in y.names)
    divided = lambda: multiply(y, total(e.divide(t, x), dims))
    return if_likely(may_divide(y), divided, lambda: guarded_contract(t, others_of(x, dims), dims))


_prod = reduction("prod", pullback=_pulled, pushforward=_pushed)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("missing(a,b)", dim="a"), method=True)
@in_single
def prod(x: DimArray, dim: Any = None, *, skipna: bool | None = None, min_count: int | None = None,
         keepdims: bool = False, dtype: Any = None) -> DimArray:
    """Product over dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to multiply; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    min_count : int, optional
        Fewer present cells than this give NaN.
    keepdims : bool
        Keep the reduced dims with size 1.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The derivative in a cell is the product of the others: the product of all divided by the cell where that is exact to
    rounding, else that of pairs of pairs. It is right where cells are 0, at every order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([0.0, 3.0, 4.0], ("x",))
    >>> a.prod("x").item()
    0.0
    >>> ng.grad(lambda a: a.prod())(a).data
    array([12.,  0.,  0.])
    """
    dims, x = pick(x, dim, "prod"), asked_in(x, dtype, skipna, 1)
    if not dims and dim is not None:  # as in xarray
        return x

    def reduce(mask: DimArray | None) -> DimArray:
        y = x if mask is None else where(mask, x, c(1))
        return summed(_prod(widened(y), dims) if dims else y, dtype)

    out, mask = over_present(x, skipna, reduce)
    return restore(if_enough(out, x, dims, mask, skipna, min_count), x, dims, keepdims)
