"""``np.emath``: functions whose results are complex where one of their cells is real, but its result is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.trace import innermost

INSTEAD = {"logn": "log"}


def _widened(x: Any, real: Callable[..., Any], what: str) -> Any:
    """Cells as complex numbers, if a real one is outside of a domain; of all slices, where one of them has such."""
    a = _in_its_precision(x)
    if a.dtype.kind == "c":
        return wrap(a)
    raw = innermost(a).raw
    if not backends.may_look(raw):
        raise TraceError(
            f"np.emath.{what}() looks at values to decide whether its result is complex, which a program that is being "
            f"recorded, dask and devices leave open; use np.{INSTEAD.get(what, what)}(x.astype(complex))"
        )
    return wrap(a) if np.all(real(raw)) else wrap(a).astype(np.result_type(a.dtype, np.complex64))


def _in_its_precision(x: Any) -> DimArray:
    """Also of a number, which NumPy takes for an array here."""
    return numbered(x if isinstance(x, PositionalArray) else np.asarray(x))


def _not_negative(raw: Any) -> Any:
    return np.logical_not(raw < 0)


def _up_to_one(raw: Any) -> Any:
    return np.logical_not(abs(raw) > 1)


def _declare(what: str, real: Callable[..., Any]) -> None:
    function = getattr(np, what)

    @implements(getattr(np.emath, what))
    def of_complex_numbers(x: Any) -> Any:
        return function(_widened(x, real, what))


for _name in ("sqrt", "log", "log2", "log10"):
    _declare(_name, _not_negative)
for _name in ("arcsin", "arccos", "arctanh"):
    _declare(_name, _up_to_one)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    return np.log(_widened(x, _not_negative, "logn")) / np.log(_widened(n, _not_negative, "logn"))


@implements(np.emath.power)
def power(x: Any, p: Any) -> Any:
    powers: Any = wrap(_in_its_precision(p))
    if powers.dtype.kind == "i" and np.any(innermost(powers._x).raw < 0):  # which integers cannot be raised to
        powers = np.multiply(powers, 1.0)
    return np.power(_widened(x, _not_negative, "power"), powers)
