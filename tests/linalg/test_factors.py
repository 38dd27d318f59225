"""What users of other systems reported about determinants, equations and triangular factors, on our operations.

Answers are closed forms, or finite differences of the value alone; for second derivatives, of the gradient.
"""

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng
from namedgrad import backends
from namedgrad.backends.base import Backend
from tests.linalg.matrices import IJ, KINDS, definite, named, regular, richardson, right, slopes, some, squared, weighed
from tests.support.tolerances import FIRST, MATRIX, ROUNDING, SECOND, assert_close

# ------------------------------------------------------------------------------------------------ determinants


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_determinant_of_zeros(n):
    g = ng.grad(lambda a: ng.det(a, IJ))(named(np.zeros((n, n)))).data
    assert_close(g, np.ones((1, 1)) if n == 1 else np.zeros((n, n)), ROUNDING)
    h = ng.hessian(lambda a: ng.det(a, IJ))(named(np.zeros((n, n)))).data
    expected = np.zeros((n, n, n, n))
    if n == 2:
        expected[0, 0, 1, 1] = expected[1, 1, 0, 0] = 1
        expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = -1
    assert_close(h, expected, ROUNDING)


@KINDS
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_determinant_of_any_rank(rank, kind):
    x = some(4, rank, kind=kind) @ some(rank, 4, seed=1, kind=kind)
    right(lambda a: squared(ng.det(a, IJ)) + weighed(ng.det(a, IJ).expand_dims("q")), x, twice=1e-5)


def test_hessians_of_determinants_of_a_batch():
    x = np.stack([regular(3), np.zeros((3, 3)), np.ones((3, 3)), some(3, 3, seed=2), regular(3, seed=3) * 1e3])
    for f in (lambda a: ng.det(a, IJ), lambda a: ng.slogdet(a, IJ)[1], lambda a: ng.det(a, IJ) ** 2):
        whole = ng.hessian(f)(named(x, "bij", vectorized="b")).data
        over = ng.hessian(f, over="b")(named(x.transpose(1, 0, 2), "ibj"))
        for k in range(5):
            one = ng.hessian(f)(named(x[k])).data
            assert_close(whole[k], one, MATRIX)
            assert_close(over.isel(b=k).transpose(*"ij", "i_wrt", "j_wrt").data, one, MATRIX)


@KINDS
def test_hessian_of_the_logarithm_of_a_determinant_is_a_product_of_inverses(kind):
    x = regular(3, kind=kind)
    if kind == "complex":
        right(lambda a: ng.slogdet(a, IJ)[1] + weighed(ng.slogdet(a, IJ)[0].expand_dims("q")), x)
        return
    y = np.linalg.inv(x)
    h = ng.hessian(lambda a: ng.slogdet(a, IJ)[1])(named(x)).data
    assert_close(h, -np.einsum("jk,li->ijkl", y, y), MATRIX)
    x = x if np.linalg.det(x) > 0 else -x
    y = np.linalg.inv(x)
    assert_close(ng.hessian(lambda a: ng.logdet(a, IJ))(named(x)).data, -np.einsum("jk,li->ijkl", y, y), MATRIX)


def test_signs_do_not_reach_the_gradient_of_the_logarithm():
    x = np.stack([np.diag([2.0, -3.0]), np.diag([-2.0, -3.0]), np.diag([2.0, 3.0])])
    g = ng.grad(lambda a: ng.slogdet(a, IJ)[1])(named(x, "bij", vectorized="b")).data
    assert_close(g, np.linalg.inv(x).transpose(0, 2, 1), ROUNDING)
    sign = ng.grad(lambda a: (ng.slogdet(a, IJ)[0] * 5.0))(named(x, "bij", vectorized="b")).data
    assert not sign.any()


def test_the_sign_of_a_singular_matrix_has_the_derivative_0_in_both_modes():
    for x, one in ((np.ones((2, 2)), 1.0), (np.zeros((1, 1), complex), 1 + 1j)):
        f = lambda a: np.linalg.slogdet(a)[0].real
        assert not ng.grad(f)(x).any()
        assert ng.jvp(f, (x,), (np.full_like(x, one),))[1] == 0
    several = np.stack([np.ones((2, 2)), np.diag([2.0, 4.0])])
    g = ng.grad(lambda a: np.where(np.linalg.slogdet(a)[0] != 0, np.linalg.slogdet(a)[1], 0.0).sum())(several)
    np.testing.assert_allclose(g, [np.zeros((2, 2)), np.diag([0.5, 0.25])])


