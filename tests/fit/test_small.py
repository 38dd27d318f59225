"""Small systems, one per cell, against NumPy."""

from __future__ import annotations

import numpy as np

from namedgrad.fit import small


def test_systems_are_solved_and_a_singular_one_keeps_to_itself():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        a = rng.normal(size=(9, n, n))
        a = a @ np.swapaxes(a, 1, 2) + 0.1 * np.eye(n)
        b = rng.normal(size=(9, n))
        last = np.moveaxis(a, 0, -1).copy()
        x = small.solve(small.cholesky(last), b.T)
        np.testing.assert_allclose(x.T, np.linalg.solve(a, b[..., None])[..., 0], rtol=1e-9)
        np.testing.assert_allclose(np.moveaxis(small.inverse(last), -1, 0), np.linalg.inv(a), rtol=1e-8)
        last[..., 4] = -1.0
        found = small.inverse(last)
        assert np.isnan(found[..., 4]).any()
        np.testing.assert_array_equal(np.delete(found, 4, -1), small.inverse(np.delete(last, 4, -1)))
