"""What derivatives are for: sensitivity maps, the propagation of errors, fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.axes import AxisError
from namedgrad.transforms.grad import value_and_grad
from namedgrad.transforms.jacobian import jacobian
from namedgrad.xarray.attrs import quotient

Args = tuple[Any, ...]


def sensitivity(
    obj: Any, f: Callable[..., Any], args: Args, kwargs: dict[str, Any], *, density: Any, relative: bool, over: Any
) -> Any:
    """The gradient, per cell size and as a ratio of relative changes if asked; see :meth:`Grad.sensitivity`."""
    value, gradient = value_and_grad(f, over=over)(obj, *args, **kwargs)
    out = gradient
    if relative:
        own = obj[list(gradient.data_vars)] if isinstance(obj, xr.Dataset) else obj
        out = out * own / value
    if density is not None:
        out = out / density
    if isinstance(out, xr.Dataset):
        for n in out.data_vars:
            out[n].attrs = _attrs(gradient[n].attrs, density, relative=relative)
    else:
        out = out.transpose(*gradient.dims, ...)
        out.attrs = _attrs(gradient.attrs, density, relative=relative)
        out.name = gradient.name
    return out


def _attrs(attrs: dict[str, Any], density: Any, *, relative: bool) -> dict[str, Any]:
    made = dict(attrs)
    units: Any = "1" if relative else made.pop("units", None)
    if density is not None:
        units = quotient(units, getattr(density, "attrs", {}).get("units"))
    made.pop("units", None)
    return made if units is None else {**made, "units": units}


_IN, _OTHER = "_namedgrad_in", "_namedgrad_other"


def propagate(
    obj: Any, f: Callable[..., Any], args: Args, kwargs: dict[str, Any], *, cov: Any, over: Any
) -> xr.DataArray:
    """``J cov J.T`` by name; see :meth:`Grad.propagate`."""
    jac = jacobian(f, over=over, suffix=_IN)(obj, *args, **kwargs)
    if not isinstance(jac, xr.DataArray):
        raise TypeError(
            "propagate needs one array, or a Dataset of numbers, as input and one array as output; "
            f"this Jacobian is a {type(jac).__name__}"
        )
    shared = tuple(over) if isinstance(over, (tuple, list)) else (over,)
    ins = [d.removesuffix(_IN) for d in jac.dims if isinstance(d, str) and d.endswith(_IN)]
    outs = [d for d in jac.dims if d not in shared and d not in {n + _IN for n in ins}]
    cov = _checked(cov, ins, shared)
    # Dims along which errors are correlated have a second name on the right; along the others both sides are one.
    correlated = [d for d in ins if f"{d}_wrt" in cov.dims]
    cov = _renamed(cov, {d: d + _IN for d in ins} | {f"{d}_wrt": d + _OTHER for d in correlated})
    right = _renamed(jac, {d: f"{d}_wrt" for d in outs} | {d + _IN: d + _OTHER for d in correlated})
    half = xr.dot(jac, cov, dim=[d + _IN for d in correlated])
    out = xr.dot(half, right, dim=[d + (_OTHER if d in correlated else _IN) for d in ins])
    out.attrs, out.name = {}, None
    return out.transpose(*(d for d in jac.dims if d in out.dims), ...)


def _checked(cov: Any, ins: list[str], shared: tuple[Any, ...]) -> xr.DataArray:
    """A covariance as a DataArray, refused if it has dims that the input lacks."""
    cov = cov if isinstance(cov, xr.DataArray) else xr.DataArray(cov)
    known = [*ins, *(f"{d}_wrt" for d in ins), *shared]
    if unknown := [d for d in cov.dims if d not in known]:
        raise AxisError(f"propagate: cov has the dims {unknown}, but those of the input are {known}")
    return cov


def _renamed(x: xr.DataArray, table: Mapping[Any, str]) -> xr.DataArray:
    """Dims and the coordinates called like them renamed; other coordinates do not matter here."""
    bare = x.drop_vars([n for n in x.coords if n not in x.dims])
    return bare.rename({old: new for old, new in table.items() if old in bare.dims})


def fit(
    obj: Any, model: Callable[..., Any], coords: Any, params: Any, *, over: Any, options: Mapping[str, Any]
) -> Any:
    """``least_squares`` of ``model(params, *coords) - obj``; see :meth:`Grad.fit`."""
    from namedgrad.fit import least_squares

    if not isinstance(obj, xr.DataArray):
        raise TypeError(f"a {type(obj).__name__} has no single array to fit; take one of its variables")
    given = coords if isinstance(coords, (tuple, list)) else (coords,)
    arrays = [obj[c] if isinstance(c, str) else c for c in given]
    for c in arrays:
        if getattr(c, "dtype", np.dtype(float)).kind in "MmO":
            raise TypeError(
                f"the coordinate {c.name!r} is of dtype {c.dtype}; give the model numbers, for example "
                f"(x.time - x.time[0]) / np.timedelta64(1, 'D') for days"
            )

    def residual(p: Any, *data: Any) -> Any:
        return model(p, *data[:-1]) - data[-1]

    return least_squares(residual, params, *arrays, obj, over=over, **options)
