"""Complex observations, of which residuals are the real and the imaginary parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

T = xr.DataArray(np.linspace(0, 5, 40), dims="t", coords={"t": np.linspace(0, 5, 40)}, name="t")
LATER = xr.DataArray(np.array([6.0, 7.5]), dims="t", coords={"t": [6.0, 7.5]}, name="t")
SIZE = xr.DataArray([1.0, 2.0, 3.0], dims="c", coords={"c": [10, 20, 30]})
START = {"size": 1.1 * SIZE, "rate": SIZE + 1.02, "decay": 0.25}
SIGMA = {"re": 0.01, "im": 0.02}


def data():
    rng = np.random.default_rng(0)
    z = SIZE * np.exp((1j * (SIZE + 1) - 0.3) * T)
    z = (z + 0.01 * (rng.normal(size=z.shape) + 1j * rng.normal(size=z.shape))).transpose("t", "c")
    z[3:6, 1] = np.nan  # which NumPy makes nan + 0j
    return z.assign_attrs(units="V")


def model(p, t):
    return p["size"] * np.exp((1j * p["rate"] - p["decay"]) * t)


def as_dict(p, t, z):
    off = model(p, t) - z
    return {"re": off.real, "im": off.imag}


def as_dataset(p, t, z):
    return xr.Dataset(as_dict(p, t, z))


def as_tuple(p, t, z):
    return tuple(as_dict(p, t, z).values())


def joined(p, t, z):
    return xr.concat(as_tuple(p, t, z), "part")


def labelled(p, t, z):
    off = model(p, t) - z
    return xr.concat([off.imag, off.real], xr.DataArray(["im", "re"], dims="part", name="part"))


FORMS = [as_dict, as_dataset, as_tuple, joined, labelled]


def expected(z, weights=(1.0, 1.0)):
    """Parameters and r2 of one series by SciPy, without the missing numbers."""
    there = np.isfinite(z.values)
    t, y = T.values[there], z.values[there]
    p0 = [1.1 * z.c.item() / 10, z.c.item() / 10 + 1.02, 0.25]

    def off(p):
        r = p[0] * np.exp((1j * p[1] - p[2]) * t) - y
        return np.concatenate([weights[0] * r.real, weights[1] * r.imag])

    x = scipy.optimize.least_squares(off, p0, xtol=1e-12, ftol=1e-12, gtol=1e-12).x
    about = y - y.mean()
    whole = np.square(weights[0] * about.real).sum() + np.square(weights[1] * about.imag).sum()
    return x, 1 - np.square(off(x)).sum() / whole


@pytest.mark.parametrize("residual", FORMS)
def test_predictions_and_r2_of_complex_observations(residual):
    z = data()
    fit = ng.least_squares(residual, START, T, z, over="c")
    for i, one in enumerate(z.transpose("c", "t")):
        x, r2 = expected(one)
        np.testing.assert_allclose([v[i].item() for v in fit.params.values()], x, rtol=1e-6)
        np.testing.assert_allclose(fit.r2[i], r2, rtol=1e-9)
    found = fit.predict()
    assert (found.dims, found.attrs, found.name) == (z.dims, {"units": "V"}, "prediction")
    xr.testing.assert_allclose(found, model(fit.params, T).transpose(*z.dims).rename("prediction"))
    for later in (LATER, LATER.values):
        xr.testing.assert_allclose(fit.predict(later).transpose("c", "t"), model(fit.params, LATER).transpose("c", "t"))


@pytest.mark.parametrize("residual", FORMS)
def test_plots_of_complex_observations_have_both_parts(residual):
    z, names = data(), ["(imag)", "(real)"]
    fit = ng.least_squares(residual, START, T, z, over="c")
    want, seen = model(fit.params, T).sel(c=20), z.sel(c=20).dropna("t")
    figure = fit.plot({"c": 20})
    assert sorted(panel.get_ylabel().split()[-1] for panel in figure.axes) == names
    for panel in figure.axes:
        part = np.real if "real" in panel.get_ylabel() else np.imag
        curve, dots = panel.lines
        np.testing.assert_allclose(curve.get_ydata(), part(want), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(dots.get_ydata(), part(seen))


def test_bands_of_complex_observations_are_those_of_the_parts_by_themselves():
    z = data()[:, 0]
    start = {n: v[0].item() if np.ndim(v) else v for n, v in START.items()}
    apart = lambda p, t, re, im: {"re": model(p, t).real - re, "im": model(p, t).imag - im}
    want = ng.least_squares(lambda p, t, o: apart(p, t, *o), start, T, (z.real, z.imag)).plot({})
    for residual in FORMS:
        found = ng.least_squares(residual, start, T, z).plot({})
        for panel in found.axes:
            like = want.axes[[a.get_ylabel() for a in want.axes].index("re" if "real" in panel.get_ylabel() else "im")]
            pair = (a.collections[0].get_paths()[0].vertices for a in (panel, like))
            np.testing.assert_allclose(*pair, rtol=1e-6, atol=1e-9)


def test_parts_with_a_sigma_of_their_own():
    z = data()
    fit = ng.least_squares(as_dict, START, T, z, over="c", sigma=SIGMA)
    for i, one in enumerate(z.transpose("c", "t")):
        x, r2 = expected(one, (100.0, 50.0))
        np.testing.assert_allclose([v[i].item() for v in fit.params.values()], x, rtol=1e-6)
        np.testing.assert_allclose(fit.r2[i], r2, rtol=1e-9)
    assert fit.predict().dtype.kind == "c"


def test_complex_numbers_that_lack_a_part_are_missing():
    z = data()
    lacks = z.copy()
    lacks.values[3, 1], lacks.values[4, 1], lacks.values[5, 1] = complex(0, np.nan), complex(np.inf, 1), np.nan
    found, want = (ng.least_squares(joined, START, T, v, over="c") for v in (lacks, z))
    assert found.dof.values.tolist() == [77, 71, 77]
    xr.testing.assert_allclose(found.params, want.params)
    gradient = ng.grad(lambda v: ng.least_squares(as_dict, START, T, v, over="c").params["size"].sum())(z)
    assert (gradient[3:6, 1] == 0).all()
    assert (gradient[0] != 0).all()


@pytest.mark.parametrize("stacked", [True, False])
def test_complex_arrays_without_names(stacked):
    t, z = T.values, data().values[:, 0]
    both = lambda r: np.stack([r.real, r.imag]) if stacked else (r.real, r.imag)
    fit = ng.least_squares(lambda p, t, z: both(model(p, t) - z), {"size": 1.1, "rate": 2.02, "decay": 0.25}, t, z)
    x, r2 = expected(data()[:, 0])
    np.testing.assert_allclose(fit.r2, r2)
    np.testing.assert_allclose(fit.predict(LATER.values), x[0] * np.exp((1j * x[1] - x[2]) * LATER.values), rtol=1e-6)


def test_complex_observations_beside_real_ones():
    z = data()
    both = xr.Dataset({"z": z, "decay": 0.3 + 0 * SIZE})
    residual = lambda p, t, o: as_dataset(p, t, o["z"]).assign(decay=p["decay"] - o["decay"])
    fit = ng.least_squares(residual, START, T, both, over="c")
    found = fit.predict()
    assert {*found} == {"decay", "z"}
    xr.testing.assert_allclose(found.z.transpose("c", "t"), model(fit.params, T).transpose("c", "t").rename("z"))
    xr.testing.assert_allclose(found.decay, fit.params.decay)


def test_one_part_of_complex_observations():
    z = data()
    fit = ng.least_squares(lambda p, t, z: (model(p, t) - z).real, START, T, z, over="c")
    xr.testing.assert_allclose(fit.predict(), model(fit.params, T).real.transpose(*z.dims).rename("prediction"))


@pytest.mark.parametrize("lazy", [True, False])
def test_models_of_complex_arrays(lazy):
    z = data()
    fit = (z.chunk(c=2) if lazy else z).grad.fit(model, "t", START, over="c")
    for i, one in enumerate(z.transpose("c", "t")):
        np.testing.assert_allclose([v[i].item() for v in fit.params.compute().values()], expected(one)[0], rtol=1e-6)
    assert [v.attrs.get("units") for v in fit.params.values()] == ["V", None, None]
    xr.testing.assert_allclose(fit.predict(LATER).compute().transpose("c", "t"), model(fit.params.compute(), LATER))


@pytest.mark.parametrize(
    "residual",
    [
        lambda p, t, z: xr.concat(as_tuple(p, t, z), "t"),
        lambda p, t, z: as_dict(p, t, z)["re"] + as_dict(p, t, z)["im"],
    ],
)
def test_parts_that_are_not_apart_name_the_way_out(residual):
    fit = ng.least_squares(residual, START, T, data(), over="c")
    for what in (fit.predict, lambda: fit.r2, lambda: fit.plot({"c": 10})):
        with pytest.raises(TypeError, match=r"return .*joined along a dim of their own"):
            what()


def test_real_residuals_joined_along_the_dim_of_the_observations():
    t, y = np.arange(5.0), np.array([0.1, 0.9, 2.2, 2.9, 4.1])
    for twice in (np.concatenate, lambda pair: np.stack(pair, axis=-1)):
        fit = ng.least_squares(lambda p, t, y, f=twice: f([p["a"] * t - y, p["a"] * t - y]), {"a": 1.0}, t, y)
        with pytest.raises(TypeError, match=r"along axis -1, and the observations, .* return several arrays"):
            fit.predict()
