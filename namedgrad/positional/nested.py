"""Lists and tuples of positional arrays and numbers, which NumPy's functions and operators take for arrays."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray


def holds(value: Any, kind: type) -> bool:
    """Whether a list or tuple has one of this kind in it, at any depth."""
    return isinstance(value, (list, tuple)) and any(isinstance(v, kind) or holds(v, kind) for v in value)


def stacked(value: Any) -> DimArray:
    """The array that a nested list is: its parts along a new first axis."""
    from namedgrad.positional.functions.joining import stack

    return stack(value)
