"""Linear algebra of many small matrices by hand in NumPy, a million cells in all; see :mod:`by_hand`."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(8)
MANY, N = 4000, 16
D = ("i", "j")


def _t(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-1, -2)


def _solve_pull(g: np.ndarray, x: np.ndarray, a: np.ndarray, *_b: np.ndarray) -> Any:
    back = np.linalg.solve(_t(a), g[..., None])[..., 0]
    return -back[..., :, None] * x[..., None, :], back


def _inv_pull(g: np.ndarray, x: np.ndarray, *_a: np.ndarray) -> Any:
    return (-np.matmul(np.matmul(_t(x), g), _t(x)),)


def _cholesky_pull(g: np.ndarray, low: np.ndarray, *_a: np.ndarray) -> Any:
    """Murray (2016), eq. 10."""
    p = np.tril(np.matmul(_t(low), g))
    p[..., range(N), range(N)] *= 0.5
    inverse = np.linalg.inv(low)
    s = np.matmul(np.matmul(_t(inverse), p), inverse)
    return ((s + _t(s)) / 2,)


def _values_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    v = np.linalg.eigh(a)[1]
    return (np.matmul(v * g[..., None, :], _t(v)),)


def _right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.solve(a, b[..., None])[..., 0]


def _cubed_pull(g: np.ndarray, _: np.ndarray, a: np.ndarray) -> Any:
    turned = _t(a)
    squared = np.matmul(turned, turned)
    return (np.matmul(g, squared) + np.matmul(np.matmul(turned, g), turned) + np.matmul(squared, g),)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    square = RNG.normal(size=(MANY, N, N)) + 4 * np.eye(N)
    positive = np.matmul(square, _t(square)) / N + np.eye(N)
    a, s, p = (ng.DimArray(m, ("n", *D)) for m in (square, square + _t(square), positive))
    b = ng.DimArray(RNG.normal(size=(MANY, N)), ("n", "i"))
    return [
        ("solve", lambda a, b: ng.solve(a, b, D), (a, b), _right, _solve_pull),
        ("inv", lambda a: ng.inv(a, D), (a,), np.linalg.inv, _inv_pull),
        ("det", lambda a: ng.det(a, D), (a,), np.linalg.det,
         lambda g, y, a: ((g * y)[:, None, None] * _t(np.linalg.inv(a)),)),
        ("logdet", lambda a: ng.logdet(a, D), (p,), lambda a: np.linalg.slogdet(a)[1],
         lambda g, y, a: (g[:, None, None] * _t(np.linalg.inv(a)),)),
        ("cholesky", lambda a: ng.cholesky(a, D), (p,), np.linalg.cholesky, _cholesky_pull),
        ("eigvalsh", lambda a: ng.eigvalsh(a, D), (s,), np.linalg.eigvalsh, _values_pull),
        ("matrix_power", lambda a: ng.matrix_power(a, D, 3), (a,), lambda a: np.matmul(a, np.matmul(a, a)),
         _cubed_pull),
    ]  # fmt: skip
