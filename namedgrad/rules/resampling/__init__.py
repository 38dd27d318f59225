"""Resampling: interpolation onto other sizes, other coordinates, other grids."""

from namedgrad.rules.resampling import cells, interp, interpolate, sampling, splines

__all__ = ["cells", "interp", "interpolate", "sampling", "splines"]
