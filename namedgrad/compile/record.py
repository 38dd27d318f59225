"""One run of a function as a flat list of backend calls.

While a function runs, every call of a backend arrives at a :class:`Recorder`, which knows arrays by identity: an
operand is an input, the result of an earlier call, or an array from elsewhere.  The latter is kept by reference and
never computed with ahead of time, so that what its owner writes into it is seen.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.compile.uncollected import uncollected
from namedgrad.transforms.tape import quiet

SAME = frozenset({"asarray", "broadcast_to", "cast", "settle"})  # may return the operand: its shape or dtype decides
LOOSE = SAME | {"reshape"}  # a view or a copy, as dtype and memory require


class Var:
    """A value in a program: an input, an array from elsewhere, or the result of a call."""

    __slots__ = ("array", "dtype", "fixed", "kind", "scalar", "shape")

    def __init__(self, like: Any, *, array: Any = None, scalar: bool = False, fixed: bool = False) -> None:
        self.kind = type(like)
        self.shape: Any = getattr(like, "shape", ())
        self.dtype: Any = getattr(like, "dtype", None)  # None: a Python scalar
        self.array = array  # of an array from elsewhere
        self.scalar = scalar  # immutable, so that it may be handed out as it is
        self.fixed = fixed  # depends only on what Python code sees as it is, and may look at


class Step(NamedTuple):
    """One call; operands are variables or literals, also inside tuples and lists."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    used: tuple[Var, ...]  # the variables among the operands
    outs: tuple[Var, ...]
    shows: tuple[tuple[Var, ...], ...]  # per result: the operands whose memory it may show
    several: bool  # whether the function returns a tuple


def variables(value: Any) -> tuple[Var, ...]:
    """The variables in an operand."""
    if type(value) is Var:
        return (value,)
    found: list[Var] = []
    if type(value) is tuple or type(value) is list:
        for item in value:
            kind = type(item)
            if kind is Var:
                found.append(item)
            elif kind is tuple or kind is list:
                found += variables(item)
    return tuple(found)


# ------------------------------------------------------------------------------------------------ identity


class Int(int):
    """An integer that is an input: it has an identity of its own, and computes as the plain one does."""

    dtype = np.dtype(int)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_plain, args), **kwargs)


def _plain(x: Any) -> Any:
    return int(x) if type(x) is Int else x


def distinct(raw: Any) -> Any:
    """The same value as an object that nothing else refers to."""
    if isinstance(raw, np.generic):
        return np.array(raw)
    if not backends.is_number(raw):
        return backends.alias(raw)
    if isinstance(raw, int):
        return Int(raw)
    negative = -raw
    return -negative


# ------------------------------------------------------------------------------------------------ recorder


