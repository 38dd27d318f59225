"""Every tolerance of the tests, relative to the largest element of what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np

EXACT = 0.0
ROUNDING = 1e-12  # the same sums in another order: batched against a loop of slices
CLOSED = 1e-12  # the answers at special points
REFERENCE = 1e-13  # NumPy, SciPy and xarray, which may sum in another order too
MATRIX = 1e-10  # ROUNDING times the condition number of the sampled matrices
FIRST = 1e-7  # finite differences: Richardson's, fourth order in the step
SECOND = 1e-6  # finite differences of a gradient
SINGLE = 3e-5  # float32 against float64

BENDS = 1e-4  # by which differences of two steps may differ, before smaller ones are taken
NOTHING = 1e-9  # below this a derivative is 0, and what two steps differ by is rounding
STEP = 1e-3  # of the differences, before Richardson's extrapolation
SECOND_STEP = 5e-4


def assert_close(actual: Any, expected: Any, tolerance: float, what: str = "", least: float = 1e-3) -> None:
    """Equal shapes, NaN in the same cells, and no cell off by more than ``tolerance`` of the largest expected one.

    Where all are small, because much cancels, ``least`` counts as the largest.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    if tolerance == EXACT or expected.dtype.kind in "biu":
        assert np.array_equal(actual, expected, equal_nan=expected.dtype.kind in "fc"), f"{what}:\n{actual}\nexpected\n{expected}"
        return
    gone = np.isnan(expected)
    assert np.array_equal(np.isnan(actual), gone), f"{what}: NaN at other cells:\n{actual}\nexpected\n{expected}"
    infinite = np.isinf(expected)
    assert np.array_equal(actual[infinite], expected[infinite]), f"{what}:\n{actual}\nexpected\n{expected}"
    rest = ~(gone | infinite)
    scale = max(float(np.abs(expected[rest]).max(initial=0.0)), least)
    worst = float(np.abs(actual[rest] - expected[rest]).max(initial=0.0))
    assert worst <= tolerance * scale, f"{what}: off by {worst / scale:.2g} of the largest:\n{actual}\nexpected\n{expected}"
