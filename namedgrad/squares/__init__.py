"""Lengths: values such as norms, absolute values and roots, of which even functions are smooth where they are 0.

The slope of a length at 0 is 0 by convention, and its bend infinite: neither tells anything about its square, of which
the Hessian is twice the identity, or about its cosine.  So a value that is computed from a length knows that it is
``even + odd * root`` near a zero of it, with two smooth functions of the square of the root, the *radicand*.  An
operation gives

    f(even + odd root) = f(even) + 1/2 f''(even) odd² radicand + f'(even) odd root,

Taylor's formula, and up to two even terms more if these have a part in the derivatives that are taken: each tells all
of two orders, the first of three (of a plain square root, of one).  The slope of a partial derivative is f'' odd: it is
found by calling the partial on an operand that tells of its slope alone, and its further derivatives on one that tells
of its own.

Cells that an operation *moves*, as indexing, joining and padding do, take along what is known of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.linear import ops
from namedgrad.squares.identity import alike, remember
from namedgrad.squares.lengths import (
    MET,
    ONE,
    Known,
    Length,
    Met,
    Part,
    Root,
    as_length,
    below,
    known_of,
    near,
    orders,
    plain,
)
from namedgrad.squares.moves import ALL, moved
from namedgrad.squares.roots import of_both
from namedgrad.squares.taylor import QUOTIENTS, Of, mended, steep_of
from namedgrad.trace import Traced, apply, demote, innermost, is_demoted

SQUARES, POWERS = {"multiply", "divide", "negative", "square"}, {"power", "float_power"}  # and multiples of lengths
__all__ = [
    "ALL", "MET", "Length", "Met", "alike", "applied", "as_length", "below", "known_of", "near", "of_lengths", "orders",
]  # fmt: skip


def applied(prim: Any, args: Sequence[DimArray]) -> DimArray:
    """An elementwise operation on operands of levels that may be paused, of which those demoted here are replaced.

    That comes first: what is known of a result is found from operands as the operation takes them.
    """
    for a in args:
        if a.level is not None and not a.level.fast and is_demoted(a.level):
            out: DimArray = prim(*demote(a.level, args))
            return out
    return of_lengths(prim, args, apply(prim, args))


def of_lengths(prim: Any, args: Sequence[DimArray], out: DimArray) -> DimArray:
    """``out``, the result of an elementwise operation with operands near zeros of lengths."""
    lengths = [a.known for a in args if type(a) is Length]
    if not lengths or type(out) is not Traced or out.dtype.kind not in "fc":
        return out
    if _is_dear(prim, args, out):
        return out
    if prim.name in QUOTIENTS and type(args[-1]) is Length and args[-1].known.vanishes:  # no series starts at a pole
        return of_lengths(prim, [*args[:-1], plain(args[-1])], out)
    root = _one_root(lengths)
    if root is None and prim.name == "where":
        return moved(prim, args, out, {}, len(args))
    if root is None:
        return of_lengths(prim, of_both(args, out), out)
    return _of_one_root(prim, args, out, root)


def _of_one_root(prim: Any, args: Sequence[DimArray], out: Traced, root: Root) -> DimArray:
    multiples = _multiples(prim, args)
    if multiples and (product := _product(multiples, out, root)) is not None:
        return product
    known = Of(prim, args, out, root)
    known.steep = steep_of(prim, args, out)
    several = sum(type(a) is Length for a in args) > 1
    return mended(out, known, cancels=several and not root.kind.flat)


def _multiples(prim: Any, args: Sequence[DimArray]) -> list[Known]:
    """The factors of a product if they are two multiples of roots."""
    if prim.name in POWERS:
        factors = list(args[:1]) * 2 if _is_2(args[1]) else []
    else:
        factors = {"square": [*args, *args], "multiply": list(args)}.get(prim.name, [])
    known = [a.known for a in factors if type(a) is Length and a.known.is_multiple]
    return known if len(known) == 2 else []


def _product(multiples: Sequence[Known], out: Traced, root: Root) -> DimArray | None:
    """A product of two multiples of one root: at each zero that of the factors, and of what the root is one of.

    So nothing is to be known of it: it moves with the square of the root alone.  Factors that may be infinite are left
    to the series: 0 times these is no number.
    """
    square, factors = root.radicand(), [k.odd for k in multiples if k.odd is not None]
    known = type(square) is Traced and square.level is out.level and len(factors) == len(multiples)
    if not known or not all(map(_is_finite, factors)):
        return None
    more = [f for f in factors if f is not ONE]
    if not more and out.value.level is None and square.names == out.names and _is_finite(root.here):
        return Traced(out.value, out.level, ops.cast(square, out.dtype).node)
    return ops.either(root.nonzero(), out, ops.cast(functools.reduce(ops.scale, more, square), out.dtype))


def _is_finite(x: DimArray) -> bool:
    """Whether all values may be looked at, and are finite."""
    raw = innermost(x).raw
    if not backends.may_look(raw):
        return False
    return backends.backend_of(raw).isfinite_all(complex(raw) if backends.is_number(raw) else raw)


def _one_root(lengths: Sequence[Known]) -> Root | None:
    """The root that all of these have, if they have one."""
    first = lengths[0]
    return first.root if all(alike(k.root, first.root) for k in lengths) else None


def _is_dear(prim: Any, args: Sequence[DimArray], out: Traced) -> bool:
    """Whether this is left as it is: first derivatives but of squares where nobody may look, to see if there is a 0.

    On such a backend a chain of functions of a root would take up to ten times as many calls.
    """
    if backends.backend_of(innermost(out).raw).may_branch or out.value.level is not None:
        return False
    return not (prim.name in SQUARES or (prim.name in POWERS and _is_2(args[1])))


def _is_2(exponent: DimArray) -> bool:
    """Whether an exponent is known to be 2."""
    return exponent.level is None and not exponent.names and backends.may_look(exponent.raw) and bool(exponent.raw == 2)


def passed_on(prim: Any, args: Sequence[DimArray], out: Any, params: Mapping[str, Any]) -> Any:
    """What is known of the operands of a linear operation, or a reduction, passed on to the result, or results."""
    for a in args:
        if type(a) is Length:
            break
    else:  # most often
        if type(out) is Traced and out.value.level is None:
            return out
    remember(out[0] if type(out) is tuple and out else out, prim, args, params)
    if prim.form == "elementwise":
        return _in_parts(prim, args[0], out) if type(args[0]) is Length else out
    return moved(prim, args, out, params, prim.moves) if prim.moves > 0 else out


def _in_parts(part: Callable[[DimArray], DimArray], x: Length, out: DimArray) -> DimArray:
    """The result of an operation that is linear over real numbers, such as the lengths themselves.

    Complex roots, those of complex numbers, are no factors of it: a part of a product is not one of its factors'.
    """
    if x.known.root.here.dtype.kind == "c" and not x.known.root.kind.flat:
        return out

    def odd(get: Part) -> DimArray | None:
        own = get(x.known)
        return None if own is None else part(own)

    of = Known(x.known.root, lambda: part(x.known.even), odd)
    of.steep = None if x.known.steep is None else part(x.known.steep)
    of.follow([x.known])
    return near(out, of) if of.root.kind.flat else mended(out, of, cancels=True)


ops.moved = passed_on
