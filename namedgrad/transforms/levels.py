"""Levels of arrays that reach a transform from outside of an operation."""

from __future__ import annotations

from collections.abc import Sequence

from namedgrad.array import DimArray
from namedgrad.trace import Level, demote, is_demoted


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
