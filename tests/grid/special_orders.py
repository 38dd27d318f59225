"""Closed forms of polynomials on other intervals and of Bessel functions and their kin, whose orders are whole."""

import math
from typing import Any

import numpy as np

from tests.support.domains import Rng, domain

INF, PI = math.inf, math.pi


@domain("above_count")
def _above_count(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(4, 7, shape)


ONE: dict[str, dict[Any, tuple[Any, Any]]] = {}
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "eval_sh_jacobi": {(1, 3, 1, 0.3): (0.05, (None, None, None, 1)), (2, 3, 1, 0.3): (-13 / 300, (None, None, None, -1 / 15)), (0, 3, 1, 0.3): (1, (None, None, None, 0))},
    "eval_sh_legendre": {(1, 0.3): (-0.4, (None, 2)), (2, 0.5): (-0.5, (None, 0)), (0, 0.3): (1, (None, 0)), (2, 1.0): (1, (None, 6))},
    "eval_sh_chebyt": {(2, 1.0): (1, (None, 8)), (1, 0.3): (-0.4, (None, 2)), (0, 0.3): (1, (None, 0))},
    "eval_sh_chebyu": {(2, 1.0): (3, (None, 16)), (1, 0.5): (0, (None, 4)), (0, 0.3): (1, (None, 0))},
    "eval_chebyc": {(2, 1.0): (-1, (None, 2)), (1, 0.3): (0.3, (None, 1)), (0, 0.3): (2, (None, 0))},
    "eval_chebys": {(2, 1.0): (0, (None, 2)), (1, 0.3): (0.3, (None, 1)), (0, 0.3): (1, (None, 0))},
    "lpmv": {
        (0, 2, 0.5): (-0.125, (None, None, 1.5)), (1, 2, 0.5): (-1.5 * math.sqrt(0.75), (None, None, -math.sqrt(3))), (2, 2, 0.5): (2.25, (None, None, -3)),
        (0, 3, 1.0): (1, (None, None, 6)), (0, 3, -1.0): (-1, (None, None, 6)), (2, 2, 1.0): (0, (None, None, -6)), (1, 1, 1.0): (0, (None, None, INF)),
        (3, 3, 1.0): (0, (None, None, 0)), (1, 0, 1.0): (0, (None, None, 0)),
    },
}  # fmt: skip
