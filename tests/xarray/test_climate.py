"""Programs of climate science: gradients against finite differences, with and without gaps, and over dims."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from tests.xarray.climate import CLIMATE
from tests.xarray.harness import check_gradient, check_over, cotangents, loss, quiet
from tests.xarray.programs import field, with_gaps


def given(program, *, gaps):
    x = with_gaps() if gaps else field()
    try:
        cotangents(program.function, x)
    except (ValueError, np.linalg.LinAlgError) as error:
        if not gaps:
            raise
        pytest.skip(f"the plain program refuses gaps: {error}")
    return x


@pytest.mark.parametrize("gaps", [False, True], ids=["full", "gaps"])
@pytest.mark.parametrize("program", CLIMATE, ids=lambda p: p.name)
def test_gradients(program, gaps):
    with quiet():
        check_gradient(program.function, given(program, gaps=gaps))


@pytest.mark.parametrize(("program", "dim"), [(p, d) for p in CLIMATE for d in p.over[:1]], ids=lambda v: getattr(v, "name", v))
def test_over(program, dim):
    with quiet():
        check_over(program.function, given(program, gaps=True), dim, slices=1)


@pytest.mark.parametrize("name", ["leading modes", "regrid", "nino index", "red noise", "heat waves"])
def test_second_order(name):
    program = next(p for p in CLIMATE if p.name == name)
    x = field()
    weights = cotangents(program.function, x)
    f = lambda x: loss(program.function, x, weights) ** 2
    v = x.copy(data=np.random.default_rng(5).normal(size=x.shape))
    step = 1e-5
    expected = (ng.grad(f)(x + step * v) - ng.grad(f)(x - step * v)) / (2 * step)
    np.testing.assert_allclose(ng.hvp(f, x, v), expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())
