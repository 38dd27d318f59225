"""Public functions on positional arrays: axis numbers as ``dim=``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namedgrad import axes, backends
from namedgrad.axes import AxisError
from namedgrad.array import DimArray
from namedgrad.ops import add_face
from namedgrad.positional.array import Lifted, PositionalArray, box, meet, renumber, unwrap
from namedgrad.primitive import Operation

_BY_DIM = ("dim", "dims", "pad_width", "shifts", "indexers")


def on_positional(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation with numbered axes; integer dims count axes of the first array, from either end."""
    arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, PositionalArray)]
    kind = Lifted if all(type(a) is Lifted for a in arrays) else PositionalArray
    ndim = arrays[0].ndim
    read = [a if not _is_array(a) else unwrap(a) for a in args]
    known = [i for i, a in enumerate(read) if isinstance(a, DimArray)]
    for i, a in zip(known, meet(*(read[i] for i in known)) if known else ()):
        read[i] = a
    named = {k: unwrap(v) if _is_array(v) else numbered(v, ndim) if k in _BY_DIM else v for k, v in kwargs.items()}
    read = [a if isinstance(a, DimArray) else numbered(a, ndim) for a in read]
    out = op.function(*read, **named)
    if isinstance(out, tuple):
        return tuple(box(renumber(o), kind) for o in out)
    return box(renumber(out), kind)


def _is_array(x: Any) -> bool:
    return isinstance(x, (PositionalArray, DimArray)) or backends.is_array(x)


def numbered(dim: Any, ndim: int) -> Any:
    """Axis numbers as names: alone, in a sequence, or as the keys of a mapping."""
    if isinstance(dim, bool) or dim is None or dim is Ellipsis:
        return dim
    if isinstance(dim, int):
        if not -ndim <= dim < ndim:
            raise AxisError(f"axis {dim} is out of bounds for an array with {ndim} numbered axes")
        return axes.axis(dim % ndim - ndim)
    if isinstance(dim, (tuple, list)):
        return tuple(numbered(d, ndim) for d in dim)
    if isinstance(dim, Mapping):
        return {numbered(k, ndim): v for k, v in dim.items()}
    return dim


add_face(lambda x: isinstance(x, PositionalArray), on_positional)
