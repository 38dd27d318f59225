"""What users of other systems reported about singular values, eigenvalues and least squares, on our operations.

Answers are closed forms, or finite differences of the value alone; for second derivatives, of the gradient.
"""

import math

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng
from tests.linalg.matrices import (
    IJ,
    KINDS,
    hermitian,
    named,
    regular,
    richardson,
    right,
    slopes,
    some,
    squared,
    weighed,
)
from tests.support.tolerances import FIRST, MATRIX, assert_close

# ------------------------------------------------------------------------------------------------ singular values


@KINDS
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 3), (1, 1)])
def test_singular_values(shape, kind):
    right(lambda a: weighed(ng.svd(a, IJ, compute_uv=False)), regular(*shape, kind=kind) + np.eye(*shape) * np.arange(shape[1]))


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize("full", [True, False])
def test_what_singular_vectors_determine(shape, full, kind):
    x = regular(*shape, kind=kind) + np.eye(*shape) * np.arange(shape[1])

    def polar(a):
        u, _, vh = ng.svd(a, IJ, full_matrices=full)
        k = range(min(shape))
        return weighed(ng.dot(u.isel(j2=list(k)), vh.isel(j2=list(k)), dim="j2"))

    right(polar, x)

    def low_rank(a):
        u, s, vh = ng.svd(a, IJ, full_matrices=full)
        return weighed(ng.dot(u.isel(j2=[0]) * s.isel(j2=[0]), vh.isel(j2=[0]), dim="j2"))

    right(low_rank, x)


def test_polar_factor_of_a_batch_in_both_modes():
    x = np.stack([regular(3, seed=k, kind="complex") for k in range(4)])

    def polar(a):
        u, _, vh = ng.svd(a, IJ)
        return ng.dot(u, vh, dim="j2")

    t = some(4, 3, 3, kind="complex")
    pushed = ng.pushforward(polar, (named(x, "bij", vectorized="b"),), (named(t, "bij", vectorized="b"),))[1].data
    expected = richardson(lambda s: np.stack([scipy.linalg.polar(m + s * d)[0] for m, d in zip(x, t, strict=True)]), 1e-3)
    assert_close(pushed, expected, FIRST)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((3, 3)), 2 * np.eye(3)[[2, 0, 1]], np.diag([2.0, 2.0, 0.0]), np.ones((3, 3)), np.eye(4, 3), np.ones((2, 4))], ids=str)
def test_symmetric_functions_of_coinciding_singular_values(x):
    total = ng.grad(lambda a: (ng.svd(a, IJ, compute_uv=False) ** 2).sum())(named(x)).data
    assert_close(total, 2 * x, MATRIX)
    product = ng.grad(lambda a: (ng.svd(a, IJ)[1] ** 2).sum())(named(x)).data
    assert_close(product, 2 * x, MATRIX)


def test_nuclear_norms():
    q = np.linalg.qr(some(4, 4))[0]
    assert_close(ng.grad(lambda a: ng.norm(a, IJ, "nuc"))(named(q)).data, q, MATRIX)
    low = np.outer(some(4), some(3))
    expected = low / np.linalg.norm(low)
    assert_close(ng.grad(lambda a: ng.norm(a, IJ, "nuc"))(named(low)).data, expected, MATRIX)
    right(lambda a: ng.norm(a, IJ, "nuc"), regular(4, 3))
    right(lambda a: ng.norm(a, IJ, "nuc"), regular(3, kind="complex"))
    x = np.stack([regular(3, seed=k) for k in range(3)])
    g = ng.vmap(ng.grad(lambda a: ng.norm(a, IJ, "nuc")), "b")(named(x, "bij")).data
    for k in range(3):
        assert_close(g[k], scipy.linalg.polar(x[k])[0], MATRIX)


def test_a_vector_of_coinciding_singular_values_has_no_derivative():
    g = ng.grad(lambda a: ng.svd(a, IJ)[0].isel(i=1, j2=0))(named(np.eye(3))).data
    assert np.isnan(g).any()
    pair = ng.grad(lambda a: ng.svd(a, IJ)[0].isel(i=1, j2=2))(named(np.diag([3.0, 3.0, 1.0]))).data
    assert np.isfinite(pair).all(), "that of the single value is determined"


# ------------------------------------------------------------------------------------------------ eigenvalues


