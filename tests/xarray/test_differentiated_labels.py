"""Labels, groups, bins and places that are differentiated, or that differ per slice."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.harness import check_gradient
from tests.xarray.programs import LON, WEIGHTS, field


def test_stations_are_differentiated():
    x = field()
    at = {"lat": xr.DataArray([-10.0, 20.0], dims="station"), "lon": xr.DataArray([10.0, 100.0], dims="station")}

    def f(lat, lon):
        return (x.interp(lat=lat, lon=lon) ** 2).sum()

    gradients = ng.grad(f, wrt=(0, 1))(at["lat"], at["lon"])
    for name, g in zip(at, gradients, strict=True):
        for i in range(2):
            step = xr.DataArray(1e-4 * np.eye(2)[i], dims="station")
            ends = [f(**{**at, name: at[name] + s * step}).item() for s in (1, -1)]
            assert g[i].item() == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-6)


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "quadratic", "cubic", "quintic", "pchip", "akima", "makima", "barycentric"])
def test_targets_along_one_dim_are_differentiated(method):
    nodes = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 5.0, 7.0])
    x = xr.DataArray(np.sin(nodes), dims="x", coords={"x": nodes})
    at = xr.DataArray([0.3, 2.0, 6.1], dims="x")
    f = lambda at: (x.interp(x=at.values if isinstance(at.data, np.ndarray) else at, method=method) ** 2).sum()
    value, g = ng.value_and_grad(f)(at)
    assert value.item() == pytest.approx(f(at).item(), rel=1e-10)
    for i in range(3):
        step = 1e-5 * np.eye(3)[i]
        assert g[i].item() == pytest.approx((f(at + step) - f(at - step)).item() / 2e-5, rel=1e-6, abs=1e-9)


PATH = xr.DataArray([2.0, 5.5, 9.0], dims="lon", coords={"name": ("lon", ["a", "b", "c"])})


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "pchip"])
@pytest.mark.parametrize("places", [
    lambda y: {"lat": PATH, "lon": y}, lambda y: {"lon": y, "lat": PATH}, lambda y: {"lat": PATH.variable, "lon": y},
    lambda y: {"lat": PATH + 0 * y, "lon": y}, lambda y: {"lat": PATH, "lon": y.assign_coords(hour=("lon", [0, 6, 12]))},
])  # fmt: skip
def test_points_along_a_dim_that_is_interpolated(places, method):
    """A path through a field whose cells are counted by one of its dims."""
    y, coords = xr.DataArray([25.0, 110.0, 170.0], dims="lon"), {"lat": np.arange(5) * 3.0, "lon": np.arange(6) * 40.0}
    data = xr.DataArray(np.random.default_rng(2).normal(size=(5, 6)), dims=("lat", "lon"), coords=coords)
    f = lambda data, y: data.interp(places(y), method=method)
    along = data.copy(data=np.random.default_rng(3).normal(size=data.shape)), y * 0 + [0.3, -1.0, 0.7]
    out, slope = ng.pushforward(f, (data, y), along)
    xr.testing.assert_allclose(out, f(data, y), rtol=1e-13)
    ends = [f(data + s * along[0], y + s * along[1]).values for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(slope.values, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


def test_the_nearest_cells_of_points_half_way_between_are_those_of_xarray():
    """Where the half of a step rounds, xarray's choice for points of several dims is another one than along a line."""
    fine = np.linspace(0, 1, 20)
    data = xr.DataArray(np.random.default_rng(4).normal(size=(20, 20)), dims=("x", "y"), coords={"x": fine, "y": fine})
    half = xr.DataArray((fine[1:] + fine[:-1]) / 2, dims="p")
    for f in (lambda d: d.interp(x=half, y=half, method="nearest"), lambda d: d.interp(x=half, method="nearest"), lambda d: d.interp(x=half.values, y=half, method="nearest")):
        np.testing.assert_array_equal(ng.pushforward(f, (data,), (data,))[1], f(data))


