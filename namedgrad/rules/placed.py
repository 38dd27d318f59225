"""Cotangents that are 0 but for a part: kept as that part, and added up in one array.

A program that takes an array apart slice by slice pulls back one cotangent for each slice, as large as the array.  Made
and added one by one they would take as long as there are slices times cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import Name, Names
from namedgrad.linear import Like, ops
from namedgrad.rules.structure import add, cast_back, reorder


class Placed(DimArray):
    """An array of NumPy's that holds ``part`` where ``cuts`` are, and 0 elsewhere; made when it is asked for."""

    __slots__ = ("_shape", "_whole", "cuts", "part")

    def __init__(self, part: DimArray, cuts: Mapping[Name, slice | int], like: Like) -> None:
        kept = tuple(n for n in part.names if n not in like.names)
        self.names, self.hidden, self.cuts, self._whole = (*kept, *like.names), part.hidden, cuts, None
        sizes = dict(zip(part.names, part.full_shape, strict=True)) | dict(zip(like.names, like.full_shape, strict=True))
        self._shape = tuple(sizes[n] for n in self.names)
        self.part = cast_back(part, like.dtype)

    @property
    def raw(self) -> Any:
        """The whole array."""
        if self._whole is None:
            self._whole = self.whole()
        return self._whole

    def whole(self) -> Any:
        """The array, made anew."""
        names = self._rest(self.names)
        raw = reorder(self.part, names).raw
        for n in reversed(tuple(self.cuts)):  # the last cut is the smallest
            names = tuple(m for m in self.names if m in names or m == n)
            raw = backends.call(backends.NUMPY.uncut, raw, names.index(n), self.cuts[n], self._shape[self.names.index(n)])
        return raw

    def _rest(self, names: Names) -> Names:
        """Those that the part has, too."""
        return tuple(n for n in names if type(self.cuts.get(n)) is not int)

    @property
    def full_shape(self) -> tuple[int, ...]:
        """Sizes of all axes of the whole array."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the part."""
        return self.part.dtype

    def add_to(self, total: Any, names: Names) -> None:
        """Add the part where it lies in an array with these names."""
        at = tuple(self.cuts.get(n, slice(None)) for n in names)
        backends.call(backends.NUMPY.add_at, total, at, reorder(self.part, self._rest(names)).raw)


class Sum(DimArray):
    """A sum to which more may be added in place: no one else has its array."""

    __slots__ = ()


def _begun(x: DimArray) -> Sum:
    """An array of its own."""
    out = object.__new__(Sum)
    out.names, out.hidden = x.names, x.hidden
    if isinstance(x, Placed):  # added to zeros, not written: -0 + 0 is 0, as in a sum of whole arrays
        out.raw = backends.NUMPY.zeros(x.full_shape, x.dtype)
        x.add_to(out.raw, x.names)
    else:
        out.raw = backends.call(backends.NUMPY.copy, x.raw)
    return out


def pile(old: DimArray, new: DimArray) -> DimArray:
    """The sum of two cotangents of one array; ``old`` is nobody else's if it is a :class:`Sum`."""
    if not (type(old) is Sum or type(old) is Placed or type(new) is Placed) or not _fits(old, new):
        return add.two(old, new)
    if type(old) is Placed and type(new) is not Placed:
        old, new = reorder(new, old.names), old
    total = old if type(old) is Sum else _begun(old)
    if isinstance(new, Placed):
        new.add_to(total.raw, total.names)
    else:
        backends.call(backends.NUMPY.add_at, total.raw, ..., reorder(new, total.names).raw)
    return total


def _fits(x: DimArray, y: DimArray) -> bool:
    """Whether one may be added to an array like the other."""
    plain = x.level is None is y.level and all(isinstance(v, Placed) or type(v.raw) is np.ndarray for v in (x, y))
    return plain and x.hidden is y.hidden and x.dtype == y.dtype and set(x.names) == set(y.names)


def settled(g: Any) -> Any:
    """A cotangent, or several, to which no more is added."""
    if type(g) is dict:
        return {k: settled(v) for k, v in g.items()}
    return make(g.raw, g.names, g.hidden) if type(g) is Sum else g


ops.pile, ops.settled = pile, settled
