"""Trends removed along a dim."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import pick_one
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.structure import cast, contract, multiply, positions, reorder, subtract, total


@operation(
    sample("real(a,six)", dim="six"), sample("complex(a,b)", dim="b", type="constant"),
    sample("real(nine,a)", dim="nine", bp=[4, 5]), method=True,
)  # fmt: skip
def detrend(x: DimArray, dim: Name, type: str = "linear", bp: int | Sequence[int] = 0) -> DimArray:
    """Remove the least-squares line, or the mean, along a dim.

    Parameters
    ----------
    x : DimArray
    dim : name
    type : {"linear", "constant"}
    bp : int or sequence of int
        Positions where another line begins.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If the type is unknown, or a breakpoint lies outside the dim.

    Notes
    -----
    As :func:`scipy.signal.detrend`. A symmetric linear map: the gradient is detrended as well.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.detrend(ng.DimArray([1.0, 2.0, 4.0], ("x",)), "x").data.round(4)
    array([ 0.1667, -0.3333,  0.1667])
    """
    name = pick_one(x, dim, "detrend")
    n = extent(x, name)
    if type not in {"linear", "l", "constant", "c"}:
        raise ValueError(f"detrend: type {type!r} is not 'linear' or 'constant'")
    x = floating(x)
    if type in {"constant", "c"} or not n:
        return subtract(x, e.divide(total(x, (name,)), c(n))) if n else x
    ends = sorted({0, n, *([bp] if isinstance(bp, int) else bp)})
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError(f"detrend: breakpoints {ends[1:-1]} must lie within {name!r} of size {n}")
    parts = [_straightened(slice_of(x, name, slice(a, b)), name) for a, b in itertools.pairwise(ends)]
    return reorder(join(parts, name) if len(parts) > 1 else parts[0], x.names)


def _straightened(x: DimArray, name: Name) -> DimArray:
    """Without its projections onto the constant and onto the centered positions."""
    n = extent(x, name)
    out = subtract(x, e.divide(total(x, (name,)), c(n)))
    if n == 1:
        return out
    ramp = subtract(positions(n, name, x), c((n - 1) / 2))
    unit = cast(multiply(ramp, c((12 / (n * (n * n - 1.0))) ** 0.5)), x.dtype.type(0).real.dtype)
    return subtract(out, multiply(contract(x, unit, (name,)), unit))
