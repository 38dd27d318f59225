"""Reductions."""

import numpy as np
import scipy.special
import xarray as xr

from tests.support.domains import DOMAINS, domain
from tests.support.grid import by_method, entry, point, sample

NAN, INF = np.nan, np.inf


@domain("zeros")
def zeros(rng, shape):
    """About a third of the cells are 0."""
    return DOMAINS["real"](rng, shape) * (rng.uniform(size=shape) > 0.35)



SAMPLES = {
    "sum": [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=()), sample("missing(a,b)", dim="b", skipna=False),
            sample("missing(a,b)", dim="b", min_count=3), sample("missing(a,b)", dim=("b", "a"), keepdims=True)],
    "mean": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", keepdims=True)],
    "var": [sample("missing(a,b)", dim="b", ddof=1), sample("real(a,b,c)", dim=("c", "a"), keepdims=True),
            sample("missing(a,b)", dim="b", skipna=False)],
    "std": [sample("complex(a,b)", dim="b"), sample("real(a,b)")],
    "prod": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", min_count=3), sample("real(a,b,c)", dim=("a", "c")),
             sample("zeros(a,b)", dim="b"), sample("zeros(a,b,c)", dim=("c", "b")), sample("zeros(a,b)")],
    "max": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", dim="a", keepdims=True)],
    "min": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False)],
    "any": [sample("bool(a,b)", dim="b", keepdims=True)],
    "all": [sample("bool(a,b)", dim="b", keepdims=True)],
    "count": [sample("missing(a,b)", keepdims=True)],
}  # fmt: skip
# Gradients of the sum over q of a 2-d array whose cells are [[1, nan], [2, 3]], and of others alike.
ONE_GONE = [[1.0, NAN], [2.0, 3.0]]
POINTS = {
    "sum": [point(ONE_GONE, dim="q", value=[1.0, 5.0], gradients=[lambda c: [[c[0], 0], [c[1], c[1]]]]),
            point([NAN, NAN], value=0.0, gradients=[lambda c: [0, 0]]),
            point([NAN, 1.0], min_count=2, value=NAN, gradients=[lambda c: [0, 0]]),
            point([INF, 1.0], value=INF, gradients=[lambda c: [c, c]])],
    "mean": [point(ONE_GONE, dim="q", value=[1.0, 2.5], gradients=[lambda c: [[c[0], 0], [c[1] / 2, c[1] / 2]]]),
             point([NAN, NAN], value=NAN, gradients=[lambda c: [0, 0]]),
             point([5.0], value=5.0, gradients=[lambda c: [c]])],
    "var": [point([2.0, 2.0], value=0.0, gradients=[lambda c: [0, 0]]),
            point([1.0, NAN, 3.0], value=1.0, gradients=[lambda c: [-c, 0, c]]),
            point([1.0, 3.0], ddof=1, value=2.0, gradients=[lambda c: [-2 * c, 2 * c]])],
    "std": [point([2.0, 2.0, 2.0], value=0.0, gradients=[lambda c: [0, 0, 0]]),
            point([1.0, NAN, 3.0], value=1.0, gradients=[lambda c: [-c / 2, 0, c / 2]]),
            point([NAN], value=NAN, gradients=[lambda c: [0]])],
    "prod": [point([0.0, 3.0, 4.0], value=0.0, gradients=[lambda c: [12 * c, 0, 0]]),
             point([0.0, 3.0, 0.0], value=0.0, gradients=[lambda c: [0, 0, 0]]),
             point([1e-200, 1e-200, 1e300], value=0.0, gradients=[lambda c: [c * 1e100, c * 1e100, 0]]),
             point([NAN, 3.0, 4.0], value=12.0, gradients=[lambda c: [0, 4 * c, 3 * c]]),
             point([1e200, 1e200, 1e-250], value=INF, gradients=[lambda c: [c * 1e-50, c * 1e-50, np.copysign(INF, c)]])],
    "max": [point([1.0, 4.0, 4.0], value=4.0, gradients=[lambda c: [0, c / 2, c / 2]]),
            point([NAN, 2.0, 1.0], value=2.0, gradients=[lambda c: [0, c, 0]]),
            point([NAN, NAN], value=NAN, gradients=[lambda c: [0, 0]]),
            point([INF, 1.0, INF], value=INF, gradients=[lambda c: [c / 2, 0, c / 2]])],
    "min": [point([1.0, 1.0, 4.0, 1.0], value=1.0, gradients=[lambda c: [c / 3, c / 3, 0, c / 3]]),
            point([NAN, 2.0, 1.0], value=1.0, gradients=[lambda c: [0, 0, c]]),
            point([0.0, -0.0], value=0.0, gradients=[lambda c: [c / 2, c / 2]])],
    "any": [point([False, True], value=True), point([0.0, 0.0], value=False), point(np.zeros((2, 0)), dim="q", value=[False, False])],
    "all": [point([False, True], value=False), point([1.0, 2.0], value=True), point(np.zeros((2, 0)), dim="q", value=[True, True])],
    "count": [point(ONE_GONE, dim="q", value=[1, 2]), point([NAN], value=0), point([INF, 0.0], value=2)],
}  # fmt: skip


