"""Special functions that are composed for devices, against SciPy over wide ranges of arguments and at their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from namedgrad.backends import get_backend

RNG = np.random.default_rng(12)
ENDS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-20, -1e-300])
REAL = np.concatenate([RNG.uniform(-1, 1, 200), RNG.uniform(-30, 30, 200), RNG.uniform(-300, 300, 100), ENDS])
SMALL = np.concatenate([np.exp(RNG.uniform(-40, 10, 300)), [0, 1, np.nan]])
PLANE = RNG.uniform(-9, 9, 400) + 1j * RNG.uniform(-4, 9, 400)
ABOVE = RNG.uniform(0, 2, REAL.size)
EXPONENT = np.where(RNG.random(SMALL.size) < 0.1, 0, RNG.uniform(-2, 2, SMALL.size))
SHARE = RNG.uniform(0, 3, 300)
DEGREE, INSIDE = RNG.integers(-1, 12, 300), RNG.uniform(-1.5, 1.5, 300)
ORDER = RNG.integers(0, 9, REAL.size)
COUNT = RNG.integers(1, 5, 300)
DEGREES, FREE, P = np.exp(RNG.uniform(-1, 4, 300)), np.exp(RNG.uniform(-1, 4, 300)), RNG.uniform(0.001, 0.999, 300)
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "ellipk": [(1 - SMALL,)], "ellipkm1": [(SMALL,)], "ellipe": [(1 - SMALL,)],
    "ellipkinc": [(REAL[:500] / 30, 1 - np.maximum(SMALL[RNG.integers(0, 300, 500)], 1e-15))],
    "ellipeinc": [(REAL[:500] / 30, 1 - np.maximum(SMALL[RNG.integers(0, 300, 500)], 1e-15))],
    "exp1": [(SMALL,), (PLANE,)], "expi": [(REAL,), (PLANE,)], "sici": [(REAL,)], "shichi": [(REAL,)], "fresnel": [(REAL / 5,)],
    "dawsn": [(REAL,), (PLANE,)], "erfi": [(REAL / 10,), (PLANE / 3,)], "wofz": [(PLANE,), (1e3 * PLANE[PLANE.imag > 0],)],
    "voigt_profile": [(REAL, ABOVE, ABOVE[::-1]), (REAL, 0 * ABOVE, 1 + ABOVE), (REAL, 1 + ABOVE, 0 * ABOVE)],
    "airy": [(REAL[np.abs(REAL) < 80],)], "exprel": [(REAL,)], "boxcox": [(SMALL, EXPONENT)], "boxcox1p": [(SMALL, EXPONENT)],
    "inv_boxcox": [(SHARE, SHARE[::-1]), (SHARE, 0 * SHARE)], "inv_boxcox1p": [(SHARE, SHARE[::-1]), (SHARE, 0 * SHARE)],
    "eval_jacobi": [(DEGREE, COUNT, COUNT[::-1], INSIDE), (4, 1, 2, INSIDE)], "eval_gegenbauer": [(DEGREE, COUNT, INSIDE), (4, 2, INSIDE)],
    "eval_genlaguerre": [(DEGREE, COUNT, INSIDE), (4, 2, INSIDE)],
    **{f"eval_{name}": [(DEGREE, INSIDE), (5, INSIDE), (0, INSIDE)] for name in ("legendre", "chebyt", "chebyu", "laguerre")},
    **{f"eval_{name}": [(np.abs(DEGREE), INSIDE), (5, INSIDE), (0, INSIDE)] for name in ("hermite", "hermitenorm")},
    **{f"spherical_{kind}n": [(ORDER[:400], REAL[:400]), (3, REAL[:400])] for kind in "jyi"}, "spherical_kn": [(ORDER[:400], np.abs(REAL[:400]))],
    **{f"eval_{name}": [(np.abs(DEGREE), INSIDE), (5, INSIDE)] for name in ("sh_legendre", "sh_chebyt", "sh_chebyu", "chebyc", "chebys")},
    "eval_sh_jacobi": [(np.abs(DEGREE), COUNT + 3, COUNT, INSIDE), (4, 5, 2, INSIDE)],
    **{name: [(ORDER[:200] % 4, np.abs(REAL[:200]) * 9), (2, np.abs(REAL[:200]))] for name in ("kn", "yn", "jve", "yve")},
    **{f"hankel{kind}": [(ORDER[:200] % 4, np.abs(REAL[:200]) * 9), (2, np.abs(REAL[:200])), (ORDER[:400] % 4, PLANE), (1.5, -PLANE)] for kind in ("1", "2", "1e", "2e")},
    **{name: [(1.5 * REAL[:200],)] for name in ("ber", "bei", "berp", "beip")}, **{name: [(0.1 + np.abs(REAL[:200]),)] for name in ("ker", "kei", "kerp", "keip")},
    **{name: [tuple(np.exp(RNG.uniform(-8, 8, (n, 300))))] for name, n in (("elliprc", 2), ("elliprd", 3), ("elliprf", 3), ("elliprg", 3), ("elliprj", 4))},
    "elliprc": [(DEGREES, FREE), (DEGREES, -FREE)], "agm": [(DEGREES, FREE), (np.array([1e300, 1e-300, 1e308]), np.array([1.0, 2.0, 1e308]))],
    "stdtr": [(DEGREES, REAL[:300] / 10), (3.0, REAL[:300]), (np.inf, REAL[:300]), (10 ** np.linspace(9, 20, 300), REAL[:300] / 10)], "stdtrit": [(DEGREES, P), (3.0, P), (np.inf, P)],
    **{name: [(DEGREES, FREE, SMALL[:300] / 10), (5.0, FREE, SMALL[:300])] for name in ("fdtr", "fdtrc")}, "fdtri": [(DEGREES, FREE, P)],
    **{name: [(COUNT + 0.5, COUNT + 1 + ORDER[:300], P), (0.0, 5, P)] for name in ("bdtr", "bdtrc", "bdtri")},
    **{name: [(COUNT - 0.5, COUNT[::-1] + 0.0, P), (2.0, 3.0, P)] for name in ("nbdtr", "nbdtrc", "nbdtri")},
    **{name: [(COUNT - 0.5, SMALL[:300])] for name in ("pdtr", "pdtrc")}, "pdtri": [(COUNT - 0.5, P)],
    **{name: [(DEGREES, FREE, SMALL[:300])] for name in ("gdtr", "gdtrc")}, "gdtrix": [(DEGREES, FREE, P)], "gdtria": [(P, DEGREES, FREE)],
    "binom": [(DEGREES, FREE / 3)], "zetac": [(REAL[:300] / 10,), (DEGREES,)], "spence": [(SMALL,), (PLANE,)], "powm1": [(SMALL, EXPONENT), (DEGREES, P)],
    "wrightomega": [(REAL,), (np.concatenate([10 * SMALL, -10 * SMALL]),)], "huber_of_delta": [(SMALL, EXPONENT)], "pseudo_huber": [(SMALL, EXPONENT)],
    **{name: [(REAL[:500][np.abs(np.sin(REAL[:500] * np.pi / 90)) > 0.05],)] for name in ("sindg", "cosdg", "tandg", "cotdg")}, "radian": [(P, P[::-1], FREE)], "rgamma": [(REAL[:200],)],
    "hyp0f1": [(SHARE + 0.1, SMALL[:300] / 100), (SHARE + 0.1, REAL[:300]), (2, PLANE)], "hyp1f1": [(SHARE, SHARE[::-1] + 0.1, 3 * REAL[:300]), (2.0, 0.5, PLANE)],
    "hyperu": [(-COUNT, COUNT[::-1] + 0.5, 1 + FREE)], "struve": [(ORDER[:400], 2 * REAL[:400]), (0.5, np.abs(REAL[:500]))],
    "modstruve": [(ORDER[:400], REAL[:400] * 2)], "ellipj": [(REAL[:300], P), (REAL[:300], 0.0), (REAL[:300], 1.0)], "airye": [(REAL[np.abs(REAL) < 80],)],
    "lpmv": [(ORDER[:300] % 5, DEGREE, INSIDE / 1.5), (-ORDER[:300] % 2, SHARE + 1, INSIDE / 2)], "chndtr": [(FREE, DEGREES, 9 * SHARE), (FREE, 3.0, 0.0)],
    "poch": [(DEGREES, FREE)], "chdtri": [(DEGREES, P)], "nrdtrimn": [(P, FREE, REAL[:300])], "nrdtrisd": [(REAL[:300], P, INSIDE)], "kolmogorov": [(REAL[:200] * 3,)],
}  # fmt: skip


@pytest.fixture
def kernels(cupy: Any) -> Any:
    return get_backend("cupy")


def on_device(function: Callable[..., Any], *xs: Any) -> list[np.ndarray]:
    found = function(*(get_backend("cupy").asarray(x) if isinstance(x, np.ndarray) else x for x in xs))
    return [y.get() for y in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "k"), [(name, k) for name, calls in ARGUMENTS.items() for k in range(len(calls))])
def test_composed_functions(name: str, k: int, kernels: Any) -> None:
    xs = ARGUMENTS[name][k]
    expected = getattr(scipy.special, name.removesuffix("_of_delta"))(*xs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, e in zip(on_device(kernels.function(name), *xs), expected, strict=True):
        assert y.dtype == e.dtype
        same = (y == e) | (np.isnan(y) & np.isnan(e))
        assert same[~np.isfinite(e)].all()
        counts = ~same & np.isfinite(e) & (np.abs(e) > 1e-290)
        # next to a zero of what oscillates some digits are lost
        size = np.maximum(np.abs(e), 0.01) if name.startswith(("airy", "spherical", "eval", "sici", "expi", "be", "ke", "hyp0f1", "struve", "lpmv", "ellipj")) else np.abs(e)
        assert np.max(np.abs(y - e)[counts] / size[counts], initial=0) < 2e-12


@pytest.mark.parametrize(
    ("name", "theirs", "xs"),
    [
        ("hyperu", "hyperu", (SHARE[:60] + 0.1, 2 + SHARE[60:120], 0.1 + FREE[:60])),
        ("hyperu", "hyperu", (-SHARE[:60], 2 + SHARE[60:120], 0.1 + FREE[:60])),
        ("modstruve", "struvel", (0.4 * SHARE[:60], np.abs(REAL[200:260]))),
        ("struve", "struveh", (0.4 * SHARE[:60] - 0.4, np.abs(REAL[200:260]))),
        ("hyp1f1", "hyp1f1", (SHARE[:60], SHARE[60:120] + 0.1, REAL[200:260])),
    ],
)
def test_where_scipy_has_few_digits(name: str, theirs: str, xs: Any, kernels: Any) -> None:
    """SciPy's hyperu is right to 7 digits, modstruve to 10."""
    mp = pytest.importorskip("mpmath")
    expected = np.array([float(getattr(mp, theirs)(*map(float, x))) for x in zip(*xs, strict=True)])
    (found,) = on_device(kernels.function(name), *xs)
    np.testing.assert_allclose(found, expected, rtol=2e-12, atol=1e-14)


