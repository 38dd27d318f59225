"""How special functions are declared: elementwise operations that say what they are."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, constant
from namedgrad.primitive import Elementwise, elementwise, operation, sample
from namedgrad.rules import half
from namedgrad.rules.elementwise import c, ordered, reciprocal
from namedgrad.rules.jointly import Joint
from namedgrad.rules.structure import add, cast, multiply
from namedgrad.trace import innermost

Function = Callable[..., DimArray]
FAMILY = "special"
_SINGLE = {"f": np.dtype("float32"), "c": np.dtype("complex64")}


class About(NamedTuple):
    """What the docstring of an operation says beyond its declaration."""

    summary: str
    operands: tuple[str, ...]
    torch: str
    source: str
    scipy: str


class Special(Elementwise):
    """An elementwise operation with words of its own."""

    about: About

    def publish(self, domains: Sequence[str], family: str = FAMILY) -> None:
        """Make this primitive a public function; sample calls for up to four operands."""
        layouts = [("(a,b)",) * 4, ("(a,b)", "(b,c)", "(c)", "(a)"), ("(b)", "(a,b)", "(a)", "(b)")]
        calls = [sample(*(d + dims for d, dims in zip(domains, layout))) for layout in layouts]
        smooth = any(d is not None for d in self.partials)
        operation(*calls[: 3 if len(domains) > 1 else 1], differentiable=smooth, name=self.name, family=family)(self.of_operands)

    def of_operands(self, *args: Any) -> DimArray:
        """Apply to DimArrays and scalars; beside numbers single precision stays, which many functions of SciPy lose."""
        out = super().of_operands(*args)
        known = [x.dtype for x in map(constant, args) if not backends.is_number(innermost(x).raw)]
        if len(known) in (0, len(args)) or np.result_type(*known) not in _SINGLE.values():
            return out
        return cast(out, _SINGLE.get(out.dtype.kind, out.dtype))


class ByValue(Joint, Special):
    """In single precision its slope would need its value in double precision again: they are found together."""

    def together(self, backend: Any, raw: Sequence[Any], need: Sequence[bool]) -> Sequence[Any] | None:
        found: Sequence[Any] | None = backend.value_and_slope(self.name, *raw)
        return found


@functools.cache
def derivative(kernel: str, n: int) -> Function:
    """The n-th derivative of a function of one operand, each of which one kernel gives."""
    return ordered(kernel, (n,), lambda y, x: derivative(kernel, n + 1)(x))


def special(
    name: str,
    *partials: Any,
    domain: str | tuple[str, ...],
    says: str,
    operands: tuple[str, ...] = ("x",),
    torch: str = "",
    source: str = "",
    scipy: str = "",
    kernel: str | None = None,
    form: type[Special] = Special,
) -> Special:
    """Declare a public special function: partials as for :func:`namedgrad.primitive.elementwise`, and a definition."""
    prim = form(name, [of_wide(p) if callable(p) else p for p in partials], kernel)
    prim.about = About(says, operands, torch, source, scipy or name)
    prim.publish((domain,) * len(partials) if isinstance(domain, str) else domain)
    return prim


def of_wide(partial: Function) -> Function:
    """The partial of orders in which their neighbours and sums do not wrap around, and in which half precision suffices."""

    def wide(y: DimArray, *operands: DimArray) -> Any:
        xs = [cast(x, np.int64) if x.dtype.kind in "iu" else half.wide(x) for x in operands]
        return half.narrow(partial(half.wide(y), *xs)) if y.dtype == half.HALF else partial(y, *xs)

    return wide


def scaled(factor: float, x: DimArray) -> DimArray:
    """A number times an array."""
    return multiply(c(factor), x)


def of_exponential(slopes: Sequence[DimArray]) -> DimArray:
    """A derivative of ``exp(f)`` over it, from all the derivatives of ``f`` up to the same order."""
    found = [c(1.0)]
    for k in range(len(slopes)):
        parts = [multiply(c(float(math.comb(k, j))), multiply(slopes[j], found[k - j])) for j in range(k + 1)]
        found.append(functools.reduce(add.two, parts))
    return found[-1]


def is_formula(x: DimArray) -> bool:
    """Whether a formula is written, which leaves out what differs at single points and far away."""
    return backends.backend_of(innermost(x).raw).name == "text"


def with_slopes(value: Function, *partials: Function | None) -> Function:
    """A function with these partials, of the result and the operands: its own would lose what they keep.

    None is that of an operand that depends on the others, whose partials know that.
    """
    count = len(partials)
    behind = [p and (lambda y, *xs, p=p: p(y, *xs[:count])) for p in partials]
    known = ordered("known_part", (count - 1,), *behind, None)
    return lambda *xs: value(*xs) if is_formula(xs[0]) else known(*xs, value(*map(innermost, xs)))


def by_value(plain: Function, known: Function) -> Function:
    """The partial ``plain(y, x)`` of a function; of real numbers by ``known(x, y)``, a kernel that knows the value."""

    def partial(y: DimArray, x: DimArray) -> DimArray:
        return plain(y, x) if x.dtype.kind == "c" or is_formula(x) else known(x, innermost(y))

    return partial


def slope_by_value(
    name: str, f: Callable[[], Function], slope: Callable[..., DimArray], in_order: Function | None = None
) -> Function:
    """The partial of ``f(order, x)`` in ``x``, ``slope(f, y, order, x)``; of real numbers by a kernel that knows ``y``.

    ``in_order`` is the derivative of ``f`` in its order, of the operands, if there is one.
    """

    def of_slope(order: DimArray, x: DimArray) -> DimArray:
        return known(order, x, innermost(f()(order, x)))

    known = elementwise(
        f"{name}_slope",
        in_order and (lambda s, order, x, y: slope(in_order, in_order(order, x), order, x)),
        lambda s, order, x, y: slope(of_slope, s, order, x),
        None,
    )

    def partial(y: DimArray, order: DimArray, x: DimArray) -> DimArray:
        plain = x.dtype.kind == "c" or is_formula(x)
        return slope(f(), y, order, x) if plain else known(order, x, innermost(y))

    return partial


def inverse(x: DimArray) -> DimArray:
    """One over an array."""
    return reciprocal.one(x)


def constant_in(what: str, where: str) -> Function:
    """A partial that says that there is none: a zero in its place would be a silent error."""

    def refuse(*_: Any) -> DimArray:
        raise TraceError(
            f"{where} has no derivative with respect to {what} here; "
            f"make {what} a constant with ng.stop_gradient, or use ng.custom_pullback"
        )

    return refuse
