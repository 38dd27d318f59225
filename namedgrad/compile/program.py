"""A recorded function that can be run: which arrays go in, which come out, and the code between them."""

from __future__ import annotations

import contextvars
import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray, TraceError, make
from namedgrad.compile.emit import Retry, Source, emit
from namedgrad.compile.optimise import plan
from namedgrad.compile.parts import in_parts
from namedgrad.compile.record import Recorder
from namedgrad.compile.surroundings import VALUES
from namedgrad.compile.survey import lost_by
from namedgrad.transforms.leaves import adapter_of, flatten, is_leaf, unflatten
from namedgrad.transforms.tape import quiet


class Results:
    """What a function returned: a structure, and for each leaf the names and marks of the arrays in it."""

    def __init__(self, value: Any, recorder: Recorder) -> None:
        self.leaves, self.treedef = flatten(value)
        self.adapters = [adapter_of(leaf) for leaf in self.leaves]
        arrays = [a.arrays(leaf) for a, leaf in zip(self.adapters, self.leaves, strict=True)]
        self.traced = any(x.level is not None for several in arrays for x in several)
        self.values = [] if self.traced else [recorder.find(x.raw) for several in arrays for x in several]
        self.marks = [[_empty(x) for x in several] for several in arrays]

    def empty(self) -> None:
        """Keep of the leaves what they look like, without their data."""
        triples = zip(self.leaves, self.adapters, self.marks, strict=True)
        self.leaves = [adapter.seen(leaf, marks) for leaf, adapter, marks in triples]

    def refuse_unknown(self) -> None:
        """Raise if a leaf may hold recorded values out of sight, so that a program would return old ones."""
        for leaf in self.leaves:
            if not is_leaf(leaf) and not isinstance(leaf, VALUES):
                raise TraceError(
                    f"a function under ng.compile returned a {type(leaf).__qualname__}, "
                    "which a program cannot make anew; "
                    "return arrays, numbers, strings and structures of them, and compile what uses the rest"
                )

    def write(self, source: Source, names: list[str]) -> str:
        """Write what puts results together; the expression of the whole."""
        rest = iter(names)
        texts = [self._leaf(source, i, [next(rest) for _ in marks]) for i, marks in enumerate(self.marks)]
        if len(texts) == 1 and self.treedef == flatten(0)[1]:
            return texts[0]
        if self.treedef == flatten((0,) * len(texts))[1]:
            return f"({''.join(t + ', ' for t in texts)})"
        return f"{source.refer(functools.partial(unflatten, self.treedef), 'unflatten')}([{', '.join(texts)}])"

    def _leaf(self, source: Source, i: int, names: list[str]) -> str:
        leaf, adapter, marks = self.leaves[i], self.adapters[i], self.marks[i]
        if not marks:
            return source.literal(leaf)
        made = [self._array(source, f"r{i}_{j}", mark, n) for j, (mark, n) in enumerate(zip(marks, names, strict=True))]
        if isinstance(leaf, DimArray):
            return made[0]
        returned = functools.partial(adapter.returned, leaf)
        return f"{source.refer(returned, 'returned')}([{', '.join(made)}])"

    @staticmethod
    def _array(source: Source, result: str, mark: DimArray, raw: str) -> str:
        source.lines += [
            f"{result} = new(DimArray)",
            f"{result}.raw = {raw}",
            f"{result}.names = {source.refer(mark.names, 'names')}",
            f"{result}.hidden = {source.refer(mark.hidden, 'hidden')}",
        ]
        return result


def _empty(x: DimArray) -> DimArray:
    """An array like ``x`` that occupies one element."""
    return make(np.broadcast_to(np.zeros((), x.dtype), x.full_shape), x.names, x.hidden)


SEEN = 1000  # cells of a captured array that are compared where Python may have taken numbers: that takes microseconds


class Program:
    """A recording, and the code made of it for the bets that have held so far."""

    def __init__(self, recorder: Recorder, results: Results, plain: list[Any]) -> None:
        self._steps, self._inputs = recorder.steps, recorder.inputs
        self._results = results
        results.refuse_unknown()
        results.empty()
        self._lost: frozenset[int] = frozenset()
        self._runs: dict[frozenset[int], tuple[str, Callable[..., Any]]] = {}
        # Code that is not recorded may have computed an array of unknown origin from any that it sees.
        every = bool(recorder.elsewhere or recorder.looked)
        self._most = sys.maxsize if every else SEEN
        self._pins = [self._content(x) if every or _gives_numbers(x, recorder) else None for x in plain]
        self._looked = [(v.array, self._content(v.array)) for v in recorder.elsewhere] if recorder.looked else []
        self.pinned = bool(self._looked) or any(p is not None for p in self._pins)  # whether for some values only

    def holds(self, plain: list[Any]) -> bool:
        """Whether what entered the recording unseen would be the same now."""
        pairs = [*zip(plain, self._pins), *self._looked]
        return all(pin is None or self._content(x) == pin for x, pin in pairs)

    def _content(self, x: Any) -> Any:
        """What is compared of an array: its cells, or some spread over it; an odd step meets all columns in turn."""
        if not isinstance(x, np.ndarray):
            return None
        return x.tobytes() if x.size <= self._most else x.flat[:: x.size // self._most | 1].tobytes()

    @property
    def source(self) -> str:
        """The code in use."""
        return self._code(self._lost)[0]

    def _code(self, lost: frozenset[int]) -> tuple[str, Callable[..., Any]]:
        if lost not in self._runs:
            made = in_parts(plan(self._steps, self._results.values, lost))
            self._runs[lost] = emit(made, self._inputs, self._results.write)
        return self._runs[lost]

    def run(self, inputs: list[Any]) -> Any:
        """The results for these inputs."""
        for count in itertools.count():
            made = self._runs.get(self._lost) or self._code(self._lost)
            out = silently(made[1], inputs)
            if type(out) is not Retry:
                break
            others = silently(self._lost_by, inputs) if count == 1 else ()  # most inputs lose one bet, or none
            self._lost = self._lost.union({int(out)}, others)
        return out

    def _lost_by(self, *inputs: Any) -> frozenset[int]:
        return lost_by(self._steps, self._results.values, self._inputs, inputs)


_QUIET: list[contextvars.Context] = []


def silently(run: Callable[..., Any], inputs: list[Any]) -> Any:
    """Call without floating-point warnings: in a context where they are off, ten times as fast as to turn them off."""
    context = _QUIET.pop() if _QUIET else _quiet_context()
    try:
        return context.run(run, *inputs)
    finally:
        _QUIET.append(context)


def _quiet_context() -> contextvars.Context:
    context = contextvars.Context()
    context.run(quiet().__enter__)
    return context


def _gives_numbers(x: Any, recorder: Recorder) -> bool:
    """Whether Python may have taken numbers from an array: if some came from somewhere, or it serves nothing else."""
    return recorder.numbers or not recorder.is_operand(x)
