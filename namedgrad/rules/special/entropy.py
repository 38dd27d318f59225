"""Functions of the form x log y, with the limit 0 where both are 0."""

from __future__ import annotations

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import c, divide, less_equal, log, log1p, logical_and, promoted
from namedgrad.rules.special.declare import special
from namedgrad.rules.structure import add, equal, known_true, logical_not, negative, select, subtract


def _besides_origin(x: DimArray, y: DimArray, factor: DimArray) -> DimArray:
    """The factor, 0 where ``x`` is 0 and ``y`` is 0 (or negative, where the logarithm has no value)."""
    bound = equal(y, c(0)) if y.dtype.kind == "c" else less_equal(y, c(0))
    besides = logical_not(logical_and(equal(x, c(0)), bound))
    return factor if known_true(besides) else select(besides, factor)


log_ratio = elementwise("log_ratio", lambda o, x, y: divide(c(1.0), x), lambda o, x, y: divide(c(-1.0), y))

# fmt: off
xlogy = special(
    "xlogy", lambda o, x, y: _besides_origin(x, y, log(promoted(y, o))), lambda o, x, y: _besides_origin(x, y, divide(x, y)),
    domain=("real", "positive"), operands=("x", "y"), says="x log(y), and 0 where x is 0.", torch="torch.special.xlogy",
    source="Both derivatives are 0 where x is 0 and y is not positive, as in PyTorch.")
xlog1py = special(
    "xlog1py", lambda o, x, y: _besides_origin(x, add(c(1.0), y), log1p(promoted(y, o))),
    lambda o, x, y: _besides_origin(x, add(c(1.0), y), divide(x, add(c(1.0), y))),
    domain=("real", "positive"), operands=("x", "y"), says="x log(1 + y), and 0 where x is 0.",
    torch="torch.special.xlog1py")
entr = special(
    "entr", lambda o, x: subtract(c(-1.0), log(x)),
    domain="positive", says="Entropy of one outcome, -x log(x), 0 at 0 and -∞ for negative x.", torch="torch.special.entr")
rel_entr = special(
    "rel_entr", lambda o, x, y: _besides_origin(x, y, add(c(1.0), log_ratio(x, y))),
    lambda o, x, y: _besides_origin(x, y, negative(divide(x, y))),
    domain="positive", operands=("x", "y"), says="Relative entropy of one outcome, x log(x / y), 0 where x is 0.")
kl_entr = special(
    "kl_entr", lambda o, x, y: _besides_origin(x, y, log_ratio(x, y)), lambda o, x, y: subtract(c(1.0), _besides_origin(x, y, divide(x, y))),
    domain="positive", operands=("x", "y"), says="Kullback-Leibler divergence of one outcome, x log(x / y) - x + y.",
    scipy="kl_div")
# fmt: on
