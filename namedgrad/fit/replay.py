"""An evaluation for a batch of cells, recorded once and replayed on the numbers of others.

Plain arrays go in and come out, by the machinery of :mod:`namedgrad.compile`; so the user's Python code, names and
traces cost nothing from the second batch on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.compile.emit import Retry, write
from namedgrad.compile.optimise import GUARD, Plan, plan
from namedgrad.compile.program import silently
from namedgrad.compile.record import Recorder
from namedgrad.compile.rewrite import Constant
from namedgrad.transforms.tape import quiet

Run = Callable[..., Any]


class Replay:
    """A function of plain arrays, given by one run of it.

    Parameters
    ----------
    function : callable
        Computes with the arrays in ``raws`` and returns a list of plain arrays.
    raws : sequence of arrays
        The inputs, as the objects that ``function`` meets.
    size : int
        The number of cells in them.

    Attributes
    ----------
    recorder : what was recorded
    inputs : its inputs
    flexible : whether the program runs for fewer cells than that, too; None until that has been seen

    Raises
    ------
    TraceError
        If the run depends on their values.
    """

    def __init__(self, function: Callable[[], Sequence[Any]], raws: Sequence[Any], size: int) -> None:
        recorder = Recorder()
        recorder.take(raws)
        token = backends.start_recording(recorder)
        try:
            with quiet():
                self._results = [recorder.find(x) for x in function()]
        finally:
            backends.stop_recording(token)
        self._steps, self.inputs = recorder.steps, recorder.inputs
        captured = [v for v in recorder.elsewhere if isinstance(v.array, np.ndarray)]
        self._elsewhere = {v: Constant(v.array) for v in captured}  # a fit leaves them as they are
        self.recorder = recorder  # arrays from elsewhere are known by reference
        self.size, self.flexible = size, None if backends.backend_of(*raws).may_branch else False
        self._plans: dict[frozenset[int], Plan] = {}
        self._runs: dict[frozenset[int], Run] = {}

    def plan(self, lost: frozenset[int]) -> Plan:
        """What the program does without some bets."""
        if lost not in self._plans:
            self._plans[lost] = plan(self._steps, self._results, lost, self._elsewhere)
        return self._plans[lost]

    def _run(self, lost: frozenset[int]) -> Run:
        """The program as a function of the number of cells and the inputs."""
        if lost not in self._runs:
            text, names = write(self.plan(lost), self.inputs, lambda _, names: f"({', '.join(names)},)")
            several = _for_any(text, names, self.size) if self.flexible is not False else None
            if several is None:
                self.flexible = False
                several = _made(text.replace("def run(", "def run(_, ", 1), names)
            self._runs[lost] = several
        return self._runs[lost]

    def __call__(self, raws: list[Any], count: int | None = None, *, guard: bool = False) -> Sequence[Any]:
        """The results for other arrays of the same shapes; unless asked to ``guard``, 0 times infinity is not 0.

        With a ``count`` for arrays of so many cells.
        """
        lost = frozenset({GUARD}) if guard else frozenset()
        while True:
            out = silently(self._run(lost), [self.size if count is None else count, *raws])
            if type(out) is not Retry:
                return out
            lost |= {int(out)}


def _for_any(text: str, names: dict[str, Any], size: int) -> Run | None:
    """A program with the number of cells, ``n``, as its first argument: the same text with ``n`` for ``size``.

    Constants are cut to it; None if one of them differs from cell to cell.  A number that means something else and
    happens to be the same shows when results for fewer cells are compared with those of all.
    """
    text = re.sub(rf"\b{size}\b", "n", text).replace("def run(", "def run(n, ", 1)
    for name, value in names.items():
        if type(value) is np.ndarray and size in value.shape:
            if one_cell(value, size) is None:
                return None
            text = re.sub(rf"\b{name}\b", f"{name}[{', '.join(':n' if m == size else ':' for m in value.shape)}]", text)
    try:
        return _made(text, names)
    except SyntaxError:  # the number was part of another one
        return None


def one_cell(x: Any, size: int) -> Any:
    """A constant cut to one cell where it has so many; None if they differ."""
    one = x[tuple(slice(1) if m == size else slice(None) for m in x.shape)]
    repeated = not any(step for m, step in zip(x.shape, x.strides, strict=True) if m == size)
    return one if repeated or np.array_equal(x, np.broadcast_to(one, x.shape), equal_nan=x.dtype.kind in "fc") else None


def _made(text: str, names: dict[str, Any]) -> Run:
    """The function that a text defines."""
    found = dict(names)
    exec(compile(text, "<namedgrad.fit>", "exec"), found)  # noqa: S102 - the text of a program that was recorded
    run: Run = found["run"]
    return run
