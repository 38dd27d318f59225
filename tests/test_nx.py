"""Programs with vectorized axes, as users of systems that have had such axes for years write them.

Every program is written for one slice.  With vectorized axes it gives what it gives of the slices one by one: values, and
gradients by random weights, which for one slice are compared with finite differences.  The batch is as large as a core
dim in some runs and not in others, in front of the core dims or behind them.
"""

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import hidden, permuted
from tests.support.slices import agrees, drawn, generator
from tests.support.tolerances import FIRST, MATRIX, ROUNDING, assert_close

# ------------------------------------------------------------------------------------------------ programs of one array

W, M = ng.DimArray([0.5, -1.0, 2.0, 0.3], "x"), ng.DimArray(np.arange(12.0).reshape(4, 3) / 7 - 0.6, ("x", "z"))
T = ng.DimArray(np.arange(12.0).reshape(3, 4) / 7 - 0.6, ("z", "x"))


def layers(x):
    return ng.sigmoid(ng.dot(x, M, dim="x") + ng.DimArray([0.1, -0.1, 0.2], "z")).sum()


def squared_three_times(x):
    return ng.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * s[1]), (0, x))[1].sum()


def negated_if_large(x):
    s = x.sum()
    return ng.cond(s > 4.0, lambda s: s * s, lambda s: -s, s)


