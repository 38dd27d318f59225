"""Histograms: how many cells fall into each of a number of bins; no gradient passes to what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import new_name, pick
from namedgrad.rules.dtypes import widened
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing.maps import scatter_add
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.differences import difference
from namedgrad.rules.movement.order import broadcast_like
from namedgrad.rules.movement.stacking import merge
from namedgrad.rules.reductions.common import count_of
from namedgrad.rules.reductions.extremes import max, min
from namedgrad.rules.structure import (
    add,
    alongside,
    cast,
    constant_like,
    equal,
    multiply,
    positions,
    relabel,
    reorder,
    spread,
    subtract,
    total,
    where,
    zeros_spread,
)

EDGE = axes.fresh("edge")


@operation(sample("real(a,nine)", bins=4, dim="nine"), sample("real(a,b)", bins=3, range=(-1.0, 1.5)), sample("real(nine,b)", bins=[-2.0, -1.0, 0.5, 2.5], dim="nine"),
           sample("real(a,nine)", bins=3, dim="nine", density=True), differentiable=False)
def histogram(
    x: DimArray,
    bins: int | Sequence[float] | DimArray = 10,
    dim: Any = None,
    *,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    density: bool = False,
    new_dim: Name = "bin",
    edge_dim: Name = "edge",
) -> tuple[DimArray, DimArray]:
    """Counts of the cells over dims that fall into each bin.

    Parameters
    ----------
    x : DimArray
    bins : int, sequence of float or DimArray
        How many bins of one width, or the edges of all of them, in ascending order.
    dim : name or names, optional
        Dims to count over; all by default.
    range : (float, float), optional
        The outermost edges of bins of one width: the smallest and the largest cell of each slice by default.
    weights : DimArray, optional
        What each cell counts, met with ``x`` by name; these are differentiated.
    density : bool
        Divide by the widths and by the sum of all counts.
    new_dim, edge_dim : name
        Dims of the bins and of their edges.

    Returns
    -------
    counts, edges : DimArray
        Both with the dims that are not counted over. Cells beyond the outermost edges, and NaN, count nowhere; the last bin includes its upper edge.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or a new name is taken.
    ValueError
        If there are no bins.

    Notes
    -----
    As :func:`numpy.histogram` of every slice, and ``torch.histogram``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> counts, edges = ng.histogram(ng.DimArray([1.0, 2.0, 1.0, 4.0], ("x",)), bins=3)
    >>> counts.data, edges.data
    (array([2, 1, 1]), array([1., 2., 3., 4.]))
    """
    x = stop_gradient(x)
    dims = pick(x, dim, "histogram")
    for name in axes.check_names((new_dim, edge_dim)):
        if name not in dims:
            new_name(x, name, "histogram")
    line: Name = axes.local("counted cells")
    w = None if weights is None else merge(broadcast_like(widened(alongside(constant(weights), x)), x), dims, line)
    cells = merge(x, dims, line) if dims else x
    cells = cells if cells.dtype.kind == "f" else cast(cells, "float64")
    edges = _even_edges(cells, line, bins, range) if isinstance(bins, (int, np.integer)) else _edges(bins, x)
    n = extent(edges, EDGE) - 1
    if n < 1:
        raise ValueError("histogram: there must be one bin at least")
    at = searchsorted(edges, cells, EDGE, side="right")  # 0 and n + 1 beyond the ends: two more bins take those
    at = where(equal(cells, slice_of(edges, EDGE, n)), c(n), at)
    one = zeros_spread(x, Like((), (), np.dtype(np.int64)), np.int64(1)) if w is None else w
    counts = slice_of(scatter_add(one, [at], (new_dim,), (n + 2,), (line,)), new_dim, slice(1, n + 1))
    counts = reorder(counts, (*(m for m in counts.names if m != new_dim), new_dim))
    if density:
        widths = relabel(difference(edges, EDGE), {EDGE: new_dim})
        counts = reorder(e.divide(counts, multiply(widths, total(counts, (new_dim,)))), counts.names)
    return counts, relabel(_of_every_slice(edges, cells, line), {EDGE: edge_dim})


def _of_every_slice(edges: DimArray, cells: DimArray, line: Name) -> DimArray:
    """Edges with the dims that are not counted over, without a copy where all slices have the same."""
    rest = [(m, s) for m, s in zip(cells.names, cells.full_shape, strict=True) if m != line]
    names = (*(m for m in edges.names if m != EDGE and m not in cells.names), *(m for m, _ in rest), EDGE)
    sizes = dict(zip(edges.names, edges.full_shape, strict=True)) | dict(rest)
    wide = spread(edges, Like(names, tuple(sizes[m] for m in names), edges.dtype))
    return relabel(reorder(wide, names), {}, hide=tuple(m for m in cells.hidden if m not in edges.hidden))


def _edges(bins: Any, x: DimArray) -> DimArray:
    if isinstance(bins, DimArray):
        if bins.ndim != 1:
            raise AxisError(f"histogram: edges must have one dim, got {bins.dims}")
        return relabel(stop_gradient(bins), {bins.dims[0]: EDGE})
    return constant_like(np.asarray(bins, dtype=float), x, (EDGE,))


def _even_edges(x: DimArray, line: Name, n: int, given: tuple[float, float] | None) -> DimArray:
    """Edges of bins of one width, as :func:`numpy.linspace` spaces them."""
    if given is not None:
        low, high = c(float(given[0])), c(float(given[1]))
    elif count_of(x, (line,)):
        low, high = min(x, (line,), skipna=False), max(x, (line,), skipna=False)
    else:
        low, high = c(0.0), c(1.0)
    same = equal(low, high)
    low, high = where(same, subtract(low, c(0.5)), low), where(same, add(high, c(0.5)), high)
    k = positions(n + 1, EDGE, x)
    even = add(multiply(k, e.divide(subtract(high, low), c(n))), low)
    out = where(equal(k, c(n)), high, even)
    return out if given is None else constant_like(out.raw, x, (EDGE,))

