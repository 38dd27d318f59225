"""namedgrad: named-axis arrays with xarray-style dims and automatic differentiation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from namedgrad import ops as _ops
from namedgrad.array import DimArray, TraceError
from namedgrad.axes import AxisError
from namedgrad.transforms.grad import grad, jvp, pullback, pushforward, value_and_grad, vjp

globals().update(_ops.FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
