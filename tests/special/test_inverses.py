"""Ufuncs that SciPy alone computes: inverses of distribution functions, and integrals."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.special
import xarray as xr

import namedgrad as ng
from namedgrad.rules.special.inverses import RULES
from tests.support.oracles import richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# operands; those in a list have no derivative
AT: dict[str, tuple[Any, ...]] = {
    "pbdv": ([1.0], 1.3), "pbvv": ([1.0], 1.3), "pbwa": ([0.5], 0.7), "itj0y0": (1.7,), "iti0k0": (1.7,), "itairy": (1.2,),
    "modfresnelp": (0.8,), "modfresnelm": (0.8,), "itstruve0": (1.7,), "itmodstruve0": (1.7,),
    "wright_bessel": ([0.5], [1.5], 0.8), "log_wright_bessel": ([0.5], [1.5], 0.8), "besselpoly": (0.7, [1.5], [1.2]), "tklmbda": (0.6, [0.4]),
    "ncfdtr": ([3.0], [5.0], 1.5, 0.8), "ncfdtri": ([3.0], [5.0], 1.5, 0.4), "ncfdtrinc": ([3.0], [5.0], 0.3, 0.8),
    "chndtrix": (0.4, [3.0], 1.5), "chndtrinc": (2.5, [3.0], 0.4), "btdtria": (0.4, 1.5, 0.6), "btdtrib": (1.5, 0.4, 0.6),
    "gdtrib": (1.2, 0.4, 0.9), "chdtriv": (0.4, 1.3), "stdtridf": (0.8, 1.1), "fdtridfd": (1.5, 0.6, 1.4), "pdtrik": (0.6, 2.3), "kolmogi": (0.4,),
}  # fmt: skip
ROUGH = {"itairy": 3e-6, "ncfdtrinc": 1e-4}  # SciPy's values
CASES = [(name, k) for name, xs in AT.items() for k, x in enumerate(xs) if isinstance(x, float)]


def result(name: str, k: int, x: Any, others: Any = lambda x: x) -> Any:
    """One number of all the results, as a function of one operand."""
    xs = [others(v[0] if isinstance(v, list) else v) for v in AT[name]]
    found = getattr(scipy.special, name)(*xs[:k], x, *xs[k + 1 :])
    parts = found if isinstance(found, tuple) else (found,)
    return sum((j + 1) * (np.real(p) + 0.5 * np.imag(p)) for j, p in enumerate(parts))


def test_every_rule_is_tested() -> None:
    assert set(AT) == set(RULES)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_derivatives_by_finite_differences(name: str, k: int) -> None:
    f = lambda x: result(name, k, x)
    x = np.float64(AT[name][k])
    value, slope = ng.value_and_grad(f)(x)
    assert float(value) == float(f(x))
    tolerance = ROUGH.get(name, 1e-8)
    np.testing.assert_allclose(slope, richardson(lambda h: f(x + h)), rtol=tolerance)
    np.testing.assert_allclose(ng.pushforward(f, (x,), (np.float64(2.0),))[1], 2 * slope, rtol=1e-13)
    np.testing.assert_allclose(ng.grad(ng.grad(f))(x), richardson(lambda h: ng.grad(f)(x + h)), rtol=tolerance)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_arrays(name: str, k: int) -> None:
    """Of several axes, lazy, vectorized and in single precision."""
    x = AT[name][k] * np.array([[0.8], [0.9], [1.0]])
    several = lambda v: v * np.array([1.0, 1.0])
    want = np.array([[ng.grad(lambda x: result(name, k, x))(v)] for v in x[:, 0]])
    np.testing.assert_allclose(ng.grad(lambda x: result(name, k, x, several).sum())(x), (2 if len(AT[name]) > 1 else 1) * want, rtol=1e-12)
    lazy = ng.grad(lambda x: result(name, k, x).sum())(da.from_array(x, chunks=(2, 1)))
    np.testing.assert_allclose(np.asarray(lazy), want, rtol=1e-12)
    rows = ng.grad(lambda x: xr.DataArray(result(name, k, x.data)).sum(), over="row")(xr.DataArray(x, dims=("row", "column")))
    np.testing.assert_allclose(rows, want, rtol=1e-12)
    if name == "pbvv":  # SciPy's is NaN
        return
    short = ng.grad(lambda x: result(name, k, x, np.float32).sum())(x.astype(np.float32))
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, want, rtol=max(3e-4, 10 * ROUGH.get(name, 0)))


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, xs in AT.items() for k, x in enumerate(xs) if isinstance(x, list)])
def test_a_parameter_without_derivative_is_refused(name: str, k: int) -> None:
    with pytest.raises(ng.TraceError, match="has no derivative with respect to"):
        ng.grad(lambda v: result(name, k, v))(np.float64(AT[name][k][0]))


@pytest.mark.parametrize(("name", "xs", "k", "slope"), [
    ("itj0y0", (0.0,), 0, 1 - 2 * np.inf), ("iti0k0", (0.0,), 0, np.inf), ("itstruve0", (0.0,), 0, 0), ("itmodstruve0", (0.0,), 0, 0),
    ("wright_bessel", (1.0, 1.0, 0.0), 2, 1), ("log_wright_bessel", (1.0, 1.0, 0.0), 2, 1), ("pbdv", (0.0, 0.0), 1, -1),  # D0 + 2 D0', D0'' = -1/2
    ("tklmbda", (0.0, 1.0), 0, 0.5), ("btdtria", (0.5, 1.0, 0.5), 0, -2 / np.log(2)), ("kolmogi", (1.0,), 0, -np.inf),
    ("ncfdtr", (2.0, 2.0, 0.0, 1.0), 3, 0.25),
])  # fmt: skip
def test_special_points(name: str, xs: tuple[float, ...], k: int, slope: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AT, name, xs)
    np.testing.assert_allclose(ng.grad(lambda x: result(name, k, x))(np.float64(xs[k])), slope, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("nc", [2.0, 500.0, 1600.0, 9000.0])
def test_the_noncentral_f_distribution_far_from_the_central_one(nc: float) -> None:
    f = scipy.special.ncfdtr
    np.testing.assert_allclose(ng.grad(lambda x: f(30.0, 50.0, nc, x))(np.float64(nc / 30)), richardson(lambda h: f(30.0, 50.0, nc, nc / 30 + h)), rtol=1e-5)
    at = nc / 30
    np.testing.assert_allclose(ng.grad(lambda nc: f(30.0, 50.0, nc, at))(np.float64(nc)), richardson(lambda h: f(30.0, 50.0, nc + h * nc, at)) / nc, rtol=1e-5)
    p = f(30.0, 50.0, nc, at)
    inverse = ng.grad(lambda p: scipy.special.ncfdtri(30.0, 50.0, nc, p))(np.float64(p))
    np.testing.assert_allclose(inverse, 1 / ng.grad(lambda x: f(30.0, 50.0, nc, x))(np.float64(at)), rtol=1e-6)


def test_a_device_says_that_it_lacks_them(cupy: Any) -> None:
    with pytest.raises(TypeError, match=r"no kernel 'btdtria'; use .to\('numpy'\)"):
        RULES["btdtria"](*(ng.DimArray(cupy.asarray([v]), "x") for v in AT["btdtria"]))
