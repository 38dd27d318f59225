"""Fourier transforms of real arrays and cotangents, which take other ways than complex ones: the oracle is NumPy."""

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(3)
NORMS = (None, "ortho", "forward")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn"])
@pytest.mark.parametrize("kind", ["f4", "f8", "c16", "i8", ">f4"])
def test_all_dims_at_once(name, norm, kind):
    x = np.asarray(10 * RNG.normal(size=(3, 4, 5))).astype(kind)
    found = getattr(ng, name)(ng.DimArray(x.transpose(2, 0, 1), ("c", "a", "b")), ("a", "c"), norm=norm)
    expected = getattr(np.fft, name)(x.astype(x.dtype.newbyteorder("=")), axes=(0, 2), norm=norm).transpose(2, 0, 1)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.data, expected, rtol=1e-5 if "4" in kind else 1e-12, atol=1e-4)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("real_seed", [True, False])
def test_gradients_are_the_transposed_matrix(name, norm, real_seed):
    half = name in {"irfft2", "hfft2"}
    x = RNG.normal(size=(4, 3)) + (1j * RNG.normal(size=(4, 3)) if half else 0)
    out, pull = ng.pullback(lambda x: getattr(ng, name)(x, ("a", "b"), norm=norm), ng.DimArray(x, ("a", "b")))
    g = RNG.normal(size=out.data.shape) + (0 if real_seed or half else 1j * RNG.normal(size=out.data.shape))
    cells = np.eye(12).reshape(12, 4, 3)
    f = getattr(np.fft, name, None) or _hermitian(name)

    def slopes(step):
        return np.array([np.sum(np.real(np.conj(g) * f(step * cell, norm=norm))) for cell in cells]).reshape(4, 3)

    expected = slopes(1) + (1j * slopes(1j) if half else 0)
    got = pull(ng.DimArray(g, out.dims)).data
    assert got.dtype == x.dtype
    np.testing.assert_allclose(got, expected, atol=1e-12)


def _hermitian(name):
    import scipy.fft

    return getattr(scipy.fft, name)


def test_empty_batch():
    assert ng.fftn(ng.zeros({"n": 0, "a": 3, "b": 2}), ("a", "b")).data.shape == (0, 3, 2)


@pytest.mark.parametrize("dims", [("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_angles_of_the_spectrum_of_a_real_array(name, dims):
    """Real frequencies below 0 have the angle pi, not -pi: zeros have the sign that NumPy gives them."""
    x = -np.array([[1.0, 2, 3, 4], [2, 2, 2, 2], [4, 3, 2, 1], [1, 2, 1, 2]])
    want = getattr(np.fft, name)(x, axes=["ab".index(d) for d in dims])
    got = getattr(ng, name)(ng.DimArray(x, ("a", "b")), dims).data
    real = (want.imag == 0) & (want.real < 0)
    np.testing.assert_array_equal(np.angle(got[real]), np.pi)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 16])
def test_zeros_of_the_inverse_half_spectrum_have_the_signs_of_numpy(n):
    x = np.stack([RNG.normal(size=n), np.zeros(n), np.ones(n)])
    found, expected = ng.ihfft(ng.DimArray(x, ("a", "b")), "b").data, np.fft.ihfft(x, axis=1)
    real = [0, n // 2] if n % 2 == 0 else [0]  # frequencies that are their own conjugates
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(np.signbit(found.imag[:, real]), np.signbit(expected.imag[:, real]))
