"""What a function sees besides its arguments: closures, globals, defaults, attributes, as far as user code goes.

Arrays found there are inputs of the program like arguments are; all else decides, by value or identity, which program
applies.  So what is written into a captured array is seen, and so is a variable that is bound to another value.
Installed packages are taken to hold no arrays of their own.
"""

from __future__ import annotations

import collections
import contextvars
import datetime as dt
import enum
import functools
import operator
import os
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.primitive import Primitive
from namedgrad.transforms.calls import is_library
from namedgrad.transforms.leaves import adapter_of, is_leaf

VALUES = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, np.generic, np.dtype, enum.Enum,
    dt.date, dt.timedelta,
)  # fmt: skip
FLAGS = (bool, np.bool_)
DESCRIPTORS = {property: "fget", classmethod: "__func__", staticmethod: "__func__", functools.cached_property: "func"}
_MISSING = object()

Part = Any  # a hashable part of a key
Slot = tuple[int, Any]  # a place that holds an object: the identity of its owner, and a key there (None: all of it)


class Traced(Exception):  # noqa: N818 - no error: the way out of reading
    """An array is being differentiated outside of the compiled function."""


class Same:
    """Stands for an object in a key: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value


class Key:
    """A tuple that remembers its hash."""

    __slots__ = ("hash", "parts")

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.parts, self.hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Key and self.parts == other.parts)


def array_part(a: DimArray, raws: list[Any]) -> Part:
    """What a program fixes of an array; its values are added to ``raws``."""
    if a.level is not None:
        raise Traced
    raw = a.raw
    kind = type(raw)
    if kind in FLAGS:
        return (a.names, a.hidden, kind, bool(raw))
    if kind is not np.ndarray and isinstance(raw, np.generic):  # an array without axes in all but name
        kind = np.ndarray
    raws.append(raw)
    return (a.names, a.hidden, kind, getattr(raw, "shape", None), getattr(raw, "dtype", None), repeats(raw))


def repeats(raw: Any) -> Part:
    """Which axes of an array repeat one cell: rules make use of that."""
    strides = getattr(raw, "strides", ())
    return 0 in strides and tuple(s == 0 and n > 1 for s, n in zip(strides, raw.shape, strict=True))


class Surroundings:
    """What can be reached from some objects at one moment.

    ``key`` is what a program fixes of it, ``raws`` are the arrays, ``labels`` say where each was found, and ``plain``
    are those that Python code sees as they are, so that it may compute with them unrecorded.  ``numbers`` of NumPy
    are part of the key.  Slots in ``ignored`` are not looked into.
    """

    def __init__(self, *roots: Any, ignored: Iterable[Slot] = ()) -> None:
        self.ignored = frozenset(ignored)
        self.raws: list[Any] = []
        self.labels: list[Part] = []
        self.plain: list[Any] = []
        self.numbers: list[Any] = []
        self.volatile = False  # whether it can change without a change of the objects in its slots
        self._cells: list[types.CellType] = []
        self._names: list[tuple[Any, str, Any]] = []  # in a table, a name, and whose table it is
        self._boxes: list[Any] = []  # lists and dicts, looked into as a whole
        self._seen: dict[int, int] = {}
        self._visited: set[Slot] = set()
        self._read: set[tuple[int, int]] = set()  # code, and a table in which its names were looked up
        self._parts: list[Part] = []
        for i, root in enumerate(roots):
            self._visit(root, (0, i))
        first = {id(r): i for i, r in reversed(list(enumerate(self.raws)))}
        self.key = Key((*self._parts, *(first[id(r)] for r in self.raws)))
        self._shapes = [getattr(r, "shape", ()) for r in self.raws]
        self._objects = self._now()
        self._contents = [dict(_items(box)) for box in self._boxes]

    def current(self) -> bool:
        """Whether all objects are the same as when this was read."""
        if self.volatile:
            return False
        now = self._now()
        return (
            len(now) == len(self._objects)
            and all(map(operator.is_, now, self._objects))
            and [getattr(r, "shape", ()) for r in self.raws] == self._shapes
        )

    def _now(self) -> list[Any]:
        try:
            now = [c.cell_contents for c in self._cells]
        except ValueError:
            now = [_content(c) for c in self._cells]
        now += [table.get(name, _MISSING) for table, name, _ in self._names]
        for box in self._boxes:
            now += box
            if type(box) is not list:
                now += box.values()
        return now

    def changed(self) -> dict[Slot, Any]:
        """Slots, with their owners, that got something since this was read, unless an array for an array."""
        slots = [(c, None) for c in self._cells] + [(owner, name) for _, name, owner in self._names]
        found = {
            (id(owner), key): owner
            for (owner, key), old, new in zip(slots, self._objects, self._now())
            if _differ(old, new)
        }
        for box, old in zip(self._boxes, self._contents, strict=True):
            new = dict(_items(box))
            if isinstance(box, list) and len(old) != len(new):
                found[id(box), None] = box
            for k in {**old, **new}:
                if _differ(old.get(k, _MISSING), new.get(k, _MISSING)):
                    found[id(box), k] = box
        return found

    # ---------------------------------------------------------------- one object

    def _visit(self, value: Any, slot: Slot) -> None:
        if slot in self.ignored or slot in self._visited:
            return
        self._visited.add(slot)
        kind = type(value)
        if isinstance(value, VALUES):
            self._parts.append((kind, repr(value)))
            if isinstance(value, np.generic):
                self.numbers.append(value)
        elif isinstance(value, DimArray):
            self._parts.append(array_part(value, self.raws))
        elif backends.is_array(value):
            self.raws.append(value)
            self.plain.append(value)
            self._parts.append((kind, value.shape, value.dtype, repeats(value)))
        elif is_leaf(value):
            self._leaf(value)
        elif backends.is_table(value):
            self._table(value)
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType)) or value is _MISSING:
            self._parts.append(Same(value))
        elif id(value) in self._seen:
            self._parts.append((kind, self._seen[id(value)]))
        else:
            self._seen[id(value)] = len(self._seen)
            self._inside(value)
        self.labels += [(slot, i) for i in range(len(self.raws) - len(self.labels))]

    def _leaf(self, value: Any) -> None:
        adapter, start = adapter_of(value), len(self.raws)
        self._parts += [type(value), adapter.fixed(value)]
        self._parts += [array_part(a, self.raws) for a in adapter.arrays(value)]
        self.plain += self.raws[start:]
        self.volatile = True

    def _table(self, value: Any) -> None:
        """Of pandas: its columns may be replaced, and Python code computes with them."""
        found = backends.columns(value)
        self.raws += found
        self.plain += found
        self._parts += [Same(value), *((a.shape, a.dtype) for a in found)]
        self.volatile = True

    def _inside(self, value: Any) -> None:
        kind = type(value)
        if kind is contextvars.ContextVar or value is os.environ or value is os.getenv:
            self._context(value)
        elif kind is types.FunctionType:
            self._function(value)
        elif kind is types.MethodType:
            self._all(value, (value.__func__, value.__self__))
        elif kind is functools.partial:
            self._all(value, (value.func, value.args, value.keywords))
        elif isinstance(value, (dict, list)):
            self._box(value)
        elif kind in DESCRIPTORS:
            self._all(value, [getattr(value, DESCRIPTORS[kind])])
        elif isinstance(value, (tuple, set, frozenset, collections.deque)):
            self.volatile = self.volatile or isinstance(value, (set, collections.deque))
            self._parts += [kind, len(value)]
            self._all(value, value)
        else:
            self._parts.append(Same(value))
            if isinstance(value, type):
                self._classes(value)
            elif callable(value) or kind is types.SimpleNamespace or not _is_library(kind):
                self._attributes(value)

    def _context(self, value: Any) -> None:
        """What Python code asks for a value: a variable of the context, or the environment."""
        self.volatile = True
        if isinstance(value, contextvars.ContextVar):
            self._parts.append(Same(value))
            self._visit(value.get(_MISSING), (id(value), None))
        else:
            self._parts.append(tuple(os.environ.items()))

    def _all(self, owner: Any, values: Iterable[Any]) -> None:
        for i, value in enumerate(values):
            self._visit(value, (id(owner), i))

    def _box(self, box: Any) -> None:
        if (id(box), None) in self.ignored:
            return
        self._boxes.append(box)
        self._parts.append(type(box))
        for key, value in _items(box):
            if (id(box), key) not in self.ignored:
                self._parts.append(key)
                self._visit(value, (id(box), key))

    def _attributes(self, value: Any) -> None:
        if hasattr(value, "__dict__"):
            if isinstance(value, Primitive):  # a table that calls fill
                self._visited.add((id(vars(value)), "kernels"))
            self._box(vars(value))
        kind = type(value)
        self._classes(kind)
        if not _is_library(kind):
            slots = [n for base in kind.__mro__ for n in getattr(base, "__slots__", ()) if hasattr(value, n)]
            self.volatile = self.volatile or bool(slots)
            self._all(value, [getattr(value, n) for n in slots])

    def _classes(self, kind: type) -> None:
        for base in kind.__mro__:
            if not _is_library(base):
                for name in [n for n in vars(base) if not n.startswith("__") or n == "__call__"]:
                    self._name(vars(base), name, base)

    def _name(self, table: Any, name: str, owner: Any) -> None:
        slot = (id(owner), name)
        if slot not in self.ignored and slot not in self._visited:
            self._names.append((table, name, owner))
            self._parts.append(name)
            self._visit(table[name], slot)

    # ---------------------------------------------------------------- functions

    def _function(self, f: types.FunctionType) -> None:
        self._parts.append(Same(f.__code__))
        cells, defaults = f.__closure__ or (), (f.__defaults__, f.__kwdefaults__)
        if is_library(f.__code__.co_filename):  # a wrapper of the user's function; its own variables stay
            self._all(f, (*defaults, *map(_content, cells), *vars(f).values()))
            return
        self._all(f, defaults)
        for cell in cells:
            self._cells.append(cell)
            self._visit(_content(cell), (id(cell), None))
        if vars(f):
            self._box(vars(f))
        self._globals(f.__code__, f.__globals__)

    def _globals(self, code: types.CodeType, table: dict[str, Any]) -> None:
        if (id(code), id(table)) in self._read:  # modules that import each other
            return
        self._read.add((id(code), id(table)))
        for name in code.co_names:
            value = table.get(name, _MISSING)
            if isinstance(value, types.ModuleType):
                file = getattr(value, "__file__", None)
                if file and not is_library(file):
                    self._globals(code, vars(value))  # module.name
                elif value is os and not {"environ", "getenv"}.isdisjoint(code.co_names):
                    self._visit(os.environ, (id(os), "environ"))
            elif name in table:
                self._name(table, name, table)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._globals(inner, table)


def _items(box: Any) -> list[tuple[Any, Any]]:
    return list(enumerate(box)) if isinstance(box, list) else list(box.items())


def _differ(old: Any, new: Any) -> bool:
    """Whether a slot got something that no input stands for."""
    return old is not new and not (_is_array(old) and _is_array(new))


def _is_array(x: Any) -> bool:
    return isinstance(x, DimArray) or backends.is_array(x)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _is_library(kind: type) -> bool:
    """Whether a class comes with Python or an installed package."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ != "__main__" and (file is None or is_library(file))
