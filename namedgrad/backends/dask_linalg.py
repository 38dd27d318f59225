"""Linear algebra on dask arrays: the last two axes are joined to whole matrices, stacks stay in their chunks."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from namedgrad.axes import Names
from namedgrad.backends.dask_chunks import Kernel
from namedgrad.backends.failures import MatrixError, bad_matrices, called
from namedgrad.backends.linalg import LinalgKernels

Raw = Any


def _of_its_shape(name: str) -> Any:
    """A kernel of one stack of matrices whose result has its shape."""

    def kernel(self: DaskLinalg, a: Raw, errors: str = "raise") -> Raw:
        return self._stack(name, a.shape[-2:], a, errors=errors)

    return kernel


class DaskLinalg(LinalgKernels):
    """NumPy's kernels on chunks of stacks."""

    cholesky, cofactor, inv, mirrored = map(_of_its_shape, ("cholesky", "cofactor", "inv", "mirrored"))
    expm, logm, sqrtm = map(_of_its_shape, ("expm", "logm", "sqrtm"))

    def pinv(self, a: Raw, rtol: float | None, errors: str = "raise") -> Raw:
        return self._stack("pinv", a.shape[:-3:-1], a, rtol=rtol, errors=errors)

    def qr_packed(self, a: Raw, complete: bool, errors: str = "raise") -> Raw:
        m, n = a.shape[-2:]
        return self._stack("qr_packed", (m if complete else min(m, n), m + n), a, complete=complete, errors=errors)

    def lu_factored(self, a: Raw, errors: str = "raise") -> Raw:
        m, n = a.shape[-2:]
        k = min(m, n)
        return self._stack("lu_factored", (k + 1, m + k), a, errors=errors)

    def eigh_packed(self, a: Raw, lower: bool = True, errors: str = "raise") -> Raw:
        return self._stack("eigh_packed", (a.shape[-1] + 1, a.shape[-1]), a, lower=lower, errors=errors)

    def eig_packed(self, a: Raw, errors: str = "raise") -> Raw:
        dtype = np.result_type(a.dtype, np.complex64)
        return self._stack("eig_packed", (a.shape[-1] + 1, a.shape[-1]), a, dtype=dtype, errors=errors)

    def svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        m, n = a.shape[-2:]
        return self._stack("svd_packed", (m + n + 1, min(m, n)), a, errors=errors)

    def full_svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        m, n = a.shape[-2:]
        return self._stack("full_svd_packed", (m + n + 1, max(m, n)), a, errors=errors)

    def det(self, a: Raw, errors: str = "raise") -> Raw:
        return self._stack("det", (), a, errors=errors)

    def slogdet_packed(self, a: Raw, errors: str = "raise") -> Raw:
        return self._stack("slogdet_packed", (2,), a, errors=errors)

    def eigvalsh(self, a: Raw, errors: str = "raise") -> Raw:
        return self._stack("eigvalsh", a.shape[-1:], a, dtype=a.real.dtype, errors=errors)

    def eigvals(self, a: Raw, errors: str = "raise") -> Raw:
        dtype = np.result_type(a.dtype, np.complex64)
        return self._stack("eigvals", a.shape[-1:], a, dtype=dtype, errors=errors)

    def svdvals(self, a: Raw, errors: str = "raise") -> Raw:
        return self._stack("svdvals", (min(a.shape[-2:]),), a, dtype=a.real.dtype, errors=errors)

    def cofactor_along(self, a: Raw, t: Raw, errors: str = "raise") -> Raw:
        return self._square("cofactor_along", a, t, errors=errors)

    def cofactor_twice(self, a: Raw, t: Raw, u: Raw, errors: str = "raise") -> Raw:
        return self._square("cofactor_twice", a, t, u, errors=errors)

    def cholesky_gradient(self, y: Raw, g: Raw, errors: str = "raise") -> Raw:
        return self._square("cholesky_gradient", y, g, errors=errors)

    def cholesky_tangent(self, y: Raw, t: Raw, errors: str = "raise") -> Raw:
        return self._square("cholesky_tangent", y, t, errors=errors)

    def solve(self, a: Raw, b: Raw, errors: str = "raise") -> Raw:
        return self._pair("solve", a, b, errors=errors)

    def triangular_solve(self, a: Raw, b: Raw, lower: bool, unit: bool, errors: str = "raise") -> Raw:
        return self._pair("triangular_solve", a, b, lower=lower, unit=unit, errors=errors)

    def _stack(self, name: str, shape: tuple[int, ...], a: Raw, *, dtype: Any = None, **how: Any) -> Raw:
        """One kernel of one stack of matrices; ``shape`` takes the place of the last two axes."""
        axes = tuple(f"o{k}" for k in range(len(shape)))
        a = a.rechunk({-2: -1, -1: -1})
        return da.apply_gufunc(
            _located(name, a, how),
            f"(i,j),()->({','.join(axes)})",
            a,
            _numbers(a),
            meta=np.empty((0,) * (a.ndim - 2 + len(shape)), dtype or a.dtype),
            output_sizes=dict(zip(axes, map(int, shape), strict=True)),
        )

    def _square(self, name: str, *operands: Raw, **how: Any) -> Raw:
        """One kernel of several stacks of square matrices."""
        a, *others = _together(*(self.asarray(x).rechunk({-2: -1, -1: -1}) for x in operands))
        signature = ",".join(["(i,j)"] * len(operands))
        dtype = np.result_type(a, *others)
        return da.apply_gufunc(
            _located(name, a, how), f"{signature},()->(i,j)", a, *others, _numbers(a), output_dtypes=dtype
        )

    def _pair(self, name: str, a: Raw, b: Raw, **how: Any) -> Raw:
        """Matrices and matrices of columns, which keep their chunks."""
        a, b = _together(self.asarray(a).rechunk({-2: -1, -1: -1}), self.asarray(b).rechunk({-2: -1}))
        by_rows = functools.partial(_by_rows, solve=_located(name, a, how))
        columns, numbers, dtype = da.swapaxes(b, -1, -2), _numbers(a)[..., None], np.result_type(a, b)
        out = da.apply_gufunc(by_rows, "(i,j),(j),()->(i)", a[..., None, :, :], columns, numbers, output_dtypes=dtype)
        return da.swapaxes(out, -1, -2)


