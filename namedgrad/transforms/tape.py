"""One run of a function recorded, and the passes over it.

:func:`record` runs a function of parts (a flat list of DimArrays) and returns its values with a :class:`Tape` that
pulls cotangents back and pushes tangents forward as often as asked.
"""

from __future__ import annotations

import cmath
import copy
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, describe, extent, make, unseen
from namedgrad.axes import AxisError, Name, Names, by_name
from namedgrad.linear import FiniteBilinear, Leaf, Like, Map, Mask, Scale, ambiguous, like
from namedgrad.rules.complex import Conjugation, conj_if_complex
from namedgrad.rules.structure import Summed, cast, choose, diagonalize, relabel, reorder, spread, stamp
from namedgrad.trace import Level, Tangent, Traced, backward, forward, innermost
from namedgrad.transforms.levels import as_taken, without
from namedgrad.versions import settled

Parts = Sequence[DimArray]
MANY = 10_000  # cells from which on a copy that may be left out is worth a detour
QUIET = {"divide": "ignore", "invalid": "ignore", "over": "ignore", "under": "ignore"}


def quiet() -> np.errstate:
    """Within a trace, factors may be infinite where they do not count: no warnings about them."""
    return np.errstate(**QUIET)  # type: ignore[arg-type]


class Tape:
    """A recorded function, linearized at the point where it ran."""

    along: Name = None  #: the axis along which several passes go at once
    finite = False  #: whether an unguarded pass through every map was finite: then so is all that the maps multiply by

    def __init__(self, level: Level, ins: Parts, leaves: list[Leaf], outs: Parts) -> None:
        self.parting: Any = level.parting
        self.ins = [Shape(x) for x in ins]
        self.leaves = leaves
        self.maps: Sequence[Map] = level.tape or ()
        self.ends = [o.node if o.level is level else None for o in outs]
        self.traced, self.outs = outs, [_below(o, level) for o in outs]
        self.out_like = [Shape(o) for o in self.outs]
        self.made = [_is_large(o) and level.borrow and level.made(o) for o in self.outs]

    def only(self, k: int) -> Tape:
        """The same record with one of its outputs."""
        other = copy.copy(self)
        other.ends, other.outs, other.out_like = [self.ends[k]], [self.outs[k]], [self.out_like[k]]
        return other

    def values(self, returned: Sequence[Any]) -> list[DimArray]:
        """The outputs as the user's own: copies of those that a map, or anybody else, may retain.

        One that is ``returned`` as it is, since nothing in it is differentiated, is held by that list too.
        """
        outs = range(len(self.outs))
        held = [sys.getrefcount(self.outs[k]) - 3 for k in outs]  # here, by its trace or the parts, by the call
        again = [sum(o is r for r in returned) for o in self.outs]
        copies = [unseen if made else fresh_copy for made in self.made]
        several = zip(self.outs, held, again, copies, strict=True)
        return [o if h <= n and _is_held_once(o) else copy(o) for o, h, n, copy in several]

    # ---------------------------------------------------------------- reverse

    def pull(
        self, cotangents: Sequence[DimArray | None], keep: Iterable[Name] = (), *, last: bool = False
    ) -> list[DimArray]:
        """Gradients of all inputs, marked and ordered like the inputs with the kept axes in front.

        After the ``last`` pass there can be no other: what the maps hold is given away.
        """
        kept = frozenset(keep).union(*(o.hidden for o in self.out_like))
        pairs = frozenset((n, n) for n in kept)
        given = (*self.outs, *(c for c in cotangents if c is not None)) if kept else ()
        sizes = {n: extent(a, n) for a in given for n in a.names if n in kept}
        guard = not all(s.backend.may_branch for s in (*self.ins, *self.out_like))
        with quiet():
            grads = self._pass(cotangents, by_name(pairs, guard))
            if not (guard or self.finite or self._is_plain(cotangents)):
                grads = self._repaired(grads, cotangents, pairs, last)
            if last:
                self.maps = _without_factors(self.maps)
            return _finished(grads, self.ins, cotangents, sizes)

    def _is_plain(self, cotangents: Sequence[DimArray | None]) -> bool:
        """Whether a guarded pass would repair nothing: to see this spares a pass over the gradients."""
        if not all(map(_multiplies_nothing, self.maps[: len(self.maps) - self._met_by_ones(cotangents)])):
            return False
        return not any(type(m) is FiniteBilinear for m in self.maps) or _all_finite(cotangents)  # infinite times 0

    def _met_by_ones(self, cotangents: Sequence[DimArray | None]) -> int:
        """How many of the last maps are met by numbers other than 0: those of the sum of a function of cells are."""
        if len(self.ends) != 1 or backends.is_recording() or not _is_one(cotangents[0]):
            return 0
        count, node = 0, self.ends[0]
        for map_ in reversed(self.maps):
            if map_ is not node or not (type(map_) is Scale or type(map_) is Summed):
                break
            count += 1
            if type(map_) is Scale and not _scales_by_a_number(map_):
                break
            node = map_.parents[0]
        return count

    def _repaired(
        self, grads: list[DimArray | None], cotangents: Sequence[DimArray | None], pairs: Any, last: bool
    ) -> list[DimArray | None]:
        """The outcome of an unguarded pass, or of the guarded one where that is not finite; a recorder gets both."""

        def again() -> list[DimArray | None]:
            return self._pass(cotangents, by_name(pairs, True))

        if backends.is_recording():
            return [None if g is None or s is None else choose(g, s) for g, s in zip(grads, again(), strict=True)]
        if not _all_finite(grads):
            return again()
        if not last and all(g is not None for g in cotangents) and all(g is None or innermost(g).size for g in grads):
            self.finite = all(map(_repeats, self.maps))
        return grads

    def _pass(self, cotangents: Sequence[DimArray | None], mark: frozenset[Name]) -> list[DimArray | None]:
        seeds = []
        for end, g, out in zip(self.ends, cotangents, self.out_like, strict=True):
            if end is not None and g is not None:
                if g.dtype.kind == "c" and out.dtype.kind == "f":  # what is real sees the real part
                    g = cast(g, out.dtype)  # noqa: PLW2901 - the same cotangent
                if type(end) is Conjugation:  # two conjugates of a cotangent are itself
                    (end,) = end.parents  # noqa: PLW2901 - where it goes next
                else:
                    g = conj_if_complex(g)  # noqa: PLW2901 - as maps take it
                seeds.append((end, stamp(spread(g, Like(out.names, out.full_shape, out.dtype)), mark)))
        found = backward(self.maps, seeds, self.leaves)
        return found if self.parting is None else [without(g, self.parting) for g in found]

    # ---------------------------------------------------------------- forward

    def push(self, tangents: Sequence[DimArray | None]) -> list[DimArray]:
        """Tangents of all outputs, marked and ordered like the outputs with the axes that tangents add in front."""
        seeds: dict[Map, DimArray] = {}
        sizes: dict[Name, int] = {}
        for leaf, t, x in zip(self.leaves, tangents, self.ins, strict=True):
            if t is not None:
                seeds[leaf] = tangent_seed(t, x)
                sizes |= _added(t, x)
        with quiet():
            part = self.parting
            pushed = self._pushed(seeds) if part is None else part.pushed(self._pushed, seeds, self.outs)
            done = (finish_tangent(t, o, sizes) for t, o in zip(pushed, self.out_like, strict=True))
            return own_memory(done, tangents)

    def _pushed(self, seeds: Mapping[Map, DimArray]) -> list[Tangent | None]:
        return forward(self.maps, {leaf: Tangent(t) for leaf, t in seeds.items()}, self.ends)

    def push_one(self, i: int, tangent: DimArray) -> list[DimArray]:
        """Tangents of all outputs where one of the inputs moves alone."""
        return self.push([tangent if k == i else None for k in range(len(self.ins))])

    def reached(self, i: int) -> list[bool]:
        """Which outputs depend on one of the inputs, whatever the numbers are."""
        with quiet():
            pushed = self._pushed({self.leaves[i]: self.ins[i].zeros({})})
        return [t is not None for t in pushed]


