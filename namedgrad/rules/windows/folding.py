"""Windows as dims of their own, and back: unfold and fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError
from namedgrad.backends.windows import Span
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check
from namedgrad.rules.windows.geometry import new_names, sides, span, whole, window_sizes, with_offsets
from namedgrad.rules.windows.views import add_windows, strided_windows


@operation(sample("real(a,eight)", window={"eight": 3}), sample("real(six,a,nine)", window={"six": 2, "nine": 3}, stride=2, padding=1, dilation={"six": 1, "nine": 2}),
           sample("real(nine)", window={"nine": 2}, new_dim="k", stride=3, padding=(0, 2)), method=True)  # fmt: skip
def unfold(
    x: DimArray, window: Mapping[Any, int], *, new_dim: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> DimArray:
    """The cells of all windows, along new dims.

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    new_dim : name or mapping of dim to name, optional
        Names of the dims of offsets; those of the dims with ``_window`` appended by default.
    stride : int or mapping of dim to int
        Distance between windows.
    padding : int, (before, after), or mapping of dim to either
        Zeros added at the ends.
    dilation : int or mapping of dim to int
        Distance between the cells of a window.

    Returns
    -------
    DimArray
        The dims count windows, new dims come last. On NumPy a view, or one of a padded copy.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or a new name is taken.
    ValueError
        If no window fits, or an option is out of range.

    Notes
    -----
    Linear; the transpose is :func:`fold`. Counterparts: :func:`numpy.lib.stride_tricks.sliding_window_view`, ``torch.Tensor.unfold``
    and, in its layout, ``ng.im2col``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.unfold(ng.arange("x", 5), {"x": 3}, new_dim="k")
    <DimArray (x: 3, k: 3) int64>
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    size = window_sizes(x, window, "unfold")
    step, apart = whole(stride, size, "unfold: stride"), whole(dilation, size, "unfold: dilation")
    pads = sides(padding, size, "unfold")
    new = new_names(x, size, new_dim)
    return strided_windows(x, {d: span(x, d, size[d], step[d], apart[d], pads[d], "unfold") for d in size}, new)


@operation(sample("real(a,nine,six)", dims={"nine": "six"}, sizes={"nine": 14}),
           sample("real(six,nine,eight,one)", dims={"six": "eight", "nine": "one"}, sizes={"six": 13, "nine": 17}, stride={"six": 1, "nine": 2}),
           sample("real(nine,six)", dims={"nine": "six"}, sizes={"nine": 25}, stride=2, padding=1, dilation=2),
           method=True)  # fmt: skip
def fold(
    x: DimArray, dims: Mapping[Any, Any], sizes: Mapping[Any, int], *, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> DimArray:
    """Windows added back where :func:`unfold` took them from; cells that several windows have are summed.

    Parameters
    ----------
    x : DimArray
    dims : mapping of dim to dim of offsets
    sizes : mapping of dim to size
        What the dims get.
    stride, padding, dilation
        As for :func:`unfold`.

    Returns
    -------
    DimArray
        Without the dims of offsets.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized.
    ValueError
        If dims of these sizes have another number of windows.

    Notes
    -----
    Linear; the transpose is :func:`unfold`. Counterpart: ``torch.nn.functional.fold``, in its layout ``ng.col2im``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.unfold(ng.ones({"x": 4}), {"x": 2}, new_dim="k")
    >>> ng.fold(a, {"x": "k"}, {"x": 4}).data
    array([1., 2., 2., 1.])
    """
    x = constant(x)
    dims = with_offsets(dims)
    for d, k in dims.items():
        check(x, d, "fold")
        check(x, k, "fold")
    if len({*dims, *dims.values()}) < 2 * len(dims):
        raise AxisError(f"fold: {dict(dims)} names a dim twice")
    n = whole(sizes, dims, "fold: size", least=0)
    step, apart = whole(stride, dims, "fold: stride"), whole(dilation, dims, "fold: dilation")
    pads = sides(padding, dims, "fold")
    spans = {}
    for d, k in dims.items():
        room = n[d] + sum(pads[d]) - apart[d] * (extent(x, k) - 1) - 1
        if room // step[d] + 1 != extent(x, d):
            raise ValueError(
                f"fold: {n[d]} cells along {d!r} have {max(0, room // step[d] + 1)} such windows, not the {extent(x, d)} of {describe(x)}"
            )
        spans[d] = Span(extent(x, k), extent(x, d), step[d], apart[d], pads[d][0])
    return add_windows(x, spans, dict(dims), n)
