"""Convolution of ``(batch..., in, cells...)`` with ``(out, in / groups, cells...)``, as PyTorch has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.array import ordered
from namedgrad.positional.faces import as_names
from namedgrad.positional.layers.places import channel, enter, leave, per_axis, sizes
from namedgrad.positional.operands import unwrap
from namedgrad.rules.movement import merge, split
from namedgrad.rules.structure import add, relabel
from namedgrad.rules.windows import convolution, folding
from namedgrad.rules.windows.geometry import private_name, with_offsets

_GROUP, _IN, _OUT = private_name("group"), private_name("in"), private_name("out")


def _convolved(
    what: str,
    count: int,
    given: tuple[Any, Any, Any],
    groups: int,
    by: Callable[..., DimArray],
    *,
    turned: bool,
    **options: Any,
) -> Any:
    """One of the two operations; ``turned`` says that the kernel has its input channels first."""
    x, cells = enter(given[0], count, f"{what}: the input")
    w = unwrap(given[1], f"{what}: the weight")
    first, second, into = axes.axis(-count - 2), channel(count), channel(count)
    kernel = {n: private_name(n) for n in cells}
    if w.ndim != count + 2 or groups < 1:
        raise ValueError(f"{what}: a weight of shape {w.shape} must have {count + 2} axes, groups={groups} be positive")
    each = extent(w, first) // groups
    channels = each if turned else extent(w, second)  # of the input, in a group
    if extent(x, into) != channels * groups or extent(w, first) % groups:
        raise ValueError(
            f"{what}: an input of {extent(x, into)} channels in {groups} groups does not fit weights of {w.shape}"
        )
    w = relabel(w, {**kernel, second: _OUT if turned else _IN})
    read = {k: per_axis(v, cells, f"{what}: {k}") for k, v in options.items()}
    if groups == 1:
        y = by(relabel(x, {into: _IN}), relabel(w, {first: _IN if turned else _OUT}), kernel, _IN, **read)
        y = relabel(y, {_OUT: into})
    else:
        w = split(w, first, {_GROUP: groups, _IN if turned else _OUT: each})
        y = by(split(x, into, {_GROUP: groups, _IN: channels}), w, kernel, _IN, **read)
        y = merge(y, (_GROUP, _OUT), into)
    if given[2] is not None:
        y = add(y, relabel(unwrap(given[2], f"{what}: the bias"), {axes.axis(-1): into}))
    return leave(ordered(y, axes.in_order(y.dims)), *given)


def _conv(count: int) -> Callable[..., Any]:
    name = f"conv{count}d"

    def function(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, *, padding_mode: str = "zeros",
    ) -> Any:  # fmt: skip
        return _convolved(
            name, count, (input, weight, bias), groups, convolution.conv, turned=False, stride=stride,
            padding=padding, dilation=dilation, padding_mode=padding_mode,
        )  # fmt: skip

    return _described(function, name, f"""Convolution over {count} axes, as ``torch.nn.functional.{name}``.

    Parameters
    ----------
    input : array
        ``(batch..., in, {_cells(count)})``: a plain or a positional array.
    weight : array
        ``(out, in / groups, {_cells(count, "k")})``.
    bias : array, optional
        ``(out,)``.
    stride, dilation : int or {count} of them
    padding : int or {count} of them, "same" or "valid"
    groups : int
        Into how many equal runs the channels are divided, each with outputs of its own.
    padding_mode : {{"zeros", "reflect", "replicate", "circular"}}
        What the added cells hold.

    Returns
    -------
    array
        ``(batch..., out, {_cells(count)})``; plain if all inputs are.

    Raises
    ------
    ValueError
        If shapes or options do not fit.

    See Also
    --------
    namedgrad.conv : the same by name.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> ng.{name}(np.ones((2, 3{", 5" * count})), np.ones((4, 3{", 3" * count})), padding=1).shape
    {(2, 4, *(5,) * count)}
    """)  # fmt: skip


def _conv_transpose(count: int) -> Callable[..., Any]:
    name = f"conv_transpose{count}d"

    def function(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        return _convolved(
            name, count, (input, weight, bias), groups, convolution.conv_transpose, turned=True, stride=stride,
            padding=padding, output_padding=output_padding, dilation=dilation,
        )  # fmt: skip

    return _described(function, name, f"""Transposed convolution of {count} axes, as ``torch.nn.functional.{name}``.

    Parameters
    ----------
    input : array
        ``(batch..., in, {_cells(count)})``: a plain or a positional array.
    weight : array
        ``(in, out / groups, {_cells(count, "k")})``.
    bias : array, optional
        ``(out,)``.
    stride, padding, output_padding, dilation : int or {count} of them
    groups : int
        Into how many equal runs the channels are divided, each with outputs of its own.

    Returns
    -------
    array
        ``(batch..., out, {_cells(count)})``; plain if all inputs are.

    Raises
    ------
    ValueError
        If shapes or options do not fit.

    See Also
    --------
    namedgrad.conv_transpose : the same by name.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> ng.{name}(np.ones((2, 3{", 5" * count})), np.ones((3, 4{", 3" * count})), stride=2).shape
    {(2, 4, *(11,) * count)}
    """)  # fmt: skip


def _cells(count: int, letter: str = "n") -> str:
    return ", ".join(f"{letter}{i}" for i in range(1, count + 1)) if count > 1 else letter


def _described(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__ = doc, "namedgrad"
    return function


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, (1, 2, 3))


# ------------------------------------------------------------------------------------------------ windows as columns


def _kernel_axes(kernel_size: Any, *others: Any) -> int:
    """How many axes options speak of; two if they are all single numbers."""
    return next((len(v) for v in (kernel_size, *others) if not isinstance(v, int)), 2)


def im2col(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Windows as columns, as ``torch.nn.functional.unfold``.

    Parameters
    ----------
    input : array
        ``(batch..., channel, cells...)``: a plain or a positional array. Windows have two axes unless an option says
        otherwise.
    kernel_size, dilation, padding, stride : int or one per axis

    Returns
    -------
    array
        ``(batch..., channel * cells of a window, windows)``.

    Raises
    ------
    ValueError
        If shapes or options do not fit.

    See Also
    --------
    namedgrad.unfold : the same by name, without joining axes.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> ng.im2col(np.ones((2, 3, 5, 6)), (2, 3)).shape
    (2, 18, 16)
    """
    count = _kernel_axes(kernel_size, dilation, padding, stride)
    x, cells = enter(input, count, "im2col: the input")
    new = {n: private_name(n) for n in cells}
    y = folding.unfold(
        x, sizes(kernel_size, cells, "im2col: kernel_size"), new_dim=new,
        stride=per_axis(stride, cells, "im2col: stride"), padding=per_axis(padding, cells, "im2col: padding"),
        dilation=per_axis(dilation, cells, "im2col: dilation"),
    )  # fmt: skip
    y = merge(merge(y, (channel(count), *new.values()), _IN), cells, _OUT)
    return leave(ordered(y, (*(n for n in x.dims if n in y.names), _IN, _OUT)), input)


