"""Shape and order beyond the grid: blocks, parts of which few are used, options of padding, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import xarray as xr

import namedgrad as ng

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 8))
A = ng.DimArray(X, ("a", "b"))
D = xr.DataArray(X, dims=("a", "b"))

# ------------------------------------------------------------------------------------------------ blocks


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "var", "median", "count"])
def test_blocks_are_those_of_xarray(name: str) -> None:
    for options in ({"a": 2}, {"b": 4, "a": 3}, {"a": 4, "boundary": "trim"}, {"a": 4, "boundary": "trim", "side": "right"}, {"b": 3, "boundary": "pad"}):
        expected = getattr(D.coarsen(**options), name)()
        got = getattr(A.coarsen(**options), name)()
        assert got.dims == expected.dims
        np.testing.assert_allclose(got.data, expected.data, rtol=1e-13)


def test_blocks_taken_apart() -> None:
    names = {"a": ("block", "cell"), "b": ("b", "part")}
    expected = D.coarsen(a=2, b=4).construct(names)
    got = A.coarsen(a=2, b=4).construct(names)
    assert got.dims == expected.dims
    np.testing.assert_array_equal(got.data, expected.data)
    assert A.coarsen(a=3).construct(a=("p", "q")).sizes == {"p": 2, "q": 3, "b": 8}


def test_blocks_are_differentiated_and_vectorized() -> None:
    weights = ng.DimArray([1.0, -2.0, 3.0], "a")
    g = ng.grad(lambda x: (x.coarsen(a=2).mean() * weights).sum())(A.vectorize("b"))
    np.testing.assert_allclose(g.devectorize().transpose("a", "b").data, np.repeat([0.5, -1.0, 1.5], 2)[:, None] * np.ones((6, 8)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A.coarsen(a=4), "do not fit"),
        (lambda: A.coarsen(a=2).construct(b=("p", "q")), "two names for each"),
        (lambda: A.coarsen(a=2).construct(a=("b", "q")), "exists already"),
        (lambda: A.coarsen(a=2, boundary="drop"), "boundary"),
        (lambda: A.vectorize("a").coarsen(a=2), "vectorized"),
        (lambda: ng.split(A, 0, "a"), "at least"),
        (lambda: ng.split(A, 2), "must name one"),
        (lambda: ng.repeat(A, a=[1, 2]), "2 numbers for the 6 cells"),
        (lambda: ng.repeat(A, a=-1), "cannot be repeated"),
        (lambda: ng.tril(A, ("a", "a")), "two different dims"),
        (lambda: ng.diagonal(A.expand_dims(z=2), ("a", "b"), new_dim="z"), "exists already"),
        (lambda: ng.diag_embed(ng.ones({"i": 2, "i2": 2}), "i"), "exists already"),
        (lambda: ng.meshgrid(A), "one dim"),
        (lambda: A.pad(a=1, mode="smooth"), "is not one of"),
        (lambda: A.isel(a=[]).pad(a=1, mode="edge"), "no cells"),
        (lambda: A.head(a=-1), "positive"),
        (lambda: ng.diff(A, "a", -1), "negative"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------------------------------------------ parts


def test_parts_that_are_not_used_have_gradient_zero() -> None:
    def loss(x: ng.DimArray) -> ng.DimArray:
        first, _, last = ng.split(x, 3, "a")
        return (first * last).sum()

    expected = np.zeros((6, 8))
    expected[:2], expected[4:] = X[4:], X[:2]
    np.testing.assert_allclose(ng.grad(loss)(A).data, expected)
    hessian = ng.hvp(loss, A, ng.ones_like(A)).data
    np.testing.assert_allclose(hessian, np.repeat([1.0, 0.0, 1.0], 2)[:, None] * np.ones((6, 8)))


def test_every_cell_apart_under_a_vectorized_name() -> None:
    def loss(x: ng.DimArray) -> ng.DimArray:
        cells = ng.unbind(x, "a")
        return cells[0] * cells[3] - 2 * cells[5]

    g = ng.grad(loss)(A.vectorize("b")).devectorize().transpose("a", "b").data
    expected = np.zeros((6, 8))
    expected[0], expected[3], expected[5] = X[3], X[0], -2
    np.testing.assert_allclose(g, expected)
    tangent = ng.pushforward(loss, (A.vectorize("b"),), (A.vectorize("b"),))[1]
    np.testing.assert_allclose(tangent.devectorize().data, 2 * X[0] * X[3] - 2 * X[5])


def test_parts_of_parts_meet_again() -> None:
    v = ng.DimArray(RNG.normal(size=9), "x")
    g = ng.grad(lambda x: sum((k + 1) * (p * p).sum() for k, p in enumerate(ng.split(ng.concat(ng.split(x, [2, 5]), "x"), 4))))(v)
    np.testing.assert_allclose(g.data, 2 * v.data * np.array([1, 1, 1, 2, 2, 3, 3, 4, 4]))


def test_parts_of_one_array_with_kept_names() -> None:
    x = ng.DimArray(X, ("a", "b"), vectorized="b")
    jacobian = ng.jacobian(lambda x: ng.split(x, 2, "a")[1] * 2)(x)
    np.testing.assert_allclose(jacobian.devectorize().transpose("b", "a", "a_wrt").data[3], 2 * np.eye(3, 6, 3))


# ------------------------------------------------------------------------------------------------ padding


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [0, (3, 0), (0, 13), (17, 20)])
def test_padding_is_that_of_numpy(mode: str, width: Any) -> None:
    for data in (X, (10 * X).astype(int)):
        both = (width, width) if isinstance(width, int) else width
        expected = np.pad(data, (both, (0, 0)), mode)
        options = {"constant_values": 0} if mode == "constant" else {}
        got = ng.DimArray(data, ("a", "b")).pad(a=width, mode=mode, **options)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.data, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("width", [(-3, 2), (2, -3), (-4, 3), (-3, 4), (-1, 2)])
def test_an_edge_is_repeated_where_all_cells_are_taken_away(width: tuple[int, int]) -> None:
    """As by ``torch.nn.functional.pad`` of mode "replicate": the nearest of all cells that there were."""
    want = np.arange(3.0)[np.clip(np.arange(-width[0], max(3 + width[1], -width[0])), 0, 2)]
    x = ng.DimArray(np.arange(3.0), "x")
    np.testing.assert_array_equal(x.pad(x=width, mode="edge").data, want)
    np.testing.assert_array_equal(ng.grad(lambda x: x.pad(x=width, mode="edge").sum())(x).data, [np.sum(want == k) for k in range(3)])


def test_options_of_padding_by_dim() -> None:
    got = A.pad({"a": (1, 2), "b": 1}, constant_values={"a": (5.0, 6.0), "b": 7.0}).data
    assert got[0, 1] == 5
    assert got[-1, 1] == 6
    assert got[3, 0] == got[3, -1] == 7
    g = ng.grad(lambda v: (A.pad(a=(2, 0), constant_values=v) * 3.0).sum())(ng.DimArray(2.0, ()))
    assert g.item() == 2 * 8 * 3.0


def test_one_cell_reflected() -> None:
    for mode in ("reflect", "symmetric", "wrap", "edge"):
        assert ng.DimArray([4.0], "x").pad(x=(2, 1), mode=mode).data.tolist() == [4.0] * 4


def test_names_that_are_no_texts_are_paired_alike() -> None:
    x = ng.DimArray([1.0, 2.0], [("lat", 0)])
    assert ng.diag_embed(x).dims == (("lat", 0), (("lat", 0), "2"))
    assert ng.eigvalsh(ng.diag_embed(x), ng.diag_embed(x).dims).dims == (((("lat", 0), "2"), "2"),)


# ------------------------------------------------------------------------------------------------ numbered axes


def test_functions_on_numbered_axes() -> None:
    p = ng.positional(X)
    np.testing.assert_array_equal(ng.diagonal(p, (0, 1), 1).data, np.diagonal(X, 1))
    np.testing.assert_array_equal(ng.diag_embed(p).data[2], np.diag(X[2]))
    np.testing.assert_array_equal(ng.head(p, {0: 2}).data, X[:2])
    np.testing.assert_array_equal(ng.repeat(p, {1: 2}).data, np.repeat(X, 2, 1))
    np.testing.assert_array_equal(ng.cummax(p, -1).data, np.maximum.accumulate(X, -1))
    np.testing.assert_array_equal(ng.topk(p, 2, 0).data, np.sort(X, 0)[:-3:-1])
    np.testing.assert_array_equal(ng.rot90(p, (0, 1)).data, np.rot90(X))
    np.testing.assert_allclose(ng.vector_norm(p, 1, ord=3).data, np.linalg.vector_norm(X, axis=1, ord=3))
    assert [q.shape for q in ng.unbind(p, 0)] == [(8,)] * 6


def test_parts_of_one_array_of_which_one_has_its_slices_renamed() -> None:
    x = ng.DimArray(X, ("b", "a"), vectorized="b")
    expected = np.einsum("db,bk->dbk", np.eye(len(X)), 2 * X) * np.sin(X[:, 3:]).sum()
    expected[:, :, 3:] = (X[:, :3] ** 2).sum(1)[:, None, None] * np.cos(X[:, 3:])

    def f(x: ng.DimArray) -> ng.DimArray:
        first, second = ng.split(x, [3], "a")
        own = (first**2).sum().devectorize("b").rename(b="d").vectorize("d")
        return own * ng.sin(second).sum().devectorize("b").sum()

    for g in (ng.grad(f)(x), ng.jacobian(f, mode="forward")(x).rename({"a_wrt": "a"})):
        np.testing.assert_allclose(g.devectorize().transpose("d", "b", "a").data, expected, rtol=1e-12)

    def met(x: ng.DimArray) -> ng.DimArray:
        first, second = ng.split(x, [3], "a")
        return first.sum().devectorize("b").rename(b="d").vectorize("d") * second.sum()

    with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
        ng.grad(met)(x)


def test_numbers_that_are_joined_have_the_dtype_of_the_arrays() -> None:
    single, whole = ng.ones({"f": 2, "t": 3}, dtype="float32"), ng.DimArray([1, 2], "t")
    for arrays, dtype in (
        ([single, 0.5], "float32"), ([-0.0, single], "float32"), ([ng.DimArray(np.float32(2), ()), 1], "float32"),
        ([single, 1j], "complex64"), ([single, np.float64(0.5)], "float64"), ([whole, 2], "int64"), ([whole, 0.5], "float64"),
        ([1, 2.5, True], "float64"), ([single, whole, 0.1], "float64"), ([whole.astype("int8"), True], "int8"),
    ):  # fmt: skip
        assert ng.concat(arrays, "t").dtype == dtype, (arrays, dtype)
    np.testing.assert_array_equal(ng.concat([single, 0.5], "t").data, [[1, 1, 1, 0.5]] * 2)
    assert np.signbit(ng.concat([-0.0, single], "t").data[:, 0]).all()
    assert ng.concat([single, whole, 0.1], "t").data[0, -1] == 0.1
    assert ng.concat([whole.astype("int8"), 300], "t").data[-1] == 300
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    np.testing.assert_array_equal(ng.concat([ng.DimArray(days[:1], "t"), ng.DimArray(days[1], ())], "t").data, days)
    carries = ng.scan(lambda c, x: (c * x.sum(), c), 0.5, single, "t")[1]
    assert carries.dtype == "float32"
    assert ng.grad(lambda c: (ng.concat([single, c, c * c], "t") ** 2).sum())(3.0) == 2 * (2 * 3.0 + 4 * 3.0**3)


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (1, 4), (0, 3), (3, 0)])
def test_diagonals_and_triangles_beyond_the_corners(shape: tuple[int, int]) -> None:
    table = np.random.default_rng(3).normal(size=(2, *shape))
    for backend in ("numpy", "dask"):
        x = ng.DimArray(table, ("n", "i", "j")).to(backend)
        turned = ng.DimArray(table.swapaxes(1, 2), ("n", "j", "i")).to(backend)
        for k in range(-6, 7):
            for a in (x, turned):
                got = [f(a, ("i", "j"), k).transpose("n", "i", "j") for f in (ng.tril, ng.triu)]
                for y, want in zip(got, (np.tril(table, k), np.triu(table, k)), strict=True):
                    np.testing.assert_array_equal(y.to_numpy(), want)
                line, pull = ng.pullback(lambda a, k=k: ng.diagonal(a, ("i", "j"), k, new_dim="d"), a)
                want = np.diagonal(table, k, 1, 2)
                np.testing.assert_array_equal(line.to_numpy(), want)
                back = np.zeros(table.shape)
                at = np.arange(want.shape[1])
                back[:, at + max(-k, 0), at + max(k, 0)] = want
                np.testing.assert_array_equal(pull(line).transpose("n", "i", "j").to_numpy(), back)


@pytest.mark.parametrize("backend", ["numpy", "dask"])
def test_blocks_of_any_size_on_a_diagonal(backend: str) -> None:
    rng = np.random.default_rng(4)
    tables = [rng.normal(size=n) for n in ((2, 3), (0, 2), (1, 1), (3, 0), (2, 2))] + [np.array([[1, 2]])]
    blocks = [ng.DimArray(t, ("i", "j")).to(backend) for t in tables]
    want = scipy.linalg.block_diag(*tables)
    out = ng.block_diag(*blocks, dims=("i", "j"))
    np.testing.assert_array_equal(out.to_numpy(), want)
    turned = [b.transpose() for b in blocks]
    np.testing.assert_array_equal(ng.block_diag(*turned, dims=("i", "j")).to_numpy(), want)
    _, pull = ng.pullback(lambda *b: ng.block_diag(*b, blocks[-1], dims=("i", "j")), *blocks[:-1])
    for got, table in zip(pull(out), tables[:-1], strict=True):
        np.testing.assert_array_equal(got.to_numpy(), table)


@pytest.mark.parametrize("names", [("b",), ("c",), ("b", "c")])
@pytest.mark.parametrize("kind", ["roll", "shift"])
def test_shifts_that_differ_per_slice(kind, names):
    """xarray's answer for each slice; of gradients those of the cells that each went to."""
    rng = np.random.default_rng(3)
    rows, sizes = rng.normal(size=(2, 5, 3)), {"b": 2, "c": 3}
    by = rng.integers(-6, 7, [sizes[n] for n in names])
    x, shift = ng.DimArray(rows, ("b", "x", "y"), vectorized="b"), ng.DimArray(by, names, vectorized=names)
    out, pull = ng.pullback(lambda x: getattr(x, kind)(x=shift), x)
    assert out.dims == ("x", "y")
    g = rng.normal(size=(2, 3, 5, 3))
    back = pull(ng.DimArray(g, ("b", "c", "x", "y"), vectorized=("b", "c"))).devectorize().transpose("b", "c", "x", "y").data
    got = out.devectorize().broadcast_like(ng.zeros({"b": 2, "c": 3, "x": 5, "y": 3})).transpose("b", "c", "x", "y").data
    for b, c in np.ndindex(2, 3):
        k = int(by[tuple({"b": b, "c": c}[n] for n in names)])
        row, slope = (xr.DataArray(a, dims=("x", "y")) for a in (rows[b], g[b, c]))
        np.testing.assert_array_equal(got[b, c], getattr(row, kind)(x=k))
        np.testing.assert_array_equal(back[b, c], getattr(slope, kind)(x=-k, **({} if kind == "roll" else {"fill_value": 0.0})))


def test_arguments_of_numpy_that_named_arrays_do_not_take():
    x = ng.DimArray(np.ones((2, 3)), ("x", "y"))
    with pytest.raises(TypeError, match=r"np\.mean: where= .*skipna.*ng\.where"):
        np.mean(x, axis="x", where=True)
    with pytest.raises(TypeError, match=r"np\.sum: initial= "):
        np.sum(x, axis="x", initial=1.0)
