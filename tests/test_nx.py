"""Programs with vectorized axes, as users of systems that have had such axes for years write them.

Every program is written for one slice.  With vectorized axes it gives what it gives of the slices one by one: values, and
gradients by random weights, which for one slice are compared with finite differences.  The batch is as large as a core
dim in some runs and not in others, in front of the core dims or behind them.
"""

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import hidden, permuted
from tests.support.slices import agrees, agrees_with_constants, drawn, generator, slice_of
from tests.support.tolerances import FIRST, MATRIX, ROUNDING, assert_close

IJ = ("i", "j")


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


# ------------------------------------------------------------------------------------------------ predicates


def chain(*parts):
    """The value behind the first predicate that holds, or the last."""
    if len(parts) == 1:
        return parts[0]
    return ng.cond(parts[0], lambda: parts[1], lambda: chain(*parts[2:]))


def bits(text, name):
    return ng.DimArray(np.array([c == "1" for c in text]), name, vectorized=name)


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        (("01", 0, 0), [40, 10]), (("00", 1, 0), [20, 20]), (("00", 0, 1), [30, 30]), (("00", 0, 0), [40, 40]), ((0, "01", 0), [40, 20]),
        ((1, "01", 0), 10), ((0, "00", 1), [30, 30]), ((0, 0, "01"), [40, 30]), ((0, 1, "01"), 20), (("10", "11", 0), [10, 20]),
    ],
)  # fmt: skip
def test_chains_of_conditions(predicates, expected):
    p = [bits(v, "p") if isinstance(v, str) else v for v in predicates]
    out = chain(p[0], 10.0, p[1], 20.0, p[2], 30.0, 40.0)
    assert (out.data.tolist() if isinstance(out, ng.DimArray) else out) == expected


def test_predicates_and_branches_of_different_names():
    p, q = bits("010", "p"), bits("10", "q")
    c1 = ng.DimArray([10.0, 100.0], "q", vectorized="q")
    c2 = ng.DimArray([20.0, 200.0, 2000.0], "p", vectorized="p")
    out = chain(p, c1, q, c2, 0, 30.0, 40.0)
    assert out.devectorize().transpose("p", "q").data.tolist() == [[20, 40], [10, 100], [2000, 40]]
    a, b = ng.grad(lambda a, b: chain(p, a * a, q, b * 3, 0, 30.0, 40.0), wrt=(0, 1))(c1, c2)
    assert a.devectorize().transpose("p", "q").data.tolist() == [[0, 0], [20, 200], [0, 0]]
    assert b.devectorize().transpose("p", "q").data.tolist() == [[3, 0], [0, 0], [3, 0]]


def test_branches_give_containers_of_arrays_with_other_names():
    p, x = bits("100", "p"), ng.DimArray([9.0, 10.0, 11.0], "x", vectorized="x")
    out = ng.cond(p, lambda x: (1.0, {"a": 2.0}, 3.0), lambda x: (7.0, {"a": 8.0}, x), x)
    assert out[0].data.tolist() == [1, 7, 7]
    assert out[1]["a"].data.tolist() == [2, 8, 8]
    assert out[2].devectorize().transpose("p", "x").data.tolist() == [[3, 3, 3], [9, 10, 11], [9, 10, 11]]


def test_predicates_of_integers_count_as_true_where_they_are_not_zero():
    p = ng.DimArray([2, 0, -1], "p", vectorized="p")
    assert ng.cond(p, lambda: 1.0, lambda: 2.0).data.tolist() == [1, 2, 1]


def test_where_with_a_vectorized_mask_and_ordinary_arrays():
    m = bits("10", "m")
    x, y = ng.DimArray([1.0, 2.0], "x"), ng.DimArray([np.nan, 5.0], "x")
    g = ng.grad(lambda x: ng.where(m, x * x, ng.sqrt(y) * x).sum(skipna=False))(x)
    assert_close(g.data, [[2.0, 4.0], [np.nan, np.sqrt(5)]], ROUNDING)
    assert ng.where(m, x, 0.0).data.tolist() == [[1, 2], [0, 0]]


# ------------------------------------------------------------------------------------------------ loops


def doubled(x, n):
    return ng.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2), (n, x))[1]


def counts(data, *names):
    return ng.DimArray(np.array(data), names, vectorized=names)


