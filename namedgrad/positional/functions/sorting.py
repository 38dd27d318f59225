"""Order: sort, median, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Names
from namedgrad.positional import nested
from namedgrad.positional.array import PositionalArray
from namedgrad.positional.axis import along, granted, named, names_of
from namedgrad.positional.functions.reductions import kept
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, static
from namedgrad.rules import sorting as s
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c, divide
from namedgrad.rules.indexing import gather
from namedgrad.rules.sorting.order import places as checked
from namedgrad.rules.structure import cast


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    x, name = along(numbered(a), axis)
    return s.sort(x, name)


@implements(np.argsort, method=True)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    x = numbered(a)
    x, name = along(x, granted(x, axis))
    return s.argsort(stop_gradient(x), name)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> DimArray:
    x, name = along(numbered(a), axis)
    at = _places(kth, "np.partition: kth")
    return s.partition(x, name, kth=at) if extent(x, name) else x


@implements(np.argpartition, method=True)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> DimArray:
    x = numbered(a)
    x, name = along(x, granted(x, axis))
    at = _places(kth, "np.argpartition: kth")
    if extent(x, name):
        checked(at, extent(x, name), "argpartition")
    return argsort(a, axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> DimArray:
    """One stable order after the other, from the key that counts least, so that each slice has its own."""
    if len({np.shape(k) for k in keys}) != 1:
        raise ValueError(f"np.lexsort needs keys of one shape, and got {[np.shape(k) for k in keys]}")
    least, *others = (along(x, granted(x, axis)) for x in map(stop_gradient, map(numbered, keys)))
    order = s.argsort(*least)
    for x, name in others:
        order = gather(order, {name: s.argsort(gather(x, {name: order}), name)})
    return order


def _places(kth: Any, what: str) -> int | list[int]:
    given = static(kth, what)
    return given if isinstance(given, int) else np.asarray(given).ravel().tolist()


def _sort_in_place(
    self: PositionalArray, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort along an axis, in place."""
    self[...] = np.sort(self, axis)


def _partition_in_place(
    self: PositionalArray, kth: Any, axis: int = -1, kind: Any = None, order: Any = None
) -> None:
    """Put the k-th values of an axis in their places, in place."""
    self[...] = np.partition(self, kth, axis)


PositionalArray.sort = _sort_in_place  # type: ignore[attr-defined]
PositionalArray.partition = _partition_in_place  # type: ignore[attr-defined]


def _median(skipna: bool) -> Any:
    def function(
        a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
    ) -> Any:
        x = numbered(a)
        if x.dtype.kind in "biu":
            x = cast(x, "float64")
        names = names_of(x, axis)
        return kept(s.median(x, names, skipna=skipna), x, names, keepdims)

    return function


median = implements(np.median)(_median(skipna=False))
nanmedian = implements(np.nanmedian)(_median(skipna=True))


# Neither a Python number nor a method that picks one cell adds precision.
_OF_ONE_CELL = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _quantile(skipna: bool, scale: float) -> Any:
    def function(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        x, at = numbered(a), numbered(q)
        kind = x.dtype
        if kind.kind == "c":
            raise TypeError("a must be an array of real numbers")
        how = interpolation or method
        names = names_of(x, axis)
        share = None if weights is None else _share(weights, x, names, how, whole=axis is None)
        if x.dtype.kind in "biu" or not (x.dtype.kind in "mM" or type(q) in (int, float) or how in _OF_ONE_CELL):
            x = cast(x, np.result_type(x.dtype, at.dtype, np.float16))
        own = tuple(axes.local(("quantile", n)) for n in at.dims)
        if isinstance(q, PositionalArray) or nested.holds(q, PositionalArray):
            levels: Any = named(divide(at, c(scale)), own)
        else:
            levels = np.asarray(q, dtype=float) / scale
            if share is not None:  # at a step of them the dtype of the levels decides
                levels = named(numbered(np.true_divide(q, x.dtype.type(scale)) if scale != 1 else np.asarray(q)), own)
        out = s.quantiles(x, levels, own, names, how, skipna=skipna, keepdims=keepdims, weights=share)
        return cast(out, kind) if kind.kind in "biu" and how in _OF_ONE_CELL else out

    return function


def _share(weights: Any, x: DimArray, names: Names, method: str, *, whole: bool) -> DimArray:
    """Weights of the cells of ``x``, or one for each of those along the axes that go."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    w = stop_gradient(numbered(weights))
    if w.shape == x.shape:
        return w
    if whole:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(x.sizes[n] for n in names):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return named(w, names)


quantile = implements(np.quantile)(_quantile(skipna=False, scale=1))
nanquantile = implements(np.nanquantile)(_quantile(skipna=True, scale=1))
percentile = implements(np.percentile)(_quantile(skipna=False, scale=100))
nanpercentile = implements(np.nanpercentile)(_quantile(skipna=True, scale=100))
