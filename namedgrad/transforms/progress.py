"""A progress bar that counts what is finished."""

from __future__ import annotations

import threading
from typing import Any, Self


class Progress:
    """Counts cells or passes; shows a bar if asked."""

    def __init__(self, total: int, what: str, *, shown: bool, unit: str = "cell") -> None:
        self.bar: Any = None
        self._lock = threading.Lock()
        if shown:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=total, desc=what, unit=unit)

    def update(self, count: int) -> None:
        """So many more cells are done."""
        if self.bar is not None:
            with self._lock:
                self.bar.update(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.bar is not None:
            self.bar.close()
