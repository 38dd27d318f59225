"""Trade time for memory: ``checkpoint`` keeps the inputs of a function and runs it again when its derivative is needed.

Arrays that the function captures are found while it runs and treated like arguments, so passing and capturing are the
same (both the value and the memory).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from namedgrad.array import DimArray
from namedgrad.backends.rewind import Rewind
from namedgrad.linear import Leaf, Map
from namedgrad.trace import DEMOTIONS, Level, Traced, backward, demoting
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.levels import as_taken, top_level

Run = Callable[[Sequence[DimArray]], tuple[DimArray, ...]]


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Function with the values and derivatives of ``f`` that keeps only its inputs in memory until they are needed.

    Parameters
    ----------
    f : callable
        Must be pure: the same inputs, the same operations. Arrays that it captures are found while it runs, and count
        as inputs. Draws of :mod:`namedgrad.random` are the same when it runs again.

    Returns
    -------
    callable
        Each reverse pass through it runs ``f`` once more.

    Examples
    --------
    >>> import namedgrad as ng
    >>> step = ng.checkpoint(lambda x: ng.sin(x) * x)
    >>> plain = lambda x: ng.sin(x) * x
    >>> x = ng.DimArray([0.5, 1.0], ("x",))
    >>> g = ng.grad(lambda x: step(step(x)).sum())(x)
    >>> bool((g == ng.grad(lambda x: plain(plain(x)).sum())(x)).all())
    True
    """

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tree = Tree((args, kwargs))
        first: list[Output] = []
        again = False
        same_draws = Rewind()

        def run(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
            a, k = tree.rebuild(parts)
            with same_draws():
                out = Output(f(*a, **k))
            if not again:  # what later runs return must not be kept alive from here
                first.append(out)
            return tuple(out.parts)

        outs = checkpointed(run, tree.parts)
        again = True
        return first.pop().result(outs)

    return wrapped


def checkpointed(run: Run, parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
    """Run a function of parts, recording one node in place of all its operations."""
    parts = as_taken(parts)
    level = top_level(parts)
    if level is None or level.tape is None:  # nothing to record, or forward mode, which keeps nothing
        return run(parts)
    ins = [p.value if p.level is level else p for p in parts]
    captured: dict[Map, DimArray] = {}

    def note(x: Traced) -> DimArray:
        captured[x.node] = x.value
        return x.value

    def below(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
        with demoting(level, note):
            return tuple(note(o) if o.level is level else o for o in run(parts))  # type: ignore[arg-type]

    outs = checkpointed(below, ins)
    own = {i: p.node for i, p in enumerate(parts) if p.level is level}
    map_ = Replay(run, ins, list(own), captured, level)
    return level.record(map_, [*own.values(), *captured], outs)


class Replay(Map):
    """The derivative of a function by running it again on its inputs.

    What it captures may be values of levels that were demoted where it was recorded (within a function that was run
    again itself): they are so again, in the same way.
    """

    __slots__ = ("at", "captured", "home", "ins", "run", "within")
    keeps_record = True
    repeats = False

    def __init__(
        self, run: Run, ins: list[DimArray], at: list[int], captured: dict[Map, DimArray], home: Level
    ) -> None:
        self.run, self.ins, self.at, self.captured, self.home = run, ins, at, captured, home
        self.within = DEMOTIONS.get()

    def _again(self, level: Level, nodes: Sequence[Any]) -> tuple[DimArray, ...]:
        """Run on inputs and captured values traced at ``level``, with the given nodes."""
        ins = list(self.ins)
        for i, node in zip(self.at, nodes, strict=False):
            if node is not None:
                ins[i] = Traced(ins[i], level, node)
        table = dict(zip(self.captured, nodes[len(self.at) :], strict=True))

        def lift(x: Traced) -> DimArray:
            node = table.get(x.node)
            return x.value if node is None else Traced(x.value, level, node)

        with contextlib.ExitStack() as stack:
            for other, to in (*self.within.items(), (self.home, lift)):
                stack.enter_context(demoting(other, to))
            return tuple(lift(o) if o.level is self.home else o for o in self.run(ins))  # type: ignore[arg-type]

    def pull(self, g: Any) -> list[DimArray | None]:
        level = Level()
        leaves = [Leaf() for _ in range(len(self.at) + len(self.captured))]
        try:
            outs = self._again(level, leaves)
            seeds = [(outs[i].node, c) for i, c in g.items() if outs[i].level is level]
            return backward(level.tape or (), seeds, leaves)
        finally:
            level.close()

    def push(self, ts: Sequence[Any]) -> Any:
        level = Level(forward=True)
        try:
            return tuple(o.node if o.level is level else None for o in self._again(level, ts))
        finally:
            level.close()