def test_a_singular_matrix_spoils_its_own_slice_only():
    x = np.stack([regular(2), np.ones((2, 2)), regular(2, seed=1)])
    for f in (lambda a: ng.slogdet(a, IJ)[1], lambda a: squared(ng.inv(a, IJ, errors="nan")), lambda a: squared(ng.solve(a, named([1.0, 2.0], "i"), IJ, errors="nan"))):
        g = ng.grad(f)(named(x, "bij", vectorized="b")).data
        assert not np.isfinite(g[1]).any()
        for k in (0, 2):
            assert_close(g[k], ng.grad(f)(named(x[k])).data, MATRIX)


def test_gradients_per_sample_of_a_network_that_ends_in_a_determinant():
    w1, w2, data = some(2, 5), some(5, 3, seed=1), some(7, 3, seed=2)

    def f(w1, w2, x):
        g = ng.concat([x.expand_dims("k"), x.mean("n").expand_dims("k").broadcast_like(x.expand_dims("k"))], "k")
        y = ng.dot(ng.tanh(ng.dot(g, w1, dim="k")), w2, dim="h")
        return ng.slogdet(y, ("n", "m"))[1]

    x = named(data, "bn")
    got = ng.grad(f, wrt=(0, 1))(named(w1, "kh"), named(w2, "hm"), x.vectorize("b"))
    for k in range(7):
        one = ng.grad(f, wrt=(0, 1))(named(w1, "kh"), named(w2, "hm"), named(data[k], "n"))
        for g, e in zip(got, one, strict=True):
            assert_close(g.data[k], e.data, 1e-8)


# ------------------------------------------------------------------------------------------------ equations, inverses


@KINDS
def test_inverse(kind):
    x = regular(4, kind=kind)
    right(lambda a: ng.inv(a, IJ).isel(i=0, j=0).real, x)
    right(lambda a: weighed(ng.inv(a, IJ)), x)


def test_jacobian_of_the_inverse_in_both_modes():
    x = regular(3)
    y = np.linalg.inv(x)
    expected = -np.einsum("ik,lj->ijkl", y, y)
    for mode in ("forward", "reverse", "auto"):
        assert_close(ng.jacobian(lambda a: ng.inv(a, IJ), mode=mode)(named(x)).data, expected, MATRIX)
    twice = ng.jacobian(lambda a: ng.inv(ng.inv(a, IJ), IJ))(named(x)).data
    assert_close(twice, np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3)), MATRIX)


@KINDS
@pytest.mark.parametrize("n", [1, 2, 4])
def test_equations_with_a_vector(n, kind):
    x, v = regular(n, kind=kind), some(n, seed=4, kind=kind)
    right(lambda a: weighed(ng.solve(a, named(v, "i"), IJ)), x)
    right(lambda b: weighed(ng.solve(named(x), b, IJ)), v, dims="i")
    assert ng.grad(lambda a: weighed(ng.solve(a, named(v, "i"), IJ)))(named(x)).shape == (n, n)


def test_equations_where_a_stack_of_vectors_looks_like_a_matrix():
    a, b = np.stack([regular(3, seed=k) for k in range(3)]), some(3, 3)
    vectors = ng.solve(named(a, "bij"), named(b, "bi"), IJ)
    assert_close(vectors.data, np.linalg.solve(a, b[..., None])[..., 0], MATRIX)
    matrices = ng.solve(named(a, "bij"), named(b, "im"), IJ)
    assert_close(matrices.transpose("b", "j", "m").data, np.linalg.solve(a, b), MATRIX)
    assert_close(np.linalg.solve(ng.positional(a), b).data, np.linalg.solve(a, b), MATRIX)
    f = lambda x: np.sum(np.linalg.solve(x, b) ** 2)
    assert_close(ng.grad(f)(a), slopes(f, a), FIRST)


