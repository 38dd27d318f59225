"""Lengths: values whose squares are smooth where they are 0 themselves, such as norms, absolute values and roots.

The slope of a length at 0 is 0 by convention, and its bend infinite: neither tells anything about its square, of which
the Hessian is twice the identity.  So a length knows what it is the root of.
"""

from __future__ import annotations

from collections.abc import Callable

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.linear import ops
from namedgrad.trace import Traced, innermost


class Length(Traced):
    """A traced length; ``radicand`` gives its square as a function of its operands."""

    __slots__ = ("radicand",)
    radicand: Callable[[], DimArray]

    def squared(self, out: DimArray) -> DimArray:
        """Its square ``out``, with the derivatives of what it is the root of where it is 0."""
        raw = innermost(self).raw
        if backends.may_look(raw) and (bool(raw) if backends.is_number(raw) else raw.all()):
            return out
        return ops.where_zero(self, self.radicand(), out)


def as_length(y: DimArray, radicand: Callable[[], DimArray]) -> DimArray:
    """``y`` as a length, if it is traced."""
    if type(y) is not Traced:
        return y
    out = Length(y.value, y.level, y.node)
    out.radicand = radicand
    return out
