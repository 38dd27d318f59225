"""PyTorch's operators by the names that they have here: NumPy's functions and namedgrad's, on positional arrays."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import namedgrad as ng

MOST = 40  # samples of one operator
TABLE: dict[str, Callable[..., Any]] = {}
RTOL: dict[str, float] = {"cov": 1e-6}  # its weights are float32
REAL_ONLY: set[str] = set()
NO_SECOND: set[str] = set()
# Operators without a counterpart, and why.
NOT_HERE: dict[str, str] = {}
_PLACES = ("", "nn.functional.", "special.", "linalg.", "fft.")


def find(name: str, variant: str = "") -> Callable[..., Any] | None:
    """The counterpart of an operator: from the table, else the function of the same name."""
    full = f"{name}.{variant}" if variant else name
    for key in (full, name):
        if key in NOT_HERE:
            return None
        if key in TABLE:
            return TABLE[key]
    for place in _PLACES:
        if place and name.startswith(place) and place not in ("fft.", "linalg.") and hasattr(ng, name.removeprefix(place)):
            return getattr(ng, name.removeprefix(place))
    return getattr(ng, name, None) or getattr(np, name, None) if "." not in name else None


def as_torch(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function with PyTorch's arguments under PyTorch's names."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (f.__name__.rstrip("_"),):
            TABLE[name] = f
        return f

    return enter


def axes_of(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple, torch.Size)) and dim else None if isinstance(dim, (list, tuple)) else dim


def many(*args: Any) -> tuple[int, ...]:
    """Sizes given one by one or together."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple, torch.Size)) else args


