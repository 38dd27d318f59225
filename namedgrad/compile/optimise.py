"""From calls to a program: constants folded, guards left out where a check can stand for them, dead calls dropped.

Some calls are needed only if a value is not finite: the second, guarded pass of a gradient, the mask of what is
missing.  A program bets that it is, and holds a :class:`Check` where the bet shows.  Bets are numbered; those in
``lost`` are not made, so a program without bets is always right.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.backends import NUMPY
from namedgrad.compile.reach import BETS, reached
from namedgrad.compile.record import Step, Var, variables
from namedgrad.compile.rewrite import (
    Call,
    Constant,
    cheaper,
    is_all,
    is_cellwise,
    is_float,
    is_nothing,
    of_constants,
    operand,
    unguarded,
    with_one_factor,
)
from namedgrad.compile.uncollected import uncollected
from namedgrad.compile.views import View, view_of

GUARD = 0  # the bet on every guarded product at once; others are numbered by the call that they save
LARGEST_CONSTANT = 1 << 24  # bytes; what is larger is computed anew by every run rather than kept


class Check(NamedTuple):
    """A bet that a value is finite; of a mask, that it is true everywhere."""

    value: Var
    bet: int


class Test(NamedTuple):
    """Give the run up for one without the bet of a check unless a value is finite: its own, or a sum of it."""

    check: Check
    value: Var

    @property
    def used(self) -> tuple[Var, ...]:
        """The variables that it needs."""
        return (self.value,)


class Line(NamedTuple):
    """A call whose operands are variables, constants and literals, and what it defines."""

    step: Step
    call: Call
    used: tuple[Var, ...]  # the variables among the operands
    needs: frozenset[Check]  # on what it relies


class Plan(NamedTuple):
    """What is left of a recording: lines and checks in order, and the results."""

    code: list[Line | Test]
    results: list[Any]
    owners: dict[Var, frozenset[Any]]  # whose memory a variable shows; absent: its own


_NO_CHECKS: frozenset[Check] = frozenset()
_NO_VARS: frozenset[Var] = frozenset()
_NONE: Mapping[Var, Constant] = {}


@uncollected()
def plan(
    steps: Iterable[Step], results: list[Any], lost: frozenset[int], known: Mapping[Var, Constant] = _NONE, *,
    thrifty: bool = True, checked: bool = False,
) -> Plan:  # fmt: skip
    """Simplify a recording under all bets that are not lost, given variables that are ``known`` to be constant.

    Unless it is ``thrifty``, nothing is computed twice to save memory.  If results are ``checked``, the caller asks for
    the plan with guards where they are not finite.
    """
    steps = tuple(steps)
    tested = frozenset(v for s in steps for v in s.outs) if checked else _tested(steps)
    trusting = _NO_VARS if GUARD in lost else tested
    few, every = reached(steps, results, lost, trusting, guarded=GUARD in lost), list(enumerate(steps, 1))
    made = _simplified([s for s in every if not few.isdisjoint(s[1].outs)], results, lost, known, trusting)
    if not _mentioned(made).isdisjoint(v for s in steps if few.isdisjoint(s.outs) for v in s.outs):
        made = _simplified(every, results, lost, known, trusting)
    return _merged(made, thrifty=thrifty)


def _simplified(
    steps: Sequence[tuple[int, Step]], results: list[Any], lost: frozenset[int], known: Mapping[Var, Constant],
    trusting: frozenset[Var],
) -> Plan:  # fmt: skip
    found = _Simplify(lost, known, trusting)
    for number, step in steps:
        found.add(number, step)
    finals = [found.resolve(r) for r in results]
    needs = _NO_CHECKS.union(*(found.needs.get(v, _NO_CHECKS) for r in results for v in variables(r)))
    return Plan(alive(found.code, finals, needs), finals, found.owners)


def _mentioned(plan: Plan) -> set[Var]:
    """The variables that a plan reads."""
    read = {v for line in plan.code for v in ((line.value,) if isinstance(line, Test) else line.used)}
    return read.union(*map(variables, plan.results))


def _tested(steps: Sequence[Step]) -> frozenset[Var]:
    """What a result is made of that is looked at for the guard: only there may that be left out."""
    found: set[Var] = set()
    for step in reversed(steps):
        if not found.isdisjoint(step.outs):
            found.update(step.used)
        elif step.function == backends.choose:
            found.update(variables(step.args[:1]))
    return frozenset(found)


def alive(code: list[Line | Test], results: list[Any], needs: frozenset[Check]) -> list[Line | Test]:
    """Without what nothing depends on; a test may come after what depends on it, hence the repetition."""
    while True:
        used = {v for r in results for v in variables(r)}
        known, kept = needs, list[Line | Test]()
        for line in reversed(code):
            if isinstance(line, Test):
                if line.check in known:
                    kept.append(line)
                    used.add(line.value)
            elif not used.isdisjoint(line.step.outs):
                kept.append(line)
                used.update(line.used)
                needs |= line.needs
        if needs == known:
            return kept[::-1]


def _merged(plan: Plan, *, thrifty: bool) -> Plan:
    """Equal calls made once; where the first result is not needed any more memory pays for it."""
    last: dict[Var, int] = {}
    for at, line in enumerate(plan.code):
        last.update((v, at) for v in line.used)
    last.update((v, len(plan.code)) for r in plan.results for v in variables(r))
    first: dict[Hashable, Var] = {}
    same: dict[Var, Var] = {}
    code: list[Line | Test] = []
    for at, line in enumerate(plan.code):
        if isinstance(line, Test):
            code.append(line._replace(value=same.get(line.value, line.value)))
            continue
        call = Call(*replaced(tuple(line.call), same)) if same else line.call
        key, (out, *others) = identity(tuple(call)), line.step.outs
        known = first.get(key)
        if known is not None and not others and (not thrifty or last.get(known, -1) >= at):
            same[out] = known
            last[known] = max(last.get(known, -1), last.get(out, -1))
        else:
            first[key] = out
            code.append(line._replace(call=call, used=_used(call)) if same else line)
    owners = {v: frozenset(same.get(o, o) for o in several) for v, several in plan.owners.items()}
    return Plan(code, replaced(plan.results, same), owners)


def _used(call: Call) -> tuple[Var, ...]:
    return variables((call.args, tuple(call.kwargs.values())))


def replaced(value: Any, same: Mapping[Var, Var]) -> Any:
    """A value with other variables in it."""
    if type(value) is Var:
        return same.get(value, value)
    if type(value) is dict:
        return {k: replaced(v, same) for k, v in value.items()}
    return type(value)(replaced(v, same) for v in value) if type(value) in (tuple, list) else value


def identity(value: Any) -> Hashable:
    """Equal for operands that are the same variables, constants and literals."""
    if type(value) in (tuple, list):
        return tuple(map(identity, value))
    if type(value) is dict:
        return tuple((k, identity(v)) for k, v in value.items())
    if type(value) is Constant:
        return id(value.value)
    if type(value) is Var or callable(value):
        return value
    return (type(value), repr(value)) if type(value) in (int, float, complex, bool, str, slice) else id(value)


class _Simplify:
    """One walk over the calls."""

    def __init__(self, lost: frozenset[int], known: Mapping[Var, Constant], unguarded: frozenset[Var]) -> None:
        self.lost, self.unguarded = lost, unguarded
        self.code: list[Line | Test] = []
        self.tests: dict[Check, Test] = {}
        self.bets: dict[Var, int] = {}  # those on values, other than the guard
        self.known: dict[Var, Any] = dict(known)  # variables that are constants or other variables
        self.needs: dict[Var, frozenset[Check]] = {}  # on what that relies
        self.owners: dict[Var, frozenset[Any]] = {}
        self.folded: dict[Hashable, tuple[Any, ...]] = {}  # what constants were made of others, by the call
        self.narrow: dict[Var, Var] = {}  # broadcast arrays and what they were made of
        self.made: dict[Var, Call] = {}
        self.views: dict[Var, View] = {}
        self.nothing: dict[int, Any] = {}  # constants that are 0 because they are masked everywhere, by identity
        self.behind: dict[Var, frozenset[Check]] = {}  # on what the calls rely that a view or a ufunc passes over

    def resolve(self, value: Any) -> Any:
        if type(value) is Var:
            return self.known.get(value, value)
        if type(value) in (tuple, list) and variables(value):
            return type(value)([self.resolve(v) for v in value])
        return value

    def add(self, number: int, step: Step) -> None:
        args, out = self.resolve(step.args) if step.used else step.args, step.outs[0]
        at = self.counting(step.function, args)
        used = step.used if at is None else variables([step.args[i] for i in at])
        needs = _NO_CHECKS.union(*[self.needs[v] for v in used if v in self.needs])
        if step.function == backends.choose:
            self.choose(out, *args, needs=needs)
            return
        if step.function in BETS and self.bet(out, args[0], number, needs):
            return
        decided = self.decided(step.function, args, out)
        if decided is not None:
            self.settle(out, Constant(np.broadcast_to(decided, out.shape)), needs)
            return
        call = Call(step.function, args, {k: self.resolve(v) for k, v in step.kwargs.items()})
        if out in self.unguarded:
            call = unguarded(call)
        if not _used(call) and self.fold(step, call, needs):
            return
        masked = self.beside_nothing(call, out)
        same = self.operand(call, out) if masked is None else masked
        if same is not None:
            self.settle(out, same, needs)
            return
        view = view_of(call, self.views)
        if view is not None:
            needs |= self.behind.get(call.args[0], _NO_CHECKS)
            self.views[out], self.behind[out] = view, needs
            if view.is_base():
                self.settle(out, view.base, needs)
                return
        self.keep(step, view.call() or call if view is not None else cheaper(call, out), needs)

    def decided(self, function: Any, args: Sequence[Any], out: Var) -> np.bool_ | None:
        """What a mask is taken for everywhere by what is known of others."""
        if function == NUMPY.unless_seen and out in self.unguarded:
            return np.True_
        return np.False_ if function == NUMPY.wholly and not is_all(args[0], True) else None

    def keep(self, step: Step, call: Call, needs: frozenset[Check]) -> None:
        """Append a call, with operands that lie farther back where those between are not needed."""
        out = step.outs[0]
        merged = with_one_factor(call, out, self.made)
        if merged is not None:
            call, inner = merged
            needs |= self.behind[inner]
        if isinstance(call.function, np.ufunc) and not call.kwargs:
            args = self.narrowed(call.args, out)
            if args is not call.args:
                passed = [a for a, b in zip(call.args, args, strict=True) if a is not b]
                needs, call = needs.union(*(self.behind[a] for a in passed)), call._replace(args=args)
        elif call.function == NUMPY.broadcast_to and type(call.args[0]) is Var:
            self.narrow[out], self.behind[out] = call.args[0], needs
        self.append(Line(step, call, _used(call), needs))

    def operand(self, call: Call, out: Var) -> Any:
        """The operand that a call returns unchanged, or a constant."""
        same = operand(call, out, self.made, trusting=out in self.unguarded)
        if call.function == NUMPY.select and type(same) is Constant:
            self.nothing[id(same.value)] = same.value
        return same

    def counting(self, function: Any, args: Sequence[Any]) -> Sequence[int] | None:
        """Which operands a result depends on, unless on all: on none that is masked everywhere."""
        if function == NUMPY.where and type(args[0]) is Constant:
            return (0, 1) if is_all(args[0], True) else (0, 2) if is_all(args[0], False) else None
        gone = self.gone(args)
        if gone and is_nothing(Call(function, tuple(args), {}), gone):  # by an earlier mask, if it is one again
            both = function == NUMPY.where  # the other one is 0
            return [i for i, g in enumerate(gone) if g or (both and i)]
        return (0,) if function == NUMPY.select and is_all(args[0], False) else None

    def gone(self, args: Sequence[Any]) -> list[bool]:
        """Which operands are masked everywhere; empty if none is."""
        found = [type(a) is Constant and id(a.value) in self.nothing for a in args] if self.nothing else []
        return found if True in found else []

    def beside_nothing(self, call: Call, out: Var) -> Any:
        """The result if an operand is masked everywhere: whatever that is multiplied with counts for nothing."""
        gone = self.gone(call.args)
        if not gone:
            return None
        if is_nothing(call, gone):
            made = Constant(np.broadcast_to(np.zeros((), out.dtype), out.shape))
            self.nothing[id(made.value)] = made.value
            return made
        other = call.args[gone.index(True) - 1]
        fits = call.function is np.add and type(other) is Var and (other.shape, other.dtype) == (out.shape, out.dtype)
        return other if fits else None

    def append(self, line: Line) -> None:
        """Keep a call."""
        step, call = line.step, line.call
        for out, shown in zip(step.outs, step.shows, strict=True):
            if shown:
                self.owners[out] = frozenset[Any]().union(*map(self.owners_of, map(self.resolve, shown)))
        self.made[step.outs[0]] = call
        if call.function is np.multiply:
            self.behind[step.outs[0]] = line.needs
        self.code.append(line)
        if call.function == NUMPY.total and call.args[0] in self.bets and is_float(call.args[0]):
            self.test_sum(Check(call.args[0], self.bets[call.args[0]]), step.outs[0])

    def owners_of(self, value: Any) -> frozenset[Any]:
        """Whose memory a value shows; None stands for that of a constant."""
        return self.owners.get(value, frozenset({value})) if type(value) is Var else frozenset({None})

    def settle(self, out: Var, value: Any, needs: frozenset[Check]) -> None:
        """A variable is another one, or a constant."""
        self.known[out] = value
        if needs:
            self.needs[out] = needs

    def choose(self, out: Var, fast: Any, safe: Any, *, needs: frozenset[Check]) -> None:
        """Go on with the unguarded result, checked, unless that bet is lost."""
        checks = None if GUARD in self.lost else self.finite(fast, GUARD)
        if checks is None:
            self.settle(out, safe, needs)
        else:
            self.settle(out, fast, needs | checks)

    def bet(self, out: Var, x: Any, number: int, needs: frozenset[Check]) -> bool:
        """Take a mask, or one of what is present, for true everywhere; False if it is known not to be."""
        checks = _NO_CHECKS
        for value in self.seen_in(x):
            bet = self.bets.setdefault(value, number) if type(value) is Var else number
            found = None if bet in self.lost else self.finite(value, bet)
            if found is None:
                return False
            checks |= found
        self.settle(out, Constant(np.broadcast_to(np.True_, out.shape)), needs | checks)
        return True

    def seen_in(self, mask: Any) -> list[Any]:
        """What is finite, or true, where a mask is true everywhere, so that it is not made to be looked at."""
        call = self.made.get(mask) if type(mask) is Var else None
        if call is None or call.kwargs:
            return [mask]
        if call.function is np.logical_and:
            return [v for a in call.args for v in self.seen_in(a)]
        finite = call.function is np.isfinite and is_float(call.args[0])
        return [call.args[0]] if finite else [mask]

    def finite(self, value: Any, bet: int) -> frozenset[Check] | None:
        """What makes sure that a value is finite, a mask true; None if it is a constant that is not."""
        if type(value) is not Var:
            return _NO_CHECKS if holds(_value(value)) else None
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

    def fold(self, step: Step, call: Call, needs: frozenset[Check]) -> bool:
        """Compute a constant now; False if it is too large to keep."""
        masked = call.function == NUMPY.select and is_all(call.args[0], False)
        masked = masked or bool(self.gone(call.args))
        key = object() if masked else identity(tuple(call))  # zeros that count for nothing are no other zeros
        values = self.folded.get(key, ())
        if not values:
            with np.errstate(all="ignore"):
                args, kwargs = _value(call.args), {k: _value(v) for k, v in call.kwargs.items()}
                out = of_constants(call.function, *args) if is_cellwise(call) else call.function(*args, **kwargs)
            values = tuple(out) if step.several else (out,)
            if any(getattr(v, "base", None) is None and getattr(v, "nbytes", 0) > LARGEST_CONSTANT for v in values):
                return False
            self.folded[key] = values
        for var, value in zip(step.outs, values, strict=True):
            self.settle(var, Constant(value), needs)
            if masked and not np.any(value):
                self.nothing[id(value)] = value
        return True

    def narrowed(self, args: tuple[Any, ...], out: Var) -> tuple[Any, ...]:
        """Operands of a ufunc that NumPy broadcasts by itself are not broadcast before."""
        for i, a in enumerate(args):
            if type(a) is Var and a in self.narrow:
                rest = (*args[:i], self.narrow[a], *args[i + 1 :])
                shapes = (r.shape if type(r) is Var else np.shape(_value(r)) for r in rest)
                if np.broadcast_shapes(*shapes) == out.shape:
                    args = rest
        return args


def holds(value: Any) -> bool:
    """Whether a mask is true everywhere, another value finite."""
    known = np.asarray(value)
    return bool(known.all()) if known.dtype == bool else NUMPY.isfinite_all(known)


def _value(x: Any) -> Any:
    if type(x) is Constant:
        return x.value
    return type(x)(map(_value, x)) if type(x) in (tuple, list) else x
