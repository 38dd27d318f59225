"""Lazy arrays, and a scheduler for what must not be computed."""

from __future__ import annotations

from typing import Any

import numpy as np


def refuse(*args: Any, **options: Any) -> Any:
    """A scheduler that must not be asked."""
    raise AssertionError("something was computed before .compute()")


def halves(data: Any) -> Any:
    """A lazy array of two chunks along every axis."""
    import dask.array as da

    data = np.asarray(data)
    return da.from_array(data, chunks=tuple(max(1, (n + 1) // 2) for n in data.shape))
