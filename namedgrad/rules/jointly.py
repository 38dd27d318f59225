"""Operations of which value and derivative are found together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.linear import Map, Scale
from namedgrad.primitive import Elementwise

Find = Callable[[Sequence[DimArray], Sequence[bool]], "tuple[DimArray, Map] | None"]


def jointly(xs: Sequence[DimArray], find: Find) -> Any:
    """The traced result of operands that are differentiated once; None for others, or where ``find`` gives None.

    ``find`` is given the values, and which of them are differentiated, and gives the result and the linear map.
    """
    levels = [x.level for x in xs]
    level: Any = next(filter(None, levels), None)
    if level is None or not level.fast or backends.is_recording():
        return None
    need = [own is level for own in levels]
    values = [x.value if n else x for x, n in zip(xs, need, strict=True)]
    found = find(values, need) if {v.level for v in values} == {None} else None
    if found is None:
        return None
    out, map_ = found
    return level.record(map_, [x.node for x, n in zip(xs, need, strict=True) if n], out)


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
        return jointly(xs, self._with_slopes)

    def _with_slopes(self, values: Sequence[DimArray], need: Sequence[bool]) -> tuple[DimArray, Map] | None:
        first, *others = values
        if not all(
            (v.names == first.names and v.hidden == first.hidden) or not (n or v.names)
            for v, n in zip(others, need[1:], strict=True)
        ):
            return None
        raw = [v.raw for v in values]
        found = self.together(backends.backend_of(*raw), raw, need)
        if found is None:
            return None
        out, *slopes = (make(r, first.names, first.hidden) for r in found)
        terms = [(s, v.names, None) for s, v, n in zip(slopes, values, need, strict=False) if n]
        return out, Scale(terms, None)


class OfBoth(Elementwise):
    """With other partials, of ``both``, where all operands are differentiated, which no program can write into."""

    both: Elementwise

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        level: Any = x.level
        if level is None or y.level is not level or not level.fast:
            return super().two(x, y)
        innermost = x.value.level is None and y.value.level is None
        return self.both.two(x, y) if innermost else super().two(x, y)
