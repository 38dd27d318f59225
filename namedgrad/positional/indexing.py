"""``p[key]``, as NumPy has it: basic keys (ints, slices, ``None``, ``...``) give views, index arrays give copies."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, describe, extent, make
from namedgrad.axes import NONE, Name, Names
from namedgrad.positional.array import PositionalArray, box, numbers, view_of
from namedgrad.positional.axis import seats, widened
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.memory import laid
from namedgrad.positional.operands import nameless, unwrap
from namedgrad.positional.protocol import as_numpys, is_plainly_given
from namedgrad.positional.uncounted import INSTEAD, uncounted
from namedgrad.rules import indexing
from namedgrad.rules.indexing.positions import agreed, takes_all
from namedgrad.rules.movement.cuts import cut_out
from namedgrad.rules.structure import relabel


class Key(NamedTuple):
    """A key taken apart: what happens to each axis, and where the result has its axes."""

    slices: dict[Name, slice | int | DimArray]  #: positions, where the bounds of a slice differ along vectorized axes
    arrays: dict[Name, DimArray]
    target: tuple[Any, ...]  #: in order: an old name, None for a new axis, Ellipsis for the axes of ``arrays``
    block: Names  #: the axes of ``arrays``


class UncountedError(TraceError):
    """How many cells an array of truth values selects is left open."""


class Nonzero(NamedTuple):
    """Where an array of truth values is True, along one of its axes."""

    at: DimArray
    size: int  #: of that axis


# ------------------------------------------------------------------------------------------------ reading a key


def is_basic(k: Any) -> bool:
    """Whether one entry of a key selects without copying."""
    if isinstance(k, slice):
        return indexing.plain(k)
    return k is None or k is Ellipsis or (isinstance(k, (int, np.integer)) and not isinstance(k, bool))


def is_truth(k: Any) -> bool:
    """Whether an index is one truth value: that of an array without axes, where programs are called with numbers."""
    return isinstance(k, (bool, np.bool_)) or (getattr(k, "ndim", None) == 0 and k.dtype.kind == "b")


def entries(x: DimArray, key: Any) -> list[Any]:
    """One entry per axis that is consumed, arrays of truth values as positions; ``...`` before what it stands for."""
    parts: list[Any] = []
    for k in key if isinstance(key, tuple) else (key,):
        parts.extend([k] if isinstance(k, slice) or is_basic(k) else index_arrays(k))
    dots = [i for i, k in enumerate(parts) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = x.ndim - sum(k is not None and k is not Ellipsis for k in parts)
    if missing < 0:
        raise IndexError(f"too many indices for an array of shape {x.shape}: {x.ndim - missing} were given")
    at = dots[0] + 1 if dots else len(parts)
    return [*parts[:at], *(slice(None),) * missing, *parts[at:]]


def index_array(k: Any) -> DimArray:
    """An array of positions or truth values."""
    i = unwrap(np.asarray(k) if isinstance(k, (list, tuple)) else nameless(k), "index")
    if i.level is None and i.full_shape == (0,) and i.dtype.kind == "f":
        return make(np.empty(0, np.intp), i.names, NONE)
    if i.dtype.kind not in "iub":
        raise IndexError(f"arrays used as indices must be of integer or boolean type, not {i.dtype}")
    return i


def index_arrays(k: Any) -> list[DimArray] | list[Nonzero]:
    """An index array; one of truth values becomes one array of positions per axis that it has."""
    if is_truth(k):
        raise TypeError("a single True or False among other indices adds an axis; use x[None] or np.where")
    i = index_array(k)
    if i.dtype.kind != "b":
        return [i]
    i = agreed(i)
    if i.hidden or not backends.may_look(i.raw):
        raise UncountedError(
            f"a boolean index {describe(i)} selects a number of cells that depends on values, one per slice; {INSTEAD}"
        )
    return [Nonzero(make(p, numbers(1), NONE), n) for p, n in zip(np.nonzero(i.raw), i.shape, strict=True)]


def read_key(x: DimArray, key: Any) -> Key:
    """Take a key apart along the visible axes of ``x``."""
    names = iter(x.dims)
    slices: dict[Name, slice | int | DimArray] = {}
    arrays: dict[Name, DimArray] = {}
    target: list[Any] = []  # what each entry makes: axes, or a part of the block of the arrays
    for k in entries(x, key):
        if k is None or k is Ellipsis:
            target.append((None,) if k is None else ())
            continue
        name = next(names)
        target.append((name,) if isinstance(k, slice) else Ellipsis)
        if isinstance(k, Nonzero):
            if k.size not in (0, extent(x, name)):  # 0 fits anywhere in NumPy
                raise IndexError(f"a boolean index has {k.size} truth values along an axis of {extent(x, name)} cells")
            arrays[name] = k.at
        elif isinstance(k, DimArray):
            arrays[name] = k
        elif not takes_all(k):
            slices[name] = indexing.as_index(k if isinstance(k, slice) else int(k), name, extent(x, name), x)
    rest = [n for t in target if t is not Ellipsis for n in t]
    if not arrays:
        return Key(slices, arrays, tuple(rest), ())
    places = [i for i, t in enumerate(target) if t is Ellipsis]
    together = places[-1] - places[0] == len(places) - 1  # NumPy: scattered index arrays put their axes in front
    at, width = sum(map(len, target[: places[0]])) if together else 0, max(i.ndim for i in arrays.values())
    block = seats(len(rest) + width, rest)[at : at + width]
    rest.insert(at, Ellipsis)
    return Key(slices, _joint(arrays, x, block), tuple(rest), block)


def _joint(arrays: dict[Name, DimArray], x: DimArray, block: Names) -> dict[Name, DimArray]:
    """Index arrays broadcast against each other, their axes under the names that are given."""
    out = {}
    for name, i in zip(arrays, meet(*arrays.values()), strict=True):
        checked = placed(i, name, x)
        out[name] = relabel(checked, {n: block[n.number] for n in checked.dims})  # type: ignore[attr-defined]
    return out


def placed(index: DimArray, name: Name, x: DimArray) -> DimArray:
    """Positions along an axis, in range and where ``x`` is."""
    return indexing.beside(indexing.wrapped(index, name, extent(x, name), x), x)


# ------------------------------------------------------------------------------------------------ p[key]


def select(x: DimArray, key: Key) -> DimArray:
    """The cells that a key names, with numbered axes."""
    x = cut_out(x, {n: k for n, k in key.slices.items() if not isinstance(k, DimArray)})
    for name, k in key.slices.items():
        x = indexing.gather(x, {name: k}) if isinstance(k, DimArray) else x
    if key.arrays:
        x = indexing.gather(x, key.arrays)
    return widened(x, [n for t in key.target for n in (key.block if t is Ellipsis else (t,))])


def getitem(p: PositionalArray, key: Any) -> Any:
    """Cells of an array: a view where NumPy gives one, a number for one cell."""
    if type(key) is tuple and len(key) == 1 and is_truth(key[0]):
        (key,) = key
    if type(key) is tuple and any(map(is_truth, key)):
        return p[_room(key)][tuple(np.arange(int(k)) if is_truth(k) else k for k in key)]
    if is_truth(key):  # adds an axis, of size 1 or 0
        return p[None][(key if isinstance(key, PositionalArray) else np.asarray(key))[None]]
    x = p._x
    try:
        read = read_key(x, key)
    except UncountedError:
        if (found := uncounted(p, key)) is None:
            raise
        return found
    out = select(x, read)
    is_number = not out.ndim and not any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
    if is_number or read.arrays or (x.level is None and x.dtype.kind in "biu"):
        result = box(out, p.kin)
        if out.ndim > 1 and isinstance(result, PositionalArray) and _is_turned(key, p):
            laid(result, as_numpys(operator.getitem, p, key))
        return result
    return view_of(p, out, lambda base: base[key if isinstance(base, PositionalArray) else _alike(key, read)], key)


def _is_turned(key: Any, p: PositionalArray) -> bool:
    """Whether NumPy may lay the cells that arrays choose in another order than C: it puts axes of arrays first."""
    return (isinstance(key, tuple) and is_basic(key[0])) or not is_plainly_given((p, key))


def _room(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key that makes an axis for every truth value in another."""
    out: list[Any] = []
    for k in key:
        if k is Ellipsis or is_truth(k):
            out.append(k if k is Ellipsis else None)
        elif k is not None:
            is_mask = isinstance(k, (list, tuple)) or hasattr(k, "dtype")
            out.extend([slice(None)] * (index_array(k).ndim if is_mask and index_array(k).dtype.kind == "b" else 1))
    return tuple(out)


def _alike(key: Any, read: Key) -> Any:
    """A key for arrays without vectorized axes: in place of slices whose bounds differ along them, some as long."""
    lengths = iter([extent(i, n) for n, i in read.slices.items() if isinstance(i, DimArray)])
    several = key if isinstance(key, tuple) else (key,)
    return tuple(k if is_basic(k) or not isinstance(k, slice) else slice(next(lengths)) for k in several)


PositionalArray.__getitem__ = getitem  # type: ignore[method-assign]
