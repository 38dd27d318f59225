"""Gradients of plain NumPy programs of many small steps, beside HIPS autograd's of the same programs.

Networks, filters, chains and fluids as autograd's own examples have them: arrays of ten to a few thousand numbers, a
hundred to a few thousand steps, so that what is measured is mostly what a step costs beside its own work. Each program
is a function of the module that it calls NumPy, and of a list of arrays; results are compared first.
"""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import namedgrad as ng
from benchmarks.report import arguments, medians, sampler, save, verdict

ROUNDS = 7
TARGET = 2.5
RNG = np.random.default_rng(0)
Program = Callable[[Any, list[Any]], Any]


def normal(*shape: int, scale: float = 0.1) -> np.ndarray:
    """Random numbers."""
    return RNG.normal(size=shape) * scale


def logsumexp(xp: Any, x: Any, axis: int) -> Any:
    """By the largest."""
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.squeeze(top, axis) + xp.log(xp.sum(xp.exp(x - top), axis=axis))


# ------------------------------------------------------------------------------------------------ programs

INPUTS, LABELS = normal(40, 16, 20, scale=1.0), np.eye(20)[RNG.integers(0, 20, (40, 16))]
POINTS, SEEN, MEASURED = normal(1000, 2, scale=1.0), RNG.integers(0, 20, 100), normal(60, 3, scale=1.0)
OBSERVE, X, Y = normal(3, 6, scale=1.0), normal(100, 3, scale=1.0), normal(100, scale=1.0)
ROWS, COLUMNS = np.meshgrid(np.arange(40), np.arange(40))


def recurrent(xp: Any, p: list[Any]) -> Any:
    """A recurrent network over 40 steps."""
    first, change, predict = p
    hidden, loss = xp.repeat(first, 16, axis=0), 0.0
    for x, y in zip(INPUTS, LABELS, strict=True):
        hidden = xp.tanh(xp.dot(xp.hstack([x, hidden, np.ones((16, 1))]), change))
        out = xp.dot(xp.hstack([hidden, np.ones((16, 1))]), predict)
        loss = loss - xp.sum((out - logsumexp(xp, out, 1)[:, None]) * y)
    return loss


def gated(xp: Any, p: list[Any]) -> Any:
    """A long short-term memory over 40 steps."""
    hidden, cell, loss = np.zeros((16, 20)), np.zeros((16, 20)), 0.0
    for x in INPUTS:
        z = xp.hstack([x, hidden])
        forget, let_in, let_out = (0.5 * (xp.tanh(xp.dot(z, w)) + 1) for w in p[:3])
        cell = forget * cell + let_in * xp.tanh(xp.dot(z, p[3]))
        hidden = let_out * xp.tanh(cell)
        loss = loss + xp.sum((hidden - x) ** 2)
    return loss


def mixture(xp: Any, p: list[Any]) -> Any:
    """Fifteen normal distributions, and the likelihood of a thousand points."""
    shares, means, roots = p
    shares = shares - logsumexp(xp, shares, 0)
    parts = []
    for k in range(15):
        z = xp.dot(POINTS - means[k], roots[k])
        parts.append(shares[k] - 0.5 * xp.sum(z**2, axis=1) + xp.log(xp.abs(xp.linalg.det(roots[k]))))
    return -xp.sum(logsumexp(xp, xp.vstack(parts), 0))


def markov(xp: Any, p: list[Any]) -> Any:
    """A hidden Markov model of ten states, observed a hundred times."""
    start, moves, shows = (x - logsumexp(xp, x, x.ndim - 1)[..., None] for x in p)
    state = start + shows[:, SEEN[0]]
    for seen in SEEN[1:]:
        state = logsumexp(xp, state[:, None] + moves, 0) + shows[:, seen]
    return -logsumexp(xp, state, 0)


def kalman(xp: Any, p: list[Any]) -> Any:
    """A Kalman filter of six states and three measurements over 60 steps."""
    step, noise, error = p[0], xp.dot(p[1], p[1].T), xp.dot(p[2], p[2].T)
    x, spread, loss = np.zeros(6), np.eye(6), 0.0
    for y in MEASURED:
        x, spread = xp.dot(step, x), xp.dot(xp.dot(step, spread), step.T) + noise
        total, miss = xp.dot(xp.dot(OBSERVE, spread), OBSERVE.T) + error, y - xp.dot(OBSERVE, x)
        gain = xp.linalg.solve(total, xp.dot(OBSERVE, spread)).T
        loss = loss + 0.5 * xp.dot(miss, xp.linalg.solve(total, miss)) + 0.5 * xp.linalg.slogdet(total)[1]
        x, spread = x + xp.dot(gain, miss), spread - xp.dot(gain, xp.dot(OBSERVE, spread))
    return loss


def process(xp: Any, p: list[Any]) -> Any:
    """The likelihood of a Gaussian process of a hundred points."""
    apart = xp.sum(((X[:, None] - X[None]) / xp.exp(p[0])) ** 2, axis=2)
    covariance = xp.exp(p[1]) * xp.exp(-0.5 * apart) + (xp.exp(p[2]) + 1e-3) * np.eye(100)
    return 0.5 * xp.dot(Y, xp.linalg.solve(covariance, Y)) + 0.5 * xp.linalg.slogdet(covariance)[1]


