"""Windows, convolution and pooling: loops over windows and their cells."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tests.support.grid import entry, point, sample

NAN, INF = np.nan, np.inf


def _per(value: Any, dims: Any) -> dict[Any, Any]:
    return dict(value) if isinstance(value, dict) else dict.fromkeys(dims, value)


def _pads(padding: Any, dims: Any) -> dict[Any, tuple[int, int]]:
    return {d: tuple(p) if isinstance(p, (tuple, list)) else (p, p) for d, p in _per(padding, dims).items()}


def _count(n: int, k: int, s: int, e: int, pad: tuple[int, int], *, ceil: bool) -> int:
    """Windows one by one: a last one that is not full if it starts in the array or in front of it."""
    starts = range(-pad[0], n + pad[1], s)
    reach = e * (k - 1) + 1
    return sum(a + reach <= n + pad[1] or (ceil and a < n and a - s + reach < n + pad[1]) for a in starts)


def _runs(x: xr.DataArray, size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, *, ceil: bool = False) -> Iterator[Any]:
    """Every window: its place, and the cells that it has, by their place in it and in the array."""
    s, e, pads = _per(stride, size), _per(dilation, size), _pads(padding, size)
    counts = [_count(x.sizes[d], k, s[d], e[d], pads[d], ceil=ceil) for d, k in size.items()]
    for place in itertools.product(*map(range, counts)):
        cells = []
        for offset in itertools.product(*map(range, size.values())):
            at = {d: i * s[d] + k * e[d] - pads[d][0] for d, i, k in zip(size, place, offset, strict=True)}
            padded = all(at[d] < x.sizes[d] + pads[d][1] for d in size)
            cells.append((offset, at if all(0 <= at[d] < x.sizes[d] for d in size) else None, padded))
        yield place, cells


def _assembled(x: xr.DataArray, dims: Any, parts: dict[Any, Any]) -> xr.DataArray:
    """Results per place put together; the dims where they were, new ones behind."""
    shape = tuple(max((p[i] for p in parts), default=-1) + 1 for i in range(len(dims)))
    first = next(iter(parts.values()))
    out = np.zeros((*shape, *first.shape), np.result_type(*(p.dtype for p in parts.values())))
    for place, value in parts.items():
        out[place] = value.transpose(*first.dims).to_numpy()
    own = [d for d in x.dims if d in dims or d in first.dims]
    return xr.DataArray(out, dims=(*dims, *first.dims)).transpose(*own, *(d for d in (*dims, *first.dims) if d not in own))


def _pooled(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """A pooling by a function of the stacked cells of a window, their places, and how many cells count."""

    def reference(x: xr.DataArray, window: Any, *more: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                  ceil_mode: bool = False, **options: Any) -> Any:
        parts = {}
        for place, cells in _runs(x, window, window if stride is None else stride, padding, dilation, ceil=ceil_mode):
            inside = [(at, x.isel(at)) for _, at, _ in cells if at is not None]
            parts[place] = reduce(x, window, inside, sum(p for *_, p in cells), *more, **options)
        if isinstance(next(iter(parts.values())), tuple):
            return tuple(_assembled(x, tuple(window), {k: v[i] for k, v in parts.items()}) for i in range(2))
        return _assembled(x, tuple(window), parts)

    return reference


def _avg(x: Any, window: Any, inside: Any, padded: int, *, count_include_pad: bool = True, divisor_override: Any = None) -> Any:
    total = sum(v for _, v in inside)
    return total / (divisor_override or (padded if count_include_pad else len(inside)))


def _max(x: Any, window: Any, inside: Any, padded: int, *, return_indices: bool = False) -> Any:
    stacked = xr.concat([v for _, v in inside], "cell")
    y = stacked.max("cell", skipna=False)
    if not return_indices:
        return y
    where = stacked.argmax("cell", skipna=False)
    flat = [int(np.ravel_multi_index(tuple(at[d] for d in window), [x.sizes[d] for d in window])) for at, _ in inside]
    return y, xr.DataArray(np.array(flat)[where.to_numpy()], dims=where.dims)


def _lp(x: Any, window: Any, inside: Any, padded: int, p: float = 2) -> Any:
    return (sum(v**p for _, v in inside) / len(inside) * math.prod(window.values())) ** (1 / p)


def _conv(x: Any, w: Any, dims: Any, contract: Any = None, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, padding_mode: str = "zeros") -> Any:
    size = {d: w.sizes[k] for d, k in dims.items()}
    e = _per(dilation, dims)
    if padding == "same":
        padding = {d: (e[d] * (k - 1) // 2, e[d] * (k - 1) - e[d] * (k - 1) // 2) for d, k in size.items()}
    padding = 0 if padding == "valid" else padding
    if padding_mode != "zeros":
        x = x.pad(_pads(padding, dims), mode={"reflect": "reflect", "circular": "wrap", "replicate": "edge"}[padding_mode])
        padding = 0
    over = [] if contract is None else [contract]
    parts = {}
    for place, cells in _runs(x, size, stride, padding, dilation):
        terms = [x.isel(at) * w.isel(dict(zip(dims.values(), offset, strict=True))) for offset, at, _ in cells if at is not None]
        terms = terms or [0 * x.isel(dict.fromkeys(dims, 0)) * w.isel(dict.fromkeys(dims.values(), 0))]
        parts[place] = sum(terms).sum(over, skipna=False)
    return _assembled(x, tuple(dims), parts)


def _conv_transpose(x: Any, w: Any, dims: Any, contract: Any = None, *, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, dilation: Any = 1) -> Any:
    s, e, more, pads = _per(stride, dims), _per(dilation, dims), _per(output_padding, dims), _pads(padding, dims)
    n = {d: (x.sizes[d] - 1) * s[d] - sum(pads[d]) + e[d] * (w.sizes[k] - 1) + more[d] + 1 for d, k in dims.items()}
    over = [] if contract is None else [contract]
    zero = (x.isel(dict.fromkeys(dims, 0)) * w.isel(dict.fromkeys(dims.values(), 0))).sum(over) * 0
    parts = dict.fromkeys(itertools.product(*(range(m) for m in n.values())), zero)
    for i in itertools.product(*(range(x.sizes[d]) for d in dims)):
        for k in itertools.product(*(range(w.sizes[q]) for q in dims.values())):
            place = tuple(a * s[d] + b * e[d] - pads[d][0] for a, b, d in zip(i, k, dims, strict=True))
            if place in parts:
                term = x.isel(dict(zip(dims, i, strict=True))) * w.isel(dict(zip(dims.values(), k, strict=True)))
                parts[place] = parts[place] + term.sum(over)
    return _assembled(x, tuple(dims), parts)


def _unfold(x: Any, window: Any, *, new_dim: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    new = {d: f"{d}_window" for d in window} if new_dim is None else _per(new_dim, window)
    parts = {}
    for place, cells in _runs(x, window, stride, padding, dilation):
        one = {offset: x.isel(dict.fromkeys(window, 0)) * 0 if at is None else x.isel(at) for offset, at, _ in cells}
        rows = _assembled(x.isel(dict.fromkeys(window, 0)), tuple(new.values()), one)
        parts[place] = rows.transpose(..., *new.values(), missing_dims="ignore")
    return _assembled(x, tuple(window), parts)


def _fold(x: Any, dims: Any, sizes: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    s, e, pads = _per(stride, dims), _per(dilation, dims), _pads(padding, dims)
    parts = {p: x.isel(dict.fromkeys((*dims, *dims.values()), 0)) * 0 for p in itertools.product(*(range(n) for n in sizes.values()))}
    for i in itertools.product(*(range(x.sizes[d]) for d in dims)):
        for k in itertools.product(*(range(x.sizes[q]) for q in dims.values())):
            place = tuple(a * s[d] + b * e[d] - pads[d][0] for a, b, d in zip(i, k, dims, strict=True))
            if place in parts:
                parts[place] = parts[place] + x.isel(dict(zip((*dims, *dims.values()), (*i, *k), strict=True)))
    return _assembled(x, tuple(dims), parts)


def _adaptive(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: Any, output: Any, **options: Any) -> Any:
        spans = {d: [(i * x.sizes[d] // m, -(-(i + 1) * x.sizes[d] // m)) for i in range(m)] for d, m in output.items()}
        return _ranges(reduce, x, output, spans, **options)

    return reference


def _ranges(reduce: Callable[..., Any], x: Any, output: Any, spans: Any, **options: Any) -> Any:
    parts = {}
    for place in itertools.product(*map(range, output.values())):
        ranges = [range(*spans[d][i]) for d, i in zip(output, place, strict=True)]
        inside = [(at, x.isel(at)) for at in (dict(zip(output, c, strict=True)) for c in itertools.product(*ranges))]
        parts[place] = reduce(x, output, inside, len(inside), **options)
    if isinstance(next(iter(parts.values())), tuple):
        return tuple(_assembled(x, tuple(output), {k: v[i] for k, v in parts.items()}) for i in range(2))
    return _assembled(x, tuple(output), parts)


def _fractional(x: Any, samples: float, window: Any, output: Any, *, return_indices: bool = False) -> Any:
    spans = {}
    for d, k in window.items():
        step = (x.sizes[d] - k) / (output[d] - 1)
        starts = [int((i + samples) * step) - int(samples * step) for i in range(output[d] - 1)] + [x.sizes[d] - k]
        spans[d] = [(a, a + k) for a in starts]
    return _ranges(_max, x, output, spans, return_indices=return_indices)


def _unpool(x: Any, indices: Any, sizes: Any) -> Any:
    dims = tuple(sizes)
    at = xr.DataArray(indices.data, dims=indices.dims) if not isinstance(indices, xr.DataArray) else indices
    x, at = (a.transpose(..., *dims) for a in xr.broadcast(x, at))
    out = np.zeros((*x.shape[: x.ndim - len(dims)], math.prod(sizes.values())))
    flat, where = x.to_numpy().reshape(*out.shape[:-1], -1), at.to_numpy().reshape(*out.shape[:-1], -1)
    for lead in np.ndindex(out.shape[:-1]):
        for value, i in zip(flat[lead], where[lead], strict=True):
            out[(*lead, i)] = value
    return xr.DataArray(out.reshape(*out.shape[:-1], *sizes.values()), dims=x.dims)


def _rolling(name: str) -> Callable[..., Any]:
    def reference(x: Any, window: Any, *, min_periods: Any = None, center: Any = False, **options: Any) -> Any:
        runs = x.rolling(window, min_periods=min_periods, center=center)
        return runs.count() if name == "count" else getattr(runs, name)(**options)

    return reference


def _shuffle(x: Any, factor: Any, channel: str) -> Any:
    n = x.sizes[channel] // math.prod(factor.values())
    a = x.transpose(channel, *factor, ...).to_numpy()
    k = len(factor)
    rest = a.shape[1 + k :]
    a = a.reshape(n, *factor.values(), *a.shape[1 : 1 + k], *rest)
    order = [0, *itertools.chain.from_iterable((1 + k + i, 1 + i) for i in range(k)), *range(1 + 2 * k, a.ndim)]
    a = a.transpose(order).reshape(n, *(x.sizes[d] * r for d, r in factor.items()), *rest)
    return xr.DataArray(a, dims=x.transpose(channel, *factor, ...).dims).transpose(*x.dims)


def _unshuffle(x: Any, factor: Any, channel: str) -> Any:
    order = x.transpose(channel, *factor, ...)
    a = order.to_numpy()
    k = len(factor)
    rest = a.shape[1 + k :]
    a = a.reshape(a.shape[0], *itertools.chain.from_iterable((x.sizes[d] // r, r) for d, r in factor.items()), *rest)
    a = a.transpose([0, *(2 + 2 * i for i in range(k)), *(1 + 2 * i for i in range(k)), *range(1 + 2 * k, a.ndim)])
    a = a.reshape(-1, *(x.sizes[d] // r for d, r in factor.items()), *rest)
    return xr.DataArray(a, dims=order.dims).transpose(*x.dims)


def _norm(x: Any, dim: str, size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    parts = []
    for i in range(x.sizes[dim]):
        near = x.isel({dim: slice(max(0, i - size // 2), i + (size - 1) // 2 + 1)})
        parts.append(x.isel({dim: i}) / (k + alpha * (abs(near) ** 2).sum(dim) / size) ** beta)
    return xr.concat(parts, dim).transpose(*x.dims)


entry(
    "conv",
    _conv,
    samples=[
        sample("complex(eight,c)", "complex(b,c,six)", dims={"eight": "six"}, contract="c"),
        sample("real(nine)", "complex(six)", dims={"nine": "six"}, padding=(1, 0), stride=2),
        sample("real(six,b)", "real(b,a)", dims={"six": "a"}, padding="same", padding_mode="circular"),
        sample("real(eight,c)", "real(c,one)", dims={"eight": "one"}, contract="c", stride=3, padding="valid"),
        sample("real(eight,nine)", "real(eight)", dims={"nine": "eight"}, padding={"nine": (3, 3)}, padding_mode="reflect"),
    ],
    points=[
        point([1.0, 2.0, 4.0], [1.0, 10.0], dims={"p": "p"}, value=[21.0, 42.0], cotangent=[1.0, -2.0], gradients=[[1.0, 8.0, -20.0], [-3.0, -6.0]]),
        point([1.0, 2.0, 4.0], [3.0, 5.0], dims={"p": "p"}, dilation=2, value=[23.0], cotangent=[-2.0], gradients=[[-6.0, 0.0, -10.0], [-2.0, -8.0]]),
        point([1.0, 2.0], [3.0], dims={"p": "p"}, padding=1, stride=3, value=[0.0, 0.0], cotangent=[1.0, 1.0], gradients=[[0.0, 0.0], [0.0]]),
    ],
)
entry(
    "conv_transpose",
    _conv_transpose,
    samples=[
        sample("complex(six,c)", "complex(c,a)", dims={"six": "a"}, contract="c", stride=2),
        sample("real(six,b)", "real(b,nine)", dims={"six": "nine"}, stride=2, padding=(3, 1)),
    ],
    points=[
        point([1.0, 2.0], [1.0, 10.0], dims={"p": "p"}, value=[1.0, 12.0, 20.0], cotangent=[1.0, 0.0, -1.0], gradients=[[1.0, -10.0], [1.0, -2.0]]),
        point([1.0, 2.0], [1.0], dims={"p": "p"}, stride=2, value=[1.0, 0.0, 2.0], cotangent=[1.0, 5.0, -1.0], gradients=[[1.0, -1.0], [-1.0]]),
        point([3.0], [1.0, 10.0, 100.0], dims={"p": "p"}, padding=1, value=[30.0], cotangent=[2.0], gradients=[[20.0], [0.0, 6.0, 0.0]]),
    ],
)
entry(
    "unfold",
    _unfold,
    samples=[sample("complex(six)", window={"six": 4}), sample("real(eight,six)", window={"eight": 3}, padding=(2, -1), stride=3)],
    points=[
        point([1.0, 2.0, 3.0], window={"p": 2}, value=[[1.0, 2.0], [2.0, 3.0]], cotangent=[[1.0, 10.0], [100.0, 1000.0]], gradients=[[1.0, 110.0, 1000.0]]),
        point([1.0, NAN], window={"p": 1}, value=[[1.0], [NAN]], cotangent=[[1.0], [2.0]], gradients=[[1.0, 2.0]]),
        point([1.0], window={"p": 3}, padding=1, value=[[0.0, 1.0, 0.0]], cotangent=[[5.0, 7.0, 5.0]], gradients=[[7.0]]),
    ],
)
entry(
    "fold",
    _fold,
    samples=[sample("complex(nine,six)", dims={"nine": "six"}, sizes={"nine": 14})],
    points=[
        point([[1.0, 2.0], [4.0, 8.0]], dims={"p": "q"}, sizes={"p": 3}, value=[1.0, 6.0, 8.0], cotangent=[1.0, 2.0, -3.0], gradients=[[[1.0, 2.0], [2.0, -3.0]]]),
        point([[1.0, 2.0, 4.0]], dims={"p": "q"}, sizes={"p": 1}, padding=1, value=[2.0], cotangent=[3.0], gradients=[[[0.0, 3.0, 0.0]]]),
        point([[NAN, 2.0], [4.0, 8.0]], dims={"p": "q"}, sizes={"p": 4}, stride=2, value=[NAN, 2.0, 4.0, 8.0], cotangent=[1.0, 2.0, 3.0, 4.0], gradients=[[[1.0, 2.0], [3.0, 4.0]]]),
    ],
)
entry(
    "avg_pool",
    _pooled(_avg),
    samples=[
        sample("complex(six)", window={"six": 2}),
        sample("real(six,nine)", window={"six": 3, "nine": 2}, stride={"six": 1, "nine": 2}, padding={"six": 1, "nine": (0, 1)}, ceil_mode=True),
    ],
    points=[
        point([1.0, 3.0, 5.0], window={"p": 2}, value=[2.0], cotangent=[4.0], gradients=[[2.0, 2.0, 0.0]]),
        point([1.0, 3.0, 5.0], window={"p": 2}, ceil_mode=True, value=[2.0, 5.0], cotangent=[4.0, -1.0], gradients=[[2.0, 2.0, -1.0]]),
        point([2.0, 4.0], window={"p": 2}, padding=1, value=[1.0, 2.0], cotangent=[1.0, 3.0], gradients=[[0.5, 1.5]]),
        point([2.0, 4.0], window={"p": 2}, padding=1, count_include_pad=False, value=[2.0, 4.0], cotangent=[1.0, 3.0], gradients=[[1.0, 3.0]]),
    ],
)
entry(
    "max_pool",
    _pooled(_max),
    samples=[sample("real(six,nine)", window={"nine": 2, "six": 3}, stride=1, padding=(1, 0), ceil_mode=True, return_indices=True)],
    points=[
        point([1.0, 5.0, 5.0, 2.0], window={"p": 4}, value=[5.0], cotangent=[3.0], gradients=[[0.0, 3.0, 0.0, 0.0]]),
        point([1.0, NAN, NAN, 2.0], window={"p": 4}, value=[NAN], cotangent=[3.0], gradients=[[0.0, 0.0, 3.0, 0.0]]),
        point([-INF, -INF, 1.0, INF], window={"p": 2}, value=[-INF, INF], cotangent=[3.0, -2.0], gradients=[[3.0, 0.0, 0.0, -2.0]]),
        point([[1.0, 7.0], [7.0, 7.0]], window={"p": 2, "q": 2}, value=[[7.0]], cotangent=[[3.0]], gradients=[[[0.0, 3.0], [0.0, 0.0]]]),
    ],
)
entry(
    "max_unpool",
    _unpool,
    points=[
        point([5.0, 4.0], np.array([1, 2]), sizes={"p": 4}, value=[0.0, 5.0, 4.0, 0.0], cotangent=[1.0, 2.0, 3.0, 4.0], gradients=[[2.0, 3.0]]),
        point([5.0, 4.0], np.array([1, 1]), sizes={"p": 3}, value=[0.0, 4.0, 0.0], cotangent=[1.0, 2.0, 3.0], gradients=[[0.0, 2.0]]),
        point([[5.0, NAN]], np.array([[3, 0]]), sizes={"p": 2, "q": 2}, value=[[NAN, 0.0], [0.0, 5.0]], cotangent=[[1.0, 2.0], [3.0, 4.0]], gradients=[[[4.0, 1.0]]]),
    ],
)
entry(
    "lp_pool",
    _pooled(_lp),
    points=[
        point([3.0, 4.0, 0.0, 0.0], window={"p": 2}, p=2, value=[5.0, 0.0], cotangent=[5.0, 1.0], gradients=[[3.0, 4.0, 0.0, 0.0]]),
        point([3.0, -4.0, 1.0], window={"p": 2}, p=1, value=[-1.0], cotangent=[2.0], gradients=[[2.0, 2.0, 0.0]]),
        point([2.0, 2.0, 3.0], window={"p": 2}, p=1, ceil_mode=True, value=[4.0, 6.0], cotangent=[1.0, 1.0], gradients=[[1.0, 1.0, 2.0]]),
    ],
)
entry(
    "adaptive_avg_pool",
    _adaptive(_avg),
    samples=[sample("complex(nine)", output={"nine": 4}), sample("real(six,nine)", output={"six": 3, "nine": 3})],
    points=[
        point([1.0, 2.0, 6.0], output={"p": 2}, value=[1.5, 4.0], cotangent=[2.0, 4.0], gradients=[[1.0, 3.0, 2.0]]),
        point([1.0, INF, 6.0], output={"p": 2}, value=[INF, INF], cotangent=[2.0, 4.0], gradients=[[1.0, 3.0, 2.0]]),
        point([1.0, 2.0, NAN], output={"p": 2}, value=[1.5, NAN], cotangent=[2.0, 4.0], gradients=[[1.0, 3.0, 2.0]]),
        point([1.0, 2.0], output={"p": 3}, value=[1.0, 1.5, 2.0], cotangent=[1.0, 2.0, 3.0], gradients=[[2.0, 4.0]]),
    ],
)
entry(
    "adaptive_max_pool",
    _adaptive(_max),
    samples=[sample("real(six,nine)", output={"nine": 4, "six": 5}, return_indices=True)],
    points=[
        point([1.0, 2.0, 1.0], output={"p": 2}, value=[2.0, 2.0], cotangent=[2.0, 4.0], gradients=[[0.0, 6.0, 0.0]]),
        point([2.0, 2.0, 2.0], output={"p": 2}, value=[2.0, 2.0], cotangent=[2.0, 4.0], gradients=[[2.0, 4.0, 0.0]]),
        point([NAN, 2.0, 3.0], output={"p": 2}, value=[NAN, 3.0], cotangent=[2.0, 4.0], gradients=[[2.0, 0.0, 4.0]]),
    ],
)
entry(
    "fractional_max_pool",
    _fractional,
    points=[
        point([1.0, 2.0, 5.0, 4.0], samples=0.5, window={"p": 2}, output={"p": 2}, value=[2.0, 5.0], cotangent=[1.0, 2.0], gradients=[[0.0, 1.0, 2.0, 0.0]]),
        point([1.0, 5.0, 5.0, 4.0], samples=0.0, window={"p": 3}, output={"p": 2}, value=[5.0, 5.0], cotangent=[1.0, 2.0], gradients=[[0.0, 3.0, 0.0, 0.0]]),
        point([1.0, 5.0, NAN, 4.0], samples=0.9, window={"p": 4}, output={"p": 1}, value=[NAN], cotangent=[2.0], gradients=[[0.0, 0.0, 2.0, 0.0]]),
    ],
)
entry(
    "pixel_shuffle",
    _shuffle,
    samples=[sample("complex(six,a)", factor={"a": 3}, channel="six")],
    single=True,
    points=[
        point([[1.0, 2.0], [3.0, 4.0]], factor={"q": 2}, channel="p", value=[[1.0, 3.0, 2.0, 4.0]], cotangent=[[1.0, 2.0, 3.0, 4.0]], gradients=[[[1.0, 3.0], [2.0, 4.0]]]),
        point([[NAN, 2.0]], factor={"q": 1}, channel="p", value=[[NAN, 2.0]], cotangent=[[1.0, 2.0]], gradients=[[[1.0, 2.0]]]),
        point([[[1.0]], [[2.0]], [[3.0]], [[4.0]]], factor={"q": 2, "r": 2}, channel="p", value=[[[1.0, 2.0], [3.0, 4.0]]],
              cotangent=[[[1.0, 2.0], [3.0, 5.0]]], gradients=[[[[1.0]], [[2.0]], [[3.0]], [[5.0]]]]),
    ],
)
entry(
    "pixel_unshuffle",
    _unshuffle,
    samples=[sample("complex(six,a)", factor={"six": 3}, channel="a")],
    points=[
        point([[1.0, 3.0, 2.0, 4.0]], factor={"q": 2}, channel="p", value=[[1.0, 2.0], [3.0, 4.0]], cotangent=[[1.0, 2.0], [3.0, 4.0]], gradients=[[[1.0, 3.0, 2.0, 4.0]]]),
        point([[NAN, 2.0]], factor={"q": 1}, channel="p", value=[[NAN, 2.0]], cotangent=[[1.0, 2.0]], gradients=[[[1.0, 2.0]]]),
        point([[[1.0, 2.0], [3.0, 4.0]]], factor={"q": 2, "r": 2}, channel="p", value=[[[1.0]], [[2.0]], [[3.0]], [[4.0]]],
              cotangent=[[[1.0]], [[2.0]], [[3.0]], [[5.0]]], gradients=[[[[1.0, 2.0], [3.0, 5.0]]]]),
    ],
)
entry(
    "channel_shuffle",
    lambda x, groups, channel: x.isel({channel: np.arange(x.sizes[channel]).reshape(groups, -1).T.ravel()}),
    samples=[sample("complex(eight,a)", groups=4, channel="eight")],
    points=[
        point([1.0, 2.0, 3.0, 4.0], groups=2, channel="p", value=[1.0, 3.0, 2.0, 4.0], cotangent=[1.0, 2.0, 3.0, 4.0], gradients=[[1.0, 3.0, 2.0, 4.0]]),
        point([1.0, NAN], groups=1, channel="p", value=[1.0, NAN], cotangent=[1.0, 2.0], gradients=[[1.0, 2.0]]),
        point([1.0, NAN], groups=2, channel="p", value=[1.0, NAN], cotangent=[1.0, 2.0], gradients=[[1.0, 2.0]]),
    ],
)
entry(
    "local_response_norm",
    _norm,
    points=[
        point([0.0, 0.0], dim="p", size=2, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[1.0, 2.0]]),
        point([1.0, 2.0], dim="p", size=1, alpha=1.0, beta=1.0, value=[0.5, 0.4], cotangent=[1.0, 1.0], gradients=[[0.0, -0.12]]),
        point([3.0], dim="p", size=1, alpha=0.0, value=[3.0], cotangent=[2.0], gradients=[[2.0]]),
    ],
)

_WINDOW = {"window": {"p": 2}}
entry("rolling_sum", _rolling("sum"), samples=[sample("complex(six)", window={"six": 2})], points=[
    point([1.0, NAN, 4.0], **_WINDOW, value=[NAN, NAN, NAN], cotangent=[1.0, 2.0, 3.0], gradients=[[0.0, 0.0, 0.0]]),
    point([1.0, NAN, 4.0], **_WINDOW, min_periods=1, value=[1.0, 1.0, 4.0], cotangent=[1.0, 2.0, 3.0], gradients=[[3.0, 0.0, 3.0]]),
    point([1.0, 2.0, 4.0], **_WINDOW, center=True, value=[NAN, 3.0, 6.0], cotangent=[1.0, 2.0, 3.0], gradients=[[2.0, 5.0, 3.0]]),
])  # fmt: skip
entry("rolling_mean", _rolling("mean"), samples=[sample("complex(six)", window={"six": 2})], points=[
    point([1.0, NAN, 4.0], **_WINDOW, value=[NAN, NAN, NAN], cotangent=[1.0, 2.0, 3.0], gradients=[[0.0, 0.0, 0.0]]),
    point([1.0, NAN, 4.0], **_WINDOW, min_periods=1, value=[1.0, 1.0, 4.0], cotangent=[1.0, 2.0, 3.0], gradients=[[3.0, 0.0, 3.0]]),
    point([1.0, 2.0, 4.0], **_WINDOW, value=[NAN, 1.5, 3.0], cotangent=[1.0, 2.0, 3.0], gradients=[[1.0, 2.5, 1.5]]),
])  # fmt: skip
entry("rolling_max", _rolling("max"), points=[
    point([2.0, 2.0, 1.0], **_WINDOW, value=[NAN, 2.0, 2.0], cotangent=[1.0, 2.0, 3.0], gradients=[[1.0, 4.0, 0.0]]),
    point([1.0, NAN, NAN], **_WINDOW, min_periods=1, value=[1.0, 1.0, NAN], cotangent=[1.0, 2.0, 3.0], gradients=[[3.0, 0.0, 0.0]]),
    point([-INF, 0.0, INF], **_WINDOW, min_periods=1, value=[-INF, 0.0, INF], cotangent=[1.0, 2.0, 3.0], gradients=[[1.0, 2.0, 3.0]]),
])  # fmt: skip
entry("rolling_min", _rolling("min"), points=[
    point([2.0, 2.0, 3.0], **_WINDOW, value=[NAN, 2.0, 2.0], cotangent=[1.0, 2.0, 3.0], gradients=[[1.0, 4.0, 0.0]]),
    point([1.0, NAN, NAN], **_WINDOW, min_periods=1, value=[1.0, 1.0, NAN], cotangent=[1.0, 2.0, 3.0], gradients=[[3.0, 0.0, 0.0]]),
    point([INF, 0.0, -INF], **_WINDOW, min_periods=1, value=[INF, 0.0, -INF], cotangent=[1.0, 2.0, 3.0], gradients=[[1.0, 2.0, 3.0]]),
])  # fmt: skip
entry("rolling_prod", _rolling("prod"), points=[
    point([0.0, 3.0, 0.0], **_WINDOW, value=[NAN, 0.0, 0.0], cotangent=[1.0, 2.0, 3.0], gradients=[[6.0, 0.0, 9.0]]),
    point([0.0, 0.0], **_WINDOW, min_periods=1, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[1.0, 0.0]]),
    point([2.0, NAN], **_WINDOW, min_periods=1, value=[2.0, 2.0], cotangent=[1.0, 2.0], gradients=[[3.0, 0.0]]),
])  # fmt: skip
entry("rolling_var", _rolling("var"), samples=[sample("real(nine)", window={"nine": 3}, ddof=1)], points=[
    point([1.0, 3.0], **_WINDOW, value=[NAN, 1.0], cotangent=[5.0, 2.0], gradients=[[-2.0, 2.0]]),
    point([1.0, 1.0], **_WINDOW, min_periods=1, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[0.0, 0.0]]),
    point([1.0, NAN], **_WINDOW, min_periods=1, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[0.0, 0.0]]),
])  # fmt: skip
entry("rolling_std", _rolling("std"), samples=[sample("real(nine)", window={"nine": 3}, ddof=1)], points=[
    point([1.0, 3.0], **_WINDOW, value=[NAN, 1.0], cotangent=[5.0, 2.0], gradients=[[-1.0, 1.0]]),
    point([1.0, 1.0], **_WINDOW, min_periods=1, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[0.0, 0.0]]),
    point([1.0, NAN], **_WINDOW, min_periods=1, value=[0.0, 0.0], cotangent=[1.0, 2.0], gradients=[[0.0, 0.0]]),
])  # fmt: skip
entry("rolling_median", _rolling("median"), points=[
    point([1.0, 3.0], **_WINDOW, value=[NAN, 2.0], cotangent=[5.0, 2.0], gradients=[[1.0, 1.0]]),
    point([1.0, NAN], **_WINDOW, min_periods=1, value=[1.0, 1.0], cotangent=[1.0, 2.0], gradients=[[3.0, 0.0]]),
    point([1.0, 7.0, 4.0], window={"p": 3}, value=[NAN, NAN, 4.0], cotangent=[1.0, 1.0, 2.0], gradients=[[0.0, 0.0, 2.0]]),
])  # fmt: skip
entry("rolling_count", _rolling("count"), points=[
    point([1.0, NAN, 2.0], **_WINDOW, value=[NAN, NAN, NAN]),
    point([1.0, NAN, 2.0], **_WINDOW, min_periods=1, value=[1.0, 1.0, 1.0]),
    point([1.0, INF], **_WINDOW, value=[NAN, 2.0]),
])  # fmt: skip


def _rolling_place(kind: str) -> Any:
    """xarray's windows, one after the other; its own method takes one dim only."""
    fill = -INF if kind == "argmax" else INF

    def call(x: xr.DataArray, window: dict[str, int], min_periods: int | None = None, center: Any = False) -> xr.DataArray:
        options = {"min_periods": min_periods, "center": center}
        new = {d: f"{d}_offset" for d in window}
        runs = x.fillna(fill).rolling(window, **options).construct(new, fill_value=fill)
        at = getattr(runs.stack(cells=tuple(new.values())), kind)("cells")
        return at.where(x.rolling(window, **options).count().notnull())

    return call


entry("rolling_argmax", _rolling_place("argmax"), points=[
    point([2.0, 2.0, 1.0], **_WINDOW, value=[NAN, 0.0, 0.0]),
    point([1.0, NAN, NAN, 3.0], **_WINDOW, min_periods=1, value=[1.0, 0.0, NAN, 1.0]),
    point([4.0, 1.0, 5.0], window={"p": 3}, center=True, min_periods=2, value=[1.0, 2.0, 1.0]),
])  # fmt: skip
entry("rolling_argmin", _rolling_place("argmin"), points=[
    point([2.0, 2.0, 1.0], **_WINDOW, value=[NAN, 0.0, 1.0]),
    point([1.0, NAN, NAN, 3.0], **_WINDOW, min_periods=1, value=[1.0, 0.0, NAN, 1.0]),
    point([4.0, 1.0, 5.0], window={"p": 3}, center=True, min_periods=2, value=[2.0, 1.0, 0.0]),
])  # fmt: skip
