"""Robust losses: rho(z) of squared residuals z = (r / scale)^2, and what they weigh residuals and Jacobian with.

The cost is ``scale^2 / 2 * sum(rho(z))``, as in :func:`scipy.optimize.least_squares`; what the normal equations make of
its curvature is in Triggs et al., *Bundle adjustment: a modern synthesis* (2000), section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from namedgrad.array import DimArray
from namedgrad.fit.problem import require_positive
from namedgrad.rules import elementwise as e
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, multiply, negative, where

EPS = 2.0**-52
Rho = Callable[[DimArray], tuple[DimArray, DimArray, DimArray]]


def _power(x: DimArray, exponent: float) -> DimArray:
    return e.power(x, c(exponent))


def _huber(z: DimArray) -> tuple[DimArray, DimArray, DimArray]:
    inside = e.less_equal(z, c(1.0))
    far = where(inside, c(1.0), z)  # where it is inside nothing is made of it
    return (
        where(inside, z, add(multiply(c(2.0), e.sqrt(far)), c(-1.0))),
        _power(far, -0.5),
        where(inside, c(0.0), multiply(c(-0.5), _power(far, -1.5))),
    )


def _soft_l1(z: DimArray) -> tuple[DimArray, DimArray, DimArray]:
    t = add(c(1.0), z)
    rho = e.divide(multiply(c(2.0), z), add(c(1.0), e.sqrt(t)))  # 2 (sqrt(t) - 1), which small residuals are lost in
    return rho, _power(t, -0.5), multiply(c(-0.5), _power(t, -1.5))


def _cauchy(z: DimArray) -> tuple[DimArray, DimArray, DimArray]:
    t = e.reciprocal(add(c(1.0), z))
    return e.log1p(z), t, negative(e.square(t))


def _arctan(z: DimArray) -> tuple[DimArray, DimArray, DimArray]:
    t = e.reciprocal(add(c(1.0), e.square(z)))
    return e.arctan(z), t, multiply(multiply(c(-2.0), z), e.square(t))


LOSSES: dict[str, Rho | None] = {
    "linear": None, "huber": _huber, "soft_l1": _soft_l1, "cauchy": _cauchy, "arctan": _arctan,
}  # fmt: skip


class Robust(NamedTuple):
    """A loss and its scale."""

    rho: Rho
    scale: float

    @property
    def to_begin_with(self) -> Robust:
        """The loss that start values are found with."""
        return (self.softer or self) if self.is_bounded else self

    @property
    def is_bounded(self) -> bool:
        """Whether residuals far away do not count at all, so that most places are minima of some kind."""
        return self.rho is _arctan

    @property
    def softer(self) -> Robust | None:
        """A loss whose minimum is near, and has fewer others around it."""
        known: dict[Rho, Rho] = {_arctan: _cauchy, _cauchy: _soft_l1}
        softer = known.get(self.rho)
        return None if softer is None else self._replace(rho=softer)

    def weigh(self, r: DimArray, *, bent: bool) -> tuple[DimArray, DimArray, DimArray]:
        """Twice the cost per residual, the derivative of the cost in it, and its second derivative, never negative.

        Unless it is ``bent``, the loss is taken for the parabola that has its slope: that overestimates the curvature,
        so steps are safe, and it is what iteratively reweighted least squares does.
        """
        z = e.square(e.divide(r, c(self.scale)))
        rho, first, second = self.rho(z)
        curvature = first
        if bent:
            curvature = e.maximum(add(first, multiply(multiply(c(2.0), second), z)), c(EPS))
        return multiply(c(self.scale**2), rho), multiply(first, r), curvature


def robust(loss: str, scale: float) -> Robust | None:
    """The loss of that name, None for plain squares."""
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not one of {', '.join(map(repr, LOSSES))}")
    require_positive(loss_scale=scale)
    rho = LOSSES[loss]
    return None if rho is None else Robust(rho, float(scale))