ALONG_X = {
    "itself": lambda x: x,
    "constant": lambda x: x.sum() * 0.0 + 3.0,
    "exp": lambda x: ng.exp(x).sum(),
    "abs": lambda x: abs(x - 1.0).sum(),
    "log1p of expm1": lambda x: ng.log1p(ng.expm1(x)).sum(),
    "power": lambda x: (x**3).sum(),
    "power in the exponent": lambda x: (2.0**x).sum(),
    "clip": lambda x: x.clip(0.55, 1.25).sum(),
    "remainder": lambda x: (x % 0.37).sum(),
    "conjugate": lambda x: ng.conjugate(x).sum(),
    "other dtype and back": lambda x: x.astype(np.complex128).real.sum(),
    "atan2": lambda x: ng.arctan2(x, 1.0).sum(),
    "erf and its inverse": lambda x: (ng.erfinv(ng.erf(x)) * ng.erfc(x)).sum(),
    "reciprocal root": lambda x: (1 / ng.sqrt(x)).sum(),
    "hyperbolic": lambda x: (ng.arcsinh(x) + ng.arccosh(x + 1) + ng.arctanh(x / 3) + ng.tanh(x)).sum(),
    "product with itself": lambda x: (x * x).sum(),
    "quotient": lambda x: ((x * x + x) / (x + 1)).sum(),
    "mixed with what is not vectorized": lambda x: (x * W).sum(),
    "scalar from the left": lambda x: 10.0 - 2.0 / x,
    "mean": lambda x: x.mean(),
    "product": lambda x: x.prod(),
    "largest": lambda x: x.max(),
    "smallest, then sum": lambda x: x.min().sum(),
    "variance": lambda x: x.var(),
    "deviation of one degree": lambda x: x.std(ddof=1),
    "median": lambda x: x.median(),
    "norm": lambda x: ng.norm(x),
    "logsumexp": lambda x: ng.logsumexp(x),
    "softmax": lambda x: ng.softmax(x, "x") * W,
    "cumulative sum": lambda x: (x.cumsum("x") * W).sum(),
    "cumulative product": lambda x: (x.cumprod("x") * W).sum(),
    "cumulative maximum": lambda x: (ng.cummax(x, "x")[0] * W).sum(),
    "differences": lambda x: x.diff("x"),
    "argsort as factor": lambda x: (x * x.argsort("x")).sum(),
    "argmax as factor": lambda x: x.argmax("x") * x.sum(),
    "argmax as index": lambda x: x.isel(x=x.argmax("x")),
    "sort": lambda x: x.sort("x") * W,
    "sort downwards": lambda x: -(-x).sort("x") * W,
    "largest two": lambda x: ng.topk(x, 2, "x")[0],
    "new dim": lambda x: x.expand_dims("new").sum("new") * W,
    "squeeze": lambda x: x.expand_dims("new").squeeze("new"),
    "broadcast": lambda x: (x.broadcast_like(M) * M).sum("x"),
    "tile": lambda x: ng.tile(x, {"x": 2}).sum("x"),
    "repeat": lambda x: ng.repeat(x, {"x": 3}),
    "flip": lambda x: ng.flip(x, "x") * W,
    "roll": lambda x: ng.roll(x, {"x": 1}) * W,
    "two dims of one, transposed and made one": lambda x: ng.unstack(x, {"x": {"p": 2, "q": 2}}).stack(x=("q", "p")) * W,
    "slice": lambda x: x.isel(x=slice(1, 3)),
    "slice with a step": lambda x: x.isel(x=slice(None, None, -2)),
    "take": lambda x: x.isel(x=[0, 2, 2]),
    "take with a name of its own": lambda x: x.isel(x=ng.DimArray([3, 0, 0], "p")),
    "gather after a power": lambda x: ng.gather(x**2, ng.DimArray([0, 2], "p"), "x"),
    "take along": lambda x: ng.take_along_axis(x, ng.DimArray([2, 0, 1, 1], "x"), "x") * W,
    "put a slice": lambda x: x.at[{"x": slice(0, 2)}].set(ng.DimArray([99.0, 98.0], "x")),
    "put a cell that depends on it": lambda x: x.at[{"x": 1}].set(x.sum()),
    "add at repeated places": lambda x: x.at[{"x": ng.DimArray([0, 0, 3], "p")}].add(ng.DimArray([1.0, 2.0, 3.0], "p") * x.mean()),
    "put at places": lambda x: x.at[{"x": ng.DimArray([1], "p")}].set(99.0),
    "concatenate with itself": lambda x: ng.concat([x, x * 2], "x"),
    "concatenate with a constant": lambda x: ng.concat([x, ng.DimArray([0.0, 5.0, 0.0], "x")], "x"),
    "stack with its double": lambda x: ng.concat([x, x * 2], "new"),
    "stack with a constant": lambda x: ng.concat([W, x, W], "new"),
    "pad": lambda x: ng.pad(x, {"x": (1, 2)}),
    "pad by reflection": lambda x: ng.pad(x, {"x": (3, 1)}, mode="reflect"),
    "crop": lambda x: ng.pad(x, {"x": (-1, 2)}),
    "sums of windows": lambda x: x.rolling(x=2).sum(),
    "maxima of windows": lambda x: ng.max_pool(x, {"x": 2}, stride=1),
    "means of windows": lambda x: ng.avg_pool(x, {"x": 2}, stride=2),
    "convolution": lambda x: ng.conv(x, ng.DimArray([1.0, 0.0, -1.0], "k"), {"x": "k"}),
    "convolution with a kernel made of it": lambda x: ng.conv(x, x.isel(x=slice(0, 2)).rename(x="k"), {"x": "k"}),
    "dot with a vector": lambda x: ng.dot(x, W, dim="x"),
    "dot with a matrix": lambda x: ng.dot(x, M, dim="x"),
    "dot with a matrix stored the other way": lambda x: ng.dot(x, T, dim="x"),
    "dot with itself": lambda x: ng.dot(x, x, dim="x"),
    "outer with itself": lambda x: ng.outer(x, x.rename(x="y")),
    "select": lambda x: ng.where(x > 1.0, x, -x),
    "select a constant": lambda x: ng.where(x > 1.0, x, 0.0).sum(),
    "masked logarithm": lambda x: ng.where(x > 1.0, ng.log(ng.where(x > 1.0, x - 1.0, 1.0)), 0.0),
    "layers": layers,
    "transform": lambda x: ng.fft(x, "x").real * W,
    "transform and back": lambda x: (ng.ifft(ng.fft(x, "x") ** 2, "x")).real,
    "transform of half the spectrum": lambda x: ng.rfft(x, "x").imag,
    "loop": squared_three_times,
    "condition": negated_if_large,
    "scan": lambda x: ng.scan(lambda c, v: (c * 0.5 + v, c * v), 1.0, x, "x")[1],
    "counted loop": lambda x: ng.fori_loop(0, 3, lambda i, s: s * x + i, x),
    "checkpoint": lambda x: ng.checkpoint(lambda x: ng.sin(x * x))(x),
    "gradient inside": lambda x: ng.grad(lambda x: (x**3 * W).sum())(x),
    "gradient of an inner scalar": lambda x: ng.grad(lambda s: (s * x).sum() ** 2)(ng.DimArray(2.0, ())),
    "Hessian inside": lambda x: ng.hessian(lambda x: (x.sum() * x * x * W).sum())(x),
    "quantile": lambda x: x.quantile(0.3),
    "interpolation": lambda x: ng.interp(x, {"x": ng.DimArray([0.3, 1.7, 2.2], "p")}),
    "trapezoid": lambda x: ng.trapezoid(x, dim="x"),
    "meets its own slices": lambda x: x * x.isel(x=0) + x.isel(x=slice(1, 2)).sum(),
}


