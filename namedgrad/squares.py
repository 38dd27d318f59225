"""Lengths: values such as norms, absolute values and roots, of which even functions are smooth where they are 0.

The slope of a length at 0 is 0 by convention, and its bend infinite: neither tells anything about its square, of which
the Hessian is twice the identity, or about its cosine.  So a value that is computed from a length knows that it is
``even + odd * root`` near a zero of it, with two smooth functions of the square of the root, the *radicand*; of the
second only its value there.  An operation gives

    f(even + odd root) = f(even) + 1/2 f''(even) odd² radicand + f'(even) odd root,

Taylor's formula, up to terms of which the first three derivatives are 0 (of a plain square root, the first).  The slope
of a partial derivative is f'' odd: it is found by calling the partial on an operand that tells of its slope alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, constant
from namedgrad.linear import Mask, Pair, Weight, like, ops
from namedgrad.trace import Traced, innermost

SQUARES, POWERS = {"multiply", "divide", "negative", "square"}, {"power", "float_power"}  # and multiples of lengths
_ONE, _HALF = constant(1.0), constant(0.5)


class Root:
    """A length that may be 0 somewhere: its square as a function of its operands; ``flat`` if that has slope 0 there.

    A ``sharp`` one has an infinite slope there itself. Two with one ``key``, the operation and its operands, are one.
    """

    __slots__ = ("flat", "here", "key", "nonzero", "radicand", "sharp")

    def __init__(
        self, here: DimArray, radicand: Callable[[], DimArray], *, flat: bool, sharp: bool, key: Any = None
    ) -> None:
        self.here, self.radicand, self.flat, self.sharp, self.key = here, radicand, flat, sharp, key or object()
        self.nonzero = functools.cache(lambda: ops.likely(ops.nonzero(innermost(here)), seen=sharp))


class Length(Traced):
    """A traced value that is ``even() + odd() * root``, near a zero of the root; a ``bare`` one has ``odd`` alone.

    ``steep`` is the value of ``odd``, or None where that is not looked at.
    """

    __slots__ = ("bare", "even", "odd", "root", "steep")
    root: Root
    steep: DimArray | None
    bare: bool
    even: Any
    odd: Callable[[], DimArray | None]


def _near(
    y: DimArray, root: Root, even: Any, odd: Any, *, bare: bool = False, steep: DimArray | None = None
) -> DimArray:
    if not isinstance(y, Traced):
        return y
    out = Length(plain(y.value), y.level, y.node)  # what is done here overrides what would be done one level down
    out.root, out.even, out.odd, out.bare = root, even and functools.cache(even), functools.cache(odd), bare
    out.steep = steep
    return out


def plain(y: DimArray) -> DimArray:
    """Without what is known of it as a length."""
    return Traced(plain(y.value), y.level, y.node) if type(y) is Length else y


def _may_be_0(y: Traced, flat: bool) -> bool:
    """Whether it may be 0 somewhere, which is of interest."""
    return not ((flat and y.value.level is None) or backends.nonzero_everywhere(innermost(y).raw))


def as_length(
    y: DimArray, radicand: Callable[[], DimArray], *, flat: bool = True, sharp: bool = False, key: Any = None
) -> DimArray:
    """``y`` as a length, if it is traced."""
    if not isinstance(y, Traced) or not _may_be_0(y, flat):
        return y
    here = plain(y)
    same = key and tuple(k.node if isinstance(k, Traced) else k for k in key)
    root = Root(here, radicand, flat=flat, sharp=sharp, key=same)
    steep = _ONE if not flat and y.value.level is None and backends.backend_of(y.value.raw).may_branch else None
    return _near(y, root, lambda: ops.either(root.nonzero(), here, innermost(here)), lambda: _ONE, steep=steep)


def moved(y: DimArray, x: DimArray, move: Callable[[DimArray], DimArray]) -> DimArray:
    """``y``, which is ``move(x)`` and holds cells of ``x``: near a zero of a length if that is."""
    if type(x) is not Length:
        return y
    root, whole, hidden = x.root, like(x), tuple(x.hidden)

    def of_root(a: DimArray) -> DimArray:
        return move(ops.relabel(ops.spread(a, whole), {}, hidden))

    def odd() -> DimArray | None:
        return None if (slope := x.odd()) is None else of_root(slope)

    here: Any = plain(of_root(root.here))
    if not _may_be_0(here, root.flat):
        return y
    there = Root(here, lambda: of_root(root.radicand()), flat=root.flat, sharp=root.sharp)
    steep = None if x.steep is None else of_root(x.steep)
    return _near(y, there, lambda: move(x.even()), odd, bare=x.bare, steep=steep)


def of_lengths(prim: Any, args: Sequence[DimArray], out: DimArray) -> DimArray:
    """``out``, the result of an elementwise operation with operands near zeros of lengths."""
    first = next((a for a in args if type(a) is Length), None)
    if first is None:
        return out
    root, bare = first.root, first.bare
    mixed = any(type(a) is Length and (a.root.key != root.key or a.bare is not bare) for a in args)
    if mixed or type(out) is not Traced or out.dtype.kind not in "fc" or _is_dear(prim, args, out):
        return out
    if bare:
        return _near(out, root, None, lambda: _slope(prim, out, [plain(a) for a in args], _odd(args)), bare=True)

    def base() -> tuple[DimArray, list[DimArray]]:
        ins = [a.even() if type(a) is Length else a for a in args]
        return prim(*ins), ins

    found = functools.cache(base)
    odd = functools.cache(lambda: _slope(prim, *found(), _odd(args)))
    linear = all(d is None or type(d) is int for d in prim.partials)
    bend = functools.cache(lambda: None if linear else _bend(prim, *found(), args, odd))

    @functools.cache
    def even() -> DimArray:
        twice = bend()
        return found()[0] if twice is None else ops.add(found()[0], ops.scale(root.radicand(), ops.mul(_HALF, twice)))

    steep, nonzero = _steep(prim, args, out), root.nonzero
    if steep is not None:  # where the slope is not 0 that of the root is infinite, and so is the result's
        nonzero = functools.cache(lambda: ops.add(ops.nonzero(innermost(root.here)), ops.nonzero(steep)))
        if backends.nonzero_everywhere(steep.raw) or backends.nonzero_everywhere(nonzero().raw):
            return _near(out, root, even, odd, steep=steep)
    if bend() is None and (root.flat or sum(type(a) is Length for a in args) == 1):  # of several slopes may cancel
        return _near(out, root, even, odd, steep=steep)
    slope = None if root.flat else odd()
    there = even() if slope is None else ops.add(even(), ops.scale(slope, root.here))
    mask = root.nonzero() if steep is None else ops.likely(nonzero(), seen=root.sharp)
    return _near(ops.either(mask, out, there), root, even, odd, steep=steep)


def _steep(prim: Any, args: Sequence[DimArray], out: Traced) -> DimArray | None:
    """The value of ``odd`` of a result, where it is looked at."""
    if any(type(a) is Length and a.steep is None for a in args):
        return None
    ins = [a.value if a.level is out.level else a for a in args]
    return _slope(prim, out.value, ins, [a.steep if type(a) is Length else None for a in args])


def _is_dear(prim: Any, args: Sequence[DimArray], out: Traced) -> bool:
    """Whether this is left as it is: first derivatives but of squares where nobody may look, to see if there is a 0.

    On such a backend a chain of functions of a root would take up to ten times as many calls.
    """
    if backends.backend_of(innermost(out).raw).may_branch or out.value.level is not None:
        return False
    square = prim.name in POWERS and args[1].level is None and backends.may_look(args[1].raw) and not args[1].names
    return not (prim.name in SQUARES or (square and args[1].raw == 2))


def _bend(prim: Any, out: DimArray, ins: list[DimArray], args: Sequence[DimArray], odd: Any) -> DimArray | None:
    root = next(a for a in args if type(a) is Length).root
    bare = [_near(x, root, None, a.odd, bare=True) if type(a) is Length else x for x, a in zip(ins, args, strict=True)]
    result, bend = _near(out, root, None, odd, bare=True), None
    for d, a in zip(prim.partials, args, strict=True):
        if type(a) is Length and callable(d) and (slope := a.odd()) is not None:
            bend = _sum(bend, _bent(d(result, *bare), slope))
    return bend


def _bent(partial: Any, slope: DimArray) -> DimArray | None:
    if isinstance(partial, Pair):
        partial = ops.mul(partial.g, partial.factor)
    if isinstance(partial, Weight):
        partial = partial.g
    own = partial.odd() if type(partial) is Length else None
    return None if own is None else ops.mul(slope, own)


def _odd(args: Sequence[DimArray]) -> list[DimArray | None]:
    return [a.odd() if type(a) is Length else None for a in args]


def _slope(prim: Any, out: DimArray, ins: list[Any], slopes: Sequence[DimArray | None]) -> DimArray | None:
    """That of a result, by those of its operands; None stands for 0."""
    total = None
    for d, slope in zip(prim.partials, slopes, strict=True):
        if d is not None and slope is not None:
            total = _sum(total, _through(d if type(d) is int else d(out, *ins), slope))
    return total


def _through(factor: Any, slope: DimArray) -> DimArray:
    if type(factor) is int:
        return slope if factor == 1 else ops.neg(slope)
    if isinstance(factor, Pair):
        return _through(factor.factor, _through(factor.g, slope))
    if isinstance(factor, Mask):
        return ops.select(factor.where, slope)
    return ops.scale(slope, factor.g if isinstance(factor, Weight) else factor)


def _sum(x: DimArray | None, y: DimArray | None) -> DimArray | None:
    return y if x is None else x if y is None else ops.add(x, y)
