"""What a fit takes from its arguments."""

from __future__ import annotations

import numpy as np
import xarray as xr

import namedgrad as ng
from namedgrad.fit.cells import arrays, map_arrays
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