def test_hessians_of_equations_of_a_batch():
    a, b = np.stack([regular(3, seed=k) for k in range(3)]), some(3, 3)
    f = lambda a: (ng.solve(a, named(b[0], "i"), IJ) ** 2).sum()
    h = ng.vmap(ng.hessian(f), "b")(named(a, "bij")).data
    for k in range(3):
        assert_close(h[k], ng.hessian(f)(named(a[k])).data, MATRIX)
        t = some(3, 3, seed=9)
        along = richardson(lambda s, k=k, t=t: ng.grad(f)(named(a[k] + s * t)).data, 5e-4)
        assert_close(np.einsum("ijkl,kl->ij", h[k], t), along, SECOND)


def test_only_one_side_under_a_transform():
    a, b = regular(3), some(4, 3)
    got = ng.vmap(lambda b: ng.solve(named(a), b, IJ), "b")(named(b, "bi"))
    assert_close(got.data, np.linalg.solve(a, b.T).T, MATRIX)
    g = ng.grad(lambda a: (ng.solve(a, named(b, "bi"), IJ).vectorize("b") ** 2).sum())(named(a)).data
    for k in range(4):
        assert_close(g[k], slopes(lambda x, k=k: np.sum(np.linalg.solve(x, b[k]) ** 2), a), FIRST)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@KINDS
def test_triangular_equations_read_their_triangle_only(lower, transposed, unit, kind):
    x, v = regular(4, kind=kind), some(4, 2, seed=5, kind=kind)
    f = lambda a: weighed(ng.solve_triangular(a, named(v, "im"), IJ, lower=lower, transposed=transposed, unit_diagonal=unit))
    right(f, x)
    g = ng.grad(f)(named(x)).data
    outside = np.triu(g, 1) if lower else np.tril(g, -1)
    assert not outside.any()
    assert not unit or not np.diag(g).any()
    spoiled = np.where(np.tril(np.ones((4, 4)), -1 if unit else 0) == 1, x, np.nan)
    spoiled = spoiled if lower else np.where(np.triu(np.ones((4, 4)), 1 if unit else 0) == 1, x, np.nan)
    assert_close(ng.grad(f)(named(spoiled)).data, g, ROUNDING)
    right(lambda b: weighed(ng.solve_triangular(named(x), b, IJ, lower=lower, transposed=transposed, unit_diagonal=unit)), v, dims="im")


def test_triangular_equations_with_one_cell():
    a, b = named([[-1.0]]), named([-1.0], "i")
    ga, gb = ng.grad(lambda a, b: ng.solve_triangular(a, b, IJ).sum(), wrt=(0, 1))(a, b)
    assert (ga.item(), gb.item()) == (1.0, -1.0)


def test_a_tangent_through_the_factor_of_a_batch_of_equations():
    b, w = named([[1.0, 2.0], [-1.0, 3.0]], "im"), named([[[1.0, 2], [3, 4]], [[2.0, -1], [4, 3]]], "bim")

    def f(t):
        rows = [2.0 + 0 * t, 0 * t, t, 3 + 0 * t, 3 + 0 * t, 0 * t, 2 * t + 1, 2 + 0 * t]
        low = ng.concat([r.expand_dims("c") for r in rows], "c").unstack(c={"b": 2, "i": 2, "j": 2})
        y = ng.solve_triangular(low, b, IJ)
        x = ng.solve_triangular(low, y.rename(j="i"), IJ, transposed=True)
        return (x.rename(j="i") * w).sum()

    t = named(-7.0, ())
    assert_close(ng.pushforward(f, (t,), (named(1.0, ()),))[1].item(), -11 / 3, 1e-10)
    assert_close(ng.grad(f)(t).item(), -11 / 3, 1e-10)


# ------------------------------------------------------------------------------------------------ cholesky


@KINDS
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(kind, lower):
    right(lambda a: weighed(ng.cholesky(a, IJ, lower=lower)), definite(4, kind=kind), symmetric=True)


def test_cholesky_of_two_by_two_by_hand():
    a, b, c = 4.0, 1.0, 3.0
    x = np.array([[a, b], [b, c]])
    root = np.sqrt(c - b * b / a)
    g = ng.grad(lambda x: ng.cholesky(x, IJ).sum())(named(x)).data
    in_a = 0.5 / np.sqrt(a) - 0.5 * b / a**1.5 + 0.5 * (b * b / a**2) / root
    in_b, in_c = 1 / np.sqrt(a) - (b / a) / root, 0.5 / root
    assert_close(g, [[in_a, in_b / 2], [in_b / 2, in_c]], ROUNDING)
    upper = ng.grad(lambda x: ng.cholesky(x, IJ, lower=False).sum())(named(x)).data
    assert_close(upper, g, ROUNDING)


