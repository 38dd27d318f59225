"""Which residuals do not count although their data are there.

A function may mask some itself: these do not depend on the parameters at all.  Others are NaN before they meet these,
as what a shift within the model loses.  A model that fails outside of its domain is neither: other parameters reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.fit.cells import Index
from namedgrad.fit.parameters import Matrix
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import isfinite, multiply
from namedgrad.transforms.tape import quiet

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

Flags = np.ndarray[Any, np.dtype[np.bool_]]
NUDGE = 0.1  # relative change of start values that shows what depends on them, more or less
GOLDEN = 0.5 * (5**0.5 - 1)
STEPS = 10.0 ** np.arange(-6, 4.5, 0.5)  # relative changes after which it is tried whether residuals are ever numbers


def masked(problem: Residuals, start: Matrix, index: Index, args: Any, sound: Flags) -> Flags:
    """Which of the residuals that are not ``sound`` do not count."""
    known = np.isfinite(start).all(axis=0).reshape(-1, *[1] * (sound.ndim - 1))  # NaN hides everything
    constant = np.logical_and.reduce([column.to_numpy() == 0 for column in problem.jacobian(start, index, args)[1]])
    out: Flags = known & constant
    for near in _near(problem, start, index):
        out = out & ~isfinite(problem.residual(near, index, args)).to_numpy()
    return out if (sound | out).all() else out | (known & _never(problem, start, index, args))


def _near(problem: Residuals, start: Matrix, index: Index) -> Iterator[Matrix]:
    apart = 0.5 + (GOLDEN * np.arange(len(start)) % 1)[:, None]  # so that those which are equal are no longer
    for sign in (1, -1):
        near = start + sign * NUDGE * apart * np.where(start != 0, start, 1.0)
        yield np.clip(near, problem.lower[:, index], problem.upper[:, index])


def _never(problem: Residuals, start: Matrix, index: Index, args: Any) -> Flags:
    """Which residuals are NaN wherever they are tried: for complex parameters, and for others near and far."""
    out = _beyond(problem, start, index, args)
    scale = np.where(start != 0, start, 1.0)
    rng = np.random.default_rng(0)
    for size in STEPS:
        for step in (size, -size, size * rng.uniform(-1.0, 1.0, (len(start), 1))):
            if not out.any():
                return out
            out = out & np.isnan(problem.residual(start + step * scale, index, args).to_numpy())
    return out


def _beyond(problem: Residuals, start: Matrix, index: Index, args: Any) -> Flags:
    """Which are NaN for complex parameters, of which roots, logarithms and powers have values everywhere."""
    parts = [multiply(x, c(1 + 0.5j)) for x in problem.parameters.parts(start, problem.backend)]
    try:
        with quiet():
            out = problem.checked(problem.call(parts, args), args).parts[0]
        return np.isnan(problem.table(out, len(index), "residual").to_numpy())
    except Exception:  # noqa: BLE001 - not every function takes complex numbers
        return np.isnan(problem.residual(start, index, args).to_numpy())
