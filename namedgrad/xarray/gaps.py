"""Missing cells along a line filled from those around them, as xarray's ``interpolate_na``, ``ffill`` and ``bfill``.

Which cells are missing is known, so each method but ``pchip``, ``akima`` and ``makima`` is a linear map of the present
cells.  The methods that look at the nearest cells only gather them; for the others SciPy gives the matrix of each
pattern of gaps, when the values are there.  Where the places of the cells are differentiated, each pattern is
interpolated as ``interp`` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes
from namedgrad.array import DimArray, TraceError, extent, refuse_while_recording
from namedgrad.axes import Name
from namedgrad.positional.array import PositionalArray, box, kin_of
from namedgrad.positional.operands import unwrap
from namedgrad.primitive import OPERATIONS, core
from namedgrad.primitive.core import CoreOp
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement.cuts import flip_axes
from namedgrad.rules.reductions import sum as sum_of
from namedgrad.rules.scans.extremes import running_position
from namedgrad.rules.sorting import argsort_of
from namedgrad.rules.structure import cast, constant_like, logical_not, not_equal, positions, relabel, reorder, where
from namedgrad.trace import innermost
from namedgrad.xarray import interpolation as splines
from namedgrad.xarray.convert import beside


def interpolate_gaps(interpolator: Any, y: Any, x: Any, **options: Any) -> Any:
    """One line (or many, as vectorized axes) with its gaps filled; ``interpolator`` is the class that xarray chose."""
    line: Name = axes.axis(-1)
    moves = isinstance(x, PositionalArray)
    data, at = unwrap(y), relabel(unwrap(x if moves else beside(np.asarray(x, dtype=float), y)), {})
    present = logical_not(e.isnan(stop_gradient(data)))
    count = sum_of(cast(present, "int64"), line)
    n = extent(data, line)
    method = options.get("method") or interpolator.__name__.removesuffix("Interpolator").lower()
    method = {"akima1d": "akima"}.get(method, method)
    filled = where(present, data, c(0.0))
    if method in {"linear", "slinear", "nearest", "zero"} and not options.get("period"):
        made = _near(filled, at, present, line, method=method, fill=options.get("fill_value"))
    elif method in splines.CUBICS:
        made = _cubics(filled, at, present, line, method, extrapolate=bool(options.get("extrapolate")))
    elif moves:
        made = _of_each_pattern(filled, at, present, line, method=method, options=options)
    else:
        nodes = np.asarray(x, dtype=float)
        made = _by_pattern(filled, nodes, present, line, interpolator=interpolator, options=options)
    done = e.logical_or(present, e.logical_or(count <= 1, count >= n))
    kin = kin_of(type(a) for a in (x, y) if isinstance(a, PositionalArray))
    return box(reorder(where(done, data, made), data.names), kin)


def places(original: Any, arr: Any, dim: Any, use_coordinate: Any = True, strict: bool = True) -> Any:
    """Where the cells lie along a dim: a coordinate that is differentiated as it is, looked at by its values."""
    coord = arr.coords[dim if use_coordinate is True else use_coordinate]
    x = innermost(unwrap(coord.data))
    refuse_while_recording("the order of a coordinate, for interpolate_na", "use_coordinate=False", x.raw)
    rows = reorder(x, (*x.vectorized, *x.dims)).raw.reshape(-1, coord.size)
    unordered = [row for row in rows if not (np.diff(row) > 0).all()]
    labels = xr.DataArray([*unordered, rows[0]][0], dims=dim)
    original(labels.assign_coords({dim: labels}), dim, strict=strict)
    return coord.data.astype(float)


# ------------------------------------------------------------------------------------------------ the nearest cells


def _near(y: DimArray, x: DimArray, present: DimArray, line: Name, *, method: str, fill: Any) -> DimArray:
    n = extent(y, line)
    before = running_position(present, line, -1)
    after = (n - 1) - flip_axes(running_position(flip_axes(present, (line,)), line, -1), (line,))
    below, above = before < 0, after >= n
    low, high = where(below, after, before), where(above, before, after)
    low, high = e.clip(low, 0, n - 1), e.clip(high, 0, n - 1)
    if isinstance(fill, str) and method in {"linear", "slinear"}:  # the first two present cells, the last two
        sooner, later = (e.clip(v, 0, n - 1) for v in (_at(before, low - 1, line), _at(after, high + 1, line)))
        low, high = where(above, sooner, low), where(above, high, where(below, later, high))
    x_low, x_high = gather(x, {line: low}), gather(x, {line: high})
    y_low, y_high = gather(y, {line: low}), gather(y, {line: high})
    if method == "nearest":
        out = where(x - x_low <= x_high - x, y_low, y_high)
    elif method == "zero":
        out = y_low
    else:
        width = where(low == high, c(1.0), x_high - x_low)
        out = y_low + (x - x_low) * ((y_high - y_low) / width)
    if isinstance(fill, str):
        return out
    left, right = fill if isinstance(fill, (tuple, list)) else (fill, fill)
    return where(below, _number(left), where(above, _number(right), out))


def _number(fill: Any) -> Any:
    return c(np.nan) if fill is None else c(float(fill))


# ------------------------------------------------------------------------------------------------ piecewise cubics


def _cubics(y: DimArray, x: DimArray, present: DimArray, line: Name, method: str, *, extrapolate: bool) -> DimArray:
    """Present cells moved to the front, where their neighbours are beside them; slopes there, cubics between."""
    n = extent(y, line)
    order = argsort_of(cast(logical_not(present), "int64"), line)
    ys, xs = gather(y, {line: order}), gather(x, {line: order})
    count = sum_of(cast(present, "int64"), line)
    slope = _slopes(ys, xs, count, line, method)
    rank = OPERATIONS["cumsum"].function(cast(present, "int64"), line) - 1
    at = e.clip(rank, 0, e.maximum(count - 2, c(0)))
    ends = {line: at}, {line: at + 1 if n > 1 else at}
    (x0, x1), (y0, y1), (s0, s1) = ([gather(v, i) for i in ends] for v in (xs, ys, slope))
    h = where(x1 == x0, c(1.0), x1 - x0)
    t = (x - x0) / h
    rise = y1 - y0
    out = y0 + t * (h * s0 + t * ((3 * rise - h * (2 * s0 + s1)) + t * (h * (s0 + s1) - 2 * rise)))
    if extrapolate:
        return out
    outside = e.logical_or(rank < 0, rank >= count - 1)
    return where(outside, c(np.nan), out)


def _at(v: DimArray, place: DimArray, line: Name) -> DimArray:
    return gather(v, {line: e.clip(place, 0, extent(v, line) - 1)})


def _slopes(y: DimArray, x: DimArray, count: DimArray, line: Name, method: str) -> DimArray:
    """Slopes at the first ``count`` nodes of each line."""
    at = positions(extent(y, line), line, y)
    last = count - 2  # the number of the last interval
    inside = at <= last
    h = where(inside, _at(x, at + 1, line) - x, c(1.0))
    d = where(inside, (_at(y, at + 1, line) - y) / h, c(0.0))
    two = count <= 2
    if method == "pchip":
        several = _pchip(h, d, at, last, line)
    else:
        several = _akima(d, at, last, line, makima=method == "makima")
    return where(two, _at(d, at * 0, line), several)


def _pchip(h: DimArray, d: DimArray, at: DimArray, last: DimArray, line: Name) -> DimArray:
    """Weighted harmonic means of the secants, 0 at extremes: Fritsch and Butland (1984)."""
    h0, d0 = _at(h, at - 1, line), _at(d, at - 1, line)
    flat = e.sign(stop_gradient(d0)) * e.sign(stop_gradient(d)) <= 0
    w0, w1 = 2 * h + h0, h + 2 * h0
    inner = where(flat, c(0.0), (w0 + w1) / (w0 / where(flat, c(1.0), d0) + w1 / where(flat, c(1.0), d)))
    ends = []
    for first, second in ((at * 0, at * 0 + 1), (at * 0 + last, at * 0 + last - 1)):
        ends.append(_pchip_end(*(_at(v, i, line) for v in (h, d) for i in (first, second))))
    return where(at == 0, ends[0], where(at == last + 1, ends[1], inner))


def _pchip_end(h0: DimArray, h1: DimArray, d0: DimArray, d1: DimArray) -> DimArray:
    """One-sided, of three points, kept from overshooting: Moler (2004), section 3.6."""
    s = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    bare, b0, b1 = stop_gradient(s), stop_gradient(d0), stop_gradient(d1)
    turned = e.sign(bare) != e.sign(b0)
    steep = e.logical_and(e.sign(b0) != e.sign(b1), abs(bare) > 3 * abs(b0))
    return where(turned, c(0.0), where(steep, 3 * d0, s))


def _akima(d: DimArray, at: DimArray, last: DimArray, line: Name, *, makima: bool) -> DimArray:
    """Means of the secants, weighted by how much those further out differ: Akima (1970), eqs. 1 and 12."""

    def secant(by: int) -> DimArray:
        """The interval that lies so far from a node; beyond the ends they go on in equal steps."""
        k = at + by
        first, second = _at(d, at * 0, line), _at(d, at * 0 + 1, line)
        final, former = _at(d, at * 0 + last, line), _at(d, at * 0 + last - 1, line)
        low = first + k * (second - first)
        high = final + (k - last) * (final - former)
        return where(k < 0, low, where(k > last, high, _at(d, k, line)))

    m1, m2, m3, m4 = (secant(i) for i in (-2, -1, 0, 1))
    w0, w1 = abs(m4 - m3), abs(m2 - m1)
    if makima:
        w0, w1 = w0 + 0.5 * abs(m4 + m3), w1 + 0.5 * abs(m2 + m1)
    both = w0 + w1
    bare = stop_gradient(both)
    top = OPERATIONS["max"].function(where(at <= last + 1, bare, c(0.0)), line, skipna=False, keepdims=False)
    tied = bare == 0 if makima else bare <= 1e-9 * top
    mean = (w0 * m2 + w1 * m3) / where(tied, c(1.0), both)
    return where(tied, c(0.0) if makima else 0.5 * (m2 + m3), mean)


# ------------------------------------------------------------------------------------------------ a matrix per pattern


class PatternWeights:
    """The weights that SciPy gives the present cells in each gap, found once per pattern of gaps."""

    def __init__(self, interpolator: Any, x: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
        self.interpolator, self.x, self.options = interpolator, x, options
        self.found: dict[bytes, tuple[Any, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return PatternWeights, (self.interpolator, self.x, self.options)

    def __dask_tokenize__(self) -> Any:
        return (self.interpolator.__name__, self.x.tobytes(), repr(sorted(self.options.items(), key=str)))

    def of(self, present: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Weights ``(missing, present)``, and what is added, for one line of truth values."""
        key = present.tobytes()
        if key not in self.found:
            self.found[key] = self._made(present)
        return self.found[key]

    def _made(self, mask: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """What SciPy makes of unit vectors on the present cells, and of nothing but zeros."""
        count = int(mask.sum())
        if not 1 < count < mask.size:
            return np.zeros((mask.size - count, count)), np.zeros(mask.size - count)
        nodes, wanted, make = self.x[mask], self.x[~mask], self.interpolator
        if make.__name__ == "SplineInterpolator" and self.options.keys() <= _THROUGH_ALL:
            made = splines.interpolator(nodes, self.options.get("order", 3))(wanted)
            return made, np.zeros(len(wanted))
        zero = make(nodes, np.zeros(count), **self.options)(wanted)
        if make.__name__ in _ONE_LINE:
            made = np.stack([make(nodes, unit, **self.options)(wanted) for unit in np.eye(count)])
        else:
            made = make(nodes, np.eye(count), **self.options)(wanted)
        return np.nan_to_num(made - np.nan_to_num(zero)).T, zero


_THROUGH_ALL = {"method", "order", "s", "fill_value"}  #: of splines through all cells, which go on outside
_ONE_LINE = frozenset(("NumpyInterpolator", "SplineInterpolator"))  #: take one line at a time
_fill: CoreOp
_back: CoreOp
_fill = core(
    "(n),(n)->(n)", "fill_gaps",
    pullback=lambda g, out, y, present, weights: [_back(g, present, weights=weights), None],
    pushforward=lambda ts, out, y, present, weights: _fill(ts[0], present, weights=weights),
)  # fmt: skip
_back = core(
    "(n),(n)->(n)", "fill_gaps_back",
    pullback=lambda g, out, y, present, weights: [_fill(g, present, weights=weights), None],
    pushforward=lambda ts, out, y, present, weights: _back(ts[0], present, weights=weights),
)  # fmt: skip
_offsets = core("(n)->(n)", "gap_offsets", pullback=lambda g, out, present, weights: [None])


def _by_pattern(
    y: DimArray, x: np.ndarray[Any, Any], present: DimArray, line: Name, *, interpolator: Any, options: dict[str, Any]
) -> DimArray:
    """The present cells times the weights that SciPy gives them in each gap."""
    if interpolator.__name__ == "SplineInterpolator":
        _refuse_smoothing(options)
    weights, mask = PatternWeights(interpolator, x, options), cast(present, "float64")
    sums = _fill(y, mask, dims=((line,), (line,)), out=(line,), weights=weights)
    return sums + _offsets(mask, dims=((line,),), out=(line,), weights=weights)


def _refuse_smoothing(options: dict[str, Any]) -> None:
    if options.get("s") != 0:
        raise TraceError(
            "interpolate_na(method='spline') smooths with knots that depend on the data, so it has no derivative; pass "
            "s=0, or take method='polynomial' or 'cubic'"
        )


def _of_each_pattern(
    y: DimArray, x: DimArray, present: DimArray, line: Name, *, method: str, options: dict[str, Any]
) -> DimArray:
    """The present cells of each pattern of gaps interpolated between places that are differentiated."""
    if options.get("period"):
        raise TraceError("interpolate_na(period=) along a coordinate that is differentiated has no derivative")
    refuse_while_recording("the gaps of a coordinate that is differentiated", "method='linear' or 'pchip'", present.raw)
    bare = reorder(present, (*(n for n in present.names if n != line), line)).raw
    out = y
    for mask in np.unique(bare.reshape(-1, bare.shape[-1]), axis=0):
        if 1 < mask.sum() < mask.size:
            known = constant_like(mask, present, (line,))
            mine = sum_of(cast(not_equal(present, known), "int64"), line) == 0
            out = where(mine, _of_pattern(y, x, mask, line, method=method, options=options), out)
    return out


def _of_pattern(
    y: DimArray, x: DimArray, mask: Any, line: Name, *, method: str, options: dict[str, Any]
) -> DimArray:
    """A line without its gaps interpolated there; its present cells are any."""
    gap, node = axes.local("gap"), axes.local("node")
    there, gone = (constant_like(np.flatnonzero(m), x, (n,)) for m, n in ((mask, node), (~mask, gap)))
    places = splines.Line(node, int(mask.sum()), gather(x, {line: there}), gather(x, {line: gone}))
    if method == "spline":
        _refuse_smoothing(options)
        method, options = "polynomial", {"order": options.get("order", 3), "fill_value": "extrapolate"}
    made = splines.along_one(gather(y, {line: there}), places, method, options)
    return gather(made, {gap: constant_like(np.maximum(np.cumsum(~mask) - 1, 0), x, (line,))})
