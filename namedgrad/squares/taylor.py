"""What is known of the result of an elementwise operation on lengths: Taylor's formula."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant
from namedgrad.linear import Mask, Pair, Weight, ops
from namedgrad.squares.lengths import AlongRoot, Known, Length, Root, near, plain
from namedgrad.trace import Level, Tangent, Traced, innermost

_PRODUCTS, QUOTIENTS = {"negative", "multiply", "square"}, {"divide", "minus_quotient", "reciprocal"}


class Of(Known):
    """What is known of the result of an elementwise operation."""

    def __init__(self, prim: Any, args: Sequence[DimArray], out: DimArray, root: Root) -> None:
        self.prim, self.args, self.out, self.root = prim, args, out, root
        lengths = [a.known for a in args if type(a) is Length]
        self.vanishes = prim.name in _PRODUCTS and all(k.vanishes for k in lengths)
        multiple = prim.name in {"negative", "multiply"} or (prim.name == "divide" and type(args[-1]) is not Length)
        self.is_multiple = multiple and len(lengths) == 1 and lengths[0].is_multiple
        self.follow(lengths)

    @functools.cached_property
    def base(self) -> tuple[DimArray, list[DimArray]]:
        """Result and operands without their odd parts."""
        ins = [a.known.even if type(a) is Length else a for a in self.args]
        return self.prim(*ins), ins

    @functools.cached_property
    def odd(self) -> DimArray | None:
        """Taylor's formula without its even terms, by the root."""
        return self._series(self._derivatives[1], 1)

    @functools.cached_property
    def _derivatives(self) -> list[DimArray | None]:
        """Those of the result in the root, as many as were asked for, from the result itself on; None stands for 0."""
        return [self.base[0], _slope(self.prim, *self.base, self._slopes())]

    @functools.cached_property
    def slope(self) -> DimArray | None:
        """That of the result in the root, by those of its operands."""
        if self.root.terms() == 1:
            return self.odd
        return _slope(self.prim, *self.base, [a.known.slope if type(a) is Length else None for a in self.args])

    def _slopes(self) -> list[DimArray | None]:
        """What is odd in the operands."""
        return [a.known.odd if type(a) is Length else None for a in self.args]

    @functools.cached_property
    def bend(self) -> DimArray | None:
        """The second derivative of the result in the root."""
        return self._derivative(2)

    def _derivative(self, order: int) -> DimArray | None:
        """One of the result in the root; where it does not bend, as products of lengths do not further, all are 0."""
        while len(self._derivatives) <= order:
            self._derivatives.append(self._next())
        return self._derivatives[order]

    def _next(self) -> DimArray | None:
        """That which follows those that are there: it is that of the slope, forward along the root."""
        before = self._derivatives
        if (len(before) > 2 and self._ends(before[-1])) or all(d is None or type(d) is int for d in self.prim.partials):
            return None
        out, ins = self.base
        slopes, levels, found = self._slopes(), [AlongRoot(forward=True) for _ in before[1:]], None
        told = [_along(derivatives, levels) for derivatives in (before, *zip(ins, slopes, strict=True))]
        for d, slope in zip(self.prim.partials, slopes, strict=True):
            if callable(d) and slope is not None and (own := _moved_by(d(*told), levels)) is not None:
                found = _sum(found, ops.stamp(ops.mul(slope, own), out.hidden))
        for level in levels:
            level.close()
        return found

    def _ends(self, last: DimArray | None) -> bool:
        """Whether there are no derivatives after this one: it is 0, or infinite wherever the root is 0."""
        if last is None or self._ends_unseen():
            return True
        lost = ops.nonzero(ops.add(innermost(last), ops.neg(innermost(last))))  # NaN, of what is not finite
        return backends.nonzero_everywhere(ops.add(self.root.nonzero(), lost).raw)

    def _ends_unseen(self) -> bool:
        """The same of second derivatives without a look: operands are linear in the root, and divisors still."""
        return self.prim.name in _PRODUCTS or (self.prim.name in QUOTIENTS and type(self.args[-1]) is not Length)

    @functools.cached_property
    def even(self) -> Any:
        """Taylor's formula without its odd terms."""
        if self.bend is None:
            return self.base[0]
        return self._series(ops.add(self.base[0], self._term(2, self.bend)), 2)

    def _series(self, first: DimArray | None, order: int) -> DimArray | None:
        """``first``, the terms up to ``order``, and every other one after it that has a part in some derivative."""
        for k in range(order + 2, 2 * self.root.terms() + 1, 2):
            if (own := self._derivative(k)) is not None:
                first = _sum(first, self._term(k, own))
        return first

    def _term(self, order: int, derivative: DimArray) -> DimArray:
        """The term of a derivative in the root; of an odd one by the root."""
        part = ops.mul(constant(1 / math.factorial(order)), derivative)
        for _ in range(order // 2):
            part = ops.scale(self.root.radicand(), part)
        return part


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
    slope = None if root.kind.flat else known.slope
    there = known.even if slope is None else ops.add(known.even, ops.scale(slope, root.here))
    mask = root.nonzero() if known.steep is None else ops.likely(nonzero(), seen=root.kind.sharp)
    right = ops.either(mask, out, ops.cast(there, out.dtype))  # radicands may be sums in double precision
    once = known.steep is not None and isinstance(out, Traced) and out.value.level is None
    return right if once and _is_even(root, nonzero()) else near(right, known)


def _is_even(root: Root, moves: DimArray) -> bool:
    """Whether a value that ``moves`` with the root, or where that is not 0, is seen not to do so where it is 0.

    As the square of the root then, to first order it is what its slope tells, and so is all that is made of it (unless
    a factor that is 0 here is differentiated, too): each operation that tells more takes ten times as many calls.
    """
    elsewhere = root.nonzero()
    return moves.names == elsewhere.names and backends.may_look(moves.raw) and backends.same(moves.raw, elsewhere.raw)


def steep_of(prim: Any, args: Sequence[DimArray], out: Traced) -> DimArray | None:
    """The value of ``odd`` of a result, where it is looked at."""
    if any(type(a) is Length and a.known.steep is None for a in args):
        return None
    ins = [innermost(a) for a in args]
    return _slope(prim, innermost(out), ins, [a.known.steep if type(a) is Length else None for a in args])


def _along(derivatives: Sequence[DimArray | None], levels: Sequence[Level]) -> Any:
    """A value that moves along the root as its derivatives tell, on as many levels of forward mode."""
    if not (levels and derivatives) or derivatives[0] is None:
        return derivatives[0] if derivatives else None
    value, moves = _along(derivatives, levels[:-1]), _along(derivatives[1:], levels[:-1])
    if moves is None:
        return value
    return Traced(plain(value), levels[-1], Tangent(ops.stamp(moves, axes.by_name(guard=True))))


def _moved_by(partial: Any, levels: Sequence[Level]) -> DimArray | None:
    if isinstance(partial, Pair):
        partial = ops.mul(partial.g, partial.factor)
    if isinstance(partial, Weight):
        partial = partial.g
    for level in reversed(levels):
        if not (isinstance(partial, Traced) and partial.level is level):
            return None
        partial = partial.node.value
    return partial


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