def col2im(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added back into windows, as ``torch.nn.functional.fold``.

    Parameters
    ----------
    input : array
        ``(batch..., channel * cells of a window, windows)``: a plain or a positional array.
    output_size, kernel_size, dilation, padding, stride : int or one per axis

    Returns
    -------
    array
        ``(batch..., channel, cells...)``.

    Raises
    ------
    ValueError
        If shapes or options do not fit.

    See Also
    --------
    namedgrad.fold : the same by name.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> ng.col2im(np.ones((2, 18, 16)), (5, 6), (2, 3)).shape
    (2, 3, 5, 6)
    """
    count = _kernel_axes(output_size, kernel_size, dilation, padding, stride)
    x, (windows,) = enter(input, 1, "col2im: the input")
    cells = tuple(private_name(("cells", i)) for i in range(count))
    offsets = {n: private_name(n) for n in cells}
    size, out = sizes(kernel_size, cells, "col2im: kernel_size"), sizes(output_size, cells, "col2im: output_size")
    given = {"stride": stride, "padding": padding, "dilation": dilation}
    more = {k: sizes(v, cells, f"col2im: {k}") for k, v in given.items()}
    room = {n: out[n] + 2 * more["padding"][n] - more["dilation"][n] * (size[n] - 1) - 1 for n in cells}
    counts = {n: room[n] // more["stride"][n] + 1 for n in cells}
    columns, held = axes.axis(-2), math.prod(size.values())
    all_windows = math.prod(max(0, n) for n in counts.values())
    if extent(x, columns) % held or extent(x, windows) != all_windows:
        raise ValueError(
            f"col2im: columns of shape {x.shape[-2:]} are not those of {all_windows} windows of {held} cells a channel"
        )
    y = split(x, columns, {_IN: extent(x, columns) // held, **{offsets[n]: size[n] for n in cells}})
    y = split(y, windows, counts)
    y = folding.fold(y, offsets, out, **more)
    return leave(ordered(y, (*(n for n in x.dims if n in y.names), _IN, *cells)), input)


# ------------------------------------------------------------------------------------------------ by axis numbers


def _by_number(by: Callable[..., DimArray]) -> Callable[..., Any]:
    """A named convolution whose names are axis numbers: those of the kernel are told from those of the data."""

    def call(x: Any, w: Any, dims: Mapping[int, int], contract: Any = None, **options: Any) -> Any:
        a, b = unwrap(x), unwrap(w)
        names: dict[Name, Name] = {n: private_name(("kernel", n)) for n in b.dims}
        met = {} if contract is None else contract if isinstance(contract, Mapping) else {contract: contract}
        over = {as_names(i, b.ndim): as_names(j, a.ndim) for j, i in met.items()}
        pairs = {as_names(j, a.ndim): names[as_names(i, b.ndim)] for j, i in dims.items()}
        read = {k: as_names(v, a.ndim) if isinstance(v, Mapping) else v for k, v in options.items()}
        y = by(a, relabel(b, {**names, **over}), pairs, tuple(over.values()), **read)
        return leave(ordered(y, tuple(n for n in (*a.dims, *names.values()) if n in y.dims)), x, w)

    return call


def _fold(x: Any, dims: Mapping[int, int], sizes: Mapping[int, int], **options: Any) -> Any:
    a = unwrap(x)
    pairs = {as_names(d, a.ndim): as_names(k, a.ndim) for d, k in with_offsets(dims).items()}
    read = {k: as_names(v, a.ndim) if isinstance(v, Mapping) else v for k, v in options.items()}
    y = folding.fold(a, pairs, as_names(sizes, a.ndim), **read)
    return leave(ordered(y, tuple(n for n in a.dims if n in y.names)), x)


OVERRIDES: dict[str, Callable[..., Any]] = {
    "conv": _by_number(convolution.conv), "conv_transpose": _by_number(convolution.conv_transpose), "fold": _fold,
}  # fmt: skip
