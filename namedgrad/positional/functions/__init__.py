"""What NumPy's functions do on positional arrays, with NumPy's own signatures; importing a module declares its part."""

from __future__ import annotations

from namedgrad.positional.functions import (
    applying,
    calculus,
    counting,
    creation,
    decompositions,
    domains,
    elementwise,
    fitting,
    fourier,
    gathering,
    histograms,
    joining,
    linalg,
    plain,
    polynomials,
    products,
    reductions,
    runs,
    sets,
    shapes,
    sorting,
    spacing,
    statistics,
    uncounted,
)

__all__ = [
    "applying", "calculus", "counting", "creation", "decompositions", "domains", "elementwise", "fitting", "fourier",
    "gathering", "histograms", "joining", "linalg", "plain", "polynomials", "products", "reductions", "runs", "sets",
    "shapes", "sorting", "spacing", "statistics", "uncounted",
]  # fmt: skip
