"""What a program asks of the device."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Counts:
    """Kernels launched, waits for the device, copies from host to device and the bytes in them."""

    launches: int = 0
    syncs: int = 0
    copies: int = 0
    sent: int = 0

    def reset(self) -> None:
        """Start again."""
        self.launches = self.syncs = self.copies = self.sent = 0

    def copy(self, x: np.ndarray) -> np.ndarray:
        """Note that an array is copied."""
        self.copies += 1
        self.sent += x.nbytes
        return x


stats = Counts()
