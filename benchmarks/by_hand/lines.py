"""Segments, triangles, convolution and differences of a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(5)
GROUPS = 1000
SEGMENT = RNG.integers(0, GROUPS, 1_000_000)
LINE = RNG.normal(size=1_000_000)
TAPS = RNG.normal(size=5)
TABLE = RNG.normal(size=(1000, 1000))
LEFT, RIGHT = RNG.normal(size=(31, 32)), RNG.normal(size=(32, 31))


def _segment_max(x: np.ndarray) -> np.ndarray:
    out = np.full(GROUPS, -np.inf)
    np.maximum.at(out, SEGMENT, x)
    return out


def _segment_max_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    hits = x == z[SEGMENT]
    return (np.where(hits, (g / np.bincount(SEGMENT[hits], minlength=GROUPS))[SEGMENT], 0),)


def _kron_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    blocks = g.reshape(31, 32, 32, 31)
    return np.einsum("ikjl,kl->ij", blocks, y), np.einsum("ikjl,ij->kl", blocks, x)


def _gradient_pull(g: np.ndarray, _: np.ndarray, __: np.ndarray) -> Any:
    out = np.zeros_like(g)
    half = g[:, 1:-1] * 0.5
    out[:, 2:] += half
    out[:, :-2] -= half
    out[:, 0] -= g[:, 0]
    out[:, 1] += g[:, 0]
    out[:, -1] += g[:, -1]
    out[:, -2] -= g[:, -1]
    return (out,)


def _margin(x: np.ndarray) -> Any:
    at = np.arange(1000), SEGMENT[:1000]
    behind = np.maximum(0, 1 - x[at][:, None] + x)
    behind[at] = 0
    return (behind.sum(1) / 1000).mean()


def _margin_pull(g: Any, _: Any, x: np.ndarray) -> Any:
    at = np.arange(1000), SEGMENT[:1000]
    out = (1 - x[at][:, None] + x > 0) * (g / 1e6)
    out[at] = 0
    out[at] = -out.sum(1)
    return (out,)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    line, taps, x = ng.DimArray(LINE, ("a",)), ng.DimArray(TAPS, ("a",)), ng.DimArray(TABLE, ("a", "b"))
    groups, pair = ng.DimArray(SEGMENT, ("a",)), (ng.DimArray(LEFT, ("a", "b")), ng.DimArray(RIGHT, ("a", "b")))
    classes = ng.DimArray(SEGMENT[:1000], ("a",))
    return [
        ("segment_sum", lambda x: ng.segment_sum(x, groups, "a", GROUPS), (line,),
         lambda x: np.bincount(SEGMENT, x, GROUPS), lambda g, z, x: (g[SEGMENT],)),
        ("segment_max", lambda x: ng.segment_max(x, groups, "a", GROUPS), (line,), _segment_max, _segment_max_pull),
        ("convolve", lambda x, w: ng.convolve(x, w, "a"), (line, taps), np.convolve,
         lambda g, z, x, w: (np.correlate(g, w, "valid"), np.correlate(g, x, "valid"))),
        ("kron", ng.kron, pair, np.kron, _kron_pull),
        ("tril", lambda x: ng.tril(x, ("a", "b")), (x,), np.tril, lambda g, z, x: (np.tril(g),)),
        ("differentiate", lambda x: ng.differentiate(x, dim="b"), (x,), lambda x: np.gradient(x, axis=1),
         _gradient_pull),
        ("multi_margin_loss", lambda x: ng.multi_margin_loss(x, classes, dim="b"), (x,), _margin, _margin_pull),
    ]  # fmt: skip
