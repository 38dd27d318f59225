"""Public functions on xarray objects: they take and return DataArrays, Variables and Datasets.

Arrays are aligned by their labels as in xarray's arithmetic.  A result has the coordinates of the dims that survive.
Functions that xarray has as methods, where coordinates change too (``isel``, ``roll``, ``pad`` ...), are those methods:
they run on traced data as on any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xarray as xr

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.backends.failures import MatrixError
from namedgrad.ops import add_face
from namedgrad.primitive import Operation
from namedgrad.xarray.convert import coordinates, data_for, hidden_names, named
from namedgrad.xarray.resampled import RESAMPLED

_METHODS = frozenset(
    (
        "isel", "roll", "shift", "pad", "diff", "stack", "rename", "transpose", "expand_dims", "squeeze",
        "broadcast_like", "swap_dims", "head", "tail", "thin", "idxmax", "idxmin",
    )
)  # fmt: skip
_KEEPS_PLACES = frozenset(
    (
        "elementwise", "special", "activations", "structure", "complex", "reductions", "scans", "contraction", "linalg",
        "layers", "losses", "control", "random",
    )
)  # fmt: skip
_CELL_BY_CELL = frozenset(("detrend", "differentiate", "cumulative_integrate", "tril", "triu"))
_INVERSES = frozenset(("inv", "pinv"))
_KINDS = (xr.DataArray, xr.Variable, xr.Dataset)


def on_xarray(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation on xarray objects."""
    if isinstance(args[0], _KINDS) and not isinstance(args[0], xr.Variable):
        if op.name in RESAMPLED:
            return RESAMPLED[op.name](*args, **kwargs)
        if op.name in _METHODS or (isinstance(args[0], xr.Dataset) and hasattr(args[0], op.name)):
            return getattr(args[0], op.name)(*args[1:], **kwargs)
        if op.name in _SPECIAL:
            return _SPECIAL[op.name](*args, **kwargs)
    return by_name(op, args, kwargs)


