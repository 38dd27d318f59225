"""``minimize`` against SciPy and closed forms."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng
from namedgrad.fit import slopes

METHODS = ("lbfgs", "newton-cg", "gradient-descent")
RNG = np.random.default_rng(0)
STARTS = {n: RNG.normal(size=40) * 2 for n in "xy"}


def rosenbrock(p, top=1.0):
    """The banana valley, with its minimum at (top, top**2)."""
    return (top - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2


def valley(v):
    """The same of a vector."""
    return rosenbrock({"x": v[0], "y": v[1]})


def slope(v):
    """Its gradient by hand."""
    bend = v[1] - v[0] ** 2
    return np.array([-2 * (1 - v[0]) - 400 * v[0] * bend, 200 * bend])


def starts():
    """A start per cell."""
    return {n: ng.DimArray(v, ("cell",)) for n, v in STARTS.items()}


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_the_valley_is_followed_to_its_end_from_everywhere(method):
    top = ng.DimArray(np.linspace(0.5, 2, 40), ("cell",))
    fit = ng.minimize(rosenbrock, starts(), top, over="cell", method=method)
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["x"], top.data, rtol=1e-6)
    np.testing.assert_allclose(fit.params["y"], top.data**2, rtol=1e-6)
    assert (fit.cost < 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_a_quadratic_in_any_units(method, scale):
    A = RNG.normal(size=(5, 8, 4))
    b = RNG.normal(size=(5, 8))
    loss = lambda p, A, b: ((ng.dot(A, p["v"] / scale, dim="k") - b) ** 2).sum("row")
    fit = ng.minimize(
        loss, {"v": ng.DimArray(np.full(4, 0.1 * scale), ("k",))},
        ng.DimArray(A, ("cell", "row", "k")), ng.DimArray(b, ("cell", "row")),
        over="cell", method=method, max_iterations=5000, tol=1e-6 if method == "gradient-descent" else None,
    )  # fmt: skip
    assert (fit.status == 0).all()
    assert fit.params["v"].dims == ("cell", "k")
    for i in range(5):
        want = np.linalg.lstsq(A[i], b[i], rcond=None)[0]
        np.testing.assert_allclose(fit.params["v"][i] / scale, want, atol=1e-4)


def test_bounds_give_scipys_minimum():
    limits = {"x": (0.0, 0.5), "y": (0.3, ng.DimArray(np.linspace(0.4, 4, 40), ("cell",)))}
    for method in ("lbfgs", "newton-cg"):
        fit = ng.minimize(rosenbrock, starts(), over="cell", bounds=limits, method=method)
        assert (fit.status == 3).all()
        for i in range(0, 40, 7):
            box = scipy.optimize.Bounds([0.0, 0.3], [0.5, limits["y"][1].data[i]])
            exact = {"ftol": 1e-16, "gtol": 1e-12}
            found = scipy.optimize.minimize(valley, [0.1, 0.35], jac=slope, bounds=box, options=exact)
            assert fit.params["x"][i] <= 0.5
            assert fit.params["y"][i] >= 0.3
            np.testing.assert_allclose(fit.cost[i], found.fun, rtol=1e-9)
            np.testing.assert_allclose([fit.params["x"][i], fit.params["y"][i]], found.x, atol=1e-6)


def test_many_parameters_of_a_single_problem():
    n = 200
    A = RNG.normal(size=(n, n))
    A = A @ A.T / n + np.eye(n)
    b = RNG.normal(size=n)
    matrix, right = ng.DimArray(A, ("i", "j")), ng.DimArray(b, ("i",))

    def energy(p):
        x = p["x"]
        return 0.5 * ng.dot(ng.dot(matrix, x.rename(i="j")), x) - ng.dot(right, x)

    for method in ("lbfgs", "newton-cg"):
        fit = ng.minimize(energy, {"x": ng.zeros({"i": n})}, method=method)
        assert fit.status == 0
        np.testing.assert_allclose(fit.params["x"], np.linalg.solve(A, b), atol=1e-6)


def test_xarray_programs_with_labels_and_missing_data():
    y = xr.DataArray(
        [[1.0, 2.0, np.nan, 3.0], [4.0, 5.0, 6.0, 7.0]], dims=("site", "time"),
        coords={"site": ["a", "b"]}, attrs={"units": "K"},
    )  # fmt: skip
    start = xr.Dataset({"level": ((), 0.5, {"units": "K"})})
    fit = ng.minimize(lambda p, y: ((y - p.level) ** 2).mean(), start, y, over="site")
    np.testing.assert_allclose(fit.params["level"], [2.0, 5.5], rtol=1e-7)
    np.testing.assert_allclose(fit.cost, [2 / 3, 1.25], rtol=1e-9)
    assert list(fit.params.site.values) == ["a", "b"]
    assert fit.params["level"].attrs == {"units": "K"}


def test_bad_cells_say_so_and_disturb_nobody():
    data = np.array([1.0, np.nan, 4.0, 9.0])
    fit = ng.minimize(lambda p, d: (p["x"] ** 2 - d) ** 2, {"x": 1.5}, ng.DimArray(data, ("cell",)), over="cell")
    np.testing.assert_array_equal(fit.status, [0, 5, 0, 0])
    assert np.isnan(fit.params["x"][1])
    np.testing.assert_allclose(fit.params["x"][[0, 2, 3]], [1, 2, 3], rtol=1e-6)
    alone = ng.minimize(lambda p, d: (p["x"] ** 2 - d) ** 2, {"x": 1.5}, ng.DimArray(data[2:3], ("cell",)), over="cell")
    assert alone.params["x"][0] == fit.params["x"][2]


def test_an_end_that_is_no_minimum_is_not_called_one():
    kink = ng.minimize(lambda p: abs(p["x"] - 1.3), {"x": 5.0})
    assert kink.params["x"].item() == pytest.approx(1.3, abs=1e-6)
    fit = ng.minimize(rosenbrock, starts(), over="cell", max_iterations=5)
    assert (fit.status == 1).sum() > 30
    slope = ng.minimize(lambda p: -p["x"], {"x": 1.0}, max_iterations=30)
    assert slope.status == 1


EVERY = ("lbfgs", "newton-cg", "adam", "gradient-descent")


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize(
    "loss", [lambda x: -x, lambda x: -(x**2), lambda x: -np.sqrt(x), lambda x: -np.log(x), lambda x: np.log(x) - x**3]
)
def test_what_falls_without_end_has_not_converged_and_is_left_far_below(method, over, loss):
    start = {"x": ng.DimArray(np.array([2.0, 2.5]), ("cell",)) if over else 2.0}
    fit = ng.minimize(lambda p: loss(p["x"]), start, over=over, method=method)
    assert np.isin(fit.status, (1, 6)).all()
    assert (fit.cost < loss(2.5) - 1).all()


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("over", [(), "cell"])
def test_no_slope_makes_no_minimum(method, over):
    def ends(loss, x):
        start = {"x": ng.DimArray(np.array([x, x]), ("cell",)) if over else x}
        return np.ravel(ng.minimize(lambda p: loss(p["x"]), start, over=over, method=method).status)[0]

    assert ends(lambda x: 1 - np.exp(-(x**2)), 30.0) == 2  # a plateau, and underflow
    assert ends(lambda x: (x**2 - 1) ** 2, 0.0) == 2  # a maximum
    assert ends(lambda x: 0 * x + 1.0, 3.0) == 2
    for least in (lambda x: (x - 3) ** 2, lambda x: 2 + (x - 3) ** 4, lambda x: abs(x - 3)):
        assert ends(least, 3.0) == 0
    assert ends(lambda x: 5 + (1e-9 * x) ** 2, 0.0) == 0
    x = np.linspace(0, 1, 9)  # a step between two observations
    fit = ng.minimize(lambda p: ((np.where(x < p["at"], p["a"], 3.0) - (x > 0.5)) ** 2).sum(), {"a": 1.0, "at": 0.55})
    assert fit.status == 2
    fit = ng.minimize(lambda p: (p["x"] - 3) ** 2, {"x": 4.0}, bounds={"x": (4.0, 5.0)}, method=method)
    assert fit.status == 3


@pytest.mark.parametrize("method", ["newton-cg", "adam", "gradient-descent"])
def test_a_maximum_nearby_is_left_or_said_to_be_none(method):
    fit = ng.minimize(lambda p: 1 - (p["x"] - 1) ** 2 + (p["x"] - 1) ** 4, {"x": 1 + 1e-9}, method=method)
    if method == "newton-cg":
        assert fit.status == 0
        assert abs(fit.params["x"].item() - 1) == pytest.approx(np.sqrt(0.5))
    else:
        assert fit.status == 2


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "adam"])
@pytest.mark.parametrize("unit", [1e-290, 1e-100, 1e160, 1e290])
def test_the_unit_of_the_loss_makes_no_difference(method, unit):
    def loss(p):
        return 1 + (1 - p["x"]) ** 2 + 10 * (p["y"] - p["x"] ** 2) ** 2

    start = {"x": ng.DimArray(np.array([-1.0, 2.0]), ("cell",)), "y": 1.0}
    one = ng.minimize(loss, start, over="cell", method=method)
    other = ng.minimize(lambda p: unit * loss(p), start, over="cell", method=method)
    np.testing.assert_array_equal(other.status, one.status)
    np.testing.assert_allclose(other.params["x"], 1, rtol=0.05 if method == "adam" else 1e-6)
    np.testing.assert_allclose(other.params["x"], one.params["x"], rtol=1e-6)
    np.testing.assert_allclose(other.cost, unit * one.cost, rtol=1e-8)


def test_progress_and_errors(capsys):
    ng.minimize(rosenbrock, starts(), over="cell", progress=True)
    assert "40/40" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'lbfgs', 'newton-cg', 'adam', 'gradient-descent'"):
        ng.minimize(rosenbrock, starts(), over="cell", method="simplex")
    with pytest.raises(ng.AxisError, match=r"one number per cell.*reduce \('cell',\)"):
        ng.minimize(rosenbrock, starts())
    with pytest.raises(TypeError, match="one floating-point array"):
        ng.minimize(lambda p: 3, {"x": 1.0})
    with pytest.raises(TypeError, match=r"needs start values, as in {'x': 1\.0}; only least_squares"):
        ng.minimize(rosenbrock, ["x", "y"])
    with pytest.raises(TypeError, match="callback must be a function of params and costs, got int"):
        ng.minimize(rosenbrock, starts(), over="cell", callback=3)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_adam_finds_a_minimum_in_any_units_and_in_bounds(scale):
    loss = lambda p, c: (p["x"] / scale - c) ** 2 + 3 * (p["y"] / scale - 2) ** 2
    start = {"x": 0.5 * scale, "y": 1.0 * scale}
    c = ng.DimArray([0.2, 1.0, 1.5], ("cell",))
    fit = ng.minimize(loss, start, c, over="cell", method="adam")
    np.testing.assert_allclose(fit.params["x"] / scale, c.data, atol=1e-3)
    np.testing.assert_allclose(fit.params["y"] / scale, 2, atol=1e-3)
    held = ng.minimize(loss, start, c, over="cell", method="adam", bounds={"x": (None, 1.1 * scale)})
    np.testing.assert_allclose(held.params["x"] / scale, [0.2, 1.0, 1.1], atol=1e-3)


def test_parameters_that_cross_the_zero_they_start_at_do_not_stay_there():
    """Where one is next to 0, its own size says nothing of how far it may go, nor of what a slope is worth."""
    rng, t = np.random.default_rng(6), np.linspace(0, 4, 16)
    size, rate, rest = (rng.uniform(*ends, (12, 1)) for ends in ((1, 3), (0.4, 1.2), (-0.5, 0.5)))
    y = size * np.exp(-rate * t) + rest + 0.03 * rng.normal(size=(12, 16))
    loss = lambda p, t, y: np.log(np.cosh((p["a"] * np.exp(-p["k"] * t) + p["o"] - y) * 10)).sum()
    data = ng.DimArray(t, "t"), ng.DimArray(y, ("cell", "t"))
    fit = ng.minimize(loss, {"a": 2.0, "k": 0.8, "o": 0.0}, *data, over="cell", method="adam", max_iterations=5000)
    for i in range(12):
        one = lambda p, i=i: float(loss(dict(zip("ako", p, strict=True)), t, y[i]))
        best = scipy.optimize.minimize(one, [2.0, 0.8, 0.0], options={"gtol": 1e-6})
        np.testing.assert_allclose(fit.cost[i], best.fun, rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "rate"), [("adam", None), ("adam", 0.02), ("gradient-descent", lambda k: 0.5 / (1 + 0.05 * k))]
)
def test_losses_that_are_drawn_anew(method, rate):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=2000)

    def loss(p):
        at = rng.integers(0, 2000, 50)
        return ((p["a"] * x[at, 0] + p["b"] * x[at, 1] - y[at]) ** 2).mean()

    fit = ng.minimize(loss, {"a": 0.0, "b": 0.0}, method=method, learning_rate=rate, max_iterations=600)
    np.testing.assert_allclose([fit.params["a"], fit.params["b"]], [1, -2], atol=0.05)
    assert fit.status == 1
    assert fit.iterations == 600


def test_losses_that_overflow_are_stepped_back_from():
    top = ng.DimArray([1.0, 700.0, np.nan], ("cell",))
    loss = lambda p, top: np.exp(p["x"] * top) - 2.0 * p["x"] * top
    for method in ("adam", "lbfgs", "newton-cg", "gradient-descent"):
        fit = ng.minimize(loss, {"x": 1.0}, top, over="cell", method=method, max_iterations=3000)
        assert fit.params["x"][0] == pytest.approx(np.log(2), abs=1e-3)
        assert fit.status[2] == 5
        assert np.isfinite(fit.params["x"][1])


def test_a_single_problem_is_scipys():
    size = 300
    start = np.where(np.arange(size) % 2, 1.0, -1.2)

    def valley(p):
        x = p["x"]
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    fit = ng.minimize(valley, {"x": start}, max_iterations=5000)
    assert fit.status == 0
    np.testing.assert_allclose(fit.params["x"], 1, atol=1e-5)
    box = ng.minimize(valley, {"x": start}, bounds={"x": (None, 0.5)}, max_iterations=5000)
    want = scipy.optimize.minimize(
        scipy.optimize.rosen, np.minimum(start, 0.5), jac=scipy.optimize.rosen_der, method="L-BFGS-B",
        bounds=[(None, 0.5)] * size, options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    assert box.status == 3
    assert float(box.cost) == pytest.approx(want.fun, rel=1e-7)
    few = ng.minimize(valley, {"x": start}, max_iterations=3)
    assert few.status == 1
    assert few.iterations == 3


@pytest.mark.parametrize("method", [*METHODS, "adam"])
def test_callbacks_see_every_iteration_and_may_stop(method):
    seen = []

    def note(params, cost):
        seen.append((params["x"].dims, cost.dims, float(cost.max())))
        return len(seen) == 4

    fit = ng.minimize(rosenbrock, starts(), over="cell", method=method, callback=note)
    assert len(seen) == 4
    assert {s[:2] for s in seen} == {(("cell",), ("cell",))}
    assert (fit.status == 1).sum() > 30
    one = ng.minimize(rosenbrock, {"x": -1.0, "y": 2.0}, method=method, callback=note, max_iterations=50)
    assert len(seen) > 4
    assert seen[-1][:2] == ((), ())
    assert one.cost <= rosenbrock({"x": -1.0, "y": 2.0})


@pytest.mark.parametrize("over", ["cell", ()])
@pytest.mark.parametrize("method", METHODS)
def test_what_callbacks_are_given_is_theirs(method, over):
    """Kept, it stays what it was; written to, it changes no fit; SciPy's way to stop is taken."""
    start = starts() if over else {"x": -1.0, "y": 2.0}
    kept = []

    def keep(params, cost):
        kept.append((params, cost))
        if len(kept) == 4:
            raise StopIteration

    stopped = ng.minimize(rosenbrock, start, over=over, method=method, callback=keep)
    assert len(kept) == 4
    assert (stopped.status == 1).all()
    for params, cost in kept:
        np.testing.assert_allclose(cost, (1 - params.x) ** 2 + 100 * (params.y - params.x**2) ** 2, rtol=1e-9)

    def spoil(params, cost):
        params["x"][...], cost[...] = np.nan, -1.0

    options = {"over": over, "method": method, "max_iterations": 20}
    spoilt, plain = (ng.minimize(rosenbrock, start, callback=c, **options) for c in (spoil, None))
    xr.testing.assert_identical(spoilt.params, plain.params)



