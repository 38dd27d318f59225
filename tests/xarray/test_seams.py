"""Every place in xarray where our arrays take another way is there, is reached, and leaves plain arrays alone."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.xarray import seams
from tests.xarray.harness import check_gradient, quiet
from tests.xarray.programs import LON, WEIGHTS, field, with_gaps

STACKED = xr.DataArray([1.0, 2.0, 4.0], dims="z", coords={"a": ("z", [0, 0, 1]), "b": ("z", [0, 1, 0])}).set_index(z=["a", "b"])
TARGETS = xr.DataArray([10.0, 100.0], dims="station")


def _exponential(x):
    return x.rolling_exp(time=3)


def _loop(x):
    return xr.apply_ufunc(lambda row: row.sum(), x, input_core_dims=[["time"]], vectorize=True)


def _keyed(x):
    return x.isel(time=0).assign_coords(k=x.isel(time=0, drop=True).fillna(0))


def _curvefit(x):
    line = lambda t, a, b: a * t + b
    return x.curvefit("lon", line, p0={"a": 0.0, "b": 1.0}).curvefit_coefficients


#: a program that reaches each place, for arrays that are differentiated, some of them over latitudes
REACHED = {
    "Dataset.interp": lambda x: WEIGHTS.interp(lon=xr.DataArray(x.data[0, 0, :2] * 10, dims="lon")),
    "_localize": lambda x: WEIGHTS.interp(lon=x * 20),
    "interpolate_variable": lambda x: x.interp(lon=[10.0, 100.0]),
    "func_interpolate_na": lambda x: x.interpolate_na("time"),
    "get_clean_interp_index": lambda x: x.interpolate_na("lon"),
    "interp_na": lambda x: x.interpolate_na("lon"),
    "_push": lambda x: x.ffill("time"),
    "nanfirst": lambda x: x.groupby("time.year").first(),
    "nanlast": lambda x: x.groupby("time.year").last(),
    "_sanitize_slice_element": lambda x: x.sel(lon=slice(x.isel(time=0, lat=0, lon=0).fillna(0) - 9, 50.0)),
    "Dataset.rank": lambda x: x * x.rank("time", pct=True),
    "Variable.rank": lambda x: x * x.rank("time"),
    "Weighted._weighted_quantile": lambda x: x.weighted(WEIGHTS).quantile(0.3, dim="lon"),
    "Weighted._weighted_std": lambda x: x.weighted(WEIGHTS).std("lon"),
    "Dataset.drop_sel": lambda x: x.drop_sel(lon=[90.0]) * x.lon,
    "Dataset.drop_isel": lambda x: x.drop_isel(lon=[1]) * x.lon,
    "Dataset.drop_duplicates": lambda x: x.isel(lon=[0, 1, 1]).drop_duplicates("lon") * x.lon,
    "DataArray._to_dataset_split": lambda x: (x * x.lon).to_dataset("lon")[90.0],
    "Dataset._unstack_once": lambda x: STACKED.unstack("z", fill_value=x.mean().data),
    "_normalize_indexes": lambda x: x.reindex(lon=x.mean(["time", "lat"]).data * 50, method="nearest"),
    "reindex": lambda x: (x * x.lon).reindex(lon=[0.0, 100.0], method="nearest"),
    "reindex_like": lambda x: (x * x.lon).reindex_like(WEIGHTS[:2]),
    "Variable.equals": lambda x: x * (2.0 if x.equals(x.copy()) else 0.0),
    "map_blocks": lambda x: x.map_blocks(lambda x: x**2) + xr.map_blocks(lambda x, k: k * x, x, args=[2.0]),
    "_calc_idxminmax": lambda x: x * x.idxmax("lon"),
    "BinGrouper.factorize": lambda x: x.fillna(0).groupby_bins(x.fillna(0), [-1, 1, 3, 9]).mean(),
    "UniqueGrouper.factorize": lambda x: x.isel(time=0).groupby(x.isel(time=0, drop=True).fillna(0)).sum(),
    "GroupBy._maybe_reindex": lambda x: _keyed(x).groupby(["k", "lat"]).sum(),
    "GroupBy.__iter__": lambda x: sum(k * g.sum() for (k, _), g in _keyed(x).groupby(["k", "lat"])),
    "apply_groupby_func": lambda x: _keyed(x).groupby("k").fillna(0.0) * _keyed(x).k,
    "Aligner.find_matching_indexes": lambda x: x * WEIGHTS * x.lon,
    "GroupBy.__init__": lambda x: x * len(_keyed(x).groupby("k").groups),
    "Weighted.__init__": lambda x: x.weighted(abs(x).fillna(0)).mean("lon"),
    "polyfit": lambda x: x.polyfit("lon", 1).polyfit_coefficients,
    "least_squares": lambda x: x.polyfit("lon", 1).polyfit_coefficients,
    "curvefit": _curvefit,
    "_vectorize": _loop,
    "_contains_cftime_datetimes": lambda x: x * x.time.dt.month.mean(),
    "_get_date_field": lambda x: x * x.time.dt.month,
    "_round_field": lambda x: x.where(x.time.dt.floor("D") == x.time),
    "_strftime": lambda x: x.where(x.time.dt.strftime("%Y") == "1999", 2 * x),
    "DataArrayRolling._array_reduce": lambda x: x.rolling(time=3).mean(),
    "RollingExp.__init__": lambda x: _exponential(x).mean(),
    **{f"RollingExp.{n}": lambda x, n=n: getattr(_exponential(x), n)() for n in ("mean", "sum", "std", "var")},
    **{f"RollingExp.{n}": lambda x, n=n: getattr(_exponential(x), n)(x**2) for n in ("cov", "corr")},
    "apply_indexer": lambda x: x.isel(lon=x.fillna(0).argmax("lon")),
    "Variable.__getitem__": lambda x: x.isel(x.fillna(0).argmax(["time", "lon"])),
    "IndexVariable._finalize_indexing_result": lambda x: x.isel(time=x.fillna(0).argmax("time")),
    "Dataset.sortby": lambda x: x[:, 0].sortby(x[:, 0, 1]) if x.ndim == 3 else x.sortby(x[:, 1]),
    "Dataset._unstack_full_reindex": lambda x: x.stack(z=("time", "lon")).unstack("z") * WEIGHTS,
    "Dataset.dropna": lambda x: x.fillna(1.0).shift(time=1).dropna("time"),
    "PandasIndex.isel": lambda x: x.isel(lon=np.argsort(x.fillna(0).data[0].ravel()[:3])),
    "PandasIndex.sel": lambda x: x.sel(lon=x.fillna(0).idxmax("lon")),
    "pad": lambda x: WEIGHTS.pad(lon=(1, 2), constant_values=(x.sum().data, 7.0)) + x.sum(),
    "full_like": lambda x: xr.full_like(WEIGHTS, x.sum()),
    "DataArray.quantile": lambda x: WEIGHTS.quantile([abs(np.sin(x.sum().data)), 0.5]),
    "Dataset.quantile": lambda x: WEIGHTS.to_dataset(name="a").quantile(abs(np.sin(x.sum()).data)).a,
    "einsum": lambda x: xr.dot(x, WEIGHTS, dim="lon"),
    "pandas_isnull": lambda x: x * x.time.mean().dt.month,
    "mean": lambda x: x * x.time.mean().dt.month,
    "as_compatible_data": lambda x: xr.DataArray([x[0, 0, 0], 2.0 * x[1, 0, 0].data], dims="list"),
    "asarray": lambda x: x.to_dataset(name="a").fillna({"a": x.mean("time")}).a,
    "Variable.as_numpy": lambda x: x.as_numpy(),
    "_maybe_chunk": lambda x: x.to_dataset(name="a").chunk(time=4).a.compute(),
    "Variable.chunk": lambda x: x.variable.chunk({"time": 4}).compute(),
    "DataWithCoords.clip": lambda x: np.clip(x, 1.0, 2.0),
}
OVER = {"Variable.equals", "apply_indexer", "Variable.__getitem__", "IndexVariable._finalize_indexing_result", "Dataset.dropna", "PandasIndex.sel", "PandasIndex.isel"}
DATES = {"pandas_isnull", "mean", "_contains_cftime_datetimes", "_get_date_field", "_round_field", "_strftime"}
LAZY = {"_calc_idxminmax"}
RECORDED = {"Weighted.__init__"}
MOVED = {"Dataset.drop_sel", "Dataset.drop_isel", "Dataset.drop_duplicates", "DataArray._to_dataset_split", "reindex", "reindex_like", "interp_na", "get_clean_interp_index", "Aligner.find_matching_indexes"}


@pytest.fixture
def without_flox():
    """xarray's own sums, where flox 0.11 fails with plain arrays (several groupers, NaT) or adds in another order."""
    with xr.set_options(use_flox=False):
        yield


