"""Linear algebra.  The vectors of eigenvalues and singular values are determined up to a phase, which is LAPACK's."""

import numpy as np
import scipy.linalg
import xarray as xr

from tests.support.domains import domain
from tests.support.grid import entry, point, sample


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
PQ = {"dims": ("p", "q")}


# Answers by hand at matrices of one cell, of zeros, of ranks too small, and where values coincide.
EYE, ZERO, ONES, EMPTY = np.eye(2), np.zeros((2, 2)), np.ones((2, 2)), np.zeros((0, 0))
JORDAN = np.array([[0.0, 1.0], [0.0, 0.0]])
HALF = np.array([[0.5, 0.5], [0.5, 0.5]])


def of_one(x, value, slope, **options):
    """A matrix of one cell."""
    return point([[x]], value=[[value]], gradients=[lambda c: c * slope], **PQ, **options)


def symmetric(c):
    return (c + c.T) / 2


POINTS = {
    "cholesky": [
        of_one(4.0, 2.0, 0.25),
        point(EYE, value=EYE, gradients=[lambda c: symmetric(np.tril(c) * (1 - 0.5 * EYE))], **PQ),
        point([[1.0, 7.0], [0.0, 1.0]], value=EYE, gradients=[lambda c: symmetric(np.tril(c) * (1 - 0.5 * EYE))], **PQ),
        point(EMPTY, value=EMPTY, gradients=[EMPTY], **PQ),
    ],
    "solve": [
        point([[2.0]], [6.0], value=[3.0], gradients=[lambda c: [-3 * c / 2], lambda c: c / 2], **PQ),
        point(EYE, [1.0, 0.0], value=[1.0, 0.0], gradients=[lambda c: np.outer(-c, [1.0, 0.0]), lambda c: c], **PQ),
        point(EMPTY, [], value=[], gradients=[EMPTY, []], **PQ),
    ],
    "solve_triangular": [
        point([[2.0, np.nan], [0.0, 4.0]], [2.0, 4.0], value=[1.0, 1.0], gradients=[lambda c: -np.tril(np.outer(c / [2, 4], [1, 1])), lambda c: c / [2, 4]], **PQ),
        point([[np.nan, 0.0], [0.0, np.nan]], [2.0, 4.0], unit_diagonal=True, value=[2.0, 4.0], gradients=[lambda c: [[0, 0], [-2 * c[1], 0]], lambda c: c], **PQ),
        point(EMPTY, [], value=[], gradients=[EMPTY, []], **PQ),
    ],
    "inv": [of_one(2.0, 0.5, -0.25), point(EYE, value=EYE, gradients=[lambda c: -c], **PQ), point(EMPTY, value=EMPTY, gradients=[EMPTY], **PQ)],
    "pinv": [
        of_one(2.0, 0.5, -0.25),
        of_one(0.0, 0.0, 0.0),
        point([[1.0, 0.0], [0.0, 0.0]], value=[[1.0, 0.0], [0.0, 0.0]], gradients=[lambda c: c.T * [[-1, 1], [1, 0]]], **PQ),
        point(EMPTY, value=EMPTY, gradients=[EMPTY], **PQ),
    ],
    "lstsq": [
        point([[2.0]], [6.0], value=[3.0], gradients=[lambda c: [-3 * c / 2], lambda c: c / 2], **PQ),
        point([[0.0]], [6.0], value=[0.0], gradients=[[[0.0]], [0.0]], **PQ),
        point([[1.0], [0.0]], [2.0, 5.0], value=[2.0], gradients=[lambda c: [-2 * c, 5 * c], lambda c: [c[0], 0.0]], **PQ),
    ],
    "qr": [
        point([[2.0]], value=([[1.0]], [[2.0]]), gradients=[lambda c, d: d], **PQ),
        point([[-2.0]], value=([[1.0]], [[-2.0]]), gradients=[lambda c, d: d], **PQ),
        point(EMPTY, value=(EMPTY, EMPTY), gradients=[EMPTY], **PQ),
    ],
    "lu": [
        point([[2.0]], value=([0], [[1.0]], [[2.0]]), gradients=[lambda p, c, d: d], **PQ),
        point([[0.0, 1.0], [1.0, 0.0]], value=([1, 0], EYE, EYE), gradients=[lambda p, c, d: [[c[1, 0], d[1, 1]], [d[0, 0], d[0, 1]]]], **PQ),
        point([[2.0], [2.0]], value=([0, 1], [[1.0], [1.0]], [[2.0]]), gradients=[lambda p, c, d: [[d[0, 0] - c[1, 0] / 2], [c[1, 0] / 2]]], **PQ),
    ],
    "eigh": [
        point([[2.0]], value=([2.0], [[1.0]]), gradients=[lambda c, d: [c]], **PQ),
        point(EYE, value=([1.0, 1.0], EYE), cotangent=([2.0, 2.0], ZERO), gradients=[2 * EYE], **PQ),
        point([[1.0, 9.0], [0.0, 3.0]], value=([1.0, 3.0], EYE), gradients=[lambda c, d: [[c[0], (d[0, 1] - d[1, 0]) / 4], [(d[0, 1] - d[1, 0]) / 4, c[1]]]], **PQ),
    ],
    "eigvalsh": [
        point([[2.0]], value=[2.0], gradients=[lambda c: [c]], **PQ),
        point(EYE, value=[1.0, 1.0], gradients=[lambda c: np.diag(c)], **PQ),
        point(ZERO, value=[0.0, 0.0], cotangent=[3.0, 3.0], gradients=[3 * EYE], **PQ),
        point(HALF, value=[0.0, 1.0], gradients=[lambda c: [[sum(c) / 2, (c[1] - c[0]) / 2], [(c[1] - c[0]) / 2, sum(c) / 2]]], **PQ),
    ],
    "eig": [
        point([[2.0]], value=([2.0 + 0j], [[1.0 + 0j]]), gradients=[lambda c, d: [c.real]], **PQ),
        point(EYE, value=([1.0 + 0j, 1.0 + 0j], EYE + 0j), cotangent=([2.0, 2.0], ZERO), gradients=[2 * EYE], **PQ),
        point([[1.0, 0.0], [0.0, 3.0]], value=([1.0 + 0j, 3.0 + 0j], EYE + 0j), gradients=[lambda c, d: [[c[0].real, d[0, 1].real / 2], [-d[1, 0].real / 2, c[1].real]]], **PQ),
    ],
    "eigvals": [
        point([[2.0]], value=[2.0 + 0j], gradients=[lambda c: [c.real]], **PQ),
        point(EYE, value=[1.0 + 0j, 1.0 + 0j], gradients=[lambda c: np.diag(c.real)], **PQ),
        point([[0.0, -1.0], [1.0, 0.0]], value=[1j, -1j], cotangent=[1j, -1j], gradients=[[[0.0, -1.0], [1.0, 0.0]]], **PQ),
    ],
    "svd": [
        point([[2.0]], value=([[1.0]], [2.0], [[1.0]]), gradients=[lambda c, s, d: [s]], **PQ),
        point(EYE, compute_uv=False, value=[1.0, 1.0], gradients=[lambda s: np.diag(s)], **PQ),
        point(ZERO, compute_uv=False, value=[0.0, 0.0], gradients=[lambda s: np.diag(s)], **PQ),
        point(ONES, compute_uv=False, value=[2.0, 0.0], cotangent=[3.0, 0.0], gradients=[1.5 * ONES], **PQ),
    ],
    "det": [
        point([[2.0]], value=2.0, gradients=[lambda c: [[c]]], **PQ),
        point(ZERO, value=0.0, gradients=[ZERO], **PQ),
        point(ONES, value=0.0, gradients=[lambda c: c * np.array([[1, -1], [-1, 1]])], **PQ),
        point(np.diag([0.0, 2.0, 3.0]), value=0.0, gradients=[lambda c: c * np.diag([6.0, 0, 0])], **PQ),
        point(EMPTY, value=1.0, gradients=[EMPTY], **PQ),
    ],
    "slogdet": [
        point([[-2.0]], value=(-1.0, np.log(2.0)), gradients=[lambda c, d: [[-d / 2]]], **PQ),
        point(np.diag([2j, 1.0]), value=(1j, np.log(2.0)), gradients=[lambda c, d: np.diag([d * 0.5j + c.real / 2, d - 1j * c.real])], **PQ),
        point(EMPTY, value=(1.0, 0.0), gradients=[EMPTY], **PQ),
    ],
    "logdet": [
        point([[2.0]], value=np.log(2.0), gradients=[lambda c: [[c / 2]]], **PQ),
        point(EYE, value=0.0, gradients=[lambda c: c * EYE], **PQ),
        point([[-2.0]], value=np.nan, **PQ),
    ],
    "trace": [
        point([[2.0]], value=2.0, gradients=[lambda c: [[c]]], **PQ),
        point([[1.0, np.nan, 0.0], [np.inf, 2.0, 0.0]], value=3.0, gradients=[lambda c: c * np.eye(2, 3)], **PQ),
        point(EMPTY, value=0.0, gradients=[EMPTY], **PQ),
    ],
    "matrix_power": [
        of_one(2.0, 8.0, 12.0, n=3),
        point(ONES, n=0, value=EYE, gradients=[ZERO], **PQ),
        point(JORDAN, n=2, value=ZERO, gradients=[lambda c: _j(c)], **PQ),
    ],
    "expm": [
        of_one(2.0, np.exp(2.0), np.exp(2.0)),
        point(ZERO, value=EYE, gradients=[lambda c: c], **PQ),
        point(JORDAN, value=EYE + JORDAN, gradients=[lambda c: c + _j(c) / 2 + JORDAN.T @ c @ JORDAN.T / 6], **PQ),
    ],
    "sqrtm": [of_one(4.0, 2.0, 0.25), point(EYE, value=EYE, gradients=[lambda c: c / 2], **PQ), point(4 * EYE, value=2 * EYE, gradients=[lambda c: c / 4], **PQ)],
    "logm": [of_one(2.0, np.log(2.0), 0.5), point(EYE, value=ZERO, gradients=[lambda c: c], **PQ), point(EYE + JORDAN, value=JORDAN, gradients=[lambda c: c - _j(c) / 2 + JORDAN.T @ c @ JORDAN.T / 3], **PQ)],
    "matrix_norm": [
        point(ZERO, value=0.0, gradients=[ZERO], **PQ),
        point(EYE, ord=1, value=1.0, gradients=[lambda c: c / 2 * EYE], **PQ),
        point(np.diag([3.0, -4.0]), ord="nuc", value=7.0, gradients=[lambda c: c * np.diag([1.0, -1.0])], **PQ),
        point(ONES, ord=2, value=2.0, gradients=[lambda c: c * HALF], **PQ),
    ],
    "cond": [
        point([[2.0]], value=1.0, gradients=[[[0.0]]], **PQ),
        point(np.diag([4.0, 2.0]), value=2.0, gradients=[lambda c: c * np.diag([0.5, -1.0])], **PQ),
        point(ONES, ord=1, value=np.inf, **PQ),
    ],
    "matrix_rank": [point(ZERO, value=0, **PQ), point(ONES, value=1, **PQ), point(EYE, value=2, **PQ), point(EMPTY, value=0, **PQ)],
    "cross": [
        point([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], dim="p", value=[0.0, 0.0, 1.0], gradients=[lambda c: np.cross([0, 1, 0], c), lambda c: np.cross(c, [1, 0, 0])]),
        point([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], dim="p", value=[0.0, 0.0, 0.0], gradients=[lambda c: np.cross([2, 4, 6], c), lambda c: np.cross(c, [1, 2, 3])]),
        point([0.0, 0.0, 0.0], [2.0, 4.0, 6.0], dim="p", value=[0.0, 0.0, 0.0], gradients=[lambda c: np.cross([2, 4, 6], c), [0.0, 0.0, 0.0]]),
    ],
    "multi_dot": [
        point([2.0], [3.0], [5.0], value=30.0, gradients=[lambda c: [15 * c], lambda c: [10 * c], lambda c: [6 * c]]),
        point([0.0], [0.0], [5.0], value=0.0, gradients=[[0.0], [0.0], [0.0]]),
        point([0.0], [3.0], [5.0], value=0.0, gradients=[lambda c: [15 * c], [0.0], [0.0]]),
    ],
}


