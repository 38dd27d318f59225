"""Functions whose answer holds no derivative: shapes, dtypes, positions, truth values, text.

They see values, never the tape.  Where an answer would differ per slice of a vectorized axis, or would fix a recorded
program to the values of one run, they are refused, unless they are declared elsewhere with a rule of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, make, refuse_while_recording
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, offered, positional_in, read_only
from namedgrad.rules.complex import imag
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import equal, not_equal
from namedgrad.trace import innermost

# ------------------------------------------------------------------------------------------------ what an array is

implements(np.shape)(lambda a: numbered(a).shape)
implements(np.ndim)(lambda a: numbered(a).ndim)


@implements(np.size)
def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    shape = numbered(a).shape
    if axis is None:
        return int(np.prod(shape, dtype=int))
    return int(np.prod([shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))], dtype=int))


implements(np.iscomplexobj)(lambda x: numbered(x).dtype.kind == "c")
implements(np.isrealobj)(lambda x: numbered(x).dtype.kind != "c")


def _kinds(values: Any) -> list[Any]:
    return [v.dtype if isinstance(v, PositionalArray) else v for v in values]


implements(np.result_type)(lambda *arrays_and_dtypes: np.result_type(*_kinds(arrays_and_dtypes)))
implements(np.common_type)(lambda *arrays: np.common_type(*(np.empty(0, numbered(a).dtype) for a in arrays)))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    start, end = _kinds((from_, to))
    return np.can_cast(start, end, casting)



implements(np.min_scalar_type)(lambda a, /: numbered(a).dtype)


def _owner(a: Any) -> Any:
    while isinstance(a, PositionalArray) and a._view is not None:
        a = a._view.base
    return a


implements(np.may_share_memory, np.shares_memory)(lambda a, b, /, max_work=None: _owner(a) is _owner(b))
implements(np.array_repr, np.array_str, np.array2string)(lambda a, *args, **kwargs: repr(a))

# ----------------------------------------------------------------------------------------------- without a derivative


def value_of(x: DimArray, what: str) -> Any:
    """The raw values, refused where they differ per slice or are being recorded."""
    if x.hidden:
        raise TraceError(
            f"{what} of an array with vectorized axes {x.vectorized} has an answer of its own for each slice, "
            "whose size may depend on values; use np.where, or .devectorize() first"
        )
    refuse_while_recording(what, "np.where")
    return read_only(innermost(x).data)


def _bare(value: Any, what: str) -> Any:
    if isinstance(value, PositionalArray):
        return value_of(value._x, what)
    if isinstance(value, dict):
        return {k: _bare(v, what) for k, v in value.items()}
    return type(value)(_bare(v, what) for v in value) if type(value) in (tuple, list) else value


def _by_value(function: Callable[..., Any]) -> None:
    what = f"np.{function.__name__}()"

    @implements(function)
    def answer(*args: Any, **kwargs: Any) -> Any:
        raw = _bare(args, what), _bare(kwargs, what)
        offered(function, positional_in((args, kwargs)), what)
        return function(*raw[0], **raw[1])


for _function in (np.nonzero, np.flatnonzero, np.argwhere, np.array_equiv):
    _by_value(_function)


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Every cell by itself: slices of the first do not matter to it, and NumPy answers if the others are plain."""
    v = innermost(numbered(element))
    if backends.is_recording() or any(innermost(x._x).hidden for x in positional_in((test_elements,))):
        return _found(v, test_elements, invert)
    tests = _bare(test_elements, "np.isin()")
    how = {"kind": kind} if v.backend == "numpy" else {}  # how NumPy is to go about it
    return _alongside(np.isin(v.raw, tests, assume_unique, invert, **how), v)


def _found(v: DimArray, tests: Any, invert: bool) -> Any:
    """The same by bisection, which programs can replay, and which may differ per slice."""
    edges = np.ravel(wrap(innermost(numbered(tests))))
    dtype = np.result_type(v.dtype, edges.dtype)
    cells, edges = wrap(v).astype(dtype), np.sort(edges.astype(dtype))
    low, high = (np.searchsorted(edges, cells, side=side) for side in ("left", "right"))
    found = np.logical_and(low < high, ~np.isnan(cells))  # which is in nothing
    return ~found if invert else found


implements(np.iscomplex)(lambda x: not_equal(imag(stop_gradient(numbered(x))), c(0)))
implements(np.isreal)(lambda x: equal(imag(stop_gradient(numbered(x))), c(0)))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[DimArray, ...]:
    v = innermost(numbered(indices))
    if backends.is_recording():
        return _unravelled(v, (shape,) if np.ndim(shape) == 0 else tuple(shape), order)
    places = np.unravel_index(v.raw, shape, order)
    return tuple(_alongside(p, v) for p in places)


def _unravelled(v: DimArray, shape: tuple[int, ...], order: str) -> tuple[DimArray, ...]:
    """The same as arithmetic, which programs can replay; the slowest place takes what is left, and is not checked."""
    places = []
    for n in (shape[:0:-1] if order == "C" else shape[:-1]):
        places.append(v % n)
        v = v // n
    places.append(v)
    return tuple(places[::-1] if order == "C" else places)


def _alongside(raw: Any, v: DimArray) -> DimArray:
    """What a function of numbers made of ``v``, with its names."""
    return make(raw if backends.is_array(raw) else np.asarray(raw), v.names, v.hidden)


def _infinite(sign: Any) -> Callable[..., Any]:
    return lambda x, out=None: equal(stop_gradient(numbered(x)), c(sign))


implements(np.isposinf)(_infinite(math.inf))
implements(np.isneginf)(_infinite(-math.inf))


def _nonzero(self: PositionalArray) -> Any:
    """Positions of the cells that are not 0, one array per axis."""
    return np.nonzero(self)


PositionalArray.nonzero = _nonzero  # type: ignore[attr-defined]
