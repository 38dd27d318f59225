"""``compile``: run a function once, then replay what it computed."""

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
from namedgrad.transforms.tape import quiet

MOST_PROGRAMS = 256  # of one function; a program holds its constants, and the oldest goes first


class CacheInfo(NamedTuple):
    """What a compiled function holds."""

    programs: int
    recordings: int


def compile(f: Callable[..., Any]) -> Compiled:
    """Function with the results of ``f`` that runs ``f`` once and then replays its array calls.

    ``f`` is recorded once per structure of its arguments, dims, vectorized names, shapes, dtypes, backend and values
    of coordinates.  Later calls run straight-line array calls: constants are computed ahead, what does not reach a
    result is left out, every buffer is freed or written over after its last use.

    Parameters
    ----------
    f : callable
        Of DimArrays, positional and plain arrays, xarray objects, numbers, and nested structures of them; also
        ``ng.grad(g)`` and every other transform.

    Returns
    -------
    callable
        ``.source`` is the code that it runs, ``.cache_info()`` counts programs and recordings.

    Raises
    ------
    TraceError
        While recording, where Python would depend on a value: ``bool()``, ``float()``, ``.item()``, ``np.asarray()``.

    Notes
    -----
    - Integers, floats and complex numbers among the arguments are inputs; bools, strings and ``None`` are part of what
      is recorded.  An integer that must steer Python is captured: ``ng.compile(functools.partial(f, n=3))``.
    - What ``f`` captures (closure, globals, defaults, attributes of objects of the user's classes) is read at every
      call: arrays are inputs, another number or object leads to another recording.  Installed packages are taken to
      hold no arrays of their own; those behind a function call are seen by reference.
    - Where values are not finite, slower code runs that guards 0 against them, from then on.
    - Floating-point warnings are off, as in every transform.
    - What does not compute with arrays of this library, ``print`` for example, happens at the recording only.
    - Under differentiation, and inside another compiled function, ``f`` itself runs: derivatives are those of ``f``,
      and ``ng.compile(ng.grad(f))`` is the way to compile them.

    Examples
    --------
    >>> import namedgrad as ng
    >>> f = ng.compile(ng.grad(lambda x, a: (a * x * x).sum()))
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> f(x, 3.0).data, f(x, 0.5).data
    (array([ 6., 12.]), array([1., 2.]))
    >>> f.cache_info()
    CacheInfo(programs=1, recordings=1)
    """
    return Compiled(f)


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
            key = (around.key, read.part(args), read.part(kwargs) if kwargs else None)
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
            parts = (read.part(args), read.part(kwargs) if kwargs else None)
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
        return compile, (self._f,)

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
    recorder.take(around.raws, around.plain)
    token = backends.start_recording(recorder)
    try:
        with quiet():
            out = f(*args, **keywords)
            return out, Results(out, recorder)  # views are read while they are still recorded
    finally:
        backends.stop_recording(token)


def _without(now: Surroundings, before: Surroundings, recorder: Recorder, start: int) -> Surroundings:
    """Fit the inputs of a recording to what is looked at from now on: without what the function writes itself."""
    known = dict(zip(before.labels, map(recorder.find, before.raws), strict=True))
    kept = [known.get(label) or Var(raw) for label, raw in zip(now.labels, now.raws, strict=True)]
    for var, raw in zip(recorder.inputs[start:], before.raws, strict=True):
        if var not in kept:
            recorder.leave_out(var, raw)
    recorder.inputs[start:] = kept
    return now
