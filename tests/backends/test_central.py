"""Central differences and their transpose in arrays that are hardly longer than a stencil."""

from __future__ import annotations

import numpy as np
import pytest

from namedgrad.backends import NUMPY


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("n", [*range(2, 9)])
def test_central_differences_and_their_transpose(n: int, edge_order: int) -> None:
    if n <= edge_order:
        return
    rows = np.gradient(np.eye(n), axis=1, edge_order=edge_order)
    np.testing.assert_allclose(NUMPY.central(np.eye(n), 1, edge_order), rows, rtol=1e-15)
    np.testing.assert_allclose(NUMPY.central_back(np.eye(n), 1, edge_order), rows.T, rtol=1e-15)
    np.testing.assert_allclose(NUMPY.central_back(np.eye(n)[::-1].T, 0, edge_order), rows.T[::-1].T, rtol=1e-15)