def by_name(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation on the named arrays of xarray objects."""
    if any(isinstance(a, xr.Dataset) for a in _flat(args, kwargs)):
        return _by_variable(op, args, kwargs)
    arrays = [a for a in _flat(args, kwargs) if isinstance(a, xr.DataArray)]
    aligned = iter(xr.align(*arrays, join=xr.get_options()["arithmetic_join"], copy=False))
    met: list[Any] = []

    def strip(value: Any) -> Any:
        if isinstance(value, xr.DataArray):
            met.append(next(aligned))
            return named(met[-1].variable)
        if isinstance(value, xr.Variable):
            met.append(value)
            return named(value)
        return type(value)(map(strip, value)) if isinstance(value, (list, tuple)) else value

    read = [strip(a) for a in args]
    options = {k: strip(v) for k, v in kwargs.items()}
    try:
        out = op.function(*read, **options)
    except MatrixError as error:
        raise error.labelled(_batch_labels(met)) from None
    keeps = op.family in _KEEPS_PLACES or op.name in _CELL_BY_CELL
    moved = () if keeps else _mentioned(args[1:], kwargs)
    if op.family == "fourier" and not moved:  # along all dims
        moved = tuple(d for a in met for d in a.dims)
    if op.name in _INVERSES:
        return _inverse(out, met, *(kwargs["dims"] if "dims" in kwargs else args[1]))
    return dress(out, met, moved)


def _inverse(out: Any, met: list[Any], row: Name, column: Name) -> Any:
    """A result whose rows have the coordinates of the columns, and the reverse: its names stay in their places."""
    exchanged = dress(out.rename({row: column, column: row}), met, ())
    if not isinstance(exchanged, xr.DataArray):
        return dress(out, met, ())
    return exchanged.rename({row: column, column: row})


def _batch_labels(met: list[Any]) -> dict[Name, Any]:
    """Coordinates along dims, vectorized ones too, that say where a matrix is."""
    found: dict[Name, Any] = {}
    for name, v in ((n, v) for a in met if isinstance(a, xr.DataArray) for n, v in a.coords.variables.items()):
        if v.dims == (name,):
            found[name] = v.values
        elif not v.dims and hidden_names(v) == (name,):
            found[name] = v._data.data
    return found


def _flat(args: Any, kwargs: Mapping[str, Any]) -> Iterator[Any]:
    for a in (*args, *kwargs.values()):
        if isinstance(a, (list, tuple)):
            yield from _flat(a, {})
        else:
            yield a


def _mentioned(args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Dims that a call names: what lies along them may have moved."""
    found: list[Any] = []
    for a in (*args, *kwargs.values()):
        found.extend(a if isinstance(a, (Mapping, list, tuple)) else (a,))
    return tuple(a for a in found if isinstance(a, (str, tuple)))


def _by_variable(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Variable by variable: a Dataset, or one for each of several results."""
    sets = [a for a in _flat(args, kwargs) if isinstance(a, xr.Dataset)]
    names = [n for n in sets[0].data_vars if all(n in ds.data_vars for ds in sets)]

    def part(value: Any, name: Name) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(part(v, name) for v in value)
        return value[name] if isinstance(value, xr.Dataset) else value

    asked = [d for d in _mentioned(args, kwargs) if any(d in ds.dims for ds in sets)]
    met = [n for n in names if not asked or any(d in ds[n].dims for ds in sets for d in asked)]
    out = {n: on_xarray(op, tuple(part(a, n) for a in args), {k: part(v, n) for k, v in kwargs.items()}) for n in met}
    attrs = _common_attrs(sets)
    several = next((v for v in out.values() if isinstance(v, tuple)), None)
    if several is None:  # a variable without the dims that the call names stays as it is
        return xr.Dataset({n: out.get(n, sets[0][n]) for n in names}, attrs=attrs)
    parts = [xr.Dataset({n: v[k] for n, v in out.items()}, attrs=attrs) for k in range(len(several))]
    return type(several)(*parts) if hasattr(several, "_fields") else tuple(parts)


# ------------------------------------------------------------------------------------------------ results


def dress(out: Any, met: list[Any], moved: tuple[Any, ...]) -> Any:
    """A result as an xarray object, with what the objects it was made of agree on."""
    if isinstance(out, tuple):
        parts = [dress(o, met, moved) for o in out]
        return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
    if not isinstance(out, DimArray):
        return out
    dims = out.dims
    variable = xr.Variable(dims, data_for(out, dims), _common_attrs(met))
    arrays = [a for a in met if isinstance(a, xr.DataArray)]
    if not arrays:
        return variable
    return xr.DataArray(variable, coords=_surviving(arrays, variable, moved), name=_common_name(arrays))


def _surviving(arrays: list[xr.DataArray], out: xr.Variable, moved: tuple[Any, ...]) -> xr.Coordinates:
    """Coordinates of the dims that are left, as long as they are; contradicting ones are dropped, as xarray does."""
    variables: dict[Name, xr.Variable] = {}
    indexes: dict[Name, Any] = {}
    conflicts = set()
    for a in arrays:
        for n, v in a.coords.variables.items():
            if n in variables and not (n in indexes or variables[n].equals(v)):
                conflicts.add(n)
            elif n not in variables and all(out.sizes.get(d) == s and d not in moved for d, s in v.sizes.items()):
                variables[n] = v
                if n in a.xindexes:
                    indexes[n] = a.xindexes[n]
    return coordinates({n: v for n, v in variables.items() if n not in conflicts}, indexes)


def _common_name(arrays: list[xr.DataArray]) -> Any:
    names = {a.name for a in arrays}
    return names.pop() if len(names) == 1 else None


def _common_attrs(objects: list[Any]) -> dict[Any, Any]:
    """Attributes on which all agree, or none if xarray would keep none."""
    if not _keeps_attrs(xr.get_options()["keep_attrs"]):
        return {}
    first, *rest = (o.attrs for o in objects)
    return {k: v for k, v in first.items() if all(k not in a or _same(a[k], v) for a in rest)}


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # arrays
        return False


@functools.cache
def _keeps_attrs(option: Any) -> bool:
    """What xarray's option means, whose default has changed between versions."""
    return option if isinstance(option, bool) else bool((xr.DataArray(0.0, attrs={"units": "1"}) * 1.0).attrs)


# ------------------------------------------------------------------------------------------------ other spellings


def _flip(x: Any, dim: Any = None) -> Any:
    dims = x.dims if dim is None else (dim,) if not isinstance(dim, (list, tuple)) or dim in x.dims else dim
    return x.isel(dict.fromkeys(dims, slice(None, None, -1)))


def _take(x: Any, index: Any, dim: Name) -> Any:
    return x.isel({dim: index})


def _concat(*arrays: Any, dim: Any) -> Any:
    return xr.concat(list(arrays), dim)


def _rolling(name: str) -> Callable[..., Any]:
    def reduced(x: Any, window: Any, *, min_periods: int | None = None, center: Any = False, **options: Any) -> Any:
        return getattr(x.rolling(window, min_periods=min_periods, center=center), name)(**options)

    return reduced


ROLLING = ("sum", "mean", "max", "min", "prod", "var", "std", "median", "count", "argmax", "argmin")
_SPECIAL: dict[str, Callable[..., Any]] = {
    "flip": _flip,
    "take": _take,
    "concat": _concat,
    "broadcast": xr.broadcast,
    **{f"rolling_{n}": _rolling(n) for n in ROLLING},
}

add_face(lambda x: isinstance(x, _KINDS), on_xarray)
