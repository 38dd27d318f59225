"""``p[key] = value``, in-place operators, ``out=`` and ``p.at[key]``.

A write gives the array that owns the cells new values, and every living view of it forgets its own, to read them again
from its base.  So a write through a view reaches its base and its siblings, a write to the base is seen by its views,
and no array that the user made is ever changed.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name
from namedgrad.linear import Like
from namedgrad.positional.array import PositionalArray, View, is_lent, numbers, ordered, renew, wrap
from namedgrad.positional.axis import without
from namedgrad.positional.broadcasting import squeezed
from namedgrad.positional.indexing import Key, is_basic, is_truth, read_key
from namedgrad.positional.operands import nameless, numbered, unwrap
from namedgrad.positional.uncounted import UncountedCells, write_uncounted
from namedgrad.rules import indexing
from namedgrad.rules.indexing.reading import written_out
from namedgrad.rules.movement import merge, split
from namedgrad.rules.singleton import drop
from namedgrad.rules.structure import cast, constant_like, relabel, reorder, spread, where

# ------------------------------------------------------------------------------------------------ the public ways


def setitem(p: PositionalArray, key: Any, value: Any) -> None:
    """Write ``value`` (broadcast) into the cells that a key names."""
    value = nameless(value)
    if isinstance(value, UncountedCells):
        write_uncounted(p, key, value)
        return
    if isinstance(value, PositionalArray) and _is_own_view(value._view, p, key):
        return  # p[i] += 1 has written through the view already
    _write(p, key, unwrap(value, "the value written"), "set")


def _is_own_view(view: View | None, p: PositionalArray, key: Any) -> bool:
    if view is None or view.base is not p:
        return False
    return view.key is key or (_plain_key(key) and _plain_key(view.key) and view.key == key)


def _plain_key(key: Any) -> bool:
    return all(map(is_basic, key if isinstance(key, tuple) else (key,)))


def update(p: PositionalArray, key: Any, value: Any, how: str) -> None:
    """``np.add.at(p, key, value)`` and its like: duplicates accumulate."""
    _write(p, key, value, how)


class At:
    """``p.at[key]``: functional updates that return a new array, as for a DimArray."""

    __slots__ = ("key", "p")

    def __init__(self, p: PositionalArray, key: Any = ...) -> None:
        self.p, self.key = p, key

    def __getitem__(self, key: Any) -> At:
        return At(self.p, key)

    def _new(self, value: Any, how: str) -> PositionalArray:
        x = self.p._x
        v = _to_be_written(unwrap(value, "the value written"), x.dtype)
        return wrap(_written(x, self.key, v, how), type(self.p))

    def set(self, value: Any) -> PositionalArray:
        """``value`` written at the key; of several writers to one cell the last one counts, also in gradients."""
        return self._new(value, "set")

    def add(self, value: Any) -> PositionalArray:
        """``value`` added at the key; duplicates accumulate."""
        return self._new(value, "add")

    def multiply(self, value: Any) -> PositionalArray:
        """Cells multiplied by ``value``; duplicates accumulate."""
        return self._new(value, "multiply")

    def subtract(self, value: Any) -> PositionalArray:
        """``value`` subtracted at the key; duplicates accumulate."""
        return self._new(value, "subtract")

    def divide(self, value: Any) -> PositionalArray:
        """Cells divided by ``value``; duplicates accumulate."""
        return self._new(value, "divide")

    def power(self, value: Any) -> PositionalArray:
        """Cells raised to the power ``value``; duplicates accumulate."""
        return self._new(value, "power")

    def max(self, value: Any) -> PositionalArray:
        """The larger of cell and ``value``."""
        return self._new(value, "max")

    def min(self, value: Any) -> PositionalArray:
        """The smaller of cell and ``value``."""
        return self._new(value, "min")


# ------------------------------------------------------------------------------------------------ owners and views

LENT = (
    "a plain array made by np.asarray() shows the cells of this one, and cannot show values that are being "
    "differentiated, vectorized or recorded; make it of a .copy(), or leave np.asarray() away"
)


def _to_be_written(value: Any, dtype: np.dtype[Any]) -> DimArray:
    """A value for an array of this dtype; imaginary parts of arrays are lost to real ones with NumPy's warning."""
    v = numbered(value, "the value written")
    if v.dtype.kind == "c" and dtype.kind != "c":
        if not v.ndim:
            instead = "use np.real(value) or x.astype(complex)"
            raise TypeError(f"a complex number cannot be written into a real array; {instead}")
        lost = "Casting complex values to real discards the imaginary part"
        warnings.warn(lost, np.exceptions.ComplexWarning, stacklevel=4)
    return v


