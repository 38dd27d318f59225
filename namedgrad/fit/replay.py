"""An evaluation for a batch of cells, recorded once and replayed on the numbers of others.

Plain arrays go in and come out, by the machinery of :mod:`namedgrad.compile`; so the user's Python code, names and
traces cost nothing from the second batch on.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad import backends
from namedgrad.compile.emit import Retry, write
from namedgrad.compile.optimise import GUARD, LARGEST_CONSTANT, Plan, plan
from namedgrad.compile.program import silently
from namedgrad.compile.record import Recorder
from namedgrad.compile.rewrite import Constant
from namedgrad.fit.factors import factored
from namedgrad.fit.orders import cells_first
from namedgrad.fit.places import is_here
from namedgrad.fit.regroup import regrouped

Run = Callable[..., Any]
TEXTS = 64  # programs that are remembered: Python takes as long to compile one as a round of many cells


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
    flexible : whether the program runs for fewer cells than that, too, as far as has been found out

    Raises
    ------
    TraceError
        If the run depends on their values.
    """

    def __init__(self, function: Callable[[], Sequence[Any]], raws: Sequence[Any], size: int) -> None:
        recorder = Recorder()
        recorder.take(raws)
        with recorder.listening():
            self._results = [recorder.find(x) for x in function()]
        self._steps, self.inputs = recorder.steps, recorder.inputs
        captured = [v for v in recorder.elsewhere if isinstance(v.array, np.ndarray)]
        kept: dict[Any, Constant] = {}  # what is computed twice of a coordinate is one
        # a fit leaves them as they are
        self._elsewhere = {v: kept.setdefault(_content(v.array), Constant(v.array)) for v in captured}
        self.recorder = recorder  # arrays from elsewhere are known by reference
        self.size, self.flexible, self._grows = size, False, False
        self._twin: Replay | None = None
        self._plans: dict[frozenset[int], Plan] = {}
        self._texts: dict[frozenset[int], _Text] = {}
        self._runs: dict[frozenset[int], Run] = {}
        self._rigid: set[frozenset[int]] = set()

    def settle(self, other: Callable[[], Replay]) -> None:
        """Find out whether the program is the same for any number of cells.

        It is where it does not mention their number.  Where it does, the number may mean something else that happens to
        be the same: ``other`` records the program for another number of cells, and that must be all that differs.
        """
        written = self._written(frozenset())
        self._twin = other() if written.mentions(self.size) else None
        self.flexible = self.bends(frozenset())
        self._grows = not any(type(x) is np.ndarray and self.size in x.shape for x in written.known.values())

    def plan(self, lost: frozenset[int]) -> Plan:
        """What the program does without some bets."""
        if lost not in self._plans:
            known = self._elsewhere
            made = plan(self._steps, self._results, lost, known, thrifty=False, checked=True)  # of a few cells
            self._plans[lost] = made if GUARD in lost else regrouped(cells_first(made, self.size), self.size)
        return self._plans[lost]

    def serves(self, size: int) -> bool:
        """Whether the program runs for up to so many cells: for more than its own if no constant has a number each."""
        return size == self.size or (self.flexible and (size < self.size or self._grows))

    def bends(self, lost: frozenset[int]) -> bool:
        """Whether the program without some bets is one for any number of cells."""
        self._run(lost)
        return lost not in self._rigid

    def _written(self, lost: frozenset[int]) -> _Text:
        if lost not in self._texts:
            made = self.plan(lost) if GUARD in lost else factored(self.plan(lost), self.size)
            self._texts[lost] = _Text.of(*write(made, self.inputs, lambda _, names: f"({', '.join(names)},)"))
        return self._texts[lost]

    def _run(self, lost: frozenset[int]) -> Run:
        """The program as a function of the number of cells and the inputs."""
        if lost not in self._runs:
            written = self._written(lost)
            general = self._general(lost, written)
            if general is None:
                self._rigid.add(lost)
            self._runs[lost] = _made(general or written.text.replace("def run(", "def run(_, ", 1), written.names)
        return self._runs[lost]

    def _general(self, lost: frozenset[int], written: _Text) -> str | None:
        """The text for any number of cells; None if it is not known to be one."""
        found, known = written.for_any(self.size), written.known
        if not written.mentions(self.size):
            return found
        if found is None or self._twin is None:
            return None
        others, size = self._twin._written(lost), self._twin.size
        same = found == others.for_any(size) and known.keys() == others.known.keys()
        return found if same and all(_agree(x, self.size, others.known[n], size) for n, x in known.items()) else None

    def __call__(self, raws: list[Any], count: int | None = None, *, guard: bool = False) -> Sequence[Any]:
        """The results for other arrays of the same shapes; unless asked to ``guard``, 0 times infinity is not 0.

        With a ``count`` for arrays of so many cells.

        Raises
        ------
        RigidError
            If the program is not known to be one for so many.
        """
        lost = frozenset({GUARD}) if guard else frozenset[int]()
        while True:
            run = self._run(lost)
            if count not in {None, self.size} and lost in self._rigid:
                raise RigidError
            out = silently(run, [self.size if count is None else count, *raws])
            if type(out) is not Retry:
                return out
            lost |= {int(out)}


