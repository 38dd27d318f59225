"""The choices at special points that docs/explanation/conventions.rst states, in both modes."""

import functools

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

NAN, INF = float("nan"), float("inf")

# what, function of one array over ("x",), where, gradient of its sum
CASES = [
    ("abs at 0", abs, [-2.0, 0.0, 3.0], [-1, 0, 1]),
    ("complex abs at 0", abs, [3 + 4j, 0j], [0.6 + 0.8j, 0]),
    ("std at 0", lambda x: x.std(), [2.0, 2.0, 2.0], [0, 0, 0]),
    ("weighted std at 0", lambda x: x.weighted(ng.DimArray([1.0, 2.0, 1.0], ("x",))).std(), [2.0, 2.0, 2.0], [0, 0, 0]),
    ("hypot at 0", lambda x: ng.hypot(x, 0 * x), [0.0, -2.0], [0, -1]),
    ("arctan2 at 0", lambda x: ng.arctan2(x, 0 * ng.stop_gradient(x)), [0.0], [0]),
    ("ties of max", lambda x: x.max(), [1.0, 5.0, 5.0], [0, 0.5, 0.5]),
    ("ties of min", lambda x: x.min(), [1.0, 1.0, 5.0], [0.5, 0.5, 0]),
    ("ties of maximum", lambda x: ng.maximum(x, 2.0), [1.0, 2.0, 3.0], [0, 0.5, 1]),
    ("ties of minimum", lambda x: ng.minimum(x, 2.0), [1.0, 2.0, 3.0], [1, 0.5, 0]),
    ("ties of median", lambda x: x.median(), [1.0, 4.0, 4.0, 4.0, 9.0], [0, 1 / 3, 1 / 3, 1 / 3, 0]),
    ("clip at its bounds", lambda x: ng.clip(x, 1.0, 2.0), [0.5, 1.0, 2.0, 2.5], [0, 1, 1, 0]),
    ("clip at bounds that are crossed", lambda x: ng.clip(x, 2.0, 1.0), [0.5, 1.0, 2.0, 2.5], [0, 0, 0, 0]),
    ("np.clip at bounds that are crossed", lambda x: np.clip(x, 2.0, 1.0), [0.5, 1.0, 2.0, 2.5], [0, 0, 0, 0]),
    ("ties of sort", lambda x: x.sort("x") * ng.arange("x", 3.0), [2.0, 2.0, 1.0], [1, 2, 0]),
    ("floor, ceil, rint, sign", lambda x: ng.floor(x) + ng.ceil(x) + ng.rint(x) + ng.sign(x), [0.4, 1.0], [0, 0]),
    ("remainder in its divisor", lambda x: 7.0 % x, [2.0, -3.0], [-3, 3]),
    ("power 0", lambda x: x**0.0, [0.0, 2.0], [0, 0]),
    ("base 0 and power 0", lambda y: ng.zeros({"x": 2}) ** y, [0.0, 1.0], [0, 0]),
    ("the only NaN of fmax", lambda x: ng.fmax(x, 2.0), [NAN, 3.0], [0, 1]),
    ("hypot and arctan2 at infinity", lambda x: ng.hypot(x, 1.0) + ng.arctan2(x, 1.0), [-INF, INF], [-1, 1]),
    ("logaddexp at infinity", lambda x: ng.logaddexp(x, ng.stop_gradient(x)), [-INF, INF], [0, 0.5]),
    ("xlogy at 0", lambda x: ng.xlogy(0.0, x) + ng.xlogy(x, 0.0), [0.0], [0]),
    ("heaviside, nextafter and copysign", lambda x: ng.heaviside(x, 0.5) + ng.nextafter(1.0, x) + ng.copysign(1.0, x), [0.0, -2.0], [0, 0]),
    ("base 0", lambda y: ng.zeros({"x": 2}) ** y, [1.0, 2.5], [0, 0]),
    ("prod at one zero", lambda x: x.prod(), [0.0, 3.0, 4.0], [12, 0, 0]),
    ("prod at two zeros", lambda x: x.prod(), [0.0, 0.0, 4.0], [0, 0, 0]),
    ("repeated gather", lambda x: x.isel(x=[1, 1, 0]), [5.0, 6.0], [1, 2]),
    ("repeated add", ng.zeros({"x": 2}).at[{"x": [1, 1]}].add, [5.0, 6.0], [1, 1]),
    ("repeated set", ng.zeros({"x": 2}).at[{"x": [1, 1]}].set, [5.0, 6.0], [0, 1]),
    ("masked by where", lambda x: ng.where(x > 0, ng.log(x), 0.0), [4.0, 0.0, NAN], [0.25, 0, 0]),
    ("skipped NaN", lambda x: ng.sqrt(x).sum(), [4.0, NAN], [0.25, 0]),
    ("nothing but NaN", lambda x: x.mean(), [NAN, NAN], [0, 0]),
    ("an infinite slope after one of 0", lambda x: ng.sqrt(x**2) + ng.sqrt(0 * x), [0.0, -2.0], [0, -1]),
    ("an infinite slope before one of 0", lambda x: 0 * ng.sqrt(x) + ng.maximum(ng.sqrt(x), 1.0), [0.0, 4.0], [0, 0.25]),
    ("an infinite slope before weights of 0", lambda x: ng.dot(ng.eye("y", "x", 2), ng.sqrt(x), dim="x").isel(y=1), [0.0, 4.0], [0, 0.25]),
    ("infinite slopes before a product of 0", lambda x: ng.sqrt(x).prod(), [0.0, 0.0, 4.0], [0, 0, 0]),
    ("infinite slopes before a length", lambda x: ng.norm(ng.sqrt(x)), [0.0, 4.0], [0.25, 0.25]),
    ("an infinity that counts", ng.sqrt, [0.0, 4.0], [INF, 0.25]),
]


