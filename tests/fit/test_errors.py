"""What cannot be fitted says why, and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.fit.observations import UnpairedError
from tests.fit.problems import START, labelled, observations, residual

OVER = ("lat", "lon")
Y = labelled(observations())


def fit(residual=residual, start=START, time=Y.time, y=Y, over=OVER, **options):
    """One fit with something wrong in it."""
    return ng.least_squares(residual, start, time, y, over=over, **options)


@pytest.mark.parametrize(
    ("error", "match", "wrong"),
    [
        (ng.AxisError, "no argument has a dim 'longitude'", {"over": "longitude"}),
        (TypeError, "dict or Dataset of start values", {"start": 1.0}),
        (TypeError, "dict or Dataset of start values", {"start": {}}),
        (TypeError, r"params\['rate'\] is a str", {"start": START | {"rate": "fast"}}),
        (TypeError, "complex128", {"start": START | {"rate": np.complex128(1)}}),
        (ng.AxisError, "called like a dim", {"start": {"lat": 1.0}, "residual": lambda p, t, y: p["lat"] - y}),
        (ValueError, "no parameter 'ratte'", {"bounds": {"ratte": (0, 1)}}),
        (TypeError, r"must be \(lower, upper\), got 1", {"bounds": {"rate": 1}}),
        (TypeError, "must be a dict", {"bounds": [(0, 1)]}),
        (ValueError, r"bounds\['rate'\].*lower bound.*12 of 12 cells.*: 1 > 0", {"bounds": {"rate": (1, 0)}}),
        (TypeError, "one floating-point array, got DataArray of bool", {"residual": lambda p, t, y: p["size"] > y}),
        (ng.AxisError, r"has the dims \['time'\]", {"bounds": {"rate": (Y.time, None)}}),
        (ValueError, "sigma must be positive", {"sigma": 0.0}),
        (ng.AxisError, "sigma does not match", {"sigma": xr.DataArray([1.0, 2.0], dims="q")}),
        (ng.AxisError, "sigma does not match", {"sigma": xr.ones_like(Y.time[:3] * 1.0)}),
        (ng.AxisError, r"sigma does not match the residual .*t.*\(2,\)", {"sigma": [1.0, 2.0]}),
        (ng.AxisError, r"sigma does not match the residual .*conflicting dimension sizes", {"sigma": xr.DataArray(np.ones(3), dims="time")}),
        (ValueError, "'rate' is named 2 times", {"start": ["rate", "size", "rate"]}),
        (ValueError, "positive standard deviations", {"prior": {"rate": (0, 0)}}),
        (ValueError, "no parameter is left", {"fixed": START}),
        (ValueError, "fixed: no parameter 'x'", {"fixed": "x"}),
        (ValueError, "no start values that they could be held at", {"start": START | {"rate": None}, "fixed": "rate"}),
        (ValueError, "'linear', 'huber'", {"loss": "l1"}),
        (ValueError, "loss_scale must be positive", {"loss": "huber", "loss_scale": 0}),
        (TypeError, "loss_scale must be a number, the same.*DataArray", {"loss": "huber", "loss_scale": xr.DataArray([1.0, 2.0])}),
        (TypeError, "tol must be a number.*str", {"tol": "small"}),
        (ValueError, "tol must be positive", {"tol": 0}),
        (ValueError, "chunk must be positive", {"chunk": 0}),
        (TypeError, "residual is complex", {"residual": lambda p, t, y: p["size"] * 1j - y}),
        (ng.AxisError, "pass every array that has such a dim", {"residual": lambda p, t, y: p["size"] * t - Y}),
        (ng.TraceError, "one answer per slice", {"residual": lambda p, t, y: float(p["size"]) - y}),
        (ng.TraceError, r"^np\.vectorize\(\)", {"residual": lambda p, t, y: np.vectorize(np.sinc)(p["rate"] * t) - y}),
    ],
)
def test_messages(error, match, wrong):
    with pytest.raises(error, match=match):
        fit(**wrong)


def test_crossed_bounds_are_told_by_label():
    low = xr.ones_like(Y.lat, float).where(Y.lat != Y.lat[1], 5.0)
    with pytest.raises(ValueError, match=rf"above the upper one in 4 of 12 cells \(\(lat={Y.lat[1].item()}, .*: 5 > 4"):
        fit(bounds={"rate": (low, 4.0)})


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (lambda p, t: p["size"] * t * xr.DataArray(np.ones(2), dims="k"), r"\(time: \d+, k: 2\), but the observations \(time"),
        (lambda p, t: (p["size"] * t).assign_coords(time=t.time + 1000), "with some of their labels along 'time'"),
    ],
)
def test_models_that_are_not_what_the_data_should_be(model, match):
    with pytest.raises(ng.AxisError, match=match):
        Y.grad.fit(model, "time", START, over=OVER)
    both = xr.Dataset({"u": Y, "v": Y})
    with pytest.raises(ng.AxisError, match=match):
        both.grad.fit(lambda p, t: {"u": t * p["rate"], "v": model(p, t)}, "time", START, over=OVER)


def test_a_coordinate_that_is_not_there():
    with pytest.raises(KeyError, match="no 'tim', the coordinates are"):
        Y.grad.fit(lambda p, t: p["size"] * t, "tim", START, over=OVER)


@pytest.mark.parametrize("branch", [lambda t, x: np.where(t > 1, x, 0.0), lambda t, x: np.select([t > 1], [x], 0.0)])
def test_plain_arrays_cannot_meet_parameters(branch):
    with pytest.raises(ValueError, match=r"xr\.where\(condition"):
        fit(residual=lambda p, t, y: p["size"] * branch(t, t - p["rate"]) - y)


def test_a_level_is_a_number():
    with pytest.raises(TypeError, match=r"level must be a number.*str"):
        fit().confint("rate")


def test_none_is_what_is_usual():
    none = fit(fixed=None, shared=None, tol=None, bounds=None, sigma=None, prior=None, chunk=None)
    xr.testing.assert_identical(none.params, fit().params)
    xr.testing.assert_identical(fit(chunk=3.0).params, fit(chunk=3).params)


def test_different_labels_are_not_paired_by_position():
    with pytest.raises(ng.AxisError, match="differ between the arguments"):
        fit(start=START | {"rate": xr.ones_like(Y[0]).assign_coords(lat=[1.0, 2.0, 3.0])})


def test_sizes_that_differ_are_named():
    with pytest.raises(ng.AxisError, match="2 and 3 positions along 'lat'"):
        ng.least_squares(
            lambda p, w, y: p["a"] * w - y, {"a": 1.0},
            ng.DimArray([1.0, 2.0], ("lat",)), ng.DimArray(np.ones((3, 4)), ("lat", "t")), over="lat",
        )  # fmt: skip


def test_a_fit_inside_compile_is_refused():
    def mean(y):
        return ng.least_squares(lambda p, y: p["a"] - y, {"a": 1.0}, y).params["a"].item() * y.sum()

    compiled = ng.compile(mean)
    with pytest.raises(ng.TraceError, match=r"ng\.compile"):
        compiled(ng.DimArray([1.0, 2.0], ("t",)))


TREE = xr.DataTree.from_dict({"/a": xr.Dataset({"y": Y}), "/b": xr.Dataset({"y": Y})})


def test_a_coordinate_of_the_nodes_of_a_tree():
    def model(p, t):
        y = xr.Dataset({"y": p["size"] * np.exp(-p["rate"] * t)})
        return xr.DataTree.from_dict({"/a": y, "/b": y})

    with pytest.raises(KeyError, match=r"no 'time' at the root of the tree; give that of a node, tree\['/a'\]\['time'\]"):
        TREE.grad.fit(model, "time", {"size": 1.0, "rate": 1.0}, over=OVER)
    with pytest.raises(KeyError, match=r"no 'tim', the coordinates are \(\)"):
        TREE.grad.fit(model, "tim", {"size": 1.0, "rate": 1.0}, over=OVER)
    both = TREE.grad.fit(model, TREE["/a"]["time"], {"size": 1.0, "rate": 1.0}, over=OVER)
    alone = Y.grad.fit(lambda p, t: p["size"] * np.exp(-p["rate"] * t), "time", {"size": 1.0, "rate": 1.0}, over=OVER)
    xr.testing.assert_allclose(both.params, alone.params)  # the same observations twice
    xr.testing.assert_allclose(both.cost, 2 * alone.cost)


def test_labels_that_differ_name_the_way_out():
    lost = fit(time=Y.time.assign_coords(time=Y.time + 1000.0))
    with pytest.raises(UnpairedError, match=r"0 numbers along 'time'.*\.drop_vars\('time'\) pairs by position"):
        lost.r2


@pytest.mark.parametrize(
    "labels",
    [
        [f"t{i}" for i in range(8)],
        np.arange(8) * 1j,
        pd.period_range("2001", periods=8, freq="M"),
        pd.interval_range(0, 8),
        pd.CategoricalIndex([*"abcdefgh"]),
        pd.date_range("2001", periods=8, tz="UTC"),
    ],
    ids=["text", "complex", "periods", "intervals", "categories", "time zones"],
)
def test_coordinates_that_are_neither_numbers_nor_dates(labels):
    y = xr.DataArray(np.arange(8.0), dims="t", coords={"t": labels})
    with pytest.raises(TypeError, match=r"'t' holds neither numbers nor dates, but .*\.assign_coords"):
        y.grad.curvefit("t", lambda t, a: a + t)


@pytest.mark.parametrize(
    ("labels", "made", "numbers"),
    [
        (pd.period_range("2001", periods=8, freq="Y"), lambda i: i.to_timestamp(), [0, 365, 730, 1095, 1461, 1826, 2191, 2556]),
        (pd.interval_range(0, 8), lambda i: i.mid, np.arange(0.5, 8)),
        (pd.date_range("2001", periods=8, tz="UTC"), lambda i: i.tz_convert(None), np.arange(8.0)),
    ],
    ids=["periods", "intervals", "time zones"],
)
def test_the_ways_out_lead_to_numbers(labels, made, numbers):
    y = xr.DataArray(3 - 2.0 * np.asarray(numbers), dims="t", coords={"t": labels})
    fitted = y.assign_coords(t=made(y.indexes["t"])).grad.curvefit("t", lambda t, a, b: a + b * t, time_units="days")
    np.testing.assert_allclose(fitted.curvefit_coefficients, [3.0, -2.0], atol=1e-9)
