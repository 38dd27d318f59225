"""Derivatives of fits of dask arrays: lazy, and those that differences, SciPy and closed forms give."""

from __future__ import annotations

import functools

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.fit.problems import START, TIME, labelled, model, named, observations, residual, scipy_params
from tests.fit.test_implicit import SIGMA, WEIGHTS, check, mixed
from tests.fit.test_lazy import CHUNKS, OVER, refuse

Y = labelled(observations())
LAZY = Y.chunk(CHUNKS)
WAY = xr.zeros_like(Y) + np.random.default_rng(5).normal(size=Y.shape)
SHARED = START | {"rate": xr.ones_like(Y.lat)}


@pytest.fixture(autouse=True)
def _one_task_at_a_time():
    """Small chunks are faster so."""
    with dask.config.set(scheduler="synchronous"):
        yield


def fit(y=LAZY, start=START, time=Y.time, **options):
    """One fit, to rounding."""
    return ng.least_squares(residual, start, time, y, over=OVER, tol=1e-12, **options)


def built(f, *args):
    """What ``f`` returns, if it computes nothing."""
    with dask.config.set(scheduler=refuse):
        return f(*args)


def test_nothing_is_computed_and_the_chunks_are_those_of_the_data():
    rates = lambda y: fit(y).params["rate"]
    (value, gradient), tangent = built(lambda: (
        ng.value_and_grad(lambda y: (WEIGHTS * rates(y)).sum())(LAZY), ng.jvp(rates, (LAZY,), (WAY,))[1],
    ))  # fmt: skip
    assert gradient.chunks == LAZY.chunks
    assert tangent.chunks == ((2, 1), (3, 1))
    assert value.chunks is not None
    assert gradient.indexes.keys() == LAZY.indexes.keys()
    step = 1e-3
    above, below = (scipy_params((Y + h * WAY).values)[..., 1] for h in (step, -step))
    want = (above - below) / (2 * step)
    np.testing.assert_allclose(tangent, want, rtol=2e-5)
    np.testing.assert_allclose((gradient * WAY).sum(), (WEIGHTS.values * want).sum(), rtol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"sigma": SIGMA}, {"prior": {"rate": (0.7, 0.3)}, "sigma": 0.1}, {"fixed": ["rate"]}, {"shared": "rate"},
        {"loss": "soft_l1", "loss_scale": 0.05}, {"bounds": {"rate": (0.9, 1.2), "size": (None, 2.0)}},
        {"start": SHARED}, {"start": SHARED, "fixed": ["rate"]},
    ],
)  # fmt: skip
def test_through_the_observations(options):
    def loss(y):
        found = fit(y, **options)
        return mixed(found.params) + found.cost.sum()

    assert built(ng.grad(loss), LAZY).chunks == LAZY.chunks
    check(loss, LAZY)


def test_through_everything_else_that_is_given():
    number, lat = xr.DataArray(0.7), xr.DataArray([0.5, 1.0, 2.0], dims="lat")
    held = xr.zeros_like(Y[0]) + np.linspace(0.5, 1.5, 12).reshape(3, 4)
    for f, x in [
        (lambda y, t: mixed(fit(y, time=t).params), xr.DataArray(TIME, dims="time")),
        (lambda y, s: mixed(fit(y, sigma=s, prior={"rate": (0.5, 0.1)}).params), number),
        (lambda y, s: mixed(fit(Y, sigma=s).params), SIGMA.chunk(time=7)),
        (lambda y, m: mixed(fit(y, sigma=0.05, prior={"rate": (m, 0.02)}).params), lat),
        (lambda y, m: mixed(fit(y, start=SHARED, sigma=0.05, prior={"rate": (m, 0.02)}).params), lat),
        (lambda y, s: mixed(fit(y, sigma=0.05, prior={"rate": (1.0, s)}).params), number / 20),
        (lambda y, r: mixed(fit(y, start=START | {"rate": r}, fixed=["rate"]).params), held),
        (lambda y, top: mixed(fit(y, bounds={"rate": (0.1, top)}).params), xr.DataArray([0.6, 0.8, 0.9], dims="lat")),
        (lambda y, low: mixed(fit(y, bounds={"rate": (low, None)}).params), number + 0.6),
    ]:
        late = functools.partial(f, LAZY)
        assert built(ng.grad(late), x).chunks is not None
        check(late, x, eager=functools.partial(f, Y))
    assert (built(ng.grad(lambda r: mixed(fit(start=START | {"rate": r}).params)), held) == 0).all()


# ------------------------------------------------------------------------------------------------ lines