def _j(c):
    """The gradient of X^2 at the Jordan block."""
    return JORDAN.T @ c + c @ JORDAN.T


entry("cholesky", matrices(cholesky, MATRIX), [sample("hermitian(i,j)", **IJ), sample("hermitian(j,i)", **IJ, lower=False)], points=POINTS["cholesky"])
entry("solve", solve, [sample("cwell(i,j)", "complex(i,a)", **IJ), sample("well(i,j)", "complex(i)", **IJ), sample("well(j,a,i)", "real(b,i,a)", **IJ)], points=POINTS["solve"])
entry("solve_triangular", solve_triangular, [sample("cwell(i,j)", "real(i,a)", **IJ, transposed=True, lower=False)], points=POINTS["solve_triangular"])
entry("inv", matrices(np.linalg.inv, MATRIX), [sample("cwell(i,j)", **IJ)], points=POINTS["inv"])
entry("pinv", pinv, [sample("cwell(i,j)", **IJ)], points=POINTS["pinv"])
entry("lstsq", lambda a, b, dims: solve(a, b, dims, np.linalg.pinv), [sample("cwell(i,j)", "real(i,a)", **IJ)], single=False, points=POINTS["lstsq"])
entry("qr", matrices(lambda a, mode="reduced": tuple(np.linalg.qr(a, mode)), ("row", "new"), ("new", "col")), [sample("cwell(i,j)", **IJ)], points=POINTS["qr"])
entry("lu", matrices(batched(lu), ("row",), ("row", "new"), ("new", "col")), [sample("cwell(i,j)", **IJ)], points=POINTS["lu"])
entry("eigh", matrices(lambda a: tuple(np.linalg.eigh(a)), ("new",), ("row", "new")), points=POINTS["eigh"])
entry("eigvalsh", matrices(lambda a, lower=True: np.linalg.eigvalsh(a, "L" if lower else "U"), ("new",)), [sample("spd(i,j)", **IJ, lower=False)], points=POINTS["eigvalsh"])
entry("eig", matrices(lambda a: tuple(x.astype(complex) for x in np.linalg.eig(a)), ("new",), ("row", "new")), points=POINTS["eig"])
entry("eigvals", matrices(lambda a: np.linalg.eigvals(a).astype(complex), ("new",)), points=POINTS["eigvals"])
entry("svd", lambda a, dims, **kw: matrices(svd, *([("row", "new"), ("new",), ("new", "col")] if kw.get("compute_uv", True) else [("new",)]))(a, dims=dims, **kw), [sample("cwell(i,j)", **IJ, compute_uv=False)], points=POINTS["svd"])
entry("det", matrices(np.linalg.det, ()), points=POINTS["det"])
entry("slogdet", matrices(lambda a: tuple(np.linalg.slogdet(a)), (), ()), points=POINTS["slogdet"])
entry("logdet", matrices(lambda a: np.log(np.linalg.det(a)), ()), points=POINTS["logdet"])
entry("trace", lambda a, dims, offset=0: xr.DataArray(np.trace(a.transpose(..., *dims).to_numpy(), offset, -2, -1), dims=[d for d in a.dims if d not in dims]), [sample("real(a,b)", dims=("a", "b"), offset=1)], points=POINTS["trace"])
entry("matrix_power", matrices(np.linalg.matrix_power, MATRIX), points=POINTS["matrix_power"])
entry("expm", matrices(scipy.linalg.expm, MATRIX), points=POINTS["expm"])
entry("sqrtm", matrices(batched(scipy.linalg.sqrtm), MATRIX), points=POINTS["sqrtm"])
entry("logm", matrices(batched(scipy.linalg.logm), MATRIX), points=POINTS["logm"])
entry("matrix_norm", matrices(lambda a, ord="fro": np.linalg.norm(a, ord, (-2, -1)), ()), points=POINTS["matrix_norm"])
entry("cond", matrices(lambda a, ord=None: np.linalg.cond(a, ord), ()), points=POINTS["cond"])
entry("matrix_rank", matrices(np.linalg.matrix_rank, ()), points=POINTS["matrix_rank"])
entry("cross", lambda a, b, dim: xr.cross(a, b, dim=dim), [sample("real(a,three)", "real(three,c)", dim="three")], points=POINTS["cross"])
entry("multi_dot", xr.dot, points=POINTS["multi_dot"])
