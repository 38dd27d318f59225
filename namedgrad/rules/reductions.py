"""Reductions and scans by named dims, with xarray's ``skipna``, ``min_count``, ``ddof`` and ``keepdims``.

Missing values: with ``skipna`` (the default for floats, as in xarray) a NaN cell takes no part, so its gradient is
exactly 0; an all-NaN slice gives xarray's value and zero gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name, Names
from namedgrad.linear import like
from namedgrad.primitive import elementwise, linear, operation, reduction, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import conjugate, real
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    isfinite,
    multiply,
    select,
    spread,
    subtract,
    total,
    where,
)
from namedgrad.trace import innermost

# ------------------------------------------------------------------------------------------------ helpers


def count_of(x: DimArray, dims: Names) -> int:
    """Number of cells that a reduction over dims joins."""
    return math.prod(extent(x, d) for d in dims)


def restore(out: DimArray, x: DimArray, dims: Names, keepdims: bool) -> DimArray:
    """Put reduced dims back with size 1, in the place they had."""
    if not keepdims:
        return out
    names = tuple(n for n in x.names)
    sizes = tuple(1 if n in dims else s for n, s in zip(x.names, x.full_shape, strict=True))
    return spread(out, like(out)._replace(names=names, full_shape=sizes))


_present = elementwise("present", None)


def present(x: DimArray, skipna: bool | None) -> DimArray | None:
    """Mask of the cells that are not NaN, or None if all take part."""
    if skipna is False or x.dtype.kind not in "fc":
        return None
    raw = innermost(x).raw
    backend = backends.backend_of(raw)
    if backend.may_branch and not backends.is_recording() and backend.isfinite_all(raw):
        return None
    return _present(x)


def counts(mask: DimArray, dims: Names, dtype: Any) -> DimArray:
    """Number of present cells."""
    return total(cast(mask, dtype), dims)


def _if_enough(out: DimArray, x: DimArray, dims: Names, mask: DimArray | None, skipna: bool | None, least: int | None) -> DimArray:
    """NaN where fewer cells than ``least`` take part; as in xarray, only where NaN is left out."""
    if not least or skipna is False or x.dtype.kind not in "fc":
        return out
    here = c(count_of(x, dims) >= least) if mask is None else e.greater_equal(counts(mask, dims, "int64"), c(least))
    return where(here, out, c(math.nan))


def real_dtype(x: DimArray) -> Any:
    """The dtype in which counts and means of ``x`` are formed."""
    return x.dtype.type(0).real.dtype if x.dtype.kind in "fc" else "float64"


# ------------------------------------------------------------------------------------------------ sums and means


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("missing(a,b)", dim=("a",)),
           sample("real(a,b)", dim="a", keepdims=True), method=True)
def sum(x: DimArray, dim: Any = None, *, skipna: bool | None = None, min_count: int | None = None,
        keepdims: bool = False) -> DimArray:
    """Sum over dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to sum; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    min_count : int, optional
        Fewer present cells than this give NaN.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y")).sum("y").data
    array([3., 3.])
    """
    dims = pick(x, dim, "sum")
    mask = present(x, skipna)
    out = total(x if mask is None else select(mask, x), dims)
    return restore(_if_enough(out, x, dims, mask, skipna, min_count), x, dims, keepdims)


@operation(sample("real(a,b,c)", dim=("a", "c")), sample("missing(a,b)", dim="b"), sample("real(a,b)"), method=True)
def mean(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Mean over dims; NaN, with gradient 0, where nothing is present.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to average; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y"))
    >>> a.mean("y").data
    array([1.5, 3. ])
    >>> ng.grad(lambda a: a.mean())(a).data.round(3)
    array([[0.333, 0.333],
           [0.333, 0.   ]])
    """
    dims = pick(x, dim, "mean")
    return restore(_mean(x, dims, present(x, skipna)), x, dims, keepdims)


def _mean(x: DimArray, dims: Names, mask: DimArray | None) -> DimArray:
    if mask is None:
        return e.divide(total(x, dims), c(count_of(x, dims)))
    n = counts(mask, dims, real_dtype(x))
    return divide_counted(total(select(mask, x), dims), n)


def divide_counted(x: DimArray, n: DimArray) -> DimArray:
    """``x / n``; NaN, with gradient 0, where nothing was counted."""
    some = e.greater(n, c(0))
    return where(some, e.divide(x, where(some, n, c(1))), c(math.nan))


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="b", ddof=1), sample("missing(a,b)", dim="b"),
           sample("complex(a,b)", dim="a"), method=True)
