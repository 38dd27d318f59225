"""Tracing: eager boxes with levels, a flat tape per level, one pass of accumulation without recursion.

A :class:`Traced` array wraps a value one level down.  :func:`apply` finds the highest level among its operands, runs
the operation on the values below (which may be traced themselves) and records a linear map.  Levels come from one
counter and nothing is pushed or popped, so threads and exceptions cannot corrupt them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import Name, Names
from namedgrad.linear import Map, Scale, ops

_COUNTER = itertools.count(1)


# ------------------------------------------------------------------------------------------------ levels


class Level:
    """One transform in progress."""

    __slots__ = ("borrow", "fast", "index", "lent", "notes", "open", "owned", "parting", "paused", "tape")

    def __init__(self, *, forward: bool = False, borrow: bool = False) -> None:
        self.index: float = next(_COUNTER)
        self.tape: list[Map] | None = None if forward else []
        self.notes: list[Any] | None = None  #: maps, records of operands and results, if asked for
        self.open, self.fast, self.paused = True, True, 0
        self.parting: Level | None = None  #: one below, on which values that coincide move apart
        self.borrow = borrow
        self.lent: dict[int, tuple[Any, bool]] = {}
        self.owned: dict[int, tuple[Any, Any]] = {}

    def close(self) -> None:
        """Values of this level must not be used any more; what outlives it must not keep the tape alive."""
        self.open = self.fast = False
        self.tape, self.notes = None if self.tape is None else [], None

    def record(self, map_: Map, nodes: Sequence[Any], out: Any, captured: DimArray | None = None) -> Any:
        """The traced output of an operation; ``captured`` is an operand that is not traced, if there is one."""
        if self.tape is None:
            return self._forward(map_, nodes, out)
        if self.borrow and type(map_) is Scale:
            self.lend(captured, watch=True)
            map_.terms = [(self.own(f), names, dtype) for f, names, dtype in map_.terms]
        map_.parents = tuple(nodes)
        self.tape.append(map_)
        if type(out) is not tuple:
            return Traced(out, self, map_)
        picks = [Pick(map_, i) for i in range(len(out))]
        self.tape.extend(picks)
        return tuple(Traced(o, self, p) if o.dtype.kind in "fc" else o for o, p in zip(out, picks, strict=True))

    def _forward(self, map_: Map, nodes: Sequence[Tangent], out: Any) -> Any:
        ts = push(map_, nodes)
        if self.notes is not None:
            self.notes.append((map_, nodes, ts))
        if type(out) is not tuple:
            return out if ts is None else Traced(out, self, ts)
        return tuple(o if t is None else Traced(o, self, t) for o, t in zip(out, ts or (None,) * len(out), strict=True))

    def lend(self, a: DimArray | None, *, watch: bool = False) -> None:
        """Remember memory of the user's; ``watch``: the program itself may write there between two uses."""
        if self.borrow and a is not None and a.level is None and backends.is_array(a.raw):
            root = backends.memory(a.raw)
            self.lent[id(root)] = (root, watch or self.lent.get(id(root), (root, False))[1])

    def own(self, a: Any) -> Any:
        """What a map may retain of an array or factor: a private copy where the user can still write into it."""
        if isinstance(a, tuple):
            return tuple(map(self.own, a)) if type(a) is tuple else type(a)(*map(self.own, a))
        if not isinstance(a, DimArray) or a.level is not None:
            return a
        if getattr(a, "of_one", False) and a.by is not None and self.made(a.by):  # a late factor, which can wait
            return a
        if not backends.is_array(a.raw) or self.made(a):
            return a
        old, (_, watch) = self.owned.get(id(a.raw)), self.lent.get(id(backends.memory(a.raw)), (None, True))
        if old is None or (watch and not backends.same(old[1], a.raw)):
            old = self.owned[id(a.raw)] = (a.raw, backends.call(backends.backend_of(a.raw).keepsake, a.raw))
        return make(old[1], a.names, a.hidden)

    def made(self, a: DimArray) -> bool:
        """Whether an array was computed within the trace, so that the user cannot write into it."""
        root = backends.memory(a.raw)
        return id(root) not in self.lent and backends.backend_of(root).owns(root)

    def lending(self, prim: Any) -> Callable[..., Map | None]:
        """``prim.linear`` such that its map holds no memory of the user's."""

        def linear(out: Any, ins: list[DimArray], need: list[bool], /, **params: Any) -> Map | None:
            for a, n in zip(ins, need, strict=True):
                self.lend(None if n else a, watch=True)
            some, every = prim.keeps != "factors", sum(need) > 1 if prim.keeps == "others" else prim.keeps == "operands"
            ins = [self.own(a) if every or (some and not n) else a for a, n in zip(ins, need, strict=True)]
            out = self.own(out) if every or prim.keeps == "result" else out
            return prim.linear(out, ins, need, **params)

        return linear


