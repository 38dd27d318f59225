"""NumPy functions on positional arrays: the values of plain NumPy, its finite differences, its loop over slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.positional.cases import CASES, Case
from tests.support.calls import calls_of

table = pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
STEP = 1e-4


def outputs(y: Any) -> list[Any]:
    return list(y) if isinstance(y, (tuple, list)) else [y]


def plain(case: Case) -> list[np.ndarray]:
    return [np.array(a) for a in case.args]


def along(f: Callable[..., Any], args: list[np.ndarray], tangents: list[np.ndarray]) -> list[np.ndarray]:
    """The derivative of every output along the tangents, by central differences, extrapolated once."""

    def at(h: float) -> list[np.ndarray]:
        return [np.asarray(y) for y in outputs(f(*(a + h * t for a, t in zip(args, tangents, strict=True))))]

    def central(h: float) -> list[np.ndarray]:
        return [(u - d) / (2 * h) for u, d in zip(at(h), at(-h), strict=True)]

    return [(4 * b - a) / 3 for a, b in zip(central(2 * STEP), central(STEP), strict=True)]


def random_like(values: list[Any], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=np.shape(v)) for v in values]


def close(got: Any, expected: Any, tolerance: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=1.0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)


@table
def test_value(case: Case) -> None:
    args = plain(case)
    expected = outputs(case.f(*plain(case)))
    got, _ = ng.pullback(case.f, *args)
    assert type(got) in (tuple, list) or len(expected) == 1
    for y, e in zip(outputs(got), expected, strict=True):
        close(y, e, 1e-12)
        assert np.asarray(y).dtype == np.asarray(e).dtype
        assert not isinstance(y, ng.PositionalArray)
    for a, b in zip(args, case.args, strict=True):
        assert np.array_equal(a, b, equal_nan=True), "the user's array was changed"


@table
def test_gradient(case: Case) -> None:
    """Reverse mode against differences: the gradient along a tangent is the cotangent along the pushed tangent."""
    args = plain(case)
    tangents = random_like(args, 1)
    expected = along(case.f, args, tangents)
    got, pull = ng.pullback(case.f, *args)
    cotangents = [np.where(np.isnan(e), 0, c) for e, c in zip(expected, random_like(outputs(got), 2), strict=True)]
    grads = pull(type(got)(cotangents) if isinstance(got, (tuple, list)) else cotangents[0])
    grads = grads if len(args) > 1 else (grads,)
    total = sum(float(np.sum(c * np.where(np.isnan(e), 0, e))) for c, e in zip(cotangents, expected, strict=True))
    parts = [float(np.nansum(g * t)) for g, t in zip(grads, tangents, strict=True)]
    assert sum(parts) == pytest.approx(total, rel=1e-6, abs=1e-6)
    for g, a in zip(grads, args, strict=True):
        assert g.shape == a.shape
        assert g.dtype == a.dtype
        assert not np.any(np.isnan(g)), "a cell that takes no part has gradient 0"


@table
def test_tangent(case: Case) -> None:
    args = plain(case)
    tangents = random_like(args, 3)
    _, pushed = ng.pushforward(case.f, tuple(args), tuple(tangents))
    for t, e in zip(outputs(pushed), along(case.f, args, tangents), strict=True):
        known = ~np.isnan(e)
        close(np.asarray(t)[known], e[known], 1e-6)


@table
def test_second_order(case: Case) -> None:
    """The gradient of a gradient against differences of gradients."""
    args = plain(case)
    value = outputs(case.f(*plain(case)))
    weights = random_like(value, 4)

    def loss(*xs: Any) -> Any:
        return sum(np.nansum(np.sin(y) * w) for y, w in zip(outputs(case.f(*xs)), weights, strict=True))

    every = tuple(range(len(args)))
    tangents = [np.where(np.isnan(a), 0, t) for a, t in zip(args, random_like(args, 5), strict=True)]
    slope = ng.grad(loss, wrt=every)
    expected = along(lambda *xs: slope(*xs), args, tangents)
    _, pushed = ng.pushforward(slope, tuple(args), tuple(tangents))
    for t, e in zip(pushed, expected, strict=True):
        close(t, e, 2e-6)


@table
@pytest.mark.parametrize("pattern", ["all", "first", "last"])
def test_vectorized_is_the_loop_of_slices(case: Case, pattern: str) -> None:
    which = {"all": range(len(case.args)), "first": [0], "last": [len(case.args) - 1]}[pattern]
    scale = [1.0, -1.0, 1.2] if case.label in DATA_DEPENDENT else 1 + 0.1 * np.arange(3)
    batched = {k: np.array([np.array(case.args[k]) * s for s in scale]) for k in which}

    def arguments(i: int | None) -> list[Any]:
        if i is None:
            return [ng.positional(batched[k], "b") if k in batched else np.array(a) for k, a in enumerate(case.args)]
        return [batched[k][i] if k in batched else np.array(a) for k, a in enumerate(case.args)]

    if case.label in DATA_DEPENDENT:
        with pytest.raises(ng.TraceError, match=r"np\.where|devectorize"):
            ng.pullback(case.f, *arguments(None))
        return
    got, pull = ng.pullback(case.f, *arguments(None))
    slices = [ng.pullback(case.f, *arguments(i)) for i in range(3)]
    for j, y in enumerate(outputs(got)):
        expected = np.array([outputs(s[0])[j] for s in slices])
        data = np.broadcast_to(
            values(y), expected.shape
        )  # an output that no vectorized operand reaches is the same for all
        close(data, expected, 1e-12)
    cotangents = random_like(outputs(slices[0][0]), 7)
    give = (lambda y: type(y)(cotangents)) if isinstance(got, (tuple, list)) else (lambda y: cotangents[0])
    grads = pull(give(got))
    grads = grads if len(case.args) > 1 else (grads,)
    for k, g in enumerate(grads):
        rows = []
        for out, back in slices:
            one = back(give(out))
            rows.append(one[k] if len(case.args) > 1 else one)
        close(np.broadcast_to(values(g), np.array(rows).shape), np.array(rows), 1e-11)


def values(y: Any) -> np.ndarray:
    return y.data if isinstance(y, ng.PositionalArray) else y


DATA_DEPENDENT = {"a[a > 0]"}


@table
def test_single_precision_has_the_dtype_of_numpy(case: Case) -> None:
    args = [np.array(a, dtype=np.float32) for a in case.args]
    expected = outputs(case.f(*(a.copy() for a in args)))
    got, pull = ng.pullback(case.f, *args)
    for y, e in zip(outputs(got), expected, strict=True):
        assert np.asarray(y).dtype == np.asarray(e).dtype
        close(y, e, 2e-5)
    cotangents = [np.ones_like(y) for y in outputs(got)]
    grads = pull(type(got)(cotangents) if isinstance(got, (tuple, list)) else cotangents[0])
    for g, a in zip(grads if len(args) > 1 else (grads,), args, strict=True):
        assert g.dtype == a.dtype


@table
def test_backend_calls_do_not_grow_with_the_batch(case: Case) -> None:
    if case.label in DATA_DEPENDENT:
        return
    found = []
    for size in (3, 300):
        batched = [ng.positional(np.broadcast_to(a, (size, *np.shape(a))), "b") for a in case.args]

        def there_and_back(batched: list[Any] = batched) -> None:
            out, pull = ng.pullback(case.f, *batched)
            cotangents = [np.ones(np.shape(y)) for y in outputs(out)]
            pull(type(out)(cotangents) if isinstance(out, (tuple, list)) else cotangents[0])

        found.append(calls_of(there_and_back).names)
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("order", [None, 2, 3, 80.0])
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e20), (np.float64, 1e200), (np.float64, 1e-200)])
def test_norms_of_vectors_whose_powers_leave_the_range(dtype, size, order):
    x = np.array([[3 * size, 4 * size], [1.0, 2.0]], dtype)
    norm = lambda x: np.linalg.norm(x, order, axis=-1)
    p, close = order or 2, {"rtol": 1e-5 if dtype == np.float32 else 1e-12}
    lengths = [size * (3.0**p + 4.0**p) ** (1 / p), (1 + 2.0**p) ** (1 / p)]
    np.testing.assert_allclose(norm(ng.positional(x)).data, lengths, **close)
    unit = np.array([[3.0, 4.0], [1.0, 2.0]]) / (np.array(lengths) / [size, 1])[:, None]
    np.testing.assert_allclose(ng.grad(lambda x: norm(x).sum())(x), unit ** (p - 1), **close)