def var(x: DimArray, dim: Any = None, *, skipna: bool | None = None, ddof: int = 0, keepdims: bool = False) -> DimArray:
    """Variance over dims: the mean square distance from the mean, divided by the count less ``ddof``.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    ddof : int
        Delta degrees of freedom: 0 as in xarray and NumPy; 1 for the unbiased estimate.
    keepdims : bool
        Keep the reduced dims with size 1.

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
    Of complex numbers, the mean of the squared absolute distance: a real array.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).var("x", ddof=1).item()
    1.0
    """
    dims = pick(x, dim, "var")
    mask = present(x, skipna)
    middle = _mean(x, dims, mask)
    off = subtract(x, middle) if mask is None else select(mask, subtract(x, middle))
    squares = real(multiply(off, conjugate(off))) if x.dtype.kind == "c" else e.square(off)
    if mask is None:
        out = e.divide(total(squares, dims), c(count_of(x, dims) - ddof))
    else:
        out = divide_counted(total(squares, dims), subtract(counts(mask, dims, real_dtype(x)), c(ddof)))
    return restore(out, x, dims, keepdims)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="b", ddof=1), sample("missing(a,b)", dim="b"), method=True)
def std(x: DimArray, dim: Any = None, *, skipna: bool | None = None, ddof: int = 0, keepdims: bool = False) -> DimArray:
    """Standard deviation over dims: the square root of :func:`var`.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    ddof : int
        Delta degrees of freedom: 0 as in xarray and NumPy; 1 for the unbiased estimate.
    keepdims : bool
        Keep the reduced dims with size 1.

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
    Where the deviation is 0 its derivative is 0, the subgradient of least norm.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).std("x", ddof=1).item()
    1.0
    >>> ng.grad(lambda a: a.std())(ng.ones({"x": 2})).data
    array([0., 0.])
    """
    return e.length(var(x, dim, skipna=skipna, ddof=ddof, keepdims=keepdims))


# ------------------------------------------------------------------------------------------------ extremes and products


def _shared_ties(g: DimArray, y: DimArray, x: DimArray) -> tuple[DimArray]:
    tie = equal(x, y)
    hits = cast(tie, real_dtype(x))
    share = e.divide(hits, total(hits, tuple(n for n in x.names if n not in y.names)))
    return (select(tie, multiply(g, share)),)


def _pushed_ties(t: DimArray, y: DimArray, x: DimArray) -> DimArray:
    (pushed,) = _shared_ties(t, y, x)
    return total(pushed, tuple(n for n in x.names if n not in y.names))


# fmt: off
_max     = reduction("max", pullback=_shared_ties, pushforward=_pushed_ties)
_min     = reduction("min", pullback=_shared_ties, pushforward=_pushed_ties)
_cumsum  = linear("(n)->(n)", "cumsum", transpose=lambda g, x: flip(_cumsum(flip(g))))
flip     = linear("(n)->(n)", "flip", transpose=lambda g, x: flip(g), many=True)
# fmt: on


def _extreme(prim: Any, x: DimArray, dim: Any, skipna: bool | None, keepdims: bool, fill: float) -> DimArray:
    dims = pick(x, dim, prim.name)
    mask = present(x, skipna)
    y = x if mask is None else where(mask, x, c(fill))
    if dims:
        y = prim(y, dims)
    if mask is not None:
        y = where(e.greater(counts(mask, dims, "int64"), c(0)), y, c(math.nan))
    return restore(y, x, dims, keepdims)


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("real(a,b)"), method=True)
def max(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Largest value over dims; ties share the gradient equally.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 4.0, 4.0], ("x",))
    >>> a.max("x").item()
    4.0
    >>> ng.grad(lambda a: a.max())(a).data
    array([0. , 0.5, 0.5])
    """
    return _extreme(_max, x, dim, skipna, keepdims, -math.inf)


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("real(a,b)"), method=True)
def min(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Smallest value over dims; ties share the gradient equally.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 4.0], [2.0, 0.0]], ("x", "y")).min("y").data
    array([1., 0.])
    """
    return _extreme(_min, x, dim, skipna, keepdims, math.inf)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("missing(a,b)", dim="a"), method=True)
