"""The public functions: every registered operation, on every face.

A *face* is a kind of array that users hold: :class:`~namedgrad.DimArray` here, positional arrays and xarray objects in
their own packages, which register a handler with :func:`add_face`.  This module also gives DimArray its methods,
operators and NumPy protocols.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.axes import AxisError
from namedgrad.marks import agreeing
from namedgrad.primitive import OPERATIONS, Elementwise, Operation
from namedgrad.rules import complex as complex_numbers
from namedgrad.rules import (
    contraction,
    control,
    conveniences,
    elementwise,
    indexing,
    methods,
    movement,
    sorting,
    structure,
)
from namedgrad.rules.parts import divmod
from namedgrad.rules.reductions.weighted import weighted
from namedgrad.rules.values import astype
from namedgrad.rules.windows.rolling import rolling
from namedgrad.trace import Traced

Handler = Callable[[Operation, tuple[Any, ...], dict[str, Any]], Any]
_FACES: list[tuple[Callable[[Any], bool], Handler]] = []
_NAMED = (DimArray, Traced)


def add_face(recognises: Callable[[Any], bool], handler: Handler, *, first: bool = False) -> None:
    """Let public functions take another kind of array; the ``first`` is asked before those that numbers may be in."""
    _FACES.insert(0 if first else len(_FACES), (recognises, handler))


def dispatch(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation on the face that its arguments have."""
    values = (*args, *kwargs.values())
    if any(isinstance(v, DimArray) for v in values) and not any(map(_foreign, values)):
        return _named(op, args, kwargs)
    for recognises, handler in _FACES:
        if any(_holds(v, recognises) for v in values):
            return handler(op, args, kwargs)
    return _named(op, args, kwargs)


def _holds(value: Any, recognises: Callable[[Any], bool]) -> bool:
    """Whether it is such an array, or one stands in a list, a tuple or a mapping."""
    if recognises(value):
        return True
    parts = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, Mapping) else ()
    return any(_holds(v, recognises) for v in parts)


