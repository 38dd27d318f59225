"""Pooling of ``(batch..., channel, cells...)``, as PyTorch has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Names
from namedgrad.positional.array import ordered
from namedgrad.positional.faces import as_names
from namedgrad.positional.layers.places import channel, enter, leave, per_axis, sizes
from namedgrad.positional.operands import unwrap
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import relabel
from namedgrad.rules.windows import adaptive, channels, pooling

_RESULT = """

    Returns
    -------
    array
        ``(batch..., channel, cells...)``{more}; plain if the input is.

    Raises
    ------
    ValueError
        If shapes or options do not fit.

    See Also
    --------
    namedgrad.{named} : the same by name.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> ng.{name}({call}).shape
    {shape}
    """
_INPUT = """

    Parameters
    ----------
    input : array
        ``(batch..., channel, cells...)``: a plain or a positional array.
"""
_WINDOW = """    kernel_size : int or {count} of them
    stride : int or {count} of them, optional
        Distance between windows; their size by default.
"""
_PADDING = "    padding : int or {count} of them\n        Cells added at both ends.\n"
_CEIL = "    ceil_mode : bool\n        Also a last window that is not full.\n"
_INDICES = "    return_indices : bool\n        Also give the positions in the C order of the cells.\n"


def _named(
    function: Callable[..., Any], count: int, first: str, options: str, call: str, shape: Any, more: str = ""
) -> Callable[..., Any]:
    """A function with the name of the named operation and its number of axes, described."""
    named = function.__name__
    function.__name__ = function.__qualname__ = name = f"{named}{count}d"
    function.__module__ = "namedgrad"
    text = f"{first}, as ``torch.nn.functional.{name}``.{_INPUT}{options}"
    result = _RESULT.format(named=named, name=name, call=call, shape=shape, more=more)
    function.__doc__ = text.format(count=count).rstrip() + result
    return function


def _as_input(x: DimArray, out: Any, *inputs: Any) -> Any:
    """One or two results in the order of the input's axes."""
    if isinstance(out, tuple):
        return tuple(_as_input(x, o, *inputs) for o in out)
    return leave(ordered(out, x.dims), *inputs)


def _options(cells: Names, what: str, **given: Any) -> dict[str, Any]:
    return {k: per_axis(None if _is_empty(v) else v, cells, f"{what}: {k}") for k, v in given.items()}


def _is_empty(value: Any) -> bool:
    """Whether an option is left out, as PyTorch writes it for strides."""
    return isinstance(value, (tuple, list)) and not value


def _ones(count: int) -> str:
    return f"np.ones((2, 3{', 6' * count}))"


def _avg(count: int) -> Callable[..., Any]:
    def avg_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        x, cells = enter(input, count, "avg_pool: the input")
        window = sizes(kernel_size, cells, "avg_pool: kernel_size")
        more = _options(cells, "avg_pool", stride=stride, padding=padding)
        out = pooling.avg_pool(
            x, window, **more, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )  # fmt: skip
        return _as_input(x, out, input)

    doc = _WINDOW + _PADDING + _CEIL + (
        "    count_include_pad : bool\n        Whether the added cells count.\n"
        "    divisor_override : int, optional\n        What sums are divided by, instead of the number of cells."
    )  # fmt: skip
    return _named(avg_pool, count, "Mean of windows", doc, f"{_ones(count)}, 2", (2, 3, *(3,) * count))


def _max(count: int) -> Callable[..., Any]:
    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        x, cells = enter(input, count, "max_pool: the input")
        window = sizes(kernel_size, cells, "max_pool: kernel_size")
        more = _options(cells, "max_pool", stride=stride, padding=padding, dilation=dilation)
        out = pooling.max_pool(x, window, **more, ceil_mode=ceil_mode, return_indices=return_indices)
        return _as_input(x, out, input)

    dilation = "    dilation : int or {count} of them\n        Distance between the cells of a window.\n"
    doc = _WINDOW + _PADDING + dilation + _CEIL + _INDICES
    shape = (2, 3, *(3,) * count)
    return _named(max_pool, count, "Largest cell of windows", doc, f"{_ones(count)}, 2", shape, ", and the indices")