@pytest.mark.parametrize("size", [4, 3], ids=["as large as the dim", "another size"])
@pytest.mark.parametrize("name", ALONG_X)
def test_programs_along_one_dim(name, size):
    f, rng = ALONG_X[name], generator(name, size)
    x = drawn(rng, {"x": 4, "b": size}) if size == 4 else drawn(rng, {"b": size, "x": 4})
    agrees(f, x.vectorize("b"), key=name)


@pytest.mark.parametrize("name", ["product", "layers", "sort", "take along", "put a cell that depends on it", "convolution", "condition", "loop", "scan", "gradient inside", "Hessian inside", "argmax as index"])
def test_programs_under_two_names(name):
    x = drawn(generator(name), {"c": 4, "x": 4, "b": 4}).vectorize("b").vectorize("c")
    agrees(ALONG_X[name], x, key=name)


# ------------------------------------------------------------------------------------------------ arrays without names

V = np.array([0.5, -1.0, 2.0, 0.3])
N = np.arange(12.0).reshape(4, 3) / 7 - 0.6


def softly(x):
    e = np.exp(x - x.max())
    return e / e.sum()


POSITIONAL = {
    "exp": lambda x: np.exp(x),
    "mixed with an array": lambda x: x * V,
    "array from the left": lambda x: V - x,
    "mean": lambda x: np.mean(x),
    "product": lambda x: np.prod(x),
    "amax": lambda x: np.max(x),
    "cumsum": lambda x: np.cumsum(x),
    "new axis": lambda x: x[None, :] * V[:, None],
    "reshape": lambda x: x.reshape(2, 2).T.reshape(4) * V,
    "reshape to what is left": lambda x: np.reshape(x, (-1, 2)).sum(0),
    "broadcast": lambda x: np.broadcast_to(x, (3, 4)) * N.T,
    "tile": lambda x: np.tile(x, 2),
    "flip": lambda x: x[::-1] * V,
    "slice": lambda x: x[1:3],
    "take": lambda x: np.take(x, [0, 2]),
    "fancy": lambda x: x[np.array([3, 3, 0])],
    "take along": lambda x: np.take_along_axis(x, np.array([2, 0, 1, 1]), 0) * V,
    "sort": lambda x: np.sort(x) * V,
    "argsort": lambda x: x[np.argsort(-x)] * V,
    "argmax": lambda x: np.take(x, np.argmax(x)),
    "concatenate": lambda x: np.concatenate([x, 2 * x, V]),
    "stack": lambda x: np.stack([x, V, x * x]),
    "pad": lambda x: np.pad(x, 1),
    "where": lambda x: np.where(x > 1, x, -x),
    "dot": lambda x: np.dot(x, V),
    "dot with a matrix": lambda x: x @ N,
    "matrix from the left": lambda x: N.T @ x,
    "einsum": lambda x: np.einsum("i,ij,i->j", x, N, x),
    "outer": lambda x: np.outer(x, x),
    "softmax": softly,
    "fft": lambda x: np.fft.fft(x).real * V,
    "convolve": lambda x: np.convolve(x, [1.0, 0.0, -1.0]),
    "written into": lambda x: written(x),
    "diff": lambda x: np.diff(x),
    "norm": lambda x: np.linalg.norm(x),
    "solve": lambda x: np.linalg.solve(np.diag(V) + np.outer(x, x), x),
    "inverse": lambda x: np.linalg.inv(np.diag(V) + np.outer(x, x)),
    "determinant": lambda x: np.linalg.det(np.diag(V) + np.outer(x, x)),
    "cholesky": lambda x: np.linalg.cholesky(np.eye(4) + np.outer(x, x)),
    "vander": lambda x: np.vander(x, 3),
    "cross": lambda x: np.cross(x[:3], V[1:]),
    "trace": lambda x: np.trace(np.outer(x, V), 1),
    "var": lambda x: np.var(x, ddof=1),
    "percentile": lambda x: np.percentile(x, 30),
}