@KINDS
def test_eigenvalues_of_hermitian_matrices(kind):
    x = hermitian(some(4, 4, kind=kind)) / 4 + np.diag([1.0, 2, 3, 4])
    right(lambda a: weighed(ng.eigvalsh(a, IJ)), x, symmetric=True)
    right(lambda a: weighed(ng.log(ng.eigh(a, IJ)[0])), x, symmetric=True)

    def function(a):
        w, v = ng.eigh(a, IJ)
        return weighed(ng.dot(v * ng.exp(w), ng.conjugate(v).rename(i="k"), dim="j2"))

    right(function, x, symmetric=True)


def test_single_vectors_beside_coinciding_values():
    m = np.diag([4.0, 1.0, 1.0])
    for k, column in ((1, 2), (2, 2), (0, 2)):
        g = ng.grad(lambda a, k=k, c=column: ng.eigh(a, IJ)[1].isel(i=k, j2=c))(named(m)).data
        expected = slopes(lambda x, k=k: np.linalg.eigh(x)[1][k, 2] * np.sign(np.linalg.eigh(x)[1][0, 2]), m, symmetric=True)
        assert_close(g, expected, FIRST)
    assert np.isnan(ng.grad(lambda a: ng.eigh(a, IJ)[1].isel(i=2, j2=0))(named(m)).data).any()


def test_the_leading_vector_of_a_dyad():
    x = np.array([1.0, 2.0, 3.0])

    def leading(x):
        v = ng.eigh(ng.outer(x, x.rename(i="j")), IJ)[1].isel(j2=2)
        return v * ng.sign(v.isel(i=0))

    jac = ng.jacobian(leading)(named(x, "i")).data
    unit = x / np.linalg.norm(x)
    assert_close(jac, (np.eye(3) - np.outer(unit, unit)) / np.linalg.norm(x), MATRIX)

    def rotated(x):
        return ng.dot(ng.eigh(ng.outer(x, x.rename(i="j")), IJ)[1], x, dim="i").isel(j2=0)

    np.testing.assert_allclose(ng.grad(rotated)(named(x, "i")).data, 0.0, atol=1e-14)  # none of the rest is along x


@pytest.mark.parametrize("scale", [1e-6, 1e-8, 1e-3])
def test_values_that_nearly_coincide(scale):
    x = np.diag(1 + scale * np.array([0.3, -0.9, 1.7]))
    g = ng.grad(lambda a: (ng.eigh(a, IJ)[0] ** 3).sum())(named(x)).data
    assert_close(g, 3 * x @ x, MATRIX)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 5.0]), np.ones((3, 3))], ids=str)
def test_symmetric_functions_of_coinciding_eigenvalues(x):
    for f in (lambda a: (ng.eigvalsh(a, IJ) ** 2).sum(), lambda a: (ng.eigh(a, IJ)[0] ** 2).sum(), lambda a: (ng.eigvals(a, IJ) ** 2).sum().real):
        assert_close(ng.grad(f)(named(x)).data, 2 * x, MATRIX)


