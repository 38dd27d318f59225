"""Every call of the catalogue: value and gradient against the plain program, with missing cells, and over other dims."""

from __future__ import annotations

import os

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.catalogue import CATALOGUE
from tests.xarray.catalogue.entry import Entry, data
from tests.xarray.harness import arrays, check_gradient, check_over, check_value, quiet

ALL = os.environ.get("NAMEDGRAD_GRID") == "1"
ANSWERED = [e for e in CATALOGUE if not e.refused]
NAMES = [e.name for e in CATALOGUE]


def tolerances(entry: Entry) -> dict[str, float]:
    """SciPy's fits end where their steps are small, which differences magnify."""
    return {"value_tolerance": 1e-6, "tolerance": 1e-3} if "curvefit" in entry.name else {}


def given(entry: Entry, *, gaps: bool):
    """The data, where xarray itself can run the call: it needs packages for some, and refuses gaps in others."""
    x = data(entry, gaps=gaps)
    try:
        assert any(np.isfinite(a).any() for a in arrays(entry.function(x))), "nothing that could be differentiated"
    except ImportError as error:
        pytest.skip(str(error))
    except (ValueError, TypeError) as error:
        if not gaps:
            raise
        with pytest.raises(type(error)):
            ng.value_and_grad(lambda x: entry.function(x).sum())(x)
        pytest.skip(f"xarray refuses gaps: {error}")
    return x


def test_the_catalogue_is_large_and_few_calls_are_refused():
    assert len(set(NAMES)) == len(NAMES) >= 700
    assert len(ANSWERED) >= 0.97 * len(CATALOGUE)


@pytest.mark.parametrize("entry", ANSWERED, ids=lambda e: e.name)
def test_gradient_is_the_finite_difference(entry):
    with quiet():
        check_gradient(entry.function, given(entry, gaps=False), directions=3 if ALL else 1, **tolerances(entry))


@pytest.mark.parametrize("entry", ANSWERED, ids=lambda e: e.name)
def test_value_is_that_of_xarray_in_all_its_parts(entry):
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if "curvefit" in entry.name else {}
    if entry.name.startswith("rolling_exp "):
        pytest.skip("numbagg's variances of few cells are rounding errors")
    with quiet(), xr.set_options(use_flox=False):  # which orders what it returns otherwise
        check_value(entry.function, given(entry, gaps=True), **tolerance)


@pytest.mark.parametrize("entry", ANSWERED, ids=lambda e: e.name)
def test_missing_cells_get_exactly_zero_and_spoil_nothing(entry):
    with quiet():
        check_gradient(entry.function, given(entry, gaps=True), directions=3 if ALL else 1, **tolerances(entry))


@pytest.mark.parametrize(
    ("entry", "dim"),
    [(e, d) for e in ANSWERED for d in (e.over if ALL else e.over[:1])],
    ids=lambda v: getattr(v, "name", v),
)
def test_over_is_the_loop_of_slices(entry, dim):
    with quiet():
        check_over(entry.function, given(entry, gaps=True), dim, slices=None if ALL else 1)


@pytest.mark.parametrize("entry", [e for e in CATALOGUE if e.refused], ids=lambda e: e.name)
def test_what_is_refused_says_why(entry):
    with pytest.raises(ng.TraceError, match=entry.refused):
        ng.grad(lambda x: entry.function(x).sum())(data(entry, gaps=False))
