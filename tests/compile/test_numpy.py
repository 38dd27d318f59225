"""NumPy programs of plain arrays: recorded for some values, they give for others what they give without ``compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.compile.calls import Counted
from tests.positional.cases import CASES, Case
from tests.support.tolerances import assert_close

BY_VALUE = {"a[a > 0]"}  # the size of the result depends on values
table = pytest.mark.parametrize("case", [c for c in CASES if c.label not in BY_VALUE], ids=lambda c: c.label)


def points(case: Case) -> list[tuple[Any, ...]]:
    """The arguments, and others near them."""
    rng = np.random.default_rng(5)
    moved = [np.array(a) * (1 + 0.02 * rng.uniform(size=np.shape(a))) for a in case.args]
    return [tuple(np.array(a) for a in case.args), tuple(moved)]


def replayed(f: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
    counted = Counted(f)
    compiled = ng.compile(counted)
    for args in (*arguments, arguments[0]):
        given = [np.array(a, order="C") for a in args]  # of those that lie otherwise there is a program, too
        got, want = compiled(*given), f(*(np.array(a) for a in args))
        assert type(got) is type(want) or isinstance(want, (float, np.generic, np.ndarray))
        for x, y in zip(got, want, strict=True) if isinstance(want, (tuple, list)) else [(got, want)]:
            assert not isinstance(x, ng.PositionalArray)
            assert np.asarray(x).dtype == np.asarray(y).dtype
            assert_close(x, y, 1e-11)
        for a, b in zip(given, args, strict=True):
            assert np.array_equal(a, b, equal_nan=True), "the user's array was changed"
    assert counted.runs == 1


@table
def test_values(case: Case) -> None:
    replayed(case.f, points(case))


@table
def test_gradients(case: Case) -> None:
    def loss(*args: Any) -> Any:
        out = case.f(*args)
        outs = out if isinstance(out, (tuple, list)) else [out]
        return sum(np.sum(np.sin(np.real(y))) for y in outs)

    replayed(ng.grad(loss, tuple(range(len(case.args)))), points(case))


def test_a_result_whose_size_depends_on_values_is_refused() -> None:
    with pytest.raises(ng.TraceError, match=r"np\.where"):
        ng.compile(lambda a: a[a > 0])(np.array([1.0, -1.0]))


FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "np.full like": lambda u, a: np.full(3, -a, like=u) * u,
    "np.full_like": lambda u, a: np.full_like(u, a) * u,
    "np.full_like dtype": lambda u, a: np.full_like(u, a, dtype=np.float32, shape=(2, 3)) * u,
    "np.diff": lambda u, a: np.diff(u, prepend=a, append=2 * a),
    "xr.full_like": lambda u, a: xr.full_like(xr.DataArray(u, dims="x"), a).data * u,
}


@pytest.mark.parametrize("f", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("number", [float, np.float64, np.array])
def test_numbers_that_fill_arrays_are_inputs(f: Callable[..., Any], number: Any) -> None:
    u = np.array([1.0, 3.0, -2.0])
    compiled = ng.compile(f)
    for k in (2.0, 3.0, -4.5):
        np.testing.assert_array_equal(compiled(u * k, number(k)), f(u * k, number(k)))
