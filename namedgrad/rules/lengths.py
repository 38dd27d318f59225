"""Elementwise operations that are lengths: see :mod:`namedgrad.squares`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, constant
from namedgrad.primitive import Elementwise
from namedgrad.rules.structure import equal, if_likely, logical_not, negative, subtract, where
from namedgrad.squares import MET, as_length
from namedgrad.trace import Traced, innermost


class LengthOf(Elementwise):
    """A length; ``radicand(*operands)`` is its square."""

    radicand: Callable[..., DimArray]
    flat: bool
    sharp: bool

    def one(self, x: DimArray) -> DimArray:
        if x.level is None and MET.get() is None:
            return self.compute_one(x)
        return as_length(super().one(x), self.radicand, x, flat=self.flat, sharp=self.sharp)

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        return as_length(super().two(x, y), self.radicand, x, y, flat=self.flat)


class AngleOf(LengthOf):
    """The angle between directions of which the cosine is given: what it lacks of half a turn is a length, too."""

    flat, sharp = False, True

    def one(self, x: DimArray) -> DimArray:
        out = super().one(x)
        if not isinstance(x, Traced):
            return out
        opposite = equal(innermost(x), constant(-1.0))
        if backends.may_look(opposite.raw) and not opposite.raw.any():
            return out
        lacks = super().one(negative(x))
        return if_likely(logical_not(opposite), lambda: out, lambda: where(opposite, subtract(constant(math.pi), lacks), out))


def _itself(x: DimArray) -> DimArray:
    return x


class Power(Elementwise):
    """Powers, of which the exponent may be 0.5."""

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        out = super().two(x, y)
        if (x.level is None and MET.get() is None) or y.level is not None or y.names or not backends.may_look(y.raw) or y.raw != 0.5:
            return out
        return as_length(out, _itself, x, flat=False, sharp=True)


def length_of(
    name: str, *partials: Any, radicand: Callable[..., DimArray], kernel: str | None = None, domain: str = "",
    flat: bool = True, sharp: bool = False,
) -> LengthOf:
    """Declare an elementwise operation that is a length."""
    prim = LengthOf(name, partials, kernel)
    prim.radicand, prim.flat, prim.sharp = radicand, flat, sharp
    if domain:
        prim.publish((domain,) * len(partials))
    return prim


def angle_of(name: str, *partials: Any, radicand: Callable[..., DimArray], domain: str) -> AngleOf:
    """Declare an elementwise operation that is an angle."""
    prim = AngleOf(name, partials)
    prim.radicand = radicand
    prim.publish((domain,))
    return prim


def powering(name: str, *partials: Any, domain: tuple[str, ...]) -> Power:
    """Declare an elementwise operation that is a power."""
    prim = Power(name, partials)
    prim.publish(domain)
    return prim
