"""Closed forms of polynomials on other intervals and of Bessel functions and their kin, whose orders are whole."""

import math
from typing import Any

import numpy as np
from scipy.special import j0, j1, k0, k1, modstruve, struve, y0, y1

from tests.support.domains import Rng, domain
from tests.support.grid import point

INF, PI = math.inf, math.pi


@domain("above_count")
def _above_count(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(4, 7, shape)


EULER = 0.57721566490153286061
BER, KER = (0.984381781213086884, -0.0624457521790309602, -0.187120287857628761), (0.286706208728316046, -0.694603891100690521, 1.18959852761941042)  # at 1
BEI, KEI = (0.249566040036659721, 0.497396511468097327, 0.486985269744989557), (-0.4949946365187199, 0.352369913336170534, -0.0656637046078544884)  # and slopes
KEI_5 = (6.06442849031922917e-5, 5.56442849032904665)  # at 1e-5
ONE: dict[str, dict[Any, tuple[Any, Any]]] = {
    "ber": {0.0: (1, 0), 1.0: BER[:2], -1.0: (BER[0], -BER[1])},
    "bei": {0.0: (0, 0), 1.0: BEI[:2], -1e-5: (2.5e-11, -5e-6)},
    "berp": {0.0: (0, 0), 1.0: BER[1:], -1.0: (-BER[1], BER[2])},
    "beip": {0.0: (0, 0.5), 1.0: BEI[1:], -1e-200: (-5e-201, 0.5)},
    "ker": {0.0: (INF, -INF), 1.0: KER[:2], 1e-100: (100 * math.log(10) + math.log(2) - EULER, -1e100)},
    "kei": {0.0: (-PI / 4, 0), 1.0: KEI[:2], 1e-5: (-0.785398163081726885, KEI_5[0])},
    "kerp": {0.0: (-INF, INF), 1.0: KER[1:], 1e-100: (-1e100, 1e200)},
    "keip": {0.0: (0, INF), 1.0: KEI[1:], 1e-5: KEI_5},
}  # fmt: skip
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "kn": {(0, 2.0): (k0(2), (None, -k1(2))), (1, 1.0): (k1(1), (None, -k0(1) - k1(1))), (1, 0.0): (INF, (None, -INF))},
    "yn": {(0, 1.0): (y0(1), (None, -y1(1))), (1, 1.0): (y1(1), (None, y0(1) - y1(1))), (0, 0.0): (-INF, (None, INF))},
    "jve": {(0.0, 5.0): (j0(5), (PI / 2 * y0(5), -j1(5))), (1, 0.0): (0, (None, 0.5)), (0, 0.0): (1, (None, 0))},
    "yve": {(0.0, 5.0): (y0(5), (-PI / 2 * j0(5), -y1(5))), (0.0, 0.3): (y0(0.3), (-PI / 2 * j0(0.3), -y1(0.3))), (1, 1.0): (y1(1), (None, y0(1) - y1(1)))},
    "struve": {(0, 0.0): (0, (None, 2 / PI)), (1, 0.0): (0, (None, 0)), (0, 1.0): (struve(0, 1), (None, 2 / PI - struve(1, 1))), (1, 1.0): (struve(1, 1), (None, struve(0, 1) - struve(1, 1)))},
    "modstruve": {
        (0, 0.0): (0, (None, 2 / PI)), (1, 0.0): (0, (None, 0)), (0, 1.0): (modstruve(0, 1), (None, 2 / PI + modstruve(1, 1))),
        (1, 1.0): (modstruve(1, 1), (None, modstruve(0, 1) - modstruve(1, 1))),
    },
    "lpmv": {
        (0, 2, 0.5): (-0.125, (None, None, 1.5)), (1, 2, 0.5): (-1.5 * math.sqrt(0.75), (None, None, -math.sqrt(3))), (2, 2, 0.5): (2.25, (None, None, -3)),
        (0, 3, 1.0): (1, (None, None, 6)), (0, 3, -1.0): (-1, (None, None, 6)), (2, 2, 1.0): (0, (None, None, -6)), (1, 1, 1.0): (0, (None, None, INF)),
        (3, 3, 1.0): (0, (None, None, 0)), (1, 0, 1.0): (0, (None, None, 0)), (1, 1, -1.0): (0, (None, None, -INF)), (-2, 2, -1.0): (0, (None, None, 0.25)),
    },
    "eval_sh_jacobi": {(1, 3, 1, 0.3): (0.05, (None, None, None, 1)), (2, 3, 1, 0.3): (-13 / 300, (None, None, None, -1 / 15)), (0, 3, 1, 0.3): (1, (None, None, None, 0))},
    "eval_sh_legendre": {(1, 0.3): (-0.4, (None, 2)), (2, 0.5): (-0.5, (None, 0)), (0, 0.3): (1, (None, 0)), (2, 1.0): (1, (None, 6))},
    "eval_sh_chebyt": {(2, 1.0): (1, (None, 8)), (1, 0.3): (-0.4, (None, 2)), (0, 0.3): (1, (None, 0))},
    "eval_sh_chebyu": {(2, 1.0): (3, (None, 16)), (1, 0.5): (0, (None, 4)), (0, 0.3): (1, (None, 0))},
    "eval_chebyc": {(2, 1.0): (-1, (None, 2)), (1, 0.3): (0.3, (None, 1)), (0, 0.3): (2, (None, 0))},
    "eval_chebys": {(2, 1.0): (0, (None, 2)), (1, 0.3): (0.3, (None, 1)), (0, 0.3): (1, (None, 0))},
}  # fmt: skip


def _hankel(sign: int, scaled: bool, n: int, x: float) -> Any:
    """A whole order at a real number, from the functions of Bessel."""
    h0, h1 = j0(x) + sign * 1j * y0(x), j1(x) + sign * 1j * y1(x)
    value, slope, factor = (h1, h0 - h1 / x, np.exp(-sign * 1j * x)) if n else (h0, -h1, np.exp(-sign * 1j * x))
    slope = factor * (slope - sign * 1j * value) if scaled else slope
    return point([n], [x], value=[factor * value if scaled else value], gradients=[lambda c: np.real(c * np.conj(slope))])


OTHER = {
    f"hankel{kind}{'e' * scaled}": [_hankel(sign, scaled, n, x) for n, x in ((0, 1.0), (1, 2.5), (0, 30.0), (1, 0.3))]
    for kind, sign in ((1, 1), (2, -1)) for scaled in (False, True)
}  # fmt: skip