def test_nested_parameters():
    rng = np.random.default_rng(0)
    x = ng.DimArray(rng.normal(size=(40, 3)), ("row", "k"))
    y = ng.DimArray(np.tanh(x.data @ [1.0, -0.5, 0.3]) * 2 + 0.5, ("row",))
    start = {"in": {"w": ng.DimArray(np.full(3, 0.1), ("k",))}, "out": [1.0, 0.0]}

    def loss(p, x, y):
        return ((p["out"][0] * ng.tanh(ng.dot(x, p["in"]["w"], dim="k")) + p["out"][1] - y) ** 2).mean()

    fit = ng.minimize(loss, start, x, y, bounds={"out.1": (None, 0.4)})
    assert set(fit.params) == {"in.w", "out.0", "out.1"}
    assert fit.params["out.1"] == 0.4
    free = ng.minimize(loss, start, x, y)
    np.testing.assert_allclose(free.params["in.w"], [1.0, -0.5, 0.3], atol=1e-4)
    lsq = ng.least_squares(
        lambda p, x, y: p["out"][0] * ng.tanh(ng.dot(x, p["in"]["w"], dim="k")) + p["out"][1] - y, start, x, y
    )
    np.testing.assert_allclose(lsq.params["in.w"], [1.0, -0.5, 0.3], atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e-3, 1.0, -2.0])
