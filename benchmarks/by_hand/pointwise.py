"""Activations, special functions and losses of a million cells by hand in NumPy and SciPy; see the package."""

from typing import Any

import numpy as np
import scipy.special as sc

import namedgrad as ng

RNG = np.random.default_rng(6)
SHAPE = (1000, 1000)
SIGNS = np.sign(RNG.normal(size=SHAPE))
PART = RNG.uniform(0.1, 0.9, SHAPE)
ROOT = np.sqrt(np.pi)


def _tail(x: np.ndarray) -> np.ndarray:
    return np.expm1(np.minimum(x, 0))


def _mish_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> Any:
    t = np.tanh(np.logaddexp(0, x))
    return g * (t + x * sc.expit(x) * (1 - t * t))


def _glu_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    s = sc.expit(x[:, 500:])
    return np.concatenate([g * s, g * y * (1 - s)], 1)


# fmt: off
ACTIVATIONS: dict[str, tuple[Any, Any]] = {  # value of x; gradient of g, y, x; x is normal
    "relu6":        (lambda x: np.clip(x, 0, 6),                  lambda g, y, x: g * ((x > 0) & (x < 6))),
    "leaky_relu":   (lambda x: np.where(x > 0, x, 0.01 * x),      lambda g, y, x: np.where(x > 0, g, 0.01 * g)),
    "elu":          (lambda x: np.where(x > 0, x, _tail(x)),      lambda g, y, x: g * np.where(x > 0, 1, y + 1)),
    "celu":         (lambda x: np.where(x > 0, x, _tail(x)),      lambda g, y, x: g * np.where(x > 0, 1, y + 1)),
    "hardtanh":     (lambda x: np.clip(x, -1, 1),                 lambda g, y, x: g * ((x > -1) & (x < 1))),
    "hardshrink":   (lambda x: np.where(np.abs(x) > 0.5, x, 0),   lambda g, y, x: np.where(y != 0, g, 0)),
    "softshrink":   (lambda x: x - np.clip(x, -0.5, 0.5),         lambda g, y, x: np.where(y != 0, g, 0)),
    "tanhshrink":   (lambda x: x - np.tanh(x),                    lambda g, y, x: g * (x - y) ** 2),
    "softsign":     (lambda x: x / (1 + np.abs(x)),               lambda g, y, x: g / (1 + np.abs(x)) ** 2),
    "log_sigmoid":  (sc.log_expit,                                lambda g, y, x: g * sc.expit(-x)),
    "hardsigmoid":  (lambda x: np.clip(x / 6 + 0.5, 0, 1),        lambda g, y, x: g * ((x > -3) & (x < 3)) / 6),
    "hardswish":    (lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
                     lambda g, y, x: g * np.where(x < -3, 0, np.where(x > 3, 1, x / 3 + 0.5))),
    "mish":         (lambda x: x * np.tanh(np.logaddexp(0, x)),   _mish_pull),
}
SPECIAL: dict[str, tuple[Any, Any]] = {  # the same; x is between 0.1 and 0.9
    "logit":     (sc.logit,     lambda g, y, x: g / (x * (1 - x))),
    "log_expit": (sc.log_expit, lambda g, y, x: g * sc.expit(-x)),
    "erfc":      (sc.erfc,      lambda g, y, x: g * (-2 / ROOT) * np.exp(-x * x)),
    "erfcx":     (sc.erfcx,     lambda g, y, x: g * (2 * x * y - 2 / ROOT)),
    "erfinv":    (sc.erfinv,    lambda g, y, x: g * (ROOT / 2) * np.exp(y * y)),
    "dawsn":     (sc.dawsn,     lambda g, y, x: g * (1 - 2 * x * y)),
    "ndtr":      (sc.ndtr,      lambda g, y, x: g * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)),
    "ndtri":     (sc.ndtri,     lambda g, y, x: g * np.exp(0.5 * y * y) * np.sqrt(2 * np.pi)),
    "log_ndtr":  (sc.log_ndtr,  lambda g, y, x: g * np.exp(-0.5 * x * x - y) / np.sqrt(2 * np.pi)),
    "gammaln":   (sc.gammaln,   lambda g, y, x: g * sc.psi(x)),
    "gamma":     (sc.gamma,     lambda g, y, x: g * y * sc.psi(x)),
    "digamma":   (sc.psi,       lambda g, y, x: g * sc.zeta(2, x)),
    "entr":      (sc.entr,      lambda g, y, x: g * (-np.log(x) - 1)),
    "exp1":      (sc.exp1,      lambda g, y, x: -g * np.exp(-x) / x),
    "expi":      (sc.expi,      lambda g, y, x: g * np.exp(x) / x),
    "i0":        (sc.i0,        lambda g, y, x: g * sc.i1(x)),
    "i0e":       (sc.i0e,       lambda g, y, x: g * (sc.i1e(x) - y)),
    "j0":        (sc.j0,        lambda g, y, x: -g * sc.j1(x)),
    "y0":        (sc.y0,        lambda g, y, x: -g * sc.y1(x)),
    "k0":        (sc.k0,        lambda g, y, x: -g * sc.k1(x)),
    "ellipk":    (sc.ellipk,    lambda g, y, x: g * (sc.ellipe(x) / (1 - x) - y) / (2 * x)),
    "ellipe":    (sc.ellipe,    lambda g, y, x: g * (y - sc.ellipk(x)) / (2 * x)),
    "sinc":      (np.sinc,      lambda g, y, x: g * (np.cos(np.pi * x) - y) / x),
    "exprel":    (sc.exprel,    lambda g, y, x: g * (np.exp(x) - y) / x),
}
PAIRS: dict[str, tuple[Any, Any]] = {  # of two such arrays; gradients of g, z, x, y
    "xlogy":    (sc.xlogy,    lambda g, z, x, y: (g * np.log(y), g * x / y)),
    "xlog1py":  (sc.xlog1py,  lambda g, z, x, y: (g * np.log1p(y), g * x / (1 + y))),
    "rel_entr": (sc.rel_entr, lambda g, z, x, y: (g * (np.log(x / y) + 1), -g * x / y)),
    "betaln":   (sc.betaln,   lambda g, z, x, y: (g * (sc.psi(x) - (p := sc.psi(x + y))), g * (sc.psi(y) - p))),
    "fmax":     (np.fmax,     lambda g, z, x, y: (np.where(x > y, g, 0), np.where(x > y, 0, g))),
    "copysign": (np.copysign, lambda g, z, x, y: (g * np.sign(x) * np.sign(y), np.zeros_like(g))),
}
# fmt: on


