"""The core form: a gufunc signature, a kernel on the last axes, and a pullback written on core names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Leaf, Like, Map, Pair, fold, like, ops
from namedgrad.primitive.registry import Primitive, check_sizes, place
from namedgrad.trace import Level, Traced, apply, backward, innermost


class CoreOp(Primitive):
    """Core dims on several operands, like a NumPy gufunc: ``(m,m),(m)->(m)``.

    ``pullback(g, out, *operands)`` gives one cotangent (or a :class:`~namedgrad.linear.Pair`) per operand, on core
    names, or a function that gives it, called only if it is wanted; ``pushforward(tangents, out, *operands)`` may be
    given where transposing the pullback is slow.  Both get zeros that take no memory for ``out`` if they are not
    ``of_result``, which is not kept then.
    """

    form = "core"

    def __init__(
        self,
        signature: str,
        name: str,
        pullback: Callable[..., Sequence[Any]],
        kernel: str | None = None,
        pushforward: Callable[..., DimArray] | None = None,
        *, columns: int | None = None, of_result: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(name, kernel)
        self.signature, self.pullback, self.pushforward, self.columns = signature, pullback, pushforward, columns
        self.of_result = of_result
        left, right = signature.split("->")
        self.ins = tuple(_core_names(group) for group in re.findall(r"\(([^)]*)\)", left))
        (self.out,) = (_core_names(group) for group in re.findall(r"\(([^)]*)\)", right))

    def __call__(
        self, *args: DimArray, dims: tuple[Names, ...] | None = None, out: Names | None = None, **params: Any
    ) -> Any:
        dims, out = self.ins if dims is None else dims, self.out if out is None else out
        return apply(self, args, dims=dims, out=out, **params)

    def lower(self, args: Sequence[DimArray], dims: tuple[Names, ...], out: Names, **params: Any) -> DimArray:
        check_sizes(self.name, args)
        names = tuple(a.names for a in args)
        columns: Names = ()
        if self.columns is not None:
            others = {n for i, own in enumerate(names) for n in own if i != self.columns}
            columns = tuple(n for n in names[self.columns] if n not in others and n not in dims[self.columns])
        ins = tuple((*d, *columns) if i == self.columns else d for i, d in enumerate(dims))
        plan = axes.core_plan(names, tuple(a.hidden for a in args), ins, ((*out, *columns),))
        raw = [place(a.raw, m) for a, m in zip(args, plan.moves, strict=True)]
        backend = backends.backend_of(*raw)
        tail: tuple[int, ...] = ()
        if self.columns is not None and len(columns) != 1:
            flat = raw[self.columns]
            tail = flat.shape[flat.ndim - len(columns) :]
            raw[self.columns] = call(backend.reshape, flat, (*flat.shape[: flat.ndim - len(columns)], math.prod(tail)))
        res = call(self.kernel_for(*raw), *raw, **params)
        if self.columns is not None and len(columns) != 1:
            res = call(backend.reshape, res, (*res.shape[:-1], *tail))
        if plan.back[0] is not None:
            res = call(backend.transpose, res, plan.back[0])
        return make(res, plan.outs[0], plan.hidden)

    def linear(
        self, out_: DimArray, ins: list[DimArray], need: list[bool], dims: tuple[Names, ...], out: Names, **params: Any
    ) -> Map:
        frames, out_frame = [axes.frame(*pair) for pair in zip(dims, self.ins, strict=True)], axes.frame(out, self.out)
        y = ops.relabel(out_ if self.of_result else zeros_of(out_), out_frame)
        xs = [ops.relabel(x, f) for x, f in zip(ins, frames, strict=True)]
        at = [i for i, n in enumerate(need) if n]

        def pull(g: DimArray) -> list[Any]:
            parts = self.pullback(g, y, *xs, **params)
            return [parts[i]() if callable(parts[i]) else parts[i] for i in at]

        def push(ts: list[DimArray | None]) -> DimArray:
            if self.pushforward is not None:
                full: list[DimArray | None] = [None] * len(xs)
                for i, t in zip(at, ts, strict=True):
                    full[i] = t
                return self.pushforward(full, y, *xs, **params)
            return transpose_of(pull, y, [like(xs[i]) for i in at], ts)

        return CoreMap(push, pull, [like(ins[i]) for i in at], [frames[i] for i in at], out_frame)


def _core_names(group: str) -> Names:
    return axes.cores(len([p for p in group.split(",") if p.strip()]))


def transpose_of(
    pull: Callable[[DimArray], Sequence[Any]], out: DimArray, operands: list[Like], ts: list[DimArray | None]
) -> DimArray:
    """A pushforward as the transpose of a pullback: the pullback is linear in its cotangent, so pull *that* back."""
    level, leaf = Level(), Leaf()
    own = {*out.names, *(n for x in operands for n in x.names)}
    mark = axes.by_name(frozenset((n, n) for t in ts if t is not None for n in t.names if n not in own), guard=True)
    seeds: list[Any] = []
    try:
        parts = pull(Traced(ops.stamp(zeros_of(out), axes.by_name()), level, leaf))
        for part, x, t in zip(parts, operands, ts, strict=True):
            if t is not None:
                c, factor = part if type(part) is Pair else (part, 1)
                met = tuple(n for n in t.names if n not in x.names and n in out.names)
                c = fold(ops.stamp(c, axes.by_name()), factor, (*x.names, *met))
                seeds += [(c.node, ops.stamp(ops.spread(t, like(c)), mark))] if c.level is level else []
        found = backward(level.tape or (), seeds, [leaf])[0]
        return zeros_of(out) if found is None else found
    finally:
        level.close()


def zeros_of(x: DimArray) -> DimArray:
    """Zeros with the names, sizes and dtype of ``x``, on its backend."""
    raw = innermost(x).raw
    zero = call(backends.backend_of(raw).full, (), 0, x.dtype)
    return ops.spread(make(zero, (), x.hidden), like(x))


def core(signature: str, name: str, *, pullback: Callable[..., Sequence[Any]], kernel: str | None = None,
         pushforward: Callable[..., Any] | None = None, columns: int | None = None, of_result: bool = True) -> CoreOp:
    """Declare an operation with core dims."""
    return CoreOp(signature, name, pullback, kernel, pushforward, columns=columns, of_result=of_result)
