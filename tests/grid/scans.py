"""Scans."""

import numpy as np
import pandas as pd
import scipy.integrate
import xarray as xr

from tests.support.grid import along, by_method, entry, point, sample

NAN, INF = np.nan, np.inf


entry(
    "cumsum",
    by_method("cumsum"),
    [sample("complex(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b")), sample("missing(a,b)", dim="b", skipna=False)],
    [
        point([1.0, NAN, 2.0], value=[1.0, 1.0, 3.0], gradients=[lambda c: [c.sum(), 0, c[2]]]),
        point([1.0, NAN, 2.0], skipna=False, value=[1.0, NAN, NAN], gradients=None),
        point([INF, 1.0], value=[INF, INF], gradients=[lambda c: [c.sum(), c[1]]]),
    ],
)
entry(
    "cumprod",
    by_method("cumprod"),
    [sample("complex(a,b)", dim="b"), sample("zeros(a,nine)", dim="nine"), sample("zeros(a,b)", dim=("a", "b")), sample("zeros(nine)")],
    [
        point([2.0, 0.0, 3.0], value=[2.0, 0.0, 0.0], gradients=[lambda c: [c[0], 2 * c[1] + 6 * c[2], 0]]),
        point([0.0, 0.0, 3.0], value=[0.0, 0.0, 0.0], gradients=[lambda c: [c[0], 0, 0]]),
        point([2.0, NAN, 3.0], value=[2.0, 2.0, 6.0], gradients=[lambda c: [c[0] + c[1] + 3 * c[2], 0, 2 * c[2]]]),
        point([1e-200, 1e-200, 1e250], value=[1e-200, 0.0, 0.0], gradients=[lambda c: [c[0] + 1e-200 * c[1] + 1e50 * c[2], 1e-200 * c[1] + 1e50 * c[2], 0]]),
    ],
)
for name, gradient in (("nancumsum", lambda c: [c.sum(), 0, c[2]]), ("nancumprod", lambda c: [c[0] + c[1] + 3 * c[2], 0, 2 * c[2]])):
    entry(
        name,
        by_method(name[3:]),
        points=[
            point([2.0, NAN, 3.0], value=[2.0, 2.0, 5.0] if "sum" in name else [2.0, 2.0, 6.0], gradients=[gradient]),
            point([NAN], value=[0.0 if "sum" in name else 1.0], gradients=[lambda c: [0]]),
            point([NAN, 4.0], value=[0.0, 4.0] if "sum" in name else [1.0, 4.0], gradients=[lambda c: [0, c[1]]]),
        ],
    )


def running(name):
    return along(lambda a, axis, skipna=True: getattr(np, f"f{name}" if skipna else f"{name}imum").accumulate(a, axis=axis))


for name, s in (("max", 1), ("min", -1)):
    entry(
        f"cum{name}",
        running(name),
        samples=[sample("real(nine,b)", dim="nine"), sample("real(a,nine)", dim="nine"), sample("index_c(a,nine)", dim="nine")],
        points=[
            point([s * 1.0, s * 3.0, s * 2.0], value=[s * 1.0, s * 3.0, s * 3.0], gradients=[lambda c: [c[0], c[1] + c[2], 0]]),
            point([s * 2.0, s * 2.0, s * 1.0], value=[s * 2.0] * 3, gradients=[lambda c: [c[0] + c[1] / 2 + c[2] / 2, c[1] / 2 + c[2] / 2, 0]]),
            point([NAN, s * 1.0, NAN], value=[NAN, s * 1.0, s * 1.0], gradients=[lambda c: [0, c[1] + c[2], 0]]),
            point([s * INF, s * 1.0], value=[s * INF, s * INF], gradients=[lambda c: [c.sum(), 0]]),
        ],
    )

entry(
    "logcumsumexp",
    along(lambda a, axis: np.log(np.cumsum(np.exp(a), axis=axis))),
    samples=[sample("real(nine,b)", dim="nine"), sample("real(six)")],
    points=[
        point([-INF, -INF, 1.0], value=[-INF, -INF, 1.0], gradients=[lambda c: [0, 0, c[2]]]),
        point([1000.0, 1000.0], value=[1000.0, 1000 + np.log(2)], gradients=[lambda c: [c[0] + c[1] / 2, c[1] / 2]]),
        point([-1e4, 1e4], value=[-1e4, 1e4], gradients=[lambda c: [c[0], c[1]]]),
        point([1e4, -1e4], value=[1e4, 1e4], gradients=[lambda c: [c[0] + c[1], 0]]),
    ],
)

