"""Every distribution: parameters, and what SciPy says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, logit


class Known(NamedTuple):
    """A distribution of :mod:`scipy.stats` as a function of our parameters."""

    parameters: dict[str, float]
    scipy: Callable[..., Any]


# fmt: off
CONTINUOUS: dict[str, Known] = {
    "uniform":              Known({"low": -1.0, "high": 2.5}, lambda low, high: stats.uniform(low, high - low)),
    "normal":               Known({"loc": 0.7, "scale": 1.3}, stats.norm),
    "halfnormal":           Known({"loc": 0.7, "scale": 1.3}, stats.halfnorm),
    "lognormal":            Known({"mean": 0.2, "sigma": 0.5}, lambda mean, sigma: stats.lognorm(sigma, 0, np.exp(mean))),
    "laplace":              Known({"loc": 0.7, "scale": 1.3}, stats.laplace),
    "logistic":             Known({"loc": 0.7, "scale": 1.3}, stats.logistic),
    "gumbel":               Known({"loc": 0.7, "scale": 1.3}, stats.gumbel_r),
    "cauchy":               Known({"loc": 0.7, "scale": 1.3}, stats.cauchy),
    "halfcauchy":           Known({"loc": 0.7, "scale": 1.3}, stats.halfcauchy),
    "exponential":          Known({"scale": 1.3}, lambda scale: stats.expon(0, scale)),
    "rayleigh":             Known({"scale": 1.3}, lambda scale: stats.rayleigh(0, scale)),
    "maxwell":              Known({"scale": 1.3}, lambda scale: stats.maxwell(0, scale)),
    "weibull":              Known({"a": 1.7, "scale": 1.3}, lambda a, scale: stats.weibull_min(a, 0, scale)),
    "pareto":               Known({"a": 6.0, "scale": 1.3}, lambda a, scale: stats.lomax(a, 0, scale)),
    "power":                Known({"a": 1.7}, stats.powerlaw),
    "triangular":           Known({"left": -1.0, "mode": 0.5, "right": 2.0}, lambda left, mode, right: stats.triang((mode - left) / (right - left), left, right - left)),
    "truncexpon":           Known({"b": 1.7, "loc": 0.7, "scale": 1.3}, stats.truncexpon),
    "gamma":                Known({"shape": 1.7, "scale": 1.3}, lambda shape, scale: stats.gamma(shape, 0, scale)),
    "invgamma":             Known({"shape": 6.0, "scale": 1.3}, lambda shape, scale: stats.invgamma(shape, 0, scale)),
    "gengamma":             Known({"alpha": 2.1, "p": 1.4, "lambd": 1.3}, lambda alpha, p, lambd: stats.gengamma(alpha / p, p, 0, lambd)),
    "chisquare":            Known({"df": 3.4}, stats.chi2),
    "noncentral_chisquare": Known({"df": 3.4, "nonc": 1.2}, lambda df, nonc: stats.ncx2(df, nonc)),
    "f":                    Known({"dfnum": 3.4, "dfden": 12.0}, lambda dfnum, dfden: stats.f(dfnum, dfden)),
    "noncentral_f":         Known({"dfnum": 3.4, "dfden": 12.0, "nonc": 1.2}, lambda dfnum, dfden, nonc: stats.ncf(dfnum, dfden, nonc)),
    "t":                    Known({"df": 7.0, "loc": 0.7, "scale": 1.3}, stats.t),
    "beta":                 Known({"a": 1.7, "b": 0.8}, stats.beta),
    "vonmises":             Known({"mu": 0.0, "kappa": 2.2}, lambda mu, kappa: stats.vonmises(kappa, mu)),
    "wald":                 Known({"mean": 1.3, "scale": 2.4}, lambda mean, scale: stats.invgauss(mean / scale, 0, scale)),
}
# What SciPy lacks: parameters, quantile function, distribution function.
FORMULAS: dict[str, tuple[dict[str, float], Callable[..., Any], Callable[..., Any]]] = {
    "logitnormal": ({"loc": 0.7, "scale": 1.3}, lambda u, loc, scale: expit(loc + scale * stats.norm.ppf(u)), lambda x, loc, scale: stats.norm.cdf((logit(x) - loc) / scale)),
    "kumaraswamy": ({"a": 1.7, "b": 2.4}, lambda u, a, b: (1 - (1 - u) ** (1 / b)) ** (1 / a), lambda x, a, b: 1 - (1 - x**a) ** b),
}
DISCRETE: dict[str, Known] = {
    "bernoulli":         Known({"p": 0.3}, stats.bernoulli),
    "binomial":          Known({"n": 9, "p": 0.3}, stats.binom),
    "negative_binomial": Known({"n": 4, "p": 0.4}, stats.nbinom),
    "betabinomial":      Known({"n": 9, "a": 1.7, "b": 2.4}, stats.betabinom),
    "geometric":         Known({"p": 0.3}, stats.geom),
    "hypergeometric":    Known({"ngood": 10, "nbad": 7, "nsample": 6}, lambda ngood, nbad, nsample: stats.hypergeom(ngood + nbad, ngood, nsample)),
    "poisson":           Known({"lam": 2.3}, lambda lam: stats.poisson(lam)),
    "zipf":              Known({"a": 3.5}, stats.zipf),
    "logseries":         Known({"p": 0.7}, stats.logser),
    "integers":          Known({"low": -2, "high": 4}, stats.randint),
}
# Those whose draws are the quantile at a uniform draw, so that each derivative is that of the quantile function.
BY_QUANTILE = set(CONTINUOUS) - {"noncentral_chisquare", "f", "noncentral_f", "t"}
# fmt: on
