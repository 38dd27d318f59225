"""Values at other coordinates, as xarray's ``interp`` has them: the rules of SciPy's interpolators, by name.

xarray hands each variable, the coordinates of its cells and the targets to one function that calls SciPy.  This is that
function for arrays that are differentiated or vectorized.  Every method but ``pchip``, ``akima`` and ``makima`` is
linear in the data: neighbours are gathered and weighted, or, where every cell has a weight, one matrix of weights is
made by SciPy itself.  Targets that are differentiated take the polynomials between the nodes instead of their values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import NONE, Name
from namedgrad.positional.array import PositionalArray
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import elementwise as e
from namedgrad.rules.contraction import dot
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions import any as any_of
from namedgrad.rules.reductions import prod
from namedgrad.rules.structure import add, cast, constant_like, equal, identity, relabel, where
from namedgrad.xarray.convert import beside, named, numbered
from namedgrad.xarray.splines import spline

Pairs = Mapping[Any, tuple[xr.Variable, xr.Variable]]

SPLINES = {"slinear": 1, "quadratic": 2, "cubic": 3, "quintic": 5}  #: degree
DEGREES = {"nearest": 0, "zero": 0, "linear": 1, **SPLINES}
CUBICS = frozenset(("pchip", "akima", "makima"))
LONG = 256  #: nodes
POLYNOMIALS = frozenset(("barycentric", "krogh", "krog"))


class Line(NamedTuple):
    """Where the cells of an array and the targets lie along one of its dims."""

    name: Name  #: of the dim, while targets may bring dims of the old name
    n: int
    coord: DimArray
    target: DimArray

    def interval(self, side: str = "right") -> DimArray:
        """The number of the interval of each target; those outside are in the first or the last one."""
        at = searchsorted(stop_gradient(self.coord), stop_gradient(self.target), self.name, side=side) - 1
        return e.clip(at, 0, max(self.n - 2, 0))

    def ends(self, x: DimArray, at: DimArray) -> tuple[DimArray, DimArray]:
        """The cells of an array at both ends of the intervals of these numbers."""
        return gather(x, {self.name: at}), gather(x, {self.name: at + 1})

    def outside(self) -> tuple[DimArray, DimArray]:
        """Which targets are below, which above the coordinates."""
        coord, target = stop_gradient(self.coord), stop_gradient(self.target)
        return target < slice_of(coord, self.name, 0), target > slice_of(coord, self.name, self.n - 1)


def interpolate(var: xr.Variable, pairs: Pairs, *, method: str, kwargs: dict[str, Any]) -> xr.Variable:
    """A variable at other coordinates: {dim: (coordinates of its cells, targets)}."""
    if not pairs:
        return var.copy()
    x = named(var)
    if x.dtype.kind not in "fc":
        x = cast(x, "float64")
    lines = {d: _line(x, d, *pair) for d, pair in pairs.items()}
    x = relabel(x, {d: line.name for d, line in lines.items()})
    several = list(lines.values())
    out = _together(x, several, method, kwargs) if several[1:] else along_one(x, several[0], method, kwargs)
    new = tuple(dict.fromkeys(d for _, target in pairs.values() for d in target.dims))
    kept = tuple(d for d in var.dims if d not in pairs)
    if method == "nearest" or (method == "pchip" and several[1:]) or not set(kept).isdisjoint(new):
        out = cast(out, x.dtype)  # as SciPy, and numpy.vectorize, which goes along dims that cells and targets share
    dims = (*(d for d in kept if d not in new), *new)
    return xr.Variable(dims, numbered(out, dims), var.attrs)


def _line(x: DimArray, dim: Name, coord: xr.Variable, target: xr.Variable) -> Line:
    from xarray.core.missing import _floatize_x

    if coord.dtype.kind in "mMO":  # times
        (coord,), (target,) = _floatize_x([coord], [target])
    name = axes.local(("interpolated", dim))
    at, to = (_labels_for(named(v), x) for v in (coord, target))
    kind = np.result_type(np.float64, at.dtype, to.dtype)
    return Line(name, extent(x, dim), relabel(cast(at, kind), {dim: name}), cast(to, kind))


def _labels_for(labels: DimArray, x: DimArray) -> DimArray:
    return labels if labels.level is not None else make(beside(labels.raw, x), labels.names, labels.hidden)


# ------------------------------------------------------------------------------------------------ along one dim


def along_one(x: DimArray, line: Line, method: str, kwargs: dict[str, Any]) -> DimArray:
    """Cells along one line at its targets, whose dims the result has instead."""
    options = dict(kwargs)
    if method in CUBICS:
        return _cubic(x, line, method, extrapolate=options.pop("extrapolate", None), unknown=options)
    if method in POLYNOMIALS:
        return _weighted(x, line, method)
    fill, strict = options.pop("fill_value", None), options.pop("bounds_error", False)
    fill = np.nan if fill is None else fill
    degree = _degree(method, options)
    single = x.ndim == 1 and x.dtype == np.float64 and not isinstance(fill, str)
    if method == "linear":
        out = _on_one_line(x, line) if single else _linear(x, line)
    elif method == "nearest":
        out = gather(x, {line.name: _nearest_node(line)})
    elif degree == 0:
        out = gather(cast(x, np.result_type(x.dtype, line.target.dtype)), {line.name: _left_node(line)})
    elif degree == 1:
        out = _linear(x, line, side="right")
    else:
        out = _spline(x, line, degree)
    return _bounded(out, [line], fill, strict=strict)


def _degree(method: str, options: dict[str, Any]) -> int:
    """The degree of a spline, by name or by ``order=``."""
    if method == "polynomial":
        if options.get("order") is None:
            raise ValueError("order is required when method=polynomial")
        return int(options["order"])
    if method not in DEGREES:
        known = sorted({*DEGREES, *CUBICS, *POLYNOMIALS, "polynomial"})
        raise ValueError(f"interp has no method {method!r}; methods are {', '.join(known)}")
    return DEGREES[method]


def _linear(x: DimArray, line: Line, *, side: str = "left") -> DimArray:
    """Straight lines; at a node SciPy takes the interval in front of it, so a missing cell before it reaches it."""
    if line.n == 1:
        only, there = gather(x, {line.name: line.interval()}), stop_gradient(line.target)
        return where(e.less(there, there), only, c(np.nan))  # SciPy: 0 / 0, everywhere
    at = line.interval(side)
    low, high = line.ends(x, at)
    start, stop = line.ends(line.coord, at)
    return low + (line.target - start) * ((high - low) / (stop - start))


def _on_one_line(x: DimArray, line: Line) -> DimArray:
    """By the rule of :func:`numpy.interp`, which xarray takes for single lines: a node has its own cell."""
    return _by_name(x, line, "linear")


def _by_name(x: DimArray, line: Line, method: str, fill: Any = "extrapolate") -> DimArray:
    """As ``interp`` of a DimArray."""
    target, coord = {line.name: line.target}, {line.name: line.coord}
    return OPERATIONS["interp"].function(x, target, coord, method, fill_value=fill, assume_sorted=True)


def _nearest_node(line: Line) -> DimArray:
    """The nearer node of an interval, the left one of two that are as near."""
    coord, target = stop_gradient(line.coord), stop_gradient(line.target)
    if line.n == 1:
        return line.interval()
    half = coord * 0.5
    middle = slice_of(half, line.name, slice(1, line.n)) + slice_of(half, line.name, slice(0, line.n - 1))
    return e.clip(searchsorted(middle, target, line.name), 0, line.n - 1)


def _nearer_end(line: Line) -> DimArray:
    """The same among several dims: SciPy halves the share of an interval there, and that rounds otherwise."""
    if line.n == 1:
        return line.interval()
    at = line.interval()
    start, stop = line.ends(stop_gradient(line.coord), at)
    return where((stop_gradient(line.target) - start) / (stop - start) <= 0.5, at, at + 1)


def _left_node(line: Line) -> DimArray:
    at = searchsorted(stop_gradient(line.coord), stop_gradient(line.target), line.name, side="right") - 1
    return e.clip(at, 0, line.n - 1)


def _cubic(
    x: DimArray, line: Line, method: str, *, extrapolate: Any, unknown: Mapping[str, Any] | None = None
) -> DimArray:
    if unknown:
        raise TypeError(f"interp: method {method!r} takes no {', '.join(unknown)}")
    _refuse_missing(x, method)
    x = cast(x, np.result_type(x.dtype, line.target.dtype))  # SciPy computes in double precision
    return _by_name(x, line, method, "extrapolate" if extrapolate else np.nan)


def _refuse_missing(x: DimArray, method: str) -> None:
    raw = stop_gradient(x).raw
    if backends.may_look(raw) and not np.isfinite(raw).all():
        raise ValueError(f"interp: method {method!r} needs finite data; fill missing cells first, with interpolate_na")


def _spline(x: DimArray, line: Line, degree: int) -> DimArray:
    """A spline through all nodes; one missing cell anywhere makes everything missing, as SciPy has it."""
    bad = any_of(e.isnan(stop_gradient(x)))
    x = where(bad, c(1.0), x)
    out = _long_cubic(x, line) if degree == 3 and line.n > LONG else _weighted(x, line, degree)
    return where(bad, c(np.nan), out)


def _long_cubic(x: DimArray, line: Line) -> DimArray:
    """By tridiagonal equations: a matrix of weights would be larger than what it gives."""
    return _by_name(cast(x, np.result_type(x.dtype, line.target.dtype)), line, "cubic")


# ------------------------------------------------------------------------------------------------ weights of all cells


def _weighted(x: DimArray, line: Line, rule: str | int) -> DimArray:
    """Every cell counts: a product with the matrix of weights."""
    target, fixed = line.target, _is_known(line.coord) and not line.coord.hidden
    if fixed and _is_known(target):
        return dot(x, _weights(line, rule, np.asarray(target.raw), target), dim=line.name)
    if isinstance(rule, str):
        return dot(x, _lagrange(line), dim=line.name)
    return _pieces(x, line, rule) if fixed else spline(x, line.coord, target, line.name, rule)


def _is_known(a: DimArray) -> bool:
    """Whether values are there to look at, and nothing is differentiated in them."""
    return a.level is None and backends.may_look(a.raw)


def _weights(line: Line, rule: str | int, at: np.ndarray[Any, Any], target: DimArray) -> DimArray:
    """The weight of every cell for every target: what SciPy makes of unit vectors."""
    weights = interpolator(np.asarray(line.coord.raw), rule)(at.ravel()).reshape(*at.shape, line.n)
    made = constant_like(weights, target, (*target.names, line.name))
    return make(made.raw, made.names, target.hidden)


def interpolator(nodes: np.ndarray[Any, Any], rule: str | int) -> Any:
    """SciPy's interpolator of unit vectors."""
    from scipy import interpolate

    eye = np.eye(len(nodes))
    if rule == "barycentric":
        return interpolate.BarycentricInterpolator(nodes, eye)
    if isinstance(rule, str):
        return interpolate.KroghInterpolator(nodes, eye)
    return interpolate.make_interp_spline(nodes, eye, k=rule)


