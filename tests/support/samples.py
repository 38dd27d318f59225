"""Sample calls made real: operands drawn from a domain, with a size per dim."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from namedgrad.primitive import OPERATIONS, Operation, Sample, sample

SIZES = {"a": 3, "b": 4, "c": 2, "i": 5, "j": 5, "one": 1, "six": 6}  # all distinct, but for the square matrices
EQUAL = {name: size if name in {"one", "six"} else 4 for name, size in SIZES.items()}
BATCH = {"B": 7, "B1": 2, "B2": 6}
SHARED = {"B": 4, "B1": 4, "B2": 4}  # batch sizes that equal every other size

Rng = np.random.Generator


# ------------------------------------------------------------------------------------------------ domains


def _spaced(rng: Rng, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Shuffled values that keep away from each other and from the kinks at multiples of a quarter."""
    n = int(np.prod(shape, dtype=int))
    grid = low + (high - low) * (np.arange(n) + rng.uniform(0.2, 0.8, n)) / max(n, 1)
    near = np.abs(4 * grid - np.rint(4 * grid)) < 0.1
    grid = np.where(near, grid + 0.05 * np.where(grid < (low + high) / 2, 1, -1), grid)
    return rng.permutation(grid).reshape(shape)


def _missing(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = _spaced(rng, shape, -2, 2)
    gone = rng.permutation(np.arange(x.size) < max(1, x.size // 4)).reshape(shape)
    return np.where(gone, np.nan, x)


def _complex(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return _spaced(rng, shape, -2, 2) + 1j * _spaced(rng, shape, -2, 2)


def _square(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])


def _spd(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])


def _hermitian(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2).conj() / shape[-1] + np.eye(shape[-1])


def _nonzero(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return _spaced(rng, shape, 0.3, 2) * rng.choice([-1, 1], shape)


DOMAINS: dict[str, Callable[[Rng, tuple[int, ...]], np.ndarray]] = {
    "real": lambda rng, shape: _spaced(rng, shape, -2, 2),
    "positive": lambda rng, shape: _spaced(rng, shape, 0.3, 2),
    "nonzero": _nonzero,
    "unit": lambda rng, shape: _spaced(rng, shape, -0.9, 0.9),
    "above_one": lambda rng, shape: _spaced(rng, shape, 1.2, 3),
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


def parse(operand: str) -> tuple[str, tuple[str, ...]]:
    """``"real(a,b)"`` as ``("real", ("a", "b"))``."""
    domain, dims = re.fullmatch(r"(\w+)\(([\w,]*)\)", operand).groups()  # type: ignore[union-attr]
    return domain, tuple(d for d in dims.split(",") if d)


def draw(domain: str, dims: Sequence[str], sizes: Mapping[str, int], rng: Rng, matrix: Sequence[str] = ()) -> np.ndarray:
    """Values of a domain over dims, in their order; ``matrix`` are the rows and columns of matrix domains."""
    if domain not in MATRICES:
        return DOMAINS[domain](rng, tuple(sizes[d] for d in dims))
    order = [*(d for d in dims if d not in matrix), *matrix]
    x = DOMAINS[domain](rng, tuple(sizes[d] for d in order))
    return np.ascontiguousarray(np.transpose(x, [order.index(d) for d in dims]))


# ------------------------------------------------------------------------------------------------ cases


class Case(NamedTuple):
    """One operation with one of its samples."""

    op: Operation
    sample: Sample
    label: str

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def domains(self) -> list[str]:
        return [parse(o)[0] for o in self.sample.operands]

    @property
    def tolerance_is_matrix(self) -> bool:
        return any(d in MATRICES for d in self.domains)

    def __call__(self, *operands: ng.DimArray) -> Any:
        return self.op.function(*operands, **self.sample.kwargs)

    def operands(
        self, batch: Mapping[int, Sequence[str]] | None = None, sizes: Mapping[str, int] | None = None, seed: int = 0
    ) -> list[ng.DimArray]:
        """Operands with more dims, ``batch[k]`` on the k-th, the first in front, the others behind the first own dim."""
        table = {**SIZES, **BATCH, **(sizes or {})}
        rng = np.random.default_rng([zlib.crc32(self.label.encode()), seed])
        out = []
        for k, operand in enumerate(self.sample.operands):
            domain, dims = parse(operand)
            more = tuple((batch or {}).get(k, ()))
            full = (*more[:1], *dims[:1], *more[1:], *dims[1:]) if k % 2 == 0 else (*dims[:1], *more, *dims[1:])
            out.append(ng.DimArray(draw(domain, full, table, rng, self.sample.kwargs.get("dims", dims[-2:])), full))
        return out


# Samples that the registry does not have: complex numbers, other defaults, more shapes.
_HOLOMORPHIC = ["negative", "positive", "reciprocal", "square", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "arccosh"]
MORE: dict[str, list[Sample]] = {
    **{name: [sample("complex(a,b)")] for name in _HOLOMORPHIC},
    **{
        name: [sample("complex(a,b)", "complex(b,c)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "real(a,b)")]
        for name in ("add", "subtract", "multiply")
    },
    "divide": [sample("complex(a,b)", "complex(b)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "nonzero(a,b)")],
    "power": [sample("complex(a,b)", "complex(b)"), sample("positive(b)", "complex(a,b)"), sample("nonzero(a,b)", "positive(b)")][:2],
    "where": [sample("bool(a)", "complex(a,b)", "real(b)")],
    "sum": [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=()), sample("missing(a,b)", dim="b", skipna=False),
            sample("missing(a,b)", dim="b", min_count=3), sample("missing(a,b)", dim=("b", "a"), keepdims=True)],
    "mean": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", keepdims=True)],
    "var": [sample("missing(a,b)", dim="b", ddof=1), sample("real(a,b,c)", dim=("c", "a"), keepdims=True),
            sample("missing(a,b)", dim="b", skipna=False)],
    "std": [sample("complex(a,b)", dim="b"), sample("real(a,b)")],
    "prod": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", min_count=3), sample("real(a,b,c)", dim=("a", "c"))],
    "max": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", dim="a", keepdims=True)],
    "min": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False)],
    "logsumexp": [sample("real(a,b)", dim="a", keepdims=True), sample("complex(a,b)", dim="b")],
    "cumsum": [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b")), sample("missing(a,b)", dim="b", skipna=False)],
    "dot": [sample("complex(a,b)", "complex(c,b)"), sample("real(a,b)", "real(b,a)", dim=...), sample("real(a,b,c)", "real(c,a,b)", dim=("c", "b")),
            sample("real(a,b)", dim="a"), sample("real(a)", "real(b)", "real(c)", "real(a,c)", dim="c"), sample("real(a,b)", "complex(b,c)"),
            sample("real(a,b)", "real(b)", dim="a")],
    "solve": [sample("cwell(i,j)", "complex(i,a)", dims=("i", "j")), sample("well(i,j)", "complex(i)", dims=("i", "j")),
              sample("well(j,a,i)", "real(b,i,a)", dims=("i", "j"))],
    "cholesky": [sample("hermitian(i,j)", dims=("i", "j")), sample("hermitian(j,i)", dims=("i", "j"), lower=False)],
    "isel": [sample("real(a,b,c)", indexers={"a": [0, 2, 2], "c": [1, 0, 1]}), sample("complex(a,b)", indexers={"b": slice(3, 0, -2)}),
             sample("real(a,b,c)", indexers={"b": ng.DimArray([[0, 1], [3, 3], [2, -1]], ("p", "q"))}),
             sample("real(a,b,c)", indexers={"a": ng.DimArray([0, 2, 2], "p"), "c": ng.DimArray([1, 0, 0], "p")}),
             sample("real(a,b,c)", indexers={"b": ng.DimArray([3, 0, 3, 1], "b"), "c": ng.DimArray([1, 0, 1, 1], "b")}),
             sample("real(a,b)", indexers={"a": -1, "b": ng.DimArray(2, ())})],
    "take": [sample("real(a,b)", index=1, dim="b"), sample("real(a,b)", index=ng.DimArray([[0, 0]], ("p", "q")), dim="a")],
    "concat": [sample("complex(a,b)", "real(a,b)", dim="b"), sample("real(a)", "real(a,b)", "real(b)", dim="b"), sample("real(a,b)", dim="z")],
    "pad": [sample("complex(a,b)", pad_width={"a": (0, 2)}, constant_values=0), sample("real(a,b)", pad_width={"a": (1, 0), "b": (0, 2)})],
    "roll": [sample("complex(a,b)", shifts={"b": 1})],
    "shift": [sample("real(a,b)", shifts={"a": 7}, fill_value=0.0), sample("real(a,b)", shifts={"b": -1})],
    "diff": [sample("real(a,b)", dim="b", n=3), sample("complex(a,b)", dim="b")],
    "stack": [sample("complex(a,b)", dim={"z": ("a", "b")}), sample("real(a,b,c)", dim={"b": ("b", "c")})],
    "transpose": [sample("complex(a,b)")],
    "clip": [sample("real(a,b)", "real(a)", max=1.1)],
    "squeeze": [sample("complex(a,one)")],
    "matmul": [sample("complex(a,b)", "complex(b,c)", dim="b")],
}  # fmt: skip


def _cases() -> list[Case]:
    out = []
    for name, op in OPERATIONS.items():
        for k, one in enumerate((*op.samples, *MORE.get(name, ()))):
            out.append(Case(op, one, f"{name}-{k}"))
    return out


CASES = _cases()


def outputs(result: Any) -> list[ng.DimArray]:
    """One or several outputs as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _has_derivative(case: Case) -> bool:
    return case.name != "stop_gradient" and all(y.dtype.kind in "fc" for y in outputs(case(*case.operands())))


with np.errstate(all="ignore"):
    FLOATING = [c for c in CASES if _has_derivative(c)]
LABELS = {c.label for c in FLOATING}
