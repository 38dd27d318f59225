"""Lengths, and what is known of values that are computed from one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from namedgrad import backends
from namedgrad.array import DimArray, constant
from namedgrad.linear import ops
from namedgrad.trace import Level, Traced, innermost

MOST = 3  # terms: each takes four times as long as the one before it
DEEP = 50  # operations in a row that leave to later ones what is known: 120 moves fill Python's stack, of 1,000 calls
ONE = constant(1.0)


class Met(list[DimArray]):
    """Lengths with zeros that a trace does not see, as it is left out for a while; ``flat``: flat ones, too."""

    def __init__(self, *, flat: bool) -> None:
        super().__init__()
        self.flat = flat

    def note(self, y: DimArray, *, flat: bool) -> None:
        """Add one that may be 0 somewhere, if that is of interest.

        Where nobody may look, roots that are differentiated once would be all that there are: these are left out.
        """
        raw = innermost(y).raw
        twice = self.flat or y.level is not None
        of_interest = twice or (not flat and backends.may_look(raw))
        if of_interest and not backends.nonzero_everywhere(raw):
            self.append(y)


MET: ContextVar[Met | None] = ContextVar("met", default=None)


class Kind(NamedTuple):
    """How a length moves where it is 0."""

    flat: bool  # its square is known to have slope 0 there
    sharp: bool  # it has an infinite slope there itself, as square roots have
    steep: bool  # it is one of these, or is made of some: its square has a slope

    @classmethod
    def of(cls, kinds: Sequence[Kind]) -> Kind:
        """That of a length which is one of several."""
        return cls(all(k.flat for k in kinds), all(k.sharp for k in kinds), any(k.steep for k in kinds))


class Root:
    """A length that may be 0 somewhere, and its square; two that were ``made`` alike are one."""

    __slots__ = ("_nonzero", "_radicand", "_square", "here", "kind", "made")

    def __init__(self, here: DimArray, radicand: Callable[[], DimArray], made: Any, kind: Kind) -> None:
        self.here, self._radicand, self.made, self.kind = here, radicand, made, kind
        self._nonzero: DimArray | None = None
        self._square: DimArray | None = None

    def radicand(self) -> DimArray:
        """Its square, computed once: roots that are made of others ask each of them."""
        if self._square is None:
            self._square = self._radicand()
        return self._square

    def nonzero(self) -> DimArray:
        """Where it is not 0."""
        if self._nonzero is None:
            self._nonzero = ops.likely(ops.nonzero(innermost(self.here)), seen=self.kind.sharp)
        return self._nonzero

    def terms(self) -> int:
        """How many even terms of a series in this have a part in some derivative: each bends with the radicand.

        Where all calls are made, whether or not it is 0, the first: the others take twenty times as many.
        """
        if not backends.backend_of(innermost(self.here).raw).may_branch:
            return 1
        return min(MOST, max(1, orders(self.here) if self.kind.steep else orders(self.here) // 2))

    def may_be_0(self) -> bool:
        """Whether it may be 0 somewhere, and that is of interest."""
        once: bool = self.here.value.level is None
        return not ((self.kind.flat and once) or backends.nonzero_everywhere(innermost(self.here).raw))


class Length(Traced):
    """A traced value of which something is known near the zeros of a root."""

    __slots__ = ("known",)
    known: Known


class Known:
    """That a value is ``even + odd * root`` there.

    ``steep`` is the value of ``odd``, or None where that is not looked at; ``odd`` is None where it is 0.  ``slope`` is
    what ``odd`` is at the root: terms of a higher order are lost in those of a root that is infinitely steep.
    """

    steep: DimArray | None = None
    vanishes = False  #: whether it is 0 wherever its root is, but for cells where it does not move with it
    is_multiple = False  #: whether that is all that it is: a function times its root, in every cell
    depth = 0  #: of what is not computed yet
    bend: Any = None

    def __init__(self, root: Root, even: Callable[[], Any], odd: Callable[[Part], DimArray | None]) -> None:
        self.root, self._even, self._odd = root, even, odd

    @functools.cached_property
    def even(self) -> Any:
        """A smooth function of the radicand."""
        return self._even()

    @functools.cached_property
    def odd(self) -> DimArray | None:
        """Another."""
        return self._odd(lambda known: known.odd)

    @functools.cached_property
    def slope(self) -> DimArray | None:
        """The slope in the root."""
        return self.odd if self.root.terms() == 1 else self._odd(lambda known: known.slope)

    def follow(self, before: Iterable[Known]) -> None:
        """Count what is not computed yet, of these too, and compute it if each would call too many before it."""
        self.depth = 1 + max(k.depth for k in before)
        if self.depth > DEEP:
            _, self.depth = (self.odd, self.even, self.root.radicand()), 0


Part = Callable[[Known], "DimArray | None"]  #: the odd part of what is known, or its slope


class AlongRoot(Level):
    """Forward mode along a root: how the partial derivatives of an operation move with it."""

    __slots__ = ()


def near(y: DimArray, known: Known) -> DimArray:
    """``y``, of which something is known, if it is traced."""
    if not isinstance(y, Traced):
        return y
    out = Length(plain(y.value), y.level, y.node)  # what is done here overrides what would be done one level down
    out.known = known
    return out


def known_of(
    x: DimArray, out: DimArray, part: Callable[[Any], Any], radicand: Callable[[DimArray], DimArray],
    odd: Callable[[Any], Any],
) -> DimArray:
    """``out``, of which is known ``part`` of what is known of ``x``, but for other functions of what they name."""
    if type(x) is not Length:
        return out
    known, root = x.known, x.known.root
    there = Root(part(root.here), lambda: radicand(root.radicand()), (root, part), root.kind)
    if not there.may_be_0():
        return out
    of = Known(there, lambda: part(known.even), lambda get: odd(get(known)))
    of.steep, of.vanishes, of.is_multiple = known.steep, known.vanishes, known.is_multiple
    of.follow([known])
    return near(out, of)


def orders(x: DimArray) -> int:
    """How many times this is differentiated."""
    count = 0
    while x.level is not None:
        count, x = count + 1, x.value
    return count


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
    """``y`` as a length whose square is ``radicand(*args)``, if it is traced.

    Of square roots, as amplitudes of probabilities are, that has a slope where it is 0.
    """
    of = [a.known.root.kind for a in args if type(a) is Length and a.known.root.here.dtype.kind == "f"]
    flat = flat and all(k.flat for k in of)  # of square roots of real numbers it is not
    if (met := MET.get()) is not None:
        met.note(y, flat=flat)
    if not isinstance(y, Traced):
        return y
    if type(y.level) is AlongRoot:  # the slope of a slope, which bends no more
        return y
    here = plain(y)
    kind = Kind(flat, sharp, sharp or any(k.steep for k in of))
    root = Root(here, lambda: radicand(*args), (radicand, args), kind)
    if not root.may_be_0():
        return y
    known = Known(root, lambda: ops.either(root.nonzero(), here, innermost(here)), lambda _: ONE)
    known.vanishes = known.is_multiple = True
    if not flat and y.value.level is None and backends.backend_of(y.value.raw).may_branch:
        known.steep = ONE
    return near(y, known)
