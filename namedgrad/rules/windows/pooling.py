"""Pooling by name: means, maxima and norms of windows, and the inverse of max pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.backends.windows import Along, Span
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dtypes import floating, real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing import At
from namedgrad.rules.indexing.maps import with_names
from namedgrad.rules.movement import merge, split
from namedgrad.rules.reductions.ranges import by_scaled, rescaled, root_of, size_of
from namedgrad.rules.structure import (
    add,
    cast,
    multiply,
    not_equal,
    relabel,
    reorder,
    select,
    total,
    where,
    zeros_spread,
)
from namedgrad.rules.windows.along import window_argmaxima, window_maxima, window_sums
from namedgrad.rules.windows.geometry import Sides, members, private_name, sides, span, whole, window_sizes
from namedgrad.rules.windows.views import strided_windows


def pooled_spans(
    x: DimArray, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, what: str
) -> tuple[dict[Name, Span], Sides]:
    """Spans of pooling windows, which lie side by side unless a stride is given."""
    size = window_sizes(x, window, what)
    step = size if stride is None else whole(stride, size, f"{what}: stride")
    apart = whole(dilation, size, f"{what}: dilation")
    pads = sides(padding, size, what)
    for d, pair in pads.items():
        if min(pair) < 0 or max(pair) > (apart[d] * (size[d] - 1) + 1) // 2:
            raise ValueError(f"{what}: a padding of {pair} along {d!r} must be at most half of the window, {size[d]}, and not negative")
    return {d: span(x, d, size[d], step[d], apart[d], pads[d], what, ceil=ceil_mode) for d in size}, pads


def divided(sums: DimArray, x: DimArray, spans: Mapping[Name, Span], pads: Sides) -> DimArray:
    """Sums of windows divided by how many cells they have, the product of the numbers along all dims."""
    count = functools.reduce(multiply.two, (members(x, d, s, pads[d]) for d, s in spans.items()), c(1))
    return e.divide(sums, cast(count, real_dtype(sums)) if count.names else count)


@operation(sample("real(a,eight)", window={"eight": 2}), sample("real(six,nine)", window={"nine": 3, "six": 2}, stride=2, padding=1),
           sample("real(nine,a)", window={"nine": 3}, stride=2, padding=1, count_include_pad=False, ceil_mode=True),
           sample("real(eight)", window={"eight": 3}, divisor_override=2, dilation=2), method=True)  # fmt: skip
@in_single
def avg_pool(
    x: DimArray, window: Mapping[Any, int], *, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> DimArray:  # fmt: skip
    """Mean of windows.

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    stride : int or mapping of dim to int, optional
        Distance between windows; their size by default.
    padding : int, (before, after), or mapping of dim to either
        Zeros added at the ends, at most half a window.
    dilation : int or mapping of dim to int
        Distance between the cells of a window.
    ceil_mode : bool
        Also a last window that is not full, if it starts before the end.
    count_include_pad : bool
        Whether zeros of the padding count as cells.
    divisor_override : int, optional
        What sums are divided by, instead of the number of cells.

    Returns
    -------
    DimArray
        The dims count windows.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If no window fits, or an option is out of range.

    Notes
    -----
    Linear; sums are formed one dim after the other. Counterpart: ``torch.nn.functional.avg_pool2d`` and its kin, in their layout
    ``ng.avg_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 3.0, 5.0, 7.0, 9.0], ("x",))
    >>> ng.avg_pool(a, {"x": 2}).data, ng.avg_pool(a, {"x": 2}, ceil_mode=True).data
    (array([2., 6.]), array([2., 6., 9.]))
    """
    spans, pads = pooled_spans(x, window, stride, padding, dilation, ceil_mode, "avg_pool")
    sums = window_sums(floating(x), spans)
    if divisor_override is not None:
        if not divisor_override:
            raise ValueError("avg_pool: divisor_override must not be 0")
        return e.divide(sums, c(divisor_override))
    counted = pads if count_include_pad else dict.fromkeys(spans, (0, 0))
    return divided(sums, x, spans, counted)


def flat_positions(found: Mapping[Name, DimArray], sizes: Mapping[Name, int]) -> DimArray:
    """Positions along several dims as positions in their C order."""
    (_, at), *rest = found.items()
    for d, more in rest:
        at = add(multiply(at, c(sizes[d])), more)
    return at


@operation(sample("real(a,eight)", window={"eight": 2}), sample("real(six,nine)", window={"six": 2, "nine": 3}, stride=2, padding=1),
           sample("real(nine,a)", window={"nine": 3}, stride=2, dilation=2, ceil_mode=True),
           sample("real(a,eight)", window={"eight": 3}, return_indices=True), method=True)  # fmt: skip
def max_pool(
    x: DimArray, window: Mapping[Any, int], *, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest cell of windows.

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    stride : int or mapping of dim to int, optional
        Distance between windows; their size by default.
    padding : int, (before, after), or mapping of dim to either
        Cells of -inf added at the ends, at most half a window.
    dilation : int or mapping of dim to int
        Distance between the cells of a window.
    ceil_mode : bool
        Also a last window that is not full, if it starts before the end.
    return_indices : bool
        Also give where the largest cells are: positions in the C order of the windowed dims, in the order of ``window``.

    Returns
    -------
    DimArray or (DimArray, DimArray)
        The dims count windows.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If no window fits, or an option is out of range.

    Notes
    -----
    A NaN in a window is its largest cell. The gradient goes to the one cell that the index tells, as in PyTorch: of equal cells the
    first in C order (of several NaN the last); :func:`max`, in contrast, shares it among them. Counterpart:
    ``torch.nn.functional.max_pool2d`` and its kin, in their layout ``ng.max_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 5.0, 5.0, 2.0], ("x",))
    >>> y, at = ng.max_pool(a, {"x": 2}, stride=1, return_indices=True)
    >>> y.data, at.data
    (array([5., 5., 5.]), array([1, 1, 2]))
    >>> ng.grad(lambda a: ng.max_pool(a, {"x": 2}, stride=1).sum())(a).data
    array([0., 2., 1., 0.])
    """
    spans, _ = pooled_spans(x, window, stride, padding, dilation, ceil_mode, "max_pool")
    return largest(x, spans, return_indices)


