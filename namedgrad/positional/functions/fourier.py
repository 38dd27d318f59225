"""``np.fft``: the transforms along named dims, with axis numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.axis import name_of
from namedgrad.positional.functions.shapes import roll
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules.fourier import named, several


def _one(step: Callable[..., DimArray]) -> Callable[..., DimArray]:
    def function(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> DimArray:
        x = numbered(a)
        return step(x, name_of(x, axis), n, norm)

    return function


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(getattr(np.fft, _name))(_one(getattr(named, _name)))


def _many(name: str) -> Callable[..., DimArray]:
    base, default = name[:-1], (-2, -1) if name.endswith("2") else None
    step, last, other = getattr(several, f"{base}n"), getattr(named, base), named.ifft if "i" in base else named.fft

    def again(x: DimArray, names: list[Name], s: Any, norm: Any) -> DimArray:
        """One after the other, as along an axis that is named twice; all lengths are those of the beginning."""
        sizes = [extent(x, n) if size is None else size for n, size in zip(names, s or repeat(None), strict=False)]
        if base == "irfft" and s is None:
            sizes[-1] = 2 * (sizes[-1] - 1)
        steps = [*zip([other] * (len(names) - 1) + [last], names, sizes, strict=True)]
        for transform, along, size in steps if base == "irfft" else reversed(steps):
            x = transform(x, along, size, norm)
        return x

    def function(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> DimArray:
        x = numbered(a)
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        names = [name_of(x, i) for i in axes]
        if s is not None and len(s) != len(names):
            raise ValueError("Shape and axes have different lengths.")
        if s is not None:
            s = [extent(x, n) if size == -1 else size for n, size in zip(names, s, strict=True)]
        if not names and base in {"fft", "ifft"}:
            return x
        if len(set(names)) < len(names):
            return again(x, names, s, norm)
        return step(x, names, s, norm)

    return function


for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    implements(getattr(np.fft, _name))(_many(_name))


def _shift(way: int) -> Callable[..., DimArray]:
    def function(x: Any, axes: Any = None) -> DimArray:
        v = numbered(x)
        along = range(v.ndim) if axes is None else np.atleast_1d(axes).tolist()
        return roll(x, [way * (v.shape[i] // 2) for i in along], along)

    return function


implements(np.fft.fftshift)(_shift(1))
implements(np.fft.ifftshift)(_shift(-1))