def alpha(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y, *, alpha=1: f(x, y * alpha if alpha != 1 else y)


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
TABLE["where"] = lambda cond, x, y: np.where(cond, x, y)
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
        at = arg(x, axis=dim, keepdims=True)  # PyTorch gives all of the gradient to the cell whose position it returns
        value = np.take_along_axis(x, at, dim) if x.ndim else x
        if keepdim or not x.ndim:
            return value, at
        return np.squeeze(value, dim), np.squeeze(at, dim)

    return extreme


TABLE["max"] = _extreme(np.max, np.argmax, np.maximum)
TABLE["min"] = _extreme(np.min, np.argmin, np.minimum)
TABLE["argmax"] = lambda x, dim=None, keepdim=False: np.argmax(x, axis=dim, keepdims=keepdim)
TABLE["argmin"] = lambda x, dim=None, keepdim=False: np.argmin(x, axis=dim, keepdims=keepdim)
TABLE["cumsum"] = lambda x, dim, **_: np.cumsum(x, dim) if x.ndim else x
TABLE["cumprod"] = lambda x, dim, **_: np.cumprod(x, dim) if x.ndim else x
TABLE["softmax"] = lambda x, dim, **_: ng.softmax(x, dim) if x.ndim else 0 * x + 1
TABLE["log_softmax"] = lambda x, dim, **_: ng.log_softmax(x, dim) if x.ndim else 0 * x
TABLE["nn.functional.softmin"] = lambda x, dim, **_: ng.softmin(x, dim) if x.ndim else 0 * x + 1
TABLE["diff"] = lambda x, n=1, dim=-1, prepend=None, append=None: np.diff(
    x, n, dim, **{k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
)
TABLE["trapezoid"] = TABLE["trapz"] = lambda y, x=None, dx=1.0, dim=-1: np.trapezoid(y, x, dx, dim)
TABLE["quantile"] = lambda x, q, dim=None, keepdim=False, interpolation="linear": np.quantile(x, q, dim, method=interpolation, keepdims=keepdim)
TABLE["nanquantile"] = lambda x, q, dim=None, keepdim=False, interpolation="linear": np.nanquantile(x, q, dim, method=interpolation, keepdims=keepdim)
TABLE["gradient"] = lambda x, *, spacing=1, dim=None, edge_order=1: np.gradient(
    x, *(spacing if isinstance(spacing, (list, tuple)) else (spacing,)), axis=axes_of(dim), edge_order=edge_order
)
TABLE["cov"] = lambda x, *, correction=1, fweights=None, aweights=None: np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)
TABLE["corrcoef"] = np.corrcoef
TABLE["dist"] = lambda x, y, p=2: np.linalg.norm(np.ravel(x - y), p)
TABLE["renorm"] = None


# ------------------------------------------------------------------------------------------------ shape and order

TABLE["permute"] = TABLE["permute_copy"] = lambda x, *dims: np.transpose(x, many(*dims))
TABLE["transpose"] = TABLE["transpose_copy"] = lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x
TABLE["t"] = TABLE["t_copy"] = lambda x: np.transpose(x)
TABLE["T"] = lambda x: np.transpose(x)
TABLE["H"] = lambda x: np.conjugate(np.transpose(x))
TABLE["mT"] = lambda x: np.swapaxes(x, -1, -2)
TABLE["mH"] = lambda x: np.conjugate(np.swapaxes(x, -1, -2)) if x.ndim else x
TABLE["movedim"] = lambda x, a, b: np.moveaxis(x, a, b)
for _name in ("reshape", "view", "view_copy"):
    TABLE[_name] = lambda x, *shape: np.reshape(x, many(*shape))
TABLE["reshape_as"] = TABLE["view_as"] = lambda x, y: np.reshape(x, y.shape)
TABLE["flatten"] = lambda x, start_dim=0, end_dim=-1: _flatten(x, start_dim, end_dim)
TABLE["unflatten"] = lambda x, dim, sizes: np.reshape(x, (*x.shape[: dim % x.ndim], *sizes, *x.shape[dim % x.ndim + 1 :]))
TABLE["squeeze"] = TABLE["squeeze_copy"] = TABLE["squeeze.multiple"] = lambda x, dim=None: _squeeze(x, dim)
TABLE["unsqueeze"] = TABLE["unsqueeze_copy"] = lambda x, dim: np.expand_dims(x, dim)
for _name in ("expand", "expand_copy"):
    TABLE[_name] = lambda x, *sizes: np.broadcast_to(x, _expanded(x.shape, many(*sizes)))
TABLE["expand_as"] = lambda x, y: np.broadcast_to(x, y.shape)
TABLE["broadcast_to"] = lambda x, shape: np.broadcast_to(x, shape)
TABLE["broadcast_tensors"] = lambda *xs: np.broadcast_arrays(*xs)
TABLE["repeat"] = lambda x, *sizes: np.tile(x, many(*sizes))
TABLE["tile"] = lambda x, *sizes: np.tile(x, many(*sizes))
TABLE["repeat_interleave"] = lambda x, repeats, dim=None, **_: np.repeat(x, repeats, dim)
TABLE["flip"] = lambda x, *dims: np.flip(x, many(*dims))
TABLE["roll"] = lambda x, shifts, dims=None: np.roll(x, shifts if not isinstance(shifts, list) else tuple(shifts), axes_of(dims))
TABLE["rot90"] = lambda x, k=1, dims=(0, 1): np.rot90(x, k, tuple(dims))
TABLE["diagonal"] = TABLE["diagonal_copy"] = TABLE["linalg.diagonal"] = lambda x, offset=0, dim1=None, dim2=None: np.diagonal(
    x, offset, *((0, 1) if dim1 is None else (dim1, dim2))
)
TABLE["linalg.diagonal"] = lambda x, *, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2)
TABLE["diag"] = lambda x, diagonal=0: np.diag(x, diagonal)
TABLE["diagflat"] = lambda x, offset=0: np.diagflat(x, offset)
TABLE["diag_embed"] = lambda x, offset=0, dim1=-2, dim2=-1: _diag_embed(x, offset, dim1, dim2)
TABLE["tril"] = lambda x, diagonal=0: np.tril(x, diagonal)
TABLE["triu"] = lambda x, diagonal=0: np.triu(x, diagonal)
TABLE["trace"] = lambda x: np.trace(x)
TABLE["cat"] = TABLE["concat"] = lambda xs, dim=0: np.concatenate([x for x in xs if x.shape != (0,)] or xs, dim)
TABLE["stack"] = lambda xs, dim=0: np.stack(xs, dim)
for _name in ("hstack", "vstack", "dstack", "column_stack"):
    TABLE[_name] = lambda xs, f=getattr(np, _name): f(xs)
