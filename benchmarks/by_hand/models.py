"""Layers of about a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng
from benchmarks.by_hand.recurrent import CELLS, SIZE

RNG = np.random.default_rng(11)
N = 1000
KEPT = RNG.random((N, N)) < 0.5
EPS = 1e-5
STATES = 2048
LEAST = 1.0507009873554805 * 1.6732632423543772
SLOPE = 1 / np.sqrt(0.5 * (1 + 0.5 * LEAST**2))


# ------------------------------------------------------------------------------------------------ layers


def _clear(out: np.ndarray) -> None:
    """What is left out is 0 whatever it was, NaN as well: by its bits, since a choice is slow on an irregular mask."""
    bits = out.view(np.int64)
    bits &= np.negative(KEPT.view(np.int8), dtype=np.int64)


def _dropped(x: np.ndarray, scale: float = 2) -> np.ndarray:
    out = x * float(scale)
    _clear(out)
    return out


def _replaced(x: np.ndarray) -> np.ndarray:
    out = x + LEAST
    _clear(out)
    out -= 0.5 * LEAST
    out *= SLOPE
    return out


HIDDEN = np.where(np.tri(256, dtype=bool), 0, -np.inf)


def _weights(q: np.ndarray, k: np.ndarray, mask: Any = 0) -> np.ndarray:
    w = np.matmul(q * q.shape[-1] ** -0.5, k.swapaxes(-1, -2))
    w += mask
    w -= w.max(-1, keepdims=True)
    np.exp(w, out=w)
    w /= w.sum(-1, keepdims=True)
    return w


def _attention_pull(g: np.ndarray, w: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
    h = np.matmul(g, v.swapaxes(-1, -2))
    h -= np.einsum("...qk,...qk->...q", h, w)[..., None]
    h *= w
    h *= q.shape[-1] ** -0.5
    return np.matmul(h, k), np.matmul(h.swapaxes(-1, -2), q), np.matmul(w.swapaxes(-1, -2), g)


class Attention:
    """Every query sees the keys before it; weights are kept."""

    w: Any = None

    def value(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Averages of values."""
        self.w = _weights(q, k, HIDDEN)
        return np.matmul(self.w, v)

    def gradients(self, g: np.ndarray, _: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
        """Of all operands."""
        return _attention_pull(g, self.w, q, k, v)


class Heads:
    """Attention of several heads, which keeps projections and weights."""

    count = 8
    kept: tuple[Any, ...] = ()

    def _cut(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], self.count, -1).swapaxes(1, 2)

    def _joined(self, x: np.ndarray) -> np.ndarray:
        return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)

    def value(self, x: np.ndarray, y: np.ndarray, *weights: np.ndarray) -> np.ndarray:
        """Queries from ``x``, keys and values from ``y``; the last matrix leads out."""
        q, k, v = (self._cut(z @ w.T) for z, w in zip((x, y, y), weights[:3], strict=True))
        w = _weights(q, k)
        mixed = self._joined(np.matmul(w, v))
        self.kept = (q, k, v, w, mixed)
        return mixed @ weights[3].T

    def gradients(self, g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray, *weights: np.ndarray) -> Any:
        """Of all operands."""
        q, k, v, w, mixed = self.kept
        parts = [self._joined(z) for z in _attention_pull(self._cut(g @ weights[3]), w, q, k, v)]
        flat = [z.reshape(-1, z.shape[-1]) for z in (*parts, g)]
        own = [z.T @ u.reshape(-1, u.shape[-1]) for z, u in zip(flat, (x, y, y, mixed), strict=True)]
        return parts[0] @ weights[0], parts[1] @ weights[1] + parts[2] @ weights[2], *own


