"""Axis numbers read as names, and the moves that NumPy's functions share, on arrays with numbered axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.positional.array import PositionalArray, numbers, ordered
from namedgrad.positional.operands import whole
from namedgrad.rules.movement.regrouping import regroup
from namedgrad.rules.singleton import refit
from namedgrad.rules.structure import cast, relabel


def names_of(x: DimArray, axis: Any) -> Names:
    """Names of the axes that ``axis=`` counts; all of them for None."""
    if axis is None:
        return x.dims
    count = x.ndim
    if type(axis) is int and -count <= axis < count:
        return (axes.axis(axis - count if axis >= 0 else axis),)
    return tuple(axes.axis(a - count) for a in normalize_axis_tuple(axis, count))


def name_of(x: DimArray, axis: int) -> Name:
    """Name of one axis."""
    return axes.axis(normalize_axis_index(axis, x.ndim) - x.ndim)


def along(x: DimArray, axis: int | None) -> tuple[DimArray, Name]:
    """An array and the name of one axis; None flattens first, as NumPy's cumulative functions do."""
    if axis is None:
        x = flat(x)
        return x, axes.axis(-1)
    return x, name_of(x, axis)


def granted(x: DimArray, axis: Any) -> Any:
    """The axis asked for; None for the first or last of a single cell, which most of NumPy's functions grant it."""
    return None if not x.ndim and (type(axis) is int or isinstance(axis, np.integer)) and axis in (0, -1) else axis


def named(x: DimArray, names: Sequence[Name]) -> DimArray:
    """The visible axes under other names, in their order."""
    return relabel(x, {o: n for o, n in zip(x.dims, names, strict=True) if o != n})


def framed(x: DimArray, first: Names, last: Names) -> DimArray:
    """The first and last axes under names; those in between, which are batch, numbered from the right."""
    batch = x.ndim - len(first) - len(last)
    return named(x, (*first, *(axes.axis(i) for i in range(-batch, 0)), *last))


def apart(x: DimArray, what: str) -> DimArray:
    """Every axis under a name of its own, which nothing else has."""
    return named(x, tuple([axes.local((what, n)) for n in x.dims]))


def at_least(x: DimArray, count: int) -> DimArray:
    """New axes of size 1 in front, so that there are as many as ``count``."""
    return expand(x, range(count - x.ndim)) if x.ndim < count else x


def numbered_of(names: Iterable[Name]) -> Names:
    """Those of the names that are numbers, in their order."""
    return tuple(sorted((n for n in names if isinstance(n, axes.Axis)), key=lambda n: n.number))


def seats(count: int, taken: Collection[Any]) -> Names:
    """Names for new axes among ``count``: the numbers of their places, or others for those that are ``taken``."""
    return tuple([axes.local(n) if n in taken else n for n in numbers(count)])


def expand(x: DimArray, positions: Sequence[int]) -> DimArray:
    """New axes of size 1 at these positions of the result."""
    at, old = set(positions), iter(x.dims)
    return widened(x, [None if i in at else next(old) for i in range(x.ndim + len(at))])


def widened(x: DimArray, names: Sequence[Name | None]) -> DimArray:
    """Axes in this order, numbered; new ones, of size 1, have no name yet."""
    if None not in names:
        return ordered(x, names)
    order = tuple([s if n is None else n for n, s in zip(names, seats(len(names), names), strict=True)])
    return refit(x, (), order, _numbering(order))


def _numbering(names: Names) -> dict[Name, Name]:
    """The renaming of axes in their order to numbers."""
    return {n: to for n, to in zip(names, numbers(len(names)), strict=True) if n is not to}


def without(x: DimArray, names: Names) -> DimArray:
    """Axes of size 1 dropped, the others numbered."""
    rest = tuple([n for n in x.dims if n not in names])
    return refit(x, names, rest, _numbering(rest)) if names else x


def squeeze(x: DimArray, names: Names) -> DimArray:
    """Axes of size 1 removed."""
    for n, s in x.sizes.items():
        if n in names and s != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return without(x, names)


def flat(x: DimArray) -> DimArray:
    """All visible axes as one."""
    return reshape(x, (-1,))


def full_size(shape: Sequence[int]) -> int:
    """Number of cells."""
    return math.prod(shape)


def reshape(x: DimArray, shape: Any, order: str = "C") -> DimArray:
    """Another shape of the visible axes."""
    if order == "F":
        turned = reshape(ordered(x, x.dims[::-1]), _resolve(x, shape)[::-1])
        return ordered(turned, turned.dims[::-1])
    old, new = x.shape, _resolve(x, shape)
    if old == new:
        return x
    if (kept := _singletons(old, new)) is not None:  # all other axes stay what they are
        drops, adds = kept
        x = without(x, tuple(x.dims[i] for i in drops))
        return expand(x, adds) if adds else x
    return regroup(x, x.dims, dict(zip(numbers(len(new)), new)))


def _singletons(old: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Axes of size 1 to drop and to add, if that is all the difference."""
    if [s for s in old if s != 1] != [s for s in new if s != 1]:
        return None
    return [i for i, s in enumerate(old) if s == 1], [i for i, s in enumerate(new) if s == 1]


def _resolve(x: DimArray, shape: Any) -> tuple[int, ...]:
    """The shape with -1 worked out."""
    sizes = [int(s) for s in (shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,))]
    total = full_size(x.shape)
    if sizes.count(-1) == 1:
        rest = -full_size(sizes)
        if rest and total % rest == 0:
            sizes[sizes.index(-1)] = total // rest
    if full_size(sizes) != total or any(s < 0 for s in sizes):
        raise ValueError(f"cannot reshape array of size {total} into shape {tuple(sizes)}")
    return tuple(sizes)


def pairs(value: Any, count: int) -> list[tuple[Any, Any]]:
    """(before, after) per axis of what ``np.pad`` takes: a scalar, a pair, one pair per axis, a mapping."""
    if isinstance(value, Mapping):
        table = {
            normalize_axis_index(k, count): v if isinstance(v, (tuple, list)) else (v, v) for k, v in value.items()
        }
        return [tuple(table.get(i, (0, 0))) for i in range(count)]
    value = whole(value)
    if isinstance(value, PositionalArray) and value.ndim:
        rows = np.broadcast_to(value, (count, 2))
        return [(row[0], row[1]) for row in rows]
    if not isinstance(value, (tuple, list, np.ndarray)):
        return [(value, value)] * count
    return [(b, a) for b, a in np.broadcast_to(np.asarray(value), (count, 2)).tolist()]


def cast_as(x: DimArray, dtype: np.dtype[Any], casting: Any, what: str) -> DimArray:
    """Cells in another dtype, where a rule of NumPy's allows it."""
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"{what}: {x.dtype} is not cast to {dtype} by the rule {casting!r}")
    return cast(x, dtype)


def double(x: DimArray) -> DimArray:
    """In double precision."""
    return cast(x, "complex128" if x.dtype.kind == "c" else "float64")
