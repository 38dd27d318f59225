"""Linear algebra.  The vectors of eigenvalues and singular values are determined up to a phase, which is LAPACK's."""

import numpy as np
import scipy.linalg
import xarray as xr

from tests.support.domains import domain
from tests.support.grid import entry, sample


@domain("tall", matrix=True)
def tall(rng, shape):
    """Matrices without dependent rows or columns."""
    return rng.normal(size=shape) + 2 * np.eye(*shape[-2:])


@domain("levels", matrix=True, symmetric=True)
def levels(rng, shape):
    """Symmetric with distinct eigenvalues, and vectors near the axes, so that a small step turns none around."""
    x = rng.normal(size=shape) / 8
    return x + np.swapaxes(x, -1, -2) + np.diag(1.0 + np.arange(shape[-1]))


@domain("apart", matrix=True)
def apart(rng, shape):
    """Real and distinct eigenvalues, far from symmetric."""
    n = shape[-1]
    v = rng.normal(size=shape) / n + np.eye(n)
    w = 1.5 * np.arange(n) + rng.uniform(1, 2, (*shape[:-2], 1, n))
    return (v * w) @ np.linalg.inv(v)


@domain("capart", matrix=True)
def capart(rng, shape):
    n = shape[-1]
    v = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / n + np.eye(n)
    w = 1.5 * np.arange(n) + rng.uniform(1, 2, (*shape[:-2], 1, n)) + 1j
    return (v * w) @ np.linalg.inv(v)


def matrices(f, *out):
    """A function of stacks of matrices by name; ``out`` are the core dims of its results, from row, column and new."""

    def call(a, *args, dims, **options):
        names = {"row": dims[0], "col": dims[1], "new": options.pop("new_dim", None) or f"{dims[1]}2"}
        rest = [d for d in a.dims if d not in dims]
        found = f(a.transpose(*rest, *dims).to_numpy(), *args, **options)
        several = found if isinstance(found, tuple) else (found,)
        results = tuple(_placed(x, rest, [names[o] for o in core], a, names) for x, core in zip(several, out, strict=True))
        return results if isinstance(found, tuple) else results[0]

    return call


def _placed(x, rest, core, a, names):
    made = {names["col"]: names["new"]} if names["row"] in core else {names["row"]: names["new"]}
    order = [made.get(d, d) if names["new"] in core and len(core) == 2 else d for d in a.dims]
    order = [d for d in order if d in (*rest, *core)]
    return xr.DataArray(x, dims=(*rest, *core)).transpose(*order, *(c for c in core if c not in order))


def batched(f):
    """A function of one matrix as one of stacks."""

    def call(a, *args, **options):
        flat = a.reshape(-1, *a.shape[-2:])
        found = [f(m, *args, **options) for m in flat]
        if isinstance(found[0], tuple):
            return tuple(np.array(x).reshape(*a.shape[:-2], *np.shape(x[0])) for x in zip(*found, strict=True))
        return np.array(found).reshape(*a.shape[:-2], *np.shape(found[0]))

    return call


def cholesky(a, lower=True):
    factor = np.linalg.cholesky(a)
    return factor if lower else np.swapaxes(factor, -1, -2).conj()


def solve(a, b, dims, inverse=np.linalg.inv):
    x = xr.apply_ufunc(inverse, a, input_core_dims=[dims], output_core_dims=[dims[::-1]], exclude_dims=set(dims))
    x = xr.dot(x, b, dim=dims[0])
    return x.transpose(*(d for d in dict.fromkeys((*a.dims, *b.dims)) if d in x.dims))


def solve_triangular(a, b, *, dims, lower=True, transposed=False, unit_diagonal=False):
    def inverse(m):
        m = np.tril(m) if lower else np.triu(m)
        n = m.shape[-1]
        m = m * (1 - np.eye(n)) + np.eye(n) if unit_diagonal else m
        return np.linalg.inv(np.swapaxes(m, -1, -2) if transposed else m)

    return solve(a, b, dims, inverse)