def written(x):
    out = np.zeros(6, like=x)
    out[1:5] = x * x
    out[2] += x[0]
    return out


@pytest.mark.parametrize("size", [4, 3])
@pytest.mark.parametrize("name", POSITIONAL)
def test_programs_on_arrays_without_names(name, size):
    f, rng = POSITIONAL[name], generator(name, size)
    data = rng.uniform(0.2, 1.8, (size, 4))
    rows = [np.asarray(f(row)) for row in data]
    w = rng.normal(size=rows[0].shape)
    x = ng.positional(data, vectorized=("b",))
    out = f(x)
    assert out.vectorized == ("b",)
    assert_close(out.data, np.array(rows), ROUNDING)

    def loss(x):
        return np.sum(f(x) * w)

    g = ng.grad(loss)(x)
    assert_close(g.data, np.array([ng.grad(loss)(row) for row in data]), ROUNDING)
    h = 1e-3
    for k in range(4):
        e = np.eye(4)[k]
        d = [(loss(data[0] + s * e) - loss(data[0] - s * e)) / (2 * s) for s in (h, h / 2)]
        assert_close(g.data[0, k], (4 * d[1] - d[0]) / 3, FIRST)
    hessian = ng.hessian(loss)(x)
    assert_close(hessian.data, np.array([ng.hessian(loss)(row) for row in data]), MATRIX)


# ------------------------------------------------------------------------------------------------ two and more inputs


PAIRS = {
    "sum": lambda x, y: x + y,
    "product": lambda x, y: x * y,
    "power": lambda x, y: x**y,
    "comparison as factor": lambda x, y: (x > y) * x - (x <= y) * y,
    "where": lambda x, y: ng.where(x > y, x * y, y / x),
    "maximum": lambda x, y: ng.maximum(x, y),
    "arctan2": lambda x, y: ng.arctan2(x, y),
    "dot": lambda x, y: ng.dot(x, y, dim="x"),
    "outer": lambda x, y: ng.outer(x, y.rename(x="y")),
    "concatenation": lambda x, y: ng.concat([x, y * 2], "x"),
    "stacking": lambda x, y: ng.concat([x, y, x], "new"),
    "convolution": lambda x, y: ng.conv(x, y.isel(x=slice(0, 2)).rename(x="k"), {"x": "k"}),
    "written into": lambda x, y: x.at[{"x": slice(1, 3)}].set(y.isel(x=slice(0, 2))),
    "added at places": lambda x, y: x.at[{"x": ng.DimArray([0, 0], "p")}].add(y.isel(x=slice(0, 2)).rename(x="p")),
    "interpolated at": lambda x, y: ng.interp(x, {"x": y.rename(x="p")}),
    "distance": lambda x, y: ng.norm(x - y),
    "linear equations": lambda x, y: ng.solve(ng.outer(x, x.rename(x="j")) + ng.eye("x", "j", 4), y, ("x", "j")),
    "condition": lambda x, y: ng.cond(x.sum() > y.sum(), lambda: x * 2, lambda: y * x),
    "scan with a vectorized start": lambda x, y: ng.scan(lambda c, v: (c * v, c + v), y.sum(), x, "x")[1],
    "two roles": lambda x, y: ng.dot(x, y, dim="x") + (x * y).sum() * x.isel(x=0),
}


