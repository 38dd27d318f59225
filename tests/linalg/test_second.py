"""Second derivatives of linear algebra under two nested batches, to 1e-7 of finite differences of the gradient of a slice."""

import zlib

import numpy as np
import pytest

import namedgrad as ng
from tests.support.tolerances import MATRIX, assert_close

IJ = ("i", "j")
B = ng.DimArray([0.7, -0.3, 1.1], "i")


def parts(*several):
    """A real number that depends on every cell of some arrays, and is bent in each."""
    total = 0.0
    for k, x in enumerate(several):
        w = np.random.default_rng(k).normal(size=x.shape)
        for y in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
            total = total + (ng.DimArray(w, x.dims) * (y + 0.3 * y * y)).sum()
    return total


def invariant(u, v, across):
    """Products of vectors that do not depend on their phases."""
    return ng.dot(u, ng.conjugate(v).rename(i="k") if "i" in v.dims else v, dim=across)


def spectral(a):
    w, v = ng.eigh(a, IJ)
    return parts(w, invariant(v * ng.exp(0.3 * w), v, "j2"))


def singular(a, full=False):
    u, s, vh = ng.svd(a, IJ, full_matrices=full)
    first = list(range(s.sizes["j2"]))
    return parts(s, invariant(u.isel(j2=first) * ng.sin(s), vh.isel(j2=first), "j2"))


def any_square(a):
    w, v = ng.eig(a, IJ)
    back = ng.inv(v, ("i", "j2")).rename(i="j2", j2="j")
    return parts(w, ng.dot(v * ng.sin(w), back, dim="j2"))


def tall(a):
    return a.isel(j=slice(0, 2))


def wide(a):
    return a.isel(i=slice(0, 2))


GENERAL = {
    "solve": lambda a: parts(ng.solve(a, B * a.isel(j=0), IJ)), "inv": lambda a: parts(ng.inv(a, IJ)), "det": lambda a: parts(ng.det(a, IJ)),
    "slogdet": lambda a: parts(*ng.slogdet(a, IJ)), "pinv": lambda a: parts(ng.pinv(a, IJ)), "pinv of tall": lambda a: parts(ng.pinv(tall(a), IJ)),
    "pinv of wide": lambda a: parts(ng.pinv(wide(a), IJ)), "lstsq": lambda a: parts(ng.lstsq(tall(a), B * a.isel(j=2), IJ)), "lstsq of wide": lambda a: parts(ng.lstsq(wide(a), B.isel(i=[0, 1]), IJ)),
    "triangular": lambda a: parts(ng.solve_triangular(a, B * a.isel(j=0), IJ)), "upper": lambda a: parts(ng.solve_triangular(a, B, IJ, lower=False, transposed=True)),
    "qr": lambda a: parts(*ng.qr(a, IJ)), "qr of tall": lambda a: parts(*ng.qr(tall(a), IJ)), "qr of wide": lambda a: parts(*ng.qr(wide(a), IJ)),
    "lu": lambda a: parts(*ng.lu(a, IJ)[1:]), "lu of tall": lambda a: parts(*ng.lu(tall(a), IJ)[1:]), "lu of wide": lambda a: parts(*ng.lu(wide(a), IJ)[1:]),
    "svd": singular, "svd of tall": lambda a: singular(tall(a)), "svd of wide": lambda a: singular(wide(a)), "full svd": lambda a: singular(tall(a), full=True),
    "singular values": lambda a: parts(ng.svd(a, IJ, compute_uv=False)), "eig": any_square, "eigvals": lambda a: parts(ng.eigvals(a, IJ)),
    "expm": lambda a: parts(ng.expm(a * 0.5, IJ)), "matrix_power": lambda a: parts(ng.matrix_power(a, IJ, 4)), "negative power": lambda a: parts(ng.matrix_power(a, IJ, -2)),
    "sqrtm": lambda a: parts(ng.sqrtm(a, IJ)), "logm": lambda a: parts(ng.logm(a, IJ)), "trace": lambda a: parts(ng.trace(a, IJ)),
    "cond": lambda a: parts(ng.cond(a, IJ)), "cond fro": lambda a: parts(ng.cond(a, IJ, "fro")), "cond 1": lambda a: parts(ng.cond(a, IJ, 1)),
    **{f"norm {o}": (lambda a, o=o: parts(ng.norm(a, IJ, o))) for o in (None, "nuc", 1, 2, -2, np.inf)}, "norm of vectors": lambda a: parts(ng.norm(a, "i", 3)),
    "cross": lambda a: parts(ng.cross(a, a.isel(j=1), "i")), "multi_dot": lambda a: parts(ng.multi_dot(a, a.rename(i="j", j="k"), a.rename(i="k", j="l"))),
}  # fmt: skip
SYMMETRIC = {
    "cholesky": lambda a: parts(ng.cholesky(a, IJ)), "upper cholesky": lambda a: parts(ng.cholesky(a, IJ, lower=False)), "eigh": spectral,
    "eigvalsh": lambda a: parts(ng.eigvalsh(a, IJ)), "logdet": lambda a: parts(ng.logdet(a, IJ)), "pinv of symmetric": lambda a: parts(ng.pinv(a, IJ, hermitian=True)),
    "likelihood": lambda a: parts(ng.solve_triangular(ng.cholesky(a, IJ), B, IJ)) + ng.log(ng.diagonal(ng.cholesky(a, IJ), IJ).real).sum(),
}  # fmt: skip


