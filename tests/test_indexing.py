"""Gather and scatter beyond the grid: data-dependent sizes, updates with several writers, NumPy's names, errors."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.tolerances import EXACT, FIRST, ROUNDING, assert_close

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4))
MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])
ROWS, COLUMNS = np.array([0, 2, 2, 1]), np.array([3, 0, 0, 1])


def slopes(f, x, step=1e-5):
    """Central differences of a function of an array that gives a number."""
    out = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        d = np.zeros(x.shape)
        d[at] = step
        out[at] = (f(x + d) - f(x - d)) / (2 * step)
    return out


# ------------------------------------------------------------------------------------------------ NumPy's names


def _write(function):
    def program(x):
        y = x * x + 1
        function(y, x)
        return (y**3).sum()

    return program


def _set_flat(y, x):
    y.flat[[1, 5]] = x[0, :2]


PROGRAMS = {
    "np.place": _write(lambda y, x: np.place(y, MASK, x[0])),
    "np.putmask": _write(lambda y, x: np.putmask(y, MASK, x)),
    "np.copyto": _write(lambda y, x: np.copyto(y, x[0], where=MASK)),
    "np.put": _write(lambda y, x: np.put(y, [1, -1, 1], x[0, :3])),
    "np.put_along_axis": _write(lambda y, x: np.put_along_axis(y, ROWS[:3, None], x[:, :1], 1)),
    "np.add.at": _write(lambda y, x: np.add.at(y, (ROWS, COLUMNS), x[0])),
    "np.subtract.at": _write(lambda y, x: np.subtract.at(y, (ROWS, COLUMNS), x[0])),
    "np.multiply.at": _write(lambda y, x: np.multiply.at(y, (ROWS, COLUMNS), x[0])),
    "np.divide.at": _write(lambda y, x: np.divide.at(y, (ROWS, COLUMNS), x[0])),
    "np.power.at": _write(lambda y, x: np.power.at(y, (ROWS, COLUMNS), x[0])),
    "np.maximum.at": _write(lambda y, x: np.maximum.at(y, (ROWS, COLUMNS), x[0])),
    "np.minimum.at": _write(lambda y, x: np.minimum.at(y, (ROWS, COLUMNS), x[0])),
    "flat": _write(_set_flat),
    "read flat": lambda x: (x.flat[[1, 5, 5]] ** 2).sum(),
    "np.bincount": lambda x: (np.bincount(np.array([0, 2, 2, 1]), weights=x[0] * x[1], minlength=5) ** 2).sum(),
    "np.ix_": lambda x: (x[np.ix_([0, 2], [1, 3, 3])] ** 3).sum(),
    "np.choose": lambda x: (np.choose(np.array([0, 1, 1, 0]), [x, x**2]) ** 2).sum(),
    "np.select": lambda x: (np.select([x > 0.5, x < -0.5], [x**2, x**3], 7.0) ** 2).sum(),
    "np.piecewise": lambda x: np.piecewise(x, [MASK], [lambda v: v**2, lambda v: v**3]).sum(),
    "np.compress": lambda x: (np.compress([True, False, True], x, axis=0) ** 2).sum(),
    "compress": lambda x: (x.compress([True, False, True, True], axis=1) ** 2).sum(),
    "np.extract": lambda x: (np.extract(MASK, x) ** 2).sum(),
    "np.insert": lambda x: (np.insert(x, 1, x[:, 0] ** 2, axis=1) ** 2).sum(),
    "np.take wrap": lambda x: (np.take(x, [5, -1, 20], mode="wrap") ** 2).sum(),
    "np.tril_indices_from": lambda x: (x[:, :3][np.tril_indices_from(x[:, :3])] ** 2).sum(),
    "mixed": lambda x: (np.stack([x, x**2])[None, [0, 1], :, ...][0, :, 1:, [0, 3]] ** 2).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_programs(name):
    f = PROGRAMS[name]
    assert_close(ng.grad(f)(X), slopes(f, X), 10 * FIRST)
    value, _ = ng.value_and_grad(f)(X)
    assert_close(np.asarray(value), np.asarray(f(X)), ROUNDING)


def test_choices_that_are_not_there():
    with pytest.raises(IndexError, match="'choices'"):
        ng.grad(lambda x: np.choose(np.array([0, 2, 1, 0]), [x, x]).sum())(X)


def test_searches_of_slices():
    edges, values = np.sort(X, axis=1), RNG.normal(size=(3, 5))
    found = np.searchsorted(ng.positional(edges, "b"), ng.positional(values, "b"))
    assert found.data.tolist() == [np.searchsorted(e, v).tolist() for e, v in zip(edges, values, strict=True)]


# ------------------------------------------------------------------------------------------------ numbered axes


def test_numbered_axes_are_those_of_named_ones():
    index, src = RNG.integers(0, 4, (2, 3)), RNG.normal(size=(2, 3))
    named = ng.DimArray(X, ("a", "b")), ng.DimArray(index, ("a", "b")), ng.DimArray(src, ("a", "b"))
    x = ng.positional(X)
    assert_close(ng.gather(x, index, 1).data, ng.gather(*named[:2], "b").data, EXACT)
    assert_close(ng.scatter_reduce(x, index, src, -1, "amax").data, ng.scatter_reduce(*named, "b", "amax").data, EXACT)
    assert_close(ng.index_add(x, [0, 0], src[:, :2].T @ X[:2], 0).data, X + np.array([1, 0, 0])[:, None] * (src[:, :2].T @ X[:2]).sum(0), ROUNDING)
    assert_close(ng.embedding(index % 3, x, dim=0).data, X[index % 3], EXACT)
    assert_close(ng.masked_select(x, MASK[0]).data, X[:, MASK[0]].reshape(-1), EXACT)
    assert_close(ng.masked_scatter(x, MASK, np.arange(9.0)).data[MASK], np.arange(6.0), EXACT)
    assert_close(ng.put(x, np.array([[5]]), np.array([[7.0]])).data[1, 1], 7.0, EXACT)


# ------------------------------------------------------------------------------------------------ several writers


@pytest.mark.parametrize("how", ["set", "add", "subtract", "multiply", "divide", "power", "max", "min"])
def test_updates_with_several_writers(how):
    index, v = np.array([2, 0, 2, 2]), RNG.uniform(0.5, 2, 4)
    x = RNG.uniform(0.5, 2, 3)
    ufunc = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power, "max": np.maximum, "min": np.minimum}
    expected = x.copy()
    if how == "set":
        expected[index] = v
    else:
        ufunc[how].at(expected, index, v)
    a, b = ng.DimArray(x, "x"), ng.DimArray(v, "n")
    where = ng.DimArray(index, "n")
    assert_close(getattr(a.at[{"x": where}], how)(b).data, expected, ROUNDING)
    ng.check_gradients(lambda a, b: getattr(a.at[{"x": where}], how)(b), a, b, order=2)


def test_products_are_right_at_zeros_to_second_order():
    v = ng.DimArray([0.0, 3.0, 0.0, 5.0, 0.0], "n")
    where = ng.DimArray([0, 0, 1, 1, 1], "n")
    product = lambda v: ng.segment_prod(v, where, "n")
    hessian = ng.hessian(lambda v: product(v).sum())(v).data
    expected = np.zeros((5, 5))
    expected[0, 1] = expected[1, 0] = 1.0
    expected[2, 4] = expected[4, 2] = 5.0
    assert_close(hessian, expected, EXACT)


def test_products_that_leave_the_normal_range():
    v = ng.DimArray([1e-200, 1e-200, 1e300], "n")
    g = ng.grad(lambda v: ng.segment_prod(v, [0, 0, 0], "n").sum())(v).data
    assert_close(g[:2] / 1e100, [1.0, 1.0], ROUNDING)


def test_positions_per_slice():
    x = ng.DimArray(RNG.normal(size=(5, 3)), ("b", "x"), vectorized="b")
    at = ng.DimArray(RNG.integers(0, 3, (5, 4)), ("b", "n"), vectorized="b")
    v = ng.DimArray(RNG.normal(size=4), "n")
    for how in ("set", "add", "multiply", "max"):
        out = getattr(x.at[{"x": at}], how)(v)
        for k in range(5):
            one = ng.DimArray(x.data[k], "x").at[{"x": ng.DimArray(at.data[k], "n")}]
            assert_close(out.data[k], getattr(one, how)(v).data, ROUNDING)


# ------------------------------------------------------------------------------------------------ sizes that depend on values


def test_masked_select():
    x = ng.DimArray(X, ("a", "b"))
    plain = ng.DimArray(MASK, ("a", "b"))
    assert_close(ng.masked_select(x, plain).data, X[MASK], EXACT)
    per_slice = plain.vectorize("a")
    values, chosen = ng.masked_select(x.vectorize("a"), per_slice, fill_value=np.nan)
    for k in range(3):
        assert_close(values.data[k][chosen.data[k]], X[k][MASK[k]], EXACT)
    g = ng.grad(lambda x: (ng.masked_select(x.vectorize("a"), per_slice)[0] ** 2).sum().devectorize().sum())(x)
    assert_close(g.data, np.where(MASK, 2 * X, 0), EXACT)
    with pytest.raises(ng.TraceError, match="size="):
        ng.compile(lambda x, m: ng.masked_select(x, m))(x, plain)


def test_sparse_and_back():
    x = ng.DimArray(np.where(MASK, X, 0), ("a", "b"))

    def there_and_back(x):
        values, a, b = ng.dense_to_coo(x)
        return ng.coo_to_dense(values**2, {"a": a, "b": b}, x.sizes)

    assert_close(there_and_back(x).data, np.where(MASK, X**2, 0), ROUNDING)
    assert_close(ng.grad(lambda x: there_and_back(x).sum())(x).data, np.where(MASK, 2 * X, 0), ROUNDING)
    with pytest.raises(ng.TraceError, match="size="):
        ng.dense_to_coo(x.vectorize("a"))


# ------------------------------------------------------------------------------------------------ errors


ROW = ng.DimArray([0, 1, 2], "a")
BAD = {
    "index 4 is out of range for dim 'b' of size 4": lambda x: ng.take_along_axis(x, ng.DimArray([4, 4, 4], "a"), "b"),
    "index -5 is out of range for dim 'b' of size 4": lambda x: ng.scatter(x, ng.DimArray([-5], "b"), 1.0, "b"),
    "no dim 'z'": lambda x: ng.index_add(x, [0], 1.0, "z"),
    "'b' differ": lambda x: ng.index_add(x, ROW, ng.ones({"a": 3, "b": 5}), "a"),
    "reduce='median'": lambda x: ng.scatter_reduce(x, ROW, 1.0, "b", "median"),
    "group -1": lambda x: ng.segment_sum(x, [0, -1, 0], "a"),
    "index 2 is out of range": lambda x: ng.segment_sum(x, [0, 2, 0], "a", size=2),
    "dtype float64": lambda x: ng.take_along_axis(x, ng.DimArray([0.5], "n"), "b"),
    "the mask has dtype": lambda x: ng.masked_select(x, x),
    "the mask chooses": lambda x: ng.masked_scatter(x, ng.DimArray(MASK, ("a", "b")), ng.DimArray([1.0], "s")),
    "per_sample_weights need mode='sum'": lambda x: ng.embedding_bag(ROW, x, ROW, dim="b", over="a"),
    "mode='median'": lambda x: ng.embedding_bag(ROW, x, dim="b", over="a", mode="median"),
    "padding_idx=9": lambda x: ng.embedding(ROW, x, "b", padding_idx=9),
    "say which dim": lambda x: ng.coo_to_dense(x, {"p": [0]}, {"p": 1}),
    "ng.nonzero": lambda x: ng.where(x > 0),
    "positions of what is true": lambda x: np.where(x > 0),
    "cannot have size -2": lambda x: ng.dense_to_coo(x, size=-2),
    "-1 cannot name a dim": lambda x: ng.segment_sum(x, [0, 1, 0], "a", new_dim=-1),
    "2 cannot name a dim": lambda x: ng.one_hot(ROW, 3, new_dim=2),
    "above the upper one": lambda x: ng.rrelu(x, lower=0.5, upper=0.2),
    "which the index replaces": lambda x: x.at[{"b": ng.DimArray([0], "n")}].set(ng.ones({"b": 4})),
}  # fmt: skip


@pytest.mark.parametrize("message", BAD)
def test_errors_say_what_is_wrong(message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        BAD[message](ng.DimArray(X, ("a", "b")))


def test_a_slice_with_a_bound_per_slice_needs_a_step() -> None:
    x = ng.DimArray(np.ones((2, 6)), ("b", "x")).vectorize("b")
    start = ng.DimArray(np.array([0, 1]), "b").vectorize("b")
    with pytest.raises(ValueError, match="slice of 'x' has the step 0"):
        x.isel(x=slice(start, start + 2, 0))


def test_runs_that_do_not_fit_are_refused_briefly() -> None:
    x = ng.DimArray(np.arange(6.0), "x")
    with pytest.raises(ValueError, match="runs end at 5 of 6 cells; unsafe=True"):
        ng.segment_reduce(x, "sum", lengths=[2, 3], dim="x")
    many = ng.DimArray(np.tile([[2], [3]], (1, 500)), ("run", "b"))
    with pytest.raises(ValueError, match="unsafe=True") as error:
        ng.segment_reduce(x, "sum", lengths=many, dim="x", new_dim="run")
    assert len(str(error.value)) < 100


@pytest.mark.parametrize("read", [
    lambda x, i: x[i], lambda x, i: x.isel(x=i), lambda x, i: ng.take(x, i, "x"), lambda x, i: x.at[{"x": i}].add(1.0),
    lambda x, i: ng.take_along_dim(x, i, "x"), lambda x, i: ng.segment_sum(x, i, "x"),
])  # fmt: skip
def test_indices_of_xarray_do_not_lose_their_names(read) -> None:
    """Their dims say which cells are read: here one of every row, which are not all the cells of three rows."""
    x = ng.DimArray(X, ("x", "y"))
    places = xr.DataArray([0, 2, 1, 1], dims="y")
    for index in (places, places.variable):
        with pytest.raises(TypeError, match=r"index for 'x' is a xarray.*use ng.asdimarray"):
            read(x, index)
    assert_close(x[ng.asdimarray(places)].data, X[places.data, np.arange(4)], EXACT)


def test_sums_that_are_too_large_only_without_the_target():
    x, index, more = (ng.DimArray(v, ("a",)) for v in ([-1e308, 0.0], [0, 0], [1e308, 1e308]))
    want = x.data.copy()
    np.add.at(want, index.data, more.data)
    np.testing.assert_array_equal(ng.index_add(x, index, more, "a").data, want)


@pytest.mark.parametrize(("index", "more"), [([2, 2], [1.0, 2.0]), ([0, 2], [0.0, 1.0]), ([0, 2], [-0.0, 1.0]), ([1], [3.0])])
def test_what_is_added_along_an_index_leaves_the_sign_of_other_zeros(index, more):
    x = np.array([-0.0, -0.0, 1.0])
    want = x.copy()
    np.add.at(want, index, more)
    found = ng.index_add(*(ng.DimArray(v, ("a",)) for v in (x, index, more)), "a").data
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))


@pytest.mark.parametrize("factors", [(1e-310, 1e300), (0.0, 3.0), (1e-200, 1e200), (1e200, 1e-150), (-2.0, 0.5)])
def test_factors_of_products_whose_reciprocals_leave_the_range(factors: tuple[float, float]) -> None:
    x, to = ng.DimArray([*factors, 3.0, 4.0], "a"), [0, 0, 1, 1]
    _, pull = ng.pullback(lambda x: ng.segment_prod(x, to, "a", 2), x)
    want = np.array([factors[1], factors[0], 4.0, 3.0])
    np.testing.assert_allclose(pull(ng.DimArray([2.0, -1.0], "a")).data, want * [2, 2, -1, -1], rtol=1e-14)
    for k, t in enumerate(np.eye(4)):
        _, pushed = ng.pushforward(lambda x: ng.segment_prod(x, to, "a", 2), (x,), (ng.DimArray(t, "a"),))
        np.testing.assert_allclose(pushed.data, [want[k], 0] if k < 2 else [0, want[k]], rtol=1e-14)
    hessian = ng.hessian(lambda x: ng.segment_prod(x, to, "a", 2).sum())(x).data
    np.testing.assert_allclose(hessian, np.kron(np.eye(2), [[0, 1], [1, 0]]), rtol=1e-14, atol=0)


@pytest.mark.parametrize("last", [4.0, 0.0])
def test_products_of_groups_are_pulled_back_from_the_writers_as_they_were(last: float) -> None:
    v = np.array([2.0, 3.0, -5.0, last])
    out, pull = ng.pullback(lambda x: ng.segment_prod(x, [0, 0, 1, 1], "a", 2), ng.DimArray(v, "a"))
    v[:] = out.data[:] = np.nan
    np.testing.assert_allclose(pull(ng.DimArray([1.0, 10.0], "a")).data, [3.0, 2.0, 10 * last, -50.0], rtol=1e-14)


@pytest.mark.parametrize("last", [4.0, 0.0])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("onto", [False, True])
def test_slices_of_the_name_of_the_writers_of_products(last: float, compiled: bool, onto: bool) -> None:
    """Where they were divided by a factor the slices of another array were taken for the writers."""
    v, other = np.array([2.0, 3.0, -5.0, last]), RNG.normal(size=4)
    x, ct = np.array([7.0, 11.0]), RNG.normal(size=(4, 2))

    def pulled(x: ng.DimArray, v: ng.DimArray, ct: ng.DimArray) -> tuple[ng.DimArray, ng.DimArray]:
        to = ng.DimArray([0, 0, 1, 1], "w")
        product = lambda x, v: x.at[{"t": to}].multiply(v) if onto else ng.segment_prod(v, to, "w", 2).rename(w="t") * x
        f = lambda x, v: (product(x, v) - ng.DimArray(other, "w")).vectorize("w").rename(w="n")
        return ng.pullback(f, x, v)[1](ct)

    operands = ng.DimArray(x, "t"), ng.DimArray(v, "w"), ng.DimArray(ct, ("n", "t"), vectorized="n")
    of_x, of_v = (g.to_numpy() for g in (ng.compile(pulled) if compiled else pulled)(*operands))
    np.testing.assert_allclose(of_x, ct * [6.0, -5 * last], rtol=1e-14)
    np.testing.assert_allclose(of_v, np.repeat(ct * x, 2, axis=1) * [3.0, 2.0, last, -5.0], rtol=1e-14)


@pytest.mark.parametrize("few", [np.float64, np.float32])
def test_products_into_an_array_are_pulled_back_from_the_operands_as_they_were(few: type) -> None:
    x, v, g = RNG.uniform(0.5, 2, (4, 3)).astype(few), RNG.uniform(0.5, 2, (4, 5)), RNG.normal(size=(4, 3))
    to, tx, tv = np.array([0, 2, 0, 0, 2]), RNG.normal(size=x.shape).astype(few), RNG.normal(size=v.shape)

    def product(x: ng.DimArray, v: ng.DimArray) -> ng.DimArray:
        return ng.index_reduce(x, ng.DimArray(to, "b"), v, "b", "prod")

    ins = ng.DimArray(x.copy(), ("a", "b")), ng.DimArray(v.copy(), ("a", "b"))
    out, pull = ng.pullback(product, *ins)
    others = np.stack([np.prod(v[:, to == k], axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(out.data, x * others, rtol=1e-14)
    for a in (*ins, out):
        a.data[...] = 9
    for _ in range(2):
        by_x, by_v = (a.data for a in pull(ng.DimArray(g, ("a", "b"))))
        assert by_x.dtype == few
        np.testing.assert_allclose(by_x, g * others, rtol=1e-6 if few is np.float32 else 1e-14)
        np.testing.assert_allclose(by_v, (g * x * others)[:, to] / v, rtol=1e-14)
    ins = ng.DimArray(x, ("a", "b")), ng.DimArray(v, ("a", "b"))
    tangents = ng.DimArray(tx, ("a", "b")), ng.DimArray(tv, ("a", "b"))
    want = (tx * (g * others)).sum() + (tv * (g * x * others)[:, to] / v).sum()
    for _, t in (ng.pushforward(product, ins, tangents), (None, ng.linearize(product, *ins)[1](*tangents))):
        np.testing.assert_allclose((t.data * g).sum(), want, rtol=1e-6)


def test_masks_of_which_all_slices_choose_the_same_cells():
    data = np.arange(12.0).reshape(3, 4)
    data[:, 2] = np.nan
    a, p = ng.DimArray(data, ("b", "t"), vectorized="b"), ng.positional(data, vectorized="b")
    expected = np.where(np.isnan(data), 0.0, 2 * data)
    for f, x in (
        (lambda x: (x.dropna("t") ** 2).sum(), a),
        (lambda x: (x[{"t": x.notnull()}] ** 2).sum(), a),
        (lambda x: (x[~np.isnan(x)] ** 2).sum(), p),
    ):
        np.testing.assert_array_equal(ng.grad(f)(x).data if x is p else ng.grad(f)(x).devectorize().data, expected)
    with pytest.raises(ng.AxisError, match="choose the same cells in every slice"):
        a[{"t": a > 3}]
    np.testing.assert_array_equal(p[p > 3].sum().data, [row[row > 3].sum() for row in data])
