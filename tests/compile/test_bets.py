"""What programs take for likely: they do no more than the eager way does, and go on rightly where it is not so."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 2.0, (4, 6))
W = RNG.normal(size=4)
TO = [0, 0, 1, 1, 1, 1]
INTO, THREES = ng.DimArray(TO, ("b",)), ng.DimArray(np.full((4, 2), 3.0), ("a", "b"))


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A program whose gradient is looked at."""
    return ng.compile(ng.grad(lambda x: (f(x) * ng.DimArray(W, ("a",))).sum()))


def others(x: np.ndarray) -> np.ndarray:
    """For every cell the product of the others in its row."""
    return np.array([[float(math.prod(map(Fraction, np.delete(row, k)))) for k in range(row.size)] for row in x])


def others_written(x: np.ndarray) -> np.ndarray:
    """For every cell the product of those that are written where it is."""
    return np.concatenate([others(x[:, :2]), others(x[:, 2:])], 1)


def later(x: np.ndarray) -> np.ndarray:
    """The gradient of the weighted sum over rows of the cumulative products of their cells, by its definition."""
    n = range(x.shape[1])
    return np.array([[sum(np.prod(np.delete(row[: k + 1], i)) for k in n if k >= i) for i in n] for row in x])


def direction(x: np.ndarray) -> np.ndarray:
    size = np.abs(x).max(1, keepdims=True)
    size = np.where(size == 0, 1, size)
    length = np.linalg.norm(x / size, axis=1, keepdims=True)
    return x / size / np.where(length == 0, 1, length)


def shares(x: np.ndarray) -> np.ndarray:
    return scipy.special.softmax(x, 1)


def first_share(x: np.ndarray) -> np.ndarray:
    """The gradient of the first share; of one near 1 by the sum of the others."""
    p = shares(x)
    out = -p * p[:, :1]
    out[:, 0] = p[:, 0] * p[:, 1:].sum(1)
    return out


def rise(x: np.ndarray) -> np.ndarray:
    """How each cell raises the line through those of its row that are there."""
    t = np.where(np.isnan(x), np.nan, np.arange(x.shape[1]))
    off = t - np.nanmean(t, 1, keepdims=True)
    return np.nan_to_num(off / np.nansum(off**2, 1, keepdims=True))


def row(*cells: float) -> np.ndarray:
    x = X.copy()
    x[1] = cells
    return x