def _pieces(x: DimArray, line: Line, degree: int) -> DimArray:
    """The polynomial of each interval, evaluated at the targets: a Taylor series at its start."""
    through = interpolator(np.asarray(line.coord.raw), degree)
    starts = through.t[degree : -degree - 1]  # the knots at both ends coincide
    taylor = np.stack([through(starts, nu=i) / math.factorial(i) for i in range(degree + 1)])
    power, piece = axes.local("power of pieces"), axes.local("piece")
    coefficients = dot(x, constant_like(taylor, x, (power, piece, line.name)), dim=line.name)
    left = constant_like(starts, line.target, (piece,))
    at = searchsorted(left, stop_gradient(line.target), piece, side="right") - 1
    at = e.clip(at, 0, len(starts) - 1)
    t = line.target - gather(left, {piece: at})
    mine = gather(coefficients, {piece: at})
    out = slice_of(mine, power, degree)
    for i in reversed(range(degree)):
        out = out * t + slice_of(mine, power, i)
    return out


def _lagrange(line: Line) -> DimArray:
    """Weights of the polynomial through all nodes, as a function of the targets."""
    other = axes.local("other node")
    mine = line.coord
    theirs = relabel(mine, {line.name: other})
    same = equal(identity(line.n, line.name, other, mine), c(1.0))
    apart = where(same, c(1.0), mine - theirs)
    return prod(where(same, c(1.0), (line.target - theirs) / apart), other, skipna=False)


