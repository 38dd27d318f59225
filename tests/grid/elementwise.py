"""Elementwise operations: NumPy's ufuncs and their like."""

import numpy as np
import xarray as xr

from namedgrad.primitive import OPERATIONS
from tests.support.grid import entry, sample, ufunc

HOLOMORPHIC = ["negative", "positive", "reciprocal", "square", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "arccosh"]  # fmt: skip
SAMPLES = {
    **{name: [sample("complex(a,b)")] for name in HOLOMORPHIC},
    **{
        name: [sample("complex(a,b)", "complex(b,c)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "real(a,b)")]
        for name in ("add", "subtract", "multiply")
    },
    "divide": [sample("complex(a,b)", "complex(b)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "nonzero(a,b)")],
    "power": [sample("complex(a,b)", "complex(b)"), sample("positive(b)", "complex(a,b)")],
    "where": [sample("bool(a)", "complex(a,b)", "real(b)")],
    "clip": [sample("real(a,b)", "real(a)", max=1.1)],
}
OTHERS = {
    "where": xr.where,
    "clip": lambda x, *more, **kw: x.clip(*more, **kw),
    **{name: ufunc(getattr(np, name)) for name in ("real", "imag", "angle", "round")},
}

for name, op in OPERATIONS.items():
    if op.family in {"elementwise", "complex"}:
        entry(name, OTHERS.get(name) or ufunc(getattr(np, name)), SAMPLES.get(name, ()))
