"""Tables of a program in one order of their axes: cells first.

Names come in the order in which operands bring them, so that what a derivative multiplies with a table may be computed
in another order than the model, between two views.  The numbers are the same; but only products of tables that are seen
to be such are taken together (:mod:`namedgrad.fit.factors`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.compile.optimise import Line, Plan, Test, alive, replaced
from namedgrad.compile.record import Var
from namedgrad.compile.rewrite import Call, Constant, is_cellwise
from namedgrad.compile.views import View
from namedgrad.fit.regroup import Regroup, another, line_of

Perm = tuple[int, ...]


def cells_first(plan: Plan, cells: int) -> Plan:
    """The same results, where functions of single numbers meet tables in the order of these."""
    made = _CellsFirst(plan, cells)
    code, results = list(made.code()), replaced(plan.results, made.same)
    if not made.moved:
        return plan
    checks = frozenset(line.check for line in code if isinstance(line, Test))
    return Plan(alive(code, results, checks), results, made.owners(plan.owners))


class _CellsFirst(Regroup):
    """A program, and which of its arrays are views of tables."""

    def __init__(self, plan: Plan, cells: int) -> None:
        super().__init__(plan, cells)
        self.views: dict[Var, tuple[Var, Perm]] = {}
        self.same: dict[Var, Var] = {}  # views that show a table in its own order after all, and that
        self.moved: dict[Var, Var] = {}  # what is a view now, and of what
        self.turned: dict[Var, Var] = {}  # new views, and of what

    def owners(self, known: Mapping[Var, frozenset[Any]]) -> dict[Var, frozenset[Any]]:
        """Whose memory variables show."""
        found = {v: frozenset(self.moved.get(o, o) for o in several) for v, several in known.items()}
        found |= {v: frozenset({base}) for v, base in self.moved.items()}
        return found | {v: found.get(base, frozenset({base})) for v, base in self.turned.items()}

    def code(self) -> Iterator[Line | Test]:
        """All lines, some of them others."""
        for line in self.lines:
            used = tuple(self.same.get(v, v) for v in line.used)
            if isinstance(line, Test):
                yield line._replace(value=used[0])
            else:
                call = Call(*replaced(tuple(line.call), self.same)) if self.same else line.call
                yield from self.instead(line._replace(call=call, used=used), line.step.outs[0])

    def instead(self, line: Line, out: Var) -> Iterator[Line]:
        if line.call.function == NUMPY.transpose and type(line.call.args[0]) is Var:
            yield from self.shown(line, out, *line.call.args)
            return
        perm = self.order(line.call, out)
        made = None if perm is None else self.in_order(line.call, out, perm)
        yield from [line] if made is None else made

    def shown(self, line: Line, out: Var, x: Var, perm: Perm) -> Iterator[Line]:
        """A view of a table; nothing if it is the table itself."""
        base, order = self.views.get(x, (x, tuple(range(len(x.shape)))))
        together = tuple(order[i] for i in perm)
        if x in self.views and together == tuple(range(len(together))):
            self.same[out] = base
            return
        if self.is_table(base):
            self.views[out] = base, together
        yield line

    def order(self, call: Call, out: Var) -> Perm | None:
        """The one in which a function of single numbers shows all tables that it meets, if there is one."""
        if not is_cellwise(call):
            return None
        given = [a for a in call.args if type(a) is Var]
        perms = {self.views[a][1] for a in given if a in self.views}
        larger = [a for a in given if a not in self.views and math.prod(a.shape) >= math.prod(out.shape)]
        fits = len(perms) == 1 and not larger and all(len(p) == len(out.shape) for p in perms)
        return perms.pop() if fits else None

    def in_order(self, call: Call, out: Var, perm: Perm) -> list[Line] | None:
        """The lines that make a result in the order of its tables, and a view of it; None if that takes copies."""
        back = tuple(int(i) for i in np.argsort(perm))
        lines, args = list[Line](), list[Any]()
        for a in call.args:
            if type(a) is Var and a not in self.views and a.shape:
                axes = _turned(len(a.shape), back)
                view, shape = View(a, axes).call(), tuple(1 if i is None else a.shape[i] for i in axes)
                if view is None:
                    return None
                turned = another(a, shape)
                self.turned[turned] = a
                lines.append(line_of(view.function, view.args, turned))
                args.append(turned)
            else:
                args.append(self.views[a][0] if type(a) is Var and a.shape else _constant(a, back))
        new = another(out, tuple(out.shape[i] for i in back))
        self.moved[out], self.views[out] = new, (new, perm)
        return [*lines, line_of(call.function, tuple(args), new), line_of(NUMPY.transpose, (new, perm), out)]


def _turned(ndim: int, back: Perm) -> tuple[int | None, ...]:
    """The axes of an operand, which stand for the last ones of a result, in another order of that."""
    first = len(back) - ndim
    return tuple(i - first if i >= first else None for i in back)


def _constant(x: Any, back: Perm) -> Any:
    """A constant in another order; anything else is a number."""
    if type(x) is not Constant or not np.ndim(x.value):
        return x
    axes = _turned(np.ndim(x.value), back)
    value = np.transpose(x.value, [i for i in axes if i is not None])
    return Constant(np.expand_dims(value, tuple(k for k, i in enumerate(axes) if i is None)))
