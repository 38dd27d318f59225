"""Every transform, called with a function and its argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import namedgrad as ng


def scalar(value: float) -> ng.DimArray:
    return ng.DimArray(value, ())


def _custom(f: Callable[..., Any]) -> Any:
    g = ng.custom_pullback(f)
    g.pullback(lambda c, out, x: c * np.cos(x))
    return g


def _custom_forward(f: Callable[..., Any]) -> Any:
    g = ng.custom_pushforward(f)
    g.pushforward(lambda t, out, x: (t[0] * np.cos(x)).sum())
    return g


TRANSFORMS: dict[str, Callable[[Any, ng.DimArray], Any]] = {
    "grad": lambda f, x: ng.grad(f)(x),
    "value_and_grad": lambda f, x: ng.value_and_grad(f)(x),
    "pullback": lambda f, x: ng.pullback(f, x)[1](scalar(1.0)),
    "pushforward": lambda f, x: ng.pushforward(f, (x,), (x,)),
    "linearize": lambda f, x: [ng.linearize(f, x)[1](x), ng.linearize(f, x)[1].T(scalar(1.0))],
    "jacobian": lambda f, x: ng.jacobian(f)(x),
    "hessian": lambda f, x: ng.hessian(f)(x),
    "hvp": lambda f, x: ng.hvp(f, x, x),
    "checkpoint": lambda f, x: ng.grad(ng.checkpoint(f))(x),
    "custom_pullback": lambda f, x: ng.grad(_custom(f))(x),
    "custom_pushforward": lambda f, x: ng.grad(_custom_forward(f))(x),
    "scan": lambda f, x: ng.grad(lambda x: ng.scan(lambda c, k: (c + f(x), None), 0.0, ng.ones({"t": 4}), "t")[0])(x),
    "vmap": lambda f, x: ng.vmap(ng.grad(f), "b")(x.expand_dims(b=2)),
    "has_aux": lambda f, x: ng.grad(lambda x: (f(x), {"aux": x * 2}), has_aux=True)(x),
    "second order": lambda f, x: ng.grad(lambda x: ng.grad(f)(x).sum())(x),
}
