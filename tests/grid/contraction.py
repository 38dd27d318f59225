"""Products summed by name, distances, blocks."""

import math

import numpy as np
import scipy.linalg
import scipy.spatial.distance
import xarray as xr

import namedgrad as ng
from tests.support.domains import DOMAINS, domain
from tests.support.grid import entry, point, sample


def dot(*xs, dim=None):
    if isinstance(dim, dict):
        xs = (xs[0], xs[1].rename({n: f"{m}{n}" for m, n in dim.items()}))
        xs = (xs[0].rename({m: f"{m}{n}" for m, n in dim.items()}), xs[1])
        dim = [f"{m}{n}" for m, n in dim.items()]
    return xr.dot(*xs, dim=dim)


def bilinear(x1, weight, x2, bias=None, dim=None):
    out = (x1 * weight * x2).sum([n for n in weight.dims if n in x1.dims or n in x2.dims] if dim is None else dim)
    return out if bias is None else out + bias


def vecdot(x, y, dim=None):
    return xr.dot(x.conj(), y, dim=dim)


def kron(x, y, dim=None):
    dims = [n for n in x.dims if n in y.dims] if dim is None else [dim]
    names = list(dict.fromkeys((*x.dims, *y.dims)))
    batch = [n for n in names if n not in dims and n in x.dims and n in y.dims]
    x, y = (v.expand_dims([n for n in names if n not in v.dims]).transpose(*batch, *(n for n in names if n not in batch)) for v in (x, y))
    parts = [np.kron(x.to_numpy()[at], y.to_numpy()[at]) for at in np.ndindex(*(x.sizes[n] for n in batch))]
    shape = (*(x.sizes[n] for n in batch), *(x.sizes[n] * y.sizes[n] for n in names if n not in batch))
    return xr.DataArray(np.array(parts).reshape(shape), dims=(*batch, *(n for n in names if n not in batch))).transpose(*names)


def cdist(x, y, dim, p=2, compute_mode="direct"):
    d = abs(x - y)
    if p == 0:
        return (d != 0).sum(dim).astype(float)
    return d.max(dim) if p == math.inf else (d**p).sum(dim) ** (1 / p)


def pdist(x, dims, p=2, new_dim="pair"):
    def one(v):
        return scipy.spatial.distance.pdist(v, "chebyshev" if p == math.inf else "minkowski", **({} if p == math.inf else {"p": p}))

    rest = [n for n in x.dims if n not in dims]
    flat = x.transpose(*rest, *dims).to_numpy()
    out = np.array([one(flat[at]) for at in np.ndindex(*flat.shape[:-2])])
    return xr.DataArray(out.reshape(*flat.shape[:-2], -1), dims=(*rest, new_dim))


def block_diag(*xs, dims):
    full = [x.expand_dims([n for n in dims if n not in x.dims]) for x in xs]
    names = tuple(dict.fromkeys(n for x in full for n in x.dims if n not in dims))
    batch = {n: s for x in full for n, s in x.sizes.items() if n not in dims}
    out = np.empty(
        (*(batch[n] for n in names), sum(x.sizes[dims[0]] for x in full), sum(x.sizes[dims[1]] for x in full)),
        np.result_type(*(x.dtype for x in xs)),
    )
    for at in np.ndindex(*(batch[n] for n in names)):
        place = dict(zip(names, at, strict=True))
        cells = [x.isel({n: i for n, i in place.items() if n in x.dims}).transpose(*dims).to_numpy() for x in full]
        out[at] = scipy.linalg.block_diag(*cells)
    return xr.DataArray(out, dims=(*names, *dims))


def cartesian_prod(*xs, dim=None, new_dims=("combination", "variable")):
    own = [x.dims[0] for x in xs] if dim is None else list(dim)
    batch = list(dict.fromkeys(n for x in xs for n in x.dims if n not in own))
    wide = [w.transpose(*batch, *own) for w in xr.broadcast(*xs)]
    flat = [w.to_numpy().reshape(*w.shape[: len(batch)], -1) for w in wide]
    return xr.DataArray(np.stack(flat, -1), dims=(*batch, *new_dims))


@domain("stretched")
def stretched(rng, shape):
    """The largest difference of two points is never nearly another."""
    return DOMAINS["real"](rng, shape) * 8.0 ** np.arange(shape[-1] if shape else 1)


NAN = math.nan
X = ng.DimArray([[1.0, 2.0], [3.0, -1.0]], ("i", "j"))

