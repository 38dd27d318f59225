"""Fits of dask arrays: lazy, and the numbers of the same fit in memory."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.fit.problems import START, labelled, model, named, observations, residual
from tests.support.lazy import refuse

OVER = ("lat", "lon")
CHUNKS = {"time": 10, "lat": 2, "lon": 3}


def same(lazy, eager, names):
    """All results, computed together."""
    done = lazy.compute()
    for name in names:
        xr.testing.assert_allclose(getattr(done, name), getattr(eager, name), rtol=1e-6)
        np.testing.assert_equal(getattr(done, name).attrs, getattr(eager, name).attrs)
    return done


@pytest.mark.parametrize(
    "options", [{}, {"sigma": "lat"}, {"bounds": {"rate": (0.5, 1.0)}}, {"prior": {"rate": (1.0, 0.1)}}]
)
def test_everything_is_lazy_and_the_same(options):
    y = labelled(observations())
    y[:, 0, 0] = np.nan
    if "sigma" in options:
        options = {"sigma": 1.0 + 0.1 * y.lat}
    want = ng.least_squares(residual, START, y.time, y, over=OVER, **options)
    with dask.config.set(scheduler=refuse):
        fit = ng.least_squares(residual, START, y.time, y.chunk(CHUNKS), over=OVER, **options)
        assert "lat: 3" in repr(fit)
    assert fit.params["rate"].chunks == ((2, 1), (3, 1))
    done = same(fit, want, ["params", "stderr", "status", "iterations", "cost", "dof", "covariance", "aic", "r2"])
    assert done.status[0, 0] == 4
    with pytest.raises(AttributeError, match=r"\.compute\(\) on the data"):
        fit.chi3


LATER = xr.DataArray([0.0, 2.0, 7.5], dims="time", coords={"time": [0.0, 2.0, 7.5]})


@pytest.mark.parametrize("form", [None, "Dataset", "DataTree", "DimArray", "several", "shared"])
def test_predictions_and_residuals_are_lazy_and_the_same(form):
    """They have the dims, coordinates and chunks of a fit in memory, and need no values for that."""
    y = labelled(observations())
    y[:, 0, 0] = np.nan
    y[3, 1, 1] = np.nan
    f, later, options = residual, LATER, {"shared": "rate"} if form == "shared" else {}
    t, lazy = y.time, y.chunk(CHUNKS)
    if form == "Dataset":
        f, y, lazy = lambda p, t, d: residual(p, t, d["y"]), y.to_dataset(name="y"), lazy.to_dataset(name="y")
    elif form == "DataTree":
        f = lambda p, t, d: residual(p, t, d["y"])
        y, lazy = (xr.DataTree.from_dict({"/": x.to_dataset(name="y")}) for x in (y, lazy))
    elif form == "DimArray":
        t, y = named(y.values)
        lazy, later = ng.DimArray(da.from_array(y.data, chunks=(10, 2, 3)), y.dims), ng.DimArray(LATER.values, ("time",))
    elif form == "several":
        f = lambda p, t, d: {n: residual(p, t, d[n]) for n in d}
        y, lazy = (xr.Dataset({"a": x, "b": 2 * x}) for x in (y, lazy))
    want = ng.least_squares(f, START, t, y, over=OVER, **options)
    with dask.config.set(scheduler=refuse):
        fit = ng.least_squares(f, START, t, lazy, over=OVER, **options)
        found = [fit.residual, fit.predict(), fit.predict(later)]
    for pair in zip(found, [want.residual, want.predict(), want.predict(later)], strict=True):
        x, expected = (v if isinstance(v, xr.Dataset) else v.to_dataset() for v in pair)
        assert all(v.chunks is not None for v in x.values())
        assert [v.dims for v in x.values()] == [v.dims for v in expected.values()]
        xr.testing.assert_allclose(x.compute(), expected, rtol=1e-6, atol=1e-9)
    if form is None:
        assert found[0].chunks == ((30,), (2, 1), (3, 1))
        xr.testing.assert_allclose(fit.fisher().compute(), want.fisher(), rtol=1e-6)


@pytest.mark.parametrize("dims", [("lat",), ("lat", "lon"), ("lat", "time")])
def test_lazy_coordinates_do_not_keep_a_fit_from_telling(dims):
    """``.chunk`` makes all but those of dims lazy."""
    y = labelled(observations())
    y = y.assign_coords(area=(dims, np.ones([y.sizes[d] for d in dims])))
    y = y.assign_coords(depth=("time", y.time.values**2))
    want, fit = (ng.least_squares(residual, START, x.time, x, over=OVER) for x in (y, y.chunk(CHUNKS)))
    for x, expected in ((fit.residual, want.residual), (fit.predict(), want.predict())):
        xr.testing.assert_allclose(x.compute(), expected, rtol=1e-6, atol=1e-9)
    other = y.time.assign_coords(depth=y.depth + 5)
    np.testing.assert_array_equal(fit.predict(other.chunk()).depth, y.depth + 5)
    along = lambda y: y.grad.fit(lambda p, t: p["size"] * t + p["offset"], "area", {"size": 1.0, "offset": 0.0}, over=OVER)
    if dims == ("lat", "time"):
        y = y.assign_coords(area=(y.lat * 0.1 + y.time).transpose(*dims))
        xr.testing.assert_allclose(along(y.chunk(CHUNKS)).predict().compute(), along(y).predict(), rtol=1e-6)


def test_predictions_for_other_cells_are_refused_before_anything_is_computed():
    y = labelled(observations())
    fit = ng.least_squares(residual, START, y.time, y.chunk(CHUNKS), over=OVER)
    more = xr.DataArray(np.ones((5, 2)), dims=("lat", "s"))
    with pytest.raises(ng.AxisError, match="5 positions along 'lat' do not meet the 3"):
        fit.predict(more)
    with pytest.raises(ng.AxisError, match="labels along 'lat'"):
        fit.predict(more[:3].assign_coords(lat=y.lat + 1))
    assert fit.predict(more[:3].assign_coords(lat=y.lat)).dims == ("lat", "lon", "s")


@pytest.mark.filterwarnings("error")
def test_what_a_lazy_fit_is_tried_on_does_not_show():
    y = labelled(observations())
    t = (y.time + 2).chunk()
    fit = ng.least_squares(lambda p, t, y: p["a"] * np.log(t - 1) - y, {"a": 1.0}, t, y.chunk(lat=1), over=OVER)
    assert fit.residual.dims == y.dims

    def picky(p, t, y):
        if (np.diff(t.values) <= 0).any():
            raise ValueError("times must increase")
        return p["a"] * t - y

    fit = ng.least_squares(picky, {"a": 1.0}, t, y.chunk(lat=1), over=OVER)
    assert fit.params.a.compute().notnull().all()
    with pytest.raises(ValueError, match=r"tried on one cell of ones.*times must increase"):
        fit.residual


def test_a_lazy_fit_of_a_model_reads_what_it_predicts_for():
    y = labelled(observations()).assign_coords(time=np.datetime64("2000-01-01") + np.arange(30))
    options = {"coords": "time", "params": START, "over": OVER, "time_units": "days"}
    want, fit = y.grad.fit(model, **options), y.chunk(CHUNKS).grad.fit(model, **options)
    for dates in (["2000-01-03", "2001-01-01"], y.time[:3]):
        xr.testing.assert_allclose(fit.predict(dates).compute(), want.predict(dates), rtol=1e-6)
        xr.testing.assert_allclose(fit.compute().predict(dates).compute(), want.predict(dates), rtol=1e-6)
    with pytest.raises(TypeError, match="got 2"):
        fit.predict(y.time, y.time)


def test_what_follows_from_lazy_parameters():
    y = labelled(observations())
    options = {"coords": "time", "params": START, "over": OVER, "sigma": 0.05}
    want = y.grad.fit(model, **options)
    half, mean = (lambda p: np.log(2) / p["rate"]), (lambda p: p["rate"].mean())
    with dask.config.set(scheduler=refuse):
        fit = y.chunk(CHUNKS).grad.fit(model, **options)
        interval, life, average = fit.confint(0.9), fit.propagate(half), fit.propagate(mean)
    assert interval["rate"].chunks is not None
    assert life.stderr.chunks is not None
    xr.testing.assert_allclose(interval.compute(), want.confint(0.9), rtol=1e-6)
    xr.testing.assert_allclose(life.compute(), want.propagate(half), rtol=1e-5)
    xr.testing.assert_allclose(average.compute(), want.propagate(mean), rtol=1e-5)
    same(fit, want, ["chi2", "unscaled_covariance", "params", "stderr"])
    assert fit.params["size"].units == "K"
    shown = fit.plot({"lat": 10, "lon": -179})
    np.testing.assert_allclose(
        shown.axes[0].lines[0].get_ydata(), want.predict().sel(lat=10, lon=-179), rtol=1e-5
    )
    assert [a.get_title() for a in fit.plot().axes[:3]] == [a.get_title() for a in want.plot().axes[:3]]


@pytest.mark.parametrize("g", [lambda p: p["size"] * p["rate"], lambda p: p["rate"].mean()])
def test_what_follows_from_lazy_parameters_is_fitted_once(g):
    """Every run of the function is counted."""
    runs = []

    def counted(*args):
        runs.append(1)
        return residual(*args)

    y = labelled(observations()).chunk(CHUNKS)
    fit = ng.least_squares(counted, START, y.time, y, over=OVER)
    follows, counts = fit.propagate(g), []
    for what in ([fit.params], [follows.stderr], [fit.params, fit.stderr, follows]):
        runs.clear()
        dask.compute(*what, scheduler="synchronous")
        counts.append(len(runs))
    assert counts[1:] == counts[:1] * 2


def test_errors_of_maximum_likelihood_are_lazy():
    """The Hessian is taken where somebody asks for it."""
    n = xr.DataArray(np.random.default_rng(0).poisson(5.0, (6, 40)) * 1.0, {"lat": 10.0 * np.arange(6)}, ("lat", "t"))
    loss = lambda p, n: (p["m"] - n * np.log(p["m"])).sum()
    with dask.config.set(scheduler=refuse):
        fit = ng.minimize(loss, {"m": 1.0}, n.chunk({"lat": 2}), over="lat")
        follows = fit.propagate(lambda p: xr.Dataset({"rest": 1 / p["m"], "mean": p["m"].mean()}))
        fisher, interval = fit.fisher(), fit.confint()
    mean = n.mean("t")
    error = np.sqrt(mean / 40)  # of a Poisson mean
    np.testing.assert_allclose(fit.stderr["m"].compute(), error, rtol=1e-5)
    np.testing.assert_allclose(fit.covariance.compute()[:, 0, 0], error**2, rtol=1e-5)
    np.testing.assert_allclose(fisher.compute()[:, 0, 0], error**-2, rtol=1e-5)
    np.testing.assert_allclose(interval["m"].compute().sel(bound="lower"), mean - 1.959963984540054 * error, rtol=1e-5)
    np.testing.assert_allclose(follows["rest_stderr"].compute(), error / mean**2, rtol=1e-5)
    np.testing.assert_allclose(follows["mean_stderr"].compute(), np.sqrt((error**2).sum()) / 6, rtol=1e-5)
    assert fit.compute().stderr["m"].chunks is None
    with pytest.raises(AttributeError, match="'predict'"):
        fit.predict()


PLACES = np.array([0.0, 1.0, 2.5])


@pytest.mark.parametrize(
    "places",
    [PLACES, [0, 1, 2], 1.5, PLACES[:0], xr.DataArray(PLACES, dims="z"), xr.Variable("time", PLACES),
     da.from_array(PLACES, chunks=2), xr.DataArray(np.arange(9.0).reshape(3, 3), dims=("lat", "time")).chunk({"lat": 1})],
    ids=["array", "list", "number", "none", "other dim", "Variable", "dask", "per cell"],
)  # fmt: skip
def test_predictions_at_places_in_other_forms(places):
    y = labelled(observations())
    fit = ng.least_squares(residual, START, y.time, y.chunk(CHUNKS), over=OVER)
    found, p = fit.predict(places).compute(), fit.params.compute()
    x = places.compute() if hasattr(places, "chunks") else places
    x = x if hasattr(x, "dims") or np.ndim(x) == 0 else xr.DataArray(x, dims="time")
    want = p["size"] * np.exp(-p["rate"] * x) + p["offset"]
    np.testing.assert_allclose(found.transpose(*want.dims), want, rtol=1e-12)


def test_named_arrays_and_minimize():
    t, y = named(observations())
    lazy = ng.DimArray(da.from_array(y.data, chunks=(30, 1, 4)), y.dims)
    want = ng.least_squares(residual, START, t, y, over=OVER)
    fit = ng.least_squares(residual, START, t, lazy, over=OVER)
    xr.testing.assert_allclose(fit.params.compute(), want.params, rtol=1e-6)
    loss = lambda p, t, y: (residual(p, t, y) ** 2).sum()
    low = ng.minimize(loss, START, t, lazy, over=OVER)
    assert low.params["rate"].chunks is not None
    xr.testing.assert_allclose(low.params.compute(), want.params, rtol=1e-4)
    one = ng.least_squares(residual, START, t, lazy[{"lat": 1, "lon": 2}])
    assert float(one.params["rate"].compute()) == pytest.approx(float(want.params["rate"][1, 2]), rel=1e-6)


def test_cells_that_share_parameters_stay_together():
    y = labelled(observations())
    start = START | {"rate": xr.ones_like(y.lat)}
    want = ng.least_squares(residual, start, y.time, y, over=OVER)
    with dask.config.set(scheduler=refuse):
        fit = ng.least_squares(residual, start, y.time, y.chunk(CHUNKS), over=OVER)
    assert fit.params["rate"].dims == ("lat",)
    assert fit.params["size"].chunks == ((2, 1), (4,))
    done = same(fit, want, ["params", "stderr", "cost", "dof", "iterations", "chi2", "r2", "aic", "bic", "status"])
    p = done.params
    off = p["size"] * np.exp(-p["rate"] * y.time) + p["offset"] - y
    xr.testing.assert_allclose(done.chi2.drop_attrs(), (off**2).sum("time").transpose(*OVER), rtol=1e-6)


@pytest.mark.parametrize("none", [{"lat": 0}, {"lon": 0}])
def test_no_cells_share_parameters(none):
    y = labelled(observations()).isel({d: slice(0, n) for d, n in none.items()})
    start = START | {"rate": xr.ones_like(y.lat)}
    want = ng.least_squares(residual, start, y.time, y, over=OVER, shared="offset")
    fit = ng.least_squares(residual, start, y.time, y.chunk(CHUNKS), over=OVER, shared="offset")
    done = same(fit, want, ["params", "stderr", "cost", "dof", "iterations", "chi2", "r2", "aic", "bic", "status"])
    assert np.isnan(done.params["offset"])
    assert done.params["rate"].sizes == y.lat.sizes


def test_coordinates_of_cells_are_those_of_the_fit_in_memory():
    y = labelled(observations()).assign_attrs(units="K")
    y = y.assign_coords(area=(OVER, np.arange(12.0).reshape(3, 4)))
    start = START | {"rate": xr.ones_like(y.lat)}
    want = y.grad.fit(model, "time", start, over=OVER)
    with dask.config.set(scheduler=refuse):
        fit = y.chunk(CHUNKS).grad.fit(model, "time", start, over=OVER)
    done = same(fit, want, ["params", "stderr", "status", "cost", "dof", "chi2"])
    assert "area" not in done.cost.coords
    np.testing.assert_array_equal(done.params.area, y.area)


def dated():
    """Straight lines at dates that differ from cell to cell, and the same dates in seconds since the first."""
    first = np.array([40, 0, 7])[:, None] * np.timedelta64(1, "D")
    dates = np.datetime64("2000-01-01", "ns") + np.arange(12) * np.timedelta64(1, "D") + first
    dates[1, 3] = np.datetime64("NaT", "s")
    dates = xr.DataArray(dates, dims=("lat", "time"))
    seconds = (dates - np.datetime64("2000-01-01")) / np.timedelta64(1, "s")
    noise = np.random.default_rng(0).normal(size=(3, 12))
    return dates, seconds, 1 + 2e-6 * seconds.fillna(0.0) + 0.01 * noise


@pytest.mark.parametrize("chunked", [False, True])
def test_dates_are_counted_from_the_earliest_of_all_chunks(chunked):
    dates, seconds, y = dated()
    off = lambda p, t, y: p["a"] + 1e-6 * p["b"] * t - y
    want = ng.least_squares(off, {"a": 0.0, "b": 0.0}, seconds, y, over="lat").params
    lazy = y.chunk({"lat": 1})
    given = dates.chunk({"lat": 1}) if chunked else dates
    with dask.config.set(scheduler=refuse):
        fit = ng.least_squares(off, {"a": 0.0, "b": 0.0}, given, lazy, over="lat")
        loss = lambda p, t, y: (off(p, t, y) ** 2).where(np.isfinite(t), 0.0).sum()
        low = ng.minimize(loss, {"a": 0.0, "b": 0.0}, given, lazy, over="lat")
    assert fit.params.attrs == ({} if chunked else {"time_units": "seconds since 2000-01-01 00:00:00"})
    xr.testing.assert_allclose(fit.params.compute(), want, rtol=1e-8)
    xr.testing.assert_allclose(low.params.compute(), want, rtol=1e-5)
    none = ng.least_squares(off, {"a": 0.0, "b": 0.0}, given[:0], lazy[:0], over="lat")
    assert none.params["a"].compute().shape == (0,)
    line = lambda t, a, b: a + 1e-6 * b * t
    ds = ng.curvefit(lazy, given.rename("t"), line, reduce_dims="time", p0={"a": 0.0, "b": 0.0})
    assert ds.attrs == {"t_units": "seconds since 2000-01-01 00:00:00"}
    np.testing.assert_allclose(ds.curvefit_coefficients, want.to_array("param").T, rtol=1e-8)


def test_dates_of_a_calendar_in_chunks():
    _, _, y = dated()
    days = xr.date_range("2000-01-01", periods=36, calendar="360_day", use_cftime=True)
    dates = xr.DataArray(days.values.reshape(3, 12), dims=("lat", "time"))
    seconds = xr.DataArray(86400.0 * np.arange(36).reshape(3, 12), dims=("lat", "time"))
    off = lambda p, t, y: p["a"] + 1e-6 * p["b"] * t - y
    want = ng.least_squares(off, {"a": 0.0, "b": 0.0}, seconds, y, over="lat").params
    fit = ng.least_squares(off, {"a": 0.0, "b": 0.0}, dates, y.chunk({"lat": 1}), over="lat")
    xr.testing.assert_allclose(fit.params.compute(), want, rtol=1e-8)


@pytest.mark.parametrize("calendar", [None, "360_day"])
def test_dates_in_coordinates_that_are_lazy(calendar):
    _, _, y = dated()
    dates = xr.date_range("2000-01-01", periods=12, calendar=calendar or "standard", use_cftime=calendar is not None)
    y = y.assign_coords(when=("time", dates))
    off = lambda p, y: p["a"] + 1e-6 * p["b"] * y["when"] - y
    fit = ng.least_squares(off, {"a": 0.0, "b": 0.0}, y.chunk({"lat": 1}), over="lat")
    want = np.polyfit(np.arange(12) * 0.0864, y.values.T, 1)[0]
    np.testing.assert_allclose(fit.params["b"], want, rtol=1e-8)
    np.testing.assert_array_equal(fit.residual.when.values, dates)


def test_nested_parameters():
    y = labelled(observations())
    nested = lambda p, t, y: p["curve"]["size"] * np.exp(-p["curve"]["rate"] * t) + p["rest"][0] - y
    start = {"curve": {"size": 1.0, "rate": 1}, "rest": [0.0]}
    want = ng.least_squares(residual, START, y.time, y, over=OVER).params
    fit = ng.least_squares(nested, start, y.time, y.chunk(CHUNKS), over=OVER, fixed=())
    for name, path in {"size": "curve.size", "rate": "curve.rate", "offset": "rest.0"}.items():
        np.testing.assert_allclose(fit.params[path].compute(), want[name], rtol=1e-6)


@pytest.mark.parametrize("kind", ["dataset", "tree"])
def test_residuals_of_several_arrays_of_the_observations(kind):
    y = labelled(observations())
    ds = xr.Dataset({"y": y, "w": xr.ones_like(y)})
    given = ds if kind == "dataset" else xr.DataTree.from_dict({"/all": ds})
    several = lambda p, t, d: residual(p, t, (d if kind == "dataset" else d["all"])["y"]) * (d if kind == "dataset" else d["all"])["w"]
    want = ng.least_squares(residual, START, y.time, y, over=OVER)
    fit = ng.least_squares(several, START, y.time, given.chunk(CHUNKS), over=OVER).compute()
    xr.testing.assert_allclose(fit.params, want.params, rtol=1e-8)
    xr.testing.assert_allclose(fit.chi2, want.chi2, rtol=1e-8)
    assert np.isnan(fit.r2).all()


def test_residuals_that_do_not_tell_which_the_observations_are():
    """Only r2 has to know: the others were lost, too."""
    y = labelled(observations())
    rows = lambda p, t, y: residual(p, t, y).rename(time="row")
    fit = ng.least_squares(rows, START, y.time, y.chunk(CHUNKS), over=OVER).compute()
    want = ng.least_squares(residual, START, y.time, y, over=OVER)
    xr.testing.assert_allclose(fit.params, want.params, rtol=1e-8)
    xr.testing.assert_allclose(fit.bic, want.bic, rtol=1e-8)
    assert np.isnan(fit.r2).all()


def test_start_values_are_found_in_every_chunk():
    y = labelled(observations())
    fit = ng.least_squares(residual, list(START), y.time, y.chunk(CHUNKS), over=OVER)
    want = ng.least_squares(residual, START, y.time, y, over=OVER)
    np.testing.assert_allclose(fit.cost.compute(), want.cost, rtol=1e-6)


@pytest.mark.slow
def test_on_two_workers():
    distributed = pytest.importorskip("distributed")
    y = labelled(observations())
    want = ng.least_squares(residual, START, y.time, y, over=OVER)
    quiet = {"distributed.admin.tick.interval": "1h", "distributed.worker.profile.enabled": False}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        fit = ng.least_squares(residual, START, y.time, y.chunk(CHUNKS), over=OVER)
        (params,) = dask.compute(fit.params, scheduler=client)
        xr.testing.assert_allclose(params, want.params, rtol=1e-6)
