"""Positions in sorted arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any


class SearchKernels(Kernels):
    """The kernels, written against ``self.xp``."""

    def searchsorted(self, edges: Raw, x: Raw, *, right: bool) -> Raw:
        """How many edges lie below each value, or not above it: edges ``(batch..., m)``, values ``(batch..., n)``.

        Rows are merged by a stable sort; NaN lies above everything.
        """
        xp = self.xp
        if edges.ndim == 1:
            return xp.searchsorted(edges, x, side="right" if right else "left")
        m, n = edges.shape[-1], x.shape[-1]
        batch = np.broadcast_shapes(edges.shape[:-1], x.shape[:-1])
        parts = [xp.broadcast_to(edges, (*batch, m)), xp.broadcast_to(x, (*batch, n))]
        both = xp.concatenate(parts if right else parts[::-1], axis=-1)
        first = 0 if right else n
        order = xp.argsort(both, axis=-1, kind="stable")
        is_edge = (order >= first) & (order < first + m)
        below = xp.cumsum(is_edge, axis=-1)
        place = xp.argsort(order, axis=-1, kind="stable")
        rows = self.reshape(xp.arange(math.prod(batch)), (*batch, 1)) * (m + n)
        found = xp.take(self.reshape(below, (-1,)), rows + place)
        return found[..., m:] if right else found[..., :n]
