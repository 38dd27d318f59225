"""Arrays that are written a part at a time, as a program with time steps does that fills a table row by row.

An array never changes, so each write makes another one; copied each time, a table would cost as many copies as it has
rows, in the program and in its gradient.  Here all versions share the cells of the latest one, and each earlier one
knows what was where the next one differs (Baker 1991, Shallow Binding Makes Functional Arrays Fast, SIGPLAN Notices
26).
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.backends import NUMPY, call
from namedgrad.backends.base import Backend

At = tuple[slice | int, ...]

MANY = 1 << 12  # cells: fewer are copied within the time of a call
SMALL_PART = 4  # how often what is written, or read, would fit into the array


class State:
    """What an array holds: all cells, or the next state and what was where that differs.

    Who asks for all cells has them for good.  Those that share cells share a lock: threads may write on from one state.
    """

    __slots__ = ("_cells", "_is_shown", "_later", "_lock", "dtype", "shape")

    def __init__(self, cells: Any, *, is_shown: bool = False, lock: Any = None) -> None:
        self._cells, self.shape, self.dtype = cells, cells.shape, cells.dtype
        self._is_shown, self._lock = is_shown, lock or threading.RLock()
        self._later: tuple[State, At, Any] | None = None

    def all(self) -> Any:
        """All cells, in an array that is not written any more."""
        with self._lock:
            if self._cells is None:
                self._cells = self._restored()
            self._is_shown = True
            return self._cells

    def _restored(self) -> Any:
        """The cells as they were, in an array of their own.

        States on a long way here are given theirs, too: who asks for all in turn goes each part of the way once.
        """
        path, state = list[tuple[State, At, Any]](), self
        while state._later is not None:
            later, at, before = state._later
            path.append((state, at, before))
            state = later
        cells, gone = call(NUMPY.copy, state._cells), 0
        for state, at, before in reversed(path):
            call(NUMPY.replace, cells, before, at, "put")
            gone += before.size
            if gone > cells.size and state is not self:
                state._cells, state._later, gone = cells, None, 0
                cells = call(NUMPY.copy, cells)
        self._later = None
        return cells

    def read(self, at: At) -> Any:
        """Some cells, in an array that is not written any more."""
        with self._lock:
            if backends.is_recording():
                whole = self.all()  # which the program may capture
                return call(NUMPY.part if self._is_part(whole[at]) else NUMPY.getitem, whole, at)
            if self._cells is None or self._is_shown:
                return NUMPY.getitem(self.all(), at)
            part = NUMPY.getitem(self._cells, at)
            if type(part) is not np.ndarray:  # a number
                return part
            return call(NUMPY.part, self._cells, at) if self._is_part(part) else NUMPY.getitem(self.all(), at)

    def _is_part(self, part: Any) -> bool:
        return type(part) is np.ndarray and SMALL_PART * part.size <= math.prod(self.shape)

    def write(self, at: At, value: Any, how: str) -> State:
        """The next state, with a value put or added."""
        with self._lock:
            if backends.is_recording() or self._cells is None or self._is_shown:  # a program writes in place
                return State(call(NUMPY.write_block, self.all(), value, at, how))
            before = call(NUMPY.replace, self._cells, value, at, how)
            new = State(self._cells, lock=self._lock)
            self._cells, self._later = None, (new, at, before)
            return new


class Version(DimArray):
    """One of the arrays that a NumPy array has been."""

    __slots__ = ("state",)

    def __init__(self, state: State, names: Names, hidden: frozenset[Name]) -> None:
        self.state, self.names, self.hidden = state, names, hidden

    @property
    def raw(self) -> Any:
        """All cells."""
        return self.state.all()

    @property
    def full_shape(self) -> tuple[int, ...]:
        """Sizes of all axes."""
        return self.state.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the cells."""
        return self.state.dtype

    @property
    def backend(self) -> str:
        """NumPy's: no other array is written in place."""
        return NUMPY.name

    def write(self, at: At, value: Any, how: str, hidden: frozenset[Name]) -> Version:
        """The next version, with a value put or added."""
        return Version(self.state.write(at, value, how), self.names, hidden)


def version_of(x: DimArray) -> Version:
    """An array of NumPy's, which others have, too, as the first version."""
    return x if type(x) is Version else Version(State(x.raw, is_shown=True), x.names, x.hidden)


def renamed(x: DimArray, names: Names, hidden: frozenset[Name]) -> DimArray:
    """The same cells under other names."""
    return Version(x.state, names, hidden) if type(x) is Version else make(x.raw, names, hidden)


def settled(x: DimArray) -> DimArray:
    """An array that no version is made of any more."""
    return make(x.raw, x.names, x.hidden) if type(x) is Version else x


def home_of(x: DimArray) -> Backend:
    """Where an array is, without asking for its cells."""
    return NUMPY if type(x) is Version else backends.backend_of(x.raw)


def is_part(x: DimArray, v: DimArray, cells: int) -> bool:
    """Whether both are NumPy's, and so many cells few beside those of ``x``, which are many."""
    if not (type(x) is Version or type(x.raw) is np.ndarray) or home_of(v) is not NUMPY:
        return False
    size = math.prod(x.full_shape)
    return size >= MANY and size >= SMALL_PART * cells