class Tangent:
    """Forward mode's record: a tangent, the names whose slices were mixed on its path, and where its axes come from.

    ``origins`` are pairs (name now, name at the input) of the axes that the input itself has; what is mixed is noted by
    the name at the input.
    """

    __slots__ = ("mixed", "names", "origins", "value")

    def __init__(self, value: DimArray, mixed: frozenset[Name] = axes.NONE, origins: Any = None) -> None:
        self.value, self.mixed = value, mixed
        self.origins = frozenset((n, n) for n in value.names) if origins is None else origins


def push(map_: Map, ins: Sequence[Tangent | None]) -> Any:
    """The tangent of a map's output, or a tuple of them; None stands for zero."""
    if map_.keeps_record:
        return map_.push(ins)  # type: ignore[arg-type]
    out: Any = map_.push([None if t is None else t.value for t in ins])
    if out is None:
        return None
    given = [t for t in ins if t is not None]
    mixed, origins = given[0].mixed, given[0].origins
    for t in given[1:]:
        mixed, origins = mixed | t.mixed, origins | t.origins
    if map_.mapping:
        origins = frozenset((map_.mapping.get(now, now), first) for now, first in origins)
    if map_.mixes:
        known = {now for now, _ in origins}
        mixed = mixed.union(first for now, first in origins if now in map_.mixes)
        names = (out if type(out) is not tuple else given[0].value).names
        mixed = mixed.union(n for n in map_.mixes if n not in known and axes.aside_name(n) not in names)
    if type(out) is tuple:
        return tuple(None if t is None else Tangent(t, mixed, origins) for t in out)
    return Tangent(out, mixed, origins)


class Pick(Map):
    """One output of an operation that has several."""

    __slots__, multiplies = ("index",), False

    def __init__(self, source: Map, index: int) -> None:
        self.parents, self.index = (source,), index


class Traced(DimArray):
    """An array under differentiation: a value one level down and its place on the tape."""

    __slots__ = ("level", "node", "value")

    def __init__(self, value: DimArray, level: Level, node: Any) -> None:
        self.value, self.level = value, level  # four at once are a tuple first
        self.node, self.hidden = node, value.hidden
        self.names = node.names = value.names

    @property
    def full_shape(self) -> tuple[int, ...]:
        return self.value.full_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    @property
    def backend(self) -> str:
        return self.value.backend

    @property
    def data(self) -> Any:
        raise leaving(".data")

    def to_numpy(self) -> Any:
        raise leaving(".to_numpy()")

    def to(self, backend: str) -> DimArray:
        return ops.transfer(self, backend)

    def _scalar(self, what: str) -> Any:
        raise leaving(
            what, "the array itself (0-d arrays take part in arithmetic), or ng.stop_gradient(x) for a constant"
        )

    def to_xarray(self, coords: Any = None, name: Any = None) -> Any:
        raise leaving(".to_xarray()", "the namedgrad functions on the DimArray itself, or differentiate xarray objects")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise leaving("np.asarray()", "namedgrad or NumPy functions on the array itself")

    def __deepcopy__(self, memo: Any) -> DimArray:
        return self

    def __reduce__(self) -> Any:
        raise leaving("pickling", "the value after the transform has returned")

    def __repr__(self) -> str:
        return f"<Traced {repr(innermost(self))[1:]}"

    def _repr_html_(self) -> str:
        return f"<em>Traced</em> {innermost(self)._repr_html_()}"


def leaving(what: str, instead: str = "ng.stop_gradient(x) to treat the value as a constant") -> TraceError:
    """The error for a traced value that would leave the trace."""
    return TraceError(f"{what} would take a value that is being differentiated out of the trace; use {instead}")


# ------------------------------------------------------------------------------------------------ apply

Demotion = Callable[["Traced"], DimArray]
DEMOTIONS: ContextVar[dict[Level, Demotion]] = ContextVar("demote", default={})  # noqa: B039 - never mutated


