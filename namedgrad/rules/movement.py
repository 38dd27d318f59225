"""Shape and order by name: rename, transpose, stack, concat, roll, shift, flip, pad, diff, broadcast."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, extent, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Like, Map, like
from namedgrad.primitive import Primitive, check_sizes, linear, operation, sample
from namedgrad.rules.dims import check, mapping, new_name, pick, rename_mapping
from namedgrad.rules.structure import relabel, reorder, spread, subtract, zeros_spread
from namedgrad.trace import apply


def core_size(x: Like) -> int:
    """Size of the axis ``core(-1)``."""
    return x.full_shape[x.names.index(axes.core(-1))]


# fmt: off
_cut_slice   = linear("(n)->(n)", "cut_slice", kernel="cut", transpose=lambda g, x, index: _uncut_slice(g, index=index, size=core_size(x)))
_uncut_slice = linear("(n)->(n)", "uncut_slice", kernel="uncut", transpose=lambda g, x, index, size: _cut_slice(g, index=index))
_cut_one     = linear("(n)->()", "cut_one", kernel="cut", transpose=lambda g, x, index: _uncut_one(g, index=index, size=core_size(x)))
_uncut_one   = linear("()->(n)", "uncut_one", kernel="uncut", transpose=lambda g, x, index, size: _cut_one(g, index=index))
_flip        = linear("(n)->(n)", "flip_axis", kernel="flip", transpose=lambda g, x: _flip(g, _core_dims(x)), many=True)
_roll        = linear("(n)->(n)", "roll_axis", kernel="roll", many=True,
                      transpose=lambda g, x, shift: _roll(g, _core_dims(x), shift=tuple(-s for s in shift)))
# fmt: on


def _core_dims(x: Like) -> Names:
    return tuple(sorted((n for n in x.names if isinstance(n, axes.Core)), key=lambda n: n.number))


def slice_of(x: DimArray, dim: Name, index: slice | int) -> DimArray:
    """A slice, or one position, of one dim."""
    if isinstance(index, int):
        return _cut_one(x, (dim,), index=index)
    full = index.indices(extent(x, dim))
    return x if full == (0, extent(x, dim), 1) else _cut_slice(x, (dim,), index=index)


# ------------------------------------------------------------------------------------------------ names


@operation(sample("real(a,b)", names={"a": "d"}), sample("real(a,b)", names={"a": "b", "b": "a"}), method=True)
def rename(x: DimArray, /, names: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """New names for dims.

    Parameters
    ----------
    x : DimArray
    names : mapping of old to new name, optional
        Or as keywords: ``a.rename(x="y")``. Two names may be exchanged; vectorized axes may be renamed too.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The same data.

    Raises
    ------
    AxisError
        If an old name is unknown, or a new one is taken or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 2, "y": 3})
    >>> a.rename(x="z").dims, a.rename({"x": "y", "y": "x"}).dims
    (('z', 'y'), ('y', 'x'))
    """
    table = rename_mapping(names, keywords, "rename")
    for old in table:
        if old not in x.names:
            check(x, old, "rename")
    axes.check_names(table.values())
    return relabel(x, {k: v for k, v in table.items() if k != v})


def vectorize(x: DimArray, *dim: Name) -> DimArray:
    """Hide dims from every operation: they become batch axes.

    Parameters
    ----------
    x : DimArray
    *dim : names

    Returns
    -------
    DimArray
        The same data, with these names among ``vectorized``.

    Raises
    ------
    AxisError
        If there is no such dim.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.ones({"b": 2, "x": 3})
    >>> a.vectorize("b").sum()
    <DimArray () vectorized (b: 2) float64>
    array([3., 3.])
    """
    for name in dim:
        if name not in x.hidden:
            check(x, name, "vectorize")
    return relabel(x, {}, hide=tuple(n for n in dim if n not in x.hidden))


def devectorize(x: DimArray, *dim: Name) -> DimArray:
    """Make vectorized axes visible again, in front.

    Parameters
    ----------
    x : DimArray
    *dim : names, optional
        All vectorized axes if none is named.

    Returns
    -------
    DimArray
        The same data.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 3, "b": 2}, vectorized="b").devectorize().dims
    ('b', 'x')
    """
    for name in dim:
        if name not in x.names:
            raise AxisError(f"devectorize: no axis {name!r} in {describe(x)}; vectorized are {x.vectorized}")
    chosen = tuple(n for n in (dim or x.vectorized) if n in x.hidden)
    if not chosen:
        return x
    rest = tuple(n for n in x.names if n not in chosen)
    return reorder(relabel(x, {}, show=chosen), (*chosen, *rest))


# ------------------------------------------------------------------------------------------------ order and size-1 dims


@operation(sample("real(a,b,c)"), method=True)
def transpose(x: DimArray, *dim: Any) -> DimArray:
    """Dims in another order; it changes no value and no derivative, since dims meet by name.

    Parameters
    ----------
    x : DimArray
    *dim : names, optional
        All of them, or some and ``...`` for the rest; reversed if none is given.

    Returns
    -------
    DimArray
        A view of the same data.

    Raises
    ------
    AxisError
        If the names are not those of the visible dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 2, "y": 3, "z": 4})
    >>> a.transpose("z", ...).dims, a.transpose().dims
    (('z', 'x', 'y'), ('z', 'y', 'x'))
    """
    wanted = _expand(x, dim) if dim else x.dims[::-1]
    if set(wanted) != set(x.dims) or len(wanted) != len(x.dims):
        raise AxisError(f"transpose: {wanted} is not an order of all dims {x.dims}; use ... for the rest")
    return reorder(x, (*x.vectorized, *wanted))


def _expand(x: DimArray, dim: Sequence[Any]) -> Names:
    names = tuple(d for d in dim if d is not Ellipsis)
    for n in names:
        check(x, n, "transpose")
    if Ellipsis not in dim:
        return names
    at = list(dim).index(Ellipsis)
    return (*names[:at], *(n for n in x.dims if n not in names), *names[at:])


@operation(sample("real(a,b)", dim="d"), sample("real(a,b)", dim={"d": 2}), method=True)
def expand_dims(x: DimArray, /, dim: Any = None, **sizes: int) -> DimArray:
    """New dims in front.

    Parameters
    ----------
    x : DimArray
    dim : name, names or mapping of name to size, optional
        Names get size 1.
    **sizes : int
        The mapping in keyword form.

    Returns
    -------
    DimArray
        Values are repeated along the new dims, without a copy.

    Raises
    ------
    AxisError
        If a name is taken or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).expand_dims(y=3).sizes
    {'y': 3, 'x': 2}
    """
    table: dict[Any, int] = dict(dim) if isinstance(dim, Mapping) else {}
    if dim is not None and not isinstance(dim, Mapping):
        table = dict.fromkeys(dim if isinstance(dim, (list, tuple)) else (dim,), 1)
    table.update(sizes)
    for name in table:
        new_name(x, name, "expand_dims")
    axes.check_names(table)
    names = (*table, *x.names)
    return spread(x, Like(names, (*table.values(), *x.full_shape), x.dtype))


@operation(sample("real(a,one)"), sample("real(a,one)", dim="one"), method=True)
def squeeze(x: DimArray, dim: Any = None) -> DimArray:
    """Remove dims of size 1.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All dims of size 1 by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, vectorized, or larger than 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2, "one": 1}).squeeze().dims
    ('x',)
    """
    dims = [n for n, s in x.sizes.items() if s == 1] if dim is None else pick(x, dim, "squeeze")
    for d in dims:
        if extent(x, d) != 1:
            raise AxisError(f"squeeze: {d!r} has size {extent(x, d)} in {describe(x)}; only size 1 can be removed")
        x = slice_of(x, d, 0)
    return x


@operation(sample("real(a)", "real(b,a)"), method=True)
def broadcast_like(x: DimArray, other: DimArray) -> DimArray:
    """Repeat ``x`` along the dims of ``other`` that it lacks.

    Parameters
    ----------
    x, other : DimArray

    Returns
    -------
    DimArray
        Without a copy. An axis that is vectorized in ``other`` is so in the result.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}).broadcast_like(ng.zeros({"y": 3, "x": 2})).sizes
    {'y': 3, 'x': 2}
    """
    other = constant(other)
    check_sizes("broadcast_like", (x, other))
    axes.merge_hidden((x.names, other.names), (x.hidden, other.hidden))
    marks = tuple(n for n in other.hidden if n not in x.names)
    return relabel(spread(x, like(other)), {}, hide=marks)


@operation(sample("real(a)", "real(b)"))
def broadcast(*arrays: DimArray) -> tuple[DimArray, ...]:
    """All arrays with the union of their dims, in one order.

    Parameters
    ----------
    *arrays : DimArray

    Returns
    -------
    tuple of DimArray
        Without copies.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.broadcast(ng.ones({"x": 2}), ng.ones({"y": 3}))
    >>> a.dims == b.dims, sorted(a.sizes.items())
    (True, [('x', 2), ('y', 3)])
    """
    out = []
    for x in arrays:
        for other in arrays:
            x = broadcast_like(x, other)  # noqa: PLW2901 - grows step by step
        out.append(x)
    return tuple(reorder(x, out[0].names) for x in out)


# ------------------------------------------------------------------------------------------------ stack and unstack


class _Merge(Primitive):
    """Several axes as one, in the call's order."""

    form, signature = "linear", "(a,b...)->(n)"

    def lower(self, args: Sequence[DimArray], dims: Names, name: Name) -> DimArray:
        (x,) = args
        rest = tuple(n for n in x.names if n not in dims)
        perm = axes.order_plan(x.names, (*rest, *dims))
        backend = backends.backend_of(x.raw)
        raw = x.raw if perm is None else call(backend.transpose, x.raw, perm)
        size = int(np.prod([extent(x, d) for d in dims], dtype=int))
        raw = call(backend.reshape, raw, (*raw.shape[: len(rest)], size))
        return make(raw, (*rest, name), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, name: Name) -> Map:
        (x,) = ins
        inner, one = tuple(axes.core(i) for i in range(-len(dims), 0)), axes.core(-1)
        sizes: dict[Name, int] = dict(zip(inner, (extent(x, d) for d in dims), strict=True))
        return CoreMap(
            lambda ts: merge(ts[0], inner, one),
            lambda g: [split(g, one, sizes)],
            [like(x)],
            [dict(zip(dims, inner, strict=True))],
            {name: one},
        )