EQUAL_VALUES = {  # functions that treat equal eigenvalues alike, and the same of the matrix
    "square of the trace": (lambda w: np.sum(w) ** 2, lambda a: np.trace(a) ** 2),
    "squares": (lambda w: np.sum(w**2), lambda a: np.sum(a * a)),
    "squares by a product": (lambda w: np.dot(w, w), lambda a: np.sum(a * a)),
    "squares about what they are": (lambda w: np.sum((w - 1) ** 2), lambda a: np.sum((a - np.eye(3)) ** 2)),
    "logarithms": (lambda w: np.sum(np.log(w)), lambda a: np.linalg.slogdet(a)[1]),
    "exponentials": (lambda w: np.sum(np.exp(w)), lambda a: np.trace(expm(a))),
    "roots": (lambda w: np.sum(1 / np.sqrt(w)), lambda a: np.trace(np.linalg.inv(sqrtm(a)))),
    "product of sums": (lambda w: np.sum(w) * np.sum(w**3), lambda a: np.trace(a) * np.trace(a @ a @ a)),
    "mean and variance": (lambda w: np.mean(w) ** 3 + np.var(w), lambda a: np.trace(a) ** 3 / 27 + np.sum(a * a) / 3 - np.trace(a) ** 2 / 9),
    "norm": (np.linalg.norm, np.linalg.norm),
    "turned over": (lambda w: np.sum(w[::-1] ** 3), lambda a: np.trace(a @ a @ a)),
    "logarithm of a sum of exponentials": (lambda w: np.log(np.sum(np.exp(w))), lambda a: np.log(np.trace(expm(a)))),
    "product": (np.prod, np.linalg.det),
    "shifted exponentials": (lambda w: np.max(w) + np.log(np.sum(np.exp(w - np.max(w)))), lambda a: np.log(np.trace(expm(a)))),
    "mean by shares": (lambda w: np.dot(w, np.exp(w) / np.sum(np.exp(w))), lambda a: np.trace(a @ expm(a)) / np.trace(expm(a))),
    "differences of all pairs": (lambda w: np.sum((w[:, None] - w) ** 4), lambda a: sum(math.comb(4, k) * (-1) ** k * power_sum(a, k) * power_sum(a, 4 - k) for k in range(5))),
    "form of the second degree": (lambda w: w @ (np.ones((3, 3)) + 2 * np.eye(3)) @ w, lambda a: np.trace(a) ** 2 + 2 * np.sum(a * a)),
    "last of running sums": (lambda w: np.cumsum(w**2)[-1] ** 2, lambda a: np.sum(a * a) ** 2),
    "in another order": (lambda w: np.sum(np.sort(-w) ** 3), lambda a: -np.trace(a @ a @ a)),
}
TURN = scipy.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [2.0, 0.1, 1.0]]))[0]


def power_sum(a, k):
    return np.trace(np.linalg.matrix_power(a, k))


def expm(a):
    return sum((np.linalg.matrix_power(a, k) / math.factorial(k) for k in range(1, 40)), np.eye(3))


def sqrtm(a):
    x, z = a, np.eye(3)
    for _ in range(40):  # Denman and Beavers (1976)
        x, z = (x + np.linalg.inv(z)) / 2, (z + np.linalg.inv(x)) / 2
    return x


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [1.0, 1.0, 3.0], [1.0, 1 + 1e-9, 3.0], [1.0, 1 + 1e-6, 1 + 1e-5], [1.0, 1.5, 3.0]], ids=str)
@pytest.mark.parametrize("name", EQUAL_VALUES)
def test_second_derivatives_of_functions_that_treat_equal_eigenvalues_alike(name, values):
    of_values, of_matrix = EQUAL_VALUES[name]
    x = np.diag(values) if len(set(values)) == 1 else TURN @ np.diag(values) @ TURN.T
    want = ng.hessian(lambda a: of_matrix((a + a.T) / 2))(x)
    for mode in ("forward", "reverse"):
        got = ng.jacobian(ng.grad(lambda a: of_values(np.linalg.eigvalsh(a))), mode=mode)(x)
        assert_close(got, want, 1e-9)
    t = np.random.default_rng(0).normal(size=(3, 3))
    compiled = ng.compile(lambda a: ng.hvp(lambda a: of_values(np.linalg.eigvalsh(a)), a, t))
    compiled(np.diag([1.0, 2.0, 4.0]))
    if name != "roots":  # which a program takes for lengths that may be 0, of which it knows nothing else: NaN
        assert_close(compiled(x), np.einsum("ijkl,kl", want, t), 1e-9)
    product = ng.hvp(lambda a: of_values(np.linalg.eigvalsh(a)), ng.positional(np.stack([x, 2 * x]), vectorized="b"), t).data
    assert_close(product[0], np.einsum("ijkl,kl", want, t), 1e-9)


