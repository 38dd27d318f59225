"""What users of other systems reported about derivatives of linear algebra, on our operations.

Answers are closed forms, or finite differences of the value alone; for second derivatives, of the gradient.
"""

import zlib

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng
from namedgrad import backends
from namedgrad.backends.base import Backend
from tests.support.tolerances import FIRST, MATRIX, ROUNDING, SECOND, assert_close

IJ = ("i", "j")


def named(data, dims="ij", **options):
    return ng.DimArray(np.asarray(data), tuple(dims), **options)


def some(*shape, seed=0, kind="real"):
    rng = np.random.default_rng([zlib.crc32(repr((shape, kind)).encode()), seed])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if kind == "complex" else x


def regular(n, m=None, *, seed=0, kind="real"):
    return some(n, m or n, seed=seed, kind=kind) / 2 + 2 * np.eye(n, m or n)


def definite(n, *, seed=0, kind="real"):
    x = some(n, n, seed=seed, kind=kind)
    return x @ x.conj().T / n + np.eye(n)


def hermitian(x):
    return (x + x.conj().T) / 2


def richardson(f, h):
    coarse, fine = ((f(s) - f(-s)) / (2 * s) for s in (h, h / 2))
    return (4 * fine - coarse) / 3


def slopes(f, x, *, symmetric=False, h=1e-3):
    """dL/dx + i dL/dy of a real function of an array, cell by cell; symmetric cells move together, half each."""
    out = np.zeros(x.shape, x.dtype)
    for at in np.ndindex(*x.shape):
        for part in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            unit = np.zeros(x.shape, x.dtype)
            unit[at] = part
            unit = hermitian(unit) if symmetric else unit
            out[at] += part * richardson(lambda s, unit=unit: float(f(x + s * unit)), h)
    return out


def right(f, x, *, dims="ij", symmetric=False, second=True, first=FIRST, twice=SECOND):
    """The gradient, the tangent and the second derivative along a direction of a real function of one array."""

    def value(data):
        return f(named(data, dims)).item()

    a, t = named(x, dims), some(*x.shape, seed=7, kind="complex" if x.dtype.kind == "c" else "real")
    t = hermitian(t) if symmetric else t
    g = ng.grad(f)(a)
    assert g.dtype == x.dtype
    assert_close(g.data, slopes(value, x, symmetric=symmetric), first, "gradient")
    pushed = ng.pushforward(f, (a,), (named(t, dims),))[1]
    assert_close(pushed.data, np.sum(np.real(np.conj(g.data) * t)), 1e-9, "tangent")
    if second:
        expected = richardson(lambda s: ng.grad(f)(named(x + s * t, dims)).data, 5e-4)
        assert_close(ng.hvp(f, a, named(t, dims)).data, expected, twice, "second derivative")
        backwards = ng.grad(lambda a: (ng.grad(f)(a) * named(np.conj(t), dims)).sum().real)(a)
        assert_close(backwards.data, expected, twice, "second derivative, in reverse")


def squared(x):
    return (x * ng.conjugate(x)).real.sum(skipna=False)


def weighed(x, seed=3):
    """A real number that depends on every cell."""
    w = some(*x.shape, seed=seed, kind="complex" if x.dtype.kind == "c" else "real")
    return (x * named(w, x.dims)).sum(skipna=False).real


KINDS = pytest.mark.parametrize("kind", ["real", "complex"])


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

    assert np.isnan(ng.grad(rotated)(named(x, "i")).data).any(), "any basis of the rest is one of zeros"


@pytest.mark.parametrize("scale", [1e-6, 1e-8, 1e-3])
def test_values_that_nearly_coincide(scale):
    x = np.diag(1 + scale * np.array([0.3, -0.9, 1.7]))
    g = ng.grad(lambda a: (ng.eigh(a, IJ)[0] ** 3).sum())(named(x)).data
    assert_close(g, 3 * x @ x, MATRIX)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 5.0]), np.ones((3, 3))], ids=str)
