"""The table: every operation with every sample, through every check that is the same for all.

A check compares with something that knows nothing of our rules: NumPy, SciPy or xarray, finite differences, the same
operation on one slice at a time.  Cotangents and tangents are random and signed.
"""

from __future__ import annotations

import inspect
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import structure
from tests.support.arrays import all_names, hidden, like, permuted, sum_of_products, values
from tests.support.calls import calls_of
from tests.support.domains import parse
from tests.support.functions import Arrays, Function, cotangents_of, pull, push, rng_of, rounding
from tests.support.grid import GRID, Point, data_array
from tests.support.oracles import fd_gradients, fd_push, fd_second, stacked
from tests.support.samples import (
    CASES,
    FIXED,
    FLOATING,
    FLOATS,
    SAMPLES_PER_OPERATION,
    VARIANTS,
    Case,
    outputs,
    table,
)
from tests.support.tolerances import CLOSED, EXACT, FIRST, MATRIX, REFERENCE, ROUNDING, SECOND, SINGLE, assert_close

# A dim that is added to these would be reduced or moved as well, unless the call names its dims.
BY_DEFAULT_ALL = {"sum", "mean", "var", "std", "max", "min", "prod", "logsumexp", "cumsum", "any", "all", "argmax", "argmin", "count", "flip",
                  "median", "quantile", "cumprod", "vdot", "average", "cov", "corr", "ptp", "count_nonzero", "vector_norm", "norm", "dist", "renorm", "histogram",
                  "bincount", "masked_select"}
BY_DEFAULT_ALL |= {f"nan{name}" for name in BY_DEFAULT_ALL}
ALONG_THE_ONLY_DIM = {"sort", "argsort", "partition", "topk", "kthvalue", "mode", "cummax", "cummin", "logcumsumexp", "trapezoid", "cumulative_trapezoid",
                      "diff", "ediff1d", "split", "chunk", "unbind", "diag_embed", "idxmax", "idxmin", "ffill", "bfill", "head", "tail", "thin",
                      "meshgrid", "unique"}  # fmt: skip
BY_DEFAULT_ALL |= ALONG_THE_ONLY_DIM
# All writers to a cell count: a dim that an index has and the target lacks ends there.
INDEX_ENDS = {"scatter", "scatter_add", "scatter_reduce", "put", "put_along_axis", "index_add", "index_copy", "index_fill", "index_reduce"}
SINGLE_BECOMES_DOUBLE = {"float_power", "jv", "yv", "iv", "ive", "kv", "hyp2f1", "astype", "type_as"}  # as in NumPy, and in SciPy with orders that are int64
SINGLE_BECOMES_DOUBLE |= {"bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri", "pdtr", "pdtrc", "pdtri", "kn", "yn", "jve", "yve", "hankel1", "hankel2", "hankel1e", "hankel2e", "hyp0f1", "hyperu", "struve", "modstruve", "lpmv", "chndtr"}
SINGLE_BECOMES_DOUBLE |= {"expn", *(name for name in OPERATIONS if name.startswith(("eval_", "spherical_")))}


# ------------------------------------------------------------------------------------------------ completeness


POINTS = [(name, k) for name, e in GRID.items() for k in range(len(e.points))]


def test_every_operation_is_in_the_grid() -> None:
    assert set(GRID) == set(OPERATIONS)
    assert not [name for name, op in OPERATIONS.items() if not op.samples], "an operation without samples"
    declared = {name for name, op in OPERATIONS.items() if op.differentiable}
    assert declared <= {c.name for c in FLOATING} | {"stop_gradient"}, "declared differentiable, but never differentiated here"


def test_every_operation_has_enough_samples() -> None:
    counts = {name: sum(c.name == name for c in CASES) + len(GRID[name].points) for name in OPERATIONS}
    assert not {name: n for name, n in counts.items() if n < SAMPLES_PER_OPERATION}
    assert not {name: len(GRID[name].points) for name in OPERATIONS if len(GRID[name].points) < 3}, "special points"