def _content(x: Any) -> Any:
    """Equal for arrays that are the same; large ones are told by what they are."""
    return (x.dtype, x.strides, x.shape, x.tobytes()) if x.nbytes <= LARGEST_CONSTANT else id(x)


class RigidError(Exception):
    """A program is one for so many cells only."""


class _Text(NamedTuple):
    """A program as text, with what its names stand for, and with the same on the host."""

    text: str
    names: dict[str, Any]
    known: dict[str, Any]

    @classmethod
    def of(cls, text: str, names: dict[str, Any]) -> Self:
        """Constants are fetched from a device together."""
        away = {n: x for n, x in names.items() if type(x) is not type and hasattr(x, "strides") and not is_here(x)}
        found = backends.backend_of(*away.values()).all_to_numpy([*away.values()]) if away else []
        return cls(text, names, names | dict(zip(away, found, strict=True)))

    def mentions(self, size: int) -> bool:
        """Whether a number occurs in the program or in its constants."""
        known = rf"\b{size}\b"
        return bool(re.search(known, self.text)) or any(
            size in x.shape if type(x) is np.ndarray else re.search(known, repr(x)) for x in self.known.values()
        )

    def for_any(self, size: int) -> str | None:
        """The program with the number of cells, ``n``, as its first argument: the same text with ``n`` for ``size``.

        Constants are cut to it; None if one of them differs from cell to cell.
        """
        text = re.sub(rf"\b{size}\b", "n", self.text).replace("def run(", "def run(n, ", 1)
        for name, x in self.known.items():
            if type(x) is np.ndarray and size in x.shape:
                if one_cell(x, size) is None:
                    return None
                text = re.sub(rf"\b{name}\b", f"{name}[{', '.join(':n' if m == size else ':' for m in x.shape)}]", text)
        return text


def _agree(x: Any, size: int, y: Any, other: int) -> bool:
    """Whether two constants are the same but for the number of cells."""
    if type(x) is np.ndarray and type(y) is np.ndarray:
        x, y = (one_cell(v, n) if n in v.shape else v for v, n in ((x, size), (y, other)))
        return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
    return bool(x is y or x == y)


def one_cell(x: Any, size: int) -> Any:
    """A constant cut to one cell where it has so many; None if they differ."""
    one = x[tuple(slice(1) if m == size else slice(None) for m in x.shape)]
    repeated = not any(step for m, step in zip(x.shape, x.strides, strict=True) if m == size)
    return one if repeated or np.array_equal(x, np.broadcast_to(one, x.shape), equal_nan=x.dtype.kind in "fc") else None


@functools.lru_cache(TEXTS)
def _compiled(text: str) -> CodeType:
    return compile(text, "<namedgrad.fit>", "exec")


def _made(text: str, names: dict[str, Any]) -> Run:
    """The function that a text defines."""
    found = dict(names)
    exec(_compiled(text), found)  # noqa: S102 - the text of a program that was recorded
    run: Run = found["run"]
    return run