def test_steepest_descent_ends_where_only_the_slope_tells_how_far_to_go(offset):
    """Beside the rest of the loss, what is still to be gained is less than its rounding."""
    rng = np.random.default_rng(3)
    place, bend = rng.normal(size=20) * 10 ** rng.uniform(-2, 2, 20), rng.uniform(0.5, 3, 20)
    fit = ng.minimize(
        lambda p, a, b: b * (p["x"] - a) ** 2 + (p["x"] - a) ** 4 + offset, {"x": ng.DimArray(place + rng.uniform(-1, 1, 20), "cell")},
        ng.DimArray(place, "cell"), ng.DimArray(bend, "cell"), over="cell", method="gradient-descent", max_iterations=5000,
    )
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["x"], place, rtol=1e-7, atol=1e-7)


def test_steepest_descent_to_a_loss_of_zero_has_converged():
    """The rounding of the parameters leaves something of the loss; the valley of Rosenbrock (1960), in three cells."""
    top = np.array([0.5, 2 / 3, 5 / 6])
    fit = ng.minimize(
        lambda p, a: (a - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2, {"x": -1.0, "y": 1.0},
        ng.DimArray(top, "cell"), over="cell", method="gradient-descent", max_iterations=20000,
    )  # fmt: skip
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["x"], top, rtol=1e-9)


