"""The contract form: a product by name, summed over names, as one batched matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call
from namedgrad.linear import Bilinear, Map, like, ops
from namedgrad.primitive.registry import Primitive, check_sizes
from namedgrad.trace import apply


class Contract(Primitive):
    """``contract(x, y, over)``: product by name, summed over names; lowered to one batched matrix product."""

    form = "contract"

    def __call__(self, x: DimArray, y: DimArray, over: Names) -> DimArray:
        over = tuple(over)
        x, y = (_presum(a, b, over) for a, b in ((x, y), (y, x)))
        over = tuple(n for n in over if n in x.names and n in y.names)
        return apply(self, (x, y), over=over) if over else ops.mul(x, y)

    def lower(self, args: Sequence[DimArray], over: Names) -> DimArray:
        x, y = args
        check_sizes(self.name, args)
        hidden = axes.merge_hidden((x.names, y.names), (x.hidden, y.hidden))
        plan = axes.matmul_plan(x.names, y.names, over)
        backend = backends.backend_of(x.raw, y.raw)
        b, m, k, n = plan.counts
        xs, xm = _matrix(backend, x.raw, plan.perms[0], (b, m, k))
        ys, yn = _matrix(backend, y.raw, plan.perms[1], (b, k, n))
        raw = call(backend.matmul, xm, yn)
        shape = (*xs[: b + m], *ys[b + k :])
        if raw.shape != shape:
            raw = call(backend.reshape, raw, shape)
        if plan.back is not None:
            raw = call(backend.transpose, raw, plan.back)
        out = hidden if type(hidden) is axes.ByName else hidden.difference(over)
        return make(raw, plan.out, out)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names) -> Map:
        x, y = ins
        pairs = [(a, b) for a, b, n in ((x, y, need[0]), (y, x, need[1])) if n]
        return Bilinear([like(a) for a, _ in pairs], [b for _, b in pairs], over)


def _presum(a: DimArray, b: DimArray, over: Names) -> DimArray:
    own = tuple(n for n in over if n in a.names and n not in b.names)
    return ops.total(a, own) if own else a


def _matrix(backend: Any, raw: Any, perm: tuple[int, ...] | None, counts: tuple[int, int, int]) -> tuple[Any, Any]:
    """Permute and flatten to ``[batch..., rows, columns]``; also the permuted shape."""
    if perm is not None:
        raw = call(backend.transpose, raw, perm)
    shape = raw.shape
    b, r, c = counts
    if r == c == 1:
        return shape, raw
    flat = (*shape[:b], math.prod(shape[b : b + r]), math.prod(shape[b + r :]))
    return shape, call(backend.reshape, raw, flat)
