"""Squares of lengths, and of multiples of them, are what these are the roots of: nothing else is to be known of them."""

import numpy as np
import pytest

import namedgrad as ng
from tests.support.calls import calls_of

RNG = np.random.default_rng(11)
L, W = 1.7, RNG.normal(size=4)
X = np.vstack([RNG.normal(size=(2, 3)), np.zeros((2, 3))])  # two of four lengths are 0
DX, DL = RNG.normal(size=X.shape), -0.4

ROOTS = {
    "norm": lambda x: np.linalg.norm(x, axis=-1),
    "root of a sum": lambda x: np.sqrt(np.sum(x**2, axis=-1)),
    "root of an einsum": lambda x: np.sqrt(np.einsum("...i,...i->...", x, x)),
}
SQUARES = {
    "power": lambda r, l: (r / l) ** 2,
    "square": lambda r, l: np.square(r / l),
    "product": lambda r, l: (r / l) * (r / l),
    "of the root": lambda r, l: r**2 / l**2,
    "of a negative one": lambda r, l: (-r) * (-r / l) / l,
    "of another multiple": lambda r, l: (2 * r / l) * (r * 0.5) / l,
    "indexed before": lambda r, l: (r[[2, 0, 1, 3]] / l)[[1, 2, 0, 3]] ** 2,
}


def bells(root, square):
    """A sum of bells of lengths, and its derivatives as told by formula."""
    return lambda x, l: np.sum(W * np.exp(-0.5 * square(root(x), l)))


def slopes():
    e = W * np.exp(-0.5 * np.sum(X**2, axis=1) / L**2)
    return -e[:, None] * X / L**2, np.sum(e * np.sum(X**2, axis=1)) / L**3