@pytest.mark.parametrize("layout", ["different", "the same", "first", "second", "nested", "three"])
@pytest.mark.parametrize("name", PAIRS)
def test_programs_of_two_arrays(name, layout):
    left, right = {
        "different": ("b", "c"), "the same": ("b", "b"), "first": ("b", ""), "second": ("", "b"), "nested": ("bc", "c"), "three": ("bc", "cd"),
    }[layout]  # fmt: skip
    rng = generator(name, layout)
    sizes = {"b": 4, "c": 4, "d": 2} if len(name) % 2 else {"b": 2, "c": 3, "d": 2}
    x = drawn(rng, {**{n: sizes[n] for n in left}, "x": 4})
    y = drawn(rng, {"x": 4, **{n: sizes[n] for n in reversed(right)}})
    x, y = (permuted(hidden(a, *own), rng) if own else a for a, own in ((x.vectorize(*left) if left else x, left), (y.vectorize(*right) if right else y, right)))
    agrees(PAIRS[name], x, y, key=name)


def test_an_input_that_is_not_used_has_zeros_with_the_names_of_the_output():
    x, y = ng.ones({"b": 2, "x": 3}, vectorized="b"), ng.ones({"x": 3, "c": 4}, vectorized="c")
    gx, gy = ng.grad(lambda x, y: (x * x).sum(), wrt=(0, 1))(x, y)
    assert gx.data.tolist() == [[2.0] * 3] * 2
    assert (gy.dims, gy.vectorized_sizes) == (("x",), {"b": 2, "c": 4})
    assert not gy.data.any()


def test_a_plain_number_and_a_vectorized_array():
    x = ng.positional(np.array([[1.0, 2, 3], [4, 5, 6]]), vectorized=("x",))
    g = ng.grad(lambda y: np.sum(x + y))(1.0)
    assert np.asarray(g.data).tolist() == [3.0, 3.0]
    g = ng.grad(lambda y: np.sum(y + np.sin(x)))(1.0)
    assert np.asarray(g.data).tolist() == [3.0, 3.0]
    assert_close(ng.grad(lambda x: np.sum(1.0 + np.sin(x)))(x).data, np.cos(x.data), ROUNDING)


def test_vectors_and_numbers_of_different_names():
    x, y = ng.DimArray([[1.0, 2, 3], [4, 5, 6]], ("x", "i"), vectorized="x"), ng.DimArray([10.0, 20], "y", vectorized="y")
    gx, gy = ng.grad(lambda a, b: (a * b).sum(), wrt=(0, 1))(x, y)
    assert ng.devectorize(gx).transpose("x", "y", "i").data.tolist() == [[[10.0] * 3, [20.0] * 3]] * 2
    assert ng.devectorize(gy).transpose("x", "y").data.tolist() == [[6.0, 6.0], [15.0, 15.0]]
    gx, gy = ng.grad(lambda a, b: (a * b).sum(), wrt=(0, 1))(x, ng.DimArray([10.0, 20], "x", vectorized="x"))
    assert gx.data.tolist() == [[10.0] * 3, [20.0] * 3]
    assert gy.data.tolist() == [6.0, 15.0]


def test_a_name_that_changes_its_meaning():
    x = ng.DimArray([1.0, 2.0, 3.0], "x", vectorized="x")

    def moved(t):
        wide = t.devectorize("x").rename(x="i")
        return (wide * wide).sum().expand_dims("x").vectorize("x")

    with pytest.raises(ng.AxisError, match="'x'"):  # three slices came in, one goes out
        ng.grad(moved)(x)

    def kept(t):
        return (t.devectorize("x").rename(x="i") * ng.DimArray([1.0, 2.0, 3.0], "i")).sum().expand_dims("y").vectorize("y")

    assert ng.grad(kept)(x).devectorize().transpose("y", "x").data.tolist() == [[1.0, 2.0, 3.0]]


