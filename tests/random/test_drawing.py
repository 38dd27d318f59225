"""Where draws come from and where they go: dims, seeds, slices, backends."""

import dask.array as da
import numpy as np
import pytest
import scipy.special
import xarray as xr
from scipy.special import polygamma, psi

import namedgrad as ng

R = ng.random
rng = np.random.default_rng


def test_the_generator_is_explicit_and_moves_on():
    r = rng(1)
    first, second = R.normal(sizes={"x": 3}, rng=r), R.normal(sizes={"x": 3}, rng=r)
    expected = rng(1).standard_normal(6)
    np.testing.assert_array_equal(first.data, expected[:3])
    np.testing.assert_array_equal(second.data, expected[3:])
    np.testing.assert_array_equal(R.normal(sizes={"x": 3}, rng=1).data, expected[:3])
    for wrong in (None, "seed", np.random.RandomState(0), True):
        with pytest.raises(TypeError, match="rng"):
            R.normal(sizes={"x": 3}, rng=wrong)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("normal", (1.5, 2.0)), ("gamma", (1.5, 2.0)), ("beta", (1.5, 2.0)), ("laplace", (1.5, 2.0)), ("logistic", (1.5, 2.0)),
     ("gumbel", (1.5, 2.0)), ("exponential", (1.5,)), ("weibull", (1.5,)), ("pareto", (1.5,)), ("power", (1.5,)),
     ("rayleigh", (1.5,)), ("triangular", (0.0, 1.0, 3.0)), ("uniform", (1.5, 2.0)), ("vonmises", (0.0, 2.0)),
     ("chisquare", (1.5,)), ("lognormal", (0.5, 1.0)), ("poisson", (2.5,)), ("geometric", (0.4,)), ("binomial", (9, 0.4)),
     ("hypergeometric", (5, 6, 4)), ("zipf", (2.5,)), ("logseries", (0.6,)), ("integers", (3, 9))],
)  # fmt: skip
def test_numpy_draws_the_same(name, arguments):
    scale = 1.5 if name in ("weibull", "pareto") else 1
    expected = scale * getattr(rng(5), name)(*arguments, size=7)
    drawn = getattr(R, name)(*arguments, *([1.5] if scale != 1 else []), sizes={"x": 7}, rng=rng(5))
    np.testing.assert_allclose(drawn.data, expected, rtol=1e-13)


def test_dims_are_those_of_the_parameters_then_sizes():
    loc = ng.DimArray(np.zeros((2, 3)), ("b", "a"))
    scale = ng.DimArray(np.ones((4, 3)), ("c", "a"), vectorized="c")
    x = R.normal(loc, scale, sizes={"z": 5, "a": 3, "y": 1}, rng=0)
    assert (x.dims, x.vectorized, x.sizes) == (("b", "a", "z", "y"), ("c",), {"b": 2, "a": 3, "z": 5, "y": 1})
    with pytest.raises(ng.AxisError, match="sizes asks for a: 4"):
        R.normal(loc, sizes={"a": 4}, rng=0)
    with pytest.raises(ng.AxisError, match="'c' in sizes is a vectorized axis"):
        R.normal(0.0, scale, sizes={"c": 4}, rng=0)
    with pytest.raises(ng.AxisError, match="sizes of 'a' differ"):
        R.normal(loc, ng.ones({"a": 4}), rng=0)
    with pytest.raises(TypeError, match="no mapping"):
        R.normal(sizes=3, rng=0)


@pytest.mark.parametrize("draw", [R.normal, R.gamma, R.beta, R.poisson, R.wald], ids=lambda f: f.__name__)
def test_stored_order_and_hiding_change_no_draw(draw):
    a = ng.DimArray(rng(0).uniform(1, 3, (3, 4)), ("p", "q"))
    others = () if draw is R.poisson else (ng.DimArray(rng(1).uniform(1, 3, 4), "q"),)
    plain = draw(a, *others, sizes={"n": 6}, rng=2)
    swapped = draw(ng.DimArray(a.data.T.copy(), ("q", "p")), *others, sizes={"n": 6}, rng=2)
    assert swapped.dims == ("q", "p", "n")
    np.testing.assert_array_equal(plain.data, swapped.transpose("p", "q", "n").data)
    hidden = draw(a.vectorize("p"), *others, sizes={"n": 6}, rng=2)
    assert hidden.vectorized == ("p",)
    np.testing.assert_array_equal(plain.data, hidden.data)


