"""Arrays joined along a dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, Map, like
from namedgrad.primitive import LinearCore, Primitive, check_sizes, operation, sample
from namedgrad.rules.dims import check, without
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.structure import alongside, relabel, reorder, spread, zeros_spread
from namedgrad.trace import apply, innermost


class _Join(Primitive):
    """Arrays joined along one axis; those that lack it count as one position, all else is laid out alike."""

    form, signature = "linear", "(n),(m)->(k)"

    def lower(self, args: Sequence[DimArray], dim: Name, names: Names) -> DimArray:
        at = names.index(dim)
        backend = backends.backend_of(*(a.raw for a in args))
        new = (*(slice(None),) * at, None)
        raw = [a.raw if a.names else call(backend.asarray, a.raw) for a in args]
        raw = [r if dim in a.names else call(backend.getitem, r, new) for a, r in zip(args, raw, strict=True)]
        mark = next((a.hidden for a in args if type(a.hidden) is axes.ByName), args[0].hidden)
        return make(call(backend.concat, *raw, axis=at), names, mark)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name, names: Names) -> Map:
        sizes = [extent(x, dim) if dim in x.names else 1 for x in ins]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        frames: list[dict[Name, Name]] = [{dim: axes.core(-1)} if dim in x.names else {} for x in ins]
        infos = [like(x) for x in ins]
        at = [i for i, n in enumerate(need) if n]

        def pull(g: DimArray) -> list[DimArray]:
            cuts: list[Any] = [slice(starts[i], starts[i] + sizes[i]) if frames[i] else starts[i] for i in at]
            return [slice_of(g, axes.core(-1), c) for c in cuts]

        def push(ts: list[Any]) -> DimArray:
            given = dict(zip(at, ts, strict=True))
            some = next(t for t in ts if t is not None)
            parts = []
            for i, (info, frame) in enumerate(zip(infos, frames, strict=True)):
                inner = info._replace(names=tuple(frame.get(n, n) for n in info.names))
                t = given.get(i)
                parts.append(zeros_spread(some, inner) if t is None else t)
            return join(parts, axes.core(-1))

        return LinearCore(push, pull, [infos[i] for i in at], [frames[i] for i in at], {dim: axes.core(-1)})


_JOIN = _Join("join")


def join(parts: Sequence[DimArray], dim: Name) -> DimArray:
    """Join along an axis, which comes first if all parts lack it; other axes are broadcast by name."""
    seen: Names = tuple(dict.fromkeys(n for p in parts for n in p.names))
    names = seen if dim in seen else (dim, *seen)
    sizes = check_sizes("concat", [without(p, (dim,)) for p in parts])
    hidden = axes.merge_hidden(tuple(p.names for p in parts), tuple(p.hidden for p in parts))
    out = []
    for p in parts:
        own = names if dim in p.names else tuple(n for n in names if n != dim)
        shape = tuple(extent(p, dim) if n == dim else sizes[n] for n in own)
        wide = reorder(spread(p, Like(own, shape, p.dtype)), own)
        missing = () if isinstance(hidden, axes.ByName) else tuple(n for n in hidden if n not in p.hidden)
        out.append(relabel(wide, {}, hide=missing))
    return apply(_JOIN, tuple(out), dim=dim, names=names)


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