def test_symmetric_functions_of_coinciding_eigenvalues(x):
    for f in (lambda a: (ng.eigvalsh(a, IJ) ** 2).sum(), lambda a: (ng.eigh(a, IJ)[0] ** 2).sum(), lambda a: (ng.eigvals(a, IJ) ** 2).sum().real):
        assert_close(ng.grad(f)(named(x)).data, 2 * x, MATRIX)


def test_a_second_derivative_at_coinciding_values_is_never_finite_and_wrong():
    for f in (lambda a: (ng.eigvalsh(a, IJ) ** 2).sum(), lambda a: ng.log(ng.eigvalsh(a, IJ)).sum(), lambda a: (ng.svd(a, IJ, compute_uv=False) ** 2).sum()):
        h = ng.hessian(f)(named(2 * np.eye(2))).data
        factor = 2.0 if f(named(2 * np.eye(2))).item() > 7 else -0.25
        exact = np.einsum("ik,jl->ijkl", np.eye(2), np.eye(2)) * factor
        if factor == 2.0 and h[0, 1, 1, 0] == h[0, 1, 0, 1]:
            exact = (exact + exact.transpose(0, 1, 3, 2)) / 2
        finite = np.isfinite(h)
        assert_close(h[finite], exact[finite], MATRIX)


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


# ------------------------------------------------------------------------------------------------ functions of matrices


@KINDS
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 7, 10])
def test_powers(n, kind):
    x = regular(3, kind=kind) / 2
    right(lambda a: weighed(ng.matrix_power(a, IJ, n)), x, twice=5e-6)
    assert_close(ng.matrix_power(named(x), IJ, n).data, np.linalg.matrix_power(x, n), MATRIX)


def test_powers_of_zeros_and_of_singular_matrices():
    zero = named(np.zeros((2, 2)))
    for n, slope in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)):
        jac = ng.jacobian(lambda a, n=n: ng.matrix_power(a, IJ, n))(zero).data
        assert_close(jac, slope * np.einsum("ik,jl->ijkl", np.eye(2), np.eye(2)), ROUNDING)
    second = ng.jacobian(ng.jacobian(lambda a: ng.matrix_power(a, IJ, 2)), suffix="_2")(zero).data
    assert second.any(), "the square bends at zero"
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        ng.matrix_power(zero, IJ, -1)


def test_the_second_derivative_of_an_exponential_by_nested_tangents():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])

    def f(t):
        return ng.expm(t * ng.eye("i", "j", 2) + named(turn), IJ).sum()

    one, t = named(1.0, ()), named(0.7, ())
    first = lambda t: ng.pushforward(f, (t,), (one,))[1]
    second = lambda t: ng.pushforward(first, (t,), (one,))[1]
    third = ng.pushforward(second, (t,), (one,))[1]
    for found in (f(t), first(t), second(t), third):
        assert_close(found.item(), 2 * np.exp(0.7) * np.cos(1), 1e-11)


@KINDS
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 5.0])
def test_exponentials(size, kind):
    x = size * some(3, 3, kind=kind)
    right(lambda a: weighed(ng.expm(a, IJ)), x, first=2e-7, twice=5e-6)
    trace = ng.grad(lambda a: ng.trace(ng.expm(a, IJ), IJ).real)(named(x)).data
    assert_close(trace, scipy.linalg.expm(x).conj().T, MATRIX)


@pytest.mark.parametrize("x", [np.zeros((3, 3)), np.eye(3, k=1), np.diag([1.0, 1.0, 2.0]), np.diag([-800.0, 0.0, 1.0]), np.full((3, 3), 1e-200)], ids=str)
def test_exponentials_of_special_matrices(x):
    t = some(3, 3)
    block = scipy.linalg.expm(np.block([[x, t], [np.zeros((3, 3)), x]]))[:3, 3:]
    assert_close(ng.pushforward(lambda a: ng.expm(a, IJ), (named(x),), (named(t),))[1].data, block, MATRIX)
    g = ng.grad(lambda a: weighed(ng.expm(a, IJ)))(named(x)).data
    w = some(3, 3, seed=3)
    assert_close(g, scipy.linalg.expm(np.block([[x.T, w], [np.zeros((3, 3)), x.T]]))[:3, 3:], MATRIX)


