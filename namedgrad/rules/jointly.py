"""Elementwise operations of which value and slopes are found together."""

from __future__ import annotations

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

    def _jointly(self, *xs: DimArray) -> Any:
        level = next((x.level for x in xs if x.level is not None), None)
        if level is None or not level.fast or backends.is_recording():
            return None
        values = [x.value if x.level is level else x for x in xs]
        first = values[0]
        if any(v.level is not None or v.names != first.names or v.hidden != first.hidden for v in values):
            return None
        raw = [v.raw for v in values]
        found = getattr(backends.backend_of(*raw), self.joint)(*raw)
        if found is None:
            return None
        out, *slopes = (make(a, first.names, first.hidden) for a in found)
        terms, nodes = zip(*(((s, x.names, None), x.node) for x, s in zip(xs, slopes, strict=True) if x.level is level), strict=True)
        return level.record(Scale(terms, None), nodes, out)
