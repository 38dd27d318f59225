"""Products of windows, one per cell: where every product is far from 0 and infinity, gradients are window sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.backends.windows import Span
from namedgrad.linear import CoreMap, Map, like
from namedgrad.rules import elementwise as e
from namedgrad.rules.movement.padding import pad_axis
from namedgrad.rules.reductions.products import others_of
from namedgrad.rules.scans.products import may_divide
from namedgrad.rules.structure import guarded_contract, if_likely, multiply, outweighed, relabel, reorder
from namedgrad.rules.windows.along import PerWindow, window_spreads, window_sums
from namedgrad.rules.windows.geometry import private_name
from namedgrad.rules.windows.views import add_windows, strided_windows
from namedgrad.trace import apply


class _Products(PerWindow):
    """The product of the cells that each window has; as long as what it multiplies along its dims."""

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], spans: dict[Name, Span]) -> Map:
        cells = tuple(private_name(d) for d in spans)  # no core names: of several dims one is summed after the other
        offsets = tuple(private_name(d) for d in cells)
        frame = dict(zip(spans, cells, strict=True))
        x, y = (relabel(a, frame) for a in (ins[0], out))
        lie, new = dict(zip(cells, spans.values(), strict=True)), dict(zip(cells, offsets, strict=True))
        sizes = {d: extent(x, d) for d in cells}

        def others() -> DimArray:
            """For every cell of every window the product of the others."""
            whole = x
            for d, s in lie.items():
                whole = pad_axis(whole, d, (s.before, s.size - 1 - s.before), "constant", (1, 1), odd=False)
            runs = strided_windows(whole, {d: Span(s.size, s.number) for d, s in lie.items()}, new)
            return others_of(reorder(runs, (*offsets, *x.names)), offsets)

        # Of a million windows of seven the gradient takes 20 ms, by the products of the others 180.
        divisible = may_divide(out)

        def push(ts: Sequence[Any]) -> DimArray:
            divided = lambda: multiply(y, window_sums(e.divide(ts[0], x), lie))
            return if_likely(divisible, divided, lambda: guarded_contract(strided_windows(ts[0], lie, new), others(), offsets))

        def pull(g: DimArray) -> list[DimArray]:
            divided = lambda: e.divide(window_spreads(multiply(y, g), lie, sizes), x)
            return [if_likely(divisible, divided, lambda: add_windows(outweighed(g, others()), lie, new, sizes))]

        return CoreMap(push, pull, [like(ins[0])], [frame], frame)


_PRODUCTS = _Products("window_prod")


def window_products(x: DimArray, spans: Mapping[Name, Span]) -> DimArray:
    """The product of the cells of each window along dims."""
    return apply(_PRODUCTS, (x,), spans=dict(spans))
