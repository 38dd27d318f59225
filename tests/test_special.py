"""Special and elementwise functions where they are hard: far tails, parameters, high orders, arrays of every kind.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special
import xarray as xr

import namedgrad as ng
from namedgrad.ops import FUNCTIONS, UFUNCS
from tests.support.oracles import richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def slopes(f: Callable[..., ng.DimArray], xs: tuple[float, ...], k: int, orders: int) -> list[float]:
    """The first derivatives in the k-th operand, reverse over reverse."""
    point = [ng.DimArray(float(x), ()) for x in xs]

    def one(g: Callable[[ng.DimArray], ng.DimArray]) -> Callable[[ng.DimArray], ng.DimArray]:
        return ng.grad(g)

    g: Callable[[ng.DimArray], ng.DimArray] = lambda x: f(*point[:k], x, *point[k + 1 :])
    found = []
    for _ in range(orders):
        g = one(g)
        found.append(g(point[k]).item())
    return found


# function, operands, which operand, derivatives of order 1, 2, ...
KNOWN: list[tuple[str, tuple[float, ...], int, list[float]]] = [
    ("gammainc", (1e-3, 1e-8), 0, [-17.529499859061197, 311.20234928205355]),
    ("gammainc", (0.1, 0.4), 0, [-0.7420899583876511, -0.27822265738690416]),
    ("gammainc", (0.5, 9.0), 0, [-9.4049524300409e-05, -0.00029157642669259975]),
    ("gammainc", (3.0, 0.56), 0, [-0.036242041140814564, 0.06275475480823099]),
    ("gammainc", (50.0, 30.0), 0, [-0.0002830094447125904, 0.00014481829548814478]),
    ("gammainc", (300.0, 290.0), 0, [-0.01975962427698402, 0.0006700863852538566]),
    ("gammainc", (3000.0, 3100.0), 0, [-0.0014031076087078632, -4.600891492373887e-05]),
    ("gammainc", (0.5, 30.0), 0, [-5.118991143389857e-14, -2.2944585712327425e-13]),
    ("betainc", (0.2, 0.3, 1e-3), 0, [-1.3911674441307464]),
    ("betainc", (0.2, 0.3, 1e-3), 1, [0.24945928008181348]),
    ("betainc", (1e-3, 3.0, 0.5), 0, [-0.06828313751973099]),
    ("betainc", (2.5, 30.0, 0.1), 1, [0.018122595554742257]),
    ("betainc", (200.0, 300.0, 0.4), 0, [-0.02187222709479697]),
    ("betainc", (200.0, 300.0, 0.4), 1, [0.014577434606090345]),
    ("betainc", (8.0, 0.3, 0.999), 0, [-0.010041534067011006]),
    ("betainc", (8.0, 0.3, 0.999), 1, [1.2090370172770852]),
    ("erfcx", (-5.0,), 0, [-1440097986747.7388, 14688999464826.709]),
    ("erfcx", (0.0,), 0, [-1.1283791670955126, 2.0]),
    ("erfcx", (1.5,), 0, [-0.16362291773256007, 0.1523020797109548]),
    ("erfcx", (10.0,), 0, [-0.0055593122190608565, 0.0010957411064280369]),
    ("erfcx", (1e4,), 0, [-5.641895750849127e-09, 1.1283791332441374e-12]),
    ("log_ndtr", (-1e6,), 0, [1000000.000001, -0.999999999999]),
    ("log_ndtr", (-40.0,), 0, [40.02496884720726, -0.9993773316214086]),
    ("log_ndtr", (-3.0,), 0, [3.2830986549304364, -0.9294408132147319]),
    ("log_ndtr", (5.0,), 0, [1.4867199409049056e-06, -7.433601914860711e-06]),
    ("log_ndtr", (20.0,), 0, [5.520948362159764e-88, -1.1041896724319527e-86]),
    ("log_ndtr", (-1000000.0,), 0, [1000000.000001, -0.999999999999, 1.999999999976e-18, 5.99999999988e-24]),
    ("log_ndtr", (-1000.0,), 0, [1000.000999998, -0.99999900000599995, 1.9999760002999959e-9, 5.9998800020999627e-12]),
    ("log_ndtr", (-10.5,), 0, [10.593583926132378, -0.9913891756203221, 0.0015586006403870089, 0.00041632950789718142]),
    ("log_ndtr", (-9.5,), 0, [9.6030500903842821, -0.98959517977888859, 0.0020598629552881804, 0.00059988367187445417]),
    ("log_ndtr", (0.5,), 0, [0.50916043383703349, -0.5138245643036329, 0.27099012446870783, 0.088167801929197554]),
    ("zeta", (1.5, 0.01), 0, [4601.2305426586, 21223.58110277858]),
    ("zeta", (2.0, 1.0), 0, [-0.9375482543158438, 1.989280234298901]),
    ("zeta", (3.7, 40.0), 0, [-7.325284411520483e-05, 0.0002989247333821235]),
    ("zeta", (12.0, 0.5), 0, [2839.1277107454166, 1967.9368266995828]),
    ("kve", (0.3, 1e-3), 0, [62.16130073524428, 401.26084551861084]),
    ("kve", (2.5, 5.0), 0, [0.43024637506943525, 0.3553821959610779]),
    ("kve", (10.0, 0.1), 0, [1.0771980423678923e19, 5.674200563820085e19]),
    ("kve", (60.5, 30.0), 0, [1.481900594588627e21, 2.1557747541944762e21]),
    ("kve", (1.0, 500.0), 0, [0.00011207183083446903, 0.00011229560200243257]),
    ("ellipkinc", (0.3, -1e6), 1, [2.7022368409880286e-9, 3.803357649409395e-15, 9.1334002807784775e-21]),
    ("ellipkinc", (1.2, -1e12), 1, [6.9111037749552292e-18, 1.0116655662428129e-29, 2.4916639156058725e-41]),
    ("ellipkinc", (1.57, -1e6), 1, [3.6466240469425488e-9, 5.219933648247147e-15, 1.2674828252705519e-20]),
    ("ellipkinc", (10.0, -1e12), 1, [4.9097303183459691e-17, 7.1895954775155964e-29, 1.7711488693780729e-40]),
    ("ellipkinc", (1.2, -1e30), 1, [1.7272736693433336e-44, 2.5659105040150004e-74, 6.3772762600375008e-104]),
    ("ellipeinc", (0.3, -1e6), 1, [-2.2330279319350044e-5, -1.1163788541254528e-11, -1.6743781133057087e-17]),
    ("ellipeinc", (1.2, -1e12), 1, [-3.1882112275808264e-7, -1.5941056137558577e-19, -2.3911584205832032e-31]),
    ("ellipeinc", (10.0, -1e12), 1, [-3.0804642354363501e-6, -1.5402321176936264e-18, -2.3103481765044916e-30]),
    ("ellipk", (-1e154,), 0, [8.8842673260830699e-230]),
    ("ellipe", (-1e200,), 0, [-5e-101, -2.5e-301]),  # of sqrt(-m)
    ("rel_entr", (5e-324, 0.3), 0, [math.log(5e-324) - math.log(0.3) + 1]),
    ("kl_entr", (1e-20, 1e300), 0, [-320 * math.log(10), 1e20]),
    ("inv_boxcox1p", (-50.0, 0.0), 0, [math.exp(-50.0), math.exp(-50.0)]),
    ("inv_boxcox1p", (-50.0, 0.001), 0, [5.5703397344684711e-23, 5.8576519944568448e-23]),
    ("inv_boxcox1p", (-1e8, -1.0), 1, [-1.7420680589745559e-7]),
    ("inv_boxcox", (1e75, 0.5), 1, [-1.7100073479399346e152, 1.1764700813951873e155, -8.1407967400171631e157]),
    ("inv_boxcox", (1e100, 1.0), 1, [-2.2925850929940457e102, 5.3016981104783981e104, -1.2365743946019413e107]),
    ("inv_boxcox1p", (1e154, 5.0), 1, [-1.2369045039136806e32, 1.8068377713624686e33, -2.7105678164257312e34]),
    ("inv_boxcox", (1e300, 1.0), 1, [-6.8977552789821374e302, 4.7716882994305585e305]),
    ("inv_boxcox", (1e300, 2e10), 1, [-1.783736378745278e-18, 1.7824864105177756e-28]),
    ("inv_boxcox1p", (-1e30, -1e3), 1, [-6.9498619833455247e-5, -1.3285903442496285e-7]),
    ("inv_boxcox", (1e300, 1e300), 1, [0.0, 0.0]),
    ("ive", (0.3, 100000000.0), 0, [-1.1968268481458937e-13, -3.9894228235624987e-13]),
    ("ive", (5.0, 1000000.0), 0, [-1.9946877149300845e-9, -3.9892756953913109e-10]),
    ("ive", (50.0, 10000.0), 0, [-1.7604187839419003e-5, -2.6405584821611966e-7]),
    ("ive", (0.25, 40.0), 0, [-0.00040025284453418598, -0.0015984554173018382]),
    ("sinc", (1e-12,), 0, [-3.289868133696453e-12, -3.289868133696453, 1.9481818206800487e-11]),
    ("sinc", (0.3,), 0, [-0.9020281301388888, -2.4584852862661744, 5.24749315292437]),
    ("sinc", (0.9,), 0, [-1.178165467869117, 1.5394726848616678, 5.297926138140398]),
    ("sinc", (300.5,), 0, [-3.525016665887311e-06, -0.010454527798856778, 0.00010437132577893621]),
    ("tanh", (0.0,), 0, [1.0, 0.0, -2.0, 0.0, 16.0]),
    ("tanh", (200.0,), 0, [4 * np.exp(-400.0), -8 * np.exp(-400.0), 16 * np.exp(-400.0)]),
    ("arcsin", (1e-9,), 0, [1.0, 1e-9, 1.0]),
    ("arctanh", (1e-9,), 0, [1.0, 2e-9, 2.0]),
    ("arcsinh", (1e-9,), 0, [1.0, -1e-9, -1.0]),
    ("arccosh", (1e120,), 0, [1e-120, -1e-240]),
    ("arccosh", (1.0,), 0, [np.inf, -np.inf, np.inf, -np.inf]),
    ("arccosh", (1.5,), 0, [2 / 5**0.5, -12 / 5**1.5, 176 / 5**2.5, -4320 / 5**3.5]),
    ("silu", (1e-20,), 0, [0.5, 0.5, -5e-21, -0.5]),
    ("silu", (-700.0,), 0, [-699 * math.exp(-700.0), -698 * math.exp(-700.0), -697 * math.exp(-700.0)]),
    ("i1", (1e-9,), 0, [0.5, 3.75e-10, 0.375]),
    ("i1", (1e-300,), 0, [0.5, 3.75e-301, 0.375]),
    ("iv", (1.0, 5e-324), 1, [0.5]),
    ("expit", (-40.0,), 0, [np.exp(-40.0), np.exp(-40.0)]),
    ("expit", (40.0,), 0, [np.exp(-40.0), -np.exp(-40.0)]),
    ("expit", (1e-8,), 0, [0.25, -1.25e-9, -0.125]),
    ("expit", (1e-280,), 0, [0.25, -1.25e-281]),
    ("exp2", (1024.0000000000002,), 0, [1.2460659279419801e308, 8.637070847447956e307]),  # whose value overflows
    ("arctan", (1e100,), 0, [1e-200, -2e-300]),
    ("betainc", (1.5, 0.5, 0.0), 2, [0.0, np.inf, -np.inf, np.inf]),  # x**0.5 and powers that are lower
    ("betainc", (0.5, 1.5, 1.0), 2, [0.0, -np.inf, -np.inf, -np.inf]),
    ("betaln", (-1.0, 1.0), 0, [1.0, 1.0, 2.0]),  # of 1 / a
    ("betaln", (-2.0, 2.0), 0, [1.5, 1.25]),  # of 1 / (a (a + 1))
    ("betaln", (1e8, 0.3), 0, [-3.0000000104999999e-9, 3.0000000209999999e-17]),
    ("betaln", (3.0, 1e-9), 0, [-3.9493406677116956e-10, 1.5411380625971888e-10]),
    ("betaln", (1e6, 1.0), 0, [-1e-6, 1e-12, -2e-18]),  # of 1 / a
    ("beta", (-3.0, 2.0), 0, [5 / 36]),
    ("digamma", (-1e12 + 0.25,), 0, [19.739208802177717, -124.02510672119928]),  # pi**2 / sin(pi x)**2
    ("gammaln", (-1e6 - 0.5,), 0, [13.815511557963816, 9.8696034010903586]),
    ("beta", (1.0, np.inf), 0, [0.0, 0.0]),  # gamma(a) b**-a times powers of log(b)
    ("beta", (np.inf, 0.5), 1, [0.0, 0.0]),
    ("zeta", (2.0, np.inf), 0, [0.0, 0.0]),  # q**(1 - s) times powers of log(q)
    ("betaincinv", (1.0, 2.0, 1.0), 0, [0.0]),
    ("betainccinv", (1.0, 2.0, 0.0), 1, [0.0]),
    ("eval_legendre", (0, -1.0), 1, [0.0, 0.0]),
    ("eval_legendre", (1, -1.0), 1, [1.0, 0.0]),
    ("eval_chebyt", (0, -2.0), 1, [0.0, 0.0]),
    ("eval_chebyu", (0, -2.0), 1, [0.0, 0.0]),
    ("eval_chebyu", (2, -2.0), 1, [-16.0, 8.0, 0.0]),
    ("gammaincinv", (2.0, 1.0), 0, [0.0, 0.0]),
    ("stdtr", (3.0, 0.0), 0, [0.0, 0.0]),
    ("stdtr", (4.0, 0.0), 1, [0.375, 0.0, -0.46875]),
    ("kolmogorov", (1e-300,), 0, [0.0, 0.0]),
    ("stdtr", (2.0, -1e+100), 0, [-1.1480254144484226e-198, 2.6359408277906164e-196]),
    ("stdtr", (2.0, -1e+100), 1, [1e-300, 0.0]),
    ("stdtr", (0.5, -1000.0), 0, [-0.07285147196746328, 0.5368813143790723]),
    ("stdtr", (30.0, -40.0), 0, [-1.0451387728781778e-27, 1.6029844305648669e-27]),
    ("stdtr", (100.0, -1.5), 0, [-1.5721323230354782e-05, 3.1378194040239263e-07]),
    ("stdtr", (4.0, -1e-10), 0, [-5.694807290020509e-13, 2.6862969191029545e-13]),
    ("stdtr", (1e8, -3.0), 0, [-3.3238867443826091e-18, 6.6477739241943199e-26]),
    ("stdtr", (1e5, 1.3), 0, [1.4981820433726707e-11, -2.9963562141203851e-16]),
    ("stdtr", (0.05, 1.01), 0, [0.75574670386022211, -5.8634725086279053]),
    ("stdtr", (1e12, 1.3), 0, [1.4981899159771686e-25, -2.9963798319535499e-37]),
    ("stdtrit", (1.0, 1e-300), 0, [2.1945482016709165e302]),
    ("fdtr", (4.0, 1e6, 1.3), 1, [8.0333957563841e-13]),
    ("fdtr", (1e5, 7.0, 0.8), 0, [-1.2438692997655720e-10]),
    ("fdtr", (2.0, 4.0, 1e-200), 0, [-2.2985508288968453e-198, 5.283354663022375e-196]),
    ("fdtr", (5.0, 3.0, 1e-30), 2, [1.8263835379599997e-44, 2.7395753069399994e-14]),
    ("fdtrc", (2.0, 4.0, 1e+90), 0, [-1e-180, 1e-180]),
    ("fdtrc", (2.0, 4.0, 1e+90), 1, [-4.110790223778084e-178, 4.224699065977366e-176]),
    ("fdtrc", (2.0, 4.0, 1e+90), 2, [-8e-270, 0.0]),
    ("agm", (1e+160, 1.0), 0, [0.004236206107902778, -1.1424339326309672e-165]),
    ("agm", (1e+160, 1.0), 1, [1.1486461904588232e+155, -1.1424339326309673e+155]),
    ("agm", (1e+19, 1.0), 0, [0.034030807007370195, -7.3688821446699972e-23]),
    ("agm", (1.0, 1e+99), 1, [0.0068192729595833489, -2.9603832801003924e-104]),
    ("elliprf", (1.0, 2.0, 1e+50), 2, [-2.8534774049475742e-74, 4.2552161074213609e-124]),
    ("elliprd", (1.0, 1e+60, 1e-05), 0, [-4.7135581951100178e-28, 7.05547869988075e-28]),
    ("elliprc", (1.27, -0.174), 0, [-0.18825299057239963, 0.074586570378864948]),
    ("elliprc", (1.27, -0.174), 1, [2.738128017630198, 15.732928554800227]),
    ("elliprj", (1.0, 2.0, 3.0, -0.5), 0, [0.11729740208224185, -0.26837724520808725]),
    ("elliprj", (1.0, 2.0, 3.0, -0.5), 3, [1.0619655298253355, 3.072548701059419]),
    ("elliprj", (3.0, 1.0, 0.2, -4.0), 2, [0.33869769291472565, -1.1284599254717763]),
    ("zeta", (np.inf, 2.0), 0, [0.0, 0.0]),
    ("zetac", (np.inf,), 0, [0.0]),
    ("inv_boxcox", (-np.inf, 0.0), 0, [0.0]),  # of exp(x)
    ("inv_boxcox", (-np.inf, 0.0), 1, [0.0]),  # -x**2 exp(x) / 2
    ("inv_boxcox", (-np.inf, -1.0), 1, [0.0]),
    ("inv_boxcox1p", (np.inf, 0.0), 1, [-np.inf]),
    ("kolmogorov", (0.11,), 0, [-2.2055306895422094e-40, -4.008202954460288e-37, -7.17349445134947e-34]),
    ("kolmogorov", (0.8,), 0, [-1.6270243456365923, 1.7186654684559675, 20.441429232893174]),
    ("kolmogorov", (3.0,), 0, [-3.6551951387310307e-07, 4.264394328519536e-06, -4.824857583124961e-05]),
]


@pytest.mark.parametrize(("name", "xs", "k", "known"), KNOWN, ids=[f"{n}{x}-{k}" for n, x, k, _ in KNOWN])
def test_derivatives_in_the_tails_and_in_parameters(
    name: str, xs: tuple[float, ...], k: int, known: list[float]
) -> None:
    np.testing.assert_allclose(slopes(getattr(ng, name), xs, k, len(known)), known, rtol=2e-10, atol=1e-300)


def test_mixed_derivatives_in_parameters() -> None:
    a, b = ng.DimArray(2.5, ()), ng.DimArray(3.0, ())

    def f(a: ng.DimArray, b: ng.DimArray) -> ng.DimArray:
        return ng.betainc(a, b, 0.25)

    there = ng.grad(lambda a: ng.grad(lambda b: f(a, b))(b))(a).item()
    back = ng.grad(lambda b: ng.grad(lambda a: f(a, b))(a))(b).item()
    h = 1e-3
    first = lambda b: ng.grad(lambda a: f(a, b))(a).item()
    np.testing.assert_allclose(there, back, rtol=1e-12)
    np.testing.assert_allclose(back, (first(b + h) - first(b - h)) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize(("name", "pair"), [("gammaincinv", "gammainc"), ("gammainccinv", "gammaincc")])
def test_an_inverse_has_the_inverse_slope(name: str, pair: str) -> None:
    x = ng.DimArray(np.array([0.2, 1.0, 7.0]), "x")
    a = ng.DimArray(np.array([0.5, 2.0, 6.0]), "x")
    back = lambda a: getattr(ng, name)(a, getattr(ng, pair)(a, x))
    np.testing.assert_allclose(back(a).data, x.data, rtol=1e-10)
    np.testing.assert_allclose(ng.grad(lambda a: back(a).sum())(a).data, 0, atol=1e-10)


def in_the_order_at_half(name: str, x: float) -> float:
    """DLMF 10.15.6 to 10.15.8, and 10.38.6."""
    si, ci = scipy.special.sici(2 * x)
    if name == "iv":
        return -(scipy.special.exp1(2 * x) * math.exp(x) + scipy.special.expi(2 * x) * math.exp(-x)) / math.sqrt(2 * math.pi * x)
    waves = ci * math.sin(x) - si * math.cos(x) if name == "jv" else ci * math.cos(x) + (si - math.pi) * math.sin(x)
    return math.sqrt(2 / (math.pi * x)) * waves


@pytest.mark.parametrize("name", ["jv", "yv", "iv"])
@pytest.mark.parametrize("x", [0.01, 1.5, 20.0, 300.0])
def test_derivatives_at_half_orders(name: str, x: float) -> None:
    f, half = getattr(ng, name), ng.DimArray(0.5, ())
    np.testing.assert_allclose(ng.grad(lambda v: f(v, x))(half).item(), in_the_order_at_half(name, x), rtol=1e-12)
    want = getattr(scipy.special, {"jv": "jvp", "yv": "yvp", "iv": "ivp"}[name])(0.5, x)
    np.testing.assert_allclose(ng.grad(lambda x: f(half, x))(ng.DimArray(x, ())).item(), want, rtol=1e-12)


def test_an_order_without_derivative_is_refused() -> None:
    with pytest.raises(ng.TraceError, match=r"order n.*stop_gradient"):
        ng.grad(lambda n: ng.polygamma(n, 1.5))(ng.DimArray(2.0, ()))


# ------------------------------------------------------------------------------------------------ power


@pytest.mark.parametrize("kind", ["numbers", "arrays"])
def test_second_derivatives_of_power_at_its_edges(kind: str) -> None:
    for z, want in ((0.0, [0, 0]), (1.0, [1, 0]), (2.0, [0, 2]), (3.0, [0, 0])):
        x = ng.DimArray([0.0], "x")
        exponent = z if kind == "numbers" else ng.DimArray([z], "x")
        f = lambda x, exponent=exponent: (x**exponent).sum()
        found = [ng.grad(f)(x), ng.grad(lambda x, f=f: ng.grad(f)(x).sum())(x)]
        np.testing.assert_array_equal([g.data[0] for g in found], want)


def test_the_mixed_derivative_of_power_at_exponent_zero() -> None:
    x, z = ng.DimArray([2.0, 0.5], "x"), ng.DimArray([0.0, 0.0], "x")
    mixed = ng.grad(lambda z: ng.grad(lambda x: (x**z).sum())(x).sum())(z)
    np.testing.assert_allclose(mixed.data, [0.5, 2.0])
    other = ng.grad(lambda x: ng.grad(lambda z: (x**z).sum())(z).sum())(x)
    np.testing.assert_allclose(other.data, [0.5, 2.0])


def test_integer_exponents_of_any_dtype() -> None:
    x = ng.DimArray([0.0, -2.0, 3.0], "x")
    for dtype in ("int64", "uint8", "int32"):
        n = ng.DimArray(np.array([0, 3, 2], dtype), "x")
        np.testing.assert_allclose(ng.grad(lambda x, n=n: (x**n).sum())(x).data, [0, 12, 6])


def test_a_negative_base_and_a_complex_exponent() -> None:
    x, z = ng.DimArray([-2.0], "x"), ng.DimArray([0.5 + 0.3j], "x")
    f = lambda x, z: ng.real(x**z).sum()
    gx, gz = ng.grad(f, (0, 1))(x, z)
    h = 1e-6
    value = lambda x, z: np.real((x + 0j) ** z)[0]
    np.testing.assert_allclose(gx.data, (value(x.data + h, z.data) - value(x.data - h, z.data)) / (2 * h), rtol=1e-8)
    along = [(value(x.data, z.data + d * h) - value(x.data, z.data - d * h)) / (2 * h) for d in (1, 1j)]
    np.testing.assert_allclose(gz.data[0], along[0] + 1j * along[1], rtol=1e-8)


@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.arcsinh, np.sqrt, np.log])
def test_branch_cuts_are_those_of_the_value(f: Any) -> None:
    at = np.array([2.0 + 0j, -2.0 + 0j, 0.5 + 2j, -0.5 - 2j, 3 + 1e-300j])
    slope = ng.pushforward(f, (ng.DimArray(at, "x"),), (ng.ones({"x": 5}, dtype=complex),))[1].data
    h = 1e-6
    np.testing.assert_allclose(slope, (f(at + h) - f(at - h)) / (2 * h), rtol=1e-7, atol=1e-9)


# ------------------------------------------------------------------------------------------------ arrays of every kind


def _ufuncs() -> list[tuple[str, Any]]:
    names = "erf erfc erfcx erfinv expit logit gammaln psi digamma i0 i0e i1 j0 j1 y0 k0 ndtr log_ndtr ndtri entr loggamma gamma"
    return [(n, getattr(scipy.special, n)) for n in names.split()]


def _same_names() -> list[Any]:
    every = {f.__name__: f for home in (np, scipy.special) for f in vars(home).values() if isinstance(f, np.ufunc)}
    known = [f for n, f in every.items() if f.signature is None and f.nout == 1 and n in FUNCTIONS]
    return [*known, *(every[n] for n in UFUNCS if n in every)]


@pytest.mark.filterwarnings("ignore:non-integer")  # counts that are rounded down
@pytest.mark.parametrize("f", _same_names(), ids=lambda f: f.__name__)
def test_a_ufunc_of_an_array_with_names_is_the_one_of_its_data(f: Any) -> None:
    whole = np.arange(1, 3 * f.nin + 1).reshape(f.nin, 3)
    for values in np.random.default_rng(5).uniform(0.2, 0.8, whole.shape), whole:
        try:
            want = f(*values)
        except TypeError:  # of numbers of another kind
            continue
        got = f(*(ng.DimArray(v, ("x",)) for v in values))
        np.testing.assert_allclose(got.data, want, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("name", "f"), _ufuncs(), ids=[n for n, _ in _ufuncs()])
def test_ufuncs_of_scipy_on_plain_arrays_and_on_xarray(name: str, f: Any) -> None:
    x = np.array([0.2, 0.4, 0.7])
    h = 1e-6
    want = (f(x + h) - f(x - h)) / (2 * h)
    np.testing.assert_allclose(ng.grad(lambda x: np.sum(f(x)))(x), want, rtol=1e-7)
    da = xr.DataArray(x, dims="t", coords={"t": [1, 2, 3]})
    slope = ng.grad(lambda da: f(da).sum())(da)
    xr.testing.assert_allclose(slope, da.copy(data=want), rtol=1e-7)
    ours = getattr(ng, {"psi": "digamma"}.get(name, name))
    xr.testing.assert_allclose(ours(da), f(da))


def test_hurwitz_zeta_of_scipy() -> None:
    s, h = np.array([1.5, 3.0]), 1e-6
    want = (scipy.special.zeta(s + h, 0.7) - scipy.special.zeta(s - h, 0.7)) / (2 * h)
    np.testing.assert_allclose(ng.grad(lambda s: np.sum(scipy.special.zeta(s, 0.7)))(s), want, rtol=1e-8)
    named = ng.DimArray(s, ("x",))
    np.testing.assert_allclose(ng.grad(lambda s: scipy.special.zeta(s, 0.7).sum())(named).data, want, rtol=1e-8)


def test_two_operand_ufuncs_of_scipy_on_plain_arrays() -> None:
    a, x = np.array([0.5, 2.0]), np.array([[0.3], [1.5]])
    h = 1e-5
    for f in (scipy.special.gammainc, scipy.special.xlogy, scipy.special.kl_div, scipy.special.betaln, scipy.special.kv):
        got = ng.grad(lambda a, f=f: np.sum(f(a, x)))(a)
        np.testing.assert_allclose(got, ((f(a + h, x) - f(a - h, x)) / (2 * h)).sum(0), rtol=1e-6)


@pytest.mark.parametrize("name", ["modf", "frexp", "divmod"])
def test_functions_of_several_results_on_plain_arrays(name: str) -> None:
    f = getattr(np, name)
    more = (np.array([2.0, -3.0, 0.7]),) if name == "divmod" else ()
    x = np.array([5.3, -1.2, 0.4])
    k = 1 if name == "divmod" else 0
    h = 1e-6
    np.testing.assert_allclose(
        ng.grad(lambda x: np.sum(f(x, *more)[k]))(x), (f(x + h, *more)[k] - f(x - h, *more)[k]) / (2 * h), rtol=1e-6
    )


def test_softmax_over_several_dims_by_number_and_by_name() -> None:
    data = np.random.default_rng(1).normal(size=(2, 3, 4))
    e = np.exp(data)
    want = e / e.sum((0, 2), keepdims=True)
    np.testing.assert_allclose(ng.softmax(ng.DimArray(data, ("a", "b", "c")), ("c", "a")).data, want)
    np.testing.assert_allclose(ng.softmax(ng.positional(data), (0, -1)).data, want)
    np.testing.assert_allclose(ng.log_softmax(ng.positional(data), (0, -1)).data, np.log(want))
    da = xr.DataArray(data, dims=("a", "b", "c"), coords={"c": [1, 2, 3, 4]})
    xr.testing.assert_allclose(ng.softmax(da, ("a", "c")), da.copy(data=want))


def test_shift_operators_and_updates_in_place() -> None:
    n = ng.DimArray([1, 2, 3], "x")
    assert (n << 2).data.tolist() == [4, 8, 12]
    assert (n >> 1).data.tolist() == [0, 1, 1]
    m = n
    m <<= 1
    assert (m.data.tolist(), n.data.tolist()) == ([2, 4, 6], [1, 2, 3])
    x = ng.DimArray([1.0, 2.0], "x")

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x
        y += 1.0
        y *= x
        y **= 2
        y /= x
        y -= x
        y //= 1e9
        return (y + x).sum()

    assert ng.grad(f)(x).data.tolist() == [1.0, 1.0]


def test_missing_values_are_filled_with_arrays_of_other_dims() -> None:
    x = ng.DimArray([1.0, np.nan], "x")
    value = ng.DimArray([5.0, 6.0, 7.0], "y")
    filled = x.fillna(value)
    assert filled.dims == ("x", "y")
    np.testing.assert_array_equal(filled.data, [[1, 1, 1], [5, 6, 7]])
    np.testing.assert_array_equal(ng.grad(lambda v: x.fillna(v).sum())(value).data, [1, 1, 1])
    assert x.isnull().data.tolist() == [False, True]
    assert x.notnull().data.tolist() == [True, False]


@pytest.mark.parametrize(("dividend", "mode"), [(7, "floor"), (7, "trunc"), (-7, "floor"), (-7, "trunc")])
def test_rounded_division_of_integers_stays_integer(dividend: int, mode: Any) -> None:
    out = ng.div(ng.DimArray([dividend], "x"), ng.DimArray([2], "x"), mode)
    assert out.dtype == "int64"
    assert out.data.tolist() == [{"floor": dividend // 2, "trunc": int(dividend / 2)}[mode]]


def test_an_unknown_rounding_mode_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rounding_mode='up'.*'trunc', 'floor'"):
        ng.div(ng.ones({"x": 2}), 2.0, "up")  # type: ignore[arg-type]


def test_exponents_of_ldexp_may_be_numbers_of_any_kind() -> None:
    x, n = ng.DimArray([1.5, 3.0], "x"), ng.DimArray([0.5, -1.0], "x")
    np.testing.assert_allclose(ng.ldexp(x, n).data, x.data * 2.0**n.data)
    gx, gn = ng.grad(lambda x, n: ng.ldexp(x, n).sum(), (0, 1))(x, n)
    np.testing.assert_allclose(gx.data, 2.0**n.data)
    np.testing.assert_allclose(gn.data, np.log(2) * x.data * 2.0**n.data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dims", [("k",), ("k", "m")])
@pytest.mark.parametrize("lead", [8.0, 37.4, 80.0])
def test_softmax_and_its_logarithm_where_one_cell_leads(lead: float, dims: tuple[str, ...], dtype: Any) -> None:
    scores = np.zeros((2, 2, 2), dtype)  # n, k, m
    scores[0, 1, 1] = lead
    x = ng.DimArray(scores, ("n", "k", "m"))
    each = math.exp(-np.float64(dtype(lead)))
    rest = each * (2 ** len(dims) - 1)
    close = {"rtol": 1e-11 if dtype == np.float64 else 2e-5}
    at = {"n": 0, "k": 1, "m": 1}
    np.testing.assert_allclose(ng.log_softmax(x, dims).isel(at).item(), -math.log1p(rest), **close)
    less = rest / (1 + rest)
    for f, first in ((ng.softmax, less * (1 - less)), (ng.log_softmax, less)):
        g = ng.grad(lambda x, f=f: f(x, dims).isel(at))(x)
        np.testing.assert_allclose(g.isel(at).item(), first, **close)
        np.testing.assert_allclose(g.isel(n=0, k=0, m=1).item(), -first * each / rest, **close)
        unit = ng.DimArray(np.eye(8, dtype=dtype)[3].reshape(2, 2, 2), ("n", "k", "m"))
        _, t = ng.pushforward(lambda x, f=f: f(x, dims), (x,), (unit,))
        np.testing.assert_allclose(t.isel(at).item(), first, **close)
        second = {ng.softmax: -less * (1 - less) * (1 - 2 * less), ng.log_softmax: -less * (1 - less)}[f]
        h = ng.hvp(lambda x, f=f: f(x, dims).isel(at), x, unit)
        np.testing.assert_allclose(h.isel(at).item(), second, **close)


@pytest.mark.parametrize(("name", "x", "bend"), [
    ("silu", 30.0, -2.620134431274233e-12),
    ("silu", 100.0, -3.645674634313279e-42),
    ("silu", -50.0, -9.257999270226805e-21),
    ("mish", 15.0, -1.048052295451325e-11),
    ("mish", 30.0, -2.031510496944727e-24),
    ("mish", -50.0, -9.257999270226805e-21),
    ("gelu", 9.0, -4.683928577814238e-26),
    ("gelu", -9.0, -4.683928577814238e-26),
])  # fmt: skip
def test_bends_of_gated_activations_in_the_tails(name: str, x: float, bend: float) -> None:
    f = (lambda x: ng.gelu(x, "tanh")) if name == "gelu" else getattr(ng, name)
    assert slopes(f, (x,), 0, 2)[1] == pytest.approx(bend, rel=1e-9)


# ------------------------------------------------------------------------------------------------ parameters that coincide


def _derivative(f, orders):
    """The partial derivative of a function of several numbers, the last order first."""
    for which in orders:
        f = _slope_of(f, which)
    return f


def _slope_of(f, which):
    return lambda *xs: ng.grad(lambda *xs: f(*xs).sum(), wrt=which)(*xs)


@pytest.mark.parametrize("y", [0.1, 0.3, 0.5, 0.7])
def test_arcsine_law(y):
    """``betaincinv(1/2, 1/2, y)`` is ``sin(pi y / 2)**2``, and ``betainc(1/2, 1/2, x)`` is ``2 / pi arcsin(sqrt(x))``."""
    at, half, w = ng.DimArray([y], ("x",)), 0.5, np.pi
    want = [w / 2 * np.sin(w * y), w**2 / 2 * np.cos(w * y), -(w**3) / 2 * np.sin(w * y)]
    got = [_derivative(lambda p: ng.betaincinv(half, half, p), (0,) * k)(at).item() for k in (1, 2, 3)]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    first = (y * (1 - y)) ** -0.5 / w
    got = [_derivative(lambda x: ng.betainc(half, half, x), (0,) * k)(at).item() for k in (1, 2)]
    np.testing.assert_allclose(got, [first, -0.5 * first * (1 / y - 1 / (1 - y))], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "at", "orders", "want"),
    [  # by mpmath's numerical differentiation with 40 digits
        ("gammainc", (1.0, 0.8), (0, 1, 1), 0.4025663491255398),
        ("gammainc", (1.0, 0.8), (1, 1, 0), 0.4025663491255398),
        ("gammainc", (2.0, 0.8), (0, 1, 1, 1), 0.011284206627565109),
        ("betainc", (0.5, 0.5, 0.3), (2, 2), -0.6615324933741492),
        ("betainc", (0.5, 0.5, 0.3), (0, 2, 2), 2.194752092747761),
        ("betainc", (0.3, 0.7, 0.3), (2, 2, 1), -1.31386172447131),
        ("betainc", (1.0, 1.0, 0.3), (2, 2, 0), 3.3333333333333335),
        ("betainc", (1.5, 0.5, 0.3), (2, 2, 2), 0.47252320955296356),
        ("betainc", (1.2, 0.8, 0.3), (2, 2, 2), -0.7162503739831315),
        ("betainc", (1.0, 2.0, 0.3), (0, 2, 2), 4.074612275318539),
    ],
)
def test_derivatives_where_gamma_functions_have_poles(name, at, orders, want):
    operands = [ng.DimArray([v], ("x",)) for v in at]
    assert _derivative(getattr(ng, name), orders)(*operands).item() == pytest.approx(want, rel=1e-9)


ZEROS = [(0.5, -0.5), (-0.5, -0.5), (0.5, -1.5), (-2.5, 2.5), (-0.25, -0.75), (2.25, -4.25), (150.25, -153.25), (200.5, -200.5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_beta_where_it_is_0(dtype: str) -> None:
    """``Γ(a) Γ(b)`` times ``1 / Γ``, whose series at ``-n`` is ``(-1)**n n! (e - ψ(n + 1) e**2 + ...)``."""
    mp = pytest.importorskip("mpmath")
    at = np.array(ZEROS, dtype)
    operands = [ng.DimArray(x, ("x",)) for x in at.T]
    found = {which: _derivative(ng.beta, which)(*operands).data for which in [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]}
    with mp.workdps(50):
        for k, (a, b) in enumerate(at.tolist()):
            n = round(-a - b)
            first = mp.gamma(a) * mp.gamma(b) * (-1) ** n * mp.factorial(n)
            for which, slopes in found.items():
                second = sum(mp.psi(0, (a, b)[i]) for i in which) - 2 * mp.psi(0, n + 1)
                expected = float(first if len(which) == 1 else first * second)
                np.testing.assert_allclose(slopes[k], expected, rtol=2e-5 if dtype == "float32" else 1e-12, err_msg=f"{a, b, which}")


@pytest.mark.parametrize(("a", "slope"), [(1.0, -1.0), (2.0, 1.0), (3.0, 0.0)])
def test_bend_of_gammainc_at_0(a, slope):
    """The density of the gamma distribution is ``x**(a - 1) exp(-x) / gamma(a)``."""
    bend = _derivative(lambda x: ng.gammainc(a, x), (0, 0))
    np.testing.assert_allclose(bend(ng.DimArray([0.0], ("x",))).data, [slope], atol=1e-15)


@pytest.mark.parametrize("x", [0.3, 1.0])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_hypergeometric_polynomials_have_derivatives_of_all_orders(n: int, x: float) -> None:
    """At 1 the function that follows the last of them is infinite."""
    b, third = 2.0, 3.0
    p = np.polynomial.Polynomial([scipy.special.poch(-n, k) * scipy.special.poch(b, k) / scipy.special.poch(third, k) / math.factorial(k) for k in range(n + 1)])
    f = lambda x: ng.hyp2f1(ng.DimArray(-float(n), ()), ng.DimArray(b, ()), ng.DimArray(third, ()), x)
    for k in range(n + 3):
        np.testing.assert_allclose(f(ng.DimArray(x, ())).item(), p.deriv(k)(x), atol=1e-14, rtol=1e-13)
        f = ng.grad(f)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "at", "orders", "limit"), [
    ("gammainc", (2.0, 0.0), (1, 1), 0.0), ("gammainc", (2.5, np.inf), (1, 1), 0.0), ("gammaincc", (3.0, 0.0), (2, 1), 0.0),
    ("gammainc", (3.0, 0.0), (1, 2), 0.0), ("gammainc", (2.0, 0.0), (1, 2), -np.inf), ("chdtr", (6.0, 0.0), (1, 1), 0.0),
    ("betainc", (2.0, 3.0, 0.0), (1, 0, 1), 0.0), ("betainc", (3.0, 2.0, 1.0), (0, 1, 1), 0.0), ("betainc", (3.0, 2.0, 1.0), (0, 1, 2), np.inf),
    ("betaincc", (2.0, 3.0, 0.0), (0, 1, 1), 0.0), ("gammaincinv", (2.0, 0.0), (1, 1), np.inf), ("betaincinv", (2.0, 3.0, 0.0), (1, 0, 1), np.inf),
    ("betaincinv", (2.5, 1.5, 1.0), (0, 1, 1), np.inf), ("betaincinv", (1.0, 2.0, 1.0), (1, 0, 1), -np.inf), ("betainccinv", (0.5, 0.5, 0.0), (1, 0, 1), 0.0),
])  # fmt: skip
def test_a_power_outweighs_its_logarithm(name: str, at: tuple[float, ...], orders: tuple[int, ...], limit: float, compiled: bool) -> None:
    """At the ends of distributions, whatever is differentiated first."""
    for turn in (1, -1):
        f = getattr(ng, name)
        for k, n in list(enumerate(orders))[::turn]:
            for _ in range(n):
                f = ng.grad(f, wrt=k)
        found = (ng.compile(f) if compiled else f)(*(ng.DimArray(x, ()) for x in at))
        np.testing.assert_array_equal(abs(found.data) if limit == 0 else found.data, limit)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "at", "bend"), [
    ("gammaincinv", (0.5, 0.0), np.pi / 2), ("gammaincinv", (1.0, 0.0), 1.0), ("gammaincinv", (0.3, 0.0), 0.0), ("gammainccinv", (0.5, 1.0), np.pi / 2),
    ("betaincinv", (0.5, 0.5, 0.0), np.pi**2 / 2), ("betaincinv", (0.5, 0.5, 1.0), -np.pi**2 / 2), ("betainccinv", (0.5, 0.5, 0.0), -np.pi**2 / 2),
    ("gammaincinv", (0.7, 1e-300), 1.4323710199306824e171),
    ("gammaincinv", (0.5, 1e-157), np.pi / 2), ("betaincinv", (0.5, 0.5, 1e-200), np.pi**2 / 2), ("betaincinv", (1.0, 2.0, 0.0), 0.25), ("betaincinv", (0.25, 0.25, 1.0), 0.0),
])  # fmt: skip
def test_bends_of_inverses_at_their_ends(name: str, at: tuple[float, ...], bend: float, compiled: bool) -> None:
    """Near 0 the first inverse is ``π p**2 / 4`` of 1/2, ``-log(1 - p)`` of 1; the second ``sin(π p / 2)**2``, ``1 - sqrt(1 - p)``."""
    f = ng.grad(ng.grad(getattr(ng, name), wrt=len(at) - 1), wrt=len(at) - 1)
    found = (ng.compile(f) if compiled else f)(*(ng.DimArray(x, ()) for x in at))
    np.testing.assert_allclose(found.data, bend, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "v", "sign"), [("i0e", 0, 1), ("i1e", 1, 1), ("k0e", 0, -1), ("k1e", 1, -1), ("ive", 1.5, 1), ("kve", 1.5, -1)])
def test_scaled_bessel_functions_have_slopes_far_away(name: str, v: float, sign: int, dtype: str) -> None:
    """Hankel's expansion, DLMF 10.40: there the neighbouring orders agree in all digits that a difference would need."""
    x = np.array([1e4, 1e6, 3e8], dtype)
    f = (lambda x: getattr(ng, name)(v, x)) if name in ("ive", "kve") else getattr(ng, name)
    m, far = 4 * v * v, x.astype(float)
    terms = [1.0, -sign * (m - 1) / 8, (m - 1) * (m - 9) / 128]
    front = 1 / np.sqrt(2 * np.pi) if sign > 0 else np.sqrt(np.pi / 2)
    power = lambda k, n: np.prod([-k - 0.5 - i for i in range(n)]) * far ** (-k - 0.5 - n)
    a = ng.DimArray(x, "x")
    for n, found in enumerate([f(a), ng.grad(lambda a: f(a).sum())(a), ng.hessian(lambda a: f(a).sum(), part="diagonal")(a)]):
        expected = front * sum(c * power(k, n) for k, c in enumerate(terms))
        np.testing.assert_allclose(found.data, expected, rtol=1e-6 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize(("order", "whole"), [(-0.5, 0), (0.31, 0), (0.99, 0), (1.5, 1), (2.7, 2), (2, 2)])
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
def test_orders_of_exponential_integrals_are_cut_off(order: float, whole: int) -> None:
    """SciPy takes the order below; between 0 and 1 the slope was that of 1."""
    x = 0.43
    first = [np.exp(-x) / x * (1 + 1 / x), scipy.special.expn(0, x), scipy.special.expn(1, x)][whole]
    second = [np.exp(-x) / x * (1 + 2 / x + 2 / x**2), np.exp(-x) / x * (1 + 1 / x), scipy.special.expn(0, x)][whole]
    np.testing.assert_allclose(ng.grad(lambda v: ng.expn(order, v))(x), -first, rtol=1e-13)
    np.testing.assert_allclose(ng.grad(ng.grad(lambda v: ng.expn(order, v)))(x), second, rtol=1e-13)


@pytest.mark.parametrize(("dtype", "x"), [("float32", [-80.0, -2.0, 0.5, 30.0, 91.5]), ("float64", [-700.0, -2.0, 0.5, 300.0, 713.0])])
def test_slopes_of_the_exponential_integral_reach_as_far_as_they_are_finite(dtype: str, x: list[float]) -> None:
    """In numbers of more range, where the machine has them."""
    a, far = ng.DimArray(np.array(x, dtype), "x"), np.array(x, "longdouble")
    with np.errstate(over="ignore"):
        first = np.exp(far) / far
        second = first - first / far
    tolerance = {"rtol": 2e-6 if dtype == "float32" else 1e-13}
    np.testing.assert_allclose(ng.grad(lambda a: ng.expi(a).sum(skipna=False))(a).data, first.astype(dtype), **tolerance)
    np.testing.assert_allclose(ng.hessian(lambda a: ng.expi(a).sum(skipna=False), part="diagonal")(a).data, second.astype(dtype), **tolerance)


def test_second_derivative_of_log1mexp_does_not_underflow_where_the_square_of_the_exponential_overflows() -> None:
    for dtype, x in (("float32", [-80.0, -50.0, -1.0, -1e-3]), ("float64", [-600.0, -400.0, -1.0, -1e-3])):
        found = ng.hessian(lambda a: ng.log1mexp(a).sum(), part="diagonal")(ng.DimArray(np.array(x, dtype), "x")).data
        e = np.expm1(-np.array(x, dtype).astype("longdouble"))
        np.testing.assert_allclose(found, (-(e + 1) / e**2).astype(dtype), rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["iv", "ive"])
def test_modified_bessel_functions_at_0_begin_like_their_series(name: str, dtype: str) -> None:
    """``(x / 2)**v / gamma(v + 1)``, DLMF 10.25.2: the slope is infinite for orders between 0 and 1."""
    f, zero = getattr(ng, name), ng.DimArray(np.zeros(2, dtype), ("x",))
    for v, value, slope in ((0.5, 0, np.inf), (0.25, 0, np.inf), (1.0, 0, 0.5), (1.5, 0, 0), (-0.5, np.inf, None), (-1.5, -np.inf, None)):
        out = f(v, zero)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out.data, value)
        if slope is not None:
            np.testing.assert_array_equal(ng.grad(lambda x, v=v: f(v, x).sum())(zero).data, slope)
    near = ng.DimArray(np.array([1e-300, 1e-200]), ("x",))
    np.testing.assert_allclose(ng.iv(-0.5, near).data, np.sqrt(2 / (np.pi * near.data)), rtol=1e-12)


