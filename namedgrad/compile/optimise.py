"""From calls to a program: constants folded, guards left out where a check can stand for them, dead calls dropped.

Some calls are needed only if a value is not finite: the second, guarded pass of a gradient, the mask of what is
missing.  A program bets that it is, and holds a :class:`Check` where the bet shows.  Bets are numbered; those in
``lost`` are not made, so a program without bets is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.backends import NUMPY
from namedgrad.compile.record import Step, Var, variables

GUARD = 0  # the bet on every guarded product at once; others are numbered by the call that they save
LARGEST_CONSTANT = 1 << 24  # bytes; what is larger is computed anew by every run rather than kept


class Constant(NamedTuple):
    """A value that is the same in every run."""

    value: Any


class Check(NamedTuple):
    """A bet that a value is finite."""

    value: Var
    bet: int


class Test(NamedTuple):
    """Give the run up for one without the bet of a check unless a value is finite: its own, or a sum of it."""

    check: Check
    value: Var


class Line(NamedTuple):
    """A call whose operands are variables, constants and literals."""

    step: Step
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    needs: frozenset[Check]  # on what it relies


class Plan(NamedTuple):
    """What is left of a recording: lines and checks in order, and the results."""

    code: list[Line | Test]
    results: list[Any]
    owners: dict[Var, frozenset[Any]]  # whose memory a variable shows; absent: its own


_NO_CHECKS: frozenset[Check] = frozenset()


def plan(steps: Iterable[Step], results: list[Any], lost: frozenset[int]) -> Plan:
    """Simplify a recording under all bets that are not lost."""
    found = _Simplify(lost)
    for number, step in enumerate(steps, 1):
        found.add(number, step)
    finals = [found.resolve(r) for r in results]
    needs = _NO_CHECKS.union(*(found.needs.get(v, _NO_CHECKS) for r in results for v in variables(r)))
    return Plan(_alive(found.code, finals, needs), finals, found.owners)


def _alive(code: list[Line | Test], results: list[Any], needs: frozenset[Check]) -> list[Line | Test]:
    """Without what nothing depends on; a test may come after what depends on it, hence the repetition."""
    while True:
        used = {v for r in results for v in variables(r)}
        known, kept = needs, list[Line | Test]()
        for line in reversed(code):
            if type(line) is Test:
                if line.check in known:
                    kept.append(line)
                    used.add(line.value)
            elif not used.isdisjoint(line.step.outs):
                kept.append(line)
                used.update(variables(line.args), variables(tuple(line.kwargs.values())))
                needs |= line.needs
        if needs == known:
            return kept[::-1]


class _Simplify:
    """One walk over the calls."""

    def __init__(self, lost: frozenset[int]) -> None:
        self.lost = lost
        self.code: list[Line | Test] = []
        self.tests: dict[Check, Test] = {}
        self.bets: dict[Var, int] = {}  # those on values, other than the guard
        self.known: dict[Var, Any] = {}  # variables that are constants or other variables
        self.needs: dict[Var, frozenset[Check]] = {}  # on what that relies
        self.owners: dict[Var, frozenset[Any]] = {}
        self.narrow: dict[Var, Var] = {}  # broadcast arrays and what they were made of

    def resolve(self, value: Any) -> Any:
        if type(value) is Var:
            return self.known.get(value, value)
        if type(value) in (tuple, list) and variables(value):
            return type(value)(self.resolve(v) for v in value)
        return value

    def add(self, number: int, step: Step) -> None:
        used = (*variables(step.args), *variables(tuple(step.kwargs.values())))
        needs = _NO_CHECKS.union(*(self.needs.get(v, _NO_CHECKS) for v in used))
        args = self.resolve(step.args)
        kwargs = {k: self.resolve(v) for k, v in step.kwargs.items()}
        function = step.function
        if function == backends.choose:
            self.choose(step.outs[0], *args, needs)
            return
        if function == NUMPY.present and self.bet(step.outs[0], args[0], number, needs):
            return
        if GUARD not in self.lost:
            function, kwargs = _unguarded(function, kwargs)
        if not variables(args) and not variables(tuple(kwargs.values())) and self.fold(step, function, args, kwargs, needs):
            return
        same = _operand(function, args, step.outs[0], trusting=GUARD not in self.lost)
        if same is not None:
            self.settle(step.outs[0], same, needs)
            return
        if isinstance(function, np.ufunc) and not kwargs:
            args = self.narrowed(args, step.outs[0])
        elif function == NUMPY.broadcast_to and type(args[0]) is Var:
            self.narrow[step.outs[0]] = args[0]
        for out, shown in zip(step.outs, step.shows, strict=True):
            if shown:
                self.owners[out] = frozenset[Any]().union(*map(self.owners_of, map(self.resolve, shown)))
        self.code.append(Line(step, function, args, kwargs, needs))
        if function == NUMPY.total and args[0] in self.bets:
            self.test_sum(Check(args[0], self.bets[args[0]]), step.outs[0])

    def owners_of(self, value: Any) -> frozenset[Any]:
        """Whose memory a value shows; None stands for that of a constant."""
        return self.owners.get(value, frozenset({value})) if type(value) is Var else frozenset({None})

    def settle(self, out: Var, value: Any, needs: frozenset[Check]) -> None:
        """A variable is another one, or a constant."""
        self.known[out] = value
        if needs:
            self.needs[out] = needs

    def choose(self, out: Var, fast: Any, safe: Any, needs: frozenset[Check]) -> None:
        """Go on with the unguarded result, checked, unless that bet is lost."""
        checks = None if GUARD in self.lost else self.finite(fast, GUARD)
        if checks is None:
            self.settle(out, safe, needs)
        else:
            self.settle(out, fast, needs | checks)

    def bet(self, out: Var, x: Any, number: int, needs: frozenset[Check]) -> bool:
        """Take a mask of what is present for true everywhere; False if it is known not to be."""
        if type(x) is Var:
            number = self.bets.setdefault(x, number)
        if number in self.lost:
            return False
        checks = self.finite(x, number)
        if checks is not None:
            self.settle(out, Constant(np.broadcast_to(np.True_, out.shape)), needs | checks)
        return checks is not None

    def finite(self, value: Any, bet: int) -> frozenset[Check] | None:
        """What makes sure that a value is finite; None if it is a constant that is not."""
        if type(value) is not Var:
            return _NO_CHECKS if NUMPY.isfinite_all(np.asarray(_value(value))) else None
        check = Check(value, bet)
        if check not in self.tests:
            self.tests[check] = Test(check, value)
            self.code.append(self.tests[check])
        return frozenset({check})

    def test_sum(self, check: Check, total: Var) -> None:
        """Test a sum instead of all that it is made of: it is finite only if they are."""
        test = self.tests.get(check)
        if test is not None and test.value is check.value:
            self.code.remove(test)
            self.tests[check] = Test(check, total)
            self.code.append(self.tests[check])

    def fold(self, step: Step, function: Any, args: Any, kwargs: Any, needs: frozenset[Check]) -> bool:
        """Compute a constant now; False if it is too large to keep."""
        with np.errstate(all="ignore"):
            out = function(*_value(args), **{k: _value(v) for k, v in kwargs.items()})
        values = tuple(out) if step.several else (out,)
        if any(getattr(v, "base", None) is None and getattr(v, "nbytes", 0) > LARGEST_CONSTANT for v in values):
            return False
        for var, value in zip(step.outs, values, strict=True):
            self.settle(var, Constant(value), needs)
        return True

    def narrowed(self, args: tuple[Any, ...], out: Var) -> tuple[Any, ...]:
        """Operands of a ufunc that NumPy broadcasts by itself are not broadcast before."""
        for i, a in enumerate(args):
            if type(a) is Var and a in self.narrow:
                rest = (*args[:i], self.narrow[a], *args[i + 1 :])
                if np.broadcast_shapes(*(np.shape(_value(r)) if type(r) is not Var else r.shape for r in rest)) == out.shape:
                    args = rest
        return args


def _value(x: Any) -> Any:
    if type(x) is Constant:
        return x.value
    return type(x)(map(_value, x)) if type(x) in (tuple, list) else x


def _unguarded(function: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kernel without its guard."""
    if function == NUMPY.scale:
        return np.multiply, kwargs
    return (function, {**kwargs, "guard": False}) if function == NUMPY.contract and kwargs.get("guard") else (function, kwargs)


def _operand(function: Any, args: tuple[Any, ...], out: Var, *, trusting: bool) -> Any:
    """The operand that a call returns unchanged, or a constant; None if it has to be made."""
    same: Any = None
    if function == NUMPY.select:
        mask, x = args
        if _is_all(mask, True):
            same = x
        elif _is_all(mask, False):
            return Constant(np.broadcast_to(out.dtype.type(0), out.shape))
    elif function is np.where:
        mask, x, y = args
        same = x if _is_all(mask, True) else y if _is_all(mask, False) else None
    elif function is np.multiply:
        x, y = args
        same = y if _is_all(x, 1) else x if _is_all(y, 1) else None
    elif trusting and function == NUMPY.shield:
        same = args[0]
    fits = type(same) is Var and same.shape == out.shape and same.dtype == out.dtype
    return same if fits else None


def _is_all(x: Any, what: Any) -> bool:
    """Whether a constant has one value everywhere."""
    if type(x) is not Constant:
        return False
    value = x.value
    if isinstance(value, np.ndarray) and value.size and not any(value.strides):
        value = value[(0,) * value.ndim]
    return isinstance(value, (np.generic, np.ndarray)) and bool(np.all(value == what))
