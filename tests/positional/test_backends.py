"""The table of calls on dask arrays, which stay lazy, and on CuPy's stand-in, which refuses what CuPy refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.backends.table import in_any_order
from tests.positional.cases import CASES, Case
from tests.positional.test_functions import close, outputs, random_like
from tests.support import fake_cupy
from tests.support.lazy import refuse

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
table = pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
DATA_DEPENDENT = {"a[a > 0]"}
# These calls bring NumPy arrays of their own, which never join arrays on a device.
HOST = {
    "array + a", "array - a", "array * a", "array / a", "array % a", "array // a", "np.divide where", "np.where",
    "np.where broadcast", "np.choose", "np.sum where", "np.prod where", "np.mean where", "np.var where",
    "np.max where", "np.nanmean where", "np.concatenate constant", "np.copyto", "np.putmask", "np.interp",
    "np.linalg.cholesky", "np.linalg.cholesky upper", "np.cov fweights", "np.cov both weights",
}  # fmt: skip


def check(case: Case, place: Callable[[np.ndarray], Any], fetch: Callable[[list[Any]], list[np.ndarray]], kind: type) -> None:
    """Values and gradients are those of NumPy, and arrays of this kind."""
    args = [np.array(a) for a in case.args]
    expected, expected_pull = ng.pullback(case.f, *args)
    got, pull = ng.pullback(case.f, *map(place, args))
    cotangents = random_like(outputs(expected), 1)
    wrapped = [place(c) for c in cotangents]
    several = isinstance(expected, (tuple, list))
    grads = pull(type(got)(wrapped) if several else wrapped[0])
    expected_grads = expected_pull(type(expected)(cotangents) if several else cotangents[0])
    one = len(args) == 1
    found = [*outputs(got), *((grads,) if one else grads)]
    assert all(isinstance(x, kind) for x in found)
    values = fetch(found)
    tolerances = [1e-12] * len(outputs(expected)) + [1e-11] * len(args)
    for x, e, tolerance in zip(values, [*outputs(expected), *((expected_grads,) if one else expected_grads)], tolerances, strict=True):
        close(x, e, tolerance)


@table
def test_on_the_stand_in_for_cupy(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.installed(monkeypatch)

    def fetch(found: list[Any]) -> list[np.ndarray]:
        return [fake_cupy.asnumpy(x) for x in found]

    if case.label in HOST:
        with pytest.raises(TypeError, match="different devices"):
            check(case, fake_cupy.asarray, fetch, fake_cupy.ndarray)
    elif case.label in DATA_DEPENDENT:
        with pytest.raises(ng.TraceError, match=r"np\.where"):
            check(case, fake_cupy.asarray, fetch, fake_cupy.ndarray)
    else:
        check(case, fake_cupy.asarray, fetch, fake_cupy.ndarray)


@table
def test_on_dask(case: Case) -> None:
    def place(x: np.ndarray) -> Any:
        return da.from_array(x, chunks=tuple(max(1, n // 2) for n in x.shape))

    def fetch(found: list[Any]) -> list[np.ndarray]:
        return list(dask.compute(*found, scheduler=in_any_order))

    with dask.config.set(scheduler=refuse):
        if case.label in DATA_DEPENDENT:
            with pytest.raises(ng.TraceError, match=r"np\.where"):
                check(case, place, fetch, da.Array)
        else:
            check(case, place, fetch, da.Array)


# ------------------------------------------------------------------------------------------------ without a rule


def lazy(x: np.ndarray) -> da.Array:
    return da.from_array(x, chunks=2)


def constant(function: Callable[[Any], Any], x: Any) -> Any:
    """What the function makes of values that are not differentiated."""
    found: list[Any] = []

    def program(x: Any) -> Any:
        found.append(function(ng.stop_gradient(x)))
        return np.sum(x)

    ng.grad(program)(x)
    return found[0]


@pytest.mark.parametrize(
    ("place", "name", "function"),
    [
        (fake_cupy.asarray, "polyval2d", lambda x: np.polynomial.polynomial.polyval2d(x, x, np.eye(2))),
        (fake_cupy.asarray, "'it2struve0'", scipy.special.it2struve0),
        (lazy, "polyval2d", lambda x: np.polynomial.polynomial.polyval2d(x, x, np.eye(2))),
        (lazy, "array_equiv", lambda x: np.array_equiv(x, x)),
    ],
)
def test_functions_that_the_library_lacks(
    place: Any, name: str, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cupy.installed(monkeypatch)
    with dask.config.set(scheduler=refuse), pytest.raises(TypeError, match=rf"{name}.* does not have it; x.to_numpy\(\)"):
        constant(function, place(np.ones((3, 3))))


def test_functions_that_the_library_has(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.installed(monkeypatch)
    x = np.array([[3.0, 1.0, 2.0], [0.5, 2.0, 4.0]])
    found = constant(lambda v: np.isin(v, [1.0, 2.0], kind="sort"), fake_cupy.asarray(x))
    np.testing.assert_array_equal(found.to_numpy(), np.isin(x, [1.0, 2.0]))
    with dask.config.set(scheduler=refuse):
        chosen, survived = constant(lambda v: (np.isin(v, [1.0, 2.0], kind="sort"), scipy.special.it2struve0(v)), lazy(x))
    np.testing.assert_array_equal(chosen.compute(), np.isin(x, [1.0, 2.0]))
    np.testing.assert_array_equal(survived.to_numpy(), scipy.special.it2struve0(x))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("function", [lambda v: (v * v).sum() * v, lambda v: v.sum(), lambda v: v[:1] * v[-1]])
def test_lines_of_what_is_not_differentiated(function: Any, axis: int) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with dask.config.set(scheduler=refuse):
        found = constant(lambda v: np.apply_along_axis(function, axis, v), lazy(x))
    expected = np.apply_along_axis(function, axis, x)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("place", [fake_cupy.asarray, lazy])
def test_written_all_over(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.installed(monkeypatch)
    x = place(np.ones((4, 3)))

    def program(x: Any) -> Any:
        filled, written = x * 2, x * 3
        filled.fill(7)
        written[...] = np.float64(5)
        return np.sum(filled + written * x), (filled, written)

    gradient, parts = ng.grad(program, has_aux=True)(x)
    assert [type(a) for a in (gradient, *parts)] == [type(x)] * 3
    for a, value in zip((gradient, *parts), (5, 7, 5), strict=True):
        np.testing.assert_array_equal(a.get() if place is not lazy else a.compute(), np.full((4, 3), value))


@pytest.mark.parametrize("place", [fake_cupy.asarray, lazy])
@pytest.mark.parametrize("turn", [lambda v: v.T, lambda v: v.reshape((3, 4), order="F"), lambda v: np.einsum("ij->ji", v * v)])
def test_arrays_in_another_order_meet_plain_arrays(turn: Any, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the result lies in memory is asked of shapes and steps: nothing moves to the host, nothing is computed."""
    fake_cupy.installed(monkeypatch)
    x, w = np.random.default_rng(0).normal(size=(2, 4, 3))
    v = np.eye(12).reshape(12, 4, 3) * 1e-6
    expected = [(np.sum(w.ravel() * turn(x + h).ravel()) - np.sum(w.ravel() * turn(x - h).ravel())) / 2e-6 for h in v]
    weights = place(w.reshape(3, 4))
    with dask.config.set(scheduler=refuse):
        left = ng.grad(lambda x: (weights * turn(x)).sum())(place(x))
        right = ng.grad(lambda x: (turn(x) * weights).sum())(place(x))
    for gradient in (left, right):
        found = gradient.compute() if place is lazy else gradient.get()
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-7, atol=1e-8)
