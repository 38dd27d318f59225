"""Sums of products of tables that differ in factors which all cells share, or in numbers of the cell.

Columns of the Jacobian often have the same table as a factor: those of ``a exp(-b t)`` are ``e`` and ``-a t e``.  Then
``sum(e e)``, ``sum(e t e)`` and ``sum(t e t e)`` are one product of a small matrix with the table ``e e``, and numbers
of the cell come after the sum.  With a trend, an evaluation makes 13 calls on tables instead of 16.

A table is what has a number for every residual of every cell, a column one for every cell, a row one for every residual
of a cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.compile.optimise import Line, Plan, Test, alive
from namedgrad.compile.record import Var
from namedgrad.compile.rewrite import Call, Constant
from namedgrad.fit.regroup import Regroup, another, is_row, line_of


def factored(plan: Plan, cells: int) -> Plan:
    """The same results by fewer passes over tables; the plan itself where that is not so."""
    made = _Factored(plan, cells)
    code = list(made.code())
    checks = frozenset(line.check for line in code if isinstance(line, Test))
    code = alive(code, plan.results, checks)
    return plan._replace(code=code) if made.passes(code) < made.passes(plan.code) else plan


def sums_with(table: Any, rows: Any) -> tuple[Any, ...]:
    """The sums, in every cell, of a table times each of some rows."""
    return tuple(np.matmul(rows, table.reshape(len(table), -1).T))


def weighted(sums: Any, *columns: Any) -> Any:
    """Sums times columns."""
    for column in columns:
        sums = sums * column.reshape(-1)
    return sums


def weighted_matrix(columns: Any, several: Any) -> Any:
    """Several sums times columns, as a matrix."""
    return weighted(np.array(several), *columns).T


class _Product(NamedTuple):
    """A table times a row (None: ones) and columns."""

    table: Var
    row: Any = None
    columns: tuple[Var, ...] = ()


class _Sum(NamedTuple):
    """A call that sums a product of one or two tables with each of some rows, or with ones, times columns."""

    call: Call
    out: Var
    tables: tuple[Var, ...]
    rows: list[Any]
    columns: tuple[Var, ...]


class _Factored(Regroup):
    """A program and the sums in it that may share their tables."""

    def __init__(self, plan: Plan, cells: int) -> None:
        super().__init__(plan, cells)
        self.place = {v: k for k, v in enumerate(self.uses)}  # the same in every recording
        found = ((line.step.outs[0], self.sum_of(line.call, line.step.outs[0])) for line in self.made.values())
        self.sums = {out: s for out, s in found if s is not None}

    def passes(self, code: Sequence[Line | Test]) -> int:
        """How many calls read or make tables like those that are summed."""
        shapes = {x.shape for s in self.sums.values() for x in s.tables}
        calls = (line for line in code if isinstance(line, Line))
        return sum(any(v.shape in shapes for v in (*line.used, *line.step.outs)) for line in calls)

    def code(self) -> Iterator[Line | Test]:
        """All lines, with those of the sums where the first of them is needed."""
        waiting: dict[Var, _Sum] = {}
        for line in self.lines:
            if not waiting.keys().isdisjoint(line.used):
                yield from self.together(waiting)
                waiting = {}
            found = self.sums.get(line.step.outs[0]) if isinstance(line, Line) else None
            if found is None:
                yield line
            else:
                waiting[found.out] = found
        yield from self.together(waiting)

    # ---------------------------------------------------------------- what there is

    def sum_of(self, call: Call, out: Var) -> _Sum | None:
        """What a call sums; None of anything else."""
        if call.function != NUMPY.contract or any(call.kwargs.values()):
            return None
        x, y, how = call.args
        if type(x) is not Var or not self.is_table(x):
            return None
        rest, alike = len(x.shape) - 1, type(y) is Var and (x.shape, x.dtype) == (y.shape, y.dtype)
        if alike and how.perms[1] is None and _is_plain(how, (1, 0, rest, 0)):
            one, two = self.product(x), self.product(y)
            first, second = sorted((one.table, two.table), key=self.place.__getitem__)
            return _Sum(call, out, (first, second), [_times(one.row, two.row)], one.columns + two.columns)
        if type(y) is Constant and out.dtype == x.dtype and _is_plain(how, (0, 1, rest, 1)):
            one = self.product(x)
            rows = np.moveaxis(np.transpose(y.value, how.perms[1] or range(y.value.ndim)), -1, 0)
            return _Sum(call, out, (one.table,), [_times(row, one.row) for row in rows], one.columns)
        return None

    def product(self, x: Var) -> _Product:
        """A table taken apart."""
        line = self.made.get(x)
        if line is None or line.call.kwargs:
            return _Product(x)
        if line.call.function is np.negative and type(line.call.args[0]) is Var:
            found = self.product(line.call.args[0])
            return found._replace(row=_times(found.row, np.asarray(-1, x.dtype)))
        if line.call.function is np.multiply:
            for inner, factor in itertools.permutations(line.call.args):
                if type(inner) is Var and (inner.shape, inner.dtype) == (x.shape, x.dtype):
                    found = self.product(inner)
                    if self.is_column(factor, x):
                        return found._replace(columns=(*found.columns, factor))
                    if is_row(factor, x):
                        row = np.asarray(factor.value, x.dtype)  # of integers or float32 the product would be one, too
                        return found._replace(row=_times(found.row, row))
        return _Product(x)

    # ---------------------------------------------------------------- what becomes of it

    def together(self, sums: Mapping[Var, _Sum]) -> Iterator[Line]:
        """The lines for some sums, by their tables."""
        by_tables: dict[tuple[Var, ...], list[_Sum]] = {}
        for s in sums.values():
            by_tables.setdefault(s.tables, []).append(s)
        bare = {k for k, v in by_tables.items() if len(k) == 2 and all(row is None for s in v for row in s.rows)}
        order = sorted(by_tables, key=lambda k: (k not in bare, len(k) == 2, -len({*k})))  # then they may be in place
        for tables in order:
            yield from (self.plain if tables in bare else self.with_rows)(tables, by_tables[tables])

    def plain(self, tables: tuple[Var, ...], sums: Sequence[_Sum]) -> Iterator[Line]:
        """Sums without rows."""
        first = sums[0]
        bare = another(first.out) if len(sums) > 1 or first.columns else first.out
        yield line_of(NUMPY.contract, (*tables, first.call.args[2]), bare)
        for s in sums if bare is not first.out else ():
            yield line_of(weighted, (bare, *s.columns), s.out)

    def with_rows(self, tables: tuple[Var, ...], sums: Sequence[_Sum]) -> Iterator[Line]:
        """Sums with rows, by one product of matrices."""
        table, width = tables[0], math.prod(tables[0].shape[1:])
        if len(tables) == 2:
            table = another(table)
            yield line_of(np.multiply, tables, table)
        known = [np.broadcast_to(1 if row is None else row, (1, *table.shape[1:])) for s in sums for row in s.rows]
        rows = Constant(np.concatenate(known).astype(table.dtype).reshape(len(known), width))
        parts = [[s.out] if _is_bare(s) else [another(table, (self.cells,)) for _ in s.rows] for s in sums]
        yield line_of(sums_with, (table, rows), *itertools.chain(*parts), several=True)
        for s, part in zip(sums, parts, strict=True):
            if len(s.out.shape) > 1:
                yield line_of(weighted_matrix, (s.columns, part), s.out)
            elif not _is_bare(s):
                yield line_of(weighted, (*part, *s.columns), s.out)


def _is_bare(s: _Sum) -> bool:
    """Whether it is one sum that is not weighted."""
    return len(s.out.shape) == 1 and not s.columns


def _is_plain(how: Any, counts: tuple[int, ...]) -> bool:
    """Whether a contraction sums over all axes of a table but the first, and leaves that in front."""
    return bool(how.counts == counts and how.perms[0] is None and how.back is None)


def _times(x: Any, y: Any) -> Any:
    """The product of two rows, of which None is one of ones."""
    return y if x is None else x if y is None else np.multiply(x, y)
