"""DimArrays take the calls of xarray: the same names, arguments, results and order of dims."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.tolerances import ROUNDING, assert_close

RNG = np.random.default_rng(11)
GAPS = RNG.normal(size=(4, 5, 6))
GAPS[RNG.integers(0, 4, 9), RNG.integers(0, 5, 9), RNG.integers(0, 6, 9)] = np.nan
DATA: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
    "x": (("a", "b", "c"), RNG.normal(size=(4, 5, 6))),
    "gaps": (("a", "b", "c"), GAPS),
    "y": (("b", "c"), RNG.normal(size=(5, 6))),
    "w": (("b",), RNG.uniform(size=5)),
    "o": (("p", "a", "q", "b"), RNG.normal(size=(2, 1, 1, 3))),
    "n": (("a", "b"), np.arange(6).reshape(2, 3)),
    "five": (("a", "o", "ar", "b", "br"), np.arange(5 * 17 * 11 * 7 * 13.0).reshape(5, 17, 11, 7, 13)),
    "i": (("a",), np.array([0, 1, 0, 2])),
    "j": (("b",), np.array([1, 3, 0])),
    "k": (("a", "b"), np.array([[0, 1], [1, 2], [0, 2], [-1, -2]])),
    "l": (("c", "d"), np.array([[1, 2, 3], [0, 4, 5], [2, 5, -1], [3, -2, 0]])),
    "number": ((), np.array(2.5)),
}
PAIR = np.array([0, 1, 0, 2])

# A call, and the arrays of DATA that it is given.
CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("x", lambda x: x.transpose("c", ..., "z", missing_dims="ignore")),
    ("x", lambda x: x.transpose("c", "a", "b", missing_dims="raise")),
    ("x", lambda x: x.stack(z=[...])),
    ("x", lambda x: x.stack(z=("c", ...))),
    ("x", lambda x: x.stack(z=("c", "a"), create_index=True)),
    ("o", lambda x: x.squeeze(["a", "a"])),
    ("o", lambda x: x.squeeze([])),
    ("o", lambda x: x.squeeze("a", drop=True)),
    ("o", lambda x: x.squeeze(axis=1)),
    ("o", lambda x: x.squeeze(axis=[1, -2])),
    ("w", lambda x: x.expand_dims("n", axis=-1)),
    ("x", lambda x: x.expand_dims("n", axis=1)),
    ("x", lambda x: x.expand_dims(["n", "m"], axis=[-2, 1])),
    ("x", lambda x: x.expand_dims({"n": 2, "m": 3}, axis=(0, 4))),
    ("x", lambda x: x.isel(z=0, b=1, missing_dims="ignore")),
    ("x", lambda x: x.isel(a=0, drop=True)),
    ("x", lambda x: x.isel(a=("p", PAIR), c=(["p"], PAIR))),
    ("x", lambda x: x[("a", PAIR),]),
    ("x", lambda x: x[(("new",), PAIR),]),
    ("y", lambda x: x[("c", PAIR), 2:]),
    ("five, i, j", lambda x, i, j: x[i, :, i[::-1], j, j[::-1]]),
    ("five, i, j", lambda x, i, j: x.transpose(..., "a")[:, i[::-1], j, j[::-1], i]),
    ("x, k, l", lambda x, k, i: x[k, 1:3, i]),
    ("x, y", lambda x, y: y.where(x > 0)),
    ("x, y", lambda x, y: y.where(x > 0, x)),
    ("x", lambda x: x.where(x > 1.0, drop=True)),
    ("w", lambda x: x.where(lambda v: v > 0.3, lambda v: -v)),
    ("x", lambda x: x.all([])),
    ("x", lambda x: x.any([])),
    ("x", lambda x: x.roll(a=1, roll_coords=False)),
    ("x", lambda x: x.copy(data=np.ones((4, 5, 6)))),
    ("x", lambda x: x.astype("float32", copy=False)),
    ("x", lambda x: x.conjugate()),
    ("gaps, w", lambda x, w: x.weighted(w).mean()),
    ("gaps, w", lambda x, w: x.weighted(w).mean("b", skipna=False)),
    ("gaps, w", lambda x, w: x.weighted(w).sum("b")),
    ("gaps, w", lambda x, w: x.weighted(w).var(["a", "b"])),
    ("gaps, w", lambda x, w: x.weighted(w).std("b")),
    ("gaps, w", lambda x, w: x.weighted(w).sum_of_squares("b")),
    ("gaps, w", lambda x, w: x.weighted(w).sum_of_weights("b")),
    ("gaps, w", lambda x, w: x.weighted(w - w).mean("b")),
    ("gaps, x", lambda x, y: x.combine_first(y)),
    ("gaps, y", lambda x, y: y.combine_first(x)),
    ("gaps", lambda x: x.dropna("a")),
    ("gaps", lambda x: x.dropna("c", thresh=19)),
    ("gaps", lambda x: x.dropna("c", how="all")),
    ("x", lambda x: x.drop_isel(a=[0, 1], c=2)),
    ("x, w", lambda x, w: x.sortby(w)),
    ("x, w", lambda x, w: x.sortby([w.round(0), w], ascending=False)),
    ("n", lambda x: x.isin([0, 2, 5, 9])),
    ("x", lambda x: x.pipe(lambda v, by: v * by, by=3)),
    ("gaps", lambda x: x.cumulative("a").sum()),
    ("x", lambda x: x.cumulative(["a", "b"], min_periods=4).mean()),
]


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_the_call_is_that_of_xarray(k: int) -> None:
    given, call = CALLS[k]
    arrays = [DATA[name] for name in given.split(", ")]
    expected = call(*(xr.DataArray(data, dims=dims) for dims, data in arrays))
    got = call(*(ng.DimArray(data, dims) for dims, data in arrays))
    assert got.dims == expected.dims
    assert got.dtype == expected.dtype
    assert_close(got.data, expected.values, 10 * ROUNDING)


FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    *(("x, y, w", lambda m, *v, e=e: m.broadcast(*v, exclude=e)) for e in (None, [], "b", ["c"], ["c", "a"], ["c", "b", "a"])),
    ("x, o", lambda m, *v: m.broadcast(*v, exclude=["b", "a"])),
    ("x, y", lambda m, *v: m.concat(v, dim="a")),
    ("y, x", lambda m, *v: m.concat(v, dim="a")),
    ("w, y, x, number", lambda m, *v: m.concat(v, dim="c")),
    ("w, x", lambda m, *v: m.concat(v, dim="new")),
    *(("n", lambda m, v, f=f, d=d: m.full_like(v, f, dtype=d)) for f in (2, 2.5, True) for d in (None, "float32", bool)),
    ("x, number", lambda m, x, v: m.full_like(x, v if m is ng else v.item())),
]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_the_function_is_that_of_xarray(k: int) -> None:
    given, call = FUNCTIONS[k]
    arrays = [DATA[name] for name in given.split(", ")]
    expected = call(xr, *(xr.DataArray(data, dims=dims) for dims, data in arrays))
    got = call(ng, *(ng.DimArray(data, dims) for dims, data in arrays))
    assert isinstance(got, tuple) == isinstance(expected, tuple)
    for g, e in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
        assert (g.dims, g.dtype) == (e.dims, e.dtype)
        assert_close(g.data, e.values, ROUNDING)


def test_what_is_missing_is_said() -> None:
    x = ng.zeros({"a": 2, "b": 3})
    with pytest.warns(UserWarning, match=r"no dims \['z'\] in \(a: 2, b: 3\)"):
        assert x.transpose("b", "z", "a", missing_dims="warn").dims == ("b", "a")
    with pytest.warns(UserWarning, match="no dims"):
        assert x.isel(z=0, b=0, missing_dims="warn").dims == ("a",)
    for call in (lambda: x.transpose("a", "z"), lambda: x.isel(z=0), lambda: x.isel(z=0, missing_dims="raise")):
        with pytest.raises(ng.AxisError, match="no dim 'z'"):
            call()
    with pytest.raises(ValueError, match="missing_dims='no'"):
        x.isel(z=0, missing_dims="no")
    with pytest.raises(ng.AxisError, match="more than one ellipsis"):
        x.transpose(..., "a", ...)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda x: x.squeeze("a", axis=0), TypeError, "dim= or axis="),
        (lambda x: x.squeeze(axis=0), ng.AxisError, "'a' has size 2"),
        (lambda x: x.expand_dims(["n", "m"], axis=1), ng.AxisError, "axis=1 is not a place for each"),
        (lambda x: x.expand_dims("n", axis=7), ng.AxisError, "axis=7"),
        (lambda x: x.isel(a=("p", ng.DimArray([0], ("q",)))), ng.AxisError, "has names already"),
        (lambda x: x.weighted(x + np.nan), ValueError, "weights cannot be NaN"),
        (lambda x: x.sortby(x), ng.AxisError, "one dim each"),
        (lambda x: x.dropna("a", how="some"), ValueError, "how='some'"),
        (lambda x: x.astype(int, casting="safe"), TypeError, "casting='safe'"),
        (lambda x: x.copy(data=np.ones((3, 3))), ng.AxisError, "a: 3"),
        (lambda x: ng.full_like(x, x), ValueError, r"must be a scalar, got \(a: 2, b: 3\)"),
        (lambda x: x.get_axis_num("z"), ng.AxisError, "no dim 'z'"),
    ],
)
def test_arguments_that_make_no_sense_are_named(call: Callable[[Any], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call(ng.ones({"a": 2, "b": 3}))


DERIVATIVES: list[tuple[str, Callable[..., Any]]] = [
    ("gaps", lambda x: x.weighted(ng.DimArray(DATA["w"][1], "b")).var("b")),
    ("w", lambda w: ng.DimArray(DATA["gaps"][1], ("a", "b", "c")).weighted(w).std(["b", "a"])),
    ("x", lambda x: x.sortby(ng.DimArray(DATA["w"][1], "b"))),
    ("gaps", lambda x: x.combine_first(x.isel(a=0))),
    ("gaps", lambda x: x.cumulative("a").mean()),
    ("number", lambda v: ng.full({"z": 3}, v) * ng.arange("z", 3)),
    ("number", lambda v: ng.full_like(ng.ones({"z": 3}), v)),
    ("five", lambda x: x.isel(br=0, ar=0, o=slice(2))[("z", [0, 1, 1]), ("y", [0, 0])]),
]


@pytest.mark.parametrize("k", range(len(DERIVATIVES)))
def test_gradients_are_those_of_finite_differences(k: int) -> None:
    name, call = DERIVATIVES[k]
    dims, data = DATA[name]
    x = ng.DimArray(data, dims)
    out = call(x)
    cotangent = np.random.default_rng(k).normal(size=out.shape)

    def f(x: ng.DimArray) -> Any:
        y = call(x)
        return ng.where(y.notnull(), y * ng.DimArray(cotangent, y.dims), 0.0).sum()

    g = ng.grad(f)(x).data
    for at in np.random.default_rng(k).integers(0, max(data.size, 1), 6):
        place = np.unravel_index(at, data.shape)
        if np.isnan(data[place]):
            assert g[place] == 0
            continue
        step = np.zeros_like(data)
        step[place] = 1e-5
        up, down = (f(ng.DimArray(o(data, step), dims)).item() for o in (operator.add, operator.sub))
        assert_close(g[place], (up - down) / 2e-5, 1e-6)
