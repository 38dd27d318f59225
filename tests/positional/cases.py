"""Calls of NumPy functions, each a function of float arrays that plain NumPy computes as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

rng = np.random.default_rng(7)


class Case(NamedTuple):
    """A function of arrays, and the arrays."""

    label: str
    f: Callable[..., Any]
    args: tuple[Any, ...]


A = rng.normal(size=(3, 4))
B = rng.choice([-1.0, 1.0], size=(3, 4)) * rng.uniform(0.6, 1.9, size=(3, 4))  # divisors stay away from 0
COL = rng.normal(size=(3, 1))
ROW = np.array([0.83, -1.37, 1.91, -0.71])
CUBE = rng.normal(size=(2, 3, 4))
V = rng.normal(size=5)
W = rng.normal(size=3)
S = np.array(0.7)
POS = rng.uniform(0.5, 2.0, size=(3, 4))
M = rng.normal(size=(3, 3)) + 4 * np.eye(3)
MM = rng.normal(size=(2, 3, 3)) + 4 * np.eye(3)
SPD = M @ M.T
LEVELS = rng.normal(size=(2, 3, 3)) / 4 + np.diag([1.0, 5.0, 9.0])
RHS = rng.normal(size=(3, 2))
GAPS = np.where(rng.uniform(size=(3, 4)) < 0.3, np.nan, A)
GAPS[0, 0] = 0.5
MASK = rng.uniform(size=(3, 4)) < 0.6
MASK[:, 0] = True
INDEX = np.array([2, 0, 0, -1])
GRID = np.sort(rng.uniform(size=5))
Z = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))

SPOTS, SERIES, WEIGHTS = np.sort(rng.normal(size=6)), rng.normal(size=6), rng.uniform(0.5, 2.0, size=6)

CASES: list[Case] = []


def case(label: str, f: Callable[..., Any], *args: Any) -> None:
    CASES.append(Case(label, f, args))


# ---- operators and ufuncs
for _symbol, _f in {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "%": lambda a, b: a % b,
    "//": lambda a, b: a // b,
}.items():  # fmt: skip
    case(f"a {_symbol} b", _f, A, B)
    case(f"column {_symbol} row", _f, COL, ROW)
    case(f"cube {_symbol} column", _f, CUBE, COL)
    case(f"scalar {_symbol} a", lambda a, f=_f: f(2.03, a), B)
    case(f"array {_symbol} a", lambda a, f=_f: f(A, a), ROW)
    case(f"0-d {_symbol} a", _f, S, B)
case("a ** b", lambda a, b: a**b, POS, B)
case("a ** 2", lambda a: a**2, A)
case("2 ** a", lambda a: 2.0**a, A)
case("-a", lambda a: -a, A)
case("+a", lambda a: +a, A)
case("abs(a)", lambda a: abs(a), A)
case("divmod", lambda a: divmod(a, 0.7)[1], A)
case("round(a)", lambda a: round(a.sum(), 1) + a, A)
case("a @ b", lambda a, b: a @ b, A, B.T.copy())
for _u in (
    np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tanh, np.sinh, np.cosh, np.arctan, np.arcsinh, np.square, np.negative, np.absolute,
    np.fabs, np.deg2rad, np.rad2deg, np.degrees, np.radians, np.positive, np.sign, np.floor, np.ceil, np.trunc, np.rint,
    np.conjugate,
):  # fmt: skip
    case(f"np.{_u.__name__}", _u, A)
case("np.cbrt", np.cbrt, B)
for _u in (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal):
    case(f"np.{_u.__name__}", _u, POS)
for _u in (
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.arctan2, np.logaddexp,
    np.logaddexp2, np.copysign, np.remainder, np.fmod,
):  # fmt: skip
    case(f"np.{_u.__name__}", _u, A, B)
    case(f"np.{_u.__name__} broadcast", _u, COL, ROW)
case("np.power", np.power, POS, ROW)
case("np.modf", lambda a: np.modf(a)[0] * np.modf(a)[1], A)
case("np.ldexp", lambda a: np.ldexp(a, 3), A)
case("np.heaviside", lambda a, h: np.heaviside(a, h) * a, A, S)
case("np.add dtype", lambda a: np.add(a, 1, dtype=np.float64), A)
case("np.divide where", lambda a, b: np.divide(a, b, out=np.zeros_like(a), where=MASK), A, POS)
case("np.log where guards", lambda a: np.log(a, out=np.zeros_like(a), where=a > 0), B)
case("np.add.reduce", lambda a: np.add.reduce(a, axis=1), A)
case("np.maximum.reduce", np.maximum.reduce, A)
case("np.multiply.reduce", lambda a: np.multiply.reduce(a, axis=(0, 1)), A)
case("np.add.accumulate", lambda a: np.add.accumulate(a, axis=1), A)
case("np.multiply.outer", lambda a, b: np.multiply.outer(a, b), W, ROW)
case("np.subtract.outer", lambda a, b: np.subtract.outer(a, b), A, ROW)
case("np.subtract.outer lists", lambda a, b: np.subtract.outer(a, [b[0], 1.0, [b[1]][0]]), A, ROW)

# ---- choice
case("np.where", lambda a, b: np.where(MASK, a, b), A, B)
case("np.where broadcast", lambda a, b: np.where(MASK, a, b), COL, ROW)
case("np.where scalar", lambda a: np.where(a > 0, a, 0.5), A)
case("np.where of itself", lambda a, b: np.where(a > b, a * b, a + b), A, B)
case("np.select", lambda a, b: np.select([a > 0.5, a > 0], [a * b, b], 2 * a), A, B)
case("np.clip", lambda a: np.clip(a, -0.5, 0.5), A)
case("np.clip bounds", lambda a, low: np.clip(a, low, None), A, ROW)
case("np.clip min=", lambda a: a.clip(max=0.2), A)
case("np.nan_to_num", np.nan_to_num, GAPS)
case("np.round", lambda a: np.round(a, 1) * a, A)
case("np.fix", lambda a: np.fix(a) + a, A)
case("astype", lambda a: a.astype(float) * a, A)
case("np.choose", lambda a, b: np.choose(MASK.astype(int), [a, b]), A, B)

# ---- reductions
for _name in ("sum", "prod", "mean", "max", "min", "std", "var", "median", "ptp"):
    _g = getattr(np, _name)
    case(f"np.{_name}", _g, A)
    case(f"np.{_name} axis", lambda a, g=_g: g(a, axis=1), CUBE)
    case(f"np.{_name} negative axis", lambda a, g=_g: g(a, -2), CUBE)
    case(f"np.{_name} axes", lambda a, g=_g: g(a, axis=(0, -1)), CUBE)
    case(f"np.{_name} keepdims", lambda a, g=_g: g(a, axis=1, keepdims=True), CUBE)
    case(f"np.{_name} keepdims all", lambda a, g=_g: g(a, keepdims=True), A)
for _name in ("sum", "prod", "mean", "max", "min", "std", "var"):
    case(f".{_name}", lambda a, n=_name: getattr(a, n)(0), A)
case("np.sum where", lambda a: np.sum(a, axis=0, where=MASK), A)
case("np.sum initial", lambda a: np.sum(a, initial=3.0), A)
case("np.prod where", lambda a: np.prod(a, axis=1, where=MASK), A)
case("np.mean where", lambda a: np.mean(a, axis=1, where=MASK), A)
case("np.var where", lambda a: np.var(a, axis=1, where=MASK), A)
case("np.std ddof", lambda a: np.std(a, axis=1, ddof=1), A)
case("np.std correction", lambda a: np.std(a, axis=1, correction=1), A)
case("np.var mean=", lambda a: np.var(a, axis=1, mean=np.mean(a, axis=1, keepdims=True)), A)
case("np.max where", lambda a: np.max(a, axis=1, where=MASK, initial=-9.0), A)
case("np.min initial", lambda a: np.min(a, axis=1, initial=0.1), A)
case("np.sum dtype", lambda a: np.sum(a, dtype=np.float64), A)
for _name in ("nansum", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar", "nanprod", "nanmedian"):
    _g = getattr(np, _name)
    case(f"np.{_name}", _g, GAPS)
    case(f"np.{_name} axis", lambda a, g=_g: g(a, axis=0), GAPS)
    case(f"np.{_name} keepdims", lambda a, g=_g: g(a, axis=1, keepdims=True), GAPS)
case("np.nanstd ddof", lambda a: np.nanstd(a, axis=1, ddof=1), GAPS)
case("np.nanmean where", lambda a: np.nanmean(a, axis=1, where=MASK), GAPS)
for _name in ("cumsum", "cumprod"):
    _g = getattr(np, _name)
    case(f"np.{_name}", _g, A)
    case(f"np.{_name} axis", lambda a, g=_g: g(a, axis=0), A)
    case(f".{_name}", lambda a, n=_name: getattr(a, n)(-1), A)
case("np.nancumsum", lambda a: np.nancumsum(a, axis=1), GAPS)
case("np.nancumprod", lambda a: np.nancumprod(a, axis=1), GAPS)
if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    case("np.cumulative_sum", lambda a: np.cumulative_sum(a, axis=1, include_initial=True), A)
    case("np.cumulative_prod", lambda a: np.cumulative_prod(a, axis=0, include_initial=True), A)
case("np.average", lambda a, w: np.average(a, axis=1, weights=w), A, POS)
case("np.average 1-d weights", lambda a, w: np.average(a, axis=0, weights=w), A, np.abs(W))
case("np.average returned", lambda a, w: np.average(a, axis=0, weights=w, returned=True)[1], A, np.abs(W))

# ---- order
for _method in ("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased"):
    case(f"np.quantile {_method}", lambda a, m=_method: np.quantile(a, 0.35, axis=1, method=m), A)
case("np.quantile several", lambda a: np.quantile(a, [0.1, 0.5], axis=0), A)
case("np.quantile 2-d q", lambda a: np.quantile(a, [[0.1], [0.5]], axis=1, keepdims=True), A)
case("np.percentile", lambda a: np.percentile(a, 30), A)
case("np.nanquantile", lambda a: np.nanquantile(a, [0.2, 0.7], axis=1), GAPS)
case("np.nanpercentile", lambda a: np.nanpercentile(a, 40, axis=0), GAPS)
case("np.sort", np.sort, A)
case("np.sort axis", lambda a: np.sort(a, axis=0), A)
case("np.sort flat", lambda a: np.sort(a, axis=None), A)
case("np.argsort and take", lambda a: np.take_along_axis(a, np.argsort(a, axis=0), axis=0), A)
case("np.lexsort and take", lambda a: np.take_along_axis(a, np.lexsort((a, np.floor(a)), axis=0), axis=0), A)

# ---- shape
case("np.transpose", np.transpose, CUBE)
case("np.transpose axes", lambda a: np.transpose(a, (1, 2, 0)), CUBE)
case(".T", lambda a: a.T, CUBE)
case(".mT", lambda a: a.mT, CUBE)
case(".transpose", lambda a: a.transpose(2, 0, 1), CUBE)
case("np.swapaxes", lambda a: np.swapaxes(a, 0, -1), CUBE)
case("np.moveaxis", lambda a: np.moveaxis(a, [0, 1], [-1, 0]), CUBE)
case("np.rollaxis", lambda a: np.rollaxis(a, 2, 1), CUBE)
case("np.reshape", lambda a: np.reshape(a, (4, -1)), CUBE)
case("np.reshape F", lambda a: np.reshape(a, (4, 6), order="F"), CUBE)
case(".reshape", lambda a: a.reshape(2, 12), CUBE)
case("reshape of transposed", lambda a: a.T.reshape(-1), A)
case("np.ravel", np.ravel, CUBE)
case("np.ravel F", lambda a: np.ravel(a, order="F"), A)
case(".flatten", lambda a: a.flatten(), A)
case("np.squeeze", np.squeeze, COL)
case("np.squeeze axis", lambda a: np.squeeze(a[None], axis=0), A)
case("np.expand_dims", lambda a: np.expand_dims(a, (0, -1)), A)
case("np.atleast_3d", np.atleast_3d, A)
case("np.broadcast_to", lambda a: np.broadcast_to(a, (2, 3, 4)), COL)
case("np.broadcast_arrays", lambda a, b: np.broadcast_arrays(a, b)[0] * 2, COL, ROW)
case("np.flip", np.flip, A)
case("np.flip axis", lambda a: np.flip(a, 1), A)
case("np.fliplr", np.fliplr, A)
case("np.flipud", np.flipud, A)
for _k in (0, 1, 2, 3):
    case(f"np.rot90 {_k}", lambda a, k=_k: np.rot90(a, k), A)
case("np.roll", lambda a: np.roll(a, 2), A)
case("np.roll axes", lambda a: np.roll(a, (1, -1), (0, 1)), A)
case("np.split", lambda a: np.split(a, 2, axis=1)[1], A)
case("np.split at", lambda a: np.split(a, [1, 3], axis=1)[1], A)
case("np.array_split", lambda a: np.array_split(a, 3, axis=1)[0], A)
case("np.vsplit", lambda a: np.vsplit(a, 3)[1], A)
case("np.hsplit", lambda a: np.hsplit(a, 2)[1], A)
if hasattr(np, "unstack"):  # NumPy 2.1
    case("np.unstack", lambda a: np.unstack(a, axis=1)[2], A)
case("np.diagonal", lambda a: np.diagonal(a, 1), A)
case("np.diagonal axes", lambda a: np.diagonal(a, 0, 0, 2), CUBE)
case("np.trace", np.trace, M)
case("np.diag of vector", lambda a: np.diag(a, -1), W)
case("np.diag of matrix", np.diag, M)
case("np.diagflat", np.diagflat, A)
case("np.tril", lambda a: np.tril(a, -1), CUBE)
case("np.triu", np.triu, A)
case("np.triu of vector", np.triu, V)
case("np.tril of vector", lambda a: np.tril(a, -1), V)
case("sliding_window_view", lambda a: sliding_window_view(a, 3, axis=1), A)
case("sliding_window_view 2-d", lambda a: sliding_window_view(a, (2, 3)), A)
case("rolling mean", lambda a: sliding_window_view(a, 2, axis=0).mean(-1), A)

# ---- joining
case("np.concatenate", lambda a, b: np.concatenate([a, b, a]), A, B)
case("np.concatenate axis", lambda a, b: np.concatenate((a, b), axis=-1), A, COL)
case("np.concatenate flat", lambda a, b: np.concatenate((a, b), axis=None), A, ROW)
case("np.concatenate constant", lambda a: np.concatenate([a, np.ones((2, 4))]), A)
case("np.stack", lambda a, b: np.stack([a, b], axis=1), A, B)
case("np.stack last", lambda a, b: np.stack([a, b], axis=-1), A, B)
case("np.vstack", lambda a, b: np.vstack([a, b]), A, ROW)
case("np.hstack", lambda a, b: np.hstack([a, b]), A, COL)
case("np.hstack 1-d", lambda a, b: np.hstack([a, b]), V, W)
case("np.dstack", lambda a, b: np.dstack([a, b]), A, B)
case("np.column_stack", lambda a, b: np.column_stack([a, b]), A, W)
case("np.block", lambda a, b: np.block([[a, b], [b, a]]), A, B)
case("np.append", lambda a, b: np.append(a, b), A, ROW)
case("joined with numbers", lambda a: (np.append(a, 2.0), np.stack([a[0], 1.5, a[2]]), np.hstack([a, -1.0]), np.vstack([2.0, a[1]])), W)
case("np.tile", lambda a: np.tile(a, (2, 1, 2)), A)
case("np.repeat", lambda a: np.repeat(a, [1, 0, 2], axis=0), A)
case("np.repeat flat", lambda a: np.repeat(a, 2), A)
case("np.resize", lambda a: np.resize(a, (2, 7)), A)
case("np.delete", lambda a: np.delete(a, [1, 2], axis=1), A)
case("np.insert", lambda a, b: np.insert(a, 1, b, axis=0), A, ROW)
case("np.insert several", lambda a, b: np.insert(a, [0, 2, 2], b), V, W)
case("np.meshgrid", lambda a, b: np.meshgrid(a, b)[0] * np.meshgrid(a, b)[1], V, W)
case("np.meshgrid ij", lambda a, b: np.meshgrid(a, b, indexing="ij", sparse=True)[1], V, W)
case("np.array like", lambda a: np.array([[a[0, 0], 2.0], [a[1, 1] * a[0, 1], a[2, 3]]], like=a), A)
for _mode in (
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
):
    case(f"np.pad {_mode}", lambda a, m=_mode: np.pad(a, ((1, 2), (0, 1)), mode=m), A)
case("np.pad scalar", lambda a: np.pad(a, 2), A)
case("np.pad constant values", lambda a: np.pad(a, 1, constant_values=((1, 2), (3, 4))), A)
case("np.pad end values", lambda a: np.pad(a, (2, 1), "linear_ramp", end_values=(5, -4)), A)
case("np.pad stat length", lambda a: np.pad(a, 2, "mean", stat_length=2), A)



def _unpacked(a: Any) -> Any:
    u, v, w = a
    return u * v + w


# ---- picking
case("a[1]", lambda a: a[1], A)
case("a[-1, 2]", lambda a: a[-1, 2], A)
case("a[:, 1:3]", lambda a: a[:, 1:3], A)
case("a[::-2, ..., None]", lambda a: a[::-2, ..., None], CUBE)
case("a[None, 1]", lambda a: a[None, 1], CUBE)
case("a[index]", lambda a: a[INDEX % 3], A)
case("a[:, index]", lambda a: a[:, INDEX], A)
case("a[index, index]", lambda a: a[[0, 2, 2], INDEX[:3]], A)
case("a[column, row]", lambda a: a[np.array([[0], [2]]), np.array([1, 1, 3])], A)
case("a[index, :, index]", lambda a: a[[0, 1], :, [2, 3]], CUBE)
case("a[0, :, index]", lambda a: a[0, :, [2, 3, 3]], CUBE)
case("a[:, index, 1]", lambda a: a[:, [2, 0], 1], CUBE)
case("a[mask]", lambda a: a[MASK], A)
case("a[True]", lambda a: a[True] * (1.0 + a[np.False_].sum()), A)
case("a[:, mask]", lambda a: a[:, MASK[0]], A)
case("a[a > 0]", lambda a: a[a > 0] ** 2, A)
case("a[2-d index]", lambda a: a[np.array([[0, 1], [2, 2]])], V)
case("iteration", lambda a: sum(r * r for r in a), A)
case("unpacking", _unpacked, W)
case("np.take", lambda a: np.take(a, INDEX, axis=1), A)
case("np.take flat", lambda a: np.take(a, [[0, 5], [11, 1]]), A)
case("np.take clip", lambda a: np.take(a, [7, -9], axis=0, mode="clip"), A)
case("np.take wrap", lambda a: a.take([7, -9], axis=0, mode="wrap"), A)
case("np.take_along_axis", lambda a: np.take_along_axis(a, INDEX[None, :] % 3, axis=0), A)
case("np.compress", lambda a: np.compress([True, False, True], a, axis=0), A)
case("np.extract", lambda a: np.extract(MASK, a), A)


# ---- writing
def _write(key: Any, how: str = "set") -> Callable[..., Any]:
    def f(a: Any, v: Any) -> Any:
        out = a * 1.0
        if how == "set":
            out[key] = v
        elif how == "add":
            out[key] += v
        else:
            out[key] *= v
        return out * a

    return f


for _label, _key, _value in (
    ("[1]", 1, ROW), ("[:, 2]", (slice(None), 2), W), ("[1:, ::2]", (slice(1, None), slice(None, None, 2)), RHS[:2]), ("[...]", ..., COL),
    ("[mask]", MASK, S), ("[mask] vector", MASK, rng.normal(size=MASK.sum())), ("[index]", [0, 2], RHS.T[:, :1]), ("[::-1]", slice(None, None, -1), A),
    ("[i, j]", ([0, 1, 2], [3, 3, 0]), W), ("[0, 1]", (0, 1), S), ("[None, 1]", (None, 1), ROW), ("[0:0]", slice(0, 0), S),
):  # fmt: skip
    for _how in ("set", "add", "multiply"):
        case(f"a{_label} {_how}", _write(_key, _how), A, _value)


def _zeros_like(a: Any) -> Any:
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        out[i] = a[i] * i + (out[i - 1] if i else 0.0)
    return out


def _recurrence(a: Any) -> Any:
    out = np.zeros(6, like=a)
    out[0] = a[0, 0]
    for i in range(1, 6):
        out[i] = 0.5 * out[i - 1] ** 2 + a[i % 3, i % 4]
    return out


def _views(a: Any) -> Any:
    out = a * 2.0
    row, column, flat, turned = out[1], out[:, 1], out.reshape(-1), out.T[::-1]
    row[2] = a[0, 0] * 3
    column *= a[0, 3]
    flat[3] += a[1, 1]
    turned[0, 0] = a[2, 2] ** 2
    return row * 2, column, flat, turned, out


def _swap(a: Any) -> Any:
    out = a.copy()
    out[0], out[1] = out[1].copy() * 2, out[0].copy()
    return out


def _add_at(a: Any, v: Any) -> Any:
    out = a.copy()
    np.add.at(out, (slice(None), [0, 0, 2]), v)
    np.subtract.at(out, (slice(None), [0, 1, 1]), 2 * v)
    return out


case("zeros_like loop", _zeros_like, A)
case("recurrence", _recurrence, A)
case("views see writes", _views, A)
case("swapped rows", _swap, A)
case("np.add.at", _add_at, A, W)


def _through(write: Callable[..., Any]) -> Callable[..., Any]:
    def f(a: Any, *rest: Any) -> Any:
        out = a * 1.0
        write(out, *rest)
        return out

    return f


case("np.copyto", _through(lambda o, b: np.copyto(o, b, where=MASK)), A, B)
case("np.putmask", _through(lambda o, b: np.putmask(o, MASK, b)), A, B)
case("np.put", _through(lambda o, b: np.put(o, [0, 5, 7], b)), A, W)
case("np.put_along_axis", _through(lambda o, b: np.put_along_axis(o, INDEX[None, :] % 3, b, 0)), A, ROW[None])
case("np.fill_diagonal", _through(lambda o, b: np.fill_diagonal(o, b)), A, S)
case(".fill", _through(lambda o, b: o.fill(b)), A, S)
case(".sort", _through(lambda o: o.sort(axis=0)), A)
case("a += b", _through(lambda o, b: o.__iadd__(b)), A, ROW)
case("a /= b", _through(lambda o, b: o.__itruediv__(b)), A, POS)
case("np.multiply out", _through(lambda o, b: np.multiply(o, b, out=o)), A, B)
case("np.sum out", lambda a: np.sum(a, axis=0, out=np.zeros(4, like=a)) * 2, A)

# ---- calculus
case("np.diff", np.diff, A)
case("np.diff n", lambda a: np.diff(a, 2, axis=0), A)
case("np.diff ends", lambda a, b: np.diff(a, prepend=0.0, append=b), A, COL)
case("np.ediff1d", lambda a: np.ediff1d(a, to_begin=1.0, to_end=[2.0, 3.0]), A)
case("np.gradient", lambda a: np.gradient(a)[0] * np.gradient(a)[1], A)
case("np.gradient axis", lambda a: np.gradient(a, 0.5, axis=1, edge_order=2), A)
case("np.gradient coords", lambda a, x: np.gradient(a, x, axis=1, edge_order=2), A, np.cumsum(np.abs(ROW)))
case("np.trapezoid", lambda a: np.trapezoid(a, dx=0.3, axis=0), A)
case("np.trapezoid x", lambda a, x: np.trapezoid(a, x), A, ROW)
case("np.cross", np.cross, RHS.T.repeat(1, 1) @ np.eye(3), W)
case("np.cross axis", lambda a, b: np.cross(a, b, axis=0), A, B)
case("np.interp", lambda x, fp: np.interp(x, GRID, fp), np.array([-0.5, GRID[2] + 0.01, 0.3, 2.0]), V)
case("np.piecewise", lambda x: np.piecewise(x, [x < 0.0, x > 0.5], [lambda v: v**2, lambda v: -v, np.sin]), np.array([-0.5, 0.2, 0.3, 2.0]))
case(
    "np.interp knots", lambda x, xp, fp: np.interp(x, xp, fp, left=0.1, right=0.2), np.linspace(-0.11, 1.13, 6), GRID, V
)
case("np.polyval", np.polyval, W, A)
case("np.polyval of columns", lambda p, x: np.polyval(p, 1.3) * np.polyval(p, x[:, :1]), A, B)
case("np.polyfit full", lambda x, y, w: [np.polyfit(x, y, 2, w=w, full=True)[i] for i in (0, 1, 3)], SPOTS, SERIES, WEIGHTS)
case("np.polyfit cut", lambda x, y: np.polyfit(x, y, 3, rcond=0.2, full=True)[0], SPOTS, SERIES)
case("np.polyfit full several", lambda x, y: [np.polyfit(x, y, 1, full=True)[i] for i in (0, 1, 3)], SPOTS, SERIES[:, None] * W)
case("np.polyfit cov", lambda x, y, w: list(np.polyfit(x, y, 2, w=w, cov=True)), SPOTS, SERIES, WEIGHTS)
case("np.polyfit cov several", lambda x, y: list(np.polyfit(x, y, 1, cov=True)), SPOTS, SERIES[:, None] * W)
case("np.polyfit unscaled", lambda x, y: list(np.polyfit(x, y, 1, cov="unscaled")), SPOTS, SERIES)
for _mode in ("full", "same", "valid"):
    case(f"np.convolve {_mode}", lambda a, v, m=_mode: np.convolve(a, v, m), V, W)
    case(f"np.correlate {_mode}", lambda a, v, m=_mode: np.correlate(a, v, m), V, W)

# ---- products
case("np.matmul", np.matmul, A, RHS[:, :1].T.repeat(4, 0)[:, :1] * np.ones((4, 2)))
case("np.matmul batch", np.matmul, CUBE, ROW)
case("np.matmul vector batch", np.matmul, W, CUBE)
case("np.matmul broadcast", np.matmul, CUBE[:, None], CUBE.swapaxes(1, 2))
case("np.dot", np.dot, A, ROW)
case("np.dot cube", np.dot, A.T.copy(), CUBE)
case(".dot", lambda a, b: a.dot(b), W, A)
case("np.vdot", np.vdot, A, B)
case("np.inner", np.inner, A, CUBE)
case("np.outer", np.outer, A, W)
case("np.kron", np.kron, A, RHS)
case("np.tensordot", lambda a, b: np.tensordot(a, b, axes=([0], [1])), A, CUBE)
case("np.tensordot 0", lambda a, b: np.tensordot(a, b, 0), W, ROW)
case("np.vecdot", np.vecdot, A, ROW)
case("np.vecdot axis", lambda x, y: np.vecdot(x, y, axis=0), A, A)
if hasattr(np, "matvec"):  # NumPy 2.2
    case("np.matvec", np.matvec, CUBE, ROW)
    case("np.vecmat", np.vecmat, W, CUBE)
for _subscripts, _operands in {
    "ij,kj->ik": (A, B), "ij->j": (A,), "ii->i": (M,), "ii": (M,), "ij,j": (A, ROW), "...ij,...jk->...ik": (CUBE, CUBE.swapaxes(1, 2).copy()),
    "i,j->ji": (W, ROW), "aij,ij,i->a": (CUBE, A, W), "ij,ij->": (A, B), "i...->...": (CUBE,), "aii->ai": (MM,), "ba": (A,),
}.items():  # fmt: skip
    case(f"np.einsum {_subscripts}", lambda *xs, s=_subscripts: np.einsum(s, *xs), *_operands)
case("np.einsum lists", lambda a, b: np.einsum(a, [0, 1], b, [2, 1], [2, 0]), A, B)
case("np.linalg.multi_dot", lambda a, b, c: np.linalg.multi_dot([a, b, c]), A.T.copy(), A, ROW)

# ---- linear algebra
case("np.linalg.solve", np.linalg.solve, M, RHS)
case("np.linalg.solve vector", np.linalg.solve, M, W)
case("np.linalg.solve batch", np.linalg.solve, MM, RHS)
case("np.linalg.inv", np.linalg.inv, MM)
case("np.linalg.cholesky", lambda a: np.linalg.cholesky(a @ a.mT + np.eye(3)), MM)
case("np.linalg.cholesky upper", lambda a: np.linalg.cholesky(a @ a.T + np.eye(3), upper=True), M)
for _n in (-2, 0, 1, 3):
    case(f"np.linalg.matrix_power {_n}", lambda a, n=_n: np.linalg.matrix_power(a, n) + a, M)
for _ord in (None, 1, 2, 3, np.inf, -np.inf, 0):
    case(f"np.linalg.norm {_ord}", lambda a, o=_ord: np.linalg.norm(a, o, axis=1) * a[:, 0], A)
for _ord in (None, "fro", 1, -1, np.inf, -np.inf):
    case(f"np.linalg.norm matrix {_ord}", lambda a, o=_ord: np.linalg.norm(a, o, axis=(0, 2), keepdims=True), CUBE)
for _ord in ("nuc", 2, -2):
    case(f"np.linalg.norm matrix {_ord}", lambda a, o=_ord: np.linalg.norm(a, o, axis=(0, 2)), CUBE)
case("np.linalg.det", np.linalg.det, MM)
case("np.linalg.slogdet", lambda a: np.linalg.slogdet(a)[1], MM)
case("np.linalg.eigh", lambda a: np.abs(np.linalg.eigh(a + a.mT)[1]), LEVELS)
case("np.linalg.eigh values", lambda a: np.linalg.eigh(a + a.mT, "U").eigenvalues, M)
case("np.linalg.eigvalsh", lambda a: np.linalg.eigvalsh(a + a.mT), MM)
case("np.linalg.eig", lambda a: np.abs(np.linalg.eig(a)[1]), LEVELS)
case("np.linalg.eigvals", lambda a: np.abs(np.linalg.eigvals(a)), MM)
case("np.linalg.svd", lambda a: np.linalg.svd(a, full_matrices=False).S, CUBE)
case("np.linalg.svd reconstructed", lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0]), CUBE)
case("np.linalg.svd full", lambda a: (v := np.linalg.svd(a)[2][..., 3:, :]).mT @ v, CUBE)
case("np.linalg.svdvals", np.linalg.svdvals, A)
case("np.linalg.qr", lambda a: tuple(np.linalg.qr(a)), CUBE)
case("np.linalg.qr tall", lambda a: tuple(np.linalg.qr(a)), A.T.copy())
case("np.linalg.qr complete", lambda a: np.linalg.qr(a, "complete").R, A.T.copy())
case("np.linalg.qr r", lambda a: np.linalg.qr(a, "r"), MM)
case("np.linalg.pinv", np.linalg.pinv, CUBE)
case("np.linalg.pinv rtol of each", lambda a: np.linalg.pinv(a, rcond=np.array([0.5, 1e-9], like=a)), CUBE)
case("np.linalg.pinv rtol", lambda a: np.linalg.pinv(a.T, rtol=1e-10), A)
case("np.linalg.lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[:2], A.T.copy(), ROW)
case("np.linalg.lstsq columns", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[:2], A.T.copy(), np.stack([ROW, ROW**2], 1))
case("np.linalg.lstsq wide", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], A, W)
for _ord in (None, -2, 1, "fro"):
    case(f"np.linalg.cond {_ord}", lambda a, o=_ord: np.linalg.cond(a, o), MM)
case("np.linalg.tensorinv", lambda a: np.linalg.tensorinv(np.reshape(a, (2, 2, 4))), np.eye(4) * 3 + CUBE[0, :1])
case("np.linalg.tensorsolve", lambda a, b: np.linalg.tensorsolve(np.reshape(a, (2, 2, 4)), np.reshape(b, (2, 2))), np.eye(4) * 3 + CUBE[0, :1], ROW)
case("np.linalg.vector_norm", lambda a: np.linalg.vector_norm(a, axis=0), A)
case("np.linalg.matrix_norm", np.linalg.matrix_norm, CUBE)
case("np.linalg.trace", np.linalg.trace, MM)
case("np.linalg.diagonal", np.linalg.diagonal, MM)
case("np.linalg.outer", np.linalg.outer, V, W)
case("np.linalg.cross", np.linalg.cross, A[:, :3].copy(), W)


# ---- Fourier transforms
def _parts(z: Any) -> Any:
    return z.real * 2 + z.imag


for _name in ("fft", "ifft", "rfft", "ihfft"):
    for _n in (None, 3, 6):
        case(f"np.fft.{_name} {_n}", lambda a, g=_name, n=_n: _parts(getattr(np.fft, g)(a, n)), A)
for _name in ("irfft", "hfft"):
    for _n in (None, 3, 5, 6, 9):
        case(f"np.fft.{_name} {_n}", lambda a, b, g=_name, n=_n: getattr(np.fft, g)(a + 1j * b, n, axis=0), A, B)
for _norm in ("ortho", "forward"):
    for _name in ("fft", "ifft", "rfft", "ihfft"):
        case(f"np.fft.{_name} {_norm}", lambda a, g=_name, n=_norm: _parts(getattr(np.fft, g)(a, norm=n)), A)
    for _name in ("irfft", "hfft"):
        case(f"np.fft.{_name} {_norm}", lambda a, g=_name, n=_norm: getattr(np.fft, g)(a, norm=n), A)
for _name in ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn"):
    case(f"np.fft.{_name}", lambda a, g=_name: _parts(getattr(np.fft, g)(a)), CUBE)
for _name in ("irfft2", "irfftn"):
    case(f"np.fft.{_name}", lambda a, b, g=_name: getattr(np.fft, g)(a + 1j * b, s=(3, 5), axes=(0, 1)), A, B)
case("np.fft.fftn s", lambda a: _parts(np.fft.fftn(a, s=(2, 6), axes=(0, 1))), A)
for _name in ("fft2", "ifftn", "rfftn", "irfftn"):  # along an axis named twice, one after the other
    for _n in ((0, 0), (1, 0, -1)):
        case(f"np.fft.{_name} along {_n}", lambda a, g=_name, n=_n: _parts(getattr(np.fft, g)(a, axes=n)), A)
        case(f"np.fft.{_name} along {_n}, s", lambda a, g=_name, n=_n: _parts(getattr(np.fft, g)(a, (3, -1, 6)[-len(n):], n, "ortho")), A)
case("np.fft.irfftn of its own size", lambda a: np.fft.irfftn(a, (-1, -1), (0, 1)), A)
case("np.fft.fftshift twice", lambda a: np.fft.ifftshift(np.fft.fftshift(a, (1, 1, 0)), (0, 0)), A)
case("np.roll twice", lambda a: np.roll(a, (1, 1, 2), (1, 0, 1)), A)
case("np.roll by several", lambda a: np.roll(a, (1, 1), 1), A)
case("np.fft.fftshift", np.fft.fftshift, A)
case("np.fft.ifftshift", lambda a: np.fft.ifftshift(a, axes=1), A)

# ---- complex numbers
case("np.real", lambda a, b: np.real((a + 1j * b) ** 2), A, B)
case("np.imag", lambda a, b: ((a + 1j * b) ** 2).imag, A, B)
case("np.angle", lambda a, b: np.angle(a + 1j * b, deg=True), A, B)
case("np.abs complex", lambda a, b: np.abs(a + 1j * b), A, B)
case("np.conj", lambda a, b: ((a + 1j * b).conj() * (a - 2j * b)).real, A, B)


# ---- covariances, running extremes, order
FREQUENCIES = np.array([1, 2, 1, 3])
for _label, _f in {
    "np.cov": np.cov, "np.cov columns": lambda a: np.cov(a, rowvar=False), "np.cov biased": lambda a: np.cov(a, bias=True),
    "np.cov ddof": lambda a: np.cov(a, ddof=2), "np.cov fweights": lambda a: np.cov(a, fweights=FREQUENCIES),
    "np.corrcoef": np.corrcoef, "np.maximum.accumulate": lambda a: np.maximum.accumulate(a, axis=1),
    "np.minimum.accumulate": np.minimum.accumulate, "np.logaddexp.accumulate": lambda a: np.logaddexp.accumulate(a, axis=1),
    "np.partition": lambda a: np.partition(a, 1, axis=1), "np.partition flat": lambda a: np.partition(a, (2, 5), axis=None),
    "np.unwrap": lambda a: np.unwrap(3 * a), "np.unwrap axis": lambda a: np.unwrap(3 * a, axis=0, period=2.0),
    "np.unwrap discont": lambda a: np.unwrap(3 * a, discont=4.0), "np.pad odd": lambda a: np.pad(a, 2, "reflect", reflect_type="odd"),
    "np.pad odd symmetric": lambda a: np.pad(a, ((7, 3), (0, 0)), "symmetric", reflect_type="odd"),
    "np.repeat each": lambda a: np.repeat(a, [2, 0, 1], axis=0), "np.tile many": lambda a: np.tile(a, (2, 1, 3)),
}.items():  # fmt: skip
    case(_label, _f, A)
case("np.cov two", np.cov, A, B)
case("np.cov row", np.cov, ROW)
case("np.cov aweights", lambda a, w: np.cov(a, aweights=w), A, np.abs(ROW))
case("np.cov both weights", lambda a, w: np.cov(a, fweights=FREQUENCIES, aweights=w), A, np.abs(ROW))
case("np.cov complex", lambda z: np.cov(z).real + np.cov(z).imag, Z)
case("np.corrcoef two rows", np.corrcoef, ROW, np.array([0.3, 0.1, -0.4, 0.9]))
case("np.fmax.accumulate", np.fmax.accumulate, GAPS)
