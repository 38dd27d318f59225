"""Gather and scatter.  References are loops over cells, in plain Python."""

import itertools
import math

import numpy as np
import xarray as xr

import namedgrad as ng
from tests.support.domains import domain
from tests.support.grid import data_array, entry, point, sample


@domain("sorted")
def ascending(rng, shape):
    """Ascending along every axis."""
    x = rng.normal(size=shape)
    for axis in range(x.ndim):
        x = np.sort(x, axis=axis)
    return x


def D(values, *dims):
    return ng.DimArray(np.asarray(values), dims)


def at(array, position):
    return array.to_numpy()[tuple(position[d] for d in array.dims)]


def cells(sizes):
    return (dict(zip(sizes, p, strict=True)) for p in itertools.product(*map(range, sizes.values())))


# ------------------------------------------------------------------------------------------------ reading


def isel(x, indexers):
    return x.isel({d: data_array(i) for d, i in indexers.items()})


def take(x, index, dim=None):
    dims = x.dims if dim is None else (dim,) if isinstance(dim, str) else dim
    if len(dims) == 1:
        return isel(x, {dims[0]: index})
    rest = [d for d in x.dims if d not in dims]
    flat = x.transpose(*dims, *rest).to_numpy().reshape(-1, *(x.sizes[d] for d in rest))
    out = xr.DataArray(flat[index.to_numpy()], dims=(*(f"i{d}" for d in index.dims), *rest))
    first = min(x.dims.index(d) for d in dims) if rest else 0
    before = [d for d in x.dims[:first] if d in rest]
    return out.transpose(*before, *(f"i{d}" for d in index.dims), *(d for d in rest if d not in before)).rename({f"i{d}": d for d in index.dims})


def gather(x, index, dim):
    cut = {d: slice(0, n) for d, n in index.sizes.items() if d != dim and d in x.dims}
    return x.isel(cut).isel({dim: index})


SAMPLE_INDEX = {"a": [0, 2, 2]}
POINTS_OF_READING = [
    point([1.0, 2.0, 3.0], D([1, 1], "p"), value=[2.0, 2.0], gradients=[lambda g: [0, g[0] + g[1], 0]], dim="p"),
    point([1.0, np.nan, np.inf], D([2, -3], "p"), value=[np.inf, 1.0], gradients=[lambda g: [g[1], 0, g[0]]], dim="p"),
    point([1.0], np.zeros(0, int), value=np.zeros(0), gradients=[[0.0]], dim="p"),
]
entry(
    "isel",
    isel,
    samples=[
        sample("real(a,b,c)", indexers={"a": [0, 2, 2], "c": [1, 0, 1]}),
        sample("complex(a,b)", indexers={"b": slice(3, 0, -2)}),
        sample("real(a,b,c)", indexers={"b": ng.DimArray([[0, 1], [3, 3], [2, -1]], ("p", "q"))}),
        sample("real(a,b,c)", indexers={"a": ng.DimArray([0, 2, 2], "p"), "c": ng.DimArray([1, 0, 0], "p")}),
        sample("real(a,b,c)", indexers={"b": ng.DimArray([3, 0, 3, 1], "b"), "c": ng.DimArray([1, 0, 1, 1], "b")}),
        sample("real(a,b)", indexers={"a": -1, "b": ng.DimArray(2, ())}),
    ],
    points=[
        point([1.0, 2.0, 3.0], indexers={"p": [0, 0, 2]}, value=[1.0, 1.0, 3.0], gradients=[lambda g: [g[0] + g[1], 0, g[2]]]),
        point([1.0, np.inf, np.nan], indexers={"p": slice(None, None, -2)}, value=[np.nan, 1.0], gradients=[lambda g: [g[1], 0, g[0]]]),
        point([1.0, 2.0], indexers={"p": []}, value=np.zeros(0), gradients=[[0.0, 0.0]]),
    ],
    single=False,
)
entry(
    "take",
    take,
    samples=[sample("real(a,b)", index=1, dim="b"), sample("real(a,b)", index=ng.DimArray([[0, 0]], ("p", "q")), dim="a")],
    points=[
        point([1.0, 2.0, 3.0], index=[-1, 2], dim="p", value=[3.0, 3.0], gradients=[lambda g: [0, 0, g[0] + g[1]]]),
        point([[1.0, 2.0], [3.0, 4.0]], index=[3, 0, 3], value=[4.0, 1.0, 4.0], gradients=[lambda g: [[g[1], 0], [0, g[0] + g[2]]]]),
        point([[1.0, 2.0], [3.0, 4.0]], index=1, dim=("q", "p"), value=3.0, gradients=[lambda g: [[0, 0], [g, 0]]]),
    ],
    single=False,
)
for _name in ("take_along_axis", "take_along_dim"):
    entry(_name, lambda x, index, dim: x.isel({dim: index}), samples=[sample("complex(a,b)", "index_b(a)", dim="b")], points=POINTS_OF_READING)
