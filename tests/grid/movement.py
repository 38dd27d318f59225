"""Shape and position."""

import numpy as np
import xarray as xr

from tests.support.grid import by_method, entry, point, sample

NAN = np.nan


def flip(x, dim=None):
    return x.isel(dict.fromkeys(x.dims if dim is None else [dim], slice(None, None, -1)))


def stack(x, dim):
    ((name, dims),) = dim.items()
    rest = [d for d in x.dims if d not in dims]
    flat = x.transpose(*rest, *dims).to_numpy()
    return xr.DataArray(flat.reshape(*flat.shape[: len(rest)], -1), dims=(*rest, name))


def unstack(x, dim):
    ((name, sizes),) = dim.items()
    rest = [d for d in x.dims if d != name]
    last = x.transpose(*rest, name).to_numpy()
    return xr.DataArray(last.reshape(*last.shape[:-1], *sizes.values()), dims=(*rest, *sizes))


def concat(*xs, dim):
    sizes = {}
    for x in xs:
        sizes.update(x.sizes)
    full = [x if dim in x.dims else x.expand_dims(dim) for x in xs]
    names = tuple(dict.fromkeys(d for x in (xs if dim in sizes else full) for d in x.dims))  # the order of xr.concat
    wide = []
    for x in full:
        shape = [x.sizes[d] if d == dim else sizes[d] for d in names]
        ordered = x.expand_dims([d for d in names if d not in x.dims]).transpose(*names)
        wide.append(np.broadcast_to(ordered.to_numpy(), shape))
    return xr.DataArray(np.concatenate(wide, axis=names.index(dim)), dims=names)


def named(a, x):
    return xr.DataArray(a, dims=x.dims)


def pad(x, pad_width, mode="constant", constant_values=None, **options):
    """Dim by dim, as NumPy pads one axis; negative widths crop."""
    if mode == "constant":
        options["constant_values"] = NAN if constant_values is None else constant_values
    for dim, width in pad_width.items():
        before, after = (width, width) if isinstance(width, int) else width
        x = x.isel({dim: slice(max(0, -before), x.sizes[dim] - max(0, -after))})
        widths = [(max(before, 0), max(after, 0)) if d == dim else (0, 0) for d in x.dims]
        x = named(np.pad(x.to_numpy(), widths, mode=mode, **options), x)
    return x


