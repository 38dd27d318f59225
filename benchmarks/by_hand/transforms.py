"""Fourier transforms and signals of a million cells by hand in NumPy and SciPy; see the package."""

from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

import namedgrad as ng

RNG = np.random.default_rng(10)
N, HALF = 1000, 501
SIDE = 100
ORDER = 10
PIECE, HOP = 256, 64
WINDOW = scipy.signal.get_window("hann", PIECE)
POINTS = np.linspace(-1, 1, N)


def _often(n: int) -> np.ndarray:
    """How often a frequency stands in a whole spectrum."""
    return np.array([1.0, *[2.0] * (n // 2 - 1), 1.0])


TWICE, TWICE_SHORT, SPECTRUM = _often(N), _often(SIDE), _often(PIECE)


# ------------------------------------------------------------------------------------------------ Fourier


def _idct_pull(g: np.ndarray) -> np.ndarray:
    out = scipy.fft.dct(g, axis=1)
    out *= 1 / (2 * N)
    out[:, 0] /= 2
    return out


def _scaled(x: np.ndarray, by: Any) -> np.ndarray:
    x *= by
    return x


Rows = dict[str, tuple[Any, Any, Any]]

# fmt: off
REAL: Rows = {  # here, along the last dim or both; by hand; gradient of g; x is real
    "ifft":   (lambda x: ng.ifft(x, "b"),  lambda x: scipy.fft.ifft(x, axis=1),
               lambda g: scipy.fft.ifft(g, axis=1).real),
    "ihfft":  (lambda x: ng.ihfft(x, "b"), lambda x: scipy.fft.ihfft(x, axis=1),
               lambda g: _scaled(scipy.fft.fft(g, N, axis=1).real, 1 / N)),
    "idct":   (lambda x: ng.idct(x, "b"),  lambda x: scipy.fft.idct(x, axis=1),  _idct_pull),
    "fft2":   (lambda x: ng.fft2(x, ("a", "b")),   scipy.fft.fft2,   lambda g: scipy.fft.fft2(g).real),
    "ifft2":  (lambda x: ng.ifft2(x, ("a", "b")),  scipy.fft.ifft2,  lambda g: scipy.fft.ifft2(g).real),
    "rfft2":  (lambda x: ng.rfft2(x, ("a", "b")),  scipy.fft.rfft2,  lambda g: scipy.fft.fft2(g, (N, N)).real),
    "ihfft2": (lambda x: ng.ihfft2(x, ("a", "b")), scipy.fft.ihfft2, lambda g: scipy.fft.ifft2(g, (N, N)).real),
    "fftshift":  (ng.fftshift,  np.fft.fftshift,  np.fft.ifftshift),
    "ifftshift": (ng.ifftshift, np.fft.ifftshift, np.fft.fftshift),
}
HERMITIAN: Rows = {  # the same; x has the frequencies that are not negative
    "irfft":  (lambda x: ng.irfft(x, "b"), lambda x: scipy.fft.irfft(x, axis=1),
               lambda g: _scaled(scipy.fft.rfft(g, axis=1), TWICE / N)),
    "hfft":   (lambda x: ng.hfft(x, "b"),  lambda x: scipy.fft.hfft(x, axis=1),
               lambda g: _scaled(scipy.fft.rfft(g, axis=1).conj(), TWICE)),
    "irfft2": (lambda x: ng.irfft2(x, ("a", "b")), scipy.fft.irfft2,
               lambda g: _scaled(scipy.fft.rfft2(g), TWICE / N**2)),
    "hfft2":  (lambda x: ng.hfft2(x, ("a", "b")),  scipy.fft.hfft2,
               lambda g: _scaled(scipy.fft.rfft2(g).conj(), TWICE)),
}
CUBE: Rows = {  # the same, along all three dims of a cube
    "fftn":   (ng.fftn,   scipy.fft.fftn,   lambda g: scipy.fft.fftn(g).real),
    "ifftn":  (ng.ifftn,  scipy.fft.ifftn,  lambda g: scipy.fft.ifftn(g).real),
    "rfftn":  (ng.rfftn,  scipy.fft.rfftn,  lambda g: scipy.fft.fftn(g, (SIDE,) * 3).real),
    "ihfftn": (ng.ihfftn, scipy.fft.ihfftn, lambda g: scipy.fft.ifftn(g, (SIDE,) * 3).real),
}
HALF_CUBE: Rows = {
    "irfftn": (ng.irfftn, scipy.fft.irfftn, lambda g: _scaled(scipy.fft.rfftn(g), TWICE_SHORT / SIDE**3)),
    "hfftn":  (ng.hfftn,  scipy.fft.hfftn,  lambda g: _scaled(scipy.fft.rfftn(g).conj(), TWICE_SHORT)),
}
# fmt: on


# ------------------------------------------------------------------------------------------------ calculus


def _slopes(x: np.ndarray) -> np.ndarray:
    down, across = np.gradient(x)
    down += across
    return down


def _slopes_pull(g: np.ndarray) -> np.ndarray:
    out, half = np.zeros_like(g), g / 2
    for to, by in ((out, half), (out.T, half.T)):
        to[2:] += by[1:-1]
        to[:-2] -= by[1:-1]
        for low, high in ((0, 1), (-2, -1)):
            edge = 2 * by[0 if low == 0 else -1]
            to[high] += edge
            to[low] -= edge
    return out


def _integral_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, at: np.ndarray) -> Any:
    steps, sums, positions = np.diff(at) / 2, g @ x, np.zeros(N)
    weights = np.zeros(N)
    weights[1:] += steps
    weights[:-1] += steps
    between = (sums[1:] + sums[:-1]) / 2
    positions[1:] += between
    positions[:-1] -= between
    return g[:, None] * weights, positions


def _integrals(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    out = np.zeros((N, N))
    inner = out[:, 1:]
    np.add(x[:, 1:], x[:, :-1], out=inner)
    inner *= np.diff(at) / 2
    np.cumsum(inner, 1, out=inner)
    return out


def _integrals_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, at: np.ndarray) -> Any:
    later = np.flip(np.flip(g[:, 1:], 1).cumsum(1), 1)
    between = (np.einsum("ab,ab->b", later, x[:, 1:]) + np.einsum("ab,ab->b", later, x[:, :-1])) / 2
    later *= np.diff(at) / 2
    out, positions = np.zeros((N, N)), np.zeros(N)
    out[:, 1:] += later
    out[:, :-1] += later
    positions[1:] += between
    positions[:-1] -= between
    return out, positions


# ------------------------------------------------------------------------------------------------ polynomials


def _powers(x: np.ndarray) -> np.ndarray:
    """In the memory of a list of powers: each then is one run of cells."""
    out = np.empty((ORDER, len(x)))
    out[-1], out[-2] = 1, x
    for k in range(ORDER - 3, -1, -1):
        np.multiply(out[k + 1], x, out=out[k])
    return out.T


def _powers_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray) -> Any:
    out = (ORDER - 1) * g[:, 0]
    for k in range(1, ORDER - 1):
        out *= x
        out += (ORDER - 1 - k) * g[:, k]
    return (out,)


def _fitting() -> np.ndarray:
    """The map of values to the coefficients of a cubic."""
    return np.linalg.pinv(np.vander(POINTS, 4))


# ------------------------------------------------------------------------------------------------ spectra


LONG = scipy.fft.next_fast_len(2 * N - 1, real=True)


def _convolve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    f = scipy.fft.rfft(x, LONG, axis=1)
    f *= scipy.fft.rfft(y, LONG, axis=1)
    return scipy.fft.irfft(f, LONG, axis=1)[:, : 2 * N - 1]


def _convolve_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    f, out = scipy.fft.rfft(g, LONG, axis=1), []
    for z in (y, x):
        h = scipy.fft.rfft(z, LONG, axis=1)
        np.conj(h, out=h)
        h *= f
        out.append(scipy.fft.irfft(h, LONG, axis=1)[:, :N])
    return tuple(out)


def _pieces(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, PIECE, 1)[:, ::HOP]


def _added(pieces: np.ndarray) -> np.ndarray:
    """Pieces added where they overlap, a quarter at a time."""
    rows, count, _ = pieces.shape
    parts, quarters = PIECE // HOP, pieces.reshape(rows, count, PIECE // HOP, HOP)
    out = np.zeros((rows, count + parts - 1, HOP))
    for k in range(parts):
        out[:, k : count + k] += quarters[:, :, k]
    return out.reshape(rows, -1)


def _stft(x: np.ndarray) -> np.ndarray:
    mirrored = np.pad(x, ((0, 0), (PIECE // 2, PIECE // 2)), mode="reflect")
    return scipy.fft.rfft(_pieces(mirrored) * WINDOW, axis=2).swapaxes(1, 2)


def _stft_pull(g: np.ndarray, *_: Any) -> Any:
    pieces = scipy.fft.irfft(g.swapaxes(1, 2) * (PIECE / SPECTRUM), PIECE, axis=2)
    pieces *= WINDOW
    out, half = _added(pieces), PIECE // 2
    inner = out[:, half:-half].copy()
    inner[:, 1 : half + 1] += out[:, half - 1 :: -1]
    inner[:, -half - 1 : -1] += out[:, : -half - 1 : -1]
    return (inner,)


def _weights(count: int) -> np.ndarray:
    return _added(np.broadcast_to(WINDOW**2, (1, count, PIECE)))[0, PIECE // 2 : -PIECE // 2]


def _istft(s: np.ndarray) -> np.ndarray:
    pieces = scipy.fft.irfft(s.swapaxes(1, 2), PIECE, axis=2)
    pieces *= WINDOW
    return _added(pieces)[:, PIECE // 2 : -PIECE // 2] / _weights(s.shape[2])


def _istft_pull(g: np.ndarray, _: np.ndarray, s: np.ndarray) -> Any:
    whole = np.zeros((len(g), g.shape[1] + PIECE))
    np.divide(g, _weights(s.shape[2]), out=whole[:, PIECE // 2 : -PIECE // 2])
    return (_scaled(scipy.fft.rfft(_pieces(whole) * WINDOW, axis=2), SPECTRUM / PIECE).swapaxes(1, 2),)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    x, y = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(2))
    z = d(RNG.normal(size=(N, HALF)) + 1j * RNG.normal(size=(N, HALF)), ("a", "b"))
    cube = d(RNG.normal(size=(SIDE,) * 3), ("a", "b", "c"))
    half = d(cube.data[..., : SIDE // 2 + 1] * (1 + 2j), cube.dims)
    at = d(np.sort(RNG.uniform(0, 1, N)), "b")
    line, taps, short = (d(RNG.normal(size=n), "a") for n in (N * N, 5, N * N // ORDER))
    signal, w, fitted = d(RNG.normal(size=(64, 8192)), ("a", "b")), d(WINDOW, "b"), d(POINTS, "b")
    spectra = d(_stft(signal.data).copy(), ("a", "frequency", "b"))
    fourier = [
        (name, call, (operand,), f, lambda g, y, x, pull=pull: (pull(g),))
        for operand, group in ((x, REAL), (z, HERMITIAN), (cube, CUBE), (half, HALF_CUBE))
        for name, (call, f, pull) in group.items()
    ]
    return [
        *fourier,
        ("gradient", lambda x: (both := ng.gradient(x))[0] + both[1], (x,), _slopes,
         lambda g, z, x: (_slopes_pull(g),)),
        ("integrate", lambda x, at: ng.integrate(x, at, "b"), (x, at), lambda x, at: np.trapezoid(x, at, axis=1),
         _integral_pull),
        ("cumulative_integrate", lambda x, at: ng.cumulative_integrate(x, at, "b"), (x, at), _integrals,
         _integrals_pull),
        ("vander", lambda x: ng.vander(x, ORDER), (short,), _powers, _powers_pull),
        ("polyfit", lambda x: ng.polyfit(x, fitted, dim="b", deg=3, skipna=False), (x,), lambda x: _fitting() @ x.T,
         lambda g, z, x: (g.T @ _fitting(),)),
        ("correlate", lambda x, w: ng.correlate(x, w, "a"), (line, taps), np.correlate,
         lambda g, z, x, w: (np.convolve(g, w), np.correlate(x, g))),
        ("fftconvolve", lambda x, y: ng.fftconvolve(x, y, "b"), (x, y),
         _convolve, _convolve_pull),
        ("stft", lambda x: ng.stft(x, w, dim="b", n_fft=PIECE), (signal,), _stft, _stft_pull),
        ("istft", lambda s: ng.istft(s, w, dim="b", n_fft=PIECE), (spectra,), _istft, _istft_pull),
    ]  # fmt: skip