class Cell:
    """One step of a recurrent layer, which keeps its gates; of two states the sum."""

    def __init__(self, step: Any, back: Any) -> None:
        self.step, self.back = step, back
        self.kept: Any = None

    def value(self, x: np.ndarray, w: np.ndarray, u: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """The new state."""
        new, self.kept = self.step(x @ w.T, states[0] @ u.T, *states)
        return new[0] if len(new) == 1 else new[0] + new[1]

    def gradients(self, g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray, u: np.ndarray, *states: Any) -> Any:
        """Of all operands."""
        a, b, (own, *more) = self.back(self.kept, *(g,) * len(states))
        return a @ w, a.T @ x, b.T @ states[0], b @ u + own, *more


def _instances(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = x.reshape(-1, x.shape[-1] * x.shape[-2])
    d = d - d.mean(1, keepdims=True)
    r = 1 / np.sqrt(np.einsum("ab,ab->a", d, d)[:, None] / d.shape[1] + EPS)
    d *= r
    return d, r


def _instances_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    d = y.reshape(-1, x.shape[-1] * x.shape[-2])
    r, h = 1 / np.sqrt(x.reshape(d.shape).var(1, keepdims=True) + EPS), g.reshape(d.shape)
    out = h - h.mean(1, keepdims=True)
    out -= d * (np.einsum("ab,ab->a", h, d)[:, None] / d.shape[1])
    out *= r
    return (out.reshape(x.shape),)


def _length(v: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ab,ab->a", v, v))


def _directed_pull(g: np.ndarray, _: np.ndarray, v: np.ndarray, s: np.ndarray) -> Any:
    r = 1 / _length(v)
    along = np.einsum("ab,ab->a", g, v) * r
    return (s * r)[:, None] * g - (s * along * r * r)[:, None] * v, along


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    x, kept = d(RNG.normal(size=(N, N)), ("a", "b")), d(KEPT, ("a", "b"))
    q, k, v = (d(RNG.normal(size=(16, 256, 64)), ("n", at, "feature")) for at in ("query", "key", "key"))
    words = tuple(d(RNG.normal(size=(8, 256, 256)), ("n", at, "embed")) for at in ("query", "key"))
    maps = [d(RNG.normal(size=(256, 256)) / 16, ("inner", "embed")) for _ in range(3)]
    maps.append(d(RNG.normal(size=(256, 256)) / 16, ("embed", "inner")))
    images = d(RNG.normal(size=(16, 64, 32, 32)), ("n", "c", "y", "x"))
    attention, heads = Attention(), Heads()
    return [
        ("dropout", lambda x: ng.dropout(x, kept, p=0.5), (x,), _dropped, lambda g, y, x: (_dropped(g),)),
        ("alpha_dropout", lambda x: ng.alpha_dropout(x, kept, p=0.5), (x,), _replaced,
         lambda g, y, x: (_dropped(g, SLOPE),)),
        ("scaled_dot_product_attention", lambda q, k, v: ng.scaled_dot_product_attention(q, k, v, is_causal=True),
         (q, k, v), attention.value, attention.gradients),
        ("multi_head_attention", lambda x, y, *maps: ng.multi_head_attention(x, y, y, *maps, num_heads=heads.count),
         (*words, *maps), heads.value, heads.gradients),
        *_cells(),
        ("instance_norm", lambda x: ng.instance_norm(x, dim=("y", "x")), (images,),
         lambda x: _instances(x)[0].reshape(x.shape), _instances_pull),
        ("weight_norm", lambda v, s: ng.weight_norm(v, s, dim="b"), (x, d(RNG.normal(size=N), "a")),
         lambda v, s: (s / _length(v))[:, None] * v, _directed_pull),
    ]  # fmt: skip


def _cells() -> list[tuple[Any, ...]]:
    found = []
    for name, (gates, states, step, back) in CELLS.items():
        hand, layer = Cell(step, back), getattr(ng, f"{name}_cell")
        operands = (
            ng.DimArray(RNG.normal(size=(STATES, SIZE)), ("n", "feature")),
            ng.DimArray(RNG.normal(size=(gates * SIZE, SIZE)) / 10, ("gate", "feature")),
            ng.DimArray(RNG.normal(size=(gates * SIZE, SIZE)) / 10, ("gate", "hidden")),
            *(ng.DimArray(RNG.normal(size=(STATES, SIZE)), ("n", "hidden")) for _ in range(states)),
        )

        def call(x: Any, w: Any, u: Any, *states: Any, layer: Any = layer) -> Any:
            out = layer(x, *states, w, u)
            return out[0] + out[1] if isinstance(out, tuple) else out

        found.append((f"{name}_cell", call, operands, hand.value, hand.gradients))
    return found
