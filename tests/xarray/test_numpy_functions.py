"""NumPy's functions of xarray objects: arrays as NumPy makes them, gradients by differences, and no change elsewhere."""

from __future__ import annotations

import warnings

import dask.array
import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.harness import check_gradient

RNG = np.random.default_rng(3)
W = RNG.normal(size=6)
Y = xr.DataArray(RNG.normal(size=(3, 6)), dims=("x", "t"), coords={"t": np.arange(6.0)})
PLACES = np.arange(6.0)


def series() -> xr.DataArray:
    """Two slices of three series."""
    coords = {"s": [1.0, 2.0], "x": [10.0, 20.0, 40.0], "t": np.arange(6.0)}
    return xr.DataArray(RNG.normal(size=(2, 3, 6)), coords, ("s", "x", "t"), "a", {"units": "K"})


def written(x):
    out = np.zeros_like(x)
    out[0] = x[1]
    out[1, x[0] > 0] = x[2].mean()
    out[out > x] = x.max() ** 2
    return out


PROGRAMS = {  # each of an array (x, t)
    "where": lambda x: np.where(x > 0, x, Y),
    "where of a number": lambda x: np.where(np.isnan(x), 0.0, x),
    "select": lambda x: np.select([x > 1, x > 0], [x, x**2], 0.5),
    "concatenate": lambda x: np.concatenate([x, 2 * x, Y], axis=1),
    "stack": lambda x: np.stack((x, Y)),
    "block": lambda x: np.block([[x, Y], [Y, x**2]]),
    "median": lambda x: np.median(x, axis=1),
    "nanmean": lambda x: np.nanmean(x.where(x > -1), axis=1),
    "percentile": lambda x: np.percentile(x, [10, 50], axis=1),
    "average": lambda x: np.average(x, axis=1, weights=xr.DataArray(W**2, dims="t")),
    "interp": lambda x: np.interp([0.5, 3.2], PLACES, x[0]),
    "interp at": lambda x: np.interp(x[0], [-3.0, 0.0, 3.0], [1.0, 2.0, 7.0]),
    "fft": lambda x: np.abs(np.fft.rfft(x)),
    "fftshift": lambda x: np.fft.fftshift(x, axes=1),
    "gradient": lambda x: np.gradient(x, 0.5, axis=1),
    "diff": lambda x: np.diff(x, prepend=0.0),
    "trapezoid": lambda x: np.trapezoid(x, x.t),
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "polyfit": lambda x: np.polyfit(x.t, x[0], 2),
    "corrcoef": lambda x: np.corrcoef(x, Y),
    "histogram": lambda x: np.histogram(PLACES, bins=3, weights=x[0])[0],
    "dot": lambda x: np.dot(x, W),
    "einsum": lambda x: np.einsum("xt,yt->xy", x, Y),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "solve": lambda x: np.linalg.solve(np.eye(3) * 4 + x[:, :3], Y),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[1],
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: np.cumsum(v) * np.median(x), 1, x),
    "piecewise": lambda x: np.piecewise(x.data, [x.data < 0, x.data >= 0], [lambda v: v * np.median(x), np.exp]),
    "take": lambda x: np.take(x, [0, 2, 2], axis=1),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "delete": lambda x: np.delete(x, 1, axis=1),
    "compress": lambda x: np.compress([True, False, True], x, axis=0),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "split": lambda x: np.split(x, 2, axis=1)[1],
    "inv": lambda x: np.linalg.inv(np.eye(3) * 4 + x[:, :3]),
    "qr": lambda x: np.linalg.qr(x[:, :3]).R,
    "eigh": lambda x: np.linalg.eigh(xr.DataArray(np.dot(x, x.T), dims=("x", "y"))).eigenvectors ** 2,
    "beside their arrays": lambda x: np.concatenate([x.data, x, np.median(x) * x[:1]]),
    "dot beside": lambda x: np.dot(x[0].data, x.T),
    "select beside": lambda x: np.select([x > 1, (x > 0).data], [x.data, x**2], 0.5),
    "arithmetic beside": lambda x: x - np.median(x, axis=0) + np.percentile(x, 20) * x,
    "picked": lambda x: x.data[x[:, 0] > 0] ** 2,
    "written": written,
    "of a variable": lambda x: np.median(x.variable, axis=0),
}