def _multiplies_nothing(map_: Map) -> bool:
    if type(map_) is Scale:
        return all(isinstance(f, (int, Mask, type(None))) or _is_harmless(f) for f, _, _ in map_.terms)
    return not map_.multiplies


def _repeats(map_: Map) -> bool:
    """Whether the next cotangent meets the same factors; a late one may overflow where the first product did not."""
    return map_.repeats and not (type(map_) is Scale and any(_is_late(f) for f, _, _ in map_.terms))


def _is_late(factor: Any) -> bool:
    return getattr(factor, "by", None) is not None


def _is_one(g: DimArray | None) -> bool:
    if g is None or g.level is not None:
        return False
    return g.raw is backends.NUMPY.one(g.dtype) or backends.NUMPY.is_one(g.raw)


def _scales_by_a_number(map_: Scale) -> bool:
    """Whether every cotangent is multiplied by one number that is neither 0 nor infinite."""
    factor: Any = map_.terms[0][0]
    return len(map_.terms) == 1 and (type(factor) is int or _is_harmless(factor))


def _without_factors(maps: Sequence[Map]) -> Sequence[Map]:
    for map_ in maps:
        if type(map_) is Scale:
            map_.terms = ()
    return ()


def _is_harmless(factor: Any) -> bool:
    """Whether it is a number of which no product with an infinite cotangent, or with 0, is NaN."""
    if type(factor) is not DimArray or factor.names:
        return False
    raw = factor.raw
    known = backends.is_fixed(raw) and cmath.isfinite(raw) if backends.is_number(raw) else backends.known_finite(raw)
    return known and bool(raw)


