"""Fourier and cosine transforms: NumPy's and SciPy's along the axis of a name."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.fft
import xarray as xr

from tests.support.grid import entry, point, sample


def _along(f: Callable[..., Any]) -> Callable[..., xr.DataArray]:
    return lambda x, dim, **kw: xr.DataArray(f(x.to_numpy(), axis=x.dims.index(dim), **kw), dims=x.dims)


def _axes(f: Callable[..., Any]) -> Callable[..., xr.DataArray]:
    def reference(x: xr.DataArray, dim: Any = None, s: Any = None, **kw: Any) -> xr.DataArray:
        dims = x.dims if dim is None else tuple(dim)
        s = tuple(dim.values()) if isinstance(dim, Mapping) else s
        return xr.DataArray(f(x.to_numpy(), s, [x.dims.index(d) for d in dims], **kw), dims=x.dims)

    return reference


def _shift(f: Callable[..., Any]) -> Callable[..., xr.DataArray]:
    def reference(x: xr.DataArray, dim: Any) -> xr.DataArray:
        dims = (dim,) if isinstance(dim, str) else dim
        return xr.DataArray(f(x.to_numpy(), [x.dims.index(d) for d in dims]), dims=x.dims)

    return reference


DELTA, ONES = [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]
TURN = np.array([1, -1j, -1, 1j])  # exp(-2 pi i k / 4)

entry(
    "fft",
    _along(np.fft.fft),
    points=[
        point(DELTA, dim="p", value=ONES, gradients=[lambda c: np.fft.fft(c.conj()).real], cotangent=TURN + 2),
        point([0j, 1.0, 0.0, 0.0], dim="p", value=TURN, gradients=[[0, 0, 0, 4j]], cotangent=1j * TURN.conj()),
        point([3.0], dim="p", value=[3.0], gradients=[[-2.0]], cotangent=[-2.0 + 5j]),
        point([1.0, 2.0, 7.0], dim="p", n=2, value=[3.0, -1.0], gradients=[[3.0, 1.0, 0.0]], cotangent=[2.0, 1.0]),
    ],
)
entry(
    "ifft",
    _along(np.fft.ifft),
    points=[
        point(ONES, dim="p", value=DELTA, gradients=[[0.25, 0.0, -0.25, 0.0]], cotangent=[0.0, 0.5, 0.0, 0.5]),
        point([1j], dim="p", value=[1j], gradients=[[-2.0 + 3j]], cotangent=[-2.0 + 3j]),
        point(4 * TURN.conj(), dim="p", norm="forward", value=[0, 0, 0, 16], gradients=[[2, 2j, -2, -2j]], cotangent=[0, 0, 0, 2]),
    ],
)  # fmt: skip
entry(
    "rfft",
    _along(np.fft.rfft),
    points=[
        point(DELTA, dim="p", value=[1, 1, 1], gradients=[[7.0, 3.0, 3.0, -1.0]], cotangent=[3.0, 2.0 - 2j, 2.0]),
        point([5.0], dim="p", value=[5.0], gradients=[[-2.0]], cotangent=[-2.0 + 1j]),
        point([1.0, 2.0], dim="p", value=[3.0, -1.0], gradients=[[5.0, -1.0]], cotangent=[2.0 + 9j, 3.0 - 4j]),
    ],
)
entry(
    "irfft",
    _along(np.fft.irfft),
    points=[  # the imaginary parts of the first and of the last frequency take no part
        point([4.0 + 7j, 0j, 3j], dim="p", value=[1, 1, 1, 1], gradients=[[1.5, -1j, -0.5]], cotangent=[1.0, 3.0, 1.0, 1.0]),
        point([1.0 + 2j], dim="p", n=1, value=[1.0], gradients=[[-3.0]], cotangent=[-3.0]),
        point([1.0 + 2j, 3.0 + 5j], dim="p", n=2, value=[2.0, -1.0], gradients=[[0.5, 1.5]], cotangent=[2.0, -1.0]),
        point([6.0, 0j], dim="p", n=3, value=[2, 2, 2], gradients=[[1.0, 0.0]], cotangent=[1.0, 1.0, 1.0]),
    ],
)
entry(
    "hfft",
    _along(np.fft.hfft),
    points=[
        point([1.0 + 4j, 0j, 2j], dim="p", value=[1, 1, 1, 1], gradients=[[6.0, 4j, -2.0]], cotangent=[1.0, 3.0, 1.0, 1.0]),
        point([1.0 + 2j], dim="p", n=1, value=[1.0], gradients=[[-3.0]], cotangent=[-3.0]),
        point([2.0, 1j], dim="p", n=2, value=[2.0, 2.0], gradients=[[1.0, 3.0]], cotangent=[2.0, -1.0]),
    ],
)
entry(
    "ihfft",
    _along(np.fft.ihfft),
    points=[
        point(ONES, dim="p", value=[1, 0, 0], gradients=[[0.75, 0.25, -0.25, 0.25]], cotangent=[1.0, 2.0, 0.0]),
        point([5.0], dim="p", value=[5.0], gradients=[[-2.0]], cotangent=[-2.0 + 1j]),
        point([1.0, 2.0], dim="p", value=[1.5, -0.5], gradients=[[2.5, -0.5]], cotangent=[2.0 + 9j, 3.0 - 4j]),
    ],
)
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _inverse, _real, _half = "i" in _name, _name.startswith("r"), _name.startswith("ir")
    _n, _dims = (0.25, {"p": 2, "q": 2}) if _inverse else (1.0, ("p", "q"))
    entry(
        _name,
        _axes(getattr(np.fft, _name)),
        points=[
            point([[1.0, 0.0], [0.0, 0.0]], dim=_dims, value=_n * np.ones((2, 2)), gradients=[_n * np.array([[2.0, -6.0], [8.0, 0.0]])],
                  cotangent=[[1.0, 4.0], [-3.0, 0.0]]),
            point([[3.0]], dim={"p": 1, "q": 1}, value=[[3.0]], gradients=[[[-2.0]]], cotangent=[[-2.0]]),
            point([[1.0, 1.0], [1.0, 1.0]], dim=_dims, value=[[4 * _n, 0.0], [0.0, 0.0]], gradients=[_n * np.array([[-1.0, 3.0], [-1.0, 3.0]])],
                  cotangent=[[1.0, -2.0], [0.0, 0.0]]),
        ],
    )  # fmt: skip
for _name in ("hfft2", "ihfft2", "hfftn", "ihfftn"):
    _n = 0.25 if _name.startswith("i") else 1.0
    entry(
        _name,
        _axes(getattr(scipy.fft, _name)),
        points=[
            point([[1.0, 0.0], [0.0, 0.0]], dim={"p": 2, "q": 2}, value=_n * np.ones((2, 2)), gradients=[_n * np.array([[2.0, -6.0], [8.0, 0.0]])],
                  cotangent=[[1.0, 4.0], [-3.0, 0.0]]),
            point([[3.0]], dim={"p": 1, "q": 1}, value=[[3.0]], gradients=[[[-2.0]]], cotangent=[[-2.0]]),
            point([[1.0, 1.0], [1.0, 1.0]], dim={"p": 2, "q": 2}, value=[[4 * _n, 0.0], [0.0, 0.0]], gradients=[_n * np.array([[-1.0, 3.0], [-1.0, 3.0]])],
                  cotangent=[[1.0, -2.0], [0.0, 0.0]]),
        ],
    )  # fmt: skip
for _name in ("fftshift", "ifftshift"):
    _by = 1 if _name == "fftshift" else -1
    entry(
        _name,
        _shift(getattr(np.fft, _name)),
        points=[
            point([1.0, 2.0, 3.0], dim="p", value=np.roll([1.0, 2.0, 3.0], _by), gradients=[np.roll([5.0, 0.0, -1.0], -_by)], cotangent=[5.0, 0.0, -1.0]),
            point([1.0], dim="p", value=[1.0], gradients=[[-4.0]], cotangent=[-4.0]),
            point([np.nan, 1.0], dim="p", value=[1.0, np.nan], gradients=[[0.0, -4.0]], cotangent=[-4.0, 0.0]),
        ],
    )
for _name in ("dct", "idct"):
    _d, _i = (1.0, 0.5) if _name == "dct" else (0.5, 1.0)
    entry(
        _name,
        _along(getattr(scipy.fft, _name)),
        samples=[sample("real(a,six)", dim="six", norm="ortho"), sample("real(a,six)", dim="six", type=4, norm="ortho"),
                 sample("real(a,six)", dim="six", type=1, norm="ortho"), sample("real(a,b)", dim="a", type=3, norm="forward"),
                 sample("real(a,six)", dim="six", type=1, norm="forward"), sample("real(a,b)", dim="b", type=4)],
        points=[
            point([3.0], dim="p", value=[6.0 * _d ** 2], gradients=[[-4.0 * _d ** 2]], cotangent=[-2.0]),
            point([3.0], dim="p", norm="ortho", value=[3.0], gradients=[[-2.0]], cotangent=[-2.0]),
            point([1.0, 2.0], dim="p", type=1, value=_d * np.array([3.0, -1.0]), gradients=[_d * np.array([-1.0, 3.0])], cotangent=[1.0, -2.0]),
        ],
    )  # fmt: skip
