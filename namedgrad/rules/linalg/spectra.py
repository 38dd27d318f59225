"""How derivatives of functions of eigenvalues, or of singular values, follow these where values coincide.

What the derivative in one value does along its own value, and along another that is equal, is on the tape between the
values and that derivative: it is pulled back from each cell.  Whether the function treats equal values alike, to second
order, is seen by a combination of such cells that is 0 in sum but otherwise arbitrary: it must follow the same cells in
proportion, and nothing else.  If it does not there is no second derivative.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.backends import is_recording, may_look
from namedgrad.linear import Like, Map, like
from namedgrad.primitive import Primitive
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, greater, less_equal, logical_and, logical_or, sin
from namedgrad.rules.linalg.coinciding import close_to, coincide, neighbours
from namedgrad.rules.linalg.matrices import COLUMN, ROW, diagonal, down, mT, typed, without_diagonal
from namedgrad.rules.linalg.parting import is_parting
from namedgrad.rules.structure import (
    add,
    cast,
    either,
    equal,
    identity,
    likely,
    logical_not,
    multiply,
    positions,
    relabel,
    scale,
    select,
    spread,
    stamp,
    subtract,
    total,
    where,
    zeros_spread,
)
from namedgrad.squares import alike
from namedgrad.trace import Level, Pick, Tangent, Traced, apply, backward, innermost


class Spectrum:
    """That of a matrix, or of one for each slice; ``turned`` is how much tangents of values that coincided were rounded.

    These are those of any basis.  How these are differentiated is right in a basis that the tangent does not turn.
    Values are met with their ``vectors`` unless nobody has these.
    """

    __slots__ = ("apart", "matrix", "turned", "vectors")

    def __init__(self, matrix: DimArray, *, vectors: bool = True) -> None:
        self.matrix, self.vectors = matrix, vectors
        self.apart = False  #: whether it was seen that no values coincide
        self.turned: DimArray | None = None

    @property
    def parts_below(self) -> Level | None:
        """The level below which values that coincide may move apart: one that is not within another derivative."""
        top = self.matrix
        return top.level if self.vectors and isinstance(top, Traced) and top.value.level is None else None

    def pushed(self, w: DimArray, along: DimArray, *, signed: bool = True) -> None:
        """Note a tangent of the matrix in the basis of its vectors, within another derivative."""
        if along.level is None or apart(w, signed):
            return
        w, along = innermost(w), absolute(innermost(along))
        rounding = multiply(c(float(np.finfo(w.dtype).eps) * extent(w, COLUMN)), total(along, (ROW, COLUMN)))
        turned = logical_and(coincide(subtract(w, down(w)), w), without_diagonal(greater(along, rounding)))
        cells = scale(rounding, cast(turned, w.dtype))
        cells = total(cells, tuple(n for n in cells.names if n not in w.names))
        self.turned = cells if self.turned is None else add(self.turned, cells)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Spectrum) and alike(self.matrix, other.matrix))

    __hash__ = None  # type: ignore[assignment]


class Belonging(Map):
    """The map of values that are known to belong to a spectrum, of the transform that takes tangents or one ``below``."""

    __slots__, multiplies = ("below", "spectrum"), False

    def __init__(self, spectrum: Spectrum, *, below: bool) -> None:
        self.spectrum, self.below = spectrum, below

    def pull(self, g: DimArray) -> Sequence[DimArray | None]:
        return [self._known(g)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        return None if ts[0] is None else self._known(ts[0])

    def _known(self, x: DimArray) -> DimArray:
        turned = self.spectrum.turned
        if turned is None:
            return x
        if self.below:
            return stamp(where(greater(turned, c(0.0)), c(math.nan), x), x.hidden)
        return stamp(add(x, multiply(turned, _any_numbers(turned))), x.hidden)  # an exact 0 would hide that NaN


class _Belong(Primitive):
    form, keeps = "linear", "constants"

    def lower(self, args: Sequence[DimArray], **_: Any) -> DimArray:
        return args[0]

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], spectrum: Spectrum) -> Map:
        top: Any = spectrum.matrix
        return Belonging(spectrum, below=ins[0].level is not top.value.level)


_belong = _Belong("belong")


def known_values(w: DimArray, spectrum: Spectrum, *, signed: bool = True) -> DimArray:
    """Values that are found again, where their gradient is differentiated, as those of the spectrum."""
    if not (isinstance(w, Traced) and isinstance(w.value, Traced)) or is_parting(w.value) or apart(w, signed):
        return w
    below: DimArray = w.value
    while isinstance(below, Traced):
        if below.level.tape is None and below.level.notes is None:
            below.level.notes = []
        below = below.value
    return apply(_belong, (w,), spectrum=spectrum)


def apart(w: DimArray, signed: bool = True) -> bool:
    """Whether values in order are known to be far from each other, and from their negatives if those are values too."""
    raw = _close(w, signed).raw
    return may_look(raw) and not raw.any()


def _close(w: DimArray, signed: bool) -> DimArray:
    """How many of the values of a slice, which are in order, are close to the next one, or to their negatives."""
    w = innermost(w)
    close = total(multiply(c(1.0), close_to(neighbours(w), w)), (COLUMN,))
    return close if signed else add(close, total(multiply(c(1.0), close_to(w, w)), (COLUMN,)))


def where_apart(w: DimArray, plain: DimArray, known: Callable[[], DimArray], *, signed: bool = True) -> DimArray:
    """``plain`` where values are apart; a program that is recorded takes them for that until they are not."""
    if w.level is None or is_parting(w) or apart(w, signed):
        return plain
    if not is_recording():
        return known()
    return either(likely(equal(_close(w, signed), c(0.0))), plain, known())


def alone(w: DimArray, signed: bool) -> DimArray:
    """Which values coincide with no other, and not with their negatives if those are values too."""
    return less_equal(total(add(*_same(innermost(w), signed)), (ROW,)), c(1.0))


def _same(w: DimArray, signed: bool) -> tuple[DimArray, DimArray]:
    """1 where two values coincide, and where one coincides with the negative of the other if that is a value too."""
    same = cast(coincide(subtract(w, down(w)), w), w.dtype)
    return same, multiply(c(0.0), same) if signed else cast(coincide(add(w, down(w)), w), w.dtype)


# ------------------------------------------------------------------------------------------------ how they bend


def mean_of_both(bends: DimArray) -> DimArray:
    """How the cells of two values follow their own, on average."""
    own = diagonal(bends)
    return multiply(c(0.5), add(own, down(own)))


def apart_from(bends: DimArray) -> DimArray:
    """The same less how they follow each other."""
    return subtract(mean_of_both(bends), multiply(c(0.5), add(bends, mT(bends))))


def curvatures(g: DimArray, w: DimArray, level: Level, spectrum: Spectrum, *, signed: bool) -> DimArray:
    """Derivatives of the cells of ``g``, along the rows, in values that are close to others; NaN where there are none."""
    while isinstance(g, Traced) and g.level.index > level.index:
        g = g.value
    w = stamp(w, g.hidden)
    flat = zeros_spread(w, Like((*w.names, ROW), (*w.full_shape, extent(w, COLUMN)), w.dtype))
    if not isinstance(g, Traced) or g.level is not level:
        return flat
    way, seed = _Way(level, g, w, spectrum), axes.fresh("seed")
    found, others = way.back(relabel(_each(w, signed), {ROW: seed}), seed)
    bends = flat if found is None else relabel(found, {seed: ROW})
    mixed = _mixed(w, signed)
    found, rests = way.back(mixed)
    rest = _expected(mixed, bends, w, signed)
    rest = rest if found is None else subtract(found, rest)
    unlike = way.exceeds(rest, way.size(bends), way.usual())
    for one, other in zip(rests, others, strict=True):
        if one is not None and other is not None:
            unlike = logical_or(unlike, way.exceeds(one, way.size(other)))
    return where(unlike, c(math.nan), bends)


def _each(w: DimArray, signed: bool) -> DimArray:
    """1 for each value that is close to another."""
    pairs = [subtract(w, down(w)), *(() if signed else (add(w, down(w)),))]
    close = functools.reduce(add, (cast(close_to(gap, w), w.dtype) for gap in pairs))
    return select(greater(total(close, (ROW,)), c(1.0)), identity(extent(w, COLUMN), ROW, COLUMN, w))


def _mixed(w: DimArray, signed: bool) -> DimArray:
    """Any numbers, of which those of values that coincide are 0 in sum, and those of their negatives the opposite."""
    same, opposite = _same(w, signed)
    x = _any_numbers(w)
    return subtract(x, divide(_over_rows(subtract(same, opposite), x), total(add(same, opposite), (ROW,))))


def _any_numbers(w: DimArray) -> DimArray:
    """One for each of the cells."""
    return sin(add(places(w), c(1.0)))


def _expected(x: DimArray, bends: DimArray, w: DimArray, signed: bool) -> DimArray:
    """What cells combined follow if values that coincide are alike: the same cells in proportion."""
    same, opposite = _same(w, signed)
    toward = subtract(scale(opposite, mean_of_both(bends)), scale(without_diagonal(same), apart_from(bends)))
    return _over_rows(toward, x)


def _over_rows(matrix: DimArray, x: DimArray) -> DimArray:
    return total(multiply(matrix, down(x)), (ROW,))


def places(w: DimArray) -> DimArray:
    """A number for each of the cells."""
    out = c(0.0)
    for n in w.names:
        out = add(multiply(out, c(float(extent(w, n)))), positions(extent(w, n), n, w))
    return out


class _Way:
    """From the derivatives ``g`` in values ``w`` of a spectrum back to these."""

    def __init__(self, level: Level, g: Traced, w: DimArray, spectrum: Spectrum) -> None:
        tape, self.end = _tape(level, g.node)
        self.own = [n for n in tape if type(n) is Belonging and n.spectrum == spectrum]
        self.tape = [n for n in tape if n not in self.own]
        within = {*self.tape, *self.own}
        self.others = [*dict.fromkeys(p for n in self.tape for p in n.parents if p not in within)]
        self.g, self.w = g, w
        self.kept = [n for n in g.names if n != COLUMN]

    def back(self, x: DimArray, *more: Name) -> tuple[DimArray | None, list[DimArray | None]]:
        """What cells combined by ``x`` follow: of the values, and of everything else."""
        pairs = [n for n in self.g.names if n not in self.w.names]
        mark: Any = axes.by_name(frozenset((n, n) for n in (*pairs, *more)), guard=True)
        seed = stamp(spread(typed(x, self.g), like(self.g)), mark)
        found = backward(self.tape, [(self.end, seed)], [*self.own, *self.others])
        parts = [None if f is None else stamp(f, self.w.hidden) for f in found]
        mine, others = parts[: len(self.own)], parts[len(self.own) :]
        effects = [self._moved(f, end.value) for f, end in zip(others, self.others, strict=True) if type(end) is Tangent]
        return _sum(mine), [_sum(effects)] if effects else others

    def _moved(self, x: DimArray | None, t: DimArray) -> DimArray | None:
        """What a tangent does: of forward mode nothing else is known, or asked."""
        if x is None:
            return None
        return total(multiply(x, stamp(t, self.w.hidden)), tuple(n for n in x.names if n in t.names and n not in self.kept))

    def exceeds(self, rest: DimArray, *sizes: DimArray) -> DimArray:
        """Whether what is left is more than rounding, in a slice or wherever it has no slices."""
        allowed = multiply(c(math.sqrt(np.finfo(self.w.dtype).eps)), functools.reduce(add, sizes))
        return logical_not(less_equal(self.size(rest), allowed))

    def usual(self) -> DimArray:
        """How much the cells would follow values if they were in proportion."""
        size = self.size(self.w)
        return divide(self.size(self.g), where(equal(size, c(0.0)), c(1.0), size))

    def size(self, x: DimArray) -> DimArray:
        """The sum of absolute values in a slice."""
        x = innermost(x)
        return total(absolute(x), tuple(n for n in x.names if n not in self.kept))


def _sum(parts: Sequence[DimArray | None]) -> DimArray | None:
    found = [p for p in parts if p is not None]
    return functools.reduce(add, found) if found else None


def _tape(level: Level, node: Any) -> tuple[list[Any], Any]:
    """The maps of a level, in order, and the last; those of forward mode are noted from the first spectrum on."""
    if level.tape is not None:
        return level.tape, node
    tape: list[Any] = []
    made: dict[Any, Map] = {}
    for map_, ins, outs in level.notes or ():
        map_.parents = tuple(made.get(t, t) for t in ins)
        tape.append(map_)
        if type(outs) is tuple:
            picks = [Pick(map_, i) for i in range(len(outs))]
            tape.extend(picks)
            made |= {t: p for t, p in zip(outs, picks, strict=True) if t is not None}
        elif outs is not None:
            made[outs] = map_
    return tape, made.get(node, node)
