"""Signals: derivatives, integrals, convolutions, polynomials, spectra along a named dim."""

from namedgrad.rules.signal import calculus, detrend, polynomials

__all__ = ["calculus", "detrend", "polynomials"]