TABLE["split"] = TABLE["unsafe_split"] = lambda x, size, dim=0: _split(x, size, dim)
TABLE["split_with_sizes"] = TABLE["split_with_sizes_copy"] = lambda x, sizes, dim=0: _split(x, sizes, dim)
TABLE["split.list_args"] = TABLE["split"]
TABLE["chunk"] = TABLE["unsafe_chunk"] = lambda x, n, dim=0: _split(x, -(-x.shape[dim] // n), dim)
TABLE["tensor_split"] = lambda x, n, dim=0: np.array_split(x, list(n) if np.ndim(n) else int(n), dim)
for _name in ("hsplit", "vsplit", "dsplit"):
    TABLE[_name] = lambda x, n, f=getattr(np, _name): f(x, list(n) if isinstance(n, (list, tuple)) else n)
TABLE["unbind"] = TABLE["unbind_copy"] = lambda x, dim=0: [np.take(x, i, dim) for i in range(x.shape[dim])]
TABLE["narrow"] = TABLE["narrow_copy"] = lambda x, dim, start, length: _along(x, dim, slice(int(start) % (x.shape[dim] + 1) if int(start) < 0 else int(start), None))[
    (slice(None),) * (dim % x.ndim) + (slice(0, length),)
] if int(start) >= 0 else _along(x, dim, slice(x.shape[dim] + int(start), x.shape[dim] + int(start) + length))
TABLE["select"] = lambda x, dim, index: _along(x, dim, int(index))
TABLE["slice"] = lambda x, dim=0, start=None, end=None, step=1: _along(x, dim, slice(start, end, step))
for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    TABLE[_name] = lambda *xs, f=getattr(np, _name): f(*(xs[0] if isinstance(xs[0], (list, tuple)) else xs))
TABLE["sort"] = lambda x, dim=-1, descending=False, stable=None: _sorted(x, dim, descending)
TABLE["msort"] = lambda x: np.sort(x, 0) if x.ndim else x
TABLE["argsort"] = lambda x, dim=-1, descending=False, stable=None: _sorted(x, dim, descending)[1]
TABLE["kthvalue"] = lambda x, k, dim=-1, keepdim=False: _kth(x, k, dim, keepdim)
TABLE["topk"] = lambda x, k, dim=-1, largest=True, sorted=True: _topk(x, k, dim, largest)
TABLE["meshgrid"] = lambda *xs, indexing="ij": np.meshgrid(*(xs[0] if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else xs), indexing=indexing)
TABLE["unfold"] = TABLE["unfold_copy"] = lambda x, dim, size, step: _unfold(x, dim, size, step)
TABLE["constant_pad_nd"] = lambda x, pad, value=0: ng.pad(x, dict(enumerate(_pads(x, pad))), constant_values=value)
TABLE["sum_to_size"] = lambda x, *shape: _sum_to(x, many(*shape))
TABLE["block_diag"] = lambda *xs: ng.block_diag(*map(np.atleast_2d, xs), dims=(-2, -1))
TABLE["zero_"] = TABLE["zeros_like"] = lambda x, **_: np.zeros_like(x)
TABLE["ones_like"] = lambda x, **_: np.ones_like(x)


def _flatten(x: Any, start: int, end: int) -> Any:
    if not x.ndim:
        return np.reshape(x, (1,))
    start, end = start % x.ndim, end % x.ndim
    return np.reshape(x, (*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def _squeeze(x: Any, dim: Any) -> Any:
    if dim is None or not x.ndim:
        return np.squeeze(x) if dim is None else x
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    return np.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


def _expanded(own: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(sizes) - len(own)
    return tuple(own[i - lead] if s == -1 else s for i, s in enumerate(sizes))


def _diag_embed(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = x.shape[-1] + abs(offset)
    i = np.arange(x.shape[-1]) + max(-offset, 0)
    j = np.arange(x.shape[-1]) + max(offset, 0)
    out = np.zeros((*x.shape[:-1], n, n), dtype=x.dtype, like=x)
    out[..., i, j] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def _split(x: Any, size: Any, dim: int) -> Any:
    sizes = [size] * -(-x.shape[dim] // size) if isinstance(size, int) else list(size)
    if isinstance(size, int) and not sizes:
        return [x]
    return np.split(x, np.cumsum(sizes)[:-1].tolist(), dim)


def _along(x: Any, dim: int, index: Any) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


def _sorted(x: Any, dim: int, descending: bool) -> Any:
    if not x.ndim:
        return x, np.zeros((), int)
    at = np.argsort(-x if descending else x, axis=dim, kind="stable")
    return np.take_along_axis(x, at, dim), at


def _kth(x: Any, k: int, dim: int, keepdim: bool) -> Any:
    if not x.ndim:
        return x, np.zeros((), int)
    value, at = (np.take(y, [k - 1], dim) for y in _sorted(x, dim, descending=False))
    return (value, at) if keepdim else (np.squeeze(value, dim), np.squeeze(at, dim))


def _topk(x: Any, k: int, dim: int, largest: bool) -> Any:
    if not x.ndim:
        return x, np.zeros((), int)
    value, at = _sorted(x, dim, largest)
    return _along(value, dim, slice(0, k)), _along(at, dim, slice(0, k))


def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return np.reshape(x, (1,))
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return _along(windows, dim % x.ndim, slice(None, None, step))


def _pads(x: Any, pad: Any) -> list[tuple[int, int]]:
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def _sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    lead = x.ndim - len(shape)
    axis = (*range(lead), *(i for i in range(lead, x.ndim) if shape[i - lead] == 1))
    return np.reshape(np.sum(x, axis=axis), shape)


# ------------------------------------------------------------------------------------------------ gather and scatter

TABLE["gather"] = TABLE["take_along_dim"] = lambda x, *a, **k: _gather(x, *a, **k)
TABLE["take_along_dim"] = lambda x, index, dim=None: np.take_along_axis(x, index, dim) if dim is not None else np.take(x, np.ravel(index))
TABLE["index_select"] = lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x
TABLE["take"] = lambda x, index: np.take(x, index)
TABLE["masked_select"] = lambda x, mask: np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape))[np.broadcast_to(mask, np.broadcast_shapes(x.shape, mask.shape))]
TABLE["__getitem__"] = lambda x, key: x[tuple(key) if isinstance(key, list) and not all(isinstance(k, int) for k in key) else key]


def _gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    if not x.ndim or not index.ndim:
        return np.reshape(np.take(np.ravel(x), np.ravel(index)), index.shape)
    cut = tuple(slice(0, n) if i != dim % x.ndim else slice(None) for i, n in enumerate(index.shape))
    return np.take_along_axis(x[cut], index, dim)


def _cells(x: Any, dim: int, index: np.ndarray) -> tuple[Any, ...]:
    """Positions of all cells of ``index``, moved along ``dim`` to where it says."""
    where = list(np.indices(index.shape, sparse=True))
    where[dim % max(x.ndim, 1)] = index
    return tuple(where)


def _written(how: str) -> Callable[..., Any]:
    def write(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Any:
        if not x.ndim:
            x, index, src = np.reshape(x, (1,)), np.reshape(index, (-1,)), np.reshape(src, (-1,)) if np.ndim(src) == 0 else src
            return np.reshape(write(x, 0, index, src, reduce=reduce), ())
        index = np.reshape(index, (-1,)) if not index.ndim else index
        if np.ndim(src):
            src = src[tuple(slice(0, n) for n in index.shape)]
        way = {"add": "add", "multiply": "multiply"}.get(reduce, how)
        return getattr(x.at[_cells(x, dim, index)], way)(src)

    return write


def _along_index(way: str) -> Callable[..., Any]:
    def write(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Any:
        if not x.ndim:
            return np.reshape(write(np.reshape(x, (1,)), 0, index, np.reshape(src, (-1,)) if np.ndim(src) == 0 else src, alpha=alpha), ())
        key = (slice(None),) * (dim % x.ndim) + (np.atleast_1d(index),)
        return getattr(x.at[key], way)(src * alpha if alpha != 1 else src)

    return write


TABLE["scatter"], TABLE["scatter_add"] = _written("set"), _written("add")
TABLE["index_add"], TABLE["index_copy"], TABLE["index_fill"] = map(_along_index, ("add", "set", "set"))
TABLE["index_put"] = lambda x, index, value, accumulate=False: getattr(x.at[tuple(index)], "add" if accumulate else "set")(value)
TABLE["put"] = lambda x, index, src, accumulate=False: np.reshape(
    getattr(np.ravel(x).at[np.ravel(index)], "add" if accumulate else "set")(np.ravel(src)), x.shape
)
TABLE["select_scatter"] = lambda x, src, dim, index: x.at[(slice(None),) * (dim % x.ndim) + (index,)].set(src)
TABLE["slice_scatter"] = lambda x, src, dim=0, start=None, end=None, step=1: x.at[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)].set(src)
TABLE["nn.functional.embedding"] = None


# ------------------------------------------------------------------------------------------------ contraction

TABLE["mm"] = TABLE["bmm"] = TABLE["mv"] = np.matmul
TABLE["addmm"] = TABLE["addmv"] = TABLE["baddbmm"] = TABLE["addmm.decomposed"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.matmul(a, b)
TABLE["addbmm"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.sum(np.matmul(a, b), 0)
TABLE["addr"] = lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.outer(a, b)
TABLE["dot"] = np.dot
TABLE["vdot"] = np.vdot
TABLE["outer"] = TABLE["ger"] = np.outer
TABLE["inner"] = np.inner
TABLE["kron"] = np.kron
TABLE["linalg.vecdot"] = lambda x, y, *, dim=-1: np.linalg.vecdot(x, y, axis=dim)
TABLE["tensordot"] = lambda x, y, dims=2: np.tensordot(x, y, dims)
TABLE["einsum"] = lambda equation, *xs: np.einsum(equation, *(xs[0] if len(xs) == 1 and isinstance(xs[0], (tuple, list)) else xs))
TABLE["matmul"] = TABLE["__matmul__"] = np.matmul
TABLE["nn.functional.linear"] = lambda x, w, b=None: np.matmul(x, np.swapaxes(w, -1, -2) if w.ndim > 1 else w) + (0 if b is None else b)
TABLE["nn.functional.bilinear"] = lambda x, y, w, b=None: ng.bilinear(x, w, y, b)
TABLE["cdist"] = lambda x, y, p=2.0, compute_mode=None: ng.cdist(x, y, -1, p=p)
TABLE["nn.functional.pdist"] = lambda x, p=2.0: ng.pdist(x, (-2, -1), p=p)
TABLE["cartesian_prod"] = lambda *xs: ng.cartesian_prod(*xs)
TABLE["linalg.multi_dot"] = lambda xs: np.linalg.multi_dot(xs)


# ------------------------------------------------------------------------------------------------ Fourier


def _fourier(name: str) -> Callable[..., Any]:
    f = getattr(np.fft, name)
    if name.endswith("n") or name.endswith("2"):
        default = (-2, -1) if name.endswith("2") else None
        return lambda x, s=None, dim=default, norm=None: f(x, s, dim, norm)
    return lambda x, n=None, dim=-1, norm=None: f(x, n, dim, norm)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    TABLE[f"fft.{_name}"] = _fourier(_name)
TABLE["fft.fftshift"] = lambda x, dim=None: np.fft.fftshift(x, dim)
TABLE["fft.ifftshift"] = lambda x, dim=None: np.fft.ifftshift(x, dim)


# ------------------------------------------------------------------------------------------------ activations, layers, losses

F = "nn.functional."
for _name in ("relu", "relu6", "selu", "hardsigmoid", "hardswish", "silu", "mish", "softsign", "tanhshrink"):
    TABLE[F + _name] = lambda x, inplace=False, f=getattr(ng, _name): f(x)
TABLE["sigmoid"] = ng.sigmoid
TABLE["special.expit"] = ng.expit
for _name, _options in (("leaky_relu", "negative_slope"), ("elu", "alpha"), ("celu", "alpha"), ("hardshrink", "lambd"), ("softshrink", "lambd")):
    TABLE[F + _name] = lambda x, *a, inplace=False, f=getattr(ng, _name), **k: f(x, *a, **k)
TABLE[F + "hardtanh"] = lambda x, min_val=-1.0, max_val=1.0, inplace=False: ng.hardtanh(x, min_val, max_val)
TABLE[F + "threshold"] = lambda x, threshold, value, inplace=False: ng.threshold(x, threshold, value)
TABLE[F + "softplus"] = lambda x, beta=1, threshold=20: ng.softplus(x, beta, threshold)
TABLE[F + "gelu"] = lambda x, approximate="none": ng.gelu(x, approximate)
TABLE[F + "glu"] = lambda x, dim=-1: ng.glu(x, dim)
TABLE["nn.functional.prelu"] = lambda x, w: np.where(x > 0, x, x * (np.reshape(w, (-1, *(1,) * (x.ndim - 2))) if x.ndim > 1 and np.ndim(w) else np.reshape(w, ())))
TABLE[F + "normalize"] = lambda x, p=2.0, dim=1, eps=1e-12: ng.normalize(x, dim, p, eps=eps)
TABLE[F + "layer_norm"] = lambda x, shape, weight=None, bias=None, eps=1e-5: _norm_layer(ng.layer_norm, x, shape, weight, bias, eps)
TABLE[F + "rms_norm"] = lambda x, shape, weight=None, eps=None: ng.rms_norm(x, weight, dim=tuple(range(-len(shape), 0)), eps=eps)
TABLE[F + "group_norm"] = lambda x, groups, weight=None, bias=None, eps=1e-5: ng.group_norm(x, weight, bias, groups=groups, channel=1, eps=eps)
TABLE[F + "cosine_similarity"] = lambda x, y, dim=1, eps=1e-8: ng.cosine_similarity(x, y, dim=dim, eps=eps)
TABLE[F + "pairwise_distance"] = lambda x, y, p=2.0, eps=1e-6, keepdim=False: ng.pairwise_distance(x, y, dim=-1, p=p, eps=eps, keepdims=keepdim)


def _norm_layer(f: Any, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return f(x, weight, bias, dim=tuple(range(-len(shape), 0)), eps=eps)


def _reduction(reduction: str) -> str | None:
    return None if reduction == "none" else reduction


def loss(name: str, *, classes: bool = False, last: bool = False) -> None:
    f = getattr(ng, name)

    def call(x: Any, y: Any, *args: Any, reduction: str = "mean", size_average: Any = None, reduce: Any = None, **k: Any) -> Any:
        if classes:
            k["dim"] = 1 if x.ndim > 1 else 0
        elif last:
            k["dim"] = -1
        return f(x, y, *args, reduction=_reduction(reduction), **k)

    TABLE[F + name] = call


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "hinge_embedding_loss", "binary_cross_entropy",
              "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss", "margin_ranking_loss"):  # fmt: skip
    loss(_name)
for _name in ("nll_loss", "cross_entropy"):
    loss(_name, classes=True)
for _name in ("multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "cosine_embedding_loss", "triplet_margin_loss"):
    loss(_name, last=True)
TABLE[F + "kl_div"] = lambda x, y, reduction="mean", log_target=False: ng.kl_div(
    x, y, log_target=log_target, **({"reduction": "sum", "batch_dim": None} if reduction == "batchmean" else {"reduction": _reduction(reduction)})
) * (1 / max(x.shape[0], 1) if reduction == "batchmean" and x.ndim else 1)
TABLE[F + "triplet_margin_with_distance_loss"] = None
TABLE[F + "scaled_dot_product_attention"] = lambda q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False: ng.scaled_dot_product_attention(
    q, k, v, attn_mask, is_causal=is_causal, scale=scale
)
TABLE[F + "interpolate"] = None


# ------------------------------------------------------------------------------------------------ linear algebra

TABLE["cholesky"] = lambda a, upper=False: np.linalg.cholesky(a, upper=upper)
TABLE["linalg.cholesky"] = lambda a, *, upper=False: np.linalg.cholesky(a, upper=upper)
TABLE["linalg.inv"] = np.linalg.inv
TABLE["linalg.det"] = TABLE["det"] = lambda a: np.linalg.det(a)
TABLE["linalg.slogdet"] = lambda a: np.linalg.slogdet(a)
TABLE["linalg.solve"] = lambda a, b, *, left=True: np.linalg.solve(a, b) if b.ndim > 1 and left else np.linalg.solve(a, b)
TABLE["linalg.matrix_power"] = lambda a, n: np.linalg.matrix_power(a, n)
TABLE["linalg.pinv"] = TABLE["pinverse"] = lambda a, **_: np.linalg.pinv(a)
TABLE["linalg.norm"] = lambda x, ord=None, dim=None, keepdim=False, **_: np.linalg.norm(x, ord, axes_of(dim), keepdim)
TABLE["linalg.vector_norm"] = lambda x, ord=2, dim=None, keepdim=False, **_: np.linalg.vector_norm(x, ord=ord, axis=axes_of(dim), keepdims=keepdim)
TABLE["linalg.matrix_norm"] = lambda x, ord="fro", dim=(-2, -1), keepdim=False, **_: np.linalg.matrix_norm(x, ord=ord, keepdims=keepdim)
TABLE["linalg.cross"] = TABLE["cross"] = lambda x, y, dim=-1: np.linalg.cross(x, y, axis=dim)

for _name in [k for k, v in TABLE.items() if v is None]:
    del TABLE[_name]

# ------------------------------------------------------------------------------------------------ what is not compared

for _name in (
    "arange cauchy exponential geometric log_normal normal uniform linspace logspace randn randn_like rand_like randint "
    "randint_like new_zeros new_ones ones zeros full full_like new_empty new_empty_strided empty_strided empty empty_permuted "
    "scalar_tensor new_full multinomial bernoulli eye tril_indices triu_indices empty_like new_empty rand"
).split():
    NOT_HERE[_name] = "makes an array from nothing, or draws"
for _name in "bfloat16 bool byte char double float half int long short cdouble cfloat chalf to item type_as".split():
    NOT_HERE[_name] = "converts"
for _name in (
    "as_strided as_strided_copy as_strided_scatter resize_ resize_as_ alias_copy jiterator_unary jiterator_binary "
    "jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref jiterator_2inputs_2outputs hash_tensor to_sparse "
    "sparse.sampled_addmm sparse.mm torch._scaled_mm torch._scaled_mm_v2 broadcast_shapes nonzero_static _chunk_cat "
    "_unsafe_masked_index _unsafe_masked_index_put_accumulate svd_lowrank pca_lowrank geqrf ormqr "
    "torch.ops.aten._flash_attention_forward torch.ops.aten._efficient_attention_forward"
).split():
    NOT_HERE[_name] = "is about the memory or the kernels of PyTorch"
for _name in ("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
              "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "native_dropout_backward"):  # fmt: skip
    NOT_HERE[_name] = "draws; here the mask is an input"
_ = builtins