INF = np.inf
# at the ends: operation, operands, which of them, first and second derivative
ENDS = [
    ("arctan", (INF,), 0, 0, 0), ("arctan", (-INF,), 0, 0, 0), ("arctan", (1e200,), 0, 0, 0), ("arctan", (1e60,), 0, 1e-120, -2e-180),
    ("arcsinh", (INF,), 0, 0, 0), ("arcsinh", (-1e100,), 0, 1e-100, 1e-200), ("arccosh", (INF,), 0, 0, 0), ("arccosh", (1e100,), 0, 1e-100, -1e-200),
    ("log_ndtr", (INF,), 0, 0, 0), ("log_ndtr", (-INF,), 0, INF, -1), ("log_ndtr", (-1e200,), 0, 1e200, -1), ("log_ndtr", (1e200,), 0, 0, 0),
    ("logit", (1e-300,), 0, 1e300, -INF), ("logit", (1e-100,), 0, 1e100, -1e200), ("logit", (0.5,), 0, 4, 0),
    ("exprel", (800.0,), 0, INF, INF), ("exprel", (1e300,), 0, INF, INF), ("exprel", (INF,), 0, INF, INF), ("exprel", (-INF,), 0, 0, 0),
    ("dawsn", (1e300,), 0, 0, 0), ("dawsn", (-1e200,), 0, 0, 0), ("dawsn", (1e154,), 0, -5e-309, 0), ("dawsn", (1e60,), 0, -5e-121, 1e-180), ("dawsn", (INF,), 0, 0, 0),
    ("boxcox", (INF, 0.5), 1, INF, INF), ("boxcox", (INF, 0.0), 1, INF, INF), ("boxcox", (INF, -0.5), 1, 4, 16), ("boxcox", (2.0, 1e10), 1, INF, INF),
    ("boxcox", (0.0, 0.5), 1, 4, -16), ("boxcox", (0.0, 0.0), 1, INF, -INF), ("boxcox", (0.0, -0.5), 1, INF, -INF), ("boxcox", (1e-300, -2.0), 1, INF, -INF),
    ("boxcox1p", (INF, -0.5), 1, 4, 16), ("boxcox1p", (INF, 0.0), 1, INF, INF), ("boxcox1p", (-1.0, -0.5), 1, INF, -INF), ("boxcox1p", (3.0, 1e10), 1, INF, INF),
    ("boxcox1p", (-1.0, 2.0), 0, 0, 1), ("boxcox1p", (INF, 2.0), 0, INF, 1), ("boxcox1p", (-1.0, 3.0), 0, 0, 0), ("boxcox1p", (-1.0, 0.5), 0, INF, -INF),
    ("expi", (720.0,), 0, INF, INF), ("expi", (800.0,), 0, INF, INF), ("expi", (1e300,), 0, INF, INF), ("expi", (INF,), 0, INF, INF), ("expi", (-INF,), 0, 0, 0),
    ("expi", (1.0,), 0, math.e, 0), ("expi", (-2.0,), 0, -math.exp(-2) / 2, -math.exp(-2) * 0.75), ("expi", (1e-200,), 0, 1e200, -INF),
    # like powers of x, DLMF 10.7 and 10.30, of which two terms are infinite
    ("kve", (0.0, 0.0), 1, -INF, INF), ("kve", (1.0, 0.0), 1, -INF, INF), ("kve", (-2.5, 0.0), 1, -INF, INF), ("kve", (2.0, 1e-160), 1, -INF, INF),
    ("kve", (0.5, 1e-310), 1, -INF, INF), ("kve", (300.0, 0.5), 1, -INF, INF), ("kve", (2.0, 1e-90), 1, -4e270, INF), ("kve", (3.0, 1e-50), 1, -2.4e201, 9.6e251),
    ("kv", (0.0, 0.0), 1, -INF, INF), ("kv", (2.0, 1e-160), 1, -INF, INF), ("k0", (0.0,), 0, -INF, INF), ("k1", (1e-200,), 0, -INF, INF),
    ("k0e", (0.0,), 0, -INF, INF), ("k0e", (1e-310,), 0, -INF, INF), ("k1e", (0.0,), 0, -INF, INF), ("k1e", (1e-200,), 0, -INF, INF), ("k1e", (1e-120,), 0, -1e240, INF),
    ("ive", (-0.5, 0.0), 1, -INF, INF), ("ive", (-1.5, 0.0), 1, INF, -INF), ("ive", (0.3, 0.0), 1, INF, -INF), ("ive", (-0.5, 1e-310), 1, -INF, INF),
    ("ive", (0.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e155, -INF), ("iv", (0.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e155, -INF),
    ("iv", (1.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e-155, math.sqrt(0.125 / math.pi) * 1e155), ("iv", (-2.5, 1e-310), 1, -INF, INF),
    ("spherical_in", (0, 1e-300), 1, 1e-300 / 3, 1 / 3), ("spherical_in", (1, 1e-300), 1, 1 / 3, 2e-301), ("spherical_in", (1, -1e-200), 1, 1 / 3, -2e-201),
    ("spherical_in", (2, 0.0), 1, 0, 2 / 15), ("y0", (0.0,), 0, INF, -INF), ("y1", (0.0,), 0, INF, -INF), ("y1", (1e-200,), 0, INF, -INF), ("y1", (1e-120,), 0, 2e240 / math.pi, -INF),
    ("yv", (0.0, 0.0), 1, INF, -INF), ("yv", (0.5, 0.0), 1, INF, -INF), ("yv", (2.0, 1e-160), 1, INF, -INF), ("yv", (300.0, 0.5), 1, INF, -INF),
    ("yv", (-1.0, 0.0), 1, -INF, INF), ("yv", (-1.0, 1e-200), 1, -INF, INF), ("yv", (-2.3, 1e-200), 1, INF, -INF), ("jv", (-2.3, 0.0), 1, -INF, INF),
    ("jv", (-1.5, 1e-200), 1, INF, -INF), ("jv", (0.5, 0.0), 1, INF, -INF), ("jv", (0.0, 0.0), 1, 0, -0.5), ("jv", (2.0, 0.0), 1, 0, 0.25),
    # x**(a - 2) and x**(a - 1) below it
    ("betainc", (0.5, 0.5, 0.0), 2, INF, -INF), ("betainc", (0.5, 0.5, 1.0), 2, INF, INF), ("betaincc", (0.3, 0.8, 0.0), 2, -INF, INF),
    ("betainc", (0.5, 2.0, 1.0), 2, 0, -0.75), ("betainc", (1.0, 0.5, 0.0), 2, 0.5, 0.25),
]


@pytest.mark.parametrize(("name", "xs", "k", "first", "second"), ENDS)
def test_derivatives_at_the_ends_are_their_limits(name: str, xs: tuple[float, ...], k: int, first: float, second: float) -> None:
    f, args = getattr(ng, name), [ng.DimArray(np.array([x]), "x").vectorize("x") for x in xs]
    slope = ng.grad(f, k)
    np.testing.assert_allclose(slope(*args).data, [first], rtol=1e-12)
    np.testing.assert_allclose(ng.grad(slope, k)(*args).data, [second], rtol=1e-12)
    pushed = ng.pushforward(lambda x: slope(*args[:k], x, *args[k + 1 :]), (args[k],), (ng.ones_like(args[k]),))[1]
    np.testing.assert_allclose(pushed.data, [second], rtol=1e-12)


@pytest.mark.parametrize("x", [720.0, 800.0, 1e300, INF])
def test_bend_of_the_hyperbolic_integrals_far_away(x: float) -> None:
    a = ng.DimArray(np.array([x, -x]), "x")
    for part, side in ((0, 1), (1, -1)):
        slope = ng.grad(lambda a, k=part: ng.shichi(a)[k].sum(skipna=False))
        np.testing.assert_array_equal(slope(a).data, [INF, side * INF])
        np.testing.assert_array_equal(ng.hessian(lambda a, k=part: ng.shichi(a)[k].sum(skipna=False), part="diagonal")(a).data, [INF, -side * INF])
    near = ng.DimArray(np.array([-3.0, 0.2, 2.0]), "x")
    bend = ng.hessian(lambda a: ng.shichi(a)[1].sum(), part="diagonal")(near).data
    np.testing.assert_allclose(bend, np.sinh(near.data) / near.data - np.cosh(near.data) / near.data**2, rtol=1e-12)


# value, first and second derivative where exp(x) is infinite and the function is not
PAST_EXP: list[tuple[str, Callable[[ng.DimArray], ng.DimArray], float, list[float]]] = [
    ("shi", lambda x: ng.shichi(x)[0], 715.0, [2.3218128351852856e307, 2.3185609836691009e307, 2.3153182410345987e307]),
    ("chi", lambda x: ng.shichi(x)[1], 715.0, [2.3218128351852856e307, 2.3185609836691009e307, 2.3153182410345987e307]),
    ("shi", lambda x: ng.shichi(x)[0], -715.0, [-2.3218128351852856e307, 2.3185609836691009e307, -2.3153182410345987e307]),
    ("expi", ng.expi, 715.0, [4.6436256703705711e307, 4.6371219673382019e307, 4.6306364820691974e307]),
    ("exprel", ng.exprel, 715.0, [4.6371219673382019e307, 4.6306364820691974e307, 4.6241691380177286e307]),
    ("i0", ng.i0, 712.0, [2.4684110577627524e307, 2.4666770135246152e307, 2.4649466237549931e307]),
    ("i1", ng.i1, -712.0, [-2.4666770135246152e307, 2.4649466237549931e307, -2.4632198756176668e307]),
    ("spherical_in", lambda x: ng.spherical_in(1, x), -715.0, [-2.3153182410345987e307, 2.3120845690088643e307]),
    ("bi", lambda x: ng.airy(x)[2], 300.0, [INF, INF, INF]),
    ("ai", lambda x: ng.airy(x)[0], INF, [0.0, 0.0]),
]


@pytest.mark.parametrize(("name", "f", "x", "known"), PAST_EXP, ids=[f"{n}{x}" for n, _, x, _ in PAST_EXP])
def test_functions_that_grow_are_finite_as_long_as_their_value_is(
    name: str, f: Callable[[ng.DimArray], ng.DimArray], x: float, known: list[float]
) -> None:
    """Beside an ordinary cell, too; numbers of mpmath with 100 digits."""
    found = [f(ng.DimArray(x, ())).item(), *slopes(f, (x,), 0, len(known) - 1)]
    np.testing.assert_allclose(found, known, rtol=1e-12)
    np.testing.assert_allclose(f(ng.DimArray([x, 2.0], "x")).data, [known[0], f(ng.DimArray(2.0, ())).item()], rtol=1e-12)


@pytest.mark.parametrize("a", [1e-100, -1e-20, 1e-10, 1e-6, 9e-5])
@pytest.mark.parametrize("h", [5.0, -7.0, 20.0])
def test_owens_function_of_a_small_angle_and_a_large_height(h: float, a: float) -> None:
    """By a Gauss rule, from ``exp(-h**2 (1 + t**2) / 2) / (1 + t**2)``."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    t = a * (nodes + 1) / 2
    want = a / 2 * np.sum(weights * np.exp(-(h**2) * (1 + t**2) / 2) / (1 + t**2)) / (2 * math.pi)
    np.testing.assert_allclose(ng.owens_t(h, ng.DimArray([a, 0.5], "x")).data[0], want, rtol=1e-13)


@pytest.mark.parametrize("cells", [1, 3, 5000])
@pytest.mark.parametrize("exponent", [0.0, 1e-310, -1e-200, 1e-120, 1e-20])
def test_inverse_transformation_of_box_and_cox_next_to_the_exponential(exponent: float, cells: int) -> None:
    """However many cells there are."""
    x = np.linspace(-3, 4, cells)
    numbers = [exponent, ng.DimArray(np.full(cells, exponent), "x")]
    for k in numbers:
        np.testing.assert_allclose(ng.inv_boxcox1p(ng.DimArray(x, "x"), k).data, np.expm1(x), rtol=1e-12)


@pytest.mark.parametrize(("x", "y"), [(1.0, 1e-310), (1e-310, 1e20), (5e-324, 2.0), (1e300, 1e-20), (3.0, 0.5)])
def test_divergence_where_the_quotient_leaves_the_range(x: float, y: float) -> None:
    """By the difference of logarithms."""
    want = x * (math.log(x) - math.log(y)) - x + y
    np.testing.assert_allclose(ng.kl_entr(x, y).item(), want, rtol=1e-13)
    both = ng.kl_entr(ng.DimArray([x, 1.0], "n"), ng.DimArray([y, 0.0], "n")).data
    np.testing.assert_allclose(both, [want, INF], rtol=1e-13)


# branch, argument next to -1 / e, value, first and second derivative
LAMBERT: list[tuple[int, complex, list[complex]]] = [
    (0, -0.36787944117144233, [(-1+8.220079714836618e-09j), (-1.8121878856393634-330688013.1043928j), (-4.707102403763229-1.3303345685754657e+25j)]),
    (-1, -0.36787944117144233, [(-1-8.220079714836618e-09j), (-1.8121878856393634+330688013.1043928j), (-4.707102403763229+1.3303345685754657e+25j)]),
    (0, -0.36787944117, [(-0.9999971997634111+0j), (970730.1973473511+0j), (-3.365143354179788e+17+0j)]),
    (-1, -0.36787944117, [(-1.0000028002418166+0j), (-970733.8217231224+0j), (3.365143354179788e+17+0j)]),
    (0, -0.3678, [(-0.9793607149578305+0j), (129.0138410227933+0j), (-823095.5282433452+0j)]),
    (-1, -0.3678, [(-1.0209272394094255+0j), (-132.63896482766455+0j), (823086.1100569422+0j)]),
    (-1, -0.37, [(-0.9961676927124447-0.10718261880835069j), (-1.802262206030492+25.183672203902105j), (-4.654428037724184+6000.363009585374j)]),
    (1, (-0.367879441171-1e-13j), [(-1.0000015604303434+1.742010506383921e-07j), (-1720567.602805361-192077.91738944873j), (1.8037260974401654e+18+6.249407716560422e+17j)]),
]


@pytest.mark.parametrize(("k", "z", "known"), LAMBERT)
def test_lamberts_function_next_to_its_branch_point(k: int, z: complex, known: list[complex]) -> None:
    """With 60 digits, by Newton's method; the value is far more exact than what the rounding of the argument does to it."""
    x = ng.DimArray(np.array([z, 1.0]), "x")
    slope = lambda x: ng.pushforward(lambda x: ng.lambertw(x, k), (x,), (ng.ones_like(x),))[1]
    bend = ng.pushforward(slope, (x,), (ng.ones_like(x),))[1]
    found = [v.data[0] for v in (ng.lambertw(x, k), slope(x), bend)]
    assert abs(found[0] - known[0]) < 3e-16
    for value, exact in zip(found[1:], known[1:], strict=True):
        assert abs(value - exact) < 1e-7 * abs(exact)


@pytest.mark.parametrize("k", [0, -1, 1])
def test_slopes_of_lamberts_function_vanish_at_infinity(k: int) -> None:
    z = ng.DimArray(np.array([INF, -INF, 1.0]), "x")
    slope = lambda z: ng.grad(lambda z: ng.lambertw(z, k).real.sum(skipna=False))(z)
    np.testing.assert_array_equal(slope(z).data[:2], [0.0, 0.0])
    np.testing.assert_array_equal(ng.grad(lambda z: slope(z).sum(skipna=False))(z).data[:2], [0.0, 0.0])


@pytest.mark.parametrize("name", ["boxcox", "boxcox1p"])
def test_mixed_derivatives_of_power_transformations_at_the_ends(name: str) -> None:
    """``x**(k - 1) log(x)``, in both orders."""
    low = 0.0 if name == "boxcox" else -1.0
    for x, k, mixed in ((low, 0.5, -INF), (low, 0.0, -INF), (low, -0.5, -INF), (low, 2.0, 0), (INF, 0.5, 0), (INF, -0.5, 0), (INF, 2.0, INF), (low + 2.0, 1.7, 2**0.7 * math.log(2))):
        args = [ng.DimArray(np.array([v]), "x").vectorize("x") for v in (x, k)]
        for first, second in ((0, 1), (1, 0)):
            slope = ng.grad(getattr(ng, name), first)
            np.testing.assert_allclose(ng.grad(slope, second)(*args).data, [mixed], rtol=1e-12, err_msg=f"{x, k, first}")


@pytest.mark.parametrize(("y", "x"), [(3e-200, 4e-200), (4e-200, -3e-200), (1e-200, 1e-200), (5e-324, 1.0), (0.0, 5e-324), (5e-324, 0.0), (0.0, -1e-200), (-1.5, 2.0)])
def test_bends_of_arctan2_near_the_origin_are_their_limits(y: float, x: float) -> None:
    """``2 x y / r**4`` with its sign, and ``(y**2 - x**2) / r**4``, in fractions."""
    a, b = Fraction(y), Fraction(x)
    args = [ng.DimArray(np.array([v]), "n").vectorize("n") for v in (y, x)]
    for i in (0, 1):
        slope = ng.grad(ng.arctan2, i)
        for j in (0, 1):
            exact = ((a * a - b * b) if i != j else 2 * a * b * (-1 if i == 0 else 1)) / (a * a + b * b) ** 2
            expected = (INF if exact > 0 else -INF) if abs(exact) > Fraction(np.finfo(float).max) else float(exact)
            np.testing.assert_allclose(ng.grad(slope, j)(*args).data, [expected], rtol=1e-13)


def test_bends_of_the_first_bessel_function_where_its_quotient_rounds() -> None:
    """From its series ``x / 2 - x**3 / 16 + x**5 / 384``."""
    x = np.array([0.0, 1e-300, 1e-12, -9e-9, 1.1e-8, 1e-5])
    slope = ng.grad(lambda v: ng.j1(v).sum())
    bend = ng.grad(lambda v: slope(v).sum())
    third = ng.grad(lambda v: bend(v).sum())
    v = ng.DimArray(x, "x")
    np.testing.assert_allclose(slope(v).data, 0.5 - 3 * x**2 / 16, rtol=1e-15)
    np.testing.assert_allclose(bend(v).data, -3 * x / 8, rtol=1e-10)
    np.testing.assert_allclose(third(v).data, np.full(6, -0.375), rtol=1e-9)


# on both sides of where the slope of a Bessel function is found in another way: next to 0, and where the value is 0
PLACES = (-25.0, -2.5, -9.99e-4, 0.0, 1e-200, 9.99e-4, 1.01e-3, 0.3, 1.8411837813406593, 4.0, 25.0, 300.0, math.nan)


@pytest.mark.parametrize(("dtype", "exact"), [("float32", 2e-5), ("float64", 2e-12)])
@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "ive", "kve"])
def test_slopes_of_bessel_functions_of_any_order_are_those_of_scipy(name: str, dtype: Any, exact: float) -> None:
    """An array of orders, and one at a time; SciPy has none of the scaled functions, and NaN next to poles."""
    plain, sign = (name[:2], 1 if name == "kve" else -1) if name.endswith("e") else (name, 0)
    v, x = np.array([-40.5, -2.0, -1.3, -0.5, 0.0, 0.25, 1.0, 2.5, 70.0], dtype), np.array(PLACES, dtype)
    order, at = v.astype(float)[:, None], x.astype(float)
    turned = np.exp(sign * np.abs(at) if name == "ive" else sign * at)
    grown = np.sign(at) if name == "ive" else 1.0
    with np.errstate(all="ignore"):
        want = turned * (getattr(scipy.special, plain + "p")(order, at) + sign * grown * getattr(scipy.special, plain)(order, at))
        size = turned * np.abs(getattr(scipy.special, plain)(order, at))
        known = np.isfinite(want) & (np.abs(want) < np.finfo(dtype).max) & (np.abs(want) > np.finfo(dtype).tiny)
    f = getattr(ng, name)
    both = ng.pushforward(lambda x: f(ng.DimArray(v, "v"), x), (ng.DimArray(x, "x"),), (ng.ones({"x": len(x)}, dtype=dtype),))[1]
    each = [ng.grad(lambda x, k=k: f(ng.DimArray(k, ()), x).sum(skipna=False))(ng.DimArray(x, "x")).data for k in v]
    for found in (both.transpose("v", "x").data, np.stack(each)):
        assert found.dtype == dtype
        assert known.mean() > 0.35
        assert np.isnan(found[:, -1]).all()
        beside = np.where(known, exact * np.maximum(np.abs(want), size), 0)
        assert (np.abs(found - want)[known] <= beside[known]).all()


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_slopes_of_spherical_bessel_functions_are_those_of_scipy(name: str) -> None:
    n, x = np.array([0, 1, 2, 7]), np.array([p for p in PLACES if p > 1e-9])
    with np.errstate(all="ignore"):
        want = getattr(scipy.special, name)(n[:, None], x, derivative=True)
    f = getattr(ng, name)
    found = ng.pushforward(lambda x: f(ng.DimArray(n, "n"), x), (ng.DimArray(x, "x"),), (ng.ones({"x": len(x)}),))[1]
    known = np.isfinite(want)
    np.testing.assert_allclose(found.transpose("n", "x").data[known], want[known], rtol=1e-12, atol=1e-300)


def test_spherical_bessel_functions_next_to_0() -> None:
    """Like their first terms, DLMF 10.52: ``x**n / (2n + 1)!!`` and ``-(2n - 1)!! / x**(n + 1)``."""
    x = ng.DimArray([1e-300, -1e-160, 1e-120], "x")
    np.testing.assert_allclose(ng.spherical_in(0, x).data, 1.0, rtol=1e-15)
    np.testing.assert_allclose(ng.spherical_in(1, x).data, x.data / 3, rtol=1e-15)
    for n in (2, 5):
        assert ng.grad(lambda x, n=n: ng.spherical_yn(n, x))(ng.DimArray(1e-300, ())).item() == INF
    short = ng.DimArray(np.arange(3, dtype="float32"), "n")
    np.testing.assert_allclose(ng.spherical_in(short, 0 * x).data, [[1.0] * 3, [0.0] * 3, [0.0] * 3], rtol=0)


@pytest.mark.parametrize("name", ["iv", "ive"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
def test_modified_bessel_functions_of_whole_numbers(name: str, dtype: str) -> None:
    v, x = np.array([-1, 0, 1, 2]), np.array([0, 1])
    for order in (v, v.astype(dtype)):
        found = getattr(ng, name)(ng.DimArray(order, "v"), ng.DimArray(x.astype(dtype), "x")).data
        np.testing.assert_allclose(found, getattr(scipy.special, name)(order.astype(float)[:, None], x.astype(float)), rtol=1e-6)


def test_scaled_bessel_functions_of_short_orders_next_to_0() -> None:
    """As their first term: ``sqrt(2 x / pi)``."""
    found = ng.ive(ng.DimArray(np.float32([0.5]), "v"), ng.DimArray([1e-120], "x"))
    np.testing.assert_allclose(found.data, math.sqrt(2e-120 / math.pi), rtol=1e-14)


def test_all_slopes_of_the_falling_airy_function_are_0_at_infinity() -> None:
    f = lambda x: ng.airy(x)[0]
    for _ in range(4):
        assert f(ng.DimArray(INF, ())).item() == 0
        f = ng.grad(f)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_of_the_modified_bessel_function_of_order_1(dtype: str) -> None:
    """At 0, where the quotient rounds, and where the value is infinite."""
    a = ng.DimArray(np.array([0.0, 1e-30, -5e-9, 0.5, -800.0], dtype), "x")
    with np.errstate(all="ignore"):
        want = scipy.special.ivp(1, a.data.astype(float))
    np.testing.assert_allclose(ng.grad(lambda a: ng.i1(a).sum())(a).data, [*want[:4], np.inf], rtol=1e-6 if dtype == "float32" else 1e-14)
    near = a.isel(x=slice(3))
    scaled = ng.grad(lambda a: ng.i1e(a).sum())(near)
    np.testing.assert_allclose(scaled.data, 0.5 - np.abs(near.data), rtol=2e-7 if dtype == "float32" else 3e-16)
    bend = ng.hessian(lambda a: ng.i1(a).sum(), part="diagonal")(a.isel(x=slice(4)))
    np.testing.assert_allclose(bend.data, scipy.special.ivp(1, a.data[:4].astype(float), 2), rtol=1e-6 if dtype == "float32" else 1e-14)


# slopes by the value where it is exact enough, elsewhere in another way; operands on both sides
BY_VALUE: list[tuple[str, tuple[float, float], Callable[[Any, Any], Any]]] = [
    ("dawsn", (-9, 9), lambda x, y: 1 - 2 * x * y),
    ("erfcx", (-3, 3), lambda x, y: 2 * x * y - 2 / math.sqrt(math.pi)),
    ("exprel", (-6, 6), lambda x, y: (np.exp(x) - y) / x),
    ("log_ndtr", (-4, 4), lambda x, y: np.exp(-0.5 * x * x - y) / math.sqrt(2 * math.pi)),
    ("ndtri_exp", (-9, -1e-3), lambda x, y: np.exp(0.5 * y * y + x) * math.sqrt(2 * math.pi)),
    ("wofz", (-9, 9), lambda x, y: 2j / math.sqrt(math.pi) - 2 * x * y),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "between", "slope"), BY_VALUE, ids=[name for name, *_ in BY_VALUE])
def test_slopes_by_the_value_of_many_cells_in_any_order(name: str, between: Any, slope: Any, dtype: Any) -> None:
    cells = np.random.default_rng(4).uniform(*between, (160, 250)).astype(dtype)
    exact = {"atol": 1e-5, "rtol": 1e-5} if dtype == "float32" else {"atol": 1e-13, "rtol": 1e-12}
    for x in (cells, cells.T, cells[::3, ::-1], cells[0, 0]):
        a = ng.DimArray(x, ("a", "b")[: x.ndim])
        found = ng.pushforward(getattr(ng, name), (a,), (ng.ones_like(a),))[1]
        far = np.asarray(x, float)
        np.testing.assert_allclose(found.data, slope(far, getattr(scipy.special, name)(far)), **exact)
        assert found.dtype == getattr(ng, name)(a).dtype


@pytest.mark.parametrize("order", ["C", "F"])
def test_spherical_bessel_functions_of_many_cells_by_series_and_recurrence(order: Any) -> None:
    x = np.random.default_rng(3).uniform(-4, 4, (160, 250)).astype(float, order=order)
    for some in (x, x[::3, ::-1]):
        found = ng.grad(lambda a: ng.sinc(a).sum())(ng.DimArray(some, ("a", "b"))).data
        np.testing.assert_allclose(found, (np.cos(math.pi * some) - np.sinc(some)) / some, rtol=1e-9, atol=1e-12)
        bend = ng.grad(lambda a: ng.grad(lambda b: ng.sici(b)[0].sum())(a).sum())(ng.DimArray(some, ("a", "b"))).data
        np.testing.assert_allclose(bend, (np.cos(some) - np.sin(some) / some) / some, rtol=1e-9, atol=1e-12)


def test_sums_over_nodes_of_many_cells_are_cut_into_blocks() -> None:
    rng = np.random.default_rng(6)
    x, y, z = rng.uniform(0.1, 3, (3, 3000))
    found = ng.grad(lambda x: ng.elliprf(x, y, z).sum())(x)
    np.testing.assert_allclose(found, -scipy.special.elliprd(y, z, x) / 6, rtol=1e-12)  # DLMF 19.18.1
    found = ng.grad(lambda v: scipy.special.jv(v, y).sum())(x)
    np.testing.assert_allclose(found, richardson(lambda t: scipy.special.jv(x + t, y)), rtol=1e-7, atol=1e-9)
    found = ng.grad(lambda a: scipy.special.hyp2f1(a, x + 1.2, x + 2.5, 0.9).sum())(x)
    np.testing.assert_allclose(found, richardson(lambda t: scipy.special.hyp2f1(x + t, x + 1.2, x + 2.5, 0.9)), rtol=1e-6)


@pytest.mark.parametrize("name", ["exprel", "i1", "i1e", "j1", "dawsn", "erfcx", "log_ndtr"])
def test_slopes_of_half_precision_are_those_of_double_precision(name: str) -> None:
    f = getattr(ng, name)
    points = np.array([0.0, 0.001, 0.5, 1.0, 2.0, -2.0], np.float16)
    found, exact = (ng.grad(lambda x: f(x).sum())(ng.DimArray(points.astype(d), "x")).data for d in (np.float16, np.float64))
    np.testing.assert_allclose(found.astype(float), exact, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int64, np.float16])
def test_orders_and_arguments_of_any_dtype(name: str, dtype: Any) -> None:
    f = getattr(ng, name)
    orders, x = np.array([0, 1, 2, 5], dtype), np.array([2.0, 5e-4, 3.0, 0.5])
    of = lambda v, x: ng.grad(lambda x: f(ng.DimArray(v, "x"), x).sum())(ng.DimArray(x, "x")).data
    if dtype is np.float16:
        orders, x = np.array([0, 1, 2, 1]), np.array([2.0, 0.7, 3.0, 1.5], dtype)
    exact = of(orders.astype(int), x.astype(float))
    np.testing.assert_allclose(of(orders, x), exact, rtol=2e-3 if dtype is np.float16 else 1e-12)


def test_derivatives_in_the_order_where_exp_overflows() -> None:
    """``-K_0`` at order 0 (DLMF 10.38.4), which vanishes; at 712 by mpmath's difference in 40 digits."""
    slope = lambda v, x: ng.grad(lambda v: ng.iv(v, np.float64(x)))(np.float64(v))
    assert slope(0.0, 1e5) == 0
    np.testing.assert_allclose(slope(0.0, 2.0), -scipy.special.k0(2.0), rtol=1e-12)
    np.testing.assert_allclose(slope(0.5, 712.0), -1.7343490182122928e304, rtol=1e-12)


@pytest.mark.parametrize("name", ["kv", "kve"])
@pytest.mark.parametrize("z", [3.5 + 0j, 1.2 - 0.7j, -0.8 + 0.4j])
def test_orders_of_functions_of_one_complex_number(name: str, z: complex) -> None:
    """Arguments that are Python's numbers."""
    f = getattr(scipy.special, name)
    slope = ng.grad(lambda v: np.real(f(v, z)))(0.6)
    assert slope == pytest.approx(richardson(lambda t: f(0.6 + t, z).real), rel=1e-7)


def test_derivatives_at_numbers_of_python() -> None:
    for name, v, slope in (
        ("jv", 1, 0.5), ("jv", 0.0, 0.0), ("iv", 1.0, 0.5), ("iv", 2, 0.0), ("ive", 1.0, 0.5), ("kv", 1.0, -math.inf), ("kve", 2, -math.inf),
    ):  # fmt: skip
        assert ng.grad(lambda x, name=name, v=v: getattr(scipy.special, name)(v, x))(0.0) == slope
    hazard = lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) / scipy.special.ndtr(x)
    for x in (-2.5, 0.0, 1.5):
        assert ng.grad(scipy.special.log_ndtr)(x) == pytest.approx(hazard(x), rel=1e-14)
        assert ng.grad(ng.grad(scipy.special.log_ndtr))(x) == pytest.approx(-hazard(x) * (x + hazard(x)), rel=1e-12)
    z = 0.25 + 0.5j
    along = lambda t: np.real(ng.grad(lambda z: np.real(scipy.special.log_ndtr(z)))(z + t))
    assert ng.pushforward(along, (0.0,), (1.0,))[1] == pytest.approx(np.real(-hazard(z) * (z + hazard(z))), rel=1e-12)
    for w in (0.25 + 0.5j, 30.0 + 1.0j):  # w' = 2i / sqrt(pi) - 2 z w
        slope = 2j / math.sqrt(math.pi) - 2 * w * scipy.special.wofz(w)
        assert ng.grad(lambda x, w=w: np.real(scipy.special.wofz(x + 1j * w.imag)))(w.real) == pytest.approx(slope.real, rel=1e-9)


