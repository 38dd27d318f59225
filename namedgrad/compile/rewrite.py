"""What a single call can be replaced by: its operand, a constant, a cheaper call.

Each rule holds for the values that count: where a bet is on, a result that is not finite is never used.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.backends.numpy import is_whole
from namedgrad.backends.special import FEW
from namedgrad.compile.record import Var

CELLWISE = (NUMPY.where, NUMPY.select, NUMPY.scale, NUMPY.shield, NUMPY.power)  # functions that are no ufuncs
HALF = 0.5  # what frexp leaves of a power of 2


class Constant(NamedTuple):
    """A value that is the same in every run."""

    value: Any


class Call(NamedTuple):
    """A function and its operands."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def unguarded(call: Call) -> Call:
    """The call without the guard of 0 against factors that are not finite."""
    function, args, kwargs = call
    if function == NUMPY.scale:
        return Call(np.multiply, args, kwargs)
    if function == NUMPY.contract and kwargs.get("guard"):
        return Call(function, args, {**kwargs, "guard": False})
    return call


def cheaper(call: Call, out: Var) -> Call:
    """The call that NumPy itself would make for the operator; without an operand that no cell is taken of."""
    function, args, kwargs = call
    if function == NUMPY.where and type(args[0]) is Constant:
        taken = 1 if is_all(args[0], True) else 2 if is_all(args[0], False) else None
        if taken is None:
            return call
        shape = () if getattr(args[taken], "shape", None) == out.shape else out.shape
        none = Constant(np.broadcast_to(np.zeros((), out.dtype), shape))
        return Call(function, tuple(a if i in (0, taken) else none for i, a in enumerate(args)), kwargs)
    if function != NUMPY.power:
        return call
    if is_all(args[1], 2) and is_float(args[0]):
        return Call(np.square, args[:1], kwargs)
    if is_float(args[0]) and math.prod(args[0].shape) >= FEW and is_whole(number := one_value(args[1])):
        return Call(function, (args[0], number), kwargs)
    return Call(np.power, args, kwargs)  # which writes in place


def with_one_factor(call: Call, out: Var, made: Mapping[Var, Call]) -> tuple[Call, Var] | None:
    """``a * (b * x)`` of two numbers as one product, where ``b`` is a power of 2, so that it is exact; ``b * x``, too.

    Means of squares are such, of which the slope is ``(1 / n) * (2 * x)``.
    """
    for a, inner in _number_and_array(call):
        for b, x in _number_and_array(made.get(inner)):
            if abs(np.frexp(b)[0]) == HALF and (x.shape, x.dtype) == (out.shape, inner.dtype):
                return Call(np.multiply, (a * b, x), {}), inner
    return None


def _number_and_array(call: Call | None) -> Iterator[tuple[Any, Var]]:
    """The number and the other factor of a product that has one."""
    if call is None or call.function is not np.multiply or call.kwargs:
        return
    for a, x in (call.args, call.args[::-1]):
        number = one_value(a)
        if isinstance(number, (int, float, np.floating)) and is_float(x):
            yield number, x


def operand(call: Call, out: Var, made: Mapping[Var, Call], *, trusting: bool) -> Any:
    """The operand that a call returns unchanged, or a constant; None if it has to be made.

    ``made`` says how variables were made; ``trusting`` whether guards may be left out.
    """
    function, args, _ = call
    same: Any = None
    if function == NUMPY.select:
        mask, x = args
        if is_all(mask, False):
            return Constant(np.broadcast_to(out.dtype.type(0), out.shape))
        if is_all(mask, True) or (trusting and _is_weight(mask, x, made)):
            same = x
    elif function == NUMPY.where:
        mask, x, y = args
        same = x if is_all(mask, True) or x is y else y if is_all(mask, False) else None
    elif function is np.multiply:
        x, y = args
        same = y if is_all(x, 1) else x if is_all(y, 1) else None
    elif (function == NUMPY.power and is_all(args[1], 1)) or (trusting and function == NUMPY.shield):
        same = args[0]
    if function == NUMPY.where and type(same) is Constant and isinstance(same.value, np.ndarray):
        return same if (same.value.shape, same.value.dtype) == (out.shape, out.dtype) else None
    if type(same) is not Var or (same.dtype is None) is not (out.dtype is None):  # None would equal float64
        return None
    fits = same.shape == out.shape and same.dtype == out.dtype
    return same if fits else None


def is_all(x: Any, what: float) -> bool:
    """Whether a constant or literal has one value everywhere."""
    if type(x) is Var:
        return False
    value = one_value(x)
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "mM":  # has a unit, and no number equals it
        return False
    return isinstance(value, (int, float, np.generic, np.ndarray)) and bool(np.all(value == what))


def one_value(x: Any) -> Any:
    """A constant or literal; of one that repeats a number, that."""
    value = x.value if type(x) is Constant else x
    one = isinstance(value, np.ndarray) and value.size and not any(value.strides)
    return value[(0,) * value.ndim] if one else value


def is_nothing(call: Call, gone: Sequence[bool]) -> bool:
    """Whether the result counts for nothing, as those operands do which are ``gone``: masked everywhere."""
    if call.function == NUMPY.where:
        return all(g or is_all(a, 0) for g, a in zip(gone[1:], call.args[1:], strict=True))
    if call.function in (np.divide, NUMPY.take, NUMPY.scatter_add):
        return gone[0]
    return call.function in (np.multiply, NUMPY.scale, NUMPY.contract, NUMPY.select)


def is_cellwise(call: Call) -> bool:
    """Whether a function gives one array, of which each cell depends on the same cell of its operands."""
    ufunc = isinstance(call.function, np.ufunc) and call.function.nout == 1 and call.function.signature is None
    return not call.kwargs and (ufunc or call.function in CELLWISE)


def of_constants(function: Callable[..., Any], *operands: Any) -> Any:
    """Such a function of constants; where they repeat a number each the result does, too."""
    numbers = [one_value(x) for x in operands]
    if any(isinstance(n, np.ndarray) and n.ndim for n in numbers) or all(map(operator.is_, numbers, operands)):
        return function(*operands)
    return np.broadcast_to(function(*numbers), np.broadcast_shapes(*map(np.shape, operands)))


def is_float(x: Any) -> bool:
    """Whether a variable is an array of floats or complex numbers."""
    return type(x) is Var and x.dtype is not None and x.dtype.kind in "fc"


def _is_weight(mask: Any, x: Any, made: Mapping[Var, Call]) -> bool:
    """Whether ``x`` is a product with a weight, selected where the weight is not 0: elsewhere it is 0 anyway."""
    test, product = (made.get(v) if type(v) is Var else None for v in (mask, x))
    if test is None or product is None or test.function is not np.not_equal or product.function is not np.multiply:
        return False
    weight, zero = test.args
    return is_all(zero, 0) and any(weight is a for a in product.args)