@pytest.mark.parametrize(("f", "at", "want"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_special_point(f, at, want):
    x = ng.DimArray(at, ("x",))
    gradient = ng.grad(lambda x: ng.real(f(x)).sum())(x)
    np.testing.assert_allclose(gradient.data, want, atol=1e-15)
    if x.dtype.kind == "f":
        rows = ng.eye("x", "row", len(at)).vectorize("row")
        _, pushed = ng.pushforward(lambda x: f(x).sum(), (x,), (rows,))
        np.testing.assert_allclose(pushed.data, want, atol=1e-15)


def under(x):
    return ((x - x.rename(i="j")) ** 2).sum("k")


POINTS = ng.DimArray([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]], ("i", "k"))  # two of which meet
SCALES = ng.DimArray([0.5, 3.0], "s")
SQUARES = {  # a square of a length, and the same without a root
    "abs": (lambda x: abs(x) ** 2, lambda x: x * x),
    "product": (lambda x: (lambda d: d * d)(abs(x - x[{"i": 0}])), lambda x: (x - x[{"i": 0}]) ** 2),
    "complex abs": (lambda x: np.square(abs((x - 1) * (1 + 2j))), lambda x: 5 * (x - 1) ** 2),
    "sqrt": (lambda x: np.sqrt(x - 1) ** 2, lambda x: x - 1),
    "power": (lambda x: (((x - x.rename(i="j")) ** 2).sum("k") ** 0.5) ** 2, under),
    "hypot": (lambda x: ng.hypot(x - 1, 2 * (x - 1)) ** 2.0, lambda x: 5 * (x - 1) ** 2),
    "norm": (lambda x: ng.norm(x - x.rename(i="j"), "k") ** 2, under),
    "kernel": (lambda x: np.exp(-(ng.norm(x - x.rename(i="j"), "k", keepdims=True) ** 2)), lambda x: np.exp(-under(x))),
    "negative": (lambda x: np.exp((lambda d: -d * d)(ng.norm(x - x.rename(i="j"), "k"))), lambda x: np.exp(-under(x))),
    "scaled": (lambda x: np.exp(-0.5 * (ng.norm(x - x.rename(i="j"), "k") / 3) ** 2), lambda x: np.exp(-under(x) / 18)),
    "several scales": (lambda x: (lambda d: SCALES * d * d)(abs(x - x[{"i": 0}])), lambda x: SCALES * (x - x[{"i": 0}]) ** 2),
    "own scale": (lambda x: ((x.sum() * abs(x - x[{"i": 0}])) ** 2), lambda x: (x.sum() * (x - x[{"i": 0}])) ** 2),
    "std": (lambda x: x.std("i") ** 2 + (x - x[{"i": [0, 0, 0]}]).std("i") ** 2, lambda x: 2 * x.var("i")),
    "cdist": (lambda x: ng.cdist(x, x.rename(i="j"), "k") ** 2, under),
    "cdist by products": (lambda x: ng.cdist(x, x.rename(i="j"), "k", compute_mode="matmul") ** 2, under),
    "pdist": (lambda x: ng.pdist(x, ("i", "k")) ** 2, lambda x: under(x) / 2),
}


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_lengths_are_smooth_where_these_are_0(name):
    rooted, plain = ((lambda x, f=f: f(x).sum()) for f in SQUARES[name])
    compiled = ng.compile(ng.grad(lambda x: (ng.grad(rooted)(x) * POINTS).sum()))
    np.testing.assert_allclose(rooted(POINTS).item(), plain(POINTS).item(), rtol=1e-14)
    assert ng.value_and_grad(rooted)(POINTS)[0].item() == rooted(POINTS).item()
    np.testing.assert_allclose(ng.grad(rooted)(POINTS).data, ng.grad(plain)(POINTS).data, atol=1e-14)
    want = ng.hessian(plain)(POINTS).data
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(ng.grad(rooted), mode=mode)(POINTS).data, want, atol=1e-13)
    np.testing.assert_allclose(compiled(POINTS).data, ng.hvp(plain, POINTS, POINTS).data, atol=1e-13)
    np.testing.assert_allclose(compiled(POINTS + 1).data, ng.hvp(plain, POINTS + 1, POINTS).data, atol=1e-13)
    both = ng.DimArray(np.stack([POINTS.data, 2 * POINTS.data - 1]), ("b", "i", "k")).vectorize("b")
    slices = ng.hvp(rooted, both, both).devectorize().data
    for got, x in zip(slices, (POINTS, POINTS * 2 - 1), strict=True):
        np.testing.assert_allclose(got, ng.hvp(plain, x, x).data, atol=1e-13)


