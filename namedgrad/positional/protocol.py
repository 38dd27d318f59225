"""NumPy's protocols and Python's operators on positional arrays.

The functions themselves are declared with :func:`implements` in the modules of :mod:`namedgrad.positional.functions`,
with NumPy's own signatures, on arrays with numbered axes.  This module takes the call apart (``out=``, views, which
class the result has) and puts the answer together.  A function that is not declared computes as NumPy does if nothing
is being differentiated, and is refused by name otherwise.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import NONE
from namedgrad.positional.array import SCALARS, PositionalArray, box, kin_of, meet, numbers, pair, renumber, unwrap, view_of, wrap
from namedgrad.positional.missing import Missing
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import complex as complex_rules
from namedgrad.rules import elementwise, structure
from namedgrad.trace import innermost

# ------------------------------------------------------------------------------------------------ declarations


class Function(NamedTuple):
    """What a NumPy function does here."""

    call: Callable[..., Any]
    view: str | None  #: None: a new array; "rw": a view of the first argument; "r": read-only; "reshape": if it can be
    out: int | None  #: position of ``out``
    like: bool  #: called for ``like=``, with the array that was given there first


FUNCTIONS: dict[Any, Function] = {}
UFUNCS: dict[Any, Callable[..., Any]] = {}
GUFUNCS: dict[str, Callable[..., Any]] = {}  #: generalised ufuncs of other packages, by name
REDUCERS: dict[Any, Any] = {}  #: ufunc -> the function that its ``reduce`` is
SCANNERS: dict[Any, Any] = {}  #: ufunc -> the function that its ``accumulate`` is
WRITERS: dict[Any, str] = {}  #: ufunc -> the update of ``.at[...]`` that its ``at`` is


def implements(
    *functions: Any, view: str | None = None, like: bool = False, method: bool | str = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what NumPy functions do on arrays with numbered axes, and the method of that name."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(function).parameters
        by_place = "out" in parameters and parameters["out"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        out = list(parameters).index("out") if by_place else None
        for f in functions:
            FUNCTIONS[f] = Function(function, view, out, like)
        if method:
            key = functions[0]
            name = method if isinstance(method, str) else key.__name__
            setattr(PositionalArray, name, _method(key, name))
        return function

    return declare


def _method(key: Any, name: str) -> Callable[..., Any]:
    def method(self: PositionalArray, *args: Any, **kwargs: Any) -> Any:
        return run(self, key, FUNCTIONS[key], kind_of((self, *args)), (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"As :func:`numpy.{key.__name__}`."
    return method


# ------------------------------------------------------------------------------------------------ functions


def array_function(self: PositionalArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's functions, by identity."""
    if not all(issubclass(t, (PositionalArray, DimArray)) or _known(t) for t in types):
        return NotImplemented
    for t in types:
        if issubclass(t, DimArray):
            unwrap(next(v for v in (*args, *kwargs.values()) if isinstance(v, DimArray)), f"an operand of np.{func.__name__}")
    known = FUNCTIONS.get(func)
    kind = kin_of(t for t in types if issubclass(t, PositionalArray))
    if known is None:
        return outside(func, kind, args, kwargs)
    return run(self, func, known, kind, args, kwargs)


def run(self: PositionalArray, func: Any, known: Function, kind: Any, args: Any, kwargs: Any) -> Any:
    """Call a declared function."""
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}  # type: ignore[attr-defined]
    target = kwargs.pop("out", None)
    if known.out is not None and len(args) > known.out:
        target, args = args[known.out], args[: known.out] + (None,) + args[known.out + 1 :]
    result = known.call(self, *args, **kwargs) if known.like else known.call(*args, **kwargs)
    if known.view and isinstance(args[0], PositionalArray):
        return _view(args[0], known.view, result, lambda base: func(base, *args[1:], **kwargs))
    result = boxed(result, kind)
    return result if target is None else write_out(func, target, result)


def _view(base: PositionalArray, how: str, x: DimArray, show: Callable[[Any], Any]) -> Any:
    """The result of a function that gives views of its first argument."""
    if x.level is None and x.dtype.kind in "biu":
        return box(x, base.kin)
    if how == "reshape":
        shares = None if _of_uncertain(base) else shares_cells(base, show)
        if shares is False:
            return wrap(x, base.kin)
        if shares is None:
            return view_of(base, x, _uncertain, locked=_UNCERTAIN)
    return view_of(base, x, show, locked=_READ_ONLY if how == "r" else "")


