"""Movement, parts, missing cells, scans and complex parts of a million cells by hand in NumPy; see the package.

Where an operation only looks at its operand, a copy is taken, here and by hand.
"""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(13)
N = 1000
EVERY = np.arange(N)
POWERS = RNG.integers(-3, 4, (N, N))


def _like(x: np.ndarray, places: Any, g: np.ndarray) -> np.ndarray:
    """Zeros but for some cells."""
    out = np.zeros_like(x)
    out[places] = g
    return out


# ------------------------------------------------------------------------------------------------ movement


def _steps(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    out[0] = 0
    np.subtract(x[1:], x[:-1], out=out[1:])
    return out


def _steps_pull(g: np.ndarray, *_: Any) -> Any:
    out = np.empty_like(g)
    out[0] = 0
    out[1:] = g[1:]
    out[:-1] -= g[1:]
    return (out,)


def _shifted(x: np.ndarray, fill: float = np.nan) -> np.ndarray:
    out = np.empty_like(x)
    out[:, :7], out[:, 7:] = fill, x[:, :-7]
    return out


def _shifted_pull(g: np.ndarray, *_: Any) -> Any:
    out = np.empty_like(g)
    out[:, -7:], out[:, :-7] = 0, g[:, 7:]
    return (out,)


def _embedded(x: np.ndarray) -> np.ndarray:
    out = np.zeros((*x.shape, x.shape[1]))
    np.einsum("abb->ab", out)[...] = x
    return out


def _crossed_pull(g: np.ndarray, _: Any, x: np.ndarray) -> Any:
    out, half = np.empty_like(x), N // 2
    np.multiply(g, x[:, half:], out=out[:, :half])
    np.multiply(g, x[:, :half], out=out[:, half:])
    return (out,)


def _alternating(x: np.ndarray) -> np.ndarray:
    return x[:, 0] - x[:, 1] + x[:, 2] - x[:, 3]


# ------------------------------------------------------------------------------------------------ missing cells, scans


def _runs(there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends and lengths of the runs that end with a number or with their row."""
    ends = there.copy()
    ends[:, -1] = True
    at = np.flatnonzero(ends)
    return at, np.diff(at, prepend=-1)


def _filled(x: np.ndarray) -> np.ndarray:
    at, lengths = _runs(~np.isnan(x))
    return np.repeat(x.reshape(-1)[at], lengths).reshape(x.shape)


def _filled_pull(g: np.ndarray, _: Any, x: np.ndarray) -> Any:
    there, out = ~np.isnan(x), np.zeros_like(x)
    at, lengths = _runs(there)
    out.reshape(-1)[at] = np.add.reduceat(g.reshape(-1), at - lengths + 1)
    return (np.where(there, out, 0),)


def _lowest_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    records, out = np.flatnonzero(x == y), np.zeros_like(g)
    out.reshape(-1)[records] = np.add.reduceat(g.reshape(-1), records)
    return (out,)


def _shared(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    hits = x == y[:, None]
    return (hits * (g / hits.sum(1))[:, None],)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    return [*_moved(), *_cellwise(), *_reduced(), *_complex()]


def _moved() -> list[tuple[Any, ...]]:
    d, half = ng.DimArray, N // 2
    x = (d(RNG.normal(size=(N, N)), ("a", "b")),)
    line, few = (d(x[0].data.reshape(-1), "a"),), (d(x[0].data.reshape(-1, 4), ("a", "b")),)
    square, ends = (d(x[0].data.reshape(4, 4, -1), ("a", "b", "c")),), (d(EVERY / N, "a"), d(EVERY / N + 1, "b"))
    four = np.arange(4)
    return [
        ("stack", lambda x: ng.stack(x, z=("b", "a")), x, lambda x: x.T.reshape(-1),
         lambda g, z, x: (g.reshape(N, N).T.copy(),)),
        ("unstack", lambda x: ng.unstack(x, a={"p": 10, "q": 100}).copy(), x,
         lambda x: x.copy().reshape(10, 100, N).transpose(2, 0, 1), lambda g, z, x: (g.reshape(N, N).T.copy(),)),
        ("ediff1d", lambda x: ng.ediff1d(x, to_begin=0), line, _steps, _steps_pull),
        ("diagonal", lambda x: ng.diagonal(x, ("a", "b")).copy(), square, lambda x: np.diagonal(x).copy(),
         lambda g, z, x: (_like(x, (four, four), g.T),)),
        ("diag_embed", lambda x: ng.diag_embed(x, "b"), few, _embedded,
         lambda g, z, x: (np.einsum("abb->ab", g).copy(),)),
        ("shift", lambda x: ng.shift(x, b=7), x, _shifted, _shifted_pull),
        ("rot90", lambda x: ng.rot90(x, ("a", "b")).copy(), x, lambda x: np.rot90(x).copy(),
         lambda g, z, x: (np.rot90(g, -1).copy(),)),
        ("head", lambda x: ng.head(x, b=half).copy(), x, lambda x: x[:, :half].copy(),
         lambda g, z, x: (_like(x, (slice(None), slice(half)), g),)),
        ("tail", lambda x: ng.tail(x, a=half).copy(), x, lambda x: x[half:].copy(),
         lambda g, z, x: (_like(x, slice(half, None), g),)),
        ("thin", lambda x: ng.thin(x, b=2).copy(), x, lambda x: x[:, ::2].copy(),
         lambda g, z, x: (_like(x, (slice(None), slice(None, None, 2)), g),)),
        ("split", lambda x: (p := ng.split(x, [half], "b"))[0] * p[1], x, lambda x: x[:, :half] * x[:, half:],
         _crossed_pull),
        ("chunk", lambda x: (p := ng.chunk(x, 2, "b"))[0] * p[1], x, lambda x: x[:, :half] * x[:, half:],
         _crossed_pull),
        ("unbind", lambda x: (p := ng.unbind(x, "b"))[0] - p[1] + p[2] - p[3], few, _alternating,
         lambda g, z, x: (g[:, None] * [1.0, -1.0, 1.0, -1.0],)),
        ("meshgrid", lambda x, y: (p := ng.meshgrid(x, y, indexing="ij"))[0] + p[1], ends, np.add.outer,
         lambda g, z, x, y: (g.sum(1), g.sum(0))),
    ]  # fmt: skip


def _cellwise() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    x, y = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(2))
    p, q = (d(RNG.uniform(0.2, 2, (N, N)), x.dims) for _ in range(2))
    powers, holes = d(POWERS, x.dims), d(np.where(RNG.random((N, N)) < 0.3, np.nan, x.data), x.dims)
    single = d(np.ones(1, np.float32), "c")
    return [
        ("modf", lambda x: (m := ng.modf(x))[0] * m[1], (x,),
         lambda x: (w := np.trunc(x)) * np.where(np.isinf(x), 0, x - w), lambda g, z, x: (g * np.trunc(x),)),
        ("frexp", lambda x: (m := ng.frexp(x))[0] * m[1], (x,), lambda x: np.multiply(*np.frexp(x)),
         lambda g, z, x: (g * np.ldexp((e := np.frexp(x)[1]).astype(float), -e),)),
        ("ldexp", lambda x: ng.ldexp(x, powers), (x,), lambda x: np.ldexp(x, POWERS),
         lambda g, z, x: (np.ldexp(g, POWERS),)),
        ("ldexp, of floats", ng.ldexp, (x, y), lambda x, n: x * np.exp2(n),
         lambda g, z, x, n: (g * np.exp2(n), g * z * np.log(2))),
        ("divmod", lambda x, y: (m := ng.divmod(x, y))[0] * m[1], (p, q), lambda x, y: np.multiply(*np.divmod(x, y)),
         lambda g, z, x, y: ((t := g * (w := np.floor(x / y))), -t * w)),
        ("div", lambda x, y: ng.div(x, y, "trunc"), (x, y), lambda x, y: np.trunc(x / y),
         lambda g, z, x, y: (np.zeros(x.shape), np.zeros(y.shape))),
        ("round", lambda x: ng.round(x, 2), (x,), lambda x: np.round(x, 2), lambda g, z, x: (np.zeros(x.shape),)),
        ("sign", ng.sign, (x,), np.sign, lambda g, z, x: (np.zeros(x.shape),)),
        ("isnull", ng.isnull, (holes,), np.isnan, None),
        ("notnull", ng.notnull, (holes,), lambda x: ~np.isnan(x), None),
        ("astype", lambda x: ng.astype(x, "float32"), (x,), lambda x: x.astype(np.float32),
         lambda g, z, x: (g.astype(np.float32).astype(float),)),
        ("type_as", lambda x: ng.type_as(x, single), (x,), lambda x: x.astype(np.float32),
         lambda g, z, x: (g.astype(np.float32).astype(float),)),
        ("copy", ng.copy, (x,), np.copy, lambda g, z, x: (g.copy(),)),
        ("empty_like", ng.empty_like, (x,), lambda x: np.zeros(x.shape), None),
    ]  # fmt: skip


def _reduced() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    x = d(RNG.normal(size=(N, N)), ("a", "b"))
    holes, half = (d(np.where(RNG.random((N, N)) < p, np.nan, x.data), x.dims) for p in (0.01, 0.5))
    near_one, rare, often = d(1 + holes.data / 100, x.dims), d(x.data > 5, x.dims), d(x.data < 5, x.dims)
    return [
        ("any", lambda x: ng.any(x, "b"), (rare,), lambda x: x.any(1), None),
        ("all", lambda x: ng.all(x, "b"), (often,), lambda x: x.all(1), None),
        ("count", lambda x: ng.count(x, "b"), (half,), lambda x: N - np.isnan(x).sum(1), None),
        ("count_nonzero", lambda x: ng.count_nonzero(x, "b"), (x,), lambda x: (x != 0).sum(1), None),
        ("nanmin", lambda x: ng.nanmin(x, "b"), (holes,), lambda x: np.fmin.reduce(x, 1), _shared),
        ("cummin", lambda x: ng.cummin(x, "b"), (x,), lambda x: np.minimum.accumulate(x, 1), _lowest_pull),
        ("bfill", lambda x: ng.bfill(x, "b"), (half,), _filled, _filled_pull),
        ("nancumprod", lambda x: ng.nancumprod(x, "b"), (near_one,), lambda x: np.where(np.isnan(x), 1, x).cumprod(1),
         lambda g, y, x: (np.where(np.isnan(x), 0, np.flip(np.flip(g * y, 1).cumsum(1), 1) / x),)),
    ]  # fmt: skip


def _complex() -> list[tuple[Any, ...]]:
    z = (ng.DimArray(RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)), ("a", "b")),)
    return [
        ("real", lambda z: ng.real(z).copy(), z, lambda z: z.real.copy(), lambda g, y, z: (g.astype(complex),)),
        ("imag", lambda z: ng.imag(z).copy(), z, lambda z: z.imag.copy(), lambda g, y, z: (1j * g,)),
        ("conjugate", ng.conjugate, z, np.conj, lambda g, y, z: (g.astype(complex),)),
        ("angle", ng.angle, z, np.angle, lambda g, y, z: (1j * g / z.conj(),)),
        ("sign, complex", ng.sign, z, lambda z: z * (1 / np.where((m := np.abs(z)) == 0, np.inf, m)),
         lambda g, y, z: (g * z.imag / np.abs(z) ** 3 * -1j * z,)),
    ]  # fmt: skip
