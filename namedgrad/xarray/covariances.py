"""Covariances of results, to first order: ``J C J.T`` by products with ``J`` and its adjoint, never by ``J`` itself."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xarray as xr

from namedgrad.axes import AxisError, Name
from namedgrad.ops import FUNCTIONS
from namedgrad.rules.structure import relabel
from namedgrad.transforms.jacobian import jacobian
from namedgrad.transforms.linearize import linearize
from namedgrad.transforms.vectorize import vmap
from namedgrad.xarray.attrs import squared
from namedgrad.xarray.convert import data_for, named
from namedgrad.xarray.jacobians import PARAM

SUFFIX = "_wrt"


def propagate(
    obj: Any,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    cov: Any,
    over: Any,
    chunk: int,
) -> Any:
    """``J cov J.T`` by name; see :meth:`Grad.propagate`.

    It is the Jacobian of the linear map that pulls a cotangent back, multiplies it with the covariance and pushes it
    forward again, so its passes are counted, cut into chunks and put together as those of any other.
    """

    def spread(obj: Any, cov: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        out, slope = linearize(lambda x: f(x, *args, **kwargs), obj)
        both_ways = jacobian(lambda c: slope(times(cov, slope.T(c), obj)), suffix=SUFFIX, chunk=chunk)
        return _described(both_ways(out), out)

    cov = _as_xarray(cov, obj)
    return (vmap(spread, over) if over else spread)(obj, cov, args, dict(kwargs))


def _as_xarray(cov: Any, obj: Any) -> Any:
    """Numbers for every cell of an array as one with its dims; a single number stays one."""
    shape = getattr(cov, "shape", ())
    if isinstance(cov, (xr.DataArray, xr.Dataset, xr.DataTree)) or not shape:
        return cov
    if shape != getattr(obj, "shape", None):
        raise AxisError(
            f"propagate: cov is a plain array of shape {shape}; give it dims with xr.DataArray(cov, dims=...)"
        )
    return xr.DataArray(cov, dims=obj.dims)


def _described(result: Any, out: Any) -> Any:
    """Named and in units as a covariance is."""
    if isinstance(result, xr.DataArray):
        name, units = getattr(out, "name", None), getattr(out, "attrs", {}).get("units")
        result.attrs = {"long_name": f"covariance of {name}"} if name is not None else {}
        result.attrs |= {"units": squared(units)} if isinstance(units, str) else {}
        result.name = name
    return result


# ------------------------------------------------------------------------------------------------ products


def times(cov: Any, g: Any, obj: Any) -> Any:
    """A covariance times an array, Dataset or DataTree like ``obj``."""
    if isinstance(g, xr.DataTree):
        known = dict(cov.subtree_with_keys) if isinstance(cov, xr.DataTree) else {}
        nodes = {
            path: times(known[path].to_dataset() if known else cov, node.to_dataset(), obj[path].to_dataset())
            for path, node in g.subtree_with_keys
        }
        return xr.DataTree.from_dict(nodes, name=g.name)
    if not isinstance(g, xr.Dataset):
        return _array(cov, g, obj)
    if isinstance(cov, xr.DataArray) and PARAM in cov.dims and PARAM not in g.dims:
        return _parameters(cov, g)
    return g.assign({n: _array(_of(cov, n), v, obj[n]) for n, v in g.data_vars.items()})


def _of(cov: Any, name: Name) -> Any:
    if not isinstance(cov, xr.Dataset):
        return cov
    if name not in cov.data_vars:
        raise AxisError(f"propagate: cov has no variable {name!r}; give one for each, 0.0 where it is exact")
    return cov[name]


def _array(cov: Any, g: xr.DataArray, obj: Any) -> xr.DataArray:
    """Variances multiply cell by cell; dims that cov has twice (``x``, ``x_wrt``) are contracted."""
    if not isinstance(cov, xr.DataArray):
        return g * cov
    mixed = [d for d in g.dims if f"{d}{SUFFIX}" in cov.dims]
    _check(cov, g, obj, mixed)
    there = {d: f"{d}{SUFFIX}" for d in mixed}
    out = FUNCTIONS["dot"](named(cov.variable), relabel(named(g.variable), there), dim=list(there.values()))
    return g.copy(data=data_for(out, g.dims))


def _check(cov: xr.DataArray, g: xr.DataArray, obj: Any, mixed: Sequence[Name]) -> None:
    """Raise unless a covariance has the dims and labels of its array."""
    known = [*g.dims, *(f"{d}{SUFFIX}" for d in mixed)]
    if unknown := [d for d in cov.dims if d not in known]:
        raise AxisError(f"propagate: cov has the dims {unknown}, but those of the input are {list(g.dims)}")
    for d in cov.dims:
        own = str(d).removesuffix(SUFFIX) if d not in g.dims else d
        if cov.sizes[d] != g.sizes[own]:
            raise AxisError(
                f"propagate: cov has {cov.sizes[d]} cells along {d!r}, the input {g.sizes[own]} along {own!r}"
            )
        if d in cov.indexes and own in obj.indexes and not cov.indexes[d].equals(obj.indexes[own]):
            raise AxisError(
                f"propagate: the labels of cov along {d!r} are not those of the input along {own!r}; "
                "select them first with .sel or .reindex"
            )


def _parameters(cov: xr.DataArray, g: xr.Dataset) -> xr.Dataset:
    """A covariance of the variables of a Dataset, as a fit gives it."""
    column = f"{PARAM}{SUFFIX}"
    for d in {PARAM, column}.intersection(cov.dims):
        if missing := [n for n in g.data_vars if d not in cov.indexes or n not in cov.indexes[d]]:
            raise AxisError(f"propagate: cov has no {missing[0]!r} along {d!r}")
    if column not in cov.dims:
        return g.assign({n: _array(cov.sel({PARAM: n}, drop=True), v, g) for n, v in g.data_vars.items()})
    rows = {n: cov.sel({PARAM: n}, drop=True) for n in g.data_vars}
    terms = {
        n: [_array(row.sel({column: m}, drop=True), v, g) for m, v in g.data_vars.items()] for n, row in rows.items()
    }
    return g.assign({n: g[n].copy(data=functools.reduce(operator.add, several).data) for n, several in terms.items()})
