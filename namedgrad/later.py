"""A table that is filled in two steps: what every program needs at once, all else when it is first asked for."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class Later(UserDict[str, T]):
    """Entries by name.  Importing ``module`` adds the last: when one is missed, or all are asked for."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module

    def __missing__(self, name: str) -> T:
        import_module(self.module)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        if name not in self.data:
            import_module(self.module)
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        import_module(self.module)
        return iter(self.data)

    def __len__(self) -> int:
        import_module(self.module)
        return len(self.data)