def test_squares_of_lengths_in_numpy_programs():
    x = np.random.default_rng(0).normal(size=16)
    rbf = lambda x, y: np.exp(-np.linalg.norm(x - y) ** 2)
    np.testing.assert_allclose(ng.jacobian(ng.grad(rbf, 0), 1)(x, x), 2 * np.eye(16), atol=1e-15)
    by_products = lambda x, y: (lambda d: np.exp(-0.5 * d * d))(np.linalg.norm(x / 3 - y / 3))
    np.testing.assert_allclose(ng.jacobian(ng.grad(by_products, 0), 1)(x, x), np.eye(16) / 9, atol=1e-15)
    pairs = lambda x: (np.linalg.norm(x[:, None] - x[None], axis=-1) ** 2).sum()
    y = x.reshape(8, 2)
    np.testing.assert_allclose(ng.hvp(pairs, y, y), 4 * (8 * y - y.sum(0)), atol=1e-13)
    assert ng.grad(ng.grad(lambda t: np.abs(t) ** 2))(0.0) == 2.0
    assert ng.grad(lambda t: np.sqrt(t) ** 2)(0.0) == 1.0


def matern(nu, d):
    a = np.sqrt(2 * nu) * d
    return (1 + a + (a * a / 3 if nu == 2.5 else 0)) * np.exp(-a)


RADIAL = {  # smooth functions of r² by way of r, and their bend in r at 0
    "cos": (np.cos, -1),
    "sinc": (np.sinc, -(np.pi**2) / 3),
    "j0": (scipy.special.j0, -0.5),
    "log of cosh": (lambda r: np.log(np.cosh(r)), 1),
    "odd times odd": (lambda r: r * np.tanh(3 * r), 6),
    "odd squared": (lambda r: np.arcsin(r) ** 2, 2),
    "sum of exponentials": (lambda r: np.exp(1 + r) + np.exp(1 - r), 2 * np.e),
    "power": (lambda r: (2 + r) ** 3 + (2 - r) ** 3, 24),
    "hypot": (lambda r: np.hypot(r, 2), 0.5),
    "Matérn, nu = 3/2": (lambda r: matern(1.5, r), -3),
    "Matérn, nu = 5/2": (lambda r: matern(2.5, r), -5 / 3),
    "complex exponential": (lambda r: np.real(np.exp(2j * r)), -4),
    "distance on the circle": (lambda r: np.abs(np.exp(1j * r) - 1) ** 2, 2),
    "Wendland": (lambda r: np.maximum(1 - r, 0) ** 4 * (4 * r + 1), -20),
    "mish": (lambda r: ng.mish(r) + ng.mish(-r), 1.28),  # 2 mish''(0) = 32 / 25
    "great circle": (lambda r: np.arccos(np.cos(r)) ** 2, 2),
    "hyperbolic": (lambda r: np.arccosh(np.cosh(r)) ** 2, 2),
}
LENGTHS = {
    "norm": np.linalg.norm,
    "root": lambda x: np.sqrt(np.sum(x**2)),
    "abs": lambda x: np.abs(x[0] + 1j * x[1]),
    "hypot": lambda x: np.hypot(x[0], x[1]),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", RADIAL)
def test_smooth_functions_of_lengths_bend_where_these_are_0(name, length):
    f, bend = RADIAL[name]
    radial, v = (lambda x: f(LENGTHS[length](x))), np.array([0.3, -1.2])
    zero, batch = np.zeros(2), ng.positional(np.array([[0.0, 0.0], [0.2, 0.1], [0.0, 0.0]]), vectorized="b")
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(ng.grad(radial), mode=mode)(zero), bend * np.eye(2), rtol=1e-12)
    np.testing.assert_array_equal(ng.grad(radial)(zero), 0)
    assert ng.value_and_grad(radial)(zero)[0] == radial(zero)
    np.testing.assert_allclose(ng.hvp(radial, batch, v).data[[0, 2]], [bend * v] * 2, rtol=1e-12)
    away = np.array([0.2, 0.1])
    compiled = ng.compile(lambda x: ng.hvp(radial, x, v))
    for x in (away, zero, away):  # recorded where nothing is 0
        want = bend * v if x is zero else ng.hvp(radial, batch, v).data[1]
        np.testing.assert_allclose(compiled(x), want, rtol=1e-12)


def test_lengths_of_one_operand_are_one_length():
    kernel = lambda x: (1 + np.linalg.norm(x)) * np.exp(-np.linalg.norm(x))  # 1 - |x|²/2 + ...
    np.testing.assert_allclose(ng.hessian(kernel)(np.zeros(2)), -np.eye(2), rtol=1e-14)
    kernel = lambda x: (lambda z: np.sum((1 + np.abs(z)) * np.exp(-np.abs(z))))(x * (1 + 2j))
    np.testing.assert_allclose(ng.hessian(kernel)(np.zeros(2)), -5 * np.eye(2), rtol=1e-14)
    assert ng.grad(lambda s: np.sqrt(s) * np.sin(2 * np.sqrt(s)))(0.0) == 2.0


def test_kernels_of_points_that_meet():
    def kernel(x, y, scale):
        d = np.sqrt(np.sum((x[:, None] - y[None]) ** 2, -1)) / scale
        return np.sum(matern(2.5, d))

    x = np.array([[1.0, 2.0], [1.0, 2.0]])
    mixed = ng.jacobian(ng.grad(kernel, 0), 1)
    for f in (mixed, ng.compile(mixed)):
        got = f(x, x, 0.7)  # of the squared exponential's form at 0: each pair adds 5/3 scale**-2
        np.testing.assert_allclose(got, np.broadcast_to(5 / 3 / 0.49 * np.eye(2)[:, None], (2, 2, 2, 2)), rtol=1e-12)
    third = ng.grad(lambda s: np.trace(ng.hessian(lambda u: kernel(u[None], x[:1], s))(x[0])))
    np.testing.assert_allclose(third(0.7), 4 * 5 / 3 / 0.7**3, rtol=1e-12)


