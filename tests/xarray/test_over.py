"""over=: coordinates that are hidden and come back."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import LON, data_set, field


def test_hidden_coordinates_are_scalars():
    seen = {}

    def f(x):
        seen.update({n: c.dims for n, c in x.coords.items()}, dims=x.dims)
        return x.sum()

    x = field()
    ng.grad(f, over="lat")(x)
    one = x.isel(lat=0)
    assert seen == {**{n: c.dims for n, c in one.coords.items()}, "dims": one.dims}


@pytest.mark.parametrize(
    ("f", "dim"),
    [
        (lambda x: x.where(x.lat > 0, 0.0).sum(), "lat"),
        (lambda x: xr.where(x.zone == "north", x, 2 * x**2).sum(), "lat"),
        (lambda x: x.where(x.zone != "north", 0.0).sum(), "lat"),
        (lambda x: x.where(x.zone.isin(["north", "south"]), 0.0).sum(), "lat"),
        (lambda x: x.where(x.lat.isin([5.0]), 0.0).sum(), "lat"),
        (lambda x: x.where(x.time > np.datetime64("2002-01-01"), 0.0).sum(), "time"),
        (lambda x: (x * ((x.time - np.datetime64("2001-01-01")) / np.timedelta64(1, "D"))).sum(), "time"),
        (lambda x: (x * x.area).sum() / x.area.sum(), "lat"),
        (lambda x: x.clip(max=x.lat).sum() * x.where(x.area > 0.6).count(), "lat"),
        (lambda x: (x.assign_coords(lat=x.lat * 2).lat * x).sum(), "lat"),
        (lambda x: (x.copy(deep=True) * x).sum() if x.lat.equals(x.lat.copy()) else x.sum(), "lat"),
        (lambda x: xr.merge([x.rename("a"), (x * 2).rename("b")]).to_array().sum(), "lat"),
    ],
)
def test_hidden_coordinates_count_per_slice(f, dim):
    x = field()
    g = ng.grad(f, over=dim)(x)
    slices = [ng.grad(f)(x.isel({dim: i})).values for i in range(x.sizes[dim])]
    np.testing.assert_allclose(g.values, np.stack(slices, x.dims.index(dim)), rtol=1e-12)
    assert g.coords.identical(x.coords)


@pytest.mark.parametrize(
    ("leave", "dim"),
    [
        (lambda x: x.lat.values, "lat"),
        (lambda x: float(x.lat), "lat"),
        (lambda x: x.time.values.astype(int), "time"),
        (lambda x: bool(x.lat > 0), "lat"),
        (lambda x: x.expand_dims("lat"), "lat"),
    ],
)
def test_hidden_coordinates_do_not_leave(leave, dim):
    with pytest.raises(ng.TraceError, match="slice"):
        ng.vmap(lambda x: x * leave(x), dim)(field())


def checked(x):
    if not (x > -1e9).all() or (x.variable.isnull()).any():
        raise ValueError("out of range")
    return (x**2).sum() if x.max() > 1e9 else (x**3).sum()


def test_questions_that_all_slices_answer_alike_steer_python():
    x = field()
    np.testing.assert_allclose(ng.grad(checked, over="lat")(x), 3 * x**2, rtol=1e-12)
    with pytest.raises(ValueError, match="out of range"):
        ng.grad(checked, over=("lat", "time"))(xr.full_like(x, np.nan))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum() if x.mean() > field().mean() else -x.sum(),
        lambda x: x.sum() or -x.sum(),  # of what is differentiated
    ],
)
def test_questions_that_slices_answer_differently_do_not(f):
    with pytest.raises(ng.TraceError, match=r"slice|differentiated"):
        ng.grad(f, over="lat")(field())


def test_over_several_dims_keeps_every_coordinate():
    x = field()
    f = lambda x: (x * x.lat + x.lon * x.area).std()
    g = ng.grad(f, over=("lat", "lon"))(x)
    assert g.coords.identical(x.coords)
    for i in range(3):
        for j in range(4):
            np.testing.assert_allclose(g[:, i, j], ng.grad(f)(x[:, i, j]), rtol=1e-10)


def test_a_dataset_over_a_dim():
    ds = data_set()
    f = lambda d: (d.a * d.b * d.n).std() + d.b.sum() * d.lat
    g = ng.grad(f, over="lat")(ds)
    assert g.coords.identical(ds.coords)
    for i in range(3):
        one = ng.grad(f)(ds.isel(lat=i))
        for n in ("a", "b"):
            assert g[n].dims == ds[n].dims
            np.testing.assert_allclose(g[n].isel(lat=i), one[n], rtol=1e-10)
    some = ng.grad(f, over="lat", wrt=(0, ["b"]))(ds)
    assert some.identical(g[["b"]])


def test_extras_come_back_with_their_dims():
    x = field()
    (value, aux), _ = ng.value_and_grad(lambda x: (x.sum(), {"m": x.mean("time")}), over="lat", has_aux=True)(x)
    assert aux["m"].transpose("lat", "lon").identical(x.mean("time"))
    assert value.dims == ("lat",)


def test_a_parameter_without_the_dim_gets_it_in_front_with_its_coordinate():
    x = field()
    w = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="lon", coords={"lon": LON}, name="w")
    value, g = ng.value_and_grad(lambda w, x: (w * x**2).mean(), over="lat")(w, x)
    assert g.dims == ("lat", "lon")
    assert g.name == "w"
    assert g.lat.variable.identical(x.lat.variable)
    assert value.lat.variable.identical(x.lat.variable)
    np.testing.assert_allclose(g, (x**2).mean("time").transpose("lat", "lon") / 4)


def test_outputs_get_dims_in_front():
    x = field()
    out = ng.vmap(lambda x: x - x.mean("time"), "lat")(x)
    assert out.identical((x - x.mean("time")).transpose("lat", "time", "lon"))
    ds = ng.vmap(lambda x: x.to_dataset(name="a"), "lon")(x)
    assert ds.a.dims == ("lon", "time", "lat")
    assert ds.a.transpose(*x.dims).identical(x.rename("a"))


def test_dims_without_coordinates():
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("a", "b"))
    g = ng.grad(lambda x: (x**2).sum(), over="b")(x)
    assert g.identical(2 * x)


def test_time_strings_categories_and_multiindexes_over():
    x = field().stack(cell=("lat", "lon")).transpose("time", "cell")
    f = lambda x: (x**2).sum()
    g = ng.grad(f, over="cell")(x)
    assert g.coords.identical(x.coords)
    assert g.unstack("cell").sel(lat=5.0, lon=90.0).dims == ("time",)
    y = field()
    assert ng.grad(f, over="time")(y).coords.identical(y.coords)
    z = y.swap_dims(lat="zone")
    assert ng.grad(f, over="zone")(z).coords.identical(z.coords)


def test_equal_coordinates_of_two_arguments_are_kept_and_others_dropped():
    x = field()
    out = ng.vmap(lambda a, b: a - b, "lat")(x, x.copy(deep=True) * 2)
    assert set(out.coords) == set(x.coords)
    y = x.assign_coords(zone=("lat", ["a", "b", "c"]), height=3.0)
    out = ng.vmap(lambda a, b: a - b, "lat")(x, y)
    assert set(out.coords) == set(x.coords) - {"zone", "height"}
    reference = x.isel(lat=1)
    out = ng.vmap(lambda a: a - reference, "lat")(x)
    assert {"time", "lon", "lat"} <= set(out.coords)
    np.testing.assert_array_equal(out, (x - reference).transpose("lat", "time", "lon"))


def test_arguments_without_the_dim_are_the_same_object():
    w = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="lon")
    seen = []
    ng.vmap(lambda x, w: seen.append(w) or x.sum(), "lat")(field(), w)
    assert seen[0] is w


def test_vectorized_without_over():
    x = field()
    w = xr.DataArray(np.ones(4), dims="lon")
    g = ng.grad(lambda w, x: (w * x).sum())(w, ng.vectorize(x, "lat"))
    assert g.dims == ("lon",)
    assert ng.devectorize(g).dims == ("lat", "lon")
    np.testing.assert_allclose(ng.devectorize(g).values, x.sum("time").transpose("lat", "lon").values)


def _longest_run(flags, least, minimum):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, int), [0]])))
    longest = int((edges[1::2] - edges[::2]).max(initial=0))
    return float(longest if longest >= least else minimum)


@pytest.mark.parametrize("over", ["lat", "lon", ("lat", "lon")])
def test_a_loop_of_plain_functions_over_what_is_not_differentiated(over):
    x = field()
    least = xr.DataArray([0.0, 2.0], dims="least")
    base = x.isel(time=0, drop=True).rename("base")

    def f(x, base):
        options = {"input_core_dims": [["time"], [], []], "vectorize": True, "output_dtypes": [float]}
        runs = xr.apply_ufunc(_longest_run, x > 0, least, base > 0, **options)
        return (runs.sum("least") * x.sum("time") ** 2).sum()

    g = ng.grad(f, over=over)(x, base)
    first = over if isinstance(over, str) else over[0]
    for i in range(x.sizes[first]):
        one = ng.grad(f)(x.isel({first: i}), base.isel({first: i}))
        np.testing.assert_allclose(g.isel({first: i}).transpose(*one.dims), one, rtol=1e-12)
    runs = xr.apply_ufunc(_longest_run, x > 0, least, base > 0, input_core_dims=[["time"], [], []], vectorize=True)
    np.testing.assert_allclose(g, (2 * runs.sum("least") * x.sum("time")).broadcast_like(x), rtol=1e-12)
