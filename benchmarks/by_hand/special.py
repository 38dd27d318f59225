"""Comparisons, rounding, special functions and polynomials of a million cells by hand; see the package."""

import operator
from functools import partial
from typing import Any

import numpy as np
import scipy.special as sc

import namedgrad as ng

RNG = np.random.default_rng(9)
SHAPE = (1000, 1000)
A, B = RNG.uniform(0.5, 3, SHAPE), RNG.uniform(0.5, 3, SHAPE)  # parameters, which are constants
ROOT = np.sqrt(np.pi)
LN2, LN10 = np.log(2), np.log(10)
SELU, TAIL = 1.0507009873554805, 1.7580993408473766

OF_ONE_VALUE = ("isfinite", "isnan", "isinf", "signbit", "spacing", "floor", "ceil", "trunc", "rint", "logical_not")
OF_TWO_VALUES = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floor_divide",
                 "logical_and", "logical_or", "logical_xor")  # fmt: skip
OF_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")


def _gamma_density(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.exp((a - 1) * np.log(x) - x - sc.gammaln(a))


def _beta_density(x: np.ndarray) -> np.ndarray:
    return np.exp((A - 1) * np.log(x) + (B - 1) * np.log1p(-x) - sc.betaln(A, B))


def _elliptic_slope(m: np.ndarray) -> np.ndarray:
    return (sc.ellipe(m) / (1 - m) - sc.ellipk(m)) / (2 * m)


def _kinc_pull(g: np.ndarray, z: np.ndarray, p: np.ndarray, m: np.ndarray) -> Any:
    root = np.sqrt(1 - m * np.sin(p) ** 2)
    return g / root, g * ((sc.ellipeinc(p, m) / (1 - m) - z) / (2 * m) - np.sin(2 * p) / (4 * (1 - m) * root))


def _owens_pull(g: np.ndarray, _: np.ndarray, h: np.ndarray, a: np.ndarray) -> Any:
    e = np.exp(-0.5 * h * h)
    slope = -e * sc.erf(a * h / np.sqrt(2)) / np.sqrt(8 * np.pi)
    return g * slope, g * np.exp(-0.5 * h * h * (1 + a * a)) / (2 * np.pi * (1 + a * a))


def _voigt_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    z = (x + 0.5j) / np.sqrt(2)
    return g * (-2 * z * sc.wofz(z)).real / (2 * ROOT)


def _fresnel_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> np.ndarray:
    angle = np.pi / 2 * x * x
    return g * (np.sin(angle) + np.cos(angle))


def _boxcox_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, k: np.ndarray) -> Any:
    log = np.log(x)
    power = np.exp(k * log)
    return g * power / x, g * (power * (k * log - 1) + 1) / (k * k)


def _boxcox1p_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, k: np.ndarray) -> Any:
    log = np.log1p(x)
    power = np.exp(k * log)
    return g * power / (1 + x), g * (power * (k * log - 1) + 1) / (k * k)


def _inv_boxcox_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, k: np.ndarray) -> Any:
    base = k * x + 1
    return g * z / base, g * z * (x / (k * base) - np.log(base) / (k * k))


def _float_power_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return g * y * z / x, g * z * np.log(x)


def _logaddexp2_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return g * np.exp2(x - z), g * np.exp2(y - z)


def _beta_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    g, together = g * z, sc.psi(x + y)
    return g * (sc.psi(x) - together), g * (sc.psi(y) - together)


def _einc_pull(g: np.ndarray, z: np.ndarray, p: np.ndarray, m: np.ndarray) -> Any:
    return g * np.sqrt(1 - m * np.sin(p) ** 2), g * (z - sc.ellipkinc(p, m)) / (2 * m)


def _log_gamma_of_two(x: np.ndarray) -> np.ndarray:
    return sc.gammaln(x + 1) + sc.gammaln(x + 0.5) + np.log(np.pi) / 2


