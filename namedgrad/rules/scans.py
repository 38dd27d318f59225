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
    """Cumulative product along dims; with ``skipna`` a NaN counts as 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cumprod(ng.DimArray([2.0, 3.0, 4.0], ("x",))).data
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
