"""Differences that comparing with PyTorch has shown; each is checked here against differences or closed forms."""

import numpy as np
import pytest

import namedgrad as ng


def test_softsign_of_complex_numbers():
    x, direction = np.array([0.3 + 0.4j, -1 + 2j]), np.array([1.1 - 0.7j, 0.2 + 0.5j])
    f = lambda x: x / (1 + np.abs(x))
    _, tangent = ng.pushforward(ng.softsign, (x,), (direction,))
    np.testing.assert_allclose(tangent, (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6, rtol=1e-8)


@pytest.mark.parametrize("order", [0.5, 1.5, 3.0])
def test_norms_of_vectors_with_zeros(order):
    x = np.array([0.0, 2.0, -3.0])
    inner = np.linalg.norm(x, order) ** (1 - order) * np.sign(x) * np.abs(x, where=x != 0, out=np.ones(3)) ** (order - 1)
    np.testing.assert_allclose(ng.grad(lambda x: np.linalg.norm(x, order))(x), inner, rtol=1e-13)
    assert (ng.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3)) == 0).all()
    assert np.isfinite(ng.hessian(lambda x: np.linalg.norm(x, order))(x)).all()
