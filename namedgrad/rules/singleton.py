"""Axes of size 1, dropped as a view: what NumPy's broadcasting does before alignment by name takes over."""

from __future__ import annotations

from collections.abc import Sequence

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import Map
from namedgrad.primitive import Primitive
from namedgrad.rules.structure import Summed
from namedgrad.trace import apply


class _Drop(Primitive):
    """Axes of size 1 removed; the transpose puts them back, so neither copies."""

    form, signature, keeps = "linear", "(n...)->()", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        (x,) = args
        index = tuple(0 if n in dims else slice(None) for n in x.names)
        names = tuple(n for n in x.names if n not in dims)
        hidden = x.hidden if isinstance(x.hidden, axes.ByName) else x.hidden.difference(dims)
        return make(call(backends.backend_of(x.raw).getitem, x.raw, index), names, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        return _Dropped(ins[0], dims)


class _Dropped(Summed):
    """As that of a sum over axes of size 1."""

    __slots__ = ()

    def _push(self, t: DimArray) -> DimArray:
        return apply(_DROP, (t,), dims=self.dims)


_DROP = _Drop("drop")


def drop(x: DimArray, dims: Names) -> DimArray:
    """``x`` without these axes, each of size 1."""
    return apply(_DROP, (x,), dims=dims) if dims else x
