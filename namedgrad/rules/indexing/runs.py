"""Reductions over runs of cells along a dim, given by their lengths or by where they start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, describe, extent, make
from namedgrad.axes import AxisError, Name
from namedgrad.backends import call
from namedgrad.linear import Like, Map, like
from namedgrad.primitive import LinearCore, Primitive, operation, sample
from namedgrad.primitive.linear import LAST, linear
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import new_name, pick_one
from namedgrad.rules.dtypes import real_dtype, widened
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing.positions import beside, named_index
from namedgrad.rules.indexing.reduce import Spot, check_kind, counts, reduced
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.structure import (
    add,
    cast,
    constant_like,
    equal,
    multiply,
    positions,
    relabel,
    reorder,
    select,
    stamp,
    where,
    zeros_spread,
)
from namedgrad.trace import apply, innermost

# fmt: off
sum_runs    = linear("(n)->(n)", "sum_runs", kernel="reduce_runs", transpose=lambda g, x, bounds, how: repeat_runs(g, bounds=bounds))
repeat_runs = linear("(n)->(n)", "repeat_runs", moves=1, transpose=lambda g, x, bounds: sum_runs(g, bounds=bounds, how="add"))
# fmt: on


class _RunExtreme(Primitive):
    """The largest, or smallest, cell of every run; cells that tie share its derivative."""

    form, signature, keeps = "core", "(n)->(m)", "constants"

    def __init__(self, name: str, how: str) -> None:
        super().__init__(name, "reduce_runs")
        self.how = how

    def lower(self, args: Sequence[DimArray], dim: Name, bounds: Any) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, x.names.index(dim), bounds=bounds, how=self.how)
        return make(raw, x.names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name, bounds: Any) -> Map:
        frame: dict[Name, Name] = {dim: LAST[0]}
        x, y = (relabel(innermost(a), frame) for a in (ins[0], out))
        tie = stamp(equal(repeat_runs(y, bounds=bounds), x), axes.by_name())

        def shared(a: DimArray) -> DimArray:
            return cast(e.divide(a, e.maximum(sum_runs(cast(tie, real_dtype(x)), bounds=bounds, how="add"), c(1))), a.dtype)

        def push(ts: list[DimArray]) -> DimArray:
            return shared(sum_runs(select(tie, ts[0]), bounds=bounds, how="add"))

        def pull(g: DimArray) -> list[DimArray]:
            return [select(tie, repeat_runs(shared(g), bounds=bounds))]

        return LinearCore(push, pull, [like(ins[0])], [frame], frame)


_LARGEST, _SMALLEST = _RunExtreme("run_max", "maximum"), _RunExtreme("run_min", "minimum")
_KINDS = ("sum", "mean", "prod", "amax", "amin")


@operation(
    sample("real(six,a)", reduce="sum", lengths=[2, 0, 3, 1], dim="six"),
    sample("real(a,nine)", reduce="mean", lengths=[4, 4, 0, 1], dim="nine", initial=0.7),
    sample("real(b,eight)", reduce="max", offsets=[0, 3, 8], dim="eight", new_dim="run"),
    sample("real(eight)", reduce="min", lengths=[3, 4], dim="eight", unsafe=True),
    sample("real(a,six)", reduce="prod", lengths=[3, 0, 3], dim="six", initial=-1.3),
)  # fmt: skip
def segment_reduce(
    x: DimArray, reduce: str, *, lengths: Any = None, offsets: Any = None, dim: Name = None, initial: float | None = None,
    unsafe: bool = False, new_dim: Name | None = None,
) -> DimArray:  # fmt: skip
    """Reduce consecutive runs of cells along a dim.

    Parameters
    ----------
    x : DimArray
    reduce : {"sum", "mean", "prod", "max", "min"}
    lengths : integer array or DimArray
        How many cells each run has, along the new dim; with other dims, vectorized or not, each slice has its own runs.
        Without a name its axis is the new dim.
    offsets : integer array or DimArray
        In place of lengths: where each run starts, and after the last one where it ends.
    dim : name, optional
        Needed unless there is one dim only.
    initial : float, optional
        Takes part in every run, as a first cell does in a sum, and a mean too, whose divisor it does not change.
    unsafe : bool
        Do not look whether the runs fit: what they leave over is left out.
    new_dim : name, optional
        The dim that counts the runs; ``dim`` by default.

    Returns
    -------
    DimArray
        With the new dim in place of ``dim``. A run without cells is ``initial``, or 0, NaN, 1, -inf and inf.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    TypeError
        Unless either lengths or offsets are given, and integers.
    ValueError
        If a run has a negative length, or the lengths do not add up to the size; on NumPy only, where looking is free.

    Notes
    -----
    Cells that tie in ``max`` and ``min`` share the derivative, that of ``prod`` is right at zeros. Counterpart:
    ``torch.segment_reduce``. For cells in any order see :func:`segment_sum` and its kin.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 5.0], ("x",))
    >>> ng.segment_reduce(x, "mean", lengths=[2, 0, 1], dim="x").data
    array([1.5, nan, 5. ])
    """
    what = "segment_reduce"
    kind = check_kind(reduce, _KINDS, what)
    if (lengths is None) == (offsets is None):
        raise TypeError(f"{what}: give either lengths= or offsets=")
    dim = pick_one(x, dim, what)
    name = dim if new_dim is None or new_dim == dim else new_name(x, new_dim, what)
    run: Name = axes.local(("run", name))
    if kind == "mean" and x.dtype.kind not in "fc":
        x = cast(x, "float64")  # sums of integers may leave their range
    elif kind in {"sum", "prod"}:
        x = widened(x)
    found = _read(lengths if offsets is None else offsets, name, run)
    if not unsafe:
        _check(found, run, extent(x, dim), whole=offsets is None)
    first, ends = c(0), found.cumsum(run)
    if lengths is None:
        first, ends = slice_of(found, run, 0), slice_of(found, run, slice(1, None))
    bounds = _bounds(first, ends, dim, x)
    if bounds is not None and kind != "prod":
        n = constant_like(np.diff(bounds).astype(real_dtype(x)), x, (run,)) if kind == "mean" else None
        out = _finished(relabel(_of_known(x, dim, bounds, kind), {dim: run}), kind, initial, n)
        return reorder(relabel(out, {run: name}), tuple(name if k == dim else k for k in x.names))
    out = relabel(_scattered(x, dim, run, (first, ends), kind, initial), {run: name})
    order = (name if k == dim else k for k in x.names)
    return reorder(out, tuple(k for k in dict.fromkeys((*out.vectorized, *order, *out.names)) if k in out.names))


def _scattered(
    x: DimArray, dim: Name, run: Name, bounds: tuple[DimArray, DimArray], kind: str, initial: float | None
) -> DimArray:
    """Runs whose bounds differ per slice, or are not known: each cell finds its own, those before the first another."""
    (first, ends), size = bounds, extent(bounds[1], run)
    place = positions(extent(x, dim), dim, ends)
    group = searchsorted(ends, place, run, side="right")
    group = beside(where(e.less(place, first), c(size), group), x)
    target = zeros_spread(x, Like((run,), (size + 1,), x.dtype))
    at = Spot([group], (run,), (dim,))
    out = reduced(target, x, at, "sum" if kind == "mean" else kind)
    n = counts(target, at, real_dtype(x)) if kind == "mean" else None
    return slice_of(_finished(out, kind, initial, n), run, slice(0, size))


def _read(value: Any, name: Name, run: Name) -> DimArray:
    """Lengths or offsets along a dim of their own."""
    found = named_index(value, name)
    if found.dtype.kind not in "iu":
        raise TypeError(f"segment_reduce: lengths and offsets are integers, not {found.dtype}")
    if name not in found.dims:
        raise AxisError(f"segment_reduce: {describe(found)} needs the dim {name!r}, along which runs are counted")
    return relabel(cast(found, np.dtype(np.intp)), {name: run})


def _check(found: DimArray, run: Name, size: int, *, whole: bool) -> None:
    """Refuse lengths, or offsets, that do not fit."""
    axis = found.names.index(run)
    if not whole and not extent(found, run):
        raise ValueError("segment_reduce: offsets need at least one cell, where the last run ends")
    if not backends.may_look(found.raw):
        return
    cells = found.raw if whole else np.diff(found.raw, axis=axis, prepend=0)
    ends = cells.sum(axis)
    if np.any(cells < 0):
        raise ValueError("segment_reduce: a run has a negative length")
    wrong = ends[ends != size] if whole else ends[ends > size]
    if wrong.size:
        raise ValueError(f"segment_reduce: runs end at {wrong.flat[0]} of {size} cells; unsafe=True leaves the rest out")


def _bounds(first: DimArray, ends: DimArray, dim: Name, x: DimArray) -> Any:
    """Where runs start and end that are the same for all slices and fill the dim; None of others, or unknown ones.

    None on a device too, to which they would be copied at every call.
    """
    if ends.ndim != 1 or ends.hidden or not backends.may_look(ends.raw):
        return None
    if not backends.backend_of(innermost(x).raw).may_branch:
        return None
    found = np.append(first.raw, ends.raw)
    return found if found[0] == 0 and found[-1] == extent(x, dim) and (np.diff(found) >= 0).all() else None


def _of_known(x: DimArray, dim: Name, bounds: Any, kind: str) -> DimArray:
    """Runs between such bounds reduced along the dim; for a mean the sum."""
    if kind in {"sum", "mean"}:
        return sum_runs(x, (dim,), bounds=bounds, how="add")
    return apply(_LARGEST if kind == "amax" else _SMALLEST, (x,), dim=dim, bounds=bounds)


def _finished(out: DimArray, kind: str, initial: float | None, n: DimArray | None) -> DimArray:
    """With the initial value, and divided by the number of cells."""
    if initial is not None:
        start = c(float(initial))
        join = {"sum": add, "mean": add, "prod": multiply, "amax": e.maximum, "amin": e.minimum}[kind]
        out = join(out, start)
    if n is None:
        return out
    empty = c(math.nan) if initial is None else out
    return where(equal(n, c(0)), empty, e.divide(out, e.maximum(n, c(1))))