def test_cholesky_reads_one_triangle_of_what_is_not_symmetric():
    x = definite(3)
    other = np.tril(x) + np.triu(some(3, 3), 1)
    assert_close(ng.cholesky(named(other), IJ).data, np.linalg.cholesky(x), ROUNDING)
    assert_close(ng.grad(lambda a: weighed(ng.cholesky(a, IJ)))(named(other)).data, ng.grad(lambda a: weighed(ng.cholesky(a, IJ)))(named(x)).data, ROUNDING)


def test_density_of_a_normal_with_a_correlation_matrix():
    data = some(3, 6)

    def loss(y):
        low = ng.tril(ng.outer(ng.tanh(y), ng.tanh(y).rename(i="j")), IJ, -1) + ng.eye("i", "j", 3)
        cov = ng.dot(low, low.rename(i="k"), dim="j").rename(k="j")
        chol = ng.cholesky(cov, IJ)
        z = ng.solve_triangular(chol, named(data, "in"), IJ)
        return 0.5 * (z * z).sum() + 6 * ng.log(ng.diagonal(chol, IJ)).sum()

    right(loss, np.array([0.3, -0.4, 0.8]), dims="i")


# ------------------------------------------------------------------------------------------------ QR, LU


@KINDS
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (4, 1), (1, 4)])
@pytest.mark.parametrize("part", ["q", "r", "both"])
def test_qr(shape, part, kind):
    x = regular(*shape, kind=kind)

    def f(a):
        q, r = ng.qr(a, IJ)
        return {"q": lambda: weighed(q), "r": lambda: weighed(r), "both": lambda: weighed(q) + squared(r + 1.0)}[part]()

    right(f, x)


@KINDS
def test_qr_complete(kind):
    x = regular(5, 3, kind=kind)
    right(lambda a: weighed(ng.qr(a, IJ, mode="complete")[1]), x)

    def span(a):
        rest = ng.qr(a, IJ, mode="complete")[0].isel(j2=slice(3, None))
        return weighed(ng.dot(rest, ng.conjugate(rest).rename(i="k"), dim="j2"))

    right(span, x)


@pytest.mark.parametrize(("name", "options"), [("cholesky", {}), ("cholesky", {"lower": False}), ("qr", {}), ("lu", {})])
def test_cells_of_factors_that_are_0_whatever_the_matrix_is(name, options):
    """The slope of the cubic root is infinite there."""

    def f(a):
        found = getattr(ng, name)(a, IJ, **options)
        return sum(ng.cbrt(x).sum() for x in (found[1:] if name != "cholesky" else (found,)))

    right(f, definite(4), symmetric=name == "cholesky")


def test_qr_of_a_deficient_matrix_is_never_finite_and_wrong():
    x = np.concatenate([some(4, 2), np.zeros((4, 2))], axis=1)
    g = ng.grad(lambda a: weighed(ng.qr(a, IJ)[0]), wrt=0)(named(x)).data
    assert not np.isfinite(g).all()


@KINDS
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1)])
def test_lu(shape, kind):
    x = regular(*shape, kind=kind)

    def f(a):
        p, low, up = ng.lu(a, IJ)
        return weighed(low) + squared(up) + weighed(a.isel(i=p))

    right(f, x)


LOWER_RANK = [np.ones((4, 2)), np.zeros((3, 2)), np.outer([1.0, -2.0, 3.0, 0.5], [2.0, 1.0, 1j]), np.array([[0.0, 1.0]] * 3)]


@pytest.mark.parametrize("x", LOWER_RANK)
def test_lu_of_a_tall_matrix_of_lower_rank_has_the_finite_factors_of_lapack(x):
    order, *known = scipy.linalg.lu(x, p_indices=True)
    p, *found = ng.lu(named(x), IJ)
    for got, want in zip(found, known, strict=True):
        np.testing.assert_allclose(got.data, want, atol=1e-15)
    np.testing.assert_array_equal(p.data, np.argsort(order))
    packed = Backend.lu_factored(backends.NUMPY, x)  # as on a device
    np.testing.assert_allclose(packed[:-1, : x.shape[0]].T @ packed[:-1, x.shape[0] :], x[packed[-1, : x.shape[0]].real.astype(int)], atol=1e-15)
