"""What is known of lengths, moved with their cells."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.linear import like, ops
from namedgrad.squares.lengths import Kind, Known, Length, Part, Root, near, plain
from namedgrad.trace import Traced, apply, innermost

ALL = 1_000_000  # operands of an operation that moves the cells of each
_NEVER = constant(np.bool_(0))


def moved(prim: Any, args: Sequence[DimArray], out: Any, params: Mapping[str, Any], count: int) -> Any:
    """The result, or results, of an operation that moves cells of its first operands, which stay what they are."""
    own, rest = args[:count], args[count:]
    outs = out if type(out) is tuple else (out,)
    lengths = [a.known for a in own if type(a) is Length]
    written = params.get("how", "put") == "put"  # and not added to what is there
    if not (lengths and written):
        return out

    def move(part: Callable[[Any], Any], other: Callable[[DimArray], DimArray], which: int) -> Any:
        there = apply(prim, [*(part(a) if type(a) is Length else other(a) for a in own), *rest], **params)
        return there[which] if type(there) is tuple else there

    kind = np.result_type(*(k.root.here.dtype for k in lengths))

    def rooted(part: Callable[[Root], DimArray], which: int) -> Any:
        """A real root stays real wherever its cells go: of complex cells beside them it tells where they are not 0."""
        here = lambda a: ops.cast(wide(part(a.known.root), a), kind)
        there = move(here, lambda a: ops.nonzero(innermost(a)) if a.dtype.kind == "c" != kind.kind else a, which)
        return ops.cast(there, kind) if there.dtype.kind == "c" != kind.kind else there

    def odd(which: int, get: Part) -> Any:
        return None if all(get(k) is None for k in lengths) else move(lambda a: _odd(a, get), nothing, which)

    def known(which: int, y: DimArray) -> DimArray:
        root = Root(
            plain(rooted(lambda r: r.here, which)),
            functools.cache(lambda: rooted(lambda r: r.radicand(), which)),
            (prim, which, [a.known.root if type(a) is Length else a for a in own], [*map(like, own)], rest, params),
            Kind.of([k.root.kind for k in lengths]),
        )  # fmt: skip
        if not isinstance(y, Traced) or not root.may_be_0():
            return y
        of = Known(root, lambda: move(lambda a: a.known.even, lambda a: a, which), lambda get: odd(which, get))
        if all(k.steep is not None for k in lengths):
            of.steep = move(lambda a: _wide_as(a.known.steep, a), lambda a: nothing(innermost(a)), which)
        of.vanishes = all(k.vanishes for k in lengths)
        of.is_multiple = len(lengths) == len(own) and all(k.is_multiple for k in lengths)
        of.follow(lengths)
        return near(y, of)

    found = tuple(known(i, y) for i, y in enumerate(outs))
    return found if type(out) is tuple else found[0]


def wide(part: DimArray, a: DimArray) -> DimArray:
    """``part`` with all dims of ``a``."""
    if not part.names:  # a number, which is on no device
        there = ops.add(nothing(innermost(a)), part)
        return ops.cast(there, np.finfo(there.dtype).dtype) if there.dtype.kind == "c" != part.dtype.kind else there
    return ops.relabel(ops.spread(part, like(a)), {}, tuple(a.hidden))


def nothing(a: DimArray) -> DimArray:
    """0 in place of each cell."""
    return a if a.dtype.kind == "b" else ops.select(_NEVER, a)  # of a mask what it selects


def _odd(a: Length, get: Part) -> DimArray:
    return nothing(plain(a)) if (own := get(a.known)) is None else _wide_as(own, a)


def _wide_as(part: DimArray, a: DimArray) -> DimArray:
    """:func:`wide`, complex if ``a`` is: so are the cells beside it."""
    return ops.cast(wide(part, a), a.dtype) if a.dtype.kind == "c" else wide(part, a)
