"""Elementwise operations that are lengths, and those that may be the square of one: see :mod:`namedgrad.squares`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.primitive import Elementwise
from namedgrad.squares import Length, as_length, as_multiple


class LengthOf(Elementwise):
    """A length; ``radicand(*operands)`` is its square."""

    radicand: Callable[..., DimArray]

    def one(self, x: DimArray) -> DimArray:
        return self.compute_one(x) if x.level is None else as_length(super().one(x), lambda: self.radicand(x))

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        return as_length(super().two(x, y), lambda: self.radicand(x, y))


class Negation(Elementwise):
    """The negative, which is a multiple if it is one of a length."""

    def one(self, x: DimArray) -> DimArray:
        out = super().one(x)
        return as_multiple(out, x, self.one) if type(x) is Length else out


class Squaring(Elementwise):
    """Squares, and powers, of which the exponent may be 2, or 0.5."""

    def one(self, x: DimArray) -> DimArray:
        if x.level is None:
            return self.compute_one(x)
        out = super().one(x)
        return x.squared(out) if type(x) is Length else out

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        if x.level is None and y.level is None:
            return self.compute_two(x, y)
        out = super().two(x, y)
        if y.level is not None or y.names or not backends.may_look(y.raw):
            return out
        if y.raw == 0.5:
            return as_length(out, lambda: x)
        return x.squared(out) if type(x) is Length and y.raw == 2 else out


def length_of(
    name: str, *partials: Any, radicand: Callable[..., DimArray], kernel: str | None = None, domain: str = ""
) -> LengthOf:
    """Declare an elementwise operation that is a length."""
    prim = LengthOf(name, partials, kernel)
    prim.radicand = radicand
    if domain:
        prim.publish((domain,) * len(partials))
    return prim


def squaring(name: str, *partials: Any, domain: tuple[str, ...]) -> Squaring:
    """Declare an elementwise operation that may be a square."""
    prim = Squaring(name, partials)
    prim.publish(domain)
    return prim