def largest(x: DimArray, spans: Mapping[Name, Along], return_indices: bool) -> Any:
    """The largest cells of windows, and on demand where they are among all cells of the dims."""
    if x.dtype.kind == "c":
        raise TypeError("complex numbers have no order: pool their real part or their absolute value")
    if not return_indices:
        return window_maxima(x, spans)
    y, found = window_argmaxima(x, spans)
    return y, reorder(flat_positions({d: found[d] for d in spans}, {d: extent(x, d) for d in spans}), y.names)


@operation(sample("real(a,six)", indices=make(np.array([5, 0, 2, 8, 7, 1]), ("six",), NONE), sizes={"six": 9}))
def max_unpool(x: DimArray, indices: DimArray, sizes: Mapping[Any, int]) -> DimArray:
    """Cells put back where :func:`max_pool` took them from, zeros elsewhere.

    Parameters
    ----------
    x : DimArray
    indices : DimArray of int
        As :func:`max_pool` gives them: positions in the C order of the dims of ``sizes``.
    sizes : mapping of dim to size
        The pooled dims, in the order that they had in ``window``, and the sizes that they get.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    IndexError
        If a position is out of range.

    Notes
    -----
    Of several cells with one index the last counts, also in gradients. Counterpart: ``torch.nn.functional.max_unpool2d`` and its kin, in their
    layout ``ng.max_unpool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 5.0, 4.0, 2.0], ("x",))
    >>> y, at = ng.max_pool(a, {"x": 2}, return_indices=True)
    >>> ng.max_unpool(y, at, {"x": 4}).data
    array([0., 5., 4., 0.])
    """
    x, at = constant(x), constant(indices)
    dims = tuple(window_sizes(x, sizes, "max_unpool"))
    if missing := [d for d in dims if d not in at.names]:
        raise AxisError(f"max_unpool: the indices have no dim {missing[0]!r}; their dims are {at.dims}")
    x = with_names(x, [at])  # one result for each choice of cells
    cell: Name = (*dims, "cell")
    place: Name = (*dims, "place")
    rest = tuple(n for n in x.names if n not in dims)
    room = Like((*rest, cell), (*(extent(x, n) for n in rest), math.prod(sizes.values())), x.dtype)
    empty = relabel(zeros_spread(x, room), {}, hide=tuple(n for n in rest if n in x.hidden))
    out = At(empty)[{cell: merge(at, dims, place)}].set(merge(x, dims, place))
    return split(out, cell, dict(sizes))


