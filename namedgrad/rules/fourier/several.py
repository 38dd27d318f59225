"""Fourier transforms along several dims.  And the shift that puts frequency 0 in the middle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check, pick
from namedgrad.rules.fourier import transforms
from namedgrad.rules.fourier.named import Steps, fft, hfft, ifft, ihfft, irfft, of_real, one, rfft, to_real, whole
from namedgrad.rules.movement import roll

_TEXT = """{summary}

Parameters
----------
x : DimArray{kind}
dim : names or mapping of name to int{default}
    {dims}
s : sequence of int, optional
    Lengths, in the order of ``dim``, as for :func:`{one}`.
norm : {{"backward", "ortho", "forward"}}
    As for :func:`fft`.

Returns
-------
DimArray
    {returns}, of the same precision.

Raises
------
AxisError
    If a dim is unknown, or vectorized.
ValueError
    If there are no dims, a length is less than 1, or the norm is unknown.

Notes
-----
As :func:`{module}.{name}`: :func:`fft` or its inverse along each dim{last}, whose derivatives it has.

Examples
--------
>>> import namedgrad as ng
>>> a = ng.DimArray([[1.0, 2.0], [3.0, 5.0]], ("x", "y"))
>>> ng.{name}(a, {call}).data
{result}
"""


def plan(x: DimArray, dim: Any, s: Sequence[int] | None, what: str) -> list[tuple[Name, int | None]]:
    """The dims and their lengths, None where the size is to stay."""
    sizes: Sequence[int | None] | None = s
    if isinstance(dim, Mapping):
        sizes, dim = tuple(dim.values()), tuple(check(x, name, what) for name in dim)
    names = pick(x, dim, what)
    sizes = (None,) * len(names) if sizes is None else tuple(sizes)
    if not names or len(sizes) != len(names):
        raise ValueError(f"{what}: dims {names} with lengths {sizes}; give one dim at least, and a length for each")
    return [(name, None if n == -1 else n) for name, n in zip(names, sizes, strict=True)]


def along(x: DimArray, steps: Steps, norm: Any, kind: Callable[..., DimArray]) -> DimArray:
    """A transform along several dims at once."""
    transform, name = getattr(transforms, kind.__name__), kind.__name__
    if kind in {rfft, ihfft}:
        return of_real(x, steps, norm, transform, name)
    if kind in {irfft, hfft}:
        return to_real(x, steps, norm, transform, name)
    return whole(x, [one(x, dim, n, name) for dim, n in steps], norm, transform)


def _declare(name: str, summary: str, last: Callable[..., DimArray], result: str) -> Callable[..., DimArray]:
    two_dims = name.endswith("2")
    domain = "real" if last in {rfft, ihfft} else "complex"
    text = _TEXT.format(
        name=name, summary=summary, one=last.__name__, result=result, default="" if two_dims else ", optional",
        call='("x", "y")' if last not in {irfft, hfft} else '{"x": 2, "y": 2}',
        kind="\n    Real." if domain == "real" else "",
        module="scipy.fft" if "hfft" in name else "numpy.fft",
        dims=f"{'Two dims, or any others' if two_dims else 'Dims, all by default'}; a mapping gives their lengths too.",
        returns="Real" if last in {irfft, hfft} else "Complex",
        last="" if last in {fft, ifft} else f", :func:`{last.__name__}` along the last",
    )  # fmt: skip

    def two(x: DimArray, dim: Any, s: Any = None, norm: str | None = None) -> DimArray:
        return along(x, plan(x, dim, s, name), norm, last)

    def many(x: DimArray, dim: Any = None, s: Any = None, norm: str | None = None) -> DimArray:
        return along(x, plan(x, dim, s, name), norm, last)

    function = two if two_dims else many
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    samples = [
        sample(f"{domain}(a,six,c)", dim=("a", "six")),
        sample(f"{domain}(a,b)", dim=("b", "a"), s=(5, 4), norm="ortho"),
        sample(f"{domain}(a,b)", dim={"a": 2, "b": 3}, norm="forward"),
    ]
    return operation(*samples, name=name)(function)


_FULL = "array([[11.+0.j, -3.+0.j],\n       [-5.+0.j,  1.+0.j]])"
_BACK = "array([[ 2.75+0.j, -0.75+0.j],\n       [-1.25+0.j,  0.25+0.j]])"
_REAL = "array([[ 2.75, -0.75],\n       [-1.25,  0.25]])"
_SYMMETRIC = "array([[11., -3.],\n       [-5.,  1.]])"
# fmt: off
fft2   = _declare("fft2",   "Fourier transform along two dims.", fft, _FULL)
ifft2  = _declare("ifft2",  "Inverse of :func:`fft2`.", ifft, _BACK)
rfft2  = _declare("rfft2",  "Fourier transform of a real array along two dims.", rfft, _FULL)
irfft2 = _declare("irfft2", "Inverse of :func:`rfft2`.", irfft, _REAL)
fftn   = _declare("fftn",   "Fourier transform along several dims.", fft, _FULL)
ifftn  = _declare("ifftn",  "Inverse of :func:`fftn`.", ifft, _BACK)
rfftn  = _declare("rfftn",  "Fourier transform of a real array along several dims.", rfft, _FULL)
hfft2  = _declare("hfft2",  "Fourier transform along two dims of an array with Hermitian symmetry.", hfft, _SYMMETRIC)
ihfft2 = _declare("ihfft2", "Inverse of :func:`hfft2`.", ihfft, _BACK)
hfftn  = _declare("hfftn",  "Fourier transform along several dims of an array with Hermitian symmetry.", hfft, _SYMMETRIC)
ihfftn = _declare("ihfftn", "Inverse of :func:`hfftn`.", ihfft, _BACK)
irfftn = _declare("irfftn", "Inverse of :func:`rfftn`.", irfft, _REAL)
# fmt: on


@operation(sample("real(a,b)", dim="a"), sample("complex(a,nine)", dim="nine"), sample("real(a,b,c)", dim=("b", "c")))
def fftshift(x: DimArray, dim: Any = None) -> DimArray:
    """Frequency 0 to the middle of dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    A cyclic shift, as :func:`numpy.fft.fftshift`; the gradient is shifted back.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.fftshift(ng.DimArray([0.0, 1.0, 2.0, -2.0, -1.0], ("x",))).data
    array([-2., -1.,  0.,  1.,  2.])
    """
    return roll(x, {n: extent(x, n) // 2 for n in pick(x, dim, "fftshift")})


@operation(sample("real(a,b)", dim="a"), sample("complex(a,nine)", dim="nine"), sample("real(a,b,c)", dim=("b", "c")))
def ifftshift(x: DimArray, dim: Any = None) -> DimArray:
    """Inverse of :func:`fftshift`.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    As :func:`numpy.fft.ifftshift`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ifftshift(ng.DimArray([-2.0, -1.0, 0.0, 1.0, 2.0], ("x",))).data
    array([ 0.,  1.,  2., -2., -1.])
    """
    return roll(x, {n: -(extent(x, n) // 2) for n in pick(x, dim, "ifftshift")})