@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "gradient-descent"])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e3])
def test_parameters_that_hardly_move_at_first_have_not_converged(method, over, unit):
    """Two lines that are steep along one parameter, which start at 0: the first step is along that alone."""
    right = np.array([3.5, 7.0, 9.8])
    fit = ng.minimize(
        lambda p, a: (p["x"] / unit + 2e6 * p["y"] - a) ** 2 + (2 * p["x"] / unit + 1e6 * p["y"] - 5) ** 2,
        {"x": 0.0, "y": 0.0}, ng.DimArray(right, "cell") if over else right[0], over=over, method=method,
    )  # fmt: skip
    if method == "gradient-descent":  # too slow for a valley like this
        assert np.isin(fit.status, (1, 6)).all()
        return
    best = np.linalg.solve([[1, 2e6], [2, 1e6]], np.stack([right, np.full(3, 5.0)]))[:, slice(None) if over else 0]
    assert (fit.status == 0).all()
    np.testing.assert_allclose([fit.params["x"] / unit, fit.params["y"]], best, rtol=1e-6)


@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_parameters_that_start_at_zero_and_end_there(method, over):
    """The helical valley of Fletcher and Powell (1963): only the way there says how large two of the parameters are."""

    def valley(p, y):
        turn, radius = np.arctan2(p["y"], p["x"]) / (2 * np.pi), np.sqrt(p["x"] ** 2 + p["y"] ** 2)
        return 50 * (p["z"] - 10 * turn) ** 2 + 50 * (radius - 1) ** 2 + 0.5 * p["z"] ** 2 + y

    data = xr.DataArray(np.zeros(2), dims="cell") if over else 0.0
    fit = ng.minimize(valley, {"x": -1.0, "y": 0.0, "z": 0.0}, data, over=over, method=method)
    assert (fit.status == 0).all()
    for name, value in {"x": 1.0, "y": 0.0, "z": 0.0}.items():
        np.testing.assert_allclose(fit.params[name], value, atol=1e-8)


