"""What an outside review found: each case failed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(11)
X = ng.DimArray([1.0, 2.0, 3.0], ("x",))


# ------------------------------------------------------------------------------------------------ arguments


def test_an_argument_is_differentiated_once() -> None:
    for wrt in ((0, 0), (0, "a"), (0, -2), [("a", ["p"]), "a"]):
        with pytest.raises(TypeError, match="more than once"):
            ng.grad(lambda a, b: (a * b).sum(), wrt=wrt)(X, X)
    p = {"u": X, "v": 2 * X}
    one, two = ng.grad(lambda p: (p["u"] * p["v"]).sum(), wrt=[(0, ["u"]), (0, ["v"])])(p)
    np.testing.assert_array_equal(one["u"].data, 2 * X.data)
    np.testing.assert_array_equal(two["v"].data, X.data)


def test_positions_are_any_integers() -> None:
    f = lambda a, b: (a * b * b).sum()
    np.testing.assert_array_equal(ng.grad(f, wrt=np.int64(1))(X, X).data, 2 * X.data**2)
    assert len(ng.grad(f, wrt=range(2))(X, X)) == 2
    for wrt in (1.5, None, object()):
        with pytest.raises(TypeError, match="neither the position nor the name"):
            ng.grad(f, wrt=wrt)(X, X)


def test_aux_that_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match=r"returns \(output, aux\), got"):
        ng.grad(lambda x: x.sum(), has_aux=True)(X)


def test_one_tangent_per_argument_in_a_tuple() -> None:
    with pytest.raises(TypeError, match="give a tuple"):
        ng.pushforward(lambda x: x * 2, X, X)  # type: ignore[arg-type]
    _, linear = ng.linearize(lambda a, b: a * b, X, X)
    with pytest.raises(TypeError, match="2 arguments but 1 tangents"):
        linear(X)


# ------------------------------------------------------------------------------------------------ cotangents and tangents


def test_cotangents_may_be_integers() -> None:
    _, pull = ng.pullback(lambda a: a * 2, np.ones(3))
    np.testing.assert_array_equal(pull(np.array([1, 2, 3])), [2.0, 4.0, 6.0])
    _, pull = ng.pullback(lambda a: a * a, 3.0)
    assert pull(2) == 12.0
    _, tangent = ng.pushforward(lambda a: a * a, (3.0,), (1,))
    assert tangent == 6.0


def test_cotangents_that_are_no_arrays_are_refused() -> None:
    _, pull = ng.pullback(lambda a: a * 2, np.ones(3))
    with pytest.raises(TypeError, match="cotangent is a list"):
        pull([1.0, 2.0, 3.0])


@pytest.mark.parametrize("f", [lambda a: a, lambda a: a.rename(x="y"), lambda a: a + 0 * a, lambda a: (a, a)])
@pytest.mark.parametrize("how", ["pushforward", "linearize"])
def test_tangents_of_outputs_have_memory_of_their_own(f: Any, how: str) -> None:
    t = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    out = ng.pushforward(f, (X,), (t,))[1] if how == "pushforward" else ng.linearize(f, X)[1](t)
    found = out if isinstance(out, tuple) else (out,)
    for a in found:
        a.data[...] = -1.0
    np.testing.assert_array_equal(t.data, [1.0, 2.0, 3.0])
    assert not any(np.shares_memory(a.data, b.data) for a in found for b in found if a is not b)


def test_a_broadcast_tangent_may_be_written() -> None:
    like = ng.zeros({"y": 2, "x": 3})
    _, out = ng.pushforward(lambda a: ng.broadcast_like(a, like), (X,), (X,))
    before = out.data.copy()
    out.data[0, 0] += 7.0
    assert (out.data != before).sum() == 1


def test_a_traced_positional_array_becomes_integer_untraced() -> None:
    g = ng.grad(lambda x: (x * x.astype(int)).sum())(np.array([1.5, 2.5]))
    np.testing.assert_array_equal(g, [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ Jacobians


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian_of_a_complex_output_of_real_input(mode: str) -> None:
    a = RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))
    m = ng.DimArray(a, ("y", "x"))
    jac = ng.jacobian(lambda x: ng.dot(m, x * x, dim="x"), mode=mode)(X)
    np.testing.assert_allclose(jac.data, 2 * a * X.data, rtol=1e-14)
    single = ng.jacobian(lambda x: (x * 1j).sum(), mode=mode)(X.astype("float32"))
    assert single.dtype == np.complex64
    np.testing.assert_array_equal(single.data, [1j, 1j, 1j])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_jacobian_has_the_precision_of_its_input_in_both_modes(mode: str) -> None:
    f = lambda a, b: a * b
    one, two = ng.jacobian(f, wrt=(0, 1), mode=mode)(X.astype("float32"), X)
    assert (one.dtype, two.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_jacobian_block_has_the_vectorized_axes_of_its_own_output(mode: str) -> None:
    w = ng.DimArray(RNG.normal(size=(2, 3)), ("b", "x"), vectorized="b")
    one, two = ng.jacobian(lambda x: (x * w, (x * w).devectorize("b").sum("b")), mode=mode)(X)
    assert (one.vectorized, two.vectorized) == (("b",), ())
    np.testing.assert_allclose(two.data, np.diag(w.data.sum(0)), rtol=1e-14)


def test_a_suffixed_name_that_is_a_vectorized_axis_is_taken() -> None:
    w = ng.ones({"x_wrt": 2}, vectorized="x_wrt")
    with pytest.raises(ng.AxisError, match="choose another suffix="):
        ng.jacobian(lambda x: x * w)(X)
    assert ng.jacobian(lambda x: x * w, suffix="_in")(X).dims == ("x", "x_in")


def test_a_chunk_is_positive() -> None:
    for chunk in (0, -2):
        with pytest.raises(ValueError, match="chunk"):
            ng.jacobian(lambda x: x * 2, chunk=chunk)(X)


# ------------------------------------------------------------------------------------------------ linear maps


def test_adjoints_and_compositions_are_linear_maps_too() -> None:
    w = ng.DimArray(RNG.normal(size=(2, 3)), ("y", "x"))
    y, inner = ng.linearize(lambda x: ng.sin(x), X)
    _, outer = ng.linearize(lambda s: ng.dot(w, s, dim="x"), y)
    both = outer @ inner
    want = w.data * np.cos(X.data)
    np.testing.assert_allclose(both.dense().data, want, rtol=1e-14)
    assert both.dense().dims == ("y", "x_wrt")
    np.testing.assert_allclose(both.T.dense().data, want.T, rtol=1e-14)
    assert both.T.dense(suffix="_in").dims == ("x", "y_in")
    np.testing.assert_allclose(outer.T.dense().data, w.data.T, rtol=1e-14)
    v = RNG.normal(size=3)
    np.testing.assert_allclose(both.to_scipy() @ v, want @ v, rtol=1e-13)
    np.testing.assert_allclose(both.T.to_scipy().T @ v, want @ v, rtol=1e-13)


def test_several_results_are_several_arguments_of_the_next_map() -> None:
    (s, d), inner = ng.linearize(lambda x: (ng.sin(x), 2 * x), X)
    _, outer = ng.linearize(lambda a, b: (a * b).sum(), s, d)
    _, direct = ng.linearize(lambda x: (ng.sin(x) * 2 * x).sum(), X)
    both = outer @ inner
    np.testing.assert_allclose(both(X).data, direct(X).data, rtol=1e-13)
    np.testing.assert_allclose(both.T(1.5).data, direct.T(1.5).data, rtol=1e-13)
    np.testing.assert_allclose((both @ both.T)(1.0).data, (direct.dense().data ** 2).sum(), rtol=1e-13)
    np.testing.assert_array_equal((inner @ X)[0].data, inner(X)[0].data)


def test_dense_of_complex_maps() -> None:
    a = RNG.normal(size=(1, 3)) + 1j * RNG.normal(size=(1, 3))
    z = ng.DimArray(RNG.normal(size=3) + 1j * RNG.normal(size=3), ("x",))
    _, linear = ng.linearize(lambda z: ng.dot(ng.DimArray(a, ("y", "x")), z, dim="x"), z)  # fewer rows than columns
    np.testing.assert_allclose(linear.dense().data, a, rtol=1e-14)
    np.testing.assert_allclose(linear.T.dense().data, a.conj().T, rtol=1e-14)
    for f in (lambda z: z.conj(), lambda z: abs(z).sum()):
        with pytest.raises(TypeError, match="real and imaginary parts"):
            ng.linearize(f, z)[1].dense()


# ------------------------------------------------------------------------------------------------ custom rules and scans


def _by_hand() -> tuple[Any, Any]:
    def f(a: Any, b: Any, q: Any) -> Any:
        return ng.sin(a) * q, (a * b).sum("x")  # the second lacks the batch axes of q

    g = ng.custom_pullback(f)

    @g.pullback
    def _(c: Any, out: Any, a: Any, b: Any, q: Any) -> Any:
        return c[0] * ng.cos(a) * q + c[1] * b, c[1] * a + 0 * q, (c[0] * ng.sin(a)).sum("x")

    return f, g


@pytest.mark.parametrize("batch", [(), ("b",), ("k",), ("b", "k")])
@pytest.mark.parametrize("whole", [False, True])
def test_custom_pullbacks_of_outputs_with_different_batch_axes(batch: tuple[str, ...], whole: bool) -> None:
    a = ng.DimArray(RNG.normal(size=(2, 3)), ("b", "x"), vectorized="b" if "b" in batch else ())
    a = a if "b" in batch else a.isel(b=0)
    q = ng.DimArray(RNG.normal(size=4), ("k",), vectorized="k")
    q = q if "k" in batch else q.devectorize().isel(k=0)
    args = (a, ng.DimArray(RNG.normal(size=3), ("x",)), q)
    ts = tuple(ng.DimArray(RNG.normal(size=z.data.shape), (*z.vectorized, *z.dims), vectorized=z.vectorized) for z in args)

    def loss(h: Any) -> Any:
        def run(*args: Any) -> Any:
            s, t = h(*args)
            out = (s * s).sum() + ng.exp(0.1 * t)
            return out.devectorize().sum() + ng.sin(t.devectorize()).sum() if whole else out

        return run

    def answers(h: Any) -> list[Any]:
        slope = ng.grad(loss(h), wrt=(0, 1, 2))
        jac = [ng.jacobian(h, wrt=(0, 1, 2), mode=m)(*args) for m in ("forward", "reverse")]
        return [
            *slope(*args),
            ng.jvp(loss(h), args, ts)[1],
            *ng.jvp(slope, args, ts)[1],
            *ng.grad(lambda *z: ng.jvp(loss(h), z, ts)[1], wrt=(0, 1, 2))(*args),
            *(block for j in jac for row in j for block in row),
        ]

    f, g = _by_hand()
    for mine, want in zip(answers(g), answers(f), strict=True):
        assert mine.sizes == want.sizes
        assert mine.vectorized_sizes == want.vectorized_sizes
        gap = (mine - want).devectorize()
        assert float(abs(gap).max()) <= 1e-12 * (1 + float(abs(want).devectorize().max()))


def test_a_custom_rule_that_returns_a_wrong_size_is_refused() -> None:
    g = ng.custom_pullback(lambda a: a * 2)

    @g.pullback
    def _(c: Any, out: Any, a: Any) -> Any:
        return c.isel(x=slice(2))

    with pytest.raises(ng.AxisError, match=r"returned \(x: 2\) for \(x: 3\)"):
        ng.grad(lambda a: g(a).sum())(X)


def test_scan_refuses_what_it_cannot_loop() -> None:
    for every in (0, -1):
        with pytest.raises(ValueError, match="checkpoint_every"):
            ng.scan(lambda c, x: (c + x, c), 0.0, X, "x", checkpoint_every=every)
    with pytest.raises(TypeError, match=r"must return \(carry, y\)"):
        ng.scan(lambda c, x: c + x, 0.0, X, "x")  # type: ignore[arg-type, return-value]


# ------------------------------------------------------------------------------------------------ memory and traces


@pytest.mark.parametrize("how", ["pullback", "linearize"])
@pytest.mark.parametrize("f", [np.exp, np.sqrt, lambda a: a, lambda a: a * a])
def test_a_value_may_be_written_before_its_pullback_runs(f: Any, how: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    y, back = ng.pullback(f, x) if how == "pullback" else ng.linearize(f, x)
    pull = back if how == "pullback" else back.T
    want = pull(np.ones(3)).copy()
    y -= 5.0
    np.testing.assert_array_equal(pull(np.ones(3)), want)
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_arrays_without_axes_are_memory_too() -> None:
    given, captured = np.array(2.0), np.array(3.0)
    _, pull = ng.pullback(lambda a: a * a * ng.DimArray(captured, ()), ng.DimArray(given, ()))
    given[...] = captured[...] = 7.0
    assert pull(1.0).item() == 12.0
    _, pull = ng.pullback(lambda a: a, ng.DimArray(np.array(1.0), ()))
    c = ng.DimArray(np.array(2.0), ())
    g = pull(c)
    g.data[...] = 5.0
    assert c.item() == 2.0


@pytest.mark.parametrize("transform", [ng.value_and_grad, lambda f: lambda x: ng.pushforward(f, (x,), (x,)), ng.jacobian])
def test_a_result_is_never_a_value_of_a_transform_that_has_returned(transform: Any) -> None:
    kept: list[Any] = []
    ng.grad(lambda x: (kept.append(x.sum()), x.sum())[1])(X)
    with pytest.raises(ng.TraceError, match="had returned"):
        transform(lambda _: kept[0])(X)


def test_plain_arrays_leave_untraced_functions_as_plain_arrays() -> None:
    twice = ng.custom_pullback(lambda a: 2 * a)
    twice.pullback(lambda c, out, a: 2 * c)
    assert type(twice(np.ones(3))) is np.ndarray
    assert type(ng.checkpoint(np.sin)(np.ones(3))) is np.ndarray
    carry, ys = ng.scan(lambda c, x: (c + x, c * x), 0.0, np.arange(3.0), 0)
    assert carry == 3.0
    assert type(ys) is np.ndarray


def test_a_custom_pushforward_must_not_bring_axes_of_its_own():
    g = ng.custom_pushforward(lambda x, q: x * 2)

    @g.pushforward
    def _(tangents, out, x, q):
        return tangents[0] * 2 + 0 * q

    x, q = ng.DimArray([1.0, 2.0], ("i",)), ng.DimArray([1.0, 2.0, 3.0], ("b",)).vectorize("b")
    with pytest.raises(ng.AxisError, match="no tangent brought"):
        ng.grad(lambda x: g(x, q).sum())(x)
    with pytest.raises(ng.AxisError, match="no tangent brought"):
        ng.pushforward(lambda x: g(x, q).sum(), (x,), (x,))