entry(
    "dot",
    dot,
    samples=[
        sample("complex(a,b)", "complex(c,b)"), sample("real(a,b)", "real(b,a)", dim=...), sample("real(a,b,c)", "real(c,a,b)", dim=("c", "b")),
        sample("real(a,b)", dim="a"), sample("real(a)", "real(b)", "real(c)", "real(a,c)", dim="c"), sample("real(a,b)", "complex(b,c)"),
        sample("real(a,b)", "real(b)", dim="a"), sample("real(i,a,b)", "complex(j,c,b)", dim={"i": "j", "b": "b"}), sample("real(a,b)"),
        sample("real(a,b)", "real(b,c)", "complex(c,i)", "real(i,a)", "real(j)", dim=("b", "c", "i")),
    ],
    points=[
        point(X, [], value=np.zeros((2, 2, 0)), gradients=[np.zeros((2, 2)), []]),
        point([], [], value=0.0, gradients=[[], []]),
        point([1.0, math.inf], [2.0, 0.5], value=math.inf, gradients=[[2.0, 0.5], [1.0, math.inf]], cotangent=1.0),
        point(2.0, 3.0, value=6.0, gradients=[lambda c: 3 * c, lambda c: 2 * c]),
    ],
)  # fmt: skip
entry(
    "matmul",
    xr.dot,
    [sample("complex(a,b)", "complex(b,c)", dim="b"), sample("real(b,a,c)", "real(c,i,a)", dim="c")],
    points=[
        point(ng.zeros({"i": 2, "k": 0}), ng.zeros({"k": 0, "j": 2}), dim="k", value=np.zeros((2, 2)), gradients=[np.zeros((2, 0)), np.zeros((0, 2))]),
        point([3.0], [2.0], dim="p", value=6.0, gradients=[lambda c: [2 * c], lambda c: [3 * c]]),
        point(X, X.rename(i="j", j="k"), dim="j", value=[[7.0, 0.0], [0.0, 7.0]], gradients=[lambda c: c @ X.data.T, lambda c: X.data.T @ c]),
    ],
)
entry(
    "outer",
    lambda x, y: x * y,
    [sample("complex(a)", "real(b,c)"), sample("real()", "real(a)")],
    points=[
        point(ng.ones({"i": 2}), ng.ones({"j": 0}), value=np.zeros((2, 0)), gradients=[np.zeros(2), []]),
        point(2.0, 3.0, value=6.0, gradients=[lambda c: 3 * c, lambda c: 2 * c]),
        point(ng.DimArray([0.0], "i"), ng.DimArray([1.0, 0.0], "j"), value=[[0.0, 0.0]], gradients=[lambda c: c[:, 0], [0.0, 0.0]]),
    ],
)
entry(
    "inner",
    lambda x, y, dim=None: xr.dot(x, y, dim=dim),
    [sample("real(a,b)", "complex(b,a)", dim=("a", "b")), sample("real(a)", "real(b)")],
    points=[
        point([], [], value=0.0, gradients=[[], []]),
        point([2.0], [3.0], value=6.0, gradients=[lambda c: [3 * c], lambda c: [2 * c]]),
        point([1j, 1.0], [1j, 2.0], value=1.0 + 0j, gradients=[lambda c: c * np.array([-1j, 2.0]), lambda c: c * np.array([-1j, 1.0])]),
    ],
)
entry(
    "vecdot",
    vecdot,
    [sample("complex(a,b)", "real(a)", dim="a"), sample("real(a,b)", "complex(a,b)", dim=("a", "b"))],
    points=[
        point([], [], value=0.0, gradients=[[], []]),
        point([2.0], [3.0], value=6.0, gradients=[lambda c: [3 * c], lambda c: [2 * c]]),
        point([1j, 1.0], [1j, 2.0], value=3.0 + 0j, gradients=[lambda c: np.conj(c) * np.array([1j, 2.0]), lambda c: c * np.array([1j, 1.0])]),
    ],
)
entry(
    "vdot",
    lambda x, y: xr.dot(x.conj(), y, dim=...),
    [sample("real(a,b)", "complex(b,a)"), sample("complex(a)", "real(a)")],
    points=[
        point([], [], value=0.0, gradients=[[], []]),
        point(2.0, 3.0, value=6.0, gradients=[lambda c: 3 * c, lambda c: 2 * c]),
        point([2.0], [3.0], value=6.0, gradients=[lambda c: [3 * c], lambda c: [2 * c]]),
    ],
)
entry(
    "bilinear",
    bilinear,
    [sample("complex(a)", "real(b,a,c)", "real(c)", dim=("a", "c")), sample("real(a)", "real(a,b)", "real(c)")],
    points=[
        point([1.0, 2.0], ng.eye("p", "q", 2), ng.DimArray([3.0, 4.0], "q"), value=11.0,
              gradients=[lambda c: c * np.array([3.0, 4.0]), lambda c: c * np.array([[3.0, 4.0], [6.0, 8.0]]), lambda c: c * np.array([1.0, 2.0])]),
        point([], ng.zeros({"p": 0, "q": 1}), ng.ones({"q": 1}), 2.0, value=2.0, gradients=[[], np.zeros((0, 1)), [0.0], lambda c: c]),
        point([0.0], ng.DimArray([[math.inf]], ("p", "q")), ng.DimArray([0.0], "q"), cotangent=0.0, value=NAN, gradients=[[0.0], [[0.0]], [0.0]]),
    ],
)  # fmt: skip
entry(
    "kron",
    kron,
    [sample("real(a,b)", "complex(c,b)", dim="b"), sample("real(a,b)", "real(b,a)"), sample("real(a)", "real(a)", dim="a")],
    points=[
        point([1.0, 10.0], [1.0, 2.0], value=[1.0, 2.0, 10.0, 20.0], gradients=[lambda c: c.reshape(2, 2) @ [1.0, 2.0], lambda c: [1.0, 10.0] @ c.reshape(2, 2)]),
        point([], [1.0, 2.0], value=[], gradients=[[], [0.0, 0.0]]),
        point(2.0, 3.0, value=6.0, gradients=[lambda c: 3 * c, lambda c: 2 * c]),
    ],
)
SAME = ng.DimArray([[1.0, -2.0]], ("i", "k"))
AT = ng.DimArray([[1.0, -2.0]], ("j", "k"))
TIE = ng.DimArray([[2.0, -1.0]], ("j", "k"))
entry(
    "cdist",
    cdist,
    [sample("real(a,b,c)", "real(c,i)", dim="c"), sample("real(c)", "real(c)", dim="c", p=4), sample("above_one(a,nine)", "unit(b,nine)", dim="nine", p=0.5),
     sample("real(a,c)", "real(c,a)", dim="c", compute_mode="matmul")],
    points=[
        *(point(SAME, AT, dim="k", p=p, value=[[0.0]], gradients=[[[0.0, 0.0]], [[0.0, 0.0]]]) for p in (0, 0.5, 1, 1.5, 2, 3, math.inf)),
        point(SAME, AT, dim="k", compute_mode="matmul", value=[[0.0]], gradients=[[[0.0, 0.0]], [[0.0, 0.0]]]),
        point(SAME, TIE, dim="k", p=math.inf, value=[[1.0]], gradients=[lambda c: c * np.array([-0.5, -0.5]), lambda c: c * np.array([0.5, 0.5])]),
        point(SAME, TIE, dim="k", p=0, value=[[2.0]], gradients=[[[0.0, 0.0]], [[0.0, 0.0]]]),
        point(ng.ones({"i": 2, "k": 0}), ng.ones({"j": 1, "k": 0}), dim="k", value=np.zeros((2, 1)), gradients=[np.zeros((2, 0)), np.zeros((1, 0))]),
        point(ng.ones({"i": 0, "k": 2}), ng.ones({"j": 1, "k": 2}), dim="k", value=np.zeros((0, 1)), gradients=[np.zeros((0, 2)), np.zeros((1, 2))]),
    ],
)  # fmt: skip
entry(
    "pdist",
    pdist,
    [sample("real(nine,six)", dims=("nine", "six")), sample("real(c,six,nine)", dims=("six", "nine"), p=4), sample("stretched(b,c,six)", dims=("c", "six"), p=math.inf)],
    points=[
        *(point([[1.0], [1.0]], dims=("p", "q"), p=p, value=[0.0], gradients=[[[0.0], [0.0]]]) for p in (0, 1, 1.5, 2, 3, math.inf)),
        point([[0.0, 0.0], [3.0, 4.0]], dims=("p", "q"), value=[5.0], gradients=[lambda c: c * np.array([[-0.6, -0.8], [0.6, 0.8]])]),
        point([[0.0, 1.0]], dims=("p", "q"), value=[], gradients=[[[0.0, 0.0]]]),
    ],
)
entry(
    "block_diag",
    block_diag,
    points=[
        point([[2.0]], ng.DimArray([3.0, 4.0], "q"), dims=("p", "q"), value=[[2.0, 0.0, 0.0], [0.0, 3.0, 4.0]], gradients=[lambda c: c[:1, :1], lambda c: c[1, 1:]]),
        point(2.0, dims=("p", "q"), value=[[2.0]], gradients=[lambda c: c[0, 0]]),
        point(ng.ones({"p": 0, "q": 2}), [[1.0]], dims=("p", "q"), value=[[0.0, 0.0, 1.0]], gradients=[np.zeros((0, 2)), lambda c: c[:, 2:]]),
    ],
)
entry(
    "cartesian_prod",
    cartesian_prod,
    points=[
        point([1.0, 2.0], value=[[1.0], [2.0]], gradients=[lambda c: c[:, 0]]),
        point(ng.DimArray([1.0], "a"), ng.DimArray([2.0, 3.0], "b"), value=[[1.0, 2.0], [1.0, 3.0]], gradients=[lambda c: [c[:, 0].sum()], lambda c: c[:, 1]]),
        point(ng.ones({"a": 0}), ng.ones({"b": 2}), value=np.zeros((0, 2)), gradients=[[], [0.0, 0.0]]),
    ],
)
