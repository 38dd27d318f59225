"""Truncated power series in three parameters: a function together with its derivatives, over factorials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Raw = Any
Index = tuple[int, int, int]
Jet = dict[Index, Raw]  #: coefficients by how often each parameter occurs; what is missing is 0
ORIGIN: Index = (0, 0, 0)


def times(x: Jet, y: Jet, every: list[Index]) -> Jet:
    """A product."""
    out: Jet = {}
    for m in every:
        parts = [v * y[rest] for k, v in x.items() if (rest := _less(m, k)) in y]
        if parts:
            out[m] = sum(parts[1:], start=parts[0])
    return out


def over(x: Jet, y: Jet, every: list[Index]) -> Jet:
    """A quotient."""
    out: Jet = {}
    for m in every:  # ascending, so that what a coefficient builds on is there
        parts = [v * out[rest] for k, v in y.items() if k != ORIGIN and (rest := _less(m, k)) in out]
        if parts or m in x:
            out[m] = (x.get(m, 0.0) - sum(parts)) / y[ORIGIN]
    return out


def minus(x: Jet, y: Jet) -> Jet:
    """A difference."""
    return {m: x.get(m, 0.0) - y.get(m, 0.0) for m in {**x, **y}}


def composed(f: Sequence[Raw], v: Jet, every: list[Index]) -> Jet:
    """A function of a linear combination of parameters, from its own Taylor coefficients there."""
    steps: tuple[Index, ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    out: Jet = {}
    for m in every:
        if all(not n or step in v for n, step in zip(m, steps, strict=True)):
            ways = math.factorial(sum(m)) / math.prod(map(math.factorial, m))
            out[m] = math.prod((v[step] ** n for n, step in zip(m, steps, strict=True) if n), start=ways * f[sum(m)])
    return out


def exponential(f: Sequence[Raw]) -> list[Raw]:
    """Taylor coefficients of ``exp(f)`` from those of ``f`` in one variable, of which the first is taken for 0."""
    out: list[Raw] = [1.0]
    for n in range(1, len(f)):
        out.append(sum(k * f[k] * out[n - k] for k in range(1, n + 1)) / n)
    return out


def convolved(f: Sequence[Raw], g: Sequence[Raw]) -> list[Raw]:
    """Taylor coefficients of a product in one variable."""
    return [sum(f[k] * g[n - k] for k in range(n + 1)) for n in range(len(f))]


def _less(m: Index, k: Index) -> Index:
    return m[0] - k[0], m[1] - k[1], m[2] - k[2]
