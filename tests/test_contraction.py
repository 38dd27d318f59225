"""Contractions, distances and blocks beyond the grid: order of pairs, extreme values, refusals."""

import math

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.arrays import draw
from tests.support.calls import calls_of


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------------------------ dot


def test_many_operands_are_paired_in_a_cheap_order(rng):
    a, b, c, d = draw(rng, i=30, j=31), draw(rng, j=31, k=32), draw(rng, k=32, m=33), draw(rng, m=33)
    sizes = [math.prod(s) for s in calls_of(lambda: ng.dot(a, b, c, d)).shapes]
    assert max(sizes) <= 32, "matrix times vector, never matrix times matrix"
    np.testing.assert_allclose(ng.dot(a, b, c, d).data, np.linalg.multi_dot([a.data, b.data, c.data, d.data]), rtol=1e-12)


def test_a_contraction_is_one_batched_product(rng):
    x, y = draw(rng, b=5, i=3, k=4), draw(rng, k=4, j=2, b=5)
    assert calls_of(lambda: ng.dot(x, y, dim="k")).names.count("contract") == 1
    np.testing.assert_allclose(ng.dot(x, y, dim="k").data, np.einsum("bik,kjb->bij", x.data, y.data), rtol=1e-12)


def test_dims_of_two_names_meet(rng):
    x, y = draw(rng, a=3, b=4, c=2), draw(rng, u=4, v=3, c=2)
    z = ng.dot(x, y, dim={"a": "v", "b": "u"})
    np.testing.assert_allclose(z.data, np.einsum("abc,bac->c", x.data, y.data), rtol=1e-12)
    z = ng.dot(x, y, dim={"a": "v"})
    np.testing.assert_allclose(z.transpose("b", "c", "u").data, np.einsum("abc,uac->bcu", x.data, y.data), rtol=1e-12)


def test_dot_refuses(rng):
    x, y = draw(rng, a=3, b=4), draw(rng, u=4, v=3)
    with pytest.raises(TypeError, match="two operands, 3 are given"):
        ng.dot(x, y, x, dim={"a": "v"})
    with pytest.raises(ng.AxisError, match=r"sizes of 'a'.*'u'.*differ"):
        ng.dot(x, y, dim={"a": "u"})
    with pytest.raises(ng.AxisError, match="twice"):
        ng.dot(draw(rng, a=3, b=3), draw(rng, u=3), dim={"a": "u", "b": "u"})
    with pytest.raises(ng.AxisError, match="no operand has a dim 'q'"):
        ng.dot(x, y, dim="q")
    with pytest.raises(ng.AxisError, match="vectorized"):
        ng.dot(x.vectorize("a"), y, dim="a")
    with pytest.raises(TypeError, match="at least one"):
        ng.dot()


def test_dot_of_a_vectorized_and_a_plain_operand_sums_a_shared_dim_only(rng):
    x, w = draw(rng, B=4, i=3), draw(rng, i=3, j=2)
    g = ng.grad(lambda w: (ng.dot(x.vectorize("B"), w, dim="i") ** 2).sum())(w)
    assert (g.vectorized, g.dims) == (("B",), ("i", "j"))
    np.testing.assert_allclose(g.data, 2 * np.einsum("bi,bj->bij", x.data, x.data @ w.data), rtol=1e-12)


@pytest.mark.parametrize("name", ["inner", "vdot", "kron", "vecdot", "matmul", "tensordot"])
def test_numpys_functions_of_places_name_ours(rng, name):
    x = draw(rng, a=3)
    with pytest.raises(TypeError, match=r"ng\.(inner|vdot|kron|vecdot|dot)"):
        getattr(np, name)(x, x)


