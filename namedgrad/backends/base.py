"""What every backend offers: positional functions on raw arrays, written once against a NumPy-like namespace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Raw = Any
Shape = tuple[int, ...]


class Backend:
    """Positional functions by name; elementwise functions come from the namespace ``xp`` and from ``special``."""

    name: str
    xp: Any
    may_branch = False  # whether a value may steer Python: cheap and allowed on NumPy only

    # ---------------------------------------------------------------- lookup

    @functools.cached_property
    def special(self) -> Any:
        """Namespace of the functions that live in :mod:`scipy.special`."""
        raise NotImplementedError

    def function(self, name: str) -> Callable[..., Any]:
        """The function called ``name``: a method here, else one of ``xp``, else one of ``special``."""
        for place in (self, self.xp):
            if (found := getattr(place, name, None)) is not None:
                return found
        if (found := getattr(self.special, name, None)) is not None:
            return found
        raise TypeError(f"the {self.name} backend has no kernel {name!r}; use .to('numpy') to compute it on the host")

    # ---------------------------------------------------------------- creation and transfer

    def asarray(self, value: Any) -> Raw:
        """``value`` as an array of this backend."""
        return self.xp.asarray(value)

    def full(self, shape: Shape, value: Any, dtype: Any) -> Raw:
        """A read-only array of one value that occupies one element."""
        return self.xp.broadcast_to(self.xp.asarray(value, dtype=dtype), shape)

    def eye(self, n: int, m: int, k: int, dtype: Any) -> Raw:
        """Ones on the k-th diagonal."""
        return self.xp.eye(n, m, k, dtype=dtype)

    def to_numpy(self, x: Raw) -> np.ndarray[Any, Any]:
        """A host copy."""
        raise NotImplementedError

    def copy(self, x: Raw) -> Raw:
        """A contiguous copy that shares nothing."""
        return self.xp.array(x, copy=True)

    # ---------------------------------------------------------------- shape: views

    def transpose(self, x: Raw, perm: tuple[int, ...]) -> Raw:
        """Permuted axes."""
        return self.xp.transpose(x, perm)

    def reshape(self, x: Raw, shape: Shape) -> Raw:
        """Another shape, same elements in C order."""
        return self.xp.reshape(x, shape)

    def broadcast_to(self, x: Raw, shape: Shape) -> Raw:
        """Zero-stride broadcast."""
        return self.xp.broadcast_to(self.asarray(x), shape)

    def getitem(self, x: Raw, index: tuple[Any, ...]) -> Raw:
        """Basic indexing: ints, slices, None."""
        return x[index]

    def astype(self, x: Raw, dtype: Any) -> Raw:
        """A cast copy."""
        return self.asarray(x).astype(dtype)

    def cast(self, x: Raw, dtype: Any) -> Raw:
        """A cast that takes the real part where a real dtype is asked of a complex array."""
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real
        return x if x.dtype == dtype else x.astype(dtype)

    # ---------------------------------------------------------------- arithmetic helpers

    def isfinite_all(self, x: Raw) -> bool:
        """Whether every element is finite; only where ``may_branch``."""
        raise NotImplementedError

    def select(self, mask: Raw, x: Raw) -> Raw:
        """``x`` where the mask is true, exactly 0 elsewhere."""
        return self.xp.where(mask, x, self._zero(x))

    def denan(self, x: Raw) -> Raw:
        """NaN replaced by 0."""
        return self.select(~self.xp.isnan(x), x)

    def shield(self, factor: Raw, g: Raw) -> Raw:
        """The factor with 0 in place of what is not finite where the cotangent is exactly 0."""
        xp = self.xp
        factor = self.asarray(factor)
        return xp.where(xp.logical_and(xp.equal(g, 0), ~xp.isfinite(factor)), self._zero(factor), factor)

    def scale(self, g: Raw, factor: Raw) -> Raw:
        """``g * factor``, where 0 times a factor that is not finite is 0."""
        return self.xp.multiply(g, self.shield(factor, g))

    def _zero(self, x: Raw) -> Any:
        return getattr(x, "dtype", np.dtype(type(x))).type(0)

    def matmul(self, x: Raw, y: Raw) -> Raw:
        """Batched matrix product."""
        return self.xp.matmul(x, y)

    def einsum(self, x: Raw, xs: list[int], y: Raw, ys: list[int], out: list[int]) -> Raw:
        """Product of two arrays with numbered axes, summed over the numbers that ``out`` lacks."""
        return self.xp.einsum(x, xs, y, ys, out)

    # ---------------------------------------------------------------- reductions and scans along given axes

    def total(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum over axes."""
        return self.xp.sum(x, axis=axis)

    def max(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Largest value over axes."""
        return self.xp.max(x, axis=axis)

    def min(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Smallest value over axes."""
        return self.xp.min(x, axis=axis)

    def any(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Whether any is true over axes."""
        return self.xp.any(x, axis=axis)

    def all(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Whether all are true over axes."""
        return self.xp.all(x, axis=axis)

    def argmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """First position of the largest value along one axis."""
        return self.xp.argmax(x, axis=axis[0])

    def argmin(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """First position of the smallest value along one axis."""
        return self.xp.argmin(x, axis=axis[0])

    def cumsum(self, x: Raw, axis: int) -> Raw:
        """Cumulative sum."""
        return self.xp.cumsum(x, axis=axis)

    # ---------------------------------------------------------------- movement along one axis

    def flip(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Reversed order."""
        return self.xp.flip(x, axis=axis)

    def roll(self, x: Raw, axis: tuple[int, ...], shift: tuple[int, ...]) -> Raw:
        """Cyclic shift."""
        return self.xp.roll(x, shift, axis=axis)

    def cut(self, x: Raw, axis: int, index: slice | int) -> Raw:
        """A slice, or one position, of one axis."""
        return x[(slice(None),) * axis + (index,)]

    def uncut(self, g: Raw, axis: int, index: slice | int, size: int) -> Raw:
        """The transpose of :meth:`cut`: zeros of ``size`` along the axis with ``g`` put at ``index``."""
        shape = list(g.shape)
        if isinstance(index, slice):
            shape[axis] = size
        else:
            shape.insert(axis, size)
        out = self.xp.zeros(tuple(shape), dtype=g.dtype)
        out[(slice(None),) * axis + (index,)] = g
        return out

    def concat(self, *parts: Raw, axis: int) -> Raw:
        """Joined along an axis."""
        return self.xp.concatenate(parts, axis=axis)

    # ---------------------------------------------------------------- linear algebra on the last two axes

    def cholesky(self, a: Raw) -> Raw:
        """Lower Cholesky factors."""
        return self.xp.linalg.cholesky(a)

    def solve(self, a: Raw, b: Raw) -> Raw:
        """``a x = b`` for matrices of right-hand sides; leading axes broadcast."""
        return self.xp.linalg.solve(a, b)

    # ---------------------------------------------------------------- gather and scatter on trailing core axes

    def take(self, x: Raw, index: Raw, axis: int) -> Raw:
        """Positions of one axis."""
        return self.xp.take(x, index, axis=axis)

    def gather(self, x: Raw, *index: Raw, shared: int) -> Raw:
        """``x[b, i1[b, ...], ..., ik[b, ...]]``: k trailing axes of ``x`` are indexed, ``shared`` leading ones are met.

        ``x`` has shape ``(shared..., own..., n1..nk)``, each index ``(shared..., new...)`` (missing leading axes
        broadcast), the result ``(shared..., own..., new...)``.
        """
        if not shared:
            return x[(..., *index)]
        return x[self._full_index(x.shape, index, shared)]

    def scatter_add(self, g: Raw, *index: Raw, shared: int, sizes: Shape) -> Raw:
        """The transpose of :meth:`gather`: duplicates accumulate."""
        new = self._new_ndim(index, shared)
        shape = (*g.shape[: g.ndim - new], *sizes)
        out = self.xp.zeros(shape, dtype=g.dtype)
        full = self._full_index(shape, index, shared) if shared else (..., *index)
        self.add_at(out, full, g)
        return out

    def scatter_max(self, g: Raw, *index: Raw, shared: int, sizes: Shape) -> Raw:
        """Like :meth:`scatter_add`, the largest writer wins over zeros."""
        new = self._new_ndim(index, shared)
        shape = (*g.shape[: g.ndim - new], *sizes)
        out = self.xp.zeros(shape, dtype=g.dtype)
        full = self._full_index(shape, index, shared) if shared else (..., *index)
        self.xp.maximum.at(out, full, g)
        return out

    def wrap_index(self, index: Raw, size: int) -> Raw:
        """Negative positions counted from the end."""
        return self.xp.where(index < 0, index + size, index)

    def add_at(self, out: Raw, index: tuple[Any, ...], value: Raw) -> None:
        """Accumulate in place."""
        self.xp.add.at(out, index, value)

    def _new_ndim(self, index: Sequence[Raw], shared: int) -> int:
        return max(i.ndim for i in index) - shared

    def _full_index(self, shape: Shape, index: Sequence[Raw], shared: int) -> tuple[Raw, ...]:
        """Index arrays for the shared axes, so that they are met instead of crossed; own axes become explicit too."""
        k, new = len(index), self._new_ndim(index, shared)
        own = len(shape) - k - shared
        total = shared + own + new
        full: list[Raw] = []
        for position in range(shared + own):
            at = [1] * total
            at[position] = shape[position]
            full.append(self.xp.arange(shape[position]).reshape(tuple(at)))
        for i in index:
            full.append(i.reshape((*i.shape[:shared], *(1,) * own, *i.shape[shared:])))
        return tuple(full)
