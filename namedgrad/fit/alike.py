"""A recorded program run where all cells have the same parameters.

What follows from the parameters alone, the model where the data are not in it, is computed for one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.compile.emit import Retry
from namedgrad.compile.optimise import Test
from namedgrad.compile.record import Var
from namedgrad.compile.rewrite import Constant
from namedgrad.fit.replay import Replay, RigidError, one_cell


class Alike:
    """The lines of a program, made one after the other.

    Parameters
    ----------
    program : Replay
    parameters : sequence of arrays
        The first inputs of the program, of one cell.
    """

    def __init__(self, program: Replay, parameters: Sequence[Any]) -> None:
        self._program, self._parameters, self._lost = program, list(parameters), frozenset[int]()

    def __call__(self, data: Sequence[Any], count: int) -> list[Any]:
        """The results for so many cells, given the other inputs.

        Raises
        ------
        Exception
            Any, if something other than the data differs from cell to cell.
        """
        while True:
            out = self._run(data, count)
            if type(out) is not Retry:
                return out  # type: ignore[return-value]
            self._lost |= {int(out)}
            if not self._program.bends(self._lost):
                raise RigidError

    def _run(self, data: Sequence[Any], count: int) -> list[Any] | Retry:
        plan, inputs, size = self._program.plan(self._lost), self._program.inputs, self._program.size
        values = _Values(dict(zip(inputs, [*self._parameters, *data], strict=True)), size)
        values.once.update(inputs[: len(self._parameters)])
        for line in plan.code:
            if isinstance(line, Test):
                if not np.isfinite(values.known[line.value]).all():
                    return Retry(line.check.bet)
                continue
            call, outs = line.call, line.step.outs
            mine = values.once.issuperset(line.used)
            cells = 1 if mine else count
            keywords = {k: values.read(v, cells) for k, v in call.kwargs.items()}
            out = call.function(*(values.read(a, cells) for a in call.args), **keywords)
            values.known.update(zip(outs, out if line.step.several else (out,), strict=True))
            if mine:
                values.once.update(outs)
        return [np.array(values.read(r, count)) for r in plan.results]


class _Values:
    """What variables are, and which of them are those of one cell, for a plan that is written for ``size`` cells."""

    def __init__(self, known: dict[Var, Any], size: int) -> None:
        self.known, self.size, self.once = known, size, set[Var]()

    def read(self, value: Any, cells: int) -> Any:
        """An operand for so many cells."""
        kind = type(value)
        if kind is Var:
            found, shared = self.known[value], value in self.once and cells > 1
            return np.broadcast_to(found, self._resized(value.shape, cells)) if shared else found
        if kind is Constant:
            return self._cut(value.value, cells)
        if kind is int:
            return cells if value == self.size else value
        if kind is slice:
            return slice(*(self.read(v, cells) for v in (value.start, value.stop, value.step)))
        return kind(self.read(v, cells) for v in value) if kind in (tuple, list) else value

    def _resized(self, shape: Sequence[int], cells: int) -> tuple[int, ...]:
        return tuple(cells if m == self.size else m for m in shape)

    def _cut(self, x: Any, cells: int) -> Any:
        """A constant that is the same in all cells, for so many."""
        if type(x) is not np.ndarray or self.size not in x.shape:
            return x
        return np.broadcast_to(one_cell(x, self.size), self._resized(x.shape, cells))
