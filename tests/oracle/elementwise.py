"""Elementwise operators, reductions, scans."""

# The signatures are PyTorch's.
# ruff: noqa: B008

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import namedgrad as ng
from tests.oracle.registry import LEFT_OUT, REAL_ONLY, RTOL, TABLE, alpha, axes_of

# ------------------------------------------------------------------------------------------------ elementwise
NUMPY = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "neg": "negative", "bitwise_not": "invert", "mul": "multiply", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "conj": "conjugate",
    "conj_physical": "conjugate", "resolve_conj": "positive", "resolve_neg": "positive", "sgn": "sign",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "true_divide": "divide", "__rmul__": "multiply",
    "isneginf": "isneginf", "isposinf": "isposinf", "clone": "copy", "contiguous": "copy", "ravel": "ravel", "fmod": "fmod",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "fix": "trunc",
}  # fmt: skip
for _torch, _numpy in NUMPY.items():
    TABLE[_torch] = getattr(np, _numpy)
SPECIAL = {
    "lgamma": "gammaln", "igamma": "gammainc", "igammac": "gammaincc", "special.bessel_j0": "j0", "special.bessel_j1": "j1",
    "special.bessel_y0": "y0", "special.bessel_y1": "y1", "special.modified_bessel_i0": "i0", "special.modified_bessel_i1": "i1",
    "special.modified_bessel_k0": "k0", "special.modified_bessel_k1": "k1", "special.scaled_modified_bessel_k0": "k0e",
    "special.scaled_modified_bessel_k1": "k1e", "nn.functional.logsigmoid": "log_sigmoid", "i0": "i0", "special.zeta": "zeta",
}  # fmt: skip
for _torch, _here in SPECIAL.items():
    if hasattr(ng, _here):
        TABLE[_torch] = getattr(ng, _here)

TABLE["add"] = alpha(np.add)
TABLE["sub"] = alpha(np.subtract)
TABLE["rsub"] = lambda x, y, *, alpha=1: np.subtract(y, x * alpha if alpha != 1 else x)
TABLE["__radd__"] = lambda x, y: y + x
TABLE["__rsub__"] = lambda x, y: y - x
TABLE["__rdiv__"] = lambda x, y: y / x
TABLE["__rpow__"] = lambda x, y: np.power(y, x)
TABLE["__rmod__"] = lambda x, y: np.remainder(y, x)
TABLE["__rmatmul__"] = lambda x, y: np.matmul(y, x)
TABLE["pow"] = np.power
TABLE["rsqrt"] = lambda x: 1 / np.sqrt(x)
TABLE["frac"] = lambda x: x - np.trunc(x)
TABLE["lerp"] = lambda x, y, weight: x + weight * (y - x)
TABLE["addcmul"] = lambda x, a, b, *, value=1: x + value * a * b
TABLE["addcdiv"] = lambda x, a, b, *, value=1: x + value * a / b
TABLE["clamp"] = lambda x, min=None, max=None: np.clip(x, min, max)
TABLE["clamp_min"] = lambda x, min: np.clip(x, min, None)
TABLE["clamp_max"] = lambda x, max: np.clip(x, None, max)
TABLE["complex"] = lambda x, y: x + 1j * y
TABLE["polar"] = lambda r, t: r * np.exp(1j * t)
TABLE["view_as_real"] = lambda x: np.stack([np.real(x), np.imag(x)], -1)
TABLE["view_as_complex"] = lambda x: x[..., 0] + 1j * x[..., 1]
TABLE["isreal"] = lambda x: np.imag(x) == 0
TABLE["isclose"] = lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan)
TABLE["allclose"] = TABLE["isclose"] and (lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.allclose(x, y, rtol, atol, equal_nan))
TABLE["masked_fill"] = lambda x, mask, value: ng.masked_fill(x, mask, value)
TABLE["fill"] = lambda x, value: np.broadcast_to(value, x.shape) + 0 * np.zeros(x.shape)
TABLE["round"] = lambda x, *, decimals=0: np.round(x, decimals)
TABLE["div"] = lambda x, y, *, rounding_mode=None: ng.div(x, y, rounding_mode)
TABLE["nan_to_num"] = lambda x, nan=None, posinf=None, neginf=None: np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
TABLE["logit"] = lambda x, eps=None: ng.logit(x, eps)
TABLE["polygamma"] = lambda x, n: ng.polygamma(n, x)
TABLE["mvlgamma"] = lambda x, p: ng.multigammaln(x, p)
TABLE["float_power"] = lambda x, y: np.float_power(x, y)
for _name in ("special.spherical_bessel_j0",):
    TABLE[_name] = lambda x: np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x))
