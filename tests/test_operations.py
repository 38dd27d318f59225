"""The table: every operation with every sample, through every check that is the same for all.

A check compares with something that knows nothing of our rules: NumPy, SciPy or xarray, finite differences, the same
operation on one slice at a time.  Cotangents and tangents are random and signed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad import backends
from namedgrad.primitive import OPERATIONS
from tests.support.arrays import all_names, hidden, like, permuted, sum_of_products, values
from tests.support.oracles import fd_gradients, fd_push, fd_second, stacked
from tests.support.references import REFERENCES, data_array
from tests.support.samples import BATCH, CASES, EQUAL, FLOATING, LABELS, SHARED, SYMMETRIC, Case, outputs
from tests.support.tolerances import FIRST, MATRIX, REFERENCE, ROUNDING, SECOND, SINGLE, assert_close

Arrays = list[ng.DimArray]
table = pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
floating = pytest.mark.parametrize("case", FLOATING, ids=lambda c: c.label)

# A dim that is added to these would be reduced or moved as well, unless the call names its dims.
BY_DEFAULT_ALL = {"sum", "mean", "var", "std", "max", "min", "prod", "logsumexp", "cumsum", "any", "all", "argmax", "argmin", "count", "flip",
                  "median", "quantile", "cumprod"}
SINGLE_BECOMES_DOUBLE = {"float_power"}  # as in NumPy


def rng_of(case: Case, check: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{case.label} {check}".encode()))


def rounding(case: Case) -> float:
    return MATRIX if case.tolerance_is_matrix else ROUNDING


class Function:
    """A case as a function of those of its operands that can be differentiated."""

    def __init__(self, case: Case, operands: Arrays) -> None:
        self.case, self.all = case, operands
        self.at = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]
        self.xs = [operands[k] for k in self.at]
        matrix = case.sample.kwargs.get("dims", ())
        self.symmetric = [
            tuple(all_names(operands[k]).index(d) for d in matrix) if case.domains[k] in SYMMETRIC else None for k in self.at
        ]

    def __call__(self, *xs: ng.DimArray) -> Any:
        full = list(self.all)
        for k, x in zip(self.at, xs, strict=True):
            full[k] = x
        return self.case(*full)

    def tangents(self, rng: np.random.Generator) -> Arrays:
        """Random tangents; those of symmetric matrices are symmetric."""
        out = []
        for x, symmetric in zip(self.xs, self.symmetric, strict=True):
            t = like(x, rng)
            data = values(t, all_names(x))
            mirrored = (data + np.swapaxes(data, *symmetric).conj()) / 2 if symmetric else data
            out.append(ng.DimArray(mirrored, all_names(x), vectorized=x.vectorized))
        return out


def pull(f: Callable[..., Any], xs: Sequence[ng.DimArray], cotangents: Arrays) -> Arrays:
    """Gradients of ``f`` at ``xs``."""
    out, back = ng.pullback(f, *xs)
    got = back(tuple(cotangents) if isinstance(out, tuple) else cotangents[0])
    return list(got) if len(xs) > 1 else [got]


def push(f: Callable[..., Any], xs: Sequence[ng.DimArray], tangents: Arrays) -> Arrays:
    """Tangents of the outputs of ``f`` at ``xs``."""
    return outputs(ng.pushforward(f, tuple(xs), tuple(tangents))[1])


def cotangents_of(f: Function, rng: np.random.Generator, batch: dict[Any, int] | None = None) -> Arrays:
    """Random cotangents, 0 where an output is NaN because the operands are: its derivative is not a number either."""
    out = []
    for y in outputs(f(*f.xs)):
        c = like(y, rng, batch)
        if f.case.sample.kwargs.get("skipna") is False:
            gone = np.isnan(y.to_numpy())
            gone = np.expand_dims(gone, tuple(range(len(y.vectorized), len(c.vectorized))))
            c = ng.DimArray(np.where(gone, 0, c.to_numpy()), all_names(c), vectorized=c.vectorized)
        out.append(c)
    return out


# ------------------------------------------------------------------------------------------------ completeness


def test_every_operation_is_in_the_table() -> None:
    assert {c.name for c in CASES} == set(OPERATIONS)
    assert not [name for name, op in OPERATIONS.items() if not op.samples], "an operation without samples"
    assert set(OPERATIONS) <= set(REFERENCES), f"no reference for {set(OPERATIONS) - set(REFERENCES)}"
    declared = {name for name, op in OPERATIONS.items() if op.differentiable}
    assert declared <= {c.name for c in FLOATING}, "declared differentiable, but never differentiated here"


def test_the_table_does_not_shrink() -> None:
    assert len(OPERATIONS) >= 118
    assert len(CASES) >= 341
    assert len(FLOATING) >= 287


# ------------------------------------------------------------------------------------------------ values


@table
@pytest.mark.parametrize("sizes", [{}, EQUAL], ids=["distinct", "equal"])
def test_value_is_that_of_the_reference(case: Case, sizes: dict[str, int]) -> None:
    operands = case.operands(sizes=sizes)
    expected = outputs(REFERENCES[case.name](*map(data_array, operands), **case.sample.kwargs))
    for y, e in zip(outputs(case(*operands)), expected, strict=True):
        assert set(y.dims) == set(e.dims)
        assert_close(values(y, e.dims), e.to_numpy(), MATRIX if case.tolerance_is_matrix else REFERENCE)
        assert y.dims == e.dims
        assert y.dtype == e.dtype


@table
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


@table
def test_stored_order_is_harmless(case: Case) -> None:
    if case.name in {"argmax", "argmin"} and case.sample.kwargs.get("dim") is None:
        return  # positions in the flattened array: there the order of the dims is the meaning
    operands = case.operands()
    rng = rng_of(case, "permuted")
    for y, e in zip(outputs(case(*(permuted(x, rng) for x in operands))), outputs(case(*operands)), strict=True):
        assert_close(values(y, e.dims), e.to_numpy(), rounding(case))


@floating
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
            assert_close(g.to_numpy(), e.to_numpy(), 10 * SINGLE if case.tolerance_is_matrix else SINGLE)


def _single(x: ng.DimArray) -> ng.DimArray:
    dtype = np.complex64 if x.dtype.kind == "c" else np.float32
    return ng.DimArray(x.to_numpy().astype(dtype), all_names(x), vectorized=x.vectorized)


@table
def test_operands_that_are_no_arrays_are_named(case: Case) -> None:
    operands = case.operands()
    public = getattr(ng, case.name)
    for k, other in enumerate([np.ones((3, 4)), [1.0, 2.0], "text", None, object()]):
        wrong = [other, *operands[1:]] if k % 2 else [*operands[:-1], other]
        with pytest.raises((TypeError, ng.AxisError)) as info:
            public(wrong, **case.sample.kwargs) if case.name == "concat" else public(*wrong, **case.sample.kwargs)
        assert type(other).__name__ in str(info.value) or "plain array" in str(info.value)


# ------------------------------------------------------------------------------------------------ first order


@floating
@pytest.mark.parametrize("sizes", [{}, EQUAL], ids=["distinct", "equal"])
def test_gradient_is_that_of_finite_differences(case: Case, sizes: dict[str, int]) -> None:
    f = Function(case, case.operands(sizes=sizes))
    cotangents = cotangents_of(f, rng_of(case, "gradient"))
    expected = fd_gradients(f, f.xs, cotangents, f.symmetric)
    for x, g, e in zip(f.xs, pull(f, f.xs, cotangents), expected, strict=True):
        assert g.dims == x.dims
        assert not g.vectorized
        assert g.dtype == x.dtype
        assert_close(g.to_numpy(), np.where(np.isnan(x.to_numpy()), 0, e), FIRST)


@floating
def test_tangent_is_that_of_finite_differences(case: Case) -> None:
    f = Function(case, case.operands())
    rng = rng_of(case, "tangent")
    tangents = f.tangents(rng)
    expected = fd_push(f, f.xs, tangents)
    for y, t, e in zip(outputs(f(*f.xs)), push(f, f.xs, tangents), expected, strict=True):
        assert t.dims == y.dims
        assert t.dtype == y.dtype
        known = ~np.isnan(np.asarray(e, dtype=y.dtype))
        assert_close(t.to_numpy()[known], np.asarray(e, dtype=y.dtype)[known], FIRST)


@floating
@pytest.mark.parametrize("layout", ["stored", "permuted", "extra"])
def test_modes_are_adjoint(case: Case, layout: str) -> None:
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


# ------------------------------------------------------------------------------------------------ second order


@floating
def test_second_order(case: Case) -> None:
    f = Function(case, case.operands())
    rng = rng_of(case, "second")
    tangents, cotangents = f.tangents(rng), cotangents_of(f, rng)
    expected = fd_second(lambda xs: pull(f, xs, cotangents), f.xs, tangents)
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


# ------------------------------------------------------------------------------------------------ vectorized axes

# Which operand has which vectorized axes ("all" of one name; the k-th alone; different names), and what the cotangent adds.
PATTERNS: dict[str, Callable[[int], tuple[dict[int, tuple[str, ...]], tuple[str, ...]]]] = {
    "all": lambda n: (dict.fromkeys(range(n), ("B",)), ()),
    "first": lambda n: ({0: ("B",)}, ()),
    "last": lambda n: ({n - 1: ("B",)}, ()),
    "different": lambda n: ({k: (f"B{k % 2 + 1}",) for k in range(n)}, ()),
    "two": lambda n: ({0: ("B1", "B2"), n - 1: ("B2",)} if n > 1 else {0: ("B1", "B2")}, ()),
    "cotangent": lambda n: ({}, ("B",)),
    "cotangent and first": lambda n: ({0: ("B1",)}, ("B2",)),
}


@table
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("sizes", [{}, {**EQUAL, **SHARED}], ids=["distinct", "equal"])
def test_vectorized_is_the_loop_of_slices(case: Case, pattern: str, sizes: dict[str, int]) -> None:
    batch, added = PATTERNS[pattern](len(case.sample.operands))
    names = {n: {**BATCH, **sizes}[n] for own in batch.values() for n in own}
    more = {n: {**BATCH, **sizes}[n] for n in added}
    operands = [hidden(x, *BATCH) for x in case.operands(batch, sizes)]
    f = Function(case, operands)
    result = outputs(case(*operands))
    expected = stacked(lambda xs: outputs(case(*xs)), names, operands)
    for y, (own, e) in zip(result, expected, strict=True):
        assert set(y.vectorized) == set(names)
        assert y.dims == own[len(names) :]
        assert_close(values(y, own), e, rounding(case))
    if case.label not in LABELS:
        return
    rng = rng_of(case, pattern)
    cotangents = cotangents_of(f, rng, more)
    every = {**names, **more}
    expected = stacked(lambda ops, cs: pull(Function(case, ops), Function(case, ops).xs, cs), every, operands, cotangents)
    for x, g, (own, e) in zip(f.xs, pull(f, f.xs, cotangents), expected, strict=True):
        assert set(g.vectorized) == set(every)
        assert g.dims == x.dims
        assert_close(values(g, own), e, rounding(case))
    tangents = [like(x, rng, more) for x in f.xs]
    expected = stacked(lambda ops, ts: push(Function(case, ops), Function(case, ops).xs, ts), every, operands, tangents)
    for y, t, (own, e) in zip(result, push(f, f.xs, tangents), expected, strict=True):
        assert set(t.vectorized) == set(every)
        assert t.dims == y.dims
        assert_close(values(t, own), e, rounding(case))


@floating
@pytest.mark.parametrize("pattern", ["all", "different", "cotangent and first"])
def test_second_order_under_vectorized_axes(case: Case, pattern: str) -> None:
    batch, added = PATTERNS[pattern](len(case.sample.operands))
    names = {n: BATCH[n] for n in (*(n for own in batch.values() for n in own), *added)}
    operands = [hidden(x, *BATCH) for x in case.operands(batch)]
    f = Function(case, operands)
    rng = rng_of(case, "second" + pattern)
    cotangents, tangents = cotangents_of(f, rng, {n: BATCH[n] for n in added}), [like(x, rng, names) for x in f.xs]

    def forward(ops: Arrays, cs: Arrays, ts: Arrays) -> Arrays:
        inner = Function(case, ops)
        return push(lambda *xs: tuple(pull(inner, xs, cs)), inner.xs, ts)

    def reverse(ops: Arrays, cs: Arrays, ts: Arrays) -> Arrays:
        inner = Function(case, ops)
        return pull(lambda *xs: tuple(pull(inner, xs, cs)), inner.xs, ts)

    for how in (forward, reverse):
        expected = stacked(how, names, operands, cotangents, tangents)
        for x, g, (own, e) in zip(f.xs, how(operands, cotangents, tangents), expected, strict=True):
            assert set(g.vectorized) == set(names)
            assert g.dims == x.dims
            assert_close(values(g, own), e, rounding(case))


@floating
def test_captured_or_passed_alike(case: Case) -> None:
    n = len(case.sample.operands)
    operands = [hidden(x, *BATCH) for x in case.operands(PATTERNS["different"](n)[0])]
    f = Function(case, operands)
    cotangents = cotangents_of(f, rng_of(case, "captured"))
    together = pull(f, f.xs, cotangents)
    for k, x in enumerate(f.xs):
        (alone,) = pull(lambda x, k=k: f(*f.xs[:k], x, *f.xs[k + 1 :]), [x], cotangents)
        assert set(alone.vectorized) == set(together[k].vectorized)
        assert alone.dims == together[k].dims
        assert_close(values(alone, all_names(together[k])), together[k].to_numpy(), rounding(case))


@table
def test_ordinary_batch_dims_are_slices_too(case: Case) -> None:
    dim = case.sample.kwargs.get("dim")
    if dim is ... or (case.name in BY_DEFAULT_ALL and dim is None):
        return
    n = len(case.sample.operands)
    batch = {k: (f"B{k % 2 + 1}",) for k in range(n)} if case.name not in {"dot", "outer"} else {0: ("B1",), n - 1: ("B2",)}
    names = {name: BATCH[name] for own in batch.values() for name in own}
    operands = case.operands(batch)
    expected = stacked(lambda xs: outputs(case(*xs)), names, operands)
    for y, (own, e) in zip(outputs(case(*operands)), expected, strict=True):
        assert_close(values(y, own), e, rounding(case))


# ------------------------------------------------------------------------------------------------ cost and memory


class Counter(backends.Recorder):
    """Counts backend calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def record(self, function: Any, raw: Any, kwargs: Any, out: Any) -> Any:
        self.calls.append(getattr(function, "__name__", repr(function)))
        return out

    def fixes(self, raw: Any) -> bool:
        return True


