"""Recurrent layers over 64 steps as one writes them by hand in NumPy, all gates kept; see the package."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import namedgrad as ng
from benchmarks.by_hand.layers import draw

STEPS, BATCH, SIZE = 64, 128, 128  # a million numbers of input
sigmoid = scipy.special.expit

Step = Callable[..., Any]


class ByHand:
    """A layer: its value, which keeps what its gradients need.

    ``step`` makes the next states and what to keep from the two projections and the states; ``back`` makes the
    cotangents of both projections and of the states from those of the new states.
    """

    def __init__(self, step: Step, back: Step, states: int) -> None:
        self.step, self.back, self.states = step, back, states
        self.kept: list[Any] = []
        self.before: list[np.ndarray] = []

    def value(self, x: np.ndarray, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        """All hidden states."""
        projected = (x.reshape(-1, SIZE) @ w.T).reshape(STEPS, BATCH, -1)
        states = (np.zeros((BATCH, SIZE)),) * self.states
        self.kept, self.before = [], []
        out = np.empty((STEPS, BATCH, SIZE))
        for t in range(STEPS):
            self.before.append(states[0])
            states, kept = self.step(projected[t], states[0] @ u.T, *states)
            self.kept.append(kept)
            out[t] = states[0]
        return out

    def gradients(self, g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray, u: np.ndarray) -> Any:
        """Those of the input and of both matrices."""
        gx = np.empty((STEPS, BATCH, len(w)))
        gh = np.empty((STEPS, BATCH, len(w)))
        states: tuple[Any, ...] = (0.0,) * self.states
        for t in reversed(range(STEPS)):
            gx[t], gh[t], states = self.back(self.kept[t], g[t] + states[0], *states[1:])
            states = (states[0] + gh[t] @ u, *states[1:])
        flat, rows = gx.reshape(-1, len(w)), gh.reshape(-1, len(w))
        return (flat @ w).reshape(x.shape), flat.T @ x.reshape(-1, SIZE), rows.T @ np.concatenate(self.before)


def _rnn(x: Any, y: Any, _: Any) -> Any:
    h = np.tanh(x + y)
    return (h,), h


def _rnn_back(h: Any, g: Any) -> Any:
    a = g * (1 - h * h)
    return a, a, (0.0,)


def _gru(x: Any, y: Any, h: Any) -> Any:
    gates = sigmoid(x[:, : 2 * SIZE] + y[:, : 2 * SIZE])
    r, z = gates[:, :SIZE], gates[:, SIZE:]
    n = np.tanh(x[:, 2 * SIZE :] + r * y[:, 2 * SIZE :])
    return (n + z * (h - n),), (gates, n, y[:, 2 * SIZE :], h - n)


def _gru_back(kept: Any, g: Any) -> Any:
    gates, n, y, d = kept
    r, z = gates[:, :SIZE], gates[:, SIZE:]
    a = g * (1 - z) * (1 - n * n)
    both = np.empty((len(g), 3 * SIZE))
    both[:, :SIZE], both[:, SIZE : 2 * SIZE] = a * y, g * d
    both[:, : 2 * SIZE] *= gates * (1 - gates)
    both[:, 2 * SIZE :] = a
    other = both.copy()
    other[:, 2 * SIZE :] *= r
    return both, other, (g * z,)


def _lstm(x: Any, y: Any, _: Any, c: Any) -> Any:
    a = x + y
    i, f, k, o = (a[:, j * SIZE : (j + 1) * SIZE] for j in range(4))
    i, f, k, o = sigmoid(i), sigmoid(f), np.tanh(k), sigmoid(o)
    new = f * c + i * k
    bent = np.tanh(new)
    return (o * bent, new), (i, f, k, o, c, bent)


def _lstm_back(kept: Any, g: Any, gc: Any) -> Any:
    i, f, k, o, c, bent = kept
    gc = gc + g * o * (1 - bent * bent)
    a = np.empty((len(g), 4 * SIZE))
    a[:, :SIZE], a[:, SIZE : 2 * SIZE] = gc * k * i * (1 - i), gc * c * f * (1 - f)
    a[:, 2 * SIZE : 3 * SIZE], a[:, 3 * SIZE :] = gc * i * (1 - k * k), g * bent * o * (1 - o)
    return a, a, (0.0, gc * f)


CELLS = {"rnn": (1, 1, _rnn, _rnn_back), "gru": (3, 1, _gru, _gru_back), "lstm": (4, 2, _lstm, _lstm_back)}


def table() -> list[tuple[Any, ...]]:
    """Rows as in the package."""
    found = []
    for name, (gates, states, step, back) in CELLS.items():
        hand, layer = ByHand(step, back, states), getattr(ng, name)
        operands = (
            ng.DimArray(draw(STEPS, BATCH, SIZE), ("time", "batch", "feature")),
            ng.DimArray(draw(gates * SIZE, SIZE) / 30, ("gate", "feature")),
            ng.DimArray(draw(gates * SIZE, SIZE) / 30, ("gate", "hidden")),
        )

        def call(x: Any, w: Any, u: Any, layer: Any = layer, states: int = states) -> Any:
            return layer(x, *[None] * states, w, u, bias=False)[0]

        found.append((name, call, operands, hand.value, hand.gradients))
    return found
