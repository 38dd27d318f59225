"""The arguments of a fit, of which some may be under differentiation by a transform around it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from namedgrad.array import DimArray, TraceError
from namedgrad.trace import Level, innermost
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.levels import demoting

T = TypeVar("T")


class Captured(Exception):  # noqa: N818 - it is no error, it asks for another run
    """The function captures an array of a transform that is in progress."""

    def __init__(self, level: Level) -> None:
        super().__init__("captured")
        self.level = level


class Given:
    """Arguments by name.

    Attributes
    ----------
    args : as they were given
    plain : the same without traces
    hidden : names of their vectorized axes
    levels : the transforms that differentiate some of them, or arrays that the function captures
    """

    def __init__(self, **args: Any) -> None:
        tree = Tree(args)
        self.args = args
        self.hidden = tuple(dict.fromkeys(n for x in tree.parts for n in x.vectorized))
        self.levels = {x.level for x in tree.parts if x.level is not None}
        self.captured: list[Level] = []
        self._refuse_higher(any(_depth(x) > 1 for x in tree.parts))
        self.plain = tree.value([innermost(x) for x in tree.parts]) if self.levels else args

    def run(self, solve: Callable[[], T]) -> T:
        """What ``solve`` returns where captured arrays are constants; one that is differentiated shows as it runs."""
        while True:
            try:
                with contextlib.ExitStack() as stack:
                    for level in self.captured:
                        stack.enter_context(demoting(level, lambda x: x.value))
                    return solve()
            except Captured as found:
                self.captured.append(found.level)
                self.levels.add(found.level)
                self._refuse_higher(len(set(self.captured)) < len(self.captured))

    def _refuse_higher(self, deep: bool) -> None:
        if deep or len(self.levels) > 1:
            raise TraceError(
                "a fit can be differentiated once, but two transforms around it differentiate what it is given; "
                "take finite differences of its first derivative for the second"
            )


def _depth(x: DimArray) -> int:
    depth = 0
    while x.level is not None:
        depth, x = depth + 1, x.value
    return depth