@pytest.mark.parametrize(
    ("x", "n", "names", "expected"),
    [
        (counts([1, 2, 3], "x"), counts([5, 6, 3], "x"), ("x",), [32, 128, 24]),
        (counts([1, 2, 3], "init"), counts([4, 5], "pred"), ("pred", "init"), [[16, 32, 48], [32, 64, 96]]),
        (counts([1, 2, 3], "x"), counts([[0, 1, 2], [5, 6, 3]], "y", "x"), ("y", "x"), [[1, 4, 12], [32, 128, 24]]),
        (counts([1, 2, 3], "x"), 2, ("x",), [4, 8, 12]),
        (3, counts([0, 5], "x"), ("x",), [3, 96]),
        (counts([1, 2, 3], "x"), 0, ("x",), [1, 2, 3]),
    ],
)
def test_loops_with_vectorized_conditions(x, n, names, expected):
    assert doubled(x, n).devectorize().transpose(*names).data.tolist() == expected
    a = x * 1.0
    a = ng.DimArray(a, ()) if isinstance(a, float) else a
    g = ng.grad(lambda x: doubled(x, n))(a)
    slopes = np.array(expected) / np.broadcast_to(a.data, np.shape(expected))
    assert_close(g.devectorize().transpose(*names).data, slopes, ROUNDING)


def test_one_of_several_states_has_a_name_that_others_lack():
    x, y, n = counts([[1, 2], [3, 4], [5, 6]], "other", "pred"), counts([1, 2], "pred"), counts([3, 4], "pred")
    _, v, z = ng.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2, s[2] * 3), (n, x, y))
    assert v.devectorize().transpose("pred", "other").data.tolist() == [[8, 24, 40], [32, 64, 96]]
    assert z.data.tolist() == [27, 162]


# ------------------------------------------------------------------------------------------------ indices


def test_indices_and_arrays_may_be_vectorized_or_not():
    t, i = ng.DimArray(np.arange(18.0).reshape(3, 6), ("i", "x"), vectorized="i"), counts([0, 2, 4], "i")
    assert t.isel(x=2).data.tolist() == [2, 8, 14]
    assert t.isel(x=i).data.tolist() == [0, 8, 16]
    assert ng.arange("x", 6).isel(x=i).data.tolist() == [0, 2, 4]
    both = ng.DimArray(np.arange(24.0).reshape(2, 6, 2), ("j", "x", "y"), vectorized="j").isel(x=i, y=slice(0, 2))
    assert both.devectorize().transpose("j", "i", "y").data.tolist() == [[[0, 1], [4, 5], [8, 9]], [[12, 13], [16, 17], [20, 21]]]


INDEXED = {
    "isel": lambda x, i: x.isel(x=i),
    "take": lambda x, i: ng.take(x, i + ng.arange("p", 2), "x"),
    "gather": lambda x, i: ng.gather(x, i + ng.arange("p", 2), "x"),
    "take along": lambda x, i: ng.take_along_axis(x, i + ng.arange("x", 2), "x"),
    "start of a slice": lambda x, i: x.isel(x=slice(i, i + 2)),
    "start and step of a slice": lambda x, i: x.isel(x=slice(i, i + 3, 2)),
    "end of a slice from the end": lambda x, i: x.isel(x=slice(i - 5, i - 3)),
    "put": lambda x, i: x.at[{"x": i}].set(9.0),
    "put a slice": lambda x, i: x.at[{"x": slice(i, i + 2)}].set(ng.DimArray([7.0, 8.0], "x")),
    "put a slice of its own": lambda x, i: x.at[{"x": slice(i, i + 2)}].set(x.isel(x=slice(0, 2)) ** 2),
    "add to a slice": lambda x, i: x.at[{"x": slice(i, i + 2)}].add(x.mean()),
    "index twice": lambda x, i: x.isel(x=i) * x.isel(x=i + 1),
    "one hot": lambda x, i: ng.dot(ng.one_hot(i, {"x": 5}) * 1.0, x, dim="x"),
    "scatter": lambda x, i: ng.scatter_add(x, i + ng.arange("p", 2), ng.DimArray([1.0, 2.0], "p") * x.sum(), "x"),
}


@pytest.mark.parametrize("layout", ["b,b", "b,", ",b", "b,c", "bc,c", ","])
@pytest.mark.parametrize("name", INDEXED)
def test_vectorized_indices(name, layout):
    left, right = layout.split(",")
    rng, sizes = generator(name, layout), {"b": 5 if len(name) % 2 else 2, "c": 3}
    x = drawn(rng, {"x": 5, **{n: sizes[n] for n in left}})
    x = x.vectorize(*left) if left else x
    i = ng.DimArray(rng.integers(0, 3, [sizes[n] for n in right]), tuple(right), vectorized=tuple(right))
    names = {**x.vectorized_sizes, **i.vectorized_sizes}
    f = INDEXED[name]
    agrees_with_constants(lambda x, i: f(x, i), [x], [i], names, name)


