"""Lengths: values such as norms, absolute values and roots, of which even functions are smooth where they are 0.

The slope of a length at 0 is 0 by convention, and its bend infinite: neither tells anything about its square, of which
the Hessian is twice the identity, or about its cosine.  So a value that is computed from a length knows that it is
``even + odd * root`` near a zero of it, with two smooth functions of the square of the root, the *radicand*; of the
second only its value there.  An operation gives

    f(even + odd root) = f(even) + 1/2 f''(even) odd² radicand + f'(even) odd root,

Taylor's formula, up to terms of which the first three derivatives are 0 (of a plain square root, the first).  The slope
of a partial derivative is f'' odd: it is found by calling the partial on an operand that tells of its slope alone.

Cells that an operation *moves*, as indexing, joining and padding do, take along what is known of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant
from namedgrad.linear import Bilinear, Map, Mask, Pair, Scale, Weight, like, ops
from namedgrad.trace import Pick, Tangent, Traced, apply, innermost

SQUARES, POWERS = {"multiply", "divide", "negative", "square"}, {"power", "float_power"}  # and multiples of lengths
FAR = 60  # how far back two operands are compared
DEEP = 50  # operations in a row that leave to later ones what is known of them
_ONE, _HALF, _NEVER = constant(1.0), constant(0.5), constant(np.bool_(0))
MET: ContextVar[list[DimArray] | None] = ContextVar("met", default=None)  # lengths with zeros, outside of every trace


class Root:
    """A length that may be 0 somewhere: its square as a function of its operands; ``flat`` if that has slope 0 there.

    A ``sharp`` one has an infinite slope there itself. Two that were ``made`` alike are one.
    """

    __slots__ = ("flat", "here", "made", "nonzero", "radicand", "sharp")

    def __init__(
        self, here: DimArray, radicand: Callable[[], DimArray], made: Any, *, flat: bool, sharp: bool
    ) -> None:
        self.here, self.radicand, self.made, self.flat, self.sharp = here, radicand, made, flat, sharp
        self.nonzero = functools.cache(lambda: ops.likely(ops.nonzero(innermost(here)), seen=sharp))

    def may_be_0(self) -> bool:
        """Whether it may be 0 somewhere, and that is of interest."""
        once: bool = self.here.value.level is None
        return not ((self.flat and once) or backends.nonzero_everywhere(innermost(self.here).raw))


class Length(Traced):
    """A traced value of which something is known near the zeros of a root."""

    __slots__ = ("known",)
    known: Known


class Known:
    """That a value is ``even + odd * root`` there; of a ``bare`` one ``odd`` alone counts.

    ``steep`` is the value of ``odd``, or None where that is not looked at; ``odd`` is None where it is 0.
    """

    bare = False
    steep: DimArray | None = None
    depth = 0  #: of what is not computed yet
    bend: Any = None

    def __init__(self, root: Root, even: Callable[[], Any], odd: Callable[[], DimArray | None]) -> None:
        self.root, self._even, self._odd = root, even, odd

    @functools.cached_property
    def even(self) -> Any:
        """A smooth function of the radicand."""
        return self._even()

    @functools.cached_property
    def odd(self) -> DimArray | None:
        """Another, of which only the value at the root is right."""
        return self._odd()

    def follow(self, before: Iterable[Known]) -> None:
        """Count what is not computed yet, of these too, and compute it if each would call too many before it."""
        self.depth = 1 + max(k.depth for k in before)
        if self.depth > DEEP:
            _, self.depth = (self.odd, self.bare or (self.even, self.root.radicand())), 0


class Bare(Known):
    """What a partial derivative is told of its operands, and of the result."""

    bare = True

    def __init__(self, root: Root, odd: Callable[[], DimArray | None]) -> None:
        super().__init__(root, lambda: None, odd)


class Through(Known):
    """What is known of the result of an elementwise operation."""

    def __init__(self, prim: Any, args: Sequence[DimArray], out: DimArray, root: Root) -> None:
        self.prim, self.args, self.out, self.root = prim, args, out, root
        self.bare = any(type(a) is Length and a.known.bare for a in args)
        self.follow(a.known for a in args if type(a) is Length)

    @functools.cached_property
    def base(self) -> tuple[DimArray, list[DimArray]]:
        """Result and operands without their odd parts."""
        if self.bare:
            return self.out, [plain(a) for a in self.args]
        ins = [a.known.even if type(a) is Length else a for a in self.args]
        return self.prim(*ins), ins

    @functools.cached_property
    def odd(self) -> DimArray | None:
        """The slope of the result in the root."""
        return _slope(self.prim, *self.base, [a.known.odd if type(a) is Length else None for a in self.args])

    @functools.cached_property
    def bend(self) -> DimArray | None:
        """The second derivative of the result in the root."""
        if all(d is None or type(d) is int for d in self.prim.partials):
            return None
        out, ins = self.base
        told = [
            near(x, Bare(self.root, functools.partial(getattr, a.known, "odd"))) if type(a) is Length else x
            for x, a in zip(ins, self.args, strict=True)
        ]
        result, bend = near(out, Bare(self.root, lambda: self.odd)), None
        for d, a in zip(self.prim.partials, self.args, strict=True):
            if type(a) is Length and callable(d) and (slope := a.known.odd) is not None:
                bend = _sum(bend, _bent(d(result, *told), slope))
        return bend

    @functools.cached_property
    def even(self) -> Any:
        """Taylor's formula without its odd terms."""
        if self.bare or self.bend is None:
            return self.base[0]
        return ops.add(self.base[0], ops.scale(self.root.radicand(), ops.mul(_HALF, self.bend)))


