"""Data at the edges: exact, constant, huge, few, none; other units, orders, chunks and threads."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import threadpoolctl
import xarray as xr

import namedgrad as ng
from namedgrad.fit.alike import Alike
from namedgrad.fit.evaluate import Evaluator
from namedgrad.fit.threads import Crew, even
from tests.fit.problems import NAMES, START, TIME, labelled, model, named, observations, residual, stacked
from tests.support.memory import peak

OVER = ("lat", "lon")


def fit(y, start=START, r=residual, **options):
    return ng.least_squares(r, start, *named(y), over=OVER, **options)


def test_data_that_the_model_meets_exactly():
    truth = {"size": 2.0, "rate": 0.7, "offset": -0.3}
    y = np.broadcast_to(model(truth, TIME)[:, None, None], (30, 2, 2)).copy()
    for start in (START, truth):
        found = fit(y, start)
        assert (found.status == 0).all()
        np.testing.assert_allclose(stacked(found.params), np.broadcast_to([*truth.values()], (2, 2, 3)), rtol=1e-7)
    assert (found.iterations <= 1).all()


@pytest.mark.parametrize("none", ["site", "time"])
@pytest.mark.parametrize("shared", [[], ["rate"], ["size", "rate"]])
def test_nothing_to_fit_to(none, shared):
    t = xr.DataArray(np.linspace(0, 3, 8), dims="time", name="time", coords={"time": np.linspace(0, 3, 8)})
    y = xr.DataArray(np.ones((3, 8)), dims=("site", "time"), coords={"time": t.time, "site": [1.0, 2.0, 3.0]})
    t, y = (x.isel({none: slice(0)}, missing_dims="ignore") for x in (t, y))
    off = lambda p, t, y: p["size"] * np.exp(-p["rate"] * t) - y
    for start in ({"size": 1.0, "rate": 0.5}, *([] if shared else [["size", "rate"]])):
        fit = ng.least_squares(off, start, t, y, over="site", shared=shared)
        assert (fit.status == 4).all()
        assert fit.status.sizes == {"site": y.sizes["site"]}
        assert fit.params["rate"].dims == (() if shared else ("site",))
        for found in (*fit.params.values(), *fit.stderr.values(), fit.cost, fit.chi2, fit.r2, fit.aic, fit.bic):
            assert np.isnan(found).all()
        assert (fit.dof == 0).all()
        assert fit.residual.sizes == y.sizes
        assert np.isnan(fit.propagate(lambda p: 2 * p["rate"]).stderr).all()
    assert (ng.least_squares(lambda p, y: p["a"] - y, {"a": 1.0}, y, over="site").status == 4).all()


@pytest.mark.parametrize("size", [1e8, -1e14, 1e20, 1e100])
def test_linear_parameters_that_start_absurdly_far_off(size):
    y = observations(1)
    want = fit(y)
    found = fit(y, START | {"size": size})
    assert (found.status == 0).all()
    np.testing.assert_allclose(stacked(found.params), stacked(want.params), rtol=1e-6)
    np.testing.assert_allclose(found.cost, want.cost, rtol=1e-10)
    line = fit(y, {"slope": size, "rest": -size}, lambda p, t, y: p["slope"] * t + p["rest"] - y)
    for i, j in np.ndindex(y.shape[1:]):
        slope, rest = np.polyfit(TIME, y[:, i, j], 1)
        np.testing.assert_allclose([line.params["slope"][i, j], line.params["rest"][i, j]], [slope, rest], rtol=1e-9)


@pytest.mark.parametrize("size", [1e12, -1e30, 1e60])
@pytest.mark.parametrize(
    "options", [{"loss": "huber", "loss_scale": 0.1}, {"loss": "soft_l1"}, {"bounds": {"offset": (None, -0.2)}}]
)
def test_far_starts_with_bounds_and_robust_losses(size, options):
    y = observations(1)
    want, found = fit(y, **options), fit(y, START | {"size": size}, **options)
    np.testing.assert_array_equal(found.status, want.status)
    np.testing.assert_allclose(found.cost, want.cost, rtol=1e-8)
    np.testing.assert_allclose(stacked(found.params), stacked(want.params), rtol=1e-4)
    here = y[:, 1, 1]
    high = [np.inf, np.inf, options.get("bounds", {"offset": (None, np.inf)})["offset"][1]]
    best = scipy.optimize.least_squares(
        lambda p: residual(dict(zip(NAMES, p, strict=True)), TIME, here), stacked(want.params)[1, 1] - 1e-6,
        bounds=(-np.inf, high), loss=options.get("loss", "linear"), f_scale=options.get("loss_scale", 1.0),
    )  # fmt: skip
    np.testing.assert_allclose(found.cost[1, 1], best.cost, rtol=1e-6)


def test_precise_data_keep_their_small_errors():
    y = 2 * TIME + 1 + 1e-9 * np.random.default_rng(0).normal(size=TIME.size)
    found = ng.least_squares(lambda p, t, y: p["slope"] * t + p["rest"] - y, {"slope": 1.0, "rest": 0.0}, TIME, y)
    r = y - np.polyval(np.polyfit(TIME, y, 1), TIME)
    np.testing.assert_allclose(found.cost, 0.5 * (r**2).sum(), rtol=1e-5)
    spread = ((TIME - TIME.mean()) ** 2).sum()
    np.testing.assert_allclose(found.stderr["slope"], np.sqrt((r**2).sum() / (TIME.size - 2) / spread), rtol=1e-5)


@pytest.mark.parametrize("shared", [(), ("offset",)])
@pytest.mark.parametrize("noise", [1e-8, 1e-10, 1e-11])
def test_the_cost_of_precise_data_is_that_of_the_last_step(noise, shared):
    rates = np.linspace(0.5, 1.5, 20)
    y = 2 * np.exp(-rates[:, None] * TIME) + 0.3 + noise * np.random.default_rng(0).normal(size=(20, TIME.size))
    y = ng.DimArray(y, ("cell", "time"))
    start = {"size": 2.1, "rate": 0.6, "offset": 0.3}
    found = ng.least_squares(residual, start, ng.DimArray(TIME, ("time",)), y, over="cell", shared=shared)
    size, rate, offset = (found.params[n].values[..., None] for n in START)
    cost = 0.5 * np.square(size * np.exp(-rate * TIME) + offset - y.to_numpy()).sum(axis=1)
    np.testing.assert_allclose(found.cost, cost.sum() if shared else cost, rtol=1e-4)


@pytest.mark.parametrize("shared", [(), ("offset",)])
@pytest.mark.parametrize("deviation", [1e-7, 1e-9, 1e-12, 1e-14])
def test_a_narrow_prior_holds_a_parameter(deviation, shared):
    prior, sigma = {"rate": (1.0, deviation)}, {"over": "cell", "sigma": 0.05, "shared": shared}
    y = observations(3).reshape(TIME.size, -1).T
    args = ng.DimArray(TIME, ("time",)), ng.DimArray(y, ("cell", "time"))
    found = ng.least_squares(residual, START | {"rate": 0.7}, *args, prior=prior, **sigma)
    held = ng.least_squares(residual, START | {"rate": 1.0}, *args, fixed="rate", **sigma)
    np.testing.assert_allclose(found.cost, held.cost, rtol=1e-5)
    for name in ("size", "offset"):
        np.testing.assert_allclose(found.params[name], held.params[name], rtol=1e-5)
        np.testing.assert_allclose(found.stderr[name], held.stderr[name], rtol=1e-5)
    spread = np.sqrt(2 * held.cost / held.dof)
    np.testing.assert_array_less(found.stderr["rate"], 1.00001 * deviation * spread)


@pytest.mark.parametrize("unit", [1e6, 1e-6, 1e12, 1e-12])
def test_units_do_not_matter(unit):
    y = observations(1)
    want = stacked(fit(y).params)
    high = fit(y * unit, {"size": unit, "rate": 1.0, "offset": 0.0})
    np.testing.assert_allclose(stacked(high.params) / [unit, 1, unit], want, rtol=1e-9)
    slow = fit(y, START | {"rate": 1 / unit}, lambda p, t, y: residual(p, t * unit, y))
    np.testing.assert_allclose(stacked(slow.params) * [1, unit, 1], want, rtol=1e-9)


def test_cells_at_the_edges_disturb_nobody():
    y = observations(1, 6, 7)
    want = stacked(fit(y).params)
    bad = y.copy()
    bad[:, 0, 0], bad[:, 0, 1], bad[:, 0, 2], bad[:, 0, 3] = 5.0, 1e308, 0.0, np.inf
    bad[2:, 1, 0], bad[3:, 1, 1] = np.nan, np.nan
    found = fit(bad)
    np.testing.assert_array_equal(found.status[0, :4], [2, 5, 2, 4])  # a size of 0 has no rate
    assert found.params["offset"][0, 0] == pytest.approx(5.0)
    np.testing.assert_array_equal(found.status[1, :2], [4, 0])
    assert np.isinf(found.stderr["rate"][1, 1])
    np.testing.assert_allclose(stacked(found.params)[1:, 2:], want[1:, 2:], rtol=1e-12)


@pytest.mark.parametrize("start", [START, list(START)], ids=["given", "none"])
@pytest.mark.parametrize("level", [5.0, -273.15, 1e-5, 1e9])
def test_a_level_cell_determines_no_rate(start, level):
    y = observations(1, 6, 7)
    y[:, 2, 3] = level
    found = fit(y, start)
    rates = found.params["rate"].values[2, 3] * np.array([1, 2])
    size, offset = (found.params[n].values[2, 3] for n in ("size", "offset"))
    np.testing.assert_allclose(size * np.exp(-np.outer(rates, TIME)) + offset, level, rtol=1e-14)  # any does
    assert found.status[2, 3] == 2
    assert np.isinf(found.stderr["rate"][2, 3])
    assert (found.status == 2).sum() == 1


def test_errors_of_level_cells_are_those_of_rounding():
    levels = np.random.default_rng(0).uniform(-300, 300, 200)
    y = xr.DataArray(levels, dims="cell") + xr.DataArray(np.zeros_like(TIME), dims="time")
    line = lambda p, t, y: p["slope"] * t + p["offset"] - y
    for start in (["slope", "offset"], {"slope": 1.0, "offset": 0.0}):
        found = ng.least_squares(line, start, xr.DataArray(TIME, dims="time"), y, over="cell")
        assert (abs(found.params["slope"]) <= 4 * found.stderr["slope"]).mean() > 0.99
        assert (found.stderr["offset"] <= 1e-15 * abs(levels)).all()


@pytest.mark.parametrize("data", ["missing", "there"])
def test_bounds_and_priors_that_are_missing_in_a_cell(data):
    y = labelled(observations()).drop_attrs()
    top = y.max("time") - y.min("time")
    top[1, 2] = np.nan
    if data == "missing":
        y[:, 1, 2] = np.nan
    bounds = {"size": (0, top)}
    curve = lambda t, size, rate, offset: size * np.exp(-rate * t) + offset
    want = y.where(top.notnull()).curvefit("time", curve, p0=START, bounds=bounds).curvefit_coefficients
    got = ng.curvefit(y, "time", curve, p0=START, bounds=bounds, errors="ignore").curvefit_coefficients
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    loss = lambda p, t, y: (residual(p, t, y) ** 2).sum()
    for low in (
        ng.least_squares(residual, START, y.time, y, over=OVER, bounds=bounds),
        ng.minimize(loss, START, y.time, y, over=OVER, bounds=bounds),
    ):
        np.testing.assert_allclose(low.params["rate"], want.sel(param="rate"), rtol=1e-4, atol=1e-4)
        assert int(low.status[1, 2]) in {4, 5}
    for prior in ((top, 0.1), (2.0, top)):
        low = ng.least_squares(residual, START, y.time, y, over=OVER, sigma=0.05, prior={"size": prior})
        mean, deviation = (xr.zeros_like(top) + v for v in prior)
        for i, j in np.ndindex(top.shape):
            seen, m, s = y.values[:, i, j], mean.values[i, j], deviation.values[i, j]
            off = lambda p, y=seen, m=m, s=s: np.append((curve(TIME, *p) - y) / 0.05, (p[0] - m) / s)
            if (i, j) == (1, 2):
                assert np.isnan(low.params["size"][i, j])
            else:
                x = scipy.optimize.least_squares(off, list(START.values())).x
                np.testing.assert_allclose([low.params[n][i, j] for n in NAMES], x, rtol=1e-4)


def test_order_chunks_and_precision():
    y = observations(3, 40, 60)
    want = stacked(fit(y).params)
    order = np.random.default_rng(0).permutation(40)
    np.testing.assert_allclose(stacked(fit(y[:, order]).params), want[order], rtol=1e-11)
    for chunk in (33, 500):
        np.testing.assert_allclose(stacked(fit(y, chunk=chunk).params), want, rtol=1e-11)
    np.testing.assert_allclose(stacked(fit(y.astype("f4")).params), want, rtol=1e-3, atol=1e-5)
    alone = ng.least_squares(residual, START, TIME, y[:, 7, 8])
    np.testing.assert_allclose([alone.params[n] for n in NAMES], want[7, 8], rtol=1e-11)


def test_threads_share_the_work_and_change_nothing(monkeypatch):
    y = observations(3, 130, 150)
    y[::3, 5, ::9] = np.nan
    used: set[int] = set()
    evaluate = Evaluator.__call__

    def noted(self, *args, **options):
        used.add(threading.get_ident())
        return evaluate(self, *args, **options)

    monkeypatch.setattr(Evaluator, "__call__", noted)
    monkeypatch.setattr("namedgrad.fit.residuals.TILE_ELEMENTS", 30 * 100)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    found = {}
    for count in (1, 2, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        used.clear()
        found[count] = fit(y)
        assert len(used - {threading.main_thread().ident}) == (count if count > 1 else 0)
    for several in (found[2], found[3]):
        np.testing.assert_allclose(stacked(several.params), stacked(found[1].params), rtol=1e-11)
        np.testing.assert_allclose(several.covariance, found[1].covariance, rtol=1e-9)
        np.testing.assert_array_equal(several.status, found[1].status)
        np.testing.assert_array_equal(several.dof, found[1].dof)


@pytest.mark.parametrize(("shift", "threads"), [(0, 3), (67, 1)])  # the number of cells in a tile: no program for more
def test_threads_evaluate_few_cells_together(monkeypatch, shift, threads):
    y = observations(3, 20, 40)
    y[::3, 5, ::9] = np.nan
    used, seen = set(), set()
    tile = Evaluator._tile

    def noted(self, *args, **options):
        used.add(threading.get_ident())
        time.sleep(0.002)  # the others take their share
        return tile(self, *args, **options)

    def model(p, t, y):
        seen.add(threading.get_ident())
        return residual(p, t, y - shift + shift)

    monkeypatch.setattr(Evaluator, "_tile", noted)
    monkeypatch.setattr("namedgrad.fit.evaluate.WORTH", 1e-12)
    monkeypatch.setattr("namedgrad.fit.residuals.TILE_ELEMENTS", 30 * 70)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    found = {}
    for count in (1, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        used.clear()
        found[count] = fit(y, r=model)
        assert len(used) == (threads if count > 1 else 1)
    assert seen == {threading.main_thread().ident}  # the user's code stays where it is
    np.testing.assert_allclose(stacked(found[3].params), stacked(found[1].params), rtol=1e-11)
    np.testing.assert_array_equal(found[3].status, found[1].status)


def test_linear_algebra_starts_no_threads_beside_those_of_a_fit(monkeypatch):
    def most():
        return max(library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas")

    def model(p, t, y):
        seen.append(most())
        return residual(p, t, y)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr("namedgrad.fit.residuals.TILE_ELEMENTS", 30 * 7)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        seen: list[int] = []
        fit(observations(3, 5, 6), r=model)
        assert set(seen) == {1}
        assert most() == 2


def test_a_crew_shares_work_and_tells_of_failures(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    crew, done = Crew(), []
    crew.share(done.append, [1, 2])  # nobody helps
    assert done == [1, 2]

    tried = []

    def fails(part):
        tried.append(part)
        if part == 3:
            raise ValueError("3")

    with crew.at_work(is_wanted=True):
        assert crew.hands() == 2
        crew.share(lambda part: crew.share(done.append, [part, part]), range(3, 6))  # within another
        with pytest.raises(ValueError, match="3"):
            crew.share(fails, range(1000))
        crew.share(done.append, [6])
    assert sorted(done) == [1, 2, 3, 3, 4, 4, 5, 5, 6]
    assert len(tried) < 1000
    with crew.at_work(is_wanted=False):
        assert crew.hands() == 1


def test_more_threads_than_cells(monkeypatch):
    t = np.linspace(0, 3, 21_000)
    y = 2 * np.exp(-t[:, None]) + 0.1 * np.random.default_rng(0).normal(size=(t.size, 10))
    y[::9] = np.nan
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("namedgrad.fit.evaluate.WORTH", 1e-12)
    found = []
    for count in (1, 8):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        da = xr.DataArray(y, {"t": t}, ("t", "x"))
        r = lambda p, t, y: p["size"] * np.exp(-p["rate"] * t) - y
        found.append(ng.least_squares(r, {"size": 1.0, "rate": 0.5}, da.t, da, over="x", chunk=6, loss="huber"))
    for name in ("size", "rate"):
        np.testing.assert_allclose(found[1].params[name], found[0].params[name], rtol=1e-9)


def test_parts_for_threads():
    assert even(3, 10, 8) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert even(0, 10, 8) == []
    for cells, most, count in ((100, 7, 3), (5, 5, 2), (1000, 1, 4)):
        parts = even(cells, most, count)
        assert np.concatenate([np.arange(cells)[p] for p in parts]).tolist() == list(range(cells))
        assert max(p.stop - p.start for p in parts) <= most


@pytest.mark.parametrize("call", ["least_squares", "curvefit", "residual"])
def test_memory_is_bounded_by_the_chunk(call):
    t = np.linspace(0, 3, 400)
    curve = lambda t, a, b, c: a * np.exp(-b * t) + c

    def most(cells):
        y = 2 * np.exp(-t[:, None]) + 0.5 + 0.05 * np.random.default_rng(0).normal(size=(t.size, cells))
        da = xr.DataArray(y, {"t": t}, ("t", "x"))
        start = {"a": 1.0, "b": 0.5, "c": 0.0}
        fit = lambda: ng.least_squares(lambda p, t, y: curve(t, *p.values()) - y, start, da.t, da, over="x", chunk=250)
        return peak(
            {
                "curvefit": lambda: ng.curvefit(da, "t", curve, p0=start, chunk=250),
                "least_squares": fit,
                "residual": lambda: fit().residual,
            }[call]
        ) - (da.nbytes if call == "residual" else 0)

    few, many = most(1500), most(4000)
    assert (many - few) / 2500 < 0.4 * 8 * t.size  # what is kept of a cell is less than half of its data


def test_programs_and_plain_calls_agree():
    y = observations(2, 30, 40)
    y[5, ::7] = np.nan
    want = fit(y)

    asked = lambda p, t, y: residual(p, t, y) if bool((y.where(y > 1e9, 0.0) < 1e9).all().devectorize().all()) else y
    eager = fit(y, r=asked)
    np.testing.assert_allclose(stacked(eager.params), stacked(want.params), rtol=1e-10)
    np.testing.assert_array_equal(eager.dof, want.dof)


def test_no_cells_and_no_dims():
    empty = fit(observations()[:, :0])
    assert empty.params.sizes == {"lat": 0, "lon": 4}
    assert empty.covariance.shape == (0, 4, 3, 3)
    assert empty.residual.shape == (30, 0, 4)
    y = ng.DimArray([1.0, 4.0, 9.0], ("cell",))
    roots = ng.least_squares(lambda p, y: p["a"] ** 2 - y, {"a": 1.0}, y, over="cell")
    np.testing.assert_allclose(roots.params["a"], [1, 2, 3], rtol=1e-9)
    means = fit(observations(), {"a": 0.0}, lambda p, t, y: p["a"] - y)
    np.testing.assert_allclose(means.params["a"], observations().mean(axis=0), rtol=1e-12)
    assert (means.iterations <= 2).all()


@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy", "arctan"])
@pytest.mark.parametrize("start", [{"a": 1.0, "k": 1.0}, ["a", "k"]], ids=["given", "found"])
def test_no_cells_by_any_loss(loss, start):
    t, y = ng.DimArray(np.linspace(0, 1, 5), "t"), ng.DimArray(np.zeros((0, 5)), ("cell", "t"))
    empty = ng.least_squares(lambda p, t, y: p["a"] * np.exp(-p["k"] * t) - y, start, t, y, over="cell", loss=loss)
    assert empty.params.sizes == {"cell": 0}
    assert empty.covariance.shape == (0, 2, 2)


@pytest.mark.parametrize("size", [30, 24])
def test_programs_for_fewer_cells(size, monkeypatch):
    """They are the same text with another number, which must not mean something else: there are 30 observations."""
    y, found = observations(4, 5 * size, 1), []
    want = fit(y)
    init = Evaluator.__init__

    def noted(self, *args, **options):
        init(self, *args, **options)
        found.append(self)

    monkeypatch.setattr(Evaluator, "__init__", noted)
    monkeypatch.setattr("namedgrad.fit.residuals.TILE_ELEMENTS", 30 * size)
    got = fit(y)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-9)
    np.testing.assert_allclose(got.covariance, want.covariance, rtol=1e-7)
    programs = [program for evaluator in found for program, _ in evaluator.programs.values()]
    assert [(p.size, p.flexible) for p in programs] == [(size, size == 24)]


@pytest.mark.parametrize("case", ["factor", "offset", "bound", "place"])
def test_a_number_of_the_model_that_is_that_of_the_cells(case):
    """Tiles of 25 cells, and a model in which 25 means something else, which does not show at the start."""
    rng, t = np.random.default_rng(3), np.linspace(0, 1, 40)
    a, start = rng.uniform(1, 3, (60, 1)), {"a": 1.0, "b": 0.5}
    if case == "factor":
        model, truth = lambda p, t: p["a"] * ng.exp(-t * (p["b"] * 25)), a * np.exp(-t)
        start["b"] = 0.0
    elif case == "offset":
        model, truth = lambda p, t: 25 + p["a"] * ng.exp(-t * p["b"]), 25 + a * np.exp(-t)
    elif case == "bound":
        a, start["a"] = 10 * a, 5.0
        model, truth = lambda p, t: ng.minimum(p["a"] * ng.exp(-t * p["b"]), 25), np.minimum(a * np.exp(-2 * t), 25)
    else:
        model, truth = lambda p, t: p["a"] * ng.roll(t, {"t": 25}) + p["b"] * t, a * np.roll(t, 25) + t
    y = truth + 1e-3 * rng.normal(size=(60, 40))
    if case == "offset":
        y[:13, 3] = np.nan
    x, y = ng.DimArray(t, ("t",)), ng.DimArray(y, ("cell", "t"))
    r = ng.least_squares(lambda p, t, y: model(p, t) - y, start, x, y, over="cell", chunk=25)
    assert (r.status == 0).all()
    np.testing.assert_allclose(np.asarray(r.params["a"]), a[:, 0], rtol=3e-3)


@pytest.mark.parametrize("gaps", [False, True])
def test_cells_that_start_alike(gaps, monkeypatch):
    """What they share at the start is computed once, which is no other start; the tiles are of 40 cells, 100 in all."""
    y, seen = observations(4, 100, 1), []
    if gaps:
        y[3, ::7], y[:, 50] = np.nan, np.nan
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.shape)
    call = Alike.__call__
    monkeypatch.setattr(Alike, "__call__", lambda self, *args: seen.append(args[1]) or call(self, *args))
    monkeypatch.setattr("namedgrad.fit.residuals.TILE_ELEMENTS", 30 * 40)

    def weighted(start):
        t, y_, w = *named(y), ng.DimArray(weights, ("time", *OVER))
        return ng.least_squares(lambda p, t, y, w: w * residual(p, t, y), start, t, y_, w, over=OVER)

    got = weighted(START)
    assert sum(seen) >= 100
    seen.clear()
    rates = np.full((100, 1), START["rate"])
    rates[-1] *= 1 + 1e-9
    want = weighted(START | {"rate": ng.DimArray(rates, OVER)})
    assert not seen
    np.testing.assert_array_equal(got.status, want.status)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-8)
    np.testing.assert_allclose(got.chi2, want.chi2, rtol=1e-10)


def test_a_singular_minimum_is_arrived_at():
    """Powell's function (1962), at whose minimum half of the Jacobian is gone: each step takes 15/16 of the cost."""
    rng = np.random.default_rng(0)
    start = np.array([3.0, -1.0, 0.0, 1.0])[:, None] * (1 + 0.3 * rng.normal(size=(4, 50)) * (np.arange(50) > 0))
    params = {n: xr.DataArray(v, dims="cell") for n, v in zip("abcd", start, strict=True)}
    weights = xr.DataArray(np.sqrt([1.0, 5.0, 1.0, 10.0]), dims="i")

    def residual(p, none):
        parts = p["a"] + 10 * p["b"], p["c"] - p["d"], (p["b"] - 2 * p["c"]) ** 2, (p["a"] - p["d"]) ** 2
        return xr.concat(parts, "i") * weights - none

    fit = ng.least_squares(residual, params, xr.DataArray(np.zeros(50), dims="cell"), over="cell")
    assert (fit.iterations < 50).all()
    assert fit.status.isin([0, 2]).all()  # at 0 nothing tells two of the parameters
    for value in fit.params.values():
        np.testing.assert_allclose(value, 0, atol=1e-6)


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_no_answer_where_there_is_no_model(loss):
    """Half of the best widths that noise makes of none are negative, for which Voigt's profile is infinite."""
    rng, x = np.random.default_rng(0), np.linspace(-10.0, 10.0, 80)
    size, place, width = (rng.uniform(a, b, (60, 1)) for a, b in ((5, 20), (-3, 3), (1, 3)))
    y = size * scipy.special.voigt_profile(x - place, 0.0, width)
    y += 0.01 * np.ptp(y, axis=1, keepdims=True) * rng.normal(size=y.shape)

    def model(x, size, place, spread, width):
        return size * scipy.special.voigt_profile(x - place, spread, width)

    fit = ng.curvefit(
        xr.DataArray(y, {"x": x}, ("cell", "x")), "x", model,
        p0={"size": 10.0, "spread": 0.5, "width": 1.5, "place": 0.0},
        kwargs={"loss": loss, "max_nfev": 300}, bounds={"size": (0, 100)}, errors="ignore",
    )  # fmt: skip
    found = fit.curvefit_coefficients.values
    answered = np.isfinite(found).all(axis=1)
    assert answered.mean() > 0.9
    off = model(x, *found[answered].T[..., None]) - y[answered]
    assert np.isfinite(off).all()
    if loss == "linear":
        np.testing.assert_allclose(fit.curvefit_chi2[answered], np.sum(off**2, axis=1), rtol=1e-8)


