"""Custom rules: what they are given, what they override, how they count slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import all_names, values
from tests.support.drawn import RNG, SIZES, array
from tests.support.tolerances import EXACT, ROUNDING, assert_close


def cube_by_pullback() -> Any:
    @ng.custom_pullback
    def cube(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(x**3, y, dim="z")

    @cube.pullback
    def _(c: ng.DimArray, out: ng.DimArray, x: ng.DimArray, y: ng.DimArray) -> Any:
        assert c.dims == out.dims  # core axes only
        return 3 * x * x * c * y, (x**3 * c).sum("x")

    return cube


def cube_by_pushforward() -> Any:
    @ng.custom_pushforward
    def cube(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(x**3, y, dim="z")

    @cube.pushforward
    def _(t: Any, out: ng.DimArray, x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(3 * x * x * t[0], y, dim="z") + ng.dot(x**3, t[1], dim="z")

    return cube


@pytest.mark.parametrize("make", [cube_by_pullback, cube_by_pushforward])
@pytest.mark.parametrize("batch", [((), ()), (("b",), ()), ((), ("b",)), (("b",), ("b",)), (("b",), ("c",))], ids=str)
def test_custom_rules(make: Any, batch: Any) -> None:
    cube = make()
    plain = lambda x, y: ng.dot(x**3, y, dim="z")
    x = ng.DimArray(RNG.normal(size=[SIZES[n] for n in (*batch[0], "x", "z")]), (*batch[0], "x", "z"), vectorized=batch[0])
    y = ng.DimArray(RNG.normal(size=[SIZES[n] for n in ("z", *batch[1])]), ("z", *batch[1]), vectorized=batch[1])
    tx, ty = x * 0.3 + 1.0, y * y
    assert_close(cube(x, y).to_numpy(), plain(x, y).to_numpy(), EXACT)
    _, t1 = ng.pushforward(cube, (x, y), (tx, ty))
    _, t2 = ng.pushforward(plain, (x, y), (tx, ty))
    assert (t1.dims, set(t1.vectorized)) == (t2.dims, set(t2.vectorized))
    assert_close(values(t1, all_names(t2)), t2.to_numpy(), ROUNDING)
    for k in range(2):
        for of in (lambda f, k: ng.grad(lambda x, y: np.sin(f(x, y)).sum(), k)(x, y),
                   lambda f, k: ng.grad(lambda x, y: (ng.grad(lambda x, y: np.sin(f(x, y)).sum(), k)(x, y) ** 2).sum(), 1 - k)(x, y),
                   lambda f, k: ng.jacobian(f, k)(x, y), lambda f, k: ng.jacobian(f, k, mode="forward")(x, y)):  # fmt: skip
            g1, g2 = of(cube, k), of(plain, k)
            assert (g1.dims, set(g1.vectorized)) == (g2.dims, set(g2.vectorized))
            assert_close(values(g1, all_names(g2)), g2.to_numpy(), ROUNDING)


@pytest.mark.parametrize("make", [cube_by_pullback, cube_by_pushforward])
def test_tangents_of_custom_rules_of_which_one_adds_an_axis(make: Any) -> None:
    cube, x, y = make(), array("xz"), array("z")
    one, many = array("xz"), ng.DimArray(RNG.normal(size=(5, SIZES["z"])), ("e", "z"), vectorized="e")
    expected = np.einsum("xz,xz->x", 3 * x.data**2 * one.data, y.data + 0 * x.data) + many.data @ (x.data**3).T
    np.testing.assert_allclose(ng.pushforward(cube, (x, y), (one, many))[1].data, expected, rtol=1e-12)
    by_product = np.einsum("xz,xz->x", 3 * (x.data * y.data) ** 2 * one.data * y.data, 1 + 0 * x.data)
    by_product = by_product + np.einsum("ez,xz->ex", many.data, 3 * (x.data * y.data) ** 2 * x.data)
    ones = ng.ones_like(y)
    for f in (lambda x, y: cube(x * y, ones), lambda x, y: cube(y * x, ones)):  # whichever tangent comes first
        t = ng.pushforward(f, (x, y), (one, many))[1]
        assert t.vectorized == ("e",)
        np.testing.assert_allclose(t.data, by_product, rtol=1e-12)


@pytest.mark.parametrize("new", ["c", "d", "e", "f", "g", "h"])
def test_slices_that_one_of_two_outputs_has_under_another_name(new: str) -> None:
    """Whatever order the names have in a set."""
    x, y = (ng.DimArray(RNG.normal(size=(3, 2)), ("b", "z"), vectorized="b") for _ in range(2))

    def f(x: ng.DimArray, y: ng.DimArray) -> tuple[ng.DimArray, ng.DimArray]:
        return (x * x).sum().devectorize("b").rename({"b": new}).vectorize(new), ng.sin(y).sum()

    cotangents = tuple(ng.DimArray(RNG.normal(size=3), (n,), vectorized=n) for n in (new, "b"))
    first, second = ng.pullback(f, x, y)[1](cotangents)
    expected = np.einsum("d,db,bz->dbz", cotangents[0].data, np.eye(3), 2 * x.data)
    np.testing.assert_allclose(first.devectorize().transpose(new, "b", "z").data, expected, rtol=1e-12)
    cosines = np.broadcast_to(cotangents[1].data[:, None] * np.cos(y.data), (3, 3, 2))
    np.testing.assert_allclose(second.devectorize().transpose(new, "b", "z").data, cosines, rtol=1e-12)
    pull = ng.pullback(lambda x: f(x, x), x)[1]
    with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
        pull(cotangents)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_renamed_slices_does_not_depend_on_their_hashes(seed: int) -> None:
    x = ng.DimArray(RNG.normal(size=(2, 3, 2)), ("b", "t", "z"), vectorized=("b", "t"))
    c, d, e, f = (f"{n}{seed}" for n in "cdef")

    def renamed(y: ng.DimArray, b: str, t: str) -> ng.DimArray:
        return y.sum().devectorize("b", "t").rename(b=b, t=t).vectorize(b, t)

    g = ng.grad(lambda x: renamed(x * x, c, d) + renamed(ng.sin(x), e, f))(x)
    assert g.vectorized == (c, d, e, f, "b", "t")
    same = np.einsum("cb,dt->cdbt", np.eye(2), np.eye(3))
    first, second = 2 * x.data * same[..., None], np.cos(x.data) * same[..., None]
    np.testing.assert_allclose(g.data, first[:, :, None, None] + second, rtol=1e-12, atol=1e-14)
    assert ng.grad(lambda x: renamed(x, c, d))(x).vectorized == (c, d, "b", "t")


@pytest.mark.parametrize("k", [0, 1])
def test_slices_of_one_result_of_a_custom_rule_that_are_renamed(k: int) -> None:
    both = ng.custom_pullback(lambda x: (ng.sin(x).sum(), (x * x).sum()))
    both.pullback(lambda c, out, x: c[0] * ng.cos(x) + c[1] * 2 * x)
    x = ng.DimArray(RNG.normal(size=(3, 2)), ("b", "z"), vectorized="b")

    def met(x: ng.DimArray) -> ng.DimArray:
        out = both(x)
        return out[k].devectorize("b").rename(b="d").vectorize("d") * out[1 - k]

    for of in (ng.grad(met), ng.jacobian(met, mode="forward")):
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            of(x)

    def summed(x: ng.DimArray) -> ng.DimArray:
        out = both(x)
        return out[k].devectorize("b").rename(b="d").vectorize("d") * out[1 - k].devectorize("b").sum()

    a = x.data
    values, slopes = (np.sin(a).sum(1), (a * a).sum(1)), (np.cos(a), 2 * a)
    expected = np.einsum("db,bz->dbz", np.eye(3), slopes[k]) * values[1 - k].sum()
    expected += values[k][:, None, None] * slopes[1 - k]
    g = ng.grad(summed)(x).devectorize().transpose("d", "b", "z")
    np.testing.assert_allclose(g.data, expected, rtol=1e-12)


def test_tangents_have_all_added_axes_though_a_result_depends_on_few() -> None:
    x, y = array("x"), array("z")
    a, b = ng.ones({"a": 4, "x": x.size}, vectorized="a"), ng.ones({"b": 2, "z": y.size}, vectorized="b")
    pushed = ng.pushforward(lambda x, y: (2 * x, 3 * y, ng.ones({"z": 2})), (x, y), (a, b))[1]
    assert [(t.vectorized_sizes, float(t.sum().max().devectorize().max())) for t in pushed] == [
        ({"a": 4, "b": 2}, 2.0 * x.size), ({"a": 4, "b": 2}, 3.0 * y.size), ({"a": 4, "b": 2}, 0.0)
    ]  # fmt: skip
    constant = ng.custom_pushforward(lambda x: x.sum() * 0 + 3)
    constant.pushforward(lambda tangents, out, x: ng.zeros({}))
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(ng.jacobian(constant, mode=mode)(x).data, np.zeros(x.size))


def test_custom_rules_override() -> None:
    @ng.custom_pullback
    def clipped(x: ng.DimArray) -> ng.DimArray:
        return ng.clip(x, -1.0, 1.0)

    @clipped.pullback
    def _(c: ng.DimArray, out: ng.DimArray, x: ng.DimArray) -> Any:
        return c * 7.0

    x = ng.DimArray([-3.0, 0.5], "x")
    np.testing.assert_array_equal(ng.grad(lambda x: clipped(x).sum())(x).data, [7.0, 7.0])
    np.testing.assert_array_equal(ng.pushforward(clipped, (x,), (x,))[1].data, 7 * x.data)
    np.testing.assert_array_equal(clipped(x).data, [-1.0, 0.5])


def test_custom_rules_refuse_what_would_be_lost() -> None:
    x, y = array("x"), array("x")
    no_rule = ng.custom_pullback(lambda x: x)
    with pytest.raises(TypeError, match="pullback"):
        ng.grad(lambda x: no_rule(x).sum())(x)

    captured = ng.custom_pullback(lambda x: x * captured_value[0])
    captured.pullback(lambda c, out, x: c)
    captured_value = [y]

    def f(y: ng.DimArray) -> ng.DimArray:
        captured_value[0] = y
        return captured(y * 2).sum()

    with pytest.raises(ng.TraceError, match="argument"):
        ng.grad(f)(y)
    later = lambda kind, x: ng.grad(lambda w: kind(lambda x: w * x)(x).sum())(x)
    for kind in (ng.custom_pullback, ng.custom_pushforward):
        ruled = lambda f, kind=kind: (g := kind(f), g._decorate(lambda *args: args[0]))[0]
        for run in (lambda x: later(ruled, x), ng.grad(lambda x: later(ruled, x).sum())):  # noqa: B023 - called here
            with pytest.raises(ng.TraceError, match=r"(?s)captures.*pass it as an argument"):
                run(array("x"))
    extra = ng.custom_pullback(lambda x: x * 2)
    extra.pullback(lambda c, out, x: c.expand_dims(q=2))
    with pytest.raises(ng.AxisError, match="'q'"):
        ng.grad(lambda x: extra(x).sum())(x)
    count = ng.custom_pullback(lambda x, y: x * y)
    count.pullback(lambda c, out, x, y: (c, c, c))
    with pytest.raises(TypeError, match="2"):
        ng.grad(lambda x: count(x, x).sum())(x)


def test_custom_rules_of_structures() -> None:
    @ng.custom_pullback
    def both(p: dict[str, Any], n: int) -> tuple[Any, Any]:
        return p["a"] * n, p["b"].sum()

    @both.pullback
    def _(c: Any, out: Any, p: Any, n: int) -> Any:
        return {"a": c[0] * n, "b": c[1] + 0 * p["b"]}, None

    p = {"a": array("x"), "b": array("z")}
    g = ng.grad(lambda p: (lambda r: (r[0] * r[0]).sum() * r[1])(both(p, 3)))(p)
    np.testing.assert_allclose(g["a"].data, 18 * p["a"].data * p["b"].data.sum(), rtol=1e-12)
    np.testing.assert_allclose(g["b"].data, np.full(4, 9 * (p["a"].data ** 2).sum()), rtol=1e-12)


def test_what_a_rule_keeps_is_not_conjugated_in_its_place() -> None:
    kept = ng.DimArray(RNG.normal(size=3) + 1j * RNG.normal(size=3), "x")
    before = kept.to_numpy()

    @ng.custom_pullback
    def f(z: ng.DimArray) -> ng.DimArray:
        return z * 2

    f.pullback(lambda c, out, z: kept)
    _, pull = ng.pullback(f, kept + 1)
    first, again = (pull(ng.DimArray(np.ones(3, complex), "x")).data for _ in range(2))
    np.testing.assert_array_equal(kept.data, before)
    np.testing.assert_array_equal(first, again)
    first[0] = 7
    np.testing.assert_array_equal(kept.data, before)


@pytest.mark.parametrize("kind", ["pullback", "pushforward"])
def test_rules_of_numpy_programs_get_axes_in_the_order_of_their_array(kind: str) -> None:
    """What comes back from a transposed array is stored in another order than the array, and numbered by it."""
    matrix, weights, x, v = RNG.normal(size=(4, 3, 3))
    if kind == "pullback":
        rule: Any = ng.custom_pullback(lambda a: a @ matrix)
        rule.pullback(lambda g, out, a: g @ matrix.T)
    else:
        rule = ng.custom_pushforward(lambda a: a @ matrix)
        rule.pushforward(lambda t, out, a: t[0] @ matrix)

    def loss(q: Any) -> Any:
        return np.sum(np.sin(rule(q.T).T) * weights)

    y, moved = x.T @ matrix, v.T @ matrix
    gradient = matrix @ (np.cos(y).T * weights)
    second = matrix @ ((-np.sin(y) * moved).T * weights)
    assert_close(ng.grad(loss)(x), gradient, ROUNDING)
    assert_close(ng.jvp(loss, (x,), (v,))[1], (gradient * v).sum(), ROUNDING)
    assert_close(ng.hvp(loss, x, v), second, ROUNDING)
    assert_close(ng.grad(lambda q: np.sum(v * ng.grad(loss)(q)))(x), second, ROUNDING)
    assert_close(ng.grad(lambda q: ng.jvp(loss, (q,), (v,))[1])(x), second, ROUNDING)
