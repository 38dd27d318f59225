"""Start values from data and model alone: in any units, whatever the parameters are called."""

from __future__ import annotations

from pathlib import Path

import iris_sample_data
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import xarray as xr

import namedgrad as ng
from namedgrad.fit.judge import least
from namedgrad.fit.noise import looks_like_noise, swings
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.surface import Surface
from namedgrad.fit.symmetry import measure

CELLS = 20
FROM_ZERO, POSITIVE, YEARS = np.linspace(0, 10, 80), np.linspace(0.1, 10, 80), np.linspace(1860, 2100, 120)
WARM, DECADES = np.linspace(280, 400, 80), np.logspace(-4, 3, 50)
MONTHS, UNEVEN = 1900 + np.arange(240) / 12, np.sort(np.random.default_rng(0).uniform(0, 10, 120))
# The model, its coordinates, and between which limits its parameters lie.
FAMILIES = {
    "line": (lambda x, a, b: a + b * x, FROM_ZERO, [(1, 3), (-2, 2)]),
    "exponential": (lambda x, a, b, c: a * np.exp(-b * x) + c, FROM_ZERO, [(1, 3), (0.2, 2), (-1, 1)]),
    "growth": (lambda x, a, b: np.exp(a + b * x), FROM_ZERO, [(-1, 1), (-0.5, 0.5)]),
    "two exponentials": (
        lambda x, a, b, c, d: a * np.exp(-b * x) + c * np.exp(-d * x), FROM_ZERO,
        [(1, 3), (0.1, 0.3), (1, 3), (1, 4)],
    ),
    "delayed": (lambda x, a, k, t: a * (1 - np.exp(-k * (x - t))), FROM_ZERO, [(1, 3), (0.3, 2), (-1, 1)]),
    "peak": (lambda x, a, m, s: a * np.exp(-0.5 * ((x - m) / s) ** 2), FROM_ZERO, [(1, 3), (2, 8), (0.3, 2)]),
    "peak on a slope": (
        lambda x, a, m, s, c, d: a / (1 + ((x - m) / s) ** 2) + c + d * x, FROM_ZERO,
        [(1, 3), (2, 8), (0.3, 1), (-1, 1), (-0.2, 0.2)],
    ),
    "two peaks": (
        lambda x, a, m, s, b, n, r: a * np.exp(-(((x - m) / s) ** 2)) + b * np.exp(-(((x - n) / r) ** 2)), FROM_ZERO,
        [(1, 3), (2, 4), (0.4, 0.8), (1, 3), (6, 8), (0.4, 0.8)],
    ),
    "damped": (
        lambda x, a, b, w, p: a * np.exp(-b * x) * np.cos(w * x + p), FROM_ZERO, [(1, 3), (0.05, 0.5), (1, 12), (-3, 3)]
    ),
    "harmonic": (
        lambda x, m, a, f, p: m + a * np.sin(2 * np.pi * (f * x + p)), FROM_ZERO,
        [(-1, 1), (1, 3), (0.2, 2), (-0.5, 0.5)],
    ),
    "chirp": (  # most rates of rates that may be are faster than the observations can tell
        lambda x, a, f, k, p: a * np.sin(2 * np.pi * (f + 0.5 * k * x) * x + p), FROM_ZERO,
        [(1, 3), (0.2, 0.8), (0.03, 0.16), (-3, 3)],
    ),
    "two rates of turn": (
        lambda x, a, w, b, p, c: a * np.sin(w * x + b * x**2 + p) + c, np.linspace(0, 10, 240),
        [(1, 3), (2, 10), (0.2, 2), (-3, 3), (-1, 1)],
    ),
    "period among years": (  # the phase is that of the year 0
        lambda x, a, t, p, c: a * np.sin(2 * np.pi * x / t + p) + c, MONTHS, [(1, 3), (0.5, 8), (-3, 3), (-1, 1)]
    ),
    "wave at odd times": (  # of which another wave leaves what looks like noise
        lambda x, a, f, p, c: a * np.sin(2 * np.pi * f * x + p) + c, UNEVEN, [(1, 3), (1, 5), (-3, 3), (-1, 1)]
    ),
    "power": (lambda x, a, b: a * x**b, POSITIVE, [(1, 3), (-1, 2)]),
    "saturation": (lambda x, v, k: v * x / (k + x), POSITIVE, [(1, 3), (0.3, 5)]),
    "hill": (lambda x, a, k, n: a * x**n / (k**n + x**n), POSITIVE, [(1, 3), (1, 6), (1, 5)]),
    "weibull": (lambda x, a, k, n: a * (1 - np.exp(-((x / k) ** n))), POSITIVE, [(1, 3), (1, 6), (0.7, 4)]),
    "gompertz": (lambda x, a, b, c: a * np.exp(-b * np.exp(-c * x)), FROM_ZERO, [(1, 3), (2, 10), (0.4, 2)]),
    "gompertz from a level": (
        lambda x, a, b, c, d: d + a * np.exp(-b * np.exp(-c * x)), FROM_ZERO, [(1, 4), (2, 8), (0.4, 1.5), (-1, 1)]
    ),
    "logistic": (
        lambda x, o, a, m, w: o + a / (1 + np.exp(-(x - m) / w)), YEARS, [(270, 280), (2, 5), (1950, 2050), (8, 20)]
    ),
    "quotient": (lambda x, a, b, c: np.exp(-a * x) / (b + c * x), FROM_ZERO, [(0.05, 0.3), (0.1, 0.5), (0.1, 1)]),
    "inverse": (lambda x, a, b: 1 / (a + b * x), FROM_ZERO, [(0.5, 2), (0.2, 2)]),
    "two rates": (  # 0 / 0 where they are equal
        lambda x, a, k, e: a * k / (k - e) * (np.exp(-e * x) - np.exp(-k * x)), POSITIVE, [(1, 3), (1, 4), (0.1, 0.5)]
    ),
    "size of either sign": (
        lambda x, a, m, s: np.abs(a) * np.exp(-(((x - m) / s) ** 2)), FROM_ZERO, [(1, 3), (2, 8), (0.3, 2)]
    ),
    "resonance": (
        lambda x, a, f, q: np.abs(a / (1 + 1j * q * (x / f - f / x))), POSITIVE, [(1, 3), (2, 6), (3, 10)]
    ),
    "stretched over decades": (
        lambda x, a, k, n, c: a * np.exp(-((x / k) ** n)) + c, DECADES, [(1, 3), (0.002, 0.02), (0.5, 1), (0, 1)]
    ),
    "two sites": (
        lambda x, a, k, b, m: a * x / (k + x) + b * x / (m + x), DECADES, [(1, 3), (0.002, 0.02), (1, 3), (1, 30)]
    ),
    "pole far away": (lambda x, a, b, c: a - b / (x + c), WARM, [(7, 9), (1500, 2000), (-50, -30)]),
    "pole in an exponent": (lambda x, a, b, c: 10 ** (a - b / (x + c)), WARM, [(7, 9), (1500, 2000), (-50, -30)]),
}  # fmt: skip


