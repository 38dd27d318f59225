"""Lengths: values whose squares are smooth where they are 0 themselves, such as norms, absolute values and roots.

The slope of a length at 0 is 0 by convention, and its bend infinite: neither tells anything about its square, of which
the Hessian is twice the identity.  So a length knows what it is the root of, and a multiple of a length, such as
``-norm(x)`` or ``norm(x) / scale``, of which length.
"""

from __future__ import annotations

from collections.abc import Callable

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.linear import ops
from namedgrad.trace import Traced, innermost


class Length(Traced):
    """A traced length; ``radicand`` gives its square as a function of its operands.

    A multiple is ``again(of)``, with an operation that is linear.
    """

    __slots__ = ("again", "of", "radicand")
    radicand: Callable[[], DimArray]
    of: Length | None
    again: Callable[[DimArray], DimArray]

    def squared(self, out: DimArray) -> DimArray:
        """Its square ``out``, with the derivatives of what it is the root of where it is 0."""
        return self.times(self, out)

    def times(self, other: Length, out: DimArray) -> DimArray:
        """``out``, their product: a square if both are multiples of one length."""
        root, own = self._path()
        same, others = other._path()
        if root is not same:
            return out
        raw = innermost(root).raw
        if backends.may_look(raw) and (bool(raw) if backends.is_number(raw) else raw.all()):
            return out
        return ops.where_zero(root, _through(root.radicand(), own, others), out)

    def under(self) -> DimArray:
        """Its square, as a function of its operands."""
        root, own = self._path()
        return _through(root.radicand(), own, own)

    def _path(self) -> tuple[Length, list[Callable[[DimArray], DimArray]]]:
        """The length of which this is a multiple, and what was done to it, the last first."""
        steps, x = [], self
        while x.of is not None:
            steps.append(x.again)
            x = x.of
        return x, steps


def _through(square: DimArray, *paths: list[Callable[[DimArray], DimArray]]) -> DimArray:
    for path in paths:
        for again in reversed(path):
            square = again(square)
    return square


def as_length(y: DimArray, radicand: Callable[[], DimArray]) -> DimArray:
    """``y`` as a length, if it is traced."""
    if type(y) is not Traced:
        return y
    out = Length(y.value, y.level, y.node)
    out.radicand, out.of = radicand, None
    return out


def moved(y: DimArray, x: DimArray, move: Callable[[DimArray], DimArray]) -> DimArray:
    """``y``, which is ``move(x)`` and holds cells of ``x``: a length if that is one."""
    return as_length(y, lambda: move(x.under())) if type(x) is Length else y


def as_multiple(y: DimArray, x: Length, again: Callable[[DimArray], DimArray]) -> DimArray:
    """``y``, which is ``again(x)``, as a multiple of a length."""
    out = as_length(y, x.under)
    if type(out) is Length:
        out.of, out.again = x, again
    return out


def of_lengths(name: str, two: Callable[..., DimArray], x: DimArray, y: DimArray, out: DimArray) -> DimArray:
    """``out``, the result of an operation of which an operand is a length: a square, a multiple, or neither."""
    if name not in {"multiply", "divide"}:
        return out
    if type(x) is not Length:
        return as_multiple(out, y, lambda square: two(x, square)) if type(y) is Length and name == "multiply" else out
    if type(y) is Length and name == "multiply" and (square := x.times(y, out)) is not out:
        return square
    return as_multiple(out, x, lambda square: two(square, y))
