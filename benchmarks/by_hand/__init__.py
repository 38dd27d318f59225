"""Operations at a million elements as one writes them by hand in NumPy: the value, and the gradient from what is known.

A gradient by hand is an array of its own too, never the cotangent itself.

A row is the call here, the operands, the value by hand and the gradients by hand: functions of the operands, and of the
cotangent, the value and the operands.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import namedgrad as ng
from benchmarks.by_hand import (
    cells,
    criteria,
    functions,
    layers,
    lines,
    losses,
    matrices,
    models,
    moves,
    nets,
    places,
    pointwise,
    recurrent,
    rolling,
    special,
    transforms,
    windows,
)

ROWS, COLUMNS = 1000, 1000


class Row(NamedTuple):
    """One operation, here and by hand."""

    name: str
    call: Callable[..., Any]
    operands: tuple[ng.DimArray, ...]
    value: Callable[..., Any]
    gradients: Callable[..., tuple[Any, ...]] | None


RNG = np.random.default_rng(0)
TABLE = RNG.uniform(0.2, 0.8, (ROWS, COLUMNS))
OTHER = RNG.uniform(0.2, 0.8, (ROWS, COLUMNS))
LINE = RNG.uniform(0.2, 0.8, COLUMNS)
X, Y, V = ng.DimArray(TABLE, ("a", "b")), ng.DimArray(OTHER, ("a", "b")), ng.DimArray(LINE, ("b",))
W = ng.DimArray(1 + TABLE, ("a", "b"))
NEAR_ONE = ng.DimArray(0.99 + TABLE / 50, ("a", "b"))

def _logsumexp(x: np.ndarray) -> np.ndarray:
    m = x.max(1)
    return m + np.log(np.exp(x - m[:, None]).sum(1))


# fmt: off
ONE: dict[str, tuple[Any, Any]] = {  # value of x; gradient of g, y, x
    "negative":   (np.negative,   lambda g, y, x: -g),
    "square":     (np.square,     lambda g, y, x: 2 * g * x),
    "reciprocal": (np.reciprocal, lambda g, y, x: -g * y * y),
    "sqrt":       (np.sqrt,       lambda g, y, x: g / (2 * y)),
    "cbrt":       (np.cbrt,       lambda g, y, x: g / (3 * y * y)),
    "exp":        (np.exp,        lambda g, y, x: g * y),
    "exp2":       (np.exp2,       lambda g, y, x: g * y * np.log(2)),
    "expm1":      (np.expm1,      lambda g, y, x: g * np.exp(x)),
    "log":        (np.log,        lambda g, y, x: g / x),
    "log2":       (np.log2,       lambda g, y, x: g / (x * np.log(2))),
    "log10":      (np.log10,      lambda g, y, x: g / (x * np.log(10))),
    "log1p":      (np.log1p,      lambda g, y, x: g / (1 + x)),
    "sin":        (np.sin,        lambda g, y, x: g * np.cos(x)),
    "cos":        (np.cos,        lambda g, y, x: -g * np.sin(x)),
    "tan":        (np.tan,        lambda g, y, x: g * (1 + y * y)),
    "arcsin":     (np.arcsin,     lambda g, y, x: g / np.sqrt((1 - x) * (1 + x))),
    "arccos":     (np.arccos,     lambda g, y, x: -g / np.sqrt((1 - x) * (1 + x))),
    "arctan":     (np.arctan,     lambda g, y, x: g / (1 + x * x)),
    "sinh":       (np.sinh,       lambda g, y, x: g * np.cosh(x)),
    "cosh":       (np.cosh,       lambda g, y, x: g * np.sinh(x)),
    "tanh":       (np.tanh,       lambda g, y, x: g / np.cosh(x) ** 2),
    "arcsinh":    (np.arcsinh,    lambda g, y, x: g / np.sqrt(1 + x * x)),
    "arctanh":    (np.arctanh,    lambda g, y, x: g / ((1 - x) * (1 + x))),
    "absolute":   (np.absolute,   lambda g, y, x: g * np.sign(x)),
    "deg2rad":    (np.deg2rad,    lambda g, y, x: g * (np.pi / 180)),
    "erf":        (scipy.special.erf,   lambda g, y, x: g * (2 / np.sqrt(np.pi)) * np.exp(-x * x)),
    "expit":      (scipy.special.expit, lambda g, y, x: g * y * (1 - y)),
}
TWO: dict[str, tuple[Any, Any]] = {
    "add":      (np.add,      lambda g, z, x, y: (g.copy(), g.copy())),
    "subtract": (np.subtract, lambda g, z, x, y: (g.copy(), -g)),
    "multiply": (np.multiply, lambda g, z, x, y: (g * y, g * x)),
    "divide":   (np.divide,   lambda g, z, x, y: (g / y, -g * z / y)),
    "power":    (np.power,    lambda g, z, x, y: (g * y * np.power(x, y - 1), g * z * np.log(x))),
    "hypot":    (np.hypot,    lambda g, z, x, y: (g * (x / z), g * (y / z))),
    "arctan2":  (np.arctan2,  lambda g, z, x, y: (g * y / (s := x * x + y * y), -g * x / s)),
    "maximum":  (np.maximum,  lambda g, z, x, y: (g * (h := (x >= y) - 0.5 * (x == y)), g * (1 - h))),
    "logaddexp": (np.logaddexp, lambda g, z, x, y: (g * (p := np.exp(x - z)), g * (1 - p))),
    "remainder": (np.remainder, lambda g, z, x, y: (g.copy(), -g * np.floor(x / y))),
}
ALONG: dict[str, tuple[Any, Any]] = {  # along the last dim
    "sum":  (lambda x: x.sum(1),  lambda g, y, x: np.broadcast_to(g[:, None], x.shape).copy()),
    "mean": (lambda x: x.mean(1), lambda g, y, x: np.broadcast_to(g[:, None] / COLUMNS, x.shape).copy()),
    "var":  (lambda x: x.var(1),  lambda g, y, x: (2 / COLUMNS * g)[:, None] * (x - x.mean(1, keepdims=True))),
    "std":  (lambda x: x.std(1),  lambda g, y, x: (g / y / COLUMNS)[:, None] * (x - x.mean(1, keepdims=True))),
    "max":  (lambda x: x.max(1),  lambda g, y, x: (h := x == y[:, None]) * (g / h.sum(1))[:, None]),
    "min":  (lambda x: x.min(1),  lambda g, y, x: (h := x == y[:, None]) * (g / h.sum(1))[:, None]),
    "prod": (lambda x: x.prod(1), lambda g, y, x: (g * y)[:, None] / x),
    "cumsum":  (lambda x: x.cumsum(1),  lambda g, y, x: np.flip(np.flip(g, 1).cumsum(1), 1)),
    "cumprod": (lambda x: x.cumprod(1), lambda g, y, x: np.flip(np.flip(g * y, 1).cumsum(1), 1) / x),
    "logsumexp": (_logsumexp, lambda g, y, x: g[:, None] * np.exp(x - y[:, None])),
    "median": (lambda x: np.median(x, 1), lambda g, y, x: _at_median(g, x)),
    "sort": (lambda x: np.sort(x, 1), lambda g, y, x: _put_back(g, np.argsort(x, 1))),
    "softmax": (lambda x: (e := np.exp(x - x.max(1, keepdims=True))) / e.sum(1, keepdims=True),
                lambda g, y, x: y * (g - (g * y).sum(1, keepdims=True))),
}
# fmt: on
OPTIONS: dict[str, dict[str, Any]] = {
    name: {"skipna": False}
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "median")
}


def _put_back(g: np.ndarray, order: np.ndarray) -> np.ndarray:
    out = np.empty_like(g)
    np.put_along_axis(out, order, g, 1)
    return out


def _at_median(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    middle = np.argpartition(x, (COLUMNS // 2 - 1, COLUMNS // 2), 1)[:, COLUMNS // 2 - 1 : COLUMNS // 2 + 1]
    np.put_along_axis(out, middle, g[:, None] / 2, 1)
    return out


def rows() -> list[Row]:
    """Every row, of those operations that there are."""  # fmt: skip
    index = np.random.default_rng(1).integers(0, COLUMNS, COLUMNS)
    one = [
        Row(n, getattr(ng, n), (X,), f, lambda g, y, x, d=d: (d(g, y, x),)) for n, (f, d) in ONE.items() if hasattr(ng, n)
    ]
    two = [Row(n, getattr(ng, n), (X, W), f, d) for n, (f, d) in TWO.items()]
    along = [
        Row(n, lambda x, n=n: getattr(ng, n)(x, "b", **OPTIONS.get(n, {})), (NEAR_ONE if "prod" in n else X,), f, lambda g, y, x, d=d: (d(g, y, x),))
        for n, (f, d) in ALONG.items()
        if hasattr(ng, n)
    ]
    others = [
        Row("arccosh", ng.arccosh, (W,), np.arccosh, lambda g, y, x: (g / np.sqrt((x - 1) * (x + 1)),)),
        Row("add, broadcast", ng.add, (X, V), np.add, lambda g, z, x, v: (g.copy(), g.sum(0))),
        Row("multiply, broadcast", ng.multiply, (X, V), np.multiply, lambda g, z, x, v: (g * v, np.einsum("ab,ab->b", g, x))),
        Row("where", lambda x, y: ng.where(POSITIVE, x, y), (X, Y), lambda x, y: np.where(MASK, x, y),
            lambda g, z, x, y: (np.where(MASK, g, 0), np.where(MASK, 0, g))),
        Row("clip", lambda x: x.clip(0.3, 0.6), (X,), lambda x: np.clip(x, 0.3, 0.6),
            lambda g, z, x: (g * ((x >= 0.3) & (x <= 0.6)),)),
        Row("power 3", lambda x: x**3, (X,), lambda x: x**3, lambda g, z, x: (3 * g * x**2,)),
        Row("dot", ng.dot, (X, ng.DimArray(OTHER, ("b", "c"))), np.matmul, lambda g, z, x, y: (g @ y.T, x.T @ g)),
        Row("isel, repeated", lambda x: x.isel(b=index), (X,), lambda x: x[:, index], lambda g, z, x: (_add_columns(g, index),)),
        Row("concat", lambda x, y: ng.concat([x, y], "b"), (X, Y), lambda x, y: np.concatenate([x, y], 1),
            lambda g, z, x, y: (g[:, :COLUMNS].copy(), g[:, COLUMNS:].copy())),
        Row("pad", lambda x: x.pad(b=(3, 3), mode="constant", constant_values=0), (X,), lambda x: np.pad(x, ((0, 0), (3, 3))),
            lambda g, z, x: (g[:, 3:-3].copy(),)),
        Row("roll", lambda x: x.roll(b=7), (X,), lambda x: np.roll(x, 7, 1), lambda g, z, x: (np.roll(g, -7, 1),)),
        Row("diff", lambda x: x.diff("b"), (X,), lambda x: np.diff(x, axis=1), lambda g, z, x: (_undiff(g),)),
    ]  # fmt: skip
    files = (layers, losses, criteria, pointwise, special, lines, cells, places, moves, rolling, nets, windows, models,
             transforms, matrices, recurrent, functions)  # fmt: skip
    return [*one, *two, *along, *others, *(Row(*row) for file in files for row in file.table())]


MASK = TABLE > 0.5
POSITIVE = ng.DimArray(MASK, ("a", "b"))


def _add_columns(g: np.ndarray, index: np.ndarray) -> np.ndarray:
    order = np.argsort(index, kind="stable")
    found, first = np.unique(index[order], return_index=True)
    out = np.zeros((len(g), COLUMNS))
    out[:, found] = np.add.reduceat(g[:, order], first, axis=1)
    return out


def _undiff(g: np.ndarray) -> np.ndarray:
    out = np.zeros((len(g), COLUMNS))
    out[:, 1:] += g
    out[:, :-1] -= g
    return out