def test_rates_that_are_too_fast_for_the_observations():
    t = np.linspace(0, 10, 12)
    y = 3 * np.exp(-8 * t) + 2 * np.exp(-0.2 * t) + 0.09 * np.random.default_rng(0).normal(size=(200, t.size))

    def curve(t, a, fast, b, slow):
        return a * np.exp(-fast * t) + b * np.exp(-slow * t)

    da = xr.DataArray(y, dims=("site", "t"), coords={"t": t})
    found = ng.curvefit(da, "t", curve, errors="ignore")
    lost = np.flatnonzero(np.sqrt(found.curvefit_covariance.values[:, [1, 3], [1, 3]]).max(axis=1) > 1e3)
    assert lost.size > 10
    assert found.curvefit_status.isin([0, 2]).all()
    for i in lost:  # without the fast part, which ends before the second observation
        (b, slow), _ = scipy.optimize.curve_fit(lambda t, b, slow: b * np.exp(-slow * t), t[1:], y[i, 1:], (2.0, 0.2))
        least = np.sum((b * np.exp(-slow * t[1:]) - y[i, 1:]) ** 2)
        assert found.curvefit_chi2.values[i] <= least * (1 + 1e-7)


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_the_last_step_does_not_move_what_has_no_influence(loss):
    """A rate that noise makes infinite in some cells: the cost is that of the parameters."""
    z, rng = np.linspace(0, 150, 40), np.random.default_rng(1)
    y = 290 * (0.55 * np.exp(-1.0 * z) + 0.45 * np.exp(-0.09 * z)) + 9 * rng.normal(size=(100, z.size))
    start = {"size": 286.0, "part": 0.45, "fast": 1.4, "slow": 0.086}

    def curve(z, size, part, fast, slow):
        return size * (part * np.exp(-fast * z) + (1 - part) * np.exp(-slow * z))

    found = ng.least_squares(
        lambda p, z, y: curve(z, *p.values()) - y, start, ng.DimArray(z, "z"), ng.DimArray(y, ("site", "z")),
        over="site", loss=loss, loss_scale=9.0,
    )  # fmt: skip
    x = np.stack([found.params[n].values for n in start], axis=1)
    assert found.status.isin([0, 2]).mean() > 0.97
    assert (x[:, 2] < 1e3).all()
    for p, data, cost in zip(x, y, found.cost.values, strict=True):
        best = scipy.optimize.least_squares(
            lambda p, data=data: curve(z, *p) - data, p, x_scale=np.abs(p), loss=loss, f_scale=9.0, max_nfev=1
        )
        np.testing.assert_allclose(cost, best.cost, rtol=1e-9)