def advected(xp: Any, field: Any, u: Any, v: Any) -> Any:
    """Values between cells, from where the flow comes."""
    row, column = xp.ravel(ROWS - u), xp.ravel(COLUMNS - v)
    top, left = (xp.floor(a).astype(int) for a in (row, column))
    down, right = row - top, column - left
    (top, below), (left, beside) = ((np.mod(i, 40), np.mod(i + 1, 40)) for i in (top, left))
    upper = (1 - right) * field[top, left] + right * field[top, beside]
    lower = (1 - right) * field[below, left] + right * field[below, beside]
    return xp.reshape((1 - down) * upper + down * lower, (40, 40))


def fluid(xp: Any, p: list[Any]) -> Any:
    """Smoke in a flow without divergence, ten steps on 40 x 40 cells."""
    (u, v), smoke = p, np.hypot(ROWS - 20.0, COLUMNS - 20.0) / 20
    for _ in range(10):
        u, v = advected(xp, u, u, v), advected(xp, v, u, v)
        sources = (xp.roll(u, -1, 0) - xp.roll(u, 1, 0) + xp.roll(v, -1, 1) - xp.roll(v, 1, 1)) / -80
        pressure = np.zeros((40, 40))
        for _ in range(5):
            around = [xp.roll(pressure, k, axis) for axis in (0, 1) for k in (1, -1)]
            pressure = (sources + around[0] + around[1] + around[2] + around[3]) / 4
        u = u - 20 * (xp.roll(pressure, -1, 0) - xp.roll(pressure, 1, 0))
        v = v - 20 * (xp.roll(pressure, -1, 1) - xp.roll(pressure, 1, 1))
        smoke = advected(xp, smoke, u, v)
    return xp.mean((smoke - 0.5) ** 2)


def lorenz(xp: Any, p: list[Any]) -> Any:
    """Three numbers of Lorenz's, 100 steps of Euler's."""
    (a, r, b), x = p[0], np.array([1.0, 1.0, 1.0])
    for _ in range(100):
        x = x + 0.01 * xp.stack([a * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - b * x[2]])
    return xp.sum(x**2)


def weather(xp: Any, p: list[Any]) -> Any:
    """Lorenz's 400 places on a circle, 50 steps of Runge and Kutta's."""

    def slope(x: Any) -> Any:
        return (xp.roll(x, -1) - xp.roll(x, 2)) * xp.roll(x, 1) - x + 8.0

    x, h = p[0], 0.01
    for _ in range(50):
        k = slope(x)
        middle = slope(x + h / 2 * k)
        x = x + h / 3 * (k / 2 + middle + slope(x + h * middle) / 2)
    return xp.mean(x**2)


def heat(xp: Any, p: list[Any]) -> Any:
    """Heat on 64 x 64 cells with cold edges, 50 steps."""
    u = p[0]
    for _ in range(50):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
        u = xp.pad(inner + 0.1 * around, 1, mode="constant")
    return xp.sum(u**2)


PROGRAMS: dict[str, tuple[Program, list[np.ndarray]]] = {
    "recurrent network":    (recurrent, [normal(1, 50), normal(71, 50), normal(51, 20)]),
    "LSTM":                 (gated,     [normal(40, 20) for _ in range(4)]),
    "Gaussian mixture":     (mixture,   [normal(15), normal(15, 2, scale=1.0), np.eye(2) + normal(15, 2, 2)]),
    "hidden Markov model":  (markov,    [normal(10, scale=1.0), normal(10, 10, scale=1.0), normal(10, 20, scale=1.0)]),
    "Kalman filter":        (kalman,    [0.9 * np.eye(6) + normal(6, 6, scale=0.02), np.eye(6), np.eye(3)]),
    "Gaussian process":     (process,   [normal(3), normal(1), normal(1)]),
    "fluid":                (fluid,     [normal(40, 40, scale=0.3), normal(40, 40, scale=0.3)]),
    "three numbers":        (lorenz,    [np.array([10.0, 28.0, 8 / 3])]),
    "places on a circle":   (weather,   [normal(400, scale=1.0)]),
    "heat":                 (heat,      [normal(64, 64, scale=1.0)]),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ measured


def contenders(program: Program, given: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    """The value alone, and gradients by whoever is installed; refused if these differ."""
    runs: dict[str, Callable[[], Any]] = {"value": lambda: program(np, given)}
    ours = ng.grad(lambda p: program(np, p))
    runs["namedgrad"] = lambda: ours(given)
    try:
        autograd, wrapped = importlib.import_module("autograd"), importlib.import_module("autograd.numpy")
    except ImportError:
        return runs
    theirs = autograd.grad(lambda p: program(wrapped, p))
    runs["autograd"] = lambda: theirs(given)
    for got, expected in zip(ours(given), theirs(given), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    return runs


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, ROUNDS).parse_args()
    print(f"medians of {options.rounds} interleaved rounds: ms")
    rows, lines = [], []
    for name, (program, given) in PROGRAMS.items():
        times = medians({who: sampler(run) for who, run in contenders(program, given).items()}, options.rounds)
        print(f"  {name:22}" + "  ".join(f"{who} {time:8.2f}" for who, time in times.items()))
        rows.append({"program": name, "ms": times})
    print()
    ratios = {r["program"]: r["ms"]["namedgrad"] / r["ms"]["autograd"] if "autograd" in r["ms"] else None for r in rows}
    lines += [verdict(f"{name}: gradient / autograd", ratio, TARGET) for name, ratio in ratios.items()]
    known = [math.log(r) for r in ratios.values() if r is not None]
    lines.append(verdict("all programs: geometric mean", math.exp(sum(known) / len(known)) if known else None, 1.5))
    if options.json:
        save(options.json, {"rounds": options.rounds, "medians": rows, "verdicts": lines})


if __name__ == "__main__":
    main()
