"""Functions whose answer holds no derivative: the values of NumPy, per slice where a slice has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

rng = np.random.default_rng(5)
X = rng.normal(size=(3, 4)).round(1)
X[0, 1], X[2, 3] = 0.0, np.nan
BATCH = np.stack([X, 2 * X, -X])
EDGES = np.array([-1.0, 0.0, 1.0])

CALLS: dict[str, Callable[[Any], Any]] = {
    "less": lambda x: x < 0.5,
    "greater_equal": lambda x: x >= x[0],
    "equal": lambda x: x == 0,
    "not_equal": lambda x: x != 0,
    "not": lambda x: ~(x > 0),
    "and or xor": lambda x: ((x > 0) & (x < 1)) | ((x < -1) ^ (x == 0)),
    "logical": lambda x: np.logical_and(x > 0, np.logical_not(x < 1)),
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "signbit": np.signbit,
    "any": np.any,
    "any axis": lambda x: np.any(x > 1, axis=0),
    "any where": lambda x: (x > 0).any(axis=1, where=np.array([True, False, True, False])),
    "all": lambda x: np.all(x, axis=1),
    "all keepdims": lambda x: (x > -9).all(axis=0, keepdims=True),
    "all where": lambda x: np.all(x > 0, where=np.isfinite(x)),
    "logical_or.reduce": lambda x: np.logical_or.reduce(x > 1, axis=1),
    "count_nonzero": np.count_nonzero,
    "count_nonzero axis": lambda x: np.count_nonzero(x, axis=1, keepdims=True),
    "sum of truth values": lambda x: (x > 0).sum(axis=0),
    "argmax": lambda x: np.argmax(x[:2], axis=1),
    "argmin": lambda x: x[:2].argmin(),
    "argmax keepdims": lambda x: np.argmax(x[:2], axis=0, keepdims=True),
    "nanargmax": lambda x: np.nanargmax(x, axis=0),
    "nanargmin": np.nanargmin,
    "argsort": lambda x: np.argsort(x, axis=0, kind="stable"),
    "lexsort": lambda x: np.lexsort((x[1], x[0] > 0, np.array(list("baab")))),
    "lexsort of one array": lambda x: np.lexsort(np.stack([x, np.floor(x)])),
    "isclose": lambda x: np.isclose(x, x * 1.00000001, equal_nan=True),
    "allclose": lambda x: np.allclose(x[:2], x[:2]),
    "array_equal": lambda x: np.array_equal(x, x, equal_nan=True),
    "array_equal of other shapes": lambda x: np.array_equal(x, x[0]),
    "bitwise_count": lambda x: np.bitwise_count(np.floor(x[:2] * 9).astype(int)),
    "isin": lambda x: np.isin(x, [0.0, X[1, 1]]),
    "digitize": lambda x: np.digitize(x[:2], EDGES),
    "searchsorted": lambda x: np.searchsorted(EDGES, x[:2], side="right"),
    "iscomplex": np.iscomplex,
    "isreal": np.isreal,
    "floor to int": lambda x: np.floor(x[:2]).astype(int),
}
VALUES: dict[str, Callable[[Any], Any]] = {
    "shape": np.shape,
    "ndim": np.ndim,
    "size": np.size,
    "size of axes": lambda x: np.size(x, 1),
    "iscomplexobj": np.iscomplexobj,
    "isrealobj": np.isrealobj,
    "result_type": lambda x: np.result_type(x, np.float32),
    "can_cast": lambda x: np.can_cast(x.dtype, np.float32),
    "common_type": np.common_type,
    "einsum_path": lambda x: np.einsum_path("ij,kj->ik", x, x)[0][1],
}
PER_SLICE: dict[str, Callable[[Any], Any]] = {  # their answers have a size that depends on values
    "nonzero": np.nonzero,
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "argwhere": np.argwhere,
    "where": lambda x: np.where(x > 0),
}


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
        return
    assert not isinstance(got, ng.PositionalArray)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("f", [*CALLS.values(), *VALUES.values(), *PER_SLICE.values()], ids=[*CALLS, *VALUES, *PER_SLICE])
def test_plain_while_differentiating(f: Any) -> None:
    seen = []
    ng.grad(lambda x: (seen.append(f(x * 1.0)), np.nansum(x))[1])(X)
    same(seen[0], f(X))


@pytest.mark.parametrize("f", CALLS.values(), ids=CALLS)
def test_per_slice_under_vectorized_axes(f: Any) -> None:
    got = f(ng.positional(BATCH, "b"))
    expected = np.array([f(row) for row in BATCH])
    if isinstance(got, ng.PositionalArray):
        assert got.vectorized == ("b",)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.data, expected)
    else:  # True or False where all slices agree
        assert expected.size == 1 or (expected == expected.flat[0]).all()
        assert got == expected.flat[0]


@pytest.mark.parametrize("f", VALUES.values(), ids=VALUES)
def test_of_one_slice_under_vectorized_axes(f: Any) -> None:
    same(f(ng.positional(BATCH, "b")), f(X))


@pytest.mark.parametrize("f", PER_SLICE.values(), ids=PER_SLICE)
def test_sizes_that_depend_on_values_are_refused_per_slice(f: Any) -> None:
    with pytest.raises(ng.TraceError, match=r"np\.where.*devectorize"):
        f(ng.positional(BATCH, "b"))


def test_an_all_nan_slice_has_no_largest_cell() -> None:
    data = X.copy()
    data[1] = np.nan
    with pytest.raises(ValueError, match="All-NaN"):
        ng.grad(lambda x: (np.nanargmax(x, axis=1), np.nansum(x))[1])(data)


def test_sharing_is_told() -> None:
    p = ng.positional(X)
    assert np.may_share_memory(p, p[0])
    assert not np.shares_memory(p, p * 1.0)


def test_numbers_of_python_are_rounded_as_in_python() -> None:
    for v in (2.675, 0.15, -0.05, 1.005, 123456.789, 2.5, 1e22):
        for n in (1, 2, -1):
            for f in (ng.value_and_grad(lambda x: round(x, n) * x), ng.compile(ng.value_and_grad(lambda x: round(x, n) * x))):  # noqa: B023
                value, slope = f(v)
                assert float(value) == round(v, n) * v
                assert float(slope) == round(v, n)


def test_whether_numbers_are_real_may_be_asked_in_compiled_programs() -> None:
    f = ng.compile(ng.grad(lambda x: np.where(np.isreal(x) & ~np.iscomplex(x), x * x, 0).real.sum()))
    for x in ([1.0, 2.0], [3.0, 4.0], [1 + 1j, 2], [3, 4j]):
        np.testing.assert_array_equal(f(np.array(x)), np.where(np.imag(x) == 0, 2 * np.array(x), 0))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", ("clip", "wrap")])
def test_places_in_a_flat_array(mode, order):
    """Places that differ per slice, each under a name of its own, and those that a program is given, were refused."""
    sizes = (3, 4)
    inside = mode == "raise"
    rows = np.array([[[0], [2]], [[1], [0]]]) if inside else np.array([[[-4], [5]], [[1], [9]]])
    columns = np.array([[3, 0, 1], [2, 2, 1]]) if inside else np.array([[-1, 0, 7], [2, 4, 1]])

    def flat(i, j):
        return np.ravel_multi_index((i, j), sizes, mode=mode, order=order)

    out = flat(ng.positional(rows, "a"), ng.positional(columns, "b")).devectorize("a", "b").data
    for a, b in np.ndindex(2, 2):
        np.testing.assert_array_equal(out[a, b], flat(rows[a], columns[b]))
    np.testing.assert_array_equal(ng.compile(flat)(rows[0], columns[0]), flat(rows[0], columns[0]))
    x = np.arange(12.0).reshape(sizes)
    taken = ng.compile(ng.grad(lambda x, i, j: np.sum(np.ravel(x)[flat(i, j)] ** 2)))(x, rows[0], columns[0])
    counts = np.bincount(flat(rows[0], columns[0]).ravel(), minlength=12).reshape(sizes)
    np.testing.assert_array_equal(taken, 2 * x * counts)


def test_places_outside_of_a_flat_array():
    for places in ((np.array([3]), 0), (np.array([-1]), 0), (np.array([1]), 0, 0)):
        with pytest.raises(ValueError, match=r"invalid entry|sequence of length 2"):
            np.ravel_multi_index((ng.positional(places[0]), *places[1:]), (3, 4))
