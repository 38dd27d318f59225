"""Bessel functions, distributions, elliptic integrals and polynomials of a million cells by hand; see the package."""

from functools import partial
from typing import Any

import numpy as np
import scipy.special as sc

import namedgrad as ng
from benchmarks.by_hand.special import SHAPE

RNG = np.random.default_rng(17)
A, B = RNG.uniform(0.5, 3, (2, 100, 100))  # parameters, which are constants
DEGREE = np.pi / 180
BENT = np.sqrt(2 * np.pi)
K, N = 3, 8


def _gamma_density(a: Any, x: np.ndarray) -> np.ndarray:
    return np.exp((a - 1) * np.log(x) - x - sc.gammaln(a))


def _t_density(t: np.ndarray) -> np.ndarray:
    half = (A + 1) / 2
    return np.exp(sc.gammaln(half) - sc.gammaln(A / 2) - half * np.log1p(t * t / A)) / np.sqrt(A * np.pi)


def _f_density(x: np.ndarray) -> np.ndarray:
    n, d = A / 2, B / 2
    logarithm = n * np.log(A) + d * np.log(B) + (n - 1) * np.log(x) - (n + d) * np.log(B + A * x)
    return np.exp(logarithm - sc.betaln(n, d))


def _of_successes(p: np.ndarray) -> np.ndarray:
    return (N - K) * sc.comb(N, K) * p**K * (1 - p) ** (N - K - 1)


def _of_failures(p: np.ndarray) -> np.ndarray:
    return p ** (N - 1) * (1 - p) ** K / sc.beta(N, K + 1)


def _of_events(m: np.ndarray) -> np.ndarray:
    return np.exp(-m) * m**K / sc.factorial(K)


def _kolmogorov_slope(x: np.ndarray) -> np.ndarray:
    square, out = x * x, np.zeros_like(x)
    for k in (1, 3, 5, 7):
        b = (k * np.pi) ** 2 / 8 / square
        out += np.exp(-b) * (2 * b - 1)
    return out / square * -BENT


def _mean_slope(y: np.ndarray, x: np.ndarray, other: float) -> np.ndarray:
    both = x + other
    k = (x - other) / both
    m = k * k
    whole = sc.ellipk(m)
    rise = (sc.ellipe(m) / (1 - m) - whole) / (2 * m)
    return y / both - y / whole * rise * 2 * k * 2 * other / (both * both)


