"""Signals: NumPy's and SciPy's functions of single rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal
import xarray as xr

from tests.support.grid import entry, point, sample


def _rows(f: Callable[..., Any], cores: Any, out: Any, *operands: xr.DataArray, order: Any = None) -> xr.DataArray:
    """``f`` of every row; dims in the order of first appearance, unless given."""
    changed = set(out)  # sizes may differ among the operands and from that of the result
    renamed = [x.rename({d: f"{d}_{k}" for d in core}) for k, (x, core) in enumerate(zip(operands, cores, strict=True))]
    inner = [[f"{d}_{k}" for d in core] for k, core in enumerate(cores)]
    y = xr.apply_ufunc(f, *renamed, input_core_dims=inner, output_core_dims=[[f"{d}_out" for d in out]], vectorize=True)
    y = y.rename({f"{d}_out": d for d in out})
    seen = order or [d for x in operands for d in x.dims]
    return y.transpose(*dict.fromkeys(d for d in (*seen, *changed) if d in y.dims))


def _differentiate(x: xr.DataArray, coord: Any = None, *, dim: str, edge_order: int = 1) -> xr.DataArray:
    coord = xr.DataArray(1.0) if coord is None else coord
    at = [dim] if dim in coord.dims else []
    return _rows(lambda x, h: np.gradient(x, h, edge_order=edge_order), [[dim], at], [dim], x, coord)


def _gradient(x: xr.DataArray, dim: Any, spacing: Any = 1.0, edge_order: int = 1) -> Any:
    dims = (dim,) if isinstance(dim, str) else dim
    steps = [spacing[d] if isinstance(spacing, dict) else spacing for d in dims]
    out = np.gradient(x.to_numpy(), *steps, axis=[x.dims.index(d) for d in dims], edge_order=edge_order)
    return tuple(xr.DataArray(o, dims=x.dims) for o in out) if isinstance(out, (list, tuple)) else xr.DataArray(out, dims=x.dims)


def _positions(x: xr.DataArray, coord: Any, dim: str) -> xr.DataArray:
    if coord is not None and dim in coord.dims:
        return coord
    return xr.DataArray(np.arange(x.sizes[dim]), dims=dim) * (1.0 if coord is None else coord)


def _integrate(x: xr.DataArray, coord: Any = None, *, dim: str) -> xr.DataArray:
    return _rows(np.trapezoid, [[dim], [dim]], [], x, _positions(x, coord, dim))


def _cumulative(x: xr.DataArray, coord: Any = None, *, dim: str) -> xr.DataArray:
    def row(y: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.array([np.trapezoid(y[: i + 1], t[: i + 1]) for i in range(len(y))], y.dtype)

    return _rows(row, [[dim], [dim]], [dim], x, _positions(x, coord, dim), order=[*x.dims, *(() if coord is None else coord.dims)])


def _pairwise(f: Callable[..., Any]) -> Callable[..., xr.DataArray]:
    def reference(x: xr.DataArray, y: xr.DataArray, dim: Any, **kwargs: Any) -> xr.DataArray:
        dims = [dim] if isinstance(dim, str) else list(dim)
        return _rows(lambda x, y: f(x, y, **kwargs), [dims, dims], dims, x, y)

    return reference


def _polyval(x: xr.DataArray, coefficients: xr.DataArray, degree: str = "degree") -> xr.DataArray:
    return _rows(lambda x, p: np.polyval(p, x), [[], [degree]], [], x, coefficients)


def _polyfit(x: xr.DataArray, coord: Any = None, w: Any = None, *, dim: str, deg: int, degree: str = "degree") -> xr.DataArray:
    t = xr.DataArray(np.arange(float(x.sizes[dim])), dims=dim) if coord is None else coord
    w = xr.ones_like(t) if w is None else w

    def row(y: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
        here = ~np.isnan(y)
        return np.polyfit(t[here], y[here], deg, w=w[here])

    return _rows(row, [[dim]] * 3, [degree], x, t, w, order=[degree, *x.dims, *t.dims, *w.dims])


entry(
    "differentiate",
    _differentiate,
    points=[
        point([0.0, 1.0, 4.0], dim="p", value=[1.0, 2.0, 3.0], gradients=[[-3.0, 1.0, 2.0]], cotangent=[2.0, 2.0, 1.0]),
        # equally spaced: the middle takes no part in its own derivative
        point([0.0, np.nan, 4.0], dim="p", value=[np.nan, 2.0, np.nan], gradients=[[-2.0, 0.0, 2.0]], cotangent=[0.0, 4.0, 0.0]),
        point([0.0, 1.0], [0.0, 2.0], dim="p", value=[0.5, 0.5], gradients=[[-1.0, 1.0], [0.5, -0.5]], cotangent=[3.0, -1.0]),
        point([0.0, 1.0, 4.0], dim="p", edge_order=2, value=[0.0, 2.0, 4.0], gradients=[[-1.5, 2.0, -0.5]], cotangent=[1.0, 0.0, 0.0]),
    ],
)  # fmt: skip
entry(
    "gradient",
    _gradient,
    points=[
        point([0.0, 1.0, 4.0], dim="p", spacing=2.0, value=[0.5, 1.0, 1.5], gradients=[[-1.5, 0.5, 1.0]], cotangent=[2.0, 2.0, 1.0]),
        point([3.0, 5.0], dim="p", value=[2.0, 2.0], gradients=[[-2.0, 2.0]], cotangent=[3.0, -1.0]),
        point([0.0, np.inf, 4.0], dim="p", value=[np.inf, 2.0, -np.inf], gradients=[[-2.0, 0.0, 2.0]], cotangent=[0.0, 4.0, 0.0]),
    ],
)  # fmt: skip
entry(
    "integrate",
    _integrate,
    points=[
        point([1.0, 2.0, 4.0], dim="p", value=4.5, gradients=[[-1.0, -2.0, -1.0]], cotangent=-2.0),
        point([5.0], dim="p", value=0.0, gradients=[[0.0]], cotangent=-2.0),
        point([2.0, 4.0], [3.0, 3.0], dim="p", value=0.0, gradients=[[0.0, 0.0], [6.0, -6.0]], cotangent=-2.0),
    ],
)
entry(
    "cumulative_integrate",
    _cumulative,
    points=[
        point([1.0, 3.0], dim="p", value=[0.0, 2.0], gradients=[[-1.0, -1.0]], cotangent=[7.0, -2.0]),
        point([5.0], dim="p", value=[0.0], gradients=[[0.0]], cotangent=[3.0]),
        point([2.0, 4.0], [3.0, 3.0], dim="p", value=[0.0, 0.0], gradients=[[0.0, 0.0], [6.0, -6.0]], cotangent=[1.0, -2.0]),
    ],
)
entry(
    "convolve",
    _pairwise(np.convolve),
    samples=[
        sample("real(a,b)", "real(a,b)", dim="b"),
        sample("complex(six,c)", "complex(six)", dim="six", mode="same"), sample("real(six,a)", "complex(b,six)", dim="six"),
    ],
    points=[
        point([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], dim="p", mode="same", value=[1.0, 2.5, 4.0], gradients=[[2.5, 1.0, 0.0], [7.0, 4.0, 1.0]], cotangent=[2.0, 1.0, 0.0]),
        point([3.0], [2.0], dim="p", value=[6.0], gradients=[[-2.0], [-3.0]], cotangent=[-1.0]),
        point([np.inf, 1.0, 2.0], [1.0, 0.5], dim="p", mode="valid", value=[np.inf, 2.5], gradients=[[-1.5, -1.0, 4.0], [5.0, -np.inf]], cotangent=[-3.0, 4.0]),
    ],
)  # fmt: skip
entry(
    "correlate",
    _pairwise(np.correlate),
    samples=[sample("complex(six,c)", "complex(six)", dim="six", mode="same"), sample("real(six,a)", "complex(b,six)", dim="six", mode="full")],
    points=[
        point([1.0, 2.0, 3.0], [2.0, 0.5, 1.0], dim="p", value=[6.0], gradients=[[-4.0, -1.0, -2.0], [-2.0, -4.0, -6.0]], cotangent=[-2.0]),
        point([3.0], [2.0], dim="p", mode="full", value=[6.0], gradients=[[-2.0], [-3.0]], cotangent=[-1.0]),
        point([2j], [1j], dim="p", value=[2.0], gradients=[[3j], [6j]], cotangent=[3.0]),
    ],
)  # fmt: skip
entry(
    "fftconvolve",
    _pairwise(scipy.signal.fftconvolve),
    samples=[sample("complex(six,c)", "complex(six)", dim="six", mode="same"), sample("real(six,eight)", "real(eight,six)", dim=("six", "eight"), mode="same")],
    points=[
        point([3.0], [2.0], dim="p", value=[6.0], gradients=[[-2.0], [-3.0]], cotangent=[-1.0]),
        point([1.0, 2.0], [0.0, 1.0], dim="p", value=[0.0, 1.0, 2.0], gradients=[[2.0, 4.0], [7.0, 10.0]], cotangent=[3.0, 2.0, 4.0]),
        point([1.0, 2.0], [3.0, 1.0], dim="p", mode="valid", value=[7.0], gradients=[[1.0, 3.0], [2.0, 1.0]], cotangent=[1.0]),
    ],
)  # fmt: skip
entry(
    "polyval",
    _polyval,
    samples=[sample("real(a,b)", "complex(nine)", degree="nine"), sample("real(a)", "real(one,a)", degree="one")],
    points=[
        point(2.0, [1.0, -3.0, 5.0], degree="p", value=3.0, gradients=[-2.0, [-8.0, -4.0, -2.0]], cotangent=-2.0),
        point(0.0, [4.0, 0.0, 1.0], degree="p", value=1.0, gradients=[0.0, [0.0, 0.0, 3.0]], cotangent=3.0),
        point(7.0, [4.0], degree="p", value=4.0, gradients=[0.0, [3.0]], cotangent=3.0),
    ],
)  # fmt: skip
entry(
    "vander",
    lambda x, n, increasing=False: xr.DataArray(np.array([np.vander(r.reshape(-1), n, increasing) for r in x.to_numpy().reshape(-1)]).reshape(*x.shape, n), dims=(*x.dims, "degree")),
    points=[
        point([2.0], n=3, value=[[4.0, 2.0, 1.0]], gradients=[[-2.0]], cotangent=[[-1.0, 2.0, 9.0]]),
        point([0.0], n=3, value=[[0.0, 0.0, 1.0]], gradients=[[2.0]], cotangent=[[-1.0, 2.0, 9.0]]),
        point([np.inf, 3.0], n=1, value=[[1.0], [1.0]], gradients=[[0.0, 0.0]], cotangent=[[2.0], [-1.0]]),
    ],
)  # fmt: skip
entry(
    "polyfit",
    _polyfit,
    samples=[sample("real(nine,a)", "real(b,nine)", dim="nine", deg=2)],
    points=[
        point([1.0, 3.0, 5.0], dim="p", deg=1, value=[2.0, 1.0], gradients=[[-0.5, 0.0, 0.5]], cotangent=[1.0, 0.0]),
        point([1.0, np.nan, 5.0], [0.0, 1.0, 2.0], dim="p", deg=0, value=[3.0], gradients=[[2.0, 0.0, 2.0], [0.0, 0.0, 0.0]], cotangent=[4.0]),
        point([7.0], [2.0], [5.0], dim="p", deg=0, value=[7.0], gradients=[[-2.0], [0.0], [0.0]], cotangent=[-2.0]),
    ],
)  # fmt: skip
entry(
    "detrend",
    lambda x, dim, **kw: xr.DataArray(scipy.signal.detrend(x.to_numpy(), x.dims.index(dim), **kw), dims=x.dims),
    points=[
        point([1.0, 3.0, 5.0], dim="p", value=[0.0, 0.0, 0.0], gradients=[[0.5, -1.0, 0.5]], cotangent=[0.0, -1.5, 0.0]),
        point([4.0], dim="p", value=[0.0], gradients=[[0.0]], cotangent=[3.0]),
        point([1.0, 5.0], dim="p", type="constant", value=[-2.0, 2.0], gradients=[[2.0, -2.0]], cotangent=[4.0, 0.0]),
    ],
)


def _stft(
    x: xr.DataArray, window: Any = None, *, dim: str, n_fft: int, hop_length: Any = None, center: bool = True,
    pad_mode: str = "reflect", normalized: bool = False, onesided: bool = True,
) -> xr.DataArray:  # fmt: skip
    window = xr.DataArray(np.ones(n_fft), dims=dim) if window is None else window
    hop = hop_length or n_fft // 4

    def row(y: np.ndarray, w: np.ndarray) -> np.ndarray:
        y = np.pad(y, n_fft // 2, mode=pad_mode) if center else y
        f = np.fft.rfft if onesided and y.dtype.kind == "f" else np.fft.fft
        out = [f(w * y[i : i + n_fft]) for i in range(0, len(y) - n_fft + 1, hop)]
        return np.array(out).T / (np.sqrt(n_fft) if normalized else 1)

    order = [n for d in x.dims for n in (("frequency", d) if d == dim else (d,))]
    return _rows(row, [[dim], [dim]], ["frequency", dim], x, window, order=[*order, *window.dims])


def _istft(
    x: xr.DataArray, window: Any = None, *, dim: str, n_fft: int, hop_length: Any = None, win_length: Any = None,
    normalized: bool = False, length: Any = None, return_complex: bool = False, frequency: str,
) -> xr.DataArray:  # fmt: skip
    size, hop = win_length or n_fft, hop_length or n_fft // 4
    window = xr.DataArray(np.ones(size), dims=dim) if window is None else window

    def row(z: np.ndarray, w: np.ndarray) -> np.ndarray:
        w = np.pad(w, ((n_fft - size) // 2, n_fft - size - (n_fft - size) // 2))
        full = n_fft + hop * (z.shape[1] - 1)
        y, weights = np.zeros(full, complex if return_complex else float), np.zeros(full)
        for k, column in enumerate(z.T):
            cells = slice(k * hop, k * hop + n_fft)
            y[cells] += w * (np.fft.ifft if return_complex else np.fft.irfft)(column, n_fft)
            weights[cells] += w**2
        start = n_fft // 2
        stop = full - start if length is None else start + length
        y = y[start:stop] / weights[start:stop] * (np.sqrt(n_fft) if normalized else 1)
        return np.pad(y, (0, stop - start - len(y)))

    return _rows(row, [[frequency, dim], [dim]], [dim], x, window, order=[*x.dims, *window.dims])


entry(
    "stft",
    _stft,
    points=[
        point([1.0, 0.0, -1.0, 0.0], dim="p", n_fft=4, center=False, value=[[0.0], [2.0], [0.0]], gradients=[[7.0, 3.0, 3.0, -1.0]], cotangent=[[3.0], [2.0 - 2j], [2.0]]),
        point([5.0, 7.0], dim="p", n_fft=1, hop_length=1, center=False, value=[[5.0, 7.0]], gradients=[[2.0, -3.0]], cotangent=[[2.0, -3.0]]),
        point([5.0, 7.0, 9.0], [2.0], dim="p", n_fft=1, hop_length=2, center=False, value=[[10.0, 18.0]], gradients=[[4.0, 0.0, -6.0], [-17.0]], cotangent=[[2.0, -3.0]]),
    ],
)  # fmt: skip
entry(
    "istft",
    _istft,
    points=[
        point([[5.0, 7.0]], dim="q", frequency="p", n_fft=1, hop_length=1, value=[5.0, 7.0], gradients=[[[2.0, -3.0]]], cotangent=[2.0, -3.0]),
        point([[4.0 + 7j], [0j], [3j]], dim="q", frequency="p", n_fft=4, center=False, value=[1, 1, 1, 1], gradients=[[[1.5], [-1j], [-0.5]]], cotangent=[1.0, 3.0, 1.0, 1.0]),
        point([[6.0, 2.0]], [3.0], dim="q", frequency="p", n_fft=1, hop_length=1, length=3, value=[2.0, 2.0 / 3, 0.0], gradients=[[[1.0, 2.0]], [-10.0 / 3]], cotangent=[3.0, 6.0, 9.0]),
    ],
)  # fmt: skip
