"""Activations and losses on a million elements as one writes them by hand in NumPy; see the package."""

from typing import Any

import numpy as np
import scipy.special

import namedgrad as ng

RNG = np.random.default_rng(4)
SHAPE = (1000, 1000)
CLASSES = RNG.integers(0, SHAPE[1], SHAPE[0])
EVERY = np.arange(SHAPE[0])
HALF = RNG.uniform(0.1, 0.9, SHAPE)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _silu_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> Any:
    s = _sigmoid(x)
    return (g * s * (1 + x * (1 - s)),)


def _gelu_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    return (g * (y / x + x * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)),)


def _huber(x: np.ndarray, t: np.ndarray) -> Any:
    d = x - t
    near = np.clip(d, -1, 1)
    return (near * (d - 0.5 * near)).mean()


def _of(x: np.ndarray, t: np.ndarray, slope: Any) -> Any:
    q = slope(x - t) / x.size
    return q, -q


def _cross_entropy(x: np.ndarray) -> Any:
    top = x.max(1, keepdims=True)
    return (np.log(np.exp(x - top).sum(1)) + top[:, 0] - x[EVERY, CLASSES]).mean()


def _cross_entropy_pull(g: Any, _: Any, x: np.ndarray) -> Any:
    p = np.exp(x - x.max(1, keepdims=True))
    p *= (g / len(x) / p.sum(1))[:, None]
    p[EVERY, CLASSES] -= g / len(x)
    return (p,)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    x, t = (ng.DimArray(RNG.normal(size=SHAPE), ("a", "b")) for _ in range(2))
    y, p = ng.DimArray(CLASSES, "a"), ng.DimArray(HALF, ("a", "b"))
    pairs, alone = (x, t), (x,)

    def squares(x: np.ndarray, t: np.ndarray) -> Any:
        return ((x - t) ** 2).mean()

    def log_odds(x: np.ndarray) -> Any:
        return (_softplus(x) - HALF * x).mean()

    return [
        ("relu", ng.relu, alone, lambda x: np.maximum(x, 0), lambda g, z, x: (g * (x > 0),)),
        ("softplus", ng.softplus, alone, _softplus, lambda g, z, x: (g * _sigmoid(x),)),
        ("silu", ng.silu, alone, lambda x: x * _sigmoid(x), _silu_pull),
        ("gelu", ng.gelu, alone, lambda x: x * scipy.special.ndtr(x), _gelu_pull),
        ("mse_loss", ng.mse_loss, pairs, squares, lambda g, z, x, t: _of(x, t, lambda d: 2 * g * d)),
        ("huber_loss", ng.huber_loss, pairs, _huber, lambda g, z, x, t: _of(x, t, lambda d: g * np.clip(d, -1, 1))),
        ("cross_entropy", lambda x: ng.cross_entropy(x, y, dim="b"), alone, _cross_entropy, _cross_entropy_pull),
        ("bce with logits", lambda x: ng.binary_cross_entropy_with_logits(x, p), alone, log_odds,
         lambda g, z, x: ((_sigmoid(x) - HALF) * (g / x.size),)),
    ]  # fmt: skip
