"""Reading by position: isel, take, ``[]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check, existing, mapping, pick
from namedgrad.rules.indexing.maps import gather, index_names
from namedgrad.rules.indexing.positions import beside, joined, named_index, read_all, takes_all, wrapped
from namedgrad.rules.movement.cuts import cut_out
from namedgrad.rules.structure import relabel, reorder


@operation(sample("real(a,b)", indexers={"a": 1}), sample("real(a,b)", indexers={"a": slice(None, None, -1), "b": slice(0, 3, 2)}),
           sample("real(a,b)", indexers={"a": [0, 0, 2, -1]}), sample("real(a,b)", indexers={"b": [True, False, True, True]}),
           method=True)
def isel(
    x: DimArray, /, indexers: Mapping[Any, Any] | None = None, drop: bool = False, missing_dims: str = "raise", **keywords: Any
) -> DimArray:
    """Index by position.

    Parameters
    ----------
    x : DimArray
    indexers : mapping of dim to indexer, optional
        Or as keywords: ``a.isel(x=0)``. An int removes the dim; a slice, a list, a 1-D array of integers or booleans indexes its own
        dim (orthogonally); a DimArray of integers brings its dims, and several that share a dim are taken together (pointwise).
        It may have vectorized axes: each slice then has its own positions. So may the bounds of a slice, ``slice(i, i + 2)``, as
        long as all slices are of one length. A pair ``(dims, positions)`` is an array with these dims.
    drop : bool
        Changes nothing, as there are no coordinates; here so that programs written for xarray run.
    missing_dims : {"raise", "warn", "ignore"}
        What to do with indexers of dims that ``x`` does not have.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        Dims in the order of ``x``; those that an indexer brings stand where the first of them does, as in xarray.

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
    if missing_dims != "raise":
        given = keywords if indexers is None else indexers
        indexers, keywords = {n: given[n] for n in existing(x, given, missing_dims, "isel")}, {}
    table = mapping(x, indexers, keywords, "isel")
    read = read_all(x, table)
    before = x.names
    arrays = {n: i for n, i in read.items() if isinstance(i, DimArray)}
    x = cut_out(x, {n: i for n, i in read.items() if not isinstance(i, DimArray)})
    if not arrays:
        return x
    if all(i.names in ((n,), ()) for n, i in arrays.items()):
        for name, i in arrays.items():
            x = gather(x, {name: i})
        return x
    _refuse_lost(x, arrays)
    order = dict.fromkeys(n for own in before for n in _names_of(read.get(own, _WHOLE), own))
    return reorder(gather(x, arrays), tuple(order))


_WHOLE = slice(None)


def _names_of(indexer: Any, own: Name) -> Names:
    """What an indexer makes of a dim."""
    return indexer.names if isinstance(indexer, DimArray) else (own,) if isinstance(indexer, slice) else ()


def _refuse_lost(x: DimArray, arrays: Mapping[Name, DimArray]) -> None:
    for name in index_names(list(arrays.values())):
        if name in x.names and name not in arrays and any(name in i.names and name not in i.hidden for i in arrays.values()):
            check(x, name, "isel")


@operation(sample("real(a,b)", index=[0, 2, 2], dim="a"), sample("real(a,b)", "index_b(c)", dim=("b", "a")))
def take(x: DimArray, index: Any, dim: Any = None) -> DimArray:
    """Positions of one dim, or among the cells of several.

    Parameters
    ----------
    x : DimArray
    index : int, integer array or DimArray
        As for :func:`isel`.
    dim : name or names, optional
        Cells of several dims are counted as if these were joined, the last one fastest; all in their order by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    IndexError
        If a position is out of range.

    Notes
    -----
    ``numpy.take``, ``torch.take``. Repeated positions accumulate in the gradient.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    >>> ng.take(a, [2, 2, 0], "x").data
    array([3., 3., 1.])
    >>> ng.grad(lambda a: ng.take(a, [2, 2, 0], "x").sum())(a).data
    array([1., 0., 2.])
    """
    dims = pick(x, dim, "take")
    if len(dims) == 1:
        return isel(x, {dims[0]: index})
    line = axes.local("taken cells")
    found = named_index(index if not isinstance(index, int) else np.asarray(index), "index")
    flat = joined(x, dims, line)
    aside = {n: axes.local(("taken", n)) for n in found.dims if n in dims}
    found = beside(wrapped(relabel(found, aside), dims, extent(flat, line), x), x)
    return relabel(gather(flat, {line: found}), axes.invert(aside))


def getitem(x: DimArray, key: Any) -> DimArray:
    """``a[{"x": 0}]``, or by order of the visible dims: ``a[0, :, ...]``."""
    if isinstance(key, Mapping):
        return isel(x, key)
    if isinstance(key, DimArray) and key.dtype.kind == "b" and key.names == x.names and x.ndim == 1:
        return isel(x, {x.dims[0]: key})
    return isel(x, by_order(x, key if isinstance(key, tuple) else (key,)))


def written_out(key: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """A key of so many entries: slices in the place of ``...``, or at the end."""
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    before, after = key[:at], key[at + 1 :]
    return (*before, *(slice(None),) * (count - len(before) - len(after)), *after)


def by_order(x: DimArray, key: tuple[Any, ...]) -> dict[Name, Any]:
    """Indexers in the order of the visible dims, as a mapping."""
    if sum(k is Ellipsis for k in key) > 1:
        raise IndexError("an index can have one ellipsis only")
    gaps = x.ndim - (len(key) - any(k is Ellipsis for k in key))
    if gaps < 0:
        raise IndexError(f"too many indices: {len(key)} for {describe(x)}")
    full = written_out(key, x.ndim)
    if any(k is None for k in full):
        raise AxisError("a new axis needs a name; use .expand_dims(name)")
    return {n: k for n, k in zip(x.dims, full, strict=True) if not takes_all(k)}
