"""The other transforms on xarray objects, and nesting."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import field


def small() -> xr.DataArray:
    return field()[:3, 0]


def test_linear_maps():
    x = small()
    f = lambda x: (x**2).mean("lon")
    out, L = ng.linearize(f, x)
    assert out.identical(f(x))
    t = x.copy(data=np.random.default_rng(0).normal(size=x.shape))
    np.testing.assert_allclose(L(t), (2 * x * t).mean("lon"))
    np.testing.assert_allclose(L.T(out).transpose(*x.dims), (x / 2 * out).transpose(*x.dims))
    assert L.T(out).coords.identical(x.coords)
    assert L.dense().dims == ("time", "time_wrt", "lon_wrt")
    np.testing.assert_allclose(L.to_scipy() @ t.values.ravel(), L(t).values)


def test_pullbacks_of_several_arguments_and_outputs():
    x, y = small(), small() + 1.0
    out, pull = ng.pullback(lambda x, y: {"p": x * y, "m": x.mean()}, x, y)
    gx, gy = pull({"p": x, "m": xr.DataArray(2.0)})
    np.testing.assert_allclose(gx, x * y + 2 / x.size)
    np.testing.assert_allclose(gy, x * x)
    assert out["m"].identical(x.mean())


def test_vectorized_tangents_give_one_answer_each():
    x = small()
    t = ng.vectorize(x.expand_dims(k=[10, 20]) * xr.DataArray([1.0, 3.0], dims="k"), "k")
    _, pushed = ng.pushforward(lambda x: (x**2).sum("lon"), (x,), (t,))
    assert pushed.dims == ("time",)
    shown = ng.devectorize(pushed)
    np.testing.assert_allclose(shown.isel(k=1), (6 * x**2).sum("lon"))


def test_nesting():
    x = small()
    g = ng.grad(lambda x: (ng.grad(lambda y: (y**3).sum())(x) ** 2).sum())(x)
    np.testing.assert_allclose(g, 36 * x**3)
    inner = ng.grad(lambda y: (y**3).std(), over="lon")
    both = ng.vmap(inner, "time")(x)
    for i in range(3):
        for j in range(4):
            np.testing.assert_allclose(both[i, j], ng.grad(lambda y: (y**3).std())(x[i, j]), atol=1e-12)
    assert both.coords.identical(x.coords)


def test_checkpoint_scan_and_custom_rules():
    x = field()[:6]
    g = ng.grad(lambda x: ng.checkpoint(lambda x: np.exp(x).mean("time"))(x).sum())(x)
    np.testing.assert_allclose(g, np.exp(x) / 6)

    def step(carry, now):
        carry = carry * 0.5 + now
        return carry, carry**2

    def loop(x):
        return ng.scan(step, x.isel(time=0, drop=True) * 0, x, "time")[1]

    out = loop(x)
    assert out.dims == x.dims
    along = x.copy(data=np.random.default_rng(0).normal(size=x.shape))
    g = ng.grad(lambda x: loop(x).sum())(x)
    slope = (loop(x + 1e-5 * along).sum() - loop(x - 1e-5 * along).sum()) / 2e-5
    assert np.vdot(g, along) == pytest.approx(slope.item(), rel=1e-7)

    square = ng.custom_pullback(lambda x: x**2)
    square.pullback(lambda cotangent, out, x: cotangent * 3 * x)
    for over in ((), "lat"):
        np.testing.assert_allclose(ng.grad(lambda x: square(x).sum(), over=over)(x), 3 * x)


def test_constants_of_the_same_kind():
    x = small()
    assert ng.zeros_like(x).identical(xr.zeros_like(x))
    assert ng.full_like(x.to_dataset(name="a"), 2.0).identical(xr.full_like(x.to_dataset(name="a"), 2.0))
    np.testing.assert_array_equal(ng.grad(lambda x: (x * ng.ones_like(x)).sum())(x), 1.0)
    np.testing.assert_array_equal(ng.grad(lambda x: (x * ng.stop_gradient(x)).sum())(x), x)


def test_complex_data():
    x = small() * (1 + 2j)
    g = ng.grad(lambda z: (abs(z) ** 2).sum())(x)
    np.testing.assert_allclose(g, 2 * x)
    spectrum = lambda x: xr.apply_ufunc(np.fft.rfft, x, input_core_dims=[["lon"]], output_core_dims=[["k"]])
    g = ng.grad(lambda x: (abs(spectrum(x).isel(k=1)) ** 2).sum())(small())
    along = np.random.default_rng(0).normal(size=g.shape)
    ends = [(abs(spectrum(small() + h * along).isel(k=1)) ** 2).sum().item() for h in (1e-6, -1e-6)]
    assert np.vdot(g, along) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_copies_and_text_of_vectorized_objects():
    x = ng.vectorize(small().expand_dims(lat=1), "lat")
    for text in (repr(x), x._repr_html_(), repr(x.to_dataset(name="a"))):
        assert "vectorized" in text
    import copy
    import pickle

    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert ng.devectorize(y).identical(ng.devectorize(x))


def counted(ds):
    """Numbers, counts, marks and text; one coordinate has a dim of its own."""
    out = ds[["a"]].assign(count=ds.a.count("time"), high=ds.a > 2, name=("lat", list("abc")), mean=ds.a.mean("time"))
    return out.assign_coords(kind=("other", [1, 2]))


def tree_of(ds):
    return xr.DataTree.from_dict({"/": counted(ds), "/low": counted(ds - 1.0)})


@pytest.mark.parametrize("f", [counted, tree_of])
@pytest.mark.parametrize("value", [
    lambda f, ds: ng.pullback(f, ds)[0],
    lambda f, ds: ng.pushforward(f, (ds,), (ds,))[0],
    lambda f, ds: ng.linearize(f, ds)[0],
    lambda f, ds: ng.value_and_grad(lambda ds: (ds.a.sum(), f(ds)), has_aux=True)(ds)[0][1],
    lambda f, ds: ng.grad(lambda ds: (ds.a.sum(), f(ds)), has_aux=True)(ds)[1],
    lambda f, ds: ng.checkpoint(f)(ds),
    lambda f, ds: ng.value_and_grad(lambda ds: (ng.checkpoint(f)(ds)["a"].sum(), ng.checkpoint(f)(ds)), has_aux=True)(ds)[0][1],
    lambda f, ds: ng.compile(f)(ds),
])  # fmt: skip
def test_values_are_all_that_a_function_returns(f, value):
    ds = xr.Dataset({"a": field()})
    found, expected = value(f, ds), f(ds)
    assert found.identical(expected)
    for node in (found.subtree if isinstance(found, xr.DataTree) else [found]):
        assert all(isinstance(v.data, np.ndarray) for v in node.data_vars.values())


def test_tangents_and_cotangents_meet_by_variable_and_by_label():
    x = field()[:3, 0]
    ds = xr.Dataset({"a": x, "b": x**2, "whole": ("time", [1, 2, 3])})
    f = lambda d: d.a**2 + 3 * d.b
    t = ds[["b", "whole", "a"]].isel(lon=[3, 0, 2, 1], time=[2, 0, 1])
    expected = 2 * ds.a * ds.a + 3 * ds.b
    for found in (ds.grad.jvp(f, t)[1], ng.linearize(f, ds)[1](t), xr.DataTree(ds).grad.jvp(lambda tree: f(tree.dataset), xr.DataTree(t))[1]):
        np.testing.assert_allclose(found, expected)
        assert found.indexes["lon"].equals(x.indexes["lon"])
    g = ds.grad.vjp(lambda d: d[["a", "b"]] ** 2)[1](t)
    np.testing.assert_allclose(g.a, 2 * ds.a**2)
    np.testing.assert_allclose(g.b, 2 * ds.b**2)
    curved = x.grad.hvp(lambda x: (x**3).sum(), x.isel(lon=[3, 0, 2, 1]))
    np.testing.assert_allclose(curved, 6 * x**2)
    assert curved.indexes["lon"].equals(x.indexes["lon"])
    bare = x.isel(lon=[3, 0, 2, 1]).drop_vars("lon")
    np.testing.assert_allclose(x.grad.jvp(lambda x: x**2, bare)[1], 2 * x * bare.values)


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (lambda d: d[["a"]], TypeError, "the tangent has no variable 'b'"),
        (lambda d: d.assign(c=d.a), TypeError, r"the tangent has a variable 'c', but what is differentiated are \['a', 'b'\]"),
        (lambda d: d.assign_coords(lon=d.lon + 1), ng.AxisError, "other labels along 'lon'.*reindex_like"),
        (lambda d: d.isel(lon=[0, 0, 1, 2]), ng.AxisError, "other labels along 'lon'"),
        (lambda d: d.a, TypeError, "the tangent of a Dataset must be one too, got a DataArray"),
        (lambda d: d.isel(lon=[0, 1]), ng.AxisError, "has 2 along 'lon'"),
    ],
)
def test_tangents_that_do_not_match(spoil, kind, message):
    ds = xr.Dataset({"a": field()[:3, 0], "b": field(1)[:3, 0]})
    with pytest.raises(kind, match=message):
        ds.grad.jvp(lambda d: d.a * d.b, spoil(ds))


def test_a_tree_without_a_node_is_no_tangent():
    tree = xr.DataTree.from_dict({"/": xr.Dataset({"a": 1.0}), "/low": xr.Dataset({"a": 2.0})})
    with pytest.raises(TypeError, match="the tangent has no node 'low'"):
        tree.grad.jvp(lambda t: t["a"] * t["low/a"], xr.DataTree.from_dict({"/": xr.Dataset({"a": 1.0})}))


def test_what_is_no_single_output_is_said():
    for f, what in (
        (lambda x: x.count(), "got 0 in DataArray of dtype int64"),
        (lambda x: (x.sum(), x.mean()), "got 2 in DataArray of dtype float64, DataArray of dtype float64"),
        (lambda x: xr.Dataset({"a": x.sum(), "b": x.mean()}), "got 2 in Dataset of dtype float64"),
    ):
        with pytest.raises(TypeError, match=what):
            field().grad(f)
