"""Names put in by place, and taken out again."""

from __future__ import annotations

from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.positional.array import PositionalArray, box, numbers
from namedgrad.positional.operands import unwrap
from namedgrad.positional.protocol import kind_of


def channel(count: int) -> Name:
    """The axis before the last ``count``."""
    return axes.axis(-count - 1)


def enter(value: Any, count: int, what: str) -> tuple[DimArray, Names]:
    """An array as a DimArray, and the names of its last ``count`` axes, before which there is a channel."""
    x = unwrap(value, what)
    if x.ndim < count + 1:
        raise ValueError(
            f"{what} of shape {x.shape} needs {count + 1} axes or more: batch..., channel, and {count} of cells"
        )
    return x, numbers(count)


def leave(x: DimArray, *inputs: Any) -> Any:
    """A result with numbered axes as its inputs are: plain if they all were."""
    if any(isinstance(i, PositionalArray) for i in inputs):
        return box(x, kind_of(inputs))
    return x.data


def per_axis(value: Any, names: Names, what: str) -> Any:
    """An option as the named operations take it: one number, or a number per axis."""
    if value is None or isinstance(value, (int, float, str)) or backends.is_array(value):
        return value
    values = tuple(value)
    if len(values) == 1:
        return values[0]
    if len(values) != len(names):
        raise ValueError(f"{what} has {len(values)} numbers for {len(names)} axes")
    return dict(zip(names, values, strict=True))


def sizes(value: Any, names: Names, what: str) -> dict[Name, Any]:
    """A size per axis."""
    found = per_axis(value, names, what)
    return found if isinstance(found, dict) else dict.fromkeys(names, found)