# ------------------------------------------------------------------------------------------------ several dims together


def _together(x: DimArray, several: list[Line], method: str, kwargs: dict[str, Any]) -> DimArray:
    """Targets that share dims, point by point; as :func:`scipy.interpolate.interpn`."""
    fill, strict = kwargs.get("fill_value", np.nan), kwargs.get("bounds_error", False)
    if method == "nearest":
        out = gather(x, {line.name: _nearer_end(line) for line in several})
    elif method == "linear":
        out = _corners(x, several)
    elif method in SPLINES:
        out = x
        for line in several:
            out = _weighted(out, line, SPLINES[method])
    elif method == "pchip":
        out = x
        for line in reversed(several):
            out = _cubic(out, line, method, extrapolate=True)
    else:
        raise ValueError(
            f"{method} is not a valid interpolator for interpolating over multiple dimensions; interpolate along one "
            "after the other"
        )
    missing = functools.reduce(e.logical_or.two, [e.isnan(stop_gradient(line.target)) for line in several])
    out = _bounded(out, several, "extrapolate" if fill is None else fill, strict=strict)
    return where(missing, c(np.nan), out)


def _corners(x: DimArray, lines: list[Line]) -> DimArray:
    """Multilinear: the corners of the cell, weighted."""
    taken: list[tuple[dict[Name, DimArray], Any]] = [({}, None)]
    for line in lines:
        if line.n == 1:
            taken = [({**at, line.name: line.interval()}, w) for at, w in taken]
            continue
        at = line.interval()
        start, stop = line.ends(line.coord, at)
        t = (line.target - start) / (stop - start)
        ends = ((at, 1.0 - t), (at + 1, t))
        taken = [({**old, line.name: i}, v if w is None else w * v) for old, w in taken for i, v in ends]
    terms = [gather(x, corner) if w is None else gather(x, corner) * w for corner, w in taken]
    return functools.reduce(add.two, terms)


def _bounded(out: DimArray, lines: list[Line], fill: Any, *, strict: bool) -> DimArray:
    """Other values for targets outside."""
    if isinstance(fill, str):
        if fill != "extrapolate":
            raise ValueError(f"fill_value must be numbers or 'extrapolate', not {fill!r}")
        if not strict:
            return out
    low, high = fill if isinstance(fill, tuple) else (fill, fill)
    for line in lines:
        below, above = line.outside()
        if strict and any(bool(np.any(m.raw)) for m in (below, above)):
            raise ValueError("A value in x_new is outside the interpolation range.")
        if not isinstance(fill, str):
            out = where(below, _value(low, out), where(above, _value(high, out), out))
    return out


def _value(fill: Any, out: DimArray) -> DimArray:
    if isinstance(fill, PositionalArray):
        return fill._x
    if np.ndim(fill):
        raise TypeError("fill_value of several numbers is for plain arrays; use a number, or a pair (below, above)")
    return make(np.asarray(fill, dtype=np.result_type(out.dtype, type(np.asarray(fill)[()]))), (), NONE)
