"""Cotangents and tangents: names that they add and lack, and what is refused."""

from __future__ import annotations

import itertools

import dask.array as da
import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.support import fake_cupy
from tests.support.arrays import all_names, cut, values
from tests.support.tolerances import EXACT, ROUNDING, assert_close
from tests.support.vectorized import inputs


def test_cotangent_that_adds_names_joins_v() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, pull = ng.pullback(lambda w: ng.sin(w * xb), w)
    rng = np.random.default_rng(0)
    c = ng.DimArray(rng.normal(size=(5, 3, 4)), ("e", "b", "f"), vectorized=("e", "b"))
    g = pull(c)
    assert set(g.vectorized) == {"e", "b"}
    assert g.dims == ("f",)
    for e in range(5):
        one = pull(cut(c, {"e": e}))
        assert set(one.vectorized) == {"b"}
        assert_close(values(cut(g, {"e": e}), all_names(one)), one.to_numpy(), ROUNDING)


def test_cotangent_that_lacks_vectorized_axes_is_broadcast() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, pull = ng.pullback(lambda w: ng.sin(w * xb), w)
    c = ng.DimArray(np.arange(4.0) - 1, "f")
    full = ng.DimArray(np.broadcast_to(c.to_numpy(), (3, 4)).copy(), ("b", "f"), vectorized="b")
    assert_close(pull(c).to_numpy(), pull(full).to_numpy(), EXACT)
    assert_close(pull(c).to_numpy(), np.cos(w.to_numpy() * xb.to_numpy()) * xb.to_numpy() * c.to_numpy(), ROUNDING)


def test_cotangent_of_one_output_adds_names_for_every_input() -> None:
    w = inputs()["w"]
    _, pull = ng.pullback(lambda x, y: (x * 2, y * 3), w, w)
    c = ng.DimArray(np.ones((2, 4)), ("e", "f"), vectorized="e")
    gx, gy = pull((c, ng.ones_like(w)))
    assert gx.vectorized == gy.vectorized == ("e",)
    assert_close(gy.to_numpy(), np.full((2, 4), 3.0), EXACT)


def test_stored_order_of_a_cotangent_is_harmless() -> None:
    given = inputs()
    m, xb = given["m"], given["xb"]
    _, pull = ng.pullback(lambda m: m * xb, m)
    rng = np.random.default_rng(0)
    c = ng.DimArray(rng.normal(size=(3, 4, 2)), ("b", "f", "g"), vectorized="b")
    expected = pull(c)
    for order in itertools.permutations(("b", "f", "g")):
        other = ng.DimArray(values(c, order), order, vectorized="b")
        g = pull(other)
        assert g.dims == m.dims
        assert_close(g.to_numpy(), expected.to_numpy(), EXACT)


def test_tangent_that_adds_names() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    t = ng.DimArray(np.random.default_rng(0).normal(size=(4, 5)), ("f", "e"), vectorized="e")
    _, dy = ng.pushforward(lambda w: ng.sin(w * xb), (w,), (t,))
    assert set(dy.vectorized) == {"b", "e"}
    expected = np.einsum("bf,bf,ef->bef", np.cos(w.to_numpy() * xb.to_numpy()), xb.to_numpy(), t.to_numpy())
    assert_close(values(dy, ("b", "e", "f")), expected, ROUNDING)


def test_tangent_that_adds_a_name_whose_slices_are_mixed_is_refused() -> None:
    x, t = ng.DimArray(2.0, ()), ng.DimArray([1.0, 10.0, 100.0], "b", vectorized="b")
    data = ng.DimArray([1.0, 2.0, 3.0], "b")
    for f in (lambda x: (x * data).sum(), lambda x: (x * data).cumsum("b"), lambda x: ng.dot(x * data, data, dim="b"),
              lambda x: (x * data.vectorize("b")).devectorize("b").sum()):  # fmt: skip
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            ng.pushforward(f, (x,), (t,))
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            ng.linearize(f, x)[1](t)
        named = t.rename({"b": "e"})
        pushed = ng.pushforward(f, (x,), (named,))[1].devectorize()
        assert_close(pushed.isel(e=2).to_numpy(), 100 * f(ng.DimArray(1.0, ())).to_numpy(), ROUNDING)
    elsewhere = ng.pushforward(lambda x: x * data.sum(), (x,), (t,))[1]
    assert_close(elsewhere.to_numpy(), 6 * t.to_numpy(), ROUNDING)