def test_all_are_there():
    assert seams.MISSING == []
    assert {s.place.partition(":")[2] for s in seams.SEAMS} == set(REACHED)


@pytest.fixture
def asked(monkeypatch, seam):
    """The answers that a seam gave to the question whether it is meant."""
    owner, name = seams.owner_of(seam.place)
    installed, answers = getattr(owner, name), []

    def spy(*args, **kwargs):
        answers.append(bool(seam.when(*args, **kwargs)))
        return installed(*args, **kwargs)

    monkeypatch.setattr(owner, name, spy)
    return answers


@pytest.mark.parametrize("seam", seams.SEAMS, ids=lambda s: s.place.partition(":")[2])
def test_each_is_reached_and_differentiated(seam, asked):
    name = seam.place.partition(":")[2]
    x = with_gaps().isel(time=slice(0, 8))
    if name in LAZY:
        pytest.importorskip("dask")
        x = x.chunk(time=4)
    loss = lambda x: (REACHED[name](x) ** 2).sum()
    gradient = ng.grad(loss, over="lat" if name in OVER else "time" if name in DATES else ())
    if name in MOVED:
        gradient = lambda x: x.grad(loss, wrt="lon")
    with quiet():
        g = (ng.compile(gradient) if name in RECORDED else gradient)(x)
    assert any(asked), f"xarray no longer comes by {seam.place}"
    assert np.isfinite(g.values).all()
    assert name == "Dataset.interp" or (g.values != 0).any()


