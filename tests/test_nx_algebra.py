"""Linear algebra under vectorized axes."""

import numpy as np
import pytest

import namedgrad as ng
from tests.support.slices import agrees, cut, generator
from tests.support.tolerances import MATRIX, assert_close

IJ = ("i", "j")


def definite(x):
    return ng.dot(x, x.rename(i="i", j="k"), dim="i").rename(k="i").transpose("i", "j") + ng.eye("i", "j", x.sizes["j"])


def vector(x):
    return x.isel(j=0) * 1.0


def projector(a):
    u, _, vh = ng.svd(a, IJ)
    return ng.outer(u.isel(j2=0), vh.isel(j2=0))


def around(a):
    w, v = ng.eigh(a, IJ)
    return ng.dot(v * ng.exp(-w), v.rename(i="j"), dim="j2")


ALGEBRA = {
    "cholesky": lambda a: ng.cholesky(definite(a), IJ),
    "upper cholesky": lambda a: ng.cholesky(definite(a), IJ, lower=False),
    "logarithm of the determinant by cholesky": lambda a: ng.log(ng.diagonal(ng.cholesky(definite(a), IJ), IJ)).sum() * 2,
    "qr": lambda a: ng.dot(*ng.qr(a, IJ), dim="j2"),
    "q": lambda a: ng.qr(a, IJ)[0],
    "r": lambda a: ng.qr(a, IJ)[1],
    "complete q": lambda a: ng.qr(a, IJ, mode="complete")[0],
    "lu": lambda a: ng.lu(a, IJ)[1] + ng.lu(a, IJ)[2].rename(j2="i", j="j2") * 2,
    "rows in the order of lu": lambda a: a.isel(i=ng.lu(a, IJ)[0]) * vector(a).rename(i="q").sum(),
    "singular values": lambda a: ng.svd(a, IJ, compute_uv=False),
    "dyad of the largest singular value": projector,
    "all of svd": lambda a: (lambda u, s, vh: ng.dot(u * ng.sqrt(s), vh, dim="j2"))(*ng.svd(a, IJ)),
    "square svd": lambda a: (lambda u, s, vh: ng.dot(u, vh, dim="j2") + s.sum())(*ng.svd(a, IJ, full_matrices=True)),
    "eigenvalues of a definite matrix": lambda a: ng.eigvalsh(definite(a), IJ),
    "function of a definite matrix": lambda a: around(definite(a)),
    "eigenvalues": lambda a: (ng.eigvals(a, IJ) ** 2).sum().real,
    "solve": lambda a: ng.solve(a, vector(a) ** 2, IJ),
    "solve several": lambda a: ng.solve(a, (a * a).rename(j="m"), IJ),
    "solve with a fixed right-hand side": lambda a: ng.solve(a, ng.DimArray([1.0, -2.0, 0.5], "i"), IJ),
    "solve with a fixed matrix": lambda a: ng.solve(FIXED, vector(a), IJ),
    "solve with a fixed matrix stored the other way": lambda a: ng.solve(FIXED.transpose("j", "i"), vector(a), IJ),
    "triangular": lambda a: ng.solve_triangular(a, vector(a) ** 2, IJ),
    "triangular with a fixed matrix": lambda a: ng.solve_triangular(FIXED, vector(a), IJ, lower=False),
    "triangular, transposed": lambda a: ng.solve_triangular(a, vector(a), IJ, transposed=True),
    "triangular, unit": lambda a: ng.solve_triangular(a, a.rename(j="m"), IJ, unit_diagonal=True, lower=False),
    "inverse": lambda a: ng.inv(a, IJ),
    "inverse of the other dims": lambda a: ng.inv(a, ("j", "i")),
    "pseudoinverse": lambda a: ng.pinv(a, IJ),
    "pseudoinverse of a wide one": lambda a: ng.pinv(a.isel(i=slice(0, 2)), IJ),
    "pseudoinverse of a deficient one": lambda a: ng.pinv(ng.outer(vector(a), a.isel(i=0)), IJ),
    "least squares": lambda a: ng.lstsq(a.isel(j=slice(0, 2)), vector(a) ** 2 + 0.5, IJ),
    "least squares of a wide one": lambda a: ng.lstsq(a.isel(i=slice(0, 2)), vector(a).isel(i=slice(0, 2)) ** 2, IJ),
    "determinant": lambda a: ng.det(a, IJ),
    "sign and logarithm": lambda a: ng.slogdet(a, IJ)[1] * ng.slogdet(a, IJ)[0],
    "logdet": lambda a: ng.logdet(definite(a), IJ),
    "trace": lambda a: ng.trace(a, IJ),
    "power": lambda a: ng.matrix_power(a, IJ, 3),
    "power of the inverse": lambda a: ng.matrix_power(a, IJ, -2),
    "zeroth power": lambda a: ng.matrix_power(a, IJ, 0) * a,
    "exponential": lambda a: ng.expm(a * 0.3, IJ),
    "root": lambda a: ng.sqrtm(definite(a), IJ),
    "logarithm": lambda a: ng.logm(definite(a), IJ),
    "condition": lambda a: ng.cond(a, IJ),
    "condition in the 1-norm": lambda a: ng.cond(a, IJ, 1),
    "Frobenius": lambda a: ng.norm(a, IJ),
    "nuclear": lambda a: ng.norm(a, IJ, "nuc"),
    "spectral": lambda a: ng.norm(a, IJ, 2),
    "rows": lambda a: ng.norm(a, IJ, np.inf),
    "columns as vectors": lambda a: ng.norm(a, "i", 3),
    "cross": lambda a: ng.cross(a, a.isel(j=0), "i"),
    "chain": lambda a: ng.multi_dot(a, a.rename(i="j", j="k"), a.rename(i="k", j="l")),
    "product with its transpose": lambda a: ng.dot(a, a.rename(i="k"), dim="j"),
    "triangle": lambda a: ng.tril(a, IJ) * ng.triu(a, IJ, 1).sum(),
}
FIXED = ng.DimArray([[2.0, 0.3, -0.1], [0.5, 1.5, 0.2], [-0.4, 0.1, 1.8]], IJ)


