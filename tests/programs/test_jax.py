"""Random programs here and in JAX: values, one gradient and Hessian-vector product, and those of every slice."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings

import namedgrad as ng
from tests.programs import named_jax
from tests.programs.drawing import EXAMPLES, Program, fuzz, programs
from tests.programs.steps import AXES, STEPS
from tests.support.arrays import all_names, cut, values
from tests.support.tolerances import assert_close

pytestmark = pytest.mark.filterwarnings("ignore")  # JAX's own
# JAX has no such function, or not with named options as here.
ALONE = {"running", "running max", "blocks", "convolved", "resized", "detrend"}
TWINS = [name for name in STEPS if name not in ALONE | set(AXES)]
CLOSE = 1e-10  # of chains of a dozen operations, matrices and norms among them


def twin(program: Program, dims: list[tuple[Any, ...]]) -> Any:
    """The program as a function of JAX's arrays."""
    weights = named_jax.DimArray(program.weights.to_numpy(), program.weights.dims)

    def run(*data: Any) -> Any:
        out = program.last(*(named_jax.DimArray(x, d) for x, d in zip(data, dims, strict=True)), o=named_jax)
        return named_jax.sum(out * weights).data

    return run


def theirs(program: Program, xs: list[ng.DimArray], ts: list[ng.DimArray], names: tuple[Any, ...]) -> Any:
    """Value, gradients and Hessian-vector products of every slice, with ``names`` as their first axes."""
    every = tuple(range(len(xs)))
    f = twin(program, [x.dims for x in xs])

    def all_three(*data: Any) -> Any:
        at, along = data[: len(xs)], data[len(xs) :]
        value, gradients = jax.value_and_grad(f, every)(*at)
        return value, gradients, jax.jvp(jax.grad(f, every), at, along)[1]

    for n in reversed(names):  # the first name is the outermost
        all_three = jax.vmap(all_three, in_axes=tuple(0 if n in x.vectorized else None for x in (*xs, *ts)))
    ordered = [values(x, (*(n for n in names if n in x.vectorized), *x.dims)) for x in (*xs, *ts)]
    return all_three(*ordered)


def compare(program: Program, xs: list[ng.DimArray], ts: list[ng.DimArray]) -> None:
    every = tuple(range(len(xs)))
    value, gradients = ng.value_and_grad(program, every)(*xs)
    second = ng.pushforward(ng.grad(program, every), tuple(xs), tuple(ts))[1]
    names = tuple(dict.fromkeys(n for x in xs for n in x.vectorized))
    assume(set(names) == set(value.vectorized))  # an input that is not used has axes that the output lacks
    their_value, their_gradients, their_second = theirs(program, xs, ts, names)
    assert_close(values(value, names), their_value, CLOSE, "value")
    for x, g, h, e, e2 in zip(xs, gradients, second, their_gradients, their_second, strict=True):
        assert_close(values(g, (*names, *x.dims)), e, CLOSE, "gradient")
        assert_close(values(h, (*names, *x.dims)), e2, 10 * CLOSE, "Hessian times vector", least=0.1)  # terms that cancel


@settings(fuzz, max_examples=max(1, EXAMPLES // 5))  # JAX is the slowest of the oracles
@given(programs(only_batched=True, names=TWINS))
def test_programs_are_those_of_jax(program: Program) -> None:
    rng = np.random.default_rng(3)
    xs = program.inputs
    ts = [ng.DimArray(rng.normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized) for x in xs]
    first = {n: 0 for x in xs for n in x.vectorized}
    with jax.disable_jit():  # each operation is compiled once for all programs, not once more for each
        compare(program, [cut(x, first) for x in xs], [cut(t, first) for t in ts])
        compare(program, xs, ts)
