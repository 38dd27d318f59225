"""``curvefit`` of data that are differentiated, against differences of the whole fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.oracles import richardson
from tests.support.tolerances import SECOND, assert_close

RNG = np.random.default_rng(4)
T = np.linspace(0, 3, 12)
RATES = np.array([[0.5], [1.0], [1.5]])
Y = xr.DataArray(
    2 * np.exp(-RATES * T) + 0.05 * RNG.normal(size=(3, 12)), dims=("s", "t"), coords={"t": T, "s": list("abc")}
)
TIGHT = {"xtol": 1e-12}
CORRELATED = np.exp(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 2)
WAY = xr.zeros_like(Y) + RNG.normal(size=Y.shape)


def decay(t: Any, size: Any, rate: Any) -> Any:
    return size * np.exp(-rate * t)


def fit(y: Any, **options: Any) -> Any:
    kwargs = {**TIGHT, **options.pop("kwargs", {})}
    return ng.curvefit(y, options.pop("coords", "t"), decay, kwargs=kwargs, **options).curvefit_coefficients


CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": fit,
    "bounds": lambda y: fit(y, bounds={"rate": (0, 0.9)}),
    "sigma": lambda y: fit(y, kwargs={"sigma": np.linspace(1, 2, 12)}),
    "covariance": lambda y: fit(y, kwargs={"sigma": CORRELATED}),
    "sigma of the data": lambda y: fit(y, kwargs={"sigma": 1 + y**2}),
    "loss": lambda y: fit(y, kwargs={"loss": "soft_l1", "f_scale": 0.1}),
    "missing data": lambda y: fit(y.where(y < 1.6), errors="ignore"),
    "one series": lambda y: fit(y.isel(s=0, drop=True)),
    "all series": lambda y: fit(y, coords=["t"], reduce_dims="s"),
    "Dataset": lambda y: ng.curvefit(y.to_dataset(name="q"), "t", decay, kwargs=TIGHT).q_curvefit_coefficients,
    "positions": lambda y: fit(Y, coords=[Y.t * (1 + y.isel(s=0, drop=True) / 10)], reduce_dims="t"),
    "bounds of the data": lambda y: fit(y, bounds={"rate": (0, 0.8 + y.isel(t=11, drop=True))}),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name: str) -> None:
    def loss(y: xr.DataArray) -> Any:
        return (CALLS[name](y) * xr.DataArray([1.3, -0.7], dims="param")).sum()

    value, grad = ng.value_and_grad(loss)(Y)
    assert float(value) == float(loss(Y))
    slope = richardson(lambda h: float(loss(Y + h * WAY)))
    assert_close(float((grad * WAY).sum()), slope, SECOND, what=name)
    _, tangent = ng.jvp(loss, (Y,), (WAY,))
    assert_close(float(tangent), slope, SECOND, what=f"{name}, forward")


def test_xarrays_own_method() -> None:
    got = ng.grad(lambda y: (y.curvefit("t", decay, kwargs=TIGHT).curvefit_coefficients ** 2).sum())(Y)
    np.testing.assert_allclose(got, ng.grad(lambda y: (fit(y) ** 2).sum())(Y), rtol=1e-7)


def test_per_slice() -> None:
    def loss(y: xr.DataArray) -> Any:
        return (fit(y) ** 2).sum()

    np.testing.assert_allclose(ng.grad(loss, over="s")(Y), ng.grad(loss)(Y), rtol=1e-9)


def test_a_cell_that_failed_moves_nothing() -> None:
    y = Y.where(Y.s != "b")
    got = ng.grad(lambda y: (fit(y, errors="ignore").fillna(0) ** 2).sum())(y)
    np.testing.assert_array_equal(got.sel(s="b"), 0)
    np.testing.assert_allclose(got.sel(s="a"), ng.grad(lambda y: (fit(y) ** 2).sum())(Y).sel(s="a"), rtol=1e-9)


def test_what_has_no_derivative_is_left_out() -> None:
    seen: list[list[Any]] = []

    def loss(y: xr.DataArray, **kwargs: Any) -> Any:
        found = ng.curvefit(y, "t", decay, kwargs=kwargs)
        seen.append(sorted(n.removeprefix("curvefit_") for n in map(str, found)))
        return found.curvefit_coefficients.sum()

    ng.grad(loss)(Y)
    ng.grad(lambda y: loss(y, loss="huber"))(Y)
    assert seen == [
        ["chi2", "coefficients", "covariance", "dof", "iterations", "status"],
        ["coefficients", "dof", "iterations", "status"],
    ]
