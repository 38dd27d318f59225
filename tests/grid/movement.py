"""Shape and position."""

import numpy as np
import xarray as xr

from tests.support.grid import entry, sample


def by_method(name):
    return lambda x, *more, **kw: getattr(x, name)(*more, **kw)


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
    names = tuple(dict.fromkeys(d for x in full for d in x.dims))
    wide = []
    for x in full:
        shape = [x.sizes[d] if d == dim else sizes[d] for d in names]
        ordered = x.expand_dims([d for d in names if d not in x.dims]).transpose(*names)
        wide.append(np.broadcast_to(ordered.to_numpy(), shape))
    return xr.DataArray(np.concatenate(wide, axis=names.index(dim)), dims=names)


def pad(x, pad_width, mode="constant", constant_values=None):
    return x.pad(pad_width, mode=mode, constant_values=constant_values)


SAMPLES = {
    "concat": [sample("complex(a,b)", "real(a,b)", dim="b"), sample("real(a)", "real(a,b)", "real(b)", dim="b"), sample("real(a,b)", dim="z")],
    "pad": [sample("complex(a,b)", pad_width={"a": (0, 2)}, constant_values=0), sample("real(a,b)", pad_width={"a": (1, 0), "b": (0, 2)})],
    "roll": [sample("complex(a,b)", shifts={"b": 1})],
    "shift": [sample("real(a,b)", shifts={"a": 7}, fill_value=0.0), sample("real(a,b)", shifts={"b": -1})],
    "diff": [sample("real(a,b)", dim="b", n=3), sample("complex(a,b)", dim="b")],
    "stack": [sample("complex(a,b)", dim={"z": ("a", "b")}), sample("real(a,b,c)", dim={"b": ("b", "c")})],
    "transpose": [sample("complex(a,b)")],
    "squeeze": [sample("complex(a,one)")],
}  # fmt: skip

for name in ("transpose", "expand_dims", "squeeze", "broadcast_like", "roll", "shift", "diff"):
    entry(name, by_method(name), SAMPLES.get(name, ()), single=name not in {"diff", "squeeze"})
entry("rename", lambda x, names: x.rename(names))
entry("broadcast", xr.broadcast)
entry("flip", flip)
entry("stack", stack, SAMPLES["stack"])
entry("unstack", unstack)
entry("concat", concat, SAMPLES["concat"])
entry("pad", pad, SAMPLES["pad"], single=False)
