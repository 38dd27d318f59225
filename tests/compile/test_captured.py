"""What a function sees besides its arguments is read at every call."""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections import deque
from dataclasses import dataclass
from os import getenv
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

X = ng.DimArray(np.array([1.0, 2.0, 3.0]), ("x",))


def named(*values: float) -> ng.DimArray:
    return ng.DimArray(np.array(values), ("x",))


def same(got: Any, want: Any) -> None:
    assert got.dims == want.dims
    assert np.array_equal(got.to_numpy(), want.to_numpy())


class Runs:
    """Counts runs of a function."""

    count = 0


def counting(f: Any) -> tuple[Any, Runs]:
    runs = Runs()

    @functools.wraps(f)
    def counted(*args: Any, **kwargs: Any) -> Any:
        runs.count += 1
        return f(*args, **kwargs)

    return ng.compile(counted), runs


# ------------------------------------------------------------------------------------------------ written in place


def test_a_captured_array_is_written_in_place() -> None:
    data = np.array([1.0, 1.0, 1.0])
    w = ng.DimArray(data, ("x",))
    f, runs = counting(lambda x: ng.exp(w * 0.5) * x)
    f(X)
    data[:] = [4.0, 5.0, 6.0]
    same(f(X), ng.exp(w * 0.5) * X)
    assert runs.count == 1


def test_a_captured_view_is_written_through_its_base() -> None:
    base = np.arange(6.0)
    w = ng.DimArray(base[::2], ("x",))
    f, runs = counting(lambda x: w.sum() * x)
    f(X)
    base += 10
    same(f(X), w.sum() * X)
    assert runs.count == 1


def test_a_plain_array_that_is_given_names_inside() -> None:
    data = np.array([1.0, 1.0, 1.0])
    f, runs = counting(lambda x: ng.DimArray(data, ("x",)) * x)
    f(X)
    data[1] = 7
    same(f(X), ng.DimArray(data, ("x",)) * X)
    assert runs.count == 1


def test_a_plain_array_that_numpy_computes_with_inside() -> None:
    data = np.array([1.0, 1.0, 1.0])
    f, _ = counting(lambda x: ng.DimArray(np.sin(data), ("x",)) * x)
    f(X)
    f(X)
    assert f.cache_info().recordings == 1
    data[1] = 7
    same(f(X), ng.DimArray(np.sin(data), ("x",)) * X)


def test_a_captured_dataarray() -> None:
    weights = xr.DataArray([1.0, 2.0, 3.0], dims="x", coords={"x": [10, 20, 30]})
    x = xr.DataArray([1.0, 1.0, 2.0], dims="x", coords={"x": [10, 20, 30]})
    f, _ = counting(lambda x: (x * weights).sum() + weights.mean() * x)
    f(x)
    f(x)
    assert f.cache_info().recordings == 1
    weights[1] = 20.0
    xr.testing.assert_allclose(f(x), (x * weights).sum() + weights.mean() * x)
    weights = weights * 2
    xr.testing.assert_allclose(f(x), (x * weights).sum() + weights.mean() * x)
    weights = weights.assign_coords(x=[10, 20, 40])
    xr.testing.assert_allclose(f(x), (x * weights).sum() + weights.mean() * x)


def test_gradients_read_captured_arrays_afresh() -> None:
    data = np.array([1.0, 1.0, 1.0])
    w = ng.DimArray(data, ("x",))
    f, runs = counting(ng.value_and_grad(lambda x: (w * x * x).sum()))
    f(X)
    data[:] = [2.0, 3.0, -1.0]
    value, slope = f(X)
    assert value.item() == 2 + 12 - 9
    assert slope.data.tolist() == [4, 12, -6]
    assert runs.count == 1


def test_an_adjoint_keeps_no_copy_of_a_captured_array() -> None:
    """``pullback`` copies what the user could write into: the copy belongs to the run."""
    data = np.array([1.0, 1.0, 1.0])
    w = ng.DimArray(data, ("x",))

    def f(x: ng.DimArray) -> Any:
        _, pull = ng.pullback(lambda x: w * x, x)
        return pull(X)

    compiled = ng.compile(f)
    compiled(X)
    data[:] = 5
    same(compiled(X), X * 5)


# ------------------------------------------------------------------------------------------------ bound anew