@operation(sample("positive(a,eight)", window={"eight": 2}, p=3), sample("real(six,nine)", window={"six": 2, "nine": 3}, p=2, stride=2, ceil_mode=True),
           sample("positive(nine)", window={"nine": 2}, p=1.5, stride=1), method=True)  # fmt: skip
@in_single
def lp_pool(
    x: DimArray, window: Mapping[Any, int], p: float = 2, *, stride: Any = None, ceil_mode: bool = False
) -> DimArray:
    """The ``p``-th root of the sum of ``p``-th powers of windows.

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    p : float
        The power, of the cells themselves and not of their absolute values.
    stride : int or mapping of dim to int, optional
        Distance between windows; their size by default.
    ceil_mode : bool
        Also a last window that is not full, if it starts before the end; its sum counts as that of a part of a window.

    Returns
    -------
    DimArray
        The dims count windows.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If no window fits, or an option is out of range.

    Notes
    -----
    As in PyTorch the sum of a window that is not full counts as if its mean were that of a full one. Where the sum is 0 and ``p`` is more
    than 1 the derivative is 0. Windows whose powers would overflow or vanish are scaled first (not on dask and CuPy). Counterpart: ``torch.nn.functional.lp_pool2d`` and its kin, in their layout ``ng.lp_pool2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.lp_pool(ng.DimArray([3.0, 4.0, 6.0, 8.0], ("x",)), {"x": 2}).data
    array([ 5., 10.])
    """
    spans, pads = pooled_spans(x, window, stride, 0, 1, ceil_mode, "lp_pool")
    x = floating(x)

    def root(sums: DimArray) -> DimArray:
        full = math.prod(s.size for s in spans.values())  # without ceil_mode all windows are
        return _root(multiply(divided(sums, x, spans, pads), c(full)) if ceil_mode else sums, p)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out = root(window_sums(e.power(x, c(p)), spans))

    def scaled() -> DimArray:
        def powers_root(cells: DimArray) -> DimArray:
            return root(total(e.power(cells, c(p)), new))

        inside = {d: private_name(d) for d in spans}
        cells, new = strided_windows(x, spans, inside), tuple(inside.values())
        scale = size_of(cells, new, skipna=False)
        out = by_scaled(powers_root, cells, lambda x: e.divide(x, scale), lambda y: multiply(y, scale))
        return root_of(out, total(e.square(cells), new)) if p == 2 else out

    return rescaled(out, [(out, x)], p, scaled) if 1 < p < math.inf else out


def _root(sums: DimArray, p: float) -> DimArray:
    """The p-th root, with derivative 0 at 0 if ``p`` is more than 1."""
    if p == 2:
        return e.length(sums)
    if p <= 1 or sums.level is None:  # nothing to keep a gradient from
        return e.power(sums, c(1 / p))
    some = not_equal(sums, c(0))
    return select(some, e.power(where(some, sums, c(1)), c(1 / p)))
