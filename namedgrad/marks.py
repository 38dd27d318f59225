"""Operands agree on sizes, and on what is vectorized, also on dims that an operation consumes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, describe
from namedgrad.axes import AxisError, Name

# Annotations of parameters that may be arrays or hold some.
MAY_HOLD = {"Any", "Mapping[Any, Any]", "Mapping[Any, Any] | None"}


def agreeing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for operands of which none has vectorized what is visible in another; an AxisError for others."""
    if inspect.ismethod(function) or not _takes_several(function):  # methods are those of primitives
        return function

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if _any_hidden(args) or (kwargs and _any_hidden(kwargs.values())):
            agree((args, kwargs))
        return function(*args, **kwargs)

    return checked


def agree(values: Iterable[Any]) -> None:
    """Raise an AxisError if one of the arrays in these values has vectorized what is visible in another."""
    found = list(_arrays(values))
    axes.merge_hidden([x.names for x in found], [x.hidden for x in found])


def mismatch(name: str, args: Sequence[Any]) -> AxisError:
    """The error for one name with two sizes."""
    sizes: dict[Name, set[int]] = {}
    for a in args:
        for n, s in zip(a.names, a.full_shape, strict=True):
            sizes.setdefault(n, set()).add(s)
    bad = [n for n, s in sizes.items() if len(s) > 1]
    shown = ", ".join(describe(a) for a in args)
    repeat = "ng.broadcast_vectors" if any(bad[0] in a.hidden for a in args) else f".squeeze({bad[0]!r})"
    return AxisError(
        f"{name}: sizes of {', '.join(map(repr, bad))} differ among the operands {shown}; one name has one size: "
        f"index or align the operands first (size 1 is not broadcast: use {repeat}), or rename one"
    )


def _takes_several(function: Callable[..., Any]) -> bool:
    """Whether several arrays may be given, as far as annotations say; a dim is none."""
    kinds = [str(kind) for name, kind in function.__annotations__.items() if name not in {"dim", "return"}]
    many = function.__code__.co_flags & inspect.CO_VARARGS or any("Sequence[DimArray]" in kind for kind in kinds)
    return bool(many) or sum("DimArray" in kind or kind in MAY_HOLD for kind in kinds) > 1


def _any_hidden(values: Iterable[Any]) -> bool:
    """Most calls have none: a loop tells in half of the time that it takes to collect the arrays."""
    for v in values:
        if isinstance(v, DimArray):
            if v.hidden:
                return True
        elif type(v) in (dict, list, tuple) and any(x.hidden for x in _arrays((v,))):
            return True
    return False


def _arrays(values: Iterable[Any]) -> Iterator[DimArray]:
    for v in values:
        if isinstance(v, DimArray):
            yield v
        elif type(v) in (dict, list, tuple):
            yield from _arrays(v.values() if type(v) is dict else v)
