"""Resampling and signals beyond the grid: several dims at once, options that go together, errors, special cells."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.signal
import xarray as xr

import namedgrad as ng

RNG = np.random.default_rng(0)
CELLS = RNG.normal(size=(5, 6, 3))
X, Y = np.sort(RNG.uniform(0, 5, 5)), np.sort(RNG.uniform(0, 5, 6))
A = ng.DimArray(CELLS, ("x", "y", "z"))
WHERE = {"x": ng.DimArray(X, "x"), "y": ng.DimArray(Y, "y")}
DA = xr.DataArray(CELLS, dims=("x", "y", "z"), coords={"x": X, "y": Y, "height": ("x", X**2)}, name="t", attrs={"units": "K"})


# ------------------------------------------------------------------------------------------------ interp


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_several_dims_are_interpolated_as_in_xarray(method: str) -> None:
    expected = DA.interp(x=[1.0, 2.0], y=3.0, method=method)
    found = ng.interp(A, {"x": [1.0, 2.0], "y": 3.0}, WHERE, method)
    assert found.dims == expected.dims
    assert np.allclose(found.data, expected.data, rtol=0, atol=1e-13, equal_nan=True)
    xr.testing.assert_allclose(ng.interp(DA, {"x": [1.0, 2.0], "y": 3.0}, method=method), expected)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_points_are_interpolated_together(method: str) -> None:
    x, y = xr.DataArray(RNG.uniform(1, 4, 4), dims="p"), xr.DataArray(RNG.uniform(1, 4, 4), dims="p")
    expected = DA.interp(x=x, y=y, method=method)
    found = ng.interp(A, {"x": ng.DimArray(x.data, "p"), "y": ng.DimArray(y.data, "p")}, WHERE, method)
    assert found.dims == expected.dims
    assert np.allclose(found.data, expected.data, rtol=0, atol=1e-13, equal_nan=True)
    xr.testing.assert_allclose(ng.interp(DA, {"x": x, "y": y}, method=method), expected)


def test_points_in_the_names_of_other_dims() -> None:
    """Targets whose dims are those that are interpolated away: everything is replaced at once."""
    x, y = ng.DimArray(RNG.uniform(1.2, 4, (6, 2)), ("y", "q")), ng.DimArray(RNG.uniform(1.2, 4, (6, 2)), ("y", "q"))
    found = ng.interp(A, {"x": x, "y": y}, WHERE)
    expected = ng.interp(A, {"x": x.rename(y="p"), "y": y.rename(y="p")}, WHERE).rename(p="y")
    assert np.allclose(found.transpose(*expected.dims).data, expected.data, rtol=0, atol=1e-13)
    one = ng.check_gradients(lambda x, y: (ng.interp(A, {"x": x, "y": y}, WHERE) ** 2).sum(), x, y)
    assert one is None


def test_coordinates_of_a_slice_of_its_own() -> None:
    height = np.sort(RNG.uniform(0, 5, (3, 5)), axis=-1)
    at = np.linspace(0.5, 4.5, 7)
    found = ng.interp(A, {"x": ng.DimArray(at, "x")}, {"x": ng.DimArray(height, ("z", "x"))}, "cubic", fill_value="extrapolate")
    expected = [scipy.interpolate.CubicSpline(height[k], CELLS[:, :, k])(at) for k in range(3)]
    assert np.allclose(found.transpose("z", "x", "y").data, expected, rtol=1e-11)


def test_a_profile_per_vectorized_slice() -> None:
    """Each slice has its own coordinates, and the gradient in them is its own."""
    height = ng.DimArray(np.sort(RNG.uniform(0, 5, (3, 5)), axis=-1), ("z", "x"))

    def value(a: ng.DimArray, height: ng.DimArray) -> ng.DimArray:
        return (ng.interp(a, {"x": 2.5}, {"x": height}) ** 2).sum()

    together = ng.grad(value, wrt=(0, 1))(A.vectorize("z"), height.vectorize("z"))
    for k in range(3):
        alone = ng.grad(value, wrt=(0, 1))(A.isel(z=k), height.isel(z=k))
        for g, one in zip(together, alone, strict=True):
            assert np.allclose(g.devectorize().isel(z=k).data, one.data, rtol=0, atol=1e-13)


def test_a_missing_cell_spoils_its_neighbours_only() -> None:
    a = ng.DimArray([1.0, np.nan, 3.0, 5.0], "x")
    at = ng.DimArray([0.0, 0.5, 1.5, 2.0, 2.5], "p")
    gradient = ng.grad(lambda a: ng.interp(a, {"x": at}).sum())(a)  # the sum leaves NaN out
    assert np.array_equal(ng.interp(a, {"x": at}).data, [1.0, np.nan, np.nan, 3.0, 4.0], equal_nan=True)
    assert np.array_equal(gradient.data, [1.0, 0.0, 1.5, 0.5])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_node_beside_a_missing_cell_has_its_value_and_no_slope(compiled: bool) -> None:
    for gap in (np.nan, np.inf):
        a, at = ng.DimArray([1.0, gap, 3.0, 4.0, gap], "x"), ng.DimArray([0.0, 2.0, 3.0, 2.5], "p")
        f = lambda at, a=a: ng.pushforward(lambda at: ng.interp(a, {"x": at}), (at,), (ng.ones_like(at),))
        value, tangent = (ng.compile(f) if compiled else f)(at)
        assert value.data.tolist() == [1.0, 3.0, 4.0, 3.5]
        assert tangent.data.tolist() == [0.0, 1.0, 0.0, 1.0]
        assert ng.grad(lambda at, a=a: ng.interp(a, {"x": at}).sum())(at).data.tolist() == [0.0, 1.0, 0.0, 1.0]


def test_interp_does_not_depend_on_the_order_of_the_nodes() -> None:
    shuffle = RNG.permutation(5)
    at = {"x": ng.DimArray([1.0, 2.0], "p")}
    there = ng.interp(A.isel(x=list(shuffle)), at, {"x": ng.DimArray(X[shuffle], "x")}, "cubic")
    assert np.allclose(there.data, ng.interp(A, at, WHERE, "cubic").data, rtol=0, atol=1e-13, equal_nan=True)


def test_other_coordinates_of_an_object_are_interpolated_too() -> None:
    xr.testing.assert_allclose(ng.interp(DA, {"x": [1.0, 2.0]}), DA.interp(x=[1.0, 2.0]))
    ds = xr.Dataset({"a": DA, "b": ("w", [1.0, 2.0])})
    xr.testing.assert_allclose(ng.interp(ds, x=[1.0, 2.0]), ds.interp(x=[1.0, 2.0]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ng.interp(A, {"x": [1.0]}, method="quintic"), "quintic"),
        (lambda: ng.interp(A, {"w": [1.0]}), "no dim 'w'"),
        (lambda: ng.interp(A, {"x": [1.0]}, {"x": ng.DimArray([1.0, 2.0], "x")}), "another size"),
        (lambda: ng.interp(A, {"x": [9.0]}, WHERE, bounds_error=True), "outside"),
        (lambda: ng.interp(A, {"x": [9.0]}, fill_value="nearest"), "extrapolate"),
        (lambda: ng.interp(A, {d: ng.DimArray([1.0], "p") for d in "xy"}, WHERE, "cubic"), "point by point"),
        (lambda: ng.interp(A.isel(x=slice(0, 0)), {"x": [1.0]}), "empty"),
        (lambda: ng.interpolate(A, {"x": 3}, scale_factor={"x": 2}), "either size or scale_factor"),
        (lambda: ng.interpolate(A, {"x": 0}), "size 0"),
        (lambda: ng.interpolate(A, {"x": 3}, align_corners=True), "align_corners"),
        (lambda: ng.interpolate(A, {"x": 3}, mode="sinc"), "sinc"),
        (lambda: ng.grid_sample(A, ng.DimArray([[0.0, 0.0, 0.0]], ("p", "coord")), dims=("x", "y")), "one position"),
        (lambda: ng.fft(A, "x", n=0), "invalid number"),
        (lambda: ng.rfft(A * 1j, "x"), "real array"),
        (lambda: ng.fft(A, "x", norm="full"), "norm"),
        (lambda: ng.fft2(A, ()), "one dim at least"),
        (lambda: ng.convolve(A, A.isel(x=slice(0, 0)), "x"), "empty"),
        (lambda: ng.convolve(A, A, "x", mode="half"), "half"),
        (lambda: ng.differentiate(A.isel(x=[0]), "x"), "2 cells"),
        (lambda: ng.polyfit(A, "x", -1), "negative"),
        (lambda: ng.stft(A, dim="x", n_fft=9, center=False), "shorter"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


# ------------------------------------------------------------------------------------------------ grids


def test_a_grid_of_the_identity_gives_the_image_back() -> None:
    unchanged = ng.eye("coord", "column", 3).isel(coord=[0, 1])
    grid = ng.affine_grid(unchanged, {"x": 5, "y": 6}, ("coord", "column"))
    assert np.allclose(ng.grid_sample(A, grid, dims=("x", "y")).data, CELLS, rtol=0, atol=1e-13)


@pytest.mark.parametrize("align", [False, True])
def test_affine_grid_counts_positions_from_the_last_dim(align: bool) -> None:
    theta = RNG.normal(size=(3, 4))
    grid = ng.affine_grid(ng.DimArray(theta, ("r", "c")), {"d": 2, "h": 3, "w": 4}, ("r", "c"), align_corners=align)
    base = [np.linspace(-1, 1, n) * (1 if align else (n - 1) / n) for n in (4, 3, 2)]
    w, h, d = np.meshgrid(*base, indexing="ij")
    expected = np.einsum("rc,cwhd->dhwr", theta, np.stack([w, h, d, np.ones_like(d)]))
    assert grid.dims == ("d", "h", "w", "r")
    assert np.allclose(grid.data, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("mode", ["constant", "grid-constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates_at_whole_cells_and_far_outside(mode: str, order: int) -> None:
    at = np.concatenate([RNG.uniform(-20, 20, (2, 40)), RNG.integers(-13, 13, (2, 40))], axis=1)
    expected = scipy.ndimage.map_coordinates(CELLS[:, :, 0], at, order=order, mode=mode, cval=2.5)
    found = ng.map_coordinates(A.isel(z=0), ng.DimArray(at, ("k", "p")), order, mode, 2.5, dims=("x", "y"), coord="k")
    assert np.allclose(found.data, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------ sizes


def test_sizes_change_in_any_order() -> None:
    both = ng.interpolate(A, {"x": 8, "y": 3}, mode="linear")
    one = ng.interpolate(ng.interpolate(A, {"x": 8}, mode="linear"), {"y": 3}, mode="linear")
    assert np.allclose(both.data, one.data, rtol=0, atol=1e-14)


def test_one_infinite_cell_of_many_stays_where_it_is() -> None:
    """The product with a matrix would make it NaN elsewhere."""
    a = np.ones(40)
    a[7] = np.inf
    out = ng.interpolate(ng.DimArray(a, "x"), {"x": 30}, mode="area").data
    assert np.isinf(out).sum() == 1 + np.isinf(out[6])
    assert not np.isnan(out).any()


@pytest.mark.parametrize("n", [1, 3, 200])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_many_rows_are_convolved_like_one(n: int, mode: str) -> None:
    rows, kernel = RNG.normal(size=(4, 150)), RNG.normal(size=n)
    found = ng.convolve(ng.DimArray(rows, ("r", "x")), ng.DimArray(kernel, "x"), "x", mode)
    assert np.allclose(found.data, [np.convolve(r, kernel, mode) for r in rows], rtol=0, atol=1e-12)
    rows[2, 75] = np.inf
    with np.errstate(invalid="ignore"):
        spoiled = ng.convolve(ng.DimArray(rows, ("r", "x")), ng.DimArray(kernel, "x"), "x", mode).data
        assert np.allclose(spoiled, [np.convolve(r, kernel, mode) for r in rows], rtol=0, atol=1e-12, equal_nan=True)


def test_polyfit_is_that_of_xarray() -> None:
    da = DA.where(DA > -1.5)
    expected = da.polyfit("x", 2).polyfit_coefficients
    found = ng.polyfit(da, "x", 2)
    assert found.dims == expected.dims
    assert np.allclose(found.data, expected.data, rtol=1e-9, atol=1e-9)
    xr.testing.assert_allclose(ng.polyval(da.x, found), xr.polyval(da.x, expected))


@pytest.mark.parametrize("name", ["differentiate", "integrate", "cumulative_integrate"])
def test_calculus_follows_the_coordinates_of_an_object(name: str) -> None:
    xr.testing.assert_allclose(getattr(ng, name)(DA, "x"), getattr(DA, name)("x"))
    found = getattr(ng, name)(A, "x", WHERE["x"])
    assert np.allclose(found.data, getattr(DA, name)("x").data, rtol=0, atol=1e-12)


def test_coordinates_stay_where_every_cell_stays() -> None:
    for result in (ng.detrend(DA, "x"), ng.differentiate(DA, DA.x**2, "x")):
        assert set(result.coords) == {"x", "y", "height"}
    assert set(ng.fft(DA, "x").coords) == {"y"}
    assert set(ng.interpolate(DA, {"x": 5}, mode="linear").coords) == {"y"}


def test_frequencies() -> None:
    assert np.array_equal(ng.fftfreq("f", 5, 0.25).data, np.fft.fftfreq(5, 0.25))
    assert np.array_equal(ng.rfftfreq("f", 6, dtype="float32").data, np.fft.rfftfreq(6).astype("float32"))


def test_transforms_of_all_dims() -> None:
    assert np.allclose(ng.fftn(A).data, np.fft.fftn(CELLS), rtol=0, atol=1e-12)
    assert np.array_equal(ng.fftshift(A).data, np.fft.fftshift(CELLS))
    assert not ng.fftn(DA).coords


def test_short_time_spectra_and_back() -> None:
    signal, window = ng.DimArray(RNG.normal(size=50), "t"), ng.DimArray(np.hanning(9)[1:-1], "w")
    spectra = ng.stft(signal, window, dim="t", n_fft=7, hop_length=2)
    back = ng.istft(spectra, window, dim="t", n_fft=7, hop_length=2, length=50)
    assert np.allclose(back.data[:-2], signal.data[:-2], rtol=0, atol=1e-12)


def test_neighbours_outside_count_for_nothing_whatever_is_there():
    x = np.arange(12.0).reshape(3, 4)
    x[0, 0], x[2, 3] = np.nan, np.inf
    operands = ng.DimArray(x, ("y", "x")), ng.DimArray([-3.0, 4.0, 0.0], "p"), ng.DimArray([-3.0, 4.0, -1 / 6], "p")
    y, pull = ng.pullback(
        lambda image, v, u: ng.grid_sample(image, {"y": v, "x": u}, dims=("y", "x"), align_corners=True), *operands
    )
    np.testing.assert_allclose(y.data, [0, 0, 5.25])
    cells, *places = pull(ng.DimArray([np.nan, np.inf, 2.0], "p"))
    np.testing.assert_allclose(cells.data, [[0, 0, 0, 0], [0, 1.5, 0.5, 0], [0, 0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose([p.data for p in places], [[0, 0, 2 * 4 * 1], [0, 0, 2 * 1 * 1.5]])


@pytest.mark.parametrize("target", [[0.5, 1.5], [0.5, 3.5], [-1.0, 1.5]])
def test_values_beyond_the_ends_do_not_decide_the_dtype(target):
    x = np.array([1.0, 3.0, 7.0], np.float32)
    for fill in (np.nan, np.float64(5.0), 4):
        y = ng.interp(ng.DimArray(x, "x"), {"x": target}, fill_value=fill)
        assert y.dtype == ng.interp(ng.DimArray(x, "x"), {"x": [9.0]}, fill_value=fill).dtype
        np.testing.assert_allclose(y.data, np.interp(target, [0, 1, 2], x, left=fill, right=fill))


@pytest.mark.parametrize("end", [np.inf, -np.inf, np.nan])
def test_an_infinite_cell_bounds_its_intervals_as_in_numpy(end: float) -> None:
    x, q = np.arange(3.0), np.array([0, 0.25, 0.5, 1, 1.5, 2])
    for cells in itertools.product((1.0, 2.0, end, -end), repeat=3):
        want = np.interp(q, x, cells)
        a = ng.DimArray(np.array(cells), "x")
        out, pull = ng.pullback(lambda a: ng.interp(a, {"x": q}, {"x": x}), a)
        np.testing.assert_array_equal(out.data, want)
        np.testing.assert_allclose(pull(ng.ones_like(out)).data, [1 + 0.75 + 0.5, 0.25 + 0.5 + 1 + 0.5, 1 + 0.5])
