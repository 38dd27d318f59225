"""Discrete convolution along one dim: its derivatives are convolutions with the other operand, reversed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.linear import add_all
from namedgrad.primitive import core, elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check, pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.fourier.several import fftn, ifftn, irfftn, rfftn
from namedgrad.rules.movement import flip, pad, slice_of
from namedgrad.rules.structure import (
    add,
    cast,
    isfinite,
    known_finite,
    logical_not,
    multiply,
    not_equal,
    relabel,
    reorder,
    select,
    subtract,
    where,
)

LAST, SECOND = axes.core(-1), axes.core(-2)
OTHER = axes.fresh("second operand")


def _pullback(g: DimArray, out: DimArray, x: DimArray, y: DimArray, *, full: bool) -> tuple[DimArray, DimArray]:
    """Of the sums over g_i x_p y_q with p + q = i, what is left without one of the factors."""
    if full:
        return _pulled(g, _flip(y), full=False), _pulled(g, _flip(x), full=False)
    return _pulled(g, _flip(y), full=True), _flip(_pulled(_flip(g), x, full=False))


def _pushforward(ts: list[DimArray | None], out: DimArray, x: DimArray, y: DimArray, *, full: bool) -> DimArray:
    return add_all([_pulled(t, other, full=full) for t, other in zip(ts, (y, x), strict=True) if t is not None])


def _pulled(g: DimArray, y: DimArray, *, full: bool) -> DimArray:
    """A cotangent or tangent with a factor; where a pass is guarded, a cell of 0 meets nothing that is not finite."""
    if not getattr(g.hidden, "guard", False) or (known_finite(g) and known_finite(y)):
        return _core(g, y, full=full)
    rest = select(isfinite(g), g)
    pairs = ((select(logical_not(isfinite(g)), g), y), (rest, select(logical_not(isfinite(y)), y)))
    hits = add_all([_core(*(_as_real(not_equal(v, c(0)), g) for v in pair), full=full) for pair in pairs])
    added: DimArray = c(math.nan)
    if "c" not in g.dtype.kind + y.dtype.kind:
        balance = add_all([_core(*map(_sign, pair), full=full) for pair in pairs])
        added = where(e.greater_equal(e.absolute_real(balance), subtract(hits, c(0.5))), e.copysign(c(math.inf), balance), added)
    spoiled = where(e.less(hits, c(0.5)), c(0), added)
    return add(_core(_finite_part.one(g), _finite_part.one(y), full=full), cast(spoiled, np.result_type(g.dtype, y.dtype)))


def _sign(x: DimArray) -> DimArray:
    """0 for NaN, too."""
    return select(logical_not(e.isnan(x)), e.sign(stop_gradient(x)))


def _as_real(mask: DimArray, like: DimArray) -> DimArray:
    return cast(mask, like.dtype.type(0).real.dtype)


def _core(x: DimArray, y: DimArray, *, full: bool) -> DimArray:
    """Along the core dim of both, whose sizes differ: the longer first."""
    x, y = (x, y) if extent(x, LAST) >= extent(y, LAST) else (y, x)
    return _convolve(x, relabel(y, {LAST: SECOND}), dims=((LAST,), (SECOND,)), out=(LAST,), full=full)


def _flip(x: DimArray) -> DimArray:
    return flip(x, (LAST,))


_convolve = core("(n),(m)->(k)", "convolve", pullback=_pullback, pushforward=_pushforward, of_result=False)
_finite_part = elementwise("finite_part", 1)  # of the next order no cell is left out


@operation(
    sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(b,six)", dim="six", mode="same"),
    sample("complex(nine)", "real(nine)", dim="nine", mode="valid"),
)  # fmt: skip
def convolve(x: DimArray, y: DimArray, dim: Name, mode: str = "full") -> DimArray:
    r"""Discrete convolution along a dim.

    Parameters
    ----------
    x, y : DimArray
        Both have the dim, of any sizes; their other dims meet by name.
    dim : name
    mode : {"full", "same", "valid"}
        With sizes n and m, n the larger: n + m - 1 cells; the n in the middle of these; or the n - m + 1 where both
        overlap completely.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If the mode is unknown, or an operand empty.

    Notes
    -----
    :math:`z_k = \sum_j x_{k-j} y_j`, as :func:`numpy.convolve`. The gradient in each operand is the convolution of the
    cotangent with the other, reversed.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.DimArray([1.0, 2.0, 3.0], ("x",)), ng.DimArray([0.0, 1.0], ("x",))
    >>> ng.convolve(a, b, "x").data, ng.convolve(a, b, "x", mode="valid").data
    (array([0., 1., 2., 3.]), array([1., 2.]))
    """
    x, y = constant(x), constant(y)
    return _convolved(x, y, dim, mode, "convolve")


def _convolved(x: DimArray, y: DimArray, dim: Name, mode: str, what: str) -> DimArray:
    if mode not in {"full", "same", "valid"}:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    n, m = (extent(v, check(v, dim, what)) for v in (x, y))
    if not n or not m:
        raise ValueError(f"{what}: an operand is empty along {dim!r}")
    order = (*x.names, *(k for k in y.names if k not in x.names))
    if m > n:
        x, y, m = y, x, n
    padded = mode == "same" and m > 1 and known_finite(y)  # else zeros of ours would meet what is not finite
    if padded:
        x = pad(x, {dim: ((m - 1) - (m - 1) // 2, (m - 1) // 2)}, constant_values=0)
    full = mode == "full" or (mode == "same" and not padded)
    out = _convolve(x, relabel(y, {dim: OTHER}), dims=((dim,), (OTHER,)), out=(dim,), full=full)
    if mode == "same" and full:
        start = (m - 1) // 2
        out = slice_of(out, dim, slice(start, start + extent(x, dim)))
    return reorder(out, order)


@operation(
    sample("real(a,six)", "real(six)", dim="six"), sample("real(a,six)", "real(b,six)", dim="six", mode="same"),
    sample("complex(nine)", "complex(nine)", dim="nine", mode="full"),
)  # fmt: skip
def correlate(x: DimArray, y: DimArray, dim: Name, mode: str = "valid") -> DimArray:
    r"""Cross-correlation along a dim.

    Parameters
    ----------
    x, y : DimArray
        Both have the dim, of any sizes; their other dims meet by name.
    dim : name
    mode : {"valid", "same", "full"}
        As for :func:`convolve`.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If the mode is unknown, or an operand empty.

    Notes
    -----
    :math:`z_k = \sum_j x_{k+j} \overline{y_j}`, as :func:`numpy.correlate`: a convolution with the conjugate, reversed.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.DimArray([1.0, 2.0, 3.0], ("x",)), ng.DimArray([0.0, 1.0], ("x",))
    >>> ng.correlate(a, b, "x").data, ng.correlate(a, b, "x", mode="full").data
    (array([2., 3.]), array([1., 2., 3., 0.]))
    """
    x, y = constant(x), constant(y)
    n, m = (extent(v, check(v, dim, "correlate")) for v in (x, y))
    if n < m and mode == "same":  # as NumPy: what correlating the other way round gives, reversed
        out = _convolved(y, flip(conj_if_complex(x), dim), dim, mode, "correlate")
        return flip(conj_if_complex(out), dim)
    return _convolved(x, flip(conj_if_complex(y), dim), dim, mode, "correlate")


@operation(
    sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(b,six)", dim="six", mode="same"),
    sample("complex(eight,nine)", "real(eight,nine)", dim=("eight", "nine"), mode="valid"),
)  # fmt: skip
def fftconvolve(x: DimArray, y: DimArray, dim: Any, mode: str = "full") -> DimArray:
    """Discrete convolution along dims by Fourier transforms, fast where both operands are large.

    Parameters
    ----------
    x, y : DimArray
        Both have the dims, of any sizes; their other dims meet by name.
    dim : name or names
    mode : {"full", "same", "valid"}
        With sizes n and m: n + m - 1 cells; the n in the middle, n being the size in ``x``; or those where both overlap
        completely.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the mode is unknown, an operand is empty, or for ``"valid"`` neither contains the other.

    Notes
    -----
    As :func:`scipy.signal.fftconvolve`. A cell that is not finite spoils the whole result; see :func:`convolve`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.DimArray([1.0, 2.0, 3.0], ("x",)), ng.DimArray([0.0, 1.0], ("x",))
    >>> ng.fftconvolve(a, b, "x").data.round(12) + 0.0
    array([0., 1., 2., 3.])
    """
    x, y = constant(x), constant(y)
    if mode not in {"full", "same", "valid"}:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    names = pick(x, dim, "fftconvolve")
    n, m = ([extent(v, check(v, d, "fftconvolve")) for d in names] for v in (x, y))
    if not all((*n, *m)):
        raise ValueError(f"fftconvolve: an operand is empty along {names}")
    order = (*x.names, *(k for k in y.names if k not in x.names))
    sizes = {d: _fast(a + b - 1) for d, a, b in zip(names, n, m, strict=True)}
    forward, backward = (fftn, ifftn) if "c" in x.dtype.kind + y.dtype.kind else (rfftn, irfftn)
    out = backward(multiply(forward(x, sizes), forward(y, sizes)), sizes)
    longer = {a > b for a, b in zip(n, m, strict=True) if a != b and min(a, b) > 1}
    if mode == "valid" and len(longer) > 1:
        raise ValueError("fftconvolve: for 'valid' one operand must be at least as large as the other in every dim")
    for d, a, b in zip(names, n, m, strict=True):
        whole, middle, inner = (0, a + b - 1), ((b - 1) // 2, a), (min(a, b) - 1, abs(a - b) + 1)
        start, count = {"full": whole, "same": middle, "valid": inner}[mode]
        out = slice_of(out, d, slice(start, start + count))
    return reorder(out, order)


def _fast(n: int) -> int:
    """The next size that is a product of 2, 3 and 5."""
    while True:
        rest = n
        for p in (2, 3, 5):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1
