"""Derivatives of a function of numbers."""

from __future__ import annotations

from collections.abc import Callable

import namedgrad as ng


def slopes(f: Callable[..., ng.DimArray], xs: tuple[float, ...], k: int, orders: int) -> list[float]:
    """The first derivatives in the k-th operand, reverse over reverse."""
    point = [ng.DimArray(float(x), ()) for x in xs]

    def one(g: Callable[[ng.DimArray], ng.DimArray]) -> Callable[[ng.DimArray], ng.DimArray]:
        return ng.grad(g)

    g: Callable[[ng.DimArray], ng.DimArray] = lambda x: f(*point[:k], x, *point[k + 1 :])
    found = []
    for _ in range(orders):
        g = one(g)
        found.append(g(point[k]).item())
    return found