X = np.linspace(-1, 1, 7)
LINES = xr.DataArray(np.random.default_rng(0).normal(size=(5, 7)), dims=("cell", "x"))
CUT = LINES.chunk({"cell": 2, "x": 3})
INVERSE = np.linalg.pinv(np.stack([np.ones(7), X], axis=1))  # of what gives lines at these places
SLOPE = xr.DataArray(INVERSE[1], dims="x")


def line(p, x, y):
    """A straight line less the observations."""
    return p["level"] + p["slope"] * x - y


def slopes(y, **options):
    """Slopes of lines."""
    start = {"level": 0.0, "slope": 0.0} | options.pop("start", {})
    return ng.least_squares(line, start, xr.DataArray(X, dims="x"), y, over="cell", **options).params["slope"]


def test_lines():
    """The slope is linear in the observations."""
    way = LINES + 1
    jacobian = built(ng.jacobian(slopes), CUT)
    assert jacobian.dims == ("cell", "cell_wrt", "x_wrt")
    want = np.eye(5)[..., None] * INVERSE[1]
    np.testing.assert_allclose(jacobian, want, atol=1e-12)
    _, linear = built(ng.linearize, slopes, CUT)
    np.testing.assert_allclose(built(linear, way), way @ SLOPE, rtol=1e-12)
    _, pull = built(ng.pullback, slopes, CUT)
    np.testing.assert_allclose(built(pull, way[:, 0]), way[:, :1].values * INVERSE[1], atol=1e-12)


def test_passes_are_linear_maps_that_are_differentiated_themselves():
    """In cotangents and tangents, in both modes and twice."""
    w = xr.DataArray(np.arange(1.0, 6.0), dims="cell")
    pulled = lambda w: (ng.grad(lambda y: (w * slopes(y)).sum())(CUT) ** 2).sum()
    size = (SLOPE**2).sum().item()
    np.testing.assert_allclose(built(ng.grad(pulled), w), 2 * w * size, rtol=1e-12)
    np.testing.assert_allclose(built(ng.jvp, pulled, (w,), (w,))[1], 2 * (w**2).sum() * size, rtol=1e-12)
    np.testing.assert_allclose(built(ng.hessian(pulled), w), 2 * np.eye(5) * size, atol=1e-12)
    pushed = lambda t: (ng.jvp(slopes, (CUT,), (t,))[1] ** 2).sum()
    np.testing.assert_allclose(built(ng.grad(pushed), LINES), 2 * (LINES @ SLOPE) * SLOPE, atol=1e-12)


def test_cells_that_are_slices_keep_their_gradients():
    """One gradient for each, also of what all of them share, be it given or found."""
    weights = xr.DataArray(np.linspace(1, 2, 7), dims="x")

    def rows(s, y):
        return ng.vectorize(slopes(ng.devectorize(y, "cell"), sigma=s), "cell").sum()

    found, step = built(ng.grad(rows, over="cell"), weights, CUT), 1e-5
    assert found.dims == ("cell", "x")
    fitted = lambda s: np.polyfit(X, LINES.values.T, 1, w=1 / s)[0]
    want = [(fitted(weights + d) - fitted(weights - d)) / (2 * step) for d in step * np.eye(7)]
    np.testing.assert_allclose(found, np.transpose(want), atol=1e-8)
    common = built(ng.jacobian(lambda y: slopes(y, shared="slope")), CUT)  # the mean of the slopes
    np.testing.assert_allclose(common, np.broadcast_to(INVERSE[1] / 5, (5, 7)), atol=1e-12)


