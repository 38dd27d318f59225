"""Contractions and layers on about a million elements as one writes them by hand in NumPy; see the package."""

import functools
from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(3)
EPS = 1e-5


def draw(*sizes: int) -> np.ndarray:
    """Normal numbers."""
    return RNG.normal(size=sizes)


# ------------------------------------------------------------------------------------------------ products


def _small(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return np.matmul(g, y.swapaxes(1, 2)), np.matmul(x.swapaxes(1, 2), g)


def _cdist(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    d = x[:, None] - y
    return np.sqrt(np.einsum("ijk,ijk->ij", d, d))


def _cdist_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    d, w = x[:, None] - y, g / z
    return np.matmul(w[:, None], d)[:, 0], -np.matmul(w.T[:, None], d.swapaxes(0, 1))[:, 0]


# ------------------------------------------------------------------------------------------------ layers


def _normalised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = x - x.mean(1, keepdims=True)
    r = 1 / np.sqrt(np.einsum("ij,ij->i", d, d)[:, None] / x.shape[1] + EPS)
    d *= r
    return d, r


def _layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    y = _normalised(x)[0] * w
    y += b
    return y


def _layer_norm_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray, *_b: np.ndarray) -> Any:
    n, r = _normalised(x)
    h = g * w
    along = n * (np.einsum("ij,ij->i", h, n)[:, None] / x.shape[1])
    h -= h.mean(1, keepdims=True)
    h -= along
    h *= r
    return h, np.einsum("ij,ij->j", g, n), g.sum(0)


def _normalize(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.sqrt(np.einsum("ij,ij->i", x, x)), 1e-12)[:, None]


def _normalize_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    return ((g - z * np.einsum("ij,ij->i", g, z)[:, None]) / np.sqrt(np.einsum("ij,ij->i", x, x))[:, None],)


def _weights(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    w = np.matmul(q * q.shape[-1] ** -0.5, k.swapaxes(1, 2))
    w -= w.max(-1, keepdims=True)
    np.exp(w, out=w)
    w /= w.sum(-1, keepdims=True)
    return w


def _attention_pull(g: np.ndarray, z: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
    w, scale = _weights(q, k), q.shape[-1] ** -0.5
    h = np.matmul(g, v.swapaxes(1, 2))
    h -= np.einsum("blf,blf->bl", g, z)[..., None]
    h *= w
    return np.matmul(h, k) * scale, np.matmul(h.swapaxes(1, 2), q) * scale, np.matmul(w.swapaxes(1, 2), g)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    many = d(draw(15625, 8, 8), ("n", "a", "k")), d(draw(15625, 8, 8), ("n", "k", "b"))
    points = d(draw(400, 6), ("i", "k")), d(draw(400, 6), ("j", "k"))
    x, w, b = d(draw(1000, 1000), ("n", "c")), d(draw(1000), "c"), d(draw(1000), "c")
    q, k, v = (d(draw(16, 256, 64), ("n", at, "f")) for at in ("query", "key", "key"))
    attention = functools.partial(ng.scaled_dot_product_attention, dims=("query", "key", "f"))
    return [
        ("dot, many small", lambda x, y: ng.dot(x, y, dim="k"), many, np.matmul, _small),
        ("cdist", lambda x, y: ng.cdist(x, y, "k"), points, _cdist, _cdist_pull),
        ("layer_norm", lambda x, w, b: ng.layer_norm(x, w, b, dim="c"), (x, w, b), _layer_norm, _layer_norm_pull),
        ("normalize", lambda x: ng.normalize(x, "c"), (x,), _normalize, _normalize_pull),
        ("attention", attention, (q, k, v), lambda q, k, v: np.matmul(_weights(q, k), v), _attention_pull),
    ]  # fmt: skip
