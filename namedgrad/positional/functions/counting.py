"""Positions in sorted arrays, weighted counts, cells chosen by masks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, extent
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.axis import flat, named, reshape
from namedgrad.positional.indexing import placed
from namedgrad.positional.operands import numbered, unwrap
from namedgrad.positional.protocol import implements
from namedgrad.rules import elementwise as e
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import beside, gather
from namedgrad.rules.indexing.search import digitize as digitized
from namedgrad.rules.indexing.search import searchsorted as searched
from namedgrad.rules.indexing.sparse import bincount as counted
from namedgrad.rules.structure import cast, not_equal, subtract, where
from namedgrad.trace import innermost


def _line(value: Any, what: str) -> DimArray:
    """An array of one axis, under a name of its own."""
    x = numbered(value)
    if x.ndim != 1:
        raise ValueError(f"{what} must be 1-dimensional, not of shape {x.shape}")
    return named(x, (axes.local(what),))


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> DimArray:
    index = _line(x, "np.bincount: x")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if weights is None:
        return counted(index, minlength=minlength, new_dim=axes.local("bin"))
    w = cast(named(_line(weights, "np.bincount: weights"), index.dims), np.float64)
    return counted(index, w, minlength=minlength, new_dim=axes.local("bin"))


@implements(np.searchsorted, method=True)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> DimArray:
    edges = _line(a, "np.searchsorted: a")
    (dim,) = edges.dims
    if sorter is not None:
        order = named(numbered(sorter), (axes.local("order"),))
        edges, (dim,) = gather(edges, {dim: placed(order, dim, edges)}), order.dims
    return searched(edges, numbered(v), dim, side=side)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> DimArray:
    edges = _line(bins, "np.digitize: bins")
    if "c" in numbered(x).dtype.kind + edges.dtype.kind:
        raise TypeError("np.digitize: complex numbers have no order")
    return digitized(numbered(x), edges, right=right)


def _from(function: Any) -> Any:
    return lambda arr, k=0: function(numbered(arr).shape[-2], k=k, m=numbered(arr).shape[-1])


implements(np.triu_indices_from)(_from(np.triu_indices))
implements(np.tril_indices_from)(_from(np.tril_indices))
implements(np.diag_indices_from)(lambda arr: np.diag_indices(numbered(arr).shape[0], numbered(arr).ndim))


# ------------------------------------------------------------------------------------------------ by masks


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    if not isinstance(arr, PositionalArray):
        raise TraceError(
            "np.place would write values that are being differentiated or vectorized into a plain array; make it with "
            "np.zeros(shape, like=x)"
        )
    x, v = arr._x, flat(numbered(vals))
    chosen = beside(flat(not_equal(unwrap(mask, "mask"), c(0))), x)
    if not v.size:
        if chosen.level is None and not np.any(chosen.raw):
            return
        raise ValueError("Cannot insert from an empty array!")
    own = axes.local("values")
    rank = subtract(cast(chosen, np.intp).cumsum(axes.axis(-1)), c(1))
    picked = gather(named(v, (own,)), {own: e.remainder(rank, c(extent(v, axes.axis(-1))))})
    arr[...] = wrap(reshape(where(chosen, cast(picked, x.dtype), flat(x)), arr.shape), arr.kin)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    x = x if isinstance(x, PositionalArray) else np.asarray(x)
    conditions = _conditions(x, condlist)
    if len(funclist) == len(conditions) + 1:
        conditions.append(functools.reduce(np.logical_and, map(np.logical_not, conditions)))
    if len(funclist) != len(conditions):
        raise ValueError(f"with {len(conditions)} condition(s), either that many functions or one more are expected")
    out = np.zeros_like(x)
    for condition, f in zip(conditions, funclist, strict=True):
        mask = numbered(condition)
        unknown = mask.hidden or not backends.may_look(innermost(mask).raw)
        if not callable(f):
            out = np.where(condition, f, out)
        elif unknown:
            out = np.where(condition, f(x, *args, **kw), out)
        elif x.ndim:
            out[condition] = f(x[condition], *args, **kw)
        elif condition:
            out = np.reshape(f(np.reshape(x, 1), *args, **kw), ())
    return out.astype(x.dtype)


def _conditions(x: Any, given: Any) -> list[Any]:
    """One condition per piece; they may be given as one array, and a single one alone."""
    several = isinstance(given, (list, tuple))
    alone = x.ndim and np.ndim(given[0]) == 0 if several else np.ndim(given) <= x.ndim
    return [np.asarray(given) if several else given] if alone else list(given)


# ------------------------------------------------------------------------------------------------ flat


class Flat:
    """``p.flat``: the cells in one line, read and written."""

    __slots__ = ("p",)

    def __init__(self, p: PositionalArray) -> None:
        self.p = p

    def __len__(self) -> int:
        return self.p.size

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ravel(self.p))

    def __getitem__(self, key: Any) -> Any:
        return np.ravel(self.p)[key].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        cells = np.arange(self.p.size)[key]
        several = np.resize(value, cells.shape) if np.ndim(value) and np.shape(value) != cells.shape else value
        if np.size(value):  # NumPy writes nothing if it is given nothing
            p = self.p if self.p.ndim else self.p[None]
            p[np.unravel_index(cells, p.shape)] = several


def _set_flat(self: PositionalArray, value: Any) -> None:
    Flat(self)[...] = value


def _compress(self: PositionalArray, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """As :meth:`numpy.ndarray.compress`."""
    return np.compress(condition, self, axis, out)


PositionalArray.flat = property(Flat, _set_flat)  # type: ignore[attr-defined]
PositionalArray.compress = _compress  # type: ignore[attr-defined]