@pytest.mark.parametrize("extrapolate", [False, True])
def test_long_series_by_cubics(extrapolate):
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, 400))
    x = xr.DataArray(rng.normal(size=(400, 2)), dims=("t", "x"), coords={"t": t})
    at = np.sort(rng.uniform(t[0] - 1, t[-1] + 1, 50))
    options = {"fill_value": "extrapolate"} if extrapolate else {}
    f = lambda x: x.interp(t=at, method="cubic", kwargs=options)
    weights = xr.DataArray(rng.normal(size=(50, 2)), dims=("t", "x"))
    loss = lambda x: (xr.DataArray(f(x).variable) * weights).sum()
    value, g = ng.value_and_grad(loss)(x)
    assert value.item() == pytest.approx(loss(x).item(), rel=1e-11)
    along = x.copy(data=rng.normal(size=x.shape))
    assert np.vdot(g, along) == pytest.approx((loss(x + along) - loss(x - along)).item() / 2, rel=1e-9)


def test_a_method_that_xarray_refuses_is_refused():
    line = xr.DataArray([0.0, 2.0, 3.0], dims="x", coords={"x": [0, 1, 2]})
    program = lambda x: x.interp(x=[0.5, 1.5], method="lineer").sum()
    with pytest.raises(ValueError, match="lineer is not a valid interpolator"):
        program(line)
    with pytest.raises(ValueError, match=r"no method 'lineer'; methods are .*linear, makima"):
        line.grad(program)


@pytest.mark.parametrize("over", [(), "case"])
@pytest.mark.parametrize("labels", [[0, 1, 2], [0.0, 1.0, 2.0]])
def test_labels_that_are_differentiated_pick_from_indexes_of_every_kind(labels, over):
    table = xr.DataArray([10.0, 20.0, 40.0], dims="x", coords={"x": labels})
    x = xr.DataArray([[0.1, 1.8], [1.1, 0.2]], dims=["case", "p"])
    programs = (
        lambda x: (table.sel(x=x, method="nearest") * x).sum(),
        lambda x: (table.to_dataset(name="a").sel(x=x.variable, method="nearest").a.variable * x).sum(),
    )
    for program in programs:
        np.testing.assert_array_equal(x.grad(program, over=over), [[10.0, 40.0], [20.0, 10.0]])


def test_dropna_that_looks_at_no_variable():
    ds = xr.Dataset({"a": (("lat", "x"), [[1.0, np.nan], [3.0, 4.0]]), "n": ("y", [1.0, 2.0])})
    for subset, dim in (((), "x"), (["n"], "x"), (["n"], "y")):
        out = ds.grad(lambda d, s=subset, dim=dim: (d.dropna(dim, subset=s).a ** 2).sum(), over="lat")
        np.testing.assert_array_equal(out.a, [[2.0, 0.0], [6.0, 8.0]])


def test_a_dim_that_is_interpolated_at_differentiated_places_has_them_as_labels():
    seen = {}

    def f(at):
        y = WEIGHTS.interp(lon=at)
        seen.update(dims=y.dims, index=list(y.xindexes), coord="lon" in y.coords)
        return (y * y.lon).sum()

    at = xr.DataArray([10.0, 100.0], dims="lon")
    g = ng.grad(f)(at)
    assert seen == {"dims": ("lon",), "index": ["lon"], "coord": True}
    rise = np.diff(WEIGHTS.values) / np.diff(LON)
    expected = [rise[0] * 10 + np.interp(10, LON, WEIGHTS), rise[1] * 100 + np.interp(100, LON, WEIGHTS)]
    np.testing.assert_allclose(g, expected)


@pytest.mark.parametrize(
    "places",
    [
        lambda x, s: {"lat": x.lat.data * s},
        lambda x, s: {"lat": (x.lat * s).variable},
        lambda x, s: {"lat": (x.lat * s).drop_vars("lat"), "lon": [10.0, 95.0]},
        lambda x, s: {"lat": x.lat.data[1:] * s, "lon": xr.DataArray([30.0, 80.0], dims="lat") * s},
        lambda x, s: {"lat": xr.DataArray(x.lat.data * s, dims="p")},
        lambda x, s: {"lat": x.lat.data[::-1] * s, "method": "nearest"},
        lambda x, s: {"lat": (x.lat * s).variable, "lon": (x.lon * s).variable, "method": "slinear"},
    ],
)
def test_coordinates_at_places_that_are_differentiated(places):
    """Those of plain xarray, words included, which are the nearest."""
    x = field().isel(time=0, drop=True).isel(lat=[1, 0, 2])
    program = lambda x, s: x.interp(**places(x, s))
    bare = x.drop_vars("zone")
    compiled = ng.compile(program)
    for s in (0.9, 0.7):
        xr.testing.assert_allclose(ng.pullback(program, x, s)[0], program(x, s), rtol=1e-13)
        assert set(ng.pullback(program, x, s)[0].xindexes) == set(program(x, s).xindexes)
        xr.testing.assert_allclose(compiled(bare, s), program(bare, s), rtol=1e-13)
    several = xr.DataArray([0.9, 0.7], dims="case")
    out = ng.value_and_grad(lambda s: ((y := program(x, s.data)).sum(), y), has_aux=True, over="case")(several)[0][1]
    for i in range(2):
        one = program(x, several[i].item())
        assert set(out.coords) == set(one.coords)
        for n, v in one.coords.items():
            found = out[n].isel(case=i, missing_dims="ignore").values
            np.testing.assert_array_equal(found, v) if v.dtype.kind == "U" else np.testing.assert_allclose(found, v, rtol=1e-13)


