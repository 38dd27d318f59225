"""Running maxima and minima along a dim; cells that tie for one share its derivative equally."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import CoreMap, Map, like
from namedgrad.primitive import LinearCore, Primitive, core, linear, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick_one
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.reductions.common import may_have_nan, over_present
from namedgrad.rules.scans.recurrence import LINE, recurrence, suffixes
from namedgrad.rules.structure import (
    cast,
    equal,
    logical_not,
    relabel,
    select,
    stamp,
    where,
    zeros_spread,
)
from namedgrad.trace import apply, innermost


class _Running(Primitive):
    """The extreme of all cells up to each one."""

    form, signature, keeps = "core", "(n)->(n)", "constants"

    def lower(self, args: Sequence[DimArray], dim: Name) -> DimArray:
        x = args[0]  # the other operand, if there is one, says which cells take part
        return make(call(self.kernel_for(x.raw), x.raw, x.names.index(dim)), x.names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name) -> Map:
        x, y = (innermost(a) for a in (ins[0], out))
        nan = _maybe_nan(_end(y, dim))
        new, hits = _new_values(y, dim, nan), equal(x, y)
        if len(ins) > 1:
            hits = e.logical_and(hits, ins[1])  # what is left out ties with nothing
        elif nan:
            hits = e.logical_or(hits, e.logical_and(e.isnan(x), e.isnan(y)))
        if _known(y) and not nan and not e.logical_and(hits, logical_not(new)).raw.any():
            return _untied_map(ins[0], new, dim)
        return _tied_map(ins[0], new, hits, dim)


def _untied_map(x: DimArray, new: DimArray, dim: Name) -> Map:
    """Of each run the cell that begins it."""
    frame: dict[Name, Name] = {dim: LINE}
    new = relabel(stamp(new, axes.by_name()), frame)
    return LinearCore(lambda ts: _along_runs(ts[0], new), lambda g: [_into_starts(g, new)], [like(x)], [frame], frame)


def _tied_map(x: DimArray, new: DimArray, hits: DimArray, dim: Name) -> Map:
    """The mean of the cells that tie so far: a recurrence that starts anew with each new extreme."""
    frame: dict[Name, Name] = {dim: LINE}
    dtype = real_dtype(x)
    hits, same = relabel(hits, frame), cast(relabel(logical_not(new), frame), dtype)
    n = e.maximum(recurrence(same, cast(hits, dtype), LINE), c(1))

    def push(ts: list[DimArray]) -> DimArray:
        return e.divide(recurrence(same, select(hits, ts[0]), LINE), n)

    def pull(g: DimArray) -> list[DimArray]:
        return [select(hits, suffixes(same, e.divide(g, n)))]

    return CoreMap(push, pull, [like(x)], [frame], frame)


def run_starts(y: DimArray, dim: Name) -> DimArray:
    """Where a cell differs from the one before it."""
    return _run_starts(y, (dim,))


def _new_values(y: DimArray, dim: Name, may_be_nan: bool) -> DimArray:
    """Where runs start, to which NaN behind NaN belongs."""
    new = run_starts(y, dim)
    if not may_be_nan:
        return new
    nan = e.isnan(y)
    return e.logical_and(new, e.logical_or(logical_not(nan), run_starts(nan, dim)))


def _end(y: DimArray, dim: Name) -> DimArray:
    """The last cells, which are NaN wherever one was met."""
    return slice_of(y, dim, slice(max(extent(y, dim) - 1, 0), None))


def _maybe_nan(x: DimArray) -> bool:
    return x.dtype.kind == "f" and may_have_nan(x)


def running_position(true: DimArray, dim: Name, none: int) -> DimArray:
    """Position of the last true cell up to each one, ``none`` where there is none yet."""
    return _last_true(true, (dim,), none=none)


def _known(x: DimArray) -> bool:
    return backends.backend_of(x.raw).may_branch and not backends.is_recording()


_CUMMAX, _CUMMIN = _Running("cummax"), _Running("cummin")
_along_runs = core("(n),(n)->(n)", "along_runs", pullback=lambda g, out, x, new: (_into_starts(g, new), None),
                   pushforward=lambda ts, out, x, new: _along_runs(ts[0], new), of_result=False)
_into_starts = core("(n),(n)->(n)", "into_starts", pullback=lambda g, out, x, new: (_along_runs(g, new), None),
                    pushforward=lambda ts, out, x, new: _into_starts(ts[0], new), of_result=False)
_along_runs.keeps = _into_starts.keeps = "constants"
# Truth values are never pulled.
_run_starts = linear("(n)->(n)", "run_starts", transpose=lambda g, x: zeros_spread(g, x))
_last_true = linear("(n)->(n)", "last_true", transpose=lambda g, x, none: zeros_spread(g, x))

_DOC = """{first}

Parameters
----------
x : DimArray
dim : name, optional
    Needed unless there is one dim only.
skipna : bool, optional
    Leave NaN out; the default for floats. It stays NaN until the first number is met. A cell left out has gradient 0.
return_indices : bool
    Give the positions as well.

Returns
-------
DimArray
    With the dims of ``x``; with ``return_indices`` a tuple of it and of the positions, those of the first of equal cells.

Raises
------
AxisError
    If the dim is unknown, or vectorized.

Notes
-----
Where a cell is the {kind} so far it has the derivative, cells that tie share it equally, as in :func:`{kind}`.
The counterpart of ``numpy.{ufunc}.accumulate`` and ``torch.{name}``.

Examples
--------
>>> import namedgrad as ng
>>> x = ng.DimArray([1.0, 3.0, 2.0, 4.0], ("x",))
>>> ng.{name}(x, "x").data
{result}
"""


def _declare(prim: _Running, kind: str, fill: float, first: str, result: str) -> Any:
    def function(
        x: DimArray, dim: Any = None, *, skipna: bool | None = None, return_indices: bool = False
    ) -> DimArray | tuple[DimArray, DimArray]:
        name = pick_one(x, dim, prim.name)

        def run(mask: DimArray | None) -> DimArray:
            return apply(prim, (x,) if mask is None else (where(mask, x, c(fill)), mask), dim=name)

        y, mask = over_present(x, skipna if x.dtype.kind in "fc" else False, run, lambda y: _end(y, name))
        if mask is not None:
            seen = e.greater_equal(running_position(mask, name, -1), c(0))
            y = where(seen, y, c(math.nan))
        if not return_indices:
            return y
        fixed = stop_gradient(y)
        return y, running_position(_new_values(fixed, name, _maybe_nan(fixed)), name, 0)

    function.__name__ = function.__qualname__ = prim.name
    function.__doc__ = _DOC.format(first=first, kind=kind, name=prim.name, ufunc=f"{kind}imum", result=result)
    return operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("missing(a,b)", dim="b", skipna=False))(
        function
    )


cummax = _declare(_CUMMAX, "max", -math.inf, "Largest value so far along a dim.", "array([1., 3., 3., 4.])")
cummin = _declare(_CUMMIN, "min", math.inf, "Smallest value so far along a dim.", "array([1., 1., 1., 1.])")
