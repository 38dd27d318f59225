"""Calling the user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from namedgrad.array import TraceError


def run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``f(*args, **kwargs)``; a TraceError that NumPy turned into "setting an array element" comes out as itself."""
    try:
        return f(*args, **kwargs)
    except ValueError as error:
        if isinstance(error.__cause__, TraceError):
            raise error.__cause__ from None
        raise