def test_slices_that_are_mixed_and_met_again_are_refused():
    x = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("b", "x"), vectorized="b")
    for mixed in (
        lambda x: (x * x.devectorize("b").sum("b")).sum(),
        lambda x: (x - x.devectorize("b").roll(b=1).vectorize("b")).sum(),
        lambda x: x.devectorize("b").cumsum("b").vectorize("b").sum(),
        lambda x: x.devectorize("b").sort("b").vectorize("b").sum(),
        lambda x: x.devectorize("b").isel(b=[1, 0]).vectorize("b").sum(),
    ):
        for transform in (ng.grad(mixed), ng.hessian(mixed), lambda x, f=mixed: ng.pushforward(f, (x,), (x,)), ng.jacobian(mixed, mode="forward")):
            with pytest.raises(ng.AxisError, match=r"'b'.*another name.*rename"):
                transform(x)


# ------------------------------------------------------------------------------------------------ vectorized axes themselves


def test_sizes_may_be_asserted():
    a = ng.ones({"x": 2, "y": 3, "t": 4})
    for b in (a.vectorize({"x": 2, "y": 3}), a.vectorize("x", y=3), a.vectorize(x=2, y=3), ng.vectorize(a, {"y": 3}, x=2), ng.vectorize([a], x=2, y=3)[0]):
        assert b.vectorized_sizes == {"x": 2, "y": 3}
        assert b.dims == ("t",)
    for call in (lambda: a.vectorize(x=3), lambda: a.vectorize({"x": 3}), lambda: a.vectorize("x").vectorize(x=3), lambda: ng.vectorize({"a": [a]}, x=3)):
        with pytest.raises(ng.AxisError, match=r"'x' has size 2.* not 3"):
            call()


def test_a_second_name_is_the_inner_one():
    v = ng.ones({"rows": 3, "cols": 1, "i": 3}).vectorize("rows").vectorize("cols")
    assert v.vectorized_sizes == {"rows": 3, "cols": 1}
    assert v.shape == (3,)


VECTORS = {
    "merged": ({"xy": 6}, None), "exchanged": ({"y": 3, "x": 2}, None), "split": ({"p": 3, "q": 2}, None), "one more": ({"x": 2, "one": 1, "y": 3}, None),
    "open": ({"p": -1, "q": 2}, None), "open with None": ({"p": None}, None), "with dims": ({"x": 2}, {"u": 4, "v": 3}), "dims alone": ({}, {"u": 24}),
    "all": ({"x": 2, "y": 3, "t": 4}, {}), "dims split": ({"a": 3}, {"b": 2, "c": -1}),
}  # fmt: skip


@pytest.mark.parametrize("order", [("x", "y", "t"), ("t", "y", "x")])
@pytest.mark.parametrize("name", VECTORS)
def test_revectorize_is_a_reshape_of_what_was_vectorized_first(name, order):
    vectors, dims = VECTORS[name]
    data = np.arange(24.0).reshape(2, 3, 4)
    a = ng.DimArray(data.transpose([("x", "y", "t").index(n) for n in order]), order, vectorized=("x", "y"))
    first = a.vectorized
    flat = data if first == ("x", "y") else data.transpose(1, 0, 2)
    shape = [24 if s in {-1, None} and dims else 6 if s in {-1, None} else s for s in {**vectors, **(dims or {"t": 4})}.values()]
    if -1 in {**vectors, **(dims or {})}.values() or None in vectors.values():
        shape[list({**vectors, **(dims or {})}.values()).index(-1 if None not in vectors.values() else None)] = -1
    out = ng.revectorize(a, vectors, dims=dims)
    assert np.array_equal(out.data, flat.reshape(shape))
    w = generator(name).normal(size=out.data.shape)
    c = ng.DimArray(w, (*out.vectorized, *out.dims), vectorized=out.vectorized)
    g = ng.grad(lambda a: (ng.devectorize(ng.revectorize(a, vectors, dims=dims)) * ng.devectorize(c)).sum())(a)
    assert_close(g.devectorize().transpose(*first, "t").data, w.reshape(flat.shape), ROUNDING)
    third = ng.grad(lambda a: (ng.devectorize(ng.revectorize(a, vectors, dims=dims)) ** 3 * ng.devectorize(c)).sum())(a)
    assert_close(third.devectorize().transpose(*first, "t").data, 3 * flat**2 * w.reshape(flat.shape), ROUNDING)


