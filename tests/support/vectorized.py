"""Inputs with all kinds of vectorized axes, and programs of them that every transform must refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

DISTINCT = {"f": 4, "g": 2, "a": 5, "b": 3, "c": 6, "k": 3}
Arrays = dict[str, ng.DimArray]


def inputs(sizes: dict[str, int] = DISTINCT) -> Arrays:
    """Parameters and data with all kinds of vectorized axes; small letters in the names are their axes."""
    rng = np.random.default_rng(5)
    plain = {"w": "f", "v": "g", "s": "", "m": "fg", "xv": "bf"}
    batched = {"xb": "bf", "xa": "af", "xbc": "bcf", "zb": "b", "zk": "k", "xk": "kf", "zc": "c", "mb": "fbg", "xbk": "bkf"}
    out = {}
    for name, dims in {**plain, **batched}.items():
        data = rng.normal(size=tuple(sizes[d] for d in dims))
        out[name] = ng.DimArray(data, tuple(dims), vectorized=[d for d in dims if d in "abck" and name in batched])
    return out


def of_one(f: Callable[..., Any], given: Arrays, name: str) -> Callable[[ng.DimArray], Any]:
    """``f`` as a function of one of its arguments."""
    return lambda x: f(**{**given, name: x})


def every_transform(
    f: Callable[[ng.DimArray], ng.DimArray], squared: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray
) -> list[Callable[[], Any]]:
    """First derivatives of ``f`` and second ones of its square, in every way."""
    ones = ng.ones_like(x)
    return [
        lambda: ng.grad(f)(x),
        lambda: ng.value_and_grad(f)(x),
        lambda: ng.pullback(f, x)[1](ng.ones_like(f(x))),
        lambda: ng.pushforward(f, (x,), (ones,)),
        lambda: ng.linearize(f, x)[1](ones),
        lambda: ng.linearize(f, x)[1].T(ng.ones_like(f(x))),
        lambda: ng.jacobian(f, mode="forward")(x),
        lambda: ng.jacobian(f, mode="reverse")(x),
        lambda: ng.hessian(squared)(x),
        lambda: ng.hessian(squared, part="diagonal")(x),
        lambda: ng.hvp(squared, x, ones),
        lambda: ng.grad(lambda x: ng.grad(squared)(x).sum())(x),
        lambda: ng.grad(lambda x: ng.pushforward(f, (x,), (ones,))[1])(x),
    ]


def refused_everywhere(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> None:
    """Every transform must refuse, and say which name to change."""
    squared = lambda x: (f(x) * f(x)).sum()
    others = [lambda: ng.grad(squared)(x), lambda: ng.hessian(squared, part="trace")(x)]
    for attempt in [*every_transform(f, squared, x), *others]:
        with pytest.raises(ng.AxisError, match="another name"):
            attempt()
