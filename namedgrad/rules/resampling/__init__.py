"""Resampling: interpolation onto other sizes, other coordinates, other grids."""

from namedgrad.rules.resampling import interp, interpolate

__all__ = ["interp", "interpolate"]