def test_a_variable_of_the_closure_is_bound_anew() -> None:
    w = named(1, 1, 1)
    f, runs = counting(lambda x: w * x)
    f(X)
    w = named(4, 5, 6)
    same(f(X), w * X)
    assert runs.count == 1, "an array of the same kind is an input"
    w = named(4, 5, 6).rename(x="y")
    same(f(X), w * X)
    w = 3.0
    same(f(X), w * X)
    w = 4.0
    same(f(X), w * X)
    assert runs.count == 4


GLOBAL = named(1, 1, 1)
SCALE = 2.0


def helper(x: ng.DimArray) -> ng.DimArray:
    return x * GLOBAL * SCALE


def test_a_global_is_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    f, runs = counting(lambda x: helper(x) + GLOBAL)
    f(X)
    monkeypatch.setattr(__import__("sys").modules[__name__], "GLOBAL", named(4, 5, 6))
    same(f(X), helper(X) + GLOBAL)
    assert runs.count == 1
    monkeypatch.setattr(__import__("sys").modules[__name__], "SCALE", 3.0)
    same(f(X), helper(X) + GLOBAL)
    monkeypatch.setattr(__import__("sys").modules[__name__], "helper", lambda x: x - GLOBAL)
    same(f(X), X)


def test_a_function_in_the_closure_is_bound_anew() -> None:
    inner = ng.exp
    f, _ = counting(lambda x: inner(x))
    same(f(X), ng.exp(X))
    inner = ng.sin
    same(f(X), ng.sin(X))


@pytest.mark.parametrize(
    "wrap", [ng.grad, lambda f: ng.vmap(f, "b"), ng.checkpoint], ids=["grad", "vmap", "checkpoint"]
)
def test_through_transforms(wrap: Any) -> None:
    w = named(1, 1, 1)

    def loss(x: ng.DimArray) -> ng.DimArray:
        return (w * x * x).sum()

    y = ng.DimArray(np.arange(6.0).reshape(2, 3), ("b", "x"))
    f = ng.compile(wrap(loss))
    f(y)
    w = named(4, 5, 6)
    same(f(y), wrap(loss)(y))
    assert f.cache_info().recordings == 1


def test_two_names_for_one_array_part() -> None:
    a = b = named(1, 2, 3)
    f, _ = counting(lambda x: a * x + ng.sin(b))
    f(X)
    b = named(4, 5, 6)
    same(f(X), a * X + ng.sin(b))
    a = b
    same(f(X), a * X + ng.sin(b))


def test_an_argument_that_is_captured_too() -> None:
    f, _ = counting(lambda x: x * X)
    same(f(X), X * X)
    same(f(named(5, 6, 7)), named(5, 6, 7) * X)


def test_defaults_and_partial() -> None:
    data = np.array([1.0, 1.0, 1.0])
    w = ng.DimArray(data, ("x",))

    def f(x: ng.DimArray, w: ng.DimArray = w, *, scale: ng.DimArray | float = 1.0) -> ng.DimArray:
        return x * w * scale

    compiled = ng.compile(f)
    compiled(X)
    data[:] = 3
    same(compiled(X), X * 3)
    bound = functools.partial(f, w=named(1, 2, 3), scale=2.0)
    same(ng.compile(bound)(X), X * named(1, 2, 3) * 2.0)


@dataclass
class Layer:
    w: Any
    b: float = 0.0


class Model:
    offset = 1.0

    def __init__(self) -> None:
        self.w = named(1, 1, 1)
        self.rate = 2.0
        self.layers = [Layer(named(1, 1, 1)), Layer(named(2, 2, 2))]
        self.table = {"k": named(1, 0, 1)}

    def __call__(self, x: ng.DimArray) -> ng.DimArray:
        return self.loss(x) + self.offset

    def loss(self, x: ng.DimArray) -> ng.DimArray:
        for layer in self.layers:
            x = x * layer.w + layer.b
        return x * self.w * self.rate + self.table["k"]


def changes(m: Model) -> list[tuple[str, Any]]:
    return [
        ("an attribute", lambda: setattr(m, "w", named(4, 5, 6))),
        ("a number", lambda: setattr(m, "rate", 3.0)),
        ("an attribute of an object in a list", lambda: setattr(m.layers[1], "w", named(7, 8, 9))),
        ("a number there", lambda: setattr(m.layers[0], "b", 0.25)),
        ("an entry", lambda: m.table.__setitem__("k", named(5, 5, 5))),
        ("a longer list", lambda: m.layers.append(Layer(named(3, 3, 3)))),
        ("a class attribute", lambda: setattr(Model, "offset", 2.0)),
    ]


