"""Calls that are legal and rare: the values of plain NumPy, per slice and differentiated; what NumPy refuses is refused."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.polynomial as npp
import pytest
import scipy.sparse.linalg

import namedgrad as ng
from tests.support.oracles import richardson
from tests.support.tolerances import FIRST, assert_close

RNG = np.random.default_rng(3)
X = np.array([1.0, 2.0, 3.0])
C = np.array([1 + 1j, 2, np.nan, 3 - 2j])
SEVERAL = {
    f: getattr(getattr(npp, home), f)
    for home, f in {
        "polynomial": "polyval", "chebyshev": "chebval", "legendre": "legval", "hermite": "hermval",
        "hermite_e": "hermeval", "laguerre": "lagval",
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("tensor", [True, False])
def test_several_polynomials_at_places_that_are_differentiated(name: str, count: int, tensor: bool) -> None:
    coefficients, places = RNG.normal(size=(count, 3)), RNG.normal(size=3)
    f = lambda x: SEVERAL[name](x, coefficients, tensor=tensor) + 0.0 * x
    assert_close(ng.value_and_grad(lambda x: np.sum(f(x) ** 2))(places)[0], np.sum(f(places) ** 2), FIRST)
    assert_close(ng.jacobian(f)(places), np.stack([richardson(lambda t, d=d: f(places + t * d)) for d in np.eye(3)], -1), FIRST)


def test_several_polynomials_by_their_roots() -> None:
    roots, places = RNG.normal(size=3), RNG.normal(size=3)
    f = lambda x: npp.polynomial.polyvalfromroots(x, roots)
    assert_close(ng.jacobian(f)(places), np.diag(richardson(lambda t: f(places + t))), FIRST)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3), (7, 2), (2, 2, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    for value in (5.0, [1.0, 2.0], X):
        want, got = np.zeros(shape), ng.positional(np.zeros(shape)) + 0
        np.fill_diagonal(want, value, wrap=wrap)
        np.fill_diagonal(got, value, wrap=wrap)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("f", [np.nanvar, np.nanstd])
@pytest.mark.parametrize("options", [{}, {"ddof": 1}, {"keepdims": True}, {"mean": np.array(1.5)}, {"where": C.imag < 1}])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_spreads_of_complex_numbers_in_a_real_dtype(f: Callable[..., Any], options: dict[str, Any]) -> None:
    np.testing.assert_allclose(f(ng.positional(C), dtype="f8", **options), f(C, dtype="f8", **options), rtol=1e-14)


def test_shifts_that_differ_per_slice() -> None:
    rows, by = RNG.normal(size=(2, 4, 3)), np.array([1, -2])
    p, shift = ng.positional(rows, vectorized="b"), ng.positional(by, vectorized="b")
    for axis in (None, 0, 1):
        got = np.roll(p, shift, axis).devectorize().data
        np.testing.assert_array_equal(got, [np.roll(r, s, axis) for r, s in zip(rows, by, strict=True)])


KEYS = [(None, True), (True, None), (..., True), ([0, 1], True), (slice(None), True), (True, True), (0, X[0] > 0), (False, ...),
        (X > 1, True)]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_truth_values_among_other_indices(key: Any) -> None:
    np.testing.assert_array_equal(np.asarray(ng.positional(X)[key]), X[key])
    got, want = ng.positional(X) + 0, X.copy()
    got[key] = want[key] = 7.0
    np.testing.assert_array_equal(got, want)


def test_no_cells_and_precision() -> None:
    none = np.ones((2, 0))
    assert np.partition(ng.positional(none), 0).shape == np.partition(none, 0).shape
    assert np.argpartition(ng.positional(none), -1).shape == (2, 0)
    assert np.round(ng.positional(np.float32([1.25])), np.array(1)).dtype == np.float32


REFUSED = {
    "concatenate": lambda x: np.concatenate([np.arange(3), x], casting="no"),
    "add": lambda x: np.add(np.arange(3), x, casting="no"),
    "norm": lambda x: np.linalg.norm(x, "2"),
    "digitize": lambda x: np.digitize(x, np.array([1 + 0j, 2])),
    "clip": lambda x: np.clip(x, 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        REFUSED[name](X)
    with pytest.raises(TypeError if issubclass(theirs.type, TypeError) else ValueError):
        REFUSED[name](ng.positional(X))


POLYNOMIAL = npp.Polynomial(X)
LEAVING: dict[str, Callable[[Any], Any]] = {
    "array * polynomial": lambda x: x * POLYNOMIAL,
    "polynomial - number": lambda x: POLYNOMIAL - x[0],
    "mean": statistics.mean,
    "variance": statistics.variance,
    "eigsh": lambda x: scipy.sparse.linalg.eigsh(np.diag(np.arange(5.0)) * x[0], 2)[0],
    "svds": lambda x: scipy.sparse.linalg.svds(np.diag(np.arange(5.0)) * x[0], 2)[1],
}


@pytest.mark.parametrize("name", LEAVING)
def test_what_leaves_the_trace_is_named(name: str) -> None:
    with pytest.raises(ng.TraceError, match="out of the trace; use"):
        ng.grad(LEAVING[name])(X)


def test_no_array_without_dims_is_iterated() -> None:
    for x in (ng.DimArray(1.0, ()), ng.DimArray(X, "x").vectorize("x")):
        with pytest.raises(TypeError, match="without visible dims"):
            sum(x)
        with pytest.raises(TypeError, match="give a mapping by name"):
            ng.DimArray(X, "y").roll(x)
