"""NumPy's functions on positional arrays: the protocol ``__array_function__``.

The functions themselves are declared with :func:`implements` in the modules of :mod:`namedgrad.positional.functions`,
with NumPy's own signatures, on arrays with numbered axes.  This module takes the call apart (``out=``, views, which
class the result has) and puts the answer together.  A function that is not declared computes as NumPy does if nothing
is being differentiated, and is refused by name otherwise.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError
from namedgrad.positional import nested
from namedgrad.positional.array import PositionalArray, as_array, box, kin_of, renumber, wrap
from namedgrad.positional.memory import UNKNOWN, grown, is_plain, laid, lying, on_host
from namedgrad.positional.operands import is_of_xarray, unwrap
from namedgrad.positional.trials import made_of_few
from namedgrad.positional.views import PARTS, told_order, view
from namedgrad.trace import innermost

# ------------------------------------------------------------------------------------------------ declarations


class Function(NamedTuple):
    """What a NumPy function does here."""

    call: Callable[..., Any]
    view: str | None  #: None: a new array; "rw": a view of the first argument; "r": read-only; "reshape": if it can be;
    #: "self": the first argument itself, if it is what the result has to be; "real", "imag": that, or a part of it
    out: int | None  #: position of ``out``
    like: bool  #: called for ``like=``, with the array that was given there first


FUNCTIONS: dict[Any, Function] = {}
_NEW = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}  # arrays to write into
_TURNED = {  # results that need not lie in C order
    np.asfortranarray, np.einsum, np.cross, np.nanquantile, np.nanpercentile, np.apply_along_axis, np.linspace,
    np.logspace, np.geomspace, np.linalg.eig, np.linalg.matrix_power,
}  # fmt: skip
_IN_ORDER = {np.dot, np.inner, np.outer, np.tensordot, np.select}  # in C order always
_CHEAP = {np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm, np.linalg.cross}  # do not follow that
_MAKE_ARRAYS = _NEW | {np.copy, np.where, np.select, np.tensordot, np.cov, np.i0, np.pad, np.apply_along_axis}


def implements(
    *functions: Any, view: str | None = None, like: bool = False, method: bool | str = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what NumPy functions do on arrays with numbered axes, and the method of that name."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        code = function.__code__
        by_place = code.co_varnames[: code.co_argcount]
        out = by_place.index("out") if "out" in by_place else None
        for f in functions:
            FUNCTIONS[f] = Function(function, view, out, like)
        if method:
            key = functions[0]
            name = method if isinstance(method, str) else key.__name__
            setattr(PositionalArray, name, _method(key, name))
        return function

    return declare


@functools.cache
def declare_all() -> None:
    """Import the declarations, when the first of them is asked for: most programs with named arrays need none."""
    importlib.import_module("namedgrad.positional.functions")


def _method(key: Any, name: str) -> Callable[..., Any]:
    def method(self: PositionalArray, *args: Any, **kwargs: Any) -> Any:
        return run(self, key, kind_of((self, *args)), (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"As :func:`numpy.{key.__name__}`."
    return method


# ------------------------------------------------------------------------------------------------ functions


def array_function(self: PositionalArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's functions, by identity."""
    met = _met(tuple(types))
    if not met.known:
        return NotImplemented
    if met.named:
        if self.nameless is not None:
            return NotImplemented
        for named in nested.within((*args, *kwargs.values()), DimArray):
            unwrap(named, f"an operand of np.{func.__name__}")
    if func is np.clip and args and is_of_xarray(args[0]):  # without such a protocol: NumPy calls its method
        return args[0].clip(*args[1:], **kwargs)
    kind = met.kind
    declare_all()
    if func not in FUNCTIONS:
        return outside(func, kind, args, kwargs)
    return run(self, func, kind, args, kwargs)


class _Met(NamedTuple):
    """The types of the operands of a function."""

    known: bool  #: whether all are ours, or arrays of a library that we know
    named: bool  #: whether there is a DimArray
    kind: type[PositionalArray]  #: what the result is


@functools.lru_cache(256)
def _met(types: tuple[type, ...]) -> _Met:
    known = all(issubclass(t, (PositionalArray, DimArray)) or _known(t) for t in types)
    named = any(issubclass(t, DimArray) for t in types)
    return _Met(known, named, kin_of(t for t in types if issubclass(t, PositionalArray)))


