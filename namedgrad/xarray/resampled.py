"""Functions of coordinates on xarray objects: the coordinates of the object are those that the function works with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray
from namedgrad.primitive import OPERATIONS
from namedgrad.xarray.convert import data_for, named


def _numbers(v: xr.Variable, like: xr.Variable) -> xr.Variable:
    """Times as nanoseconds from the first of ``like``."""
    if like.dtype.kind not in "mM":
        return v
    start = like.values.min()
    unit = np.timedelta64(1, "ns")
    return v.copy(data=(v.astype(like.dtype).values - start) / unit)


def _position(x: xr.DataArray, dim: Hashable) -> xr.Variable | None:
    """The coordinate of a dim, None if there is none."""
    return x.coords[dim].variable if dim in x.coords else None


def _interp(
    x: Any, /, targets: Any = None, coords: Any = None, method: str = "linear", *, dim: Any = None, **options: Any
) -> Any:
    """As the function for DimArrays; the coordinates of the object are where its cells are, if it has any."""
    given = targets if isinstance(targets, Mapping) else {} if targets is None else {dim: targets}
    given = {**given, **{k: options.pop(k) for k in list(options) if k in x.dims}}
    if isinstance(x, xr.Dataset):

        def one(v: xr.DataArray) -> xr.DataArray:
            mine = {d: t for d, t in given.items() if d in v.dims}
            return _interp(v, mine, coords, method, **options) if mine else v

        return x.map(one, keep_attrs=True)
    at = {d: t.variable if isinstance(t, xr.DataArray) else _target(t, d) for d, t in given.items()}
    known = {d: _known(x, d, coords) for d in at}
    to = {d: named(t if (k := known[d]) is None else _numbers(t, k)) for d, t in at.items()}
    where = {d: named(_numbers(k, k)) for d, k in known.items() if k is not None}
    out = OPERATIONS["interp"].function(named(x.variable), to, where, method, **options)
    kept = {n: c for n, c in x.coords.items() if not set(c.dims) & set(at) and n not in at}
    new: dict[Any, Any] = {
        n: _interp(
            c.reset_coords(drop=True), {d: t for d, t in given.items() if d in c.dims}, coords, method, **options
        )
        for n, c in x.coords.items()
        if set(c.dims) & set(at) and n not in at and c.dtype.kind in "fiu"
    }
    new = {n: c.variable for n, c in new.items()}
    for d, t in given.items():
        new |= {n: c for n, c in t.coords.items() if n not in at} if isinstance(t, xr.DataArray) else {}
        new[d] = at[d]
    return xr.DataArray(data_for(out, out.dims), {**kept, **new}, out.dims, x.name, x.attrs)


def _target(t: Any, dim: Hashable) -> xr.Variable:
    data = np.asarray(t) if isinstance(t, (list, tuple, str)) else t
    return t if isinstance(t, xr.Variable) else xr.Variable((dim,) if np.ndim(data) else (), data)


def _known(x: xr.DataArray, dim: Hashable, coords: Any) -> xr.Variable | None:
    if coords is None:
        return _position(x, dim)
    given = coords.get(dim) if isinstance(coords, Mapping) else coords
    return given.variable if isinstance(given, xr.DataArray) else None if given is None else _target(given, dim)


def _polyfit(
    x: xr.DataArray, coord: Any = None, weights: Any = None, *, dim: Any = None, deg: Any = None, w: Any = None,
    **options: Any,
) -> xr.DataArray:  # fmt: skip
    """Coefficients with the powers as labels."""
    if dim is None and not isinstance(coord, xr.DataArray):
        dim, coord = coord, None
        deg, weights = (weights, None) if deg is None else (deg, weights)
    w = weights if w is None else w
    position = _position(x, dim) if coord is None else coord.variable
    at = None if position is None else named(_numbers(position, position))
    w = named(w.variable) if isinstance(w, xr.DataArray) else None if w is None else DimArray(w, (dim,))
    out = OPERATIONS["polyfit"].function(named(x.variable), at, w, dim=dim, deg=deg, **options)
    degree = options.get("degree", "degree")
    kept = {n: c for n, c in x.coords.items() if dim not in c.dims and n != dim}
    powers = np.arange(out.sizes[degree])[::-1]
    return xr.DataArray(data_for(out, out.dims), {**kept, degree: powers}, out.dims, x.name)


def _polyval(x: Any, coefficients: Any, degree: str = "degree") -> Any:
    return xr.polyval(x, coefficients, degree_dim=degree)


def _calculus(name: str) -> Callable[..., Any]:
    """Xarray's own method, along coordinates of the object, unless others are given."""

    def function(x: Any, coord: Any = None, dim: Any = None, **options: Any) -> Any:
        if not isinstance(coord, (xr.DataArray, xr.Variable, DimArray, float)) and dim is None:
            coord, dim = None, coord
        if coord is None and all(d in x.coords for d in ([dim] if isinstance(dim, Hashable) else dim)):
            return getattr(x, name)(dim, **options)
        from namedgrad.xarray.faces import by_name

        return by_name(OPERATIONS[name], (x,) if coord is None else (x, coord), {"dim": dim, **options})

    return function


def _pairwise(name: str) -> Callable[..., Any]:
    """Objects whose sizes along the dims differ: they are aligned along all others."""

    def function(x: Any, y: Any, dim: Any, mode: str | None = None) -> Any:
        from namedgrad.xarray.faces import dress

        dims = [dim] if isinstance(dim, str) or not isinstance(dim, (list, tuple)) else list(dim)
        x, y = xr.align(x, y, join=xr.get_options()["arithmetic_join"], copy=False, exclude=dims)
        options = {} if mode is None else {"mode": mode}
        out = OPERATIONS[name].function(named(x.variable), named(y.variable), dim, **options)
        return dress(out, [x, y], tuple(dims))

    return function


RESAMPLED: dict[str, Callable[..., Any]] = {
    "interp": _interp, "polyfit": _polyfit, "polyval": _polyval,
    **{name: _calculus(name) for name in ("differentiate", "integrate", "cumulative_integrate")},
    **{name: _pairwise(name) for name in ("convolve", "correlate", "fftconvolve")},
}  # fmt: skip
