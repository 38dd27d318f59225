"""Levels of arrays that reach a transform from outside of an operation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from namedgrad.array import DimArray
from namedgrad.trace import DEMOTIONS, Demotion, Level, Traced, demote, is_demoted


def as_taken(parts: Sequence[DimArray]) -> Sequence[DimArray]:
    """Arrays as operations take them here: values of a level that this context runs without are replaced."""
    for p in parts:
        if p.level is not None and not p.level.fast and is_demoted(p.level):
            return as_taken(demote(p.level, parts))
    return parts


def top_level(parts: Sequence[DimArray]) -> Level | None:
    """The highest level among arrays."""
    levels = [p.level for p in parts if p.level is not None]
    return max(levels, key=lambda level: level.index) if levels else None


def without(x: Any, level: Level) -> Any:
    """An array without what it has at ``level``, if anything."""
    return x.value if isinstance(x, Traced) and x.level is level else x


_PAUSING = threading.Lock()


def one_down(parts: Sequence[DimArray], level: Level) -> list[DimArray]:
    """Parts without the trace of ``level``, as its maps may retain them."""
    for p in parts:
        if p.level is not level:
            level.lend(p, watch=True)
    return [level.own(p.value if isinstance(p, Traced) and p.level is level else p) for p in parts]


class demoting:  # noqa: N801 - a context manager reads as a verb
    """Within this context, values of ``level`` are replaced by what ``to`` makes of them."""

    def __init__(self, level: Level, to: Demotion) -> None:
        self.level, self.to = level, to

    def __enter__(self) -> None:
        self.token = DEMOTIONS.set(DEMOTIONS.get() | {self.level: self.to})
        self._pause(1)

    def __exit__(self, *exc: object) -> None:
        DEMOTIONS.reset(self.token)
        self._pause(-1)

    def _pause(self, change: int) -> None:
        level = self.level
        with _PAUSING:  # several threads may pause one level
            level.paused += change
            level.fast = level.open and not level.paused