_READ_ONLY = "assignment destination is read-only, as in NumPy; write to a copy, with .copy()"
_UNCERTAIN = (
    "whether NumPy's reshape is a view or a copy here depends on how the array lies in memory, so neither it nor the array "
    "that it was made from can be written without the other going stale; reshape a .copy()"
)


def shares_cells(base: PositionalArray, show: Callable[[Any], Any]) -> bool | None:
    """Whether NumPy's reshape would give a view; None if that depends on how an array lies in memory."""
    ideal = _same_memory(_blank(base), show)
    raw = innermost(base._x).raw
    known = isinstance(raw, np.ndarray) and not base._x.hidden
    return ideal if not known or _same_memory(raw, show) is ideal else None


def _blank(p: PositionalArray) -> Any:
    """An array in C order that is not read, or the view of one that ``p`` is."""
    return np.empty(p.shape) if p._view is None else p._view.show(_blank(p._view.base))


def _same_memory(raw: np.ndarray[Any, Any], show: Callable[[Any], Any]) -> bool:
    return not raw.size or bool(np.may_share_memory(raw, show(raw)))


def _uncertain(base: Any) -> Any:
    raise TypeError(_UNCERTAIN)


def _of_uncertain(p: PositionalArray) -> bool:
    """Whether an array shows cells of one that may be a copy."""
    while p._view is not None:
        if p._view.show is _uncertain:
            return True
        p = p._view.base
    return False


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
                "vectorized; leave out= away, or make it with np.zeros(shape, like=x) or np.zeros_like(x)"
            )
        np.copyto(target, result, casting="same_kind")
        return target
    value = unwrap(result)
    name = getattr(func, "__name__", None) or func.name
    if target.shape != value.shape:
        raise ValueError(f"the result of {name} has shape {value.shape}, it does not fit into an array of shape {target.shape}")
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
_HINTS = {
    "apply_along_axis": "write the function with axis=...",
    "piecewise": "use np.where or np.select",
    "unique": "its values have data-dependent sizes; find them outside and index with np.take",
    "polyfit": "use np.linalg.solve on the normal equations",
    "block": "use np.concatenate",
    "as_strided": "use np.lib.stride_tricks.sliding_window_view",
}


def outside(func: Any, kind: type[PositionalArray], args: Any, kwargs: Any) -> Any:
    """A function without a rule: NumPy's own answer if nothing is differentiated or hidden, else an error."""
    name = f"{func.__module__}.{func.__name__}".replace("numpy", "np", 1)
    arrays = positional_in((args, kwargs))
    free = not any(a._x.level is not None or a._x.hidden for a in arrays) and not backends.is_recording()
    if not free or func in WRITE:
        hint = _HINTS.get(func.__name__, "write it with functions that have one")
        raise TraceError(
            f"{name} has no rule for arrays that are being differentiated or vectorized; {hint}, or treat its arguments "
            "as constants with ng.stop_gradient(x)"
        )
    return _rewrapped(func(*_bare(args), **_bare(kwargs)), kind)


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


def read_only(raw: Any) -> Any:
    """The same cells; NumPy refuses to write into them."""
    if isinstance(raw, np.ndarray):
        raw = raw.view()
        raw.flags.writeable = False
    return raw


def static(value: Any, what: str) -> Any:
    """An argument that must be known beforehand: a plain value."""
    if positional_in((value,)):
        raise TraceError(f"{what} must be plain numbers, not values that are being differentiated or vectorized; use ng.stop_gradient(x).data")
    return value


def _bare(value: Any) -> Any:
    if isinstance(value, PositionalArray):
        return read_only(value._x.data)
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items()}
    return type(value)(map(_bare, value)) if type(value) in (tuple, list) else value


def _rewrapped(value: Any, kind: type[PositionalArray]) -> Any:
    if isinstance(value, np.generic) or backends.is_array(value):
        return box(unwrap(value), kind) if value.dtype.kind in "fc" else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_rewrapped(v, kind) for v in value))
    return type(value)(_rewrapped(v, kind) for v in value) if type(value) in (tuple, list) else value


