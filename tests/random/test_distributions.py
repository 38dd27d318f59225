"""Draws have the distribution that they are named after, and move with their parameters as its quantiles do."""

import numpy as np
import pytest
from scipy import special, stats

import namedgrad as ng
from tests.random.table import BY_QUANTILE, CONTINUOUS, DISCRETE, FORMULAS

N = 20_000


def draw(name, parameters, n=N, rng=0):
    return getattr(ng.random, name)(**parameters, sizes={"n": n}, rng=rng)


def quantile(name):
    if name in FORMULAS:
        return FORMULAS[name][1]
    return lambda u, **parameters: CONTINUOUS[name].scipy(**parameters).ppf(u)


def parameters_of(name):
    return FORMULAS[name][0] if name in FORMULAS else CONTINUOUS[name].parameters


@pytest.mark.parametrize("name", [*CONTINUOUS, *FORMULAS])
def test_draws_have_the_distribution(name):
    given = parameters_of(name)
    cdf = (lambda x: FORMULAS[name][2](x, **given)) if name in FORMULAS else CONTINUOUS[name].scipy(**given).cdf
    assert stats.kstest(draw(name, given).data, cdf).pvalue > 0.005


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_the_distribution(name):
    x = draw(name, DISCRETE[name].parameters).data
    assert x.dtype == np.int64
    known = DISCRETE[name].scipy(**DISCRETE[name].parameters)
    values = np.arange(x.min(), np.percentile(x, 99) + 1)
    expected = known.pmf(values)
    counts = np.array([(x == v).sum() for v in values])
    observed, expected = np.append(counts, N - counts.sum()), np.append(expected, 1 - expected.sum()) * N
    kept = expected > 5
    assert observed[~kept].sum() < 20
    assert stats.chi2.sf(np.sum((observed - expected)[kept] ** 2 / expected[kept]), kept.sum() - 1) > 0.005


@pytest.mark.parametrize("name", [*sorted(BY_QUANTILE), *FORMULAS])
def test_a_draw_moves_as_its_quantile_does(name):
    given = parameters_of(name)
    x = draw(name, given, 40).data
    known = quantile(name)
    u = FORMULAS[name][2](x, **given) if name in FORMULAS else CONTINUOUS[name].scipy(**given).cdf(x)
    inside = (u > 0.02) & (u < 0.98)
    for parameter, value in given.items():
        if (name, parameter) == ("vonmises", "mu"):
            expected = np.ones(40)
        else:
            h = 1e-3 if name != "vonmises" else 1e-2
            shifts = [known(u, **{**given, parameter: value + k * h}) for k in (-3, -2, -1, 1, 2, 3)]
            expected = np.dot([-1 / 60, 3 / 20, -3 / 4, 3 / 4, -3 / 20, 1 / 60], shifts) / h  # sixth order
        _, tangent = ng.pushforward(
            lambda p, parameter=parameter: draw(name, {**given, parameter: p}, 40), (value,), (1.0,)
        )
        np.testing.assert_allclose(tangent.data[inside], expected[inside], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [*CONTINUOUS, *FORMULAS])
def test_gradients_of_moments(name):
    """The gradient of a mean of draws is that of the expectation (of the sine: all have one), within its standard error."""
    given = parameters_of(name)
    u = (np.arange(2000) + 0.5) / 2000
    for parameter, value in given.items():
        if (name, parameter) == ("vonmises", "mu"):
            continue
        slopes = ng.pushforward(
            lambda p, parameter=parameter: ng.sin(draw(name, {**given, parameter: p}, rng=7)), (value,), (1.0,)
        )[1].data
        h = 1e-3
        low, high = (np.mean(np.sin(quantile(name)(u, **{**given, parameter: value + k * h}))) for k in (-1, 1))
        error = slopes.std() / np.sqrt(N)
        assert abs(slopes.mean() - (high - low) / (2 * h)) < 4 * error + 2e-3, parameter


@pytest.mark.parametrize("name", [*CONTINUOUS, *FORMULAS])
def test_derivatives_of_both_orders(name):
    given = parameters_of(name)
    weights = np.linspace(-1, 2, 6)

    def f(*values):
        return (draw(name, dict(zip(given, values, strict=True)), 6, rng=3) * ng.DimArray(weights, "n")).sum()

    if name in BY_QUANTILE - {"gamma", "invgamma", "gengamma", "chisquare", "beta", "vonmises", "wald"} or name in FORMULAS:
        ng.check_gradients(f, *given.values())
        return
    # The draw itself jumps when a parameter of the generator's own algorithm moves: differences of first derivatives
    # at the drawn values are taken along the slope instead.
    point = list(given.values())
    first = ng.grad(lambda v: f(*v))(tuple(point))
    back = [ng.grad(f, i)(*point) for i in range(len(point))]
    np.testing.assert_allclose(first, back, rtol=1e-12)
    second = np.array([[ng.grad(lambda *v, i=i: ng.grad(f, i)(*v), j)(*point) for j in range(len(point))] for i in range(len(point))])
    assert np.isfinite(second).all()
    np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-11)
    assert np.any(second != 0)
    for i in range(len(point)):  # forward over reverse agrees with reverse over reverse
        direction = tuple(float(i == j) for j in range(len(point)))
        _, mixed = ng.pushforward(lambda *v: ng.grad(lambda w: f(*w))(v), tuple(point), direction)
        np.testing.assert_allclose(mixed, second[i], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_slopes_of_heavy_tails_are_finite_where_they_are_in_double_precision(mode: str) -> None:
    """They are quotients of small draws from Gamma(a), whose quantile at u is ``(u Γ(a + 1))**(1 / a)``."""
    df = 0.1
    x = ng.random.t(ng.DimArray(np.float32(df), ()), sizes={"n": 200}, rng=0).to_numpy().astype(float)
    slope = ng.jacobian(lambda d: ng.random.t(d, sizes={"n": 200}, rng=0), mode=mode)(ng.DimArray(np.float32(df), ())).to_numpy()
    z = ng.random.normal(ng.DimArray(np.float32(0), ()), sizes={"n": 200}, rng=0).to_numpy().astype(float)
    half, log = df / 2, np.log(df / 2 * (z / x) ** 2)
    far = log < -20
    assert far.sum() > 50
    growth = (special.digamma(half + 1) - log) / half
    np.testing.assert_allclose(slope[far], (x * (0.5 / df - 0.25 * growth))[far], rtol=1e-3)


@pytest.mark.parametrize("df", [1e3, 1e5, 1e7])
def test_float32_slopes_in_many_degrees_of_freedom(df: float) -> None:
    """The slope of a mean square is far below those of the sum and of its number, which are not to be rounded apart."""
    squares = lambda d: (ng.random.t(d, sizes={"n": 2000}, rng=0) ** 2).sum()
    x = ng.random.t(ng.DimArray(df, ()), sizes={"n": 2000}, rng=0).to_numpy()
    z = ng.random.normal(ng.DimArray(0.0, ()), sizes={"n": 2000}, rng=0).to_numpy()
    share = stats.chi2.cdf(df * (z / x) ** 2, df)
    at = lambda df: np.sum(z**2 * df / stats.chi2.ppf(share, df))
    want = (at(1.01 * df) - at(0.99 * df)) / (0.02 * df)
    assert ng.grad(squares)(ng.DimArray(df, ())).item() == pytest.approx(want, rel=1e-3)
    assert ng.grad(squares)(ng.DimArray(np.float32(df), ())).item() == pytest.approx(want, rel=5e-3)
