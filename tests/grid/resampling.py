"""Interpolation: a matrix per dim, built cell by cell."""

import functools
import math
from typing import Any

import numpy as np
import scipy.interpolate
import xarray as xr

from tests.support.domains import Rng, domain
from tests.support.grid import entry, point, sample


@domain("ascending")
def _ascending(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    """Along the last axis, near 0, 1, 2 ..."""
    return np.arange(shape[-1]) + rng.uniform(-0.2, 0.2, shape)


@domain("inside")
def _inside(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    """Between those of the domain ``ascending``, of which there are 6, and away from their means."""
    return rng.integers(0, 5, shape) + 0.5 + rng.choice([-1, 1], shape) * rng.uniform(0.05, 0.2, shape)


def _keys(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _row(n: int, size: int, i: int, step: float, *, mode: str, align: bool, antialias: bool) -> np.ndarray:
    row = np.zeros(n)
    if mode.startswith("nearest"):
        row[min(math.floor((i + (0.5 if mode == "nearest-exact" else 0)) * step), n - 1)] = 1
        return row
    if mode == "area":
        row[math.floor(i * n / size) : math.ceil((i + 1) * n / size)] = 1
        return row / row.sum()
    cubic = mode.endswith("cubic")
    if antialias:
        wide = max(step, 1.0)
        for j in range(n):
            x = (j + 0.5 - (i + 0.5) * step) / wide
            row[j] = _keys(x, -0.5) if cubic else max(1 - abs(x), 0)
        return row / row.sum()
    at = i * step if align else (i + 0.5) * step - 0.5
    at = at if cubic else min(max(at, 0), n - 1)
    for j in range(math.floor(at) - 1, math.floor(at) + 3):
        row[min(max(j, 0), n - 1)] += _keys(at - j, -0.75) if cubic else max(1 - abs(at - j), 0)
    return row


def _interpolate(
    x: xr.DataArray, size: Any = None, *, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> xr.DataArray:  # fmt: skip
    for d, v in (size or scale_factor).items():
        n = x.sizes[d]
        m = v if size else math.floor(n * v)
        step = 1 / v if scale_factor and not recompute_scale_factor else n / m
        if align_corners:
            step = (n - 1) / (m - 1) if m > 1 else 0
        matrix = np.array([_row(n, m, i, step, mode=mode, align=bool(align_corners), antialias=antialias) for i in range(m)])
        data = np.moveaxis(np.tensordot(matrix, x.to_numpy(), (1, x.dims.index(d))), 0, x.dims.index(d))
        x = xr.DataArray(data, dims=x.dims)
    return x


_KINDS: dict[str, Any] = {
    "pchip": scipy.interpolate.PchipInterpolator, "akima": scipy.interpolate.Akima1DInterpolator,
    "makima": functools.partial(scipy.interpolate.Akima1DInterpolator, method="makima"),
}  # fmt: skip


def _interp(x: xr.DataArray, targets: xr.DataArray, coords: Any = None, method: str = "linear", *, dim: str, fill_value: Any = np.nan) -> xr.DataArray:
    coords = xr.DataArray(np.arange(x.sizes[dim], dtype=float), dims=dim) if coords is None else coords

    def row(y: np.ndarray, at: np.ndarray, c: np.ndarray) -> Any:
        if method in _KINDS:
            return _KINDS[method](c, y, extrapolate=True)(at)
        return scipy.interpolate.interp1d(c, y, method, bounds_error=False, fill_value=fill_value)(at)

    inner = targets.rename({d: f"{d}_t" for d in targets.dims if d == dim})
    out = xr.apply_ufunc(row, x, inner, coords, input_core_dims=[[dim], [], [dim]], vectorize=True)
    new = [f"{d}_t" if d == dim else d for d in targets.dims]
    order = [n for d in x.dims for n in (new if d == dim else [d])]
    return out.transpose(*dict.fromkeys((*order, *(d for d in coords.dims if d != dim)))).rename({f"{dim}_t": dim} if f"{dim}_t" in out.dims else {})


INF = np.inf
entry(
    "interpolate",
    _interpolate,
    samples=[
        sample("real(a,b)", scale_factor={"a": 2.5, "b": 1.7}, mode="linear"),
        sample("real(a,b)", scale_factor={"a": 2.5}, mode="linear", recompute_scale_factor=True),
        sample("complex(a,b)", size={"b": 9}, mode="bicubic"),
        sample("real(a,nine)", size={"nine": 4}, mode="bicubic", antialias=True),
        sample("real(a,nine)", scale_factor={"nine": 0.6}, mode="linear", antialias=True),
        sample("real(a,b)", size={"a": 2, "b": 6}, mode="nearest-exact"),
        sample("real(nine,six)", size={"nine": 2, "six": 4}, mode="area"),
        sample("real(a,b)", size={"a": 1}, mode="linear", align_corners=True),
        sample("real(a,b,six)", size={"a": 2, "b": 3, "six": 8}, mode="trilinear", align_corners=True),
    ],
    points=[
        point([1.0, 2.0], size={"p": 4}, mode="linear", value=[1.0, 1.25, 1.75, 2.0], gradients=[[4.0, 2.0]], cotangent=[4.0, 0.0, 0.0, 2.0]),
        point([1.0, 2.0, 4.0], size={"p": 1}, value=[1.0], gradients=[[-3.0, 0.0, 0.0]], cotangent=[-3.0]),
        point([2.0], size={"p": 3}, mode="bicubic", value=[2.0, 2.0, 2.0], gradients=[[4.0]], cotangent=[1.0, -2.0, 5.0]),
        # a cell without weight takes no part, whatever it holds; one in a thousand does not spoil the others
        point([1.0, INF, 3.0], size={"p": 2}, mode="linear", align_corners=True, value=[1.0, 3.0], gradients=[[5.0, 0.0, -2.0]], cotangent=[5.0, -2.0]),
        point([np.nan, 1.0, 3.0, 5.0], size={"p": 2}, mode="area", value=[np.nan, 4.0], gradients=[[0.0, 0.0, 2.0, 2.0]], cotangent=[0.0, 4.0]),
    ],
)  # fmt: skip
entry(
    "upsample",
    _interpolate,
    points=[
        point([1.0, 2.0], size={"p": 4}, value=[1.0, 1.0, 2.0, 2.0], gradients=[[3.0, -1.0]], cotangent=[1.0, 2.0, 0.0, -1.0]),
        point([1.0, 3.0], scale_factor={"p": 1.5}, mode="linear", align_corners=True, value=[1.0, 2.0, 3.0], gradients=[[2.0, 1.0]], cotangent=[1.0, 2.0, 0.0]),
        point([-5.0], size={"p": 2}, value=[-5.0, -5.0], gradients=[[1.0]], cotangent=[3.0, -2.0]),
    ],
)  # fmt: skip
entry(
    "interp",
    _interp,
    samples=[
        sample("real(six,a)", "inside(b,a)", "ascending(six)", dim="six", method="akima"),
        sample("real(a,six)", "inside()", "ascending(a,six)", dim="six", method="makima"),
        sample("real(a,six)", "inside(six)", "ascending(a,six)", dim="six", method="cubic"),
        sample("real(a,six)", "inside(b)", "ascending(six)", dim="six", method="nearest"),
        sample("real(a,six)", "inside(b)", "ascending(six)", dim="six", method="previous"),
        sample("real(a,six)", "real(b)", "ascending(six)", dim="six", fill_value=(0.5, -1.5)),
        sample("real(a,six)", "real(b)", "ascending(a,six)", dim="six", method="cubic", fill_value="extrapolate"),
    ],
    points=[  # at a node the derivative in the target is that of the interval to the right
        point([0.0, 10.0, 40.0], [1.0], dim="p", value=[10.0], gradients=[[0.0, -2.0, 0.0], [-60.0]], cotangent=[-2.0]),
        point([0.0, 10.0, 40.0], [2.0], dim="p", value=[40.0], gradients=[[0.0, 0.0, -2.0], [-60.0]], cotangent=[-2.0]),
        point([0.0, 10.0, 40.0], [-1.0, 5.0], dim="p", value=[np.nan, np.nan], gradients=[[0.0, 0.0, 0.0], [0.0, 0.0]], cotangent=[0.0, 0.0]),
        point([0.0, 10.0], [np.nan, 0.5], dim="p", fill_value=7.0, value=[np.nan, 5.0], gradients=[[1.0, 1.0], [0.0, 20.0]], cotangent=[3.0, 2.0]),
        point([np.nan, 10.0, 40.0], [1.0, 1.5], dim="p", value=[10.0, 25.0], gradients=[[0.0, 4.0, 1.0], [90.0, 60.0]], cotangent=[3.0, 2.0]),
        point([INF, 10.0, 40.0], [1.5, -2.0, INF], dim="p", fill_value=7.0, value=[25.0, 7.0, 7.0], gradients=[[0.0, 1.0, 1.0], [60.0, 0.0, 0.0]], cotangent=[2.0, 3.0, 4.0]),
        point([5.0], [0.0], dim="p", value=[5.0], gradients=[[-2.0], [0.0]], cotangent=[-2.0]),
        point([0.0, 10.0, 40.0], [1.0], [4.0, 2.0, 0.0], dim="p", value=[25.0], gradients=[[0.0, -1.0, -1.0], [30.0], [0.0, -15.0, -15.0]], cotangent=[-2.0]),
    ],
)  # fmt: skip
