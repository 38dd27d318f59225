"""Functions that take every cell by itself, and the ufuncs that are made of others."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.positional.array import PositionalArray, as_array, box, wrap
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements, run
from namedgrad.positional.ufuncs import UFUNCS, in_loop
from namedgrad.rules import complex as z
from namedgrad.rules import elementwise as e
from namedgrad.rules import values
from namedgrad.rules.elementwise import c
from namedgrad.rules.special import bessel, inverses, transformations
from namedgrad.rules.structure import add, cast, equal, isfinite, logical_not, multiply, not_equal, subtract
from namedgrad.rules.structure import where as choose

# ------------------------------------------------------------------------------------------------ choice


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return np.nonzero(condition)
    test, a, b = meet(numbered(condition, "condition"), numbered(x), numbered(y))
    return choose(truth(test), a, b)


def truth(x: DimArray) -> DimArray:
    """Cells that are not 0."""
    return x if x.dtype.kind == "b" else not_equal(x, c(0))


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    out = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = where(condition, choice, out)
    return out


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    if (a_min is np._NoValue) != (a_max is np._NoValue):
        raise TypeError("np.clip takes both bounds, of which one may be None, or min= and max=")
    a_min, a_max = (None if bound is np._NoValue else bound for bound in (a_min, a_max))
    low, high = (b if c_ is None else c_ for b, c_ in ((a_min, min), (a_max, max)))
    x = numbered(a)
    low, high = (None if e.bounds_nothing(bound, x.dtype, side) else bound for bound, side in ((low, -1), (high, 1)))
    rule, ufunc = _CLIPS[low is not None, high is not None]
    given = [x, *(numbered(bound) for bound in (low, high) if bound is not None)]
    return rule(*meet(*in_loop(ufunc, given, dtype, casting)))


_CLIP = vars(sys.modules["numpy._core.umath"])["clip"]  # what the method of plain arrays calls
_CLIPS: dict[tuple[bool, bool], tuple[Callable[..., DimArray], Any]] = {
    (False, False): (lambda x: x, np.positive),
    (True, False): (e.clip_low, np.maximum),
    (False, True): (e.clip_high, np.minimum),
    (True, True): (e.clip_both, _CLIP),
}
UFUNCS[_CLIP] = clip


def _isnat(x: DimArray) -> DimArray:
    """Dates and durations that are missing, which are unequal to themselves."""
    if x.dtype.kind not in "mM":
        raise TypeError(f"np.isnat is for dates and durations, not {x.dtype}; use np.isnan")
    return not_equal(x, x)


UFUNCS[np.isnat] = _isnat


def _lambertw(z: DimArray, k: DimArray, tol: DimArray) -> DimArray:
    """What :func:`scipy.special.lambertw` calls; of several branches each is that of all cells, and one is chosen."""
    z, k = meet(z, k)
    branches = np.unique(k.to_numpy())
    several = [(equal(k, c(b)), transformations.lambertw(z, int(b))) for b in branches]
    return functools.reduce(lambda w, chosen: choose(*chosen, w), several, c(np.nan))


UFUNCS["_lambertw"] = _lambertw
UFUNCS.update({name: lambda *xs, rule=rule: rule(*meet(*xs)) for name, rule in inverses.RULES.items()})


def _clip(self: PositionalArray, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """Values limited to ``[min, max]``."""
    return np.clip(self, min, max, out=out, **options)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    v = numbered(x)
    fills = {"nan": nan, "posinf": posinf, "neginf": neginf}
    out = values.nan_to_num(v, **{k: meet(v, numbered(f))[1] if np.ndim(f) else f for k, f in fills.items()})
    if copy or not isinstance(x, PositionalArray):
        return out
    x[...] = wrap(out, x.kin)
    return x


# ------------------------------------------------------------------------------------------------ rounding


@implements(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    x, decimals = numbered(a), operator.index(decimals)
    if x.dtype.kind in "biu" and decimals >= 0:
        return x
    if not decimals:
        return e.rint(x)
    scale = c(10.0 ** abs(decimals))
    if decimals > 0:
        return e.divide(e.rint(multiply(x, scale)), scale)
    out = multiply(e.rint(e.divide(x, scale)), scale)
    return cast(out, x.dtype) if x.dtype.kind in "iu" else out


def _in_its_precision(f: Callable[[DimArray], DimArray], x: DimArray) -> DimArray:
    return cast(f(x), x.dtype) if x.dtype.kind in "fc" else f(x)


implements(np.sinc)(lambda x: e.sinc(numbered(x)))
implements(np.i0)(lambda x: _in_its_precision(bessel.i0, numbered(x)))
implements(np.fix)(lambda x, out=None: e.trunc(numbered(x)))


# ------------------------------------------------------------------------------------------------ complex numbers

_real = implements(np.real, view="real")(lambda val: x if (x := numbered(val)).dtype.kind != "c" else z.real(x))
_imag = implements(np.imag, view="imag")(lambda val: z.imag(numbered(val)))


@implements(np.angle)
def angle(z_: Any, deg: bool = False) -> Any:
    out = z.angle(numbered(z_))
    return e.rad2deg(out) if deg else out


@implements(np.real_if_close, view="self")
def real_if_close(a: Any, tol: float = 100) -> Any:
    x = numbered(a)
    if x.dtype.kind == "c":
        raise TypeError("np.real_if_close decides by values whether the result is complex; use np.real")
    return x


# ------------------------------------------------------------------------------------------------ dtype and copies


def cast_to(x: DimArray, dtype: Any) -> DimArray:
    """Another dtype, in memory of its own where the result is a plain array."""
    out = values.astype(x, dtype)
    if x.level is None and out.dtype.kind in "biu" and out.raw is x.raw and backends.is_array(x.raw):
        return make(backends.call(backends.backend_of(x.raw).copy, x.raw), out.names, out.hidden)
    return out


def _astype(
    self: PositionalArray, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The same values with another dtype."""
    if not np.can_cast(self.dtype, np.dtype(dtype), casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {self.dtype} to {np.dtype(dtype)} according to the rule {casting!r}"
        )
    if not copy and self.dtype == np.dtype(dtype):
        return self
    out = box(cast_to(self._x, dtype), self.kin)
    if isinstance(out, PositionalArray) and (order != "K" or self._memory is not None):
        out._memory = self.copy(order)._memory
    return out if self._is_number or not isinstance(out, PositionalArray) else as_array(out)


