"""Spectra of short pieces of a signal, and the signal of such spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.windows import Span
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, new_name, pick_one
from namedgrad.rules.fourier.named import fft, ifft, irfft, rfft
from namedgrad.rules.fourier.transforms import resized
from namedgrad.rules.movement import flip, join, merge, pad, slice_of, split
from namedgrad.rules.structure import cast, multiply, relabel, reorder, zeros_spread
from namedgrad.rules.windows.views import add_windows, windows
from namedgrad.trace import innermost

BLOCK, INNER, CELL, STEP = (axes.fresh(n) for n in ("block", "cell of a block", "cell of a frame", "block of a frame"))


def frames(x: DimArray, dim: Name, size: int, hop: int) -> DimArray:
    """Pieces of ``size`` cells, one every ``hop``: the dim counts them, CELL their cells; whole blocks are gathered."""
    count, blocks = 1 + (extent(x, dim) - size) // hop, -(-size // hop)
    total = count - 1 + blocks
    x = split(resized(x, total * hop, dim), dim, {BLOCK: total, INNER: hop})
    x = merge(windows(x, BLOCK, STEP, blocks), (STEP, INNER), CELL)
    return relabel(slice_of(x, CELL, slice(0, size)), {BLOCK: dim})


def unframed(x: DimArray, dim: Name, hop: int) -> DimArray:
    """Pieces added back where they came from: the transpose of :func:`frames`."""
    size, count = extent(x, CELL), extent(x, dim)
    blocks = -(-size // hop)
    x = split(relabel(resized(x, blocks * hop, CELL), {dim: BLOCK}), CELL, {STEP: blocks, INNER: hop})
    x = add_windows(x, {BLOCK: Span(blocks, count)}, {BLOCK: STEP}, {BLOCK: count + blocks - 1})
    x = merge(x, (BLOCK, INNER), dim)
    return slice_of(x, dim, slice(0, (count - 1) * hop + size))


def _window(window: Any, dim: Name, length: int, n_fft: int, x: DimArray, what: str) -> DimArray:
    """The window along the cells of a frame, in the middle of ``n_fft`` cells."""
    if window is None:
        w = zeros_spread(x, Like((CELL,), (length,), x.dtype.type(0).real.dtype), 1)
    else:
        w = constant(window, f"{what}: window")
        own = dim if dim in w.dims else w.dims[0] if len(w.dims) == 1 else None
        if own is None or extent(w, own) != length:
            raise AxisError(f"{what}: the window needs size {length} along {dim!r}, or its only dim; got {describe(w)}")
        w = relabel(w, {own: CELL})
    left = (n_fft - length) // 2
    return pad(w, {CELL: (left, n_fft - length - left)}, constant_values=0) if length < n_fft else w


def _continued(x: DimArray, dim: Name, by: int, mode: str) -> DimArray:
    """With more cells at both ends; mirrored ones are slices."""
    n = extent(x, dim)
    if mode == "constant":
        return pad(x, {dim: by}, constant_values=0)
    if mode != "reflect":
        return pad(x, {dim: by}, mode=mode)
    if by >= n:
        raise ValueError(f"stft: {n} cells along {dim!r} cannot be mirrored to {by} more; give another pad_mode")
    first, last = (flip(slice_of(x, dim, slice(*cells)), dim) for cells in ((1, by + 1), (n - 1 - by, n - 1)))
    return join([first, x, last], dim)


def _options(n_fft: int, hop_length: int | None, win_length: int | None, what: str) -> tuple[int, int]:
    hop, length = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if hop < 1 or not 0 < length <= n_fft:
        raise ValueError(f"{what}: needs 0 < win_length <= n_fft and 0 < hop_length, got {length}, {n_fft} and {hop}")
    return hop, length


@operation(
    sample("real(a,nine)", dim="nine", n_fft=4), sample("real(nine,a)", "real(nine)", dim="nine", n_fft=9, hop_length=2),
    sample("complex(six)", "real(six)", dim="six", n_fft=6, hop_length=4, center=False),
    sample("real(a,nine)", dim="nine", n_fft=5, hop_length=2, normalized=True, onesided=False, pad_mode="constant"),
)  # fmt: skip
def stft(
    x: DimArray, window: Any = None, *, dim: Name, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    frequency: Name = "frequency",
) -> DimArray:  # fmt: skip
    """Fourier transforms of short, overlapping pieces of a signal.

    Parameters
    ----------
    x : DimArray
        Real or complex.
    window : DimArray, optional
        Weights of the cells of a piece, along ``dim`` or a single dim of any name; ones by default.
    dim : name
        It then counts the pieces.
    n_fft : int
        Length of a piece.
    hop_length : int, optional
        From one piece to the next; a quarter of ``n_fft`` by default.
    win_length : int, optional
        Size of the window, which lies in the middle of a piece; ``n_fft`` by default.
    center : bool
        Continue the signal at both ends by half a piece, so that pieces are centered at multiples of ``hop_length``.
    pad_mode : str
        How it is continued, as for :func:`pad`; ``"constant"`` means zeros.
    normalized : bool
        Divide by the root of ``n_fft``.
    onesided : bool, optional
        Only frequencies that are not negative; the default for real signals and windows.
    frequency : name
        The new dim, in front of ``dim``.

    Returns
    -------
    DimArray
        Complex.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized, or the window has another size.
    ValueError
        If the signal is shorter than a piece, or lengths do not fit.

    Notes
    -----
    As ``torch.stft``. Linear in ``x``, and in the window.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 0.0, -1.0, 0.0, 1.0], ("time",))
    >>> ng.stft(a, dim="time", n_fft=4, center=False).data
    array([[0.+0.j, 0.+0.j],
           [2.+0.j, 0.+2.j],
           [0.+0.j, 0.+0.j]])
    """
    name = pick_one(x, dim, "stft")
    new_name(x, frequency, "stft")
    hop, length = _options(n_fft, hop_length, win_length, "stft")
    w = _window(window, name, length, n_fft, x, "stft")
    order = tuple(k for n in x.names for k in ((frequency, n) if n == name else (n,)))
    if center:
        x = _continued(x, name, n_fft // 2, pad_mode)
    if extent(x, name) < n_fft:
        raise ValueError(f"stft: a signal of {extent(x, name)} cells along {name!r} is shorter than n_fft={n_fft}")
    pieces = multiply(frames(x, name, n_fft, hop), w)
    if onesided is None:
        onesided = pieces.dtype.kind != "c"
    norm = "ortho" if normalized else None
    out = relabel((rfft if onesided else fft)(pieces, CELL, norm=norm), {CELL: frequency})
    return reorder(out, (*order, *(n for n in out.names if n not in order)))


@operation(
    sample("complex(a,eight,nine)", dim="nine", n_fft=8, frequency="eight"),
    sample("complex(six,nine)", dim="nine", n_fft=6, hop_length=2, frequency="six", return_complex=True),
    sample("complex(two,six)", dim="six", n_fft=3, hop_length=1, frequency="two", length=9, normalized=True),
    sample("complex(eight,six)", "positive(six)", dim="six", n_fft=8, win_length=6, hop_length=2, frequency="eight"),
)  # fmt: skip
def istft(
    x: DimArray, window: Any = None, *, dim: Name, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False, frequency: Name = "frequency",
) -> DimArray:  # fmt: skip
    """Signal with given spectra of its pieces, by least squares: inverse of :func:`stft`.

    Parameters
    ----------
    x : DimArray
        Complex, with the dims ``frequency`` and ``dim``.
    window : DimArray, optional
    dim : name
        It counts pieces, in the result cells.
    n_fft : int
    hop_length, win_length : int, optional
    center, normalized : bool
        All as for :func:`stft`.
    onesided : bool, optional
        Whether negative frequencies are left away; told from the size of ``frequency`` by default.
    length : int, optional
        Of the signal, which is cut or continued with zeros.
    return_complex : bool
        Give the complex signal of two-sided spectra. Otherwise only frequencies that are not negative are read.
    frequency : name

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the window has another size.
    ValueError
        If lengths do not fit, or windows leave a cell of the signal out.

    Notes
    -----
    As ``torch.istft``: pieces times the window, added, and divided by the sum of squared windows (Griffin and Lim
    1984, eq. 6). Linear in ``x``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 0.0, -1.0, 0.0, 1.0], ("time",))
    >>> spectra = ng.stft(a, dim="time", n_fft=4, hop_length=1)
    >>> ng.istft(spectra, dim="time", n_fft=4, hop_length=1).data.round(12) + 0.0
    array([ 1.,  0., -1.,  0.,  1.])
    """
    name = pick_one(x, dim, "istft")
    bins = extent(x, check(x, frequency, "istft"))
    hop, size = _options(n_fft, hop_length, win_length, "istft")
    onesided = bins != n_fft if onesided is None else onesided
    if bins != (n_fft // 2 + 1 if onesided else n_fft):
        raise ValueError(f"istft: {bins} frequencies do not fit n_fft={n_fft} with onesided={onesided}")
    order = tuple(n for n in x.names if n != frequency)
    pieces = relabel(x, {frequency: CELL})
    norm = "ortho" if normalized else None
    if onesided and return_complex:
        raise ValueError("istft: one-sided spectra are those of real signals; return_complex needs two-sided ones")
    pieces = (ifft if return_complex else irfft)(pieces, CELL, n_fft, norm)
    w = _window(window, name, size, n_fft, pieces, "istft")
    count = extent(x, name)
    full = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else full - start
    squares = multiply(zeros_spread(x, Like((name,), (count,), w.dtype), 1), e.square(w))
    weights = slice_of(unframed(squares, name, hop), name, slice(start, min(stop, full)))
    _refuse_gaps(weights, name)
    out = slice_of(unframed(multiply(pieces, w), name, hop), name, slice(start, min(stop, full)))
    out = e.divide(out, cast(weights, w.dtype))
    if stop > full:
        out = pad(out, {name: (0, stop - full)}, constant_values=0)
    return reorder(out, (*order, *(n for n in out.names if n not in order)))


def _refuse_gaps(weights: DimArray, name: Name) -> None:
    raw = innermost(weights).raw
    if backends.may_look(raw) and np.size(raw) and np.abs(raw).min() <= 1e-11:
        raise ValueError(f"istft: the windows leave cells along {name!r} out; give a smaller hop_length or another window")

