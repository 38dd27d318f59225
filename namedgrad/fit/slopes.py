"""Loss and gradient of many cells: by the user's function at first, then by a recording of it.

A recording spares the user's Python code, names and traces, which are most of an evaluation of few numbers; of many, it
works on a tile of cells at a time, which stays in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.array import DimArray, make
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.descent import Slope
from namedgrad.fit.evaluate import TILE_ELEMENTS, fewer, padded
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.places import all_here
from namedgrad.fit.replay import Replay, RigidError
from namedgrad.fit.small import Array
from namedgrad.rules.structure import reorder
from namedgrad.transforms.tape import Tape, ones_like_output

if TYPE_CHECKING:
    from namedgrad.fit.minimize import Loss

PATIENCE = 2  # evaluations until one is recorded, which takes as long as two to six: a fit may be done before
DIGITS = 0.6  # of those that there are: in so many an evaluation and a replay have to agree


class Slopes:
    """Loss and gradient of any cells of a problem, given all rows of their parameters.

    Parameters
    ----------
    problem : Loss
    steady : whether the function is the same in every evaluation, as far as is known
    """

    def __init__(self, problem: Loss, *, steady: bool) -> None:
        self.problem, self.steady, self.calls = problem, steady, 0
        self.program: Replay | None = None
        self.trusted = False

    def __getstate__(self) -> dict[str, Any]:
        """All but the program, which cannot be pickled."""
        return {**vars(self), "steady": False, "program": None, "trusted": False}

    def __call__(self, matrix: Matrix, index: Index) -> Slope:
        """Those of some cells."""
        if self.program is not None and self.trusted:
            return self._replayed(self.program, matrix, index)
        found = self._evaluated(matrix, index)
        if self.steady:
            self.calls += 1
            self._learn(matrix, index, found)
        return found

    def _evaluated(self, matrix: Matrix, index: Index) -> Slope:
        """By the user's function."""
        tape = self.problem.slope(matrix, index)
        cost = self.problem.table(tape.outs[0], len(index), "loss").to_numpy()
        return Slope(cost, self.problem.rows(tape.pull([ones_like_output(tape.outs[0])]), len(index)))

    # ---------------------------------------------------------------- recorded

    def _learn(self, matrix: Matrix, index: Index, found: Slope) -> None:
        """Record an evaluation, when it is time, and trust the program if it gives what was found in the next one.

        It does not where the function computes with what changes from call to call, such as random numbers.
        """
        try:
            if self.calls == PATIENCE:
                self.program = self._recorded(matrix, index)
            elif self.program is not None:
                self.trusted = _agree(found, self._replayed(self.program, matrix, index), matrix[self.problem.free])
                self.steady = self.trusted
        except Exception:  # noqa: BLE001 - it may ask for values, which a program leaves open; or its own run tells
            self.steady, self.program = False, None

    def _recorded(self, matrix: Matrix, index: Index) -> Replay:
        p = self.problem
        most = TILE_ELEMENTS // p.cells.width if p.backend.may_branch else p.size
        size = max(1, min(len(index), most))
        program = self._recording(matrix, index, size)
        if size > 1:
            program.settle(lambda: self._recording(matrix, index, fewer(size)))
        return program

    def _recording(self, matrix: Matrix, index: Index, size: int) -> Replay:
        p, some, at = self.problem, matrix[:, :size], index[:size]
        raws = self._raws(some, at)
        like, fill = p.parameters.parts(some, p.backend), p.cells.gathered(at, "data")[1]

        def run() -> Sequence[Any]:
            parts = [make(raw, x.names, x.hidden) for raw, x in zip(raws, like, strict=False)]
            tape = p.slope_of(parts, fill(raws[len(like) :]), None)
            return [x.raw for x in self._tables(tape, size)]

        return Replay(run, raws, size)

    def _tables(self, tape: Tape, size: int) -> list[DimArray]:
        """The loss and its gradient, cells last."""
        p = self.problem
        owns = p.moving(list(p.parameters.own.values()))
        gradients = zip(tape.pull([ones_like_output(tape.outs[0])]), owns, strict=True)
        tables = [reorder(p.table(g, size, "gradient"), (*own.names, CELL)) for g, own in gradients]
        return [p.table(tape.outs[0], size, "loss"), *tables]

    def _raws(self, matrix: Matrix, index: Index) -> list[Any]:
        """The inputs of a program."""
        p = self.problem
        return [*p.parameters.raws(matrix, p.backend), *p.cells.gathered(index, "data")[0]]

    def _replayed(self, program: Replay, matrix: Matrix, index: Index) -> Slope:
        tiles = [slice(i, i + program.size) for i in range(0, len(index), program.size)]
        found = [self._tile(program, matrix[:, at], index[at]) for at in tiles]
        return found[0] if len(found) == 1 else Slope(*(np.concatenate(x, axis=-1) for x in zip(*found, strict=True)))

    def _tile(self, program: Replay, matrix: Matrix, index: Index) -> Slope:
        count = len(index)
        if not program.flexible:
            at = padded(np.arange(count), program.size)
            matrix, index = matrix[:, at], index[at]
        try:
            cost, *gradients = self._run(program, self._raws(matrix, index), len(index))
        except RigidError:
            program.flexible = False
            return self._tile(program, matrix, index)
        return Slope(cost[0, :count], np.concatenate(gradients)[:, :count])

    @staticmethod
    def _run(program: Replay, raws: list[Any], count: int) -> list[Any]:
        """The results, ``(row, cell)``; where they are not finite, 0 times infinity is 0."""
        found = all_here(program(raws, count))
        if not all(np.isfinite(x).all() for x in found):
            found = all_here(program(raws, count, guard=True))
        return [x.reshape(-1, count) for x in found]


def _agree(one: Slope, other: Slope, free: Matrix) -> bool:
    """Whether they are the same to rounding, measured by the largest change that a parameter may make of the loss."""
    size = np.maximum(np.abs(one.cost), np.abs(one.gradient * free).max(axis=0))
    same = np.finfo(one.cost.dtype).eps ** DIGITS * size

    def are_same(x: Array, y: Array, by: Array | float) -> bool:
        return bool(((np.abs((x - y) * by) <= same) | (x == y) | (np.isnan(x) & np.isnan(y))).all())

    return are_same(one.cost, other.cost, 1.0) and are_same(one.gradient, other.gradient, free)
