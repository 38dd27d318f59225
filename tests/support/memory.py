"""How much memory a piece of work takes."""

from __future__ import annotations

import gc
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
    """The least of a few runs, as threads that other libraries left (those of a cluster) allocate, too, at any time."""
    return min((_once(work) for _ in range(ROUNDS)), key=lambda taken: taken.most)


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
