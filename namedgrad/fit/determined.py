"""Whether the data determine the parameters: inverse normal matrices, and those that are lost to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.parameters import Matrix

DETERMINED = 1e12  # variance inflation beyond which rounding has eaten the covariance


def inverses(normal: Matrix, fitted: Any) -> tuple[Matrix, Any]:
    """Inverse normal matrices, and where they are lost to rounding; infinite there."""
    with np.errstate(all="ignore"):
        scale = small.lengths(normal)
        inverse = small.inverse(normal / scale[:, None] / scale)
        lost = fitted & ~(np.max(small.diagonal(inverse), axis=0) <= DETERMINED)
        out = inverse / scale[:, None] / scale
    return np.where(lost, np.inf, out) if lost.any() else out, lost