def test_a_logarithm_behind_an_exponential_with_zeros():
    def f(q):
        rates = ng.concat([ng.concat([-q, q], "j"), ng.concat([0 * q, 0 * q], "j")], "i")
        p = ng.log(ng.expm(rates, IJ))
        return p.isel(i=0).sum(skipna=False)

    q = named([0.7], "j").expand_dims("i")
    g = ng.grad(f)(q).data
    assert_close(g, [[-1 + np.exp(-0.7) / (1 - np.exp(-0.7))]], MATRIX)


@KINDS
def test_roots_and_logarithms(kind):
    x = definite(3, kind=kind) + np.triu(some(3, 3, kind=kind), 1) / 4
    for f in (ng.sqrtm, ng.logm):
        right(lambda a, f=f: weighed(f(a, IJ)), x)
    for f in (lambda a: ng.dot(ng.sqrtm(a, IJ), ng.sqrtm(a, IJ).rename(i="j", j="k"), dim="j"), lambda a: ng.expm(ng.logm(a, IJ), IJ)):
        jac = ng.jacobian(lambda a, f=f: f(a).real)(named(x.real)).data
        assert_close(jac, np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3)), MATRIX)


def test_entropy():
    x = definite(4)

    def entropy(a):
        return ng.trace(ng.dot(a, ng.logm(a, IJ).rename(i="j", j="k"), dim="j"), ("i", "k"))

    g = ng.grad(entropy)(named(x)).data
    assert_close(g, (scipy.linalg.logm(x) + np.eye(4)).T, MATRIX)
    w, v = np.linalg.eigh(x)
    with np.errstate(all="ignore"):
        divided = np.where(np.eye(4) == 1, 1 / w, (np.log(w)[:, None] - np.log(w)) / (w[:, None] - w))
    t = hermitian(some(4, 4))
    assert_close(ng.hvp(entropy, named(x), named(t)).data, v @ (divided * (v.T @ t @ v)) @ v.T, MATRIX)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-5])
def test_roots_and_logarithms_where_eigenvalues_nearly_coincide(gap):
    q = np.linalg.qr(some(3, 3))[0]
    x, t = q @ np.diag([2.0, 2.0 + gap, 5.0]) @ q.T, hermitian(some(3, 3, seed=1))
    root = scipy.linalg.sqrtm(x)
    got = ng.pushforward(lambda a: ng.sqrtm(a, IJ), (named(x),), (named(t),))[1].data
    assert_close(got, scipy.linalg.solve_sylvester(root, root, t), 1e-9)
    moved = ng.pushforward(lambda a: ng.logm(a, IJ), (named(x),), (named(t),))[1].data
    w = np.array([2.0, 2.0 + gap, 5.0])
    with np.errstate(all="ignore"):
        divided = np.where(np.abs(w[:, None] - w) < 1e-4, 1 / w, np.log(w[:, None] / w) / (w[:, None] - w))
    assert_close(moved, q @ (divided * (q.T @ t @ q)) @ q.T, max(1e-9, gap))


def test_functions_of_a_batch_at_once():
    x = np.stack([definite(3, seed=k) for k in range(5)])
    for name in ("sqrtm", "logm", "expm"):
        f = getattr(ng, name)
        g = ng.grad(lambda a, f=f: weighed(f(a, IJ)))(named(x.transpose(1, 2, 0), "ijb", vectorized="b")).data
        for k in range(5):
            assert_close(g[k], ng.grad(lambda a, f=f: weighed(f(a, IJ)))(named(x[k])).data, MATRIX)


# ------------------------------------------------------------------------------------------------ norms, condition


ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_zeros(order):
    for shape in ((3, 3), (2, 4)):
        g = ng.grad(lambda a: ng.norm(a, IJ, order))(named(np.zeros(shape))).data
        assert np.array_equal(g, np.zeros(shape))
    both = ng.grad(lambda a: ng.norm(a, IJ, order).sum())(named(np.stack([np.zeros((2, 2)), np.diag([1.0, 2.0])]), "bij")).data
    assert not both[0].any()
    assert both[1].any()


@KINDS
@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_matrices(order, kind):
    right(lambda a: ng.norm(a, IJ, order), regular(3, 4, kind=kind))