BESIDE = {  # functions of eigenvalues beside other functions of the matrix, and the same of the matrix
    "times the trace": (lambda a: np.trace(a) * np.sum(np.linalg.eigvalsh(a) ** 3), lambda a: np.trace(a) * np.trace(a @ a @ a)),
    "times the determinant": (lambda a: np.linalg.det(a) * np.prod(np.linalg.eigvalsh(a)), lambda a: np.linalg.det(a) ** 2),
    "found twice": (lambda a: np.sum(np.linalg.eigvalsh(a) * np.linalg.eigvalsh(a)), lambda a: np.sum(a * a)),
    "two sums": (lambda a: np.sum(np.linalg.eigvalsh(a)) * np.sum(np.linalg.eigh(a)[0] ** 3), lambda a: np.trace(a) * np.trace(a @ a @ a)),
    "of a product": (lambda a: np.prod(np.linalg.eigvalsh(a @ a)), lambda a: np.linalg.det(a) ** 2),
    "product of singular values": (lambda a: np.prod(np.linalg.svd(a, compute_uv=False)), np.linalg.det),
}


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [1.0, 1.0, 3.0], [1.0, 1 + 1e-9, 3.0]], ids=str)
@pytest.mark.parametrize("name", BESIDE)
def test_second_derivatives_of_equal_eigenvalues_beside_other_functions(name, values):
    x = TURN @ np.diag(values) @ TURN.T if len(set(values)) > 1 else np.diag(values)
    f, of_matrix = ((lambda a, f=f: f((a + a.T) / 2)) for f in BESIDE[name])
    want = ng.hessian(of_matrix)(x)
    for mode in ("forward", "reverse"):
        assert_close(ng.jacobian(ng.grad(f), mode=mode)(x), want, 1e-9)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_equal_eigenvalues_beside_others_in_proportion_that_are_differentiated(mode):
    """The weights are alike at this point, but not in its surroundings."""
    f = lambda v: np.sum(np.linalg.eigvalsh(v[:9].reshape(3, 3)) ** 2 * v[9:])
    v = np.concatenate([np.eye(3).ravel(), [1.0, 1.0, 1.0]])
    h = ng.jacobian(ng.grad(f), mode=mode)(v)
    assert np.isnan(h[:9, 9:]).any()
    alone = ng.jacobian(ng.grad(lambda a: f(np.concatenate([np.ravel(a), np.ones(3)]))), mode=mode)(np.eye(3))
    assert_close(alone, ng.hessian(lambda a: np.sum(((a + a.T) / 2) ** 2))(np.eye(3)), MATRIX)


def test_only_slices_with_equal_eigenvalues_are_special():
    """Also beside a parameter that all slices share, and where one slice has a function that treats them unlike."""
    x = np.stack([np.eye(3), np.diag([1.0, 2.0, 4.0]), TURN @ np.diag([2.0, 2.0, 5.0]) @ TURN.T])
    t = np.random.default_rng(0).normal(size=(3, 3, 3))

    def total(a, z, f):
        return np.sum(z * np.sum(f(a), axis=-1) if f is not np.linalg.det else z * f(a))

    values = lambda a: np.linalg.eigvalsh(a) ** 3
    cubes = lambda a: np.trace(a @ a @ a, axis1=-2, axis2=-1)[..., None]
    sym = lambda a: (a + np.swapaxes(a, -1, -2)) / 2
    got, want = (ng.pushforward(ng.grad(lambda a, z, f=f: total(sym(a), z, f), wrt=(0, 1)), (x, 2.0), (t, 0.3))[1] for f in (values, cubes))
    assert_close(got[0], want[0], 1e-9)
    assert_close(got[1], want[1], 1e-9)
    weights = np.array([[1.0, 1, 1], [1, 2, 3], [1, 2, 2]])
    one_by_one = ng.pushforward(ng.grad(lambda a: np.sum(np.linalg.eigvalsh(sym(a)) ** 2 * weights)), (x,), (t,))[1]
    assert np.isfinite(one_by_one[:2]).all()
    assert np.isnan(one_by_one[2]).any()


NOT_ALIKE = {
    "one of them": lambda w: w[0] ** 2,
    "weights": lambda w: np.sum(w**2 * np.arange(3.0)),
    "their order": lambda w: np.sum(np.cumsum(w) ** 2),
    "products of two": lambda w: np.sum(w * w[::-1] * np.arange(3.0)),
}


@pytest.mark.parametrize("name", NOT_ALIKE)
def test_second_derivatives_of_functions_of_single_eigenvalues_that_coincide(name):
    h = ng.hessian(lambda a: NOT_ALIKE[name](np.linalg.eigvalsh(a)))(np.eye(3))
    assert np.isnan(h).any()
    apart = ng.hessian(lambda a: np.linalg.eigvalsh(a)[-1] ** 2)(np.diag([1.0, 1.0, 3.0]))  # whatever the others do
    want = np.zeros((3, 3, 3, 3))
    want[2, 2, 2, 2] = 2
    for i in range(2):
        want[i, 2, i, 2] = want[2, i, 2, i] = want[i, 2, 2, i] = want[2, i, i, 2] = 2 * 3 / 2 / 2
    assert_close(apart, want, MATRIX)


