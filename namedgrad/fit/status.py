"""How a fit can end, in every cell."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np


class Status(enum.IntEnum):
    """Flags of ``FitResult.status``."""

    CONVERGED = 0  # the tolerance is met
    MAX_ITERATIONS = 1  # it ran out of iterations
    SINGULAR = 2  # it stopped, but the data do not determine all parameters, or the loss has no minimum there
    BOUND = 3  # the tolerance is met, with a parameter on its bound
    NO_DATA = 4  # fewer finite residuals than free parameters
    NOT_FINITE = 5  # residuals or derivatives that are not finite at the start values
    STALLED = 6  # no step lowers the cost although the tolerance is not met


def attributes() -> dict[str, Any]:
    """Attributes of a flag variable, as the CF conventions have them."""
    return {
        "long_name": "status of the fit",
        "flag_values": np.array([s.value for s in Status]),
        "flag_meanings": " ".join(s.name.lower() for s in Status),
    }
