"""Closed forms of Carlson's integrals, of confluent hypergeometric functions, and of functions with several results."""

import math
from typing import Any

import numpy as np
from scipy.special import airy, bei, beip, ber, berp, i0, iv, j0, j1, kei, keip, ker, kerp

from tests.support.grid import point

INF, PI, E = math.inf, math.pi, math.e
E1 = 0.21938393439552027
ONE: dict[str, dict[Any, tuple[Any, Any]]] = {}
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "elliprc": {(1.0, 1.0): (1, (-1 / 6, -1 / 3)), (0.0, 1.0): (PI / 2, (-INF, -PI / 4)), (4.0, 4.0): (0.5, (-1 / 48, -1 / 24)), (1.0, INF): (0, (0, 0))},
    "elliprf": {(1.0, 1.0, 1.0): (1, (-1 / 6,) * 3), (0.0, 1.0, 1.0): (PI / 2, (-INF, -PI / 8, -PI / 8)), (4.0, 4.0, 4.0): (0.5, (-1 / 48,) * 3)},
    "elliprd": {(1.0, 1.0, 1.0): (1, (-0.3, -0.3, -0.9)), (0.0, 1.0, 1.0): (0.75 * PI, (-INF, -9 / 32 * PI, -27 / 32 * PI)), (4.0, 4.0, 4.0): (0.125, (-0.3 / 32, -0.3 / 32, -0.9 / 32))},
    "elliprg": {(1.0, 1.0, 1.0): (1, (1 / 6,) * 3), (0.0, 1.0, 1.0): (PI / 4, (PI / 8, PI / 16, PI / 16)), (4.0, 4.0, 4.0): (2, (1 / 12,) * 3)},
    "elliprj": {
        (1.0, 1.0, 1.0, 1.0): (1, (-0.3, -0.3, -0.3, -0.6)), (0.0, 1.0, 1.0, 1.0): (0.75 * PI, (-INF, -9 / 32 * PI, -9 / 32 * PI, -9 / 16 * PI)),
        (4.0, 4.0, 4.0, 4.0): (0.125, (-0.3 / 32, -0.3 / 32, -0.3 / 32, -0.6 / 32)),
    },
    "agm": {(1.0, 1.0): (1, (0.5, 0.5)), (2.0, 2.0): (2, (0.5, 0.5)), (1.0, 0.0): (0, (0, INF)), (1e200, 1e200): (1e200, (0.5, 0.5))},
    "hyp0f1": {(1, 0.0): (1, (None, 1)), (1, 1.0): (i0(2), (None, iv(1, 2))), (2, 1.0): (iv(1, 2), (None, iv(2, 2))), (1, -1.0): (j0(2), (None, j1(2))), (1, INF): (INF, (None, INF))},
    "hyp1f1": {
        (1, 2, 1.0): (E - 1, (None, None, 1)), (1, 2, 0.0): (1, (None, None, 0.5)), (0, 2, 1.0): (1, (None, None, 0)), (-1, 2, 3.0): (-0.5, (None, None, -0.5)),
        (1.0, 1.0, 1.0): (E, (2.1653822153269364, -2.1653822153269364, E)), (2.0, 3.0, 0.0): (1, (0, 0, 2 / 3)), (1, 2, -INF): (0, (None, None, 0)), (1, 2, INF): (INF, (None, None, INF)),
        (2.0, 0.5, -3.0): (-0.10809598561800131, (0.32502645201495467, -0.23734879010070611, -0.1846826642696669)),
    },
    "hyperu": {
        (1, 1, 1.0): (E * E1, (None, None, E * E1 - 1)), (1, 2, 2.0): (0.5, (None, None, -0.25)), (1, 2, 0.0): (INF, (None, None, -INF)), (2, 3, 2.0): (0.25, (None, None, -0.25)),
        (0, 1, 0.0): (1, (None, None, 0)), (-1, 1, 3.0): (2, (None, None, 1)),
    },
}  # fmt: skip


def _several(operands: Any, values: Any, *slopes: Any) -> Any:
    """A special point of a function with several results, from their slopes in every operand that is no count."""

    def gradient(partials: Any) -> Any:
        return lambda *cotangents: sum(np.real(c * np.conj(d)) if d else 0 * np.real(c) for c, d in zip(cotangents, partials, strict=True))

    return point(*([x] for x in operands), value=tuple([v * 1.0] for v in values), gradients=[gradient(s) for s in slopes])


def _jacobi(at: tuple[float, float], values: tuple[float, ...], moved: float) -> Any:
    (_, m), (sn, cn, dn, _) = at, values
    in_m = (cn * moved, -sn * moved, -(sn * sn / 2 + m * sn * cn * moved) / dn, moved)
    return _several(at, values, (cn * dn, -sn * dn, -m * sn * cn, dn), in_m)


def _scaled_airy(x: float) -> Any:
    root, grown = math.sqrt(x), math.exp(2 / 3 * x**1.5)
    a, ap, b, bp = np.array(airy(x)) * [grown, grown, 1 / grown, 1 / grown]
    return _several((x,), (a, ap, b, bp), (ap + root * a, x * a + root * ap, bp - root * b, x * b - root * bp))


def _kelvin(x: float) -> Any:
    values = [ber(x) + 1j * bei(x), ker(x) + 1j * kei(x), berp(x) + 1j * beip(x), kerp(x) + 1j * keip(x)]
    bends = (1j * v - slope / x for v, slope in zip(values[:2], values[2:], strict=True))  # DLMF 10.61.3
    return _several((x,), values, (values[2], values[3], *bends))


SIN, COS, TANH, SECH = math.sin(1), math.cos(1), math.tanh(1), 1 / math.cosh(1)
OTHER = {
    "ellipj": [
        _jacobi((0.0, 0.5), (0, 1, 1, 0), 0), _jacobi((1.0, 0.0), (SIN, COS, 1, 1), -(1 - SIN * COS) / 4),
        _jacobi((1.0, 1.0), (TANH, SECH, SECH, math.atan(math.sinh(1))), -SECH * (math.sinh(1) * math.cosh(1) - 1) / 4),
    ],
    "airye": [_scaled_airy(x) for x in (0.0, 1.0, 4.0)],
    "kelvin": [_kelvin(x) for x in (0.5, 1.0, 7.0)],
}  # fmt: skip