def _together(*operands: Raw) -> list[Raw]:
    """The same with the same chunks along the axes of stacks."""
    labels = (_axes(x, f"{k}i {k}j".split()) for k, x in enumerate(operands))
    return list(da.core.unify_chunks(*itertools.chain.from_iterable(zip(operands, labels, strict=True)))[1])


def _axes(a: Raw, core: Sequence[str]) -> tuple[Any, ...]:
    """Labels of the axes: those of stacks are counted from the last."""
    return (*range(a.ndim - 3, -1, -1), *core)


def _numbers(a: Raw) -> Raw:
    """Which matrix of the stack is which, in the same chunks."""
    shape = a.shape[:-2]
    return da.arange(math.prod(shape), chunks=-1).reshape(shape).rechunk(a.chunks[:-2])


def _located(name: str, a: Raw, how: dict[str, Any]) -> Any:
    """A kernel of chunks that knows where in the whole stack they are, should it have to say so."""
    from namedgrad.backends import NUMPY

    f = NUMPY.function(name)
    what, names = called()
    shape = a.shape[:-2]
    names = (*names, *(f"axis {k}" for k in range(len(names), len(shape))))[: len(shape)]
    kernel, salvaging = Kernel(f, **how), Kernel(f, **how | {"errors": "nan"})
    return functools.partial(_call, kernel, salvaging, what=what or name, names=names, shape=shape)


def _call(kernel: Any, salvaging: Any, *chunks: Raw, what: str, names: Names, shape: tuple[int, ...]) -> Raw:
    *matrices, at = chunks
    try:
        return kernel(*matrices)
    except np.linalg.LinAlgError as error:
        found = np.isnan(salvaging(*matrices))
        flags = found.any(axis=tuple(range(at.ndim, found.ndim)))
        bad = bad_matrices(flags, np.broadcast_to(at, flags.shape), names, shape) if shape else None
        raise MatrixError(what, str(error), bad) from None


def _by_rows(a: Raw, b: Raw, at: Raw, solve: Any) -> Raw:
    """Right-hand sides as rows; ``a`` has an axis of size 1 in their place."""
    return np.swapaxes(solve(a[..., 0, :, :], np.swapaxes(b, -1, -2), at[..., 0]), -1, -2)
