"""Calls of NumPy's kernels on the chunks of lazy arrays.

dask would learn what a kernel gives by calling it on nothing and reading its signature, and name a graph by pickling
what it calls, which takes longer than all else.  Here dtypes are announced, or found once for operands of their kinds,
and the names of kernels are kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import unify_chunks
from dask.array.reductions import _tree_reduce  # type: ignore[attr-defined]
from dask.base import normalize_token, tokenize

Raw = Any

_token = functools.lru_cache(maxsize=4096)(normalize_token)  # of a function, which is pickled for it


class Kernel:
    """A function of chunks, as silent about floating-point errors as the place where the operation was called.

    Inside a transform infinite factors are no occasion for warnings, but the chunks are computed later, elsewhere.
    """

    __slots__ = ("__name__", "function", "kwargs", "silent")

    def __init__(self, function: Callable[..., Any], **kwargs: Any) -> None:
        self.function, self.kwargs, self.__name__ = function, kwargs, function.__name__
        self.silent: dict[str, Any] = {kind: how for kind, how in np.geterr().items() if how == "ignore"}

    def __call__(self, *chunks: Any, **kwargs: Any) -> Any:
        with np.errstate(**self.silent):
            return self.function(*chunks, **self.kwargs, **kwargs)

    def __dask_tokenize__(self) -> Any:
        return _token(self.function), normalize_token(sorted(self.kwargs.items())), *sorted(self.silent)

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel, (self.function, self.kwargs, self.silent)


def _kernel(function: Callable[..., Any], kwargs: dict[str, Any], silent: dict[str, Any]) -> Kernel:
    out = Kernel(function, **kwargs)
    out.silent = silent
    return out


class Namespace:
    """:mod:`dask.array`, but for functions cell by cell of NumPy."""

    def __getattr__(self, name: str) -> Any:
        """What is looked up once stays."""
        own: Any = getattr(np, name, None)
        by_cell = own is np.where or (isinstance(own, np.ufunc) and not own.signature and own.nout == 1)
        found = functools.partial(_joining, own) if by_cell else getattr(da, name)
        setattr(self, name, found)
        return found


def _joining(function: Callable[..., Any], *raw: Raw) -> Raw:
    """Lazily where an operand is lazy."""
    return elementwise(function, *raw) if any(isinstance(x, da.Array) for x in raw) else function(*raw)


def elementwise(function: Callable[..., Any], *raw: Raw, **kwargs: Any) -> Raw:
    """A call per chunk."""
    call, letters = Kernel(function, **kwargs), [_letters(x) for x in raw]
    kinds = ((type(x), x) if _is_number(x) else (x.dtype, x.ndim) for x in raw)
    ndim, dtype = _announced(function, tuple(kwargs.items()), *kinds)
    pairs = [part for pair in zip(raw, letters, strict=True) for part in pair]
    name, meta = f"{call.__name__}-{tokenize(call, *raw)}", np.empty((0,) * ndim, dtype)
    return da.blockwise(call, tuple(range(ndim))[::-1], *pairs, dtype=dtype, meta=meta, name=name)


@functools.lru_cache(maxsize=4096)
def _announced(function: Callable[..., Any], kwargs: Any, *kinds: tuple[Any, Any]) -> tuple[int, Any]:
    """How many axes, and which dtype, a function gives of operands of certain kinds: numbers, or dtypes and axes."""
    some = (np.ones((1,) * more, kind) if isinstance(kind, np.dtype) else more for kind, more in kinds)
    with np.errstate(all="ignore"):
        out = function(*some, **dict(kwargs))
    return out.ndim, out.dtype


def _is_number(x: Raw) -> bool:
    return not hasattr(x, "ndim")


def _letters(x: Raw) -> tuple[int, ...] | None:
    """Of the axes of an array, counted from the last one; None of a number."""
    return tuple(range(x.ndim))[::-1] if isinstance(x, da.Array) or np.ndim(x) else None


def blockwise(
    kernel: Kernel, out: Sequence[int], joined: Sequence[int], dtype: Any, *operands: tuple[Raw, Sequence[int]]
) -> Raw:
    """A call per combination of chunks of arrays with lettered axes; ``joined`` axes come last, of size 1 per chunk."""
    # What da.blockwise would do itself, less its warning: all pairs of chunks is what a contraction is.
    _, arrays = unify_chunks(*(part for pair in operands for part in pair), warn=False)
    pairs = [part for a, (_, letters) in zip(arrays, operands, strict=True) for part in (a, letters)]
    letters = [*out, *joined]
    return da.blockwise(
        kernel, letters, *pairs, adjust_chunks=dict.fromkeys(joined, 1), dtype=dtype, meta=_nothing(letters, dtype),
        align_arrays=False,
    )  # fmt: skip


def of_whole(kernel: Kernel, x: Raw, sizes: dict[int, int], dtype: Any) -> Raw:
    """A call per chunk, of one array that is not cut along some axes, which get other sizes."""
    letters = tuple(range(x.ndim))
    chunks, meta = {a: (n,) for a, n in sizes.items()}, _nothing(letters, dtype)
    return da.blockwise(
        kernel, letters, x, letters, adjust_chunks=chunks, dtype=dtype, meta=meta, align_arrays=False
    )


def joined(x: Raw, *axes: int) -> Raw:
    """The same array with one chunk along some axes."""
    cut = {a % x.ndim: -1 for a in axes if x.numblocks[a] != 1}
    return x.rechunk(cut) if cut else x


def permuted(x: Raw, perm: tuple[int, ...]) -> Raw:
    """The axes of an array, in another order."""
    if perm == tuple(range(x.ndim)):
        return x
    return da.blockwise(
        Kernel(np.transpose, axes=perm), perm, x, tuple(range(x.ndim)), dtype=x.dtype, meta=_nothing(perm, x.dtype),
        align_arrays=False,
    )  # fmt: skip


def by_tree(x: Raw, axis: tuple[int, ...], dtype: Any, kernel: Kernel, first: Kernel | None = None) -> Raw:
    """A reduction over axes: a kernel, or ``first``, of each chunk, then a kernel of a few of these at a time."""
    letters, axis = tuple(range(x.ndim)), tuple(a % x.ndim for a in axis)
    parts = da.blockwise(
        first or kernel, letters, x, letters, adjust_chunks=dict.fromkeys(axis, 1), dtype=dtype,
        meta=_nothing(letters, dtype), align_arrays=False, axis=axis, keepdims=True,
    )  # fmt: skip
    return _tree_reduce(parts, kernel, axis, keepdims=False, dtype=dtype, name=kernel.__name__)


def _nothing(letters: Sequence[int], dtype: Any) -> Raw:
    return np.empty((0,) * len(letters), dtype)