# ------------------------------------------------------------------------------------------------ ufuncs

_SPELLINGS = {"conjugate": "conjugate", "absolute": "absolute", "degrees": "rad2deg", "radians": "deg2rad"}


@functools.cache
def rule_of(ufunc: Any) -> Callable[..., Any] | None:
    """The operation that a ufunc of NumPy or SciPy is, on arrays with numbered axes."""
    if ufunc in UFUNCS:
        return UFUNCS[ufunc]
    name = ufunc.__name__
    homes = (np, sys.modules.get("scipy.special"))
    op = OPERATIONS.get(_SPELLINGS.get(name, name))
    if op is None or not any(getattr(home, name, None) is ufunc for home in homes):
        return None
    return op.function if ufunc.nin == 1 else lambda *xs: op.function(*meet(*xs))


_ONE: dict[Any, Callable[[DimArray], DimArray]] = {}  #: the shortest way for np.exp(x) and its like


def array_ufunc(self: PositionalArray, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """NumPy's and SciPy's ufuncs, and those methods of them that have a counterpart."""
    one = _ONE.get(ufunc)
    if one is not None and out is None and not kwargs and method == "__call__":
        return box(one(self._x), self.kin)
    if any(_stranger(x) for x in inputs):
        return NotImplemented
    if method != "__call__":
        return _ufunc_method(self, ufunc, method, inputs, out, kwargs)
    kind = Missing if ufunc is np.isnan else kind_of(inputs)
    rule = rule_of(ufunc)
    if rule is None:
        return _ufunc_outside(ufunc, kind, inputs, out, kwargs)
    if ufunc.nin == ufunc.nout == 1 and ufunc is not np.isnan:
        _ONE[ufunc] = getattr(getattr(rule, "__self__", None), "one", rule)
    xs = [unwrap(x) for x in inputs]
    if kwargs:
        xs, mask = _options(ufunc, xs, out, kwargs)
    else:
        mask = None
    result = rule(*xs)
    if mask is not None:
        (target,) = out
        result = structure.where(*meet(mask, result, unwrap(target)))
    result = boxed(result, kind)
    return result if out is None else _write_all(ufunc, out, result)


def _options(ufunc: Any, xs: list[DimArray], out: Any, kwargs: dict[str, Any]) -> tuple[list[DimArray], DimArray | None]:
    """Operands under ``dtype=``, and the mask of ``where=``."""
    unknown = set(kwargs) - {"dtype", "where", "casting", "order", "subok"}
    if unknown:
        raise TypeError(f"np.{ufunc.__name__}: {', '.join(sorted(unknown))} is not for positional arrays")
    if kwargs.get("dtype") is not None:
        xs = [structure.cast(x, np.dtype(kwargs["dtype"])) if x.names or x.level is not None else x for x in xs]
    where = kwargs.get("where", True)
    if where is True:
        return xs, None
    if out is None:
        raise TypeError(
            f"np.{ufunc.__name__}: where= without out= leaves cells undefined; use out=np.zeros_like(x), or np.where"
        )
    return xs, unwrap(where)


def _write_all(ufunc: Any, out: Sequence[Any], result: Any) -> Any:
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(r if o is None else write_out(ufunc, o, r) for o, r in zip(out, results, strict=True))
    return written if len(written) > 1 else written[0]


def _ufunc_outside(ufunc: Any, kind: Any, inputs: Any, out: Any, kwargs: Any) -> Any:
    if ufunc.signature is not None and ufunc.__name__ in GUFUNCS and out is None:
        return GUFUNCS[ufunc.__name__](*inputs, **kwargs)
    arrays = positional_in((*inputs, *(out or ())))
    if out is None and not any(a._x.level is not None or a._x.hidden for a in arrays) and not backends.is_recording():
        return _rewrapped(ufunc(*_bare(inputs), **_bare(kwargs)), kind)
    raise TraceError(
        f"the ufunc {ufunc.__name__!r} has no rule for arrays that are being differentiated or vectorized; write it with "
        "functions that have one, give it one with ng.custom_pullback, or use ng.stop_gradient(x)"
    )


def _ufunc_method(self: PositionalArray, ufunc: Any, method: str, inputs: Any, out: Any, kwargs: dict[str, Any]) -> Any:
    name = f"np.{ufunc.__name__}.{method}"
    if method == "outer" and not kwargs and rule_of(ufunc) is not None:
        a, b = inputs
        return ufunc(np.expand_dims(a, tuple(range(np.ndim(a), np.ndim(a) + np.ndim(b)))), b)
    table = {"reduce": REDUCERS, "accumulate": SCANNERS}.get(method, {})
    if ufunc in table:
        kwargs = {"axis": 0, **kwargs}
        if out is not None:
            kwargs["out"] = out[0]
        return table[ufunc](*inputs, **kwargs)
    if method == "at" and ufunc in WRITERS:
        target, key, value = inputs
        if not isinstance(target, PositionalArray):
            raise TraceError(
                f"{name} would write values that are being differentiated or vectorized into a plain array; make the "
                "array with np.zeros(shape, like=x)"
            )
        target._update(key, value, WRITERS[ufunc])
        return None
    raise TypeError(f"{name} is not for positional arrays; use the NumPy function of that meaning with axis=")


# ------------------------------------------------------------------------------------------------ operators

_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _stranger(other: Any) -> bool:
    """Whether another class should answer: it obeys NumPy's protocols and is none of ours."""
    if isinstance(other, (PositionalArray, DimArray, *SCALARS)) or backends.is_array(other):
        return False
    return hasattr(other, "__array_ufunc__")


def _install(python: str, name: str, *, arithmetic: bool) -> None:
    two = (getattr(elementwise, name, None) or getattr(structure, name)).two

    def forward(self: PositionalArray, other: Any) -> Any:
        kind = self.kin
        if isinstance(other, PositionalArray):
            y = other._x
            if other.kin is not kind:
                kind = PositionalArray
        elif type(other) is float or type(other) is int:
            y = make(other, (), NONE)
        elif type(other) is np.ndarray:
            y = make(other, numbers(other.ndim), NONE)
        elif _stranger(other) or (isinstance(other, DimArray) and self.nameless is not None):
            return NotImplemented
        else:
            y = unwrap(other)
        return box(two(*pair(self._x, y)), kind)

    def backward(self: PositionalArray, other: Any) -> Any:
        if _stranger(other):
            return NotImplemented
        return box(two(*pair(unwrap(other), self._x)), self.kin)

    def inplace(self: PositionalArray, other: Any) -> Any:
        out = forward(self, other)
        return out if out is NotImplemented else write_out(two.__self__, self, out)

    setattr(PositionalArray, f"__{python}__", forward)
    if arithmetic:
        setattr(PositionalArray, f"__r{python}__", backward)
        setattr(PositionalArray, f"__i{python}__", inplace)


for _python, _name in _OPERATORS.items():
    _install(_python, _name, arithmetic=True)
for _python, _name in _COMPARISONS.items():
    _install(_python, _name, arithmetic=False)


def _unary(prim: Callable[[DimArray], DimArray]) -> Callable[[PositionalArray], Any]:
    return lambda self: box(prim(self._x), self.kin)


def _through(function: Any, *, reflected: bool = False) -> Callable[..., Any]:
    if reflected:
        return lambda self, other: NotImplemented if _stranger(other) else function(other, self)
    return lambda self, other: NotImplemented if _stranger(other) else function(self, other)


for _name, _function in {
    "__neg__": _unary(structure.negative.one),
    "__pos__": _unary(lambda x: x),
    "__abs__": _unary(complex_rules.absolute),
    "__invert__": _unary(elementwise.invert.one),
    "__matmul__": _through(np.matmul),
    "__rmatmul__": _through(np.matmul, reflected=True),
    "__divmod__": _through(np.divmod),
    "__rdivmod__": _through(np.divmod, reflected=True),
    "__round__": lambda self, decimals=0: np.round(self, decimals),
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
}.items():
    setattr(PositionalArray, _name, _function)

__all__ = ["FUNCTIONS", "Function", "array_function", "array_ufunc", "boxed", "implements", "wrap"]
