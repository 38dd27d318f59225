"""The core form for reductions: named dims of one operand are removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import Map, like, ops
from namedgrad.primitive.linear import LinearCore, frame_of
from namedgrad.primitive.registry import Primitive
from namedgrad.trace import apply


class Reduction(Primitive):
    """Removes named dims of one operand; the kernel gets their axes and nothing is permuted.

    ``pullback(g, y, x)`` and ``pushforward(t, y, x)`` are written on core names; without them there is no derivative.
    Where what they multiply by may not be finite they see to that themselves: a guarded pass repairs nothing.
    """

    form, signature = "core", "(n...)->()"

    def __init__(self, name: str, pullback: Any, pushforward: Any) -> None:
        super().__init__(name)
        self.pullback, self.pushforward = pullback, pushforward

    def __call__(self, x: DimArray, dims: Names) -> Any:
        return apply(self, (x,), dims=dims)

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims))
        return make(raw, tuple(n for n in x.names if n not in dims), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map | None:
        if self.pullback is None:
            return None
        frame = frame_of(dims)
        x = ops.relabel(ins[0], frame)
        return LinearCore(
            lambda ts: self.pushforward(ts[0], out, x), lambda g: self.pullback(g, out, x), [like(ins[0])], [frame], {}
        )


def reduction(name: str, *, pullback: Any = None, pushforward: Any = None) -> Reduction:
    """Declare a reduction over named dims."""
    return Reduction(name, pullback, pushforward)