ROOTS = {  # smooth functions by way of a root, where it is 0, and their slopes
    "cos": (lambda s: np.cos(np.sqrt(s)), 0.0, -0.5),
    "odd times odd": (lambda s: np.sqrt(s) * np.sin(2 * np.sqrt(s)), 0.0, 2),
    "one root": (lambda s: (lambda r: np.exp(r) + np.exp(-r))(np.sqrt(s)), 0.0, 1),
    "power": (lambda s: np.cosh(s**0.5), 0.0, 0.5),
    "complex exponential": (lambda s: np.real(np.exp(1j * np.sqrt(s))), 0.0, -0.5),
    "Chebyshev": (lambda x: np.cos(3 * np.arccos(x)), 1.0, 9),
    "Chebyshev of an angle": (lambda x: np.cosh(2 * np.arccosh(x)), 1.0, 4),
    "what an angle lacks of half a turn": (lambda x: (np.pi - np.arccos(x)) ** 2, -1.0, 2),
    "haversine": (lambda a: (2 * np.arcsin(np.sqrt(a))) ** 2, 0.0, 4),
    "slope that counts": (lambda s: np.exp(np.sqrt(s)), 0.0, np.inf),
}


@pytest.mark.parametrize("name", ROOTS)
def test_smooth_functions_of_roots_have_slopes_where_these_are_0(name):
    f, at, slope = ROOTS[name]
    for got in (ng.grad(f), ng.jacobian(f, mode="forward"), ng.compile(ng.grad(f))):
        np.testing.assert_allclose(got(at), slope, rtol=1e-12)
    named = ng.DimArray([at, at], "x", vectorized="x")
    np.testing.assert_allclose(ng.grad(f)(named).data, slope, rtol=1e-12)
    away, cells, weights = 0.3 + 0.4 * at, np.array([at, 0.3 + 0.4 * at, at]), np.array([1.0, 1.0, 0.0])
    want = [slope, ng.grad(f)(away), 0]
    reverse = ng.compile(ng.grad(lambda x: (f(x) * weights).sum()))
    forward = ng.compile(lambda x: ng.pushforward(f, (x,), (weights,))[1])
    for program in (reverse, forward):
        program(np.full(3, away))  # recorded where no cell is special
        np.testing.assert_allclose(program(cells), want, rtol=1e-12)


FOURTH = {  # functions of r² by way of r, and the fourth derivative in r at 0
    "power": (lambda r: r**4, 24),
    "cos": (np.cos, 1),
    "j0": (scipy.special.j0, 3 / 8),
    "odd times odd": (lambda r: r * np.tanh(3 * r), -216),
    "squares of two": (lambda r: np.exp(-(r**2)) * r**2, -24),
    "Matérn, nu = 5/2": (lambda r: matern(2.5, r), 25),
    "great circle": (lambda r: np.arccos(np.cos(r)) ** 2, 0),
}


def derivative(f, modes):
    """One after the other, of a function of a number."""
    for mode in modes:
        f = ng.grad(f) if mode == "r" else (lambda x, f=f: ng.pushforward(f, (x,), (np.ones_like(x),))[1])
    return f


def interpolated(f, at, order):
    """A derivative of a function of numbers that is smooth beside this one: that of its polynomial of degree 20."""
    values = lambda x: np.array([f(v) for v in x])
    return np.polynomial.Chebyshev.interpolate(values, 20, domain=[at - 0.15, at + 0.15]).deriv(order)(at)


@pytest.mark.parametrize(
    ("length", "name"), [(k, name) for k in LENGTHS for name in FOURTH if k != "root" or name in ("power", "cos")]
)
def test_fourth_derivatives_of_smooth_functions_of_lengths_where_these_are_0(length, name):
    f, want = FOURTH[name]
    along = lambda t: f(LENGTHS[length](t * np.array([3.0, 4.0])))
    for modes in ("rrrr", "ffff", "rffr"):
        np.testing.assert_allclose(derivative(along, modes)(0.0), 625 * want, rtol=1e-12, atol=1e-9)
    several = ng.positional(np.array([0.0, 0.3, 0.0]), vectorized="b")
    got = derivative(along, "rrrr")(several).data
    np.testing.assert_allclose(got[[0, 2]], 625 * want, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got[1], interpolated(along, 0.3, 4), rtol=1e-5, atol=1e-3)


