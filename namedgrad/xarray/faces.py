"""Public functions on xarray objects: they take and return DataArrays, Variables and Datasets.

Arrays are aligned by their labels as in xarray's arithmetic.  A result has the coordinates of the dims that survive.
Functions that xarray has as methods, where coordinates change too (``isel``, ``roll``, ``pad`` ...), are those methods:
they run on traced data as on any other.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import DimArray, constant
from namedgrad.axes import Name
from namedgrad.backends.failures import MatrixError
from namedgrad.ops import add_face
from namedgrad.primitive import OPERATIONS, Operation
from namedgrad.xarray.convert import coordinates, data_for, hidden_names, named, regathered
from namedgrad.xarray.holding import holds
from namedgrad.xarray.resampled import RESAMPLED

_METHODS = frozenset(
    (
        "isel", "roll", "shift", "stack", "transpose", "expand_dims", "squeeze", "broadcast_like", "swap_dims",
        "head", "tail", "thin", "idxmax", "idxmin", "fillna", "astype", "copy",
    )
)  # fmt: skip
#: What a Dataset calls by these names is another function, or needs another package.
_NOT_OF_DATASETS = frozenset(("where", "real", "imag", "chunk", "argsort", "ffill", "bfill", "rank"))
#: The dims that these name are counted along, not labelled: operands may differ in size there.
_BY_POSITION = frozenset(
    (
        "take", "take_along_axis", "take_along_dim", "gather", "index_select", "index_add", "index_copy", "index_fill",
        "index_reduce", "scatter", "scatter_add", "scatter_reduce", "put", "put_along_axis", "slice_scatter",
        "searchsorted", "bucketize", "digitize", "embedding", "convolve", "correlate", "fftconvolve", "stft", "istft",
        "block_diag", "kron",
    )
)  # fmt: skip
_KEEPS_PLACES = frozenset(
    (
        "elementwise", "special", "activations", "structure", "complex", "reductions", "scans", "contraction", "linalg",
        "layers", "losses", "control", "random",
    )
)  # fmt: skip
_CELL_BY_CELL = frozenset(
    ("detrend", "differentiate", "cumulative_integrate", "tril", "triu", "rolling_argmax", "rolling_argmin", "rank")
)
SIZED = frozenset(("unique", "nonzero"))  #: what they find decides the size
_INVERSES = frozenset(("inv", "pinv"))
_KINDS = (xr.DataArray, xr.Variable, xr.Dataset)


def on_xarray(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation on xarray objects."""
    if not args:  # the operand by its keyword
        kwargs = dict(kwargs)
        args = (kwargs.pop(next(n for n in inspect.signature(op.function).parameters if n in kwargs)),)
    first = args[0]
    if isinstance(first, (xr.DataArray, xr.Dataset)):
        if op.name in RESAMPLED:
            return RESAMPLED[op.name](*args, **kwargs)
        if op.name in _SPECIAL:
            return _SPECIAL[op.name](*args, **kwargs)
        if op.name in _METHODS or (isinstance(first, xr.Dataset) and _has_method(op.name)):
            _refuse_named(op, args, kwargs)
            return getattr(first, op.name)(*args[1:], **kwargs)
    if "keep_attrs" in kwargs and hasattr(xr.DataArray, op.name):
        keep = kwargs["keep_attrs"]
        return _keeping(keep, by_name(op, args, {k: v for k, v in kwargs.items() if k != "keep_attrs"}), first)
    return by_name(op, args, kwargs)


def _keeping(keep: bool | None, out: Any, x: Any) -> Any:
    """A result with the attributes of an operand, or without any, as ``keep_attrs`` says."""
    return out if keep is None else out.assign_attrs(x.attrs) if keep else out.drop_attrs(deep=False)


def _has_method(name: str) -> bool:
    return hasattr(xr.Dataset, name) and name not in _NOT_OF_DATASETS


