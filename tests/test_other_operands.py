"""Operands beside the first one: their sizes are compared, they may have dims of their own, be numbers, be elsewhere."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.linalg
from scipy import special

import namedgrad as ng
from tests.support import fake_cupy

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
    with pytest.raises(ng.AxisError, match="its axes have no names"):
        ng.nan_to_num(D(x, "a"), nan=np.ones(3))


@pytest.mark.parametrize("fills", [{"nan": np.array([1.0, 2])}, {"posinf": np.array([[1.0], [2]])}, {"nan": [1, 2], "neginf": np.array([7.0])}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_that_stand_for_nan_and_infinity(fills, dtype):
    x = np.array([[np.nan, 1.0], [-np.inf, np.inf]], dtype)
    found, want = np.nan_to_num(ng.positional(x), **fills).data, np.nan_to_num(x, **fills)
    np.testing.assert_array_equal(found, want)
    assert found.dtype == dtype
    np.testing.assert_array_equal(ng.grad(lambda v: np.sum(np.nan_to_num(v, **fills)))(x), [[0, 1], [0, 0]])


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


FIRST = {"maximum": np.maximum, "logaddexp": np.logaddexp, "arctan2": np.arctan2, "power": np.power, "hypot": np.hypot, "clip": lambda v, x: np.clip(v, x, x + 1), "gammainc": lambda v, x: special.gammainc(v, x)}


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("hide", [False, True])
def test_a_number_that_is_differentiated_comes_first_beside_an_array_with_names(name, hide):
    f, v, x, step = FIRST[name], 1.3, np.array([[0.2, 1.1, 2.5], [0.4, 1.8, 0.7]]), 1e-6
    named = D(x, ("a", "b")).vectorize("a") if hide else D(x, ("a", "b"))
    found = ng.grad(lambda v: f(v, named).sum())(v)
    slopes = (f(v + step, x) - f(v - step, x)) / (2 * step)
    np.testing.assert_allclose(found.devectorize().data if hide else found, slopes.sum(axis=1 if hide else None), rtol=1e-7)


def written(x, v, how):
    """``x`` with ``v`` in its last cell but one, combined with what is there."""
    out = x.copy()
    out[..., 1] = {"put": v, "add": out[..., 1] + v, "mean": (out[..., 1] + v) / 2, "prod": out[..., 1] * v, "amax": np.maximum(out[..., 1], v)}[how]
    return out


ENDS = ((0, 0), (1, 1))
# A number beside an array, and what NumPy makes of it; linear in the number next to 0.75.
NUMBERS = {
    "pad": (lambda x, v: ng.pad(x, {"b": 1}, constant_values=v), lambda x, v: np.pad(x, ENDS, constant_values=v)),
    "ramp": (lambda x, v: ng.pad(x, {"b": 1}, "linear_ramp", end_values=v), lambda x, v: np.pad(x, ENDS, "linear_ramp", end_values=v)),
    "shift": (lambda x, v: ng.shift(x, {"b": 1}, v), lambda x, v: np.concatenate([0 * x[:, :1] + v, x[:, :-1]], 1)),
    "diff": (lambda x, v: ng.diff(x, "b", prepend=v), lambda x, v: np.diff(x, axis=1, prepend=v)),
    "cumulative": (lambda x, v: ng.cumulative_trapezoid(x, dim="b", initial=v), lambda x, v: np.stack([0 * x[:, 0] + v, (x[:, 0] + x[:, 1]) / 2, x[:, 0] / 2 + x[:, 1] + x[:, 2] / 2], 1)),
    "concat": (lambda x, v: ng.concat([v, x], "b"), lambda x, v: np.pad(x, ((0, 0), (1, 0)), constant_values=v)),
    "block_diag": (lambda x, v: ng.block_diag(x, v, dims=("a", "b")), lambda x, v: scipy.linalg.block_diag(x, v)),
    "broadcast": (lambda x, v: x + ng.broadcast(x, v)[1].astype(x.dtype), lambda x, v: x + v),
    "set": (lambda x, v: x.at[{"b": 1}].set(v), lambda x, v: written(x, v, "put")),
    "multiply": (lambda x, v: x.at[{"b": [1]}].multiply(v), lambda x, v: written(x, v, "prod")),
    "index_copy": (lambda x, v: ng.index_copy(x, [1], v, "b"), lambda x, v: written(x, v, "put")),
    "index_fill": (lambda x, v: ng.index_fill(x, [1], v, "b"), lambda x, v: written(x, v, "put")),
    "index_add": (lambda x, v: ng.index_add(x, [1], v, "b"), lambda x, v: written(x, v, "add")),
    **{f"index_reduce {how}": (lambda x, v, how=how: ng.index_reduce(x, [1], v, "b", how), lambda x, v, how=how: written(x, v, how)) for how in ("mean", "prod", "amax")},
    "put": (lambda x, v: ng.put(x, [1], v, "b"), lambda x, v: written(x, v, "put")),
    "put_along_axis": (lambda x, v: ng.put_along_axis(x, 0 * x.astype(int).isel(b=[0]) + 1, v, "b"), lambda x, v: written(x, v, "put")),
    "scatter": (lambda x, v: ng.scatter(x, 0 * x.astype(int).isel(b=[0]) + 1, v, "b"), lambda x, v: written(x, v, "put")),
    "scatter_add": (lambda x, v: ng.scatter_add(x, 0 * x.astype(int).isel(b=[0]) + 1, v, "b"), lambda x, v: written(x, v, "add")),
    "nan_to_num": (lambda x, v: ng.nan_to_num(x / (x - 1), posinf=v), lambda x, v: np.where(x == 1, v, x / np.where(x == 1, 2, x - 1))),
    "batch_norm": (lambda x, v: ng.batch_norm(x, None, None, v, 4.0, dim="a", training=False, eps=0.0), lambda x, v: (x - v) / 2),
    "divmod": (lambda x, v: divmod(v, x)[1], lambda x, v: v % x),
    "histogram": (lambda x, v: ng.histogram(x, [0.0, 4.5, 9.0], "b", weights=v)[0], lambda x, v: v * np.array([[3.0, 0], [1, 2]])),
    "mse_loss": (lambda x, v: ng.mse_loss(x, 2.0, v), lambda x, v: np.mean((x - 2) ** 2)),
}  # fmt: skip


@pytest.mark.parametrize("where", ["numpy", "cupy"])
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_beside_arrays(name, where, monkeypatch):
    call, want = NUMBERS[name]
    array = np.asarray
    if where == "cupy":
        fake_cupy.installed(monkeypatch)
        array = fake_cupy.asarray
    x, single = (D(array(X.data.astype(t)), X.dims) for t in ("f8", "f4"))
    compiled = ng.compile(call)
    for v in (0.75, 0.5):
        expected = want(X.data, v)
        np.testing.assert_allclose(call(x, v).to_numpy(), expected, rtol=1e-14)
        np.testing.assert_allclose(compiled(x, v).to_numpy(), expected, rtol=1e-14)
        found = call(single, v)
        assert (found.dtype, found.backend) == (np.float32, where)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
    slope = (want(X.data, 0.75) - want(X.data, 0.5)).sum() / 0.25
    for at in (x, single):
        np.testing.assert_allclose(ng.grad(lambda v, at=at: call(at, v).sum())(0.75), slope, rtol=1e-6, atol=1e-6)
    assert float(ng.compile(ng.grad(lambda v: call(x, v).sum()))(0.75)) == pytest.approx(slope, abs=1e-12)


def test_lazy_constants_of_padding_stay_lazy():
    s, x = D(da.from_array(np.array(5.0)), ()), D(da.arange(3.0, chunks=2), ("b",))
    padded = ng.pad(x, {"b": 1}, constant_values=s)
    assert padded.backend == "dask"
    with dask.config.set(scheduler=lambda *a, **k: pytest.fail("computed")):
        ng.pad(x, {"b": 1}, constant_values=s), ng.shift(x, {"b": 1}, s), ng.cumulative_trapezoid(x, dim="b", initial=s)
    np.testing.assert_array_equal(padded.to_numpy(), [5, 0, 1, 2, 5])


def test_truth_values_as_weights_are_counted():
    at, yes = D([0, 1, 1, 2], "b"), np.array([True, True, True, False])
    np.testing.assert_array_equal(ng.bincount(at, D(yes, "b"), size=3).data, np.bincount(at.data, yes))
    np.testing.assert_array_equal(ng.bincount(at, weights=True, size=3).data, [1, 2, 1])
    np.testing.assert_array_equal(ng.histogram(at, [0.0, 1, 3], weights=D(yes, "b"))[0].data, [1, 2])


def test_quantiles_and_numbers_for_infinities_as_inputs():
    x = np.array([3.0, 1.0, 2.0, 7.0])
    slope = np.diff(np.quantile(x, [0.4, 0.5])).item() / 0.1
    assert abs(ng.grad(lambda q: D(x, "b").quantile(q))(0.45) - slope) < 1e-12
    assert abs(ng.grad(lambda q: D(x, "b").quantile([0.1, q]).sum())(0.45) - slope) < 1e-12
    f = ng.compile(lambda q: D(x, "b").quantile(q))
    assert [f(q).item() for q in (0.45, 0.9)] == pytest.approx(np.quantile(x, [0.45, 0.9]).tolist())
    far = D([np.inf, -np.inf, np.nan, 1.0], "b")
    tops = D([5.0, 6.0], "w").vectorize("w")
    np.testing.assert_array_equal(ng.nan_to_num(far, posinf=tops, neginf=-1.0).data, [[5, -1, 0, 1], [6, -1, 0, 1]])
    assert ng.grad(lambda v: (ng.nan_to_num(far, 0.0, posinf=2 * v, neginf=v) * D([1.0, 10, 100, 1000], "b")).sum())(3.0) == 12


OPTIONS = {
    "var": lambda v: X.var("a", ddof=v),
    "std": lambda v: X.std("a", ddof=v),
    "cov": lambda v: ng.cov(X, X**2, "a", ddof=v),
    "segment_var": lambda v: ng.segment_var(X, zeros(a=2), "a", 1, ddof=v),
    "pinv": lambda v: ng.pinv(MATRICES, ("i", "j"), rtol=v),
    "lstsq": lambda v: ng.lstsq(MATRICES, ones(i=3), ("i", "j"), rtol=v),
    "normalize": lambda v: ng.normalize(X, "b", p=v),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_are_no_operands(name):
    call = OPTIONS[name]
    for value in (1, np.float32(1), np.array(1.0)):
        np.testing.assert_array_equal(call(value).data, call(1.0).data)
    for value in (D(1.0, ()), D([1.0, 2.0], "c"), np.array([1.0, 1.0])):
        with pytest.raises(TypeError, match="must be a plain number"):
            call(value)
    with pytest.raises(TypeError, match="must be a plain number"):
        ng.grad(lambda v: call(v).sum())(1.0)


def test_ranks_by_a_tolerance_of_each_matrix():
    a = RNG.normal(size=(3, 2, 4, 3))
    for given in ([0.1, 2.0], [[0.1], [1.0], [2.0]], 0.9):
        for option, t in (("tol", np.array(given)), ("rtol", np.array(given) / 3)):
            found = np.linalg.matrix_rank(ng.positional(a), **{option: t})
            np.testing.assert_array_equal(np.asarray(found), np.linalg.matrix_rank(a, **{option: t}))
    part = D([0.1, 0.6, 0.9], "n")
    found = ng.matrix_rank(D(a, ("n", "m", "i", "j")), ("i", "j"), rtol=part)
    np.testing.assert_array_equal(found.data, np.linalg.matrix_rank(a, rtol=part.data[:, None]))


def test_groups_by_a_broken_number_of_degrees_of_freedom():
    found = ng.segment_var(D([1.0, 2.0, 4.0, 7.0, 9.0], "b"), D([0, 0, 1, 1, 1], "b"), "b", 2, ddof=1.5)
    np.testing.assert_allclose(found.data, [np.var([1, 2], ddof=1.5), np.var([4, 7, 9], ddof=1.5)], rtol=1e-14)


def test_margins_are_operands():
    x, y, side = (D(a, "b") for a in ([0.5, 2.0, -1.0], [1.0, 0.0, 0.5], [1.0, -1.0, -1.0]))
    losses = {
        "hinge": lambda m: ng.hinge_embedding_loss(x, side, margin=m, reduction="sum"),
        "ranking": lambda m: ng.margin_ranking_loss(x, y, side, margin=m, reduction="sum"),
        "cosine": lambda m: ng.cosine_embedding_loss(x, y, -1.0, dim="b", margin=m),
        "triplet": lambda m: ng.triplet_margin_loss(x, y, y + 0.5, dim="b", margin=m),
        "several classes": lambda m: ng.multi_margin_loss(SCORES, CLASSES, dim="b", p=2, margin=m),
    }
    for name, loss in losses.items():
        slope = (loss(0.251).item() - loss(0.249).item()) / 0.002
        assert ng.grad(loss)(0.25) == pytest.approx(slope, abs=1e-9), name
        compiled = ng.compile(loss)
        expected = [loss(0.1).item(), loss(0.2).item()]  # sums of products differ in the last bit on some processors
        assert [compiled(m).item() for m in (0.1, 0.2)] == pytest.approx(expected, rel=1e-14), name
    with pytest.raises(TypeError, match="for a plain number"):
        ng.renorm(x, "b", maxnorm=D(1.0, ()))