def _all_finite(arrays: Sequence[DimArray | None]) -> bool:
    """Whether every value is finite; arrays of a backend that may not branch count as finite (they are guarded)."""
    raws = [innermost(a).raw for a in arrays if a is not None]
    return all(not (kind := backends.backend_of(raw)).may_branch or kind.isfinite_all(raw) for raw in raws)


class Shape:
    """Names, sizes, mark, dtype and backend of an array that is not kept."""

    __slots__ = ("backend", "dtype", "full_shape", "hidden", "names")

    def __init__(self, x: DimArray) -> None:
        self.names, self.hidden, self.full_shape, self.dtype = x.names, x.hidden, x.full_shape, x.dtype
        self.backend = backends.backend_of(innermost(x).raw)

    @property
    def sizes(self) -> dict[Name, int]:
        """Mapping of visible dims to sizes."""
        return {n: s for n, s in zip(self.names, self.full_shape, strict=True) if n not in self.hidden}

    def zeros(self, sizes: dict[Name, int]) -> DimArray:
        """Zeros of this shape with more vectorized axes in front."""
        extra = tuple(n for n in sizes if n not in self.names)
        shape = (*(sizes[n] for n in extra), *self.full_shape)
        raw = backends.call(self.backend.zeros, shape, self.dtype)
        return make(raw, (*extra, *self.names), self.hidden.union(extra))


def _below(out: DimArray, level: Level) -> DimArray:
    """An output without the trace of ``level``; one that is left of a transform that has returned is refused."""
    out = out.value if out.level is level else as_taken([out])[0]
    return settled(out if level.parting is None else without(out, level.parting))


def record(function: Callable[[list[DimArray]], Parts], ins: Parts, *, borrow: bool = False) -> Tape:
    """Run a function of parts on traced inputs; ``borrow``: keep private copies of what the user could still write."""
    level = Level(borrow=borrow)
    leaves = [Leaf() for _ in ins]
    try:
        with quiet():
            for x in ins:
                level.lend(x)
            outs = function([Traced(x, level, n) for x, n in zip(ins, leaves, strict=True)])
            return Tape(level, ins, leaves, outs)
    finally:
        level.close()


def record_forward(
    function: Callable[[list[DimArray]], Parts], ins: Parts, tangents: Sequence[DimArray | None]
) -> tuple[list[DimArray], list[DimArray]]:
    """Run a function of parts with tangents: values and their tangents."""
    level = Level(forward=True)
    given = [(t, x) for t, x in zip(tangents, ins, strict=True) if t is not None]
    sizes = {n: s for t, x in given for n, s in _added(t, x).items()}
    try:
        with quiet():
            traced = [
                x if t is None else Traced(x, level, Tangent(tangent_seed(t, x)))
                for x, t in zip(ins, tangents, strict=True)
            ]
            outs = function(traced)
            values = [_below(o, level) for o in outs]
            pushed = [o.node if o.level is level else None for o in outs]
            pairs = zip(pushed, values, strict=True)
            done = own_memory((finish_tangent(t, Shape(v), sizes) for t, v in pairs), tangents)
    finally:
        level.close()
    if level.parting is None:
        return values, done
    tape = record(function, ins)  # the tangents of vectors of values that coincide are known before they are met
    return list(tape.outs), tape.push(tangents)


# ------------------------------------------------------------------------------------------------ seeds


