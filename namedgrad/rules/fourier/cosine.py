"""Discrete cosine transforms, as :mod:`scipy.fft` defines them."""

from __future__ import annotations

import math
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.linear import Like
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.fourier import transforms as f
from namedgrad.rules.fourier.named import checked
from namedgrad.rules.structure import cast, equal, multiply, positions, where

LAST = axes.core(-1)
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_POWERS = {"backward": (0, -1), "ortho": (-0.5, -0.5), "forward": (-1, 0)}  #: of the period, forward and backward


@operation(
    sample("real(a,b)", dim="b"), sample("real(a,b)", dim="b", type=3, norm="ortho"), sample("real(a,six)", dim="six", type=1),
    sample("real(a,b)", dim="a", type=4, n=5), sample("real(a,b)", dim="a", norm="forward", n=2),
)  # fmt: skip
def dct(x: DimArray, dim: Name, type: int = 2, n: int | None = None, norm: str | None = None) -> DimArray:
    r"""Discrete cosine transform along a dim.

    Parameters
    ----------
    x : DimArray
        Real.
    dim : name
    type : {1, 2, 3, 4}
    n : int, optional
        Length: the dim is cut, or padded with zeros at its end. Its size by default.
    norm : {"backward", "ortho", "forward"}
        ``"ortho"`` makes the matrix orthogonal; ``"forward"`` divides by 2n (type 1: by 2(n - 1)), which otherwise the
        inverse does.

    Returns
    -------
    DimArray
        Real, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    TypeError
        If ``x`` is complex.
    ValueError
        If the type or the norm is unknown, or the length less than 1 (2 for type 1).

    Notes
    -----
    Type 2: :math:`y_k = 2 \sum_j x_j \cos(\pi k (2 j + 1) / 2 n)`, as :func:`scipy.fft.dct`. Linear.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.dct(ng.DimArray([1.0, 2.0], ("x",)), "x").data.round(4)
    array([ 6.    , -1.4142])
    """
    return _transform(x, dim, type, n, _POWERS[checked(norm)][0], norm == "ortho", "dct")


@operation(
    sample("real(a,b)", dim="b"), sample("real(a,b)", dim="b", type=3, norm="ortho"), sample("real(a,six)", dim="six", type=1),
    sample("real(a,b)", dim="a", type=4, n=5), sample("real(a,b)", dim="a", norm="forward", n=2),
)  # fmt: skip
def idct(x: DimArray, dim: Name, type: int = 2, n: int | None = None, norm: str | None = None) -> DimArray:
    """Inverse of :func:`dct` of the same type.

    Parameters
    ----------
    x : DimArray
        Real.
    dim : name
    type : {1, 2, 3, 4}
    n : int, optional
    norm : {"backward", "ortho", "forward"}
        All as for :func:`dct`.

    Returns
    -------
    DimArray
        Real, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    TypeError
        If ``x`` is complex.
    ValueError
        If the type or the norm is unknown, or the length less than 1 (2 for type 1).

    Notes
    -----
    As :func:`scipy.fft.idct`. Linear.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 4.0], ("x",))
    >>> ng.idct(ng.dct(a, "x"), "x").data.round(12)
    array([1., 2., 4.])
    """
    return _transform(x, dim, _INVERSE.get(type, type), n, _POWERS[checked(norm)][1], norm == "ortho", "idct")


def _transform(x: DimArray, dim: Any, kind: int, n: int | None, power: float, ortho: bool, what: str) -> DimArray:
    if x.dtype.kind == "c":
        raise TypeError(f"{what} needs a real array, got {x.dtype}; transform its real and imaginary parts")
    if kind not in _INVERSE:
        raise ValueError(f"{what}: type {kind} is not one of 1, 2, 3, 4")
    name = pick_one(x, dim, what)
    n = extent(x, name) if n is None else n
    if n < 1 + (kind == 1):
        raise ValueError(f"{what} of type {kind}: invalid number of data points ({n}) along {name!r}")
    x = f.resized(x if x.dtype.kind == "f" else cast(x, "float64"), n, name)
    if ortho and kind in {1, 3}:
        x = _weighed(x, name, math.sqrt(2), last=kind == 1)
    y = _cosine(x, (name,), kind=kind, power=power)
    return _weighed(y, name, math.sqrt(0.5), last=kind == 1) if ortho and kind in {1, 2} else y


def _weighed(x: DimArray, name: Name, weight: float, *, last: bool) -> DimArray:
    """With another weight for the first cell, and for the last."""
    n = extent(x, name)
    at = positions(n, name, x)
    ends = equal(at, c(0))
    ends = e.logical_or(ends, equal(at, c(n - 1))) if last else ends
    return multiply(x, cast(where(ends, c(weight), c(1.0)), x.dtype))


def _transposed(g: DimArray, x: Like, kind: int, power: float) -> DimArray:
    """The matrices are cosines, which are symmetric or each other's transpose, but for weights of the ends."""
    if kind in {1, 2}:
        g = _weighed(g, LAST, 2.0, last=kind == 1)
    y = _cosine(g, kind={2: 3, 3: 2}.get(kind, kind), power=power)
    return _weighed(y, LAST, 0.5, last=kind == 1) if kind in {1, 3} else y


_cosine = linear("(n)->(n)", "cosine", transpose=_transposed)