def near(y: DimArray, known: Known) -> DimArray:
    """``y``, of which something is known, if it is traced."""
    if not isinstance(y, Traced):
        return y
    out = Length(plain(y.value), y.level, y.node)  # what is done here overrides what would be done one level down
    out.known = known
    return out


def plain(y: DimArray) -> DimArray:
    """Without what is known of it."""
    return Traced(plain(y.value), y.level, y.node) if type(y) is Length else y


def below(out: DimArray, ins: tuple[DimArray, ...], args: tuple[DimArray, ...]) -> DimArray:
    """A result one level down, without what is known of it if that is due to the operation or overridden above."""
    known = any(type(x) is Length for x in ins) and not any(type(x) is Length for x in args)
    return out if known else plain(out)


def as_length(
    y: DimArray, radicand: Callable[..., DimArray], *args: Any, flat: bool = True, sharp: bool = False
) -> DimArray:
    """``y`` as a length whose square is ``radicand(*args)``, if it is traced."""
    if not isinstance(y, Traced):
        met = MET.get()
        if met is not None and not backends.nonzero_everywhere(y.raw):
            met.append(y)
        return y
    if type(y) is Length and y.known.bare:  # which tells of another root
        return y
    here = plain(y)
    root = Root(here, lambda: radicand(*args), (radicand, args), flat=flat, sharp=sharp)
    if not root.may_be_0():
        return y
    known = Known(root, lambda: ops.either(root.nonzero(), here, innermost(here)), lambda: _ONE)
    if not flat and y.value.level is None and backends.backend_of(y.value.raw).may_branch:
        known.steep = _ONE
    return near(y, known)


def of_lengths(prim: Any, args: Sequence[DimArray], out: DimArray) -> DimArray:
    """``out``, the result of an elementwise operation with operands near zeros of lengths."""
    lengths = [a.known for a in args if type(a) is Length]
    if not lengths or type(out) is not Traced or out.dtype.kind not in "fc":
        return out
    if not lengths[0].bare and _is_dear(prim, args, out):
        return out
    root = _one_root(lengths)
    if root is None:
        return moved(prim, args, out, {}, len(args)) if prim.name == "where" else out
    known = Through(prim, args, out, root)
    if known.bare:
        return near(out, known)
    known.steep = _steep(prim, args, out)
    return _mended(out, known, cancels=not root.flat and len(lengths) > 1)