def _added(t: DimArray, x: Any) -> dict[Name, int]:
    """The axes that a tangent has beside those of its input."""
    return {n: extent(t, n) for n in t.names if n not in x.names}


def tangent_seed(t: DimArray, x: Any) -> DimArray:
    """A tangent in the shape of its input, under the mark of the forward pass."""
    full = spread(cast_to(t, x.dtype), Like(x.names, x.full_shape, x.dtype))
    extra = frozenset((n, n) for n in full.names if n not in x.names)
    return stamp(full, by_name(extra, True))


def cast_to(t: DimArray, dtype: Any) -> DimArray:
    """A tangent or cotangent in the dtype of what it belongs to, complex where either is."""
    if t.dtype.kind == "c" and dtype.kind == "f":
        raise TypeError(f"a tangent of dtype {t.dtype} does not fit a real input of dtype {dtype}; take its real part")
    return cast(t, dtype)


def check_cotangent(g: DimArray, out: Any, what: str) -> DimArray:
    """A cotangent (or tangent) aligned with what it belongs to; visible extras and wrong sizes are refused."""
    if g.names == out.names and g.full_shape == out.full_shape:
        return g
    extra = [n for n in g.dims if n not in out.names]
    if extra:
        raise AxisError(
            f"the {what} {describe(g)} has the dims {extra} that its array "
            f"{describe(out)} lacks; vectorize them to get one answer each"
        )
    for n, s in zip(out.names, out.full_shape, strict=True):
        if n in g.names and extent(g, n) != s:
            raise AxisError(f"the {what} {describe(g)} has {extent(g, n)} along {n!r}, its array has {s}")
        if g.names and n not in g.names and n not in out.hidden:
            raise AxisError(
                f"the {what} {describe(g)} lacks the dim {n!r} of its array "
                f"{describe(out)}"
            )
    return g


# ------------------------------------------------------------------------------------------------ results


def _finished(
    grads: list[DimArray | None], ins: Sequence[Any], seeds: Sequence[DimArray | None], sizes: dict[Name, int]
) -> list[DimArray]:
    """Turn what arrived at the leaves into results: names, marks, order, dtype, memory of their own."""
    finished = [
        x.zeros(sizes) if g is None else _with_all(finish_gradient(g, x, tuple(sizes)), x, sizes)
        for g, x in zip(grads, ins, strict=True)
    ]
    turned = [g is not None and g.dtype.kind == f.dtype.kind == "c" for g, f in zip(grads, finished, strict=True)]
    grads.clear()  # so that what is finished is held once
    return own_memory((_conjugated(finished.pop(0)) if t else finished.pop(0) for t in turned), seeds)


def _with_all(g: DimArray, x: Any, sizes: dict[Name, int]) -> DimArray:
    """With every vectorized axis of the outputs, in their order, also those that only other outputs have."""
    lacks = tuple(n for n in sizes if n not in g.names) if sizes else ()
    if not lacks:
        return g
    front = {n: s for n, s in sizes.items() if n not in x.names}
    wide = spread(g, Like((*front, *x.names), (*front.values(), *x.full_shape), g.dtype))
    return relabel(wide, {}, hide=lacks)


def _conjugated(g: DimArray) -> DimArray:
    """The conjugate of a gradient, in its own memory where nobody else, a rule of the user's for one, has it."""
    _regain(innermost(g).raw)
    if backends.is_recording() or not _is_held_once(g):
        return conj_if_complex(g)
    return make(backends.NUMPY.conjugate_own(g.raw), g.names, g.hidden)


def finish_gradient(g: DimArray, x: Any, kept: Names) -> DimArray:
    """A cotangent at an input, not conjugated yet: the input's names and mark, kept axes in front, in their order."""
    if g.hidden.final:  # type: ignore[attr-defined]
        g = _with_final_names(g, x)
    more = [n for n in g.names if n not in x.names]
    extra = tuple([n for n in kept if n in more]) if len(more) > 1 else tuple(more)
    g = stamp(g, x.hidden.union(extra) if extra else x.hidden)
    return laid_out(cast(g, x.dtype), x, extra)


