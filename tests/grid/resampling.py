"""Interpolation: a matrix per dim, built cell by cell."""

import functools
import math
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.ndimage
import xarray as xr

import namedgrad as ng
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


def _far_from_kinks(rng: Rng, shape: tuple[int, ...], reach: float) -> np.ndarray:
    """Normalised positions of which none is near a cell or half way between two, of 6 or of 8."""
    out = rng.uniform(-reach, reach, (50, *shape))
    good = np.ones(out.shape, dtype=bool)
    for n in (6, 8):
        for place in (((out + 1) * n - 1) / 2, (out + 1) * (n - 1) / 2):
            good &= np.abs(2 * place - np.rint(2 * place)) > 0.05
    return np.take_along_axis(out, good.argmax(axis=0)[None], axis=0)[0]


domain("between")(lambda rng, shape: _far_from_kinks(rng, shape, 1.0))
domain("beyond")(lambda rng, shape: _far_from_kinks(rng, shape, 3.0))


@domain("around")
def _around(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    """Positions of cells, from far before the first to far after the last of 6; none near a kink."""
    return rng.integers(-9, 15, shape) + rng.choice([0.1, 0.6], shape) + rng.uniform(0, 0.3, shape)


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


def _folded(place: float, low: float, high: float) -> float:
    while not low <= place <= high:
        place = 2 * low - place if place < low else 2 * high - place
    return place


def _padded(place: float, n: int, padding: str, *, align: bool) -> float:
    if padding == "reflection":
        place = _folded(place, 0, n - 1) if align else _folded(place, -0.5, n - 0.5)
    return place if padding == "zeros" else min(max(place, 0), n - 1)


def _weights(n: int, u: float, mode: str, padding: str, *, align: bool) -> np.ndarray:
    place = (u + 1) * (n - 1) / 2 if align else ((u + 1) * n - 1) / 2
    first = math.floor(place)
    if mode == "bicubic":
        taps = [(_padded(k, n, padding, align=align), _keys(place - k, -0.75)) for k in range(first - 1, first + 3)]
    else:
        place = _padded(place, n, padding, align=align)
        first = math.floor(place)
        taps = [(k, 1 - abs(place - k)) for k in (first, first + 1)] if mode == "bilinear" else [(round(place), 1.0)]
    out = np.zeros(n)
    for k, w in taps:
        if 0 <= k < n:
            out[int(k)] += w
    return out


def _grid_sample(
    x: xr.DataArray, grid: xr.DataArray, mode: str = "bilinear", padding_mode: str = "zeros", *, align_corners: bool = False,
    dims: Any, coord: str,
) -> xr.DataArray:  # fmt: skip
    def row(y: np.ndarray, at: np.ndarray) -> Any:
        for n, u in zip(y.shape, at[::-1], strict=True):
            y = np.tensordot(_weights(n, u, mode, padding_mode, align=align_corners), y, 1)
        return y

    return _placed(xr.apply_ufunc(row, x, grid, input_core_dims=[dims, [coord]], vectorize=True), x, grid, dims)


def _placed(out: xr.DataArray, x: xr.DataArray, grid: xr.DataArray, dims: Any) -> xr.DataArray:
    at = min(x.dims.index(d) for d in dims)
    new = [d for d in grid.dims if d not in x.dims]
    return out.transpose(*(d for d in (*x.dims[:at], *new, *x.dims[at:]) if d in out.dims))


def _map_coordinates(x: xr.DataArray, at: xr.DataArray, order: int = 1, mode: str = "constant", cval: float = 0.0, *, dims: Any, coord: str) -> xr.DataArray:
    def row(y: np.ndarray, p: np.ndarray) -> Any:
        return scipy.ndimage.map_coordinates(y, p[:, None], order=order, mode=mode, cval=cval)[0]

    return _placed(xr.apply_ufunc(row, x, at, input_core_dims=[dims, [coord]], vectorize=True), x, at, dims)


def _affine_grid(theta: xr.DataArray, size: dict[str, int], dims: Any, *, align_corners: bool = False) -> xr.DataArray:
    ((p, n),) = size.items()
    base = np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) if n > 1 else np.zeros(1)
    at = xr.DataArray([base, np.ones(n)], dims=(dims[1], p))
    out = xr.dot(theta, at, dim=dims[1])
    return out.transpose(*(d for d in theta.dims if d not in dims), p, dims[0])


