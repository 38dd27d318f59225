"""Which bets some inputs lose, all at once.

A run of a program ends at the first bet that it loses, and the program is planned anew; where many are lost, as where
lengths of many lengths are 0, that would take as many plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.backends import NUMPY
from namedgrad.compile.optimise import BETS, GUARD
from namedgrad.compile.record import Step, Var


def lost_by(steps: Sequence[Step], inputs: Iterable[Var], raws: Iterable[Any]) -> frozenset[int]:
    """The bets that do not hold for these inputs, in a recording that is run as it is, which is right without bets."""
    values = _Values(steps, zip(inputs, raws, strict=True))
    lost = set[int]()
    for number, step in enumerate(steps, 1):
        args = values.read(step.args)
        if step.function == backends.choose and not _holds(args[0]):
            lost.add(GUARD)
        elif step.function in BETS and not _holds(args[0]):
            lost.add(number)
        out = step.function(*args, **{k: values.read(v) for k, v in step.kwargs.items()})
        values.take(number, step.outs, out if step.several else (out,))
    return frozenset(lost)


def _holds(value: Any) -> bool:
    """Whether a mask is true everywhere, another value finite."""
    known = np.asarray(value)
    return bool(known.all()) if known.dtype == bool else NUMPY.isfinite_all(known)


class _Values:
    """What variables are, each until it is used last."""

    def __init__(self, steps: Sequence[Step], inputs: Iterable[tuple[Var, Any]]) -> None:
        self._known = dict(inputs)
        self._last = {v: number for number, step in enumerate(steps, 1) for v in step.used}
        self._steps = steps

    def read(self, value: Any) -> Any:
        """An operand."""
        if type(value) is Var:
            return value.array if value.array is not None else self._known[value]
        return type(value)(map(self.read, value)) if type(value) in (tuple, list) else value

    def take(self, number: int, outs: Sequence[Var], values: Sequence[Any]) -> None:
        """The results of a step, whose operands may be freed by it."""
        self._known.update(zip(outs, values, strict=True))
        for v in (*self._steps[number - 1].used, *outs):
            if self._last.get(v, 0) <= number:
                self._known.pop(v, None)
