"""Random draws by name, from an explicit generator, that gradients flow through.

>>> import numpy as np, namedgrad as ng
>>> rng = np.random.default_rng(0)
>>> loc = ng.DimArray([0.0, 10.0], "x")
>>> ng.random.normal(loc, sizes={"time": 3}, rng=rng).dims
('x', 'time')

Parameters are scalars or arrays, which meet by name; the result has their dims and those of ``sizes``.  A vectorized
axis of a parameter gives independent draws per slice, as any dim does.  Draws of continuous distributions are
reparameterised: a derivative is that of the draw at a fixed quantile.
"""

from namedgrad.random.discrete import (
    bernoulli,
    betabinomial,
    binomial,
    geometric,
    hypergeometric,
    integers,
    logseries,
    negative_binomial,
    poisson,
    zipf,
)
from namedgrad.random.gammas import (
    beta,
    chisquare,
    f,
    gamma,
    gengamma,
    invgamma,
    noncentral_chisquare,
    noncentral_f,
    t,
    vonmises,
    wald,
)
from namedgrad.random.quantiles import kumaraswamy, pareto, power, triangular, truncexpon, weibull
from namedgrad.random.several import categorical, choice, dirichlet, multinomial, multivariate_normal, permutation
from namedgrad.random.shifted import (
    cauchy,
    exponential,
    gumbel,
    halfcauchy,
    halfnormal,
    laplace,
    logistic,
    logitnormal,
    lognormal,
    maxwell,
    normal,
    rayleigh,
    uniform,
)

__all__ = [
    "bernoulli", "beta", "betabinomial", "binomial", "categorical", "cauchy", "chisquare", "choice", "dirichlet",
    "exponential", "f", "gamma", "gengamma", "geometric", "gumbel", "halfcauchy", "halfnormal", "hypergeometric",
    "integers", "invgamma", "kumaraswamy", "laplace", "logistic", "logitnormal", "lognormal", "logseries", "maxwell",
    "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal",
    "pareto", "permutation", "poisson", "power", "rayleigh", "t", "triangular", "truncexpon", "uniform", "vonmises",
    "wald", "weibull", "zipf",
]  # fmt: skip
