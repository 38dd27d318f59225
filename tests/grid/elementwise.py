"""Elementwise operations: NumPy's ufuncs and their like."""

import math
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.primitive import OPERATIONS
from tests.support.domains import Rng, domain
from tests.support.grid import entry, point, points, sample, ufunc

NAN, INF = math.nan, math.inf
TINY = 5e-324
LN2, LN10, PI = math.log(2), math.log(10), math.pi

HOLOMORPHIC = ["negative", "positive", "reciprocal", "square", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "arccosh", "sinc"]  # fmt: skip
SAMPLES = {
    **{name: [sample("complex(a,b)")] for name in HOLOMORPHIC},
    **{
        name: [sample("complex(a,b)", "complex(b,c)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "real(a,b)")]
        for name in ("add", "subtract", "multiply")
    },
    "divide": [sample("complex(a,b)", "complex(b)"), sample("real(a,b)", "complex(b)"), sample("complex(b)", "nonzero(a,b)")],
    "power": [sample("complex(a,b)", "complex(b)"), sample("positive(b)", "complex(a,b)"), sample("nonzero(a,b)", "complex(b)")],
    "where": [sample("bool(a)", "complex(a,b)", "real(b)")],
    **{name: [sample("complex(a,b)", "complex(b)"), sample("real(b)", "complex(a,b)")] for name in ("logaddexp", "logaddexp2")},
    "clip": [sample("real(a,b)", "real(a)", max=1.1)],
    "fmax": [sample("missing(a,b)", "missing(b)")],
    "fmin": [sample("missing(a,b)", "missing(b)")],
    "invert": [sample("int(a,b)")],
    "bitwise_and": [sample("int(a,b)", "int(b)")],
    "bitwise_or": [sample("int(a,b)", "int(b)")],
    "bitwise_xor": [sample("int(a,b)", "int(b)")],
}


@domain("int")
def _int(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 9, shape)


def _both(f: Any) -> Any:
    def call(*xs: xr.DataArray) -> Any:
        return xr.apply_ufunc(f, *xs, output_core_dims=[(), ()])

    return call


def _div(x: xr.DataArray, y: xr.DataArray, rounding_mode: str | None = None) -> xr.DataArray:
    return x // y if rounding_mode == "floor" else np.trunc(x / y) if rounding_mode else x / y


def _logaddexp(exp: Any, log: Any, of_real: Any) -> Any:
    return lambda x, y: of_real(x, y) if np.isrealobj(x) and np.isrealobj(y) else log(exp(x) + exp(y))


OTHERS: dict[str, Any] = {
    "where": xr.where,
    "logaddexp": ufunc(_logaddexp(np.exp, np.log, np.logaddexp)),
    "logaddexp2": ufunc(_logaddexp(np.exp2, np.log2, np.logaddexp2)),
    "clip": lambda x, *more, **kw: x.clip(*more, **kw),
    "modf": _both(np.modf),
    "frexp": _both(np.frexp),
    "divmod": _both(np.divmod),
    "div": _div,
    "ldexp": lambda x, n: x * 2.0**n,
    "isnull": lambda x: x.isnull(),
    "notnull": lambda x: x.notnull(),
    "fillna": lambda x, value: xr.where(x.isnull(), value, x).transpose(*dict.fromkeys((*x.dims, *getattr(value, "dims", ())))),
    "masked_fill": lambda x, mask, value: xr.where(mask, value, x).transpose(*dict.fromkeys((*x.dims, *mask.dims, *getattr(value, "dims", ())))),
    "astype": lambda x, dtype: x.astype(dtype),
    "type_as": lambda x, other: x.astype(other.dtype),
    "copy": lambda x, deep=True: x.copy(deep=deep),
    "empty_like": lambda x, dtype=None: xr.zeros_like(x, dtype=dtype),
    **{name: ufunc(getattr(np, name)) for name in ("real", "imag", "angle", "round", "nan_to_num")},
}

# ------------------------------------------------------------------------------------------------ special points

# operations of one operand: {x: (value, slope)}
ONE: dict[str, dict[Any, tuple[Any, Any]]] = {
    "negative": {0.0: (0, -1), INF: (-INF, -1), -2.0: (2, -1)},
    "positive": {0.0: (0, 1), INF: (INF, 1), -2.0: (-2, 1)},
    "reciprocal": {2.0: (0.5, -0.25), INF: (0, 0), -1e-3: (-1e3, -1e6)},
    "square": {0.0: (0, 0), -3.0: (9, -6), 1e-200: (0, 2e-200)},
    "exp": {0.0: (1, 1), -INF: (0, 0), -800.0: (0, 0), 1.0: (math.e, math.e)},
    "exp2": {0.0: (1, LN2), -INF: (0, 0), 3.0: (8, 8 * LN2)},
    "expm1": {0.0: (0, 1), -INF: (-1, 0), 1e-20: (1e-20, 1)},
    "log": {1.0: (0, 1), INF: (INF, 0), 1e-300: (-300 * LN10, 1e300)},
    "log2": {1.0: (0, 1 / LN2), 8.0: (3, 0.125 / LN2), INF: (INF, 0)},
    "log10": {1.0: (0, 1 / LN10), 1000.0: (3, 0.001 / LN10), INF: (INF, 0)},
    "log1p": {0.0: (0, 1), 1e-20: (1e-20, 1), INF: (INF, 0)},
    "sqrt": {4.0: (2, 0.25), 0.0: (0, INF), INF: (INF, 0)},
    "cbrt": {8.0: (2, 1 / 12), -8.0: (-2, 1 / 12), 0.0: (0, INF), 1e-300: (1e-100, 1e200 / 3)},
    "sin": {0.0: (0, 1), -PI / 2: (-1, 0), 1e-20: (1e-20, 1)},
    "cos": {0.0: (1, 0), PI / 2: (0, -1), -1e-20: (1, 1e-20)},
    "tan": {0.0: (0, 1), PI / 4: (1, 2), -PI / 4: (-1, 2)},
    "arcsin": {0.0: (0, 1), 1.0: (PI / 2, INF), -1.0: (-PI / 2, INF), 0.5: (PI / 6, 2 / math.sqrt(3))},
    "arccos": {0.0: (PI / 2, -1), 1.0: (0, -INF), -1.0: (PI, -INF)},
    "arctan": {0.0: (0, 1), INF: (PI / 2, 0), 1e200: (PI / 2, 0), -1.0: (-PI / 4, 0.5)},
    "sinh": {0.0: (0, 1), 1e-20: (1e-20, 1), 1.0: (math.sinh(1), math.cosh(1))},
    "cosh": {0.0: (1, 0), 1e-20: (1, 1e-20), -1.0: (math.cosh(1), -math.sinh(1))},
    "tanh": {0.0: (0, 1), INF: (1, 0), 20.0: (1, 4 * math.exp(-40)), -800.0: (-1, 0)},
    "arcsinh": {0.0: (0, 1), 1e200: (200 * LN10 + LN2, 1e-200), -INF: (-INF, 0)},
    "arccosh": {1.0: (0, INF), 1e200: (200 * LN10 + LN2, 1e-200), INF: (INF, 0)},
    "arctanh": {0.0: (0, 1), 1.0: (INF, INF), -0.5: (-0.5 * math.log(3), 4 / 3)},
    "sinc": {0.0: (1, 0), 1e-9: (1, -PI**2 * 1e-9 / 3), 1.0: (0, -1), -0.5: (2 / PI, 4 / PI)},
    "deg2rad": {180.0: (PI, PI / 180), 0.0: (0, PI / 180), -INF: (-INF, PI / 180)},
    "rad2deg": {PI: (180, 180 / PI), 0.0: (0, 180 / PI), -INF: (-INF, 180 / PI)},
    "fabs": {0.0: (0, 0), -2.0: (2, -1), -INF: (INF, -1)},
    "absolute": {0.0: (0, 0), -2.0: (2, -1), 3 - 4j: (5, 0.6 + 0.8j), INF: (INF, 1)},
    "sign": {0.0: (0, 0), -2.0: (-1, 0), INF: (1, 0)},
    "floor": {0.5: (0, 0), -0.5: (-1, 0), 2.0: (2, 0)},
    "ceil": {0.5: (1, 0), -0.5: (0, 0), 2.0: (2, 0)},
    "trunc": {0.5: (0, 0), -1.5: (-1, 0), 2.0: (2, 0)},
    "rint": {0.5: (0, 0), 1.5: (2, 0), -INF: (-INF, 0)},
    "round": {0.5: (0, 0), 1.5: (2, 0), -INF: (-INF, 0)},
    "spacing": {1.0: (2.0**-52, 0), 0.0: (TINY, 0), -1.0: (-(2.0**-52), 0)},
    "real": {1 + 2j: (1, 1), 3.0: (3, 1), 0j: (0, 1)},
    "angle": {1.0: (0, 0), -1.0: (PI, 0), 0j: (0, 0)},
    "nan_to_num": {NAN: (0, 0), INF: (np.finfo(float).max, 0), -1.5: (-1.5, 1)},
    "copy": {NAN: (NAN, 1), -1.5: (-1.5, 1), 2j: (2j, 1)},
    "isnan": {NAN: (True, None), INF: (False, None), 0.0: (False, None)},
    "isinf": {NAN: (False, None), -INF: (True, None), 0.0: (False, None)},
    "isfinite": {NAN: (False, None), -INF: (False, None), 0.0: (True, None)},
    "isnull": {NAN: (True, None), INF: (False, None), 0.0: (False, None)},
    "notnull": {NAN: (False, None), INF: (True, None), 0.0: (True, None)},
    "signbit": {-0.0: (True, None), 1.0: (False, None), -INF: (True, None)},
    "logical_not": {0.0: (True, None), NAN: (False, None), -2.0: (False, None)},
    "invert": {0: (-1, None), 5: (-6, None), True: (False, None)},
    "bitwise_count": {7: (3, None), -5: (2, None), 0: (0, None)},
    "empty_like": {0.0: (0, 0), NAN: (0, 0), 3.0: (0, 0)},
    "imag": {2.0: (0, 0), 0.0: (0, 0), INF: (0, 0)},
    "conjugate": {2.0: (2, 1), -INF: (-INF, 1), 0.0: (0, 1)},
}

# operations of two operands: (x, y): (value, slope in x, slope in y)
TWO: dict[str, dict[tuple[Any, Any], tuple[Any, Any, Any]]] = {
    "add": {(1.0, -INF): (-INF, 1, 1), (0.0, 0.0): (0, 1, 1), (1e308, -1e308): (0, 1, 1)},
    "subtract": {(1.0, -INF): (INF, 1, -1), (0.0, 0.0): (0, 1, -1), (1e308, 1e308): (0, 1, -1)},
    "multiply": {(0.0, 3.0): (0, 3, 0), (0.0, 0.0): (0, 0, 0), (-2.0, INF): (-INF, INF, -2)},
    "divide": {(0.0, 2.0): (0, 0.5, 0), (1.0, INF): (0, 0, 0), (1e-300, 1e-300): (1, 1e300, -1e300), (1e200, -1e200): (-1, -1e-200, 1e-200)},
    "power": {
        (0.0, 0.0): (1, 0, 0), (0.0, 1.0): (0, 1, 0), (0.0, 2.0): (0, 0, 0), (0.0, 0.5): (0, INF, 0), (-2.0, 0.0): (1, 0, None),
        (2.0, 0.0): (1, 0, LN2), (-3.0, 2.0): (9, -6, None), (2.0, -1.0): (0.5, -0.25, 0.5 * LN2), (TINY, 0.0): (1, 0, math.log(TINY)),
        (INF, 0.0): (1, 0, None), (0.0, -1.0): (INF, -INF, -INF), (1.0, 1e300): (1, 1e300, 0),
    },
    "float_power": {(0.0, 0.0): (1, 0, 0), (0.0, 1.0): (0, 1, 0), (4.0, 0.5): (2, 0.25, 2 * math.log(4))},
    "floor_divide": {(7.0, -2.0): (-4, 0, 0), (-7.0, INF): (-1, 0, 0), (1.0, 0.1): (9, 0, 0)},
    "remainder": {(7.0, -2.0): (-1, 1, 4), (-7.0, 2.0): (1, 1, 4), (5.0, INF): (5, 1, 0), (-5.0, INF): (INF, 1, 1), (4.0, 2.0): (0, 1, -2)},
    "fmod": {(7.0, -2.0): (1, 1, 3), (-7.0, 2.0): (-1, 1, 3), (5.0, INF): (5, 1, 0), (-5.0, INF): (-5, 1, 0), (0.3, 0.1): (0.3 % 0.1, 1, -2)},
    "hypot": {
        (0.0, 0.0): (0, 0, 0), (3.0, -4.0): (5, 0.6, -0.8), (INF, 1.0): (INF, 1, 0), (1.0, -INF): (INF, 0, -1), (3e200, 4e200): (5e200, 0.6, 0.8),
        (TINY, 0.0): (TINY, 1, 0), (3e-200, 4e-200): (5e-200, 0.6, 0.8),
    },
    "arctan2": {
        (0.0, 0.0): (0, 0, 0), (1.0, 1.0): (PI / 4, 0.5, -0.5), (0.0, -2.0): (PI, -0.5, 0), (3e200, 4e200): (math.atan2(3, 4), 0.16e-200, -0.12e-200),
        (INF, 1.0): (PI / 2, 0, 0), (1.0, INF): (0, 0, 0), (INF, INF): (PI / 4, 0, 0), (3e-200, 4e-200): (math.atan2(3, 4), 0.16e200, -0.12e200),
    },
    "copysign": {(2.0, -1.0): (-2, -1, 0), (-2.0, -0.0): (-2, 1, 0), (-2.0, 1.0): (2, -1, 0)},
    "nextafter": {(1.0, 2.0): (1 + 2.0**-52, 1, 0), (0.0, -1.0): (-TINY, 1, 0), (1.0, 1.0): (1, 1, 0)},
    "heaviside": {(-1.0, 0.3): (0, 0, 0), (0.0, 0.3): (0.3, 0, 1), (2.0, 0.3): (1, 0, 0)},
    "maximum": {(1.0, 1.0): (1, 0.5, 0.5), (2.0, 1.0): (2, 1, 0), (NAN, 1.0): (NAN, 1, 0), (INF, INF): (INF, 0.5, 0.5), (-0.0, 0.0): (0, 0.5, 0.5)},
    "minimum": {(1.0, 1.0): (1, 0.5, 0.5), (2.0, 1.0): (1, 0, 1), (1.0, NAN): (NAN, 0, 1), (-INF, -INF): (-INF, 0.5, 0.5)},
    "fmax": {(1.0, 1.0): (1, 0.5, 0.5), (NAN, 1.0): (1, 0, 1), (1.0, NAN): (1, 1, 0), (NAN, NAN): (NAN, 0.5, 0.5)},
    "fmin": {(1.0, 1.0): (1, 0.5, 0.5), (NAN, 1.0): (1, 0, 1), (1.0, NAN): (1, 1, 0), (NAN, NAN): (NAN, 0.5, 0.5)},
    "logaddexp": {(0.0, 0.0): (LN2, 0.5, 0.5), (-INF, -INF): (-INF, 0, 0), (INF, INF): (INF, 0.5, 0.5), (INF, 0.0): (INF, 1, 0), (-INF, 1.0): (1, 0, 1),
                  (-800.0, 0.0): (0, 0, 1), (1e308, -1e308): (1e308, 1, 0)},
    "logaddexp2": {(0.0, 0.0): (1, 0.5, 0.5), (-INF, -INF): (-INF, 0, 0), (INF, 0.0): (INF, 1, 0), (1.0, 0.0): (math.log2(3), 2 / 3, 1 / 3)},
    "div": {(0.0, 2.0): (0, 0.5, 0), (1.0, INF): (0, 0, 0), (6.0, -2.0): (-3, -0.5, -1.5)},
    "type_as": {(1.5, 3): (1, None, None), (1.5, 2.0): (1.5, 1, 0), (-INF, NAN): (-INF, 1, 0)},
    "fillna": {(NAN, 2.0): (2, 0, 1), (1.0, NAN): (1, 1, 0), (INF, 3.0): (INF, 1, 0)},
}
NAN_ALL_FALSE = {(1.0, NAN): False, (NAN, NAN): False}
COMPARED: dict[str, dict[tuple[Any, Any], Any]] = {
    "equal": {(0.0, -0.0): True, **NAN_ALL_FALSE},
    "not_equal": {(0.0, -0.0): False, (1.0, NAN): True, (NAN, NAN): True},
    "less": {(-INF, INF): True, **NAN_ALL_FALSE},
    "less_equal": {(INF, INF): True, **NAN_ALL_FALSE},
    "greater": {(INF, -INF): True, **NAN_ALL_FALSE},
    "greater_equal": {(INF, INF): True, **NAN_ALL_FALSE},
    "logical_and": {(True, True): True, (0.0, NAN): False, (NAN, 1.0): True},
    "logical_or": {(False, True): True, (0.0, NAN): True, (0.0, 0.0): False},
    "logical_xor": {(True, True): False, (0.0, NAN): True, (0.0, 0.0): False},
    "bitwise_and": {(True, False): False, (6, 3): 2, (-1, 5): 5},
    "bitwise_or": {(True, False): True, (6, 3): 7, (-1, 5): -1},
    "bitwise_xor": {(True, True): False, (6, 3): 5, (-1, 5): -6},
    "left_shift": {(1, 3): 8, (0, 5): 0, (-1, 1): -2},
    "right_shift": {(8, 3): 1, (1, 5): 0, (-8, 1): -4},
    "gcd": {(12, 18): 6, (0, 5): 5, (-4, 6): 2},
    "lcm": {(4, 6): 12, (0, 5): 0, (-4, 6): 12},
}
SPECIAL: dict[str, list[Any]] = {
    "absolute": points({0j: (0.0, 0)}),
    "sign": [
        *points({0j: (0j, 0)}),
        point([3 + 4j], value=[0.6 + 0.8j], gradients=[lambda c: np.real(np.conj(c) * (-0.8 + 0.6j)) * (-0.8 + 0.6j) / 5]),
    ],
    "where": [
        point([True, False], [NAN, 1.0], [2.0, NAN], value=[NAN, NAN], gradients=[lambda c: [c[0], 0], lambda c: [0, c[1]]]),
        point([True, False], [3.0, NAN], [NAN, 4.0], value=[3, 4], gradients=[lambda c: [c[0], 0], lambda c: [0, c[1]]]),
        point([2.0, 0.0], [1.0, 1.0], [INF, INF], value=[1, INF], gradients=[[0, 0], lambda c: [c[0], 0], lambda c: [0, c[1]]]),
    ],
    "clip": [
        point([-1.0, 1.0, 0.5, -3.0, NAN], min=-1.0, max=1.0, value=[-1, 1, 0.5, -1, NAN], gradients=[lambda c: [c[0], c[1], c[2], 0, 0]]),
        point([2.0, 0.0], [1.0, 1.0], value=[2, 1], gradients=[lambda c: [c[0], 0], lambda c: [0, c[1]]]),
        point([0.0, INF], max=1.0, value=[0, 1], gradients=[lambda c: [c[0], 0]]),
    ],
    "masked_fill": [
        point([1.0, 2.0], [True, True], [NAN, 3.0], value=[NAN, 3], gradients=[[0, 0], lambda c: c]),
        point([INF], [False], [NAN], value=[INF], gradients=[lambda c: c, [0]]),
        point([NAN, -1.0], [True, False], [0.0, NAN], value=[0, -1], gradients=[lambda c: [0, c[1]], lambda c: [c[0], 0]]),
    ],
    "ldexp": [
        point([1.5, 0.0, INF], [3, -2, 1], value=[12, 0, INF], gradients=[lambda c: c * [8, 0.25, 2]]),
        point([-3.0], [0], value=[-3], gradients=[lambda c: c]),
        point([2.0], [-1074], value=[1e-323], gradients=[lambda c: c * 2.0**-1074]),
    ],
    "astype": [
        point([1.5], dtype="float64", value=[1.5], gradients=[lambda c: c]),
        point([2.0], dtype="complex128", value=[2], gradients=[np.real]),
        point([1.7, -1.7], dtype="int64", value=[1, -1]),
    ],
    "modf": [
        point([1.25], value=([0.25], [1.0]), gradients=[lambda c, d: c]),
        point([-2.0], value=([0.0], [-2.0]), gradients=[lambda c, d: c]),
        point([INF], value=([0.0], [INF]), gradients=[lambda c, d: c]),
    ],
    "frexp": [
        point([6.0], value=([0.75], [3]), gradients=[lambda c, d: c / 8]),
        point([-0.5], value=([-0.5], [0]), gradients=[lambda c, d: c]),
        point([0.0], value=([0.0], [0]), gradients=[lambda c, d: c]),
    ],
    "divmod": [
        point([-7.0], [2.0], value=([-4.0], [1.0]), gradients=[lambda c, d: d, lambda c, d: 4 * d]),
        point([5.0], [INF], value=([0.0], [5.0]), gradients=[lambda c, d: d, [0]]),
        point([4.0], [-2.0], value=([-2.0], [0.0]), gradients=[lambda c, d: d, lambda c, d: 2 * d]),
    ],
}  # fmt: skip


def _inexact(value: Any) -> Any:
    """Numbers compared up to rounding, unless they are bool or those of integers."""
    return value * 1.0 if type(value) is int else value


def _point(x: Any, y: Any, value: Any, dx: Any, dy: Any) -> Any:
    slopes = [d for d, v in ((dx, x), (dy, y)) if isinstance(v, float)]
    known = [lambda c, d=d: np.where(np.isfinite(d), c * d, np.sign(c) * d) for d in slopes if d is not None]
    if None in slopes:  # no finite answer in one operand: value only
        return point([x], [y], value=[_inexact(value)])
    return point([x], [y], value=[_inexact(value)], gradients=known)


for name, op in OPERATIONS.items():
    if op.family in {"elementwise", "complex"}:
        special = [
            *points({x: (_inexact(value), slope) for x, (value, slope) in ONE.get(name, {}).items()}),
            *(_point(*xs, *known) for xs, known in TWO.get(name, {}).items()),
            *(point([x], [y], value=[value]) for (x, y), value in COMPARED.get(name, {}).items()),
            *SPECIAL.get(name, ()),
        ]
        entry(name, OTHERS.get(name) or ufunc(getattr(np, name)), SAMPLES.get(name, ()), special)
