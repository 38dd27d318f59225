"""Gather and scatter by name: isel, ``[]``, take, and functional updates ``.at[...]``.

Everything is one linear index map, gather, and its transpose, scatter-add.  An index is a named array: its names are
new dims of the result, met with those of the indexed array where both have them (a vectorized index included).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, extent, make, refuse_while_recording
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Like, Map, fold, like
from namedgrad.primitive import Primitive, check_sizes, operation, place, sample
from namedgrad.rules.dims import check, mapping
from namedgrad.rules.elementwise import c, maximum, minimum
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    multiply,
    not_equal,
    positions,
    relabel,
    reorder,
    select,
    spread,
    stamp,
    where,
)
from namedgrad.trace import apply, innermost

# ------------------------------------------------------------------------------------------------ the index map


def _index_names(index: Sequence[DimArray]) -> Names:
    return axes.in_order(n for i in index for n in i.names)


def _place_index(index: Sequence[DimArray], target: Names, backend: Any) -> list[Any]:
    """Index arrays with one axis per target name, of size 1 where they lack it."""
    out = []
    for i in index:
        order = tuple(n for n in target if n in i.names)
        raw = place(i.raw, axes.Move(axes.order_plan(i.names, order), None)) if i.names else i.raw
        full = tuple(slice(None) if n in i.names else None for n in target)
        raw = raw if backends.is_array(raw) else call(backend.full, (), raw, np.intp)
        out.append(call(backends.backend_of(raw).getitem, raw, full) if None in full else raw)
    return out


class _Gather(Primitive):
    """``x[i1, ..., ik]`` over dims of ``x``, pointwise by the names of the indices."""

    form, signature = "linear", "(n...),()->()"

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        x, *index = args
        rest = tuple(n for n in x.names if n not in dims)
        joint = _index_names(index)
        check_sizes("index", [*index, _outer_part(x, dims)])
        hidden = axes.merge_hidden(tuple(a.names if a is not x else rest for a in args), tuple(
            a.hidden if a is not x or isinstance(a.hidden, axes.ByName) else a.hidden.intersection(rest) for a in args))
        backend = backends.backend_of(*(a.raw for a in args))
        shared = tuple(n for n in rest if n in joint)
        own = tuple(n for n in rest if n not in joint)
        new = tuple(n for n in joint if n not in shared)
        if len(index) == 1 and not shared and len(new) <= 1:
            at = x.names.index(dims[0])
            names = (*x.names[:at], *new, *x.names[at + 1 :])
            return make(call(backend.take, x.raw, index[0].raw, at), names, hidden)
        raw = place(x.raw, axes.Move(axes.order_plan(x.names, (*shared, *own, *dims)), None))
        out = call(backend.gather, raw, *_place_index(index, (*shared, *new), backend), shared=len(shared))
        first = min(x.names.index(d) for d in dims)
        before = tuple(n for n in x.names[:first] if n not in dims)
        order = (*before, *new, *(n for n in rest if n not in before))
        perm = axes.order_plan((*shared, *own, *new), order)
        return make(out if perm is None else call(backend.transpose, out, perm), order, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        return _IndexMap(like(ins[0]), [stamp(i, axes.by_name()) for i in ins[1:]], dims)


def _outer_part(x: DimArray, dims: Names) -> DimArray:
    keep = [(n, s) for n, s in zip(x.names, x.full_shape, strict=True) if n not in dims]
    return make(np.broadcast_to(np.int8(0), tuple(s for _, s in keep)), tuple(n for n, _ in keep), NONE)


class _IndexMap(Map):
    """Gather forward, scatter-add backward; kept names of the index stay apart."""

    __slots__ = ("dims", "index", "mixes", "x")

    def __init__(self, x: Like, index: list[DimArray], dims: Names) -> None:
        self.x, self.index, self.dims = x, index, dims
        self.mixes = tuple(n for n in dims if not isinstance(n, axes.Core))

    def pull(self, g: DimArray) -> list[DimArray | None]:
        g = self.apart(g)
        how: Any = g.hidden
        joint = _index_names(self.index)
        summed = tuple(n for n in joint if n not in how.keep and (n not in self.x.names or n in self.dims))
        sizes = tuple(self.x.full_shape[self.x.names.index(d)] for d in self.dims)
        out = scatter_add(g, self.index, self.dims, sizes, summed)
        return [fold(out if out.hidden is how else stamp(out, how), 1, self.x.names)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        (t,) = ts
        return None if t is None else apply(_GATHER, (t, *self.index), dims=self.dims)


class _ScatterAdd(Primitive):
    """The transpose of gather: ``summed`` names of the index go, dims of the given sizes come, last."""

    form, signature = "linear", "(),()->(n...)"

    def lower(self, args: Sequence[DimArray], dims: Names, sizes: tuple[int, ...], summed: Names) -> DimArray:
        g, *index = args
        joint = _index_names(index)
        shared = tuple(n for n in joint if n not in summed)
        own = tuple(n for n in g.names if n not in joint)
        backend = backends.backend_of(*(a.raw for a in args))
        raw = place(g.raw, axes.Move(axes.order_plan(g.names, (*shared, *own, *summed)), None))
        out = call(getattr(backend, self.name), raw, *_place_index(index, (*shared, *summed), backend), shared=len(shared), sizes=sizes)
        names = (*shared, *own, *dims)
        axes.refuse_repeats(names, "scatter: ")
        hidden = g.hidden if isinstance(g.hidden, axes.ByName) else g.hidden.intersection(names)
        return make(out, names, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, sizes: Any, summed: Names) -> Map:
        return _ScatterMap(like(ins[0]), ins[1:], dims, sizes, summed)


class _ScatterMap(Map):
    """Scatter-add forward, gather backward."""

    __slots__ = ("dims", "g", "index", "mixes", "sizes", "summed")

    def __init__(self, g: Like, index: list[DimArray], dims: Names, sizes: Any, summed: Names) -> None:
        self.g, self.index, self.dims, self.sizes, self.summed = g, index, dims, sizes, summed
        self.mixes = tuple(n for n in summed if not isinstance(n, axes.Core))

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
    """Add the cells of ``g`` at the index into zeros; ``g`` must have every name of the index."""
    missing = [i for i in index if any(n not in g.names for n in i.names)]
    for i in missing:
        g = spread(g, Like((*(n for n in i.names if n not in g.names), *g.names),
                           (*(extent(i, n) for n in i.names if n not in g.names), *g.full_shape), g.dtype))
    return apply(_SCATTER, (g, *index), dims=dims, sizes=sizes, summed=summed)


# ------------------------------------------------------------------------------------------------ isel, take, []


def as_index(value: Any, name: Name, size: int, x: DimArray) -> Any:
    """An indexer as an int, a slice, or a named integer array whose values are in range."""
    if isinstance(value, slice):
        return value
    if isinstance(value, (bool, np.bool_)) or value is None:
        raise TypeError(f"index for {name!r}: {value!r} is not an int, a slice or an integer array")
    if isinstance(value, (int, np.integer)):
        i = int(value)
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range for dim {name!r} of size {size} in {describe(x)}")
        return i % size
    return _array_index(value, name, size, x)


def _array_index(value: Any, name: Name, size: int, x: DimArray) -> DimArray:
    literal = isinstance(value, (list, tuple))
    if getattr(value, "nameless", None) is not None:
        value = value.nameless
    if not isinstance(value, DimArray):
        value = _unnamed_index(value, name)
    if value.level is not None:
        value = innermost(value)
    if value.dtype.kind == "b":
        if not literal and not backends.may_look(value.raw):
            refuse_while_recording("a boolean index", "where(mask, x, fill)")
        return _beside(_nonzero(value, name, size), x)
    if value.dtype.kind not in "iu":
        raise TypeError(f"index for {name!r} has dtype {value.dtype}; use integers or booleans")
    return _beside(_wrapped(value, name, size, x), x)


def _beside(index: DimArray, x: DimArray) -> DimArray:
    """The positions where the backend of ``x`` can index with them."""
    backend = backends.backend_of(innermost(x).raw)
    return index if backend is backends.NUMPY else make(call(backend.indices, index.raw), index.names, index.hidden)


def _unnamed_index(value: Any, name: Name) -> DimArray:
    raw = value if backends.is_array(value) else np.asarray(value)
    if raw.size == 0 and raw.dtype.kind == "f":
        raw = raw.astype(np.intp)
    if raw.ndim > 1:
        raise AxisError(f"index for {name!r} has {raw.ndim} axes without names; use ng.DimArray(index, dims)")
    return make(raw, (name,) if raw.ndim else (), NONE)


def _nonzero(mask: DimArray, name: Name, size: int) -> DimArray:
    if mask.hidden or mask.names != (name,):
        raise AxisError(f"a boolean index for {name!r} must have that dim alone, got {describe(mask)}; use where(...) instead")
    if extent(mask, name) != size:
        raise AxisError(f"boolean index for {name!r} has size {extent(mask, name)}, the dim has size {size}")
    if mask.backend != "numpy":
        raise TypeError(f"a boolean index on {mask.backend} has a data-dependent size; use where(...) or integer positions")
    return make(np.flatnonzero(mask.raw), (name,), NONE)


def _wrapped(index: DimArray, name: Name, size: int, x: DimArray) -> DimArray:
    backend = backends.backend_of(index.raw)
    raw = index.raw
    if backends.may_look(raw):
        if not np.size(raw):
            return index
        low, high = int(np.min(raw)), int(np.max(raw))
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise IndexError(f"index {bad} is out of range for dim {name!r} of size {size} in {describe(x)}")
        if low >= 0:
            return index
    return make(call(backend.wrap_index, raw, size), index.names, index.hidden)


@operation(sample("real(a,b)", indexers={"a": 1}), sample("real(a,b)", indexers={"a": slice(None, None, -1), "b": slice(0, 3, 2)}),
           sample("real(a,b)", indexers={"a": [0, 0, 2, -1]}), sample("real(a,b)", indexers={"b": [True, False, True, True]}),
           method=True)
def isel(x: DimArray, /, indexers: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """Index by position.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to indexer, optional
        Or as keywords: ``a.isel(x=0)``. An int removes the dim; a slice, a list, a 1-D array of integers or booleans indexes its own
        dim (orthogonally); a DimArray of integers brings its dims, and several that share a dim are taken together (pointwise).
        It may have vectorized axes: each slice then has its own positions.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, vectorized, or would be repeated, or an array of several axes has no names.
    IndexError
        If a position is out of range.
    TypeError
        If an indexer is neither integer nor boolean.

    Notes
    -----
    Repeated positions accumulate in the gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("x", "y"))
    >>> a.isel(x=0).data, a.isel(y=[1, 1]).data.tolist()
    (array([1., 2.]), [[2.0, 2.0], [4.0, 4.0]])
    >>> along = ng.DimArray([0, 1], ("point",))
    >>> a.isel(x=along, y=along).data
    array([1., 4.])
    """
    table = mapping(x, indexers, keywords, "isel")
    read = {n: as_index(v, n, extent(x, n), x) for n, v in table.items()}
    arrays = {n: i for n, i in read.items() if isinstance(i, DimArray)}
    for name, i in read.items():
        if not isinstance(i, DimArray):
            x = slice_of(x, name, i)
    if not arrays:
        return x
    if all(i.names in ((n,), ()) for n, i in arrays.items()):
        for name, i in arrays.items():
            x = gather(x, {name: i})
        return x
    _refuse_lost(x, arrays)
    return gather(x, arrays)


def _refuse_lost(x: DimArray, arrays: Mapping[Name, DimArray]) -> None:
    for name in _index_names(list(arrays.values())):
        if name in x.names and name not in arrays and any(name in i.names and name not in i.hidden for i in arrays.values()):
            check(x, name, "isel")


@operation(sample("real(a,b)", index=[0, 2, 2], dim="a"))
def take(x: DimArray, index: Any, dim: Name) -> DimArray:
    """Positions of one dim.

    Parameters
    ----------
    x : DimArray
    index : int, integer array or DimArray
        As for :func:`isel`.
    dim : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    >>> ng.take(a, [2, 2, 0], "x").data
    array([3., 3., 1.])
    >>> ng.grad(lambda a: ng.take(a, [2, 2, 0], "x").sum())(a).data
    array([1., 0., 2.])
    """
    return isel(x, {check(x, dim, "take"): index})


def getitem(x: DimArray, key: Any) -> DimArray:
    """``a[{"x": 0}]``, or by order of the visible dims: ``a[0, :, ...]``."""
    if isinstance(key, Mapping):
        return isel(x, key)
    if isinstance(key, DimArray) and key.dtype.kind == "b" and key.names == x.names and x.ndim == 1:
        return isel(x, {x.dims[0]: key})
    return isel(x, _by_order(x, key if isinstance(key, tuple) else (key,)))


def _by_order(x: DimArray, key: tuple[Any, ...]) -> dict[Name, Any]:
    if sum(k is Ellipsis for k in key) > 1:
        raise IndexError("an index can have one ellipsis only")
    gaps = x.ndim - (len(key) - any(k is Ellipsis for k in key))
    if gaps < 0:
        raise IndexError(f"too many indices: {len(key)} for {describe(x)}")
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    full = (*key[:at], *(slice(None),) * gaps, *key[at + 1 :])
    if any(k is None for k in full):
        raise AxisError("a new axis needs a name; use .expand_dims(name)")
    return {n: k for n, k in zip(x.dims, full, strict=True) if not (isinstance(k, slice) and k == slice(None))}


# ------------------------------------------------------------------------------------------------ functional updates


class At:
    """``a.at[index]``: functional updates that return a new array.

    The index is a mapping of dims to indexers, or indexers in the order of the visible dims, as for :func:`isel`. Where the value
    brings a name, the result has it too. Of several writers to one cell, ``add``, ``multiply``, ``max`` and ``min``
    count all; of ``set`` the last one wins, and it alone has a gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 3})
    >>> a.at[{"x": 1}].set(5.0).data, a.at[{"x": [0, 0]}].add(1.0).data
    (array([0., 5., 0.]), array([2., 0., 0.]))
    """

    __slots__ = ("index", "x")

    def __init__(self, x: DimArray, index: Mapping[Name, DimArray] | None = None) -> None:
        self.x, self.index = x, index

    def __getitem__(self, key: Any) -> At:
        table = dict(key) if isinstance(key, Mapping) else _by_order(self.x, key if isinstance(key, tuple) else (key,))
        for name in table:
            check(self.x, name, "at")
        read = {n: as_index(v, n, extent(self.x, n), self.x) for n, v in table.items()}
        return At(self.x, {n: _as_positions(i, n, self.x) for n, i in read.items()})

    def _located(self, value: Any) -> tuple[DimArray, list[DimArray], Names, tuple[int, ...]]:
        if self.index is None:
            raise TypeError("say where: a.at[{dim: index}].set(value)")
        index = list(self.index.values())
        v = constant(value)
        if v.level is None and not backends.is_array(v.raw):
            full = backends.backend_of(innermost(self.x).raw).full
            v = make(call(full, (), v.raw, np.result_type(self.x.dtype, v.raw)), (), NONE)
        sizes = tuple(extent(self.x, d) for d in self.index)
        return v, index, tuple(self.index), sizes

    def add(self, value: Any) -> DimArray:
        """``value`` added at the index; duplicates accumulate."""
        v, index, dims, sizes = self._located(value)
        if not dims:
            return add(self.x, v)
        return add(self.x, _spread_out(v, index, dims, sizes, self.x))

    def set(self, value: Any) -> DimArray:
        """``value`` written at the index; of several writers to one cell the last one counts, also in gradients."""
        v, index, dims, sizes = self._located(value)
        if not dims:
            return where(c(True), v, self.x)
        last, hit = _last_writer(index, dims, sizes, self.x)
        v = cast(v, np.result_type(self.x.dtype, v.dtype) if v.names or v.level is not None else self.x.dtype)
        joint = _index_names(index)
        v = spread(v, Like((*(n for n in joint if n not in v.names), *v.names),
                           (*(_size_among(index, n) for n in joint if n not in v.names), *v.full_shape), v.dtype))
        v = relabel(v, {}, hide=tuple(n for i in index for n in i.hidden if n not in v.hidden))
        out = where(hit, _spread_out(select(last, v), index, dims, sizes, self.x), self.x)
        return reorder(out, axes.in_order((*self.x.names, *out.names)))

    def _by_expansion(self, value: Any, kind: str) -> DimArray:
        """Combine writers through an indicator of who writes where."""
        from namedgrad.rules.reductions import max as max_
        from namedgrad.rules.reductions import min as min_
        from namedgrad.rules.reductions import prod

        v, index, dims, sizes = self._located(value)
        combine = {"multiply": multiply, "max": maximum, "min": minimum}[kind]
        if not dims:
            return combine(self.x, v)
        neutral = _neutral(kind, np.result_type(self.x.dtype, v.dtype))
        who = _writers(index, dims, sizes, self.x)
        joint = tuple(n for n in _index_names(index) if n not in who.hidden)
        rename = {n: axes.fresh(n) for n in joint}
        who = relabel(who, {**rename, **dict(zip(_targets(dims), dims, strict=True))})
        full = where(who, relabel(v, {n: m for n, m in rename.items() if n in v.names}), c(neutral))
        reduce = {"multiply": prod, "max": max_, "min": min_}[kind]
        return combine(self.x, reduce(full, tuple(rename.values()), skipna=False) if rename else full)

    def multiply(self, value: Any) -> DimArray:
        """Cells multiplied by ``value``; duplicates accumulate."""
        return self._by_expansion(value, "multiply")

    def max(self, value: Any) -> DimArray:
        """The larger of cell and ``value``."""
        return self._by_expansion(value, "max")

    def min(self, value: Any) -> DimArray:
        """The smaller of cell and ``value``."""
        return self._by_expansion(value, "min")


def _neutral(kind: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined."""
    if kind == "multiply":
        return 1
    if dtype.kind == "f":
        return -np.inf if kind == "max" else np.inf
    return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max


