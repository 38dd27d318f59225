"""Reference values: the same call in NumPy, SciPy or xarray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import xarray as xr

import namedgrad as ng
from tests.support.arrays import all_names


def data_array(a: Any) -> Any:
    """A DimArray as a DataArray without coordinates; anything else as it is."""
    return xr.DataArray(a.to_numpy(), dims=all_names(a)) if isinstance(a, ng.DimArray) else a


def _ufunc(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs, **kw: xr.apply_ufunc(f, *xs, kwargs=kw)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *more, **kw: getattr(x, name)(*more, **kw)


def _logsumexp(x: xr.DataArray, dim: Any = None, keepdims: bool = False) -> xr.DataArray:
    return x.reduce(scipy.special.logsumexp, dim, keepdims=keepdims)


def _position(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None: xr.DataArray(f(x.to_numpy())) if dim is None else x.reduce(f, dim)


def _along(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim: x.copy(data=f(x.to_numpy(), axis=x.dims.index(dim), kind="stable"))


def _quantile(x: xr.DataArray, q: Any, dim: Any) -> xr.DataArray:
    return x.quantile(q, dim).drop_vars("quantile")


def _flip(x: xr.DataArray, dim: Any = None) -> xr.DataArray:
    return x.isel(dict.fromkeys(x.dims if dim is None else [dim], slice(None, None, -1)))


def _stack(x: xr.DataArray, dim: dict[str, Any]) -> xr.DataArray:
    ((name, dims),) = dim.items()
    rest = [d for d in x.dims if d not in dims]
    flat = x.transpose(*rest, *dims).to_numpy()
    return xr.DataArray(flat.reshape(*flat.shape[: len(rest)], -1), dims=(*rest, name))


def _unstack(x: xr.DataArray, dim: dict[str, dict[str, int]]) -> xr.DataArray:
    ((name, sizes),) = dim.items()
    rest = [d for d in x.dims if d != name]
    last = x.transpose(*rest, name).to_numpy()
    return xr.DataArray(last.reshape(*last.shape[:-1], *sizes.values()), dims=(*rest, *sizes))


def _isel(x: xr.DataArray, indexers: dict[str, Any]) -> xr.DataArray:
    return x.isel({d: data_array(i) for d, i in indexers.items()})


def _concat(*xs: xr.DataArray, dim: str) -> xr.DataArray:
    sizes: dict[Any, int] = {}
    for x in xs:
        sizes.update(x.sizes)
    full = [x if dim in x.dims else x.expand_dims(dim) for x in xs]
    names = tuple(dict.fromkeys(d for x in full for d in x.dims))
    wide = []
    for x in full:
        shape = [x.sizes[d] if d == dim else sizes[d] for d in names]
        ordered = x.expand_dims([d for d in names if d not in x.dims]).transpose(*names)
        wide.append(np.broadcast_to(ordered.to_numpy(), shape))
    return xr.DataArray(np.concatenate(wide, axis=names.index(dim)), dims=names)


def _pad(x: xr.DataArray, pad_width: dict[str, Any], mode: str = "constant", constant_values: Any = None) -> xr.DataArray:
    return x.pad(pad_width, mode=mode, constant_values=constant_values)


def _cholesky(a: xr.DataArray, dims: tuple[str, str], lower: bool = True) -> xr.DataArray:
    rest = [d for d in a.dims if d not in dims]
    factor = np.linalg.cholesky(a.transpose(*rest, *dims).to_numpy())
    return xr.DataArray(factor if lower else np.swapaxes(factor, -1, -2).conj(), dims=(*rest, *dims)).transpose(*a.dims)


def _solve(a: xr.DataArray, b: xr.DataArray, dims: tuple[str, str]) -> xr.DataArray:
    inverse = xr.apply_ufunc(np.linalg.inv, a, input_core_dims=[dims], output_core_dims=[dims])
    x = xr.dot(inverse.rename({dims[0]: dims[1], dims[1]: dims[0]}), b, dim=dims[0])
    return x.transpose(*(d for d in dict.fromkeys((*a.dims, *b.dims)) if d in x.dims))


REFERENCES: dict[str, Callable[..., Any]] = {
    **{name: _ufunc(f) for name, f in vars(np).items() if isinstance(f, np.ufunc)},
    **{name: _ufunc(getattr(np, name)) for name in ("real", "imag", "angle", "round")},
    **{
        name: _method(name)
        for name in ["sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "any", "all", "count", "clip", "transpose", "expand_dims", "squeeze", "broadcast_like", "roll", "shift", "diff", "median", "cumprod"]
    },
    **{name: _position(getattr(np, name)) for name in ("argmax", "argmin")},
    **{name: _along(getattr(np, name)) for name in ("sort", "argsort")},
    "quantile": _quantile,
    "rename": lambda x, names: x.rename(names),
    "where": xr.where,
    "logsumexp": _logsumexp,
    "broadcast": xr.broadcast,
    "flip": _flip,
    "stack": _stack,
    "unstack": _unstack,
    "isel": _isel,
    "take": lambda x, index, dim: _isel(x, {dim: index}),
    "concat": _concat,
    "pad": _pad,
    "dot": xr.dot,
    "matmul": xr.dot,
    "outer": lambda x, y: x * y,
    "cholesky": _cholesky,
    "solve": _solve,
    "stop_gradient": lambda x: x,
}