@pytest.mark.parametrize("which", ["bound method", "object", "closure", "argument"])
def test_attributes_of_objects(which: str) -> None:
    m = Model()
    if which == "argument":
        compiled = ng.compile(lambda m, x: m(x))
        f, call = (lambda x: m(x)), (lambda x: compiled(m, x))
    else:
        f = {"bound method": m.loss, "object": m, "closure": lambda x: m(x)}[which]
        call = ng.compile(f)
    try:
        for _, change in [("nothing", lambda: None), *changes(m)]:
            change()
            same(call(X), f(X))
    finally:
        Model.offset = 1.0


def test_as_a_decorator_of_a_method() -> None:
    class Line:
        def __init__(self, a: ng.DimArray) -> None:
            self.a = a

        @ng.compile
        def at(self, x: ng.DimArray) -> ng.DimArray:
            return self.a * x

    same(Line(named(1, 2, 3)).at(X), named(1, 2, 3) * X)
    same(Line(named(4, 5, 6)).at(X), named(4, 5, 6) * X)


def test_namespaces_and_dicts() -> None:
    config = SimpleNamespace(scale=2.0, w=named(1, 1, 1))
    params = {"a": {"w": named(1, 2, 3)}, "b": [named(0, 0, 1)]}
    f, runs = counting(lambda x: x * config.w * config.scale + params["a"]["w"] * params["b"][0])
    f(X)
    config.w = named(2, 3, 4)
    params["a"]["w"] = named(5, 5, 5)
    params["b"][0] = named(1, 1, 1)
    same(f(X), X * config.w * config.scale + params["a"]["w"] * params["b"][0])
    assert runs.count == 1
    config.scale = 3.0
    same(f(X), X * config.w * config.scale + params["a"]["w"] * params["b"][0])


# ------------------------------------------------------------------------------------------------ what f writes itself


def test_counters_and_logs_are_no_reason_to_record_again() -> None:
    calls, log, table = 0, [], {"n": 0}

    def f(x: ng.DimArray) -> ng.DimArray:
        nonlocal calls
        calls += 1
        log.append(x.shape)
        table["n"] += 1
        return x * 2

    compiled = ng.compile(f)
    y = ng.DimArray(np.ones((3, 2)), ("x", "y"))
    for a in (X, X, y, X, y):
        same(compiled(a), a * 2)
    assert calls == len(log) == table["n"] == 2


def test_state_that_f_writes_does_not_hide_other_state() -> None:
    history: list[Any] = [named(1, 1, 1)]
    w = named(1, 2, 3)

    def f(x: ng.DimArray) -> ng.DimArray:
        history.append(x.dims)
        return x * w * history[0]

    compiled = ng.compile(f)
    compiled(X)
    w = named(4, 5, 6)
    same(compiled(X), X * w)
    assert len(history) == 2


def test_an_array_in_a_log_that_is_captured_too() -> None:
    w = named(1, 2, 3)
    log = [w]

    def f(x: ng.DimArray) -> ng.DimArray:
        log.append(w)
        return x * w

    compiled = ng.compile(f)
    compiled(X)
    w = named(4, 5, 6)
    same(compiled(X), X * w)


def test_a_local_lock_does_not_matter() -> None:
    lock = threading.Lock()

    def f(x: ng.DimArray) -> ng.DimArray:
        with lock:
            return x * 2

    same(ng.compile(f)(X), X * 2)


@pytest.mark.parametrize("place", ["site-packages", "dist-packages"])
def test_packages_installed_elsewhere_are_not_looked_into(place, tmp_path, monkeypatch) -> None:
    """Those of a user (``pip install --user``), of Debian, or that a virtual environment shares with Python's own."""
    folder = tmp_path / place
    folder.mkdir()
    (folder / f"lib_{place[:4]}.py").write_text(
        "class Node:\n    def __init__(self, below):\n        self.below = below\n"
        "def deep(n):\n    node = None\n    for _ in range(n):\n        node = Node(node)\n    return node\n"
        "TABLE = [0, deep(9000)]\n"
        "def twice(x):\n    TABLE[0] += 1\n    return x * 2\n"
    )
    monkeypatch.syspath_prepend(folder)
    module = __import__(f"lib_{place[:4]}")
    twice = module.twice
    compiled = ng.compile(lambda x: twice(x))
    same(compiled(X), X * 2)
    same(compiled(X), X * 2)
    assert module.TABLE[0] == 1


