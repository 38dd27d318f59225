"""Operators, xarray's ufuncs, NumPy functions on xarray objects, and functions applied to their arrays."""

from __future__ import annotations

import operator

import numpy as np
import scipy.special
import xarray as xr

from tests.xarray.catalogue.entry import OTHER, WEIGHTS, table


def _in_place(x):
    y = x * 2
    y += x
    y *= x
    y -= 1.0
    y /= x + 1
    y **= 2
    return y


def _ufunc(name, shift=0.0, scale=1.0):
    return (f"xr.ufuncs.{name}", lambda x: getattr(xr.ufuncs, name)(x * scale + shift), ("lat", "time"))


def _pair(name, **options):
    return (f"xr.ufuncs.{name}", lambda x: getattr(xr.ufuncs, name)(x, OTHER * 0.9), ("lat",))


def _standardise(a, axis):
    return (a - a.mean(axis=axis, keepdims=True)) / a.std(axis=axis, keepdims=True)


def _two(a):
    return a.min(axis=-1), a.max(axis=-1)


def _spectrum(a):
    return np.abs(np.fft.rfft(a, axis=-1)) ** 2


def _low_pass(a):
    f = np.fft.rfft(a, axis=-1)
    keep = np.arange(f.shape[-1]) < 4
    return np.fft.irfft(f * keep, n=a.shape[-1], axis=-1)


def _line(row):
    return np.sum(row * np.arange(row.size)) / np.sum(row)


def _smooth(row):
    return np.convolve(row, [0.25, 0.5, 0.25], mode="same")