SAMPLES = {
    "concat": [sample("complex(a,b)", "real(a,b)", dim="b"), sample("real(a)", "real(a,b)", "real(b)", dim="b"), sample("real(a,b)", dim="z")],
    "pad": [sample("complex(a,b)", pad_width={"a": (0, 2)}, constant_values=0), sample("real(a,b)", pad_width={"a": (1, 0), "b": (0, 2)}),
            sample("real(six,b)", pad_width={"six": (7, 9)}, mode="symmetric", reflect_type="odd"),
            sample("real(six,b)", pad_width={"six": (7, 13)}, mode="reflect", reflect_type="odd"),
            sample("real(six,b)", pad_width={"six": (8, 15)}, mode="reflect"), sample("real(six,b)", pad_width={"six": (-2, -1)}),
            sample("real(six,b)", pad_width={"six": 2, "b": (1, 0)}, mode="minimum"), sample("complex(six)", pad_width={"six": 2}, mode="linear_ramp")],
    "roll": [sample("complex(a,b)", shifts={"b": 1})],
    "shift": [sample("real(a,b)", shifts={"a": 7}, fill_value=0.0), sample("real(a,b)", shifts={"b": -1})],
    "diff": [sample("real(a,b)", dim="b", n=3), sample("complex(a,b)", dim="b"), sample("real(nine)", n=2)],
    "stack": [sample("complex(a,b)", dim={"z": ("a", "b")}), sample("real(a,b,c)", dim={"b": ("b", "c")})],
    "transpose": [sample("complex(a,b)")],
    "squeeze": [sample("complex(a,one)")],
}  # fmt: skip
SQUARE = [[1.0, 2.0], [3.0, 4.0]]
ROW = [1.0, 2.0, 3.0]
POINTS = {
    "transpose": [point(SQUARE, value=[[1.0, 3.0], [2.0, 4.0]], gradients=[lambda c: c.T]), point(ROW, value=ROW, gradients=[lambda c: c]),
                  point(5.0, value=5.0, gradients=[lambda c: c])],
    "expand_dims": [point(ROW, dim="z", value=[ROW], gradients=[lambda c: c[0]]), point(5.0, dim={"z": 2}, value=[5.0, 5.0], gradients=[lambda c: c.sum()]),
                    point(ROW, dim={"z": 0}, value=np.zeros((0, 3)), gradients=[lambda c: [0, 0, 0]])],
    "squeeze": [point([[1.0]], value=1.0, gradients=[lambda c: [[c]]]), point([ROW], value=ROW, gradients=[lambda c: [c]]),
                point([[2.0]], dim="q", value=[2.0], gradients=[lambda c: [c]])],
    "broadcast_like": [point(5.0, ROW, value=[5.0] * 3, gradients=[lambda c: c.sum(), lambda c: [0, 0, 0]]),
                       point(ROW, ROW, value=ROW, gradients=[lambda c: c, lambda c: [0, 0, 0]]),
                       point(5.0, [], value=[], gradients=[lambda c: 0, lambda c: []])],
    "roll": [point(ROW, shifts={"p": 1}, value=[3.0, 1.0, 2.0], gradients=[lambda c: [c[1], c[2], c[0]]]),
             point(ROW, shifts={"p": -4}, value=[2.0, 3.0, 1.0], gradients=[lambda c: [c[2], c[0], c[1]]]),
             point(ROW, shifts={"p": 3}, value=ROW, gradients=[lambda c: c])],
    "shift": [point(ROW, shifts={"p": 1}, value=[NAN, 1.0, 2.0], gradients=[lambda c: [c[1], c[2], 0]], cotangent=[0.0, 2.0, -3.0]),
              point(ROW, shifts={"p": -5}, fill_value=0.0, value=[0.0] * 3, gradients=[lambda c: [0, 0, 0]]),
              point(ROW, shifts={"p": 0}, value=ROW, gradients=[lambda c: c])],
    "diff": [point([1.0, 4.0, 9.0], dim="p", value=[3.0, 5.0], gradients=[lambda c: [-c[0], c[0] - c[1], c[1]]]),
             point([1.0], dim="p", value=[], gradients=[lambda c: [0]]),
             point([1.0, 4.0, 9.0], dim="p", n=2, value=[2.0], gradients=[lambda c: [c[0], -2 * c[0], c[0]]]),
             point([1.0, 4.0], prepend=3.0, append=[5.0][0], value=[-2.0, 3.0, 1.0], gradients=[lambda c: [c[0] - c[1], c[1] - c[2]]])],
}  # fmt: skip


def method_or_first(name):
    return lambda x, *more, **kw: getattr(x, name)(*more, **kw) if "dim" in kw or name != "diff" else getattr(x, name)(x.dims[0], *more, **kw)


for name in ("transpose", "expand_dims", "squeeze", "broadcast_like", "roll", "shift", "diff"):
    entry(name, method_or_first(name), SAMPLES.get(name, ()), POINTS[name], single=name not in {"diff", "squeeze"})
entry("rename", lambda x, new_name_or_name_dict: x.rename(new_name_or_name_dict), points=[
    point(ROW, names={"p": "z"}, value=ROW, gradients=[lambda c: c]), point(SQUARE, names={"p": "q", "q": "p"}, value=SQUARE, gradients=[lambda c: c]),
    point(5.0, names={}, value=5.0, gradients=[lambda c: c])])  # fmt: skip
entry("swap_dims", lambda x, dims_dict: x.swap_dims(dims_dict), points=[
    point(ROW, dims_dict={"p": "z"}, value=ROW, gradients=[lambda c: c]), point(SQUARE, dims_dict={"q": "z"}, value=SQUARE, gradients=[lambda c: c]),
    point(ROW, dims_dict={"p": "p"}, value=ROW, gradients=[lambda c: c])])  # fmt: skip
entry("broadcast", xr.broadcast, points=[
    point(ROW, value=ROW, gradients=[lambda c: c]), point(SQUARE, value=SQUARE, gradients=[lambda c: c]), point(5.0, value=5.0, gradients=[lambda c: c])])  # fmt: skip
entry("flip", flip, points=[
    point(ROW, value=ROW[::-1], gradients=[lambda c: c[::-1]]), point(SQUARE, value=[[4.0, 3.0], [2.0, 1.0]], gradients=[lambda c: c[::-1, ::-1]]),
    point(SQUARE, dim="q", value=[[2.0, 1.0], [4.0, 3.0]], gradients=[lambda c: c[:, ::-1]])])  # fmt: skip