WARMTH, TIME = (xr.DataArray(x, dims="i") for x in (45 + 5.0 * np.arange(1, 17), 10.0 * np.arange(33)))
METAL = xr.DataArray([
    34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872.0,
], dims="i")  # fmt: skip
DECAY = xr.DataArray([
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603,
    0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411,
    0.406,
], dims="i")  # fmt: skip
OF_MANY_SIZES = {  # problems 4, 10 and 17 of Moré, Garbow and Hillstrom (1981), their starts and their minima
    "brown": (lambda p, z: (p["a"] - 1e6) ** 2 + (p["b"] - 2e-6 + z) ** 2 + (p["a"] * p["b"] - 2) ** 2, [1.0, 1.0], 0.0),
    "meyer": (
        lambda p, z: ((p["a"] * np.exp(p["b"] / (WARMTH + p["c"])) - METAL) ** 2).sum() + z, [0.02, 4e3, 250.0],
        87.945855,
    ),
    "osborne": (
        lambda p, z: (
            (p["a"] + p["b"] * np.exp(-p["d"] * TIME) + p["c"] * np.exp(-p["e"] * TIME) - DECAY) ** 2
        ).sum() + z,
        [0.5, 1.5, -1.0, 0.01, 0.02], 5.464895e-5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
@pytest.mark.parametrize("case", OF_MANY_SIZES)
def test_converged_is_the_minimum_where_parameters_differ_by_orders_of_magnitude(case, method, over):
    loss, start, least = OF_MANY_SIZES[case]
    spread = 0.1 * np.random.default_rng(0).normal(size=(len(start), 5)) * (np.arange(5) > 0)
    near = 1 + spread * ((case, method) != ("osborne", "newton-cg"))  # one start of eight leads to a valley at 0.047
    params = {
        n: xr.DataArray(v * f, dims=over) if over else v * f[0] for n, v, f in zip("abcde", start, near, strict=False)
    }
    nothing = xr.DataArray(np.zeros(5), dims="cell") if over else 0.0
    fit = ng.minimize(loss, params, nothing, over=over, method=method, max_iterations=3000)
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.cost, least, rtol=1e-6, atol=1e-12)


def test_steepest_descent_finds_the_length_of_its_steps():
    """Twice a step, halved until the loss falls, may for ever be one that leads to the same height beyond."""
    rng = np.random.default_rng(1)
    place, bend = rng.normal(size=400) * 10 ** rng.uniform(-3, 3, 400), rng.uniform(0.3, 3, 400)
    start = {"x": ng.DimArray(place + rng.normal(size=400) * (1 + abs(place)), "cell")}
    fit = ng.minimize(
        lambda p, a, b: b * (p["x"] - a) ** 2 + 0.1, start, ng.DimArray(place, "cell"), ng.DimArray(bend, "cell"),
        over="cell", method="gradient-descent", max_iterations=100,
    )  # fmt: skip
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["x"], place, rtol=1e-5, atol=1e-5)


