"""What methods of xarray's names take whatever they do: ``keep_attrs``, and ``axis`` in the place of ``dim``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from namedgrad.array import DimArray
from namedgrad.rules.dims import at_axis

_REDUCING = frozenset(
    (
        "all", "any", "argmax", "argmin", "argsort", "count", "cumprod", "cumsum", "max", "mean", "median", "min", "prod",
        "std", "sum", "var",
    )
)  # fmt: skip
_KEEPING = frozenset(("astype", "clip", "conj", "conjugate", "idxmax", "idxmin", "pad", "quantile", "rank", "round"))
_FIRST = frozenset(("isnull", "notnull"))  # of which it is the only argument

_KEEP_ATTRS = """keep_attrs : bool, optional
    xarray's argument: changes nothing, as a DimArray has no attributes."""
_AXIS = """axis : int or tuple of int, optional
    Places of the dims among ``dims``, instead of ``dim``."""
_Kind = inspect.Parameter


class Method:
    """A method that takes xarray's common arguments, and otherwise those of a function: made when it is first asked for.

    To read and write the signatures and docstrings of all of them would be a tenth of the import.
    """

    __slots__ = ("by_axis", "first", "function", "home", "name")

    def __init__(self, home: type, name: str, function: Callable[..., Any], *, by_axis: bool, first: bool) -> None:
        self.home, self.name, self.function, self.by_axis, self.first = home, name, function, by_axis, first

    def __get__(self, instance: Any, owner: type) -> Any:
        made = self._made()
        setattr(self.home, self.name, made)
        return getattr(owner if instance is None else instance, self.name)

    def _made(self) -> Callable[..., Any]:
        function = self.function
        form = _by_axis if self.by_axis else _keyword_first if self.first else _keyword
        method = form(function)
        method.__name__, method.__qualname__ = self.name, f"{self.home.__qualname__}.{self.name}"
        method.__module__ = self.home.__module__
        method.__doc__ = self._described(inspect.cleandoc(function.__doc__ or ""))
        method.__signature__ = self._signature(inspect.signature(function))  # type: ignore[attr-defined]
        return method

    def _signature(self, signature: inspect.Signature) -> inspect.Signature:
        own = list(signature.parameters.values())
        option = _Kind("keep_attrs", _Kind.KEYWORD_ONLY, default=None, annotation="bool | None")
        if self.first:
            own.insert(1, option.replace(kind=_Kind.POSITIONAL_OR_KEYWORD))
        else:
            at = len(own) - (own[-1].kind is _Kind.VAR_KEYWORD)
            axis = [_Kind("axis", _Kind.KEYWORD_ONLY, default=None, annotation="int | tuple[int, ...] | None")] if self.by_axis else []
            own[at:at] = [*axis, option]
        return signature.replace(parameters=own)

    def _described(self, doc: str) -> str:
        """The docstring with the arguments that are added; one of a line alone says enough."""
        added = "\n".join((*([_AXIS] if self.by_axis else []), _KEEP_ATTRS))
        return doc.replace("\n\nReturns\n", f"\n{added}\n\nReturns\n", 1)


def taking(home: type, name: str, function: Callable[..., Any]) -> Any:
    """A method of DimArrays as xarray has one of this name; the function itself if it has nothing more to take."""
    if name in _REDUCING or name in _KEEPING or name in _FIRST:
        return Method(home, name, function, by_axis=name in _REDUCING, first=name in _FIRST)
    return function


def keep_attrs_first(home: type, names: Iterable[str]) -> None:
    """Let methods that a class has take ``keep_attrs`` first, as those of xarray's windows and groups do."""
    for name in names:
        setattr(home, name, Method(home, name, getattr(home, name), by_axis=False, first=True))


def keep_attrs_by_name(home: type, names: Iterable[str]) -> None:
    """Let methods that a class has take ``keep_attrs`` by its name."""
    for name in names:
        setattr(home, name, Method(home, name, getattr(home, name), by_axis=False, first=False))


def check_keep_attrs(value: Any) -> None:
    """Refuse what was meant for another argument."""
    if not (value is None or isinstance(value, (bool, str))):
        raise TypeError(f"keep_attrs={value!r} must be True, False or None; give other arguments by their names")


def _keyword(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, keep_attrs: Any = None, **kwargs: Any) -> Any:
        if keep_attrs is not None:
            check_keep_attrs(keep_attrs)
        return function(self, *args, **kwargs)

    return method


def _keyword_first(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, keep_attrs: Any = None, **kwargs: Any) -> Any:
        if keep_attrs is not None:
            check_keep_attrs(keep_attrs)
        return function(self, **kwargs)

    return method


def _by_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: DimArray, *args: Any, axis: Any = None, keep_attrs: Any = None, **kwargs: Any) -> Any:
        if keep_attrs is not None:
            check_keep_attrs(keep_attrs)
        if axis is not None:
            args = (*_in_place_of_dim(self, function.__name__, axis, args, kwargs), *args[1:])
        return function(self, *args, **kwargs)

    return method


def _in_place_of_dim(x: DimArray, what: str, axis: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any]:
    """What ``dim`` would be."""
    if (args and args[0] is not None) or kwargs.pop("dim", None) is not None:
        raise TypeError(f"{what}: give dim= or axis=, not both")
    return (at_axis(x, axis, what),)