ONE = {"dims": ("p",), "coord": "one"}


def _at(*places: float) -> ng.DimArray:
    return ng.DimArray([places], ("one", "q"))


entry(
    "grid_sample",
    _grid_sample,
    samples=[
        sample("complex(six,a)", "between(one,a)", dims=("six",), coord="one"),
        sample("real(a,six,eight)", "beyond(a,b,two)", dims=("six", "eight"), coord="two", padding_mode="reflection", align_corners=True),
        sample("real(six,eight)", "beyond(b,two)", dims=("six", "eight"), coord="two", padding_mode="border"),
        sample("real(a,eight)", "beyond(b,one)", dims=("eight",), coord="one", mode="bicubic", padding_mode="reflection"),
        sample("real(a,eight)", "beyond(b,one)", dims=("eight",), coord="one", mode="bicubic"),
    ],
    points=[
        point([1.0, 3.0], _at(0.0, -1.0, 5.0), **ONE, value=[2.0, 0.5, 0.0], gradients=[[2.0, 1.0], [[4.0, 2.0, 0.0]]], cotangent=[2.0, 2.0, 7.0]),
        point([1.0, 3.0], _at(-0.5, np.nan), **ONE, value=[1.0, 0.0], gradients=[[-2.0, 0.0], [[-4.0, 0.0]]], cotangent=[-2.0, 3.0]),
        point([1.0, np.inf], _at(-0.5), **ONE, value=[1.0], gradients=[[-2.0, 0.0], [[-INF]]], cotangent=[-2.0]),
        point([1.0, 3.0], _at(-1.0, 1.0), **ONE, padding_mode="border", value=[1.0, 3.0], gradients=[[-2.0, 5.0], [[0.0, 0.0]]], cotangent=[-2.0, 5.0]),
    ],
)  # fmt: skip
entry(
    "affine_grid",
    _affine_grid,
    points=[
        point([[2.0, 1.0]], size={"x": 2}, dims=("p", "q"), value=[[0.0], [2.0]], gradients=[[[2.0, 2.0]]], cotangent=[[-1.0], [3.0]]),
        point([[2.0, 1.0]], size={"x": 2}, dims=("p", "q"), align_corners=True, value=[[-1.0], [3.0]], gradients=[[[4.0, 2.0]]], cotangent=[[-1.0], [3.0]]),
        point([[2.0, 1.0]], size={"x": 1}, dims=("p", "q"), value=[[1.0]], gradients=[[[0.0, -3.0]]], cotangent=[[-3.0]]),
    ],
)  # fmt: skip
entry(
    "map_coordinates",
    _map_coordinates,
    samples=[
        sample("real(six,eight)", "inside(a,two)", dims=("six", "eight"), coord="two"),
        *(sample("real(a,six)", "around(one,b)", dims=("six",), coord="one", mode=mode, cval=-1.5) for mode in ("grid-constant", "nearest", "wrap", "grid-wrap", "reflect")),
        sample("real(a,six)", "around(one,b)", dims=("six",), coord="one", mode="grid-wrap", order=0),
    ],
    points=[
        point([1.0, 3.0], _at(0.5, 1.0, -0.5), **ONE, cval=9.0, value=[2.0, 3.0, 9.0], gradients=[[1.0, 6.0], [[4.0, 0.0, 0.0]]], cotangent=[2.0, 5.0, 7.0]),
        point([1.0, 3.0], _at(2.25), **ONE, mode="mirror", value=[1.5], gradients=[[1.5, 0.5], [[4.0]]], cotangent=[2.0]),
        point([1.0, 3.0], _at(1.5), **ONE, mode="grid-wrap", value=[2.0], gradients=[[1.0, 1.0], [[-4.0]]], cotangent=[2.0]),
    ],
)  # fmt: skip