def test_weights_of_a_compiled_program():
    x, w = field()[:2], WEIGHTS
    for statistic in (lambda x, w: x.weighted(w).mean(), lambda x, w: x.weighted(w**2).std("lon"), lambda x, w: x.weighted(w).quantile(0.4, dim="lon")):
        for f in (statistic, lambda x, w, f=statistic: ng.grad(lambda w, x: f(x, w).sum())(w, x)):
            compiled = ng.compile(f)
            for weights in (w, 2 - w / 2):
                np.testing.assert_allclose(compiled(x, weights), f(x, weights), rtol=1e-13, atol=1e-15)
            assert compiled.cache_info().recordings == 1
    missing = ng.compile(lambda x, w: x.weighted(w).mean())(x, w.where(w > 1))  # no looking: what plain xarray refuses is missing
    assert np.isnan(missing)


def test_bins_of_what_is_differentiated():
    ds = xr.Dataset({"t": field()[:4], "p": field(1)[:4] ** 2})
    for program in (
        lambda d: d.p.groupby_bins(d.t, [0, 2, 3, 9]).mean(),
        lambda d: d.groupby_bins("t", [0, 2, 3, 9]).sum(),
        lambda d: d.groupby_bins(d.t.mean("time"), 3).std(),
        lambda d: d.p.groupby_bins(d.t, [0, 2, 3, 9], labels=[1, 2, 3]).map(lambda g: g.max()),
    ):
        check_gradient(program, ds)
    bins = lambda d: d.p.groupby_bins(d.t, [0, 2, 3, 9]).mean().sum()
    for run in (ng.grad(bins, over="lat"), ng.compile(bins)):
        with pytest.raises(ng.TraceError, match="take each bin by a mask"):
            run(ds)


@pytest.mark.parametrize("of", ["t", "k"])
@pytest.mark.parametrize(
    "program",
    [
        lambda a, k: a.groupby(k).mean(),
        lambda a, k: a.groupby(k).std() * a.groupby(k).max()[k.name],
        lambda a, k: a.groupby(k) - a.groupby(k).mean(),
        lambda a, k: a.groupby(k).sum().interp({k.name: [1.7, 3.1]}),
        lambda a, k: a.groupby(k).map(lambda g: g.quantile(0.3)),
        lambda a, k: sum((g * (i + 1)).sum() for i, (_, g) in enumerate(a.groupby(k))),
        lambda a, k: sum(g.sum() * a.groupby(k).mean().sel({k.name: label}) * label for label, g in a.groupby(k)),
        lambda a, k: a.where(a < 1).groupby(k).fillna(0.5) * k,
        lambda a, k: a.where(a < 1).groupby(k).fillna(a.groupby(k).max() * 2),
        lambda a, k: a.groupby(k).where(a.groupby(k).sum() > 0) * k,
        lambda a, k: xr.apply_ufunc(lambda g, m: g * m, a.groupby(k), a.groupby(k).sum()),
    ],
)
def test_groups_of_what_is_differentiated(program, of):
    """Cells of a group move together; else there would be other groups."""
    rng = np.random.default_rng(3)
    marks = {"k": ("lat", np.array([1.5, np.nan, 4.0, 1.5])), "t": (("lat", "lon"), rng.integers(1, 4, (4, 5)) * 1.5)}
    ds = xr.Dataset({"a": (("lat", "lon"), rng.normal(size=(4, 5))), **marks}, {"lat": [10.0, 20.0, 30.0, 40.0]})
    moves = {n: rng.normal(size=100) for n in marks}
    along = {n: v.copy(data=moves[n][(v.fillna(0) * 2).astype(int)]) for n, v in ds[list(marks)].items()}
    along["a"] = ds.a.copy(data=rng.normal(size=(4, 5)))

    def loss(d):
        return (program(d.a, d[of]) ** 2).sum()

    at = lambda h: loss(ds + h * xr.Dataset(along)).item()
    gradient = ds.grad(loss)
    assert gradient.coords.identical(ds.coords)
    found = sum((gradient[n] * along[n]).sum().item() for n in along)
    assert found == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-7)