def test_slices_draw_independently_and_have_their_own_gradient():
    loc, shape = ng.DimArray([0.0, 10.0, 20.0], "b"), ng.DimArray([0.5, 2.0, 8.0], "b")

    def f(loc, shape):
        return (R.normal(loc, sizes={"n": 5}, rng=0) * R.gamma(shape, sizes={"n": 5}, rng=1)).sum()

    x = R.normal(ng.zeros({"b": 3}, vectorized="b"), sizes={"n": 5}, rng=0).data
    assert len(np.unique(x)) == 15
    hidden = ng.grad(f, (0, 1))(loc.vectorize("b"), shape.vectorize("b"))
    summed = ng.grad(f, (0, 1))(loc, shape)
    for one, all_ in zip(hidden, summed, strict=True):
        assert one.vectorized == ("b",)
        np.testing.assert_allclose(one.data, all_.data, rtol=1e-13)
    shared = ng.grad(lambda s: R.gamma(s, loc.vectorize("b") + 1, sizes={"n": 5}, rng=1).sum())(2.0)
    assert shared.shape == () or shared.vectorized == ("b",)
    assert len(np.unique(np.asarray(shared.data))) == 3


def test_float32_and_size_0():
    shape = ng.DimArray(np.float32([1, 2]), "x")
    for x in (R.gamma(shape, 2.0, rng=0), R.normal(shape, rng=0), R.laplace(shape, rng=0), R.beta(shape, shape, rng=0)):
        assert x.dtype == np.float32
    assert ng.grad(lambda s: R.gamma(s, rng=0).sum())(shape).dtype == np.float32
    assert R.normal(ng.DimArray([1, 2], "x"), rng=0).dtype == np.float64
    empty = ng.zeros({"x": 0, "y": 2}) + 1
    assert R.gamma(empty, rng=0).shape == (0, 2)
    assert ng.grad(lambda s: R.gamma(s, rng=0).sum())(empty).shape == (0, 2)
    assert R.normal(rng=0).shape == ()
    assert R.poisson(3.0, rng=0).shape == ()


def test_a_vanishing_draw_does_not_move():
    alpha = ng.DimArray([1e-4] * 50, "x")
    assert (R.gamma(alpha, rng=0).data == 0).any()
    assert np.isfinite(ng.grad(lambda a: R.gamma(a, rng=0).sum())(alpha).data).all()
    assert np.isfinite(ng.grad(lambda a: R.beta(a, alpha, rng=0).sum())(alpha).data).all()
    shares = R.dirichlet(alpha, "x", sizes={"n": 3}, rng=0)
    np.testing.assert_allclose(shares.sum("x").data, 1)
    weights = ng.DimArray(np.arange(50.0), "x")
    assert np.isfinite(ng.grad(lambda a: (R.dirichlet(a, "x", rng=0) * weights).sum())(alpha).data).all()


