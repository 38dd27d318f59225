"""Square roots of complex numbers are lengths of which parts, absolute values and norms are none: 0 ends their slope."""

import numpy as np
import pytest

import namedgrad as ng

Z = np.array([0.3 - 0.4j, -1.0 + 0.2j, 0.5 + 1.5j, 0j])
ROOT, SLOPE, ONE = np.sqrt(Z[:3]), np.conj(0.5 / np.sqrt(Z[:3])), Z[:3] / abs(Z[:3])  # conjugate, as gradients are
MEAN = ROOT.sum() / 4

# a function of roots, and its gradient in cells that are not 0, of which the last one is
PARTS = {
    "real": (lambda y: np.sum(y.real), SLOPE),
    "imag": (lambda y: np.sum(y.imag), 1j * SLOPE),
    "a product of both": (lambda y: np.sum(y.real * y.imag), 0.5j),  # half of what is imaginary of the square
    "conj": (lambda y: np.sum(np.real(np.conj(y) * (1 + 2j))), (1 + 2j) * SLOPE),
    "abs": (lambda y: np.sum(abs(y)), ONE / (2 * np.sqrt(abs(Z[:3])))),
    "squared abs": (lambda y: np.sum(abs(y) ** 2), ONE),
    "norm": (np.linalg.norm, ONE / (2 * np.sqrt(np.sum(abs(Z))))),
    "norm of a matrix": (lambda y: np.linalg.norm(y.reshape(2, 2)), ONE / (2 * np.sqrt(np.sum(abs(Z))))),
    "var": (np.var, ONE / 4 - 2 * MEAN * SLOPE / 4),
    "a normalised vector": (lambda y: np.sum(abs(ng.normalize(y, 0)) ** 2 * np.array([1.0, 2.0, 3.0, 4.0])),
                            (np.array([1.0, 2.0, 3.0]) - np.sum(abs(Z) * [1, 2, 3, 4]) / np.sum(abs(Z))) * ONE / np.sum(abs(Z))),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("root", [np.sqrt, lambda z: z**0.5])
@pytest.mark.parametrize("name", PARTS)
def test_parts_and_norms_of_complex_roots(name, root, compiled):
    """They were complex, or those of squares that are, beside a cell of 0; in compiled programs everywhere."""
    f, want = PARTS[name]
    gradient = ng.grad(lambda z: f(root(z)))
    with np.errstate(divide="ignore", invalid="ignore"):
        got = (ng.compile(gradient) if compiled else gradient)(Z)
    np.testing.assert_allclose(got[:3], np.broadcast_to(want, 3), rtol=1e-12)


def test_norms_of_complex_numbers_that_are_computed_from_lengths():
    turned = lambda z: np.linalg.norm(abs(z) * (3 + 4j))
    for gradient in (ng.grad(turned), ng.compile(ng.grad(turned))):
        np.testing.assert_allclose(gradient(Z), 5 * Z / np.linalg.norm(Z), rtol=1e-14)


def test_roots_of_complex_numbers_in_compiled_programs_elsewhere():
    """A program that is recorded without a 0 is right beside one."""
    program = ng.compile(ng.grad(lambda z: np.sum(np.cos(np.sqrt(z).real))))
    want = -np.sin(ROOT.real) * SLOPE
    np.testing.assert_allclose(program(Z[:3]), want, rtol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_allclose(program(np.append(Z[1:], Z[0]))[[3, 0, 1]], want, rtol=1e-12)


# amplitudes of probabilities p, and of which p and the weights their squares are the sum
TURN = np.exp(1j * np.array([0.3, 0.8]))
AMPLITUDES = {
    "abs": (lambda p: np.sum(abs(np.sqrt(p) * TURN) ** 2), 1),
    "of a power": (lambda p: np.sum(abs(p**0.5 * TURN) ** 2), 1),
    "abs of a conjugate": (lambda p: np.sum(abs(np.conj(np.sqrt(p) * TURN)) ** 2), 1),
    "real abs": (lambda p: np.sum(abs(-3 * np.sqrt(p)) ** 2), 9),
    "hypot": (lambda p: np.sum(np.hypot(np.sqrt(p), 2 * np.sqrt(p)) ** 2), 5),
    "norm": (lambda p: np.linalg.norm(np.sqrt(p) * TURN) ** 2, 1),
    "beside others": (lambda p: np.sum(abs(np.stack([np.sqrt(p) * TURN, TURN])) ** 2), 1),
    "parts": (lambda p: np.sum((np.sqrt(p) * TURN).real ** 2 + (np.sqrt(p) * TURN).imag ** 2), 1),
}


@pytest.mark.parametrize("p", [[0.0, 0.7], [0.0, 0.0], [0.2, 0.8]])
@pytest.mark.parametrize("name", AMPLITUDES)
def test_squares_of_amplitudes_are_probabilities(name, p):
    """The slope where one is 0 was 0."""
    f, weight = AMPLITUDES[name]
    p, v = np.array(p), np.array([1.0, 2.0])
    for g in (ng.grad(f), ng.compile(ng.grad(f)), lambda p: ng.jacobian(f, mode="forward")(p)):
        np.testing.assert_allclose(g(p), [weight, weight], rtol=1e-12)
    for h in (lambda p: ng.hvp(f, p, v), ng.compile(lambda p: ng.hvp(f, p, v))):
        np.testing.assert_allclose(h(p), [0, 0], atol=1e-12)


def test_lengths_are_written_beside_complex_cells():
    """In a program, a complex cell was written into the real root."""
    beside = lambda x: np.sum(abs(_written(np.stack([np.linalg.norm(x), np.linalg.norm(2 * x)]))) ** 2)
    for x in (np.zeros(2), np.array([0.3, 0.7])):  # |x|² + |2 x|² and a constant
        for g in (ng.grad(beside), ng.compile(ng.grad(beside))):
            np.testing.assert_allclose(g(x), 10 * x, atol=1e-12)
        for h in (lambda x: ng.hvp(beside, x, x + 1), ng.compile(lambda x: ng.hvp(beside, x, x + 1))):
            np.testing.assert_allclose(h(x), 10 * (x + 1), rtol=1e-12)


def _written(y):
    z = Z + 0j * np.concatenate([y, y])
    z[:2] = y
    return z


@pytest.mark.parametrize("square", [lambda y: y.real**2, lambda y: (y * y).real, lambda y: (y * np.conj(y)).real, lambda y: (y**2).real, lambda y: abs(y) ** 2])
def test_squares_of_moduli_by_products(square):
    """``sqrt(z conj(z))`` is complex, too, of which the squares were refused beside a cell of 0."""
    gradient = ng.grad(lambda z: np.sum(square(np.sqrt(z * np.conj(z)))))
    for g in (gradient, ng.compile(gradient)):
        np.testing.assert_allclose(g(Z), 2 * Z, rtol=1e-14, atol=1e-14)