def _with_coordinate(m, w):
    m.coords["w"] = w[::-1]
    return m * m.w


WEIGHT_OF = xr.DataArray([2.0, 3.0, 5.0], dims="k", coords={"k": [1.5, 4.0, 7.0]})


@pytest.mark.parametrize(
    "program",
    [
        lambda m, w: m * w * m.k,
        lambda m, w: (w * m).k * m.sum("y"),
        lambda m, w: m * w[:2],
        lambda m, w: w[1:] - m[:2],
        lambda m, w: sum(v.k * v for v in xr.align(w[1:], m[:2], join="outer")),
        lambda m, w: xr.merge([m.rename("m"), w.rename("w")]).to_array() * m.k,
        lambda m, w: xr.Dataset({"m": m}).assign(w=w, k2=m.k * w).to_array(),
        lambda m, w: w.expand_dims(y=3)[:, 1:].combine_first(m) * m.k,
        lambda m, w: xr.where(m > 0, w, m),
        lambda m, w: xr.dot(m, w, m.k),
        lambda m, w: m.weighted(w).mean("k"),
        lambda m, w: xr.concat([m, w.expand_dims(y=3)], "n") * m.k,
        lambda m, w: _with_coordinate(m.copy(), w) * m.k,
    ],
)
@pytest.mark.usefixtures("without_flox")
def test_labels_of_groups_meet_those_that_stay(program):
    """Which labels are equal is fixed; where they are, the coordinate is that of the groups."""
    rng = np.random.default_rng(4)
    ds = xr.Dataset({"a": (("x", "y"), rng.normal(size=(4, 3))), "k": ("x", [1.5, 4.0, 1.5, 7.0])})
    along = {"a": ds.a.copy(data=rng.normal(size=(4, 3))), "k": ("x", [0.3, -0.7, 0.3, 1.1])}
    weight = lambda out: out * np.sin(xr.DataArray(np.arange(out.size).reshape(out.shape), dims=out.dims))

    def loss(d, w=WEIGHT_OF):
        return weight(program(d.a.groupby(d.k).mean(), w)).fillna(0).sum()

    def at(h):
        d = ds + h * xr.Dataset(along)
        return loss(d, WEIGHT_OF.assign_coords(k=np.unique(d.k))).item()

    value, g = ds.grad.value_and_grad(loss)
    assert value.item() == pytest.approx(loss(ds).item(), rel=1e-14)
    found = sum((g[n] * xr.Dataset(along)[n]).sum().item() for n in along)
    assert found == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-7)
    moved = ng.pullback(lambda d: program(d.a.groupby(d.k).mean(), WEIGHT_OF), ds)[0]
    xr.testing.assert_identical(moved, program(ds.a.groupby(ds.k).mean(), WEIGHT_OF))


def test_given_labels_stay_where_they_are():
    ds = xr.Dataset({"a": ("x", [1.0, 2.0, 3.0]), "k": ("x", [1.5, 4.0, 1.5])})
    program = lambda d: xr.Dataset({"m": d.a.groupby(d.k).sum()}, coords={"k": [4.0, 1.5]})
    out = ng.pullback(program, ds)[0]
    xr.testing.assert_identical(out, program(ds))
    g = ds.grad(lambda d: (program(d).m * program(d).k).sum())
    np.testing.assert_array_equal(g.a, [1.5, 4.0, 1.5])
    np.testing.assert_array_equal(g.k, 0.0)


HOUR = np.timedelta64(1, "h")


