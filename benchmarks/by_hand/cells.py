"""Statistics, missing cells, order, indices and windows of a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

import namedgrad as ng

RNG = np.random.default_rng(7)
N = 1000
PLACES, WHERE = RNG.integers(0, N, (N, N)), RNG.integers(0, N, N)
ONCE = RNG.permutation(N)
MASK = RNG.random((N, N)) < 0.5
WEIGHTS = RNG.uniform(0.2, 0.8, (N, N))
TARGETS = np.sort(RNG.uniform(0, N - 1, N))
LEFT, SHARE = TARGETS.astype(int), TARGETS % 1
Pair = tuple[Any, Any]


def _along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("ab,ab->a", x, y)


def _centred(x: np.ndarray) -> np.ndarray:
    return x - x.mean(1, keepdims=True)


def _at(places: Any, g: np.ndarray, like: np.ndarray) -> np.ndarray:
    out = np.zeros_like(like)
    out[places] = g
    return out


def _shared(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Gradients of each row's largest or smallest cell, which cells that tie share."""
    hits = x == y[:, None]
    return hits * (g / hits.sum(1))[:, None]


def _scattered(g: np.ndarray) -> np.ndarray:
    places = np.arange(N)[:, None] * N + PLACES
    return np.bincount(places.ravel(), g.ravel(), N * N).reshape(N, N)


def _columns(g: np.ndarray) -> np.ndarray:
    order = np.argsort(WHERE, kind="stable")
    found, first = np.unique(WHERE[order], return_index=True)
    return _at((slice(None), found), np.add.reduceat(g[:, order], first, axis=1), g)


def _corr(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    u, v = _centred(x), _centred(y)
    return _along(u, v) / np.sqrt(_along(u, u) * _along(v, v))


def _corr_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Pair:
    u, v = _centred(x), _centred(y)
    uu, vv = _along(u, u), _along(v, v)
    both = (g / np.sqrt(uu * vv))[:, None]
    return both * v - (g * z / uu)[:, None] * u, both * u - (g * z / vv)[:, None] * v


def _cov_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray) -> Pair:
    scale = (g / (N - 1))[:, None]
    return scale * _centred(y), scale * _centred(x)


def _cosine_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Pair:
    xx, yy = _along(x, x), _along(y, y)
    both = (g / np.sqrt(xx * yy))[:, None]
    return both * y - (g * z / xx)[:, None] * x, both * x - (g * z / yy)[:, None] * y


def _nan_var_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    gone = np.isnan(x)
    count = N - gone.sum(1)
    d = np.where(gone, 0, x - (np.nansum(x, 1) / count)[:, None])
    return (2 * g / count)[:, None] * d


def _nan_mean_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    gone = np.isnan(x)
    return np.where(gone, 0, (g / (N - gone.sum(1)))[:, None])


def _shifts(x: np.ndarray) -> np.ndarray:
    """Sums over windows of seven, the quickest way without cancellation."""
    out = np.full(x.shape, np.nan)
    inner = out[:, 6:]
    inner[...] = x[:, 6:]
    for k in range(6):
        inner += x[:, k : N - 6 + k]
    return out


def _shifts_pull(g: np.ndarray) -> np.ndarray:
    out = np.zeros_like(g)
    for k in range(7):
        out[:, k : N - 6 + k] += g[:, 6:]
    return out


def _rolling_max(x: np.ndarray) -> np.ndarray:
    out = np.full(x.shape, np.nan)
    inner = out[:, 6:]
    inner[...] = x[:, 6:]
    for k in range(6):
        np.maximum(inner, x[:, k : N - 6 + k], out=inner)
    return out


def _rolling_max_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    out = np.zeros_like(g)
    for k in range(7):
        cells = slice(k, N - 6 + k)
        out[:, cells] += g[:, 6:] * (x[:, cells] == y[:, 6:])
    return out


def _cummax_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    records = np.flatnonzero(x == y)
    out = np.zeros_like(g)
    out.reshape(-1)[records] = np.add.reduceat(g.reshape(-1), records)
    return out


def _cumulative_trapezoid_pull(g: np.ndarray, *_: Any) -> np.ndarray:
    half = np.flip(np.flip(g, 1).cumsum(1), 1) / 2
    out = np.zeros((N, N))
    out[:, 1:] += half
    out[:, :-1] += half
    return out


