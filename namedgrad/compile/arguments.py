"""Arguments of a compiled function: what a program fixes of them, and what the function sees while it is recorded."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.compile.record import Recorder, distinct
from namedgrad.compile.surroundings import FLAGS, VALUES, Part, Surroundings, array_part
from namedgrad.transforms.leaves import adapter_of, flatten, is_leaf, unflatten

NUMBERS = (int, float, complex)


class Read:
    """The values that a program leaves open, in order; ``plain`` are those that Python code sees as they are."""

    __slots__ = ("plain", "raws", "reached")

    def __init__(self) -> None:
        self.raws: list[Any] = []
        self.plain: list[Any] = []
        self.reached: list[Any] = []  # found in objects, which may share them

    def part(self, value: Any) -> Part:
        """What a program fixes of an argument, a hashable; what it leaves open is added."""
        kind = type(value)
        if kind is DimArray:
            return array_part(value, self.raws)
        if kind in NUMBERS:
            self.raws.append(value)
            return kind
        if kind is dict:
            return (kind, *value, *[self.part(v) for v in value.values()])
        if kind is tuple or kind is list:
            return (kind, *[self.part(v) for v in value])
        if is_leaf(value):
            adapter = adapter_of(value)
            return (kind, adapter.fixed(value), *[array_part(a, self.raws) for a in adapter.arrays(value)])
        return (kind, repr(value)) if isinstance(value, VALUES) else self._other(value)

    def _other(self, value: Any) -> Part:
        leaves, treedef = flatten(value)
        if not _is_one(leaves, value):  # a structure that optree knows, or a dataclass
            return (treedef, *[self.part(leaf) for leaf in leaves])
        around = Surroundings(value)  # an object, of which the function may read attributes
        self.raws += around.raws
        self.plain += around.plain
        self.reached += around.raws
        return around.key

    def shared(self, around: Surroundings) -> Part:
        """Which arrays found in objects are one."""
        if not self.reached:
            return None
        places: dict[int, int] = {}
        return tuple(places.setdefault(id(raw), i) for i, raw in enumerate((*self.reached, *around.raws)))


def _is_one(leaves: list[Any], value: Any) -> bool:
    """Whether a value is a leaf itself."""
    return len(leaves) == 1 and leaves[0] is value


def seen(value: Any, recorder: Recorder) -> Any:
    """What the function sees of an argument: the same arrays as inputs, each under an identity of its own."""
    kind = type(value)
    if kind is dict:
        return {k: seen(v, recorder) for k, v in value.items()}
    if kind is tuple or kind is list:
        return kind(seen(v, recorder) for v in value)
    if kind is int or is_leaf(value):
        return _seen_leaf(value, recorder)
    if isinstance(value, VALUES):
        return value
    leaves, treedef = flatten(value)
    if not _is_one(leaves, value):
        return unflatten(treedef, [seen(leaf, recorder) for leaf in leaves])
    around = Surroundings(value)
    recorder.take(around.raws, around.plain)
    return value


def _seen_leaf(leaf: Any, recorder: Recorder) -> Any:
    adapter = adapter_of(0.0 if type(leaf) is int else leaf)
    arrays = [make(leaf, (), NONE)] if type(leaf) is int else adapter.arrays(leaf)
    open_ = [type(a.raw) not in FLAGS for a in arrays]
    own = [make(distinct(a.raw), a.names, a.hidden) if o else a for a, o in zip(arrays, open_, strict=True)]
    recorder.take([a.raw for a, o in zip(own, open_, strict=True) if o])
    return adapter.seen(leaf, own)