def _lp(count: int) -> Callable[..., Any]:
    def lp_pool(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        x, cells = enter(input, count, "lp_pool: the input")
        window = sizes(kernel_size, cells, "lp_pool: kernel_size")
        out = pooling.lp_pool(x, window, norm_type, **_options(cells, "lp_pool", stride=stride), ceil_mode=ceil_mode)
        return _as_input(x, out, input)

    doc = "    norm_type : float\n        The power.\n" + _WINDOW + _CEIL
    first = "Root of the sum of powers of windows"
    return _named(lp_pool, count, first, doc, f"{_ones(count)}, 2, 3", (2, 3, *(2,) * count))


def _adaptive_avg(count: int) -> Callable[..., Any]:
    def adaptive_avg_pool(input: Any, output_size: Any) -> Any:
        x, cells = enter(input, count, "adaptive_avg_pool: the input")
        output = sizes(output_size, cells, "adaptive_avg_pool: output_size")
        return _as_input(x, adaptive.adaptive_avg_pool(x, output), input)

    doc = "    output_size : int or {count} of them\n        None keeps a size."
    first = "Mean of as many windows as asked for"
    return _named(adaptive_avg_pool, count, first, doc, f"{_ones(count)}, 4", (2, 3, *(4,) * count))


def _adaptive_max(count: int) -> Callable[..., Any]:
    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        x, cells = enter(input, count, "adaptive_max_pool: the input")
        output = sizes(output_size, cells, "adaptive_max_pool: output_size")
        return _as_input(x, adaptive.adaptive_max_pool(x, output, return_indices=return_indices), input)

    doc = "    output_size : int or {count} of them\n        None keeps a size.\n" + _INDICES
    first = "Largest cell of as many windows as asked for"
    shape = (2, 3, *(4,) * count)
    return _named(adaptive_max_pool, count, first, doc, f"{_ones(count)}, 4", shape, ", and the indices")


def _fractional(count: int) -> Callable[..., Any]:
    def fractional_max_pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        x, cells = enter(input, count, "fractional_max_pool: the input")
        window = sizes(kernel_size, cells, "fractional_max_pool: kernel_size")
        if (output_size is None) == (output_ratio is None) or _random_samples is None:
            raise ValueError(
                "fractional_max_pool: give output_size or output_ratio, and _random_samples of (batch, channel, axes)"
            )
        if output_size is None:
            ratio = sizes(output_ratio, cells, "fractional_max_pool: output_ratio")
            output = {n: int(extent(x, n) * ratio[n]) for n in cells}
        else:
            output = sizes(output_size, cells, "fractional_max_pool: output_size")
        order = cells[::-1] if count == 2 else cells  # PyTorch's order of the samples
        draws = {n: _samples(_random_samples, x, i, count) for i, n in enumerate(order)}
        out = adaptive.fractional_max_pool(x, draws, window, output, return_indices=return_indices)
        return _as_input(x, out, input)

    doc = """    kernel_size, output_size : int or {count} of them
    output_ratio : float or {count} of them, optional
        Size of the result relative to that of the input, instead of ``output_size``.
""" + _INDICES + """    _random_samples : array
        ``(batch, channel, {count})``, in [0, 1)."""  # fmt: skip
    call = f"{_ones(count)}, 2, 4, _random_samples=np.full((2, 3, {count}), 0.5)"
    first = "Largest cell of windows at drawn places"
    return _named(fractional_max_pool, count, first, doc, call, (2, 3, *(4,) * count), ", and the indices")


def _samples(given: Any, x: DimArray, i: int, count: int) -> DimArray:
    """The samples of one axis, with the names that batch and channel have in the input."""
    u = slice_of(unwrap(given, "fractional_max_pool: the samples"), axes.axis(-1), i)
    if x.ndim == count + 1:
        u = slice_of(u, axes.axis(-3), 0)
        return relabel(u, {axes.axis(-2): channel(count)})
    return relabel(u, {axes.axis(-2): channel(count), axes.axis(-3): axes.axis(-count - 2)})


def _unpool(count: int) -> Callable[..., Any]:
    def max_unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        x, cells = enter(input, count, "max_unpool: the input")
        window = sizes(kernel_size, cells, "max_unpool: kernel_size")
        step = window if stride is None or _is_empty(stride) else sizes(stride, cells, "max_unpool: stride")
        pad = sizes(padding, cells, "max_unpool: padding")
        size = {n: (extent(x, n) - 1) * step[n] - 2 * pad[n] + window[n] for n in cells}
        if output_size is not None:
            size = dict(zip(cells, tuple(output_size)[-count:], strict=True))
        return _as_input(x, pooling.max_unpool(x, unwrap(indices, "max_unpool: the indices"), size), input, indices)

    before = "    indices : array of int\n        As the max pooling of as many axes gives them.\n"
    after = "    output_size : sequence of int, optional\n        Which of the sizes leading to the input's is meant."
    doc = before + _WINDOW + _PADDING + after
    width = "np.arange(6).reshape((1, 1" + ", 1" * (count - 1) + ", 6))"
    call = f"{width} * 1.0, {width}, {(1,) * (count - 1) + (2,)}"
    first = "Cells put back where max pooling took them from"
    return _named(max_unpool, count, first, doc, call, (1, 1, *(1,) * (count - 1), 12))


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg, (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = map(_max, (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp, (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg, (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max, (1, 2, 3))
fractional_max_pool2d, fractional_max_pool3d = map(_fractional, (2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = map(_unpool, (1, 2, 3))


# ------------------------------------------------------------------------------------------------ channels


def _shuffling(by: Callable[..., DimArray], name: str) -> Callable[..., Any]:
    """Named ``by`` with a number for both of the last axes, also by PyTorch's name for it."""

    def call(input: Any, factor: Any = None, into: Any = None, **options: Any) -> Any:
        x, cells = enter(input, 2, f"{by.__name__}: the input")
        channels_at = options.pop("channel", into)
        by_number = options.pop(name, factor)
        if options or by_number is None:
            raise TypeError(f"{by.__name__} takes input, {name} (or a mapping of axes) and channel=; got {[*options]}")
        factors = as_names(by_number, x.ndim) if isinstance(by_number, Mapping) else dict.fromkeys(cells, by_number)
        return _as_input(x, by(x, factors, channel(2) if channels_at is None else as_names(channels_at, x.ndim)), input)

    return call


def _channel_shuffle(input: Any, groups: int, channel: int = 1) -> Any:
    x = unwrap(input, "channel_shuffle: the input")
    return _as_input(x, channels.channel_shuffle(x, groups, as_names(channel, x.ndim)), input)


def _local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, *, dim: int = 1
) -> Any:
    x = unwrap(input, "local_response_norm: the input")
    out = channels.local_response_norm(x, as_names(dim, x.ndim), size, alpha=alpha, beta=beta, k=k)
    return _as_input(x, out, input)


OVERRIDES: dict[str, Callable[..., Any]] = {
    "pixel_shuffle": _shuffling(channels.pixel_shuffle, "upscale_factor"),
    "pixel_unshuffle": _shuffling(channels.pixel_unshuffle, "downscale_factor"),
    "channel_shuffle": _channel_shuffle,
    "local_response_norm": _local_response_norm,
}