implements(np.copy)(lambda a, order="K", subok=False: numbered(a))
if hasattr(np, "astype"):  # NumPy 2.1
    implements(np.astype)(lambda x, dtype, /, *, copy=True, device=None: _astype(x, dtype, copy=copy))


# ------------------------------------------------------------------------------------------------ closeness


def _near(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> DimArray:
    x, y, relative, least = meet(*map(numbered, (a, b, rtol, atol)))
    x, y = (cast(v, "float64") if v.dtype.kind in "biu" else v for v in (x, y))  # no overflow
    close = e.less_equal(z.absolute(subtract(x, y)), add(least, multiply(relative, z.absolute(y))))
    close = e.logical_or(e.logical_and(close, isfinite(y)), equal(x, y))
    both = e.logical_and(logical_not(equal(x, x)), logical_not(equal(y, y)))
    return e.logical_or(close, both) if equal_nan else close


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    from namedgrad.rules.control import stop_gradient

    return _near(stop_gradient(numbered(a)), stop_gradient(numbered(b)), rtol, atol, equal_nan)


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    from namedgrad.rules.reductions import all as every

    near = isclose(a, b, rtol, atol, equal_nan)
    return every(near, near.dims)


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    from namedgrad.rules.reductions import all as every

    x, y = numbered(a1), numbered(a2)
    if x.shape != y.shape:
        return False
    same = equal(x, y)
    if equal_nan:
        same = e.logical_or(same, e.logical_and(logical_not(equal(x, x)), logical_not(equal(y, y))))
    return every(same, same.dims)


def _conjugate(self: PositionalArray) -> Any:
    """The complex conjugate; a real array is its own."""
    return np.conjugate(self) if self.dtype.kind == "c" else self


def _set_real(self: PositionalArray, value: Any) -> None:
    self[...] = value if self.dtype.kind != "c" else value + 1j * self.imag


def _set_imag(self: PositionalArray, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    self[...] = self.real + 1j * np.multiply(value, 1.0)


for _name, _value in {
    "astype": _astype,
    "clip": _clip,
    "round": lambda self, decimals=0, out=None: np.round(self, decimals, out=out),
    "conj": _conjugate,
    "conjugate": _conjugate,
    "real": property(lambda self: run(self, np.real, self.kin, (self,), {}), _set_real),
    "imag": property(lambda self: run(self, np.imag, self.kin, (self,), {}), _set_imag),
}.items():
    setattr(PositionalArray, _name, _value)
