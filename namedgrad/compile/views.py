"""Chains of views as one: where axes were only moved, dropped and added, the array that is shown is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends import NUMPY
from namedgrad.compile.record import Var
from namedgrad.compile.rewrite import Call

WHOLE = slice(None)


class View(NamedTuple):
    """An array shown with other axes of size 1, or in another order."""

    base: Var
    axes: tuple[int | None, ...]  # per axis: that of the base, or None for a new one

    def is_base(self) -> bool:
        """Whether it is shown as it is."""
        return self.axes == tuple(range(len(self.base.shape)))

    def call(self) -> Call | None:
        """One call that makes it, if there is one."""
        if None not in self.axes and len(self.axes) == len(self.base.shape):
            return Call(NUMPY.transpose, (self.base, self.axes), {})
        index: list[Any] = []
        at = 0
        for a in self.axes:
            if a is None:
                index.append(None)
            elif a < at:
                return None
            else:
                index += [*([0] * (a - at)), WHOLE]  # what is not shown has size 1
                at = a + 1
        return Call(NUMPY.getitem, (self.base, (*index, *([0] * (len(self.base.shape) - at)))), {})


def view_of(call: Call, known: Mapping[Var, View]) -> View | None:
    """What a call shows, given the views that are known; None if it does more than that."""
    x = call.args[0] if call.args else None
    if type(x) is not Var or not issubclass(x.kind, np.ndarray) or len(call.args) < 2 or call.kwargs:
        return None
    base, axes = known.get(x, View(x, tuple(range(len(x.shape)))))
    how: Any = call.args[1]
    if call.function == NUMPY.cut:
        return _indexed(x, base, axes, (*([WHOLE] * how), call.args[2]))
    if call.function == NUMPY.transpose:
        return View(base, tuple(axes[i] for i in how))
    if call.function == NUMPY.broadcast_to:
        lead = len(how) - len(axes)
        return View(base, (None,) * lead + axes) if how == (1,) * lead + x.shape else None
    return _indexed(x, base, axes, how) if call.function == NUMPY.getitem else None


def _indexed(x: Var, base: Var, axes: tuple[int | None, ...], index: tuple[Any, ...]) -> View | None:
    if sum(i is Ellipsis for i in index) == 1:
        at = next(k for k, i in enumerate(index) if i is Ellipsis)
        rest = len(axes) - sum(i is not None and i is not Ellipsis for i in index)
        index = (*index[:at], *([WHOLE] * rest), *index[at + 1 :])
    out: list[int | None] = []
    at = 0
    for i in index:
        if i is None:
            out.append(None)
            continue
        if type(i) is int and i == 0 and x.shape[at] == 1:
            pass
        elif type(i) is slice and i == WHOLE:
            out.append(axes[at])
        else:
            return None
        at += 1
    return View(base, (*out, *axes[at:]))
