"""Linear algebra under its own name: ``ng.linalg.solve`` is ``ng.solve``.

On positional arrays these work on the last two axes.
"""

from __future__ import annotations

from typing import Any

from namedgrad.ops import FUNCTIONS
from namedgrad.primitive import OPERATIONS

__all__ = sorted(name for name, op in OPERATIONS.items() if op.family == "linalg")  # noqa: PLE0605 - of the registry


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'namedgrad.linalg' has no attribute {name!r}; it has {', '.join(__all__)}")
    return FUNCTIONS[name]


def __dir__() -> list[str]:
    return __all__
