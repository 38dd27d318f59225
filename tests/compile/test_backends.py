"""Programs on a device and on lazy arrays: the results of the function on NumPy arrays, without waiting or computing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest

import namedgrad as ng
from tests.backends.table import Settled, in_any_order, placed
from tests.compile.test_table import Counted, derivatives, with_seeds
from tests.support.fake_cupy.counts import stats
from tests.support.lazy import halves, refuse
from tests.support.samples import FLOATING, FULL, Case, table
from tests.support.tolerances import MATRIX, ROUNDING, assert_close


def moved(tree: Any, place: Callable[[Any], Any]) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(moved(x, place) for x in tree)
    return placed(tree, place) if isinstance(tree, ng.DimArray) else tree


def replayed(case: Case, place: Callable[[Any], Any], values: Callable[[list[Any]], list[np.ndarray]], order: tuple[int, ...]) -> None:
    case = Settled(*case)
    f = derivatives(case)
    counted = Counted(f)
    compiled = ng.compile(counted)
    arguments = [with_seeds(case, case.operands(seed=seed), seed) for seed in (0, 1)]
    want = [f(*at) for at in arguments]
    got = [compiled(*moved(arguments[k], place)) for k in order]
    found = iter(values([x for several in got for x in several]))
    for several, expected in zip(got, (want[k] for k in order), strict=True):
        for x, y in zip(several, expected, strict=True):
            assert x.backend == placed(y, place).backend
            assert (x.dims, x.vectorized, x.dtype) == (y.dims, y.vectorized, y.dtype)
            assert_close(next(found), y.to_numpy(), MATRIX if case.tolerance_is_matrix else 10 * ROUNDING)
    assert counted.runs == 1


@table("compiled on a device", FLOATING)
def test_on_a_device(case: Case, cupy: Any) -> None:
    replayed(case, cupy.asarray, lambda got: [x.to_numpy() for x in got], (0, 1, 0))


def test_a_replay_does_not_wait_for_the_device(cupy: Any) -> None:
    def loss(x: ng.DimArray) -> ng.DimArray:
        return (ng.sqrt(x) * ng.exp(-x)).mean() + ng.logsumexp(x)

    f = ng.compile(ng.value_and_grad(loss))
    x = ng.DimArray(cupy.asarray(np.array([1.0, 2.0, np.nan])), ("x",))
    f(x)
    stats.reset()
    f(x)
    assert (stats.syncs, stats.copies) == (0, 0)


@pytest.fixture
def lazily() -> Iterator[None]:
    with dask.config.set(scheduler=refuse):
        yield


@table("compiled on lazy arrays", FLOATING)
def test_on_lazy_arrays(case: Case, lazily: None) -> None:
    # As they are: tests/backends/test_dask.py has dask fuse what every operation makes. No buffer is there to be used again.
    replayed(case, halves, lambda got: list(dask.compute(*(x.data for x in got), scheduler=in_any_order, optimize_graph=FULL)), (0, 1))


def test_backends_do_not_share_programs(cupy: Any) -> None:
    f = ng.compile(lambda x: ng.exp(x).sum("x"))
    host = np.arange(6.0).reshape(2, 3)
    for place in (np.asarray, cupy.asarray, halves):
        out = f(ng.DimArray(place(host), ("x", "y")))
        np.testing.assert_allclose(out.to_numpy(), np.exp(host).sum(0))
    assert f.cache_info() == (3, 3)


def test_transfer(cupy: Any) -> None:
    f = ng.compile(ng.grad(lambda x: (x.to("cupy") ** 2).to("numpy").sum()))
    for data in ([1.0, 2.0], [3.0, -4.0]):
        assert f(ng.DimArray(data, ("x",))).data.tolist() == [2 * v for v in data]