def _bent_chebyshev(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (4 * sc.eval_chebyt(4, u) - u * y) / (u * u - 1)


def _hankel1e_slope(x: np.ndarray) -> np.ndarray:
    return (sc.hankel1e(0.5, x) - (1.5 / x + 1j) * sc.hankel1e(1.5, x)).real


def _hankel2e_slope(x: np.ndarray) -> np.ndarray:
    return (sc.hankel2e(0.5, x) - (1.5 / x - 1j) * sc.hankel2e(1.5, x)).real


# fmt: off
FUNCTIONS: dict[str, tuple[Any, Any]] = {  # value of m, which is namedgrad or scipy.special, and x; slope of y and x
    "bdtr":     (lambda m, x: m.bdtr(K, N, x),         lambda y, x: -_of_successes(x)),
    "bdtrc":    (lambda m, x: m.bdtrc(K, N, x),        lambda y, x: _of_successes(x)),
    "nbdtr":    (lambda m, x: m.nbdtr(K, N, x),        lambda y, x: _of_failures(x)),
    "nbdtrc":   (lambda m, x: m.nbdtrc(K, N, x),       lambda y, x: -_of_failures(x)),
    "pdtr":     (lambda m, x: m.pdtr(K, x),            lambda y, x: -_of_events(x)),
    "pdtrc":    (lambda m, x: m.pdtrc(K, x),           lambda y, x: _of_events(x)),
    "nrdtrimn": (lambda m, x: m.nrdtrimn(x, 2.0, 1.0), lambda y, x: -2 * BENT * np.exp((1 - y) ** 2 / 8)),
    "nrdtrisd": (lambda m, x: m.nrdtrisd(0.0, 0.4 * x + 0.5, 1.0),
                 lambda y, x: -0.4 * BENT * y * y * np.exp(0.5 / (y * y))),
    "kolmogorov": (lambda m, x: m.kolmogorov(x),       lambda y, x: _kolmogorov_slope(x)),
    "sindg":    (lambda m, x: m.sindg(x),              lambda y, x: DEGREE * sc.cosdg(x)),
    "cosdg":    (lambda m, x: m.cosdg(x),              lambda y, x: -DEGREE * sc.sindg(x)),
    "tandg":    (lambda m, x: m.tandg(x),              lambda y, x: DEGREE * (1 + y * y)),
    "cotdg":    (lambda m, x: m.cotdg(x),              lambda y, x: -DEGREE * (1 + y * y)),
    "radian":   (lambda m, x: m.radian(x, 2.0, 3.0),   lambda y, x: DEGREE),
    "huber":    (lambda m, x: m.huber(0.5, x),         lambda y, x: np.clip(x, -0.5, 0.5)),
    "pseudo_huber": (lambda m, x: m.pseudo_huber(0.5, x), lambda y, x: x / np.sqrt(1 + 4 * x * x)),
    "spence":   (lambda m, x: m.spence(x),             lambda y, x: np.log(x) / (1 - x)),
    "wrightomega": (lambda m, x: m.wrightomega(x),     lambda y, x: y / (1 + y)),
    "rgamma":   (lambda m, x: m.rgamma(x),             lambda y, x: -y * sc.psi(x)),
    "poch":     (lambda m, x: m.poch(x, 1.5),          lambda y, x: y * (sc.psi(x + 1.5) - sc.psi(x))),
    "binom":    (lambda m, x: m.binom(x, 0.4),         lambda y, x: y * (sc.psi(x + 1) - sc.psi(x + 0.6))),
    "powm1":    (lambda m, x: m.powm1(x, 1.5),         lambda y, x: 1.5 * np.sqrt(x)),
    "eval_sh_jacobi":   (lambda m, x: m.eval_sh_jacobi(3, 2.5, 1.5, x),
                         lambda y, x: 3 * sc.eval_sh_jacobi(2, 4.5, 2.5, x)),
    "eval_sh_legendre": (lambda m, x: m.eval_sh_legendre(3, x),
                         lambda y, x: 6 * ((u := 2 * x - 1) * y - sc.eval_legendre(2, u)) / (u * u - 1)),
    "eval_sh_chebyt":   (lambda m, x: m.eval_sh_chebyt(3, x), lambda y, x: 6 * sc.eval_sh_chebyu(2, x)),
    "eval_sh_chebyu":   (lambda m, x: m.eval_sh_chebyu(3, x), lambda y, x: 2 * _bent_chebyshev(2 * x - 1, y)),
    "eval_chebyc":      (lambda m, x: m.eval_chebyc(3, x),    lambda y, x: 3 * sc.eval_chebys(2, x)),
    "eval_chebys":      (lambda m, x: m.eval_chebys(3, x),    lambda y, x: 0.5 * _bent_chebyshev(x / 2, y)),
}
SLOW: dict[str, tuple[Any, Any]] = {  # the same, and with the parameters a and b; 10,000 cells take milliseconds
    "kn":       (lambda m, a, b, x: m.kn(2, x),              lambda y, x: -(sc.kn(1, x) + 2 * y / x)),
    "yn":       (lambda m, a, b, x: m.yn(2, x),              lambda y, x: sc.yn(1, x) - 2 * y / x),
    "jve":      (lambda m, a, b, x: m.jve(1.5, x),           lambda y, x: sc.jve(0.5, x) - 1.5 * y / x),
    "yve":      (lambda m, a, b, x: m.yve(1.5, x),           lambda y, x: sc.yve(0.5, x) - 1.5 * y / x),
    "hankel1":  (lambda m, a, b, x: m.hankel1(1.5, x).imag,  lambda y, x: sc.yv(0.5, x) - 1.5 * y / x),
    "hankel2":  (lambda m, a, b, x: m.hankel2(1.5, x).imag,  lambda y, x: -sc.yv(0.5, x) - 1.5 * y / x),
    "hankel1e": (lambda m, a, b, x: m.hankel1e(1.5, x).real, lambda y, x: _hankel1e_slope(x)),
    "hankel2e": (lambda m, a, b, x: m.hankel2e(1.5, x).real, lambda y, x: _hankel2e_slope(x)),
    "ber":      (lambda m, a, b, x: m.ber(x),                lambda y, x: sc.berp(x)),
    "bei":      (lambda m, a, b, x: m.bei(x),                lambda y, x: sc.beip(x)),
    "ker":      (lambda m, a, b, x: m.ker(x),                lambda y, x: sc.kerp(x)),
    "kei":      (lambda m, a, b, x: m.kei(x),                lambda y, x: sc.keip(x)),
    "berp":     (lambda m, a, b, x: m.berp(x),               lambda y, x: -sc.bei(x) - y / x),
    "beip":     (lambda m, a, b, x: m.beip(x),               lambda y, x: sc.ber(x) - y / x),
    "kerp":     (lambda m, a, b, x: m.kerp(x),               lambda y, x: -sc.kei(x) - y / x),
    "keip":     (lambda m, a, b, x: m.keip(x),               lambda y, x: sc.ker(x) - y / x),
    "stdtr":    (lambda m, a, b, x: m.stdtr(a, x),           lambda y, x: _t_density(x)),
    "stdtrit":  (lambda m, a, b, x: m.stdtrit(a, x),         lambda y, x: 1 / _t_density(y)),
    "fdtr":     (lambda m, a, b, x: m.fdtr(a, b, x),         lambda y, x: _f_density(x)),
    "fdtrc":    (lambda m, a, b, x: m.fdtrc(a, b, x),        lambda y, x: -_f_density(x)),
    "fdtri":    (lambda m, a, b, x: m.fdtri(a, b, x),        lambda y, x: 1 / _f_density(y)),
    "bdtri":    (lambda m, a, b, x: m.bdtri(K, N, x),        lambda y, x: -1 / _of_successes(y)),
    "nbdtri":   (lambda m, a, b, x: m.nbdtri(K, N, x),       lambda y, x: 1 / _of_failures(y)),
    "pdtri":    (lambda m, a, b, x: m.pdtri(K, x),           lambda y, x: -1 / _of_events(y)),
    "gdtr":     (lambda m, a, b, x: m.gdtr(a, b, x),         lambda y, x: A * _gamma_density(B, A * x)),
    "gdtrc":    (lambda m, a, b, x: m.gdtrc(a, b, x),        lambda y, x: -A * _gamma_density(B, A * x)),
    "gdtrix":   (lambda m, a, b, x: m.gdtrix(a, b, x),       lambda y, x: 1 / (A * _gamma_density(B, A * y))),
    "gdtria":   (lambda m, a, b, x: m.gdtria(0.3, b, x),     lambda y, x: -y / x),
    "chdtri":   (lambda m, a, b, x: m.chdtri(a, x),          lambda y, x: -2 / _gamma_density(A / 2, y / 2)),
    "elliprc":  (lambda m, a, b, x: m.elliprc(x, 2.5),            lambda y, x: (y - 1 / np.sqrt(x)) / (2 * (2.5 - x))),
    "elliprd":  (lambda m, a, b, x: m.elliprd(x, 1.5, 2.5),
                 lambda y, x: (y - sc.elliprd(1.5, 2.5, x)) / (2 * (2.5 - x))),
    "elliprf":  (lambda m, a, b, x: m.elliprf(x, 1.5, 2.5),       lambda y, x: sc.elliprd(1.5, 2.5, x) / -6),
    "elliprg":  (lambda m, a, b, x: m.elliprg(x, 1.5, 2.5),
                 lambda y, x: (sc.elliprf(x, 1.5, 2.5) - x / 3 * sc.elliprd(1.5, 2.5, x)) / 4),
    "elliprj":  (lambda m, a, b, x: m.elliprj(x, 1.0, 1.5, 2.5),
                 lambda y, x: (y - sc.elliprd(1.0, 1.5, x)) / (2 * (2.5 - x))),
}
# fmt: on


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand; SciPy has no slope of ``zetac``."""
    x = ng.DimArray(RNG.uniform(0.1, 0.9, SHAPE), ("a", "b"))
    few, named = x[: len(A), : len(A)].copy(), [ng.DimArray(p, x.dims) for p in (A, B)]
    whole = ng.DimArray(RNG.integers(1, 1000, SHAPE), x.dims)
    calls = [(name, partial(f, ng), x, partial(f, sc), slope) for name, (f, slope) in FUNCTIONS.items()]
    calls += [(name, partial(f, ng, *named), few, partial(f, sc, A, B), slope) for name, (f, slope) in SLOW.items()]
    return [
        *((name, here, (x,), f, lambda g, y, x, d=d: (g * d(y, x),)) for name, here, x, f, d in calls),
        ("agm", lambda x: ng.agm(x, 2.0), (x,), partial(sc.agm, 2.0), lambda g, y, x: (g * _mean_slope(y, x, 2.0),)),
        ("zetac", ng.zetac, (x,), sc.zetac, None),
        ("bitwise_count", ng.bitwise_count, (whole,), np.bitwise_count, None),
    ]  # fmt: skip
