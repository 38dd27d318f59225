"""Values that leave the trace: refused, compared, used too late, or copied on it."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import normal
from tests.support.transforms import TRANSFORMS

LEAKS: dict[str, Callable[[Any], Any]] = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "math.sin": lambda x: math.sin(x.sum()),
    "bool": lambda x: bool(x.sum()),
    "item": lambda x: x.sum().item(),
    "data": lambda x: x.data,
    "to_numpy": lambda x: x.to_numpy(),
    "to_xarray": lambda x: x.to_xarray(),
    "pickle": pickle.dumps,
    "index": lambda x: [1, 2][x.sum()],
    "range": lambda x: range(x.sum()),
    "format": lambda x: f"{x.sum():.2f}",
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaving_the_trace_is_refused(name: str) -> None:
    x = normal(3)
    attempts = (
        lambda: ng.grad(lambda x: (LEAKS[name](x), x.sum())[1])(x),
        lambda: ng.pushforward(lambda x: (LEAKS[name](x), x)[1], (x,), (x,)),
        lambda: ng.jacobian(lambda x: (LEAKS[name](x), x)[1])(x),
    )
    for attempt in attempts:
        with pytest.raises(TypeError) as info:
            attempt()
        if name not in {"format", "range", "index"}:
            assert isinstance(info.value, ng.TraceError)
            assert "stop_gradient" in str(info.value) or "use" in str(info.value)


def test_comparisons_steer_python() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        y = x.sum()
        return y * y if y > 0 else -y

    assert ng.grad(f)(ng.DimArray([1.0, 2.0], "x")).data.tolist() == [6.0, 6.0]
    assert ng.grad(f)(ng.DimArray([-1.0, -2.0], "x")).data.tolist() == [-1.0, -1.0]
    with pytest.raises(TypeError, match="per slice"):
        ng.grad(f)(ng.DimArray([[1.0], [2.0]], ("b", "x"), vectorized="b"))
    with pytest.raises(ValueError, match="single element"):
        ng.grad(lambda x: x.sum() if x > 0 else -x.sum())(ng.DimArray([1.0, 2.0], "x"))


def test_comparisons_are_untraced() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        mask = x > 0
        assert type(mask) is ng.DimArray
        assert mask.dtype == bool
        mask.to_numpy()
        assert type(x.argmax("x")) is ng.DimArray
        return ng.where(mask, x, 0.0).sum()

    np.testing.assert_array_equal(ng.grad(f)(ng.DimArray([-1.0, 2.0], "x")).data, [0.0, 1.0])


def test_a_traced_value_used_after_its_transform() -> None:
    kept: list[Any] = []

    def f(x: ng.DimArray) -> ng.DimArray:
        kept.append(x * 2)
        return x.sum()

    x = normal(3)
    for transform in (
        lambda: ng.grad(f)(x), lambda: ng.pullback(f, x), lambda: ng.pushforward(f, (x,), (x,)), lambda: ng.jacobian(f)(x), lambda: ng.hvp(f, x, x),
    ):  # fmt: skip
        kept.clear()
        transform()
        for use in (lambda y: y + 1, np.sin, lambda y: y.sum(), lambda y: y * y, lambda y: ng.grad(lambda z: (z * y).sum())(x), lambda y: y.isel(x=0)):
            with pytest.raises(ng.TraceError, match="return it from the function"):
                use(kept[0])


def _leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for r in result:
            yield from _leaves(r)
    elif isinstance(result, dict):
        yield from _leaves(list(result.values()))
    else:
        yield result


@pytest.mark.parametrize("name", TRANSFORMS)
def test_results_contain_nothing_traced(name: str) -> None:
    f = lambda x: (x * x).sum() * 2 + ng.stop_gradient(x).sum()
    for r in _leaves(TRANSFORMS[name](f, normal(3))):
        assert type(r) is ng.DimArray
        r.to_numpy()
    aux = ng.grad(lambda x: ((x * x).sum(), {"mid": [x * 2, "text", None, 3]}), has_aux=True)(normal(3))[1]
    assert type(aux["mid"][0]) is ng.DimArray
    assert aux["mid"][1:] == ["text", None, 3]


def test_deepcopy_stays_on_the_trace() -> None:
    x = normal(3)
    g = ng.grad(lambda x: (copy.deepcopy(x) * copy.copy(x)).sum())(x)
    np.testing.assert_array_equal(g.data, 2 * x.data)


def test_a_package_that_looks_at_a_value_is_named_with_how() -> None:
    program = compile("def checked(x):\n    return x if x.sum() else -x", "/home/me/site-packages/climate.py", "exec")
    known: dict[str, Any] = {"__name__": "climate"}
    exec(program, known)  # noqa: S102 - the text above
    with pytest.raises(ng.TraceError, match=r"climate.checked\(\), by bool\(\), would take a value .* np.where"):
        ng.grad(lambda x: np.sum(known["checked"](x)))(np.arange(3.0))


def test_windows_by_strides_are_named_as_windows() -> None:
    as_strided = np.lib.stride_tricks.as_strided
    with pytest.raises(ng.TraceError, match=r"np\.as_strided\(\).* use np\.lib\.stride_tricks\.sliding_window_view\(x, w"):
        ng.grad(lambda x: as_strided(x, (2, 2), (8, 8)).sum())(np.arange(4.0))
    with pytest.raises(AttributeError, match=r"windows of as_strided\(x, ...\) are slices of np\.lib\.stride_tricks"):
        ng.grad(lambda x: as_strided(x, (2, 2), (*x.strides, 8)).sum())(np.arange(4.0))