# Riemann's function and its first derivative, from mpmath.
RIEMANN = {
    -20.5: (-108.21747505877606, 300.57792297065504), -4.0: (0.0, 0.007983811450268624), -2.0: (0.0, -0.03044845705839327),
    -1.0: (-1 / 12, -0.165421143700451), 0.0: (-0.5, -0.9189385332046727), 0.5: (-1.4603545088095868, -3.922646139209152), 3.0: (1.2020569031595942, -0.19812624288563685),
}  # fmt: skip


@pytest.mark.parametrize("s", RIEMANN)
def test_the_zeta_function_of_riemann_is_continued(s):
    for f in (ng.zeta, scipy.special.zeta):
        value, slope = ng.value_and_grad(f)(s)
        np.testing.assert_allclose([float(value), slope], RIEMANN[s], rtol=1e-12)
    with pytest.raises(TypeError, match="complex128"):
        ng.zeta(ng.DimArray([1j], "x"))


def test_wright_omega_of_complex_numbers() -> None:
    """Numbers of mpmath: W(exp(z)) / (1 + W(exp(z)))."""
    z = np.array([1j, 2 + 1.5j, -1 - 2j, 0.3 + 0.1j])
    want = [0.36722934973185634 + 0.15418250544917733j, 0.6437395902843029 + 0.1351067528217153j, 0.10960340952403609 - 0.3407535266969183j, 0.40566611856309037 + 0.014335614223547122j]
    slope = ng.grad(lambda z: np.sum(np.real(scipy.special.wrightomega(z))))(z)
    np.testing.assert_allclose(np.conj(slope), want, rtol=1e-13)


