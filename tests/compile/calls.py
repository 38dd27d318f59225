"""Arguments of functions that are compiled, a count of their runs, and equality of what they return."""

from __future__ import annotations

from typing import Any

import numpy as np

import namedgrad as ng
from tests.support.arrays import normal


class Counted:
    """A function that counts its runs."""

    def __init__(self, f: Any) -> None:
        self.f, self.runs = f, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.f(*args, **kwargs)


def same(got: Any, want: Any, tolerance: float = 1e-13) -> None:
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want)
        for a, b in zip(got, want, strict=True):
            same(a, b, tolerance)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        same(list(got.values()), list(want.values()), tolerance)
    elif isinstance(want, ng.DimArray):
        assert (got.dims, got.vectorized, got.dtype) == (want.dims, want.vectorized, want.dtype)
        np.testing.assert_allclose(got.to_numpy(), want.to_numpy(), tolerance)
    else:
        np.testing.assert_allclose(got, want, tolerance)


def tanh_sum(x: ng.DimArray) -> ng.DimArray:
    return ng.tanh(x).sum()


X = normal(3, 4)