@pytest.mark.parametrize(
    "call",
    [lambda: R.normal(0.0, -1.0, rng=0), lambda: R.gamma(-1.0, rng=0), lambda: R.beta(0.0, 1.0, rng=0),
     lambda: R.weibull(0.0, rng=0), lambda: R.triangular(0.0, 2.0, 1.0, rng=0), lambda: R.noncentral_chisquare(0.5, 1.0, rng=0),
     lambda: R.bernoulli(1.5, rng=0), lambda: R.wald(1.0, 0.0, rng=0), lambda: R.categorical(ng.DimArray([-1.0, 2.0], "k"), "k", rng=0)],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(call):
    with pytest.raises(ValueError, match=r"random\.\w+"):
        call()


def test_types_are_refused():
    with pytest.raises(TypeError, match="whole number"):
        R.binomial(2.5, 0.5, rng=0)
    with pytest.raises(TypeError, match="whole number"):
        R.multinomial(2.5, ng.ones({"k": 2}), "k", rng=0)
    with pytest.raises(TypeError, match="complex"):
        R.normal(1j, rng=0)
    with pytest.raises(ng.AxisError, match="no names"):
        R.normal(0.0, np.ones(3), rng=0)


# ------------------------------------------------------------------------------------------------ vectors and categories


def test_multivariate_normal():
    cov = np.array([[4.0, 1.5, 0.5], [1.5, 3.0, -0.7], [0.5, -0.7, 2.0]])
    mean = ng.DimArray(np.arange(6.0).reshape(2, 3), ("b", "x"))
    c = ng.DimArray(cov, ("x", "y"))
    x = R.multivariate_normal(mean, c, ("x", "y"), sizes={"n": 20_000}, rng=0)
    assert x.dims == ("b", "x", "n")
    for b in range(2):
        np.testing.assert_allclose(np.cov(x.data[b]), cov, atol=0.12)
        np.testing.assert_allclose(x.data[b].mean(1), mean.data[b], atol=0.06)
    # d E[(w.x)²] / d cov = w wᵀ
    w = ng.DimArray([1.0, -2.0, 0.5], "x")
    g = ng.grad(lambda c: (ng.dot(w, R.multivariate_normal(0.0, c, ("x", "y"), sizes={"n": 20_000}, rng=0), dim="x") ** 2).mean())(c)
    np.testing.assert_allclose(g.data, np.outer(w.data, w.data), atol=0.12)
    swapped = R.multivariate_normal(mean, ng.DimArray(cov, ("y", "x")), ("x", "y"), sizes={"n": 20_000}, rng=0)
    np.testing.assert_allclose(swapped.data, x.data)
    many = ng.DimArray(np.stack([cov, 2 * cov]), ("b", "x", "y"), vectorized="b")
    assert R.multivariate_normal(0.0, many, ("x", "y"), rng=0).vectorized == ("b",)
    ng.check_gradients(lambda c: (R.multivariate_normal(0.0, (c + c.rename(x="y", y="x")) / 2, ("x", "y"), rng=0) ** 2).sum(), c)
    with pytest.raises(ng.AxisError, match="column dim"):
        R.multivariate_normal(ng.ones({"y": 3}), c, ("x", "y"), rng=0)


def test_dirichlet():
    alpha = np.array([0.4, 1.0, 2.5])
    a = ng.DimArray(alpha, "k")
    x = R.dirichlet(a, "k", sizes={"n": 20_000}, rng=0)
    total = alpha.sum()
    np.testing.assert_allclose(x.mean("n").data, alpha / total, atol=0.01)
    np.testing.assert_allclose(x.var("n").data, alpha * (total - alpha) / total**2 / (total + 1), atol=0.004)
    w = ng.DimArray([1.0, -2.0, 0.5], "k")
    g = ng.grad(lambda a: (w * R.dirichlet(a, "k", sizes={"n": 20_000}, rng=0)).sum("k").mean())(a)
    np.testing.assert_allclose(g.data, (w.data - (w.data * alpha).sum() / total) / total, atol=0.02)


def test_categories():
    p = ng.DimArray([[0.2, 0.3, 0.5], [0.7, 0.3, 0.0]], ("b", "k"))
    x = R.categorical(p, "k", sizes={"n": 20_000}, rng=0)
    assert (x.dims, x.dtype) == (("b", "n"), np.int64)
    for b in range(2):
        np.testing.assert_allclose(np.bincount(x.data[b], minlength=3) / 20_000, p.data[b], atol=0.015)
    y = R.categorical(7 * p.vectorize("b"), "k", sizes={"n": 20_000}, rng=0)
    np.testing.assert_array_equal(x.data, y.data)
    n = ng.DimArray([5, 40], "m")
    counts = R.multinomial(n, p, "k", sizes={"n": 3000}, rng=0)
    assert counts.dtype == np.int64
    assert set(counts.dims) == {"k", "m", "b", "n"}
    assert (counts.sum("k") == n).all()
    np.testing.assert_allclose(counts.mean("n").transpose("m", "b", "k").data, n.data[:, None, None] * p.data, rtol=0.05, atol=0.02)
    covariance = np.cov(counts.isel(m=1, b=0).transpose("k", "n").data)
    np.testing.assert_allclose(covariance, 40 * (np.diag(p.data[0]) - np.outer(p.data[0], p.data[0])), atol=0.7)


def test_choice_and_permutation():
    x = ng.DimArray(np.arange(12.0).reshape(3, 4), ("b", "x"))
    mixed = R.permutation(x, "x", rng=0)
    assert (np.sort(mixed.data) == x.data).all()
    assert (mixed.data - mixed.data[0] == np.array([[0], [4], [8]])).all()  # rows together
    alone = R.permutation(x.vectorize("b"), "x", rng=0)
    assert (np.sort(alone.data) == x.data).all()
    assert not (alone.data - alone.data[0] == np.array([[0], [4], [8]])).all()
    np.testing.assert_array_equal(np.sort(R.permutation(6, "x", rng=3).data), np.arange(6))
    drawn = R.choice(x, "x", sizes={"n": 4000}, p=ng.DimArray([0.1, 0.2, 0.3, 0.4], "x"), rng=0)
    assert drawn.dims == ("b", "n")
    np.testing.assert_allclose(np.bincount(drawn.data[0].astype(int)) / 4000, [0.1, 0.2, 0.3, 0.4], atol=0.03)
    g = ng.grad(lambda x: R.choice(x, "x", sizes={"n": 100}, rng=0).sum())(x)
    assert (g.data.sum(1) == 100).all()
    few = R.choice(x, "x", sizes={"n": 3}, replace=False, rng=0)
    assert all(len(set(row)) == 3 for row in few.data)
    with pytest.raises(ValueError, match="5 of 4 cells"):
        R.choice(x, "x", sizes={"n": 5}, replace=False, rng=0)
    with pytest.raises(TypeError, match="without replacement"):
        R.choice(x, "x", sizes={"n": 2, "m": 1}, replace=False, rng=0)


# ------------------------------------------------------------------------------------------------ transforms and faces


def test_inside_transforms():
    shape = ng.DimArray([0.7, 2.0], "x")

    def f(s, r):
        return (R.gamma(s, sizes={"n": 3}, rng=r) * R.normal(s, sizes={"n": 3}, rng=r)).sum()

    with pytest.raises(ng.TraceError, match="draw outside"):
        ng.compile(lambda s: R.gamma(s, rng=0).sum())(shape)
    expected = ng.grad(lambda s: f(s, rng(3)))(shape)
    r, later = rng(3), rng(3)
    f(shape, later)
    kept = ng.grad(lambda s: ng.checkpoint(lambda s: f(s, r))(s))(shape)  # runs twice, draws once
    np.testing.assert_allclose(kept.data, expected.data, rtol=1e-14)
    assert r.random() == later.random()
    nested = ng.checkpoint(lambda s: ng.checkpoint(lambda s: f(s, r))(s) * R.normal(rng=r))
    plain = lambda s: f(s, r) * R.normal(rng=r)
    state = r.bit_generator.state
    one = ng.grad(plain)(shape)
    r.bit_generator.state = state
    np.testing.assert_allclose(ng.grad(nested)(shape).data, one.data, rtol=1e-14)
    value, _g = ng.value_and_grad(lambda s: f(s, 5))(shape)
    assert value.item() == f(shape, 5).item()
    h = ng.hessian(lambda s: f(s, 5))(shape)
    np.testing.assert_allclose(h.data, h.data.T, rtol=1e-12)


def test_xarray_and_positional():
    loc = xr.DataArray([0.0, 10.0], dims="x", coords={"x": ["a", "b"]}, name="loc")
    x = R.normal(loc, sizes={"time": 3}, rng=0)
    assert isinstance(x, xr.DataArray)
    assert x.dims == ("x", "time")
    assert list(x.x.values) == ["a", "b"]
    g = ng.grad(lambda s: R.gamma(s + 1, sizes={"n": 4}, rng=0).sum())(loc)
    assert list(g.x.values) == ["a", "b"]
    p = ng.positional(np.ones((2, 3)))
    assert R.normal(p, np.float64(2.0), rng=0).shape == (2, 3)
    np.testing.assert_array_equal(R.normal(p, rng=0).data, rng(0).normal(size=(2, 3)) + 1)
    assert ng.grad(lambda x: np.sum(R.gamma(x, rng=0)))(np.ones((2, 3))).shape == (2, 3)


def test_dask_draws_chunk_by_chunk_when_computed():
    shape = ng.DimArray(da.full((4, 6), 2.0, chunks=(2, 3)), ("x", "y"))
    x = R.gamma(shape, sizes={"n": 2}, rng=0)
    assert x.backend == "dask"
    assert x.data.chunks[:2] == ((2, 2), (3, 3))
    one, again = x.compute().data, x.compute().data
    np.testing.assert_array_equal(one, again)
    assert len(np.unique(one)) == 48
    np.testing.assert_array_equal(one, R.gamma(shape, sizes={"n": 2}, rng=0).compute().data)
    g = ng.grad(lambda s: R.gamma(s, sizes={"n": 2}, rng=0).sum())(shape)
    assert g.backend == "dask"
    from namedgrad.backends import NUMPY

    np.testing.assert_allclose(g.compute().data, NUMPY.gamma_slope(one, 2.0, 0).sum(2), rtol=1e-12)
    r = rng(0)
    assert not np.array_equal(R.normal(shape, rng=r).compute().data, R.normal(shape, rng=r).compute().data)
    assert R.beta(shape, 3.0, rng=0).compute().shape == (4, 6)
    assert R.binomial(5, shape / 4, rng=0).compute().dtype == np.int64
    assert R.wald(shape, shape, rng=0).compute().shape == (4, 6)
    assert R.categorical(shape, "y", sizes={"n": 2}, rng=0).compute().shape == (4, 2)
    assert (R.multinomial(5, shape, "y", rng=0).sum("y").compute().data == 5).all()
    assert np.isfinite(R.dirichlet(shape, "y", rng=0).compute().data).all()
    spread = ng.hessian(lambda s: R.beta(s, s, rng=0).sum(), part="diagonal")(shape)
    assert np.isfinite(spread.compute().data).all()


# ------------------------------------------------------------------------------------------------ slopes


# By mpmath, from integrals of the derivative of the density at 40 digits.
GAMMA = [
    (5.244206408274974e-302, 0.001, 3.635011195158782e-296),
    (0.02766048600200111, 0.01, 8.681504395078825),
    (3.5860743275182387e-16, 0.1, 1.260166186349138e-13),
    (10.984835632108625, 0.3, 5.6458591069129795),
    (0.6931471805599455, 1.0, 0.9680448304420446),
    (0.005742018823720448, 1.7, 0.02016531167418511),
    (11.228872242412661, 3.0, 1.899985949049227),
    (16.965773884666373, 19.5, 0.9400037166648892),
    (23.140837575010913, 21.0, 1.0576892632630106),
    (193.80847799095295, 300.0, 0.7978415929990262),
    (9999.666668642047, 10000.0, 0.9999999998024547),
    (10611.486364888995, 10000.0, 1.0299866718730741),
]
BETA = [
    (1.0, 0.01, 0.01, 0.0),
    (0.14784084777893497, 0.1, 100.0, 0.10696165918337411),
    (0.3454915028125263, 0.5, 0.5, 0.9485406783120043),
    (0.008745321048228618, 1.0, 2.3, 0.036325951969012976),
    (0.9979919516614258, 5.0, 1.0, 0.00040120617173153896),
    (0.7064359226907514, 40.0, 0.1, 0.006202993105749614),
    (0.2306311315478888, 300.0, 1000.0, 0.0005921256821105302),
    (0.14255931671003072, 2.0, 3.0, 0.11132785639577245),
]


@pytest.mark.parametrize(("z", "a", "slope"), GAMMA)
def test_gamma_slopes(z, a, slope):
    from namedgrad.backends import NUMPY

    np.testing.assert_allclose(NUMPY.gamma_slope(np.float64(z), np.float64(a), 0), slope, rtol=3e-12)


@pytest.mark.parametrize(("x", "a", "b", "slope"), BETA)
def test_beta_slopes(x, a, b, slope):
    from namedgrad.backends import NUMPY

    np.testing.assert_allclose(NUMPY.beta_slope(*map(np.float64, (x, 1 - x, a, b)), 0, 0), slope, rtol=3e-12)


@pytest.mark.parametrize("b", [0.7, 4.0, 60.0])
def test_beta_slopes_of_draws_that_leave_almost_1(b):
    """Where ``x`` is small ``F = x**a / (a B(a, b))`` to a relative ``b x``: what remains of 1 tells nothing of it."""
    a = 0.05

    def logs(a, b):
        return np.log(R.beta(a, b, sizes={"n": 200}, rng=0))

    x = np.exp(logs(a, b).data)
    near = (x > 0) & (x < 1e-17)
    assert near.sum() > 20
    _, slope = ng.pushforward(lambda b: logs(a, b), (b,), (1.0,))
    np.testing.assert_allclose(slope.data[near], (psi(b) - psi(a + b)) / a, rtol=1e-12)
    _, curve = ng.pushforward(lambda b: ng.pushforward(lambda b: logs(a, b), (b,), (1.0,))[1], (b,), (1.0,))
    np.testing.assert_allclose(curve.data[near], (polygamma(1, b) - polygamma(1, a + b)) / a, rtol=1e-10)
    _, mixed = ng.pushforward(lambda a: ng.pushforward(lambda b: logs(a, b), (b,), (1.0,))[1], (a,), (1.0,))
    expected = -polygamma(1, a + b) / a - (psi(b) - psi(a + b)) / a**2
    np.testing.assert_allclose(mixed.data[near], expected, rtol=1e-10)


def test_slopes_of_many_cells_are_those_of_each():
    from namedgrad.backends import NUMPY

    z = rng(0).gamma(2.0, size=(3, 20_000))
    a = np.linspace(0.5, 4, 3)[:, None]
    many = NUMPY.gamma_slope(z, a, 0)
    np.testing.assert_array_equal(many[1, 9_990:10_010], NUMPY.gamma_slope(z[1, 9_990:10_010], a[1], 0))
    assert many.shape == z.shape


SHORT = {
    "uniform": (0.0, 1.0), "logistic": (0.0, 1.0), "gumbel": (0.0, 1.0), "laplace": (0.0, 1.0), "halfcauchy": (0.0, 1.0),
    "triangular": (0.0, 0.5, 1.0), "truncexpon": (1.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_uniform_draws_stay_below_1_in_half_precision(name):
    x = getattr(R, name)(*(ng.DimArray(np.float16(p), ()) for p in SHORT[name]), sizes={"n": 50_000}, rng=0)
    assert x.dtype == np.float16
    assert np.isfinite(x.data).all()
    assert name != "uniform" or x.data.max() < 1


def test_what_has_no_share_is_never_drawn():
    p = ng.DimArray(np.float16([0.5, 0.5, 0.0]), "k")
    assert R.categorical(p, "k", sizes={"n": 50_000}, rng=0).data.max() == 1
    assert R.bernoulli(ng.DimArray(np.float16(1), ()), sizes={"n": 50_000}, rng=0).data.all()


@pytest.mark.parametrize("p", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], []], ids=str)
def test_shares_that_are_none(p):
    p = ng.DimArray(np.array(p), "k")
    for draw in (lambda: R.categorical(p, "k", rng=0), lambda: R.multinomial(3, p, "k", rng=0), lambda: R.choice(p, "k", p=p, rng=0)):
        with pytest.raises(ValueError, match=r"the sum of p|no categories"):
            draw()
    with pytest.raises(ValueError, match="p is NaN"):
        R.bernoulli(np.nan, rng=0)
    for name, arguments in (("t", (0.0,)), ("f", (0.0, 1.0)), ("f", (1.0, 0.0)), ("noncentral_f", (2.0, 0.0, 1.0))):
        with pytest.raises(ValueError, match="negative or zero"):
            getattr(R, name)(*arguments, rng=0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("weibull", (1.7,)), ("pareto", (6.0,)), ("truncexpon", (1.7, 0.7)), ("gengamma", (2.1, 1.4)), ("kumaraswamy", (1.7,)), ("gamma", (1.7,))],
)
def test_numbers_beside_single_precision_add_none(name, arguments):
    last = 1.3
    x = getattr(R, name)(*arguments, ng.DimArray(np.float32([last, last]), "b"), sizes={"n": 5}, rng=0)
    assert x.dtype == np.float32
    expected = getattr(R, name)(*arguments, ng.DimArray([last, last], "b"), sizes={"n": 5}, rng=0)
    np.testing.assert_allclose(x.data, expected.data, rtol=1e-5)


@pytest.mark.parametrize("shape", [1e-4, 1e-3, 1e-2])
def test_curvature_of_the_smallest_draws(shape):
    """``z = (u Γ(a + 1))**(1 / a)`` but for a relative ``z``: of draws that are subnormal numbers, too."""
    draw = lambda a: R.gamma(a, sizes={"n": 4000}, rng=1)
    slope = lambda a: ng.pushforward(draw, (a,), (1.0,))[1]
    first, second = ng.pushforward(slope, (shape,), (1.0,))
    z, digamma, trigamma = draw(shape).data, scipy.special.digamma(shape + 1), scipy.special.polygamma(1, shape + 1)
    assert ((z > 0) & (z < 1e-308)).any()
    some = (z > 1e-300) & (z < 1e-20)
    rate = (digamma - np.log(z[some])) / shape  # of log z
    np.testing.assert_allclose(first.data[some], z[some] * rate, rtol=1e-9)
    turn = (trigamma - 2 * rate) / shape
    np.testing.assert_allclose(second.data[some], z[some] * (rate**2 + turn), rtol=1e-8)
    assert np.isfinite(second.data).all()
    assert np.abs(second.data[z < 1e-308]).max() < 1e-290