def _put(g: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.zeros((N, N))
    np.put_along_axis(out, places, g, 1)
    return out


def _topk_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    top = np.argpartition(-x, 4, 1)[:, :5]
    return _put(g, np.take_along_axis(top, np.argsort(-np.take_along_axis(x, top, 1), 1), 1))


def _quantile_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    below = int(0.3 * (N - 1))
    share = 0.3 * (N - 1) - below
    return _put(g[:, None] * [1 - share, share], np.argpartition(x, (below, below + 1), 1)[:, below : below + 2])


def _nan_median_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    order, count = np.argsort(x, 1), N - np.isnan(x).sum(1)
    out, every = np.zeros_like(x), np.arange(N)
    for middle in ((count - 1) // 2, count // 2):
        out[every, order[every, middle]] += g / 2
    return out


def _interp(x: np.ndarray) -> np.ndarray:
    return x[:, LEFT] * (1 - SHARE) + x[:, LEFT + 1] * SHARE


def _interp_pull(g: np.ndarray) -> np.ndarray:
    found, first = np.unique(LEFT, return_index=True)
    out = np.zeros((N, N))
    out[:, found] = np.add.reduceat(g * (1 - SHARE), first, axis=1)
    out[:, found + 1] += np.add.reduceat(g * SHARE, first, axis=1)
    return out


def _logcumsumexp_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From the last column on: a cumulative sum of exp(-y) would overflow where y is small."""
    out, kept = np.empty_like(x), np.exp(y[:, :-1] - y[:, 1:])
    so_far = out[:, -1] = g[:, -1]
    for j in range(N - 2, -1, -1):
        so_far = out[:, j] = g[:, j] + so_far * kept[:, j]
    out *= np.exp(x - y)
    return out


def _shorter(x: np.ndarray) -> np.ndarray:
    return np.minimum(1, 1 / (np.sqrt(_along(x, x)) + 1e-7))[:, None]


def _renorm_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    scale = _shorter(x)
    return scale * g - (_along(g, x) / np.sqrt(_along(x, x)))[:, None] * scale * scale * x


def _ends(g: np.ndarray) -> np.ndarray:
    weights = np.ones(N)
    weights[[0, -1]] = 0.5
    return g[:, None] * weights


def _normalised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = x - x.mean(0)
    r = 1 / np.sqrt(np.einsum("ab,ab->b", d, d) / N + 1e-5)
    return d * r, r


def _batch_norm_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> np.ndarray:
    _, r = _normalised(x)
    return (g - g.mean(0) - z * (np.einsum("ab,ab->b", g, z) / N)) * r


def _rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(_along(x, x) / N + np.finfo(float).eps)[:, None]


def _rms_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (g - z * (_along(g, z) / N)[:, None]) / _rms(x)


# fmt: off
ALONG: dict[str, tuple[Any, Any, Any]] = {  # here, along the last dim; by hand; gradient of g, y, x; x is normal
    "log_softmax": (lambda x: ng.log_softmax(x, "b"),
                    lambda x: (d := x - x.max(1, keepdims=True)) - np.log(np.exp(d).sum(1, keepdims=True)),
                    lambda g, y, x: g - np.exp(y) * g.sum(1, keepdims=True)),
    "softmin":     (lambda x: ng.softmin(x, "b"),
                    lambda x: (e := np.exp(x.min(1, keepdims=True) - x)) / e.sum(1, keepdims=True),
                    lambda g, y, x: -y * (g - (g * y).sum(1, keepdims=True))),
    "ptp":         (lambda x: ng.ptp(x, "b"), lambda x: np.ptp(x, 1),
                    lambda g, y, x: _shared(g, x, x.max(1)) - _shared(g, x, x.min(1))),
    "norm":        (lambda x: ng.norm(x, "b"), lambda x: np.sqrt(_along(x, x)), lambda g, y, x: (g / y)[:, None] * x),
    "norm, all":   (ng.norm, lambda x: np.sqrt(np.vdot(x, x)), lambda g, y, x: (g / y) * x),
    "vector_norm": (lambda x: ng.vector_norm(x, ord=1, dim="b"), lambda x: np.abs(x).sum(1),
                    lambda g, y, x: g[:, None] * np.sign(x)),
    "cummax":      (lambda x: ng.cummax(x, "b"), lambda x: np.maximum.accumulate(x, 1), _cummax_pull),
    "trapezoid":   (lambda x: ng.trapezoid(x, dim="b"), lambda x: np.trapezoid(x, axis=1), lambda g, y, x: _ends(g)),
    "cumulative_trapezoid": (lambda x: ng.cumulative_trapezoid(x, dim="b"),
                             lambda x: np.cumsum((x[:, 1:] + x[:, :-1]) / 2, 1), _cumulative_trapezoid_pull),
    "topk":        (lambda x: ng.topk(x, 5, "b"), lambda x: -np.sort(np.partition(-x, 4, 1)[:, :5], 1), _topk_pull),
    "kthvalue":    (lambda x: ng.kthvalue(x, 5, "b"), lambda x: np.partition(x, 4, 1)[:, 4],
                    lambda g, y, x: _at((np.arange(N), np.argpartition(x, 4, 1)[:, 4]), g, x)),
    "quantile":    (lambda x: ng.quantile(x, 0.3, "b"), lambda x: np.quantile(x, 0.3, 1), _quantile_pull),
    "average":     (lambda x: ng.average(x, ng.DimArray(WEIGHTS, ("a", "b")), "b"),
                    lambda x: _along(x, WEIGHTS) / WEIGHTS.sum(1),
                    lambda g, y, x: (g / WEIGHTS.sum(1))[:, None] * WEIGHTS),
    "fft":         (lambda x: ng.fft(x, "b"), lambda x: scipy.fft.fft(x, axis=1),
                    lambda g, y, x: scipy.fft.fft(g, axis=1).real),
    "rfft":        (lambda x: ng.rfft(x, "b"), lambda x: scipy.fft.rfft(x, axis=1),
                    lambda g, y, x: scipy.fft.fft(g, N, axis=1).real),
    "dct":         (lambda x: ng.dct(x, "b"), lambda x: scipy.fft.dct(x, axis=1),
                    lambda g, y, x: scipy.fft.dct(g, 3, axis=1) + g[:, :1]),
    "detrend":     (lambda x: ng.detrend(x, "b"), lambda x: scipy.signal.detrend(x, 1),
                    lambda g, y, x: scipy.signal.detrend(g, 1)),
    "rms_norm":    (lambda x: ng.rms_norm(x, dim="b"), lambda x: x / _rms(x), _rms_pull),
    "batch_norm":  (lambda x: ng.batch_norm(x, dim="a"), lambda x: _normalised(x)[0], _batch_norm_pull),
    "renorm":      (lambda x: ng.renorm(x, "b", maxnorm=1.0), lambda x: x * _shorter(x), _renorm_pull),
    "rolling_sum": (lambda x: ng.rolling_sum(x, {"b": 7}), _shifts, lambda g, y, x: _shifts_pull(g)),
    "rolling_mean": (lambda x: ng.rolling_mean(x, {"b": 7}), lambda x: _shifts(x) / 7,
                     lambda g, y, x: _shifts_pull(g / 7)),
    "rolling_max": (lambda x: ng.rolling_max(x, {"b": 7}), _rolling_max, _rolling_max_pull),
    "flip":        (lambda x: ng.flip(x, "b").copy(), lambda x: np.flip(x, 1).copy(),
                    lambda g, y, x: np.flip(g, 1).copy()),
    "repeat":      (lambda x: ng.repeat(x, {"b": 2}), lambda x: np.repeat(x, 2, 1),
                    lambda g, y, x: g[:, ::2] + g[:, 1::2]),
    "tile":        (lambda x: ng.tile(x, {"b": 2}), lambda x: np.tile(x, (1, 2)), lambda g, y, x: g[:, :N] + g[:, N:]),
    "embedding":   (lambda x: ng.embedding(ng.DimArray(WHERE, "i"), x, "a"), lambda x: x[WHERE],
                    lambda g, y, x: _columns(g.T).T),
    "index_select": (lambda x: ng.index_select(x, ng.DimArray(ONCE, "b"), "b"), lambda x: x[:, ONCE],
                     lambda g, y, x: _at((slice(None), ONCE), g, x)),
    "take_along_axis": (lambda x: ng.take_along_axis(x, ng.DimArray(PLACES, ("a", "b")), "b"),
                        lambda x: np.take_along_axis(x, PLACES, 1),
                    lambda g, y, x: _scattered(g)),
    "masked_fill": (lambda x: ng.masked_fill(x, ng.DimArray(MASK, ("a", "b")), 3.0), lambda x: np.where(MASK, 3.0, x),
                    lambda g, y, x: np.where(MASK, 0, g)),
    "interp":      (lambda x: ng.interp(x, {"b": ng.DimArray(TARGETS, "b")}, {"b": np.arange(N)}), _interp,
                    lambda g, y, x: _interp_pull(g)),
    "triu":        (lambda x: ng.triu(x, ("a", "b")), np.triu, lambda g, y, x: np.triu(g)),
    "logcumsumexp": (lambda x: ng.logcumsumexp(x, "b"), lambda x: np.logaddexp.accumulate(x, 1), _logcumsumexp_pull),
}
MISSING: dict[str, tuple[Any, Any, Any]] = {  # the same; one cell of a hundred is NaN
    "nansum":    (lambda x: ng.nansum(x, "b"), lambda x: np.nansum(x, 1),
                  lambda g, y, x: np.where(np.isnan(x), 0, g[:, None])),
    "nanmean":   (lambda x: ng.nanmean(x, "b"), lambda x: np.nanmean(x, 1), _nan_mean_pull),
    "nanvar":    (lambda x: ng.nanvar(x, "b"), lambda x: np.nanvar(x, 1), _nan_var_pull),
    "nanstd":    (lambda x: ng.nanstd(x, "b"), lambda x: np.nanstd(x, 1),
                  lambda g, y, x: _nan_var_pull(g / (2 * y), y, x)),
    "nanmax":    (lambda x: ng.nanmax(x, "b"), lambda x: np.nanmax(x, 1), lambda g, y, x: _shared(g, x, y)),
    "nanprod":   (lambda x: ng.nanprod(x, "b"), lambda x: np.nanprod(x, 1),
                  lambda g, y, x: np.where(np.isnan(x), 0, (g * y)[:, None] / x)),
    "nancumsum": (lambda x: ng.nancumsum(x, "b"), lambda x: np.nancumsum(x, 1),
                  lambda g, y, x: np.where(np.isnan(x), 0, np.flip(np.flip(g, 1).cumsum(1), 1))),
    "nanmedian": (lambda x: ng.nanmedian(x, "b"), lambda x: np.nanmedian(x, 1), _nan_median_pull),
    "fillna":    (lambda x: ng.fillna(x, 0.5), lambda x: np.where(np.isnan(x), 0.5, x),
                  lambda g, y, x: np.where(np.isnan(x), 0, g)),
    "nan_to_num": (ng.nan_to_num, np.nan_to_num, lambda g, y, x: np.where(np.isfinite(x), g, 0)),
}
TWO: dict[str, tuple[Any, Any, Any]] = {  # of two normal arrays; gradients of g, z, x, y
    "cov":  (lambda x, y: ng.cov(x, y, "b"), lambda x, y: _along(_centred(x), _centred(y)) / (N - 1), _cov_pull),
    "corr": (lambda x, y: ng.corr(x, y, "b"), _corr, _corr_pull),
    "cosine_similarity": (lambda x, y: ng.cosine_similarity(x, y, dim="b"),
                          lambda x, y: _along(x, y) / np.sqrt(_along(x, x) * _along(y, y)), _cosine_pull),
    "pairwise_distance": (lambda x, y: ng.pairwise_distance(x, y, dim="b"),
                          lambda x, y: np.sqrt(_along(d := x - y + 1e-6, d)),
                          lambda g, z, x, y: (s := (g / z)[:, None] * (x - y + 1e-6), -s)),
    "dist": (ng.dist, lambda x, y: np.sqrt(np.vdot(d := x - y, d)), lambda g, z, x, y: (s := (g / z) * (x - y), -s)),
    "vdot": (ng.vdot, np.vdot, lambda g, z, x, y: (g * y, g * x)),
    "vecdot": (lambda x, y: ng.vecdot(x, y, "b"), np.vecdot, lambda g, z, x, y: (g[:, None] * y, g[:, None] * x)),
    "scatter_add": (lambda x, y: ng.scatter_add(x, ng.DimArray(PLACES, ("a", "b")), y, "b"),
                    lambda x, y: x + _scattered(y),
                    lambda g, z, x, y: (g.copy(), np.take_along_axis(g, PLACES, 1))),
    "index_add": (lambda x, y: ng.index_add(x, ng.DimArray(WHERE, "b"), y, "b"), lambda x, y: x + _columns(y),
                  lambda g, z, x, y: (g.copy(), g[:, WHERE])),
}
# fmt: on


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    x, y = (ng.DimArray(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(2))
    holes = ng.DimArray(np.where(RNG.random((N, N)) < 0.01, np.nan, x.data), x.dims)
    near_one = ng.DimArray(1 + holes.data / 100, x.dims)
    one = [
        (name, call, (near_one if name == "nanprod" else operand,), f, lambda g, y, x, d=d: (d(g, y, x),))
        for operand, group in ((x, ALONG), (holes, MISSING))
        for name, (call, f, d) in group.items()
    ]
    vectors = tuple(ng.DimArray(RNG.normal(size=(333_333, 3)), ("a", "c")) for _ in range(2))
    cross = ("cross", lambda x, y: ng.cross(x, y, "c"), vectors, np.cross,
             lambda g, z, x, y: (np.cross(y, g), np.cross(g, x)))  # fmt: skip
    return [*one, *((name, call, (x, y), f, d) for name, (call, f, d) in TWO.items()), cross]
