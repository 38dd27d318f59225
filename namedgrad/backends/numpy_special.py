"""Functions of SciPy from functions of NumPy, which has vector instructions for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.special import FEW

Raw = Any


class NumpySpecial:
    """A part of :class:`namedgrad.backends.numpy.NumpyBackend`: what SciPy computes for a cell, of many at a time.

    A block of cells in which a flag is raised, by an end of the range, an underflow or no value, goes to SciPy.  Of a
    million cells boxcox takes 4 ms instead of 22, inv_boxcox 5 instead of 12, xlog1py 2 instead of 9.
    """

    special: Any
    _in_blocks: Callable[..., Raw]

    def _unless_flagged(self, name: str, formula: Callable[..., Raw], *operands: Raw) -> Raw:
        known = getattr(self.special, name)
        doubles = all(getattr(x, "dtype", None) in (None, np.float64) for x in operands)
        if not doubles or np.broadcast(*operands).size < FEW:
            return known(*operands)

        def some(*cells: Raw) -> Raw:
            try:
                with np.errstate(all="raise"):
                    return formula(*cells)
            except FloatingPointError:
                return known(*cells)

        return self._in_blocks(some, *operands)

    def xlogy(self, x: Raw, y: Raw) -> Raw:
        """``x log(y)``, and 0 where ``x`` is 0."""
        return self._unless_flagged("xlogy", lambda x, y: _nonzero(x) * np.log(y), x, y)

    def xlog1py(self, x: Raw, y: Raw) -> Raw:
        """``x log(1 + y)``, and 0 where ``x`` is 0."""
        return self._unless_flagged("xlog1py", lambda x, y: _nonzero(x) * np.log1p(y), x, y)

    def boxcox(self, x: Raw, k: Raw) -> Raw:
        """``(x**k - 1) / k``."""
        return self._unless_flagged("boxcox", lambda x, k: np.expm1(k * np.log(x)) / k, x, k)

    def boxcox1p(self, x: Raw, k: Raw) -> Raw:
        """The same of ``1 + x``."""
        return self._unless_flagged("boxcox1p", lambda x, k: np.expm1(k * np.log1p(x)) / k, x, k)

    def inv_boxcox(self, x: Raw, k: Raw) -> Raw:
        """``(1 + k x)**(1 / k)``."""
        return self._unless_flagged("inv_boxcox", lambda x, k: np.exp(np.log1p(k * x) / k), x, k)

    def inv_boxcox1p(self, x: Raw, k: Raw) -> Raw:
        """The same, less 1."""
        return self._unless_flagged("inv_boxcox1p", lambda x, k: np.expm1(np.log1p(k * x) / k), x, k)

    def kl_entr(self, x: Raw, y: Raw) -> Raw:
        """SciPy's ``kl_div``, ``x log(x / y) - x + y``."""
        return self._unless_flagged("kl_div", _divergence, x, y)


def _nonzero(x: Raw) -> Raw:
    if not np.all(x):  # the product has no sign
        raise FloatingPointError
    return x


def _divergence(x: Raw, y: Raw) -> Raw:
    if not np.min(x) > 0:  # of two negative numbers too the quotient has a logarithm
        raise FloatingPointError
    return x * np.log(x / y) - x + y
