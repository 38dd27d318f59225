"""Random arrays whose dims all have another size, and a function of them that is not symmetric in anything."""

from __future__ import annotations

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(4)
SIZES = {"x": 2, "y": 3, "z": 4, "b": 5, "c": 2}


def array(dims: str, vectorized: Any = ()) -> ng.DimArray:
    return ng.DimArray(RNG.normal(size=[SIZES[d] for d in dims]), tuple(dims), vectorized=vectorized)


W = array("yx")


def f(x: ng.DimArray) -> ng.DimArray:
    """From (x, z) to (z, y)."""
    return ng.dot(np.sin(x * x.isel(z=0)), W, dim="x").cumsum("z") * x.sum("x")
