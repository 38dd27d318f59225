"""Calls out of the way: NumPy itself says what they give, and which of them are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

A = np.array([[0.3, -1.2, 0.7, 2.1], [1.5, 0.0, -0.4, 3.3], [-2.2, 0.9, 1.1, 0.6]])
N = np.array([[5, 0, 7, 2], [1, 9, 4, 3], [2, 8, 1, 6]])


def bare(found: Any) -> Any:
    return found.data if isinstance(found, ng.PositionalArray) else found


def pulled(f: Callable[[Any], Any], a: np.ndarray) -> Any:
    return ng.pullback(f, a)[0] if a.dtype.kind in "fc" else bare(f(ng.positional(a)))


def put(a: Any, *args: Any) -> Any:
    new = a.copy()
    np.put(new, *args)
    return new


def write(a: Any, key: Any) -> Any:
    new = a.copy()
    new[key] = 7
    return new


GIVEN: dict[str, Callable[[Any], Any]] = {
    "closeness by cell": lambda a: np.isclose(a, 0.5, [0.1, 0.5, 1.0, 0.0], atol=[0.0, 1.0, 0.0, 2.0]),
    "among knots that are NaN": lambda a: np.interp(0.5, [0.0, np.nan, 1.0], a.ravel()[:3]),
    "pad, empty": lambda a: np.pad(a, ((2, 0), (0, 1)), mode="empty")[2:, :-1],
    "pad, empty of nothing": lambda a: np.pad(a[:0], ((0, 0), (0, 1)), mode="empty"),
    "compared as truth values": lambda a: np.greater(a, 0.5, dtype=bool),
    "equal, as truth values": lambda a: np.equal(1.1, a, dtype=bool),
    "missing, as truth values": lambda a: np.isnan(np.where(a > 1, np.nan, a), dtype=bool),
    "signs, as truth values": lambda a: np.signbit(-1.0 * a, dtype=bool),
    "imaginary numbers as truth values": lambda a: np.logical_and(a, 1j, dtype=bool),
    "imaginary numbers that become truth values": lambda a: (a * 1j).astype(bool),
    "length of complex numbers": lambda a: np.abs(a + 1j, dtype="float64"),
    "cut to whole numbers": lambda a: np.add(a, 2.7, dtype="int16", casting="unsafe"),
    "in less precision": lambda a: np.multiply(a.astype("float64"), np.float64(0.1), dtype="float32"),
    "clip by numbers of two kinds": lambda a: np.clip(a > 1, -0.5, a.astype("float32")),
    "clip small whole numbers": lambda a: np.clip(a.astype("int8"), -1000, a.astype("int8")),
    "clip small whole numbers from below": lambda a: a.astype("int8").clip(-1000),
    "dot with a number": lambda a: np.dot(1.1, a.astype("float32")),
    "inner product with a number": lambda a: np.inner(a.astype("float32"), 2),
    "tensordot with a number": lambda a: np.tensordot(a.astype("float32"), 1.1j, 0),
    "outer sum with a number": lambda a: np.add.outer(a.astype("float32"), 1.1),
    "polynomial at a number": lambda a: np.polyval(a.astype("float32"), 1.1),
    "pad with a value of more precision": lambda a: np.pad(a.astype("float32"), 1, constant_values=np.float64(1.1)),
    "points up to a number": lambda a: np.linspace(a.astype("float32"), 1.5, 3),
    "powers up to a number": lambda a: np.logspace(a.astype("float32"), 1.5, 3),
    "points between small whole numbers": lambda a: np.linspace(a.astype("float32"), np.array([1, 2, 3, 4], "int16"), 3),
    "average by small whole numbers": lambda a: np.average(a.astype("float32"), 1, np.array([1, 2, 3, 4], "int16")),
    "clip in less precision": lambda a: np.clip(a.astype("float64"), N / 3, 2.0, dtype="float32"),
    "take places 0 and 1": lambda a: np.take(a, [True, False, True], axis=1),
    "take the place of a truth value": lambda a: np.take(a, np.True_, axis=0),
    "put in places 0 and 1": lambda a: put(a, np.array([True, False, True]), [5, 6, 7]),
    "put nothing": lambda a: put(a, [0, 1], []),
    "chosen rows": lambda a: a[np.array([True, False, True])],
    "chosen cells": lambda a: a[[0, 2], np.array([True, False, False, True])],
    "chosen by no truth values": lambda a: a[np.zeros(0, bool)],
    "chosen by no truth values of two axes": lambda a: a[np.zeros((3, 0), bool)],
    "written to no truth values": lambda a: write(a, np.zeros((0, 4), bool)),
    "joined, cut to whole numbers": lambda a: np.concatenate([a, a + 0.5], dtype="int16", casting="unsafe"),
    "joined in less precision": lambda a: np.vstack([a, a[0]], dtype="float32"),
    "cells in common": lambda a: np.intersect1d(a, a[1:]),
    "cells in common, of several axes": lambda a: np.intersect1d(N[:, :2], a, return_indices=True)[0],
    "trimmed to nothing": lambda a: np.trim_zeros(0 * a[0], "f"),
    "trimmed behind": lambda a: np.trim_zeros(np.where(a > 1, a, 0)[0], "B"),
    "covariances in less precision": lambda a: np.cov(a.astype("float32"), dtype="float32"),
    "correlations in less precision": lambda a: np.corrcoef(a, dtype="float32"),
    "transposed by an array": lambda a: a.transpose(np.array([-1, 0])),
    "clip by a method": lambda a: a.clip(0, 1, casting="unsafe"),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "pad by parts of cells": lambda a: np.pad(a, 1.7),
    "pad by parts of cells, a pair": lambda a: np.pad(a, (1.0, 2.0), "edge"),
    "pad, an option of another mode": lambda a: np.pad(a, 1, "edge", stat_length=2),
    "pad, an option that is none": lambda a: np.pad(a, 1, constant_value=2),
    "joined as whole numbers": lambda a: np.concatenate([a, a + 0.5], dtype=int),
    "joined as real numbers": lambda a: np.stack([a, a * 1j], dtype=float),
    "rows joined safely": lambda a: np.hstack([a, a], dtype="float32", casting="safe"),
    "columns joined as they are": lambda a: np.vstack([a, a], dtype="complex64", casting="equiv"),
    "trimmed on no side": lambda a: np.trim_zeros(a[0], "front"),
    "levels of complex numbers": lambda a: np.quantile(a + 1j, 0.5),
    "levels of complex numbers but NaN": lambda a: np.nanpercentile(a + 1j, 50),
    "place out of range": lambda a: np.partition(a, 4),
    "places out of range": lambda a: np.argpartition(a, [1, -5]),
    "slopes over one array of steps": lambda a: np.gradient(a[:, :3], np.arange(3.0)),
    "differences and another kind of number": lambda a: np.ediff1d(a, to_begin=np.array([1j])),
    "turned in one axis": lambda a: np.rot90(a, axes=(1, -1)),
    "counted to less than nothing": lambda a: np.bincount(np.arange(3), weights=a[0, :3], minlength=-1),
    "spread with two corrections": lambda a: np.var(a, ddof=1, correction=0),
    "deviation with two corrections": lambda a: np.std(a, ddof=1, correction=1),
    "product of one matrix": lambda a: np.linalg.multi_dot([a]),
    "pinv with two tolerances": lambda a: np.linalg.pinv(a, rcond=0.1, rtol=0.1),
    "rank with two tolerances": lambda a: np.linalg.matrix_rank(a, tol=0.1, rtol=0.1),
    "parts of observations": lambda a: np.cov(a, fweights=[1.5, 1, 1, 1]),
    "observations below 0": lambda a: np.cov(a, fweights=[1, -1, 1, 1]),
    "weights below 0": lambda a: np.cov(a, aweights=[1.0, -1.0, 1.0, 1.0]),
    "too few weights": lambda a: np.cov(a, aweights=[1.0, 1.0]),
    "weights for each cell": lambda a: np.cov(a, aweights=np.ones((3, 4))),
    "part of a degree of freedom": lambda a: np.cov(a, ddof=0.5),
    "too few truth values": lambda a: a[np.array([True])],
    "too few truth values among others": lambda a: a[:, [True, False], None],
    "too many truth values": lambda a: a[:, np.array([True, True, False, False, False])],
    "truth values of another shape": lambda a: a[np.ones((2, 4), bool)],
    "written to too few truth values": lambda a: write(a, np.array([True, True])),
    "written to too many truth values": lambda a: write(a, (slice(None), [True] + 5 * [False])),
    "truth values along an axis": lambda a: np.take_along_axis(a, a > 0, axis=1),
    "sums of truth values": lambda a: np.add(a, 1.0, dtype=bool),
    "parts of whole numbers": lambda a: np.multiply(a, 0.5, dtype=int),
    "complex numbers made real": lambda a: np.add(a + 1j, 1.0, dtype=float),
    "comparisons as numbers": lambda a: np.equal(a, 1.0, dtype=float),
    "numbers out of range": lambda a: np.add(a.astype("int8"), 300, dtype="int8"),
    "bounds out of range": lambda a: np.clip(a.astype("int16"), 1 << 40, None, dtype="int16"),
    "clip to whole numbers": lambda a: np.clip(a + 0.5, 0, 1, dtype=int),
}


@pytest.mark.parametrize("a", [A, N, A.astype("float32")], ids=["float64", "int64", "float32"])
@pytest.mark.parametrize("name", GIVEN)
def test_answers_are_those_of_numpy(name: str, a: np.ndarray) -> None:
    expected, found = GIVEN[name](a), pulled(GIVEN[name], a)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("a", [A, N], ids=["float64", "int64"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str, a: np.ndarray) -> None:
    with pytest.raises((TypeError, ValueError, IndexError, RuntimeError, OverflowError)) as expected:
        REFUSED[name](a)
    with pytest.raises((expected.type, IndexError)):
        pulled(REFUSED[name], a)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_cells_in_common_have_half_of_the_derivative_each(kind: str) -> None:
    a, b = np.array([3.0, 1.5e308, -2.0], kind), np.array([1.5e308, 7.0, -2.0], kind)
    value, pull = ng.pullback(np.intersect1d, a, b)
    np.testing.assert_array_equal(value, [-2.0, 1.5e308])
    for given, expected in zip(pull(np.array([4.0, 6.0], kind)), ([0, 3, 2], [3, 0, 2]), strict=True):
        np.testing.assert_array_equal(given, expected)


def test_pieces_of_one_number_may_be_chosen_per_slice() -> None:
    condition = ng.positional(np.array([True, False]), vectorized=("b",))
    found = np.piecewise(4.0, [condition], [10.0, lambda x: x / 8])
    np.testing.assert_array_equal(found.data, [10.0, 0.5])
