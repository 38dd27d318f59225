"""Every place in xarray where our arrays take another way is there, is reached, and leaves plain arrays alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.xarray import seams
from tests.xarray.harness import quiet
from tests.xarray.programs import WEIGHTS, field, with_gaps

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
    "AbstractArray.__bool__": lambda x: x * (2.0 if (x < 99.0).any() else 0.0),
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
    "gradient": lambda x: x.differentiate("lon"),
    "to_like_array": lambda x: x.integrate("lon") + x.reindex(lon=[0.0, 95.0]).sum("lon") + x.idxmax("lon"),
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
OVER = {"AbstractArray.__bool__", "Variable.equals", "apply_indexer", "Variable.__getitem__", "IndexVariable._finalize_indexing_result", "Dataset.dropna", "PandasIndex.sel", "PandasIndex.isel"}
DATES = {"pandas_isnull", "mean", "_contains_cftime_datetimes", "_get_date_field", "_round_field", "_strftime"}
LAZY = {"_calc_idxminmax"}
RECORDED = {"Weighted.__init__"}
MOVED = {"Dataset.drop_sel", "Dataset.drop_isel", "Dataset.drop_duplicates", "DataArray._to_dataset_split", "reindex", "reindex_like", "interp_na", "get_clean_interp_index", "Aligner.find_matching_indexes"}


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


def test_fits_leave_variables_alone_that_they_do_not_fit():
    """Such as arrays of pandas, which are on no device."""
    kinds = xr.Variable("kind", pd.Categorical(["a", "b"]))
    ds = xr.Dataset({"a": ("x", [0.0, 1.0, 4.0, 9.0])}, coords={"x": np.arange(4.0)}).assign(kinds=kinds)
    slope = lambda a: ds.assign(a=a).polyfit("x", 1).a_polyfit_coefficients[0]
    np.testing.assert_allclose(ng.grad(slope)(ds.a), [-0.3, -0.1, 0.1, 0.3])
