"""Linear maps: what recording an operation stores.

The derivative of an operation at a point is a linear map.  Forward mode *pushes* a tangent through it, reverse mode
*pulls* a cotangent back, ``linearize`` does both as often as asked.  A map remembers its traced operands (``parents``)
and as little data as it can.

Conventions that make every map short:

* A cotangent is full: it has every axis of the map's output, and may have more, which are *kept* (see
  :class:`namedgrad.axes.ByName`).  Every other axis that an operand lacks is summed, by :func:`fold`.
* Maps are transposed, never conjugated: the engine conjugates the seed and the leaves instead, which is the same for
  every composition and free for real numbers.
* ``mixes`` are the names along which a map mixes slices.  Meeting one of them again among the kept names would make
  a per-slice gradient ambiguous, so that is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names


class Like(NamedTuple):
    """What a map remembers of an operand whose data it does not need."""

    names: Names
    full_shape: tuple[int, ...]
    dtype: np.dtype[Any]


def like(x: DimArray) -> Like:
    """Names, sizes and dtype of an array."""
    return Like(x.names, x.full_shape, x.dtype)


class Mask(NamedTuple):
    """A factor that selects: 1 where true; elsewhere the product is exactly 0, whatever it is multiplied with."""

    where: DimArray


class Weight(NamedTuple):
    """A cotangent as a factor: where it is exactly 0 the product is 0, whatever it is multiplied with."""

    g: DimArray

    @property
    def names(self) -> Names:
        """Names of the cotangent."""
        return self.g.names


class Pair(NamedTuple):
    """A cotangent, or a factor, given as a product, so that :func:`fold` can sum the first by a contraction.

    Of a factor the second is multiplied with what is left of the sum if it has only axes of the operand.
    """

    g: DimArray
    factor: DimArray


Factor = DimArray | Mask | Weight | Pair | int


class Vocabulary:
    """The few operations that maps themselves are made of; :mod:`namedgrad.rules.structure` fills them in."""

    add: Callable[[DimArray, DimArray], DimArray]
    pile: Callable[[DimArray, DimArray], DimArray]
    both: Callable[[DimArray, DimArray], DimArray]
    neg: Callable[[DimArray], DimArray]
    mul: Callable[[DimArray, DimArray], DimArray]
    weigh: Callable[[DimArray, DimArray], DimArray]
    outweighed: Callable[[DimArray, DimArray], DimArray]
    scale: Callable[[DimArray, DimArray], DimArray]
    combined: Callable[[Sequence[tuple[DimArray, Factor]]], DimArray]
    select: Callable[[DimArray, DimArray], DimArray]
    nonzero: Callable[[DimArray], DimArray]
    likely: Callable[..., DimArray]
    either: Callable[[DimArray, DimArray, DimArray], DimArray]
    total: Callable[[DimArray, Names], DimArray]
    weighed_contract: Callable[[DimArray, DimArray, Names], DimArray]
    spread: Callable[[DimArray, Like], DimArray]
    relabel: Callable[..., DimArray]
    cast: Callable[[DimArray, np.dtype[Any]], DimArray]
    counted: Callable[..., Sequence[DimArray]]
    transfer: Callable[[DimArray, str], DimArray]
    stamp: Callable[[DimArray, frozenset[Name]], DimArray]
    diagonalize: Callable[[DimArray, Name], DimArray]
    guarded_contract: Callable[[DimArray, DimArray, Names], DimArray]
    moved: Callable[..., Any]


ops = Vocabulary()


# ------------------------------------------------------------------------------------------------ fold


def product(g: DimArray, f: Factor) -> DimArray:
    """``g * f`` by name, guarded if the mark of ``g`` asks for it."""
    if type(f) is int:
        return g if f == 1 else ops.neg(g)
    if type(f) is Pair:
        return product(product(g, f.g), f.factor)
    guard: bool = g.hidden.guard  # type: ignore[attr-defined]
    if isinstance(f, tuple):  # what a Mask or Weight holds may carry the mark of an inner pass
        out = ops.select(f.where, g) if isinstance(f, Mask) else (ops.outweighed if guard else ops.weigh)(g, f.g)
        return out if out.hidden is g.hidden else ops.stamp(out, g.hidden)
    return ops.scale(g, f) if guard else ops.weigh(g, f)  # type: ignore[arg-type]


def fold(g: DimArray, f: Factor, names: Names, dtype: np.dtype[Any] | None = None) -> DimArray:
    """The cotangent ``g * f`` of an operand with these names: axes that it lacks are summed unless they are kept."""
    how: Any = g.hidden
    kind = type(f)
    if kind is Pair:
        first, rest = f  # type: ignore[misc]
        return fold(fold(g, first, names) if set(rest.names) <= set(names) else product(g, first), rest, names, dtype)
    own = () if kind is int else f.where.names if kind is Mask else f.names  # type: ignore[union-attr]
    if g.names == names and (own == names or not own):
        if kind is int and f == 1 and (dtype is None or dtype == g.dtype):
            return g
        out = product(g, f) if kind is not DimArray or how.guard else ops.weigh(g, f)  # type: ignore[arg-type]
    else:
        extra = tuple(n for n in dict.fromkeys(g.names + own) if n not in names and n not in how.keep)
        if not extra:
            out = product(g, f)
        elif kind is int or kind is Mask:
            out = product(ops.total(g, extra), f) if kind is int else ops.total(product(g, f), extra)
        else:
            factor: Any = f.g if kind is Weight else f  # type: ignore[union-attr]
            out = (ops.guarded_contract if how.guard else ops.weighed_contract)(g, factor, extra)
    if dtype is not None and dtype != out.dtype:  # that of a real operand, too, beside a complex factor
        out = ops.cast(out, dtype)
    return out if out.hidden is how else ops.stamp(out, how)


def add_all(parts: Sequence[DimArray]) -> DimArray:
    """Sum of one or more arrays."""
    return functools.reduce(ops.add, parts)


# ------------------------------------------------------------------------------------------------ maps


class Map:
    """A linear map between the tangents of its parents and that of its output."""

    __slots__ = ("made", "names", "parents")
    made: Any  #: by what, and with which operands that are not traced, if cells are moved within another derivative
    names: Names  #: of the array that it gave
    parents: tuple[Map, ...]
    mixes: Names = ()  #: names along which slices are mixed
    mapping: Mapping[Name, Name] | None = None  #: how axes are renamed
    multiplies = True  #: whether by values that may not be finite
    repeats = True  #: whether it multiplies every cotangent by the same values
    keeps_record = False  #: whether push takes and gives tangents with their record (see :mod:`namedgrad.trace`)

    def pull(self, g: DimArray) -> Sequence[DimArray | None]:
        """One cotangent per parent."""
        raise NotImplementedError

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        """The tangent of the output; None stands for zero."""
        raise NotImplementedError

    def apart(self, g: DimArray, born: Iterable[Name] = ()) -> DimArray:
        """``g`` with kept axes told apart from axes that are mixed here; one and the same axis is refused.

        A dim that is ``born`` here and kept becomes a diagonal, so that the rule may sum over the dim.
        """
        how: Any = g.hidden
        if how.keep.isdisjoint(self.mixes) and how.ends.isdisjoint(self.mixes) and how.keep.isdisjoint(born):
            return g
        for now, then in [(n, how.final[n]) for n in g.names if n in how.final]:
            if then in self.mixes and now != axes.aside_name(then):
                raise ambiguous(then)
            if now in born:
                g = ops.diagonalize(g, now)
            elif now in self.mixes:
                g = ops.relabel(g, {now: axes.slice_name(now)})
        return g


def ambiguous(name: Name) -> AxisError:
    """The error for slices that were mixed and met again."""
    return AxisError(
        f"the slices of {name!r} are mixed inside the function (devectorized, then reduced, moved or indexed), yet "
        f"{name!r} is still a vectorized axis of its output, so 'one gradient per slice' is ambiguous; "
        f"give the slices that stay another name, "
        f"a.devectorize({name!r}).rename({{{name!r}: 'out'}}).vectorize('out'), "
        f"or devectorize and reduce the output over {name!r}"
    )


class Leaf(Map):
    """An input: the end of every path."""

    __slots__, multiplies = (), False

    def __init__(self) -> None:
        self.parents = ()


class Scale(Map):
    """Elementwise: each operand's tangent times a factor.

    ``terms`` holds ``(factor, names, dtype)`` per parent; ``factor`` is None where there is no derivative, ``dtype`` is
    None where the operand has that of the output.
    """

    __slots__ = ("out", "terms")

    def __init__(self, terms: Sequence[tuple[Factor | None, Names, Any]], out: Like | None) -> None:
        self.terms, self.out = terms, out

    def pull(self, g: DimArray) -> Sequence[DimArray | None]:
        if len(self.terms) == 1:  # most are
            ((f, names, dtype),) = self.terms
            return (fold(g, f, names, dtype),)  # type: ignore[arg-type]
        return [None if f is None else fold(g, f, names, dtype) for f, names, dtype in self.terms]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        parts = [(t, f) for t, (f, _, _) in zip(ts, self.terms, strict=True) if t is not None and f is not None]
        out = ops.combined(parts) if parts else None
        return out if out is None or self.out is None else ops.spread(out, self.out)


class Structural(Map):
    """A linear operation that names its axes itself: push and pull are given as functions."""

    __slots__, multiplies = ("_pull", "_push", "mixes"), False

    def __init__(
        self, push: Callable[[DimArray], DimArray], pull: Callable[[DimArray], DimArray], mixes: Names = ()
    ) -> None:
        self._push, self._pull, self.mixes = push, pull, mixes

    def pull(self, g: DimArray) -> list[DimArray | None]:
        if self.mixes:
            g = self.apart(g)
        out = self._pull(g)
        return [out if type(out.hidden) is axes.ByName else ops.stamp(out, g.hidden)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        return None if ts[0] is None else self._push(ts[0])


class Bilinear(Map):
    """A contraction by name: its derivative in each operand is a contraction with the other."""

    __slots__ = ("mixes", "operands", "others")

    def __init__(self, operands: list[Like], others: Sequence[DimArray | Weight], over: Names) -> None:
        self.operands, self.others, self.mixes = operands, others, over

    def pull(self, g: DimArray) -> list[DimArray | None]:
        if self.mixes:
            g = self.apart(g)
        return [
            ops.spread(fold(g, other, x.names, x.dtype), x)
            for x, other in zip(self.operands, self.others, strict=True)
        ]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        parts = [self._pushed(t, o) for t, o in zip(ts, self.others, strict=True) if t is not None]
        return add_all(parts) if parts else None

    def _pushed(self, t: DimArray, other: DimArray | Weight) -> DimArray:
        if type(other) is Weight:
            return ops.stamp(ops.guarded_contract(other.g, t, self.mixes), t.hidden)
        return ops.guarded_contract(t, other, self.mixes)  # type: ignore[arg-type]


class FiniteBilinear(Bilinear):
    """Of operands that are known to be finite."""

    __slots__, multiplies = (), False


class CoreMap(Map):
    """The derivative of an operation with core dims, written on ``core`` names.

    ``frame`` renames the user's dims to core names for the rule, per operand and for the output, and back.
    """

    __slots__ = ("_pull", "_push", "frames", "mixes", "operands", "out_frame")

    def __init__(
        self,
        push: Callable[[list[Any]], DimArray],
        pull: Callable[[DimArray], Sequence[Any]],
        operands: list[Like],
        frames: list[dict[Name, Name]],
        out_frame: dict[Name, Name],
    ) -> None:
        self._push, self._pull, self.operands, self.frames, self.out_frame = push, pull, operands, frames, out_frame
        self.mixes = tuple(n for f in frames for n in f)

    def pull(self, g: DimArray) -> list[DimArray | None]:
        kept = g.hidden.keep  # type: ignore[attr-defined]
        g = self._clear(self.apart(g, self.out_frame))
        how: Any = g.hidden
        again = {axes.slice_name(n): n for n in kept - how.keep}
        inside = ops.relabel(g, self.out_frame)
        inside = inside if inside.hidden is how else ops.stamp(inside, how)
        out: list[DimArray | None] = []
        for c, x, frame in zip(self._pull(inside), self.operands, self.frames, strict=True):
            if c is None:  # of an operand that passes nothing on
                out.append(None)
                continue
            names = axes.renamed(x.names, tuple(frame.items()))
            first, factor = c if type(c) is Pair else (c, 1)
            first = first if first.hidden is how else ops.stamp(first, how)
            back = axes.invert(frame) | {now: n for now, n in again.items() if n not in x.names}
            out.append(ops.relabel(fold(first, factor, names, x.dtype), back))
        return out

    def _clear(self, g: DimArray) -> DimArray:
        """Kept axes that another rule, around this one, calls as this one calls its own step aside."""
        how: Any = g.hidden
        met = {n: axes.slice_name(n) for f in (*self.frames, self.out_frame) for n in f.values() if n in how.keep}
        return ops.relabel(g, met) if met else g

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        if all(t is None for t in ts):
            return None
        inside = [None if t is None else ops.relabel(t, f) for t, f in zip(ts, self.frames, strict=True)]
        return ops.relabel(self._push(inside), axes.invert(self.out_frame))
