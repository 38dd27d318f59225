"""How much memory a piece of work takes."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

ROUNDS = 3
POOLS = ("ThreadPoolExecutor", "Dask-Offload")  # whose threads do nothing unless asked to


class Taken(NamedTuple):
    """Bytes in use after some work, with its result alive, and the most while it ran."""

    kept: int
    most: int
    result: Any


def taken(work: Callable[[], Any]) -> Taken:
    """Of a run after another, which may import; the least of a few where threads that others left allocate at any time."""
    work()
    others = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.name.startswith(POOLS)]
    return min((_once(work) for _ in range(ROUNDS if others else 1)), key=lambda taken: taken.most)


def peak(work: Callable[[], Any]) -> int:
    """Most bytes in use while the work runs."""
    return taken(work).most


def collected() -> None:
    """Leave no garbage, and spare the collector what is alive: each pass over all of a test run takes a second."""
    gc.collect()
    gc.freeze()


def _once(work: Callable[[], Any]) -> Taken:
    collected()
    tracemalloc.start()
    try:
        result = work()
        return Taken(*tracemalloc.get_traced_memory(), result)
    finally:
        tracemalloc.stop()
