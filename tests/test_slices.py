"""Gradients of programs that take arrays apart: parts are added where they lie, by the closed form of such sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(3)
SHAPE = (6, 5, 4)
ANY = slice(None)
KEYS: list[tuple[Any, ...]] = [
    (0,), (0,), (-1,), (slice(1, 4),), (slice(None, None, -2),), (ANY, 2), (ANY, slice(1, None), slice(None, -1)), (3, ANY, -2),
    (slice(2, 2),), (5, 4, 3), (5, 4, 3), (ANY, ANY, slice(0, 3, 2)), (slice(1, 3), slice(4, 0, -1), 1),
]  # fmt: skip


def expected(x: np.ndarray, keys: list[tuple[Any, ...]], whole: float = 0.0) -> np.ndarray:
    """The gradient of the sum of squares of all parts, and of the array times a number."""
    out = np.full_like(x, whole)
    for key in keys:
        out[key] += 2 * x[key]
    return out


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiled", [False, True])
def test_parts_of_an_array(seed: int, dtype: str, compiled: bool) -> None:
    rng = np.random.default_rng(seed)
    keys = [KEYS[i] for i in rng.permutation(len(KEYS))[: rng.integers(1, len(KEYS))]]
    at, x = int(rng.integers(len(keys) + 1)), rng.normal(size=SHAPE).astype(dtype)

    def f(x: Any) -> Any:
        parts = [np.sum(x[key] ** 2) for key in keys]
        parts.insert(at, np.sum(3.0 * x))
        return sum(parts[1:], start=parts[0])

    gradient = ng.compile(ng.grad(f)) if compiled else ng.grad(f)
    for y in (x, 2 * x):
        found = gradient(y)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected(y, keys, 3.0), rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6 if dtype == "float32" else 1e-14)


def test_parts_of_parts_of_another_order() -> None:
    x = RNG.normal(size=SHAPE)
    found = ng.grad(lambda x: sum(np.sum(y[1:][i] ** 2) for i in range(3) for y in (x.T, np.moveaxis(x, 1, 0)[::2])[:1]) + np.sum(x[0] * x[1]))(x)
    by_hand = np.zeros_like(x)
    for i in range(3):
        by_hand.T[1:][i] += 2 * x.T[1:][i]
    by_hand[0] += x[1]
    by_hand[1] += x[0]
    np.testing.assert_allclose(found, by_hand, rtol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
def test_no_zero_of_a_jacobian_has_a_sign(compiled: bool) -> None:
    jacobian = ng.jacobian(lambda x: x[1:] - x[:-1])
    found = (ng.compile(jacobian) if compiled else jacobian)(np.array([1.0, 2.0, 4.0, 8.0]))
    np.testing.assert_array_equal(found, np.diff(np.eye(4), axis=0))
    assert not np.signbit(found[found == 0]).any()  # reads -0. otherwise


def test_a_cotangent_that_two_arrays_get_is_not_added_to() -> None:
    x = RNG.normal(size=(4, 3))
    y = RNG.normal(size=(4, 3))

    def f(x: Any, y: Any) -> Any:
        both = x + y  # whose cotangent, a sum of parts, goes to both
        return both[0].sum() + 2.0 * both[1:].sum() + 5.0 * x[2].sum() + 7.0 * y[:, 1].sum() + x.sum()

    found = ng.grad(f, wrt=(0, 1))(x, y)
    base = np.array([[1.0], [2.0], [2.0], [2.0]]) * np.ones(3)
    of_x, of_y = base + 1, base.copy()
    of_x[2] += 5
    of_y[:, 1] += 7
    np.testing.assert_array_equal(found[0], of_x)
    np.testing.assert_array_equal(found[1], of_y)


def test_earlier_gradients_do_not_change() -> None:
    x = ng.DimArray(RNG.normal(size=(5, 3)), ("t", "x"))
    _, pull = ng.pullback(lambda x: ng.concat([x[{"t": i}] * x[{"t": i + 1}] for i in range(4)], "s"), x)
    c = RNG.normal(size=(4, 3))
    first = pull(ng.DimArray(c, ("s", "x"))).data
    kept = first.copy()
    second = pull(ng.DimArray(-2 * c, ("s", "x"))).data
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_allclose(second, -2 * kept, rtol=1e-15)
    assert not np.shares_memory(first, second)


def test_slices_under_vectorized_axes_of_different_names() -> None:
    x, w = RNG.normal(size=(3, 6)), RNG.normal(size=(2, 6))

    def f(x: Any, w: Any) -> Any:
        return sum(((x[{"t": slice(i, i + 2)}] * w[{"t": slice(i, i + 2)}]).sum() for i in range(5)), start=0.0)

    found = ng.grad(f, wrt=(0, 1))(ng.DimArray(x, ("b", "t"), vectorized="b"), ng.DimArray(w, ("c", "t"), vectorized="c"))
    often = np.array([1.0, 2, 2, 2, 2, 1])
    np.testing.assert_allclose(ng.devectorize(found[0]).transpose("b", "c", "t").data, np.broadcast_to(often * w, (3, 2, 6)), rtol=1e-14)
    np.testing.assert_allclose(ng.devectorize(found[1]).transpose("b", "c", "t").data, np.broadcast_to((often * x)[:, None], (3, 2, 6)), rtol=1e-14)


def test_second_derivatives_through_parts() -> None:
    x = RNG.normal(size=5)
    found = ng.hessian(lambda x: sum(x[i] ** 2 * x[i + 1] for i in range(4)))(x)
    by_hand = np.zeros((5, 5))
    for i in range(4):
        by_hand[i, i] += 2 * x[i + 1]
        by_hand[i, i + 1] += 2 * x[i]
        by_hand[i + 1, i] += 2 * x[i]
    np.testing.assert_allclose(found, by_hand, rtol=1e-13)


def test_time_does_not_grow_with_slices_times_cells() -> None:
    """Arrays of zeros that are asked for stand for time: there would be one for each slice."""
    x = RNG.normal(size=(2000, 50))
    gradient = ng.grad(lambda x: sum((row @ row for row in x), start=0.0))
    np.testing.assert_allclose(gradient(x), 2 * x, rtol=1e-14)
    sizes = []
    zeros = np.zeros

    def counted(*args: Any, **kwargs: Any) -> Any:
        out = zeros(*args, **kwargs)
        sizes.append(out.size)
        return out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "zeros", counted)
        gradient(x)
    assert sum(s == x.size for s in sizes) <= 1


def test_a_program_adds_parts_where_they_lie() -> None:
    x = RNG.normal(size=(9, 4))
    gradient = ng.compile(ng.grad(lambda x: sum(np.sum(np.sin(x[i])) for i in range(9))))
    np.testing.assert_allclose(gradient(x), np.cos(x), rtol=1e-14)
    assert gradient.source.count("uncut(") == 1
    assert gradient.source.count("plus_part(") == 8
    by_pairs = ng.compile(ng.grad(lambda x: sum(np.sum(x[i] * x[j]) for i, j in itertools.combinations(range(4), 2))))
    np.testing.assert_allclose(by_pairs(x[:4]), x[:4].sum(0) - x[:4], rtol=1e-13)
