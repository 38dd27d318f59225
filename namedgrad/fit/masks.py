"""Which residuals do not count although their data are there.

A function may mask some itself: these do not depend on the parameters at all.  Others are NaN before they meet these,
as what a shift within the model loses.  A model that fails outside of its domain is neither: other parameters reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.fit.batch import Flags
from namedgrad.fit.cells import Index
from namedgrad.fit.parameters import Matrix
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import multiply
from namedgrad.transforms.tape import quiet

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

NEAR = 0.1, -0.1  # relative changes of start values
STEPS = 10.0 ** np.arange(-4, 5)  # those after which it is tried as well whether residuals are ever numbers
GOLDEN = 0.5 * (5**0.5 - 1)


def masked(problem: Residuals, start: Matrix, index: Index, args: Any, sound: Flags) -> Flags:
    """Which of the residuals that are not ``sound`` do not count."""
    known = np.isfinite(start).all(axis=0).reshape(-1, *[1] * (sound.ndim - 1))  # NaN hides everything
    constant = np.logical_and.reduce([column.to_numpy() == 0 for column in problem.jacobian(start, index, args)[1]])
    out: Flags = known & ~sound
    if (out & ~constant).any():
        out = out & (constant | _beyond(problem, start, index, args, sound.shape))
    for other in _elsewhere(problem, start, index):
        if not out.any():
            break
        r = _tried(problem, other, index, args)
        out = out & (np.isnan(r) | (constant & np.isinf(r)))
    return out


def _elsewhere(problem: Residuals, start: Matrix, index: Index) -> Iterator[Matrix]:
    """Other parameters, near and far, within the bounds; those that are fixed stay."""
    scale = np.where(problem.free[:, None], np.where(start != 0, start, 1.0), 0.0)
    apart = 0.5 + (GOLDEN * np.arange(len(start)) % 1)[:, None]  # so that those which are equal are no longer
    rng = np.random.default_rng(0)
    steps = [apart * size for size in NEAR]
    steps += [step for x in STEPS for step in (x, -x, x * rng.uniform(-1.0, 1.0, (len(start), 1)))]
    for step in steps:
        yield np.clip(start + step * scale, problem.lower[:, index], problem.upper[:, index])


def _tried(problem: Residuals, matrix: Matrix, index: Index, args: Any) -> Any:
    """Residuals; NaN, which proves nothing, if the function refuses the parameters."""
    try:
        return problem.residual(matrix, index, args).to_numpy()
    except Exception:  # noqa: BLE001 - what it raises is its own affair
        return np.nan


def _beyond(problem: Residuals, start: Matrix, index: Index, args: Any, shape: tuple[int, ...]) -> Flags:
    """Which are NaN for complex parameters, of which roots and powers have values everywhere; if unknown, all are."""
    unknown = np.ones(shape, bool)
    parts, rows = problem.parameters.parts(start, problem.backend), problem.parameters.rows.values()
    turned = [multiply(x, c(1 + 0.5j)) if problem.free[r].any() else x for x, r in zip(parts, rows, strict=True)]
    try:
        with quiet():
            several = problem.call(turned, args).parts  # complex ones, which no residuals may be
        nowhere = [np.isnan(problem.table(x, len(index), "residual").to_numpy()) for x in several]
    except Exception:  # noqa: BLE001 - not every function takes complex numbers
        return unknown
    out = nowhere[0] if len(nowhere) == 1 else np.concatenate([x.reshape(len(index), -1) for x in nowhere], axis=1)
    return out if out.shape == shape else unknown