def run(self: PositionalArray, func: Any, kind: type[PositionalArray], args: Any, kwargs: Any) -> Any:
    """Call a declared function."""
    known = FUNCTIONS[func]
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    target = kwargs.pop("out", None)
    if known.out is not None and len(args) > known.out:
        target, args = args[known.out], (*args[: known.out], None, *args[known.out + 1 :])
    if known.view == "reshape" and isinstance(args[0], PositionalArray):
        args = (args[0], *(told_order(args[0], a) for a in args[1:]))
        kwargs = {k: told_order(args[0], a) for k, a in kwargs.items()}
    result = known.call(self, *args, **kwargs) if known.like else known.call(*args, **kwargs)
    if known.view and isinstance(args[0], PositionalArray):
        how = "rw" if kwargs.get("writeable") else known.view
        result = view(args[0], how, result, lambda base: func(base, *args[1:], **kwargs))
        if known.view not in ("self", *PARTS) or result is args[0]:
            return result
    if (known.like or func in _NEW) and isinstance(result, DimArray) and _is_vectorized(self):
        result = wrap(renumber(result), kind)  # also of integers: what is written into it differs per slice
    result = boxed(result, kind)
    if isinstance(result, PositionalArray) and (known.like or func in _MAKE_ARRAYS):
        as_array(result)
    if not _keeps_order(func, result, args, kwargs):
        made = as_numpys(func, *args, result=result, **kwargs)
        result = _laid(result, grown(made, result.shape) if func is np.einsum and made is not UNKNOWN else made)
    return result if target is None else write_out(func, target, result)


def _keeps_order(func: Any, result: Any, args: Any, kwargs: Any) -> bool:
    """Whether NumPy's result is known to lie in C order."""
    if func in _IN_ORDER or (isinstance(result, PositionalArray) and result.ndim < 2):
        return True
    return func not in _TURNED and is_plainly_given(args) and (not kwargs or is_plainly_given(kwargs))


def is_plainly_given(value: Any) -> bool:
    """Whether all arrays in nested arguments are in the order of C, and no other order is asked for."""
    if isinstance(value, (PositionalArray, np.ndarray)):
        return is_plain(value)
    if isinstance(value, (tuple, list)):
        return all(map(is_plainly_given, value))
    if isinstance(value, dict):
        return all(map(is_plainly_given, value.values()))
    return not isinstance(value, str) or value not in ("F", "A")


def as_numpys(func: Any, *args: Any, result: Any = None, **kwargs: Any) -> Any:
    """What NumPy's function makes of arrays that lie in memory as its own do, from which nothing else can be read.

    Where the ``result`` is given, which is no view, it may be found with few cells.
    """
    if getattr(func, "__module__", "") == "numpy.linalg" and func not in _CHEAP:  # matrices lie in C order each
        return UNKNOWN if func in _TURNED or any(np.ndim(a) > 3 for a in operands_in((args, kwargs))) else None
    if any(callable(a) and not isinstance(a, type) for a in (*args, *kwargs.values())):
        return UNKNOWN
    try:
        with np.errstate(all="ignore"):
            args, kwargs = _as_lying(args), _as_lying(kwargs)
            if func is np.einsum:  # unless all sizes count
                return func(*(args if kwargs.get("optimize") else _corners(args)), **kwargs)
            made = None if result is None else made_of_few(func, args, kwargs, result)
            return func(*args, **kwargs) if made is None else made
    except Exception:  # noqa: BLE001 - values decide, of which there are none
        return UNKNOWN


def _corners(value: Any) -> Any:
    """Two cells along each axis: their products are in the order of all, which take longer than what they are for."""
    if isinstance(value, np.ndarray):
        return value[(slice(2),) * value.ndim]
    return type(value)(map(_corners, value)) if type(value) in (tuple, list) else value


def _as_lying(value: Any) -> Any:
    if isinstance(value, PositionalArray):
        if (memory := lying(value)) is None:
            raise TypeError(UNKNOWN)
        return memory
    if backends.is_array(value):
        return on_host(value)
    if isinstance(value, dict):
        return {k: _as_lying(v) for k, v in value.items()}
    return type(value)(map(_as_lying, value)) if type(value) in (tuple, list) else value


def _laid(result: Any, made: Any) -> Any:
    """Results that lie in memory as what NumPy made in their place."""
    if isinstance(result, (tuple, list)):
        parts = made if isinstance(made, (tuple, list)) and len(made) == len(result) else [made] * len(result)
        laid_out = [_laid(r, m) for r, m in zip(result, parts)]
        return type(result)(*laid_out) if hasattr(result, "_fields") else type(result)(laid_out)
    owns = not isinstance(result, PositionalArray) or result._view is None
    return laid(result, made) if owns and np.ndim(result) > 1 else result


def _is_vectorized(p: Any) -> bool:
    return isinstance(p, PositionalArray) and bool(p._x.hidden)


