"""The elementwise form: a kernel and one partial derivative per operand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, make
from namedgrad.axes import AxisError, Names
from namedgrad.backends import call
from namedgrad.linear import Map, Mask, Scale, like, ops
from namedgrad.marks import mismatch
from namedgrad.primitive.registry import Primitive, check_sizes, operation, place, sample
from namedgrad.squares import Length, applied, below, of_lengths
from namedgrad.trace import apply

# The operators of Python on numbers, by kernel.
OPERATORS = {"add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power"}
OPERATORS |= {"negative", "positive", "absolute", "minus_quotient"}


@functools.cache
def _on_numbers(kernel: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(kernel, updated=())
    def on_numbers(*raw: Any) -> Any:
        return kernel(*raw).item()

    return on_numbers


class Elementwise(Primitive):
    """No core dims; ``partials[i]`` is ``f(out, *operands)`` or an int, None if there is no derivative."""

    form, keeps, moves = "elementwise", "factors", 0

    def __init__(self, name: str, partials: Sequence[Any], kernel: str | None = None) -> None:
        super().__init__(name, kernel)
        self.partials = partials

    def publish(self, domains: Sequence[str], family: str = "elementwise") -> None:
        """Make this primitive a public function."""
        dims = (("(a,b)", "(a,b)", "(a,b)"), ("(a,b)", "(b,c)", "(c)"), ("(b)", "(a,b)", "(a)"))
        calls = [sample(*(d + n for d, n in zip(domains, names))) for names in dims[: 3 if len(domains) > 1 else 1]]
        smooth = any(d is not None for d in self.partials)
        operation(*calls, differentiable=smooth, name=self.name, family=family)(self.of_operands)

    def of_operands(self, *args: Any) -> DimArray:
        """Apply to DimArrays and scalars."""
        return self(*(a if isinstance(a, DimArray) else constant(a) for a in args))

    def __call__(self, *args: DimArray) -> DimArray:
        if len(args) == 2:
            return self.two(*args)
        return self.one(*args) if len(args) == 1 else applied(self, args)

    def one(self, x: DimArray) -> DimArray:
        """Apply to one operand: :func:`namedgrad.trace.apply`, unrolled because this is the hottest path there is."""
        level = x.level
        if level is None:
            return self.compute_one(x)
        if not level.fast:
            return applied(self, (x,))
        value = x.value
        out = self.compute_one(value) if value.level is None else below(self.one(value), (value,), (x,))
        if (d := self.partials[0]) is None:
            return out
        factor = d if type(d) is int else d(out, value)
        traced = level.record(Scale(((factor, value.names, None),), None), (x.node,), out)
        return of_lengths(self, (x,), traced) if type(x) is Length else traced

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        """Apply to two operands, unrolled like :meth:`one`."""
        lx, ly = x.level, y.level
        if lx is None:
            if ly is None:
                return self.compute_two(x, y)
            level = ly
        elif ly is None or lx is ly:
            level = lx
        else:
            level = lx if lx.index > ly.index else ly
            if not (lx.fast and ly.fast):
                return applied(self, (x, y))
        if not level.fast:
            return applied(self, (x, y))
        a = x.value if lx is level else x
        b = y.value if ly is level else y
        out = self.compute_two(a, b) if a.level is b.level is None else below(self.two(a, b), (a, b), (x, y))
        d = self.partials[0] if lx is level else None
        e = self.partials[1] if ly is level else None
        own, home, names = out.dtype, (a if lx is level else b).dtype, out.names
        if own.kind == "m" or home.kind == "m":  # durations, which :meth:`linear` counts
            return apply(self, (x, y))
        terms: Any = ()
        nodes: Any = ()
        if d is not None:
            terms = ((d if type(d) is int else d(out, a, b), a.names, None if home is own else home),)
            nodes = (x.node,)
        if e is not None:
            terms += ((e if type(e) is int else e(out, a, b), b.names, None if b.dtype is own else b.dtype),)
            nodes += (y.node,)
        if x is y and len(terms) == 2 and type(terms[0][0]) is type(terms[1][0]) is DimArray:  # one factor
            terms, nodes = ((ops.both(terms[0][0], terms[1][0]), *terms[0][1:]),), nodes[:1]
        short = like(out) if terms and (terms[0][1] != names or terms[-1][1] != names) else None
        captured = None if lx is ly else b if lx is level else a
        traced = level.record(Scale(terms, short), nodes, out, captured) if terms else out
        return of_lengths(self, (x, y), traced) if type(x) is Length or type(y) is Length else traced

    def lower(self, args: Sequence[DimArray]) -> DimArray:
        one, two = self.compute_one, self.compute_two
        return two(*args) if len(args) == 2 else one(*args) if len(args) == 1 else self.align(args)

    def compute_one(self, x: DimArray) -> DimArray:
        """One untraced operand."""
        raw = x.raw
        kernel = self.kernels.get(type(raw)) or self.kernel_for(raw)
        out = kernel(raw)
        if backends.recording:
            out = backends.note(kernel, (raw,), out)
        return make(out, x.names, x.hidden)

    def compute_two(self, x: DimArray, y: DimArray) -> DimArray:
        """Two untraced operands: without a plan if their dims are equal or one is a scalar."""
        a, b = x.raw, y.raw
        names = x.names
        if names == y.names:
            hidden = x.hidden
            if hidden is not y.hidden and type(hidden) is not axes.ByName:
                if type(y.hidden) is axes.ByName:
                    hidden = y.hidden
                elif hidden != y.hidden:
                    return self.align((x, y))
            if names and a.shape != b.shape:
                raise mismatch(self.name, (x, y))
        elif not y.names:
            hidden = x.hidden if type(y.hidden) is not axes.ByName else y.hidden
        elif not names:
            names, hidden = y.names, y.hidden if type(x.hidden) is not axes.ByName else x.hidden
        elif (joint := self.trailing(x, y)) is not None:
            names, hidden = joint, x.hidden
        else:
            return self.align((x, y))
        kind = type(a)
        kernel = (self.kernels.get(kind) if kind is type(b) else None) or self.kernel_of(a, b)
        out = kernel(a, b)  # :func:`namedgrad.backends.call` unrolled here and above: it saves 0.1 us of 1.3
        if backends.recording:
            out = backends.note(kernel, (a, b), out)
        return make(out, names, hidden)

    def trailing(self, x: DimArray, y: DimArray) -> Names | None:
        """Names of the result if NumPy aligns the raw arrays as names do, which takes half of the time of a plan."""
        joint = axes.trailing(x.names, y.names) if x.hidden is y.hidden else None
        least = min(len(x.names), len(y.names))
        if joint is not None and x.full_shape[-least:] != y.full_shape[-least:]:
            raise mismatch(self.name, (x, y))
        return joint

    def kernel_for(self, *raw: Any) -> Callable[..., Any]:
        """The backend's function; of Python numbers alone, an operator gives a Python number, as it does in Python."""
        found = super().kernel_for(*raw)
        return _on_numbers(found) if self.kernel in OPERATORS and all(map(backends.is_number, raw)) else found

    def kernel_of(self, *raw: Any) -> Callable[..., Any]:
        """The kernel for raw operands, remembered for their types, or the one type of two."""
        kind: Any = type(raw[0]) if len(raw) == 2 and type(raw[0]) is type(raw[1]) else tuple(map(type, raw))
        if kind not in self.kernels and {backends.backend_of_type(type(x)) for x in raw} <= {backends.NUMPY, None}:
            self.kernels[kind] = self.kernel_for(*raw)
        return self.kernels.get(kind) or self.kernel_for(*raw)

    def align(self, args: Sequence[DimArray]) -> DimArray:
        """The general path: align by name, then compute."""
        check_sizes(self.name, args)
        try:
            names, hidden, moves = axes.elementwise_plan(*zip(*[(a.names, a.hidden) for a in args], strict=True))
        except AxisError as error:
            raise AxisError(f"{self.name}: {error}; operands {', '.join(map(describe, args))}") from None
        raw = [place(a.raw, m) if a.names else a.raw for a, m in zip(args, moves, strict=True)]
        return make(call(self.kernel_of(*raw), *raw), names, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map | None:
        terms = []
        given = ops.counted(self.name, out, ins, need) if "m" in (out.dtype.kind, ins[0].dtype.kind) else (out, *ins)
        for d, x, n in zip(self.partials, ins, need, strict=True):
            if n:
                factor = d if d is None or type(d) is int else d(*given)
                terms.append((factor, x.names, None if x.dtype is out.dtype else x.dtype))
        short = like(out) if any(names != out.names for _, names, _ in terms) else None
        return Scale(terms, short) if any(t[0] is not None for t in terms) else None


def elementwise(name: str, *partials: Any, kernel: str | None = None, domain: str | Sequence[str] = "",
                family: str = "elementwise") -> Elementwise:
    """Declare an elementwise operation: one partial ``f(out, *operands)``, an int or None per operand.

    With a ``domain`` (one for all operands, or one each) the operation is public, and the tests draw from there.
    """
    prim = Elementwise(name, partials, kernel)
    if domain:
        prim.publish((domain,) * len(partials) if isinstance(domain, str) else tuple(domain), family)
    return prim


mask = Mask  #: a partial that selects instead of multiplying
