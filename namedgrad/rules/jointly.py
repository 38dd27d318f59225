"""Elementwise operations of which value and slopes are found together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.linear import Scale
from namedgrad.primitive import Elementwise


class Joint(Elementwise):
    """By one kernel, called ``joint``, where cells are differentiated once; where it gives None, one after the other."""

    joint: str

    def one(self, x: DimArray) -> DimArray:
        found = self._jointly(x)
        return super().one(x) if found is None else found

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        found = self._jointly(x, y)
        return super().two(x, y) if found is None else found

    def __call__(self, *args: DimArray) -> DimArray:
        found = self._jointly(*args) if len(args) > 2 else None
        return super().__call__(*args) if found is None else found

    def together(self, backend: Any, raw: Sequence[Any], need: Sequence[bool]) -> Sequence[Any] | None:
        """The result and the slopes in the operands, up to the last that is needed."""
        found: Sequence[Any] | None = getattr(backend, self.joint)(*raw)
        return found

    def _jointly(self, *xs: DimArray) -> Any:
        level = next((x.level for x in xs if x.level is not None), None)
        if level is None or not level.fast or backends.is_recording():
            return None
        need = [x.level is level for x in xs]
        values = [x.value if n else x for x, n in zip(xs, need, strict=True)]
        first, *others = values
        if any(v.level is not None for v in values) or not all(
            (v.names == first.names and v.hidden == first.hidden) or not (n or v.names)
            for v, n in zip(others, need[1:], strict=True)
        ):
            return None
        raw = [v.raw for v in values]
        found = self.together(backends.backend_of(*raw), raw, need)
        if found is None:
            return None
        out, *slopes = found
        wanted = [(s, x) for s, x, n in zip(slopes, xs, need, strict=False) if n]
        terms = tuple((make(s, first.names, first.hidden), x.names, None) for s, x in wanted)
        return level.record(Scale(terms, None), [x.node for _, x in wanted], make(out, first.names, first.hidden))


class OfBoth(Elementwise):
    """With other partials, of ``both``, where all operands are differentiated, which no program can write into."""

    both: Elementwise

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        level: Any = x.level
        if level is None or y.level is not level or not level.fast:
            return super().two(x, y)
        innermost = x.value.level is None and y.value.level is None
        return self.both.two(x, y) if innermost else super().two(x, y)
