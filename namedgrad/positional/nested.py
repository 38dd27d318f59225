"""Lists and tuples of positional arrays and numbers, which NumPy's functions and operators take for arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from namedgrad.array import DimArray


def holds(value: Any, kind: type) -> bool:
    """Whether a list or tuple has one of this kind in it, at any depth."""
    return any(True for _ in within(value, kind))


def within(value: Any, kind: type) -> Iterator[Any]:
    """Those of this kind in a list or tuple, at any depth."""
    for v in value if isinstance(value, (list, tuple)) else ():
        yield from (v,) if isinstance(v, kind) else within(v, kind)


def stacked(value: Any) -> DimArray:
    """The array that a nested list is: its parts along a new first axis."""
    from namedgrad.positional.functions.joining import stack

    return stack(value)
