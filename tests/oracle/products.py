"""Contraction, Fourier transforms, linear algebra."""

# The signatures are PyTorch's.
# ruff: noqa: FBT003

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import namedgrad as ng
from tests.oracle.registry import LEFT_OUT, RTOL, TABLE, THEIRS, axes_of, named, numbered

# ------------------------------------------------------------------------------------------------ contraction
TABLE["mm"] = TABLE["bmm"] = TABLE["mv"] = np.matmul
TABLE["addmm"] = TABLE["addmv"] = TABLE["baddbmm"] = TABLE["addmm.decomposed"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.matmul(a, b)
TABLE["addbmm"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.sum(np.matmul(a, b), 0)
TABLE["addr"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.outer(a, b)
TABLE["dot"] = np.dot
TABLE["vdot"] = np.vdot
TABLE["outer"] = TABLE["ger"] = np.outer
TABLE["inner"] = np.inner
TABLE["kron"] = np.kron
TABLE["linalg.vecdot"] = lambda x, y, *, dim=-1: np.linalg.vecdot(x, y, axis=dim)
TABLE["tensordot"] = lambda x, y, dims=2: np.tensordot(x, y, dims if isinstance(dims, int) else tuple(map(tuple, dims)))
TABLE["einsum"] = lambda xs, equation: np.einsum(equation, *xs)
TABLE["matmul"] = TABLE["__matmul__"] = np.matmul
TABLE["nn.functional.linear"] = lambda x, w, b=None: np.matmul(x, np.swapaxes(w, -1, -2) if w.ndim > 1 else w) + (0 if b is None else b)
TABLE["nn.functional.bilinear"] = lambda x, y, w, b=None: ng.bilinear(x, w, y, b)
TABLE["cdist"] = lambda x, y, p=2.0, compute_mode=None: ng.cdist(x, y, p=p)
TABLE["nn.functional.pdist"] = lambda x, p=2.0: ng.pdist(x, p=p)
TABLE["cartesian_prod"] = lambda *xs: ng.cartesian_prod(*xs)
TABLE["linalg.multi_dot"] = lambda xs: np.linalg.multi_dot(xs)


# ------------------------------------------------------------------------------------------------ Fourier
def _fourier(name: str) -> Callable[..., Any]:
    f = getattr(np.fft, name)
    if name.endswith(("n", "2")):
        default = (-2, -1) if name.endswith("2") else None
        several = lambda v: (v,) if isinstance(v, int) else v
        return lambda x, s=None, dim=default, norm=None: f(x, several(s), several(dim), norm)
    return lambda x, n=None, dim=-1, norm=None: f(x, n, dim, norm)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    TABLE[f"fft.{_name}"] = _fourier(_name)
TABLE["fft.fftshift"] = lambda x, dim=None: np.fft.fftshift(x, dim)
TABLE["fft.ifftshift"] = lambda x, dim=None: np.fft.ifftshift(x, dim)


# ------------------------------------------------------------------------------------------------ linear algebra
TABLE["cholesky"] = lambda a, upper=False: np.linalg.cholesky(a, upper=upper)
TABLE["linalg.cholesky"] = lambda a, *, upper=False: np.linalg.cholesky(a, upper=upper)
TABLE["linalg.inv"] = np.linalg.inv
TABLE["linalg.det"] = TABLE["det"] = lambda a: np.linalg.det(a)
TABLE["linalg.slogdet"] = lambda a: np.linalg.slogdet(a)
TABLE["linalg.solve"] = lambda a, b, *, left=True: _solve(a, b, left)
TABLE["linalg.matrix_power"] = lambda a, n: np.linalg.matrix_power(a, n)
TABLE["linalg.pinv"] = TABLE["pinverse"] = lambda a, rcond=None, *, rtol=None, atol=None, hermitian=False: np.linalg.pinv(
    a, rtol=rcond if rcond is not None else rtol, hermitian=hermitian
)
# PyTorch's gradient is that of a matrix that is not symmetrised, here it is that of one that is.
TABLE["linalg.pinv.hermitian"] = lambda a, **how: np.linalg.pinv((a + np.swapaxes(a, -1, -2)) / 2, **how)
THEIRS["linalg.pinv.hermitian"] = lambda a, **how: torch.linalg.pinv((a + a.mT) / 2, **how)
TABLE["linalg.pinv.singular"] = lambda a, b: np.linalg.pinv(np.matmul(a, np.swapaxes(b, -1, -2)))
TABLE["linalg.norm"] = lambda x, ord=None, dim=None, keepdim=False, **_: np.linalg.norm(x, ord, axes_of(dim), keepdim)
TABLE["linalg.vector_norm"] = lambda x, ord=2, dim=None, keepdim=False, **_: np.linalg.vector_norm(x, ord=ord, axis=axes_of(dim) if x.ndim else None, keepdims=keepdim)
TABLE["linalg.matrix_norm"] = lambda x, ord="fro", dim=(-2, -1), keepdim=False, **_: np.linalg.norm(x, ord, tuple(dim), keepdim)
TABLE["norm"] = lambda x, p="fro", dim=None, keepdim=False, dtype=None: _old_norm(x, p, dim, keepdim)
TABLE["linalg.cross"] = TABLE["cross"] = lambda x, y, dim=-1: np.linalg.cross(x, y, axis=dim)




def _solve(a: Any, b: Any, left: bool) -> Any:
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    if vector:
        return np.linalg.solve(a, b[..., None])[..., 0]
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def matrices(f: Callable[..., Any], out: str = "rc") -> Callable[..., Any]:
    """A function of named matrices on the last two axes; ``out`` spells the dims of its results."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        batch = [f"b{i}" for i in range(a.ndim - 2)]
        result = f(named(a, (*batch, "r", "c")), *args, **kwargs)
        parts = result if isinstance(result, tuple) else (result,)
        back = tuple(numbered(p, (*batch, *spelled)) for p, spelled in zip(parts, out.split(" "), strict=True))
        return back if isinstance(result, tuple) else back[0]

    return call


D = ("r", "c")
TABLE["logdet"] = matrices(lambda a: ng.logdet(a, D), "")
TABLE["linalg.qr"] = TABLE["qr"] = lambda a, mode="reduced": np.linalg.qr(a, mode=mode)
TABLE["qr"] = lambda a, some=True: np.linalg.qr(a, mode="reduced" if some else "complete")
TABLE["linalg.svd"] = lambda a, full_matrices=True, **_: _absolute(np.linalg.svd(a, full_matrices=full_matrices), 0, 2)
TABLE["svd"] = lambda a, some=True, compute_uv=True: _conjugated(np.linalg.svd(a, full_matrices=not some)) if compute_uv else np.linalg.svd(a, compute_uv=False)
THEIRS["linalg.svd"] = lambda *a, **k: _absolute(torch.linalg.svd(*a, **k), 0, 2)
THEIRS["svd"] = lambda a, some=True, compute_uv=True: _absolute(torch.svd(a, some), 0, 2) if compute_uv else torch.svd(a, some)[1]
TABLE["linalg.svdvals"] = lambda a, **_: np.linalg.svd(a, compute_uv=False)
TABLE["linalg.eigh"] = lambda a, UPLO="L": _absolute(np.linalg.eigh(a, UPLO), 1)
THEIRS["linalg.eigh"] = lambda *a, **k: _absolute(torch.linalg.eigh(*a, **k), 1)
TABLE["linalg.eigvalsh"] = lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO)
TABLE["linalg.eig"] = lambda a: _absolute(np.linalg.eig(a), 1)
THEIRS["linalg.eig"] = lambda a: _absolute(torch.linalg.eig(a), 1)
TABLE["linalg.eigvals"] = np.linalg.eigvals
TABLE["linalg.cond"] = lambda a, p=None: np.linalg.cond(a, p)
TABLE["linalg.matrix_rank"] = lambda a, tol=None, *, hermitian=False, atol=None, rtol=None: np.linalg.matrix_rank(a, None if tol is None else np.asarray(getattr(tol, "data", tol)), hermitian)
LEFT_OUT["linalg.matrix_rank"] = (lambda *flat: any(isinstance(x, (float, torch.Tensor)) for x in flat[1:]), "absolute tolerances")
TABLE["linalg.tensorinv"] = lambda a, ind=2: np.linalg.tensorinv(a, ind)
TABLE["linalg.tensorsolve"] = lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims)
TABLE["matrix_exp"] = matrices(lambda a: ng.expm(a, D))
TABLE["linalg.solve_triangular"] = lambda a, b, *, upper, left=True, unitriangular=False: _triangular(a, b, upper, left, unitriangular)
TABLE["cholesky_solve"] = lambda b, factor, upper=False: _cholesky_solve(b, factor, upper)
TABLE["cholesky_inverse"] = lambda factor, upper=False: np.linalg.inv(
    np.matmul(np.conjugate(np.swapaxes(factor, -1, -2)), factor) if upper else np.matmul(factor, np.conjugate(np.swapaxes(factor, -1, -2)))
)


def _triangular(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    if not left:  # x a = b
        return np.swapaxes(_triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper, True, unit), -1, -2)
    batch = [f"b{i}" for i in range(max(a.ndim, b.ndim) - 2)]
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(a, (*shape, *a.shape[-2:])), np.broadcast_to(b, (*shape, *b.shape[-2:]))
    x = ng.solve_triangular(named(a, (*batch, "r", "c")), named(b, (*batch, "r", "k")), D, lower=not upper, unit_diagonal=unit)
    return numbered(x, (*batch, "c", "k"))


def _cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    lower = np.conjugate(np.swapaxes(factor, -1, -2)) if upper else factor
    return _triangular(np.conjugate(np.swapaxes(lower, -1, -2)), _triangular(lower, b, False, True, False), True, True, False)


def _absolute(parts: Any, *at: int) -> Any:
    """Vectors are known up to a phase."""
    return tuple(abs(p) if i in at else p for i, p in enumerate(parts))


def _conjugated(parts: Any) -> Any:
    u, s, vh = parts
    return abs(u), s, abs(np.swapaxes(vh, -1, -2))


LEFT_OUT["linalg.cholesky"] = LEFT_OUT["cholesky"] = (lambda *flat: torch.is_complex(flat[0]), "PyTorch's gradient has an imaginary diagonal, where the input can have none")
LEFT_OUT["linalg.pinv"] = LEFT_OUT["pinverse"] = (lambda *flat: torch.is_complex(flat[0]) and any(x is True for x in flat), "a diagonal that is not real, of a matrix that is said to be Hermitian")
LEFT_OUT["linalg.svd"] = LEFT_OUT["svd"] = (lambda *flat: flat[0].shape[-1] != flat[0].shape[-2], "vectors of the null space are any")
LEFT_OUT["cholesky_solve"] = (lambda *flat: True, "PyTorch's gradient has values in the half that is not read")
RTOL |= {"linalg.pinv": 1e-9, "pinverse": 1e-9, "linalg.eig": 1e-9, "linalg.eigvals": 1e-9, "linalg.svd": 1e-9, "svd": 1e-9, "linalg.cond": 1e-9, "matrix_exp": 1e-10}


def _old_norm(x: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    """torch.norm: without a dim of all cells, whatever p is; a matrix norm for "nuc" only."""
    if p == "nuc":
        axes = tuple(range(x.ndim)) if dim is None else tuple(dim)
        return np.linalg.norm(x, "nuc", axes, keepdim)
    axes = tuple(range(x.ndim)) if dim is None else dim
    return np.linalg.vector_norm(x, ord=2 if p in ("fro", None) else p, axis=axes_of(axes) if x.ndim else None, keepdims=keepdim)


TABLE["linalg.lstsq"] = lambda a, b, *_, **__: _least_squares(a, b)
THEIRS["linalg.lstsq"] = lambda a, b, *_, **__: torch.linalg.lstsq(a, b).solution


def _least_squares(a: Any, b: Any) -> Any:
    batch = [f"b{i}" for i in range(a.ndim - 2)]
    right = ("r",) if b.ndim == a.ndim - 1 else ("r", "k")
    out = ng.lstsq(named(a, (*batch, "r", "c")), named(b, (*batch, *right)), D)
    return numbered(out, (*batch, "c", *right[1:]))



def _lower_upper(a: Any, *, pivot: bool = True) -> Any:
    batch = [f"b{i}" for i in range(a.ndim - 2)]
    _, lower, upper = ng.lu(named(a, (*batch, "r", "c")), D, new_dim="k")
    return numbered(lower, (*batch, "r", "k")), numbered(upper, (*batch, "k", "c"))


TABLE["linalg.lu"] = _lower_upper
THEIRS["linalg.lu"] = lambda a, *, pivot=True: torch.linalg.lu(a, pivot=pivot)[1:]
LEFT_OUT["linalg.lu"] = (lambda *flat: any(x is False for x in flat), "without pivots")
LEFT_OUT["tensordot"] = (lambda *flat: any(1 in x.shape for x in flat[:2]) and flat[0].ndim == flat[1].ndim == 3, "size 1 against another size")
LEFT_OUT["linalg.norm"] = (lambda *flat: any(x in ("nuc", 2) for x in flat[1:] if not isinstance(x, torch.Tensor)) and not bool(flat[0].count_nonzero()), "the nuclear and the spectral norm at 0: arbitrary singular vectors make a subgradient, here it is 0")