TURNED = {  # eigenvalues beside others of the same, or of another, matrix, computed anew
    "the product of both": (lambda a: (ng.eigvalsh(a, IJ) * ng.eigvalsh(a, IJ).isel(j2=slice(None, None, -1))).sum() / 2, np.linalg.det),
    "neighbours in a batch": (lambda a: (ng.eigvalsh(a, IJ) * ng.eigvalsh(a, IJ).isel(b=slice(None, None, -1))).sum(), None),
}


@pytest.mark.parametrize("name", TURNED)
def test_second_derivatives_of_eigenvalues_beside_others_that_are_equal(name):
    f, of_matrix = TURNED[name]
    if of_matrix:
        for values in ([2.0, 1.0], [2.0, 2.0], [2.0, 2 + 1e-15]):
            x = np.diag(values)
            got, want = ng.hessian(f)(named(x)).data, ng.hessian(lambda a: of_matrix((a + a.T) / 2))(x)
            assert np.isnan(got).any() or np.abs(got - want).max() < 1e-9
    else:
        assert np.isnan(ng.hessian(f)(ng.DimArray(np.stack([np.eye(2)] * 2), ("b", *IJ))).data).any()


OF_SINGULAR_VALUES = {
    "squares": (lambda s: np.sum(s**2), lambda a: np.sum(a * a)),
    "squares about what they are": (lambda s: np.sum((s - 1) ** 2), lambda a: np.sum(a * a) - 2 * np.trace(sqrtm(a.T @ a))),
    "fourth powers": (lambda s: np.sum(s**4), lambda a: np.sum((a.T @ a) ** 2)),
    "product of sums": (lambda s: np.sum(s**2) * np.sum(s**4), lambda a: np.sum(a * a) * np.sum((a.T @ a) ** 2)),
    "logarithms": (lambda s: np.sum(np.log1p(s**2)), lambda a: np.linalg.slogdet(np.eye(3) + a.T @ a)[1]),
    "variance of squares": (lambda s: np.var(s**2), lambda a: np.sum((a.T @ a) ** 2) / 3 - (np.sum(a * a) / 3) ** 2),
    "product of squares": (lambda s: np.prod(s**2), lambda a: np.linalg.det(a.T @ a)),
}


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [2.0, 1.0, 1 + 1e-9], [1.0, 0.0, 0.0], [3.0, 2.0, 1.0]], ids=str)
@pytest.mark.parametrize("name", OF_SINGULAR_VALUES)
def test_second_derivatives_of_functions_that_treat_equal_singular_values_alike(name, values, shape):
    of_values, of_matrix = OF_SINGULAR_VALUES[name]
    if "about" in name and not values[1]:
        pytest.skip("singular values have a kink at 0")
    left, right = (np.linalg.qr(some(n, n))[0][:, :3] for n in shape)
    x = np.eye(3) if shape == (3, 3) and values == [1.0, 1.0, 1.0] else left @ np.diag(values) @ right.T
    tall = x if shape[0] >= 3 and shape[1] == 3 else x.T
    want = ng.hessian(of_matrix)(tall)
    want = want if tall.shape == x.shape else want.transpose(1, 0, 3, 2)
    for values_of in (lambda a: np.linalg.svd(a, compute_uv=False), lambda a: np.linalg.svd(a, full_matrices=False)[1], lambda a: np.linalg.svd(a)[1]):
        for mode in ("forward", "reverse"):
            assert_close(ng.jacobian(ng.grad(lambda a, f=values_of: of_values(f(a))), mode=mode)(x), want, 1e-9)


@pytest.mark.parametrize("f", [np.var, np.sum, np.prod, lambda w: np.sum((w - 2) ** 2)])
def test_tangents_of_equal_values_that_are_differentiated(f):
    """Their own tangents depend on the basis: never a number that is wrong, which it was where the slopes are 0."""
    for values_of in (np.linalg.eigvalsh, lambda a: np.linalg.svd(a)[1] ** 2):
        g = lambda a, values_of=values_of: f(values_of((a + a.T) / 2))
        for x in (2 * np.eye(3), np.diag([2.0, 2.0, 1.0]), np.diag([2.0, 3.0, 1.0])):
            for t in (np.ones((3, 3)), np.ones((3, 3)) - np.eye(3), np.diag([1.0, 2.0, 3.0])):
                slope = lambda a, t=t, g=g: ng.pushforward(g, (a,), (t,))[1]
                want = ng.hvp(g, x, t)
                assert np.isfinite(want).all()
                assert np.isfinite(slope(x))
                got, along = ng.grad(slope)(x), ng.pushforward(slope, (x,), (np.ones((3, 3)),))[1]
                assert np.isnan(got).any() or np.allclose(got, want, atol=1e-9)
                assert np.isnan(along) or np.isclose(along, want.sum(), atol=1e-9)


