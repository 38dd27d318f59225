"""The model of a fit as a surface over its parameters: values and slopes anywhere, at any coordinates.

What a residual function says of its model is seen by giving it observations of zero.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name, Names
from namedgrad.fit.cells import CELL, Index
from namedgrad.fit.labels import followers
from namedgrad.fit.labels import moved as with_labels
from namedgrad.fit.parameters import Matrix, floating, has_integers
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.small import Array
from namedgrad.linear import like
from namedgrad.rules.structure import spread, stamp
from namedgrad.transforms.leaves import Tree, flatten, unflatten
from namedgrad.transforms.tape import Tape, quiet, record

APART = 1e-6  # of residuals: what is no rounding
ONE = np.zeros(1, int)  # the cell that a model is seen from
FIRST = 16  # cells that tell whether residuals are differences
ELSEWHERE = 0.5  # of coordinates, in the same order


class Slopes(NamedTuple):
    """The model (point, observation), its derivatives (parameter, ...) and those in the coordinates (coordinate, ...).

    Those in coordinates are along ``x`` itself, which scales them, and along 1, which shifts them.
    """

    value: Array
    params: Array
    scaled: Array
    shifted: Array


class Surface:
    """The model of a problem, seen from its first cell.

    Attributes
    ----------
    units : of each coordinate, in which all coordinates here are counted; 1 until somebody knows better
    x : the coordinates of that cell, floating-point arrays
    shared : whether all cells have the same
    nothing : observations that are none: 0, or 1 where the residual takes their logarithm, or is relative to them
    differs : whether residuals are known to be no differences of model and observations
    labels : coordinates by the dims whose labels move with them
    """

    def __init__(self, problem: Residuals) -> None:
        self.problem = problem
        self.indices = set[int]()  # integers that the model wants as such, and so are no coordinates
        self.indices = self._indices()
        parts = self._coordinates(problem.arguments(ONE))[0].parts
        self.given: list[Array] = [np.asarray(self._visible(x)) for x in parts]
        self.units = [1.0] * len(parts)
        self.shared = not any(CELL in x.names for x in parts)
        self.nothing, self.differs = 0.0, False
        self.labels = dict[Name, int]()
        self.kept = [tuple(n for n in x.names if n is not CELL) for x in parts]

    @property
    def x(self) -> list[Array]:
        """The coordinates of that cell."""
        return [x / unit for x, unit in zip(self.given, self.units, strict=True)]

    @staticmethod
    def _visible(x: DimArray) -> Any:
        full = make(x.raw, x.names, NONE)
        return full.to_numpy().reshape(tuple(s for n, s in zip(x.names, x.full_shape, strict=True) if n is not CELL))

    def _coordinates(self, args: Any) -> tuple[Tree, Any]:
        """All arguments but the observations; and the observations. They are floating-point where they are numbers."""
        leaves, how = flatten(args["data"])
        whole = self._integers(leaves) - self.indices
        *given, last = unflatten(how, [floating(x) if i in whole else x for i, x in enumerate(leaves)])
        return Tree(tuple(given)), last

    def _indices(self) -> set[int]:
        """The arguments with which the model fails where they are floating-point."""
        args, found = self.problem.arguments(ONE), set[int]()
        every = self._integers(flatten(args["data"])[0])
        for i in every:
            self.indices = every - {i}
            try:
                with quiet():
                    tree, last = self._coordinates(args)
                    self.problem.call(
                        self.problem.parameters.parts(self.problem.start[:, ONE], self.problem.backend),
                        {"data": (*tree.rebuild(tree.parts), last)},
                    )
            except Exception:  # noqa: BLE001 - whatever the user's function raises
                found.add(i)
        return found

    @staticmethod
    def _integers(leaves: Sequence[Any]) -> set[int]:
        return {i for i, x in enumerate(leaves) if has_integers(x)}

    def each(self, index: Index) -> list[Array]:
        """The coordinates of some cells (cell, ...), as they differ."""
        parts = self._coordinates(self.problem.arguments(index))[0].parts
        tables = [self.problem.table(x, len(index), "coordinate").to_numpy() for x in parts]
        return [x.reshape(len(index), -1) / unit for x, unit in zip(tables, self.units, strict=True)]

    def values(self, points: Matrix, x: Sequence[Array] | None = None, observed: Array | None = None) -> Array:
        """The model at some parameters (parameter, point), less what is observed (point, observation)."""
        return self._table(self._tape(points, x, along=False, observed=observed).outs[0], points.shape[1])

    @functools.cached_property
    def movable(self) -> bool:
        """Whether the model can be seen at other coordinates; a model that makes labels of them moves those, too."""
        for labels in ({}, followers(self.problem.arguments(ONE)["data"], self.given)):
            self.labels = labels
            with contextlib.suppress(Exception):  # whatever the user's function raises
                points, x = self.problem.start[:, ONE], [v * ELSEWHERE for v in self.x]
                if self.values(points, x).size == self.problem.per_cell:
                    return True
        return False

    def ordered(self, x: Sequence[Array]) -> list[Array]:
        """Coordinates, those that are labels in the order of the data."""
        out = list(x)
        for k in self.labels.values():
            out[k] = np.sort(out[k])[self.given[k].argsort().argsort()]
        return out

    def show(self, free: Sequence[int], typical: Array) -> None:
        """Choose observations of 1 for 0 where the model shows only, or more, from there; see what residuals are."""
        seen = []
        for self.nothing in (0.0, 1.0):
            at = self.slopes(typical[:, None], along=False)
            moves = (np.where(np.isfinite(at.params), at.params, 0.0)[list(free)] != 0).any(axis=2).sum()
            seen.append((np.isfinite(at.value).any(), moves))
        self.nothing = float(seen[1] > seen[0])
        some = np.repeat(typical[None, :, None], 2, axis=0)
        some[:, free] *= np.random.default_rng(0).uniform(0.5, 2.0, (2, len(free), 1))
        alone = len(Tree(self._coordinates(self.problem.arguments(ONE))[1]).parts) == 1
        self.differs = alone and not self.is_difference(some[0], some[1], self.problem.everywhere[:FIRST])

    def slopes(self, points: Matrix, x: Sequence[Array] | None = None, *, along: bool = True) -> Slopes:
        """The model and its derivatives at some parameters (parameter, point); without ``along``, in those alone."""
        tape, count = self._tape(points, x, along=along), points.shape[1]
        p, one = self.problem.parameters.count, self.problem.one()
        value = self._table(tape.outs[0], count)
        several = [self._pushed(tape, k, one, value.shape) for k in range(p)]
        given = (self.x if x is None else x) if along else ()
        at = [self._made(v * unit, n) for v, unit, n in zip(given, self.units, self.kept, strict=False)]
        scaled = [self._pushed(tape, p + k, t, value.shape) for k, t in enumerate(at)]
        shifted = [self.units[k] * self._pushed(tape, p + k, one, value.shape) for k in range(len(at))]
        shape = (-1, *value.shape)
        return Slopes(value, *(np.reshape(v, shape) for v in (several, scaled, shifted)))

    def _tape(
        self, points: Matrix, x: Sequence[Array] | None, *, along: bool, observed: Array | None = None
    ) -> Tape:
        problem, count = self.problem, points.shape[1]
        args = problem.arguments(np.zeros(count, int))
        tree, last = self._coordinates(args)
        seen = Tree(last)
        if observed is None:
            nothing = seen.rebuild([_filled_with(self.nothing, y) for y in seen.parts])
        else:
            (y,) = seen.parts
            names = (CELL, *(n for n in y.names if n is not CELL))
            nothing = seen.rebuild([stamp(self._made(observed, names), y.hidden)])
        own, labels = tree.parts, dict[Name, Array]()
        if x is not None:
            labels = {dim: x[k] * self.units[k] for dim, k in self.labels.items()}
            own = [self._replaced(part, v * unit) for part, v, unit in zip(own, x, self.units, strict=True)]
        params = problem.parameters.parts(points, problem.backend)

        def residual(parts: Sequence[DimArray]) -> Sequence[DimArray]:
            data = (*tree.rebuild(parts[len(params) :] if along else own), nothing)
            data = with_labels(data, labels) if labels else data
            return problem.checked(problem.call(parts[: len(params)], {"data": data}), args, weighted=False).parts

        with quiet():
            return record(residual, [*params, *(own if along else ())])

    def _replaced(self, part: DimArray, x: Array) -> DimArray:
        """A coordinate with other values, the same in all copies of the cell."""
        names = tuple(n for n in part.names if n is not CELL)
        return stamp(spread(self._made(x, names), like(part)), part.hidden)

    def _made(self, x: Array, names: Names) -> DimArray:
        """An array where the data are."""
        return make(backends.call(self.problem.backend.asarray, x), names, NONE)

    def _pushed(self, tape: Tape, k: int, tangent: DimArray, shape: tuple[int, ...]) -> Array:
        ts: list[DimArray | None] = [None] * len(tape.ins)
        own = tape.ins[k]
        wide = spread(tangent, own) if tangent.names else tangent  # type: ignore[arg-type]
        ts[k] = stamp(wide, own.hidden) if tangent.names else wide
        return self._table(tape.push(ts)[0], shape[0])

    def observed(self, points: Matrix, index: Index) -> Array:
        """What the model should be (cell, observation), seen from where it is finite; NaN where that is missing."""
        none, there = self._pair(points, index)
        return none - there

    def is_difference(self, points: Matrix, others: Matrix, index: Index) -> bool:
        """Whether what observations add to residuals is the same at other parameters."""
        (a, b), (c, d) = (self._pair(x, index) for x in (points, others))
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.maximum.reduce([np.abs(x) for x in (a, b, c, d)])
            return not (np.abs((a - b) - (c - d)) > APART * size).any()

    def _pair(self, points: Matrix, index: Index) -> tuple[Array, Array]:
        """Residuals (cell, observation) without observations and with them."""
        problem, args = self.problem, self.problem.arguments(index)
        given, last = args["data"][:-1], self._coordinates(args)[1]
        tree = Tree(last)
        none = tree.rebuild([_filled_with(self.nothing, y) for y in tree.parts])
        parts = problem.parameters.parts(np.repeat(points, len(index), axis=1), problem.backend)

        def residual(y: Any) -> Array:
            out = problem.checked(problem.call(parts, {"data": (*given, y)}), args, weighted=False)
            return self._table(out.parts[0], len(index))

        with quiet():
            return residual(none), residual(last)

    def _table(self, x: DimArray, count: int) -> Array:
        return self.problem.table(x, count, "residual").to_numpy().reshape(count, -1)


def _filled_with(value: float, x: DimArray) -> DimArray:
    raw = backends.call(backends.backend_of(x.raw).full, (), value, np.dtype(np.float64))
    return stamp(spread(make(raw, (), NONE), like(x)), x.hidden)
