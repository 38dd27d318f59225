"""Start values among those that fit equally well: the same ones in every cell, whatever its company.

Signs that make no difference, as that of a width, are positive.  Terms that may change places, as two peaks, stand in
the order of their places: a map shows one term, and not now the one, now the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.cells import Index
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.small import Array

Move = Callable[[Array], Array]  # of a copy
Pairs = tuple[tuple[int, int], ...]
SAME, TOGETHER = 1e-9, 3  # differences that are rounding; parameters whose signs, or places, may belong together
FIRST = 16  # cells that tell whether a model depends on a sign, or on an order
SOME = 0.7  # in the place of all parameters: those that may change places have the same part there
ROUNDING = 1e-28  # of the squares that a model is made of
MOST = 1000  # exchanges that are tried


def canonical(problem: Residuals, missing: list[int], x: Array) -> Array:
    """Start values (parameter, cell) with those signs and in that order, as far as these make no difference."""
    for rows in (list(c) for n in range(1, TOGETHER + 1) for c in itertools.combinations(missing, n)):
        _move(problem, x, np.asarray((x[rows] < 0).all(axis=0)), _turn(rows))
    pairs = list(itertools.islice(_exchanges(problem, missing, x), MOST))
    for _ in missing:  # of several terms each goes past all others at most
        pairs = [p for p in pairs if _move(problem, x, _are_turned(problem, x, p), _exchange(p))]
    return x


def exchanged(problem: Residuals, missing: list[int], x: Array, shared: set[int]) -> Iterator[Array]:
    """The same with terms that may change places in other orders, in all cells; those of which something is shared."""
    for pairs in itertools.islice(_exchanges(problem, missing, x), MOST):
        other, concerned = x.copy(), shared & {k for pair in pairs for k in pair}
        if concerned and _move(problem, other, np.asarray(np.isfinite(x).all(axis=0)), _exchange(pairs)):
            yield other


def _turn(rows: list[int]) -> Move:
    def move(x: Array) -> Array:
        x[rows] *= -1
        return x

    return move


def _exchange(pairs: Pairs) -> Move:
    left, right = (list(side) for side in zip(*pairs, strict=True))

    def move(x: Array) -> Array:
        x[left + right] = x[right + left]
        return x

    return move


def _exchanges(problem: Residuals, missing: list[int], x: Array) -> Iterator[Pairs]:
    """Pairs of parameters that together may change places with each other, the fewest first."""
    cells = np.flatnonzero((problem.counts > 0) & np.isfinite(x).all(axis=0))[:1]
    alike = _alike(problem, missing, x, cells) if cells.size else []
    for n in range(1, 1 + TOGETHER):
        for pairs in itertools.combinations(alike, n):
            if len({k for pair in pairs for k in pair}) == 2 * n:
                yield pairs


def _alike(problem: Residuals, missing: list[int], x: Array, cell: Index) -> list[tuple[int, int]]:
    """Pairs of parameters whose derivatives are the same in one cell where all parameters are.

    They are looked at where none is 0, as those of peaks are that lie far from the data.
    """
    rows = np.cumsum(problem.free)[missing] - 1
    for some in (SOME, *np.unique(np.abs(x[missing, cell[0]]))):
        point = problem.start[:, cell].copy()
        point[missing] = some
        normal = problem.evaluate(point[problem.free], cell).normal[rows][:, rows, 0]
        squares = np.diagonal(normal)
        if np.isfinite(normal).all() and squares.all():
            apart = squares + squares[:, None] - 2 * normal
            same = np.abs(apart) <= SAME * (squares + squares[:, None])
            return [(i, j) for (a, i), (b, j) in itertools.combinations(enumerate(missing), 2) if same[a, b]]
    return []


def _are_turned(problem: Residuals, x: Array, pairs: Pairs) -> Array:
    """The cells (cell,) in which the first of the exchanged parameters that is not linear is larger than its like."""
    i, j = next((pair for pair in pairs if not problem.linear[pair[0]]), pairs[0])
    return np.asarray(x[i] > x[j])


def _move(problem: Residuals, x: Array, where: Array, move: Move) -> bool:
    """Move to another point in the cells where that makes no difference; False if it makes one in all that are seen."""
    index = np.flatnonzero(where)
    after, low, high = move(x[:, index]), problem.lower[:, index], problem.upper[:, index]
    index = index[((after >= low) & (after <= high) | (after == x[:, index])).all(axis=0)]
    if index.size and not _moved(problem, x, index[:FIRST], move):
        return False
    for some in batches(index[FIRST:], problem.size):
        _moved(problem, x, some, move)
    return True


def _moved(problem: Residuals, x: Array, index: Index, move: Move) -> bool:
    """Move some cells where that makes no difference; and whether there are any."""
    before, after = x[:, index], move(x[:, index])
    now, then = (problem.evaluate(v[problem.free], index) for v in (before, after))
    size = (small.diagonal(now.normal) * before[problem.free] ** 2).sum(axis=0)  # squares that the model is made of
    same = np.abs(then.cost - now.cost) <= SAME * now.cost + ROUNDING * size
    x[:, index] = np.where(same, after, before)
    return bool(same.any())
