"""What xarray users are given back: dims, coordinates, names, attributes, slices, and what they are refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.memory import collected
from tests.xarray.harness import check_gradient, quiet
from tests.xarray.programs import LAT, LON, data_set, field, with_gaps


def total(x):
    return (x**2).sum()


# ------------------------------------------------------------------------------------------------ like the input


def test_dims_coords_name_attrs_dtype_and_encoding():
    x = field()
    x.encoding["_FillValue"] = -1.0
    g = ng.grad(total)(x)
    assert (g.dims, g.name, g.dtype) == (x.dims, "tas", x.dtype)
    assert g.coords.identical(x.coords)
    assert g.xindexes.keys() == x.xindexes.keys()
    assert g.attrs["standard_name"] == "air_temperature"
    assert g.encoding == x.encoding
    np.testing.assert_allclose(g.values, 2 * x.values)


def test_values_keep_what_xarray_gives():
    x = field()
    value, _ = ng.value_and_grad(lambda x: ((x**2).mean(), x.mean("time")), has_aux=True)(x)
    for ours, theirs in zip(value, ((x**2).mean(), x.mean("time")), strict=True):
        assert ours.identical(theirs.copy(data=ours.values))  # all but the last digit, where numbagg computes the mean
        xr.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_a_variable_and_a_coordinate():
    v = field().variable
    g = ng.grad(lambda v: (v * v).sum())(v)
    assert type(g) is xr.Variable
    np.testing.assert_allclose(g.values, 2 * v.values)
    lat = field().lat
    g = ng.grad(lambda lat: np.sin(lat).sum())(lat)
    assert g.dims == ("lat",)
    np.testing.assert_allclose(g.values, np.cos(LAT))
    np.testing.assert_array_equal(g.coords["lat"], LAT)


def test_a_dataset_gives_its_float_variables():
    ds = data_set()
    g = ng.grad(lambda d: (d.a * d.b * d.n).sum())(ds)
    assert set(g.data_vars) == {"a", "b"}
    assert g.attrs == ds.attrs
    assert g.a.dims == ds.a.dims
    np.testing.assert_allclose(g.a, (ds.b * ds.n).broadcast_like(ds.a).transpose(*ds.a.dims))
    np.testing.assert_allclose(g.b, (ds.a * ds.n).sum("time"))


def test_some_variables_of_a_dataset():
    ds = data_set()
    g = ng.grad(lambda k, ds: k * (ds.a * ds.b).sum(), wrt=("ds", ["b"]))(2.0, ds)
    assert list(g.data_vars) == ["b"]
    np.testing.assert_allclose(g.b, 2 * ds.a.sum("time"))
    k, g = ng.grad(lambda k, ds: k * (ds.a * ds.b).sum(), wrt=[0, (1, ["b"])])(2.0, ds)
    assert k == pytest.approx((ds.a * ds.b).sum().item())
    np.testing.assert_allclose(g.b, 2 * ds.a.sum("time"))


def test_a_tree():
    tree = xr.DataTree.from_dict({"/": data_set(), "/fine": xr.Dataset({"c": field()[:2].rename(time="t") + 1.0})})
    g = ng.grad(lambda t: (t["a"] ** 2).sum() + (t["fine/c"] ** 3).sum())(tree)
    assert isinstance(g, xr.DataTree)
    np.testing.assert_allclose(g["a"], 2 * tree["a"])
    np.testing.assert_allclose(g["fine/c"], 3 * tree["fine/c"] ** 2)
    np.testing.assert_array_equal(g["b"], 0 * tree["b"])
    assert "n" not in g.data_vars


def test_a_tree_over_a_dim():
    tree = xr.DataTree.from_dict({"/": data_set(), "/fine": xr.Dataset({"c": field()[:2].rename(time="t") + 1.0})})
    f = lambda t: (t["a"] * t["a"].lat).sum() ** 2 + (t["fine/c"] ** 3).sum()
    g = ng.grad(f, over="lat")(tree)
    for i in range(3):
        one = ng.grad(f)(tree.isel(lat=i))
        np.testing.assert_allclose(g["a"].isel(lat=i), one["a"])
        np.testing.assert_allclose(g["fine/c"].isel(lat=i), one["fine/c"])


def test_nested_structures():
    x = field()
    g = ng.grad(lambda p: (p["x"][0] * p["k"]).sum())({"x": [x], "k": 3.0})
    assert g["x"][0].identical(xr.full_like(x, 3.0).assign_attrs(g["x"][0].attrs))
    assert g["k"] == pytest.approx(x.sum().item())


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.grad(total),
        lambda x: x.grad(total, over="lat"),
        lambda x: x.grad.value_and_grad(lambda x: (x * x.lat).sum(), wrt="lat"),
        lambda x: x[:2, 0].grad.jacobian(lambda x: x**2),
        lambda x: x[:2, 0].grad.hessian(total, part="diagonal"),
        lambda x: x.grad.jvp(total, x),
        lambda x: x.grad.vjp(total)[1],
        lambda x: x.grad.linearize(total)[1].T,
        lambda x: x.grad.hvp(total, x),
        lambda x: x.grad.sensitivity(total, relative=True),
        lambda x: x[:2, 0].grad.propagate(total, cov=1.0),
        lambda x: x.to_dataset(name="a").grad(lambda d: total(d.a)),
        lambda x: x[:2].grad.check(total),
    ],
)
def test_nothing_is_kept_alive_and_nothing_is_in_a_cycle(use):
    use(field())  # what is made once is made
    collected()
    gc.disable()
    try:
        x = field()
        ref, data = weakref.ref(x), weakref.ref(x.data)
        kept = use(x)
        del kept, x
        assert ref() is None
        assert data() is None
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [o for o in gc.garbage if type(o).__module__.startswith("namedgrad")]
        assert ours == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_nothing_of_the_users_is_written_to():
    x = field()
    before = x.copy(deep=True)

    def f(x):
        x.attrs["units"] = "other"
        x[0] = 0.0
        x.coords["new"] = 1.0
        x *= 2
        return x.sum()

    g = ng.grad(f)(x)
    assert x.identical(before)
    np.testing.assert_array_equal(g[0], 0.0)
    np.testing.assert_array_equal(g[1:], 2.0)


# ------------------------------------------------------------------------------------------------ refusals


def test_no_argument_has_the_dim():
    with pytest.raises(ng.AxisError, match=r"'level'.*time"):
        ng.grad(total, over="level")(field())


def test_captured_arrays_with_the_dim():
    w = xr.DataArray([1.0, 2.0, 3.0], dims="lat")
    with pytest.raises(ng.AxisError, match=r"captures 'w'.*'lat'.*argument"):
        ng.grad(lambda x: (x * w).sum(), over="lat")(field())
    ds = w.to_dataset(name="w")
    with pytest.raises(ng.AxisError, match=r"captures 'ds'.*'lat'.*argument"):
        ng.vmap(lambda x: x * ds.w, "lat")(field())
    with pytest.raises(ng.AxisError, match="argument"):
        ng.grad(_uses_a_global, over="lat")(field())
    g = ng.grad(lambda x, w: (x * w).sum(), over="lat")(field(), w)
    np.testing.assert_allclose(g, w.broadcast_like(field()).transpose(*field().dims))


GLOBAL = xr.DataArray([1.0, 2.0, 3.0], dims="lat")


def _uses_a_global(x):
    return (x * GLOBAL).sum()


def test_different_coordinates_along_over():
    x = field()
    with pytest.raises(ng.AxisError, match=r"'lat' differ.*xr.align"):
        ng.grad(lambda a, b: (a * b).sum(), over="lat")(x, x.isel(lat=slice(None, None, -1)))


def test_an_integer_array():
    with pytest.raises(TypeError, match=r"DataArray of dtype int64.*astype"):
        ng.grad(total)(field().astype(int))
    with pytest.raises(TypeError, match=r"Dataset"):
        ng.grad(lambda d: d.n.sum())(data_set()[["n"]])


def test_a_loss_with_dims():
    with pytest.raises(ng.AxisError, match=r"time.*over"):
        ng.grad(lambda x: x**2)(field())


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: x.values.sum(),
        lambda x: float(x.mean()),
        lambda x: np.asarray(x).sum(),
        lambda x: x.mean().item(),
        lambda x: x.to_numpy().sum(),
        lambda x: x.to_pandas(),
        lambda x: int(x.sum()),
        lambda x: xr.apply_ufunc(lambda a: np.asarray(a), x, vectorize=True).sum(),
    ],
)
def test_leaving_the_trace(leave):
    x = field()[0]
    with pytest.raises(ng.TraceError, match="use "):
        ng.grad(leave)(x)


def test_python_branches_on_single_values():
    x = field()
    np.testing.assert_array_equal(ng.grad(lambda x: (x if x.mean() > 0 else -x).sum())(x), 1.0)
    with pytest.raises(ng.TraceError, match="where"):
        ng.grad(lambda x: (x if x.mean() > x.median() else -x).sum(), over="time")(x)


def test_what_is_asked_before_computing_is_answered_where_slices_agree():
    x = field()
    weighted = lambda x, w: x.weighted(w).mean()
    g = ng.grad(weighted, over="lat")(x, x.area)
    np.testing.assert_allclose(g[:, 0], ng.grad(weighted)(x[:, 0], x.area[0]))
    with pytest.raises(ValueError, match="missing"):
        ng.grad(weighted, over="lat")(x, x.area * np.nan)
    with pytest.raises(ng.TraceError, match="lat"):
        ng.grad(weighted, over="lat")(x, x.area.where(x.lat > 0))
    missing = np.isnan(ng.positional(np.ones((3, 4)), "lat"))
    assert missing.any() is np.False_
    assert np.any(missing) is np.False_
    with pytest.raises(ng.TraceError, match="lat"):
        ng.vmap(lambda x: x.dropna("time"), "lat")(with_gaps())


def test_a_traced_array_after_the_transform():
    kept = []
    ng.grad(lambda x: kept.append(x) or x.sum())(field())
    with pytest.raises(ng.TraceError, match="returned"):
        kept[0] + 1


def test_results_hold_no_traced_coordinates():
    out, _ = ng.value_and_grad(lambda x: (x.sum(), x.assign_coords(double=2 * x)), has_aux=True)(field())
    assert type(out[1].double.data) is np.ndarray


def test_dim_arrays_and_data_arrays_do_not_mix():
    x, a = field(), ng.asdimarray(field())
    with pytest.raises(TypeError, match="asdimarray"):
        a + x
    for combine in (lambda: x + a, lambda: x * a, lambda: x.variable + a, lambda: np.add(x, a)):
        with pytest.raises(TypeError, match="to_xarray"):
            combine()


# ------------------------------------------------------------------------------------------------ Jacobians, Hessians


def test_jacobian_dims_and_coordinates():
    x = field()[:3]
    jac = ng.jacobian(lambda x: x.mean("lon") * 2)(x)
    assert jac.dims == ("time", "lat", "time_wrt", "lat_wrt", "lon_wrt")
    assert jac.time_wrt.to_index().equals(x.time.to_index())
    np.testing.assert_array_equal(jac.lon_wrt, LON)
    expected = np.einsum("ab,cd,e->acbde", np.eye(3), np.eye(3), np.full(4, 0.5))
    np.testing.assert_allclose(jac, expected)
    over = ng.jacobian(lambda x: x.mean("lon") * 2, over="lat")(x)
    assert over.dims == ("lat", "time", "time_wrt", "lon_wrt")
    assert over.lat.identical(x.lat)
    np.testing.assert_allclose(over.sel(lat=5.0), jac.sel(lat=5.0, lat_wrt=5.0))
    named = ng.jacobian(lambda x: x.mean("lon"), suffix="_in")(x)
    assert named.dims == ("time", "lat", "time_in", "lat_in", "lon_in")


def test_a_taken_suffix():
    x = xr.DataArray(np.ones(2), dims="x")
    with pytest.raises(ng.AxisError, match="suffix"):
        ng.jacobian(lambda x: x.rename(x="x_wrt"))(x)


def test_hessian():
    x = field()[:2, 0]
    hess = ng.hessian(lambda x: (x**3).sum())(x)
    assert hess.dims == ("time", "lon", "time_wrt", "lon_wrt")
    diagonal = ng.hessian(lambda x: (x**3).sum(), part="diagonal")(x)
    np.testing.assert_allclose(diagonal, 6 * x)
    assert diagonal.dims == x.dims
    trace = ng.hessian(lambda x: (x**3).sum(), part="trace")(x)
    assert float(trace) == pytest.approx(6 * x.sum().item())


def test_parameters_are_stacked():
    p = xr.Dataset({"a": 2.0, "b": 3.0})
    t = xr.DataArray([0.0, 1.0, 2.0], dims="t")
    jac = ng.jacobian(lambda p, t: p.a * np.exp(-p.b * t))(p, t)
    assert jac.dims == ("t", "param_wrt")
    np.testing.assert_allclose(jac.sel(param_wrt="a"), np.exp(-3 * t))
    hess = ng.hessian(lambda p: p.a**2 * p.b)(p)
    assert hess.dims == ("param", "param_wrt")
    np.testing.assert_allclose(hess, [[6.0, 4.0], [4.0, 0.0]])
    many = xr.Dataset({"a": ("cell", [2.0, 1.0]), "b": ("cell", [3.0, 1.0])}, coords={"cell": [10, 20]})
    hess = ng.hessian(lambda p: p.a**2 * p.b, over="cell")(many)
    assert set(hess.dims) == {"cell", "param", "param_wrt"}
    np.testing.assert_allclose(hess.sel(cell=10).transpose("param", "param_wrt"), [[6.0, 4.0], [4.0, 0.0]])


def test_jacobian_of_datasets():
    ds = xr.Dataset({"a": ("x", [1.0, 2.0]), "b": 3.0})
    jac = ng.jacobian(lambda d: d.a * d.b)(ds)
    assert (jac.a.dims, jac.b.dims) == (("x", "x_wrt"), ("x",))
    both = ng.jacobian(lambda d: d * 2)(ds)
    np.testing.assert_allclose(both["a"]["a"], 2 * np.eye(2))
    np.testing.assert_allclose(both["a"]["b"], [0.0, 0.0])


# ------------------------------------------------------------------------------------------------ ng functions


def test_asdimarray_and_back():
    x = field()
    a = ng.asdimarray(x)
    assert (a.dims, type(a)) == (x.dims, ng.DimArray)
    assert a.data is x.data
    assert ng.asdimarray(x.variable).dims == x.dims
    assert ng.asdimarray(2.0).item() == 2.0
    assert ng.asdimarray(a) is a
    assert a.to_xarray(x.coords, x.name).drop_attrs().identical(x.drop_attrs())
    with pytest.raises(TypeError, match="variables"):
        ng.asdimarray(data_set())
    with pytest.raises(ng.AxisError, match="DimArray"):
        ng.asdimarray(np.ones(3))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ng.exp, np.exp),
        (lambda x: ng.mean(x, "time"), lambda x: x.mean("time")),
        (lambda x: ng.std(x, ("time", "lon"), ddof=1), lambda x: x.std(("time", "lon"), ddof=1)),
        (lambda x: ng.isel(x, {"time": 3}), lambda x: x.isel(time=3)),
        (lambda x: ng.isel(x, time=slice(2, 9)), lambda x: x.isel(time=slice(2, 9))),
        (lambda x: ng.roll(x, {"lon": 1}), lambda x: x.roll(lon=1)),
        (lambda x: ng.shift(x, time=1), lambda x: x.shift(time=1)),
        (lambda x: ng.flip(x, "lat"), lambda x: x.isel(lat=slice(None, None, -1))),
        (lambda x: ng.take(x, [0, 2], "lat"), lambda x: x.isel(lat=[0, 2])),
        (lambda x: ng.transpose(x, "lon", ...), lambda x: x.transpose("lon", ...)),
        (lambda x: ng.cumsum(x, "time"), lambda x: x.cumsum("time")),
        (lambda x: ng.concat([x, x], "k"), lambda x: xr.concat([x, x], "k")),
        (lambda x: ng.rename(x, {"lon": "x"}), lambda x: x.rename({"lon": "x"})),
        (lambda x: ng.clip(x, 2.0, 3.0), lambda x: x.clip(2.0, 3.0)),
    ],
)
def test_functions_are_those_of_xarray(ours, theirs):
    for x in (field(), with_gaps()):
        xr.testing.assert_allclose(ours(x), theirs(x))
        assert ours(x).coords.identical(theirs(x).coords)
        assert ours(x).attrs == theirs(x).attrs
        assert ours(x).name == theirs(x).name
        mine, other = (ng.grad(lambda x, f=f: (f(x) ** 2).sum())(x) for f in (ours, theirs))
        np.testing.assert_allclose(mine, other)
        ds = x.to_dataset(name="a")
        xr.testing.assert_allclose(ours(ds), theirs(ds))


def test_functions_align_by_label():
    x = field()
    xr.testing.assert_allclose(ng.multiply(x, x.isel(lat=[2, 0])), x * x.isel(lat=[2, 0]))
    xr.testing.assert_allclose(ng.dot(x, x.isel(lon=[1, 2]), dim="lon"), xr.dot(x, x.isel(lon=[1, 2]), dim="lon"))


def test_linear_algebra_on_named_dims():
    rng = np.random.default_rng(0)
    m = rng.normal(size=(4, 4))
    a = xr.DataArray(m @ m.T + 4 * np.eye(4), dims=("lon", "col"), coords={"lon": LON, "height": 2.0}, name="a")
    b = xr.DataArray(rng.normal(size=4), dims="lon", coords={"lon": LON})
    x = ng.linalg.solve(a, b, dims=("lon", "col")) if hasattr(ng, "linalg") else ng.solve(a, b, dims=("lon", "col"))
    assert x.dims == ("col",)
    np.testing.assert_allclose(x, np.linalg.solve(a.values, b.values))
    assert x.height == 2.0


@pytest.mark.parametrize("x", [field(), with_gaps()], ids=["full", "gaps"])
@pytest.mark.parametrize("options", [{}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"skipna": True}])
def test_weights_of_a_polynomial(x, options):
    w = xr.DataArray([1.0, 2.0, 0.5, 1.5], dims="lon")
    x = x.isel(time=0, lat=0, drop=True) if "cov" in options else x[:3]
    x = x.fillna(2.0) if "cov" in options or "full" in options else x
    with quiet():
        plain = x.polyfit("lon", 1, w=w, **options)
        value, _ = ng.pullback(lambda w: x.polyfit("lon", 1, w=w, **options), w)
        assert value.keys() == plain.keys()
        xr.testing.assert_allclose(value, plain, rtol=1e-9, atol=1e-12)
        check_gradient(lambda w: x.polyfit("lon", 1, w=w, **options), w, value_tolerance=1e-9)
        check_gradient(lambda w: x.assign_coords(wt=w).to_dataset(name="a").polyfit("lon", 1, w="wt", **options), w, value_tolerance=1e-9)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.rename(lon="x"),
        lambda x: x.assign_coords(q=("lon", [4, 3, 2, 1])).swap_dims(lon="q"),
        lambda x: x.stack(z=("lon", "time")),
        lambda x: x.isel(lon=[2, 0]).rename(lon="x", area="a"),
    ],
)
def test_coordinates_of_renamed_dims_come_back_with_the_hidden_one(program):
    x = field()[:3].assign_coords(kind=(("lat", "lon"), [list("abcd"), list("efgh"), list("ijkl")]))
    (_, found), _ = ng.value_and_grad(lambda x: (x.sum(), program(x)), has_aux=True, over="lat")(x)
    for i in range(3):
        expected = program(x.isel(lat=i))
        assert set(found.coords) == set(expected.coords)
        for n, v in expected.coords.items():
            assert found.isel(lat=i).coords[n].variable.equals(v.variable)
