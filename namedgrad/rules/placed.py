"""Cotangents that are 0 but for a part: kept as that part, and added up in one array.

A program that takes an array apart slice by slice pulls back one cotangent for each slice, as large as the array.  Made
and added one by one they would take as long as there are slices times cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.backends import NUMPY
from namedgrad.linear import Like, ops
from namedgrad.rules.structure import add, cast_back, reorder
from namedgrad.versions import State, Version, version_of


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
            self._whole = self._made()
        return self._whole

    def _made(self) -> Any:
        """Zeros around the part."""
        names = self._rest(self.names)
        raw = reorder(self.part, names).raw
        for n in reversed(tuple(self.cuts)):  # the last cut is the smallest
            names = tuple(m for m in self.names if m in names or m == n)
            raw = backends.call(NUMPY.uncut, raw, names.index(n), self.cuts[n], self._shape[self.names.index(n)])
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

    def added_to(self, total: Version) -> Version:
        """An array with the part added where it lies."""
        at = tuple(self.cuts.get(n, slice(None)) for n in total.names)
        return total.write(at, reorder(self.part, self._rest(total.names)).raw, "add", total.hidden)


def pile(old: DimArray, new: DimArray) -> DimArray:
    """The sum of two cotangents of one array."""
    if not (type(old) is Version or type(old) is Placed or type(new) is Placed) or not _fits(old, new):
        return add.two(old, new)
    if type(old) is Placed and type(new) is not Placed:
        old, new = reorder(new, old.names), old
    if isinstance(new, Placed):
        return new.added_to(_begun(old))
    out = add.two(old, new)
    return Version(State(out.raw), out.names, out.hidden)


def _begun(x: DimArray) -> Version:
    """An array to which parts are added: to zeros, beside which a part is not written, as -0 + 0 is 0."""
    if isinstance(x, Placed):
        return x.added_to(Version(State(NUMPY.zeros(x.full_shape, x.dtype)), x.names, x.hidden))
    return version_of(x)


def _fits(x: DimArray, y: DimArray) -> bool:
    """Whether one may be added to an array like the other."""
    kinds = Placed, Version
    plain = x.level is None is y.level and all(isinstance(v, kinds) or type(v.raw) is np.ndarray for v in (x, y))
    return plain and x.hidden is y.hidden and x.dtype == y.dtype and set(x.names) == set(y.names)


ops.pile = pile