def boxed(result: Any, kind: type[PositionalArray]) -> Any:
    """Arrays in a result as the user sees them."""
    if isinstance(result, DimArray):
        return box(renumber(result), kind)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(boxed(r, kind) for r in result))
    if isinstance(result, (tuple, list)):
        return type(result)(boxed(r, kind) for r in result)
    return result


def write_out(func: Any, target: Any, result: Any) -> Any:
    """Put a result into ``out=``."""
    if isinstance(target, tuple):
        (target,) = target
    if not isinstance(target, PositionalArray):
        if isinstance(result, PositionalArray):
            raise TraceError(
                f"np.{func.__name__}: out= is a plain array, which cannot hold values that are being differentiated or "
                "vectorized; write a = a + b for a += b, leave out= away, or make it with np.zeros(shape, like=x) or "
                "np.zeros_like(x)"
            )
        np.copyto(target, result, casting="same_kind")
        return target
    value = unwrap(result)
    name = getattr(func, "__name__", None) or func.name
    repeated = isinstance(func, np.ufunc) and np.broadcast_shapes(target.shape, value.shape) == target.shape
    if target.shape != value.shape and not repeated:
        raise ValueError(
            f"the result of {name} has shape {value.shape}, it does not fit into an array of shape {target.shape}"
        )
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        raise TypeError(f"the result of {name} is {value.dtype}, which an array of {target.dtype} cannot hold")
    target[...] = result
    return target


def _known(kind: type) -> bool:
    try:
        backends.backend_of_type(kind)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------------------------------ what is not declared

WRITE = {np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal}


def outside(func: Any, kind: type[PositionalArray], args: Any, kwargs: Any) -> Any:
    """A function without a rule: NumPy's own answer if nothing is differentiated or hidden, else an error."""
    name = f"{func.__module__}.{func.__name__}".replace("numpy", "np", 1)
    arrays = positional_in((args, kwargs))
    free = not any(a._x.level is not None or a._x.hidden for a in arrays) and not backends.is_recording()
    if not free or func in WRITE:
        raise TraceError(
            f"{name} has no rule for arrays that are being differentiated or vectorized; write it with functions "
            "that have one, or treat its arguments as constants with ng.stop_gradient(x)"
        )
    offered(func, arrays, name)
    return rewrapped(func(*bare(args), **bare(kwargs)), kind)


def offered(func: Any, arrays: Sequence[PositionalArray], name: str) -> None:
    """Refuse a function that the library of the arrays lacks."""
    home = backends.backend_of(*(innermost(a._x).raw for a in arrays))
    if not home.offers(func):
        raise TypeError(f"{name} has no rule, and {home.name} does not have it; x.to_numpy() would be on the host")


def kind_of(values: Sequence[Any]) -> type[PositionalArray]:
    """The class of a result: plain arrays as a transform shows them stay such, anything else is positional."""
    return kin_of(type(v) for v in values if isinstance(v, PositionalArray))


def positional_in(value: Any) -> list[PositionalArray]:
    """The positional arrays in nested arguments."""
    if isinstance(value, PositionalArray):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [p for v in value for p in positional_in(v)] if isinstance(value, (tuple, list)) else []


def operands_in(value: Any) -> list[Any]:
    """Positional and plain arrays in nested arguments."""
    if isinstance(value, (PositionalArray, np.ndarray)):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [p for v in value for p in operands_in(v)] if isinstance(value, (tuple, list)) else []


def read_only(raw: Any) -> Any:
    """The same cells; NumPy refuses to write into them."""
    if isinstance(raw, np.ndarray):
        raw = raw.view()
        raw.flags.writeable = False
    return raw


def static(value: Any, what: str) -> Any:
    """An argument that must be known beforehand: a plain value."""
    if positional_in((value,)):
        raise TraceError(
            f"{what} must be plain numbers, not values that are being differentiated or vectorized; "
            "use ng.stop_gradient(x).data"
        )
    return value


def bare(value: Any) -> Any:
    """Nested arguments with raw arrays in place of positional ones."""
    if isinstance(value, PositionalArray):
        return read_only(value._x.data)
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items()}
    return type(value)(map(bare, value)) if type(value) in (tuple, list) else value


def rewrapped(value: Any, kind: type[PositionalArray]) -> Any:
    """What NumPy returned, with positional arrays in place of floating-point ones."""
    if isinstance(value, np.generic) or backends.is_array(value):
        return box(unwrap(value), kind) if value.dtype.kind in "fc" else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rewrapped(v, kind) for v in value))
    return type(value)(rewrapped(v, kind) for v in value) if type(value) in (tuple, list) else value


PositionalArray.__array_function__ = array_function  # type: ignore[attr-defined]
