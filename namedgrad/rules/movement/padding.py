"""Cells added at both ends of dims."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.linear import Like
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules.dims import mapping
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import divide, floor, rint
from namedgrad.rules.movement.cuts import flip_axes, slice_of, uncut_slice
from namedgrad.rules.movement.joining import join
from namedgrad.rules.structure import (
    add,
    alongside,
    cast,
    multiply,
    positions,
    relabel,
    reorder,
    spread,
    subtract,
)

INDEXED = ("edge", "reflect", "symmetric", "wrap")
STATISTICS = ("maximum", "mean", "median", "minimum")
MODES = ("constant", "empty", "linear_ramp", *INDEXED, *STATISTICS)


@operation(sample("real(a,b)", pad_width={"a": (1, 2)}, constant_values=0.25), sample("real(a,b)", pad_width={"b": 1, "a": 2}, mode="reflect"),
           sample("real(a,b)", pad_width={"b": (2, 1)}, mode="wrap"), sample("real(a,b)", pad_width={"b": (0, 3)}, mode="edge"),
           sample("real(a,b)", pad_width={"a": (3, 3)}, mode="symmetric"), sample("real(a,b)", pad_width={"b": (2, 1)}, mode="linear_ramp", end_values=(0.5, -1.0)),
           sample("real(nine,b)", pad_width={"nine": (2, 1)}, mode="mean", stat_length=4), sample("real(nine,b)", pad_width={"nine": (2, 1)}, mode="maximum"),
           sample("real(nine,b)", pad_width={"nine": (2, 1)}, mode="median", stat_length=(3, 2)), sample("real(nine)", pad_width={"nine": (2, 3)}, mode="reflect", reflect_type="odd"),
           sample("real(six,b)", pad_width={"six": (-1, 2)}, mode="edge"), method=True)
def pad(
    x: DimArray,
    /,
    pad_width: Mapping[Any, Any] | None = None,
    mode: str = "constant",
    stat_length: Any = None,
    constant_values: Any = None,
    end_values: Any = None,
    reflect_type: str | None = None,
    **keywords: Any,
) -> DimArray:
    """Add cells at both ends of dims.

    Parameters
    ----------
    x : DimArray
    pad_width : mapping of dim to int or (before, after), optional
        Or as keywords: ``a.pad(x=(1, 2))``. Negative numbers take cells away, before the others are added;
        ``"edge"`` repeats the last cell if all are taken.
    mode : str
        One of ``"constant"``, ``"edge"``, ``"linear_ramp"``, ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``,
        ``"reflect"``, ``"symmetric"``, ``"wrap"`` and ``"empty"``, as in :func:`numpy.pad`.
    stat_length : int or (before, after), or mapping of dim to them, optional
        For ``"maximum"``, ``"mean"``, ``"median"`` and ``"minimum"``: how many cells at each end are used; all by default.
    constant_values : scalar or (before, after), or mapping of dim to them, optional
        For ``"constant"``; NaN by default, and 0 along dims that a mapping lacks, as in xarray. They may be arrays, which
        are differentiated too.
    end_values : scalar or (before, after), or mapping of dim to them, optional
        For ``"linear_ramp"``: what the ramps end in; 0 by default.
    reflect_type : {"even", "odd"}, optional
        For ``"reflect"`` and ``"symmetric"``: whether the reflection is taken as it is, or subtracted from twice the
        edge.
    **keywords
        ``pad_width`` in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the mode is unknown, or there are no cells to pad from.

    Notes
    -----
    Dims are padded one after the other, in the order given. The gradient of a cell is the sum over its copies. Cells of
    ``"empty"`` are 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    >>> a.pad(x=(1, 2), mode="edge").data
    array([1., 1., 2., 3., 3., 3.])
    >>> a.pad(x=1, constant_values=0.0).data
    array([0., 1., 2., 3., 0.])
    """
    if mode not in MODES:
        raise ValueError(f"pad: mode {mode!r} is not one of {', '.join(map(repr, MODES))}")
    if reflect_type not in (None, "even", "odd"):
        raise ValueError(f"pad: reflect_type {reflect_type!r} is neither 'even' nor 'odd'")
    if mode == "constant" and constant_values is None:
        constant_values = np.nan
    for name, width in mapping(x, pad_width, keywords, "pad").items():
        before, after = map(operator.index, _sides(width, name))
        values = {"constant": constant_values, "empty": 0, "linear_ramp": 0 if end_values is None else end_values}
        option = _sides(values.get(mode, stat_length), name, missing=0 if mode in values else None)
        x = pad_axis(x, name, (before, after), mode, option, odd=reflect_type == "odd")
    return x


def _sides(value: Any, name: Name, missing: Any = None) -> tuple[Any, Any]:
    """What holds before and behind a dim: one value for both, a pair, or either by dim, as far as it is there."""
    if isinstance(value, Mapping):
        value = value.get(name, missing)
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        before, after = value if len(value) > 1 else (value[0], value[0])
        return before, after
    return value, value


def pad_axis(x: DimArray, name: Name, width: tuple[int, int], mode: str, option: tuple[Any, Any], *, odd: bool) -> DimArray:
    """One axis, whatever its name, longer (or shorter) at both ends."""
    n, size = extent(x, name), extent(x, name) + sum(width)
    before, after = (max(0, w) for w in width)
    if mode == "edge" and size > 0 < n <= -min(width):  # an edge beyond which all others were taken away
        return _indexed(slice_of(x, name, slice(n - 1, n) if after else slice(0, 1)), name, 0, size - 1, mode)
    x = slice_of(x, name, slice(max(0, -width[0]), max(n - max(0, -width[1]), 0)))
    if not (before or after):
        return x
    longer = [(side, w, v) for side, (w, v) in enumerate(zip((before, after), option, strict=True)) if w]
    if mode in ("constant", "empty"):
        if x.dtype.kind in "fc" and all(_is_zero(v) for _, _, v in longer):  # one operation, and one write
            kept = extent(x, name)
            return uncut_slice(x, name, index=slice(before, before + kept), size=before + kept + after)
        ends = {side: _filled(x, name, w, v) for side, w, v in longer}
    elif not extent(x, name):
        raise ValueError(f"pad: {name!r} has no cells that mode {mode!r} could take values from; use mode='constant'")
    elif mode in INDEXED:
        skip = int(mode == "reflect")
        if odd and mode in ("reflect", "symmetric") and extent(x, name) > skip:
            return _turned(x, name, before, after, skip)
        return _indexed(x, name, before, after, mode)
    elif mode == "linear_ramp":
        ends = {side: _ramp(x, name, w, v, side) for side, w, v in longer}
    else:
        ends = {side: _statistic(x, name, mode, w, v, side) for side, w, v in longer}
    parts = [p for p in (ends.get(0), x, ends.get(1)) if p is not None]
    return reorder(join(parts, name), axes.in_order((*x.names, *(n for p in parts for n in p.names))))


def _filled(x: DimArray, name: Name, size: int, value: Any) -> DimArray:
    shape = tuple(size if n == name else s for n, s in zip(x.names, x.full_shape, strict=True))
    cell = alongside(constant(value), x)
    cell = cast(cell, x.dtype) if _fits(value, x.dtype) else cell
    return relabel(spread(cell, Like(x.names, shape, x.dtype)), {}, hide=tuple(n for n in x.hidden if n not in cell.names))


def _is_zero(value: Any) -> bool:
    """Whether it is a plain number of Python's without a sign, which has the dtype of whatever it meets."""
    return type(value) in (int, float) and not value and math.copysign(1, value) > 0


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number of Python's is one of the whole numbers of a dtype, which it then leaves as it is."""
    if dtype.kind not in "iu" or not isinstance(value, int):
        return False
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


