"""The accessor: every method is the function form with the object first; sensitivities and errors."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import LON, field


def f(x, k=1.0):
    return k * (x * x.lat).std() ** 2


def test_is_stateless():
    x = field()
    assert x.grad is not x.grad
    assert not any("grad" in str(k) for k in getattr(x, "_cache", None) or {})
    assert type(x.grad).__slots__ == ("_obj",)
    assert type(x.to_dataset(name="a").grad) is type(x.grad)
    assert "grad" in repr(x.grad)


def test_gradients():
    x = field()
    assert x.grad(f).identical(ng.grad(f)(x))
    assert x.grad(f, 3.0, over="time").identical(ng.grad(f, over="time")(x, 3.0))
    assert x.grad(f, k=3.0).identical(ng.grad(f)(x, k=3.0))
    value, g = x.grad.value_and_grad(f, over="lon")
    assert g.identical(ng.grad(f, over="lon")(x))
    assert value.identical(ng.vmap(f, "lon")(x))
    gx, gk = x.grad(f, 2.0, wrt=(0, 1))
    assert gx.identical(ng.grad(f)(x, 2.0))
    assert gk == pytest.approx(f(x).item())
    g, aux = x.grad(lambda x: (f(x), x.mean("time")), has_aux=True)
    assert aux.identical(x.mean("time"))


def test_dataset_and_tree():
    ds = xr.Dataset({"a": field(), "b": 2.0})
    loss = lambda d: (d["a"] * d["b"]).sum()
    g = ds.grad(loss)
    np.testing.assert_allclose(g.b, ds.a.sum())
    tree = xr.DataTree(ds)
    np.testing.assert_allclose(tree.grad(loss)["b"], ds.a.sum())


def test_second_order_and_products():
    x = field()[:3, 0]
    v = x.copy(data=np.random.default_rng(0).normal(size=x.shape))
    cube = lambda x, k=1.0: k * (x**3).sum()
    assert x.grad.jacobian(lambda x: x**2).identical(ng.jacobian(lambda x: x**2)(x))
    assert x.grad.hessian(cube).identical(ng.hessian(cube)(x))
    np.testing.assert_allclose(x.grad.hessian(cube, part="diagonal"), 6 * x)
    np.testing.assert_allclose(x.grad.hvp(cube, v, 2.0), 12 * x * v)
    out, tangent = x.grad.jvp(lambda x: x**2, v)
    assert out.identical(x**2)
    np.testing.assert_allclose(tangent, 2 * x * v)
    out, pull = x.grad.vjp(lambda x: x**2)
    np.testing.assert_allclose(pull(v), 2 * x * v)
    assert pull(v).coords.identical(x.coords)


def test_check():
    x = field()[:3, 0]
    x.grad.check(f)

    @ng.custom_pullback
    def wrong(x):
        return x * x

    wrong.pullback(lambda cotangent, out, x: cotangent * x)
    with pytest.raises(AssertionError):
        x.grad.check(lambda x: wrong(x).sum())


def test_sensitivity():
    x = field()
    plain = x.grad.sensitivity(f)
    np.testing.assert_allclose(plain, x.grad(f))
    mean = lambda x: x.std()
    by_area = x.grad.sensitivity(mean, density=x.area.assign_attrs(units="m2"))
    np.testing.assert_allclose(by_area, x.grad(mean) / x.area)
    assert by_area.dims == x.dims
    assert by_area.attrs["units"] == "1 / m2"
    relative = x.grad.sensitivity(f, relative=True, over="lon")
    np.testing.assert_allclose(relative, x.grad(f, over="lon") * x / ng.vmap(f, "lon")(x))
    assert relative.attrs["units"] == "1"
    ds = xr.Dataset({"a": x, "b": 2.0})
    relative = ds.grad.sensitivity(lambda d: (d.a * d.b**2).sum(), relative=True)
    assert relative.b.item() == pytest.approx(2.0)
    assert relative.a.sum().item() == pytest.approx(1.0)


def test_propagation_of_independent_errors():
    x = field()[:, 0]
    mean = lambda x: x.weighted(xr.DataArray([1.0, 2, 3, 4], dims="lon", coords={"lon": LON})).mean("lon")
    weights = np.array([1, 2, 3, 4]) / 10
    variance = x.grad.propagate(mean, cov=0.5, over="time")
    np.testing.assert_allclose(variance, np.full(24, 0.5 * (weights**2).sum()))
    per_cell = xr.DataArray([1.0, 2, 3, 4], dims="lon", coords={"lon": LON})
    variance = x.grad.propagate(mean, cov=per_cell, over="time")
    np.testing.assert_allclose(variance, np.full(24, (weights**2 * per_cell.values).sum()))


def test_propagation_of_covariances():
    rng = np.random.default_rng(0)
    x = xr.DataArray(rng.normal(size=3), dims="x", coords={"x": [1, 2, 3]})
    root = rng.normal(size=(3, 3))
    cov = xr.DataArray(root @ root.T, dims=("x", "x_wrt"), coords={"x": [1, 2, 3], "x_wrt": [1, 2, 3]})
    g = lambda x: xr.concat([x.sum(), (x**2).sum()], "y")
    jac = np.stack([np.ones(3), 2 * x.values])
    out = x.grad.propagate(g, cov=cov)
    assert out.dims == ("y", "y_wrt")
    np.testing.assert_allclose(out, jac @ cov.values @ jac.T)
    params = xr.Dataset({"a": 2.0, "b": 3.0})
    names = {"param": ["a", "b"], "param_wrt": ["a", "b"]}
    cov = xr.DataArray([[1.0, 0.5], [0.5, 2.0]], dims=("param", "param_wrt"), coords=names)
    slope = np.array([3.0, 2.0])
    out = params.grad.propagate(lambda p: p.a * p.b, cov=cov)
    assert out.item() == pytest.approx(slope @ cov.values @ slope)
    with pytest.raises(ng.AxisError, match="level"):
        x.grad.propagate(g, cov=xr.DataArray([1.0], dims="level"))


def test_fits():
    rng = np.random.default_rng(0)
    t = xr.DataArray(np.linspace(0.0, 3.0, 12), dims="t")
    rate = xr.DataArray([[0.5, 1.0], [1.5, 2.0]], dims=("lat", "lon"), coords={"lat": [10.0, 20.0]})
    noise = xr.DataArray(rng.normal(size=(2, 2, 12)), dims=("lat", "lon", "t"))
    y = (3 * np.exp(-rate * t)).assign_coords(t=t) + 0.01 * noise
    model = lambda p, t: p["a"] * np.exp(-p["b"] * t)
    fit = y.grad.fit(model, "t", {"a": 1.0, "b": 1.0}, over=("lat", "lon"), bounds={"b": (0.0, None)})
    direct = ng.least_squares(
        lambda p, t, y: model(p, t) - y, {"a": 1.0, "b": 1.0}, t, y, over=("lat", "lon"), bounds={"b": (0.0, None)}
    )
    np.testing.assert_allclose(fit.params["b"], direct.params["b"], rtol=1e-8)
    np.testing.assert_allclose(fit.params["b"], rate, rtol=0.05)
    np.testing.assert_array_equal(fit.params["b"].lat, rate.lat)
    with pytest.raises(TypeError, match="datetime64"):
        field().grad.fit(model, "time", {"a": 1.0, "b": 1.0}, over=("lat", "lon"))
    with pytest.raises(TypeError, match="Dataset"):
        y.to_dataset(name="y").grad.fit(model, "t", {"a": 1.0, "b": 1.0})
