"""What NumPy's functions do on positional arrays, with NumPy's own signatures; importing a module declares its part."""

from __future__ import annotations

from namedgrad.positional.functions import creation, elementwise, gathering, joining, plain, reductions, shapes, sorting

__all__ = ["creation", "elementwise", "gathering", "joining", "plain", "reductions", "shapes", "sorting"]
