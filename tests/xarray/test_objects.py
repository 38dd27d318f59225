"""The accessor on objects of every make: dtypes side by side, labels of every kind, lazy files, threads, odd results."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import field

square = lambda x: (x**2).sum()


def mixed() -> xr.Dataset:
    x = field()[:4]
    return xr.Dataset({
        "a": x, "single": x.astype("f4"), "whole": ("lat", [1, 2, 3]), "flag": ("lat", [True, False, True]),
        "text": ("lat", ["a", "b", "c"]), "date": ("time", x.time.values), "span": ("time", x.time.values - x.time.values[0]),
        "object": ("lat", np.array([1, "a", None], dtype=object)), "category": ("lat", pd.Categorical(["a", "b", "a"])),
        "number": 2.0,
    })  # fmt: skip


def test_dtypes_side_by_side():
    ds = mixed()
    f = lambda d: (d.a * d.single * d.whole).where(d.flag).sum() * d.number
    for over in ((), "lat", "time"):
        g = ds.grad(f, over=over)
        assert {n: v.dtype.str for n, v in g.data_vars.items()} == {"a": "<f8", "single": "<f4", "number": "<f8"}
        np.testing.assert_allclose(g.a, (2 * ds.single * ds.whole).where(ds.flag, 0.0).transpose(*g.a.dims), rtol=1e-6)
    np.testing.assert_allclose(ds.grad.jvp(f, ds)[1], 3 * f(ds), rtol=1e-6)
    assert set(ds.grad.hvp(f, ds).data_vars) == {"a", "single", "number"}
    assert set(ds.grad.sensitivity(f, relative=True).data_vars) == {"a", "single", "number"}
    ds.grad.check(f, order=1)
    jac = ds.isel(time=0, lon=0).grad.jacobian(lambda d: d.a * d.single)
    assert {n: v.dtype.str for n, v in jac.data_vars.items()} == {"a": "<f8", "single": "<f4", "number": "<f8"}


def labelled() -> dict[str, xr.DataArray]:
    x = field()[:6]
    cftime = pytest.importorskip("cftime")
    return {
        "cftime": x.assign_coords(time=[cftime.DatetimeNoLeap(2001, m, 1) for m in range(1, 7)]),
        "spans": x.assign_coords(time=x.time - x.time[0]),
        "intervals": x.isel(time=slice(2)).assign_coords(time=pd.interval_range(0, 2)),
        "categories": x.assign_coords(time=pd.CategoricalIndex(list("abcabc"))),
        "flags": x[:2].assign_coords(time=[True, False]),
        "twice": x.assign_coords(time=[1, 1, 2, 2, 3, 3]),
        "levels": x.rename(time="t").stack(time=("t", "lat")),
        "objects": x.assign_coords(time=np.array([1, "a", None, 2.0, (1, 2), "b"], dtype=object)),
    }


@pytest.mark.parametrize("name", labelled())
def test_labels_of_every_kind(name):
    x = labelled()[name]
    g = x.grad(square)
    np.testing.assert_allclose(g, 2 * x)
    assert g.coords.identical(x.coords)
    over = x.grad(square, over="time")
    np.testing.assert_allclose(over, 2 * x)
    assert over.coords.identical(x.coords)
    line = x.isel({d: 0 for d in x.dims if d != "time"}, drop=True)
    jac = line.grad.jacobian(lambda x: x**2)
    assert jac.dims == ("time", "time_wrt")
    assert list(jac.indexes["time_wrt"]) == list(line.indexes["time"])


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", ">f8", "<f8", "c8", "c16"])
def test_precision_stays(dtype):
    x = field()[:3].astype(dtype)
    g = x.grad(lambda x: (abs(x) ** 2).sum())
    assert g.dtype == np.dtype(dtype)
    np.testing.assert_allclose(g, 2 * x, rtol=4 * np.finfo(dtype).eps)


def test_memory_of_every_layout():
    x = field()
    locked = x.copy(deep=True)
    locked.values.flags.writeable = False
    for y in (x.copy(data=np.asfortranarray(x.values)), x[::-1, :, ::-2], x.transpose("lon", ...), locked):
        g = y.grad(square)
        np.testing.assert_allclose(g, 2 * y)
        assert g.dims == y.dims


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_few_cells_or_none(shape):
    x = xr.DataArray(np.ones(shape), dims=("a", "b"))
    np.testing.assert_array_equal(x.grad(square), 2 * x)
    for over in ("a", "b", ("a", "b")):
        np.testing.assert_array_equal(x.grad(square, over=over), 2 * x)
    assert x.grad.jacobian(lambda x: x**2).shape == shape * 2
    assert x.grad.hessian(square, part="diagonal").shape == shape
    assert float(x.grad.hessian(square, part="trace")) == 2 * x.size
    assert float(x.grad.propagate(lambda x: x.sum(), cov=0.5)) == 0.5 * x.size
    x.grad.check(square)


def test_a_file_that_is_not_read_yet(tmp_path):
    pytest.importorskip("netCDF4")
    x = field()
    x.to_netcdf(tmp_path / "x.nc")
    with xr.open_dataarray(tmp_path / "x.nc") as lazy:
        np.testing.assert_allclose(lazy.grad(square), 2 * x)
        np.testing.assert_allclose(lazy.grad(square, over="lat"), 2 * x)
        assert lazy.grad(square).encoding == lazy.encoding
    with xr.open_dataset(tmp_path / "x.nc") as lazy:
        np.testing.assert_allclose(lazy.grad(lambda d: square(d.tas)).tas, 2 * x)


class Field(xr.DataArray):
    __slots__ = ()


def test_a_class_of_the_users_own():
    x = Field(field())
    g = x.grad(square)
    assert isinstance(g, Field)
    np.testing.assert_allclose(g, 2 * field())


def test_threads():
    x, found = field(), {}

    def work(k):
        found[k] = x.grad(lambda x: (x**k).sum(), over="lat")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, g in found.items():
        np.testing.assert_allclose(g, k * x ** (k - 1))
    assert len(found) == 8


class Loss:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return (x * self.k).sum()


def test_functions_of_every_kind():
    x = field()
    for f in (Loss(2.0), functools.partial(lambda x, k: (x * k).sum(), k=2.0), lambda x: np.sum(x.data) * 2, np.sum):
        g = x.grad(f)
        assert float(abs(g / g[0, 0, 0] - 1).max()) < 1e-12
    np.testing.assert_array_equal(x.grad(xr.DataArray.sum), 1.0)
    np.testing.assert_array_equal(x.grad(lambda x: 3.0), 0.0)
    np.testing.assert_array_equal(x.grad(lambda x: xr.DataArray(3.0)), 0.0)
    np.testing.assert_array_equal(x.grad(lambda x: x.variable.sum()), 1.0)
    np.testing.assert_array_equal(x.grad(lambda x: ng.asdimarray(x).sum()), 1.0)
    np.testing.assert_array_equal(x.grad(lambda x: x.to_dataset(name="a").sum()), 1.0)
    np.testing.assert_allclose(x.grad(Loss(2.0), wrt="lat"), 0.0)
    np.testing.assert_array_equal(x.grad(lambda x: x.sum(), over=None), 1.0)
    for f in (lambda x: None, lambda x: xr.Dataset({"a": x.sum(), "b": x.sum()}), lambda x: (x > 1).sum()):
        with pytest.raises(TypeError, match="single floating-point output"):
            x.grad(f)


def test_programs_that_write():
    ds = mixed()[["a", "whole"]]
    before = ds.copy(deep=True)

    def loss(d):
        d["a"] = d.a * 2
        d["new"] = d.a.mean("time")
        d.attrs["note"] = "inside"
        d.a.attrs["note"] = "inside"
        d.coords["lat"].attrs["note"] = "inside"
        del d["whole"]
        return (d.a**2).sum() + d.new.sum()

    g = ds.grad(loss)
    np.testing.assert_allclose(g.a, 8 * before.a + 2 / 4)
    assert ds.identical(before)
    assert ds.lat.attrs == before.lat.attrs


def test_captured_arrays_in_other_chunks():
    pytest.importorskip("dask")
    x = field()
    w = xr.DataArray(np.arange(4.0), dims="lon", coords={"lon": x.lon})
    expected = w.broadcast_like(x).transpose(*x.dims)
    np.testing.assert_allclose(x.grad(lambda x: (x * w.chunk(lon=1)).sum()), expected)
    np.testing.assert_allclose(x.chunk(time=7).grad(lambda x: (x * w).sum()), expected)
    np.testing.assert_allclose(x.chunk(time=7).grad(lambda y: (y * x.chunk(lon=3, time=5)).sum()), x)


@pytest.mark.parametrize(
    "options", [{"keep_attrs": True}, {"keep_attrs": False}, {"arithmetic_join": "exact"}, {"arithmetic_join": "outer"}]
)
def test_options_of_xarray(options):
    x = field()
    with xr.set_options(**options):
        g = x.grad(lambda x: ((x - x.mean("time")) ** 2).sum())
    np.testing.assert_allclose(g, 2 * (x - x.mean("time")), atol=1e-12)
    assert g.coords.identical(x.coords)


def test_what_is_the_same_in_every_slice_has_no_coordinate_along_it():
    ds = xr.Dataset({"a": (("time", "x"), np.ones((3, 2))), "b": ("x", [1.0, 2.0])}, {"time": [7.0, 8.0, 9.0], "x": [4, 5]})
    results = lambda d: {"array": d.b * 2, "set": d[["b"]], "number": d.b.sum(), "tree": xr.DataTree(d[["b"]])}
    (value, found), g = ng.value_and_grad(lambda d: ((d.b**2).sum(), results(d)), over="time", has_aux=True)(ds)
    for out, plain in zip(found.values(), results(ds.isel(time=0, drop=True)).values(), strict=True):
        assert out.identical(plain)
    assert value.identical(xr.DataArray(5.0, name="b"))
    assert g.b.coords.identical(ds.b.coords)
