"""Sets of values: which cells are in them has no derivative, the values themselves are read from the cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements


def _known(x: Any, what: str) -> Any:
    raw = value_of(numbered(x), what)
    if backends.backend_of(raw).name == "dask":
        raise TypeError(f"{what}: the number of cells depends on values, which are on dask; use .to_numpy()")
    return raw


def _cells(x: Any, index: Any, axis: int | None = None) -> Any:
    """The cells at positions of an axis; None counts all cells."""
    return np.take(np.ravel(x) if axis is None else x, index, axis=axis or 0)


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, **options: Any,
) -> Any:  # fmt: skip
    raw = _known(ar, "np.unique()")
    _, index, inverse, counts = np.unique(
        raw, return_index=True, return_inverse=True, return_counts=True, axis=axis, **options
    )
    asked = (return_index, index), (return_inverse, inverse), (return_counts, counts)
    more = tuple(found for wanted, found in asked if wanted)
    values = _cells(ar, index, axis)
    return (values, *more) if more else values


def _array_api(function: Any) -> None:
    """The kin of ``np.unique`` that give a named tuple, values first."""

    def call(x: Any, /) -> Any:
        raw = _known(x, f"np.{function.__name__}()")
        return function(raw)._replace(values=_cells(x, np.unique_all(raw).indices))

    implements(function)(call)


for _function in (np.unique_all, np.unique_counts, np.unique_inverse):
    _array_api(_function)
implements(np.unique_values)(lambda x, /: _cells(x, np.unique_all(_known(x, "np.unique_values()")).indices))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    raw, other = (_known(a, "np.intersect1d()") for a in (ar1, ar2))
    _, first, second = np.intersect1d(raw, other, assume_unique, return_indices=True)
    values = np.maximum(_cells(ar1, first), _cells(ar2, second))  # equal, so each has half of the derivative
    return (values, first, second) if return_indices else values


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((ar1, ar2), axis=None))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    raw, other = (_known(a, "np.setdiff1d()").ravel() for a in (ar1, ar2))
    index = np.arange(raw.size) if assume_unique else np.unique(raw, return_index=True)[1]
    return _cells(ar1, index[np.isin(raw[index], other, assume_unique=True, invert=True)])


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = np.concatenate((ar1, ar2) if assume_unique else (unique(ar1), unique(ar2)), axis=None)
    _, index, counts = np.unique(_known(both, "np.setxor1d()"), return_index=True, return_counts=True)
    return _cells(both, index[counts == 1])


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    x, trim = numbered(filt), trim.lower()
    if trim not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    at = np.argwhere(value_of(x, "np.trim_zeros()"))
    every = range(x.ndim) if axis is None else [a % x.ndim for a in np.atleast_1d(axis)]
    cuts = [slice(None)] * x.ndim
    for a in every:
        if not len(at):
            cuts[a] = slice(0)
        else:
            cuts[a] = slice(at[:, a].min() if "f" in trim else None, at[:, a].max() + 1 if "b" in trim else None)
    return filt[tuple(cuts)]


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    kind = numbered(a).dtype
    return np.sort(a).astype(kind if kind.kind == "c" else "F" if kind.char in "bhBH" else np.result_type(kind, "D"))
