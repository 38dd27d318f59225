"""``p[key]`` and ``p[key] = value``, as NumPy has them.

Basic keys (ints, slices, ``None``, ``...``) give views.  A write rebinds the values of the array that owns them, and
every living view of it forgets its own, to read them again from its base: so a write through a view reaches its base
and its siblings, and no array that the user made is ever changed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, describe, extent, make
from namedgrad.axes import NONE, Name, Names
from namedgrad.linear import Like
from namedgrad.positional.array import (
    PositionalArray,
    box,
    joint_sizes,
    meet,
    numbers,
    ordered,
    renumber,
    squeezed,
    stretch,
    unwrap,
    view_of,
    wrap,
)
from namedgrad.rules import indexing
from namedgrad.rules.movement import merge, slice_of, split
from namedgrad.rules.structure import cast, relabel, reorder, spread

# ------------------------------------------------------------------------------------------------ reading a key


class Key(NamedTuple):
    """A key taken apart: what happens to each axis, and where the result has its axes."""

    slices: dict[Name, slice | int]
    arrays: dict[Name, DimArray]
    target: tuple[Any, ...]  #: in order: an old name, None for a new axis, Ellipsis for the axes of ``arrays``

    @property
    def basic(self) -> bool:
        """Whether NumPy would give a view."""
        return not self.arrays


def _is_basic(k: Any) -> bool:
    return k is None or k is Ellipsis or isinstance(k, (slice, int, np.integer)) and not isinstance(k, (bool, np.bool_))


def _parts(x: DimArray, key: Any) -> list[Any]:
    """One entry per axis that is consumed, arrays of truth values as positions, ``...`` written out."""
    parts: list[Any] = []
    for k in key if isinstance(key, tuple) else (key,):
        parts.extend([k] if _is_basic(k) else _as_positions(k))
    gaps = sum(k is Ellipsis for k in parts)
    if gaps > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = x.ndim - sum(k is not None and k is not Ellipsis for k in parts)
    if missing < 0:
        raise IndexError(f"too many indices for an array of shape {x.shape}")
    at = next((i for i, k in enumerate(parts) if k is Ellipsis), len(parts))
    return [*parts[:at], *(slice(None),) * missing, *parts[at + gaps :]]


def _as_positions(k: Any) -> list[DimArray]:
    """An index array; one of truth values becomes one array of positions per axis."""
    if isinstance(k, (bool, np.bool_)):
        raise TypeError("a single True or False as an index adds an axis; use x[None] or np.where")
    i = unwrap(np.asarray(k) if isinstance(k, (list, tuple)) else k, "index")
    if i.level is not None or i.dtype.kind not in "iub":
        if i.full_shape == (0,) and i.level is None:
            return [make(np.empty(0, np.intp), i.names, NONE)]
        raise IndexError(f"arrays used as indices must be of integer or boolean type, got {i.dtype}")
    if i.dtype.kind != "b":
        return [i]
    if i.hidden or not backends.backend_of(i.raw).may_branch or backends.is_recording():
        raise TraceError(
            f"a boolean index {describe(i)} selects a number of cells that depends on values, one per slice; "
            "use np.where(mask, x, fill) or x * mask, which keep the shape"
        )
    return [make(p, (axes.axis(-1),), NONE) for p in np.nonzero(i.raw)]


def read_key(x: DimArray, key: Any) -> Key:
    """Take a key apart along the visible axes of ``x``."""
    parts = _parts(x, key)
    names = iter(x.dims)
    slices: dict[Name, slice | int] = {}
    arrays: dict[Name, DimArray] = {}
    target: list[Any] = []
    places: list[int] = []  # positions in the key of what NumPy counts as advanced
    for at, k in enumerate(parts):
        if k is None:
            target.append(None)
            continue
        name = next(names)
        if isinstance(k, slice):
            slices[name] = k
            target.append(name)
        else:
            places.append(at)
            target.append(Ellipsis)
            if isinstance(k, DimArray):
                arrays[name] = k
            else:
                slices[name] = indexing.as_index(int(k), name, extent(x, name), x)
    together = places == list(range(places[0], places[0] + len(places))) if places else True
    rest = [t for t in target if t is not Ellipsis]
    if not arrays:
        return Key(slices, arrays, tuple(rest))
    front = target.index(Ellipsis) if together else 0
    rest.insert(front, Ellipsis)
    return Key(slices, _joint(arrays, x), tuple(rest))


def _joint(arrays: dict[Name, DimArray], x: DimArray) -> dict[Name, DimArray]:
    """Index arrays broadcast against each other, their axes under names of their own."""
    count = max(i.ndim for i in arrays.values())
    own = {n: axes.fresh(n) for n in numbers(count)}
    out = {}
    for name, i in zip(arrays, meet(*arrays.values()), strict=True):
        checked = indexing._wrapped(i, name, extent(x, name), x)
        out[name] = relabel(checked, {n: own[n] for n in checked.dims})
    return out


# ------------------------------------------------------------------------------------------------ p[key]


def select(x: DimArray, key: Key) -> DimArray:
    """The cells that a key names, with numbered axes."""
    for name, k in key.slices.items():
        x = slice_of(x, name, k)
    block: Names = ()
    if key.arrays:
        x = indexing.gather(x, key.arrays)
        block = block_names(key)
    names: list[Name] = []
    for t in key.target:
        names.extend(block if t is Ellipsis else (axes.fresh("new"),) if t is None else (t,))
    if new := [n for n in names if n not in x.names]:
        x = spread(x, Like((*new, *x.names), (*(1 for _ in new), *x.full_shape), x.dtype))
    return ordered(x, names)


def block_names(key: Key) -> Names:
    """The axes that the index arrays bring, in order."""
    found = {n for i in key.arrays.values() for n in i.dims}
    return tuple(sorted(found, key=lambda n: n.base.number))  # type: ignore[attr-defined]


def getitem(p: PositionalArray, key: Any) -> Any:
    """Cells of an array; a view where NumPy gives one."""
    x = p._x
    read = read_key(x, key)
    out = select(x, read)
    if not read.basic:
        return box(out, type(p))
    if x.level is None and x.dtype.kind in "biu" and not x.hidden:
        return box(out, type(p))
    return view_of(p, out, lambda base: base[key], key)


# ------------------------------------------------------------------------------------------------ p[key] = value


def setitem(p: PositionalArray, key: Any, value: Any) -> None:
    """Write ``value`` (broadcast) into the cells that a key names."""
    if isinstance(value, PositionalArray) and value._view is not None and value._view.base is p and _same(value._view.key, key):
        return  # p[i] += 1 has written through the view already
    v = unwrap(value, "the value written")
    view = p._view
    if view is None:
        _renew(p, _written(p._x, key, v))
        return
    root, where = p, None
    chain = []
    while root._view is not None:
        chain.append(root._view.show)
        root = root._view.base
    where = wrap(make(np.arange(root.size).reshape(root.shape), numbers(root.ndim), NONE))
    for show in reversed(chain):
        where = show(where)
    where = where[key]
    x = root._x
    flat = axes.fresh("flat")
    shape = dict(zip(x.dims, x.shape))
    line = merge(x, x.dims, flat) if x.dims else x
    written = _put(line, {flat: unwrap(where)}, v)
    _renew(root, ordered(split(written, flat, shape), tuple(shape)) if shape else written)


def _same(old: Any, new: Any) -> bool:
    try:
        return old is not None and type(old) is type(new) and bool(old == new)
    except (TypeError, ValueError):
        return False


def _renew(p: PositionalArray, x: DimArray) -> None:
    """Give an array other values; its views read theirs anew."""
    p._x = x
    _forget(p)


def _forget(p: PositionalArray) -> None:
    for ref in p._views or ():
        view = ref()
        if view is not None:
            try:
                del view._x
            except AttributeError:  # never read since the last write
                continue
            _forget(view)


def _written(x: DimArray, key: Any, v: DimArray) -> DimArray:
    """``x`` with ``v`` in the cells of the key."""
    read = read_key(x, key)
    cells = {n: _positions(k, extent(x, n)) for n, k in read.slices.items()}
    where = wrap(make(np.arange(x.size).reshape(x.shape), numbers(x.ndim), NONE))
    del cells
    flat = axes.fresh("flat")
    shape = dict(zip(x.dims, x.shape))
    place = unwrap(where[key])
    if not shape:
        return cast(stretch(v, ()), x.dtype)
    out = _put(merge(x, x.dims, flat), {flat: place}, v)
    return ordered(split(out, flat, shape), tuple(shape))


def _positions(k: slice | int, size: int) -> Any:
    return np.arange(size)[k]


def _put(x: DimArray, index: dict[Name, DimArray], v: DimArray) -> DimArray:
    """``x.at[index].set(v)`` where index and value have numbered axes that broadcast."""
    (name, place), = index.items()
    while v.ndim > place.ndim and v.shape[0] == 1:
        v = renumber(slice_of(v, v.dims[0], 0))
    sizes = place.sizes
    if any(n not in sizes or s not in (1, sizes[n]) for n, s in v.sizes.items()):
        raise ValueError(f"could not broadcast input array from shape {v.shape} into shape {place.shape}")
    v = cast(squeezed(v, sizes), x.dtype)
    own = {n: axes.fresh(n) for n in place.dims}
    place = relabel(place, own)
    v = relabel(v, {n: own[n] for n in v.dims})
    return indexing.At(x, {name: place}).set(v)


PositionalArray.__getitem__ = getitem  # type: ignore[method-assign]
PositionalArray.__setitem__ = setitem  # type: ignore[method-assign]

__all__ = ["Key", "getitem", "joint_sizes", "math", "read_key", "reorder", "select", "setitem"]