class _Split(Primitive):
    """One axis as several."""

    form, signature = "linear", "(n)->(a,b...)"

    def lower(self, args: Sequence[DimArray], name: Name, sizes: dict[Name, int]) -> DimArray:
        (x,) = args
        rest = tuple(n for n in x.names if n != name)
        perm = axes.order_plan(x.names, (*rest, name))
        backend = backends.backend_of(x.raw)
        raw = x.raw if perm is None else call(backend.transpose, x.raw, perm)
        raw = call(backend.reshape, raw, (*raw.shape[:-1], *sizes.values()))
        return make(raw, (*rest, *sizes), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], name: Name, sizes: dict[Name, int]) -> Map:
        inner, one = tuple(axes.core(i) for i in range(-len(sizes), 0)), axes.core(-1)
        table: dict[Name, int] = dict(zip(inner, sizes.values(), strict=True))
        return CoreMap(
            lambda ts: split(ts[0], one, table),
            lambda g: [merge(g, inner, one)],
            [like(ins[0])],
            [{name: one}],
            dict(zip(sizes, inner, strict=True)),
        )


_MERGE, _SPLIT = _Merge("merge"), _Split("split")


def merge(x: DimArray, dims: Names, name: Name) -> DimArray:
    """Several axes, visible or hidden, as one."""
    return apply(_MERGE, (x,), dims=dims, name=name)


