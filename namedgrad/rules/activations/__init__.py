"""Activation functions: elementwise, with PyTorch's derivative at their kinks.

Where a piecewise formula changes, the derivative is that of PyTorch: of the outer side for ``relu``, ``hardtanh`` and the
shrinking functions, of the lower side for the others.  A parameter may be a DimArray, and is differentiated too.
"""

from namedgrad.rules.activations import bounds, gates, rectifiers, sigmoids

__all__ = ["bounds", "gates", "rectifiers", "sigmoids"]
