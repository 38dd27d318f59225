"""Order: sort, topk, median, quantiles, and which values there are."""

import numpy as np
import scipy.stats
import xarray as xr

from tests.support.domains import domain
from tests.support.grid import along, entry, point, sample

NAN, INF = np.nan, np.inf
NUMPY_METHODS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
                 "normal_unbiased", "lower", "higher", "midpoint", "nearest")  # fmt: skip


@domain("few")
def few(rng, shape):
    """Few distinct values, so that most cells tie."""
    return rng.integers(-1, 2, shape) / 2


def reduced(f):
    """A function of an array and an axis, which it removes."""
    return lambda x, *more, dim=None, **kw: x.reduce(lambda a, axis=0: f(a, *more, axis=axis, **kw), x.dims[0] if dim is None else dim)


def ordered(a, axis, descending=False):
    a = np.flip(a, axis) if descending else a
    out = np.sort(a, axis=axis, kind="stable")
    return np.flip(out, axis) if descending else out


def order(a, axis, descending=False):
    a = np.flip(a, axis) if descending else a
    out = np.argsort(a, axis=axis, kind="stable")
    return np.flip(a.shape[axis] - 1 - out, axis) if descending else out


entry(
    "sort",
    along(ordered),
    samples=[sample("real(six)"), sample("real(nine,b)", dim="nine")],
    points=[
        point([2.0, 1.0, 2.0], value=[1.0, 2.0, 2.0], gradients=[lambda c: [c[1], c[0], c[2]]]),
        point([2.0, 1.0, 2.0], descending=True, value=[2.0, 2.0, 1.0], gradients=[lambda c: [c[0], c[2], c[1]]]),
        point([INF, -INF, 0.0, -0.0], value=[-INF, 0.0, -0.0, INF], gradients=[lambda c: [c[3], c[0], c[1], c[2]]]),
        point([NAN, 1.0, NAN, 0.0], value=[0.0, 1.0, NAN, NAN], gradients=[lambda c: [c[2], c[1], c[3], c[0]]], cotangent=[0.3, -1.2, 0.7, 2.1]),
    ],
)
def ranks(a, axis, pct=False):
    found = scipy.stats.rankdata(a, axis=axis, nan_policy="omit")
    return found / np.isfinite(found).sum(axis, keepdims=True) if pct else found


entry(
    "rank",
    along(ranks),
    samples=[sample("few(a,b)", dim="a"), sample("few(nine,b)", dim="nine", pct=True), sample("int(a,b)", dim="b")],
    points=[
        point([2.0, 1.0, 2.0, NAN], dim="p", value=[2.5, 1.0, 2.5, NAN]),
        point([INF, -0.0, -INF, 0.0], dim="p", pct=True, value=[1.0, 0.625, 0.25, 0.625]),
        point([NAN, NAN], dim="p", pct=True, value=[NAN, NAN]),
    ],
)
entry(
    "argsort",
    along(order),
    points=[
        point([2.0, 1.0, 2.0], value=[1, 0, 2]),
        point([2.0, 1.0, 2.0], descending=True, value=[0, 2, 1]),
        point([NAN, 0.0, -0.0, NAN], value=[1, 2, 0, 3]),
    ],
)


def partition(a, axis, kth):
    return np.partition(a, kth, axis=axis)


entry(
    "partition",
    along(partition),
    points=[
        point([3.0, 1.0], kth=0, value=[1.0, 3.0], gradients=[lambda c: [c[1], c[0]]]),
        point([3.0, 1.0, 2.0], kth=(0, 1), value=[1.0, 2.0, 3.0], gradients=[lambda c: [c[2], c[0], c[1]]]),
        point([2.0], kth=-1, value=[2.0], gradients=[lambda c: c]),
    ],
)


def topk(a, k, axis, largest=True):
    return np.take(ordered(a, axis, largest), range(k), axis)


