"""Cases as functions of their operands, and what the transforms make of these."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import namedgrad as ng
from tests.support.arrays import all_names, like, values
from tests.support.domains import SYMMETRIC
from tests.support.samples import Case, outputs
from tests.support.tolerances import MATRIX, ROUNDING

Arrays = list[ng.DimArray]


def rng_of(case: Case, check: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{case.label} {check}".encode()))


def rounding(case: Case) -> float:
    return MATRIX if case.tolerance_is_matrix else ROUNDING


class Function:
    """A case as a function of those of its operands that can be differentiated, or of ``some`` of these."""

    def __init__(self, case: Case, operands: Arrays, some: Iterable[int] | None = None) -> None:
        self.case, self.all = case, operands
        floats = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]
        self.at = floats if some is None else [floats[k] for k in some]
        self.xs = [operands[k] for k in self.at]
        self._vectors: Any = None
        matrix = case.sample.kwargs.get("dims", ())
        self.symmetric = [
            tuple(all_names(operands[k]).index(d) for d in matrix) if case.domains[k] in SYMMETRIC else None for k in self.at
        ]

    def __call__(self, *xs: ng.DimArray) -> Any:
        full = list(self.all)
        for k, x in zip(self.at, xs, strict=True):
            full[k] = x
        return self.case(*full)

    def steady(self, *xs: ng.DimArray) -> Any:
        """The same with eigenvectors of the signs that they have at ``self.xs``, for differences: LAPACK's may jump."""
        out = self(*xs)
        if self.case.name not in {"eig", "eigh"}:
            return out
        if self._vectors is None:
            self._vectors = self(*self.xs)[1]
        along = (np.conj(self._vectors) * out[1]).real.sum(self.case.sample.kwargs["dims"][0])
        return out[0], out[1] * ng.stop_gradient(ng.sign(along))

    def tangents(self, rng: np.random.Generator) -> Arrays:
        """Random tangents; those of symmetric matrices are symmetric."""
        out = []
        for x, symmetric in zip(self.xs, self.symmetric, strict=True):
            t = like(x, rng)
            data = values(t, all_names(x))
            mirrored = (data + np.swapaxes(data, *symmetric).conj()) / 2 if symmetric else data
            out.append(ng.DimArray(mirrored, all_names(x), vectorized=x.vectorized))
        return out


def pull(f: Callable[..., Any], xs: Sequence[ng.DimArray], cotangents: Arrays) -> Arrays:
    """Gradients of ``f`` at ``xs``."""
    out, back = ng.pullback(f, *xs)
    got = back(tuple(cotangents) if isinstance(out, tuple) else cotangents[0])
    return list(got) if len(xs) > 1 else [got]


def push(f: Callable[..., Any], xs: Sequence[ng.DimArray], tangents: Arrays) -> Arrays:
    """Tangents of the outputs of ``f`` at ``xs``."""
    return outputs(ng.pushforward(f, tuple(xs), tuple(tangents))[1])


def cotangents_of(f: Function, rng: np.random.Generator, batch: dict[Any, int] | None = None) -> Arrays:
    """Random cotangents, 0 where an output is NaN because the reference is: its derivative is not a number either."""
    out = []
    for y in outputs(f(*f.xs)):
        c = like(y, rng, batch)
        gone = np.isnan(y.to_numpy())
        gone = np.expand_dims(gone, tuple(range(len(y.vectorized), len(c.vectorized))))
        out.append(ng.DimArray(np.where(gone, 0, c.to_numpy()), all_names(c), vectorized=c.vectorized))
    return out
