"""Normal equations of parameters that cells share: an arrow of blocks, solved by its Schur complement.

Problems are numbered; a problem has cells, the *local* parameters of each cell, and *shared* unknowns, each of which
occurs in many cells.  The local blocks are eliminated cell by cell, which leaves one dense system of the shared
unknowns per problem (Schur complement; Triggs et al., *Bundle adjustment: a modern synthesis* (2000), section 6.1).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.cells import Index
from namedgrad.fit.small import Array
from namedgrad.fit.sums import Point

TINY = 1e-13  # keeps a singular matrix positive definite


@dataclasses.dataclass
class Layout:
    """Which problem a cell belongs to, and which unknowns of it the shared rows are there.

    Attributes
    ----------
    local, shared : rows of the matrix of parameters
    problem : (cell,) number of the problem
    slot : (shared row, cell) number of the unknown in its problem
    count, unknowns : of problems, and of shared unknowns in each
    """

    local: Index
    shared: Index
    problem: Index
    slot: Index
    count: int
    unknowns: int

    def only(self, problems: Index, cells: Index) -> Self:
        """Some problems, given which cells they have; they are numbered anew."""
        number = np.full(self.count, -1)
        number[problems] = np.arange(len(problems))
        return dataclasses.replace(
            self, problem=number[self.problem[cells]], slot=self.slot[:, cells], count=len(problems)
        )

    # ---------------------------------------------------------------- from cells to problems and back

    def total(self, x: Array) -> Array:
        """Sums over the cells of each problem."""
        return np.bincount(self.problem, x, self.count).astype(float)

    def gathered(self, x: Array) -> Array:
        """(shared row, cell) summed to (problem, unknown)."""
        at = self.problem * self.unknowns + self.slot
        return (
            np.bincount(at.ravel(), x.ravel(), self.count * self.unknowns)
            .astype(float)
            .reshape(self.count, self.unknowns)
        )

    def scattered(self, x: Array) -> Array:
        """(problem, unknown) as (shared row, cell)."""
        return x[self.problem, self.slot]

    def assembled(self, blocks: Array) -> Array:
        """(shared row, shared row, cell) summed to (problem, unknown, unknown)."""
        m = self.unknowns
        at = (self.problem * m + self.slot[:, None]) * m + self.slot[None]
        return np.bincount(at.ravel(), blocks.ravel(), self.count * m * m).astype(float).reshape(self.count, m, m)

    def lowest(self, x: Array) -> Array:
        """The least of (shared row, cell) per unknown."""
        out = np.full((self.count, self.unknowns), np.inf)
        np.minimum.at(out, (np.broadcast_to(self.problem, self.slot.shape), self.slot), x)
        return out


@dataclasses.dataclass
class Arrow:
    """The normal equations of some problems.

    Attributes
    ----------
    a, b, d : blocks of the normal matrix: local, local by shared (row, row, cell), shared (problem, unknown, unknown)
    """

    layout: Layout
    a: Array
    b: Array
    d: Array

    @classmethod
    def of(cls, layout: Layout, at: Point) -> Arrow:
        """Put together from the sums of the cells."""
        local, shared = layout.local, layout.shared
        normal = at.normal
        return cls(
            layout, normal[np.ix_(local, local)], normal[np.ix_(local, shared)],
            layout.assembled(normal[np.ix_(shared, shared)]),
        )  # fmt: skip

    def lengths(self) -> tuple[Array, Array]:
        """Of the columns of the Jacobian; 1 for those of zeros."""
        return small.lengths(self.a), small.lengths(np.moveaxis(self.d, 0, -1)).T

    def times(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The product with local (row, cell) and shared (problem, unknown) vectors."""
        here = self.layout.scattered(y)
        inside = small.times(self.a, x) + small.times(self.b, here)
        back = self.layout.gathered(np.sum(self.b * x[:, None], axis=0))
        return inside, back + np.einsum("pij,pj->pi", self.d, y)

    def factor(self, free: tuple[Any, Any], damping: tuple[Any, Any]) -> Factor:
        """Ready to be solved for the rows that are free, with ``damping`` in units of the squared lengths."""
        return Factor(self, free, damping)


