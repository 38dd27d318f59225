"""Public functions on positional arrays: axis numbers as ``dim=``.

Functions of one meaning in both worlds take the axis numbers as the names that they are.  Those whose positional
meaning is NumPy's (``transpose``, ``concat``, ``matmul``, ``solve`` ...) are NumPy's, and those that make new names ask
for names first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray
from namedgrad.axes import AxisError
from namedgrad.ops import add_face
from namedgrad.positional.array import PositionalArray, box, ordered, renumber
from namedgrad.positional.axis import expand
from namedgrad.positional.broadcasting import in_full, joint_sizes, meet
from namedgrad.positional.matrices import on_matrices
from namedgrad.positional.operands import SCALARS, positional, unwrap
from namedgrad.positional.placing import PLACED, Place, is_cell, read_lists, without_cell
from namedgrad.positional.protocol import kind_of
from namedgrad.primitive import Operation
from namedgrad.rules.dims import DIM_OPTIONS, DIM_PARAMETERS
from namedgrad.rules.movement.triangles import embed
from namedgrad.rules.structure import relabel


def on_positional(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation with numbered axes; integer dims count those of its operands together, from either end."""
    if (override := overrides().get(op.name)) is not None:
        return override(*args, **kwargs)
    if op.family == "linalg" and "dims" in _signature(op.function).parameters:
        return on_matrices(op, args, kwargs)
    bound = _signature(op.function).bind(*args, **kwargs)
    given = bound.arguments
    read_lists(op.function, given)
    arrays = _arrays(given)
    kind = kind_of(arrays)
    operand = next(iter(given))
    number = [given[operand]] if isinstance(given[operand], SCALARS) else []
    placed = _placed(PLACED[op.name], given, number) if op.name in PLACED else {}
    if placed:
        arrays = _arrays({p: v for p, v in given.items() if p not in placed})
    xs = list(map(unwrap, (*arrays, *number)))
    met, count = meet(*xs), max([x.ndim for x in xs], default=0)
    ready = dict(zip(map(id, arrays), met, strict=False))
    cell = not count and is_cell(op, given.get("dim"))
    _fill(given, placed, ready, 1 if cell else count)
    if number:
        given[operand] = met[-1]
    if cell:
        given[operand] = expand(given[operand], (0,))
    elif op.family == "reductions" and given[operand].ndim < count:
        given[operand] = _reached(given[operand], given.get("dim"), met)
    out = op.function(*bound.args, **bound.kwargs)
    return _boxed(without_cell(out) if cell else out, kind)


def _fill(given: dict[str, Any], placed: Mapping[str, DimArray], ready: Mapping[int, DimArray], count: int) -> None:
    """Put operands and names where arrays and axis numbers were given."""
    for name, value in given.items():
        if name in placed:
            given[name] = placed[name]
        elif name in DIM_PARAMETERS or (name in DIM_OPTIONS and isinstance(value, Mapping)):
            given[name] = as_names(value, count)
        elif isinstance(value, tuple):
            given[name] = tuple(ready.get(id(v), v) for v in value)
        else:
            given[name] = ready.get(id(value), value)


def _reached(x: DimArray, dim: Any, met: Sequence[DimArray]) -> DimArray:
    """An operand with all axes that are reduced, of which others may have more."""
    sizes = joint_sizes(met)
    asked = sizes if dim is None or dim is Ellipsis else dim if isinstance(dim, tuple) else (dim,)
    return in_full(x, [n for n in asked if n in sizes], sizes)


def _placed(places: Mapping[str, Place], given: Mapping[str, Any], number: Sequence[Any]) -> dict[str, DimArray]:
    """Operands that do not broadcast against the others."""
    others = (*_arrays({p: v for p, v in given.items() if p not in places}), *number)
    x = max(map(unwrap, others), key=lambda v: v.ndim)
    dim = as_names(given.get("dim"), x.ndim) if x.ndim else None
    dims = dim if isinstance(dim, tuple) else x.dims if dim is None else (dim,)
    found = {p: place(unwrap(given[p]), dims, x) for p, place in places.items() if _arrays({p: given.get(p)})}
    return {p: v for p, v in found.items() if v is not None}


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _arrays(given: Mapping[str, Any]) -> list[Any]:
    values = [v for value in given.values() for v in (value if isinstance(value, tuple) else (value,))]
    return [v for v in values if isinstance(v, (PositionalArray, DimArray)) or backends.is_array(v)]


def _boxed(out: Any, kind: type[PositionalArray]) -> Any:
    if isinstance(out, tuple):
        return tuple(_boxed(o, kind) for o in out)
    if isinstance(out, dict):
        return {n.number: _boxed(o, kind) for n, o in out.items()}
    dims = out.dims
    if all(isinstance(n, axes.Axis) for n in dims):
        return box(ordered(out, axes.in_order(dims)), kind)
    return box(renumber(out), kind)


