"""xarray objects under the transforms: adapters, public functions on them, and the accessor ``.grad``."""

from __future__ import annotations

from namedgrad.xarray import leaves
from namedgrad.xarray.convert import asdimarray

__all__ = ["asdimarray", "leaves"]
