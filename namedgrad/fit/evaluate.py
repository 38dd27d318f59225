"""Many cells evaluated a tile at a time, by a recorded program from early on.

A small tile stays in the cache nearest to the processor.  Where there are many cells larger tiles come first: they take
more cells from one line of Python to the next, which is what lets threads work side by side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Names
from namedgrad.compile.program import silently
from namedgrad.fit.alike import Alike
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.linear import linear_in
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.places import all_here, here, is_here, on_device_of, truths
from namedgrad.fit.places import columns as columns_of
from namedgrad.fit.problem import Named
from namedgrad.fit.replay import Replay, RigidError
from namedgrad.fit.sums import Layout, Point, Sums, Tile, columns, sums, whole
from namedgrad.fit.threads import even

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

TILE_ELEMENTS = 1 << 15  # numbers in one tile: a few arrays of them stay in the cache
# Times as many in a large one: on one thread, and on several, which then wait for each other less often; with 8 times
# as many a cell takes 2.2 to 3.4 us instead of 1.6 to 1.9.
LARGER = 2, 4
SAME = 1e-9  # relative differences that another order of sums makes
GLANCE = 37, 41  # cells of the first run, which is recorded: few, and a number that little else is
WORTH = 0.0005  # seconds of work for each of several threads: to wake one takes a fifth of that


class Glance(NamedTuple):
    """What a recording shows of the residuals of a cell: their layout, and where they are linear in the entries."""

    dims: Names
    shape: tuple[int, ...]
    linear: tuple[set[int], dict[int, int | None]]


class Evaluator:
    """Cost, gradient and normal matrix of any cells of a problem.

    Parameters
    ----------
    problem : Residuals
    tiles : cells in one tile: in large ones, if there are any, and in small ones
    bent : whether a robust loss counts with its true curvature
    """

    def __init__(self, problem: Residuals, tiles: Sequence[int], *, bent: bool) -> None:
        self.problem, self.tiles, self.weigh = problem, tuple(tiles), problem.weigher(bent=bent)
        self.pace = math.inf  # seconds that a cell takes
        # The true curvature is asked for once: a program that serves a single tile would not pay.
        self.recordable = problem.backend.name != "dask" and (not bent or problem.cells.count > self.tiles[-1])
        self.programs: dict[tuple[bool, int], tuple[Replay, Layout]] = {}  # by the tiles that they were made for
        self.alike: Alike | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the programs, which cannot be pickled; they are made anew."""
        return {**vars(self), "programs": {}, "alike": None}

    def __call__(self, matrix: Matrix, index: Index, *, quick: bool = False) -> Point:
        """Sums over the residuals of some cells; all rows of parameters are given, the free ones come back there.

        Where they are not finite, 0 times infinity is tried as 0, unless it has to be ``quick``.
        """
        count = len(index)
        if not count:
            return Point.empty(matrix, int(self.problem.free.sum()), 0)
        hands, spent = self._hands(index), list[float]()
        tiles = [(at, self._most()) for at in even(count, self._most(), hands)] if hands > 1 else self._tiles(count)
        found: list[Any] = [None] * len(tiles)

        def put(k: int) -> None:
            begin, (at, size) = time.thread_time(), tiles[k]
            found[k] = self._tile(matrix[:, at], index[at], size)
            spent.append(time.thread_time() - begin)

        if hands > 1:
            self.problem.crew.share(put, range(len(tiles)))
        else:
            for k in range(len(tiles)):
                put(k)
        self.pace = sum(spent) / count
        out = whole(found)
        if not quick and not all(truths(*(np.isfinite(x).all() for x in out))):
            self._guard(out, matrix, index, tiles)
        return out

    def _tiles(self, count: int) -> list[tuple[slice, int]]:
        """So many cells in large tiles, as far as these go, and small ones; on a device in one small one, at most."""
        out, start, on_device = list[tuple[slice, int]](), 0, not self.problem.backend.may_branch
        while start < count:
            left = count - start
            size = next((t for t in self.tiles if t <= left or (on_device and left > self.tiles[-1])), self.tiles[-1])
            out.append((slice(start, min(start + size, count)), size))
            start += size
        return out

    def _guard(self, out: Point, matrix: Matrix, index: Index, tiles: Sequence[tuple[slice, int]]) -> None:
        """Take 0 times infinity for 0 in the tiles whose sums are not finite."""
        finite = here(out.finite())
        for at, size in tiles:
            if not finite[at].all():
                guarded = self._tile(matrix[:, at], index[at], size, guard=True).point()
                for x, part in zip(out, guarded, strict=True):
                    x[..., at] = part

    def _most(self) -> int:
        """Cells in a tile of several threads."""
        return LARGER[1] * self.tiles[-1]

    def _hands(self, index: Index) -> int:
        """How many threads evaluate these cells: each has enough to do, and there are programs for all of them."""
        p, count = self.problem, len(index)
        hands = int(min(p.crew.hands(), count // self.tiles[-1], self.pace * count / WORTH))
        if hands < 2 or not p.backend.may_branch:
            return 1
        masks = {not whole for whole in np.unique(p.complete[index])}
        serving = {masked for (masked, _), (program, _) in self.programs.items() if program.serves(self._most())}
        return hands if masks <= serving else 1

    def _tile(self, matrix: Matrix, index: Index, size: int, *, guard: bool = False) -> Tile:
        masked = self.problem.is_masked(index)
        known = self._program(matrix, index, size, masked=masked)
        if known is None:
            return self._eager(matrix, index, guard=guard or not self.problem.backend.may_branch)
        program, count = known[0], len(index)
        if count == program.size or program.flexible:
            try:
                return self._replayed(known, matrix, index, masked=masked, guard=guard)
            except RigidError:
                program.flexible = False
        if count > program.size:  # by a program of its own
            return self._tile(matrix, index, size, guard=guard)
        at = padded(np.arange(count), program.size)
        layout, raws, _ = self._replayed(known, columns_of(matrix, at), index[at], masked=masked, guard=guard)
        return Tile(layout, layout.first(raws, count), count)

    def _program(self, matrix: Matrix, index: Index, size: int, *, masked: bool) -> tuple[Replay, Layout] | None:
        """The program for tiles of a size: one for tiles of another size, if that serves these as far as is known."""
        made = [self.programs[masked, n] for n in (size, *self.tiles) if (masked, n) in self.programs]
        for known in made:
            if known[0].serves(size):
                return known
        return self._record(masked, matrix, index, size) if self.recordable else None

    def _replayed(
        self, known: tuple[Replay, Layout], matrix: Matrix, index: Index, *, masked: bool, guard: bool
    ) -> Tile:
        program, layout = known
        found = program(self._raws(matrix, index, masked=masked)[0], len(index), guard=guard)
        return Tile(layout, self._where_parameters_are(found, matrix), len(index))

    def glance(self, start: Matrix) -> Glance | None:
        """Record the program for the first cells and tell what it shows; None where that does not pay, or cannot be."""
        p, size = self.problem, min(self.tiles[-1], GLANCE[not self.problem.cells.width % GLANCE[0]])
        made = self._recorded(start[:, :size], p.everywhere[:size], size, masked=False) if self.recordable else None
        if made is None:
            return None
        program, found, r = made
        self.programs[False, self.tiles[-1]] = program, found.layout
        if (start == start[:, :1]).all():
            self._begin_alike(start, found)
        linear = linear_in(program.recorder, program.recorder.find(r.raw), len(p.parameters.names))
        return Glance(r.names[1:], r.full_shape[1:], linear)

    def _begin_alike(self, start: Matrix, found: Sums) -> None:
        """Let cells that all start alike share what they can, if the first ones show that this gives the same."""
        p, (program, layout) = self.problem, self.programs[False, self.tiles[-1]]
        size = program.size
        if not (p.backend.may_branch and program.flexible and 1 < size <= p.cells.count):
            return
        self.alike = Alike(program, p.parameters.raws(start[:, :1], p.backend))
        at = self._where_alike(p.everywhere[: _fewer(size)])
        if at is None or not _are_close(at, layout.point(found.raws(), size)):
            self.alike = None

    def _where_alike(self, index: Index) -> Point | None:
        """The sums of some cells that start alike; None if nothing is shared."""
        if self.alike is None:
            return None
        try:
            found = silently(self.alike, [self.problem.gathered(index)[0], len(index)])
        except Exception:  # noqa: BLE001 - the number of cells meant something else, too
            self.alike = None
            return None
        return self.programs[False, self.tiles[-1]][1].point(found, len(index))

    def at_start(self, start: Matrix, index: Index) -> Point:
        """The sums of some cells where they start."""
        return self._where_alike(index) or self(columns_of(start, index), index, quick=True)

    def prepared(self, start: Matrix, index: Index) -> bool:
        """Whether there are programs for all of these cells, which are recorded if need be."""
        for masked, some in ((False, self.problem.complete[index]), (True, ~self.problem.complete[index])):
            for size in self.tiles:
                cells = index[some][:size]
                if len(cells):
                    self._program(start[:, cells], cells, size, masked=masked)
        return self.recordable

    def _where_parameters_are(self, found: Sequence[Any], matrix: Matrix) -> list[Any]:
        """What was found where the parameters are."""
        return all_here(found) if is_here(matrix) else [on_device_of(x, matrix) for x in found]

    # ---------------------------------------------------------------- with names

    def _eager(self, matrix: Matrix, index: Index, *, guard: bool) -> Tile:
        """The sums by the user's function."""
        p = self.problem
        parts = p.parameters.parts(matrix, p.backend)
        found, _ = self._sums(parts, p.arguments(index), p.seen(index), len(index), guard=guard)
        return Tile(found.layout, self._where_parameters_are([x.raw for x in found.arrays], matrix), len(index))

    def _sums(
        self, parts: Sequence[DimArray], args: Any, seen: DimArray | None, count: int, *, guard: bool
    ) -> tuple[Sums, DimArray]:
        """Sums, and the residuals."""
        p = self.problem
        tape = p.record(parts, args)
        r = p.table(tape.outs[0], count, "residual")
        return sums(r, columns(tape, p.one(), guard=guard), seen, self.weigh), r

    # ---------------------------------------------------------------- recorded

    def _raws(self, matrix: Matrix, index: Index, *, masked: bool) -> tuple[list[Any], Named]:
        """The inputs of a program, which residuals count among them if some do not; and what names the others."""
        raws, named = self.problem.inputs([matrix], index)
        return raws + ([self.problem.seen(index, always=True).raw] if masked else []), named  # type: ignore[union-attr]

    def _record(self, masked: bool, matrix: Matrix, index: Index, size: int) -> tuple[Replay, Layout] | None:
        at = padded(np.arange(len(index)), size)
        made = self._recorded(columns_of(matrix, at), index[at], size, masked=masked)
        if made is None:
            return None
        self.programs[masked, size] = made[0], made[1].layout
        return self.programs[masked, size]

    def _recorded(
        self, matrix: Matrix, index: Index, size: int, *, masked: bool
    ) -> tuple[Replay, Sums, DimArray] | None:
        """A program for so many cells, what it gives for these, and their residuals."""
        p = self.problem
        made: list[tuple[Sums, DimArray]] = []

        def program(size: int) -> Replay:
            some, at = matrix[:, :size], index[:size]
            raws, named = self._raws(some, at, masked=masked)

            def run() -> Sequence[Any]:
                (parts,), args = named(raws)
                seen = make(raws[-1], (CELL, *p.dims), NONE) if masked else None
                made.append(self._sums(parts, args, seen, size, guard=True))
                return [x.raw for x in made[-1][0].arrays]

            return Replay(run, raws, size)

        try:
            whole = program(size)
            if size > 1:
                whole.settle(lambda: program(_fewer(size)))
        except Exception:  # noqa: BLE001 - it may ask for values, which a program leaves open; or its own run tells
            self.recordable = False
            return None
        return whole, *made[0]


def padded(index: Index, size: int) -> Index:
    """So many cells, by repeating the last one."""
    return index if len(index) == size else index[np.minimum(np.arange(size), len(index) - 1)]


def _fewer(size: int) -> int:
    """Another number of cells."""
    return -(-size // 2)


def _are_close(some: Point, all_: Point) -> bool:
    """Whether sums of the first cells agree with those of all to rounding, measured by the largest in each cell."""
    return all(_is_close(x, y[..., : x.shape[-1]]) for x, y in zip(some, all_, strict=True))


def _is_close(x: Any, y: Any) -> bool:
    axes = tuple(range(x.ndim - 1))
    size = np.abs(y).max(axis=axes) if axes else np.abs(y)
    return bool(((np.abs(x - y) <= SAME * size) | (x == y) | (np.isnan(x) & np.isnan(y))).all())
