"""The text backend: formulas in place of numbers.

A partial derivative that is run on it writes itself down, so the formula in a docstring is the one that is computed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.backends.base import Backend, Raw

_ATOM, _POWER, _SIGN, _PRODUCT, _SUM, _TEST = range(6)  # how loosely the parts of a formula hold together
_INFIX = {
    "add": ("+", _SUM), "subtract": ("-", _SUM), "multiply": ("*", _PRODUCT), "divide": ("/", _PRODUCT),
    "scale": ("*", _PRODUCT), "power": ("**", _POWER), "equal": ("==", _TEST), "not_equal": ("!=", _TEST),
    "less": ("<", _TEST), "less_equal": ("<=", _TEST), "greater": (">", _TEST), "greater_equal": (">=", _TEST),
}  # fmt: skip
_NUMBERS = {
    math.log(2): ("log(2)", _ATOM), math.log(10): ("log(10)", _ATOM),
    1 / math.log(2): ("1 / log(2)", _PRODUCT), 1 / math.log(10): ("1 / log(10)", _PRODUCT),
    math.pi / 180: ("pi / 180", _PRODUCT), 180 / math.pi: ("180 / pi", _PRODUCT),
}  # fmt: skip


_TEMPLATES = {  # of kernels that only derivatives call
    "square": ("{0}**2", _POWER), "absolute": ("abs({0})", _ATOM),
    "betainc_order": ("(d/da)**{0} (d/db)**{1} betainc", _PRODUCT),
    "betaprime_order": ("(d/da)**{0} (d/db)**{1} betainc", _PRODUCT),
    "t_density": ("(1 + {1}**2 / {0})**(-({0} + 1) / 2) / (sqrt({0}) * beta(0.5, {0} / 2))", _PRODUCT),
    "t_drift": ("(d/ddf)**{0} stdtr", _PRODUCT),
    "power_order": ("{2} * {1}**({2} - 1)", _PRODUCT), "power_slope": ("{2} * {1}**({2} - 1)", _PRODUCT),
    "exponent_slope": ("{0} * log({1})", _PRODUCT), "log_of_base": ("log({0})", _ATOM),
    "huber_length": ("hypot({1}, {2})", _ATOM),
    "minus_quotient": ("-{0} / {1}", _PRODUCT), "turn": ("{1} / ({0}**2 + {1}**2)", _PRODUCT),
    "arcsin_slope": ("1 / sqrt(1 - {0}**2)", _PRODUCT), "arcsinh_slope": ("1 / sqrt(1 + {0}**2)", _PRODUCT),
    "exp2_slope": ("log(2) * 2**{0}", _PRODUCT), "arctan_slope": ("1 / (1 + {0}**2)", _PRODUCT),
    "polygamma_step": ("digamma({1}) - digamma({1} + {2})", _SUM),
    "log1mexp_slope": ("-1 / expm1(-{0})", _PRODUCT),
    "expit_slope": ("expit({0}) * expit(-{0})", _PRODUCT),
    "arccosh_slope": ("1 / sqrt({0}**2 - 1)", _PRODUCT), "arctanh_slope": ("1 / (1 - {0}**2)", _PRODUCT),
    "tanhshrink_slope": ("tanh({0})**2", _POWER),
    "sech2": ("1 / cosh({0})**2", _PRODUCT), "part_of_length": ("{0} / {2}", _PRODUCT),
    "above": ("where({0} > {1}, 1, 0)", _ATOM), "below": ("where({0} < {1}, 1, 0)", _ATOM),
    "present_above": ("where({0} > {1}, 1, 0)", _ATOM), "present_below": ("where({0} < {1}, 1, 0)", _ATOM),
    "log_share": ("1 / (1 + exp({1} - {0}))", _PRODUCT),
    "log_ratio": ("log({0} / {1})", _ATOM), "normal_hazard": ("sqrt(2 / pi) / erfcx(-{0} / sqrt(2))", _PRODUCT),
    "dawsn_slope": ("1 - 2 * {0} * {1}", _SUM), "wofz_slope": ("2j / sqrt(pi) - 2 * {0} * {1}", _SUM),
    "exprel_slope": ("(exp({0}) - {1}) / {0}", _PRODUCT),
    "erfcx_order": ("exp({1}**2) * i{0}erfc({1})", _PRODUCT), "kve_order": ("dkve/dv", _ATOM),
    "gamma_density": ("{1}**({0} - 1) * exp(-{1}) / gamma({0})", _PRODUCT), "gammainc_order": ("dP/da", _ATOM),
    "beta_density": ("{2}**({0} - 1) * (1 - {2})**({1} - 1) / beta({0}, {1})", _PRODUCT),
    "gamma_flattened": ("{2}**({1} - 1 - {0}) * exp(-{2}) / gamma({1})", _PRODUCT),
    "beta_flattened": ("{4}**({2} - 1 - {0}) * (1 - {4})**({3} - 1 - {1}) / beta({2}, {3})", _PRODUCT),
    "spherical_j": ("(sin({1}) / {1} - cos({1})) / {1}", _PRODUCT),
    "sinc_slope": ("(cos(pi * {0}) - {1}) / {0}", _PRODUCT),
    "spherical_j_pi": ("(sin(pi * {1}) / (pi * {1}) - cos(pi * {1})) / (pi * {1})", _PRODUCT),
}  # fmt: skip


class Formula:
    """A number without dims of which only the formula is known."""

    __slots__ = ("strength", "text")
    dtype, shape, ndim = np.dtype(float), (), 0

    def __init__(self, text: str, strength: int = _ATOM) -> None:
        self.text, self.strength = text, strength

    def within(self, strength: int) -> str:
        """The text as part of another formula, in brackets if that holds together more tightly."""
        return f"({self.text})" if self.strength > strength else self.text


def formula(raw: Any) -> Formula:
    """A raw number as a formula."""
    if isinstance(raw, Formula):
        return raw
    if isinstance(raw, complex):
        return Formula(f"{raw.imag:g}j", _ATOM if raw.imag >= 0 else _SIGN)
    return Formula(*_NUMBERS.get(raw, (f"{raw:g}", _ATOM if raw >= 0 else _SIGN)))


def _write(name: str, *operands: Any) -> Formula:
    parts = [formula(o) for o in operands]
    if name in _INFIX:
        sign, strength = _INFIX[name]
        left, right = parts
        return Formula(f"{left.within(strength)} {sign} {right.within(strength - 1)}", strength)
    if name == "negative":
        return Formula(f"-{parts[0].within(_SIGN)}", _SIGN)
    if name == "reciprocal":
        return _write("divide", 1, parts[0])
    if name in _TEMPLATES:
        text, strength = _TEMPLATES[name]
        return Formula(text.format(*(p.within(_ATOM) for p in parts)), strength)
    if name == "select":
        name, parts = "where", [*parts, formula(0)]
    return Formula(f"{name}({', '.join(p.text for p in parts)})")


class TextBackend(Backend):
    """Every function writes its own call."""

    name = "text"

    def function(self, name: str) -> Callable[..., Any]:
        """The function that writes a call of ``name``."""
        return functools.partial(_write, name)

    def cast(self, x: Raw, dtype: Any) -> Raw:
        """The same formula: in mathematics there are no dtypes."""
        return x


backends._BY_TYPE[Formula] = TextBackend()