def prod(x: DimArray, dim: Any = None, *, skipna: bool | None = None, min_count: int | None = None,
         keepdims: bool = False) -> DimArray:
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
    Halves are multiplied together until one cell is left. The derivative never divides, so it is right where cells are 0,
    at every order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([0.0, 3.0, 4.0], ("x",))
    >>> a.prod("x").item()
    0.0
    >>> ng.grad(lambda a: a.prod())(a).data
    array([12.,  0.,  0.])
    """
    dims = pick(x, dim, "prod")
    mask = present(x, skipna)
    out = x if mask is None else where(mask, x, c(1))
    out = cast(out, np.prod(np.empty(0, out.dtype)).dtype) if out.dtype.kind in "biu" else out
    for d in dims:
        out = _product(out, d)
    return restore(_if_enough(out, x, dims, mask, skipna, min_count), x, dims, keepdims)


def _product(x: DimArray, dim: Name) -> DimArray:
    """Halves multiplied together until one cell is left: log2(n) products, differentiable by the product rule alone."""
    from namedgrad.rules.movement import join, slice_of

    size = extent(x, dim)
    if size == 0:
        return add(total(x, (dim,)), c(1))
    while size > 1:
        half = size // 2
        y = multiply(slice_of(x, dim, slice(0, half)), slice_of(x, dim, slice(half, 2 * half)))
        x = join([y, slice_of(x, dim, slice(2 * half, size))], dim) if size % 2 else y
        size = extent(x, dim)
    return slice_of(x, dim, 0)


@operation(sample("real(a,b,c)", dim=("a", "b")), sample("real(a,b)"), method=True)
def logsumexp(x: DimArray, dim: Any = None, *, keepdims: bool = False) -> DimArray:
    """``log(sum(exp(x)))`` over dims, shifted by the maximum so that nothing overflows.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    keepdims : bool
        Keep the reduced dims with size 1.

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
    Where every cell is -inf the result is -inf, with gradient 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1000.0, 1000.0], ("x",)).logsumexp("x").item()
    1000.6931471805599
    """
    from namedgrad.rules.control import stop_gradient

    dims = pick(x, dim, "logsumexp")
    top = stop_gradient(real(max(x, dims, skipna=False)) if dims else x)
    top = where(isfinite(top), top, c(0.0))
    inside = total(e.exp(subtract(x, top)), dims)
    nothing = equal(inside, c(0))
    out = where(nothing, c(-math.inf), e.log(where(nothing, c(1), inside)))
    return restore(add(out, top), x, dims, keepdims)


# ------------------------------------------------------------------------------------------------ scans


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), method=True)
def cumsum(x: DimArray, dim: Any = None, *, skipna: bool | None = None) -> DimArray:
    """Cumulative sum along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to sum along; all by default.
    skipna : bool, optional
        Count NaN as 0; the default for floats. Such a cell has gradient 0.

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
    Its transpose is flip, cumsum, flip.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).cumsum("x").data
    array([1., 3., 6.])
    """
    dims = pick(x, dim, "cumsum")
    mask = present(x, skipna)
    out = x if mask is None else select(mask, x)
    for d in dims:
        out = _cumsum(out, (d,))
    return out


# ------------------------------------------------------------------------------------------------ without derivative


_PLAIN = """{first}

Parameters
----------
x : DimArray
dim : name or names, optional
    Dims to reduce; all by default.

Returns
-------
DimArray
    {returns}; no gradient passes.

Raises
------
AxisError
    If a dim is unknown, or vectorized.

Examples
--------
>>> import namedgrad as ng
>>> ng.{kernel}(ng.DimArray({cells}, ("x",)), "x").item()
{result}
"""
_TRUE = "Booleans", "[False, True]"
_PLACE = "The first of several; over several dims a position among them joined in the call's order", "[4.0, 7.0, 7.0]"


def _plain(kernel: str, first: str, returns: str, cells: str, result: str) -> Any:
    prim = reduction(kernel)

    def function(x: DimArray, dim: Any = None) -> DimArray:
        dims = pick(x, dim, kernel)
        if len(dims) > 1 and kernel.startswith("arg"):
            x, dims = _joined(x, dims)
        return prim(x, dims) if dims else x

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = _PLAIN.format(kernel=kernel, first=first, returns=returns, cells=cells, result=result)
    return operation(sample("real(a,b)", dim="a"), sample("real(a,b)"), method=True, differentiable=False)(function)


def _joined(x: DimArray, dims: Names) -> tuple[DimArray, Names]:
    from namedgrad.rules.movement import stack

    name: Name = axes.fresh(dims)
    return stack(x, {name: dims}), (name,)


any = _plain("any", "Whether any cell is true.", *_TRUE, "True")
all = _plain("all", "Whether every cell is true.", *_TRUE, "False")
argmax = _plain("argmax", "Position of the largest value.", *_PLACE, "1")
argmin = _plain("argmin", "Position of the smallest value.", *_PLACE, "0")


@operation(sample("missing(a,b)", dim="a"), method=True, differentiable=False)
def count(x: DimArray, dim: Any = None) -> DimArray:
    """Number of cells over dims that are not NaN.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to count over; all by default.

    Returns
    -------
    DimArray
        Of integers; no gradient passes.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y")).count("y").data
    array([2, 1])
    """
    dims = pick(x, dim, "count")
    mask = _present(x) if x.dtype.kind in "fc" else equal(x, x)
    return counts(mask, dims, "int64")
