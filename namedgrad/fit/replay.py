"""An evaluation for a batch of cells, recorded once and replayed on the numbers of others.

Plain arrays go in and come out, by the machinery of :mod:`namedgrad.compile`; so the user's Python code, names and
traces cost nothing from the second batch on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import backends
from namedgrad.compile.emit import Retry, emit
from namedgrad.compile.optimise import GUARD, plan
from namedgrad.compile.program import silently
from namedgrad.compile.record import Recorder
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

    Attributes
    ----------
    recorder : what was recorded

    Raises
    ------
    TraceError
        If the run depends on their values.
    """

    def __init__(self, function: Callable[[], Sequence[Any]], raws: Sequence[Any]) -> None:
        recorder = Recorder()
        recorder.take(raws)
        token = backends.start_recording(recorder)
        try:
            with quiet():
                self._results = [recorder.find(x) for x in function()]
        finally:
            backends.stop_recording(token)
        self._steps, self._inputs = recorder.steps, recorder.inputs
        self.recorder = recorder  # arrays from elsewhere are known by reference
        self._runs: dict[frozenset[int], Run] = {}

    def _run(self, lost: frozenset[int]) -> Run:
        if lost not in self._runs:
            made = plan(self._steps, self._results, lost)
            self._runs[lost] = emit(made, self._inputs, lambda _, names: f"({', '.join(names)},)")[1]
        return self._runs[lost]

    def __call__(self, raws: list[Any], *, guard: bool = False) -> Sequence[Any]:
        """The results for other arrays of the same shapes; unless asked to ``guard``, 0 times infinity is not 0."""
        lost = frozenset({GUARD}) if guard else frozenset()
        while True:
            out = silently(self._run(lost), raws)
            if type(out) is not Retry:
                return out
            lost |= {int(out)}
