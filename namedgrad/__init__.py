"""namedgrad: named-axis arrays with xarray-style dims and automatic differentiation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
from namedgrad.transforms.grad import grad, jvp, pullback, pushforward, value_and_grad, vjp
from namedgrad.transforms.jacobian import hessian, hvp, jacobian
from namedgrad.transforms.linearize import LinearMap, linearize
from namedgrad.transforms.vectorize import devectorize, vectorize, vmap
from namedgrad.xarray import asdimarray

if TYPE_CHECKING:
    from namedgrad.testing.check import check_gradients
    from namedgrad.transforms.checkpoint import checkpoint
    from namedgrad.transforms.control import cond, fori_loop, while_loop
    from namedgrad.transforms.custom import custom_pullback, custom_pushforward
    from namedgrad.transforms.scan import scan
    from namedgrad.transforms.vectors import broadcast_vectors, reshape_vectors, revectorize

_LATER = {
    "namedgrad.fit": ("FitResult", "curvefit", "least_squares", "minimize"),
    "namedgrad.testing.check": ("check_gradients",),
    "namedgrad.transforms.checkpoint": ("checkpoint",),
    "namedgrad.transforms.control": ("cond", "fori_loop", "while_loop"),  # the condition number is cond of one matrix
    "namedgrad.transforms.custom": ("custom_pullback", "custom_pushforward"),
    "namedgrad.transforms.scan": ("scan",),
    "namedgrad.transforms.vectors": ("broadcast_vectors", "reshape_vectors", "revectorize"),
}
_PLACES = {name: place for place, names in _LATER.items() for name in names}
_PACKAGES = ("random", "xr")
_LAYERS = "namedgrad.positional.layers"  # conv2d and its kin
del globals()["trace"]  # the module gives way to the operation of its name


def __getattr__(name: str) -> Any:
    """Operations are made, and what not every program needs is imported, when it is first asked for."""
    found: Any
    if name == "__version__":
        from importlib.metadata import version

        found = version("namedgrad")
    elif name in _PACKAGES:
        found = importlib.import_module(f"namedgrad.{name}")
    elif name in _PLACES:
        found = getattr(importlib.import_module(_PLACES[name]), name)
    elif name in _ops.FUNCTIONS:
        found = _ops.FUNCTIONS[name]
    elif name in (layers := importlib.import_module(_LAYERS)).__all__:
        found = getattr(layers, name)
    else:
        raise AttributeError(f"module 'namedgrad' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *_PACKAGES, *_ops.FUNCTIONS, *importlib.import_module(_LAYERS).__all__})
