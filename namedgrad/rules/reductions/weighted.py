"""Reductions with weights, as :meth:`xarray.DataArray.weighted` has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant
from namedgrad.rules import elementwise as e
from namedgrad.rules.contraction import dot
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.methods import keep_attrs_by_name
from namedgrad.rules.reductions.common import present
from namedgrad.rules.sorting.quantiles import as_levels, levels
from namedgrad.rules.sorting.ranks import weighted_quantiles
from namedgrad.rules.structure import cast, equal, multiply, not_equal, reorder, select, subtract, where
from namedgrad.trace import innermost


class Weighted:
    """Cells of a DimArray with their weights: what :func:`weighted` gives, to be reduced.

    Examples
    --------
    >>> import namedgrad as ng
    >>> t = ng.DimArray([10.0, 20.0, float("nan")], ("lat",))
    >>> t.weighted(ng.DimArray([3.0, 1.0, 2.0], ("lat",))).mean().item()
    12.5
    """

    __slots__ = ("weights", "x")

    def __init__(self, x: DimArray, weights: DimArray) -> None:
        self.x, self.weights = x, weights

    def sum_of_weights(self, dim: Any = None) -> DimArray:
        """Weights of the cells that are not NaN; NaN where they are 0 together."""
        w = self.weights
        there = cast(equal(self.x, self.x), w.dtype if w.dtype.kind in "fc" else float)
        found = dot(there, w, dim=self._dims(dim))
        return where(not_equal(found, c(0)), found, c(math.nan))

    def sum(self, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
        """Sum of the cells times their weights."""
        return self._total(self.x, dim, skipna)

    def mean(self, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
        """The sum by the sum of the weights."""
        return e.divide(self.sum(dim, skipna=skipna), self.sum_of_weights(dim))

    def sum_of_squares(self, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
        """Sum of the squared distances from the mean, times the weights."""
        off = subtract(self.x, self.mean(dim, skipna=skipna))
        return self._total(multiply(off, off), dim, skipna)

    def var(self, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
        """The sum of squares by the sum of the weights."""
        return e.divide(self.sum_of_squares(dim, skipna=skipna), self.sum_of_weights(dim))

    def std(self, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
        """The root of the variance; where that is 0 the derivative is 0, as of :func:`namedgrad.std`."""
        return e.length(self.var(dim, skipna=skipna))

    def quantile(self, q: Any, *, dim: Any = None, skipna: bool | None = True) -> DimArray:
        """Quantiles, of which several have a dim "quantile" in front; cells share the unit interval by their weights."""
        q, names = levels(self.x, q)
        dims = pick(self.x, dim, "quantile")
        out = weighted_quantiles(self.x, self.weights, as_levels(self.x, q, names), dims, skipna=skipna is not False)
        return reorder(out, (*out.vectorized, *names, *(n for n in out.dims if n not in names)))

    def _dims(self, dim: Any) -> Any:
        return axes.in_order((*self.x.dims, *self.weights.dims)) if dim is None or dim is Ellipsis else dim

    def _total(self, x: DimArray, dim: Any, skipna: bool | None) -> DimArray:
        mask = present(x, skipna)
        return dot(x if mask is None else select(mask, x), self.weights, dim=self._dims(dim))

    def __repr__(self) -> str:
        return f"<Weighted {self.x.sizes} by {self.weights.sizes}>"


def weighted(x: DimArray, weights: Any) -> Weighted:
    """Cells with weights, to be reduced: xarray's method.

    Parameters
    ----------
    x : DimArray
    weights : DimArray
        Over any dims, without NaN; gradients reach it.

    Returns
    -------
    Weighted
        With ``sum mean var std quantile sum_of_weights sum_of_squares``, which take ``dim=`` and ``skipna=``.

    Raises
    ------
    ValueError
        If a weight is NaN.

    Examples
    --------
    >>> import namedgrad as ng
    >>> t = ng.DimArray([10.0, 20.0], ("lat",))
    >>> area = ng.DimArray([3.0, 1.0], ("lat",))
    >>> t.weighted(area).mean("lat").item()
    12.5
    >>> ng.grad(lambda t: t.weighted(area).mean("lat"))(t).data
    array([0.75, 0.25])
    """
    weights = constant(weights, "weighted: the weights")
    known = innermost(weights).raw
    if backends.may_look(known) and np.isnan(known).any():
        raise ValueError("weighted: weights cannot be NaN; use weights.fillna(0) to leave such cells out")
    return Weighted(x, weights)


keep_attrs_by_name(Weighted, ("sum_of_weights", "sum", "mean", "sum_of_squares", "var", "std", "quantile"))
