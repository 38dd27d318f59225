"""In which parameters a model is linear, all at once: read off the calls that one run of it makes.

Every value of the run is followed from the parameters to the residual: on which of them it depends, of which it is a
polynomial of higher degree or another function, and which of them it multiplies with each other.  A call that is not
known to be linear counts as another function.  So what is found to be linear is linear, for all values.

It is also followed which parameter is a factor of all that depends on another one, as ``a`` in ``a * exp(-b * t) + c``
is of what depends on ``b``: the derivative in ``b`` is proportional to ``a``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad.compile.record import Recorder, Step, Var, variables

# By the names of backend functions; all but their first operand are indices, sizes and the like.
MOVES = frozenset({
    "accumulate", "asarray", "ascontiguousarray", "broadcast_to", "cast", "conj", "copy", "cumsum", "cut", "flip",
    "gather", "getitem", "moveaxis", "negative", "pad", "positive", "real", "reduce", "reorder", "reshape", "roll",
    "settle", "swapaxes", "take", "total", "transpose", "windows",
})  # fmt: skip
JOINS = frozenset({"add", "concat", "concatenate", "stack", "subtract", "write_block"})
PRODUCTS = frozenset({"contract", "einsum", "matmul", "multiply", "scale"})
MISSING = frozenset({"isfinite", "isnan", "present"})  # the same wherever the model is finite
QUOTIENTS = frozenset({"divide", "true_divide"})
CHOICES = frozenset({"select", "where"})  # their first operand is a mask


class Form(NamedTuple):
    """How a value depends on the parameters, which are numbered."""

    on: frozenset[int] = frozenset()
    curved: frozenset[int] = frozenset()  # not linearly
    pairs: frozenset[frozenset[int]] = frozenset()  # multiplied with each other
    factors: frozenset[int] = frozenset()  # what all of it is proportional to
    within: frozenset[tuple[int, int]] = frozenset()  # (i, j): what depends on i is proportional to j

    def joined(self, other: Self) -> Form:
        """Of a sum."""
        within = {(i, j) for i, j in self.within | other.within if self.keeps(i, j) and other.keeps(i, j)}
        return Form(
            self.on | other.on, self.curved | other.curved, self.pairs | other.pairs, self.factors & other.factors,
            frozenset(within),
        )  # fmt: skip

    def keeps(self, i: int, j: int) -> bool:
        """Whether nothing in it depends on one parameter without being proportional to the other."""
        return i not in self.on or (i, j) in self.within

    def times(self, other: Self) -> Form:
        """Of a product."""
        both = self.joined(other)
        pairs = frozenset(frozenset(p) for p in itertools.product(self.on, other.on) if p[0] != p[1])
        scaled, other_scaled = self.scaled(other.factors), other.scaled(self.factors)
        return Form(
            both.on, both.curved | (self.on & other.on), both.pairs | pairs, self.factors | other.factors,
            scaled.joined(other_scaled).within,
        )  # fmt: skip

    def scaled(self, factors: frozenset[int]) -> Form:
        """The same with more factors."""
        return self._replace(within=self.within | frozenset(itertools.product(self.on, factors)))

    def bent(self) -> Form:
        """Of any other function."""
        return Form(self.on, self.on, frozenset(map(frozenset, itertools.combinations(self.on, 2))))


CONSTANT = Form()


def linear_inputs(function: Callable[[], Any], raws: Sequence[Any]) -> tuple[set[int], dict[int, int | None]]:
    """The inputs in which the plain array that a function returns is linear, jointly; as many as are easily found.

    And for the others, if that is known, which of these their derivatives are proportional to; None if to none, as they
    do not depend on them.
    """
    recorder = Recorder()
    recorder.take(raws)
    try:
        with recorder.listening():
            result = recorder.find(function())
    except Exception:  # noqa: BLE001 - it may ask for values; then nothing is known
        return set(), {}
    return linear_in(recorder, result, len(raws))


def linear_in(recorder: Recorder, result: Any, count: int) -> tuple[set[int], dict[int, int | None]]:
    """The same for a result of a recording, of its first ``count`` inputs."""
    inputs = enumerate(recorder.inputs[:count])
    forms = {v: Form(on=frozenset({i}), factors=frozenset({i})) for i, v in inputs}
    for step in recorder.steps:
        if result in forms and type(result) is Var:
            break
        form = _of_step(step, forms)
        forms.update((out, form) for out in step.outs)
    form = forms.get(result, CONSTANT) if type(result) is Var else CONSTANT
    chosen = _independent(form)
    return chosen, dict(_proportional(form, chosen))


def _proportional(form: Form, chosen: set[int]) -> Iterator[tuple[int, int | None]]:
    """The inputs whose derivatives follow those that are chosen, and which they follow."""
    for i in form.on - chosen:
        partners = {j for pair in form.pairs if i in pair for j in pair if j in chosen}
        if not partners:
            yield i, None
        elif len(partners) == 1 and not partners.isdisjoint(j for k, j in form.within if k == i):
            yield i, partners.pop()


def _independent(form: Form) -> set[int]:
    """A set of inputs that are not multiplied with each other, those with few such pairs first."""
    candidates = form.on - form.curved
    rivals = {i: {j for pair in form.pairs if i in pair for j in pair if j != i} & candidates for i in candidates}
    chosen: set[int] = set()
    for i in sorted(candidates, key=lambda i: (len(rivals[i]), i)):
        if rivals[i].isdisjoint(chosen):
            chosen.add(i)
    return chosen


def _of_step(step: Step, forms: dict[Var, Form]) -> Form:
    """How the results of a call depend on the parameters."""
    operands = [_of_operand(a, forms) for a in (*step.args, *step.kwargs.values())]
    name, rest = getattr(step.function, "__name__", ""), operands[1:]
    if name in MISSING or not any(x.on for x in operands):
        return CONSTANT
    if name in ("accumulate", "reduce") and getattr(step.function, "__self__", None) is not np.add:
        name = ""
    if name in MOVES and not any(x.on for x in rest) and all(v.dtype.kind == "f" for v in step.outs if v.dtype):
        return operands[0]
    if name in PRODUCTS or name in QUOTIENTS:
        return operands[0].times(operands[1] if name in PRODUCTS else operands[1].bent())
    if name in CHOICES:
        values = _joined(rest)
        return values.joined(operands[0].bent().times(values)) if operands[0].on else values
    return _joined(operands) if name in JOINS else _joined(operands).bent()


def _joined(forms: Sequence[Form]) -> Form:
    first, *rest = forms or [CONSTANT]
    for form in rest:
        first = first.joined(form)
    return first


def _of_operand(value: Any, forms: dict[Var, Form]) -> Form:
    return _joined([forms.get(v, CONSTANT) for v in variables(value)])