entry("gather", gather, points=POINTS_OF_READING)
entry("index_select", lambda x, index, dim: x.isel({dim: index}), points=POINTS_OF_READING)


# ------------------------------------------------------------------------------------------------ writing


def writers(x, index, src, dim):
    """The cells of the result, and for each of them what is written there, in order."""
    src = src if isinstance(src, xr.DataArray) else xr.DataArray(src)
    more = {d: n for d, n in src.sizes.items() if d not in x.dims and d not in index.dims}
    names = (*x.dims, *more)
    sizes = {**more, **dict(x.sizes)}
    own = {**{d: sizes[d] for d in names if d != dim}, **dict(index.sizes)}
    out = {tuple(p[d] for d in names): [] for p in cells({d: sizes[d] for d in names})}
    for p in cells(own):
        target = {**p, dim: int(at(index, p)) % x.sizes[dim]}
        out[tuple(target[d] for d in names)].append((target, at(src, p)))
    return names, sizes, out


def scattered(x, index, src, dim, combine):
    names, sizes, found = writers(x, index, src, dim)
    src_dtype = src.dtype if isinstance(src, xr.DataArray) else np.result_type(x.dtype, src)
    data = np.empty([sizes[d] for d in names], np.result_type(x.dtype, src_dtype))
    for cell, several in found.items():
        old = at(x, dict(zip(names, cell, strict=True)))
        data[cell] = combine(old, [v for _, v in several]) if several else old
    return xr.DataArray(data, dims=names)


COMBINE = {"sum": sum, "prod": math.prod, "amax": max, "amin": min, "mean": lambda v: sum(v) / len(v)}


def put(x, index, src, dim, reduce=None):
    how = {"add": "sum", "multiply": "prod"}.get(reduce)
    return scattered(x, index, src, dim, lambda old, new: COMBINE[how]([old, *new]) if how else new[-1])


def reduced(x, index, src, dim, reduce="sum", *, include_self=True):
    return scattered(x, index, src, dim, lambda old, new: COMBINE[reduce]([old, *new] if include_self else new))


def cut(f):
    """The rest of ``src`` beyond the index takes no part."""
    return lambda x, index, src, dim, *rest, **kw: f(
        x, index, src.isel({d: slice(0, n) for d, n in index.sizes.items() if d in src.dims}), dim, *rest, **kw
    )


