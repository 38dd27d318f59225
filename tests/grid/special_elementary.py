"""Closed forms of quotients of gamma functions, of functions of degrees, and of those that are like elementary ones."""

import math
from typing import Any

INF, PI, L2 = math.inf, math.pi, math.log(2)
EULER, ROOT_PI, OMEGA = 0.57721566490153286061, math.sqrt(math.pi), 0.5671432904097838
DEGREE = PI / 180
ZETA3, GLAISHER = 1.2020569031595943, 0.1654211437004509  # the second minus the slope of the zeta function at -1


ONE: dict[str, dict[Any, tuple[Any, Any]]] = {
    "rgamma": {0.0: (0, 1), -1.0: (0, -1), -2.0: (0, 2), 1.0: (1, EULER), 2.0: (1, EULER - 1), INF: (0, 0), 0.5: (1 / ROOT_PI, (EULER + 2 * L2) / ROOT_PI)},
    "gammasgn": {0.5: (1, 0), -0.5: (-1, 0), -1.5: (1, 0), INF: (1, 0)},
    "spence": {1.0: (0, -1), 0.0: (PI**2 / 6, -INF), 2.0: (-(PI**2) / 12, -L2), 0.5: (PI**2 / 12 - L2**2 / 2, -2 * L2), 1e-200: (PI**2 / 6, -200 * math.log(10))},
    "zetac": {0.0: (-1.5, -math.log(2 * PI) / 2), 2.0: (PI**2 / 6 - 1, -0.9375482543158437), -2.0: (-1, -ZETA3 / (4 * PI**2)), -1.0: (-13 / 12, -GLAISHER), 1.0: (INF, -INF)},
    "wrightomega": {1.0: (1, 0.5), 0.0: (OMEGA, OMEGA / (1 + OMEGA)), -INF: (0, 0), INF: (INF, 1)},
    "sindg": {30.0: (0.5, DEGREE * math.sqrt(0.75)), 180.0: (0, -DEGREE), 90.0: (1, 0)},
    "cosdg": {60.0: (0.5, -DEGREE * math.sqrt(0.75)), 90.0: (0, -DEGREE), 0.0: (1, 0)},
    "tandg": {45.0: (1, 2 * DEGREE), 0.0: (0, DEGREE), 90.0: (INF, INF)},
    "cotdg": {45.0: (1, -2 * DEGREE), 90.0: (0, -DEGREE), 0.0: (INF, -INF)},
}  # fmt: skip
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "poch": {
        (1.0, 2.0): (2, (3, 3 - 2 * EULER)), (-1.0, 2.0): (0, (-1, 0)), (-3.0, 4.0): (0, (-6, 0)), (2.0, 0.0): (1, (0, 1 - EULER)),
        (0.5, 0.5): (1 / ROOT_PI, (2 * L2 / ROOT_PI, -EULER / ROOT_PI)),
    },
    "binom": {
        (5.0, 2.0): (10, (4.5, 10 / 3)), (4.0, 5.0): (0, (0.2, -0.2)), (4.0, -1.0): (0, (0, 0.2)), (1.0, 0.5): (4 / PI, (4 / PI * (2 * L2 - 1), 0)),
        (200.0, 201.0): (0, (1 / 201, -1 / 201)),
    },
    "powm1": {(2.0, 3.0): (7, (12, 8 * L2)), (1.0, 0.5): (0, (0.5, 0)), (2.0, 1e-20): (1e-20 * L2, (5e-21, L2)), (0.0, 2.0): (-1, (0, 0))},
    "huber": {(1.0, 0.5): (0.125, (0, 0.5)), (1.0, 3.0): (2.5, (2, 1)), (1.0, -1.0): (0.5, (0, -1)), (0.0, 2.0): (0, (2, 0)), (INF, 2.0): (2, (0, 2))},
    "pseudo_huber": {(1.0, 0.0): (0, (0, 0)), (3.0, 4.0): (6, (0.8, 2.4)), (0.0, 2.0): (0, (2, 0)), (0.0, 0.0): (0, (0, 0))},
    "radian": {
        (180.0, 0.0, 0.0): (PI, (DEGREE, DEGREE / 60, DEGREE / 3600)), (0.0, 60.0, 0.0): (DEGREE, (DEGREE, DEGREE / 60, DEGREE / 3600)),
        (0.0, 0.0, -3600.0): (-DEGREE, (DEGREE, DEGREE / 60, DEGREE / 3600)),
    },
}  # fmt: skip
