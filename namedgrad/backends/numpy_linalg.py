"""Linear algebra on NumPy arrays: LAPACK through NumPy where it takes stacks, else SciPy, a matrix at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.backends import numpy_triangular as triangular
from namedgrad.backends.linalg import LinalgKernels

Raw = np.ndarray[Any, Any]
NEAR, NODES, MOST_ROOTS = 0.7, 16, 100  #: so near to 1 Padé's approximant of log is exact (Higham 2008, table 11.1)
WELL = 1e6  #: condition up to which cofactors come from the inverse


class NumpyLinalg(LinalgKernels):
    """Kernels that raise for the matrices that cannot be done, or go on without them."""

    def cholesky(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(np.linalg.cholesky, errors, a)

    def solve(self, a: Raw, b: Raw, errors: str = "raise") -> Raw:
        return _salvaged(np.linalg.solve, errors, a, b)

    def inv(self, a: Raw, errors: str = "raise") -> Raw:
        half = triangular.half(a)
        return _salvaged(np.linalg.inv, errors, a) if half is None else triangular.inverse_of(a, half, errors)

    def pinv(self, a: Raw, rtol: float | None, errors: str = "raise") -> Raw:
        return _salvaged(lambda a: super(NumpyLinalg, self).pinv(a, rtol), errors, a)

    def triangular_solve(self, a: Raw, b: Raw, lower: bool, unit: bool, errors: str = "raise") -> Raw:
        return triangular.solve(a, b, lower, unit, errors)

    def cholesky_gradient(self, y: Raw, g: Raw, errors: str = "raise") -> Raw:
        with np.errstate(all="ignore"):
            return triangular.cholesky_gradient(y, g)

    def cholesky_tangent(self, y: Raw, t: Raw, errors: str = "raise") -> Raw:
        with np.errstate(all="ignore"):
            return triangular.cholesky_tangent(y, t)

    def qr_packed(self, a: Raw, complete: bool, errors: str = "raise") -> Raw:
        return _salvaged(lambda a: super(NumpyLinalg, self).qr_packed(a, complete), errors, a)

    def eigh_packed(self, a: Raw, lower: bool = True, errors: str = "raise") -> Raw:
        return _salvaged(lambda a: super(NumpyLinalg, self).eigh_packed(a, lower), errors, a)

    def eigvalsh(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().eigvalsh, errors, a)

    def eigvals(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().eigvals, errors, a)

    def svdvals(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().svdvals, errors, a)

    def eig_packed(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().eig_packed, errors, a)

    def svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().svd_packed, errors, a)

    def full_svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        return _salvaged(super().full_svd_packed, errors, a)

    def lu_factored(self, a: Raw, errors: str = "raise") -> Raw:
        from scipy.linalg import lu

        if not a.size:  # SciPy loses the sizes of an empty batch
            return super().lu_factored(a)
        p, low, up = lu(a, p_indices=True, check_finite=False)
        k = min(a.shape[-2:])
        return self._with_order(low, up[..., :k], np.argsort(p, axis=-1))

    def slogdet_packed(self, a: Raw, errors: str = "raise") -> Raw:
        if triangular.half(a) is None or not np.isfinite(a).all():  # the other half is as missing as the diagonal
            return super().slogdet_packed(a)
        values = np.diagonal(a, axis1=-2, axis2=-1)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(values)).sum(-1)
        return np.stack([np.sign(values).prod(-1), size.astype(a.dtype)], axis=-1)

    def cofactor(self, a: Raw, errors: str = "raise") -> Raw:
        try:
            x = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return _of_finite(super().cofactor, a)
        det = np.linalg.det(a)
        out = det[..., None, None] * np.swapaxes(x, -1, -2)
        condition = np.abs(a).sum(-1).max(-1, initial=0) * np.abs(x).sum(-1).max(-1, initial=0)
        known = (condition < WELL) & (det != 0) & np.isfinite(det)  # it may be out of range where cofactors are not
        bad = ~known & np.isfinite(a).all((-1, -2))
        if bad.any():
            out[bad] = super().cofactor(a[bad])
        return out

    def cofactor_along(self, a: Raw, t: Raw, errors: str = "raise") -> Raw:
        return _of_finite(super().cofactor_along, *np.broadcast_arrays(a, t))

    def cofactor_twice(self, a: Raw, t: Raw, u: Raw, errors: str = "raise") -> Raw:
        return _of_finite(super().cofactor_twice, *np.broadcast_arrays(a, t, u))

    def expm(self, a: Raw, errors: str = "raise") -> Raw:
        from scipy.linalg import expm

        return expm(a)

    def sqrtm(self, a: Raw, errors: str = "raise") -> Raw:
        import scipy
        from scipy.linalg import sqrtm

        stacks = np.lib.NumpyVersion(scipy.__version__) >= "1.16.0"
        return _of_finite(lambda a: _function(sqrtm, a, stacks), a)

    def logm(self, a: Raw, errors: str = "raise") -> Raw:
        return _of_finite(self._logarithm, a)

    def _logarithm(self, a: Raw) -> Raw:
        """Square roots until the rest is near 1, then Padé's approximant by quadrature (Higham 2008, section 11.5)."""
        x, far = a, np.ones(a.shape[:-2], dtype=bool)
        times = np.zeros(a.shape[:-2])
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        for _ in range(MOST_ROOTS):
            far = np.abs(x - eye).sum(-2).max(-1, initial=0) > NEAR
            if not far.any():
                break
            roots = self.sqrtm(x[far])
            x = x.astype(roots.dtype)
            x[far] = roots
            times[far] += 1
        rest = np.where(far[..., None, None], 0, x - eye)
        t, w = np.polynomial.legendre.leggauss(NODES)
        t, w = (v.reshape(-1, *(1,) * a.ndim) for v in ((1 + t) / 2, w / 2))
        out = (w * np.linalg.solve(eye + t * rest, rest)).sum(0) * 2.0 ** times[..., None, None]
        out = out.astype(x.dtype)
        return _with_singular(out, a, far) if far.any() else out


