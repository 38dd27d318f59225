"""Gradients with respect to coordinates and to variables by name: non-index, index, levels, nodes of a tree."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import LON, field

STEP = 1e-5


def slope(f, x, name, along):
    """Central difference in a coordinate: labels move with values, as they do for a user who perturbs them."""
    ends = [f(x.assign_coords({name: x[name].copy(data=x[name].values + s * STEP * along)})).item() for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * STEP)


def tree():
    ds = xr.Dataset({"p": ("x", [1.0, 2.0])}, coords={"x": [1.0, 3.0], "k": ("x", [0.5, 0.25])})
    return xr.DataTree.from_dict({"/": ds, "/sub": xr.Dataset({"q": 3.0, "r": ("x", [1.0, -1.0])})})


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("area", lambda x: (x * x.area).sum() / x.area.sum()),
        ("height", lambda x: (x**x.height).mean()),
        ("lat", lambda x: (x * np.cos(np.deg2rad(x.lat))).mean()),
        ("lat", lambda x: x.weighted(np.cos(np.deg2rad(x.lat))).mean()),
        ("lat", lambda x: (x.isel(lat=slice(1, None)) * x.lat**2).sum()),
        ("lat", lambda x: (x.sel(lat=5.0, method="nearest") * x.lat**2).sum()),
        ("lat", lambda x: (x - x.isel(lat=slice(None, 2)) * x.lat).sum()),
        ("lat", lambda x: (x.roll(lat=1, roll_coords=True) * x.lat**2).sum()),
        ("lat", lambda x: (x.shift(lat=1) * x.lat**2).sum()),
        ("lat", lambda x: (xr.concat([x.isel(lat=[2]), x.isel(lat=[0, 1])], "lat") * x).lat.std()),
        ("lat", lambda x: (x.rename(lat="y").y ** 2).sum()),
        ("lat", lambda x: (x * x.lat).groupby("time.month").mean().std()),
        ("lat", lambda x: xr.merge([x.rename("a"), (x.lat * x).rename("b")]).to_array().sum()),
        ("lat", lambda x: (x.assign_coords(lat=x.lat * 2).lat ** 2).sum()),
        ("lat", lambda x: (x.copy(deep=True) * x.lat.copy()).where(x.lat > 0).sum()),
        ("lat", lambda x: x.expand_dims(m=2).lat.sum() * x.reset_coords("height", drop=True).mean()),
        ("lat", lambda x: (x.pad(lat=1, mode="edge").lat ** 2).sum()),
        ("lon", lambda x: x.integrate("lon").sum()),
        ("lon", lambda x: (x.differentiate("lon") ** 2).sum()),
        ("lon", lambda x: (x.cumulative_integrate("lon") ** 2).mean()),
        ("lon", lambda x: (x.interp(lon=[5.0, 100.0]) ** 2).sum()),
        ("lat", lambda x: (x.interp(lon=100.0, lat=3.0) ** 2).sum()),
        ("lat", lambda x: (x.drop_isel(lat=[1]) * x.lat**2).sum()),
        ("lat", lambda x: (x.drop_duplicates("lat") * x.lat**2).sum()),
        ("lat", lambda x: sum(k * v.mean() ** 2 for k, v in enumerate((x * x.lat).to_dataset("lat").data_vars.values()))),
        ("lat", lambda x: ((x * x.lat).reindex(lat=[-41.0, 6.0], method="nearest", tolerance=3.0) ** 2).sum()),
        ("lat", lambda x: ((x * x.lat).groupby_bins("lat", [-90, 0, 90]).mean() ** 2).sum()),
        ("lon", lambda x: (x.polyfit("lon", 1).polyfit_coefficients ** 2).sum()),
        ("lon", lambda x: (x.where(x > 2.0).polyfit("lon", 1, full=True).polyfit_residuals ** 2).sum()),
        ("area", lambda x: (x.isel(lon=0).polyfit("lat", 1, w=x.area[:, 0]).polyfit_coefficients ** 2).sum()),
        ("lat", lambda x: (x.drop_vars("zone").coarsen(lat=3).mean().lat ** 2).sum()),
        ("lat", lambda x: (x.sortby("lat", ascending=False) * x.lat**2).sum()),
        ("lat", lambda x: (x.isel(lat=[0]).combine_first(x) * x.lat).sum()),
        ("lat", lambda x: (x.assign_coords(lon=x.lon + x.lat.mean()).interp(lon=100.0) ** 2).sum()),
        ("lat", lambda x: (x.assign_coords(q=("lat", x.lat.data**2)).swap_dims(lat="q").integrate("q") ** 2).mean()),
    ],
)
def test_gradient_is_the_finite_difference(name, f):
    x = field()
    value, g = x.grad.value_and_grad(f, wrt=name)
    assert value.item() == pytest.approx(f(x).item(), rel=1e-14)
    assert g.dims == x[name].dims
    assert g.name == name
    assert g.coords.identical(x[name].coords)
    assert type(g.data) is np.ndarray
    along = np.random.default_rng(0).normal(size=g.shape)
    assert np.vdot(g, along) == pytest.approx(slope(f, x, name, along), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("method", ["slinear", "quadratic", "cubic", "quintic", "pchip", "akima", "makima", "barycentric", "krogh"])
@pytest.mark.parametrize("targets", [[10.0, 45.0, 100.0], [-20.0, 310.0, 95.0]])
def test_nodes_of_every_method(method, targets):
    nodes = np.array([0.0, 30.0, 50.0, 90.0, 120.0, 190.0, 240.0, 300.0])
    x = xr.DataArray(np.random.default_rng(0).normal(size=(2, 8)), dims=("k", "lon"), coords={"lon": nodes})
    f = lambda x: (x.interp(lon=targets, method=method, kwargs={"fill_value": "extrapolate"} if "linear" in method else None) ** 2).sum()
    value, g = x.grad.value_and_grad(f, wrt="lon")
    assert value.item() == pytest.approx(f(x).item(), rel=1e-9)
    along = np.random.default_rng(1).normal(size=8)
    assert np.vdot(g, along) == pytest.approx(slope(f, x, "lon", along), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("along", ["targets", "nodes"])
@pytest.mark.parametrize(("chosen", "step"), [(slice(-1), 1e-6), (slice(-1, None), -1e-6)])
def test_targets_on_the_nodes_of_a_single_line(along, chosen, step):
    line = xr.DataArray([2.0, -1.0, 4.0, 0.5], dims="x", coords={"x": [0.0, 1.0, 2.5, 3.0]})
    weights = xr.DataArray([1.0, -2.0, 3.0, 0.7], dims="y")[chosen]
    at = xr.DataArray(line.x.values, dims="y")[chosen]
    if along == "targets":
        f = lambda s: (line.interp(x=at + s) * weights).sum()
    else:
        f = lambda s: (line.assign_coords(x=line.x - s).interp(x=at) * weights).sum()
    inwards = (f(step) - f(0.0)) / step  # by NumPy
    assert ng.grad(f)(xr.DataArray(0.0)).item() == pytest.approx(inwards.item(), rel=1e-6)


def test_a_missing_neighbour_does_not_reach_a_target_on_a_node_of_a_single_line():
    line = xr.DataArray([2.0, -1.0, np.nan, 0.5], dims="x", coords={"x": [0.0, 1.0, 2.5, 3.0]})
    f = lambda s: line.interp(x=xr.DataArray([0.0, 1.0, 3.0], dims="y") + s)
    value, tangent = ng.pushforward(f, (xr.DataArray(0.0),), (xr.DataArray(1.0),))
    np.testing.assert_array_equal(value, f(0.0))
    np.testing.assert_array_equal(tangent, [-3.0, 0.0, 0.0])


@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")  # of pandas, in the plain program
@pytest.mark.parametrize("nodes", [[-np.inf, 1.0, 3.0, np.inf], [-np.inf, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, np.inf]])
@pytest.mark.parametrize("values", [[1.0, 1.0, 0.0, 0.0], [2.0, 1.0, 0.0, 5.0]])
def test_single_lines_may_end_at_infinity(nodes, values):
    line = xr.DataArray(values, dims="x", coords={"x": nodes})
    f = lambda at: line.interp(x=at)
    at = xr.DataArray([-5.0, 1.0, 2.0, 3.0, 7.0, 0.5, np.inf, -np.inf], dims="y")
    value, tangent = ng.pushforward(f, (at,), (at * 0 + 1,))
    np.testing.assert_array_equal(value, f(at))
    slopes = [(f(at + h) - f(at)) / h for h in (1e-6, -1e-6)]
    smooth = np.abs(slopes[0] - slopes[1]) < 1e-6
    assert smooth.sum() >= 2
    np.testing.assert_allclose(tangent.where(smooth), slopes[0].where(smooth), atol=1e-8)
    gradient = ng.grad(lambda cells: cells.interp(x=at[1:6]).sum())(line)
    one = [(line + d).interp(x=at[1:6]).sum() - f(at[1:6]).sum() for d in np.eye(4)]
    np.testing.assert_allclose(gradient, one)


GAPS = ["linear", "nearest", "zero", "slinear", "quadratic", "cubic", "polynomial", "barycentric", "krogh", "pchip", "akima", "makima", "spline"]


@pytest.mark.filterwarnings("ignore:The 1d SplineInterpolator")
@pytest.mark.parametrize(
    ("method", "at", "options"),
    [(m, at, {}) for m in GAPS for at in ("t", "depth", "own")] + [(m, "t", {"fill_value": "extrapolate"}) for m in GAPS[:7]],
)
def test_gaps_between_places_that_are_differentiated(method, at, options):
    over = "k" if at == "own" else ()
    rng = np.random.default_rng(0)
    places = np.array([0.0, 1.0, 2.5, 3.0, 4.2, 5.0, 7.0, 7.5, 9.0])
    coords = {"t": places, "depth": ("t", places**1.5), "own": (("k", "t"), places + rng.uniform(0, 0.4, (3, 9)))}
    x = xr.DataArray(rng.normal(size=(3, 9)), coords, ("k", "t"))
    for k, gone in enumerate(([0, 3, 5, 6], [8, 4], [3, 5, 6])):
        x[k, gone] = np.nan
    options = options | ({"order": 2} if method == "polynomial" else {"s": 0} if method == "spline" else {})
    weights = xr.DataArray(rng.normal(size=9), dims="t")
    f = lambda x: (x.interpolate_na("t", method=method, use_coordinate=True if at == "t" else at, **options) * weights).sum()
    value, g = x.grad.value_and_grad(f, wrt=at, over=over)
    assert g.dims == x[at].dims
    along = rng.normal(size=x[at].shape)
    if not over:
        assert value.item() == pytest.approx(f(x).item(), rel=1e-9)
        assert np.vdot(g, along) == pytest.approx(slope(f, x, at, along), rel=1e-6, abs=1e-8)
        return
    for k in range(3):
        assert value[k].item() == pytest.approx(f(x[k]).item(), rel=1e-9)
        assert np.vdot(g[k], along[k]) == pytest.approx(slope(f, x[k], at, along[k]), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("longest", [None, 2.51, 2.49])
def test_gaps_of_one_line_between_places_that_are_differentiated(longest):
    places, cells = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 5.0, 6.0]), np.array([0.0, np.nan, 2.0, np.nan, np.nan, 1.0, 4.0])
    there, weights = ~np.isnan(cells), np.arange(7.0) + 1
    x = xr.DataArray(cells, {"t": places}, "t")
    g = x.grad(lambda x: (x.interpolate_na("t", max_gap=longest) * weights).sum(), wrt="t")
    filled = lambda at: (np.interp(at, at[there], cells[there]) * weights).sum()
    expected = [(filled(places + s) - filled(places - s)) / 2e-5 for s in 1e-5 * np.eye(7)]
    np.testing.assert_allclose(g, 0.0 if longest == 2.49 else expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("over", [(), "k"])
@pytest.mark.parametrize("at", ["t", "depth", "own"])
def test_places_of_curvefit(at, over):
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 4.0, 7)
    coords = {"t": t, "depth": ("t", t**1.5), "own": (("k", "t"), t + rng.uniform(0, 0.4, (3, 7))), "k": [1, 2, 3]}
    x = xr.DataArray(rng.normal(size=(3, 7)), coords, ("k", "t"))
    dims = None if at == "t" else "t"
    fit = lambda x: x.curvefit(at, lambda t, a, b: a + b * t, reduce_dims=dims, p0={"a": 0.0, "b": 1.0}).curvefit_coefficients
    found, g = x.grad.value_and_grad(lambda x: (fit(x).sum(), fit(x)), wrt=at, has_aux=True, over=over)
    places = np.broadcast_to(x[at].values, (3, 7))
    lines = lambda places: np.stack([np.polyfit(p, v, 1)[::-1] for p, v in zip(places, x.values, strict=True)])
    np.testing.assert_allclose(found[1], lines(places), rtol=1e-7, atol=1e-9)
    assert list(found[1].coords) == list(fit(x).coords)
    each = np.stack([((lines(places + s) - lines(places - s)) / 2e-5).sum(axis=1) for s in 1e-5 * np.eye(7)], axis=1)
    np.testing.assert_allclose(g, each if over or at == "own" else each.sum(axis=0), rtol=1e-6, atol=1e-8)


def test_gaps_between_places_that_are_not_in_order():
    x = xr.DataArray([1.0, np.nan, 3.0], {"t": [0.0, 2.0, 1.0]}, "t")
    for wrt in (0, "t"):
        with pytest.raises(ValueError, match="Index 't' must be monotonically increasing"):
            x.grad(lambda x: x.interpolate_na("t").sum(), wrt=wrt)


def test_a_spline_of_too_few_nodes():
    x = field()[0, 0].isel(lon=[0, 1, 2])
    with pytest.raises(ValueError, match="a spline of degree 3 needs at least 4 coordinates, got 3"):
        x.grad(lambda x: x.interp(lon=20.0, method="cubic"), wrt="lon")


def test_values_hold_no_traced_coordinate():
    x = field()
    x.encoding["_FillValue"] = -9.0
    (_, aux), _ = x.grad.value_and_grad(lambda x: (x.sum(), x[:2]), wrt="lat", has_aux=True)
    assert aux.encoding == x[:2].encoding
    (_, aux), _ = x.grad.value_and_grad(lambda x: (x.sum(), x * x.lat), wrt="lat", has_aux=True)
    assert type(aux.lat.data) is np.ndarray
    assert aux.indexes["lat"].equals(x.indexes["lat"])
    assert aux.coords.identical(x.coords)


def test_jacobians_and_hessians():
    x = field()[:2]
    jac = x.grad.jacobian(lambda x: (x * x.lat**2).sum(("time", "lon")), wrt="lat")
    assert jac.dims == ("lat", "lat_wrt")
    assert jac.indexes["lat"].equals(x.indexes["lat"])
    np.testing.assert_allclose(np.diag(jac), (2 * x * x.lat).sum(("time", "lon")))
    hess = x.grad.hessian(lambda x: (x * x.lat**3).sum(), wrt="lat")
    np.testing.assert_allclose(hess, np.diag((6 * x * x.lat).sum(("time", "lon"))))
    diagonal = x.grad.hessian(lambda x: (x * x.lat**3).sum(), wrt="lat", part="diagonal")
    np.testing.assert_allclose(diagonal, (6 * x * x.lat).sum(("time", "lon")))


def test_over():
    x = field()
    f = lambda x: (x * x.lat**3).sum()
    g = x.grad(f, wrt="lat", over="lat")
    np.testing.assert_allclose(g, (3 * x * x.lat**2).sum(("time", "lon")))
    assert g.dims == ("lat",)
    g = x.grad(f, wrt="lat", over="lon")
    assert g.dims == ("lon", "lat")
    np.testing.assert_allclose(g, (3 * x * x.lat**2).sum("time").transpose("lon", "lat"))


def test_several_by_name():
    ds = xr.Dataset({"a": field(), "b": field().mean("time")})
    f = lambda d: (d.a * d.b * d.area * d.lat).sum()
    one = ds.grad(f, wrt="b")
    assert isinstance(one, xr.DataArray)
    assert one.identical(ds.grad(f).b)
    both = ds.grad(f, wrt=["b", "a"])
    assert list(both.data_vars) == ["b", "a"]
    assert both.b.identical(one)
    mixed = ds.grad(f, wrt=["b", "lat", "area"])
    assert list(mixed) == ["b", "lat", "area"]
    assert mixed["b"].identical(one)
    np.testing.assert_allclose(mixed["area"], (ds.a * ds.b * ds.lat).sum("time"))
    data, lat = ds.grad(f, wrt=[0, "lat"])
    assert data.identical(ds.grad(f))
    assert lat.identical(mixed["lat"])
    assert ds.grad(f, wrt=["lat", 0])[0].identical(lat)
    for g in (ng.grad(f, wrt=(0, ["lat"]))(ds), ng.grad(lambda k, d: k * f(d), wrt=("d", ["lat"]))(1.0, d=ds)):
        assert g["lat"].identical(lat.assign_attrs(g["lat"].attrs))
    _, g = ds.grad.value_and_grad(lambda d, k: k * f(d), 2.0, wrt=["k", "b"])
    np.testing.assert_allclose(g[0], f(ds))
    np.testing.assert_allclose(g[1], 2 * one)


def test_an_argument_comes_before_a_variable_of_its_name():
    ds = xr.Dataset({"k": 2.0, "a": 3.0})
    f = lambda d, k: d.a * d.k * k
    assert float(ds.grad(f, 5.0, wrt="k")) == 6.0
    assert ds.grad(f, wrt="k", k=5.0) == 6.0
    np.testing.assert_allclose(ds.grad(f, 5.0, wrt=(0, ["k"])).k, 15.0)


def test_nodes_of_a_tree():
    t = tree()
    f = lambda t: (t["p"] * t["x"] ** 2).sum() * t["sub/q"] ** 2 + (t["sub"].ds["r"] * t["k"]).sum()
    np.testing.assert_allclose(t.grad(f, wrt="sub/q"), 2 * 3.0 * 19.0)
    np.testing.assert_allclose(t.grad(f, wrt="x"), 9 * 2 * t["p"] * t["x"])
    np.testing.assert_allclose(t.grad(f, wrt="k"), t["sub/r"])
    some = t.grad(f, wrt=["sub/q", "p"])
    assert isinstance(some, xr.DataTree)
    assert set(some["sub"].data_vars) == {"q"}
    np.testing.assert_allclose(some["p"], 9 * t["x"] ** 2)
    mixed = t.grad(f, wrt=["sub/q", "x"])
    assert list(mixed) == ["sub/q", "x"]


def test_a_level_of_a_multiindex():
    x = field().stack(z=("lat", "lon"))
    g = x.grad(lambda x: (x * x.lat**2).sum(), wrt="lat")
    np.testing.assert_allclose(g, (2 * x * x.lat).sum("time"))
    assert g.dims == ("z",)


def test_stations_in_interp():
    surface = xr.DataArray(
        np.random.default_rng(0).normal(size=(4, 5)),
        dims=("lat", "lon"),
        coords={"lat": [0.0, 1.0, 2.5, 4.0], "lon": [0.0, 1.0, 2.0, 3.0, 4.0]},
    )
    stations = xr.Dataset(
        {"t": ("station", [1.0, 2.0, 3.0])},
        coords={"lat": ("station", [0.3, 1.7, 3.1]), "lon": ("station", [3.6, 0.2, 1.5]), "station": list("abc")},
    )

    def misfit(st):
        return ((surface.interp(lat=st.lat, lon=st.lon) - st.t) ** 2).sum()

    g = stations.grad(misfit, wrt=["lat", "lon"])
    hess = stations.grad.hessian(misfit, wrt="lat")
    assert hess.dims == ("station", "station_wrt")
    each = stations.grad(misfit, wrt="lat", over="station")
    np.testing.assert_allclose(each, g["lat"])
    for name in ("lat", "lon"):
        assert g[name].dims == ("station",)
        along = np.random.default_rng(1).normal(size=3)
        assert np.vdot(g[name], along) == pytest.approx(slope(misfit, stations, name, along), rel=1e-6)


@pytest.mark.parametrize(
    ("wrt", "message"),
    [("time", "datetime64"), ("zone", "<U6"), ("nope", "neither an argument.*variable or coordinate.*'lat'")],
)
def test_refusals(wrt, message):
    with pytest.raises(TypeError, match=message):
        field().grad(lambda x: x.sum(), wrt=wrt)


def test_alignment_with_a_coordinate_that_stays():
    x, w = field(), xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="lon", coords={"lon": LON})
    for program in (lambda x: (x * w * x.lon).sum(), lambda x: (x * (w * x).lon * w).sum(), lambda x: (x * w.drop_vars("lon") * x.lon).sum()):
        np.testing.assert_allclose(x.grad(program, wrt="lon"), (x * w).sum(("time", "lat")))
    g = x.grad(lambda x: (x * w[1:3] * x.lon).sum(), wrt="lon")
    np.testing.assert_allclose(g, (x * w).sum(("time", "lat")) * [0, 1, 1, 0])


def test_the_index_does_not_leave():
    with pytest.raises(ng.TraceError, match="index"):
        field().grad(lambda x: (x.indexes["lat"].to_numpy() * x).sum(), wrt="lat")


def test_an_argument_is_named_once():
    ds = xr.Dataset({"a": 1.0, "b": 2.0}, coords={"c": 3.0})
    f = lambda d: d.a * d.b * d.c
    with pytest.raises(TypeError, match="more than once"):
        ds.grad(f, wrt=[0, "a"])
    with pytest.raises(TypeError, match="more than once"):
        ng.grad(f, wrt=[0, (0, ["a"])])(ds)
    assert [float(g if isinstance(g, xr.DataArray) else g.a) for g in ds.grad(f, wrt=[0, "c"])] == [6.0, 2.0]


@pytest.mark.parametrize(
    "program",
    [
        lambda y: y * 2,
        lambda y: y * y.mean("k") + y.x,
        lambda y: y.differentiate("x"),
        lambda y: y.integrate("x"),
        lambda y: y.interp(x=[0.5, 2.0]),
        lambda y: y.isel(x=slice(1, 4)),
        lambda y: y.isel(x=2) * y.x,
        lambda y: y.diff("x"),
        lambda y: y.shift(x=1) + y.roll(x=1, roll_coords=False),
        lambda y: y.pad(x=1, mode="edge"),
        lambda y: xr.concat([y, y.assign_coords(x=y.x + 9)], "x"),
        lambda y: xr.concat([y, y + 1], "k"),
        lambda y: y.rename(x="z").to_dataset(name="a"),
        lambda y: y.assign_coords(s=y.x**2).swap_dims(x="s"),
        lambda y: y.assign_coords(s=y.x**2).set_index(x="s"),
        lambda y: y.sortby("x", ascending=False),
        lambda y: y.weighted(np.cos(y.x)).mean() * y.idxmax("x"),
        lambda y: y.isel(x=slice(4)).coarsen(x=2).mean(),
        lambda y: xr.where(y.x > 1, y, 0.0).copy(deep=True),
    ],
)
def test_coordinates_that_a_compiled_program_is_given(program):
    rng = np.random.default_rng(0)
    x = xr.DataArray(rng.normal(size=(3, 5)), {"k": [1, 2, 3]}, ("k", "x"), name="q", attrs={"units": "m"})
    places = xr.DataArray([0.0, 1.0, 2.5, 3.0, 4.5], dims="x", attrs={"units": "s"})
    run = lambda x, c: program(x.assign_coords(x=c))
    slopes = ng.grad(lambda x, c: _total(run(x, c)), (0, 1))
    for f in (run, slopes):
        compiled = ng.compile(f)
        for c in (places, 1.5 * places + 0.1, places):
            found, expected = compiled(x, c), f(x, c)
            for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
                xr.testing.assert_allclose(a, b, rtol=1e-12)
                assert list(a.xindexes) == list(b.xindexes)
                assert all(a.indexes[n].dtype == i.dtype for n, i in b.indexes.items())
                assert all(a.coords[n].attrs == v.attrs for n, v in b.coords.items())
        assert compiled.cache_info().recordings == 1


def _total(out):
    """A number of all that a program gives, its coordinates included."""
    parts = [out.to_array() if isinstance(out, xr.Dataset) else out, *(out[n] for n in ("x", "z", "s") if n in out.coords)]
    return sum((np.sin(xr.DataArray(p.variable)) * (k + 1)).sum() for k, p in enumerate(parts))


@pytest.mark.parametrize("number", [float, np.array])
def test_coordinates_made_of_numbers(number):
    x = xr.DataArray([1.0, 2.0, 3.0], dims="x")
    program = lambda s: x.assign_coords(q=("x", np.arange(3.0) * s), k=2 * s).to_dataset(name="a")
    compiled = ng.compile(program)
    for value in (1.5, 2.0):
        s = number(value)
        for out in (compiled(s), ng.pullback(program, s)[0], ng.value_and_grad(lambda s: (s * 1.0, program(s)), has_aux=True)(s)[0][1]):
            xr.testing.assert_identical(out, program(value))
            assert type(out.q.variable.data) is np.ndarray


def test_labels_that_a_compiled_program_is_given_are_not_looked_up():
    x, c = xr.DataArray([1.0, 2.0, 3.0], dims="x"), xr.DataArray([1.0, 2.0, 4.0], dims="x")
    for f in (
        lambda y: y.sel(x=2.0),
        lambda y: y.sel(x=slice(1.0, 2.0)),
        lambda y: y.reindex(x=[1.0, 2.0]),
        lambda y: y.drop_sel(x=2.0),
        lambda y: y.drop_duplicates("x"),
        lambda y: y * x.assign_coords(x=[1.0, 2.0, 4.0]),
        lambda y: xr.Dataset({"a": y}, coords={"x": [1.0, 2.0, 4.0]}),
        lambda y: y * y.assign_coords(x=y.x + 1),
        lambda y: xr.align(y, y[1:])[0],
        lambda y: y.indexes["x"],
        lambda y: y.x.to_index(),
    ):
        with pytest.raises(ng.TraceError, match=r"inside ng\.compile would fix this run's answer"):
            ng.compile(lambda x, c, f=f: f(x.assign_coords(x=c)))(x, c)


CELLS = [
    lambda x, at: x.sel(x=at, method="nearest") * at.data,
    lambda x, at: x.sel(x=at.variable, method="nearest") * at.data,
    lambda x, at: x.to_dataset(name="a").sel(x=at.data, method="nearest").a * at.data,
    lambda x, at: x.isel(x=xr.DataArray(np.argsort(x.data), dims="x")) * x.data,
    lambda x, at: x[np.argsort(x.data)] * x.data,
    lambda x, at: x.sortby(x) * np.arange(4),
    lambda x, at: x.sortby(x).x * x.data,
    lambda x, at: x.to_dataset(name="a").sortby("a", ascending=False).diff("x").a,
    lambda x, at: x.isel(x=np.argsort(x.data)).isel(x=slice(1, 3)) * at.data,
]


@pytest.mark.parametrize("program", CELLS)
def test_cells_that_differ_per_slice_or_from_call_to_call_along_a_dim_with_labels(program):
    rng = np.random.default_rng(0)
    x = xr.DataArray(rng.normal(size=(3, 4)), {"x": [0.0, 1.0, 2.5, 3.0], "name": ("x", list("abcd"))}, ("k", "x"))
    at = xr.DataArray(rng.uniform(0, 3, (3, 2)), dims=("k", "x"))
    loss = lambda x, at: ((out := program(x, at)).sum(), out)
    (value, out), gradients = ng.value_and_grad(loss, (0, 1), has_aux=True, over="k")(x, at)
    for i in range(3):
        one = program(x[i], at[i])
        xr.testing.assert_allclose(out[i].reset_index(list(out[i].xindexes)), one.reset_index(list(one.xindexes)))
        assert value[i] == pytest.approx(one.sum().item())
        for g, slope in zip(gradients, ng.grad(lambda x, at: program(x, at).sum(), (0, 1))(x[i], at[i]), strict=True):
            np.testing.assert_allclose(g[i], slope)
    if "sel" in program.__code__.co_names:
        return
    compiled = ng.compile(program)
    for i in range(3):
        xr.testing.assert_identical(compiled(x[i], at[i]), program(x[i], at[i]))


LABELS = [
    lambda x, c: x.reindex(x=c, method="nearest"),
    lambda x, c: x.reindex(x=c.data, method="ffill", tolerance=1.0),
    lambda x, c: x.reindex({"x": c.variable}, method="nearest"),
    lambda x, c: x.reindex(x=xr.concat([c, xr.DataArray([2.5], dims="x")], "x"), fill_value=0.5),
    lambda x, c: x.to_dataset().reindex(x=c, method="nearest").q,
    lambda x, c: x.reindex_like(c.assign_coords(x=c), method="nearest"),
    lambda x, c: x.assign_coords(x=x.x * c[0]).reindex(x=c, method="nearest"),
    lambda x, c: x.expand_dims(m=c.data),
    lambda x, c: x.expand_dims({"m": c.rename(x="m"), "n": 2}, axis=[1, 0]),
    lambda x, c: x.expand_dims(m=[c[0], 2 * c[1]]),
    lambda x, c: x.to_dataset().expand_dims(m=c.data).q,
    lambda x, c: xr.concat([x, x + 1, x * 2], c.rename(x="m").rename("m")),
    lambda x, c: xr.concat([x, x + 1, x * 2], xr.Variable("m", c.data)),
    lambda x, c: xr.concat([x.to_dataset(), x.to_dataset() + 1], c[1:].rename(x="m").rename("m")).q,
]


@pytest.mark.parametrize("program", LABELS)
def test_labels_of_dims_that_are_differentiated(program):
    rng = np.random.default_rng(0)
    x = xr.DataArray(rng.normal(size=(3, 5)), {"k": [1, 2, 3], "x": [0.0, 1.0, 2.5, 3.0, 4.5]}, ("k", "x"), name="q")
    c = xr.DataArray([1.2, 2.6, 4.4], dims="x", attrs={"units": "s"}, name="c")
    xr.testing.assert_identical(ng.pullback(program, x, c)[0], program(x, c))
    total = lambda out: sum((np.sin(out * out[n]) * out[n]).sum() for n in ("x", "m") if n in out.dims)
    loss = lambda x, c: total(program(x, c))
    moves = rng.normal(size=x.shape), rng.normal(size=3)
    ends = [loss(x + h * moves[0], c + h * moves[1]).item() for h in (STEP / 10, -STEP / 10)]
    gradients = ng.grad(loss, (0, 1))(x, c)
    found = sum(np.vdot(g, move) for g, move in zip(gradients, moves, strict=True))
    assert found == pytest.approx((ends[0] - ends[1]) / (STEP / 5), rel=1e-6)
    if "reindex_like" not in program.__code__.co_names:
        each = ng.grad(loss, (0, 1), over="k")(x, c)
        for i in range(3):
            for a, b in zip(each, ng.grad(loss, (0, 1))(x[i], c), strict=True):
                np.testing.assert_allclose(a[i], b, rtol=1e-12, atol=1e-14)
    with pytest.raises(ng.TraceError, match="has an index, which cannot differ per slice"):
        ng.grad(loss, 1, over="k")(x, c * xr.DataArray([1.0, 1.1, 1.2], dims="k"))


def test_new_labels_without_an_index():
    x, c = xr.DataArray([1.0, 2.0], dims="x"), xr.DataArray([1.2, 2.6, 4.4], dims="m")
    program = lambda c: x.expand_dims(create_index_for_new_dim=False, m=c)
    xr.testing.assert_identical(ng.pullback(program, c)[0], program(c))
    np.testing.assert_allclose(ng.grad(lambda c: (program(c) * program(c).m ** 2).sum())(c), 6 * c)


@pytest.mark.parametrize("calendar", ["standard", "360_day"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x**2 * x.time.dt.dayofyear).sum(),
        lambda x: (x**2 * np.cos(2 * np.pi * x.time.dt.month / 12)).mean(),
        lambda x: xr.where(x.time.dt.season == "MAM", x**2, x).sum(),
        lambda x: xr.where(x.time.dt.strftime("%m") == "03", x**2, x).sum(),
        lambda x: (x**2).where(x.time.dt.floor("D") == x.time).where(x.time.dt.year > 1999).sum(),
        lambda x: (x**2 * x.other.dt.day).sum(),
        lambda x: (x**2 * (x.time.dt.isocalendar().week if x.time.dtype != object else 2)).sum(),
    ],
)
def test_parts_of_dates_that_differ_per_slice(calendar, f):
    time = xr.date_range("2000-02-25", periods=6, freq="20D", calendar=calendar)
    data = np.random.default_rng(0).normal(size=(6, 3))
    x = xr.DataArray(data, {"time": time, "other": ("time", time)}, ("time", "x"))
    each = []
    for i in range(6):
        one = x.isel(time=i)
        ends = [[f(one + s * STEP * (np.arange(3) == k)).item() for s in (1, -1)] for k in range(3)]
        each.append([(a - b) / (2 * STEP) for a, b in ends])
    np.testing.assert_allclose(x.grad(f, over="time"), each, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("wrt", [0, 1, (0, 1)])
def test_a_coordinate_that_differs_per_slice_has_no_index(wrt):
    x = xr.DataArray(np.random.default_rng(0).normal(size=(4, 2)), dims=("x", "site"))
    depth = xr.DataArray([[0.0, 1.0, 2.5, 3.0], [0.0, 0.5, 2.0, 4.0]], dims=("site", "x"))
    with pytest.raises(ng.TraceError, match=r"per slice of \('site',\); give it none, .*indexes={}"):
        ng.grad(lambda x, at: x.assign_coords(x=at).integrate("x"), wrt, over="site")(x, depth)

    def integral(x, at):
        return x.assign_coords(xr.Coordinates({"x": at.variable}, indexes={})).integrate("x")

    slopes, shifts = ng.grad(integral, (0, 1), over="site")(x, depth)
    for i in range(2):
        y, t = x.values[:, i], depth.values[i]
        widths, means = np.diff(t), (y[1:] + y[:-1]) / 2
        np.testing.assert_allclose(slopes[:, i], (np.append(0, widths) + np.append(widths, 0)) / 2, rtol=1e-12)
        np.testing.assert_allclose(shifts[i], np.append(0, means) - np.append(means, 0), rtol=1e-12)


def test_coordinates_of_a_dataset_stay_where_no_variable_has_their_dims():
    places = {"x": [1, 2, 3], "t": ("t", [5, 6]), "u": (("t", "x"), np.ones((2, 3))), "s": 4.0}
    ds = xr.Dataset({"a": (("e", "x"), np.arange(6.0).reshape(2, 3))}, coords=places)
    xr.testing.assert_identical(ng.grad(lambda d: (d.a**2).sum())(ds).drop_attrs(), 2 * ds)
    xr.testing.assert_identical(ng.grad(lambda d: (d.a**2).sum(), over="e")(ds).drop_attrs(), 2 * ds)
    xr.testing.assert_identical(ng.vmap(lambda d: 2 * d, "e")(ds), 2 * ds)
    _, tangent = ng.pushforward(lambda d: 3 * d, (ds,), (ds,))
    xr.testing.assert_identical(tangent, 3 * ds)
    counted = ds.assign(n=("x", [1, 2, 3]))
    assert set(ng.grad(lambda d: (d.a * d.n).sum())(counted).data_vars) == {"a"}


def test_variables_that_become_coordinates_are_there_per_slice():
    ds = xr.Dataset({"a": (("e", "x"), np.ones((2, 3))), "height": (("e", "x", "y"), np.arange(12.0).reshape(2, 3, 2))})
    xr.testing.assert_identical(ng.vmap(lambda d: d.set_coords("height"), "e")(ds), ds.set_coords("height"))
