"""Numbers far from 1: what is homogeneous in its operand stays so, and derivatives do not get lost on the way."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(0)
TALL, SQUARE = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 4))
ALIKE = SQUARE + SQUARE.T
D = ("i", "j")
RIGHT = ng.DimArray(RNG.normal(size=4), ("i",))

DEGREES = {  # of f, where f(s a) = s**degree f(a); so a gradient is of one degree less
    "singular values": (lambda a: ng.svd(a, D, full_matrices=False)[1], TALL, 1),
    "left vectors": (lambda a: ng.svd(a, D, full_matrices=False)[0], TALL, 0),
    "qr": (lambda a: ng.qr(a, D)[0], TALL, 0),
    "eigenvalues": (lambda a: ng.eigh(a, D)[0], ALIKE, 1),
    "eigenvectors": (lambda a: ng.eigh(a, D)[1], ALIKE, 0),
    "any eigenvalues": (lambda a: ng.absolute(ng.eigvals(a, D)), SQUARE, 1),
    "inv": (lambda a: ng.inv(a, D), SQUARE, -1),
    "pinv": (lambda a: ng.pinv(a, D), TALL, -1),
    "pinv of a wide one": (lambda a: ng.pinv(a, D), TALL.T, -1),
    "solve": (lambda a: ng.solve(a, RIGHT, D), SQUARE, -1),
    "lstsq": (lambda a: ng.lstsq(a, RIGHT, D), TALL, -1),
    "cond": (lambda a: ng.cond(a, D), SQUARE, 0),
    "nuc": (lambda a: ng.matrix_norm(a, D, ord="nuc"), TALL, 1),
    "fro": (lambda a: ng.matrix_norm(a, D, ord="fro"), TALL, 1),
    "norm": (lambda a: ng.norm(a, "i"), TALL, 1),
    "norm of order 3": (lambda a: ng.vector_norm(a, "i", ord=3), TALL, 1),
    "std": (lambda a: a.std("i"), TALL, 1),
    "hypot": (lambda a: ng.hypot(a, 2 * a), TALL, 1),
    "arctan2": (lambda a: ng.arctan2(a, a * a[{"i": 0}] / a), SQUARE, 0),
    "pdist": (lambda a: ng.pdist(a, D), TALL, 1),
    "lstsq of both": (lambda a: ng.lstsq(a, a[{"j": 0}] + a.roll(i=1)[{"j": 2}], D), TALL, 0),
    "segment_std": (lambda a: ng.segment_std(a, [0, 1, 0, 0], "i"), TALL, 1),
    "makima": (lambda a: ng.interp(a, {"i": [0.2, 1.7]}, method="makima"), TALL, 1),
    "akima": (lambda a: ng.interp(a, {"i": [0.2, 1.7]}, method="akima"), TALL, 1),
    "corr": (lambda a: ng.corr(a, a.roll(i=1), "i"), TALL, 0),
    "weighted corr": (lambda a: ng.corr(a, RIGHT, "i", weights=RIGHT**2), TALL, 0),
    "lp_pool": (lambda a: ng.lp_pool(a, {"i": 2}, ceil_mode=True), TALL, 1),
    "lp_pool of order 3": (lambda a: ng.lp_pool(abs(a), {"i": 2, "j": 3}, p=3, stride=1), TALL, 1),
    "local_response_norm": (lambda a: ng.local_response_norm(a, "j", 2, beta=0.5, k=0), TALL, 0),
}


WITH_SQUARES = ("norm", "norm of order 3", "fro", "std", "hypot", "singular values", "eigenvalues", "corr", "weighted corr", "lp_pool", "lp_pool of order 3",
                "local_response_norm", "lstsq of both", "segment_std", "makima", "akima")  # fmt: skip
CASES = [(name, at) for name in DEGREES for at in (-400, 400)]
CASES += [(name, at) for name in WITH_SQUARES for at in (-560, 560)]  # squares overflow or vanish


@pytest.mark.parametrize(("name", "exponent"), CASES)
def test_scaled(name, exponent):
    f, a, degree = DEGREES[name]
    out, pull = ng.pullback(f, ng.DimArray(a, D))
    seed = ng.DimArray(RNG.normal(size=out.shape), out.dims)
    far, far_pull = ng.pullback(f, ng.DimArray(np.ldexp(a, exponent), D))
    np.testing.assert_allclose(far.data, np.ldexp(out.data, degree * exponent), rtol=1e-9)
    g = pull(seed).data
    tolerance = 1e-7 * np.abs(np.ldexp(g, (degree - 1) * exponent)).max()
    np.testing.assert_allclose(far_pull(seed).data, np.ldexp(g, (degree - 1) * exponent), rtol=1e-7, atol=tolerance)


BEYOND = {
    "pinv that cuts off": (lambda a: ng.pinv(a, D, rtol=0.3), TALL, -1),
    "lstsq that cuts off": (lambda a: ng.lstsq(a, RIGHT, D, rtol=0.3), TALL, -1),
    "cdist": (lambda a: ng.cdist(a, ng.zeros({"k": 2, "j": 3}, dtype=a.dtype), "j"), TALL, 1),
    "cdist of order 3": (lambda a: ng.cdist(a, ng.zeros({"k": 2, "j": 3}, dtype=a.dtype), "j", p=3), TALL, 1),
}


@pytest.mark.parametrize("name", [name for name in (*DEGREES, *BEYOND) if name != "arctan2"])  # which squares its operand
@pytest.mark.parametrize(("dtype", "exponent"), [("f8", -560), ("f8", 560), ("f4", -84), ("f4", 84)])
def test_there_and_back(name, dtype, exponent):
    """A program that scales its input and, by as much, its output again: cotangents and tangents are as far from 1."""
    f, a, degree = (DEGREES | BEYOND)[name]
    x, t = (ng.DimArray(v.astype(dtype), D) for v in (a, np.cos(np.arange(a.size)).reshape(a.shape)))

    def loss(x, exponent):
        out = ng.ldexp(f(ng.ldexp(x, exponent)), -degree * exponent)
        return (out * ng.DimArray(np.sin(1 + np.arange(out.size)).reshape(out.shape).astype(dtype), out.dims)).sum()

    near, far = (ng.grad(lambda x, e=e: loss(x, e))(x).data for e in (0, exponent))
    tolerance = 1e-9 if dtype == "f8" else 2e-4
    np.testing.assert_allclose(far, near, rtol=tolerance, atol=tolerance * np.abs(near).max())
    pushed = ng.pushforward(lambda x: loss(x, exponent), (x,), (t,))[1].data
    np.testing.assert_allclose(pushed, np.sum(near * t.data), rtol=0, atol=10 * tolerance * np.abs(near).max())


FAR = [(name, far) for name in ("corr", "weighted corr", "lp_pool", "lp_pool of order 3") for far in (1e-200, 1e200)]
FAR += [("local_response_norm", far) for far in (1e-120, 1e120)]  # farther out its Hessian vanishes


@pytest.mark.parametrize(("name", "far"), FAR)
def test_bends_far_from_1(name, far):
    (f, a, degree), rng = DEGREES[name], np.random.default_rng(0)
    at, along = ng.DimArray(a, D), ng.DimArray(rng.normal(size=a.shape), D)
    weights = ng.DimArray(rng.normal(size=f(at).shape), f(at).dims)
    loss = lambda x: (f(x) * weights).sum()
    near = ng.hvp(loss, at, along).data
    np.testing.assert_allclose(ng.hvp(loss, at * far, along * far).data / far ** (degree - 1), near, rtol=1e-8, atol=1e-12)


PLAIN = {  # of functions of NumPy's arrays, scaled together
    "norm of order -1": (lambda x: np.linalg.norm(x, -1), [RNG.normal(size=4)], 1),
    "norm of order -2": (lambda x: np.linalg.norm(x, -2), [RNG.normal(size=4)], 1),
    "corrcoef": (lambda x: np.corrcoef(x), [RNG.normal(size=(3, 5))], 0),
    "cosine_similarity": (lambda x, y: ng.cosine_similarity(x, y, dim=0, eps=0.0), [RNG.normal(size=4), RNG.normal(size=4)], 0),
    "layer_norm": (lambda x: ng.layer_norm(x, dim=0, eps=0.0), [RNG.normal(size=5)], 0),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], [TALL, RNG.normal(size=(4, 2))], 0),
    "lstsq of a wide one": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], [TALL.T, RNG.normal(size=3)], 0),
    "lstsq with rcond": (lambda a, b: np.linalg.lstsq(a, b, rcond=1e-9)[0], [TALL, RNG.normal(size=4)], 0),
}


@pytest.mark.parametrize("name", PLAIN)
def test_every_mode_near_1(name):
    """Differences judge what is compared below."""
    f, args, _ = PLAIN[name]
    ng.check_gradients(f, *args)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("exponent", [-700, -400, 400, 700])
def test_every_mode_far_from_1(name, exponent):
    """A derivative of order k has k degrees less; beyond 2**512 the second ones are out of range."""
    f, args, degree = PLAIN[name]
    rng = np.random.default_rng(3)
    along = [rng.normal(size=a.shape) for a in args]
    seed = np.sin(1 + np.arange(64.0))
    wrt = tuple(range(len(args)))

    def loss(*xs):
        out = f(*xs)
        return np.sum(out * seed[: out.size].reshape(out.shape))

    def gradient(*xs):
        return ng.grad(loss, wrt=wrt)(*xs)

    def slope(*xs):
        return ng.pushforward(loss, xs, tuple(along))[1]

    def second(*xs):
        return ng.pushforward(gradient, xs, tuple(along))[1], ng.grad(slope, wrt=wrt)(*xs), ng.pushforward(slope, xs, tuple(along))[1]

    def each(tree):
        return [a for b in tree for a in each(b)] if isinstance(tree, tuple) else [tree]

    far = [np.ldexp(a, exponent) for a in args]
    todo = [(lambda *xs: (gradient(*xs), slope(*xs)), 1)] + [(second, 2)] * (abs(exponent) < 512)
    for derivative, order in todo:
        near = each(derivative(*args))
        programs = [derivative] if order == 2 and exponent > 0 else [derivative, ng.compile(derivative)]
        for got in (program(*far) for program in programs):
            for a, b in zip(each(got), near, strict=True):
                np.testing.assert_allclose(np.ldexp(a, (order - degree) * exponent), b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


def test_far_from_1_the_constant_of_local_response_norm_is_lost():
    x = np.array([3.0, 4.0, 12.0])
    want = x / (0.5e-4 * (x**2 + np.array([0, 9.0, 16.0]))) ** 0.75
    got = ng.local_response_norm(ng.DimArray(x * 1e200, "c"), "c", 2)
    np.testing.assert_allclose(got.data, want * 1e-100, rtol=1e-12)


def test_deviations_of_numbers_of_all_sizes():
    x = np.array([[3e200, 4e200], [1, 2.0], [5, 5], [np.nan, np.nan], [1e-200, 3e-200]])
    a = ng.DimArray(x, ("p", "q"))
    np.testing.assert_allclose(a.std("q").data, [5e199, 0.5, 0, np.nan, 1e-200])
    assert a.std("q", keepdims=True).shape == (5, 1)
    want = [[-0.5, 0.5], [-0.5, 0.5], [0, 0], [0, 0], [-0.5, 0.5]]
    np.testing.assert_allclose(ng.grad(lambda a: a.std("q").sum())(a).data, want)


def test_subnormal_lengths():
    a = ng.DimArray([3e-310, 4e-310], ("x",))
    np.testing.assert_allclose(ng.grad(ng.norm)(a).data, [0.6, 0.8])


@pytest.mark.parametrize("scale", [1e-310, 1e-320, np.float32(1e-42)])
def test_subnormal_distances(scale):
    x = np.array([[0, 0], [3, 4], [3, 4]], np.asarray(scale).dtype) * scale
    a = ng.DimArray(x, ("i", "xyz"))
    want = np.array([[-1.2, -1.6], [0.6, 0.8], [0.6, 0.8]])
    np.testing.assert_allclose(ng.grad(lambda a: ng.pdist(a, ("i", "xyz")).sum())(a).data, want, rtol=1e-2)
    np.testing.assert_allclose(ng.grad(lambda a: ng.cdist(a, a.rename(i="j"), "xyz").sum())(a).data, 2 * want, rtol=1e-2)


@pytest.mark.parametrize("small", [1e-100, 1e-20, 1e-8])
def test_bends_of_a_length_beside_a_long_side(small):
    """The second derivatives of sqrt(x**2 + z**2): z**2, -x z and x**2 over its cube."""
    x, z = ng.DimArray([small], ("x",)), ng.DimArray([2.0], ("x",))

    def slope(x, z, which):
        return ng.grad(lambda x, z: ng.hypot(x, z).sum(), wrt=which)(x, z).sum()

    for first, second, want in ((0, 0, 0.5), (0, 1, -small / 4), (1, 0, -small / 4), (1, 1, small**2 / 8)):
        got = ng.grad(lambda x, z, first=first: slope(x, z, first), wrt=second)(x, z)
        np.testing.assert_allclose(got.data, [want], rtol=1e-12)


def test_bend_of_softsign_far_out():
    bend = ng.grad(lambda x: ng.grad(lambda x: ng.softsign(x).sum())(x).sum())
    np.testing.assert_allclose(bend(ng.DimArray([1e100, -1e100], ("x",))).data, [-2e-300, 2e-300], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("far", [3.0, np.inf])
@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_bend_of_a_convolution_beside_infinity(mode, far):
    """It is bilinear: the second derivative along a line is twice the convolution of the directions."""
    x, y, dx, dy = (np.array(v) for v in ([far, 1.0, 2.0], [1.0, 0.5], [0.3, 0.4, -1.2], [0.7, -0.2]))
    want = 2 * np.convolve(dx, dy, mode).sum()

    def along(t):
        a, b = ng.DimArray(x, "p") + t * ng.DimArray(dx, "p"), ng.DimArray(y, "p") + t * ng.DimArray(dy, "p")
        return ng.convolve(a, b, "p", mode=mode).sum(skipna=False)

    t, one = ng.DimArray(0.0, ()), ng.DimArray(1.0, ())
    assert ng.grad(lambda t: ng.grad(along)(t))(t).item() == pytest.approx(want)
    assert ng.pushforward(lambda t: ng.grad(along)(t), (t,), (one,))[1].item() == pytest.approx(want)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 10, 101, 100_000])
def test_slopes_of_sinc_where_it_is_0(n, dtype):
    """At a whole number n they are (-1)**n / n and -2 (-1)**n / n**2."""
    x = ng.DimArray(np.array([n], dtype), ("x",))
    slope = ng.grad(lambda x: ng.sinc(x).sum())
    sign = (-1.0) ** n
    np.testing.assert_allclose(slope(x).data, [sign / n], rtol=1e-6)
    np.testing.assert_allclose(ng.grad(lambda x: slope(x).sum())(x).data, [-2 * sign / n**2], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slope_of_exprel_where_the_exponential_overflows():
    x = ng.DimArray([711.0], ("x",))
    want = np.exp(711.0 - 20) / 711 * (1 - 1 / 711) * np.exp(20.0)
    np.testing.assert_allclose(ng.grad(lambda x: ng.exprel(x).sum())(x).data, [want], rtol=1e-10)


@pytest.mark.parametrize("far", [1e-200, 1e20, 1e200])
@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_slopes_of_functions_of_matrices_are_linear_in_the_cotangent(name, far):
    """Those of symmetric matrices are known: divided differences in the basis of eigenvectors (Daleckii and Krein 1965)."""
    f, slope = {"expm": (np.exp, np.exp), "logm": (np.log, np.reciprocal), "sqrtm": (np.sqrt, lambda w: 0.5 / np.sqrt(w))}[name]
    a, c = ALIKE @ ALIKE + np.eye(4), np.random.default_rng(0).normal(size=(4, 4))
    w, v = np.linalg.eigh(a)
    with np.errstate(invalid="ignore"):
        quotients = np.where(np.eye(4), np.diag(slope(w)), (f(w)[:, None] - f(w)) / (w[:, None] - w))
    want = v @ (quotients * (v.T @ c @ v)) @ v.T
    _, pull = ng.pullback(lambda a: getattr(ng, name)(a, D), ng.DimArray(a, D))
    np.testing.assert_allclose(pull(ng.DimArray(c * far, D)).data, want * far, rtol=1e-9, atol=1e-11 * far * np.abs(want).max())


def test_slopes_of_roots_of_small_matrices():
    a, c = ALIKE @ ALIKE + np.eye(4), np.random.default_rng(0).normal(size=(4, 4))
    near, tiny = (ng.pullback(lambda a: ng.sqrtm(a, D), ng.DimArray(a * s, D))[1](ng.DimArray(c, D)).data for s in (1, 1e-300))
    np.testing.assert_allclose(tiny * 1e-150, near, rtol=1e-9)


@pytest.mark.parametrize("beta", [-0.5, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_beside_an_infinite_cell_responses_are_their_limits(beta, dtype):
    x = np.array([1.0, np.inf, 2.0, 3.0, 4.0], dtype)
    got = abs(ng.local_response_norm(ng.DimArray(x, "c"), "c", 3, alpha=3.0, beta=beta, k=1.0).data)
    limit = np.inf if beta < 0 else 0.0
    np.testing.assert_allclose(got[[0, 2, 3, 4]], [limit, limit, 3 * 30.0**-beta, 4 * 26.0**-beta])


def exact(x, left_out):
    """The product of the cells but some, infinite where it is too large for a double."""
    out = math.prod(Fraction(v) for i, v in enumerate(x) if i not in left_out)
    return float(out) if abs(out) <= Fraction(np.finfo(float).max) else math.inf * (1 if out > 0 else -1)


@pytest.mark.parametrize("zeros", [(), (0,), (2,), (4,), (0, 4), (1, 2, 3)])
@pytest.mark.parametrize("size", [(1e150,), (1e150, -1e-100), (1e250, 3.0, 1e-200)])
def test_a_zero_outweighs_a_product_that_is_too_large(zeros, size):
    """Of finite cells: what is 0 times it is 0, at both orders, in both modes and compiled."""
    x = np.resize(size, 5)
    x[list(zeros)] = 0
    a, prod = ng.DimArray(x, ("x",)), lambda a: a.prod(skipna=False)
    slopes = [exact(x, {i}) for i in range(5)]
    bends = [[exact(x, {i, k}) if i != k else 0.0 for k in range(5)] for i in range(5)]
    with np.errstate(all="ignore"):
        for grad in (ng.grad(prod), ng.compile(ng.grad(prod))):
            np.testing.assert_allclose(grad(a).data, slopes, rtol=1e-12)
        for k, way in enumerate(np.eye(5)):
            np.testing.assert_allclose(ng.pushforward(prod, (a,), (ng.DimArray(way, ("x",)),))[1].item(), slopes[k], rtol=1e-12)
        np.testing.assert_allclose(ng.hessian(prod)(a).data, bends, rtol=1e-12)


@pytest.mark.parametrize("zero", [0, 1])
def test_a_zero_outweighs_running_products_that_are_too_large(zero):
    x = np.full(6, 1e150)
    x[zero] = 0
    a, last = ng.DimArray(x, ("x",)), lambda a: a.cumprod("x")[{"x": -1}]
    with np.errstate(all="ignore"):
        for grad in (ng.grad(last), ng.compile(ng.grad(last))):
            np.testing.assert_array_equal(grad(a).data, [exact(x, {i}) for i in range(6)])


@pytest.mark.parametrize("f", [lambda a: ng.logsumexp(a, "x"), lambda a: ng.logcumsumexp(a, "x")[{"x": -1}]], ids=["at once", "running"])
@pytest.mark.parametrize("far", [0.5, 12.0, 37.4, 300.0])
def test_bends_of_logsumexp_keep_the_tails(f, far):
    """One share may round to 1: what it lacks is the sum of the others, in the second derivatives, too."""
    x = np.array([[0.0, far, -3.0], [far, 1.0, -far], [2.0, 0.5, 0.0]])
    a = ng.DimArray(x, ("b", "x"))
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    others = np.stack([np.delete(p, i, 1).sum(1) for i in range(3)], 1)
    bends = np.eye(3) * (p * others)[:, None] - (1 - np.eye(3)) * p[:, None] * p[:, :, None]
    for hessian in (ng.hessian(f, over="b"), ng.compile(ng.hessian(f, over="b"))):
        np.testing.assert_allclose(hessian(a).data, bends, rtol=1e-12)
    for k, way in enumerate(np.eye(3)):
        t = ng.DimArray(np.tile(way, (3, 1)), ("b", "x"))
        slope = lambda a, t=t: ng.pushforward(f, (a,), (t,))[1]
        np.testing.assert_allclose(ng.pushforward(slope, (a,), (t,))[1].data, bends[:, k, k], rtol=1e-12)
    np.testing.assert_allclose(ng.grad(lambda a: f(a).sum())(a).data, p, rtol=1e-12)
