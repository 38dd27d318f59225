"""Operands beside the first one: their sizes are compared, they may have dims of their own, they may be elsewhere."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import namedgrad as ng

D = ng.DimArray
RNG = np.random.default_rng(5)
X = D(np.arange(6.0).reshape(2, 3) + 1, ("a", "b"))
LINE = D(np.arange(3.0), ("b",))
SCORES, CLASSES = D(RNG.normal(size=(3, 5)), ("a", "b")), D([0, 1, 2], ("a",))
STEPS, ONE = D(RNG.normal(size=(3, 4, 2)), ("t", "n", "f")), {"dim": "t", "feature": "f", "bias": False}
IN, BACK = D(RNG.normal(size=(2, 2)), ("gate", "f")), D(RNG.normal(size=(2, 2)), ("gate", "hidden"))
MATRICES = D(RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3), ("a", "i", "j"))


def ones(**sizes):
    return D(np.ones(tuple(sizes.values())), tuple(sizes))


def zeros(**sizes):
    return D(np.zeros(tuple(sizes.values()), int), tuple(sizes))


DIFFERENT = {
    "solve_triangular": lambda: ng.solve_triangular(MATRICES, ones(i=4), ("i", "j")),
    "segment_sum": lambda: ng.segment_sum(X, zeros(a=1, b=3), "b", 1),
    "segment_mean": lambda: ng.segment_mean(X, zeros(a=3, b=3), "b", 1),
    "bincount": lambda: ng.bincount(zeros(a=1, b=3), ones(a=2, b=3), "b", size=2),
    "index_reduce": lambda: ng.index_reduce(X, zeros(c=1), ones(a=2, c=2), "b", "prod"),
    "coo_to_dense": lambda: ng.coo_to_dense(ones(n=3), {"p": zeros(n=1), "q": zeros(n=3)}, {"p": 2, "q": 2}),
    "cross_entropy": lambda: ng.cross_entropy(SCORES, CLASSES, ones(b=4), dim="b"),
    "nll_loss": lambda: ng.nll_loss(SCORES, CLASSES, ones(b=6), dim="b"),
    "multi_margin_loss": lambda: ng.multi_margin_loss(SCORES, CLASSES, ones(b=4), dim="b"),
    "rnn, more layers": lambda: ng.rnn(STEPS, ones(layer=2, n=4, hidden=2), IN, BACK, **ONE),
    "rnn, fewer layers": lambda: ng.rnn(STEPS, ones(layer=0, n=4, hidden=2), IN, BACK, **ONE),
    "lstm_cell": lambda: ng.lstm_cell(
        ones(f=2), ones(hidden=3), ones(cell=2), ones(gate=8, f=2), ones(gate=8, hidden=3),
        weight_hr=ones(hidden=5, cell=2), feature="f",
    ),
    "polyval": lambda: ng.polyval(ones(a=4), ones(one=1, a=3), "one"),
    "multi_head_attention": lambda: ng.multi_head_attention(
        ones(q=2, f=2), ones(k=3, f=2), ones(k=3, f=2), ones(inner=4, f=2), ones(inner=6, f=2), ones(inner=4, f=2),
        ones(f=2, inner=4), num_heads=2, dims=("q", "k", "f"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", DIFFERENT.values(), ids=DIFFERENT)
def test_sizes_that_differ(call):
    with pytest.raises(ng.AxisError, match=r"sizes of|layers along|cells along"):
        call()


def test_indices_with_dims_of_their_own():
    y, at = D([10.0, 20.0], ("b",)), D([[0, 2], [3, 1]], ("q", "b"))
    want = [[10, 0, 20, 0], [0, 20, 0, 10]]
    np.testing.assert_array_equal(ng.max_unpool(y, at, {"b": 4}).transpose("q", "b").data, want)
    np.testing.assert_array_equal(ng.max_unpool(y, at.vectorize("q"), {"b": 4}).data, want)


def test_a_parameter_with_dims_of_its_own():
    x, delta = D([0.5, -3.0], ("b",)), D([1.0, 2.0], ("a",))
    for d in (delta, delta.vectorize("a")):
        np.testing.assert_allclose(ng.huber_loss(x, 0.0, delta=d, dim="b").data, [1.3125, 2.0625])
        np.testing.assert_allclose(ng.grad(lambda d: ng.huber_loss(x, 0.0, delta=d, dim="b").sum())(d).data, [1, 0.5])


def test_written_numbers_promote():
    x = D([1, 2, 3], ("b",))
    for out in (x.at[{"b": 0}].set(1.5), x.at[{"b": [0]}].set(D(1.5, ())), ng.index_put(x, {"b": [0]}, 1.5)):
        np.testing.assert_array_equal(out.data, [1.5, 2, 3])
    assert x.at[{"b": 0}].set(7).dtype == x.dtype
    assert D(np.ones(2, "f4"), ("b",)).at[{"b": 0}].set(7.0).dtype == np.float32


def test_constants_of_padding_are_arrays():
    s = D(5.0, ())
    np.testing.assert_array_equal(ng.pad(LINE, {"b": 1}, constant_values=s).data, [5, 0, 1, 2, 5])
    np.testing.assert_array_equal(ng.shift(LINE, {"b": 1}, s).data, [5, 0, 1])
    np.testing.assert_array_equal(ng.cumulative_trapezoid(LINE, dim="b", initial=s).data, [5, 0.5, 2])
    assert ng.grad(lambda s: ng.pad(LINE, {"b": 1}, constant_values=(s, 1.0)).sum())(s).item() == 1
    assert ng.grad(lambda s: ng.cumulative_trapezoid(LINE, dim="b", initial=s).sum())(s).item() == 1
    two = D([1.0, 2.0], ("p",)).vectorize("p")
    np.testing.assert_array_equal(ng.pad(LINE, {"b": (1, 0)}, constant_values=(two, 0.0)).data[:, 0], [1, 2])


def test_what_stands_for_nan():
    x, fill = np.array([1.0, np.nan, np.nan]), D(3.0, ())
    np.testing.assert_array_equal(ng.nan_to_num(D(x, "a"), nan=fill).data, [1, 3, 3])
    assert ng.grad(lambda v: ng.nan_to_num(D(x, "a"), nan=v).sum())(fill).item() == 2
    assert ng.grad(lambda v: np.sum(np.nan_to_num(ng.positional(x), nan=v)))(3.0) == 2


def test_no_quantiles():
    assert ng.quantile(LINE, [], "b").sizes == {"quantile": 0}


def test_operands_on_dask_beside_numpy():
    segments = D(da.from_array(np.array([0, 1, 0]), chunks=2), ("b",))
    for f, want in ((ng.segment_sum, [2, 1]), (ng.segment_max, [2, 1]), (ng.segment_min, [0, 1])):
        np.testing.assert_array_equal(f(LINE, segments, "b", 2).to_numpy(), want)
    lazy = D(da.arange(3.0, chunks=2), ("b",))
    np.testing.assert_array_equal(ng.pullback(lambda y: y * 2.0, lazy)[1](ones(b=3)).to_numpy(), [2, 2, 2])


def test_edges_of_histograms_that_differ_per_slice():
    edges, x = np.array([[0, 1, 2.0], [0, 0.5, 1]]), np.array([0.2, 0.7, 1.5, 0.9])
    counts, where = ng.histogram(D(x, ("b",)), D(edges, ("a", "edge")).vectorize("a"), "b")
    np.testing.assert_array_equal(counts.data, [np.histogram(x, e)[0] for e in edges])
    np.testing.assert_array_equal(where.data, edges)


def test_a_number_as_weight_keeps_the_dtype():
    assert ng.average(D(np.ones(3, "f4"), ("b",)), 2.0).dtype == np.float32
    assert ng.average(LINE, 2.0).item() == 1


@pytest.mark.parametrize("f", [np.stack, np.concatenate, np.block])
def test_named_arrays_in_lists_of_positional_ones(f):
    with pytest.raises(TypeError, match=r"DimArray with dims \('x',\), which does not combine with a positional array"):
        f([ng.positional(np.ones(1)), ng.DimArray([2.5], "x")])