TWICE = D([0, 0], "p")
PUT_POINTS = [
    point([1.0, 2.0, 3.0], TWICE, [5.0, 7.0], dim="p", value=[7.0, 2.0, 3.0], gradients=[lambda g: [0, g[1], g[2]], lambda g: [0, g[0]]]),
    point([np.nan, 2.0], D([0], "p"), [5.0], dim="p", value=[5.0, 2.0], gradients=[lambda g: [0, g[1]], lambda g: [g[0]]]),
    point([1.0, 2.0], np.zeros(0, int), np.zeros(0), dim="p", value=[1.0, 2.0], gradients=[lambda g: g, np.zeros(0)]),
]
ADD_POINTS = [
    point([1.0, 2.0], TWICE, [5.0, 7.0], dim="p", value=[13.0, 2.0], gradients=[lambda g: g, lambda g: [g[0], g[0]]]),
    point([1.0, np.inf], D([1, -2], "p"), [5.0, 7.0], dim="p", value=[8.0, np.inf], gradients=[lambda g: g, lambda g: [g[1], g[0]]]),
    point([1.0, 2.0], np.zeros(0, int), np.zeros(0), dim="p", value=[1.0, 2.0], gradients=[lambda g: g, np.zeros(0)]),
]
REDUCE_POINTS = [
    point([2.0], TWICE, [0.0, 3.0], dim="p", reduce="prod", value=[0.0], gradients=[lambda g: 0 * g, lambda g: [6 * g[0], 0]]),
    point([0.0], TWICE, [0.0, 3.0], dim="p", reduce="prod", value=[0.0], gradients=[lambda g: 0 * g, lambda g: [0, 0]]),
    point([3.0], TWICE, [3.0, 3.0], dim="p", reduce="amax", value=[3.0], gradients=[lambda g: g / 3, lambda g: [g[0] / 3, g[0] / 3]]),
    point([9.0], TWICE, [-np.inf, -np.inf], dim="p", reduce="amin", value=[-np.inf], gradients=[[0.0], lambda g: [g[0] / 2, g[0] / 2]]),
    point([9.0], TWICE, [1.0, 1.0], dim="p", reduce="amax", include_self=False, value=[1.0], gradients=[[0.0], lambda g: [g[0] / 2, g[0] / 2]]),
    point([np.nan], TWICE, [np.nan, 3.0], dim="p", reduce="amax", value=[np.nan], gradients=[lambda g: g / 2, lambda g: [g[0] / 2, 0]]),
    point([9.0, 2.0], TWICE, [np.nan, 3.0], dim="p", reduce="amin", include_self=False, value=[np.nan, 2.0], gradients=[lambda g: [0, g[1]], lambda g: [g[0], 0]]),
    point([1e-200, 5.0], TWICE, [1e-200, 1e250], dim="p", reduce="prod", value=[1e-150, 5.0],
          gradients=[lambda g: [1e50 * g[0], g[1]], lambda g: [1e50 * g[0], 0]]),
]  # fmt: skip
entry(
    "scatter",
    cut(put),
    samples=[sample("real(a,b)", "index_b(a,six)", "real(a,six)", dim="b", reduce="multiply"), sample("real(a,b)", "index_a(c)", "complex(c,b)", dim="a")],
    points=PUT_POINTS,
)
entry("scatter_add", cut(reduced), samples=[sample("complex(a,b)", "index_a(six)", "complex(six)", dim="a")], points=ADD_POINTS)
entry(
    "scatter_reduce",
    cut(reduced),
    samples=[
        sample("real(a,b)", "index_b(a,six)", "real(a,six)", dim="b", reduce=r, include_self=s) for r in COMBINE for s in (True, False)
    ],
    points=REDUCE_POINTS,
)
entry("put_along_axis", put, samples=[sample("real(a,b)", "index_b(a,six)", "real(a,six)", dim="b")], points=PUT_POINTS)
entry(
    "index_add",
    lambda x, index, source, dim, alpha=1: reduced(x, index, alpha * source, dim),
    samples=[sample("complex(a,b)", "index_b(six)", "complex(six)", dim="b", alpha=0.5)],
    points=ADD_POINTS,
)
entry("index_copy", put, samples=[sample("real(a,b)", "index_b(six)", "real(six,c)", dim="b")], points=PUT_POINTS)
entry(
    "index_fill",
    put,
    samples=[sample("real(a,b)", "index_b(six)", "real(a)", dim="b")],
    points=[
        point([1.0, 2.0], D([0, 0], "p"), 5.0, dim="p", value=[5.0, 2.0], gradients=[lambda g: [0, g[1]], lambda g: g[0]]),
        point([np.nan, 2.0], D([0, 1], "p"), 5.0, dim="p", value=[5.0, 5.0], gradients=[[0.0, 0.0], lambda g: g[0] + g[1]]),
        point([1.0], np.zeros(0, int), 5.0, dim="p", value=[1.0], gradients=[lambda g: g, 0.0]),
    ],
)
entry(
    "index_reduce",
    reduced,
    samples=[sample("real(a,b)", "index_b(six)", "real(a,six)", dim="b", reduce=r, include_self=s) for r in COMBINE for s in (True, False)],
    points=REDUCE_POINTS,
)


def index_put(x, indices, values, accumulate=False):
    out = x.copy(deep=True)
    ((dim, index),) = indices.items()
    for i in index:
        row = out[{dim: i}]
        out[{dim: i}] = row + values if accumulate else values
    return out


entry(
    "index_put",
    index_put,
    points=[
        point([1.0, 2.0], indices={"p": [0, 0]}, values=5.0, accumulate=True, value=[11.0, 2.0], gradients=[lambda g: g]),
        point([1.0, np.nan], indices={"p": -1}, values=5.0, value=[1.0, 5.0], gradients=[lambda g: [g[0], 0]]),
        point([[1.0, 2.0]], indices={"p": [0, 0], "q": D([1, 1], "p")}, values=D([3.0, 4.0], "p"), value=[[1.0, 4.0]],
              gradients=[lambda g: [[g[0, 0], 0]]]),
    ],
    single=False,
)  # fmt: skip


def put_flat(x, index, source, dim=None, accumulate=False):
    dims = x.dims if dim is None else (dim,) if isinstance(dim, str) else dim
    flat = x.stack(line=dims).drop_vars([*dims, "line"])
    out = reduced(flat, index, source, "line") if accumulate else put(flat, index, source, "line")
    rest = [d for d in x.dims if d not in dims]
    data = out.transpose("line", *rest).to_numpy().reshape(*(x.sizes[d] for d in dims), *(x.sizes[d] for d in rest))
    return xr.DataArray(data, dims=(*dims, *rest)).transpose(*x.dims)