def test_reshape_vectors_and_broadcast_vectors_in_containers():
    x, y, z = ng.ones({"a": 2, "t": 3}, vectorized="a"), ng.ones({"b": 4, "a": 2}, vectorized=("b", "a")), ng.ones({"t": 3})
    one, (two, three) = ng.reshape_vectors(x, (y, {"z": z}))
    assert [v.vectorized_sizes for v in (one, two, three["z"])] == [{"a": 2, "b": 1}, {"a": 2, "b": 4}, {"a": 1, "b": 1}]
    assert [v.dims for v in (one, two, three["z"])] == [("t",), (), ("t",)]
    one, (two, three) = ng.broadcast_vectors(x, (y, {"z": z}))
    assert {tuple(v.vectorized_sizes.items()) for v in (one, two, three["z"])} == {(("a", 2), ("b", 4))}
    g = ng.grad(lambda z: (ng.broadcast_vectors(z, y)[0] * 2).sum().devectorize().sum())(z)
    assert g.data.tolist() == [16.0] * 3
    assert ng.reshape_vectors(z).dims == ("t",)
    assert ng.broadcast_vectors(x, z)[1].vectorized_sizes == {"a": 2}


def test_what_is_vectorized_and_visible_elsewhere_is_refused_with_the_call_that_helps():
    x, y = ng.ones({"a": 2}, vectorized="a"), ng.ones({"a": 2})
    for call in (lambda: x + y, lambda: ng.where(x > 0, y, 0.0), lambda: ng.dot(x, y), lambda: ng.concat([x, y.rename(a="t"), y], "new")):
        with pytest.raises(ng.AxisError, match=r"'a' is vectorized.*\.vectorize\('a'\).*\.devectorize\('a'\)"):
            call()
    with pytest.raises(ng.AxisError, match=r"'a'.*vectorized"):
        x.sum("a")
    with pytest.raises(ng.AxisError, match=r"sizes of 'a' differ.*2.*3.*ng\.broadcast_vectors"):
        x + ng.ones({"a": 3}, vectorized="a")
    one, b = ng.reshape_vectors(x, ng.ones({"b": 3}, vectorized="b"))
    with pytest.raises(ng.AxisError, match=r"'b'.*use ng\.broadcast_vectors"):
        one * b
    one, b = ng.broadcast_vectors(one, b)
    assert (one * b).vectorized_sizes == {"a": 2, "b": 3}


def test_a_vectorized_axis_is_renamed():
    x = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("a", "t"), vectorized="a")
    assert x.rename(a="b").vectorized == ("b",)
    g = ng.grad(lambda x: (x.rename(a="b") ** 2).sum())(x)
    assert set(g.vectorized) == {"a", "b"}, "slices of 'a' in, slices of 'b' out"
    assert g.devectorize().transpose("b", "a", "t").data.tolist() == [[[2, 4], [0, 0]], [[0, 0], [6, 8]]]


def test_draws_have_a_value_of_their_own_in_every_slice():
    mean, scale = ng.DimArray([0.0, 10.0], "b", vectorized="b"), ng.DimArray([1.0, 2.0, 3.0], "c", vectorized="c")

    def draw(loc, scale):
        return ng.random.normal(loc, scale, sizes={"n": 500}, rng=1)

    out = draw(mean, scale)
    assert out.vectorized_sizes == {"b": 2, "c": 3}
    assert out.dims == ("n",)
    assert len(np.unique(out.data)) == out.data.size
    gm, gs = ng.grad(lambda m, s: draw(m, s).mean(), wrt=(0, 1))(mean, scale)
    assert_close(gm.devectorize().transpose("b", "c").data, np.ones((2, 3)), ROUNDING)
    noise = ((out - mean) / scale).mean("n")
    assert_close(gs.devectorize().transpose("b", "c").data, noise.devectorize().transpose("b", "c").data, 1e-10)
