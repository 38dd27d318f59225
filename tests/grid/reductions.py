"""Reductions and scans."""

import numpy as np
import scipy.special
import xarray as xr

from tests.support.grid import entry, sample

SAMPLES = {
    "sum": [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=()), sample("missing(a,b)", dim="b", skipna=False),
            sample("missing(a,b)", dim="b", min_count=3), sample("missing(a,b)", dim=("b", "a"), keepdims=True)],
    "mean": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", keepdims=True)],
    "var": [sample("missing(a,b)", dim="b", ddof=1), sample("real(a,b,c)", dim=("c", "a"), keepdims=True),
            sample("missing(a,b)", dim="b", skipna=False)],
    "std": [sample("complex(a,b)", dim="b"), sample("real(a,b)")],
    "prod": [sample("complex(a,b)", dim="b"), sample("missing(a,b)", dim="b", min_count=3), sample("real(a,b,c)", dim=("a", "c"))],
    "max": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False), sample("real(a,b)", dim="a", keepdims=True)],
    "min": [sample("real(a,b,c)", dim=("c", "a")), sample("missing(a,b)", dim="b", skipna=False)],
    "cumsum": [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b")), sample("missing(a,b)", dim="b", skipna=False)],
}  # fmt: skip


def by_method(name):
    return lambda x, *more, **kw: getattr(x, name)(*more, **kw)


def by_position(f):
    return lambda x, dim=None: xr.DataArray(f(x.to_numpy())) if dim is None else x.reduce(f, dim)


for name in ("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "any", "all", "count", "cumprod"):
    entry(name, by_method(name), SAMPLES.get(name, ()))
for name in ("argmax", "argmin"):
    entry(name, by_position(getattr(np, name)))
entry(
    "logsumexp",
    lambda x, dim=None, keepdims=False: x.reduce(scipy.special.logsumexp, dim, keepdims=keepdims),
    samples=[sample("real(a,b)", dim="a", keepdims=True), sample("complex(a,b)", dim="b")],
)