def _mended(out: DimArray, known: Known, *, cancels: bool) -> DimArray:
    """A result of which the derivatives are right where its root is 0; ``cancels``: also one that does not bend."""
    root, nonzero = known.root, known.root.nonzero
    if known.steep is not None:  # where the slope is not 0 that of the root is infinite, and so is the result's
        steep = known.steep
        nonzero = functools.cache(lambda: ops.add(ops.nonzero(innermost(root.here)), ops.nonzero(steep)))
        if backends.nonzero_everywhere(steep.raw) or backends.nonzero_everywhere(nonzero().raw):
            return near(out, known)
    if known.bend is None and not cancels:
        return near(out, known)
    slope = None if root.flat else known.odd
    there = known.even if slope is None else ops.add(known.even, ops.scale(slope, root.here))
    mask = root.nonzero() if known.steep is None else ops.likely(nonzero(), seen=root.sharp)
    return near(ops.either(mask, out, there), known)


def _one_root(lengths: Sequence[Known]) -> Root | None:
    """The root that all of these have, if they have one."""
    first = lengths[0]
    return first.root if all(k.bare is first.bare and alike(k.root, first.root) for k in lengths) else None


def _steep(prim: Any, args: Sequence[DimArray], out: Traced) -> DimArray | None:
    """The value of ``odd`` of a result, where it is looked at."""
    if any(type(a) is Length and a.known.steep is None for a in args):
        return None
    ins = [a.value if a.level is out.level else a for a in args]
    return _slope(prim, out.value, ins, [a.known.steep if type(a) is Length else None for a in args])


def _is_dear(prim: Any, args: Sequence[DimArray], out: Traced) -> bool:
    """Whether this is left as it is: first derivatives but of squares where nobody may look, to see if there is a 0.

    On such a backend a chain of functions of a root would take up to ten times as many calls.
    """
    if backends.backend_of(innermost(out).raw).may_branch or out.value.level is not None:
        return False
    square = prim.name in POWERS and args[1].level is None and backends.may_look(args[1].raw) and not args[1].names
    return not (prim.name in SQUARES or (square and args[1].raw == 2))


def _bent(partial: Any, slope: DimArray) -> DimArray | None:
    if isinstance(partial, Pair):
        partial = ops.mul(partial.g, partial.factor)
    if isinstance(partial, Weight):
        partial = partial.g
    own = partial.known.odd if type(partial) is Length else None
    return None if own is None else ops.mul(slope, own)


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


# ------------------------------------------------------------------------------------------------ moves


def passed_on(prim: Any, args: Sequence[DimArray], out: Any, params: Mapping[str, Any]) -> Any:
    """What is known of the operands of a linear operation, or a reduction, passed on to the result, or results."""
    for a in args:
        if type(a) is Length:
            break
    else:  # most often
        if type(out) is Traced and out.value.level is None:
            return out
    if prim.form != "core":
        _remember(out[0] if type(out) is tuple and out else out, prim, args, params)
    if prim.form == "elementwise":
        return _in_parts(prim, args[0], out) if type(args[0]) is Length else out
    return moved(prim, args, out, params, prim.moves) if prim.moves > 0 else out


def _in_parts(part: Callable[[DimArray], DimArray], x: Length, out: DimArray) -> DimArray:
    """The result of an operation that is linear over real numbers, such as the lengths themselves."""
    of = Known(x.known.root, lambda: part(x.known.even), lambda: None if x.known.odd is None else part(x.known.odd))
    of.bare, of.steep = x.known.bare, None if x.known.steep is None else part(x.known.steep)
    of.follow([x.known])
    return near(out, of) if of.bare or of.root.flat else _mended(out, of, cancels=True)


