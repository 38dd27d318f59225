"""The functions that steps use, over jax.numpy: arrays whose axes have names, nothing vectorized, no rules of ours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import fft as fourier
from jax.scipy import linalg, special

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX takes it by place
Dim = Hashable


class DimArray:
    """An array and the names of its axes."""

    def __init__(self, data: Any, dims: tuple[Dim, ...]) -> None:
        self.data, self.dims = jnp.asarray(data), tuple(dims)
        assert self.data.ndim == len(self.dims)

    @property
    def sizes(self) -> dict[Dim, int]:
        return dict(zip(self.dims, self.data.shape, strict=True))

    def __neg__(self) -> DimArray:
        return DimArray(-self.data, self.dims)

    def __add__(self, other: Any) -> DimArray:
        return _together(jnp.add, self, other)

    def __sub__(self, other: Any) -> DimArray:
        return _together(jnp.subtract, self, other)

    def __mul__(self, other: Any) -> DimArray:
        return _together(jnp.multiply, self, other)

    def __truediv__(self, other: Any) -> DimArray:
        return _together(jnp.divide, self, other)

    def __pow__(self, other: int) -> DimArray:
        return DimArray(self.data**other, self.dims)

    def __gt__(self, other: Any) -> Any:
        return _together(jnp.greater, self, other)

    @property
    def at(self) -> _At:
        return _At(self)


class _At:
    """``a.at[{dim: index}].set(value)`` and ``.add(value)``."""

    def __init__(self, a: DimArray, place: Mapping[Dim, Any] | None = None) -> None:
        self.a, self.place = a, place

    def __getitem__(self, place: Mapping[Dim, Any]) -> _At:
        return _At(self.a, place)

    def _update(self, method: str, value: DimArray) -> DimArray:
        ((dim, index),) = self.place.items()
        data, names = _first(self.a, dim)
        listed = (dim,) if isinstance(index, list) else ()
        at = data.at[jnp.array(index)]
        return _last_back(getattr(at, method)(_laid_out(value, (*listed, *names[1:]))), names, self.a.dims)

    def set(self, value: DimArray) -> DimArray:
        return self._update("set", value)

    def add(self, value: DimArray) -> DimArray:
        return self._update("add", value)


def _laid_out(a: DimArray, names: tuple[Dim, ...]) -> Any:
    """The data with axes ``names``; those that ``a`` lacks have size 1."""
    data = jnp.transpose(a.data, [a.dims.index(n) for n in names if n in a.dims])
    return jnp.reshape(data, [a.sizes.get(n, 1) for n in names])


def _together(f: Callable[..., Any], *operands: Any) -> DimArray:
    named = [a for a in operands if isinstance(a, DimArray)]
    names = tuple(dict.fromkeys(n for a in named for n in a.dims))
    return DimArray(f(*(_laid_out(a, names) if isinstance(a, DimArray) else a for a in operands)), names)


def _first(a: DimArray, *dims: Dim) -> tuple[Any, tuple[Dim, ...]]:
    """The data with ``dims`` before all others, and the names in that order."""
    names = (*dims, *(n for n in a.dims if n not in dims))
    return _laid_out(a, names), names


def _last_back(data: Any, names: tuple[Dim, ...], dims: tuple[Dim, ...]) -> DimArray:
    """The array with axes ``names``, its dims in the order ``dims``."""
    return DimArray(jnp.transpose(data, [names.index(n) for n in dims]), dims)


def _one(f: Callable[[Any], Any]) -> Callable[[DimArray], DimArray]:
    return lambda a: DimArray(f(a.data), a.dims)


def _two(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], DimArray]:
    return lambda a, b: _together(f, a, b)


def _reduced(f: Callable[..., Any]) -> Callable[..., DimArray]:
    """A function with ``axis`` that takes the dim, or all dims, away."""

    def reduce(a: DimArray, dim: Dim = None, *, keepdims: bool = False) -> DimArray:
        if dim is None:
            return DimArray(f(a.data, axis=None), ())
        out = f(a.data, axis=a.dims.index(dim))
        return DimArray(jnp.expand_dims(out, a.dims.index(dim)), a.dims) if keepdims else DimArray(out, tuple(n for n in a.dims if n != dim))

    return reduce


def _along(f: Callable[..., Any]) -> Callable[..., DimArray]:
    """A function with ``axis`` that keeps the dim."""
    return lambda a, dim, **keywords: DimArray(f(a.data, axis=a.dims.index(dim), **keywords), a.dims)


# ------------------------------------------------------------------------------------------------ cell by cell

sin, tanh, exp, log, sqrt, square, log1p, absolute, reciprocal, arctan, real, imag = (
    _one(f) for f in (jnp.sin, jnp.tanh, jnp.exp, jnp.log, jnp.sqrt, jnp.square, jnp.log1p, jnp.abs, jnp.reciprocal, jnp.arctan, jnp.real, jnp.imag)
)  # fmt: skip
erf, expit, gammaln, softplus, silu, relu, elu = (
    _one(f) for f in (special.erf, special.expit, special.gammaln, jax.nn.softplus, jax.nn.silu, jax.nn.relu, jax.nn.elu)
)  # fmt: skip
gelu = _one(lambda x: jax.nn.gelu(x, approximate=False))
power, hypot, arctan2, logaddexp, maximum, minimum = (
    _two(f) for f in (jnp.power, jnp.hypot, jnp.arctan2, jnp.logaddexp, jnp.maximum, jnp.minimum)
)  # fmt: skip


def clip(a: DimArray, low: float, high: float) -> DimArray:
    return DimArray(jnp.clip(a.data, low, high), a.dims)


def where(condition: Any, a: Any, b: Any) -> DimArray:
    return _together(jnp.where, condition, a, b)


def grad(f: Callable[[DimArray], DimArray]) -> Callable[[DimArray], DimArray]:
    return lambda a: DimArray(jax.grad(lambda x: f(DimArray(x, a.dims)).data)(a.data), a.dims)


# ------------------------------------------------------------------------------------------------ along a dim

sum, mean, max, min, var, std, prod, median = (
    _reduced(f) for f in (jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.var, jnp.std, jnp.prod, jnp.median)
)  # fmt: skip
norm, logsumexp, trapezoid_of_steps = _reduced(jnp.linalg.norm), _reduced(special.logsumexp), _reduced(jnp.trapezoid)
cumsum, cumprod, softmax, log_softmax, flip, sort, diff, gradient, fft, rfft = (
    _along(f) for f in (jnp.cumsum, jnp.cumprod, jax.nn.softmax, jax.nn.log_softmax, jnp.flip, jnp.sort, jnp.diff, jnp.gradient, jnp.fft.fft, jnp.fft.rfft)
)  # fmt: skip
cummax, logcumsumexp = _along(jax.lax.cummax), _along(jax.lax.cumlogsumexp)


def quantile(a: DimArray, q: float, dim: Dim) -> DimArray:
    return _reduced(lambda x, axis: jnp.quantile(x, q, axis=axis))(a, dim)


def irfft(a: DimArray, dim: Dim, n: int) -> DimArray:
    return DimArray(jnp.fft.irfft(a.data, n, axis=a.dims.index(dim)), a.dims)


def dct(a: DimArray, dim: Dim, norm: str) -> DimArray:
    return DimArray(fourier.dct(a.data, axis=a.dims.index(dim), norm=norm), a.dims)


def trapezoid(a: DimArray, x: DimArray | None = None, dim: Dim = None) -> DimArray:
    if x is None:
        return trapezoid_of_steps(a, dim)
    widths = diff(x, dim)
    n = a.sizes[dim]
    return sum((isel(a, {dim: slice(1, None)}) + isel(a, {dim: slice(n - 1)})) * widths * 0.5, dim)


def layer_norm(a: DimArray, weight: DimArray, bias: DimArray, dim: Dim) -> DimArray:
    return (a - mean(a, dim)) / sqrt(var(a, dim) + 1e-5) * weight + bias


def normalize(a: DimArray, dim: Dim) -> DimArray:
    return a / norm(a, dim)


def average(a: DimArray, weights: DimArray, dim: Dim = None) -> DimArray:
    dims = (a * weights).dims if dim is None else (dim,)
    return dot(a, weights, dim=dims) / dot(a * 0.0 + 1.0, weights, dim=dims)


def cov(a: DimArray, b: DimArray, dim: Dim, ddof: int) -> DimArray:
    return mean((a - mean(a, dim)) * (b - mean(b, dim)), dim)


def scan(step: Callable[..., Any], carry: DimArray, a: DimArray, dim: Dim) -> tuple[DimArray, DimArray]:
    """A loop, unrolled."""
    out = []
    for i in range(a.sizes[dim]):
        carry, y = step(carry, isel(a, {dim: i}))
        out.append(y)
    return carry, DimArray(jnp.stack([y.data for y in out]), (dim, *out[0].dims))


# ------------------------------------------------------------------------------------------------ moving


def rename(a: DimArray, names: Mapping[Dim, Dim]) -> DimArray:
    return DimArray(a.data, tuple(names.get(n, n) for n in a.dims))


def isel(a: DimArray, indexers: Mapping[Dim, Any]) -> DimArray:
    ((dim, index),) = indexers.items()
    place = tuple((jnp.array(index) if isinstance(index, list) else index) if n == dim else slice(None) for n in a.dims)
    return DimArray(a.data[place], tuple(n for n in a.dims if n != dim or not isinstance(index, int)))


def roll(a: DimArray, shifts: Mapping[Dim, int]) -> DimArray:
    ((dim, by),) = shifts.items()
    return DimArray(jnp.roll(a.data, by, a.dims.index(dim)), a.dims)


def concat(arrays: list[DimArray], dim: Dim) -> DimArray:
    names = (dim, *dict.fromkeys(n for a in arrays for n in a.dims if n != dim))
    sizes = {n: s for a in arrays for n, s in a.sizes.items()}
    parts = [jnp.broadcast_to(_laid_out(a, names), (a.sizes[dim], *(sizes[n] for n in names[1:]))) for a in arrays]
    return DimArray(jnp.concatenate(parts), names)


def pad(a: DimArray, widths: Mapping[Dim, tuple[int, int]], mode: str, **keywords: float) -> DimArray:
    return DimArray(jnp.pad(a.data, [widths.get(n, (0, 0)) for n in a.dims], mode, **keywords), a.dims)


def stack(a: DimArray, dim: Mapping[Dim, tuple[Dim, ...]]) -> DimArray:
    ((new, old),) = dim.items()
    return DimArray(jnp.reshape(_laid_out(a, old), -1), (new,))


def take(a: DimArray, index: DimArray, dim: Dim) -> DimArray:
    return DimArray(jnp.take(a.data, index.data, a.dims.index(dim)), a.dims)


gather = take


def argsort(a: DimArray, dim: Dim) -> DimArray:
    return DimArray(jnp.argsort(a.data, axis=a.dims.index(dim)), a.dims)


def take_along_axis(a: DimArray, index: DimArray, dim: Dim) -> DimArray:
    return DimArray(jnp.take_along_axis(a.data, _laid_out(index, a.dims), axis=a.dims.index(dim)), a.dims)


def topk(a: DimArray, k: int, dim: Dim) -> DimArray:
    return isel(sort(a, dim), {dim: slice(a.sizes[dim] - k, None)})


def scatter_add(a: DimArray, index: DimArray, source: DimArray, dim: Dim) -> DimArray:
    data = concat([a, source], dim)  # to the dims of both
    n = a.sizes[dim]
    return DimArray(data.data[:n].at[index.data].add(data.data[n:]), data.dims)


def segment_sum(a: DimArray, segments: DimArray, dim: Dim, size: int) -> DimArray:
    data, names = _first(a, dim)
    return _last_back(jax.ops.segment_sum(data, segments.data, size), names, a.dims)


def interp(a: DimArray, targets: Mapping[Dim, Any]) -> DimArray:
    ((dim, at),) = targets.items()
    data, names = _first(a, dim)
    columns = jnp.reshape(data, (data.shape[0], -1))
    found = jax.vmap(lambda y: jnp.interp(jnp.asarray(at), jnp.arange(1.0 * data.shape[0]), y), in_axes=1, out_axes=1)(columns)
    return _last_back(jnp.reshape(found, data.shape), names, a.dims)


# ------------------------------------------------------------------------------------------------ products


def dot(*arrays: DimArray, dim: Any = None) -> DimArray:
    names = list(dict.fromkeys(n for a in arrays for n in a.dims))
    if dim is None:
        dims = {n for n in names if len([a for a in arrays if n in a.dims]) > 1}
    else:
        dims = set(dim) if isinstance(dim, tuple) else {dim}
    letter = dict(zip(names, "abcdefghijkl", strict=False))
    left = [n for n in names if n not in dims]
    spec = ",".join("".join(letter[n] for n in a.dims) for a in arrays) + "->" + "".join(letter[n] for n in left)
    return DimArray(jnp.einsum(spec, *(a.data for a in arrays)), tuple(left))


def convolve(a: DimArray, b: DimArray, dim: Dim, mode: str) -> DimArray:
    """By its definition: the sum over j of ``a[k - j] b[j]``, the middle cells."""
    n = a.sizes[dim]
    place = np.arange(n)[:, None] - np.arange(n) + (n - 1) // 2
    shifted = take(a, DimArray(np.clip(place, 0, n - 1).ravel(), (dim,)), dim)
    data, names = _first(shifted, dim)
    windows = DimArray(jnp.reshape(data, (n, n, *data.shape[1:])), ("place", *names))
    inside = DimArray(((place >= 0) & (place < n)) * 1.0, ("place", dim))
    return rename(dot(windows, inside, b, dim=dim), {"place": dim})


def cdist(a: DimArray, b: DimArray, dim: Dim) -> DimArray:
    return sqrt(sum(square(a - b), dim))


def cosine_similarity(a: DimArray, b: DimArray, dim: Dim) -> DimArray:
    return sum(a * b, dim) / (norm(a, dim) * norm(b, dim))


# ------------------------------------------------------------------------------------------------ losses


def mse_loss(a: DimArray, b: DimArray) -> DimArray:
    return mean(square(a - b))


def huber_loss(a: DimArray, b: DimArray, reduction: None) -> DimArray:
    return _one(lambda d: jnp.where(jnp.abs(d) < 1, 0.5 * d * d, jnp.abs(d) - 0.5))(a - b)


def binary_cross_entropy_with_logits(a: DimArray, target: DimArray, reduction: str) -> DimArray:
    return sum(softplus(a) - a * target)


def gaussian_nll_loss(a: DimArray, b: DimArray, variance: DimArray, eps: float, reduction: None) -> DimArray:
    return (log(variance) + square(a - b) / variance) * 0.5


def cross_entropy(a: DimArray, target: DimArray, dim: Dim) -> DimArray:
    return mean(-sum(log_softmax(a, dim) * target, dim))


def kl_div(a: DimArray, target: DimArray, reduction: str) -> DimArray:
    return sum(target * (log(target) - a))


# ------------------------------------------------------------------------------------------------ matrices


def _of_matrix(f: Callable[[Any], Any]) -> Callable[..., DimArray]:
    """A function of one matrix: the others are the axes before."""

    def apply(a: DimArray, dims: tuple[Dim, Dim], new_dim: Dim = None, **keywords: Any) -> DimArray:
        data = _laid_out(a, (*(n for n in a.dims if n not in dims), *dims))
        batch = tuple(n for n in a.dims if n not in dims)
        out = f(data, **keywords)
        core = {0: (), 1: (new_dim,), 2: dims}[out.ndim - len(batch)]
        return DimArray(out, (*batch, *core))

    return apply


def solve(a: DimArray, b: DimArray, dims: tuple[Dim, Dim]) -> DimArray:
    row, column = dims
    data, names = _first(b, row)
    assert set(a.dims) == set(dims), "matrices without a batch"
    out = jnp.linalg.solve(_laid_out(a, dims), jnp.reshape(data, (data.shape[0], -1)))
    return DimArray(jnp.reshape(out, data.shape), (column, *names[1:]))


det, inv, cholesky, eigvalsh = (_of_matrix(f) for f in (jnp.linalg.det, jnp.linalg.inv, jnp.linalg.cholesky, jnp.linalg.eigvalsh))
logdet, expm = _of_matrix(lambda x: jnp.linalg.slogdet(x)[1]), _of_matrix(linalg.expm)


def svd(a: DimArray, dims: tuple[Dim, Dim], new_dim: Dim, *, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return _of_matrix(lambda x: jnp.linalg.svd(x, compute_uv=False))(a, dims, new_dim)
    u, s, vh = jnp.linalg.svd(_laid_out(a, dims))
    return DimArray(u, (dims[0], new_dim)), DimArray(s, (new_dim,)), DimArray(vh, (new_dim, dims[1]))


def eigh(a: DimArray, dims: tuple[Dim, Dim], new_dim: Dim) -> tuple[DimArray, DimArray]:
    w, v = jnp.linalg.eigh(_laid_out(a, dims))
    return DimArray(w, (new_dim,)), DimArray(v, (dims[0], new_dim))


def qr(a: DimArray, dims: tuple[Dim, Dim], new_dim: Dim) -> tuple[DimArray, DimArray]:
    q, r = jnp.linalg.qr(_laid_out(a, dims))
    return DimArray(q, (dims[0], new_dim)), DimArray(r, (new_dim, dims[1]))
