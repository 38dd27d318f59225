"""Shape and order, gather and scatter."""

# The signatures are PyTorch's.
# ruff: noqa: B008

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import namedgrad as ng
from tests.oracle.registry import TABLE, axes_of, many

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
TABLE["flip"] = lambda x, dims: np.flip(x, tuple(dims))
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
TABLE["block_diag"] = lambda *xs: ng.block_diag(*map(np.atleast_2d, xs))
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
TABLE["where"] = lambda x, cond, y: np.where(cond, x, y)
TABLE["index_select"] = lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x
TABLE["take"] = lambda x, index: np.take(x, index)
TABLE["masked_select"] = lambda x, mask: np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape))[np.broadcast_to(mask, np.broadcast_shapes(x.shape, mask.shape))]
TABLE["__getitem__"] = lambda x, key: x[tuple(key) if isinstance(key, list) and not all(isinstance(k, int) for k in key) else key]


def _gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    if not x.ndim or not index.ndim:
        return np.reshape(np.take(np.ravel(x), np.ravel(index)), index.shape)
    if not index.size:
        return np.zeros(index.shape, like=x)
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


def _reduced_into(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """PyTorch's index may be smaller than the array: only that part is written."""
    if not x.ndim:
        return np.reshape(_reduced_into(np.reshape(x, (1,)), 0, np.reshape(index, (-1,)), np.reshape(src, (-1,)), reduce, include_self=include_self), ())
    cut = tuple(slice(0, n) if i != dim % x.ndim else slice(None) for i, n in enumerate(index.shape))
    part = ng.scatter_reduce(x[cut], index, src[tuple(slice(0, n) for n in index.shape)], dim, reduce, include_self=include_self)
    return x.at[cut].set(part)


TABLE["_segment_reduce"] = lambda x, reduce, *, axis=0, **kw: ng.segment_reduce(x, reduce, dim=axis, **kw)
TABLE["scatter_reduce"] = _reduced_into
TABLE["index_reduce"] = lambda x, dim, index, source, reduce, *, include_self=True: (
    ng.index_reduce(x, index, source, dim, reduce, include_self=include_self) if x.ndim
    else np.reshape(ng.index_reduce(np.reshape(x, (1,)), np.reshape(index, (-1,)), np.reshape(source, (-1,)), 0, reduce, include_self=include_self), ())
)  # fmt: skip