def _named(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    prim = _elementwise(op)
    if prim and (kwargs or len(args) != len(prim.partials)):
        got = ", ".join([str(len(args)), *map(repr, kwargs)])
        raise TypeError(f"{op.name} takes {len(prim.partials)} operands by position and no keyword, not {got}")
    if args and not isinstance(args[0], DimArray):
        args = (constant(args[0], f"{op.name}: the operand"), *args[1:])
    return op.function(*args, **kwargs)


def _public(op: Operation) -> Callable[..., Any]:
    raw = op.function
    prim = _elementwise(op)
    count = prim and len(prim.partials)
    one = prim.one if prim and count == 1 else None
    alone = "where takes a condition and two choices; positions of what is true are ng.nonzero(condition)"

    @functools.wraps(raw)
    def function(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) in _NAMED:
            if one is not None and len(args) == 1 and not kwargs:  # the shortest way for exp(x) and its like
                return one(args[0])
            if len(args) == 1 and not kwargs and op.name == "where":
                raise TypeError(alone)
            if (count is None or (count == len(args) and not kwargs)) and not any(map(_foreign, args[1:])):
                return raw(*args, **kwargs)
        return dispatch(op, args, kwargs)

    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "namedgrad"
    if prim:
        from namedgrad.docstrings import describe_elementwise

        function.__doc__, function.__signature__ = describe_elementwise(prim, op)  # type: ignore[attr-defined]
    return function


def _elementwise(op: Operation) -> Elementwise | None:
    prim = getattr(op.function, "__self__", None)
    return prim if isinstance(prim, Elementwise) else None


class _Functions(dict[str, Callable[..., Any]]):
    """Public functions by name, each made when it is first asked for: all of them would take a sixth of the import."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        found = self[name] = _public(OPERATIONS[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in OPERATIONS or super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*OPERATIONS, *super().__iter__())))


FUNCTIONS = _Functions()


def concat(arrays: Any, dim: Any) -> Any:
    """Join arrays along a dim; see :func:`namedgrad.rules.movement.concat`."""
    return dispatch(OPERATIONS["concat"], tuple(arrays), {"dim": dim})


def stop_gradient(x: Any) -> Any:
    """The same value, a constant to every transform; see :func:`namedgrad.rules.control.stop_gradient`."""
    return x if type(x) is np.ndarray else dispatch(OPERATIONS["stop_gradient"], (x,), {})


concat.__doc__ = movement.concat.__doc__
FUNCTIONS["concat"] = concat
stop_gradient.__doc__ = control.stop_gradient.__doc__
FUNCTIONS["stop_gradient"] = stop_gradient
for _search in (sorting.unique, sorting.nonzero):  # sizes that depend on values: neither in the tables nor compiled
    FUNCTIONS[_search.__name__] = _public(Operation(_search.__name__, _search, "sorting", (), False, False))  # noqa: FBT003


# ------------------------------------------------------------------------------------------------ methods and operators


def _method(name: str, function: Callable[..., Any]) -> None:
    setattr(DimArray, name, methods.taking(DimArray, name, function))


for _op in OPERATIONS.data.values():  # those that are registered later are no methods
    if _op.method:
        _method(_op.name, _op.function)
for _name in ("vectorize", "devectorize", "coarsen"):
    _method(_name, getattr(movement, _name))
for _name in (
    "pipe", "combine_first", "dropna", "drop_isel", "sortby", "isin", "cumulative", "get_axis_num", "differentiate",
    "integrate", "cumulative_integrate", "equals", "broadcast_equals",
):  # fmt: skip
    _method(_name, getattr(conveniences, _name))
_method("identical", conveniences.equals)
for _name in ("where", "dot"):
    _method(_name, None)  # type: ignore[arg-type]


def _where(self: DimArray, cond: Any, other: Any = np.nan, drop: bool = False) -> DimArray:
    """Cells where ``cond`` holds, ``other`` (NaN) elsewhere, as xarray's method; each may be a function of the array.

    With ``drop`` only positions of the dims of ``cond`` at which it holds anywhere are kept.
    """
    other = structure.missing(self) if isinstance(other, float) and math.isnan(other) else other
    cond, other = (constant(v(self) if callable(v) else v) for v in (cond, other))
    out = structure.where(cond, self, other)
    out = structure.reorder(out, tuple(dict.fromkeys((*self.names, *cond.names, *other.names))))
    return indexing.isel(out, {d: cond.any([n for n in cond.dims if n != d]) for d in cond.dims}) if drop else out


def _dot(self: DimArray, other: Any, dim: Any = None) -> DimArray:
    """Product by name, summed over dims; see :func:`namedgrad.dot`."""
    return contraction.dot(self, other, dim=dim)


def _astype(
    self: DimArray, dtype: Any, *, order: Any = None, casting: Any = None, subok: Any = None, copy: Any = None
) -> DimArray:
    """The same values with another dtype, if ``casting`` allows it, as "unsafe", the default, always does.

    ``order``, ``subok`` and ``copy``, which are about memory, change nothing here.
    """
    casting = "unsafe" if casting is None else casting
    if not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(f"cannot cast from {self.dtype} to {np.dtype(dtype)} by the rule casting={casting!r}")
    return astype(self, dtype)


_method("rolling", rolling)
_method("where", _where)
_method("dot", _dot)
_method("astype", _astype)
_method("weighted", weighted)
_method("conj", complex_numbers.conjugate)
_method("conjugate", complex_numbers.conjugate)
DimArray.real = property(complex_numbers.real)  # type: ignore[attr-defined]
DimArray.imag = property(complex_numbers.imag)  # type: ignore[attr-defined]
DimArray.at = property(indexing.At)  # type: ignore[attr-defined]
DimArray.T = property(movement.transpose)  # type: ignore[attr-defined]

_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _primitive(name: str) -> Any:
    return getattr(elementwise, name, None) or getattr(structure, name)


def _operators(python: str, name: str, *, reflected: bool) -> None:
    two = _primitive(name).two

    def forward(self: DimArray, other: Any) -> Any:
        if isinstance(other, DimArray):
            return two(self, other)
        if _foreign(other):
            return NotImplemented
        return two(self, constant(other))

    def backward(self: DimArray, other: Any) -> Any:
        return NotImplemented if _foreign(other) else two(constant(other), self)

    _method(f"__{python}__", forward)
    if reflected:
        _method(f"__r{python}__", backward)


def _foreign(other: Any) -> bool:
    """Whether another class may know what to do, as positional arrays and xarray objects do: by raising clearly."""
    return getattr(other, "__namedgrad_operand__", False) and getattr(other, "nameless", None) is None


def _unary(one: Callable[[DimArray], DimArray]) -> Callable[[DimArray], DimArray]:
    return lambda self: one(self)  # a bound method would not be bound again


for _python, _name in _OPERATORS.items():
    _operators(_python, _name, reflected=True)
for _python, _name in _COMPARISONS.items():
    _operators(_python, _name, reflected=False)
_method("__neg__", _unary(structure.negative.one))
_method("__pos__", lambda self: self)
_method("__abs__", complex_numbers.absolute)
_method("__invert__", _unary(elementwise.invert.one))
_method("__getitem__", agreeing(indexing.getitem))


def _matmul(self: DimArray, other: Any) -> DimArray:
    raise TypeError("@ works on positions, a DimArray has names: use ng.dot(x, y, dim=...) or ng.matmul(x, y, dim)")


_method("__matmul__", _matmul)
_method("__rmatmul__", _matmul)


_method("__round__", elementwise.rounded)


def _divmod(self: DimArray, other: Any) -> tuple[DimArray, DimArray]:
    return divmod(self, constant(other))


_method("__divmod__", _divmod)
_method("__rdivmod__", lambda self, other: _divmod(constant(other), self))


# ------------------------------------------------------------------------------------------------ NumPy's protocols

UFUNCS = {  # the operations that ufuncs of NumPy and SciPy are, if they have another name
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "psi": "digamma",
    "kl_div": "kl_entr",
    "_zeta": "zeta",
    "_riemann_zeta": "zeta",
}
_RENAMED = {
    "around": "round",
    "true_divide": "divide",
    "conj": "conjugate",
    "abs": "absolute",
    "amax": "max",
    "amin": "min",
}
_ATTRIBUTES = ("shape", "ndim", "size")
_ARGUMENTS = {"axis": "dim", "a_min": "min", "a_max": "max"}
_FLATTENING = ("cumsum", "cumprod")  # where NumPy flattens, unless an axis is named
_POSITIONAL = {
    "reshape": ".stack or .unstack", "concatenate": "ng.concat", "stack": "ng.concat", "tensordot": "ng.dot",
    "einsum": "ng.dot", "swapaxes": ".transpose", "moveaxis": ".transpose", "ravel": ".stack", "vstack": "ng.concat",
    "hstack": "ng.concat", "matmul": "ng.dot or ng.matmul(x, y, dim)", "inner": "ng.inner", "vdot": "ng.vdot",
    "polyfit": "ng.polyfit(y, x, dim=dim, deg=deg), the data first",
    "kron": "ng.kron", "vecdot": "ng.vecdot(x, y, dim)", "matvec": "ng.dot", "vecmat": "ng.dot",
}  # fmt: skip


def _array_ufunc(self: DimArray, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
    if method != "__call__" or out is not None or kwargs:
        asked = f".{method}" if method != "__call__" else "out=, where= and dtype="
        raise TypeError(
            f"np.{ufunc.__name__}: {asked} is not for arrays with names; "
            "use the reductions by dim, ng.where and .astype"
        )
    if name in _POSITIONAL:
        raise _positional_error(ufunc.__name__)
    if name not in FUNCTIONS:
        raise TypeError(f"np.{ufunc.__name__} has no named counterpart; use ng.* functions, see the reference")
    return FUNCTIONS[name](*inputs)


def _array_function(self: DimArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = _RENAMED.get(func.__name__, func.__name__)
    if "linalg" in func.__module__ or "fft" in func.__module__:
        raise TypeError(f"np.{func.__module__.split('.')[-1]}.{name} works on positions; use ng.{name}(a, dims=...)")
    if name in _POSITIONAL or (
        name.removeprefix("nan") in _FLATTENING and kwargs.get("axis") is None and len(args) == 1 and self.ndim > 1
    ):
        raise _positional_error(func.__name__)
    if name in _ATTRIBUTES:
        return getattr(args[0], name)
    if name.startswith("nan") and name[3:] in FUNCTIONS:
        name, kwargs = name[3:], {"skipna": True, **kwargs}
    elif name in FUNCTIONS and "skipna" in inspect.signature(FUNCTIONS[name]).parameters:
        kwargs = {"skipna": False, **kwargs}
    if name not in FUNCTIONS:
        raise TypeError(f"np.{func.__name__} has no named counterpart; use ng.* functions, see the reference")
    return FUNCTIONS[name](*args, **_known_arguments(name, func, kwargs))


def _known_arguments(name: str, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    named = {_ARGUMENTS.get(key, key): value for key, value in kwargs.items()}
    if named and (takes := _keywords(FUNCTIONS[name])) and (unknown := [key for key in named if key not in takes]):
        raise TypeError(
            f"np.{func.__name__}: {unknown[0]}= is not for arrays with names; ng.{name} takes {takes}; "
            "ng.where(mask, x, ...) leaves cells out"
        )
    return named


@functools.cache
def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of its arguments; none if it takes any."""
    takes = inspect.signature(function).parameters
    return () if any(p.kind is p.VAR_KEYWORD for p in takes.values()) else tuple(takes)


def _positional_error(name: str) -> TypeError:
    instead = _POSITIONAL.get(name, f"ng.{name}(a, dim), or name the dim with axis=")
    return TypeError(f"np.{name} works on positions, a DimArray has names: use {instead}")


_method("__array_ufunc__", _array_ufunc)
_method("__array_function__", _array_function)

__all__ = ["FUNCTIONS", "UFUNCS", "AxisError", "add_face", "concat", "dispatch"]
