"""Where the arrays of a solver are: on the host, or where the data are.

Many cells are worked on there: their algebra is that of the host, by NumPy's functions, which CuPy's arrays take part
in.  Which cells there are is known on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import backends


def is_here(x: Any) -> bool:
    """Whether an array is on the host."""
    return isinstance(x, np.ndarray | np.generic)


def on_device_of(x: Any, like: Any) -> Any:
    """An array of the host where another one is."""
    return backends.call(backends.backend_of(like).asarray, x) if is_here(x) and not is_here(like) else x


def here(x: Any) -> Any:
    """An array on the host."""
    return x if is_here(x) else backends.backend_of(x).to_numpy(x)


def all_here(xs: Sequence[Any]) -> list[Any]:
    """Arrays on the host; those that are elsewhere come together."""
    away = [x for x in xs if not is_here(x)]
    found = iter(backends.backend_of(*away).all_to_numpy(away)) if away else iter(())
    return [x if is_here(x) else next(found) for x in xs]


def truths(*flags: Any) -> list[bool]:
    """Which of some flags are true; a device is waited for once."""
    return [bool(x) for x in flags] if is_here(flags[0]) else here(np.stack(flags)).tolist()


def may_matter(flags: Any) -> bool:
    """Whether any flag is true; of those on a device this is not asked, since the answer takes longer than the work."""
    return not is_here(flags) or bool(flags.any())


def columns(matrix: Any, index: Any) -> Any:
    """Some cells of an array that has them last; the index is of the host."""
    if is_here(matrix):
        return matrix[..., index]
    span = follow(index)
    return matrix[..., span] if span else matrix.take(on_device_of(index, matrix), axis=-1)


def follow(index: Any) -> slice | None:
    """Positions as a slice, if they follow each other."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and (index[1:] - index[:-1] == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return None
