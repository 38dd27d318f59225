"""Named arrays seen from outside: values by name, slices, other stored layouts.  Only public attributes are used."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import namedgrad as ng

Name = Hashable
Rng = np.random.Generator
RNG = np.random.default_rng(0)


def normal(*shape: int, dims: str = "xyz", dtype: Any = float) -> ng.DimArray:
    """Random numbers."""
    return ng.DimArray(RNG.normal(size=shape).astype(dtype), tuple(dims[: len(shape)]))


def draw(rng: Rng, **sizes: int) -> ng.DimArray:
    """Random numbers over named sizes."""
    return ng.DimArray(rng.normal(size=tuple(sizes.values())), tuple(sizes))


def all_names(a: ng.DimArray) -> tuple[Name, ...]:
    """Vectorized names, then dims: the axes of ``a.data``."""
    return (*a.vectorized, *a.dims)


def all_sizes(a: ng.DimArray) -> dict[Name, int]:
    """Sizes of vectorized axes and dims."""
    return {**a.vectorized_sizes, **a.sizes}


def values(a: ng.DimArray, names: Sequence[Name]) -> np.ndarray:
    """A host array whose axes are ``names``."""
    own = all_names(a)
    assert sorted(map(repr, own)) == sorted(map(repr, names)), f"{own} are not {names}"
    return np.transpose(a.to_numpy(), [own.index(n) for n in names])


def cut(a: ng.DimArray, index: Mapping[Name, int]) -> ng.DimArray:
    """The slice at ``index``, a plain array without those of its names that are in it."""
    own = all_names(a)
    data = a.to_numpy()[tuple(index.get(n, slice(None)) for n in own)]
    rest = [n for n in own if n not in index]
    return ng.DimArray(np.array(data), rest, vectorized=[n for n in rest if n in a.vectorized])


def indices(sizes: Mapping[Name, int]) -> Iterator[dict[Name, int]]:
    """Every position along the given names."""
    for at in itertools.product(*(range(s) for s in sizes.values())):
        yield dict(zip(sizes, at, strict=True))


def permuted(a: ng.DimArray, rng: Rng) -> ng.DimArray:
    """The same named array stored in another order of all its axes, hidden ones included."""
    own = all_names(a)
    order = list(rng.permutation(len(own)))
    if len(own) > 1 and order == sorted(order):
        order.reverse()
    data = np.transpose(a.to_numpy(), order).copy(order="C")
    return ng.DimArray(data, [own[i] for i in order], vectorized=a.vectorized)


def hidden(a: ng.DimArray, *names: Name) -> ng.DimArray:
    """The array with those of ``names`` that it has vectorized, wherever they are stored."""
    return ng.DimArray(a.to_numpy(), all_names(a), vectorized=[n for n in all_names(a) if n in names or n in a.vectorized])


def like(a: ng.DimArray, rng: Rng, batch: Mapping[Name, int] | None = None) -> ng.DimArray:
    """A random, signed array of the dims and dtype of ``a``, with more vectorized axes, which come last."""
    more = {n: s for n, s in (batch or {}).items() if n not in a.vectorized}
    sizes = {**all_sizes(a), **more}
    data: Any = rng.normal(size=tuple(sizes.values()))
    if a.dtype.kind == "c":
        data = data + 1j * rng.normal(size=data.shape)
    return ng.DimArray(np.asarray(data, dtype=a.dtype), tuple(sizes), vectorized=(*a.vectorized, *more))


def sum_of_products(a: Sequence[ng.DimArray], b: Sequence[ng.DimArray]) -> float:
    """Re of the sum over all cells of conj(a) b; cells where either is NaN do not count."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += float(np.nansum(np.real(np.conj(values(x, all_names(y))) * y.to_numpy())))
    return total