def _as_positions(i: Any, name: Name, x: DimArray) -> DimArray:
    if isinstance(i, DimArray):
        return i
    chosen = range(extent(x, name))[i]
    if isinstance(chosen, int):
        return make(chosen, (), NONE)
    backend = backends.backend_of(innermost(x).raw)
    return make(call(backend.arange, chosen.start, chosen.stop, chosen.step), (name,), NONE)


def _size_among(index: Sequence[DimArray], name: Name) -> int:
    return next(extent(i, name) for i in index if name in i.names)


def _spread_out(v: DimArray, index: list[DimArray], dims: Names, sizes: tuple[int, ...], x: DimArray) -> DimArray:
    """Values at the index, zeros elsewhere; names of ``x`` that neither brings are broadcast on addition."""
    joint = _index_names(index)
    clash = [n for n in v.names if n in dims and n not in joint]
    if clash:
        raise AxisError(f"at: the value has the dim {clash[0]!r}, which the index replaces; rename it in the value")
    shared = tuple(n for i in index for n in i.hidden)
    summed = tuple(n for n in joint if n not in shared and (n not in x.names or n in dims))
    v = relabel(v, {}, hide=tuple(n for n in shared if n in v.names and n not in v.hidden))
    out = scatter_add(v, index, dims, sizes, summed)
    hide = tuple(n for n in shared if n in out.names and n not in out.hidden)
    return relabel(out, {}, hide=hide)


