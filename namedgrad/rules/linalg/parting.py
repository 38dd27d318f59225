"""Values that coincide, moved apart: the gradient of what does not depend on the choice of their vectors.

Vectors of equal eigenvalues are any basis of their space.  A function ``V f(w) V^H`` is the same in each, and smooth, but
what is asked of the vectors is then 0, and is divided by differences of values that are 0.  The gradient is the limit of
that of matrices beside this one: with ``w_i + t l_i`` as values in place of ``w_i``, of the same vectors and all ``l_i``
different, what is asked and the differences are both of the order of ``t``, and the quotient is that of their derivatives
(L'Hopital).  So values that coincide carry the tangent ``l``, on a level of forward mode of their own below that of the
transform, which drops it when it is done.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.backends import is_recording, may_look
from namedgrad.linear import Map, like
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import c, divide, less_equal, logical_and
from namedgrad.rules.linalg.matrices import COLUMN, ROW, typed
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import (
    add,
    equal,
    if_likely,
    known_true,
    multiply,
    not_equal,
    select,
    spread,
    stamp,
    subtract,
    total,
    where,
)
from namedgrad.trace import Level, Tangent, Traced, innermost

Push = Callable[[Mapping[Any, DimArray]], Sequence[Any]]
CLOSE, APART = 1e4, 8.0  #: roundings by which what is asked may differ from the limit
SMALL = 100_000  #: cells of which it is looked whether all are 0
TURNS: ContextVar[list[DimArray] | None] = ContextVar("turns", default=None)  #: how much tangents turn vectors, if at all


class Gaps(NamedTuple):
    """Divisors: differences, or sums, of values that may coincide unless they are known to be ``apart``.

    Of values in order, ``least`` gives some gaps among which the smallest are: to look at all takes a tenth of a
    gradient.  What is divided are cotangents, or tangents ``of`` a matrix.
    """

    gap: DimArray
    values: DimArray
    apart: bool = False
    of: DimArray | None = None
    differences: bool = False
    least: Callable[[DimArray], DimArray] | None = None


class Parting(Level):
    """The level of the tangents of values that coincide, or nearly so, within one transform.

    Tangents of the transform itself are of the order of ``1 / t`` where vectors turn within their space.  So they are
    pushed as ``t`` times themselves, with the answer as the tangent at this level.
    """

    __slots__ = ("met",)

    def __init__(self, above: Level) -> None:
        super().__init__(forward=True)
        self.index = above.index - 0.5  # of a level in between
        self.met: DimArray = c(0.0)  #: how many values part
        above.parting = self

    def record(self, map_: Map, nodes: Sequence[Any], out: Any, captured: DimArray | None = None) -> Any:
        """What does not move is seen not to: most of what a program makes of vectors, and of values that are apart."""
        found = super().record(map_, nodes, out, captured)
        return tuple(map(self._still, found)) if type(found) is tuple else self._still(found)

    def _still(self, x: DimArray) -> DimArray:
        if not isinstance(x, Traced) or x.level is not self or innermost(x).size > SMALL:
            return x
        t = innermost(x.node.value).raw
        return x.value if may_look(t) and not np.any(t) else x

    def moving(self, x: DimArray, t: DimArray) -> Traced:
        """An array with a tangent."""
        return Traced(x, self, Tangent(stamp(spread(typed(t, x), like(x)), axes.by_name(guard=True))))

    def pushed(self, push: Push, seeds: Mapping[Any, DimArray], outs: Sequence[DimArray]) -> list[Tangent | None]:
        """The tangents of ``outs``: of what depends on the choice of vectors they are as they are where no values part."""
        turns: list[DimArray] = []
        token = TURNS.set(turns)
        try:
            found = push({n: self.moving(multiply(t, c(0.0)), t) for n, t in seeds.items()})
        finally:
            TURNS.reset(token)
        usual = functools.cache(lambda: push(seeds))
        turned = functools.reduce(add, turns, c(0.0))

        def answer(k: int, t: Tangent) -> Tangent:
            own, value = _tangent(t.value), innermost(t.value)
            slices = [n for n in turned.names if n in own.names]
            size = add(_sizes(own, slices), multiply(_summed(turned, slices), _sizes(outs[k], slices)))
            is_finite = less_equal(absolute(value), multiply(size, c(4 * math.sqrt(_unit(own)))))
            return Tangent(self._chosen(is_finite, own, lambda: innermost(usual()[k].value)), t.mixed, t.origins)

        return [None if t is None else answer(k, t) for k, t in enumerate(found)]

    def _chosen(self, is_finite: DimArray, own: DimArray, usual: Callable[[], DimArray]) -> DimArray:
        if is_recording():
            return if_likely(equal(self.met, c(0.0)), usual, lambda: where(is_finite, own, usual()))
        return own if known_true(is_finite) else where(is_finite, own, usual())


def is_parting(x: DimArray) -> bool:
    """Whether values that coincide have a part in an array."""
    return type(x.level) is Parting


def nearly(gap: DimArray, values: DimArray) -> DimArray:
    """Which gaps are so small that values part: a quotient by them may be in error by more than the limit is."""
    values = innermost(values)
    return less_equal(absolute(innermost(gap)), multiply(vector_norm(values, COLUMN), c(math.sqrt(_unit(values)))))


def limit(x: DimArray, gaps: Gaps, close: DimArray, plain: DimArray, asks: Sequence[DimArray]) -> DimArray:
    """``x / gap``: the quotient of the tangents where values part, and ``plain`` where that is another number.

    Of values that are ``close``, to rounding, it is the limit if ``x`` is small beside all that is asked.  Beside others
    it is what the quotient is, but for the rounding of ``x``, or it is not taken.  Of tangents of a matrix it is taken
    where values are close alone: whether it counts is seen when they are done.
    """
    gap, turns, of_tangents = gaps.gap, TURNS.get(), gaps.of is not None
    if of_tangents and turns is None:
        return plain
    rise, run = _tangent(x), _tangent(gap)
    moves = not_equal(run, c(0.0))  # not so on a diagonal
    there = divide(rise, typed(where(moves, run, c(1.0)), rise))
    bare = innermost(x)
    off = bare if of_tangents else subtract(bare, multiply(there, typed(innermost(gap), there)))
    rounding = multiply(_summed_slices(asks), where(close, c(CLOSE * _unit(off)), c(APART * _unit(off))))
    part = logical_and(close if of_tangents else nearly(gap, gaps.values), moves)
    part = logical_and(part, less_equal(absolute(off), rounding))
    if of_tangents and turns is not None:
        turns.append(_summed(select(part, absolute(there)), _slices(there)))
    return where(part, _moving(gaps, there, rise), plain)


def _moving(gaps: Gaps, there: DimArray, rise: DimArray) -> DimArray:
    """The limit as values part.

    How it moves in turn is of the second order, which is not known: NaN, for another matrix that this one is made of.
    The quotients of tangents do not move if their matrix does not.
    """
    level: Any = gaps.gap.level
    still = gaps.of is not None and gaps.of.level is None
    moving: DimArray = level.moving(there, c(0.0) if still else where(equal(rise, c(0)), c(0.0), c(np.nan)))
    return moving


def _sizes(x: DimArray, slices: Sequence[Name]) -> DimArray:
    return _summed(absolute(x), slices)


def _summed(x: DimArray, slices: Sequence[Name]) -> DimArray:
    """The sum over all dims but some."""
    return total(x, tuple(n for n in x.names if n not in slices))


def _slices(x: DimArray) -> list[Name]:
    return [n for n in x.names if n not in (ROW, COLUMN)]


def _summed_slices(parts: Sequence[DimArray]) -> DimArray:
    """The sum of absolute values in each slice."""
    return functools.reduce(add, (_sizes(innermost(x), _slices(x)) for x in parts))


def _unit(x: DimArray) -> float:
    return float(np.finfo(x.dtype).eps)


def _tangent(x: DimArray) -> DimArray:
    """How much an array moves as values part."""
    return stamp(x.node.value, x.value.hidden) if isinstance(x, Traced) else multiply(x, c(0.0))
