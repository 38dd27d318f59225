"""Arrays joined along a dim."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, like
from namedgrad.primitive import LinearCore, Primitive, check_sizes, operation, sample
from namedgrad.rules.dims import check, without
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.structure import alongside, relabel, reorder, spread, zeros_spread
from namedgrad.squares import ALL
from namedgrad.trace import apply, innermost


class Join(Primitive):
    """Arrays joined along one axis, or on a diagonal of two with zeros elsewhere; all else is laid out alike.

    Those that lack an axis count as one position.
    """

    form, signature, keeps = "linear", "(n),(m)->(k)", "constants"
    moves = ALL

    def lower(self, args: Sequence[DimArray], dims: Names, names: Names, **params: Any) -> DimArray:
        at = axes.positions(names, dims)
        backend = backends.backend_of(*(a.raw for a in args))
        raw = [a.raw if a.names else call(backend.asarray, a.raw) for a in args]
        for k, a in enumerate(args):
            if not all(map(a.names.__contains__, dims)):  # which it lacks: one position of them
                raw[k] = call(backend.getitem, raw[k], tuple([slice(None) if n in a.names or n not in dims else None for n in names]))
        mark = next((a.hidden for a in args if type(a.hidden) is axes.ByName), args[0].hidden)
        kernel = backend.block_diag if len(at) > 1 else backend.function(self.kernel)
        return make(call(kernel, *raw, axis=at if len(at) > 1 else at[0], **params), names, mark)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, names: Names, **params: Any
    ) -> LinearCore:
        return _Joined(ins, need, dims)


class _Joined(LinearCore):
    """The parts of a cotangent; tangents are joined, with zeros for operands that have none."""

    __slots__ = ("at", "cuts", "every")

    def __init__(self, ins: Sequence[DimArray], need: Sequence[bool], dims: Names) -> None:
        self.at, self.every = [i for i, n in enumerate(need) if n], [like(x) for x in ins]
        self.operands = [self.every[i] for i in self.at]
        self.out_frame, self.frames, self.mixes = _frames(dims, tuple([x.names for x in self.operands]))
        self.cuts = list(zip(*(_cuts(ins, dim) for dim in dims), strict=True))

    def _pull(self, g: DimArray) -> list[DimArray]:
        parts = [g for _ in self.at]
        for k, name in enumerate(self.out_frame.values()):
            parts = [slice_of(part, name, self.cuts[i][k]) for i, part in zip(self.at, parts, strict=True)]
        return parts

    def _push(self, ts: list[Any]) -> DimArray:
        given = dict(zip(self.at, ts, strict=True))
        some = next(t for t in ts if t is not None)
        inside = [x._replace(names=tuple(self.out_frame.get(n, n) for n in x.names)) for x in self.every]
        parts = [zeros_spread(some, x) if (t := given.get(i)) is None else t for i, x in enumerate(inside)]
        return join(parts, *self.out_frame.values())


@lru_cache(4096)
def _frames(dims: Names, own: tuple[Names, ...]) -> tuple[dict[Name, Name], list[dict[Name, Name]], Names]:
    """Of the result, of each operand, and what is mixed."""
    frame = dict(zip(dims, axes.cores(1) if len(dims) == 1 else _BOTH, strict=True))
    frames = [{n: c for n, c in frame.items() if n in names} for names in own]
    return frame, frames, tuple(n for f in frames for n in f)


_JOIN = Join("join", "concat")
_BOTH = axes.core(-32), axes.core(-31)  # not of a signature: they are cut one after the other


def _cuts(ins: Sequence[DimArray], dim: Name) -> list[slice | int]:
    """What of the result each operand is along an axis."""
    sizes = [extent(x, dim) if dim in x.names else 1 for x in ins]
    ends = list(itertools.accumulate(sizes))
    return [slice(end - n, end) if dim in x.names else end - 1 for x, n, end in zip(ins, sizes, ends, strict=True)]


def join(parts: Sequence[DimArray], *dims: Name, by: Join = _JOIN, **params: Any) -> DimArray:
    """Join along an axis, or on the diagonal of two; one that all parts lack comes first, others broadcast by name."""
    plan = _plan(tuple([p.names for p in parts]), tuple([p.hidden for p in parts]), dims)
    sizes = check_sizes("concat", [without(p, dims) for p in parts])
    out = []
    for p, own, hide in zip(parts, plan.own, plan.hide, strict=True):
        if own != p.names:
            shape = tuple(extent(p, n) if n in dims else sizes[n] for n in own)
            p = reorder(spread(p, Like(own, shape, p.dtype)), own)  # noqa: PLW2901 - the same part
        out.append(relabel(p, {}, hide=hide))
    return apply(by, tuple(out), dims=dims, names=plan.names, **params)


class _Plan(NamedTuple):
    """The names of joined arrays, and those that each has before, and is to hide."""

    names: Names
    own: tuple[Names, ...]
    hide: tuple[Names, ...]


@lru_cache(4096)
def _plan(given: tuple[Names, ...], marks: tuple[frozenset[Name], ...], dims: Names) -> _Plan:
    seen: Names = tuple(dict.fromkeys(n for names in given for n in names))
    names = (*(n for n in dims if n not in seen), *seen)
    hidden = axes.merge_hidden(given, marks)
    hide = [() if isinstance(hidden, axes.ByName) else tuple(n for n in hidden if n not in mark) for mark in marks]
    return _Plan(names, tuple(tuple(n for n in names if n in own or n not in dims) for own in given), tuple(hide))


def concat(arrays: Sequence[DimArray], dim: Name) -> DimArray:
    """Join arrays along a dim.

    Parameters
    ----------
    arrays : sequence of DimArray
        Their other dims are aligned and broadcast by name. An array that lacks ``dim`` counts as one position of it.
    dim : name
        An existing dim, or a new one.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If another shared dim has two sizes, or ``dim`` is vectorized in one of them.
    ValueError
        If there are no arrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.concat([a, 3 * a], "y")
    <DimArray (y: 2, x: 2) float64>
    array([[1., 2.],
           [3., 6.]])
    >>> ng.concat([a, 3 * a], "x").data
    array([1., 2., 3., 6.])
    """
    parts = [constant(a) for a in arrays]
    if not parts:
        raise ValueError("concat needs at least one array")
    for p in parts:
        if dim in p.hidden:
            check(p, dim, "concat")
    axes.check_names((dim,))
    return join(met(parts), dim)


def met(parts: list[DimArray]) -> list[DimArray]:
    """Numbers and arrays without axes on the device of the others, before they are spread; numbers of their dtype."""
    dtypes = [p.dtype for p in parts if not backends.is_number(innermost(p).raw)]
    if all(p.names for p in parts) or not dtypes or (dtype := np.result_type(*dtypes)).kind not in "biufc":
        return parts
    home = max(parts, key=lambda p: (bool(p.names), not backends.is_number(innermost(p).raw)))
    return [alongside(p, home, dtype) for p in parts]


operation(sample("real(a,b)", "real(a,c)", dim="a"), sample("real(b)", "real(c)", dim="a"), name="concat")(
    lambda *xs, dim: concat(xs, dim)
)
