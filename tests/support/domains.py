"""Domains: what values the operands of a sample are drawn from.  Each family may register more with :func:`domain`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Rng = np.random.Generator
Draw = Callable[[Rng, tuple[int, ...]], np.ndarray]

def spaced(rng: Rng, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Shuffled values that keep away from each other and from the kinks at multiples of a quarter."""
    n = int(np.prod(shape, dtype=int))
    grid = low + (high - low) * (np.arange(n) + rng.uniform(0.2, 0.8, n)) / max(n, 1)
    near = np.abs(4 * grid - np.rint(4 * grid)) < 0.1
    grid = np.where(near, grid + 0.05 * np.where(grid < (low + high) / 2, 1, -1), grid)
    return rng.permutation(grid).reshape(shape)


def _missing(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = spaced(rng, shape, -2, 2)
    gone = rng.permutation(np.arange(x.size) < max(1, x.size // 4)).reshape(shape)
    return np.where(gone, np.nan, x)


def _complex(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, -2, 2) + 1j * spaced(rng, shape, -2, 2)


def _square(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])


def _spd(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])


def _hermitian(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2).conj() / shape[-1] + np.eye(shape[-1])


def _nonzero(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, 0.3, 2) * rng.choice([-1, 1], shape)


DOMAINS: dict[str, Draw] = {
    "real": lambda rng, shape: spaced(rng, shape, -2, 2),
    "positive": lambda rng, shape: spaced(rng, shape, 0.3, 2),
    "nonzero": _nonzero,
    "unit": lambda rng, shape: spaced(rng, shape, -0.9, 0.9),
    "above_one": lambda rng, shape: spaced(rng, shape, 1.2, 3),
    "bool": lambda rng, shape: rng.permutation(np.arange(int(np.prod(shape, dtype=int))) % 2 == 0).reshape(shape),
    "missing": _missing,
    "complex": _complex,
    "well": _square,
    "cwell": lambda rng, shape: _square(rng, shape) + 1j * rng.normal(size=shape),
    "spd": _spd,
    "hermitian": _hermitian,
}
MATRICES = {"well", "cwell", "spd", "hermitian"}
SYMMETRIC = {"spd", "hermitian"}


def domain(name: str, *, matrix: bool = False, symmetric: bool = False) -> Callable[[Draw], Draw]:
    """Register a domain: a function of a generator and a shape, whose last two sizes are those of a matrix if it says so."""

    def register(draw: Draw) -> Draw:
        assert name not in DOMAINS, f"the domain {name!r} exists"
        DOMAINS[name] = draw
        if matrix:
            MATRICES.add(name)
        if symmetric:
            SYMMETRIC.add(name)
        return draw

    return register


@functools.cache
def parse(operand: str) -> tuple[str, tuple[str, ...]]:
    """``"real(a,b)"`` as ``("real", ("a", "b"))``."""
    domain, dims = re.fullmatch(r"(\w+)\(([\w,]*)\)", operand).groups()  # type: ignore[union-attr]
    return domain, tuple(d for d in dims.split(",") if d)


def draw(domain: str, dims: Sequence[str], sizes: Mapping[str, int], rng: Rng, matrix: Sequence[str] = ()) -> np.ndarray:
    """Values of a domain over dims, in their order; ``matrix`` are the rows and columns of matrix domains.

    ``index_c`` draws positions along the dim ``c``.
    """
    if domain.startswith("index_"):
        return rng.integers(0, sizes[domain.removeprefix("index_")], tuple(sizes[d] for d in dims))
    if domain not in MATRICES:
        return DOMAINS[domain](rng, tuple(sizes[d] for d in dims))
    order = [*(d for d in dims if d not in matrix), *matrix]
    x = DOMAINS[domain](rng, tuple(sizes[d] for d in order))
    return np.ascontiguousarray(np.transpose(x, [order.index(d) for d in dims]))


@functools.cache
def of_complex(domain: str) -> bool:
    """Whether the values of a domain are complex."""
    return domain in DOMAINS and DOMAINS[domain](np.random.default_rng(0), (3, 3)).dtype.kind == "c"