def pinv(a, dims, **options):
    rest = [d for d in a.dims if d not in dims]
    hermitian = options.pop("hermitian", False)
    found = np.linalg.pinv(a.transpose(*rest, *dims).to_numpy(), hermitian=hermitian)
    return xr.DataArray(found, dims=(*rest, *dims)).transpose(*a.dims)


def lu(m):
    p, low, up = scipy.linalg.lu(m, p_indices=True)
    return np.argsort(p), low, up


def svd(a, full_matrices=False, compute_uv=True):
    found = np.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


MATRIX = ("row", "col")
IJ = {"dims": ("i", "j")}
entry("cholesky", matrices(cholesky, MATRIX), [sample("hermitian(i,j)", **IJ), sample("hermitian(j,i)", **IJ, lower=False)])
entry("solve", solve, [sample("cwell(i,j)", "complex(i,a)", **IJ), sample("well(i,j)", "complex(i)", **IJ), sample("well(j,a,i)", "real(b,i,a)", **IJ)])
entry("solve_triangular", solve_triangular, [sample("cwell(i,j)", "real(i,a)", **IJ, transposed=True, lower=False)])
entry("inv", matrices(np.linalg.inv, MATRIX), [sample("cwell(i,j)", **IJ)])
entry("pinv", pinv, [sample("cwell(i,j)", **IJ)])
entry("lstsq", lambda a, b, dims: solve(a, b, dims, np.linalg.pinv), [sample("cwell(i,j)", "real(i,a)", **IJ)], single=False)
entry("qr", matrices(lambda a, mode="reduced": tuple(np.linalg.qr(a, mode)), ("row", "new"), ("new", "col")), [sample("cwell(i,j)", **IJ)])
entry("lu", matrices(batched(lu), ("row",), ("row", "new"), ("new", "col")), [sample("cwell(i,j)", **IJ)])
entry("eigh", matrices(lambda a: tuple(np.linalg.eigh(a)), ("new",), ("row", "new")))
entry("eigvalsh", matrices(lambda a, lower=True: np.linalg.eigvalsh(a, "L" if lower else "U"), ("new",)), [sample("spd(i,j)", **IJ, lower=False)])
entry("eig", matrices(lambda a: tuple(x.astype(complex) for x in np.linalg.eig(a)), ("new",), ("row", "new")))
entry("eigvals", matrices(lambda a: np.linalg.eigvals(a).astype(complex), ("new",)))
entry("svd", lambda a, dims, **kw: matrices(svd, *([("row", "new"), ("new",), ("new", "col")] if kw.get("compute_uv", True) else [("new",)]))(a, dims=dims, **kw), [sample("cwell(i,j)", **IJ, compute_uv=False)])
entry("det", matrices(np.linalg.det, ()))
entry("slogdet", matrices(lambda a: tuple(np.linalg.slogdet(a)), (), ()))
entry("logdet", matrices(lambda a: np.log(np.linalg.det(a)), ()))
entry("trace", lambda a, dims, offset=0: xr.DataArray(np.trace(a.transpose(..., *dims).to_numpy(), offset, -2, -1), dims=[d for d in a.dims if d not in dims]), [sample("real(a,b)", dims=("a", "b"), offset=1)])
entry("matrix_power", matrices(np.linalg.matrix_power, MATRIX))
entry("expm", matrices(scipy.linalg.expm, MATRIX))
entry("sqrtm", matrices(batched(scipy.linalg.sqrtm), MATRIX))
entry("logm", matrices(batched(scipy.linalg.logm), MATRIX))
entry("matrix_norm", matrices(lambda a, ord="fro": np.linalg.norm(a, ord, (-2, -1)), ()))
entry("cond", matrices(lambda a, ord=None: np.linalg.cond(a, ord), ()))
entry("matrix_rank", matrices(np.linalg.matrix_rank, ()))
entry("cross", lambda a, b, dim: xr.cross(a, b, dim=dim), [sample("real(a,three)", "real(three,c)", dim="three")])
entry("multi_dot", xr.dot)
