"""Rules, a family of operations per module or package.

Importing this package registers those that most programs need; :mod:`namedgrad.rules.later` registers the others.
"""

from namedgrad.rules import (
    complex,
    contraction,
    control,
    elementwise,
    indexing,
    movement,
    parts,
    reductions,
    resampling,
    scans,
    signal,
    sorting,
    structure,
    tangents,
    values,
    windows,
)

__all__ = [
    "complex",
    "contraction",
    "control",
    "elementwise",
    "indexing",
    "movement",
    "parts",
    "reductions",
    "resampling",
    "scans",
    "signal",
    "sorting",
    "structure",
    "tangents",
    "values",
    "windows",
]
