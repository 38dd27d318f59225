"""Axes of size 1, put in and dropped as a view: what NumPy's broadcasting does before alignment by name takes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Map, Structural, like
from namedgrad.primitive import Primitive, place
from namedgrad.rules.structure import Renaming, relabel, spread
from namedgrad.trace import apply, push


class _Refit(Primitive):
    """Axes of size 1 dropped and put in, the others renamed: neither this nor the transpose copies."""

    form, signature, keeps = "linear", "(n...)->()", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], gone: Names, order: Names, mapping: Mapping[Name, Name]) -> DimArray:
        (x,) = args
        names, move = _plan(x.names, gone, order)
        raw = x.raw if x.names else call(backends.backend_of(x.raw).asarray, x.raw)  # a number has no axes to add to
        return relabel(make(place(raw, move), names, axes.without(x.hidden, gone)), mapping)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], gone: Names, order: Names, mapping: Mapping[Name, Name]
    ) -> Map:
        return _Refitted(ins[0], gone, order, mapping)


@lru_cache(4096)
def _plan(names: Names, gone: Names, order: Names) -> tuple[Names, axes.Move]:
    """The names of the result, behind those that nobody mentions, and how it is laid out."""
    full = (*(n for n in names if n not in order and n not in gone), *order)
    perm = axes.order_plan(names, (*(n for n in full if n in names), *gone))
    return full, axes.Move(perm, (*(slice(None) if n in names else None for n in full), *(0 for _ in gone)))


class _Resized(Structural):
    """What is dropped, and put in: as a sum over axes of size 1, and one more of their cells."""

    __slots__ = ("gone", "order", "x")

    def __init__(self, x: DimArray, gone: Names, order: Names) -> None:
        self.x, self.gone, self.order, self.mixes = like(x), gone, order, gone

    def _pull(self, g: DimArray) -> DimArray:
        return spread(g, self.x) if self.gone else g

    def _push(self, t: DimArray) -> DimArray:
        return refit(t, self.gone, self.order, {})


class _Refitted(Map):
    """Beside the renaming what was dropped is put back and what was put in dropped."""

    __slots__ = ("new", "renaming", "resized")
    multiplies, keeps_record = False, True

    def __init__(self, x: DimArray, gone: Names, order: Names, mapping: Mapping[Name, Name]) -> None:
        self.resized, self.renaming = _Resized(x, gone, order), Renaming(dict(mapping))
        self.new = tuple([mapping.get(n, n) for n in order if n not in x.names])

    def pull(self, g: DimArray) -> list[DimArray | None]:
        return self.resized.pull(*self.renaming.pull(drop(g, self.new)))  # type: ignore[arg-type]

    def push(self, ts: Sequence[Any]) -> Any:
        return push(self.renaming, [push(self.resized, ts)])


_REFIT = _Refit("refit")


def refit(x: DimArray, gone: Names, order: Names, mapping: Mapping[Name, Name]) -> DimArray:
    """``x`` without the axes ``gone``, the others in this order, in which new ones are of size 1, and then renamed."""
    return apply(_REFIT, (x,), gone=gone, order=order, mapping=mapping)


def drop(x: DimArray, dims: Names) -> DimArray:
    """``x`` without these axes, each of size 1."""
    return refit(x, dims, tuple([n for n in x.names if n not in dims]), {}) if dims else x
