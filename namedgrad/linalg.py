"""Linear algebra under its own name: ``ng.linalg.solve`` is ``ng.solve``.

On positional arrays these work on the last two axes.
"""

from __future__ import annotations

from typing import Any

from namedgrad.ops import FUNCTIONS
from namedgrad.primitive import OPERATIONS


def __dir__() -> list[str]:
    return sorted(name for name, op in OPERATIONS.items() if op.family == "linalg")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name not in OPERATIONS or OPERATIONS[name].family != "linalg":
        raise AttributeError(f"module 'namedgrad.linalg' has no attribute {name!r}; it has {', '.join(__dir__())}")
    return FUNCTIONS[name]
