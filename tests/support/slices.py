"""Programs under vectorized axes against the loop of slices, and the first slice against finite differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import namedgrad as ng
from tests.support.arrays import cut, like
from tests.support.functions import pull, push
from tests.support.oracles import fd_gradients, fd_second, stacked
from tests.support.samples import outputs
from tests.support.tolerances import FIRST, ROUNDING, SECOND, assert_close

Arrays = list[ng.DimArray]


def generator(*key: Any) -> np.random.Generator:
    """Random numbers of one test."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def drawn(rng: np.random.Generator, sizes: Mapping[str, int], *, low: float = 0.2, high: float = 1.8) -> ng.DimArray:
    """Uniform values over named sizes."""
    data = rng.uniform(low, high, tuple(sizes.values()))
    return ng.DimArray(data, tuple(sizes))


def agrees(f: Callable[..., Any], *xs: ng.DimArray, key: Any = 0, tolerance: float = ROUNDING, first: float = FIRST, twice: bool = False) -> None:
    """Values, gradients and tangents are those of the loop of slices; those of the first slice, of finite differences.

    With ``twice`` second derivatives too, in both modes.
    """
    rng = generator("weights", key)
    names = {n: s for x in xs for n, s in x.vectorized_sizes.items()}
    found = outputs(f(*xs))
    for y, (own, e) in zip(found, stacked(lambda ops: outputs(f(*ops)), names, list(xs)), strict=True):
        assert set(y.vectorized) == set(names) & {*own}
        assert y.dims == own[len(names) :]
        assert_close(y.devectorize().transpose(*own).data, e, tolerance)
    smooth = [k for k, y in enumerate(found) if y.dtype.kind in "fc"]

    def g(*ops: ng.DimArray) -> Any:
        ys = outputs(f(*ops))
        return tuple(ys[k] for k in smooth)

    cotangents, tangents = [like(found[k], rng) for k in smooth], [like(x, rng) for x in xs]
    for x, dx in zip(xs, pull(g, xs, cotangents), strict=True):
        assert dx.dims == x.dims
        assert set(dx.vectorized) == {*x.vectorized, *(n for y in found for n in y.vectorized)}
    for how in _derivatives(g, twice=twice):
        expected = stacked(how, names, list(xs), cotangents, tangents)
        for d, (own, e) in zip(how(list(xs), cotangents, tangents), expected, strict=True):
            assert_close(d.devectorize().transpose(*own).data, e, tolerance)
    start = dict.fromkeys(names, 0)
    one, c, t = ([cut(v, start) for v in group] for group in (xs, cotangents, tangents))
    for d, e in zip(pull(g, one, c), fd_gradients(g, one, c), strict=True):
        assert_close(d.data, e, first)
    if twice:
        expected_twice = fd_second(lambda at: pull(g, at, c), one, t)
        for d, e in zip(push(lambda *o: tuple(pull(g, o, c)), one, t), expected_twice, strict=True):
            assert_close(d.data, e, SECOND)


def _derivatives(g: Callable[..., Any], *, twice: bool) -> list[Callable[[Arrays, Arrays, Arrays], Arrays]]:
    """Functions of arrays, cotangents and tangents."""
    first = [lambda xs, cs, ts: pull(g, xs, cs), lambda xs, cs, ts: push(g, xs, ts)]
    second = [lambda xs, cs, ts, how=how: how(lambda *o: tuple(pull(g, o, cs)), xs, ts) for how in (push, pull)]
    return [*first, *second] if twice else first


def agrees_with_constants(f: Callable[..., Any], xs: Arrays, constants: Arrays, names: Mapping[Any, int], key: Any) -> None:
    """As :func:`agrees`, with arrays that are sliced too and have no derivative."""
    rng = generator("constants", key)
    out = f(*xs, *constants)
    ((own, e),) = stacked(lambda ops, cs: [f(*ops, *cs)], names, xs, constants)
    assert out.dims == own[len(names) :]
    assert_close(out.devectorize().transpose(*own).data if names else out.data, e, ROUNDING)
    c = like(out, rng)
    got = pull(lambda *ops: f(*ops, *constants), xs, [c])
    expected = stacked(lambda ops, ks, cs: pull(lambda *o: f(*o, *ks), ops, cs), names, xs, constants, [c])
    for g, (own, e) in zip(got, expected, strict=True):
        assert_close(g.devectorize().transpose(*own).data if names else g.data, e, ROUNDING)
    first = dict.fromkeys(names, 0)
    one, ks, c = ([cut(a, first) for a in group] for group in (xs, constants, [c]))
    for g, e in zip(pull(lambda *ops: f(*ops, *ks), one, c), fd_gradients(lambda *ops: f(*ops, *ks), one, c), strict=True):
        assert_close(g.data, e, FIRST)
