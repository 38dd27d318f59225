"""Rules for ufuncs that SciPy alone computes, of NumPy and dask arrays: no function here has their names.

Most are inverses of distribution functions in a parameter, differentiated implicitly, or integrals.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import c, divide, exp, power, reciprocal, square
from namedgrad.rules.special import beta, gamma
from namedgrad.rules.special.bessel import i0, j0, k0, y0
from namedgrad.rules.special.cylinder import modstruve, struve
from namedgrad.rules.special.declare import Function, constant_in, scaled
from namedgrad.rules.special.distributions import (
    chndtr_density,
    f_density,
    f_in_degrees,
    halved,
    kolmogorov_order,
    odds_density,
    odds_flow,
    t_density,
    t_drift,
)
from namedgrad.rules.special.hypergeometric import hyp1f1
from namedgrad.rules.special.integrals import airy_parts, all_of, known_parts
from namedgrad.rules.structure import add, multiply, negative, subtract

_ONE = c(1.0)


def _inverse(name: str, operands: str, unknown: str, **slopes: Callable[..., DimArray]) -> Function:
    """The inverse of a function ``p`` in one of its operands; slopes of that take what ``operands`` and unknown name."""
    names = operands.split()
    arguments = [n for n in (*names, unknown) if n != "p"]

    def slope(n: str, y: DimArray, xs: tuple[DimArray, ...]) -> DimArray:
        at = {**dict(zip(names, xs, strict=True)), unknown: y}
        return slopes[n](*(at[k] for k in sorted(arguments)))

    def partial(n: str) -> Function:
        if n != "p" and n not in slopes:
            return constant_in(n, f"{name}({', '.join(names)})")
        return lambda y, *xs: divide(_ONE if n == "p" else negative(slope(n, y, xs)), slope(unknown, y, xs))

    return elementwise(name, *map(partial, names))


# slopes of distribution functions, of their operands in alphabetical order
_GAMMA: dict[str, Function] = {
    "a": lambda a, b, x: multiply(x, gamma.density(b, multiply(a, x))), "b": lambda a, b, x: gamma.gammainc_order(1)(b, multiply(a, x)),
    "x": lambda a, b, x: multiply(a, gamma.density(b, multiply(a, x))),
}  # fmt: skip
_BETA: dict[str, Function] = {"a": beta.betainc_order(1, 0), "b": beta.betainc_order(0, 1), "x": beta.density}
_CHI: dict[str, Function] = {
    "v": lambda v, x: halved(gamma.gammainc_order(1)(halved(v), halved(x))), "x": lambda v, x: halved(gamma.density(halved(v), halved(x))),
}  # fmt: skip
_T: dict[str, Function] = {"df": t_drift(1), "t": t_density}
_F: dict[str, Function] = {
    "dfd": lambda d, n, x: f_in_degrees[1](n, d, x), "dfn": lambda d, n, x: f_in_degrees[0](n, d, x),
    "x": lambda d, n, x: f_density(n, d, x),
}  # fmt: skip
_NONCENTRAL_CHI: dict[str, Function] = {"nc": lambda df, nc, x: negative(chndtr_density(add(df, c(2.0)), nc, x)), "x": chndtr_density}
_POISSON: dict[str, Function] = {
    "k": lambda k, m: negative(gamma.gammainc_order(1)(add(k, _ONE), m)), "m": lambda k, m: negative(gamma.density(add(k, _ONE), m)),
}  # fmt: skip


def _of_odds(density: Callable[..., DimArray]) -> Function:
    """Of the noncentral F distribution, by its parameters as those of one of beta: ``a, b``, half of ``nc``, and odds."""

    def slope(d: DimArray, n: DimArray, nc: DimArray, x: DimArray) -> DimArray:
        return density(n, d, halved(nc), divide(multiply(n, x), d))

    return slope


def _faded(nc: DimArray, r: DimArray, y: DimArray) -> DimArray:
    """``exp(-nc) M(a, b, x)`` with ``x = nc r / (1 + r)`` from ``y = M(b - a, b, -x)``, which does not overflow (DLMF 13.2.39)."""
    return multiply(exp(negative(divide(nc, add(_ONE, r)))), y)


def _ncf_density(n: DimArray, d: DimArray, nc: DimArray, r: DimArray) -> DimArray:
    a, b, share = halved(n), halved(d), divide(r, add(_ONE, r))
    more = _faded(nc, r, hyp1f1(negative(b), a, negative(multiply(nc, share))))
    return multiply(divide(n, d), multiply(odds_density(0, 0, a, b, r), more))


def _ncf_in_nc(n: DimArray, d: DimArray, nc: DimArray, r: DimArray) -> DimArray:
    """Minus half of ``x (1 - x)`` times the density of beta over ``a``, of every term."""
    a, b, share = halved(n), halved(d), divide(r, add(_ONE, r))
    more = _faded(nc, r, hyp1f1(subtract(_ONE, b), add(a, _ONE), negative(multiply(nc, share))))
    return scaled(-0.5, multiply(divide(odds_flow(a, b, r), a), more))


_NONCENTRAL_F = {"nc": _of_odds(_ncf_in_nc), "x": _of_odds(_ncf_density)}
_wright = elementwise(
    "wright_bessel", *(constant_in(n, "wright_bessel(a, b, x)") for n in "ab"), lambda y, a, b, x: _wright(a, add(a, b), x)
)
_log_wright = elementwise(
    "log_wright_bessel", *(constant_in(n, "log_wright_bessel(a, b, x)") for n in "ab"),
    lambda y, a, b, x: exp(subtract(_log_wright(a, add(a, b), x), y)),
)  # fmt: skip
_besselpoly = elementwise(
    "besselpoly",
    lambda y, a, lmb, nu: subtract(
        _besselpoly(a, add(lmb, _ONE), subtract(nu, _ONE)), _besselpoly(a, add(lmb, _ONE), add(nu, _ONE))
    ),
    *(constant_in(n, "besselpoly(a, lmb, nu)") for n in ("lmb", "nu")),
)


def _tukey_slope(y: DimArray, k: DimArray) -> DimArray:
    return reciprocal(add(power(y, subtract(k, _ONE)), power(subtract(_ONE, y), subtract(k, _ONE))))


def _cylinder(name: str, bend: Callable[[DimArray, DimArray], DimArray]) -> list[Function]:
    """A solution of ``y'' = bend(v, x) y`` and its derivative."""
    order = constant_in("the order", name)
    parts: list[Function] = known_parts(
        (order, lambda *xs: parts[1](*xs)), (order, lambda v, x, *y: multiply(bend(v, x), parts[0](v, x, *y)))
    )
    return parts


def _weber(v: DimArray, x: DimArray) -> DimArray:
    return subtract(scaled(0.25, square(x)), add(v, c(0.5)))


def _fresnel(sign: int) -> list[Function]:
    """The integral of ``exp(sign i t**2)`` from ``x`` on, and the same over its leading term (DLMF 7.7.10)."""
    turn = c(complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / math.sqrt(math.pi))
    parts: list[Function] = known_parts(
        (lambda x, *_: negative(exp(multiply(c(1j * sign), square(x)))),),
        (lambda x, *y: subtract(multiply(multiply(c(-2j * sign), x), parts[1](x, *y)), turn),),
    )
    return parts


def _integrals(*integrands: Function) -> list[Function]:
    return known_parts(*((lambda x, *_, f=f: f(x),) for f in integrands))


_SEVERAL = {
    "pbdv": _cylinder("pbdv(v, x)", _weber), "pbvv": _cylinder("pbvv(v, x)", _weber),  # DLMF 12.2.2
    "pbwa": _cylinder("pbwa(a, x)", lambda a, x: subtract(a, scaled(0.25, square(x)))),  # DLMF 12.14.2
    "itj0y0": _integrals(j0, y0), "iti0k0": _integrals(i0, k0),
    "itairy": _integrals(*(lambda x, k=k, s=s: all_of("airy", airy_parts, scaled(s, x))[k] for s in (1.0, -1.0) for k in (0, 2))),
    "modfresnelp": _fresnel(1), "modfresnelm": _fresnel(-1),
}  # fmt: skip
RULES: dict[str, Callable[..., DimArray | tuple[DimArray, ...]]] = {
    **{name: functools.partial(all_of, name, parts) for name, parts in _SEVERAL.items()},
    "itstruve0": elementwise("itstruve0", lambda y, x: struve(c(0.0), x)),
    "itmodstruve0": elementwise("itmodstruve0", lambda y, x: modstruve(c(0.0), x)),
    "wright_bessel": _wright, "log_wright_bessel": _log_wright, "besselpoly": _besselpoly,
    "tklmbda": elementwise("tklmbda", lambda y, x, k: _tukey_slope(y, k), constant_in("lmbda", "tklmbda(x, lmbda)")),
    "ncfdtr": elementwise(
        "ncfdtr", *(constant_in(n, "ncfdtr(dfn, dfd, nc, f)") for n in ("dfn", "dfd")),
        lambda y, n, d, nc, x: _NONCENTRAL_F["nc"](d, n, nc, x), lambda y, n, d, nc, x: _NONCENTRAL_F["x"](d, n, nc, x)),
    "ncfdtri": _inverse("ncfdtri", "dfn dfd nc p", "x", **_NONCENTRAL_F),
    "ncfdtrinc": _inverse("ncfdtrinc", "dfn dfd p x", "nc", **_NONCENTRAL_F),
    "chndtrix": _inverse("chndtrix", "p df nc", "x", **_NONCENTRAL_CHI),
    "chndtrinc": _inverse("chndtrinc", "x df p", "nc", **_NONCENTRAL_CHI),
    "btdtria": _inverse("btdtria", "p b x", "a", **_BETA), "btdtrib": _inverse("btdtrib", "a p x", "b", **_BETA),
    "gdtrib": _inverse("gdtrib", "a p x", "b", **_GAMMA), "chdtriv": _inverse("chdtriv", "p x", "v", **_CHI),
    "stdtridf": _inverse("stdtridf", "p t", "df", **_T), "fdtridfd": _inverse("fdtridfd", "dfn p x", "dfd", **_F),
    "pdtrik": _inverse("pdtrik", "p m", "k", **_POISSON),
    "kolmogi": _inverse("kolmogi", "p", "x", x=kolmogorov_order(1)),
}  # fmt: skip
