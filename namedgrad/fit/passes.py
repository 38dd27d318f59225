"""Derivatives of fits of dask arrays: tangents and cotangents pass each chunk in a task of its own, after its fit.

In that task the chunk is a fit of plain arrays, with the derivatives of :mod:`namedgrad.fit.implicit`.  To the trace
around it all chunks together are one linear map, whose push and pull are operations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, extent, make
from namedgrad.axes import NONE, Name, Names, by_name, slice_name
from namedgrad.fit.chunks import Chunks, Place
from namedgrad.fit.given import Given
from namedgrad.fit.implicit import DifferentiableResult, differentiable
from namedgrad.fit.result import FitResult
from namedgrad.linear import Like, Map, ambiguous, fold, like
from namedgrad.primitive import Primitive
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.structure import relabel, reorder, stamp
from namedgrad.trace import accumulate, apply
from namedgrad.transforms.captured import captured
from namedgrad.transforms.leaves import Tree, adapter_of
from namedgrad.transforms.tape import record, record_forward


class Fits(Protocol):
    """The fits of all chunks: their arguments, and what they find."""

    chunks: Chunks
    args: Mapping[Place, Any]
    found: Mapping[Place, Any]


def moving_lazily(found: FitResult, fits: Fits, given: Given) -> DifferentiableResult:
    """A lazy outcome, and the fits of its chunks, as a function of what a transform around it differentiates."""
    args, results = Tree(given.args), Tree((found.params, found.cost))
    at = [i for i, x in enumerate(args.parts) if x.level is not None]
    moving = [args.parts[i] for i in at]
    passes = Passes(fits, at, [like(x) for x in moving], [like(x) for x in results.parts])
    params, cost = results.rebuild(apply(_FITTED, moving, outs=tuple(results.parts), passes=passes))
    return DifferentiableResult(params, found.status, found.iterations, cost)


def refuse_captured(function: Callable[..., Any]) -> None:
    """Raise if a function that will run later captures what is differentiated now."""
    for name, x in captured(function):
        if any(part.level is not None for part in adapter_of(x).arrays(x)):
            raise TraceError(
                f"the function captures {name!r}, which is being differentiated, but a fit of dask arrays runs when "
                "that is over; pass it as an argument after params"
            )


class Way(NamedTuple):
    """What passes the fits: from some arguments to some results, or from results to arguments."""

    forward: bool
    start: tuple[int, ...]
    end: tuple[int, ...]
    keep: frozenset[Name] = NONE  # dims of the cells that gradients keep, though their arguments lack them


class Passes:
    """The linear maps of the fits of all chunks, which wait to be asked."""

    def __init__(self, fits: Fits, at: Sequence[int], ins: list[Like], outs: list[Like]) -> None:
        self.fits, self.chunks, self.at, self.ins, self.outs = fits, fits.chunks, at, ins, outs
        self.over = tuple(self.chunks.over)
        inside = {n: None for x in ins for n in x.names}
        self.born = tuple(n for x in outs for n in x.names if n not in inside and n not in self.over)
        lacks = {n for x in outs for n in self.over if n not in x.names}
        self.apart = tuple(n for n in self.over if n not in lacks)  # dims whose slices are not mixed
        self.mixes = tuple(n for n in inside if n not in self.apart)

    def through(self, arrays: Sequence[DimArray], way: Way) -> tuple[DimArray, ...]:
        """Tangents of results or cotangents of arguments, with all axes that the given ones have more."""
        from dask.delayed import delayed

        starts, ends = (self.ins, self.outs) if way.forward else (self.outs, self.ins)
        begin = [starts[i] for i in way.start]
        sizes = {n: extent(x, n) for x in arrays for n in x.names}
        added = [n for x, own in zip(arrays, begin, strict=True) for n in x.names if n not in own.names]
        kept = tuple(n for n in self.apart if n in added or (n in way.keep and n in sizes))
        more = {n: f"more {k}" for k, n in enumerate(dict.fromkeys(added)) if n not in kept}  # names that can be sent
        blocks = [self._blocks(x, own, more, whole=way.forward) for x, own in zip(arrays, begin, strict=True)]
        targets = [self._target(ends[k], kept, tuple(more)) for k in way.end]
        inside = [tuple(more.get(n, n) for n in names) for names in targets]
        known = way._replace(keep=frozenset((*kept, *more.values())))
        tasks = {
            i: delayed(_passed)(found, self.fits.args[i], self.at, known, [b(i) for b in blocks], inside, self.over)
            for i, found in self.fits.found.items()
        }
        out = []
        for j, (k, names) in enumerate(zip(way.end, targets, strict=True)):
            full = {**sizes, **dict(zip(ends[k].names, ends[k].full_shape, strict=True))}
            own, lacks = [full[n] for n in names if n not in self.over], [n for n in self.over if n not in names]
            raw = self.chunks.joined({i: t[j] for i, t in tasks.items()}, own, ends[k].dtype, lacks)
            raw = self.chunks.first_along(raw, lacks) if way.forward else self.chunks.summed(raw, lacks)
            out.append(make(raw, names, arrays[0].hidden))
        return tuple(out)

    def _target(self, end: Like, kept: Names, more: Names) -> Names:
        """The axes of a result: of the cells, added ones, its own."""
        if clash := [n for n in more if n in end.names]:
            raise ambiguous(clash[0])
        cells = tuple(n for n in self.over if n in end.names or n in kept)
        return (*cells, *more, *(n for n in end.names if n not in self.over))

    def _blocks(self, x: DimArray, own: Like, more: Mapping[Name, Name], *, whole: bool) -> Callable[[Place], Any]:
        """The part of an array for each chunk, with its names; zeros where a result is that of first cells alone."""
        table = {n: more[n] for n in x.names if n in more and n not in own.names}
        cells = tuple(n for n in self.over if n in x.names and n not in table)
        x = reorder(x, (*cells, *(n for n in x.names if n not in cells)))
        names = tuple(table.get(n, n) for n in x.names)
        once = () if whole else tuple(n for n in self.over if n not in own.names)
        block = self.chunks.blocks(x.raw, cells, once)
        return lambda place: (names, block(place))


class Passage(Map):
    """The derivative of all fits, or a transpose of it."""

    __slots__ = ("begin", "mixes", "passes", "way")

    def __init__(self, passes: Passes, way: Way, begin: Sequence[Like]) -> None:
        self.passes, self.way, self.begin, self.mixes = passes, way, begin, passes.mixes

    def push(self, ts: Sequence[DimArray | None]) -> Any:
        """One tangent per result."""
        given = [(i, own, t) for i, own, t in zip(self.way.start, self.begin, ts, strict=True) if t is not None]
        if not given:
            return (None,) * len(self.way.end)
        added = frozenset((n, n) for _, own, t in given for n in t.names if n not in own.names)
        way = self.way._replace(start=tuple(i for i, _, _ in given))
        outs = apply(_PASS, [t for _, _, t in given], passes=self.passes, way=way)
        return tuple(stamp(x, by_name(added, True)) for x in outs)

    def pull(self, g: Any) -> list[DimArray | None]:
        """One cotangent per argument, given those of some results."""
        kept = next(iter(g.values())).hidden.keep
        given = {j: self.apart(x, self.passes.born) for j, x in g.items()}
        out: list[DimArray | None] = [None] * len(self.begin)
        for mark in {id(x.hidden): x.hidden for x in given.values()}.values():
            alike = {j: x for j, x in given.items() if x.hidden is mark}
            for k, c in enumerate(self._pulled(alike, mark, kept)):
                out[k] = accumulate(out[k], c, self.parents[k])
        return out

    def _pulled(self, given: Mapping[int, DimArray], mark: Any, kept: frozenset[Name]) -> list[DimArray]:
        """Cotangents with one mark."""
        way = Way(not self.way.forward, tuple(self.way.end[j] for j in given), self.way.start, mark.keep)
        back = {slice_name(n): n for n in kept - mark.keep}
        outs = apply(_PASS, [*given.values()], passes=self.passes, way=way)
        out = []
        for c, own in zip(outs, self.begin, strict=True):
            c = fold(stamp(c, mark), 1, own.names, own.dtype)  # noqa: PLW2901 - the same cotangent
            out.append(relabel(c, {now: n for now, n in back.items() if n not in own.names and now in c.names}))
        return out


class _Fitted(Primitive):
    """Results that are there already, as functions of the arguments of their fits."""

    form, keeps = "fit", "factors"

    def lower(self, args: Sequence[DimArray], **params: Any) -> Any:  # noqa: ARG002
        return params["outs"]

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], **params: Any) -> Map:  # noqa: ARG002
        way = Way(True, tuple(range(len(ins))), tuple(range(len(out))))
        return Passage(params["passes"], way, [like(x) for x in ins])


class _Pass(Primitive):
    """Tangents or cotangents pass the fits."""

    form, keeps = "fit", "factors"

    def lower(self, args: Sequence[DimArray], **params: Any) -> Any:
        passes: Passes = params["passes"]
        return passes.through(args, params["way"])

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], **params: Any) -> Map:  # noqa: ARG002
        at, way = [i for i, moves in enumerate(need) if moves], params["way"]
        some = way._replace(start=tuple(way.start[i] for i in at))
        return Passage(params["passes"], some, [like(ins[i]) for i in at])


_FITTED, _PASS = _Fitted("fitted"), _Pass("pass")


# ------------------------------------------------------------------------------------------------ in a task


def _passed(
    found: FitResult, args: Mapping[str, Any], at: Sequence[int], way: Way, given: Sequence[Any],
    targets: Sequence[Names], over: Names,
) -> list[Any]:  # fmt: skip
    """What passes the fit of one chunk, as plain arrays: the cells in front, with size 1 along dims that one lacks."""
    tree = Tree({n: x for n, x in args.items() if n != "since"})
    ins = [tree.parts[i] for i in at]

    def results(parts: Sequence[DimArray]) -> Sequence[DimArray]:
        full = dict(enumerate(tree.parts)) | dict(zip(at, parts, strict=True))
        fit = differentiable(found, Given(**tree.rebuild([*full.values()])))
        return Tree((fit.params, fit.cost)).parts

    arrays = {i: make(raw, names, NONE) for i, (names, raw) in zip(way.start, given, strict=True)}
    if way.forward:
        outs = record_forward(results, ins, [arrays.get(i) for i in range(len(ins))])[1]
    else:
        tape = record(results, ins)
        outs = tape.pull([arrays.get(i) for i in range(len(tape.outs))], way.keep)
    return [_plain(conj_if_complex(outs[k]), names, over) for k, names in zip(way.end, targets, strict=True)]


def _plain(x: DimArray, names: Names, over: Names) -> Any:
    """The data with these axes, of which those of the cells come first."""
    x = reorder(x, names)
    sizes = [extent(x, n) if n in names else 1 for n in over]
    own = [extent(x, n) for n in names if n not in over]
    return backends.call(backends.backend_of(x.raw).reshape, x.raw, (*sizes, *own))
