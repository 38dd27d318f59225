"""What holds arrays of NumPy's: subclasses, some of which mean more than their numbers; pandas; sparse matrices."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

_OWN = ("__array_ufunc__", "__array_function__", "__add__", "__mul__", "__matmul__")


def as_plain(raw: Any, what: str) -> Any:
    """The array itself; of one that is masked nowhere its data.

    Raises
    ------
    TypeError
        If its class computes otherwise than NumPy (masks, units, matrix products), which its numbers alone would not.
    """
    kind: Any = type(raw)
    if kind is np.ndarray or not isinstance(raw, np.ndarray) or _computes_alike(kind):
        return raw
    if isinstance(raw, np.ma.MaskedArray):
        if not (masked := int(np.ma.getmaskarray(raw).sum())):
            return raw.view(np.ndarray)
        raise TypeError(
            f"{what} is a masked array, and its mask ({masked} of {raw.size} cells) would be lost; "
            "fill them with x.filled(np.nan), or leave them out with x.compressed()"
        )
    raise TypeError(
        f"{what} is a {kind.__module__}.{kind.__qualname__}, which computes in its own way (matrix products, units); "
        "use np.asarray(x) for its numbers alone"
    )


@functools.cache
def _computes_alike(kind: Any) -> bool:
    """Whether a subclass leaves operators and functions to NumPy."""
    return not issubclass(kind, np.ma.MaskedArray) and all(getattr(kind, n) is getattr(np.ndarray, n) for n in _OWN)


def without_mask(raw: Any) -> Any:
    """An array with NaN, or NaT, where it is masked, as xarray has it; integers become doubles."""
    if not isinstance(raw, np.ma.MaskedArray) or raw.dtype.kind not in "iufcmM" or not np.ma.is_masked(raw):
        return raw
    raw = raw.astype(float) if raw.dtype.kind in "iu" else raw
    return raw.filled(np.array("NaT" if raw.dtype.kind in "mM" else "nan", raw.dtype)[()])


def is_table(value: Any) -> bool:
    """Whether it is a Series, DataFrame or Index of pandas."""
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "ndim")


def is_sparse(value: Any) -> bool:
    """Whether it is a matrix of :mod:`scipy.sparse`."""
    return hasattr(value, "tocoo") and bool(sys.modules["scipy.sparse"].issparse(value))


def columns(table: Any) -> list[Any]:
    """The numbers of such a one: an array for each column that has numbers."""
    found = [table] if table.ndim == 1 else [table.iloc[:, k] for k in range(table.shape[1])]
    arrays = (np.asarray(column) for column in found)
    return [a for a in arrays if a.dtype.kind in "biufc"]
