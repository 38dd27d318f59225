"""Which candidates for start values promise most, in all cells at once: 3. of :mod:`~namedgrad.fit.starts`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.problem import batches
from namedgrad.fit.surface import Slopes, Surface
from namedgrad.fit.symmetry import Symmetry

Array = np.ndarray[Any, Any]
FEWEST = 256  # candidates, at least, that are drawn and seen together
ELEMENTS = 1 << 22  # numbers that all candidates predict together, at most, unless they are the fewest
OBSERVATIONS = 512  # that candidates are compared by, at most
BY_SPAN, BY_SLOPES, BY_BOTH, LIKELY = 4, 4, 8, 256  # candidates that a cell tries, and those that count for both
GAPPY = 0.25  # of the observations of a cell: where they are missing, nothing is made up between the others
TOGETHER, GROUP = 128, 32  # cells whose candidates are compared at a time, in the cache; and candidates in a group
SINGULAR, NEARLY = 1e-10, 1e-5  # the latter in 32 bits


class Judge:
    """Candidates as directions in the space of observations.

    Parameters
    ----------
    found : the symmetries of the model
    points : the candidates (parameter, candidate)
    surface, x : the model, and the coordinates to see it at
    free : the rows of the parameters that are sought

    Attributes
    ----------
    there : the observations at which any has a finite model; at the others, such as what a shift loses, none counts
    sound : those whose model is finite at all of these
    lowest : the parameters for which the model is closest to 0
    """

    def __init__(self, found: Symmetry, points: Array, surface: Surface, x: list[Array], free: list[int]) -> None:
        self.points = points
        at = _in_turn(surface, points, x)
        finite = np.isfinite(at.value) & np.isfinite(at.params[free]).all(axis=0)
        self.there = np.flatnonzero(finite.any(axis=0))
        self.sound = np.flatnonzero(finite[:, self.there].all(axis=1) & (self.there.size > 0))
        self.all_seen = self.there.size <= OBSERVATIONS
        self.some = np.linspace(0, self.there.size - 1, min(OBSERVATIONS, self.there.size)).astype(int)
        if not (finite.all() and self.all_seen):  # they are large
            at = Slopes(*(x[..., self.sound, :][..., self.there[self.some]] for x in at))
        linear = at.params[found.linear]
        left = at.value - np.einsum("kc,kcn->cn", points[found.linear][:, self.sound], linear)
        self.rises = found.left and found.rise is not None
        more = left[None] if self.rises else left[None][:0]
        self.span = _orthonormal(linear)
        apart = left - np.einsum("ckn,ck->cn", self.span, np.einsum("ckn,cn->ck", self.span, left))
        there = np.linalg.norm(apart, axis=1) > math.sqrt(SINGULAR) * np.linalg.norm(left, axis=1)
        self.apart = np.where(there[:, None], apart, 0.0)  # what is left, but for what linear parameters can make of it
        if self.rises:
            self.span = np.concatenate([self.span, _unit(self.apart)[:, None]], axis=1)
        self.slopes = _orthonormal(np.concatenate([at.params[free], more]))
        self.offset = np.zeros_like(left) if self.rises or not found.left else left
        low = self.sound[np.abs(left).max(axis=1, initial=0.0).argsort()[:1]]
        self.lowest = points[:, low]
        self.lowest[found.linear] = 0.0

    def seen(self, z: Array) -> Array:
        """Those of the observations (cell, observation) that count here; NaN where many are missing."""
        z = z[:, self.there]
        many = self.all_seen & (np.isnan(z).mean(axis=1) > GAPPY)
        return np.where(many[:, None], z, complete(z))[:, self.some]

    def promised(self, z: Array) -> tuple[Array, Array]:
        """What candidates promise to leave of observations after one step (candidate, cell), in parts; and the least.

        The parts are those of all there is, less 1; the least (cell,) is twice a cost.
        """
        left = self._left(self.slopes, z)
        return left, np.nansum(z * z, axis=1) * (1 + left.min(axis=0))

    def __call__(self, z: Array, promised: Array, times: int = 1) -> tuple[Array, Array]:
        """Candidates for each cell (trial, cell), and how much (in logs) what is left of each should grow.

        They are so many times as many as usual.
        """
        now = self._left(self.span, z)
        several = (slice(i, i + TOGETHER) for i in range(0, len(z), TOGETHER))
        chosen = np.concatenate([_chosen(now[:, at], promised[:, at], times) for at in several], axis=1)
        chosen.sort(axis=0)  # their order decides between equal ones, and must not depend on other cells
        return self.sound[chosen], self._growth(chosen, z)

    def _left(self, basis: Array, z: Array) -> Array:
        """Squares of what is left (candidate, cell) in parts of all, less 1; for a comparison 32 bits will do."""
        gaps = ~np.isfinite(z).all(axis=1)
        if gaps.any():
            whole = np.empty((len(basis), len(z)), np.float32)
            whole[:, gaps], whole[:, ~gaps] = self._left_of_some(basis, z[gaps]), self._left(basis, z[~gaps])
            return whole
        size = np.linalg.norm(z, axis=1)
        size = np.where(size > 0, size, 1.0)
        unit = (z / size[:, None]).astype(np.float32)
        out = np.empty((len(basis), len(z)), np.float32)
        for some in batches(np.arange(len(basis)), FEWEST):
            q = basis[some]
            seen = (q.reshape(-1, q.shape[2]).astype(np.float32) @ unit.T).reshape(*q.shape[:2], len(z))
            if self.rises and basis is self.span:  # what is left may grow, but not turn its sign
                np.maximum(seen[:, -1], 0.0, out=seen[:, -1])
            out[some] = -np.einsum("ckz,ckz->cz", seen, seen)
            if self.offset.any():
                off = self.offset[some]
                off = off - np.einsum("ckn,ck->cn", q, np.einsum("ckn,cn->ck", q, off))
                out[some] += np.einsum("cn,cn->c", off, off)[:, None] / size**2 - 2 * (off @ z.T) / size**2
        return out

    def _left_of_some(self, basis: Array, z: Array) -> Array:
        """The same where observations are missing: there the bases are not orthonormal."""
        there, z = np.isfinite(z), np.nan_to_num(z)
        size = np.linalg.norm(z, axis=1)
        size = np.where(size > 0, size, 1.0)
        unit, seen = (x.T.astype(np.float32) for x in (z / size[:, None], there))
        out, rows = np.empty((len(basis), len(z)), np.float32), np.arange(basis.shape[1])
        for some in batches(np.arange(len(basis)), max(1, ELEMENTS // (max(1, rows.size) ** 2 * len(z)))):
            q, off = np.swapaxes(basis[some], 0, 1).astype(np.float32), self.offset[some]
            normal, pull = (q[:, None] * q) @ seen, q @ unit
            normal[rows, rows] += NEARLY
            if off.any():
                pull -= (q * off) @ there.T / size
            several = (x.reshape(*x.shape[:-2], math.prod(x.shape[-2:])) for x in (normal, pull))
            out[some] = -_explained(*several).reshape(pull.shape[1:])
            if off.any():
                out[some] += (off**2 @ there.T / size - 2 * (off @ unit)) / size
        return out

    def _growth(self, chosen: Array, z: Array) -> Array:
        if not self.rises:
            return np.zeros(chosen.shape)
        apart = self.apart[chosen]  # (trial, cell, observation)
        along, size = np.einsum("tcn,cn->tc", apart, complete(z)), np.einsum("tcn,tcn->tc", apart, apart)
        rises = (along > 0) & (size > 0)
        return np.log(np.where(rises, along, 1.0) / np.where(rises, size, 1.0))


def _explained(normal: Array, pull: Array) -> Array:
    """How much less the squares are at the solution of normal equations."""
    return small.dot(pull, small.solve(small.cholesky(normal), pull))


def _chosen(now: Array, promised: Array, times: int) -> Array:
    """The candidates that leave least now, those that promise to, and of the likely ones of these the first again."""
    limit = np.partition(promised, min(LIKELY, len(promised)) - 1, axis=0)[:LIKELY][-1]
    both = np.where(promised <= np.fmin(limit, np.inf), now, np.inf)  # NaN comes last
    several = (now, times * BY_SPAN), (promised, times * BY_SLOPES), (both, times * BY_BOTH)
    return np.concatenate([least(cost, count) for cost, count in several])


def least(cost: Array, count: int) -> Array:
    """The rows with the least cost, per column; of many they are in the groups that have the least of all."""
    whole = len(cost) // GROUP * GROUP
    if 2 * GROUP * count > whole:
        return np.argpartition(cost, min(count, len(cost)) - 1, axis=0)[:count]
    first = np.fmin.reduce(cost[:whole].reshape(-1, GROUP, *cost.shape[1:]), axis=1)
    groups = np.argpartition(first, count - 1, axis=0)[:count]
    inside = (GROUP * groups[:, None] + np.arange(GROUP)[:, None]).reshape(-1, cost.shape[1])
    rest = np.broadcast_to(np.arange(whole, len(cost))[:, None], (len(cost) - whole, cost.shape[1]))
    rows = np.concatenate([inside, rest])
    return np.take_along_axis(rows, least(np.take_along_axis(cost, rows, 0), count), 0)


def _orthonormal(columns: Array) -> Array:
    """Orthonormal bases (candidate, vector, observation) of the spans of (column, candidate, observation)."""
    a = _unit(np.swapaxes(columns, 0, 1))
    values, vectors = np.linalg.eigh(a @ np.swapaxes(a, 1, 2))
    factor = np.where(values > SINGULAR, 1 / np.sqrt(np.maximum(values, SINGULAR)), 0.0)
    return np.swapaxes(vectors * factor[:, None], 1, 2) @ a


def _unit(x: Array) -> Array:
    """Vectors (..., observation) of length 1, or 0."""
    size = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.where(size > 0, size, 1.0))


def _in_turn(surface: Surface, points: Array, x: list[Array]) -> Slopes:
    """Slopes at many points, some at a time."""
    several = [surface.slopes(points[:, at], x, along=False) for at in batches(np.arange(points.shape[1]), FEWEST)]
    return Slopes(*(np.concatenate(v, axis=-2) for v in zip(*several, strict=True)))


def complete(z: Array) -> Array:
    """Observations with missing ones interpolated in their order."""
    out, n = z.copy(), np.arange(z.shape[1])
    for i in np.flatnonzero(~np.isfinite(z).all(axis=1)):
        there = np.isfinite(z[i])
        out[i] = np.interp(n, n[there], z[i, there])
    return out
