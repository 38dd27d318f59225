"""Values between the cells of a grid, at positions that are data themselves: the index map, weighted by distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.resampling import CUBIC
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check, new_name
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import HALF, narrow, wide
from namedgrad.rules.movement import slice_of
from namedgrad.rules.resampling.neighbours import Tap, weighted
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    isfinite,
    known_finite,
    multiply,
    positions,
    reorder,
    select,
    subtract,
    where,
)

PADDINGS = ("zeros", "border", "reflection")
MODES = ("bilinear", "linear", "trilinear", "nearest", "bicubic", "cubic")


# ------------------------------------------------------------------------------------------------ positions


def positions_of(given: Any, x: DimArray, dims: Sequence[Name], coord: Name, what: str, *, last_first: bool) -> dict[Name, DimArray]:
    """A position along each dim: from a mapping, or from an array with a dim that counts them."""
    if isinstance(given, Mapping):
        found = {check(x, d, what): constant(p, what) for d, p in given.items()}
    else:
        grid = constant(given, what)
        if extent(grid, check(grid, coord, what)) != len(dims):
            raise AxisError(f"{what}: {describe(grid)} must have one position along {coord!r} for each of {tuple(dims)}")
        order = reversed(dims) if last_first else dims
        found = {check(x, d, what): slice_of(grid, coord, i) for i, d in enumerate(order)}
    for d in found:
        if not extent(x, d):
            raise ValueError(f"{what}: {d!r} is empty in {describe(x)}")
    return {d: wide(p) if p.dtype.kind == "f" else cast(p, "float64") for d, p in found.items()}


def unnormalised(u: DimArray, n: int, *, align: bool) -> DimArray:
    """From -1 .. 1 to positions of cells: -1 is the center of the first cell (``align``), or its outer edge."""
    u = add(u, c(1))
    return multiply(u, c((n - 1) / 2)) if align else multiply(subtract(multiply(u, c(n)), c(1)), c(0.5))


def clamped(p: DimArray, n: int) -> DimArray:
    """Moved to the first and last cells; at these and beyond, the derivative is 0, as in PyTorch."""
    bare = stop_gradient(p)
    if p.level is None:
        return e.clip(bare, 0, n - 1)
    inside = e.logical_and(e.greater(bare, c(0)), e.less(bare, c(n - 1)))
    return where(inside, p, e.clip(bare, 0, n - 1))


def reflected(p: DimArray, low: float, high: float) -> DimArray:
    """Mirrored at both ends, as often as need be."""
    span = high - low
    if not span:
        return multiply(select(isfinite(p), p), c(0))
    away = subtract(p, c(low))
    away = where(e.less(stop_gradient(away), c(0)), multiply(away, c(-1)), away)
    turns = e.floor(e.divide(stop_gradient(away), c(span)))
    rest = subtract(away, multiply(turns, c(span)))
    even = equal(e.remainder(turns, c(2)), c(0))
    return where(even, add(rest, c(low)), subtract(c(high), rest))


def _pad(p: DimArray, n: int, padding: str, *, align: bool) -> DimArray:
    if padding == "reflection":
        p = reflected(p, 0.0, n - 1.0) if align else reflected(p, -0.5, n - 0.5)
    return p if padding == "zeros" else clamped(p, n)


def known_positions(p: DimArray) -> DimArray:
    """Positions that are not finite lie outside."""
    return p if known_finite(p) else where(isfinite(stop_gradient(p)), p, c(-100))


# ------------------------------------------------------------------------------------------------ neighbours


def tap(place: DimArray, weight: DimArray | None, n: int, *, bounded: bool) -> Tap:
    """A neighbour at a whole position, which counts only inside if that is asked for."""
    at = cast(e.clip(place, 0, n - 1), "int64")
    inside = e.logical_and(e.greater_equal(place, c(0)), e.less(place, c(n))) if bounded else None
    return Tap(at, weight, inside)


def linear_taps(p: DimArray, n: int, *, bounded: bool) -> list[Tap]:
    """The two cells around a position."""
    first = e.floor(stop_gradient(p))
    t = subtract(p, first)
    return [tap(first, subtract(c(1), t), n, bounded=bounded), tap(add(first, c(1)), t, n, bounded=bounded)]


def _cubic_taps(p: DimArray, n: int, padding: str, *, align: bool) -> list[Tap]:
    first = e.floor(stop_gradient(p))
    t = subtract(p, first)
    s = subtract(c(1), t)
    weights = [_outer(add(t, c(1))), _inner(t), _inner(s), _outer(add(s, c(1)))]
    places = [_pad(add(first, c(k)), n, padding, align=align) for k in (-1, 0, 1, 2)]
    return [tap(at, w, n, bounded=padding == "zeros") for at, w in zip(places, weights, strict=True)]


def _inner(x: DimArray) -> DimArray:
    return add(multiply(multiply(subtract(multiply(c(CUBIC + 2), x), c(CUBIC + 3)), x), x), c(1))


def _outer(x: DimArray) -> DimArray:
    inner = add(multiply(subtract(multiply(c(CUBIC), x), c(5 * CUBIC)), x), c(8 * CUBIC))
    return subtract(multiply(inner, x), c(4 * CUBIC))


# ------------------------------------------------------------------------------------------------ operations


@operation(
    sample("real(a,six,eight)", "between(two,b,a)", dims=("six", "eight"), coord="two"),
    sample("real(six,eight)", "between(b,two)", dims=("six", "eight"), coord="two", align_corners=True),
    sample("real(a,eight)", "beyond(one,b)", dims=("eight",), coord="one", padding_mode="reflection"),
    sample("real(six,eight)", "beyond(two,a)", dims=("eight", "six"), coord="two", mode="bicubic", padding_mode="border"),
    sample("real(six,eight)", "beyond(two,a)", dims=("six", "eight"), coord="two", mode="nearest"),
)  # fmt: skip
def grid_sample(
    x: DimArray, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", *, align_corners: bool = False,
    dims: Sequence[Name] = (), coord: Name = "coord",
) -> DimArray:  # fmt: skip
    """Values at normalised positions, from -1 to 1 along each dim.

    Parameters
    ----------
    x : DimArray
    grid : DimArray or mapping of dim to DimArray
        Positions. An array has a dim ``coord`` that counts them, the position along the last of ``dims`` first, as
        PyTorch has (x, y, z) for dims (depth, height, width). Its other dims take the place of ``dims``, or meet those of
        ``x`` by name.
    mode : {"bilinear", "nearest", "bicubic"}
    padding_mode : {"zeros", "border", "reflection"}
        What lies beyond the ends: zeros, the nearest cell, or the cells mirrored.
    align_corners : bool
        -1 and 1 are the centers of the first and last cells, else their outer edges.
    dims : sequence of name
        The dims of ``x`` to sample; not needed with a mapping.
    coord : name
        The dim of ``grid`` that counts the positions.

    Returns
    -------
    DimArray
        In the dtype of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or ``coord`` has another size than there are dims.
    ValueError
        If a mode is unknown, or a dim is empty.

    Notes
    -----
    As ``torch.nn.functional.grid_sample``, along any number of dims. Differentiable in ``x``, and in ``grid`` but for
    the mode ``"nearest"``; where a position is moved to the border its derivative is 0. A neighbour whose weight is 0
    takes no part, whatever it holds.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[0.0, 1.0], [2.0, 3.0]], ("y", "x"))
    >>> at = ng.DimArray([-0.5, 0.0], ("point",))
    >>> ng.grid_sample(a, {"y": 0 * at, "x": at}).data
    array([1. , 1.5])
    """
    if mode not in MODES or padding_mode not in PADDINGS:
        raise ValueError(f"grid_sample: mode {mode!r} must be one of {MODES}, padding_mode {padding_mode!r} one of {PADDINGS}")
    half = x.dtype == HALF
    x = wide(x) if x.dtype.kind in "fc" else cast(x, "float64")
    given = positions_of(grid, x, dims, coord, "grid_sample", last_first=True)
    taps = {}
    for d, u in given.items():
        n = extent(x, d)
        p = known_positions(cast(unnormalised(u, n, align=align_corners), x.dtype.type(0).real.dtype))
        taps[d] = _taps(p, n, mode, padding_mode, align=align_corners)
    out = replacing(x, weighted(x, taps), given)
    return narrow(out) if half else out


def _taps(p: DimArray, n: int, mode: str, padding: str, *, align: bool) -> list[Tap]:
    if mode in {"bicubic", "cubic"}:
        return _cubic_taps(p, n, padding, align=align)
    p = _pad(p, n, padding, align=align)
    if mode == "nearest":
        return [tap(e.rint(stop_gradient(p)), None, n, bounded=padding == "zeros")]
    return linear_taps(p, n, bounded=padding == "zeros")


def replacing(x: DimArray, out: DimArray, given: Mapping[Name, DimArray]) -> DimArray:
    """The dims of the positions where those that they replace were."""
    new = tuple(dict.fromkeys(n for p in given.values() for n in p.names if n in given or n not in x.names))
    at = min(x.names.index(d) for d in given)
    before = tuple(n for n in x.names[:at] if n not in given)
    after = tuple(n for n in x.names[at:] if n not in given)
    return reorder(out, tuple(n for n in (*before, *new, *after) if n in out.names))


@operation(
    sample("real(a,one,two)", size={"p": 4}, dims=("one", "two")),
    sample("real(one,two,b)", size={"p": 5}, dims=("one", "two"), align_corners=True),
    sample("real(two,one,a)", size={"p": 1}, dims=("one", "two"), align_corners=True),
)
def affine_grid(
    theta: DimArray, size: Mapping[Any, int], dims: tuple[Name, Name] = ("row", "column"), *, align_corners: bool = False
) -> DimArray:
    """Normalised positions under an affine map, for :func:`grid_sample`.

    Parameters
    ----------
    theta : DimArray
        Matrices with a row per dim and one column more, for the translation.
    size : mapping of new dim to int
        The dims of the result, in the order (depth, height, width); rows and columns count them from the last.
    dims : (row, column)
    align_corners : bool
        As for :func:`grid_sample`.

    Returns
    -------
    DimArray
        With the new dims in place of the columns; rows count the positions, the one along the last dim first.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, a new one is taken, or a size is not that of ``size``.

    Notes
    -----
    As ``torch.nn.functional.affine_grid``. Linear.

    Examples
    --------
    >>> import namedgrad as ng
    >>> unchanged = ng.eye("row", "column", 3).isel(row=[0, 1])
    >>> ng.affine_grid(unchanged, {"y": 2, "x": 2}).isel(row=0).data
    array([[-0.5,  0.5],
           [-0.5,  0.5]])
    """
    row, column = dims
    count = len(size)
    if extent(theta, check(theta, row, "affine_grid")) != count or extent(theta, check(theta, column, "affine_grid")) != count + 1:
        raise AxisError(f"affine_grid: {describe(theta)} must have {count} rows and {count + 1} columns for {tuple(size)}")
    theta = theta if theta.dtype.kind == "f" else cast(theta, "float64")
    out = slice_of(theta, column, count)
    for i, (d, n) in enumerate(reversed(list(size.items()))):
        new_name(theta, d, "affine_grid")
        steps = positions(n, d, theta)
        if align_corners:
            base = subtract(multiply(steps, c(2 / (n - 1))), c(1)) if n > 1 else multiply(steps, c(0.0))
        else:
            base = multiply(subtract(multiply(steps, c(2.0)), c(n - 1.0)), c(1 / max(n, 1)))
        out = add(out, multiply(slice_of(theta, column, i), cast(base, theta.dtype)))
    return reorder(out, (*(n for n in theta.names if n not in dims), *size, row))