def test_second_derivatives_of_functions_of_values_of_complex_matrices_that_coincide():
    q, t = np.linalg.qr(some(3, 3, kind="complex"))[0], some(3, 3, kind="complex")
    x, t = q @ np.diag([1.0, 1.0, 2.0]) @ q.conj().T, t + t.conj().T
    cube = lambda a: (ng.eigvalsh(a, IJ) ** 3).sum()
    got = ng.pushforward(ng.grad(cube), (named(x),), (named(t),))[1].data
    assert_close(got, 3 * (x @ t + t @ x), MATRIX)
    x, t = q[:, :2], some(3, 2, kind="complex")
    fourth = lambda a: (ng.svd(a, IJ, compute_uv=False) ** 4).sum()
    got = ng.pushforward(ng.grad(fourth), (named(x),), (named(t),))[1].data
    h = x.conj().T
    assert_close(got, 4 * (t @ h @ x + x @ t.conj().T @ x + x @ h @ t), MATRIX)


@KINDS
def test_eigenvalues_of_any_square_matrix(kind):
    x = regular(4, kind=kind) + np.diag([0.0, 2, 4, 6])
    right(lambda a: weighed(ng.eigvals(a, IJ)), x)
    right(lambda a: squared(ng.eig(a, IJ)[0]), x)

    def function(a):
        w, v = ng.eig(a, IJ)
        return weighed(ng.dot(v * ng.sqrt(w), ng.inv(v, ("i", "j2")).rename(i="j2", j2="j"), dim="j2"))

    right(function, x)


def test_pairs_of_complex_eigenvalues():
    x = np.array([[1.0, -2.0, 0.1], [2.0, 1.0, 0.3], [0.2, 0.1, 5.0]])
    right(lambda a: ng.eigvals(a, IJ).imag.max(), x)
    right(lambda a: squared(ng.eigvals(a, IJ)), x)
    assert ng.grad(lambda a: squared(ng.eigvals(a, IJ)))(named(x)).dtype == np.float64


@KINDS
def test_sum_and_product_of_eigenvalues(kind):
    x = regular(4, kind=kind)
    assert_close(ng.grad(lambda a: ng.eigvals(a, IJ).sum().real)(named(x)).data, np.eye(4), MATRIX)
    g = ng.grad(lambda a: ng.eigvals(a, IJ).prod().real)(named(x)).data
    assert_close(g, (np.linalg.det(x) * np.linalg.inv(x)).conj().T, MATRIX)
    assert_close(ng.grad(lambda a: ng.eigvals(a, IJ).sum().real)(named(np.eye(3))).data, np.eye(3), MATRIX)


def test_a_matrix_that_cannot_be_diagonalized_has_no_vectors_to_move():
    x = np.array([[1.0, 1.0], [0.0, 1.0]])
    g = ng.grad(lambda a: ng.eigvals(a, IJ).isel(j2=0).real)(named(x)).data
    assert not np.isfinite(g).all() or np.abs(g).max() > 1e6


# ------------------------------------------------------------------------------------------------ pseudoinverse, least squares


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (4, 1), (1, 4)])
def test_pseudoinverse(shape, kind):
    x = regular(*shape, kind=kind)
    right(lambda a: weighed(ng.pinv(a, IJ)), x)


def test_pseudoinverse_of_dyads():
    u, v = some(6) + 1, some(5) + 1
    f = lambda u: weighed(ng.pinv(ng.outer(u, named(v, "j")), IJ))
    right(f, u, dims="i")
    g = ng.grad(lambda v: weighed(ng.pinv(ng.outer(named(u, "i"), v), IJ)))(named(v, "j")).data
    expected = slopes(lambda v: f_of(u, v), v)
    assert_close(g, expected, FIRST)