FURTHER = {  # smooth functions by way of a root, where it is 0, and their second and third derivatives
    "cos": (lambda s: np.cos(np.sqrt(s)), 0.0, 1 / 12, -1 / 120),
    "fourth power": (lambda s: np.sqrt(s) ** 4, 0.0, 2, 0),
    "odd times odd": (lambda s: np.sqrt(s) * np.sin(2 * np.sqrt(s)), 0.0, -8 / 3, 8 / 5),
    "one root": (lambda s: (lambda r: np.exp(r) + np.exp(-r))(np.sqrt(s)), 0.0, 1 / 6, 1 / 60),
    "power": (lambda s: np.cosh(s**0.5), 0.0, 1 / 12, 1 / 120),
    "complex exponential": (lambda s: np.real(np.exp(1j * np.sqrt(s))), 0.0, 1 / 12, -1 / 120),
    "joined": (lambda s: np.stack([2 * np.sqrt(s), 1 + s])[0] ** 4, 0.0, 32, 0),
    "Chebyshev": (lambda x: np.cos(3 * np.arccos(x)), 1.0, 24, 24),
    "Chebyshev of an angle": (lambda x: np.cosh(2 * np.arccosh(x)), 1.0, 4, 0),
    "angle": (lambda x: np.arccos(x) ** 2, 1.0, 2 / 3, -8 / 15),
    "hyperbolic angle": (lambda x: np.arccosh(x) ** 2, 1.0, -2 / 3, 8 / 15),
    "what an angle lacks of half a turn": (lambda x: (np.pi - np.arccos(x)) ** 2, -1.0, 2 / 3, 8 / 15),
    "haversine": (lambda a: (2 * np.arcsin(np.sqrt(a))) ** 2, 0.0, 8 / 3, 64 / 15),
    "slope that counts": (lambda s: np.exp(-np.sqrt(s)), 0.0, np.inf, -np.inf),
}


