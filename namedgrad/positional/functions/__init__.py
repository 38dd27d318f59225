"""What NumPy's functions do on positional arrays, with NumPy's own signatures; importing a module declares its part."""

from __future__ import annotations

from namedgrad.positional.functions import (
    calculus,
    counting,
    creation,
    decompositions,
    elementwise,
    fourier,
    gathering,
    joining,
    linalg,
    plain,
    products,
    reductions,
    shapes,
    sorting,
    statistics,
)

__all__ = [
    "calculus", "counting", "creation", "decompositions", "elementwise", "fourier", "gathering", "joining", "linalg",
    "plain", "products", "reductions", "shapes", "sorting", "statistics",
]  # fmt: skip
