"""xarray objects under the transforms: adapters, public functions on them, and the accessor ``.grad``."""

from __future__ import annotations

from namedgrad.xarray import accessor, borrowed, faces, functions, leaves, numbagg, reducing, seams
from namedgrad.xarray.convert import asdimarray

__all__ = ["accessor", "asdimarray", "borrowed", "faces", "functions", "leaves", "numbagg", "reducing", "seams"]
