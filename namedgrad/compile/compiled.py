"""A function that runs once; what it computed is replayed after that."""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.compile.arguments import Read, seen
from namedgrad.compile.program import Program, Results
from namedgrad.compile.record import Recorder, Var
from namedgrad.compile.surroundings import Slot, Surroundings, Traced
from namedgrad.transforms.calls import run

MOST_PROGRAMS = 256  # of one function; a program holds its constants, and the oldest goes first


class CacheInfo(NamedTuple):
    """What a compiled function holds."""

    programs: int
    recordings: int


class _Cache:
    """The programs of a function."""

    def __init__(self) -> None:
        self.programs: dict[Hashable, Program] = {}
        self.recordings = 0
        self.last: Program | None = None
        self.surroundings: Surroundings | None = None
        self.ignored: dict[Slot, Any] = {}  # what the function writes itself
        self.lock = threading.RLock()

    def keep(self, key: Hashable, program: Program) -> None:
        """Add a program, or put it in the place of one that no longer holds."""
        self.recordings += 1
        self.programs.pop(key, None)
        if len(self.programs) >= MOST_PROGRAMS:
            del self.programs[next(iter(self.programs))]
        self.programs[key] = program


class Compiled:
    """A function that is recorded once and replayed; see :func:`namedgrad.compile`."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f = f
        self._cache = _Cache()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``f`` of the arguments."""
        if backends.recording and backends.is_recording():
            return self._f(*args, **kwargs)
        cache, read = self._cache, Read()
        try:
            around = cache.surroundings
            if around is None or not around.current():
                around = self._look_around()
            key = (around.key, read.part(args), read.part(kwargs) if kwargs else None, read.shared(around))
        except Traced:
            return self._f(*args, **kwargs)
        program = cache.programs.get(key)
        if program is None or (program.pinned and not program.holds(read.plain + around.plain)):
            return self._first(args, kwargs)
        cache.last = program
        return self._run(program, read.raws + around.raws, args, kwargs)

    def _run(self, program: Program, raws: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The program's results; of matrices that cannot be done ``f`` itself says where they are."""
        try:
            return program.run(raws)
        except np.linalg.LinAlgError:
            self._f(*args, **kwargs)
            raise

    def _first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record, unless another thread has done so in the meantime, and run."""
        cache, read = self._cache, Read()
        with cache.lock:
            around = self._look_around()
            parts = (read.part(args), read.part(kwargs) if kwargs else None, read.shared(around))
            program = cache.programs.get((around.key, *parts))
            if program is None or not program.holds(read.plain + around.plain):
                recorder = Recorder()
                out, results = _record(self._f, args, kwargs, around, recorder)
                if results.traced:  # by a transform around this call, through an array that was captured out of sight
                    return out
                if written := around.changed():
                    cache.ignored.update(written)
                    around = _without(self._look_around(), around, recorder, len(read.raws))
                program = Program(recorder, results, read.plain + around.plain)
                cache.keep((around.key, *parts), program)
            cache.last = program
        return self._run(program, read.raws + around.raws, args, kwargs)

    def _look_around(self) -> Surroundings:
        old, new = self._cache.surroundings, Surroundings(self._f, ignored=self._cache.ignored)
        if old is not None and old.key == new.key:
            new.key = old.key  # found by identity from now on
        self._cache.surroundings = new
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self._f,)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def source(self) -> str:
        """The code that ran last, after :func:`exec` could have run it."""
        return "" if self._cache.last is None else self._cache.last.source

    def cache_info(self) -> CacheInfo:
        """How many programs it holds, and how often ``f`` was recorded."""
        return CacheInfo(len(self._cache.programs), self._cache.recordings)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self, '__qualname__', self._f)!s}>"


def _record(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], around: Surroundings, recorder: Recorder
) -> tuple[Any, Results]:
    """Run ``f`` under a recorder that knows its inputs; also its output taken apart."""
    args, keywords = seen(args, recorder), seen(kwargs, recorder)
    recorder.take(around.raws, around.plain, around.numbers)
    with recorder.listening():
        out = run(f, *args, **keywords)
        return out, Results(out, recorder)  # views are read while they are still recorded


def _without(now: Surroundings, before: Surroundings, recorder: Recorder, start: int) -> Surroundings:
    """Fit the inputs of a recording to what is looked at from now on: without what the function writes itself."""
    known = dict(zip(before.labels, map(recorder.find, before.raws), strict=True))
    kept = [known.get(label) or Var(raw) for label, raw in zip(now.labels, now.raws, strict=True)]
    for var, raw in zip(recorder.inputs[start:], before.raws, strict=True):
        if var not in kept:
            recorder.leave_out(var, raw)
    recorder.inputs[start:] = kept
    return now
