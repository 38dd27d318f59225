"""Lengths, differentiated twice in all combinations of modes: out of range, and two that are one at 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

X, V = np.array([1.0, -2.0, 4.0, 3.0]), np.array([0.3, -0.5, 1.0, 0.2])
EYE = np.eye(4)
ONE_GROUP = ng.DimArray(np.zeros(4, int), ("b",))
SQUARES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {  # of degree 1, with the Hessian of the square
    "norm": (lambda x: ng.norm(x, "b"), 2 * EYE),
    "complex norm": (lambda x: ng.norm(x * (1 + 2j), "b"), 10 * EYE),
    "std": (lambda x: x.std("b"), EYE / 2 - 1 / 8),
    "complex std": (lambda x: (x * (1 + 2j)).std("b"), 5 * (EYE / 2 - 1 / 8)),
    "segment_std": (lambda x: ng.segment_std(x, ONE_GROUP, "b", 1), EYE / 2 - 1 / 8),
    "lp_pool": (lambda x: ng.lp_pool(x, {"b": 4}), 2 * EYE),
    "cdist": (lambda x: ng.cdist(x, 0 * x, "b"), 2 * EYE),
    "hypot": (lambda x: ng.hypot(x[{"b": 0}], x[{"b": 3}]), np.diag([2.0, 0, 0, 2])),
}  # fmt: skip


def second(f: Callable[..., Any], v: np.ndarray = V, dims: tuple[str, ...] = ("b",)) -> dict[str, Callable[..., Any]]:
    """Products of ``v`` with the Hessian in all combinations of modes."""
    along = ng.DimArray(v, dims)
    return {
        "forward over reverse": lambda x: ng.hvp(f, x, along),
        "reverse over reverse": lambda x: ng.grad(lambda x: (ng.grad(f)(x) * along).sum())(x),
        "reverse over forward": lambda x: ng.grad(lambda x: ng.pushforward(f, (x,), (along,))[1])(x),
        "forward over forward": lambda x: ng.jacobian(lambda x: ng.pushforward(f, (x,), (along,))[1], mode="forward")(x),
    }


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_lengths_out_of_range_bend(name: str) -> None:
    """Of tiny cells only the products of slopes were left: cotangents met the scale of the cells, and vanished."""
    f, hessian = SQUARES[name]
    for product in second(lambda x: (f(x) * f(x)).sum()).values():
        program = ng.compile(product)
        for power in (0, 200, -200, 300, -300, 0):
            x = ng.DimArray(X * 10.0**power, ("b",))
            for g in (product, program):
                np.testing.assert_allclose(g(x).data, hessian @ V, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["norm", "std", "segment_std", "lp_pool"])
def test_lengths_of_0_beside_some_out_of_range_bend(name: str) -> None:
    f, hessian = SQUARES[name]
    x = np.stack([np.full(4, 0.0 if name in ("norm", "lp_pool") else 3.0), X * 1e200, X * 1e-200])
    squares = lambda x: (f(x) * f(x)).sum()
    for product in second(squares, np.stack([V] * 3), ("a", "b")).values():
        for g in (product, ng.compile(product)):
            np.testing.assert_allclose(g(ng.DimArray(x, ("a", "b"))).data, np.tile(hessian @ V, (3, 1)), rtol=1e-11, atol=1e-12)


OF_LENGTHS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {  # with the Hessian of the square
    "norms": (lambda x: ng.norm(ng.norm(x, "b")), np.kron(np.eye(3), np.eye(2))),
    "complex norms": (lambda x: ng.norm(ng.norm(x, "b") * (0.6 + 0.8j)), np.kron(np.eye(3), np.eye(2))),
    "absolute values": (lambda x: ng.norm(abs(x)), np.kron(np.eye(3), np.eye(2))),
    "deviations": (lambda x: ng.norm(x.std("b")), np.kron(np.eye(3), np.eye(2) / 2 - 1 / 4)),
}


@pytest.mark.parametrize("name", OF_LENGTHS)
def test_lengths_of_lengths_out_of_range_bend_beside_one_of_0(name: str) -> None:
    """By 0 across those that are 0: the Hessian of its square met the scale of the others, twice."""
    f, half = OF_LENGTHS[name]
    unit, v = np.array([1.2, -0.5, 0, 0, 0, 3.0]), np.array([0.3, -0.5, 1.0, 0.2, -0.7, 0.4])
    length = np.sqrt(unit @ half @ unit)
    slope = half @ unit / length
    bend = (half @ v - slope * (slope @ v)) / length
    for product in second(f, v.reshape(3, 2), ("a", "b")).values():
        for g in (product, ng.compile(product)):
            for power in (0, 170, -170, 300, -300):
                found = g(ng.DimArray(unit.reshape(3, 2) * 10.0**power, ("a", "b"))).data * 10.0**power
                np.testing.assert_allclose(found.ravel(), bend, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("order", [-0.5, -1, -2, -3])
@pytest.mark.parametrize("far", [1e-300, 1e-200, 1e200, 1e300])
def test_norms_of_negative_order_of_cells_far_apart(order: float, far: float, cupy: Any) -> None:
    """The least cell counts most: scaled by the largest, norms of some orders were 0, on devices and in programs more."""
    x = np.array([[0.5, far, -0.7], [0.3, 0.2, 0.9]])
    few = x[0, ::2] if far > 1 else x[0, 1:2]
    norm = np.sum(np.abs(few / np.min(np.abs(few))) ** order) ** (1 / order) * np.min(np.abs(few))
    slope = np.where(np.isin(x[0], few), np.sign(x[0]) * np.abs(x[0] / norm) ** (order - 1), 0)
    f = lambda x: ng.vector_norm(x, "b", ord=order)
    g = ng.grad(lambda x: f(x).sum())
    programs = ng.compile(f), ng.compile(g)
    for program in programs:
        program(ng.DimArray(np.ones((2, 3)), ("a", "b")))
    for (value, gradient), put in (((f, g), np.asarray), (programs, np.asarray), ((f, g), cupy.asarray)):
        at = ng.DimArray(put(x), ("a", "b"))
        np.testing.assert_allclose(value(at).to_numpy()[0], norm, rtol=1e-12)
        np.testing.assert_allclose(gradient(at).to_numpy()[0], slope, rtol=1e-11, atol=1e-60)


def test_scaled_lengths_in_checkpoints_that_capture_the_cells() -> None:
    x, v = ng.DimArray(X * 1e-200, ("b",)), ng.DimArray(V, ("b",))
    square = lambda x: ng.checkpoint(lambda y: ng.norm(x) * y)(ng.norm(x))
    np.testing.assert_allclose(ng.grad(square)(x).data, 2 * X * 1e-200, rtol=1e-14)
    np.testing.assert_allclose(ng.hvp(square, x, v).data, 2 * V, rtol=1e-14)


def test_responses_to_tiny_cells_beside_large_ones_bend() -> None:
    """Of ``x (1 + x²)**-0.75`` near 0 by ``-4.5 x``, of which half was lost where some other cell had to be scaled."""
    f = lambda x: ng.local_response_norm(x, "b", 1, alpha=1.0, beta=0.75, k=1.0).sum()
    x = np.array([1e-160, 3e-161, 1e200, 1e-150])
    for product in second(f).values():
        for g in (product, ng.compile(product)):
            found = g(ng.DimArray(x, ("b",))).data
            np.testing.assert_allclose(found[[0, 1, 3]], (-4.5 * x * V)[[0, 1, 3]], rtol=1e-12)


AT_0: dict[str, tuple[Callable[..., Any], np.ndarray]] = {  # lengths that are 0, with the Hessian of the square
    **{name: SQUARES[name] for name in ("norm", "complex norm", "std", "complex std", "segment_std", "lp_pool", "cdist", "hypot")},
    "root of a sum": (lambda x: ng.sqrt((x**2).sum()), 2 * EYE),
    "power of a sum": (lambda x: (x**2).sum() ** 0.5, 2 * EYE),
    "root of squares of lengths": (lambda x: ng.sqrt((abs(x) ** 2).sum()), 2 * EYE),
    "pdist": (lambda x: ng.pdist(x * ng.DimArray([1.0, 0.0], "i"), ("i", "b")), 2 * EYE),
    "angle": (lambda x: ng.arccos(1 - (x**2).sum() / 2), 2 * EYE),
    "hyperbolic distance": (lambda x: ng.arccosh(1 + (x**2).sum() / 2), 2 * EYE),
    "absolute values": (abs, 2 * EYE),
}


@pytest.mark.parametrize("name", AT_0)
def test_products_of_a_length_that_is_computed_twice_bend(name: str) -> None:
    """The tangents of roots were not known to be alike, nor were two distances: these products bent by 0."""
    f, hessian = AT_0[name]
    for product in second(lambda x: (f(x) * f(x)).sum()).values():
        program = ng.compile(product)
        program(ng.DimArray(X, ("b",)))
        for g in (product, program):
            np.testing.assert_allclose(g(ng.zeros({"b": 4})).data, hessian @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("phase", [1.0, 1 + 2j])
def test_products_of_a_length_of_two_lengths_bend_beside_others(phase: complex) -> None:
    """A length that is not 0 in all slices is computed level by level, where nobody noted by which operations."""
    x, v = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, -1.5]]), np.array([[1.0, 0.5], [2.0, 1.0], [-1.0, 3.0]])
    root = lambda x: ng.hypot(ng.norm(x * phase, "a"), x.std("a"))
    hessian = 2 * abs(phase) ** 2 * np.eye(3) + 2 / 3 * (np.eye(3) - 1 / 3)
    for product in second(lambda x: (root(x) * root(x)).sum(), v, ("a", "b")).values():
        for g in (product, ng.compile(product)):
            np.testing.assert_allclose(g(ng.DimArray(x, ("a", "b"))).data, hessian @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_infinite_distances_pass_nothing_on_whatever_is_beside_them(p: float) -> None:
    """Their slopes were NaN where some other distance was out of range, and in programs that had met such a one."""
    x = np.array([[np.inf, 1.0], [1e200, 0.0], [0.0, -2.0]])
    f = lambda x: ng.cdist(x, ng.zeros({"j": 1, "c": 2}), "c", p=p).sum()
    along = ng.ones({"i": 3, "c": 2})
    slope, push = ng.grad(f), lambda x: ng.pushforward(f, (x,), (along,))[1]
    program, pushed = ng.compile(slope), ng.compile(push)
    ordinary = ng.DimArray(np.ones((3, 2)), ("i", "c"))
    for g, h in ((slope, push), (program, pushed)):
        g(ordinary), h(ordinary)
        np.testing.assert_array_equal(g(ng.DimArray(x, ("i", "c"))).data, [[0, 0], [1, 0], [0, -1]])
        np.testing.assert_array_equal(h(ng.DimArray(x, ("i", "c"))).data, 0)


OUT_OF: dict[str, Callable[..., Any]] = {
    "checkpoint": ng.checkpoint,
    "two checkpoints": lambda f: ng.checkpoint(ng.checkpoint(f)),
    "scan": lambda f: lambda x: ng.scan(lambda s, t: (s, f(s) * t), x, ng.ones({"t": 1}), "t")[1][{"t": 0}],
}


@pytest.mark.parametrize("name", OUT_OF)
def test_squares_of_roots_that_leave_a_checkpoint_bend_in_programs(name: str) -> None:
    """By 0, as the trace of the checkpoint did not know of a root that the one below had met."""
    root = OUT_OF[name](lambda x: ng.sqrt((x**2).sum()))
    for square in (lambda r: r * r, lambda r: -2 * ng.cos(r)):
        for product in second(lambda x, square=square: square(root(x))).values():
            np.testing.assert_allclose(ng.compile(product)(ng.zeros({"b": 4})).data, 2 * V, rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_deviations_of_what_is_divided_by_a_length_of_fewer_dims(scale: float) -> None:
    """What is known of the quotient has the dims of its divisor, fewer than those of the scale."""
    rng = np.random.default_rng(0)
    x, v, w = rng.normal(size=(2, 6, 3)) * scale, rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6))

    def f(x: ng.DimArray) -> ng.DimArray:
        return ((x / (1 + x.std(("a", "b", "c")))).std("c") * ng.DimArray(w, ("a", "b"))).sum()

    by_hand = lambda x: np.sum(w * np.std(x / scale, axis=2)) * scale / (1 + np.std(x / scale) * scale)
    want = (by_hand(x + 1e-6 * scale * v) - by_hand(x - 1e-6 * scale * v)) / 2e-6
    for gradient in (ng.grad(f), ng.compile(ng.grad(f))):
        for _ in range(2):
            found = gradient(ng.DimArray(x, ("a", "b", "c"))).data
            np.testing.assert_allclose(np.sum(found * v * scale), want, rtol=1e-7)


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_deviations_of_groups_that_differ_per_slice_in_a_program(size):
    rng = np.random.default_rng(0)
    cells, groups = rng.normal(size=6), np.array([[0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 0], [1, 0, 0, 0, 1, 1]])
    x, of = ng.DimArray(cells * size, "n"), ng.DimArray(groups, ("b", "n"), vectorized="b")
    weights = rng.normal(size=(3, 2))

    def pulled(x, of, weights):
        out, pull = ng.pullback(lambda x: ng.segment_std(x, of, "n", 2), x)
        return out, pull(weights)

    expected = np.zeros((3, 6))
    for b, k in np.ndindex(3, 2):
        off = cells[groups[b] == k] - cells[groups[b] == k].mean()
        expected[b, groups[b] == k] = weights[b, k] * off / off.std() / off.size
    program = ng.compile(pulled)
    for f in (pulled, program, program):
        out, gradient = f(x, of, ng.DimArray(weights, ("b", "n"), vectorized="b"))
        deviations = [[cells[groups[b] == k].std() for k in (0, 1)] for b in range(3)]
        np.testing.assert_allclose(out.devectorize().data / size, deviations, rtol=1e-13)
        np.testing.assert_allclose(gradient.devectorize().data, expected, rtol=1e-11)
