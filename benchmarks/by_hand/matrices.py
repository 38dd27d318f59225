"""Linear algebra of many small matrices by hand in NumPy, a million cells in all; see the package."""

from typing import Any

import numpy as np
import scipy.linalg

import namedgrad as ng

RNG = np.random.default_rng(8)
MANY, N = 4000, 16
FEW = 500  # of what takes long
D = ("i", "j")


def _t(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-1, -2)


def _solve_pull(g: np.ndarray, x: np.ndarray, a: np.ndarray, *_b: np.ndarray) -> Any:
    back = np.linalg.solve(_t(a), g[..., None])[..., 0]
    return -back[..., :, None] * x[..., None, :], back


def _inv_pull(g: np.ndarray, x: np.ndarray, *_a: np.ndarray) -> Any:
    return (-np.matmul(np.matmul(_t(x), g), _t(x)),)


def _cholesky_pull(g: np.ndarray, low: np.ndarray, *_a: np.ndarray) -> Any:
    """Murray (2016), eq. 10."""
    p = np.tril(np.matmul(_t(low), g))
    p[..., range(N), range(N)] *= 0.5
    inverse = np.linalg.inv(low)
    s = np.matmul(np.matmul(_t(inverse), p), inverse)
    return ((s + _t(s)) / 2,)


def _values_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    v = np.linalg.eigh(a)[1]
    return (np.matmul(v * g[..., None, :], _t(v)),)


def _right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.solve(a, b[..., None])[..., 0]


def _cubed_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    turned = _t(a)
    squared = np.matmul(turned, turned)
    return (np.matmul(g, squared) + np.matmul(np.matmul(turned, g), turned) + np.matmul(squared, g),)


class Kept:
    """A function that keeps what it has found, for its gradients."""

    def __init__(self, f: Any) -> None:
        self.f = f
        self.found: Any = None

    def __call__(self, a: np.ndarray) -> Any:
        """Its value."""
        self.found = self.f(a)
        return self.found


QR, SVD, EIGH, EIG, PINV = (Kept(getattr(np.linalg, name)) for name in ("qr", "svd", "eigh", "eig", "pinv"))
SLOGDET = Kept(np.linalg.slogdet)
LU = Kept(lambda a: scipy.linalg.lu(a, p_indices=True))


# ------------------------------------------------------------------------------------------------ solutions


