"""Signals: derivatives, integrals, convolutions, polynomials, spectra along a named dim."""

from namedgrad.rules.signal import calculus, convolution, detrend, polynomials, spectra

__all__ = ["calculus", "convolution", "detrend", "polynomials", "spectra"]
