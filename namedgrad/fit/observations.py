"""What a fit has to say about the observations, the last argument of the residual function.

A residual is the misfit of a model and an observation times a weight, and its sign is a matter of taste.  So the weight
is read off as the derivative of the residual in the observation, and the model is where the residual vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name
from namedgrad.fit.cells import CELL, NUMBER, Index
from namedgrad.fit.halves import Half, halves_of, is_complex, whole, wholes
from namedgrad.fit.parameters import Matrix, as_float, floating, has_integers
from namedgrad.fit.problem import batches
from namedgrad.fit.residuals import Residuals, fill
from namedgrad.fit.several import names_of
from namedgrad.rules.elementwise import c, divide, log
from namedgrad.rules.movement import slice_of, split
from namedgrad.rules.structure import (
    contract,
    equal,
    multiply,
    relabel,
    reorder,
    select,
    spread,
    stamp,
    subtract,
    total,
    where,
)
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree, flatten, unflatten
from namedgrad.transforms.tape import Tape, quiet, record

OBSERVATIONS = "the last argument after params (the observations)"
VANISHES = 1e-6  # what may be left of a residual where the model meets the observations, relative to its change


class UnpairedError(TypeError):
    """A residual that depends on several arrays of observations: it has no one observation to be compared with."""


class Misfit(NamedTuple):
    """Tables ``(CELL, dims...)``: residuals, their derivative in the observations, and those."""

    name: Any  # of the observations; None if there is only one array
    residual: DimArray
    weight: DimArray
    observed: DimArray
    leaf: Any  # what the residual function returned for them
    half: Half  # what the observations are
    output: int  # which of the arrays that the residual function returned
    sizes: dict[Name, int]  # of that array
    place: tuple[Name, int] | None = None  # where along a dim of it the residuals are, which has others, too

    @property
    def model(self) -> DimArray:
        """The observations for which the residuals vanish."""
        with quiet():
            return subtract(self.observed, divide(self.residual, self.weight))

    def part_of(self, table: DimArray) -> DimArray:
        """Where these residuals are in a table of the array that they are part of."""
        return table if self.place is None else slice_of(table, *self.place)


class Model(NamedTuple):
    """What observations should be: what to call it, a table, and what the residual function returned for it."""

    name: Any
    table: DimArray
    leaf: Any


def misfits(problem: Residuals, matrix: Matrix, args: Any, *, weighted: bool) -> list[Misfit]:
    """Residuals and weights of the cells whose parameters are ``matrix``, with missing observations made up.

    One for each array that the residual function returns, or two if that has real and imaginary parts along a dim.
    """
    count = matrix.shape[1]
    if not args["data"]:
        raise TypeError("there are no observations: the residual function takes nothing after params")
    *given, last = args["data"]
    parts = problem.parameters.parts(matrix, problem.backend)
    last = _observations(last, lambda y: problem.call(parts, {"data": (*given, y)}))
    tree = Tree(last)
    outs: list[Output] = []

    halves = halves_of(tree.parts)

    def residual(observed: Sequence[DimArray]) -> Sequence[DimArray]:
        out = problem.call(parts, {"data": (*given, tree.rebuild(wholes(halves, observed)))})
        outs.append(problem.apart(out, args, weighted=weighted))
        return outs[-1].parts

    with quiet():
        filled = [fill(x) if x.names else multiply(fill(x), problem.one()) for x in tree.parts]  # beside the data
        complete = [half.of(filled) for half in halves]
        tape = record(residual, complete)
        weights = [_pushed(tape, j, problem.one()) for j in range(len(complete))]
        found, model, used = list[Misfit](), list(complete), set[int]()
        for i, r in enumerate(tape.outs):
            of = _observed_in(i, tape, weights, halves)
            used.update(of)
            several = [_misfit(problem, count, r, weights[j][i], complete[j])._replace(
                leaf=leaf_of(outs[0], i), half=halves[j], output=i,
            ) for j in of]  # fmt: skip
            for j, at in zip(of, _along_a_dim(several) if len(of) == 2 else several, strict=True):
                found.append(at)
                if set(at.observed.names) == set(problem.table(complete[j], count, "observations").names):
                    model[j] = _as_argument(at.model, complete[j], problem)
        if all(model[j] is not complete[j] for j in used):
            left = residual(model)
            for at in found:
                _require_met(at.part_of(problem.table(left[at.output], count, "residual")), at)
    return _named(found, last, outs[0])


def models(found: Sequence[Misfit]) -> list[Model]:
    """The models, complex where the real and the imaginary part of observations are both known."""
    out = []
    for k, at in enumerate(found):
        before = [x for x in found[:k] if x.half == at.half]
        other = [x for x in found if x.half == at.half.other][len(before) : len(before) + 1]
        if at.half.part == "imag" and other:
            continue
        with quiet():
            table = whole(at.model, other[0].model) if other else at.model
        out.append(Model(at.name, reorder(table, at.model.names), at.leaf))
    return out


def _observations(last: Any, call: Callable[[Any], Any]) -> Any:
    """Floating-point, but for structures with integers that the function wants as such."""
    if not isinstance(last, (xr.Dataset, xr.DataTree, Mapping, list, tuple)):
        return last if is_complex(last) else as_float(last, OBSERVATIONS)
    leaves, how = flatten(last)
    if not any(map(has_integers, leaves)):
        return last
    real = unflatten(how, [floating(x) if has_integers(x) else x for x in leaves])
    try:
        with quiet():
            call(real)
    except Exception:  # noqa: BLE001 - whatever the user's function raises
        return last
    return real


def _pushed(tape: Tape, j: int, one: DimArray) -> list[DimArray]:
    """The derivatives of all outputs in one input."""
    ts: list[DimArray | None] = [None] * len(tape.ins)
    ts[j] = one
    return tape.push(ts)


def _observed_in(i: int, tape: Tape, weights: Sequence[Sequence[DimArray]], halves: Sequence[Half]) -> list[int]:
    """The observations on which a residual depends: those of one array, or its real and its imaginary part."""
    alone = len(weights) == len(tape.outs) == 1
    of = [j for j, w in enumerate(weights) if alone or w[i].to_numpy().any()]
    if not math.prod(tape.outs[i].full_shape):  # no number tells
        of = [j for j in range(len(weights)) if tape.reached(j)[i]]
    if len(of) == 1 or (len(of) == 2 and len({halves[j].array for j in of}) == 1):
        return of
    raise UnpairedError(
        f"residual {i + 1} depends on {len(of)} of the {len(weights)} arrays in {OBSERVATIONS}, not on one"
    )


def _misfit(problem: Residuals, count: int, r: DimArray, weight: DimArray, observed: DimArray) -> Misfit:
    r = problem.table(r, count, "residual")
    y = problem.table(observed, count, "observations")
    if extra := [n for n in y.names if n not in r.names]:
        raise AxisError(f"the residual lacks the dims {extra} of the observations, its last argument")
    sizes = dict(zip(r.names[1:], r.full_shape[1:], strict=True))
    if long := [n for n, s in zip(y.names, y.full_shape, strict=True) if sizes.get(n, s) != s]:
        raise UnpairedError(
            f"the residual has {sizes[long[0]]} numbers along {long[0]!r}, and the observations, its last argument, "
            f"{dict(zip(y.names, y.full_shape, strict=True))[long[0]]}: of which each one is cannot be known; "
            'return several arrays, as in {"a": a, "b": b}, or joined along a dim of their own; where xarray left out '
            f"labels that differ, .drop_vars({long[0]!r}) pairs by position"
        )
    return Misfit(None, r, problem.table(weight, count, "residual"), spread(y, r), None, Half(0, None), 0, sizes)


def _along_a_dim(several: Sequence[Misfit]) -> list[Misfit]:
    """Real and imaginary parts in one array, each where it is along a dim that the observations lack."""
    one = several[0]
    for n in one.sizes:
        places = [np.flatnonzero(_any_but(at.weight, one.residual, n)) for at in several]
        if all(x.size == 1 for x in places) and places[0] != places[1]:
            return [_sliced(at, n, int(x[0])) for at, x in zip(several, places, strict=True)]
    raise UnpairedError(
        f"residual {one.output + 1} depends on the real and on the imaginary part of {OBSERVATIONS}, and does not have "
        'them apart: return {"real": r.real, "imag": r.imag}, or both joined along a dim of their own'
    )


def _any_but(weight: DimArray, like: DimArray, name: Name) -> Any:
    """Where along a dim a weight is not 0."""
    whole = reorder(spread(weight, like), like.names).to_numpy()
    return (whole != 0).any(axis=tuple(k for k, n in enumerate(like.names) if n != name))


def _sliced(at: Misfit, name: Name, k: int) -> Misfit:
    r, w, y = (slice_of(spread(x, at.residual), name, k) for x in (at.residual, at.weight, at.observed))
    return at._replace(residual=r, weight=w, observed=y, place=(name, k))


def _named(found: Sequence[Misfit], last: Any, out: Output) -> list[Misfit]:
    """With what to call the observations: as they are called, or as the output that is about them."""
    if len(out.parts) == 1:
        return [*found]
    outputs, own = names_of(out), [*found]
    if isinstance(last, xr.Dataset):
        names = [n for n, v in last.data_vars.items() if v.dtype.kind in "fc"]
        own = [at._replace(name=names[at.half.array]) for at in found]
    if len({(at.name, at.half) for at in own}) == len(own) and own[0].name is not None:
        return own
    return [at._replace(name=outputs[at.output]) for at in found]


def leaf_of(out: Output, i: int) -> Any:
    """What holds an array of the output."""
    if len(out.tree.leaves) > 1:
        return out.tree.leaves[i]
    leaf = out.tree.leaves[0]
    return leaf[names_of(out)[i]] if isinstance(leaf, (xr.Dataset, xr.DataTree)) else leaf


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
        found = misfits(problem, matrix[:, index], problem.arguments(index), weighted=True)
        with quiet():
            parts = [_squares(at, seen) for at, seen in zip(found, _seen(problem, index, found), strict=True)]
        out[:, index] = np.sum(parts, axis=0)
    return out[0], out[1]


def _squares(at: Misfit, seen: DimArray | None) -> list[Any]:
    dims = at.residual.names[1:]
    several = (reorder(x, at.residual.names) for x in (at.residual, at.weight, at.observed))
    r, w, y = (x if seen is None else select(seen, x) for x in several)
    squares = multiply(w, w)
    whole = total(squares, dims)
    known = where(equal(whole, c(0.0)), c(1.0), whole)  # an array of several may have no observations
    mean = divide(contract(squares, y, dims), known)
    off = multiply(w, subtract(y, mean))
    return [contract(x, x, dims).to_numpy() for x in (r, off)]


def _seen(problem: Residuals, index: Index, found: Sequence[Misfit]) -> list[DimArray | None]:
    """Which residuals of some cells count, by array."""
    seen = problem.seen(index)
    if seen is None:
        return [None] * len(found)
    if NUMBER not in seen.names:
        return [at.part_of(seen) for at in found]
    out: list[DimArray | None] = []
    for at, part in zip(found, parts_of(found), strict=True):
        some = slice_of(seen, NUMBER, part)
        out.append(at.part_of(split(some, NUMBER, at.sizes)) if at.sizes else slice_of(some, NUMBER, 0))
    return out


def parts_of(found: Sequence[Misfit]) -> list[slice]:
    """Where the array that residuals are part of is among all numbers."""
    whole = {at.output: math.prod(at.sizes.values()) for at in found}
    first = {i: sum(n for j, n in whole.items() if j < i) for i in whole}
    return [slice(first[at.output], first[at.output] + whole[at.output]) for at in found]


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
