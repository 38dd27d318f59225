"""Threads that share the cells of a fit."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from namedgrad.fit.cells import Index


def threads() -> int:
    """How many threads to use: the cores that this process may use, at most ``OMP_NUM_THREADS``.

    One on any other thread than the main one: who starts threads has work for all cores already.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


class Queue:
    """Cells that wait; each is given out once."""

    def __init__(self, cells: Index) -> None:
        self._cells, self._taken, self._lock = cells, 0, threading.Lock()

    def take(self, count: int) -> Index:
        """The next cells, at most so many."""
        with self._lock:
            start = self._taken
            self._taken = min(len(self._cells), start + count)
            return self._cells[start : self._taken]


def on_threads(work: Callable[[], Any], count: int) -> list[Any]:
    """What ``work`` returns on each of so many threads, each in a copy of this context."""
    if count == 1:
        return [work()]
    with ThreadPoolExecutor(count) as pool:
        return [f.result() for f in [pool.submit(contextvars.copy_context().run, work) for _ in range(count)]]


def shares(cells: Index, size: int, count: int) -> int:
    """Cells in a batch, so that every thread gets some."""
    return max(1, min(size, -(-len(cells) // count)))