CUT = np.array([-2 + 0j, complex(-2, -0.0), -0.3 + 0j, 2 + 0j, -7 - 1e-9j])
HIGH = np.array([5.9, 6.0, 6.1, 7.0, 8.0, 12.7, 17.0, 25.4, 42.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "xs"),
    [
        *((f"hankel{kind}", (v, CUT)) for kind in ("1", "2", "1e", "2e") for v in (0.0, 0.7, 2.0)),
        *(("lpmv", (m, v, np.linspace(-1, 1, 12))) for m in (0.0, 1.0, 5.0, -2.0) for v in (2.0, 20.0, 60.0)),
        ("lpmv", (0.0, 3.5, np.linspace(-0.9, 0.9, 12))), ("hyperu", (1.0, 2.0, np.array([0.5, 3.0, np.inf]))),
        ("hyperu", (0.0, 1.0, np.array([0.0, 1.0, np.inf]))), ("hyperu", (-2.0, 1.5, np.array([0.5, 3.0, np.inf]))),
        *(("struve", (v, HIGH)) for v in (10.0, 15.0, 20.0, 30.0, 50.0)), ("struve", (2.0, np.array([np.inf, -np.inf, 1e3]))),
        ("modstruve", (2.0, np.array([np.inf, -np.inf, 300.0]))), ("chndtr", (np.array([np.inf, 2.0, -1.0]), 3.0, np.array([2.0, 5.0, 1.0]))),
        *((name, (v, np.array([0.5, 3.0, 10.0, 70.0]))) for name in ("struve", "modstruve") for v in (-0.5, -1.5, -2.5)),
    ],
)  # fmt: skip
def test_numbers_as_parameters_and_ends(name: str, xs: Any, kernels: Any) -> None:
    (found,), expected = on_device(kernels.function(name), *xs), getattr(scipy.special, name)(*xs)
    size = np.max(np.abs(expected)) if name == "lpmv" else 0
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13 * size)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "theirs", "xs"), [
    ("hyperu", "hyperu", (-30.0, 2.0, 20.0)), ("hyperu", "hyperu", (-40.0, 2.0, 0.3)), ("hyperu", "hyperu", (30.0, 2.0, 2.0)),
    *(("struve", "struveh", (v, x)) for v in (80.0, 100.0, 150.0, 200.0) for x in (6.0, 60.0, 84.0, 120.0, 300.0)),
    *(("modstruve", "struvel", (v, x)) for v in (30.0, 100.0, 160.7, 200.0) for x in (3.0, 61.0, 163.9, 300.0)),
    ("struve", "struveh", (162.2, 107.7)), ("hyp1f1", "hyp1f1", (-22.9, 14.6, 16.6)),
    *(("hyp1f1", "hyp1f1", (a, 2.0, x)) for a in (2.0, 10.0, 30.0, 60.0, -30.0) for x in (-2.0, -6.0, -20.0, 20.0)),
])  # fmt: skip
def test_large_parameters_have_their_value_or_none(name: str, theirs: str, xs: tuple[float, ...], kernels: Any) -> None:
    mp = pytest.importorskip("mpmath")
    (found,) = on_device(kernels.function(name), *map(np.atleast_1d, xs))
    if max(map(abs, xs)) < 20 or not np.isnan(found[0]):
        np.testing.assert_allclose(found, float(getattr(mp, theirs)(*xs)), rtol=1e-8 if name == "hyp1f1" else 1e-10, atol=1e-18)