STEPS = {"cond 1": 2e-3, "norm 1": 4e-3, "norm inf": 4e-3}  # absolute values of small numbers bend much


def slope(f, h):
    """By differences at three steps, extrapolated twice: of the sixth order."""
    one, two, three = ((f(s) - f(-s)) / (2 * s) for s in (h, h / 2, h / 4))
    first, second = (4 * two - one) / 3, (4 * three - two) / 3
    return (16 * second - first) / 15


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", [*GENERAL, *SYMMETRIC])
def test_second_derivatives(name, kind):
    f, symmetric = {**GENERAL, **SYMMETRIC}[name], name in SYMMETRIC
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))

    def some(*shape):
        x = rng.normal(size=shape) / 5
        x = x + 1j * rng.normal(size=shape) / 5 if kind == "complex" else x
        return (x + np.swapaxes(x, -1, -2).conj()) / 2 if symmetric else x

    x = some(2, 3, 3, 3) + np.diag([1.0, 2.0, 3.5]) + np.eye(3)
    t = some(2, 3, 3, 3)
    named = [ng.DimArray(v.transpose(2, 0, 3, 1), ("i", "b", "j", "c"), vectorized=("b", "c")) for v in (x, t)]
    gradient = ng.grad(f)
    forward = ng.pushforward(gradient, (named[0],), (named[1],))[1]
    backward = ng.pullback(gradient, named[0])[1](named[1])
    for at in np.ndindex(2, 3):
        one, along = (v[at] for v in (x, t))
        expected = slope(lambda s, one=one, along=along: gradient(ng.DimArray(one + s * along, IJ)).data, STEPS.get(name, 2e-2))
        for found in (forward, backward):
            got = found.devectorize().transpose("b", "c", "i", "j").data[at]
            assert_close(got, expected, 1e-7)
        single = ng.pushforward(gradient, (ng.DimArray(one, IJ),), (ng.DimArray(along, IJ),))[1]
        assert_close(forward.devectorize().transpose("b", "c", "i", "j").data[at], single.data, MATRIX)


@pytest.mark.parametrize("n", [9, 70, 130])
def test_both_modes_of_a_large_factor(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(2, n, 2 * n))
    x = x @ x.transpose(0, 2, 1) / n
    a, t, c = (ng.DimArray(v, ("b", *IJ)) for v in (x, rng.normal(size=x.shape), rng.normal(size=x.shape)))
    for lower in (True, False):

        def f(a, lower=lower):
            return ng.cholesky(a, IJ, lower=lower)

        pushed, pulled = ng.pushforward(f, (a,), (t,))[1], ng.pullback(f, a)[1](c)
        assert_close((pushed * c).sum().item(), (pulled * t).sum().item(), MATRIX)
        sym = (t.data + t.data.transpose(0, 2, 1)) / 2
        expected = slope(lambda s, sym=sym: np.linalg.cholesky(x + s * sym), 1e-3)
        assert_close(pushed.data, expected if lower else expected.transpose(0, 2, 1), 1e-7)


@pytest.mark.parametrize("values", [(1, 2, 3, 4), (1, 2, 3, 0), (1, 2, 0, 0), (1, 1e-9, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_third_derivative_of_determinants(kind, values):
    """Along a line a determinant is a polynomial, here the one through its values at five points."""
    rng = np.random.default_rng(5)

    def drawn():
        return rng.normal(size=(4, 4)) + (1j * rng.normal(size=(4, 4)) if kind == "complex" else 0)

    a, t = drawn() @ np.diag(values) @ drawn(), drawn()
    at = np.linspace(-1, 1, 5)
    want = 6 * np.polyfit(at, [np.linalg.det(a + s * t).real for s in at], 4)[1]

    def along(s):
        return ng.real(ng.det(ng.DimArray(a, IJ) + s * ng.DimArray(t, IJ), IJ))

    zero, one = ng.DimArray(0.0, ()), ng.DimArray(1.0, ())
    bend = lambda s: ng.grad(lambda s: ng.grad(along)(s))(s)
    assert_close(ng.grad(bend)(zero).item(), want, 1e-10)
    assert_close(ng.pushforward(bend, (zero,), (one,))[1].item(), want, 1e-10)


def test_fourth_derivative_of_a_determinant():
    rng = np.random.default_rng(6)
    a, t = rng.normal(size=(2, 5, 5))
    at = np.linspace(-1, 1, 6)
    want = 24 * np.polyfit(at, [np.linalg.det(a + s * t) for s in at], 5)[1]

    def along(s, a=a):
        return ng.det(ng.DimArray(a, IJ) + s * ng.DimArray(t, IJ), IJ)

    def nested(f, times):
        return f if not times else nested(lambda s: ng.grad(f)(s), times - 1)

    zero = ng.DimArray(0.0, ())
    assert_close(nested(along, 4)(zero).item(), want, 1e-10)
    assert np.isnan(nested(lambda s: along(s, np.zeros((5, 5))), 4)(zero).item())  # never an arbitrary number
