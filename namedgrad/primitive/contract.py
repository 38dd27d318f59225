"""The contract form: a product by name, summed over names, as one batched matrix product."""

from __future__ import annotations

from collections.abc import Sequence

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import Bilinear, FiniteBilinear, Map, Weight, like, ops
from namedgrad.primitive.registry import Primitive, check_sizes
from namedgrad.trace import apply, innermost


class Contract(Primitive):
    """``contract(x, y, over)``: product by name, summed over names; lowered to one batched matrix product.

    ``weight`` says that ``x`` is a cotangent (see :class:`~namedgrad.linear.Weight`), ``guard`` that where it is 0 the
    factor does not count.
    """

    form, keeps = "contract", "others"

    def __init__(self, name: str, *, weight: bool = False, guard: bool = False) -> None:
        super().__init__(name)
        self.weight, self.guard = weight, guard

    def __call__(self, x: DimArray, y: DimArray, over: Names) -> DimArray:
        shared = tuple([n for n in over if n in x.names and n in y.names])
        if len(shared) < len(over):
            x, y = _presum(x, y, over), _presum(y, x, over)
        if not shared:
            return (ops.scale if self.guard else ops.weigh if self.weight else ops.mul)(x, y)
        return apply(self, (x, y), over=shared)

    def lower(self, args: Sequence[DimArray], over: Names, last: Names = ()) -> DimArray:
        x, y = args
        check_sizes(self.name, args)
        names, hidden, _ = axes.contraction_plan(x.names, y.names, (x.hidden, y.hidden), over, last)
        x = _narrow(x, y, over)
        y = _narrow(y, x, over)  # an axis that both repeat must stay in one of them
        *_, plan = axes.contraction_plan(x.names, y.names, (x.hidden, y.hidden), over, names)
        kernel = backends.backend_of(x.raw, y.raw).contract
        return make(call(kernel, x.raw, y.raw, plan, guard=self.guard), names, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names) -> Map:
        x, y = ins
        pairs = [(a, b) for a, b, n in ((x, y, need[0]), (y, Weight(x) if self.weight else x, need[1])) if n]
        kind = FiniteBilinear if self._shows_finite(out, x, y) else Bilinear
        return kind([like(a) for a, _ in pairs], [b for _, b in pairs], over)

    def _shows_finite(self, out: DimArray, x: DimArray, y: DimArray) -> bool:
        """Whether a few sums of products tell that all factors are finite; with matrices BLAS may skip zeros."""
        few = not self.guard and len(x.names) == len(y.names) and {*x.names} == {*y.names} and x.size > 100 * out.size
        return few and backends.known_finite(innermost(out).raw)


def _presum(a: DimArray, b: DimArray, over: Names) -> DimArray:
    return ops.total(a, tuple(n for n in over if n in a.names and n not in b.names))


def _narrow(a: DimArray, other: DimArray, over: Names) -> DimArray:
    """Without the axes along which a NumPy array repeats one cell and which the other operand has anyway.

    The cotangent of a sum is such an array; keeping its repetition would turn one matrix product into many small ones.
    """
    strides = getattr(a.raw, "strides", None)
    if strides is None or 0 not in strides or 0 in a.full_shape:
        return a
    drop = [n for n, s in zip(a.names, strides, strict=True) if s == 0 and n in other.names and n not in over]
    if not drop:
        return a
    raw = call(backends.backend_of(a.raw).getitem, a.raw, tuple(0 if n in drop else slice(None) for n in a.names))
    return make(raw, tuple(n for n in a.names if n not in drop), a.hidden)
