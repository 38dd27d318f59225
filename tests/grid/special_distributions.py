"""Closed forms of distribution functions and their inverses."""

import math
from typing import Any

import numpy as np
import scipy.special

from tests.support.domains import Rng, domain, spaced

INF, E, PI = math.inf, math.e, math.pi
L2, L4, ROOT, BELL = math.log(2), math.log(4), math.sqrt(2 * PI), math.sqrt(2 * PI) * math.exp(0.5)
DP = {(1, 1): -0.4317297106348987}  # dP/da, by mpmath
DX = (0.968044830442044448, 1.378498150668306264)  # of the inverse of P at (1, 1/2) and (1, 3/4)
ONE_SIGMA, TWO_SIGMA = scipy.special.ndtr(1.0), scipy.special.ndtr(2.0)


@domain("trials")
def _trials(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(4, 8, shape)


@domain("tail")
def _tail(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, 0.05, 0.3)


ONE: dict[str, dict[Any, tuple[Any, Any]]] = {
    "kolmogorov": {0.0: (1, 0), -1.0: (1, 0), INF: (0, 0), 1.0: (0.26999967167735452, -1.0719485583569418), 0.5: (0.96394524366487509, -0.63958285094045663), 10.0: (2 * math.exp(-200), -80 * math.exp(-200))},
}  # fmt: skip
# operands: value and slopes, None for a count
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "stdtr": {
        (1.0, 0.0): (0.5, (0, 1 / PI)), (2.0, 0.0): (0.5, (0, math.sqrt(0.125))), (1.0, INF): (1, (0, 0)), (3.0, -INF): (0, (0, 0)),
        (1.0, 1.0): (0.75, (0.066202980469461722, 0.5 / PI)), (1.0, -1.0): (0.25, (-0.066202980469461722, 0.5 / PI)),
    },
    "stdtrit": {
        (1.0, 0.5): (0, (0, PI)), (2.0, 0.5): (0, (0, math.sqrt(8))), (1.0, 0.75): (1, (-2 * PI * 0.066202980469461722, 2 * PI)),
        (1.0, 0.25): (-1, (2 * PI * 0.066202980469461722, 2 * PI)), (1.0, 1.0): (INF, (0, INF)),
    },
    "fdtr": {(2.0, 2.0, 1.0): (0.5, (0.125 - L2 / 4, L2 / 4 - 0.125, 0.25)), (2.0, 2.0, 0.0): (0, (0, 0, 1)), (2.0, 2.0, INF): (1, (0, 0, 0))},
    "fdtrc": {(2.0, 2.0, 1.0): (0.5, (L2 / 4 - 0.125, 0.125 - L2 / 4, -0.25)), (2.0, 2.0, 0.0): (1, (0, 0, -1)), (2.0, 2.0, INF): (0, (0, 0, 0))},
    "fdtri": {(2.0, 2.0, 0.5): (1, (L2 - 0.5, 0.5 - L2, 4)), (2.0, 2.0, 0.0): (0, (0, 0, 1)), (2.0, 2.0, 1.0): (INF, (0, 0, INF))},
    "bdtr": {(1, 2, 0.5): (0.75, (None, None, -1)), (0, 3, 0.0): (1, (None, None, -3)), (2, 2, 0.3): (1, (None, None, 0))},
    "bdtrc": {(1, 2, 0.5): (0.25, (None, None, 1)), (0, 3, 0.0): (0, (None, None, 3)), (2, 2, 0.3): (0, (None, None, 0))},
    "bdtri": {(1, 2, 0.75): (0.5, (None, None, -1)), (0, 1, 0.25): (0.75, (None, None, -1)), (0, 2, 1.0): (0, (None, None, -0.5))},
    "nbdtr": {(0, 1, 0.3): (0.3, (None, None, 1)), (1, 1, 0.5): (0.75, (None, None, 1)), (0, 2, 0.5): (0.25, (None, None, 1)), (0, 2, 0.0): (0, (None, None, 0))},
    "nbdtrc": {(0, 1, 0.3): (0.7, (None, None, -1)), (1, 1, 0.5): (0.25, (None, None, -1)), (0, 2, 0.5): (0.75, (None, None, -1))},
    "nbdtri": {(0, 1, 0.3): (0.3, (None, None, 1)), (1, 1, 0.75): (0.5, (None, None, 1)), (0, 2, 0.25): (0.5, (None, None, 1))},
    "pdtr": {(0, 1.0): (1 / E, (None, -1 / E)), (1, 1.0): (2 / E, (None, -1 / E)), (0, 0.0): (1, (None, -1)), (2, INF): (0, (None, 0))},
    "pdtrc": {(0, 1.0): (1 - 1 / E, (None, 1 / E)), (1, 1.0): (1 - 2 / E, (None, 1 / E)), (0, 0.0): (0, (None, 1))},
    "pdtri": {(0, 1 / E): (1, (None, -E)), (0, 0.5): (L2, (None, -2)), (1, 2 / E): (1, (None, -E))},
    "gdtr": {(1.0, 1.0, 1.0): (1 - 1 / E, (1 / E, DP[1, 1], 1 / E)), (2.0, 1.0, 0.5): (1 - 1 / E, (0.5 / E, DP[1, 1], 2 / E)), (1.0, 2.0, 0.0): (0, (0, 0, 0)), (1.0, 3.0, INF): (1, (0, 0, 0))},
    "gdtrc": {(1.0, 1.0, 1.0): (1 / E, (-1 / E, -DP[1, 1], -1 / E)), (2.0, 1.0, 0.5): (1 / E, (-0.5 / E, -DP[1, 1], -2 / E)), (1.0, 2.0, 0.0): (1, (0, 0, 0)), (1.0, 3.0, INF): (0, (0, 0, 0))},
    "gdtrix": {(1.0, 1.0, 0.5): (L2, (-L2, DX[0], 2)), (2.0, 1.0, 0.75): (L2, (-L2 / 2, DX[1] / 2, 2)), (1.0, 2.0, 0.0): (0, (0, 0, INF))},
    "gdtria": {(0.5, 1.0, 1.0): (L2, (2, DX[0], -L2)), (0.75, 1.0, 2.0): (L2, (2, DX[1] / 2, -L2 / 2)), (0.0, 2.0, 1.0): (0, (INF, 0, 0))},
    "chdtri": {(2.0, 0.5): (2 * L2, (DX[0], -4)), (2.0, 0.25): (2 * L4, (DX[1], -8)), (2.0, 1.0): (0, (0, -2))},
    "chndtr": {  # of 2 degrees of freedom half of exp(-(x + nc) / 2) I0(sqrt(nc x)) is the density
        (1.0, 2, 0.0): (1 - math.exp(-0.5), (0.5 * math.exp(-0.5), None, -0.25 * math.exp(-0.5))), (0.0, 2, 1.0): (0, (0.5 * math.exp(-0.5), None, 0)), (INF, 3, 2.0): (1, (0, None, 0)),
        (4.0, 2, 1.0): (0.73098793996409, (0.5 * math.exp(-2.5) * scipy.special.i0(2), None, -math.exp(-2.5) * scipy.special.i1(2))),
    },
    "nrdtrimn": {(0.5, 1.0, 2.0): (2, (-ROOT, 0, 1)), (0.5, 3.0, -1.0): (-1, (-3 * ROOT, 0, 1)), (ONE_SIGMA, 2.0, 1.0): (-1, (-2 * BELL, -1, 1))},
    "nrdtrisd": {(0.0, ONE_SIGMA, 2.0): (2, (-1, -2 * BELL, 1)), (1.0, 1 - ONE_SIGMA, 0.0): (1, (1, BELL, -1)), (3.0, TWO_SIGMA, 3.0): (0, (-0.5, 0, 0.5))},
}  # fmt: skip