def bend():
    """The Hessian times the directions: of each bell, with q = x/l², e·(q (q·d) - d/l²) and what the width adds."""
    e, s = W * np.exp(-0.5 * np.sum(X**2, axis=1) / L**2), np.sum(X**2, axis=1)
    along = np.sum(X * DX, axis=1)
    mixed = e * (2 / L**3 - s / L**5)
    to_x = e[:, None] * (X * along[:, None] / L**4 - DX / L**2) + mixed[:, None] * X * DL
    return to_x, np.sum(mixed * along) + np.sum(e * s * (s / L**6 - 3 / L**4)) * DL


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("root", ROOTS)
def test_derivatives_where_some_are_0(root, square):
    f = bells(ROOTS[root], SQUARES[square])
    gradient, product = ng.grad(f, wrt=(0, 1)), lambda x, l: ng.hvp(lambda p: f(*p), (x, l), (DX, DL))
    for g, want in ((gradient, slopes()), (product, bend())):
        for way in (g, ng.compile(g)):
            for got, told in zip(way(X, L), want, strict=True):
                np.testing.assert_allclose(got, told, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("root", ROOTS)
def test_programs_that_were_recorded_elsewhere(root, square):
    """Where no length was 0; and forward."""
    f = bells(ROOTS[root], SQUARES[square])
    g = ng.compile(ng.grad(f, wrt=(0, 1)))
    g(X + 0.3, L)
    for got, told in zip(g(X, L), slopes(), strict=True):
        np.testing.assert_allclose(got, told, rtol=1e-12, atol=1e-13)
    moved = ng.pushforward(f, (X, L), (DX, DL))[1]
    np.testing.assert_allclose(moved, np.sum(slopes()[0] * DX) + slopes()[1] * DL, rtol=1e-12)


def test_one_gradient_per_slice():
    x = ng.DimArray(np.stack([X, X[::-1]]), ("b", "i", "k")).vectorize("b")
    w = ng.DimArray(W, ("i",))
    f = lambda x: (w * ng.exp(-0.5 * (ng.vector_norm(x, "k") / L) ** 2)).sum()
    e = np.exp(-0.5 * np.sum(x.data**2, axis=-1) / L**2) * W
    np.testing.assert_allclose(ng.grad(f)(x).data, -e[..., None] * x.data / L**2, rtol=1e-12, atol=1e-13)


def test_what_is_joined_to_multiples_is_none():
    """Beside lengths stand cells that are 0 and no lengths: their squares bend by themselves."""
    f = lambda x: np.sum(np.concatenate([np.abs(x[:2]), x[2:]]) ** 2 * np.array([1.0, 2.0, 3.0, 4.0]))
    x, v = np.array([0.0, 0.5, 0.0, -1.0]), RNG.normal(size=4)
    np.testing.assert_allclose(ng.hvp(f, x, v), 2 * np.array([1.0, 2.0, 3.0, 4.0]) * v, rtol=1e-12)


@pytest.mark.parametrize(
    "even",
    [np.cos, lambda r: np.exp(-(r**2)), lambda r: 1 / (1 + r**2), lambda r: np.cosh(r) * np.cos(r)],
    ids=["cosine", "bell", "Lorentzian", "product"],
)
def test_gradients_of_what_is_made_of_even_functions(even):
    """By differences of fourth order, which see smooth functions of squares."""
    f = lambda x: np.sum(W * np.sin(3 * even(np.sqrt(np.sum(x**2, axis=1))) + 0.2) ** 2)
    step = 3e-4
    want = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        d = np.zeros_like(X)
        d[i] = step
        want[i] = (8 * (f(X + d) - f(X - d)) - f(X + 2 * d) + f(X - 2 * d)) / (12 * step)
    np.testing.assert_allclose(ng.grad(f)(X), want, rtol=1e-8, atol=1e-9)


def test_a_bell_of_distances_takes_as_many_calls_as_one_of_their_squares():
    """It took six times as many where one was 0, as that of a point to itself is."""
    f = lambda x: np.sum(np.exp(-np.sqrt(np.sum(x**2, axis=1)) ** 2 / 0.3) * W)
    g = lambda x: np.sum(np.exp(-np.sum(x**2, axis=1) / 0.3) * W)
    few, many = (len(calls_of(lambda f=f: ng.grad(f)(X)).names) for f in (g, f))
    assert many <= few + 6


LOST = {  # a factor of the root is not finite where that is 0: 0 times it is no number
    "quotient": lambda x: (np.sqrt(x) / x) ** 2,
    "logarithm": lambda x: (np.sqrt(x) * np.log(x)) ** 2,
    "missing": lambda x: (np.sqrt(x) * np.array([1.0, np.nan])) ** 2,
    "constant": lambda x: (np.sqrt(x) / np.array([1.0, 0.0])) ** 2,
    "root again": lambda x: (np.sqrt(x) / (3 * np.sqrt(x))) ** 2,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LOST)
def test_factors_that_are_not_finite_are_not_hidden(name):
    x, f = np.array([1.0, 0.0]), LOST[name]
    both = lambda x: ng.pullback(f, x)[0]
    for way in (both, ng.compile(both)):
        np.testing.assert_array_equal(np.isnan(way(x)), [False, True])
    slopes = ng.grad(lambda x: np.sum(f(x) * np.array([0.7, -1.3])))
    assert np.isnan(slopes(x)).tolist() == np.isnan(ng.compile(slopes)(x)).tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("beside", [1.0, 0.0, np.nan, np.inf])
def test_a_root_of_a_negative_number_has_no_slope_whatever_is_beside_it(beside):
    g = ng.grad(lambda x: np.sum(np.sqrt(x) ** 2 * np.array([2.0, -0.3])))
    for way in (g, ng.compile(g)):
        found = way(np.array([-1.0, beside]))
        assert np.isnan(found[0])
        if beside < 2:
            assert found[1] == -0.3


def test_factors_that_are_0_and_differentiated_by_another_transform():
    """d²/dp dy of sin(y √p) sin(√p), which is y p + ..., is 1 at y = 0 and p = 0, in either order."""
    f = lambda y, p: np.sin(y * np.sqrt(p)) * np.sin(np.sqrt(p))
    g = ng.grad
    assert g(lambda y: g(lambda p: f(y, p))(0.0))(0.0) == pytest.approx(1.0, rel=1e-12)
    assert g(lambda p: g(lambda y: f(y, p))(0.0))(0.0) == pytest.approx(1.0, rel=1e-12)
    v = ng.pushforward(lambda y: g(lambda p: f(y, p))(0.0), (0.0,), (-2.5,))[1]
    assert v == pytest.approx(-2.5, rel=1e-12)


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("root", ROOTS)
def test_values_are_those_of_numpy(root, square):
    f = lambda x: SQUARES[square](ROOTS[root](x), L)
    for way in (lambda x: ng.pullback(f, x)[0], ng.compile(lambda x: ng.pullback(f, x)[0])):
        np.testing.assert_allclose(way(X), f(X), rtol=1e-14, atol=0)
