"""Half precision: what many cells contribute to is computed in single precision, and rounded once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from namedgrad.array import DimArray
from namedgrad.rules.structure import cast

Function = TypeVar("Function", bound=Callable[..., Any])
HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def in_single(function: Function) -> Function:
    """The same function, for a first operand in half precision by way of single precision."""

    @functools.wraps(function)
    def through_single(*args: Any, **kwargs: Any) -> Any:
        wanted, first = kwargs.get("dtype"), args[:1] or kwargs.values()
        if wanted is not None:  # of the result, too
            half = np.dtype(wanted) == HALF
            return narrow(function(*args, **{**kwargs, "dtype": SINGLE})) if half else function(*args, **kwargs)
        if HALF not in [getattr(v, "dtype", None) for v in first]:
            return function(*args, **kwargs)
        out = function(*map(wide, args), **{k: wide(v) for k, v in kwargs.items()})
        if any(getattr(v, "dtype", None) == SINGLE for v in (*args, *kwargs.values())):  # the result is, too
            return out
        return tuple(map(narrow, out)) if isinstance(out, tuple) else narrow(out)

    return through_single  # type: ignore[return-value]


def wide(x: Any) -> Any:
    """In single precision what is in half."""
    return cast(x, SINGLE) if isinstance(x, DimArray) and x.dtype == HALF else x


def narrow(x: Any) -> Any:
    """In half precision what is in single."""
    return cast(x, HALF) if isinstance(x, DimArray) and x.dtype == SINGLE else x