@pytest.mark.parametrize("seam", [s for s in seams.SEAMS if s.when not in {seams._always, seams._listed}], ids=lambda s: s.place.partition(":")[2])
@pytest.mark.usefixtures("without_flox")
def test_plain_arrays_go_through(seam, asked):
    x = field().isel(time=slice(0, 8))
    with quiet():
        try:
            out = REACHED[seam.place.partition(":")[2]](x)
        except ImportError as error:  # as it is without us
            pytest.skip(str(error))
    assert not any(asked)
    assert type(out.data) is np.ndarray


def test_options_of_xarray_stay():
    before = dict(xr.get_options())
    x = with_gaps()
    ng.grad(lambda x: (x.rolling(time=3).mean() ** 2).sum() + x.groupby("time.month").mean().sum())(x)
    seen = {}
    ng.grad(lambda x: seen.update(xr.get_options()) or x.sum())(x)
    assert dict(xr.get_options()) == before == seen


def test_a_level_of_plain_labels_knows_all_of_them():
    """As in xarray, `_to_index` gives the index with all levels and `to_index` one of them."""
    level = STACKED["a"].variable.to_base_variable()
    assert level._to_index().equals(STACKED.indexes["z"])
    assert level.to_index().equals(STACKED.indexes["z"].get_level_values("a"))
    xr.testing.assert_equal(xr.Dataset({"y": STACKED}, {n: c.variable.to_base_variable() for n, c in STACKED.coords.items()}).y, STACKED)


def test_a_loop_of_slices_is_one_call():
    calls = []
    x = xr.DataArray(np.random.default_rng(0).normal(size=(5, 7)), dims=("cell", "time"))

    def slope(row):
        calls.append(row.shape)
        return (row * np.arange(7)).sum()

    f = lambda x: (xr.apply_ufunc(slope, x, input_core_dims=[["time"]], vectorize=True) ** 2).sum()
    g = ng.grad(f)(x)
    assert calls == [(7,)]
    weight = np.arange(7)
    np.testing.assert_allclose(g, 2 * (x.values @ weight)[:, None] * weight)


def test_a_loop_over_plain_arrays_may_capture_what_is_differentiated():
    t = xr.DataArray(np.arange(5.0), dims="time")

    def f(rate):
        return xr.apply_ufunc(lambda t: np.exp(-rate.data * t), t, vectorize=True).sum()

    assert ng.grad(f)(xr.DataArray(0.3)).item() == pytest.approx(-(np.arange(5) * np.exp(-0.3 * np.arange(5))).sum())


def test_a_function_that_looks_at_its_slice_is_called_for_each():
    x = xr.DataArray(np.random.default_rng(0).normal(size=(5, 7)), dims=("cell", "time"))
    x = x.where(x < 1)

    def mean_of_present(row):
        return row[~np.isnan(row)].mean() if row[0] > 0 else row[~np.isnan(row)].sum()

    f = lambda x: (xr.apply_ufunc(mean_of_present, x, input_core_dims=[["time"]], vectorize=True) ** 2).sum()
    value, g = ng.value_and_grad(f)(x)
    assert value.item() == pytest.approx(f(x).item())
    along = x.copy(data=np.where(x.isnull(), 0.0, np.random.default_rng(1).normal(size=x.shape)))
    assert np.vdot(g, along) == pytest.approx((f(x + 1e-5 * along) - f(x - 1e-5 * along)).item() / 2e-5, rel=1e-7)


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
    gaps[0, 1, :2] = np.timedelta64("NaT")
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


def test_what_dropna_leaves_out_of_a_compiled_program() -> None:
    x = xr.DataArray([1.0, np.nan, 3.0], dims="x")
    for program in (lambda x: x.dropna("x"), lambda x: x.to_dataset(name="a").dropna("x").a):
        with pytest.raises(ng.TraceError, match=r"which labels dropna leaves out.*where or fillna"):
            ng.compile(program)(x)
    held = x.assign_coords(m=("x", [1.0, np.nan, 2.0]))
    kept = ng.compile(lambda y: held.m.dropna("x") * y)
    np.testing.assert_array_equal(kept(2.0), [2.0, 4.0])