@KINDS
@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, np.inf, -np.inf, -1, -2, 2.5])
def test_norms_of_vectors(order, kind):
    right(lambda a: ng.norm(a, "i", order), some(4, kind=kind) + 2, dims="i")
    right(lambda a: weighed(ng.norm(a, "j", order)), regular(3, 4, kind=kind))


@pytest.mark.parametrize("order", [None, 2, 1, np.inf, 3])
def test_norms_of_zero_vectors(order):
    assert not ng.grad(lambda a: ng.norm(a, "i", order))(named(np.zeros(3), "i")).data.any()
    assert not ng.grad(lambda a: ng.norm(a, "i", order) ** 2)(named(np.zeros(3), "i")).data.any()
    assert not ng.grad(lambda x: np.linalg.norm(x, order) ** 2)(np.zeros(3)).any()
    assert ng.grad(lambda x: np.exp(-(np.linalg.norm(x) ** 2)))(np.zeros(2)).tolist() == [0, 0]
    rows = ng.grad(lambda a: ng.norm(a, "j", order).sum())(named([[0.0, 0.0], [3.0, 0.0]])).data
    assert rows.tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("order", [o for o in ORDERS if o != "nuc"])
@KINDS
def test_condition(order, kind):
    right(lambda a: ng.cond(a, IJ, order), regular(3, kind=kind) + np.diag([0.0, 1, 2]), first=3e-7, twice=5e-6)


def test_condition_of_rectangles_of_equal_values_and_of_singular_matrices():
    right(lambda a: ng.cond(a, IJ), regular(4, 3) + np.eye(4, 3) * [0, 1, 2])
    assert ng.cond(named(np.ones((2, 2))), IJ, 1).item() == np.inf
    for order in (None, 2, -2, 1, "fro", np.inf):  # those of NumPy, which do not move
        x = np.stack([np.zeros((2, 2)), np.diag([4.0, 2.0])])
        value, g = ng.value_and_grad(lambda a, o=order: ng.cond(a, ("i", "j"), o), over="b")(ng.DimArray(x, ("b", "i", "j")))
        np.testing.assert_allclose(value.data, np.linalg.cond(x, order))
        alone = ng.grad(lambda a, o=order: ng.cond(a, IJ, o))(named(x[1])).data
        np.testing.assert_allclose(g.data, [np.zeros((2, 2)), alone], atol=1e-15)
    x = np.stack([np.eye(2), np.diag([4.0, 2.0]), regular(2)])
    got = ng.cond(named(x.transpose(1, 2, 0), "ijb"), IJ).data
    assert_close(got, np.linalg.cond(x), MATRIX)
    g = ng.grad(lambda a: ng.cond(a, IJ).sum())(named(x.transpose(1, 2, 0), "ijb")).data
    assert_close(g[..., 1], [[0.5, 0], [0, -1]], MATRIX)
    assert_close(g[..., 2], ng.grad(lambda a: ng.cond(a, IJ))(named(x[2])).data, MATRIX)


def test_a_count_of_singular_values_steers_nothing():
    x = named(np.stack([np.eye(3), np.ones((3, 3))]), "bij", vectorized="b")
    g = ng.grad(lambda a: (ng.matrix_rank(a, IJ) * a).sum())(x).data
    assert g[:, 0, 0].tolist() == [3.0, 1.0]


# ------------------------------------------------------------------------------------------------ sizes, dtypes, NumPy's names


@pytest.mark.parametrize("name", ["det", "inv", "pinv", "cholesky", "expm", "sqrtm", "logm", "eigvalsh", "trace", "logdet"])
def test_one_cell_and_none(name):
    f = getattr(ng, name)
    one = ng.grad(lambda a: weighed(f(a, IJ)) if f(a, IJ).dims else f(a, IJ))(named([[2.0]])).data
    assert one.shape == (1, 1)
    assert np.isfinite(one).all()
    none = ng.grad(lambda a: f(a, IJ).sum())(named(np.zeros((0, 0)))).data
    assert none.shape == (0, 0)
    empty = ng.grad(lambda a: f(a, IJ).sum())(named(np.zeros((0, 2, 2)), "bij")).data
    assert empty.shape == (0, 2, 2)


