"""Many independent problems solved together: a batch that stays full.

Cells that are done leave the batch and waiting ones take their place, so that a stubborn cell keeps nobody waiting and
no cell's answer depends on its neighbours.  Arrays have their cells last: ``x`` is (row, cell), ``cost`` (cell,).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad.fit.cells import Index
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.threads import Queue, on_threads

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclasses.dataclass
class Batch:
    """The cells at work: where each is, and where it tries to go; a method adds its own arrays."""

    index: Index
    lower: Array
    upper: Array
    x: Array
    trial: Array
    cost: Array
    iterations: Array

    @classmethod
    def start(cls, index: Index, x: Array, lower: Array, upper: Array, **own: Any) -> Self:
        """Cells that have not been evaluated: their cost is infinite, and they try the start."""
        return cls(index, lower, upper, x, x, np.full(len(index), np.inf), np.zeros(len(index), int), **own)

    def only(self, chosen: Index) -> Self:
        """Some of the cells."""
        return dataclasses.replace(self, **{n: v.take(chosen, axis=-1) for n, v in self._arrays()})

    def join(self, other: Self) -> Self:
        """These cells, then those."""
        return dataclasses.replace(
            self, **{n: np.concatenate([v, getattr(other, n)], axis=-1) for n, v in self._arrays()}
        )

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        return ((n, v) for n, v in vars(self).items() if isinstance(v, np.ndarray))

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
        status = np.full(self.cost.shape, -1)
        status[stuck] = Status.STALLED
        status[self.iterations >= max_iterations] = Status.MAX_ITERATIONS
        status[converged] = Status.CONVERGED
        status[converged & ((self.x <= self.lower) | (self.x >= self.upper)).any(axis=0)] = Status.BOUND
        status[np.isinf(self.cost)] = Status.NOT_FINITE
        return status


class Found(NamedTuple):
    """How every cell ended: its status and some arrays of the batch; NaN where the fit could not start."""

    status: np.ndarray[Any, Any]
    arrays: dict[str, Any]

    def note(self, batch: Batch, done: Index, ends: np.ndarray[Any, Any]) -> None:
        """Keep how some cells of a batch ended."""
        index = batch.index[done]
        self.status[index] = ends
        for n, kept in self.arrays.items():
            kept[..., index] = np.where(ends == Status.NOT_FINITE, np.nan, getattr(batch, n)[..., done])


def solve(
    evaluate: Callable[[Array, Index], Any], enter: Callable[[Index], Batch], cells: Index, count: int, *,
    keep: Sequence[str], size: int, tol: float, max_iterations: int, report: Callable[[int], Any], workers: int = 1,
    watch: Callable[[Any], bool] | None = None, leave: Callable[[Index], Any] = lambda _: None,
) -> Found:  # fmt: skip
    """Solve the given cells (of ``count``), ``size`` at a time, and keep the named arrays of how each ended.

    Cells ``enter`` when their turn comes, and ``leave`` when they are done.
    """
    queue = Queue(cells)
    nobody = enter(cells[:0])
    found = Found(np.full(count, -1), {n: np.full((*getattr(nobody, n).shape[:-1], count), np.nan) for n in keep})

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
                batch = batch.only(np.flatnonzero(ends < 0))
                others = queue.take(done.size)
                if others.size:
                    batch = batch.join(enter(others))
            if batch.index.size:
                batch.propose()

    on_threads(work, workers)
    return found
