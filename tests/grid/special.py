"""Special functions: SciPy's, their tails, and what lies at their bounds."""

import math
from typing import Any

import numpy as np
import scipy.special
import xarray as xr

from namedgrad.primitive import OPERATIONS
from tests.grid import special_distributions, special_elementary, special_integrals, special_orders
from tests.support.domains import Rng, domain, spaced
from tests.support.grid import entry, point, points, sample, ufunc

NAN, INF, PI = math.nan, math.inf, math.pi
EULER = 0.57721566490153286061
ROOT_PI = math.sqrt(PI)


@domain("fraction")
def _share(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, 0.1, 0.9)


@domain("negative")
def _negative(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, -3, -0.3)


@domain("above_three")
def _above_three(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, 3.1, 5)


@domain("order")
def _order(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 3, shape)


@domain("count")
def _count(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(1, 4, shape)


def _along(f: Any) -> Any:
    def call(x: xr.DataArray, dim: Any = None) -> xr.DataArray:
        dims = x.dims if dim is None or dim is ... else (dim,) if isinstance(dim, str) else dim
        return x.copy(data=f(x.to_numpy(), axis=tuple(x.dims.index(d) for d in dims)))

    return call


def _softmax(x: np.ndarray, axis: Any) -> np.ndarray:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def _multigammaln(x: np.ndarray, d: int) -> np.ndarray:
    return scipy.special.multigammaln(x, d)


def _several(f: Any, count: int) -> Any:
    return lambda *xs: xr.apply_ufunc(f, *xs, output_core_dims=[[]] * count)


REFERENCES: dict[str, Any] = {
    "log1mexp": lambda x: np.log(1 - np.exp(x)),
    "softmax": _along(_softmax),
    "log_softmax": _along(lambda x, axis: np.log(_softmax(x, axis))),
    "multigammaln": ufunc(_multigammaln),
    "zeta": lambda x, q=None: xr.apply_ufunc(scipy.special.zeta, x, q) if q is not None else xr.apply_ufunc(scipy.special.zeta, x),
    "logit": lambda x, eps=None: xr.apply_ufunc(scipy.special.logit, x if eps is None else x.clip(eps, 1 - eps)),
    "polygamma": ufunc(scipy.special.polygamma),
    "kl_entr": ufunc(scipy.special.kl_div),
    **{name: _several(getattr(scipy.special, name), count) for name, count in (("sici", 2), ("shichi", 2), ("fresnel", 2), ("airy", 4), ("ellipj", 4), ("airye", 4), ("kelvin", 4))},
}
COMPLEX = ["exp1", "expi", "dawsn", "erfi", "erf", "erfc", "erfcx", "ndtr", "digamma", "gamma", "loggamma", "rgamma", "spence"]
ORDERS = [sample("real(b)", "positive(a,b)"), sample("real(a)", "complex(a,b)")]
SAMPLES = {
    **{name: [sample("complex(a,b)")] for name in COMPLEX},
    "xlogy": [sample("complex(a,b)", "complex(b)")],
    "jv": [sample("order(b)", "real(a,b)"), sample("order(b)", "complex(a)"), *ORDERS],
    "iv": [sample("order(b)", "real(a,b)"), sample("order(b)", "complex(a)"), *ORDERS],
    "ive": [sample("order(b)", "real(a,b)"), sample("order(b)", "complex(a)"), *ORDERS],
    "yv": [sample("order(b)", "complex(a)"), *ORDERS],
    "kv": [sample("order(b)", "positive(a,b)"), sample("order(b)", "complex(a)"), *ORDERS],
    "kve": ORDERS,
    **dict.fromkeys(("hankel1", "hankel2", "hankel1e", "hankel2e"), ORDERS),
    "hyp1f1": [sample("real(b)", "positive()", "complex(a,b)")],
    "hyp0f1": [sample("count(b)", "complex(a,b)")],
    "hyp2f1": [sample("count(b)", "count()", "count(a)", "complex_unit(a,b)"), sample("positive(b)", "real()", "above_one(a)", "negative(a,b)")],
}


@domain("complex_unit")
def _complex_unit(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return spaced(rng, shape, -0.6, 0.6) + 1j * spaced(rng, shape, -0.6, 0.6)


E1, DP = 0.21938393439552027, -0.4317297106348987  # E1(1); dP/da at (1, 1), by mpmath as those below
DX = (0.968044830442044448, 1.378498150668306264)
DI = 0.5831218080616376
E, KHALF, EHALF = math.e, 1.8540746773013719, 1.3506438810476755  # complete elliptic integrals of parameter 1/2
DAWSON, EI1, OMEGA = 0.5380795069127684, 1.8951178163559368, 0.5671432904097838
SIN, COS = math.sin(1), math.cos(1)
ZETA3 = 1.2020569031595943
PSI, GAUSS = scipy.special.digamma, 3 * PI / 8  # Γ(5/2) Γ(3/2), the value at 1 of a hypergeometric function

ONE: dict[str, dict[Any, tuple[Any, Any]]] = {
    "erf": {0.0: (0, 2 / ROOT_PI), INF: (1, 0), -INF: (-1, 0), 1e-20: (2e-20 / ROOT_PI, 2 / ROOT_PI)},
    "erfc": {0.0: (1, -2 / ROOT_PI), INF: (0, 0), -INF: (2, 0), 5.0: (math.erfc(5), -2 / ROOT_PI * math.exp(-25))},
    "erfcx": {0.0: (1, -2 / ROOT_PI), 1e8: (1e-8 / ROOT_PI, -1e-16 / ROOT_PI), INF: (0, 0), 1e100: (1e-100 / ROOT_PI, -1e-200 / ROOT_PI)},
    "erfinv": {0.0: (0, ROOT_PI / 2), 1.0: (INF, INF), -1.0: (-INF, INF)},
    "erfcinv": {1.0: (0, -ROOT_PI / 2), 0.0: (INF, -INF), 2.0: (-INF, -INF)},
    "ndtr": {0.0: (0.5, 1 / math.sqrt(2 * PI)), -INF: (0, 0), INF: (1, 0)},
    "log_ndtr": {0.0: (-math.log(2), math.sqrt(2 / PI)), INF: (0, 0), -1e10: (-5e19, 1e10), 40.0: (0, 0)},
    "ndtri": {0.5: (0, math.sqrt(2 * PI)), 0.0: (-INF, INF), 1.0: (INF, INF)},
    "ndtri_exp": {math.log(0.5): (0, math.sqrt(PI / 2)), -5e19: (-1e10, 1e-10), -INF: (-INF, 0)},
    "expit": {0.0: (0.5, 0.25), 800.0: (1, 0), -INF: (0, 0), -40.0: (math.exp(-40) / (1 + math.exp(-40)), math.exp(-40))},
    "log_expit": {0.0: (-math.log(2), 0.5), -800.0: (-800, 1), INF: (0, 0), -INF: (-INF, 1)},
    "log1mexp": {-math.log(2): (-math.log(2), -1), 0.0: (-INF, -INF), -INF: (0, 0), -1e-10: (math.log(1e-10) - 5e-11, -1e10 + 0.5)},
    "logit": {0.5: (0, 4), 0.0: (-INF, INF), 1.0: (INF, INF), 1e-300: (-300 * math.log(10), 1e300)},
    "entr": {1.0: (0, -1), 0.0: (0, INF), math.exp(-1): (math.exp(-1), 0)},
    "digamma": {1.0: (-EULER, PI**2 / 6), 0.5: (-EULER - 2 * math.log(2), PI**2 / 2), 1e10: (math.log(1e10) - 5e-11, 1e-10)},
    "gammaln": {1.0: (0, -EULER), 2.0: (0, 1 - EULER), 1e-10: (10 * math.log(10) - EULER * 1e-10, -1e10 - EULER)},
    "loggamma": {1.0: (0, -EULER), 2.0: (0, 1 - EULER), 0.5: (0.5 * math.log(PI), -EULER - 2 * math.log(2))},
    "gamma": {1.0: (1, -EULER), 5.0: (24, 24 * (25 / 12 - EULER)), -0.5: (-2 * ROOT_PI, -2 * ROOT_PI * (2 - EULER - 2 * math.log(2)))},
    "j0": {0.0: (1, 0), 2.404825557695773: (0, -0.51914749728946), 1e-10: (1, -5e-11)},
    "j1": {0.0: (0, 0.5), 1e-10: (5e-11, 0.5), -1e-10: (-5e-11, 0.5)},
    "i0": {0.0: (1, 0), 1e-10: (1, 5e-11), -1e-10: (1, -5e-11)},
    "i1": {0.0: (0, 0.5), 1e-10: (5e-11, 0.5), -1e-10: (-5e-11, 0.5)},
    "i0e": {0.0: (1, 0), 1e-10: (1 - 1e-10, -1 + 1.5e-10), -1e-10: (1 - 1e-10, 1 - 1.5e-10)},
    "i1e": {0.0: (0, 0.5), 1e-10: (5e-11, 0.5 - 1e-10), -1e-10: (-5e-11, 0.5 - 1e-10)},
    "y0": {1.0: (scipy.special.y0(1), -scipy.special.y1(1)), 1e-200: (2 / PI * (math.log(1e-200) - math.log(2) + EULER), 2e200 / PI), 0.0: (-INF, INF)},
    "y1": {1.0: (scipy.special.y1(1), scipy.special.y0(1) - scipy.special.y1(1)), 1e-100: (-2e100 / PI, 2e200 / PI), 1e-50: (-2e50 / PI, 2e100 / PI)},
    "k0": {1e-200: (math.log(2e200) - EULER, -1e200), 0.0: (INF, -INF), 800.0: (0, 0)},
    "k1": {1e-100: (1e100, -1e200), 0.0: (INF, -INF), 800.0: (0, 0)},
    "k0e": {1e-200: (math.log(2e200) - EULER, -1e200), 0.0: (INF, -INF), 1.0: (scipy.special.k0e(1), scipy.special.k0e(1) - scipy.special.k1e(1))},
    "k1e": {1e-100: (1e100, -1e200), 1e-50: (1e50, -1e100), 1.0: (scipy.special.k1e(1), -scipy.special.k0e(1))},
    "ellipk": {-INF: (0, 0), 0.0: (PI / 2, PI / 8), 0.5: (KHALF, 2 * EHALF - KHALF), 1.0: (INF, INF)},
    "ellipkm1": {INF: (0, 0), 1.0: (PI / 2, -PI / 8), 0.5: (KHALF, KHALF - 2 * EHALF), 0.0: (INF, -INF), 1e-200: (math.log(4) + 100 * math.log(10), -5e199)},
    "ellipe": {0.0: (PI / 2, -PI / 8), 0.5: (EHALF, EHALF - KHALF), 1.0: (1, -INF)},
    "exp1": {1.0: (E1, -1 / E), 0.0: (INF, -INF), INF: (0, 0)},
    "expi": {1.0: (EI1, E), -1.0: (-E1, -1 / E), 0.0: (-INF, INF), -INF: (0, 0)},
    "dawsn": {0.0: (0, 1), 1.0: (DAWSON, 1 - 2 * DAWSON), 1e8: (5e-9, -5e-17), INF: (0, 0)},
    "erfi": {0.0: (0, 2 / ROOT_PI), 1.0: (2 * E / ROOT_PI * DAWSON, 2 * E / ROOT_PI), 1e-20: (2e-20 / ROOT_PI, 2 / ROOT_PI)},
    "wofz": {0j: (1, 2j / ROOT_PI), 1j: (E * math.erfc(1), 2j / ROOT_PI - 2j * E * math.erfc(1)), 1e8j: (1e-8 / ROOT_PI, 1e-16j / ROOT_PI)},
    "exp10": {0.0: (1, math.log(10)), 2.0: (100, 100 * math.log(10)), -INF: (0, 0)},
    "exprel": {0.0: (1, 0.5), 1.0: (E - 1, 1), 1e-20: (1, 0.5), -INF: (0, 0)},
    "cosm1": {0.0: (0, 0), 1e-10: (-5e-21, -1e-10), PI / 2: (-1, -1)},
}  # fmt: skip
# operands: value and slopes, None for an int operand
MANY: dict[str, dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = {
    "xlogy": {(0.0, 0.0): (0, (0, 0)), (0.0, 2.0): (0, (math.log(2), 0)), (2.0, 0.0): (-INF, (-INF, INF)), (0.0, -1.0): (0, (0, 0))},
    "xlog1py": {(0.0, -1.0): (0, (0, 0)), (0.0, 1.0): (0, (math.log(2), 0)), (3.0, 1e-20): (3e-20, (1e-20, 3))},
    "rel_entr": {(0.0, 0.0): (0, (0, 0)), (1.0, 1.0): (0, (1, -1)), (2.0, 1.0): (2 * math.log(2), (1 + math.log(2), -2)), (0.0, 1.0): (0, (-INF, 0))},
    "kl_entr": {(0.0, 0.0): (0, (0, 1)), (1.0, 1.0): (0, (0, 0)), (0.0, 1.0): (1, (-INF, 1)), (2.0, 1.0): (2 * math.log(2) - 1, (math.log(2), -1))},
    "beta": {(1.0, 1.0): (1, (-1, -1)), (2.0, 1.0): (0.5, (-0.25, -0.75)), (0.5, 0.5): (PI, (-2 * PI * math.log(2),) * 2)},
    "betaln": {(1.0, 1.0): (0, (-1, -1)), (2.0, 1.0): (-math.log(2), (-0.5, -1.5)), (0.5, 0.5): (math.log(PI), (-2 * math.log(2),) * 2)},
    "gammainc": {
        (1.0, 1.0): (1 - math.exp(-1), (DP, math.exp(-1))), (2.0, 0.0): (0, (0, 0)), (3.0, INF): (1, (0, 0)), (0.0, 1.0): (1, (-E1, 0)),
        (INF, 2.0): (0, (0, 0)), (INF, 0.0): (0, (0, 0)),
    },
    "gammaincc": {(1.0, 1.0): (math.exp(-1), (-DP, -math.exp(-1))), (2.0, 0.0): (1, (0, 0)), (3.0, INF): (0, (0, 0)), (0.0, 1.0): (0, (E1, 0)), (INF, 2.0): (1, (0, 0))},
    "chdtr": {(2.0, 2.0): (1 - math.exp(-1), (DP / 2, math.exp(-1) / 2)), (4.0, 0.0): (0, (0, 0)), (6.0, INF): (1, (0, 0))},
    "chdtrc": {(2.0, 2.0): (math.exp(-1), (-DP / 2, -math.exp(-1) / 2)), (4.0, 0.0): (1, (0, 0)), (6.0, INF): (0, (0, 0))},
    "gammaincinv": {(1.0, 0.5): (math.log(2), (DX[0], 2)), (1.0, 0.75): (math.log(4), (DX[1], 4)), (2.0, 0.0): (0, (0, INF))},
    "gammainccinv": {(1.0, 0.5): (math.log(2), (DX[0], -2)), (1.0, 0.25): (math.log(4), (DX[1], -4)), (2.0, 1.0): (0, (0, -INF))},
    "betainc": {
        (2.0, 3.0, 0.25): (0.26171875, (-0.22805360232434637, 0.10692153005229139, 1.6875)), (1.0, 2.0, 0.0): (0, (0, 0, 2)),
        (2.0, 1.0, 1.0): (1, (0, 0, 2)), (0.5, 0.5, 0.5): (0.5, (-DI, DI, 2 / PI)),
    },
    "betaincc": {
        (2.0, 3.0, 0.25): (0.73828125, (0.22805360232434637, -0.10692153005229139, -1.6875)), (1.0, 2.0, 0.0): (1, (0, 0, -2)),
        (2.0, 1.0, 1.0): (0, (0, 0, -2)),
    },
    "betaincinv": {
        (1.0, 1.0, 0.5): (0.5, (0.5 * math.log(2), -0.5 * math.log(2), 1)), (0.5, 0.5, 0.5): (0.5, (DI * PI / 2, -DI * PI / 2, PI / 2)),
        (1.0, 1.0, 0.0): (0, (0, 0, 1)),
    },
    "betainccinv": {
        (1.0, 1.0, 0.5): (0.5, (0.5 * math.log(2), -0.5 * math.log(2), -1)), (0.5, 0.5, 0.5): (0.5, (DI * PI / 2, -DI * PI / 2, -PI / 2)),
        (1.0, 1.0, 1.0): (0, (0, 0, -1)),
    },
    "polygamma": {(1, 1.0): (PI**2 / 6, (None, -2 * ZETA3)), (0, 1.0): (-EULER, (None, PI**2 / 6)), (1, 0.5): (PI**2 / 2, (None, -14 * ZETA3)), (2, 1.0): (-2 * ZETA3, (None, PI**4 / 15))},
    "zeta": {
        (2.0, 1.0): (PI**2 / 6, (-0.9375482543158437, -2 * ZETA3)), (4.0, 0.5): (PI**4 / 6, (10.96967977798049, -4 * 32.144760409447716)),
        (1.0, 2.0): (INF, (NAN, -(PI**2 / 6 - 1))), (200.0, 1.0): (1, (0, -200)),
    },
    "jv": {
        (0, 0.0): (1, (None, 0)), (1, 0.0): (0, (None, 0.5)), (2, 0.0): (0, (None, 0)), (-1, 0.0): (0, (None, -0.5)),
        **{(0.0, x): (scipy.special.j0(x), (PI / 2 * scipy.special.y0(x), -scipy.special.j1(x))) for x in (0.3, 5.0, 300.0)},  # DLMF 10.15.3
        (1.0, 3.0): (scipy.special.j1(3), (scipy.special.j0(3) / 3 + PI / 2 * scipy.special.y1(3), scipy.special.j0(3) - scipy.special.j1(3) / 3)),
        (3.0, 0.0): (0, (0, 0)),
    },
    "iv": {
        (0, 0.0): (1, (None, 0)), (1, 0.0): (0, (None, 0.5)), (2, 0.0): (0, (None, 0)), (-1, 0.0): (0, (None, 0.5)),
        **{(0.0, x): (scipy.special.i0(x), (-scipy.special.k0(x), scipy.special.i1(x))) for x in (0.3, 1.0)},  # DLMF 10.38.4
    },
    "yv": {
        (0, 0.0): (-INF, (None, INF)), (0, 1.0): (scipy.special.y0(1), (None, -scipy.special.y1(1))), (1, 0.0): (-INF, (None, INF)),
        **{(0.0, x): (scipy.special.y0(x), (-PI / 2 * scipy.special.j0(x), -scipy.special.y1(x))) for x in (0.3, 5.0, 300.0)},
    },
    "kv": {
        (0.5, 1.0): (math.sqrt(PI / 2) / math.e, (0.16659724500287904, -1.5 * math.sqrt(PI / 2) / math.e)), (1, 0.0): (INF, (None, -INF)),
        (1.0, 1.0): (0.6019072301972346, (0.42102443824070834, -scipy.special.k0(1) - 0.6019072301972346)), (0.0, 2.0): (scipy.special.k0(2), (0, -scipy.special.k1(2))),
        (1.5, INF): (0, (0, 0)),
    },
    "kve": {
        (0.5, 1.0): (math.sqrt(PI / 2), (0.16659724500287904 * math.e, -0.5 * math.sqrt(PI / 2))), (1, 0.0): (INF, (None, -INF)),
        (0.0, 2.0): (scipy.special.k0e(2), (0, scipy.special.k0e(2) - scipy.special.k1e(2))),
    },
    "ive": {
        (0, 0.0): (1, (None, 0)), (1, 0.0): (0, (None, 0.5)), (2, 0.0): (0, (None, 0)),
        (0.0, 2.0): (scipy.special.i0e(2), (-math.exp(-4) * scipy.special.k0e(2), scipy.special.i1e(2) - scipy.special.i0e(2))),
    },
    "hyp2f1": {
        (1, 1, 2, 0.5): (2 * math.log(2), (None, None, None, 4 - 4 * math.log(2))), (2, 3, 3, 0.5): (4, (None, None, None, 16)),
        (1, 1, 2, 0.0): (1, (None, None, None, 0.5)), (0, 1, 2, 0.3): (1, (None, None, None, 0)),
        (2.5, 3, 3, 0.5): (2**2.5, (2**2.5 * math.log(2), None, None, 2.5 * 2**3.5)), (1.0, 1.0, 1.0, -3.0): (0.25, (-math.log(4) / 4, -math.log(4) / 4, math.log(4) / 4, 1 / 16)),
        (0.0, 0.0, 1.0, 0.9): (1, (0, 0, 0, 0)),
        (0.5, 0.5, 2.5, 1.0): (GAUSS, (GAUSS * (PSI(2) - PSI(1.5)), GAUSS * (PSI(2) - PSI(1.5)), GAUSS * (PSI(2.5) + PSI(1.5) - 2 * PSI(2)), 3 * PI / 16)),
    },
    "expn": {(1, 1.0): (E1, (None, -1 / E)), (2, 0.0): (1, (None, -INF)), (0, 1.0): (1 / E, (None, -2 / E)), (3, INF): (0, (None, 0))},
    "ellipkinc": {
        (0.0, 0.5): (0, (1, 0)), (PI / 2, 0.5): (KHALF, (math.sqrt(2), 2 * EHALF - KHALF)), (-2 * PI, 0.5): (-4 * KHALF, (1, -4 * (2 * EHALF - KHALF))),
        (1.0, 0.0): (1, (1, (1 - SIN * COS) / 4)), (1.0, 1.0): (math.asinh(math.tan(1)), (1 / COS, (math.tan(1) / COS - math.asinh(math.tan(1))) / 4)),
        (0.0, -INF): (0, (0, 0)), (2.0, -INF): (0, (0, 0)),
    },
    "ellipeinc": {
        (0.0, 0.5): (0, (1, 0)), (PI / 2, 0.5): (EHALF, (math.sqrt(0.5), EHALF - KHALF)), (3 * PI, 0.5): (6 * EHALF, (1, 6 * (EHALF - KHALF))),
        (1.0, 0.0): (1, (1, (SIN * COS - 1) / 4)), (1.0, 1.0): (SIN, (COS, (SIN - math.asinh(math.tan(1))) / 2)),
    },
    "voigt_profile": {
        (0.0, 1.0, 0.0): (1 / math.sqrt(2 * PI), (0, -1 / math.sqrt(2 * PI), -1 / PI)), (0.0, 0.0, 1.0): (1 / PI, (0, 0, -1 / PI)),
        (1.0, 0.0, 1.0): (0.5 / PI, (-0.5 / PI, 0, 0)), (20.0, 1.0, 0.0): (math.exp(-200) / math.sqrt(2 * PI), (-20 * math.exp(-200) / math.sqrt(2 * PI), 399 * math.exp(-200) / math.sqrt(2 * PI), (2 * math.sqrt(200) * scipy.special.dawsn(math.sqrt(200)) - 1) / PI)),
    },
    "eval_jacobi": {(1, 0, 0, 0.3): (0.3, (None, None, None, 1)), (2, 1, 1, 1.0): (3, (None, None, None, 7.5)), (0, 1, 2, 0.3): (1, (None, None, None, 0))},
    "eval_gegenbauer": {(2, 1, 1.0): (3, (None, None, 8)), (1, 2, 0.5): (2, (None, None, 4)), (0, 2, 0.5): (1, (None, None, 0))},
    "eval_legendre": {(2, 1.0): (1, (None, 3)), (2, 0.0): (-0.5, (None, 0)), (0, 0.3): (1, (None, 0)), (1, -0.3): (-0.3, (None, 1))},
    "eval_chebyt": {(2, 1.0): (1, (None, 4)), (3, 0.5): (-1, (None, 0)), (0, 0.3): (1, (None, 0))},
    "eval_chebyu": {(2, 1.0): (3, (None, 8)), (1, 0.0): (0, (None, 2)), (0, 0.3): (1, (None, 0))},
    "eval_genlaguerre": {(1, 1, 1.0): (1, (None, None, -1)), (2, 1, 0.0): (3, (None, None, -3)), (0, 1, 0.5): (1, (None, None, 0))},
    "eval_laguerre": {(1, 1.0): (0, (None, -1)), (2, 0.0): (1, (None, -2)), (0, 0.3): (1, (None, 0))},
    "eval_hermite": {(2, 0.0): (-2, (None, 0)), (2, 1.0): (2, (None, 8)), (0, 0.3): (1, (None, 0))},
    "eval_hermitenorm": {(2, 0.0): (-1, (None, 0)), (2, 1.0): (0, (None, 2)), (0, 0.3): (1, (None, 0))},
    "spherical_jn": {(0, 0.0): (1, (None, 0)), (1, 0.0): (0, (None, 1 / 3)), (0, 1.0): (SIN, (None, COS - SIN)), (2, INF): (0, (None, 0))},
    "spherical_yn": {(0, 1.0): (-COS, (None, COS + SIN)), (1, 1.0): (-COS - SIN, (None, COS + 2 * SIN)), (0, 0.0): (-INF, (None, INF)), (1, INF): (0, (None, 0))},
    "spherical_in": {(0, 0.0): (1, (None, 0)), (1, 0.0): (0, (None, 1 / 3)), (0, 1.0): (math.sinh(1), (None, math.cosh(1) - math.sinh(1)))},
    "spherical_kn": {(0, 1.0): (PI / 2 / E, (None, -PI / E)), (0, 0.0): (INF, (None, -INF)), (1, INF): (0, (None, 0))},
    "boxcox": {(1.0, 0.5): (0, (1, 0)), (2.0, 0.0): (math.log(2), (0.5, math.log(2) ** 2 / 2)), (0.0, 2.0): (-0.5, (0, 0.25)), (1.0, 0.0): (0, (1, 0))},
    "boxcox1p": {(0.0, 0.5): (0, (1, 0)), (1.0, 0.0): (math.log(2), (0.5, math.log(2) ** 2 / 2)), (-1.0, 2.0): (-0.5, (0, 0.25)), (-1.0, 1.0): (-1, (1, 1))},
    "inv_boxcox": {(-1.0, 1.0): (0, (1, -1)), (-2.0, 0.5): (0, (0, 0)), (-0.5, 2.0): (0, (INF, -INF)), (1.0, 0.0): (E, (E, -E / 2)), (0.0, 1.0): (1, (1, 0)), (1.5, 2.0): (2, (0.5, 4.5 * (1 / 12 - math.log(4) / 9)))},
    "inv_boxcox1p": {(-1.0, 1.0): (-1, (1, -1)), (-2.0, 0.5): (-1, (0, 0)), (1.0, 0.0): (E - 1, (E, -E / 2)), (0.0, 1.0): (0, (1, 0)), (1.5, 2.0): (1, (0.5, 4.5 * (1 / 12 - math.log(4) / 9)))},
    "owens_t": {(0.0, 1.0): (0.125, (0, 0.25 / PI)), (1.0, 0.0): (0, (0, math.exp(-0.5) / (2 * PI))), (INF, 1.0): (0, (0, 0)), (0.0, 1e200): (0.25, (0, 0)), (INF, 0.0): (0, (0, 0)), (0.0, -INF): (-0.25, (0, 0))},
}

for _more in (special_distributions, special_elementary, special_integrals, special_orders):
    ONE |= _more.ONE
    MANY |= _more.MANY
OTHER: dict[str, list[Any]] = {
    "multigammaln": [
        point([1.0], d=2, value=[math.log(PI)], gradients=[lambda c: c * (-2 * EULER - 2 * math.log(2))]),
        point([1.0], d=1, value=[0.0], gradients=[lambda c: -c * EULER]),
        point([0.5], d=2, value=[INF], gradients=[lambda c: -np.sign(c) * INF]),
    ],
    "softmax": [
        point([1000.0, 1000.0], dim="p", value=[0.5, 0.5], gradients=[lambda c: 0.25 * (c - c[::-1])]),
        point([-INF, 0.0], dim="p", value=[0.0, 1.0], gradients=[[0, 0]]),
        point([3.0], dim="p", value=[1.0], gradients=[[0]]),
    ],
    "log_softmax": [
        point([1000.0, 1000.0], dim="p", value=[-math.log(2)] * 2, gradients=[lambda c: 0.5 * (c - c[::-1])]),
        point([0.0, 1000.0], dim="p", value=[-1000.0, 0.0], gradients=[lambda c: [c[0], -c[0]]]),
        point([3.0], dim="p", value=[0.0], gradients=[[0]]),
    ],
}


def _together(x: float, values: Any, slopes: Any) -> Any:
    """A special point of a function with several results."""

    def gradient(*cotangents: Any) -> Any:
        return sum(c * d if d else 0 * c for c, d in zip(cotangents, slopes, strict=True))

    return point([x], value=tuple([v * 1.0] for v in values), gradients=[gradient])


OTHER |= special_orders.OTHER | special_integrals.OTHER
AI, AIP, BI, BIP = 0.3550280538878172, -0.2588194037928068, 0.6149266274460007, 0.4482883573538264
CI1, SI1, SHI1, CHI1 = 0.33740392290096816, 0.9460830703671831, 1.0572508753757286, 0.8378669409802082
OTHER |= {
    "sici": [_together(0.0, (0, -INF), (1, INF)), _together(1.0, (SI1, CI1), (SIN, COS)), _together(INF, (PI / 2, 0), (0, 0))],
    "shichi": [_together(0.0, (0, -INF), (1, INF)), _together(1.0, (SHI1, CHI1), (math.sinh(1), math.cosh(1))), _together(-1.0, (-SHI1, CHI1), (math.sinh(1), -math.cosh(1)))],
    "fresnel": [_together(0.0, (0, 0), (0, 1)), _together(1.0, (0.4382591473903548, 0.7798934003768228), (1, 0)), _together(-1.0, (-0.4382591473903548, -0.7798934003768228), (1, 0))],
    "airy": [
        _together(0.0, (AI, AIP, BI, BIP), (AIP, 0, BIP, 0)),
        _together(1.0, scipy.special.airy(1.0), np.array(scipy.special.airy(1.0))[[1, 0, 3, 2]]),
        _together(30.0, scipy.special.airy(30.0), (scipy.special.airy(30.0)[1], 30 * scipy.special.airy(30.0)[0], scipy.special.airy(30.0)[3], 30 * scipy.special.airy(30.0)[2])),
    ],
    "lambertw": [
        point([E], value=[1 + 0j], gradients=[lambda c: np.real(c) / (2 * E)]),
        point([0.0], value=[0j], gradients=[lambda c: np.real(c)]),
        point([1.0], value=[OMEGA + 0j], gradients=[lambda c: np.real(c) / (1 + 1 / OMEGA)]),
    ],
}


def _closed(name: str) -> list[Any]:
    out = [*points({x: (value * 1.0, slope) for x, (value, slope) in ONE.get(name, {}).items()}), *OTHER.get(name, ())]
    for xs, (value, slopes) in MANY.get(name, {}).items():
        known = [lambda c, d=d: np.where(np.isfinite(d), c * d, np.sign(c) * d) for x, d in zip(xs, slopes, strict=True) if isinstance(x, float)]
        out.append(point(*([x] for x in xs), value=[value * 1.0], gradients=known))
    return out


for name, op in OPERATIONS.items():
    if op.family == "special":
        entry(name, REFERENCES.get(name) or ufunc(getattr(scipy.special, name)), SAMPLES.get(name, ()), _closed(name))
