"""Where values are missing: a question that programs ask before they compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.positional.array import Lifted, PositionalArray


class Missing(PositionalArray):
    """Truth values of ``np.isnan``.

    Under vectorized axes, ``np.any`` of them is a plain truth value where all slices agree, so that a program may
    refuse missing values (``if np.isnan(weights).any(): raise ...``), as xarray's ``weighted`` does.
    """

    __slots__ = ()
    kin = Lifted  # truth values say nothing about what the results with them are made of

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        out = super().__array_function__(func, types, args, kwargs)  # type: ignore[misc]
        if func is not np.any or not isinstance(out, PositionalArray) or out.ndim:
            return out
        raw = out._x.raw
        if not backends.may_look(raw) or raw.min() != raw.max():
            return out
        return raw.max()

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """As :func:`numpy.any`."""
        return np.any(self, *args, **kwargs)
