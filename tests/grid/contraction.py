"""Products summed by name."""

import xarray as xr

from tests.support.grid import entry, sample

entry(
    "dot",
    xr.dot,
    samples=[
        sample("complex(a,b)", "complex(c,b)"), sample("real(a,b)", "real(b,a)", dim=...), sample("real(a,b,c)", "real(c,a,b)", dim=("c", "b")),
        sample("real(a,b)", dim="a"), sample("real(a)", "real(b)", "real(c)", "real(a,c)", dim="c"), sample("real(a,b)", "complex(b,c)"),
        sample("real(a,b)", "real(b)", dim="a"),
    ],
)  # fmt: skip
entry("matmul", xr.dot, [sample("complex(a,b)", "complex(b,c)", dim="b")])
entry("outer", lambda x, y: x * y)
