"""Cumulative products along a dim, by doubling: log2(n) products of shifted copies, so zeros are right at every order."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.reductions import present
from namedgrad.rules.structure import multiply, where


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), method=True)
def cumprod(x: DimArray, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
    """Cumulative product along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to multiply along; all by default.
    skipna : bool, optional
        Count NaN as 1; the default for floats. Such a cell has gradient 0.

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
    Computed by doubling (Hillis and Steele, 1986), without a division, so its derivatives are right where cells are 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([2.0, 3.0, 4.0], ("x",)).cumprod("x").data
    array([ 2.,  6., 24.])
    """
    dims = pick(x, dim, "cumprod")
    mask = present(x, skipna)
    out = x if mask is None else where(mask, x, c(1))
    for d in dims:
        out = _cumprod(out, d)
    return out


def _cumprod(x: DimArray, dim: Name) -> DimArray:
    """After step k every cell holds the product of the last 2**k cells up to it (Hillis and Steele, 1986)."""
    size, step = extent(x, dim), 1
    while step < size:
        head = slice_of(x, dim, slice(0, step))
        tail = multiply(slice_of(x, dim, slice(step, size)), slice_of(x, dim, slice(0, size - step)))
        x = join([head, tail], dim)
        step *= 2
    return x
