"""Discrete Fourier transforms along one named dim, as :mod:`numpy.fft` defines them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import pick
from namedgrad.rules.dtypes import floating
from namedgrad.rules.fourier import transforms as f
from namedgrad.rules.structure import cast

Steps = Sequence[tuple[Any, int | None]]  # dims and lengths; None stands for the size that there is


def checked(norm: Any) -> str:
    """The name of a norm."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm or "backward"


def one(x: DimArray, dim: Any, n: int | None, what: str, default: int | None = None) -> tuple[Name, int]:
    """The dim of a transform, and its length."""
    names = pick(x, dim, what)
    if len(names) != 1:
        raise ValueError(f"{what} is along one dim, got {names}; use {what}n for several")
    size = (extent(x, names[0]) if default is None else default) if n is None else n
    if size < 1:
        raise ValueError(f"{what}: invalid number of data points ({size}) along {names[0]!r}")
    return names[0], size


def _real(x: DimArray, what: str) -> DimArray:
    if x.dtype.kind == "c":
        raise TypeError(f"{what} needs a real array, got {x.dtype}; use {what.replace('r', '', 1)} or take its real part")
    return x if x.dtype.kind == "f" else cast(x, "float64")


def whole(x: DimArray, sizes: Iterable[tuple[Name, int]], norm: Any, transform: Callable[..., DimArray]) -> DimArray:
    """A transform of all frequencies along dims, of these lengths, at once."""
    x, names = floating(x), []
    for name, n in sizes:
        x = f.resized(x, n, name)
        names.append(name)
    return transform(x, tuple(names), norm=checked(norm))


def of_real(x: DimArray, steps: Steps, norm: Any, transform: Callable[..., DimArray], what: str) -> DimArray:
    """A transform of a real array along dims, of these lengths: of the last one half is given."""
    return whole(_real(x, what), [one(x, dim, n, what) for dim, n in steps], norm, transform)


