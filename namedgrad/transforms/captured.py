"""What a function captures: arrays whose dims no operation inside it can see, and generators of random numbers.

A DimArray that a function captures meets the others by name, so a dim that is vectorized in one and visible in another
is found where they meet.  The data inside an xarray object has lost its names by then; so captured xarray objects are
looked for before the function runs.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Names
from namedgrad.backends.rewind import global_generators, is_generator
from namedgrad.transforms.leaves import adapter_of


def refuse_captured(f: Callable[..., Any], names: Names) -> None:
    """Raise if ``f`` captures an xarray object that has one of the dims, in its closure, defaults or globals.

    Raises
    ------
    AxisError
        Naming the variable and the dim, and saying to pass it as an argument.
    """
    for name, value in captured(f):
        adapter = adapter_of(value)
        if adapter.nameless_inside and (clash := [d for d in adapter.dims(value) if d in names]):
            raise AxisError(
                f"the function captures {name!r}, a {type(value).__name__} that has the dim {clash[0]!r}, which is "
                f"hidden by over={tuple(names)}; pass it as an argument: then each slice meets its own slice of it"
            )


def generators(found: Any) -> list[Any]:
    """The generators that a function and its arguments reach, also as attributes of objects, and through modules."""
    values = [v for one in found for _, v, _ in _reached(one)]
    inside = [v for value in values for v in _attributes(value)]
    shared = global_generators() if any("random" in _mentioned(v.__code__) for v in values if _is_function(v)) else ()
    return list({id(v): v for v in (*values, *inside, *shared) if is_generator(v)}.values())


def _attributes(value: Any) -> list[Any]:
    if isinstance(value, (type, types.ModuleType, DimArray)) or backends.is_array(value):
        return []
    return list(getattr(value, "__dict__", {}).values())


def captured(f: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Names and values that a function reaches without being given them."""
    return ((name, value) for name, value, is_end in _reached(f) if is_end)


def _reached(f: Any) -> Iterator[tuple[str, Any, bool]]:
    """What is found on the way too, and whether it is an end."""
    seen: set[int] = set()
    stack: list[tuple[str, Any]] = [("", f)]
    while stack:
        name, value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        found = list(_inside(value))
        yield name, value, not found
        stack.extend((inner or name, v) for inner, v in found)


def _is_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType)


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if _is_function(value):
        yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield "", value.__func__
        yield from getattr(value.__self__, "__dict__", {}).items()
    elif isinstance(value, functools.partial):
        yield from (("functools.partial", v) for v in (value.func, *value.args, *value.keywords.values()))
    elif type(value) in (list, tuple):
        yield from (("", v) for v in value)
    elif type(value) is dict:
        yield from ((str(k), v) for k, v in value.items())
    elif callable(value) and not isinstance(value, type):  # an object with __call__
        yield from getattr(value, "__dict__", {}).items()
        yield "", getattr(type(value), "__call__")  # noqa: B004, B009 - the function itself is asked for


def _of_function(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    yield from (("a default", v) for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))
    if not f.__globals__.get("__name__", "").startswith("namedgrad"):
        yield from _of_globals(f.__code__, f.__globals__)


def _of_globals(code: types.CodeType, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _loaded(code):
        if name not in table:
            continue
        value = table[name]
        if not isinstance(value, types.FunctionType) or value.__globals__ is table:
            yield name, value


@functools.lru_cache(maxsize=1000)
def _loaded(code: types.CodeType) -> tuple[str, ...]:
    """The globals that a function loads, and those inside it; ``co_names`` has attributes too."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in _loaded(c)]
    return tuple(dict.fromkeys(own + inner))


@functools.lru_cache(maxsize=1000)
def _mentioned(code: types.CodeType) -> frozenset[str]:
    """The globals and attributes that a function names, and those inside it."""
    return frozenset(code.co_names).union(*(_mentioned(c) for c in code.co_consts if isinstance(c, types.CodeType)))
