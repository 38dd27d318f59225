"""Programs that mix slices that the answer tells apart are refused; the message shows a way that works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import values
from tests.support.meaning import gradient_by_definition
from tests.support.tolerances import FIRST, assert_close
from tests.support.vectorized import every_transform, inputs, of_one, refused_everywhere


def _back(a: ng.DimArray) -> ng.DimArray:
    return a.vectorize("b")


# What may happen to the devectorized axis "b" of (w * xb).sum() before it is met again as a vectorized axis.
MIXERS: dict[str, Callable[[ng.DimArray], ng.DimArray]] = {
    "sum": lambda a: a.sum("b"),
    "mean": lambda a: a.mean("b"),
    "var": lambda a: a.var("b"),
    "max": lambda a: a.max("b"),
    "prod": lambda a: a.prod("b"),
    "logsumexp": lambda a: ng.logsumexp(a, "b"),
    "median": lambda a: a.median("b"),
    "cumsum": lambda a: _back(a.cumsum("b")),
    "roll": lambda a: _back(a.roll(b=1)),
    "shift": lambda a: _back(a.shift(b=1, fill_value=0.0)),
    "flip": lambda a: _back(a.flip("b")),
    "sort": lambda a: _back(ng.sort(a, "b")),
    "isel": lambda a: a.isel(b=0),
    "isel by a list": lambda a: _back(a.isel(b=[2, 0, 1])),
    "isel pointwise": lambda a: _back(a.isel(b=ng.DimArray([1, 1, 0], "b"))),
    "slice": lambda a: _back(ng.concat([a.isel(b=slice(1, None)), a.isel(b=slice(0, 1))], "b")),
    "concat": lambda a: _back(ng.concat([a.isel(b=[1]), a.isel(b=[0, 2])], "b")),
    "pad": lambda a: _back(a.isel(b=slice(0, 2)).pad(b=(0, 1), mode="wrap")),
    "diff": lambda a: _back(a.diff("b").pad(b=(1, 0), constant_values=0.0)),
    "at": lambda a: _back(a.at[{"b": 0}].set(a.isel(b=1))),
    "dot": lambda a: ng.dot(a, ng.DimArray([1.0, -2.0, 0.5], "b"), dim="b"),
    "matmul": lambda a: ng.dot(a, ng.DimArray(np.arange(9.0).reshape(3, 3), ("b", "b2")), dim="b").rename(b2="b").vectorize("b"),
    "stack": lambda a: a.stack(z=("b",)).isel(z=0),
    "einsum over both": lambda a: ng.dot(a, a, dim="b"),
    "cholesky": lambda a: ng.cholesky(_matrix(a), ("b", "b2")).isel(b2=0).vectorize("b"),
    "solve": lambda a: ng.solve(ng.DimArray(np.eye(3) + 1.0, ("b", "b2")), a, ("b", "b2")).rename(b2="b").vectorize("b"),
}


def _matrix(a: ng.DimArray) -> ng.DimArray:
    return a * a.rename(b="b2") + ng.eye("b", "b2", a.sizes["b"])


RENAMED_BACK = {"matmul", "solve"}  # the axis that comes back was born under another name: by definition there is an answer
INHERENT = pytest.mark.parametrize("mixer", [m for m in MIXERS if m not in RENAMED_BACK])


@INHERENT
@pytest.mark.parametrize("name", ["w", "xb"])
def test_mixed_and_met_again_is_refused(mixer: str, name: str) -> None:
    given = inputs()
    w, xb, zb = given["w"], given["xb"], given["zb"]

    def f(w: ng.DimArray, xb: ng.DimArray) -> ng.DimArray:
        return MIXERS[mixer](ng.sin((w * xb).sum()).devectorize("b")) * zb

    one = (lambda w: f(w, xb)) if name == "w" else (lambda xb: f(w, xb))
    assert one(given[name]).vectorized == ("b",)  # the value itself is well defined
    if name == "w":
        refused_by_gradients(one, w)
    else:
        refused_everywhere(one, xb)


@pytest.mark.parametrize("mixer", MIXERS)
def test_mixed_and_reduced_is_answered(mixer: str) -> None:
    given = inputs()

    def f(w: ng.DimArray, xb: ng.DimArray, zb: ng.DimArray) -> ng.DimArray:
        return (MIXERS[mixer](ng.sin((w * xb).sum()).devectorize("b")) * zb).devectorize("b").sum()

    arguments = {n: given[n] for n in ("w", "xb", "zb")}
    for n, a in arguments.items():
        one = of_one(f, arguments, n)
        expected = gradient_by_definition(one, a)
        g = ng.grad(one)(a)
        assert not expected.mixed
        assert g.vectorized == a.vectorized
        assert_close(values(g, expected.names), expected.data, FIRST)


def refused_by_gradients(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> None:
    """Refused by every transform, for a parameter that does not have the axis itself."""
    ones = ng.ones_like(x)
    checkpoints: list[Callable[[], Any]] = [
        lambda: ng.grad(ng.checkpoint(f))(x),
        lambda: ng.pushforward(ng.checkpoint(f), (x,), (ones,)),
        lambda: ng.linearize(ng.checkpoint(f), x)[1](ones),
    ]
    for k, attempt in enumerate([*every_transform(f, lambda x: f(x) * f(x), x), *checkpoints]):
        try:
            answer = attempt()
        except ng.AxisError as error:
            assert "another name" in str(error), error
            assert "'b'" in str(error), error
        else:
            pytest.fail(f"attempt {k} answered {answer}")


def test_second_derivative_is_refused_where_slices_of_the_gradient_meet() -> None:
    xb = inputs()["xb"]

    def f(x: ng.DimArray) -> ng.DimArray:  # its gradient has "b", and each slice of it depends on all slices of x
        return ng.sin(x.devectorize("b").sum())

    expected = gradient_by_definition(f, xb)
    assert_close(values(ng.grad(f)(xb), expected.names), expected.data, FIRST)
    for attempt in (
        lambda: ng.hessian(f)(xb),
        lambda: ng.hessian(f, part="diagonal")(xb),
        lambda: ng.hvp(f, xb, xb),
        lambda: ng.grad(lambda x: ng.grad(f)(x).sum())(xb),
        lambda: ng.jacobian(ng.grad(f), mode="reverse")(xb),
    ):
        with pytest.raises(ng.AxisError, match="another name"):
            attempt()


# Operations whose own derivatives along a dim sum over it, or move along it.
NONLINEAR: dict[str, Callable[[ng.DimArray], ng.DimArray]] = {
    "var": lambda x: x.var("s"),
    "var less one": lambda x: x.var("s", ddof=1) ** 2,
    "prod": lambda x: x.prod("s"),
    "cumprod": lambda x: x.cumprod("s").rename(s="n"),
    "convolve": lambda x: ng.convolve(x, x, "s").rename(s="n"),
    "norm": lambda x: ng.norm(x, "s"),
    "norm of a matrix": lambda x: ng.matrix_norm(x * ng.DimArray([1.0, 2.0], "t"), ("s", "t")),
    "logsumexp": lambda x: ng.logsumexp(x, "s"),
    "softmax": lambda x: ng.softmax(x, "s").rename(s="n") ** 2,
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_second_derivative_of_an_operation_along_devectorized_slices_is_refused(name: str) -> None:
    """Sums within a rule mix slices as those of a program do: three transforms gave three Hessians of a variance."""
    x = ng.DimArray([1.3, 0.4, 2.2, 0.7], "s", vectorized="s")
    f = lambda x: NONLINEAR[name](x.devectorize("s")).sum()
    expected = gradient_by_definition(f, x)
    assert_close(values(ng.grad(f)(x), expected.names), expected.data, FIRST)
    assert gradient_by_definition(ng.grad(f), x).mixed
    for attempt in (
        lambda: ng.hessian(f)(x),
        lambda: ng.hessian(f, part="diagonal")(x),
        lambda: ng.hvp(f, x, x),
        lambda: ng.grad(ng.grad(f))(x),
        lambda: ng.jacobian(ng.grad(f), mode="reverse")(x),
        lambda: ng.pushforward(ng.grad(f), (x,), (x,)),
    ):
        with pytest.raises(ng.AxisError, match="another name"):
            attempt()


def test_the_way_out_that_the_message_shows() -> None:
    given = inputs()
    w, xb, zb = given["w"], given["xb"], given["zb"]

    def f(w: ng.DimArray) -> ng.DimArray:
        total = ng.sin((w * xb).sum()).devectorize("b").sum("b")
        return total * zb.devectorize("b").rename({"b": "out"}).vectorize("out")

    expected = gradient_by_definition(f, w)
    assert_close(values(ng.grad(f)(w), expected.names), expected.data, FIRST)
