"""Which bets some inputs lose, all at once.

A run of a program ends at the first bet that it loses, and the program is planned anew; where many are lost, as where
lengths of many lengths are 0, that would take as many plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from namedgrad import backends
from namedgrad.compile.optimise import GUARD, holds
from namedgrad.compile.reach import BETS
from namedgrad.compile.record import Step, Var, variables


class _Look(NamedTuple):
    """A step that is a bet, or of which one is made."""

    step: Step
    bet: int | None
    used: tuple[Var, ...]  # by its call, or of a bet of which no other is made, by the look at it
    runs: bool  # whether that call is made


def lost_by(
    steps: Sequence[Step], results: Iterable[Any], inputs: Iterable[Var], raws: Iterable[Any]
) -> frozenset[int]:
    """The bets that do not hold for these inputs, in a recording that is run as it is, which is right without bets.

    Of that only what bets on the way to the results are made of: a call that serves nothing else may fail.
    """
    looks = _looks(steps, results)
    values = _Values(looks, zip(inputs, raws, strict=True))
    lost = set[int]()
    for at, (step, bet, used, runs) in enumerate(looks):
        if bet is not None and not holds(values.read(step.args[0])):
            lost.add(bet)
        if runs:
            out = step.function(*values.read(step.args), **{k: values.read(v) for k, v in step.kwargs.items()})
            values.take(step.outs, out if step.several else (out,))
        values.free((*used, *step.outs), at)
    return frozenset(lost)


def _looks(steps: Sequence[Step], results: Iterable[Any]) -> list[_Look]:
    """The bets on the way to the results and what they are made of, in order."""
    alive, asked = {v for r in results for v in variables(r)}, set[Var]()
    found = list[_Look]()
    for number, step in reversed([*enumerate(steps, 1)]):
        if alive.isdisjoint(step.outs):
            continue
        alive.update(step.used)
        bet = GUARD if step.function == backends.choose else number if step.function in BETS else None
        runs = not asked.isdisjoint(step.outs)
        if runs or bet is not None:
            used = step.used if runs else variables(step.args[:1])
            asked.update(used)
            found.append(_Look(step, bet, used, runs))
    return found[::-1]


class _Values:
    """What variables are, each until it is used last."""

    def __init__(self, looks: Sequence[_Look], inputs: Iterable[tuple[Var, Any]]) -> None:
        self._known = dict(inputs)
        self._last = {v: at for at, look in enumerate(looks) for v in look.used}

    def read(self, value: Any) -> Any:
        """An operand."""
        if type(value) is Var:
            return value.array if value.array is not None else self._known[value]
        return type(value)(map(self.read, value)) if type(value) in (tuple, list) else value

    def take(self, outs: Sequence[Var], values: Sequence[Any]) -> None:
        """The results of a call."""
        self._known.update(zip(outs, values, strict=True))

    def free(self, several: Iterable[Var], at: int) -> None:
        """Forget those that are used no later than here."""
        for v in several:
            if self._last.get(v, 0) <= at:
                self._known.pop(v, None)