def _refuse_named(op: Operation, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """An xarray method takes a DimArray for a plain array, or fails somewhere inside."""
    given = [*args, *kwargs.values()]
    inner = (v for a in given if isinstance(a, Mapping) for v in a.values())
    if any(isinstance(v, DimArray) for v in (*given, *inner)):
        raise TypeError(
            f"{op.name} of a {type(args[0]).__name__} takes no DimArray; use .to_xarray() on the DimArray, or "
            "ng.asdimarray(x) on the xarray object"
        )


def by_name(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation on the named arrays of xarray objects."""
    if any(isinstance(a, xr.Dataset) for a in _flat(args, kwargs)):
        return _by_variable(op, args, kwargs)
    read, options, met = _aligned(op, args, kwargs)
    if read and not isinstance(read[0], (DimArray, list, tuple)):
        read[0] = constant(read[0], f"{op.name}: the operand")
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


def _aligned(op: Operation, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """The arguments with named arrays in place of labelled ones, which meet by label; and these."""
    arrays = [a for a in _flat(args, kwargs) if isinstance(a, xr.DataArray)]
    counted = set(_counted(op, arrays, args, kwargs))
    aligned = iter(xr.align(*arrays, join=xr.get_options()["arithmetic_join"], copy=False, exclude=counted))
    met: list[Any] = []

    def strip(value: Any) -> Any:
        if isinstance(value, (xr.DataArray, xr.Variable)):
            met.append(next(aligned) if isinstance(value, xr.DataArray) else value)
            return named(getattr(met[-1], "variable", met[-1]))
        return type(value)(map(strip, value)) if isinstance(value, (list, tuple)) else value

    return [strip(a) for a in args], {k: strip(v) for k, v in kwargs.items()}, met


def _counted(op: Operation, arrays: list[Any], args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The dims along which operands do not meet by their labels."""
    if op.name not in _BY_POSITION:
        return ()
    named_dims = _mentioned(args, kwargs)
    named_dims += tuple(n for d in named_dims if isinstance(d, tuple) for n in d)
    return named_dims or tuple(d for a in arrays for d in a.dims)


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
    if op.name in SIZED:
        raise TypeError(
            f"{op.name} finds another number of cells in each variable of a Dataset, which has one size for each dim; "
            f"call it for one variable at a time, ng.{op.name}(ds[name])"
        )
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
    return regathered(several, parts)


# ------------------------------------------------------------------------------------------------ results


def dress(out: Any, met: list[Any], moved: tuple[Any, ...]) -> Any:
    """A result as an xarray object, with what the objects it was made of agree on."""
    if isinstance(out, tuple):
        return regathered(out, [dress(o, met, moved) for o in out])
    if isinstance(out, dict):  # positions by dim, which are not of the quantity that was looked at
        return {d: xr.DataArray(data_for(at, at.dims), dims=at.dims) for d, at in out.items()}
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


def _flip(x: Any, /, dim: Any = None) -> Any:
    dims = x.dims if dim is None else (dim,) if not isinstance(dim, (list, tuple)) or dim in x.dims else dim
    return x.isel(dict.fromkeys(dims, slice(None, None, -1)))


def _take(x: Any, /, index: Any, dim: Any = None) -> Any:
    if dim not in x.dims or isinstance(index, DimArray):  # several dims, the only one, an error
        return by_name(OPERATIONS["take"], (x, index, dim), {})
    return x.isel({dim: index})


def _pad(x: Any, /, pad_width: Any = None, mode: str = "constant", **options: Any) -> Any:
    """Negative widths, which xarray's method does not have, crop first."""
    given = {**(pad_width or {}), **{d: options.pop(d) for d in list(options) if d in x.dims}}
    pairs = {d: (w, w) if np.ndim(w) == 0 else tuple(w) for d, w in given.items()}
    cut = {d: (max(-low, 0), max(-high, 0)) for d, (low, high) in pairs.items() if min(low, high) < 0}
    kept = {d: slice(low, x.sizes[d] - high) for d, (low, high) in cut.items()}
    widths = {d: (max(low, 0), max(high, 0)) for d, (low, high) in pairs.items()}
    return x.isel(kept).pad(widths, mode, **options)


def _diff(x: Any, /, dim: Any = None, n: int = 1, **options: Any) -> Any:
    """Xarray's method has no default for the dim, and puts nothing at the ends."""
    if dim is None or options.keys() - {"label"}:
        return by_name(OPERATIONS["diff"], (x, dim, n), options)
    return x.diff(dim, n, **options)


def _rename(x: Any, /, new_name_or_name_dict: Any = None, **names: Any) -> Any:
    if isinstance(names.get("names"), Mapping):
        new_name_or_name_dict = names.pop("names")
    return x.rename(new_name_or_name_dict, **names)


def _unstack(x: Any, /, dim: Any = None, **options: Any) -> Any:
    """By sizes as for DimArrays, or by the labels of a MultiIndex."""
    if isinstance(dim, Mapping) or any(isinstance(v, Mapping) and n in x.dims for n, v in options.items()):
        return by_name(OPERATIONS["unstack"], (x, dim), options)
    return x.unstack(dim, **options)


def quantile(x: Any, /, q: Any, dim: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
    """With the coordinate ``quantile``, and without scalar ones, as xarray's method; none of levels that are traced."""
    if isinstance(x, xr.Dataset) and not keepdims and not holds(q):
        return x.quantile(q, dim, **options)
    keep = options.pop("keep_attrs", None)
    out = by_name(OPERATIONS["quantile"], (x, q), {"dim": dim, "keepdims": keepdims, **options})
    out = _keeping(keep, out, x)
    if isinstance(x, xr.Dataset) or isinstance(q, (DimArray, *_KINDS)) or holds(q):  # whose names are its own
        return out
    levels = np.asarray(q, dtype=float)
    scalars = [n for n, v in out.coords.items() if not v.dims]
    return out.drop_vars(scalars).assign_coords(quantile=("quantile", levels) if levels.ndim else levels)


def _concat(*arrays: Any, dim: Any) -> Any:
    return xr.concat(list(arrays), dim)


def _rolling(name: str) -> Callable[..., Any]:
    def reduced(x: Any, window: Any, *, min_periods: int | None = None, center: Any = False, **options: Any) -> Any:
        if name in _POSITIONS and isinstance(window, Mapping) and len(window) > 1:  # xarray has them for one dim
            options |= {"min_periods": min_periods, "center": center}
            return by_name(OPERATIONS[f"rolling_{name}"], (x, window), options)
        return getattr(x.rolling(window, min_periods=min_periods, center=center), name)(**options)

    return reduced


_POSITIONS = frozenset(("argmax", "argmin"))
ROLLING = ("sum", "mean", "max", "min", "prod", "var", "std", "median", "count", "argmax", "argmin")
_SPECIAL: dict[str, Callable[..., Any]] = {
    "flip": _flip,
    "take": _take,
    "pad": _pad,
    "diff": _diff,
    "rename": _rename,
    "unstack": _unstack,
    "quantile": quantile,
    "concat": _concat,
    "broadcast": xr.broadcast,
    **{f"rolling_{n}": _rolling(n) for n in ROLLING},
}

add_face(lambda x: isinstance(x, _KINDS), on_xarray, first=True)
