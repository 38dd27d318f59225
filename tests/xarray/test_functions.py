"""Public functions called on xarray objects: values, coordinates, names and attributes of xarray's methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.special
import xarray as xr

import namedgrad as ng

RNG = np.random.default_rng(5)
MONTHS = pd.date_range("2001-01-01", periods=6, freq="MS")


def weather() -> xr.DataArray:
    coords = {
        "t": ("t", MONTHS, {"axis": "T"}), "x": ("x", [1.0, 2.0, 4.0, 5.0, 8.0], {"units": "m"}), "height": 2.0,
        "place": ("x", list("abcde")), "depth": (("t", "x"), RNG.normal(size=(6, 5))), "age": ("t", np.arange(6) + 1.5),
    }  # fmt: skip
    return xr.DataArray(RNG.normal(size=(6, 5)), coords, ("t", "x"), "tas", {"units": "K"})


def both() -> xr.Dataset:
    x = weather()
    return xr.Dataset({"tas": x, "pr": x**2, "flat": ("x", np.arange(5.0), {"units": "1"})}, attrs={"title": "w"})


def assert_same(ours, theirs):
    xr.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert ours.attrs == theirs.attrs
    assert list(ours.xindexes) == list(theirs.xindexes) or set(ours.xindexes) == set(theirs.xindexes)
    for n, v in theirs.variables.items() if isinstance(theirs, xr.Dataset) else theirs.coords.items():
        assert ours[n].attrs == v.attrs
    assert getattr(ours, "name", None) == getattr(theirs, "name", None)


# ------------------------------------------------------------------------------------------------ polynomials

PLACES = {
    "dates": MONTHS,
    "dates in ns": pd.date_range("2026-01-01", periods=6, freq="D").as_unit("ns"),
    **{f"timedeltas in {unit}": 3 * np.arange(6).astype(f"m8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "cftime": xr.date_range("2001-01-01", periods=6, freq="MS", calendar="noleap", use_cftime=True),
    "years": np.arange(1850, 1856),
    "numbers": np.linspace(-1.0, 2.0, 6),
    "none": None,
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", PLACES)
def test_polyfit_counts_as_xarray_does(name, dtype):
    x = weather().drop_vars(["t", "age", "depth"]).astype(dtype)
    x = x if PLACES[name] is None else x.assign_coords(t=PLACES[name])
    for deg in (1, 2):
        ours, theirs = ng.polyfit(x, "t", deg), x.polyfit("t", deg).polyfit_coefficients
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.transpose(*theirs.dims), theirs, rtol=1e-7 if deg > 1 else 1e-11)
        fit = xr.polyval(x.t, theirs)
        np.testing.assert_allclose(ng.polyval(x.t, ours).transpose(*fit.dims), fit, rtol=1e-4, atol=1e-4)
    line = ng.polyval(x.t, ng.polyfit(x, "t", 1))
    straight = np.polynomial.Polynomial.fit(_steps(x.t), x[:, 0], 1)
    np.testing.assert_allclose(line.isel(x=0), straight(_steps(x.t)), rtol=1e-5, atol=1e-8)


def _steps(t):
    """Numbers in proportion to times."""
    since = t.values - t.values[0]
    return (since / since[1]).astype(float)


def test_polyfit_along_a_coordinate_of_another_name():
    x = weather()
    np.testing.assert_allclose(ng.polyfit(x, "age", 1), x.polyfit("age", 1).polyfit_coefficients, rtol=1e-11)
    np.testing.assert_allclose(ng.polyfit(x, "t", 1, w="age"), x.polyfit("t", 1, w="age").polyfit_coefficients, rtol=1e-9)


def test_weights_and_positions_of_polyfit_meet_the_data_by_label():
    x = weather()
    w = xr.DataArray(np.arange(1.0, 7.0), {"t": x.t}, "t")
    expected = x.polyfit("t", 1, w=w).polyfit_coefficients
    np.testing.assert_allclose(ng.polyfit(x, "t", 1, w=w[::-1]), expected, rtol=1e-9)
    np.testing.assert_allclose(ng.polyfit(x, x.age[::-1], dim="t", deg=1), ng.polyfit(x, "age", 1), rtol=1e-11)
    fewer = x[2:].polyfit("t", 1, w=w[2:]).polyfit_coefficients
    np.testing.assert_allclose(ng.polyfit(x, "t", 1, w=w[2:]), fewer, rtol=1e-9)
    with pytest.raises(xr.AlignmentError):
        ng.polyfit(x, "t", 1, w=w[2:].drop_vars("t"))


def test_polyfit_of_a_dataset():
    ds = both()
    found = ng.polyfit(ds, "t", 1)
    assert list(found.data_vars) == ["tas", "pr"]
    for n, v in found.data_vars.items():
        np.testing.assert_allclose(v, ds[n].polyfit("t", 1).polyfit_coefficients, rtol=1e-11)
    with pytest.raises(TypeError, match="ds\\[name\\]"):
        ng.polyfit(ds, "t", 1, w=ds)


def test_a_gradient_through_polyfit_of_dates():
    x = weather()
    g = x.grad(lambda x: ng.polyval(x.t[-1], ng.polyfit(x, "t", 1)).sum())
    expected = [xr.polyval(x.t[-1], (0 * x[:, 0] + np.eye(6)[i]).polyfit("t", 1).polyfit_coefficients) for i in range(6)]
    np.testing.assert_allclose(g, np.repeat(np.array(expected)[:, None], 5, 1), rtol=1e-8, atol=1e-10)


# ------------------------------------------------------------------------------------------------ other coordinates

TARGETS = {
    "list": {"x": [1.5, 3.0]},
    "number": {"x": 3.0},
    "tuple": {"x": ("p", [1.5, 3.0])},
    "array": {"x": xr.DataArray([1.5, 3.0], dims="x")},
    "other dim": {"x": xr.DataArray([1.5, 3.0], {"p": [7, 8], "q": ("p", [1, 2])}, "p")},
    "its own coordinate": {"x": weather().x + 0.5},
    "two": {"x": [1.5, 3.0], "t": MONTHS[1:3]},
    "extrapolated": {"x": [0.0, 9.0], "kwargs": {"fill_value": "extrapolate"}},
    "nearest": {"x": [1.6, 3.1], "method": "nearest"},
}


@pytest.mark.parametrize("make", [weather, both])
@pytest.mark.parametrize("name", TARGETS)
def test_interp_gives_the_coordinates_of_xarray(name, make):
    x = make().drop_vars("place") if name == "its own coordinate" else make()
    assert_same(ng.interp(x, **TARGETS[name]), x.interp(**TARGETS[name]))


POINTS = xr.DataArray([0.4, 3.3], dims="p")
SHARED = xr.DataArray([[0.4, 3.3], [1.0, 0.2]], dims=("z", "p"))
ALONG = ["linear", "nearest", "zero", "slinear", "quadratic", "cubic", "pchip", "akima", "makima", "krogh", "barycentric"]
TOGETHER = ["linear", "nearest", "slinear", "cubic", "pchip"]


@pytest.mark.parametrize(
    ("method", "at", "kwargs"),
    [(m, {"x": to}, {}) for m in ALONG for to in (1.3, POINTS, SHARED)]
    + [(m, {"x": to, "y": to / 2}, {}) for m in TOGETHER for to in (POINTS, SHARED)]
    + [("zero", {"x": 1.3}, {"fill_value": "extrapolate"})],
)
def test_interp_of_float32_has_the_dtype_of_xarray(method, at, kwargs):
    x = xr.DataArray(np.random.default_rng(0).normal(size=(5, 4, 2)).astype("float32"), dims=("x", "y", "z"))
    x = x.assign_coords(x=np.arange(5.0), y=np.arange(4.0))
    f = lambda x: x.interp(at, method, kwargs=kwargs)
    out = ng.pullback(f, x)[0]
    assert out.dtype == f(x).dtype
    np.testing.assert_allclose(out, f(x), rtol=1e-4, atol=1e-4)


def test_interp_of_dates_of_every_kind():
    x = weather()
    at = {"t": ["2001-02-15", "2001-04-01"]}
    expected = x.assign_coords(t=MONTHS.as_unit("ns")).interp(t=pd.DatetimeIndex(at["t"]).as_unit("ns"))
    for unit in ("s", "us", "ns"):
        y = x.assign_coords(t=MONTHS.as_unit(unit))
        np.testing.assert_allclose(ng.interp(y, **at), expected, rtol=1e-12)
        np.testing.assert_allclose(ng.interp(y, t=pd.DatetimeIndex(at["t"]).values), expected, rtol=1e-12)
    y = x.assign_coords(t=PLACES["cftime"])
    days = PLACES["cftime"][:2].shift(10, "D")
    assert_same(ng.interp(y, t=days), y.interp(t=days))
    assert_same(ng.interp(y, t="2001-02-15"), y.interp(t="2001-02-15"))


def test_a_label_that_contradicts_the_coordinate_is_refused_as_by_xarray():
    for interp in (lambda x, t: x.interp(x=t), lambda x, t: ng.interp(x, x=t)):
        with pytest.raises(IndexError, match="conflicts"):
            interp(weather(), xr.DataArray([1.5, 3.0], {"x": [7.0, 8.0]}, "x"))


# ------------------------------------------------------------------------------------------------ as the methods

CALLS = [
    *(("quantile", (q,), k) for q in (0.5, [0.1, 0.9]) for k in ({}, {"dim": "t"}, {"dim": ["t", "x"], "keep_attrs": True})),
    *((n, ("t",), {"keep_attrs": k}) for n in ("mean", "sum", "std", "median", "count", "cumsum") for k in (False, True)),
    ("differentiate", ("x", 2), {}),
    ("differentiate", ("t",), {"datetime_unit": "D"}),
    ("integrate", ("t", "D"), {}),
    ("cumulative_integrate", ("t", "D"), {}),
    ("fillna", (weather()[:3, :2],), {}),
    ("astype", ("f4",), {}),
    ("copy", (), {}),
    ("rename", ({"t": "time"},), {}),
    ("diff", ("t",), {"n": 2, "label": "lower"}),
    ("pad", (), {"t": (1, 2)}),
]


@pytest.mark.parametrize("make", [weather, both])
@pytest.mark.parametrize("k", range(len(CALLS)))
def test_a_function_is_the_method_of_its_name(k, make):
    (name, args, options), x = CALLS[k], make()
    for keep in ("default", False):
        with xr.set_options(keep_attrs=keep):
            assert_same(getattr(ng, name)(x, *args, **options), getattr(x, name)(*args, **options))


def test_other_spellings_than_those_of_xarray():
    x, ds = weather(), both()
    assert_same(ng.rename(x, names={"t": "time"}), x.rename(t="time"))
    assert_same(ng.sum(x=x, dim="t"), x.sum("t"))
    assert_same(ng.diff(x[:, 0]), x[:, 0].diff("t").drop_vars(["t", "age", "depth"]))
    for n in (0, 1, 2):
        np.testing.assert_array_equal(ng.diff(x, "x", n, prepend=0.0), np.diff(x, n, prepend=0.0))
    np.testing.assert_array_equal(ng.pad(x, {"t": (-1, 2)}, mode="edge"), np.pad(x[1:], [(0, 2), (0, 0)], mode="edge"))
    stacked = x.stack(z=("t", "x"))
    assert_same(ng.unstack(stacked, "z"), stacked.unstack("z"))
    assert ng.quantile(x, [0.5], "t", keepdims=True).dims == ("quantile", "t", "x")
    several = ng.rolling_argmax(x, {"t": 2, "x": 3}, min_periods=1)
    assert several.shape == x.shape
    assert several[0, 0] == 2 * 3 - 1
    xr.testing.assert_identical(several.t, x.t)
    positive = ng.where(ds > 0, ds, 0.0)
    for n in ds.data_vars:
        np.testing.assert_array_equal(positive[n], np.where(ds[n] > 0, ds[n], 0.0))


def test_functions_that_are_no_methods_of_a_dataset():
    ds = both()
    np.testing.assert_array_equal(ng.real(ds).tas, ds.tas)
    np.testing.assert_array_equal(ng.argsort(ds, dim="t").pr, np.argsort(ds.pr.values, 0, kind="stable"))
    first, second = ng.chunk(ds, 2, "t")
    xr.testing.assert_equal(first.tas.variable, ds.tas[:3].variable)
    xr.testing.assert_equal(second.tas.variable, ds.tas[3:].variable)
    gaps = ds.where(ds.age != 3.5)
    np.testing.assert_array_equal(ng.ffill(gaps, "t").tas, gaps.tas.to_pandas().ffill())
    kernel = xr.DataArray([1.0, 2.0], dims="t")
    for n in ("convolve", "correlate", "fftconvolve"):
        found, mode = getattr(ng, n)(ds, kernel, "t", "valid").pr, np.correlate if n == "correlate" else np.convolve
        expected = np.apply_along_axis(lambda a, mode=mode: mode(a, kernel.values, "valid"), 0, ds.pr)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


# ------------------------------------------------------------------------------------------------ positions


def test_indices_may_be_shorter_along_the_dim_that_they_index():
    x = xr.DataArray([3.0, 1.0, 2.0, 5.0], {"c": list("wxyz")}, "c")
    for index in (xr.DataArray([2, 0], dims="c"), xr.DataArray([2, 0], {"c": ["p", "q"]}, "c")):
        for n in ("gather", "take_along_axis", "take_along_dim"):
            np.testing.assert_array_equal(getattr(ng, n)(x, index, "c"), [2.0, 3.0])
        np.testing.assert_array_equal(ng.scatter(x, index, xr.zeros_like(index, float), "c"), [0.0, 1.0, 0.0, 5.0])
        np.testing.assert_array_equal(ng.searchsorted(ng.sort(x, "c"), index.astype(float), "c"), [1, 0])
    grid = xr.DataArray(np.arange(6.0).reshape(2, 3), {"r": [0, 1]}, ("r", "c"))
    index = xr.DataArray([[2, 0], [1, 1]], {"r": [1, 0]}, ("r", "c"))
    np.testing.assert_array_equal(ng.gather(grid, index, "c"), np.take_along_axis(grid.values, index.values[::-1], 1))
    np.testing.assert_array_equal(ng.kron(x, x[:2]), np.kron(x, x[:2]))


def test_sizes_that_depend_on_values():
    x = weather().round()
    assert_same(ng.unique(x), xr.DataArray(np.unique(x), {"height": 2.0}, "unique", "tas", {"units": "K"}))
    np.testing.assert_array_equal(x.isel(ng.nonzero(x)), x.values[np.nonzero(x.values)])
    for function in (ng.unique, ng.nonzero):
        with pytest.raises(TypeError, match="one variable at a time"):
            function(both())
    p = ng.positional(np.array([2.0, 0.0, 2.0]))
    np.testing.assert_array_equal(ng.unique(p), [0.0, 2.0])
    np.testing.assert_array_equal(ng.nonzero(p), np.nonzero([2.0, 0.0, 2.0]))


def test_a_dim_array_among_the_arguments_of_a_method_is_refused():
    with pytest.raises(TypeError, match="to_xarray"):
        ng.isel(weather(), {"t": ng.DimArray([0, 1], ("p",))})


FIELD = xr.DataArray(np.array([[-1.2, 0.4, 0.9], [2.0, -0.3, 0.7]]), dims=("a", "b"), coords={"b": [1, 2, 3]})
BESIDE_NUMBERS = {
    "multiply": (lambda v: ng.multiply(v, FIELD), lambda v: v * FIELD.values),
    "clip": (lambda v: ng.clip(FIELD, v), lambda v: np.clip(FIELD.values, v, None)),
    "maximum": (lambda v: ng.maximum(FIELD, v), lambda v: np.maximum(FIELD.values, v)),
    "where": (lambda v: ng.where(FIELD > 0, FIELD, v), lambda v: np.where(FIELD.values > 0, FIELD.values, v)),
    "quantile": (lambda v: ng.quantile(FIELD, v, "b"), lambda v: np.quantile(FIELD.values, v, axis=1)),
    "huber_loss": (lambda v: ng.huber_loss(FIELD, 0.0, delta=v, reduction=None), lambda v: scipy.special.huber(v, FIELD.values)),
    "diff": (lambda v: ng.diff(FIELD, "b", prepend=v), lambda v: np.diff(FIELD.values, axis=1, prepend=v)),
    "index_fill": (lambda v: ng.index_fill(FIELD, [0, 2], v, "b"), lambda v: np.where([True, False, True], v, FIELD.values)),
    "layer_norm": (lambda v: ng.layer_norm(FIELD, v, dim="b", eps=0.0), lambda v: v * (FIELD - FIELD.mean("b")).values / FIELD.std("b").values[:, None]),
    "dataset": (lambda v: ng.clip(FIELD.to_dataset(name="t"), v).t, lambda v: np.clip(FIELD.values, v, None)),
    "zeta": (lambda v: ng.zeta(2.5, FIELD + 2 + v), lambda v: scipy.special.zeta(2.5, FIELD.values + 2 + v)),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE_NUMBERS)
def test_numbers_beside_xarray_objects_are_differentiated_and_compiled(name):
    call, oracle = BESIDE_NUMBERS[name]
    v, h = 0.55, 1e-5
    out, compiled = call(v), ng.compile(call)
    assert isinstance(out, xr.DataArray)
    np.testing.assert_allclose(out, oracle(v), rtol=1e-13)
    for at in (v, 0.6):
        np.testing.assert_allclose(compiled(at), oracle(at), rtol=1e-13)
    slope = (oracle(v + h) - oracle(v - h)).sum() / (2 * h)
    for grad in (ng.grad(lambda v: call(v).sum()), ng.compile(ng.grad(lambda v: call(v).sum()))):
        assert float(grad(v)) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("name", ["x", "op", "dim"])
def test_dims_in_keywords_have_any_name(name):
    x = xr.DataArray(np.arange(3.0), dims=name)
    xr.testing.assert_identical(ng.pad(x, **{name: (0, 1)}, constant_values=7.0), x.pad({name: (0, 1)}, constant_values=7.0))
    xr.testing.assert_identical(ng.rename(x, **{name: "y"}), x.rename({name: "y"}))


@pytest.mark.parametrize(("x", "deg", "gaps", "w"), [
    ([0, 1, 2], 4, [], None), ([0, 1, 2], 4, [1], None), ([1, 1, 2, 2, 3, 3], 3, [], None), ([1, 1, 2, 2, 3, 3], 3, [0], None),
    ([0, 1, 2, 2, 2], 2, [1], None), ([0, 2, 2, 2], 1, [0], None), ([2, 2, 2, 2], 1, [], None), ([2, 2, 2, 2], 0, [1], None),
    ([0, 1, 2, 3, 4], 2, [], [0, 0, 0, 1.0, 1.0]), ([0, 1, 2, 3, 4], 1, [1], [0, 1.0, 0, 0, 2.0]), ([0, 1, 1, 3, 4], 2, [4], [0.3, 1.0, 0.7, 0.1, 2.0]),
])  # fmt: skip
def test_polynomials_that_too_few_places_determine(x, deg, gaps, w):
    """The shortest coefficients, as xarray has them: cells at one place, without weight or missing do not determine more."""
    rng = np.random.default_rng(5)
    data = xr.DataArray(rng.normal(size=(2, len(x))), dims=("y", "x"), coords={"x": np.array(x, float)})
    data[0, gaps] = np.nan
    along = data.copy(data=rng.normal(size=data.shape))
    f = lambda data: data.polyfit("x", deg, w=None if w is None else np.array(w)).polyfit_coefficients
    out, slope = ng.pushforward(f, (data,), (along,))
    cotangent = out.copy(data=rng.normal(size=out.shape))
    pulled = ng.pullback(f, data)[1](cotangent)
    np.testing.assert_allclose(out, f(data), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope, (f(data + along) - f(data - along)) / 2, rtol=1e-9, atol=1e-11)  # it is linear
    np.testing.assert_allclose((pulled * along).sum(), (cotangent * slope).sum(), rtol=1e-10)


@pytest.mark.parametrize("traced", [3.0, xr.DataArray(3.0)])
def test_what_fills_gaps_of_unstack_may_be_differentiated(traced):
    labels = {"a": ("z", [0, 0, 1]), "b": ("z", [0, 1, 0])}
    x = xr.DataArray([[1.0, 2.0, 4.0], [5.0, 7.0, 9.0]], dims=("t", "z"), coords=labels).set_index(z=["a", "b"])
    weights = xr.DataArray(np.arange(8.0).reshape(2, 2, 2), dims=("t", "a", "b"))
    loss = lambda fill: (x.unstack("z", fill_value=fill) ** 2 * weights).sum()
    value, slope = ng.value_and_grad(loss)(traced)
    assert float(value) == float(loss(3.0))
    assert float(slope) == 2 * 3.0 * float(weights[:, 1, 1].sum())


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
@pytest.mark.parametrize("gap", [False, True], ids=["full", "gap"])
@pytest.mark.parametrize("rcond", [None, 0.05, 0.2])
def test_polyfit_cuts_off_singular_values_as_xarray_does(rcond, gap):
    """Values and slopes against xarray's own, which has no ``rcond`` for lines with gaps."""
    rng = np.random.default_rng(5)
    x = xr.DataArray(rng.normal(size=(12, 3)), dims=("t", "k"), coords={"t": np.linspace(0.0, 1.0, 12)})
    x = x.where((x.k != 1) | (x.t < 0.9)) if gap else x
    w = xr.DataArray(rng.normal(size=(5, 3)), dims=("degree", "k"))
    step = xr.DataArray(rng.normal(size=x.shape), dims=x.dims)

    def f(x):
        found = x.polyfit("t", 4, rcond=rcond, full=True)
        return (found.polyfit_coefficients * w).sum() + found.polyfit_residuals.fillna(7.0).sum()

    value, g = ng.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-9)
    np.testing.assert_allclose((g * step).sum(), (f(x + 1e-5 * step) - f(x - 1e-5 * step)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("start", [0.37, np.array(0.37), xr.DataArray(0.37)], ids=["number", "array", "DataArray"])
def test_a_limit_that_is_differentiated_keeps_the_dims_of_what_is_clipped(start):
    y = xr.DataArray(np.arange(12.0).reshape(4, 3) / 10 + 0.05, dims=("b", "x"))

    def f(limit):
        clipped = np.clip(y, None, limit)
        assert clipped.dims == y.dims
        return (clipped * y.isel(b=0, drop=True)).sum()

    slope = float((y.isel(b=0, drop=True) * (y > 0.37)).sum())
    assert float(ng.grad(f)(start)) == pytest.approx(slope, rel=1e-13)