# ------------------------------------------------------------------------------------------------ integrals


def integral(f, keeps):
    def reference(y, x=None, dim=None, **kw):
        dim = (x if x is not None and x.ndim == 1 else y).dims[-1] if dim is None else dim
        if x is not None:
            x = x.to_numpy() if x.ndim == 1 else x.transpose(*y.dims).to_numpy()
        out = f(y.to_numpy(), x, axis=y.dims.index(dim), **kw)
        return xr.DataArray(out, dims=[d for d in y.dims if keeps or d != dim])

    return reference


entry(
    "trapezoid",
    integral(np.trapezoid, keeps=False),
    samples=[sample("complex(a,b)", dim="b"), sample("real(nine)", "real(nine)")],
    points=[
        point([1.0, 2.0, 4.0], dx=0.5, value=2.25, gradients=[lambda c: [c / 4, c / 2, c / 4]]),
        point([7.0], value=0.0, gradients=[lambda c: [0]]),
        point([1.0, 3.0], [0.0, 2.0], value=4.0, gradients=[lambda c: [c, c], lambda c: [-2 * c, 2 * c]]),
        point([1.0, 3.0], [2.0, 2.0], value=0.0, gradients=[lambda c: [0, 0], lambda c: [-2 * c, 2 * c]]),
    ],
)
entry(
    "cumulative_trapezoid",
    integral(scipy.integrate.cumulative_trapezoid, keeps=True),
    samples=[sample("real(nine)", "real(nine)"), sample("real(a,b)", dim="b", initial=0)],
    points=[
        point([1.0, 2.0, 4.0], value=[1.5, 4.5], gradients=[lambda c: [c.sum() / 2, c[0] / 2 + c[1], c[1] / 2]]),
        point([1.0, 3.0], initial=0, value=[0.0, 2.0], gradients=[lambda c: [c[1] / 2, c[1] / 2]]),
        point([1.0, 3.0], [0.0, 2.0], value=[4.0], gradients=[lambda c: [c[0], c[0]], lambda c: [-2 * c[0], 2 * c[0]]]),
    ],
    single=False,
)

# ------------------------------------------------------------------------------------------------ gaps


def fill(name):
    def line(a, limit):
        return getattr(pd.Series(a), name)(limit=limit).to_numpy()

    return along(lambda a, axis, limit=None: np.apply_along_axis(line, axis, a, limit))


entry(
    "ffill",
    fill("ffill"),
    samples=[sample("missing(a,nine)", dim="nine", limit=2), sample("real(a,b)", dim="a")],
    points=[
        point([NAN, 1.0, NAN, NAN, 2.0], value=[NAN, 1.0, 1.0, 1.0, 2.0], gradients=[lambda c: [0, c[1] + c[2] + c[3], 0, 0, c[4]]]),
        point([1.0, NAN, NAN], limit=1, value=[1.0, 1.0, NAN], gradients=[lambda c: [c[0] + c[1], 0, 0]]),
        point([NAN, NAN], value=[NAN, NAN], gradients=[lambda c: [0, 0]]),
    ],
)
entry(
    "bfill",
    fill("bfill"),
    samples=[sample("missing(a,nine)", dim="nine", limit=2), sample("real(a,b)", dim="a")],
    points=[
        point([NAN, 1.0, NAN, NAN, 2.0], value=[1.0, 1.0, 2.0, 2.0, 2.0], gradients=[lambda c: [0, c[0] + c[1], 0, 0, c[2:].sum()]]),
        point([NAN, NAN, 1.0], limit=1, value=[NAN, 1.0, 1.0], gradients=[lambda c: [0, 0, c[1] + c[2]]]),
        point([NAN, NAN], value=[NAN, NAN], gradients=[lambda c: [0, 0]]),
    ],
)