def data(family, x_unit=1.0, y_unit=1.0):
    """Coordinates, noisy observations (cell, i), and the sums of squares of the noise."""
    func, x, limits = FAMILIES[family]
    rng = np.random.default_rng(5)
    y = func(x, *(rng.uniform(*limit, (CELLS, 1)) for limit in limits))
    noise = 0.03 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    return x * x_unit, (y + noise) * y_unit, np.sum((noise * y_unit) ** 2, axis=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_start_values_are_found_in_any_units(family):
    func, _, limits = FAMILIES[family]
    names = [f"q{i}" for i in range(len(limits))]
    for units in ((1.0, 1.0), (1e6, 1e-6), (1e-6, 1e6)):
        x, y, squares = data(family, *units)
        fit = ng.least_squares(
            lambda p, x, y: func(x, *p.values()) - y, names, ng.DimArray(x, ("i",)), ng.DimArray(y, ("cell", "i")),
            over="cell", max_iterations=200,
        )  # fmt: skip
        answered = np.isin(fit.status.values, (0, 3)) & (2 * fit.cost.values < 1.05 * squares)
        assert answered.mean() >= 0.95, units


@pytest.mark.parametrize("family", ["two exponentials", "peak on a slope", "two peaks"])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 86400.0])
def test_models_that_convert_their_coordinate_themselves(family, unit):
    func, _, limits = FAMILIES[family]
    x, y, squares = data(family)
    fit = ng.least_squares(
        lambda p, x, y: func(x / unit, *p.values()) - y, [f"q{i}" for i in range(len(limits))],
        ng.DimArray(x * unit, ("i",)), ng.DimArray(y, ("cell", "i")), over="cell", max_iterations=200,
    )  # fmt: skip
    assert (2 * fit.cost.values < 1.05 * squares).mean() >= 0.95


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize(
    ("model", "x", "limits"),
    [
        (lambda t, m, d: abs(m * (1 - 2 * np.exp(-t / d))), np.geomspace(0.05, 5, 20), [(80, 120), (0.3, 1.8)]),
        (  # Platt et al. (1980): photoinhibition
            lambda i, p, a, b: p * (1 - np.exp(-a * i / p)) * np.exp(-b * i / p),
            np.linspace(0, 2000, 20), [(5, 15), (0.02, 0.06), (0.001, 0.005)],
        ),
        (  # Brutsaert and Nieber (1977): recession of a stream
            lambda t, q, a, b: (q ** (1 - b) + (b - 1) * a * t) ** (1 / (1 - b)),
            np.arange(60.0), [(5, 50), (0.02, 0.2), (1.3, 2.5)],
        ),
        (  # a trend that breaks, with an origin of its own
            lambda t, a, b, c, at: a + b * (t - 1950) + c * np.maximum(t - at, 0),
            np.arange(1950.0, 2021), [(0, 1), (0.01, 0.05), (0.05, 0.1), (1970, 2000)],
        ),
        (  # a star that varies, seen now and then
            lambda t, m, a, p, phi: m + a * np.sin(2 * np.pi * t / p + phi),
            np.sort(np.random.default_rng(5).uniform(0, 10, 80)), [(10, 12), (0.3, 0.8), (0.8, 3), (-3, 3)],
        ),
        (  # a rating curve, which has no value below its zero
            lambda h, a, zero, b: a * (h - zero) ** b, np.linspace(0.1, 5, 40), [(5, 20), (-0.5, 0.0), (1.3, 2.4)],
        ),
    ],
    ids=["magnitude", "photosynthesis", "recession", "break", "star", "rating"],
)  # fmt: skip
def test_models_that_make_other_numbers_of_their_coordinate(model, x, limits, unit):
    """They were constants, or lines with slopes that differ by their rounding, where coordinates are of order 1.

    Or nothing but noise, where a wave makes many turns from one to the next.
    """
    rng = np.random.default_rng(2)
    y = model(x, *(rng.uniform(*ends, (CELLS, 1)) for ends in limits))
    noise = 0.02 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: model(x / unit, *p.values()) - y, [f"q{i}" for i in range(len(limits))],
        ng.DimArray(x * unit, ("i",)), ng.DimArray(y + noise, ("cell", "i")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < 1.05 * np.sum(noise**2, axis=1)).mean() >= 0.95


KELVIN = 8.617e-5


@pytest.mark.parametrize("unit", [1e-6, 1e-3])
def test_places_move_with_the_unit_that_a_model_computes_in(unit):
    """They were sought where coordinates are, in a unit ten times as large, and a third of these fits missed a peak."""
    rng, x = np.random.default_rng(5), np.linspace(0, 10, 80)
    limits = [(1, 3), (2, 4), (0.3, 0.7), (1, 3), (6, 8), (0.3, 0.7), (-1, 1)]
    peaks = lambda x, a, m, s, b, n, r, c: a * np.exp(-0.5 * ((x - m) / s) ** 2) + b * np.exp(-0.5 * ((x - n) / r) ** 2) + c
    y = peaks(x, *(rng.uniform(*ends, (CELLS, 1)) for ends in limits))
    noise = 0.03 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: peaks(x / unit, *p.values()) - y, [f"q{i}" for i in range(7)],
        ng.DimArray(x * unit, ("i",)), ng.DimArray(y + noise, ("cell", "i")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() >= 0.95


def test_a_parameter_that_went_where_it_makes_no_difference_is_sought_elsewhere():
    """A power alone leaves what looks like noise, so that the cutoff stayed where it came from 1: at 1e5 for 1e-5."""
    rng, x = np.random.default_rng(5), np.linspace(0.1, 10, 80)
    y = (lambda a, g, c: a * x**-g * np.exp(-x / c))(*(rng.uniform(*m, (CELLS, 1)) for m in ((1, 5), (0.5, 2), (2, 10))))
    noise = 0.03 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: p["a"] * x ** -p["g"] * np.exp(-x / p["c"]) - y, ["a", "g", "c"],
        ng.DimArray(1e-6 * x, ("i",)), ng.DimArray(1e6 * (y + noise), ("cell", "i")), over="cell",
    )  # fmt: skip
    assert (fit.status == 0).mean() >= 0.95  # without a cutoff one is met as well
    assert (2 * fit.cost.values < 1e12 * np.sum(noise**2, axis=1)).all()