def _write(p: PositionalArray, key: Any, value: Any, how: str) -> None:
    v = _to_be_written(value, p.dtype)
    if p._view is None:
        _renew(p, _written(p._x, key, v, how))
        return
    if (at := _masked(p._x, key)) is not None and not at.known:  # cells that cannot be found in the owner
        key, v, how = Ellipsis, _written(p._x, key, v, how), "set"
    shows, owner = [], p
    while owner._view is not None and not owner._view.part:
        if owner._view.locked:
            raise TypeError(owner._view.locked)
        shows.append(owner._view.show)
        owner = owner._view.base
    if not shows:
        _renew(owner, _written(owner._x, key, v, how))
        return
    if p._view.base is owner and key is Ellipsis and p._view.key is not None and _plain_key(p._view.key):
        _renew(owner, _written(owner._x, p._view.key, v, how))
        return
    cells = _cell_numbers(owner.shape)
    for show in reversed(shows):
        cells = show(wrap(unwrap(cells)))
    _renew(owner, _put(owner._x, unwrap(wrap(unwrap(cells))[key]), v, how))


def _renew(p: PositionalArray, x: DimArray) -> None:
    if p._view is not None:
        setattr(p._view.base, p._view.part, wrap(x))
        if p._view.base._known():
            p._x = x  # what has just been written need not be read again
    elif not is_lent(p):
        renew(p, x)
    elif x.level is not None or x.hidden or backends.is_recording():
        raise TypeError(LENT)
    else:
        p._lent.cells.data[...] = x.data  # type: ignore[union-attr]


def _cell_numbers(shape: tuple[int, ...]) -> Any:
    return np.arange(math.prod(shape)).reshape(shape)


# ------------------------------------------------------------------------------------------------ new values


def _written(x: DimArray, key: Any, v: DimArray, how: str) -> DimArray:
    """``x`` with ``v`` in the cells of the key."""
    if (at := _masked(x, key)) is not None:
        if how == "set" and not v.dims:
            return _chosen(at.mask, v, x)
        if (one := None if at.known else _one_for_all(at, v)) is not None:
            return _chosen(at.mask, _written(x, at.whole, one, how), x)
    if any(map(_is_by_number, key if isinstance(key, tuple) else (key,))):
        cells = wrap(make(_cell_numbers(x.shape), numbers(x.ndim), NONE))
        return _put(x, unwrap(cells[key]), v, how)
    return _at(x, read_key(x, key), v, how)


def _is_by_number(k: Any) -> bool:
    """A truth value, which adds an axis, or a mask of several axes, of whose cells one number each is enough."""
    return is_truth(k) or (getattr(k, "ndim", 0) > 1 and k.dtype.kind == "b")


class Masked(NamedTuple):
    """A key with one array of truth values."""

    mask: DimArray  #: over axes of the array
    whole: tuple[Any, ...]  #: the key with the axes of the truth values in full
    axes: int  #: how many axes the truth values have
    after: int  #: how many axes the cells have behind their own
    front: int  #: how many of these come before those of the truth values in the array
    known: bool  #: whether they may be looked at, and counted


def _masked(x: DimArray, key: Any) -> Masked | None:
    """A key that is one array of truth values, over the leading axes of ``x``, or the cells of one among others."""
    if isinstance(key, tuple):
        return _masked_among(x, key)
    if is_basic(key) or isinstance(key, (list, bool, np.bool_)):
        return None
    mask = unwrap(nameless(key), "index")
    if mask.dtype.kind != "b" or mask.shape != x.shape[: mask.ndim]:
        return None
    over = relabel(indexing.beside(mask, x), dict(zip(mask.dims, x.dims)))
    return Masked(over, (slice(None),) * mask.ndim, mask.ndim, x.ndim - mask.ndim, 0, _is_known(mask))


def _masked_among(x: DimArray, key: tuple[Any, ...]) -> Masked | None:
    """The cells of a key of numbers, slices and one array of truth values per slice, which are not counted."""
    arrays = _arrays_in(key)
    if len(arrays) != 1 or any(k is None for k in key):
        return None
    mask = nameless(key[arrays[0]])
    if not (isinstance(mask, PositionalArray) and mask.dtype.kind == "b" and mask.ndim):
        return None
    places = [i for i, k in enumerate(key) if not isinstance(k, slice) and k is not Ellipsis]
    together = places[-1] - places[0] == len(places) - 1
    key = written_out(key, x.ndim - mask.ndim + 1)
    (at,) = _arrays_in(key)
    if mask.shape != x.shape[at : at + mask.ndim]:  # never broadcast
        return None
    whole = (*key[:at], *(slice(None),) * mask.ndim, *key[at + 1 :])
    after = x.ndim - at - mask.ndim - sum(not isinstance(k, slice) for k in key[at + 1 :])
    none = constant_like(np.zeros(x.shape, bool), x, x.dims)
    over = _written(none, whole, unwrap(mask[(..., *(None,) * after)]), "set")
    front = 0 if together else sum(isinstance(k, slice) for k in key[:at])
    return Masked(over, whole, mask.ndim, after + front, front, _is_known(unwrap(mask)))