class Recorder(backends.Recorder):
    """Writes down every backend call of its context."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.inputs: list[Var] = []
        self.elsewhere: list[Var] = []
        self.looked = False  # whether a value that is no argument may have steered Python
        self.numbers = False  # whether numbers of NumPy were met that are no inputs, results or captured ones
        self._made: dict[Var, Any] = {}
        self._looked_through = 0  # steps of which that is noted
        self._captured: dict[int, Any] = {}
        self._known: dict[int, Var] = {}
        self._alive: dict[int, Any] = {}  # identities stay unique: what is freed is forgotten, what cannot tell is kept

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Calls of this context are written down."""
        token = backends.start_recording(self)
        try:
            with uncollected(), quiet():
                yield
        finally:
            backends.stop_recording(token)

    def take(self, raws: Sequence[Any], plain: Sequence[Any] = (), numbers: Sequence[Any] = ()) -> None:
        """The next inputs of the program; an object that is given twice is known by its first place.

        Those in ``plain`` Python code sees as they are, so that it may look at them.  The ``numbers`` are captured.
        """
        self._captured.update((id(n), n) for n in numbers)
        fixed = set(map(id, plain))
        for raw in raws:
            var = Var(raw, fixed=id(raw) in fixed)
            self.inputs.append(var)
            if id(raw) not in self._known:
                self._define(raw, var)

    def leave_out(self, var: Var, raw: Any) -> None:
        """An input is none after all, but an array from elsewhere."""
        var.array, var.fixed = raw, True
        self.elsewhere.append(var)

    def find(self, raw: Any) -> Any:
        """The variable that stands for an operand, or the operand itself if it is not an array."""
        var = self._known.get(id(raw))
        if var is not None:
            return var
        if type(raw) in (tuple, list):
            found = type(raw)(self.find(r) for r in raw)
            return found if variables(found) else raw
        if isinstance(raw, np.generic):
            self.numbers = self.numbers or id(raw) not in self._captured
            return raw
        if not backends.is_array(raw):
            return raw
        var = self._define(raw, Var(raw, array=raw, fixed=True))
        self.elsewhere.append(var)
        return var

    def knows(self, raw: Any) -> bool:
        """Whether a value is an input or a result."""
        return id(raw) in self._known

    def is_operand(self, raw: Any) -> bool:
        """Whether an input serves in some call."""
        var = self._known.get(id(raw))
        return any(var is v for step in self.steps for v in step.used)

    def fixes(self, raw: Any) -> bool:
        """Whether the program may depend on a value; from then on it does."""
        found = self.find(raw)
        if type(found) is not Var:
            return True
        self.looked = self.looked or found.fixed
        return found.fixed

    def alike(self, x: Any, y: Any) -> bool:
        """Whether two values are made by the same calls."""
        made, pairs, seen = self._made_by_now(), [(self.find(x), self.find(y))], set()
        while pairs:
            a, b = pairs.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            if type(a) is Var is type(b):
                a, b = made.get(a, a.array), made.get(b, b.array)
            several = type(a) in (tuple, list)
            if type(a) is not type(b) or (several and len(a) != len(b)):
                return False
            if several:
                pairs += zip(a, b, strict=True)
            elif a is None or not backends.alike(a, b):
                return False
        return True

    def _made_by_now(self) -> dict[Var, Any]:
        """How variables are made, by all steps so far."""
        for s in self.steps[self._looked_through :]:
            self._made.update((v, (s.function, i, s.args, [*s.kwargs.items()])) for i, v in enumerate(s.outs))
        self._looked_through = len(self.steps)
        return self._made

    def _define(self, raw: Any, var: Var) -> Var:
        self._known[id(raw)] = var
        try:
            self._alive[id(raw)] = weakref.ref(raw, functools.partial(_forget, weakref.ref(self), id(raw)))
        except TypeError:  # a number
            self._alive[id(raw)] = raw
        return var

    def record(self, function: Callable[..., Any], raw: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Note one call; its results as objects that no other call has returned."""
        name = getattr(function, "__name__", "")
        # What a rule builds on the host, for a backend to take, is a constant of the program.
        built = name == "asarray" and id(raw[0]) not in self._known
        args = raw if built else tuple(self.find(r) for r in raw)
        if name in SAME and id(out) in self._known:
            return out
        several = type(out) is tuple or hasattr(out, "_fields")
        results = [self._fresh(o) for o in (out if several else (out,))]
        shows = tuple(self._shown(function, name, args, raw, o) for o in results)
        keywords = {k: self.find(v) for k, v in kwargs.items()}
        used = variables((args, tuple(keywords.values())))
        fixed = all(v.fixed for v in used)
        outs = tuple(
            self._define(r, Var(r, scalar=isinstance(o, np.generic), fixed=fixed))
            for r, o in zip(results, out if several else (out,), strict=True)
        )
        self.steps.append(Step(function, args, keywords, used, outs, shows, several))
        if not several:
            return results[0]
        return type(out)(*results) if hasattr(out, "_fields") else tuple(results)

    def _fresh(self, out: Any) -> Any:
        if isinstance(out, np.generic):  # True and False are single objects
            return np.array(out)
        if backends.is_number(out):
            return distinct(out)
        if out is not None and not backends.is_array(out):  # a cell of objects, such as texts or dates of cftime
            return np.array(out, object)
        return backends.alias(out) if id(out) in self._known else out

    @staticmethod
    def _shown(function: Any, name: str, args: tuple[Any, ...], raw: tuple[Any, ...], out: Any) -> tuple[Var, ...]:
        if isinstance(function, np.ufunc):
            return ()
        return tuple(a for a, r in zip(args, raw, strict=True) if type(a) is Var and (name in LOOSE or _shares(out, r)))


def _forget(recorder: weakref.ref[Recorder], identity: int, _: Any) -> None:
    """Of an array that nobody has any more."""
    if (known := recorder()) is not None:
        known._known.pop(identity, None)
        known._alive.pop(identity, None)


def _shares(out: Any, raw: Any) -> bool:
    """Whether an array may show memory of an operand; lazy arrays are values and show none."""
    if isinstance(out, np.ndarray):
        return isinstance(raw, np.ndarray) and np.may_share_memory(out, raw)
    kind = backends.backend_of(out)
    return kind.name == "cupy" and type(out) is type(raw) and bool(kind.xp.may_share_memory(out, raw))
