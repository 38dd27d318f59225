"""One record of a program and many passes over it: guards, what is looked at, what is copied."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.transforms import tape
from tests.support.arrays import normal
from tests.support.tolerances import ROUNDING, SECOND, assert_close

MASKED: dict[str, tuple[Callable[[ng.DimArray], ng.DimArray], list[float]]] = {
    "sqrt at 0": (np.sqrt, [0.0, 4.0]),
    "sqrt below 0": (np.sqrt, [-1.0, 4.0]),
    "log at 0": (np.log, [0.0, 4.0]),
    "log below 0": (np.log, [-2.0, 4.0]),
    "log2": (np.log2, [0.0, 4.0]),
    "log1p": (np.log1p, [-1.0, 4.0]),
    "divide by 0": (lambda x: 1.0 / x, [0.0, 4.0]),
    "0 / 0": (lambda x: x / x, [0.0, 4.0]),
    "reciprocal": (np.reciprocal, [0.0, 4.0]),
    "power -1": (lambda x: x**-1.0, [0.0, 4.0]),
    "power 0.5": (lambda x: x**0.5, [0.0, 4.0]),
    "fractional power below 0": (lambda x: x**1.5, [-1.0, 4.0]),
    "0 ** x": (lambda x: 0.0**x, [-1.0, 4.0]),
    "x ** x": (lambda x: x**x, [0.0, 1.5]),
    "exp overflows": (np.exp, [1000.0, 1.0]),
    "exp of exp": (lambda x: np.exp(np.exp(x)), [1000.0, 1.0]),
    "arccos at 1": (np.arccos, [1.0, 0.5]),
    "arcsin beyond 1": (np.arcsin, [1.5, 0.5]),
    "arctanh at 1": (np.arctanh, [1.0, 0.5]),
    "arccosh at 1": (np.arccosh, [1.0, 2.5]),
    "cbrt": (np.cbrt, [0.0, 4.0]),
    "multiply by inf": (lambda x: x * ng.DimArray([np.inf, 3.0], "x"), [2.0, 4.0]),
    "multiply by nan": (lambda x: x * ng.DimArray([np.nan, 3.0], "x"), [2.0, 4.0]),
    "arctan2": (lambda x: np.arctan2(x, x * 0), [0.0, 4.0]),
    "log of sqrt": (lambda x: np.log(np.sqrt(x)), [0.0, 4.0]),
    "sqrt of square": (lambda x: np.sqrt(x * x), [0.0, 4.0]),
    "tan overflow": (lambda x: np.sinh(x), [1000.0, 1.0]),
    "nan": (np.sin, [np.nan, 1.0]),
    "inf": (np.sin, [np.inf, 1.0]),
    "dot with nan": (lambda x: ng.dot(ng.DimArray([[np.nan, 1.0], [2.0, 3.0]], ("x", "k")), x * x, dim=()).sum("k", skipna=False), [2.0, 4.0]),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_cells_get_exactly_zero(name: str) -> None:
    f, at = MASKED[name]
    x, keep = ng.DimArray(at, "x"), ng.DimArray([False, True], "x")
    alone = ng.DimArray(at[1:], "x")

    def masked(x: ng.DimArray) -> ng.DimArray:
        return ng.where(keep, f(x), 0.0).sum()

    def plain(x: ng.DimArray) -> ng.DimArray:
        return f(ng.concat([ng.DimArray([1.0], "x"), x], "x")).isel(x=1)

    g = ng.grad(masked)(x).data
    assert g[0] == 0
    assert_close(g[1:], ng.grad(plain)(alone).data, ROUNDING)
    pushed = ng.pushforward(masked, (x,), (ng.DimArray([3.0, 2.0], "x"),))[1]
    assert_close(pushed.data, 2 * g[1], ROUNDING)
    v = ng.DimArray([5.0, 1.0], "x")
    second = ng.grad(lambda x: ng.grad(plain)(x).sum())(alone).data
    for h in (ng.hvp(masked, x, v).data, ng.grad(lambda x: (ng.grad(masked)(x) * v).sum())(x).data):
        assert h[0] == 0
        assert_close(h[1:], second, SECOND)
    assert not np.isnan(ng.hessian(masked)(x).data).any()
    third = ng.grad(lambda x: ng.hvp(masked, x, v).sum())(x).data
    assert third[0] == 0


@pytest.mark.parametrize("name", [n for n in MASKED if n not in {"nan", "multiply by nan", "dot with nan"}])
def test_cells_left_out_by_index_get_exactly_zero(name: str) -> None:
    f, at = MASKED[name]
    x = ng.DimArray(at, "x")
    for chosen in (lambda y: y.isel(x=1), lambda y: y.isel(x=[1, 1]).sum(), lambda y: (y * ng.DimArray([0.0, 1.0], "x")).isel(x=1)):
        g = ng.grad(lambda x, chosen=chosen: chosen(f(x)))(x).data
        assert g[0] == 0
        assert np.isfinite(g[1])


def test_true_infinities_survive() -> None:
    x = ng.DimArray([0.0, 4.0], "x")
    np.testing.assert_array_equal(ng.grad(lambda x: np.sqrt(x).sum())(x).data, [np.inf, 0.25])
    np.testing.assert_array_equal(ng.grad(lambda x: np.log(x).sum())(x).data, [np.inf, 0.25])
    np.testing.assert_array_equal(ng.grad(lambda x: (-1.0 / x).sum())(x).data, [np.inf, 1 / 16])
    assert np.isnan(ng.grad(lambda x: (x * np.nan).sum(skipna=False))(x).data).all()
    mixed = ng.grad(lambda x: (np.sqrt(x) + ng.where(x > 1, np.log(x), 0.0)).sum())(x).data
    np.testing.assert_array_equal(mixed, [np.inf, 0.5])


def test_guards_under_vectorized_axes() -> None:
    x = ng.DimArray([[0.0, 4.0], [1.0, 0.0]], ("b", "x"), vectorized="b")
    g = ng.grad(lambda x: ng.where(x > 0, np.log(x) / np.sqrt(x), 0.0).sum())(x).data
    expected = (1 - 0.5 * np.log([4.0, 1.0])) / np.array([4.0, 1.0]) ** 1.5
    np.testing.assert_allclose(g, [[0, expected[0]], [expected[1], 0]], rtol=1e-14)


def test_contractions_guard_row_by_row() -> None:
    m = ng.DimArray([[np.inf, 1.0], [2.0, 3.0]], ("i", "j"))
    x = ng.DimArray([1.0, 2.0], "j")
    keep = ng.DimArray([False, True], "i")
    g = ng.grad(lambda x: ng.where(keep, ng.dot(m, x, dim="j"), 0.0).sum())(x)
    np.testing.assert_array_equal(g.data, [2.0, 3.0])
    g = ng.grad(lambda x: ng.dot(m, x, dim="j").sum())(x)
    np.testing.assert_array_equal(g.data, [np.inf, 4.0])
    pushed = ng.pushforward(lambda x: ng.dot(m, x, dim="j"), (x,), (ng.DimArray([0.0, 1.0], "j"),))[1]
    np.testing.assert_array_equal(pushed.data, [1.0, 3.0])


def test_norm_like_functions_at_zero() -> None:
    zero = ng.DimArray([0.0, 0.0], "x")
    for f in (lambda x: x.std(), lambda x: np.hypot(x.isel(x=0), x.isel(x=1)), lambda x: abs(x).sum()):
        np.testing.assert_array_equal(ng.grad(f)(zero).data, [0.0, 0.0])
        np.testing.assert_array_equal(ng.pushforward(f, (zero,), (ng.DimArray([1.0, -2.0], "x"),))[1].data, 0.0)
        assert np.isfinite(ng.hessian(lambda x, f=f: ng.where(x.sum() > 0, f(x), 0.0))(zero).data).all()
    z = ng.DimArray([0j, 3 + 4j], "x")
    np.testing.assert_allclose(ng.grad(lambda z: abs(z).sum())(z).data, [0, 0.6 + 0.8j], rtol=1e-15)


def test_every_pass_over_one_record_is_guarded() -> None:
    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: ng.sqrt(a), x)
    for cotangent, expected in (([0.0, 1.0], [0.0, 0.25]), ([2.0, 0.0], [math.inf, 0.0]), ([0.0, 3.0], [0.0, 0.75])):
        np.testing.assert_array_equal(pull(ng.DimArray(cotangent, ("x",))).data, expected)


def test_a_pass_over_nothing_tells_nothing_about_the_next() -> None:
    _, pull = ng.pullback(ng.sqrt, ng.DimArray([0.0, 4.0], ("x",)))
    assert pull(ng.DimArray(np.zeros((0, 2)), ("b", "x"), vectorized=("b",))).data.shape == (0, 2)
    np.testing.assert_array_equal(pull(ng.DimArray([0.0, 1.0], ("x",))).data, [0.0, 0.25])


def test_a_pass_through_one_output_tells_nothing_about_another() -> None:
    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: (2 * a, ng.sqrt(a)), x)
    one, nothing = ng.DimArray([1.0, 1.0], ("x",)), ng.DimArray([0.0, 0.0], ("x",))
    np.testing.assert_array_equal(pull((one, ng.DimArray([0.0, 1.0], ("x",)))).data, [2.0, 2.25])
    np.testing.assert_array_equal(pull((one, nothing)).data, [2.0, 2.0])


def test_gradient_clipping_hides_what_is_not_finite_from_one_pass_only() -> None:
    @ng.custom_pullback
    def f(x: ng.DimArray) -> ng.DimArray:
        return x

    @f.pullback
    def _(g: ng.DimArray, out: ng.DimArray, x: ng.DimArray) -> ng.DimArray:
        return g.clip(-1, 1)

    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: ng.sqrt(f(a)), x)
    np.testing.assert_array_equal(pull(ng.DimArray([1.0, 1.0], ("x",))).data, [1.0, 0.25])
    np.testing.assert_array_equal(pull(ng.DimArray([0.0, 1.0], ("x",))).data, [0.0, 0.25])


def test_a_record_known_to_be_finite_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.isfinite_all
    monkeypatch.setattr(kind, "isfinite_all", lambda self, x: looked.append(1) or original(self, x))
    _, pull = ng.pullback(ng.exp, normal(3))
    for _ in range(3):
        pull(normal(3))
    assert len(looked) == 1


SELECTING = {
    "max": lambda x: ng.max(x, "b", skipna=False),
    "unbind": lambda x: ng.unbind(x, "a")[1],
    "rolling": lambda x: x.rolling(b=3).max(),
    "max_pool": lambda x: ng.max_pool(x, {"b": 2}),
    "segment_max": lambda x: ng.segment_max(x, np.array([0, 1, 0, 1]), "b", 2),
    "segment_reduce": lambda x: ng.segment_reduce(x, "max", lengths=[3, 1], dim="b"),
}


@pytest.mark.parametrize("name", SELECTING)
def test_what_selects_multiplies_nothing_and_is_not_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ng.DimArray(np.random.default_rng(0).normal(size=(3, 4)), ("a", "b"))
    out, pull = ng.pullback(SELECTING[name], x)
    seed = np.full(out.data.shape, np.inf)
    seed[:1] = 0
    looked: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.isfinite_all
    monkeypatch.setattr(kind, "isfinite_all", lambda self, x: looked.append(1) or original(self, x))
    found = pull(ng.DimArray(seed, out.dims)).data
    assert not looked
    assert set(np.unique(found)) <= {0, np.inf}  # no cell that is not chosen is 0 times infinity


@pytest.mark.parametrize("both", [False, True])
def test_of_a_product_only_the_factors_of_what_is_differentiated_are_copied(
    both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y, g = (rng.normal(size=s) for s in ((3, 4), (4, 5), (3, 5)))
    wants = (g @ y.T, x.T @ g)
    a, b = ng.DimArray(x, ("i", "k")), ng.DimArray(y, ("k", "j"))
    copied: list[tuple[int, ...]] = []
    kind = type(ng.backends.NUMPY)
    original = kind.copy
    monkeypatch.setattr(kind, "copy", lambda self, x: copied.append(x.shape) or original(self, x))
    _, pull = ng.pullback(ng.dot, a, b) if both else ng.pullback(lambda a: ng.dot(a, b), a)
    assert copied == ([x.shape, y.shape] if both else [y.shape])
    x[:], y[:] = 7, 8
    found = pull(ng.DimArray(g, ("i", "j")))
    for one, want in zip(found if both else (found,), wants, strict=False):
        np.testing.assert_allclose(one.data, want)


def test_a_value_without_derivative_is_copied_only_if_somebody_else_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    x, constant = ng.DimArray([0.4, 1.6, 2.7], "x"), ng.DimArray([1.0, 2.0, 3.0], "x")

    def keep(y: ng.DimArray) -> ng.DimArray:
        kept.append(y)
        return y

    programs: dict[Callable[..., Any], int] = {
        ng.rint: 0, lambda x: (ng.rint(x), ng.sign(x)): 0, lambda x: keep(ng.rint(x)): 1, lambda x: constant: 1, lambda x: constant[1:]: 1,
        lambda x: keep(ng.rint(x))[1:]: 1, lambda x: [ng.rint(x)] * 2: 2, lambda x: (lambda r: (r, r * x))(ng.rint(x)): 1,
    }  # fmt: skip
    copied: list[int] = []
    original = tape.fresh_copy
    monkeypatch.setattr(tape, "fresh_copy", lambda a: copied.append(a.size) or original(a))
    for f, count in programs.items():
        copied.clear()
        ng.pullback(f, x)
        assert len(copied) == count
        copied.clear()
        ng.linearize(f, x)
        assert len(copied) == count


def test_of_a_captured_array_that_repeats_a_cell_one_cell_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.array([2.0, 3.0])
    x, captured = ng.DimArray(np.ones((50, 2)), ("x", "y")), ng.DimArray(np.broadcast_to(cells, (50, 2)), ("x", "y"))
    copied: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.copy
    monkeypatch.setattr(kind, "copy", lambda self, x: copied.append(x.size) or original(self, x))
    _, pull = ng.pullback(lambda x: x * captured, x)
    assert copied == [2]
    cells[:] = 7.0
    np.testing.assert_array_equal(pull(ng.ones_like(x)).data, np.full((50, 2), [2.0, 3.0]))


KEEPING = {
    "multiply": (lambda x, a: x * a, lambda x, a: a),
    "divide": (lambda x, a: a / x, lambda x, a: -a / x**2),
    "twice": (lambda x, a: (a * x) * (x * a), lambda x, a: 2 * a**2 * x),
    "exp": (lambda x, a: ng.exp(x), lambda x, a: np.exp(x)),
    "power": (lambda x, a: x**a, lambda x, a: a * x ** (a - 1)),
    "where": (lambda x, a: ng.where(a > 0.7, x * a, x), lambda x, a: np.where(a > 0.7, a, 1)),
    "view": (lambda x, a: x * ng.flip(a, "x"), lambda x, a: a[::-1]),
}


@pytest.mark.parametrize("name", KEEPING)
def test_what_is_overwritten_later_is_not_what_pullback_and_linearize_keep(name: str) -> None:
    f, slope = KEEPING[name]
    rng = np.random.default_rng(0)
    x, a, c = rng.uniform(0.5, 1, 6), rng.uniform(0.5, 1, 6), rng.normal(size=6)
    want, (at, by, seed) = c * slope(x, a), (ng.DimArray(v, ("x",)) for v in (x, a, c))
    _, pull = ng.pullback(lambda x: f(x, by), at)
    _, linear = ng.linearize(lambda x: f(x, by), at)
    x[:], a[:] = 9, 7
    for found in (pull(seed), linear(seed), linear.T(seed)):
        assert_close(found.to_numpy(), want, ROUNDING)
