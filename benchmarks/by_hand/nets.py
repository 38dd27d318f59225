"""Pooling, resampling, embeddings, groups and their losses on a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(9)
N = 1000
SIDE, CHANNELS = 128, 64
WORDS = RNG.integers(0, N, (N // 4, 4))
EVERY = np.arange(N)
SIGNS = np.sign(RNG.normal(size=N))
LABELS = (RNG.random((N, N)) < 0.5).astype(float)
SHARES = (s := RNG.uniform(0.1, 0.9, (N, N))) / s.sum(1, keepdims=True)
GROUPS = RNG.integers(0, 100, N * N)
PLACES = np.argsort(RNG.random((N, N)), 1)[:, : N // 2]
HOLES = RNG.random((N, N)) < 0.3
EPS = 1e-5


def _along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("ab,ab->a", x, y)


# ------------------------------------------------------------------------------------------------ images


def _blocks(x: np.ndarray) -> np.ndarray:
    return x.reshape(CHANNELS, SIDE // 2, 2, SIDE // 2, 2)


def _spread(g: np.ndarray) -> np.ndarray:
    return np.broadcast_to(g[:, :, None, :, None], (*g.shape[:2], 2, g.shape[2], 2))


def _largest(x: np.ndarray) -> np.ndarray:
    b = _blocks(x)
    return np.maximum(np.maximum(b[:, :, 0, :, 0], b[:, :, 0, :, 1]), np.maximum(b[:, :, 1, :, 0], b[:, :, 1, :, 1]))


def _largest_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    hits = _blocks(x) == y[:, :, None, :, None]
    return (np.where(hits, g[:, :, None, :, None], 0).reshape(x.shape),)


def _halved(x: np.ndarray) -> np.ndarray:
    b = _blocks(x)
    return (b[:, :, 0, :, 0] + b[:, :, 0, :, 1] + b[:, :, 1, :, 0] + b[:, :, 1, :, 1]) / 4


def _weights() -> np.ndarray:
    """The bilinear map of a side onto one of twice the size, the corners half a cell apart."""
    at = np.clip((np.arange(2 * SIDE) + 0.5) / 2 - 0.5, 0, SIDE - 1)
    low = np.minimum(at.astype(int), SIDE - 2)
    out = np.zeros((2 * SIDE, SIDE))
    out[np.arange(2 * SIDE), low], out[np.arange(2 * SIDE), low + 1] = 1 - (at - low), at - low
    return out


BILINEAR = _weights()


def _grouped(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = x.reshape(N, 4, N // 4)
    d = d - d.mean(2, keepdims=True)
    r = 1 / np.sqrt(np.einsum("abc,abc->ab", d, d)[..., None] / (N // 4) + EPS)
    d *= r
    return d, r


def _grouped_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> Any:
    d, r = _grouped(x)
    g = g.reshape(d.shape)
    out = g - g.mean(2, keepdims=True)
    out -= d * (np.einsum("abc,abc->ab", g, d)[..., None] / (N // 4))
    out *= r
    return (out.reshape(N, N),)


# ------------------------------------------------------------------------------------------------ tables


def _bags_pull(g: np.ndarray, _: np.ndarray, w: np.ndarray) -> Any:
    flat, out = WORDS.reshape(-1), np.zeros_like(w)
    order = np.argsort(flat, kind="stable")
    found, first = np.unique(flat[order], return_index=True)
    out[found] = np.add.reduceat(np.repeat(g / 4, 4, axis=0)[order], first)
    return (out,)


def _carried(x: np.ndarray) -> np.ndarray:
    starts = ~np.isnan(x)
    starts[:, 0] = True
    at = np.flatnonzero(starts)
    return np.repeat(x.reshape(-1)[at], np.diff(at, append=x.size)).reshape(x.shape)


def _carried_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> Any:
    there = ~np.isnan(x)
    starts = there.copy()
    starts[:, 0] = True
    at, out = np.flatnonzero(starts), np.zeros_like(g)
    out.reshape(-1)[at] = np.add.reduceat(g.reshape(-1), at)
    return (np.where(there, out, 0),)


def _put(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.put_along_axis(out, PLACES, y, 1)
    return out


def _put_pull(g: np.ndarray, *_: Any) -> Any:
    out = g.copy()
    np.put_along_axis(out, PLACES, 0, 1)
    return out, np.take_along_axis(g, PLACES, 1)


def _polynomial_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, c: np.ndarray) -> Any:
    powers, sums = g.copy(), []
    for _k in range(len(c)):
        sums.append(powers.sum())
        powers *= x
    return g * np.polyval(np.polyder(c), x), np.array(sums[::-1])


# ------------------------------------------------------------------------------------------------ losses


def _far(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = x - y + 1e-6
    return d, np.sqrt(_along(d, d))


def _triplet(x: np.ndarray, p: np.ndarray, n: np.ndarray) -> Any:
    return np.maximum(0, _far(x, p)[1] - _far(x, n)[1] + 1).mean()


def _triplet_pull(g: Any, _: Any, x: np.ndarray, p: np.ndarray, n: np.ndarray) -> Any:
    (d, near), (e, far) = _far(x, p), _far(x, n)
    on = (near - far + 1 > 0) * (g / N)
    d *= (on / near)[:, None]
    e *= (on / far)[:, None]
    return d - e, -d, e


def _angles(x: np.ndarray, y: np.ndarray) -> Any:
    return _along(x, y) / np.sqrt(_along(x, x) * _along(y, y))


def _angle_loss(x: np.ndarray, y: np.ndarray) -> Any:
    c = _angles(x, y)
    return np.where(SIGNS > 0, 1 - c, np.maximum(0, c)).mean()


def _angle_pull(g: Any, _: Any, x: np.ndarray, y: np.ndarray) -> Any:
    xx, yy = _along(x, x), _along(y, y)
    c = _along(x, y) / np.sqrt(xx * yy)
    h = np.where(SIGNS > 0, -1.0, c > 0) * (g / N)
    both = (h / np.sqrt(xx * yy))[:, None]
    return both * y - (h * c / xx)[:, None] * x, both * x - (h * c / yy)[:, None] * y


def _labelled(x: np.ndarray) -> Any:
    return (np.logaddexp(0, -x) + (1 - LABELS) * x).mean()


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    image = (d(RNG.normal(size=(CHANNELS, SIDE, SIDE)), ("c", "y", "x")),)
    x, y, z = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(3))
    holes, half = d(np.where(HOLES, np.nan, x.data), x.dims), d(y.data[:, : N // 2].copy(), x.dims)
    signs, labels, shares = d(SIGNS, "a"), d(LABELS, x.dims), d(SHARES, x.dims)
    words, groups, places = d(WORDS, ("s", "w")), d(GROUPS, "a"), d(PLACES, x.dims)
    line, taps = d(RNG.uniform(-1, 1, N * N), "a"), d(RNG.normal(size=5), "degree")
    points = d(RNG.normal(size=(100, 100)), ("a", "b")), d(RNG.normal(size=(100, 100)), ("c", "b"))
    return [
        ("max_pool", lambda x: ng.max_pool(x, {"y": 2, "x": 2}), image, _largest, _largest_pull),
        ("avg_pool", lambda x: ng.avg_pool(x, {"y": 2, "x": 2}), image, _halved,
         lambda g, y, x: (_spread(g / 4).reshape(x.shape),)),
        ("interpolate", lambda x: ng.interpolate(x, scale_factor={"y": 2, "x": 2}, mode="bilinear"), image,
         lambda x: np.matmul(BILINEAR, np.matmul(x, BILINEAR.T)),
         lambda g, y, x: (np.matmul(BILINEAR.T, np.matmul(g, BILINEAR)),)),
        ("pixel_shuffle", lambda x: ng.pixel_shuffle(x, {"y": 2, "x": 2}, "c"), image,
         lambda x: x.reshape(16, 2, 2, SIDE, SIDE).transpose(0, 3, 1, 4, 2).reshape(16, 2 * SIDE, 2 * SIDE),
         lambda g, y, x: (g.reshape(16, SIDE, 2, SIDE, 2).transpose(0, 2, 4, 1, 3).reshape(x.shape),)),
        ("group_norm", lambda x: ng.group_norm(x, channel="b", groups=4), (x,),
         lambda x: _grouped(x)[0].reshape(N, N), _grouped_pull),
        ("embedding_bag", lambda w: ng.embedding_bag(words, w, dim="a", over="w"), (x,),
         lambda w: w[WORDS].mean(1), _bags_pull),
        ("segment_mean", lambda x: ng.segment_mean(x, groups, "a", 100), (line,),
         lambda x: np.bincount(GROUPS, x, 100) / np.bincount(GROUPS, minlength=100),
         lambda g, y, x: ((g / np.bincount(GROUPS, minlength=100))[GROUPS],)),
        ("ffill", lambda x: ng.ffill(x, "b"), (holes,), _carried, _carried_pull),
        ("put_along_axis", lambda x, y: ng.put_along_axis(x, places, y, "b"), (x, half), _put, _put_pull),
        ("polyval", ng.polyval, (line, taps), lambda x, c: np.polyval(c, x), _polynomial_pull),
        ("cdist, p = 1", lambda x, y: ng.cdist(x, y, "b", p=1), points,
         lambda x, y: np.abs(x[:, None] - y).sum(2),
         lambda g, z, x, y: ((s := np.sign(x[:, None] - y) * g[..., None]).sum(1), -s.sum(0))),
        ("kl_div", lambda x: ng.kl_div(x, shares), (x,), lambda x: (SHARES * (np.log(SHARES) - x)).mean(),
         lambda g, z, x: (SHARES * (-g / x.size),)),
        ("triplet_margin_loss", lambda x, p, n: ng.triplet_margin_loss(x, p, n, dim="b"), (x, y, z), _triplet,
         _triplet_pull),
        ("cosine_embedding_loss", lambda x, y: ng.cosine_embedding_loss(x, y, signs, dim="b"), (x, y), _angle_loss,
         _angle_pull),
        ("multilabel_soft_margin_loss", lambda x: ng.multilabel_soft_margin_loss(x, labels, dim="b"), (x,), _labelled,
         lambda g, z, x: ((1 / (1 + np.exp(-x)) - LABELS) * (g / x.size),)),
    ]  # fmt: skip
