"""The loop of a scan: a carry is handed from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def scan_rows(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, rows: Sequence[Any], *, backward: bool = False) -> tuple[Any, list[Any]]:
    """``carry, y = step(carry, row)`` for every row: the last carry, and every ``y`` at the place of its row.

    Nothing is computed twice: a reverse pass finds every step in memory. :func:`namedgrad.scan` runs segments of it
    under checkpoints.

    Raises
    ------
    TypeError
        If a step returns something else than a pair.
    """
    ys: list[Any] = [None] * len(rows)
    order = range(len(rows))
    for i in reversed(order) if backward else order:
        out = step(carry, rows[i])
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(f"scan: step must return (carry, y), got {type(out).__name__}; y may be None")
        carry, ys[i] = out
    return carry, ys