def split(x: DimArray, name: Name, sizes: Mapping[Name, int]) -> DimArray:
    """One axis as several."""
    return apply(_SPLIT, (x,), name=name, sizes=dict(sizes))


@operation(sample("real(a,b,c)", dim={"z": ("c", "a")}), method=True)
def stack(x: DimArray, /, dim: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """Join dims into one.

    Parameters
    ----------
    x : DimArray
    dim : mapping of new name to dims, optional
        Or as keywords: ``a.stack(z=("x", "y"))``. The first dim varies slowest.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The new dim comes last.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the new name is taken.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1, 2], [3, 4]], ("x", "y"))
    >>> a.stack(z=("x", "y")).data, a.stack(z=("y", "x")).data
    (array([1, 2, 3, 4]), array([1, 3, 2, 4]))
    """
    for name, dims in rename_mapping(dim, keywords, "stack").items():
        joined = pick(x, dims, "stack")
        if name not in joined:
            new_name(x, name, "stack")
        x = merge(x, joined, axes.check_names((name,))[0])
    return x


@operation(sample("real(a,six)", dim={"six": {"p": 2, "q": 3}}), method=True)
def unstack(x: DimArray, /, dim: Mapping[Any, Mapping[Any, int]] | None = None, **keywords: Any) -> DimArray:
    """Split a dim into several; the inverse of :func:`stack`.

    Parameters
    ----------
    x : DimArray
    dim : mapping of dim to {name: size}, optional
        Or as keywords: ``a.unstack(z={"x": 2, "y": 3})``.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The new dims come last.

    Raises
    ------
    AxisError
        If the sizes do not multiply to that of the dim, or a new name is taken.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("z", 4).unstack(z={"x": 2, "y": 2})
    <DimArray (x: 2, y: 2) int64>
    array([[0, 1],
           [2, 3]])
    """
    for name, sizes in mapping(x, dim, keywords, "unstack").items():
        total = int(np.prod(list(sizes.values()), dtype=int))
        if total != extent(x, name):
            raise AxisError(f"unstack: {name!r} has size {extent(x, name)}, not {total} = the product of {dict(sizes)}")
        for new in axes.check_names(sizes):
            if new != name:
                new_name(x, new, "unstack")
        x = split(x, name, sizes)
    return x


# ------------------------------------------------------------------------------------------------ concat


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

        return CoreMap(push, pull, [infos[i] for i in at], [frames[i] for i in at], {dim: axes.core(-1)})


_JOIN = _Join("join")


def join(parts: Sequence[DimArray], dim: Name) -> DimArray:
    """Join along an axis, which comes first if the first part lacks it; other axes are broadcast by name."""
    seen: Names = tuple(dict.fromkeys(n for p in parts for n in p.names))
    names = seen if dim in parts[0].names else (dim, *(n for n in seen if n != dim))
    sizes = check_sizes("concat", [_without(p, dim) for p in parts])
    hidden = axes.merge_hidden(tuple(p.names for p in parts), tuple(p.hidden for p in parts))
    out = []
    for p in parts:
        own = names if dim in p.names else tuple(n for n in names if n != dim)
        shape = tuple(extent(p, dim) if n == dim else sizes[n] for n in own)
        wide = reorder(spread(p, Like(own, shape, p.dtype)), own)
        missing = () if isinstance(hidden, axes.ByName) else tuple(n for n in hidden if n not in p.hidden)
        out.append(relabel(wide, {}, hide=missing))
    return apply(_JOIN, tuple(out), dim=dim, names=names)


def _without(p: DimArray, dim: Name) -> DimArray:
    keep = [(n, s) for n, s in zip(p.names, p.full_shape, strict=True) if n != dim]
    return make(np.broadcast_to(np.float64(0), tuple(s for _, s in keep)), tuple(n for n, _ in keep), p.hidden)


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
    return join(parts, dim)


operation(sample("real(a,b)", "real(a,c)", dim="a"), sample("real(b)", "real(c)", dim="a"), name="concat")(
    lambda *xs, dim: concat(xs, dim)
)


# ------------------------------------------------------------------------------------------------ moves along dims


@operation(sample("real(a,b)", dim="a"), sample("real(a,b)"), method=True)
def flip(x: DimArray, dim: Any = None) -> DimArray:
    """Reverse the order along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reverse; all by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).flip("x").data
    array([3., 2., 1.])
    """
    dims = pick(x, dim, "flip")
    return _flip(x, dims) if dims else x


@operation(sample("real(a,b)", shifts={"a": 1}), sample("real(a,b)", shifts={"a": -2, "b": 5}), method=True)
def roll(x: DimArray, /, shifts: Mapping[Any, int] | None = None, **keywords: int) -> DimArray:
    """Shift cyclically along dims.

    Parameters
    ----------
    x : DimArray
    shifts : mapping of dim to int, optional
        Or as keywords: ``a.roll(x=1)``, which moves the last cell to the front.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).roll(x=1).data
    array([3., 1., 2.])
    """
    table = mapping(x, shifts, keywords, "roll")
    return _roll(x, tuple(table), shift=tuple(operator.index(s) for s in table.values())) if table else x


@operation(sample("real(a,b)", shifts={"a": 1}), sample("real(a,b)", shifts={"a": -2, "b": 1}, fill_value=0.5), method=True)
def shift(
    x: DimArray, /, shifts: Mapping[Any, int] | None = None, fill_value: Any = np.nan, **keywords: int
) -> DimArray:
    """Shift along dims; cells that leave are lost.

    Parameters
    ----------
    x : DimArray
    shifts : mapping of dim to int, optional
        Or as keywords: ``a.shift(x=1)``.
    fill_value : scalar
        What enters: NaN by default, as in xarray.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).shift(x=1).data
    array([nan,  1.,  2.])
    """
    for name, by in mapping(x, shifts, keywords, "shift").items():
        n = extent(x, name)
        k = max(-n, min(n, operator.index(by)))
        if k:
            kept = slice_of(x, name, slice(0, n - k) if k > 0 else slice(-k, n))
            x = pad(kept, {name: (k, 0) if k > 0 else (0, -k)}, constant_values=fill_value)
    return x


_INDEX_MODES = ("edge", "reflect", "symmetric", "wrap")


@operation(sample("real(a,b)", pad_width={"a": (1, 2)}, constant_values=0.25), sample("real(a,b)", pad_width={"a": 2, "b": 1}, mode="reflect"),
           sample("real(a,b)", pad_width={"b": (2, 1)}, mode="wrap"), sample("real(a,b)", pad_width={"b": (0, 3)}, mode="edge"),
           sample("real(a,b)", pad_width={"a": (3, 3)}, mode="symmetric"), method=True)
def pad(
    x: DimArray, /, pad_width: Mapping[Any, Any] | None = None, mode: str = "constant", constant_values: Any = None, **keywords: Any
) -> DimArray:
    """Add cells at both ends of dims.

    Parameters
    ----------
    x : DimArray
    pad_width : mapping of dim to int or (before, after), optional
        Or as keywords: ``a.pad(x=(1, 2))``.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
        As in :func:`numpy.pad`.
    constant_values : scalar or (before, after), optional
        For ``"constant"``; NaN by default, as in xarray.
    **keywords
        ``pad_width`` in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the mode is unknown.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    >>> a.pad(x=(1, 2), mode="edge").data
    array([1., 1., 2., 3., 3., 3.])
    >>> a.pad(x=1, constant_values=0.0).data
    array([0., 1., 2., 3., 0.])
    """
    from namedgrad.rules.indexing import take

    if mode != "constant" and mode not in _INDEX_MODES:
        raise ValueError(f"pad: mode {mode!r} is not one of 'constant', {', '.join(map(repr, _INDEX_MODES))}")
    for name, width in mapping(x, pad_width, keywords, "pad").items():
        before, after = (width, width) if isinstance(width, (int, np.integer)) else width
        if mode == "constant":
            x = _pad_constant(x, name, operator.index(before), operator.index(after), np.nan if constant_values is None else constant_values)
        else:
            index = np.pad(np.arange(extent(x, name)), (before, after), mode=mode)  # type: ignore[call-overload]
            x = take(x, index, name)
    return x


def _pad_constant(x: DimArray, name: Name, before: int, after: int, value: Any) -> DimArray:
    n = extent(x, name)
    x = slice_of(x, name, slice(max(0, -before), n - max(0, -after)))
    low, high = (value if isinstance(value, tuple) else (value, value))
    parts = [x]
    if before > 0:
        parts.insert(0, _filled(x, name, before, low))
    if after > 0:
        parts.append(_filled(x, name, after, high))
    return join(parts, name) if len(parts) > 1 else x


def _filled(x: DimArray, name: Name, size: int, value: Any) -> DimArray:
    shape = tuple(size if n == name else s for n, s in zip(x.names, x.full_shape, strict=True))
    cell = constant(value)
    if cell.level is None and not cell.names:
        cell = zeros_spread(x, Like((), (), x.dtype), value)
    return relabel(spread(cell, Like(x.names, shape, x.dtype)), {}, hide=tuple(n for n in x.hidden if n not in cell.names))


@operation(sample("real(a,b)", dim="a"), sample("real(a,b)", dim="a", n=2), method=True)
def diff(x: DimArray, dim: Any, n: int = 1, *, label: str = "upper") -> DimArray:
    """Differences between neighbours along a dim.

    Parameters
    ----------
    x : DimArray
    dim : name
    n : int
        How many times.
    label : {"upper", "lower"}
        xarray's argument: which coordinate a difference has. An array without coordinates is the same either way.

    Returns
    -------
    DimArray
        Shorter by ``n`` along the dim.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 4.0, 9.0], ("x",)).diff("x").data
    array([3., 5.])
    """
    (name,) = pick(x, dim, "diff")
    for _ in range(n):
        size = extent(x, name)
        x = subtract(slice_of(x, name, slice(1, size)), slice_of(x, name, slice(0, max(size - 1, 0))))
    return x
