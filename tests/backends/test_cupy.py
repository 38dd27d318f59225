"""CuPy: every operation is that of NumPy, without waiting for the device and without copies that nobody asked for.

The tests run on a stand-in that refuses what CuPy refuses and counts what it does; those marked ``gpu`` run on CuPy.
"""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from xarray.namedarray import pycompat

import namedgrad as ng
from namedgrad import backends
from tests.backends.table import LABELLED, WAYS, labelled_data, placed, results, tolerance
from tests.support import fake_cupy
from tests.support.fake_cupy.counts import stats
from tests.support.samples import FLOATING, Case, chosen, table
from tests.support.tolerances import EXACT, ROUNDING, assert_close


@pytest.fixture
def array(cupy: Any) -> Callable[..., ng.DimArray]:
    """A named array on the device."""
    return lambda data, dims, **more: ng.DimArray(cupy.asarray(np.asarray(data)), dims, **more)


def quietly(call: Callable[[], Any]) -> Any:
    """The call, which must neither wait for the device nor copy to it."""
    stats.reset()
    out = call()
    assert (stats.syncs, stats.copies) == (0, 0)
    return out


# ------------------------------------------------------------------------------------------------ the table


# Second derivatives, which take longer than all else, of one sample of each operation.
TWICE = {case.label for case in chosen("twice", chosen("cupy test_every_operation_is_that_of_numpy", every_sample=True))}


@table("cupy test_every_operation_is_that_of_numpy", every_sample=True)
def test_every_operation_is_that_of_numpy(case: Case, cupy: Any) -> None:
    def place(x: ng.DimArray) -> ng.DimArray:
        return placed(x, cupy.asarray)

    second = WAYS if case.label in TWICE else ()
    expected = results(case, lambda x: x, second=second)
    for what, found in results(case, place, quietly, second=second).items():
        for y, e in zip(found, expected[what], strict=True):
            assert y.backend == "cupy"
            assert isinstance(y.data, cupy.ndarray), "a scalar is a 0-d array"
            assert (y.dims, y.vectorized, y.dtype) == (e.dims, e.vectorized, e.dtype), what
            assert_close(y.to_numpy(), e.to_numpy(), tolerance(case), f"{case.label}: {what}")


RAISING = {"cond", "matrix_norm", "matrix_power", "matrix_rank"}  # without an argument `errors`