def moved(prim: Any, args: Sequence[DimArray], out: Any, params: Mapping[str, Any], count: int) -> Any:
    """The result, or results, of an operation that moves cells of its first operands, which stay what they are."""
    own, rest = args[:count], args[count:]
    outs = out if type(out) is tuple else (out,)
    lengths = [a.known for a in own if type(a) is Length]
    written = params.get("how", "put") == "put"  # and not added to what is there
    if not (lengths and written) or any(k.bare is not lengths[0].bare for k in lengths):
        return out

    def move(part: Callable[[Any], Any], other: Callable[[DimArray], DimArray], which: int) -> Any:
        there = apply(prim, [*(part(a) if type(a) is Length else other(a) for a in own), *rest], **params)
        return there[which] if type(there) is tuple else there

    def odd(which: int) -> Any:
        return None if all(k.odd is None for k in lengths) else move(_odd, _nothing, which)

    def known(which: int, y: DimArray) -> DimArray:
        here = plain(move(lambda a: _wide(a.known.root.here, a), _itself, which))
        root = Root(
            here,
            functools.cache(lambda: move(lambda a: _wide(a.known.root.radicand(), a), _itself, which)),
            (prim, which, [a.known.root if type(a) is Length else a for a in own], [*map(like, own)], rest, params),
            flat=all(k.root.flat for k in lengths), sharp=any(k.root.sharp for k in lengths),
        )  # fmt: skip
        if not isinstance(y, Traced) or not root.may_be_0():
            return y
        of = Known(root, lambda: move(lambda a: a.known.even, _itself, which), lambda: odd(which))
        of.bare = lengths[0].bare
        if all(k.steep is not None for k in lengths):
            of.steep = move(lambda a: _wide(a.known.steep, a), lambda a: _nothing(innermost(a)), which)
        of.follow(lengths)
        return near(y, of)

    found = tuple(known(i, y) for i, y in enumerate(outs))
    return found if type(out) is tuple else found[0]


def _remember(y: DimArray, prim: Any, args: Sequence[DimArray], params: Mapping[str, Any]) -> None:
    """How the maps of this result came about, at all levels, if there are several."""
    if not (isinstance(y, Traced) and isinstance(y.value, Traced)):
        return
    while isinstance(y, Traced) and isinstance(y.node, Map):
        node = y.node.parents[0] if type(y.node) is Pick else y.node
        node.made = prim, [a for a in args if a.level is not y.level], params
        args = [a.value if isinstance(a, Traced) and a.level is y.level else a for a in args]
        y = y.value


def _wide(part: DimArray, a: DimArray) -> DimArray:
    if not part.names and a.names:  # a number, which is on no device
        return ops.add(_nothing(innermost(a)), part)
    return ops.relabel(ops.spread(part, like(a)), {}, tuple(a.hidden))


def _itself(a: DimArray) -> DimArray:
    return a


def _nothing(a: DimArray) -> DimArray:
    return a if a.dtype.kind == "b" else ops.select(_NEVER, a)  # of a mask what it selects


def _odd(a: Length) -> DimArray:
    return _nothing(plain(a)) if a.known.odd is None else _wide(a.known.odd, a)


# ------------------------------------------------------------------------------------------------ identity


def alike(x: Any, y: Any, found: dict[Any, Any] | None = None, far: int = FAR) -> bool:
    """Whether two are known to be one function of what is differentiated: made by the same operations.

    What is ``found`` to be is not compared again: operands may be used many times.
    """
    found = {} if found is None else found
    if x is y or type(x) is not type(y) or not far:
        return x is y
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(alike(a, b, found, far) for a, b in zip(x, y, strict=True))
    if isinstance(x, axes.Fresh):  # names that nobody gave differ from one call to the next
        return found.setdefault(x, y) is y and found.setdefault(y, x) is x
    parts = _parts(x)
    if parts is None:
        return backends.alike(x, y)
    pair = (id(x), id(y))
    if pair not in found and not alike(parts, _parts(y), found, far - 1):
        return False
    found[pair] = True
    return True


def _parts(x: Any) -> Any:
    """What tells it apart from others of its kind."""
    if isinstance(x, Map):
        maker = x.index if isinstance(x, Pick) else (x.others, x.mixes) if isinstance(x, Bilinear) else object()
        return x.terms if isinstance(x, Scale) else getattr(x, "made", maker), x.parents
    if isinstance(x, DimArray):
        return (x.level, x.node, x.value) if isinstance(x, Traced) else (x.names, x.raw)
    if isinstance(x, dict):
        return [*x.items()]
    return x.made if isinstance(x, Root) else x.value if isinstance(x, Tangent) else None


ops.moved = passed_on