CASES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray], np.ndarray]] = {
    "prod": (lambda x: x.prod("b"), others, row(1, 0, 2, 3, -1, 1)),
    "prod, underflow": (lambda x: x.prod("b"), others, row(1e-200, 1e-200, 1, 1, 1e200, 1)),
    "segment_prod": (lambda x: ng.segment_prod(x, TO, "b").sum("b"), others_written, row(0, 2, 3, 0, -1, 0)),
    "scatter_reduce": (lambda x: ng.scatter_reduce(THREES, INTO, x, "b", "prod").sum("b"), lambda x: 3 * others_written(x), row(0, 2, 3, 0, -1, 0)),
    "cumprod": (lambda x: x.cumprod("b").sum("b"), later, row(1, 0, 2, 0, -1, 1)),
    "norm": (lambda x: ng.norm(x, "b"), direction, row(1e200, -2e200, 0, 1, 1, 1)),
    "norm of 0": (lambda x: ng.norm(x, "b"), direction, row(*[0] * 6)),
    "logsumexp": (lambda x: ng.logsumexp(x, "b"), shares, row(0, -50, -60, -80, -90, -100)),
    "softmax": (lambda x: ng.softmax(x, "b")[{"b": 0}], first_share, row(0, -50, -60, -80, -90, -100)),
    "log_softmax": (lambda x: ng.log_softmax(x, "b")[{"b": 0}], lambda x: (np.arange(6) == 0) - shares(x), row(-9, 50, 0, 0, 0, 0)),
    "polyfit": (lambda x: ng.polyfit(x, "b", 1)[{"degree": 0}], rise, row(1, np.nan, 2, 3, np.nan, 5)),
    "median": (lambda x: x.median("b"), lambda x: np.array([(np.argsort(np.argsort(v)) // 2 == 1) / 2 for v in x]), row(2, 9, 4, np.inf, -np.inf, 3)),
}  # fmt: skip


PARTNER = RNG.normal(size=6)
GROUPS = np.array([0, 1, 0, 1, 1, 0])


def off(x: np.ndarray) -> np.ndarray:
    return x - x.mean(1, keepdims=True)


def of_groups(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of the rows in each of two groups of columns."""

    def each(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for k in range(2):
            own = np.flatnonzero(np.equal(GROUPS, k))
            out[:, own] = f(x[:, own])
        return out

    return each


def toward(x: np.ndarray) -> np.ndarray:
    """The gradient of the correlation with the partner."""
    a, b = off(x), PARTNER - PARTNER.mean()
    size, r = np.linalg.norm(a, axis=1, keepdims=True), np.corrcoef(x, PARTNER)[:-1, -1:]
    return (b / np.linalg.norm(b) - r * a / size) / size


SPREAD = lambda x: off(x) / (x.shape[1] * x.std(1, keepdims=True))
PAIRS = lambda x: x / np.repeat(np.hypot(x[:, ::2], x[:, 1::2]), 2, 1)
RANGES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray], int]] = {  # with the degree of the gradient in x
    "std": (lambda x: x.std("b"), SPREAD, 0),
    "corr": (lambda x: ng.corr(x, ng.DimArray(PARTNER, ("b",)), "b"), toward, -1),
    "lp_pool": (lambda x: ng.lp_pool(x, {"b": 2}).sum("b"), PAIRS, 0),
    "segment_std": (lambda x: ng.segment_std(x, ng.DimArray(GROUPS, ("b",)), "b", 2).sum("b"), of_groups(SPREAD), 0),
    "local_response_norm": (lambda x: ng.local_response_norm(x, "b", 1, alpha=1.0, beta=1.0, k=0.0).sum("b"), lambda x: -(x**-2), -2),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_squares_out_of_range_are_seen(name: str) -> None:
    """Deviations of cells near 1e200 were infinite in programs that were recorded with others, those near 1e-200 were 0."""
    f, slope, degree = RANGES[name]
    program = weighted(f)
    for power in (0, 140, -140, 120, 0) if degree == -2 else (0, 200, -200, 100, 0):
        found = program(ng.DimArray(X * 10.0**power, ("a", "b"))).data
        np.testing.assert_allclose(found / 10.0 ** (degree * power), W[:, None] * slope(X), rtol=1e-11)
    x = X.copy()
    x[1] *= 1e-100
    x[2] *= 1e100
    expected = W[:, None] * slope(X) * (np.array([1, 1e-100, 1e100, 1]) ** float(degree))[:, None]
    np.testing.assert_allclose(program(ng.DimArray(x, ("a", "b"))).data, expected, rtol=1e-11)
    assert program.cache_info().recordings == 1


@pytest.mark.parametrize("name", CASES)
def test_a_lost_bet_is_made_no_more_and_changes_nothing(name: str) -> None:
    f, slope, special = CASES[name]
    program = weighted(f)
    for x in (X, special, X + 0.25, special):
        found = program(ng.DimArray(x, ("a", "b"))).data
        np.testing.assert_allclose(found, W[:, None] * slope(x), rtol=1e-13, atol=1e-300)
    assert program.cache_info().recordings == 1


LIKELY = {name: (CASES[name][0], CASES[name][2]) for name in ("prod", "cumprod", "norm", "logsumexp", "softmax", "polyfit")}
LIKELY |= {name: (f, X * 1e200) for name, (f, *_) in RANGES.items()}


@pytest.mark.parametrize("name", LIKELY)
def test_what_is_likely_costs_no_second_way(name: str) -> None:
    f, special = LIKELY[name]
    program = weighted(f)
    program(ng.DimArray(X, ("a", "b")))
    few = len(program.source.splitlines())
    program(ng.DimArray(special, ("a", "b")))
    assert few < len(program.source.splitlines())


def test_a_program_that_may_not_go_the_likely_way_does_not_go_both() -> None:
    program = weighted(CASES["median"][0])
    gap = row(math.nan, 9, 4, 2, 1, 3)
    for x, ways in ((X, (1, 0)), (gap, (0, 1)), (X, (0, 1))):
        found = program(ng.DimArray(x, ("a", "b"))).data
        rank, last = np.argsort(np.argsort(x)), (~np.isnan(x)).sum(1, keepdims=True) - 1
        middle = np.abs(2 * rank - last) <= 1
        np.testing.assert_allclose(found, W[:, None] * middle / middle.sum(1, keepdims=True), rtol=1e-15)
        assert (program.source.count("at_ranks("), program.source.count("sort(")) == ways


def test_a_median_is_found_by_one_partition() -> None:
    program = ng.compile(lambda x: x.median("b"))
    np.testing.assert_array_equal(program(ng.DimArray(X, ("a", "b"))).data, np.median(X, 1))
    assert "sort(" not in program.source
    assert program.source.count("at_ranks(") == 1


def test_ignored_classes_are_looked_for_by_a_bet() -> None:
    x, targets = RNG.normal(size=(5, 3)), np.array([0, 2, 1, 2, 0])
    program = ng.compile(ng.grad(lambda x, t: ng.cross_entropy(x, t, dim="k", reduction="sum"), 0))
    for ignored in ([], [1, 3], []):
        t = targets.copy()
        t[ignored] = -100
        expected = scipy.special.softmax(x, 1) - np.eye(3)[targets]
        expected[ignored] = 0
        found = program(ng.DimArray(x, ("n", "k")), ng.DimArray(t, ("n",))).data
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_what_is_masked_everywhere_is_not_tested() -> None:
    program = weighted(lambda x: ng.where(x.max() > 0, x, 0.0).sum("b") + ng.norm(x, "b"))
    x = row(1e-320, *[0.0] * 5)
    for cells in (X, x):
        found = program(ng.DimArray(cells, ("a", "b"))).data
        np.testing.assert_allclose(found, W[:, None] * (1 + direction(cells)), rtol=1e-12)


@pytest.mark.parametrize("special", [1.0, np.inf])
def test_factors_that_meet_a_cotangent_of_0_have_derivatives(special: float) -> None:
    """Of squares of products the cotangents are 0 where a factor is; the derivative in the factor behind is not."""
    hessian = ng.hessian(lambda x: (x[{"a": slice(0, 3)}].cumprod("a") ** 2).sum())
    x = np.array([2.0, 0.0, 3.0, special])  # behind all that is multiplied
    expected = np.zeros((4, 4))
    expected[:2, :2] = [[2, 0], [0, 2 * 4 + 2 * 4 * 9]]
    for f in (hessian, ng.compile(hessian)):
        np.testing.assert_allclose(f(ng.DimArray(x, ("a",))).data, expected)


def test_a_guard_is_left_out_only_where_its_outcome_is_looked_at() -> None:
    pull = ng.compile(lambda x, g: ng.pullback(lambda x: x.prod("a"), x)[1](g)[0])
    infinite, weights = ng.DimArray([2.0, np.inf, 3.0], ("a",)), ng.DimArray(0.0, ())
    for x in (ng.DimArray(X[0, :3], ("a",)), infinite):
        pull(x, weights)
    np.testing.assert_array_equal(pull(infinite, weights).data, np.zeros(3))


def test_numbers_that_are_arguments_may_be_infinite_in_later_calls() -> None:
    """As factors they were taken for finite if the first were."""
    slope = ng.compile(ng.grad(lambda x, p: np.where(x > p, x * x, x)))
    for x, p, expected in ((0.7, 1.3, 1), (np.inf, np.inf, 1), (np.nan, 1.0, 1), (3.0, 1.0, 6)):
        assert slope(x, p) == expected


@pytest.mark.parametrize("pairs", ["cdist", "pdist"])
def test_bends_of_distances_out_of_range_are_seen(pairs: str) -> None:
    """They were 0 or infinite in programs that were recorded with others."""
    points, along = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
    fixed = points if pairs == "pdist" else RNG.normal(size=(4, 2))
    apart, moved = points[:, None] - fixed, along[:, None] - (along if pairs == "pdist" else 0)
    size = np.linalg.norm(apart, axis=-1, keepdims=True)
    unit = apart / np.where(size == 0, 1, size)
    bends = (moved - unit * np.sum(unit * moved, -1, keepdims=True)) / np.where(size == 0, 1, size)

    def length(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return (ng.pdist(x, ("i", "c")) if pairs == "pdist" else ng.cdist(x, y, "c")).sum()

    product = ng.compile(lambda x, y, v: ng.hvp(lambda x: length(x, y), x, v))
    for scale in (1.0, 1e200, 1e-200, 1.0):
        x, y = ng.DimArray(points * scale, ("i", "c")), ng.DimArray(fixed * scale, ("j", "c"))
        found = product(x, y, ng.DimArray(along, ("i", "c"))).data * scale
        np.testing.assert_allclose(found, bends.sum(1), rtol=1e-9, atol=1e-12)
