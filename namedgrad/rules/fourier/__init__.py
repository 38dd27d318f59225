"""Fourier transforms by name."""

from namedgrad.rules.fourier import cosine, named, several

__all__ = ["cosine", "named", "several"]
