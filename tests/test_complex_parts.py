"""Real numbers made of complex ones meet complex ones: what is pulled back to them is real."""

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng

X = np.array([0.2 + 0.1j, -0.3j, 0.4 + 1.0j, 0.5 - 0.2j])
Q = np.array([1.0 + 2.0j, 2.0 - 1.0j, 0.5j, 1.0])
M = np.array([[3.0, 1j, 0.2, 0.0], [1.0 - 1j, 4.0, 0.0, 1.0], [0.5, 0.3j, 5.0, 2.0], [1.0, 2.0, 1j, 4.0 - 1j]])

# the real number, and its gradient
PARTS = {
    "real": (np.real, np.ones(4)),
    "imag": (np.imag, np.full(4, 1j)),
    "abs": (np.abs, X / abs(X)),
    "angle": (np.angle, 1j * X / abs(X) ** 2),
}
# linear functions of four real numbers; plain NumPy tells what they give of unit vectors
LINEAR = {
    "dot": lambda y: np.dot(Q, y),
    "vdot": lambda y: np.vdot(Q, y) + np.vdot(y, Q),
    "matmul": lambda y: np.sum(M @ y),
    "einsum": lambda y: np.einsum("i,j,ij->", y, Q, M),
    "tensordot": lambda y: np.sum(np.tensordot(M, y, 1)),
    "multi_dot": lambda y: np.linalg.multi_dot([Q, M, y]),
    "convolve": lambda y: np.sum(np.convolve(Q, y)),
    "solve": lambda y: np.sum(np.linalg.solve(M, y)),
    "solve_triangular": lambda y: np.sum((scipy if isinstance(y, np.ndarray) else ng).linalg.solve_triangular(np.tril(M), y, lower=True)),
    "lstsq": lambda y: np.sum(np.linalg.lstsq(M[:, :2], y, rcond=None)[0]),
    "fft": lambda y: np.dot(Q, np.fft.fft(y)),
    "joined": lambda y: np.dot(np.concatenate([Q, y]), np.append(Q, Q)),
    "added in place": lambda y: _added(y),
    "sums as complex numbers": lambda y: np.sum(y, dtype=complex) * (1 + 1j),
    "product": lambda y: np.sum(Q * y),
}  # fmt: skip


def _added(y):
    z = Q + 0 * y
    np.add.at(z, [0, 0, 1, 2], y)
    return np.dot(Q, z)


@pytest.mark.parametrize("of", [np.real, np.imag])
@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("part", PARTS)
def test_what_is_pulled_back_to_a_real_number_is_real(part, name, of):
    """Contractions and matrix operations passed on a complex one: wrong through ``real``, and refused by all others."""
    made, slope = PARTS[part]
    linear = LINEAR[name]
    zero = linear(np.zeros(4))
    want = slope * [of(linear(unit) - zero) for unit in np.eye(4)]
    gradient = ng.grad(lambda x: of(linear(made(x))))
    for g in (gradient, ng.compile(gradient)):
        np.testing.assert_allclose(g(X), want, rtol=1e-12, atol=1e-12)
    tangent = ng.pushforward(lambda x: of(linear(made(x))), (X,), (Q,))[1]
    np.testing.assert_allclose(tangent, np.sum(np.real(np.conj(want) * Q)), rtol=1e-12)


def test_real_matrices_of_complex_numbers():
    """The Hessian, too: of ``Re(b^H A^-1 b)`` with ``A = diag(|x|²)``."""
    f = lambda x: np.real(np.vdot(Q, np.linalg.solve(np.diag(np.abs(x) ** 2), Q)))
    np.testing.assert_allclose(ng.grad(f)(X), -2 * abs(Q) ** 2 * X / abs(X) ** 4, rtol=1e-12)
    turned = ng.hvp(f, X, 1j * X)  # along a circle the gradient turns with it
    np.testing.assert_allclose(turned, 1j * ng.grad(f)(X), rtol=1e-12)
