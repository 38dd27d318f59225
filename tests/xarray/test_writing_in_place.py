"""Writes inside of a program: what shares cells in xarray shares them here."""

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

A = xr.DataArray(np.random.default_rng(1).normal(size=(4, 3)) + 2, dims=("t", "x"))


def shallow_copy_of_a_sum(a):
    s = a.sum()
    k = s.copy(deep=False)
    s += 1
    return k * k


def variable_of_a_dataset(a):
    m = a.mean()
    ds = xr.Dataset({"m": m})
    ds["m"] -= 1
    return m * m


def running_total(a):
    total, seen = a[0].sum() * 0, []
    for t in range(4):
        total += a[t].sum()
        seen.append(total.assign_attrs(step=t))
    return sum(z**2 for z in seen)


def slices_without_dims(a):
    s = a.isel(t=0) * 2
    k = s.copy(deep=False)
    s += 1
    return (k**2).sum()


def unstacked(a):
    m = (a * 1).stack(z=("t", "x"))
    u = m.unstack("z")
    u[0] = 0.0
    u *= 2
    return (m**2).sum() + (u**2).sum()


def unstacked_base(a):
    m = (a * 1).stack(z=("t", "x"))
    u = m.unstack("z")
    m[0] = 0.0
    return (u**2).sum()


def unstacked_dataset(a):
    m = xr.Dataset({"a": a * 1, "b": a.isel(x=0) * 2}).stack(z=("t", "x"))
    u = m.unstack("z")
    u["a"][0] = 0.0
    return (m.a**2).sum() + (u.a * u.b.isel(x=0)).sum()


PROGRAMS = [
    shallow_copy_of_a_sum, variable_of_a_dataset, running_total, slices_without_dims,
    unstacked, unstacked_base, unstacked_dataset,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f):
    value, gradient = ng.value_and_grad(f)(A)
    np.testing.assert_allclose(value, f(A), rtol=1e-13)
    steps = [A.copy(data=1e-6 * e.reshape(A.shape)) for e in np.eye(A.size)]
    want = [float(f(A + s) - f(A - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(gradient.values.ravel(), want, rtol=1e-6, atol=1e-6)


def test_slices_that_have_no_dims():
    value, gradient = ng.value_and_grad(slices_without_dims, over="x")(A)
    for i in range(3):
        alone = A.isel(x=i)
        np.testing.assert_allclose(value[i], slices_without_dims(alone), rtol=1e-13)
        np.testing.assert_allclose(gradient.isel(x=i), ng.grad(slices_without_dims)(alone), rtol=1e-13)
