"""What a program asks of the device."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Counts:
    """Kernels launched, waits for the device, copies from host to device."""

    launches: int = 0
    syncs: int = 0
    copies: int = 0

    def reset(self) -> None:
        """Start again."""
        self.launches = self.syncs = self.copies = 0


stats = Counts()
