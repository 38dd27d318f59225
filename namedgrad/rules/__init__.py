"""Rules, a family of operations per module or package; importing this package registers all of them."""

from namedgrad.rules import (
    activations,
    complex,
    contraction,
    control,
    elementwise,
    fourier,
    indexing,
    layers,
    linalg,
    losses,
    movement,
    reductions,
    resampling,
    scans,
    sorting,
    structure,
)

__all__ = [
    "activations",
    "complex",
    "contraction",
    "control",
    "elementwise",
    "fourier",
    "indexing",
    "layers",
    "linalg",
    "losses",
    "movement",
    "reductions",
    "resampling",
    "scans",
    "sorting",
    "structure",
]
