"""NumPy's protocols and Python's operators on positional arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError
from namedgrad.positional import indexing
from namedgrad.positional.array import SCALARS, Lifted, PositionalArray, box, meet, unwrap
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import complex as complex_rules
from namedgrad.rules import elementwise, structure

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a NumPy function does on positional arrays."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for f in functions:
            FUNCTIONS[f] = function
        return function

    return declare


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _primitive(name: str) -> Any:
    return getattr(elementwise, name, None) or getattr(structure, name)


def _stranger(other: Any) -> bool:
    """Whether another class should answer: it obeys NumPy's protocols and is none of ours."""
    return not isinstance(other, (*SCALARS, DimArray)) and hasattr(other, "__array_ufunc__") and not backends.is_array(other)


def _install(python: str, name: str, *, reflected: bool) -> None:
    two = _primitive(name).two

    def forward(self: PositionalArray, other: Any) -> Any:
        kind = type(self)
        if isinstance(other, PositionalArray):
            y = other._x
            if type(other) is not kind:
                kind = PositionalArray
        elif _stranger(other):
            return NotImplemented
        else:
            y = unwrap(other)
        x, y = meet(self._x, y)
        return box(two(x, y), kind)

    def backward(self: PositionalArray, other: Any) -> Any:
        if _stranger(other):
            return NotImplemented
        x, y = meet(unwrap(other), self._x)
        return box(two(x, y), type(self))

    setattr(PositionalArray, f"__{python}__", forward)
    if reflected:
        setattr(PositionalArray, f"__r{python}__", backward)

        def inplace(self: PositionalArray, other: Any) -> Any:
            out = forward(self, other)
            if out is not NotImplemented:
                self[...] = out
                return self
            return out

        setattr(PositionalArray, f"__i{python}__", inplace)


for _python, _name in _OPERATORS.items():
    _install(_python, _name, reflected=True)
for _python, _name in _COMPARISONS.items():
    _install(_python, _name, reflected=False)


def _unary(prim: Callable[[DimArray], DimArray]) -> Callable[[PositionalArray], Any]:
    return lambda self: box(prim(self._x), type(self))


PositionalArray.__neg__ = _unary(structure.negative.one)  # type: ignore[attr-defined]
PositionalArray.__pos__ = _unary(lambda x: x)  # type: ignore[attr-defined]
PositionalArray.__abs__ = _unary(complex_rules.absolute)  # type: ignore[attr-defined]
PositionalArray.__invert__ = _unary(elementwise.invert.one)  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ ufuncs

_RENAMED = {
    "true_divide": "divide", "conj": "conjugate", "abs": "absolute", "degrees": "rad2deg", "radians": "deg2rad",
    "bitwise_not": "invert", "mod": "remainder",
}  # fmt: skip
_CASTS = ("casting", "order", "subok")


def kind_of(values: Any) -> type[PositionalArray]:
    """The class of a result: plain arrays seen by a transform stay such, anything else is positional."""
    found = {type(v) for v in values if isinstance(v, PositionalArray)}
    return Lifted if found == {Lifted} else PositionalArray


def array_ufunc(self: PositionalArray, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """NumPy's ufuncs, by name."""
    if any(_stranger(x) and not isinstance(x, PositionalArray) for x in inputs):
        return NotImplemented
    name = _RENAMED.get(ufunc.__name__, ufunc.__name__)
    if method != "__call__":
        raise TypeError(f"np.{ufunc.__name__}.{method} is not for positional arrays")
    op = OPERATIONS.get(name)
    if op is None:
        raise TypeError(f"np.{ufunc.__name__} has no derivative rule here")
    return box(op.function(*meet(*(unwrap(x) for x in inputs))), kind_of(inputs))


def array_function(self: PositionalArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's functions, by identity."""
    handler = FUNCTIONS.get(func)
    if handler is None:
        raise TypeError(f"np.{func.__name__} is not known on positional arrays")
    return handler(*args, **kwargs)


PositionalArray.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
PositionalArray.__array_function__ = array_function  # type: ignore[attr-defined]

__all__ = ["FUNCTIONS", "Lifted", "TraceError", "implements", "indexing", "np"]
