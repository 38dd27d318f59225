"""xarray's methods that call kernels of SciPy, bottleneck or numbagg, by name: they take and return xarray objects.

>>> import xarray as xr, namedgrad as ng
>>> x = xr.DataArray([0.0, 10.0, 40.0], dims="x", coords={"x": [0.0, 1.0, 2.0]})
>>> ng.xr.interp(x, x=[0.5, 1.5]).values
array([ 5., 25.])

Inside a function that is differentiated, the methods themselves (``x.interp``, ``x.ffill``, ...) take the same way, so
programs need no change.  The functions here do so for plain data too, without the packages that xarray needs.
Arguments, coordinates and values are those of the method of the same name, which is linked from each.  Each is
differentiable in the data, and where that is said, in other arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.positional.array import PositionalArray
from namedgrad.xarray.convert import data_for, named, numbered
from namedgrad.xarray.numbagg import exponential
from namedgrad.xarray.ranks import first_present, last_present
from namedgrad.xarray.ranks import rank as rank_of
from namedgrad.xarray.ranks import weighted_quantile as weighted_quantile_of

__all__ = [
    "apply_ufunc", "bfill", "curvefit", "ffill", "first", "interp", "interp_like", "interpolate_na", "last", "polyfit",
    "rank", "resample_interpolate", "rolling_exp", "weighted_quantile",
]  # fmt: skip

# ------------------------------------------------------------------------------------------------ in and out


def _held(obj: Any) -> Any:
    """The same object with arrays of ours for its numbers, which is what the seams look for."""
    if isinstance(obj, xr.Dataset):
        return obj.map(_held, keep_attrs=True)
    v = obj.variable if isinstance(obj, xr.DataArray) else obj
    if not isinstance(v, xr.Variable) or isinstance(v._data, PositionalArray) or v.dtype.kind not in "iufc":
        return obj
    held = numbered(named(v.to_base_variable()), v.dims)
    if isinstance(v, xr.IndexVariable):
        return xr.DataArray(held, obj.coords, v.dims)
    return obj.copy(deep=False, data=held)


def _plain(obj: Any) -> Any:
    """The result with plain arrays where nothing is differentiated or vectorized."""
    if isinstance(obj, tuple):
        return tuple(map(_plain, obj))
    if isinstance(obj, xr.Dataset):
        return obj.assign({n: _settled(v.variable) for n, v in obj.data_vars.items()})
    return obj.copy(deep=False, data=_settled(obj.variable).data)


def _settled(v: xr.Variable) -> xr.Variable:
    return v.copy(deep=False, data=data_for(named(v), v.dims)) if isinstance(v._data, PositionalArray) else v


# ------------------------------------------------------------------------------------------------ other coordinates


def interp(
    obj: Any,
    coords: Mapping[Any, Any] | None = None,
    method: str = "linear",
    *,
    assume_sorted: bool = False,
    kwargs: Mapping[str, Any] | None = None,
    **coords_kwargs: Any,
) -> Any:
    """Values at other coordinates.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    coords : mapping of dim to targets, optional
        Also as keywords. A DataArray brings its dims in place of the dim, and targets that share dims are taken
        together, point by point.
    method : str
        Along one dim ``"linear"``, ``"nearest"``, ``"zero"``, ``"slinear"``, ``"quadratic"``, ``"cubic"``,
        ``"quintic"``, ``"polynomial"`` (a spline of ``kwargs={"order": k}``), ``"pchip"``, ``"akima"``, ``"makima"``,
        ``"barycentric"``, ``"krogh"``; point by point ``"linear"``, ``"nearest"``, ``"slinear"``, ``"cubic"``,
        ``"quintic"``, ``"pchip"``.
    assume_sorted : bool
        The coordinates are in ascending order; else they are sorted.
    kwargs : mapping, optional
        Of the interpolator: ``fill_value`` (a number, a pair or ``"extrapolate"``), ``bounds_error``, ``order``.
    **coords_kwargs
        Targets in keyword form.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.interp`. Differentiable in the data and in the targets, which may be DataArrays that
        are differentiated; then a target along the dim of its own name is a coordinate without an index. Linear,
        ``pchip`` and ``akima`` methods are differentiable in the coordinates of the cells, too.

    Raises
    ------
    ValueError
        If the method is unknown, or a target is outside and ``bounds_error`` is set.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([0.0, 10.0, 40.0], dims="x", coords={"x": [0.0, 1.0, 2.0]})
    >>> at = xr.DataArray([0.5, 1.5], dims="station")
    >>> ng.grad(lambda at: ng.xr.interp(x, x=at).sum())(at).values
    array([10., 30.])
    """
    given = {**(coords or {}), **coords_kwargs}
    return _plain(_held(obj).interp(given, method, assume_sorted=assume_sorted, kwargs=kwargs))


def interp_like(
    obj: Any,
    other: Any,
    method: str = "linear",
    *,
    assume_sorted: bool = False,
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Values at the coordinates of another object.

    Parameters
    ----------
    obj, other : xarray.DataArray or xarray.Dataset
        The dims of ``other`` with an index are the targets.
    method, assume_sorted, kwargs
        As for :func:`interp`.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.interp_like`.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([0.0, 10.0, 40.0], dims="x", coords={"x": [0.0, 1.0, 2.0]})
    >>> ng.xr.interp_like(x, xr.Dataset(coords={"x": [1.5]})).values
    array([25.])
    """
    return _plain(_held(obj).interp_like(other, method, assume_sorted=assume_sorted, kwargs=kwargs))


def resample_interpolate(
    obj: Any, kind: str = "linear", *, kwargs: Mapping[str, Any] | None = None, **indexer: Any
) -> Any:
    """Values at the times of a finer frequency.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    kind : str
        As ``method`` of :func:`interp`.
    kwargs : mapping, optional
        Of the interpolator.
    **indexer
        The dim and its new frequency, as for :meth:`xarray.DataArray.resample`.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As ``obj.resample(...).interpolate(kind)``.

    Examples
    --------
    >>> import numpy as np, xarray as xr, namedgrad as ng
    >>> time = np.array(["2001-01-01", "2001-01-03"], dtype="datetime64[ns]")
    >>> x = xr.DataArray([0.0, 10.0], dims="time", coords={"time": time})
    >>> ng.xr.resample_interpolate(x, time="1D").values
    array([ 0.,  5., 10.])
    """
    return _plain(_held(obj).resample(**indexer).interpolate(kind, **(kwargs or {})))


# ------------------------------------------------------------------------------------------------ missing cells


def interpolate_na(
    obj: Any,
    dim: Hashable,
    method: str = "linear",
    *,
    limit: int | None = None,
    use_coordinate: bool | Hashable = True,
    max_gap: Any = None,
    **kwargs: Any,
) -> Any:
    """Missing cells along a dim from those around them.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name
    method : str
        As for :func:`interp`, and ``"spline"`` with ``s=0``.
    limit : int, optional
        How many cells in a row are filled at most.
    use_coordinate : bool or name
        Distances along this coordinate; ``False`` counts cells.
    max_gap : number, str or timedelta, optional
        Gaps that are longer stay.
    **kwargs
        Of the interpolator: ``fill_value``, ``order``.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.interpolate_na`. The derivative goes to the cells that the values come from.

    Raises
    ------
    TraceError
        For ``method="spline"`` with smoothing: its knots depend on the data.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([0.0, float("nan"), 40.0], dims="x", coords={"x": [0.0, 1.0, 4.0]})
    >>> ng.xr.interpolate_na(x, "x").values, ng.grad(lambda x: ng.xr.interpolate_na(x, "x")[1])(x).values
    (array([ 0., 10., 40.]), array([0.75, 0.  , 0.25]))
    """
    options = {"limit": limit, "use_coordinate": use_coordinate, "max_gap": max_gap, **kwargs}
    return _plain(_held(obj).interpolate_na(dim, method=method, **options))


def ffill(obj: Any, dim: Hashable, limit: int | None = None) -> Any:
    """Missing cells take the last present one before them.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name
    limit : int, optional
        How many cells in a row are filled at most.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.ffill`; needs neither bottleneck nor numbagg.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.ffill(xr.DataArray([1.0, float("nan"), 3.0], dims="x"), "x").values
    array([1., 1., 3.])
    """
    return _plain(_held(obj).ffill(dim, limit))


def bfill(obj: Any, dim: Hashable, limit: int | None = None) -> Any:
    """Missing cells take the next present one behind them.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name
    limit : int, optional
        How many cells in a row are filled at most.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.bfill`; needs neither bottleneck nor numbagg.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.bfill(xr.DataArray([1.0, float("nan"), 3.0], dims="x"), "x").values
    array([1., 3., 3.])
    """
    return _plain(_held(obj).bfill(dim, limit))


def first(obj: Any, dim: Hashable) -> Any:
    """The first present cell along a dim, as ``groupby(...).first()`` takes it from each group.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        Without the dim; NaN where no cell is present.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.first(xr.DataArray([float("nan"), 2.0, 3.0], dims="x"), "x").item()
    2.0
    """
    return _plain(_held(obj).reduce(first_present, dim, keep_attrs=True))


def last(obj: Any, dim: Hashable) -> Any:
    """The last present cell along a dim, as ``groupby(...).last()`` takes it from each group.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        Without the dim; NaN where no cell is present.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.last(xr.DataArray([1.0, 2.0, float("nan")], dims="x"), "x").item()
    2.0
    """
    return _plain(_held(obj).reduce(last_present, dim, keep_attrs=True))


# ------------------------------------------------------------------------------------------------ order


def weighted_quantile(
    obj: Any, weights: xr.DataArray, q: float | Sequence[float], dim: Any = None, *, skipna: bool | None = None
) -> Any:
    """Quantiles of weighted data.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    weights : xarray.DataArray
    q : float or sequence of float
        Between 0 and 1.
    dim : name or names, optional
        All dims by default.
    skipna : bool, optional
        Leave missing cells out; by default for floats.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As ``obj.weighted(weights).quantile(q, dim=dim)``; several quantiles along ``quantile``. Differentiable in the
        weights, too.

    Notes
    -----
    Akinshin (2023), "Weighted quantile estimators", type 7, with Kish's effective sample size.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([1.0, 2.0, 4.0], dims="x")
    >>> ng.xr.weighted_quantile(x, xr.DataArray([1.0, 1.0, 1.0], dims="x"), 0.75).item()
    3.0
    """
    held = _held(weights)
    if isinstance(obj, xr.Dataset):
        return obj.map(lambda v: weighted_quantile(v, weights, q, dim, skipna=skipna), keep_attrs=True)
    return _plain(weighted_quantile_of(_held(obj), held, q, dim, skipna))


def rank(obj: Any, dim: Hashable, *, pct: bool = False) -> Any:
    """Ranks along a dim, from 1; equal cells share the mean of theirs, missing cells have none.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name
    pct : bool
        As parts of the number of present cells.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As :meth:`xarray.DataArray.rank`; needs no bottleneck. Constant, to every transform.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.rank(xr.DataArray([3.0, 1.0, 3.0], dims="x"), "x").values
    array([2.5, 1. , 2.5])
    """
    if isinstance(obj, xr.Dataset):
        return obj.map(lambda v: rank(v, dim, pct=pct) if dim in v.dims else v)
    held = _held(obj)
    return _plain(held.copy(deep=False, data=rank_of(held.variable, dim, pct=pct).data))


# ------------------------------------------------------------------------------------------------ fits


def polyfit(
    obj: Any,
    dim: Hashable,
    deg: int,
    *,
    skipna: bool | None = None,
    w: Any = None,
    full: bool = False,
    cov: bool | str = False,
) -> xr.Dataset:
    """Polynomials fitted along a dim by least squares.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    dim : name
    deg : int
    skipna : bool, optional
        Leave missing cells out; by default where there are any.
    w : array or name, optional
        Weights of the cells.
    full, cov : bool
        Also residuals, or covariances.

    Returns
    -------
    xarray.Dataset
        As :meth:`xarray.DataArray.polyfit`.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([1.0, float("nan"), 5.0, 7.0], dims="x", coords={"x": [0, 1, 2, 3]})
    >>> ng.xr.polyfit(x, "x", 1).polyfit_coefficients.round(6).values
    array([2., 1.])
    """
    return _plain(_held(obj).polyfit(dim, deg, skipna=skipna, w=w, full=full, cov=cov))


def curvefit(*args: Any, **kwargs: Any) -> Any:
    """A function fitted to the data of every cell; see :func:`namedgrad.curvefit`.

    Parameters
    ----------
    *args, **kwargs
        Those of :func:`namedgrad.curvefit`.

    Returns
    -------
    xarray.Dataset
        As :meth:`xarray.DataArray.curvefit`.
    """
    from namedgrad.fit import curvefit as fitted

    return fitted(*args, **kwargs)


# ------------------------------------------------------------------------------------------------ functions of slices


def apply_ufunc(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of arrays applied to xarray objects; with ``vectorize=True`` of single slices, all of them at once.

    Parameters
    ----------
    function : callable
    *args : xarray objects, arrays, numbers
    **kwargs
        As for :func:`xarray.apply_ufunc`.

    Returns
    -------
    xarray objects
        As :func:`xarray.apply_ufunc`.

    Notes
    -----
    ``vectorize=True`` hides the looped axes from the function instead of looping. A function that asks for the values
    of its slice (``if``, boolean indices) is called slice by slice.

    Examples
    --------
    >>> import numpy as np, xarray as xr, namedgrad as ng
    >>> x = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("x", "t"))
    >>> ng.xr.apply_ufunc(lambda row: row @ row, x, input_core_dims=[["t"]], vectorize=True).values
    array([ 5., 25.])
    """
    held = [_held(a) if isinstance(a, (xr.DataArray, xr.Dataset, xr.Variable)) else a for a in args]
    return _plain(xr.apply_ufunc(function, *held, **kwargs))


class RollingExp:
    """Statistics with weights that decay exponentially along a dim: what :func:`rolling_exp` gives."""

    __slots__ = ("_alpha", "_dim", "_least", "_obj")

    def __init__(self, obj: Any, dim: Hashable, alpha: Any, min_weight: float) -> None:
        self._obj, self._dim, self._alpha, self._least = obj, dim, alpha, min_weight

    def _statistic(self, name: str, *others: Any) -> Any:
        dims = [self._dim]
        return apply_ufunc(
            exponential(name), self._obj, *others, input_core_dims=[dims] * (1 + len(others)), output_core_dims=[dims],
            kwargs={"alpha": self._alpha, "min_weight": self._least}, keep_attrs=True, on_missing_core_dim="copy",
        ).transpose(*self._obj.dims)  # fmt: skip

    def mean(self) -> Any:
        """Means."""
        return self._statistic("mean")

    def sum(self) -> Any:
        """Sums."""
        return self._statistic("sum")

    def std(self) -> Any:
        """Standard deviations, unbiased for the weights."""
        return self._statistic("std")

    def var(self) -> Any:
        """Variances, unbiased for the weights."""
        return self._statistic("var")

    def cov(self, other: Any) -> Any:
        """Covariances with another object."""
        return self._statistic("cov", other)

    def corr(self, other: Any) -> Any:
        """Correlations with another object."""
        return self._statistic("corr", other)


_ALPHA: dict[str, Callable[[Any], Any]] = {
    "span": lambda s: 2 / (s + 1),
    "com": lambda c: 1 / (c + 1),
    "halflife": lambda h: 1 - np.exp(np.log(0.5) / h),
    "alpha": lambda a: a,
}


def rolling_exp(
    obj: Any,
    window: Mapping[Any, float] | None = None,
    window_type: str = "span",
    *,
    min_weight: float = 0.0,
    **windows: float,
) -> RollingExp:
    """Statistics with weights that decay exponentially along a dim.

    Parameters
    ----------
    obj : xarray.DataArray or xarray.Dataset
    window : mapping of dim to number
        Also as a keyword.
    window_type : {"span", "com", "halflife", "alpha"}
        What the number means.
    min_weight : float
        The least weight of present cells for a result.
    **windows
        The window in keyword form.

    Returns
    -------
    RollingExp
        With ``mean``, ``sum``, ``std``, ``var``, ``cov(other)`` and ``corr(other)``, as
        :meth:`xarray.DataArray.rolling_exp`; needs no numbagg.

    Examples
    --------
    >>> import xarray as xr, namedgrad as ng
    >>> ng.xr.rolling_exp(xr.DataArray([1.0, 2.0, 4.0], dims="x"), x=0.5, window_type="alpha").mean().round(6).values
    array([1.      , 1.666667, 3.      ])
    """
    given = {**(window or {}), **windows}
    if len(given) != 1:
        raise ValueError(f"rolling_exp takes one dim, not {list(given)}")
    if window_type not in _ALPHA:
        raise ValueError(f"window_type {window_type!r} is not one of {', '.join(_ALPHA)}")
    ((dim, size),) = given.items()
    return RollingExp(obj, dim, _ALPHA[window_type](size), min_weight)