def test_errors_of_maximum_likelihood():
    rng = np.random.default_rng(3)
    y = xr.DataArray(rng.normal(2.0, [[1.0], [3.0]], (2, 40)), dims=("cell", "t"), coords={"cell": ["a", "b"]})
    fit = ng.minimize(lambda p, y: 0.5 * (((y - p["m"]) / p["s"]) ** 2).sum() + 40 * np.log(p["s"]), {"m": 1.0, "s": 2.0}, y, over="cell")
    m, s = y.mean("t"), y.std("t")
    want = {"m": s / np.sqrt(40), "s": s / np.sqrt(80)}  # Rao 1973, section 5f
    for n, error in want.items():
        np.testing.assert_allclose(fit.stderr[n], error, rtol=1e-6)
        np.testing.assert_allclose(fit.covariance.sel(param=n, param_wrt=n), error**2, rtol=1e-6)
        np.testing.assert_allclose(fit.fisher().sel(param=n, param_wrt=n), error**-2, rtol=1e-6)
        np.testing.assert_allclose(fit.confint()[n].sel(bound="upper"), {"m": m, "s": s}[n] + 1.959963984540054 * error, rtol=1e-6)
    assert fit.covariance.dims == ("cell", "param", "param_wrt")
    assert list(fit.stderr.cell.values) == ["a", "b"]
    np.testing.assert_allclose(fit.propagate(lambda p: p["m"] / p["s"]).stderr, np.sqrt((1 + (m / s) ** 2 / 2) / 40), rtol=1e-5)


def test_errors_of_poisson_regression_are_those_of_scoring():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 3))
    n = rng.poisson(np.exp(x @ [0.5, -0.2, 0.1]))
    fit = ng.minimize(lambda p, x, n: (np.exp((x * p["b"]).sum("k")) - n * (x * p["b"]).sum("k")).sum(), {"b": xr.DataArray(np.zeros(3), dims="k")}, xr.DataArray(x, dims=("i", "k")), xr.DataArray(n * 1.0, dims="i"))
    b = np.zeros(3)
    for _ in range(20):  # Fisher's scoring (McCullagh and Nelder 1989, section 2.5)
        information = x.T * np.exp(x @ b) @ x
        b = b + np.linalg.solve(information, x.T @ (n - np.exp(x @ b)))
    np.testing.assert_allclose(fit.params["b"], b, rtol=1e-5)
    np.testing.assert_allclose(fit.stderr["b"], np.sqrt(np.diagonal(np.linalg.inv(information))), rtol=1e-5)
    np.testing.assert_allclose(fit.covariance["b", "b"], np.linalg.inv(information), rtol=1e-4)
    np.testing.assert_allclose(fit.fisher()["b", "b"], information, rtol=1e-4)
    error = np.sqrt(np.linalg.inv(information).sum())
    np.testing.assert_allclose(fit.propagate(lambda p: p["b"].sum()).stderr, error, rtol=1e-5)