def test_the_grid_does_not_shrink() -> None:
    assert len(OPERATIONS) >= 550
    assert len(CASES) >= 6500
    assert len(FLOATING) >= 5950
    assert len(POINTS) >= 1930


# ------------------------------------------------------------------------------------------------ values


def reference(case: Case, operands: Arrays) -> list[xr.DataArray]:
    """What NumPy, SciPy or xarray give; their warnings of values that are not finite are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return outputs(GRID[case.name].reference(*map(data_array, operands), **case.sample.kwargs))


@table("value_is_that_of_the_reference", every_sample=True)
def test_value_is_that_of_the_reference(case: Case) -> None:
    operands = case.operands()
    expected = reference(case, operands)
    for y, e in zip(outputs(case(*operands)), expected, strict=True):
        assert set(y.dims) == set(e.dims)
        assert_close(values(y, e.dims), e.to_numpy(), MATRIX if case.tolerance_is_matrix else REFERENCE)
        assert y.dims == e.dims
        assert y.dtype == e.dtype


@table("public_function_and_method_agree")
def test_public_function_and_method_agree(case: Case) -> None:
    operands = case.operands()
    here = [y.to_numpy() for y in outputs(case(*operands))]
    public = getattr(ng, case.name)
    calls = [lambda: public(operands, **case.sample.kwargs) if case.name == "concat" else public(*operands, **case.sample.kwargs)]
    if case.op.method:
        calls.append(lambda: getattr(operands[0], case.name)(*operands[1:], **case.sample.kwargs))
    for call in calls:
        for mine, other in zip(here, outputs(call()), strict=True):
            assert np.array_equal(mine, other.to_numpy(), equal_nan=mine.dtype.kind in "fc")


@table("stored_order_is_harmless")
def test_stored_order_is_harmless(case: Case) -> None:
    if case.name in {"argmax", "argmin"} and case.sample.kwargs.get("dim") is None:
        return  # positions in the flattened array: there the order of the dims is the meaning
    if case.name == "scatter" and "reduce" not in case.sample.kwargs:
        return  # the last of several writers to a cell wins, in the order of the dims
    operands = case.operands()
    rng = rng_of(case, "permuted")
    for y, e in zip(outputs(case(*(permuted(x, rng) for x in operands))), outputs(case(*operands)), strict=True):
        assert_close(values(y, e.dims), e.to_numpy(), rounding(case))


@table("single_precision_stays_single", FLOATING)
def test_single_precision_stays_single(case: Case) -> None:
    f = Function(case, [_single(x) if x.dtype.kind in "fc" else x for x in case.operands()])
    double = Function(case, case.operands())
    if case.name not in SINGLE_BECOMES_DOUBLE:
        assert {y.dtype.itemsize // (2 if y.dtype.kind == "c" else 1) for y in outputs(f(*f.xs))} == {4}
    cotangents = cotangents_of(double, rng_of(case, "single"))
    small = cotangents if case.name in SINGLE_BECOMES_DOUBLE else [_single(c) for c in cotangents]
    pairs = [(f.xs, pull(f, f.xs, small), pull(double, double.xs, cotangents))]
    tangents = double.tangents(rng_of(case, "single tangent"))
    pairs.append((outputs(f(*f.xs)), push(f, f.xs, [_single(t) for t in tangents]), push(double, double.xs, tangents)))
    for likes, got, expected in pairs:
        for x, g, e in zip(likes, got, expected, strict=True):
            assert g.dtype == x.dtype
            assert_close(g.to_numpy(), e.to_numpy(), 10 * SINGLE if case.tolerance_is_matrix else SINGLE, least=0.2)


def _single(x: ng.DimArray) -> ng.DimArray:
    dtype = np.complex64 if x.dtype.kind == "c" else np.float32
    return ng.DimArray(x.to_numpy().astype(dtype), all_names(x), vectorized=x.vectorized)


def _renamed(value: Any, names: dict[Any, Any]) -> Any:
    """Dims in arguments, wherever they stand, under other names."""
    if isinstance(value, ng.DimArray):
        return value.rename({d: names[d] for d in value.dims if d in names})
    if isinstance(value, dict):
        return {_renamed(k, names): _renamed(v, names) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_renamed(v, names) for v in value)
    if isinstance(value, str) and value.endswith("2") and value[:-1] in names:  # a new dim, called after one
        return f"{names[value[:-1]]}2"
    return names.get(value, value) if isinstance(value, str) else value


@table("renaming_a_dim_renames_the_result")
def test_renaming_a_dim_renames_the_result_and_nothing_else(case: Case) -> None:
    names = {d: f"{d} of another name" for d in VARIANTS["distinct"]}
    names |= {f"{d}_window": f"{new}_window" for d, new in names.items()}  # the dims that windows get by default
    operands = case.operands()
    others = _renamed(operands, names)
    for y, z in zip(outputs(case(*operands)), outputs(case.op.function(*others, **_renamed(case.sample.kwargs, names))), strict=True):
        assert z.dims == _renamed(y.dims, names)
        assert_close(z.to_numpy(), y.to_numpy(), EXACT)


@table("no_cells", every_sample=True)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a mean of nothing
def test_dims_of_no_cells(case: Case) -> None:
    first = next((d for o in case.sample.operands for d in parse(o)[1] if d not in FIXED), None)
    if first is None:
        return
    try:
        operands = case.operands(sizes={first: 0})
        expected = reference(case, operands)
    except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        return  # no such operands, or no answer
    for y, e in zip(outputs(case(*operands)), expected, strict=True):
        assert y.dims == e.dims
        of_nothing = np.zeros(e.shape) if case.name == "irfft" else e.to_numpy()  # NumPy's is what memory happened to hold
        assert_close(y.to_numpy(), of_nothing, ROUNDING)
    if case.label in FLOATS:
        f = Function(FLOATS[case.label], operands)
        for x, g in zip(f.xs, pull(f, f.xs, cotangents_of(f, rng_of(case, "none"))), strict=True):
            assert (g.dims, g.shape, g.dtype) == (x.dims, x.shape, x.dtype)
            assert np.isfinite(g.to_numpy()).all()


@table("operands_that_are_no_arrays_are_named")
def test_operands_that_are_no_arrays_are_named(case: Case) -> None:
    operands = case.operands()
    public = getattr(ng, case.name)
    for k, other in enumerate([np.ones((3, 4)), [1.0, 2.0], "text", None, object()]):
        wrong = [other, *operands[1:]] if k % 2 else [*operands[:-1], other]
        if case.name == "stop_gradient" and isinstance(other, np.ndarray):
            continue  # programs on plain arrays call it, too
        with pytest.raises((TypeError, ng.AxisError)) as info:
            public(wrong, **case.sample.kwargs) if case.name == "concat" else public(*wrong, **case.sample.kwargs)
        assert type(other).__name__ in str(info.value) or "plain array" in str(info.value)


# ------------------------------------------------------------------------------------------------ first order


@table("gradient_is_that_of_finite_differences", FLOATING, every_sample=True)
def test_gradient_is_that_of_finite_differences(case: Case) -> None:
    f = Function(case, case.operands())
    cotangents = cotangents_of(f, rng_of(case, "gradient"))
    expected = fd_gradients(f.steady, f.xs, cotangents, f.symmetric)
    for x, g, e in zip(f.xs, pull(f, f.xs, cotangents), expected, strict=True):
        assert g.dims == x.dims
        assert not g.vectorized
        assert g.dtype == x.dtype
        assert_close(g.to_numpy(), np.where(np.isnan(x.to_numpy()), 0, e), FIRST)


@table("tangent_is_that_of_finite_differences", FLOATING)
def test_tangent_is_that_of_finite_differences(case: Case) -> None:
    f = Function(case, case.operands())
    rng = rng_of(case, "tangent")
    tangents = f.tangents(rng)
    expected = fd_push(f.steady, f.xs, tangents)
    for y, t, e in zip(outputs(f(*f.xs)), push(f, f.xs, tangents), expected, strict=True):
        assert t.dims == y.dims
        assert t.dtype == y.dtype
        known = ~np.isnan(np.asarray(e, dtype=y.dtype))
        assert_close(t.to_numpy()[known], np.asarray(e, dtype=y.dtype)[known], FIRST)


@table("modes_are_adjoint", FLOATING)
@pytest.mark.parametrize("layout", ["stored", "permuted", "extra"])
def test_modes_are_adjoint(case: Case, layout: str) -> None:
    if layout == "extra" and case.name in ALONG_THE_ONLY_DIM and case.sample.kwargs.get("dim") is None:
        return
    rng = rng_of(case, "adjoint" + layout)
    operands = case.operands(batch={k: (f"B{k + 1}",) for k in range(2)} if layout == "extra" else None)
    if layout == "permuted":
        operands = [permuted(x, rng) for x in operands]
    f = Function(case, operands)
    tangents, cotangents = f.tangents(rng), cotangents_of(f, rng)
    pushed, pulled = push(f, f.xs, tangents), pull(f, f.xs, cotangents)
    here = sum_of_products(cotangents, pushed)
    there = sum_of_products(pulled, tangents)
    size = sum(float(np.nansum(np.abs(t.to_numpy()))) for t in pushed) + 1e-3
    assert abs(here - there) <= rounding(case) * size


# Their tangents are solutions of equations, which no 0 on the right outweighs.
OF_EQUATIONS = {"polyfit", *(name for name, op in OPERATIONS.items() if op.family == "linalg")}


@table("what_does_not_count", FLOATING)
@pytest.mark.parametrize("kind", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, of values that are not finite
def test_what_does_not_count_gets_exactly_0(case: Case, kind: float) -> None:
    """A cotangent of exactly 0, as that of a cell behind ``where``, is 0 times whatever stands there, and so is a tangent."""
    operands, rng = case.operands(), rng_of(case, "does not count")
    at = next(k for k, x in enumerate(operands) if x.dtype.kind in "fc")
    spoiled = np.where(rng.random(operands[at].shape) < 0.4, kind, operands[at].to_numpy())
    operands[at] = ng.DimArray(spoiled.astype(operands[at].dtype), operands[at].dims)
    f = Function(case, operands)
    try:
        outs = outputs(f(*f.xs))
    except ValueError:
        return  # no answer
    zeros = [ng.zeros_like(y) for y in outs]
    for g in pull(f, f.xs, zeros):
        np.testing.assert_array_equal(g.to_numpy(), 0)
    if case.name not in OF_EQUATIONS:
        for t in push(f, f.xs, [ng.zeros_like(x) for x in f.xs]):
            np.testing.assert_array_equal(t.to_numpy(), 0)


# ------------------------------------------------------------------------------------------------ special points


def _point(name: str, k: int) -> tuple[Point, Arrays, Callable[..., Any], list[np.ndarray]]:
    """A point, its float operands, the operation as a function of them, and one cotangent per output."""
    at = GRID[name].points[k]
    places = [i for i, x in enumerate(at.operands) if x.dtype.kind in "fc"]

    def f(*xs: ng.DimArray) -> Any:
        full = list(at.operands)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        return OPERATIONS[name].function(*full, **at.kwargs)

    rng = np.random.default_rng(zlib.crc32(f"{name} {k}".encode()))
    with np.errstate(all="ignore"):
        outs = outputs(f(*(at.operands[i] for i in places)))
    given = at.cotangent if isinstance(at.cotangent, tuple) else (at.cotangent,) * len(outs)
    cotangents = [like(y, rng).to_numpy() if c is None else np.broadcast_to(np.asarray(c, y.dtype), y.shape) for c, y in zip(given, outs, strict=True)]
    return at, [at.operands[i] for i in places], f, cotangents


@pytest.mark.parametrize(("name", "k"), POINTS, ids=[f"{n}-{k}" for n, k in POINTS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, of values that are not finite
def test_special_point(name: str, k: int) -> None:
    at, xs, f, cotangents = _point(name, k)
    outs = outputs(f(*xs))
    if at.value is not None:
        for y, e in zip(outs, at.value if isinstance(at.value, tuple) else (at.value,), strict=True):
            assert_close(y.to_numpy(), np.asarray(e.to_numpy() if isinstance(e, ng.DimArray) else e), CLOSED)
    if at.gradients is None:
        return
    several = cotangents if len(outs) > 1 else cotangents[:1]
    expected = [np.asarray(e(*several) if callable(e) else e) for e in at.gradients]
    seeds = [ng.DimArray(c, y.dims) for c, y in zip(cotangents, outs, strict=True)]
    for x, g, e in zip(xs, pull(f, xs, seeds), expected, strict=True):
        assert g.dims == x.dims
        assert_close(g.to_numpy(), np.broadcast_to(e, x.shape), CLOSED, "gradient")
    # Two slices at once, of which the second has twice the cotangent: what is repaired in one must not touch the other.
    both = [ng.DimArray(np.stack([c, 2 * c]), ("B", *y.dims), vectorized=["B"]) for c, y in zip(cotangents, outs, strict=True)]
    for x, g, e in zip(xs, pull(f, xs, both), expected, strict=True):
        assert_close(values(g, ("B", *x.dims)), np.stack([np.broadcast_to(e, x.shape), 2 * np.broadcast_to(e, x.shape)]), CLOSED, "gradient of slices")
    if not all(np.isfinite(e).all() for e in expected):
        return
    rng = np.random.default_rng(1)
    tangents = [like(x, rng) for x in xs]
    pushed = push(f, xs, tangents)
    pairs = [(c, t.to_numpy()) for c, t, y in zip(cotangents, pushed, outs, strict=True) if y.dtype.kind in "fc"]
    here = sum(float(np.real(np.conj(c) * np.where(c == 0, 0, t)).sum()) for c, t in pairs)
    there = sum(float(np.real(np.conj(e) * t.to_numpy()).sum()) for e, t in zip(expected, tangents, strict=True))
    assert_close(here, there, CLOSED, "tangent")


# ------------------------------------------------------------------------------------------------ second order


@table("second_order", FLOATING)
def test_second_order(case: Case) -> None:
    f = Function(case, case.operands())
    rng = rng_of(case, "second")
    tangents, cotangents = f.tangents(rng), cotangents_of(f, rng)
    expected = fd_second(lambda xs: pull(f.steady, xs, cotangents), f.xs, tangents)
    forward = push(lambda *xs: tuple(pull(f, xs, cotangents)), f.xs, tangents)
    reverse = pull(lambda *xs: tuple(pull(f, xs, cotangents)), f.xs, tangents)
    tangent_of_tangent = pull(lambda *xs: _same(push(f, xs, tangents)), f.xs, cotangents)
    for x, e, *found in zip(f.xs, expected, forward, reverse, tangent_of_tangent, strict=True):
        taking_part = np.where(np.isnan(x.to_numpy()), 0, e).astype(x.dtype)
        for g in found:
            assert g.dims == x.dims
            assert_close(g.to_numpy(), taking_part, SECOND)


def _same(several: Arrays) -> Any:
    return several[0] if len(several) == 1 else tuple(several)


# ------------------------------------------------------------------------------------------------ batches


def _reduces_all(case: Case) -> bool:
    """Whether a dim that is added to an operand takes part in what the call reduces, or moves."""
    given = case.sample.kwargs
    if case.name in {*INDEX_ENDS, "masked_select"}:
        return True
    if case.name == "embedding" and "max_norm" in given:  # which is that of rows with all their dims
        return True
    if case.op.family == "losses":
        parameters = inspect.signature(case.op.function).parameters
        dim = given.get("reduce_dim" if "reduce_dim" in parameters else "dim")
        return "reduction" in parameters and dim is None and given.get("reduction", "mean") is not None
    return given.get("dim") is ... or (case.name in BY_DEFAULT_ALL and given.get("dim") is None)


@table("ordinary_batch_dims_are_slices_too")
def test_ordinary_batch_dims_are_slices_too(case: Case) -> None:
    if _reduces_all(case):
        return
    n = len(case.sample.operands)
    batch = {k: (f"B{k % 2 + 1}",) for k in range(n)} if case.name not in {"dot", "outer", "multi_dot"} else {0: ("B1",), n - 1: ("B2",)}
    names = {name: case.batch_sizes[name] for own in batch.values() for name in own}
    operands = case.operands(batch)
    expected = stacked(lambda xs: outputs(case(*xs)), names, operands)
    for y, (own, e) in zip(outputs(case(*operands)), expected, strict=True):
        assert_close(values(y, own), e, rounding(case))


# ------------------------------------------------------------------------------------------------ cost and memory


@table("backend_calls_do_not_grow_with_the_batch")
def test_backend_calls_do_not_grow_with_the_batch(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MANY", 0)  # products wait for cotangents from some size on: of few cells, too
    found = []
    few = case.operands(dict.fromkeys(range(9), ("B",)), {"B": 3})
    for times in (1, 100):  # the same slices, so that what looks at values sees the same
        operands = [hidden(x.isel(B=np.tile(np.arange(3), times), missing_dims="ignore"), "B") for x in few]
        calls = [calls_of(lambda operands=operands: case(*operands)).names]
        if case.label in FLOATS:
            f = Function(FLOATS[case.label], operands)
            cotangents = cotangents_of(f, rng_of(case, "count"))
            out, back = ng.pullback(f, *f.xs)
            seed = tuple(cotangents) if isinstance(out, tuple) else cotangents[0]
            calls.append(calls_of(lambda back=back, seed=seed: back(seed)).names)
            calls.append(calls_of(lambda f=f: push(f, f.xs, f.xs)).names)
        found.append(calls)
    assert found[0] == found[1]


@table("gradients_alias_nothing", FLOATING)
def test_gradients_alias_nothing(case: Case) -> None:
    f = Function(case, case.operands())
    cotangents = cotangents_of(f, rng_of(case, "alias"))
    gradients = [g.data for g in pull(f, f.xs, cotangents)]
    others = [x.data for x in (*f.all, *cotangents)]
    for k, g in enumerate(gradients):
        assert g.flags.writeable
        for other in (*others, *gradients[:k]):
            assert not np.shares_memory(g, other)


@table("what_is_written_later_does_not_count", FLOATING)
def test_what_is_written_later_does_not_count(case: Case) -> None:
    cotangents = cotangents_of(Function(case, case.operands()), rng_of(case, "later"))

    def run(*, write: bool) -> list[Arrays]:
        f = Function(case, case.operands())
        tangents = f.tangents(rng_of(case, "later"))
        records = [ng.pullback(f, *f.xs), ng.linearize(f, *f.xs)]
        if write:
            for a in (*f.all, *(y for out, _ in records for y in outputs(out))):
                a.data[...] = np.nan if a.dtype.kind in "fc" else 0
        (out, back), (_, jacobian) = records
        seed = tuple(cotangents) if isinstance(out, tuple) else cotangents[0]
        return [outputs(back(seed)), outputs(jacobian.T(seed)), outputs(jacobian(*tangents))]

    for got, wanted in zip(run(write=True), run(write=False), strict=True):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())


@table("operands_stay_as_they_are")
def test_operands_stay_as_they_are(case: Case) -> None:
    operands = case.operands()
    before = [x.to_numpy() for x in operands]
    for x in operands:
        x.data.flags.writeable = False
    case(*operands)
    if case.label in FLOATS:
        f = Function(FLOATS[case.label], operands)
        pull(f, f.xs, cotangents_of(f, rng_of(case, "same")))
    for x, b in zip(operands, before, strict=True):
        assert np.array_equal(x.to_numpy(), b, equal_nan=True)