@pytest.mark.parametrize(
    "program",
    [
        lambda d: d.a * (d.gap.mean() / HOUR),
        lambda d: d.a * (d.gap.mean("x", skipna=False) / HOUR).fillna(2.0),
        lambda d: d.a * ((d.at.mean("x") - np.datetime64("2000-01-01")) / HOUR),
        lambda d: d.a * ((d.at - d.at.mean(["x", "y"])) / HOUR),
        lambda d: d.a * (d.gap.fillna(d.gap.mean("y")) / HOUR),
        lambda d: d.a * (d.gap.where(d.a > 0).mean() / HOUR),
        lambda d: d.mean("x").pipe(lambda m: m.a * m.gap.dt.total_seconds()),
        lambda d: d.a * (d.at.diff("x").mean() / HOUR),
        lambda d: d.a * (d.gap.groupby(d.y % 2).mean().sum() / HOUR),
    ],
)
@pytest.mark.usefixtures("without_flox")
def test_averages_of_dates_and_durations(program):
    rng = np.random.default_rng(5)
    gaps = (rng.uniform(0, 30, (2, 3, 4)) * 3600).astype("m8[s]")
    gaps[0, 1, :2] = np.timedelta64("NaT", "s")
    ds = xr.Dataset(
        {"a": (("r", "x", "y"), rng.normal(size=(2, 3, 4))), "gap": (("r", "x", "y"), gaps), "at": (("r", "x", "y"), np.datetime64("2011-03-04") + gaps)},
        {"y": [1, 2, 3, 4]},
    )
    loss = lambda d: program(d).sum()
    value, g = ng.value_and_grad(loss, over="r")(ds)
    for i in range(2):
        one, slope = ng.value_and_grad(loss)(ds.isel(r=i))
        assert one.item() == pytest.approx(loss(ds.isel(r=i)).item(), rel=1e-12)
        assert value[i].item() == pytest.approx(one.item(), rel=1e-12)
        np.testing.assert_allclose(g.a[i], slope.a, rtol=1e-12)
        move = rng.normal(size=(3, 4))
        ends = [loss(ds.isel(r=i).assign(a=ds.a[i] + h * move)).item() for h in (1e-5, -1e-5)]
        assert np.vdot(slope.a, move) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    np.testing.assert_allclose(ng.compile(loss)(ds.isel(r=1)), loss(ds.isel(r=1)), rtol=1e-12)


def test_tiles_are_combined_by_their_coordinates_per_date():
    x = field()[:4]

    def program(x):
        tiles = [x.isel(lat=a, lon=b) for a in (slice(0, 2), slice(2, None)) for b in (slice(1, None), slice(0, 1))]
        return (xr.combine_by_coords(tiles[::-1], combine_attrs="override") ** 2).sum()

    xr.testing.assert_allclose(x.grad(program, over="time"), 2 * x.fillna(0))


@pytest.mark.parametrize("labels", [None, [7.0, 2.0]])
def test_labels_of_groups_by_several_variables(labels):
    a = xr.DataArray([1.0, 2.0, 3.0, 4.0], {"j": ("x", [0, 1, 1, 1])}, dims="x")
    k = xr.DataArray([2.0, np.nan, 7.0, 5.0], dims="x", attrs={"units": "m"})
    by = {"k": xr.groupers.UniqueGrouper(labels=labels), "j": xr.groupers.UniqueGrouper()}
    sums = lambda k: a.assign_coords(k=k).groupby(by).sum()
    gradient, found = ng.grad(lambda k: ((sums(k).k ** 2).sum(), sums(k)), has_aux=True)(k)
    xr.testing.assert_identical(found, sums(k))
    np.testing.assert_array_equal(gradient, 0.0 if labels else [4.0, 0.0, 14.0, 10.0])


def test_slices_of_labels_between_bounds_that_are_differentiated():
    x = xr.DataArray([1.0, 2.0, 3.0], dims="lat", coords={"lat": [10.0, 20.0, 30.0]})
    cut = lambda x, low, high: (x.sel(lat=slice(low, high)) ** 2).sum() * low
    for bounds in ((12.0, 30.0), (xr.DataArray(12.0), xr.DataArray(30.0)), (np.array(12.0), np.array(30.0))):
        value, (gx, low, high) = ng.value_and_grad(cut, wrt=(0, 1, 2))(x, *bounds)
        assert value == 156.0
        np.testing.assert_array_equal(gx, [0.0, 48.0, 72.0])
        assert (low, high) == (13.0, 0.0)
    several = xr.DataArray([10.0, 12.0], dims="k")
    with pytest.raises(ng.TraceError, match="take a mask"):
        ng.grad(lambda low: x.sel(lat=slice(low, 30.0)).sum() * low, over="k")(several)
    with pytest.raises(ValueError, match="without dims"):
        ng.grad(lambda low: x.sel(lat=slice(low, 30.0)).sum() * low.sum())(several)


