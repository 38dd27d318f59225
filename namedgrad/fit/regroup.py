"""Products and sums of a program regrouped, for fewer passes over the residuals of all cells.

Many terms of a model are a number of the cell times what all cells share, such as a level or a trend: together they are
one product of two small matrices.  And a derivative often has a product as a factor that the model itself needs.  An
exponential with a trend takes 7 passes instead of 9.

Results change by rounding, and where a part of a product overflows or underflows: a program that guards its products
against what is not finite stays as it is.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.compile.optimise import Line, Plan, Test, alive, identity
from namedgrad.compile.record import Step, Var, variables
from namedgrad.compile.rewrite import Call, Constant

SIGNS: dict[Any, tuple[int, ...]] = {np.add: (1, 1), np.subtract: (1, -1), np.negative: (-1,)}
VIEWS = {NUMPY.getitem, NUMPY.transpose}


def regrouped(plan: Plan, cells: int) -> Plan:
    """The same results by fewer calls, given how many cells the program was recorded for."""
    for kind in (_Products, _Sums):
        code = list(kind(plan, cells).code())
        checks = frozenset(line.check for line in code if isinstance(line, Test))
        plan = plan._replace(code=alive(code, plan.results, checks))
    return plan


def matrix(*columns: Any) -> Any:
    """A matrix of columns of one number for each cell; a single one is put beside zeros.

    Of 130 cells BLAS multiplies two columns with two rows of 240 in 9 us, and one with one in 45; NumPy takes 25.
    """
    several = [c.reshape(-1) for c in columns]
    return np.array(several if len(several) > 1 else [*several, np.zeros_like(several[0])]).T


class _Term(NamedTuple):
    """What is added or subtracted: an operand, or a column times a row, where no row stands for ones."""

    sign: int
    value: Any
    row: Any = None
    is_product: bool = False


class Regroup:
    """A program, how its variables are made, and how often they are used."""

    def __init__(self, plan: Plan, cells: int) -> None:
        self.cells, self.lines = cells, plan.code
        self.made = {v: line for line in plan.code if isinstance(line, Line) for v in line.step.outs}
        used = [*(v for line in plan.code for v in line.used), *(v for r in plan.results for v in variables(r))]
        self.uses = Counter(used)

    def code(self) -> Iterator[Line | Test]:
        """All lines, some of them others."""
        for line in self.lines:
            if isinstance(line, Line) and isinstance(line.call.function, np.ufunc) and not line.call.kwargs:
                yield from self.instead(line, line.step.outs[0])
            else:
                yield line

    def instead(self, line: Line, out: Var) -> Iterator[Line]:
        """The lines in the place of one."""
        raise NotImplementedError

    def inner(self, value: Any, *functions: Any) -> Call | None:
        """How a value is made, if it serves nothing else and one of some ufuncs makes it."""
        line = self.made.get(value) if type(value) is Var and self.uses[value] == 1 else None
        return line.call if line is not None and line.call.function in functions and not line.call.kwargs else None

    def is_table(self, x: Var) -> bool:
        """Whether there are several real residuals of every cell."""
        return x.shape[:1] == (self.cells,) and x.dtype.kind == "f" and not self.is_column(x, x)

    def is_column(self, x: Any, out: Var) -> bool:
        """Whether a value is a number for each cell."""
        return type(x) is Var and x.shape == (self.cells, *(1 for _ in out.shape[1:])) and x.dtype == out.dtype


class _Products(Regroup):
    """``(r * s) * q`` as ``r * (s * q)`` where ``s * q`` is needed anyway."""

    def __init__(self, plan: Plan, cells: int) -> None:
        super().__init__(plan, cells)
        products = [(x.call, x.step.outs[0]) for x in self.made.values() if x.call.function is np.multiply]
        self.products = {self.pair(*call.args): out for call, out in products if not call.kwargs}
        self.seen = set[Var]()  # products made by now, some of them before their turn

    def instead(self, line: Line, out: Var) -> Iterator[Line]:
        if out in self.seen:
            return
        self.seen.add(out)
        found = self.split(line.call, out)
        if found is None:
            yield line
            return
        r, s, q, known = found
        if known not in self.seen:
            self.seen.add(known)
            yield line_of(np.multiply, (s, q), known)
        yield line_of(np.multiply, (r, known), out)

    def split(self, call: Call, out: Var) -> tuple[Any, Any, Any, Var] | None:
        """Three factors, and the product of the last two."""
        for p, q in itertools.permutations(call.args) if call.function is np.multiply else ():
            inner = self.inner(p, np.multiply)
            for r, s in itertools.permutations(inner.args) if inner is not None else ():
                known = self.products.get(self.pair(s, q))
                if known is not None and known.shape == out.shape and known.dtype == out.dtype:
                    return r, s, q, known
        return None

    def pair(self, x: Any, y: Any) -> Hashable:
        """The same for the same two factors, or equal views of them."""
        return frozenset({self.shown(x), self.shown(y)})

    def shown(self, value: Any) -> Hashable:
        line = self.made.get(value) if type(value) is Var else None
        return identity(tuple(line.call) if line is not None and line.call.function in VIEWS else value)


class _Sums(Regroup):
    """Columns times rows that are added, as one product of matrices."""

    def __init__(self, plan: Plan, cells: int) -> None:
        super().__init__(plan, cells)
        sums = [line.call for line in self.made.values() if line.call.function in SIGNS]
        self.parts = {x for call in sums for x in call.args if self.inner(x, *SIGNS) is not None}

    def instead(self, line: Line, out: Var) -> Iterator[Line]:
        wanted = line.call.function in SIGNS and out not in self.parts and self.is_table(out)
        terms = list(self.terms(line.call, 1, out)) if wanted else []
        products = [t for t in terms if t.is_product]
        alone = self.product(line.call, 1, out) if line.call.function is np.multiply and self.is_table(out) else None
        if alone is not None:
            yield from self.joined([alone], [], out)
        elif len(products) > 1 and any(t.row is not None for t in products):
            yield from self.joined(products, [t for t in terms if not t.is_product], out)
        else:
            yield line

    def terms(self, call: Call, sign: int, out: Var) -> Iterator[_Term]:
        """What is added and subtracted, also in sums that serve this one only."""
        for own, x in zip(SIGNS[call.function], call.args, strict=True):
            inner = self.inner(x, *SIGNS)
            if inner is not None and x.shape == out.shape and x.dtype == out.dtype:
                yield from self.terms(inner, sign * own, out)
            else:
                yield self.term(sign * own, x, out)

    def term(self, sign: int, x: Any, out: Var) -> _Term:
        """An operand taken apart, if it is a column times a row."""
        if self.is_column(x, out):
            return _Term(sign, x, None, is_product=True)
        inner = self.inner(x, np.multiply)
        return (self.product(inner, sign, out) if inner is not None else None) or _Term(sign, x)

    def product(self, call: Call, sign: int, out: Var) -> _Term | None:
        """A column times a row."""
        for column, row in itertools.permutations(call.args):
            if self.is_column(column, out) and is_row(row, out):
                return _Term(sign, column, row.value, is_product=True)
        return None

    def joined(self, products: list[_Term], others: list[_Term], out: Var) -> Iterator[Line]:
        """The product of all columns and rows, and the other terms."""
        known = [np.asarray(1 if t.row is None else t.row, out.dtype) for t in products]  # integers may lack -x
        rows = [t.sign * np.broadcast_to(x, (1, *out.shape[1:])) for t, x in zip(products, known, strict=True)]
        if len(rows) == 1:
            rows.append(np.zeros_like(rows[0]))
        constant = Constant(np.concatenate(rows).reshape(len(rows), -1))
        left, total = another(out, (self.cells, len(rows))), another(out) if others else out
        flat = total if len(out.shape) == 2 else another(out, (self.cells, constant.value.shape[1]))
        yield line_of(matrix, tuple(t.value for t in products), left)
        yield line_of(np.matmul, (left, constant), flat)
        if flat is not total:
            yield line_of(np.reshape, (flat, (-1, *out.shape[1:])), total)
        for k, (sign, x, *_) in enumerate(others):
            args = (x, total) if sign > 0 and not k else (total, x)
            total = out if k == len(others) - 1 else another(out)
            yield line_of(np.add if sign > 0 else np.subtract, args, total)


def is_row(x: Any, out: Var) -> bool:
    """Whether a value is the same in all cells."""
    return type(x) is Constant and (np.ndim(x.value) < len(out.shape) or np.shape(x.value)[0] == 1)


def another(like: Var, shape: tuple[int, ...] | None = None) -> Var:
    """A new variable of the same kind and dtype, and of the same shape unless another is given."""
    new = Var(like)
    new.kind, new.shape = like.kind, like.shape if shape is None else shape
    return new


def line_of(function: Any, args: tuple[Any, ...], *outs: Var, several: bool = False) -> Line:
    """A call that makes new arrays; in a tuple if they are ``several``."""
    used = variables(args)
    step = Step(function, args, {}, used, outs, ((),) * len(outs), several)
    return Line(step, Call(function, args, {}), used, frozenset())
