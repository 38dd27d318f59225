"""Backends: positional functions by name, chosen by the type of the raw arrays.

This package is the only place that computes.  Everything above it passes through :func:`call`, where a recorder
(:mod:`namedgrad.compile`) can listen.  A backend's module is touched only if the user has already imported it.
"""

from __future__ import annotations

import importlib
import operator
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from namedgrad.backends.base import Backend
from namedgrad.backends.foreign import as_plain as as_plain
from namedgrad.backends.foreign import columns as columns
from namedgrad.backends.foreign import is_sparse as is_sparse
from namedgrad.backends.foreign import is_table as is_table
from namedgrad.backends.foreign import without_mask as without_mask
from namedgrad.backends.numpy import NumpyBackend

NUMPY = NumpyBackend()
_BACKENDS: dict[str, Backend] = {"numpy": NUMPY}
_ON_DEMAND = {"cupy": "CupyBackend", "dask": "DaskBackend"}
_BY_TYPE: dict[type, Backend | None] = {np.ndarray: NUMPY, np.memmap: NUMPY, np.ma.MaskedArray: NUMPY}
_PLAIN = {np.ndarray, bool, int, float, complex, np.float64, np.float32}  # all that most operations meet
_SCALARS = (bool, int, float, complex, np.generic)


class Recorder:
    """Receives every backend call made in its context."""

    def record(self, function: Callable[..., Any], raw: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Note one call; the result, as an object that no other call has returned."""
        raise NotImplementedError

    def knows(self, raw: Any) -> bool:
        """Whether a value is an input or a result that is remembered."""
        return False

    def fixes(self, raw: Any) -> bool:
        """Whether a value is the same in every run of what is recorded."""
        raise NotImplementedError

    def alike(self, x: Any, y: Any) -> bool:
        """Whether two values are the same in every run."""
        raise NotImplementedError


RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
recording = 0  # how many recorders are active anywhere: the context is looked up only if there is one
_COUNTING = threading.Lock()


def start_recording(recorder: Recorder) -> Any:
    """Send the calls of this context to ``recorder`` until :func:`stop_recording` is given the token."""
    global recording  # noqa: PLW0603 - a counter that keeps the hot path to one global read
    with _COUNTING:
        recording += 1
    return RECORDER.set(recorder)


def stop_recording(token: Any) -> None:
    """Undo :func:`start_recording`."""
    global recording  # noqa: PLW0603 - see above
    with _COUNTING:
        recording -= 1
    RECORDER.reset(token)


def is_recording() -> bool:
    """Whether calls of this context are recorded: values must then not steer the program."""
    return recording > 0 and RECORDER.get() is not None


def is_fixed(raw: Any) -> bool:
    """Whether a value is not one that a program being recorded leaves open."""
    recorder = RECORDER.get() if recording else None
    return recorder is None or recorder.fixes(raw)


def same(x: Any, y: Any) -> bool:
    """Whether NumPy arrays of one shape hold the same numbers, none of them NaN; others are not looked at."""
    return not isinstance(x, np.ndarray) or bool((x == y).all())


def alike(x: Any, y: Any) -> bool:
    """Whether two values are the same, also NaN; lazy ones, and those that a program leaves open, if made alike."""
    if x is y:
        return True
    recorder = RECORDER.get() if recording else None
    if recorder is not None and not (recorder.fixes(x) and recorder.fixes(y)):
        return recorder.alike(x, y)
    if hasattr(x, "__dask_graph__"):
        return bool(x.name == y.name)
    if is_array(x) and not backend_of(x).may_branch:  # a device is not waited for
        return False
    if np.shape(x) != np.shape(y):
        return False
    equal = x == y
    return bool(np.all(equal) or np.all(equal | (operator.ne(x, x) & operator.ne(y, y))))


def is_known(raw: Any) -> bool:
    """Whether a program is being recorded of which a value is an input or a result."""
    recorder = RECORDER.get() if recording else None
    return recorder is not None and recorder.knows(raw)


def may_look(raw: Any) -> bool:
    """Whether a value may steer Python: on NumPy, unless a program is being recorded that leaves it open."""
    return backend_of(raw).may_branch and is_fixed(raw)


def nonzero_everywhere(raw: Any) -> bool:
    """Whether a value may be looked at, and is 0 nowhere."""
    if not may_look(raw):
        return False
    return bool(raw) if is_number(raw) else NUMPY.has_no_zero(raw)


def known_finite(raw: Any) -> bool:
    """Whether a value may be looked at, and is finite."""
    backend = backend_of(raw)
    return backend.may_branch and not is_recording() and backend.isfinite_all(raw)


def call(function: Callable[..., Any], *raw: Any, **kwargs: Any) -> Any:
    """Call a backend function on raw arrays: the one place where that happens.

    A recorded call is made again with other values.  So a function writes into no operand, and whether it returns an
    operand, or a view of one, is decided by shapes, dtypes and arguments that are no arrays, never by values.
    """
    out = function(*raw, **kwargs)
    if recording and (recorder := RECORDER.get()) is not None:
        return recorder.record(function, raw, kwargs, out)
    return out


def note(function: Callable[..., Any], raw: tuple[Any, ...], out: Any) -> Any:
    """Tell the recorder of this context, if there is one, of a call that was made directly; the result to use."""
    recorder = RECORDER.get()
    return out if recorder is None else recorder.record(function, raw, {}, out)


def choose(fast: Any, safe: Any) -> Any:
    """Only while recording: the program may go on with ``fast`` as long as that is finite; ``safe`` is right always."""
    return alias(safe)


def alias(raw: Any) -> Any:
    """The same values as another object: a view, of a lazy array its graph."""
    if is_number(raw):
        return raw
    name = backend_of(raw).name
    return raw.view() if name == "numpy" else raw.copy() if name == "dask" else raw[...]


def get_backend(name: str) -> Backend:
    """The backend called ``"numpy"``, ``"cupy"`` or ``"dask"``; its module is imported if need be."""
    if name not in _BACKENDS:
        if name not in _ON_DEMAND:
            raise ValueError(f"unknown backend {name!r}: choose 'numpy', 'cupy' or 'dask'")
        try:
            module = importlib.import_module(f"namedgrad.backends.{name}")
        except ImportError as error:  # that of CuPy is imported later
            raise ImportError(f"the backend {name!r} is not installed: pip install 'namedgrad[{name}]'") from error
        _BACKENDS[name] = getattr(module, _ON_DEMAND[name])()
    return _BACKENDS[name]


def _find(kind: type) -> Backend | None:
    """The backend of an array type, None for scalars and anything that is not an array."""
    if issubclass(kind, _SCALARS):
        return None
    if issubclass(kind, np.ndarray):
        return NUMPY
    cupy, dask = sys.modules.get("cupy"), sys.modules.get("dask.array")
    if cupy is not None and issubclass(kind, cupy.ndarray):
        return get_backend("cupy")
    if dask is not None and issubclass(kind, dask.Array):
        return get_backend("dask")
    own = "; it was given for a plain number: use float(x), or before ng.compile functools.partial(f, option)"
    known = f"{kind.__module__}.{kind.__qualname__} is not an array of a known backend (numpy, cupy, dask)"
    raise TypeError(known + own * kind.__module__.startswith("namedgrad."))


def is_array(raw: Any) -> bool:
    """Whether ``raw`` is an array of one of the backends (scalars are not)."""
    try:
        return backend_of_type(type(raw)) is not None
    except TypeError:
        return False


def memory(raw: Any) -> Any:
    """The array whose memory ``raw`` shows, as far as NumPy's arrays go."""
    while isinstance(raw, np.ndarray) and isinstance(raw.base, np.ndarray):
        raw = raw.base
    return raw


def is_number(raw: Any) -> bool:
    """Whether ``raw`` is a number of Python's, which never changes the dtype of what it meets."""
    return isinstance(raw, (int, float, complex)) and not isinstance(raw, np.generic)


def backend_of_type(kind: type) -> Backend | None:
    """The backend of an array type, None for scalars; a TypeError for anything else."""
    try:
        return _BY_TYPE[kind]
    except KeyError:
        found = _BY_TYPE[kind] = _find(kind)
        return found


def backend_of(*raw: Any) -> Backend:
    """The backend that computes on these arrays together; scalars join any, NumPy joins dask, nothing else mixes."""
    for r in raw:
        if type(r) not in _PLAIN:
            return _joint_backend(raw)
    return NUMPY


def _joint_backend(raw: tuple[Any, ...]) -> Backend:
    found: Backend = NUMPY
    met: set[Backend] = set()
    for r in raw:
        b = backend_of_type(type(r))
        if b is not None and not (b is NUMPY and r.ndim == 0):
            met.add(b)
            if b is not NUMPY:
                found = b
    if len(met) > 1 and not all(b.meets_host for b in met):
        devices = sorted(b.name for b in met)
        raise TypeError(
            f"operands are on different devices: {' and '.join(devices)}; "
            f"move one explicitly with {' or '.join(f'.to({d!r})' for d in devices)}"
        )
    return found
