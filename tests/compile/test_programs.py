"""Random programs: compiled, they give what they give without, also where values are not finite, or raise the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import namedgrad as ng
from tests.programs.drawing import EXAMPLES, Program, fuzz, programs
from tests.support.tolerances import assert_close

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what is compared with


def leaves(tree: Any) -> list[ng.DimArray]:
    return [x for t in tree for x in leaves(t)] if isinstance(tree, (tuple, list)) else [tree]


def moved(inputs: list[ng.DimArray], rng: np.random.Generator, *, broken: bool) -> list[ng.DimArray]:
    out = []
    for x in inputs:
        data = x.data + 0.1 * rng.normal(size=x.data.shape)
        if broken and data.size:
            data.flat[rng.integers(data.size)] = rng.choice([np.nan, np.inf, 0.0])
        out.append(ng.DimArray(data, (*x.vectorized, *x.dims), vectorized=x.vectorized))
    return out


def everything(program: Program) -> Any:
    wrt = tuple(range(len(program.inputs)))

    def f(*inputs: ng.DimArray) -> Any:
        value, gradients = ng.value_and_grad(program, wrt)(*inputs)
        pushed = ng.pushforward(program, inputs, tuple(x * 0 + 0.5 for x in inputs))[1]
        second = ng.pushforward(ng.grad(program), inputs, tuple(x * 0 - 0.25 for x in inputs))[1]
        return value, gradients, pushed, second

    return f


@settings(fuzz, max_examples=EXAMPLES // 2)  # each is planned and written once and again, whenever a bet is lost
@given(program=programs(), seed=st.integers(0, 99))
def test_compiled_programs_are_the_programs(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = everything(program)
    compiled = ng.compile(f)
    points = [program.inputs, moved(program.inputs, rng, broken=False), moved(program.inputs, rng, broken=True)]
    for inputs in (*points, points[1]):
        try:
            want = f(*inputs)
        except ng.AxisError as error:
            with pytest.raises(ng.AxisError) as found:
                compiled(*inputs)
            assert str(found.value) == str(error)
            return
        except np.linalg.LinAlgError:
            continue  # of a matrix that is not finite; compiled programs leave out what their results do not use
        got = compiled(*inputs)
        for x, y in zip(leaves(got), leaves(want), strict=True):
            assert (x.dims, x.vectorized, x.dtype) == (y.dims, y.vectorized, y.dtype)
            assert_close(x.to_numpy(), y.to_numpy(), 1e-9)
    assert compiled.cache_info().recordings <= 2, "inputs and moved inputs may be stored in different orders"
