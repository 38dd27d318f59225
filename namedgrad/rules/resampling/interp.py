"""Interpolation at coordinates: differentiable in the data, in the targets and in the coordinates themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant, describe, extent, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import HALF, narrow, wide
from namedgrad.rules.indexing import gather
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.movement import slice_of
from namedgrad.rules.resampling.neighbours import Tap, weigh, weighted
from namedgrad.rules.resampling.splines import HERMITE, hermite
from namedgrad.rules.sorting import argsort_of
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    isfinite,
    known_finite,
    logical_not,
    multiply,
    positions,
    reorder,
    select,
    subtract,
    where,
    while_finite,
)
from namedgrad.trace import innermost

STEPS = {"nearest", "zero", "previous", "next"}
METHODS = ("linear", *sorted(STEPS), *HERMITE)


@operation(
    sample("real(a,six)", "inside(b)", dim="six"), sample("real(a,six)", "inside(b)", "ascending(six)", dim="six"),
    sample("complex(six)", "inside(a,b)", "ascending(a,six)", dim="six", fill_value="extrapolate"),
    sample("real(a,six)", "inside(b)", "ascending(six)", dim="six", method="cubic"),
    sample("real(six)", "inside(a)", "ascending(six)", dim="six", method="pchip"),
    method=True,
)  # fmt: skip
def interp(
    x: DimArray, /, targets: Any = None, coords: Any = None, method: str = "linear", *, dim: Name = None, fill_value: Any = np.nan,
    bounds_error: bool = False, assume_sorted: bool = False, kwargs: Mapping[str, Any] | None = None, **keywords: Any,
) -> DimArray:  # fmt: skip
    """Values at other coordinates.

    Parameters
    ----------
    x : DimArray
    targets : mapping of dim to DimArray, array or number
        Where values are wanted, also as keywords: ``ng.interp(a, x=[0.5, 1.5])``. A DimArray brings its dims in place of
        the dim; those that share dims are taken together, point by point. A plain array or list lies along the dim.
        With ``dim``, the targets along that one dim.
    coords : mapping of dim to DimArray, or method, optional
        Where the cells of ``x`` are: along the dim, and along any dims more, if each slice has its own. By default they
        are at 0, 1, 2 ... With ``dim``, the coordinates of that one dim. Without any targets it is these that are given
        here, as xarray calls them.
    method : {"linear", "nearest", "previous", "next", "cubic", "pchip", "akima", "makima"}
        ``"cubic"`` is the spline with continuous second derivatives and the condition "not a knot" at its ends. Point by
        point there are ``"linear"`` and the four methods without slopes; the others go along the last dim first.
    dim : name, optional
    fill_value : scalar, DimArray, pair of these or "extrapolate"
        What is given outside the coordinates (below, above): NaN by default, as in xarray.
    bounds_error : bool
        Raise for targets outside the coordinates.
    assume_sorted : bool
        Coordinates are in ascending order; else they are sorted.
    kwargs : mapping, optional
        ``fill_value`` and ``bounds_error``, as xarray takes them.
    **keywords
        Targets in keyword form.

    Returns
    -------
    DimArray
        In the dtype of ``x``; integers become floats.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or coordinates have another size along it.
    ValueError
        If the method is unknown, the dim is empty, or a target is outside and ``bounds_error`` is set.

    Notes
    -----
    As xarray's ``interp`` and :mod:`scipy.interpolate`. Differentiable in all three; at a node the derivative in the
    target is that of the interval to its right (at the last node, to its left). A NaN, or an infinite cell, reaches
    only the intervals that it bounds; at a node of its own a cell is given as it is. A target that is NaN gives NaN,
    and one outside the fill value, with gradient 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([0.0, 10.0, 40.0], ("x",))
    >>> ng.interp(a, {"x": [0.5, 1.5]}).data
    array([ 5., 25.])
    >>> where, at = ng.DimArray([1.0, 2.0, 4.0], ("x",)), ng.DimArray([3.0], ("point",))
    >>> ng.interp(a, {"x": at}, {"x": where}).data, ng.grad(lambda at: ng.interp(a, {"x": at}, {"x": where}).sum())(at).data
    (array([25.]), array([15.]))
    """
    if isinstance(coords, str) and coords in METHODS:  # as in xarray's method
        coords, method = None, coords
    if targets is None and not keywords:
        targets, coords = coords, None
    if kwargs:
        return interp(x, targets, coords, method, dim=dim, assume_sorted=assume_sorted,
                      **{"fill_value": fill_value, "bounds_error": bounds_error, **keywords, **kwargs})  # fmt: skip
    if method not in METHODS:
        raise ValueError(f"interp: method {method!r} is not one of {', '.join(map(repr, METHODS))}")
    wanted = _table(x, targets, dim, keywords)
    given = {} if coords is None else dict(coords) if isinstance(coords, Mapping) else {_only(wanted): coords}
    half = x.dtype == HALF
    x = wide(x) if x.dtype.kind in "fc" else cast(x, "float64")
    order = x.names
    for group in reversed(_groups(wanted)):  # as SciPy
        prepared = {}
        for d in group:
            coord = _coordinate(x, d, given.get(d))
            if coord is not None and not assume_sorted:
                x, coord = _sorted(x, coord, d)
            prepared[d] = Along(x, d, coord, wanted[d], method)
        x = _grouped(x, prepared, method)
        for along in prepared.values():
            x = along.filled(x, fill_value, bounds_error=bounds_error)
        order = _replaced(order, {d: wanted[d] for d in group})
    x = reorder(x, (*(n for n in order if n in x.names), *(n for n in x.names if n not in order)))
    return narrow(x) if half else x


def _table(x: DimArray, targets: Any, dim: Name, keywords: Mapping[str, Any]) -> dict[Name, DimArray]:
    if dim is not None:
        targets = {dim: targets}
    elif targets is not None and not isinstance(targets, Mapping):
        constant(targets, "interp: targets")  # what is no array is refused as such
        raise TypeError("interp: targets of one array need dim=; else give a mapping of dims to targets")
    found = {**(targets or {}), **keywords}
    return {check(x, d, "interp"): _target(t, d) for d, t in found.items()}


def _target(t: Any, dim: Name) -> DimArray:
    if isinstance(t, (list, tuple)) or (backends.is_array(t) and t.ndim == 1):
        t = make(t if backends.is_array(t) else np.asarray(t, float), (dim,), NONE)
    t = constant(t, f"interp: the targets along {dim!r}")
    return wide(t) if t.dtype.kind == "f" else cast(t, "float64")


def _only(wanted: Mapping[Name, Any]) -> Name:
    if len(wanted) != 1:
        raise TypeError("interp: coords of several dims are given as a mapping")
    return next(iter(wanted))


def _coordinate(x: DimArray, dim: Name, coord: Any) -> DimArray | None:
    n = extent(x, dim)
    if not n:
        raise ValueError(f"interp: {dim!r} is empty in {describe(x)}")
    if coord is None:
        return None
    t = _target(coord, dim)
    if extent(t, check(t, dim, "interp: coords")) != n:
        raise AxisError(f"interp: coords {describe(t)} have another size along {dim!r} than {describe(x)}")
    return t


def _sorted(x: DimArray, coord: DimArray, dim: Name) -> tuple[DimArray, DimArray]:
    """Both in ascending order; not moved where that is known to be so."""
    bare = innermost(coord)
    if backends.may_look(bare.raw):
        steps = np.diff(bare.raw, axis=bare.names.index(dim))
        if not (steps < 0).any():
            return x, coord
    order = argsort_of(bare, dim)
    return gather(x, {dim: order}), gather(coord, {dim: order})


def _groups(wanted: Mapping[Name, DimArray]) -> list[list[Name]]:
    """Dims whose targets meet: they are taken together, point by point."""
    groups: list[tuple[set[Name], list[Name]]] = []
    for d, t in wanted.items():
        mine, names = [d], {*t.names, d}
        for other in [g for g in groups if g[0] & names]:
            groups.remove(other)
            mine, names = [*other[1], *mine], names | other[0]
        groups.append((names, mine))
    return [g[1] for g in groups]


def _replaced(order: tuple[Name, ...], wanted: Mapping[Name, DimArray]) -> tuple[Name, ...]:
    """New dims in the place of the first that they replace."""
    new = tuple(dict.fromkeys(n for t in wanted.values() for n in t.names))
    at = min(order.index(d) for d in wanted)
    rest = [n for n in order if n not in wanted and n not in new]
    return (*(n for n in order[:at] if n in rest), *new, *(n for n in order[at:] if n in rest))


class Along:
    """Where targets lie along one dim."""

    def __init__(self, x: DimArray, dim: Name, coord: DimArray | None, target: DimArray, method: str) -> None:
        self.dim, self.n, self.coord, self.method = dim, extent(x, dim), coord, method
        kind = np.result_type(target.dtype, *(() if coord is None else (coord.dtype,)))
        self.kind, self.target = x.dtype.type(0).real.dtype, cast(target, kind)
        self.there = None if known_finite(target) else logical_not(e.isnan(stop_gradient(target)))
        bare = stop_gradient(self.target)
        if method in STEPS:
            self.at = self._step(bare, method)
            return
        self.at = self._left(bare)
        self.t = self._fraction()

    def _left(self, target: DimArray) -> DimArray:
        """The left end of the interval."""
        n = self.n
        if self.coord is None:
            place = select(isfinite(target), target) if self.there is not None else target
            return cast(e.clip(e.floor(place), 0, max(n - 2, 0)), "int64")
        return e.clip(add(searchsorted(stop_gradient(self.coord), target, self.dim, side="right"), c(-1)), 0, max(n - 2, 0))

    def _step(self, target: DimArray, method: str) -> DimArray:
        coord = self.coord
        if coord is None:
            coord = cast(positions(self.n, self.dim, target), target.dtype)
        coord = stop_gradient(coord)
        if method == "nearest":
            half = multiply(coord, c(0.5))
            middle = add(slice_of(half, self.dim, slice(1, self.n)), slice_of(half, self.dim, slice(0, self.n - 1)))
            return e.clip(searchsorted(middle, target, self.dim), 0, self.n - 1) if self.n > 1 else _first(target)
        if method == "next":
            return e.clip(searchsorted(coord, target, self.dim), 0, self.n - 1)
        return e.clip(add(searchsorted(coord, target, self.dim, side="right"), c(-1)), 0, self.n - 1)

    def right(self) -> DimArray:
        """The right end of the interval."""
        return e.minimum(add(self.at, c(1)), c(self.n - 1))

    def _fraction(self) -> DimArray:
        """How far along its interval a target lies; its length is kept, but for 1, and whether that is infinite."""
        self.wide: DimArray | None = None
        self.endless: DimArray | None = None
        if self.coord is None:
            t = subtract(self.target, cast(self.at, self.target.dtype))
        else:
            t = self._part(*(gather(self.coord, {self.dim: at}) for at in (self.at, self.right())))
        return cast(t if self.there is None else select(self.there, t), self.kind)

    def _part(self, start: DimArray, stop: DimArray) -> DimArray:
        width = subtract(stop, start)
        empty = equal(width, c(0))  # the last, where coordinates end with equal ones: the last cell counts, as in NumPy
        self.wide = where(empty, c(1), width)
        t = where(empty, c(1), e.divide(subtract(self.target, start), self.wide))
        return t if known_finite(width) else where(isfinite(width), t, self._part_of_endless(start, stop))

    def _part_of_endless(self, start: DimArray, stop: DimArray) -> DimArray:
        """From an infinite coordinate all others are equally far: the cell at its finite end counts, but there."""
        start, stop, target = (stop_gradient(v) for v in (start, stop, self.target))
        inside = where(isfinite(start), c(0.0), where(isfinite(stop), c(1.0), c(np.nan)))
        at_end = e.logical_or(equal(target, start), equal(target, stop))
        self.endless = logical_not(e.logical_or(at_end, isfinite(subtract(stop, start))))
        return where(equal(target, stop), c(1.0), where(equal(target, start), c(0.0), inside))

    def filled(self, y: DimArray, fill: Any, *, bounds_error: bool) -> DimArray:
        """Other values for targets that are NaN, or outside."""
        nan = c(np.nan)
        if self.there is not None:
            y = where(self.there, y, nan)
        low, high = fill if isinstance(fill, tuple) else (fill, fill)
        if isinstance(fill, str):
            if fill != "extrapolate":
                raise ValueError(f"interp: fill_value {fill!r} is neither a value nor 'extrapolate'")
            low, high = (nan if self.method == m else None for m in ("previous", "next"))  # there is none
        if low is high is None and not bounds_error:
            return y
        first: Any = c(0.0)
        last: Any = c(float(self.n - 1))
        if self.coord is not None:
            first, last = (slice_of(stop_gradient(self.coord), self.dim, i) for i in (0, self.n - 1))
        target = stop_gradient(self.target)
        below, above = e.less(target, first), e.greater(target, last)
        if bounds_error and any(bool(_any(m)) for m in (below, above)):
            raise ValueError(f"interp: a target along {self.dim!r} is outside the coordinates")
        for mask, value in ((below, low), (above, high)):
            if value is not None and not (type(value) is float and _nowhere(mask)):
                y = where(mask, constant(value), y)
        return y


def _nowhere(mask: DimArray) -> bool:
    """Whether it is known that nothing is outside: a look at the targets instead of a copy of all that was found."""
    raw = innermost(mask).raw
    return backends.may_look(raw) and not np.any(raw)


def _any(mask: DimArray) -> Any:
    raw = innermost(mask).raw
    if not backends.may_look(raw):
        raise TypeError("interp: bounds_error=True looks at values, which compile and lazy or device arrays do not allow")
    return np.any(raw)


def _first(target: DimArray) -> DimArray:
    """Position 0 for each."""
    return multiply(cast(e.isnan(target), "int64"), c(0))


def _grouped(x: DimArray, prepared: Mapping[Name, Along], method: str) -> DimArray:
    if method in STEPS:
        return gather(x, {d: a.at for d, a in prepared.items()})
    if method == "linear":
        if len(prepared) == 1:
            return _linear(x, *prepared.values())
        ones = {d: [Tap(a.at, subtract(c(1), a.t)), Tap(a.right(), a.t)] for d, a in prepared.items()}
        return weighted(x, ones)
    if len(prepared) > 1:
        raise ValueError(f"interp: method {method!r} is along one dim after the other; point by point take 'linear'")
    (along,) = prepared.values()
    return hermite(x, along, method)


def _linear(x: DimArray, along: Along) -> DimArray:
    low, high, t = gather(x, {along.dim: along.at}), gather(x, {along.dim: along.right()}), along.t
    rise = subtract(high, low)
    if known_finite(x):
        return add(low, multiply(t, rise))
    bare, missing = stop_gradient(t), logical_not(isfinite(stop_gradient(rise)))
    at_node = e.logical_or(equal(bare, c(0.0)), equal(bare, c(1.0)))
    t = where(e.logical_and(missing, at_node), bare, t)  # a missing neighbour gives no slope, but the node has a value
    both = add(weigh(subtract(c(1), t), low), weigh(t, high))  # from an infinite cell nothing can be counted
    out = while_finite(where(isfinite(stop_gradient(low)), add(low, weigh(t, rise)), both))
    if along.endless is None:
        return out
    bounded = e.logical_or(logical_not(missing), equal(stop_gradient(low), stop_gradient(high)))
    return where(e.logical_and(along.endless, logical_not(bounded)), c(np.nan), out)
