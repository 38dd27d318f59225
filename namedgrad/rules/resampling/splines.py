"""Piecewise cubics: the slopes at the nodes by several methods, and the polynomial between two nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.linear import Pair
from namedgrad.primitive import core
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement import diff, flip, join, part_of, slice_of
from namedgrad.rules.reductions import max as max_of
from namedgrad.rules.structure import add, cast, equal, multiply, negative, positions, subtract, where

if TYPE_CHECKING:
    from namedgrad.rules.resampling.interp import Along

LAST = axes.core(-1)

# ------------------------------------------------------------------------------------------------ tridiagonal equations


def _shift(x: DimArray, by: int) -> DimArray:
    """The neighbour before (1) or after (-1) along the core dim; 0 beyond the ends."""
    n = extent(x, LAST)
    zero = multiply(slice_of(x, LAST, slice(0, 1)), c(0))
    rest = slice_of(x, LAST, slice(0, n - 1) if by > 0 else slice(1, n))
    return join([zero, rest] if by > 0 else [rest, zero], LAST)


def _tridiagonal_pullback(
    g: DimArray, x: DimArray, lower: DimArray, middle: DimArray, upper: DimArray, b: DimArray
) -> tuple[DimArray | Pair, ...]:
    """As for any linear equations: b' = A^-T g, A' = -b' x^T on the three diagonals."""
    gb = _tridiagonal(_shift(upper, 1), middle, _shift(lower, -1), g)
    minus = negative(gb)
    return Pair(minus, _shift(x, 1)), Pair(minus, x), Pair(minus, _shift(x, -1)), gb


_tridiagonal = core("(n),(n),(n),(n)->(n)", "tridiagonal", pullback=_tridiagonal_pullback)

# ------------------------------------------------------------------------------------------------ slopes


def _secants(x: DimArray, h: DimArray, dim: Name) -> DimArray:
    return e.divide(diff(x, dim), h)


def _parabola(x: DimArray, h: DimArray, d: DimArray, dim: Name) -> DimArray:
    """Slopes of the parabola through three points."""
    h0, h1 = slice_of(h, dim, 0), slice_of(h, dim, 1)
    d0, d1 = slice_of(d, dim, 0), slice_of(d, dim, 1)
    bend = e.divide(subtract(d1, d0), add(h0, h1))
    first = subtract(d0, multiply(bend, h0))
    return join([first, add(d0, multiply(bend, h0)), add(d1, multiply(bend, h1))], dim)


def _spline(x: DimArray, h: DimArray, dim: Name) -> DimArray:
    """Continuous second derivatives; de Boor (1978), p. 54: the first two cubics are one, and the last two."""
    d = _secants(x, h, dim)
    if extent(x, dim) == 3:
        return _parabola(x, h, d, dim)
    right, left = part_of(h, dim, 1, None), part_of(h, dim, None, -1)
    both = add(left, right)
    b = multiply(c(3), add(multiply(right, part_of(d, dim, None, -1)), multiply(left, part_of(d, dim, 1, None))))
    start = _end(part_of(h, dim, 0, 2), part_of(d, dim, 0, 2), dim)
    stop = _end(flip(part_of(h, dim, -2, None), dim), flip(part_of(d, dim, -2, None), dim), dim)
    at = positions(extent(both, dim), dim, x)
    first, last = equal(at, c(0)), equal(at, c(extent(both, dim) - 1))
    edge = e.logical_or(first, last)
    middle = where(edge, both, multiply(c(2), both))
    lower, upper = where(first, c(0), right), where(last, c(0), left)
    b = subtract(b, add(where(first, start, c(0)), where(last, stop, c(0))))
    names = (dim,)
    inner = _tridiagonal(lower, middle, upper, b, dims=(names,) * 4, out=names)
    return join([_outer(start, h, inner, dim, 0), inner, _outer(stop, h, inner, dim, -1)], dim)


def _end(h: DimArray, d: DimArray, dim: Name) -> DimArray:
    """What h_1 s_0 + (h_0 + h_1) s_1 is, from the two intervals at an end."""
    h0, h1 = slice_of(h, dim, 0), slice_of(h, dim, 1)
    d0, d1 = slice_of(d, dim, 0), slice_of(d, dim, 1)
    both = add(h0, h1)
    total = add(multiply(multiply(add(h0, multiply(c(2), both)), h1), d0), multiply(multiply(h0, h0), d1))
    return e.divide(total, both)


def _outer(end: DimArray, h: DimArray, inner: DimArray, dim: Name, side: int) -> DimArray:
    n, m = extent(h, dim), extent(inner, dim)
    edge, next_ = (0, 1) if side == 0 else (n - 1, n - 2)
    near = slice_of(inner, dim, 0 if side == 0 else m - 1)
    both = add(slice_of(h, dim, edge), slice_of(h, dim, next_))
    return e.divide(subtract(end, multiply(both, near)), slice_of(h, dim, next_))


