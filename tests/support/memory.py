"""How much memory a piece of work takes."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

ROUNDS = 3


class Taken(NamedTuple):
    """Bytes in use after some work, with its result alive, and the most while it ran."""

    kept: int
    most: int
    result: Any


def taken(work: Callable[[], Any]) -> Taken:
    """Of a run after another, which may import; the least of a few where threads that others left allocate at any time."""
    work()
    return min((_once(work) for _ in range(ROUNDS if threading.active_count() > 1 else 1)), key=lambda taken: taken.most)


def peak(work: Callable[[], Any]) -> int:
    """Most bytes in use while the work runs."""
    return taken(work).most


def _once(work: Callable[[], Any]) -> Taken:
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        return Taken(*tracemalloc.get_traced_memory(), result)
    finally:
        tracemalloc.stop()
