"""Threads that share the cells of a fit."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from namedgrad.fit.cells import Index

# Seconds after which a thread that holds Python's lock gives it up to one that waits. Between two array operations it
# holds it for less than the other takes to wake up, which so waits for Python's 5 ms to pass; with this 29,008
# exponentials on two threads take 195 ms instead of 214.
HANDOVER = 1e-4

_HELPED: contextvars.ContextVar[int | None] = contextvars.ContextVar("helped", default=None)


def threads() -> int:
    """How many threads to use: the cores that this process may use, at most ``OMP_NUM_THREADS``.

    One on any other thread than the main one: who starts threads has work for all cores already.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


def worker() -> int:
    """Whose cells this thread works on: its own, or those of the thread that it helps."""
    helped = _HELPED.get()
    return threading.get_ident() if helped is None else helped


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


@functools.cache
def _libraries() -> Any:
    """The libraries of linear algebra that are loaded."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def on_threads(work: Callable[[], Any], count: int) -> list[Any]:
    """What ``work`` returns on each of so many threads, each in a copy of this context."""
    if count == 1:
        return [work()]
    with ThreadPoolExecutor(count) as pool:
        return [f.result() for f in [pool.submit(contextvars.copy_context().run, work) for _ in range(count)]]


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """Where threads wait for Python's lock for a short time at most."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, HANDOVER))
    try:
        yield
    finally:
        sys.setswitchinterval(before + 5e-7)  # Python cuts off parts of a microsecond, also of those it gave


class Crew:
    """Threads that help the main one to evaluate, started when first needed."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._others = 0

    @contextlib.contextmanager
    def at_work(self, is_wanted: bool) -> Iterator[None]:
        """Where threads may share the cells. Linear algebra starts none of its own there.

        Those would keep a core for some time after each call, waiting for the next, and callers wait for each other.
        """
        others = threads() - 1 if is_wanted else 0
        if not others:
            yield
            return
        before = self._pool, self._others
        limited = _libraries().limit(limits=1, user_api="blas")
        with limited, _impatient(), ThreadPoolExecutor(others) as pool:
            self._pool, self._others = pool, others
            try:
                yield
            finally:
                self._pool, self._others = before

    def hands(self) -> int:
        """How many threads there are for the work of this one."""
        return 1 + self._others if threading.current_thread() is threading.main_thread() else 1

    def share(self, work: Callable[[Any], Any], parts: Iterable[Any]) -> None:
        """Do the work on every part, on this thread and the others; after a failure no other part is begun."""
        rest, pool = deque(parts), self._pool
        context = contextvars.copy_context()
        context.run(_HELPED.set, worker())

        def take() -> None:
            while rest:
                try:
                    part = rest.popleft()
                except IndexError:  # another thread has just taken the last one
                    break
                try:
                    work(part)
                except BaseException:
                    rest.clear()
                    raise

        count = min(self.hands(), len(rest)) - 1
        others = [] if pool is None else [pool.submit(context.copy().run, take) for _ in range(count)]
        try:
            take()
        finally:
            concurrent.futures.wait(others)
        for f in others:
            f.result()


def shares(cells: Index, size: int, count: int) -> int:
    """Cells in a batch, so that every thread gets some."""
    return max(1, min(size, -(-len(cells) // count)))


def even(cells: int, most: int, count: int) -> list[slice]:
    """Parts of about the same size, at most so large, for so many threads; none is empty."""
    number = min(cells, count * -(-cells // (count * most)))
    return [slice(cells * k // number, cells * (k + 1) // number) for k in range(number)]
