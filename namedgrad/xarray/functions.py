"""NumPy's functions of xarray objects: ``np.median(x)``, ``np.where(x > 0, x, 0)``, ``np.concatenate([x, y])``.

xarray objects do not take part in NumPy's protocol for functions.  NumPy asks some for a method of theirs (``np.mean``)
and makes plain arrays of all others, which what is being differentiated refuses.  Here, such a function is called again
with the arrays that the objects hold; what it gives is an array, too, as it is for plain ones, but for the functions
that NumPy lets end in the kind of their operand.

The protocol is shown to NumPy alone, which asks the class.  xarray and others, who look at an object, find no change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.array import REFUSAL
from namedgrad.positional.array import PositionalArray
from namedgrad.positional.operands import nameless
from namedgrad.xarray.convert import regathered
from namedgrad.xarray.holding import holds

_OBJECTS = (xr.DataArray, xr.Variable)
#: Whose results NumPy gives back to an operand's ``__array_wrap__``, with the place of that operand.
_GIVEN_BACK = {
    "apply_along_axis": 2, "argpartition": 0, "array_split": 0, "compress": 1, "delete": 0, "diagflat": 0,
    "ediff1d": 0, "eig": 0, "eigh": 0, "hsplit": 0, "inv": 0, "pinv": 0, "qr": 0, "repeat": 0, "reshape": 0, "solve": 1,
    "split": 0, "svd": 0, "swapaxes": 0, "take": 0, "trim_zeros": 0, "vsplit": 0,
}  # fmt: skip
_hidden = ContextVar("hidden", default=False)


def _array_function(self: Any, func: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
    of_ours = holds(args) or holds(kwargs)
    if holds(self) and not of_ours:  # np.zeros(n, like=x)
        return func(*args, **kwargs, like=self.data)
    refused = REFUSAL.last
    token = _hidden.set(True)
    try:
        return func(*args, **kwargs)  # as if there were no such protocol
    except Exception:
        if not of_ours or (REFUSAL.last is refused and not _among(args)):
            raise
    finally:
        _hidden.reset(token)
    out = func(*_arrays(args), **_arrays(kwargs))
    operand = args[_GIVEN_BACK.get(func.__name__, len(args)) :][:1]
    return _given_back(out, *operand) if operand and isinstance(operand[0], _OBJECTS) else out


def _among(args: Any) -> bool:
    """Whether arrays of ours, which refuse to meet names, are among the operands."""
    return any(isinstance(a, PositionalArray) or (isinstance(a, (list, tuple)) and _among(a)) for a in args)


def _arrays(given: Any) -> Any:
    """Arguments with arrays in place of the objects that hold them."""
    if type(given) in {list, tuple}:
        return type(given)(map(_arrays, given))
    return {n: _arrays(v) for n, v in given.items()} if type(given) is dict else nameless(given)


def _given_back(out: Any, operand: Any) -> Any:
    """A result, or each of several, as the kind of object that an operand is, where it has as many dims."""
    if isinstance(out, (tuple, list)):
        return regathered(out, [_given_back(o, operand) for o in out])
    return operand.__array_wrap__(out) if np.ndim(out) == operand.ndim else out


class _Shown:
    """``__array_function__`` of a class, and of none of its objects."""

    def __get__(self, obj: Any, _: type) -> Callable[..., Any]:
        if obj is not None or _hidden.get():
            raise AttributeError("__array_function__")
        return _array_function


for _kind in (k for k in _OBJECTS if not hasattr(k, "__array_function__")):
    setattr(_kind, "__array_function__", _Shown())  # noqa: B010 - mypy knows the attributes that xarray gives it
