"""What results depend on if all bets hold: of a program of roots and quotients three tenths of the calls.

The guarded pass of a gradient, what roots are near 0, and all that is multiplied with what a mask leaves out there, are
recorded for the case that a bet is lost.  They are found here by a look at each call, before calls are simplified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.backends import NUMPY
from namedgrad.compile.record import Step, Var, variables
from namedgrad.compile.rewrite import Call, is_nothing

BETS = (NUMPY.present, NUMPY.likely)  # calls that bet on their operand
_VIEWS = (NUMPY.transpose, NUMPY.reshape, NUMPY.broadcast_to, NUMPY.getitem)
# Beside products and the like, calls of which 0 is made where their first operand is that, or all are.
_OF_FIRST, _OF_ALL = {*_VIEWS, NUMPY.cast, NUMPY.total, np.negative}, {np.add, np.subtract, NUMPY.shield}
# What the result is where a mask is true everywhere, false everywhere, or neither is known.
_MASKS: dict[Any, tuple[str | None, str | None, str | None]] = {
    **dict.fromkeys(BETS, ("true", "true", "true")),
    **dict.fromkeys(_VIEWS, ("true", "false", None)),
    NUMPY.unless_seen: ("true", "false", None),
    NUMPY.wholly: ("true", "false", "false"),
    NUMPY.select: (None, "nothing", None),
    np.logical_not: ("false", "true", None),
}


def reached(
    steps: Sequence[Step], results: Sequence[Any], lost: frozenset[int], trusting: frozenset[Var], *, guarded: bool
) -> set[Var]:
    """What results depend on under the bets that are not lost, as far as it is easily seen."""
    seen = _Seen(steps, lost, trusting)
    found = {v for r in results for v in variables(r)}
    for step in reversed(steps):
        if not found.isdisjoint(step.outs):
            fast = step.function == backends.choose and not guarded
            found.update(variables(step.args[:1]) if fast else seen.operands(step))
    return found


class _Seen:
    """Masks that are true everywhere, or false, and what counts for nothing."""

    def __init__(self, steps: Sequence[Step], lost: frozenset[int], trusting: frozenset[Var]) -> None:
        self.true, self.false, self.nothing = set[Var](), set[Var](), set[Var]()
        for number, step in enumerate(steps, 1):
            trusted = step.function == NUMPY.unless_seen and step.outs[0] in trusting
            kind = self.kind(step, lost=number in lost, trusted=trusted)
            if kind is not None:
                kind.add(step.outs[0])

    def kind(self, step: Step, *, lost: bool, trusted: bool) -> set[Var] | None:
        """What the result of a call is one of."""
        function = step.function
        if not self.nothing.isdisjoint(step.used):
            gone = [type(a) is Var and a in self.nothing for a in step.args]
            made = (function in _OF_FIRST and gone[0]) or (function in _OF_ALL and all(gone))
            return self.nothing if made or is_nothing(Call(function, step.args, {}), gone) else None
        kinds = _MASKS.get(function)
        first = step.args[0] if step.args else None
        if kinds is None or type(first) is not Var or (lost and function in BETS):
            return None
        kind = kinds[0 if trusted or first in self.true else 1 if first in self.false else 2]
        return None if kind is None else getattr(self, kind)

    def operands(self, step: Step) -> tuple[Any, ...]:
        """The operands of a call that make a difference, and those by which that is seen."""
        if not self.nothing.isdisjoint(step.outs):
            zeros = tuple(v for v in step.used if v in self.nothing)
            return zeros or tuple(v for v in step.used if v in self.false)
        if step.function == NUMPY.where and type(step.args[0]) is Var:
            mask, x, y = step.args
            return variables((mask, x) if mask in self.true else (mask, y) if mask in self.false else step.args)
        return step.used
