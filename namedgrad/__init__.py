"""namedgrad: named-axis arrays with xarray-style dims and automatic differentiation."""

from __future__ import annotations

import importlib
from typing import Any

from namedgrad import linalg
from namedgrad import ops as _ops
from namedgrad.array import DimArray, TraceError
from namedgrad.axes import AxisError
from namedgrad.compile import compile
from namedgrad.constructors import (
    arange,
    eye,
    fftfreq,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rfftfreq,
    zeros,
    zeros_like,
)
from namedgrad.positional import PositionalArray, positional
from namedgrad.positional import layers as _layers
from namedgrad.testing.check import check_gradients
from namedgrad.transforms.checkpoint import checkpoint
from namedgrad.transforms.control import cond as _cond
from namedgrad.transforms.control import fori_loop, while_loop
from namedgrad.transforms.custom import custom_pullback, custom_pushforward
from namedgrad.transforms.grad import grad, jvp, pullback, pushforward, value_and_grad, vjp
from namedgrad.transforms.jacobian import hessian, hvp, jacobian
from namedgrad.transforms.linearize import LinearMap, linearize
from namedgrad.transforms.scan import scan
from namedgrad.transforms.vectorize import devectorize, vectorize, vmap
from namedgrad.transforms.vectors import broadcast_vectors, reshape_vectors, revectorize
from namedgrad.xarray import asdimarray

globals().update({name: getattr(_layers, name) for name in _layers.__all__})
globals().update({name: _ops.FUNCTIONS[name] for name in _ops.FUNCTIONS if name in globals()})  # a module's name, too
cond = _cond  # a branch, or the condition number

_FITS = ("FitResult", "curvefit", "least_squares", "minimize")
_LATER = {**dict.fromkeys(_FITS, "namedgrad.fit"), "random": "", "xr": ""}


def __getattr__(name: str) -> Any:
    """Operations are made, fits and draws imported, when they are first asked for."""
    found: Any
    if name in _ops.FUNCTIONS:
        found = _ops.FUNCTIONS[name]
    elif name in _LATER:
        place = _LATER[name]
        found = getattr(importlib.import_module(place), name) if place else importlib.import_module(f"namedgrad.{name}")
    else:
        raise AttributeError(f"module 'namedgrad' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_ops.FUNCTIONS})
