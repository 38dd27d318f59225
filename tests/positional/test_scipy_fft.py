"""``scipy.fft`` takes arrays that are differentiated, and its own as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import xarray as xr

import namedgrad as ng
from tests.support.oracles import richardson

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 6))
CALLS: dict[str, Callable[[Any], Any]] = {
    "fft": scipy.fft.fft,
    "by keyword": lambda x: scipy.fft.fft(x=x, n=5, axis=0, norm="ortho", workers=1),
    "ifft": lambda x: scipy.fft.ifft(x, 8, 1, "forward"),
    "rfft": lambda x: scipy.fft.rfft(x, axis=0),
    "irfft": lambda x: scipy.fft.irfft(x, n=7),
    "hfft": scipy.fft.hfft,
    "ihfft": lambda x: scipy.fft.ihfft(x, overwrite_x=True),
    "fft2": scipy.fft.fft2,
    "rfftn": lambda x: scipy.fft.rfftn(x, s=(5,)),
    "irfft2": lambda x: scipy.fft.irfft2(x, (3, 5), axes=(1, 0)),
    "fftn": scipy.fft.fftn,
    "ifftn": lambda x: scipy.fft.ifftn(x, axes=(0,)),
    "hfftn": scipy.fft.hfftn,
    "fftn of one size": lambda x: scipy.fft.fftn(x, s=4),
    "rfftn of one axis": lambda x: scipy.fft.rfftn(x, s=3, axes=1),
    "fft2 of known sizes": lambda x: scipy.fft.fft2(x, s=(-1, 5)),
    "dctn of one known size": lambda x: scipy.fft.dctn(x, s=-1, axes=0),
    "ihfft2": scipy.fft.ihfft2,
    "dct": lambda x: scipy.fft.dct(x, norm="ortho"),
    "dct of type 1": lambda x: scipy.fft.dct(x, 1, axis=0),
    "idct": lambda x: scipy.fft.idct(x, type=3, n=8),
    "dctn": scipy.fft.dctn,
    "idctn of a size": lambda x: scipy.fft.idctn(x, 3, s=(5,), axes=(0,), norm="forward"),
    "dstn": lambda x: scipy.fft.dstn(x, axes=1, norm="ortho"),
    "idstn": lambda x: scipy.fft.idstn(x, 1, s=(3, 8)),
    **{
        f"{f.__name__} {options}": lambda x, f=f, options=options: f(x, **options)
        for f in (scipy.fft.dst, scipy.fft.idst)
        for options in (*({"type": t, "norm": norm} for t in (1, 2, 3, 4) for norm in (None, "ortho", "forward")), {"n": 9, "axis": 0})
    },
    "fftshift": lambda x: scipy.fft.fftshift(scipy.fft.fft(x), axes=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    f = CALLS[name]
    w = np.random.default_rng(1).normal(size=f(X).shape)

    def loss(x: Any) -> Any:
        y = f(x)
        return np.sum(w * (y.real + 0.5 * y.imag)) if y.dtype.kind == "c" else np.sum(w * y**2)

    assert type(f(X)) is np.ndarray
    np.testing.assert_allclose(ng.pullback(f, X)[0], f(X), rtol=1e-12, atol=1e-12)
    gradient = ng.grad(loss)(X)
    slope = richardson(lambda t: loss(X + t * V))
    np.testing.assert_allclose(np.sum(gradient * V), slope, rtol=1e-8)
    np.testing.assert_allclose(ng.compile(ng.grad(loss))(X), gradient, rtol=1e-12, atol=1e-12)
    both = ng.grad(loss)(ng.positional(np.stack([X, V]), vectorized="b")).devectorize().data
    np.testing.assert_allclose(both, [gradient, ng.grad(loss)(V)], rtol=1e-12, atol=1e-12)


def test_of_xarray_objects() -> None:
    def power(x: Any) -> Any:
        spectrum = xr.apply_ufunc(scipy.fft.rfft, x, input_core_dims=[["t"]], output_core_dims=[["f"]])
        return (abs(spectrum) ** 2).sum()

    x = xr.DataArray(X, dims=("s", "t"))
    half = np.where(np.arange(4) % 3 == 0, 1, 2)  # frequencies 1 and 2 of 6 stand for two
    want = np.fft.irfft(np.fft.rfft(X) / half * 2, 6) * 6
    np.testing.assert_allclose(ng.grad(power)(x), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_sine_transforms_of_short_lines_and_single_precision(type: int) -> None:
    for n in (1, 2, 3):
        for f in (scipy.fft.dst, scipy.fft.idst):
            x = X[:, :n]
            np.testing.assert_allclose(ng.pullback(lambda x, f=f: f(x, type), x)[0], f(x, type), rtol=1e-12, atol=1e-12)
            single = ng.pullback(lambda x, f=f: f(x, type), x.astype("float32"))[0]
            assert single.dtype == f(x.astype("float32"), type).dtype == np.float32


def test_what_stays_with_scipy() -> None:
    with pytest.raises(ng.TraceError, match=r"scipy\.fft\.fht"):
        ng.grad(lambda x: np.sum(scipy.fft.fht(x, 0.1, 0.5)))(X)
    np.testing.assert_array_equal(scipy.fft.dst(scipy.fft.dct(X)), scipy.fft.dst(scipy.fft.dct(X.copy())))