@pytest.mark.parametrize("gaps", [False, True])
def test_residuals_of_complex_observations_are_real(gaps):
    rng = np.random.default_rng(6)
    x = xr.DataArray(rng.normal(size=(7, 3)) + 1j * rng.normal(size=(7, 3)), dims=("t", "x"), coords={"t": np.arange(7.0)})
    weight = xr.DataArray(rng.normal(size=3), dims="x")
    if gaps:
        x[2, 1] = np.nan
    found = ng.pullback(lambda x: x.polyfit("t", 2, cov=True), x)[0]
    for i in range(3):
        present = ~np.isnan(x[:, i].values)
        matrix = np.vander(np.arange(7.0)[present], 3)
        left = x[:, i].values[present] - matrix @ np.linalg.lstsq(matrix, x[:, i].values[present], rcond=None)[0]
        assert found.polyfit_residuals.dtype == float
        assert found.polyfit_residuals[i].item() == pytest.approx(np.sum(np.abs(left) ** 2))
    if not gaps:
        xr.testing.assert_allclose(found, x.polyfit("t", 2, cov=True))
    loss = lambda x: (x.polyfit("t", 2, full=True).polyfit_residuals * weight).sum()
    move = rng.normal(size=(7, 3)) * (1 + 2j)
    g = ng.grad(loss)(x)
    value = lambda h: ng.value_and_grad(loss)(x + h * move)[0].item()
    assert np.vdot(g.fillna(0), move).real == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-6)


def test_a_branch_by_numpy_on_a_dataarray_names_that_of_xarray() -> None:
    """NumPy asks a DataArray for nothing but its numbers."""
    da = xr.DataArray([1.0, -2.0], dims="x")
    with pytest.raises(ng.TraceError, match=r"xr\.where"):
        ng.grad(lambda a: np.where(a > 0, a, 0.0).sum())(da)


PARABOLA = xr.DataArray(np.arange(4.0) ** 2, dims="x", coords={"x": np.arange(4.0)})
OF_NUMBERS = {
    "interp at one": lambda a: PARABOLA.interp(x=a / 3),
    "interp at a list": lambda a: PARABOLA.interp(x=[a / 3, 0.1]),
    "a list": lambda a: PARABOLA * xr.DataArray([a, 1, a**2, 0.5], dims="x"),
    "a list of lists": lambda a: xr.DataArray([[a, 1.0], [2, a * a]], dims=("x", "y")).sum("x"),
    "a list of DataArrays": lambda a: xr.DataArray([a * PARABOLA[2], PARABOLA[3], 1.0], dims="x"),
    "a coordinate": lambda a: PARABOLA.assign_coords(x=[0, a, 2 + a, 5.0]).integrate("x"),
    "a variable of a Dataset": lambda a: xr.Dataset({"u": ("x", [a, 2.0]), "v": a})["u"],
    "coefficients": lambda a: xr.polyval(PARABOLA, xr.DataArray([a, 1.0], dims="degree", coords={"degree": [0, 1]})),
    "values written": lambda a: _written(a * PARABOLA, [a, 2.0]),
}


def _written(x, values):
    x.loc[{"x": [1.0, 2.0]}] = values
    return x


@pytest.mark.parametrize("f", OF_NUMBERS.values(), ids=OF_NUMBERS)
def test_numbers_among_plain_arrays(f):
    loss = lambda a: (f(a) ** 2).sum()
    value, g = ng.value_and_grad(loss)(1.2)
    assert float(value) == pytest.approx(float(loss(1.2)), rel=1e-14)
    assert float(g) == pytest.approx(float(loss(1.2 + 1e-5) - loss(1.2 - 1e-5)) / 2e-5, rel=1e-7)
    compiled = ng.compile(ng.grad(loss))
    for a in (1.2, 1.3):
        assert float(compiled(a)) == pytest.approx(float(ng.grad(loss)(a)), rel=1e-12)


def test_a_list_of_numbers_per_slice():
    a = ng.positional(np.array([1.2, 2.0, -0.5]), vectorized="cell")
    f = OF_NUMBERS["a list"]
    g = ng.grad(lambda a: (f(a).data ** 2).sum())(a)
    np.testing.assert_allclose(g.data, [ng.grad(lambda a: (f(a) ** 2).sum())(float(v)) for v in a.data], rtol=1e-13)


def test_a_list_of_numbers_on_a_gpu(cupy):
    x = xr.DataArray(cupy.asarray([2.0, 3.0]), dims="x")
    g = ng.grad(lambda x: (xr.DataArray([x[0], 4.0, x[1]], dims="y") ** 2).sum())(x)
    np.testing.assert_array_equal(g.data.get(), [4.0, 6.0])