def bare(result):
    """Without coordinates, which NumPy leaves as they were though cells are fewer."""
    return result.data if isinstance(result, (xr.DataArray, xr.Variable)) else result


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    def program(x):
        return xr.DataArray(bare(PROGRAMS[name](x)))

    check_gradient(program, series()[0])


OF_ONE_SIZE = [n for n in PROGRAMS if n != "picked"]  # how many cells are picked may differ per slice


@pytest.mark.parametrize("name", OF_ONE_SIZE)
def test_each_slice(name):
    x = series()
    weights = np.cos(np.arange(1, 1 + np.size(PROGRAMS[name](x[0])))).reshape(np.shape(PROGRAMS[name](x[0])))

    def loss(x):
        return (weights * bare(PROGRAMS[name](x))).sum()

    found = ng.grad(loss, over="s")(x)
    assert found.dims == x.dims
    np.testing.assert_allclose(found, [ng.grad(loss)(a) for a in x], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_of_the_kind_that_numpy_gives(name):
    results = []

    def f(x):
        results.append(PROGRAMS[name](x))
        return np.sum(x)

    x = series()[0]
    ng.grad(f)(x)
    plain, ours = PROGRAMS[name](x), results[0]
    assert isinstance(plain, (xr.DataArray, xr.Variable)) == isinstance(ours, (xr.DataArray, xr.Variable))
    assert getattr(plain, "dims", ()) == getattr(ours, "dims", ())
    assert getattr(plain, "attrs", {}) == getattr(ours, "attrs", {})
    assert np.shape(plain) == np.shape(ours)
    assert set(getattr(plain, "coords", ())) == set(getattr(ours, "coords", ()))


@pytest.mark.parametrize("name", OF_ONE_SIZE)
def test_compiled(name):
    def program(x):
        return xr.DataArray(bare(PROGRAMS[name](x)))

    compiled = ng.compile(program)
    for x in series():
        np.testing.assert_allclose(compiled(x), program(x), rtol=1e-12, atol=1e-12)


def test_what_numpy_leaves_to_methods_stays_an_xarray_object():
    kinds = []

    def f(x):
        results = np.mean(x, axis=0), np.clip(x, -1, 1), np.round(x, 2), np.flip(x, 0), np.squeeze(x), np.real(x)
        kinds.extend(type(r) for r in results)
        return results[0].sum()

    x = series()[0]
    np.testing.assert_allclose(ng.grad(f)(x), np.full((3, 6), 1 / 3))
    assert kinds == [xr.DataArray] * 6


def test_a_gradient_of_an_array_without_a_name_is_named_after_the_function():
    assert series()[0].grad(lambda x: np.median(x)).attrs["long_name"] == "d(f)/d(a)"


def test_an_array_like_one_that_is_differentiated_takes_its_cells():
    def f(x):
        out = np.zeros(3, like=x)
        out[1] = x[0, 0] ** 2
        return out.sum() + np.full((2,), 2.0, like=x.variable).sum()

    x = series()[0]
    want = np.zeros(x.shape)
    want[0, 0] = 2 * x[0, 0]
    np.testing.assert_allclose(ng.grad(f)(x), want)


def test_errors_are_those_of_the_arrays():
    x = series()[0]
    for program in (lambda x: np.concatenate([x, x[0]]).sum(), lambda x: np.median(x, axis=3), lambda x: np.fft.fft(x, norm="a")):
        with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever NumPy raises
            program(x)
        with pytest.raises(plain.type):
            ng.grad(program)(x)


def test_a_function_without_derivative_refuses():
    with pytest.raises(ng.TraceError, match=r"^np\.ma\.masked_less\(\)"):
        ng.grad(lambda x: np.ma.masked_less(x, 0).sum())(series()[0])


def test_objects_that_are_not_ours_are_as_before():
    x = series()[0]
    assert not hasattr(x, "__array_function__")
    assert not hasattr(x.variable, "__array_function__")
    assert type(np.median(x)) is np.float64
    assert type(np.mean(x)) is xr.DataArray
    assert type(np.where(x > 0, x, 0)) is np.ndarray
    assert isinstance(np.concatenate([dask.array.ones((3, 6)), x]), dask.array.Array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(np.nanmedian(x.where(x > 9))) is np.float64


def test_plain_objects_beside_one_that_is_differentiated():
    seen = []

    def f(x):
        seen.append(np.median(Y))
        return (x * np.median(Y)).sum()

    np.testing.assert_allclose(ng.grad(f)(series()[0]), np.median(Y))
    assert type(seen[0]) is np.float64