def _arrays_in(key: tuple[Any, ...]) -> list[int]:
    return [i for i, k in enumerate(key) if not (isinstance(k, slice) or is_basic(k))]


def _is_known(mask: DimArray) -> bool:
    return not mask.hidden and backends.may_look(mask.raw)


def _one_for_all(at: Masked, v: DimArray) -> DimArray | None:
    """A value that is the same wherever the mask is true, in how many cells ever, as one for all cells."""
    before = v.ndim - at.after - 1
    if before >= 0 and v.shape[before] != 1:
        return None
    cells = wrap(v)[(*(slice(None),) * before, 0)] if before >= 0 else wrap(v)
    lead = cells.ndim - (at.after - at.front)
    return unwrap(cells[(*(slice(None),) * lead, *(None,) * at.axes)] if lead > 0 else cells)


def _chosen(mask: DimArray, v: DimArray, x: DimArray) -> DimArray:
    out = where(mask, cast(v, x.dtype), x)
    return ordered(out, x.dims)


def _at(x: DimArray, key: Key, v: DimArray, how: str) -> DimArray:
    """``x`` with a value combined into the cells of a key, whose axes the value has from the right."""
    arrays, cut = key.arrays, key.slices
    if len(arrays) > 1:  # all axes in their order, in which of several writers the last one counts
        name, first = next(iter(arrays.items()))
        sizes = {n: s for i in arrays.values() for n, s in i.sizes.items()}
        arrays = arrays | {name: ordered_as(first, {n: sizes[n] for n in key.block})}
    found = {n: s for i in (x, *arrays.values()) for n, s in i.sizes.items()}
    found |= {n: len(range(found[n])[k]) for n, k in cut.items() if isinstance(k, slice)}
    found |= {n: s for i in cut.values() if isinstance(i, DimArray) for n, s in i.sizes.items()}
    names = [n for t in key.target for n in (key.block if t is Ellipsis else (t,))]
    v = cast(_fitted(v, tuple(1 if n is None else found[n] for n in names)), x.dtype)
    seat: Any = {n: names[n.number] for n in v.dims}  # type: ignore[attr-defined]
    v = drop(v, tuple(n for n, to in seat.items() if to is None))
    v = relabel(v, {n: seat[n] for n in v.dims if n is not seat[n]})
    if not (cut or arrays or how != "set"):
        if v.backend != x.backend and v.level is None and not v.hidden:
            v = constant_like(v.data, x, v.names)
        return ordered(spread(v, Like(x.dims, x.shape, x.dtype)), x.dims)
    return ordered(getattr(indexing.At(x, cut | arrays), how)(v), x.dims)


def ordered_as(index: DimArray, sizes: dict[Name, int]) -> DimArray:
    """An index with all of these axes, in their order."""
    hidden = [n for n in index.names if n in index.hidden]
    full = dict(zip(index.names, index.full_shape, strict=True)) | sizes
    names = (*hidden, *sizes)
    return reorder(spread(index, Like(names, tuple(full[n] for n in names), index.dtype)), names)


def _fitted(v: DimArray, shape: tuple[int, ...]) -> DimArray:
    """A value ready to be broadcast to a shape: surplus and stretched axes of size 1 gone."""
    while v.ndim > len(shape) and v.shape[0] == 1:
        v = without(v, v.dims[:1])
    sizes = dict(zip(numbers(len(shape)), shape))
    if any(n not in sizes or s not in (1, sizes[n]) for n, s in v.sizes.items()):
        raise ValueError(f"could not broadcast input array from shape {v.shape} into shape {shape}")
    return squeezed(v, sizes)


def _put(x: DimArray, cells: DimArray, v: DimArray, how: str) -> DimArray:
    """Update cells of ``x``, counted in C order."""
    v = cast(_fitted(v, cells.shape), x.dtype)
    own = {n: axes.local(n) for n in cells.dims}
    line: Name = axes.local("flat")
    sizes = x.sizes
    target = merge(x, x.dims, line) if sizes else spread(x, Like((*x.names, line), (*x.full_shape, 1), x.dtype))
    at = indexing.At(target, {line: relabel(indexing.beside(cells, x), own)})
    out = getattr(at, how)(relabel(v, {n: own[n] for n in v.dims}))
    return ordered(split(out, line, sizes), tuple(sizes)) if sizes else drop(out, (line,))


PositionalArray.__setitem__ = setitem  # type: ignore[method-assign]
PositionalArray._update = update  # type: ignore[attr-defined]
PositionalArray.at = property(At)  # type: ignore[attr-defined]