def _forwards(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Lower triangles solved a row at a time, all at once: NumPy has no such function of many matrices."""
    x = np.empty_like(b)
    for i in range(N):
        x[:, i] = (b[:, i] - np.einsum("nj,nj->n", a[:, i, :i], x[:, :i])) / a[:, i, i]
    return x


def _backwards(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same of the transposed matrices."""
    x = b.copy()
    for i in range(N - 1, -1, -1):
        x[:, i] /= a[:, i, i]
        x[:, :i] -= a[:, i, :i] * x[:, i, None]
    return x


def _triangle_pull(g: np.ndarray, x: np.ndarray, a: np.ndarray, *_b: np.ndarray) -> Any:
    back = _backwards(a, g)
    return np.tril(-back[..., :, None] * x[..., None, :]), back


def _pinv_pull(g: np.ndarray, p: np.ndarray, a: np.ndarray) -> Any:
    """Golub and Pereyra (1973), eq. 4.12."""
    t, turned = _t(p), _t(g)
    out = -np.matmul(np.matmul(t, g), t)
    left = np.matmul(np.matmul(turned, p), t)
    out += left - np.matmul(a, np.matmul(p, left))
    right = np.matmul(t, np.matmul(p, turned))
    out += right - np.matmul(np.matmul(right, p), a)
    return (out,)


def _least(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.matmul(PINV(a), b[..., None])[..., 0]


def _least_pull(g: np.ndarray, x: np.ndarray, a: np.ndarray, b: np.ndarray) -> Any:
    p = PINV.found
    back = np.matmul(g[:, None], p)[:, 0]  # what the right-hand side gets
    rest = b - np.matmul(a, x[..., None])[..., 0]
    twice = np.matmul(p, back[..., None])[..., 0]
    short = np.matmul(x[:, None], p)[:, 0]
    left = g - np.matmul(back[:, None], a)[:, 0]
    out = rest[..., None] * twice[:, None] - back[..., None] * x[:, None]
    out += short[..., None] * left[:, None]
    return out, back


# ------------------------------------------------------------------------------------------------ factors


def _qr(a: np.ndarray) -> np.ndarray:
    q, r = QR(a)
    return q + r


def _qr_pull(g: np.ndarray, *_: np.ndarray) -> Any:
    """Walter and Lehmann (2012)."""
    q, r = QR.found
    m = np.matmul(r, _t(g)) - np.matmul(_t(g), q)
    low = np.tril(m, -1)
    low += _t(low)
    low[..., range(N), range(N)] = m[..., range(N), range(N)]
    return (_t(np.linalg.solve(r, _t(g + np.matmul(q, low)))),)


def _lu(a: np.ndarray) -> np.ndarray:
    _, low, up = LU(a)
    return low + up


def _lu_pull(g: np.ndarray, *_: np.ndarray) -> Any:
    """De Hoog, Anderssen and Lukas (2011)."""
    p, low, up = LU.found
    m = np.tril(np.matmul(_t(low), g), -1) + np.triu(np.matmul(g, _t(up)))
    m = np.linalg.solve(_t(low), _t(np.linalg.solve(up, _t(m))))
    return (np.take_along_axis(m, p[..., None], -2),)


def _svd(a: np.ndarray) -> np.ndarray:
    u, s, v = SVD(a)
    return u + s[..., None] * v


def _apart(w: np.ndarray) -> np.ndarray:
    """One over the distances of values, 0 on the diagonal."""
    d = w[..., None, :] - w[..., :, None]
    d[..., range(N), range(N)] = np.inf
    return 1 / d


def _svd_pull(g: np.ndarray, *_: np.ndarray) -> Any:
    """Townsend (2016)."""
    u, s, v = SVD.found
    f = _apart(s * s)
    left, right = np.matmul(_t(u), g), np.matmul(v, _t(g)) * s[..., None, :]
    inner = f * (left - _t(left)) * s[..., None, :] + s[..., None] * f * (right - _t(right))
    inner[..., range(N), range(N)] += np.einsum("nij,nij->ni", g, v)
    return (np.matmul(np.matmul(u, inner), v),)


def _eigh(a: np.ndarray) -> np.ndarray:
    w, v = EIGH(a)
    return w[..., None, :] * v


def _eigh_pull(g: np.ndarray, *_: np.ndarray) -> Any:
    """Giles (2008), section 3.1."""
    w, v = EIGH.found
    inner = np.matmul(_t(v), g)
    diagonal = inner[..., range(N), range(N)]
    inner *= w[..., None, :]
    inner *= _apart(w)
    inner[..., range(N), range(N)] = diagonal
    out = np.matmul(np.matmul(v, inner), _t(v))
    return ((out + _t(out)) / 2,)


def _eig(a: np.ndarray) -> np.ndarray:
    w, v = EIG(a)
    return w[..., None, :] * v


def _eig_pull(g: np.ndarray, *_: np.ndarray) -> Any:
    """Boeddeker et al. (2017)."""
    w, v = EIG.found
    h = _t(v).conj()
    to = w.conj()[..., None, :] * g
    inner = np.matmul(h, to)
    inner -= np.matmul(h, v * inner[..., range(N), range(N)].real[..., None, :])
    inner *= _apart(w).conj()
    inner[..., range(N), range(N)] = np.einsum("nij,nij->nj", g, v.conj())
    return (np.linalg.solve(h, np.matmul(inner, h)).real,)


def _complex_values_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    v = np.linalg.eig(a)[1]
    return (np.linalg.solve(_t(v), g[..., None] * _t(v)).real,)


# ------------------------------------------------------------------------------------------------ norms and functions


def _nuclear_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    u, _s, v = np.linalg.svd(a)
    return (np.matmul(u * g[:, None, None], v),)


def _condition_pull(g: np.ndarray, y: np.ndarray, a: np.ndarray) -> Any:
    u, s, v = np.linalg.svd(a)
    scale = (g / s[:, -1])[:, None]
    out = (scale * u[:, :, 0])[..., None] * v[:, None, 0]
    out -= (scale * y[:, None] * u[:, :, -1])[..., None] * v[:, None, -1]
    return (out,)


def _along(f: Any, a: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The derivative of a function of matrices in a direction (Mathias 1996, theorem 2.1)."""
    block = np.zeros((len(a), 2 * N, 2 * N))
    block[:, :N, :N] = block[:, N:, N:] = a
    block[:, :N, N:] = e
    return f(block)[:, :N, N:]


def _logs(a: np.ndarray) -> np.ndarray:
    return np.stack([scipy.linalg.logm(m) for m in a])


def _log(a: np.ndarray) -> np.ndarray:
    """A cell near 0 is known to no digit: none is when 2 is added."""
    return _logs(a) + 2


def _root_pull(g: np.ndarray, y: np.ndarray, *_a: np.ndarray) -> Any:
    """The equation of Sylvester in the basis in which the root is triangular."""
    out = np.empty_like(g)
    for k, (root, e) in enumerate(zip(y, g)):
        t, u = scipy.linalg.schur(root, check_finite=False)
        x, scale, _ = scipy.linalg.lapack.dtrsyl(t, t, u.T @ e @ u, trana="T", tranb="T")
        out[k] = u @ (x / scale) @ u.T
    return (out,)


def _trace_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    out = np.zeros_like(a)
    out[:, range(N), range(N)] = g[:, None]
    return (out,)


def _signed_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    return ((g * SLOGDET.found[0])[:, None, None] * _t(np.linalg.inv(a)),)


def _det_pull(g: np.ndarray, y: np.ndarray, a: np.ndarray) -> Any:
    """Cofactors: by the inverse where it is known, else by singular values."""
    x = np.linalg.inv(a)
    out = (g * y)[:, None, None] * _t(x)
    close = ~(np.abs(a).sum(-1).max(-1) * np.abs(x).sum(-1).max(-1) < 1e6)
    if close.any():
        u, s, v = np.linalg.svd(a[close])
        others = np.stack([np.delete(s, k, -1).prod(-1) for k in range(N)], -1)
        sign = np.linalg.det(u) * np.linalg.det(v) * g[close]
        out[close] = sign[:, None, None] * np.matmul(u * others[:, None], v)
    return (out,)


def _chain_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    inner = x.T @ g
    return g @ (y @ z).T, inner @ z.T, y.T @ inner


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    square = RNG.normal(size=(MANY, N, N)) + 4 * np.eye(N)
    positive = np.matmul(square, _t(square)) / N + np.eye(N)
    a, s, p = (ng.DimArray(m, ("n", *D)) for m in (square, square + _t(square), positive))
    b = ng.DimArray(RNG.normal(size=(MANY, N)), ("n", "i"))
    return [
        ("solve", lambda a, b: ng.solve(a, b, D), (a, b), _right, _solve_pull),
        ("inv", lambda a: ng.inv(a, D), (a,), np.linalg.inv, _inv_pull),
        ("det", lambda a: ng.det(a, D), (a,), np.linalg.det, _det_pull),
        ("logdet", lambda a: ng.logdet(a, D), (p,), lambda a: np.linalg.slogdet(a)[1],
         lambda g, y, a: (g[:, None, None] * _t(np.linalg.inv(a)),)),
        ("cholesky", lambda a: ng.cholesky(a, D), (p,), np.linalg.cholesky, _cholesky_pull),
        ("eigvalsh", lambda a: ng.eigvalsh(a, D), (s,), np.linalg.eigvalsh, _values_pull),
        ("matrix_power", lambda a: ng.matrix_power(a, D, 3), (a,), lambda a: np.matmul(a, np.matmul(a, a)),
         _cubed_pull),
        *_more(a, s, p, b),
    ]  # fmt: skip


def _more(a: ng.DimArray, s: ng.DimArray, p: ng.DimArray, b: ng.DimArray) -> list[tuple[Any, ...]]:
    few = (a.isel(n=slice(FEW)),)
    tall = ng.DimArray(RNG.normal(size=(MANY // 2, 2 * N, N)), ("n", *D))
    sides = ng.DimArray(RNG.normal(size=(MANY // 2, 2 * N)), ("n", "i"))
    dims = (("i", "j"), ("j", "k"), ("k", "l"))
    chain = tuple(ng.DimArray(RNG.normal(size=n), d) for n, d in zip(((1000, 64), (64, 1000), (1000, 64)), dims))

    def factors(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return x.rename(j2="j") + y.rename(j2="i")

    def product(found: tuple[ng.DimArray, ng.DimArray]) -> ng.DimArray:
        return found[1] * found[0]

    def parts(u: ng.DimArray, s: ng.DimArray, v: ng.DimArray) -> ng.DimArray:
        return factors(u, v * s)

    return [
        ("solve_triangular", lambda a, b: ng.solve_triangular(a, b, D), (a, b), _forwards, _triangle_pull),
        ("pinv", lambda a: ng.pinv(a, D), (tall,), np.linalg.pinv, _pinv_pull),
        ("lstsq", lambda a, b: ng.lstsq(a, b, D), (tall, sides), _least, _least_pull),
        ("slogdet", lambda a: (found := ng.slogdet(a, D))[0] * found[1], (a,),
         lambda a: (found := SLOGDET(a))[0] * found[1], _signed_pull),
        ("trace", lambda a: ng.trace(a, D), (a,), lambda a: np.einsum("nii->n", a), _trace_pull),
        ("qr", lambda a: factors(*ng.qr(a, D)), (a,), _qr, _qr_pull),
        ("lu", lambda a: factors(*ng.lu(a, D)[1:]), (a,), _lu, _lu_pull),
        ("svd", lambda a: parts(*ng.svd(a, D)), (a,), _svd, _svd_pull),
        ("eigh", lambda a: product(ng.eigh(a, D)), (s,), _eigh, _eigh_pull),
        ("eig", lambda a: product(ng.eig(a, D)), few, _eig, _eig_pull),
        ("eigvals", lambda a: ng.eigvals(a, D), few, np.linalg.eigvals, _complex_values_pull),
        ("matrix_norm", lambda a: ng.matrix_norm(a, D), (a,), lambda a: np.sqrt(np.einsum("nij,nij->n", a, a)),
         lambda g, y, a: ((g / y)[:, None, None] * a,)),
        ("matrix_norm, nuclear", lambda a: ng.matrix_norm(a, D, "nuc"), (a,),
         lambda a: np.linalg.svdvals(a).sum(1), _nuclear_pull),
        ("cond", lambda a: ng.linalg.cond(a, D), (a,), np.linalg.cond, _condition_pull),
        ("matrix_rank", lambda a: ng.matrix_rank(a, D), (a,), np.linalg.matrix_rank, None),
        ("expm", lambda a: ng.expm(a, D), few, scipy.linalg.expm,
         lambda g, y, a: (_along(scipy.linalg.expm, _t(a), g),)),
        ("sqrtm", lambda a: ng.sqrtm(a, D), (p.isel(n=slice(FEW)),), scipy.linalg.sqrtm, _root_pull),
        ("logm", lambda a: ng.logm(a, D) + 2, (p.isel(n=slice(FEW // 5)),), _log,
         lambda g, y, a: (_along(_logs, _t(a), g),)),
        ("multi_dot", ng.multi_dot, chain, lambda x, y, z: x @ (y @ z), _chain_pull),
    ]  # fmt: skip
