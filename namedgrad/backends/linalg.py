"""Kernels of linear algebra on the last two axes.

Several results of one factorisation come packed in one matrix, so that a rule sees the cotangents of all of them.
``errors="nan"`` gives NaN for the matrices that cannot be done, and for those alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any


class LinalgKernels(Kernels):
    """For every backend whose namespace has NumPy's ``linalg``."""

    def cholesky(self, a: Raw, errors: str = "raise") -> Raw:
        """Lower Cholesky factors."""
        return self.xp.linalg.cholesky(a)

    def solve(self, a: Raw, b: Raw, errors: str = "raise") -> Raw:
        """``a x = b`` for matrices of right-hand sides."""
        return self.xp.linalg.solve(a, b)

    def inv(self, a: Raw, errors: str = "raise") -> Raw:
        """Inverses."""
        return self.xp.linalg.inv(a)

    def mirrored(self, a: Raw, errors: str = "raise") -> Raw:
        """Symmetric (Hermitian) matrices of which the lower triangle is read."""
        xp = self.xp
        low = xp.tril(a, -1)
        return low + self._adjoint(low) + xp.where(xp.eye(a.shape[-1], dtype=bool), xp.real(a), 0)

    def pinv(self, a: Raw, rtol: float | None, errors: str = "raise") -> Raw:
        """Pseudoinverses."""
        xp = self.xp
        if 0 in a.shape:
            return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype=a.dtype)
        q = None
        if a.shape[-2] > a.shape[-1]:  # the singular values of R are those of QR
            q, a = xp.linalg.qr(a)
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        u = u if q is None else xp.matmul(q, u)
        part = max(u.shape[-2], vh.shape[-1]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
        large = s > part * xp.max(s, axis=-1, keepdims=True)
        inverse = xp.where(large, 1 / xp.where(large, s, 1), 0).astype(a.dtype)
        return xp.matmul(self._adjoint(vh) * inverse[..., None, :], self._adjoint(u))

    def triangular_solve(self, a: Raw, b: Raw, lower: bool, unit: bool, errors: str = "raise") -> Raw:
        """``a x = b`` with one triangle of ``a``."""
        xp = self.xp
        a = (xp.tril if lower else xp.triu)(a, (-1 if lower else 1) if unit else 0)
        if unit:
            a = a + xp.eye(a.shape[-1], dtype=a.dtype)
        return self.solve(a, b, errors)

    def triangle(self, x: Raw, axes: tuple[int, int], lower: bool, k: int) -> Raw:
        """The k-th diagonal along two axes and what is below (above) it; exactly 0 elsewhere, whatever stands there.

        Positions of 2 bytes are compared four times as fast as those of 8, which takes as long as the rest.
        """
        (row, column), (rows, columns) = axes, (x.shape[a] for a in axes)
        k = max(-rows, min(k, columns))
        small = np.min_scalar_type(-rows - columns - 1)
        i, j = (self.xp.arange(*ends, dtype=small) for ends in ((k, rows + k), (0, columns)))
        i, j = (i[:, None], j) if row < column else (i, j[:, None])
        inside = i >= j if lower else i <= j
        between, behind = abs(column - row) - 1, x.ndim - 1 - max(axes)
        inside = inside.reshape(inside.shape[0], *(1,) * between, inside.shape[1], *(1,) * behind)
        return self.xp.where(inside, x, self.xp.zeros((), dtype=x.dtype))

    # ---------------------------------------------------------------- factors

    def cholesky_gradient(self, y: Raw, g: Raw, errors: str = "raise") -> Raw:
        """The gradient with respect to the symmetrised matrix, given that of the factor: Murray (2016), eq. 9."""
        xp = self.xp
        p = xp.tril(xp.matmul(self._adjoint(y), g))
        p = p * (1 - xp.eye(p.shape[-1], dtype=p.dtype) / 2)
        p = (p + self._adjoint(p)) / 2
        y = self._adjoint(y)
        x = self._adjoint(self.triangular_solve(y, p, lower=False, unit=False, errors="nan"))
        return self.triangular_solve(y, x, lower=False, unit=False, errors="nan")

    def cholesky_tangent(self, y: Raw, t: Raw, errors: str = "raise") -> Raw:
        """The tangent of the factor, given that of a matrix, which is symmetrised: Murray (2016), eq. 8."""
        xp = self.xp
        t = (t + self._adjoint(t)) / 2
        x = self._adjoint(self.triangular_solve(y, t, lower=True, unit=False, errors="nan"))
        x = xp.tril(self.triangular_solve(y, x, lower=True, unit=False, errors="nan"))
        return xp.matmul(y, x * (1 - xp.eye(x.shape[-1], dtype=x.dtype) / 2))

    def qr_packed(self, a: Raw, complete: bool, errors: str = "raise") -> Raw:
        """``(Q^T, R)`` side by side."""
        xp = self.xp
        q, r = xp.linalg.qr(a, mode="complete" if complete else "reduced")
        return xp.concatenate([xp.swapaxes(q, -1, -2), r], axis=-1)

    def lu_factored(self, a: Raw, errors: str = "raise") -> Raw:
        """``(L^T, U)`` of the leading columns side by side, and the order of the rows, in a last row."""
        order = self._pivots(a)
        k = min(a.shape[-2:])
        rows = self.xp.take_along_axis(a, self.xp.broadcast_to(order[..., None], a.shape), axis=-2)
        return self._with_order(*self._eliminated(rows[..., :k]), order)

    def _with_order(self, low: Raw, up: Raw, order: Raw) -> Raw:
        k, m = up.shape[-1], order.shape[-1]
        out = self.xp.zeros((*up.shape[:-2], k + 1, m + k), dtype=up.dtype)
        out[..., :k, :m] = self.xp.swapaxes(low, -1, -2)
        out[..., :k, m:] = up
        out[..., k, :m] = order
        return out

    def lstsq_known(self, a: Raw, b: Raw, inverse: Raw) -> Raw:
        """Solutions of columns, of matrices whose pseudoinverse is known."""
        return self.xp.matmul(inverse, b)

    def known(self, *operands: Raw, **_: Any) -> Raw:
        """A result that was found before and is given last: what is left to do is the derivative there."""
        return operands[-1]

    def _eliminated(self, a: Raw) -> tuple[Raw, Raw]:
        """L and U by outer products, a column at a time (Golub and Van Loan 2013, algorithm 3.2.1)."""
        xp = self.xp
        n = a.shape[-1]
        low = xp.zeros_like(a) + xp.eye(*a.shape[-2:], dtype=a.dtype)
        for k in range(n):
            factor = self._multiples(a, k)
            low[..., k + 1 :, k] = factor
            a = a - self._below(factor, a[..., k, :], k)
        return low, xp.triu(a[..., :n, :])

    def _multiples(self, a: Raw, k: int) -> Raw:
        """What to subtract of a row from each below; nothing of one whose pivot is 0, with 0 below it, as in LAPACK."""
        pivot = a[..., k, k][..., None]
        return self.xp.where(pivot == 0, 0, a[..., k + 1 :, k] / self.xp.where(pivot == 0, 1, pivot))

    def _below(self, factor: Raw, row: Raw, k: int) -> Raw:
        xp = self.xp
        zeros = xp.zeros((*factor.shape[:-1], k + 1), dtype=factor.dtype)
        return xp.concatenate([zeros, factor], axis=-1)[..., :, None] * row[..., None, :]

    def _pivots(self, a: Raw) -> Raw:
        """Rows in the order in which elimination with partial pivoting takes them."""
        xp = self.xp
        m, n = a.shape[-2:]
        order = xp.broadcast_to(xp.arange(m), a.shape[:-1])
        for k in range(min(m - 1, n)):
            best = k + xp.argmax(xp.absolute(a[..., k:, k]), axis=-1)[..., None]
            rows = xp.broadcast_to(xp.arange(m), order.shape)
            swap = xp.where(rows == k, best, xp.where(rows == best, k, rows))
            order = xp.take_along_axis(order, swap, axis=-1)
            a = xp.take_along_axis(a, xp.broadcast_to(swap[..., None], a.shape), axis=-2)
            a = a - self._below(self._multiples(a, k), a[..., k, :], k)
        return order

    # ---------------------------------------------------------------- eigenvalues and singular values

    def eigh_packed(self, a: Raw, lower: bool = True, errors: str = "raise") -> Raw:
        """Vectors, and the values in a last row; one triangle is read."""
        return self._stacked(*self.xp.linalg.eigh(a, "L" if lower else "U")[::-1])

    def eigvalsh(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone, for which nobody asks the vectors."""
        return self.xp.linalg.eigvalsh(a)

    def eigvals(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone, complex."""
        return self.xp.linalg.eigvals(a).astype(np.result_type(a.dtype, np.complex64))

    def svdvals(self, a: Raw, errors: str = "raise") -> Raw:
        """Values alone."""
        return self.xp.linalg.svd(a, compute_uv=False)

    def eig_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """Vectors, and the values in a last row, complex."""
        w, v = self.xp.linalg.eig(a)
        dtype = np.result_type(a.dtype, np.complex64)
        return self._stacked(v.astype(dtype), w.astype(dtype))

    def svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """U, the values in a row, V."""
        u, s, vh = self.xp.linalg.svd(a, full_matrices=False)
        return self._stacked(u, s, self._adjoint(vh))

    def full_svd_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """The same with square U and V; what is too narrow is filled with zeros."""
        xp = self.xp
        u, s, vh = xp.linalg.svd(a, full_matrices=True)
        k = max(a.shape[-2:])

        def widened(x: Raw) -> Raw:
            return xp.concatenate([x, xp.zeros((*x.shape[:-1], k - x.shape[-1]), dtype=x.dtype)], axis=-1)

        return self._stacked(*map(widened, (u, s, self._adjoint(vh))))

    def _stacked(self, u: Raw, s: Raw, *v: Raw) -> Raw:
        return self.xp.concatenate([u, s[..., None, :].astype(u.dtype), *v], axis=-2)

    def _adjoint(self, a: Raw) -> Raw:
        return self.xp.conj(self.xp.swapaxes(a, -1, -2))

    # ---------------------------------------------------------------- determinants

    def det(self, a: Raw, errors: str = "raise") -> Raw:
        """Determinants."""
        return self.xp.linalg.det(a)

    def slogdet_packed(self, a: Raw, errors: str = "raise") -> Raw:
        """Their signs, and the logarithms of their absolute values, along a last axis."""
        return self.xp.stack([x.astype(a.dtype) for x in self.xp.linalg.slogdet(a)], axis=-1)

    def cofactor(self, a: Raw, errors: str = "raise") -> Raw:
        """Cofactors, from singular values: right for singular matrices (Stewart 1998, *On the adjugate matrix*)."""
        xp = self.xp
        u, s, vh = xp.linalg.svd(a)
        rest = self._exclusive(s)
        phase = xp.linalg.det(u) * xp.linalg.det(vh)
        return phase[..., None, None] * xp.matmul(xp.conj(u) * rest[..., None, :].astype(a.dtype), xp.conj(vh))

    def cofactor_along(self, a: Raw, t: Raw, errors: str = "raise") -> Raw:
        """The derivative of the cofactors in a direction, by the same decomposition."""
        return self._by_values(self._first_change, a, t)

    def cofactor_twice(self, a: Raw, t: Raw, u: Raw, errors: str = "raise") -> Raw:
        """The second derivative of the cofactors in two directions: the third of the determinant, row by row."""
        return self._by_values(self._second_change, a, t, u)

    def _by_values(self, change: Callable[..., Raw], a: Raw, *directions: Raw) -> Raw:
        """Changes of the cofactors of the diagonal matrix of singular values, in directions that are turned to it."""
        xp = self.xp
        a, *directions = xp.broadcast_arrays(a, *directions)
        u, s, vh = xp.linalg.svd(a)
        turned = (xp.matmul(xp.matmul(self._adjoint(u), d), self._adjoint(vh)) for d in directions)
        inner = change(s, xp.eye(s.shape[-1], dtype=a.dtype), *turned)
        phase = xp.linalg.det(u) * xp.linalg.det(vh)
        return phase[..., None, None] * xp.matmul(xp.matmul(xp.conj(u), inner), xp.conj(vh))

    def _first_change(self, s: Raw, eye: Raw, t: Raw) -> Raw:
        xp, pairs = self.xp, self._exclusive_pairs(s).astype(eye.dtype)
        on = xp.sum(pairs * xp.sum(t * eye, axis=-1)[..., None, :], axis=-1)
        return eye * on[..., :, None] - (1 - eye) * pairs * xp.swapaxes(t, -1, -2)

    def _second_change(self, s: Raw, eye: Raw, t: Raw, u: Raw) -> Raw:
        xp, triples = self.xp, self._exclusive_triples(s).astype(eye.dtype)
        own_t, own_u = (xp.sum(d * eye, axis=-1) for d in (t, u))
        on = xp.einsum("...kij,...i,...j->...k", triples, own_t, own_u)
        on = on - xp.einsum("...kij,...ij,...ji->...k", triples, t, u)
        off: Any = 0.0
        for d, e, own in ((t, u, own_u), (u, t, own_t)):
            off = off - xp.swapaxes(d, -1, -2) * xp.einsum("...kij,...j->...ki", triples, own)
            off = off + xp.einsum("...kij,...ij,...jk->...ki", triples, d, e)
        return eye * on[..., :, None] + (1 - eye) * off

    def _exclusive_triples(self, s: Raw) -> Raw:
        """Products of all values but three; 0 where two of these are one."""
        eye = self.xp.eye(s.shape[-1], dtype=bool)
        pairs = self._exclusive_pairs(self.xp.where(eye, 1, s[..., None, :]))
        return self.xp.where(eye[:, :, None] | eye[:, None, :], 0, pairs)

    def _exclusive(self, s: Raw) -> Raw:
        """Products of all values but one."""
        before, after = self._products_beside(s)
        return before * after

    def _products_beside(self, s: Raw) -> tuple[Raw, Raw]:
        """Products of all values before each, and of all behind it."""
        xp = self.xp
        one = xp.ones((*s.shape[:-1], 1), dtype=s.dtype)
        before = xp.cumprod(xp.concatenate([one, s[..., :-1]], axis=-1), axis=-1)
        return before, xp.flip(xp.cumprod(xp.concatenate([one, xp.flip(s, -1)[..., :-1]], axis=-1), axis=-1), -1)

    def _exclusive_pairs(self, s: Raw) -> Raw:
        """Products of all values but two; 0 on the diagonal."""
        xp, n = self.xp, s.shape[-1]
        before, after = self._products_beside(s)
        later = xp.triu(xp.ones((n, n), dtype=bool), 1)
        steps = xp.where(xp.triu(xp.ones((n, n), dtype=bool), 2), xp.roll(s, 1, axis=-1)[..., None, :], 1)
        between = xp.cumprod(steps, axis=-1)  # of s_l for i < l < j
        upper = xp.where(later, before[..., :, None] * between * after[..., None, :], 0)
        return upper + xp.swapaxes(upper, -1, -2)

    # ---------------------------------------------------------------- functions of matrices

    def expm(self, a: Raw, errors: str = "raise") -> Raw:
        """Exponential: Padé approximant of degree 13, scaling and squaring (Higham 2005), without looking at values."""
        xp = self.xp
        n = a.shape[-1]
        size = xp.max(xp.sum(xp.absolute(a), axis=-2), axis=-1)[..., None, None]
        times = xp.clip(xp.ceil(xp.log2(xp.where(size > 0, size, 1) / THETA_13)), 0, SQUARINGS)
        eye = xp.eye(n, dtype=a.dtype)
        x = a / xp.exp2(times).astype(a.dtype)
        x2 = xp.matmul(x, x)
        x4 = xp.matmul(x2, x2)
        x6 = xp.matmul(x4, x2)
        b = PADE_13
        odd = xp.matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * eye
        u = xp.matmul(x, odd)
        v = xp.matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * eye
        out = self.solve(v - u, v + u, errors="nan")
        for k in range(SQUARINGS):
            out = xp.where(times > k, xp.matmul(out, out), out)
        return out

    def sqrtm(self, a: Raw, errors: str = "raise") -> Raw:
        """Principal square root: Denman and Beavers' iteration in product form (Higham 2008, eq. 6.29), then Newton's.

        The iteration loses digits in proportion to the condition of the root; two steps of Newton give them back.
        """
        xp = self.xp
        eye = xp.eye(a.shape[-1], dtype=a.dtype)
        x = m = a
        for _ in range(ITERATIONS):
            inverse = self.inv(m, errors="nan")
            x = xp.matmul(x, eye + inverse) / 2
            m = (eye + (m + inverse) / 2) / 2
        for _ in range(REFINEMENTS):
            x = x + self._sylvester(x, a - xp.matmul(x, x))
        return x

    def _sylvester(self, x: Raw, c: Raw) -> Raw:
        """The ``e`` of ``x e + e x = c``, by the sign of ``[[x, c], [0, -x]]`` (Higham 2008, section 2.4)."""
        xp = self.xp
        for _ in range(ITERATIONS):
            inverse = self.inv(x, errors="nan")
            x, c = (x + inverse) / 2, (c + xp.matmul(xp.matmul(inverse, c), inverse)) / 2
        return c / 2

    def logm(self, a: Raw, errors: str = "raise") -> Raw:
        """Principal logarithm: square roots, then Gauss-Legendre quadrature (Higham 2008, section 11.4)."""
        xp = self.xp
        eye = xp.eye(a.shape[-1], dtype=a.dtype)
        for _ in range(ROOTS):
            a = self.sqrtm(a)
        x = a - eye
        rule = zip(*(v.tolist() for v in np.polynomial.legendre.leggauss(8)), strict=True)
        return 2**ROOTS * sum(w / 2 * self.solve(eye + (1 + t) / 2 * x, x, errors="nan") for t, w in rule)


THETA_13 = 5.371920351148152  #: Higham (2005), table 2.3
PADE_13 = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
SQUARINGS, ITERATIONS, ROOTS, REFINEMENTS = 16, 30, 6, 2