Run = tuple[int, int, int]  # the first and last position of cells that follow one another, and how many there are


def _indexed(x: DimArray, name: Name, before: int, after: int, mode: str) -> DimArray:
    """Cells taken from the axis itself, run by run."""
    n = extent(x, name)
    index = np.pad(np.arange(n), (before, after), mode=mode).tolist()  # type: ignore[call-overload]
    return _extend(x, (name,), before=_runs(index[:before]), after=_runs(index[before + n :]))


def _runs(index: list[int]) -> tuple[Run, ...]:
    """Positions that mostly follow one another, up or down, or stay: as slices, so that gradients need no scatter."""
    runs, start = [], 0
    while start < len(index):
        step = index[start + 1] - index[start] if start + 1 < len(index) else 1
        stop = start + 1
        while stop < len(index) and index[stop] - index[stop - 1] == step and abs(step) <= 1:
            stop += 1
        runs.append((index[start], index[stop - 1], stop - start))
        start = stop
    return tuple(runs)


_extend = linear("(n)->(n)", "extend", moves=1, transpose=lambda g, x, before, after: _take_back(g, before=before, after=after))
_take_back = linear("(n)->(n)", "take_back", transpose=lambda g, x, before, after: _extend(g, before=before, after=after))


def _turned(x: DimArray, name: Name, before: int, after: int, skip: int) -> DimArray:
    """Beyond an edge of value e the cell for v is 2 e - v; ``skip`` 1 leaves the edge itself out."""
    period = extent(x, name) - skip
    while before or after:
        n = extent(x, name)
        left, right = min(before, period), min(after, period)
        ends = [(slice(0, 1), slice(skip, skip + left)), (slice(n - 1, n), slice(n - skip - right, n - skip))]
        parts = [_opposite(x, name, edge, part) for edge, part in ends]
        x = reorder(join([parts[0], x, parts[1]], name), x.names)
        before, after = before - left, after - right
    return x


