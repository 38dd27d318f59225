"""Loss and gradient of many cells, and Hessian products: by the user's function at first, then by a recording of it.

A recording spares the user's Python code, names and traces, which are most of an evaluation of few numbers; of many, it
works on a tile of cells at a time, which stays in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.evaluate import padded
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.places import all_here
from namedgrad.fit.problem import gradients
from namedgrad.fit.replay import Replay
from namedgrad.rules.structure import reorder
from namedgrad.transforms.tape import Tape

if TYPE_CHECKING:
    from namedgrad.fit.minimize import Loss

PATIENCE = 2  # evaluations until one is recorded, which takes as long as two to six: a fit may be done before
TILE_ELEMENTS = 1 << 14  # numbers in one tile, which take about as long as the Python between them
DIGITS = 0.6  # of those that there are: in so many an evaluation and a replay have to agree


class Slopes:
    """Loss and gradient of any cells of a problem, as (row, cell), given all rows of their parameters.

    Parameters
    ----------
    problem : Loss
    steady : whether the function is the same in every evaluation, as far as is known
    """

    def __init__(self, problem: Loss, *, steady: bool) -> None:
        self.problem, self.steady, self.calls = problem, steady, 0
        self.dims = self.dims_of([x.names for x in problem.moving([*problem.parameters.own.values()])])
        self.program: Replay | None = None
        self.trusted = False

    def __call__(self, index: Index, *matrices: Matrix) -> Matrix:
        """Those of some cells."""
        if self.program is not None and self.trusted:
            return self._replayed(self.program, index, matrices)
        found = self.evaluated(index, *matrices)
        if self.steady:
            self.calls += 1
            self._learn(found, index, matrices)
        return found

    def dims_of(self, own: list[Names]) -> list[Names]:
        """Dims of the results, given those of parameters."""
        return [(), *own]

    def evaluated(self, index: Index, matrix: Matrix, *more: Matrix) -> Matrix:
        """By the user's function."""
        p = self.problem
        several = [p.parameters.parts(m, p.backend) for m in more]
        return _stacked(self._tables(self.read(self._tape_at(index, matrix), *several), len(index)), len(index))

    def _tape_at(self, index: Index, matrix: Matrix) -> Tape:
        p = self.problem
        return self.tape(p.parameters.parts(matrix, p.backend), p.arguments(index))

    def tape(self, parts: Sequence[DimArray], args: Any) -> Tape:
        """What the results are read off, given all entries and arguments."""
        return self.problem.slope(parts, args)

    def read(self, tape: Tape, *_: Sequence[DimArray]) -> list[DimArray]:
        """The results."""
        return [tape.outs[0], *gradients(tape)]

    def units(self, matrix: Matrix) -> Matrix:
        """What makes rows comparable: the loss changes by so many of each if a parameter changes by all of itself."""
        free = matrix[self.problem.free]
        return np.concatenate([np.ones_like(free[:1]), free])

    def _tables(self, found: Sequence[DimArray], count: int) -> list[Any]:
        """Plain arrays that have their cells last."""
        tables = (self.problem.table(x, count, "loss") for x in found)
        return [reorder(x, (*dims, CELL)).raw for x, dims in zip(tables, self.dims, strict=True)]

    # ---------------------------------------------------------------- recorded

    def _learn(self, found: Matrix, index: Index, matrices: Sequence[Matrix]) -> None:
        """Record an evaluation, when it is time, and trust the program if it gives what the next finite one does.

        It does not where the function computes with what changes from call to call, such as random numbers.
        """
        try:
            if self.calls == PATIENCE:
                self.program = self._recorded(index, matrices)
            elif self.program is not None and (known := np.isfinite(found).all(axis=0)).any():
                again = self._replayed(self.program, index, matrices)
                units = self.units(matrices[-1])
                self.steady = self.trusted = _agree(found[:, known], again[:, known], units[:, known])
        except Exception:  # noqa: BLE001 - it may ask for values, which a program leaves open; or its own run tells
            self.steady, self.program = False, None

    def _recorded(self, index: Index, matrices: Sequence[Matrix]) -> Replay:
        p = self.problem
        most = TILE_ELEMENTS // p.cells.width if p.backend.may_branch else p.size
        size = max(1, min(len(index), most))
        raws, named = p.inputs([m[:, :size] for m in matrices], index[:size])

        def run() -> list[Any]:
            (parts, *more), args = named(raws)
            return self._tables(self.read(self.tape(parts, args), *more), size)

        return Replay(run, raws, size)

    def _replayed(self, program: Replay, index: Index, matrices: Sequence[Matrix]) -> Matrix:
        tiles = [slice(i, i + program.size) for i in range(0, len(index), program.size)]
        found = [self._tile(program, index[at], [m[:, at] for m in matrices]) for at in tiles]
        return found[0] if len(found) == 1 else np.concatenate(found, axis=-1)

    def _tile(self, program: Replay, index: Index, matrices: Sequence[Matrix]) -> Matrix:
        """Fewer cells than a program is for are filled up: that takes no longer than its Python."""
        count, size = len(index), program.size
        if count < size:
            at = padded(np.arange(count), size)
            index, matrices = index[at], [m[:, at] for m in matrices]
        raws = self.problem.inputs(matrices, index)[0]
        found = _stacked(program(raws), size)
        if not np.isfinite(found).all():
            found = _stacked(program(raws, guard=True), size)  # 0 times infinity is 0
        return found[:, :count]


class Bends(Slopes):
    """The derivative of the gradient along a vector per cell: the Hessian times it, of the free rows."""

    at: tuple[Matrix, Tape] | None = None

    def dims_of(self, own: list[Names]) -> list[Names]:
        """Those of parameters."""
        return own

    def _tape_at(self, index: Index, matrix: Matrix) -> Tape:
        """One for all vectors at a place."""
        if self.at is None or self.at[0] is not matrix:
            self.at = matrix, super()._tape_at(index, matrix)
        return self.at[1]

    def tape(self, parts: Sequence[DimArray], args: Any) -> Tape:
        """The gradient, recorded."""
        return self.problem.curvature(parts, args)

    def read(self, tape: Tape, *along: Sequence[DimArray]) -> list[DimArray]:
        """The derivatives of the gradient along one vector."""
        return tape.push(self.problem.moving(*along))

    def _learn(self, found: Matrix, index: Index, matrices: Sequence[Matrix]) -> None:
        super()._learn(found, index, matrices)
        if self.trusted:
            self.at = None  # a tape of many cells is large

    def units(self, along: Matrix) -> Matrix:
        """Along a vector the gradient changes by so many of each."""
        return along[self.problem.free]


def _stacked(tables: Sequence[Any], count: int) -> Matrix:
    """Arrays that have their cells last as rows on the host."""
    return np.concatenate([x.reshape(-1, count) for x in all_here(tables)])


def _agree(one: Matrix, other: Matrix, units: Matrix) -> bool:
    """Whether rows are the same to rounding, measured by the largest in their units."""
    units = np.where(units == 0, 1.0, np.abs(units))
    same = np.finfo(one.dtype).eps ** DIGITS * np.abs(one * units).max(axis=0)
    return bool((np.abs((one - other) * units) <= same).all())
