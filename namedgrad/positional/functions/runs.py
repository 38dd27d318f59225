"""``np.add.reduceat`` and its kin: runs of an axis, each reduced to one cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.axis import name_of
from namedgrad.positional.folds import runs_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.ufuncs import RUNNERS
from namedgrad.rules.indexing import segments, take


def _over(reduce: Callable[..., DimArray]) -> Callable[..., DimArray]:
    def runs(array: Any, indices: Any, axis: int = 0) -> DimArray:
        x = numbered(array)
        dim = name_of(x, axis)
        start, length = runs_of(indices, x.sizes[dim])
        group = np.repeat(np.arange(start.size), length)
        first = np.repeat(np.cumsum(length) - length, length)
        cells = take(x, np.arange(group.size) - first + np.repeat(start, length), dim)
        return reduce(cells, group, dim, start.size, skipna=False)

    return runs


# fmt: off
RUNNERS[np.add]      = _over(segments.segment_sum)
RUNNERS[np.multiply] = _over(segments.segment_prod)
RUNNERS[np.maximum]  = _over(segments.segment_max)
RUNNERS[np.minimum]  = _over(segments.segment_min)
# fmt: on
