"""Many cells evaluated a tile at a time: as many as the cache holds, by a recorded program from early on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.replay import Replay
from namedgrad.fit.sums import Point, Sums, columns, sums

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

TILE_ELEMENTS = 1 << 15  # numbers in one tile: half a dozen arrays of them stay in the cache
PATIENCE = 4  # evaluations before a program pays that serves a single tile


class Evaluator:
    """Cost, gradient and normal matrix of any cells of a problem.

    Parameters
    ----------
    problem : Residuals
    tile : cells in one tile
    bent : whether a robust loss counts with its true curvature
    """

    def __init__(self, problem: Residuals, tile: int, *, bent: bool) -> None:
        self.problem, self.tile, self.weigh = problem, tile, problem.weigher(bent=bent)
        self.calls = 0
        self.recordable = problem.backend.name != "dask"
        self.programs: dict[bool, tuple[Replay, Sums]] = {}

    def __call__(self, matrix: Matrix, index: Index, *, quick: bool = False) -> Point:
        """Sums over the residuals of some cells; all rows of parameters are given, the free ones come back.

        Where they are not finite, 0 times infinity is tried as 0, unless it has to be ``quick``.
        """
        count, p = len(index), int(self.problem.free.sum())
        if 0 < count <= self.tile:
            return self._tile(matrix, index, quick=quick)
        out = Point(np.empty(count), np.empty((p, count)), np.empty((p, p, count)))
        for start in range(0, count, self.tile):
            at = slice(start, start + self.tile)
            for whole, part in zip(out, self._tile(matrix[:, at], index[at], quick=quick), strict=True):
                whole[..., at] = part
        return out

    def _tile(self, matrix: Matrix, index: Index, *, quick: bool) -> Point:
        masked = self.problem.is_masked(index)
        known = self.programs.get(masked)
        if known is None and self._pays():
            known = self._record(masked, matrix, index)
        self.calls += 1
        if known is None:
            return self._eager(matrix, index, quick=quick)
        program, layout = known
        count, (index, matrix) = len(index), self._padded(index, matrix)
        raws = self._raws(matrix, index, masked)[0]
        for guard in (False, True):
            found = [x if type(x) is np.ndarray else self._host(x) for x in program(raws, guard=guard)]
            at = layout.point(found, self.tile)
            if quick or all(np.isfinite(x).all() for x in at):
                break
        return at if count == self.tile else Point(*(x[..., :count] for x in at))

    def prepared(self, start: Matrix, index: Index) -> bool:
        """Whether there are programs for all of these cells, which are recorded now if need be."""
        for masked, some in ((False, self.problem.complete[index]), (True, ~self.problem.complete[index])):
            cells = index[some][: self.tile]
            if len(cells) and self.recordable and masked not in self.programs:
                self._record(masked, start[:, cells], cells)
        return self.recordable

    def _host(self, x: Any) -> Any:
        return backends.backend_of(x).to_numpy(x)

    def _pays(self) -> bool:
        """Whether it is time to record."""
        return self.recordable and (self.problem.cells.count > self.tile or self.calls >= PATIENCE)

    def _padded(self, index: Index, matrix: Matrix) -> tuple[Index, Matrix]:
        """A full tile, by repeating the last cell."""
        if len(index) == self.tile:
            return index, matrix
        at = np.minimum(np.arange(self.tile), len(index) - 1)
        return index[at], matrix[:, at]

    # ---------------------------------------------------------------- with names

    def _eager(self, matrix: Matrix, index: Index, *, quick: bool) -> Point:
        """The sums by the user's function; guarded if they are not finite."""
        p = self.problem
        parts = p.parameters.parts(matrix, p.backend)
        args, seen = p.arguments(index), p.seen(index)
        for guard in (False, True) if p.backend.may_branch else (True,):
            found = self._sums(parts, args, seen, len(index), guard=guard)
            at = found.point([x.to_numpy() for x in found.arrays], len(index))
            if quick or all(np.isfinite(x).all() for x in at):
                break
        return at

    def _sums(self, parts: Sequence[DimArray], args: Any, seen: DimArray | None, count: int, *, guard: bool) -> Sums:
        p = self.problem
        tape = p.record_parts(parts, args)
        r = p.table(tape.outs[0], count, "residual")
        return sums(r, columns(tape, p.one(), guard=guard), seen, self.weigh)

    # ---------------------------------------------------------------- recorded

    def _raws(self, matrix: Matrix, index: Index, masked: bool) -> tuple[list[Any], Any]:
        """The inputs of a program, and what makes arguments of them."""
        p = self.problem
        parts = [x.raw for x in p.parameters.parts(matrix, p.backend)]
        cells, fill = p.gathered(index)
        seen = [p.seen(index, always=True).raw] if masked else []  # type: ignore[union-attr]
        return [*parts, *cells, *seen], (len(parts), len(cells), fill)

    def _record(self, masked: bool, matrix: Matrix, index: Index) -> tuple[Replay, Sums] | None:
        p = self.problem
        index, matrix = self._padded(index, matrix)
        raws, (first, several, fill) = self._raws(matrix, index, masked)
        layouts: list[Sums] = []

        def run() -> Sequence[Any]:
            like = p.parameters.parts(matrix, p.backend)
            parts = [make(raw, x.names, x.hidden) for raw, x in zip(raws, like, strict=False)]
            seen = make(raws[-1], (CELL, *p.dims), NONE) if masked else None
            layouts.append(self._sums(parts, fill(raws[first : first + several]), seen, self.tile, guard=True))
            return [x.raw for x in layouts[0].arrays]

        try:
            program = Replay(run, raws)
        except Exception:  # noqa: BLE001 - it may ask for values, which a program leaves open; or its own run tells
            self.recordable = False
            return None
        layout = layouts[0]._replace(arrays=[])
        self.programs[masked] = program, layout
        return program, layout