@pytest.mark.parametrize("name", FURTHER)
def test_smooth_functions_of_roots_bend_where_these_are_0(name):
    f, at, second, third = FURTHER[name]
    for modes in ("rrr", "fff", "rfr", "frf"):
        np.testing.assert_allclose(derivative(f, modes[:2])(at), second, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(derivative(f, modes)(at), third, rtol=1e-12, atol=1e-12)
    away = 1.6 if "arccosh" in f.__code__.co_names else 0.3 + 0.4 * at
    cells = ng.positional(np.array([at, away, at]), vectorized="b")
    for program in (derivative(f, "rr"), ng.compile(derivative(f, "fr"))):
        got = program(cells).data
        np.testing.assert_allclose(got[[0, 2]], second, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got[1], interpolated(f, away, 2), rtol=1e-8)


def test_distances_on_manifolds_at_their_start():
    start = np.deg2rad(np.array([48.0, 11.0]))

    def great_circle(p):
        a = np.sin((p[0] - start[0]) / 2) ** 2 + np.cos(p[0]) * np.cos(start[0]) * np.sin((p[1] - start[1]) / 2) ** 2
        return 2 * np.arcsin(np.sqrt(a))

    def poincare(u):
        v = np.array([0.1, 0.2])
        return np.arccosh(1 + 2 * np.sum((u - v) ** 2) / ((1 - np.sum(u * u)) * (1 - np.sum(v * v))))

    metric = ng.hessian(lambda p: great_circle(p) ** 2 / 2)(start)
    np.testing.assert_allclose(metric, np.diag([1, np.cos(start[0]) ** 2]), atol=1e-15)
    metric = ng.hessian(lambda u: poincare(u) ** 2 / 2)(np.array([0.1, 0.2]))
    np.testing.assert_allclose(metric, 4 / 0.95**2 * np.eye(2), rtol=1e-12, atol=1e-15)


MOVES = {
    "position": lambda d: d[0],
    "positions": lambda d: d[np.array([0, 0])] / np.sqrt(2),
    "slice": lambda d: d[:1],
    "mask": lambda d: d[np.array([True, False])],
    "another shape": lambda d: d.reshape(2, 1)[:1],
    "another order": lambda d: d[None].T[:1],
    "more axes": lambda d: (d[:, None] * np.array([0.6, 0.8]))[0],
    "broadcast": lambda d: np.broadcast_to(d / 3, (9, 2))[:, 0],
    "joined": lambda d: np.concatenate([d[1:], d[:1] / np.sqrt(2), d[:1] / np.sqrt(2)])[1:],
    "stacked": lambda d: np.stack([d[1], d[0]])[1:],
    "split": lambda d: np.split(d, 2)[0],
    "rolled": lambda d: np.roll(d, 1)[1:],
    "flipped": lambda d: np.flip(d)[1:],
    "padded": lambda d: np.pad(d[:1], 2, constant_values=3.0),
    "padded by what there is": lambda d: np.pad(d[:1], 1, mode="edge") / np.sqrt(3),
    "tiled": lambda d: np.tile(d[:1], 3) / np.sqrt(3),
    "repeated": lambda d: np.repeat(d[:1], 3) / np.sqrt(3),
    "diagonal": lambda d: np.diag(np.diag(d[:1])),
    "triangle": lambda d: np.tril(d[:1, None] * np.ones((1, 3))),
    "chosen": lambda d: np.where(np.array([True, False]), d, 2.0),
    "chosen from two": lambda d: np.where(np.array([True, False]), d, 3 * d[::-1])[:1],
    "taken": lambda d: np.take(d, [0]),
    "in another precision": lambda d: d[:1].astype(np.longdouble).astype(float),
    "alone in a sum": lambda d: d[:1].sum(),
    "smallest": lambda d: np.min(d),
    "largest of one": lambda d: d[:1].max(),
    "sorted": lambda d: np.sort(d[::-1])[:1],
    "partitioned": lambda d: np.partition(d[::-1], 0)[:1],
    "lowest quantile": lambda d: np.quantile(d, 0.0),
    "quantile of a place": lambda d: np.quantile(d, 0.4, method="lower"),
    "median of one": lambda d: np.median(d[:1]),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("vectorized", [False, True])
def test_lengths_stay_lengths_wherever_their_cells_go(name, vectorized):
    squared = lambda x: (MOVES[name](np.linalg.norm(np.stack([x, x + 1]), axis=-1)) ** 2).sum()
    v = np.array([0.3, -1.2])
    if vectorized:
        zero = ng.positional(np.zeros((3, 2)), vectorized="b")
        np.testing.assert_allclose(ng.hvp(squared, zero, v).data, np.tile(2 * v, (3, 1)), rtol=1e-14)
    else:
        np.testing.assert_allclose(ng.hessian(squared)(np.zeros(2)), 2 * np.eye(2), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(ng.compile(ng.grad(lambda x: (ng.grad(squared)(x) * v).sum()))(np.zeros(2)), 2 * v, rtol=1e-14)


TWICE = {  # where a length is computed twice, in two places, or moved twice: 1 - r²/2 + ...
    "difference": lambda x, y: np.linalg.norm(x - y),
    "scaled": lambda x, y: np.linalg.norm((x - y) / 2) * 2,
    "pairs": lambda x, y: np.linalg.norm(x[None, :] - y[None], axis=-1).sum(),
    "root": lambda x, y: np.sqrt(np.sum((x - y) ** 2)),
    "row of rows": lambda x, y: np.linalg.norm(np.stack([x - y, x + 1]), axis=-1)[:1].sum(),
    "moved": lambda x, y: np.flip(np.linalg.norm(np.stack([x - y, x + 1]), axis=-1))[None].T[-1, 0],
    "hypot": lambda x, y: np.hypot(*(x - y)),
}


@pytest.mark.parametrize("name", TWICE)
def test_lengths_that_are_computed_twice_are_one_length(name):
    y = np.array([1.0, 2.0])
    kernel = lambda x: (1 + TWICE[name](x, y)) * np.exp(-TWICE[name](x, y))
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(ng.grad(kernel), mode=mode)(y), -np.eye(2), atol=1e-14)
    compiled = ng.compile(lambda x: ng.hvp(kernel, x, np.array([0.3, -1.2])))
    for x in (y, y + 1, y):
        np.testing.assert_allclose(compiled(x), ng.hvp(kernel, x, np.array([0.3, -1.2])), atol=1e-14)
    other = lambda x: TWICE[name](x, y) * TWICE[name](x * np.array([1.0, 2.0]), y * np.array([1.0, 2.0]))
    np.testing.assert_array_equal(ng.hessian(other)(y), 0)  # which has none, and two slopes of 0 by convention


def _dyad(x):
    """A matrix of which no eigenvalues coincide."""
    return np.outer(x, x) + np.diag([1.0, 2.0, 4.0])


UNDER_A_ROOT = {
    "norm": np.linalg.norm, "variance": np.var, "cumulative product": lambda x: np.cumprod(x)[-1],
    "quantile": lambda x: np.quantile(x, 0.7) ** 2, "determinant": lambda x: np.linalg.det(_dyad(x)),
    "inverse": lambda x: np.linalg.inv(_dyad(x))[0, 1], "solution": lambda x: np.sum(np.linalg.solve(_dyad(x), x)), "factor": lambda x: np.linalg.cholesky(_dyad(x))[2, 1],
    "eigenvalue": lambda x: np.linalg.eigvalsh(_dyad(x))[2], "singular value": lambda x: np.linalg.svd(_dyad(x))[1][0],
}


@pytest.mark.parametrize("name", UNDER_A_ROOT)
def test_roots_of_anything_that_is_computed_twice_are_one_length(name):
    """The Hessian of their product was 0 if an operation was neither linear nor elementwise."""
    f, at, v = UNDER_A_ROOT[name], np.array([1.0, 1.5, 2.0]), np.array([0.3, -1.2, 0.7])
    root = lambda x: np.sqrt(f(x) - f(at))
    found = ng.hessian(lambda x: root(x) * root(x))(at)
    want = (f(at + 1e-4 * v) - 2 * f(at) + f(at - 1e-4 * v)) / 1e-8
    np.testing.assert_allclose(v @ found @ v, want, rtol=1e-5, atol=1e-6)


SEVERAL = {  # several lengths of which one may be 0 in a cell, and the same without any
    "product": (lambda x: (np.abs(x) * np.abs(x - 1)) ** 2, lambda x: (x * (x - 1)) ** 2),
    "cosine of a product": (lambda x: np.cos(np.abs(x) * np.abs(x - 1) * np.abs(x - 2)), lambda x: np.cos(x * (x - 1) * (x - 2))),
    "angle": (lambda x: np.arctan2(np.sqrt(x**2), np.sqrt((1 + x) ** 2)) ** 2, lambda x: np.arctan(x / (1 + x)) ** 2),
    "side by side": (lambda x: np.sqrt(x**2) ** 2 * np.cos(np.abs(x - 1)), lambda x: x**2 * np.cos(x - 1)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_lengths_of_which_one_is_0(name):
    of_lengths, of_x = ((lambda x, f=f: np.sum(f(x) * np.arange(1.0, 5))) for f in SEVERAL[name])
    x, v = np.array([0.0, 1.0, 2.0, 0.3]), np.array([0.3, -1.2, 0.7, 2.0])
    want = ng.hvp(of_x, x, v)
    np.testing.assert_allclose(ng.hvp(of_lengths, x, v), want, atol=1e-13)
    np.testing.assert_allclose(ng.grad(lambda x: np.dot(ng.grad(of_lengths)(x), v))(x), want, atol=1e-13)
    compiled = ng.compile(lambda x: ng.hvp(of_lengths, x, v))
    for at in (x + 0.1, x, x + 0.1):
        np.testing.assert_allclose(compiled(at), ng.hvp(of_x, at, v), atol=1e-13)


@pytest.mark.parametrize("function", ["identity", "exp"])
def test_lengths_that_are_the_same_for_some_values_in_compiled_programs(function):
    """The Hessian of a product of distances from two points was 0 where these coincide."""
    of = {"identity": lambda y: y, "exp": np.exp}[function]
    distance = lambda x, y: np.linalg.norm(x - of(y))
    compiled = ng.compile(ng.hessian(lambda x, y, z: distance(x, y) * distance(x, z)))
    y, z = np.array([0.3, 0.7]), np.array([0.5, -1.2])
    for x in (of(z) + 1, of(y)):
        for other in (z, y.copy(), z):
            u, v = x - of(y), x - of(other)
            p, q = np.linalg.norm(u), np.linalg.norm(v)
            if p and q:
                sides = np.outer(u, v) / (p * q)
                want = sides + sides.T + q / p * (np.eye(2) - np.outer(u, u) / p**2) + p / q * (np.eye(2) - np.outer(v, v) / q**2)
                np.testing.assert_allclose(compiled(x, y, other), want, rtol=1e-12)
            elif p == q:
                np.testing.assert_allclose(compiled(x, y, other), 2 * np.eye(2), rtol=1e-14)


def test_great_circles_of_no_length_in_compiled_programs():
    """Of which nobody looks whether ``1 - a`` is 0."""

    def squared(p):
        a = np.sin((p[0] - 0.5) / 2) ** 2 + np.cos(p[0]) * np.cos(0.5) * np.sin((p[1] - 1) / 2) ** 2
        return (2 * np.arctan2(np.sqrt(a), np.sqrt(1 - a))) ** 2

    at, v = np.array([0.5, 1.0]), np.array([0.3, -1.2])
    compiled = ng.compile(lambda p: ng.hvp(squared, p, v))
    compiled(at + 0.1)
    np.testing.assert_allclose(compiled(at), 2 * v * np.array([1, np.cos(0.5) ** 2]), rtol=1e-12)


def test_angles_from_the_other_pole():
    """The square of what an angle lacks of half a turn bent by 0."""
    from_south = lambda x: (np.pi - np.arccos(x[..., 2] / np.linalg.norm(x, axis=-1))) ** 2
    south, north, v = np.array([0.0, 0.0, -2.0]), np.array([0.0, 0.6, 0.8]), np.array([0.3, -1.2, 0.7])
    want = 0.5 * np.diag([1.0, 1.0, 0.0])
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(ng.grad(from_south), mode=mode)(south), want, atol=1e-12)
    both = ng.hvp(lambda x: from_south(x).sum(), np.stack([south, north]), np.stack([v, v]))
    np.testing.assert_allclose(both, [want @ v, ng.hvp(from_south, north, v)], atol=1e-12)
    compiled = ng.compile(lambda x: ng.hvp(from_south, x, v))
    for x in (north, south, north):
        np.testing.assert_allclose(compiled(x), ng.hvp(from_south, x, v), atol=1e-12)


def test_sums_of_squares_of_lengths():
    rows = lambda x: np.linalg.norm(np.stack([x, x + 1]), axis=-1)
    for f in (lambda d: np.dot(d, d), lambda d: np.einsum("i,i->", d, d), lambda d: np.vdot(d, d), lambda d: np.linalg.norm(d) ** 2,
              lambda d: 2 * ng.mse_loss(d, 0.0), lambda d: 2 * ng.mse_loss(np.zeros(2), d)):
        np.testing.assert_allclose(ng.hessian(lambda x, f=f: f(rows(x)))(np.zeros(2)), 4 * np.eye(2), rtol=1e-14)
    frobenius = ng.hessian(lambda x: np.linalg.norm(rows(x)))(np.zeros(2))  # of sqrt(2 |x|² + 2 sum(x) + 2)
    np.testing.assert_allclose(frobenius, 2 / np.sqrt(2) * np.eye(2) - np.ones((2, 2)) / np.sqrt(8), rtol=1e-14)


LOOPS = {
    "out of a checkpoint": (lambda x: ng.checkpoint(np.linalg.norm)(x) ** 2, 2),
    "out of two checkpoints": (lambda x: ng.checkpoint(np.linalg.norm)(x) * ng.checkpoint(np.linalg.norm)(x), 2),
    "out of a checkpoint in another": (lambda x: ng.checkpoint(lambda x: ng.checkpoint(np.linalg.norm)(x))(x) ** 2, 2),
    "in each cell, out of a checkpoint": (lambda x: np.sum(ng.checkpoint(np.abs)(x) ** 2), 2),
    "into a checkpoint": (lambda x: ng.checkpoint(np.square)(np.linalg.norm(x)), 2),
    "captured by a checkpoint": (lambda x: (lambda r: ng.checkpoint(lambda s: np.cos(r * s))(np.sum(x) + 2))(np.linalg.norm(x)), -4),
    "captured by a checkpoint of a sum": (lambda x: (lambda r: ng.checkpoint(lambda s: np.sum(np.cos(r * s)))(np.ones(3)))(np.linalg.norm(x)), -3),
    "state of fori_loop": (lambda x: ng.fori_loop(0, 3, lambda i, r: r * 1.5, np.linalg.norm(x)) ** 2, 2 * 1.5**6),
    "state of while_loop": (lambda x: ng.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * 1.5, s[1] + 1), (np.linalg.norm(x), 0))[0] ** 2, 2 * 1.5**6),
    "state of scan": (lambda x: ng.scan(lambda r, t: (r * t, np.cos(r)), np.linalg.norm(x), np.array([2.0, 1.0]), 0)[1].sum(), -5),
    "made in scan": (lambda x: ng.scan(lambda s, t: (s, np.linalg.norm(s) * t), x, np.array([2.0, 1.0]), 0)[1] @ ng.scan(lambda s, t: (s, np.linalg.norm(s) * t), x, np.array([2.0, 1.0]), 0)[1], 10),
    "cond": (lambda x: ng.cond(x[0] < 1, np.cos, np.sin, np.linalg.norm(x)), -1),
    "a long way": (lambda x: np.cos(functools.reduce(lambda r, _: r + 0.5, range(2000), np.linalg.norm(x)) - 1000), -1),
    "moved again and again": (lambda x: np.sum(functools.reduce(lambda r, _: np.roll(r, 1), range(1100), np.linalg.norm(x[None], axis=1)) ** 2), 2),
    "real parts again and again": (lambda x: functools.reduce(lambda r, _: np.real(r * (1 + 1j)), range(1000), np.linalg.norm(x)) ** 2, 2),
    "twice from what is used often": (lambda x: _used_often(x) * _used_often(x), 2),
}


def _used_often(x):
    """A length whose operands are used twice each, ten times in a row."""
    return np.linalg.norm(functools.reduce(lambda y, _: y * 0.5 + np.sin(y) - y * 0.5, range(10), x))


@pytest.mark.parametrize("name", LOOPS)
def test_lengths_stay_lengths_in_loops(name):
    f, bend = LOOPS[name]
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(ng.grad(f), mode=mode)(np.zeros(2)), bend * np.eye(2), rtol=1e-13, atol=1e-13)
    product, v = functools.partial(ng.hvp, f), np.array([1.0, -2.0])
    for g in (product, ng.compile(product)):
        np.testing.assert_allclose(g(np.zeros(2), v), bend * v, rtol=1e-13, atol=1e-13)