def _pchip(x: DimArray, h: DimArray, dim: Name) -> DimArray:
    """Weighted harmonic means of the secants, 0 at extremes: Fritsch and Butland (1984)."""
    d = _secants(x, h, dim)
    h0, h1 = part_of(h, dim, None, -1), part_of(h, dim, 1, None)
    d0, d1 = part_of(d, dim, None, -1), part_of(d, dim, 1, None)
    flat = e.less_equal(multiply(e.sign(d0), e.sign(d1)), c(0))
    w0, w1 = add(multiply(c(2), h1), h0), add(h1, multiply(c(2), h0))
    safe0, safe1 = where(flat, c(1), d0), where(flat, c(1), d1)
    mean = e.divide(add(w0, w1), add(e.divide(w0, safe0), e.divide(w1, safe1)))
    inner = where(flat, c(0), mean)
    n = extent(d, dim)
    ends = [_pchip_end(*(slice_of(v, dim, i) for v in (h, d) for i in (a, b))) for a, b in ((0, 1), (n - 1, n - 2))]
    return join([ends[0], inner, ends[1]], dim)


def _pchip_end(h0: DimArray, h1: DimArray, d0: DimArray, d1: DimArray) -> DimArray:
    """One-sided, of three points, kept from overshooting: Moler (2004), section 3.6."""
    s = e.divide(subtract(multiply(add(multiply(c(2), h0), h1), d0), multiply(h0, d1)), add(h0, h1))
    turned = e.less_equal(multiply(e.sign(s), e.sign(d0)), c(0))
    steep = e.logical_and(
        e.less(multiply(e.sign(d0), e.sign(d1)), c(0)),
        e.greater(e.absolute_real(s), multiply(c(3), e.absolute_real(d0))),
    )
    return where(turned, c(0), where(steep, multiply(c(3), d0), s))


def _akima(x: DimArray, h: DimArray, dim: Name, *, modified: bool = False) -> DimArray:
    """Means of the secants, weighted by how much those further out differ: Akima (1970), eqs. 1 and 12."""
    d = _secants(x, h, dim)
    n = extent(d, dim)
    d0, d1 = slice_of(d, dim, 0), slice_of(d, dim, 1)
    e0, e1 = slice_of(d, dim, n - 1), slice_of(d, dim, n - 2)
    before = subtract(multiply(c(2), d0), d1)
    after = subtract(multiply(c(2), e0), e1)
    outer = subtract(multiply(c(2), before), d0), subtract(multiply(c(2), after), e0)
    wide = join([outer[0], before, d, after, outer[1]], dim)
    m = n + 4
    left, right = part_of(wide, dim, 1, m - 2), part_of(wide, dim, 2, m - 1)
    bend = absolute(diff(wide, dim))
    if modified:
        means = absolute(multiply(c(0.5), add(part_of(wide, dim, 1, None), part_of(wide, dim, None, -1))))
        bend = add(bend, means)
    w0, w1 = part_of(bend, dim, 2, None), part_of(bend, dim, None, -2)
    both = add(w0, w1)
    tied = equal(both, c(0)) if modified else _tiny(both, dim)
    safe = where(tied, c(1), both)
    weighed = add(multiply(e.divide(w0, safe), left), multiply(e.divide(w1, safe), right))  # shares: products leave the range
    return where(tied, c(0) if modified else multiply(c(0.5), add(left, right)), weighed)


def _tiny(both: DimArray, dim: Name) -> DimArray:
    """Where secants are equal on both sides, up to rounding, as SciPy decides it."""
    bare = stop_gradient(both)
    return e.less_equal(bare, multiply(c(1e-9), max_of(bare, dim, skipna=False)))


def _makima(x: DimArray, h: DimArray, dim: Name) -> DimArray:
    return _akima(x, h, dim, modified=True)


HERMITE: dict[str, Callable[[DimArray, DimArray, Name], DimArray]] = {
    "cubic": _spline, "pchip": _pchip, "akima": _akima, "makima": _makima,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ between the nodes


def hermite(x: DimArray, along: Along, method: str) -> DimArray:
    """The cubic with given values and slopes at both ends of an interval."""
    dim, n = along.dim, along.n
    if method == "pchip" and x.dtype.kind == "c":
        raise TypeError("interp: 'pchip' needs real data; interpolate the real and the imaginary parts")
    if n < 3:
        low, high = (gather(x, {dim: i}) for i in (along.at, along.right()))
        return add(low, multiply(along.t, subtract(high, low)))
    if along.coord is None:
        h = cast(multiply(add(positions(n - 1, dim, x), c(1.0)), c(0.0)), along.kind)
        h = add(h, c(1))
    else:
        h = cast(diff(along.coord, dim), along.kind)
    slopes = HERMITE[method](x, h, dim)
    at, right, t = along.at, along.right(), along.t
    low, high = (gather(x, {dim: i}) for i in (at, right))
    s0, s1 = (gather(slopes, {dim: i}) for i in (at, right))
    if along.wide is not None:
        wide = cast(along.wide, along.kind)
        s0, s1 = multiply(s0, wide), multiply(s1, wide)
    step = subtract(high, low)
    # y0 + t (s0 + t (3 D - 2 s0 - s1 + t (s0 + s1 - 2 D))) with D the rise
    second = subtract(subtract(multiply(c(3), step), multiply(c(2), s0)), s1)
    third = subtract(add(s0, s1), multiply(c(2), step))
    return add(low, multiply(t, add(s0, multiply(t, add(second, multiply(t, third))))))

