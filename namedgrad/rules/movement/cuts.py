"""Parts of one dim and their transposes, reversal and cyclic shift: the linear maps that moves are made of."""

from __future__ import annotations

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name, Names
from namedgrad.linear import Like
from namedgrad.primitive.linear import linear


def core_size(x: Like) -> int:
    """Size of the axis ``core(-1)``."""
    return x.full_shape[x.names.index(axes.core(-1))]


# fmt: off
_cut_slice   = linear("(n)->(n)", "cut_slice", moves=1, kernel="cut", transpose=lambda g, x, index: uncut_slice(g, index=index, size=core_size(x)))
uncut_slice  = linear("(n)->(n)", "uncut_slice", moves=1, kernel="uncut", transpose=lambda g, x, index, size: _cut_slice(g, index=index))
_cut_one     = linear("(n)->()", "cut_one", moves=1, kernel="cut", transpose=lambda g, x, index: _uncut_one(g, index=index, size=core_size(x)))
_uncut_one   = linear("()->(n)", "uncut_one", moves=1, kernel="uncut", transpose=lambda g, x, index, size: _cut_one(g, index=index))
flip_axes    = linear("(n)->(n)", "flip_axis", moves=1, kernel="flip", transpose=lambda g, x: flip_axes(g, core_dims(x)), many=True)
roll_axes    = linear("(n)->(n)", "roll_axis", moves=1, kernel="roll", many=True,
                      transpose=lambda g, x, shift: roll_axes(g, core_dims(x), shift=tuple(-s for s in shift)))
# fmt: on


def core_dims(x: Like) -> Names:
    """The axes along which a linear operation is."""
    return tuple(sorted((n for n in x.names if isinstance(n, axes.Core)), key=lambda n: n.number))


def slice_of(x: DimArray, dim: Name, index: slice | int) -> DimArray:
    """A slice, or one position, of one dim."""
    if not isinstance(index, int) and index.indices(extent(x, dim)) == (0, extent(x, dim), 1):
        return x
    return _cut_one(x, (dim,), index=index) if isinstance(index, int) else _cut_slice(x, (dim,), index=index)