def test_steps_that_curvature_keeps_short_are_the_last():
    """Saturation before the second observation: half of it is reached anywhere there, with any steepness."""
    t, rng = np.linspace(0, 10, 40), np.random.default_rng(1)
    size, half = rng.uniform(0.5, 5, (150, 1)), 10 ** rng.uniform(-2, -0.5, (150, 1))
    y = size * t**2 / (half**2 + t**2) + rng.normal(size=(150, t.size))
    da = xr.DataArray(y, dims=("site", "t"), coords={"t": t})
    found = ng.curvefit(da, "t", lambda t, a, k, n: a * t**n / (k**n + t**n), errors="ignore")
    flat = np.isclose(found.curvefit_chi2, y[:, 0] ** 2 + 39 * y[:, 1:].var(axis=1), rtol=1e-9)
    assert flat.sum() > 30
    assert (found.curvefit_status[flat] == 0).mean() > 0.6


@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-8])
def test_the_cost_is_that_of_the_parameters(tol):
    rng = np.random.default_rng(0)  # a line is a tanh of infinite size: the last step leads far along that valley
    t = xr.DataArray(np.linspace(0, 1, 30), dims="time")
    y = 1.5 * (t - 0.3) + xr.DataArray(0.3 * rng.normal(size=(30, 40)), dims=("time", "cell"))
    off = lambda p, t, y: p["size"] * np.tanh(p["slope"] * (t - p["middle"])) - y
    found = ng.least_squares(off, {"size": 1.6, "slope": 2.9, "middle": 0.4}, t, y, over="cell", tol=tol)
    assert (found.status == 2).any()
    np.testing.assert_allclose((off(found.params, t, y) ** 2).sum("time") / 2, found.cost, rtol=max(tol, 1e-5))
