"""Missing values, dtypes and copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant, make, named
from namedgrad.linear import like
from namedgrad.primitive import check_sizes, elementwise, operation, sample
from namedgrad.primitive import mask as select_by
from namedgrad.rules import complex as z
from namedgrad.rules import elementwise as e
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import (
    add,
    cast,
    counted,
    equal,
    isfinite,
    logical_not,
    multiply,
    stamp,
    where,
    zeros_spread,
)

_FAMILY = "elementwise"
_numbered = elementwise("numbered", lambda _, x, *to: select_by(isfinite.one(x)), None, None, None)
_fillna = elementwise(
    "fillna", lambda _, x, v: select_by(logical_not.one(e.isnan.one(x))), lambda _, x, v: select_by(e.isnan.one(x))
)
_masked_fill = elementwise(
    "masked_fill", lambda _, x, m, v: select_by(logical_not.one(m)), None, lambda _, x, m, v: select_by(m)
)


@operation(sample("missing(a,b)"), method=True, differentiable=False, family=_FAMILY)
def isnull(x: DimArray) -> DimArray:
    """Where values are missing (NaN), as xarray's method.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray of bool

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.isnull(ng.DimArray([1.0, float("nan")], ("x",))).data
    array([False,  True])
    """
    return e.isnan.one(x)


@operation(sample("missing(a,b)"), method=True, differentiable=False, family=_FAMILY)
def notnull(x: DimArray) -> DimArray:
    """Where values are present (not NaN), as xarray's method.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray of bool

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.notnull(ng.DimArray([1.0, float("nan")], ("x",))).data
    array([ True, False])
    """
    return logical_not.one(e.isnan.one(x))


@operation(
    sample("missing(a,b)", "real(b)"), sample("missing(b)", "missing(a,b)"), sample("missing(a,b)", value=0.5),
    method=True, family=_FAMILY,
)  # fmt: skip
def fillna(x: DimArray, value: DimArray | float) -> DimArray:
    """``value`` where ``x`` is missing (NaN), as xarray's method.

    Parameters
    ----------
    x : DimArray
    value : DimArray or scalar

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    The gradient of a cell of ``x`` is 0 where it is missing; the gradient of ``value`` comes from there.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.fillna(ng.DimArray([1.0, float("nan")], ("x",)), 7.0).data
    array([1., 7.])
    """
    return _fillna.two(x, constant(value))


@operation(
    sample("real(a,b)", "bool(b)", "real(a)"), sample("real(b)", "bool(a,b)", value=-1.5),
    sample("complex(a,b)", "bool(a)", value=0.0), family=_FAMILY,
)  # fmt: skip
def masked_fill(x: DimArray, mask: DimArray, value: DimArray | float) -> DimArray:
    """``value`` where the mask is true, ``x`` elsewhere, as ``torch.masked_fill``.

    Parameters
    ----------
    x : DimArray
    mask : DimArray of bool
    value : DimArray or scalar

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    Each cell of the result passes its gradient to where it comes from, and exactly 0 to the other operand. A linear
    selection; NumPy: ``where(mask, value, x)``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.masked_fill(x, x > 1.5, 0.0).data
    array([1., 0.])
    """
    return _masked_fill(x, constant(mask), constant(value))


@operation(
    sample("missing(a,b)"), sample("missing(a,b)", nan=-1.0), sample("complex(a,b)"), family=_FAMILY,
)  # fmt: skip
def nan_to_num(
    x: DimArray, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> DimArray:
    """Numbers in place of NaN and infinities, as :obj:`numpy.nan_to_num`.

    Parameters
    ----------
    x : DimArray
    copy : bool
        Without effect: an array is never written into.
    nan, posinf, neginf : float
        What stands for NaN, plus and minus infinity; the largest finite numbers by default for the last two.

    Returns
    -------
    DimArray

    Notes
    -----
    The derivative is 1 where ``x`` is finite, 0 elsewhere; real and imaginary parts are taken apart.
    PyTorch: ``torch.nan_to_num``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.nan_to_num(ng.DimArray([1.0, float("nan"), float("inf")], ("x",)), posinf=9.0).data
    array([1., 0., 9.])
    """
    if x.dtype.kind == "c":
        re, im = (nan_to_num(part, copy, nan, posinf, neginf) for part in (z.real(x), z.imag(x)))
        return add(re, multiply(c(1j), im))
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    high, low = (float(d) if v is None else v for v, d in ((posinf, limits.max), (neginf, limits.min)))
    found = [v if isinstance(v, DimArray) or not np.ndim(v) else constant(v) for v in map(named, (nan, high, low))]
    out = _numbered(x, *(c(0.0) if isinstance(v, DimArray) else c(v) for v in found))
    for v, beyond in zip(found, (math.nan, math.inf, -math.inf), strict=True):
        if isinstance(v, DimArray):
            out = where(e.isnan(x) if math.isnan(beyond) else equal(x, c(beyond)), cast(v, x.dtype), out)
    return out


@operation(sample("real(a,b)", dtype="float64"), sample("complex(a,b)", dtype="float64"), family=_FAMILY)
def astype(x: DimArray, dtype: Any) -> DimArray:
    """The same values with another dtype, also ``x.astype(dtype)``.

    Parameters
    ----------
    x : DimArray
    dtype : dtype
        A complex array loses its imaginary part to a real dtype.

    Returns
    -------
    DimArray

    Notes
    -----
    Linear: the gradient is cast back. To integers and booleans no gradient passes, but durations and dates that are
    differentiated stay numbers of ticks with fractions, of dtype float64. NumPy: :obj:`numpy.astype`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.astype(ng.DimArray([1.5], ("x",)), "float32").dtype
    dtype('float32')
    """
    dtype = np.dtype(dtype)
    return counted(x) if x.level is not None and x.dtype.kind in "mM" and dtype.kind in "iu" else cast(x, dtype)


@operation(sample("real(a,b)", other=constant(2.0)), sample("complex(a,b)", other=constant(1.0)), family=_FAMILY)
def type_as(x: DimArray, other: DimArray) -> DimArray:
    """The same values with the dtype of another array, as ``torch.Tensor.type_as``.

    Parameters
    ----------
    x, other : DimArray

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Notes
    -----
    Linear in ``x``; the gradient of ``other`` is 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.type_as(ng.DimArray([1, 2], ("x",)), ng.zeros({"y": 3})).data
    array([1., 2.])
    """
    return cast(x, constant(other).dtype)


@operation(sample("real(a,b)"), sample("complex(a,b)"), method=True, family=_FAMILY)
def copy(x: DimArray, deep: bool = True, data: Any = None) -> DimArray:
    """The same values, in memory of their own.

    Parameters
    ----------
    x : DimArray
    deep : bool
        False: without a copy of the data. An array is never written into, so this changes nothing but memory.
    data : array, optional
        Other values for the same dims, of the shape of ``x.data``.

    Returns
    -------
    DimArray

    Notes
    -----
    The identity. PyTorch: ``torch.clone``; NumPy: :obj:`numpy.copy`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.copy(ng.DimArray([1.0], ("x",))).data
    array([1.])
    """
    if data is not None:
        new = DimArray(data, (*x.vectorized, *x.dims), vectorized=x.vectorized)
        check_sizes("copy", (x, new))
        return new
    if x.level is not None or not deep or not backends.is_array(x.raw):
        return x
    return make(backends.call(backends.backend_of(x.raw).copy, x.raw), x.names, x.hidden)


@operation(sample("real(a,b)", dtype="float64"), differentiable=False, family=_FAMILY)
def empty_like(x: DimArray, dtype: Any = None) -> DimArray:
    """An array to be filled, which is of zeros because nothing can be written into it.

    Parameters
    ----------
    x : DimArray
        Gives dims, sizes, vectorized axes and backend.
    dtype : dtype, optional
        Another dtype than that of ``x``.

    Returns
    -------
    DimArray

    Notes
    -----
    A constant: no gradient passes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.empty_like(ng.ones({"x": 2})).sizes
    {'x': 2}
    """
    return cast(stamp(zeros_spread(x, like(x)), x.hidden), np.dtype(x.dtype if dtype is None else dtype))
