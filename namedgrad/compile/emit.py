"""From a plan to Python source: straight-line calls on local variables, each freed by its last use.

A ufunc whose operand dies with it writes its result there, which is faster at every size.
"""

from __future__ import annotations

import cmath
import keyword
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.backends import NUMPY
from namedgrad.backends.rows import BLAS_THREADS_FROM
from namedgrad.compile.optimise import Line, Plan, Test
from namedgrad.compile.record import Var, variables
from namedgrad.compile.rewrite import Constant

KEYWORD_ONLY = {np.maximum, np.minimum}  # NumPy warns of a third positional argument; elsewhere it is the faster way
ADDING = {NUMPY.plus_part, NUMPY.write_block}  # to their first operand
MADE_ANEW = {NUMPY.uncut, NUMPY.part, NUMPY.power, *ADDING}  # whose results own their memory, as those of ufuncs do
NOT_IN_PLACE = {np.sign}  # a million cells of both signs take 5.6 ms where they lie, 0.8 to elsewhere


class Retry(int):
    """What a run returns in place of a result when it has lost the bet of this number."""


class Source:
    """Lines of a function, and what they refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {"new": object.__new__, "DimArray": DimArray}
        self._names: dict[Any, str] = {}

    def refer(self, value: Any, base: str) -> str:
        """A global name for a value, which has one name however often it is asked for."""
        key = value if callable(value) else id(value)  # bound methods are equal, not identical
        known = self._names.get(key)
        if known is None:
            base = base if base.isidentifier() and not keyword.iskeyword(base) else "value"
            known, count = base, 1
            while known in self.globals:
                count += 1
                known = f"{base}_{count}"
            self.globals[known] = value  # which keeps its identity unique
            self._names[key] = known
        return known

    def literal(self, value: Any) -> str:
        """Text for a value that is not a variable."""
        if type(value) is Constant:
            return self.refer(value.value, "constant")
        if type(value) in (int, bool, str, type(None), type(...)) or (type(value) is float and np.isfinite(value)):
            return repr(value)
        if type(value) is tuple:
            return f"({''.join(self.literal(v) + ', ' for v in value)})"
        if type(value) is slice:
            return f"slice({self.literal(value.start)}, {self.literal(value.stop)}, {self.literal(value.step)})"
        return self.refer(value, "value")


class _Locals:
    """Which variable lives in which local name, and for how long."""

    def __init__(self, plan: Plan, inputs: Sequence[Var]) -> None:
        self.owners = plan.owners
        self.names = {v: f"a{i}" for i, v in reversed(list(enumerate(inputs)))}
        self.fresh: set[Var] = set()  # results that own their memory
        self.last: dict[Any, int] = {}  # the last line that needs a variable, or memory that it owns
        for at, line in enumerate(plan.code):
            self._use(line.used, at)
        self._use(variables(tuple(plan.results)), len(plan.code))
        self._count, self._free = 0, list[str]()

    def _use(self, used: Sequence[Var], at: int) -> None:
        for v in used:
            self.last[v] = at
            self.last.update((("memory", o), at) for o in self.owners.get(v, {v}))

    def dying(self, used: Sequence[Var], at: int) -> list[Var]:
        """Results of earlier lines that this one uses last."""
        return [v for v in dict.fromkeys(used) if self.last[v] == at and self.names.get(v, "a")[0] == "t"]

    def target(self, line: Line, dying: Sequence[Var], at: int) -> Var | None:
        """A dying operand whose memory may take the result."""
        function = line.call.function
        if function in ADDING:
            whole = line.call.args[0]
            return whole if whole in dying and whole in self.fresh and self.last["memory", whole] == at else None
        if not isinstance(function, np.ufunc) or function.nout > 1 or function.signature or line.call.kwargs:
            return None
        if function in NOT_IN_PLACE:
            return None
        out = line.step.outs[0]
        if math.prod(out.shape) == 1:  # to write over a single element takes NumPy three times as long as to make one
            return None
        ours = (v for v in dying if v in self.fresh and self.last["memory", v] == at)
        return next((v for v in ours if (v.shape, v.dtype) == (out.shape, out.dtype)), None)

    def take(self, v: Var, name: str | None = None) -> str:
        """A name for a new result."""
        if name is None:
            if not self._free:
                self._free.append(f"t{self._count}")
                self._count += 1
            name = self._free.pop()
        self.names[v] = name
        return name

    def free(self, names: Sequence[str]) -> None:
        """Names that may be used again."""
        self._free.extend(names)


def emit(
    plan: Plan, inputs: Sequence[Var], finish: Callable[[Source, list[str]], str]
) -> tuple[str, Callable[..., Any]]:
    """The text of a function of the inputs, and the function."""
    text, names = write(plan, inputs, finish)
    exec(compile(text, "<namedgrad.compile>", "exec"), names)
    return text, names["run"]


def write(
    plan: Plan, inputs: Sequence[Var], finish: Callable[[Source, list[str]], str]
) -> tuple[str, dict[str, Any]]:
    """The text of a function of the inputs, called ``run``, and what its names refer to.

    ``finish`` writes the lines that put the results together, given their names, and returns the expression to return.
    """
    source, local = Source(), _Locals(plan, inputs)
    for at, line in enumerate(plan.code):
        _write(source, local, line, at)
    returned = finish(source, [_owned(source, local, plan, i) for i in range(len(plan.results))])
    body = [*source.lines, f"return {returned}"]
    head = f"def run({', '.join(f'a{i}' for i in range(len(inputs)))}):"
    return "\n".join([head, *(f"    {line}" for line in body), ""]), source.globals


def _write(source: Source, local: _Locals, line: Line | Test, at: int) -> None:
    if isinstance(line, Test):
        test = _finite(source, line.value, _operand(source, local, line.value))
        source.lines.append(f"if not {test}: return {source.refer(_retry(line.check.bet), 'retry')}")
        gone = [local.names[v] for v in local.dying(line.used, at)]
    else:
        gone = _write_call(source, local, line, at)
    if gone:
        source.lines.append(f"del {', '.join(gone)}")
        local.free(gone)


def _finite(source: Source, value: Var, name: str) -> str:
    """A test of a value, written out where it is cheaper than a call of the backend's."""
    if value.dtype is None:
        return f"{source.refer(cmath.isfinite, 'isfinite')}({name})"
    if value.dtype == bool:
        return f"{name}.all()" if value.shape else name
    whole = f"{source.refer(NUMPY.isfinite_all, 'isfinite_all')}({name})"
    if value.dtype.kind != "f" or len(value.shape) > 1 or math.prod(value.shape) > BLAS_THREADS_FROM:
        return whole
    isfinite = source.refer(math.isfinite, "isfinite")
    if not value.shape:
        return f"{isfinite}({name})"
    return f"({isfinite}({source.refer(np.vdot, 'vdot')}({name}, {name})) or {whole})"