TABLE["special.airy_ai"] = lambda x: ng.airy(x)[0]
TABLE["special.log_ndtr"] = lambda x: ng.log_ndtr(x)
TABLE["special.polygamma"] = TABLE["polygamma"]


# ------------------------------------------------------------------------------------------------ reductions and scans
def reduced(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False, dtype=None: f(x, axis=axes_of(dim) if x.ndim else None, keepdims=keepdim)


for _torch in ("sum", "mean", "prod", "all", "any", "count_nonzero", "nansum", "nanmean", "amax", "amin"):
    TABLE[_torch] = reduced(getattr(np, {"amax": "max", "amin": "min"}.get(_torch, _torch)))
TABLE["logsumexp"] = lambda x, dim, keepdim=False: ng.logsumexp(x, axes_of(dim) if x.ndim else None, keepdims=keepdim)
TABLE["amax"], TABLE["amin"] = reduced(np.max), reduced(np.min)
TABLE["aminmax"] = lambda x, *, dim=None, keepdim=False: (TABLE["amin"](x, dim, keepdim), TABLE["amax"](x, dim, keepdim))


def _moment(f: Callable[..., Any]) -> Callable[..., Any]:
    def moment(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
        return f(x, axis=axes_of(dim), ddof=ddof, keepdims=keepdim)

    return moment


TABLE["var"], TABLE["std"] = _moment(np.var), _moment(np.std)
TABLE["var_mean"] = lambda x, *a, **k: (TABLE["var"](x, *a, **k), _mean_of(x, *a, **k))
TABLE["std_mean"] = lambda x, *a, **k: (TABLE["std"](x, *a, **k), _mean_of(x, *a, **k))


def _mean_of(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    return np.mean(x, axis=None if isinstance(dim, bool) else axes_of(dim), keepdims=keepdim)


def _extreme(f: Callable[..., Any], arg: Callable[..., Any], pair: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(x: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        if dim is None:
            return f(x)
        if not isinstance(dim, int):
            return pair(x, dim)
        if not x.ndim:
            return x, np.zeros((), int)
        at = arg(x, axis=dim, keepdims=True)  # PyTorch gives all of the gradient to the cell whose position it returns
        value = np.take_along_axis(x, at, dim)
        if keepdim:
            return value, at
        return np.squeeze(value, dim), np.squeeze(at, dim)

    return extreme


TABLE["max"] = _extreme(np.max, np.argmax, np.maximum)
TABLE["min"] = _extreme(np.min, np.argmin, np.minimum)
TABLE["argmax"] = lambda x, dim=None, keepdim=False: np.argmax(x, axis=dim if x.ndim else None, keepdims=keepdim)
TABLE["argmin"] = lambda x, dim=None, keepdim=False: np.argmin(x, axis=dim if x.ndim else None, keepdims=keepdim)
TABLE["cumsum"] = lambda x, dim, **_: np.cumsum(x, dim) if x.ndim else x
TABLE["cumprod"] = lambda x, dim, **_: np.cumprod(x, dim) if x.ndim else x
TABLE["softmax"] = lambda x, dim, **_: ng.softmax(x, dim) if x.ndim else 0 * x + 1
TABLE["log_softmax"] = lambda x, dim, **_: ng.log_softmax(x, dim) if x.ndim else 0 * x
TABLE["nn.functional.softmin"] = lambda x, dim, **_: ng.softmin(x, dim) if x.ndim else 0 * x + 1
TABLE["diff"] = lambda x, n=1, dim=-1, prepend=None, append=None: np.diff(
    x, n, dim, **{k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
)
TABLE["trapezoid"] = TABLE["trapz"] = lambda y, x=None, dx=1.0, dim=-1: np.trapezoid(y, x, dx, dim)
for _name in ("quantile", "nanquantile"):
    TABLE[_name] = lambda x, q, dim=None, keepdim=False, interpolation="linear", f=getattr(np, _name): f(
        x, np.asarray(getattr(q, "data", q)), dim if x.ndim else None, method=interpolation, keepdims=keepdim
    )
TABLE["gradient"] = lambda x, *, spacing=1, dim=None, edge_order=1: np.gradient(
    x, *(spacing if isinstance(spacing, (list, tuple)) else () if spacing is None else (spacing,)), axis=axes_of(dim), edge_order=edge_order
)
TABLE["cov"] = lambda x, *, correction=1, fweights=None, aweights=None: np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)
TABLE["corrcoef"] = np.corrcoef
TABLE["dist"] = lambda x, y, p=2: np.linalg.norm(np.ravel(x - y), p)
TABLE["renorm"] = None


def _median(missing: bool) -> Callable[..., Any]:
    """PyTorch's median is the lower of the two in the middle."""

    def median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None or not x.ndim:
            out = (np.nanquantile if missing else np.quantile)(x, 0.5, method="lower")
            return out if dim is None else (out, None)
        return (np.nanquantile if missing else np.quantile)(x, 0.5, dim, method="lower", keepdims=keepdim), None

    return median


TABLE["median"], TABLE["nanmedian"] = _median(missing=False), _median(missing=True)
TABLE["equal"] = lambda x, y: np.array_equal(x, y)
TABLE["ldexp"] = lambda x, y: x * np.exp2(y)
for _name in ("logaddexp", "softmax", "log_softmax", "nn.functional.softmin", "logcumsumexp"):
    REAL_ONLY.add(_name)
RTOL |= {"special.airy_ai": 1e-8, "special.bessel_j0": 1e-5, "special.bessel_j1": 1e-5, "special.bessel_y0": 1e-6, "special.bessel_y1": 1e-6}  # PyTorch's precision
for _name in ("cummax", "cummin"):
    TABLE[_name] = lambda x, dim, f=getattr(ng, _name): f(x, dim, skipna=False, return_indices=True) if x.ndim else (x, np.zeros((), int))
TABLE["logcumsumexp"] = lambda x, dim: ng.logcumsumexp(x, dim) if x.ndim else x
TABLE["cumulative_trapezoid"] = lambda y, x=None, dx=1.0, dim=-1: ng.cumulative_trapezoid(y, x, dim, dx=dx)
TABLE["renorm"] = lambda x, p, dim, maxnorm: ng.renorm(x, tuple(i for i in range(x.ndim) if i != dim % x.ndim), maxnorm=maxnorm, ord=p)
TABLE["mode"] = lambda x, dim=-1, keepdim=False: _mode(x, dim, keepdim)
TABLE["histc"] = lambda x, bins=100, min=0, max=0: np.histogram(x, bins, (min, max) if min != max else None)[0].astype(float)
TABLE["bucketize"] = lambda x, edges, right=False, **_: np.searchsorted(edges, x, "right" if right else "left")
TABLE["isin"] = lambda x, y, *, assume_unique=False, invert=False: np.isin(x, y, invert=invert)


def _mode(x: Any, dim: int, keepdim: bool) -> Any:
    if not x.ndim:
        return x, np.zeros((), int)
    value, at = ng.mode(x, dim, return_indices=True)
    return (np.expand_dims(value, dim), np.expand_dims(at, dim)) if keepdim else (value, at)


RTOL |= {"logsumexp": 1e-8, "logcumsumexp": 1e-9}
TABLE["unique"] = lambda x, sorted=True, return_inverse=False, return_counts=False, dim=None: np.unique(x, axis=dim)

for _name in ("sum", "prod", "mean"):
    TABLE[f"masked.{_name}"] = lambda x, dim=None, *, keepdim=False, dtype=None, mask=None, f=getattr(np, _name): f(
        x, axis=axes_of(dim) if x.ndim else None, keepdims=keepdim, **({} if mask is None else {"where": mask})
    )
LEFT_OUT["quantile"] = LEFT_OUT["nanquantile"] = (lambda *flat: any(isinstance(x, torch.Tensor) for x in flat[1:]), "derivatives in q")