ROOTS_IN_LOOPS = {
    "checkpoint": lambda x: ng.checkpoint(np.sqrt)(x),
    "power in a checkpoint": lambda x: ng.checkpoint(lambda x: x**0.5)(x),
    "angle in a checkpoint": lambda x: ng.checkpoint(lambda x: np.arccos(1 - x / 2))(x),
    "scan": lambda x: ng.scan(lambda s, t: (s, np.sqrt(s * t)), x, np.ones(1), 0)[1],
    "fori_loop": lambda x: ng.fori_loop(0, 1, lambda i, x: np.sqrt(x), x),
}


@pytest.mark.parametrize("name", ROOTS_IN_LOOPS)
def test_squares_of_roots_that_checkpoints_return_have_their_slope(name):
    """It was 0."""
    gradient = ng.grad(lambda x: np.sum(ROOTS_IN_LOOPS[name](x) ** 2))
    np.testing.assert_allclose(gradient(np.zeros(2)), np.ones(2))


def test_lengths_are_written_into_arrays():
    x, q = ng.DimArray([0.0, 0.0], "i"), ng.DimArray([4, 1], "k")
    put = lambda x: (ng.ones({"q": 6}).at[{"q": 1}].set(ng.norm(x)) ** 2).sum() + (ng.ones({"q": 6}).at[{"q": q}].set(abs(x).rename(i="k")) ** 2).sum()
    np.testing.assert_allclose(ng.hessian(put)(x).data, 4 * np.eye(2), rtol=1e-14)