def kept(y, x, dim, keepdims):
    """The result with the reduced dims at size 1, where they were."""
    if not keepdims:
        return y
    gone = [d for d in x.dims if d not in y.dims]
    return y.expand_dims(gone).transpose(*x.dims)


def truth(name):
    return lambda x, dim=None, keepdims=False: kept(getattr(x, name)(dim), x, dim, keepdims)


for name in ("sum", "mean", "var", "std", "max", "min", "prod"):
    entry(name, by_method(name), SAMPLES[name], POINTS[name])
for name in ("any", "all", "count"):
    entry(name, truth(name), SAMPLES[name], POINTS[name])


def without(name):
    return lambda x, *more, **kw: getattr(x, name)(*more, skipna=True, **kw)


NAN_POINTS = {
    "sum": (5.0, lambda c: [c, 0, c]), "mean": (2.5, lambda c: [c / 2, 0, c / 2]), "prod": (6.0, lambda c: [3 * c, 0, 2 * c]),
    "max": (3.0, lambda c: [0, 0, c]), "min": (2.0, lambda c: [c, 0, 0]), "var": (0.25, lambda c: [-c / 2, 0, c / 2]),
    "std": (0.5, lambda c: [-c / 2, 0, c / 2]),
}  # fmt: skip
for name, (value, gradient) in NAN_POINTS.items():
    nothing = 0.0 if name == "sum" else 1.0 if name == "prod" else NAN
    entry(
        f"nan{name}",
        without(name),
        points=[
            point([2.0, NAN, 3.0], value=value, gradients=[gradient]),
            point([NAN, NAN], value=nothing, gradients=[lambda c: [0, 0]]),
            point([[NAN, NAN], [NAN, NAN]], dim="q", value=[nothing, nothing], gradients=[lambda c: [[0, 0], [0, 0]]]),
        ],
    )

# ------------------------------------------------------------------------------------------------ weights, two arrays


def average(x, weights=None, dim=None, keepdims=False):
    y = x.mean(dim) if weights is None else x.weighted(weights).mean(dim)
    return kept(y, x, dim, keepdims)


entry(
    "average",
    average,
    samples=[sample("real(a,b)", dim="a"), sample("complex(a,b)", "positive(a)", dim="a"), sample("missing(a)", "positive(a,b)")],
    points=[
        point([1.0, NAN, 3.0], [1.0, 5.0, 3.0], value=2.5, gradients=[lambda c: [c / 4, 0, 3 * c / 4], lambda c: [-1.5 * c / 4, 0, 0.5 * c / 4]]),
        point([1.0, 2.0], [1.0, -1.0], value=NAN, gradients=[lambda c: [0, 0], lambda c: [0, 0]]),
        point([1.0, 3.0], [0.0, 2.0], value=3.0, gradients=[lambda c: [0, c], lambda c: [-c, 0]]),
    ],
    single=False,
)
entry(
    "cov",
    xr.cov,
    samples=[sample("real(a,b)", "real(a)", dim="a", ddof=0)],
    points=[
        point([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], value=2.0, gradients=[lambda c: [-c, 0, c], lambda c: [-c / 2, 0, c / 2]]),
        point([1.0, NAN, 3.0], [2.0, 5.0, 6.0], ddof=0, value=2.0, gradients=[lambda c: [-c, 0, c], lambda c: [-c / 2, 0, c / 2]]),
        point([1.0, 1.0], [2.0, 5.0], value=0.0, gradients=[lambda c: [-1.5 * c, 1.5 * c], lambda c: [0, 0]]),
    ],
    single=False,
)
entry(
    "corr",
    xr.corr,
    samples=[sample("real(a,nine)", "real(nine)", dim="nine")],
    points=[
        point([0.0, 2.0], [1.0, 3.0], value=1.0, gradients=[lambda c: [0, 0], lambda c: [0, 0]]),
        point([1.0, 2.0], [5.0, -3.0], value=-1.0, gradients=[lambda c: [0, 0], lambda c: [0, 0]]),
        point([-1.0, 0.0, 1.0], [1.0, -2.0, 1.0], value=0.0, gradients=[lambda c: c * np.array([1, -2, 1]) / 12**0.5, lambda c: c * np.array([-1, 0, 1]) / 12**0.5]),
    ],
    single=False,
)

