"""In which parameters a model is linear, and whose derivatives are proportional to these."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.fit.linear import linear_inputs

NAMES = "abcd"
X = np.linspace(0.5, 1.5, 5)

MODELS = {
    "exponential": (lambda a, b, c, d: a * np.exp(-b * X) + c + d * X, "acd", {"b": "a"}),
    "oscillation": (lambda a, b, c, d: d - np.sin(b * X + c) * a, "ad", {"b": "a", "c": "a"}),
    "quotient": (lambda a, b, c, d: a / (1 + np.exp(-b * (X - c))) - d, "ad", {"b": "a", "c": "a"}),
    "two terms": (lambda a, b, c, d: a * np.exp(-b * X) + c * np.exp(-d * X), "ac", {"b": "a", "d": "c"}),
    "one rate": (lambda a, b, c, d: (a + c * X) * np.exp(-b * X) + d, "acd", {}),
    "a term of its own": (lambda a, b, c, d: a * np.exp(-b * X) + b**2 + c + d * X, "acd", {}),
    "no linear factor": (lambda a, b, c, d: a + c * X + np.exp(-b * X) + d**2, "ac", {"b": None, "d": None}),
    "two factors": (lambda a, b, c, d: a * b * np.exp(-c * X) + d, "ad", {"b": "a", "c": "a"}),
    "masked": (lambda a, b, c, d: np.where(X > 1, a, 0.0) * np.exp(-b * X) + c + d * X, "acd", {}),
    "a sum times it": (lambda a, b, c, d: a * (np.exp(-b * X) + c * X) + d, "ad", {"b": "a", "c": "a"}),
    "square": (lambda a, b, c, d: (a + b * X) ** 2 + c + d * X, "cd", {"a": None, "b": None}),
}


def _in_place(a, b, c, d):
    out = a * np.exp(-b * X)
    out[2:] += c
    out[0] = d
    return out


MODELS["written in place"] = (_in_place, "acd", {"b": "a"})


@pytest.mark.parametrize("name", MODELS)
def test_what_is_linear_and_what_follows_it(name):
    model, linear, follows = MODELS[name]
    raws = [np.full((), v) for v in (1.3, 0.7, 0.4, 2.1)]
    inputs = [ng.positional(x) for x in raws]
    found, known = linear_inputs(lambda: model(*inputs)._x.raw, [x._x.raw for x in inputs])
    assert "".join(NAMES[i] for i in sorted(found)) == linear
    assert {NAMES[i]: None if j is None else NAMES[j] for i, j in known.items()} == follows
