"""Cumulative sums along dims."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules.dims import pick
from namedgrad.rules.half import in_single
from namedgrad.rules.movement.cuts import flip_axes
from namedgrad.rules.reductions.common import asked_in, in_dtype, over_present
from namedgrad.rules.structure import select

_cumsum = linear("(n)->(n)", "cumsum", transpose=lambda g, x: flip_axes(_cumsum(flip_axes(g))))


def cumsum_axis(x: DimArray, dim: Name) -> Any:
    """Cumulative sum along one axis, whatever its name."""
    return _cumsum(x, (dim,))


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), method=True)
@in_single
def cumsum(x: DimArray, dim: Any = None, *, skipna: bool | None = None, dtype: Any = None) -> DimArray:
    """Cumulative sum along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to sum along; all by default.
    skipna : bool, optional
        Count NaN as 0; the default for floats. Such a cell has gradient 0.
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
    Its transpose is the cumulative sum from the other end.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).cumsum("x").data
    array([1., 3., 6.])
    """
    dims, x = pick(x, dim, "cumsum"), asked_in(x, dtype, skipna, 0)

    def scan(mask: DimArray | None) -> DimArray:
        y = x if mask is None else select(mask, x)
        for d in dims:
            y = cumsum_axis(y, d)
        return y

    return in_dtype(over_present(x, skipna, scan)[0], dtype)