def test_slices_of_different_lengths_are_refused_with_the_way_out():
    x, i = ng.arange("x", 6) * 1.0, counts([0, 2], "b")
    for call in (lambda: x.isel(x=slice(i, 5)), lambda: x.isel(x=slice(i)), lambda: x.isel(x=slice(i, i + 5)), lambda: x.at[{"x": slice(i, None)}].set(0.0)):
        with pytest.raises(ng.AxisError, match=r"lengths.*arange"):
            call()


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


# ------------------------------------------------------------------------------------------------ linear algebra


def definite(x):
    return ng.dot(x, x.rename(i="i", j="k"), dim="i").rename(k="i").transpose("i", "j") + ng.eye("i", "j", x.sizes["j"])


def vector(x):
    return x.isel(j=0) * 1.0


def projector(a):
    u, _, vh = ng.svd(a, IJ)
    return ng.outer(u.isel(j2=0), vh.isel(j2=0))


def around(a):
    w, v = ng.eigh(a, IJ)
    return ng.dot(v * ng.exp(-w), v.rename(i="j"), dim="j2")


ALGEBRA = {
    "cholesky": lambda a: ng.cholesky(definite(a), IJ),
    "upper cholesky": lambda a: ng.cholesky(definite(a), IJ, lower=False),
    "logarithm of the determinant by cholesky": lambda a: ng.log(ng.diagonal(ng.cholesky(definite(a), IJ), IJ)).sum() * 2,
    "qr": lambda a: ng.dot(*ng.qr(a, IJ), dim="j2"),
    "q": lambda a: ng.qr(a, IJ)[0],
    "r": lambda a: ng.qr(a, IJ)[1],
    "complete q": lambda a: ng.qr(a, IJ, mode="complete")[0],
    "lu": lambda a: ng.lu(a, IJ)[1] + ng.lu(a, IJ)[2].rename(j2="i", j="j2") * 2,
    "rows in the order of lu": lambda a: a.isel(i=ng.lu(a, IJ)[0]) * vector(a).rename(i="q").sum(),
    "singular values": lambda a: ng.svd(a, IJ, compute_uv=False),
    "dyad of the largest singular value": projector,
    "all of svd": lambda a: (lambda u, s, vh: ng.dot(u * ng.sqrt(s), vh, dim="j2"))(*ng.svd(a, IJ)),
    "square svd": lambda a: (lambda u, s, vh: ng.dot(u, vh, dim="j2") + s.sum())(*ng.svd(a, IJ, full_matrices=True)),
    "eigenvalues of a definite matrix": lambda a: ng.eigvalsh(definite(a), IJ),
    "function of a definite matrix": lambda a: around(definite(a)),
    "eigenvalues": lambda a: (ng.eigvals(a, IJ) ** 2).sum().real,
    "solve": lambda a: ng.solve(a, vector(a) ** 2, IJ),
    "solve several": lambda a: ng.solve(a, (a * a).rename(j="m"), IJ),
    "solve with a fixed right-hand side": lambda a: ng.solve(a, ng.DimArray([1.0, -2.0, 0.5], "i"), IJ),
    "solve with a fixed matrix": lambda a: ng.solve(FIXED, vector(a), IJ),
    "solve with a fixed matrix stored the other way": lambda a: ng.solve(FIXED.transpose("j", "i"), vector(a), IJ),
    "triangular": lambda a: ng.solve_triangular(a, vector(a) ** 2, IJ),
    "triangular with a fixed matrix": lambda a: ng.solve_triangular(FIXED, vector(a), IJ, lower=False),
    "triangular, transposed": lambda a: ng.solve_triangular(a, vector(a), IJ, transposed=True),
    "triangular, unit": lambda a: ng.solve_triangular(a, a.rename(j="m"), IJ, unit_diagonal=True, lower=False),
    "inverse": lambda a: ng.inv(a, IJ),
    "inverse of the other dims": lambda a: ng.inv(a, ("j", "i")),
    "pseudoinverse": lambda a: ng.pinv(a, IJ),
    "pseudoinverse of a wide one": lambda a: ng.pinv(a.isel(i=slice(0, 2)), IJ),
    "pseudoinverse of a deficient one": lambda a: ng.pinv(ng.outer(vector(a), a.isel(i=0)), IJ),
    "least squares": lambda a: ng.lstsq(a.isel(j=slice(0, 2)), vector(a) ** 2 + 0.5, IJ),
    "least squares of a wide one": lambda a: ng.lstsq(a.isel(i=slice(0, 2)), vector(a).isel(i=slice(0, 2)) ** 2, IJ),
    "determinant": lambda a: ng.det(a, IJ),
    "sign and logarithm": lambda a: ng.slogdet(a, IJ)[1] * ng.slogdet(a, IJ)[0],
    "logdet": lambda a: ng.logdet(definite(a), IJ),
    "trace": lambda a: ng.trace(a, IJ),
    "power": lambda a: ng.matrix_power(a, IJ, 3),
    "power of the inverse": lambda a: ng.matrix_power(a, IJ, -2),
    "zeroth power": lambda a: ng.matrix_power(a, IJ, 0) * a,
    "exponential": lambda a: ng.expm(a * 0.3, IJ),
    "root": lambda a: ng.sqrtm(definite(a), IJ),
    "logarithm": lambda a: ng.logm(definite(a), IJ),
    "condition": lambda a: ng.cond(a, IJ),
    "condition in the 1-norm": lambda a: ng.cond(a, IJ, 1),
    "Frobenius": lambda a: ng.norm(a, IJ),
    "nuclear": lambda a: ng.norm(a, IJ, "nuc"),
    "spectral": lambda a: ng.norm(a, IJ, 2),
    "rows": lambda a: ng.norm(a, IJ, np.inf),
    "columns as vectors": lambda a: ng.norm(a, "i", 3),
    "cross": lambda a: ng.cross(a, a.isel(j=0), "i"),
    "chain": lambda a: ng.multi_dot(a, a.rename(i="j", j="k"), a.rename(i="k", j="l")),
    "product with its transpose": lambda a: ng.dot(a, a.rename(i="k"), dim="j"),
    "triangle": lambda a: ng.tril(a, IJ) * ng.triu(a, IJ, 1).sum(),
}
FIXED = ng.DimArray([[2.0, 0.3, -0.1], [0.5, 1.5, 0.2], [-0.4, 0.1, 1.8]], IJ)


