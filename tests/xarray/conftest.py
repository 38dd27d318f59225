"""Fixtures of the tests of xarray programs."""

import pytest
import xarray as xr


@pytest.fixture
def without_flox():
    """xarray's own sums, where flox 0.11 fails with plain arrays (several groupers, NaT) or adds in another order."""
    with xr.set_options(use_flox=False):
        yield