def test_parameters_that_are_held_move_with_what_they_are_held_at():
    """Of one that all chunks have there is one gradient, not one for each."""
    held = xr.DataArray(np.arange(1.0, 4.0), dims="row")
    y = xr.DataArray(np.random.default_rng(1).normal(size=(3, 5, 7)), dims=("row", "cell", "x")).chunk(row=2, cell=2)

    def both(held):
        start = {"level": 0.0, "slope": held}
        found = ng.least_squares(line, start, xr.DataArray(X, dims="x"), y, over=("row", "cell"), fixed="slope").params
        return (held * found["slope"]).sum() + found["level"].sum()

    np.testing.assert_allclose(built(ng.grad(both), held), 2 * held, atol=1e-12)  # levels are means: X has none
    np.testing.assert_allclose(built(ng.jvp, both, (held,), (held,))[1], 2 * (held**2).sum(), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ forms


def test_every_kind_of_array():
    t, y = named(observations())
    want = xr.DataArray(ng.grad(lambda y: fit(y).params["rate"].sum())(Y).values, dims=Y.dims)
    lazy = ng.DimArray(da.from_array(y.data, chunks=(30, 1, 4)), y.dims)
    got = built(ng.grad(lambda y: fit(y, time=t).params["rate"].sum()), lazy)
    assert got.data.chunks == ((30,), (1, 1, 1), (4,))
    np.testing.assert_allclose(got.data, want, atol=1e-9)
    one = built(ng.grad(lambda y: ng.least_squares(residual, START, TIME, y, tol=1e-12).params["rate"]), lazy.data[:, 1, 2])
    np.testing.assert_allclose(one, want[:, 1, 2], atol=1e-9)
    ds = xr.Dataset({"y": Y, "n": ("time", np.arange(30))}).chunk(CHUNKS)
    tree = xr.DataTree.from_dict({"/a": ds})
    for data, pick in ((ds, lambda d: d["y"]), (tree, lambda d: d["a"]["y"])):
        off = lambda p, t, d, pick=pick: residual(p, t, pick(d))
        found = lambda d, off=off: ng.least_squares(off, START, Y.time, d, over=OVER, tol=1e-12).params["rate"].sum()
        gradient = pick(built(ng.grad(found), data))
        assert gradient.chunks == LAZY.chunks
        np.testing.assert_allclose(gradient, want, atol=1e-9)
    single = LAZY.astype("float32")
    gradient = built(ng.grad(lambda y: fit(y).params["rate"].sum()), single)
    assert gradient.dtype == "float32"
    np.testing.assert_allclose(gradient, want, atol=1e-5)


@pytest.mark.parametrize("dated", [False, True])
def test_a_model(dated):
    y = LAZY
    if dated:
        y = y.assign_coords(time=np.datetime64("2000-01-01") + np.arange(30))
    options = {"over": OVER, "tol": 1e-12, **({"time_units": "days"} if dated else {})}
    f = lambda y: mixed(y.grad.fit(model, "time", START, **options).params)
    assert built(ng.grad(f), y).chunks == LAZY.chunks
    check(f, y)


@pytest.mark.parametrize("part", ["coefficients", "covariance", "chi2"])
def test_curvefit(part):
    curve = lambda t, size, rate, offset: size * np.exp(-rate * t) + offset
    tight = {"xtol": 1e-12}
    f = lambda y: (ng.curvefit(y, "time", curve, p0=START, kwargs=tight)[f"curvefit_{part}"] ** 2).sum()
    assert built(ng.grad(f), LAZY).chunks == LAZY.chunks
    check(f, LAZY, rtol=1e-4)


def test_minimize():
    def solve(y):
        loss = lambda p, t, y: ((model(p, t) - y) ** 2).sum() + 0.1 * p["rate"] ** 4
        found = ng.minimize(loss, START, Y.time, y, over=OVER, tol=1e-10)
        return mixed(found.params) + found.cost.sum()

    assert built(ng.grad(solve), LAZY).chunks == LAZY.chunks
    check(solve, LAZY, rtol=2e-4)


def test_parameters_with_dims():
    """The solution of normal equations, one for each cell, per component and as a whole."""
    rng = np.random.default_rng(2)
    a = ng.DimArray(rng.normal(size=(8, 4)), ("row", "k"))
    b = ng.DimArray(da.from_array(rng.normal(size=(8, 3)), chunks=(8, 2)), ("row", "cell"))

    def best(b, a=a):
        loss = lambda p, a, b: ((ng.dot(a, p["v"], dim="k") - b) ** 2).sum()
        start = {"v": ng.DimArray(np.full(4, 0.1), ("k",))}
        return ng.minimize(loss, start, a, b, over="cell", tol=1e-11).params["v"]

    inverse = np.linalg.pinv(a.data)
    jacobian = built(ng.jacobian(best), b)
    want = np.einsum("kr,cd->ckrd", inverse, np.eye(3))
    np.testing.assert_allclose(jacobian.data, want, atol=1e-8)
    each = built(ng.grad(lambda b: ng.vectorize(best(b), "k").sum()), b)
    np.testing.assert_allclose(each.devectorize("k").data, np.repeat(inverse[..., None], 3, axis=2), atol=1e-8)
    weights = np.ones((3, 4))
    gradient = built(ng.grad(lambda a: (best(b, a) * weights).sum()), a)
    loss = lambda h: np.sum(np.linalg.lstsq(a.data + h * way, np.asarray(b.data), rcond=None)[0])
    way = rng.normal(size=(8, 4))
    np.testing.assert_allclose((np.asarray(gradient.data) * way).sum(), (loss(1e-6) - loss(-1e-6)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("none", [{"lat": 0}, {"lon": 0}])
def test_cells_without_data_and_none_at_all(none):
    y = Y.copy()
    y[:, 0, 0], y[[3, 9], 1, 1] = np.nan, [np.nan, np.inf]
    gradient = built(ng.grad(lambda y: fit(y).params["rate"].sum()), y.chunk(CHUNKS)).compute()
    assert np.isfinite(gradient).all()
    assert (gradient[:, 0, 0] == 0).all()
    assert (gradient[[3, 9], 1, 1] == 0).all()
    nothing = Y.isel({d: slice(0, n) for d, n in none.items()}).chunk(CHUNKS)
    for options in ({}, {"shared": "rate"}):
        rate = lambda s, options=options: fit(nothing, sigma=s, **options).params["rate"].sum()
        np.testing.assert_array_equal(built(ng.grad(rate), SIGMA), 0)


# ------------------------------------------------------------------------------------------------ when


def test_within_a_checkpoint():
    """It gives the function arrays of ours, in which dask does not see its own."""
    kinds = [(LAZY, Y.time), (ng.DimArray(LAZY.data, Y.dims), ng.DimArray(TIME, ("time",)))]
    for y, t in kinds:
        rates = lambda y, t=t: fit(y, time=t).params["rate"].sum()
        got, again = built(ng.grad(ng.checkpoint(rates)), y), built(ng.grad(rates), y)
        np.testing.assert_allclose(got.data, again.data, rtol=1e-12)
    counts = (100 * LAZY).astype(int)
    cost = lambda s, y: fit(y, sigma=s).cost.sum()
    np.testing.assert_allclose(ng.grad(ng.checkpoint(cost))(SIGMA, counts), ng.grad(cost)(SIGMA, counts), rtol=1e-9)


def test_a_chunk_is_fitted_once_for_its_value_and_its_derivatives():
    """Every run of the function is counted."""
    runs = []

    def counted(*args):
        runs.append(1)
        return residual(*args)

    rates = lambda y: ng.least_squares(counted, START, Y.time, y, over=OVER).params["rate"].sum()
    (value, gradient), counts = ng.value_and_grad(rates)(LAZY), []
    for what in ([value], [gradient], [value, gradient]):
        runs.clear()
        dask.compute(*what, scheduler="synchronous")
        counts.append(len(runs))
    assert counts[0] < counts[1] == counts[2]


def test_what_is_not_differentiated_says_so():
    with pytest.raises(ng.TraceError, match=r"captures 'w', which is being differentiated.*as an argument"):
        ng.grad(lambda w: ng.least_squares(lambda p, t, y: w * model(p, t) - y, START, Y.time, LAZY, over=OVER).cost.sum())(
            SIGMA
        )
    with pytest.raises(ng.TraceError, match="'stderr' of a fit is not differentiated"):
        ng.grad(lambda y: fit(y).stderr["rate"].mean())(LAZY)
    with pytest.raises(ng.TraceError, match="can be differentiated once"):
        ng.hessian(lambda s: mixed(fit(sigma=s).params))(SIGMA[:2])
    for f in (rates := lambda y: fit(y).params["rate"].sum(), ng.grad(rates)):
        with pytest.raises(ng.TraceError, match=r"steered by values, which ng\.compile would freeze"):
            ng.compile(f)(LAZY)
    shown = []
    ng.grad(lambda y: (shown.append(repr(fit(y))), fit(y).cost.sum())[1])(LAZY)
    assert shown == ["<DifferentiableResult over (lat: 3, lon: 4) of size, rate, offset>"]


@pytest.mark.slow
def test_on_two_workers():
    distributed = pytest.importorskip("distributed")
    quiet = {"distributed.admin.tick.interval": "1h", "distributed.worker.profile.enabled": False}
    shared = lambda y: fit(y, start=SHARED).cost.sum()
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = ng.jacobian(slopes)(CUT), ng.grad(shared)(LAZY), ng.jvp(slopes, (CUT,), (CUT,))[1]
        found, gradient, tangent = dask.compute(*parts, scheduler=client)
    np.testing.assert_allclose(found, np.eye(5)[..., None] * INVERSE[1], atol=1e-12)
    np.testing.assert_allclose(tangent, LINES @ SLOPE, rtol=1e-12)
    step = 1e-5
    want = (shared(LAZY + step * WAY) - shared(LAZY - step * WAY)) / (2 * step)
    np.testing.assert_allclose((gradient * WAY).sum(), want, rtol=1e-6)
