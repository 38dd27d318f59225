"""Every operation with every sample: a program recorded for some values gives, for others, what the function gives.

The function is run as it is to compare with; that it is right is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import like
from tests.support.samples import FLOATING, Case, outputs, table
from tests.support.tolerances import MATRIX, ROUNDING, assert_close

pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # of what is compared with: values that are not finite


class Counted:
    """A function that counts its runs."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.runs = f, 0

    def __call__(self, *args: Any) -> Any:
        self.runs += 1
        return self.f(*args)


def agree(case: Case, got: Any, want: Any) -> None:
    tolerance = MATRIX if case.tolerance_is_matrix else ROUNDING
    for k, (x, y) in enumerate(zip(outputs(got), outputs(want), strict=True)):
        assert type(x) is type(y) is ng.DimArray
        assert (x.dims, x.vectorized, x.dtype) == (y.dims, y.vectorized, y.dtype)
        for part in (np.real, np.imag) if y.dtype.kind == "c" else (np.asarray,):
            values = part(x.to_numpy()), part(y.to_numpy())
            assert_close(*values, tolerance, f"{case.label}, result {k}", least=1e-2)  # terms of about 1 that cancel to 0


def replayed(case: Case, f: Callable[..., Any], first: list[Any], *others: list[Any]) -> None:
    """Record at ``first``; replay there and at the others."""
    counted = Counted(f)
    compiled = ng.compile(counted)
    for operands in (first, *others, first):
        agree(case, compiled(*operands), f(*operands))
    assert counted.runs == 1


def hazardous(case: Case, seed: int) -> list[ng.DimArray]:
    """Operands with a NaN, an infinity and a zero in those that may have them."""
    rng = np.random.default_rng(seed)
    out = []
    for domain, x in zip(case.domains, case.operands(seed=seed), strict=True):
        data = x.to_numpy()
        if domain in ("real", "positive", "nonzero", "missing") and data.size > 2:
            at = rng.permutation(data.size)[:3]
            data.flat[at] = np.nan, np.inf, 0
        out.append(ng.DimArray(data, x.dims))
    return out


@table("compiled values", every_sample=True)
def test_values(case: Case) -> None:
    replayed(case, case, case.operands(), case.operands(seed=1), hazardous(case, 2))


@table("compiled slices")
def test_values_of_vectorized_operands(case: Case) -> None:
    def batched(seed: int) -> list[ng.DimArray]:
        xs = case.operands({k: ["B"] for k in range(len(case.domains))}, seed=seed)
        return [x.vectorize("B") for x in xs]

    replayed(case, case, batched(0), batched(1))


def derivatives(case: Case) -> Callable[..., Any]:
    """Value, gradients and tangents with respect to all operands that have them."""

    def f(cotangents: Any, tangents: Any, *operands: ng.DimArray) -> Any:
        at = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]

        def of_floats(*xs: ng.DimArray) -> Any:
            full = list(operands)
            for k, x in zip(at, xs, strict=True):
                full[k] = x
            return case(*full)

        xs = [operands[k] for k in at]
        out, pull = ng.pullback(of_floats, *xs)
        gradients = outputs(pull(cotangents))
        _, pushed = ng.pushforward(of_floats, tuple(xs), tangents)
        return [*outputs(out), *gradients, *outputs(pushed)]

    return f


def with_seeds(case: Case, operands: list[ng.DimArray], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    out = case(*operands)
    cotangents = [like(y, rng) for y in outputs(out)]
    tangents = tuple(like(x, rng) for x in operands if x.dtype.kind in "fc")
    return [tuple(cotangents) if isinstance(out, tuple) else cotangents[0], tangents, *operands]


@table("compiled derivatives", FLOATING, every_sample=True)
def test_derivatives(case: Case) -> None:
    points = [case.operands(), case.operands(seed=1), hazardous(case, 2)]
    replayed(case, derivatives(case), *(with_seeds(case, xs, k) for k, xs in enumerate(points)))


@table("compiled where not finite", FLOATING)
def test_recorded_where_values_are_not_finite(case: Case) -> None:
    points = [hazardous(case, 2), case.operands(), hazardous(case, 3)]
    replayed(case, derivatives(case), *(with_seeds(case, xs, k) for k, xs in enumerate(points)))


SECOND = [
    c
    for c in FLOATING
    if all(d in ("real", "positive", "nonzero", "unit", "well", "spd", "missing", "bool") for d in c.domains)
]


@table("compiled second derivatives", SECOND)
def test_second_derivatives(case: Case) -> None:
    """Forward over reverse and reverse over reverse."""
    domains = case.domains
    (k, *_) = [k for k, d in enumerate(domains) if d != "bool"]

    def f(*operands: ng.DimArray) -> Any:
        def loss(x: ng.DimArray) -> ng.DimArray:
            ys = outputs(case(*operands[:k], x, *operands[k + 1 :]))
            parts = [p for y in ys for p in ((ng.real(y), ng.imag(y)) if y.dtype.kind == "c" else (y,))]
            return sum((ng.sin(p) * p).sum() for p in parts if p.dtype.kind == "f")

        slope = ng.grad(loss)
        v = ng.stop_gradient(operands[k]) * 0 + 0.5
        return [ng.hvp(loss, operands[k], v), ng.grad(lambda x: (slope(x) * v).sum())(operands[k])]

    replayed(case, f, case.operands(), case.operands(seed=1), hazardous(case, 2))
