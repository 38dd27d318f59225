"""Values at positions counted in cells, as image processing has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import HALF, narrow, wide
from namedgrad.rules.resampling.neighbours import Tap, weighted
from namedgrad.rules.resampling.sampling import (
    clamped,
    known_positions,
    linear_taps,
    positions_of,
    reflected,
    replacing,
    tap,
)
from namedgrad.rules.structure import add, cast, equal, multiply, subtract, where


def _wrapped(p: DimArray, n: int) -> DimArray:
    """Cyclically, with the last cell in the place of the first; a negative multiple comes to the end, as in SciPy."""
    if n == 1:
        return multiply(p, c(0))
    bare = stop_gradient(p)
    ratio = e.divide(bare, c(n - 1))
    turns = where(e.less(bare, c(0)), subtract(e.trunc(ratio), c(1)), e.trunc(ratio))
    outside = e.logical_or(e.less(bare, c(0)), e.greater(bare, c(n - 1)))
    return where(outside, subtract(p, multiply(turns, c(n - 1))), p)


def _cyclic(p: DimArray, n: int) -> DimArray:
    """Cyclically, the first cell after the last."""
    return subtract(p, multiply(e.floor(e.divide(stop_gradient(p), c(n))), c(n)))


def _mirrored(p: DimArray, n: int) -> DimArray:
    return reflected(p, 0.0, n - 1.0)


def _reflected(p: DimArray, n: int) -> DimArray:
    return clamped(reflected(p, -0.5, n - 0.5), n)


_EXTENSIONS: dict[str, Callable[[DimArray, int], DimArray]] = {
    "constant": clamped, "grid-constant": lambda p, n: p, "nearest": clamped, "mirror": _mirrored, "reflect": _reflected,
    "grid-mirror": _reflected, "wrap": _wrapped, "grid-wrap": _cyclic,
}  # fmt: skip


@operation(
    sample("real(a,six)", "inside(one,b)", dims=("six",), coord="one"), sample("real(a,six)", "around(one,b)", dims=("six",), coord="one", mode="mirror"),
    sample("real(a,six)", "around(one,b)", dims=("six",), coord="one", mode="constant", cval=0.5),
    sample("real(a,six)", "around(one,b)", dims=("six",), coord="one", mode="reflect", order=0),
)  # fmt: skip
def map_coordinates(
    x: DimArray, coordinates: Any, order: int = 1, mode: str = "constant", cval: float = 0.0, *, dims: Sequence[Name] = (),
    coord: Name = "coord",
) -> DimArray:  # fmt: skip
    """Values at positions counted in cells.

    Parameters
    ----------
    x : DimArray
    coordinates : DimArray or mapping of dim to DimArray
        Positions. An array has a dim ``coord`` that counts them in the order of ``dims``. Its other dims take the place
        of ``dims``, or meet those of ``x`` by name.
    order : {0, 1}
        The nearest cell, or linear between cells.
    mode : {"constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-wrap"}
        How cells continue beyond the ends.
    cval : scalar
        What lies beyond, for the first two modes.
    dims : sequence of name
        The dims of ``x``; not needed with a mapping.
    coord : name
        The dim of ``coordinates`` that counts the positions.

    Returns
    -------
    DimArray
        In the dtype of ``x``, or float64 for integers.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or ``coord`` has another size than there are dims.
    ValueError
        If the order or the mode is not one of these, or a dim is empty.

    Notes
    -----
    As :func:`scipy.ndimage.map_coordinates`. Differentiable in ``x`` and, for order 1, in the positions.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([0.0, 10.0, 40.0], ("x",))
    >>> ng.map_coordinates(a, {"x": ng.DimArray([0.5, 1.5], ("point",))}).data
    array([ 5., 25.])
    """
    if order not in {0, 1} or mode not in _EXTENSIONS:
        raise ValueError(f"map_coordinates: order {order!r} must be 0 or 1, mode {mode!r} one of {tuple(_EXTENSIONS)}")
    half = x.dtype == HALF
    x = wide(x) if x.dtype.kind in "fc" else cast(x, "float64")
    given = positions_of(coordinates, x, dims, coord, "map_coordinates", last_first=False)
    kind = x.dtype.type(0).real.dtype
    places = {d: known_positions(cast(p, kind)) for d, p in given.items()}
    taps = {d: _cells(_EXTENSIONS[mode](p, extent(x, d)), extent(x, d), order, mode) for d, p in places.items()}
    inner = mode == "grid-constant" and cval != 0
    out = add(weighted(subtract(x, c(cval)), taps), c(cval)) if inner else weighted(x, taps)
    if mode == "constant":
        for d, p in places.items():
            bare = stop_gradient(p)
            beyond = e.logical_or(e.less(bare, c(0)), e.greater(bare, c(extent(x, d) - 1)))
            out = where(beyond, c(cval), out)
    out = replacing(x, out, given)
    return narrow(out) if half else out


def _cells(p: DimArray, n: int, order: int, mode: str) -> list[Tap]:
    bounded = mode == "grid-constant"
    if order == 0:
        nearest = e.floor(add(stop_gradient(p), c(0.5)))
        nearest = e.remainder(nearest, c(n)) if mode == "grid-wrap" else nearest
        return [tap(nearest, None, n, bounded=bounded)]
    low, high = linear_taps(p, n, bounded=bounded)
    if mode == "grid-wrap":
        last = equal(low.at, c(n - 1))
        high = high._replace(at=where(last, c(0), high.at))
    return [low, high]

