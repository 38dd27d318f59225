"""What is known of the result of an elementwise operation on lengths: Taylor's formula."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant
from namedgrad.linear import Mask, Pair, Weight, ops
from namedgrad.squares.lengths import AlongRoot, Known, Length, Root, near, plain
from namedgrad.trace import Level, Tangent, Traced, innermost

_HALF = constant(0.5)


class Of(Known):
    """What is known of the result of an elementwise operation."""

    def __init__(self, prim: Any, args: Sequence[DimArray], out: DimArray, root: Root) -> None:
        self.prim, self.args, self.out, self.root = prim, args, out, root
        self.follow(a.known for a in args if type(a) is Length)

    @functools.cached_property
    def base(self) -> tuple[DimArray, list[DimArray]]:
        """Result and operands without their odd parts."""
        ins = [a.known.even if type(a) is Length else a for a in self.args]
        return self.prim(*ins), ins

    @functools.cached_property
    def odd(self) -> DimArray | None:
        """The slope of the result in the root."""
        return _slope(self.prim, *self.base, self._slopes())

    def _slopes(self) -> list[DimArray | None]:
        """Those of the operands."""
        return [a.known.odd if type(a) is Length else None for a in self.args]

    @functools.cached_property
    def bend(self) -> DimArray | None:
        """The second derivative of the result in the root."""
        if all(d is None or type(d) is int for d in self.prim.partials):
            return None
        out, ins = self.base
        slopes, level, bend = self._slopes(), AlongRoot(forward=True), None
        told = [_along(x, slope, level) for x, slope in zip([out, *ins], [self.odd, *slopes], strict=True)]
        for d, slope in zip(self.prim.partials, slopes, strict=True):
            if callable(d) and slope is not None and (own := _moved_by(d(*told), level)) is not None:
                bend = _sum(bend, ops.stamp(ops.mul(slope, own), out.hidden))
        level.close()
        return bend

    @functools.cached_property
    def even(self) -> Any:
        """Taylor's formula without its odd terms."""
        if self.bend is None:
            return self.base[0]
        return ops.add(self.base[0], ops.scale(self.root.radicand(), ops.mul(_HALF, self.bend)))


def mended(out: DimArray, known: Known, *, cancels: bool) -> DimArray:
    """A result of which the derivatives are right where its root is 0; ``cancels``: also one that does not bend."""
    root, nonzero = known.root, known.root.nonzero
    if known.steep is not None:  # where the slope is not 0 that of the root is infinite, and so is the result's
        steep = known.steep
        nonzero = functools.cache(lambda: ops.add(ops.nonzero(innermost(root.here)), ops.nonzero(steep)))
        if backends.nonzero_everywhere(steep.raw) or backends.nonzero_everywhere(nonzero().raw):
            return near(out, known)
    if known.bend is None and not cancels:
        return near(out, known)
    slope = None if root.flat else known.odd
    there = known.even if slope is None else ops.add(known.even, ops.scale(slope, root.here))
    mask = root.nonzero() if known.steep is None else ops.likely(nonzero(), seen=root.sharp)
    return near(ops.either(mask, out, ops.cast(there, out.dtype)), known)  # radicands may be sums in double precision


def steep_of(prim: Any, args: Sequence[DimArray], out: Traced) -> DimArray | None:
    """The value of ``odd`` of a result, where it is looked at."""
    if any(type(a) is Length and a.known.steep is None for a in args):
        return None
    ins = [innermost(a) for a in args]
    return _slope(prim, innermost(out), ins, [a.known.steep if type(a) is Length else None for a in args])


def _along(x: DimArray, slope: DimArray | None, level: Level) -> DimArray:
    return x if slope is None else Traced(plain(x), level, Tangent(ops.stamp(slope, axes.by_name(guard=True))))


def _moved_by(partial: Any, level: Level) -> DimArray | None:
    if isinstance(partial, Pair):
        partial = ops.mul(partial.g, partial.factor)
    if isinstance(partial, Weight):
        partial = partial.g
    return partial.node.value if isinstance(partial, Traced) and partial.level is level else None


def _slope(prim: Any, out: DimArray, ins: list[Any], slopes: Sequence[DimArray | None]) -> DimArray | None:
    """That of a result, by those of its operands; None stands for 0."""
    total = None
    for d, slope in zip(prim.partials, slopes, strict=True):
        if d is not None and slope is not None:
            total = _sum(total, _through(d if type(d) is int else d(out, *ins), slope))
    return total


def _through(factor: Any, slope: DimArray) -> DimArray:
    if type(factor) is int:
        return slope if factor == 1 else ops.neg(slope)
    if isinstance(factor, Pair):
        return _through(factor.factor, _through(factor.g, slope))
    if isinstance(factor, Mask):
        return ops.select(factor.where, slope)
    return ops.scale(slope, factor.g if isinstance(factor, Weight) else factor)


def _sum(x: DimArray | None, y: DimArray | None) -> DimArray | None:
    return y if x is None else x if y is None else ops.add(x, y)
