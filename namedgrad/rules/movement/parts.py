"""Parts of dims: head, tail, thin, and an array cut into several."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import backend_of, call
from namedgrad.linear import Like, Map, fold, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules.dims import mapping, pick_one
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.joining import join
from namedgrad.rules.structure import relabel, stamp, zeros_spread
from namedgrad.trace import accumulate, apply

FEW = 5  # xarray's default


def _counts(x: DimArray, indexers: Any, keywords: Mapping[Any, int], what: str) -> dict[Name, int]:
    """How many cells of which dims: a number for all of them, a mapping, or xarray's default."""
    if indexers is None and not keywords:
        indexers = FEW
    table: dict[Name, Any] = dict.fromkeys(x.dims, indexers) if isinstance(indexers, (int, np.integer)) else mapping(x, indexers, keywords, what)
    for name, n in table.items():
        if n < 0 or (what == "thin" and n == 0):
            raise ValueError(f"{what}: {name!r} needs a positive number, got {n}")
    return table


@operation(sample("real(a,b)", indexers={"a": 2}), sample("real(a,b)", indexers=1), sample("real(nine,b)"), method=True)
def head(x: DimArray, /, indexers: Mapping[Any, int] | int | None = None, **keywords: int) -> DimArray:
    """The first cells of dims.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to int, or int, optional
        How many, or as keywords: ``a.head(x=2)``. A number counts for all dims; 5 by default.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a number is negative.

    Notes
    -----
    As :meth:`xarray.DataArray.head`; ``torch.narrow`` is ``isel`` with a slice.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 9).head(x=2).data
    array([0, 1])
    """
    for name, n in _counts(x, indexers, keywords, "head").items():
        x = slice_of(x, name, slice(0, n))
    return x


@operation(sample("real(a,b)", indexers={"a": 2}), sample("real(a,b)", indexers=1), sample("real(nine,b)"), method=True)
def tail(x: DimArray, /, indexers: Mapping[Any, int] | int | None = None, **keywords: int) -> DimArray:
    """The last cells of dims.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to int, or int, optional
        How many, or as keywords: ``a.tail(x=2)``. A number counts for all dims; 5 by default.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a number is negative.

    Notes
    -----
    As :meth:`xarray.DataArray.tail`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 9).tail(x=2).data
    array([7, 8])
    """
    for name, n in _counts(x, indexers, keywords, "tail").items():
        size = extent(x, name)
        x = slice_of(x, name, slice(max(size - n, 0), size))
    return x


@operation(sample("real(a,b)", indexers={"a": 2}), sample("real(a,b)", indexers=3), sample("real(nine,b)", indexers={"nine": 4}), method=True)
def thin(x: DimArray, /, indexers: Mapping[Any, int] | int | None = None, **keywords: int) -> DimArray:
    """Every n-th cell of dims, the first one included.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to int, or int, optional
        The step, or as keywords: ``a.thin(x=2)``. A number counts for all dims.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a step is not positive.

    Notes
    -----
    As :meth:`xarray.DataArray.thin`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 9).thin(x=4).data
    array([0, 4, 8])
    """
    for name, n in _counts(x, indexers, keywords, "thin").items():
        x = slice_of(x, name, slice(0, extent(x, name), n))
    return x


# ------------------------------------------------------------------------------------------------ several parts


class _Parts(Primitive):
    """Consecutive parts of one axis: several outputs, so that a gradient is joined once however many there are."""

    form, signature, keeps = "linear", "(n)->(m),(k)...", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dim: Name, bounds: tuple[int, ...], single: bool) -> tuple[DimArray, ...]:
        (x,) = args
        at = x.names.index(dim)
        names = tuple(n for n in x.names if n != dim) if single else x.names
        cuts: list[Any] = list(bounds[:-1]) if single else [slice(a, b) for a, b in itertools.pairwise(bounds)]
        cut = backend_of(x.raw).cut
        return tuple(make(call(cut, x.raw, axis=at, index=k), names, x.hidden) for k in cuts)

    def linear(
        self, out: Any, ins: list[DimArray], need: list[bool], dim: Name, bounds: tuple[int, ...], single: bool
    ) -> Map:
        return _PartsMap(like(ins[0]), dim, bounds, single)


