"""Resampling: interpolation onto other sizes, other coordinates, other grids."""

from namedgrad.rules.resampling import interpolate

__all__ = ["interpolate"]