@pytest.mark.parametrize("layout", ["batch of the size of the matrix", "other size, behind", "two names, one of them between"])
@pytest.mark.parametrize("name", ALGEBRA)
def test_programs_of_linear_algebra(name, layout):
    sizes = {"batch of the size of the matrix": {"b": 3, "i": 3, "j": 3}, "other size, behind": {"i": 3, "j": 3, "b": 2}, "two names, one of them between": {"c": 2, "i": 3, "b": 3, "j": 3}}[layout]
    rng = generator(name, layout)
    a = ng.DimArray(rng.normal(size=tuple(sizes.values())) / 3, tuple(sizes)) + FIXED
    a = a.transpose(*sizes).vectorize(*(n for n in sizes if n in "bc"))
    agrees(ALGEBRA[name], a, key=name, tolerance=MATRIX, first=2e-7)


@pytest.mark.parametrize("which", ["matrix", "right-hand side", "both", "different"])
@pytest.mark.parametrize("name", ["solve", "solve_triangular", "lstsq"])
@pytest.mark.parametrize("size", [3, 2])
def test_equations_with_one_side_vectorized(name, which, size):
    rng = generator(name, which, size)
    a = ng.DimArray(rng.normal(size=(3, size, 3)) / 3, ("i", "b", "j")) + FIXED
    b = ng.DimArray(rng.normal(size=(4, 3, size)), ("m", "i", "b"))
    if which == "matrix":
        a, b = a.vectorize("b"), b.isel(b=0)
    elif which == "right-hand side":
        a, b = a.isel(b=0), b.vectorize("b")
    else:
        a, b = a.vectorize("b"), (b if which == "both" else b.rename(b="c")).vectorize("b" if which == "both" else "c")
    f = getattr(ng, name)
    agrees(lambda a, b: f(a, b, IJ), a, b, key=(name, which), tolerance=MATRIX)
    g = ng.grad(lambda a: (f(a, b, IJ) ** 2).sum())(a)
    assert np.isfinite(g.data).all()


@pytest.mark.parametrize("name", ["solve", "inverse", "cholesky", "qr", "least squares", "pseudoinverse", "condition", "determinant", "exponential", "function of a definite matrix"])
def test_hessians_of_linear_algebra_per_slice(name):
    rng = generator(name, "hessian")
    a = (ng.DimArray(rng.normal(size=(3, 3, 3)) / 3, ("i", "b", "j")) + FIXED).vectorize("b")

    def loss(a):
        return (ALGEBRA[name](a) ** 2).sum()

    h = ng.hessian(loss)(a)
    for k in range(3):
        one = ng.hessian(loss)(cut(a, {"b": k}))
        assert_close(h.devectorize().transpose("b", "i", "j", "i_wrt", "j_wrt").data[k], one.transpose("i", "j", "i_wrt", "j_wrt").data, MATRIX)
