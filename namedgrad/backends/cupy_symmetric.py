"""Carlson's symmetric elliptic integrals that CuPy lacks, by the rule of their derivatives."""

from __future__ import annotations

import functools
from typing import Any

from namedgrad.backends.cupy_integrals import require_real
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import result_dtype

Raw = Any


class CupySymmetric(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    def elliprc(self, x: Raw, y: Raw) -> Raw:
        """The degenerate one; below 0 its principal value (DLMF 19.2.20)."""
        xp, dtype, x, y = self.xp, result_dtype(x, y), require_real(x, "elliprc"), require_real(y, "elliprc")
        below = y < 0
        top, under = xp.where(below, x - y, x), xp.where(below, -y, y)
        factor = xp.where(below, xp.sqrt(x / xp.where(below, top, 1.0)), 1.0)
        return (0.5 * factor * self.carlson_integral(0, 1, 2, top, under)).astype(dtype)

    def elliprd(self, x: Raw, y: Raw, z: Raw) -> Raw:
        """That of the second kind."""
        return (1.5 * self._carlson_of("elliprd", 0, (1, 1, 3), x, y, z)).astype(result_dtype(x, y, z))

    def elliprf(self, x: Raw, y: Raw, z: Raw) -> Raw:
        """That of the first kind."""
        return (0.5 * self._carlson_of("elliprf", 0, (1, 1, 1), x, y, z)).astype(result_dtype(x, y, z))

    def elliprg(self, x: Raw, y: Raw, z: Raw) -> Raw:
        """The completely symmetric one of the second kind, twice its slopes times the operands (it is homogeneous)."""
        parts = []
        for turned in ((x, y, z), (y, z, x), (z, x, y)):
            slope = self._carlson_of("elliprg", 1, (3, 1, 1), *turned)
            parts.append(self.xp.where(turned[0] == 0, 0.0, 0.25 * turned[0] * slope))
        return functools.reduce(self.xp.add, parts).astype(result_dtype(x, y, z))

    def elliprj(self, x: Raw, y: Raw, z: Raw, p: Raw) -> Raw:
        """That of the third kind, of ``p`` above 0."""
        return (1.5 * self._carlson_of("elliprj", 0, (1, 1, 1, 2), x, y, z, p)).astype(result_dtype(x, y, z, p))

    def _carlson_of(self, name: str, power: int, halves: tuple[int, ...], *operands: Raw) -> Raw:
        return self.carlson_integral(power, *halves, *(require_real(x, name) for x in operands))
