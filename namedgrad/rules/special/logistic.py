"""The logistic function and its like."""

from __future__ import annotations

from namedgrad.array import DimArray
from namedgrad.linear import Pair
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import c, clip, tanh
from namedgrad.rules.jointly import Joint
from namedgrad.rules.special.declare import FAMILY, Special, scaled, special
from namedgrad.rules.structure import multiply, negative, subtract


class _Logistic(Joint, Special):
    """With its slope: both are found from one exponential."""

    joint = "expit_and_slope"


# fmt: off
expit_slope = elementwise("expit_slope", lambda s, x, y: negative(multiply(s, tanh(multiply(c(0.5), x)))), None)
expit = special(
    "expit", lambda y, x: expit_slope(x, y),
    domain="real", says="Logistic function, 1 / (1 + exp(-x)).", torch="torch.special.expit, torch.sigmoid", form=_Logistic)
log_expit = special(
    "log_expit", lambda y, x: expit(negative(x)),
    domain="real", says="Logarithm of the logistic function.", torch="torch.nn.functional.logsigmoid")
log1mexp_slope = elementwise("log1mexp_slope", lambda s, x: multiply(s, subtract(c(1.0), s)))
log1mexp = special(
    "log1mexp", lambda y, x: log1mexp_slope(x),
    domain="negative", says="Logarithm of 1 - exp(x), for negative x.",
    source="Mächler (2012), Accurately computing log(1 - exp(-a)).")
# fmt: on
# The bend of an odd function: no difference of the two infinities that 1 / x**2 and 1 / (1 - x)**2 may be
_logit_slope = elementwise("logit_slope", lambda s, x: Pair(multiply(s, subtract(scaled(2.0, x), c(1.0))), s))
_logit = elementwise("logit", lambda y, x: _logit_slope(x))


@operation(sample("fraction(a,b)"), sample("fraction(a,b)", eps=0.2), family=FAMILY)
def logit(x: DimArray, eps: float | None = None) -> DimArray:
    """Logarithm of the odds, log(x / (1 - x)).

    Parameters
    ----------
    x : DimArray
    eps : float, optional
        Limit ``x`` to ``[eps, 1 - eps]`` first.

    Returns
    -------
    DimArray
        NaN outside of ``[0, 1]`` without ``eps``.

    Notes
    -----
    The derivative is ``1 / (x (1 - x))``, and 0 where ``x`` was limited. SciPy: :obj:`scipy.special.logit`;
    PyTorch: ``torch.special.logit``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.logit(ng.DimArray([0.5, 1.0], ("x",))).data
    array([ 0., inf])
    """
    return _logit(x if eps is None else clip(x, eps, 1 - eps))
