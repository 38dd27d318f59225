"""The accessor: every method is the function form with the object first; sensitivities and errors."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import field


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


def kinds():
    ds = xr.Dataset({"a": field()[:3], "b": 2.0})
    tree = xr.DataTree.from_dict({"/": ds[["a"]], "/sub": ds[["b"]].drop_vars("height")})
    return [
        (ds, lambda d: d["a"], lambda d: d["b"]),
        (tree, lambda t: t["a"], lambda t: t["sub/b"]),
    ]


@pytest.mark.parametrize(("obj", "a", "b"), kinds(), ids=["Dataset", "DataTree"])
def test_the_same_kind_comes_back(obj, a, b):
    loss = lambda x, k=1.0: k * (a(x) ** 2 * b(x) ** 3).sum()
    value, g = obj.grad.value_and_grad(loss)
    assert type(g) is type(obj)
    assert value.item() == pytest.approx(loss(obj).item())
    np.testing.assert_allclose(a(g), 16 * a(obj))
    np.testing.assert_allclose(b(g), 12 * (a(obj) ** 2).sum())
    assert a(g).coords.identical(a(obj).coords)
    assert type(obj.grad(loss, over="lat")) is type(obj)
    np.testing.assert_allclose(b(obj.grad(loss, over="lat")), 12 * (a(obj) ** 2).sum(("time", "lon")))
    out, tangent = obj.grad.jvp(loss, obj, 2.0)
    assert tangent.item() == pytest.approx(5 * out.item())
    out, pull = obj.grad.vjp(lambda x: x * 2)
    assert type(out) is type(obj)
    back = pull(out)
    np.testing.assert_allclose(a(back), 4 * a(obj))
    product = obj.grad.hvp(loss, obj)
    assert type(product) is type(obj)
    np.testing.assert_allclose(b(product), (24 + 24) * (a(obj) ** 2).sum())
    diagonal = obj.grad.hessian(loss, part="diagonal")
    np.testing.assert_allclose(a(diagonal), 16.0)
    np.testing.assert_allclose(b(diagonal), 12 * (a(obj) ** 2).sum())
    g, aux = obj.grad(lambda x: (loss(x), x * 3), has_aux=True)
    assert type(aux) is type(obj)
    np.testing.assert_allclose(a(aux), 3 * a(obj))


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
    out, pull = x.grad.pullback(lambda x: x**2)
    np.testing.assert_allclose(pull(v), 2 * x * v)
    np.testing.assert_allclose(x.grad.pushforward(lambda x, k: x**k, v, 3)[1], 3 * x**2 * v)
    out, L = x.grad.linearize(lambda x: x**2)
    np.testing.assert_allclose(L(v), 2 * x * v)
    assert pull(v).coords.identical(x.coords)


def test_check_says_what_agrees(capsys):
    x = field()[:3, 0]
    x.grad.check(f)
    text = capsys.readouterr().out
    assert text.startswith("f:")
    assert "adjoint (dot product) test: <c, J t> = " in text
    assert "the gradient of f:" in text
    x.grad.check(f, 2.0, order=1)
    assert "gradient" not in capsys.readouterr().out
    x.grad.check(f, k=3)
    x.to_dataset(name="a").grad.check(lambda d: f(d.a), order=1)
    xr.DataTree(x.to_dataset(name="a")).grad.check(lambda t: f(t["a"]), order=1)
    assert capsys.readouterr().out.count("adjoint") == 4


def test_check_of_missing_tiny_and_huge_values():
    x = field()[:4]
    x.where(x > 2.0).grad.check(lambda x: x**3)
    (x * 1e-8).grad.check(lambda x: np.log(x).sum())
    (x * 1e8).grad.check(lambda x: (x**3).mean("lon"))
    (x * 1e-8).grad.check(lambda x: (x**2).mean())


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_check_finds_what_is_wrong(size):
    @ng.custom_pullback
    def wrong(x):
        return x * x

    wrong.pullback(lambda cotangent, out, x: cotangent * 2.001 * x)
    with pytest.raises(AssertionError):
        (field()[:3, 0] * size).grad.check(lambda x: wrong(x).sum())


def test_sensitivity():
    x = field()
    plain = x.grad.sensitivity(f)
    np.testing.assert_allclose(plain, x.grad(f))
    mean = lambda x: x.std()
    by_area = x.grad.sensitivity(mean, density=x.area.assign_attrs(units="m2"))
    np.testing.assert_allclose(by_area, x.grad(mean) / x.area)
    assert by_area.dims == x.dims
    assert by_area.attrs["units"] in ("1 / m2", "1/m**2")
    relative = x.grad.sensitivity(f, relative=True, over="lon")
    np.testing.assert_allclose(relative, x.grad(f, over="lon") * x / ng.vmap(f, "lon")(x))
    assert relative.attrs["units"] == "1"
    ds = xr.Dataset({"a": x, "b": 2.0})
    relative = ds.grad.sensitivity(lambda d: (d.a * d.b**2).sum(), relative=True)
    assert relative.b.item() == pytest.approx(2.0)
    assert relative.a.sum().item() == pytest.approx(1.0)
    assert relative.b.attrs["units"] == "1"
    tree = xr.DataTree.from_dict({"/": ds[["a"]], "/sub": ds[["b"]]})
    relative = tree.grad.sensitivity(lambda t: (t["a"] * t["sub/b"] ** 2).sum(), relative=True)
    assert relative["sub/b"].item() == pytest.approx(2.0)
    assert relative["a"].sum().item() == pytest.approx(1.0)
    assert relative["a"].coords.identical(x.coords)


def test_a_density_that_does_not_match_is_refused():
    x = field()
    with pytest.raises(ValueError, match="lat"):
        x.grad.sensitivity(f, density=x.area.assign_coords(lat=x.lat + 1e-6))
    bare = x.grad.sensitivity(f, density=x.area.drop_vars(["lat", "lon"]))
    np.testing.assert_allclose(bare, x.grad(f) / x.area)
    assert bare.coords.identical(x.coords)


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
    several = y.to_dataset(name="y").grad.fit(lambda p, t: {"y": model(p, t)}, "t", ["a", "b"], over=("lat", "lon"))
    np.testing.assert_allclose(several.params["b"], direct.params["b"], rtol=1e-6)