def test_groups_given_by_labels_and_groups_that_differ_per_slice():
    ds = xr.Dataset({"a": ("x", [1.0, 2.0, 3.0])}, {"c": ("x", [4.0, 4.0, 5.0])})
    given = lambda d: (d.a.groupby(c=xr.groupers.UniqueGrouper(labels=[5.0, 4.0])).sum() ** 2).sum()
    np.testing.assert_array_equal(ds.grad(given, wrt="a"), [6.0, 6.0, 6.0])
    np.testing.assert_array_equal(ng.grad(lambda c: given(ds.assign_coords(c=c)))(ds.c), 0.0)
    labels = lambda d: d.a.groupby(d.a).sum().sum()
    for run in (ng.grad(labels, over="x"), ng.compile(labels)):
        with pytest.raises(ng.TraceError, match=r"each group by x\.where"):
            run(ds)


@pytest.mark.parametrize("over", [(), "lat"])
def test_what_is_equal_in_every_slice_is_equal(over):
    def program(x):
        y = x.where(x > 2)
        assert x.equals(x.copy())
        assert x.identical(x.copy(deep=True))
        assert y.equals(x.where(x > 2))
        assert y.broadcast_equals(y.copy())
        assert not x.equals(x + 1)
        assert not x.equals(y)
        assert not x.equals(x.isel(time=[0]))
        both = xr.merge([y.to_dataset(name="a"), x.to_dataset(name="a")], compat="no_conflicts").a
        assert both.notnull().all().data.all() if not over else True
        with pytest.raises(xr.MergeError):
            xr.merge([x.to_dataset(name="a"), (x + 1).to_dataset(name="a")], compat="no_conflicts")
        one, other = (x.assign_coords(m=statistic("time")) for statistic in (x.mean, x.max))
        assert "m" in (one + one.copy()).coords
        assert "m" not in (one + other).coords
        return (both * one).sum()

    x = field()[:3]
    np.testing.assert_allclose(x.grad(program, over=over), 2 * x)


def test_what_is_not_known_yet_is_not_taken_for_unequal():
    x = field()[:3].rename("a")
    ds = x.to_dataset()
    for program in (
        lambda x, y: x if x.a.equals(y.a) else 3 * x,
        lambda x, y: x if x.identical(y) else 3 * x,
        lambda x, y: x if x.broadcast_equals(y) else 3 * x,
        lambda x, y: xr.concat([x, y], "new", data_vars="different", compat="equals"),
        lambda x, y: xr.merge([x, y], compat="no_conflicts"),
    ):
        loss = lambda x, y, program=program: program(x, y).a.sum()
        for run in (ng.compile(program), ng.compile(ng.grad(loss))):
            with pytest.raises(ng.TraceError, match=r"comparing arrays.*compat='override'"):
                run(ds, ds.copy(deep=True))
    part = lambda x, at: x.assign_coords(m=x.isel(time=at, drop=True).mean())
    compiled = ng.compile(lambda x: part(x, 0) + part(x, 1))
    xr.testing.assert_identical(compiled(x), 2 * x)
    assert ng.compile(lambda x: x if x.time.equals(x.time.copy(deep=True)) else 3 * x)(x).equals(x)


def test_what_is_missing_in_one_of_two_is_no_conflict_in_any_slice():
    gone, there = xr.Dataset({"a": ((), np.nan)}), xr.Dataset({"a": ("y", [0])})
    program = lambda b: xr.merge([there, b], compat="no_conflicts").a.sum() + b.a.fillna(1.0)
    both = gone.expand_dims(lat=[0.0, 1.0]).copy(deep=True)
    np.testing.assert_array_equal(both.grad(program, over="lat").a, [0.0, 0.0])
    with pytest.raises(xr.MergeError):
        both.fillna(1.0).grad(program, over="lat")
