"""What derivatives are for: sensitivity maps, the propagation of errors, checks, fits."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from namedgrad.transforms.grad import Part, value_and_grad
from namedgrad.transforms.leaves import adapter_of
from namedgrad.xarray.attrs import quotient

Args = tuple[Any, ...]


def chosen(obj: Any, f: Callable[..., Any], wrt: Any, kwargs: Mapping[str, Any]) -> Any:
    """``wrt`` with the names of variables and coordinates of ``obj``, which is argument 0, as parts of it."""
    if isinstance(wrt, str):
        return _part(obj, f, wrt, kwargs)
    if not isinstance(wrt, list):
        return wrt
    parts = [_part(obj, f, w, kwargs) for w in wrt]
    return Part(0, [p.entries for p in parts]) if parts and all(isinstance(p, Part) for p in parts) else parts


def _part(obj: Any, f: Callable[..., Any], name: Any, kwargs: Mapping[str, Any]) -> Any:
    """An argument's name or position as it is, a name of something in the object as a part of it."""
    if not isinstance(name, str) or name in kwargs:
        return name
    if isinstance(obj, xr.DataTree):
        name = name.removeprefix("/")
    known, arguments = adapter_of(obj).variables(obj), list(inspect.signature(f).parameters)  # type: ignore[attr-defined]
    if name in arguments[1:] or (name in arguments and name not in known):  # the first is the object itself
        return name
    if name not in known:
        raise TypeError(
            f"wrt={name!r} is neither an argument of the function, which are {arguments}, nor a variable or coordinate "
            f"of the {type(obj).__name__}, which are {list(known)}"
        )
    return Part(0, name)


def of_object(f: Callable[..., Any], args: Args, kwargs: Mapping[str, Any]) -> Callable[[Any], Any]:
    """``f`` as a function of its first argument."""

    @functools.wraps(f, updated=())
    def function(obj: Any) -> Any:
        return f(obj, *args, **kwargs)

    return function


def check(obj: Any, f: Callable[..., Any], order: int) -> None:
    """Compare derivatives and say in words what was found; see :meth:`Grad.check`."""
    from namedgrad.testing.check import compare

    for found in compare(f, (obj,), order):
        print(found)  # noqa: T201 - this is what it is for


# ------------------------------------------------------------------------------------------------ sensitivity


def sensitivity(
    obj: Any, f: Callable[..., Any], args: Args, kwargs: dict[str, Any], *, density: Any, relative: bool, over: Any
) -> Any:
    """The gradient, per cell size and as a ratio of relative changes if asked; see :meth:`Grad.sensitivity`."""
    value, gradient = value_and_grad(f, over=over)(obj, *args, **kwargs)
    scale = functools.partial(_scaled, density=density, value=value if relative else None)
    if isinstance(gradient, xr.DataTree):
        pairs = ((path, node.to_dataset(), obj[path].to_dataset()) for path, node in gradient.subtree_with_keys)
        return xr.DataTree.from_dict({p: _each(scale, g, own) for p, g, own in pairs}, name=gradient.name)
    return _each(scale, gradient, obj)


def _each(function: Callable[..., xr.DataArray], gradient: Any, obj: Any) -> Any:
    if not isinstance(gradient, xr.Dataset):
        return function(gradient, obj)
    return gradient.assign({n: function(g, obj[n]) for n, g in gradient.data_vars.items()})


def _scaled(gradient: xr.DataArray, own: xr.DataArray, *, density: Any, value: Any) -> xr.DataArray:
    """One array of a sensitivity, in the units that it has then."""
    out, units = gradient, gradient.attrs.get("units")
    if value is not None:
        out, units = out * own / value, "1"
    if density is not None:
        units = quotient(units, getattr(density, "attrs", {}).get("units"))
        if isinstance(density, xr.DataArray):  # cells that do not match would be left out without a word
            out, density = xr.align(out, density, join="exact", copy=False)
        out = out / density
    out = out.transpose(*gradient.dims, ...).assign_coords(gradient.coords).rename(gradient.name)
    out.attrs = {**{k: v for k, v in gradient.attrs.items() if k != "units"}, **({"units": units} if units else {})}
    return out


# ------------------------------------------------------------------------------------------------ fits


def fit(
    obj: Any, model: Callable[..., Any], coords: Any, params: Any, *, over: Any, time_units: str, time_origin: Any,
    options: Mapping[str, Any],
) -> Any:  # fmt: skip
    """``least_squares`` of ``model(params, *coords) - obj``; see :meth:`Grad.fit`."""
    from namedgrad.fit.model import fit_model

    return fit_model(
        obj, model, coords, params, over=over, time_units=time_units, time_origin=time_origin, options=options
    )
