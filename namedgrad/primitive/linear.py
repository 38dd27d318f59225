"""The linear form: one operand, along named dims of it, and a transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Like, Map, like
from namedgrad.primitive.registry import Primitive
from namedgrad.trace import apply

LAST = axes.cores(1)


class LinearCore(CoreMap):
    """The map of an operation that is linear itself, or to which it makes no difference whether a pass is guarded."""

    __slots__, multiplies = (), False


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
        (x,) = ins
        frame = dict(zip(dims, axes.cores(len(dims)), strict=True))
        inner = axes.cores(len(dims))
        info = _framed(like(x), {} if self.makes else frame)

        def pull(g: DimArray) -> list[DimArray]:
            return [self.transpose(g, info, **params)]

        def push(ts: list[Any]) -> DimArray:
            return apply(self, ts, dims=inner, **params)

        map_ = LinearCore(push, pull, [like(x)], [{} if self.makes else frame], {} if self.drops else frame)
        map_.mixes = tuple(n for n in dims if not isinstance(n, axes.Core))
        return map_


def _framed(x: Like, frame: dict[Name, Name]) -> Like:
    return Like(tuple(frame.get(n, n) for n in x.names), x.full_shape, x.dtype)


def linear(
    signature: str, name: str, *, transpose: Callable[..., DimArray], kernel: str | None = None, many: bool = False,
    moves: int = -1,
) -> Linear:
    """Declare a linear operation along named dims."""
    return Linear(signature, name, transpose, kernel, many=many, moves=moves)