# ------------------------------------------------------------------------------------------------ distances


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, 64, math.inf])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-300])
@pytest.mark.parametrize("count", [2, 200])
def test_distances_neither_overflow_nor_vanish(rng, p, scale, count):
    x, y = draw(rng, i=count, k=3), draw(rng, j=100, k=3)
    y.data[0] = x.data[0]
    plain, large = ng.cdist(x, y, "k", p=p), ng.cdist(x * scale, y * scale, "k", p=p)
    np.testing.assert_allclose(large.data / scale, plain.data, rtol=1e-11)
    slope = ng.grad(lambda x: ng.cdist(x, y, "k", p=p).sum())(x)
    there = ng.grad(lambda x: ng.cdist(x, y * scale, "k", p=p).sum())(x * scale)
    np.testing.assert_allclose(there.data, slope.data, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_second_derivatives_of_distances_are_finite_where_points_meet(rng, p):
    x = draw(rng, i=4, k=3)
    x.data[1], x.data[2, 0] = x.data[0], x.data[3, 0]
    for f in (lambda x: ng.cdist(x, x.rename(i="j"), "k", p=p).sum(), lambda x: ng.pdist(x, ("i", "k"), p=p).sum()):
        assert np.isfinite(ng.grad(f)(x).data).all()
        assert np.isfinite(ng.hessian(f)(x).data).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("far", [1.0, 1e-200, 1e100])
def test_distances_along_an_axis_bend_across_it_whatever_is_beside_them(scale, far):
    """``|d|`` bends by ``(1 - e e.T) / |d|``; where products were out of range, what stood still did not bend at all."""
    x = ng.DimArray(scale * np.array([[0.0, 0.0], [2.0, 0.0]]) * [[[1.0]], [[far]]], ("r", "i", "k"))
    v = ng.DimArray(scale * np.array([[0.3, 0.7], [0.1, -0.4]]), ("i", "k")).broadcast_like(x).isel(r=[0]).pad({"r": (0, 1)}, constant_values=0)
    origin = ng.zeros({"j": 1, "k": 2})
    losses = ((lambda x: ng.cdist(x, origin, "k").sum(), [0.0, 0.0, 0.0, -0.2]), (lambda x: ng.pdist(x, ("i", "k")).sum(), [0.0, 0.55, 0.0, -0.55]))
    for f, bend in losses:
        again = ng.grad(lambda x, f=f: (ng.grad(f)(x) * v).sum())(x)
        for h in (ng.hvp(f, x, v), again, ng.compile(lambda x, f=f: ng.hvp(f, x, v))(x)):
            np.testing.assert_allclose(h.isel(r=0).transpose("i", "k").data.ravel(), bend, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("n", [2, 31, 32, 33, 34, 65, 100])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_distances_of_pairs_in_blocks_of_rows(rng, n, p):
    x = rng.normal(size=(2, n, 3))
    x[0, 1], x[1, -1], x[1, 0, 0] = x[0, 0], 1e300, np.nan
    x[0] *= 1e-250  # whose squares vanish
    d = ng.DimArray(np.asfortranarray(x), ("b", "i", "k"))
    far = np.abs(x[:, :, None] - x[:, None])
    top = far.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        far = (np.nan_to_num(far / top) ** p).sum(-1) ** (1 / p) * top[..., 0]
    np.testing.assert_allclose(ng.pdist(d, ("i", "k"), p=p).data, far[(slice(None), *np.triu_indices(n, 1))], rtol=1e-13)


@pytest.mark.parametrize("p", [1.5, 2])
def test_gradient_of_distances_of_pairs(rng, p):
    x, g = rng.normal(size=(2, 40, 3)), np.zeros((2, 40, 40))
    cells = (slice(None), *np.triu_indices(40, 1))
    g[cells] = rng.normal(size=(2, 780))
    d = x[:, :, None] - x[:, None]
    far = (np.abs(d) ** p).sum(-1, keepdims=True) ** (1 / p)
    w = (g + g.swapaxes(1, 2))[..., None] * np.sign(d) * (np.abs(d) / (far + (far == 0))) ** (p - 1)
    back = ng.pullback(lambda x: ng.pdist(x, ("i", "k"), p=p), ng.DimArray(x, ("b", "i", "k")))[1]
    np.testing.assert_allclose(back(ng.DimArray(g[cells], ("b", "pair"))).data, w.sum(2), rtol=1e-11, atol=1e-13)


def test_distance_to_a_close_point_far_from_the_origin_keeps_its_digits():
    x = ng.DimArray([[1e8, 1e8]], ("i", "k"))
    y = ng.DimArray([[1e8 + 3e-3, 1e8 + 4e-3]], ("j", "k"))
    exact = y.data - x.data  # what is left of 3e-3 and 4e-3
    assert ng.cdist(x, y, "k").item() == pytest.approx(np.hypot(*exact[0]), rel=1e-14)
    assert ng.grad(lambda x: ng.cdist(x, y, "k").sum())(x).data[0] == pytest.approx(-exact[0] / np.hypot(*exact[0]), rel=1e-12)


def test_both_ways_to_distances_agree(rng):
    x, y, g = draw(rng, i=30, k=3), draw(rng, j=40, k=3), draw(rng, i=30, j=40)
    results = []
    for mode in ("direct", "matmul"):
        out, pull = ng.pullback(lambda x, y, mode=mode: ng.cdist(x, y, "k", compute_mode=mode), x, y)
        results.append((out, *pull(g)))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-10, atol=1e-10)
    assert "contract" in calls_of(lambda: ng.cdist(x, y, "k", compute_mode="matmul")).names


def test_distances_refuse(rng):
    x = draw(rng, i=3, k=2)
    with pytest.raises(ValueError, match="compute_mode"):
        ng.cdist(x, x, "k", p=1, compute_mode="matmul")
    with pytest.raises(ValueError, match="negative"):
        ng.cdist(x, x, "k", p=-1)
    with pytest.raises(ng.AxisError, match="no dim 'q'"):
        ng.cdist(x, x, "q")
    with pytest.raises(ng.AxisError, match="2 names"):
        ng.pdist(x, "k")
    with pytest.raises(ng.AxisError, match="choose another new_dim"):
        ng.pdist(draw(rng, i=3, k=2, b=2), ("i", "k"), new_dim="b")


def test_distances_of_integers_are_floats():
    x = ng.DimArray([[0, 0], [3, 4]], ("i", "k"))
    np.testing.assert_array_equal(ng.pdist(x, ("i", "k")).data, [5.0])
    assert ng.cdist(x.astype("float32"), x.astype("float32").rename(i="j"), "k").dtype == "float32"


def test_coordinates_of_points_stay():
    x = xr.DataArray([[0.0, 0.0], [3.0, 4.0]], dims=("i", "k"), coords={"i": [10, 20]})
    d = ng.cdist(x, x.rename(i="j"), dim="k")
    assert d.dims == ("i", "j")
    assert d.sel(i=10, j=20).item() == 5.0


# ------------------------------------------------------------------------------------------------ blocks


def test_blocks_of_different_sizes(rng):
    a, b, c = draw(rng, r=2, c=3), draw(rng, c=1, r=3), draw(rng, n=2, c=2)
    out = ng.block_diag(a, b, c, dims=("r", "c"))
    assert out.sizes == {"n": 2, "r": 6, "c": 6}
    np.testing.assert_array_equal(out.data[1, 5, 4:], c.data[1])
    g = draw(rng, n=2, r=6, c=6)
    ga, gb, gc = ng.pullback(lambda *x: ng.block_diag(*x, dims=("r", "c")), a, b, c)[1](g)
    np.testing.assert_allclose(ga.data, g.data[:, :2, :3].sum(0), rtol=1e-13)
    np.testing.assert_allclose(gb.transpose("r", "c").data, g.data[:, 2:5, 3:4].sum(0), rtol=1e-13)
    np.testing.assert_array_equal(gc.data, g.data[:, 5, 4:])


def test_blocks_and_combinations_refuse(rng):
    x = draw(rng, r=2, c=3)
    with pytest.raises(ng.AxisError, match="2 names"):
        ng.block_diag(x, dims="r")
    with pytest.raises(ng.AxisError, match="vectorized"):
        ng.block_diag(x.vectorize("r"), dims=("r", "c"))
    with pytest.raises(ng.AxisError, match="say by dim="):
        ng.cartesian_prod(x)
    with pytest.raises(ng.AxisError, match="more than once"):
        ng.cartesian_prod(draw(rng, a=2), draw(rng, a=2))
    with pytest.raises(ng.AxisError, match="one dim for each"):
        ng.cartesian_prod(x, x, dim=("r",))
    with pytest.raises(ng.AxisError, match="kron: no dim 'q'"):
        ng.kron(x, x, "q")


@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (0, 2, 1, 4, 3), (3, 0, 4, 2, 1), (2, 4, 0, 1, 3)])
@pytest.mark.parametrize("first", [True, False])
def test_products_of_large_arrays_in_any_order_in_memory(rng, order, first):
    sizes = dict(zip("bmnkl", (5, 6, 7, 15, 17), strict=True))
    stored = [tuple(sizes)[i] for i in order]
    x = np.transpose(rng.normal(size=[sizes[n] for n in stored]), np.argsort(order))
    y = rng.normal(size=(17, 5, 3, 15, 2))
    a, b = ng.DimArray(x, tuple("bmnkl")), ng.DimArray(y, tuple("lbokp"))
    found = ng.dot(a, b, dim=("k", "l")) if first else ng.dot(b, a, dim=("k", "l"))
    expected = np.einsum("bmnkl,lbokp->bmnop", x, y)
    np.testing.assert_allclose(found.transpose(*"bmnop").data, expected, rtol=1e-11, atol=1e-11)
    g = rng.normal(size=(2, 3, 7, 6, 5))
    pulled = ng.pullback(lambda b: ng.dot(a, b, dim=("k", "l")), b)[1](ng.DimArray(g, tuple("ponmb")).transpose(*ng.dot(a, b, dim=("k", "l")).dims))
    np.testing.assert_allclose(pulled.data, np.einsum("bmnkl,ponmb->lbokp", x, g), rtol=1e-11, atol=1e-11)


def test_gradient_of_pdist_takes_no_step_for_each_coordinate_of_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    x, steps, einsum = np.random.default_rng(3).normal(size=(4, 2000)), [], np.einsum
    monkeypatch.setattr(np, "einsum", lambda *args, **kwargs: steps.append(1) or einsum(*args, **kwargs))
    g = ng.grad(lambda x: ng.pdist(x, ("p", "k")).sum())(ng.DimArray(x, ("p", "k"))).data
    apart = x[:, None] - x
    lengths = np.sqrt((apart**2).sum(-1)) + np.eye(4)
    np.testing.assert_allclose(g, (apart / lengths[..., None]).sum(1), rtol=1e-12, atol=1e-13)
    assert len(steps) < 20
