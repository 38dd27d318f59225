"""What a fit has to say about the observations, the last argument of the residual function.

A residual is the misfit of a model and an observation times a weight, and its sign is a matter of taste.  So the weight
is read off as the derivative of the residual in the observation, and the model is where the residual vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.array import DimArray
from namedgrad.axes import AxisError
from namedgrad.fit.cells import CELL
from namedgrad.fit.parameters import Matrix, as_float
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals, fill
from namedgrad.rules.elementwise import divide, log
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import (
    contract,
    multiply,
    relabel,
    reorder,
    spread,
    stamp,
    subtract,
    total,
)
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.tape import quiet, record

OBSERVATIONS = "the last argument after params (the observations)"
VANISHES = 1e-6  # what may be left of a residual where the model meets the observations, relative to its change


class Misfit(NamedTuple):
    """Tables ``(CELL, dims...)``: residuals, their derivative in the observations, and those."""

    residual: DimArray
    weight: DimArray
    observed: DimArray
    leaf: Any  # what the residual function returned

    @property
    def model(self) -> DimArray:
        """The observations for which the residuals vanish."""
        with quiet():
            return subtract(self.observed, divide(self.residual, self.weight))


def misfit(problem: Residuals, matrix: Matrix, args: Any, *, weighted: bool) -> Misfit:
    """Residuals and weights of the cells whose parameters are ``matrix``, with missing observations made up."""
    count = matrix.shape[1]
    if not args["data"]:
        raise TypeError("there are no observations: the residual function takes nothing after params")
    *given, last = args["data"]
    tree = Tree(last if isinstance(last, (xr.Dataset, xr.DataTree)) else as_float(last, OBSERVATIONS))
    if len(tree.parts) != 1:
        raise TypeError(
            f"{OBSERVATIONS} are a {type(last).__name__} of {len(tree.parts)} arrays; for this, fit one at a time, or "
            "compute it from fit.params and fit.residual"
        )
    parts = problem.parameters.parts(matrix, problem.backend)

    leaf: Any = None

    def residual(observed: Sequence[DimArray]) -> Sequence[DimArray]:
        nonlocal leaf
        out = problem.call(parts, {"data": (*given, tree.rebuild(observed))})
        leaf = out.tree.leaves[0]
        return problem.checked(out, args, weighted=weighted).parts

    with quiet():
        complete = [fill(x) for x in tree.parts]
        tape = record(residual, complete)
        r = problem.table(tape.outs[0], count, "residual")
        weight = problem.table(tape.push([problem.one()])[0], count, "residual")
        y = problem.table(complete[0], count, "observations")
        if extra := [n for n in y.names if n not in r.names]:
            raise AxisError(f"the residual lacks the dims {extra} of the observations, its last argument")
        found = Misfit(r, weight, spread(y, r), leaf)
        if set(y.names) == set(r.names):
            left = residual([_as_argument(found.model, tree.parts[0], problem)])[0]
            _require_met(problem.table(left, count, "residual"), found)
    return found


def _as_argument(x: DimArray, like: DimArray, problem: Residuals) -> DimArray:
    """A table in the layout of an argument."""
    x = relabel(x, {}, hide=(CELL,)) if problem.cells.names else slice_of(x, CELL, 0)
    return reorder(x, (*(n for n in x.names if n not in like.names), *like.names))


def _require_met(left: DimArray, found: Misfit) -> None:
    size = multiply(found.weight, found.model)
    largest = max(float(np.nanmax(np.abs(x.to_numpy()), initial=0.0)) for x in (size, found.residual))
    if np.nanmax(np.abs(left.to_numpy()), initial=0.0) > VANISHES * largest:
        raise ValueError(
            "the residual is not linear, element by element, in its last argument, which counts as the observations; "
            "write it as a weight times (model - observations), with the observations last"
        )


# ------------------------------------------------------------------------------------------------ over all cells


def squares(problem: Residuals, matrix: Matrix) -> Matrix:
    """The sum of squared weighted residuals per cell."""
    out = np.full(problem.cells.count, np.nan)
    for index in batches(problem.everywhere[np.isfinite(matrix).all(axis=0)], problem.size):
        with quiet():
            r = problem.counted(problem.residual(matrix[:, index], index), index)
            out[index] = contract(r, r, problem.dims).to_numpy()
    return out


def sums_of_squares(problem: Residuals, matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Weighted squares per cell: of the residuals, and of the observations about their weighted mean."""
    out = np.full((2, problem.cells.count), np.nan)
    for index in batches(problem.everywhere, problem.size):
        at = misfit(problem, matrix[:, index], problem.arguments(index), weighted=True)
        with quiet():
            r, w, y = (problem.counted(x, index) for x in (at.residual, at.weight, at.observed))
            squares = multiply(w, w)
            mean = divide(contract(squares, y, problem.dims), total(squares, problem.dims))
            off = multiply(w, subtract(y, mean))
            out[:, index] = [contract(x, x, problem.dims).to_numpy() for x in (r, off)]
    return out[0], out[1]


def log_weights(problem: Residuals) -> Matrix:
    """Sum of log(1 / sigma) over the residuals that count, per cell."""
    out = np.zeros(problem.cells.count)
    if not problem.weighted:
        return out
    for index in batches(problem.everywhere, problem.size):
        args = problem.arguments(index)
        with quiet():
            plain = problem.call(problem.parameters.parts(problem.start[:, index], problem.backend), args)
            ones = Output(plain.tree.rebuild([stamp(spread(problem.one(), x), x.hidden) for x in plain.parts]))
            weight = problem.table(problem.checked(ones, args).parts[0], len(index), "sigma")
            out[index] = total(problem.counted(log(weight), index), problem.dims).to_numpy()
    return out