def _smooth(x: np.ndarray, t: np.ndarray) -> Any:
    d = np.abs(x - t)
    return np.where(d < 1, 0.5 * d * d, d - 0.5).mean()


def _poisson(x: np.ndarray) -> Any:
    return (np.exp(x) - PART * x).mean()


def _gaussian_pull(g: Any, _: Any, x: np.ndarray, t: np.ndarray, v: np.ndarray) -> Any:
    d = (x - t) / v
    slope = g / d.size * d
    return slope, -slope, g / 2 / d.size * (1 / v - d * d)


def _ranking_pull(g: Any, _: Any, x: np.ndarray, t: np.ndarray) -> Any:
    slope = g / x.size * np.where(SIGNS * (x - t) < 0, -SIGNS, 0)
    return slope, -slope


def _both(slope: np.ndarray) -> Any:
    return slope, -slope


def _losses(x: ng.DimArray, t: ng.DimArray, v: ng.DimArray) -> list[tuple[Any, ...]]:
    signs, part, size = ng.DimArray(SIGNS, x.dims), ng.DimArray(PART, x.dims), x.data.size
    return [
        ("l1_loss", ng.l1_loss, (x, t), lambda x, t: np.abs(x - t).mean(),
         lambda g, z, x, t: _both(g / size * np.sign(x - t))),
        ("smooth_l1_loss", ng.smooth_l1_loss, (x, t), _smooth,
         lambda g, z, x, t: _both(g / size * np.clip(x - t, -1, 1))),
        ("binary_cross_entropy", lambda p: ng.binary_cross_entropy(p, part), (v,),
         lambda p: -(PART * np.log(p) + (1 - PART) * np.log1p(-p)).mean(),
         lambda g, z, p: (g / size * (p - PART) / (p * (1 - p)),)),
        ("soft_margin_loss", lambda x: ng.soft_margin_loss(x, signs), (x,),
         lambda x: np.logaddexp(0, -SIGNS * x).mean(), lambda g, z, x: (-g / size * SIGNS * sc.expit(-SIGNS * x),)),
        ("hinge_embedding_loss", lambda x: ng.hinge_embedding_loss(x, signs), (x,),
         lambda x: np.where(SIGNS > 0, x, np.maximum(0, 1 - x)).mean(),
         lambda g, z, x: (g / size * np.where(SIGNS > 0, 1.0, -1.0 * (x < 1)),)),
        ("poisson_nll_loss", lambda x: ng.poisson_nll_loss(x, part), (x,), _poisson,
         lambda g, z, x: (g / size * (np.exp(x) - PART),)),
        ("gaussian_nll_loss", ng.gaussian_nll_loss, (x, t, v),
         lambda x, t, v: 0.5 * (np.log(v) + (x - t) ** 2 / v).mean(), _gaussian_pull),
        ("margin_ranking_loss", lambda x, t: ng.margin_ranking_loss(x, t, signs), (x, t),
         lambda x, t: np.maximum(0, -SIGNS * (x - t)).mean(), _ranking_pull),
    ]  # fmt: skip


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    x, t = (ng.DimArray(RNG.normal(size=SHAPE), ("a", "b")) for _ in range(2))
    v, w = (ng.DimArray(RNG.uniform(0.1, 0.9, SHAPE), ("a", "b")) for _ in range(2))
    one = [
        (name, getattr(ng, name), (operand,), f, lambda g, y, x, d=d: (d(g, y, x),))
        for operand, group in ((x, ACTIVATIONS), (v, SPECIAL))
        for name, (f, d) in group.items()
    ]
    two = [(name, getattr(ng, name), (v, w), f, d) for name, (f, d) in PAIRS.items()]
    glu = ("glu", lambda x: ng.glu(x, "b"), (x,), lambda x: x[:, :500] * sc.expit(x[:, 500:]),
           lambda g, y, x: (_glu_pull(g, y, x),))  # fmt: skip
    return [*one, *two, glu, *_losses(x, t, v)]