def test_a_loss_that_determines_nothing_and_one_that_is_nowhere_leave_the_errors_of_others():
    scale = xr.DataArray([1.0, 0.0, np.nan, 4.0], dims="cell")
    fit = ng.minimize(lambda p, k: 0.5 * k * (p["x"] - 1.0) ** 2 + 0.0 * p["x"], {"x": 3.0}, scale, over="cell")
    np.testing.assert_allclose(fit.stderr["x"], [1.0, np.inf, np.nan, 0.5])


class Counted:
    """A loss that counts its calls."""

    def __init__(self, loss):
        self.loss, self.calls = loss, 0

    def __call__(self, *args):
        self.calls += 1
        return self.loss(*args)


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "gradient-descent"])
@pytest.mark.parametrize("cells", [1, 3, 40, 900])
def test_a_loss_is_called_a_few_times_however_long_the_fit_takes(method, cells, monkeypatch):
    monkeypatch.setattr(slopes, "TILE_ELEMENTS", 200)
    x, y = (np.resize(STARTS[n][::-1], cells) for n in "xy")
    start = {"x": ng.DimArray(x, ("cell",)), "y": ng.DimArray(y, ("cell",))}
    most = 30 if method == "gradient-descent" else 60
    loss = Counted(lambda p: np.log(1 + rosenbrock(p)))
    fit = ng.minimize(loss, start, over="cell", method=method, max_iterations=most)
    assert fit.iterations.max() > 20
    assert loss.calls <= (9 if method == "newton-cg" else 5)  # a look at it, three evaluations, a recording
    for i in range(min(cells, 3)):  # cells end where they would alone
        one = Counted(loss.loss)
        alone = ng.minimize(one, {"x": x[i], "y": y[i]}, method="lbfgs")
        assert one.calls <= 5
        if fit.status[i] == 0:
            np.testing.assert_allclose([alone.params["x"], alone.params["y"]], 1, rtol=1e-5)
            np.testing.assert_allclose([fit.params["x"][i], fit.params["y"][i]], 1, rtol=1e-5)


@pytest.mark.parametrize("over", [(), "cell"])
def test_a_loss_that_is_drawn_anew_is_called_in_every_evaluation(over):
    rng, seen = np.random.default_rng(3), []

    def loss(p):
        seen.append(rng.normal())
        return rosenbrock(p) * (2 + 1e-7 * seen[-1])

    start = {"x": ng.DimArray(np.array([-1.0, 0.5]), ("cell",)) if over else -1.0, "y": 1.0}
    fit = ng.minimize(loss, start, over=over, max_iterations=30)
    assert len(seen) > fit.iterations.max() > 8


def test_losses_that_are_not_finite_tell_nothing_of_whether_they_are_drawn_anew():
    rng, seen = np.random.default_rng(3), []

    def loss(p):
        seen.append(rng.normal())
        far = np.inf if len(seen) == 5 else 1.0  # a look at it, two evaluations and a recording come before
        return (rosenbrock(p) * (2 + 1e-7 * seen[-1])) * far

    fit = ng.minimize(loss, {"x": -1.0, "y": 0.5}, max_iterations=30)
    assert len(seen) > fit.iterations.max() > 8


def test_rows_agree_in_their_units():
    units = np.array([[1.0, 1.0], [1e6, 0.0]])
    one = np.array([[1.0, 2.0], [3e-6, 1.0]])
    assert slopes._agree(one, one * (1 + 1e-11), units)
    assert not slopes._agree(one, np.add(one, [[0, 0], [1e-12, 0]]), units)
    assert not slopes._agree(one, np.add(one, [[0, 0], [0, 1e-6]]), units)  # of a parameter that is 0
    assert not slopes._agree(one, one * np.nan, units)


