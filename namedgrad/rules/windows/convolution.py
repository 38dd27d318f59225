"""Convolution by name, and its transpose: windows contracted with a kernel, and a product added back into windows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends.windows import Span
from namedgrad.linear import CoreMap, Map, Pair, add_all, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules.dims import as_names, check
from namedgrad.rules.movement import pad
from namedgrad.rules.movement.cuts import flip_axes
from namedgrad.rules.structure import contract as contracted
from namedgrad.rules.structure import guarded_contract, relabel, reorder
from namedgrad.rules.windows.geometry import private_name, sides, span, whole
from namedgrad.rules.windows.views import Spans, add_windows, cut_windows, strided_windows
from namedgrad.trace import apply

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Convolve(Primitive):
    """Windows one cell apart, contracted with a kernel.

    One operation of its own for the derivative in the data: a convolution of the cotangent with the flipped kernel.
    Of two operations it would be the derivative in all windows, added back: 2.5 times as long for images, 8 times for a
    kernel of 500 cells.
    """

    form, signature, keeps = "core", "(n...,k...),(w...,k...)->(m...)", "others"

    def lower(self, args: Sequence[DimArray], dims: Names, kernel: Names, over: Names, spans: Spans) -> DimArray:
        x, w = args
        return contracted(cut_windows(x, dims, kernel, spans), w, (*over, *kernel))

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, kernel: Names, over: Names,
        spans: Spans,
    ) -> Map:  # fmt: skip
        cells, places, offsets, sums = _names(len(dims), len(dims), len(dims), len(over))
        frames = [dict(zip((*d, *over), (*c, *sums), strict=True)) for d, c in ((dims, cells), (kernel, offsets))]
        x, w = (relabel(a, frame) for a, frame in zip(ins, frames, strict=True))
        there, back = dict(zip(cells, places, strict=True)), dict(zip(places, cells, strict=True))
        turned = tuple(_turned(s, extent(x, c)) for s, c in zip(spans, cells, strict=True))

        def seen(x: DimArray) -> DimArray:
            return relabel(cut_windows(x, cells, offsets, spans), there)

        def in_x(g: DimArray) -> Pair:
            return Pair(relabel(cut_windows(g, places, offsets, turned), back), flip_axes(w, offsets))

        def in_w(g: DimArray) -> Pair:
            return Pair(g, seen(x))

        several: list[tuple[Callable[[DimArray], Pair], Callable[[DimArray], DimArray]]] = [
            (in_x, lambda t: guarded_contract(seen(t), w, (*sums, *offsets))),
            (in_w, lambda t: guarded_contract(t, seen(x), (*sums, *offsets))),
        ]
        at = [i for i, n in enumerate(need) if n]
        return CoreMap(
            lambda ts: add_all([several[i][1](t) for i, t in zip(at, ts, strict=True) if t is not None]),
            lambda g: [several[i][0](g) for i in at],
            [like(ins[i]) for i in at],
            [frames[i] for i in at],
            dict(zip(dims, places, strict=True)),
        )


_CONVOLVE = _Convolve("convolve")


@functools.cache
def _names(*counts: int) -> list[Names]:
    """Names for the inside of the derivative, as many as are asked for; not core names, of which a flip takes all."""
    return [tuple(axes.fresh("convolved") for _ in range(n)) for n in counts]


def _turned(s: Span, cells: int) -> Span:
    """The windows of a cotangent, one for each of the cells, that the kernel meets from its other end."""
    return Span(s.size, cells, 1, s.dilation, (s.size - 1) * s.dilation - s.before)


def _paired(x: DimArray, w: DimArray, dims: Any, over: Any, what: str) -> tuple[DimArray, dict[Name, Name], Names]:
    """The kernel with names of its own, the kernel dim of each windowed dim, and the dims to contract."""
    if not isinstance(dims, Mapping):
        raise TypeError(f"{what}: pair dims with kernel dims in a mapping, such as {{'x': 'kx'}}, not {dims!r}")
    for d, k in dims.items():
        check(x, d, f"{what}: the data")
        check(w, k, f"{what}: the kernel")
    if len(set(dims.values())) < len(dims):
        raise AxisError(f"{what}: {dims} pairs a kernel dim twice")
    names = () if over is None else as_names(x, over)
    for n in names:
        check(x, n, f"{what}: the data")
        check(w, n, f"{what}: the kernel")
        if n in dims or n in dims.values():
            raise AxisError(f"{what}: {n!r} is a windowed dim, or one of the kernel, and cannot be contracted as well")
    taken = {k: private_name(k) for k in dims.values() if k in x.names}
    # Kernel dims in front, for what is added to windows: its channels lie innermost, and an offset is runs of cells.
    w = reorder(w, (*dims.values(), *(n for n in w.names if n not in dims.values())))
    return relabel(w, taken), {d: taken.get(k, k) for d, k in dims.items()}, names


@operation(sample("real(eight,c)", "real(b,c,six)", dims={"eight": "six"}, contract="c"),
           sample("real(six,eight,c)", "real(c,b,a,i)", dims={"six": "a", "eight": "i"}, contract="c", stride=2, padding=1),
           sample("real(a,nine)", "real(b)", dims={"nine": "b"}, padding="same", dilation=2),
           sample("real(a,eight,c)", "real(a,b,c,i)", dims={"eight": "i"}, contract="c", padding={"eight": (2, 1)}))  # fmt: skip
def conv(
    x: DimArray, w: DimArray, dims: Mapping[Any, Any], contract: Any = None, *, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, padding_mode: str = "zeros",
) -> DimArray:  # fmt: skip
    """Convolution by name, as neural networks have it: the kernel is not flipped.

    ``out[.., i, ..] = sum over k and contract of x[.., i * stride + k * dilation - padding, ..] * w[.., k, ..]``.

    Parameters
    ----------
    x : DimArray
        The data, with the windowed dims.
    w : DimArray
        The kernel, with the kernel dims.
    dims : mapping of windowed dim to kernel dim
        Any number of them: ``{"x": "kx", "y": "ky"}``.
    contract : name or names, optional
        Dims of both that are summed, the input channels. Any other dim that both have is a group: each of its positions has a
        kernel of its own.
    stride, dilation : int or mapping of windowed dim to int
        Distance between windows, and between the cells of one.
    padding : int, (before, after), mapping of windowed dim to either, "same" or "valid"
        Cells added at the ends. ``"same"`` keeps the sizes (stride 1; of an odd number the larger half comes after),
        ``"valid"`` adds none. Negative numbers cut.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        What the added cells hold.

    Returns
    -------
    DimArray
        With the dims of ``x`` that are not contracted, the windowed ones counting windows, then the dims that only ``w`` has.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or a shared dim has two sizes.
    ValueError
        If no window fits, or an option is out of range.

    Notes
    -----
    Windows are a view and the sum over kernel and channels is one matrix product. The derivative in ``w`` is the product of
    the windows with the cotangent, that in ``x`` is :func:`conv_transpose`: of windows one cell apart, a convolution of the
    cotangent with the flipped kernel. Counterpart: ``torch.nn.functional.conv2d`` and
    its kin, whose positional layout is ``ng.conv1d``, ``ng.conv2d``, ``ng.conv3d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 4.0, 7.0], ("time",))
    >>> ng.conv(x, ng.DimArray([-1.0, 1.0], ("k",)), {"time": "k"}).data
    array([1., 2., 3.])
    >>> image, kernel = ng.ones({"c": 3, "y": 8, "x": 8}), ng.ones({"out": 5, "c": 3, "ky": 3, "kx": 3})
    >>> ng.conv(image, kernel, {"y": "ky", "x": "kx"}, contract="c", stride=2, padding=1).sizes
    {'y': 4, 'x': 4, 'out': 5}
    """
    x, w = constant(x), constant(w)
    w, kernel, over = _paired(x, w, dims, contract, "conv")
    size = {d: extent(w, k) for d, k in kernel.items()}
    step, apart = whole(stride, dims, "conv: stride"), whole(dilation, dims, "conv: dilation")
    if padding == "same":
        if any(s != 1 for s in step.values()):
            raise ValueError("conv: padding='same' keeps sizes, which a stride other than 1 does not")
        total = {d: apart[d] * (size[d] - 1) for d in dims}
        padding = {d: (t // 2, t - t // 2) for d, t in total.items()}
    pads = sides(0 if padding == "valid" else padding, dims, "conv")
    if padding_mode not in _MODES:
        raise ValueError(f"conv: padding_mode {padding_mode!r} is not one of {', '.join(map(repr, _MODES))}")
    if padding_mode != "zeros":
        x, pads = pad(x, pads, mode=_MODES[padding_mode]), dict.fromkeys(dims, (0, 0))
    spans = {d: span(x, d, size[d], step[d], apart[d], pads[d], "conv") for d in dims}
    if spans and all(s.stride == 1 for s in spans.values()) and not any(d in w.names for d in dims):
        at = {"dims": tuple(spans), "kernel": tuple(kernel.values()), "over": over, "spans": tuple(spans.values())}
        return apply(_CONVOLVE, (x, w), **at)
    return contracted(strided_windows(x, spans, kernel), w, (*over, *kernel.values()))


@operation(sample("real(eight,c)", "real(b,c,six)", dims={"eight": "six"}, contract="c"),
           sample("real(six,eight,c)", "real(c,b,a,i)", dims={"six": "a", "eight": "i"}, contract="c", stride=2, padding={"six": 0, "eight": 1}, output_padding=1),
           sample("real(a,nine)", "real(b)", dims={"nine": "b"}, dilation=2))  # fmt: skip
def conv_transpose(
    x: DimArray, w: DimArray, dims: Mapping[Any, Any], contract: Any = None, *, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1,
) -> DimArray:  # fmt: skip
    """The transpose of :func:`conv` in its data: every cell of ``x`` adds a multiple of the kernel to its window.

    ``out[.., i * stride + k * dilation - padding, ..] += sum over contract of x[.., i, ..] * w[.., k, ..]``.

    Parameters
    ----------
    x, w, dims, contract, stride, dilation
        As for :func:`conv`.
    padding : int, (before, after), or mapping of windowed dim to either
        Cells that :func:`conv` would have added, and which are therefore left out here.
    output_padding : int or mapping of windowed dim to int
        Cells added at the end, which says which of several sizes that :func:`conv` brings to that of ``x`` is meant.

    Returns
    -------
    DimArray
        With the dims of ``x`` that are not contracted, then the dims that only ``w`` has. A windowed dim of n cells gets
        ``(n - 1) * stride - before - after + dilation * (size - 1) + output_padding + 1``.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or a shared dim has two sizes.
    ValueError
        If nothing would be left, or an option is out of range.

    Notes
    -----
    Counterpart: ``torch.nn.functional.conv_transpose2d`` and its kin; in their layout ``ng.conv_transpose2d``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, w = ng.DimArray([1.0, 2.0], ("x",)), ng.DimArray([1.0, 10.0, 100.0], ("k",))
    >>> ng.conv_transpose(x, w, {"x": "k"}, stride=2).data
    array([  1.,  10., 102.,  20., 200.])
    """
    x, w = constant(x), constant(w)
    w, kernel, over = _paired(x, w, dims, contract, "conv_transpose")
    step, apart = whole(stride, dims, "conv_transpose: stride"), whole(dilation, dims, "conv_transpose: dilation")
    more = whole(output_padding, dims, "conv_transpose: output_padding", least=0)
    pads = sides(padding, dims, "conv_transpose")
    spans, sizes = {}, {}
    for d, k in kernel.items():
        if more[d] >= max(step[d], apart[d]):
            raise ValueError(f"conv_transpose: output_padding {more[d]} along {d!r} must be less than stride or dilation")
        spans[d] = Span(extent(w, k), extent(x, d), step[d], apart[d], pads[d][0])
        sizes[d] = spans[d].reach - sum(pads[d]) + more[d]
        if sizes[d] < 1:
            raise ValueError(f"conv_transpose: a padding of {pads[d]} leaves nothing of {d!r} in {describe(x)}")
    return add_windows(contracted(x, w, over), spans, kernel, sizes)