# ------------------------------------------------------------------------------------------------ the others

entry(
    "ptp",
    lambda x, dim=None, skipna=None, keepdims=False: kept(x.max(dim, skipna=skipna) - x.min(dim, skipna=skipna), x, dim, keepdims),
    points=[
        point([3.0, -1.0, 2.0], value=4.0, gradients=[lambda c: [c, -c, 0]]),
        point([2.0, 2.0], value=0.0, gradients=[lambda c: [0, 0]]),
        point([NAN, 1.0, 1.0, 5.0], value=4.0, gradients=[lambda c: [0, -c / 2, -c / 2, c]]),
    ],
)


def logsumexp(x, weights=None, dim=None, keepdims=False):
    if weights is not None:
        top = x.max(dim)
        return np.log((np.exp(x - top) * weights).sum(dim)) + top
    return x.reduce(scipy.special.logsumexp, dim, keepdims=keepdims)


entry(
    "logsumexp",
    logsumexp,
    samples=[sample("real(a,b)", dim="a", keepdims=True), sample("complex(a,b)", dim="b")],
    points=[
        point([-INF, -INF], value=-INF, gradients=[lambda c: [0, 0]]),
        point([1000.0, 1000.0], value=1000 + np.log(2), gradients=[lambda c: [c / 2, c / 2]]),
        point([-INF, 3.0], value=3.0, gradients=[lambda c: [0, c]]),
        point([-1e4, -1e4], value=-1e4 + np.log(2), gradients=[lambda c: [c / 2, c / 2]]),
    ],
)


def place(f):
    def reference(x, dim=None, skipna=None, keepdims=False):
        y = xr.DataArray(f(x.to_numpy())) if dim is None else x.reduce(f, dim)
        return kept(y, x, dim, keepdims)

    return reference


def label(f, low):
    """Positions as floats, so that there is a place for what stands where nothing is present."""

    def reference(x, dim=None, fill_value=NAN):
        return x.fillna(low).reduce(f, dim).astype(float).where(x.notnull().any(dim), fill_value)

    return reference


for name in ("argmax", "argmin"):
    sign = 1 if name == "argmax" else -1
    entry(
        name,
        place(getattr(np, name)),
        points=[
            point([sign * 4.0, sign * 7.0, sign * 7.0], value=1),
            point([NAN, sign * 2.0, sign * 3.0], value=2),
            point([1.0, NAN], skipna=False, value=1),
            point([[sign * 1.0, NAN], [NAN, sign * 5.0]], dim=("q", "p"), value=3),
        ],
    )
    entry(
        f"nan{name}",
        place(getattr(np, f"nan{name}")),
        points=[point([sign * 4.0, NAN, sign * 7.0], value=2), point([NAN, 1.0], value=1), point([3.0, 3.0], value=0)],
        single=False,
    )
    entry(
        f"idx{name[3:]}",
        label(getattr(np, f"nan{name}"), -sign * INF),
        points=[
            point([4, 7, 7] if sign > 0 else [7, 4, 4], value=1),
            point([[NAN, NAN], [1.0, NAN]], dim="q", value=[NAN, 0.0]),
            point([NAN, NAN], fill_value=-1.0, value=-1.0),
        ],
    )
entry(
    "count_nonzero",
    lambda x, dim=None, keepdims=False: kept((x != 0).sum(dim), x, dim, keepdims),
    points=[point([0.0, 2.0, -0.0], value=1), point([NAN, 0.0], value=1), point([[True, False], [True, True]], dim="q", value=[1, 2])],
)