def _opposite(x: DimArray, name: Name, edge: slice, part: slice) -> DimArray:
    e = slice_of(slice_of(x, name, edge), name, 0)
    return subtract(multiply(e, constant(2)), flip_axes(slice_of(x, name, part), (name,)))


def _ramp(x: DimArray, name: Name, width: int, end: Any, side: int) -> DimArray:
    """From the end value, outermost, to the edge, which is not repeated."""
    edge = slice_of(x, name, (extent(x, name) - 1) * side)
    edge = edge if x.dtype.kind in "fc" else cast(edge, "float64")  # which may be less than what the ramp ends in
    steps = positions(width, name, x)
    steps = steps if side == 0 else subtract(constant(width - 1), steps)
    weight = cast(divide(steps, constant(max(width, 1))), real_dtype(x))
    last = constant(end)
    ramp = add(last, multiply(subtract(edge, last), weight))
    return ramp if x.dtype.kind in "fc" else cast(ramp if x.dtype.kind == "b" else floor(ramp), x.dtype)


def _statistic(x: DimArray, name: Name, mode: str, width: int, length: Any, side: int) -> DimArray:
    from namedgrad.rules import reductions
    from namedgrad.rules.sorting import median

    n = extent(x, name)
    used = n if length is None else min(int(length), n)
    if used < 1:
        raise ValueError(f"pad: stat_length={length!r} leaves no cells for mode {mode!r}")
    part = slice_of(x, name, slice(0, used) if side == 0 else slice(n - used, n))
    functions = {"maximum": reductions.max, "mean": reductions.mean, "median": median, "minimum": reductions.min}
    cell = functions[mode](part, (name,), skipna=False)
    if x.dtype.kind not in "fc":  # truth values are not rounded: they are whether there is anything, as in NumPy
        cell = cast(cell if x.dtype.kind == "b" else rint(cell), x.dtype)
    return spread(cell, Like((*cell.names, name), (*cell.full_shape, width), cell.dtype))