@pytest.mark.parametrize("name", ["jve", "elliprd"])
def test_what_has_a_derivative_at_real_numbers_alone_says_so(name: str) -> None:
    z = np.array([0.5 + 1j])
    call = {"jve": lambda z: ng.jve(1, z), "elliprd": lambda z: ng.elliprd(z, 1.0, 2.0)}[name]
    with pytest.raises(TypeError, match=f"{name}.* complex"):
        ng.grad(lambda v: np.sum(np.real(call(v))))(z)


FAR_OUT: list[tuple[str, complex, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    ("tan", 5 + 20j, lambda mp, z: mp.sec(z) ** 2, lambda mp, z: 2 * mp.tan(z) * mp.sec(z) ** 2),
    ("tan", -0.5 - 40j, lambda mp, z: mp.sec(z) ** 2, lambda mp, z: 2 * mp.tan(z) * mp.sec(z) ** 2),
    ("erfcx", 1e5 + 1j, lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z), lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z, 2)),
    ("erfcx", 1e3 - 1e3j, lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z), lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z, 2)),
    ("erfcx", -2 + 0.3j, lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z), lambda mp, z: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z, 2)),
    ("arctan", 1e160 + 1e160j, lambda mp, z: 1 / (1 + z * z), lambda mp, z: -2 * z / (1 + z * z) ** 2),
    ("arctanh", 1e160 + 1e160j, lambda mp, z: 1 / (1 - z * z), lambda mp, z: 2 * z / (1 - z * z) ** 2),
    ("arcsinh", 1e160 + 1e160j, lambda mp, z: 1 / mp.sqrt(1 + z * z), lambda mp, z: -z / mp.sqrt(1 + z * z) ** 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "z", "slope", "bend"), FAR_OUT)