_RETRIES: dict[int, Retry] = {}


def _retry(bet: int) -> Retry:
    return _RETRIES.setdefault(bet, Retry(bet))


def _write_call(source: Source, local: _Locals, line: Line, at: int) -> list[str]:
    """Write one call; the local names that it leaves without use."""
    dying = local.dying(line.used, at)
    args = [_operand(source, local, a) for a in line.call.args]
    args += [f"{k}={_operand(source, local, v)}" for k, v in line.call.kwargs.items()]
    function = source.refer(line.call.function, getattr(line.call.function, "__name__", "function"))
    outs = line.step.outs
    target = local.target(line, dying, at)
    gone = [local.names[v] for v in dying]
    if target is not None:
        name = local.take(outs[0], local.names[target])
        into = f"out={name}" if line.call.kwargs or line.call.function in KEYWORD_ONLY else name
        source.lines.append(f"{function}({', '.join([*args, into])})")
        gone.remove(name)
    else:
        names = [local.take(v, gone.pop() if gone else None) for v in outs]
        source.lines.append(f"{', '.join(names)}{',' if line.step.several else ''} = {function}({', '.join(args)})")
        gone += [n for v, n in zip(outs, names, strict=True) if v not in local.last]
    owns = isinstance(line.call.function, np.ufunc) or line.call.function in MADE_ANEW
    if owns and not outs[0].scalar and outs[0].shape:
        local.fresh.add(outs[0])
    return gone


def _operand(source: Source, local: _Locals, value: Any) -> str:
    if type(value) is Var:
        return local.names[value] if value.array is None else source.refer(value.array, "array")
    if type(value) is list or (type(value) is tuple and variables(value)):
        items = [_operand(source, local, v) for v in value]
        return f"[{', '.join(items)}]" if type(value) is list else f"({''.join(i + ', ' for i in items)})"
    return source.literal(value)


def _owned(source: Source, local: _Locals, plan: Plan, i: int) -> str:
    """A result that shares no memory with an input, a constant, an array from elsewhere or an earlier result."""
    value = plan.results[i]
    name = _operand(source, local, value)
    kind = value.kind if type(value) is Var else type(value.value) if type(value) is Constant else int
    backend = backends.backend_of_type(kind)
    if backend is None or backend.name == "dask" or (type(value) is Var and value.scalar):  # immutable
        return name
    copied = f"{source.refer(np.array if backend is NUMPY else backend.copy, 'copy')}({name})"
    if type(value) is Constant:
        return copied
    own = plan.owners.get(value, frozenset({value}))
    taken = frozenset[Any]().union(*(plan.owners.get(v, {v}) for v in plan.results[:i] if type(v) is Var))
    ours = all(type(o) is Var and local.names.get(o, "a")[0] == "t" for o in own)
    return name if ours and own.isdisjoint(taken) else copied