def _targets(dims: Names) -> Names:
    return tuple(axes.core(-i - 1) for i in range(len(dims)))


def _writers(index: list[DimArray], dims: Names, sizes: tuple[int, ...], x: DimArray) -> DimArray:
    """Boolean (index names..., target dims): which writer writes where; target dims carry core names."""
    cells = [positions(n, d, x) for d, n in zip(_targets(dims), sizes, strict=True)]
    return functools.reduce(multiply.two, (equal(i, c) for i, c in zip(index, cells, strict=True)))


def _last_writer(index: list[DimArray], dims: Names, sizes: tuple[int, ...], x: DimArray) -> tuple[DimArray, DimArray]:
    """Which writers win (index names), and which cells are written (target dims)."""
    joint = _index_names(index)
    backend = backends.backend_of(innermost(x).raw)
    shape = tuple(_size_among(index, n) for n in joint)
    hidden = frozenset(n for i in index for n in i.hidden)
    order = call(backend.arange, 1, math.prod(shape) + 1)
    number = make(call(backends.backend_of(order).reshape, order, shape), joint, hidden)
    shared = tuple(n for n in joint if n in hidden or (n in x.names and n not in dims))
    summed = tuple(n for n in joint if n not in shared)
    best = apply(_SCATTER_MAX, (number, *index), dims=dims, sizes=sizes, summed=summed)
    won = equal(apply(_GATHER, (best, *index), dims=dims), number)
    return won, not_equal(best, c(0))


class _ScatterMax(_ScatterAdd):
    """Scatter of whole numbers in which the largest writer wins; no derivative."""

    def linear(self, *args: Any, **kwargs: Any) -> Any:
        return None


_SCATTER_MAX = _ScatterMax("scatter_max")