@pytest.mark.parametrize("name", ["det", "inv", "pinv", "cholesky", "expm", "sqrtm", "logm", "eigvalsh", "qr", "svd", "eigh", "lu", "slogdet", "norm", "cond", "solve", "lstsq", "solve_triangular"])
def test_single_precision_stays_single_to_second_order(name):
    x = definite(3).astype(np.float32)
    b = named(some(3).astype(np.float32), "i")
    call = getattr(ng, name)

    def f(a):
        out = call(a, b, IJ) if name in {"solve", "lstsq", "solve_triangular"} else call(a, IJ)
        parts = [y for y in (out if isinstance(out, tuple) else (out,)) if y.dtype.kind == "f"]
        assert {y.dtype for y in parts} == {np.dtype(np.float32)}
        return sum(squared(y) for y in parts)

    assert ng.grad(f)(named(x)).dtype == np.float32
    assert ng.hvp(f, named(x), named(x)).dtype == np.float32
    assert ng.hessian(f)(named(x)).dtype == np.float32


A3, B3 = regular(3), some(3)
NUMPY = {
    "solve": lambda x: np.linalg.solve(x, B3), "inv": np.linalg.inv, "det": np.linalg.det, "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "slogdet by name": lambda x: np.linalg.slogdet(x).logabsdet, "norm": np.linalg.norm, "norm 2": lambda x: np.linalg.norm(x, 2),
    "norm of rows": lambda x: np.linalg.norm(x, axis=1), "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord="nuc"), "vector_norm": lambda x: np.linalg.vector_norm(x, axis=0, ord=3),
    "cond": np.linalg.cond, "pinv": np.linalg.pinv, "matrix_power": lambda x: np.linalg.matrix_power(x, -2), "svd": lambda x: np.linalg.svd(x)[1],
    "svd by name": lambda x: np.linalg.svd(x, full_matrices=False).S, "svdvals": np.linalg.svdvals, "eigvals": lambda x: np.linalg.eigvals(x).real, "eigvalsh": lambda x: np.linalg.eigvalsh(x + x.T),
    "eigh by name": lambda x: np.linalg.eigh(x + x.T).eigenvalues, "qr": lambda x: np.linalg.qr(x)[1], "qr r": lambda x: np.linalg.qr(x, mode="r"), "cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)),
    "upper cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(3), upper=True), "lstsq": lambda x: np.linalg.lstsq(x[:, :2], B3, rcond=None)[0], "multi_dot": lambda x: np.linalg.multi_dot([x, x, B3]),
    "tensorsolve": lambda x: np.linalg.tensorsolve(x, B3), "tensorinv": lambda x: np.linalg.tensorinv(x, ind=1), "matmul": lambda x: np.linalg.matmul(x, x), "outer": lambda x: np.linalg.outer(x[0], x[1]),
    "cross": lambda x: np.linalg.cross(x, x[::-1]), "trace": lambda x: np.linalg.trace(x, offset=1), "diagonal": lambda x: np.linalg.diagonal(x), "matrix_transpose": lambda x: np.linalg.matrix_transpose(x) @ B3,
    "vecdot": lambda x: np.linalg.vecdot(x, B3), "tensordot": lambda x: np.linalg.tensordot(x, x, axes=1), "kron": lambda x: np.kron(x, x[:1]),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_names(name):
    f = NUMPY[name]
    out = np.asarray(f(A3))
    w = some(*out.shape, seed=8)

    def loss(x):
        return np.sum(f(x) * w)

    assert_close(ng.grad(loss)(A3), slopes(loss, A3), FIRST)
    stack = np.stack([A3, A3 + 0.1, A3.T])
    g = ng.grad(loss)(ng.positional(stack, vectorized=("b",)))
    assert_close(g.data, np.stack([ng.grad(loss)(m) for m in stack]), MATRIX)
    h = ng.hessian(loss)(ng.positional(stack, vectorized=("b",)))
    assert_close(h.data, np.stack([ng.hessian(loss)(m) for m in stack]), 1e-9)