def test_slopes_of_complex_functions_far_from_0(name: str, z: complex, slope: Any, bend: Any) -> None:
    mp = pytest.importorskip("mpmath")
    x, one, f = ng.DimArray([z], "x"), ng.DimArray([1 + 0j], "x"), getattr(ng, name)

    def first(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(f, (x,), (one,))[1]

    with mp.workdps(60):
        known = [complex(of(mp, mp.mpmathify(z))) for of in (slope, bend)]
    np.testing.assert_allclose(first(x).data, known[0], rtol=1e-13)
    np.testing.assert_allclose(ng.pushforward(first, (x,), (one,))[1].data, known[1], rtol=1e-12)


@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_bends_of_logarithms_of_small_numbers(name: str, base: int) -> None:
    x = 1e-154 if base == 10 else 1.2e-154
    found = ng.hessian(lambda x: getattr(ng, name)(x).sum())(ng.DimArray([x], "x")).data
    np.testing.assert_allclose(found, [[-1 / math.log(base) / x / x]], rtol=1e-14)


@pytest.mark.parametrize("z", [1e-9j, 1e-12 + 1e-13j, -0.3 + 0.1j, 2 - 1j])
def test_derivatives_of_dawsons_integral_of_complex_numbers(z: complex) -> None:
    mp = pytest.importorskip("mpmath")
    x, one = ng.DimArray([z], "x"), ng.DimArray([1 + 0j], "x")

    def first(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(ng.dawsn, (x,), (one,))[1]

    def second(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(first, (x,), (one,))[1]

    with mp.workdps(40):
        at = mp.mpmathify(z)
        d = mp.sqrt(mp.pi) / 2 * mp.exp(-at * at) * mp.erfi(at)
        once = 1 - 2 * at * d
        twice = -2 * d - 2 * at * once
        known = [complex(v) for v in (once, twice, -4 * once - 2 * at * twice)]
    found = [first(x).data[0], second(x).data[0], ng.pushforward(second, (x,), (one,))[1].data[0]]
    np.testing.assert_allclose(found, known, rtol=1e-13)


# Derivatives in n, k, n n, n k and k k by mpmath's differences with 50 digits.
NO_CHOICES = {
    (2.5, -200.0): [0, -2.8742079702723285e-08, 0, 1.210056026977564e-07, -9.997476531273146e-10],
    (0.3, -1e5): [0, -2.838045999404764e-07, 0, 3.315440628687715e-06, -7.37890853013202e-12],
    (1000.0, -3.0): [0, 1.988049820600074e-09, 0, -5.952248924198598e-12, 2.3810733038896565e-08],
}


@pytest.mark.parametrize("at", NO_CHOICES)
def test_slopes_of_binomial_coefficients_that_are_0(at: tuple[float, float]) -> None:
    n, k = (ng.DimArray(v, ()) for v in at)
    first = [ng.grad(ng.binom, i)(n, k).item() for i in (0, 1)]
    second = [ng.grad(ng.grad(ng.binom, i), j)(n, k).item() for i, j in ((0, 0), (0, 1), (1, 1))]
    np.testing.assert_allclose([*first, *second], NO_CHOICES[at], rtol=1e-10)


@pytest.mark.parametrize("name", ["fdtr", "fdtrc"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_degrees_of_freedom_of_the_f_distribution_at_whole_numbers(name: str, dtype: Any) -> None:
    x, h, oracle = np.array([1, 2, 5], dtype), 1e-3, getattr(scipy.special, name)
    found = ng.grad(lambda n, d: getattr(ng, name)(n, d, ng.DimArray(x, "x")).sum(), (0, 1))(2.5, 3.5)
    for g, at in zip(found, (lambda t: oracle(2.5 + t, 3.5, x).sum(), lambda t: oracle(2.5, 3.5 + t, x).sum()), strict=True):
        np.testing.assert_allclose(g, (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h), rtol=1e-9)


def test_slopes_of_carlsons_second_integral_at_complex_numbers() -> None:
    x, y, z, h = np.array([0.3 + 0.4j, 1.0 - 2.0j]), np.array([2.0, 0.7 + 1.0j]), np.array([1.5 + 0.2j, 3.0]), 1e-5
    for k in range(3):
        at = lambda t, k=k: scipy.special.elliprg(*(v + t * (i == k) for i, v in enumerate((x, y, z))))
        slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        _, tangent = ng.pushforward(lambda v, k=k: ng.elliprg(*(v if i == k else ng.DimArray(w, "x") for i, w in enumerate((x, y, z)))),
                                    (ng.DimArray((x, y, z)[k] + 0j, "x"),), (ng.ones({"x": 2}, dtype=complex),))  # fmt: skip
        np.testing.assert_allclose(tangent.data, slope, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_of_fresnels_integrals_far_away_are_those_of_the_exact_square(dtype: type) -> None:
    """Whose rounding would turn them: of a rational number, modulo 4; even numbers alone are left from ``2**53`` on."""
    x = np.array([-0.7, 1000.3, 1e5 + 0.3, 3e8 + 0.25, 1e15 + 0.5, 2.0**52 + 1, 1e17, 1e30], dtype)
    turn = np.array([float(Fraction(float(v)) ** 2 % 4) for v in x]) * (math.pi / 2)
    for k, exact in enumerate((np.sin(turn), np.cos(turn))):
        g = ng.grad(lambda x, k=k: ng.fresnel(x)[k].sum())(ng.DimArray(x, "x"))
        assert g.dtype == dtype
        np.testing.assert_allclose(g.data, exact, atol=1e-6 if dtype is np.float32 else 4e-15)
        bend = ng.hvp(lambda x, k=k: ng.fresnel(x)[k].sum(), ng.DimArray(x[:5], "x"), ng.ones({"x": 5}, dtype=dtype))
        slope = math.pi * x[:5].astype(float) * ((np.cos, lambda t: -np.sin(t))[k](turn[:5]))
        np.testing.assert_allclose(bend.data, slope, rtol=1e-5 if dtype is np.float32 else 1e-12)
