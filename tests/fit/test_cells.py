"""What a fit takes from its arguments."""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.fit.cells import BLOCK, Rows, arrays, map_arrays
from namedgrad.fit.threads import Crew
from namedgrad.transforms.leaves import vectorize_tree


def test_the_arrays_of_a_leaf_are_those_that_are_mapped():
    x = xr.DataArray(np.ones((2, 3)), {"c": [1, 2], "t": [1.0, 2.0, 3.0], "h": ("c", [5.0, 6.0])}, ("c", "t"), name="x")
    tree = xr.DataTree.from_dict({"/": x.to_dataset(), "/k": xr.Dataset({"z": x.h})})
    named = [vectorize_tree(leaf, ("c",)) for leaf in (x, x.variable, x.to_dataset(), tree)]
    for leaf in (*named, ng.DimArray(np.ones(2), "c"), x, 1.0):
        seen = []
        map_arrays(leaf, lambda a, seen=seen: seen.append(a) or a)
        assert [(a.names, a.raw.tolist()) for a in arrays(leaf)] == [(a.names, a.raw.tolist()) for a in seen]
        assert bool(seen) == (leaf is not x and not isinstance(leaf, float))


@pytest.mark.parametrize("count", [1, BLOCK - 1, 2 * BLOCK + 3])
@pytest.mark.parametrize("cells", [1023, 1024, 1030])  # whose numbers share places in the cache, and do not
def test_rows_are_turned(cells, count):
    data = np.random.default_rng(0).normal(size=(40, 3, cells)).transpose(2, 0, 1)
    index = np.arange(5, 5 + count)
    rows = Rows(data, ())
    np.testing.assert_array_equal(rows.taken(index), data[5 : 5 + count])
    rows.fetch(index)
    assert rows.taken(index).flags.c_contiguous
    np.testing.assert_array_equal(rows.taken(index), data[5 : 5 + count])


@pytest.mark.parametrize("interval", [0.005, 9e-5])  # of the latter Python gives back a little less
def test_threads_take_turns_more_often_while_they_share_a_fit(monkeypatch, interval):
    monkeypatch.setattr("namedgrad.fit.threads.threads", lambda: 2)
    at_first = sys.getswitchinterval()
    try:
        sys.setswitchinterval(interval)
        before = sys.getswitchinterval()
        with contextlib.suppress(KeyboardInterrupt), Crew().at_work(is_wanted=True), Crew().at_work(is_wanted=True):
            assert sys.getswitchinterval() <= min(before, 1e-4)
            raise KeyboardInterrupt
        assert sys.getswitchinterval() == before
    finally:
        sys.setswitchinterval(at_first)
