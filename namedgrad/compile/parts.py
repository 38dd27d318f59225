"""Sums with arrays that are 0 but for a part: the part is added where it lies.

A program that takes an array apart slice by slice adds up one cotangent for each slice; as large as the array they
would take as long as there are slices times cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.compile.optimise import Line, Plan
from namedgrad.compile.record import Var, variables
from namedgrad.compile.rewrite import Call


def in_parts(plan: Plan) -> Plan:
    """A plan in which arrays with a single part are not made where nothing but a sum uses them."""
    uses = Counter(v for line in plan.code for v in line.used) + Counter(variables(tuple(plan.results)))
    made = {
        line.step.outs[0]: line.call
        for line in plan.code
        if isinstance(line, Line) and line.call.function == NUMPY.uncut and uses[line.step.outs[0]] == 1
    }
    summed = {line.step.outs[0]: found for line in plan.code if isinstance(line, Line) and (found := _sum(line, made))}
    gone = {part for part, _ in summed.values()}
    code = []
    for line in plan.code:
        out = None if not isinstance(line, Line) else line.step.outs[0]
        if out in summed:
            call = summed[out][1]
            code.append(line._replace(call=call, used=variables(call.args)))  # type: ignore[call-arg]
        elif out not in gone:
            code.append(line)
    return plan._replace(code=code)


def _sum(line: Line, made: Mapping[Var, Call]) -> tuple[Var, Call] | None:
    """What is not made any more, and the sum without it."""
    function, args, kwargs = line.call
    out = line.step.outs[0]
    if function is not np.add or kwargs or args[0] is args[1]:
        return None
    for whole, part in (args, args[::-1]):
        if type(part) is Var is type(whole) and part in made and whole.array is None:
            (x, axis, *index), more = made[part].args, made[part].kwargs
            if {(v.shape, v.dtype) for v in (whole, part)} == {(out.shape, out.dtype)}:
                where = {"axis": axis, "index": index[0] if index else more["index"]}
                return part, Call(NUMPY.plus_part, (whole, x), where)
    return None
