"""Random programs of named operations, judged by the definition of a gradient and by loops of slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume, given

import namedgrad as ng
from tests.programs.drawing import Program, fuzz, programs
from tests.support.arrays import all_names, cut, indices, values
from tests.support.meaning import gradient_by_definition, jacobian_by_definition
from tests.support.oracles import differences, moved, stacked
from tests.support.tolerances import FIRST, ROUNDING, SECOND, assert_close

SMOOTH = 3e-5  # finite differences of two steps that differ by more say nothing to seven digits


@fuzz
@given(programs())
def test_gradients_are_the_definition_or_refused(program: Program) -> None:
    y = program(*program.inputs)
    for k, x in enumerate(program.inputs):

        def one(x: ng.DimArray, k: int = k) -> ng.DimArray:
            return program(*program.inputs[:k], x, *program.inputs[k + 1 :])

        expected = gradient_by_definition(one, x)
        assume(expected.doubt < SMOOTH)
        try:
            g = ng.grad(one)(x)
        except ng.AxisError as error:
            assert "another name" in str(error)
            assert expected.mixed or program.crossed
            continue
        assert not expected.mixed
        assert set(all_names(g)) == set(all_names(x)) | set(y.vectorized)
        assert g.dims == x.dims
        assert_close(values(g, expected.names), expected.data, 10 * FIRST)


@fuzz
@given(programs())
def test_modes_agree(program: Program) -> None:
    rng = np.random.default_rng(1)
    y = program(*program.inputs)
    tangents = [ng.DimArray(rng.normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized) for x in program.inputs]

    def along(h: float) -> np.ndarray:
        moved_inputs = [moved(x, h * t.to_numpy()) for x, t in zip(program.inputs, tangents, strict=True)]
        return values(program(*moved_inputs), all_names(y))

    try:
        out, pushed = ng.pushforward(program, tuple(program.inputs), tuple(tangents))
    except ng.AxisError as error:
        assert "another name" in str(error)
        assert program.crossed
        return
    assert_close(out.to_numpy(), y.to_numpy(), ROUNDING)
    assert_close(values(pushed, all_names(y)), _difference(along), 10 * FIRST)


def _difference(f: Callable[[float], np.ndarray], **step: float) -> np.ndarray:
    """The derivative of ``f`` at 0, if finite differences tell it."""
    derivative, doubt = differences(f, **step)
    assume(doubt.max(initial=0) < SMOOTH * max(np.abs(derivative).max(initial=0), 1e-3))
    return derivative


@fuzz
@given(programs())
def test_jacobians_are_the_definition_or_refused(program: Program) -> None:
    x = program.inputs[-1]

    def last(x: ng.DimArray) -> ng.DimArray:
        return program.last(*program.inputs[:-1], x)

    y = last(x)
    if set(y.dims) & set(x.vectorized) or y.size * x.size > 200:
        return  # refused: an axis would be a slice here and a dim there
    expected = jacobian_by_definition(last, x)
    assume(expected.doubt < SMOOTH)
    for mode in ("forward", "reverse"):
        try:
            j = ng.jacobian(last, mode=mode)(x)
        except ng.AxisError as error:
            assert "another name" in str(error)
            assert expected.mixed or program.crossed
            continue
        assert not expected.mixed
        assert j.dims == (*y.dims, *(f"{n}_wrt" for n in x.dims))
        assert_close(values(j, expected.names), expected.data, 10 * FIRST, mode)


@fuzz
@given(programs())
def test_checkpoints_change_nothing(program: Program) -> None:
    wrt = tuple(range(len(program.inputs)))
    tangents = tuple(np.cos(x) for x in program.inputs)
    for transform in (
        lambda f: ng.grad(f, wrt)(*program.inputs),
        lambda f: ng.pushforward(f, tuple(program.inputs), tangents)[1:],
        lambda f: [ng.linearize(f, *program.inputs)[1](*tangents)],
    ):
        plain, checked = (_attempt(lambda f=f, transform=transform: transform(f)) for f in (program, ng.checkpoint(program)))
        assert (plain is None) == (checked is None)
        for a, b in zip(plain or (), checked or (), strict=True):
            assert_close(values(a, all_names(b)), b.to_numpy(), 10 * ROUNDING)


def _attempt(call: Callable[[], Any]) -> Any:
    """The answer, or None if it is refused."""
    try:
        return call()
    except ng.AxisError:
        return None


@fuzz
@given(programs(only_batched=True))
def test_vectorized_programs_are_loops_of_slices(program: Program) -> None:
    names = {n: s for x in program.inputs for n, s in x.vectorized_sizes.items()}
    wrt = tuple(range(len(program.inputs)))
    y = program(*program.inputs)
    v = {n: s for n, s in names.items() if n in y.vectorized}
    assert v == y.vectorized_sizes
    value, gradients = ng.value_and_grad(program, wrt)(*program.inputs)
    for at in indices(v):
        one = program(*(cut(x, at) for x in program.inputs))
        assert_close(values(cut(value, at), all_names(one)), one.to_numpy(), 10 * ROUNDING)
    if v != names:
        return  # an input that is not used has axes that the output lacks
    expected = stacked(lambda xs: list(ng.grad(program, wrt)(*xs)), names, program.inputs)
    for x, g, (own, e) in zip(program.inputs, gradients, expected, strict=True):
        assert g.dims == x.dims
        assert_close(values(g, own), e, 10 * ROUNDING)


@fuzz
@given(programs())
def test_second_derivatives_of_programs(program: Program) -> None:
    x = program.inputs[0]
    t = ng.DimArray(np.random.default_rng(2).normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized)

    def slope(x: ng.DimArray) -> ng.DimArray:
        return ng.grad(lambda x: program(x, *program.inputs[1:]))(x)

    g = _attempt(lambda: slope(x))
    if g is None:
        return
    expected = _difference(lambda h: values(slope(moved(x, h * t.to_numpy())), all_names(g)), step=1e-4)
    forward = _attempt(lambda: ng.pushforward(slope, (x,), (t,))[1])
    assert forward is not None or program.crossed
    if forward is not None:
        assert_close(values(forward, all_names(g)), expected, 10 * SECOND)
    if set(g.vectorized) != set(x.vectorized):
        return  # the sum below would be per slice, and the product one more step away from a Hessian times t
    reverse = _attempt(lambda: ng.grad(lambda x: (slope(x) * t).sum())(x))
    assert reverse is not None or program.crossed
    if reverse is not None and forward is not None:
        assert_close(values(reverse, all_names(g)), forward.to_numpy(), 1e4 * ROUNDING)
