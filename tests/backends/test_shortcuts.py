"""Kernels of NumPy's that take a shorter way where the operands allow it: on either side of the switch."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from namedgrad import backends

RNG = np.random.default_rng(5)
NUMPY = backends.NUMPY


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("n", [2, 3, 101])
@pytest.mark.parametrize("spacing", [(-3, 0.06, 0), (1e3, 1e-3, 0), (0, 1, 0.2), (0, 1, 0.9)])
def test_values_among_edges_that_are_evenly_spaced_or_nearly(
    side: str, dtype: type, n: int, spacing: tuple[float, float, float]
) -> None:
    first, width, off = spacing
    edges = np.sort(first + width * (np.arange(n) + off * RNG.uniform(-1, 1, n))).astype(dtype)
    x = RNG.uniform(first - width, first + width * (n + 1), (150, 100)).astype(dtype)
    close = np.concatenate([edges, np.nextafter(edges, dtype(-np.inf)), np.nextafter(edges, dtype(np.inf))])
    x.flat[: close.size], x[-1, :3] = close, (np.nan, np.inf, -np.inf)
    x[-2, 0] = np.finfo(dtype).max
    for values in (x, x[::-1, ::2], np.asfortranarray(x)):
        want = np.searchsorted(edges, values, side=side)
        np.testing.assert_array_equal(NUMPY.searchsorted(edges, values, right=side == "right"), want)


@pytest.mark.parametrize("tail", [0, 1])
@pytest.mark.parametrize("index", [
    ([0, 1, 2], [0, 1, 2]), ([0, 1], [2, 3]), ([2, 1, 0], [0, 1, 2]), ([0, 0], [1, 1]), ([0, 2, 2], [1, 0, 3]),
    ([1], [3]), ([], []), (range(20), range(20)), ([*range(18), 3, 5], range(20)),
])  # fmt: skip
def test_cells_at_pairs_of_positions_are_read_and_added(index: tuple[list[int], list[int]], tail: int) -> None:
    at = tuple(np.array(i, np.intp) for i in index)
    x = RNG.normal(size=(3, 20, 24, *(2,) * tail))
    for a in (x, x[::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(NUMPY.gather(a, *at, shared=0, tail=tail), a[:, at[0], at[1]])
    g = RNG.normal(size=(3, at[0].size, *(2,) * tail))
    want = np.zeros(x.shape)
    for n, (i, j) in enumerate(zip(*at, strict=True)):
        want[:, i, j] += g[:, n]
    np.testing.assert_allclose(NUMPY.scatter_add(g, *at, shared=0, sizes=(20, 24), tail=tail), want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_modf_of_many_numbers(dtype: type) -> None:
    x = (5 * RNG.normal(size=(120, 200))).astype(dtype)
    x.flat[:6] = [0, -1, 2, -3, 4, -5]
    if np.issubdtype(dtype, np.floating):
        x.flat[6:12] = [np.inf, -np.inf, np.nan, -0.0, 0.5, -0.5]
    for y in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (300, 200)), x[:3]):
        for got, want in zip(ng.modf(ng.DimArray(y, ("a", "b"))), np.modf(y), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.data, want)
            number = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got.data)[number], np.signbit(want)[number])


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64])
@pytest.mark.parametrize("lengths", [[2, 3, 1], [0, 6, 0], [0, 0, 2, 4], [6], [1] * 6])
def test_runs_that_are_known(lengths: list[int], dtype: type) -> None:
    x = RNG.integers(-3, 4, (2, 6, 3)).astype(dtype)
    if dtype is np.float64:
        x[0, 3, 1], x[1, 2, 0] = np.nan, np.inf
    ends = np.cumsum(lengths)
    low = -np.inf if dtype is not np.int64 else np.iinfo(dtype).min
    for how, reduce in {"sum": lambda p: p.sum(1), "max": lambda p: p.max(1, initial=low)}.items():
        want = np.stack([reduce(x[:, e - n : e]) for e, n in zip(ends, lengths, strict=True)], 1)
        got = ng.segment_reduce(ng.DimArray(x, ("a", "b", "c")), how, lengths=lengths, dim="b")
        assert (got.dims, got.dtype) == (("a", "b", "c"), want.dtype)
        np.testing.assert_array_equal(got.data, want)


def test_the_mode_of_lines_with_nan_and_zeros_of_both_signs() -> None:
    for _ in range(100):
        x = RNG.choice([0.0, -0.0, 1, 2, np.nan, np.inf], (4, RNG.integers(1, 6)), p=[0.2, 0.1, 0.2, 0.2, 0.2, 0.1])
        value, at = ng.mode(ng.DimArray(x, ("a", "b")), "b", return_indices=True)
        for line, v, k in zip(x, value.data, at.data, strict=True):
            found, count = np.unique(line, return_counts=True, equal_nan=False)
            want = found[count.argmax()]
            np.testing.assert_array_equal(v, want)
            assert k == (0 if np.isnan(want) else np.flatnonzero(line == want)[-1])