@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_a_loss_beside_a_callback_that_may_change_it_is_called_in_every_evaluation(method, over):
    start = {n: ng.DimArray(v, ("cell",)) if over else v[0] for n, v in STARTS.items()}
    loss, seen = Counted(rosenbrock), []
    ng.minimize(loss, start, over=over, method=method, callback=lambda params, cost: seen.append(loss.calls))
    assert len(seen) > 8
    assert all(x < y for x, y in itertools.pairwise(seen))


def test_python_that_follows_the_parameters_is_asked_every_time():
    def huber(p):
        off = p["x"] - 3.0
        return off**2 if abs(off) < 1 else 2 * abs(off) - 1

    loss = Counted(huber)
    fit = ng.minimize(loss, {"x": 40.0}, method="gradient-descent", max_iterations=200)
    assert fit.params["x"].item() == pytest.approx(3, abs=1e-6)
    assert loss.calls > fit.iterations > 2


def decay_by_hand(v, t, y):
    """What a Poisson process with a mean that decays makes improbable, with its gradient."""
    seen, mean = np.isfinite(y), v[0] * np.exp(-v[1] * t)
    off = (1 - y / mean)[seen]
    return (mean - y * np.log(mean))[seen].sum(), [off @ (mean / v[0])[seen], -off @ (mean * t)[seen]]


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_programs_of_losses_serve_any_number_of_cells(size, method, monkeypatch):
    """Tiles of fewer cells than there are, of one, and cells that no tile is full of."""
    monkeypatch.setattr(slopes, "TILE_ELEMENTS", 9 * size)
    t, rate = np.linspace(0, 2, 9), np.linspace(0.3, 1.4, 40)
    y = RNG.poisson(20 * np.exp(-rate[:, None] * t)).astype(float)
    y[5, 3] = np.nan

    def loss(p, t, y):
        mean = p["a"] * np.exp(-p["k"] * t)
        return ng.where(ng.isnan(y), 0.0, mean - y * np.log(mean)).sum()

    counted = Counted(loss)
    data = ng.DimArray(t, "t"), ng.DimArray(y, ("cell", "t"))
    fit = ng.minimize(counted, {"a": 10.0, "k": 0.5}, *data, over="cell", method=method)
    assert (fit.status == 0).all()
    assert counted.calls <= (5 if method == "lbfgs" else 9)  # as many again for Hessian products
    for i in (0, 5, 39):
        best = scipy.optimize.minimize(decay_by_hand, [10.0, 0.5], (t, y[i]), jac=True, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose([fit.params["a"][i], fit.params["k"][i]], best.x, rtol=1e-6)


def test_losses_with_slopes_of_0_times_infinity_are_recorded_too():
    loss = Counted(lambda p, t, y: ((ng.where(t > 0, np.sqrt(np.exp(p["l"]) * t), 0.0) - y) ** 2).sum())
    t, y = np.arange(6.0), RNG.uniform(2, 4, (30, 6))
    fit = ng.minimize(loss, {"l": 9.0}, ng.DimArray(t, "t"), ng.DimArray(y, ("cell", "t")), over="cell", tol=1e-10)
    np.testing.assert_allclose(fit.params["l"], 2 * np.log(y @ np.sqrt(t) / t.sum()), rtol=1e-8)
    assert loss.calls <= 5
    assert fit.iterations.max() > 3


def test_a_fit_with_a_recorded_loss_can_be_pickled():
    fit = ng.minimize(rosenbrock, starts(), over="cell")
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_allclose(again.covariance[0], [[0.5, 1], [1, 2.005]], rtol=1e-6)  # the inverse of the Hessian
    np.testing.assert_array_equal(again.params["x"], fit.params["x"])


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e20])
@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "gradient-descent"])
def test_fits_that_start_at_the_minimum_have_converged(method, unit):
    rng = np.random.default_rng(3)
    t = xr.DataArray(np.linspace(0, 3, 20), dims="t")
    y = 2 * np.exp(-xr.DataArray(rng.uniform(0.5, 1, 300), dims="c") * t)
    y = y + 0.1 * rng.standard_normal(y.shape)
    residual = lambda p, t, y: p["a"] * np.exp(-p["k"] * t) - y
    first = ng.least_squares(residual, {"a": 1.0, "k": 1.0}, t, y, over="c")
    loss = lambda p, t, y: unit * (residual(p, t, y) ** 2).sum()
    fit = ng.minimize(loss, first.params, t, y, over="c", method=method)
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["k"], first.params["k"], rtol=1e-9)