def _with_final_names(g: DimArray, x: Any) -> DimArray:
    """Kept axes under the names that they have at the input."""
    how: Any = g.hidden
    for now in [n for n in g.names if n in x.names]:
        if how.final.get(now, now) != now:  # renamed on the way: an axis of the input and one of V
            g = diagonalize(g, now)
    how = g.hidden
    final = {now: then for now, then in how.final.items() if now in g.names and now not in x.names and now != then}
    for then in final.values():
        if then in x.names:
            raise ambiguous(then)
    return relabel(g, final) if final else g


def laid_out(g: DimArray, x: Any, extra: Names) -> DimArray:
    """An array with the names of an input in its order and chunks, ``extra`` ones in front."""
    g = reorder(g, (*extra, *x.names))
    if g.level is not None or x.backend.name != "dask":
        return g
    shape = (*g.full_shape[: len(extra)], *x.full_shape)
    return make(backends.call(x.backend.settle, g.raw, shape), g.names, g.hidden)


def finish_tangent(t: Tangent | None, out: Any, sizes: dict[Name, int]) -> DimArray:
    """A tangent at an output: the output's names and mark, added axes in front."""
    if t is None:
        return out.zeros(sizes)
    astray = {first for now, first in t.origins if now != first and now in t.value.names}
    for name in (*t.mixed, *astray):
        if name in out.hidden or name in sizes:
            raise ambiguous(name)
    added = {n: s for n, s in sizes.items() if n not in out.names}  # also those that no tangent brought as far as here
    value = spread(t.value, Like((*added, *out.names), (*added.values(), *out.full_shape), out.dtype))
    if backends.is_recording() and out.backend.may_branch:
        value = choose(value, value)  # a program may drop the guards on the way here as long as this is finite
    extra = tuple(n for n in value.names if n not in out.names)
    value = stamp(value, out.hidden.union(extra))
    return cast(reorder(value, (*extra, *out.names)), out.dtype)


def _is_whole(raw: Any) -> bool:
    """Whether an array shows all of its memory, each cell once, so that it can be given away without a copy."""
    if isinstance(raw, np.ndarray):
        return raw.flags.writeable and raw.size == backends.memory(raw).size and 0 not in raw.strides
    return isinstance(raw, (float, complex)) or backends.backend_of(raw).owns(raw)


def _regain(raw: Any) -> None:
    """Make a read-only view writable if nobody else refers to the array that it shows, as a factor that was kept."""
    if backends.is_recording() or not isinstance(raw, np.ndarray) or raw.flags.writeable:
        return
    if not isinstance(raw.base, np.ndarray):
        return
    if raw.base.flags.writeable and raw.base.base is None and sys.getrefcount(raw.base) == 2:  # by raw and by this call
        raw.flags.writeable = True


def _is_large(a: DimArray) -> bool:
    return a.level is None and type(a.raw) is np.ndarray and a.raw.size >= MANY and not backends.is_recording()


def _is_held_once(a: DimArray) -> bool:
    """Whether an array of NumPy's, all of its memory, is referred to by ``a`` alone: then no map has it, nor a view."""
    if a.level is not None or not isinstance(a.raw, np.ndarray) or not _is_whole(a.raw) or sys.getrefcount(a.raw) > 2:
        return False
    return a.raw.base is None or (sys.getrefcount(a.raw.base) == 2 and getattr(a.raw.base, "base", a) is None)


def own_memory(results: Iterable[DimArray], given: Iterable[DimArray | None]) -> list[DimArray]:
    """Results that share memory neither with each other nor with what was given, each cell stored once."""
    taken = {id(backends.memory(innermost(s).raw)) for s in given if s is not None}
    out = []
    for done in results:
        raw = innermost(done).raw
        _regain(raw)
        root = backends.memory(raw)
        if id(root) in taken or not _is_whole(raw):
            done = fresh_copy(done)  # noqa: PLW2901 - the same value
            root = backends.memory(innermost(done).raw)
        taken.add(id(root))
        out.append(settled(done))
    return out


def fresh_copy(a: DimArray) -> DimArray:
    """The same values in memory of their own; traced and lazy arrays are values, not memory."""
    if a.level is not None or a.backend == "dask" or not (a.names or backends.is_array(a.raw)):
        return a
    return make(backends.call(backends.backend_of(a.raw).copy, a.raw), a.names, a.hidden)


def ones_like_output(x: DimArray) -> DimArray:
    """The cotangent 1 of an output."""
    raw = innermost(x).raw
    one = backends.call(backends.backend_of(raw).one, x.dtype)
    return stamp(spread(make(one, (), axes.NONE), like(x)), x.hidden)