entry("stack", stack, SAMPLES["stack"], points=[
    point(SQUARE, dim={"z": ("p", "q")}, value=[1.0, 2.0, 3.0, 4.0], gradients=[lambda c: c.reshape(2, 2)]),
    point(SQUARE, dim={"z": ("q", "p")}, value=[1.0, 3.0, 2.0, 4.0], gradients=[lambda c: c.reshape(2, 2).T]),
    point(ROW, dim={"z": ("p",)}, value=ROW, gradients=[lambda c: c])])  # fmt: skip
entry("unstack", unstack, points=[
    point([1.0, 2.0, 3.0, 4.0], dim={"p": {"x": 2, "y": 2}}, value=SQUARE, gradients=[lambda c: c.reshape(4)]),
    point(ROW, dim={"p": {"x": 3}}, value=ROW, gradients=[lambda c: c]), point(ROW, dim={"p": {"x": 1, "y": 3}}, value=[ROW], gradients=[lambda c: c[0]])])  # fmt: skip
entry("concat", concat, SAMPLES["concat"], points=[
    point(ROW, [5.0], dim="p", value=[*ROW, 5.0], gradients=[lambda c: c[:3], lambda c: c[3:]]),
    point(ROW, 5.0, dim="p", value=[*ROW, 5.0], gradients=[lambda c: c[:3], lambda c: c[3]]),
    point(ROW, ROW, dim="z", value=[ROW, ROW], gradients=[lambda c: c[0], lambda c: c[1]])])  # fmt: skip
entry("pad", pad, SAMPLES["pad"], points=[
    point(ROW, pad_width={"p": (1, 0)}, value=[NAN, *ROW], gradients=[lambda c: c[1:]], cotangent=[0.0, 1.0, -2.0, 3.0]),
    point(ROW, pad_width={"p": (0, 2)}, mode="edge", value=[*ROW, 3.0, 3.0], gradients=[lambda c: [c[0], c[1], c[2:].sum()]]),
    point(ROW, pad_width={"p": (-1, 1)}, constant_values=7.0, value=[2.0, 3.0, 7.0], gradients=[lambda c: [0, c[0], c[1]]]),
    point([1.0, 4.0], pad_width={"p": (0, 1)}, mode="reflect", reflect_type="odd", value=[1.0, 4.0, 7.0], gradients=[lambda c: [c[0] - c[2], c[1] + 2 * c[2]]]),
    point([2.0], pad_width={"p": (1, 1)}, mode="wrap", value=[2.0] * 3, gradients=[lambda c: [c.sum()]]),
    point([4.0, 4.0, 1.0], pad_width={"p": (1, 0)}, mode="maximum", value=[4.0, 4.0, 4.0, 1.0], gradients=[lambda c: [c[1] + c[0] / 2, c[2] + c[0] / 2, c[3]]]),
    point([4.0], pad_width={"p": (2, 0)}, mode="linear_ramp", value=[0.0, 2.0, 4.0], gradients=[lambda c: [c[1] / 2 + c[2]]])], single=False)  # fmt: skip

# ------------------------------------------------------------------------------------------------ parts


def thin(x, indexers=None):
    return x.thin(indexers)




def cells(n):
    return {"indexers": {"p": n}}


entry("head", by_method("head"), points=[
    point(ROW, value=[1.0, 2.0], gradients=[lambda c: [c[0], c[1], 0]], **cells(2)), point(ROW, value=[], gradients=[lambda c: [0, 0, 0]], **cells(0)),
    point(ROW, value=ROW, gradients=[lambda c: c], **cells(9))])  # fmt: skip
entry("tail", by_method("tail"), points=[
    point(ROW, value=[2.0, 3.0], gradients=[lambda c: [0, c[0], c[1]]], **cells(2)), point(ROW, value=[], gradients=[lambda c: [0, 0, 0]], **cells(0)),
    point(ROW, value=ROW, gradients=[lambda c: c], **cells(9))])  # fmt: skip
entry("thin", thin, points=[
    point(ROW, value=[1.0, 3.0], gradients=[lambda c: [c[0], 0, c[1]]], **cells(2)), point(ROW, value=[1.0], gradients=[lambda c: [c[0], 0, 0]], **cells(7)),
    point(ROW, value=ROW, gradients=[lambda c: c], **cells(1))])  # fmt: skip


