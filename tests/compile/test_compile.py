"""When a function is recorded, what counts as its input, and what is refused."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad import backends
from tests.compile.calls import Counted, X, same, tanh_sum
from tests.support.arrays import normal

# ------------------------------------------------------------------------------------------------ when f runs

OTHERS: dict[str, Any] = {
    "shape": normal(3, 5),
    "dims": X.rename(y="z"),
    "order": X.transpose(),
    "vectorized": X.vectorize("y"),
    "dtype": X.astype("float32"),
    "no dims": ng.DimArray(0.5, ()),
}


@pytest.mark.parametrize("what", OTHERS)
def test_it_runs_once_per_kind_of_argument(what: str) -> None:
    counted = Counted(tanh_sum)
    f = ng.compile(counted)
    for x in (X, X * 2, OTHERS[what], X, OTHERS[what] + 1):
        same(f(x), tanh_sum(x), 1e-6 if what == "dtype" else 1e-13)
    assert counted.runs == 2
    assert f.cache_info() == (2, 2)


def test_structure_and_keywords() -> None:
    counted = Counted(
        lambda p, *, scale=1.0, add=None: {"s": (p["a"] * scale, [p["b"]]), "n": None if add is None else add + 1}
    )
    f = ng.compile(counted)
    a, b = normal(3), normal(2, dims="y")
    for call in (f, counted.f):
        same(call({"a": a, "b": b})["s"], (a, [b]))
        same(call({"a": a * 2, "b": b}, scale=3.0)["s"], (a * 6, [b]))
        same(call({"a": a, "b": b}, scale=4.0)["s"], (a * 4, [b]))
        same(call({"a": a, "b": b}, add=a)["n"], a + 1)
        assert call({"a": a, "b": b})["n"] is None
    assert counted.runs == 3


@dataclass
class Parameters:
    w: ng.DimArray
    b: Any


def test_dataclasses_and_tuples() -> None:
    def f(p: Parameters, x: ng.DimArray) -> Any:
        return Parameters(p.w * x, p.b + 1.0)

    compiled = ng.compile(f)
    x = normal(3)
    for k in (1.0, 2.0):
        got, want = compiled(Parameters(x, k), x * k), f(Parameters(x, k), x * k)
        assert type(got) is Parameters
        same([got.w, got.b], [want.w, want.b])


def test_coordinates_count_by_value() -> None:
    def f(x: xr.DataArray) -> xr.DataArray:
        return (x * x.t).sel(t=x.t > 1).sum("t")

    counted = Counted(f)
    compiled = ng.compile(counted)
    x = xr.DataArray([1.0, 2.0, 3.0], dims="t", coords={"t": [0, 1, 2]})
    for y in (x, x * 2, x.assign_coords(t=[0, 2, 4]), x.assign_coords(t=[0, 1, 2]), x.assign_attrs(k=1)):
        xr.testing.assert_identical(compiled(y), f(y))
    assert counted.runs == 3


# ------------------------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize(
    "numbers", [(2.0, 3.5, float("nan")), (2, 3, -1), (1j, 2 + 3j, 0j), (np.float32(2), np.float32(5))]
)
def test_numbers_are_inputs(numbers: tuple[Any, ...]) -> None:
    def f(x: ng.DimArray, s: Any) -> Any:
        return s * x + 1 - x / (s + 2.5), x.sum() * s

    counted = Counted(f)
    compiled = ng.compile(counted)
    for dtype in ("float64", "float32"):
        x = normal(3, dtype=dtype)
        for s in (*numbers, numbers[0]):
            same(compiled(x, s), f(x, s), 1e-6)
    assert counted.runs == 2


def test_small_integers_are_told_from_literals() -> None:
    def f(x: ng.DimArray, n: int, m: int) -> ng.DimArray:
        return x**n + 2 * x - m + 2

    counted = Counted(f)
    compiled = ng.compile(counted)
    x = normal(3)
    for n, m in ((2, 2), (3, 2), (2, 5), (0, 1)):
        same(compiled(x, n, m), f(x, n, m))
    assert counted.runs == 1


def test_an_integer_keeps_a_small_dtype() -> None:
    f = ng.compile(lambda x, n: x * n)
    x = ng.DimArray(np.array([1, 2], np.int8), ("x",))
    assert f(x, 3).dtype == f(x, 4).dtype == np.int8
    assert f(x, 4).data.tolist() == [4, 8]


def test_a_number_alone() -> None:
    f = ng.compile(ng.value_and_grad(lambda s: np.sin(s) * s))
    for s in (0.5, 2.0):
        np.testing.assert_allclose(f(s), (np.sin(s) * s, np.cos(s) * s + np.sin(s)))
    assert f.cache_info().recordings == 1


def test_flags_and_names_are_no_inputs() -> None:
    def f(x: ng.DimArray, dim: str, *, skipna: bool, twice: bool = False) -> ng.DimArray:
        out = x.sum(dim, skipna=skipna)
        return out * 2 if twice else out

    compiled = ng.compile(f)
    x = ng.DimArray([[1.0, np.nan], [2.0, 3.0]], ("x", "y"))
    for dim in ("x", "y"):
        for skipna in (True, False):
            for twice in (True, False):
                same(compiled(x, dim, skipna=skipna, twice=twice), f(x, dim, skipna=skipna, twice=twice))


def test_positions_are_inputs() -> None:
    f = Counted(lambda x, i: x.isel(x=i))
    compiled = ng.compile(f)
    x = normal(4, 3)
    for i in (0, 2, -1):
        same(compiled(x, i), x.isel(x=i))
    along = ng.DimArray([0, 1, -4], ("p",))
    for shift in (0, 1):
        same(compiled(x, along + shift), x.isel(x=along + shift))
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, along + 9)
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, along - 1)
    assert f.runs == 2


# ------------------------------------------------------------------------------------------------ refused

STEER = {
    "if": lambda x: x if x.sum() > 0 else -x,
    "bool": lambda x: bool(x.sum()),
    "float": lambda x: x * float(x.sum()),
    "int": lambda x: x * int(x.sum()),
    "item": lambda x: x * x.sum().item(),
    "asarray": np.asarray,
    "data": lambda x: ng.DimArray(np.sin(x.data), x.dims),
    "to_numpy": ng.DimArray.to_numpy,
    "to_xarray": ng.DimArray.to_xarray,
    "mask": lambda x: x.isel(x=x > 0),
    "range": lambda x: [x for _ in range(ng.argmax(x))],
}


@pytest.mark.parametrize("what", STEER)
def test_what_would_steer_python_is_refused(what: str) -> None:
    f = ng.compile(STEER[what])
    with pytest.raises(ng.TraceError, match=r"ng\.compile") as error:
        f(normal(3))
    assert "use " in str(error.value)
    assert not backends.is_recording()
    assert backends.recording == 0


def test_an_object_that_may_hold_arrays_cannot_be_returned() -> None:
    for f in (lambda x: ng.linearize(ng.sin, x), lambda x: [lambda: x], lambda x: {"a": object()}):
        with pytest.raises(ng.TraceError, match=r"returned a .*, which a program cannot make anew"):
            ng.compile(f)(X)


def test_a_number_that_would_steer_python_is_refused() -> None:
    with pytest.raises(ng.TraceError, match=r"ng\.compile"):
        ng.compile(lambda x, n: [x] * n)(X, 3)
    assert len(ng.compile(functools.partial(lambda x, n: [x] * n, n=3))(X)) == 3


def test_what_is_fixed_may_be_looked_at() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        steps = ng.linspace("x", 0.0, 1.0, 3)
        return x * steps if steps.sum() > 1 else x

    same(ng.compile(f)(normal(3)).sum() * 0, normal(3).sum() * 0)


def test_print_and_shapes_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        print(x, x._repr_html_(), len(x))  # noqa: T201 - what the test is about
        return x * x.sizes["x"]

    same(ng.compile(f)(X), X * 3)
    assert "DimArray (x: 3, y: 4)" in capsys.readouterr().out


def test_an_exception_leaves_nothing_behind() -> None:
    fail = True

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x * 2
        if fail:
            raise KeyError("no")
        return y

    compiled = ng.compile(f)
    for _ in range(2):
        with pytest.raises(KeyError):
            compiled(X)
    assert backends.recording == 0
    assert compiled.cache_info() == (0, 0)
    fail = False
    same(compiled(X), X * 2)


def test_errors_of_a_replay_are_those_of_the_function() -> None:
    f = ng.compile(lambda a: ng.cholesky(a, ("i", "j")))
    a = ng.eye("i", "j", 2)
    same(f(a), a)
    with pytest.raises(np.linalg.LinAlgError):
        f(-a)
    same(f(a), a)


# ------------------------------------------------------------------------------------------------ nesting


def test_inside_a_transform_f_itself_runs() -> None:
    f = ng.compile(lambda x, w: (w * ng.exp(x)).sum())
    x, w = normal(3), normal(3)
    same(f(x, w), f.__wrapped__(x, w))
    for wrt in (0, 1, (0, 1)):
        same(ng.grad(f, wrt)(x, w), ng.grad(f.__wrapped__, wrt)(x, w))
    same(ng.hessian(f)(x, w), ng.hessian(f.__wrapped__)(x, w))
    same(ng.pushforward(f, (x, w), (w, x)), ng.pushforward(f.__wrapped__, (x, w), (w, x)))


def test_a_compiled_function_that_captures_a_traced_array() -> None:
    x = normal(3)

    def loss(w: ng.DimArray) -> ng.DimArray:
        return ng.compile(lambda x: (w * x).sum())(x)

    same(ng.grad(loss)(x), x)
    box = [None]
    inner = ng.compile(lambda x: (box[0] * x).sum())

    def through_a_box(w: ng.DimArray) -> ng.DimArray:
        box[0] = w
        return inner(x)

    same(ng.grad(through_a_box)(x), x)
    box[0] = x
    same(inner(x), (x * x).sum())
    same(ng.grad(through_a_box)(x), x)


def test_compile_inside_compile() -> None:
    inner = Counted(lambda x: ng.sin(x) * x)
    outer = ng.compile(lambda x: ng.compile(inner)(x) + ng.grad(lambda x: ng.compile(inner)(x).sum())(x))
    for _ in range(3):
        x = normal(3)
        same(outer(x), 2 * ng.sin(x) * x * 0.5 + ng.sin(x) + ng.cos(x) * x)
    assert inner.runs == 2


def test_recursion() -> None:
    @ng.compile
    def f(x: ng.DimArray, depth: str) -> ng.DimArray:
        return x if not depth else f(x, depth[1:]) * 2

    same(f(X, "abc"), X * 8)
    same(f(X, "ab"), X * 4)


DERIVATIVES = {
    "grad": ng.grad,
    "value_and_grad": ng.value_and_grad,
    "hessian": ng.hessian,
    "hessian diagonal": lambda f: ng.hessian(f, part="diagonal"),
    "hessian in chunks": lambda f: ng.hessian(f, chunk=2),
    "jacobian forward": lambda f: ng.jacobian(ng.grad(f), mode="forward"),
    "jacobian reverse": lambda f: ng.jacobian(ng.grad(f), mode="reverse"),
    "third": lambda f: ng.jacobian(ng.hessian(f), suffix="_2"),
    "hvp": lambda f: lambda x: ng.hvp(f, x, x),
    "pullback": lambda f: lambda x: ng.pullback(f, x)[1](ng.DimArray(2.0, ())),
    "pushforward": lambda f: lambda x: ng.pushforward(f, (x,), (x * x,)),
    "linearize": lambda f: lambda x: ng.linearize(f, x)[1](x),
    "checkpoint": lambda f: ng.grad(ng.checkpoint(f)),
    "over": lambda f: ng.grad(f, over="x"),
    "vmap": lambda f: ng.vmap(ng.grad(f), "x"),
}


@pytest.mark.parametrize("what", DERIVATIVES)
def test_derivatives(what: str) -> None:
    w = normal(3)

    def loss(x: ng.DimArray) -> ng.DimArray:
        return (ng.tanh(x * x) * ng.exp(-x)).mean() + ng.dot(x, x) + ng.logsumexp(x)

    f = DERIVATIVES[what](loss)
    counted = Counted(f)
    compiled = ng.compile(counted)
    for x in (w, w * 2, w - 1):
        same(compiled(x), f(x), 1e-11)
    assert counted.runs == 1


def test_custom_rules() -> None:
    @ng.custom_pullback
    def pulled(x: ng.DimArray) -> ng.DimArray:
        return ng.sin(x)

    @pulled.pullback
    def _(g: ng.DimArray, out: ng.DimArray, x: ng.DimArray) -> tuple[ng.DimArray]:
        return (g * ng.cos(x) * 3,)

    @ng.custom_pushforward
    def pushed(x: ng.DimArray) -> ng.DimArray:
        return ng.sin(x)

    @pushed.pushforward
    def _(ts: Any, out: ng.DimArray, x: ng.DimArray) -> ng.DimArray:
        return ts[0] * ng.cos(x) * 3

    for f in (pulled, pushed):
        gradient = ng.compile(ng.grad(lambda x, f=f: f(x).sum()))
        for _ in range(2):
            x = normal(4)
            same(gradient(x), ng.cos(x) * 3)


def test_scan() -> None:
    def f(x: ng.DimArray) -> Any:
        return ng.scan(lambda c, x: (c * 0.5 + x, c * x), ng.DimArray(0.0, ()), x, "x")

    compiled = ng.compile(f)
    for _ in range(2):
        x = normal(5)
        same(compiled(x), f(x))


def test_functions_without_derivative_and_several_outputs() -> None:
    f = ng.compile(lambda x: (x > 0, x.argmax("x"), x.count(), x.max("y"), "text", 3))
    for _ in range(2):
        x = normal(3, 4)
        got = f(x)
        assert got[4:] == ("text", 3)
        same(got[:4], (x > 0, x.argmax("x"), x.count(), x.max("y")))
