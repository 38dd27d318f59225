"""Unmodified xarray programs: recorded for some data, they give for other data what they give without ``compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.compile.calls import Counted
from tests.xarray.programs import PROGRAMS, Program, field, with_gaps

# What this does depends on values, so that it cannot be recorded.
BY_VALUE = {"dropna"}
NAMELESS = {"as numpy functions"}  # xarray takes the method .name of a positional array for the name of a DataArray
DATES = xr.date_range("2000-01-01", periods=3, freq="MS", calendar="360_day", use_cftime=True)
EACH = pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name not in BY_VALUE], ids=lambda p: p.name)


def replayed(f: Callable[..., Any], *points: Any, names: bool = True) -> None:
    counted = Counted(f)
    compiled = ng.compile(counted)
    for x in (*points, points[0]):
        got, want = compiled(x), f(x)
        for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            xr.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
            assert type(a) is type(b)
            assert a.attrs == b.attrs
            described = [(o if names else o.rename(None)).to_dict(data=False) for o in (a, b)]
            assert described[0] == described[1]
    assert counted.runs == 1


def cubes(out: Any) -> Any:
    """A sum that depends on the data even where those of the squares are fixed, as of what is divided by its deviation."""
    return (out**3).sum() if isinstance(out, xr.DataArray) else sum((v**3).sum() for v in out.data_vars.values())


@EACH
def test_values(program: Program) -> None:
    replayed(program.function, field(), field(1), with_gaps(2), names=program.name not in NAMELESS)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in BY_VALUE], ids=lambda p: p.name)
def test_programs_that_depend_on_values_are_refused(program: Program) -> None:
    with pytest.raises(ng.TraceError, match=r"inside ng\.compile"):
        ng.compile(program.function)(field())


@EACH
def test_gradients(program: Program) -> None:
    def loss(x: xr.DataArray) -> Any:
        total = cubes(program.function(x))
        return total.drop_vars(list(total.coords))

    replayed(ng.value_and_grad(loss), field(), field(1), with_gaps(2))


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if "lat" in p.over and p.name not in BY_VALUE], ids=lambda p: p.name
)
def test_gradients_over_a_dim(program: Program) -> None:
    replayed(ng.grad(lambda x: cubes(program.function(x)), over="lat"), field(), field(1), with_gaps(2))


@pytest.mark.parametrize("over", [(), "lon"])
def test_the_cell_where_several_dims_are_largest(over: Any) -> None:
    gradient = ng.compile(ng.grad(lambda x: (x.isel(x.argmax(["lat", "time"])) ** 2).sum(), over=over))
    for x in (field(), field(1)):
        want = xr.where(x == x.max(["lat", "time"]), 2 * x, 0.0)
        xr.testing.assert_allclose(gradient(x).transpose(*x.dims).drop_vars(x.coords), want.drop_vars(x.coords), rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "f"),
    [
        (list("abc"), lambda x: x.where(x.k == x.idxmax("k")).sum("k")),
        (list("abc"), lambda x: x * (x.k == x.isel(k=x.argmax("k")).k)),
        (DATES, lambda x: x.where(x.k <= x.idxmax("k")).sum("k")),
        (DATES, lambda x: x.where(x.k < x.k.isel(k=x.argmax("k"))).sum("k")),
    ],
    ids=["label", "label by position", "date", "date by position"],
)
def test_one_of_labels_that_are_objects(labels: Any, f: Callable[..., Any]) -> None:
    points = [xr.DataArray(v, dims="k", coords={"k": labels}) for v in ([1.0, 3.0, 2.0], [2.0, 1.0, 5.0])]
    replayed(f, *points)
    replayed(ng.grad(lambda x: cubes(f(x))), *points)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 4, 5), [5, 12], (60,), 60])
def test_places_of_flat_positions(shape: Any, order: Any) -> None:
    f = lambda at: np.unravel_index(at, shape, order)
    compiled = ng.compile(f)
    for at in (np.array([[3, 59], [0, 17]]), np.array([[1, 40], [21, 8]])):
        for a, b in zip(compiled(ng.positional(at)), f(at), strict=True):
            np.testing.assert_array_equal(a.data, b, strict=True)


@pytest.mark.parametrize("option", [{"arithmetic_join": "outer"}, {"keep_attrs": False}, {"arithmetic_join": "left"}])
def test_options_of_xarray_count(option: dict[str, Any]) -> None:
    x = xr.DataArray([1.0, 2.0, 3.0], dims="x", coords={"x": [0, 1, 2]}, attrs={"units": "K"})

    def f(x: xr.DataArray) -> xr.DataArray:
        return x * x.isel(x=slice(1, None)).assign_coords(x=[1, 7])

    compiled = ng.compile(f)
    xr.testing.assert_identical(compiled(x), f(x))
    with xr.set_options(**option):
        xr.testing.assert_identical(compiled(x), f(x))
    xr.testing.assert_identical(compiled(x), f(x))


@pytest.mark.parametrize("other", [np.array([0.123456789012]), np.where(np.arange(2000) == 1000, 7.0, 0.1)])
@pytest.mark.parametrize("place", [lambda x, w: x.assign_attrs(w=w), lambda x, w: x.assign_attrs(w=[{"of": w}])])
def test_every_digit_and_cell_of_attributes_counts(other: np.ndarray, place: Callable[..., Any]) -> None:
    def f(x: xr.DataArray) -> xr.DataArray:
        w = x.attrs["w"]
        return x * (w if isinstance(w, np.ndarray) else w[0]["of"]).sum()

    compiled, x = ng.compile(f), xr.DataArray([1.0, 2.0], dims="x")
    first = np.array([0.123456789013]) if other.size == 1 else np.full(2000, 0.1)
    for w in (first, other, first):
        xr.testing.assert_allclose(compiled(place(x, w)), f(place(x, w)), rtol=1e-15)