def f_of(u, v):
    """The pseudoinverse of a dyad is a dyad; here with rows and columns where those of the dyad were."""
    inverse = np.outer(v, u) / (u @ u * (v @ v))
    return float((inverse * some(*inverse.shape, seed=3)).sum())


@KINDS
def test_pseudoinverse_of_hermitian_matrices(kind):
    x = hermitian(regular(4, kind=kind))
    right(lambda a: weighed(ng.pinv(a, IJ, hermitian=True)), x, symmetric=True)


def test_pseudoinverse_of_zeros_and_of_a_part_of_the_identity():
    assert not ng.grad(lambda a: weighed(ng.pinv(a, IJ)))(named(np.zeros((3, 2)))).data.any()
    x = np.diag([2.0, 1.0, 0.0])
    t = np.zeros((3, 3))
    t[:2, :2] = some(2, 2)
    t[2, :2], t[:2, 2] = some(2, seed=1), some(2, seed=2)

    def f(s):  # to first order the rank stays
        m = x + s * t
        m[2, 2] += s * s * (t[2, :2] @ np.linalg.inv(x[:2, :2] + s * t[:2, :2]) @ t[:2, 2])
        return np.linalg.pinv(m, rcond=1e-9)

    got = ng.pushforward(lambda a: ng.pinv(a, IJ), (named(x),), (named(t),))[1].data
    assert_close(got, richardson(f, 1e-3), 1e-6)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_least_squares(shape, kind):
    x, v = regular(*shape, kind=kind), some(shape[0], 2, seed=6, kind=kind)
    right(lambda a: weighed(ng.lstsq(a, named(v, "im"), IJ)), x)
    right(lambda b: squared(ng.lstsq(named(x), b, IJ)), v, dims="im")


def test_least_squares_are_the_normal_equations():
    x, v = regular(6, 3), some(6)

    def normal(a, b):
        gram = ng.dot(a, a.rename(j="k"), dim="i")
        return ng.solve(gram.rename(j="i", k="j"), ng.dot(a, b, dim="i").rename(j="i"), IJ)

    for number in (weighed, squared):
        f, other = (lambda a, b, s=s, n=number: n(s(a, b)) for s in (lambda a, b: ng.lstsq(a, b, IJ), normal))
        for mine, theirs in zip(ng.grad(f, wrt=(0, 1))(named(x), named(v, "i")), ng.grad(other, wrt=(0, 1))(named(x), named(v, "i")), strict=True):
            assert_close(mine.data, theirs.data, MATRIX)
        mine, theirs = (ng.hvp(lambda a, f=f: f(a, named(v, "i")), named(x), named(x)).data for f in (f, other))
        assert_close(mine, theirs, MATRIX)


def test_least_squares_of_dependent_columns_in_the_right_hand_side():
    x = np.outer(some(5), some(3))
    v = some(5, seed=1)
    g = ng.grad(lambda b: squared(ng.lstsq(named(x), b, IJ)))(named(v, "i")).data
    p = np.linalg.pinv(x)
    assert_close(g, 2 * p.T @ p @ v, MATRIX)


def test_a_gradient_of_0_has_derivatives_where_nobody_may_look():
    t = some(3, 3)
    about = lambda a: ((ng.eigvalsh(a, IJ) - 1) ** 2).sum()
    compiled = ng.compile(lambda a: ng.hvp(about, a, named(t)))
    compiled(named(np.diag([1.0, 2.0, 4.0])))
    assert_close(compiled(named(np.eye(3))).data, t + t.T, MATRIX)
    dask = pytest.importorskip("dask.array")
    lazy = ng.hvp(about, named(dask.from_array(np.eye(3))), named(dask.from_array(t)))
    assert_close(np.asarray(lazy.data), t + t.T, MATRIX)


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [1.0, 1.0, 3.0]], ids=str)
def test_gradients_of_derivatives_of_eigenvalues(values):
    x, t, g = TURN @ np.diag(values) @ TURN.T, some(3, 3), np.array([1.0, 2.0, 3.0])
    pushed = lambda a: (ng.pushforward(lambda a: ng.eigvalsh(a, IJ), (a,), (named(t),))[1] * ng.DimArray(g, "j2")).sum()
    found = ng.grad(pushed)(named(x)).data
    if values[0] == values[1]:
        assert np.isnan(found).any()
    else:
        assert_close(found, slopes(lambda a: float(pushed(named(a)).data), x, symmetric=True), 1e-6)