entry(
    "put",
    put_flat,
    points=[
        point([[1.0, 2.0]], D([1, -1], "n"), [5.0, 7.0], value=None, gradients=None),
        point([[1.0, 2.0]], D([1, -1], "n"), D([5.0, 7.0], "n"), value=[[1.0, 7.0]], gradients=[lambda g: [[g[0, 0], 0]], lambda g: [0, g[0, 1]]]),
        point([[1.0, 2.0]], D([1, -1], "n"), D([5.0, 7.0], "n"), accumulate=True, value=[[1.0, 14.0]], gradients=[lambda g: g, lambda g: [g[0, 1], g[0, 1]]]),
        point(3.0, D([0], "n"), D([5.0], "n"), value=5.0, gradients=[0.0, lambda g: [g]]),
    ][1:],
)


def write(x, src, key):
    out = x.astype(np.result_type(x, src)).copy(deep=True)
    out[key] = src
    return out


def diagonal_scatter(x, src, dims, offset=0, dim="diagonal"):
    out = x.copy(deep=True)
    for k in range(src.sizes[dim]):
        out[{dims[0]: k + max(0, -offset), dims[1]: k + max(0, offset)}] = src[{dim: k}]
    return out


entry(
    "select_scatter",
    lambda x, src, dim, index: write(x, src, {dim: index}),
    points=[
        point([1.0, 2.0], 5.0, dim="p", index=-1, value=[1.0, 5.0], gradients=[lambda g: [g[0], 0], lambda g: g[1]]),
        point([1.0, np.nan], 5.0, dim="p", index=1, value=[1.0, 5.0], gradients=[lambda g: [g[0], 0], lambda g: g[1]]),
        point([[1.0, 2.0]], [5.0], dim="q", index=0, value=[[5.0, 2.0]], gradients=[lambda g: [[0, g[0, 1]]], lambda g: [g[0, 0]]]),
    ],
    single=False,
)
entry(
    "slice_scatter",
    lambda x, src, dim, start=None, end=None, step=1: write(x, src, {dim: slice(start, end, step)}),
    points=[
        point([1.0, 2.0, 3.0], [5.0, 7.0], dim="p", step=2, value=[5.0, 2.0, 7.0], gradients=[lambda g: [0, g[1], 0], lambda g: g[::2]]),
        point([1.0, np.nan], [5.0], dim="p", start=-1, value=[1.0, 5.0], gradients=[lambda g: [g[0], 0], lambda g: g[1:]]),
        point([1.0, 2.0], np.zeros(0), dim="p", start=2, value=[1.0, 2.0], gradients=[lambda g: g, np.zeros(0)]),
    ],
    single=False,
)
entry(
    "diagonal_scatter",
    diagonal_scatter,
    points=[
        point([[1.0, 2.0], [3.0, 4.0]], D([5.0, 7.0], "d"), dims=("p", "q"), dim="d", value=[[5.0, 2.0], [3.0, 7.0]],
              gradients=[lambda g: g * [[0, 1], [1, 0]], lambda g: [g[0, 0], g[1, 1]]]),
        point([[1.0, 2.0], [3.0, 4.0]], D([5.0], "d"), dims=("p", "q"), dim="d", offset=-1, value=[[1.0, 2.0], [5.0, 4.0]],
              gradients=[lambda g: g * [[1, 1], [0, 1]], lambda g: [g[1, 0]]]),
        point([[np.nan, 2.0]], D([5.0], "d"), dims=("p", "q"), dim="d", value=[[5.0, 2.0]], gradients=[lambda g: g * [[0, 1]], lambda g: [g[0, 0]]]),
    ],
    single=False,
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ masks


def masked_select(x, mask, dim=None, size=None, fill_value=0):
    mask = data_array(mask)
    mask = mask if dim is None else mask.transpose(*dim)
    dims = mask.dims
    rest = [d for d in x.dims if d not in dims]
    rows = x.transpose(*dims, *rest).to_numpy()[mask.to_numpy()]
    if size is None:
        return xr.DataArray(rows, dims=("selected", *rest))
    out = np.full((size, *rows.shape[1:]), fill_value, x.dtype)
    n = min(size, len(rows))
    out[:n] = rows[:n]
    return xr.DataArray(out, dims=("selected", *rest)), xr.DataArray(np.arange(size) < len(rows), dims="selected")


def masked_scatter(x, mask, source, dim=None, source_dim=None):
    dims = x.dims if dim is None else (dim,) if isinstance(dim, str) else dim
    rest = [d for d in x.dims if d not in dims]
    given = source.to_numpy().reshape(-1)
    data = x.transpose(*dims, *rest).to_numpy().copy()
    full = mask.broadcast_like(x.isel(dict.fromkeys(rest, 0), drop=True)).transpose(*dims).to_numpy()
    chosen = given[: full.sum()]
    data[full] = chosen.reshape(-1, *(1,) * len(rest))
    return xr.DataArray(data, dims=(*dims, *rest)).transpose(*x.dims)


def nonzero(x, dim, size=None, fill_value=0):
    found = np.nonzero(x.transpose(*dim).to_numpy() if not isinstance(dim, str) else x.to_numpy())
    n = min(size, len(found[0]))
    return tuple(xr.DataArray(np.r_[f[:n], np.full(size - n, fill_value)], dims="nonzero") for f in found)


entry(
    "masked_select",
    masked_select,
    samples=[sample("complex(six,b)", "bool(six)", size=6)],
    points=[
        point([1.0, np.nan, 3.0], mask=D([True, False, True], "p"), value=[1.0, 3.0], gradients=[lambda g: [g[0], 0, g[1]]]),
        point([1.0, 2.0], mask=D([False, False], "p"), value=np.zeros(0), gradients=[[0.0, 0.0]]),
        point([1.0, 2.0, 3.0], mask=D([True, True, True], "p"), value=[1.0, 2.0, 3.0], gradients=[lambda g: g]),
    ],
)
entry(
    "masked_scatter",
    masked_scatter,
    points=[
        point([1.0, 2.0, 3.0], D([True, False, True], "p"), D([5.0, 7.0, 9.0], "s"), value=[5.0, 2.0, 7.0],
              gradients=[lambda g: [0, g[1], 0], lambda g: [g[0], g[2], 0]]),
        point([np.nan], D([True], "p"), D([5.0], "s"), value=[5.0], gradients=[[0.0], lambda g: g]),
        point([1.0], D([False], "p"), D([5.0], "s"), value=[1.0], gradients=[lambda g: g, [0.0]]),
    ],
)  # fmt: skip
entry(
    "nonzero_padded",
    nonzero,
    points=[
        point([0.0, 2.0, np.nan], dim="p", size=2, value=([1, 2],)),
        point([[0, 3], [4, 0]], size=1, value=([0], [1])),
        point([0.0, 0.0], size=2, fill_value=-1, value=([-1, -1],)),
    ],
)


# ------------------------------------------------------------------------------------------------ segments


def segments(f, empty, skip=lambda v: [e for e in v if not np.isnan(e)]):
    def reference(x, groups=None, *, dim, size=None, new_dim=None, ddof=0, segments=None):
        groups = xr.DataArray(segments, dims=dim) if groups is None else groups
        size = size or max(segments) + 1
        rest = [d for d in x.dims if d != dim]
        name = new_dim or dim
        out = np.full([size, *(x.sizes[d] for d in rest)], empty, float)
        for p in cells({d: x.sizes[d] for d in rest}):
            for k in range(size):
                members = [at(x, {**p, dim: i}) for i in range(x.sizes[dim]) if at(groups, {**p, dim: i}) == k]
                if members:
                    found = skip(members)
                    out[(k, *p.values())] = f(found, ddof) if found else (empty if f in (SUM, PROD) else np.nan)
        return xr.DataArray(out, dims=(name, *rest)).transpose(*(name if d == dim else d for d in x.dims))

    return reference


def SUM(v, _):
    return math.fsum(v)


def PROD(v, _):
    return math.prod(v)


PAIR = D([0, 0, 1], "p")


entry("segment_sum", segments(SUM, 0), points=[
    point([1.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[4.0, 5.0, 0.0], gradients=[lambda g: [g[0], g[0], g[1]]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[1.0, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
    point([1.0, np.inf, 5.0], PAIR, dim="p", value=[np.inf, 5.0], gradients=[lambda g: [g[0], g[0], g[1]]]),
])  # fmt: skip
entry("segment_prod", segments(PROD, 1), points=[
    point([0.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[0.0, 5.0, 1.0], gradients=[lambda g: [3 * g[0], 0, g[1]]]),
    point([0.0, 0.0, 5.0], PAIR, dim="p", value=[0.0, 5.0], gradients=[lambda g: [0, 0, g[1]]]),
    point([2.0, np.nan, 5.0], PAIR, dim="p", value=[2.0, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
])  # fmt: skip
entry("segment_mean", segments(lambda v, _: math.fsum(v) / len(v), np.nan), points=[
    point([1.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[2.0, 5.0, np.nan], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[1.0, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
    point([np.nan, np.nan, 5.0], PAIR, dim="p", value=[np.nan, 5.0], gradients=[lambda g: [0, 0, g[1]]]),
])  # fmt: skip
entry("segment_max", segments(lambda v, _: max(v), -np.inf), points=[
    point([3.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[3.0, 5.0, -np.inf], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[1.0, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
    point([-np.inf, -np.inf, 5.0], PAIR, dim="p", value=[-np.inf, 5.0], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", skipna=False, value=[np.nan, 5.0], gradients=[lambda g: [0, g[0], g[1]]]),
    point([np.nan, np.nan, 5.0], PAIR, dim="p", skipna=False, value=[np.nan, 5.0], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
])  # fmt: skip
entry("segment_min", segments(lambda v, _: min(v), np.inf), points=[
    point([3.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[3.0, 5.0, np.inf], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[1.0, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
    point([np.inf, np.inf, 5.0], PAIR, dim="p", value=[np.inf, 5.0], gradients=[lambda g: [g[0] / 2, g[0] / 2, g[1]]]),
    point([np.nan, 1.0, 5.0], PAIR, dim="p", skipna=False, value=[np.nan, 5.0], gradients=[lambda g: [g[0], 0, g[1]]]),
])  # fmt: skip


def variance(v, ddof):
    return float(np.var(v, ddof=ddof)) if len(v) > ddof else np.nan


DDOF = [sample("real(nine)", "index_c(nine)", dim="nine", size=4, ddof=1)]
entry("segment_var", segments(variance, np.nan), samples=DDOF, points=[
    point([1.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[1.0, 0.0, np.nan], gradients=[lambda g: [-g[0], g[0], 0]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[0.0, 0.0], gradients=[[0.0, 0.0, 0.0]]),
    point([1.0, 3.0, 5.0], PAIR, dim="p", ddof=1, value=[2.0, np.nan], gradients=[lambda g: [-2 * g[0], 2 * g[0], 0]]),
])  # fmt: skip
entry("segment_std", segments(lambda v, ddof: variance(v, ddof) ** 0.5, np.nan), samples=DDOF, points=[
    point([1.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[1.0, 0.0, np.nan], gradients=[lambda g: [-g[0] / 2, g[0] / 2, 0]]),
    point([2.0, 2.0, 5.0], PAIR, dim="p", value=[0.0, 0.0], gradients=[[0.0, 0.0, 0.0]]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[0.0, 0.0], gradients=[[0.0, 0.0, 0.0]]),
])  # fmt: skip
entry("segment_count", lambda *args, **kw: segments(lambda v, _: len(v), 0)(*args, **kw).fillna(0).astype(np.int64), points=[
    point([1.0, 3.0, 5.0], PAIR, dim="p", size=3, value=[2, 1, 0]),
    point([1.0, np.nan, 5.0], PAIR, dim="p", value=[1, 1]),
    point([np.nan, np.nan, 5.0], PAIR, dim="p", skipna=False, value=[2, 1]),
])  # fmt: skip


# ------------------------------------------------------------------------------------------------ embeddings


def looked_up(index, weight, dim, max_norm=None):
    if max_norm is not None:
        length = np.sqrt((weight**2).sum([d for d in weight.dims if d != dim]))
        weight = weight * xr.where(length > max_norm, max_norm / (length + 1e-7), 1.0)
    return weight.isel({dim: index})


def bag(index, weight, per_sample_weights=None, *, dim, over, offsets=None, mode="mean", padding_idx=None, include_last_offset=False):
    rows = weight.isel({dim: index})
    if per_sample_weights is not None:
        rows = rows * per_sample_weights
    taking = xr.ones_like(index, bool) if padding_idx is None else index != padding_idx
    rest = [d for d in rows.dims if d != over]

    def one(part):
        r, t = (rows.isel({over: part}), taking.isel({over: part}))
        gone = r.where(t)
        if not r.sizes[over]:
            return gone.sum(over)
        if mode == "max":
            return gone.max(over).fillna(0.0)
        return gone.sum(over) if mode == "sum" else gone.sum(over) / np.maximum(t.sum(over), 1)

    if offsets is None:
        return one(slice(None)).transpose(*rest)
    ends = [*offsets[1:], *([] if include_last_offset else [index.sizes[over]])]
    return xr.concat([one(slice(a, b)) for a, b in zip(offsets, ends, strict=False)], dim=over).transpose(*rows.dims)


TABLE = [[1.0, 2.0], [3.0, 4.0]]
entry(
    "embedding",
    lambda index, weight, dim, padding_idx=None, max_norm=None, scale_grad_by_freq=False: looked_up(index, weight, dim, max_norm),
    points=[
        point(D([1, 1], "t"), TABLE, dim="p", value=[[3.0, 4.0], [3.0, 4.0]], gradients=[lambda g: [[0, 0], g[0] + g[1]]]),
        point(D([1, 0, 1], "t"), TABLE, dim="p", padding_idx=-1, value=[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]], gradients=[lambda g: [g[1], [0, 0]]]),
        point(D([1, 0, 1], "t"), TABLE, dim="p", scale_grad_by_freq=True, value=[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]],
              gradients=[lambda g: [g[1], (g[0] + g[2]) / 2]]),
        point(D([0], "t"), [[0.0, 0.0]], dim="p", max_norm=1.0, value=[[0.0, 0.0]], gradients=[lambda g: g]),
    ],
)  # fmt: skip
entry(
    "embedding_bag",
    lambda *args, scale_grad_by_freq=False, **kw: bag(*args, **kw),
    samples=[
        sample("index_b(six,a)", "real(b,c)", dim="b", over="six", offsets=[0, 2, 2, 5], mode=m, padding_idx=p) for m in ("sum", "mean", "max") for p in (None, 0)
    ] + [sample("index_b(nine)", "real(b,c)", "real(nine)", dim="b", over="nine", offsets=[0, 4, 9], include_last_offset=True, mode="sum")],
    points=[
        point(D([1, 1], "t"), TABLE, dim="p", over="t", mode="max", value=[3.0, 4.0], gradients=[lambda g: [[0, 0], g]]),
        point(D([0, 0], "t"), TABLE, dim="p", over="t", padding_idx=0, value=[0.0, 0.0], gradients=[[[0.0, 0.0], [0.0, 0.0]]]),
        point(D([0, 1], "t"), TABLE, D([2.0, -1.0], "t"), dim="p", over="t", mode="sum", value=[-1.0, 0.0],
              gradients=[lambda g: [2 * g, -g], lambda g: [g[0] + 2 * g[1], 3 * g[0] + 4 * g[1]]]),
    ],
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ sparse, counts, searches


def coo_to_dense(values, indices, sizes, dim):
    rest = values.dims[1:]
    out = np.zeros([*sizes.values(), *values.shape[1:]], values.dtype)
    for k in range(values.shape[0]):
        out[tuple(i[k] for i in indices.values())] += values.to_numpy()[k]
    return xr.DataArray(out, dims=(*sizes, *rest))


def dense_to_coo(x, dim, size):
    dims = (dim,) if isinstance(dim, str) else dim
    rest = {d: n for d, n in x.sizes.items() if d not in dims}
    out = [np.zeros((size, *rest.values()), x.dtype), *(np.zeros((size, *rest.values()), int) for _ in dims)]
    for p in cells(rest):
        part = x.isel(p).transpose(*dims).to_numpy()
        found = np.nonzero(part)
        for k, f in enumerate((part[found], *found)):
            n = min(size, len(f))
            out[k][(slice(0, n), *p.values())] = f[:n]
    return tuple(xr.DataArray(f, dims=("nonzero", *rest)) for f in out)


def bincount(x, weights=None, dim=None, size=None):
    name, n = next(iter(size.items())) if isinstance(size, dict) else ("bin", size)
    hot = xr.concat([x == k for k in range(n)], dim=name)
    dims = x.dims if dim is None else (dim,)
    out = (hot if weights is None else hot * weights).sum([d for d in dims if d in hot.dims])
    return out.astype(np.int64 if weights is None else weights.dtype).transpose(..., name)


entry(
    "coo_to_dense",
    coo_to_dense,
    points=[
        point([1.0, 2.0, 4.0], indices={"x": [1, 1, 0]}, sizes={"x": 3}, value=[4.0, 3.0, 0.0], gradients=[lambda g: [g[1], g[1], g[0]]]),
        point(np.zeros(0), indices={"x": []}, sizes={"x": 2}, value=[0.0, 0.0], gradients=[np.zeros(0)]),
        point([np.inf, 1.0], indices={"x": [-1, 0]}, sizes={"x": 2}, value=[1.0, np.inf], gradients=[lambda g: [g[1], g[0]]]),
    ],
)
entry(
    "dense_to_coo",
    dense_to_coo,
    points=[
        point([0.0, 2.0, np.nan], value=([2.0, np.nan], [1, 2])),
        point([[0.0, 2.0], [3.0, 0.0]], value=([2.0, 3.0], [0, 1], [1, 0])),
        point([0.0, 2.0], size=3, value=([2.0, 0.0, 0.0], [1, 0, 0])),
    ],
)
entry(
    "bincount",
    bincount,
    points=[
        point(D([0, 2, 2], "p"), [1.0, 2.0, 4.0], value=[1.0, 0.0, 6.0], gradients=[lambda g: [g[0], g[2], g[2]]]),
        point(D([0, 2, 2], "p"), value=[1, 0, 2]),
        point(np.zeros(0, int), np.zeros(0), minlength=2, value=[0.0, 0.0], gradients=[np.zeros(0)]),
    ],
)


def searchsorted(edges, x, dim, side="left"):
    below = edges < x if side == "left" else edges <= x
    return below.sum(dim).transpose(*x.dims, ...).astype(np.int64)


EDGES = D([1.0, 2.0, 2.0, 5.0], "e")
entry(
    "searchsorted",
    searchsorted,
    points=[
        point(EDGES, D([2.0, 9.0, np.nan], "p"), dim="e", value=[1, 4, 4]),
        point(EDGES, D([2.0, -np.inf, np.inf], "p"), dim="e", side="right", value=[3, 0, 4]),
        point(D(np.zeros(0), "e"), D([2.0], "p"), dim="e", value=[0]),
    ],
)
entry(
    "bucketize",
    lambda x, boundaries, dim, right=False: searchsorted(boundaries, x, dim, "right" if right else "left"),
    points=[point(D([2.0], "p"), EDGES, value=[1]), point(D([2.0], "p"), EDGES, right=True, value=[3]), point(D([np.nan], "p"), EDGES, value=[4])],
)
entry(
    "digitize",
    lambda x, bins, dim, right=False: xr.apply_ufunc(np.digitize, x, kwargs={"bins": bins.to_numpy(), "right": right}),
    points=[
        point(D([2.0, 1.0], "p"), EDGES, value=[3, 1]),
        point(D([2.0, 0.0, 9.0], "p"), D([5.0, 2.0, 1.0], "e"), value=[1, 3, 0]),
        point(D([2.0, 1.5], "p"), D([5.0, 2.0, 1.0], "e"), right=True, value=[2, 2]),
    ],
)
entry(
    "one_hot",
    lambda index, size: xr.concat([index == k for k in range(size if isinstance(size, int) else size["class"])], dim="class").astype(np.int64).transpose(..., "class"),
    points=[point(D([1, 0], "p"), value=[[0, 1], [1, 0]]), point(D(2, *()), size=3, value=[0, 0, 1]), point(np.zeros(0, int), size=2, value=np.zeros((0, 2)))],
)


EMPTY_RUN = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}


def _of_run(reduce, cells, initial):
    """One run, cell by cell."""
    if not cells:
        return EMPTY_RUN[reduce] if initial is None else initial
    first = [] if initial is None else [initial]
    if reduce in ("sum", "mean"):
        return math.fsum(first + cells) / (len(cells) if reduce == "mean" else 1)
    return {"prod": math.prod, "max": max, "min": min}[reduce](first + cells)


def _runs(x, *, reduce, dim, lengths=None, offsets=None, initial=None, unsafe=False, new_dim=None):
    ends = np.cumsum([0, *lengths]) if offsets is None else np.array(offsets)
    name = new_dim or dim

    def along(row):
        return np.array([_of_run(reduce, row[a:b].tolist(), initial) for a, b in itertools.pairwise(ends)])

    at = x.dims.index(dim)
    return xr.DataArray(np.apply_along_axis(along, at, x.values), dims=[name if d == dim else d for d in x.dims])


entry("segment_reduce", _runs, single=False, points=[
    point([2.0, 2.0, 1.0], reduce="max", dim="p", lengths=[2, 0, 1], value=[2.0, -np.inf, 1.0], cotangent=[6.0, 5.0, 3.0], gradients=[[3.0, 3.0, 3.0]]),
    point([0.0, 3.0, 0.0, 5.0], reduce="prod", dim="p", offsets=[0, 2, 4], initial=2.0, value=[0.0, 0.0], cotangent=[1.0, 2.0],
          gradients=[[6.0, 0.0, 20.0, 0.0]]),
    point([1.0, 2.0], reduce="mean", dim="p", lengths=[0, 2], value=[np.nan, 1.5], cotangent=[4.0, 2.0], gradients=[[1.0, 1.0]]),
    point([1.0, 2.0, 4.0], reduce="sum", dim="p", offsets=[1, 2], unsafe=True, value=[2.0], cotangent=[4.0], gradients=[[0.0, 4.0, 0.0]]),
])  # fmt: skip
