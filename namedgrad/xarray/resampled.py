"""Functions of coordinates on xarray objects: the coordinates of the object are those that the function works with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray
from namedgrad.primitive import OPERATIONS
from namedgrad.xarray.convert import data_for, named
from namedgrad.xarray.fitting import as_numbers


def _numbers(v: xr.Variable, like: xr.Variable) -> xr.Variable:
    """Dates and times as nanoseconds from the first of ``like``."""
    if like.dtype.kind not in "mMO":
        return v
    if like.dtype.kind == "O":  # dates of cftime, whose differences Python counts in microseconds
        since = np.array(v.values - like.values.min(), dtype="m8[us]")
    else:  # of one unit: xarray's own difference takes the numbers of two units for those of one
        since = v.astype(like.dtype).values - like.values.min()
    return v.copy(data=since / np.timedelta64(1, "ns"))


def _position(x: xr.DataArray, dim: Hashable) -> xr.Variable | None:
    """The coordinate of a dim, None if there is none."""
    return x.coords[dim].variable if dim in x.coords else None


# ------------------------------------------------------------------------------------------------ other coordinates


def _interp(
    x: Any, /, targets: Any = None, coords: Any = None, method: str = "linear", *, dim: Any = None, kwargs: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """As the function for DimArrays, with the coordinates that xarray's method gives.

    The coordinates of the object are where its cells are, if it has any.
    """
    _refuse_datasets("interp", targets, coords)
    given = targets if isinstance(targets, Mapping) else {} if targets is None else {dim: targets}
    given = {**given, **{k: options.pop(k) for k in list(options) if k in x.dims}}
    options = {**options, **(kwargs or {})}
    variables: dict[Hashable, Any] = {n: v for n, v in x.coords.items() if n not in given and _moves(v, given)}
    frame = (x if isinstance(x, xr.Dataset) else x.coords.to_dataset()).drop_vars(list(variables))
    if isinstance(x, xr.Dataset):
        frame = frame.drop_vars([n for n, v in x.data_vars.items() if _moves(v, given)])
    if coords is None:  # cells without coordinates are counted
        frame = frame.assign_coords({d: np.arange(x.sizes[d]) for d in given if d in x.dims and d not in x.coords})
    frame = _frame(frame, given, coords, method, assume_sorted=options.get("assume_sorted", False))
    at = {d: _target(t, d) for d, t in given.items()}
    at |= {d: frame.coords[d].variable for d, t in at.items() if t.dtype.kind in "UT"}  # dates that xarray has read

    known = {d: _known(x, d, coords) for d in at}

    def one(v: Any) -> xr.Variable:
        return _at_targets(v, {d: (known[d], t) for d, t in at.items() if d in v.dims}, method, options)

    frame = frame.assign_coords({n: one(v) for n, v in variables.items()})
    if isinstance(x, xr.Dataset):
        made = {n: one(v) for n, v in x.data_vars.items() if _moves(v, given)}
        return frame.assign(made)[list(x.data_vars)]
    return xr.DataArray(one(x) if set(at) & set(x.dims) else x.variable, frame.coords, name=x.name)


def _refuse_datasets(name: str, *given: Any) -> None:
    if any(isinstance(v, xr.Dataset) for v in given):
        raise TypeError(f"{name} takes a Dataset as the data only; other arguments are arrays, such as ds[name]")


def _moves(v: Any, given: Mapping[Any, Any]) -> bool:
    """Whether numbers are interpolated; of what is none, xarray takes the nearest cells."""
    return v.dtype.kind in "fciu" and not given.keys().isdisjoint(v.dims)


def _frame(ds: xr.Dataset, given: Mapping[Any, Any], coords: Any, method: str, *, assume_sorted: bool) -> xr.Dataset:
    """Everything but the numbers, at the targets."""
    if coords is not None:  # places of the cells that are no coordinates of theirs
        out = ds.drop_dims(list(given), errors="ignore")
        own = [t.coords for t in given.values() if isinstance(t, xr.DataArray)]
        out = out.assign_coords({n: c for places in own for n, c in places.items() if n not in given})
        return out.assign_coords({d: _target(t, d) for d, t in given.items()})
    method = method if method == "nearest" else "linear"
    return ds.interp(given, method=method, assume_sorted=assume_sorted)  # type: ignore[arg-type]


def _at_targets(
    v: Any, pairs: Mapping[Any, tuple[xr.Variable | None, xr.Variable]], method: str, options: Mapping[str, Any]
) -> xr.Variable:
    """Numbers at other places: {dim: (places of the cells, targets)}."""
    to = {d: named(t if k is None else _numbers(t, k)) for d, (k, t) in pairs.items()}
    where = {d: named(_numbers(k, k)) for d, (k, _) in pairs.items() if k is not None}
    out = OPERATIONS["interp"].function(named(getattr(v, "variable", v)), to, where, method, **options)
    return xr.Variable(out.dims, data_for(out, out.dims), v.attrs)


def _target(t: Any, dim: Hashable) -> xr.Variable:
    if isinstance(t, (xr.DataArray, xr.Variable)):
        return t.variable if isinstance(t, xr.DataArray) else t
    if isinstance(t, tuple) and len(t) == 2 and isinstance(t[0], (str, tuple, list)) and np.ndim(t[1]):
        return xr.Variable(*t)
    data = np.asarray(t) if isinstance(t, (list, tuple, str)) else t
    return xr.Variable((dim,) if np.ndim(data) else (), data)


def _known(x: Any, dim: Hashable, coords: Any) -> xr.Variable | None:
    if coords is None:
        return _position(x, dim)
    given = coords.get(dim) if isinstance(coords, Mapping) else coords
    return None if given is None else _target(given, dim)


# ------------------------------------------------------------------------------------------------ polynomials


def _polyfit(
    x: Any, coord: Any = None, weights: Any = None, *, dim: Any = None, deg: Any = None, w: Any = None,
    degree: Hashable = "degree", **options: Any,
) -> Any:  # fmt: skip
    """Coefficients with the powers as labels, of positions as xarray counts them, so that ``polyval`` meets them."""
    if dim is None and not isinstance(coord, (xr.DataArray, xr.Variable)):
        dim, coord = coord, None
        deg, weights = (weights, None) if deg is None else (deg, weights)
    w = weights if w is None else w
    if options.get("full") or options.get("cov"):
        raise TypeError(f"polyfit: the figures of a fit are given by x.polyfit({dim!r}, {deg!r}, full=True, cov=True)")
    _refuse_datasets("polyfit", coord, w)
    if isinstance(x, xr.Dataset):
        line = x[dim].dims[0] if coord is None else dim
        options |= {"coord": coord, "dim": dim, "deg": deg, "w": w, "degree": degree}
        return xr.Dataset({n: _polyfit(v, **options) for n, v in x.data_vars.items() if line in v.dims}, attrs=x.attrs)
    x, coord, w = _aligned(x, coord, x.coords[w] if isinstance(w, str) else w)
    if coord is None and (dim in x.dims or dim in x.coords):
        coord = x[dim]
        (dim,) = coord.dims  # that of a coordinate along it
    at = None if coord is None else named(as_numbers(_target(coord, dim)))
    w = None if w is None else named(_target(w, dim))
    out = OPERATIONS["polyfit"].function(named(x.variable), at, w, dim=dim, deg=deg, degree=degree, **options)
    kept = x.coords.to_dataset().drop_dims(dim, errors="ignore").coords
    powers = np.arange(out.sizes[degree])[::-1]
    return xr.DataArray(data_for(out, out.dims), kept, out.dims, x.name).assign_coords({degree: powers})


def _aligned(x: xr.DataArray, *others: Any) -> tuple[Any, ...]:
    """All that have labels, aligned as in arithmetic."""
    labelled = [o for o in others if isinstance(o, xr.DataArray)]
    x, *labelled = xr.align(x, *labelled, join=xr.get_options()["arithmetic_join"], copy=False)
    found = iter(labelled)
    return x, *(next(found) if isinstance(o, xr.DataArray) else o for o in others)


def _polyval(x: Any, coefficients: Any, degree: str = "degree") -> Any:
    return xr.polyval(x, coefficients, degree_dim=degree)


def _calculus(name: str) -> Callable[..., Any]:
    """Xarray's own method, along coordinates of the object, unless others are given."""

    def function(x: Any, coord: Any = None, *more: Any, dim: Any = None, **options: Any) -> Any:
        if not isinstance(coord, (xr.DataArray, xr.Variable, DimArray, float)) and dim is None:
            coord, dim = None, coord
            if all(d in x.coords for d in ([dim] if isinstance(dim, Hashable) else dim)):
                return getattr(x, name)(dim, *more, **options)
        from namedgrad.xarray.faces import by_name

        places = (coord, *more) if dim is None else (coord, dim, *more)
        return by_name(OPERATIONS[name], (x, *places), options)

    return function


RESAMPLED: dict[str, Callable[..., Any]] = {
    "interp": _interp, "polyfit": _polyfit, "polyval": _polyval,
    **{name: _calculus(name) for name in ("differentiate", "integrate", "cumulative_integrate")},
}  # fmt: skip