def test_modules_that_import_each_other_are_read_once(tmp_path, monkeypatch) -> None:
    """The user's own package: ``import own.model`` binds ``own`` in every module, which has them all as attributes."""
    own = tmp_path / "own_package"
    own.mkdir()
    (own / "__init__.py").write_text("import own_package.model\nimport own_package.tools\n")
    (own / "tools.py").write_text("import own_package.model\nSCALE = 2.0\n")
    (own / "model.py").write_text(
        "import own_package.tools\nimport own_package\n"
        "def run(x):\n    return own_package.model.half(x) * own_package.tools.SCALE\n"
        "def half(x):\n    return x / 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = __import__("own_package")
    compiled = ng.compile(package.model.run)
    same(compiled(X), X)
    package.tools.SCALE = 6.0
    same(compiled(X), 3 * X)


@pytest.mark.parametrize("kind", [property, classmethod, staticmethod])
def test_what_a_descriptor_reads_counts(kind: Any) -> None:
    settings = {"scale": 2.0}

    def scale(*_: Any) -> float:
        return settings["scale"]

    model = type("Model", (), {"scale": kind(scale), "__module__": __name__})()

    def f(x: Any) -> Any:
        return x * (model.scale if kind is property else model.scale())

    compiled = ng.compile(f)
    for value in (2.0, 5.0, 2.0):
        settings["scale"] = value
        same(compiled(X), f(X))


def test_what_a_deque_holds_counts() -> None:
    latest = deque([2.0, named(1.0, 2.0, 3.0)])
    f, runs = counting(lambda x: x * latest[0] + latest[1])
    f(X)
    latest[1].data[0] = 7.0
    same(f(X), X * 2.0 + named(7.0, 2.0, 3.0))
    assert runs.count == 1
    latest.appendleft(4.0)
    latest[1] = X
    same(f(X), X * 4.0 + X)


def _written_transposed(a: Any) -> Any:
    b = (a.T * 2).T
    b[0] = 1.0
    return np.sum(b * b)


@pytest.mark.parametrize(
    "program",
    [
        lambda a: np.sum(a.T.copy() ** 2), lambda a: np.sum(a.copy("F") ** 3), lambda a: np.sum(np.copy(a.T) ** 2),
        lambda a: np.sum(np.full_like(a.T, a[0, 0]) * a.T), lambda a: np.sum((np.zeros_like(a.T) + a.T) ** 2),
        _written_transposed,
    ],
)  # fmt: skip
def test_copies_in_another_order_are_part_of_the_program(program: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)
    for f in (program, ng.grad(program)):
        compiled = ng.compile(f)
        for a in (x, 1.7 * x + 0.3):
            found, expected = compiled(ng.positional(a)), f(ng.positional(a))
            np.testing.assert_allclose(getattr(found, "data", found), getattr(expected, "data", expected), rtol=1e-13)


UNIT: contextvars.ContextVar[Any] = contextvars.ContextVar("UNIT", default=2.0)


def test_context_variables_count() -> None:
    f = ng.compile(lambda x: x * UNIT.get())
    same(f(X), X * 2.0)
    token = UNIT.set(5.0)
    same(f(X), X * 5.0)
    UNIT.set(factors := named(7.0, 8.0, 9.0))
    same(f(X), X * factors)
    factors.data[:] = 4.0
    same(f(X), X * 4.0)
    UNIT.reset(token)
    same(f(X), X * 2.0)


@pytest.mark.parametrize(
    "read",
    [lambda: os.environ["NG_SCALE"], lambda: os.environ.get("NG_SCALE"), lambda: os.getenv("NG_SCALE"), lambda: getenv("NG_SCALE")],
)  # fmt: skip
def test_variables_of_the_environment_count(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = ng.compile(lambda x: x * float(read()))
    for scale in ("2", "5", "2"):
        monkeypatch.setenv("NG_SCALE", scale)
        same(f(X), X * float(scale))
