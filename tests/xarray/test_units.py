"""Units of derivatives: as text, and as quantities where pint is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import data_set, field


@pytest.mark.parametrize(
    ("out", "by", "expected"),
    [
        ("K", "W m-2", "K / (W m-2)"),
        ("kg m-2 s-1", "degrees_north", "kg m-2 s-1 / (degrees_north)"),
        ("K", "s", "K / s"),
        ("K", "K", "1"),
        ("m2", "1", "m2"),
        ("1", "m", "1 / m"),
        (None, "m", None),
        ("K", None, None),
    ],
)
def test_units_are_text(out, by, expected, without_pint):
    check_units(out, by, expected)


@pytest.fixture
def pints_own_units():
    """A registry without what packages may have added to that in use; another such one when it is called."""
    pint = pytest.importorskip("pint")
    before = pint.get_application_registry().get()
    fresh = lambda: pint.set_application_registry(pint.UnitRegistry())
    fresh()
    yield fresh
    pint.set_application_registry(before)


@pytest.mark.parametrize(
    ("out", "by", "expected"),
    [
        ("K", "W m-2", "K*m**2/W"),
        ("J", "K", "J/K"),
        ("kg m-2 s-1", "kg m**-2 s**-1", "1"),
        ("W/m2", "W m-2", "1"),
        ("K", "K", "1"),
        ("psu", "K", "psu / K"),
        ("K", "days since 1970-01-01", "K / (days since 1970-01-01)"),
        ("1e-3", "m", "1e-3 / m"),
        (None, "m", None),
    ],
)
def test_units_are_quantities_where_pint_is_installed(out, by, expected, pints_own_units):
    check_units(out, by, expected)


def test_units_are_quantities_of_the_registry_that_is_in_use_now(pints_own_units):
    """Packages (MetPy, xclim) bring registries of their own, which make no quotients of each other's units."""
    check_units("J", "K", "J/K")
    pints_own_units()
    check_units("Pa", "K", "Pa/K")
    check_units("J", "m", "J/m")


def test_what_pint_wraps_has_no_name():
    """Its arrays hand on whatever attribute of ours xarray asks for, as MetPy's functions make them."""
    pint = pytest.importorskip("pint")
    x = xr.DataArray([1.0, 2.0, 3.0], dims="x", name="t", attrs={"units": "K"})
    names = []

    def f(x):
        squares = xr.DataArray(pint.Quantity(x.data, "K") ** 2, dims=x.dims)
        names.append(squares.name)
        return squares.copy(data=squares.data.magnitude).sum()

    g = ng.grad(f)(x)
    assert names == [None]
    assert g.attrs["long_name"] == "d(f)/d(t)"
    np.testing.assert_array_equal(g, [2.0, 4.0, 6.0])


@pytest.fixture
def without_pint(monkeypatch):
    monkeypatch.setitem(sys.modules, "pint", None)


def check_units(out, by, expected):
    x = field()
    x.attrs = {"note": "kept"} | ({} if by is None else {"units": by})

    def f(x):
        y = (x**2).sum()
        y.attrs = {} if out is None else {"units": out}
        return y.rename("loss")

    g = ng.grad(f)(x)
    assert g.attrs.get("units") == expected
    assert g.attrs["long_name"] == "d(loss)/d(tas)"
    assert g.attrs["note"] == "kept"


def test_units_of_dataset_variables_and_jacobians(without_pint):
    ds = data_set()
    ds.b.attrs["units"] = "m"
    f = lambda d: (d.a * d.b).sum().assign_attrs(units="J")
    g = ng.grad(f)(ds)
    assert (g.a.attrs["units"], g.b.attrs["units"]) == ("J / K", "J / m")
    mean = lambda x: (x**2).mean("time").assign_attrs(units="J")
    assert ng.jacobian(mean, over="lat")(field()).attrs["units"] == "J / K"
    out, pull = ng.pullback(mean, field())
    assert pull(out).attrs["units"] == "J / K"
    assert ng.linearize(mean, field())[1].T(out).attrs["units"] == "J / K"
    out, pull = ng.pullback(lambda x: (x, x.mean()), field())
    assert "units" not in pull(out).attrs
    loss = lambda x: (x**3).sum().assign_attrs(units="J")
    assert ng.hessian(loss, part="diagonal")(field()).attrs["units"] == "J / K / K"
    assert ng.hessian(loss)(field()[:2, 0]).attrs["units"] == "J / K / K"
