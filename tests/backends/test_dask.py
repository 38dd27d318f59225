"""dask: lazy in, lazy out.  A scheduler that refuses to work fails every test in which something computes early."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
from dask.callbacks import Callback

import namedgrad as ng
from namedgrad import backends
from namedgrad.backends.dask import Size
from tests.backends.table import LABELLED, WAYS, in_any_order, labelled_data, placed, results, tolerance
from tests.support.lazy import halves, refuse
from tests.support.samples import FULL, Case, chosen, table
from tests.support.tolerances import EXACT, ROUNDING, SINGLE, assert_close


@pytest.fixture(autouse=True)
def lazily() -> Iterator[None]:
    with dask.config.set(scheduler=refuse):
        yield


def lazy(data: Any, dims: Any, **more: Any) -> ng.DimArray:
    return ng.DimArray(halves(data), dims, **more)


def computed(*arrays: ng.DimArray, optimized: bool = True) -> list[np.ndarray]:
    """The values, all computed together, which must be of the dtype that was announced."""
    found = dask.compute(*(a.data for a in arrays), scheduler=in_any_order, optimize_graph=optimized)
    assert [f.dtype for f in found] == [a.dtype for a in arrays]
    assert [f.shape for f in found] == [a.data.shape for a in arrays]
    return list(found)


def all_computed(found: dict[str, Any], *, optimized: bool = True) -> dict[str, list[tuple[ng.DimArray, np.ndarray]]]:
    """Every array of several results with its values; what they share is computed once."""
    every = iter(computed(*itertools.chain(*found.values()), optimized=optimized))
    return {what: [(y, next(every)) for y in several] for what, several in found.items()}


# ------------------------------------------------------------------------------------------------ the table


# What dask fuses of one sample of each operation; of the others it is computed as it is, in two thirds of the time.
FUSED = {case.label for case in chosen("fused", chosen("dask", every_sample=True))}


@table("dask", every_sample=True)
def test_every_operation_is_that_of_numpy(case: Case) -> None:
    expected = results(case, lambda x: x, second=())
    found = results(case, lambda x: placed(x, halves), second=())
    inputs = [x for x in case.operands() if x.dtype.kind in "fc"]
    for what, several in all_computed(found, optimized=case.label in FUSED).items():
        for (y, values), e in zip(several, expected[what], strict=True):
            assert y.backend == "dask", what
            assert (y.dims, y.vectorized, y.dtype) == (e.dims, e.vectorized, e.dtype), what
            assert_close(values, e.to_numpy(), tolerance(case), f"{case.label}: {what}")
        if "pull" in what:
            assert [g.data.chunks for g, _ in several] == [halves(x.to_numpy()).chunks for x in inputs]


@table("dask, cut otherwise")
def test_operands_and_cotangents_may_each_be_cut_otherwise(case: Case) -> None:
    turn, inputs = itertools.cycle((1, 0.5, -1)), list[ng.DimArray]()

    def cut(data: Any) -> da.Array:
        where = next(turn)
        first = [1 if where == 1 else max(1, n - 1 if where == -1 else n // 2) for n in np.shape(data)]
        return da.from_array(np.asarray(data), chunks=tuple((k, n - k) if k < n else n for k, n in zip(first, np.shape(data), strict=True)))

    def lay(x: ng.DimArray) -> ng.DimArray:
        inputs.append(placed(x, cut))
        return inputs[-1]

    ways = WAYS if FULL else WAYS[zlib.crc32(case.label.encode()) % 2 :][:1]
    expected, found = results(case, lambda x: x, second=ways), results(case, lay, second=ways)
    chunks = [x.data.chunks for x in inputs[: len(case.operands())] if x.dtype.kind in "fc"]
    # As it is, for dask takes as long to fuse it as all else: what it fuses of every operation is computed above.
    for what, several in all_computed(found, optimized=FULL).items():
        for (_, values), e in zip(several, expected[what], strict=True):
            assert_close(values, e.to_numpy(), tolerance(case), f"{case.label}: {what}")
        if "pull" in what:
            assert [g.data.chunks for g, _ in several] == chunks


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision_stays_single(dtype: str) -> None:
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(6, 5)) + (1j * rng.normal(size=(6, 5)) if dtype == "complex64" else 0)).astype(dtype)
    w = rng.normal(size=(5, 3)).astype(dtype)

    def f(x: ng.DimArray, w: ng.DimArray) -> ng.DimArray:
        y = ng.dot(x, w, dim="b") / 3 + x.mean("b") - 2.0
        return ng.absolute(y.isel(a=[0, 0, 5]).cumsum("a") * np.float32(0.5)).sum()

    places: list[Callable[..., ng.DimArray]] = [ng.DimArray, lazy]
    host, late = (ng.grad(f, (0, 1))(place(data, ("a", "b")), place(w, ("b", "c"))) for place in places)
    for g, e, values in zip(late, host, computed(*late), strict=True):
        assert g.dtype == dtype
        assert_close(values, e.to_numpy(), SINGLE)


# ------------------------------------------------------------------------------------------------ transforms


def test_transforms_are_lazy() -> None:
    data = np.linspace(-1.0, 1.0, 6).reshape(2, 3)

    def f(x: ng.DimArray) -> ng.DimArray:
        return (ng.exp(x) * x.sum("b")).mean()

    calls: list[Callable[[ng.DimArray], ng.DimArray]] = [
        ng.grad(f),
        ng.jacobian(ng.sin),
        ng.hessian(f),
        lambda x: ng.hvp(f, x, x),
        ng.grad(f, over="a"),
        ng.grad(ng.checkpoint(f)),
        ng.vmap(lambda x: x / x.sum(), "a"),
        ng.compile(ng.grad(f)),
        ng.grad(lambda x: ng.scan(lambda c, y: (c * y + y, c), x.isel(a=0), x, "a")[0].sum()),
    ]
    for call in calls:
        got, expected = call(lazy(data, ("a", "b"))), call(ng.DimArray(data, ("a", "b")))
        assert got.backend == "dask"
        assert got.dims == expected.dims
        assert_close(computed(got)[0], expected.to_numpy(), 10 * ROUNDING)


def test_a_gradient_per_slice() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(5, 3)), rng.normal(size=3)

    def loss(w: ng.DimArray, x: ng.DimArray) -> ng.DimArray:
        return ng.tanh((w * x).sum("f")) * 2

    g = ng.grad(loss)(lazy(w, "f"), lazy(x, ("b", "f"), vectorized="b"))
    assert (g.dims, g.vectorized) == (("f",), ("b",))
    assert_close(computed(g)[0], 2 * x / np.cosh(x @ w)[:, None] ** 2, ROUNDING)


def test_plain_and_labelled_arrays_stay_lazy() -> None:
    data = np.array([0.5, -1.0, 2.0])
    expected = np.exp(data) * (1 + data)
    plain = ng.grad(lambda x: (np.exp(x) * x).sum())(halves(data))
    assert isinstance(plain, da.Array)
    labelled = ng.grad(lambda x: (np.exp(x) * x).sum())(xr.DataArray(halves(data), dims="x", coords={"x": [1, 2, 3]}))
    assert isinstance(labelled.data, da.Array)
    for got in (plain, labelled.data):
        assert got.chunks == halves(data).chunks
        assert_close(got.compute(scheduler="sync"), expected, ROUNDING)


@pytest.mark.parametrize("name", LABELLED)
def test_xarray_programs_stay_lazy(name: str) -> None:
    here = labelled_data()
    there = [a.copy(data=halves(a.to_numpy())) for a in here]
    got, expected = ng.grad(LABELLED[name])(*there), ng.grad(LABELLED[name])(*here)
    assert isinstance(got.data, da.Array)
    assert got.data.chunks == there[0].data.chunks
    assert_close(got.data.compute(scheduler="sync"), expected.to_numpy(), 10 * ROUNDING)


def test_numpy_arrays_join() -> None:
    data, factor = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    x, y = ng.DimArray(data, "a"), lazy(factor, "a")
    calls = [
        lambda x, y: (x * y).sum(),
        lambda x, y: ng.dot(y, x),
        lambda x, y: ng.concat([x * x, y * x], "a").isel(a=3),
    ]
    for f in calls:
        got = ng.grad(f, (0, 1))(x, y)
        expected = ng.grad(f, (0, 1))(x, ng.DimArray(factor, "a"))
        assert [g.backend for g in got] == ["dask", "dask"]
        for values, e in zip(computed(*got), expected, strict=True):
            assert_close(values, e.to_numpy(), ROUNDING)


# ------------------------------------------------------------------------------------------------ guards


def test_masked_cells_get_zero_without_a_warning() -> None:
    x, keep = lazy([0.0, 0.0, 2.0, math.nan], "a"), lazy([False, True, True, False], "a")
    w = lazy(1.0, ())

    def f(x: ng.DimArray, w: ng.DimArray) -> ng.DimArray:
        return ng.where(keep, w * ng.log(x), 0.0).sum()

    gx, gw = computed(*ng.grad(f, (0, 1))(x, w))
    assert_close(gx, np.array([0.0, math.inf, 0.5, 0.0]), EXACT)
    assert gw == -math.inf


def test_products_that_meet_missing_values() -> None:
    rng = np.random.default_rng(2)
    data, w = rng.normal(size=(9, 4)), rng.normal(size=(4, 3))
    data[[1, 5], [0, 3]] = math.nan
    complete = ~np.isnan(data).any(axis=1)
    x, rows = lazy(data, ("row", "feature")), lazy(complete, "row")
    g = ng.grad(lambda w: ng.where(rows, ng.dot(x, w, dim="feature"), 0.0).sum())(lazy(w, ("feature", "out")))
    assert_close(computed(g)[0], np.repeat(data[complete].sum(axis=0)[:, None], 3, axis=1), ROUNDING)


# ------------------------------------------------------------------------------------------------ positions


def test_lazy_positions() -> None:
    data, at = np.array([1.0, 2.0, 4.0, 8.0]), np.array([3, 0, -1, 3, 1])
    x, index = lazy(data, "a"), lazy(at, "p")
    g = ng.grad(lambda x: (x.isel(a=index) * ng.arange("p", 5.0)).sum())(x)
    assert_close(computed(x.isel(a=index))[0], data[at], EXACT)
    assert_close(computed(g)[0], np.array([1.0, 4.0, 0.0, 5.0]), EXACT)
    one = lazy(2, ())
    assert_close(computed(x.isel(a=one))[0], data[2], EXACT)
    wrong = x.isel(a=lazy([0, 4], "p"))
    with pytest.raises(IndexError, match="index 4 is out of range for a dim of size 4"):
        computed(wrong)


def test_updates_at_lazy_positions() -> None:
    data, at = np.arange(6.0), np.array([1, 4, 1])
    expected = data.copy()
    np.add.at(expected, at, [10.0, 20.0, 30.0])
    value = ng.DimArray([10.0, 20.0, 30.0], "p")
    got = lazy(data, "a").at[{"a": lazy(at, "p")}].add(value)
    assert_close(computed(got)[0], expected, EXACT)
    assert_close(computed(lazy(data, "a").at[{"a": lazy(at, "p")}].set(value))[0], [0, 30.0, 2, 3, 20.0, 5], EXACT)


def test_what_depends_on_values_is_refused() -> None:
    x = lazy([1.0, 2.0], "a")
    with pytest.raises(TypeError, match=r"boolean index on dask has a data-dependent size; use where"):
        x.isel(a=x > 1)
    data = halves([1.0, 2.0])
    with pytest.raises(TypeError, match=r"unknown sizes.*compute_chunk_sizes"):
        ng.DimArray(data[data > 1], "a").sum()


# ------------------------------------------------------------------------------------------------ chunks


class Largest(Callback):
    """The size in bytes of the largest array that a task gave; repeated cells count once."""

    def __init__(self) -> None:
        self.bytes = 0
        super().__init__(posttask=self.note)

    def note(self, key: Any, result: Any, *_: Any) -> None:
        for r in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(r, np.ndarray):
                self.bytes = max(
                    self.bytes, r.itemsize * math.prod(n for n, s in zip(r.shape, r.strides, strict=True) if s)
                )


def field(seed: int, *sizes: int) -> da.Array:
    return da.random.default_rng(seed).normal(size=sizes, chunks=tuple(n // 4 for n in sizes))


SIZE = 400
CHUNK = (SIZE // 4) ** 2 * 8
PROGRAMS: dict[str, Callable[[ng.DimArray, ng.DimArray], ng.DimArray]] = {
    "difference": lambda x, y: (y - x).sum(),
    "squares": lambda x, y: ((x - y) ** 2).mean(),
    "anomalies": lambda x, y: ((x - x.mean("a")) ** 2).mean(),
    "scan": lambda x, y: (-x.cumsum("a")).sum(),
    "product": lambda x, y: ng.tanh(ng.dot(x, y.rename(a="b", b="c"), dim="b")).sum(),
    "products": lambda x, y: ng.dot(x, y, dim="a").sum(),
    "shifts": lambda x, y: ((x.roll(a=1) - 2 * x + x.roll(a=-1)).diff("b") ** 2).sum(),
    "joined": lambda x, y: (ng.concat([x, y], "a") ** 2).sum(),
    "largest": lambda x, y: (x.max("a") * y).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_task_makes_more_than_chunks(name: str) -> None:
    x, y = field(1, SIZE, SIZE), field(2, SIZE, SIZE)
    g = ng.grad(PROGRAMS[name])(ng.DimArray(x, ("a", "b")), ng.DimArray(y, ("a", "b")))
    assert g.data.chunks == x.chunks
    with Largest() as largest:
        chunks = g.data.persist(scheduler="sync")
    got = chunks.compute(scheduler="sync")
    assert 0 < largest.bytes <= 2 * CHUNK, "two chunks side by side are what a slice of shifted chunks may be"
    a, b = dask.compute(x, y, scheduler="sync")
    expected = ng.grad(PROGRAMS[name])(ng.DimArray(a, ("a", "b")), ng.DimArray(b, ("a", "b")))
    assert_close(got, expected.to_numpy(), 100 * ROUNDING)


def test_sums_go_by_tree() -> None:
    x = ng.DimArray(da.ones((128, 3), chunks=(1, 3)), ("a", "b"))
    index = ng.DimArray(da.zeros(128, dtype=int, chunks=1), "a")
    for out in (x.sum(), ng.dot(x, x, dim="a"), x.at[{"b": 0}].add(1.0).sum("a")):
        (data,) = dask.optimize(out.data)
        assert max(len(task.dependencies) for task in data.__dask_graph__().values()) <= 16
    spread = ng.zeros({"b": 3}, like=x.data).at[{"b": index}].add(ng.DimArray(da.ones(128, chunks=1), "a"))
    (data,) = dask.optimize(spread.data)
    assert max(len(task.dependencies) for task in data.__dask_graph__().values()) <= 16
    assert_close(computed(spread)[0], np.array([128.0, 0.0, 0.0]), EXACT)


def test_core_dims_alone_are_joined() -> None:
    rng = np.random.default_rng(4)
    a = np.eye(4) * 3 + rng.normal(size=(6, 4, 4)) / 4
    b = rng.normal(size=(6, 4, 10))
    A = ng.DimArray(da.from_array(a, chunks=(2, 2, 2)), ("k", "i", "j"))
    B = ng.DimArray(da.from_array(b, chunks=(2, 2, 5)), ("k", "i", "c"))
    x = ng.solve(A, B, ("i", "j"))
    assert dict(zip(x.dims, x.data.chunks, strict=True)) == {"k": (2, 2, 2), "j": (4,), "c": (5, 5)}
    assert_close(computed(x.transpose("k", "j", "c"))[0], np.linalg.solve(a, b), 100 * ROUNDING)
    L = ng.cholesky(ng.dot(A, A.rename(i="l"), dim="j").transpose("k", "i", "l"), ("i", "l"))
    assert L.data.chunks[L.dims.index("k")] == (2, 2, 2)


def test_a_matrix_without_factor_is_an_error_when_computed() -> None:
    L = ng.cholesky(lazy([[1.0, 2.0], [2.0, 1.0]], ("i", "j")), ("i", "j"))
    with pytest.raises(np.linalg.LinAlgError):
        computed(L)


def test_sizes_remember_chunks() -> None:
    x = ng.DimArray(da.ones((5, 4), chunks=((2, 3), (4,))), ("a", "b"))
    size = x.sizes["a"]
    assert size == 5
    assert isinstance(size, Size)
    assert size.chunks == (2, 3)
    assert type(size + 1) is int
    assert ng.zeros(x.sizes, like=x.data).data.chunks == x.data.chunks
    assert ng.grad(lambda x: ng.exp(x.isel(b=0)).sum())(x).data.chunks == x.data.chunks


def test_graphs_of_repeated_cuts_stay_small() -> None:
    """A part of an array that is put back must not hold what it was made of once more."""

    at = {"a": np.arange(8) ** 1.5, "b": np.arange(6) ** 1.5}
    x = xr.DataArray(da.ones((8, 6), chunks=(4, 3)), at, ("a", "b"))
    f = lambda x: (x.differentiate("a").differentiate("b") ** 2).sum()
    assert len(ng.grad(f)(x).__dask_graph__()) < 60 * len(f(x).__dask_graph__())
    data = np.arange(1.0, 8.0)
    f = lambda x: (x[2:5] * x[3] + x[-1]).sum() + (x[::3] ** 2).sum()
    g = ng.grad(f)(da.from_array(data, chunks=(3, 4)))
    assert g.chunks == ((3, 4),)
    np.testing.assert_allclose(g.compute(scheduler="sync"), ng.grad(f)(data))


def test_ends_of_arrays_are_no_chunks_of_their_own() -> None:
    """Differences one after the other would cut chunks ever smaller: here the gradient took 11,820 tasks, now 2,016."""
    at = {"a": np.arange(40) ** 1.5, "b": np.arange(30) ** 1.5}
    x = xr.DataArray(da.ones((40, 30), chunks=(20, 15)), at, ("a", "b"))

    def program(x: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
        for dim in ("a", "b", "a", "b"):
            x = x.differentiate(dim)
        return (x**2).sum(), x

    gradient, slope = ng.grad(program, has_aux=True)(x)
    assert gradient.chunks == slope.chunks == x.chunks
    assert len(gradient.__dask_graph__()) < 20 * len(program(x)[0].__dask_graph__())
    parts = [lazy(np.ones(n), "a") for n in (1, 40, 3, 1, 0, 40, 2)]
    assert max(ng.concat(parts, "a").data.chunks[0]) <= 25
    assert ng.concat([lazy(np.ones(6), "a")] * 3, "a").data.chunks == ((3,) * 6,)


@pytest.mark.parametrize("step", [-1, -2, 2])
@pytest.mark.parametrize("start", [-9, -6, -5, -4, 4, 9])
def test_slices_that_start_beyond_the_ends(start: int, step: int) -> None:
    """Dask takes those that go back from ahead of an array for ones from its end."""
    x = np.arange(1.0, 6.0)
    for stop in (None, -9, -5, 1):
        f = lambda x, stop=stop: (x[start:stop:step] ** 2).sum() + x.sum()
        value, g = ng.value_and_grad(f)(da.from_array(x, chunks=2))
        assert value.compute(scheduler="sync") == f(x)
        np.testing.assert_array_equal(g.compute(scheduler="sync"), ng.grad(f)(x))
        part = lazy(x, ("a",)).isel(a=slice(start, stop, step))
        np.testing.assert_array_equal(part.data.compute(scheduler="sync"), x[start:stop:step])


def test_the_same_program_has_the_same_keys() -> None:
    x = lazy([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], ("a", "b"))

    def f(x: ng.DimArray) -> ng.DimArray:
        return (ng.tanh(ng.dot(x, x.rename(a="c"), dim="b")) * x.isel(b=[0, 0, 1]).sum()).sum()

    kept = [ng.grad(f)(x).data for _ in range(2)]
    assert set(kept[0].__dask_graph__()) == set(kept[1].__dask_graph__())


# ------------------------------------------------------------------------------------------------ transfer and cluster


def test_transfer_computes_because_it_is_asked_to() -> None:
    x = lazy([1.0, 2.0], "a")
    with dask.config.set(scheduler="sync"):
        assert x.to("numpy").backend == "numpy"
        assert_close(x.to_numpy(), np.array([1.0, 2.0]), EXACT)
        assert float(x.sum()) == 3.0
        assert isinstance(x.compute().data, np.ndarray)
        host = ng.grad(lambda x: (x.to("numpy") * 2).sum())(x)
        assert host.backend == "dask"
    late = ng.DimArray([1.0, 2.0], "a").to("dask")
    assert late.backend == "dask"
    assert "dask" in repr(late)


def test_values_that_need_a_kernel_say_which() -> None:
    with pytest.raises(TypeError, match="no kernel 'no_such_kernel'"):
        backends.get_backend("dask").function("no_such_kernel")


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_cluster_computes_a_gradient(processes: bool) -> None:
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(5)
    data, w = rng.normal(size=(40, 6)), rng.normal(size=(6, 3))

    def f(w: ng.DimArray, x: ng.DimArray) -> ng.DimArray:
        y = ng.tanh(ng.dot(x, w, dim="f"))
        return (y.isel(row=[0, 3, 3]) ** 2).sum() + ng.log(y * y).mean()

    expected = ng.grad(f)(ng.DimArray(w, ("f", "out")), ng.DimArray(data, ("row", "f")))
    g = ng.grad(f)(lazy(w, ("f", "out")), ng.DimArray(da.from_array(data, chunks=(10, 3)), ("row", "f")))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": processes, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert_close(client.compute(g.data).result(), expected.to_numpy(), 100 * ROUNDING)


def test_what_is_read_with_a_stride_leaves_no_empty_chunk_to_write() -> None:
    """And what is empty has no chunks of a convenient size."""

    def f(x: Any, read: Any) -> Any:
        y = x * 1.0
        y[read] = 2 * x[read]
        return np.sum(y * y)

    data = np.arange(1.0, 17.0).reshape(4, 4)
    for read in (slice(1, -1, 2), (slice(None), None, slice(-2, -1, 2)), (slice(2, 2), None)):
        factor = np.ones_like(data)
        factor[read] = 4.0
        found = ng.grad(f)(halves(data), read)
        np.testing.assert_allclose(found.compute(scheduler="sync"), 2 * factor * data)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_a_cotangent_of_a_convolution_may_be_cut_otherwise(mode: str) -> None:
    """Its other axes are cut into two parts, those of the operand are whole."""
    data, seed = (np.arange(20.0 * k).reshape(4, 5 * k) for k in (1, 3))
    kernel = ng.DimArray([1.0, -2.0, 0.5], "t")
    out, pull = ng.pullback(lambda x: ng.convolve(x, kernel, "t", mode), ng.DimArray(da.from_array(data, chunks=-1), ("x", "t")))
    seed = seed[:, : out.sizes["t"]]
    expected = [[np.convolve(e, row, mode) @ s for e in np.eye(5)] for row, s in zip([[1.0, -2.0, 0.5]] * 4, seed, strict=True)]
    assert_close(computed(pull(lazy(seed, ("x", "t"))))[0], np.array(expected), ROUNDING)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.float32])
def test_a_convolution_has_the_dtype_that_it_says(dtype: Any) -> None:
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    out = ng.convolve(lazy(x, ("x", "t")), lazy(x, ("x", "t")), "t")
    (found,), want = computed(out), np.stack([np.convolve(row, row) for row in x])
    assert out.dtype == found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


def test_raw_lazy_positions_stay_lazy() -> None:
    x, at = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2])
    picked = np.take(ng.positional(halves(x)), halves(at))
    gradient = ng.grad(lambda x: np.sum(np.take(x * x, halves(at))))(ng.positional(halves(x)))
    rows = np.unravel_index(ng.positional(halves(at)), (2, 2))
    found = dask.compute(picked.data, gradient.data, *rows, scheduler="sync")
    for values, expected in zip(found, (x[at], 2 * x * [1, 0, 2], [1, 0, 1], [0, 0, 0]), strict=True):
        assert np.array_equal(values, expected)


@pytest.mark.parametrize("name", ["unique", "unique_values", "histogram", "histogram_bin_edges"])
def test_answers_whose_size_depends_on_values_are_refused(name: str) -> None:
    bins = ("auto",) if name.startswith("histogram") else ()
    with pytest.raises(TypeError, match=rf"np.{name}\(\): .* values, which are on dask; use .to_numpy\(\)"):
        getattr(np, name)(ng.positional(halves([3.0, 1.0, 1.0])), *bins)


def test_histograms_between_the_least_and_the_largest_sample_are_lazy() -> None:
    x = np.random.default_rng(0).normal(size=9)
    p = ng.positional(halves(x))
    several = (*np.histogram(p, 5), np.histogram_bin_edges(p, 4))
    found = dask.compute(*(getattr(a, "data", a) for a in several), scheduler="sync")
    for values, expected in zip(found, (*np.histogram(x, 5), np.histogram_bin_edges(x, 4)), strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_equal_graphs_have_equal_names_and_no_others() -> None:
    data = np.arange(6.0).reshape(2, 3)

    def built(data: np.ndarray) -> dict[str, ng.DimArray]:
        x, whole = lazy(data, ("a", "b")), lazy(data.astype(np.int32), ("a", "b"))
        found = {f.__name__: f(x) for f in (ng.exp, ng.expm1)}
        found |= {f"{f.__name__} {d}": f(x, d) for f in (ng.cumsum, ng.sort, ng.max, ng.min, ng.sum, ng.count_nonzero) for d in "ab"}
        found |= {f"times {n!r}": whole * n for n in (1, 1.0, True, np.float32(1), np.float64(1), 2)}
        found |= {f"as {kind}": x.astype(kind) for kind in ("f4", "i4", "i8", "c16")}
        return found | {"T": x.transpose("b", "a") * x, "power": x**2, "other power": x**3}

    once, again, other = built(data), built(data), built(data + 1)
    names = {what: y.data.name for what, y in once.items()}
    assert names == {what: y.data.name for what, y in again.items()}
    assert len({*names.values(), *(y.data.name for y in other.values())}) == 2 * len(names)
    assert [once[f"times {n!r}"].dtype for n in (1, 1.0, True, np.float32(1))] == [(data.astype(np.int32) * n).dtype for n in (1, 1.0, True, np.float32(1))]
    for y, values in zip(once.values(), computed(*once.values()), strict=True):
        assert values.dtype == y.dtype


@pytest.mark.parametrize("chunks", [(0, 2), (0, 1)])
@pytest.mark.parametrize("f", [ng.max, ng.min, ng.ptp])
def test_extremes_of_no_rows(f: Callable[..., ng.DimArray], chunks: tuple[int, ...]) -> None:
    """Each of no rows has cells, as NumPy sees it."""
    x = ng.DimArray(da.from_array(np.zeros((0, 2)), chunks=chunks), ("a", "b"))
    out, back = ng.pullback(lambda x: f(x, "b"), x)
    assert [y.shape for y in computed(out, back(out))] == [(0,), (0, 2)]


def test_distances_from_no_points() -> None:
    x, y = lazy(np.zeros((0, 2)), ("a", "k")), lazy(np.ones((3, 2)), ("b", "k"))
    assert [d.shape for d in computed(ng.cdist(x, y, dim="k"))] == [(0, 3)]
