"""All slices along a dim at once, so that their cotangents are joined once instead of added one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Like, Map, like, ops
from namedgrad.primitive import Primitive
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.structure import stamp, zeros_spread
from namedgrad.trace import accumulate, apply

CELL = axes.core(-1)


class _Unbind(Primitive):
    """A view of every slice."""

    form, signature = "linear", "(n)->(),...,()"

    def lower(self, args: Sequence[DimArray], dim: Name) -> tuple[DimArray, ...]:
        (x,) = args
        kernel = self.kernel_for(x.raw)
        at = x.names.index(dim)
        names = tuple(n for n in x.names if n != dim)
        return tuple(make(call(kernel, x.raw, at, index=i), names, x.hidden) for i in range(extent(x, dim)))

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], dim: Name) -> Map:
        return _UnbindMap(like(ins[0]), dim)


class _UnbindMap(CoreMap):
    """Unbind forward, join backward."""

    __slots__ = ("missing", "size")

    def __init__(self, x: Like, dim: Name) -> None:
        at = x.names.index(dim)
        self.size = x.full_shape[at]
        self.missing = Like(x.names[:at] + x.names[at + 1 :], x.full_shape[:at] + x.full_shape[at + 1 :], x.dtype)
        super().__init__(lambda ts: ts[0], lambda g: [g], [x], [{dim: CELL}], {})  # push is given below

    def pull(self, g: Any) -> list[DimArray | None]:
        marks = {c.hidden for c in g.values()}
        total: DimArray | None = None
        for mark in marks:  # cotangents that came by different renamings are joined apart
            (part,) = super().pull(self._joined({i: c for i, c in g.items() if c.hidden is mark}))
            total = accumulate(total, part, self.parents[0])  # type: ignore[arg-type]
        return [total]

    def _joined(self, g: dict[int, DimArray]) -> DimArray:
        if len(g) < self.size:
            some = next(iter(g.values()))
            zero = stamp(zeros_spread(some, self.missing._replace(dtype=some.dtype)), some.hidden)
            g = {i: g.get(i, zero) for i in range(self.size)}
        return join([g[i] for i in range(self.size)], CELL)

    def push(self, ts: Sequence[DimArray | None]) -> Any:
        (t,) = ts
        if t is None:
            return None
        return _unbind(ops.relabel(t, self.frames[0]), CELL)


_UNBIND = _Unbind("unbind", kernel="cut")


def _unbind(x: DimArray, dim: Name) -> tuple[DimArray, ...]:
    return apply(_UNBIND, (x,), dim=dim)


def unbind(x: DimArray, dim: Name) -> tuple[DimArray, ...]:
    """Every slice of ``x`` along a dim."""
    return (slice_of(x, dim, 0),) if extent(x, dim) == 1 else _unbind(x, dim)
