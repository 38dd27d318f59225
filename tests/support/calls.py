"""Which backend functions a program calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends


class Calls(backends.Recorder):
    """Notes the name of every function that is called, and the shape of its result."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.shapes: list[tuple[int, ...]] = []

    def record(self, function: Any, raw: Any, kwargs: Any, out: Any) -> Any:
        self.names.append(getattr(function, "__name__", repr(function)))
        self.shapes.append(np.shape(out))
        return out

    def fixes(self, raw: Any) -> bool:
        return True


def calls_of(program: Callable[[], Any]) -> Calls:
    """The calls of one run."""
    calls = Calls()
    token = backends.start_recording(calls)
    try:
        program()
    finally:
        backends.stop_recording(token)
    return calls