@pytest.mark.parametrize("layout", ["batch of the size of the matrix", "other size, behind", "two names, one of them between"])
@pytest.mark.parametrize("name", ALGEBRA)
def test_programs_of_linear_algebra(name, layout):
    sizes = {"batch of the size of the matrix": {"b": 3, "i": 3, "j": 3}, "other size, behind": {"i": 3, "j": 3, "b": 2}, "two names, one of them between": {"c": 2, "i": 3, "b": 3, "j": 3}}[layout]
    rng = generator(name, layout)
    a = ng.DimArray(rng.normal(size=tuple(sizes.values())) / 3, tuple(sizes)) + FIXED
    a = a.transpose(*sizes).vectorize(*(n for n in sizes if n in "bc"))
    agrees(ALGEBRA[name], a, key=name, tolerance=MATRIX, first=2e-7)


@pytest.mark.parametrize("which", ["matrix", "right-hand side", "both", "different"])
@pytest.mark.parametrize("name", ["solve", "solve_triangular", "lstsq"])
@pytest.mark.parametrize("size", [3, 2])
def test_equations_with_one_side_vectorized(name, which, size):
    rng = generator(name, which, size)
    a = ng.DimArray(rng.normal(size=(3, size, 3)) / 3, ("i", "b", "j")) + FIXED
    b = ng.DimArray(rng.normal(size=(4, 3, size)), ("m", "i", "b"))
    if which == "matrix":
        a, b = a.vectorize("b"), b.isel(b=0)
    elif which == "right-hand side":
        a, b = a.isel(b=0), b.vectorize("b")
    else:
        a, b = a.vectorize("b"), (b if which == "both" else b.rename(b="c")).vectorize("b" if which == "both" else "c")
    f = getattr(ng, name)
    agrees(lambda a, b: f(a, b, IJ), a, b, key=(name, which), tolerance=MATRIX)
    g = ng.grad(lambda a: (f(a, b, IJ) ** 2).sum())(a)
    assert np.isfinite(g.data).all()


@pytest.mark.parametrize("name", ["solve", "inverse", "cholesky", "qr", "least squares", "pseudoinverse", "condition", "determinant", "exponential", "function of a definite matrix"])
def test_hessians_of_linear_algebra_per_slice(name):
    rng = generator(name, "hessian")
    a = (ng.DimArray(rng.normal(size=(3, 3, 3)) / 3, ("i", "b", "j")) + FIXED).vectorize("b")

    def loss(a):
        return (ALGEBRA[name](a) ** 2).sum()

    h = ng.hessian(loss)(a)
    for k in range(3):
        one = ng.hessian(loss)(slice_of(a, {"b": k}))
        assert_close(h.devectorize().transpose("b", "i", "j", "i_wrt", "j_wrt").data[k], one.transpose("i", "j", "i_wrt", "j_wrt").data, MATRIX)