def parts(f):
    def reference(x, *more, dim=None):
        dim = x.dims[0] if dim is None else dim
        return tuple(named(a, x) for a in f(x.to_numpy(), *more, axis=x.dims.index(dim)))

    return reference


def chunked(a, n, axis):
    each = -(-a.shape[axis] // n)
    return np.split(a, range(each, a.shape[axis], each), axis)


def unbind(x, dim=None):
    dim = x.dims[0] if dim is None else dim
    return tuple(x.isel({dim: i}) for i in range(x.sizes[dim]))


entry("split", lambda x, sections, dim=None: parts(np.array_split)(x, sections, dim=dim), points=[
    point(ROW, sections=1, value=ROW, gradients=[lambda c: c]), point(ROW, sections=[], value=ROW, gradients=[lambda c: c]),
    point([[1.0, 2.0]], sections=1, dim="q", value=[[1.0, 2.0]], gradients=[lambda c: c])])  # fmt: skip
entry("chunk", lambda x, chunks, dim=None: parts(chunked)(x, chunks, dim=dim), points=[
    point(ROW, chunks=1, value=ROW, gradients=[lambda c: c]), point([5.0], chunks=1, value=[5.0], gradients=[lambda c: c]),
    point([[1.0, 2.0]], chunks=1, dim="q", value=[[1.0, 2.0]], gradients=[lambda c: c])])  # fmt: skip
entry("unbind", unbind, points=[
    point([5.0], value=5.0, gradients=[lambda c: [c]]), point([ROW], dim="p", value=ROW, gradients=[lambda c: [c]]),
    point([[7.0]], dim="q", value=[7.0], gradients=[lambda c: [c]])])  # fmt: skip

# ------------------------------------------------------------------------------------------------ copies


def repeat(x, repeats):
    for dim, n in repeats.items():
        x = named(np.repeat(x.to_numpy(), n, axis=x.dims.index(dim)), x)
    return x


entry("repeat", repeat, [sample("complex(a,b)", repeats={"b": 0})], points=[
    point([1.0, 2.0], repeats={"p": 2}, value=[1.0, 1.0, 2.0, 2.0], gradients=[lambda c: [c[:2].sum(), c[2:].sum()]]),
    point([1.0, 2.0], repeats={"p": [0, 3]}, value=[2.0] * 3, gradients=[lambda c: [0, c.sum()]]),
    point([1.0, 2.0], repeats={"p": 0}, value=[], gradients=[lambda c: [0, 0]])])  # fmt: skip
entry("tile", lambda x, reps: named(np.tile(x.to_numpy(), [reps.get(d, 1) for d in x.dims]), x), [sample("complex(a,b)", reps={"b": 2})], points=[
    point([1.0, 2.0], reps={"p": 2}, value=[1.0, 2.0, 1.0, 2.0], gradients=[lambda c: [c[0] + c[2], c[1] + c[3]]]),
    point([1.0, 2.0], reps={"p": 1}, value=[1.0, 2.0], gradients=[lambda c: c]), point([1.0, 2.0], reps={"p": 0}, value=[], gradients=[lambda c: [0, 0]])])  # fmt: skip


def meshgrid(*xs, indexing="xy", sparse=False):
    dims = [x.dims[0] for x in xs]
    if indexing == "xy":
        dims[:2] = dims[1::-1]
    return tuple(xr.DataArray(a, dims=dims) for a in np.meshgrid(*(x.to_numpy() for x in xs), indexing=indexing, sparse=sparse))


entry("meshgrid", meshgrid, points=[
    point(ROW, value=ROW, gradients=[lambda c: c]), point([5.0], value=[5.0], gradients=[lambda c: c]), point([], value=[], gradients=[lambda c: c])])  # fmt: skip


def ediff1d(x, dim=None, to_end=None, to_begin=None):
    a = x.to_numpy()
    ends = [np.zeros((*a.shape[:-1], 0)) if v is None else np.broadcast_to(v, (*a.shape[:-1], np.size(v))) for v in (to_begin, to_end)]
    return named(np.concatenate([ends[0], np.diff(a, axis=-1), ends[1]], axis=-1), x)


entry(
    "ediff1d",
    ediff1d,
    points=[
        point([1.0, 4.0, 9.0], to_begin=0.0, value=[0.0, 3.0, 5.0], gradients=[lambda c: [-c[1], c[1] - c[2], c[2]]]),
        point([1.0, 4.0], to_end=[7.0, 8.0], value=[3.0, 7.0, 8.0], gradients=[lambda c: [-c[0], c[0]]]),
        point([1.0], value=[], gradients=[lambda c: [0]]),
    ],
    single=False,
)

# ------------------------------------------------------------------------------------------------ two dims


def plane(f):
    """A function of matrices on the last two axes, whose names stay."""

    def reference(x, dims, *more, **kw):
        rest = [d for d in x.dims if d not in dims]
        return xr.DataArray(f(x.transpose(*rest, *dims).to_numpy(), *more, **kw), dims=(*rest, *dims)).transpose(*x.dims)

    return reference


entry("tril", plane(np.tril), points=[
    point(SQUARE, dims=("p", "q"), value=[[1.0, 0.0], [3.0, 4.0]], gradients=[lambda c: np.tril(c)]),
    point([[1.0, NAN], [3.0, np.inf]], dims=("p", "q"), k=-1, value=[[0.0, 0.0], [3.0, 0.0]], gradients=[lambda c: np.tril(c, -1)]),
    point(SQUARE, dims=("p", "q"), k=5, value=SQUARE, gradients=[lambda c: c])])  # fmt: skip
entry("triu", plane(np.triu), points=[
    point(SQUARE, dims=("p", "q"), value=[[1.0, 2.0], [0.0, 4.0]], gradients=[lambda c: np.triu(c)]),
    point([[NAN, 1.0], [3.0, np.inf]], dims=("p", "q"), k=1, value=[[0.0, 1.0], [0.0, 0.0]], gradients=[lambda c: np.triu(c, 1)]),
    point(SQUARE, dims=("p", "q"), k=-5, value=SQUARE, gradients=[lambda c: c])])  # fmt: skip
entry("rot90", plane(lambda a, k=1: np.rot90(a, k, (-2, -1))), points=[
    point(SQUARE, dims=("p", "q"), value=[[2.0, 4.0], [1.0, 3.0]], gradients=[lambda c: [[c[1, 0], c[0, 0]], [c[1, 1], c[0, 1]]]]),
    point([ROW], dims=("p", "q"), value=[[3.0], [2.0], [1.0]], gradients=[lambda c: [c[::-1, 0]]]),
    point(SQUARE, dims=("p", "q"), k=4, value=SQUARE, gradients=[lambda c: c])])  # fmt: skip


def diagonal(x, dims, offset=0, new_dim=None):
    rest = [d for d in x.dims if d not in dims]
    return xr.DataArray(np.diagonal(x.transpose(*rest, *dims).to_numpy(), offset, -2, -1), dims=(*rest, new_dim or dims[0]))


entry("diagonal", diagonal, points=[
    point(SQUARE, dims=("p", "q"), value=[1.0, 4.0], gradients=[lambda c: np.diag(c)]),
    point(SQUARE, dims=("p", "q"), offset=1, value=[2.0], gradients=[lambda c: [[0, c[0]], [0, 0]]]),
    point(SQUARE, dims=("q", "p"), offset=-1, new_dim="z", value=[2.0], gradients=[lambda c: [[0, c[0]], [0, 0]]]),
    point(SQUARE, dims=("p", "q"), offset=4, value=[], gradients=[lambda c: np.zeros((2, 2))])])  # fmt: skip


def diag_embed(x, dim=None, dims=None, offset=0):
    dim = x.dims[0] if dim is None else dim
    rest = [d for d in x.dims if d != dim]
    a = x.transpose(*rest, dim).to_numpy()
    n = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    at = np.arange(a.shape[-1])
    out[..., at + max(-offset, 0), at + max(offset, 0)] = a
    return xr.DataArray(out, dims=(*rest, *(dims or (dim, f"{dim}2"))))


entry("diag_embed", diag_embed, points=[
    point([1.0, 2.0], value=[[1.0, 0.0], [0.0, 2.0]], gradients=[lambda c: np.diag(c)]),
    point([1.0], offset=1, value=[[0.0, 1.0], [0.0, 0.0]], gradients=[lambda c: [c[0, 1]]]),
    point([1.0, NAN], value=[[1.0, 0.0], [0.0, NAN]], gradients=[lambda c: np.diag(c)], cotangent=[[1.5, -2.0], [0.3, 0.0]])])  # fmt: skip
