"""What follows from fitted parameters, and how sure it is: the delta method, without a Jacobian of everything."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.axes import Name
from namedgrad.fit.problem import require_free
from namedgrad.transforms.grad import pullback, pushforward

CLOSE = 1e-9


def confint(params: xr.Dataset, stderr: xr.Dataset, dof: xr.DataArray, level: float) -> xr.Dataset:
    """See :meth:`~namedgrad.fit.sure.Sure.confint`."""
    from scipy.special import stdtrit

    if not isinstance(level, numbers.Real):
        raise TypeError(f"level must be a number, the same for all parameters, got {type(level).__name__}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    require_free(dof.dims, ["bound"], "confint")
    with np.errstate(invalid="ignore"):
        quantile = xr.apply_ufunc(
            stdtrit, np.maximum(dof, 1), 0.5 * (1 + level), dask="parallelized", output_dtypes=[float]
        )
        reach = stderr * quantile
    bound = xr.DataArray([-1.0, 1.0], dims="bound", coords={"bound": ["lower", "upper"]})
    out = (params + reach.fillna(0.0).where(stderr.notnull()) * bound).transpose(..., "bound")
    out.attrs = dict(params.attrs)
    for name, v in out.items():
        about = params[name].attrs
        v.attrs = {**about, "long_name": f"{level:.4g} confidence interval of {about.get('long_name', name)}"}
    return out


def propagate(g: Callable[[xr.Dataset], Any], params: xr.Dataset, covariance: Any) -> xr.Dataset:
    """``g(params)`` and its standard error, given the covariance of the parameters of each cell.

    Where each cell of the result depends on the parameters of that cell alone, one forward pass per parameter is all
    that is needed; else one pass per number of the result or per number of the parameters, whichever is less.
    """
    value = g(params)
    if isinstance(value, xr.Dataset):
        parts = {n: propagate(functools.partial(_variable, g, n), params, covariance) for n in value.data_vars}
        found = {f"{n}_{what}": v for n, part in parts.items() for what, v in part.items()}
        return xr.Dataset(found, attrs=value.attrs)
    if not isinstance(value, xr.DataArray):
        raise TypeError(f"propagate: the function must return a DataArray or Dataset, got {type(value).__name__}")
    if value.chunks is None:
        data = _deviation(g, params, covariance)
    else:
        import dask.array as da
        from dask.delayed import delayed

        data = da.from_delayed(delayed(_deviation)(g, _waiting(params), _waiting(covariance)), value.shape, float)
    stderr = value.copy(data=data)
    stderr.attrs = {"long_name": f"standard error of {value.attrs.get('long_name', value.name or 'the value')}"}
    if "units" in value.attrs:
        stderr.attrs["units"] = value.attrs["units"]
    return xr.Dataset({"value": value, "stderr": stderr})


def _variable(g: Callable[[xr.Dataset], xr.Dataset], name: Name, params: xr.Dataset) -> xr.DataArray:
    return g(params)[name]


def _waiting(x: Any) -> Any:
    """A lazy array or Dataset as a task; its chunks keep the names by which dask knows that others need them, too."""
    from dask.delayed import delayed

    def whole(v: xr.DataArray) -> Any:
        return v.data if v.chunks is None else delayed(np.block)(v.data.to_delayed(optimize_graph=False).tolist())

    if isinstance(x, xr.DataArray):
        return delayed(x.copy(data=np.broadcast_to(np.nan, x.shape)).copy)(data=whole(x))
    empty = x.copy(data={n: np.broadcast_to(np.nan, v.shape) for n, v in x.items()})
    return delayed(empty.copy)(data={n: whole(v) for n, v in x.items()})


def _deviation(g: Callable[..., Any], params: xr.Dataset, covariance: Any) -> Any:
    value = g(params)
    variance = _variance(g, params, covariance, value).transpose(*value.dims).values
    return np.where(np.isnan(value.values), np.nan, np.sqrt(variance))


def _variance(g: Callable[..., Any], params: xr.Dataset, covariance: Any, value: xr.DataArray) -> xr.DataArray:
    if isinstance(covariance, Mapping):
        return _by_rows(g, params, functools.partial(_blocks, covariance), value)
    cells = tuple(d for d in covariance.dims if d not in ("param", "param_wrt"))
    free = [n for n, v in params.items() if {*cells} <= {*v.dims}]
    if len(free) < len(params):  # one that lacks a dim is fixed
        rows = [i for i, n in enumerate(params) if n in free]
        some = covariance.isel(param=rows, param_wrt=rows)
        return _variance(lambda p: g(params.assign({n: p[n].variable for n in free})), params[free], some, value)
    covariance = _bare(covariance)
    if _is_cellwise(g, params, value, cells):
        columns = [_along(g, params, {n: xr.ones_like(params[n])}) for n in params.data_vars]
        return _form(covariance, columns)
    if value.size <= sum(v.size for v in params.values()):
        return _by_rows(g, params, functools.partial(_form, covariance), value)
    return _by_columns(g, params, covariance, cells, value)


def _along(g: Callable[..., Any], params: xr.Dataset, tangents: dict[Any, xr.DataArray]) -> xr.DataArray:
    """The derivative along a direction; 0 for parameters that it does not name."""
    full = {n: tangents.get(n, xr.zeros_like(v)).data for n, v in params.items()}
    return pushforward(g, (params,), (params.copy(data=full),))[1]


def _is_cellwise(g: Callable[..., Any], params: xr.Dataset, value: xr.DataArray, cells: Sequence[Name]) -> bool:
    """Whether no cell of the result depends on the parameters of another: then slopes scale cell by cell."""
    if any(value.sizes.get(d) != params.sizes[d] for d in cells):
        return False
    rng = np.random.default_rng(0)
    shape = tuple(params.sizes[d] for d in cells)
    own = xr.DataArray(rng.uniform(1, 2, shape), dims=cells)
    tangents = {n: v.copy(data=rng.uniform(1, 2, v.shape)) for n, v in params.items()}
    once = _bare(_along(g, params, tangents))
    scaled = _bare(_along(g, params, {n: (t * own).transpose(*t.dims) for n, t in tangents.items()}))
    off = abs(scaled - once * own)
    return bool(((off <= CLOSE * abs(scaled)) | ~np.isfinite(off)).all())


def _form(covariance: xr.DataArray, slopes: Sequence[xr.DataArray]) -> xr.DataArray:
    """``slopes @ covariance @ slopes``."""
    parts, slopes = [], [_bare(x) for x in slopes]
    for i, x in enumerate(slopes):
        for j, y in enumerate(slopes):
            parts.append(_times(x * y, covariance[..., i, j]))
    return sum(parts[1:], parts[0])


def _blocks(covariance: Mapping[Any, Any], slopes: Sequence[xr.DataArray]) -> xr.DataArray:
    """The same for blocks by pairs of parameters, whose second has dims with ``_wrt``."""
    known = {x.name: x for x in slopes}
    parts = []
    for a, b in covariance:
        block, right = _bare(covariance[a, b]), _bare(known[b])
        right = right.rename({d: f"{d}_wrt" for d in right.dims if f"{d}_wrt" in block.dims})
        parts.append(_times(_bare(known[a]) * right, block).sum(skipna=False))
    return sum(parts[1:], parts[0])


def _times(weight: xr.DataArray, covariance: xr.DataArray) -> xr.DataArray:
    """Parts of a variance: what has no slope adds nothing, however unsure it is; what has one and is not known, all."""
    weight = abs(weight).where(np.isinf(covariance), weight)
    return (weight * covariance).where(weight != 0, 0.0)


def _bare(x: xr.DataArray) -> xr.DataArray:
    """Without coordinates, so that cells meet by position: a result may have others, or none."""
    return x.drop_vars(list(x.coords))


def _by_rows(g: Callable[..., Any], params: xr.Dataset, form: Callable[..., Any], value: xr.DataArray) -> xr.DataArray:
    """Variances of a few numbers, by reverse passes."""
    pull = pullback(g, params)[1]
    out = np.empty(value.size)
    for i in range(value.size):
        one = np.zeros(value.size)
        one[i] = 1.0
        gradient = pull(value.copy(data=one.reshape(value.shape)))
        out[i] = float(form([gradient[n] for n in params.data_vars]).sum(skipna=False))
    return value.copy(data=out.reshape(value.shape))


def _by_columns(
    g: Callable[..., Any], params: xr.Dataset, covariance: xr.DataArray, cells: Sequence[Name], value: xr.DataArray
) -> xr.DataArray:
    """Variances of many numbers of parameters of few cells, by forward passes."""
    total = xr.zeros_like(_bare(value), float)
    for at in np.ndindex(*(params.sizes[d] for d in cells)):
        here = dict(zip(cells, at, strict=True))
        columns = []
        for n in params.data_vars:
            one = xr.zeros_like(params[n])
            one[here] = 1.0
            columns.append(_along(g, params, {n: one}))
        total = total + _form(covariance.isel(here, drop=True), columns)
    return total
