"""Polynomials by their values: Horner's scheme, powers, and least-squares fits with how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes, linalg
from namedgrad.array import DimArray, extent
from namedgrad.positional.array import numbers, ordered
from namedgrad.positional.axis import double, expand, named
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.functions.decompositions import quality
from namedgrad.positional.operands import arrayed, numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.dtypes import floating
from namedgrad.rules.signal import polynomials
from namedgrad.rules.structure import cast, contract, multiply, relabel, subtract, total

POWER, OTHER, LINE = (axes.fresh(n) for n in ("power", "other", "line"))


@implements(np.polyval)
def polyval(p: Any, x: Any) -> DimArray:
    coefficients, at = numbered(p), arrayed(x)
    if not coefficients.ndim:
        raise TypeError("np.polyval expects coefficients along an axis, not a number")
    if not coefficients.shape[0]:
        return multiply(at, e.c(0))
    at, coefficients = meet(at, named(coefficients, (POWER, *coefficients.dims[1:])))
    out = polynomials.polyval(at, coefficients, POWER)
    return ordered(out, numbers(out.ndim))


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> DimArray:
    v = numbered(x)
    if v.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = v.shape[0] if N is None else N
    v = cast(v, np.result_type(v.dtype, int))  # that of NumPy, also of single precision
    return ordered(polynomials.vander(named(v, (LINE,)), n, increasing=increasing, degree=POWER), (LINE, POWER))


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    at, values, deg = floating(numbered(x)), double(numbered(y)), int(deg)
    if at.ndim != 1 or not 1 <= values.ndim <= 2 or not at.size:
        raise TypeError("np.polyfit expects a 1D vector for x that is not empty, and a 1D or 2D array for y")
    if at.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    more = tuple([axes.local(("fitted", n)) for n in values.dims[1:]])
    if rcond is None:
        rcond = at.shape[0] * float(np.finfo(at.dtype).eps)
    at, data = named(double(at), (LINE,)), named(values, (LINE, *more))
    weights = None if w is None else named(double(numbered(w)), (LINE,))
    out = polynomials.polyfit(data, at, weights, dim=LINE, deg=deg, rcond=rcond, skipna=False, degree=POWER)
    found = ordered(out, (POWER, *more))
    if not full and not cov:
        return found
    matrix = polynomials.vander(at, deg + 1, degree=POWER)
    if weights is not None:
        matrix, data = multiply(matrix, weights), multiply(data, weights)
    off = total(e.square(absolute(subtract(contract(matrix, out, (POWER,)), data))), (LINE,))
    norms = e.sqrt(total(e.square(absolute(matrix)), (LINE,)))
    scaled = e.divide(matrix, norms)
    if full:
        return found, *quality(scaled, (LINE, POWER), off, rcond), rcond
    return found, _covariance(scaled, norms, off, unscaled=isinstance(cov, str) and cov == "unscaled")


def _covariance(matrix: DimArray, norms: DimArray, off: DimArray, *, unscaled: bool) -> DimArray:
    """The inverse of the normal matrix, times the variance of the residuals."""
    normal = contract(relabel(matrix, {POWER: OTHER}), matrix, (LINE,))
    inverse = linalg.inv(normal, (OTHER, POWER))
    inverse = e.divide(e.divide(inverse, norms), relabel(norms, {POWER: OTHER}))
    freedom = extent(matrix, LINE) - extent(matrix, POWER)
    if unscaled:
        return expand(ordered(inverse, (OTHER, POWER)), [2] if off.dims else [])  # the same for all
    if freedom <= 0:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    variance = e.divide(off, e.c(float(freedom)))
    return ordered(multiply(inverse, variance), (OTHER, POWER, *off.dims))