def test_second_order_of_prod_at_zeros():
    x = ng.DimArray([0.0, 0.0, 4.0], ("x",))
    np.testing.assert_array_equal(ng.hessian(lambda x: x.prod())(x).data, [[0, 4, 0], [4, 0, 0], [0, 0, 0]])


def test_cholesky_reads_the_lower_triangle_and_differentiates_the_symmetrised_matrix():
    a = np.array([[4.0, 9.0], [2.0, 5.0]])
    lower = ng.DimArray(a, ("i", "j"))
    np.testing.assert_allclose(ng.cholesky(lower, ("i", "j")).data, [[2, 0], [1, 2]])
    gradient = ng.grad(lambda a: ng.cholesky(a, ("i", "j")).sum())(lower).data
    np.testing.assert_allclose(gradient, gradient.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_gradient_has_the_dtype_of_its_input(dtype):
    x = ng.ones({"x": 2}, dtype=dtype)
    assert ng.grad(lambda x: (2.0 * abs(x) ** 2).sum())(x).dtype == dtype


def test_a_real_input_of_a_complex_program_gets_a_real_gradient():
    x = ng.DimArray([1.0, 2.0], ("x",))
    gradient = ng.grad(lambda x: abs(x * (3 + 4j)).sum())(x)
    assert gradient.dtype == "float64"
    np.testing.assert_allclose(gradient.data, [5, 5])


def test_an_unused_input_gets_zeros_with_the_vectorized_axes_of_the_output():
    used = ng.ones({"b": 2, "x": 3}, vectorized="b")
    unused = ng.ones({"y": 4}, dtype="float32")
    gradient = ng.grad(lambda unused, used: used.sum())(unused, used)
    assert (gradient.dims, gradient.vectorized, gradient.dtype) == (("y",), ("b",), np.float32)
    assert not gradient.data.any()
