"""``.grad.fit``: a model fitted to an array or several, with dates as numbers and units of the parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.indexes import PandasIndex

from namedgrad.axes import AxisError, Name
from namedgrad.backends import backend_of
from namedgrad.backends.base import Backend
from namedgrad.fit.cells import ONLY
from namedgrad.fit.halves import is_complex
from namedgrad.fit.labels import coordinate
from namedgrad.fit.lazy import LazyResult
from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.result import LeastSquaresResult, in_place_of
from namedgrad.fit.starts import given_starts
from namedgrad.fit.times import as_names, numeric
from namedgrad.fit.units import parameter_units
from namedgrad.trace import innermost
from namedgrad.transforms.leaves import Tree, adapter_of


def fit_model(
    obj: Any, model: Callable[..., Any], coords: Any, params: Any, *, over: Any, time_units: str,
    time_origin: Any, options: Mapping[str, Any],
) -> Any:  # fmt: skip
    """``least_squares`` of ``model(params, *coords) - obj``; see :meth:`namedgrad.xarray.accessor.Grad.fit`."""
    several = coords if isinstance(coords, (tuple, list)) else (coords,)
    given = [coordinate(obj, c) if isinstance(c, str) else c for c in several]
    home = backend_of(*(innermost(x).raw for x in adapter_of(obj).parts(obj)))
    readers = [_reader(c, time_units, time_origin, home) for c in given]
    numbers = [read(c) for read, c in zip(readers, given, strict=True)]
    predicted = [functools.partial(_read_like, c, read, home) for c, read in zip(given, readers, strict=True)]
    residual = functools.partial(_misfit, model, as_names(over))
    fit: Any = least_squares(residual, params, *numbers, obj, over=over, **options)
    if not isinstance(fit, (LeastSquaresResult, LazyResult)):
        return fit
    then = [*fit.readers, *[_as_it_is] * len(given)]  # dates in coordinates of these may have become seconds
    fit.readers = [functools.partial(_one_by_one, pair) for pair in zip(predicted, then, strict=False)]
    for c, x in zip(given, numbers, strict=True):
        if isinstance(c, xr.DataArray) and c.dtype.kind in "mMO":
            fit.params.attrs |= {f"{c.name}_{key}": value for key, value in x.attrs.items()}
    known = [getattr(x, "attrs", {}).get("units") for x in numbers]
    if isinstance(obj, xr.DataArray) and "units" in obj.attrs:
        _set_units(fit, residual, params, [*numbers, obj], over, [str(obj.attrs["units"]), *known], home)
    return fit


def _misfit(model: Callable[..., Any], over: Sequence[Name], p: Any, *data: Any) -> Any:
    """The model less the observations, which come last."""
    found, observed = model(p, *data[:-1]), data[-1]
    if isinstance(observed, xr.Dataset) and isinstance(found, Mapping):
        other = set(found) ^ set(observed.data_vars)
        if other:  # xarray would leave them out
            raise ValueError(
                f"the model has the variables {list(found)} and the Dataset {list(observed.data_vars)}; return what "
                f"there is to fit, ds[[...]].grad.fit(...) fits some of them (only in one: {sorted(other, key=str)})"
            )
        for n, x in found.items():
            _require_alike(x, observed[n], over)
    _require_alike(found, observed, over)
    off = found - observed
    tried = is_complex(off) and any(map(is_complex, Tree(p).parts))  # whether it has values for complex parameters
    return {"real": off.real, "imag": off.imag} if is_complex(off) and not tried else off


def _require_alike(found: Any, observed: Any, over: Sequence[Name]) -> None:
    """Raise if a model has dims that observations lack, each of which would count many times, or none of their labels.

    Nothing would be fitted then. Some labels may be lost by a shift within the model. Predictions meet one number.
    """
    several = isinstance(observed, (xr.DataArray, xr.Dataset)) and observed.dims
    if not isinstance(found, xr.DataArray) or not several:
        return
    sizes = f"the model has the dims {_sizes(found)}, but the observations {_sizes(observed)}; return what the data"
    if extra := [d for d in found.dims if d not in observed.dims and d not in over]:
        raise AxisError(f"{sizes} should be, without {extra}, or put dims whose cells are fits of their own into over=")
    for d in found.dims:
        if _are_apart(*(x.xindexes.get(d) for x in (found, observed))):
            raise AxisError(f"{sizes} should be, with some of their labels along {d!r}, or .drop_vars({d!r}) before")


def _are_apart(one: Any, other: Any) -> bool:
    """Whether two indexes have labels, but none in common."""
    if not isinstance(one, PandasIndex) or not isinstance(other, PandasIndex):
        return False
    return min(len(one.index), len(other.index)) > 0 and not one.index.isin(other.index).any()


def _sizes(x: Any) -> str:
    return f"({', '.join(f'{d}: {n}' for d, n in x.sizes.items())})"


def _reader(c: Any, time_units: str, time_origin: Any, home: Backend) -> Callable[[Any], Any]:
    """What makes numbers of a coordinate like this one; those of an index, which is on the host, where the data are."""
    read = _numbers(c, time_units, time_origin)
    on_host = isinstance(c, xr.DataArray) and c.name in c.indexes
    return functools.partial(_read_and_moved, read, home) if on_host else read


def _read_and_moved(read: Callable[[Any], Any], home: Backend, x: Any) -> Any:
    return _moved(read(x), home)


def _moved(x: Any, home: Backend) -> Any:
    """Labelled numbers from the host where they meet the data."""
    if home.meets_host or not isinstance(x, xr.DataArray) or not isinstance(x.data, np.ndarray):
        return x
    return xr.DataArray(xr.Variable(x.dims, home.asarray(x.values), x.attrs), x.coords, name=x.name)


def _numbers(c: Any, time_units: str, time_origin: Any) -> Callable[[Any], Any]:
    if not isinstance(c, xr.DataArray) or c.dtype.kind not in "iumMO":
        return _as_it_is
    origin = time_origin
    if origin is None and c.dtype.kind == "M":
        origin = np.nanmin(c.values)
    elif origin is None and c.dtype == object:
        origin = min(c.values.flat)
    return functools.partial(numeric, units=time_units, origin=origin)


def _as_it_is(x: Any) -> Any:
    return x


def _one_by_one(readers: Sequence[Callable[[Any], Any]], x: Any) -> Any:
    for read in readers:
        x = read(x)
    return x


def _read_like(c: Any, read: Callable[[Any], Any], home: Backend, x: Any) -> Any:
    """Other values of a coordinate as numbers; those without names lie along its own dim."""
    if not isinstance(c, xr.DataArray):
        return read(x)
    named = hasattr(x, "dims")
    if not named:
        x = in_place_of(c, _dates_like(c, np.asarray(x)))
    number = read(x) if named else _moved(read(x), home)
    return number.assign_coords(x.coords) if isinstance(x, xr.DataArray) else number


def _dates_like(c: xr.DataArray, x: Any) -> Any:
    """Dates that are given as text, or as objects, as those of a coordinate."""
    if c.dtype.kind == "M" and x.dtype.kind not in "iuf":
        return np.asarray(x, "datetime64[ns]" if x.dtype.kind == "O" else "datetime64")
    if c.dtype == object and x.dtype.kind == "U":
        same = {"periods": 1, "calendar": c.values.flat[0].calendar, "use_cftime": True}
        return np.array([xr.date_range(text, **same)[0] for text in x.flat], object).reshape(x.shape)
    return x


def _set_units(
    fit: LeastSquaresResult | LazyResult, residual: Callable[..., Any], params: Any, data: list[Any], over: Any,
    units: list[Any], home: Backend,
) -> None:  # fmt: skip
    """Units of parameters that have none, found with one cell of the data."""
    names = as_names(over)
    one = [
        x.isel({d: slice(0, 1) for d in names if d in x.dims}).compute() if isinstance(x, xr.DataArray) else x
        for x in data[:-1]
    ]
    observed = data[-1].isel({d: slice(0, 1) for d in names if d in data[-1].dims})
    bare = observed.drop_vars([*set(observed.coords) - set(observed.indexes)])  # others may be lazy
    one.append(_moved(bare.copy(data=np.ones(observed.shape)), home))  # what they are says nothing of units
    if not names:
        one[-1], names = one[-1].expand_dims(ONLY), (ONLY,)
    start: Any = dict.fromkeys(given_starts(params)[0], 1.0)
    if isinstance(params, xr.Dataset):
        start = xr.Dataset(start)
    problem = Residuals(residual, start, tuple(one), over=names, loss=None, sigma=None, prior=None, chunk=None)
    for name, found in parameter_units(problem, units[0], units[1:]).items():
        for several in (fit.params, fit.stderr):
            several[name].attrs.setdefault("units", found)