def apply(prim: Any, args: Sequence[DimArray], **params: Any) -> Any:
    """Run a primitive: on raw arrays if nothing is traced, else one level down, recording its linear map."""
    level: Level | None = None
    for a in args:
        own = a.level
        if own is not None:
            if not own.fast and is_demoted(own):
                return apply(prim, demote(own, args), **params)
            if level is None or own.index > level.index:
                level = own
    if level is None:
        return prim.lower(args, **params)
    need = [a.level is level for a in args]
    ins = [a.value if n else a for a, n in zip(args, need, strict=True)]
    nodes = [a.node for a, n in zip(args, need, strict=True) if n]
    out = apply(prim, ins, **params)
    linear = level.lending(prim) if level.borrow else prim.linear
    map_ = linear(out, ins, need, **params)
    out = out if map_ is None else level.record(map_, nodes, out)
    return ops.moved(prim, args, out, params) if prim.moves else out


def is_demoted(level: Level) -> bool:
    """Whether this context runs without ``level``; not so if another thread has merely paused it."""
    if level in DEMOTIONS.get():
        return True
    if level.open:
        return False
    raise TraceError(
        "a traced value was used after the transform that made it had returned; return it from the function instead"
    )


def demote(level: Level, args: Sequence[DimArray]) -> list[DimArray]:
    """Operands with the values of a demoted level replaced."""
    return [DEMOTIONS.get()[level](a) if a.level is level else a for a in args]  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ passes


def backward(tape: Sequence[Map], seeds: list[tuple[Map, DimArray]], leaves: Sequence[Map]) -> list[DimArray | None]:
    """Pull cotangents from the seeded nodes to the leaves, visiting every node at most once."""
    cts: dict[Map, Any] = {}
    for node, g in seeds:
        cts[node] = accumulate(cts.get(node), g, node)
    for node in reversed(tape):
        g = cts.pop(node, None)
        if type(node) is Pick and g is not None:
            slots = cts.setdefault(node.parents[0], {})
            slots[node.index] = accumulate(slots.get(node.index), g, node)
        elif g is not None:
            for k, c in enumerate(node.pull(g)):  # a strict zip takes 1 us, of 15 that an operation takes
                if c is not None:
                    parent = node.parents[k]
                    old = cts.get(parent)
                    cts[parent] = c if old is None else accumulate(old, c, parent)
    return [cts.get(n) for n in leaves]


def accumulate(old: DimArray | None, new: DimArray, node: Map) -> DimArray:
    """The sum of two cotangents of one node."""
    if old is None:
        return new
    if old.hidden is not new.hidden:
        old, new = named_alike(old, new, node.names), named_alike(new, old, node.names)
    return ops.pile(old, new)


def named_alike(g: DimArray, other: DimArray, own: Names) -> DimArray:
    """``g`` with its kept axes under names that ``other``, which came by other renamings, can have them under too."""
    how: Any = g.hidden
    there: Any = other.hidden
    ordered = dict.fromkeys((*g.names, *how.final))  # as the array has them, not as a set does: axes are added here
    for now, then in [(n, how.final[n]) for n in ordered if n in how.final]:
        if there.final.get(now) != then:
            if now in own and now in g.names:  # an axis of the node itself, and a slice: a diagonal from here on
                g = ops.diagonalize(g, now)
                now = axes.slice_name(now)  # noqa: PLW2901 - the name that it has from here on
            g = ops.relabel(g, {now: axes.slice_name(axes.slice_name(then))})
    return g


def forward(tape: Sequence[Map], seeds: Mapping[Map, Tangent], ends: Sequence[Map | None]) -> list[Tangent | None]:
    """Push tangents along a tape that was recorded for reverse mode."""
    ts: dict[Map, Any] = dict(seeds)
    for node in tape:
        if node in ts:
            continue
        if type(node) is Pick:
            several = ts.get(node.parents[0])
            if several is not None:
                ts[node] = several[node.index]
            continue
        ins = [ts.get(p) for p in node.parents]
        if any(t is not None for t in ins):
            ts[node] = push(node, ins)
    return [ts.get(n) for n in ends]  # type: ignore[arg-type]


def innermost(a: DimArray) -> DimArray:
    """The untraced value at the bottom."""
    while a.level is not None:
        a = a.value
    return a