entry(
    "topk",
    lambda x, k, dim=None, **kw: xr.DataArray(topk(x.to_numpy(), k, 0 if dim is None else x.dims.index(dim), **kw), dims=x.dims),
    points=[
        point([3.0, 1.0, 4.0], k=2, value=[4.0, 3.0], gradients=[lambda c: [c[1], 0, c[0]]]),
        point([1.0, 1.0, 1.0], k=2, value=[1.0, 1.0], gradients=[lambda c: [c[0], c[1], 0]]),
        point([1.0, 2.0], k=0, value=[], gradients=[lambda c: [0, 0]]),
    ],
    single=False,
)
entry(
    "kthvalue",
    lambda x, k, dim=None: reduced(lambda a, k, axis: np.take(np.sort(a, axis=axis), k - 1, axis))(x, k, dim=dim),
    points=[
        point([3.0, 1.0, 4.0], k=2, value=3.0, gradients=[lambda c: [c, 0, 0]]),
        point([1.0, 1.0, 1.0], k=2, value=1.0, gradients=[lambda c: [0, c, 0]]),
        point([5.0], k=1, value=5.0, gradients=[lambda c: [c]]),
    ],
    single=False,
)
entry(
    "mode",
    reduced(lambda a, axis: scipy.stats.mode(a, axis=axis).mode),
    samples=[sample("real(six)")],
    points=[
        point([3.0, 1.0, 3.0, 2.0], value=3.0, gradients=[lambda c: [0, 0, c, 0]]),
        point([2.0, 1.0], value=1.0, gradients=[lambda c: [0, c]]),
        point([1.0, 2.0, 2.0, 1.0], value=1.0, gradients=[lambda c: [0, 0, 0, c]]),
    ],
)
# ------------------------------------------------------------------------------------------------ median and quantiles


def kept(y, x, keepdims):
    return y.expand_dims([d for d in x.dims if d not in y.dims]).transpose(*(d for d in y.dims if d not in x.dims), *x.dims) if keepdims else y


def quantile(x, q, dim=None, keepdims=False, **kw):
    return kept(x.quantile(q, dim, **kw).drop_vars("quantile"), x, keepdims)


entry(
    "median",
    lambda x, dim=None, skipna=None, keepdims=False: kept(x.median(dim, skipna=skipna), x, keepdims),
    samples=[sample("missing(a,nine)", dim="nine", skipna=False), sample("real(a,b,c)", dim=("c", "a"), keepdims=True)],
    points=[
        point([3.0, 1.0, 2.0], value=2.0, gradients=[lambda c: [0, 0, c]]),
        point([3.0, 1.0, 2.0, 7.0], value=2.5, gradients=[lambda c: [c / 2, 0, c / 2, 0]]),
        point([2.0, 2.0, 2.0, 7.0], value=2.0, gradients=[lambda c: [c / 3, c / 3, c / 3, 0]]),
        point([2.0, 2.0, 3.0, 3.0], value=2.5, gradients=[lambda c: [c / 4, c / 4, c / 4, c / 4]]),
        point([NAN, 1.0, 3.0], value=2.0, gradients=[lambda c: [0, c / 2, c / 2]]),
        point([NAN, NAN], value=NAN, gradients=[lambda c: [0, 0]]),
        point([INF, INF, 1.0], value=INF, gradients=[lambda c: [c / 2, c / 2, 0]]),
    ],
)
entry(
    "quantile",
    quantile,
    samples=[
        *(sample("real(a,b)", q=[0.1, 0.37, 0.5], dim="b", method=m) for m in NUMPY_METHODS),
        sample("real(a,b,c)", q=[0.2, 0.9], dim=("c", "a"), keepdims=True),
        sample("missing(a,nine)", q=[0.2, 0.9], dim="nine", skipna=False),
        sample("missing(a,nine)", q=0.4, dim="nine", method="higher"),
    ],
    points=[
        point([1.0, 2.0, 3.0], q=0.0, value=1.0, gradients=[lambda c: [c, 0, 0]]),
        point([1.0, 2.0, 3.0], q=1.0, value=3.0, gradients=[lambda c: [0, 0, c]]),
        point([1.0, 2.0, 5.0], q=[0.25, 0.75], value=[1.5, 3.5], gradients=[lambda c: [c[0] / 2, c.sum() / 2, c[1] / 2]]),
        point([1.0, NAN, 3.0], q=0.25, value=1.5, gradients=[lambda c: [0.75 * c, 0, 0.25 * c]]),
        point([4.0, 4.0], q=0.3, value=4.0, gradients=[lambda c: [c / 2, c / 2]]),
    ],
)
for name in ("median", "quantile"):
    kwargs = {} if name == "median" else {"q": 0.5}
    entry(
        f"nan{name}",
        lambda x, *more, name=name, **kw: (quantile if name == "quantile" else lambda x, **kw: x.median(**kw))(x, *more, skipna=True, **kw),
        points=[
            point([NAN, 1.0, 3.0], value=2.0, gradients=[lambda c: [0, c / 2, c / 2]], **kwargs),
            point([NAN, NAN], value=NAN, gradients=[lambda c: [0, 0]], **kwargs),
            point([1.0, NAN, 1.0], value=1.0, gradients=[lambda c: [c / 2, 0, c / 2]], **kwargs),
        ],
    )
