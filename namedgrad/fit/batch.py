"""Many independent problems solved together: a batch that stays full.

Cells that are done leave the batch and waiting ones take their place, so that a stubborn cell keeps nobody waiting and
no cell's answer depends on its neighbours.  Arrays have their cells last: ``x`` is (row, cell), ``cost`` (cell,).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad.fit.cells import Index
from namedgrad.fit.places import here, on_device_of
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.threads import Queue, on_threads

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclasses.dataclass
class Batch:
    """The cells at work: where each is, and where it tries to go; a method adds its own arrays."""

    index: Index
    lower: Any  # (row, cell); None if nothing has bounds
    upper: Any
    x: Array
    trial: Array
    cost: Array
    iterations: Array

    @classmethod
    def start(cls, index: Index, x: Array, lower: Any, upper: Any, **own: Any) -> Self:
        """Cells that have not been evaluated: their cost is infinite, and they try the start."""
        cost, iterations = np.full_like(x, np.inf, shape=len(index)), np.zeros_like(x, int, shape=len(index))
        return cls(index, lower, upper, x, x, cost, iterations, **own)

    def only(self, chosen: Index) -> Self:
        """Some of the cells."""
        return dataclasses.replace(self.part(on_device_of(chosen, self.x)), index=self.index.take(chosen))

    def part(self, chosen: Index) -> Self:
        """The same but for the index of cells, given positions where the arrays are."""
        return dataclasses.replace(self, **{n: v.take(chosen, axis=-1) for n, v in self._arrays()})

    def placed(self, move: Callable[[Any], Any]) -> Self:
        """The same somewhere else."""
        return dataclasses.replace(self, **{n: move(v) for n, v in self._arrays()})

    def join(self, other: Self) -> Self:
        """These cells, then those."""
        return dataclasses.replace(
            self,
            index=np.concatenate([self.index, other.index]),
            **{n: np.concatenate([v, getattr(other, n)], axis=-1) for n, v in self._arrays()},
        )

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        """All but the index."""
        return ((n, v) for n, v in vars(self).items() if n != "index" and isinstance(v, type(self.x)))

    def learn(self, at: Any) -> None:
        """Take in what was found at the trial."""
        raise NotImplementedError

    def verdict(self, tol: float, max_iterations: int) -> np.ndarray[Any, Any]:
        """A status for cells that are done, -1 for the others."""
        raise NotImplementedError

    def propose(self) -> None:
        """Set the next trial."""
        raise NotImplementedError

    def judge(self, converged: Flags, stuck: Flags, max_iterations: int) -> np.ndarray[Any, Any]:
        """The verdict on cells, given which have converged and which cannot go on."""
        status = np.where(stuck, int(Status.STALLED), -1)
        status = np.where(self.iterations >= max_iterations, int(Status.MAX_ITERATIONS), status)
        ends: Any = int(Status.CONVERGED)
        if self.lower is not None:
            ends = np.where(((self.x <= self.lower) | (self.x >= self.upper)).any(axis=0), int(Status.BOUND), ends)
        return here(np.where(np.isinf(self.cost), int(Status.NOT_FINITE), np.where(converged, ends, status)))

    def within(self, x: Array) -> Array:
        """The nearest point within the bounds."""
        return x if self.lower is None else np.clip(x, self.lower, self.upper)


def held(x: Array, gradient: Array, lower: Array, upper: Array) -> Flags:
    """Rows that a bound holds back."""
    return ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))


class Found(NamedTuple):
    """How every cell ended: its status and some arrays of the batch; NaN where the fit could not start."""

    status: np.ndarray[Any, Any]
    arrays: dict[str, Any]

    def note(self, batch: Batch, done: Index, ends: np.ndarray[Any, Any]) -> None:
        """Keep how some cells of a batch ended."""
        index = batch.index[done]
        self.status[index] = ends
        there = next(iter(self.arrays.values()))
        at, failed = (on_device_of(x, there) for x in (index, ends == Status.NOT_FINITE))
        done = on_device_of(done, batch.x)
        for n, kept in self.arrays.items():
            kept[..., at] = np.where(failed, np.nan, on_device_of(getattr(batch, n)[..., done], kept))

    def here(self, stay: Collection[str]) -> Found:
        """The same on the host, but for arrays that stay where the cells were worked on."""
        return Found(self.status, {n: x if n in stay else here(x) for n, x in self.arrays.items()})


def solve(
    evaluate: Callable[[Array, Index], Any], enter: Callable[[Index], Batch], cells: Index, count: int, *,
    keep: Sequence[str], size: int, tol: float, max_iterations: int, report: Callable[[int], Any] = lambda _: None,
    workers: int = 1, watch: Callable[[Any], bool] | None = None, leave: Callable[[Index], Any] = lambda _: None,
    place: Callable[[Any, int], Any] = lambda batch, _: batch, stay: Collection[str] = (),
) -> Found:  # fmt: skip
    """Solve the given cells (of ``count``), ``size`` at a time, and keep the named arrays of how each ended.

    Cells ``enter`` when their turn comes, and ``leave`` when they are done; ``place`` puts a batch of so many where
    they are worked on, where arrays that ``stay`` are left.
    """
    queue = Queue(cells)
    nobody = place(enter(cells[:0]), len(cells))
    like = {n: getattr(nobody, n) for n in keep}
    arrays = {n: np.full_like(x, np.nan, float, shape=(*x.shape[:-1], count)) for n, x in like.items()}
    found = Found(np.full(count, -1), arrays)

    def work() -> None:
        batch = enter(queue.take(size))
        while batch.index.size:
            batch.learn(evaluate(batch.trial, batch.index))
            ends = batch.verdict(tol, max_iterations)
            if watch is not None and watch(batch):
                ends = np.where(ends < 0, int(Status.MAX_ITERATIONS), ends)
                queue.take(len(cells))
            done = np.flatnonzero(ends >= 0)
            if done.size:
                found.note(batch, done, ends[done])
                report(done.size)
                leave(batch.index[done])
                left, others = np.flatnonzero(ends < 0), queue.take(done.size)
                if not left.size + others.size:
                    break
                batch = place(batch.only(left), left.size + others.size)
                if others.size:
                    batch = batch.join(place(enter(others), left.size + others.size))
            batch.propose()

    on_threads(work, workers)
    return found.here(stay)