def histogram(x, bins=10, dim=None, **kw):
    """Slice by slice."""
    dims = x.dims if dim is None else (dim,)
    rest = [d for d in x.dims if d not in dims]
    a = x.transpose(*rest, *dims).to_numpy()
    lead = a.shape[: len(rest)]
    rows = [np.histogram(row, bins, **kw) for row in a.reshape(-1, int(np.prod(a.shape[len(rest) :], dtype=int)))]
    counts = np.array([r[0] for r in rows]).reshape(*lead, -1)
    edges = np.array([r[1] for r in rows]).reshape(*lead, -1)
    return xr.DataArray(counts, dims=(*rest, "bin")), xr.DataArray(edges, dims=(*rest, "edge"))


entry("histogram", histogram, points=[
    point([1.0, 2.0, 1.0, 4.0], bins=[1.0, 2.0, 4.0], value=([2, 2], [1.0, 2.0, 4.0])), point([2.0, 2.0], bins=1, value=([2], [1.5, 2.5])), point([NAN, 1.0], bins=[0.0, 2.0], value=([1], [0.0, 2.0]))])  # fmt: skip

# ------------------------------------------------------------------------------------------------ norms


def vector_norm(x, dim=None, ord=2, keepdims=False):
    return kept(x.reduce(lambda a, axis=None: np.linalg.vector_norm(a, axis=axis, ord=2 if ord is None else ord), dim), x, dim, keepdims)


ZERO = point([0.0, 0.0], value=0.0, gradients=[lambda c: [0, 0]])
entry(
    "vector_norm",
    vector_norm,
    samples=[sample("nonzero(a,b)", dim="b", ord=0), sample("complex(a,b)", dim="b", ord=1)],
    points=[
        ZERO,
        point([3.0, -4.0], value=5.0, gradients=[lambda c: [0.6 * c, -0.8 * c]]),
        point([3e-200, -4e-200], value=5e-200, gradients=[lambda c: [0.6 * c, -0.8 * c]]),
        point([3e200, -4e200], value=5e200, gradients=[lambda c: [0.6 * c, -0.8 * c]]),
        point([0.0, -4.0], ord=1, value=4.0, gradients=[lambda c: [0, -c]]),
        point([4.0, -4.0], ord=INF, value=4.0, gradients=[lambda c: [c / 2, -c / 2]]),
        point([0.0, -4.0], ord=0.5, value=4.0, gradients=[lambda c: [0, -c]]),
        point([0.0, -4.0], ord=-1, value=0.0, gradients=[lambda c: [0, 0]]),
        point([0.0, 0.0], ord=3, value=0.0, gradients=[lambda c: [0, 0]]),
        point([1e150, 1e150], ord=3, value=2 ** (1 / 3) * 1e150, gradients=[lambda c: c * 2 ** (-2 / 3) * np.ones(2)]),
        point([0.0, -4.0], ord=0, value=1.0, gradients=None),
    ],
)
entry("norm", vector_norm, points=[ZERO, point([3.0, -4.0], value=5.0, gradients=[lambda c: [0.6 * c, -0.8 * c]]),
                                   point([2.0, -4.0], ord=1, value=6.0, gradients=[lambda c: [c, -c]])])  # fmt: skip
entry(
    "dist",
    lambda x, y, dim=None, ord=2: vector_norm(x - y, dim, ord),
    points=[
        point([1.0, 2.0], [1.0, 2.0], value=0.0, gradients=[lambda c: [0, 0], lambda c: [0, 0]]),
        point([3.0, 0.0], [0.0, 4.0], value=5.0, gradients=[lambda c: [0.6 * c, -0.8 * c], lambda c: [-0.6 * c, 0.8 * c]]),
        point([3.0, 0.0], [0.0, 4.0], ord=1, value=7.0, gradients=[lambda c: [c, -c], lambda c: [-c, c]]),
    ],
)


def renorm(x, dim=None, maxnorm=1.0, ord=2):
    size = vector_norm(x, dim, ord)
    return x * xr.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


entry(
    "renorm",
    renorm,
    points=[
        point([0.3, 0.4], maxnorm=1.0, value=[0.3, 0.4], gradients=[lambda c: c]),
        point([0.0, 0.0], maxnorm=0.0, value=[0.0, 0.0], gradients=[lambda c: c]),
        point([5.0], maxnorm=1.0, value=[5 / (5 + 1e-7)], gradients=[lambda c: c * (1 / (5 + 1e-7) - 5 / (5 + 1e-7) ** 2)]),
    ],
)