class _PartsMap(Map):
    """Cuts forward, one join backward, with zeros for parts that were not used."""

    __slots__ = ("bounds", "dim", "mixes", "single", "x")
    multiplies = False

    def __init__(self, x: Like, dim: Name, bounds: tuple[int, ...], single: bool) -> None:
        self.x, self.dim, self.bounds, self.single = x, dim, bounds, single
        self.names = x.names  # cotangents of the parts are summed as those of the whole
        self.mixes = (dim,)

    def pull(self, g: Any) -> list[DimArray | None]:
        given = {i: self.apart(part, () if self.single else (self.dim,)) for i, part in g.items()}
        out: DimArray | None = None
        for mark in {id(part.hidden): part.hidden for part in given.values()}.values():
            joined = self._joined({i: part for i, part in given.items() if part.hidden is mark})
            out = accumulate(out, joined, self)
        return [out]

    def _joined(self, given: dict[int, DimArray]) -> DimArray:
        some = next(iter(given.values()))
        line = axes.core(-1)
        parts = []
        for i, (start, stop) in enumerate(itertools.pairwise(self.bounds)):
            part = given.get(i)
            if part is None:
                part = zeros_spread(some, Like((line,), (stop - start,), some.dtype))
            parts.append(relabel(part, {self.dim: line}) if self.dim in part.names and not self.single else part)
        names = tuple(line if n == self.dim else n for n in self.x.names)
        return relabel(fold(stamp(join(parts, line), some.hidden), 1, names), {line: self.dim})

    def push(self, ts: Sequence[DimArray | None]) -> Any:
        (t,) = ts
        return None if t is None else apply(_PARTS, (t,), dim=self.dim, bounds=self.bounds, single=self.single)


_PARTS = _Parts("parts")


def parts_of(x: DimArray, name: Name, bounds: Sequence[int], *, single: bool = False) -> tuple[DimArray, ...]:
    """Consecutive parts of an axis between bounds; ``single`` cells without the axis."""
    return apply(_PARTS, (x,), dim=name, bounds=tuple(bounds), single=single) if len(bounds) > 1 else ()


@operation(sample("real(six,b)", sections=3, dim="six"), sample("real(nine)", sections=[2, 5]), sample("real(nine,b)", sections=4, dim="nine"),
           name="split")
def split_array(x: DimArray, sections: int | Sequence[int], dim: Any = None) -> tuple[DimArray, ...]:
    """Cut a dim into parts.

    Parameters
    ----------
    x : DimArray
    sections : int or sequence of int
        How many parts, of sizes that differ by one at most, the larger ones first; or the positions of the cuts.
    dim : name, optional
        Needed unless there is one dim only.

    Returns
    -------
    tuple of DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If there are to be no parts.

    Notes
    -----
    As :func:`numpy.array_split` and ``torch.tensor_split``. However many parts there are, a gradient is joined once.

    Examples
    --------
    >>> import namedgrad as ng
    >>> [part.data.tolist() for part in ng.split(ng.arange("x", 5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    name = pick_one(x, dim, "split")
    size = extent(x, name)
    if isinstance(sections, (int, np.integer)):
        if sections < 1:
            raise ValueError(f"split: {sections} sections; there must be one at least")
        each, more = divmod(size, int(sections))
        bounds = [i * each + min(i, more) for i in range(int(sections) + 1)]
        return parts_of(x, name, bounds)
    cuts = [slice(0, int(k)).indices(size)[1] for k in sections]
    if cuts == sorted(cuts):
        return parts_of(x, name, [0, *cuts, size])
    return tuple(slice_of(x, name, slice(a, max(a, b))) for a, b in zip([0, *cuts], [*cuts, size], strict=True))


@operation(sample("real(nine,b)", chunks=4, dim="nine"), sample("real(six)", chunks=3))
def chunk(x: DimArray, chunks: int, dim: Any = None) -> tuple[DimArray, ...]:
    """Cut a dim into parts of one size, the last one smaller if need be.

    Parameters
    ----------
    x : DimArray
    chunks : int
        How many at most.
    dim : name, optional
        Needed unless there is one dim only.

    Returns
    -------
    tuple of DimArray
        Fewer than ``chunks`` where that many of one size do not fit.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If there are to be no parts.

    Notes
    -----
    As ``torch.chunk``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> [part.data.tolist() for part in ng.chunk(ng.arange("x", 5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    name = pick_one(x, dim, "chunk")
    if chunks < 1:
        raise ValueError(f"chunk: {chunks} chunks; there must be one at least")
    size = extent(x, name)
    each = max(-(-size // chunks), 1)
    return parts_of(x, name, [*range(0, max(size, 1), each), size])


@operation(sample("real(six,b)", dim="six"), sample("complex(a,six)", dim="six"))
def unbind(x: DimArray, dim: Any = None) -> tuple[DimArray, ...]:
    """Every cell of a dim as an array of its own.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.

    Returns
    -------
    tuple of DimArray
        Without the dim.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    As ``numpy.unstack`` and ``torch.unbind``; the inverse of :func:`concat` along a new dim.

    Examples
    --------
    >>> import namedgrad as ng
    >>> [cell.item() for cell in ng.unbind(ng.arange("x", 3))]
    [0, 1, 2]
    """
    name = pick_one(x, dim, "unbind")
    return parts_of(x, name, range(extent(x, name) + 1), single=True)
