"""Sums and maxima of windows along one dim: what pooling over several dims does one dim after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.backends.windows import Along, Span
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, Primitive, core, linear, place
from namedgrad.rules.movement import core_size
from namedgrad.rules.structure import positions, relabel, stamp
from namedgrad.trace import apply, innermost

_LAST, _OTHER = axes.core(-1), axes.core(-2)

# fmt: off
_sum    = linear("(n)->(n)", "window_sum", transpose=lambda g, x, span: _spread(g, span=span, n=core_size(x)))
_spread = linear("(n)->(n)", "window_spread", transpose=lambda g, x, span, n: _sum(g, span=span))
_pick   = core("(n),(m)->(m)", "window_pick", pullback=lambda g, out, x, won, span: (_put_at(g, won, _LAST, span, core_size(like(x))), None))
_put    = core("(m),(m)->(n)", "window_put", pullback=lambda g, out, x, won, span, size: (cells_at(g, won, _LAST, span), None))
# fmt: on


def window_sums(x: DimArray, spans: Mapping[Name, Span]) -> DimArray:
    """The sum of each window along every dim, the last one first: a million pairs of pairs in 0.7 ms instead of 1.3."""
    for d in sorted(spans, key=x.names.index, reverse=True):
        x = _sum(x, (d,), span=spans[d])
    return x


def window_spreads(g: DimArray, spans: Mapping[Name, Span], sizes: Mapping[Name, int]) -> DimArray:
    """The transpose of :func:`window_sums`, into dims of these sizes."""
    for d, s in spans.items():
        g = _spread(g, (d,), span=s, n=sizes[d])
    return g


def cells_at(x: DimArray, won: DimArray, dim: Name, span: Along) -> DimArray:
    """The cells at the offsets ``won`` of the windows along a dim."""
    place: Name = _OTHER if dim is _LAST else axes.slice_name(dim)
    out = _pick(x, relabel(won, {dim: place}), dims=((dim,), (place,)), out=(place,), span=span)
    return relabel(out, {place: dim})


def _put_at(g: DimArray, won: DimArray, dim: Name, span: Along, size: int) -> DimArray:
    """The transpose of :func:`_pick_at`."""
    place: Name = _OTHER if dim is _LAST else axes.slice_name(dim)
    there = {dim: place}
    return _put(relabel(g, there), relabel(won, there), dims=((place,), (place,)), out=(dim,), span=span, size=size)


class PerWindow(Primitive):
    """One cell for each window, by a kernel along one dim after the other; the result has the names of the operand."""

    form, signature = "core", "(n...)->(n...)"

    def lower(self, args: Sequence[DimArray], spans: dict[Name, Span]) -> DimArray:
        (x,) = args
        raw = x.raw
        for d, s in spans.items():
            raw = call(self.kernel_for(raw), raw, x.names.index(d), s)
        return make(raw, x.names, x.hidden)


class _Largest(Primitive):
    """The largest cell of each window along a dim; the first of several has the gradient, as in PyTorch."""

    form, signature, keeps = "core", "(n)->(n)", "constants"

    def lower(self, args: Sequence[DimArray], dim: Name, span: Along) -> DimArray:
        (x,) = args
        return make(call(self.kernel_for(x.raw), x.raw, x.names.index(dim), span), x.names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name, span: Along) -> Map:
        (x,) = ins
        frame: dict[Name, Name] = {dim: _LAST}
        won = stamp(relabel(winners(x, out, dim, span), frame), axes.by_name())
        size = extent(x, dim)
        return LinearCore(
            lambda ts: cells_at(ts[0], won, _LAST, span),
            lambda g: [_put_at(g, won, _LAST, span, size)],
            [like(x)],
            [frame],
            frame,
        )


class _Won(Primitive):
    """The offset of the cell that is a window's largest; no derivative."""

    form, signature = "core", "(n),(m)->(m)"

    def lower(self, args: Sequence[DimArray], dim: Name, span: Along) -> DimArray:
        x, y = args
        raw = place(y.raw, axes.Move(axes.order_plan(y.names, x.names), None))
        at = x.names.index(dim)
        return make(call(self.kernel_for(x.raw, raw), x.raw, raw, at, span), x.names, x.hidden)


_LARGEST, _WON = _Largest("window_max"), _Won("window_won")


def winners(x: DimArray, y: DimArray, dim: Name, span: Along) -> DimArray:
    """The offsets of the cells ``y`` that are the largest of the windows along a dim of ``x``."""
    return apply(_WON, (innermost(x), innermost(y)), dim=dim, span=span)


def window_maxima(x: DimArray, spans: Mapping[Name, Along]) -> DimArray:
    """The largest cell of each window over all dims; the first in the order of the dims has the gradient.

    Without one, that of rows comes before that within rows, which goes through memory in steps and then has less to do.
    """
    order = reversed([*spans]) if x.level is not None else sorted(spans, key=x.names.index)
    for d in order:
        x = window_max(x, d, spans[d])
    return x


def window_max(x: DimArray, dim: Name, span: Along) -> DimArray:
    """The largest cell of each window along a dim."""
    return apply(_LARGEST, (x,), dim=dim, span=span)


def window_argmaxima(x: DimArray, spans: Mapping[Name, Along]) -> tuple[DimArray, dict[Name, DimArray]]:
    """The largest cells, and where they are along every dim."""
    found: dict[Name, DimArray] = {}
    for d, s in reversed([*spans.items()]):
        y = window_max(x, d, s)
        won = winners(x, y, d, s)
        found = {e: cells_at(at, won, d, s) for e, at in found.items()}
        found[d] = cells_at(positions(extent(x, d), d, x), won, d, s)
        x = y
    return x, found
