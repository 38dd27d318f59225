"""Lengths of different dims meet: which is 0 in a cell, a program cannot know."""

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.compile.record import Recorder

W = np.array([1.0, 2.0, 5.0])
X = np.array([0.0, 1.0, 0.5])
V = np.array([1.0, 0.3, -0.2])

# an even function of lengths, the same without any
SMOOTH = {
    "abs by a norm": (lambda x: (abs(x) / np.linalg.norm(x)) ** 2, lambda x: x**2 / np.sum(x**2)),
    "abs times a norm": (lambda x: (abs(x) * np.linalg.norm(x)) ** 2, lambda x: x**2 * np.sum(x**2)),
    "abs times the norm of others": (lambda x: (abs(x) * np.linalg.norm(x[1:])) ** 2, lambda x: x**2 * np.sum(x[1:] ** 2)),
    "abs times a root": (lambda x: (abs(x) * np.sqrt(np.sum(x**2))) ** 2, lambda x: x**2 * np.sum(x**2)),
    "beside a root": (lambda x: np.concatenate([abs(x), np.sqrt(x[1:] ** 2 + 1)])[:3] ** 2, lambda x: x**2),
    "cosine": (lambda x: np.cos(abs(x) * np.linalg.norm(x)) + np.linalg.norm(x) ** 4 / 2, lambda x: np.cos(x * np.sqrt(np.sum(x**2))) + np.sum(x**2) ** 2 / 2),
    "a part again": (lambda x: abs(x) * (abs(x) * np.linalg.norm(x)) * np.linalg.norm(x), lambda x: x**2 * np.sum(x**2)),
    "three": (lambda x: (abs(x) * np.linalg.norm(x) * np.hypot(x[1], x[2])) ** 2, lambda x: x**2 * np.sum(x**2) * (x[1] ** 2 + x[2] ** 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_hessians_of_lengths_of_different_dims_in_programs(name):
    """Cells of 0 had lost what is known of their squares, however the program was recorded."""
    of, plain = (lambda x, f=f: np.sum(f(x) * W) for f in SMOOTH[name])
    product = lambda x: ng.hvp(of, x, V)
    recorded_elsewhere = ng.compile(product)
    recorded_elsewhere(X + 0.1)
    for g in (product, ng.compile(product), recorded_elsewhere, lambda x: ng.grad(lambda x: np.sum(ng.grad(of)(x) * V))(x)):
        np.testing.assert_allclose(g(X), ng.hvp(plain, X, V), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
def test_hessians_of_lengths_along_other_dims(shape):
    x = np.outer([0.0, 0.3, 0.0], [0.0, 1.0, 0.5])
    v = np.cos(np.arange(9.0)).reshape(3, 3)
    of = lambda x: np.sum((np.linalg.norm(x, axis=0) * np.linalg.norm(x, axis=1)[:, None]) ** 2 * W.reshape(shape))
    plain = lambda x: np.sum(np.sum(x**2, axis=0) * np.sum(x**2, axis=1)[:, None] * W.reshape(shape))
    for g in (lambda x: ng.hvp(of, x, v), ng.compile(lambda x: ng.hvp(of, x, v))):
        np.testing.assert_allclose(g(x), ng.hvp(plain, x, v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("phase", [1.0, 1.0 + 0j, np.exp(1j * W)])
def test_slopes_of_normalised_amplitudes(phase):
    """``p / sum(p)`` by amplitudes: in programs, the slope in the cell of 0 had lost its own part."""
    of = lambda p: np.sum(abs(np.sqrt(p) * phase / np.linalg.norm(np.sqrt(p))) ** 2 * W)
    want = W / np.sum(X) - np.sum(W * X) / np.sum(X) ** 2
    gradient = ng.grad(of)
    recorded_elsewhere = ng.compile(gradient)
    recorded_elsewhere(X + 0.1)
    for g in (gradient, ng.compile(gradient), recorded_elsewhere):
        np.testing.assert_allclose(g(X), want, rtol=1e-12)


def test_slopes_of_roots_under_another_transform():
    """Beside a value traced by an outer transform, the slope of a root that is 0 was looked at while it was traced."""
    inner = lambda w: np.sum(ng.grad(lambda x: np.sum((w * np.sqrt(x)) ** 2 * W))(X))
    for g in (ng.grad(inner), ng.compile(ng.grad(inner)), lambda w: ng.pushforward(inner, (w,), (1.0,))[1]):
        np.testing.assert_allclose(g(3.0), 6.0 * np.sum(W), rtol=1e-12)


@pytest.fixture
def count(monkeypatch):
    """The calls that are recorded."""
    found, record = [0], Recorder.record

    def counting(self, *args):
        found[0] += 1
        return record(self, *args)

    monkeypatch.setattr(Recorder, "record", counting)
    return found


def test_programs_of_several_steps_do_not_record_one_root_many_times(count):
    """Each step has two lengths beside those of the steps before, and took 2.4 times the calls of the one before."""

    def model(x, y, steps):
        for _ in range(steps):
            speed = np.abs(x) + np.sqrt(y)
            x, y = x - 0.1 * speed * x, y + 0.1 * speed * y
        return np.sum(x * y * W)

    counts = []
    for steps in (2, 3, 4):
        count[0] = 0
        ng.compile(ng.grad(lambda x, y, n=steps: model(x, y, n), wrt=(0, 1)))(V, abs(V) + 1)
        counts.append(count[0])
    two, three, four = counts
    assert four - three < 1.5 * (three - two)


def normalised_roots_along(x):
    """The Hessian of A / sqrt(s) by V, with A the weighted sum of the roots and s that of the sizes."""
    size, sign = abs(x), np.sign(x)
    a, s, slope = np.sum(W * np.sqrt(size)), np.sum(size), W * sign / (2 * np.sqrt(size))
    own = -W * V / (4 * size**1.5 * np.sqrt(s))
    return own - (slope * np.sum(sign * V) + sign * np.sum(slope * V)) / (2 * s**1.5) + 0.75 * a * sign * np.sum(sign * V) / s**2.5


QUOTIENTS = {  # weighted sums, and their Hessians by V
    "inverse distances": (lambda x: 1 / np.sqrt((x - 2.0) ** 2), lambda x: W * V * 2 * abs(x - 2.0) ** -3),
    "roots": (lambda x: np.sqrt(abs(x)), lambda x: W * V * -0.25 * abs(x) ** -1.5),
    "cosines of roots": (lambda x: np.cos(np.sqrt(abs(x))), lambda x: W * V * (np.sin(np.sqrt(abs(x))) / np.sqrt(abs(x)) - np.cos(np.sqrt(abs(x)))) / (4 * abs(x))),
    "normalised roots": (lambda x: (lambda y: y / np.linalg.norm(y))(np.sqrt(abs(x))), normalised_roots_along),
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTIENTS)
def test_programs_that_divide_by_roots_do_not_go_beyond_infinite_derivatives(name, count):
    """They were ten times as long, by third and fourth derivatives of quotients that are infinite or 0."""
    f, bend = QUOTIENTS[name]
    product = ng.compile(lambda x: ng.hvp(lambda x: np.sum(f(x) * W), x, V))
    product(V)
    assert count[0] < 10_000
    np.testing.assert_allclose(product(V), bend(V), rtol=1e-12)


def test_lengths_computed_twice_of_cells_that_are_put_in_order():
    """A map that is part of another has no parents, which was an error where two lengths were compared."""

    def of(x):
        length = lambda: np.std(x - np.roll(np.linalg.norm(x, keepdims=True) * np.ones(3), 1) ** 2)
        return length() * length()

    slope = lambda x: 2 * (x - np.mean(x)) / 3  # adding one number to all cells leaves the variance as it is
    for x in (X, np.zeros(3)):
        for gradient in (ng.grad(of), ng.compile(ng.grad(of))):
            np.testing.assert_allclose(gradient(x), slope(x), rtol=1e-12, atol=1e-12)
        for product in (lambda x: ng.hvp(of, x, V), ng.compile(lambda x: ng.hvp(of, x, V))):
            np.testing.assert_allclose(product(x), slope(V), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_hessians_of_roots_that_are_repeated_along_other_dims_in_programs(shape):
    """What a sum over these dims moves by was infinite times 0 where the cotangent is 0: NaN."""
    weights = np.ones(shape) * W
    root = (lambda x: np.sqrt(np.sum(x))) if len(shape) == 1 else np.sqrt
    of = lambda x: np.sum((root(x) * np.ones(shape)) * np.sin(root(x) * np.ones(shape)) * weights)
    product = lambda x: ng.hvp(of, x, V)
    recorded_elsewhere = ng.compile(product)
    recorded_elsewhere(X + 0.1)
    want = -np.sum(V) * np.sum(W) / 3 * np.ones(3) if len(shape) == 1 else -2 * V * W / 3  # of s - s**2 / 6
    for g in (product, ng.compile(product), recorded_elsewhere):
        np.testing.assert_allclose(g(np.zeros(3)), want, rtol=1e-12)


def test_programs_that_divide_by_roots_are_short_where_nothing_else_meets_the_root(count):
    """Series of the quotient in the divisor, of which no term is finite, were most of what was recorded."""
    of = lambda x: np.sum((abs(x) / np.sqrt(1 + x**2)) ** 2 * W)
    product = ng.compile(lambda x: ng.hvp(of, x, V))
    product(V)
    assert count[0] < 2000
    np.testing.assert_allclose(product(X), W * V * (2 - 6 * X**2) / (1 + X**2) ** 3, rtol=1e-12)


def test_amplitudes_with_a_phase_that_moves_computed_twice():
    """The tangents of the phased roots are NaN where these are 0, so that the two lengths passed for different ones."""
    of = lambda x, p: np.sum(abs(np.sqrt(p) * np.exp(1j * p)) * abs(np.sqrt(p) * np.exp(1j * p)) * x**2 * W)
    zeros = np.zeros(3)
    mixed = lambda x, p: ng.pushforward(ng.grad(of, wrt=(0, 1)), (x, p), (V, W))[1]
    for g in (mixed, ng.compile(mixed)):
        in_x, in_p = g(X, zeros)  # of p * x**2 * W
        np.testing.assert_allclose(in_x, 2 * X * W**2, rtol=1e-12)
        np.testing.assert_allclose(in_p, 2 * X * V * W, rtol=1e-12)