@table("cupy test_no_operation_waits", every_sample=True)
def test_no_operation_waits(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    operands = [placed(x, fake_cupy.installed(monkeypatch).asarray) for x in case.operands()]
    given = host_arrays(case.sample.kwargs)
    if case.sample.kwargs.get("mode", "constant") != "constant":
        given += len(case.sample.kwargs.get("pad_width", ()))
    if case.sample.kwargs.get("padding_mode", "zeros") != "zeros":
        given += len(case.sample.kwargs["dims"])
    errors = {"errors": "nan"} if "errors" in inspect.signature(case.op.function).parameters else {}
    stats.reset()
    case.op.function(*operands, **case.sample.kwargs | errors)
    assert stats.syncs <= (case.name in RAISING), "one flag, where no argument says that NaN will do"
    assert stats.copies <= given, "only positions that the user gave are copied, each once"


def host_arrays(given: Any) -> int:
    """How many arrays of the host a call is given."""
    if isinstance(given, dict):
        return sum(map(host_arrays, given.values()))
    if isinstance(given, tuple):
        return sum(map(host_arrays, given))
    return isinstance(given, (list, np.ndarray, ng.DimArray))


@table("launches", FLOATING)
def test_launches_do_not_grow_with_the_batch(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.installed(monkeypatch)
    found = []
    for size in (3, 30):
        operands = case.operands(dict.fromkeys(range(len(case.sample.operands)), ("B",)), {"B": size})
        xs = [placed(x.vectorize("B"), fake_cupy.asarray) for x in operands if x.dtype.kind in "fc"]
        if len(xs) < len(operands):
            return
        stats.reset()
        out, back = ng.pullback(case, *xs)
        back(out)
        found.append(stats.launches)
    assert found[0] == found[1]


# ------------------------------------------------------------------------------------------------ transforms


def test_transforms_on_the_device(array: Any) -> None:
    data = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    here, there = ng.DimArray(data, ("a", "b")), array(data, ("a", "b"))

    def f(x: ng.DimArray) -> ng.DimArray:
        return (ng.exp(x) * x.sum("b")).mean()

    def v(x: ng.DimArray) -> ng.DimArray:
        return ng.sin(x)

    calls: list[Callable[[ng.DimArray], ng.DimArray]] = [
        ng.grad(f),
        ng.jacobian(v),
        ng.hessian(f),
        lambda x: ng.hvp(f, x, x),
        ng.grad(f, over="a"),
        ng.grad(ng.checkpoint(f)),
        ng.vmap(lambda x: x / x.sum(), "a"),
        ng.compile(ng.grad(f)),
    ]
    for call in calls:
        got, expected = call(there), call(here)
        assert got.backend == "cupy"
        assert got.dims == expected.dims
        assert_close(got.to_numpy(), expected.to_numpy(), 10 * ROUNDING)


def test_plain_arrays_come_back_as_plain_arrays(cupy: Any) -> None:
    data = np.array([0.5, -1.0, 2.0])
    got = ng.grad(lambda x: (np.exp(x) * x).sum())(cupy.asarray(data))
    assert isinstance(got, cupy.ndarray)
    assert_close(backends.backend_of(got).to_numpy(got), np.exp(data) * (1 + data), ROUNDING)


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("known", [True, False], ids=["known to xarray", "unknown to xarray"])
def test_xarray_programs_run_on_the_device(name: str, known: bool, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # xarray notes at its first array whether there is a CuPy, and calls CuPy's functions itself if so
    monkeypatch.setattr(pycompat, "_cached_duck_array_modules", {} if known else {"cupy": xr_module_that_is_missing()})
    here = labelled_data()
    there = [a.copy(data=cupy.asarray(a.to_numpy())) for a in here]
    got, expected = ng.grad(LABELLED[name])(*there), ng.grad(LABELLED[name])(*here)
    assert isinstance(got.data, cupy.ndarray)
    assert_close(backends.backend_of(got.data).to_numpy(got.data), expected.to_numpy(), 10 * ROUNDING)


def xr_module_that_is_missing() -> Any:
    """What xarray remembers of an array library that it could not import."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", None)
        return pycompat.DuckArrayModule("cupy")


def test_gradients_own_their_memory(array: Any) -> None:
    x = array([[1.0, 2.0], [3.0, 4.0]], ("a", "b"))
    cotangent = array([[1.0, 1.0], [2.0, 2.0]], ("a", "b"))
    _, back = ng.pullback(lambda x: x, x)
    gradients = [back(cotangent), ng.grad(lambda x: x.sum())(x), ng.grad(lambda x: x.sum())(array(1.0, ()))]
    for g in gradients:
        assert g.data.flags.owndata
    gradients[0].data[...] = 7.0
    assert cotangent.to_numpy().max() == 2.0


def test_a_write_into_an_input_does_not_reach_its_pullback(array: Any) -> None:
    x = array([1.0, 2.0], "a")
    _, back = ng.pullback(lambda x: x * x, x)
    x.data[...] = 100.0
    assert_close(back(array([1.0, 1.0], "a")).to_numpy(), np.array([2.0, 4.0]), EXACT)


# ------------------------------------------------------------------------------------------------ guards


def test_masked_cells_get_zero_and_infinities_survive(array: Any) -> None:
    x = array([0.0, 0.0, 2.0], "a")
    keep = array([False, True, True], "a")
    w = array(1.0, ())

    def f(x: ng.DimArray, w: ng.DimArray) -> ng.DimArray:
        return ng.where(keep, w * ng.log(x), 0.0).sum()

    with np.errstate(divide="ignore"):
        gx, gw = quietly(lambda: ng.grad(f, (0, 1))(x, w))
    assert_close(gx.to_numpy(), np.array([0.0, math.inf, 0.5]), EXACT)
    assert gw.item() == -math.inf


def test_guarded_on_the_device_also_where_the_output_is_on_the_host(array: Any) -> None:
    x = array([0.0, 2.0], "a")
    keep = array([False, True], "a")
    with np.errstate(divide="ignore", invalid="ignore"):
        g = ng.grad(lambda x: ng.where(keep, ng.log(x), 0.0).sum().to("numpy"))(x)
    assert_close(g.to_numpy(), np.array([0.0, 0.5]), EXACT)


def test_products_that_meet_missing_values(array: Any) -> None:
    data = array([[1.0, math.nan], [2.0, 3.0]], ("row", "feature"))
    w = array([[1.0, 0.5, 2.0], [0.0, 1.0, -1.0]], ("feature", "out"))
    complete = array([False, True], "row")

    def f(w: ng.DimArray) -> ng.DimArray:
        return ng.where(complete, ng.dot(data, w, dim="feature"), 0.0).sum()

    g = quietly(lambda: ng.grad(f)(w))
    assert_close(g.to_numpy(), np.array([[2.0] * 3, [3.0] * 3]), EXACT)


# ------------------------------------------------------------------------------------------------ linear algebra


SPD, DIMS = np.array([[4.0, 2.0], [2.0, 3.0]]), ("i", "j")
FAULTS = {
    "indefinite": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "singular": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "zero": np.zeros((2, 2)),
}
NOT_FINITE = {
    "missing": np.array([[1.0, math.nan], [2.0, 3.0]]),
    "infinite": np.array([[1.0, 2.0], [math.inf, 3.0]]),
}
CALLS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, b, **how: ng.cholesky(a, DIMS, **how),
    "solve": lambda a, b, **how: ng.solve(a, b, DIMS, **how),
    "solve_triangular": lambda a, b, **how: ng.solve_triangular(a, b, DIMS, **how),
    "inv": lambda a, b, **how: ng.inv(a, DIMS, **how),
    "pinv": lambda a, b, **how: ng.pinv(a, DIMS, **how),
    "lstsq": lambda a, b, **how: ng.lstsq(a, b, DIMS, **how),
    "eigh": lambda a, b, **how: ng.eigh(a, DIMS, **how)[0],
    "eigvalsh": lambda a, b, **how: ng.eigvalsh(a, DIMS, **how),
    "eig": lambda a, b, **how: ng.sort(ng.real(ng.eig(a, DIMS, **how)[0]), "j2"),
    "eigvals": lambda a, b, **how: ng.sort(ng.real(ng.eigvals(a, DIMS, **how)), "j2"),
    "svd": lambda a, b, **how: ng.svd(a, DIMS, **how)[1],
    "qr": lambda a, b, **how: abs(ng.qr(a, DIMS, **how)[1]),  # libraries differ in signs, and in orders
}


def outcome(call: Callable[[], ng.DimArray]) -> np.ndarray | str:
    """What a call gives, or says."""
    with np.errstate(all="ignore"):
        try:
            return call().to_numpy()
        except np.linalg.LinAlgError as error:
            return str(error)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CALLS)
def test_matrices_that_cannot_be_done_are_those_of_numpy(name: str, fault: str, array: Any) -> None:
    stack, rhs = np.stack([SPD, 2 * SPD, FAULTS[fault], SPD + 1]), np.array([1.0, 0.5])
    here, there = ((make(stack, ("k", "i", "j")), make(rhs, "i")) for make in (ng.DimArray, array))
    expected, got = outcome(lambda: CALLS[name](*here)), outcome(lambda: CALLS[name](*there))
    assert type(got) is type(expected)
    if isinstance(expected, str):
        assert "k=2 of (k: 4)" in expected
        assert got == expected
    else:
        assert_close(got, expected, 10 * ROUNDING)


@pytest.mark.parametrize("fault", FAULTS | NOT_FINITE)
@pytest.mark.parametrize("name", CALLS)
def test_nan_on_request_disturbs_nothing_else_and_does_not_wait(name: str, fault: str, array: Any) -> None:
    stack, rhs = np.stack([SPD, 2 * SPD, (FAULTS | NOT_FINITE)[fault], SPD + 1]), np.array([1.0, 0.5])
    a, b, call = array(stack, ("k", "i", "j")), array(rhs, "i"), CALLS[name]
    with np.errstate(all="ignore"):
        expected = call(ng.DimArray(stack, ("k", "i", "j")), ng.DimArray(rhs, "i"), errors="nan").to_numpy()
        got = quietly(lambda: call(a, b, errors="nan")).to_numpy()
    assert_close(got[[0, 1, 3]], expected[[0, 1, 3]], 10 * ROUNDING)
    if fault in FAULTS or not np.isnan(got[2]).any():  # how far NaN goes is up to the library
        assert_close(got[2], expected[2], 10 * ROUNDING)


@pytest.mark.parametrize("name", ["pinv", "lstsq", "eigh", "eigvalsh", "eig", "eigvals", "svd"])
def test_matrices_that_are_not_finite_have_no_spectrum(name: str, array: Any) -> None:
    a = array(np.stack([SPD, [[1.0, 2.0], [math.nan, 3.0]]]), ("k", "i", "j"))
    with pytest.raises(np.linalg.LinAlgError, match=r"at k=1 of \(k: 2\)"):
        CALLS[name](a, array([1.0, 2.0], "i"))


def test_an_error_costs_one_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    a = ng.DimArray(fake_cupy.installed(monkeypatch).asarray(np.stack([SPD] * 50)), ("k", "i", "j"))
    for call in (lambda: ng.cholesky(a, DIMS), lambda: ng.inv(a, DIMS), lambda: ng.svd(a, DIMS)):
        stats.reset()
        call()
        assert (stats.syncs, stats.copies) == (1, 0)
    out, back = ng.pullback(lambda x: ng.inv(x, DIMS), a)
    quietly(lambda: back(out))


@pytest.mark.parametrize("kind", ["random", "near defective", "badly scaled", "near the negative axis"])
def test_roots_and_logarithms_are_as_good_as_those_of_scipy(array: Any, kind: str) -> None:
    """Residuals, which do not grow with the condition of the problem."""
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.normal(size=(4, 5, 5)))[0]
    skewed = q @ (np.eye(5) + 0.3 * rng.normal(size=(4, 5, 5)))
    a = {
        "random": rng.normal(size=(4, 5, 5)) + 1j * rng.normal(size=(4, 5, 5)),
        "near defective": 2 * np.eye(5) + np.eye(5, k=1) + 1e-9 * rng.normal(size=(4, 5, 5)),
        "badly scaled": (q * 10.0 ** np.linspace(-6, 6, 5)) @ np.swapaxes(q, -1, -2),
        "near the negative axis": (skewed * np.array([-1 + 1e-3j, -1 - 1e-3j, 2, 3, 4])) @ np.linalg.inv(skewed),
    }[kind]
    x = array(a, ("k", "i", "j"))
    root, log = ng.sqrtm(x, ("i", "j")).to_numpy(), ng.logm(x, ("i", "j")).to_numpy()
    size = np.abs(a).max((1, 2))
    warnings.filterwarnings("ignore", "logm result may be inaccurate")  # SciPy's is
    for k in range(4):
        theirs = np.abs(scipy.linalg.sqrtm(a[k]) @ scipy.linalg.sqrtm(a[k]) - a[k]).max()
        assert np.abs(root[k] @ root[k] - a[k]).max() <= 2 * theirs + 1e-15 * size[k]
        theirs = np.abs(scipy.linalg.expm(scipy.linalg.logm(a[k])) - a[k]).max()
        assert np.abs(scipy.linalg.expm(log[k]) - a[k]).max() <= 4 * theirs + 1e-13 * size[k]


@pytest.mark.parametrize("condition", [1e2, 1e8, 1e14])
def test_what_is_merely_ill_conditioned_is_solved(array: Any, condition: float) -> None:
    rng = np.random.default_rng(3)
    q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    a = (q * np.geomspace(1, 1 / condition, 20)) @ q.T
    b = rng.normal(size=20)
    x = ng.solve(array(a, ("i", "j")), array(b, "i"), ("i", "j")).to_numpy()
    assert_close(x, np.linalg.solve(a, b), 1e-10 * condition)
    spd = a @ a.T + np.eye(20) / condition
    factor = ng.cholesky(array(spd, ("i", "j")), ("i", "j")).to_numpy()
    assert_close(factor, np.linalg.cholesky(spd), 1e-14 * condition)


# ------------------------------------------------------------------------------------------------ positions


def test_positions_of_the_host_are_copied_once(array: Any) -> None:
    x = array([1.0, 2.0, 4.0], "a")
    stats.reset()
    g = ng.grad(lambda x: (x.isel(a=[0, -1, -1]) * x.isel(a=np.array([1, 1, 0]))).sum())(x)
    assert stats.copies <= 2
    assert_close(g.to_numpy(), np.array([2.0 + 4.0, 1.0 + 4.0, 3.0]), EXACT)
    with pytest.raises(IndexError, match=r"index 3 is out of range for dim 'a' of size 3"):
        x.isel(a=[0, 3])


def test_classes_that_are_out_of_range_have_no_cell(array: Any) -> None:
    """Nobody looks whether they are; a cell of the next one's would be one too many."""
    index = np.array([[1, 2, 0], [5, -7, 1]])
    there = array(index, ("a", "b"))
    found = quietly(lambda: ng.one_hot(there, 2))
    assert_close(found.to_numpy(), np.equal.outer(index, [0, 1]).astype(int), EXACT)


def test_sizes_that_depend_on_values_are_refused(array: Any) -> None:
    x = array([1.0, 2.0], "a")
    with pytest.raises(TypeError, match=r"boolean index on cupy has a data-dependent size; use where"):
        x.isel(a=x > 1)
    assert_close(x.isel(a=[False, True]).to_numpy(), np.array([2.0]), EXACT)


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float32", "float16", "int8", "uint16", "int64", "bool"])
def test_scatter_of_every_dtype(cupy: Any, dtype: str) -> None:
    backend = backends.get_backend("cupy")
    rng = np.random.default_rng(1)
    g, index = rng.integers(0, 2, (3, 5)).astype(dtype), rng.integers(0, 4, 5)
    if dtype.startswith("complex"):
        g *= np.array(1 - 2j, dtype)
    out = backend.scatter_add(cupy.asarray(g), cupy.asarray(index), shared=0, sizes=(4,))
    expected = np.zeros((3, 4), dtype)
    for k, i in enumerate(index):
        expected[:, i] += g[:, k]
    assert out.dtype == dtype
    assert_close(backend.to_numpy(out), expected, EXACT)


@pytest.mark.parametrize("how", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8"])
def test_extremes_of_every_dtype(cupy: Any, dtype: str, how: str) -> None:
    """To the last bit, and NaN where there is one."""
    rng = np.random.default_rng(2)
    g, index = (100 * rng.normal(size=400)).astype(dtype), rng.integers(0, 50, 400)
    if dtype.startswith("float"):
        g[:4], g[4:6], g[6:8] = [np.nan, -np.nan, np.inf, -np.inf], 1 + np.finfo(dtype).eps, [0.0, -0.0]
    out = g[-50:].copy()
    found = backends.get_backend("cupy").accumulate(how, cupy.asarray(out), cupy.asarray(g), (cupy.asarray(index),), shared=0, tail=0)
    with np.errstate(invalid="ignore"):
        getattr(np, how).at(out, index, g)
    assert_close(found.get(), out, EXACT)


# ------------------------------------------------------------------------------------------------ devices


def test_transfer_is_explicit_and_differentiated(cupy: Any, array: Any) -> None:
    data = np.array([0.5, -1.0])
    here, there = ng.DimArray(data, "a"), array(data, "a")
    assert there.to("cupy") is there
    assert here.to("cupy").backend == "cupy"
    assert_close(there.to("numpy").to_numpy(), data, EXACT)

    def f(x: ng.DimArray) -> ng.DimArray:
        return (ng.exp(x.to("cupy")) * there).sum().to("numpy") + (x.to("numpy") * here).sum()

    expected = np.exp(data) * data + data
    for x in (here, there):
        g = ng.grad(f)(x)
        assert g.backend == x.backend
        assert_close(g.to_numpy(), expected, ROUNDING)
    tangent = ng.pushforward(f, (here,), (here,))[1]
    assert tangent.backend == "numpy"
    assert_close(tangent.to_numpy(), (expected * data).sum(), ROUNDING)


def test_devices_do_not_mix(array: Any) -> None:
    import dask.array as da

    here, there, lazy = ng.DimArray([1.0, 2.0], "a"), array([1.0, 2.0], "a"), ng.DimArray(da.ones(2), "a")
    index = array([0, 1], "p")
    mixed: list[Callable[[], Any]] = [
        lambda: here + there,
        lambda: there * here,
        lambda: ng.where(there > 1, here, 0.0),
        lambda: ng.dot(here, there),
        lambda: ng.concat([here, there], "a"),
        lambda: here.isel(a=index),
        lambda: here.at[{"a": index}].add(1.0),
        lambda: ng.grad(lambda x: (x * there).sum())(here),
    ]
    for call in mixed:
        with pytest.raises(TypeError, match=r"cupy and numpy.*\.to\('cupy'\) or \.to\('numpy'\)"):
            call()
    with pytest.raises(TypeError, match=r"cupy and dask.*\.to\('cupy'\) or \.to\('dask'\)"):
        there + lazy
    with pytest.raises(TypeError, match=r"cupy and dask and numpy"):
        ng.where(there > 1, lazy, here)


def test_scalars_join(array: Any) -> None:
    x = array(np.array([1.0, 2.0], np.float32), "a")
    for scalar in (2, 2.0, np.float32(2), np.array(2.0, np.float32), ng.DimArray(np.array(2.0, np.float32), ())):
        for y in (x * scalar, scalar * x):
            assert y.backend == "cupy"
            assert y.dtype == np.float32
            assert_close(y.to_numpy(), np.array([2.0, 4.0], np.float32), EXACT)
    assert (x + np.float64(1)).dtype == np.float64


def test_nothing_leaves_the_device_by_itself(array: Any) -> None:
    x = array([1.0, 2.0], "a")
    with pytest.raises(TypeError, match=r"no implicit copy from cupy to the host; use \.to_numpy\(\)"):
        np.asarray(x)
    stats.reset()
    assert "cupy" in repr(x)
    assert float(x.sum()) == 3.0
    assert (x > 0).all()


def test_without_cupy_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"namedgrad\[cupy\]"):
        ng.DimArray([1.0], "a").to("cupy")
    with pytest.raises(ValueError, match=r"'jax'.*'numpy', 'cupy' or 'dask'"):
        ng.DimArray([1.0], "a").to("jax")


# ------------------------------------------------------------------------------------------------ imports


def run(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=120)  # noqa: S603 - our own text


def test_backends_are_not_imported_unasked() -> None:
    run(
        "import sys, namedgrad as ng\n"
        "x = ng.DimArray([1.0, 2.0], 'a')\n"
        "ng.grad(lambda x: (x * x).sum())(x)\n"
        "found = {'cupy', 'cupyx', 'dask', 'distributed', 'torch', 'jax', 'matplotlib'} & set(sys.modules)\n"
        "assert not found, found\n"
    )


@pytest.mark.parametrize("first", ["cupy", "namedgrad"])
def test_either_may_be_imported_first(first: str) -> None:
    imports = ["import tests.support.fake_cupy as cupy; sys.modules['cupy'] = cupy", "import namedgrad as ng"]
    run(
        "import sys\n" + "\n".join(imports if first == "cupy" else imports[::-1]) + "\n"
        "x = ng.DimArray(cupy.asarray([1.0, 2.0]), 'a')\n"
        "assert ng.grad(lambda x: (x * x).sum())(x).backend == 'cupy'\n"
    )


def test_numbers_are_joined_on_the_device(array: Callable[..., ng.DimArray]) -> None:
    x, c = array([[1.0, 2.0], [3.0, 5.0]], ("b", "t")), array(3.0, ())
    np.testing.assert_array_equal(ng.concat([0.5, x, ng.DimArray(7.0, ())], "t").to_numpy(), [[0.5, 1, 2, 7], [0.5, 3, 5, 7]])
    carries = ng.scan(lambda c, x: (c * x, c), 0.5, x.vectorize("b"), "t")[1]  # the first of which is the number
    np.testing.assert_array_equal(carries.to_numpy(), [[0.5, 0.5], [0.5, 1.5]])
    g = ng.grad(lambda c: (ng.concat([0.5, x * c, c], "t") ** 2).sum())(c)
    assert (g.backend, g.item()) == ("cupy", 2 * 3.0 * (1 + 4 + 9 + 25 + 2))


def test_lengths_that_are_numbers_are_joined_on_the_device(array: Callable[..., ng.DimArray]) -> None:
    """Also what is known of them where they are 0, which begins as a number."""
    x, v = array([3.0, 4.0], "x"), array([1.0, -2.0], "x")

    def f(x: ng.DimArray) -> ng.DimArray:  # 5 x.x
        root = ng.sqrt((x * x).sum())
        return (ng.concat([root, abs(2.0 * root)], "k") ** 2).sum()

    np.testing.assert_allclose(ng.hvp(f, x, v).to_numpy(), [10.0, -20.0], rtol=1e-14)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "ive"])
def test_bessel_functions_of_many_orders_at_a_number(name: str, array: Callable[..., ng.DimArray]) -> None:
    orders = np.array([0.5, 1.5, 2.5])
    out = getattr(ng, name)(array(orders, "x"), 0.5)
    np.testing.assert_allclose(out.to_numpy(), getattr(scipy.special, name)(orders, 0.5), rtol=1e-12)


def test_positions_that_the_device_found_pick_there(cupy: Any) -> None:
    x = np.array([3.0, 1.0, 3.0, 2.0])
    here, keep = ng.positional(cupy.asarray(x)), cupy.asarray(np.array([True, False, True, False]))
    for found, expected in (
        (np.unique(here), np.unique(x)),
        (np.take(here, cupy.asarray(np.array([3, 0]))), x[[3, 0]]),
        (np.extract(ng.positional(keep), here), x[[0, 2]]),
        (np.unravel_index(ng.positional(cupy.asarray(np.array([5, 1]))), (3, 2))[0], np.array([2, 0])),
        (ng.grad(lambda x: np.sum(np.unique(x * x)))(here), 2 * x * [1, 1, 0, 1]),
    ):
        assert isinstance(found.data, cupy.ndarray)
        assert np.array_equal(found.data.get(), expected)


def test_several_arrays_come_to_the_host_as_they_are(cupy: Any) -> None:
    kernels, line = backends.get_backend("cupy"), np.arange(6.0)
    several = [line, line.reshape(2, 3).T, np.array(7.0), np.zeros((0, 2))]
    for host in (several, [*several, line.astype(np.float32)], several[:1], []):
        found = kernels.all_to_numpy([cupy.asarray(x) for x in host])
        assert [x.dtype for x in found] == [x.dtype for x in host]
        for x, want in zip(found, host, strict=True):
            np.testing.assert_array_equal(x, want)
