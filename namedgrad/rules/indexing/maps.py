"""The index map and its transpose: gather and scatter-add.

An index is a named array of positions along a dim.  Several are taken together, by name.  Their names are new dims of
what is gathered; where the indexed array has them too, each of its slices has positions of its own.  Both primitives
lay an array out as ``(shared..., head..., core..., tail...)``: the *shared* names are those of the index that stay, the
*core* is what the index replaces, *head* and *tail* are the other axes, stored before and after the core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, Map, fold, like
from namedgrad.primitive import Primitive, check_sizes, place
from namedgrad.rules.dims import without
from namedgrad.rules.structure import relabel, spread, stamp
from namedgrad.trace import apply


def index_names(index: Sequence[DimArray]) -> Names:
    """The names that an index brings."""
    return _joint(tuple([i.names for i in index]))


@lru_cache(4096)
def _joint(own: tuple[Names, ...]) -> Names:
    return axes.in_order(n for names in own for n in names)


def index_sizes(index: Sequence[DimArray]) -> dict[Name, int]:
    """Sizes of the names that an index brings."""
    return {n: s for i in index for n, s in zip(i.names, i.full_shape, strict=True)}


def laid_out(x: DimArray, names: Names, sizes: Mapping[Name, int], backend: Any) -> Any:
    """The raw array with one axis per name, repeated without a copy along those that it lacks."""
    shape = tuple(sizes[n] for n in names)
    if not x.names:
        return call(backend.function("broadcast_to"), x.raw, shape)
    raw = place(x.raw, axes.spread_plan(x.names, names)[1])
    return raw if raw.shape == shape else call(backend.broadcast_to, raw, shape)


def placed_index(index: Sequence[DimArray], target: Names, backend: Any) -> list[Any]:
    """Index arrays with one axis per target name, of size 1 where they lack it."""
    return [
        place(i.raw if backends.is_array(i.raw) else call(backend.full, (), i.raw, np.intp), _move(i.names, target))
        for i in index
    ]


@lru_cache(4096)
def _move(names: Names, target: Names) -> axes.Move:
    full = tuple(slice(None) if n in names else None for n in target)
    order = axes.order_plan(names, tuple(n for n in target if n in names))
    return axes.Move(order, full if None in full else None)


def around(names: Names, core: Names, shared: Names) -> tuple[Names, Names]:
    """Names stored before the first core name, and after it; shared ones are neither."""
    own = [n for n in names if n not in core and n not in shared]
    first = min((names.index(n) for n in core if n in names), default=len(names))
    head = tuple(n for n in own if names.index(n) < first)
    return head, tuple(n for n in own if n not in head)


# ------------------------------------------------------------------------------------------------ gather


class _Plan(NamedTuple):
    """How an array is laid out before its cells are taken, and what of them."""

    before: tuple[int, ...] | None
    turn: tuple[int, ...]  #: the order of the index arrays
    joint: Names  #: the names that they have, shared ones first
    shared: int
    tail: int
    after: tuple[int, ...] | None
    names: Names
    hidden: frozenset[Name]


@lru_cache(4096)
def _plan(
    names: Names, hidden: frozenset[Name], dims: Names, own: tuple[Names, ...], marks: tuple[frozenset[Name], ...]
) -> _Plan:
    rest = tuple(n for n in names if n not in dims)
    mark = axes.merge_hidden((rest, *own), (hidden if isinstance(hidden, axes.ByName) else hidden.intersection(rest), *marks))
    joint = _joint(own)
    shared = tuple(n for n in rest if n in joint)
    new = tuple(n for n in joint if n not in shared)
    head, tail = around(names, dims, shared)
    index = sorted(range(len(dims)), key=lambda k: names.index(dims[k]))  # memory stays as it is
    first = min(names.index(d) for d in dims)
    before = tuple(n for n in names[:first] if n not in dims)
    order = (*before, *new, *(n for n in rest if n not in before))
    start = axes.order_plan(names, (*shared, *head, *(dims[k] for k in index), *tail))
    end = axes.order_plan((*shared, *head, *new, *tail), order)
    return _Plan(start, tuple(index), (*shared, *new), len(shared), len(tail), end, order, mark)


class _Gather(Primitive):
    """``x[i1, ..., ik]`` over dims of ``x``, pointwise by the names of the indices."""

    form, signature, keeps = "linear", "(n...),()->()", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        x, *index = args
        plan = _plan(x.names, x.hidden, dims, tuple([i.names for i in index]), tuple([i.hidden for i in index]))
        if plan.shared or len(index) > 1:  # else no size is met twice
            check_sizes("index", [*index, without(x, dims)])
        backend = backends.backend_of(*[a.raw for a in args])
        if len(index) == 1 and not plan.shared and len(plan.joint) <= 1:
            return make(call(backend.take, x.raw, index[0].raw, x.names.index(dims[0])), plan.names, plan.hidden)
        raw = place(x.raw, axes.Move(plan.before, None))
        placed = placed_index([index[k] for k in plan.turn], plan.joint, backend)
        out = call(backend.gather, raw, *placed, shared=plan.shared, tail=plan.tail)
        return make(place(out, axes.Move(plan.after, None)), plan.names, plan.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        return IndexMap(like(ins[0]), unmarked(ins[1:]), dims)


def marks(args: Sequence[DimArray], gone: Names) -> frozenset[Name]:
    """The mark of a result without the names ``gone``; a name that one operand hides and another shows is refused."""
    return _mark(tuple([a.names for a in args]), tuple([a.hidden for a in args]), gone)


@lru_cache(4096)
def _mark(names: tuple[Names, ...], hidden: tuple[frozenset[Name], ...], gone: Names) -> frozenset[Name]:
    left = [tuple(n for n in own if n not in gone) for own in names]
    each = [m if isinstance(m, axes.ByName) else m.intersection(own) for m, own in zip(hidden, left, strict=True)]
    return axes.merge_hidden(tuple(left), tuple(each))


def unmarked(index: Sequence[DimArray]) -> list[DimArray]:
    """The index as maps keep it: inside push and pull alignment is by name only."""
    return [stamp(i, axes.by_name()) for i in index]


class IndexMap(Map):
    """Gather forward, scatter-add backward; kept names of the index stay apart."""

    __slots__ = ("dims", "index", "mixes", "x")
    multiplies = False

    def __init__(self, x: Like, index: list[DimArray], dims: Names) -> None:
        self.x, self.index, self.dims = x, index, dims
        self.mixes = tuple(dims)

    def pull(self, g: DimArray) -> list[DimArray | None]:
        joint = index_names(self.index)
        g = self.apart(g, tuple(n for n in self.dims if n in joint))
        how: Any = g.hidden
        summed = tuple(n for n in joint if n not in how.keep and (n not in self.x.names or n in self.dims))
        sizes = tuple(self.x.full_shape[self.x.names.index(d)] for d in self.dims)
        out = scatter_add(g, self.index, self.dims, sizes, summed)
        return [fold(out if out.hidden is how else stamp(out, how), 1, self.x.names)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        (t,) = ts
        return None if t is None else apply(_GATHER, (t, *self.index), dims=self.dims)


# ------------------------------------------------------------------------------------------------ scatter


class Scatter(Primitive):
    """Cells combined at the index: ``summed`` names of the index go, dims of the given sizes come in their place."""

    form, signature = "linear", "(),()->(n...)"

    def lower(self, args: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names) -> DimArray:
        (shared, head, _, tail), raw, placed, options = laid_out_writers(args, summed)
        names = (*shared, *head, *dims, *tail)
        axes.refuse_repeats(names, "scatter: ")
        kernel = backends.backend_of(*(a.raw for a in args)).function(self.kernel)
        return make(call(kernel, raw, *placed, sizes=sizes, **options), names, marks(args, summed))

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], **params: Any) -> Map | None:
        return None


def laid_out_writers(
    args: Sequence[DimArray], summed: Names
) -> tuple[tuple[Names, Names, Names, Names], Any, list[Any], dict[str, int]]:
    """What is written and where to, as kernels take them: the order of names, raw arrays, counts of axes."""
    g, *index = args
    check_sizes("scatter", args)
    shared, head, tail, perm = _writers(g.names, tuple([i.names for i in index]), summed)
    raw = place(g.raw, axes.Move(perm, None))
    placed = placed_index(index, (*shared, *summed), backends.backend_of(*[a.raw for a in args]))
    return (shared, head, summed, tail), raw, placed, {"shared": len(shared), "tail": len(tail)}


@lru_cache(4096)
def _writers(names: Names, own: tuple[Names, ...], summed: Names) -> tuple[Names, Names, Names, Any]:
    joint = _joint(own)
    shared = tuple(n for n in joint if n not in summed)
    head, tail = around(names, summed, joint)
    return shared, head, tail, axes.order_plan(names, (*shared, *head, *summed, *tail))


class _ScatterAdd(Scatter):
    """The transpose of gather."""

    keeps = "constants"

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, sizes: Any, summed: Names
    ) -> Map:
        return _ScatterMap(like(ins[0]), unmarked(ins[1:]), dims, sizes, summed)


class _ScatterMap(Map):
    """Scatter-add forward, gather backward."""

    __slots__ = ("dims", "g", "index", "mixes", "sizes", "summed")
    multiplies = False

    def __init__(self, g: Like, index: list[DimArray], dims: Names, sizes: Any, summed: Names) -> None:
        self.g, self.index, self.dims, self.sizes, self.summed = g, index, dims, sizes, summed
        self.mixes = tuple(summed)

    def pull(self, g: DimArray) -> list[DimArray | None]:
        g = self.apart(g, self.dims)
        out = apply(_GATHER, (g, *self.index), dims=self.dims)
        return [fold(out if out.hidden is g.hidden else stamp(out, g.hidden), 1, self.g.names)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        (t,) = ts
        return None if t is None else scatter_add(t, self.index, self.dims, self.sizes, self.summed)


_GATHER, _SCATTER = _Gather("gather"), _ScatterAdd("scatter_add")


def gather(x: DimArray, index: Mapping[Name, DimArray]) -> DimArray:
    """Index several dims of ``x`` pointwise."""
    return apply(_GATHER, (x, *index.values()), dims=tuple(index))


def scatter_add(g: DimArray, index: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names) -> DimArray:
    """Add the cells of ``g`` at the index into zeros; ``g`` is repeated along names of the index that it lacks."""
    return apply(_SCATTER, (with_names(g, index), *index), dims=dims, sizes=sizes, summed=summed)


def with_names(g: DimArray, index: Sequence[DimArray]) -> DimArray:
    """``g`` repeated along the names of the index that it lacks."""
    if all(n in g.names for i in index for n in i.names):
        return g
    more = {n: s for n, s in index_sizes(index).items() if n not in g.names}
    wide = spread(g, Like((*more, *g.names), (*more.values(), *g.full_shape), g.dtype))
    return relabel(wide, {}, hide=tuple(n for n in more if any(n in i.hidden for i in index)))