# ------------------------------------------------------------------------------------------------ a matrix at a time


def _listed(arrays: Sequence[Raw]) -> tuple[tuple[int, ...], list[Raw]]:
    """The shape of several stacks of matrices together, and each as one line of them."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    flat = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in arrays)
    return batch, [x.reshape(math.prod(batch), *x.shape[-2:]) for x in flat]


def _each(f: Callable[..., Raw], *arrays: Raw, shape: Sequence[int]) -> Raw:
    """``f`` of the matrices of several stacks: the one place with a loop, for what LAPACK and SciPy do one by one."""
    batch, flat = _listed(arrays)
    if not batch:
        return f(*(x[0] for x in flat))
    found = [f(*several) for several in zip(*flat, strict=True)]
    out = np.stack(found) if found else np.empty((0, *shape), np.result_type(*arrays))
    return out.reshape(*batch, *shape)


def _of_finite(f: Callable[..., Raw], *arrays: Raw) -> Raw:
    """``f`` of the matrices that are finite; NaN for others, of which LAPACK and SciPy make nothing."""
    fine = np.logical_and.reduce([np.isfinite(x).all((-1, -2)) for x in arrays])
    if fine.all():
        return f(*arrays)
    found = f(*(x[fine] for x in arrays))
    out = np.full(arrays[0].shape, np.nan, found.dtype)
    out[fine] = found
    return out


def _with_singular(out: Raw, a: Raw, where: Raw) -> Raw:
    """What SciPy makes of the matrices that have no logarithm, or hardly one."""
    from scipy.linalg import logm

    found = _function(logm, a[where])
    out = out.astype(np.result_type(out, found))
    out[where] = found
    return out


def _function(f: Callable[[Raw], Raw], a: Raw, stacks: bool = False) -> Raw:
    """A function of matrices, or of stacks of them, real where all results are."""
    if not a.size:
        return a.copy()
    with np.errstate(all="ignore"):
        out = f(a) if stacks else _each(lambda x: np.asarray(f(x)), a, shape=a.shape[-2:])
    dtype = np.result_type(a.dtype, np.complex64) if out.dtype.kind == "c" else a.dtype
    return out.astype(dtype)


# ------------------------------------------------------------------------------------------------ failures


def _salvaged(f: Callable[..., Raw], errors: str, *arrays: Raw) -> Raw:
    """``f`` of stacks of matrices; with ``errors="nan"`` those that fail are found by bisection."""
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        if errors != "nan":
            raise
    batch, flat = _listed(arrays)
    out = _bisected(f, flat)
    return out.reshape(*batch, *out.shape[1:])


def _bisected(f: Callable[..., Raw], arrays: Sequence[Raw]) -> Raw:
    count = len(arrays[0])
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        if count == 1:
            first = np.broadcast_to(np.eye(*arrays[0].shape[-2:], dtype=arrays[0].dtype), arrays[0].shape)
            return np.full_like(f(first, *arrays[1:]), math.nan)
    half = count // 2
    return np.concatenate([_bisected(f, [x[:half] for x in arrays]), _bisected(f, [x[half:] for x in arrays])])
