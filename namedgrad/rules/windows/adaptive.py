"""Pooling to given sizes: windows of unequal size, or at drawn places, gathered position by position."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.windows import Cover, Drawn, Span
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement import slice_of
from namedgrad.rules.resampling.interpolate import interpolate
from namedgrad.rules.structure import add, cast, multiply, negative, positions, reorder, subtract, where
from namedgrad.rules.windows.along import cells_at, window_max, window_sums, winners
from namedgrad.rules.windows.geometry import per_dim, private_name, whole, window_sizes
from namedgrad.rules.windows.pooling import flat_positions, largest
from namedgrad.trace import innermost

_OFFSET: Name = private_name("offset")


def _most(n: int, count: int) -> int:
    """Cells of the largest of ``count`` windows that cover ``n`` cells as equally as may be."""
    return max((-(-(i + 1) * n // count) - i * n // count for i in range(count)), default=1)


def _bounds(x: DimArray, d: Name, count: int) -> tuple[DimArray, DimArray]:
    """Where those windows start, and before which cells they end."""
    n = extent(x, d)
    starts = multiply(positions(count, d, x), c(n))
    ends = negative(add(starts, c(n)))
    return e.floor_divide(starts, c(count or 1)), negative(e.floor_divide(ends, c(count or 1)))


def _even(x: DimArray, output: Mapping[Name, int]) -> dict[Name, Span] | None:
    """Spans of equal windows, if the sizes allow them."""
    if any(not count or extent(x, d) % count or not extent(x, d) for d, count in output.items()):
        return None
    return {d: Span(extent(x, d) // n, n, extent(x, d) // n) for d, n in output.items()}


def _output_sizes(x: DimArray, output: Any, what: str) -> dict[Name, int]:
    if not isinstance(output, Mapping):
        raise TypeError(f"{what}: give the sizes of the result as a mapping of dim to size, such as {{'x': 3}}, not {output!r}")
    window_sizes(x, dict.fromkeys(output, 1), what)
    sizes = {d: extent(x, d) if n is None else n for d, n in output.items()}
    if empty := [d for d in sizes if not extent(x, d)]:
        raise ValueError(f"{what}: {empty[0]!r} has no cells in {describe(x)}")
    return whole(sizes, sizes, f"{what}: the size", least=0)


@operation(sample("real(a,eight)", output={"eight": 4}), sample("real(six,nine)", output={"six": 4, "nine": 2}),
           sample("real(a,six)", output={"six": 8}), method=True)  # fmt: skip
@in_single
def adaptive_avg_pool(x: DimArray, output: Mapping[Any, int | None]) -> DimArray:
    """Mean of as many windows as asked for, which cover the dims and are as equal as whole cells allow.

    Parameters
    ----------
    x : DimArray
    output : mapping of dim to size
        How many windows; None for one per cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a size is negative, or a dim has no cells.

    Notes
    -----
    Of n cells the i-th of m windows has those from floor(i n / m) up to, not including, ceil((i + 1) n / m). Counterpart:
    ``torch.nn.functional.adaptive_avg_pool2d`` and its kin, in their layout ``ng.adaptive_avg_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.adaptive_avg_pool(ng.DimArray([1.0, 2.0, 3.0, 4.0, 5.0], ("x",)), {"x": 2}).data
    array([2., 4.])
    """
    counts = _output_sizes(x, output, "adaptive_avg_pool")
    if (spans := _even(x, counts)) is not None:
        return e.divide(window_sums(x, spans), c(math.prod(s.size for s in spans.values())))
    for d in [d for d, count in counts.items() if not count]:
        x = slice_of(x, d, slice(0, 0))
    return interpolate(x, {d: count for d, count in counts.items() if count}, mode="area")


def _largest_of(x: DimArray, places: Mapping[Name, DimArray], size: Mapping[Name, int], return_indices: bool) -> Any:
    """The largest cells of windows whose cells are at ``places``, named by window and offset."""
    sizes = {d: extent(x, d) for d in places}
    found: dict[Name, DimArray] = {}
    for d, at in reversed([*places.items()]):
        span = Span(size[d], 1)
        runs = gather(x, {d: at})
        y = window_max(runs, _OFFSET, span)
        if return_indices:
            won = winners(runs, y, _OFFSET, span)
            found = {f: cells_at(gather(p, {d: at}), won, _OFFSET, span) for f, p in found.items()}
            found[d] = cells_at(at, won, _OFFSET, span)
            found = {f: slice_of(p, _OFFSET, 0) for f, p in found.items()}
        x = slice_of(y, _OFFSET, 0)
    if not return_indices:
        return x
    return x, reorder(flat_positions({d: found[d] for d in places}, sizes), x.names)


@operation(sample("real(a,eight)", output={"eight": 4}), sample("real(six,nine)", output={"six": 4, "nine": 2}),
           sample("real(a,six)", output={"six": 8}, return_indices=True), method=True)  # fmt: skip
def adaptive_max_pool(x: DimArray, output: Mapping[Any, int | None], *, return_indices: bool = False) -> Any:
    """Largest cell of as many windows as asked for, which cover the dims and are as equal as whole cells allow.

    Parameters
    ----------
    x : DimArray
    output : mapping of dim to size
        How many windows; None for one per cell.
    return_indices : bool
        Also give where the largest cells are, as :func:`max_pool` does.

    Returns
    -------
    DimArray or (DimArray, DimArray)

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a size is negative, or a dim has no cells.

    Notes
    -----
    The windows are those of :func:`adaptive_avg_pool`, equal cells and NaN count as in :func:`max_pool`. Counterpart:
    ``torch.nn.functional.adaptive_max_pool2d`` and its kin, in their layout ``ng.adaptive_max_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.adaptive_max_pool(ng.DimArray([1.0, 2.0, 3.0, 5.0, 4.0], ("x",)), {"x": 2}).data
    array([3., 5.])
    """
    counts = _output_sizes(x, output, "adaptive_max_pool")
    if all(0 < count <= extent(x, d) for d, count in counts.items()):
        return largest(x, {d: Cover(_most(extent(x, d), n), n, extent(x, d)) for d, n in counts.items()}, return_indices)
    places, sizes = {}, {}
    for d, count in counts.items():
        starts, ends = _bounds(x, d, count)
        sizes[d] = _most(extent(x, d), count)
        places[d] = e.minimum(add(starts, positions(sizes[d], _OFFSET, x)), subtract(ends, c(1)))
    return _largest_of(x, places, sizes, return_indices)


@operation(sample("real(a,eight)", samples=0.3, window={"eight": 2}, output={"eight": 4}),
           sample("real(six,nine)", samples=0.6, window={"six": 2, "nine": 3}, output={"six": 4, "nine": 2}, return_indices=True))  # fmt: skip
def fractional_max_pool(
    x: DimArray, samples: Any, window: Mapping[Any, int], output: Mapping[Any, int], *, return_indices: bool = False
) -> Any:
    """Largest cell of windows whose places are drawn at random, so that sizes shrink by any factor.

    Parameters
    ----------
    x : DimArray
    samples : DimArray, or mapping of dim to DimArray
        A number in [0, 1) that says how the steps between windows are rounded; with dims of ``x`` each of their positions has windows of
        its own.
    window : mapping of dim to size
    output : mapping of dim to size
        How many windows, over the same dims.
    return_indices : bool
        Also give where the largest cells are, as :func:`max_pool` does.

    Returns
    -------
    DimArray or (DimArray, DimArray)

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the windows do not fit.

    Notes
    -----
    With u the sample, n cells and m windows of k cells the i-th window starts at floor((i + u) a) - floor(u a), a = (n - k) / (m - 1), and
    the last one at n - k (Graham, Fractional max-pooling, 2014). No derivative in the samples. Equal cells and NaN count as in
    :func:`max_pool`. Counterpart: ``torch.nn.functional.fractional_max_pool2d``, in its layout ``ng.fractional_max_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.arange("x", 7) * 1.0
    >>> ng.fractional_max_pool(a, 0.6, {"x": 2}, {"x": 4}).data
    array([1., 2., 4., 6.])
    """
    x = constant(x)
    sizes = window_sizes(x, window, "fractional_max_pool")
    counts = whole(output, sizes, "fractional_max_pool: the number of windows")
    draws = per_dim(samples, sizes, "fractional_max_pool: samples")
    for d, size in sizes.items():
        if extent(x, d) < size + counts[d] - 1:
            raise ValueError(f"fractional_max_pool: {counts[d]} windows of {size} cells do not fit into {d!r} of {describe(x)}")
    if all(isinstance(u, (int, float)) for u in draws.values()):  # half of the time of places in arrays
        spans = {d: Drawn(sizes[d], counts[d], extent(x, d), float(draws[d])) for d in sizes}
        return largest(x, spans, return_indices)
    places = {d: _drawn(x, d, sizes[d], counts[d], constant(draws[d])) for d in sizes}
    return _largest_of(x, places, sizes, return_indices)


def _drawn(x: DimArray, d: Name, size: int, count: int, draw: DimArray) -> DimArray:
    """Positions of the cells of drawn windows, named by window and offset."""
    n = extent(x, d)
    if d in draw.names:
        raise AxisError(f"fractional_max_pool: the samples have the windowed dim {d!r}, in which they say where windows are")
    step, draw = c((n - size) / max(count - 1, 1)), innermost(draw)
    i = positions(count, d, x)
    starts = subtract(e.floor(multiply(add(i, draw), step)), e.floor(multiply(draw, step)))
    at = cast(where(e.less(i, c(count - 1)), starts, c(float(n - size))), "int64")
    return add(at, positions(size, _OFFSET, x))