def as_names(dim: Any, ndim: int) -> Any:
    """Axis numbers as names: alone, in a sequence, or as the keys of a mapping."""
    if isinstance(dim, int) and not isinstance(dim, bool):
        if not -ndim <= dim < ndim:
            raise AxisError(f"axis {dim} is out of bounds for an array with {ndim} numbered axes")
        return axes.axis(dim % ndim - ndim)
    if isinstance(dim, (tuple, list)):
        return tuple(as_names(d, ndim) for d in dim)
    if isinstance(dim, Mapping):
        return {as_names(k, ndim): v for k, v in dim.items()}
    return dim


# ------------------------------------------------------------------------------------------------ NumPy's meaning


def _transpose(x: Any, *dim: Any) -> Any:
    order = dim[0] if len(dim) == 1 and isinstance(dim[0], (tuple, list)) else dim
    return np.transpose(x, tuple(order) if order else None)


def _expand_dims(x: Any, dim: Any = 0) -> Any:
    return np.expand_dims(x, dim)


def _concat(*arrays: Any, dim: int) -> Any:
    return np.concatenate(arrays, dim)


def _take(x: Any, index: Any, dim: int) -> Any:
    return np.take(positional(x), index, dim)


def _isel(x: Any, indexers: Mapping[int, Any] | None = None) -> Any:
    x = positional(x)
    table = {int(a) % x.ndim: k for a, k in (indexers or {}).items()}
    for axis in sorted(table, reverse=True):
        k = table[axis]
        x = x[(slice(None),) * axis + (k,)] if isinstance(k, (int, slice)) else np.take(x, _positions(k), axis)
    return x


def _positions(k: Any) -> Any:
    return np.flatnonzero(k) if np.asarray(k).dtype.kind == "b" else k


def _matmul(x: Any, y: Any, dim: Any = None) -> Any:
    if dim is not None:
        raise TypeError("matmul of positional arrays is NumPy's, without dim=; use np.tensordot(x, y, axes=...)")
    return np.matmul(x, y)


def _outer(x: Any, y: Any) -> Any:
    for a in (x, y):  # NumPy would ask a DimArray, which asks this again
        unwrap(a)
    return np.outer(x, y)


def _needs_names(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001 - whatever it was called with
        raise TypeError(
            f"{name} makes new names, a positional array has none; name its axes first: x.name('a', 'b', ...)"
        )

    return refuse


def _diag_embed(x: Any, dim: int = -1, *, dims: Any = (-2, -1), offset: int = 0) -> Any:
    """The axis on a diagonal of two new ones, at these places of the result, as in PyTorch."""
    x = np.moveaxis(x, dim, -1)
    line, row, col = (axes.local(n) for n in ("diagonal", "row", "column"))
    names = (*(axes.local(n) for n in range(x.ndim - 1)), line)
    v = embed(relabel(unwrap(x), dict(zip(unwrap(x).dims, names, strict=True))), line, row, col, offset)
    return np.moveaxis(box(ordered(v, (*names[:-1], row, col)), kind_of((x,))), (-2, -1), dims)


@functools.cache
def overrides() -> dict[str, Callable[..., Any]]:
    """Functions by name whose axes are not those of the named operation one by one."""
    from namedgrad.positional.layers import OVERRIDES as LAYERS
    from namedgrad.positional.layouts import LAYOUTS
    from namedgrad.positional.losses import FUNCTIONS as LOSSES
    from namedgrad.positional.picks import PICKS
    from namedgrad.positional.resampled import RESAMPLED

    return {
        "transpose": _transpose, "expand_dims": _expand_dims, "concat": _concat, "take": _take, "isel": _isel,
        "matmul": _matmul, "outer": _outer, "multi_dot": lambda *arrays: np.linalg.multi_dot(arrays),
        "nonzero": np.nonzero, "squeeze": lambda x, dim=None: np.squeeze(x, dim),
        "broadcast": np.broadcast_arrays, "meshgrid": np.meshgrid,
        "diagonal": lambda x, dims=(-2, -1), offset=0: np.diagonal(x, offset, *dims),
        "diag_embed": _diag_embed,
        "cross": lambda a, b, dim: np.cross(a, b, axis=dim),
        "broadcast_like": lambda x, other: np.broadcast_to(x, np.broadcast_shapes(x.shape, other.shape)),
        **{name: _needs_names(name) for name in ("rename", "stack", "swap_dims", "unstack", "coo_to_dense")},
        **LAYERS,
        **LAYOUTS,
        **LOSSES,
        **PICKS,
        **RESAMPLED,
    }  # fmt: skip


add_face(lambda x: isinstance(x, PositionalArray), on_positional)