ENTRIES = [
    *table(
        ("add", lambda x: x + OTHER),
        ("subtract", lambda x: x - x.lon / 50 - OTHER),
        ("multiply", lambda x: 3 * x * WEIGHTS),
        ("divide", lambda x: x / OTHER + 1 / x),
        ("power", lambda x: x**OTHER + 2**x),
        ("modulo", lambda x: x % 0.7),
        ("floor division", lambda x: x // 0.7 + x),
        ("negation, absolute value, plus", lambda x: abs(-x - 1) * +x),
        ("in place", _in_place),
        ("@", lambda x: x @ WEIGHTS, ("lat", "time")),
        ("comparison as a factor", lambda x: (x > 2.5) * x),
        ("comparison as a mask", lambda x: x.where((x > 2.1) & ~(x > 4) | (x < 1.5))),
        ("operator functions", lambda x: operator.truediv(operator.sub(x, 1), operator.neg(OTHER))),
        ("round", lambda x: x.round() + x),
        ("clip", lambda x: x.clip(2.0, x.mean("time") + 1)),
        ("astype", lambda x: x.astype("float64") * x.astype("complex128").imag + x),
        ("real, imag, conj", lambda x: (x * (1 + 2j) * x.conj()).imag + (1j * x).conjugate().imag + (x + 0j).real),
        ("isin", lambda x: x.where(~x.round().isin([2.0]))),
        ("pipe", lambda x: x.pipe(lambda a, k: a**k, k=3)),
        ("T", lambda x: x.T * x),
        ("data", lambda x: x.copy(data=np.tanh(x.data))),
        ("variable", lambda x: xr.DataArray(x.variable**2, coords=x.coords)),
        ("matmul of arrays", lambda x: xr.DataArray(x.data @ np.ones((4, 2)), dims=(*x.dims[:-1], "k"))),
        ("as_numpy", lambda x: x.as_numpy() * 2),
    ),
    *table(
        *(
            _ufunc(n)
            for n in (
                "abs", "absolute", "arcsinh", "arctan", "cbrt", "conj", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2",
                "expm1", "fabs", "log", "log10", "log1p", "log2", "negative", "positive", "rad2deg", "radians",
                "reciprocal", "sin", "sinh", "sqrt", "square", "tanh",
            )
        ),
        *(_ufunc(n, scale=0.1) for n in ("arccos", "arcsin", "arctanh", "tan")),
        _ufunc("arccosh", 2.0),
        *(
            _pair(n)
            for n in (
                "add", "subtract", "multiply", "divide", "true_divide", "power", "float_power", "arctan2", "copysign", "fmax",
                "fmin", "fmod", "heaviside", "hypot", "logaddexp", "logaddexp2", "maximum", "minimum", "mod", "remainder",
            )
        ),
        ("np.floor, ceil, trunc, rint, sign", lambda x: x * (np.floor(x) + np.ceil(x) + np.trunc(x) + np.rint(x) + np.sign(x))),
        ("np.where of arrays", lambda x: x.copy(data=np.where(x.data > 2, x.data**2, 1.0))),
        ("np.clip", lambda x: np.clip(x, 1.9, 3.5)),
        ("np.nan_to_num", lambda x: xr.apply_ufunc(np.nan_to_num, x)),
        ("np.angle", lambda x: xr.ufuncs.angle(x + 1j * x**2)),
        ("np.square of a coordinate", lambda x: np.square(x.lat) * x, ("time",)),
        ("np.add.reduce", lambda x: xr.DataArray(np.add.reduce(x.data, axis=-1), dims=x.dims[:-1])),
        ("np.sum, mean, std, max", lambda x: np.sum(x) + np.mean(x) + np.std(x) + np.max(x), ()),
        ("np.cumsum by reduce", lambda x: np.cumsum(x, axis=0)),
        ("np.interp at fixed nodes", lambda x: x.copy(data=np.interp(x.data, np.array([0.0, 2.0, 3.0, 9.0]), np.array([1.0, 0.0, 5.0, 4.0])))),
        ("np.einsum of arrays", lambda x: xr.DataArray(np.einsum("tyx,tyx->yx", x.data, x.data), dims=("lat", "lon")), ()),
        ("scipy.special", lambda x: scipy.special.erf(x) + scipy.special.gammaln(x) + scipy.special.expit(x)),
        over=("lat", "time"),
    ),
    *table(
        ("apply_ufunc", lambda x: xr.apply_ufunc(lambda a, b: a * b + 1, x, OTHER)),
        ("apply_ufunc input_core_dims", lambda x: xr.apply_ufunc(lambda a: (a**2).sum(-1), x, input_core_dims=[["time"]])),
        ("apply_ufunc output_core_dims", lambda x: xr.apply_ufunc(_standardise, x, input_core_dims=[["time"]], output_core_dims=[["time"]], kwargs={"axis": -1})),
        ("apply_ufunc of a spectrum", lambda x: xr.apply_ufunc(_spectrum, x, input_core_dims=[["time"]], output_core_dims=[["frequency"]])),
        ("apply_ufunc of a filter", lambda x: xr.apply_ufunc(_low_pass, x, input_core_dims=[["time"]], output_core_dims=[["time"]])),
        ("apply_ufunc with two outputs", lambda x: xr.apply_ufunc(_two, x, input_core_dims=[["time"]], output_core_dims=[[], []])),
        ("apply_ufunc exclude_dims", lambda x: xr.apply_ufunc(lambda a: a[..., ::3], x, input_core_dims=[["time"]], output_core_dims=[["time"]], exclude_dims={"time"})),
        ("apply_ufunc vectorize", lambda x: xr.apply_ufunc(_line, x, input_core_dims=[["time"]], vectorize=True)),
        ("apply_ufunc vectorize, a row", lambda x: xr.apply_ufunc(_smooth, x, input_core_dims=[["time"]], output_core_dims=[["time"]], vectorize=True)),
        ("apply_ufunc vectorize, two arrays", lambda x: xr.apply_ufunc(lambda a, b: np.dot(a, b), x, OTHER, input_core_dims=[["time"], ["time"]], vectorize=True)),
        ("apply_ufunc vectorize, elementwise", lambda x: xr.apply_ufunc(lambda v: v**2 + 1, x, vectorize=True)),
        ("apply_ufunc with a solve", lambda x: xr.apply_ufunc(lambda a: np.linalg.solve(a.swapaxes(-1, -2) @ a + 0.1 * np.eye(a.shape[-1]), a.sum(-2)[..., None])[..., 0], x.fillna(1.0), input_core_dims=[["time", "lon"]], output_core_dims=[["lon"]])),
        ("apply_ufunc with singular values", lambda x: xr.apply_ufunc(lambda a: np.linalg.svd(a, compute_uv=False), x.fillna(2.0), input_core_dims=[["time", "lon"]], output_core_dims=[["mode"]])),
        ("apply_ufunc join outer", lambda x: xr.apply_ufunc(np.add, x, OTHER.isel(lon=slice(1, None)), join="outer", dataset_join="outer")),
        ("apply_ufunc keep_attrs", lambda x: xr.apply_ufunc(np.sqrt, x, keep_attrs=True)),
        ("map_blocks", lambda x: xr.map_blocks(lambda a, k: a * k, x, args=[2.0])),
        ("map_blocks method", lambda x: x.map_blocks(lambda a: a - a.mean("time"))),
        ("reduce", lambda x: x.reduce(np.sum, "time")),
        ("reduce of several dims", lambda x: x.reduce(np.nanmax, ["time", "lon"])),
        ("reduce by a function", lambda x: x.reduce(lambda a, axis: (a**2).mean(axis=axis) ** 0.5, "time")),
    ),
]  # fmt: skip