@pytest.fixture
def count() -> Callable[[Callable[[], Any]], list[str]]:
    """The names of the backend functions that a call calls."""

    def run(call: Callable[[], Any]) -> list[str]:
        counter = Counter()
        token = backends.start_recording(counter)
        try:
            call()
        finally:
            backends.stop_recording(token)
        return counter.calls

    return run


@table
def test_backend_calls_do_not_grow_with_the_batch(case: Case, count: Any) -> None:
    found = []
    for size in (3, 300):
        operands = [hidden(x, "B") for x in case.operands(dict.fromkeys(range(9), ("B",)), {"B": size})]
        f = Function(case, operands)
        calls = [count(lambda operands=operands: case(*operands))]
        if case.label in LABELS:
            cotangents = cotangents_of(f, rng_of(case, "count"))
            out, back = ng.pullback(f, *f.xs)
            seed = tuple(cotangents) if isinstance(out, tuple) else cotangents[0]
            calls.append(count(lambda back=back, seed=seed: back(seed)))
            calls.append(count(lambda f=f: push(f, f.xs, f.xs)))
        found.append(calls)
    assert found[0] == found[1]


@floating
def test_gradients_alias_nothing(case: Case) -> None:
    f = Function(case, case.operands())
    cotangents = cotangents_of(f, rng_of(case, "alias"))
    gradients = [g.data for g in pull(f, f.xs, cotangents)]
    others = [x.data for x in (*f.all, *cotangents)]
    for k, g in enumerate(gradients):
        assert g.flags.writeable
        for other in (*others, *gradients[:k]):
            assert not np.shares_memory(g, other)


@table
def test_operands_stay_as_they_are(case: Case) -> None:
    operands = case.operands()
    before = [x.to_numpy() for x in operands]
    for x in operands:
        x.data.flags.writeable = False
    case(*operands)
    if case.label in LABELS:
        f = Function(case, operands)
        pull(f, f.xs, cotangents_of(f, rng_of(case, "same")))
    for x, b in zip(operands, before, strict=True):
        assert np.array_equal(x.to_numpy(), b, equal_nan=True)
