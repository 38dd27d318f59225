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
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.backends import is_recording
from namedgrad.linear import like
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
    total,
    where,
)
from namedgrad.trace import Level, Tangent, Traced, innermost

Push = Callable[[Mapping[Any, DimArray]], Sequence[Any]]
TURNS: ContextVar[list[DimArray] | None] = ContextVar("turns", default=None)  #: how much tangents turn vectors, if at all


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
            is_finite = less_equal(absolute(value), multiply(size, c(_tolerance(own))))
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
    """Which gaps are so small that values part: errors are as the gap, or as its inverse."""
    values = innermost(values)
    return less_equal(absolute(innermost(gap)), multiply(vector_norm(values, COLUMN), c(_tolerance(values) / 4)))


def limit(
    x: DimArray, gap: DimArray, values: DimArray, plain: DimArray, asks: Sequence[DimArray], of: DimArray | None
) -> DimArray:
    """``x / gap``, where values part the quotient of the tangents if ``x`` is no more than rounding; else ``plain``.

    That is small beside all that is asked.  How the quotient moves itself is of the second order, which is not known:
    NaN, for another matrix that this one is made of.  Tangents ``of`` a matrix that does not move have none.
    """
    level: Any = gap.level
    turns = TURNS.get()
    if of is not None and turns is None:
        return plain
    rise, run = _tangent(x), _tangent(gap)
    small = less_equal(absolute(innermost(x)), _noise(asks))
    moves = not_equal(run, c(0.0))  # not so on a diagonal
    part = logical_and(logical_and(nearly(gap, values), moves), small)
    there = divide(rise, typed(where(moves, run, c(1.0)), rise))
    lost = c(0.0) if of is not None and of.level is None else where(equal(rise, c(0)), c(0.0), c(np.nan))
    if of is not None and turns is not None:
        turned = select(part, absolute(there))
        turns.append(_summed(turned, [n for n in turned.names if n not in (ROW, COLUMN)]))
    return where(part, level.moving(there, lost), plain)


def _sizes(x: DimArray, slices: Sequence[Name]) -> DimArray:
    return _summed(absolute(x), slices)


def _summed(x: DimArray, slices: Sequence[Name]) -> DimArray:
    """The sum over all dims but some."""
    return total(x, tuple(n for n in x.names if n not in slices))


def _noise(asks: Sequence[DimArray]) -> DimArray:
    """Of what is asked in a slice, and of what that would be if values had moved by their own size."""
    sums = []
    for x in asks:
        own = add(absolute(innermost(x)), absolute(_tangent(x)))
        sums.append(_summed(own, [n for n in own.names if n not in (ROW, COLUMN)]))
    return multiply(c(_tolerance(sums[0])), functools.reduce(add, sums))


def _tolerance(x: DimArray) -> float:
    """Relative: four times that of gaps at which values part."""
    return 4 * math.sqrt(float(np.finfo(x.dtype).eps))


def _tangent(x: DimArray) -> DimArray:
    """How much an array moves as values part."""
    return stamp(x.node.value, x.value.hidden) if isinstance(x, Traced) else multiply(x, c(0.0))