class Factor:
    """A damped arrow, factored; rows that are not free are those of the identity.

    Attributes
    ----------
    schur : (problem, unknown, unknown) the scaled and damped complement
    """

    def __init__(self, arrow: Arrow, free: tuple[Any, Any], damping: tuple[Any, Any]) -> None:
        layout = arrow.layout
        self.layout, self.free = layout, free
        self.scale = arrow.lengths()
        inner, outer = self.scale
        here = layout.scattered(outer)
        a = np.where(free[0][:, None] & free[0], arrow.a / inner[:, None] / inner, 0.0)
        rows = np.arange(len(a))
        a[rows, rows] = np.where(free[0], a[rows, rows] + damping[0] + TINY, 1.0)
        self.lower = small.cholesky(a)
        seen = free[0][:, None] & layout.scattered(free[1])
        self.b = np.where(seen, arrow.b / inner[:, None] / here, 0.0)
        self.image = small.solve(self.lower, self.b) if len(a) else self.b
        d = np.where(free[1][:, :, None] & free[1][:, None], arrow.d / outer[:, :, None] / outer[:, None], 0.0)
        every = np.arange(layout.unknowns)
        d[:, every, every] = np.where(free[1], d[:, every, every] + damping[1] + TINY, 1.0)
        self.schur = d - layout.assembled(np.sum(self.b[:, :, None] * self.image[:, None], axis=0))

    def solve(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The step for a local and a shared right-hand side."""
        inner, outer = self.scale
        x, y = np.where(self.free[0], x / inner, 0.0), np.where(self.free[1], y / outer, 0.0)
        first = small.solve(self.lower, x) if len(x) else x
        rest = y - self.layout.gathered(np.sum(self.b * first[:, None], axis=0))
        shared = np.where(self.free[1], solved(self.schur, rest), 0.0)
        local = first - small.times(self.image, self.layout.scattered(shared))
        return local / inner, shared / outer

    def reduced(self, x: Array, y: Array, most: Array) -> Array:
        """A right-hand side of the shared unknowns alone; cells whose own step gains more than ``most`` stay there."""
        inner, outer = self.scale
        x = np.where(self.free[0], x / inner, 0.0)
        first = small.solve(self.lower, x) if len(x) else x
        first = np.where(small.dot(x, first) <= most, first, 0.0)
        return y - self.layout.gathered(np.sum(self.b * first[:, None], axis=0)) * outer

    def complement(self) -> Array:
        """The normal matrices of the shared unknowns alone."""
        outer = self.scale[1]
        return self.schur * outer[:, :, None] * outer[:, None]

    def solve_each(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The same for several right-hand sides, (row, column, cell) and (problem, unknown, column)."""
        lay, (inner, outer) = self.layout, self.scale
        x = np.where(self.free[0][:, None], x / inner[:, None], 0.0)
        y = np.where(self.free[1][..., None], y / outer[..., None], 0.0)
        first = small.solve(self.lower, x) if len(x) else x
        back = np.einsum("isc,iec->sec", self.b, first)
        columns = np.arange(x.shape[1])
        at = ((lay.problem * lay.unknowns + lay.slot)[:, None] * len(columns)) + columns[:, None]
        y = y - np.bincount(at.ravel(), back.ravel(), y.size).reshape(y.shape)
        shared = np.where(self.free[1][..., None], np.linalg.solve(self.schur, y), 0.0)
        here = np.moveaxis(shared[lay.problem, lay.slot], -1, 1)
        local = first - np.einsum("isc,sec->iec", self.image, here)
        return local / inner[:, None], shared / outer[..., None]


def solved(matrices: Array, right: Array) -> Array:
    """Solutions of symmetric systems (problem, unknown, unknown), of the least norm where they are singular."""
    good: Any = np.isfinite(matrices).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
    matrices, right = np.where(good[:, None, None], matrices, 0.0), np.where(good[:, None], right, 0.0)
    try:
        out = np.linalg.solve(
            matrices + np.where(good, 0.0, 1.0)[:, None, None] * np.eye(right.shape[1]), right[..., None]
        )
    except np.linalg.LinAlgError:
        out = np.linalg.pinv(matrices, hermitian=True) @ right[..., None]
    return np.where(good[:, None], out[..., 0], np.nan)