@pytest.mark.parametrize("as_array", [False, True])
def test_slopes_of_legendre_functions_of_one_order(as_array: bool, cupy: Any) -> None:
    x = np.array([0.3, -0.4, 0.9])
    device = lambda values: ng.DimArray(cupy.asarray(values), "x")
    m, v = (device(np.full(3, k)) if as_array else k for k in (1.0, 2.0))
    found = ng.grad(lambda x: ng.lpmv(m, v, x).sum())(device(x))
    np.testing.assert_allclose(found.to_numpy(), (6 * x * x - 3) / np.sqrt(1 - x * x), rtol=1e-12)


def test_kummers_function_of_complex_numbers_where_terms_cancel(kernels: Any) -> None:
    mp = pytest.importorskip("mpmath")
    z = np.array([-6 + 1j, -20 + 3j, 20 - 2j, 2 + 1j])
    for a in (2.0, 10.0, 30.0, -30.0):
        (found,) = on_device(kernels.function("hyp1f1"), a, 2.0, z)
        known = np.array([complex(mp.hyp1f1(a, 2, w)) for w in z])
        there = ~np.isnan(found)
        np.testing.assert_allclose(found[there], known[there], rtol=1e-7)


def test_kummers_function_has_zeros(kernels: Any) -> None:
    x = np.array([-1.5, -1.0])  # (1 + x) exp(x)
    np.testing.assert_allclose(on_device(kernels.function("hyp1f1"), 2.0, 1.0, x)[0], (1 + x) * np.exp(x), rtol=1e-15, atol=1e-16)


