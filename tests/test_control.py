"""Branches and loops steered by values, and vectorized axes merged, split and made the same."""

import dask.array as da
import numpy as np
import pytest

import namedgrad as ng
from tests.support.tolerances import ROUNDING, assert_close

rng = np.random.default_rng(5)


def sliced(data):
    return ng.DimArray(np.asarray(data, float), "b", vectorized="b")


# ------------------------------------------------------------------------------------------------ cond


def test_a_single_predicate_calls_one_branch():
    def refuse(x):
        raise AssertionError("not taken")

    assert ng.cond(np.True_, lambda x: x + 1, refuse, 1) == 2
    g = ng.grad(lambda x: ng.cond(x > 1, lambda x: x**2, refuse, x))
    assert g(3.0) == 6.0


def test_a_vectorized_predicate_chooses_per_slice():
    x = sliced([-4.0, 4.0, 0.0])

    def f(x):
        return ng.cond(x > 0, ng.sqrt, lambda x: -x, x)

    assert f(x).data.tolist() == [4.0, 2.0, 0.0]
    assert ng.grad(f)(x).data.tolist() == [-1.0, 0.25, -1.0], "no NaN from the root of what is not taken"
    assert ng.pushforward(f, (x,), (x,))[1].data.tolist() == [4.0, 1.0, 0.0]
    second = ng.grad(lambda x: ng.grad(f)(x))(x)
    assert second.data.tolist() == [0.0, -1 / 32, 0.0]


def test_nested_structures_and_captured_arrays():
    x, w = sliced([1.0, -1.0]), ng.DimArray([1.0, 2.0, 3.0], "i")

    def f(w):
        out = ng.cond(x > 0, lambda: {"a": w * 2, "b": [x]}, lambda: {"a": w * w, "b": [x * 0]})
        return out["a"].sum() + out["b"][0]

    g = ng.grad(f)(w)
    assert_close(g.data, [[2.0, 2.0, 2.0], [2.0, 4.0, 6.0]], ROUNDING)


def test_predicates_that_cannot_be_looked_at():
    x = ng.DimArray(da.from_array(np.array(2.0)), ())
    assert float(ng.cond(x > 0, lambda x: 3 * x, lambda x: -x, x).data.compute()) == 6.0
    f = ng.compile(lambda x: ng.cond(x > 0, lambda x: 3 * x, lambda x: -x, x))
    assert [f(ng.DimArray(v, ())).item() for v in (2.0, -2.0)] == [6.0, 2.0]


def test_refusals_of_cond():
    with pytest.raises(ValueError, match=r"dims.*\.any\(\)"):
        ng.cond(ng.DimArray([True], "x"), lambda: 1, lambda: 2)
    with pytest.raises(ValueError, match="one form"):
        ng.cond(sliced([1.0]) > 0, lambda: (1.0, 2.0), lambda: 1.0)


def test_condition_numbers_have_the_same_name():
    a = ng.DimArray(np.diag([4.0, 2.0]), ("i", "j"))
    assert ng.cond(a, ("i", "j")).item() == ng.linalg.cond(a, dims=("i", "j")).item() == 2.0


# ------------------------------------------------------------------------------------------------ loops