@pytest.mark.parametrize(
    ("rate", "limits"),
    [
        (  # Schoolfield et al. (1981): 0 or nowhere with parameters of order 1, all of which were taken for linear
            lambda t, r, e, d, h: r * np.exp(-e / KELVIN * (1 / t - 1 / 293.15)) / (1 + np.exp(d / KELVIN * (1 / h - 1 / t))),
            [(1, 3), (0.5, 0.8), (2, 3.5), (308, 315)],
        ),
        (  # Lloyd and Taylor (1994): an energy that is many times the range of temperatures
            lambda t, r, z, e: r * np.exp(e * (1 / 56.02 - 1 / (t - z))), [(1, 4), (220, 235), (250, 350)]
        ),
    ],
    ids=["schoolfield", "lloyd"],
)  # fmt: skip
def test_models_with_constants_of_their_own(rate, limits):
    rng, t = np.random.default_rng(11), np.linspace(278, 318, 60)
    y = rate(t, *(rng.uniform(*ends, (CELLS, 1)) for ends in limits))
    noise = 0.02 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, t, y: rate(t, *p.values()) - y, [f"q{i}" for i in range(len(limits))], xr.DataArray(t, dims="t"),
        xr.DataArray(y + noise, dims=("cell", "t")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() >= 0.95


def test_coordinates_of_each_cell_that_lie_far_from_zero():
    """Birch (1947): energies at volumes, which were compared as if they began at 0."""
    def energy(v, e, v0, b, p):
        x = (v0 / v) ** (2 / 3)
        return e + 9 / 16 * v0 * b * ((x - 1) ** 3 * p + (x - 1) ** 2 * (6 - 4 * x))

    rng = np.random.default_rng(11)
    truth = [rng.uniform(*ends, (CELLS, 1)) for ends in ((-10, -5), (38, 44), (0.3, 1), (3, 6))]
    v = np.sort(rng.uniform(32, 50, (CELLS, 30)), axis=1)
    y = energy(v, *truth)
    noise = 0.03 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, v, y: energy(v, *p.values()) - y, ["e", "v", "b", "p"], ng.DimArray(v, ("cell", "i")),
        ng.DimArray(y + noise, ("cell", "i")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() >= 0.95


def test_an_energy_beside_a_coordinate_that_has_a_unit_of_its_own():
    """Photosynthesis in light and warmth: parameters of unknown size were sought in the unit of the light alone."""
    def rate(at, most, energy, half, loss):
        i, t = at
        return most * np.exp(energy / 8.314 * (1 / 298.15 - 1 / t)) * i / (i + half) - loss * 2 ** ((t - 298.15) / 10)

    rng = np.random.default_rng(1)
    truth = [rng.uniform(*ends, (CELLS, 1)) for ends in ((10, 40), (3e4, 8e4), (100, 600), (0.5, 3))]
    i, t = rng.uniform(0, 2000, 60), rng.uniform(275, 315, 60)
    y = rate((i, t), *truth)
    noise = 0.03 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, i, t, y: rate((i, t), *p.values()) - y, ["most", "energy", "half", "loss"],
        ng.DimArray(i, ("n",)), ng.DimArray(t, ("n",)), ng.DimArray(y + noise, ("cell", "n")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() >= 0.95


def test_a_spot_in_micrometres_on_coordinates_in_metres():
    rng, x, y = np.random.default_rng(0), np.linspace(0, 10, 16)[:, None], np.linspace(-3, 3, 14)
    limits = [(1, 3), (3, 7), (-1, 1), (1, 2), (0.5, 1.2), (-0.5, 0.5)]
    spot = lambda x, y, a, m, n, s, r, c: a * np.exp(-0.5 * ((x - m) / s) ** 2 - 0.5 * ((y - n) / r) ** 2) + c
    noise = 0.02 * rng.normal(size=(8, 16, 14))
    image = spot(x, y, *(rng.uniform(*limit, (8, 1, 1)) for limit in limits)) + noise
    image = xr.DataArray(image, {"x": 1e-6 * x[:, 0], "y": 1e-6 * y}, ("cell", "x", "y"))
    names = ["a", "m", "n", "s", "r", "c"]
    fit = image.grad.fit(lambda p, x, y: spot(1e6 * x, 1e6 * y, *p.values()), ["x", "y"], names, over="cell")
    assert (2 * fit.cost.values < np.sum(noise**2, axis=(1, 2))).all()


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_left_is_told_from_noise(order):
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 200)[::order]
    noise = rng.normal(size=(300, 200))
    y = np.concatenate([noise, noise + 1.5 * np.sin(40 * x), noise + 4 * x**2, noise + 1e6 * (x == x[50])])
    y[:, 20:23] = np.nan
    problem = lambda x, y: Residuals(
        lambda p, x, y: p["a"] + 0 * x - y, {"a": 0.0}, (x, y), over="cell", loss=None, sigma=None, prior=None,
        chunk=None,
    )  # fmt: skip
    named = ng.DimArray(x, ("i",)), ng.DimArray(y, ("cell", "i"))
    found = looks_like_noise(problem(*named), np.nanmean(y, axis=1)[None] * (np.arange(1200) < 900))
    assert found[:300].mean() > 0.98
    assert found[300:900].mean() < 0.02
    assert found[900:].mean() > 0.98
    shuffled = np.random.default_rng(1).permutation(200)
    mixed = ng.DimArray(x[shuffled], ("i",)), ng.DimArray(y[:, shuffled], ("cell", "i"))
    assert not looks_like_noise(problem(*mixed), np.zeros((1, 1200))).any()  # their order says nothing


def test_the_order_of_cells_and_their_company_do_not_matter():
    func = FAMILIES["damped"][0]
    x, y, _ = data("damped")
    y[3] = np.nan
    y[7] = 2.0
    y[9] *= 1e30

    def fit(y):
        found = ng.least_squares(
            lambda p, x, y: func(x, *p.values()) - y, ["a", "b", "c", "d"], ng.DimArray(x, ("i",)),
            ng.DimArray(y, ("cell", "i")), over="cell",
        )  # fmt: skip
        return np.stack([found.params[n].values for n in found.params])

    together, order = fit(y), np.random.default_rng(0).permutation(CELLS)
    np.testing.assert_allclose(fit(y[order]), together[:, order], rtol=1e-6)
    np.testing.assert_allclose(fit(y[11:13]), together[:, 11:13], rtol=1e-6)
    np.testing.assert_allclose(
        fit(np.where(np.arange(len(y))[:, None] == 9, 1.0, y))[:, 10:], together[:, 10:], rtol=1e-6
    )
    assert np.isnan(together[:, 3]).all()


ALIKE = {  # models with several best fits, and a value of the parameters that have one of them
    "terms": (lambda x, a, b, c, d: a * np.exp(-b * x) + c * np.exp(-d * x), [(1, 2), (0.1, 0.4), (1, 2), (1, 3)]),
    "terms beside a level": (
        lambda x, a, b, c, d, e: e + a * np.exp(-b * x) + c * np.exp(-d * x),
        [(1, 2), (0.2, 0.4), (1, 2), (1, 3), (1, 2)],
    ),
    "rates, with the size": (  # Bateman's function: rates that change places change the size by their ratio
        lambda x, a, b, c: a * b / (c - b) * (np.exp(-b * x) - np.exp(-c * x)), [(1, 2), (0.1, 0.4), (1, 3)],
    ),
    "turned steps": (lambda x, a, b, c, d: d + a / (1 + np.exp(-b * (x - c))), [(1, 2), (0.5, 2), (3, 7), (0, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("noise", [0.01, 0.0])
@pytest.mark.parametrize("name", ALIKE)
def test_of_equal_fits_the_same_is_found_in_any_order_of_cells(name, noise):
    func, limits = ALIKE[name]
    rng, x = np.random.default_rng(1), FROM_ZERO
    truth = np.stack([rng.uniform(*limit, 80) for limit in limits])
    y = func(x, *truth[..., None]) + noise * rng.normal(size=(80, x.size))

    def fit(y):
        names = [f"q{i}" for i in range(len(limits))]
        found = ng.least_squares(
            lambda p, x, y: func(x, *p.values()) - y, names, ng.DimArray(x, ("i",)), ng.DimArray(y, ("cell", "i")), over="cell"
        )
        return np.stack([found.params[n].values for n in names])

    together, order = fit(y), rng.permutation(80)
    np.testing.assert_allclose(fit(y[order]), together[:, order], rtol=1e-6)
    np.testing.assert_allclose(fit(y[40:60]), together[:, 40:60], rtol=1e-6)


@pytest.mark.parametrize("bounded", [False, True])
def test_terms_that_may_change_places_are_in_the_order_of_their_places(bounded):
    rng, x = np.random.default_rng(2), np.linspace(0, 10, 60)
    two = lambda x, a, m, s, b, n, t: a * np.exp(-(((x - m) / s) ** 2)) + b * np.exp(-(((x - n) / t) ** 2))
    limits = [(1, 2), (2, 4), (0.5, 1), (1, 2), (6, 8), (0.5, 1)]
    truth = np.stack([rng.uniform(*limit, 20) for limit in limits])
    y = two(x, *truth[..., None]) + 0.01 * rng.normal(size=(20, x.size))
    fit = ng.least_squares(
        lambda p, x, y: two(x, *p.values()) - y, ["a", "m", "s", "b", "n", "t"], ng.DimArray(x, ("i",)),
        ng.DimArray(y, ("cell", "i")), over="cell", bounds={"m": (5.0, np.inf)} if bounded else None,
    )  # fmt: skip
    found = np.stack([fit.params[n].values for n in fit.params])
    np.testing.assert_allclose(found, truth[[3, 4, 5, 0, 1, 2]] if bounded else truth, atol=0.2)


@pytest.mark.parametrize("origin", [0.0, 500.0, 2.46e6, 1.7e9])
def test_terms_are_in_order_however_far_away_they_are(origin):
    rng, x = np.random.default_rng(2), origin + np.linspace(0, 100, 200)
    two = lambda x, a, m, s, b, n, t: a * np.exp(-(((x - m) / s) ** 2)) + b * np.exp(-(((x - n) / t) ** 2))
    truth = np.array([0.2, origin + 30.0, 6.0, 1.0, origin + 70.0, 3.0])
    y = two(x, *truth) + 1e-4 * rng.normal(size=200)
    fit = ng.least_squares(lambda p, x, y: two(x, *p.values()) - y, ["a", "m", "s", "b", "n", "t"], x, y)
    np.testing.assert_allclose([fit.params[n].item() for n in fit.params], truth, rtol=1e-3)


def test_some_start_values_given_some_fixed_and_bounds():
    func = FAMILIES["peak"][0]
    x, y, squares = data("peak")
    args = (ng.DimArray(x, ("i",)), ng.DimArray(y, ("cell", "i")))
    residual = lambda p, x, y: func(x, *p.values()) - y
    free = ng.least_squares(residual, ["a", "m", "s"], *args, over="cell")
    some = ng.least_squares(residual, {"a": 1.0, "m": None, "s": free.params["s"].values.mean()}, *args, over="cell")
    held = ng.least_squares(
        residual,
        {"a": None, "m": None, "s": ng.DimArray(free.params["s"].values, ("cell",))},
        *args,
        over="cell",
        fixed="s",
    )
    limited = ng.least_squares(
        residual, ["a", "m", "s"], *args, over="cell", bounds={"s": (0, None), "m": (1, 9), "a": (0, 5)}
    )
    for fit in (some, held, limited):
        assert (2 * fit.cost.values < 1.05 * squares).mean() >= 0.95
    np.testing.assert_array_equal(held.params["s"], free.params["s"])
    assert (limited.params["s"] > 0).all()


@pytest.mark.parametrize("kind", ["named", "xarray", "plain"])
def test_a_single_fit_without_start_values(kind):
    func = FAMILIES["damped"][0]
    x, y, squares = data("damped")
    args = {
        "named": (ng.DimArray(x, ("i",)), ng.DimArray(y[2], ("i",))),
        "xarray": (xr.DataArray(x, dims="i"), xr.DataArray(y[2], dims="i")),
        "plain": (x, y[2]),
    }[kind]
    fit = ng.least_squares(lambda p, x, y: func(x, *p.values()) - y, ["a", "b", "w", "p"], *args)
    assert fit.params["a"].dims == ()
    assert 2 * fit.cost < 1.05 * squares[2]


@pytest.mark.parametrize("calendar", ["standard", "360_day"])
def test_a_single_fit_without_start_values_to_dates(calendar):
    days = xr.date_range("2000-01-01", periods=30, calendar=calendar, use_cftime=calendar != "standard")
    dates = xr.DataArray(days, dims="time", name="time")
    y = xr.DataArray(3 * np.exp(-0.15 * np.arange(30.0)) + 1, dims="time")
    residual = lambda p, t, y: p["a"] * np.exp(-p["b"] * t) + p["c"] - y
    fit = ng.least_squares(residual, ["a", "b", "c"], dates, y)
    np.testing.assert_allclose([fit.params[n] for n in "abc"], [3.0, 0.15 / 86400, 1.0], rtol=1e-6)
    assert fit.params.attrs["time_units"] == "seconds since 2000-01-01 00:00:00"


def test_models_that_keep_their_units_and_models_that_look_at_their_coordinates():
    rng = np.random.default_rng(0)
    months = np.arange(240.0)
    y = 2.0 + rng.uniform(1, 2, (CELLS, 1)) * np.cos(2 * np.pi * (months / 12 - rng.random((CELLS, 1))))
    y += 0.1 * rng.normal(size=y.shape)
    da = xr.DataArray(y, dims=("cell", "time"), coords={"time": months})
    fit = ng.curvefit(da, "time", lambda t, m, a, p: m + a * np.cos(2 * np.pi * (t / 12 - p)))
    assert (fit.curvefit_chi2 < 1.3 * 0.01 * 240).all()
    table = np.sin(months / 7)
    fit = ng.curvefit(da, "time", lambda t, m, a: m + a * table[np.asarray(t, int)])
    want = np.linalg.lstsq(np.stack([np.ones(240), table], axis=1), y.T)[0]
    np.testing.assert_allclose(fit.curvefit_coefficients, want.T, rtol=1e-6, atol=1e-9)


def test_coordinates_that_differ_from_cell_to_cell_and_missing_observations():
    func, x, limits = FAMILIES["exponential"]
    rng = np.random.default_rng(3)
    own = xr.DataArray(x * rng.uniform(0.1, 10, (CELLS, 1)) + rng.uniform(-5, 5, (CELLS, 1)), dims=("cell", "i"))
    unit = own.max("i") - own.min("i")
    truth = [xr.DataArray(rng.uniform(*limit, CELLS), dims="cell") for limit in limits]
    y = truth[0] * np.exp(-10 * truth[1] * (own - own.min("i")) / unit) + truth[2] + 0.02 * rng.normal(size=own.shape)
    y = y.where(xr.DataArray(rng.random(own.shape) < 0.9, dims=own.dims))
    fit = y.grad.fit(lambda p, x: func(x, *p.values()), own, ["a", "b", "c"], over="cell")
    rmse = np.sqrt((fit.residual**2).mean("i"))
    assert (rmse < 0.03).mean() >= 0.95


def test_two_coordinates():
    rng = np.random.default_rng(0)
    one, two = (
        xr.DataArray(np.linspace(0, n, 12), dims=d, coords={d: np.linspace(0, n, 12)})
        for d, n in (("u", 3e5), ("v", 2e-4))
    )
    a, b, c = (xr.DataArray(rng.uniform(1, 3, 8), dims="cell") for _ in range(3))
    y = a * np.exp(-b * one / 3e5 * 3 - c * two / 2e-4) + 0.005 * xr.DataArray(
        rng.normal(size=(8, 12, 12)), dims=("cell", "u", "v")
    )
    fit = ng.curvefit(y, ["u", "v"], lambda x, a, b, c: a * np.exp(-b * x[0] - c * x[1]))
    np.testing.assert_allclose(fit.curvefit_coefficients.sel(param="b"), b / 3e5 * 3, rtol=0.05)
    np.testing.assert_allclose(fit.curvefit_coefficients.sel(param="c"), c / 2e-4, rtol=0.05)


def test_warming_without_start_values():
    with xr.open_dataset(Path(iris_sample_data.path) / "A1B_north_america.nc") as ds:
        t = ds.air_temperature[:, ::4, ::3].astype(float).load()

    def logistic(t, before, amount, middle, width):
        return before + amount / (1 + np.exp(-(t - middle) / width))

    fit = ng.curvefit(t, "time", logistic, errors="ignore")
    assert (np.isnan(fit.curvefit_coefficients).any("param") | (fit.curvefit_status == 2)).mean() < 0.05
    assert np.sqrt(fit.curvefit_chi2 / 240).median() <= 0.66
    assert (fit.curvefit_coefficients.sel(param="width") > 0).mean() > 0.95


def found(family):
    """The symmetries of a family."""
    func, x, limits = FAMILIES[family]
    return measured(func, x, len(limits))


def measured(func, x, count):
    """The symmetries of a model."""
    start = dict.fromkeys((f"q{i}" for i in range(count)), 1.0)
    problem = Residuals(
        lambda p, x, y: func(x, *p.values()) - y, start, (ng.DimArray(x, ("i",)), ng.DimArray(x[None], ("cell", "i"))),
        over="cell", loss=None, sigma=None, prior=None, chunk=None,
    )  # fmt: skip
    return measure(Surface(problem), list(range(count)), np.ones(count))


@pytest.mark.parametrize(
    ("family", "linear"),
    [("line", [0, 1]), ("exponential", [0, 2]), ("growth", []), ("peak on a slope", [0, 3, 4]), ("inverse", [])],
)
def test_linear_parameters(family, linear):
    assert found(family).linear == linear


@pytest.mark.parametrize("limits", [(1, 3), (-3, -1)])
@pytest.mark.parametrize("unit", [1e-8, 1e-6, 1e-4, 1.0, 1e6])
def test_a_term_whose_size_is_a_reciprocal_grows_beside_a_level(unit, limits):
    rng = np.random.default_rng(0)
    level, charge = rng.uniform(0.2, 1.0, (CELLS, 1)), rng.uniform(*limits, (CELLS, 1))
    y = unit * (level + 0.0257 / charge * np.log(DECADES) + 0.01 * rng.normal(size=(CELLS, len(DECADES))))
    fit = ng.least_squares(
        lambda p, x, y: p["level"] + 0.0257 / p["charge"] * np.log(x) - y, ["level", "charge"],
        ng.DimArray(DECADES, ("i",)), ng.DimArray(y, ("cell", "i")), over="cell",
    )  # fmt: skip
    design = np.stack([np.ones(len(DECADES)), 0.0257 * np.log(DECADES)], axis=1)
    slope = np.linalg.lstsq(design, y.T, rcond=None)[0][1]  # linear in the reciprocal
    np.testing.assert_allclose(fit.params["charge"], 1 / slope, rtol=1e-6)


def test_a_term_that_is_lost_in_the_rounding_of_linear_ones_is_seen_to_grow():
    diode = lambda v, a, n, r: a * (np.exp(v / (0.02585 * n)) - 1) + v / r
    rise = measured(diode, np.linspace(-0.2, 0.6, 60), 3).rise
    np.testing.assert_allclose(rise.moved(np.array([[1.3], [0.7]]), np.log(2.0)), [[1.3], [0.35]], rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_jump_whose_place_only_shows_there(unit):
    """Elsewhere the derivatives in size and place are proportional; the noise is what a place may be off by."""
    onset = lambda x, a, m, w, c: np.where(x < m, c, c + a * np.exp(-(x - m) / w))
    rng, x = np.random.default_rng(3), np.linspace(0, 10, 240)
    y = onset(x, *(rng.uniform(*limit, (40, 1)) for limit in [(1, 5), (1, 7), (0.3, 2), (-1, 1)]))
    noise = 0.05 * np.ptp(y, axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: onset(x, *p.values()) - y, [f"q{i}" for i in range(4)], xr.DataArray(unit * x, dims="x"),
        xr.DataArray(y + noise, dims=("cell", "x")), over="cell",
    )  # fmt: skip
    assert (2 * fit.cost.values < 1.05 * np.sum(noise**2, axis=1)).mean() >= 0.9


def test_waves_whose_sizes_are_positive():
    """Half of the candidates, or more, would have negative ones."""
    two = lambda x, a, f, p, b, g, q: a * np.sin(f * x + p) + b * np.sin(g * x + q)
    limits = [(2, 5), (1, 3), (-3, 3), (1, 3), (4, 8), (-3, 3)]
    rng, x = np.random.default_rng(5), np.linspace(0, 10, 150)
    y = two(x, *(rng.uniform(*limit, (CELLS, 1)) for limit in limits))
    noise = 0.1 * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: two(x, *p.values()) - y, [*"afpbgq"], xr.DataArray(x, dims="x"),
        xr.DataArray(y + noise, dims=("cell", "x")), over="cell", bounds=dict.fromkeys("afbg", (0, None)),
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() >= 0.95


def test_symmetries_carry_parameters_to_other_units():
    for family in ("peak", "damped", "gompertz", "logistic", "growth", "period among years"):
        func, _, limits = FAMILIES[family]
        rng = np.random.default_rng(1)
        at, x = found(family), np.linspace(-1, 1, 9)
        start = np.array([[rng.uniform(0.5, 1.5)] for _ in limits])
        end = start.copy()
        end[at.bent] = at.shift[0].moved(at.scale[0].moved(start[at.bent], np.log(3.0)), 5.0)
        basis = np.linalg.qr(
            np.stack([func(5 + 3 * x, *one(end, at.linear, k)) for k in range(len(at.linear) + 1)], axis=1)
        )[0]
        value = func(x, *start[:, 0])
        np.testing.assert_allclose(basis @ (basis.T @ value), value, atol=1e-6 * np.abs(value).max())


def one(point, linear, k):
    """A point with other values of its linear parameters."""
    out = point[:, 0].copy()
    out[linear] = [1.0 + (j == k) for j in range(len(linear))]
    return out


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e6])
def test_frequencies_are_those_that_the_observations_tell(unit):
    """Where a second is much longer than the record, 1 Hz leads to a frequency that is equal at all observations."""
    rng, t = np.random.default_rng(5), np.linspace(0.0, 10.0, 50)
    size, decay, turn = (rng.uniform(a, b, 30) for a, b in ((1, 3), (0.05, 0.4), (1, 4)))
    y = size[:, None] * np.exp(-np.outer(decay, t)) * np.cos(np.outer(turn, t)) + 0.03 * rng.normal(size=(30, 50))
    fit = ng.least_squares(
        lambda p, t, y: p["size"] * ng.exp(-p["decay"] * t) * ng.cos(p["turn"] * t) - y, ["size", "decay", "turn"],
        ng.DimArray(unit * t, ("time",)), ng.DimArray(y, ("cell", "time")), over="cell",
    )
    assert (fit.status == 0).all()
    np.testing.assert_allclose(np.abs(fit.params["turn"]) * unit, turn, rtol=0.05)


WAVES = {
    "turns": (lambda p, t: p["size"] * np.sin(2 * np.pi * p["turns"] * t + p["phase"]), lambda v: np.abs(v)),
    "period": (lambda p, t: p["size"] * np.sin(2 * np.pi * t / p["turns"] + p["phase"]), lambda v: 1 / np.abs(v)),
}


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("wave", WAVES)
def test_of_frequencies_that_are_equal_at_all_observations_the_lowest(wave, unit):
    """A frequency in turns may be many times as high as in radians before its phase turns as fast."""
    model, rate = WAVES[wave]
    rng, t = np.random.default_rng(3), np.linspace(0.0, 10.0, 50)
    size, turns, phase = (rng.uniform(a, b, (30, 1)) for a, b in ((1, 3), (0.2, 0.7), (-3, 3)))
    y = size * np.sin(2 * np.pi * turns * t + phase) + 0.05 * rng.normal(size=(30, 50))
    fit = ng.least_squares(
        lambda p, t, y: model(p, t) - y, ["size", "turns", "phase"], xr.DataArray(unit * t, dims="time"),
        xr.DataArray(y, dims=("cell", "time")), over="cell",
    )
    assert (fit.status == 0).all()
    np.testing.assert_allclose(rate(fit.params["turns"].values) * unit, turns[:, 0], rtol=0.05)


@pytest.mark.parametrize("form", ["array", "Dataset", "DataTree", "dict"])
def test_observations_that_are_integers_are_looked_at(form):
    """They were all 0 to the search for start values; cells with waves of frequencies that only those can tell."""
    x = xr.DataArray(np.linspace(0, 10, 60), dims="t")
    rate = xr.DataArray(np.linspace(2.4, 3.7, 12), dims="cell")
    y = (1500 * np.sin(rate * x + 0.4) + 300).round().astype(int)
    take, data = {
        "array": (lambda d: d, y),
        "Dataset": (lambda d: d["y"], xr.Dataset({"y": y})),
        "DataTree": (lambda d: d["a"]["y"], xr.DataTree.from_dict({"a": xr.Dataset({"y": y})})),
        "dict": (lambda d: d["y"], {"y": y}),
    }[form]
    wave = lambda p, x, d: p["a"] * np.sin(p["b"] * x + p["c"]) + p["d"] - take(d)
    fit = ng.least_squares(wave, ["a", "b", "c", "d"], x, data, over="cell")
    np.testing.assert_allclose(abs(fit.params["b"]), rate, atol=1e-3)


@pytest.mark.parametrize("labelled", [True, False])
def test_integers_that_are_indices(labelled):
    """A level for each group, which only integers can choose."""
    rng, n = np.random.default_rng(0), 120
    group, t, levels = rng.integers(0, 3, n), np.arange(n) // 2, np.array([1.0, 2.0, 3.0])
    rate = np.array([0.02, 0.05, 0.1])
    y = levels[group] * np.exp(-np.outer(rate, t)) + 0.001 * rng.normal(size=(3, n))
    make = (lambda v, dims: xr.DataArray(v, dims=dims)) if labelled else ng.DimArray
    of = make(levels, ("level",))

    def residual(p, group, t, y):
        level = of.isel(level=group) if labelled else ng.take(of, group, dim="level")
        return p["size"] * level * np.exp(-p["rate"] * t) - y

    data = (make(v, ("time",)) for v in (group, t))
    fit = ng.least_squares(residual, ["size", "rate"], *data, make(y, ("cell", "time")), over="cell")
    np.testing.assert_allclose(fit.params["rate"], rate, rtol=0.01)


@pytest.mark.parametrize("error", [KeyError, ValueError, RuntimeError, AttributeError])
def test_integers_that_are_labels(error):
    """Which a model refuses, in whatever way, where they are anything else."""
    rng, n = np.random.default_rng(2), 90
    kind = xr.DataArray(rng.integers(0, 3, n), dims="i")
    level = xr.DataArray([0.5, 1.0, 2.0], {"kind": [0, 1, 2]}, "kind")
    t = xr.DataArray(np.linspace(0, 10, n), dims="i")
    truth = {n: xr.DataArray(rng.uniform(*limit, 10), dims="cell") for n, limit in {"a": (1, 3), "w": (2, 6)}.items()}

    def model(p, t, kind):
        if kind.dtype.kind != "i":
            raise error("no label")
        return p["a"] * level.sel(kind=kind) * np.sin(p["w"] * t)

    fit = ng.least_squares(lambda p, t, k, y: model(p, t, k) - y, ["a", "w"], t, kind, model(truth, t, kind), over="cell")
    np.testing.assert_allclose(np.abs(fit.params["w"]), truth["w"], rtol=1e-6)


@pytest.mark.parametrize("level", [1 / 3, -7.7, 1e6, 273.15])
def test_the_rounding_of_a_constant_is_no_oscillation(level):
    t, none = xr.DataArray(np.linspace(0.1, 10, 80), dims="i"), xr.DataArray(np.zeros((1, 80)), dims=("cell", "i"))
    constants = lambda p, t: p["a"] * np.sqrt(t) ** 2 / t, lambda p, t: p["a"] * (np.sin(t) ** 2 + np.cos(t) ** 2)
    for model in constants:
        problem = Residuals(
            lambda p, t, y, model=model: model(p, t) - y, {"a": level}, (t, none), over="cell", loss=None, sigma=None,
            prior=None, chunk=None,
        )  # fmt: skip
        assert not swings(problem, np.array([[level]])).any()


@pytest.mark.parametrize("name", ["sine", "damped oscillation"])
def test_oscillations_with_most_observations_missing(name):
    """What lies between the others must not be made up: straight lines there look like slower oscillations."""
    damping = {"sine": 0.0, "damped oscillation": 1.0}[name]
    rng = np.random.default_rng(5)
    truth = np.array([2.0, 3.5, 0.5, 1.0, 0.2 * damping])[:, None] * rng.uniform(0.8, 1.25, (5, 40))
    x = np.linspace(0, 10, 60)

    def func(x, a, w, u, c, *d):
        return a * np.cos(w * x + u) * np.exp(-x * (d[0] if d else 0.0)) + c

    names = ["a", "w", "u", "c", "d"][: 5 if damping else 4]
    truth = truth[: len(names)]
    y = func(x, *truth[..., None])
    y = y + 0.02 * rng.normal(size=y.shape)
    y[rng.random(y.shape) < 0.7] = np.nan
    fit = ng.least_squares(
        lambda p, x, y: func(x, *(p[n] for n in names)) - y, names, ng.DimArray(x, ("i",)),
        ng.DimArray(y, ("cell", "i")), over="cell",
    )  # fmt: skip
    for j in range(40):
        keep = np.isfinite(y[j])
        best = scipy.optimize.least_squares(
            lambda p, j=j, keep=keep: (func(x, *p) - y[j])[keep], truth[:, j], x_scale="jac"
        )  # fmt: skip
        assert fit.cost.data[j] <= best.cost * (1 + 1e-3) + 1e-9


def test_three_peaks_that_may_lie_close_to_each_other():
    """Six parameters that are not linear have a wide space: with as few candidates as for four, 72 % are found."""
    limits = [(3, 5), (2, 3), (0.4, 0.8), (1.5, 2.5), (4.5, 7.5), (0.6, 1.0), (2, 4), (7.5, 10), (0.5, 0.9)]
    func = lambda x, *p: sum(p[i] * np.exp(-(((x - p[i + 1]) / p[i + 2]) ** 2)) for i in (0, 3, 6))
    rng, x = np.random.default_rng(5), np.linspace(0, 12, 60)
    y = func(x, *(rng.uniform(*limit, (60, 1)) for limit in limits))
    noise = 0.01 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: func(x, *p.values()) - y, [f"q{i}" for i in range(9)], ng.DimArray(x, ("i",)),
        ng.DimArray(y + noise, ("cell", "i")), over="cell", max_iterations=200,
    )  # fmt: skip
    assert (2 * fit.cost.values < np.sum(noise**2, axis=1)).mean() > 0.8  # no more than the truth leaves


def test_terms_that_start_equal_are_told_apart():
    """From equal start values two exponentials never part; where noise hides that, the fit still is not the best."""
    func, x, limits = FAMILIES["two exponentials"]
    rng = np.random.default_rng(11)
    truth = np.stack([rng.uniform(*limit, 40) for limit in limits])
    y = func(x, *truth[..., None])
    y = y + 0.3 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    fit = ng.least_squares(
        lambda p, x, y: func(x, *p.values()) - y, ["a", "b", "c", "d"], ng.DimArray(x, ("i",)),
        ng.DimArray(y, ("cell", "i")), over="cell",
    )  # fmt: skip
    for j in range(40):
        best = scipy.optimize.least_squares(lambda p, j=j: func(x, *p) - y[j], truth[:, j], method="lm")
        assert fit.cost.data[j] <= best.cost * (1 + 1e-6)


@pytest.mark.parametrize("signs", [1, 2, 3])
def test_parameters_whose_signs_make_no_difference_are_positive(signs):
    """Of a width, a size and a width, a size and two widths: SciPy's start values lead to either sign."""
    one = lambda x, a, m, s: a * np.exp(-(((x - m) / s) ** 2))
    two = lambda x, a, m, s: a * s / ((x - m) ** 2 + s**2)
    three = lambda x, a, m, s, g: a * np.real(scipy.special.wofz((x - m + 1j * g) / s)) / s
    func, limits = (one, two, three)[signs - 1], [(1, 3), (2, 8), (0.5, 1), (0.3, 0.6)][: max(3, signs + 1)]
    rng, x = np.random.default_rng(3), FROM_ZERO
    truth = np.stack([rng.uniform(*limit, 60) for limit in limits])
    y = func(x, *truth[..., None]) + 0.01 * rng.normal(size=(60, x.size))
    fit = ng.least_squares(
        lambda p, x, y: func(x, *p.values()) - y, [f"q{i}" for i in range(len(limits))], ng.DimArray(x, ("i",)),
        ng.DimArray(y, ("cell", "i")), over="cell",
    )  # fmt: skip
    found = np.stack([fit.params[n].values for n in fit.params])
    np.testing.assert_allclose(found, truth, atol=0.2)


@pytest.mark.parametrize(
    ("model", "x", "limits", "misfit"),
    [
        (
            lambda x, a, m, w, b: a / (1 + np.exp(-(x - m) / w)) + b, np.linspace(0, 100, 50),
            [(10, 500), (30, 70), (3, 12), (1, 5)], lambda m, y: (m - y) / y,
        ),
        (
            lambda x, a, m, s, b: a * np.exp(-0.5 * ((x - m) / s) ** 2) + b, np.linspace(400, 700, 60),
            [(10, 50), (450, 650), (10, 40), (1, 5)], lambda m, y: (m - y) / np.sqrt(abs(m) + 1e-9),
        ),
        (
            lambda x, c, a, w, h: c + a * np.sin(w * x + h), np.linspace(0, 20, 100),
            [(10, 20), (2, 6), (1, 5), (-3, 3)], lambda m, y: m / y - 1,
        ),
        (
            lambda x, a, b, c: a * np.exp(-b * x) + c, np.linspace(0, 10, 60), [(5, 20), (0.2, 1), (1, 3)],
            lambda m, y: (m - y) / (abs(m) + abs(y)),
        ),
        (  # the cost has many more minima than that of the difference that it is a multiple of
            lambda x, c, a, w, h: c + a * np.sin(w * x + h), np.linspace(0, 20, 100),
            [(10, 20), (2, 6), (1, 5), (-3, 3)], lambda m, y: (m - y) / np.sqrt(abs(m) + 1e-9),
        ),
        (  # those of a line have the slopes of the line, but its values are no sums of its terms
            lambda x, a, b: a + b * x, np.linspace(0, 10, 60), [(-3, 3), (2, 8)],
            lambda m, y: np.arctan2(np.sin(m - y), np.cos(m - y)),
        ),
    ],
    ids=["relative", "counts", "ratio", "to both", "counts of waves", "phases"],
)  # fmt: skip
def test_residuals_that_are_no_differences(model, x, limits, misfit):
    rng = np.random.default_rng(7)
    truth = np.array([rng.uniform(*ends, CELLS) for ends in limits])
    y = model(x, *truth[..., None])
    y = y * (1 + 0.02 * rng.normal(size=y.shape))
    names = [f"p{i}" for i in range(len(limits))]
    fit = ng.least_squares(
        lambda p, x, y: misfit(model(x, *p.values()), y), names, xr.DataArray(x, dims="x"),
        xr.DataArray(y, dims=("cell", "x")), over="cell",
    )  # fmt: skip
    for i in range(CELLS):
        known = scipy.optimize.least_squares(lambda p, i=i: misfit(model(x, *p), y[i]), truth[:, i], x_scale="jac")
        assert fit.cost[i] <= known.cost * (1 + 1e-6)


def refusing(p, t, y):
    if not 9 < float(t.max()) < 11:
        raise ValueError("these are no data of mine")
    return model_of_labels(p, t) - y


def model_of_labels(p, t):
    return p["a"] * np.exp(-0.5 * ((t - p["m"]) / p["w"]) ** 2) + p["c"]


KEPT = xr.DataArray(np.ones(60), {"t": np.linspace(0, 10, 60)}, "t")
LABELLED = {
    "Dataset": lambda p, t, y: model_of_labels(p, xr.Dataset(coords={"t": t}).t) - y,
    "DataArray": lambda p, t, y: xr.DataArray(np.ones(60), {"t": t}, "t") * model_of_labels(p, t) - y,
    "sel": lambda p, t, y: model_of_labels(p, t).assign_coords(t=t).sel(t=t) - y,
    "nearest": lambda p, t, y: model_of_labels(p, KEPT.t).sel(t=t, method="nearest", tolerance=0.1).drop_vars("t") - y.drop_vars("t"),
    "exact": lambda p, t, y: xr.align(model_of_labels(p, t).assign_coords(t=t), y, join="exact")[0] - y,
    "labels that stay": lambda p, t, y: KEPT * model_of_labels(p, t) - y,
    "fewer residuals": lambda p, t, y: (model_of_labels(p, t) - y).sel(t=slice(1, 9)),
    "bins": lambda p, t, y: (model_of_labels(p, t).assign_coords(t=t) - y).groupby_bins("t", np.linspace(-1, 11, 13)).mean(),
    "lost by a shift": lambda p, t, y: model_of_labels(p, t).assign_coords(t=t).interp(t=t + 0.05) - y.interp(t=t + 0.05),
    "lost by a window": lambda p, t, y: model_of_labels(p, t).assign_coords(t=t).rolling(t=5, center=True).mean() - y,
    "refusing": refusing,
}  # fmt: skip


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("labelled", [True, False])
def test_models_that_make_labels_of_their_coordinate(name, labelled):
    """Elsewhere these do not meet those of the observations, unless all of them move; and some cannot be elsewhere."""
    rng, t = np.random.default_rng(0), KEPT.t if labelled else KEPT.t.drop_vars("t")
    truth = {n: xr.DataArray(rng.uniform(*ends, 5), dims="cell") for n, ends in {"a": (1, 3), "m": (2, 8), "w": (0.5, 1), "c": (-1, 1)}.items()}
    y = (model_of_labels(truth, t) + 0.02 * rng.normal(size=(5, 60))).assign_coords(t=KEPT.t)
    found, known = (ng.least_squares(LABELLED[name], p, t, y, over="cell") for p in ([*truth], truth))
    np.testing.assert_allclose(found.cost, known.cost, rtol=1e-5)


@pytest.mark.parametrize("per_cell", [False, True])
def test_missing_coordinates(per_cell):
    """Where these are NaN so are all residuals, whatever the parameters are: none of them counts."""
    rng, t = np.random.default_rng(0), KEPT.t.drop_vars("t")
    truth = {n: xr.DataArray(rng.uniform(*ends, 5), dims="cell") for n, ends in {"a": (1, 3), "m": (2, 8), "w": (0.5, 1), "c": (-1, 1)}.items()}
    t = t + 0.1 * xr.DataArray(np.arange(5), dims="cell") if per_cell else t
    y = model_of_labels(truth, t) + xr.DataArray(0.02 * rng.normal(size=(5, 60)), dims=("cell", "t"))
    t = t.where(~xr.DataArray(np.isin(np.arange(60), [0, 7, 30, 59]), dims="t"))
    residual = lambda p, t, y: model_of_labels(p, t) - y
    found, known = (ng.least_squares(residual, p, t, y, over="cell") for p in ([*truth], truth))
    np.testing.assert_allclose(found.cost, known.cost, rtol=1e-5)
    assert (found.dof == 52).all()


@pytest.mark.parametrize("rows", [1, 255, 300, 2100])
@pytest.mark.parametrize("count", [1, 4, 16])
def test_the_least_of_many_candidates(rows, count):
    rng = np.random.default_rng(0)
    cost = rng.normal(size=(rows, 5)).astype(np.float32)
    cost[rng.random(cost.shape) < 0.3] = np.nan
    found = least(cost, count)
    assert len(found) == min(count, rows)
    want = np.sort(cost, axis=0)[:count]  # NaN comes last
    np.testing.assert_array_equal(np.sort(np.take_along_axis(cost, found, 0), axis=0), want)


def test_models_without_a_coordinate():
    """All that is known of the days is among the labels of the observations."""
    time = np.datetime64("2001-01-01") + np.arange(0, 700, 10).astype("timedelta64[D]")
    day = lambda y: y.time.dt.dayofyear / 365
    wave = lambda p, y: p["size"] * np.sin(2 * np.pi * day(y) + p["phase"]) + p["level"]
    rng, none = np.random.default_rng(0), xr.DataArray(np.zeros((5, 70)), {"time": time}, ("cell", "time"))
    truth = {n: xr.DataArray(rng.uniform(*ends, 5), dims="cell") for n, ends in {"size": (1, 3), "phase": (-3, 3), "level": (-1, 1)}.items()}
    y = none + wave(truth, none) + 0.02 * rng.normal(size=(5, 70))
    found, known = (ng.least_squares(lambda p, y: wave(p, y) - y, p, y, over="cell") for p in ([*truth], truth))
    np.testing.assert_allclose(found.cost, known.cost, rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_products_of_waves_and_envelopes_at_one_place(unit):
    """One trial finds the wave and another one the envelope; a level that they have in common hides no other frequency."""
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 200)
    slits = lambda x, a, w, v, c: a * np.cos(w * (x - c)) ** 2 * np.sinc(v * (x - c) / np.pi) ** 2
    p = [rng.uniform(*limits, (12, 1)) for limits in ((1, 3), (10, 30), (2, 8), (-0.2, 0.2))]
    y = slits(x, *p)
    noise = 0.02 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)
    da = xr.DataArray(y + noise, dims=("cell", "x"), coords={"x": unit * x})
    fit = ng.curvefit(da, "x", slits)
    assert (fit.curvefit_chi2 < 1.05 * np.sum(noise**2, axis=1)).mean() > 0.9
    waves = fit.curvefit_coefficients.sel(param="w") * unit
    assert (np.abs(waves) < 0.5 * np.pi / np.diff(x)[0]).all()  # of what is squared


def test_starts_of_fits_whose_loss_is_bounded():
    """Residuals far away do not pull then: 8 of 60 cells ended in a local minimum."""
    rng, cells = np.random.default_rng(3), 60
    x = xr.DataArray(np.linspace(0.1, 8, 40), dims="x")
    sizes = {"a": (1, 3), "b": (0.5, 4), "m": (1, 7)}
    true = {n: xr.DataArray(rng.uniform(low, high, cells), dims="c") for n, (low, high) in sizes.items()}
    curve = lambda p, x: p["a"] * np.arctan(p["b"] * (x - p["m"]))
    y = curve(true, x).transpose("c", "x")
    size = float(y.std("x").mean())
    y = y + 0.05 * size * rng.normal(size=y.shape)
    y = y + (rng.random(y.shape) < 0.15) * rng.uniform(-4, 8, y.shape) * size
    scale = 0.1 * float(y.std("x").mean())
    options = {"over": "c", "bounds": {"a": (0, np.inf)}, "loss": "arctan", "loss_scale": scale}
    fit = lambda p: ng.least_squares(lambda p, x, y: curve(p, x) - y, p, x, y, **options)
    found, want = fit([*true]), fit(true)
    assert (found.cost > 1.003 * want.cost).sum() == 0