def test_right_angles_are_exact(kernels: Any) -> None:
    x = np.array([0.0, 90.0, 180.0, -90.0, 270.0, 360.0, 45.0])
    for name in ("sindg", "cosdg", "tandg", "cotdg"):
        np.testing.assert_array_equal(np.abs(on_device(kernels.function(name), x)[0][:6]), np.abs(getattr(scipy.special, name)(x[:6])))


@pytest.mark.parametrize("on", ["numpy", "cupy"])
def test_degrees_of_many_turns(on: str, kernels: Any) -> None:
    """SciPy's are 0 from 1e14 on."""
    x = np.array([1.1e300, -1e15 + 7, 3e14 + 1, 7e13 + 13, -2.5e250])
    rest = np.radians([float(int(v) % 360) for v in x])
    for name, expected in {"sindg": np.sin(rest), "cosdg": np.cos(rest), "tandg": np.tan(rest), "cotdg": 1 / np.tan(rest)}.items():
        f = get_backend(on).function(name)
        found = f(x) if on == "numpy" else on_device(f, x)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("k", [0, 1, -1, 2, -3])
def test_branches_of_lamberts_function(k: int, kernels: Any) -> None:
    near = -np.exp(-1) + np.exp(RNG.uniform(-20, 0, 100)) * np.exp(1j * RNG.uniform(-3, 3, 100))
    z = np.concatenate([RNG.uniform(-5, 5, 200) + 1j * RNG.uniform(-5, 5, 200), np.exp(RNG.uniform(-20, 20, 50)), near, RNG.uniform(-9, -0.01, 40), [0]])
    (w,) = on_device(lambda z: kernels.lambert_branch(k, z), z)
    expected = scipy.special.lambertw(z, k)
    assert np.abs(w * np.exp(w) - z)[:-1].max() < 1e-14 * np.abs(z).max()
    assert w[-1] == expected[-1]
    far = np.abs(z + np.exp(-1)) > 0.1  # SciPy stops early next to the branch point
    np.testing.assert_allclose(w[far], expected[far], rtol=1e-12)


def test_lamberts_function_at_its_branch_point() -> None:
    z = np.array([-np.exp(-1), -np.exp(-1) + 1e-12, 1.0])
    for k, sign in ((0, 1), (-1, -1)):
        w = get_backend("numpy").lambert_branch(k, z)
        np.testing.assert_allclose(w[:2].real, [-1, -1 + sign * np.sqrt(2e-12 * np.e)], rtol=0, atol=2e-8)
        np.testing.assert_allclose(w * np.exp(w), z, rtol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["remainder", "logaddexp2", "sinc", "xlog1py"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_digits_and_nan_of_functions_that_are_written_anew(name: str, dtype: str, kernels: Any) -> None:
    ends = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3, 1e-8, -20, 0.1, 1e6 / 3, np.inf, -np.inf, np.nan], dtype)
    x, y = (v.ravel() for v in np.meshgrid(ends, ends))
    function = getattr(np, name, None) or getattr(scipy.special, name)
    operands = (x,) if name == "sinc" else (x, y)
    (found,), expected = on_device(kernels.function(name), *operands), function(*operands)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "f4" else 1e-14, atol=0 if name != "sinc" else 1e-7 if dtype == "f4" else 1e-16)
    if name == "remainder":
        np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(expected)[expected == 0])
