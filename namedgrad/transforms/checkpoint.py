"""Trade time for memory: ``checkpoint`` keeps the inputs of a function and runs it again when its derivative is needed.

Arrays that the function captures are found while it runs and treated like arguments, so passing and capturing are the
same (both the value and the memory).
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.backends.rewind import Rewind
from namedgrad.linear import Leaf, Map
from namedgrad.squares import MET, Length, Met
from namedgrad.trace import DEMOTIONS, Demotion, Level, Traced, backward, innermost
from namedgrad.transforms.captured import generators
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.levels import as_taken, demoting, one_down, top_level, without

Run = Callable[[Sequence[DimArray]], tuple[DimArray, ...]]


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Function with the values and derivatives of ``f`` that keeps only its inputs in memory until they are needed.

    Parameters
    ----------
    f : callable
        Must be pure: the same inputs, the same operations. Arrays that it captures are found while it runs, and count
        as inputs. Random numbers are the same when it runs again, whether :mod:`namedgrad.random` draws them or a
        generator of NumPy or Python that ``f`` is given, captures, or finds in an object that it captures.

    Returns
    -------
    callable
        Each reverse pass through it runs ``f`` once more.

    Raises
    ------
    ValueError
        In a reverse pass, on NumPy arrays: if ``f`` gives other values than the first time.

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
        prints: list[Any] = []
        again = False
        level = top_level(tree.parts)
        same_draws = Rewind(() if level is None or level.tape is None else generators((f, args, kwargs)))

        def run(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
            a, k = tree.rebuild(parts)
            with same_draws():
                out = Output(f(*a, **k))
            found = [_print(p) for p in out.parts]
            if not again:  # what later runs return must not be kept alive from here
                first[:] = [out]
            if not all(_same(p, q, parts) for p, q in zip(prints, found, strict=False)):
                raise _impure(f)
            prints[:] = prints or found
            return tuple(out.parts)

        outs = checkpointed(run, tree.parts)
        again = True
        return first.pop().value(outs)

    return wrapped


def _impure(f: Callable[..., Any]) -> ValueError:
    return ValueError(
        f"checkpoint: {getattr(f, '__name__', 'the function')} gave other values when it ran again for its derivative: "
        "it changes with something that is no argument, such as a captured array that was written in between, a "
        "counter, or a generator out of sight; pass what changes as an argument (of an array that is written later a "
        ".copy()), or draw before and pass the draws"
    )


def _print(x: DimArray) -> Any:
    """What tells the values of a run from those of another: sum and length, where looking is free."""
    raw = innermost(x).raw
    if backends.is_number(raw) or not (backends.may_look(raw) and np.issubdtype(raw.dtype, np.inexact)):
        return None
    with np.errstate(all="ignore"):
        return np.sum(raw), np.linalg.norm(raw), math.sqrt(np.finfo(raw.dtype).eps * max(np.size(raw), 1))


def _same(one: Any, other: Any, ins: Sequence[DimArray]) -> bool:
    """Whether two runs gave the same, but for rounding: of what they gave, or of inputs, where that all but cancels."""
    if one is None or other is None or not (np.isfinite(one[1]) and np.isfinite(other[1])):
        return one is None or other is None or np.isfinite(one[1]) == np.isfinite(other[1])
    apart = max(abs(one[0] - other[0]), abs(one[1] - other[1]))
    if apart <= one[2] * one[1]:
        return True
    return any(p is not None and apart <= p[2] ** 2 * p[1] for p in map(_print, ins))


def checkpointed(run: Run, parts: Sequence[DimArray], level: Level | None = None) -> tuple[DimArray, ...]:
    """Run a function of parts, recording one node for all its operations: at ``level``, or the highest of the parts."""
    parts = as_taken(parts)
    level = level or top_level(parts)
    if level is None or level.tape is None:  # nothing to record, or forward mode, which keeps nothing
        return run(parts)
    if any(type(p) is Length for p in parts):  # what is known of them is known to this trace alone
        return run(parts)
    ins = one_down(parts, level)
    captured: dict[Map, DimArray] = {}
    kinds: set[type] = set()  # of what is captured
    outer = MET.get()
    met = Met(flat=top_level(ins) is not None or (outer is not None and outer.flat))

    def note(x: Traced) -> DimArray:
        kinds.add(type(x))
        return captured.setdefault(x.node, level.own(x.value))

    def below(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
        with demoting(level, note):
            return tuple(as_taken(run(parts)))

    token = MET.set(met)
    try:
        outs = checkpointed(below, ins)
    finally:
        MET.reset(token)
    if Length in kinds or (met and _gives_lengths(run, parts, level)):  # what is to be known of them, nobody would know
        return run(parts)
    above = top_level(outs)
    if above is not None and above.index > level.index:  # captured, of a later transform: its trace is outside
        return checkpointed(run, parts, above)
    own = {i: p.node for i, p in enumerate(parts) if p.level is level}
    map_ = Replay(run, ins, list(own), captured, level)
    return level.record(map_, [*own.values(), *captured], outs)


def _gives_lengths(run: Run, parts: Sequence[DimArray], home: Level) -> bool:
    """Whether a run returns lengths: one at levels of its own, which are in place of those of the parts and ``home``.

    Captured values of ``home`` would record this run there, beside those of levels that close when it has returned.
    """
    own: dict[Level, Level] = {}

    def anew(x: DimArray) -> DimArray:
        return Traced(anew(x.value), own[x.level], Leaf()) if isinstance(x, Traced) and x.level in own else x

    with contextlib.ExitStack() as stack:
        for level in sorted(_levels(parts) | {home}, key=lambda level: level.index):
            own[level] = stack.enter_context(contextlib.closing(Level()))
            stack.enter_context(demoting(level, anew))
        return any(type(o) is Length for o in run([anew(p) for p in parts]))


def _levels(parts: Sequence[DimArray]) -> set[Level]:
    """All at which these are traced."""
    traced = [p for p in parts if isinstance(p, Traced)]
    return {p.level for p in traced} | (_levels([p.value for p in traced]) if traced else set())


class _Again(dict[Level, Demotion]):
    """Demotions of a run that is repeated: what it met of transforms that have returned since are constants to it.

    They were no more when it ran first, or the result would be of their level, and would have been recorded there.
    """

    def __contains__(self, level: object) -> bool:
        return super().__contains__(level) or not level.open  # type: ignore[attr-defined]

    def __missing__(self, level: Level) -> Demotion:
        return lambda x: x.value

    def __or__(self, other: Any) -> _Again:  # type: ignore[override]
        return _Again({**self, **other})


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
            node, value = table.get(x.node), self.captured.get(x.node, x.value)
            return value if node is None else Traced(value, level, node)

        with contextlib.ExitStack() as stack:
            stack.callback(DEMOTIONS.reset, DEMOTIONS.set(_Again(DEMOTIONS.get())))
            for other, to in (*self.within.items(), (self.home, lift)):
                stack.enter_context(demoting(other, to))
            return tuple(as_taken(self.run(ins)))

    def pull(self, g: Any) -> list[DimArray | None]:
        leaves = [Leaf() for _ in range(len(self.at) + len(self.captured))]
        with contextlib.closing(Level()) as level:
            outs = self._again(level, leaves)
            seeds = [(outs[i].node, c) for i, c in g.items() if outs[i].level is level]
            found = backward(level.tape or (), seeds, leaves)
            return found if level.parting is None else [without(g, level.parting) for g in found]

    def push(self, ts: Sequence[Any]) -> Any:
        with contextlib.closing(Level(forward=True)) as level:
            return tuple(o.node if o.level is level else None for o in self._again(level, ts))
