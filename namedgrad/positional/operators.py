"""Python's operators on positional arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.positional.array import PositionalArray, asked_by_xarray, box, numbers
from namedgrad.positional.broadcasting import pair
from namedgrad.positional.leaving import INSTEAD_OF_MODULES, POLYNOMIALS
from namedgrad.positional.matrices import sparse_matmul
from namedgrad.positional.memory import is_plain, lie_as
from namedgrad.positional.operands import kept, unwrap
from namedgrad.positional.protocol import write_out
from namedgrad.positional.ufuncs import defers, of_polynomial, stranger
from namedgrad.rules import complex as complex_rules
from namedgrad.rules import elementwise, structure

_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _declined(self: PositionalArray, other: Any) -> Any:
    """The answer is left to the other operand, unless it would swallow why there is none."""
    if type(other).__module__.startswith(POLYNOMIALS):
        self._refuse_leaving("arithmetic with a polynomial of np.polynomial", INSTEAD_OF_MODULES[POLYNOMIALS])
    return NotImplemented


def _forward(two: Callable[..., DimArray]) -> Callable[..., Any]:
    def forward(self: PositionalArray, other: Any) -> Any:
        kind, plain = self.kin, self._memory is None
        if isinstance(other, PositionalArray):
            y, plain = other._x, plain and other._memory is None
            if other.kin is not kind:
                kind = PositionalArray
        elif type(other) is float:
            y = make(other, (), NONE)
        elif type(other) is np.ndarray:
            other = of_polynomial(other)
            plain = plain and is_plain(other)
            y = make(kept(other), numbers(other.ndim), NONE)
        elif defers(self, other):
            return _declined(self, other)
        else:
            y = unwrap(other)
        out = box(two(*pair(self._x, y)), kind)
        return out if plain else lie_as(out, self, other)

    return forward


def _backward(two: Callable[..., DimArray], *, product: bool) -> Callable[..., Any]:
    def backward(self: PositionalArray, other: Any) -> Any:
        if stranger(other):
            return _declined(self, other)
        if product and backends.is_sparse(other):  # a matrix, whose * is this; a sparse array answers itself
            return sparse_matmul(other, self)
        out = box(two(*pair(unwrap(other), self._x)), self.kin)
        return out if self._memory is None and is_plain(other) else lie_as(out, other, self)

    return backward


def _inplace(forward: Callable[..., Any], prim: Any) -> Callable[..., Any]:
    def inplace(self: PositionalArray, other: Any) -> Any:
        out = forward(self, other)
        rebinds = self._is_number and not asked_by_xarray()
        return out if out is NotImplemented or rebinds else write_out(prim, self, out)

    return inplace


def _install(python: str, name: str, *, arithmetic: bool) -> None:
    two = (getattr(elementwise, name, None) or getattr(structure, name)).two
    forward = _forward(two)
    setattr(PositionalArray, f"__{python}__", forward)
    if arithmetic:
        setattr(PositionalArray, f"__r{python}__", _backward(two, product=python == "mul"))
        setattr(PositionalArray, f"__i{python}__", _inplace(forward, two.__self__))


for _python, _name in _OPERATORS.items():
    _install(_python, _name, arithmetic=True)
for _python, _name in _COMPARISONS.items():
    _install(_python, _name, arithmetic=False)


def _unary(prim: Callable[[DimArray], DimArray]) -> Callable[[PositionalArray], Any]:
    def unary(self: PositionalArray) -> Any:
        out = box(prim(self._x), self.kin)
        return out if self._memory is None else lie_as(out, self)

    return unary


def _matmul(a: Any, b: Any) -> Any:
    return sparse_matmul(a, b) if backends.is_sparse(a) or backends.is_sparse(b) else np.matmul(a, b)


def _through(function: Any, *, reflected: bool = False) -> Callable[..., Any]:
    def through(self: PositionalArray, other: Any) -> Any:
        if defers(self, other):
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return through


_OTHERS: dict[str, Callable[..., Any]] = {
    "__neg__": _unary(structure.negative.one),
    "__pos__": _unary(lambda x: x),
    "__abs__": _unary(complex_rules.absolute),
    "__invert__": _unary(elementwise.invert.one),
    "__matmul__": _through(_matmul),
    "__rmatmul__": _through(_matmul, reflected=True),
    "__divmod__": _through(np.divmod),
    "__rdivmod__": _through(np.divmod, reflected=True),
    "__round__": lambda self, decimals=None: _unary(lambda x: elementwise.rounded(x, decimals))(self),
}
for _name, _function in _OTHERS.items():
    setattr(PositionalArray, _name, _function)