def test_tangent_that_lacks_vectorized_axes_is_broadcast() -> None:
    xb = inputs()["xb"]
    t = ng.DimArray(np.arange(4.0), "f")
    _, dy = ng.pushforward(lambda x: x * x, (xb,), (t,))
    assert dy.vectorized == ("b",)
    assert_close(dy.to_numpy(), 2 * xb.to_numpy() * np.arange(4.0), ROUNDING)


def test_visible_extras_are_refused() -> None:
    w = inputs()["w"]
    extra = ng.DimArray(np.ones((2, 4)), ("e", "f"))
    _, pull = ng.pullback(lambda w: w * w, w)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        pull(extra)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        ng.pushforward(lambda w: w * w, (w,), (extra,))
    _, linear = ng.linearize(lambda w: w * w, w)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        linear(extra)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        linear.T(extra)


def test_wrong_sizes_and_missing_dims_of_cotangents_are_refused() -> None:
    m = inputs()["m"]
    _, pull = ng.pullback(lambda m: m * m, m)
    with pytest.raises(ng.AxisError, match="'f'"):
        pull(ng.DimArray(np.ones((5, 2)), ("f", "g")))
    with pytest.raises(ng.AxisError, match="'g'"):
        pull(ng.DimArray(np.ones(4), "f"))


def test_adjoint_identity_per_slice() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, linear = ng.linearize(lambda w: ng.sin(w * xb) * w.sum(), w)
    rng = np.random.default_rng(3)
    t = ng.DimArray(rng.normal(size=4), "f")
    c = ng.DimArray(rng.normal(size=(3, 4)), ("b", "f"), vectorized="b")
    here, there = (c * linear(t)).sum(), (linear.T(c) * t).sum()
    assert here.vectorized == there.vectorized == ("b",)
    assert_close(here.to_numpy(), there.to_numpy(), ROUNDING)


def test_cotangents_of_conjugates() -> None:
    rng = np.random.default_rng(0)
    z, g, h = (ng.DimArray(rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)), ("a", "b")) for _ in range(3))
    _, pull = ng.pullback(ng.conjugate, z)
    once = pull(g).data
    np.testing.assert_array_equal(once, g.data.conj())
    once[...] = 0
    np.testing.assert_array_equal(pull(g).data, g.data.conj())
    np.testing.assert_array_equal(pull(ng.real(g)).data, g.data.real)
    _, pull = ng.pullback(lambda z: (ng.conjugate(z), ng.conjugate(z * z)), z)
    np.testing.assert_allclose(pull((g, h)).data, (g.data + 2 * z.data * h.data).conj(), rtol=1e-14)
    _, pull = ng.pullback(lambda z: ng.conjugate(ng.conjugate(z)), z)
    np.testing.assert_array_equal(pull(g).data, g.data)


@pytest.mark.parametrize("place", ["numpy", "compiled", "cupy", "dask"])
def test_a_slice_of_the_name_that_a_guarded_product_sums_over(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slices come of another array: where nobody may look whether factors are finite, they were taken for the sum's."""
    rng = np.random.default_rng(2)
    b, scores, other, ct = (rng.normal(size=3) for _ in range(4))
    move = {"cupy": fake_cupy.installed(monkeypatch).asarray, "dask": da.from_array}.get(place, np.asarray)
    named = lambda a, name: ng.DimArray(move(a), name)

    def pulled(b: ng.DimArray, ct: ng.DimArray) -> ng.DimArray:
        loss = lambda b: (ng.cross_entropy(named(scores, "x"), b * b, dim="x") - named(other, "x")).vectorize("x").rename(x="n")
        return ng.pullback(loss, b)[1](ct)

    run = ng.compile(pulled) if place == "compiled" else pulled
    g = run(named(b, "x"), named(ct, "n").vectorize("n")).devectorize()
    expected = ct[:, None] * -2 * b * scipy.special.log_softmax(scores)
    np.testing.assert_allclose(g.transpose("n", "x").to_numpy(), expected, rtol=1e-12)
