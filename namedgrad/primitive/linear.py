"""The linear form: one operand, along named dims of it, and a transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Map, like
from namedgrad.primitive.registry import Primitive
from namedgrad.trace import apply

LAST = axes.cores(1)


class LinearCore(CoreMap):
    """The map of an operation that is linear itself, or to which it makes no difference whether a pass is guarded."""

    __slots__, multiplies = (), False


class Along(LinearCore):
    """The map of a :class:`Linear` operation; it holds no functions, of which each were several objects."""

    __slots__ = ("params", "prim")

    def __init__(self, prim: Linear, x: DimArray, dims: Names, params: dict[str, Any]) -> None:
        frame, self.mixes = frame_of(dims), dims
        self.prim, self.params, self.operands = prim, params, [like(x)]
        self.frames, self.out_frame = [{} if prim.makes else frame], {} if prim.drops else frame

    def _pull(self, g: DimArray) -> list[DimArray]:
        (x,), (frame,) = self.operands, self.frames
        inside = x._replace(names=tuple(frame.get(n, n) for n in x.names)) if frame else x
        return [self.prim.transpose(g, inside, **self.params)]

    def _push(self, ts: list[Any]) -> DimArray:
        return apply(self.prim, ts, dims=axes.cores(len(self.frames[0] or self.out_frame)), **self.params)


def frame_of(dims: Names) -> dict[Name, Name]:
    """The core names of dims."""
    return axes.frame(dims, axes.cores(len(dims)))


class Linear(Primitive):
    """Linear in one operand, along named dims of it; the kernel gets their axes and nothing is permuted.

    ``signature`` ``(n)->(n)`` keeps the dims (their sizes may change), ``(n)->()`` removes them, ``()->(n)`` makes
    them.  ``transpose(g, x, **params)`` is written on core names; ``x`` is a :class:`~namedgrad.linear.Like`.
    """

    form, keeps = "linear", "constants"

    def __init__(
        self, signature: str, name: str, transpose: Callable[..., DimArray], kernel: str | None = None,
        *, many: bool = False, moves: int = -1,
    ) -> None:  # fmt: skip
        super().__init__(name, kernel)
        self.signature, self.transpose, self.many, self.moves = signature, transpose, many, moves
        self.drops = signature.endswith("->()")
        self.makes = signature.startswith("()->")

    def __call__(self, x: DimArray, dims: Names = LAST, **params: Any) -> Any:
        return apply(self, (x,), dims=dims, **params)

    def lower(self, args: Sequence[DimArray], dims: Names, **params: Any) -> DimArray:
        (x,) = args
        if self.makes:
            names = (*x.names, *dims)
            at: Any = axes.positions(names, dims)
        else:
            at = axes.positions(x.names, dims)
            names = tuple(n for n in x.names if n not in dims) if self.drops else x.names
        kernel = self.kernels.get(type(x.raw)) or self.kernel_for(x.raw)
        raw = call(kernel, x.raw, at if self.many else at[0], **params)
        return make(raw, names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, **params: Any) -> Map:
        return Along(self, ins[0], dims, params)


def linear(
    signature: str, name: str, *, transpose: Callable[..., DimArray], kernel: str | None = None, many: bool = False,
    moves: int = -1,
) -> Linear:
    """Declare a linear operation along named dims."""
    return Linear(signature, name, transpose, kernel, many=many, moves=moves)