def _log_of_rest(x: np.ndarray) -> np.ndarray:
    return np.where(x < LN2, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


# fmt: off
SPECIAL: dict[str, tuple[Any, Any]] = {  # value of x; gradient of g, y, x; x is between 0.1 and 0.9
    "positive":  (np.positive, lambda g, y, x: +g),
    "fabs":      (np.fabs,     lambda g, y, x: g * np.sign(x)),
    "rad2deg":   (np.rad2deg,  lambda g, y, x: g * (180 / np.pi)),
    "exp10":     (lambda x: np.power(10.0, x), lambda g, y, x: g * (LN10 * y)),
    "sigmoid":   (sc.expit,    lambda g, y, x: g * (y * (1 - y))),
    "selu":      (lambda x: np.where(x > 0, SELU * x, TAIL * np.expm1(x)),
                  lambda g, y, x: np.where(x > 0, SELU * g, g * (y + TAIL))),
    "cosm1":     (sc.cosm1,    lambda g, y, x: -g * np.sin(x)),
    "erfcinv":   (sc.erfcinv,  lambda g, y, x: g * (-ROOT / 2) * np.exp(y * y)),
    "erfi":      (sc.erfi,     lambda g, y, x: g * (2 / ROOT) * np.exp(x * x)),
    "loggamma":  (sc.loggamma, lambda g, y, x: g * sc.psi(x)),
    "j1":        (sc.j1,       lambda g, y, x: g * (sc.j0(x) - y / x)),
    "y1":        (sc.y1,       lambda g, y, x: g * (sc.y0(x) - y / x)),
    "i1":        (sc.i1,       lambda g, y, x: g * (sc.i0(x) - y / x)),
    "i1e":       (sc.i1e,      lambda g, y, x: g * (sc.i0e(x) - y * (1 + 1 / x))),
    "k1":        (sc.k1,       lambda g, y, x: -g * (sc.k0(x) + y / x)),
    "k0e":       (sc.k0e,      lambda g, y, x: g * (y - sc.k1e(x))),
    "k1e":       (sc.k1e,      lambda g, y, x: g * (y - sc.k0e(x) - y / x)),
    "ellipkm1":  (sc.ellipkm1, lambda g, y, x: -g * _elliptic_slope(1 - x)),
}
OF_MORE: dict[str, tuple[Any, Any]] = {  # the same, where m is namedgrad or scipy.special
    "polygamma":       (lambda m, x: m.polygamma(1, x), lambda g, y, x: g * (-2 * sc.zeta(3, x))),
    "zeta":            (lambda m, x: m.zeta(2.5, x), lambda g, y, x: g * (-2.5 * sc.zeta(3.5, x))),
    "jv":              (lambda m, x: m.jv(1.5, x), lambda g, y, x: g * (sc.jv(0.5, x) - 1.5 * y / x)),
    "yv":              (lambda m, x: m.yv(1.5, x), lambda g, y, x: g * (sc.yv(0.5, x) - 1.5 * y / x)),
    "iv":              (lambda m, x: m.iv(1.5, x), lambda g, y, x: g * (sc.iv(0.5, x) - 1.5 * y / x)),
    "ive":             (lambda m, x: m.ive(1.5, x), lambda g, y, x: g * (sc.ive(0.5, x) - (1 + 1.5 / x) * y)),
    "kv":              (lambda m, x: m.kv(1.5, x), lambda g, y, x: -g * (sc.kv(0.5, x) + 1.5 * y / x)),
    "kve":             (lambda m, x: m.kve(1.5, x), lambda g, y, x: g * ((1 - 1.5 / x) * y - sc.kve(0.5, x))),
    "spherical_jn":    (lambda m, x: m.spherical_jn(2, x), lambda g, y, x: g * (sc.spherical_jn(1, x) - 3 * y / x)),
    "spherical_yn":    (lambda m, x: m.spherical_yn(2, x), lambda g, y, x: g * (sc.spherical_yn(1, x) - 3 * y / x)),
    "spherical_in":    (lambda m, x: m.spherical_in(2, x), lambda g, y, x: g * (sc.spherical_in(1, x) - 3 * y / x)),
    "spherical_kn":    (lambda m, x: m.spherical_kn(2, x), lambda g, y, x: -g * (sc.spherical_kn(1, x) + 3 * y / x)),
    "hyp2f1":          (lambda m, x: m.hyp2f1(0.5, 1.5, 2.5, x), lambda g, y, x: g * 0.3 * sc.hyp2f1(1.5, 2.5, 3.5, x)),
    "hyp1f1":          (lambda m, x: m.hyp1f1(0.5, 1.5, x), lambda g, y, x: g / 3 * sc.hyp1f1(1.5, 2.5, x)),
    "hyp0f1":          (lambda m, x: m.hyp0f1(1.5, x), lambda g, y, x: g / 1.5 * sc.hyp0f1(2.5, x)),
    "hyperu":          (lambda m, x: m.hyperu(0.5, 1.5, x), lambda g, y, x: -g / 2 * sc.hyperu(1.5, 2.5, x)),
    "struve":          (lambda m, x: m.struve(1.5, x), lambda g, y, x: g * (sc.struve(0.5, x) - 1.5 * y / x)),
    "modstruve":       (lambda m, x: m.modstruve(1.5, x), lambda g, y, x: g * (sc.modstruve(0.5, x) - 1.5 * y / x)),
    "lpmv":            (lambda m, x: m.lpmv(0, 2, x), lambda g, y, x: g * 3 * x),
    "ellipj":          (lambda m, x: m.ellipj(x, 0.5)[0], lambda g, y, x: g * operator.mul(*sc.ellipj(x, 0.5)[1:3])),
    "kelvin":          (lambda m, x: m.kelvin(x)[0].real, lambda g, y, x: g * sc.berp(x)),
    "airye":           (lambda m, x: m.airye(x)[0], lambda g, y, x: g * (sc.airye(x)[1] + np.sqrt(x) * y)),
    "chndtr":          (lambda m, x: m.chndtr(x, 3, 0.5), lambda g, y, x: g / 2 * (sc.chndtr(x, 1, 0.5) - y)),
    "gammasgn":        (lambda m, x: m.gammasgn(x), lambda g, y, x: np.zeros_like(g)),
    "expn":            (lambda m, x: m.expn(2, x), lambda g, y, x: -g * sc.expn(1, x)),
    "wofz":            (lambda m, x: m.wofz(x).imag, lambda g, y, x: g * (2 / ROOT - 2 * x * y)),
    "voigt_profile":   (lambda m, x: m.voigt_profile(x, 1.0, 0.5), _voigt_pull),
    "ndtri_exp":       (lambda m, x: m.ndtri_exp(-x), lambda g, y, x: -g * np.sqrt(2 * np.pi) * np.exp(y * y / 2 - x)),
    "sici":            (lambda m, x: operator.add(*m.sici(x)), lambda g, y, x: g * (np.sin(x) + np.cos(x)) / x),
    "shichi":          (lambda m, x: operator.add(*m.shichi(x)), lambda g, y, x: g * (np.sinh(x) + np.cosh(x)) / x),
    "fresnel":         (lambda m, x: operator.add(*m.fresnel(x)), _fresnel_pull),
    "airy":            (lambda m, x: m.airy(x)[0], lambda g, y, x: g * sc.airy(x)[1]),
    "lambertw":        (lambda m, x: m.lambertw(x).real, lambda g, y, x: g * y / (x * (1 + y))),
    "eval_jacobi":     (lambda m, x: m.eval_jacobi(3, 1.0, 2.0, x),
                        lambda g, y, x: g * 3.5 * sc.eval_jacobi(2, 2, 3, x)),
    "eval_gegenbauer": (lambda m, x: m.eval_gegenbauer(3, 1.5, x),
                        lambda g, y, x: g * 3 * sc.eval_gegenbauer(2, 2.5, x)),
    "eval_legendre":   (lambda m, x: m.eval_legendre(3, x),
                        lambda g, y, x: g * 3 * (x * y - sc.eval_legendre(2, x)) / (x * x - 1)),
    "eval_chebyt":     (lambda m, x: m.eval_chebyt(3, x), lambda g, y, x: g * 3 * sc.eval_chebyu(2, x)),
    "eval_chebyu":     (lambda m, x: m.eval_chebyu(3, x),
                        lambda g, y, x: g * (4 * sc.eval_chebyt(4, x) - x * y) / (x * x - 1)),
    "eval_genlaguerre": (lambda m, x: m.eval_genlaguerre(3, 0.5, x),
                        lambda g, y, x: -g * sc.eval_genlaguerre(2, 1.5, x)),
    "eval_laguerre":   (lambda m, x: m.eval_laguerre(3, x), lambda g, y, x: -g * sc.eval_genlaguerre(2, 1, x)),
    "eval_hermite":    (lambda m, x: m.eval_hermite(3, x), lambda g, y, x: g * 6 * sc.eval_hermite(2, x)),
    "eval_hermitenorm": (lambda m, x: m.eval_hermitenorm(3, x), lambda g, y, x: g * 3 * sc.eval_hermitenorm(2, x)),
}
WITH_PARAMETERS: dict[str, tuple[Any, Any]] = {  # the same, of A and B too
    "gammainc":     (lambda m, a, b, x: m.gammainc(a, x), lambda g, y, x: g * _gamma_density(A, x)),
    "gammaincc":    (lambda m, a, b, x: m.gammaincc(a, x), lambda g, y, x: -g * _gamma_density(A, x)),
    "gammaincinv":  (lambda m, a, b, x: m.gammaincinv(a, x), lambda g, y, x: g / _gamma_density(A, y)),
    "gammainccinv": (lambda m, a, b, x: m.gammainccinv(a, x), lambda g, y, x: -g / _gamma_density(A, y)),
    "chdtr":        (lambda m, a, b, x: m.chdtr(a, x), lambda g, y, x: g * _gamma_density(A / 2, x / 2) / 2),
    "chdtrc":       (lambda m, a, b, x: m.chdtrc(a, x), lambda g, y, x: g * _gamma_density(A / 2, x / 2) / -2),
    "betainc":      (lambda m, a, b, x: m.betainc(a, b, x), lambda g, y, x: g * _beta_density(x)),
    "betaincc":     (lambda m, a, b, x: m.betaincc(a, b, x), lambda g, y, x: -g * _beta_density(x)),
    "betaincinv":   (lambda m, a, b, x: m.betaincinv(a, b, x), lambda g, y, x: g / _beta_density(y)),
    "betainccinv":  (lambda m, a, b, x: m.betainccinv(a, b, x), lambda g, y, x: -g / _beta_density(y)),
}
OTHERS: dict[str, tuple[Any, Any, Any]] = {  # here; value of x; gradient of g, y, x
    "multigammaln": (lambda x: ng.multigammaln(x + 1.0, 2), _log_gamma_of_two,
                     lambda g, y, x: g * (sc.psi(x + 1) + sc.psi(x + 0.5))),
    "log1mexp":     (lambda x: ng.log1mexp(-x), _log_of_rest, lambda g, y, x: g / np.expm1(x)),
    "prelu":        (lambda x: ng.prelu(x, 0.2), lambda x: np.where(x > 0, x, 0.2 * x),
                     lambda g, y, x: np.where(x > 0, g, 0.2 * g)),
    "rrelu":        (lambda x: ng.rrelu(x, 0.2), lambda x: np.where(x > 0, x, 0.2 * x),
                     lambda g, y, x: np.where(x > 0, g, 0.2 * g)),
    "threshold":    (lambda x: ng.threshold(x, 0.5, 0.2), lambda x: np.where(x > 0.5, x, 0.2),
                     lambda g, y, x: np.where(x > 0.5, g, 0)),
}
PAIRS: dict[str, tuple[Any, Any]] = {  # value of two such arrays; gradients of g, z, x, y
    "float_power": (np.float_power, _float_power_pull),
    "fmod":        (np.fmod,        lambda g, z, x, y: (+g, -g * np.trunc(x / y))),
    "nextafter":   (np.nextafter,   lambda g, z, x, y: (+g, np.zeros_like(g))),
    "heaviside":   (np.heaviside,   lambda g, z, x, y: (np.zeros_like(g), np.where(x == 0, g, 0))),
    "minimum":     (np.minimum,     lambda g, z, x, y: (np.where(x < y, g, 0), np.where(x < y, 0, g))),
    "fmin":        (np.fmin,        lambda g, z, x, y: (np.where(x < y, g, 0), np.where(x < y, 0, g))),
    "logaddexp2":  (np.logaddexp2,  _logaddexp2_pull),
    "owens_t":     (sc.owens_t,     _owens_pull),

                           "beta":        (sc.beta,        _beta_pull),
    "kl_entr":     (sc.kl_div,      lambda g, z, x, y: (g * np.log(x / y), g * (1 - x / y))),
    "ellipkinc":   (sc.ellipkinc,   _kinc_pull),

                           "ellipeinc":   (sc.ellipeinc,   _einc_pull),
    "boxcox":      (sc.boxcox,      _boxcox_pull),
    "boxcox1p":    (sc.boxcox1p,    _boxcox1p_pull),
    "inv_boxcox":  (sc.inv_boxcox,  _inv_boxcox_pull),
    "inv_boxcox1p": (sc.inv_boxcox1p, lambda g, z, x, k: _inv_boxcox_pull(g, z + 1, x, k)),
}
# fmt: on


def _compared() -> list[tuple[Any, ...]]:
    """What has no derivative."""
    x, y = (ng.DimArray(RNG.normal(size=SHAPE), ("a", "b")) for _ in range(2))
    i, j = (ng.DimArray(RNG.integers(1, 20, SHAPE), ("a", "b")) for _ in range(2))
    groups = ((OF_ONE_VALUE, (x,)), (OF_TWO_VALUES, (x, y)), (OF_INTEGERS, (i, j)), (("invert",), (i,)))
    return [(name, getattr(ng, name), on, getattr(np, name), None) for names, on in groups for name in names]


def _single(pull: Any) -> Any:
    return lambda g, y, x: (pull(g, y, x),)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    x, y = (ng.DimArray(RNG.uniform(0.1, 0.9, SHAPE), ("a", "b")) for _ in range(2))
    calls = {name: (getattr(ng, name), *by_hand) for name, by_hand in SPECIAL.items()} | OTHERS
    calls |= {name: (partial(f, ng), partial(f, sc), pull) for name, (f, pull) in OF_MORE.items()}
    named = [ng.DimArray(p, x.dims) for p in (A, B)]
    calls |= {name: (partial(f, ng, *named), partial(f, sc, A, B), pull) for name, (f, pull) in WITH_PARAMETERS.items()}
    one = [(name, here, (x,), f, _single(pull)) for name, (here, f, pull) in calls.items()]
    two = [(name, getattr(ng, name), (x, y), f, pull) for name, (f, pull) in PAIRS.items()]
    return [*_compared(), *one, *two]
