"""What derivatives are for: sensitivity maps and the propagation of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


_IN, _OTHER = "_namedgrad_in", "_namedgrad_in2"


def propagate(
    obj: Any, f: Callable[..., Any], args: Args, kwargs: dict[str, Any], *, cov: Any, over: Any
) -> xr.DataArray:
    """``J cov J.T`` by name; see :meth:`Grad.propagate`."""
    left = jacobian(f, over=over, suffix=_IN)(obj, *args, **kwargs)
    if not isinstance(left, xr.DataArray):
        raise TypeError(
            "propagate needs one array, or a Dataset of numbers, as input and one array as output; "
            f"this Jacobian is a {type(left).__name__}"
        )
    ins = [d.removesuffix(_IN) for d in left.dims if isinstance(d, str) and d.endswith(_IN)]
    c = cov if isinstance(cov, xr.DataArray) else xr.DataArray(cov)
    coupled = [d for d in ins if f"{d}_wrt" in c.dims]
    free = [d for d in left.dims if not str(d).endswith(_IN) and d not in _names(over)]
    known = {*ins, *(f"{d}_wrt" for d in ins), *_names(over)}
    if unknown := [d for d in c.dims if d not in known]:
        raise AxisError(f"propagate: cov has the dims {unknown} that the input lacks; its dims are {tuple(sorted(known))}")
    c = _renamed(c, {**{d: d + _IN for d in ins}, **{f"{d}_wrt": d + _OTHER for d in coupled}})
    right = _renamed(left, {**{d: f"{d}_wrt" for d in free}, **{d + _IN: d + _OTHER for d in coupled}})
    inner = [*(d + _IN for d in ins), *(d + _OTHER for d in coupled)]
    out = xr.dot(left * c if not coupled else xr.dot(left, c, dim=[d + _IN for d in coupled]), right, dim=[
        d for d in inner if d not in {e + _IN for e in coupled}])
    out.attrs, out.name = {}, None
    return out.transpose(*(d for d in left.dims if d in out.dims), ...)


def _names(over: Any) -> tuple[Any, ...]:
    return tuple(over) if isinstance(over, (tuple, list)) else (over,)


def _renamed(x: xr.DataArray, table: dict[str, str]) -> xr.DataArray:
    """Dims and the coordinates called like them renamed; other coordinates do not matter here."""
    bare = x.drop_vars([n for n in x.coords if n not in x.dims])
    return bare.rename({old: new for old, new in table.items() if old in bare.dims})