def tripled(x):
    return ng.while_loop(lambda x: x < 50.0, lambda x: 3.0 * x, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_slice_stops_by_itself(dtype):
    x = ng.DimArray(np.array([1.0, 100.0, 0.01], dtype), "b", vectorized="b")
    steps = np.array([4, 0, 8])
    assert_close(tripled(x).data, x.data * 3.0**steps, 1e-6)
    g = ng.grad(tripled)(x)
    assert g.dtype == dtype
    assert_close(g.data, 3.0**steps, 1e-6)
    assert_close(ng.pushforward(tripled, (x,), (x,))[1].data, x.data * 3.0**steps, 1e-6)


def test_loops_are_loops_of_slices():
    x = sliced(rng.uniform(0.1, 2, 7))

    def f(x):
        y, n = ng.while_loop(lambda s: s[0] < 3.0, lambda s: (s[0] + ng.sin(s[0]) ** 2 + 0.1, s[1] + 1.0), (x, 0.0 * x))
        return y * y + n

    g = ng.grad(f)(x)
    second = ng.grad(lambda x: ng.grad(f)(x))(x)
    for k, v in enumerate(x.data):
        assert_close(g.data[k], ng.grad(f)(float(v)), ROUNDING)
        h = 1e-5
        assert_close(g.data[k], (f(v + h) - f(v - h)) / (2 * h), 1e-6, least=1.0)
        assert_close(second.data[k], (ng.grad(f)(v + h) - ng.grad(f)(v - h)) / (2 * h), 1e-5)


def test_memory_of_a_long_loop_grows_with_the_root():
    calls = []

    def body(s):
        calls.append(None)
        return (ng.sin(s[0]) + 0.9, s[1] + 1)

    def f(x):
        return ng.while_loop(lambda s: s[1] < 300, body, (x, 0))[0]

    g = ng.grad(f)(0.3)
    assert len(calls) == 600, "once forward, once again in reverse"
    x, slope = 0.3, 1.0
    for _ in range(300):
        slope *= np.cos(x)
        x = np.sin(x) + 0.9
    assert_close(g, slope, ROUNDING)


def test_a_bound_of_steps():
    assert ng.while_loop(lambda x: x < 1e9, lambda x: 2 * x, 1.0, max_steps=5) == 32.0
    x = sliced([1.0, 20.0])
    compiled = ng.compile(lambda x: ng.while_loop(lambda x: x < 50.0, lambda x: 3.0 * x, x, max_steps=10))
    assert_close(compiled(x).data, tripled(x).data, ROUNDING)
    assert_close(compiled(sliced([0.5, 60.0])).data, tripled(sliced([0.5, 60.0])).data, ROUNDING)
    with pytest.raises(ng.TraceError, match="max_steps"):
        ng.compile(tripled)(x)
    lazy = ng.DimArray(da.from_array(np.array([1.0, 20.0])), "b", vectorized="b")
    with pytest.raises(ng.TraceError, match="max_steps"):
        tripled(lazy)


def test_programs_for_a_device_leave_values_open(cupy):
    """They were looked at while a program was recorded: branches and numbers of steps were those of its first call."""
    x, y = (ng.DimArray(cupy.asarray(np.array(v)), "i") for v in ([1.0, 20.0], [-0.5, 0.0]))
    per_slice = lambda f: lambda x: f(x.vectorize("i"))
    tripled = lambda x, **bound: ng.while_loop(lambda x: x.sum() < 50.0, lambda x: 3.0 * x + 1.0, x, **bound)
    counted = lambda x: ng.fori_loop(0, ng.where(x > 0.0, 1, 3), lambda i, x: x + 1.0, x)
    bounded = lambda x: tripled(x, max_steps=10)
    branch = lambda x: ng.cond(x.sum() > 0.0, lambda x: 3.0 * x, lambda x: -x, x)
    for f in (branch, bounded, per_slice(branch), per_slice(bounded)):
        compiled = ng.compile(f)
        for v in (x, y):
            assert_close(compiled(v).to_numpy(), f(v).to_numpy(), ROUNDING)
    for f in (tripled, per_slice(tripled), per_slice(counted)):
        f(x)
        with pytest.raises(ng.TraceError, match="max_steps"):
            ng.compile(f)(x)


def test_counted_loops():
    def f(x):
        return ng.fori_loop(2, 7, lambda i, s: s * x + i, 1.0)

    def by_hand(x):
        s = 1.0
        for i in range(2, 7):
            s = s * x + i
        return s

    assert f(1.5) == by_hand(1.5)
    assert_close(ng.grad(f)(1.5), (by_hand(1.5 + 1e-5) - by_hand(1.5 - 1e-5)) / 2e-5, 1e-8)
    n = ng.DimArray([2, 5, 0], "b", vectorized="b")
    x = sliced([3.0, 2.0, 7.0])
    power = ng.grad(lambda x: ng.fori_loop(0, n, lambda i, s: s * x, 1.0 + 0.0 * x))(x)
    assert_close(power.data, [6.0, 80.0, 0.0], ROUNDING)
    assert ng.fori_loop(3, 3, lambda i, s: s + 1, 0) == 0


# ------------------------------------------------------------------------------------------------ vectorized axes

A = ng.DimArray(np.arange(30.0).reshape(2, 3, 5), ("x", "y", "t"), vectorized=("x", "y"))


@pytest.mark.parametrize(
    ("vectors", "dims", "shape"),
    [
        ({"z": 6}, None, (6, 5)), ({"y": 3, "x": 2}, None, (3, 2, 5)), ({"z": None}, None, (6, 5)), ({"x": 2}, {"u": 5, "v": 3}, (2, 5, 3)),
        ({}, {"t": -1}, (30,)), ({"a": 2, "b": 3, "c": 5}, {}, (2, 3, 5)), ({"t": 30}, {}, (30,)), ({"one": 1, "z": 6}, None, (1, 6, 5)),
    ],
)  # fmt: skip
def test_vectors_are_merged_and_split(vectors, dims, shape):
    out = ng.revectorize(A, vectors, dims=dims)
    assert out.vectorized == tuple(vectors)
    assert out.dims == (A.dims if dims is None else tuple(dims))
    assert np.array_equal(out.data, A.data.reshape(shape))
    w = ng.DimArray(rng.normal(size=shape), (*out.vectorized, *out.dims), vectorized=out.vectorized)
    g = ng.grad(lambda a: (ng.revectorize(a, vectors, dims=dims) * w).sum().devectorize().sum() if vectors else (ng.revectorize(a, vectors, dims=dims) * w).sum())(A)
    assert_close(ng.devectorize(g).transpose("x", "y", "t").data, w.data.reshape(2, 3, 5), ROUNDING)


def test_nested_structures_of_vectors():
    p = ng.positional(np.ones((2, 4)), vectorized=["x"])
    out = ng.revectorize({"p": p, "q": [ng.ones({"x": 2}, vectorized="x")]}, {"z": 2})
    assert out["p"].vectorized == out["q"][0].vectorized == ("z",)
    assert out["p"].shape == (4,)


def test_refusals_of_revectorize():
    with pytest.raises(ng.AxisError, match=r"cannot be split.*left open with None"):
        ng.revectorize(A, {"z": 4})
    with pytest.raises(ng.AxisError, match="rename one"):
        ng.revectorize(A, {"t": 6})


def test_the_same_vectors():
    a, b = ng.ones({"x": 2, "t": 4}, vectorized="x"), ng.DimArray(np.arange(6.0).reshape(3, 2), ("y", "x"), vectorized=("y", "x"))
    one, two = ng.reshape_vectors(a, b)
    assert one.vectorized_sizes == {"x": 2, "y": 1}
    assert two.vectorized_sizes == {"x": 2, "y": 3}
    assert one.dims == ("t",)
    wide, tree = ng.broadcast_vectors(a, {"b": b})
    assert wide.vectorized_sizes == tree["b"].vectorized_sizes == {"x": 2, "y": 3}
    assert np.array_equal(tree["b"].data, b.data.T)
    assert wide.shape == (4,)
    assert ng.broadcast_vectors(one, b)[0].vectorized_sizes == {"x": 2, "y": 3}
    g = ng.grad(lambda a: (ng.broadcast_vectors(a, b)[0] * b).sum().devectorize("y").sum())(a)
    assert_close(g.data, np.broadcast_to(b.data.sum(0)[:, None], (2, 4)), ROUNDING)


def test_refusals_of_the_same_vectors():
    a = ng.ones({"x": 2}, vectorized="x")
    with pytest.raises(ng.AxisError, match="sizes 2 and 3"):
        ng.broadcast_vectors(a, ng.ones({"x": 3}, vectorized="x"))
    with pytest.raises(ng.AxisError, match=r"\.vectorize\('x'\)"):
        ng.reshape_vectors(a, ng.ones({"x": 2}))
