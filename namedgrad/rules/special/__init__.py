"""Special functions: SciPy's, with derivatives that stay accurate in the tails and with respect to parameters."""

from namedgrad.rules.special import (
    bessel,
    beta,
    distributions,
    elementary,
    entropy,
    gamma,
    hypergeometric,
    integrals,
    logistic,
    normal,
    polynomials,
    quotients,
    softmax,
    spherical,
    transformations,
    zeta,
)

__all__ = [
    "bessel",
    "beta",
    "distributions",
    "elementary",
    "entropy",
    "gamma",
    "hypergeometric",
    "integrals",
    "logistic",
    "normal",
    "polynomials",
    "quotients",
    "softmax",
    "spherical",
    "transformations",
    "zeta",
]
