"""Linear algebra on CuPy arrays: CuPy raises no error where a matrix cannot be done, and leaves arbitrary numbers.

Here each result is checked on the device.  What fails is NaN; with ``errors="raise"`` one flag per kernel is read, for
which the host waits, and with ``errors="nan"`` nothing is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.linalg import LinalgKernels

Raw = Any


class CupyLinalg(LinalgKernels):
    """Kernels that raise, or give NaN, for the matrices for which NumPy's raise."""

    def cholesky(self, a: Raw, errors: str = "raise") -> Raw:
        """Lower Cholesky factors."""
        xp = self.xp
        factor = xp.linalg.cholesky(a)
        v = xp.ones((a.shape[-1], 1), dtype=a.dtype)
        # L L^H v = A v for one v tells a factor from what a failed factorisation leaves behind; the bound is the
        # componentwise backward error of Cholesky's method (Higham 2002, theorem 10.3).
        adjoint = self._adjoint(factor)
        whole = self.matmul(xp.tril(a), v) + self.matmul(self._adjoint(xp.tril(a, -1)), v)
        error = xp.absolute(whole - self.matmul(factor, self.matmul(adjoint, v)))
        bound = self.matmul(xp.absolute(factor), self.matmul(xp.absolute(adjoint), xp.absolute(v)))
        pivots = xp.real(xp.diagonal(factor, axis1=-2, axis2=-1))[..., None]  # a last one of 0 leaves a factor, too
        right = xp.all(self._small(error, bound, a) & (pivots > 0), axis=(-2, -1), keepdims=True)
        if errors == "raise":
            self._told(right | ~self._finite(xp.tril(a)), "Matrix is not positive definite")
        return self._where_right(right, factor)

    def solve(self, a: Raw, b: Raw, errors: str = "raise") -> Raw:
        """``a x = b`` for matrices of right-hand sides, which have the batch dims of either."""
        xp = self.xp
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = xp.broadcast_to(a, (*batch, *a.shape[-2:]))
        b = xp.broadcast_to(b, (*batch, *b.shape[-2:]))
        if not b.size:  # CuPy divides by the number of right-hand sides
            return xp.zeros(b.shape, np.result_type(a.dtype, b.dtype, np.float32))
        x = xp.linalg.solve(a, b)
        # Elimination with pivoting leaves a small residual, however ill-conditioned the matrix is.
        error = xp.max(xp.absolute(self.matmul(a, x) - b), axis=-2, keepdims=True)
        bound = xp.max(self.matmul(xp.absolute(a), xp.absolute(x)) + xp.absolute(b), axis=-2, keepdims=True)
        right = self._small(error, bound, a)
        if errors == "raise":  # a cell that is not finite makes NaN, but no matrix singular
            self._told(right | ~self._finite(a) | ~self._finite(b), "Singular matrix")
        return self._where_right(right, x)

    def inv(self, a: Raw, errors: str = "raise") -> Raw:
        """Inverses."""
        eye = self.xp.eye(a.shape[-1], dtype=a.dtype)
        return self.solve(a, self.xp.broadcast_to(eye, a.shape), errors) if a.size else a

    def pinv(self, a: Raw, rtol: float | None, errors: str = "raise") -> Raw:
        """Pseudoinverses."""
        return self._of_finite(lambda a: LinalgKernels.pinv(self, a, rtol), a, errors, _SVD)

    def eigh_packed(self, a: Raw, lower: bool = True, errors: str = "raise") -> Raw:
        """Vectors, and the values in a last row."""
        half = self.xp.tril(a) if lower else self.xp.triu(a)
        return self._of_finite(lambda a: LinalgKernels.eigh_packed(self, a, lower), half, errors, _EIGH)

    def eigvalsh(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone."""
        return self._of_finite(super().eigvalsh, self.xp.tril(a), errors, _EIGH)

    def eig_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """Vectors, and the values in a last row, complex."""
        return self._of_finite(super().eig_packed, a, errors, _EIG)

    def eigvals(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone, complex."""
        return self._of_finite(super().eigvals, a, errors, _EIG)

    def svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """U, the values in a row, V."""
        return self._of_finite(super().svd_packed, a, errors, _SVD)

    def full_svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """The same with square U and V."""
        return self._of_finite(super().full_svd_packed, a, errors, _SVD)

    def svdvals(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone."""
        return self._of_finite(super().svdvals, a, errors, _SVD)

    def qr_packed(self, a: Raw, complete: bool, errors: str = "raise") -> Raw:
        """``(Q^T, R)`` side by side."""
        return self._of_finite(lambda a: LinalgKernels.qr_packed(self, a, complete), a)

    def cofactor(self, a: Raw, errors: str = "raise") -> Raw:
        """Cofactors, from singular values."""
        return self._of_finite(super().cofactor, a)

    def cofactor_along(self, a: Raw, t: Raw, errors: str = "raise") -> Raw:
        """The derivative of the cofactors in a direction."""
        return self._of_finite(lambda a: LinalgKernels.cofactor_along(self, a, t), a)

    def cofactor_twice(self, a: Raw, t: Raw, u: Raw, errors: str = "raise") -> Raw:
        """Their second derivative in two directions."""
        return self._of_finite(lambda a: LinalgKernels.cofactor_twice(self, a, t, u), a)

    # ---------------------------------------------------------------- failures

    def _of_finite(self, f: Callable[[Raw], Raw], a: Raw, errors: str = "nan", reason: str = "") -> Raw:
        """``f`` of the matrices that are finite: others may give anything."""
        finite = self._finite(a)
        if errors == "raise":
            self._told(finite, reason)
        out = f(self.xp.where(finite, a, self.xp.zeros((), dtype=a.dtype)))
        return self._where_right(finite if out.ndim == finite.ndim else finite[..., 0], out)

    def _finite(self, a: Raw) -> Raw:
        return self.xp.all(self.xp.isfinite(a), axis=(-2, -1), keepdims=True)

    def _small(self, error: Raw, bound: Raw, a: Raw) -> Raw:
        """Far above the rounding of a factorisation of ``a``, far below an arbitrary result."""
        kind = a.dtype if a.dtype.kind in "fc" else np.dtype(float)
        return self.xp.isfinite(error) & (error <= 100 * a.shape[-1] * float(np.finfo(kind).eps) * bound)

    def _told(self, right: Raw, reason: str) -> None:
        """The error of NumPy unless all is right: the flag that is waited for."""
        if not bool(self.xp.all(right)):
            raise np.linalg.LinAlgError(reason)

    def _where_right(self, right: Raw, x: Raw) -> Raw:
        return self.xp.where(right, x, np.nan).astype(x.dtype)


_SVD, _EIGH, _EIG = "SVD did not converge", "Eigenvalues did not converge", "Array must not contain infs or NaNs"