def to_real(x: DimArray, steps: Steps, norm: Any, transform: Callable[..., DimArray], what: str) -> DimArray:
    """A transform to a real array along dims, of these lengths: of the last one half is there."""
    *rest, (last, n) = steps
    name, size = _half(x, last, n, what)
    sizes = [*(one(x, dim, m, what) for dim, m in rest), (name, size // 2 + 1)]
    return whole(f.to_complex(floating(x)), sizes, norm, functools.partial(transform, n=size))


@operation(
    sample("complex(a,b)", dim="a"), sample("real(a,b)", dim="b"), sample("complex(a,b)", dim="b", n=3),
    sample("real(a,b)", dim="a", n=7, norm="ortho"), sample("complex(a,six)", dim="six", norm="forward"),
)  # fmt: skip
def fft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    r"""Discrete Fourier transform along a dim.

    Parameters
    ----------
    x : DimArray
        Real or complex.
    dim : name
        It then counts frequencies, in the order of :func:`numpy.fft.fftfreq`.
    n : int, optional
        Length: the dim is cut, or padded with zeros at its end. Its size by default.
    norm : {"backward", "ortho", "forward"}
        Which of the pair is multiplied by 1/n: the inverse (the default), both by its root, or this one.

    Returns
    -------
    DimArray
        Complex, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    :math:`y_k = \sum_j x_j e^{-2 \pi i j k / n}`, as :func:`numpy.fft.fft`. The matrix is symmetric, so the gradient is
    the conjugate transform of the cotangent; a real ``x`` has its real part.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.fft(ng.DimArray([1.0, 0.0, -1.0, 0.0], ("time",)), "time").data
    array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])
    """
    return whole(x, [one(x, dim, n, "fft")], norm, f.fft)


@operation(
    sample("complex(a,b)", dim="a"), sample("real(a,b)", dim="b"), sample("complex(a,b)", dim="b", n=6, norm="ortho"),
    sample("complex(a,b)", dim="b", norm="forward"),
)  # fmt: skip
def ifft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    r"""Inverse of :func:`fft`.

    Parameters
    ----------
    x : DimArray
    dim : name
    n : int, optional
    norm : {"backward", "ortho", "forward"}
        All as for :func:`fft`.

    Returns
    -------
    DimArray
        Complex, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    :math:`y_j = \frac{1}{n} \sum_k x_k e^{2 \pi i j k / n}`, as :func:`numpy.fft.ifft`. The gradient is the conjugate
    transform of the cotangent.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ifft(ng.DimArray([0, 2, 0, 2], ("frequency",)), "frequency").data.real
    array([ 1.,  0., -1.,  0.])
    """
    return whole(x, [one(x, dim, n, "ifft")], norm, f.ifft)


@operation(
    sample("real(a,b)", dim="a"), sample("real(a,b)", dim="b"), sample("real(a,b)", dim="b", n=3),
    sample("real(a,b)", dim="a", n=6, norm="ortho"), sample("real(a,six)", dim="six", norm="forward"),
)  # fmt: skip
def rfft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    """Discrete Fourier transform of a real array: the frequencies that are not negative.

    Parameters
    ----------
    x : DimArray
        Real.
    dim : name
        It then has ``n // 2 + 1`` frequencies.
    n : int, optional
    norm : {"backward", "ortho", "forward"}
        Both as for :func:`fft`.

    Returns
    -------
    DimArray
        Complex, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    TypeError
        If ``x`` is complex.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    As :func:`numpy.fft.rfft`. Linear over the reals; its transpose is :func:`hfft`, in which frequencies that stand
    for a pair have half the weight.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.rfft(ng.DimArray([1.0, 0.0, -1.0, 0.0], ("time",)), "time").data
    array([0.+0.j, 2.+0.j, 0.+0.j])
    """
    return of_real(x, [(dim, n)], norm, f.rfft, "rfft")


@operation(
    sample("complex(a,six)", dim="six"), sample("complex(a,b)", dim="a", n=5), sample("real(a,b)", dim="a", n=4),
    sample("complex(a,b)", dim="b", n=3, norm="ortho"), sample("complex(a,b)", dim="b", n=9, norm="forward"),
)  # fmt: skip
def irfft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    """Inverse of :func:`rfft`.

    Parameters
    ----------
    x : DimArray
        The frequencies that are not negative.
    dim : name
    n : int, optional
        Length of the result, ``2 (m - 1)`` by default where the dim has size m; an odd length has to be given.
    norm : {"backward", "ortho", "forward"}
        As for :func:`fft`.

    Returns
    -------
    DimArray
        Real, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    As :func:`numpy.fft.irfft`. The imaginary parts of the first frequency and, for even n, of the last take no part:
    their gradient is 0. The others stand for a pair of frequencies each, so their gradient has twice the weight.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.irfft(ng.DimArray([0j, 2, 0], ("frequency",)), "frequency").data
    array([ 1.,  0., -1.,  0.])
    """
    return to_real(x, [(dim, n)], norm, f.irfft, "irfft")


def _half(x: DimArray, dim: Any, n: int | None, what: str) -> tuple[Name, int]:
    """The dim, and the length of what it holds the half of."""
    names = pick(x, dim, what)
    return one(x, names, n, what, 2 * (extent(x, names[0]) - 1) if len(names) == 1 else None)


@operation(
    sample("complex(a,six)", dim="six"), sample("complex(a,b)", dim="a", n=5), sample("real(a,b)", dim="b", n=4, norm="ortho")
)
def hfft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    """Fourier transform of an array with Hermitian symmetry, of which the first half is given: a real spectrum.

    Parameters
    ----------
    x : DimArray
    dim : name
    n : int, optional
        Length of the result, as for :func:`irfft`.
    norm : {"backward", "ortho", "forward"}
        As for :func:`fft`.

    Returns
    -------
    DimArray
        Real, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    As :func:`numpy.fft.hfft`: n times the inverse real transform of the conjugate, whose derivative it has.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.hfft(ng.DimArray([1.0, 2.0, 3.0], ("time",)), "time").data
    array([ 8., -2.,  0., -2.])
    """
    return to_real(x, [(dim, n)], norm, f.hfft, "hfft")


@operation(
    sample("real(a,b)", dim="b"), sample("real(a,b)", dim="a", n=5), sample("real(a,b)", dim="b", n=4, norm="ortho")
)
def ihfft(x: DimArray, dim: Name, n: int | None = None, norm: str | None = None) -> DimArray:
    """Inverse of :func:`hfft`: the first half of an array with Hermitian symmetry.

    Parameters
    ----------
    x : DimArray
        Real.
    dim : name
    n : int, optional
    norm : {"backward", "ortho", "forward"}
        All as for :func:`fft`.

    Returns
    -------
    DimArray
        Complex, of the same precision.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    TypeError
        If ``x`` is complex.
    ValueError
        If ``n`` is less than 1, or the norm unknown.

    Notes
    -----
    As :func:`numpy.fft.ihfft`: the conjugate of the real transform, divided by n.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ihfft(ng.DimArray([8.0, -2.0, 0.0, -2.0], ("frequency",)), "frequency").data.real
    array([1., 2., 3.])
    """
    return of_real(x, [(dim, n)], norm, f.ihfft, "ihfft")
